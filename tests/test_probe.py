"""The probe sees the collapse that one step brings, and none where the guard prevents it."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.bins.globe import rms_chord_km
from mascot.kernels.constants import SCALE
from mascot.kernels.reference import normalized
from mascot.methods.mmr import Mmr
from mascot.probe import COLLAPSE, STEADY, Probe, Step, probe, verdict


@pytest.fixture(scope="module")
def scattered() -> mc.Candidates:
    """Twelve good matches all over the world, and sixty poor ones of a single street."""
    street = np.random.default_rng(0).normal(0, 0.01, (2, 60))
    return mc.Candidates(
        scores=np.concatenate([np.linspace(1, 0.8, 12), np.linspace(0.3, 0, 60)]),
        columns={
            "lat": np.concatenate([np.linspace(-40, 60, 12), 10 + street[0]]),
            "lon": np.concatenate([np.linspace(-170, 150, 12), 100 + street[1]]),
            "taken": np.linspace(0, 23.9, 72),
        },
    )


WHERE = mc.Place.grid(sigma=10)


def test_the_published_method_stands_one_step_from_collapse(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(WHERE), mc.Mascot.paper(0.3))
    assert found.kept > 0.95
    assert found.verdict == "collapses"
    verdicts = {(step.knob, step.stepped): step.verdict for step in found.steps}
    assert verdicts["place.sigma", 15.0] == "collapses"
    assert verdicts["place.cells", 25] == "collapses"
    assert verdicts["strength", 0.4] == "drifts"
    assert verdicts["strength", 0.2] == "steady"


@pytest.mark.parametrize("strength", [0.3, 0.5, 0.9])
def test_the_guarded_method_does_not(scattered: mc.Candidates, strength: float) -> None:
    found = probe(scattered, mc.focus(WHERE), mc.Mascot(strength))
    assert found.verdict == "steady"
    assert min(step.survives for step in found.steps) > STEADY


def test_every_knob_is_stepped_down_and_up(scattered: mc.Candidates) -> None:
    hour = mc.HourOfDay("taken", sigma=1.5)
    found = probe(scattered, [mc.focus(WHERE), mc.spread(hour)], mc.Mascot(0.5))
    assert [(step.knob, step.value, step.stepped) for step in found.steps] == [
        ("strength", 0.5, 0.4),
        ("strength", 0.5, 0.6),
        ("place.cells", 20, 15),
        ("place.cells", 20, 25),
        ("place.sigma", 10, pytest.approx(10 / 1.5)),
        ("place.sigma", 10, 15),
        ("hour.sigma", 1.5, 1.0),
        ("hour.sigma", 1.5, 2.25),
    ]
    assert found.skipped == ()


def test_a_step_is_the_rerank_with_that_value(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(WHERE), mc.Mascot.paper(0.3), k=7)
    ideal = np.sort(normalized(scattered.scores))[::-1][:7].sum()

    def share(sigma: float) -> float:
        wishes = mc.focus(mc.Place.grid(sigma=sigma))
        return float(mc.rerank(scattered, wishes, 7, mc.Mascot.paper(0.3)).relevance.sum() / ideal)

    assert found.k == 7
    assert found.kept == pytest.approx(share(10))
    wider = next(step for step in found.steps if step.knob == "place.sigma" and step.stepped > 10)
    assert wider.kept == pytest.approx(share(15))
    assert wider.survives == pytest.approx(share(15) / share(10))


def test_strength_stops_at_its_ends(scattered: mc.Candidates) -> None:
    def stepped(strength: float) -> list[float]:
        found = probe(scattered, mc.focus(WHERE), mc.Mascot(strength))
        assert found.skipped == ()
        return [step.stepped for step in found.steps if step.knob == "strength"]

    assert stepped(1.0) == [0.9]
    assert stepped(0.0) == [0.1]
    assert stepped(0.95) == [0.85, 1.0]


def test_an_open_strength_is_left_to_the_method(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(WHERE), mc.Mascot(keep=0.9))
    assert found.skipped == ("strength is left open",)
    assert "strength" not in {step.knob for step in found.steps}
    assert found.verdict == "steady"


def test_open_widths_are_stepped_from_the_width_they_take(scattered: mc.Candidates) -> None:
    wishes = [mc.focus(mc.Place()), mc.spread(mc.Number("taken")), mc.spread(mc.Cycle("taken", 24))]
    found = probe(scattered, wishes)
    values = {step.knob: step.value for step in found.steps}
    lat, lon = (np.radians(scattered.columns[name]) for name in ("lat", "lon"))
    assert values["place.sigma_km"] == pytest.approx(rms_chord_km(lat, lon) / SCALE)
    assert values["taken.sigma"] == pytest.approx(np.sqrt(2) * scattered.columns["taken"].std() / SCALE)
    assert values["taken 2.sigma"] == 1.5


def test_a_date_has_its_width_in_days() -> None:
    days = [f"2024-01-{day:02d}" for day in range(1, 21)]
    found = probe(mc.Candidates(scores=np.linspace(1, 0, 20), columns={"taken": days}), mc.spread(mc.Date()))
    assert {step.knob for step in found.steps} == {"strength", "date.sigma_days"}


def test_dropped_candidates_shape_neither_the_width_nor_the_best_possible() -> None:
    hours = mc.Candidates(scores=[9.0, 1.0, 0.9, 0.8, 0.0], columns={"h": [None, 1.0, 2.0, 3.0, 4.0]})
    known = mc.Candidates(scores=[1.0, 0.9, 0.8, 0.0], columns={"h": [1.0, 2.0, 3.0, 4.0]})
    wish = mc.spread(mc.Number("h", missing="drop"))
    assert probe(hours, wish, k=2) == probe(known, wish, k=2)


def test_what_one_attribute_drops_shapes_no_other_width() -> None:
    columns = {"h": [1.0, 2.0, 3.0, 4.0], "far": [0.0, 1.0, 2.0, 1000.0]}
    wishes = [mc.spread(mc.Number("far")), mc.spread(mc.Category("camera", missing="drop"))]

    def width(rows: slice, cameras: list[str | None]) -> float:
        kept = {name: values[rows] for name, values in columns.items()} | {"camera": cameras}
        found = probe(mc.Candidates(scores=[4.0, 3.0, 2.0, 1.0][rows], columns=kept), wishes, k=2)
        return next(step.value for step in found.steps if step.knob == "far.sigma")

    assert width(slice(4), ["a", "b", "c", None]) == width(slice(3), ["a", "b", "c"])


def test_everything_dropped_is_nothing_lost() -> None:
    nothing = mc.Candidates(scores=[1.0, 0.5], columns={"h": [None, None]})
    found = probe(nothing, mc.spread(mc.Number("h", missing="drop")))
    assert (found.k, found.kept, found.verdict) == (0, 1.0, "steady")


def test_a_value_that_the_knob_refuses_is_noted(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(mc.Place.grid(cells=4)))
    assert found.skipped == ("place.cells 4 to -1: Place.grid.cells must be a whole number >= 2, got -1",)
    assert [step.stepped for step in found.steps if step.knob == "place.cells"] == [9]


def test_the_same_attribute_twice_is_told_apart(scattered: mc.Candidates) -> None:
    found = probe(scattered, [mc.spread(mc.Number("lat")), mc.focus(mc.Number("lat"))])
    assert {step.knob for step in found.steps} == {"strength", "lat.sigma", "lat 2.sigma"}


def test_labels_and_other_methods_have_what_knobs_they_have(scattered: mc.Candidates) -> None:
    columns = {"camera": ["a", "b", "c"] * 24}
    cameras = mc.Candidates(scores=scattered.scores, columns=columns)
    found = probe(cameras, mc.spread(mc.Category("camera")), Mmr(0.5))
    assert [(step.knob, step.stepped) for step in found.steps] == [("strength", 0.4), ("strength", 0.6)]


class Halves:
    """A user's attribute that is no dataclass: nothing to step."""

    name = "halves"

    def membership(self, columns: Any, vectors: Any) -> Any:
        north = columns["lat"] > 0
        return np.stack([north, ~north], axis=1).astype(float)

    def features(self, columns: Any, vectors: Any) -> Any:
        return self.membership(columns, vectors)


@dataclass(frozen=True)
class Blurred(Halves):
    """A user's attribute with a width."""

    sigma: float = 0.3

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.minimum(super().membership(columns, vectors) + self.sigma, 1.0)


def test_user_attributes_are_stepped_by_their_fields(scattered: mc.Candidates) -> None:
    assert {step.knob for step in probe(scattered, mc.spread(Halves())).steps} == {"strength"}
    stepped = [step.stepped for step in probe(scattered, mc.spread(Blurred())).steps if step.knob == "halves.sigma"]
    assert stepped == [pytest.approx(0.2), pytest.approx(0.45)]


@pytest.mark.parametrize(
    ("share", "word"),
    [
        (1.2, "steady"),
        (STEADY, "steady"),
        (0.89, "drifts"),
        (COLLAPSE, "drifts"),
        (0.49, "collapses"),
        (0, "collapses"),
    ],
)
def test_verdicts(share: float, word: str) -> None:
    assert verdict(share) == word
    assert Step("strength", 0.5, 0.6, share, share).verdict == word


def test_the_worst_step_decides_unless_all_is_lost_already() -> None:
    steps = (Step("a", 1, 2, 0.9, 1.0), Step("b", 1, 2, 0.7, 0.8))
    assert Probe(10, 0.9, steps).worst == steps[1]
    assert Probe(10, 0.9, steps).verdict == "drifts"
    assert Probe(10, 0.4, steps).verdict == "collapses"
    assert Probe(10, 0.9, ()).verdict == "steady"
    assert Probe(10, 0.9, ()).worst is None


def test_it_prints_as_a_table_and_travels_as_data(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(mc.Place.grid(cells=4)), mc.Mascot.paper(0.3))
    lines = str(found).splitlines()
    assert lines[0].split() == ["knob", "from", "to", "kept", "survives", "verdict"]
    assert len(lines) == 1 + len(found.steps) + len(found.skipped) + 2
    for line, step in zip(lines[1:], found.steps, strict=False):
        assert line.startswith(step.knob)
        assert line.endswith(step.verdict)
    assert lines[-1].startswith(f"verdict: {found.verdict} (steady: 90% survives a step; collapses: below 50%)")
    told = json.loads(json.dumps(found.to_dict()))
    assert told["verdict"] == found.verdict
    assert [step["verdict"] for step in told["steps"]] == [step.verdict for step in found.steps]
    assert told["steps"][0]["survives"] == found.steps[0].survives
    assert told["skipped"] == list(found.skipped)


def test_it_is_frozen(scattered: mc.Candidates) -> None:
    found = probe(scattered, mc.focus(WHERE))
    with pytest.raises(FrozenInstanceError):
        found.kept = 1.0  # type: ignore[misc]


def test_wrong_input_is_refused_as_by_rerank(scattered: mc.Candidates) -> None:
    with pytest.raises(mc.OptionError, match="k must be a whole number >= 1, got 0"):
        probe(scattered, mc.focus(WHERE), k=0)
    with pytest.raises(mc.OptionError, match="wishes must be spread"):
        probe(scattered, [WHERE])  # type: ignore[list-item]
