"""Features and vectors of candidates as one row each, whose products are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mascot.kernels.reference import Floats


def joined(features: Sequence[Floats], signs: Floats, weights: Floats, vectors: Floats | None) -> Floats:
    """Return one row per candidate: [unit image vector, (s_j w_j / sum w) * features of each attribute j].

    With all weights 1 the factors are the published s_j / A. `features` are A arrays [N, d_j].
    """
    blocks = [] if vectors is None else [vectors]
    if len(weights):
        factors = signs * weights / weights.sum()
        blocks += [factor * block for factor, block in zip(factors, features, strict=True)]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=-1)
