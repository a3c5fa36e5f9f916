"""Exceptions of requests; `application` turns them into answers."""

from __future__ import annotations

import mascot as mc


class BadBody(ValueError):
    """A body, or a line of a stream, that does not match the schema."""


class ClientLeft(Exception):
    """The client closed its connection before the answer."""


class ExportTooLarge(mc.MascotError):
    """The photographs to download exceed the size limit of an answer."""


class NoLibrary(mc.MascotError):
    """The server has no photo library."""


class LibraryGone(mc.MascotError):
    """The library was removed while it was served."""
