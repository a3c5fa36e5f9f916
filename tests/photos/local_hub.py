"""A model hub on this machine, as much of it as downloads need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bench.range_server import Manners, Server, serving

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CLOSED = "http://127.0.0.1:9"  # an address where nobody answers


def publish(server: Server, api: str, root: str, files: Mapping[str, bytes], large: float = 50_000) -> None:
    """Serve the files of a repository as the hub does. From `large` bytes on, a file has a SHA-256."""
    siblings: list[dict[str, Any]] = []
    tree: list[dict[str, Any]] = []
    for name, content in files.items():
        size, digest = len(content), hashlib.sha256(content).hexdigest()
        blob = hashlib.sha1(b"blob %d\0" % size + content).hexdigest()
        siblings.append({"rfilename": name, "size": size, "blobId": blob})
        tree.append({"type": "file", "path": name, "size": size, "oid": blob})
        if size >= large:
            siblings[-1]["lfs"] = {"sha256": digest, "size": size, "pointerSize": 133}
            tree[-1]["lfs"] = {"oid": digest, "size": size, "pointerSize": 133}
        options: Any = {"etag": f'"{digest if size >= large else blob}"', "headers": {"X-Repo-Commit": COMMIT}}
        for revision in ("main", COMMIT):
            server.put(f"{root}/resolve/{revision}/{name}", content, **options)
    server.put(f"/api/{api}/tree/{COMMIT}", json.dumps(tree).encode(), headers={"Content-Type": "application/json"})
    body = json.dumps({"id": api.partition("/")[2], "sha": COMMIT, "siblings": siblings, "tags": []}).encode()
    for path in (f"/api/{api}", f"/api/{api}/revision/main"):
        server.put(path, body, headers={"Content-Type": "application/json"})


@dataclass
class LocalHub:
    server: Server
    folder: Path
    model: str

    def publish(self) -> None:
        """Serve the folder as it is now, without faults."""
        self.server.reset()
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        files = {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}
        publish(self.server, f"models/{self.model}", f"/{self.model}", files)

    def refuse(self, status: int) -> None:
        self.server.manners = {path: Manners(always=status) for path in self.server.files}

    @property
    def files(self) -> list[str]:
        """The files that were requested."""
        requests = [request.path for request in self.server.requests if request.method == "GET"]
        return [name for path in requests if (name := path.partition(f"/resolve/{COMMIT}/")[2])]


@contextmanager
def local_hub(folder: Path, model: str = "someone/model") -> Iterator[LocalHub]:
    with serving() as server:
        hub = LocalHub(server, folder, model)
        hub.publish()
        yield hub


def use_hub(address: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client in this process ask this address, and cache in this folder."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
