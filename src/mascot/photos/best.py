"""The best photographs of a year, a trip or a library: quality and stars are their relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mascot.candidates import scaled
from mascot.photos.results import Hits

_UNMEASURED = 0.5  # the quality of a photograph that `mascot index` has not measured yet
_STAR = 0.15  # that each star above or below two adds or takes
_FLOOR = 0.35  # clear failures have less
ORDER = (  # of the photographs of a large library, as SQL
    f"coalesce(quality, {_UNMEASURED}) + iif(rating > 0, {_STAR} * (rating - 2), 0) DESC, taken DESC, id DESC"
)


def with_quality(hits: Hits) -> Hits:
    """Return hits without a query with quality and stars as their scores, best first."""
    return hits.cached("quality", lambda: hits.rescored(_worth(hits)))


def best_hits(hits: Hits, count: int) -> Hits:
    """Return the hits that are worth showing, best first: good matches of the text, without clear failures.

    Others follow only if there are fewer than `count`.
    """
    return hits.cached(("best", count), lambda: _best_hits(hits, count))


def _best_hits(hits: Hits, count: int) -> Hits:
    worth = _worth(hits)
    failures = worth < _FLOOR
    scores = worth
    if hits.ranked:
        scores = scaled(hits.scores) * np.clip(worth, 0, None)
        failures |= hits.scores < (hits.least_good or -np.inf)
    order = np.lexsort((-scores, failures))
    return hits.rescored(scores, order[: max(count, int((~failures).sum()))])


def _worth(hits: Hits) -> NDArray[np.float64]:
    cells = hits.cells(("quality", "rating"))
    stars = cells["rating"].astype(np.float64)  # NaN if there are none
    quality = np.where(np.isnan(cells["quality"]), _UNMEASURED, cells["quality"])
    return quality + np.where(stars > 0, _STAR * (stars - 2), 0.0)
