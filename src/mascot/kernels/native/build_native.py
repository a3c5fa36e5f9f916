"""Compile the native kernel: `python src/mascot/kernels/native/build_native.py`.

The build of the package calls this (see `hatch_build.py`). It needs gcc or clang (MSVC does not know the flags). CC
names another compiler; MASCOT_SANITIZE=1 adds the address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
FLAGS = (
    "-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-Wall",
    "-Wno-psabi",
)  # fmt: skip
VARIANTS = {
    "baseline": (),
    "avx2": ("-mavx2", "-mfma"),
    "avx512": ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"),
}
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1")


class BuildError(RuntimeError):
    """No compiler was found, or the compiler failed."""


def find_compiler() -> list[str]:
    """Return the command of a C compiler: CC, or the first of cc, gcc and clang on the PATH."""
    command = os.environ.get("CC")
    if command:
        return shlex.split(command, posix=sys.platform != "win32")  # a path of Windows has backslashes
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise BuildError("no C compiler was found (cc, gcc or clang on the PATH, or CC)")


def build(target: Path | None = None) -> Path:
    """Compile the library and return its path."""
    target = target or HERE / f"_kernel{SUFFIX}"
    compiler = find_compiler()
    extra = SANITIZERS if os.environ.get("MASCOT_SANITIZE") else ()
    position = () if sys.platform == "win32" else ("-fPIC",)
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    variants = VARIANTS if x86 else {"baseline": ()}
    with tempfile.TemporaryDirectory() as folder:
        objects = {name: str(Path(folder) / f"{name}.o") for name in variants}

        def compile_variant(name: str) -> None:
            flags = [*FLAGS, *position, *variants[name], *extra, f"-DVARIANT=select_{name}"]
            _run([*compiler, *flags, "-c", str(HERE / "kernel.c"), "-o", objects[name]])

        with ThreadPoolExecutor() as pool:
            list(pool.map(compile_variant, variants))
        output = Path(folder) / "dispatch.o"
        defined = ("-DMASCOT_X86_VARIANTS",) if x86 else ()
        _run([*compiler, *FLAGS, *position, *extra, *defined, "-c", str(HERE / "dispatch.c"), "-o", str(output)])
        library = Path(folder) / target.name
        mathematics = () if sys.platform == "win32" else ("-lm",)
        _run([*compiler, "-shared", *extra, *objects.values(), str(output), "-o", str(library), *mathematics])
        # Move into place: a process that has the old library loaded keeps it.
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copy2(library, temporary)
        os.replace(temporary, target)
    return target


def _run(command: list[str]) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error}") from None
    if result.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{result.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    try:
        print(build())
    except BuildError as error:
        sys.exit(str(error))
