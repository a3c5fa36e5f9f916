"""On a machine with a GPU: `python -m pytest tests/gpu -m gpu`. Every backend selects what the reference selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_emulation import CASES, world

import mascot as mc
from mascot.errors import MissingExtra
from mascot.kernels import gpu

cp = pytest.importorskip("cupy", reason="needs the extra gpu: pip install 'mascot[gpu]'")


def _ready() -> bool:
    try:
        gpu.cupy()
    except MissingExtra:
        return False
    return True


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _ready(), reason="needs an NVIDIA GPU")]

MORE = {
    "weights and lines": [mc.spread(mc.Number("number"), 3.0), mc.focus(mc.DayOfYear("date"), 0.25)],
    "near": [mc.focus(mc.Place(), near=(35.7, 139.7)), mc.focus(mc.HourOfDay("hour"), near=18)],
    "near on the grid": [mc.focus(mc.Place.grid(missing="neutral"), near=(35.7, 139.7)), mc.spread(mc.Category("who"))],
    "neutral": [mc.focus(mc.Place.grid(missing="neutral")), mc.spread(mc.HourOfDay("hour", missing="neutral"))],
    "dropped": [mc.focus(mc.Place(missing="drop")), mc.focus(mc.Category("who"))],
    "wide bumps": [mc.spread(mc.Place.grid(cells=31, sigma=60)), mc.focus(mc.HourOfDay("hour", bins=48, sigma=9))],
    "nothing": [],
}


def ragged(seed: int) -> mc.Candidates:
    """Few distinct values, ties and gaps."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    lat = rng.choice([-90.0, -47.3, 0.0, 10.0, 35.7, 35.70001, 90.0, np.nan], n)
    columns: dict[str, Any] = {
        "lat": lat,
        "lon": rng.choice([-180.0, -20.0, 0.0, 20.0, 139.7, 179.9, 360.0], n),
        "hour": rng.choice([0.0, 1.5, 12.0, 12.25, 23.75, np.nan], n),
        "number": rng.choice([-1e6, -1.0, 0.0, 1.0, 1e6, np.nan], n),
        "date": rng.choice(np.array(["2019-12-31", "2020-02-29", "2021-06-01"], "datetime64[D]"), n),
        "who": rng.integers(0, 9, n),
    }
    return mc.Candidates(scores=rng.choice([0.1, 0.2, 0.3, 0.30000001, 0.9], n), columns=columns)


@pytest.mark.parametrize("asked", [*CASES.values(), *MORE.values()], ids=[*CASES, *MORE])
@pytest.mark.parametrize(
    "method",
    [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9), mc.Mascot(1.0, protect=50, order="selection")],
    ids=["guarded", "paper", "keep", "wishes only"],
)
def test_a_batch_is_selected_alike(asked: list[mc.Wish], method: mc.Mascot) -> None:
    found = [ragged(seed) for seed in range(40)]
    if not {"number", "date"} & {getattr(wish.attribute, "column", "") for wish in asked}:
        for seed in range(5):
            whole = world(200, seed)
            more = {"number": np.zeros(200), "date": np.full(200, np.datetime64("2020-01-01"))}
            found.append(mc.Candidates(whole.scores, columns={**whole.columns, **more}))
    already = [list(range(min(len(one) - 1, q % 7))) for q, one in enumerate(found)]
    many = mc.rerank_many(found, asked, 20, method, already=already, backend="gpu")
    for one, shown, ranking in zip(found, already, many, strict=True):
        law = mc.rerank(one, asked, 20, method, already=shown, backend="numpy")
        assert ranking.ids == law.ids
        assert ranking._selection.positions.tolist() == law._selection.positions.tolist()
        assert ranking.strength == law.strength


@pytest.mark.parametrize("asked", [CASES["grid, mixed"], CASES["globe"]], ids=["grid", "globe"])
def test_the_largest_problems_are_selected_alike(asked: list[mc.Wish]) -> None:
    found = [world(2048, seed) for seed in range(2)]
    for one, ranking in zip(found, mc.rerank_many(found, asked, 256, backend="gpu"), strict=True):
        assert ranking.ids == mc.rerank(one, asked, 256, backend="numpy").ids


def test_arrays_stream_through_in_chunks() -> None:
    pools = [world(50, seed) for seed in range(20)]
    columns = {name: np.stack([p.columns[name] for p in pools] * 500) for name in ("lat", "lon", "hour")}
    batch = mc.Batch(scores=np.stack([p.scores for p in pools] * 500), columns=columns)
    asked = CASES["grid, mixed"]
    many = mc.rerank_many(batch, asked, 10, backend="gpu")
    law = [mc.rerank(p, asked, 10, backend="numpy")._selection.shown for p in pools]
    assert np.array_equal(many.positions, np.stack(law * 500))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_tensors_stay_where_they_are(library: str) -> None:
    on = cp.asarray
    if library == "torch":
        torch = pytest.importorskip("torch")
        on = lambda array: torch.from_dlpack(cp.asarray(array))  # noqa: E731
    from mascot.gpu import DeviceBatch

    pools = [world(200, seed) for seed in range(4)]
    columns = {name: on(np.stack([p.columns[name] for p in pools])) for name in ("lat", "lon", "hour", "who")}
    scores = on(np.stack([p.scores for p in pools]))
    for asked in (CASES["grid, focus"], CASES["globe"], [mc.spread(mc.Category("who")), mc.focus(mc.Number("lat"))]):
        ranked = mc.rerank_many(DeviceBatch(scores, columns), asked, 20, backend="gpu")
        assert type(ranked.positions) is type(scores)
        for q, one in enumerate(pools):
            law = mc.rerank(one, asked, 20, backend="numpy")
            assert ranked.positions[q].tolist() == law._selection.shown.tolist()
    table = {name: np.concatenate([p.columns[name] for p in pools]) for name in ("lat", "lon", "hour")}
    ranker = mc.Reranker([mc.focus(mc.Place(), near=(35.7, 139.7)), mc.spread(mc.HourOfDay("hour"))]).fit(table)
    rows = np.arange(800).reshape(4, 200)
    ranked = ranker.rerank_many(on(rows), scores, 20, backend="gpu")
    law = ranker.rerank_many(rows, np.stack([p.scores for p in pools]), 20, backend="numpy")
    assert np.array_equal(np.array(ranked.positions.tolist()), law.positions)
