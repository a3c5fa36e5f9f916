"""Why something that was looked for is not there."""

from __future__ import annotations

from urllib.parse import urlsplit

from mascot.errors import require

NO_ANSWER = "no answer"  # the one reason that may pass: the next run tries again
REASONS = (
    "dead link",  # the server says it has no such thing, or will not give it
    NO_ANSWER,  # no server, no network, or a server in trouble, time after time
    "bad address",
    "bad certificate",
    "no ranges",  # the server does not give parts of a file
    "too large",
    "not a picture",
    "wrong content",  # not the table, archive or record it should be
    "not in archive",
    "no metadata",
    "no time",
    "no place",
    "out of range",
    "duplicate",
    "no caption",
    "no label",
    "few positives",
)


class Lost(Exception):
    """One thing is not there; `reason` is one of a few short words, `detail` says more."""

    def __init__(self, reason: str, detail: str = "", url: str | None = None) -> None:
        require(reason in REASONS, "Lost.reason", f"must be one of {', '.join(REASONS)}", reason)
        super().__init__(reason, detail, url)
        self.reason, self.detail, self.url = reason, detail, url

    def __str__(self) -> str:
        said = f"{self.reason} ({self.detail})" if self.detail else self.reason
        return f"{self.url}: {said}" if self.url else said

    @property
    def host(self) -> str | None:
        """Whose fault it was, where it came over the web."""
        try:
            return urlsplit(self.url).hostname if self.url else None
        except ValueError:
            return None
