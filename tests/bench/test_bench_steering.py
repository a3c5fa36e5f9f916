"""`python -m benchmarks.steering`: balance and aim, measured on few queries."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from benchmarks import steering
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc


def cases() -> list[steering.SteeringCase]:
    """Candidates with skewed labels, places and hours, and the place and hour of one of them."""
    rng = np.random.default_rng(0)
    result = []
    for _ in range(3):
        columns = {
            "label": rng.choice(list(steering.SELLERS), 120, p=list(steering.SELLERS.values())),
            "lat": rng.uniform(-60, 60, 120),
            "lon": rng.uniform(-180, 180, 120),
            "taken": rng.uniform(0, 24, 120),
        }
        candidates = mc.Candidates(np.sort(rng.random(120))[::-1], columns=columns)
        result.append(steering._case(candidates, rng))
    return result


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


def test_strength_buys_balance() -> None:
    rows = steering.balance(cases(), k=8, strengths=(0.0, 1.0))
    (entropy, _, retained), (full_entropy, _, full_retained) = rows["mascot"]
    assert full_entropy > entropy
    assert retained == pytest.approx(1)
    assert full_retained <= 1 + 1e-9
    assert all(entropy <= best + 1e-9 for steps in rows.values() for entropy, best, _ in steps)
    assert set(rows) == set(steering.methods_at(0.5)) >= {"mascot", "mmr", "k-dpp", "ms-dpp"}


def test_aim_finds_what_is_near() -> None:
    shares = {target: steering.aim(cases(), target, k=8) for target in steering.RADII}
    for target, radii in steering.RADII.items():
        assert set(shares[target]) == {"mascot", *(f"decay {radius:g}" for radius in radii)}
        assert all(len(row) == len(radii) and 0 <= min(row) <= max(row) <= 1 + 1e-9 for row in shares[target].values())
    assert shares["hour"]["mascot"][0] > 0.5


def test_the_command_prints_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    lines = [f"{rng.normal(51, 0.1)},{rng.normal(13.7, 0.1)},u{rng.integers(5)}" for _ in range(60)]
    text = "\n".join(["lat,lng,user_guid", *lines])
    (tmp_path / "flickr_dresden_cc-by.csv.gz").write_bytes(gzip.compress(text.encode()))
    steering.main(["--only", "dresden", "--data", str(tmp_path), "--queries", "1"])
    output = capsys.readouterr().out
    assert "Balance, dresden: entropy (relevance retained) by strength" in output
    assert all(f"\n{method} " in output for method in steering.methods_at(0.5))
    assert "Aim, dresden, place: share within a radius at 80% of relevance retained" in output
    assert "Aim, dresden, hour" not in output  # its table has no times


def test_missing_data_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    missing = "nowhere/flickr_dresden_cc-by.csv.gz: No such file"
    for words, message in (("--only tokyo", "tokyo needs --data"), ("--only dresden --data nowhere", missing)):
        with pytest.raises(SystemExit):
            steering.main(words.split())
        assert message in capsys.readouterr().err
