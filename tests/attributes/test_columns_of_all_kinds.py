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
from mascot.attributes.columns import as_array, hours, numbers, times
from mascot.serialize import plain

NAN = float("nan")
ONE = mc.Mascot(0.9, protect=1)


def hour_of(column: Any) -> list[float]:
    found: list[float] = hours({"t": as_array(column)}, "t", "HourOfDay").tolist()
    return found


def missing(attribute: Any, column: Any) -> list[bool]:
    found = mc.Candidates(np.arange(len(column)), columns={"x": column})
    rows: list[bool] = attribute.membership(found.columns, None).missing().tolist()
    return rows


# Times


def test_a_time_zone_leaves_the_wall_clock_alone() -> None:
    late = dt.datetime(2020, 1, 1, 22)
    tokyo = dt.timezone(dt.timedelta(hours=9))
    for column in (
        pl.Series([late, None]).dt.replace_time_zone("Asia/Tokyo"),
        pd.Series([pd.Timestamp(late, tz="Asia/Tokyo"), pd.NaT]),
        pa.array([late.replace(tzinfo=tokyo), None], pa.timestamp("us", "Asia/Tokyo")),
        [late.replace(tzinfo=tokyo), None],
        ["2020-01-01T22:00:00+09:00", None],
    ):
        assert hour_of(column) == pytest.approx([22.0, NAN], nan_ok=True)


@pytest.mark.parametrize(
    "text",
    [
        "2019-07-14 18:05:33+00",
        "2019-07-14 18:05:33.123456-07",
        "2019-07-14T18:05+09",
        "2019-07-14t18:05:33z",
        "20190714T180533",
        "20190714T1805Z",
        "20190714T180533+0900",
    ],
)
def test_times_as_databases_and_programs_write_them(text: str) -> None:
    assert hour_of([text]) == pytest.approx([18 + 5 / 60])
    assert times({"t": as_array([text])}, "t", "Date").astype("datetime64[D]") == np.datetime64("2019-07-14")


@settings(max_examples=50)
@given(st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 12, 31)), st.sampled_from(["", "Z", "+09", "-03:30"]))
def test_every_iso_time_is_read(moment: dt.datetime, zone: str) -> None:
    moment = moment.replace(microsecond=0)
    for text in (f"{moment:%Y-%m-%dT%H:%M:%S}", f"{moment:%Y-%m-%d %H:%M:%S}", f"{moment:%Y%m%dT%H%M%S}"):
        assert times({"t": as_array([text + zone])}, "t", "Date")[0].item() == moment
    hour = moment.replace(minute=0, second=0)
    for text in (f"{hour:%Y-%m-%dT%H}", f"{hour:%Y-%m-%d %H}", f"{hour:%Y%m%dT%H}"):
        assert times({"t": as_array([text + zone])}, "t", "Date")[0].item() == hour


def test_a_page_lists_what_is_read_and_it_is() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "attributes.md").read_text(encoding="utf-8")
    table = page.split("| text | read as |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        texts, meaning = line.strip("| ").split(" | ")
        for text in re.findall(r"`([^`]+)`", texts):
            column = {"t": as_array([text])}
            if meaning.startswith("refused"):
                with pytest.raises(mc.InputError, match="must hold times"):
                    times(column, "t", "Date")
            elif meaning.startswith("missing"):
                assert np.isnat(times(column, "t", "Date")).all()
            elif meaning.startswith("an hour"):
                assert hour_of([text]) == [18.5]
            else:
                whole = text if text.startswith("2019") else f"2019-07-14T18:05:33{text}"
                day = times({"t": as_array([whole])}, "t", "Date").astype("datetime64[D]")
                assert day == np.datetime64("2019-07-14")


@pytest.mark.parametrize("text", ["2019-07-14-05", "1690000000", "18", "2019-07-14T1", "2019-07-14T"])
def test_text_that_may_mean_something_else_is_no_time(text: str) -> None:
    with pytest.raises(mc.InputError, match=rf"must hold times \(ISO, EXIF or datetime\), got '{text}'$"):
        times({"t": as_array(np.array([text]))}, "t", "Date")


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("2024", "a year alone is not a time, write a day like 2024-07-14"),
        ("2024-01", "a month alone is not a time, write a day like 2024-01-14"),
        ("20240131", "eight digits may be any number, write 2024-01-31"),
    ],
)
def test_half_a_time_is_refused_with_its_cure(text: str, cure: str) -> None:
    with pytest.raises(mc.InputError) as caught:
        times({"t": as_array([text])}, "t", "Date")
    assert str(caught.value) == f"Date column 't' must hold times (ISO, EXIF or datetime), got '{text}': {cure}"
    with pytest.raises(mc.OptionError) as refused:
        mc.focus(mc.Date(), near=text)
    assert str(refused.value) == f"Date near must be a time (ISO, EXIF or datetime), got '{text}': {cure}"


def test_hours_as_people_have_them() -> None:
    assert hour_of(["18:30", "9:15", "24:00", None, "18:30:59"]) == pytest.approx(
        [18.5, 9.25, 0.0, NAN, 18.5], nan_ok=True
    )
    assert hour_of(np.array(["18:30", "07:00+09"])) == [18.5, 7.0]
    assert hour_of([np.int64(5), None, np.float32(6.5), Decimal("7.25")]) == pytest.approx(
        [5, NAN, 6.5, 7.25], nan_ok=True
    )
    assert hour_of([dt.time(6, 30), "2020-01-01T07:30", 8, dt.datetime(2020, 1, 1, 9)]) == [6.5, 7.5, 8.0, 9.0]
    assert np.isnan(hour_of(["25:00", "18:75", "    :  :     :  :  "])).all()
    assert np.isnat(times({"t": as_array(["    :  :     :  :  "])}, "t", "Date")).all()


@pytest.mark.parametrize(
    "column",
    [
        [1690000000, None],
        [1690000000000, None],
        [np.int64(1690000000), None],
        [1690000000.25, NAN],
        np.array([1690000000.0, NAN]),
        np.array(["2023-07-22T04:26:40", "NaT"], "datetime64[s]"),
        pd.Series([1690000000000, None], dtype="Int64"),
    ],
    ids=lambda column: type(column).__name__,
)
def test_unix_seconds_and_milliseconds_are_times(column: Any) -> None:
    assert hour_of(column) == pytest.approx([4 + 26 / 60, NAN], nan_ok=True)
    moments = times({"t": as_array(column)}, "t", "Date")
    assert moments.tolist() == [dt.datetime(2023, 7, 22, 4, 26, 40), None]


@pytest.mark.parametrize("column", [[1690000000, 18], [1690000000, 1690000000000], [25.0], [Decimal(1690000000)]])
def test_numbers_that_are_neither_hours_nor_unix_times_are_refused(column: Any) -> None:
    with pytest.raises(mc.InputError) as caught:
        hour_of(column)
    rule = "must hold times, Unix seconds or milliseconds, or plain hours in 0..24"
    assert str(caught.value) == f"HourOfDay column 't' {rule}, got {column[0]:.15g}"


def test_messages_show_plain_values() -> None:
    for column in (np.array([1690]), [np.int64(1690), None]):
        with pytest.raises(mc.InputError, match=r"got 1690(\.0)?$"):
            times({"t": as_array(column)}, "t", "Weekday")
    with pytest.raises(mc.InputError, match=r"could not convert string to float: 'x'"):
        numbers({"t": as_array([np.str_("x"), None])}, "t", "Number")
    with pytest.raises(mc.InputError, match=r"must lie within -1e150..1e150, got a larger integer"):
        numbers({"t": as_array([10**400, None])}, "t", "Number")
    with pytest.raises(mc.InputError, match=r"got \(100\.0, 0\.0\)"):
        mc.focus(mc.Place(), near=(np.float64(100), np.float64(0)))
    for attribute in (mc.Number("t"), mc.Date("t"), mc.HourOfDay("t")):
        with pytest.raises(mc.InputError, match=r"column 't' must hold one value each, got 2 x 3"):
            attribute.membership({"t": np.zeros((2, 3))}, None)


# Missing values


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", pd.NA, "c"], dtype="string"),
        pd.Series(["a", pd.NA, "c"], dtype="string[pyarrow]"),
        pd.Series([True, pd.NA, False], dtype="boolean"),
        pd.Series([["a"], [pd.NA], ["b"]]),
        ["a", pd.NA, "c"],
        np.ma.array(["a", "b", "c"], mask=[0, 1, 0]),
        np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[ns]"),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')}",
)
def test_what_is_missing_is_no_label(column: Any) -> None:
    assert missing(mc.Category("x"), column) == [False, True, False]


@pytest.mark.parametrize(
    "column",
    [
        [1, pd.NA, 3],
        pd.Series([1, pd.NA, 3], dtype="Int64"),
        np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    ],
)
def test_what_is_missing_is_no_number(column: Any) -> None:
    assert missing(mc.Number("x"), column) == [False, True, False]
    found = mc.Candidates([3, 2, 1], columns={"x": column})
    assert mc.rerank(found, mc.spread(mc.Number("x", missing="drop")), 3).ids == [0, 2]


def test_masked_times_and_vectors_are_missing_and_unmasked_ones_stay() -> None:
    taken = np.ma.array(np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), mask=[1, 0])
    assert missing(mc.Date("x"), taken) == [True, False]
    vectors = np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[0, 1], [0, 0]])
    found = mc.Candidates([2, 1], vectors=vectors)
    assert mc.Clusters(1).membership({}, found.vectors).missing().tolist() == [True, False]
    assert as_array(np.ma.array([1, 2])).tolist() == [1, 2]


# Scores and ids


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.ma.array([0.9, 0.5], mask=[0, 1]), "scores must not be masked, got a masked value at position 1"),
        (np.array([1 + 2j, 3]), "scores must be numbers, got complex128"),
        ([1 + 2j, 3], "scores must be numbers, got [(1+2j), 3]"),
        (np.array(["2020-01-01"], "datetime64[D]"), "scores must be numbers, got datetime64[D]"),
    ],
)
def test_scores_that_are_none(scores: Any, said: str) -> None:
    with pytest.raises(mc.InputError) as caught:
        mc.Candidates(scores)
    assert str(caught.value) == said


def test_scores_are_copied() -> None:
    scores = np.array([0.9, 0.5, 0.1])
    ranking = mc.rerank(mc.Candidates(scores), [], 3)
    fitted = mc.Reranker([]).fit({"x": [1, 2, 3]}).rerank([0, 1, 2], scores, 3)
    scores[:] = 0
    assert ranking.relevance[0] == fitted.relevance[0] == pytest.approx(1.0)


def test_ids_are_hashable() -> None:
    with pytest.raises(mc.InputError, match=r"Candidates\.ids must be hashable, got \[1\]"):
        mc.Candidates([2, 1], ids=["a", [1]])  # type: ignore[list-item]


# Tables


@pytest.mark.parametrize(
    "table", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pa.table(columns).to_batches()[0]]
)
def test_whole_tables_are_columns(table: Any) -> None:
    columns = {"city": ["Rome", "Rome", "Oslo"], "price": [1.0, 2.0, 3.0]}
    found = mc.Candidates([0.9, 0.8, 0.7], columns=table(columns))
    assert list(found.columns) == ["city", "price"]
    assert mc.rerank(found, mc.spread(mc.Category("city")), 2, ONE).ids == [0, 2]
    with pytest.raises(mc.InputError, match=r"Candidates.columns\['city'\] must have 2 values like scores, got 3"):
        mc.Candidates([0.9, 0.8], columns=table(columns))


def test_what_is_no_table() -> None:
    with pytest.raises(mc.InputError, match=r"Candidates.columns must be a dictionary or a table, got list"):
        mc.Candidates([1], columns=[1])  # type: ignore[arg-type]
    with pytest.raises(mc.InputError, match=r"Candidates.columns\['x'\] must be a list or an array of values, got 5"):
        mc.Candidates([1], columns={"x": 5})
    with pytest.raises(mc.InputError, match=r"Candidates.columns\['x'\] must have 1 values like scores, got "):
        mc.Candidates([1], columns={"x": np.array(5)})


# Vectors

ROWS = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
MAKERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda rows: rows,
    "objects": lambda rows: as_array([*rows, []])[:-1],
    "arrays": lambda rows: [None if row is None else np.array(row) for row in rows],
    "arrow": pa.array,
    "arrow fixed": lambda rows: pa.array(rows, pa.list_(pa.float32(), 2)),
    "chunked": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "polars": pl.Series,
    "polars fixed": lambda rows: pl.Series(rows, dtype=pl.Array(pl.Float64, 2)),
    "pandas": pd.Series,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_vectors_of_every_library(make: Callable[[Any], Any]) -> None:
    for column, attribute in ((True, mc.Clusters(2, column="v")), (False, mc.Clusters(2))):

        def found(rows: Any, column: bool = column) -> mc.Candidates:
            given = {"columns": {"v": make(rows)}} if column else {"vectors": make(rows)}
            return mc.Candidates([3, 2, 1], **given)

        assert mc.rerank(found(ROWS), mc.spread(attribute), 2, ONE).ids == [0, 2]
        some = found([ROWS[0], None, ROWS[2]])
        assert attribute.membership(some.columns, some.vectors).missing().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1.0, 2.0], [1.0]], "must hold vectors of one length, got 1 numbers at 1, 2 before"),
        ([["a", "b"], ["c", "d"]], "must hold vectors, N x D numbers, got ['a', 'b']"),
        (["a", "b"], "must hold vectors of numbers, got <U1"),
        ([[1.0], [np.inf]], "must be finite, got inf"),
        ([1.0, None], "must hold vectors, N x D numbers, got 1.0"),
    ],
)
def test_what_is_no_vector(rows: Any, said: str) -> None:
    with pytest.raises(mc.InputError) as caught:
        mc.rerank(mc.Candidates([2, 1], columns={"v": rows}), mc.spread(mc.Clusters(2, column="v")))
    assert str(caught.value) == f"Clusters column 'v' {said}"
    if rows != [1.0, None]:
        with pytest.raises(mc.InputError) as caught:
            mc.Candidates([2, 1], vectors=rows)
        assert str(caught.value) == f"Candidates.vectors {said}"


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
    scores = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]]
    batch = mc.Batch(scores, columns, vectors=[[*ROWS[:2], None], ROWS])
    assert batch.columns["label"].tolist()[::5] == ["a", None]
    attributes = [mc.Category("label"), mc.Category("tags"), mc.Category("ragged"), mc.Clusters(2, column="v")]
    attributes += [mc.Number("n"), mc.HourOfDay("hour"), mc.Clusters(2)]
    for attribute in attributes:
        many = mc.rerank_many(batch, mc.spread(attribute), 3, ONE, backend="numpy")
        for q in range(2):
            one = mc.Candidates(
                scores[q], columns={name: c[q] for name, c in columns.items()}, vectors=[[*ROWS[:2], None], ROWS][q]
            )
            assert many[q].ids == mc.rerank(one, mc.spread(attribute), 3, ONE, backend="numpy").ids


def test_a_batch_of_arrays_keeps_the_rows_of_its_values() -> None:
    batch = mc.Batch(np.ones((2, 3)), {"v": np.zeros((2, 3, 4)), "n": np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3))})
    assert batch.columns["v"].shape == (6, 4)
    assert np.isnan(batch.columns["n"]).tolist() == [True, False, False, False, True, False]


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ([[1, 2], [1, 2, 3]], "2 x 2 or 3"),
        ([[1, 2]], "1 x 2"),
        ([1, 2], "2"),
        (np.ones((3, 2)), "3 x 2"),
        (["ab", "cd"], "2"),
    ],
)
def test_a_batch_says_how_a_column_is_shaped(column: Any, got: str) -> None:
    with pytest.raises(mc.InputError) as caught:
        mc.Batch(np.ones((2, 2)), {"x": column})
    assert str(caught.value) == f"Batch.columns['x'] must have 2 x 2 values like scores, got {got}"
    with pytest.raises(mc.InputError, match=r"Batch.vectors must be 2 x 2 x D like scores, got"):
        mc.Batch(np.ones((2, 2)), vectors=column)


# Points


@pytest.mark.parametrize(
    ("attribute", "near", "said"),
    [
        (mc.Category("c"), NAN, "Category near must be a label or a list of labels, got nan"),
        (mc.Category("c"), [], "Category near must be a label or a list of labels, got []"),
        (mc.Category("c"), {"a": 1}, "Category near must be a label or a list of labels, got {'a': 1}"),
        (mc.Number("c"), "abc", "Number near must be a number, got 'abc'"),
        (mc.Number("c"), [1, 2], "Number near must be a number, got [1, 2]"),
        (mc.Cycle("c", 360.0), np.float64(NAN), "Cycle near must be a number, got nan"),
        (mc.Date(), 1690, "Date near must be a time (ISO, EXIF or datetime), got 1690"),
        (mc.DayOfYear(), pd.NaT, "DayOfYear near must be a time (ISO, EXIF or datetime), got NaT"),
        (mc.Weekday(), "Caturday", "Weekday near must be a day of the week or a time, got 'Caturday'"),
        (mc.HourOfDay(), 25, "HourOfDay near must be an hour like 18 or 18:30, got 25"),
    ],
)
def test_a_point_that_nothing_can_be_near_to_is_refused_at_once(attribute: Any, near: Any, said: str) -> None:
    with pytest.raises(mc.OptionError) as caught:
        mc.focus(attribute, near=near)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("labels", "near"), [(["5", "6"], 6), ([5, 6], "6"), ([["5", "7"], ["6"]], ("8", 6)), ([True, False], "False")]
)
def test_a_label_is_compared_as_text(labels: Any, near: Any) -> None:
    candidates = mc.Candidates([2, 1], columns={"c": labels})
    for backend in ("numpy", "native"):
        ranking = mc.rerank(candidates, mc.focus("c", near=near), 1, strength=1.0, protect=0, backend=backend)
        assert ranking.ids == [1]


def test_a_label_that_no_candidate_of_a_query_has_is_no_error() -> None:
    wish = mc.focus(mc.Category("c"), near="zzz")
    assert len(mc.rerank(mc.Candidates([2, 1], columns={"c": ["a", "b"]}), wish)) == 2
    assert len(mc.rerank(mc.Candidates([2, 1], columns={"c": [None, None]}), wish)) == 2
    ranker = mc.Reranker(mc.focus(mc.Category("c"), near="b")).fit({"c": ["a", "a", "b"]})
    assert ranker.rerank([0, 1], [2, 1]).ids == [0, 1]


def test_labels_in_an_array_of_rows_can_be_near() -> None:
    found = mc.Candidates([3, 2, 1], columns={"c": np.array([["a", "b"], ["c", "d"], ["a", "c"]])})
    assert mc.rerank(found, mc.focus(mc.Category("c"), near=["c", "d"]), 1, mc.Mascot(1.0, protect=0)).ids == [1]


# Options


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: mc.spread(mc.Place), "a wish needs an attribute such as Place() or Category('camera'), got <class"),  # type: ignore[arg-type]
        (lambda: mc.from_dict({"kind": "Wish", "attribute": 3, "sign": 1}), "a wish needs an attribute such as"),
        (lambda: mc.Wish(mc.Category("c"), 5), "Wish.sign must be 1 (spread) or -1 (focus), got 5"),
        (lambda: mc.Wish(mc.Category("c"), 0), "Wish.sign must be 1 (spread) or -1 (focus), got 0"),
        (lambda: mc.spread(mc.Place(), "2"), "spread(place).weight must be > 0, got '2'"),  # type: ignore[arg-type]
        (lambda: mc.HourOfDay(bins=10.5), "HourOfDay.bins must be a whole number >= 1, got 10.5"),  # type: ignore[arg-type]
        (lambda: mc.HourOfDay(sigma=None), "HourOfDay.sigma must be > 0, got None"),  # type: ignore[arg-type]
        (lambda: mc.Cycle("x", "360"), "Cycle.period must be > 0, got '360'"),  # type: ignore[arg-type]
        (lambda: mc.Cycle("x", 360.0, bins=0), "Cycle.bins must be a whole number >= 1, got 0"),
        (lambda: mc.Place(sigma_km="far"), "Place.sigma_km must be > 0, got 'far'"),  # type: ignore[arg-type]
        (lambda: mc.Place.grid(cells=2.5), "Place.grid.cells must be a whole number >= 2, got 2.5"),  # type: ignore[arg-type]
        (lambda: mc.Clusters(2.5), "Clusters.count must be a whole number >= 1, got 2.5"),  # type: ignore[arg-type]
        (lambda: mc.Branches(10), "Branches.counts must be whole numbers >= 1, such as (15, 30, 60), got 10"),  # type: ignore[arg-type]
        (lambda: mc.Branches((2.5,)), "Branches.counts must be whole numbers >= 1, such as (15, 30, 60), got (2.5,)"),  # type: ignore[arg-type]
    ],
)
def test_options_of_a_wrong_type_are_refused(made: Callable[[], object], said: str) -> None:
    with pytest.raises(mc.OptionError) as caught:
        made()
    assert str(caught.value).startswith(said)


def test_a_name_is_a_column_of_labels() -> None:
    assert mc.spread("seller") == mc.spread(mc.Category("seller"))
    assert mc.focus("seller", near="acme") == mc.focus(mc.Category("seller"), near="acme")
    assert mc.limit("seller", 2) == mc.limit(mc.Category("seller"), 2)
    assert mc.share("seller", {"acme": 0.5}) == mc.share(mc.Category("seller"), {"acme": 0.5})
    assert mc.from_dict({"kind": "Wish", "attribute": "seller", "sign": 1}) == mc.spread("seller")


# Values that travel


@pytest.mark.parametrize(
    ("attribute", "near"),
    [
        (mc.Date(), dt.datetime(2021, 6, 1, 12, 30)),
        (mc.Date(), dt.date(2021, 6, 1)),
        (mc.Date(), np.datetime64("2021-06-01T12:30", "ns")),
        (mc.Date(), np.datetime64("2021-06", "M")),
        (mc.DayOfYear(), pd.Timestamp("2021-06-01", tz="Asia/Tokyo")),
        (mc.HourOfDay(), dt.time(18, 30)),
        (mc.HourOfDay(), np.int64(18)),
        (mc.Weekday(), "Sunday"),
        (mc.Place(), [35.7, 139.7]),
        (mc.Place(), np.array([35.7, 139.7])),
        (mc.Place.grid(), (np.float32(35.5), 139)),
        (mc.Number("x"), np.float32(2.5)),
        (mc.Category("c"), np.str_("a")),
        (mc.Category("c"), ["a", "b"]),
        (mc.Category("c"), {"b", "a", "c"}),
    ],
)
def test_a_wish_comes_back_as_it_was_saved(attribute: Any, near: Any) -> None:
    wish = mc.focus(attribute, near=near)
    again = mc.from_dict(json.loads(json.dumps(wish.to_dict())))
    assert again == wish
    assert hash(again) == hash(wish)
    columns = {"taken": ["2021-06-01T12:30", "2021-12-01T18:30"], "lat": [35.7, 0.0], "lon": [139.7, 0.0]}
    found = mc.Candidates([2, 1], columns={**columns, "x": [2.5, 9.0], "c": ["a", "d"]})
    start = attribute.membership({key: as_array([v]) for key, v in attribute.point(near).items()}, None)
    same = attribute.membership({key: as_array([v]) for key, v in attribute.point(wish.near).items()}, None)
    assert start.sparse().indices.tolist() == same.sparse().indices.tolist()
    assert len(mc.rerank(found, again, 2)) == 2


class Own:
    name = "own"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.ones((2, 1))

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.ones((2, 1))


class Telling(Own):
    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Telling"}


def test_what_would_not_come_back_is_not_saved() -> None:
    with pytest.raises(mc.OptionError, match=r"Wish.attribute cannot be saved unless it has to_dict\(\), got <"):
        mc.spread(Own()).to_dict()
    with pytest.raises(mc.OptionError, match=r"Wish.near cannot be saved .*, got datetime.date\(2020, 1, 1\)"):
        mc.focus(mc.Category("day"), near=dt.date(2020, 1, 1)).to_dict()
    assert mc.spread(Telling()).to_dict()["attribute"] == {"kind": "Telling"}
    assert plain(mc.spread(Own()))["weight"] == 1.0


def test_a_label_that_is_a_date_stays_one() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    found = mc.Candidates([2, 1], columns={"day": days})
    wish = mc.focus(mc.Category("day"), near=days[1])
    assert mc.rerank(found, wish, 1, mc.Mascot(1.0, protect=0)).ids == [1]


@given(st.lists(st.sampled_from(["a", "b", " a", "", " ", "c\0d", "A"]), min_size=1, max_size=12))
@settings(deadline=None)
def test_texts_make_the_same_bins_as_objects(texts: list[str]) -> None:
    objects = np.array([*texts, None], object)[:-1]
    shortcut, general = (mc.Category("x").membership({"x": column}, None) for column in (np.array(texts), objects))
    assert shortcut.indptr.tolist() == general.indptr.tolist()
    assert shortcut.indices.tolist() == general.indices.tolist()
    assert (shortcut.count, shortcut.labels) == (general.count, general.labels)
