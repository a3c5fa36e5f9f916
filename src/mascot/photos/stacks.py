"""Stacks: shots of one burst and copies of one picture, which a result list shows as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.photos.look import EDGES
from mascot.photos.table import times_of

COMPARED = ("hash", "taken", "camera", "title", "caption", "width", "height")
_BURST_S = 10.0  # between two shots
_BURST_LIKENESS = 0.92  # cosine of looks; of 4,500 pairs of unlike photographs the most alike have 0.89
_SCENE_LIKENESS = 0.85  # of a shot with the first one of its stack: a slow pan does not become one stack
_COPY_LIKENESS = 0.997  # resized, or compressed again
_COPY_SHAPE = 0.02  # by which the ratio of width and height may differ, as a part of it
_FLAT = 1e-4  # by which the edges of a picture that has none differ
_NEIGHBOURS = 3  # later shots that one is compared with
_TABLES, _BITS = 4, 16  # codes of looks, and bits of each: like pictures have one of them in common


def stacks(cells: Mapping[str, NDArray[Any]], looks: NDArray[np.float32]) -> list[list[int]]:
    """Return the places of photographs that belong together, two or more in each stack.

    Photographs belong together where their files are equal, where a camera took them within seconds and they look
    alike, and where they look the same and one of them has no time, as a copy that came through a messenger. Two with
    different captions never do.

    Parameters
    ----------
    cells
        The columns `COMPARED` of the photographs, as the database stores them.
    looks
        Visual descriptors, shape (n, `look.DIM`), of length one.
    """
    union = _Union(cells)
    by_hash: dict[str, int] = {}
    for place, content in enumerate(cells["hash"].tolist()):
        first = by_hash.setdefault(content, place)
        if first != place and content:
            union.join(first, place)
    times = times_of(cells["taken"])
    dated = ~np.isnat(times)
    # A picture without edges looks like any other of its colour.
    textured = np.ptp(looks[:, EDGES], axis=1) > _FLAT if len(looks) else dated
    _join_bursts(cells, times, looks, np.flatnonzero(dated & textured), union)
    if not dated[textured].all():
        _join_copies(cells, looks, np.flatnonzero(textured), dated, union)
    return union.groups()


def _join_bursts(
    cells: Mapping[str, NDArray[Any]],
    times: NDArray[np.datetime64],
    looks: NDArray[np.float32],
    dated: NDArray[np.intp],
    union: _Union,
) -> None:
    seconds = times[dated].astype(np.int64) / 1e3
    order = np.argsort(seconds, kind="stable")
    places, seconds = dated[order], seconds[order]
    links: list[tuple[int, int]] = []
    for lag in range(1, min(_NEIGHBOURS, len(places) - 1) + 1):
        near = np.flatnonzero(seconds[lag:] - seconds[:-lag] <= _BURST_S)
        alike = _likeness(looks, places[near], places[near + lag]) >= _BURST_LIKENESS
        links += zip(near[alike].tolist(), (near[alike] + lag).tolist(), strict=True)
    for first, second in sorted(links):
        one, two = int(places[first]), int(places[second])
        cameras = {cells["camera"][one], cells["camera"][two]} - {None}
        top = union.top(one)
        if len(cameras) < 2 and float(looks[top] @ looks[two]) >= _SCENE_LIKENESS:
            union.join(top, two)


def _join_copies(
    cells: Mapping[str, NDArray[Any]],
    looks: NDArray[np.float32],
    textured: NDArray[np.intp],
    dated: NDArray[np.bool_],
    union: _Union,
) -> None:
    """Join neighbours in the order of each code: pictures that look the same have one in common, nearly always."""
    # Any numbers without a pattern will do, and numpy.random takes long to load.
    seeds = np.sin(np.arange(1, looks.shape[1] * _TABLES * _BITS + 1)) * 43758.5453
    planes = (seeds % 1 - 0.5).astype(np.float32).reshape(looks.shape[1], -1)
    compared = looks[textured]
    signs = (compared - compared.mean(axis=0)) @ planes > 0
    weights = 1 << np.arange(_BITS)
    for table in range(_TABLES):
        codes = signs[:, table * _BITS : (table + 1) * _BITS] @ weights
        order = np.argsort(codes, kind="stable")
        for lag in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
            one, two = textured[order[:-lag]], textured[order[lag:]]
            candidates = (codes[order[:-lag]] == codes[order[lag:]]) & (dated[one] != dated[two])
            one, two = one[candidates], two[candidates]
            same = _likeness(looks, one, two) >= _COPY_LIKENESS
            for first, second in zip(one[same].tolist(), two[same].tolist(), strict=True):
                if _are_of_one_shape(cells, first, second):
                    union.join(first, second)


def _are_of_one_shape(cells: Mapping[str, NDArray[Any]], one: int, two: int) -> bool:
    ratios = [cells["width"][place] / max(cells["height"][place], 1) for place in (one, two)]
    return max(ratios) <= min(ratios) * (1 + _COPY_SHAPE)


def _likeness(looks: NDArray[np.float32], one: NDArray[np.intp], two: NDArray[np.intp]) -> NDArray[np.float32]:
    likeness: NDArray[np.float32] = np.einsum("ij,ij->i", looks[one], looks[two])
    return likeness


class _Union:
    """Disjoint sets of places, in each of which all that have words have the same; its top is the first one joined."""

    def __init__(self, cells: Mapping[str, NDArray[Any]]) -> None:
        self._texts = [cells["title"], cells["caption"]]
        self._parents = list(range(len(cells["title"])))
        self._words: dict[int, list[str]] = {}  # of a set, by its top

    def top(self, place: int) -> int:
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place

    def join(self, one: int, two: int) -> None:
        one, two = self.top(one), self.top(two)
        first, second = self._words_of(one), self._words_of(two)
        if one != two and (not first or not second or first == second):
            self._words[one] = first or second
            self._parents[two] = one

    def _words_of(self, top: int) -> list[str]:
        if top not in self._words:
            self._words[top] = [column[top] for column in self._texts if column[top]]
        return self._words[top]

    def groups(self) -> list[list[int]]:
        members: dict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(self._parents):
            if parent != place:
                members[self.top(place)].append(place)
        return [sorted([top, *others]) for top, others in members.items()]
