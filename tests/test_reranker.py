"""A corpus that grows, shrinks, is saved and is pickled ranks as its rows would rank anew."""

from __future__ import annotations

import contextlib
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.attributes import Clusters

RNG = np.random.default_rng(0)
ROWS = 120
COLUMNS: dict[str, Any] = {
    "lat": RNG.uniform(-60, 70, ROWS),
    "lon": RNG.uniform(-180, 180, ROWS),
    "hour": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.uniform(0, 24, ROWS)),
    "price": RNG.lognormal(size=ROWS),
    "who": [["ana", "bo", "cy", None, ("ana", "cy")][i] for i in RNG.integers(0, 5, ROWS)],
    "day": (np.datetime64("2024-01-01") + RNG.integers(0, 900, ROWS)).astype(str),
}
VECTORS = RNG.normal(size=(ROWS, 8)).astype(np.float32)
IDS = [f"photo {i}" for i in range(ROWS)]
WISHES: list[Any] = [
    mc.spread(mc.Place()), mc.spread(mc.Place.grid(), 0.5), mc.spread(mc.Date("day")), mc.spread(Clusters(6)),
    mc.focus(mc.HourOfDay("hour", missing="neutral"), near=18, within=2), mc.focus("who", 0.5, near="bo"),
    mc.limit("who", 4), mc.limit(mc.Weekday("day"), 5, fill=True), mc.share(mc.DayOfYear("day"), {"January": 0.2}),
]  # fmt: skip


def part(start: int, end: int) -> dict[str, Any]:
    return {name: column[start:end] for name, column in COLUMNS.items()}


def fitted(method: Any = None) -> mc.Reranker:
    return mc.Reranker(WISHES, method).fit(COLUMNS, VECTORS, IDS)


def queries() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return np.stack([rng.choice(ROWS, 40, replace=False) for _ in range(2)]), rng.random((2, 40))


def answers(ranker: mc.Reranker, rows: Any, scores: Any) -> list[Any]:
    """Return ids and explanations of all queries, one by one and together."""
    many = ranker.rerank_many(rows, scores, 10)
    alone = [ranker.rerank(own, values, 10) for own, values in zip(rows, scores, strict=True)]
    assert [page.ids for page in alone] == many.ids
    return [(page.to_dict(), str(page.explain())) for page in alone]


def test_rows_appended_rank_as_rows_fitted_at_once() -> None:
    ranker = mc.Reranker(WISHES).fit(part(0, 1), VECTORS[:1], IDS[:1])
    for start, end in ((1, 60), (60, ROWS)):
        assert ranker.append(part(start, end), VECTORS[start:end], IDS[start:end]) is ranker
    assert len(ranker) == ROWS
    assert answers(ranker, *queries()) == answers(fitted(), *queries())


def test_columns_of_another_type_removals_without_ids_and_an_unknown_id() -> None:
    ranker = mc.Reranker(mc.spread("x")).fit({"x": ["a", "b"]}).append({"x": [None, 5]})
    assert ranker.rerank([0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0], 3).ids == [0, 1, 3]
    ranker = mc.Reranker(mc.spread("x")).fit({"x": ["a", "b", "c"]}).remove([1]).append({"x": ["d"]})
    assert ranker.rerank([0, 1, 2, 3], [4.0, 3.0, 2.0, 1.0], 4).ids == [0, 2, 3]
    ranker = mc.Reranker(mc.spread("x")).fit({"x": ["a", "b"]}, ids=["p", "q"])
    with pytest.raises(mc.InputError, match=r"^Reranker needs ids of the corpus, got 'z'$"):
        ranker.remove(["p", "z"])
    assert ranker.rerank([0, 1], [2.0, 1.0], 2).ids == ["p", "q"]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_removed_rows_are_not_candidates(backend: Any) -> None:
    rows, scores = queries()
    gone = [IDS[row] for row in rows[0][:15]]
    ranker = fitted().remove(gone[:5]).remove(gone[5:])
    stay = np.array([IDS[row] not in gone for row in rows[0]])
    page = ranker.rerank(rows[0], scores[0], 10, backend=backend)
    assert page.ids == fitted().rerank(rows[0][stay], scores[0][stay], 10, backend=backend).ids
    assert page.positions.tolist() == [list(rows[0]).index(IDS.index(id_)) for id_ in page.ids]
    assert not set(gone) & set(page.ids)
    assert not {id_ for ids in ranker.rerank_many(rows, scores, 10, backend=backend).ids for id_ in ids} & set(gone)
    assert ranker.rerank(rows[0][:15], scores[0][:15], 10).ids == []


@pytest.mark.parametrize("method", [mc.Mascot(), mc.Relevance()], ids=str)
def test_a_saved_reranker_answers_as_before(method: Any, tmp_path: Path) -> None:
    ranker = fitted(method).remove(IDS[:7])
    ranker.save(tmp_path / "ranker.npz")
    loaded = mc.Reranker.load(tmp_path / "ranker.npz")
    assert (loaded.wishes, loaded.method, len(loaded)) == (ranker.wishes, ranker.method, ROWS)
    assert answers(loaded, *queries()) == answers(ranker, *queries())


def test_a_file_that_is_not_a_saved_reranker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"not a file of arrays")
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    for name in ("text", "other.npz"):
        with pytest.raises(mc.InputError, match=r"^Reranker.load needs a file that Reranker.save wrote, got "):
            mc.Reranker.load(tmp_path / name)
    with pytest.raises(mc.OptionError, match=r"^Reranker.save needs ids that are text or whole numbers"):
        mc.Reranker(mc.spread("x")).fit({"x": ["a"]}, ids=[("a", 1)]).save(tmp_path / "ids")


def saved(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and the document of a saved corpus with every kind of bins."""
    ranker = mc.Reranker([*WISHES, mc.spread(mc.Vectors()), mc.limit(mc.Vectors(), 2)]).fit(COLUMNS, VECTORS)
    ranker.remove([3]).save(folder / "whole.npz")
    with np.load(folder / "whole.npz") as file:
        arrays = dict(file)
    return arrays, json.loads(bytes(arrays.pop("document")))


def survives(arrays: dict[str, Any], document: Any, path: Path) -> bool:
    """Return whether an edited file is loaded and answers. Any error but the two named ones fails the test."""
    np.savez(path, document=np.frombuffer(json.dumps(document).encode(), np.uint8), **arrays)
    try:
        loaded = mc.Reranker.load(path)
        for backend in ("native", "numpy"):
            loaded.rerank(*(part[0] for part in queries()), 10, backend=backend)  # type: ignore[arg-type]
    except mc.MascotError:
        return False
    return True


ARRAY_EDITS: dict[str, Callable[[Any], Any]] = {
    "far": lambda array: array + np.asarray(2**40, array.dtype), "short": lambda array: array[:1],
    "below": lambda array: -array - np.asarray(1, array.dtype), "empty": lambda array: array[:0],
    "backwards": lambda array: array[::-1].copy(), "deeper": lambda array: array[None],
    "text": lambda array: array.astype(str),
    "infinite": lambda array: np.full(array.shape, np.inf), "wide": lambda array: array.astype(np.complex128),
    "long": lambda array: np.concatenate([array, array]), "twice": lambda array: np.repeat(array[:1], len(array), 0),
}  # fmt: skip


def test_edited_arrays_of_a_saved_reranker_are_refused(tmp_path: Path) -> None:
    arrays, document = saved(tmp_path)
    assert survives(arrays, document, tmp_path / "whole.npz")
    harmless = {"backwards", "twice"}  # other rows, which are still rows
    other_numbers = {"far", "below"}
    for name, array in arrays.items():
        for edit, change in ARRAY_EDITS.items():
            if array.dtype == bool and edit in ("far", "below"):
                continue
            answered = survives(arrays | {name: change(array)}, document, tmp_path / "edited.npz")
            assert not answered or edit in harmless or (array.dtype.kind == "f" and edit in other_numbers), name
        assert not survives({key: arrays[key] for key in arrays if key != name}, document, tmp_path / "edited.npz") or (
            name == "removed" or name.endswith(".values")
        )


def test_edited_fields_of_a_saved_reranker_are_refused_or_harmless(tmp_path: Path) -> None:
    arrays, document = saved(tmp_path)
    values = (None, -1, 0, 2**70, 1e308, 1e-308, math.nan, math.inf, "x", [], {}, [[]], True)

    def leaves(part: Any, path: tuple[Any, ...] = ()) -> Any:
        yield path
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, inner in items:
            yield from leaves(inner, (*path, key))

    for *path, last in (path for path in leaves(document) if path):
        if path and path[-1] == "labels" and last not in (0, 1):
            continue  # further labels
        for value in values if path and path[0] not in ("wishes", "method", "ids") else (2**70, 1e-308, "x"):
            edited = json.loads(json.dumps(document))
            part = edited
            for key in path:
                part = part[key]
            part[last] = value
            survives(arrays, edited, tmp_path / "edited.npz")


def test_a_compressed_a_cut_or_a_damaged_file_is_refused(tmp_path: Path) -> None:
    arrays, document = saved(tmp_path)
    content = (tmp_path / "whole.npz").read_bytes()
    text = np.frombuffer(json.dumps(document).encode(), np.uint8)
    np.savez_compressed(tmp_path / "bomb.npz", document=text, **(arrays | {"removed": np.zeros(10**8, bool)}))
    with pytest.raises(mc.InputError, match=r"bomb.npz': it is compressed$"):
        mc.Reranker.load(tmp_path / "bomb.npz")
    generator = np.random.default_rng(4)
    for _ in range(300):
        damaged = bytearray(content)
        for at in generator.integers(0, len(content), 3):
            damaged[at] ^= 1 << int(generator.integers(8))
        (tmp_path / "damaged.npz").write_bytes(damaged[: None if at % 2 else at])
        with contextlib.suppress(mc.MascotError):
            mc.Reranker.load(tmp_path / "damaged.npz").rerank(*(part[0] for part in queries()), 10)  # type: ignore[arg-type]


def test_pickled_rankings_and_rerankers_are_the_same() -> None:
    rows, scores = queries()
    ranker = fitted().remove(IDS[:3])
    restored = pickle.loads(pickle.dumps(ranker))
    assert answers(restored, rows, scores) == answers(ranker, rows, scores)
    page, pages = ranker.rerank(rows[0], scores[0], 10), ranker.rerank_many(rows, scores, 10)
    again, all_again = pickle.loads(pickle.dumps((page, pages)))
    assert (again.ids, again.to_dict(), str(again.explain())) == (page.ids, page.to_dict(), str(page.explain()))
    assert [str(part.explain()) for part in all_again] == [str(part.explain()) for part in pages]
    assert ranker.rerank(rows[0], scores[0], 10, already=again).ids == ranker.rerank(rows[0], scores[0], 10, page).ids


def test_a_query_does_not_read_the_whole_corpus() -> None:
    class Counted:
        """An attribute that counts how often its memberships are computed."""

        name = "counted"
        calls = 0

        def membership(self, columns: Any, vectors: Any) -> Any:
            Counted.calls += 1
            return np.eye(4)[np.asarray(columns["x"], np.int64)]

    ranker = mc.Reranker(mc.spread(Counted())).fit({"x": np.arange(1000) % 4})
    before = Counted.calls
    for _ in range(3):
        ranker.rerank([5, 6, 7], [3.0, 2.0, 1.0], 2)
        ranker.rerank_many([[5, 6, 7], [1, 2, 3]], [[3.0, 2.0, 1.0]] * 2, 2)
    assert Counted.calls == before


CITIES = {"city": ["Rome", "Rome", "Oslo", "Lima"], "price": [10, 20, 30, 40]}
CITY_IDS = ["r1", "r2", "o1", "l1"]


def priced() -> mc.Reranker:
    return mc.Reranker([mc.spread("city"), mc.focus(mc.Number("price"), near=10)]).fit(CITIES, ids=CITY_IDS)


@pytest.mark.parametrize(
    "options",
    [{}, {"strength": 0.9}, {"keep": 0.9}, {"pin": ["l1"]}, {"already": ["r1"]}, {"pin": ["l1"], "already": ["l1"]}],
)
@pytest.mark.parametrize(
    "rows", [CITY_IDS, np.array(CITY_IDS), [0, 1, 2, 3], np.arange(4)], ids=["ids", "text", "rows", "array"]
)
def test_a_query_has_the_options_of_rerank(rows: Any, options: dict[str, Any]) -> None:
    scores = [0.9, 0.8, 0.7, 0.6]
    expected = mc.rerank(mc.Candidates(scores, CITY_IDS, CITIES), list(priced().wishes), 2, **options)
    assert priced().rerank(rows, scores, 2, **options).ids == expected.ids


def test_a_query_has_its_own_value_of_a_focus() -> None:
    ranker, scores = priced(), [0.9, 0.8, 0.7, 0.6]
    page = ranker.rerank(CITY_IDS, scores, 1, strength=1.0, near={"price": 40})
    assert page.ids == ["l1"]
    assert [wish.near for wish in page.wishes] == [None, 40]
    assert ranker.rerank(CITY_IDS, scores, 1, strength=1.0).ids == ["r1"]  # the wishes are unchanged
    assert "40" in str(page.explain())
