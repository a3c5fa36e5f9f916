"""Colours as every screen and encoder takes them: a picture with a colour profile of its own is brought to sRGB."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image, ImageCms, features

_MODES = {"RGB": "RGB", "RGBA": "RGBA", "CMYK": "RGB"}  # that profiles are made for, and what becomes of them
_LARGEST = 4 << 20  # bytes of a profile; printers' have one or two million


def in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """The picture in sRGB. Without a profile, or with one that cannot be read, it is taken to be that already."""
    if not profile or image.mode not in _MODES or len(profile) > _LARGEST:
        return image
    change = _change(bytes(profile), image.mode)
    if change is None:
        return image
    found = ImageCms.applyTransform(image, change)
    assert found is not None  # None is for changes in place
    return found


@lru_cache(maxsize=32)
def _change(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """How to get there; None where there is nothing to do or the profile is damaged or for other pictures."""
    if not features.check("littlecms2"):
        return None
    try:
        given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(given):
            return None
        wanted = ImageCms.createProfile("sRGB")
        # One change serves many threads, so it may not remember the last colour.
        return ImageCms.buildTransform(given, wanted, mode, _MODES[mode], flags=ImageCms.Flags.NOCACHE)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None
