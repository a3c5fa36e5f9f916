"""What is measured on data of one's own: without vectors, with several right answers, with clusters, with none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.bench import metrics
from mascot.bench.datasets.arrays import Arrays
from mascot.bench.protocol.presets import arrays
from mascot.bench.protocol.search_space import GUARDED
from mascot.bench.protocol.studies import Benchmark
from mascot.bench.protocol.tasks import FOCUS, SPREAD, Point
from mascot.bench.report import tables
from mascot.bench.report.run_results import collect
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.run import Job, records
from mascot.methods import Relevance
from tests.bench.test_arrays import npz_file, parquet_file

_PAIRS = np.array([(query, (3 * query + step) % 30) for query in range(8) for step in range(3)])  # 8 and 9 have none


def npz(folder: Path, **changed: Any) -> Path:
    return npz_file(folder, **{"column:lat": None, "column:lon": None, "column:taken": None}, **changed)


def measured(suite: Benchmark, direction: str = SPREAD, label: str = "base") -> dict[str, Any]:
    """The record of a point on all queries of the test split."""
    (task,) = suite.tasks
    (_, source) = suite.sources[0]
    method = Relevance() if label == "base" else GUARDED[label]
    point = Point(label, task, direction, method, point="default")
    job = Job(suite, 0, source, "", Path(), None, (point,))
    ((_, record),) = records(job)
    return record


def test_without_vectors_dm_is_of_the_metadata_alone(tmp_path: Path) -> None:
    suite = arrays(npz(tmp_path, vectors=None))
    assert "clustering" not in suite.labels
    assert suite.notes == (
        "clustering needs vectors and was left out: there are none",
        "there are no vectors: DM is the diversity of the metadata alone",
    )
    for direction in (SPREAD, FOCUS):
        record = measured(suite, direction)
        channel = np.array(record["per_query"]["metadata"])
        dm = metrics.harmonic_mean(1 - channel if direction == FOCUS else channel)
        assert record["summary"]["dm"] == pytest.approx(dm, abs=1e-6)
        assert record["summary"]["hm"] == metrics.overall(record["summary"]["r@10"], record["summary"]["dm"])
        assert "appearance" not in record["summary"]
    sheets = {table.key: table for table in tables.build([record, measured(suite, FOCUS, "guarded")]).tables}
    assert "appearance" not in sheets
    assert [column.name for column in sheets["focus"].columns] == ["HM", "R@10", "DM", "R@1", "from", "to"]
    assert sheets["focus"].notes[0] == "Without vectors DM is the diversity of the metadata alone."


def test_several_positives_are_measured_by_rank_and_precision(tmp_path: Path) -> None:
    suite = arrays(npz(tmp_path, positives=_PAIRS))
    queries = QuerySet(suite.sources[0][1].load())
    base, guarded = (measured(suite, SPREAD, label) for label in ("base", "guarded"))
    hits = queries.relevant[:, :20]
    for name, values in (
        ("map", metrics.average_precision_at_k(hits, 20)),
        ("mrr", metrics.reciprocal_rank(hits)),
        ("p@20", metrics.precision_at_k(hits, 20)),
    ):
        assert base["summary"][name] == pytest.approx(values[queries.answered].mean())
    (table,) = [table for table in tables.build([base, guarded]).tables if table.key.startswith("several")]
    assert [column.name for column in table.columns] == ["MAP", "MRR", "P@5", "P@10", "P@20"]


def test_queries_without_a_positive_count_for_diversity_alone(tmp_path: Path) -> None:
    suite = arrays(npz(tmp_path, positives=_PAIRS))
    assert "2 of 10 queries have no positive: recall, precision and HM are means over the others" in suite.notes
    record = measured(suite)
    bare = [query >= 8 for query in record["queries"]]
    assert record["bare"] == sum(bare) > 0
    for name in ("r@1", "r@10", "found_at", "map", "mrr", "p@10"):
        assert [value is None for value in record["per_query"][name]] == bare
    assert None not in record["per_query"]["metadata"]
    recalls = [value for value in record["per_query"]["r@10"] if value is not None]
    assert record["summary"]["r@10"] == pytest.approx(np.mean(recalls))
    (results,) = collect([record])
    assert f"8 queries ({sum(bare)} of them have no positive)" in results.setting


def test_judged_clusters_are_counted_and_are_no_attribute(tmp_path: Path) -> None:
    names = np.array(["", "beach", "city"] * 10)
    suite = arrays(npz(tmp_path, positives=_PAIRS, **{"column:cluster": names}))
    assert suite.judged == "cluster"
    assert [task.name for task in suite.tasks] == ["camera"]
    data = suite.sources[0][1].load()
    assert data.columns["cluster"][:3].tolist() == [-1, 0, 1]
    record = measured(suite)
    for query, share in zip(record["queries"], record["per_query"]["cr@20"], strict=True):
        assert (share is None) == (query >= 8)
        assert share is None or share in (0.0, 0.5, 1.0)  # of two clusters
    assert {"p@20", "cr@20", "f1@20"} <= record["summary"].keys()
    assert "judged-spread" in {table.key for table in tables.build([record]).tables}


def test_a_right_answer_that_was_not_found_is_a_miss(tmp_path: Path) -> None:
    rows = [(query, image) for query in range(6) for image in range(25)]
    parquet_file(
        tmp_path,
        score=[None if row == (2, 24) else 1.0 - row[1] / 50 for row in rows],
        positive=[image == (24 if query == 2 else 0) for query, image in rows],
        vector=None,
    )
    data = Arrays(tmp_path / "mine.parquet").load()
    assert data.positives[2].tolist() == [24]
    assert 24 not in data.candidates(2, 30).images  # the validation query is 3
    suite = arrays(tmp_path / "mine.parquet")
    record = measured(suite)
    assert record["per_query"]["r@20"] == [int(query != 2) for query in record["queries"]]
    assert 2 in record["queries"]


def test_the_measures_of_subtopics_are_those_of_ir_measures(tmp_path: Path) -> None:
    """Against the definitions, computed by hand: alpha-nDCG with the greedy ideal, ERR-IA, and N@10."""
    clusters = np.arange(30) % 4 - 1
    suite = arrays(npz(tmp_path, positives=_PAIRS, **{"column:cluster": clusters}))
    queries = QuerySet(suite.sources[0][1].load(), judged="cluster")
    record = measured(suite)
    for q, query in enumerate(record["queries"]):
        positives = queries.dataset.positives[query].tolist()
        values = {name: record["per_query"][name][q] for name in ("alpha-ndcg@20", "err-ia@20", "s-recall@20")}
        if not any(clusters[row] >= 0 for row in positives):
            assert set(values.values()) == {None}
            continue
        shown = [clusters[row] if row in positives else -1 for row in queries.rows[q][:20].tolist()]
        pool = sorted(int(clusters[row]) for row in positives if clusters[row] >= 0)
        ideal: list[int] = []
        while pool:
            ideal.append(pool.pop(min(range(len(pool)), key=lambda i: ideal.count(pool[i]))))
        assert values["alpha-ndcg@20"] == pytest.approx(_alpha_dcg(shown) / _alpha_dcg(ideal), abs=1e-6)
        assert values["s-recall@20"] == record["per_query"]["cr@20"][q]
        largest = sum(0.5**i / (i + 1) for i in range(20)) * len(set(ideal))  # all results of every cluster
        assert values["err-ia@20"] == pytest.approx(_alpha_dcg(shown, lambda i: i + 1) / largest, abs=1e-6)
        found = sum(row in positives for row in queries.rows[q][:10].tolist())
        assert record["per_query"]["n@10"][q] == pytest.approx(found / min(10, len(positives)))
    (table,) = [table for table in tables.build([record]).tables if table.key == "judged-spread"]
    names = ["P@20", "CR@20", "F1@20", "α-nDCG@20", "ERR-IA@20", "S-recall@20", "N@10", "kept"]
    assert [column.name for column in table.columns] == names


def _alpha_dcg(shown: list[int], discount: Any = lambda i: np.log2(i + 2)) -> float:
    """Return the gain of a list of clusters, halved whenever a cluster comes again."""
    gains = [0.5 ** shown[:i].count(c) / discount(i) for i, c in enumerate(shown) if c >= 0]
    return float(sum(gains))
