"""Unicode helpers: file names may be invalid UTF-8, and equal names may differ in normalization or case."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from mascot.errors import OptionError

_WORD = re.compile(r"[^\W_]+")


def is_text(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8, as SQLite and JSON require."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    r"""Return a string for display with undecodable bytes escaped as `\xff`. The result is not a path."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate in a Windows file name
        return text.encode("utf-8", "backslashreplace").decode()


def composed(value: Any) -> Any:
    """Return text in NFC (macOS writes file names in NFD), and other values unchanged."""
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def fold(value: Any) -> Any:
    """Return text in NFC and case-folded, for comparison, and other values unchanged."""
    return composed(composed(value).casefold()) if isinstance(value, str) else value


def words(value: Any) -> str:
    """Return the words of a text, folded, each between spaces, so that `instr` finds whole words and phrases."""
    return f" {' '.join(_WORD.findall(fold(value) or ''))} "


def require_text(text: str, owner: str) -> str:
    """Return the text; raise `OptionError` if it is not valid UTF-8."""
    if not is_text(text):
        raise OptionError(f"{owner} must be valid UTF-8, got {text!r}")
    return text
