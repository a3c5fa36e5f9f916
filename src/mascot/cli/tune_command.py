"""`mascot tune`: choose settings by judged hits, and print how they compare."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

import typer

import mascot as mc
from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.bench.tuning import tuner
from mascot.bench.tuning.tuner import MeanInterval, Setting, Tuning
from mascot.cli import options, printing
from mascot.cli.rerank_command import InputColumns, line_in_errors, read_request

_WISHES = ("spread", "focus", "limit", "share")


def tune(
    path: str | None = options.INPUT_PATH,
    judged: str = typer.Option("", metavar="COLUMN", help="Column of judgements: above 0 is relevant."),
    clusters: str | None = typer.Option(
        None, metavar="COLUMN", help="Column of clusters; diversity is then cluster recall."
    ),
    k: int = typer.Option(10, "-k", help="Number of results per query."),
    spread: list[str] = options.SPREAD,
    focus: list[str] = options.FOCUS,
    limit: list[str] = options.LIMIT,
    share: list[str] = options.SHARE,
    fill: bool = options.FILL,
    metric: Literal["ndcg", "precision"] = typer.Option("ndcg", help="Measure of relevance, at -k."),
    relevance_weight: float = typer.Option(
        0.5, help="Weight of relevance beside diversity in the objective, between 0 and 1."
    ),
    folds: int = typer.Option(5, help="Folds of the cross-validation over queries."),
    seed: int = typer.Option(0, help="Seed of the folds and of the bootstrap intervals."),
    figure: str | None = typer.Option(
        None, metavar="FILE", help="Write a picture of relevance and diversity by strength."
    ),
    missing: Missing = options.MISSING,
    score: str = options.SCORE,
    id: str | None = options.ID,
    query: str | None = options.QUERY,
    vector: str | None = options.VECTOR,
    input_format: options.InputName | None = options.INPUT_FORMAT,
    format: Literal["table", "json"] = typer.Option("table", help="Tables, or the same as data."),
) -> None:
    """Choose strength, protect and widths from hits that people judged.

    \b
    mascot tune hits.jsonl --judged relevance --spread place --spread seller
    mascot tune hits.jsonl --judged relevance --clusters meaning --spread topic --figure tune.png

    Settings are compared by cross-validation over queries: each query is scored
    with the setting that the other folds chose. If that does not beat the
    defaults, the defaults are recommended. Wishes are written as for rerank.
    """
    if not judged:
        raise mc.OptionError("tune needs --judged COLUMN, the column in which people judged the hits")
    if judged == score:
        raise mc.OptionError(f"--judged and --score must be different columns, got {judged!r} twice")
    if figure is not None:
        tuner.check_figure(figure)
    wishes = options.TypedWishes(spread, focus, limit, share, fill)
    columns = InputColumns(missing, score, id, query, vector)
    request = read_request(path, input_format, wishes, columns)
    request.table.require(judged, "name another with --judged")
    if clusters is not None:
        request.table.require(clusters, "name another with --clusters")
    candidates = [group.candidates for group in request.queries]
    with line_in_errors(request), printing.progress_bar() as report:
        tuning = tuner.tune(
            candidates, request.wishes, judged, clusters, k=k, folds=folds, metric=metric,
            relevance_weight=relevance_weight, seed=seed, report=partial(report, "settings"),
        )  # fmt: skip
    flags = ["--fill"] if fill else []
    defaults = {"missing": "last", "score": "score"}
    for option, value in {**asdict(columns), "input-format": input_format}.items():
        flags += [] if value == defaults.get(option) else [f"--{option}", value]
    command = _command(tuning, path, wishes, flags)
    if figure is not None:
        tuner.draw(tuning, figure)
    if format == "json":
        printing.show_json(tuning.to_dict() | {"command": command})
    else:
        counts = f"{tuning.queries} queries, {tuning.settings} settings, {len(tuning.folds)} folds, seed {tuning.seed}"
        reason = f"{tuning.reason[0].upper()}{tuning.reason[1:]}."
        notes = [f"Note: {note}." for note in tuning.notes]
        printing.show(counts, _means_table(tuning), reason, *notes, f"\n{command}")


def _command(tuning: Tuning, path: str | None, wishes: options.TypedWishes, flags: list[str]) -> str:
    """Return the `mascot rerank` line that uses the recommended setting."""
    setting = tuning.recommended
    widths = dict(setting.widths)
    parts = ["mascot", "rerank", "-" if path is None else path, "-k", str(tuning.k)]
    typed = [(f"--{word}", text) for word in _WISHES for text in getattr(wishes, word)]
    for number, (option, text) in enumerate(typed):
        parts += [option, grammar.with_width(text, widths[number]) if number in widths else text]
    if setting.strength != Setting().strength:
        parts += ["--strength", f"{setting.strength:g}"]
    if setting.protect is not None:
        parts += ["--protect", str(setting.protect)]
    return shlex.join([*parts, *flags])


def _means_table(tuning: Tuning) -> Any:
    names = (tuning.relevance_metric, tuning.diversity_metric, "objective", "95% interval")
    grid = printing.new_grid(("held-out means", {}), *((name, printing.RIGHT) for name in names))
    rows = {"relevance alone": tuning.relevance_alone, "default": tuning.default, "tuned": tuning.tuned}
    for name, interval in rows.items():
        means = tuning.scores[name]
        grid.add_row(name, f"{means.relevance:.3f}", f"{means.diversity:.3f}", f"{interval.mean:.3f}", _ends(interval))
    grid.add_section()
    differences = {
        "tuned - default": tuning.over_default,
        "tuned - relevance alone": tuning.over_relevance,
        "default - relevance alone": tuning.default_over_relevance,
    }
    for name, interval in differences.items():
        grid.add_row(name, "", "", f"{interval.mean:+.3f}", _ends(interval, "+"))
    return grid


def _ends(interval: MeanInterval, sign: str = "") -> str:
    return f"{interval.low:{sign}.3f} to {interval.high:{sign}.3f}"
