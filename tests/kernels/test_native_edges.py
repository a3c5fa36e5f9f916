"""The native kernel refuses sizes that overflow; Python refuses them before."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mascot as mc
from mascot.kernels import native
from mascot.kernels.native.pack import PackedBins, pack_axes, pack_globe
from mascot.kernels.objective import Options
from tests.kernels import direct_calls

X = np.linspace(0, 1, 8)
CIRCLE = (0.0, 1e-9, 2.0**61, 1.0, 24.0, 0.0, -math.inf, math.inf, 0.0)
LINE = (0.0, 0.5, 3.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@pytest.mark.skipif(not native.available(), reason="no native kernel")
@pytest.mark.parametrize(
    "bins",
    [
        pack_axes(CIRCLE, (X,)),
        pack_axes((*CIRCLE[:2], math.nan, *CIRCLE[3:]), (X,)),
        pack_axes((*LINE, *LINE[:2], 2.0**62, *LINE[3:]), (X, X)),
        pack_axes((0.0, 0.0, 0.0, 1e-300, 0.0, 0.0, -math.inf, math.inf, 0.0), (X,)),
        pack_globe(X, X, 1e-300),
    ],
    ids=["circle", "no number", "plane", "line", "globe"],
)
def test_sizes_that_overflow_are_refused(bins: PackedBins) -> None:
    options = Options(3, 0, 0.5, 0.0, False, True, True, True, True, False)
    ptr = np.array([0, len(X)])
    with pytest.raises(MemoryError, match="ran out of memory"):
        native.select(ptr, None, X, X, X, None, None, [bins], [False], [1.0], (), {}, options)


@pytest.mark.skipif(not native.available(), reason="no native kernel")
def test_a_large_limit_on_near_copies_takes_no_memory() -> None:
    """The kernel allocated a counter for every result that the limit permits: 16 GB."""
    resource = pytest.importorskip("resource")
    hits = mc.Candidates(X, vectors=np.eye(len(X)))
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, hard))
    try:
        assert len(mc.rerank(hits, mc.limit(mc.Vectors(), 2**31 - 1), 3, backend="native")) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


@pytest.mark.skipif(not native.available(), reason="no native kernel")
def test_direct_calls_return_distinct_positions() -> None:
    direct_calls.call(seed=1, first=0, count=150)
