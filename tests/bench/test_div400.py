"""Real judged data: what spreading photographer, look, time and place does on 57 landmarks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mascot.bench.datasets.div400 import Div400
from mascot.bench.protocol.presets import DIV400_TASK, DIV400_TASKS
from mascot.bench.protocol.search_space import GUARDED
from mascot.bench.protocol.tasks import GEO, SPREAD, Point
from mascot.bench.report.run_results import collect
from mascot.bench.running.measure import measure
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose, time_single
from mascot.errors import InputError


@pytest.fixture(scope="module")
def material(data: Path) -> QuerySet:
    return QuerySet(Div400(data / "div400").load(), "test", 150, judged="cluster")


def test_every_topic_is_there(material: QuerySet, tmp_path: Path) -> None:
    dataset = material.dataset
    assert (dataset.queries, dataset.images) == (57, 6112)
    sizes = {name: len(split.queries) for name, split in dataset.splits.items()}
    assert sizes == {"validation": 9, "test": 57, "unseen": 48}
    with pytest.raises(InputError, match=r"div400 needs the file topics.json.gz"):
        Div400(tmp_path).load()


def judged(material: QuerySet, positions: np.ndarray) -> tuple[float, float]:
    """The mean CR@20 and P@20 of 20 images of each topic."""
    means = measure(Point("", GEO, n=150), positions, material)["summary"]
    return means["cr@20"], means["p@20"]


def test_spreading_finds_more_clusters_than_the_input_order_and_branches_than_k_means(material: QuerySet) -> None:
    rank = material.dataset.columns["rank"]
    before = judged(material, np.stack([np.argsort(rank[rows], kind="stable")[:20] for rows in material.rows]))
    assert before == pytest.approx((0.5963, 0.6535), abs=1e-3)
    points = [Point("guarded", task, SPREAD, GUARDED["guarded"], n=150) for task in (DIV400_TASKS[1], DIV400_TASK)]
    choices = list(choose(points, material))
    k_means, branches = (judged(material, choice.positions) for choice in choices)
    assert branches[0] > k_means[0]
    assert min(branches[1], k_means[1]) > before[1]
    assert branches[0] >= before[0] + 0.06
    alone = time_single(replace(points[1], study="runtime"), material, 3)  # one query at a time selects the same
    assert alone.seconds is not None
    np.testing.assert_array_equal(alone.positions, choices[1].positions[:3])


def test_topics_that_no_choice_has_seen_are_summed_up_on_their_own(material: QuerySet) -> None:
    point = Point("base", GEO, n=150)
    (choice,) = choose([point], material)
    record = {"dataset": "div400", "seed": 0, "data_hash": "", "split": "test", "queries": material.queries.tolist()}
    record |= point.to_dict() | measure(point, choice.positions, material, subsets=("unseen",))
    (result,) = collect([record])
    ((name, part),) = result.subsets()
    (unseen,) = part.records
    assert name == "unseen"
    assert unseen["queries"] == material.dataset.splits["unseen"].queries.tolist()
    assert len(unseen["per_query"]["cr@20"]) == 48
    assert unseen["summary"]["cr@20"] == pytest.approx(np.mean(unseen["per_query"]["cr@20"]), abs=1e-6)
    assert unseen["summary"]["cr@20"] != record["summary"]["cr@20"]
