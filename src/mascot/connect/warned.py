"""Warnings that point to the line that called into this package."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn, and name the nearest line outside of this package."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "mascot":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)
