"""What a search found: the hits, and what steering made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.photos.photo import COLUMNS, Photo

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
    ) -> None:
        self.root, self.query, self.photos, self.scores = root, query, list(photos), scores
        self._vectors, self._looks = vectors, looks

    def __len__(self) -> int:
        return len(self.photos)

    @cached_property
    def candidates(self) -> mc.Candidates:
        """The same for `mascot.rerank`: every column of the library, and `look`, the visual descriptors."""
        columns: dict[str, Any] = {name: self._column(name) for name in _LABELS}
        for name in _NUMBERS:
            columns[name] = np.array([np.nan if v is None else v for v in self._column(name)], np.float64)
        columns["taken"] = np.array([photo.taken for photo in self.photos], "datetime64[ms]")
        keywords = np.empty(len(self), object)
        keywords[:] = [list(photo.keywords) for photo in self.photos]
        columns |= {"keywords": keywords, "look": self._looks.astype(np.float64)}
        return mc.Candidates(self.scores, [photo.id for photo in self.photos], columns, self._vectors)

    def _column(self, name: str) -> NDArray[Any]:
        values = np.empty(len(self), object)
        values[:] = [getattr(photo, name) for photo in self.photos]
        return values

    def rerank(self, wishes: Sequence[mc.Wish] = (), k: int = 20, method: Any = None) -> Results:
        """Spend `k` places on the wishes."""
        if not len(self):
            return Results(self, None)
        return Results(self, mc.rerank(self.candidates, wishes, k, *([] if method is None else [method])))


class Results:
    """The chosen photographs, best first."""

    def __init__(self, hits: Hits, ranking: mc.Ranking | None) -> None:
        self.hits, self.ranking = hits, ranking

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
                was=int(self.ranking.ranks[place]),
                photo=self.hits.photos[int(position)],
                score=float(self.ranking.scores[place]),
                relevance=float(self.ranking.relevance[place]),
                gains={name: float(values[place]) for name, values in gains.items()},
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
    def plain(self) -> list[Photo]:
        """What relevance alone would have shown."""
        order = np.argsort(-self.hits.scores, kind="stable")[: len(self)]
        return [self.hits.photos[int(i)] for i in order]

    def explain(self) -> mc.Explanation:
        """Why each photograph is there, and what kept the best of the others out."""
        if self.ranking is None:
            return mc.Explanation([], [], 0.0, ())
        return self.ranking.explain()

    def records(self, explain: bool = False) -> list[dict[str, Any]]:
        """A plain record for each result, ready for JSON."""
        reasons = self.explain().results if explain else []
        found = []
        for place, result in enumerate(self.results):
            photo = result.photo.to_dict()
            record: dict[str, Any] = {"rank": result.rank, "was": result.was, "path": str(self.paths[place])}
            record |= {"score": result.score, "relevance": result.relevance, "gains": result.gains}
            record |= {name: value for name, value in photo.items() if name != "path"}
            if explain:
                record["opened"] = {name: bins for name, bins in reasons[place].opened.items() if bins}
            found.append(record)
        return found


assert set(_NUMBERS + _LABELS) <= set(COLUMNS)
