"""Compare our results with the published ones: our mean over seeds, the paper's number, and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming, run_results
from mascot.bench.report.run_results import CASE, GAINS, RunResults, means
from mascot.bench.report.tables.result_table import Lookup, case_of
from mascot.bench.report.tables.study_tables import FLOORS, MIXED, SWEEPS, all_points, fronts, released_points
from mascot.bench.running.records import Record
from mascot.errors import OptionError

FORMATS = ("text", "markdown", "csv")
MEASURES = ("r@1", "r@3", "r@5", "r@10", "r@20", "map", "dm", "hm")
_MAIN = {"main": MEASURES, "appearance": ["appearance"], "first result": ["agrees"], "first gain": GAINS}
_NUMBERS = ["ours", "published", "difference"]
_WORDS = ["table", *CASE, "point", "measure", "at"]
_HEAD = ["method" if name == "label" else name for name in (*_WORDS, *_NUMBERS)]
_POINT = [*CASE, "point"]


def differences(records: Iterable[Record]) -> pd.DataFrame:
    """Return every number that both have, at each operating point: a row per number."""
    return _frame(run_results.collect(records))


def _frame(datasets: Iterable[RunResults]) -> pd.DataFrame:
    rows = [row for results in datasets for row in _differences(results, Published(results.dataset))]
    frame = pd.DataFrame(rows, columns=[*_WORDS, "ours", "published"])
    return frame.assign(difference=frame["ours"] - frame["published"])


def _differences(results: RunResults, published: Published) -> Iterator[Mapping[str, Any]]:
    main = results.where(study="main")
    images = [{split: size["images"] for split, size in record.get("sizes", {}).items()} for record in main.records]
    places = [record.get("places", {}) for record in main.records]
    for name, suffix, values, table in (
        ("sizes", " images", images, "dataset_sizes"),
        ("places", "", places, "places"),
    ):
        numbers = pd.Series(published.facts(table), dtype=float)
        ours = pd.DataFrame(values, columns=numbers.index).mean().dropna()
        yield from _rows(name, {}, ours.add_suffix(suffix), numbers.add_suffix(suffix))
    for table, measures in _MAIN.items():
        yield from _joined(table, means(main.frame, _POINT, measures), published.row)
    moved = run_results.displaced(main.frame, ["direction", "label", "point"])
    for (direction, label, point), ours in moved.iterrows():
        tasks = main.where(direction=direction, label=label, point=point).names("task")
        case = {"task": "all", "direction": direction, "label": label, "point": point}
        yield from _rows("first result", case, ours, published.displaced(tasks, direction, label))
    for study in ("strength", "prs"):
        yield from _joined("prs", run_results.reflection(results.where(study=study).frame, _POINT), published.row)
    for study in SWEEPS:
        swept = results.where(study=study).frame
        curves = means(swept.assign(value=swept["value"].round(6)), [*_POINT, "value"], ["r@10"])
        for (*point, value), ours in curves.iterrows():
            case = dict(zip(_POINT, point, strict=True)) | {"at": f"{value:g}"}
            curve = published.sweep(study, *case_of(_POINT, point))
            yield from _rows(study, case, ours, {"r@10": curve.get(value)})
    points = released_points(results) or all_points(results)
    reached = fronts(points.frame, CASE, results.retrieval)
    for entry, row in reached.iterrows():
        floors = published.fixed_recall(*case_of(CASE, entry))
        for floor in FLOORS:
            case = dict(zip(CASE, entry, strict=True)) | {"at": f">= {floor:.2f}"}
            yield from _rows("fixed recall", case, {"dm": row[floor]}, {"dm": floors.get(floor)})
    for study, measures in (("mixed", MIXED), ("clusters", ("dm", "r@10"))):
        yield from _joined(study, means(results.where(study=study).frame, _POINT, measures), published.row)
    times = means(results.where(study="runtime").frame, _POINT, ["ms"])
    yield from _joined("runtime", times, lambda *case: {"ms": published.runtime(case[-1])})


def _joined(table: str, ours: pd.DataFrame, lookup: Lookup) -> Iterator[Mapping[str, Any]]:
    for entry, numbers in ours.iterrows():
        case = dict(zip(_POINT, entry, strict=True))
        yield from _rows(table, case, numbers, lookup(*case_of(_POINT, entry)))


def _rows(
    table: str, case: dict[str, str], ours: Mapping[str, Any], published: Mapping[str, float | None]
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each measure that has a number of ours and of the paper."""
    for measure, number in ours.items():
        value = number.value if isinstance(number, run_results.Average) else number
        if isinstance(value, float) and published.get(measure) is not None:
            words = dict.fromkeys(_WORDS, "") | {"table": table, "measure": measure} | case
            yield words | {"ours": value, "published": published[measure]}


def compare(folder: Path | str, format: str = "text") -> str:
    """Return the differences of a folder of results as ``"text"``, ``"markdown"`` or ``"csv"``."""
    if format not in FORMATS:
        raise OptionError(f"compare format must be one of {', '.join(FORMATS)}, got {format!r}")
    rows = _frame(run_results.read(folder))
    if rows.empty:
        return "Nothing here has a published counterpart.\n"
    if format == "csv":
        return str(rows.to_csv(index=False, header=_HEAD, float_format="%.4f", lineterminator="\n"))
    lines = [_HEAD, *map(_words, rows.to_dict("records"))]
    if format == "markdown":
        body = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join([body[0], "|" + " --- |" * len(_WORDS) + " ---: |" * 3, *body[1:]]) + "\n"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [f"{{:{'<' if i < len(_WORDS) else '>'}{width}}}" for i, width in enumerate(widths)]
    return "\n".join("  ".join(aligned).format(*line).rstrip() for line in lines) + "\n"


def _words(row: Mapping[str, Any]) -> Sequence[str]:
    measure = row["measure"].upper() if row["measure"] in (*MEASURES, "prs") else row["measure"]
    names = [naming.display(name, row[name]) for name in CASE]
    numbers = [f"{row['ours']:.4f}", f"{row['published']:.4f}", f"{row['difference']:+.4f}"]
    return [row["table"], *names, row["point"], measure, row["at"], *numbers]
