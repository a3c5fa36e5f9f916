"""The package builds with gcc, with clang and without a compiler, and what was built works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import mascot as mc
    from mascot.kernels import native
    hits = mc.Candidates(scores=[0.9, 0.8, 0.7], columns={"city": ["Rome", "Rome", "Oslo"]})
    for _ in range(2):
        ids = mc.rerank(hits, mc.spread("city"), k=2).ids
print(ids, native.available(), len(caught), *(str(warning.message)[:20] for warning in caught))
"""


def _build(folder: Path, path: str, compiler: str | None) -> zipfile.ZipFile:
    """Build a wheel of a copy of the sources, and return it."""
    sources = folder / "sources"
    shutil.copytree(ROOT / "src", sources / "src", ignore=shutil.ignore_patterns("_kernel.*", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources / name)
    environment = {key: value for key, value in os.environ.items() if key != "CC"} | {"PATH": path}
    if compiler:
        environment["CC"] = compiler
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(sources)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def _use(wheel: zipfile.ZipFile, folder: Path) -> list[str]:
    """Unpack the wheel and re-rank with it in a process of its own."""
    wheel.extractall(folder / "installed")
    environment = {**os.environ, "PYTHONPATH": str(folder / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.split("\n")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_wheel_has_the_native_kernel(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    wheel = _build(tmp_path, os.environ["PATH"], compiler)
    assert any("_kernel." in name for name in wheel.namelist())
    assert "-any.whl" not in str(wheel.filename)
    assert _use(wheel, tmp_path)[0] == "[0, 2] True 0"


def test_without_a_compiler_the_package_builds_and_says_once_that_numpy_is_used(tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    wheel = _build(tmp_path, str(empty), None)
    assert not any("_kernel." in name for name in wheel.namelist())
    assert str(wheel.filename).endswith("py3-none-any.whl")
    assert _use(wheel, tmp_path)[0] == "[0, 2] False 1 mascot runs on numpy"
