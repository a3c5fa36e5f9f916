"""Merge the candidates of several sources, by score or by rank."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from mascot.candidates import Candidates, RecordColumns, check_types, scaled
from mascot.errors import InputError, check_one_of, check_positive, check_whole, require


def merge(
    *candidates: Candidates[Any],
    names: Sequence[str] | None = None,
    by: str = "score",
    rescale: bool = True,
    rank_constant: float = 60,
    weights: Sequence[float] | None = None,
    best: int | None = None,
) -> Candidates[Any]:
    """Merge the candidates of several sources, best first.

    Parameters
    ----------
    candidates
        The candidates of each source.
    names
        A name for each source (default: None). Ids become (name, id), and a column `source` holds the name. Names are
        needed if one id means different things in two sources, or if hits have no ids.
    by
        "score" keeps the highest score of an id (default). "rank" is reciprocal rank fusion: the score of an id is the
        sum of weight / (rank_constant + rank) over the sources that returned it, with its best rank, from 1. It
        needs no comparable scores.
    rescale
        For "score": whether the scores of each source are rescaled to 0..1, its best to 1 and its last to 0; outliers
        are clipped, and a single hit is 1 (default: True). Use False for shards of one index, whose scores are
        comparable.
    rank_constant
        For "rank": the constant of reciprocal rank fusion; a larger one flattens the ranks (default: 60).
    weights
        A factor > 0 for the scores of each source (default: None, 1 for each).
    best
        The largest number of candidates to return (default: None, all).

    If several sources return the same id, the hit with the highest score is kept. A column that a source does not have
    is missing there. Vectors are kept if all sources have the same dimension.

    Examples
    --------
    >>> text = Candidates([12.0, 3.0], ["a", "b"])
    >>> image = Candidates([0.31, 0.30], ["b", "c"])
    >>> merge(text, image).ids
    ['a', 'b', 'c']
    >>> merge(text, image, by="rank").ids
    ['b', 'a', 'c']
    """
    for part in candidates:
        if not isinstance(part, Candidates):
            raise InputError(f"merge needs Candidates, got {type(part).__name__}")
        if names is None and not part.has_ids:
            raise InputError("merge needs ids or names, got hits without ids")
    if best is not None:
        check_whole("merge best", best, 1)
    if names is not None:
        valid = not isinstance(names, str) and len(names) == len(set(names)) == len(candidates)
        require(valid, "merge names", f"must be {len(candidates)} different names, one for each source", names)
    check_one_of("merge by", by, "score", "rank")
    check_positive("merge rank_constant", rank_constant)
    factors = [1.0] * len(candidates) if weights is None else list(weights)
    rule = f"must be {len(candidates)}, one for each source"
    require(len(factors) == len(candidates), "merge weights", rule, weights)
    for factor in factors:
        check_positive("merge weights", factor)
    if by == "rank":
        # Of equal scores the earlier has the better rank.
        orders = [np.argsort(-part.scores, kind="stable") for part in candidates]
        parts = [1 / (rank_constant + 1 + np.argsort(order)) for order in orders]
    else:
        # A single hit is the best of its source.
        parts = [part.scores for part in candidates]
        if rescale:
            parts = [scaled(scores, robust=True) if len(scores) > 1 else np.ones(len(scores)) for scores in parts]
    scores = np.concatenate([np.zeros(0), *(factor * part for factor, part in zip(factors, parts, strict=True))])
    ids: list[Hashable] = []
    source_of: list[int] = []
    for at, part in enumerate(candidates):
        ids += part.ids if names is None else [(names[at], id_) for id_ in part.ids]
        source_of += [at] * len(part)
    if names is None:
        check_types(ids, "merge needs names or ids of one type")
    places: dict[Hashable, int] = {}  # the best of each id
    firsts: dict[tuple[int, Hashable], int] = {}  # the best of each id in each source
    for at in np.argsort(-scores, kind="stable").tolist():
        places.setdefault(ids[at], at)
        firsts.setdefault((source_of[at], ids[at]), at)
    order = list(places.values())
    if by == "rank":
        sums = np.zeros(len(scores))
        for (_, id_), at in firsts.items():
            sums[places[id_]] += scores[at]
        scores = sums
        order.sort(key=lambda at: -scores[at])
    order = order[:best]
    result: Candidates[Any] = Candidates(scores[order], [ids[at] for at in order])
    result.columns = MergedColumns(candidates, order, names)
    sources = [part.source for part in candidates if part.source is not None]
    if len(sources) == len(candidates):
        hits = [hit for source in sources for hit in source]
        result.source = [hits[at] for at in order]
    widths = {part.vectors.shape[1] for part in candidates if part.vectors is not None}
    if len(widths) == 1:
        width = widths.pop()
        blocks = [np.full((len(part), width), np.nan) if part.vectors is None else part.vectors for part in candidates]
        result.vectors = np.concatenate(blocks)[order]
    return result


class MergedColumns(RecordColumns):
    """The concatenated columns of several sources; a source without a column has missing values."""

    def __init__(self, parts: Sequence[Candidates[Any]], order: Sequence[int], names: Sequence[str] | None) -> None:
        super().__init__(order)
        self._parts, self._source_names = parts, names

    def cells(self, name: str) -> list[Any]:
        cells: list[Any] = []
        for at, part in enumerate(self._parts):
            if name == "source" and self._source_names is not None:
                cells += [self._source_names[at]] * len(part)
            elif isinstance(part.columns, RecordColumns):
                cells += part.columns.cells(name)
            else:
                cells += list(part.columns[name]) if name in part.columns else [None] * len(part)
        return [cells[position] for position in self._records]

    def __iter__(self) -> Iterator[str]:
        names = [name for part in self._parts for name in part.columns]
        return iter(dict.fromkeys([*names, *([] if self._source_names is None else ["source"])]))
