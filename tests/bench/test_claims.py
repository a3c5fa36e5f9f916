"""What docs/benchmark.md says of the simulated PixelProse, on a few hundred queries of each seed.

The limits are those of the full run. Rows that miss one are named, with the limit they do keep.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.pixelprose_margins import bent, rows

from mascot import metrics
from mascot.bench.choosing import choose
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.grid import GUARDED, dpp, inferred, published
from mascot.bench.measure import per_query, summary
from mascot.bench.naming import METHODS
from mascot.bench.published import Published
from mascot.bench.query_set import QuerySet
from mascot.bench.tasks import FOCUS, GEO, GEO_HOUR, HOUR, SPREAD, BenchTask, Point
from mascot.methods import Relevance

_SEEDS = (0, 1, 2)
_QUERIES = 250
_ASKED = [(task, direction) for task in (GEO_HOUR, HOUR, GEO) for direction in (FOCUS, SPREAD)]
_NAMES = [f"{task.name}-{direction}" for task, direction in _ASKED]
_RIVALS = [label for label in METHODS if label not in GUARDED]
_R10, _DM = 0.07, 0.04
# R@10 of MASCOT falls by 0.4 to 0.6 within one step of strength here, and the simulation falls a little earlier.
_FURTHER = {("mascot", "hour", "focus"): 0.09, ("mascot", "geo", "focus"): 0.14}


@cache
def _material(seed: int) -> QuerySet:
    return QuerySet(PixelProseSim(seed=seed).load(), limit=_QUERIES)


@cache
def _found(task: BenchTask, direction: str, setting: Point, seeds: tuple[int, ...] = _SEEDS) -> dict[str, float]:
    point = Point("", task, direction, setting.method, setting.widths)
    rows = []
    for seed in seeds:
        (choice,) = choose([point], _material(seed))
        rows.append(summary(point, per_query(point, choice.positions, _material(seed))))
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


@pytest.mark.parametrize(("task", "direction"), _ASKED, ids=_NAMES)
@pytest.mark.parametrize("label", ["mascot", "uniform-binning", "prob-coverage"])
def test_published_points_land_near_the_published_rows(label: str, task: BenchTask, direction: str) -> None:
    key = (label, task.name, direction)
    ours = _found(task, direction, published(label, task, direction) or inferred(label, task, direction))
    theirs = Published("pixelprose").row(task.name, direction, label)
    assert theirs is not None
    assert abs(ours["r@10"] - theirs["r@10"]) <= _FURTHER.get(key, _R10)
    assert abs(ours["dm"] - theirs["dm"]) <= _DM


@pytest.mark.slow
def test_scores_that_fall_off_faster_explain_the_rows_that_miss() -> None:
    plain = PixelProseSim(seed=0).load()
    steep = bent(plain, 1.3)
    for query in plain.splits["test"].queries[:50].tolist():
        assert steep.candidates(query, 200).images.tolist() == plain.candidates(query, 200).images.tolist()
    for (label, task, direction), (recall, dm) in rows(steep, ["mascot"], _QUERIES).items():
        theirs = Published("pixelprose").row(task, direction, label)
        assert theirs is not None
        assert abs(recall - theirs["r@10"]) <= _R10
        assert abs(dm - theirs["dm"]) <= _DM


@pytest.mark.parametrize(("task", "direction"), _ASKED, ids=_NAMES)
def test_the_guarded_default_beats_every_published_hm_and_ten_protected_lose_no_recall(
    task: BenchTask, direction: str
) -> None:
    methods = {"base": Relevance(), **GUARDED}
    means = {name: _found(task, direction, Point("", task, direction, method)) for name, method in methods.items()}
    base, ours, protected = means.values()
    rows = [Published("pixelprose").row(task.name, direction, label) for label in _RIVALS]
    assert ours["r@1"] >= base["r@1"] - 0.005
    # On geo + hour spread and hour spread by a hair: on fresh seeds it is level there (docs/benchmark.md).
    assert ours["hm"] > max(row["hm"] for row in rows if row is not None)
    assert ours["hm"] > base["hm"]
    assert protected["r@10"] >= base["r@10"]
    assert protected["dm"] > base["dm"] * (1.4 if (task, direction) == (GEO_HOUR, FOCUS) else 1.0)


@pytest.mark.parametrize(("task", "direction"), _ASKED, ids=_NAMES)
def test_no_strength_collapses_and_more_strength_is_more(task: BenchTask, direction: str) -> None:
    strengths = np.arange(6) / 5
    rows = [
        _found(task, direction, Point("", task, direction, replace(GUARDED["guarded"], strength=float(strength))), (0,))
        for strength in strengths
    ]
    assert rows[0]["r@10"] - min(row["r@10"] for row in rows) <= 0.06
    assert metrics.kendall_tau(strengths, [row["dm"] for row in rows]) >= 0.85  # of six steps, one may be the other way


def test_the_published_method_collapses_where_it_did() -> None:
    for task, before, after in ((GEO_HOUR, 0.1, 0.2), (HOUR, 0.4, 0.6), (GEO, 0.3, 0.4)):
        setting = published("mascot", task, FOCUS)
        assert setting is not None
        high, low = (
            _found(task, FOCUS, replace(setting, method=replace(setting.method, strength=strength)), (0,))["r@10"]
            for strength in (before, after)
        )
        assert high > 0.6
        assert low < 0.2


def test_ms_dpp_loses_recall_on_focus() -> None:
    # At a setting of the published grid. Where the setting is chosen on validation it is 0.145 in the full run.
    few = QuerySet(PixelProseSim().load(), limit=10)
    point = Point("ms-dpp", GEO_HOUR, FOCUS, dpp("ms-dpp", 0.4, 0.8))
    ours = published("mascot", GEO_HOUR, FOCUS)
    assert ours is not None
    points = [point, replace(point, label="mascot", method=ours.method, widths=ours.widths)]
    recall = {c.point.label: per_query(c.point, c.positions, few)["r@10"].mean() for c in choose(points, few)}
    assert recall["ms-dpp"] <= recall["mascot"] - 0.15
