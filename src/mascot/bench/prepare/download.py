"""One large file, fetched to the side, in as many pieces as it takes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mascot.bench import files
from mascot.bench.prepare.common import Progress
from mascot.bench.prepare.lost import Lost

if TYPE_CHECKING:
    import requests

_BLOCK = 1 << 20
LEAST = 1 << 14  # bytes that count as progress; fewer within the patience, and the connection is given up


class Download:
    """A file on its way: `PATH.part` has what came, `PATH.part.json` what it is a part of."""

    def __init__(self, url: str, path: Path, patience: float, report: Progress | None = None) -> None:
        self.url, self.path, self.patience, self._report = url, path, patience, report
        self._part = path.with_name(f"{path.name}.part")
        self._told = path.with_name(f"{path.name}.part.json")
        self.whole = path.is_file()
        self._about: dict[str, Any] = {}
        if not self.whole:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._about = self._remembered()
            self.whole = self._about.get("total") == self.have > 0

    @property
    def have(self) -> int:
        """Bytes so far."""
        return self._part.stat().st_size if self._part.is_file() else 0

    def headers(self) -> dict[str, str]:
        """Ask for the rest only where the server can tell that it is the rest of the same file."""
        if self.have and self._about.get("mark"):
            return {"Range": f"bytes={self.have}-", "If-Range": self._about["mark"]}
        return {}

    def take(self, answer: requests.Response) -> None:
        """Write what comes."""
        import requests

        from mascot.bench.prepare.web import blocks

        start = self.have if answer.status_code == 206 else 0
        if answer.status_code == 416 or (answer.status_code == 206 and not self._goes_on(answer, start)):
            self._forget()
            raise requests.ConnectionError("the file has changed on the server")
        if start == 0:
            self._about = self._describe(answer)
            self._told.write_text(json.dumps(self._about), "utf-8")
        total = self._about.get("total")
        done = start
        since, mark = time.monotonic(), start
        with open(self._part, "ab" if start else "wb") as stream:
            for block in blocks(answer):
                stream.write(block)
                done += len(block)
                if self._report is not None:
                    self._report(done, total)
                if time.monotonic() - since > self.patience:
                    if done - mark < LEAST:
                        raise requests.Timeout(f"fewer than {LEAST} bytes in {self.patience:g} s")
                    since, mark = time.monotonic(), done
        if total is not None and done != total:
            if done > total:
                self._forget()
            raise requests.ConnectionError(f"{done} bytes came of {total}")
        self.whole = True

    def finish(self) -> str:
        """Move the file into place; its SHA-256."""
        if not self.path.is_file():
            with open(self._part, "rb+") as stream:
                os.fsync(stream.fileno())
            os.replace(self._part, self.path)
        self._told.unlink(missing_ok=True)
        return sha256(self.path)

    def _goes_on(self, answer: requests.Response, start: int) -> bool:
        said = answer.headers.get("Content-Range", "")
        total = self._about.get("total")
        return said.startswith(f"bytes {start}-") and (total is None or said.endswith((f"/{total}", "/*")))

    def _describe(self, answer: requests.Response) -> dict[str, Any]:
        """Its size, and the mark by which the server knows this very version again."""
        headers = answer.headers
        length, etag = headers.get("Content-Length", ""), headers.get("ETag", "")
        plain = headers.get("Content-Encoding", "identity") == "identity"
        mark = etag if etag.startswith('"') else headers.get("Last-Modified")
        return {
            "url": self.url,
            "mark": mark if plain else None,
            "total": int(length) if length.isdigit() and plain else None,
        }

    def _remembered(self) -> dict[str, Any]:
        try:
            found = json.loads(self._told.read_text("utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("url") != self.url:
            self._forget()
            return {}
        return found

    def _forget(self) -> None:
        self._about = {}
        self._part.unlink(missing_ok=True)
        self._told.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The hash of a file of any size."""
    try:
        return files.sha256(path)
    except FileNotFoundError:
        raise Lost("dead link", f"{path} is not there") from None
