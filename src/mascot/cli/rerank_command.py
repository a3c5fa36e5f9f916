"""The commands that re-rank records: `mascot rerank` and `demo`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import mascot as mc
from mascot import grammar
from mascot.attributes import Clusters
from mascot.attributes.attribute import Missing
from mascot.candidates import value_of
from mascot.cli import example, hit_tables, options, printing
from mascot.errors import require
from mascot.methods.method import Method
from mascot.wishes import AnyWish

_CHUNK = 500  # queries per batch and step of the progress bar
_BAR = 100  # the smallest number of queries with a progress bar
_DEMO_RESULTS = 10
_K = 20


def rerank(
    path: str | None = options.INPUT_PATH,
    k: int | None = typer.Option(None, "-k", help="Number of results per query (default: 20)."),
    profile: Path | None = typer.Option(
        None, metavar="FILE", help="Profile (JSON or TOML) whose wishes, -k and method are used."
    ),
    variant: str | None = typer.Option(None, metavar="NAME", help="Variant of the profile (default: the first one)."),
    near: list[str] | None = typer.Option(
        None, metavar="NAME=VALUE", help="Value of a focus of the profile: place=[38.7,-9.1]. Repeatable."
    ),
    spread: list[str] = options.SPREAD,
    focus: list[str] = options.FOCUS,
    limit: list[str] = options.LIMIT,
    at_least: list[str] = options.AT_LEAST,
    share: list[str] = options.SHARE,
    fill: bool = options.FILL,
    session: bool = options.SESSION,
    count_missing: bool = options.COUNT_MISSING,
    already: list[str] = options.ALREADY,
    pin: list[str] = options.PIN,
    strength: float | None = options.STRENGTH,
    protect: int | None = options.PROTECT,
    keep: float | None = options.KEEP,
    order: options.Order | None = options.ORDER,
    method: options.MethodName | None = options.METHOD,
    missing: Missing = options.MISSING,
    score: str = options.SCORE,
    id: str | None = options.ID,
    query: str | None = options.QUERY,
    vector: str | None = options.VECTOR,
    explain: bool = options.EXPLAIN,
    input_format: options.InputName | None = options.INPUT_FORMAT,
    format: options.OutputFormat | None = typer.Option(
        None, help="Output format (default: table on a terminal, JSON lines in a pipe)."
    ),
) -> None:
    """Re-rank the hits of a search.

    \b
    mascot rerank hits.jsonl -k 20 --spread place --focus hour=18
    search sunset | mascot rerank --spread camera --keep 0.95 | head

    \b
    A WISH is KIND[:COLUMNS][~WIDTH][=NEAR[~WITHIN]][*WEIGHT], NEAR for --focus only:
      place:lat,lon      place  place~50  place=35.7,139.7
      hour:taken         hour             hour=18:30  hour=18:30~1 (within 1 h)
      season:taken       season           season=july
      weekday:taken      weekday          weekday=saturday
      date:taken         date             date=2019-05
      number:altitude                     number:altitude=1200
      cycle:bearing,360                   cycle:bearing,360=90
      category:camera    camera           camera=X100
      look:10            look             (clusters of the vectors)
      vectors:embedding  vectors          (the vectors themselves, by their cosine)

    The output consists of the input records in their new order, with rank, was
    (the rank by score), relevance (0 to 1) and, with --explain, reason.
    """
    typed = options.TypedWishes(spread, focus, limit, share, fill, at_least, session, count_missing)
    wishes: options.TypedWishes | Sequence[AnyWish] = typed
    if profile is None:
        steering = grammar.method(method or "mascot", strength, protect, keep, order)
        k = _K if k is None else k
        require(variant is None, "--variant", "needs --profile", variant)
        require(near is None, "--near", "needs --profile", near)
    else:
        if any(vars(typed).values()) or method is not None:
            raise mc.OptionError("--profile has the wishes and the method: leave out --spread, --limit, --method, ...")
        overrides: dict[str, Any] = {"k": k, "strength": strength, "protect": protect, "keep": keep, "order": order}
        values = {name: _typed_value(text) for name, _, text in (part.partition("=") for part in near or ())}
        rules = mc.load_profile(profile).rules(None, variant, values, **overrides)
        wishes, k, steering = rules.wishes, rules.k, rules.method
    request = read_request(path, input_format, wishes, InputColumns(missing, score, id, query, vector))
    with line_in_errors(request):
        rankings = list(_bar(_ranked(request, k, steering, already, pin), len(request.queries)))
    results = list(zip(request.queries, rankings, strict=True))
    shape = format or ("table" if sys.stdout.isatty() else "jsonl")
    if shape == "json":
        printing.show_json([printing.query_dict(*pair, explain) for pair in results])
        return
    for pair in results:
        if shape == "table":
            printing.show(printing.ranking_table(*pair, explain))
        else:
            printing.show_records(printing.result_records(*pair, explain), as_array=False)
    if shape == "jsonl":
        _note_missed_rules(rankings)


def _note_missed_rules(rankings: Sequence[mc.Ranking]) -> None:
    """Name the rules that the results of one query do not meet, or count such queries; limits may be exceeded."""
    missed = [
        [str(rule) for rule in ranking.missed_rules() if rule.cause != "over" and not rule.rule.startswith("focus")]
        for ranking in rankings
    ]
    count = sum(map(bool, missed))
    if len(rankings) == 1:
        for rule in missed[0]:
            printing.note(printing.visible(rule))
    elif count:
        printing.note(f"{count} of {len(rankings)} queries do not meet every rule; --format table names the rules")


def demo(
    records: bool = typer.Option(False, "--records", help="Print the example itself, as JSON lines to try rerank on."),
) -> None:
    """Re-rank a built-in example and show before and after side by side."""
    if records:
        printing.show_records(example.records(), as_array=False)
        return
    hits = hit_tables.RecordedQuery(None, example.records(), example.candidates())
    plain = hits.records[:_DEMO_RESULTS]
    printing.show(
        f'{len(hits.records)} photographs found for "{example.QUERY}". By relevance alone, the first {len(plain)} are',
        f"{_count_line(plain)}, mostly one evening of one trip.",
    )
    for focus in ([], ["hour=18"]):
        wishes = [grammar.spread("place"), *map(grammar.focus, focus)]
        ranking = mc.rerank(hits.candidates, wishes, k=_DEMO_RESULTS)
        explanation = ranking.explain()
        results = [hits.records[int(position)] for position in ranking.positions]
        runner_up = explanation.left_out[0]
        printing.show(
            "",
            " ".join(["mascot rerank --spread place", *(f"--focus {text}" for text in focus)]),
            printing.side_by_side(plain, hits, ranking),
            f"{_count_line(plain)} -> {_count_line(results)}; {ranking.kept:.0%} of the relevance kept.",
            f"Left out: {runner_up.id} (was {runner_up.was}), {runner_up.because}.",
        )
    printing.show(
        "",
        "was: the rank by relevance alone.",
        "Try your own: mascot demo --records > hits.jsonl",
        "              mascot rerank hits.jsonl -k 10 --focus camera=X-T3 --explain",
    )


def _count_line(records: Sequence[hit_tables.Record]) -> str:
    cities = len({record["city"] for record in records})
    hours = len({record["taken"][11:13] for record in records})
    return f"{cities} {'city' if cities == 1 else 'cities'}, {printing.number_of(hours, 'hour')}"


@dataclass(frozen=True)
class RecordedInput:
    """A table, its queries, and the wishes about its columns."""

    table: hit_tables.RecordTable
    queries: list[hit_tables.RecordedQuery]
    wishes: list[AnyWish]


@dataclass(frozen=True)
class InputColumns:
    """The columns of the input with a fixed meaning, and what a missing value means."""

    missing: Missing
    score: str
    id: str | None
    query: str | None
    vector: str | None


def _typed_value(text: str) -> Any:
    """Return a value typed as JSON, or as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_request(
    path: str | None,
    input_format: str | None,
    typed: options.TypedWishes | Sequence[AnyWish],
    names: InputColumns,
) -> RecordedInput:
    table = hit_tables.read(path, input_format, (names.id or "id", "_id", names.query or "query"))
    if isinstance(typed, options.TypedWishes):
        wishes = typed.read(grammar.TableResolver(table.columns.cells), names.missing)
    else:
        wishes = list(typed)
    columns = list(dict.fromkeys(column for wish in wishes for column in grammar.columns_of(wish)))
    for column in columns:
        table.require(column, "a wish names its columns as in place:lat,lon")
    queries = hit_tables.queries(table, names.score, names.id, names.query, names.vector, columns)
    of_vectors = [wish for wish in wishes if isinstance(wish.attribute, (Clusters, mc.Vectors))]
    if queries[0].candidates.vectors is None and not all(map(grammar.columns_of, of_vectors)):
        table.require("vector", "name another with --vector")
    return RecordedInput(table, queries, wishes)


@contextmanager
def line_in_errors(request: RecordedInput) -> Iterator[None]:
    """Add the line of the input to the error if a wish cannot read a cell."""
    try:
        yield
    except mc.InputError:
        for row, record in enumerate(request.table.records):
            for wish in request.wishes:
                cells = {column: [value_of(record, column)] for column in grammar.columns_of(wish)}
                try:
                    if cells:
                        wish.attribute.membership(mc.Candidates([0.0], columns=cells).columns, None)
                except mc.InputError as error:
                    raise mc.InputError(f"{request.table.place(row)}: {error}") from None
        raise


def _ranked(
    request: RecordedInput, k: int, method: Method, already: Sequence[str], pin: Sequence[str]
) -> Iterator[mc.Ranking[Any]]:
    queries, wishes = [query.candidates for query in request.queries], request.wishes
    texts = {text: place for place, text in enumerate(already)}
    if pin:
        for candidates in queries:
            pins = _pins(pin, candidates.ids)
            yield mc.rerank(candidates, wishes, k, method, _in_order(candidates.ids, texts), pin=pins)
        return
    for first in range(0, len(queries), _CHUNK):
        parts = queries[first : first + _CHUNK]
        shown_ids = [_in_order(part.ids, texts) for part in parts] if texts else None
        yield from mc.rerank_many(parts, wishes, k, method, shown_ids)


def _pins(typed: Sequence[str], ids: Sequence[Any]) -> Any:
    """Return the ids of `ID`, or the positions of `ID=POSITION`; an id may contain an equals sign."""
    id_of = {str(id_): id_ for id_ in ids}
    pairs = [(text, "") if text in id_of else text.rpartition("=")[::2] for text in typed]
    for (text, place), option in zip(pairs, typed, strict=True):
        valid = text in id_of and (not place or place.isdigit())
        require(valid, "--pin", "must be the id of a candidate, or ID=POSITION", option)
    placed = [bool(place) for _, place in pairs]
    require(all(placed) or not any(placed), "--pin", "must have a position for every id or for none", list(typed))
    return {id_of[text]: int(place) for text, place in pairs} if all(placed) else [id_of[text] for text, _ in pairs]


def _in_order(ids: Sequence[Any], places: Mapping[str, int]) -> list[Any]:
    """Return the ids that earlier pages showed, in the order in which they were typed."""
    return sorted((id_ for id_ in ids if str(id_) in places), key=lambda id_: places[str(id_)])


def _bar(items: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield the items, with a progress bar if there are many."""
    with printing.progress_bar() if count >= _BAR else nullcontext() as report:
        for number, item in enumerate(items, 1):
            if report is not None:
                report("queries", number, count)
            yield item
