"""What `mascot tune` recommends has to hold on queries that did not choose it.

`python tests/bench/test_tuning.py` runs the examples of docs/tune.md and writes down what they print.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import mascot as mc
from mascot.attributes import Clusters
from mascot.bench.tuning.tuner import Setting, tune
from mascot.cli.command_group import app
from tests.retelling import retold

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tune.md"


def hits(queries: int, bias: float, seed: int = 0) -> list[dict[str, Any]]:
    """Judged hits with four clusters; the search prefers the largest by `bias`, and `label` is the cluster."""
    rng = random.Random(seed)
    records = []
    for query in range(queries):
        for number in range(25):
            cluster = rng.choices("abcd", (0.7, 0.1, 0.1, 0.1))[0]
            grade = rng.choice((0, 1, 2))
            score = grade / 4 + bias * (cluster == "a") + rng.random() / 2
            records.append(
                {"query": query, "id": f"{query}-{number}", "score": score, "label": cluster, "grade": grade}
                | {"cluster": cluster if grade else None, "noise": rng.choice("uvwxyz"), "number": rng.gauss(query, 1)}
            )
    return records


def candidates(records: list[dict[str, Any]]) -> list[mc.Candidates[Any]]:
    names = dict.fromkeys(record["query"] for record in records)
    return [mc.Candidates.from_records([r for r in records if r["query"] == name]) for name in names]


def test_a_setting_is_recommended_only_where_held_out_queries_agree() -> None:
    helpful = tune(candidates(hits(24, bias=0.6)), mc.spread("label"), "grade", "cluster", k=6)
    assert helpful.default_over_relevance.low > 0
    assert helpful.verdict in ("tuned", "default")
    useless = tune(candidates(hits(24, bias=0.0)), mc.spread("noise"), "grade", "cluster", k=6)
    assert useless.verdict == "relevance alone"
    assert useless.recommended == Setting(strength=0.0)
    for tuning in (helpful, useless):
        assert (tuning.verdict == "tuned") <= (min(tuning.over_default.low, tuning.over_relevance.low) > 0)
        assert tuning.tuned.mean <= tuning.scores["best"].objective + 1e-12  # the grid's best is the optimistic one


def test_the_scores_are_those_of_rerank_and_the_seed_decides_the_rest() -> None:
    queries = candidates(hits(8, bias=0.3))
    wishes = [mc.spread(mc.Number("number")), mc.limit("label", 3)]
    tuning = tune(queries, wishes, "grade", "cluster", k=6, metric="precision")
    shown = [mc.rerank(query, wishes, 6).positions for query in queries]
    precision = [np.mean(q.columns["grade"][at] > 0) for q, at in zip(queries, shown, strict=True)]
    assert tuning.scores["default"].relevance == pytest.approx(np.mean(precision))
    assert tuning.settings == 1 + 10 * 3 * 5  # strengths, protects, and four widths beside the own
    again = tune(queries, wishes, "grade", "cluster", k=6, metric="precision")
    assert json.dumps(again.to_dict()) == json.dumps(tuning.to_dict())


@settings(max_examples=4, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    k=st.integers(1, 12),
    sign=st.sampled_from([mc.spread, mc.focus]),
    seed=st.integers(0, 99),
)
def test_every_objective_is_between_0_and_1(sizes: list[int], k: int, sign: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries = [
        mc.Candidates(
            rng.random(size),
            columns={
                "label": rng.choice(np.array(["a", "b", None], object), size),
                "grade": np.r_[1.0, rng.choice([0, 1, 3, np.nan], size - 1)],
                "taken": rng.uniform(0, 24, size),
            },
            vectors=rng.random((size, 3)),
        )
        for size in sizes
    ]
    wishes = [sign("label"), mc.focus(mc.HourOfDay("taken"), near=18), mc.spread(Clusters(3))]
    tuning = tune(queries, wishes, "grade", k=k, folds=3, seed=seed)
    for means in tuning.scores.values():
        assert all(0 <= mean <= 1 + 1e-12 for mean in (means.relevance, means.diversity, means.objective))
    assert sum(fold.queries for fold in tuning.folds) == tuning.queries == len(sizes)


def command(*words: str) -> Any:
    return CliRunner().invoke(app, ["tune", *words])


@pytest.fixture
def judged(tmp_path: Path) -> str:
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in hits(6, bias=0.6)), encoding="utf-8")
    return str(path)


def test_the_command_prints_a_line_that_rerank_takes(judged: str, tmp_path: Path) -> None:
    figure = tmp_path / "new" / "tune.png"
    wanted = ["--judged", "grade", "--spread", "label*2", "-k", "6", "--query", "query", "--format", "json"]
    output = json.loads(command(judged, *wanted, "--figure", str(figure)).stdout)
    assert figure.read_bytes().startswith(b"\x89PNG")
    line = shlex.split(output["command"])[2:]
    assert CliRunner().invoke(app, ["rerank", *line]).exit_code == 0
    assert [point["strength"] for point in output["curve"]] == [round(step / 10, 1) for step in range(11)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--judged", "stars", "--spread", "label"], "no column 'stars'; its columns: query, id, score"),
        (["--judged", "grade", "--clusters", "label", "--spread", "label"], "'label', which is a judgement"),
    ],
)
def test_errors_say_what_is_wrong(words: list[str], message: str, judged: str) -> None:
    error = command(judged, *words).exception
    assert isinstance(error, mc.MascotError)
    assert message in str(error)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_page_shows_what_the_program_prints(tmp_path: Path) -> None:
    shutil.copy(DOCS / "judged_example.py", tmp_path)
    assert retold(PAGE, tmp_path) == PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(DOCS / "judged_example.py", scratch)
        PAGE.write_text(retold(PAGE, Path(scratch)), encoding="utf-8")
        shutil.copy(Path(scratch) / "tune.png", DOCS / "figures")
