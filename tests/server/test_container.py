"""The container: the steps of the Dockerfile, run without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from serving import environment

ROOT = Path(__file__).resolve().parents[2]
PORT = "8765"


def _instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, as name and text."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def _all(name: str) -> list[str]:
    return [text for instruction, text in _instructions() if instruction == name]


def _wheel(folder: Path) -> Path:
    """The package as the build stage installs it: from nothing but the files that are copied."""
    pytest.importorskip("hatchling", reason="needs pip install hatchling: the build must not need a network")
    source = folder / "source"
    source.mkdir()
    for text in _all("COPY"):
        *names, target = [word for word in text.split() if not word.startswith("--")]
        if "--from=build" in text:
            continue
        for name in names:
            path = ROOT / name
            if path.is_dir():
                shutil.copytree(path, source / target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            else:
                shutil.copy(path, source / target)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--quiet",
         "--disable-pip-version-check", "--target", str(folder / "site"), str(source)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "site"


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_the_steps_of_the_container_give_a_service(tmp_path: Path) -> None:
    site, port = _wheel(tmp_path), str(_free_port())
    assert (site / "mascot" / "server" / "static" / "index.html").exists()
    assert (site / "mascot" / "server" / "dashboard.json").exists()
    (entry,), (arguments,), (health,) = _all("ENTRYPOINT"), _all("CMD"), _all("HEALTHCHECK")
    command = [*json.loads(entry), *json.loads(arguments)]
    probe = json.loads(health.partition("CMD ")[2])
    environ = environment(tmp_path, PYTHONPATH=str(site), MASCOT_TOKEN="s3cret")
    environ |= dict(word.split("=", 1) for word in shlex.split(_all("ENV")[0]) if not word.startswith("PATH="))
    environ["XDG_STATE_HOME"] = str(tmp_path)
    program = str(site / "bin" / command[0])
    command = [sys.executable, program, *(port if word == PORT else word for word in command[1:])]
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=tmp_path)
    try:
        words = [sys.executable, *(word.replace(PORT, port) for word in probe[1:])]
        ends = time.monotonic() + 180
        while time.monotonic() < ends and subprocess.run(words, capture_output=True, check=False).returncode:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.3)
        assert subprocess.run(words, capture_output=True, check=False).returncode == 0
        script = f"""
from mascot.server.client import Client, ServiceError
import mascot
from mascot.kernels import native
assert mascot.__file__.startswith({str(site)!r}), mascot.__file__
assert native.available(), native.description()
assert Client("http://127.0.0.1:{port}", "s3cret").rerank([1, 2], k=1)["results"][0]["position"] == 1
try:
    Client("http://127.0.0.1:{port}").rerank([1, 2])
except ServiceError as error:
    assert error.status == 401
else:
    raise SystemExit("no token was required")
"""
        subprocess.run([sys.executable, "-c", script], env=environ, check=True, timeout=240)
    finally:
        process.terminate()
        assert process.wait(60) in (0, -15)
        assert process.stderr is not None
        process.stderr.close()


def test_the_container_is_slim_and_not_root() -> None:
    stages = _all("FROM")
    assert [stage.split()[0] for stage in stages] == ["python:3.12-slim"] * 2
    last = [name for name, _ in _instructions()]
    run = last[len(last) - last[::-1].index("FROM") :]
    assert "gcc" not in " ".join(text for name, text in _instructions()[-len(run) :] if name == "RUN")
    (user,) = _all("USER")
    assert int(user) > 0
    assert "HF_HUB_OFFLINE=1" in _all("ENV")[0]
    copied = {name for text in _all("COPY") if "--from" not in text for name in text.split()[:-1]}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(ignored)


def test_the_compose_file_asks_for_a_token_and_keeps_the_container_closed() -> None:
    yaml = pytest.importorskip("yaml", reason="needs pip install pyyaml")
    service: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["mascot"]
    assert service["environment"]["MASCOT_TOKEN"].startswith("${MASCOT_TOKEN:?")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    docker = shutil.which("docker")
    if docker is None:
        return
    available = subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0
    if available:
        done = subprocess.run(
            [docker, "compose", "-f", str(ROOT / "compose.yaml"), "config", "--quiet"],
            env={**os.environ, "MASCOT_TOKEN": "x"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
