"""The split of a dataset into validation and test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def permutation(count: int, seed: int, generator: str = "torch") -> NDArray[np.int64]:
    """Return the item of each row: as `torch.randperm` of that seed gives it, or numpy's generator."""
    if generator == "numpy":
        return np.random.default_rng(seed).permutation(count).astype(np.int64)
    order = np.arange(count)
    draws = np.random.RandomState(seed).randint(0, 2**32, max(count - 1, 0), dtype=np.uint32).astype(np.int64)
    for i, draw in enumerate(draws):  # torch swaps forwards, by the remainder of 32 bits of the Mersenne twister
        j = i + draw % (count - i)
        order[i], order[j] = order[j], order[i]
    return order


def validation(count: int) -> int:
    """Return how many of the first rows are for validation: a fifth, rounded down.

    >>> [validation(count) for count in (996, 683, 26517, 15650)]
    [199, 136, 5303, 3130]
    """
    return count // 5
