"""The package builds with a compiler and without, and what was built works and can be published."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from importlib import metadata
from pathlib import Path

import pytest

import mascot as mc
from mascot.extras import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[1]


def _hatch(target: str, sources: Path, folder: Path, environment: dict[str, str]) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    done = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return file


def _build(folder: Path, path: str, compiler: str | None, distribution: bool = False) -> tuple[zipfile.ZipFile, str]:
    """Build a copy of the sources, or their source distribution; return the wheel and what `installed.py` prints."""
    sources = folder / "sources"
    shutil.copytree(ROOT / "src", sources / "src", ignore=shutil.ignore_patterns("_kernel.*", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources / name)
    environment = {key: value for key, value in os.environ.items() if key != "CC"} | {"PATH": path}
    if compiler:
        environment["CC"] = compiler
    if distribution:
        archive = _hatch("sdist", sources, folder, environment)
        shutil.rmtree(sources)
        with tarfile.open(archive) as packed:
            packed.extractall(sources, filter="data")
        (sources,) = sources.iterdir()
    _hatch("wheel", sources, folder, environment)
    wheel = zipfile.ZipFile(next(folder.glob("*.whl")))
    wheel.extractall(folder / "installed")
    environment = {**os.environ, "PYTHONPATH": str(folder / "installed")}
    command = [sys.executable, str(ROOT / "tests/installed.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return wheel, done.stdout.strip()


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.slow)])
def test_a_wheel_has_the_native_kernel(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    wheel, printed = _build(tmp_path, os.environ["PATH"], compiler)
    assert any("/_kernel." in name for name in wheel.namelist())
    assert "-any.whl" not in str(wheel.filename)
    assert printed == "[0, 2] True 0"


def test_a_wheel_is_tagged_for_the_processor_that_its_library_is_compiled_for() -> None:
    platform_tag = runpy.run_path(str(ROOT / "hatch_build.py"))["platform_tag"]
    assert platform_tag("macosx-10.13-universal2", "arm64") == "macosx_10_13_arm64"


@pytest.mark.parametrize("extra", ["serve", "web", "dev"])
def test_locks_pin_every_direct_requirement_by_its_hash(extra: str) -> None:
    plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()  # noqa: E731
    text = (ROOT / "requirements" / f"{extra}.txt").read_text(encoding="utf-8")
    pinned = {plain(name) for name in re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==", text, flags=re.M)}
    lines = "\n".join(metadata.distribution(DISTRIBUTION).requires or [])
    required = set(map(plain, re.findall(rf"^([\w.-]+).*extra == ['\"]{extra}['\"]", lines, flags=re.M)))
    assert required
    assert required <= pinned, f"requirements/{extra}.txt lacks {required - pinned}"
    assert text.count("--hash=sha256:") >= len(pinned)


def test_without_a_compiler_the_package_builds_and_says_once_that_numpy_is_used(tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    wheel, printed = _build(tmp_path, str(empty), None, distribution=True)
    assert not any("/_kernel." in name for name in wheel.namelist())
    assert str(wheel.filename).endswith("py3-none-any.whl")
    assert printed == "[0, 2] False 1 mascot runs on numpy"
    _check_metadata(wheel)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    assert {"hatch_build.py", "pyproject.toml", "LICENSE", "src/mascot/kernels/native/kernel.c"} <= names


def _check_metadata(wheel: zipfile.ZipFile) -> None:
    """The name and version are right, and the description links to the repository instead of files beside it."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    facts = message_from_string(wheel.read(name).decode())
    assert (facts["Name"], facts["Version"]) == (DISTRIBUTION, mc.__version__)
    urls = dict(url.split(", ") for url in facts.get_all("Project-URL", []))
    targets = re.findall(r"(?:\]\(|src=\"|href=\")([^)\"]+)", str(facts.get_payload()))
    assert len(targets) > 5
    assert all(target.startswith("https://") for target in targets)
    files = [target.split("/main/")[1].partition("#")[0] for target in targets if target.startswith(urls["Repository"])]
    assert all((ROOT / file).exists() for file in files)
