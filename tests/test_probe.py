"""The probe sees the collapse that one step brings, and none where the guard prevents it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mascot as mc
from mascot.bins.globe import rms_chord_km
from mascot.kernels.constants import SCALE
from mascot.kernels.reference import normalized
from mascot.tuning.probe import STEADY, Probe, probe

STREET = np.random.default_rng(0).normal(0, 0.01, (2, 60))
# Twelve good matches all over the world, and sixty poor ones of a single street.
SCATTERED = mc.Candidates(
    scores=np.concatenate([np.linspace(1, 0.8, 12), np.linspace(0.3, 0, 60)]),
    columns={
        "lat": np.concatenate([np.linspace(-40, 60, 12), 10 + STREET[0]]),
        "lon": np.concatenate([np.linspace(-170, 150, 12), 100 + STREET[1]]),
        "taken": np.linspace(0, 23.9, 72),
    },
)
WHERE = mc.Place.grid(sigma=10)


def stepped(result: Probe, parameter: str) -> list[float]:
    return [step.stepped for step in result.steps if step.parameter == parameter]


def values(result: Probe) -> dict[str, float]:
    return {step.parameter: step.value for step in result.steps}


def test_the_published_method_stands_one_step_from_collapse() -> None:
    result = probe(SCATTERED, mc.focus(WHERE), mc.Mascot.paper(0.3))
    assert result.kept > 0.95
    assert result.verdict == "collapses"
    verdicts = {(step.parameter, step.stepped): step.verdict for step in result.steps}
    assert verdicts["place.sigma", 15.0] == "collapses"
    assert verdicts["place.cells", 25] == "collapses"
    assert verdicts["strength", 0.4] == "drifts"
    assert verdicts["strength", 0.2] == "steady"


@pytest.mark.parametrize("method", [mc.Mascot(0.8), mc.Mascot(keep=0.9)], ids=str)
def test_the_guarded_method_does_not(method: mc.Mascot) -> None:
    result = probe(SCATTERED, mc.focus(WHERE), method)
    assert result.verdict == "steady"
    assert min(step.survives for step in result.steps) > STEADY
    assert result.skipped == (() if method.keep is None else ("strength is left open",))
    assert len(stepped(result, "strength")) == (2 if method.keep is None else 0)


def test_every_parameter_is_stepped_down_and_up() -> None:
    wishes = [mc.focus(WHERE), mc.spread(mc.HourOfDay("taken", sigma=1.5))]
    result = probe(SCATTERED, wishes, mc.Mascot(0.5))
    steps = [(step.parameter, step.value, step.stepped) for step in result.steps]
    assert steps == [
        ("strength", 0.5, 0.4), ("strength", 0.5, 0.6), ("place.cells", 20, 15), ("place.cells", 20, 25),
        ("place.sigma", 10, pytest.approx(10 / 1.5)), ("place.sigma", 10, 15), ("hour.sigma", 1.5, 1.0),
        ("hour.sigma", 1.5, 2.25),
    ]  # fmt: skip
    for strength, ends in ((1.0, [0.9]), (0.0, [0.1]), (0.95, [0.85, 1.0])):
        assert stepped(probe(SCATTERED, mc.focus(WHERE), mc.Mascot(strength)), "strength") == ends


def test_a_step_is_the_rerank_with_that_value() -> None:
    result = probe(SCATTERED, mc.focus(WHERE), mc.Mascot.paper(0.3), k=7)
    ideal = np.sort(normalized(SCATTERED.scores))[::-1][:7].sum()

    def share(sigma: float) -> float:
        wish = mc.focus(mc.Place.grid(sigma=sigma))
        return float(mc.rerank(SCATTERED, wish, 7, mc.Mascot.paper(0.3)).relevance.sum() / ideal)

    assert result.k == 7
    assert result.kept == pytest.approx(share(10))
    wider = next(step for step in result.steps if step.parameter == "place.sigma" and step.stepped > 10)
    assert wider.kept == pytest.approx(share(15))
    assert wider.survives == pytest.approx(share(15) / share(10))


def test_open_widths_are_stepped_from_the_width_they_take() -> None:
    wishes = [mc.focus(mc.Place()), mc.spread(mc.Number("taken")), mc.spread(mc.Cycle("taken", 24))]
    widths = values(probe(SCATTERED, wishes))
    lat, lon = (np.radians(SCATTERED.columns[name]) for name in ("lat", "lon"))
    assert rms_chord_km(lat, lon) / SCALE > 350
    assert widths["place.sigma_km"] == 350  # the widest default of a focus
    assert widths["taken.sigma"] == pytest.approx(np.sqrt(2) * SCATTERED.columns["taken"].std() / SCALE)
    assert widths["taken 2.sigma"] == 1.5


def test_dropped_candidates_shape_neither_widths_nor_the_best_possible() -> None:
    wish = mc.spread(mc.Number("h", missing="drop"))
    hours, scores = [None, 1.0, 2.0, 3.0, 4.0], [9.0, 1.0, 0.9, 0.8, 0.0]
    whole, valued = (mc.Candidates(scores[start:], columns={"h": hours[start:]}) for start in (0, 1))
    assert probe(whole, wish, k=2) == probe(valued, wish, k=2)
    result = probe(mc.Candidates([1.0, 0.5], columns={"h": [None, None]}), wish)
    assert (result.k, result.kept, result.verdict) == (0, 1.0, "steady")


def test_it_prints_as_a_table_and_travels_as_data() -> None:
    result = probe(SCATTERED, mc.focus(mc.Place.grid(cells=4)), mc.Mascot.paper(0.3))
    assert result.skipped == ("place.cells 4 to -1: Place.grid.cells must be a whole number >= 2, got -1",)
    assert stepped(result, "place.cells") == [9]
    lines = str(result).splitlines()
    assert lines[0].split() == ["parameter", "from", "to", "kept", "survives", "verdict"]
    assert lines[-1].startswith(f"verdict: {result.verdict} (steady: 90% survives a step; collapses: below 50%)")
    data = json.loads(json.dumps(result.to_dict()))
    assert (data["verdict"], data["skipped"]) == (result.verdict, list(result.skipped))
    assert [step["survives"] for step in data["steps"]] == [step.survives for step in result.steps]
