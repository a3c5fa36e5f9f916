"""The four formats of a table: text, Markdown, LaTeX, CSV."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import pandas as pd

from mascot.bench.report.run_results import Average
from mascot.bench.report.tables.result_table import Column, ResultTable, cell_text
from mascot.errors import OptionError

_WIDTH = 100  # columns of the sentences under a text table
_LEGEND = "the base retriever is not ranked"
_SHORT = "(n): the mean of n seeds; the other seeds have no such number."
_LINES = 45  # lines of a LaTeX table that fit on a page
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "—": "---",
    "α": r"$\alpha$",
    "σ": r"$\sigma$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "−": "$-$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
}
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9.+]+")
CSV_FIELDS = ("dataset", "table", "section", "row", "group", "column", "value", "low", "high", "seeds", "note")


def render(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]], format: str) -> str:
    """Return all tables as one text; notes are pairs of a dataset and a sentence on its results as a whole."""
    if format not in FORMATS:
        raise OptionError(f"tables format must be one of {', '.join(FORMATS)}, got {format!r}")
    if format == "csv":
        return _csv(tables, notes)
    table_text, before, heading, note_line = _LAYOUTS[format]
    parts = [*before, *map(table_text, tables)]
    if notes:
        parts.append(heading + "\n".join(note_line.format(*note) for note in notes))
    return "\n\n".join(parts) + "\n"


def _text_table(table: ResultTable) -> str:
    head = [column.name + " " for column in table.columns]
    indent = "  " if any(heading for heading, _ in table.sections) else ""
    body: list[tuple[str, list[str]]] = []
    for heading, rows in table.sections:
        body += [(heading, [])] * bool(indent)
        body += [(indent + name, cells) for name, cells in _rows(table, rows, "{}*", "{}+", "{} ")]
    stub = max(len(table.stub), *(len(name) for name, _ in body))
    widths = [max(len(head[c]), *(len(cells[c]) for _, cells in body if cells), 7) for c in range(len(head))]
    group_line = " " * stub
    for start, stop, group in _spans(table.columns):  # a heading may need more room than its columns
        room = sum(widths[start:stop]) + 2 * (stop - start - 1)
        widths[stop - 1] += max(0, len(group) + 1 - room)
        group_line += "  " + group.ljust(max(room, len(group) + 1))
    lines = [table.title, table.setting, "", *([group_line.rstrip()] if group_line.strip() else [])]
    for name, cells in [(table.stub, head), *body]:
        padded = ("  " + cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
        lines.append((name.ljust(stub) + "".join(padded)).rstrip())
    wrapped = [line for note in _notes(table, "* best, + second best") for line in textwrap.wrap(note, _WIDTH)]
    return "\n".join([*lines, *([""] if wrapped else []), *wrapped])


def _markdown_table(table: ResultTable) -> str:
    head = [f"{column.group} {column.name}".strip() for column in table.columns]
    lines = [f"### {table.title}", "", f"{table.setting}.", "", _bars([table.stub, *head])]
    lines.append("|---|" + "--:|" * len(head))
    for heading, rows in table.sections:
        if heading:
            lines.append(_bars([f"**{heading}**", *[""] * len(head)]))
        lines += [_bars([name, *cells]) for name, cells in _rows(table, rows, "**{}**", "_{}_", "{}")]
    notes = _notes(table, "**Best**, _second best_")
    return "\n".join([*lines, *([""] if notes else []), " ".join(notes)]).rstrip()


def _bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex_tables(table: ResultTable) -> str:
    floats = table.split(_LINES)  # a float cannot break over pages
    return "\n\n".join(_latex_table(part, number, len(floats)) for number, part in enumerate(floats, 1))


def _latex_table(table: ResultTable, part: int, parts: int) -> str:
    """Return one float; the caption and label of further parts of a long table are numbered."""
    width = len(table.columns)
    kind = "table*" if width > 5 else "table"
    lines = [rf"\begin{{{kind}}}[t]", r"\centering\footnotesize", r"\setlength{\tabcolsep}{4pt}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * width}}}", r"\toprule"]
    spans = list(_spans(table.columns))
    if any(group for *_, group in spans):
        group_cells = [rf"\multicolumn{{{stop - start}}}{{c}}{{{latex(group)}}}" for start, stop, group in spans]
        rules = [rf"\cmidrule(lr){{{start + 2}-{stop + 1}}}" for start, stop, group in spans if group]
        lines += [_ampersands(["", *group_cells]), "".join(rules)]
    lines.append(_ampersands(map(latex, [table.stub, *(column.name for column in table.columns)])))
    for heading, rows in table.sections:
        lines.append(r"\midrule")
        if heading:
            lines.append(rf"\multicolumn{{{width + 1}}}{{l}}{{\textit{{{latex(heading)}}}}} \\")
        lines_of_rows = _rows(table, rows, r"\textbf{{{}}}", r"\underline{{{}}}", "{}", latex)
        lines += [_ampersands([latex(name), *cells]) for name, cells in lines_of_rows]
    title = f"{table.title}, part {part} of {parts}" if parts > 1 else table.title
    sentences = _notes(table, r"\textbf{Best}, \underline{second best}", latex)
    caption = " ".join([latex(f"{title} ({table.setting})."), *sentences])
    label = _NOT_IN_LABELS.sub("-", f"{table.dataset}-{table.key}{f'-{part}' if part > 1 else ''}")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", rf"\label{{tab:{label}}}"]
    return "\n".join([*lines, rf"\end{{{kind}}}"])


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def latex(text: str) -> str:
    """Return plain text with the special characters of LaTeX escaped.

    >>> latex("geo_hour, σ ≥ 5%")
    'geo\\\\_hour, $\\\\sigma$ $\\\\geq$ 5\\\\%'
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _csv(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]]) -> str:
    """Return one line per number, unrounded, with the lowest and the highest seed."""
    lines: list[dict[str, Any]] = []
    for table in tables:
        for (heading, name), row in table.cells.iterrows():
            for column, value in row.dropna().items():
                line = {"dataset": table.dataset, "table": table.key, "section": heading, "row": name}
                line |= {"group": column.group, "column": column.name}
                lines.append(line | (asdict(value) if isinstance(value, Average) else {"value": value}))
    lines += [{"dataset": dataset, "note": note} for dataset, note in notes]
    return str(pd.DataFrame(lines, columns=CSV_FIELDS, dtype=object).to_csv(index=False, lineterminator="\n"))


def _rows(
    table: ResultTable, rows: pd.DataFrame, best: str, second: str, other: str, escape: Callable[[str], str] = str
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the cells of each row as text, with the number of seeds if it is smaller than the table's.

    The best and second best cells are put into their own templates.
    """
    templates = {"best": best, "second": second, "": other}
    for (_, name), row_values, row_marks in zip(rows.index, rows.to_numpy(), table.marks(rows).to_numpy(), strict=True):
        cells = []
        for value, column, mark in zip(row_values, table.columns, row_marks, strict=True):
            seeds = f" ({value.seeds})" if table.is_short(value) else ""
            cells.append(templates[mark].format(escape(cell_text(value, column) + seeds)))
        yield name, cells


def _notes(table: ResultTable, legend: str, escape: Callable[[str], str] = str) -> list[str]:
    """Return the sentences under a table, with the legend of its marks."""
    is_short = table.cells.map(table.is_short).any(axis=None)
    legends = [f"{legend}; {_LEGEND}."] if any(column.ranked for column in table.columns) else []
    return [*legends, *map(escape, table.notes), *([escape(_SHORT)] if is_short else [])]


def _spans(columns: Sequence[Column]) -> Iterator[tuple[int, int, str]]:
    """Yield start, stop and heading of each run of columns under one group."""
    start = 0
    for group, run in groupby(columns, key=lambda column: column.group):
        stop = start + len(list(run))
        yield start, stop, group
        start = stop


# How a table is written, the text before all tables and before the notes, and the template of a note.
_LAYOUTS: dict[str, tuple[Callable[[ResultTable], str], tuple[str, ...], str, str]] = {
    "text": (_text_table, (), "Notes\n", "- {}: {}"),
    "markdown": (_markdown_table, (), "### Notes\n\n", "- {}: {}"),
    "latex": (_latex_tables, ("% Needs \\usepackage{booktabs}.",), "", "% {}: {}"),
}
FORMATS = (*_LAYOUTS, "csv")
