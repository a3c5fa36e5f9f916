"""Made-up result records of every study, shaped like the engine's, with values near the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot import metrics
from mascot.bench.naming import METHODS
from mascot.bench.published import Published
from mascot.bench.results import RecordStore

TASKS = ("geo_hour", "hour", "geo")
DIRECTIONS = ("spread", "focus")
STUDIES = ("main", "strength", "sigma_geo", "sigma_time", "grid", "mixed", "clusters", "runtime", "protect")
_AT = ("r@1", "r@3", "r@5", "r@10", "r@20")
_PAPER = Published("pixelprose-sim")
_BASE = [0.7905, 0.9134, 0.9435, 0.9737, 0.9887]
_GUARDED_DM = {
    ("geo_hour", "focus"): 0.293,
    ("hour", "focus"): 0.47,
    ("geo", "focus"): 0.49,
    ("geo_hour", "spread"): 0.949,
    ("hour", "spread"): 0.93,
    ("geo", "spread"): 0.93,
}
_MS = {"clustering": 9.0, "mmr": 1.1, "k-dpp": 1.9, "ms-dpp": 12.4, "ms-dpp+tn": 12.9, "ms-dpp+tn+tvms": 13.1}


def records(
    seeds: Sequence[int] = (0, 1, 2), studies: Sequence[str] = STUDIES, queries: int = 60
) -> list[dict[str, Any]]:
    """Every record of the studies; the same arguments give the same records."""
    return [record for seed in seeds for study in studies for record in _STUDIES[study](study, seed, queries)]


def save(found: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Write records as the benchmark does."""
    for number, one in enumerate(found):
        RecordStore(folder).put({"number": number}, one)
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
        "wishes": [(mc.focus if focus else mc.spread)(wish).to_dict() for wish in wishes],
        "value": value, "k": k, "n": 200, "queries": list(range(queries)),
        "per_query": per_query, "summary": summary, "seconds": seconds, "versions": {"mascot": "0"},
    }  # fmt: skip


def _main(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    for task in TASKS:
        for direction in DIRECTIONS:
            for label in METHODS:
                curve, dm = _level(task, direction, label)
                points: tuple[str, ...] = ("published", "validated")
                if label in ("base", "guarded", "guarded-10"):
                    points = ("default",)
                elif label == "prob-coverage":
                    points = ("inferred", "validated")
                elif label == "ms-dpp":
                    points = ("published", "validated", "released")
                for point in points:
                    yield record(
                        seed, queries, study=study, task=task, direction=direction, label=label, point=point,
                        curve=curve, dm=dm, strength=0.3 if seed else 0.4,
                    )  # fmt: skip


def _level(task: str, direction: str, label: str) -> tuple[list[float], float]:
    row = _PAPER.row(task, direction, label)
    if row is not None:
        return [row[key] for key in _AT], row["dm"]
    base = _PAPER.row(task, direction, "base") or {}
    dm = _GUARDED_DM[task, direction]
    if label == "guarded":
        return [0.7905, 0.9134, 0.925, 0.95, 0.965], dm
    return _BASE, (dm + base["dm"]) / 2


def _sweep(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    """MASCOT follows the published sweep; the others fall gently."""
    labels = ("mmr", "k-dpp", "ms-dpp", "prob-coverage", "mascot", "guarded") if study == "strength" else ("mascot",)
    for task in TASKS:
        for direction in DIRECTIONS:
            said = _PAPER.sweep(study, task, direction, "mascot")
            base = (_PAPER.row(task, direction, "base") or {})["dm"]
            values = sorted({*said, *((0.6,) if study == "strength" else ())}) if said else []
            for label in labels:
                end = _GUARDED_DM[task, direction] if label == "guarded" else _level(task, direction, label)[1]
                for value in values:
                    share = value if study == "strength" else 0.5
                    recall = 0.9737 - {"guarded": 0.03, "mmr": 0.1}.get(label, 0.5) * share**2
                    if label == "mascot":
                        recall = said.get(value, (said.get(0.5, 0) + said.get(0.7, 0)) / 2)
                    sign = -1 if (label, direction) == ("mmr", "focus") else 1
                    dm = float(np.clip(base + sign * (end - base) * share**0.7, 0.02, 0.99))
                    yield record(
                        seed, queries, study=study, task=task, direction=direction, label=label, value=value,
                        point="default" if label == "guarded" else "published", dm=dm,
                        curve=[recall * part for part in (0.8, 0.9, 0.95, 1.0, 1.0)],
                    )  # fmt: skip


def _protect(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    for task in TASKS:
        for direction in DIRECTIONS:
            base = (_PAPER.row(task, direction, "base") or {})["dm"]
            for value in (0, 1, 3, 5, 8, 10):
                dm = base + (_GUARDED_DM[task, direction] - base) * (1.1 - value / 12)
                curve = [0.62, 0.8, 0.86, 0.9, 0.93] if value == 0 else [0.79, 0.91, 0.93, 0.93 + value / 250, 0.985]
                yield record(
                    seed, queries, study=study, task=task, direction=direction, label="guarded", value=value,
                    point="default", curve=curve, dm=dm,
                )  # fmt: skip


def _mixed(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    for direction in ("geo+hour-", "geo-hour+"):
        for label in ("base", "ms-dpp", "mascot", "guarded"):
            yield record(
                seed, queries, study=study, direction=direction, label=label, k=10, dm=0.9,
                point="default" if label in ("base", "guarded") else "validated",
            )  # fmt: skip


def _clusters(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    for direction, levels in (("spread", (0.815, 0.869, 0.88)), ("focus", (0.42, 0.689, 0.7))):
        for label, dm in zip(("base", "mascot", "guarded"), levels, strict=True):
            yield record(seed, queries, study=study, task="clusters", direction=direction, label=label, dm=dm)


def _runtime(study: str, seed: int, queries: int) -> Iterator[dict[str, Any]]:
    for label in METHODS:
        for point, factor in (("single", 1.0), ("batch", 0.3)):
            ms = _MS.get(label, 0.02 if label == "base" else 0.5) * factor
            yield record(seed, queries, study=study, label=label, point=point, seconds=ms * (1 + seed / 20) / 1000)


_STUDIES = {
    "main": _main, "strength": _sweep, "sigma_geo": _sweep, "sigma_time": _sweep, "grid": _sweep,
    "mixed": _mixed, "clusters": _clusters, "runtime": _runtime, "protect": _protect,
}  # fmt: skip
