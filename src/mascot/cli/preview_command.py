"""`mascot preview`: compare the pages of recorded queries before and after a change of rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import typer

import mascot as mc
from mascot.cli import hit_tables, options, printing
from mascot.connect.converters.convert import from_engine
from mascot.grammar import columns_of
from mascot.preview import Preview, QueryHits, Tally, summarize, tally
from mascot.preview_page import VALUES, summary_rows, write_page

_CHUNK = 250  # queries per step of the progress bar
_FIRST = 5  # results of a changed page in the table
EngineName: Any = Literal.__getitem__(hit_tables.ENGINES)


def preview(
    rules: str = typer.Argument(metavar="RULES", help="The new rules: a profile, .json or .toml."),
    path: str = typer.Argument(metavar="QUERIES", help="Recorded queries and their hits; - is standard input."),
    against: str | None = typer.Option(
        None, metavar="FILE", help="The rules of today (default: the hits by relevance alone)."
    ),
    variant: str | None = typer.Option(None, metavar="NAME", help="Variant of RULES (default: the first one)."),
    weight: str | None = typer.Option(
        None, metavar="COLUMN", help="Weight of each query in means and shares (default: 1)."
    ),
    exposure: list[str] | None = typer.Option(
        None, metavar="COLUMN", help="Compare the exposure of the values of this column too. Repeatable."
    ),
    html: str | None = typer.Option(
        None, metavar="FILE", help="Write one HTML file with figures and side-by-side pages."
    ),
    engine: EngineName | None = typer.Option(
        None, "--from", help="The engine whose response is in the field hits of each line."
    ),
    score: str = options.SCORE,
    id: str | None = options.ID,
    query: str | None = options.QUERY,
    vector: str | None = options.VECTOR,
    input_format: options.InputName | None = options.INPUT_FORMAT,
    format: Literal["table", "json"] = typer.Option("table", help="Tables, or the same as data."),
) -> None:
    """Show what rules change over recorded queries, before they go live.

    \b
    mascot preview rules.json queries.jsonl --against old.json --html preview.html

    \b
    A line of QUERIES is a query and its hits, or one hit as for rerank:
      {"query": "boots", "searches": 120, "hits": [{"id": "b1", "score": 0.93, "seller": "acme"}, ...]}
      {"query": "boots", "id": "b1", "score": 0.93, "seller": "acme"}
    """
    new_rules = mc.load_profile(rules).rules(variant=variant)
    old_rules = None if against is None else mc.load_profile(against).rules()
    table = hit_tables.read(path, input_format, (id or "id", "_id", query or "query"))
    recorded, exposure = _Recorded(table, weight, score, id, query, vector), exposure or []
    if isinstance(table.records[0].get("hits"), (list, dict)):
        queries = recorded.one_per_record(engine)
    else:
        wishes = (*new_rules.wishes, *(old_rules.wishes if old_rules else ()))
        # A wish about a column that no hit has is refused by the queries.
        columns = [column for wish in wishes for column in columns_of(wish) if column in table.columns]
        queries = recorded.grouped([*columns, *exposure])
    total = Tally()
    with printing.progress_bar() as report:
        for start in range(0, len(queries), _CHUNK):
            chunk = queries[start : start + _CHUNK]
            total.add(tally(chunk, new_rules, old_rules, exposure))
            report("queries", start + len(chunk), len(queries))
    result = summarize(total)
    if html is not None:
        compared = "relevance alone" if against is None else Path(against).name
        subtitle = f"{result.queries:,} queries, compared with {compared}"
        write_page(result, html, f"Preview of {Path(rules).name}", subtitle)
    if format == "json":
        printing.show_json(result.to_dict())
    else:
        printing.show(*_tables(result))


@dataclass(frozen=True)
class _Recorded:
    """The table of recorded queries, and its columns with a fixed meaning."""

    table: hit_tables.RecordTable
    weight: str | None
    score: str
    id: str | None
    query: str | None
    vector: str | None

    def one_per_record(self, engine: str | None) -> list[QueryHits]:
        """Return the queries of records that hold a list of hits, or the response of an engine."""
        queries = []
        for row, record in enumerate(self.table.records):
            place, hits = self.table.place(row), record.get("hits")
            try:
                if engine is not None:
                    names = {"id": self.id, "vector": self.vector}
                    given = {name: value for name, value in names.items() if value is not None}
                    candidates = from_engine(engine, hits, given)
                elif isinstance(hits, list):
                    candidates = mc.Candidates.from_records(hits, self.score, self.id or "id", self.vector)
                else:
                    raise mc.InputError("hits must be a list of objects; the response of an engine needs --from")
            except mc.MascotError as error:
                raise mc.InputError(f"{place}: {error}") from None
            name = record.get(self.query or "query", place)
            queries.append(QueryHits(name, candidates, self._weight(record, place)))
        return queries

    def grouped(self, columns: Iterable[str]) -> list[QueryHits]:
        """Return the queries of records that are one hit each; `columns` may be within objects."""
        if self.weight is not None:
            self.table.require(self.weight, "name another with --weight")
        groups = hit_tables.queries(self.table, self.score, self.id, self.query, self.vector, columns)
        return [
            QueryHits(group.name, group.candidates, self._weight(group.records[0], f"query {group.name!r}"))
            for group in groups
        ]

    def _weight(self, record: hit_tables.Record, place: str) -> float:
        value = 1.0 if self.weight is None else record.get(self.weight)
        if not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise mc.InputError(f"{place}: {self.weight} must be a number >= 0, got {value!r:.60}")
        return float(value)


def _tables(result: Preview) -> Iterator[Any]:
    grid = printing.new_grid(("", {}), ("before", printing.RIGHT), ("after", printing.RIGHT))
    for row in summary_rows(result):
        grid.add_row(*row)
    yield grid
    if result.exposure:
        heads = [(name, printing.RIGHT) for name in ("before", "after", "change")]
        grid = printing.new_grid(("exposure of", printing.FOLD), ("value", printing.FOLD), *heads)
        for entry in result.exposure[:VALUES]:
            shares = f"{entry.before:.1%}", f"{entry.after:.1%}", f"{entry.change:+.1%}"
            grid.add_row(printing.visible(entry.column), printing.visible(entry.value), *shares)
        yield grid
    if result.missed:
        names = [(name, printing.FOLD) for name in ("rule missed", "value", "why")]
        grid = printing.new_grid(*names, ("pages before", printing.RIGHT), ("after", printing.RIGHT))
        for missed in result.missed:
            texts = map(printing.visible, (missed.rule, missed.value, missed.reason))
            grid.add_row(*texts, str(missed.before), str(missed.after))
        yield grid
    for message, count in result.refused.items():
        yield f"Queries that the rules refuse: {count} ({printing.visible(message)})"
    if result.most_changed:
        yield _changed_grid(result)


def _changed_grid(result: Preview) -> Any:
    """Return the first results of the most changed queries, side by side."""
    grid = printing.new_grid(
        ("most changed", printing.FOLD), ("moved", printing.RIGHT), ("#", printing.RIGHT), ("before", printing.FOLD),
        ("after", printing.FOLD), ("was", printing.RIGHT),
    )  # fmt: skip
    for entry in result.most_changed:
        pairs = zip_longest(entry.before[:_FIRST], entry.after[:_FIRST])
        for rank, (before, after) in enumerate(pairs, 1):
            start = (printing.visible(str(entry.query)), f"{entry.moved:.0%}") if rank == 1 else ("", "")
            ids = [printing.visible(str(part.id)) if part else "" for part in (before, after)]
            grid.add_row(*start, str(rank), *ids, str(after.was) if after else "")
        grid.add_section()
    return grid
