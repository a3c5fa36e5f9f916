"""The compiled kernel: loaded once at the start, so that no request waits for it."""

from __future__ import annotations

import threading
from functools import cache

import mascot as mc

_BACKENDS = ("native", "numba", "numpy")  # the first that works
_loaded = threading.Event()


@cache
def name() -> str:
    """Return the fastest backend that works here; loads it the first time."""
    hits = mc.Candidates([0.9, 0.8], columns={"lat": [1.0, 2.0], "lon": [1.0, 2.0], "hour": [1.0, 2.0]})
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))]
    for backend in _BACKENDS:
        try:
            mc.rerank(hits, wishes, 1, backend=backend)
        except (mc.MascotError, ImportError):
            continue
        _loaded.set()
        return backend
    raise RuntimeError("no backend works")


def backend(compiled: bool) -> str:
    """Return the backend of a request: the compiled one where it must be, numpy as long as that is being loaded."""
    if compiled:
        return name()
    return "auto" if loaded() else "numpy"


def loaded() -> bool:
    """Whether the kernel is loaded."""
    return _loaded.is_set()
