"""The file of vectors: exact, stale, large, cut short."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mascot.photos.database.store import Space, Store, put_photo, put_vector, stamp_of
from mascot.photos.database.vector_index import Nearest, open_nearest
from mascot.photos.photo import Photo
from tests.photos.libraries import bare_photo


def _unit(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _photo(i: int) -> Photo:
    return bare_photo(id=0, path=f"{i}.jpg", folder=".", hash=str(i))


def _filled(folder: Path, vectors: np.ndarray) -> Store:
    store = Store(folder / "library.sqlite", create=True)
    with store.writing() as connection:
        for i, vector in enumerate(vectors):
            put_vector(connection, put_photo(connection, _photo(i)), stamp_of("s", 1), vector)
    return store


@pytest.mark.parametrize("tokens", [1, 4])
def test_search_is_the_sort_of_all_products(tokens: int) -> None:
    vectors, query, ids = _unit(500 * tokens, 24).reshape(500, tokens, 24), _unit(1, 24, 9)[0], np.arange(500) * 2
    vectors[7] = vectors[300]  # ties go to the lower id
    nearest, products = Nearest(ids, vectors), (vectors @ query).max(axis=1)
    result, scores = nearest.search(query, 20)
    order = np.argsort(-products, kind="stable")
    assert result.tolist() == ids[order[:20]].tolist()
    np.testing.assert_allclose(scores, products[order[:20]], rtol=1e-5)
    assert nearest.search(query, 10_000)[0].tolist() == ids[order].tolist()
    assert np.linalg.norm(nearest.vectors(result), axis=1) == pytest.approx(1.0)
    assert sorted(nearest.search(query, 10, np.array([4, 10, 100, 598, 599]))[0].tolist()) == [4, 10, 100, 598]
    assert len(nearest.search(query, 10, np.array([], np.int64))[0]) == 0


def test_the_file_is_kept_until_the_library_changes(tmp_path: Path) -> None:
    vectors = _unit(50, 8)
    store, space = _filled(tmp_path, vectors), Space("s", 8, 1)
    open_nearest(tmp_path, store, space)
    file = next(tmp_path.glob("nearest-*"))
    written = file.stat().st_mtime_ns
    assert len(open_nearest(tmp_path, store, space)) == 50
    assert file.stat().st_mtime_ns == written
    with store.writing() as connection:
        put_vector(connection, put_photo(connection, _photo(50)), stamp_of("s", 1), vectors[0])
    (tmp_path / "nearest-0-unfinished").touch()
    assert len(open_nearest(tmp_path, store, space)) == 51
    assert len(list(tmp_path.glob("nearest-*"))) == 1


def test_a_file_that_is_missing_or_cut_short_is_written_again(tmp_path: Path) -> None:
    vectors, query = _unit(50, 8), _unit(1, 8, 9)[0]
    store, space = _filled(tmp_path, vectors), Space("s", 8, 1)
    before = open_nearest(tmp_path, store, space).search(query, 5)
    file = next(tmp_path.glob("nearest-*"))
    size = file.stat().st_size
    for length in (0, 5, 8, size // 2, size - 1):
        os.truncate(file, length)
        after = open_nearest(tmp_path, store, space).search(query, 5)
        assert (after[0].tolist(), after[1].tolist()) == (before[0].tolist(), before[1].tolist())
        assert file.stat().st_size == size
    file.unlink()
    assert len(open_nearest(tmp_path, store, space)) == 50


def test_a_file_that_cannot_be_written_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mascot.photos.database.vector_index._write", refuse)
    store, space = _filled(tmp_path, _unit(50, 8)), Space("s", 8, 1)
    assert len(open_nearest(tmp_path, store, space)) == 50
    assert not list(tmp_path.glob("nearest-*"))
