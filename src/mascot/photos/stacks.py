"""Stacks: shots of one burst and copies of one picture, which a result list shows as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mascot.photos.look import EDGES
from mascot.photos.photo import Photo

_BURST_S = 10.0  # between two shots
_BURST_LIKENESS = 0.92  # cosine of looks; of 4,500 pairs of unlike photographs the most alike have 0.89
_SCENE_LIKENESS = 0.85  # of a shot with the first one of its stack: a slow pan does not become one stack
_COPY_LIKENESS = 0.997  # resized, or compressed again
_COPY_SHAPE = 0.02  # relative difference of the ratio of width and height
_FLAT = 1e-4  # range of the edge values of a picture without edges
_NEIGHBOURS = 3  # later shots with which a shot is compared
_TABLES, _BITS = 4, 16  # hash tables of looks, and bits of each hash: similar pictures share a hash in one of them


def stacks(photos: Sequence[Photo], looks: NDArray[np.float32]) -> list[list[int]]:
    """Return the positions of photographs that belong together, two or more in each stack.

    Photographs belong together if their files are equal, if a camera took them within seconds and they look alike, or
    if they look the same and one of them has no time, like a copy from a messenger. Photographs with different captions
    never do.

    Parameters
    ----------
    looks
        Visual descriptors, shape (n, `look.DIM`), of length one.
    """
    union = _Union(photos)
    by_hash: dict[str, int] = {}
    for place, photo in enumerate(photos):
        first = by_hash.setdefault(photo.hash, place)
        if first != place and photo.hash:
            union.join(first, place)
    is_dated = np.array([photo.taken is not None for photo in photos], bool)
    # A picture without edges looks like any other of its colour.
    has_edges = np.ptp(looks[:, EDGES], axis=1) > _FLAT if len(photos) else is_dated
    _join_bursts(photos, looks, np.flatnonzero(is_dated & has_edges), union)
    if not is_dated[has_edges].all():
        _join_copies(photos, looks, np.flatnonzero(has_edges), is_dated, union)
    return union.groups()


def _join_bursts(photos: Sequence[Photo], looks: NDArray[np.float32], dated: NDArray[np.intp], union: _Union) -> None:
    times = np.array([photos[i].taken for i in dated.tolist()], "datetime64[ms]").astype(np.int64) / 1e3
    order = np.argsort(times, kind="stable")
    places, times = dated[order], times[order]
    links: list[tuple[int, int]] = []
    for lag in range(1, min(_NEIGHBOURS, len(places) - 1) + 1):
        near = np.flatnonzero(times[lag:] - times[:-lag] <= _BURST_S)
        is_alike = _likeness(looks, places[near], places[near + lag]) >= _BURST_LIKENESS
        links += zip(near[is_alike].tolist(), (near[is_alike] + lag).tolist(), strict=True)
    for first, second in sorted(links):
        earlier, later = int(places[first]), int(places[second])
        cameras = {photos[earlier].camera, photos[later].camera} - {None}
        top = union.top(earlier)
        if len(cameras) < 2 and float(looks[top] @ looks[later]) >= _SCENE_LIKENESS:
            union.join(top, later)


def _join_copies(
    photos: Sequence[Photo],
    looks: NDArray[np.float32],
    places: NDArray[np.intp],
    dated: NDArray[np.bool_],
    union: _Union,
) -> None:
    """Join neighbours in the order of each hash: pictures that look the same nearly always share one."""
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
            is_candidate = (codes[order[:-lag]] == codes[order[lag:]]) & (dated[left] != dated[right])
            left, right = left[is_candidate], right[is_candidate]
            is_same = _likeness(looks, left, right) >= _COPY_LIKENESS
            for first, second in zip(left[is_same].tolist(), right[is_same].tolist(), strict=True):
                if _have_same_shape(photos[first], photos[second]):
                    union.join(first, second)


def _have_same_shape(photo: Photo, other: Photo) -> bool:
    ratios = [each.width / max(each.height, 1) for each in (photo, other)]
    return max(ratios) <= min(ratios) * (1 + _COPY_SHAPE)


def _likeness(looks: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float32]:
    likeness: NDArray[np.float32] = np.einsum("ij,ij->i", looks[left], looks[right])
    return likeness


class _Union:
    """Disjoint sets of positions (union-find). The words of a set are equal, if any; its top is the first joined."""

    def __init__(self, photos: Sequence[Photo]) -> None:
        self._photos, self._parents = photos, list(range(len(photos)))
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
            self._words[top] = [text for text in (self._photos[top].title, self._photos[top].caption) if text]
        return self._words[top]

    def groups(self) -> list[list[int]]:
        members: dict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(self._parents):
            if parent != place:
                members[self.top(place)].append(place)
        return [sorted([top, *members_of_top]) for top, members_of_top in members.items()]
