"""Conversion of images with an embedded colour profile to sRGB, which screens and encoders expect."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image, ImageCms, features

_OUTPUT_MODES = {"RGB": "RGB", "RGBA": "RGBA", "CMYK": "RGB"}  # by input mode; others have no colour profile
_MAX_BYTES = 4 << 20  # of a profile; printer profiles have 1 to 2 MB


def in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the image in sRGB. An image without a readable profile is taken to be in sRGB already."""
    if not profile or image.mode not in _OUTPUT_MODES or len(profile) > _MAX_BYTES:
        return image
    transform = _transform(bytes(profile), image.mode)
    if transform is None:
        return image
    converted = ImageCms.applyTransform(image, transform)
    assert converted is not None  # it is None for in-place conversions only
    return converted


@lru_cache(maxsize=32)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the transform to sRGB; None if the profile is sRGB, damaged or for another mode."""
    if not features.check("littlecms2"):
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(source):
            return None
        target = ImageCms.createProfile("sRGB")
        # Threads share the transform, and its one-pixel cache is not thread-safe.
        return ImageCms.buildTransform(source, target, mode, _OUTPUT_MODES[mode], flags=ImageCms.Flags.NOCACHE)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None
