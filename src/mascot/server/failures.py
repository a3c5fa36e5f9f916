"""Why a request fails, for those who raise it and for the one place that answers it."""

from __future__ import annotations

import mascot as mc


class BadBody(ValueError):
    """A body, or a line of a stream, that is not what the schema says."""


class ClientLeft(Exception):
    """The client closed its connection: nobody waits for the answer."""


class ExportTooLarge(mc.MascotError):
    """The photographs to download are more bytes than an answer may have."""


class NoLibrary(mc.MascotError):
    """The server has no photo library."""


class LibraryGone(mc.MascotError):
    """The library was removed while it was served."""
