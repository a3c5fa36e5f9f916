"""Run the exactness properties on a kernel with sanitizers: `python tests/sanitize.py [baseline|avx2|avx512 ...]`.

`--list` prints which of them this processor has, which is the default.

Each instruction set that the processor has is compiled on its own with the address and undefined-behaviour sanitizers
into a temporary folder. Direct calls of the C functions come first. Anything the sanitizers find ends the run.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from mascot.kernels.native import build_native

TESTS = Path(__file__).resolve().parent
PROPERTIES = (
    "test_exactness.py", "kernels/test_rules.py", "kernels/test_native_edges.py", "test_extremes.py",
    "attributes/test_outliers.py",
)  # fmt: skip
RUN = """
import sys
from pathlib import Path
import pytest
from mascot.kernels import native
native.LIBRARY = Path(sys.argv[1])
assert native.available(), native.description()
from tests.kernels.direct_calls import call
call(seed=0, first=0, count=1500)
selected = ["-k", "not photographs and not takes_no_memory"]
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *selected, *sys.argv[2:]]))
"""


def variants() -> list[str]:
    if platform.machine().lower() not in ("x86_64", "amd64") or not Path("/proc/cpuinfo").exists():
        return ["baseline"]
    flags = set(Path("/proc/cpuinfo").read_text().split())
    needed = {"baseline": set(), "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512vl"}}
    return [name for name, features in needed.items() if features <= flags]


def build_variant(name: str, folder: Path) -> Path:
    with (
        mock.patch.object(platform, "machine", return_value="generic"),
        mock.patch.object(build_native, "FLAGS", (*build_native.FLAGS, *build_native.VARIANTS[name])),
        mock.patch.dict(os.environ, {"MASCOT_SANITIZE": "1"}),
    ):
        return build_native.build(folder / f"_{name}{build_native.SUFFIX}")


def run_sanitized(name: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the path of a sanitized kernel as its first argument."""
    preload = subprocess.run(
        [*build_native.find_compiler(), "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        library = build_variant(name, Path(folder))
        environment = os.environ | {
            "LD_PRELOAD": preload,
            # The interpreter leaks on purpose; the kernel handles memory that is refused.
            "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        }
        command = [sys.executable, "-c", program, str(library), *arguments]
        return subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True)


def run_properties(name: str) -> subprocess.CompletedProcess[str]:
    return run_sanitized(name, RUN, *(str(TESTS / file) for file in PROPERTIES))


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print(*variants())
        return 0
    failed = 0
    for name in sys.argv[1:] or variants():
        result = run_properties(name)
        print((result.stdout + result.stderr)[-3000:])
        print(f"{name}: {'clean' if result.returncode == 0 else 'FAILED'}", flush=True)
        failed |= result.returncode
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
