"""A user's script passes `mypy --strict`, and runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mascot

SCRIPT = """
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import mascot as mc
from mascot.attributes import Columns


class Mood:
    name = "mood"

    def membership(self, columns: Columns, vectors: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return np.eye(3)[np.asarray(columns["mood"], np.int64)]

    def features(self, columns: Columns, vectors: NDArray[np.float64] | None) -> NDArray[np.float64]:
        return self.membership(columns, vectors)


table = pd.DataFrame({"id": ["a", "b", "c"], "score": [0.9, 0.8, 0.7], "mood": [0, 0, 1], "city": ["x", "x", "y"]})
hits = mc.Candidates(table["score"], ids=table["id"].tolist(), columns=table)
page: mc.Ranking[str] = mc.rerank(hits, [mc.spread(Mood()), mc.limit("city", 1)], k=2, strength=0.7)
first: str = page[0]
was: int = int(page.was[0])
reason: mc.Reason = page.explain().results[0]
numbers: mc.Ranking[int] = mc.rerank(mc.Candidates([0.9, 0.8]), [], k=1)

records: list[Mapping[str, Any]] = [{"id": "a", "score": 0.9, "geo": {"lat": 38.7, "lon": -9.1}}]
near = mc.focus(mc.Place("geo.lat", "geo.lon"), near=(38.7, -9.1), within=5)
again = mc.rerank(mc.Candidates.from_records(records), near, k=1, method=mc.Mascot.paper(0.4))
same: bool = mc.from_dict(near.to_dict()) == near

ranker = mc.Reranker([mc.spread(mc.HourOfDay("taken"))]).fit({"taken": np.arange(24.0)})
rows: NDArray[np.int64] = np.arange(6).reshape(2, 3)
batch = ranker.rerank_many(rows, np.ones((2, 3)), k=2)
positions: NDArray[np.int64] = batch.positions
try:
    mc.rerank(hits, mc.share("city", {"x": 2.0}), k=2)
except mc.OptionError as error:
    print(first, was, reason.because, numbers[0], again.records(), same, positions.shape, error)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    pytest.importorskip("pandas")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_a_users_script_is_clean_under_mypy(script: Path) -> None:
    pytest.importorskip("mypy")
    sources = str(Path(mascot.__file__).parents[1])
    cache = Path(__file__).resolve().parents[1] / "build" / "mypy"  # stubs of numpy take most of the time
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={cache}"]
    command = [sys.executable, "-m", "mypy", *options, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=script.parent, env={"MYPYPATH": sources})
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def test_a_users_script_runs(script: Path) -> None:
    exec(compile(SCRIPT, script.name, "exec"), {})
