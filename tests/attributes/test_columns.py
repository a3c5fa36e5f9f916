"""Columns, vectors, points and ids as users have them: read as they are meant, or refused in our words."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.attributes import Clusters
from mascot.attributes.columns import as_array, as_objects
from mascot.attributes.times import hours, instants, times

NAN = float("nan")
UNGUARDED = mc.Mascot(0.9, protect=1)


def hour_of(column: Any) -> Any:
    return pytest.approx(hours({"t": as_array(column)}, "t", "HourOfDay").tolist(), nan_ok=True)


def time_of(*column: Any) -> Any:
    return times({"t": as_array(column[0] if len(column) == 1 else list(column))}, "t", "Date").tolist()


def missing(attribute: Any, column: Any) -> list[bool]:
    candidates = mc.Candidates(np.arange(len(column)), columns={"x": column})
    return attribute.membership(candidates.columns, None).missing().tolist()


# Times

MOMENT = dt.datetime(2019, 7, 14, 18, 5, 33)
ZONE = dt.timezone(dt.timedelta(hours=9))


@pytest.mark.parametrize(
    ("column", "zone"),
    [
        ([MOMENT], 0), ([pd.Timestamp(MOMENT)], 0), (np.array(["2019-07-14T18:05:33"], "M8[ns]"), 0),
        (["2019:07:14 18:05:33"], 0), (["2019-07-14 18:05:33.123456-07"], -7), (["2019-07-14T18:05:33Z"], 0),
        (["2019-07-14T18:05:33.5+09:00"], 9), (["20190714T180533-0330"], -3.5), ([MOMENT.replace(tzinfo=ZONE)], 9),
        (pl.Series([MOMENT]).dt.replace_time_zone("Asia/Tokyo"), 9),
        (pd.Series([pd.Timestamp(MOMENT, tz="Asia/Tokyo")]), 9),
        (pa.array([MOMENT.replace(tzinfo=ZONE)], pa.timestamp("us", "Asia/Tokyo")), 9),
    ],
)  # fmt: skip
def test_times_of_every_kind_have_a_local_clock_and_an_instant(column: Any, zone: float) -> None:
    table = {"taken": as_array(column)}
    assert time_of(column) == [MOMENT]
    assert instants(table, "taken", "Date").tolist() == [MOMENT - dt.timedelta(hours=zone)]
    attributes = (mc.HourOfDay(), mc.Date(), mc.Weekday(), mc.DayOfYear())
    values = [float(attribute.membership(table, None).values[0][0]) for attribute in attributes]
    assert values == pytest.approx([18 + 5 / 60, 18091.754 - zone / 24, 6.0, 194.0], abs=0.001)


def test_one_instant_in_two_zones_is_one_date_and_two_hours() -> None:
    columns = {"taken": ["2026-11-16T23:30:00+00:00", "2026-11-17T12:30:00+13:00", "2026-11-16T22:00:00Z"]}
    candidates = mc.Candidates([1.0, 0.9, 0.8], columns=columns)
    wish = mc.focus(mc.Date(), near="2026-11-16T23:30:00Z", within=0.01)
    assert mc.rerank(candidates, wish, k=2, strength=1.0).ids == [0, 1]
    assert mc.rerank(candidates, mc.limit(mc.Date(), 1), k=3).ids == [0]
    assert mc.rerank(candidates, mc.limit(mc.HourOfDay(), 1), k=3).ids == [0, 1, 2]


ISO = st.sampled_from(
    ["2019-07-14T18:05:33", "2019-07-14 18:05:33", "2019-07-14", "2019-07-14T18:05:33.25Z", "2019-07-14T18:05:33+0530",
     "2019-07-14T18:05:33 -07", "2021-02-30T00:00:00", "2019-07-14T24:00:00", "0000-01-01T00:00:00", "", None,
     "2019-07-14T18:05:33+99:99", "2019:07:14 18:05:33"]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(ISO, max_size=3))
def test_texts_read_at_once_are_the_times_of_each(column: list[str | None]) -> None:
    for read in (times, instants, hours):
        each = [read({"t": as_objects([text])}, "t", "Date")[0] for text in column]
        together = read({"t": as_objects(column * 8)}, "t", "Date")  # enough to be read at once
        np.testing.assert_array_equal(together, np.array(each * 8, together.dtype))


@settings(max_examples=20)
@given(st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 12, 31)), st.sampled_from(["", "Z", "+09", "-03:30"]))
def test_every_iso_time_is_read(moment: dt.datetime, zone: str) -> None:
    moment = moment.replace(microsecond=0)
    for text in (f"{moment:%Y-%m-%dT%H:%M:%S}", f"{moment:%Y-%m-%d %H:%M:%S}", f"{moment:%Y%m%dT%H%M%S}"):
        assert time_of([text + zone]) == [moment]
    assert time_of([f"{moment:%Y-%m-%dT%H}{zone}"]) == [moment.replace(minute=0, second=0)]


def test_a_page_lists_what_is_read_and_it_is() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "attributes.md").read_text(encoding="utf-8")
    table = page.split("| text | read as |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        texts, meaning = line.strip("| ").split(" | ")
        for text in re.findall(r"`([^`]+)`", texts):
            if meaning.startswith("refused"):
                with pytest.raises(mc.InputError, match="must hold times"):
                    time_of([text])
            elif meaning.startswith("missing"):
                assert time_of([text]) == [None]
            elif meaning.startswith("an hour"):
                assert hour_of([text]) == [18.5]
            else:
                (moment,) = time_of([text if text.startswith("2019") else f"2019-07-14T18:05:33{text}"])
                assert moment.date() == dt.date(2019, 7, 14)


def test_text_that_may_mean_something_else_is_refused_with_its_remedy() -> None:
    for text, remedy in (("2019-07-14T1", ""), ("20240131", ": eight digits may be any number, write 2024-01-31")):
        message = re.escape(f"(ISO, EXIF or datetime), got '{text}'{remedy}")
        with pytest.raises(mc.InputError, match=rf"^Date column 't' must hold times {message}$"):
            time_of([text])
        with pytest.raises(mc.OptionError, match=rf"^Date near must be a time {message}$"):
            mc.focus(mc.Date(), near=text)


@pytest.mark.parametrize("values", [[0, 1563127533], [1563127533, 1563127533000], [1563127533000000]])
def test_numbers_that_are_no_unix_times_are_refused_with_their_remedy(values: list[int]) -> None:
    with pytest.raises(
        mc.InputError, match=r"^Date column 't' must hold times .*: numbers are Unix times from 1973 on"
    ):
        time_of(values)


def test_hours_and_missing_times_as_people_have_them() -> None:
    for value in (None, "  ", "0000:00:00 00:00:00", "    :  :     :  :  ", "2021-02-30", NAN, pd.NaT):
        assert missing(mc.Date("x"), ["2020-01-01", value]) == [False, True]
    assert hour_of(["18:30", "9:15", "24:00", None, "18:30:59"]) == [18.5, 9.25, 0.0, NAN, 18.5]
    assert hour_of(np.array(["18:30", "07:00+09"])) == [18.5, 7.0]
    assert hour_of([np.int64(5), None, np.float32(6.5), Decimal("7.25")]) == [5, NAN, 6.5, 7.25]
    assert hour_of([dt.time(6, 30), "2020-01-01T07:30", 8, dt.datetime(2020, 1, 1, 9)]) == [6.5, 7.5, 8.0, 9.0]
    assert hour_of(["25:00", "18:75", "    :  :     :  :  "]) == [NAN] * 3


def test_numbers_are_hours_or_unix_times_or_refused() -> None:
    for column in ([np.int64(1690000000), None], pd.Series([1690000000000, None], dtype="Int64")):
        assert hour_of(column) == [4 + 26 / 60, NAN]
        assert time_of(column) == [dt.datetime(2023, 7, 22, 4, 26, 40), None]
    rule = "^HourOfDay column 't' must hold times, Unix seconds or milliseconds, or plain hours in 0..24, got "
    for column in ([1690000000, 18], [25.0]):
        with pytest.raises(mc.InputError, match=f"{rule}{column[0]:.15g}$"):
            hour_of(column)


# Missing values, and the libraries that columns come from


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        (mc.Category("x"), pd.Series(["a", pd.NA, "c"], dtype="string[pyarrow]")),
        (mc.Category("x"), pd.Series([["a"], [pd.NA], ["b"]])),
        (mc.Category("x"), np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[ns]")),
        (mc.Number("x"), pd.Series([1, pd.NA, 3], dtype="Int64")),
        (mc.Number("x"), np.ma.array([1, 2, 3], mask=[0, 1, 0])),
        (mc.Date("x"), np.ma.array(np.array(["2020-01-01"] * 3, "datetime64[D]"), mask=[0, 1, 0])),
    ],
)
def test_what_is_missing_is_not_a_value(attribute: Any, column: Any) -> None:
    assert missing(attribute, column) == [False, True, False]


LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "list": lambda values: values,
    "arrays": lambda values: [np.array(value) if isinstance(value, list) else value for value in values],
    "pandas": pd.Series,
    "polars": pl.Series,
    "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "arrow fixed": lambda values: pa.array(values, pa.list_(pa.float32(), 2) if isinstance(values[0], list) else None),
}
ROWS = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_columns_and_vectors_of_every_library(make: Callable[[Any], Any]) -> None:
    candidates = mc.Candidates(
        make([0.3, 0.2, 0.1]), columns={"number": make([1.5, None, 3.0]), "text": make(["a", None, "b"])}
    )
    for attribute in (mc.Number("number"), mc.Category("text")):
        assert attribute.membership(candidates.columns, None).missing().tolist() == [False, True, False]
    labels = mc.Candidates([3, 2, 1], columns={"x": make([[1, 2], None, [3, 4]])}).columns
    assert np.diff(mc.Category("x").membership(labels, None).indptr).tolist() == [2, 0, 2]
    for attribute, place in ((Clusters(2, column="v"), "columns"), (Clusters(2), "vectors")):
        whole, holes = (
            mc.Candidates([3, 2, 1], **{place: {"v": make(rows)} if place == "columns" else make(rows)})
            for rows in (ROWS, [ROWS[0], None, ROWS[2]])
        )
        assert mc.rerank(whole, mc.spread(attribute), 2, UNGUARDED).ids == [0, 2]
        assert attribute.membership(holes.columns, holes.vectors).missing().tolist() == [False, True, False]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_whole_tables_are_columns(table: Any) -> None:
    columns = {"city": ["Rome", "Rome", "Oslo"], "price": [1.0, 2.0, 3.0]}
    candidates = mc.Candidates([0.9, 0.8, 0.7], columns=table(columns))
    assert list(candidates.columns) == ["city", "price"]
    assert mc.rerank(candidates, mc.spread("city"), 2, UNGUARDED).ids == [0, 2]
    ranker = mc.Reranker(mc.spread("city")).fit(table(columns), ids=pd.Series(["x", "y", "z"], index=[2, 1, 0]))
    assert set(ranker.rerank([0, 1, 2], [3.0, 2.0, 1.0], k=3).ids) == {"x", "y", "z"}


def test_ragged_vectors_are_refused_masked_ones_are_missing_and_scores_are_copied() -> None:
    with pytest.raises(mc.InputError, match=r"^Candidates.vectors must hold vectors of one length, got 1 numbers at 1"):
        mc.Candidates([2, 1], vectors=[[1.0, 2.0], [1.0]])
    vectors = np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[0, 1], [0, 0]])
    candidates = mc.Candidates([2, 1], vectors=vectors)
    assert Clusters(1).membership({}, candidates.vectors).missing().tolist() == [True, False]
    scores = np.array([0.9, 0.5, 0.1])
    ranking = mc.rerank(mc.Candidates(scores), [], 3)
    fitted = mc.Reranker([]).fit({"x": [1, 2, 3]}).rerank([0, 1, 2], scores, 3)
    scores[:] = 0
    assert ranking.relevance[0] == fitted.relevance[0] == pytest.approx(1.0)


# Batches


def test_a_batch_of_nested_lists_reads_as_its_queries_do() -> None:
    columns: dict[str, Any] = {
        "label": [["a", NAN, "b"], ["a", "a", None]],
        "tags": [[["a", "b"], ["c", "d"], ["a", "c"]], [["a", "b"], ["a", "b"], ["c", "d"]]],
        "ragged": [[["a"], [], ["b", "c"]], [["a"], ["a", "b"], ["d"]]],
        "v": [ROWS, ROWS[::-1]],
        "n": [[1, None, 3], [4, 5, 6]],
        "hour": [pd.Series([1.0, 2.0, 3.0]), np.array([4, 5, 6])],
    }
    scores, vectors = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]], [[*ROWS[:2], None], ROWS]
    batch = mc.Batch(scores, columns, vectors)
    assert batch.columns["label"].tolist()[::5] == ["a", None]
    masked = mc.Batch(np.ones((2, 3)), {"n": np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3))})
    assert np.isnan(masked.columns["n"]).tolist() == [True, False, False, False, True, False]
    attributes = [*map(mc.Category, ("label", "tags", "ragged")), Clusters(2, column="v"), mc.Number("n")]
    for attribute in (*attributes, mc.HourOfDay("hour"), Clusters(2)):
        many = mc.rerank_many(batch, mc.spread(attribute), 3, UNGUARDED, threads=2)
        for q in range(2):
            own = mc.Candidates(scores[q], None, {name: c[q] for name, c in columns.items()}, vectors[q])
            assert many[q].ids == mc.rerank(own, mc.spread(attribute), 3, UNGUARDED, backend="numpy").ids


# Labels and named values


@pytest.mark.parametrize(("labels", "near"), [([["5", "7"], ["6"]], ("8", 6)), ([True, False], "False")])
def test_a_label_is_compared_as_text(labels: Any, near: Any) -> None:
    candidates = mc.Candidates([2, 1], columns={"c": labels})
    assert mc.rerank(candidates, mc.focus("c", near=near), 1, strength=1.0, protect=0).ids == [1]
    ranker = mc.Reranker(mc.focus("c", near="nobody")).fit(candidates.columns)
    assert ranker.rerank([0, 1], [2, 1]).ids == [0, 1]  # a label that no candidate has is not an error


@pytest.mark.parametrize(
    ("attribute", "near"),
    [
        (mc.Date(), dt.date(2021, 6, 1)), (mc.Date(), np.datetime64("2021-06", "M")), (mc.HourOfDay(), dt.time(18, 30)),
        (mc.DayOfYear(), pd.Timestamp("2021-06-01", tz="Asia/Tokyo")), (mc.Weekday(), "Sunday"),
        (mc.Place.grid(), (np.float32(35.5), 139)), (mc.Number("x"), np.float32(2.5)), (mc.Category("c"), {"b", "a"}),
    ],
)  # fmt: skip
def test_a_wish_comes_back_as_it_was_saved(attribute: Any, near: Any) -> None:
    wish = mc.focus(attribute, near=near)
    again = mc.from_dict(json.loads(json.dumps(wish.to_dict())))
    assert again == wish
    assert hash(again) == hash(wish)
    attribute = wish.attribute
    start, same = (
        attribute.membership({key: as_array([v]) for key, v in attribute.point(value).items()}, None).sparse()
        for value in (near, wish.near)
    )
    assert start.indices.tolist() == same.indices.tolist()


def test_what_would_not_come_back_is_not_saved() -> None:
    with pytest.raises(mc.OptionError, match=r"near cannot be saved .*, got datetime.date\(2020, 1, 1\)"):
        mc.focus(mc.Category("day"), near=dt.date(2020, 1, 1)).to_dict()


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["a", "b", " a", "", " ", "c\0d", "A"]), min_size=1, max_size=12))
def test_texts_make_the_same_bins_as_objects(texts: list[str]) -> None:
    objects = np.array([*texts, None], object)[:-1]
    shortcut, general = (mc.Category("x").membership({"x": column}, None) for column in (np.array(texts), objects))
    assert shortcut.indptr.tolist() == general.indptr.tolist()
    assert shortcut.indices.tolist() == general.indices.tolist()
    assert (shortcut.count, shortcut.labels) == (general.count, general.labels)
