"""Tables of a benchmark, ours beside the published: a pure function of the result files.

>>> from mascot.bench.report import tables  # doctest: +SKIP
>>> print(tables.write("out/pixelprose-sim", "text"))  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mascot.bench.report import run_results
from mascot.bench.report.run_results import Builder, RunResults
from mascot.bench.report.tables import comparison, differences, study_tables
from mascot.bench.report.tables.render import FORMATS, render
from mascot.bench.report.tables.result_table import Column, ResultTable
from mascot.bench.running.records import Record
from mascot.errors import OptionError

__all__ = ["FORMATS", "Column", "ResultTable", "Sheets", "build", "render", "write"]

_BUILDERS: tuple[tuple[str, str | None, Builder], ...] = (
    ("sizes", "main", comparison.sizes),
    ("spread and focus tables", "main", comparison.comparison),
    ("differences", "main with guarded and a rival", differences.differences),
    ("recall", "main", comparison.recall),
    ("several positives", None, comparison.several),
    ("clusters found", None, comparison.judged),
    ("chosen parameters", "main, validated", comparison.parameters),
    ("preference reflection", "strength", study_tables.preference),
    ("sensitivity sweeps", "strength, sigma_geo, sigma_time, grid", study_tables.sweeps),
    ("fixed recall", "main and sweeps", study_tables.fixed_recall),
    ("protected results", "protect", study_tables.protection),
    ("mixed directions", "mixed", study_tables.mixed),
    ("appearance", "main, geo_hour with vectors", comparison.appearance),
    ("ten clusters", "clusters", study_tables.clusters),
    ("first pick's gain", "main", study_tables.first_gain),
    ("first result", "main", study_tables.top1),
    ("runtime", "runtime", study_tables.runtime),
)
_SUFFIXES = {"text": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}


@dataclass(frozen=True, slots=True)
class Sheets:
    """All tables of some results, and notes on those that could not be made."""

    tables: tuple[ResultTable, ...]
    notes: tuple[tuple[str, str], ...]  # dataset and sentence


def build(records: Iterable[Record]) -> Sheets:
    """Return every table that the records allow, and a note for each that they do not."""
    return _build(run_results.collect(records))


def _build(datasets: Iterable[RunResults]) -> Sheets:
    tables: list[ResultTable] = []
    notes: list[tuple[str, str]] = []
    for results in datasets:
        tables += run_results.build(results, _BUILDERS, notes)
    return Sheets(tuple(tables), tuple(notes))


def write(
    directory: str | Path,
    format: str = "text",
    out: str | Path | None = None,
    only: Sequence[str] = (),
) -> str:
    """Return the tables of the results in a directory as text.

    `only` are keys of tables, or prefixes of keys: ``"runtime"`` is one table, and ``"recall-focus"`` the tables of
    recall on focus. It leaves out the notes on missing tables.

    The format is ``"text"``, ``"markdown"``, ``"latex"`` (needs booktabs) or ``"csv"`` (one unrounded number per line).
    The text is also written to the file `out`. If `out` is a folder or ends with a slash, the file is ``tables.txt``,
    ``.md``, ``.tex`` or ``.csv`` in that folder.
    """
    sheets = _build(run_results.read(directory))
    keys = list(dict.fromkeys(table.key for table in sheets.tables))
    for name in only:
        if not any(f"{key}-".startswith(f"{name}-") for key in keys):
            raise OptionError(f"only must be one of {', '.join(keys)}, got {name!r}")
    prefixes = tuple(f"{name}-" for name in only) or ("",)
    tables = [table for table in sheets.tables if f"{table.key}-".startswith(prefixes)]
    text = render(tables, () if only else sheets.notes, format)
    if out is not None:
        is_folder = Path(out).is_dir() or str(out).endswith(("/", os.sep))
        path = Path(out) / f"tables.{_SUFFIXES[format]}" if is_folder else Path(out)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return text
