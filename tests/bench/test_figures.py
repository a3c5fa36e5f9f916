"""Figures: each is drawn as PDF and PNG with the panels it should have, and leaves matplotlib as it was."""

from __future__ import annotations

import builtins
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic_records as synthetic

import mascot as mc
from mascot.bench import figures
from mascot.bench.averages import collect
from mascot.bench.datasets.dataset import Dataset, Lists, Ragged, Split
from mascot.bench.figures import control, relevance, runtime, style
from mascot.bench.naming import METHODS
from mascot.bench.published import Published
from mascot.errors import InputError, MissingExtra

matplotlib = pytest.importorskip("matplotlib")

PAPER = Published("pixelprose-sim")
DRAWN = {
    "recall-published",
    "recall-validated",
    "tradeoff-published",
    "tradeoff-validated",
    "sensitivity-mascot",
    "strength-diversity",
    "strength-recall",
    "front",
    "protect-guarded",
    "runtime",
}


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    return synthetic.records(seeds=(0, 1), queries=12)


def dataset(images: int = 60) -> Dataset:
    """Two queries over places and times."""
    rng = np.random.default_rng(0)
    lists = [rng.permutation(images)[:40].tolist() for _ in range(2)]
    return Dataset(
        name="tiny",
        columns={
            "lat": rng.uniform(-50, 65, images),
            "lon": rng.uniform(-170, 170, images),
            "taken": np.datetime64("2020-01-01", "s") + rng.integers(0, 86400, images).astype("timedelta64[s]"),
            "city": np.array([f"city {i}" for i in range(images)]),
        },
        positives=Ragged.of([[lists[0][3]], [lists[1][0]]]),
        splits={"test": Split(np.arange(images), np.arange(2))},
        lists=Lists(Ragged.of(lists), np.tile(np.linspace(0.5, 0.3, 40), 2)),
    )


@pytest.mark.slow
def test_all_are_drawn_and_none_is_empty(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    folder = synthetic.save([r for r in everything if r["seed"] == 0], tmp_path / "results")
    drawn = figures.draw(folder, tmp_path / "figures", dataset(), caption="city")
    assert {path.name for path in drawn.files} == {
        f"{name}.{kind}" for name in (*DRAWN, "qualitative") for kind in ("pdf", "png")
    }
    for path in drawn.files:
        data = path.read_bytes()
        assert data.startswith(b"%PDF" if path.suffix == ".pdf" else b"\x89PNG")
        assert len(data) > 5_000
        if path.suffix == ".png":
            width, height = struct.unpack(">II", data[16:24])
            assert 600 <= width <= 1400  # a column or a page at 200 dpi
            assert height >= 300
    assert drawn.notes == (
        ("pixelprose-sim", "no clusters found: these results lack its study (main with judged images)"),
    )
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("builder", "panels"),
    [
        (relevance.recall, [6, 6]),
        (relevance.tradeoff, [6, 6]),
        (control.sensitivity, [8]),
        (control.strength, [6, 6]),
        (control.front, [6]),
        (control.protection, [6]),
        (runtime.runtime, [1]),
    ],
)
def test_panels(builder: Any, panels: list[int], everything: list[dict[str, Any]]) -> None:
    (results,) = collect(everything)
    with style.drawing():
        found = [figure for _, figure in builder(results, PAPER)]
        assert [len(figure.axes) for figure in found] == panels
        for figure in found:
            (legend,) = figure.legends
            assert all(text.get_text() for text in legend.get_texts())
            assert all(ax.lines or ax.containers for ax in figure.axes)


def test_curves_are_means_and_bands_are_extremes() -> None:
    curves = np.array([[0.6, 0.7, 0.8, 0.9, 0.95], [0.5, 0.65, 0.8, 0.88, 0.97]])
    found = [synthetic.record(seed, 8) for seed in (0, 1)]
    for record, curve in zip(found, curves, strict=True):
        record["summary"] |= {f"r@{k}": height for k, height in zip((1, 3, 5, 10, 20), curve, strict=True)}
    (results,) = collect(found)
    with style.drawing():
        _, figure = next(relevance.recall(results, PAPER))
    (ax,) = figure.axes
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_ydata(), curves.mean(axis=0))
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.round(6).tolist()}
    assert {(1, 0.6), (1, 0.5), (10, 0.9), (10, 0.88), (20, 0.95), (20, 0.97)} <= corners


def test_published_points_are_hollow(everything: list[dict[str, Any]]) -> None:
    (results,) = collect(everything)
    row = PAPER.row("geo_hour", "focus", "ms-dpp")
    assert row is not None
    with style.drawing():
        _, figure = next(relevance.tradeoff(results, PAPER))
        hollow = [line for line in figure.axes[3].lines if line.get_markerfacecolor() == "none"]
    assert (row["r@10"], row["dm"]) in [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow]


def test_a_method_has_one_colour_and_no_other_methods() -> None:
    colours = [style.method(label).colour for label in METHODS]
    assert len(set(colours)) == len(METHODS)
    assert style.method("ms-dpp released").colour == style.method("ms-dpp").colour
    assert style.method("pyversity-mmr") == style.method("pyversity-mmr")


def test_missing_studies_are_noted(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    some = [r for r in everything if r["study"] == "runtime"]
    drawn = figures.draw(synthetic.save(some, tmp_path / "results"), tmp_path / "figures")
    assert [path.name for path in drawn.files] == ["runtime.pdf", "runtime.png"]
    notes = [note for _, note in drawn.notes]
    assert "no recall curves: these results lack its study (main)" in notes
    assert "no protected results: these results lack its study (protect)" in notes
    assert "no qualitative figure: it needs the dataset itself" in notes


def test_other_tasks_and_judged_data(tmp_path: Path) -> None:
    found = []
    for label in ("base", "mmr", "pyversity-msd", "guarded"):
        made = synthetic.record(0, 8, label=label, task="photographer", direction="spread", point="default")
        made["dataset"] = "div400"
        made["summary"] |= {"p@20": 0.8, "cr@20": 0.4 + 0.01 * len(label)}
        found.append(made)
    drawn = figures.draw(synthetic.save(found, tmp_path / "results"), tmp_path / "figures")
    assert {path.stem for path in drawn.files} == {"recall", "tradeoff", "judged"}


def test_several_datasets_have_a_folder_each(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    some = [r for r in everything if r["study"] == "runtime"]
    both = some + [{**record, "dataset": "mine"} for record in some]
    drawn = figures.draw(synthetic.save(both, tmp_path / "results"), tmp_path / "figures")
    assert {path.parent.name for path in drawn.files} == {"mine", "pixelprose-sim"}


def test_equal_results_give_equal_files(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    folder = synthetic.save([r for r in everything if r["study"] == "runtime"], tmp_path / "results")
    first, again = (figures.draw(folder, tmp_path / name).files for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_one_query_has_a_list_a_map_and_a_clock_for_each_way() -> None:
    figure = figures.of_query(dataset())
    assert len(figure.axes) == 9
    assert [ax.name for ax in figure.axes[2::3]] == ["polar"] * 3
    assert [figure.axes[i].get_title(loc="left") for i in (0, 3, 6)] == ["Plain", "Spread", "Focus"]
    # Unless one is named, the query is the first whose best candidate is right: here the second.
    assert "right" in figure.axes[0].texts[1].get_text()


def test_one_query_with_pictures() -> None:
    figure = figures.of_query(dataset(), query=0, picture=lambda row: np.full((30, 40, 3), row * 4, dtype=np.uint8))
    assert len(figure.axes[0].images) == 3


def test_one_city_fills_the_map() -> None:
    rng = np.random.default_rng(1)
    found = mc.Candidates(
        scores=rng.random(30),
        columns={"lat": 51 + 0.1 * rng.random(30), "lon": 13.7 + 0.1 * rng.random(30), "taken": rng.uniform(0, 24, 30)},
    )
    figure = figures.qualitative(found, {"Plain": range(10), "Other": range(10, 20)})
    west, east = figure.axes[1].get_xlim()
    assert 0.1 < east - west < 0.5
    assert len(figure.axes) == 6


def test_a_caption_must_be_a_column() -> None:
    with pytest.raises(InputError, match=r"caption must be a column \(lat, lon, taken, city\), got 'country'"):
        figures.of_query(dataset(), caption="country")


def test_without_matplotlib_the_cure_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return usual(name, *args, **kwargs)

    folder = synthetic.save([synthetic.record(0, 4)], tmp_path / "results")
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"pip install 'mascot\[bench\]'"):
        figures.draw(folder, tmp_path / "figures")
