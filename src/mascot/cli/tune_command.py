"""`mascot tune`: run the tuning, and print its tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from mascot import grammar
from mascot.cli import printing
from mascot.tuning.tuner import MeanInterval, Setting, Tuning, check_figure, draw, tune

__all__ = ["check_figure", "command", "draw", "report", "run"]


def run(*judgements: Any, **settings: Any) -> Tuning:
    """Return the result of `mascot.tuning.tuner.tune`, with a progress bar on a terminal."""
    with printing.progress_bar() as report:
        return tune(*judgements, **settings, report=partial(report, "settings"))


def command(tuning: Tuning, path: str | None, typed: Sequence[tuple[str, str]], flags: Sequence[str]) -> str:
    """Return the `mascot rerank` line that uses the recommended setting; `typed` are the options of each wish."""
    setting = tuning.recommended
    widths = dict(setting.widths)
    parts = ["mascot", "rerank", "-" if path is None else path, "-k", str(tuning.k)]
    for number, (option, text) in enumerate(typed):
        parts += [option, grammar.with_width(text, widths[number]) if number in widths else text]
    if setting.strength != Setting().strength:
        parts += ["--strength", f"{setting.strength:g}"]
    if setting.protect is not None:
        parts += ["--protect", str(setting.protect)]
    return shlex.join([*parts, *flags])


def report(tuning: Tuning, line: str) -> Iterator[Any]:
    """Yield the tables and sentences for people."""
    yield f"{tuning.queries} queries, {tuning.settings} settings, {len(tuning.folds)} folds, seed {tuning.seed}"
    yield _means_table(tuning)
    yield _folds_table(tuning)
    yield f"{tuning.reason[0].upper()}{tuning.reason[1:]}."
    yield from (f"Note: {note}." for note in tuning.notes)
    yield f"\nPython:  {tuning.python}"
    yield f"Command: {line}"


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


def _folds_table(tuning: Tuning) -> Any:
    names = ("fold", "queries", "strength", "protect", "widths", "relevance alone", "default", "tuned")
    grid = printing.new_grid(*((name, {} if name == "widths" else printing.RIGHT) for name in names))
    for number, fold in enumerate(tuning.folds, 1):
        setting = fold.setting
        widths = ", ".join(f"{tuning.wishes[at].attribute.name} {width:g}" for at, width in setting.widths)
        protect = "default" if setting.protect is None else str(setting.protect)
        means = [f"{mean:.3f}" for mean in (fold.relevance_alone, fold.default, fold.tuned)]
        chosen = [f"{setting.strength:g}", protect, printing.visible(widths or "default")]
        grid.add_row(str(number), str(fold.queries), *chosen, *means)
    return grid
