"""The derived vector index: exact, stale, damaged, large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mascot.photos.nearest import Nearest, Space, open_nearest
from mascot.photos.photo import Photo
from mascot.photos.store import Store, put_photo, put_vector, stamp_of


def _unit(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _photo(i: int) -> Photo:
    names = [f for f in Photo.__dataclass_fields__ if f not in ("keywords", "problems")]
    values: dict = dict.fromkeys(names, None)
    values |= {"id": 0, "path": f"{i}.jpg", "folder": ".", "size": 1, "mtime_ns": 1, "hash": str(i)}
    return Photo(**values | {"width": 1, "height": 1, "keywords": (), "problems": ()})


def _filled(folder: Path, vectors: np.ndarray, fingerprint: str = "s") -> Store:
    store = Store(folder / "library.sqlite", create=True)
    with store.writing() as connection:
        for i, vector in enumerate(vectors):
            put_vector(connection, put_photo(connection, _photo(i)), stamp_of(fingerprint, 1), vector)
    return store


def test_search_is_the_sort_of_all_products() -> None:
    vectors, query = _unit(500, 24), _unit(1, 24, 9)[0]
    ids = np.arange(10, 510)
    nearest = Nearest(ids, vectors[:, None], Space("s", 24, 1))
    found, scores = nearest.search(query, 20)
    order = np.argsort(-(vectors @ query), kind="stable")[:20]
    assert found.tolist() == ids[order].tolist()
    np.testing.assert_allclose(scores, (vectors @ query)[order], rtol=1e-6)
    assert len(nearest.search(query, 10_000)[0]) == 500


def test_ties_go_to_the_lower_id() -> None:
    vectors = np.repeat(_unit(1, 8), 40, axis=0)
    found, _ = Nearest(np.arange(40), vectors[:, None], Space("s", 8, 1)).search(vectors[0], 5)
    assert found.tolist() == [0, 1, 2, 3, 4]


def test_several_tokens_count_by_their_best() -> None:
    vectors = _unit(200 * 4, 16).reshape(200, 4, 16)
    query = _unit(1, 16, 3)[0]
    nearest = Nearest(np.arange(200), vectors, Space("s", 16, 4))
    found, scores = nearest.search(query, 7)
    best = (vectors @ query).max(axis=1)
    assert found.tolist() == np.argsort(-best, kind="stable")[:7].tolist()
    assert np.linalg.norm(nearest.vectors(found), axis=1) == pytest.approx(1.0)
    assert scores[0] == pytest.approx(best.max())


def test_among_leaves_only_those() -> None:
    vectors, query = _unit(300, 8), _unit(1, 8, 5)[0]
    nearest = Nearest(np.arange(300) * 2, vectors[:, None], Space("s", 8, 1))
    among = np.array([4, 10, 100, 598, 599])
    found, _ = nearest.search(query, 10, among)
    assert set(found.tolist()) == {4, 10, 100, 598}
    assert len(nearest.search(query, 10, np.array([], np.int64))[0]) == 0


def test_the_index_is_kept_and_rebuilt_when_stale(tmp_path: Path) -> None:
    vectors = _unit(50, 8)
    store, space = _filled(tmp_path, vectors), Space("s", 8, 1)
    first = open_nearest(tmp_path, store, space)
    made = next(tmp_path.glob("nearest-*"))
    stamp = (made / "vectors.npy").stat().st_mtime_ns
    assert len(open_nearest(tmp_path, store, space)) == len(first) == 50
    assert (made / "vectors.npy").stat().st_mtime_ns == stamp
    with store.writing() as connection:
        put_vector(connection, put_photo(connection, _photo(50)), stamp_of("s", 1), vectors[0])
    assert len(open_nearest(tmp_path, store, space)) == 51
    assert len(list(tmp_path.glob("nearest-*"))) == 1


@pytest.mark.parametrize("file", ["vectors.npy", "ids.npy", "about.json"])
@pytest.mark.parametrize("harm", ["cut", "gone", "garbage"])
def test_the_index_is_rebuilt_when_damaged(tmp_path: Path, file: str, harm: str) -> None:
    vectors = _unit(50, 8)
    store, space = _filled(tmp_path, vectors), Space("s", 8, 1)
    open_nearest(tmp_path, store, space)
    damaged = next(tmp_path.glob("nearest-*")) / file
    content = damaged.read_bytes()
    if harm == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(content[: len(content) // 2] if harm == "cut" else b"\x00\xff" * 40)
    found, _ = open_nearest(tmp_path, store, space).search(vectors[7], 1)
    assert found.tolist() == [8]  # ids begin at 1


def test_only_vectors_of_this_encoding_are_searched(tmp_path: Path) -> None:
    store = _filled(tmp_path, _unit(20, 8), "old")
    assert len(open_nearest(tmp_path, store, Space("new", 8, 1))) == 0
    assert open_nearest(tmp_path, store, Space("new", 8, 1)).search(_unit(1, 8)[0], 5)[0].tolist() == []


@pytest.mark.parametrize("tokens", [1, 3])
def test_a_large_library_goes_through_the_graph(tmp_path: Path, tokens: int) -> None:
    vectors = _unit(3000 * tokens, 16).reshape(3000, tokens, 16)
    store, space = _filled(tmp_path, vectors), Space("s", 16, tokens)
    nearest = open_nearest(tmp_path, store, space, exact=1000)
    assert (next(tmp_path.glob("nearest-*")) / "graph.usearch").is_file()
    exact = open_nearest(tmp_path, store, space)
    shared = 0
    for seed in range(10):
        query = _unit(1, 16, 100 + seed)[0]
        found, scores = nearest.search(query, 20)
        true, true_scores = exact.search(query, 20)
        shared += len(set(found.tolist()) & set(true.tolist()))
        assert (np.diff(scores) <= 0).all()
        assert scores[0] <= true_scores[0] + 1e-6
    assert shared >= 190  # of 200: the graph proposes, the matrix decides


def test_a_large_index_is_not_built_for_every_search_while_another_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mascot.photos.nearest._LARGE", 1000)
    vectors = _unit(50, 8)
    store, space = _filled(tmp_path, vectors), Space("s", 8, 1)
    first = open_nearest(tmp_path, store, space)
    with store.writing() as connection:
        put_vector(connection, put_photo(connection, _photo(50)), stamp_of("s", 1), vectors[0])
    held = open_nearest(tmp_path, store, space, hurry=True)
    assert (len(held), held.changes) == (50, first.changes)
    assert 50 in held
    assert 51 not in held
    assert len(open_nearest(tmp_path, store, space)) == 51  # as the writer does when it is done
    assert len(open_nearest(tmp_path, store, space, hurry=True)) == 51
    with store.writing() as connection:
        connection.execute("DELETE FROM photos WHERE id = 51")
    monkeypatch.setattr("mascot.photos.nearest._MIN_LIFETIME_S", 0.0)
    monkeypatch.setattr("mascot.photos.nearest._LIFETIME_FACTOR", 0.0)
    assert len(open_nearest(tmp_path, store, space, hurry=True)) == 50
