"""Tables: the golden text, the four formats, the numbers in them, and what happens when a study is missing."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic_records as synthetic
from hypothesis import given
from hypothesis import strategies as st

from mascot import metrics
from mascot.bench import compare, published, tables
from mascot.bench.averages import RunResults, average, collect
from mascot.bench.published import Published
from mascot.bench.results import RunInfo
from mascot.bench.tables import differences, sizes
from mascot.errors import InputError, MascotError, OptionError

# Written by: print(tables.write(DIR, "text")) with DIR made of `few()`.
GOLDEN = """\
Focus at the published operating points
pixelprose-sim, test split, N=200, K=20, 4 queries, mean of seeds 0, 1

                   ours                                published
method                 HM     R@10       DM      R@1       HM     R@10       DM      R@1
geo + hour
  Base             0.3077   1.0000   0.1818   0.7500   0.2831   0.9737   0.1656   0.7905
  Prob-Coverage †  0.3200   0.8000   0.2000   0.5000   0.4066*  0.7302   0.2817   0.6750
  MASCOT           0.4000+  0.7500   0.2727   0.6000   0.3135+  0.9410   0.1881   0.7202
  Guarded          0.4500*  0.9000   0.3000   0.7500        —        —        —        —

* best, + second best; the base retriever is not ranked.
† The paper does not print this setting; inferred from its rows.
"""


def few() -> list[dict[str, Any]]:
    """Four methods on one task, with numbers that can be checked by eye."""
    rows = {
        "base": ("default", 0.3077, 1.0, 0.1818, 0.75),
        "prob-coverage": ("inferred", 0.32, 0.8, 0.2, 0.5),
        "mascot": ("published", 0.4, 0.75, 0.2727, 0.6),
        "guarded": ("default", 0.45, 0.9, 0.3, 0.75),
    }
    found = []
    for seed in (0, 1):
        for label, (point, *values) in rows.items():
            one = synthetic.record(seed, 4, label=label, point=point)
            # The seeds lie evenly around the mean.
            shift = 0.01 if seed else -0.01
            one["summary"] = {k: v + shift for k, v in zip(("hm", "r@10", "dm", "r@1"), values, strict=True)}
            one["per_query"] = {}
            found.append(one)
    return found


@pytest.fixture(scope="module")
def everything() -> list[dict[str, Any]]:
    return synthetic.records(seeds=(0, 1), queries=12)


@pytest.fixture(scope="module")
def folder(everything: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.save(everything, tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def whole(everything: list[dict[str, Any]]) -> tables.Sheets:
    return tables.build(everything)


@pytest.fixture(scope="module")
def cells(folder: Path) -> list[dict[str, str]]:
    return lines(tables.write(folder, "csv"))


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_golden_text(tmp_path: Path) -> None:
    text = tables.write(synthetic.save(few(), tmp_path), only=["focus"])
    assert text.startswith(GOLDEN)


def test_every_study_has_its_table(everything: list[dict[str, Any]]) -> None:
    keys = {table.key for table in tables.build(everything).tables}
    assert {"spread-published", "focus-published", "spread-validated", "focus-validated"} <= keys
    assert {"recall-focus-published", "parameters", "prs", "fixed-recall", "mixed", "appearance"} <= keys
    assert {"clusters", "first-gain", "top1", "runtime", "protect-guarded", "differences", "sizes"} <= keys
    assert {"strength-mascot", "strength-guarded", "sigma_geo-mascot", "sigma_time-mascot", "grid-mascot"} <= keys
    assert len(keys) == len(tables.build(everything).tables)


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv"])
def test_every_format_is_written_and_returned(folder: Path, tmp_path: Path, format: str) -> None:
    out = tmp_path / "new" / "tables.txt"
    text = tables.write(folder, format, out)
    assert out.read_text(encoding="utf-8") == text
    tables.write(folder, format, tmp_path)  # a folder gets the usual name
    (named,) = tmp_path.glob("tables.*")
    assert named.read_text(encoding="utf-8") == text


def test_the_same_files_give_the_same_text(folder: Path, cells: list[dict[str, str]]) -> None:
    assert lines(tables.write(folder, "csv")) == cells


def test_an_unknown_format_is_refused(folder: Path) -> None:
    with pytest.raises(MascotError, match="must be one of text, markdown, latex, csv, got 'html'"):
        tables.write(folder, "html")


def test_numbers_are_the_means_of_the_records(cells: list[dict[str, str]], everything: list[dict[str, Any]]) -> None:
    for label, name, point in (("mascot", "MASCOT", "published"), ("guarded", "Guarded", "default")):
        for column, key in (("HM", "hm"), ("R@10", "r@10"), ("DM", "dm"), ("R@1", "r@1")):
            values = [
                record["summary"][key]
                for record in everything
                if (record["study"], record["label"], record["point"]) == ("main", label, point)
                and (record["task"], record["direction"]) == ("hour", "focus")
            ]
            cell = one(cells, table="focus-published", section="hour", row=name, group="ours", column=column)
            assert float(cell["value"]) == pytest.approx(np.mean(values))
            assert (float(cell["low"]), float(cell["high"])) == pytest.approx((min(values), max(values)))
            assert cell["seeds"] == "2"


def one(found: list[dict[str, str]], **wanted: str) -> dict[str, str]:
    (cell,) = [line for line in found if all(line[name] == value for name, value in wanted.items())]
    return cell


def test_published_numbers_stand_beside_ours(cells: list[dict[str, str]]) -> None:
    cell = one(cells, table="spread-validated", section="geo", row="k-DPP", group="published", column="HM")
    assert (cell["value"], cell["low"], cell["seeds"]) == ("0.9291", "", "")
    cell = one(cells, table="strength-mascot", row="0.4", group="hour focus", column="publ.")
    assert cell["value"] == "0.9059"
    cell = one(cells, table="top1", section="focus, all tasks", row="MASCOT", group="published", column="displaced, %")
    assert float(cell["value"]) == pytest.approx(100 * 356 / (3 * 797))
    cell = one(cells, table="mixed", section="geo focus, hour spread", row="MS-DPP", group="published", column="geo V")
    assert cell["value"] == "0.836"


def test_variants_with_the_released_greedy_have_their_own_row(cells: list[dict[str, str]]) -> None:
    for row in ("MS-DPP", "MS-DPP, released"):
        cell = one(cells, table="focus-validated", section="geo", row=row, group="published", column="DM")
        assert cell["value"] == "0.5286"


def test_prs_and_tau_are_of_each_seeds_sweep(everything: list[dict[str, Any]], cells: list[dict[str, str]]) -> None:
    scores, taus = [], []
    for seed in (0, 1):
        sweep = sorted(
            (record["value"], 1 - np.mean(record["per_query"]["metadata"]))
            for record in everything
            if (record["study"], record["label"], record["seed"]) == ("strength", "guarded", seed)
            and (record["task"], record["direction"]) == ("geo", "focus")
        )
        strengths, diversity = zip(*sweep, strict=True)
        scores.append(metrics.prs(diversity))
        taus.append(metrics.kendall_tau(strengths, diversity))
    where = {"table": "prs", "section": "focus, geo", "row": "Guarded", "group": "ours"}
    assert float(one(cells, column="PRS", **where)["value"]) == pytest.approx(np.mean(scores))
    assert float(one(cells, column="tau", **where)["value"]) == pytest.approx(np.mean(taus))


def test_a_floor_must_be_met_in_every_seed() -> None:
    found = []
    for seed, recalls in ((0, (0.96, 0.91)), (1, (0.94, 0.92))):
        for recall, dm in zip(recalls, (0.2, 0.3), strict=True):
            made = synthetic.record(seed, 4, study="strength", value=dm)
            made["summary"] |= {"r@10": recall, "dm": dm}
            found.append(made)
    text = tables.render(*sheets(found), "csv")
    front = {line["column"]: line["value"] for line in lines(text) if line["table"] == "fixed-recall"}
    published_front = [line for line in lines(text) if line["table"] == "fixed-recall" and line["group"] == "published"]
    assert [line["value"] for line in published_front] == ["0.1784", "0.1881", "0.1881"]
    ours = [line for line in lines(text) if line["table"] == "fixed-recall" and line["group"] == "ours"]
    assert [line["value"] for line in ours] == ["none", "0.3", "0.3"]
    assert list(front) == ["≥ 0.95", "≥ 0.90", "≥ 0.85"]


def sheets(records: list[dict[str, Any]]) -> tuple[Any, Any]:
    made = tables.build(records)
    return made.tables, made.notes


def test_latex_is_balanced(folder: Path) -> None:
    text = tables.write(folder, "latex")
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    labels = re.findall(r"\\label\{([^}]+)\}", text)
    assert len(labels) == len(set(labels)) == text.count(r"\begin{tabular}")
    for body in re.findall(r"\\begin\{tabular\}\{(l(?:r)+)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL):
        columns, rows = len(body[0]), body[1].split(r"\\")
        widths = {row.replace(r"\&", "").count("&") + 1 for row in rows if "&" in row and r"\multicolumn" not in row}
        assert widths == {columns}
    outside = re.sub(r"\\[&%$#_{}]|%.*|\$\\\w+\$", "", text)
    assert not re.search(r"[#_$]", re.sub(r"\\label\{[^}]+\}", "", outside))


def test_markdown_rows_are_as_wide_as_their_heads(folder: Path) -> None:
    for block in tables.write(folder, "markdown").split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_best_and_second_best_are_marked() -> None:
    markdown = tables.render(*sheets(few()), "markdown")
    assert "| Guarded | **0.4500** |" in markdown
    assert "| MASCOT | _0.4000_ |" in markdown
    latex = tables.render(*sheets(few()), "latex")
    assert r"Guarded & \textbf{0.4500} &" in latex
    assert r"MASCOT & \underline{0.4000} &" in latex


def test_equal_as_shown_is_equally_good() -> None:
    columns = (tables.Column("HM", ranked=True),)
    rows = tuple(tables.TableRow(name, (value,)) for name, value in (("a", 0.50001), ("b", 0.50002), ("c", 0.4)))
    section = tables.Section("", (*rows, tables.TableRow("base", (0.9,), ranked=False)))
    table = tables.ResultTable("d", "k", "T", "S", "method", columns, (section,))
    text = tables.render([table], [], "markdown")
    assert [line for line in text.splitlines() if line.startswith("| ")][1:] == [
        "| a | **0.5000** |",
        "| b | **0.5000** |",
        "| c | _0.4000_ |",
        "| base | 0.9000 |",
    ]


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "csv"])
def test_missing_studies_are_noted_and_not_invented(format: str) -> None:
    found = tables.build(few())
    assert {table.key for table in found.tables} == {
        "sizes",
        "focus-published",
        "differences",
        "recall-focus-published",
        "fixed-recall",
        "top1",
        "appearance",
    }
    text = tables.render(found.tables, found.notes, format)
    for name in ("preference reflection", "sensitivity sweeps", "mixed directions", "ten clusters", "runtime"):
        assert f"no {name}: these results lack its study" in text
    assert "geo spread, hour focus" not in text


def test_a_dataset_of_ones_own_has_no_published_columns() -> None:
    found = few()
    for record in found:
        record |= {"dataset": "my photographs", "task": "camera"}
    for table in tables.build(found).tables:
        assert not [column for column in table.columns if column.group == "published"]


def test_judged_data_have_cluster_recall() -> None:
    found = few()
    for record in found:
        record["dataset"] = "div400"
        record["summary"] |= {"p@20": 0.8, "cr@20": 0.4, "f1@20": 0.53, "kept": 0.95}
    (table,) = [table for table in tables.build(found).tables if table.key.startswith("judged")]
    assert [column.name for column in table.columns] == ["P@20", "CR@20", "F1@20", "kept"]


def test_judged_settings_are_chosen_on_the_other_topics() -> None:
    found = []
    # CR@20 of two settings on three topics: the first is best on all, and on every two but the last two.
    for value, clusters in ((0.1, [0.9, 0.3, 0.3]), (0.2, [0.2, 0.5, 0.5])):
        one = synthetic.record(0, 3, study="strength", direction="spread", label="mmr", value=value, strength=value)
        one |= {"dataset": "div400", "task": "all"}
        one["per_query"] |= {"p@20": [value] * 3, "cr@20": clusters, "f1@20": [0.5] * 3}
        found.append(one)
    (table,) = [table for table in tables.build(found).tables if table.key == "judged-settings-spread"]
    (row,) = table.sections[0].rows
    # Topic 0 is left out: the second setting is chosen and finds 0.2; topics 1 and 2: the first, which finds 0.3.
    assert row.cells == pytest.approx((0.4 / 3, 0.8 / 3, 0.5, 0.1, 0.5, 0.5, 2.0))
    assert [column.group for column in table.columns] == [
        *["chosen on the other topics"] * 3,
        *["best on these topics"] * 3,
        "",
    ]


def test_datasets_do_not_mix() -> None:
    other = [{**record, "dataset": "other"} for record in few()]
    names = [table.dataset for table in tables.build(few() + other).tables]
    assert sorted(set(names)) == ["other", "pixelprose-sim"]
    assert len(names) == 2 * names.count("other")


def test_validation_records_are_left_out() -> None:
    searched = [{**record, "split": "validation", "study": "search"} for record in few()]
    assert tables.build(few() + searched) == tables.build(few())


def test_a_point_measured_twice_counts_once_and_is_noted() -> None:
    again = [{**record, "data_hash": "another"} for record in few()[:1]]
    (found,) = collect(few() + again)
    assert len(found.records) == len(few())
    assert found.notes == (
        "1 points were measured more than once; the last record of each counts",
        "the records of seed 0 come from different versions of the data",
    )


def test_nothing_to_show_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "points").mkdir()
    with pytest.raises(InputError, match="holds no test results; make some with: mascot bench run"):
        tables.write(tmp_path)


def test_average_of_nothing_is_nothing() -> None:
    assert average([None, float("nan")]) is None


def test_published_file_is_the_papers() -> None:
    shared = Path(__file__).resolve().parents[3] / "shared" / "published" / "published.json"
    if not shared.is_file():
        pytest.skip("needs the published numbers at ../shared/published")
    paper = json.loads(shared.read_text(encoding="utf-8"))
    assert {name: published.load()[name] for name in paper} == paper


def test_published_rows_agree_with_each_other() -> None:
    paper = Published("pixelprose-sim")
    for task in synthetic.TASKS:
        for direction in synthetic.DIRECTIONS:
            row = paper.row(task, direction, "mascot")
            point = paper.operating_point(task, direction, "mascot")
            assert row is not None
            assert point is not None
            assert (
                point["retrieval"]
                == row["r@10"]
                == paper.sweep("strength", task, direction, "mascot")[point["strength"]]
            )
            assert metrics.overall(row["r@10"], row["dm"]) == pytest.approx(row["hm"], abs=2e-4)


def test_other_datasets_of_the_paper() -> None:
    assert Published("incidents1m").row("geo", "spread", "mascot") == {"hm": 0.7892, "map": 0.716, "dm": 0.879}
    assert Published("visual_genome").row("geo", "spread", "mascot") is None
    assert Published("visual_genome").prs("hour", "spread", "mascot") is None
    assert Published("visual_genome").mixed("geo+hour-", "mascot") is None
    assert Published("skyscript").row("geo", "focus", "k-dpp") is None


def test_a_mean_of_fewer_seeds_says_so() -> None:
    found = [record for record in few() if (record["label"], record["seed"]) != ("guarded", 1)]
    made = tables.build(found)
    (table,) = [table for table in made.tables if table.key == "focus-published"]
    assert table.seeds == 2
    assert "0.4400 (1)*" in tables.render([table], [], "text")
    assert "**0.4400 (1)**" in tables.render([table], [], "markdown")
    assert r"\textbf{0.4400 (1)}" in tables.render([table], [], "latex")
    assert "(n): the mean of n seeds only" in tables.render([table], [], "text")
    assert "(n)" not in tables.render(*sheets(few()), "text")


def test_some_tables_by_name(whole: tables.Sheets) -> None:
    some = tables.select(whole, ["recall-focus", "runtime"])
    assert [table.key for table in some.tables] == ["recall-focus-published", "recall-focus-validated", "runtime"]
    assert some.notes == ()
    with pytest.raises(OptionError, match=r"only must be one of sizes, .*runtime, got 'speed'"):
        tables.select(whole, ["speed"])


def test_a_latex_table_fits_on_a_page(whole: tables.Sheets) -> None:
    text = tables.render(whole.tables, whole.notes, "latex")
    bodies = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, flags=re.DOTALL)
    assert max(body.count("\n") for body in bodies) <= 60
    assert r"\caption{Focus at the published operating points (" in text  # one float where it fits
    first = text.index(", part 1 of 2 (")
    assert text.index(", part 2 of 2 (") > first


@given(heights=st.lists(st.integers(1, 12), min_size=1, max_size=12), lines=st.integers(1, 30))
def test_parts_keep_every_section_whole_and_in_order(heights: list[int], lines: int) -> None:
    columns = (tables.Column("HM"),)
    sections = tuple(
        tables.Section(f"s{i}", tuple(tables.TableRow(str(r), (0.5,)) for r in range(height)))
        for i, height in enumerate(heights)
    )
    parts = tables.ResultTable("d", "k", "T", "S", "method", columns, sections).split(lines)
    assert tuple(section for part in parts for section in part.sections) == sections
    for part in parts:
        assert len(part.sections) == 1 or sum(section.lines for section in part.sections) <= lines


def main_records(label: str, recalls: list[int], wished: list[float], seeds: int = 1, **more: Any) -> RunResults:
    found = []
    for seed in range(seeds):
        one = synthetic.record(seed, len(recalls), label=label, point=more.get("point", "default"))
        one["per_query"] |= {"r@10": recalls, "appearance": [0.9] * len(recalls), "metadata": [1 - w for w in wished]}
        dm = metrics.dm(one["per_query"]["appearance"], one["per_query"]["metadata"], focus=True)
        one["summary"] |= {"r@10": float(np.mean(recalls)), "dm": dm, "hm": metrics.overall(np.mean(recalls), dm)}
        found.append(one)
    (results,) = collect(found)
    return results


def test_a_paired_difference_is_that_of_the_summaries_inside_its_interval() -> None:
    rng = np.random.default_rng(0)
    wished = rng.uniform(0.2, 0.5, 200)
    ours = main_records("guarded", rng.integers(0, 2, 200).tolist(), (wished + 0.02).tolist(), seeds=2)
    theirs = main_records("mmr", rng.integers(0, 2, 200).tolist(), wished.tolist(), seeds=2)
    for measure in ("hm", "dm", "r@10"):
        found = differences.paired(ours, theirs, measure)
        assert found is not None
        plain = [runs.records[0]["summary"][measure] for runs in (ours, theirs)]
        assert found.value == pytest.approx(plain[0] - plain[1], abs=1e-6)
        assert found.low < found.value < found.high
        assert found.seeds == 2
        assert found == differences.paired(ours, theirs, measure)
    steady = differences.paired(ours, theirs, "dm")
    assert steady is not None
    # Pairing: each query gains the same, so the interval is far narrower than that of either method.
    assert 0.015 < steady.low < steady.high < 0.03
    recall = differences.paired(ours, theirs, "r@10")
    assert recall is not None
    assert recall.low < 0 < recall.high  # coins


def test_the_interval_is_that_of_the_normal_law() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = (main_records(label, rng.integers(0, 2, 400).tolist(), [0.3] * 400) for label in ("guarded", "mmr"))
    found = differences.paired(ours, theirs, "r@10")
    assert found is not None
    apart = np.subtract(*(runs.records[0]["per_query"]["r@10"] for runs in (ours, theirs)))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * apart.std() / np.sqrt(400), rel=0.08)


def test_a_difference_is_of_the_queries_both_were_asked() -> None:
    ours, theirs = main_records("guarded", [1, 1, 0, 0], [0.3] * 4), main_records("mmr", [0, 1, 0, 1], [0.3] * 4)
    theirs.records[0]["queries"] = [0, 1, 2, 9]  # type: ignore[index]
    found = differences.paired(ours, theirs, "r@10")
    assert found is not None
    assert found.value == pytest.approx(1 / 3)
    theirs.records[0]["per_query"].pop("metadata")
    assert differences.paired(ours, theirs, "dm") is None


def test_the_rival_is_the_best_of_all_points_and_not_ours(
    cells: list[dict[str, str]], everything: list[Any], whole: tables.Sheets
) -> None:
    means: dict[tuple[str, str], list[float]] = {}
    for record in everything:
        asked = (record["study"], record["task"], record["direction"]) == ("main", "geo", "focus")
        if asked and not record["label"].startswith("guarded"):
            means.setdefault((record["label"], record["point"]), []).append(record["summary"]["hm"])
    best = max(np.mean(values) for values in means.values())
    where = {"table": "differences", "section": "focus, geo", "row": "Guarded", "group": "HM"}
    assert float(one(cells, column="rival's", **where)["value"]) == pytest.approx(best)
    apart = float(one(cells, column="ours", **where)["value"]) - best
    assert float(one(cells, column="difference", **where)["value"]) == pytest.approx(apart, abs=1e-6)
    text = tables.render(whole.tables, [], "text")
    assert re.search(r"Guarded +0\.\d{4} +0\.\d{4} +[+-]0\.\d{4} +[+-]0\.\d{4} +[+-]0\.\d{4} ", text)


def test_sizes_are_what_the_records_say() -> None:
    found = few()
    (table,) = [table for table in tables.build(found).tables if table.key == "sizes"]
    assert [column.name for column in table.columns] == ["asked", "attributes"]
    for record in found:
        record["sizes"] = {"validation": {"images": 199, "queries": 199}, "test": {"images": 797, "queries": 797}}
    (table,) = [table for table in tables.build(found).tables if table.key == "sizes"]
    assert [(row.name, row.cells[:3]) for row in table.sections[0].rows] == [
        ("validation", (199.0, 199.0, None)),
        ("test", (797.0, 797.0, "4")),
    ]
    assert table.sections[0].rows[1].cells[3] == "hour, place"


def test_compare_has_every_published_table(everything: list[dict[str, Any]]) -> None:
    found = compare.differences(everything)
    assert {one.table for one in found} == {
        "main", "appearance", "first result", "first gain", "prs", "strength", "sigma_geo", "sigma_time", "grid",
        "fixed recall", "mixed", "clusters", "runtime",
    }  # fmt: skip
    assert {one.measure for one in found if one.table == "main"} == {"r@1", "r@3", "r@5", "r@10", "r@20", "dm", "hm"}
    at = {(one.table, one.task, one.direction, one.label, one.measure, one.at): one.published for one in found}
    assert at["strength", "geo", "focus", "mascot", "r@10", "0.3"] == 0.8105
    assert at["fixed recall", "geo_hour", "focus", "mascot", "dm", ">= 0.85"] == 0.1881
    assert at["mixed", "geo_hour", "geo+hour-", "ms-dpp", "geo", ""] == 0.973
    assert at["clusters", "clusters", "focus", "mascot", "dm", ""] == 0.689
    assert at["first result", "all", "focus", "mascot", "displaced, %", ""] == pytest.approx(100 * 356 / (3 * 797))
    assert at["first result", "hour", "focus", "mascot", "agrees", ""] == 0.76
    assert at["runtime", "geo_hour", "focus", "mascot", "ms", ""] == 2.99
    assert at["prs", "hour", "focus", "k-dpp", "prs", ""] == -0.5281


def test_displaced_results_are_shares_of_the_papers_own_tasks(everything: list[dict[str, Any]]) -> None:
    """Counts of 12 queries are not set against counts of 797, nor one task against three."""
    mine = [r for r in everything if (r["study"], r["label"], r["point"]) == ("main", "mascot", "published")]
    shares = [
        100 * np.mean([moved for r in mine if (r["seed"], r["direction"]) == (seed, "focus") for moved in of(r)])
        for seed in (0, 1)
    ]
    (found,) = [one for one in compare.differences(mine) if one.measure == "displaced, %"]
    assert found.ours == pytest.approx(np.mean(shares))
    hour = [record for record in mine if record["task"] == "hour"]
    assert not [one for one in compare.differences(hour) if one.measure == "displaced, %"]


def of(record: dict[str, Any]) -> list[int]:
    moved: list[int] = record["per_query"]["displaced"]
    return moved


def test_a_setting_that_was_not_searched_for_is_not_called_validated() -> None:
    found = [
        synthetic.record(0, 4, study=study, task="geo_hour", direction=direction, label="ms-dpp", point="released")
        for study, direction in (("mixed", "geo+hour-"), ("main", "focus"))
    ]
    (results,) = collect(found)
    assert {(record["study"], record["point"]) for record in results.records} == {
        ("mixed", "default"),
        ("main", "validated"),
    }
    assert {one.point for one in compare.differences(found) if one.table == "mixed"} == {"default"}


def test_sweeps_of_unlike_steps_are_not_ranked() -> None:
    def table(steps: tuple[float, ...]) -> tables.ResultTable:
        found = [
            synthetic.record(0, 4, study="strength", label=label, value=value, dm=0.2 + value / 10)
            for label, values in (("mascot", (0.0, 0.5, 1.0)), ("mmr", steps))
            for value in values
        ]
        (made,) = [table for table in tables.build(found).tables if table.key == "prs"]
        return made

    alike, unlike = table((0.0, 0.5, 1.0)), table((0.0, 1.0))
    assert [column.name for column in alike.columns] == ["PRS", "tau", "PRS"]
    assert [column.name for column in unlike.columns] == ["PRS", "tau", "steps", "PRS"]
    assert [row.cells[2] for row in unlike.sections[0].rows] == [2.0, 3.0]  # MMR stands before MASCOT
    assert alike.columns[0].ranked
    assert not unlike.columns[0].ranked
    assert "not ranked" in unlike.notes[-1]


def test_what_protects_every_result_is_not_shown_beside_the_base() -> None:
    labels = {"base": 0, "guarded": 3, "guarded-10": 10}
    found = []
    for label, protect in labels.items():
        one = synthetic.record(0, 4, study="clusters", task="clusters", label=label, point="default", k=10)
        one["method"] = {**one["method"], "protect": protect}
        found.append(one)
    (table,) = [table for table in tables.build(found).tables if table.key == "clusters"]
    assert [row.name for row in table.sections[0].rows] == ["Base", "Guarded"]


def test_names_of_tables_and_labels_have_no_spaces() -> None:
    found = [
        synthetic.record(0, 4, study="strength", label="ms-dpp", point="released", value=value) | {"dataset": "my data"}
        for value in (0.0, 1.0)
    ]
    sheets = tables.build(found)
    assert "strength-ms-dpp-released" in {table.key for table in sheets.tables}
    labels = re.findall(r"\\label\{(.*?)\}", tables.render(sheets.tables, (), "latex"))
    assert "tab:my-data-strength-ms-dpp-released" in labels
    assert not any(" " in label for label in labels)


def test_what_the_data_cannot_have_is_not_missed(everything: list[dict[str, Any]]) -> None:
    assert tables.build(everything).notes == ()


def test_how_many_queries_the_search_asked_is_said() -> None:
    found = few()
    for record in found:
        record["sizes"] = {"validation": {"images": 199, "queries": 199}, "test": {"images": 797, "queries": 797}}
    for limit, said in ((50, "50"), (None, "199"), (500, "199")):
        run = RunInfo({"validation": limit, "test": None}, {0: "a", 1: "a"}, {})
        (results,) = collect(found, run)
        (table,) = sizes.sizes(results, Published("mine"))
        assert table.sections[0].rows[0].cells[2] == said


def test_compare_takes_ours_from_the_same_place_as_the_tables(
    everything: list[dict[str, Any]], cells: list[dict[str, str]]
) -> None:
    found = {(d.table, d.task, d.direction, d.label, d.measure, d.at): d for d in compare.differences(everything)}
    prs = one(cells, table="prs", section="focus, geo", row="MASCOT", group="ours", column="PRS")
    assert found["prs", "geo", "focus", "mascot", "prs", ""].ours == pytest.approx(float(prs["value"]))
    front = one(cells, table="fixed-recall", section="focus, geo + hour", row="Base", group="ours", column="≥ 0.85")
    ours = found["fixed recall", "geo_hour", "focus", "base", "dm", ">= 0.85"]
    assert ours.ours == pytest.approx(float(front["value"]))
    assert ours.seeds == 2


def test_topics_that_no_choice_has_seen_have_tables_of_their_own() -> None:
    found = few()
    for record in found:
        record |= {"dataset": "div400", "queries": [0, 1, 2, 3], "direction": "spread"}
        found_clusters = [0.2, 0.4, 0.6, 0.8] if record["label"] == "guarded" else [0.2, 0.4, 0.5, 0.7]
        record["per_query"] = dict.fromkeys(("p@20", "cr@20", "f1@20"), found_clusters)
        record["summary"] |= dict.fromkeys(("p@20", "cr@20", "f1@20"), float(np.mean(found_clusters)))
        part = {"queries": [2, 3], "summary": dict.fromkeys(("p@20", "cr@20", "f1@20"), np.mean(found_clusters[2:]))}
        record["subsets"] = {"unseen": part}
    made = {table.key: table for table in tables.build(found).tables}
    (rows,) = [section.rows for section in made["judged-unseen-spread-published"].sections]
    assert [round(row.cells[1].value, 6) for row in rows] == [0.6, 0.6, 0.6, 0.7]
    (row,) = made["differences-unseen"].sections[0].rows
    assert row.cells[2:5] == pytest.approx((0.1, 0.1, 0.1))  # each unseen topic gains as much
    (row,) = made["differences"].sections[0].rows
    assert row.cells[2] == pytest.approx(0.05)
