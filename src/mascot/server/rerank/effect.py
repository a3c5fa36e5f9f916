"""The effect of profiles in production: metrics by profile and variant."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import Any

from msgspec import UNSET
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client import Counter as CounterMetric

import mascot as mc
from mascot.attributes.category import label_text, labels_of
from mascot.wishes import Limit, Share, Wish

_SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)
_FREE = (Wish, Limit)  # wishes without minimum counts
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1)


class EffectMetrics:
    """What profiles do to pages: relevance kept, results moved, short pages, shares missed, and the time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        names: Any = {"namespace": "mascot", "subsystem": "profile", "labelnames": ("profile", "variant")}
        counter: Any = partial(CounterMetric, registry=registry, **names)
        histogram: Any = partial(Histogram, registry=registry, **names)
        text = "Share of the best possible relevance of a page"
        self._relevance = histogram("relevance_kept", text, buckets=_SHARES)
        self._seconds = histogram("seconds", "Time to re-rank", buckets=_SECONDS)
        self._results = counter("results", "Results shown")
        self._moved = counter("results_moved", "Results whose rank differs from their rank by score")
        self._short = counter("short_pages", "Pages with fewer results than k and the candidates allow")
        self._missed = counter("shares_missed", "Shares and minimum counts that a page did not meet")

        metrics = (self._seconds, self._relevance, self._results, self._moved, self._short, self._missed)
        self._series = cache(lambda *labels: [metric.labels(*labels) for metric in metrics])

    def record(self, profile: Any, ranking: mc.Ranking[Any], candidates: mc.Candidates, seconds: float) -> None:
        """Count one page, if it obeys a profile."""
        if profile is UNSET:
            return
        timer, share, results, moved, short, missed = self._series(profile.name, profile.variant)
        count = len(ranking)
        timer.observe(seconds)
        results.inc(count)
        moved.inc(sum(was != rank for rank, was in enumerate(ranking.was.tolist(), 1)))
        share.observe(ranking.kept)
        if count < min(ranking.k, len(candidates)):
            short.inc()
        missed.inc(sum(_missed(wish, ranking, candidates) for wish in ranking.wishes if not isinstance(wish, _FREE)))


def _missed(wish: Any, ranking: mc.Ranking[Any], candidates: mc.Candidates) -> int:
    """Return how many values of a share or of minimum counts have too few results.

    `Ranking.missed_rules` also finds out why, which takes longer than ranking. Labels are therefore counted here.
    """
    if not isinstance(wish.attribute, mc.Category):
        name = f"{'share' if isinstance(wish, Share) else 'at least'} {wish.attribute.name}"
        return sum(rule.rule == name for rule in ranking.missed_rules())
    cells = candidates.columns[wish.attribute.column]
    labels = (label for position in ranking.positions.tolist() for label in labels_of(cells[position]))
    counts = Counter(map(label_text, labels))
    return sum(counts[value] < wish.bounds(value, ranking.k)[0] for value in wish.named)
