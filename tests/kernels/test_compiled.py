"""Compiled code is kept on disk where that is possible, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np

from mascot.kernels.layout import compiled


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same() -> None:
    made: dict[str, Any] = {}
    # Numba finds no folder for a function without a file, as for one in a folder that nobody may write to.
    exec("def double(values):\n    return 2 * values", made)
    assert compiled()(made["double"])(np.arange(3)).tolist() == [0, 2, 4]
