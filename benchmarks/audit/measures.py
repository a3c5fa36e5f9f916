"""Compare the measures of the package with the literal formulas, on simulated queries and on random lists."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.audit import formulas
from benchmarks.audit.selections import TASKS, agree, cases, queries, summaries
from mascot.bench import metrics
from mascot.bench.protocol.search_space import best, coverage, inferred, published
from mascot.bench.protocol.studies import Benchmark, searched
from mascot.bench.protocol.tasks import FOCUS, GEO, SPREAD, Point
from mascot.bench.running.measure import measure
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose

_QUERIES = 20


def _main_points() -> list[Point]:
    points = [published("mascot", task, direction) for task, direction in product(TASKS.values(), (SPREAD, FOCUS))]
    return [point for point in points if point is not None]


def diversity() -> str:
    """Compare V of both channels, DM and HM of MASCOT at its published points."""
    largest = 0.0
    for choice in choose(_main_points(), queries(_QUERIES)):
        point, summary = choice.point, measure(choice.point, choice.positions, queries(_QUERIES))["summary"]
        wished, recalls = [], []
        for case, rows in zip(cases(_QUERIES), choice.positions.tolist(), strict=True):
            looks = formulas.vendi(case.images[rows])
            metadata = formulas.vendi(np.concatenate([block[rows] for block in case.points(point.task.name)], axis=1))
            wished.append(formulas.harmonic([looks, 1 - metadata if point.direction == FOCUS else metadata]))
            recalls.append(bool(queries(_QUERIES).relevant[case.query][rows[:10]].any()))
        dm, recall = formulas.harmonic(wished), float(np.mean(recalls))
        expected = {"dm": dm, "r@10": recall, "hm": formulas.harmonic([recall, dm])}
        largest = max(largest, *(abs(summary[name] - value) for name, value in expected.items()))
    agree(largest < 1e-9, f"a measure differs by {largest:.1e}")
    return f"V, DM, R@10 and HM of {len(_main_points())} published points on {_QUERIES} queries: within {largest:.0e}"


def retrieval() -> str:
    """Compare recall, average precision and the overall score with loops."""
    hits = np.random.default_rng(1).random((200, 20)) < 0.1
    for k in (1, 3, 5, 10, 20):
        expected = [any(row[:k]) for row in hits.tolist()]
        agree(metrics.recall_at_k(hits, k).tolist() == expected, f"R@{k} differs")
    precision = [formulas.average_precision(row) for row in hits.tolist()]
    agree(np.allclose(metrics.average_precision_at_k(hits, 20), precision, rtol=0, atol=1e-15), "MAP differs")
    agree(abs(metrics.overall(0.7442, 0.3294) - formulas.harmonic([0.7442, 0.3294])) < 1e-15, "HM of MAP differs")
    return "R@k and MAP of 200 random lists equal the loops; HM takes MAP on Incidents1M"


def control() -> str:
    """Compare PRS, agreement of the first result, displacement and the fixed-recall front with loops."""
    rng = np.random.default_rng(2)
    for values in rng.random((50, 11)):
        agree(abs(metrics.prs(values) - formulas.prs(values.tolist())) < 1e-12, "PRS differs")
        recalls, floors = rng.random(11), [0.95, 0.9, 0.85, 0.2]
        front = metrics.fixed_recall_front(recalls, values, floors)
        for floor, point in zip(floors, front, strict=True):
            reached = [dm for recall, dm in zip(recalls, values, strict=True) if recall >= floor]
            agree((point and point.diversity) == (max(reached) if reached else None), "the front differs")
    first, base, right = rng.integers(0, 9, (3, 300))
    bins, is_right = rng.integers(-1, 4, 9), right > 4
    moved = metrics.displacement(first, base, is_right, bins)
    displaced = [bool(r and a != b) for a, b, r in zip(first, base, is_right, strict=True)]
    other = [d and bins[a] != bins[b] for a, b, d in zip(first, base, displaced, strict=True)]
    agree(moved.displaced.tolist() == displaced, "displacement differs")
    agree(moved.other_bin.tolist() == other, "the primary bins of displaced results differ")
    agree(metrics.top1_agreement(first, base).astype(bool).tolist() == (first == base).tolist(), "agreement differs")
    return "PRS and fronts of 50 random sweeps, agreement and displacement of 300 results equal the loops"


def first_gain() -> str:
    """Compare the coverage of the first pick at the published point of geo + hour, focus."""
    point = published("mascot", TASKS["geo_hour"], FOCUS)
    assert point is not None
    assert point.widths is not None
    (choice,) = choose([point], queries(_QUERIES))
    assert choice.first_gain is not None
    expected = []
    for case, rows in zip(cases(_QUERIES), choice.positions.tolist(), strict=True):
        r, blocks = formulas.relevance(case.scores), case.blocks("geo_hour", point.widths)
        expected.append(sum(float((formulas.importance(bins, r) * bins[rows[0]]).sum()) for bins in blocks))
    agree(np.allclose(choice.first_gain, expected, atol=1e-9), "the coverage of the first pick differs")
    agree(min(expected) > 0, "a first pick without coverage")
    return f"{_QUERIES} first picks cover {min(expected):.2f} to {max(expected):.2f}, as the literal sum says"


def places() -> str:
    """Compare the shares of places that the paper gives with counts."""
    dataset = QuerySet(queries(_QUERIES).dataset, "test", 200, _QUERIES)
    lat = dataset.dataset.columns["lat"][dataset.dataset.splits["test"].images]
    lon = dataset.dataset.columns["lon"]
    both = sum(bool((lon[rows] > 165).any() and (lon[rows] < -165).any()) for rows in dataset.rows) / _QUERIES
    expected = {"north_of_60": sum(lat > 60) / len(lat), "south_of_60": sum(lat < -60) / len(lat), "both_sides": both}
    agree(dataset.dataset_places == expected, f"shares of places: {dataset.dataset_places}, not {expected}")
    return "shares beyond 60 degrees and on both sides of the antimeridian equal the counts"


def search() -> str:
    """Check the protocol of the search: validation split, K = 10, N = 200, and the first of equal settings."""
    plan = Benchmark("x", (), ("mascot", "k-dpp"), (GEO,))
    points = list(searched(plan))
    agree({(point.split, point.k, point.n) for point in points} == {("validation", 10, 200)}, "another protocol")
    agree((plan.metric, plan.validation) == ("hm", 50), "the search does not maximise HM on 50 queries")
    chosen = best(points, [{"summary": {"hm": 0.5}} for _ in points], plan.metric)
    first = next(point for point in points if point.label == "mascot")
    tested = chosen["mascot", "geo", SPREAD, False]
    agree(tested.method == first.method, "not the first of equal settings")
    agree((tested.split, tested.k, tested.n) == ("test", 20, 200), "the test does not have K = 20 and N = 200")
    return f"{len(points)} settings on validation with K = 10, N = 200, the first of equals; the test has K = 20"


def collapse() -> str:
    """Check the headline on the simulation: MS-DPP loses R@10 on geo + hour, focus, where MASCOT keeps it."""
    task = TASKS["geo_hour"]
    ours, theirs = published("mascot", task, FOCUS), inferred("ms-dpp", task, FOCUS)
    assert ours is not None
    assert theirs is not None
    recalls = {point.label: summary["r@10"] for point, summary in summaries([ours, theirs], 60)}
    agree(recalls["ms-dpp"] < recalls["mascot"] - 0.2, f"R@10 {recalls}")
    return f"R@10 on 60 simulated queries: MASCOT {recalls['mascot']:.2f}, MS-DPP (inferred) {recalls['ms-dpp']:.2f}"


def uniform_binning() -> str:
    """Check on the simulation that Uniform Binning has the higher HM on the three focus tasks."""
    points = [published(label, task, FOCUS) for label, task in product(("mascot", "uniform-binning"), TASKS.values())]
    hm = {(p.label, p.task.name): s["hm"] for p, s in summaries([point for point in points if point], 150)}
    for name in TASKS:
        agree(hm["uniform-binning", name] > hm["mascot", name], f"{name}: MASCOT has the higher HM")
    pairs = ", ".join(f"{hm['uniform-binning', name]:.2f} > {hm['mascot', name]:.2f}" for name in TASKS)
    return f"HM on 150 simulated queries: {pairs}"


def one_step() -> str:
    """Check on the simulation that one step of strength past the published point loses most of R@10."""
    drops = []
    for task, step in (("geo_hour", 0.2), ("hour", 0.6), ("geo", 0.4)):
        point = published("mascot", TASKS[task], FOCUS)
        assert point is not None
        further = replace(point, method=coverage("mascot", step))
        recalls = [summary["r@10"] for _, summary in summaries([point, further], 60)]
        agree(recalls[1] < 0.3 < recalls[0], f"{task}: R@10 {recalls}")
        drops.append(f"{recalls[0]:.2f} to {recalls[1]:.2f}")
    return f"R@10 falls from {', '.join(drops)}"
