"""On a machine with a GPU: `python -m pytest tests/gpu -m gpu`. Every backend selects what the reference selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from worlds import CASES, world

import mascot as mc
from mascot.errors import MissingExtra
from mascot.kernels import gpu, gpu_plan

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
        "home_lat": rng.choice([0.0, 38.7, 38.71, 38.72, 38.75, np.nan], n, p=[0.02, 0.3, 0.3, 0.2, 0.1, 0.08]),
        "home_lon": rng.choice([-9.1, -9.11, -9.15], n),
        "price": rng.choice([-1e9, 5.0, 10.0, 11.5, 30.0, 1e6, np.nan], n, p=[0.02, 0.3, 0.3, 0.2, 0.1, 0.02, 0.06]),
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


@pytest.mark.parametrize("kibibytes", [64, 99, 163])  # T4, Ada, A100
def test_devices_with_less_shared_memory_select_alike(kibibytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small = gpu_plan.Chip(kibibytes * 1024, (kibibytes + 1) * 1024)
    monkeypatch.setattr(gpu, "chip", lambda device: small)
    asked = CASES["globe"]
    for n in (200, 600, 1500):
        found = [world(n, seed) for seed in range(3)]
        for one, ranking in zip(found, mc.rerank_many(found, asked, backend="gpu"), strict=True):
            assert ranking.ids == mc.rerank(one, asked, backend="numpy").ids


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


class Tags:
    """Rows of a table, by number: what a `Csr` holds."""

    name, missing = "tags", "last"

    def membership(self, columns: Any, vectors: Any) -> Any:
        rng = np.random.default_rng(3)
        table = rng.random((64, 23)) * (rng.random((64, 23)) < 0.3)
        return table[np.asarray(columns["row"], np.int64)]

    def features(self, columns: Any, vectors: Any) -> Any:
        return self.membership(columns, vectors)


def gappy(seed: int, n: int = 60) -> mc.Candidates:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "lat": rng.choice([-90.0, -47.3, 0.0, 10.0, 35.7, 35.70001, np.nan], n),
        "lon": rng.choice([-180.0, -20.0, 0.0, 20.0, 139.7, 179.9, 360.0], n),
        "hour": rng.choice([0.0, 1.5, 12.0, 12.25, 23.75, np.nan], n),
        "number": rng.choice([-9.0, -1.0, 0.0, 1.0, 7.0, np.nan], n),
        "who": rng.integers(-1, 9, n),
        "model": rng.integers(0, 2000, n),
        "row": rng.integers(0, 64, n),
    }
    vectors = rng.normal(size=(n, 4))
    return mc.Candidates(scores=rng.choice([0.1, 0.2, 0.3, 0.30000001, 0.9], n), columns=columns, vectors=vectors)


def labelled(one: mc.Candidates) -> mc.Candidates:
    """As the host has it: a missing label is None."""
    who = np.array([None if code < 0 else int(code) for code in one.columns["who"]], object)
    return mc.Candidates(one.scores, columns={**one.columns, "who": who}, vectors=one.vectors)


WHO, TAKEN, WHERE = mc.Category("who"), mc.HourOfDay("hour"), mc.Place()
ON_THE_DEVICE: dict[str, tuple[list[mc.Wish], list[mc.Wish]]] = {
    "near": ([mc.focus(WHERE, near=(35.7, 139.7)), mc.focus(TAKEN, near="18:00")],) * 2,
    "near a label": ([mc.focus(WHO, 2.0, near=3), mc.spread(mc.Place.grid())],) * 2,
    "near a number": ([mc.focus(mc.Number("number"), near=1.0), mc.spread(mc.Number("number", sigma=2.0))],) * 2,
    "dropped": ([mc.focus(mc.Place.grid(missing="drop")), mc.spread(mc.Category("who", missing="drop"))],) * 2,
    "dropped and near": ([mc.focus(mc.Place(missing="drop"), near=(0.0, 0.0)), mc.focus(TAKEN)],) * 2,
    "neutral": ([mc.focus(mc.Place(missing="neutral")), mc.spread(mc.HourOfDay("hour", missing="neutral"), 3.0)],) * 2,
    "several labels": ([mc.spread(WHO), mc.focus(mc.Category("model"), 0.5), mc.focus(mc.Category("row"))],) * 2,
    "pairs": ([mc.spread(mc.Category("tags")), mc.focus(TAKEN)], [mc.spread(Tags()), mc.focus(TAKEN)]),
    "read on the host": ([mc.focus(Tags()), mc.spread(mc.Clusters(3)), mc.spread(WHERE)],) * 2,
    "a cycle": ([mc.spread(mc.Cycle("number", 8.0)), mc.focus(mc.Cycle("hour", 24.0, bins=4, sigma=9.0))],) * 2,
}


@pytest.mark.parametrize(("asked", "law_asked"), ON_THE_DEVICE.values(), ids=ON_THE_DEVICE)
@pytest.mark.parametrize(
    "method",
    [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9, bin_weight="query"), mc.Mascot(1.0, protect=50)],
    ids=["guarded", "paper", "keep", "wishes only"],
)
def test_tensors_take_every_option(asked: list[mc.Wish], law_asked: list[mc.Wish], method: mc.Mascot) -> None:
    from mascot.gpu import Csr, DeviceBatch

    pools = [gappy(seed) for seed in range(6)]
    columns: dict[str, Any] = {
        name: cp.asarray(np.stack([p.columns[name] for p in pools])) for name in pools[0].columns
    }
    table = Tags().membership({"row": np.concatenate([p.columns["row"] for p in pools])}, None)
    rows, bins = np.nonzero(table)
    indptr = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    columns["tags"] = Csr(cp.asarray(indptr), cp.asarray(bins), cp.asarray(table[rows, bins]))
    vectors = cp.asarray(np.stack([p.vectors for p in pools]))
    batch = DeviceBatch(cp.asarray(np.stack([p.scores for p in pools])), columns, vectors)
    already = [list(range(2 * q)) for q in range(len(pools))]
    first = mc.rerank_many(batch, asked, 7, method, backend="gpu")
    told = mc.rerank_many(batch, asked, 7, method, already=already, backend="gpu")
    second = mc.rerank_many(batch, asked, 7, method, already=first, backend="gpu")
    again = mc.rerank_many(batch, asked, 7, method, already=first.positions, backend="gpu")
    once_more = mc.rerank_many(batch, asked, 7, method, backend="gpu")
    for q, pool in enumerate(pools):
        one = labelled(pool)
        law = mc.rerank(one, law_asked, 7, method, backend="numpy")
        assert _list(first, q) == _list(once_more, q) == law.ids
        page = mc.rerank(one, law_asked, 7, method, already=law, backend="numpy")
        assert _list(second, q) == _list(again, q) == page.ids
        assert _list(told, q) == mc.rerank(one, law_asked, 7, method, already=already[q], backend="numpy").ids
        assert float(first.strengths[q]) == law.strength


def _list(found: Any, q: int) -> list[int]:
    return [position for position in found.positions[q].tolist() if position >= 0]


@pytest.mark.parametrize("missing", ["last", "neutral", "drop"])
def test_rows_of_a_corpus_take_pages_and_drop(missing: Any) -> None:
    pools = [gappy(seed) for seed in range(4)]
    table = {name: np.concatenate([p.columns[name] for p in pools]) for name in pools[0].columns}
    wishes = [mc.focus(mc.Place(missing=missing), near=(35.7, 139.7)), mc.spread(mc.HourOfDay("hour", missing=missing))]
    ranker = mc.Reranker(wishes).fit(table)
    rng = np.random.default_rng(0)
    rows, scores = np.stack([rng.permutation(240)[:50] for _ in range(5)]), rng.random((5, 50))
    first = ranker.rerank_many(cp.asarray(rows), cp.asarray(scores), 9, backend="gpu")
    law = ranker.rerank_many(rows, scores, 9, backend="numpy")
    assert np.array_equal(first.positions.get(), law.positions)
    shown = np.take_along_axis(rows, law.positions, axis=1)
    page = ranker.rerank_many(rows, scores, 9, already=shown.tolist(), backend="numpy").positions
    for already in (first, cp.asarray(shown)):
        second = ranker.rerank_many(cp.asarray(rows), cp.asarray(scores), 9, already=already, backend="gpu")
        assert np.array_equal(second.positions.get(), page)


def test_two_batches_of_one_kind_keep_apart() -> None:
    from mascot.gpu import DeviceBatch

    pools, asked = [world(200, seed) for seed in range(2)], CASES["grid, mixed"]
    batches = [
        DeviceBatch(cp.asarray(p.scores[None]), {k: cp.asarray(v[None]) for k, v in p.columns.items()}) for p in pools
    ]
    laws = [mc.rerank(p, asked, 20, backend="numpy").ids for p in pools]
    for _ in range(2):
        for batch, law in zip(batches, laws, strict=True):
            assert _list(mc.rerank_many(batch, asked, 20, backend="gpu"), 0) == law


def test_a_batch_of_arrays_gives_whole_rankings() -> None:
    pools = [gappy(seed) for seed in range(9)]
    columns = {name: np.stack([p.columns[name] for p in pools]) for name in ("lat", "lon", "hour", "number")}
    batch = mc.Batch(scores=np.stack([p.scores for p in pools]), columns=columns)
    asked = [mc.spread(mc.Place(missing="neutral")), mc.focus(TAKEN), mc.spread(mc.Number("number"))]
    many = mc.rerank_many(batch, asked, 8, backend="gpu")
    law = mc.rerank_many(batch, asked, 8, backend="numpy")
    assert np.array_equal(many.positions, law.positions)
    for mine, theirs in zip(many, law, strict=True):
        assert mine.ids == theirs.ids
        assert mine.gains.keys() == theirs.gains.keys()
        for name, gains in theirs.gains.items():
            np.testing.assert_allclose(mine.gains[name], gains, rtol=1e-9, atol=1e-12)
    with pytest.raises(mc.InputError, match="latitude"):
        mc.rerank_many(
            mc.Batch([[1.0, 2.0]], {"lat": [[91.0, 0.0]], "lon": [[0.0, 0.0]]}), [mc.spread(WHERE)], 1, backend="gpu"
        )
