"""Stacks: shots of one burst and copies of one picture, which a result list shows as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.photos.metadata.look import EDGES

Cells = Mapping[str, NDArray[Any]]  # columns by name
COMPARED = ("hash", "taken", "camera", "title", "caption", "width", "height", "quality")
_BURST_S = 10.0  # between two shots
_BURST_LIKENESS = 0.92  # cosine of looks; of 4,500 pairs of unlike photographs the most alike have 0.89
_SCENE_LIKENESS = 0.85  # of a shot with the first one of its stack: a slow pan does not become one stack
_COPY_LIKENESS = 0.997  # resized, or compressed again
_COPY_SHAPE = 0.02  # relative difference of the ratio of width and height
_FLAT = 1e-4  # range of the edge values of a picture without edges
_NEIGHBOURS = 3  # later shots with which a shot is compared
_TABLES, _BITS = 4, 16  # hash tables of looks, and bits of each hash: similar pictures share a hash in one of them


def stacks(cells: Cells, looks: NDArray[np.float32]) -> list[list[int]]:
    """Return the positions of photographs that belong together, two or more in each stack.

    Photographs belong together if their files are equal, if a camera took them within seconds and they look alike, or
    if they look the same and one of them has no time, like a copy from a messenger. Photographs with different captions
    never do. `cells` has the columns `COMPARED`, times as datetime64. `looks` are visual descriptors of length one,
    shape (n, `look.DIM`).
    """
    union = _Union(cells)
    by_hash: dict[str, int] = {}
    for place, content in enumerate(cells["hash"].tolist()):
        first = by_hash.setdefault(content, place)
        if first != place and content:
            union.join(first, place)
    is_dated = ~np.isnat(cells["taken"])
    # A picture without edges looks like any other of its colour.
    has_edges = np.ptp(looks[:, EDGES], axis=1) > _FLAT if len(looks) else is_dated
    _join_bursts(cells, looks, np.flatnonzero(is_dated & has_edges), union)
    if not is_dated[has_edges].all():
        _join_copies(cells, looks, np.flatnonzero(has_edges), union)
    return union.groups()


def _join_bursts(cells: Cells, looks: NDArray[np.float32], places: NDArray[np.intp], union: _Union) -> None:
    seconds = cells["taken"][places].astype(np.int64) / 1e3
    order = np.argsort(seconds, kind="stable")
    places, seconds = places[order], seconds[order]
    links: list[tuple[int, int]] = []
    for lag in range(1, min(_NEIGHBOURS, len(places) - 1) + 1):
        near = np.flatnonzero(seconds[lag:] - seconds[:-lag] <= _BURST_S)
        is_alike = _likeness(looks, places[near], places[near + lag]) >= _BURST_LIKENESS
        links += zip(near[is_alike].tolist(), (near[is_alike] + lag).tolist(), strict=True)
    for first, second in sorted(links):
        earlier, later = int(places[first]), int(places[second])
        cameras = {cells["camera"][earlier], cells["camera"][later]} - {None}
        top = union.top(earlier)
        if len(cameras) < 2 and float(looks[top] @ looks[later]) >= _SCENE_LIKENESS:
            union.join(top, later)


def _join_copies(cells: Cells, looks: NDArray[np.float32], places: NDArray[np.intp], union: _Union) -> None:
    """Join neighbours in the order of each hash: pictures that look the same nearly always share one."""
    is_dated = ~np.isnat(cells["taken"])
    # Any irregular numbers serve, and numpy.random is slow to load.
    seeds = np.sin(np.arange(1, looks.shape[1] * _TABLES * _BITS + 1)) * 43758.5453
    planes = (seeds % 1 - 0.5).astype(np.float32).reshape(looks.shape[1], -1)
    subset = looks[places]
    signs = (subset - subset.mean(axis=0)) @ planes > 0
    weights = 1 << np.arange(_BITS)
    for table in range(_TABLES):
        codes = signs[:, table * _BITS : (table + 1) * _BITS] @ weights
        order = np.argsort(codes, kind="stable")
        for lag in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
            left, right = places[order[:-lag]], places[order[lag:]]
            is_candidate = (codes[order[:-lag]] == codes[order[lag:]]) & (is_dated[left] != is_dated[right])
            left, right = left[is_candidate], right[is_candidate]
            is_same = _likeness(looks, left, right) >= _COPY_LIKENESS
            for first, second in zip(left[is_same].tolist(), right[is_same].tolist(), strict=True):
                ratios = [cells["width"][place] / max(cells["height"][place], 1) for place in (first, second)]
                if max(ratios) <= min(ratios) * (1 + _COPY_SHAPE):
                    union.join(first, second)


def _likeness(looks: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float32]:
    likeness: NDArray[np.float32] = np.einsum("ij,ij->i", looks[left], looks[right])
    return likeness


class _Union:
    """Disjoint sets of positions (union-find). The words of a set are equal, if any; its top is the first joined."""

    def __init__(self, cells: Cells) -> None:
        self._texts = [cells["title"], cells["caption"]]
        self._parents = list(range(len(cells["title"])))
        self._words: dict[int, list[str]] = {}  # of a set, by its top

    def top(self, place: int) -> int:
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place

    def join(self, top: int, other: int) -> None:
        top, other = self.top(top), self.top(other)
        first, second = self._words_of(top), self._words_of(other)
        if top != other and (not first or not second or first == second):
            self._words[top] = first or second
            self._parents[other] = top

    def _words_of(self, top: int) -> list[str]:
        if top not in self._words:
            self._words[top] = [column[top] for column in self._texts if column[top]]
        return self._words[top]

    def groups(self) -> list[list[int]]:
        members: dict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(self._parents):
            if parent != place:
                members[self.top(place)].append(place)
        return [sorted([top, *members_of_top]) for top, members_of_top in members.items()]
