"""The command as it is used, with files, pipes and exit codes: in this process, and a few times as a real one.

`python -m tests.test_cli` runs the examples of docs/rerank.md and writes down what they print.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from docs import cli_reference

import mascot as mc
from mascot.cli import command_group, example, main, printing, rerank_command
from tests.retelling import environment, on_a_terminal, retold, run_command

DOCS = Path(__file__).parents[1] / "docs" / "rerank.md"
ANSI = "\x1b["


def good(*words: str, given: str | bytes = b"") -> str:
    """What `mascot ...` prints, run in this process with `given` on its standard input."""
    done = run_command(*words, stdin=given)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def records_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def ranked(*words: str, given: str | bytes = b"") -> list[Any]:
    """The ids that `mascot rerank` prints."""
    return [record["id"] for record in records_of(good("rerank", *words, given=given))]


def lines_of(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


HITS = lines_of(example.records())


@pytest.fixture
def hits(tmp_path: Path) -> str:
    path = tmp_path / "hits.jsonl"
    path.write_text(HITS, encoding="utf-8")
    return str(path)


def test_rerank_by_a_profile(hits: str, tmp_path: Path) -> None:
    path = tmp_path / "home.json"
    data = {"wishes": [{"limit": "camera", "n": 1}], "k": 4, "allow": ["k"], "variants": {"a": {}, "b": {"k": 2}}}
    path.write_text(json.dumps(data))
    limit = ranked(hits, "--limit", "camera=1", "-k", "4")
    assert ranked(hits, "--profile", str(path)) == limit
    assert ranked(hits, "--profile", str(path), "--variant", "b") == ranked(hits, "--limit", "camera=1", "-k", "2")
    assert len(ranked(hits, "--profile", str(path), "-k", "3")) == 3
    focus = {"wishes": [{"focus": {"kind": "Place"}}, {"focus": "camera"}], "allow": ["near.place", "near.camera"]}
    (tmp_path / "near.json").write_text(json.dumps(focus))
    words = ["--near", "place=[38.7,-9.1]", "--near", "camera=Z6"]
    typed = ["--focus", "place=38.7,-9.1", "--focus", "camera=Z6"]
    assert ranked(hits, "--profile", str(tmp_path / "near.json"), *words) == ranked(hits, *typed)
    for words, text in [
        (["--profile", str(path), "--spread", "camera"], "--profile has the wishes and the method"),
        (["--profile", str(path), "--strength", "1"], "does not allow strength to be overridden; it allows k"),
        (["--profile", str(tmp_path / "no.json")], "no.json: cannot be read: No such file"),
        (["--variant", "b"], "--variant needs --profile, got 'b'"),
        (["--near", "place"], "--near needs --profile, got ['place']"),
        (["--profile", str(path), "--near", "place"], "does not allow near.place to be overridden"),
        (["-k", "0"], "k must be a whole number >= 1, got 0"),
    ]:
        done = run_command("rerank", hits, *words)
        assert done.returncode != 0
        assert text in done.stderr


def test_rerank_prints_what_the_library_ranks_and_why(hits: str) -> None:
    asked = ["rerank", hits, "-k", "12", "--spread", "place:lat,lon", "--focus", "hour:taken=18"]
    printed = records_of(good(*asked, "--explain"))
    ranking = mc.rerank(example.candidates(), [mc.spread(mc.Place()), mc.focus(mc.HourOfDay(), near=18.0)], k=12)
    by_id = {record["id"]: record for record in example.records()}
    assert [record["id"] for record in printed] == ranking.ids
    assert [record["relevance"] for record in printed] == pytest.approx(ranking.relevance, abs=1e-6)
    for rank, (record, reason) in enumerate(zip(printed, ranking.explain().results, strict=True), 1):
        assert by_id[record["id"]].items() <= record.items()
        because = record.pop("reason")
        assert (record["rank"], record["was"]) == (rank, reason.was)
        assert (because["step"], because["because"]) == (reason.step, reason.because)
        assert because["gains"] == pytest.approx(reason.gains, abs=1e-6)
    assert list(printed[0])[-3:] == ["rank", "was", "relevance"]
    assert records_of(good(*asked)) == printed


@pytest.mark.parametrize(
    ("typed", "method"),
    [
        (["--keep", "0.97"], mc.Mascot(keep=0.97)),
        (["--order", "selection", "--protect", "1", "--strength", "0.7"], mc.Mascot(0.7, order="selection", protect=1)),
        (["--method", "paper", "--strength", "0.4"], mc.Mascot.paper(0.4)),
    ],
)
def test_options_are_the_methods(hits: str, typed: list[str], method: Any) -> None:
    expected = mc.rerank(example.candidates(), mc.focus("camera"), k=8, method=method).ids
    assert ranked(hits, "-k", "8", "--focus", "camera", *typed) == expected


def test_pipe_in_pipe_out(hits: str) -> None:
    from_file = good("rerank", hits, "--spread", "camera")
    assert good("rerank", "--spread", "camera", given=HITS) == from_file
    again = records_of(good("rerank", "-", "--strength", "0", given=from_file))
    assert [record["rank"] for record in again] == [record["was"] for record in again] == list(range(1, 21))
    rows = example.records()
    csv = "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])
    assert good("rerank", "--input-format", "csv", "--spread", "camera", given=csv) == from_file


TWO = lines_of(
    [
        {"topic": "sky", "key": 1, "sim": 0.2, "camera": "a"},
        {"topic": "sea", "key": 2, "sim": 0.9, "camera": "a"},
        {"topic": "sea", "key": 3, "sim": 0.8, "camera": "a"},
        {"topic": "sea", "key": 4, "sim": 0.7, "camera": "b"},
    ]
)
TWO_NAMES = ["--query", "topic", "--id", "key", "--score", "sim", "--spread", "camera", "-k", "2"]
TWO_NAMES += ["--protect", "1", "--strength", "0.7"]


def test_each_query_has_its_own_results() -> None:
    printed = records_of(good("rerank", *TWO_NAMES, given=TWO))
    results = [(record["topic"], record["key"], record["rank"], record["was"]) for record in printed]
    assert results == [("sky", 1, 1, 1), ("sea", 2, 1, 1), ("sea", 4, 2, 3)]
    sky, sea = json.loads(good("rerank", *TWO_NAMES, "--format", "json", "--explain", given=TWO))
    assert (sky["query"], sea["query"]) == ("sky", "sea")
    assert [record["key"] for record in sea["results"]] == [2, 4]
    assert [(record["key"], record["reason"]["because"]) for record in sea["left_out"]] == [
        (3, "its camera is already covered")
    ]
    assert (sea["notes"], sea["method"]["protect"], sea["wishes"][0]["spread"]) == ([], 1, "camera")


def test_limits_shares_and_earlier_pages(hits: str) -> None:
    ranking = mc.rerank(example.candidates(), mc.limit("city", 1), k=8)
    shown = [word for id_ in ranking.ids for word in ("--already", id_)]
    second = mc.rerank(example.candidates(), mc.limit("city", 1), 8, already=ranking).ids
    assert ranked(hits, "-k", "8", "--limit", "city=1", *shown) == second
    assert len(ranked(hits, "-k", "60", "--limit", "city=1", "--fill")) == 60
    filled = ranked(hits, "-k", "9", "--limit", "camera=1", "--fill", "--limit", "city=1/3")
    candidates = example.candidates()
    cities = dict(zip(candidates.ids, candidates.columns["city"], strict=True))
    assert all(len({cities[id_] for id_ in filled[place : place + 3]}) == 3 for place in range(7))
    third = {second[0]: 3}
    assert ranked(hits, "-k", "4", "--pin", f"{second[0]}=3") == mc.rerank(example.candidates(), [], 4, pin=third).ids
    assert ranked(hits, "-k", "4", "--pin", second[0])[0] == second[0]
    for pins in (["nothing"], [f"{second[0]}=x"], [f"{second[0]}=1", second[1]]):
        done = run_command("rerank", hits, *(word for pin in pins for word in ("--pin", pin)))
        assert (done.returncode, "--pin must" in done.stderr) == (2, True)
    scarce = ["rerank", hits, "-k", "6", "--share", "camera=X100V:50%", "--limit", "city=1", "--explain"]
    note = "share camera: 1 of 3 from X100V (at most 1 fit: its 11 candidates have 1 value of city)"
    assert good(*scarce, "--format", "table").rstrip().endswith(note)
    assert json.loads(good(*scarce, "--format", "json"))[0]["notes"] == [note]


def test_hits_without_a_value_are_not_limited_counted_or_dropped() -> None:
    sellers = [None, None, "x", "x", "y"]
    records = [{"id": id_, "score": 9 - id_, "seller": seller} for id_, seller in enumerate(sellers)]
    asked = ("rerank", "--limit", "seller=x:1,*:1", "-k", "5")

    def shown_with(option: str) -> str:
        return run_command(*asked, *option.split(), stdin=lines_of(records)).stdout

    shown = {
        option: [record["id"] for record in records_of(shown_with(option))]
        for option in ("", "--count-missing", "--missing drop")
    }
    assert shown == {"": [0, 1, 2, 4], "--count-missing": [0, 2, 4], "--missing drop": [2, 4]}
    both = run_command(*asked, "--count-missing", "--missing", "drop", stdin=lines_of(records))
    assert (both.returncode, "--count-missing contradicts --missing" in both.stderr) == (2, True)


NASTY = "\x1b[31m\x9b2J\r\n\x07\u202e"
REPLACED = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("explain", [[], ["--explain"]])
def test_a_terminal_never_obeys_what_a_file_holds(explain: list[str]) -> None:
    record = {"id": f"a{NASTY}", "query": f"q{NASTY}", f"c{NASTY}": f"v{NASTY}", "score": 1, "mark": "[red]:smile:[/]"}
    wishes = [word for column in record for word in ("--spread", f"category:{column}")]
    text = good("rerank", *wishes, "--format", "table", *explain, given=json.dumps(record))
    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}
    assert all(name + REPLACED in text for name in ("a", "q", "v" if explain else "c"))
    assert "[red]:smile:[/]" in text  # no markup
    done = run_command("rerank", "--score", "sim", stdin=json.dumps(record))
    assert f"its columns: id, query, c{REPLACED}[31m" in done.stderr
    assert done.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize("text", [f"a{NASTY}\x7f\x85\u2028", "a\udceab", "\U0001f600\ude00"])
def test_json_holds_no_escapes_and_lone_surrogates_as_they_were(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printing.show_json({"id": text, text: [text]})
    printed = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\x7f"} & set(printed)
    assert json.loads(printed.encode()) == {"id": text, text: [text]}


def closed_pipe() -> Any:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        (closed_pipe, 1, ""),  # a reader that leaves, as `head` does, is not an error
        (partial(open, "/dev/full", "w"), 2, "mascot: cannot read or write: No space left on device\n"),
        (nullcontext, 2, "mascot: standard output is closed; redirect it to /dev/null to discard the output\n"),
    ],
)
def test_output_that_cannot_be_written(
    output: Any, code: int, message: str, hits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(output, partial) and not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    monkeypatch.setattr(sys, "argv", ["mascot", "rerank", hits])
    with output() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit) as left:
            main()
    assert (left.value.code, capsys.readouterr().err) == (code, message)


def test_columns_nested_missing_and_of_vectors_are_read() -> None:
    rows = [
        {"id": i, "score": 1 - i / 10, "emb": [float(i < 3), float(i >= 3)], "at": {"lat": 0, "lon": 90 * (i // 3)}}
        for i in range(6)
    ]
    asked = ["--protect", "1", "--strength", "0.9", "-k", "2"]
    assert ranked(*asked, "--spread", "look:2", "--vector", "emb", given=lines_of(rows)) == [0, 3]
    assert ranked(*asked, "--spread", "vectors:emb", given=lines_of(rows)) == [0, 3]
    assert ranked(*asked, "--spread", "vectors", "--vector", "emb", given=lines_of(rows)) == [0, 3]
    both = [{**row, "vector": [1.0, 0.0]} for row in rows]  # the option decides, and a named column wins over it
    assert ranked(*asked, "--spread", "vectors", "--vector", "emb", given=lines_of(both)) == [0, 3]
    assert ranked(*asked, "--spread", "vectors:vector", "--vector", "emb", given=lines_of(both)) == [0, 1]
    for wish in ("vectors", "look"):
        refused = run_command("rerank", *asked, "--spread", wish, stdin=lines_of(rows))
        assert refused.returncode == 2
        assert "vector" in refused.stderr
        assert "name another with --vector" in refused.stderr
    named = [{**row, "vector": row["emb"]} for row in rows]
    assert ranked(*asked, "--spread", "vectors", given=lines_of(named)) == [0, 3]
    assert ranked(*asked, "--spread", "place:at.lat,at.lon", given=lines_of(rows)) == [0, 3]
    rows[4]["at"]["lat"] = 95
    assert "line 5: " in run_command("rerank", *asked, "--spread", "place:at.lat,at.lon", stdin=lines_of(rows)).stderr
    rows[5]["year"] = 2019
    assert ranked("--focus", "year=2019", "--missing", "drop", given=lines_of(rows)) == [5]
    printed = records_of(
        good("rerank", "-k", "2", "--method", "mmr", "--vector", "emb", "--explain", given=lines_of(rows))
    )
    assert [record["reason"] for record in printed] == [{"step": n, "because": "selected by Mmr"} for n in (1, 2)]


def test_numbers_that_json_lacks_are_null() -> None:
    (record,) = records_of(good("rerank", given='{"score": 1.5, "f": NaN}'))
    assert (record["score"], record["f"]) == (1.5, None)


@pytest.mark.parametrize(
    ("typed", "given", "message"),
    [
        (["--score", "sim"], HITS, "standard input has no column 'sim'; its columns: id, city, lat, lon, taken"),
        (["--focus", "camera=Leica"], HITS, "column 'camera' has no value 'Leica'; its values: X100V"),
        ([], HITS + "{oops}\n", "standard input line 61: not JSON"),
        (["--share", "city=Oia:60"], HITS, "'city=Oia:60': a share is a percentage, such as 60%, or a number from 0"),
        (["--input-format", "json"], '{"hits": {}}', "the response of an engine its name, such as --input-format"),
        (["nowhere.jsonl"], "", "nowhere.jsonl: No such file or directory"),
        (
            ["--focus", "camera", "--focus", "hour"],
            '{"score": 1, "camera": "a", "taken": 18}\n\n{"score": 1, "camera": "a", "taken": "N/A"}\n',
            "standard input line 3: HourOfDay column 'taken' must hold times (ISO, EXIF or datetime), got",
        ),
    ],
)
def test_errors_are_one_line_and_exit_code_two(typed: list[str], given: str, message: str) -> None:
    done = run_command("rerank", *typed, stdin=given)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mascot: ")
    assert message in done.stderr


def test_missed_rules_are_named_in_a_pipe() -> None:
    done = run_command("rerank", "-k", "4", "--share", "city=Atlantis\x1b:25%", stdin=HITS)
    assert (done.returncode, done.stdout.count("\n")) == (0, 4)
    assert done.stderr == f"mascot: share city: 0 of 1 from Atlantis{REPLACED} (no candidate has it)\n"
    two = "".join(json.dumps({**json.loads(line), "query": n % 2}) + "\n" for n, line in enumerate(HITS.splitlines()))
    assert run_command("rerank", "--share", "city=Atlantis:25%", stdin=two).stderr == (
        "mascot: 2 of 2 queries do not meet every rule; --format table names the rules\n"
    )


def test_a_record_without_an_id_is_refused_if_others_have_one() -> None:
    done = run_command("rerank", stdin=lines_of([{"id": 1, "score": 0.5}, {"score": 0.4}]))
    assert done.returncode == 2
    assert "standard input line 2 has no id" in done.stderr


def test_a_missing_extra_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    done = run_command("--help")
    assert done.returncode == 2
    assert re.fullmatch(r"mascot: the mascot command needs: .*pip install 'mascot-rerank\[cli\]'\n", done.stderr)


def process(*command: str, given: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *command], input=given.encode(), capture_output=True, env=environment(**variables), timeout=240
    )


def test_the_package_runs_as_the_command_in_every_locale() -> None:
    given = json.dumps({"id": "São Paulo", "score": 1}, ensure_ascii=False)
    done = process("-m", "mascot", "rerank", given=given, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert json.loads(done.stdout.decode("utf-8"))["id"] == "São Paulo"


def loaded_by(*typed: str, modules: set[str]) -> bytes:
    """Check that a command in a process of its own loads none of these modules; return what it prints."""
    code = (
        f"import sys; sys.argv = ['mascot', *{typed!r}]\nfrom mascot.cli import main\n"
        f"try:\n    main()\nfinally:\n    print(sorted({modules!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = process("-c", code, given=HITS)
    assert (done.returncode, done.stderr) == (0, b"[]\n")
    return done.stdout


def test_a_command_loads_nothing_that_others_need() -> None:
    others = {"torch", "onnxruntime", "PIL", "msgspec", "starlette", "mascot.photos.library", "mascot.bench", "ssl"}
    loaded_by("rerank", "--spread", "place", modules=others | {"rich"})
    heavy = {"numpy", "rich", "typer.rich_utils", "mascot.reranking", "mascot.cli.photos.photo_commands", "PIL", "ssl"}
    assert loaded_by("--help", modules=heavy).startswith(b"Usage: mascot [OPTIONS] COMMAND [ARGS]...")
    for name in command_group.MODULES:
        assert command_group.load(name).help.startswith(command_group.summary(name)[:60])


def test_public_names_load_with_the_first_and_stay_functions() -> None:
    code = (
        "import sys, mascot as mc\nassert 'numpy' not in sys.modules\nimport mascot.reranking\n"
        "assert callable(mc.rerank)\n"
        "assert set(mc.__all__) <= set(dir(mc)) and not hasattr(mc, 'nothing')"
    )
    done = process("-c", code)
    assert done.returncode == 0, done.stderr


def test_many_queries_in_chunks_rank_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row | {"query": i % 5} for i, row in enumerate(example.records())]
    asked = ["-k", "4", "--spread", "place", "--focus", "hour=18", "--focus", "camera=X-T3"]
    alone = ranked(*asked, given=lines_of(rows))
    monkeypatch.setattr(rerank_command, "_CHUNK", 2)
    assert ranked(*asked, given=lines_of(rows)) == alone


def test_a_terminal_gets_a_coloured_table_that_fits_and_progress_over_many_queries() -> None:
    rows = [{"query": i, "id": f"long {i} " * 40, "score": 1, "camera": "a"} for i in range(100)]
    text = on_a_terminal("rerank", "--spread", "camera", "--explain", given=lines_of(rows))
    assert ANSI in text
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert max(map(len, bare.splitlines())) <= 100
    assert "queries" in bare


def test_the_reference_of_the_command_is_current() -> None:
    text = cli_reference.PAGE.read_text(encoding="utf-8")
    assert text == cli_reference.reference(), "run `python -m docs.cli_reference`"
    for section in re.findall(r"Options:\n(.*?)\n(?:\nCommands:|```)", text, re.S):
        for line in re.split(r"\n(?=  -)", section):
            assert len(line.split(maxsplit=2)[-1]) > 20, line


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_documentation_shows_what_the_program_prints(tmp_path: Path) -> None:
    assert retold(DOCS, tmp_path) == DOCS.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        DOCS.write_text(retold(DOCS, Path(scratch)), encoding="utf-8")
