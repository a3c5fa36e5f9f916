"""The side studies at the settings of the released study, and the tables that show them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.attributes import Clusters
from mascot.bench.protocol.presets import pixelprose
from mascot.bench.protocol.search_space import BETAS, DPPS, THETAS, inferred, is_dpp
from mascot.bench.protocol.studies import studies
from mascot.bench.protocol.tasks import FOCUS, GEO, GEO_HOUR, HOUR, SPREAD, Point, PublishedClusters
from mascot.bench.report import tables
from mascot.bench.report.compare import differences
from mascot.bench.running.records import read
from mascot.bench.running.run import run

PRS_BETAS = {"k-dpp": 0.4, "ms-dpp": 0.4, "ms-dpp+tn": 0.5, "ms-dpp+tn+tvms": 0.4}


@pytest.fixture(scope="module")
def points() -> list[Point]:
    return studies(pixelprose((0,), ("mascot", "prob-coverage", *DPPS), quick=True), {})


def test_prs_of_the_dpps_has_fixed_betas(points: list[Point]) -> None:
    sweeps = [point for point in points if point.study == "prs" and is_dpp(point.method)]
    settings = {(point.label, point.method.beta, point.method.released) for point in sweeps}  # type: ignore[union-attr]
    assert settings == {(label, beta, True) for label, beta in PRS_BETAS.items()}
    case = ("ms-dpp", "geo", FOCUS)
    strengths = [p.method.strength for p in sweeps if (p.label, p.task.name, p.direction) == case]  # type: ignore[union-attr]
    assert strengths == pytest.approx([0.01, 0.25, 0.5, 0.75, 1.0])  # theta is at most 0.99


def test_fixed_recall_has_the_points_of_the_study(points: list[Point]) -> None:
    front: list[Any] = [point for point in points if point.study == "fixed_recall"]
    assert {(point.task.name, point.direction) for point in front} == {("geo_hour", "focus")}
    sweeps = {label: [p.value for p in front if p.label == label] for label in ("mascot", "prob-coverage")}
    assert list(sweeps.values()) == [pytest.approx(np.arange(11) / 10)] * 2
    assert {(p.widths.geo, p.widths.hour) for p in front if not is_dpp(p.method)} == {(10.0, 1.5)}
    grid = [(p.method.beta, round(1 - p.method.strength, 1)) for p in front if p.label == "ms-dpp+tn+tvms"]
    assert grid == list(product(BETAS, THETAS))
    assert len({point.value for point in front if is_dpp(point.method)}) == len(grid)


@pytest.mark.parametrize(("label", "task"), product(("ms-dpp", "ms-dpp+tn"), (GEO_HOUR, HOUR, GEO)), ids=str)
def test_ms_dpp_on_focus_has_an_inferred_point_of_its_grid(label: str, task: Any) -> None:
    point: Any = inferred(label, task, FOCUS)
    assert (point.point, point.method.released, point.method.beta in BETAS) == ("inferred", True, True)
    assert round(1 - point.method.strength, 6) in THETAS
    assert inferred(label, task, SPREAD) is None
    assert inferred(label, task, FOCUS, "skyscript") is None


def test_published_clusters_are_the_tightest_of_ten_runs() -> None:
    vectors = np.random.default_rng(0).standard_normal((80, 3))

    def within(members: Any) -> float:
        labels = members.dense().argmax(axis=1)
        groups = [vectors[labels == number] for number in np.unique(labels)]
        return float(sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups))

    runs = [within(Clusters(10, seed).membership({}, vectors)) for seed in range(10)]
    assert within(PublishedClusters(10).membership({}, vectors)) == pytest.approx(min(runs))
    assert min(runs) < runs[0]


def test_a_run_shows_them(tmp_path: Path) -> None:
    labels = ("base", "mascot", "ms-dpp", "ms-dpp+tn+tvms")
    suite = replace(pixelprose((0,), labels, (GEO_HOUR,), quick=True), directions=(FOCUS,), validation=3, test=6)
    run(suite, tmp_path, jobs=1)
    records = read(tmp_path)
    clusters = [r for r in records if (r["study"], r["point"]) == ("clusters", "published")]
    assert {(r["split"], len(r["queries"])) for r in clusters} == {("validation", 3)}  # those of the search
    sheets = {table.key: table for table in tables.build(records).tables}
    rows = [row for _, row in sheets["fixed-recall-published"].cells.index]
    assert rows == ["MS-DPP+TN+TVMS, released", "MASCOT"]
    main = [row for _, row in sheets["focus-published"].cells.index]
    assert {"MS-DPP ‡", "MS-DPP, released †"} <= set(main)  # searched, and inferred
    assert "† The paper does not print this setting; it is inferred from the rows." in sheets["focus-published"].notes
    compared = set(differences(records)[["table", "label", "point"]].itertuples(index=False, name=None))
    assert ("main", "ms-dpp released", "inferred") in compared
    assert ("prs", "ms-dpp released", "published") in compared
