"""A small run of the whole protocol on the simulated PixelProse, and the tables and figures that it makes.

The queries are few, so our numbers mean little: what is checked is that each study has the published settings, and that
each table shows every published number beside ours.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.audit.selections import TASKS, agree
from mascot.bench.protocol.presets import pixelprose
from mascot.bench.protocol.published import DIRECTIONS, load
from mascot.bench.protocol.tasks import FOCUS, SPREAD
from mascot.bench.report import figures, tables
from mascot.bench.report.compare import differences
from mascot.bench.report.tables.result_table import ResultTable, number
from mascot.bench.running.records import Record
from mascot.bench.running.run import run

_VALIDATION, _TEST = 4, 12  # queries
_FIGURES = ("base", "ms-dpp", "mascot")


@dataclass(frozen=True)
class SmallRun:
    """The records of a run, the comparison with the paper, the tables by key, and the names of the figures."""

    records: list[Record]
    compared: pd.DataFrame
    tables: dict[str, ResultTable]
    figures: set[str]


@cache
def small_run() -> SmallRun:
    benchmark = replace(pixelprose((0,), quick=True), validation=_VALIDATION, test=_TEST)
    with tempfile.TemporaryDirectory() as folder:
        records = run(benchmark, Path(folder))
        data = benchmark.sources[0][1].load()
        drawn = figures.draw(folder, Path(folder) / "figures", dataset=data, methods=_FIGURES)
    sheets = {table.key: table for table in tables.build(records).tables}
    return SmallRun(records, differences(records), sheets, {path.name for path in drawn.files})


def protocol() -> str:
    records = small_run().records
    sizes = {(r["split"], r["n"], r["k"]) for r in records if r["study"] == "main"}
    agree(sizes == {("test", 200, 20)}, f"the main study has {sizes}")
    return f"{len(records)} points of a small run; the main ones choose 20 of 200"


def _shown(table: str, expected: dict[tuple[Any, ...], float], keys: list[str]) -> str:
    """Check that the comparison of the run has every expected number of the paper."""
    compared = small_run().compared
    part = compared[compared["table"] == table]
    actual = {
        (row.label.removesuffix(" released"), *(getattr(row, key) for key in keys)): row.published
        for row in part.itertuples()
    }
    lacking = [case for case, value in expected.items() if actual.get(case) != value]
    agree(not lacking, f"{table}: {len(lacking)} numbers are not shown, such as {lacking[:1]}")
    return f"{len(expected)} published numbers beside ours"


def main_table(direction: str) -> str:
    rows = load()["pixelprose"][DIRECTIONS[direction]]
    expected = {
        (label, task, direction, measure): row[measure]
        for task, labels in rows.items()
        for label, row in labels.items()
        for measure in ("hm", "r@10", "dm")
    }
    return _shown("main", expected, ["task", "direction", "measure"])


def prs_table() -> str:
    ways = {name: direction for direction, name in DIRECTIONS.items()}
    expected = {
        (label, task, ways[way]): value
        for label, row in load()["prs"].items()
        for case, value in row.items()
        for task, way in [case.split("/")]
    }
    points = [r for r in small_run().records if r["study"] == "prs"]
    betas = {(r["label"], r["method"]["beta"]) for r in points if "beta" in r["method"]}
    fixed = {("k-dpp", 0.4), ("ms-dpp", 0.4), ("ms-dpp+tn", 0.5), ("ms-dpp+tn+tvms", 0.4)}
    agree(betas == fixed, f"PRS of the DPPs has {betas}")
    return _shown("prs", expected, ["task", "direction"]) + "; the DPPs have the fixed betas"


def sweep_table(study: str, name: str) -> str:
    content = load()["sensitivity_r@10"][name]
    ways = {way: direction for direction, way in DIRECTIONS.items()}
    expected: dict[tuple[Any, ...], float] = {}
    for place, column in enumerate(content["columns"][1:], 1):
        task, _, way = column.partition("/")
        expected |= {("mascot", task, ways[way], f"{row[0]:g}"): row[place] for row in content["rows"]}
    return _shown(study, expected, ["task", "direction", "at"])


def _published_cells(key: str) -> list[list[float | None]]:
    table = small_run().tables[key]
    columns = [column for column in table.columns if column.group == "published"]
    return [[number(value) for value in row] for row in table.cells[columns].to_numpy().tolist()]


def fixed_recall_table() -> str:
    printed = load()["fixed_recall_geo_hour_decrease_dm"]
    shown = _published_cells("fixed-recall-published")
    for label in ("ms-dpp+tn+tvms", "prob-coverage", "mascot"):
        agree(printed[label] in shown, f"the row of {label} is not shown")
    points = [r for r in small_run().records if r["study"] == "fixed_recall"]
    labels = [record["label"] for record in points]
    counts = {label: labels.count(label) for label in set(labels)}
    agree(counts == {"mascot": 11, "prob-coverage": 11, "ms-dpp+tn+tvms": 6}, f"the settings are {counts}")
    return "28 settings of the released study; 9 published numbers beside ours"


def mixed_table() -> str:
    points = [r for r in small_run().records if (r["study"], r["point"]) == ("mixed", "published")]
    widths = {
        wish["attribute"]["sigma"] for r in points if r["label"] == "mascot" for wish in r["wishes"]
    }  # fmt: skip
    agree(widths == {1.0, 0.5} and {r["k"] for r in points} == {20}, "other settings than the released ones")
    agree(all("geo_degrees" in r["summary"] for r in points), "geo-V is not in degrees")
    ways = {("increase", "decrease"): "geo+hour-", ("decrease", "increase"): "geo-hour+"}
    expected = {
        (row["method"], ways[row["geo"], row["time"]], ours): row[theirs]
        for row in load()["mixed_direction_K10"]
        for ours, theirs in (("r@10", "r@10"), ("geo", "geo_v"), ("hour", "time_v"), ("hm", "hm"))
    }
    return "widths 1 degree and 0.5 h, K = 20; " + _shown("mixed", expected, ["direction", "measure"])


def appearance_table() -> str:
    expected = {
        (label, direction): value
        for direction, way in DIRECTIONS.items()
        for label, value in load()["appearance_img_vendi_geo_hour"][way].items()
    }
    return _shown("appearance", expected, ["direction"])


def clusters_table() -> str:
    points = [r for r in small_run().records if (r["study"], r["point"]) == ("clusters", "published")]
    settings = {(r["split"], r["n"], r["k"], len(r["queries"])) for r in points}
    agree(settings == {("validation", 50, 10, _VALIDATION)}, f"the settings are {settings}")
    strengths = {r["method"]["strength"] for r in points if r["label"] == "mascot"}
    agree(strengths == {0.5}, f"the strengths are {strengths}")
    rows = load()["clusters_k10"]
    expected = {
        ("mascot", direction, measure): rows[way][measure]
        for (direction, way), measure in product(DIRECTIONS.items(), ("dm", "r@10"))
    }
    shown = _shown("clusters", expected, ["direction", "measure"])
    return f"the validation queries of the search, N = 50, K = 10, strength 0.5; {shown}"


def first_results() -> str:
    agreement = load()["top1"]["first_pick_agreement_decrease"]
    expected = {("mascot", task, FOCUS, "agrees"): value for task, value in agreement.items()}
    shown = _shown("first result", expected, ["task", "direction", "measure"])
    gains = load()["first_step_coverage_gain_geo_hour_decrease"]
    _shown("first gain", {("mascot", "geo_hour", name): value for name, value in gains.items()}, ["task", "measure"])
    return shown


def displacement() -> str:
    other, moved = load()["top1"]["displacements_to_another_primary_bin"]
    percentages = {"displaced, %": 100 * moved / (797 * 3), "other bin, %": 100 * other / moved}
    return _shown("first result", {("mascot", "all", key): v for key, v in percentages.items()}, ["task", "measure"])


def parameters_table() -> str:
    rows = _published_cells("parameters")
    count = sum(value is not None for row in rows for value in row)
    printed = [p for p in load()["operating_points"] if p["task"].startswith("PP_")]
    agree(count == len(printed), f"{count} of {len(printed)} published rows are shown")
    return f"the chosen settings beside {len(printed)} published ones"


def runtime_table() -> str:
    times = load()["runtime_ms_per_query_a6000_N200_K20_U424"]
    expected = {("ms-dpp",): times["ms-dpp"], ("mascot",): times["mascot_vectorized"]}
    points = {r["point"] for r in small_run().records if r["study"] == "runtime"}
    agree(points == {"single", "batch"}, f"the ways are {points}")
    return "single and batch; " + _shown("runtime", expected, [])


def inferred_points() -> str:
    """Check the operating points of the DPPs: those of the released study, and the inferred ones on focus."""
    main = [r for r in small_run().records if r["study"] == "main" and r["method"].get("released")]
    kinds = {(r["label"], r["direction"]): r["point"] for r in main if r["point"] in ("published", "inferred")}
    expected = {("ms-dpp", SPREAD): "published", ("ms-dpp", FOCUS): "inferred", ("ms-dpp+tn", FOCUS): "inferred"}
    expected |= {("ms-dpp+tn+tvms", direction): "published" for direction in (SPREAD, FOCUS)}
    agree(kinds == expected, f"the points are {kinds}")
    names = [row for _, row in small_run().tables["focus-published"].cells.index]
    agree(names.count("MS-DPP, released †") == len(TASKS), "the inferred rows are not marked")
    return "MS-DPP on spread and +TN+TVMS as released; MS-DPP and +TN on focus inferred, marked, beside the searched"


def figure_files() -> str:
    names = {"recall-published", "tradeoff-published", "sensitivity-mascot", "front", "qualitative", "runtime"}
    lacking = {f"{name}.{kind}" for name in names for kind in ("pdf", "png")} - small_run().figures
    agree(not lacking, f"not drawn: {sorted(lacking)}")
    return f"{len(small_run().figures)} files of {', '.join(_FIGURES)}, among them {', '.join(sorted(names))}"
