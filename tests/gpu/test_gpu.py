"""Arrays through `backend="gpu"`: on a machine with a GPU, `python -m pytest tests/gpu -m gpu`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from worlds import CASES, QUOTAS, ragged, world

import mascot as mc
from mascot.errors import MissingExtra
from mascot.kernels.gpu import cupy, launch
from mascot.kernels.gpu.plan import Chip
from test_exactness import assert_same


def _ready() -> bool:
    try:
        cupy()
    except MissingExtra:
        return False
    return True


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _ready(), reason="needs an NVIDIA GPU and the extra gpu")]

MORE: dict[str, list[Any]] = {
    "weights and lines": [mc.spread(mc.Number("number"), 3.0), mc.focus(mc.DayOfYear("date"), 0.25)],
    "near": [mc.focus(mc.Place(), near=(35.7, 139.7)), mc.focus(mc.HourOfDay("hour"), near=18)],
    "near on the grid": [mc.focus(mc.Place.grid(missing="neutral"), near=(35.7, 139.7)), mc.spread("who")],
    "neutral": [mc.focus(mc.Place.grid(missing="neutral")), mc.spread(mc.HourOfDay("hour", missing="neutral"))],
    "dropped": [mc.focus(mc.Place(missing="drop")), mc.focus(mc.Category("who"))],
    "wide bumps": [mc.spread(mc.Place.grid(cells=31, sigma=60)), mc.focus(mc.HourOfDay("hour", bins=48, sigma=9))],
    "nothing": [],
}
METHODS = {
    "guarded": mc.Mascot(), "paper": mc.Mascot.paper(0.4), "keep": mc.Mascot(keep=0.9),
    "wishes only": mc.Mascot(1.0, protect=50, order="selection"),
}  # fmt: skip


@pytest.mark.parametrize("asked", [*CASES.values(), *QUOTAS.values(), *MORE.values()], ids=[*CASES, *QUOTAS, *MORE])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_batch_is_selected_alike(asked: list[Any], method: mc.Mascot) -> None:
    pools = [ragged(seed) for seed in range(40)]
    if not {"number", "date"} & {getattr(wish.attribute, "column", "") for wish in asked}:
        for seed in range(5):
            whole = world(200, seed)
            more = {"number": np.zeros(200), "date": np.full(200, np.datetime64("2020-01-01"))}
            pools.append(mc.Candidates(whole.scores, columns={**whole.columns, **more}))
    already = [list(range(min(len(pool) - 1, q % 7))) for q, pool in enumerate(pools)]
    many = mc.rerank_many(pools, asked, 20, method, already=already, backend="gpu")
    references = mc.rerank_many(pools, asked, 20, method, already=already, backend="numpy")
    for ranking, reference in zip(many, references, strict=True):
        assert_same(reference, ranking)


@pytest.mark.parametrize(
    "asked", [CASES["grid, mixed"], CASES["globe"], QUOTAS["limit"]], ids=["grid", "globe", "limit"]
)
def test_the_largest_problems_are_selected_alike(asked: list[Any]) -> None:
    pools = [world(2048, seed) for seed in range(2)]
    for pool, ranking in zip(pools, mc.rerank_many(pools, asked, 256, backend="gpu"), strict=True):
        assert ranking.ids == mc.rerank(pool, asked, 256, backend="numpy").ids


@pytest.mark.parametrize("kibibytes", [64, 99, 163])  # T4, Ada, A100
def test_devices_with_less_shared_memory_select_alike(kibibytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "chip", lambda device: Chip(kibibytes * 1024, (kibibytes + 1) * 1024))
    pools, asked = [world(n, seed) for n in (200, 600, 1500) for seed in range(3)], CASES["globe"]
    for pool in pools:
        assert mc.rerank_many([pool], asked, backend="gpu")[0].ids == mc.rerank(pool, asked, backend="numpy").ids


@pytest.mark.parametrize("asked", [CASES["grid, mixed"], CASES["globe"]], ids=["grid", "globe"])
def test_arrays_stream_through_in_chunks(asked: list[Any]) -> None:
    pools = [world(50, seed) for seed in range(20)]
    columns = {name: np.stack([p.columns[name] for p in pools] * 1100) for name in ("lat", "lon", "hour")}
    batch = mc.Batch(np.stack([p.scores for p in pools] * 1100), columns)
    many = mc.rerank_many(batch, asked, 10, backend="gpu")
    references = [mc.rerank(p, asked, 10, backend="numpy")._selection.ranked[0] for p in pools]
    assert np.array_equal(many.positions, np.stack(references * 1100))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_tensors_stay_in_their_library(library: str) -> None:
    from mascot.gpu import DeviceBatch

    on = cupy().asarray
    if library == "torch":
        torch = pytest.importorskip("torch")
        on = lambda array: torch.from_dlpack(cupy().asarray(array))  # noqa: E731
    pools = [world(200, seed) for seed in range(4)]
    columns = {name: on(np.stack([p.columns[name] for p in pools])) for name in ("lat", "lon", "hour", "who")}
    scores = on(np.stack([p.scores for p in pools]))
    for asked in (CASES["grid, focus"], CASES["globe"], [mc.spread("who"), mc.focus(mc.Number("lat"))]):
        batch: Any = DeviceBatch(scores, columns)
        ranked = mc.rerank_many(batch, asked, 20, backend="gpu")
        assert type(ranked.positions) is type(scores)
        for q, pool in enumerate(pools):
            reference = mc.rerank(pool, asked, 20, backend="numpy")
            assert ranked.positions[q].tolist() == reference._selection.ranked[0].tolist()
