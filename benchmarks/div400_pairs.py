"""How well the attributes of Div400 predict whether two relevant photographs share a judged cluster.

``python -m benchmarks.div400_pairs DIR`` prints the area under the ROC curve, mean over the topics: of each
attribute's distance, and of a logistic regression on several of them that was fitted to other topics.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mascot.attributes.times import times
from mascot.bench.datasets.dataset import Dataset, Floats, Ints
from mascot.bench.datasets.div400 import Div400

_FOLDS = 5
_DAY = np.timedelta64(1, "D")
_KM_A_DEGREE = 111.2
_NAMES = ("look", "photographer", "time", "place")
_SETS = (("look",), ("photographer",), ("time",), ("place",), ("look", "photographer"), _NAMES)


def pair_auc(dataset: Dataset) -> dict[tuple[str, ...], float]:
    """The mean AUC by the names of the attributes that were looked at."""
    topics = [_pairs(dataset, rows) for rows in dataset.positives]
    judged_topics = [(distances, same) for distances, same in topics if same.any() and not same.all()]
    return {names: _auc(judged_topics, [_NAMES.index(name) for name in names]) for names in _SETS}


def _pairs(dataset: Dataset, rows: Ints) -> tuple[Floats, Any]:
    """Of all pairs of a topic's relevant photographs the [pairs, attributes] distances, and who shares a cluster."""
    columns = dataset.columns
    i, j = np.triu_indices(len(rows), 1)
    assert dataset.vectors is not None
    vectors = dataset.vectors[rows]
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    taken = times({"taken": columns["taken"][rows]}, "taken", "pair_auc")
    days = np.abs(taken[i] - taken[j]) / _DAY
    lat, lon = columns["lat"][rows], columns["lon"][rows]
    apart = np.hypot(lat[i] - lat[j], (lon[i] - lon[j]) * np.cos(np.radians((lat[i] + lat[j]) / 2))) * _KM_A_DEGREE
    finite = apart[np.isfinite(apart)]
    distances = [
        np.linalg.norm(vectors[i] - vectors[j], axis=1),
        (columns["user"][rows][i] != columns["user"][rows][j]).astype(np.float64),
        np.log1p(np.nan_to_num(days, nan=365.0)),
        np.log1p(np.where(np.isfinite(apart), apart, np.median(finite) if len(finite) else 0.0)),
    ]
    return np.stack(distances, axis=1), columns["cluster"][rows][i] == columns["cluster"][rows][j]


def _auc(topics: Sequence[tuple[Floats, Any]], which: Sequence[int]) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    scores = []
    for fold in range(_FOLDS):
        rest = [topic for number, topic in enumerate(topics) if number % _FOLDS != fold]
        x = np.concatenate([distances[:, which] for distances, _ in rest])
        mean, spread = x.mean(axis=0), x.std(axis=0)
        model = LogisticRegression().fit((x - mean) / spread, np.concatenate([same for _, same in rest]))
        for distances, same in topics[fold::_FOLDS]:
            scores.append(roc_auc_score(same, model.decision_function((distances[:, which] - mean) / spread)))
    return float(np.mean(scores))


def table(folder: Path) -> str:
    """The areas as text."""
    areas = pair_auc(Div400(folder).load())
    return "\n".join(f"{' + '.join(names):36s} {value:.3f}" for names, value in areas.items())


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
