"""The four formats of a table: text, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from mascot.bench.averages import Average
from mascot.bench.tables.grid import Column, ResultTable, Value, cell_text, marks, number
from mascot.errors import OptionError

_WIDTH = 100  # of the sentences under a table of text
_LEGEND = "the base retriever is not ranked"
_SHORT = "(n): the mean of n seeds only; the others have no such number."
_LINES = 45  # of a LaTeX table that fits on a page
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "—": "---",
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
    """Return all tables as one text.

    Parameters
    ----------
    tables
        In the order in which they are to appear.
    notes
        Pairs of a dataset and a sentence on its results as a whole: what is missing, and why.
    format
        ``"text"``, ``"markdown"``, ``"latex"`` or ``"csv"``.
    """
    if format not in FORMATS:
        raise OptionError(f"tables format must be one of {', '.join(FORMATS)}, got {format!r}")
    return FORMATS[format](tables, notes)


def _text(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]]) -> str:
    parts = [_text_table(table) for table in tables]
    if notes:
        parts.append("Notes\n" + "\n".join(f"- {dataset}: {note}" for dataset, note in notes))
    return "\n\n".join(parts) + "\n"


def _text_table(table: ResultTable) -> str:
    sign = {"best": "*", "second": "+", "": " "}
    head = [column.name + " " for column in table.columns]
    body: list[tuple[str, list[str]]] = []
    headings = any(section.heading for section in table.sections)
    for section in table.sections:
        if headings:
            body.append((section.heading, []))
        for row, marked in zip(section.rows, marks(section, table.columns), strict=True):
            cells = [
                _cell(table, value, column) + sign[mark]
                for value, column, mark in zip(row.cells, table.columns, marked, strict=True)
            ]
            body.append(("  " * headings + row.name, cells))
    stub = max(len(table.stub), *(len(name) for name, _ in body))
    widths = [max(len(head[c]), *(len(cells[c]) for _, cells in body if cells), 7) for c in range(len(table.columns))]
    for start, stop, group in _spans(table.columns):  # a heading may need more room than its columns
        widths[stop - 1] += max(0, len(group) + 1 - (sum(widths[start:stop]) + 2 * (stop - start - 1)))
    lines = [table.title, table.setting, ""]
    if any(column.group for column in table.columns):
        group_line = "".join(
            "  " + group.ljust(sum(widths[start:stop]) + 2 * (stop - start - 1))
            for start, stop, group in _spans(table.columns)
        )
        lines.append((" " * stub + group_line).rstrip())
    lines.append(_text_line(table.stub, head, stub, widths))
    lines += [_text_line(name, cells, stub, widths) for name, cells in body]
    notes = [*([f"* best, + second best; {_LEGEND}."] if table.marked else []), *_notes(table)]
    wrapped = [line for note in notes for line in textwrap.wrap(note, _WIDTH)]
    return "\n".join([*lines, *([""] if notes else []), *wrapped])


def _text_line(name: str, cells: Sequence[str], stub: int, widths: Sequence[int]) -> str:
    return (
        name.ljust(stub) + "".join("  " + cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
    ).rstrip()


def _markdown(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]]) -> str:
    parts = [_markdown_table(table) for table in tables]
    if notes:
        parts.append("### Notes\n\n" + "\n".join(f"- {dataset}: {note}" for dataset, note in notes))
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: ResultTable) -> str:
    sign = {"best": "**{}**", "second": "_{}_", "": "{}"}
    head = [f"{column.group} {column.name}".strip() for column in table.columns]
    lines = [
        f"### {table.title}",
        "",
        f"{table.setting}.",
        "",
        _bars([table.stub, *head]),
        "|---|" + "--:|" * len(head),
    ]
    for section in table.sections:
        if section.heading:
            lines.append(_bars([f"**{section.heading}**", *[""] * len(head)]))
        for row, marked in zip(section.rows, marks(section, table.columns), strict=True):
            cells = [
                sign[mark].format(_cell(table, value, column))
                for value, column, mark in zip(row.cells, table.columns, marked, strict=True)
            ]
            lines.append(_bars([row.name, *cells]))
    notes = [*([f"**Best**, _second best_; {_LEGEND}."] if table.marked else []), *_notes(table)]
    return "\n".join([*lines, *([""] if notes else []), " ".join(notes)]).rstrip()


def _bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]]) -> str:
    parts = ["% Needs \\usepackage{booktabs}."]
    for table in tables:
        floats = table.split(_LINES)  # a float cannot break over pages
        parts += [_latex_table(part, number, len(floats)) for number, part in enumerate(floats, 1)]
    if notes:
        parts.append("\n".join(f"% {dataset}: {note}" for dataset, note in notes))
    return "\n\n".join(parts) + "\n"


def _latex_table(table: ResultTable, part: int, parts: int) -> str:
    """Return one float; the caption and label of further parts of a long table are numbered."""
    sign = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
    width = len(table.columns)
    kind = "table*" if width > 5 else "table"
    lines = [
        rf"\begin{{{kind}}}[t]",
        r"\centering\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{l{'r' * width}}}",
        r"\toprule",
    ]
    if any(column.group for column in table.columns):
        spans = list(_spans(table.columns))
        group_cells = [rf"\multicolumn{{{stop - start}}}{{c}}{{{latex(group)}}}" for start, stop, group in spans]
        rules = [rf"\cmidrule(lr){{{start + 2}-{stop + 1}}}" for start, stop, group in spans if group]
        lines += [" & ".join(["", *group_cells]) + r" \\", "".join(rules)]
    lines.append(" & ".join(map(latex, [table.stub, *(column.name for column in table.columns)])) + r" \\")
    for section in table.sections:
        lines.append(r"\midrule")
        if section.heading:
            lines.append(rf"\multicolumn{{{width + 1}}}{{l}}{{\textit{{{latex(section.heading)}}}}} \\")
        for row, marked in zip(section.rows, marks(section, table.columns), strict=True):
            cells = [
                sign[mark] % latex(_cell(table, value, column))
                for value, column, mark in zip(row.cells, table.columns, marked, strict=True)
            ]
            lines.append(" & ".join([latex(row.name), *cells]) + r" \\")
    legend = [rf"\textbf{{Best}}, \underline{{second best}}; {_LEGEND}."] if table.marked else []
    title = f"{table.title}, part {part} of {parts}" if parts > 1 else table.title
    caption = " ".join([latex(f"{title} ({table.setting})."), *legend, *map(latex, _notes(table))])
    label = _NOT_IN_LABELS.sub("-", f"{table.dataset}-{table.key}{f'-{part}' if part > 1 else ''}")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines)


def latex(text: str) -> str:
    """Plain text with the signs that LaTeX reads as commands written out.

    >>> latex("geo_hour, σ ≥ 5%")
    'geo\\\\_hour, $\\\\sigma$ $\\\\geq$ 5\\\\%'
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _csv(tables: Sequence[ResultTable], notes: Sequence[tuple[str, str]]) -> str:
    """Return one line a number, unrounded, with the lowest and the highest seed."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_FIELDS)
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                for value, column in zip(row.cells, table.columns, strict=True):
                    if value is None:
                        continue
                    position = (table.dataset, table.key, section.heading, row.name, column.group, column.name)
                    seeds = (value.low, value.high, value.seeds) if isinstance(value, Average) else ("", "", "")
                    writer.writerow([*position, value if isinstance(value, str) else number(value), *seeds, ""])
    for dataset, note in notes:
        writer.writerow([dataset, *[""] * (len(CSV_FIELDS) - 2), note])
    return stream.getvalue()


def _cell(table: ResultTable, value: Value, column: Column) -> str:
    """Return the cell as text, with the number of its seeds where it has fewer than the table."""
    text = cell_text(value, column)
    return f"{text} ({value.seeds})" if isinstance(value, Average) and table.short(value) else text


def _notes(table: ResultTable) -> list[str]:
    return [*table.notes, *([_SHORT] if table.shorts else [])]


def _spans(columns: Sequence[Column]) -> Iterator[tuple[int, int, str]]:
    """Yield start, stop and heading of each run of columns under one group."""
    start = 0
    for group, run in groupby(columns, key=lambda column: column.group):
        stop = start + len(list(run))
        yield start, stop, group
        start = stop


FORMATS: dict[str, Callable[[Sequence[ResultTable], Sequence[tuple[str, str]]], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
}
