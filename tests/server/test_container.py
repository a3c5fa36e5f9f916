"""The container: the steps of the Dockerfile, run without Docker."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from serving import environment, free_port, wait_for

from mascot.server.client import Client, ServiceError

ROOT = Path(__file__).resolve().parents[2]
PORT = "8765"


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, as name and text."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def _all(name: str) -> list[str]:
    return [text for instruction, text in _instructions() if instruction == name]


def test_the_steps_of_the_container_give_a_service(tmp_path: Path) -> None:
    port = str(free_port())
    (entry,), (arguments,), (health,) = _all("ENTRYPOINT"), _all("CMD"), _all("HEALTHCHECK")
    words = [*json.loads(entry), *json.loads(arguments)]
    command = [sys.executable, "-m", "mascot.cli", *(port if word == PORT else word for word in words[1:])]
    probe = [sys.executable, *(word.replace(PORT, port) for word in json.loads(health.partition("CMD ")[2])[1:])]
    environ = environment(tmp_path, MASCOT_TOKEN="s3cret")
    environ |= dict(word.split("=", 1) for word in shlex.split(_all("ENV")[0]) if not word.startswith("PATH="))
    environ["XDG_STATE_HOME"] = str(tmp_path)
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            wait_for(lambda: process.poll() is not None or Client(f"http://127.0.0.1:{port}").ready())
            assert process.poll() is None, process.stderr and process.stderr.read()
            subprocess.run(probe, check=True, timeout=240)
            with Client(f"http://127.0.0.1:{port}", "s3cret") as client, Client(f"http://127.0.0.1:{port}") as stranger:
                assert client.rerank([1, 2], k=1)["results"][0]["position"] == 1
                with pytest.raises(ServiceError) as error:
                    stranger.rerank([1, 2])
                assert error.value.status == 401
        finally:
            process.terminate()
            assert process.wait(60) in (0, -15)


def test_the_container_is_closed() -> None:
    assert int(*_all("USER")) > 0, "not root"
    assert "HF_HUB_OFFLINE=1" in _all("ENV")[0]
    copied = {name for text in _all("COPY") if "--from" not in text for name in text.split()[:-1]}
    assert {"pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "src"} <= copied, "what a build needs"
    assert {f"!{name}" for name in copied} <= set((ROOT / ".dockerignore").read_text("utf-8").splitlines())
    yaml = pytest.importorskip("yaml", reason="needs pip install pyyaml")
    service: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["mascot"]
    assert service["environment"]["MASCOT_TOKEN"].startswith("${MASCOT_TOKEN:?")
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
