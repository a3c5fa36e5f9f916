"""Made-up result records of every study, shaped like the engine's, with values near the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench import metrics
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import LABELS as METHODS
from mascot.bench.protocol.tasks import recorded
from mascot.bench.running.records import RecordStore

TASKS = ("geo_hour", "hour", "geo")
DIRECTIONS = ("spread", "focus")
_AT = ("r@1", "r@3", "r@5", "r@10", "r@20")
_PAPER = Published("pixelprose-sim")
_BASE = [0.7905, 0.9134, 0.9435, 0.9737, 0.9887]
_GUARDED_DM = dict(zip(product(TASKS, ("focus", "spread")), (0.293, 0.949, 0.47, 0.93, 0.49, 0.93), strict=True))
_MS = {"clustering": 9.0, "mmr": 1.1, "k-dpp": 1.9, "ms-dpp": 12.4, "ms-dpp+tn": 12.9, "ms-dpp+tn+tvms": 13.1}


def records(seeds: Sequence[int], queries: int) -> list[dict[str, Any]]:
    """Every record of the studies; the same arguments give the same records."""
    return [
        record(seed, queries, study=study, **options)
        for seed in seeds
        for study, build in _STUDIES.items()
        for options in build(study, seed)
    ]


def save(results: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Write records as the benchmark does."""
    for number, result in enumerate(results):
        RecordStore(folder).put({"number": number}, result)
    return folder


def record(
    seed: int, queries: int, *, study: str = "main", task: str = "geo_hour", direction: str = "focus",
    label: str = "mascot", point: str | None = "published", value: float | None = None, k: int = 20,
    curve: Sequence[float] = _BASE, dm: float = 0.2, seconds: float | None = None, strength: float = 0.5,
) -> dict[str, Any]:  # fmt: skip
    """One record whose recall and DM lie near `curve` and `dm`."""
    name = repr((seed, study, task, direction, label, point, value, k))
    rng = np.random.default_rng(list(name.encode()))
    # The ranks of the right answers, evenly through the curve; seeds differ by a little.
    drawn = (np.arange(queries) + rng.random()) / queries
    slips = np.clip(np.asarray(curve) + rng.normal(0, 0.008), 0, 1)
    per_query: dict[str, list[Any]] = {
        key: (drawn < height).astype(int).tolist() for key, height in zip(_AT, slips, strict=True)
    }
    looks = np.clip(0.937 + 0.01 * rng.standard_normal(queries), 0, 1)
    wished = dm * looks / (2 * looks - dm) * (1 + 0.03 * rng.standard_normal(queries)) + rng.normal(0, 0.004)
    wished = np.clip(wished, 0.02, 0.995)
    focus = direction == "focus"
    metadata = 1 - wished if focus else wished
    per_query |= {"appearance": looks.tolist(), "metadata": metadata.tolist()}
    per_query |= {"geo": np.clip(metadata - 0.04, 0, 1).tolist(), "hour": np.clip(metadata - 0.1, 0, 1).tolist()}
    agrees = drawn < (1.0 if label == "base" else 0.8 if focus else 0.95)
    right = np.array(per_query["r@1"]) == 1
    per_query |= {"top1": agrees.astype(int).tolist(), "displaced": (~agrees & ~right).astype(int).tolist()}
    per_query["other_bin"] = per_query["displaced"]
    per_query["kept"] = np.clip(0.96 + 0.01 * rng.standard_normal(queries), 0, 1).tolist()
    if study == "main" and label in ("mascot", "guarded"):
        per_query["first_gain"] = (7.4 + rng.standard_normal(queries)).tolist()
    summary = {key: float(np.mean(values)) for key, values in per_query.items()}
    summary["dm"] = metrics.dm(looks, metadata, focus=focus)
    summary["hm"] = metrics.overall(summary["r@10"], summary["dm"])
    method: Any = mc.Relevance() if label == "base" else mc.Mascot.paper(strength)
    places, hours = mc.Place.grid("lat", "lon", sigma=10), mc.HourOfDay("taken", sigma=0.5)
    wishes = [places] * ("geo" in task) + [hours] * ("hour" in task)
    return {
        "dataset": "pixelprose-sim", "data_hash": f"hash of seed {seed}", "seed": seed, "split": "test",
        "study": study, "point": point, "task": task, "direction": direction, "label": label,
        "method": method.to_dict(),
        "wishes": [recorded((mc.focus if focus else mc.spread)(wish)) for wish in wishes],
        "value": value, "k": k, "n": 200, "queries": list(range(queries)),
        "per_query": per_query, "summary": summary, "seconds": seconds, "versions": {"mascot": "0"},
    }  # fmt: skip


Options = Iterator[dict[str, Any]]


def _main(study: str, seed: int) -> Options:
    special = {"base": ["default"], "guarded": ["default"], "guarded-10": ["default"]}
    special |= {"prob-coverage": ["inferred", "validated"], "ms-dpp": ["published", "validated", "released"]}
    for task, direction, label in product(TASKS, DIRECTIONS, METHODS):
        curve, dm = _level(task, direction, label)
        options = {"task": task, "direction": direction, "label": label, "curve": curve, "dm": dm}
        for point in special.get(label, ["published", "validated"]):
            yield {**options, "point": point, "strength": 0.3 if seed else 0.4}


def _level(task: str, direction: str, label: str) -> tuple[list[float], float]:
    row = _PAPER.row(task, direction, label)
    if row:
        return [row[key] for key in _AT], row["dm"]
    dm = _GUARDED_DM[task, direction]
    if label == "guarded":
        return [0.7905, 0.9134, 0.925, 0.95, 0.965], dm
    return _BASE, (dm + _base_dm(task, direction)) / 2


def _base_dm(task: str, direction: str) -> float:
    return (_PAPER.row(task, direction, "base") or {})["dm"]


def _sweep(study: str, seed: int) -> Options:
    """MASCOT follows the published sweep; the others fall gently."""
    labels = ("mmr", "k-dpp", "ms-dpp", "prob-coverage", "mascot", "guarded") if study == "strength" else ("mascot",)
    for task, direction, label in product(TASKS, DIRECTIONS, labels):
        published = _PAPER.sweep(study, task, direction, "mascot")
        values = sorted({*published, *((0.6,) if study == "strength" else ())}) if published else []
        base = _base_dm(task, direction)
        end = _GUARDED_DM[task, direction] if label == "guarded" else _level(task, direction, label)[1]
        for value in values:
            share = value if study == "strength" else 0.5
            recall = 0.9737 - {"guarded": 0.03, "mmr": 0.1}.get(label, 0.5) * share**2
            if label == "mascot":
                recall = published.get(value, (published.get(0.5, 0) + published.get(0.7, 0)) / 2)
            sign = -1 if (label, direction) == ("mmr", "focus") else 1
            yield {
                "task": task, "direction": direction, "label": label, "value": value,
                "point": "default" if label == "guarded" else "published",
                "dm": float(np.clip(base + sign * (end - base) * share**0.7, 0.02, 0.99)),
                "curve": [recall * part for part in (0.8, 0.9, 0.95, 1.0, 1.0)],
            }  # fmt: skip


def _protect(study: str, seed: int) -> Options:
    for task, direction, value in product(TASKS, DIRECTIONS, (0, 1, 3, 5, 8, 10)):
        base = _base_dm(task, direction)
        dm = base + (_GUARDED_DM[task, direction] - base) * (1.1 - value / 12)
        curve = [0.62, 0.8, 0.86, 0.9, 0.93] if value == 0 else [0.79, 0.91, 0.93, 0.93 + value / 250, 0.985]
        options = {"task": task, "direction": direction, "label": "guarded", "value": value}
        yield {**options, "point": "default", "curve": curve, "dm": dm}


def _mixed(study: str, seed: int) -> Options:
    for direction, label in product(("geo+hour-", "geo-hour+"), ("base", "ms-dpp", "mascot", "guarded")):
        point = "default" if label in ("base", "guarded") else "validated"
        yield {"direction": direction, "label": label, "k": 10, "dm": 0.9, "point": point}


def _clusters(study: str, seed: int) -> Options:
    for direction, levels in (("spread", (0.815, 0.869, 0.88)), ("focus", (0.42, 0.689, 0.7))):
        for label, dm in zip(("base", "mascot", "guarded"), levels, strict=True):
            yield {"task": "clusters", "direction": direction, "label": label, "dm": dm}


def _runtime(study: str, seed: int) -> Options:
    for label, (point, factor) in product(METHODS, (("single", 1.0), ("batch", 0.3))):
        ms = _MS.get(label, 0.02 if label == "base" else 0.5) * factor
        yield {"label": label, "point": point, "seconds": ms * (1 + seed / 20) / 1000}


_STUDIES = {
    "main": _main, "strength": _sweep, "sigma_geo": _sweep, "sigma_time": _sweep, "grid": _sweep,
    "mixed": _mixed, "clusters": _clusters, "runtime": _runtime, "protect": _protect,
}  # fmt: skip
