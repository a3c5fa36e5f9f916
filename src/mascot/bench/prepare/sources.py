"""Tables that a recipe starts from: fetched once, or taken from a path on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from mascot.bench.prepare.common import Common, work_folder
from mascot.bench.prepare.download import sha256
from mascot.errors import InputError


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is here now."""

    path: Path
    url: str  # or the path it was given by
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """As dataset.json has it."""
        return {"url": self.url, "sha256": self.sha256}


def fetch(name: str, address: str, out: Path, common: Common) -> Source:
    """The source of that name: a web address, which is downloaded to the work folder, or a path."""
    if "://" not in address:
        path = Path(address)
        if not path.is_file():
            raise InputError(f"source {name} must be a web address or a file, got {address!r}")
        return Source(path, address, sha256(path))
    suffix = "".join(PurePosixPath(unquote(urlsplit(address).path)).suffixes[-2:])
    path = work_folder(out) / f"{name}{suffix}"
    return Source(path, address, common.web.download(address, path, common.progress(f"download {name}")))
