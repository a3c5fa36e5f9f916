"""Values at and beyond the edges of float64 give a named error or a sound result."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.kernels import native

HUGE = 10**400  # an integer beyond every float
LONG = 10**5000  # one that Python does not write in digits


def hits(**columns: Any) -> mc.Candidates:
    return mc.Candidates(scores=[3, 2, 1], columns={"x": ["a", "b", "a"], **columns})


REFUSED: dict[str, Callable[[], Any]] = {
    "scores must be below 1.8e308, got a larger integer": lambda: mc.Candidates(scores=[HUGE, 1]),
    "k must be below 2**31, got 1000000000000000000": lambda: mc.rerank(hits(), [mc.spread("x")], k=10**18),
    "k must be below 2**31, got an integer of thousands of digits": lambda: mc.rerank(hits(), [mc.spread("x")], k=LONG),
    "Cycle.period must lie within 1e-150..1e150, got 1e-300": lambda: mc.Cycle("x", period=1e-300),
    "Cycle.period must lie within 1e-150..1e150, got 1e+308": lambda: mc.Cycle("x", period=1e308),
    "Cycle.period must be at most 1.8e308, got 1" + "0" * 79 + "...": lambda: mc.Cycle("x", period=HUGE),
    "spread(x).weight must be at most 1.8e308, got 1" + "0" * 79 + "...": lambda: mc.spread("x", weight=HUGE),
    "Place.sigma_km must be at most 1.8e308, got an integer of thousands of digits": lambda: mc.Place(sigma_km=LONG),
    "Cycle column 'n' must lie within -1e150..1e150, got a larger integer": lambda: mc.rerank(
        hits(n=[1, 2, HUGE]), [mc.spread(mc.Cycle("n", period=7.0))]
    ),
    "Date column 'n' must hold times (ISO, EXIF or datetime), got 1" + "0" * 79 + "...": lambda: mc.rerank(
        hits(n=[HUGE, 1, 2]), [mc.spread(mc.Date("n"))]
    ),
    "Date column 't' must hold times (ISO, EXIF or datetime), got datetime.time(3, 0)": lambda: mc.rerank(
        hits(t=[time(3), time(4), None]), [mc.spread(mc.Date("t"))]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_the_error_names_owner_rule_and_value(message: str) -> None:
    with pytest.raises(mc.MascotError) as caught:
        REFUSED[message]()
    assert str(caught.value) == message


def test_a_time_of_day_has_an_hour() -> None:
    page = mc.rerank(hits(t=[time(3), time(4), None]), [mc.spread(mc.HourOfDay("t"))], k=3)
    assert sorted(page.ids) == [0, 1, 2]


BACKENDS = ["numpy", pytest.param("native", marks=pytest.mark.skipif(not native.available(), reason="not built"))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bin_weight", ["uniform", "query"])
@pytest.mark.parametrize(
    "scores",
    [
        [0, 5e-324, 1e-323, 0, 5e-324],
        [1e308, -1e308, 1e308, 0, 5e-324],
        [1.7e308, -1.7e308, 1e-308, 0, 1],
        [5e-324] * 5,
        [1e308] * 5,
    ],
)
def test_denormal_and_huge_scores_give_distinct_results(scores: list[float], bin_weight: Any, backend: Any) -> None:
    candidates = mc.Candidates(scores=scores, columns={"x": ["a", "b", "a", "b", "c"]})
    for wishes in ([mc.spread("x")], [mc.focus("x")], [mc.spread("x", weight=1e100), mc.focus("x", weight=1e100)]):
        page = mc.rerank(candidates, wishes, k=5, method=mc.Mascot(bin_weight=bin_weight), backend=backend)
        assert sorted(page.ids) == [0, 1, 2, 3, 4]
        assert np.isfinite(page.relevance).all()


def rerank(record: dict[str, Any], tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "hits.jsonl"
    path.write_text(f"{json.dumps(record)}\n", "utf-8")
    command = [sys.executable, "-m", "mascot", "rerank", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


@pytest.mark.parametrize(
    ("record", "arguments", "message"),
    [
        ({"score": HUGE, "x": "a"}, ["--spread", "x"], "line 1: score must be a finite number, got 1000"),
        ({"score": 1, "x": "a"}, ["--spread", "x", "-k", str(10**18)], "k must be below 2**31, got 1000"),
        (
            {"score": 1, "n": 1},
            ["--spread", "cycle:n,1e-300"],
            "Cycle.period must lie within 1e-150..1e150, got 1e-300",
        ),
    ],
)
def test_the_command_says_it_in_one_line(
    record: dict[str, Any], arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = rerank(record, tmp_path, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
