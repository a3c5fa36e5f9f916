"""Text that is none, and text that is the same: names of files may be any bytes, and letters in two forms."""

from __future__ import annotations

import unicodedata
from typing import Any

from mascot.errors import OptionError


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8, as SQLite and JSON must."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    r"""The same for people, its odd bytes written as `\xff`: never a path to be opened."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a letter of a Windows name
        return text.encode("utf-8", "backslashreplace").decode()


def composed(value: Any) -> Any:
    """Text with each accent on its letter (NFC); a Mac writes names with accents behind letters. Others as they are."""
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def fold(value: Any) -> Any:
    """Text so that names that read the same are the same: accents on their letters, no capitals. Others as they are."""
    return composed(composed(value).casefold()) if isinstance(value, str) else value


def require_text(text: str, owner: str) -> str:
    """The text itself, if it is valid."""
    if not is_text(text):
        raise OptionError(f"{owner} must be valid UTF-8, got {text!r}")
    return text
