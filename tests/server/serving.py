"""The real command on a free port, over a small library of real photographs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).resolve().parents[1] / "photos"))

from jpegs import small_library

COMMAND = (sys.executable, "-m", "mascot.cli")
_PATIENCE_S = 180.0  # for a start on a busy machine


@dataclass
class Served:
    """A running `mascot serve`."""

    process: subprocess.Popen[str]
    root: Path  # of the library, or an empty folder where there is none
    address: str  # http://127.0.0.1:PORT
    token: str | None = None
    said: list[str] = field(default_factory=list)  # lines of its standard error

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def client(self, **options: Any) -> httpx.Client:
        """A client that sends the token, if there is one."""
        headers = {"authorization": f"Bearer {self.token}".encode()} if self.token else {}
        return httpx.Client(
            base_url=self.address, headers=headers, timeout=_PATIENCE_S, trust_env=False, verify=False, **options
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(_PATIENCE_S)


def environment(state: Path, **more: str) -> dict[str, str]:
    """A process's surroundings in which no library is remembered."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    return kept | {"XDG_STATE_HOME": str(state), "HOME": str(state)} | more


def mascot(*arguments: str, state: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], env=environment(state), capture_output=True, text=True, timeout=_PATIENCE_S, **more
    )


def indexed(root: Path) -> Path:
    """Thirty photographs, indexed by the real command."""
    done = mascot("index", str(small_library(root)), state=root.parent / "state")
    assert done.returncode == 0, done.stderr
    return root


@contextmanager
def served(
    root: Path, *options: str, token: str | None = None, environ: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """`mascot serve` over an indexed folder on a free port, from its first answer to the end of the block.

    With the option `--no-library` the folder is only a place for its state.
    """
    arguments = ["serve", *([] if "--no-library" in options else ["--library", str(root)]), *options]
    if "--port" not in options:
        arguments += ["--port", "0"]
    if token is not None:
        arguments += ["--token", token]
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment(root.parent / "state", **(environ or {})),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    found = Served(process, root, "", token)
    ready = threading.Event()
    listener = threading.Thread(target=_listen, args=(found, ready), daemon=True)
    listener.start()
    try:
        if not ready.wait(_PATIENCE_S) or not found.address:
            raise RuntimeError(f"mascot serve did not start: {''.join(found.said)}")
        _wait_until_healthy(found)
        yield found
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        listener.join(5)


def read_answer(connection: socket.socket) -> bytes:
    """The headers and the whole body of the next answer. Raises `ConnectionError` where the connection ends before."""
    answer = b""
    while True:
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if length is not None and len(body) == int(length[1]):
            return answer
        part = connection.recv(65536)
        if not part:
            raise ConnectionError(f"closed after {answer[:80]!r}")
        answer += part


def _listen(found: Served, ready: threading.Event) -> None:
    """Keep what the process says, so that a full pipe never stops it; its first address is where it is."""
    assert found.process.stderr is not None
    for line in found.process.stderr:
        found.said.append(line)
        if not found.address and "http://" in line:
            found.address = next(word for word in line.split() if word.startswith("http://")).rstrip("/")
            ready.set()
    ready.set()


def _wait_until_healthy(found: Served) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends:
        try:
            if httpx.get(f"{found.address}/healthz", trust_env=False, verify=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError(f"mascot serve does not answer: {''.join(found.said)}")
