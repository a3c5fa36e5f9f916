"""The kernel that re-ranks, loaded once at the start, so that no request waits for it."""

from __future__ import annotations

from functools import cache

import mascot as mc
from mascot.kernels import native


@cache
def name() -> str:
    """Return the backend in use; runs one selection the first time, so that everything is loaded."""
    backend = "native" if native.available() else "numpy"
    hits = mc.Candidates([0.9, 0.8], columns={"hour": [1.0, 2.0]})
    mc.rerank(hits, mc.spread(mc.HourOfDay("hour")), 1, backend=backend)  # type: ignore[arg-type]
    return backend
