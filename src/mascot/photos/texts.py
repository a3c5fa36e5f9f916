"""Text that is none: names of files may be any bytes, which Python keeps as halves of letters."""

from __future__ import annotations

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


def require_text(text: str, owner: str) -> str:
    """The text itself, if it is valid."""
    if not is_text(text):
        raise OptionError(f"{owner} must be valid UTF-8, got {text!r}")
    return text
