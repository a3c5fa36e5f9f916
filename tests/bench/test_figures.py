"""Figures: each is drawn as PDF and PNG with the panels it should have, and leaves matplotlib as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot.bench.datasets.dataset import Dataset, Split
from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.protocol.published import Published
from mascot.bench.report import figures
from mascot.bench.report.figures import parameter_figures, relevance_figures, style
from mascot.bench.report.run_results import RunResults, collect
from mascot.cli.bench_commands import bench
from mascot.errors import InputError
from tests.bench import synthetic_records as synthetic

matplotlib = pytest.importorskip("matplotlib")

PAPER = Published("pixelprose-sim")
STEMS = {
    "recall-published", "recall-validated", "tradeoff-published", "tradeoff-validated", "sensitivity-mascot",
    "strength-diversity", "strength-recall", "front", "protect-guarded", "runtime", "qualitative",
}  # fmt: skip


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    labels = ("base", "mmr", "ms-dpp", "prob-coverage", "mascot", "guarded")
    return [record for record in synthetic.records(seeds=(0,), queries=12) if record["label"] in labels]


@pytest.fixture(scope="module")
def results(everything: list[dict[str, Any]]) -> RunResults:
    (results,) = collect([record for record in everything if record["task"] == "geo_hour"])
    return results


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> dict[Path, Any]:
    """Figures by their path, which are not rendered: that takes a second each."""
    saved: dict[Path, Any] = {}

    def save(figure: Any, out: Path, name: str) -> list[Path]:
        saved[out / f"{name}.png"] = figure
        return [out / f"{name}.png"]

    monkeypatch.setattr(style, "save", save)
    return saved


def dataset() -> Dataset:
    """Two queries over places and times."""
    images, rng = 60, np.random.default_rng(0)
    lists = [rng.permutation(images)[:40].tolist() for _ in range(2)]
    return Dataset(
        name="tiny",
        columns={
            "lat": rng.uniform(-50, 65, images),
            "lon": rng.uniform(-170, 170, images),
            "taken": np.datetime64("2020-01-01", "s") + rng.integers(0, 86400, images).astype("timedelta64[s]"),
            "city": np.array([f"city {i}" for i in range(images)]),
        },
        positives=[[lists[0][3]], [lists[1][0]]],
        splits={"test": Split(np.arange(images), np.arange(2))},
        lists=lists,
        scores=np.tile(np.linspace(0.5, 0.3, 40), (2, 1)),
    )


def legend_of(figure: Any) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.slow
def test_all_are_drawn_and_none_is_empty(everything: list[dict[str, Any]], tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    folder = synthetic.save(everything, tmp_path / "results")
    drawn = figures.draw(folder, tmp_path / "figures", dataset())
    assert {path.name for path in drawn.files} == {f"{name}.{kind}" for name in STEMS for kind in ("pdf", "png")}
    for path in drawn.files:
        content = path.read_bytes()
        assert content.startswith(b"%PDF" if path.suffix == ".pdf" else b"\x89PNG")
        assert len(content) > 5_000
    assert drawn.notes == ()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("builder", "panels"),
    [
        (relevance_figures.recall, [2, 2]),
        (relevance_figures.tradeoff, [2, 2]),
        (parameter_figures.sensitivity, [8]),
        (parameter_figures.strength, [2, 2]),
        (parameter_figures.front, [2]),
        (parameter_figures.protection, [6]),
        (parameter_figures.runtime, [1]),
    ],
)
def test_panels(builder: Any, panels: list[int], results: RunResults) -> None:
    with style.drawing():
        drawn = dict(builder(results, PAPER))
    assert set(drawn) <= STEMS
    assert [len(figure.axes) for figure in drawn.values()] == panels
    for figure in drawn.values():
        assert all(legend_of(figure))
        assert all(ax.lines or ax.containers for ax in figure.axes)
    if builder is relevance_figures.tradeoff:  # published points are hollow
        row = PAPER.row("geo_hour", "focus", "ms-dpp")
        hollow = [line for line in drawn["tradeoff-published"].axes[1].lines if line.get_markerfacecolor() == "none"]
        assert (row["r@10"], row["dm"]) in [(line.get_xdata()[0], line.get_ydata()[0]) for line in hollow]


def test_curves_are_means_and_bands_are_extremes() -> None:
    curves = np.array([[0.6, 0.7, 0.8, 0.9, 0.95], [0.5, 0.65, 0.8, 0.88, 0.97]])
    records = [synthetic.record(seed, 8) for seed in (0, 1)]
    for record, curve in zip(records, curves, strict=True):
        record["summary"] |= {f"r@{k}": height for k, height in zip((1, 3, 5, 10, 20), curve, strict=True)}
    (results,) = collect(records)
    with style.drawing():
        _, figure = next(relevance_figures.recall(results, PAPER))
    (ax,) = figure.axes
    line, paper = ax.lines
    np.testing.assert_allclose(line.get_ydata(), curves.mean(axis=0))
    np.testing.assert_allclose(paper.get_ydata(), list(PAPER.recall("geo_hour", "focus", "mascot").values()))
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.round(6).tolist()}
    assert {(1, 0.6), (1, 0.5), (10, 0.9), (10, 0.88), (20, 0.95), (20, 0.97)} <= corners


def test_recall_is_drawn_at_every_k_where_the_records_have_ranks() -> None:
    record = synthetic.record(0, 8, label="base", point="default")
    record["per_query"]["found_at"] = [1, 1, 2, 4, 7, 11, 20, 0]
    (results,) = collect([record])
    with style.drawing():
        _, figure = next(relevance_figures.recall(results, Published("mine")))
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == list(range(1, 21))
    assert line.get_ydata()[3] == 0.5  # R@4


def test_missing_studies_are_noted_and_files_hold_no_date(tmp_path: Path) -> None:
    folder = synthetic.save([synthetic.record(0, 4, study="runtime", seconds=0.1)], tmp_path / "results")
    drawn = figures.draw(folder, tmp_path / "figures")
    assert [path.name for path in drawn.files] == ["runtime.pdf", "runtime.png"]
    assert b"CreationDate" not in drawn.files[0].read_bytes()
    assert {note for _, note in drawn.notes} >= {
        "no recall curves: these results lack its study (main)",
        "no qualitative figure: it needs the dataset itself (--data)",
    }


def test_datasets_have_a_folder_each_and_judged_data_a_figure(tmp_path: Path, unsaved: dict[Path, Any]) -> None:
    records = [synthetic.record(0, 4, study="runtime", seconds=0.1)]
    for label in ("base", "mmr", "pyversity-msd", "guarded"):
        record = synthetic.record(0, 8, label=label, task="photographer", direction="spread", point="default")
        record["summary"] |= {"p@20": 0.8, "cr@20": 0.4 + 0.01 * len(label), "f1@20": 0.5}
        records.append(record | {"dataset": "div400"})
    figures.draw(synthetic.save(records, tmp_path / "results"), tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in unsaved} == {
        "pixelprose-sim/runtime.png", "div400/recall.png", "div400/tradeoff.png", "div400/judged.png",
    }  # fmt: skip
    assert "equal HM of the means" in legend_of(unsaved[tmp_path / "div400" / "judged.png"])


def test_one_query_has_a_list_a_map_and_a_clock_for_each_way() -> None:
    figure = figures.of_query(dataset())
    assert len(figure.axes) == 9
    assert [ax.name for ax in figure.axes[2::3]] == ["polar"] * 3
    assert [figure.axes[i].get_title(loc="left") for i in (0, 3, 6)] == ["Plain", "Spread", "Focus"]
    # Unless one is named, the query is the first whose best candidate is right: here the second.
    assert "right" in figure.axes[0].texts[1].get_text()
    pictured = figures.of_query(dataset(), picture=lambda row: np.full((30, 40, 3), row * 4, dtype=np.uint8))
    assert len(pictured.axes[0].images) == 3


def test_candidates_without_a_place_or_a_time_are_not_drawn() -> None:
    columns = dict(dataset().columns)
    gaps = columns | {"lat": np.where(np.arange(60) % 2, np.nan, columns["lat"])}
    figure = figures.of_query(replace(dataset(), columns=gaps))
    assert all(np.isfinite(line.get_ydata()).all() for line in figure.axes[1].lines)
    with pytest.raises(InputError, match="must have 2 candidates with a place and a time, got 0"):
        figures.of_query(replace(dataset(), columns=columns | {"lat": np.full(60, np.nan)}))


@pytest.mark.parametrize("place", [True, False])
def test_a_file_can_be_drawn_where_its_columns_suit(place: bool, tmp_path: Path, unsaved: dict[Path, Any]) -> None:
    rng = np.random.default_rng(0)
    columns = {"column:taken": rng.uniform(0, 24, 30)}
    columns |= {"column:lat": rng.uniform(-60, 60, 30), "column:lon": rng.uniform(-170, 170, 30)} if place else {}
    np.savez(tmp_path / "mine.npz", scores=rng.random((6, 30)), positives=np.arange(6), **columns)
    folder = synthetic.save([synthetic.record(0, 4, study="runtime", seconds=0.1)], tmp_path / "results")
    words = ["figures", str(folder), "--out", str(tmp_path), "--data", str(tmp_path / "mine.npz"), "--methods"]
    done = CliRunner().invoke(bench, [*words, "base,ms-dpp,mascot"])
    assert done.exit_code == 0, done.output
    if place:
        names = ["Base", "MS-DPP, spread", "MASCOT, spread", "MS-DPP, focus", "MASCOT, focus"]
        assert [ax.get_title(loc="left") for ax in unsaved[tmp_path / "qualitative.png"].axes[::3]] == names
    else:
        assert "mine: no qualitative figure: it needs a column lat and lon" in done.output


def test_pictures_of_a_prepared_folder(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "images").mkdir()
    for number in range(3):
        image.new("RGB", (40, 20), (80 * number, 0, 0)).save(tmp_path / "images" / f"{number}.png")
    columns = {"id": ["a", "b", "c"], "file": [f"images/{number}.png" for number in range(3)]}
    write_folder(tmp_path, "tiny", columns, 1, [Query("red", (2,))], {})
    picture = figures.pictures(tmp_path, side=10)
    assert picture(2).shape == (5, 10, 3)
    assert picture(2)[0, 0].tolist() == [160, 0, 0]
    (tmp_path / "images" / "1.png").unlink()
    with pytest.raises(InputError, match=r"1\.png gives no picture .*mascot bench prepare"):
        picture(1)
