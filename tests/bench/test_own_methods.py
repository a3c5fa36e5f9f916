"""Methods beside the paper's: a user's own class, and xQuAD, PM-2 and IA-Select, run and compared like any other."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.bench.methods.intent_aware import IaSelect, Pm2, XQuad
from mascot.bench.methods.own_method import OwnMethod, from_record, select_by, source_hash
from mascot.bench.methods.pyversity import STRATEGIES, Pyversity
from mascot.bench.protocol.search_space import LABELS
from mascot.bench.report import figures, tables
from mascot.bench.report.figures import style
from mascot.bench.running.records import read
from mascot.wishes import Wish
from tests.bench import synthetic_records as synthetic
from tests.retelling import run_command

MODULE = """
from dataclasses import dataclass
from mascot.bench.methods.own_method import select_by

@dataclass(frozen=True)
class Skip:
    strength: float = 0.5
    step: int = 1

    def select(self, problem, k):
        def pick(q, count):
            return range(0, count * self.step, self.step) if self.strength < 0.8 else range(count)[::-1]
        return select_by(problem, k, pick)
"""


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The results of a small run with a user's class under two labels, and with xQuAD."""
    folder, rng = tmp_path_factory.mktemp("skipped"), np.random.default_rng(0)
    (folder / "skipping.py").write_text(MODULE)
    fields = {"vectors": rng.standard_normal((60, 4)), "column:taken": rng.uniform(0, 24, 60)}
    fields |= {"column:lat": rng.uniform(-60, 60, 60), "column:lon": rng.uniform(-170, 170, 60)}
    np.savez(folder / "mine.npz", scores=rng.random((20, 60)), positives=np.arange(20), **fields)
    words = ["bench", "run", "mine.npz", "--out", "out", "--jobs", "1", "--methods", "base,guarded", "--quick"]
    words += ["--method", "skipping:Skip", "--method", "twice=skipping:Skip", "--method", "xquad"]
    words += ["--grid", "twice.step=1,2", "--grid", "xquad.strength=0.2,0.6", "--grid", "skip.strength=0.1,0.9"]
    words += ["--grid", "xquad.sigma_geo=10", "--grid", "xquad.sigma_time=1.5", "--tasks", "geo_hour,hour"]
    done = run_command(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(folder=folder, out=folder / "out", words=words, records=read(folder / "out"))


def test_it_is_searched_on_validation(skipped: SimpleNamespace) -> None:
    searches = [record for record in skipped.records if record["study"] == "search"]
    assert {record["label"] for record in searches} == {"skip", "twice", "xquad"}
    for label, name in (("skip", "strength"), ("twice", "step")):
        cases = [record for record in searches if record["label"] == label and record["task"] == "hour"]
        best = max((r for r in cases if r["direction"] == "spread"), key=lambda record: record["summary"]["hm"])
        (chosen,) = [
            record for record in skipped.records
            if (record["study"], record["label"], record["task"], record["direction"])
            == ("main", label, "hour", "spread")
        ]  # fmt: skip
        assert (chosen["point"], chosen["method"][name]) == ("validated", best["method"][name])
        assert chosen["method"]["kind"] == "skipping:Skip"


def test_it_is_in_every_table(skipped: SimpleNamespace) -> None:
    rows = {table.key: set(table.cells.index.get_level_values(1)) for table in tables.build(skipped.records).tables}
    keys = {"spread-validated", "recall-focus-validated", "parameters", "prs", "fixed-recall", "mixed", "clusters"}
    for key in (*keys, "differences", "runtime", "top1", "appearance"):
        assert {"skip", "twice"} <= rows[key], key
        assert ("xQuAD" in rows[key]) == (key != "differences"), key
    assert {"strength-skip", "strength-xquad"} <= rows.keys()


def test_it_is_in_every_figure(skipped: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    legends: dict[str, list[str]] = {}

    def save(figure: Any, out: Path, name: str) -> list[Path]:
        legends[name] = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        legends[name] += [text.get_text() for ax in figure.axes for text in ax.get_yticklabels()]
        return [out / name]

    monkeypatch.setattr(style, "save", save)
    figures.draw(skipped.out, tmp_path)
    for name in ("recall-validated", "tradeoff-validated", "strength-recall", "front", "runtime"):
        assert {"skip", "twice", "xQuAD"} <= set(legends[name]), name
    words = ["bench", "figures", str(skipped.out), "--data", "mine.npz", "--methods", "base,skip,xquad"]
    done = run_command(*words, "--out", str(tmp_path), folder=skipped.folder)
    assert (done.returncode, "qualitative" in legends) == (0, True), done.stderr


def test_figures_of_some_methods_and_at_most_eight_lines(
    skipped: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(style, "save", lambda figure, out, name: drawn.update({name: figure}) or [out / name])

    def names(figure: str) -> set[str]:
        (legend,) = drawn[figure].legends
        return {text.get_text() for text in legend.get_texts()}

    figures.draw(skipped.out, tmp_path, methods=["base", "skip"])
    for figure in ("recall-validated", "strength-recall", "front"):
        assert "skip" in names(figure) <= {"Base", "skip"}
    with pytest.raises(mc.OptionError, match=r"of these results \(base, guarded, xquad, skip, twice\) or of the paper"):
        figures.draw(skipped.out, tmp_path, methods=["other"])
    everything = [synthetic.record(0, 4, label=label, point="default") for label in (*LABELS, "mine")]
    figures.draw(synthetic.save(everything, tmp_path / "all"), tmp_path)
    assert len(names("recall")) == 9  # eight, and the published lines
    assert {"Base", "MASCOT", "Guarded", "mine"} <= names("recall")
    assert drawn["recall"].legends[0].get_title().get_text() == "8 of 14 methods; --methods selects others."


def test_an_edited_method_is_run_again(skipped: SimpleNamespace) -> None:
    method = OwnMethod("skipping:Skip", (("step", 2),))
    before = method.to_dict()
    (skipped.folder / "skipping.py").write_text(MODULE + "# edited\n")
    assert (before["step"], before) == (2, method.to_dict())  # this process still runs what it imported
    source_hash.cache_clear()
    assert before["source"] != method.to_dict()["source"]
    assert from_record(json.loads(json.dumps(before))) == method
    assert (method.strength, method.at(0.7).strength) == (0.5, 0.7)
    with pytest.raises(mc.OptionError, match=r"^method must be module:Class, got 'nowhere:Skip'"):
        _ = OwnMethod("nowhere:Skip").strength


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "nowhere:Skip"], "method must be module:Class, got 'nowhere:Skip': No module named 'nowhere'"),
        (["--method", "mascot:Rerank"], "method must be module:Class, got 'mascot:Rerank'"),
        (["--method", "mascot:Candidates"], "with select(problem, k), got 'mascot:Candidates'"),
        (["--method", "mascot:Mmr"], "--method must have a new label, got 'mmr'; write LABEL=module:Class"),
        (["--method", "my=mascot:Mmr", "--grid", "beta=1"], "with a parameter of a --method, got 'beta=1'"),
        (["--method", "my=mascot:Mmr", "--grid", "streng=1"], "got 'streng=1'; there are "),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    done = run_command("bench", "run", "pixelprose-sim", "--out", "x", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "select_by(problem, k, lambda q, count: [1][q + 1])",
            r"broken_\d+\.py, line 5: IndexError: list index out of range",
        ),
        ("[[0, 1]]", r"broken_\d+:Broken must return what select_by returns, got list"),
    ],
)
def test_an_error_in_a_method_names_its_line(
    body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["from mascot.bench.methods.own_method import select_by", "class Broken:"]
    lines += ["    def select(self, problem, k):", "        # The next line fails.", f"        return {body}", ""]
    name = f"broken_{len(body)}"  # imported once, under its own name
    (tmp_path / f"{name}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(mc.InputError, match=message):
        mc.rerank(mc.Candidates([0.3, 0.2]), [], k=2, method=OwnMethod(f"{name}:Broken"))


def test_wrong_positions_are_refused() -> None:
    class Repeating:
        def select(self, problem: Any, k: int) -> Any:
            return select_by(problem, k, lambda q, count: [0] * count)

    with pytest.raises(mc.InputError, match=r"at most 2 different positions below 3, got \[0, 0\] for query 0"):
        mc.rerank(mc.Candidates([0.3, 0.2, 0.1]), [], k=2, method=Repeating())


def _aspects(seed: int) -> tuple[mc.Candidates[int], list[Wish], Any, Any, Any]:
    """Random candidates in five bins of two attributes, and the r(d), v(d, u) and P(u) of the formulas."""
    rng = np.random.default_rng(seed)
    scores, city, year = rng.random(12), rng.integers(0, 3, 12), rng.integers(0, 2, 12)
    wishes = [mc.spread("city"), mc.spread("year", weight=2.0)]
    r = [(s - min(scores)) / (max(scores) - min(scores) + 1e-8) for s in scores]
    bins = [("city", b) for b in sorted(set(city))] + [("year", b) for b in sorted(set(year))]
    values = {"city": city, "year": year}
    v = {(d, u): r[d] * (values[bins[u][0]][d] == bins[u][1]) for d in range(12) for u in range(len(bins))}
    total = {name: sum(v[d, u] for d in range(12) for u, b in enumerate(bins) if b[0] == name) for name in values}
    share = {"city": 1 / 3, "year": 2 / 3}
    p = [share[b[0]] * sum(v[d, u] for d in range(12)) / total[b[0]] for u, b in enumerate(bins)]
    columns = {"city": city.astype(str), "year": year.astype(str)}
    return mc.Candidates(scores, columns=columns), wishes, r, v, p


def _greedy(gain: Any) -> list[int]:
    """Select the candidate with the highest gain at every step; the first of equals."""
    selected: list[int] = []
    while len(selected) < 8:
        left = [d for d in range(12) if d not in selected]
        selected.append(max(left, key=lambda d: (round(gain(d, selected), 12), -d)))
    return selected


def _xquad(strength: float, r: Any, v: Any, p: Any) -> list[int]:
    def gain(d: int, selected: list[int]) -> float:
        novelty = 0.0
        for u in range(len(p)):
            product = 1.0
            for s in selected:
                product *= 1 - v[s, u]
            novelty += p[u] * v[d, u] * product
        return float((1 - strength) * r[d] + strength * novelty)

    return _greedy(gain)


def _pm2(weight: float, r: Any, v: Any, p: Any) -> list[int]:
    def gain(d: int, selected: list[int]) -> float:
        seats = [0.0] * len(p)
        for s in selected:
            whole = sum(v[s, u] for u in range(len(p)))
            for u in range(len(p)):
                seats[u] += v[s, u] / whole if whole else 0.0
        quotients = [p[u] / (2 * seats[u] + 1) for u in range(len(p))]
        turn = quotients.index(max(quotients))
        others = sum(quotients[u] * v[d, u] for u in range(len(p)) if u != turn)
        return float(weight * quotients[turn] * v[d, turn] + (1 - weight) * others)

    return _greedy(gain)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("method", "formula"),
    [
        *((XQuad(s), lambda *a, s=s: _xquad(s, *a)) for s in (0.0, 0.4, 0.9)),
        (IaSelect(), lambda *a: _xquad(1.0, *a)),
        *((Pm2(w), lambda *a, w=w: _pm2(w, *a)) for w in (0.2, 0.5, 1.0)),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_the_formulas_literally(method: Any, formula: Any, seed: int) -> None:
    candidates, wishes, r, v, p = _aspects(seed)
    assert mc.rerank(candidates, wishes, k=8, method=method).positions.tolist() == formula(r, v, p)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pyversity_selects_what_the_package_selects(strategy: str) -> None:
    pyversity = pytest.importorskip("pyversity")
    rng = np.random.default_rng(0)
    vectors, scores = rng.standard_normal((12, 4)), rng.random(12)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance = (scores - scores.min()) / (scores.max() - scores.min() + 1e-8)
    candidates = mc.Candidates(scores, columns={"city": ["a", "b", "c"] * 4}, vectors=vectors)
    rows = np.hstack([unit, np.tile(np.eye(3), (4, 1))]).astype(np.float32)
    expected = pyversity.diversify(rows, relevance, k=5, strategy=strategy, diversity=0.5).indices.tolist()
    assert mc.rerank(candidates, mc.spread("city"), k=5, method=Pyversity(strategy)).positions.tolist() == expected
