"""Previews: what rules change over recorded queries. `python -m tests.test_preview` writes the output in the page."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.cli import preview_command
from mascot.preview import QueryHits, preview
from mascot.preview_page import write_page
from mascot.profiles import Variant
from mascot.wishes import AnyWish
from tests.retelling import on_a_terminal, retold, run_command

PAGE = Path(__file__).parents[1] / "docs" / "preview.md"
LIMIT = {"wishes": [{"limit": "seller", "n": 1}], "k": 2}
HITS = [
    {"id": id_, "score": score, "seller": seller}
    for id_, score, seller in zip("abcd", (9, 8, 7, 6), "xxyz", strict=True)
]
LINE = {"query": "boots", "searches": 3, "hits": HITS}
RESPONSE = {"hits": {"hits": [{"_id": hit["id"], "_score": hit["score"], "_source": hit} for hit in HITS]}}


def rules(*wishes: AnyWish, k: int = 2) -> Variant:
    return Variant("", 1.0, wishes, k, mc.Mascot())


def query(sellers: str = "xxyz", weight: float = 1.0, name: str = "q", **columns: Any) -> QueryHits:
    scores = list(range(len(sellers), 0, -1))
    return QueryHits(name, mc.Candidates(scores, columns={"seller": list(sellers), **columns}), weight)


def test_each_figure_of_one_page() -> None:
    result = preview([query()], rules(mc.limit("seller", 1)))
    assert (result.queries, result.pages, result.first, result.first_five, result.replaced) == (1, 1, 0, 1, 1)
    second = 1 / math.log2(3)
    assert result.moved == pytest.approx(second / (1 + second))
    assert (result.kept_before, result.kept) == (1, pytest.approx((1 + 1 / 3) / (1 + 2 / 3)))
    changes = {entry.value: entry.change for entry in result.exposure}
    assert changes == {"x": pytest.approx(-second / (1 + second)), "y": pytest.approx(second / (1 + second))}
    (changed,) = result.most_changed
    assert [(entry.id, entry.was, entry.values) for entry in changed.after] == [
        (0, 1, {"seller": "x"}), (2, 3, {"seller": "y"}),
    ]  # fmt: skip
    assert "first of at most one from x" in changed.after[0].because


def test_the_same_rules_change_nothing() -> None:
    both = rules(mc.limit("seller", 1))
    result = preview([query(), query("")], both, both)
    assert (result.pages, result.moved, result.replaced, result.most_changed) == (0, 0, 0, [])
    assert result.kept == result.kept_before < 1


def test_weights_count_in_means_and_not_in_numbers_of_pages() -> None:
    queries = [query(), query("wxyz", weight=3)]
    result = preview(queries, rules(mc.limit("seller", 1), mc.at_least("seller", {"u": 1})))
    assert (result.queries, result.pages) == (2, 0.25)
    assert [(entry.rule, entry.value, entry.before, entry.after) for entry in result.missed] == [
        ("at least seller", "u", 0, 2)
    ]
    assert result.missed[0].reason == "no candidate has the value"


def test_the_most_changed_queries_come_first_and_are_ten() -> None:
    queries = [query("xy" + "x" * (n % 3) + "yz", name=f"{n}") for n in range(30)]
    entries = preview(queries, rules(mc.focus("seller", near="z"), k=3)).most_changed
    moved = [entry.moved for entry in entries]
    assert len(entries) == 10
    assert moved == sorted(moved, reverse=True)


def test_pages_that_limits_shorten() -> None:
    result = preview([query("xxx"), query("x")], rules(mc.limit("seller", 1)))
    assert (result.short_before, result.short) == (0, 0.5)
    assert [(entry.cause, entry.after) for entry in result.missed] == [("limits", 1)]


def test_queries_that_the_rules_refuse_are_counted() -> None:
    queries = [query(), QueryHits("bare", mc.Candidates([2, 1])), query()]
    result = preview(queries, rules(mc.limit("seller", 1)))
    assert result.queries == 2
    ((message, count),) = result.refused.items()
    assert "seller" in message
    assert count == 1


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], "there are no queries"),
        ([QueryHits("bare", mc.Candidates([2, 1]))], "seller"),
        ([query(weight=0)], "must not all be 0"),
    ],
)
def test_previews_without_any_page(queries: list[QueryHits], message: str) -> None:
    with pytest.raises(mc.InputError, match=message):
        preview(queries, rules(mc.limit("seller", 1)))


def test_the_html_file_obeys_no_value(tmp_path: Path) -> None:
    hostile = '<script>alert("1")</script>\ud800'
    result = preview([query(name=hostile, text=[hostile] * 4)], rules(mc.limit("seller", 1)), columns=["text"])
    path = tmp_path / "p.html"
    write_page(result, str(path), hostile, hostile)
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 5
    assert text.count("<svg") == 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.json").write_text(json.dumps(LIMIT))
    (tmp_path / "old.json").write_text(json.dumps({"k": 2, "variants": {"all": {}, "one": {"k": 1}}}))
    return tmp_path


def previewed(folder: Path, *words: str, stdin: str = "") -> Any:
    """Return the JSON that the command prints."""
    run = run_command("preview", *words, "--format", "json", stdin=stdin, folder=folder)
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


@pytest.mark.parametrize("words", [[], ["--from", "elasticsearch"], ["--score", "rating"], ["rows"], ["csv"]])
def test_every_form_of_recorded_queries_has_the_same_preview(folder: Path, words: list[str]) -> None:
    line: dict[str, Any] = LINE | ({"hits": RESPONSE} if "elasticsearch" in words else {})
    path = folder / "q.jsonl"
    if "--score" in words:
        line["hits"] = [{"rating": hit["score"], "id": hit["id"], "seller": hit["seller"]} for hit in HITS]
    if words in (["rows"], ["csv"]):
        records = [{"query": "boots", "searches": 3, **hit} for hit in HITS]
        path.write_text("\n".join(map(json.dumps, records)))
        if words == ["csv"]:
            path = folder / "q.csv"
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, records[0])
                writer.writeheader()
                writer.writerows(records)
        words = []
    else:
        path.write_text(json.dumps(line) + "\n\n")
    result = previewed(folder, "rules.json", str(path), "--weight", "searches", *words)
    (changed,) = result["most_changed"]
    assert (changed["query"], changed["weight"], result["replaced"]) == ("boots", 3, 1)
    assert [[entry["id"] for entry in changed[side]] for side in ("before", "after")] == [["a", "b"], ["a", "c"]]


def test_chunks_of_queries_add_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [LINE | {"query": n, "hits": HITS[n % 2 :]} for n in range(5)]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    whole = previewed(folder, "rules.json", "q.jsonl")
    monkeypatch.setattr(preview_command, "_CHUNK", 2)
    assert previewed(folder, "rules.json", "q.jsonl") == whole
    assert whole["queries"] == 5


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["rules.json", "-"], '{"query": 1, "hits": {}}', "standard input line 1: hits must be a list"),
        (["rules.json", "-", "--weight", "n"], json.dumps(LINE), "line 1: n must be a number >= 0, got None"),
        (["rules.json", "-"], '{"hits": [{"score": "x"}]}', "line 1: "),
        (["rules.json", "-", "--from", "algolia", "--vector", "v"], json.dumps(LINE), "not an option of from_algolia"),
        (["rules.json", "-"], '{"query": 1, "id": "b1", "score": 0.9, "sellr": "x"}', "Category needs column 'seller'"),
        (["rules.json", "-", "--variant", "b"], json.dumps(LINE), "no variant 'b'"),
        (["rules.json", "-", "--html", "absent/p.html"], json.dumps(LINE), "absent/p.html: No such file"),
    ],
)
def test_errors_are_one_line(folder: Path, words: list[str], stdin: str, message: str) -> None:
    run = run_command("preview", *words, stdin=stdin, folder=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_variant_against_the_first_one_on_a_terminal(folder: Path) -> None:
    (folder / "q.jsonl").write_text("\n".join([json.dumps(LINE)] * 600))
    paths = [str(folder / name) for name in ("old.json", "q.jsonl", "old.json")]
    text = on_a_terminal("preview", *paths[:2], "--against", paths[2], "--variant", "one")
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert "queries" in bare
    assert re.search(r"pages that change +100.0%", bare)


def rewritten(folder: Path) -> str:
    """Return the page with the output of its examples, run again in a folder."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M)
    code = "\n".join(blocks).replace('Path("', f'Path("{folder}/').replace('load_profile("', f'load_profile("{folder}/')
    exec(compile(code, PAGE.name, "exec"), {})
    return retold(PAGE, folder)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_page_shows_what_the_program_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert rewritten(tmp_path) == text
    assert capsys.readouterr().out == text.rpartition("```text\n")[2].removesuffix("```\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_tutorial_shows_what_the_program_prints() -> None:
    page = PAGE.parent / "tutorials" / "elasticsearch.md"
    assert retold(page, PAGE.parents[1]) == page.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(rewritten(Path(scratch)), encoding="utf-8")
