"""A wish on the bare name of a column: its values decide what the wish means, or it is refused, and never misread."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mascot as mc
from mascot.attributes.category import BareColumn
from mascot.column_types import MOST_WHOLE, kind_of
from mascot.profiles import profile_of
from mascot.server.rerank.rerank_task import RerankTask
from tests.retelling import run_command

KINDS: list[tuple[str | None, Any]] = [
    ("labels", ["x", None]),
    ("labels", ["2019-07", "2019-08"]),
    ("labels", ["2019-07-14", "soon"]),
    ("labels", [True, False]),
    ("labels", [["x", "y"], []]),
    ("labels", [[3, 4], [5]]),
    ("labels", ["x", 1.5]),
    ("labels", [1, "x"]),
    ("labels", ["1.5", "2.5"]),
    ("labels", [date(2019, 7, 14), "soon"]),
    ("whole", [2019, None]),
    ("whole", [2019, np.nan]),
    ("whole", [np.nan, 2019.0]),
    ("whole", np.array([1, 2])),
    ("whole", pd.Series([1, None], dtype="Int64")),
    ("whole", pl.Series([1, None])),
    ("numbers", [1.0, 2.0]),
    ("numbers", [1, 2.5, None]),
    ("numbers", [np.nan, 2.5]),
    ("numbers", [Decimal("1.5"), None]),
    ("numbers", pl.Series([1.5, None])),
    ("dates", [datetime(2019, 7, 14), None]),
    ("dates", ["", "2019-07-14T18:05:33Z", "2019:07:14 18:05:33"]),
    ("dates", pd.Series(pd.to_datetime(["2019-07-14", None]))),
    ("dates", pd.Series(pd.to_datetime(["2019-07-14"]).tz_localize("UTC"))),
    ("vectors", [None, [1, 0, 0], [0.5, 0.5, 1.0]]),
    ("vectors", np.ones((2, 3), np.float32)),
    ("vectors", [np.ones(3), np.ones(3)]),
    ("points", [{"lat": 1.0, "lon": 2.0}]),
    ("points", [[-8.6, 41.1]]),
    (None, [None, ""]),
    (None, np.array([np.nan])),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[str(values)[:30] for _, values in KINDS])
def test_values_decide_what_a_column_holds(kind: str | None, values: Any) -> None:
    column = mc.Candidates(np.arange(len(values)), columns={"c": values}).columns["c"]
    assert kind_of(column) == kind
    if isinstance(values, list):
        cells = mc.Candidates.from_records([{"score": 1, "c": value} for value in values]).columns
        assert kind_of(cells.cells_named("c")) == kind  # type: ignore[attr-defined]


RNG = np.random.default_rng(2)
COUNT = 30
PRICES = RNG.normal(50, 10, COUNT).tolist()
DAYS = [f"2019-07-{day:02} 10:00" for day in RNG.integers(1, 28, COUNT)]
HITS: list[dict[str, Any]] = [
    {"id": at, "score": 1 - at / 60, "price": price, "taken": day, "look": RNG.normal(size=5).tolist(), "year": at % 3}
    for at, (price, day) in enumerate(zip(PRICES, DAYS, strict=True))
]
NAMED: dict[str, Any] = {
    "price": mc.Number("price"), "taken": mc.Date("taken", name="taken"), "look": mc.Vectors("look", name="look"),
    "year": mc.Category("year"),
}  # fmt: skip
COLUMNS: dict[str, list[Any]] = {name: [hit[name] for hit in HITS] for name in ("id", "score", *NAMED)}
SCORES = COLUMNS["score"]
WAYS: dict[str, Callable[[mc.Wish], list[int]]] = {
    "records": lambda wish: mc.rerank(HITS, wish, 8).ids,
    "frame": lambda wish: mc.rerank(pd.DataFrame(HITS), wish, 8).ids,
    "Polars": lambda wish: mc.rerank(pl.DataFrame(HITS), wish, 8).ids,
    "many": lambda wish: mc.rerank_many([HITS, HITS[:3]], wish, 8).ids[0],
    "batch": lambda wish: mc.rerank_many(
        mc.Batch([SCORES], columns={name: [COLUMNS[name]] for name in NAMED}), wish, 8
    ).ids[0],
    "corpus": lambda wish: mc.Reranker(wish).fit(COLUMNS).rerank(list(range(COUNT)), SCORES, 8).ids,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("way", WAYS)
def test_a_bare_column_is_its_attribute_everywhere(way: str, name: str) -> None:
    page = WAYS[way]
    assert page(mc.spread(name)) == page(mc.spread(NAMED[name]))
    assert page(mc.focus(name)) == page(mc.focus(NAMED[name]))
    if name != "look":
        near = HITS[20][name]
        assert page(mc.focus(name, near=near)) == page(mc.focus(NAMED[name], near=near))


def test_vectors_are_found_by_their_usual_names() -> None:
    wanted = mc.rerank(mc.Candidates(SCORES, vectors=COLUMNS["look"]), mc.spread(mc.Vectors()), 8).ids
    for usual in ("vector", "embedding"):
        frame = pd.DataFrame(HITS).rename(columns={"look": usual})
        records = frame.to_dict("records")
        for candidates in (frame, records):
            assert mc.rerank(candidates, mc.spread(mc.Vectors()), 8).ids == wanted
            assert mc.rerank(candidates, mc.spread(usual), 8).ids == wanted
            assert mc.rerank_many([candidates], mc.spread(mc.Vectors()), 8).ids == [wanted]
        ranker = mc.Reranker(mc.spread(mc.Vectors())).fit(frame[[usual]])
        assert ranker.rerank(list(range(COUNT)), SCORES, 8).ids == wanted
        assert len(ranker.append(frame[[usual]])) == 2 * COUNT
    assert mc.rerank([{"score": 1.0, "vector": "x"}, {"score": 0.5, "vector": "y"}], mc.spread("vector"), 1).ids == [0]
    with pytest.raises(mc.InputError, match="Vectors needs vectors"):
        mc.rerank([{"score": 1.0, "vector": "x"}], mc.spread(mc.Vectors()))


def test_the_ranking_names_the_attribute_and_the_column() -> None:
    page = mc.rerank(HITS, [mc.spread("price"), mc.spread("year"), mc.limit("taken", 1)], 5)
    assert page.wishes == (mc.spread(mc.Number("price")), mc.spread("year"), mc.limit(NAMED["taken"], 1))
    assert set(page.gains) == {"relevance", "price", "year"}
    assert [mc.from_dict(wish.to_dict()) for wish in page.wishes] == list(page.wishes)


def test_a_day_is_counted_whatever_the_hour() -> None:
    hits = [{"id": at, "score": 3 - at, "at": f"2019-07-1{at // 2} 1{at}:00"} for at in range(3)]
    assert mc.rerank(hits, mc.limit("at", 1)).ids == [0, 2]


MANY = [{"score": 1.0, "stock": at, "price": at / 7, "geo": [1.5, at / 4]} for at in range(MOST_WHOLE + 1)]
REFUSED: dict[str, tuple[mc.AnyWish, list[str]]] = {
    "limit": (mc.limit("price", 1), ["limit(price)", "Number('price', edges=[...])"]),
    "share": (mc.share("price", {"1": 0.5}), ["share(price)", "edges"]),
    "at_least": (mc.at_least("price", {"1": 1}), ["at_least(price)", "edges"]),
    "combination": (mc.limit(("stock", "price"), 1), ["limit(stock+price)", "'price'"]),
    "whole": (mc.spread("stock"), ["51 different", "Number('stock')", "Category('stock')"]),
    "focus": (mc.focus("stock", near=3), ["focus(stock)", "Number('stock')"]),
    "points": (mc.spread("geo"), ["Place('geo')"]),
    "within": (mc.focus("flag", near=True, within=2), ["distances"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_ambiguous_is_refused_with_the_right_name(case: str) -> None:
    wish, parts = REFUSED[case]
    with pytest.raises(mc.OptionError) as error:
        mc.rerank([{**hit, "flag": True} for hit in MANY], wish)
    assert [part for part in parts if part not in str(error.value)] == []


def test_whole_numbers_are_labels_of_rules_and_of_small_columns() -> None:
    few = MANY[:MOST_WHOLE]
    assert len(mc.rerank(few, mc.spread("stock"), 5)) == 5
    assert len(mc.rerank(MANY, mc.limit("stock", 1), 60)) == MOST_WHOLE + 1
    assert mc.rerank(MANY, mc.spread(mc.Category("stock")), 2).ids == [0, 1]


def test_queries_agree_on_what_a_column_holds() -> None:
    whole, fractions = [{"score": 1.0, "c": 1}], [{"score": 1.0, "c": 1.5}]
    texts, empty = [{"score": 1.0, "c": "x"}], [{"score": 1.0, "c": None}]
    assert mc.rerank_many([whole, fractions, empty], mc.spread("c"))[0].wishes == (mc.spread(mc.Number("c")),)
    assert mc.rerank_many([whole, texts], mc.spread("c"))[0].wishes == (mc.spread("c"),)
    with pytest.raises(mc.InputError, match="labels and numbers"):
        mc.rerank_many([fractions, texts], mc.spread("c"))


def test_labels_that_are_asked_for_stay_labels_when_they_are_saved(tmp_path: Path) -> None:
    explicit = mc.spread(mc.Category("price"))
    assert mc.from_dict(explicit.to_dict()) == explicit != mc.spread("price")
    assert mc.spread("price").to_dict() == {"spread": "price", "weight": 1.0}
    assert mc.from_dict(mc.spread(BareColumn("c", "drop")).to_dict()) == mc.spread(mc.Category("c", "drop"))
    rows = list(range(COUNT))
    ranker = mc.Reranker([mc.spread("price"), mc.limit("year", 2)]).fit(COLUMNS)
    ranker.save(tmp_path / "corpus.npz")
    loaded = mc.Reranker.load(tmp_path / "corpus.npz")
    assert loaded.wishes == (mc.spread(mc.Number("price")), mc.limit("year", 2))
    assert loaded.rerank(rows, SCORES, 8).ids == ranker.rerank(rows, SCORES, 8).ids


@pytest.mark.parametrize("option", [["--spread", "price"], ["--focus", "price=47~3"], ["--focus", "taken=2019-07-20"]])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_the_command_reads_columns_as_the_library_does(tmp_path: Path, option: list[str], suffix: str) -> None:
    path = tmp_path / f"hits.{suffix}"
    frame = pd.DataFrame(HITS)[["id", "score", "price", "taken"]]
    path.write_text(frame.to_csv(index=False) if suffix == "csv" else frame.to_json(orient="records", lines=True))
    near: dict[str, Any] = {"price": {"near": 47, "within": 3}, "taken": {"near": "2019-07-20"}}
    name = option[1].partition("=")[0]
    wish = mc.spread(name) if option[0] == "--spread" else mc.focus(name, **near[name])
    done = run_command("rerank", str(path), "-k", "8", *option)
    assert done.returncode == 0, done.stderr
    ids = [str(json.loads(line)["id"]) for line in done.stdout.splitlines()]
    assert ids == list(map(str, mc.rerank(HITS, wish, 8).ids))


@pytest.mark.parametrize("name", NAMED)
def test_the_service_and_profiles_read_columns_as_the_library_does(name: str) -> None:
    wanted = mc.rerank(HITS, mc.spread(name), 8).ids
    columns = {name: COLUMNS[name] for name in NAMED}
    for part in ({"records": HITS}, {"scores": SCORES, "columns": columns}):
        body = json.dumps({**part, "wishes": [{"spread": name}], "k": 8}).encode()
        assert [result.id for result in RerankTask(body).answer().results] == wanted
    assert profile_of("home", {"wishes": [{"spread": name}], "k": 8}).rerank(HITS).ids == wanted
