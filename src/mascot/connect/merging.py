"""Candidates of several searches as those of one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from mascot.candidates import Candidates, RecordColumns, scaled
from mascot.errors import InputError, check_whole, require


class MergedColumns(RecordColumns):
    """Columns of several sources, one after the other; a source without a column has missing values."""

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


def merge(
    *candidates: Candidates[Any], names: Sequence[str] | None = None, rescale: bool = True, best: int | None = None
) -> Candidates[Any]:
    """Return the candidates of several sources as those of one, best first.

    Parameters
    ----------
    candidates
        What each source returned.
    names
        A name for each source (default: None). Ids become (name, id), and a column `source` holds the name. Needed
        where the same id means different things in two sources, or where ids are positions.
    rescale
        Whether the scores of each source are rescaled to 0..1, its best to 1 and its last to 0; far outliers count as
        the outermost of the others (default: True). False for shards of one index, whose scores are comparable.
    best
        How many to return at most (default: None, all).

    Of a result that several sources return, by its id, the one with the highest score stays. A column that a source
    does not have is missing there. Vectors are kept where those of all sources have one length.

    Examples
    --------
    >>> text = Candidates([12.0, 3.0], ["a", "b"])
    >>> image = Candidates([0.31, 0.30], ["b", "c"])
    >>> merge(text, image).ids
    ['a', 'b', 'c']
    """
    for part in candidates:
        if not isinstance(part, Candidates):
            raise InputError(f"merge needs Candidates, got {type(part).__name__}")
    if best is not None:
        check_whole("merge best", best, 1)
    if names is not None:
        valid = not isinstance(names, str) and len(names) == len(set(names)) == len(candidates)
        require(valid, "merge names", f"must be {len(candidates)} different names, one for each source", names)
    rescaled = [scaled(part.scores, robust=True) if rescale else part.scores for part in candidates]
    scores = np.concatenate([np.zeros(0), *rescaled])
    ids: list[Hashable] = []
    for at, part in enumerate(candidates):
        ids += part.ids if names is None else [(names[at], id_) for id_ in part.ids]
    places: dict[Hashable, int] = {}
    for at in np.argsort(-scores, kind="stable").tolist():
        places.setdefault(ids[at], at)
    order = list(places.values())[:best]
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
