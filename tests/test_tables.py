"""Tables become candidates, and what is wrong with one is said with its file and line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.cli import hit_tables

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


def read(folder: Path, name: str, text: str) -> list[dict[str, Any]]:
    return hit_tables.read(written(folder, name, text)).records


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.jsonl", LINES), ("h.NDJSON", LINES), ("h.json", json.dumps(RECORDS, indent=1)), ("h.csv", CSV),
        ("h.csv", CSV.replace(",", ";")),
        ("h.jsonl", "\ufeff" + LINES.replace("\n", "\n\n")), ("h.csv", "\ufeff" + CSV + "\n"),
    ],
)  # fmt: skip
def test_files_hold_the_same_records(tmp_path: Path, name: str, text: str) -> None:
    table = hit_tables.read(written(tmp_path, name, text))
    assert table.records == RECORDS
    assert list(table.columns) == ["id", "score", "city", "lat"]


def test_csv_columns_are_numbers_only_if_all_of_it_is(tmp_path: Path) -> None:
    digits = "9" * 5000  # more than Python reads
    text = (
        f"id,zip,n,f,mixed,long,taken\n007,01234,1,1e3,1,{digits},2019-05-20\n008,01235,,-0.5,x,{digits},\n"
        "009,1,NA,null,NA,,N/A\n"
    )
    assert read(tmp_path, "h.csv", text) == [
        {"id": "007", "zip": "01234", "n": 1, "f": 1000.0, "mixed": "1", "long": digits, "taken": "2019-05-20"},
        {"id": "008", "zip": "01235", "n": None, "f": -0.5, "mixed": "x", "long": digits, "taken": None},
        {"id": "009", "zip": "1", "n": None, "f": None, "mixed": "NA", "long": None, "taken": None},
    ]


def test_names_in_csv_are_never_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", "id,query,key,score\n1.10,1e2,1.0,1\n1.1,100,NA,2\n12e4,100,,3\n")
    assert [record["id"] for record in hit_tables.read(path).records] == ["1.10", "1.1", "12e4"]
    assert [query.name for query in hit_tables.queries(hit_tables.read(path))] == ["1e2", "100"]
    keyed = hit_tables.read(path, names=("key",)).records
    assert [record["key"] for record in keyed] == ["1.0", "NA", None]
    assert [record["id"] for record in keyed] == [1.1, 1.1, 120000.0]


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1), min_size=1, max_size=5))
def test_every_id_survives_csv(ids: list[str]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "score"], *([id_, 1] for id_ in ids)])
    numbered = list(hit_tables._csv(io.BytesIO(text.getvalue().encode()), "h.csv", ("id",)))
    assert [record["id"] for _, record in numbered] == ids


def test_a_csv_cell_may_be_long(tmp_path: Path) -> None:
    vector, limit = json.dumps([0.12345678] * 12_000), csv.field_size_limit()
    assert len(vector) > limit
    (query,) = hit_tables.queries(hit_tables.read(written(tmp_path, "h.csv", f'score,vector\n1,"{vector}"\n')))
    assert query.candidates.vectors is not None
    assert query.candidates.vectors.shape == (1, 12_000)
    assert csv.field_size_limit() == limit  # that of the process


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.jsonl", '{"score": 1}\n\n{"score": 1,}\n', r"h\.jsonl line 3: not JSON: .* at column 1[23]"),
        ("h.jsonl", '{"a": ' + "[" * 100_000, r"h\.jsonl line 1: not JSON: "),
        ("h.jsonl", b'{}\n{"city": "S\xe3o"}\n', r"h\.jsonl line 2: not JSON: .utf-8"),
        ("h.json", '{"score": 1}', r"h\.json: must be an array of objects; JSON lines need --input-format jsonl"),
        ("h.gz", "", r"h\.gz: unknown suffix; use \.jsonl, .*, or set --input-format"),
        ("h.jsonl", "", r"h\.jsonl has no records"),
        ("h.csv", "id,score\na,1\nb\n", r"h\.csv line 3: 1 values, the header has 2"),
        ("h.csv", "id,id\na,1\n", r"h\.csv line 1: the column 'id' occurs twice"),
        ("h.csv", 'id,score\n"a,1\n', r"h\.csv line 2: not CSV"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(mc.InputError, match=message):
        hit_tables.read(str(path))


def table_of(*records: dict[str, Any]) -> hit_tables.RecordTable:
    return hit_tables.RecordTable("h.jsonl", list(records), list(range(1, len(records) + 1)))


def test_one_query_unless_there_is_a_column_of_them() -> None:
    (query,) = hit_tables.queries(table_of(*RECORDS))
    assert (query.name, query.candidates.ids, query.candidates.vectors) == (None, ["a", "b", "ü"], None)
    assert query.candidates.scores.tolist() == [0.9, 0.4, 1.0]
    assert query.candidates.columns["city"].tolist() == ["Rome", None, "São Paulo"]
    names = [("b", 1), ("a", 2), ("b", 3), (None, 4)]
    rows: list[dict[str, Any]] = [{"query": name, "score": score} for name, score in names]
    queries = hit_tables.queries(table_of(*rows))
    assert [(q.name, q.candidates.scores.tolist()) for q in queries] == [("b", [1, 3]), ("a", [2]), (None, [4])]
    assert queries[0].candidates.ids == [0, 1]  # positions, where there is no column of ids


def test_ids_and_scores_may_begin_with_an_underscore(tmp_path: Path) -> None:
    (query,) = hit_tables.queries(hit_tables.read(written(tmp_path, "h.csv", "_id,_score\n1.10,2\n1.1,1\n")))
    assert (query.candidates.ids, query.candidates.scores.tolist()) == (["1.10", "1.1"], [2.0, 1.0])
    (query,) = hit_tables.queries(table_of({"_id": "x", "id": "a", "_score": 9, "score": 1}))
    assert (query.candidates.ids, query.candidates.scores.tolist()) == (["a"], [1.0])


def test_columns_may_have_other_names_and_lie_in_dictionaries() -> None:
    rows: list[dict[str, Any]] = [
        {"m": {"topic": "t", "sim": "0.5", "key": ["x", 1], "emb": "[1, 2]"}, "emb": 3},  # CSV holds lists as text
        {"m": {"topic": "t", "sim": 0.25, "key": 7, "none": None}, "emb": 4},
    ]
    table = table_of(*rows)
    (query,) = hit_tables.queries(table, score="m.sim", id="m.key", query="m.topic", vector="m.emb", inner=["m.none"])
    assert (query.name, query.candidates.ids) == ("t", ['["x", 1]', 7])
    assert query.candidates.scores.tolist() == [0.5, 0.25]
    assert query.candidates.columns["m.none"].tolist() == [None, None]
    np.testing.assert_array_equal(query.candidates.vectors, [[1, 2], [np.nan, np.nan]])
    with pytest.raises(mc.InputError, match=r"no column 'm\.lon'; its columns: m, emb; say"):
        table.require("m.lon", "say")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"id": 1, "sim": 2}], {}, r"h.jsonl has no column 'score'; its columns: id, sim; name another with --score"),
        ([{"score": True}], {}, r"line 1: score must be a finite number, got True"),
        ([{"score": 1, "vector": [1, 2]}, {"score": 1, "vector": [1]}], {}, r"line 2: vector must have 2 numbers"),
    ],
)
def test_wrong_records_name_their_line(rows: list[dict[str, Any]], options: dict[str, str], message: str) -> None:
    with pytest.raises(mc.InputError, match=message):
        hit_tables.queries(table_of(*rows), **options)


def test_many_columns_give_short_errors(tmp_path: Path) -> None:
    """An error about a file of 10^6 columns had 8.9 MB."""
    table = tmp_path / "hits.csv"
    table.write_text(",".join(f"column{i}" for i in range(9000)) + "\n" + "1," * 8999 + "1\n", "utf-8")
    with pytest.raises(mc.InputError, match="and 8950 more") as caught:
        hit_tables.read(str(table)).require("score", "name it with --score")
    assert len(str(caught.value)) < 1000
