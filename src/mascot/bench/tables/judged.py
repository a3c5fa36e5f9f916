"""Judged data, every method at its best: over all settings that were run, chosen with and without the topic at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mascot.bench import naming
from mascot.bench.averages import Record, RunResults
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, Value, table

_KEYS = ("p@20", "cr@20", "f1@20")
_CHOSEN = "cr@20"
_LEFT_OUT, _BEST = "chosen on the other topics", "best on these topics"


def at_their_best(results: RunResults) -> Iterator[ResultTable]:
    """Yield P@20, CR@20 and F1@20 of every method with a strength sweep on spread, at the highest mean CR@20."""
    swept = results.where(study="strength", direction="spread")
    columns = [Column(key.upper(), group, ranked=key != "p@20") for group in (_LEFT_OUT, _BEST) for key in _KEYS]
    columns.append(Column("settings", digits=0))
    parts = []
    for task in swept.names("task"):
        part = swept.where(task=task)
        rows = [TableRow(naming.method(label), _row(part.where(label=label))) for label in part.names("label")]
        parts.append(Section(naming.task(task), tuple(rows)))
    note = (
        "Settings are those of the strength sweeps; the one with the highest mean CR@20 is taken, for each topic on "
        "all other topics, and once on all of them. The second flatters who has more settings."
    )
    title = "Clusters found, spread, every method at its best"
    yield from table(swept, "judged-settings-spread", title, columns, parts, (note,))


def _row(results: RunResults) -> tuple[Value, ...]:
    """Return the numbers of the two choices, averaged over seeds."""
    seeds = [choices for seed in results.by_seed() if (choices := _choices(seed.records)) is not None]
    if not seeds:
        return (None,) * (2 * len(_KEYS) + 1)
    return (*(float(value) for value in np.mean(seeds, axis=0)),)


def _choices(records: Sequence[Record]) -> list[float] | None:
    judged = [record["per_query"] for record in records if record["per_query"].get(_CHOSEN)]
    if not judged or sum(value is not None for value in judged[0][_CHOSEN]) < 2:
        return None
    values = {key: np.array([columns[key] for columns in judged], float) for key in _KEYS}  # [settings, topics]
    present = np.isfinite(values[_CHOSEN]).all(axis=0)  # a topic may have no clusters
    values = {key: column[:, present] for key, column in values.items()}
    quality = values[_CHOSEN]
    other_topics = quality.sum(axis=1, keepdims=True) - quality
    topic, best = np.arange(quality.shape[1]), int(quality.mean(axis=1).argmax())
    left_out = [float(values[key][other_topics.argmax(axis=0), topic].mean()) for key in _KEYS]
    return [*left_out, *(float(values[key][best].mean()) for key in _KEYS), float(len(judged))]
