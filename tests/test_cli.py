"""The command as it is used, with files, pipes and exit codes: in this process, and a few times as a real one.

`python tests/test_cli.py` runs the examples of docs/cli.md and writes down what they print.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import mascot as mc
from mascot.cli import example
from retelling import environment, retold, run_command

DOCS = Path(__file__).parents[1] / "docs" / "cli.md"
COMMAND = [sys.executable, "-m", "mascot.cli"]
ANSI = "\x1b["


def run(*words: str, given: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    """`mascot ...` in this process, `given` on its standard input."""
    return run_command(*words, stdin=given)


def good(*words: str, given: str | bytes = b"") -> str:
    done = run(*words, given=given)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def records_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def lines_of(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


HITS = lines_of(example.records())


@pytest.fixture
def hits(tmp_path: Path) -> str:
    path = tmp_path / "hits.jsonl"
    path.write_text(HITS, encoding="utf-8")
    return str(path)


def test_rerank_prints_what_the_library_ranks(hits: str) -> None:
    printed = records_of(good("rerank", hits, "-k", "12", "--spread", "place:lat,lon", "--focus", "hour:taken=18"))
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay(), near=18.0)]
    ranking = mc.rerank(example.candidates(), wishes, k=12)
    assert [record["id"] for record in printed] == ranking.ids
    assert [record["rank"] for record in printed] == list(range(1, 13))
    assert [record["was"] for record in printed] == ranking.was.tolist()
    assert [record["relevance"] for record in printed] == pytest.approx(ranking.relevance, abs=1e-6)
    by_id = {record["id"]: record for record in example.records()}
    for record in printed:
        assert {name: record[name] for name in by_id[record["id"]]} == by_id[record["id"]]
    assert list(printed[0])[-3:] == ["rank", "was", "relevance"]


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["--strength", "0.8"], mc.Mascot(0.8)),
        (["--strength", "0"], mc.Mascot(0.0)),
        (["--protect", "0", "--strength", "0.7"], mc.Mascot(0.7, protect=0)),
        (["--keep", "0.97"], mc.Mascot(keep=0.97)),
        (["--order", "selection", "--protect", "1"], mc.Mascot(order="selection", protect=1)),
        (["--paper", "--strength", "0.4"], mc.Mascot.paper(0.4)),
        (["--paper"], mc.Mascot.paper(0.5)),
        (["--method", "mmr", "--strength", "0.6"], mc.Mmr(0.6)),
    ],
)
def test_options_are_the_methods(hits: str, words: list[str], method: Any) -> None:
    spreads = isinstance(method, mc.Mmr)  # which cannot focus
    printed = records_of(good("rerank", hits, "-k", "8", "--spread" if spreads else "--focus", "camera", *words))
    wish = mc.spread("camera") if spreads else mc.focus("camera")
    ranking = mc.rerank(example.candidates(), wish, k=8, method=method)
    assert [record["id"] for record in printed] == ranking.ids


def test_pipe_in_pipe_out(hits: str) -> None:
    from_file = good("rerank", hits, "--spread", "camera")
    assert good("rerank", "--spread", "camera", given=HITS) == from_file
    assert good("rerank", "-", "--spread", "camera", given=HITS) == from_file
    assert len(from_file.splitlines()) == 20
    again = records_of(good("rerank", "--strength", "0", given=from_file))
    assert [record["rank"] for record in again] == [record["was"] for record in again] == list(range(1, 21))


@pytest.mark.parametrize("how", ["suffix", "format", "stdin"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_other_tables_rank_the_same(tmp_path: Path, hits: str, kind: str, how: str) -> None:
    rows = example.records()
    path = tmp_path / ("hits." + (kind if how == "suffix" else "dat"))
    if kind == "csv":
        lines = [",".join(rows[0])] + [",".join(str(value) for value in row.values()) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    wishes = ["--spread", "place", "--focus", "hour=18", "-k", "9"]
    expected = good("rerank", hits, *wishes)
    if how == "stdin":
        assert good("rerank", "--input-format", kind, *wishes, given=path.read_bytes()) == expected
    else:
        option = ["--input-format", kind] if how == "format" else []
        assert good("rerank", str(path), *option, *wishes) == expected


TWO = lines_of(
    [
        {"topic": "sky", "key": 1, "sim": 0.2, "camera": "a"},
        {"topic": "sea", "key": 2, "sim": 0.9, "camera": "a"},
        {"topic": "sea", "key": 3, "sim": 0.8, "camera": "a"},
        {"topic": "sea", "key": 4, "sim": 0.7, "camera": "b"},
    ]
)
TWO_NAMES = ["--query", "topic", "--id", "key", "--score", "sim", "--spread", "camera", "--protect", "1", "-k", "2"]


def test_each_query_has_its_own_results() -> None:
    printed = records_of(good("rerank", *TWO_NAMES, given=TWO))
    found = [(r["topic"], r["key"], r["rank"], r["was"]) for r in printed]
    assert found == [("sky", 1, 1, 1), ("sea", 2, 1, 1), ("sea", 4, 2, 3)]


def test_a_column_called_query_groups_by_itself() -> None:
    renamed = TWO.replace("topic", "query").replace("sim", "score")
    printed = records_of(good("rerank", "-k", "1", given=renamed))
    assert [record["query"] for record in printed] == ["sky", "sea"]


def test_json_is_one_document() -> None:
    sky, sea = json.loads(good("rerank", *TWO_NAMES, "--format", "json", "--explain", given=TWO))
    assert (sky["query"], sea["query"]) == ("sky", "sea")
    assert [record["key"] for record in sea["results"]] == [2, 4]
    assert [record["key"] for record in sea["left_out"]] == [3]
    assert sea["left_out"][0]["reason"]["because"] == "camera: adds too little new"
    assert sea["notes"] == []
    assert sea["method"]["protect"] == 1
    assert sea["wishes"][0]["attribute"]["column"] == "camera"
    (alone,) = json.loads(good("rerank", "--format", "json", "-k", "1", given=HITS))
    assert "query" not in alone
    assert "left_out" not in alone


def test_explain_gives_the_reasons(hits: str) -> None:
    printed = records_of(good("rerank", hits, "-k", "6", "--spread", "place", "--focus", "hour=18", "--explain"))
    told = mc.rerank(example.candidates(), [mc.spread(mc.Place()), mc.focus(mc.HourOfDay(), near=18)], k=6).explain()
    for record, reason in zip(printed, told.results, strict=True):
        assert record["reason"]["step"] == reason.step
        assert record["reason"]["gains"] == pytest.approx(reason.gains, abs=1e-6)
        assert record["reason"]["gain"] == pytest.approx(reason.gain, abs=1e-6)
        assert record["reason"].get("opened", {}) == {name: bins for name, bins in reason.opened.items() if bins}
        assert record["reason"]["because"] == reason.because != ""


def test_a_table_in_a_pipe_is_plain_and_whole(hits: str) -> None:
    words = ["rerank", hits, "-k", "4", "--protect", "3", "--spread", "place", "--format", "table"]
    text = good(*words)
    head, _, *rows = (line for line in text.splitlines() if line.strip())
    assert head.split() == ["rank", "was", "id", "relevance", "lat", "lon"]
    assert [row.split()[:3] for row in rows][3] == ["4", "15", "golden-gate-haze"]
    assert len(rows) == 4
    assert ANSI not in text
    told = good(*words, "--explain")
    assert re.search(r"1 +1 +harbour-wall-gold-1 .* one of the best matches$", told, re.M)
    assert re.search(r"4 +15 +golden-gate-haze +0\.861 +\d+,\d\d\d km from the nearest other result$", told, re.M)
    assert re.search(r"- +4 +caldera-last-light-2 +0\.\d+ +place: adds too little new$", told, re.M)


def test_limits_shares_and_earlier_pages(hits: str) -> None:
    records = {record["id"]: record for record in example.records()}
    asked = ["rerank", hits, "-k", "8", "--limit", "city=1"]
    first = records_of(good(*asked))
    assert len({record["city"] for record in first}) == len(first) == 8
    ranking = mc.rerank(example.candidates(), mc.limit("city", 1), k=8)
    assert [record["id"] for record in first] == ranking.ids
    shown = [word for record in first for word in ("--already", record["id"])]
    second = records_of(good(*asked, *shown))
    assert [r["id"] for r in second] == mc.rerank(example.candidates(), mc.limit("city", 1), 8, already=ranking).ids
    assert not {record["id"] for record in first} & {record["id"] for record in second}
    few = good("rerank", hits, "-k", "60", "--limit", "city=1")
    assert len(few.splitlines()) == len({record["city"] for record in records.values()})
    assert len(good("rerank", hits, "-k", "60", "--limit", "city=1", "--fill").splitlines()) == len(records)
    shared = records_of(good("rerank", hits, "-k", "10", "--share", "camera=X100V:50%,D750:0.3"))
    cameras = [record["camera"] for record in shared]
    assert (cameras.count("X100V"), cameras.count("D750")) == (5, 3)


def test_a_share_that_cannot_be_met_is_said(hits: str) -> None:
    asked = ["rerank", hits, "-k", "6", "--share", "camera=X100V:50%", "--limit", "city=1", "--explain"]
    note = "share camera: 1 of 3 from X100V (limits and protected results leave no room)"
    assert good(*asked, "--format", "table").rstrip().endswith(note)
    assert json.loads(good(*asked, "--format", "json"))[0]["notes"] == [note]
    none = json.loads(good("rerank", hits, "-k", "6", "--share", "camera=Leica:50%", "--explain", "--format", "json"))
    assert none[0]["notes"] == ["share camera: 0 of 3 from Leica (no candidate has it)"]


def test_within_narrows_a_focus(hits: str) -> None:
    def asked(within: float | None) -> list[str]:
        word = "hour=18" if within is None else f"hour=18~{within}"
        printed = [record["id"] for record in records_of(good("rerank", hits, "-k", "8", "--focus", word))]
        wish = mc.focus(mc.HourOfDay(), near=18, within=within)
        assert printed == mc.rerank(example.candidates(), wish, k=8).ids
        return printed

    assert asked(None) != asked(6)


def test_ids_are_data_not_markup() -> None:
    text = good("rerank", "--format", "table", given=lines_of([{"id": "[red]:smile:[/red]", "score": 1}]))
    assert "[red]:smile:[/red]" in text


NASTY = "\x1b[31m\x9b2J\r\n\x07\u202e"


def table(records: list[dict[str, Any]], wishes: list[mc.Wish], explain: bool, method: Any = None) -> str:
    """The table of these candidates, best three."""
    from mascot.cli import printing, tables

    (query,) = tables.queries(tables.RecordTable("t", records, list(range(len(records)))))
    console = printing._console(1000)
    with console.capture() as caught:
        console.print(printing.ranking_table(query, mc.rerank(query.candidates, wishes, 3, method), explain))
    return caught.get()


@pytest.mark.parametrize("explain", [False, True])
def test_a_terminal_never_obeys_what_a_file_holds(explain: bool) -> None:
    record = {"id": f"a{NASTY}", "query": f"q{NASTY}", f"c{NASTY}": f"v{NASTY}", "score": 1, "list": [f"l{NASTY}"]}
    text = table([record], [mc.spread(mc.Category(column)) for column in record], explain)
    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}
    assert "a\N{REPLACEMENT CHARACTER}[31m" in text
    names = ("q\N{REPLACEMENT CHARACTER}", f"{'v' if explain else 'c'}\N{REPLACEMENT CHARACTER}")
    assert all(name in text for name in names)


def test_errors_and_json_hold_no_escapes_either() -> None:
    done = run("rerank", "--score", "sim", given=json.dumps({f"a{NASTY}": 1}))
    assert "its columns: a\N{REPLACEMENT CHARACTER}[31m" in done.stderr
    assert done.stderr.rstrip("\n").isprintable()
    name = f"a{NASTY}\x7f\x85\u2028"
    text = good("rerank", given=json.dumps({"id": name, "score": 1}, ensure_ascii=False))
    assert len(text.splitlines()) == 1
    assert not {"\x1b", "\x9b", "\x7f"} & set(text)
    assert json.loads(text)["id"] == name


@pytest.mark.parametrize("text", ["\udce9", "a\udceab", "\U0001f600\ude00", "é"])
def test_halves_of_letters_come_out_as_they_went_in(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mascot.cli import printing

    printing.show_json({"id": text, text: [text]})
    line = capsys.readouterr().out
    assert json.loads(line.encode()) == {"id": text, text: [text]}


def told(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """`mascot ...` in this process; its exit code."""
    from mascot.cli import main

    monkeypatch.setattr(sys, "argv", ["mascot", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["rerank", "probe"])
def test_a_full_disk_is_one_line(
    hits: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "rerank":  # as a process: nothing more is said when Python ends
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*COMMAND, command, hits], stdout=full, stderr=-1, env=environment(), timeout=240)
        code, error = done.returncode, done.stderr.decode()
    else:
        with open("/dev/full", "w", encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stdout", full)
            code, error = told(monkeypatch, command, hits), capsys.readouterr().err
    assert (code, error) == (2, "mascot: cannot read or write: No space left on device\n")


def test_closed_streams_are_one_line(
    hits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdin", None)
        assert told(closed, "rerank") == 2
    assert capsys.readouterr().err == "mascot: no input: name a FILE or pipe records to standard input; see --help\n"
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        assert told(closed, "rerank", hits) == 2
    assert capsys.readouterr().err.startswith("mascot: standard output is closed; ")
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", None)
        assert told(closed, "rerank", "nowhere.jsonl") == 2
        sys.stderr.close()
    assert capsys.readouterr().out == ""


def test_wishes_look_into_dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": i, "score": 1 - i / 10, "at": {"lat": 0, "lon": 90 * (i // 3), "by": i % 2}} for i in range(6)]
    path = tmp_path / "h.jsonl"
    path.write_text(lines_of(rows), encoding="utf-8")
    asked = ["rerank", str(path), "--protect", "1", "--strength", "0.9", "-k", "2"]
    assert told(monkeypatch, *asked, "--spread", "place:at.lat,at.lon") == 0
    assert [record["id"] for record in records_of(capsys.readouterr().out)] == [0, 3]
    assert told(monkeypatch, *asked, "--focus", "at.by=1", "--protect", "0", "--format", "table") == 0
    assert [line.split()[2:] for line in capsys.readouterr().out.split("\n") if line.endswith(" 1")] == [
        ["1", "0.800", "1"], ["3", "0.400", "1"],
    ]  # fmt: skip
    rows[4]["at"]["lat"] = 95
    path.write_text(lines_of(rows), encoding="utf-8")
    assert told(monkeypatch, *asked, "--spread", "place:at.lat,at.lon") == 2
    assert "h.jsonl line 5: " in capsys.readouterr().err


def test_methods_without_reasons_show_what_they_left_out() -> None:
    from mascot.cli import printing, tables

    text = table(example.records(), [mc.spread(mc.Place())], True, mc.Mmr())
    head, _, *rows = (line for line in text.splitlines() if line.strip())
    assert head.split() == ["rank", "was", "id", "relevance", "because"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "-", "-", "-"]
    assert all("from the nearest other result" in row for row in rows[:3])  # distances need no account of gains
    hits = tables.RecordedQuery(None, example.records(), example.candidates())
    records = printing.result_records(hits, mc.rerank(hits.candidates, [], 2, mc.Mmr()), True)
    assert [record["reason"] for record in records] == [{"step": 1}, {"step": 2}]


def test_every_method_is_one_of_rerank_probe_and_search() -> None:
    from mascot import registry, words
    from mascot.cli import app as cli
    from mascot.cli import options
    from mascot.cli.photos import search

    assert {name.value for name in options.MethodName} == set(registry.METHOD_NAMES)
    for command in (cli.rerank, cli.probe, search):
        hint = get_type_hints(command)["method"]
        assert options.MethodName in (hint, *get_args(hint))
    assert options.method(None, None, None, None) == mc.Mascot()
    for name in options.MethodName:
        assert options.method(None, None, None, None, name) == words.method(name.value)
        if name is options.MethodName.paper:
            assert options.method(None, None, None, None, name, paper=True) == mc.Mascot.paper(0.5)
        else:
            with pytest.raises(mc.OptionError, match=f"--paper means --method paper, got --method {name.value}"):
                options.method(None, None, None, None, name, paper=True)


def test_the_documented_strengths_are_those_of_the_methods() -> None:
    from mascot import registry, words

    told = DOCS.read_text(encoding="utf-8")
    assert "| 0.5; `kdpp` and `msdpp` 0.1, `clustering` 1 |" in told
    usual = {name: words.method(name).strength for name in registry.METHOD_NAMES if name != "relevance"}
    assert usual == {"mascot": 0.5, "paper": 0.5, "mmr": 0.5, "kdpp": 0.1, "msdpp": 0.1, "clustering": 1.0}


def test_what_json_cannot_say_is_null_or_text(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = {"score": [Decimal("1.50")], "f": [float("nan")], "t": [datetime(2023, 6, 14, 20, 21)], "b": [b"x"]}
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(rows), tmp_path / "h.parquet")
    (record,) = records_of(good("rerank", str(tmp_path / "h.parquet")))
    assert (record["f"], record["t"]) == (None, "2023-06-14T20:21:00")
    assert (record["score"], record["b"]) == (1.5, "x")


def test_output_is_utf8_in_every_locale() -> None:
    given = json.dumps({"id": "São Paulo", "score": 1}, ensure_ascii=False)
    env = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = subprocess.run([*COMMAND, "rerank"], input=given.encode(), capture_output=True, env=env, timeout=240)
    assert json.loads(done.stdout.decode("utf-8"))["id"] == "São Paulo"


def test_missing_values_are_dropped_on_request() -> None:
    rows = [{"id": "a", "score": 1}, {"id": "b", "score": 0.5, "camera": "x"}]
    drop = ["--spread", "camera", "--missing", "drop"]
    assert [r["id"] for r in records_of(good("rerank", *drop, given=lines_of(rows)))] == ["b"]
    rows[1]["camera"] = None
    assert good("rerank", *drop, given=lines_of(rows)) == ""
    assert "id" in good("rerank", *drop, "--format", "table", "--explain", given=lines_of(rows))


def test_look_reads_the_vectors() -> None:
    rows = [{"id": i, "score": 1 - i / 10, "emb": [float(i < 3), float(i >= 3)]} for i in range(6)]
    words = ["--spread", "look:2", "--vector", "emb", "--protect", "1", "-k", "2"]
    assert [r["id"] for r in records_of(good("rerank", *words, given=lines_of(rows)))] == [0, 3]


def test_a_typed_label_finds_the_number() -> None:
    rows = [{"id": i, "score": 1 - i / 10, "year": 2018 + i % 2} for i in range(6)]
    words = ["--focus", "year=2019", "--protect", "0", "--strength", "0.9", "-k", "3"]
    assert [r["id"] for r in records_of(good("rerank", *words, given=lines_of(rows)))] == [1, 3, 5]


@pytest.mark.parametrize(
    ("words", "given", "message"),
    [
        (["--score", "sim"], HITS, "standard input has no column 'sim'; its columns: id, city, lat, lon, taken"),
        (["--id", "key"], HITS, "no column 'key'"),
        (["--spread", "tags"], HITS, "no column 'tags'"),
        (["--spread", "place:north,east"], HITS, "a wish names its columns as in place:lat,lon"),
        (["--spread", "look"], HITS, "no column 'vector'; its columns: id, city"),
        (["--focus", "camera=Leica"], HITS, "column 'camera' has no value 'Leica'; its values: X100V"),
        (["--spread", "place:lat"], HITS, "'place:lat': write place[:LAT,LON]"),
        (["--strength", "7"], HITS, "Mascot.strength must be in 0..1, got 7.0"),
        (["--strength", "0.5", "--keep", "0.9"], HITS, "give keep or strength"),
        (["--paper", "--protect", "3"], HITS, "protect, keep and order are options of the method mascot"),
        (["--paper", "--method", "mmr"], HITS, "--paper means --method paper, got --method mmr as well"),
        (["-k", "0"], HITS, "k must be a whole number >= 1, got 0"),
        ([], HITS + "{oops}\n", "standard input line 61: not JSON"),
        ([], '{"score": 1}\n{"score": null}\n', "standard input line 2: score must be a finite number, got None"),
        (["--input-format", "csv"], "score\n1\n2,3\n", "standard input line 3: 2 values, the header has 1"),
        ([], "", "standard input has no records"),
        (["nowhere.jsonl"], "", "nowhere.jsonl: No such file or directory"),
        (["hits.txt"], "", "hits.txt: unknown suffix; use .jsonl"),
        (["--spread", "place"], '{"score": 1, "lat": 95, "lon": 0}', "must be a latitude in -90..90, got 95.0"),
        (
            ["--focus", "camera", "--focus", "hour"],
            '{"score": 1, "camera": "a", "taken": 18}\n\n{"score": 1, "camera": "a", "taken": "N/A"}\n',
            "standard input line 3: HourOfDay column 'taken' must hold times (ISO, EXIF or datetime), got",
        ),
    ],
)
def test_errors_are_one_line_and_exit_code_two(words: list[str], given: str, message: str) -> None:
    done = run("rerank", *words, given=given)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("mascot: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["rerank", "--order", "random"], ["rerank", "--nothing"], ["nothing"]])
def test_wrong_usage_is_said_without_a_traceback(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert words[-1] in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_line_is_named_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "hits.jsonl"
    path.write_text('{"score": 1}\nscore: 1\n')
    assert f"{path} line 2: not JSON" in run("rerank", str(path)).stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_missing_extra_names_the_cure(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from mascot.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=240)
    assert done.returncode == 2
    assert done.stderr.startswith("mascot: the mascot command needs: ")
    assert done.stderr.endswith("pip install typer rich\n")


def test_a_reader_that_leaves_is_no_error(hits: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "rerank", hits, "-k", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=240) in (0, 1)


def test_version() -> None:
    from mascot.kernels import native

    assert native.available()
    assert good("--version") == f"mascot {mc.__version__} (native kernel, {native.description()})\n"


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mascot", "rerank", "--format", "jsonl"], input='{"id": "a"}', capture_output=True,
        text=True, env=environment(), timeout=240,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("mascot: standard input has no column 'score'")


def test_the_demo_shows_before_and_after() -> None:
    text = good("demo")
    assert ANSI not in text
    assert max(map(len, text.splitlines())) <= 100
    row = r"4 +20:34 Oia +18:24 San Francisco +15 +3,850 km from the nearest other result$"
    assert re.search(row, text, re.M)
    counts = re.findall(r"(\d+) cities, (\d+) hours -> (\d+) cities, (\d+) hours; (\d+)%", text)
    spread, both = ([int(number) for number in found] for found in counts)
    assert spread[2] > spread[0]
    assert spread[3] > spread[1]
    assert both[2] > both[0]
    assert both[3] < spread[3]
    assert spread[4] > 80
    assert both[4] > 70  # a named hour is part of relevance, so that some of the text's own is given up
    assert "18:02, 2 minutes from 18:00" in text
    assert "place: adds too little new" in text


def test_the_demo_prints_its_records() -> None:
    assert records_of(good("demo", "--records")) == example.records()


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (["--help"], {"rich", "typer.rich_utils"}),
        (["rerank", "--spread", "place"], {"rich"}),
        (["demo"], set()),
        (["probe", "--focus", "hour"], set()),
    ],
)
def test_a_command_loads_nothing_that_others_need(words: list[str], absent: set[str]) -> None:
    others = {"torch", "onnxruntime", "PIL", "msgspec", "starlette", "mascot.photos.library", "mascot.bench", "ssl"}
    code = (
        f"import sys; sys.argv = ['mascot', *{words!r}]\nfrom mascot.cli import main\n"
        f"try:\n    main()\nfinally:\n    loaded = {others | absent!r} & set(sys.modules)\n"
        "    assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=HITS, capture_output=True, text=True, env=environment(), timeout=240
    )
    assert done.returncode == 0, done.stderr


def test_many_queries_go_through_the_batch_and_rank_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from mascot import words
    from mascot.cli import app as cli
    from mascot.cli import tables

    rows = example.records()
    table = tables.RecordTable("t", [row | {"query": i % 5} for i, row in enumerate(rows)], list(range(len(rows))))
    found = tables.queries(table)
    wishes = [words.spread("place"), words.focus("hour=18"), words.focus("camera=X-T3")]
    alone = [ranking.ids for ranking in cli._ranked(found, wishes, 4, mc.Mascot(), None)]
    monkeypatch.setattr(cli, "_CHUNK", 2)
    batches: list[int] = []
    together: Callable[..., Any] = mc.rerank_many

    def counted(candidates: Any, *rest: Any) -> Any:
        batches.append(len(candidates))
        return together(candidates, *rest)

    monkeypatch.setattr(mc, "rerank_many", counted)
    assert [ranking.ids for ranking in cli._ranked(found, wishes, 4, mc.Mascot(), None)] == alone
    assert batches == [2, 2, 1]


def test_probe_prints_its_verdict(hits: str) -> None:
    from mascot.probe import probe

    expected = probe(example.candidates(), [mc.focus(mc.Place()), mc.focus(mc.HourOfDay())])
    words = ["probe", hits, "--focus", "place", "--focus", "hour"]
    assert good(*words) == f"{expected}\n"
    (line,) = good(*words, "--format", "jsonl").splitlines()
    assert json.loads(line) == expected.to_dict()
    assert json.loads(good(*words, "--format", "json")) == [expected.to_dict()]


def test_probe_of_several_queries_has_a_line_each() -> None:
    text = good("probe", *TWO_NAMES, given=TWO)
    head, _, *rows = (line for line in text.splitlines() if line.strip())
    assert head.split() == ["query", "kept", "worst", "step", "survives", "verdict"]
    assert [row.split()[0] for row in rows] == ["sky", "sea"]
    told = records_of(good("probe", *TWO_NAMES, "--format", "jsonl", given=TWO))
    assert [(part["query"], part["verdict"]) for part in told] == [(r.split()[0], r.split()[-1]) for r in rows]


def on_a_terminal(*words: str, given: str | None = None, columns: int = 100) -> str:
    """What a terminal shows: standard output, error and, unless `given`, input are one."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm-256color", COLUMNS=str(columns))
    process = subprocess.Popen(
        [*COMMAND, *words], stdin=theirs if given is None else subprocess.PIPE, stdout=theirs, stderr=theirs,
        env=env,
    )  # fmt: skip
    os.close(theirs)
    if process.stdin is not None and given is not None:
        process.stdin.write(given.encode())
        process.stdin.close()
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux: the other end has closed
        pass
    os.close(ours)
    process.wait(timeout=240)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_coloured_table_that_fits(hits: str) -> None:
    wishes = ["--spread", "place", "--protect", "3"]
    text = on_a_terminal("rerank", hits, "-k", "5", *wishes, "--explain")
    assert ANSI in text
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert max(map(len, bare.splitlines())) <= 100
    assert re.search(r"4 +15 +golden-gate-haze +0\.861 +\d", bare)
    assert "queries" not in bare


def test_a_terminal_shows_progress_over_many_queries() -> None:
    rows = [{"query": i, "id": i, "score": 1} for i in range(150)]
    assert "queries" in on_a_terminal("rerank", "--format", "jsonl", given=lines_of(rows))


def test_nothing_to_read_on_a_terminal_is_said_at_once() -> None:
    assert "no input: name a FILE" in on_a_terminal("rerank")


@cache
def commands() -> dict[str, set[str]]:
    """The program's own word on its commands and their options."""
    listed = good("--help").split("Commands:")[1]
    names = re.findall(r"^  ([a-z]+)  ", listed, re.M)
    assert {"rerank", "probe", "demo"} <= set(names)
    return {name: options(name) for name in names}


@functools.cache
def help_of(*command: str) -> str:
    return good(*command, "--help")


def options(*command: str) -> set[str]:
    """The options of a command, or of all the commands of a group."""
    told = help_of(*command)
    found = set(re.findall(r"^  (-[\w-]+)", told, re.M)) - {"--help"}
    for name in re.findall(r"^  ([a-z]+)  ", told.partition("Commands:")[2], re.M):
        found |= options(*command, name) | {f"mascot {' '.join(command)} {name}"}
    return found


def test_every_command_and_option_is_documented() -> None:
    sections = re.split(r"^## ", DOCS.read_text(encoding="utf-8"), flags=re.M)
    told = {found.group(1): text for text in sections if (found := re.match(r"`mascot (\w+)`", text))}
    listed = commands()
    assert set(told) == set(listed)
    for name, known in listed.items():
        assert known, name
        missing = {option for option in known if f"`{option}`" not in told[name]}
        assert not missing, f"docs/cli.md does not speak of {missing} under mascot {name}"
    assert "`mascot --version`" in DOCS.read_text(encoding="utf-8")


def test_every_option_has_help() -> None:
    for name in commands():
        for line in re.split(r"\n(?=  -)", help_of(name).split("Options:")[1].strip("\n")):
            assert len(line.split(maxsplit=2)[-1]) > 20, line


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_documentation_shows_what_the_program_prints(tmp_path: Path) -> None:
    assert retold(DOCS, tmp_path) == DOCS.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        DOCS.write_text(retold(DOCS, Path(scratch)), encoding="utf-8")
