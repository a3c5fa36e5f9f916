"""The look of Div400's photographs at several depths: branches of a hierarchical clustering of their vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import mascot as mc

Floats = NDArray[np.float64]
_COPY = 1e-6  # unit vectors at most this far apart count as copies


@dataclass(frozen=True, slots=True)
class Branches:
    """One whole bin per branch and depth: the tree of the candidates' vectors, cut into each of `counts` branches.

    The tree is grown by average linkage of unit vectors. The more similar two candidates are, the more bins they share;
    copies share all of them.
    """

    counts: tuple[int, ...] = (15, 30, 60)
    name: ClassVar[str] = "look"
    local: ClassVar[bool] = True  # bins depend on the other rows, so they are computed for each query

    def membership(self, columns: Mapping[str, Any], vectors: Floats | None) -> Floats:
        from scipy.cluster.hierarchy import fcluster, linkage

        tree = linkage(unit_vectors(vectors), "average")
        distinct = len(tree) + 1 - int((tree[:, 2] <= _COPY).sum())
        cuts = [fcluster(tree, min(count, distinct), "maxclust") for count in self.counts]
        return np.concatenate([cut[:, None] == np.unique(cut) for cut in cuts], axis=1).astype(np.float64)

    def features(self, columns: Mapping[str, Any], vectors: Floats | None) -> Floats:
        return self.membership(columns, vectors) / math.sqrt(len(self.counts))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Branches", "name": self.name} | asdict(self)


def unit_vectors(vectors: Floats | None) -> Floats:
    """Return the vectors scaled to length 1; zeros for a missing vector."""
    if vectors is None:
        raise mc.InputError("look needs vectors, got none")
    present = np.nan_to_num(vectors)
    lengths = np.linalg.norm(present, axis=1, keepdims=True)
    return np.asarray(present / np.where(lengths > 0, lengths, 1.0))
