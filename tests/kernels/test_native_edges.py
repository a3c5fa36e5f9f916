"""The native kernel refuses sizes that overflow; Python refuses them before."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mascot as mc
from mascot.kernels import native
from mascot.kernels.native.pack import PackedBins, pack_axes, pack_globe

X = np.linspace(0, 1, 8)
CIRCLE, LINE = (0.0, 1e-9, 2.0**61, 1.0, 24.0, 0.0, -math.inf, math.inf), (0.0, 0.5, 3.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.skipif(not native.available(), reason="no native kernel")
@pytest.mark.parametrize(
    "bins",
    [
        pack_axes(CIRCLE, (X,)),
        pack_axes((*CIRCLE[:2], math.nan, *CIRCLE[3:]), (X,)),
        pack_axes((*LINE, *LINE[:2], 2.0**62, *LINE[3:]), (X, X)),
        pack_axes((0.0, 0.0, 0.0, 1e-300, 0.0, 0.0, -math.inf, math.inf), (X,)),
        pack_globe(X, X, 1e-300),
    ],
    ids=["circle", "no number", "plane", "line", "globe"],
)
def test_sizes_that_overflow_are_refused(bins: PackedBins) -> None:
    options = mc.Mascot(protect=0).kernel_options(3, np.ones(1), 0.0)
    ptr, one = np.array([0, len(X)]), np.ones(1)
    with pytest.raises(MemoryError, match="ran out of memory"):
        native.select(ptr, None, X, None, None, [bins], one, one, [native.LAST], [], options)
