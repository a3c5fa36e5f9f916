"""The device ranks as the reference: numpy stands for it, or a GPU (`python -m pytest tests/gpu -m gpu`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.errors import MissingExtra
from mascot.gpu.device_batch import Csr, DeviceBatch
from mascot.kernels.gpu import cupy, launch
from mascot.kernels.gpu.plan import GpuMemory
from tests.gpu.emulation import Tensor, emulate_device
from tests.gpu.worlds import CASES, NAMED, QUOTAS, ragged, world
from tests.test_exactness import Own, assert_same


def on_gpu() -> Any:
    try:
        return cupy()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    return emulate_device(monkeypatch) if request.param == "emulated" else on_gpu()


@pytest.fixture(params=[pytest.param("gpu", marks=pytest.mark.gpu)])
def gpu() -> Any:
    return on_gpu()


def labelled(pool: mc.Candidates[int]) -> mc.Candidates[int]:
    """Return the candidates as the host has them: a missing label is None."""
    who = np.array([None if code < 0 else int(code) for code in pool.columns["who"]], object)
    return mc.Candidates(pool.scores, columns={**pool.columns, "who": who}, vectors=pool.vectors)


WHO, TAKEN, WHERE = mc.Category("who"), mc.HourOfDay("hour"), mc.Place()
ASKED: dict[str, tuple[list[Any], list[Any]]] = {
    "near": ([mc.focus(WHERE, near=(35.7, 139.7)), mc.focus(TAKEN, near="18:00", within=2)],) * 2,
    "near a label": ([mc.focus(WHO, 2.0, near=3), mc.spread(mc.Place.grid())],) * 2,
    "near what the host reads": ([mc.focus(mc.Weekday("day"), near="Sunday"), mc.spread(WHERE)],) * 2,
    "dropped and near": ([mc.focus(mc.Place(missing="drop"), near=(0.0, 0.0)), mc.focus(TAKEN)],) * 2,
    "neutral": ([mc.focus(mc.Place(missing="neutral")), mc.spread(mc.HourOfDay("hour", missing="neutral"), 3.0)],) * 2,
    "several labels": ([mc.spread(WHO), mc.focus(mc.Category("model"), 0.5), mc.focus(mc.Category("seed"))],) * 2,
    "pairs": ([mc.spread(mc.Category("tags")), mc.focus(TAKEN)], [mc.spread(Own()), mc.focus(TAKEN)]),
    "read on the host": ([mc.focus(Own()), mc.spread(mc.Clusters(3)), mc.spread(WHERE)],) * 2,
    "a cycle": ([mc.spread(mc.Cycle("number", 8.0)), mc.focus(mc.Cycle("hour", 24.0, bins=4, sigma=9.0))],) * 2,
    "limit": ([mc.spread(WHERE), mc.limit(WHO, 1)],) * 2,
    "share": ([mc.focus(TAKEN), mc.share(WHO, {1: 0.5, 2: 0.2})],) * 2,
    "limit, dropped": ([mc.spread(mc.Place(missing="drop")), mc.limit(WHO, 2, fill=True)],) * 2,
    "names": ([mc.focus(mc.HourOfDay("hour")), mc.focus(mc.Place(names="who"))],) * 2,
    "nothing": ([],) * 2,
    "days": (
        [mc.focus(mc.Weekday("day")), mc.focus(mc.Date("day", missing="neutral")), mc.limit(mc.Place(names="who"), 3)],
    )
    * 2,
}
METHODS = {"guarded": mc.Mascot(), "paper": mc.Mascot.paper(0.4), "keep": mc.Mascot(keep=0.9, bin_weight="query")}


@pytest.mark.parametrize("case", ASKED)
def test_tensors_take_every_option(device: Any, case: str) -> None:
    asked, asked_on_host = ASKED[case]
    method = list(METHODS.values())[list(ASKED).index(case) % 3]
    pools = [ragged(seed, 40) for seed in range(3)]
    names = [name for name, column in pools[0].columns.items() if column.dtype.kind in "if"]
    columns: dict[str, Any] = {name: device.asarray(np.stack([p.columns[name] for p in pools])) for name in names}
    table = Own().membership({"seed": np.concatenate([p.columns["seed"] for p in pools])}, None)
    rows, bins = np.nonzero(table)
    indptr = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    columns["tags"] = Csr(device.asarray(indptr), device.asarray(bins), device.asarray(table[rows, bins]))
    vectors = device.asarray(np.stack([p.vectors for p in pools]))
    batch: Any = DeviceBatch(device.asarray(np.stack([p.scores for p in pools])), columns, vectors)
    already: Any = [list(range(2 * q)) for q in range(len(pools))]
    first: Any = mc.rerank_many(batch, asked, 7, method, backend="gpu")
    listed = mc.rerank_many(batch, asked, 7, method, already=already, backend="gpu")
    second = mc.rerank_many(batch, asked, 7, method, already=first, backend="gpu")
    third = mc.rerank_many(batch, asked, 7, method, already=device.asarray(first.positions), backend="gpu")
    for q, pool in enumerate(pools):
        own = labelled(pool)
        page = mc.rerank(own, asked_on_host, 7, method, backend="numpy")
        assert _ids(first, q) == page.ids
        assert float(first.strengths[q]) == page.strength
        next_page = mc.rerank(own, asked_on_host, 7, method, already=page.ids, backend="numpy")
        assert _ids(second, q) == _ids(third, q) == next_page.ids
        assert _ids(listed, q) == mc.rerank(own, asked_on_host, 7, method, already=already[q], backend="numpy").ids


def test_several_rules_on_device_arrays_are_refused(device: Any) -> None:
    batch: Any = DeviceBatch(device.asarray(np.ones((1, 4))), {"who": device.asarray(np.arange(4)[None])})
    with pytest.raises(mc.OptionError, match="takes one limit or share on device arrays: use backend='native'"):
        mc.rerank_many(batch, [mc.limit("who", 1), mc.share("who", {"1": 0.5})], 2, backend="gpu")


def _ids(rankings: Any, q: int) -> list[int]:
    return [position for position in rankings.positions[q].tolist() if position >= 0]


@pytest.mark.parametrize("missing", ["last", "neutral", "drop"])
def test_rows_of_a_corpus_take_pages_limits_and_removals(device: Any, missing: Any) -> None:
    pools = [ragged(seed, 40) for seed in range(4)]
    table = {name: np.concatenate([p.columns[name] for p in pools]) for name in pools[0].columns}
    wishes = [
        mc.focus(mc.Place(missing=missing), near=(35.7, 139.7)), mc.spread(mc.HourOfDay("hour", missing=missing)),
        mc.share("who", {"3": 0.3}),
    ]  # fmt: skip
    ranker = mc.Reranker(wishes).fit(table)
    rng = np.random.default_rng(0)
    rows, scores = np.stack([rng.permutation(160)[:50] for _ in range(5)]), rng.random((5, 50))
    on: Any = Tensor if isinstance(device.asarray(rows), np.ndarray) else device.asarray
    for removed in ([], [int(rows[0, 0]), int(rows[1, 7])]):
        ranker.remove(removed)
        first: Any = ranker.rerank_many(on(rows), on(scores), 9, backend="gpu")
        reference = ranker.rerank_many(rows, scores, 9, backend="numpy")
        assert np.array_equal(first.positions.tolist(), reference.positions)
        shown = np.take_along_axis(rows, reference.positions, axis=1)
        page = ranker.rerank_many(rows, scores, 9, already=shown.tolist(), backend="numpy").positions
        for already in (first, device.asarray(shown)):
            second: Any = ranker.rerank_many(on(rows), on(scores), 9, already=already, backend="gpu")
            assert np.array_equal(second.positions.tolist(), page)


def test_two_batches_of_one_kind_keep_apart(device: Any) -> None:
    pools, asked = [world(200, seed) for seed in range(2)], CASES["grid, mixed"]
    names = ("lat", "lon", "hour")
    batches: list[Any] = [
        DeviceBatch(device.asarray(p.scores[None]), {n: device.asarray(p.columns[n][None]) for n in names})
        for p in pools
    ]
    references = [mc.rerank(p, asked, 20, backend="numpy").ids for p in pools]
    for _ in range(2):
        for batch, ids in zip(batches, references, strict=True):
            assert _ids(mc.rerank_many(batch, asked, 20, backend="gpu"), 0) == ids


def test_shapes_and_columns_are_checked(device: Any) -> None:
    with pytest.raises(mc.InputError, match=r"DeviceBatch.scores must be Q x N"):
        DeviceBatch(device.zeros(3))
    with pytest.raises(mc.InputError, match=r"columns\['hour'\] must be \(1, 3\) like scores, got \(1, 2\)"):
        DeviceBatch(device.zeros((1, 3)), {"hour": device.zeros((1, 2))})
    batch: Any = DeviceBatch(device.zeros((1, 3)), {"hour": device.zeros((1, 3))})
    with pytest.raises(mc.InputError, match="Place needs column 'lat', got columns: hour"):
        mc.rerank_many(batch, mc.spread(mc.Place()), 2, backend="gpu")
    with pytest.raises(mc.OptionError, match="must have the method Mascot"):
        mc.rerank_many(batch, mc.spread(TAKEN), 2, mc.Mmr(), backend="gpu")


# Arrays, on a GPU alone


@pytest.mark.parametrize("asked", [*CASES.values(), *QUOTAS.values(), *NAMED.values()], ids=[*CASES, *QUOTAS, *NAMED])
@pytest.mark.parametrize("method", [*METHODS.values(), mc.Mascot(0.9, starts=2)], ids=[*METHODS, "high"])
def test_a_batch_is_selected_alike(gpu: Any, asked: list[Any], method: mc.Mascot) -> None:
    columns = ("lat", "lon", "hour", "who", "home_lat", "home_lon", "price", "side", "tags", "date", "town")
    pools = [
        mc.Candidates(pool.scores, columns={name: pool.columns[name] for name in columns})
        for pool in (*map(ragged, range(40)), *(world(200, seed) for seed in range(5)))
    ]
    already = [list(range(min(len(pool) - 1, q % 7))) for q, pool in enumerate(pools)]
    many = mc.rerank_many(pools, asked, 20, method, already=already, backend="gpu")
    references = mc.rerank_many(pools, asked, 20, method, already=already, backend="numpy")
    for ranking, reference in zip(many, references, strict=True):
        assert_same(reference, ranking)


def test_the_largest_problems_and_less_shared_memory_select_alike(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = world(2048, 0)
    for asked in (CASES["grid, mixed"], CASES["globe"], QUOTAS["limit"]):
        (ranking,) = mc.rerank_many([largest], asked, 256, backend="gpu")
        assert ranking.ids == mc.rerank(largest, asked, 256, backend="numpy").ids
    asked = CASES["globe"]
    for kibibytes in (64, 99, 163):  # T4, Ada, A100
        monkeypatch.setattr(launch, "chip", lambda device, size=kibibytes: GpuMemory(size * 1024, (size + 1) * 1024))
        for pool in (world(200, 0), world(600, 1), world(1500, 2)):
            assert mc.rerank_many([pool], asked, backend="gpu")[0].ids == mc.rerank(pool, asked, backend="numpy").ids


def test_arrays_stream_through_in_chunks(gpu: Any) -> None:
    asked = CASES["grid, mixed"]
    pools = [world(50, seed) for seed in range(20)]
    columns = {name: np.stack([p.columns[name] for p in pools] * 1100) for name in ("lat", "lon", "hour")}
    batch = mc.Batch(np.stack([p.scores for p in pools] * 1100), columns)
    many = mc.rerank_many(batch, asked, 10, backend="gpu")
    references = [mc.rerank(p, asked, 10, backend="numpy")._selection.ranked[0] for p in pools]
    assert np.array_equal(many.positions, np.stack(references * 1100))


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_tensors_stay_in_their_library(gpu: Any, library: str) -> None:
    on = gpu.asarray
    if library == "torch":
        torch = pytest.importorskip("torch")
        on = lambda array: torch.from_dlpack(gpu.asarray(array))  # noqa: E731
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
