"""For those who come from pyversity: its signature, its results, the same selections, and wishes besides.

Nothing of that package is needed here; its own `Strategy` and `Metric` values are understood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mascot as mc

Singles = NDArray[np.float32]

_EPSILON = float(np.finfo(np.float32).eps)


class Strategy(str, Enum):
    """The strategies there are here."""

    MMR = "mmr"
    DPP = "dpp"
    MASCOT = "mascot"


class Metric(str, Enum):
    """How vectors are compared."""

    COSINE = "cosine"
    DOT = "dot"


@dataclass
class DiversificationResult:
    """What was selected, in the order of selection."""

    indices: NDArray[np.int32]
    selection_scores: Singles  # what each was worth when it was selected
    strategy: Strategy
    diversity: float
    parameters: dict[str, Any] | None = None


def diversify(
    embeddings: ArrayLike,
    scores: ArrayLike,
    k: int,
    strategy: Strategy | str = Strategy.DPP,
    diversity: float = 0.5,
    *,
    wishes: mc.Wish | Sequence[mc.Wish] | None = None,
    columns: Mapping[str, Any] | None = None,
    **options: Any,
) -> DiversificationResult:
    """Select k items, relevant and diverse.

    Parameters
    ----------
    embeddings
        N x D numbers.
    scores
        N numbers, higher is better.
    k
        How many; more than there are gives all, none or fewer gives an empty result.
    strategy
        ``"dpp"``, ``"mmr"``, or ``"mascot"``, which wishes select.
    diversity
        0 is relevance only, 1 is diversity only: what is called strength elsewhere in this package.
    wishes
        `spread(...)` and `focus(...)` of what is in `columns`, or of the vectors: `spread(Clusters(10))`. They are
        answered by `Mascot(strength=diversity, order="selection")` in place of the strategy.
    columns
        Named columns of N values, for the wishes.
    options
        Those of the strategy: `metric` and `normalize` of MMR, `scale` of DPP, and with wishes those of `Mascot`.

    Examples
    --------
    >>> vectors = [[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]]
    >>> diversify(vectors, [0.9, 0.8, 0.7], k=2, strategy="mmr").indices.tolist()
    [0, 2]
    >>> city = mc.spread(mc.Category("city"))
    >>> columns = {"city": ["Rome", "Oslo", "Rome"]}
    >>> diversify(vectors, [0.9, 0.8, 0.7], k=2, wishes=city, columns=columns, protect=1).indices.tolist()
    [0, 1]
    """
    if wishes is not None:
        if strategy not in (Strategy.DPP, Strategy.MASCOT):  # the first is the default, so nobody may have said it
            raise mc.OptionError(f"strategy {_word(strategy)!r} takes no wishes: leave one of the two out")
        return _steered(embeddings, scores, k, diversity, wishes, columns, options)
    if columns is not None:
        raise mc.OptionError("columns are for wishes, got no wishes")
    if strategy == Strategy.MMR:
        return mmr(embeddings, scores, k, diversity, **options)
    if strategy == Strategy.DPP:
        return dpp(embeddings, scores, k, diversity, **options)
    if strategy == Strategy.MASCOT:
        raise mc.OptionError("strategy 'mascot' needs wishes: spread(...) or focus(...)")
    raise mc.OptionError(
        f"strategy must be one of {', '.join(s.value for s in Strategy)}, got {_word(strategy)!r}; "
        "msd, cover and ssd are in the package pyversity: pip install pyversity"
    )


def mmr(
    embeddings: ArrayLike,
    scores: ArrayLike,
    k: int,
    diversity: float = 0.5,
    metric: Metric | str = Metric.COSINE,
    normalize: bool = True,
) -> DiversificationResult:
    """Maximal marginal relevance: score against the similarity to the most similar item selected before.

    The first is the highest score, each further one maximises

        (1 - diversity) * r_i - diversity * max over selected j of sim(i, j)

    with raw scores r and similarities below 0 counted as 0. (`mascot.Mmr` scales similarities over all pairs instead.)
    """
    _check_diversity(diversity)
    if metric not in (Metric.COSINE, Metric.DOT):
        raise mc.OptionError(f"metric must be 'cosine' or 'dot', got {_word(metric)!r}")
    vectors, relevance, count = _checked(embeddings, scores, k)
    cosine = metric == Metric.COSINE
    if cosine and normalize:
        vectors = _unit(vectors)
    share = 1.0 - diversity
    most = 1.0 if cosine else np.inf
    nearest = np.zeros(len(relevance), np.float32)  # similarities are never below 0
    left = np.ones(len(relevance), np.bool_)
    indices, worth = np.empty(count, np.int32), np.empty(count, np.float32)
    for step in range(count):
        # Single precision and one product a step, as in that package: ties fall the same way.
        gains = share * relevance - (1.0 - share) * nearest if step else relevance
        pick = int(np.where(left, gains, -np.inf).argmax())
        indices[step], worth[step] = pick, gains[pick] if step else share * relevance[pick]
        left[pick] = False
        if step + 1 < count:
            np.maximum(nearest, np.minimum(vectors @ vectors[pick], most), out=nearest)
    return DiversificationResult(indices, worth, Strategy.MMR, diversity, {"metric": metric})


def dpp(
    embeddings: ArrayLike, scores: ArrayLike, k: int, diversity: float = 0.5, scale: float = 1.0
) -> DiversificationResult:
    """Greedy determinantal point process over L_ij = q_i q_j cos(i, j).

    Quality is q_i = exp((1 - diversity) * scale * z_i) with z the standardised scores; diversity 0 sorts by score.
    (`mascot.KDpp` takes raw scores, similarities of distances, and attributes.)
    """
    _check_diversity(diversity)
    vectors, relevance, count = _checked(embeddings, scores, k)
    parameters = {"scale": scale}
    if diversity == 0 or not count:
        first = np.argsort(-relevance)[:count].astype(np.int32)
        return DiversificationResult(first, relevance[first], Strategy.DPP, diversity, parameters)
    vectors = _unit(vectors)
    standard = (1 - diversity) * scale * (relevance - float(relevance.mean())) / float(relevance.std() + _EPSILON)
    quality = np.exp(standard).astype(np.float32)
    variance = quality * quality + _EPSILON  # of each item, given those selected
    factors = np.zeros((len(relevance), count), np.float32)  # rows of the Cholesky factor
    left = np.ones(len(relevance), np.bool_)
    indices, worth = np.empty(count, np.int32), np.empty(count, np.float32)
    for step in range(count):
        pick = int(np.where(left, variance, -np.inf).argmax())
        indices[step], worth[step] = pick, variance[pick]
        left[pick] = False
        if step + 1 < count:
            # As in that package: the root is offset, and no variance falls below 0. Where k exceeds the rank of the
            # vectors all are near 0, and what follows is noise that may overflow: the same noise.
            with np.errstate(over="ignore", invalid="ignore"):
                row = quality * (vectors @ vectors[pick]) * quality[pick]
                if step:
                    row = row - factors[:, :step] @ factors[pick, :step]
                row = row / (np.sqrt(worth[step]) + np.float32(_EPSILON))
                factors[:, step] = row
                variance = np.maximum(variance - row * row, np.float32(0))
    return DiversificationResult(indices, worth, Strategy.DPP, diversity, parameters)


def _steered(
    embeddings: ArrayLike,
    scores: ArrayLike,
    k: int,
    diversity: float,
    wishes: mc.Wish | Sequence[mc.Wish],
    columns: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> DiversificationResult:
    _check_diversity(diversity)
    asked = {"order": "selection"} | ({} if "keep" in options else {"strength": diversity}) | options
    try:
        method = mc.Mascot(**asked)
    except TypeError as error:
        raise mc.OptionError(f"with wishes, options are those of Mascot: {error}") from None
    vectors, relevance, count = _checked(embeddings, scores, k)
    indices, worth, strength = np.empty(0, np.int32), np.empty(0, np.float32), diversity
    if count:
        found = mc.Candidates(relevance, columns=columns, vectors=vectors)
        ranking = mc.rerank(found, wishes, k=count, method=method)
        indices, strength = ranking.positions.astype(np.int32), ranking.strength
        worth = np.sum(list(ranking.gains.values()), axis=0).astype(np.float32)
    return DiversificationResult(indices, worth, Strategy.MASCOT, strength, method.to_dict())


def _check_diversity(diversity: float) -> None:
    if not 0 <= diversity <= 1:
        raise mc.OptionError(f"diversity must be in 0..1, got {diversity!r}")


def _checked(embeddings: ArrayLike, scores: ArrayLike, k: int) -> tuple[Singles, Singles, int]:
    """Vectors and scores in single precision, and how many to select."""
    try:
        vectors = np.ascontiguousarray(embeddings, np.float32)
        relevance = np.asarray(scores, np.float32).reshape(-1)
    except (TypeError, ValueError) as error:
        raise mc.InputError(f"embeddings and scores must be numbers, as many in each row: {error}") from None
    if vectors.ndim != 2:
        raise mc.InputError(f"embeddings must be an array of two dimensions, got {vectors.ndim}")
    if len(vectors) != len(relevance):
        raise mc.InputError(f"scores must have {len(vectors)} values like embeddings, got {len(relevance)}")
    for name, values in (("embeddings", vectors), ("scores", relevance)):
        if not np.isfinite(values).all():
            raise mc.InputError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
    return vectors, relevance, max(0, min(int(k), len(relevance)))


def _unit(vectors: Singles) -> Singles:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, _EPSILON)


def _word(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
