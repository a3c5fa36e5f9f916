"""Tables become candidates, and what is wrong with one is said with its file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.cli import tables

RECORDS: list[dict[str, Any]] = [
    {"id": "a", "score": 0.9, "city": "Rome", "lat": 41.9},
    {"id": "b", "score": 0.4, "city": None, "lat": None},
    {"id": "ü", "score": 1, "city": "São Paulo", "lat": -23.5},
]
LINES = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS)
CSV = "id,score,city,lat\na,0.9,Rome,41.9\nb,0.4,,\nü,1,São Paulo,-23.5\n"


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.jsonl", LINES), ("h.NDJSON", LINES), ("h.json", json.dumps(RECORDS, indent=1)), ("h.csv", CSV),
        ("h.tsv", CSV.replace(",", "\t")), ("h.csv", CSV.replace(",", ";")), ("h.csv", CSV.replace(",", "\t")),
    ],
)  # fmt: skip
def test_files_hold_the_same_records(tmp_path: Path, name: str, text: str) -> None:
    table = tables.read(written(tmp_path, name, text))
    assert table.records == RECORDS
    assert table.columns == ["id", "score", "city", "lat"]
    packed = tmp_path / f"{name}.GZ"
    packed.write_bytes(gzip.compress(text.encode()))
    assert tables.read(str(packed)).records == RECORDS
    other = tmp_path / "other.gz"  # the suffix says that it is packed, the format what is inside
    other.write_bytes(packed.read_bytes())
    assert tables.read(str(other), tables.SUFFIXES[Path(name).suffix.lower()]).records == RECORDS


def test_a_broken_gzip_file_is_said_to_be_one(tmp_path: Path) -> None:
    whole = gzip.compress(LINES.encode())
    for broken in (LINES.encode(), whole[:-12], whole[:12] + b"\xff" * 20):
        (tmp_path / "h.jsonl.gz").write_bytes(broken)
        with pytest.raises(mc.InputError, match=r"h\.jsonl\.gz: not a complete gzip file: "):
            tables.read(str(tmp_path / "h.jsonl.gz"))


def test_parquet_holds_the_same_records(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(RECORDS), tmp_path / "h.parquet")
    assert tables.read(str(tmp_path / "h.parquet")).records == RECORDS


def test_parquet_times_of_any_precision_are_times(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    moment = datetime(2023, 6, 14, 20, 21)
    columns = {unit: pa.array([moment], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")}
    columns["aware"] = pa.array([moment], pa.timestamp("ns", "UTC"))
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), tmp_path / "h.parquet")
    (record,) = tables.read(str(tmp_path / "h.parquet")).records
    aware = record.pop("aware")
    assert record == dict.fromkeys(("s", "ms", "us", "ns"), moment)
    assert type(record["ns"]) is datetime
    assert aware == moment.replace(tzinfo=timezone.utc)


def parquet(folder: Path, columns: dict[str, Any]) -> str:
    pa = pytest.importorskip("pyarrow")
    path = folder / "h.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(list(columns.values()), names=list(columns)), path)
    return str(path)


def test_parquet_decimals_are_numbers(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    large = 12345678901234567890
    columns = {
        "score": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "id": pa.array([Decimal(large), Decimal(7)], pa.decimal128(38, 0)),
        "many": pa.array([[Decimal("0.5")], []], pa.list_(pa.decimal128(5, 2))),
    }
    first, second = tables.read(parquet(tmp_path, columns)).records
    assert first == {"score": 1.5, "id": large, "many": [0.5]}
    assert second == {"score": None, "id": 7, "many": []}
    assert [type(first[name]) for name in ("score", "id")] == [float, int]


def test_parquet_bytes_are_text_or_hexadecimal(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = {
        "text": pa.array(["ü".encode(), b"x"]),
        "hash": pa.array([b"\xff\x00", b"ff"]),  # in hexadecimal all of it: as text, ff might be either
        "deep": pa.array([{"a": [b"y"]}, None]),
        "short": pa.array([b"ab", b"cd"], pa.binary(2)),
        "coded": pa.array([b"x", b"x"]).dictionary_encode(),
        "pairs": pa.array([[("k", b"v")], []], pa.map_(pa.string(), pa.binary())),
    }
    first, second = tables.read(parquet(tmp_path, columns)).records
    assert first == {
        "text": "ü", "hash": "ff00", "deep": {"a": ["y"]}, "short": "ab", "coded": "x", "pairs": [["k", "v"]],
    }  # fmt: skip
    assert (second["hash"], second["deep"]) == ("6666", None)


def test_parquet_columns_stand_there_once(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "h.parquet"
    twice = pa.table([pa.array([1]), pa.array([2])], names=["score", "score"])
    pytest.importorskip("pyarrow.parquet").write_table(twice, path)
    with pytest.raises(mc.InputError, match=r"h\.parquet: the column 'score' occurs twice"):
        tables.read(str(path))


@pytest.mark.parametrize("path", [None, "-"])
@pytest.mark.parametrize(("kind", "text"), [(None, LINES), ("jsonl", LINES), ("csv", CSV)])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, path: str | None, kind: str | None, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    table = tables.read(path, kind)
    assert table.records == RECORDS
    assert table.name == "standard input"


def test_the_format_overrides_the_suffix(tmp_path: Path) -> None:
    assert tables.read(written(tmp_path, "h.txt", CSV), "csv").records == RECORDS


def test_byte_order_mark_and_blank_lines_are_read_over(tmp_path: Path) -> None:
    first, rest = LINES.split("\n", 1)
    table = tables.read(written(tmp_path, "h.jsonl", "\ufeff" + first + "\n\n" + rest))
    assert table.records == RECORDS
    assert table.lines == [1, 3, 4]
    assert tables.read(written(tmp_path, "h.csv", "\ufeff" + CSV + "\n")).records == RECORDS


def test_csv_columns_are_numbers_only_if_all_of_it_is(tmp_path: Path) -> None:
    text = "id,zip,n,f,empty,mixed\n007,01234,1,1e3,,1\n008,01235,,-0.5,,x\n"
    first, second = tables.read(written(tmp_path, "h.csv", text)).records
    assert first == {"id": "007", "zip": "01234", "n": 1, "f": 1000.0, "empty": None, "mixed": "1"}
    assert second == {"id": "008", "zip": "01235", "n": None, "f": -0.5, "empty": None, "mixed": "x"}


def test_names_in_csv_are_never_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", "id,query,key,score\n1.10,1e2,1.0,1\n1.1,100,NA,2\n12e4,100,,3\n")
    assert [record["id"] for record in tables.read(path).records] == ["1.10", "1.1", "12e4"]
    assert [query.name for query in tables.queries(tables.read(path))] == ["1e2", "100"]
    keyed = tables.read(path, names=("key",)).records
    assert [record["key"] for record in keyed] == ["1.0", "NA", None]
    assert [record["id"] for record in keyed] == [1.1, 1.1, 120000.0]


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1), min_size=1, max_size=5))
def test_every_id_survives_csv(ids: list[str]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "score"], *([id_, 1] for id_ in ids)])
    found = list(tables._csv(io.BytesIO(text.getvalue().encode()), "h.csv", ("id",)))
    assert [record["id"] for _, record in found] == ids


@pytest.mark.parametrize("mark", ["", "NA", "N/A", "n/a", "null", "NULL", "NaN", "None"])
def test_marks_of_missing_are_missing_among_numbers_and_times(tmp_path: Path, mark: str) -> None:
    text = f"score,lat,taken,country\n1,1.5,2019-05-20,DE\n0.5,{mark},{mark},{mark}\n"
    first, second = tables.read(written(tmp_path, "h.csv", text)).records
    assert first == {"score": 1, "lat": 1.5, "taken": "2019-05-20", "country": "DE"}
    assert second == {"score": 0.5, "lat": None, "taken": None, "country": mark or None}


def test_a_csv_number_that_python_cannot_read_is_text(tmp_path: Path) -> None:
    digits = "9" * 5000
    assert tables.read(written(tmp_path, "h.csv", f"n\n{digits}\n")).records == [{"n": digits}]


def test_csv_values_may_hold_commas_and_lines(tmp_path: Path) -> None:
    table = tables.read(written(tmp_path, "h.csv", 'id,score\n"a, ""b""\nc",0.5\nd,0.4\n'))
    assert table.records[0]["id"] == 'a, "b"\nc'
    assert table.lines == [3, 4]


def test_a_comma_between_names_comes_before_other_marks(tmp_path: Path) -> None:
    table = tables.read(written(tmp_path, "h.csv", 'id,score,"a;b",c\td\nx;y,1,2,3\n'))
    assert table.records == [{"id": "x;y", "score": 1, "a;b": 2, "c\td": 3}]
    table = tables.read(written(tmp_path, "h.csv", '"a;b"\nx;y\n'))
    assert table.records == [{"a;b": "x;y"}]
    table = tables.read(written(tmp_path, "h.tsv", "a,b\tc;d\nx,y\t1\n"))
    assert table.records == [{"a,b": "x,y", "c;d": 1}]


def test_a_csv_cell_may_be_long(tmp_path: Path) -> None:
    vector, limit = json.dumps([0.12345678] * 12_000), csv.field_size_limit()
    assert len(vector) > limit
    (query,) = tables.queries(tables.read(written(tmp_path, "h.csv", f'score,vector\n1,"{vector}"\n')))
    assert query.candidates.vectors is not None
    assert query.candidates.vectors.shape == (1, 12_000)
    assert csv.field_size_limit() == limit  # everybody's


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_names_look_into_dictionaries(tmp_path: Path, kind: str) -> None:
    rows: list[dict[str, Any]] = [
        {"m": {"id": i, "score": 1 - i, "v": [1.0, i], "q": "x"}, "at": {"of": {"lat": i, "none": None}}}
        for i in range(2)
    ]
    if kind == "parquet":
        path = parquet(tmp_path, {name: [row[name] for row in rows] for name in rows[0]})
    else:
        path = written(tmp_path, "h.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    table = tables.read(path)
    assert table.columns == ["m", "at"]
    (query,) = tables.queries(table, "m.score", "m.id", "m.q", "m.v", ["at.of.lat"])
    assert (query.name, query.candidates.ids, query.candidates.scores.tolist()) == ("x", [0, 1], [1.0, 0.0])
    assert query.candidates.columns["at.of.lat"].tolist() == [0, 1]
    assert query.candidates.vectors is not None
    table.require("at.of.none", "")  # it is there, and says nothing
    with pytest.raises(mc.InputError, match=r"no column 'at\.of\.lon'; its columns: m, at; say"):
        table.require("at.of.lon", "say")


def test_a_closed_standard_input_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(mc.InputError, match="no input: name a FILE"):
        tables.read()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.jsonl", '{"score": 1}\n\n{"score": 1,}\n', r"h\.jsonl line 3: not JSON: .* at column 1[23]"),
        ("h.jsonl", '{"score": 1}\n[1, 2]\n', r"h\.jsonl line 2: must be an object in braces, got \[1, 2\]"),
        ("h.jsonl", "[\n", r"h\.jsonl line 1: must be an object in braces, got \[; an array needs --input-format json"),
        ("h.jsonl", "7\n", r"h\.jsonl line 1: must be an object in braces, got 7"),
        ("h.jsonl", "9" * 5000, r"h\.jsonl line 1: JSON that cannot be read"),
        ("h.jsonl", '{"a": ' + "[" * 100_000, r"h\.jsonl line 1: JSON that cannot be read"),
        ("h.json", '[{"score": 1},\n{]', r"h\.json: not JSON: .* at line 2 column 2"),
        ("h.json", '{"score": 1}', r"h\.json: must be an array of objects; JSON lines need --input-format jsonl"),
        ("h.json", '[{"score": 1}, 2]', r"h\.json record 2: must be an object in braces, got 2"),
        ("h.json", "[]", r"h\.json has no records"),
        ("h.gz", "", r"h\.gz: unknown suffix; use .* \(also with \.gz\)"),
        ("h.jsonl", "", r"h\.jsonl has no records"),
        ("h.csv", "id,score\n", r"h\.csv has no records"),
        ("h.csv", "id,score\na,1\nb\n", r"h\.csv line 3: 1 values, the header has 2"),
        ("h.csv", "id,score\na,1,2\n", r"h\.csv line 2: 3 values, the header has 2"),
        ("h.csv", "id,id\na,1\n", r"h\.csv line 1: the column 'id' occurs twice"),
        ("h.csv", 'id,score\n"a,1\n', r"h\.csv line 2: not CSV"),
        ("h.txt", LINES, r"h\.txt: unknown suffix; use \.jsonl, .*or set --input-format"),
        ("h.parquet", "no", r"h\.parquet: not a Parquet file"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(mc.InputError, match=message):
        tables.read(written(tmp_path, name, text))


@pytest.mark.parametrize(("name", "where"), [("h.jsonl", "line 2"), ("h.csv", "after line")])
def test_text_must_be_utf8(tmp_path: Path, name: str, where: str) -> None:
    first = b'{"city": "Rome"}\n' if name == "h.jsonl" else b"city\n"
    (tmp_path / name).write_bytes(first + b'{"city": "S\xe3o"}\n')
    with pytest.raises(mc.InputError, match=f"{name} {where}.*: not UTF-8 text"):
        tables.read(str(tmp_path / name))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(mc.InputError, match=r"nowhere\.jsonl: No such file or directory"):
        tables.read(str(tmp_path / "nowhere.jsonl"))


def test_parquet_without_pyarrow_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(mc.MissingExtra, match=r"reading Parquet needs the package pyarrow: .*pip install pyarrow$"):
        tables.read(written(tmp_path, "h.parquet", "PAR1"))


def table_of(*records: dict[str, Any]) -> tables.RecordTable:
    return tables.RecordTable("h.jsonl", list(records), list(range(1, len(records) + 1)))


def test_one_query_unless_there_is_a_column_of_them() -> None:
    (query,) = tables.queries(table_of(*RECORDS))
    assert query.name is None
    assert query.candidates.ids == ["a", "b", "ü"]
    assert query.candidates.scores.tolist() == [0.9, 0.4, 1.0]
    assert query.candidates.columns["city"].tolist() == ["Rome", None, "São Paulo"]
    assert query.candidates.vectors is None


def test_queries_come_in_the_order_of_appearance() -> None:
    rows = [{"query": name, "score": score} for name, score in [("b", 1), ("a", 2), ("b", 3), (None, 4)]]
    found = tables.queries(table_of(*rows))
    assert [(q.name, q.candidates.scores.tolist()) for q in found] == [("b", [1, 3]), ("a", [2]), (None, [4])]
    assert found[0].records == [rows[0], rows[2]]


def test_every_query_has_every_column() -> None:
    first, second = tables.queries(
        table_of({"query": 1, "score": 1, "lat": 2.0}, {"query": 2, "score": 1, "city": "x"})
    )
    assert set(first.candidates.columns) == set(second.candidates.columns) == {"query", "score", "lat", "city"}
    assert first.candidates.columns["city"].tolist() == [None]


def test_columns_may_have_other_names() -> None:
    rows: list[dict[str, Any]]
    rows = [{"topic": "t", "sim": "0.5", "key": ["x", 1], "emb": [1, 2]}, {"topic": "t", "sim": 0.25, "key": 7}]
    (query,) = tables.queries(table_of(*rows), score="sim", id="key", query="topic", vector="emb")
    assert query.name == "t"
    assert query.candidates.scores.tolist() == [0.5, 0.25]
    assert query.candidates.ids == ['["x", 1]', 7]
    assert query.candidates.vectors is not None
    np.testing.assert_array_equal(query.candidates.vectors, [[1, 2], [np.nan, np.nan]])
    assert "emb" not in query.candidates.columns


def test_ids_are_positions_where_there_are_none() -> None:
    (query,) = tables.queries(table_of({"score": 1}, {"score": 2}))
    assert query.candidates.ids == [0, 1]


def test_csv_vectors_are_lists_as_text() -> None:
    (query,) = tables.queries(table_of({"score": 1, "vector": "[0.5, 2]"}, {"score": 2, "vector": None}))
    assert query.candidates.vectors is not None
    np.testing.assert_array_equal(query.candidates.vectors, [[0.5, 2], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"id": 1, "sim": 2}], {}, r"h.jsonl has no column 'score'; its columns: id, sim; name another with --score"),
        ([{"score": 1}], {"id": "key"}, r"no column 'key'; its columns: score; name another with --id"),
        ([{"score": 1}], {"query": "topic"}, r"no column 'topic'.*--query"),
        ([{"score": 1}], {"vector": "emb"}, r"no column 'emb'.*--vector"),
        ([{"score": 1}, {"id": 2}], {}, r"h.jsonl line 2: score must be a finite number, got None"),
        ([{"score": "high"}], {}, r"h.jsonl line 1: score must be a finite number, got 'high'"),
        ([{"score": float("nan")}], {}, r"line 1: score must be a finite number, got nan"),
        ([{"score": float("inf")}], {}, r"line 1: score must be a finite number, got inf"),
        ([{"score": True}], {}, r"line 1: score must be a finite number, got True"),
        ([{"score": 1, "query": [1]}], {}, r"line 1: query must be text or a number, got \[1\]"),
        ([{"score": 1, "vector": [1, 2]}, {"score": 1, "vector": [1]}], {}, r"line 2: vector must have 2 numbers"),
        ([{"score": 1, "vector": "near"}], {}, r"line 1: vector must be a list of numbers, got 'near'"),
        ([{"score": 1, "vector": []}], {}, r"line 1: vector must be a list of numbers, got \[\]"),
        ([{"score": 1, "vector": 3}], {}, r"line 1: vector must be a list of numbers, got 3"),
    ],
)
def test_wrong_records_name_their_line(rows: list[dict[str, Any]], options: dict[str, str], message: str) -> None:
    with pytest.raises(mc.InputError, match=message):
        tables.queries(table_of(*rows), **options)
