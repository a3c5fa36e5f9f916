"""An encoded folder as one file, so that nobody has to download and encode a dataset again.

The zip archive holds the tables, and the vectors and lists of one model. It does not hold pictures.
"""

from __future__ import annotations

import zlib
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from mascot.bench.datasets.folder import ENCODED, MODEL, SPLITS, VECTORS, Folder, encoded
from mascot.bench.files import replacing
from mascot.errors import InputError

SUFFIX = ".zip"
_TABLES = ("dataset.json", "images.parquet", "queries.parquet")
_MODEL_FILES = (MODEL, VECTORS, *(f"lists-{split}.npz" for split in SPLITS))


def share(folder: Path, out: Path, model: str | None = None) -> int:
    """Write an encoded folder to a file, as one model sees it; return the number of bytes. Equal data, equal bytes."""
    if out.suffix != SUFFIX:
        raise InputError(f"--out must be a file {SUFFIX}, got {str(out)!r}")
    Folder(folder, model).load()  # complete, and of the same images and queries
    where = encoded(folder, model).relative_to(folder)
    names = [*_TABLES, *((where / name).as_posix() for name in _MODEL_FILES)]
    with replacing(out) as stream, ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(ZipInfo(name), (folder / name).read_bytes(), ZIP_DEFLATED)
    return out.stat().st_size


def unpack(file: Path, folder: Path) -> Path:
    """Write the members of a shared file into a folder, and return the folder."""
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    try:
        with ZipFile(file) as archive:
            names = archive.namelist()
            if not set(_TABLES) < set(names) or not all(map(_is_member, names)):
                raise InputError(f"{file}: not a file of mascot bench share")
            for name in names:
                content, path = archive.read(name), folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.is_file() or path.read_bytes() != content:
                    with replacing(path) as stream:
                        stream.write(content)
    except (OSError, BadZipFile, EOFError, zlib.error) as error:
        raise InputError(f"{file}: not a file of mascot bench share: {error}") from None
    return folder


def _is_member(name: str) -> bool:
    """Return whether a member belongs to a shared file, so that an archive writes nothing elsewhere."""
    parts = PurePosixPath(name).parts
    is_vector_file = len(parts) == 3 and parts[0] == ENCODED and parts[1] != ".." and parts[2] in _MODEL_FILES
    return name in _TABLES or is_vector_file
