"""`mascot bench steering`: balance and aim, measured on few queries."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import mascot as mc
from mascot.bench import steering
from mascot.cli.bench import bench


def cases(count: int, seed: int = 0) -> list[steering.SteeringCase]:
    """Candidates with skewed labels, places and hours, and the place and hour of one of them."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        columns = {
            "label": rng.choice(list(steering.SELLERS), 120, p=list(steering.SELLERS.values())),
            "lat": rng.uniform(-60, 60, 120),
            "lon": rng.uniform(-180, 180, 120),
            "taken": rng.uniform(0, 24, 120),
        }
        candidates = mc.Candidates(np.sort(rng.random(120))[::-1], columns=columns)
        result.append(steering._case(candidates, rng))
    return result


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.integers(1, 20))
def test_no_selection_is_more_even_than_the_best(labels: list[str], k: int) -> None:
    groups = min(len(set(labels)), k)
    best = steering.best_entropy(labels, k, groups)
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert steering.entropy_of(rng.permutation(labels)[:k].tolist(), groups) <= best + 1e-9
    assert 0 <= best <= 1 + 1e-9
    assert steering.entropy_of(["a", "b", "a", "b"], 2) == pytest.approx(1)
    assert steering.entropy_of(["a", "a"], 2) == 0
    assert steering.entropy_of([], 2) == steering.entropy_of(["a"], 1) == 1


def test_strength_buys_balance() -> None:
    rows = steering.balance("made-up", cases(3), k=8, strengths=(0.0, 1.0))
    none, full = (row for row in rows if row.method == "mascot")
    assert full.entropy > none.entropy
    assert none.relevance == pytest.approx(1)
    assert full.relevance <= 1 + 1e-9
    assert all(row.entropy <= row.best + 1e-9 for row in rows)
    methods = set(steering.methods_at(0.5))
    assert {row.method for row in rows} == methods >= {"mascot", "mmr", "k-dpp", "ms-dpp"}
    table = steering.balance_table(rows)
    assert all(any(line.startswith(method) for line in table.splitlines()) for method in methods)


def test_aim_finds_what_is_near() -> None:
    rows = steering.aim("made-up", cases(3), k=8)
    places = {("place", radius) for radius in steering.RADII_KM}
    assert {(row.target, row.radius) for row in rows} == places | {("hour", r) for r in steering.RADII_HOURS}
    assert all(0 <= row.share <= 1 + 1e-9 for row in rows)
    ours = {(row.target, row.radius): row.share for row in rows if row.method == "mascot"}
    assert ours["hour", steering.RADII_HOURS[0]] > 0.5
    # Candidates without places and times are not aimed at.
    case = steering._case(mc.Candidates([0.9, 0.5], columns={"label": ["a", "b"]}), np.random.default_rng(0))
    assert (case.place, case.hour) == (None, None)
    assert steering.aim("bare", [case], k=1) == []


def test_distances_are_those_of_the_globe_and_the_clock() -> None:
    columns = {"lat": [0.0, 0.0], "lon": [0.0, 180.0], "taken": [23.0, 5.0], "label": ["a", "b"]}
    case = steering.SteeringCase(mc.Candidates([1.0, 0.5], columns=columns), (0.0, 0.0), 1.0)
    assert steering._distances(case, "place") == pytest.approx([0, np.pi * 6371.0088])
    assert steering._distances(case, "hour") == pytest.approx([2, 4])


def test_the_command_prints_both_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"{rng.normal(51, 0.1)},{rng.normal(13.7, 0.1)},u{rng.integers(5)}" for _ in range(60)]
    text = "\n".join(["lat,lng,user_guid", *lines])
    (tmp_path / "flickr_dresden_cc-by.csv.gz").write_bytes(gzip.compress(text.encode()))
    arguments = ["steering", "--only", "dresden", "--data", str(tmp_path), "--queries", "1"]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0, done.output
    assert "Balance, dresden: entropy (relevance retained) by strength" in done.output
    assert "Aim, dresden, place: share within a radius at 80% of relevance retained" in done.output
    assert "Aim, dresden, hour" not in done.output  # its table has no times


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "tokyo"], "tokyo needs --data"),
        (["--only", "atlantis", "--data", "."], "no dataset is called 'atlantis'"),
        (["--only", "dresden", "--data", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str) -> None:
    done = CliRunner().invoke(bench, ["steering", *words])
    assert done.exit_code != 0
    assert message in done.output
    assert "Traceback" not in done.output
