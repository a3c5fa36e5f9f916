"""Which images are for validation and which for the test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_VALIDATION = 5  # one in five


def order(count: int, seed: int) -> NDArray[np.int64]:
    """Which item comes to each row: a permutation that depends on the seed alone."""
    return np.random.default_rng(seed).permutation(count).astype(np.int64)


def validation(count: int) -> int:
    """How many of the first rows are for validation: a fifth, rounded down.

    >>> [validation(count) for count in (996, 683, 26517, 15650)]
    [199, 136, 5303, 3130]
    """
    return count // _VALIDATION
