"""The effect of profiles in production: metrics by profile and variant."""

from __future__ import annotations

from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram

import mascot as mc
from mascot.candidates import scaled

_LABELS = ("profile", "variant")
_SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0)
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1)


class EffectMetrics:
    """What profiles do to pages: relevance kept, results moved, short pages, shares missed, and the time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str) -> Counter:
            return Counter(f"mascot_profile_{name}", text, _LABELS, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"mascot_profile_{name}", text, _LABELS, buckets=buckets, registry=registry)

        self._kept = histogram("relevance_kept", "Share of the best possible relevance of a page", _SHARES)
        self._seconds = histogram("seconds", "Time to re-rank", _SECONDS)
        self._results = counter("results", "Results shown")
        self._moved = counter("results_moved", "Results whose rank differs from their rank by score")
        self._short = counter("short_pages", "Pages with fewer results than k and the candidates allow")
        self._missed = counter("shares_missed", "Shares and minimum counts that a page did not meet")

    def record(self, profile: Any, ranking: mc.Ranking[Any], candidates: mc.Candidates, seconds: float) -> None:
        """Count one page."""
        labels, shown = (profile.name, profile.variant), len(ranking)
        self._seconds.labels(*labels).observe(seconds)
        self._results.labels(*labels).inc(shown)
        self._moved.labels(*labels).inc(int((ranking.was != np.arange(1, shown + 1)).sum()))
        relevance = scaled(candidates.scores, getattr(ranking.method, "robust", False))
        best = np.partition(relevance, -shown)[-shown:].sum() if shown else 0.0
        self._kept.labels(*labels).observe(float(ranking.relevance.sum() / best) if best > 0 else 1.0)
        if shown < min(ranking.k, len(candidates)):
            self._short.labels(*labels).inc()
        missed = sum(rule.rule.startswith(("share", "at least")) for rule in ranking.missed_rules())
        self._missed.labels(*labels).inc(missed)
