"""A small prepared folder with real pictures, for the tests of encoding."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PIL import ExifTags, Image
from tiny_models import WORDS, pictures_of

from mascot.bench.datasets.folder import Query, write_folder

TURNED = 3  # the row whose picture is stored lying on its side


def prepared(folder: Path, images: int = 23, *, more: str = "") -> Path:
    """One caption for each image, and one query for a handful of images of both splits."""
    (folder / "images").mkdir(parents=True)
    files = []
    for row, picture in enumerate(pictures_of(images)):
        files.append(f"images/{row:03d}.{'png' if row % 7 == 1 else 'jpg'}")
        exif = Image.Exif()
        if row == TURNED:
            exif[ExifTags.Base.Orientation] = 6
        picture.save(folder / files[-1], exif=exif, quality=90)
    captions = [" ".join(WORDS[(row * 5 + step) % len(WORDS)] for step in range(2 + row % 9)) for row in range(images)]
    queries = [Query(f"{text}{more}", (row,)) for row, text in enumerate(captions)]
    columns = {
        "id": [str(row) for row in range(images)],
        "file": files,
        "lat": [row * 1.5 - 40 for row in range(images)],
        "lon": [row * 3.5 - 90 for row in range(images)],
        "taken": [datetime(2020, 5, 1, row % 24) for row in range(images)],
    }
    write_folder(folder, "tiny", columns, images // 5, [*queries, Query("old tower", (0, 1, images - 1))], {})
    return folder


def contents(where: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(where.iterdir())}
