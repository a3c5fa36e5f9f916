"""Records as people have them: ranked as they are, returned as they were, and never misread in silence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.attributes.nested import has_name, value_of, values_of

ROWS = [("a", 0.9, "x"), ("b", 0.8, "x"), ("c", 0.7, "y")]
DICTIONARIES = [{"id": id_, "score": score, "seller": {"name": name}} for id_, score, name in ROWS]


@dataclasses.dataclass
class Seller:
    name: str


@dataclasses.dataclass
class Listing:
    id: str
    score: float
    seller: Seller


class NamedSeller(NamedTuple):
    name: str


class NamedListing(NamedTuple):
    id: str
    score: float
    seller: NamedSeller


class Model:
    """An object with the one method of pydantic that is read."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record

    def model_dump(self) -> dict[str, Any]:
        return self._record


RECORDS: dict[str, list[Any]] = {
    "dictionaries": DICTIONARIES,
    "dataclasses": [Listing(id_, score, Seller(name)) for id_, score, name in ROWS],
    "models": list(map(Model, DICTIONARIES)),
    "named tuples": [NamedListing(id_, score, NamedSeller(name)) for id_, score, name in ROWS],
    "dataclasses within": [{"id": id_, "score": score, "seller": Seller(name)} for id_, score, name in ROWS],
    "_id and _score": [{"_id": id_, "_score": score, "seller": {"name": name}} for id_, score, name in ROWS],
}


@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
def test_a_list_of_records_is_ranked_and_its_objects_are_returned(records: list[Any]) -> None:
    wish = mc.limit("seller.name", 1)
    page = mc.rerank(records, wish, k=3)
    assert page.ids == ["a", "c"]
    assert [id(record) for record in page.records()] == [id(records[0]), id(records[2])]
    assert mc.rerank(records, wish, k=3, already=page).ids == ["b"]
    assert mc.rerank_many([records, records[1:]], wish, k=3).ids == [["a", "c"], ["b", "c"]]
    assert mc.rerank([], wish).records() == []


def test_pydantic_objects_are_records() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Hit", id=(str, ...), score=(float, ...), seller=(dict[str, str], ...))
    hits = [model(**record) for record in DICTIONARIES]
    assert mc.rerank(hits, mc.limit("seller.name", 1)).records() == [hits[0], hits[2]]


# Silent misreadings

CANDIDATES = mc.Candidates([3.0, 2.0, 1.0], ids=["a", "b", "c"], columns={"seller": ["x", "x", "y"]})
NAMELESS = [{"score": 2.0, "key": "L1"}, {"score": 1.0, "key": "L2"}]
WITHIN = mc.Candidates([2.0, 1.0], columns={"seller": np.array([{"name": "x"}, {}], object)})
TWICE = {"seller": ["x", "y"]}
NUMBERED = mc.Candidates([2.0, 1.0], ids=[5, 6])
PAGES = mc.rerank_many([CANDIDATES], [], k=1)
MISREADINGS: dict[str, Callable[[], Any]] = {
    "Category needs column 'sellr', got columns: id, score, seller": lambda: mc.rerank(
        DICTIONARIES, mc.limit("sellr", 1)
    ),
    "a field of 'seller' is written 'seller.name'": lambda: mc.rerank(DICTIONARIES, mc.spread("name")),
    "Place needs column 'geo', got": lambda: mc.rerank(DICTIONARIES, mc.spread(mc.Place("geo"))),
    "already must be positions, because the records have no ids": lambda: mc.rerank(NAMELESS, [], already=["L1"]),
    "from_records needs column 'pk', got columns: key, score": lambda: mc.Candidates.from_records(NAMELESS, id="pk"),
    "needs 'id' in every record, got none at position 1": lambda: mc.Candidates.from_records(
        [{"id": 1, "score": 1.0}, {"score": 2.0}]
    ),
    "Candidates.ids must be hashable, got {}": lambda: mc.rerank([{"id": {}, "score": 1.0}], []),
    "Reranker.ids must be unique, got 'a' twice": lambda: mc.Reranker([]).fit(TWICE, ids=["a", "a"]),
    "records() needs candidates made of records or of a table": lambda: mc.rerank(CANDIDATES, []).records(),
    "name them with id=..., got 'L1'": lambda: mc.rerank(
        mc.Candidates.from_records(NAMELESS, id=None), [], already=["L1"]
    ),
    "got '5', which differs from the id 5 in its type": lambda: mc.rerank(NUMBERED, [], already=["5"]),
    "got {'a': 1}": lambda: mc.rerank(CANDIDATES, [], already={"a": 1}),  # type: ignore[arg-type]
    "already must be a Ranking or a list of ids, got Rankings": lambda: mc.rerank(CANDIDATES, [], already=PAGES),
    "already must have a Ranking of this query, got Rankings": lambda: mc.rerank(CANDIDATES, [], already=[PAGES]),
    "name another with score=, or use None for the order": lambda: mc.rerank([{"_id": "a", "_score": None}], []),
    "Candidates.from_table needs column 'score', got columns: seller": lambda: mc.rerank(pd.DataFrame(TWICE), []),
    "Category needs column '5', got columns: score": lambda: mc.rerank([{"score": 1.0, 5: "x"}], mc.limit("5", 1)),
    "pin must name rows that were not removed, got 'a'": lambda: (
        mc.Reranker([]).fit(TWICE, ids=["a", "b"]).remove(["a"]).rerank(["a", "b"], [2.0, 1.0], pin=["a"])
    ),
    "whole numbers too, got [2, 1]": lambda: mc.Reranker([]).fit(TWICE, ids=[1, 2]).rerank([2, 1], [2, 1]),
}


@pytest.mark.parametrize("message", MISREADINGS)
def test_what_was_misread_in_silence_is_an_error(message: str) -> None:
    with pytest.raises(mc.MascotError) as error:
        MISREADINGS[message]()
    assert message in str(error.value)


@pytest.mark.parametrize("value", [1, True, "0.4", b"1", -0.0, 1e308, np.float32(0.1), Fraction(1, 3), Decimal("0.1")])
def test_a_list_of_scores_is_read_as_an_array_of_objects_is(value: Any) -> None:
    scores = [0.5, value]
    assert mc.Candidates(scores).scores.tolist() == np.array(scores, object).astype(float).tolist()


def test_a_list_of_rankings_is_the_union_of_their_pages() -> None:
    first, second = (mc.rerank(CANDIDATES, [], k=1, pin=[id_]) for id_ in "ab")
    assert mc.rerank(CANDIDATES, [], already=[first, second]).ids == ["c"]
    assert mc.rerank(CANDIDATES, [], already=[first, "c"]).ids == ["b"]


def test_records_without_ids_have_positions_and_pages_of_them() -> None:
    first = mc.rerank(NAMELESS, [], k=1)
    assert first.ids == [0]
    assert mc.rerank(NAMELESS, [], already=first).ids == mc.rerank(NAMELESS, [], already=[0]).ids == [1]
    empty = [{"score": 1.0, "brand": None}, {"score": 0.5, "brand": None}]
    assert len(mc.rerank(empty, mc.limit("brand", 1))) == 2  # a column without values is not a misspelt one


# Names, labels and tables

LEAVES = st.none() | st.integers() | st.text(max_size=3)
NESTED = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", "b.a"]),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b", "b.a"]), inner, max_size=2)),
)


@settings(max_examples=60)
@given(st.lists(NESTED, max_size=4), st.sampled_from(["a", "a.b", "a.b.a", "b.a.b.a"]))
def test_a_name_is_followed_for_all_records_as_for_each(records: list[Any], name: str) -> None:
    assert values_of(records, name) == [value_of(record, name) for record in records]
    columns = mc.Candidates.from_records([{**record, "score": 1} for record in records]).columns
    assert (name in columns) == (not records or any(has_name(record, name) for record in records))


@pytest.mark.parametrize(
    "column",
    [[5, "5", 5.0, None], [True, "True", "true", ""], ["true", np.bool_(True), "True", ""], [Decimal(7), "7", 7, None]],
)
def test_labels_are_compared_as_text(column: list[Any]) -> None:
    records = [{"score": 4 - row, "label": value} for row, value in enumerate(column)]
    for candidates in (records, mc.Candidates([4, 3, 2, 1], columns={"label": column})):
        assert mc.rerank(candidates, mc.limit("label", 1)).ids == [0, 3]
        assert mc.rerank(candidates, mc.share("label", {column[1]: 0.5}), k=2, protect=0).ids == [0, 3]
        assert mc.rerank(candidates, mc.focus("label", near=column[1]), k=3, strength=1.0).ids == [0, 1, 2]


def test_rules_name_booleans_as_json_does() -> None:
    hits = [{"id": at, "score": 4 - at, "ad": at > 1} for at in range(4)]
    assert mc.rerank(hits, mc.share("ad", {"true": 0.5}), k=2, protect=0).ids == [0, 2]
    assert mc.rerank(hits, mc.limit("ad", {"false": 0})).ids == [2, 3]
    assert mc.rerank(hits, mc.focus("ad", near="true"), k=1, strength=1.0, protect=0).ids == [2]


def test_rows_are_ids_or_an_array_of_row_numbers() -> None:
    ranker = mc.Reranker(mc.limit("seller", 1)).fit({"seller": ["x", "x", "y"]}, ids=["a", "b", "c"])
    assert ranker.rerank_many([["b", "c"], ["a"]], [[2.0, 1.0], [1.0]]).ids == [["b", "c"], ["a"]]
    numbered = mc.Reranker([]).fit({"seller": ["x", "x", "y"]}, ids=[1, 2, 3])
    assert numbered.rerank(numbered.rows([3, 1]), [2.0, 1.0]).ids == [3, 1]
    assert numbered.rerank(np.array([2, 1]), [2.0, 1.0]).ids == [3, 2]
    assert numbered.rerank([0], [1.0]).ids == [1]


def test_names_lead_into_lists() -> None:
    hits = [
        {"id": at, "score": 4 - at, "sellers": sellers}
        for at, sellers in enumerate([{"name": "x"}, [{"name": "x"}, {"name": "y"}], [{"name": "z"}], []])
    ]
    assert mc.rerank(hits, mc.limit("sellers.name", 1)).ids == [0, 2, 3]
    assert mc.rerank(hits, mc.limit("sellers.0.name", 1)).ids == [0, 1, 2, 3]
    # Typesense stores [latitude, longitude]: https://typesense.org/docs/28.0/api/geosearch.html
    paris = [{"score": 1.0, "at": [48.86, 2.34]}]
    columns = mc.Candidates.from_records(paris).columns
    bins = mc.Place("at.0", "at.1").membership(columns, None)
    assert np.degrees([bins.lat[0], bins.lon[0]]).tolist() == pytest.approx([48.86, 2.34])


DATA = {"seller": ["x", "x", "y"], "price": [1, 2, 3]}


@pytest.mark.parametrize("table", [pd.DataFrame(DATA, index=[7, 8, 9]), pl.DataFrame(DATA), pa.table(DATA)])
def test_records_of_a_table_are_its_rows(table: Any) -> None:
    page = mc.rerank(mc.Candidates([3, 2, 1], columns=table), mc.limit("seller", 1))
    assert page.records() == [{"seller": "x", "price": 1}, {"seller": "y", "price": 3}]


# Points in one column


POINTS: dict[str, Any] = {
    "lat, lon": [{"lat": 41.1, "lon": -8.6}, None],
    "lat, lng": [{"lat": "41.1", "lng": -8.6}, {}],
    "latitude": [{"latitude": 41.1, "longitude": -8.6}, {"latitude": None, "longitude": None}],
    "text": ["41.1,-8.6", ""],
    "GeoJSON order": [[-8.6, 41.1], None],
    "array": np.array([[-8.6, 41.1], [np.nan, np.nan]]),
    "GeoJSON": [{"type": "Point", "coordinates": [-8.6, 41.1]}, None],
    "GeoJSON in a tuple": [
        {"type": "Point", "coordinates": (-8.6, 41.1, 12.0)},
        {"type": "Point", "coordinates": None},
    ],
    "Polars lists": pl.Series([[-8.6, 41.1], None]),
    "Polars": pl.Series([{"lat": 41.1, "lon": -8.6}, {"lat": None, "lon": None}]),
    "Arrow": pa.array([{"lat": 41.1, "lon": -8.6}, None]),
}


@pytest.mark.parametrize("column", POINTS.values(), ids=POINTS)
def test_a_point_may_stand_in_one_column(column: Any) -> None:
    candidates = mc.Candidates([2.0, 1.0], columns={"geo": column})
    bins = mc.Place("geo").membership(candidates.columns, None)
    assert np.degrees([bins.lat, bins.lon]).tolist() == [
        pytest.approx([value, np.nan], nan_ok=True) for value in (41.1, -8.6)
    ]
    wish = mc.focus(mc.Place("geo"), near=(41.1, -8.6))
    assert mc.from_dict(wish.to_dict()) == wish
    assert mc.rerank(candidates, wish, k=1).ids == [0]
    if isinstance(column, pl.Series | pa.Array) and hasattr(column[0], "keys"):  # structs are reached by path too
        assert mc.Place("geo.lat", "geo.lon").membership(candidates.columns, None).lat[0] == bins.lat[0]


@pytest.mark.parametrize(
    "value",
    [
        "Porto",
        [1, 2, 3],
        {"lat": 1.0},
        {"lat": 1, "latitude": 2},
        41.1,
        {"type": "Point", "coordinates": 5},
        {"type": "Polygon", "coordinates": []},
    ],
)
def test_what_is_not_a_point_is_refused(value: Any) -> None:
    records = [{"score": 1.0, "geo": value}]
    with pytest.raises(mc.InputError, match=r"^Place column 'geo' must hold "):
        mc.rerank(records, mc.spread(mc.Place("geo")))
