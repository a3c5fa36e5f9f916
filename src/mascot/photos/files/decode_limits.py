"""Limits on reading one file."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from mascot.errors import is_number, require


@dataclass(frozen=True)
class Limits:
    """Limits on reading one file. A file that exceeds a limit is skipped, and the reason is recorded."""

    max_megapixels: float = 150.0  # width times height
    max_megabytes: float = 1000.0  # size of the file
    max_seconds: float = 60.0  # CPU time for decoding
    max_memory_mb: float = 1536.0  # memory for decoding, besides the decoder's own

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            require(is_number(value) and value > 0, field.name, "must be > 0", value)

    def refusal(self, size: int) -> str | None:
        """Return the reason if a file of this size in bytes must not be opened, otherwise None."""
        if size <= self.max_megabytes * 1e6:
            return None
        return f"{size / 1e6:.0f} megabytes, more than the {self.max_megabytes:g} allowed (--max-megabytes)"

    def __str__(self) -> str:
        """Return the values, separated by spaces: equal texts mean equal limits."""
        return " ".join(f"{value:g}" for value in astuple(self))
