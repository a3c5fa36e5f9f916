"""How photographs are sent: in which format, what is cached, what is too large. Without a server."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pillow_heif
import pytest
from PIL import Image
from starlette.responses import FileResponse

from mascot.photos.images import Unreadable
from mascot.photos.photo import COLUMNS, Photo
from mascot.server import pictures

_PHOTO = Photo(**dict.fromkeys(COLUMNS) | {"id": 1, "width": 48, "height": 64})  # as it was indexed


def _sent(path: Path) -> tuple[str | None, bytes]:
    answer = pictures.photograph({}, path, _PHOTO)
    return answer.media_type, path.read_bytes() if isinstance(answer, FileResponse) else bytes(answer.body)


def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path) -> None:
    picture = Image.new("RGB", (64, 48), (20, 200, 20))
    for kind in ("TIFF", "HEIF"):
        lying = tmp_path / f"{kind}.jpg"
        if kind == "HEIF":
            pillow_heif.from_pillow(picture).save(lying, format="HEIF")
        else:
            picture.save(lying, kind)
        media_type, body = _sent(lying)
        assert (media_type, Image.open(BytesIO(body)).format) == ("image/jpeg", "JPEG")
    for kind, wanted in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp")):
        lying = tmp_path / f"{kind}.tif"
        picture.save(lying, kind)
        assert _sent(lying) == (wanted, lying.read_bytes())
    (tmp_path / "notes.jpg").write_text("a secret")
    with pytest.raises(Unreadable, match="not an image"):
        _sent(tmp_path / "notes.jpg")


def test_what_was_indexed_is_never_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_MEGAPIXELS", 0.001)
    path = tmp_path / "large.tif"
    Image.new("RGB", (64, 48)).save(path)
    assert _sent(path)[0] == "image/jpeg"
    Image.new("RGB", (64, 49)).save(path)  # changed since
    with pytest.raises(Unreadable, match="megapixels"):
        _sent(path)
