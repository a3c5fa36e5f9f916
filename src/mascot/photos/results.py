"""What a search found: the hits, and what steering made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.kernels.reference import normalized
from mascot.photos.photo import CALENDAR, COLUMNS, Photo
from mascot.rerank import check_method
from mascot.wishes import Wish, check_wishes

_NUMBERS = ("lat", "lon", "altitude", "width", "height", "size")
_LABELS = ("path", "folder", "camera", "lens", "title", "caption", "city", "country", "season", "part_of_day",
           "moment", "rating")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """One photograph of a result list."""

    rank: int  # from 1
    was: int  # its rank by relevance alone
    photo: Photo
    score: float
    relevance: float  # 0 to 1 over the candidates
    gains: dict[str, float]  # what relevance and each wish contributed when it was chosen
    pinned: bool = False  # it is there because the caller wants it


class Hits:
    """The candidates of one query, best first. They are re-ranked as often as wanted without asking again."""

    def __init__(
        self,
        root: Path,
        query: str,
        photos: Sequence[Photo],
        scores: NDArray[np.float64],
        vectors: NDArray[np.float32],
        looks: NDArray[np.float32],
        newest_of: int | None = None,
    ) -> None:
        self.root, self.query, self.photos, self.scores = root, query, list(photos), scores
        self.newest_of = newest_of  # without words: how many photographs these are the newest of
        self._vectors, self._looks = vectors, looks

    @property
    def ranked(self) -> bool:
        """Whether something was asked for; else the scores are all the same."""
        return self.newest_of is None

    def __len__(self) -> int:
        return len(self.photos)

    @cached_property
    def candidates(self) -> mc.Candidates:
        """The same for `mascot.rerank`: every column of the library, and `look`, the visual descriptors."""
        columns: dict[str, Any] = {name: self._column(name) for name in _LABELS}
        for name in _NUMBERS:
            columns[name] = np.array([np.nan if v is None else v for v in self._column(name)], np.float64)
        for name, length in CALENDAR.items():
            columns[name] = _cells(None if p.taken is None else p.taken.isoformat()[:length] for p in self.photos)
        columns["taken"] = np.array([photo.taken for photo in self.photos], "datetime64[ms]")
        keywords = _cells(list(photo.keywords) for photo in self.photos)
        columns |= {"keywords": keywords, "look": self._looks.astype(np.float64)}
        return mc.Candidates(self.scores, [photo.id for photo in self.photos], columns, self._vectors)

    def _column(self, name: str) -> NDArray[Any]:
        return _cells(getattr(photo, name) for photo in self.photos)

    def around(self, pinned: Hits | None, reject: Iterable[int] = ()) -> Hits:
        """Return the candidates without the rejected ids and, behind them, pinned photographs that are not among them.

        What is behind them is as relevant as the last: the range of the scores stays as it is.
        """
        ids = {photo.id for photo in self.photos}
        rejected = ids & set(reject)
        others = [] if pinned is None else [i for i, photo in enumerate(pinned.photos) if photo.id not in ids]
        if not rejected and not others:
            return self
        stay = np.array([i for i, photo in enumerate(self.photos) if photo.id not in rejected], np.int64)
        if pinned is None or not others:
            return self._joined(stay, self, np.empty(0, np.int64))
        return self._joined(stay, pinned, np.array(others))

    def _joined(self, stay: NDArray[np.int64], pinned: Hits, others: NDArray[np.int64]) -> Hits:
        photos = [*(self.photos[i] for i in stay), *(pinned.photos[i] for i in others)]
        scores = self.scores[stay]
        scores = np.append(scores, np.full(len(others), scores.min() if len(scores) else 0.0))
        vectors, looks = pinned._vectors[others], pinned._looks[others]
        if len(self):  # an empty one does not say how long its vectors are
            vectors = np.concatenate([self._vectors[stay], vectors])
            looks = np.concatenate([self._looks[stay], looks])
        return Hits(self.root, self.query, photos, scores, vectors, looks, self.newest_of)

    def rerank(
        self,
        wishes: mc.AnyWish | Sequence[mc.AnyWish] = (),
        k: int = 20,
        method: Any = None,
        already: Results | Iterable[int] | None = None,
        pin: Sequence[int] = (),
    ) -> Results:
        """Spend `k` places on the wishes; `already` are ids, or the results, of earlier pages, not shown again.

        Photographs whose ids are in `pin` come first; they count in `k`, in limits and shares, and as covered.

        Where nothing was asked for, none is protected for being the best; but where a focus names no value, the
        newest photograph is, for it to stay near.
        """
        if not len(self):
            return Results(self, None)
        chosen = check_method(method)
        if not self.ranked and isinstance(chosen, mc.Mascot) and chosen.protect is None:
            named = [wish.near is not None for wish in check_wishes(wishes) if isinstance(wish, Wish) and wish.sign < 0]
            chosen = replace(chosen, protect=1 if named and not any(named) else 0)
        ranking = mc.rerank(self.candidates, wishes, k, chosen, already=ids_before(already), pin=pin)
        return Results(self, ranking, frozenset(pin))


class Results:
    """The chosen photographs, best first."""

    def __init__(self, hits: Hits, ranking: mc.Ranking | None, pinned: frozenset[int] = frozenset()) -> None:
        self.hits, self.ranking, self.pinned = hits, ranking, pinned

    def __len__(self) -> int:
        return 0 if self.ranking is None else len(self.ranking)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @cached_property
    def results(self) -> list[Result]:
        if self.ranking is None:
            return []
        gains = self.ranking.gains
        return [
            Result(
                rank=place + 1,
                was=int(self.ranking.was[place]),
                photo=self.hits.photos[int(position)],
                score=float(self.ranking.scores[place]),
                relevance=float(self.ranking.relevance[place]),
                gains={name: float(values[place]) for name, values in gains.items()},
                pinned=self.hits.photos[int(position)].id in self.pinned,
            )
            for place, position in enumerate(self.ranking.positions)
        ]

    @property
    def photos(self) -> list[Photo]:
        return [result.photo for result in self.results]

    @property
    def paths(self) -> list[Path]:
        """Files, best first."""
        return [self.hits.root / photo.path for photo in self.photos]

    @cached_property
    def _by_relevance(self) -> dict[int, int]:
        """Places of the candidates that relevance alone would have shown, the pinned first, and their ranks."""
        if self.ranking is None:
            return {}
        before, photos = set(self.ranking.shown_before), self.hits.photos
        ranks = {at: rank for rank, at in enumerate(np.argsort(-self.hits.scores, kind="stable").tolist(), 1)}
        pinned = [at for at in self.ranking.positions.tolist() if photos[at].id in self.pinned]
        others = (at for at in ranks if photos[at].id not in before | self.pinned)
        return {at: ranks[at] for at in islice((*pinned, *others), len(self))}

    @cached_property
    def plain(self) -> list[Photo]:
        """What relevance alone would have shown."""
        return [self.hits.photos[place] for place in self._by_relevance]

    def explain(self) -> mc.Explanation:
        """Why each photograph is there, and what kept the best of the others out."""
        if self.ranking is None:
            return mc.Explanation([], [], 0.0, ())
        return self.ranking.explain()

    @cached_property
    def gone(self) -> frozenset[int]:
        """Ids of the shown photographs whose files are not there, be it that their drive is away."""
        return frozenset(photo.id for photo in {*self.photos, *self.plain} if self._is_gone(photo))

    def _is_gone(self, photo: Photo) -> bool:
        return not os.path.exists(self.hits.root / photo.path)

    def records(self, explain: bool = False, compare: bool = False) -> list[dict[str, Any]]:
        """A plain record for each result, ready for JSON.

        With `explain` also for the best that were left out, and with `compare` for those that relevance alone would
        have shown: of the same fields, but of no rank.
        """
        found = [
            self._record(result.photo, result.rank, result.was, result.score, result.relevance, result.gains)
            | ({"pinned": True} if result.pinned else {})
            for result in self.results
        ]
        others: dict[int, dict[str, Any]] = {}
        if compare:
            shown, before = {photo.id for photo in self.photos}, {photo.id for photo in self.plain}
            for record in found:
                record["came"] = record["id"] not in before
            others = {
                place: self._other(place, was) | {"went": True}
                for place, was in self._by_relevance.items()
                if self.hits.photos[place].id not in shown
            }
        if explain:
            reasons = self.explain()
            for record, reason in zip(found, reasons.results, strict=True):
                record["opened"] = {name: bins for name, bins in reason.opened.items() if bins}
                record["because"] = reason.because
            for left in reasons.left_out:
                record = others.setdefault(left.position, self._other(left.position, left.was))
                record |= {"gains": left.gains, "left_out": True, "because": left.because}
        return found + list(others.values())

    def _record(
        self, photo: Photo, rank: int | None, was: int, score: float, relevance: float, gains: dict[str, float]
    ) -> dict[str, Any]:
        record: dict[str, Any] = {"rank": rank, "was": was, "path": str(self.hits.root / photo.path)}
        record |= {"score": score, "relevance": relevance, "gains": gains}
        record |= {name: value for name, value in photo.to_dict().items() if name != "path"}
        return record | ({"gone": True} if self._is_gone(photo) else {})

    def _other(self, place: int, was: int) -> dict[str, Any]:
        """The record of a candidate that is no result."""
        scores = self.hits.scores
        relevance = float(normalized(scores)[place])
        return self._record(self.hits.photos[place], None, was, float(scores[place]), relevance, {})


def ids_before(already: Results | Iterable[int] | None) -> list[int] | None:
    """Return the ids of all photographs that earlier pages showed."""
    if already is None:
        return None
    if not isinstance(already, Results):
        return list(already)
    return [] if already.ranking is None else [*already.ranking.shown_before, *already.ranking.ids]


def check_choice(pin: Iterable[int], reject: Iterable[int]) -> None:
    """Refuse a photograph that is pinned and rejected."""
    for id_ in sorted(set(pin) & set(reject)):
        raise mc.OptionError(f"photograph {id_} is pinned and rejected: it can be only one of them")


def _cells(values: Iterable[Any]) -> NDArray[Any]:
    return np.fromiter(values, object)


assert set(_NUMBERS + _LABELS) <= set(COLUMNS)
