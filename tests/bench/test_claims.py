"""What docs/benchmark.md and docs/reproduce.md say: our numbers on the simulated PixelProse beside the published ones,
on 150 queries of a seed, and what the released study did that the paper does not say.

The limits are those of the full run. Rows that miss one are named, with the limit they do keep.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.bench import metrics
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.methods import Clustering, MsDpp
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.search_space import COVERAGE, GUARDED, dpp, inferred, published, settings
from mascot.bench.protocol.search_space import LABELS as METHODS
from mascot.bench.protocol.studies import STRENGTHS, Benchmark, studies
from mascot.bench.protocol.tasks import FOCUS, GEO, GEO_HOUR, HOUR, SPREAD, BenchTask, Point, PublishedHour, Widths
from mascot.bench.running.measure import measure, per_query
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose
from mascot.cli.bench_commands import _benchmark
from mascot.methods import Relevance

SEEDS = (0, 1, 2)
QUERIES = 150
ASKED = list(product((GEO_HOUR, HOUR, GEO), (FOCUS, SPREAD)))
CASES = pytest.mark.parametrize(("task", "direction"), ASKED, ids=[f"{task.name}-{way}" for task, way in ASKED])
RIVALS = [label for label in METHODS if label not in GUARDED]
R10, DM = 0.07, 0.04
# R@10 of MASCOT falls by 0.4 to 0.6 within one step of strength here, and the simulation falls a little earlier.
FURTHER = {("mascot", "hour", "focus"): 0.09, ("mascot", "geo", "focus"): 0.14}
PLAN = Benchmark("pixelprose-sim", (), ("base", "mascot", "prob-coverage", "ms-dpp"), (GEO_HOUR, HOUR, GEO))
PAPER = Published("pixelprose")


@cache
def simulation(seed: int) -> Dataset:
    return PixelProseSim(seed=seed).load()


@cache
def query_set(seed: int = 0, split: str = "test", n: int = 200, limit: int = QUERIES) -> QuerySet:
    return QuerySet(simulation(seed), split, n, limit)


@cache
def summary(point: Point, seeds: tuple[int, ...] = (0,)) -> dict[str, float]:
    """Return the means over the seeds of the numbers of a point."""
    summaries = []
    for seed in seeds:
        queries = query_set(seed, point.split, point.n)
        (choice,) = choose([point], queries)
        summaries.append(measure(point, choice.positions, queries)["summary"])
    return {name: float(np.mean([means[name] for means in summaries])) for name in summaries[0]}


def released(study: str, label: str, plan: Benchmark = PLAN) -> list[Point]:
    points = studies(plan, {})
    return [point for point in points if (point.study, point.label, point.point) == (study, label, "published")]


@CASES
@pytest.mark.parametrize("label", ["mascot", "prob-coverage"])
def test_published_points_land_near_the_published_rows(label: str, task: BenchTask, direction: str) -> None:
    setting = published(label, task, direction) or inferred(label, task, direction)
    assert setting is not None
    ours, theirs = summary(setting), PAPER.row(task.name, direction, label)
    assert abs(ours["r@10"] - theirs["r@10"]) <= FURTHER.get((label, task.name, direction), R10)
    assert abs(ours["dm"] - theirs["dm"]) <= DM


@CASES
def test_the_guarded_default_beats_every_published_hm_and_ten_protected_lose_no_recall(
    task: BenchTask, direction: str
) -> None:
    methods = (Relevance(), *GUARDED.values())
    base, ours, protected = (summary(Point("", task, direction, method), SEEDS) for method in methods)
    rows = [PAPER.row(task.name, direction, label) for label in RIVALS]
    assert ours["r@1"] >= base["r@1"] - 0.005
    # On geo + hour spread and hour spread by a hair: on fresh seeds it is level there (docs/benchmark.md).
    assert ours["hm"] > max(row["hm"] for row in rows if row)
    assert ours["hm"] > base["hm"]
    assert protected["r@10"] >= base["r@10"]
    assert protected["dm"] > base["dm"] * (1.4 if (task, direction) == (GEO_HOUR, FOCUS) else 1.0)


@CASES
def test_no_strength_collapses_and_more_strength_is_more(task: BenchTask, direction: str) -> None:
    strengths = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    methods = [replace(GUARDED["guarded"], strength=strength) for strength in strengths]
    rows = [summary(Point("", task, direction, method)) for method in methods]
    # A focus protects three results, a spread one: at strength 1 it is all variety.
    assert rows[0]["r@10"] - min(row["r@10"] for row in rows) <= (0.06 if direction == FOCUS else 0.16)
    assert metrics.kendall_tau(strengths, [row["dm"] for row in rows]) >= 0.85  # of six steps, one may be the other way


def recalls(points: list[Point], limit: int) -> list[float]:
    """Return R@10 of each point on a few queries."""
    few = query_set(limit=limit)
    recall = {c.point: per_query(c.point, c.positions, few)["r@10"].mean() for c in choose(points, few)}
    return [float(recall[point]) for point in points]


@pytest.mark.parametrize(("task", "before", "after"), [(GEO_HOUR, 0.1, 0.2), (HOUR, 0.4, 0.6), (GEO, 0.3, 0.4)])
def test_the_published_method_collapses_where_it_did(task: BenchTask, before: float, after: float) -> None:
    setting = published("mascot", task, FOCUS)
    assert setting is not None
    points = [replace(setting, method=replace(setting.method, strength=strength)) for strength in (before, after)]
    high, low = recalls(points, 40)
    assert high > 0.6
    assert low < 0.2


def test_ms_dpp_loses_recall_on_focus() -> None:
    # At a setting of the published grid. Where the setting is chosen on validation it is 0.145 in the full run.
    ours = published("mascot", GEO_HOUR, FOCUS)
    assert ours is not None
    mascot, ms_dpp = recalls([ours, Point("ms-dpp", GEO_HOUR, FOCUS, dpp("ms-dpp", 0.4, 0.8))], 10)
    assert ms_dpp <= mascot - 0.15


def test_mixed_directions_land_on_the_published_numbers() -> None:
    points = released("mixed", "mascot")
    assert [(p.direction, p.k, p.widths, p.method.strength) for p in points] == [  # type: ignore[union-attr]
        ("geo+hour-", 20, Widths(1.0, 0.5), 0.3),
        ("geo-hour+", 20, Widths(1.0, 0.5), 0.8),
    ]
    for point, dm in zip(points, (0.909, 0.931), strict=True):
        paper = PAPER.row("geo_hour", point.direction, "mascot")
        assert paper["dm"] == dm  # what the printed HM and R@10 imply
        assert summary(point)["dm"] == pytest.approx(dm, abs=0.03)
        assert summary(point)["geo_degrees"] == pytest.approx(paper["geo"], abs=0.06)


def test_ten_clusters_land_on_the_published_numbers() -> None:
    points = released("clusters", "mascot")
    assert [(p.split, p.n, p.k, p.method) for p in points] == [("validation", 50, 10, mc.Mascot.paper(0.5))] * 2
    for point, dm, recall in zip(points, (0.869, 0.689), (0.98, 0.96), strict=True):
        ours = summary(point)
        assert (ours["dm"], ours["r@10"]) == pytest.approx((dm, recall), abs=0.03)


def test_preference_has_one_width_for_all_tasks_and_is_near_the_published() -> None:
    """Except on geo focus, where the number is not stable between seeds: see docs/reproduce.md."""
    for label, widths in (("mascot", Widths(15.0, 1.5)), ("prob-coverage", Widths(1.0, 0.5))):
        points = released("prs", label)
        assert len(points) == 3 * 2 * len(STRENGTHS)
        assert {point.widths for point in points} == {widths}
    assert not released("prs", "uniform-binning")
    for task, direction in ((HOUR, FOCUS), (HOUR, SPREAD), (GEO, SPREAD)):
        points = [p for p in released("prs", "mascot") if (p.task, p.direction) == (task, direction)]
        diversity = [summary(replace(point, n=200))["metadata"] for point in points[::5]]
        scores = [1 - value if direction is FOCUS else value for value in diversity]
        assert metrics.prs(scores) == pytest.approx(PAPER.row(task.name, direction, "mascot")["prs"], abs=0.05)


def test_without_the_released_settings_the_studies_are_ours_alone() -> None:
    for plan in (replace(PLAN, released=False), replace(PLAN, published="visual-genome")):
        assert not [point for study in ("mixed", "clusters", "prs") for point in released(study, "mascot", plan)]
    as_published, as_correct = (
        _benchmark("pixelprose-sim", None, None, None, None, "0", False, behaviour)
        for behaviour in ("published", "correct")
    )
    assert (as_published.released, as_correct.released) == (True, False)
    assert as_correct.tasks != as_published.tasks


@pytest.mark.parametrize("name", ["visual-genome", "incidents1m", "skyscript"])
def test_the_wide_grid_holds_every_published_point(name: str) -> None:
    task, width = (HOUR, "hour") if name == "visual-genome" else (GEO, "geo")
    for label, direction in product(COVERAGE, (SPREAD, FOCUS)):
        if point := published(label, task, direction, name):
            wide = settings(label, task, direction, name)
            assert point.method in [setting.method for setting in wide]
            assert getattr(point.widths, width) in {getattr(setting.widths, width) for setting in wide}


@pytest.mark.parametrize("method", [MsDpp(0.1, 0.5), Clustering(clusters=5)])
def test_methods_that_compare_features_take_the_hour_as_published(method: Any) -> None:
    taken = np.array(["2020-01-01T00:00", "2020-01-01T12:00", "2020-01-01T23:59"], "datetime64[m]")
    point = Point("x", HOUR, SPREAD, method, Widths())
    (wish,) = point.wishes
    assert isinstance(wish.attribute, PublishedHour)
    expected = metrics.time_of_day_features(np.array([[0, 720, 1439]]))[0]
    np.testing.assert_allclose(wish.attribute.features({"taken": taken}, None), expected)
    np.testing.assert_allclose(expected[0], expected[2], atol=1e-12)  # 23:59 is midnight, out of 1439 minutes
    corrected = replace(point, task=replace(HOUR, published_hour=False))
    for other in (corrected, replace(point, method=mc.Mascot.paper(0.5))):
        assert type(other.wishes[0].attribute) is mc.HourOfDay


def test_shares_of_places_are_of_the_test_split() -> None:
    dataset = simulation(0)
    lat = np.zeros(len(dataset.columns["lat"]))
    lat[dataset.splits["test"].images[:8]] = 61
    lat[dataset.splits["validation"].images] = 70
    lon = np.where(np.arange(len(lat)) % 2, 170.0, -170.0)
    for longitudes, share in ((lon, 1.0), (np.abs(lon), 0.0)):
        moved = replace(dataset, columns={**dataset.columns, "lat": lat, "lon": longitudes})
        shares = {"north_of_60": 8 / 797, "south_of_60": 0.0, "both_sides": share}
        assert QuerySet(moved, "test", 200, limit=10).dataset_places == shares
