"""The hits of a search, and the re-ranked results."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.attributes import Clusters
from mascot.candidates import as_vectors, scaled
from mascot.photos.database.column_cache import PhotoColumns, PhotoTable
from mascot.photos.photo import Photo
from mascot.photos.request import K, policy
from mascot.photos.stacks import COMPARED, stacks
from mascot.reranking import check_method
from mascot.wishes import AnyWish, check_wishes

Vectors = Callable[[NDArray[np.int64]], NDArray[np.float32]]  # unit vectors of photographs, by id

_UNMEASURED = 0.5  # the quality of a photograph that `mascot index` has not measured yet
_STAR = 0.15  # that each star above or below two adds or takes
_FLOOR = 0.35  # clear failures have less
BEST_FIRST = (  # the order of the best photographs, as SQL
    f"coalesce(quality, {_UNMEASURED}) + iif(rating > 0, {_STAR} * (rating - 2), 0) DESC, taken DESC, id DESC"
)


@dataclass(frozen=True, slots=True)
class Result:
    """One photograph of a result list."""

    rank: int  # from 1
    was: int  # its rank by relevance alone
    photo: Photo
    score: float
    relevance: float  # 0 to 1 over the candidates
    gains: dict[str, float]  # contributions of relevance and of each wish when it was selected
    similar: tuple[int, ...] = ()  # ids of the photographs that it represents: shots of one burst, copies
    pinned: bool = False  # selected by the caller
    good: bool | None = None  # whether it matches the text well; None without a text


class Hits:
    """The candidates of one query, best first. They can be re-ranked repeatedly without another search."""

    def __init__(
        self,
        root: Path,
        query: str,
        ids: NDArray[np.int64],
        scores: NDArray[np.float64],
        rows: PhotoTable,
        vectors: Vectors,
        newest_of: int | None = None,
        least_good: float | None = None,
    ) -> None:
        self.root, self.query, self.ids, self.scores = root, query, ids, scores
        self.newest_of = newest_of  # without a query: the number of photographs of which these are the newest
        self.least_good = least_good  # the lowest score of a good match; None if it is unknown
        self.count = len(ids)  # of the candidates, including those in stacks
        self._rows, self._vectors = rows, vectors
        self._photos: dict[int, Photo] = {}  # those read so far, by position
        self.similar: Mapping[int, tuple[int, ...]] = {}  # ids that a photograph represents, best score first
        self._derived: dict[str, tuple[Any, Hits]] = {}  # what each method returned last, with its arguments

    @property
    def ranked(self) -> bool:
        """Whether there was a query; without one all scores are equal."""
        return self.newest_of is None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def good_matches(self) -> int | None:
        """How many candidates match the text well; 0 if none does, None without a text."""
        return None if self.least_good is None else int((self.scores >= self.least_good).sum())

    @property
    def photos(self) -> list[Photo]:
        """All candidates. Reading them takes longer than the search: `photo` reads one."""
        return self.read_photos(range(len(self)))

    def photo(self, place: int) -> Photo:
        """Return the photograph at a position, from 0."""
        return self.read_photos([place])[0]

    def read_photos(self, places: Iterable[int]) -> list[Photo]:
        """Return the photographs at these positions, from 0."""
        place_list = [int(place) for place in places]
        unread = [place for place in dict.fromkeys(place_list) if place not in self._photos]
        if unread:
            self._photos |= zip(unread, self._rows.photos(self.ids[unread]), strict=True)
        return [self._photos[place] for place in place_list]

    @cached_property
    def candidates(self) -> mc.Candidates:
        """The input of `mascot.rerank`: every column of the library, and `look`, the visual descriptors."""
        candidates = copy(self._without_vectors)
        candidates.vectors = as_vectors(self._vectors(self.ids) if len(self) else None, (len(self),), "Candidates")
        return candidates

    @cached_property
    def _without_vectors(self) -> mc.Candidates:
        candidates: mc.Candidates = mc.Candidates(self.scores, self.ids.tolist())
        candidates.columns = PhotoColumns(self._rows, self.ids)
        return candidates

    def candidates_for(self, wishes: Sequence[AnyWish], method: Any) -> mc.Candidates:
        """Return the candidates; without vectors, which are large, if neither the method nor a wish compares them."""
        needs_vectors = not isinstance(method, (mc.Mascot, mc.Relevance)) or any(
            isinstance(wish.attribute, (Clusters, mc.Vectors)) and wish.attribute.column is None for wish in wishes
        )
        return self.candidates if needs_vectors else self._without_vectors

    @cached_property
    def _compared(self) -> Mapping[str, NDArray[Any]]:
        return self._rows.cells(COMPARED, self.ids)

    @cached_property
    def _stacks(self) -> list[list[int]]:
        return stacks(self._compared, self._rows.looks(self.ids)) if len(self) else []

    def stacked(self, tops: Iterable[int] = ()) -> Hits:
        """Return the hits with one photograph in place of each stack: that of the best quality, with the best score.

        The photographs with the ids `tops`, such as those shown before, always stay and represent their stacks.
        """
        members = set(self.ids[[place for stack in self._stacks for place in stack]].tolist())
        top_ids = members.intersection(tops)
        return self._cached("stacked", top_ids, lambda: self._without_stacks(top_ids)) if members else self

    def _cached(self, method: str, arguments: Any, derive: Callable[[], Hits]) -> Hits:
        """Return the hits that a method returned last, if its arguments were the same."""
        last = self._derived.get(method)
        if last is None or last[0] != arguments:
            last = self._derived[method] = arguments, derive()
        return last[1]

    def _without_stacks(self, tops: Collection[int]) -> Hits:
        quality, ids = np.nan_to_num(self._compared["quality"]), self.ids.tolist()
        pixels = self._compared["width"] * self._compared["height"]
        scores, left_out = self.scores.copy(), np.zeros(len(self), bool)
        similar: dict[int, tuple[int, ...]] = {}
        for stack in self._stacks:
            largest = pixels[stack].max()  # a reduced copy does not represent the photograph
            ranks = {place: (ids[place] in tops, pixels[place] * 2 >= largest, quality[place]) for place in stack}
            top = max(ranks, key=ranks.__getitem__)
            rest = [place for place in stack if place != top and ids[place] not in tops]
            scores[top] = scores[[top, *rest]].max()
            left_out[rest] = True
            if rest:
                similar[ids[top]] = tuple(ids[place] for place in sorted(rest, key=lambda at: -float(self.scores[at])))
        # Sort again: the top may have had a lower score than others of its stack.
        places = np.flatnonzero(~left_out)
        places = places[np.argsort(-scores[places], kind="stable")]
        hits = self._selection(self.ids[places], scores[places], self._rows)
        hits.count, hits.similar = self.count, similar
        return hits

    def by_quality(self) -> Hits:
        """Return hits without a query with quality and stars as their scores, best first."""

        def derive() -> Hits:
            worth = self._worth()
            order = np.argsort(-worth, kind="stable")
            return self._selection(self.ids[order], worth[order], self._rows)

        return self._cached("by_quality", None, derive)

    def best(self, count: int) -> Hits:
        """Return the hits that are worth showing, best first: good matches of the text, without clear failures.

        Others follow only if there are fewer than `count`.
        """

        def derive() -> Hits:
            worth = scores = self._worth()
            failures = worth < _FLOOR
            if self.ranked:
                scores = scaled(self.scores) * np.clip(worth, 0, None)
                failures |= self.scores < (self.least_good or -np.inf)
            order = np.lexsort((-scores, failures))[: max(count, int((~failures).sum()))]
            return self._selection(self.ids[order], scores[order], self._rows)

        return self._cached("best", count, derive)

    def _worth(self) -> NDArray[np.float64]:
        """Return the quality of each photograph, raised or lowered by its stars."""
        cells = self._rows.cells(("quality", "rating"), self.ids)
        stars = cells["rating"].astype(np.float64)  # NaN if there are none
        quality = np.where(np.isnan(cells["quality"]), _UNMEASURED, cells["quality"])
        return quality + np.where(stars > 0, _STAR * (stars - 2), 0.0)

    def _selection(self, ids: NDArray[np.int64], scores: NDArray[np.float64], rows: PhotoTable) -> Hits:
        return Hits(self.root, self.query, ids, scores, rows, self._vectors, self.newest_of, self.least_good)

    def around(self, pinned: Hits | None, reject: Iterable[int] = ()) -> Hits:
        """Return the candidates without the rejected ids, followed by the pinned photographs that are not among them.

        Added photographs get the lowest score, so that the range of the scores does not change.
        """
        remains = ~np.isin(self.ids, list(reject))
        missing_pins = self.ids[:0] if pinned is None else pinned.ids[~np.isin(pinned.ids, self.ids)]
        if remains.all() and not len(missing_pins):
            return self

        def derive() -> Hits:
            scores = self.scores[remains]
            scores = np.append(scores, np.full(len(missing_pins), scores.min() if len(scores) else 0.0))
            rows = self._rows if pinned is None else pinned._rows
            return self._selection(np.append(self.ids[remains], missing_pins), scores, rows)

        return self._cached("around", (self.ids[~remains].tolist(), missing_pins.tolist()), derive)

    def rerank(
        self,
        wishes: AnyWish | Sequence[AnyWish] = (),
        k: int = K,
        method: Any = None,
        already: Results | Iterable[int] | None = None,
        pin: Sequence[int] = (),
        by_date: bool = False,
    ) -> Results:
        """Select `k` results by the wishes.

        Parameters
        ----------
        method
            How to select (default: `mascot.Mascot` with the strength, protect and order of `request.policy`).
        already
            Ids, or the results, of earlier pages; they are not shown again.
        pin
            Ids of photographs that come first; they count in `k`, in limits and shares, and as covered.
        by_date
            Show the results in the order in which they were taken; those without a time come last.
        """
        wish_list = check_wishes(wishes)
        defaults = policy(wish_list, self.ranked)
        selected_method = check_method(mc.Mascot(**defaults) if method is None else method)
        if isinstance(selected_method, mc.Mascot) and selected_method.protect is None and not self.ranked:
            selected_method = replace(selected_method, protect=defaults["protect"])
        candidates = self.candidates_for(wish_list, selected_method)
        ranking = mc.rerank(candidates, wish_list, k, selected_method, already=ids_before(already), pin=pin)
        if by_date:
            ranking = ranking.reordered(np.argsort(candidates.columns["taken"][ranking.positions], kind="stable"))
        self.read_photos(ranking.positions)  # now: another process may remove them later
        return Results(self, ranking, frozenset(pin))


class Results:
    """The selected photographs, best first."""

    def __init__(self, hits: Hits, ranking: mc.Ranking[int], pinned: frozenset[int]) -> None:
        self.hits, self.ranking, self.pinned = hits, ranking, pinned

    def __len__(self) -> int:
        return len(self.ranking)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @cached_property
    def results(self) -> list[Result]:
        gains, least = self.ranking.gains, self.hits.least_good
        return [
            Result(
                rank=place + 1,
                was=int(self.ranking.was[place]),
                photo=photo,
                score=float(self.ranking.scores[place]),
                relevance=float(self.ranking.relevance[place]),
                gains={name: float(values[place]) for name, values in gains.items()},
                similar=self.hits.similar.get(photo.id, ()),
                pinned=photo.id in self.pinned,
                good=None if least is None else bool(self.ranking.scores[place] >= least),
            )
            for place, photo in enumerate(self.hits.read_photos(self.ranking.positions))
        ]

    @property
    def photos(self) -> list[Photo]:
        return [result.photo for result in self.results]

    @property
    def good_matches(self) -> int | None:
        return self.hits.good_matches

    @property
    def paths(self) -> list[Path]:
        """Files, best first."""
        return [self.hits.root / photo.path for photo in self.photos]

    @cached_property
    def _by_relevance(self) -> dict[int, int]:
        """Positions and ranks of the results by relevance alone, the pinned first."""
        ids = self.hits.ids.tolist()
        ranks = {at: rank for rank, at in enumerate(np.argsort(-self.hits.scores, kind="stable").tolist(), 1)}
        pinned = [at for at in self.ranking.positions.tolist() if ids[at] in self.pinned]
        skipped = self.pinned.union(self.ranking.already)
        unpinned = (at for at in ranks if ids[at] not in skipped)
        return {at: ranks[at] for at in islice((*pinned, *unpinned), len(self))}

    @cached_property
    def plain(self) -> list[Photo]:
        return self.hits.read_photos(self._by_relevance)

    def explain(self) -> mc.Explanation:
        """Explain why each photograph was selected, and why the best of the others were not."""
        return self.ranking.explain() if len(self.hits) else mc.Explanation([], [], 0.0, ())

    @cached_property
    def gone(self) -> frozenset[int]:
        """Ids of the results whose files are missing, perhaps because their drive is not mounted."""
        return frozenset(photo.id for photo in {*self.photos, *self.plain} if self._is_gone(photo))

    def _is_gone(self, photo: Photo) -> bool:
        return not os.path.exists(self.hits.root / photo.path)

    def records(self, explain: bool = False, compare: bool = False) -> list[dict[str, Any]]:
        """Return a plain record for each result, ready for JSON.

        With `explain` also for the best candidates that were left out, and with `compare` for the results by relevance
        alone; these have the same fields, but no rank.
        """
        records = [self._record(result) | ({"pinned": True} if result.pinned else {}) for result in self.results]
        other_records: dict[int, dict[str, Any]] = {}
        if compare:
            result_ids, plain_ids = {photo.id for photo in self.photos}, {photo.id for photo in self.plain}
            for record in records:
                record["came"] = record["id"] not in plain_ids
            other_records = {
                place: self._other(place, was) | {"went": True}
                for place, was in self._by_relevance.items()
                if int(self.hits.ids[place]) not in result_ids
            }
        if explain:
            reasons = self.explain()
            for record, reason in zip(records, reasons.results, strict=True):
                record["opened"] = {name: bins for name, bins in reason.opened.items() if bins}
                record["because"] = reason.because
            for reason in reasons.left_out:
                record = other_records.setdefault(reason.position, self._other(reason.position, reason.was))
                record |= {"gains": reason.gains, "left_out": True, "because": reason.because}
        return records + list(other_records.values())

    def _record(self, result: Result) -> dict[str, Any]:
        photo = result.photo
        record: dict[str, Any] = {"rank": result.rank, "was": result.was, "path": str(self.hits.root / photo.path)}
        record |= {"score": result.score, "relevance": result.relevance, "gains": result.gains}
        record |= {name: value for name, value in photo.to_dict().items() if name != "path"}
        record["similar"] = list(result.similar)
        return record | ({"gone": True} if self._is_gone(photo) else {})

    def _other(self, place: int, was: int) -> dict[str, Any]:
        """Return the record of a candidate that is not a result."""
        photo, relevance = self.hits.photo(place), float(self.ranking.all_relevance[place])
        similar = self.hits.similar.get(photo.id, ())
        other = Result(0, was, photo, float(self.hits.scores[place]), relevance, {}, similar)
        return self._record(other) | {"rank": None}


def ids_before(already: Results | Iterable[int] | None) -> list[int] | None:
    """Return the ids of all photographs that earlier pages showed."""
    if isinstance(already, Results):
        return [*already.ranking.already, *already.ranking.ids]
    return None if already is None else list(already)
