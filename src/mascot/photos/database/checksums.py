"""Checksums of saved choices."""

from __future__ import annotations

import xxhash


def checksum(content: bytes) -> int:
    """Return a 64-bit hash, which detects accidents but not forgeries."""
    return xxhash.xxh3_64_intdigest(content)
