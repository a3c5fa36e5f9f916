"""Output of the command: tables and JSON."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mascot.candidates import value_of
from mascot.cli import visible as visible
from mascot.cli.hit_tables import Record, RecordedQuery
from mascot.grammar import columns_of
from mascot.ranking import Ranking
from mascot.reasons.explain import Reason
from mascot.serialize import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

Report = Callable[[str, int, "int | None"], None]  # the current step, the count of finished items, and the total
_ENDLESS = 10_000  # characters per line in a pipe: nothing is cut or folded
_SENTENCE = 50  # characters per line of the reasons in the demo
_ID = 32  # characters of an id that a narrow terminal does not fold
RIGHT = {"justify": "right"}  # options of a column
FOLD = {"overflow": "fold"}
# Escaped although JSON allows them: control characters, line separators, and lone surrogates, which occur in file
# names and cannot be encoded in UTF-8.
_RAW = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def show(*parts: Any) -> None:
    """Print text and Rich tables: coloured and fitted to the terminal, or plain and unfolded in a pipe."""
    if sys.stdout.isatty():
        _console(None).print(*parts, sep="\n")
        return
    console = _console(_ENDLESS)
    with console.capture() as capture:
        console.print(*parts, sep="\n")
    sys.stdout.write("".join(line.rstrip() + "\n" for line in capture.get().splitlines()))


def _console(width: int | None) -> Console:
    from rich.console import Console

    # Ids and captions are data, so brackets and colons in them are not markup.
    return Console(markup=False, emoji=False, highlight=False, width=width)


def note(message: str | None) -> None:
    if message:
        print(f"mascot: {message}", file=sys.stderr)


@contextmanager
def progress_bar(lines: bool = False) -> Iterator[Report]:
    """Yield a function that shows the progress of items on standard error.

    A terminal shows a bar. Elsewhere nothing is printed unless `lines` is set.
    """
    if not sys.stderr.isatty():
        yield _ProgressLines() if lines else lambda step, count, total: None
        return
    from rich import progress as rich
    from rich.console import Console

    step_columns = [rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn()]
    amounts = [rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[rate]}")]
    columns = [*step_columns, *amounts, rich.TimeRemainingColumn()]
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None, rate="")

        def report(step: str, count: int, total: int | None) -> None:
            if progress.tasks[0].description != step:
                progress.reset(task, description=step, total=total or None, rate="")
            seconds = progress.tasks[0].elapsed
            rate = f"{count / seconds:.3g}/s" if count and seconds else ""
            progress.update(task, completed=count, total=total or None, rate=rate)

        yield report


class _ProgressLines:
    """Print a line after each tenth of a step, or after 30 seconds; at most one line in two seconds."""

    def __init__(self) -> None:
        self._time, self._step, self._count = time.monotonic(), "", 0

    def __call__(self, step: str, count: int, total: int | None) -> None:
        silence = time.monotonic() - self._time
        new = count - (self._count if step == self._step else 0)
        if silence >= 30 or (silence >= 2 and total is not None and new >= max(total / 10, 1)):
            print(f"{step}: {count}" + (f" of {total}" if total is not None else ""), file=sys.stderr, flush=True)
            self._time, self._step, self._count = time.monotonic(), step, count


def number_of(count: int, word: str) -> str:
    """Return a count with its noun: `1 moment`, `2 moments`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def show_records(records: Sequence[Any], as_array: bool) -> None:
    """Print records as one JSON array, or as JSON lines."""
    for part in [records] if as_array else records:
        show_json(part)


def show_json(value: Any) -> None:
    """Print one line of JSON. Infinity and NaN become null, and types that JSON lacks become text."""
    text = json.dumps(_clean(value), ensure_ascii=False)
    sys.stdout.write(_RAW.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n")


def _clean(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, dict):
        return {str(name): _clean(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def result_records(query: RecordedQuery, ranking: Ranking, explain: bool) -> list[Record]:
    """Return the records of the results in order, with `rank`, `was`, `relevance` and, with `explain`, `reason`."""
    records = [
        {**query.records[int(position)], "rank": rank, "was": int(was), "relevance": _rounded(relevance)}
        for rank, (position, was, relevance) in enumerate(
            zip(ranking.positions, ranking.was, ranking.relevance, strict=True), 1
        )
    ]
    for record, reason in zip(records, ranking.explain().results if explain else (), strict=False):
        record["reason"] = _reason(reason)
    return records


def query_dict(query: RecordedQuery, ranking: Ranking, explain: bool) -> dict[str, Any]:
    """Return the wishes, method and results of one query; with `explain` also the best candidates left out."""
    fields = ranking.to_dict()
    result: dict[str, Any] = {} if query.name is None else {"query": query.name}
    result |= {name: fields[name] for name in ("strength", "method", "wishes")}
    result["results"] = result_records(query, ranking, explain)
    if explain:
        explanation = ranking.explain()
        result["left_out"] = [
            {**query.records[reason.position], "was": reason.was, "relevance": _rounded(reason.relevance)}
            | {"reason": _reason(reason)}
            for reason in explanation.left_out
        ]
        result["notes"] = list(explanation.notes)
    return result


def _reason(reason: Reason) -> dict[str, Any]:
    result: dict[str, Any] = {} if reason.step is None else {"step": reason.step}
    if reason.gains:
        gains = {name: _rounded(gain) for name, gain in reason.gains.items()}
        result |= {"gain": _rounded(reason.gain), "gains": gains}
    opened = {name: bins for name, bins in reason.opened.items() if bins}
    return result | ({"opened": opened} if opened else {}) | ({"because": reason.because} if reason.because else {})


def _rounded(value: float) -> float:
    return round(float(value), 6) + 0.0  # no -0.0


def ranking_table(query: RecordedQuery, ranking: Ranking, explain: bool) -> Grid:
    """Return a table of rank, rank by score, id and relevance, with the columns of the wishes or the reasons."""
    explanation = ranking.explain()
    reasons = explanation.results + (explanation.left_out if explain else [])
    columns = list(dict.fromkeys(column for wish in ranking.wishes for column in columns_of(wish)))
    ids = [visible(str(reason.id)) for reason in reasons]
    id_column = ("id", {**FOLD, "min_width": min(_ID, max(map(len, ids), default=0))})
    more = [("because", FOLD)] if explain else [(visible(column), {**FOLD, "style": "cyan"}) for column in columns]
    title = None if query.name is None else visible(str(query.name))
    grid = new_grid(("rank", RIGHT), ("was", RIGHT), id_column, ("relevance", RIGHT), *more, title=title)
    for place, (id_, reason) in enumerate(zip(ids, reasons, strict=True), 1):
        if reason.step is None and place == len(explanation.results) + 1:
            grid.add_section()
        rank = "-" if reason.step is None else str(place)
        record, relevance = query.records[reason.position], f"{reason.relevance:.3f}"
        cells = [visible(reason.because)] if explain else [_cell(value_of(record, name)) for name in columns]
        grid.add_row(rank, str(reason.was), id_, relevance, *cells, style="dim" if reason.step is None else None)
    if explanation.notes:
        grid.caption, grid.caption_justify = "\n".join(map(visible, explanation.notes)), "left"
    return grid


def side_by_side(plain_records: Sequence[Record], query: RecordedQuery, ranking: Ranking) -> Grid:
    """Return the table of the demo: the results before and after, and the reasons."""
    from rich.text import Text

    dim, because = {"style": "dim"}, ("because", {"max_width": _SENTENCE})
    grid = new_grid(("#", RIGHT | dim), ("before", dim), ("after", {"style": "cyan"}), ("was", RIGHT), because)
    for place, (before, reason) in enumerate(zip(plain_records, ranking.explain().results, strict=True), 1):
        after = query.records[reason.position]
        where = Text(_where(after), "" if reason.was == place else "bold")
        grid.add_row(str(place), _where(before), where, str(reason.was), reason.because)
    return grid


def _where(record: Record) -> str:
    return f"{record['taken'][11:16]} {record['city']}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else visible(str(plain(value)))


def new_grid(*columns: tuple[str, Mapping[str, Any]], title: str | None = None) -> Grid:
    """Return an empty table with these columns: their names and options of Rich."""
    from rich import box
    from rich.table import Table as Grid

    look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    grid = Grid(title=title, title_justify="left", title_style="bold", **look)
    for name, style in columns:
        grid.add_column(name, **style)
    return grid
