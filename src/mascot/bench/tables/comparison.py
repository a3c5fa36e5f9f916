"""Methods side by side on each task: the spread and focus tables, recall, several positives, clusters, appearance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mascot.bench import naming
from mascot.bench.averages import RunResults, summary
from mascot.bench.measure import PRECISIONS
from mascot.bench.published import Published
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, Value, sections, table
from mascot.bench.tables.judged import at_their_best

OURS, PAPER = "ours", "published"
_RECALLS = ("r@1", "r@3", "r@5", "r@10", "r@20")
_SEVERAL = ("map", "mrr", *(f"p@{at}" for at in PRECISIONS))
_JUDGED = ("p@20", "cr@20", "f1@20")
_METADATA_ALONE = "Without vectors DM is the diversity of the metadata alone."
# Settings that the paper does not print, by where they come from instead.
_STAND_INS = {
    "inferred": ("†", "The paper does not print this setting; inferred from its rows."),
    "validated": ("‡", "The paper does not print this setting; chosen on validation."),
}
_SPREAD_FOCUS = ("spread", "focus")


def comparison(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield HM, R@10 (or MAP), DM and R@1 of every method, for each direction and operating point."""
    keys = ("hm", results.retrieval, "dm", "r@1")
    names = [key.upper() for key in keys]
    columns = [Column(name, group, ranked=name == "HM") for group in (OURS, PAPER) for name in names]

    def cells(runs: RunResults, task: str, direction: str, label: str) -> Sequence[Value]:
        row = published.row(task, direction, label) or {}
        return [*(runs.average(summary(key)) for key in keys), *(row.get(key) for key in keys)]

    notes = (_METADATA_ALONE,) if results.where(study="main").blind else ()
    yield from _by_direction_and_point(results, "", "", columns, cells, notes)


def recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@1, 3, 5, 10 and 20 of every method."""
    columns = [Column(key.upper(), group, ranked=True) for group in (OURS, PAPER) for key in _RECALLS]

    def cells(runs: RunResults, task: str, direction: str, label: str) -> Sequence[Value]:
        curve = published.recall(task, direction, label)
        return [*(runs.average(summary(key)) for key in _RECALLS), *(curve.get(key) for key in _RECALLS)]

    yield from _by_direction_and_point(results, "recall-", "recall, ", columns, cells)


def several(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield MAP, MRR and precision of every method, where queries have several positives."""
    if not any("mrr" in record["summary"] for record in results.where(study="main").records):
        return
    columns = [Column(key.upper(), ranked=True) for key in _SEVERAL]

    def cells(runs: RunResults, task: str, direction: str, label: str) -> Sequence[Value]:
        return [runs.average(summary(key)) for key in _SEVERAL]

    note = "MAP divides by the positives found, as published; R@K, of other tables, asks whether any is there."
    yield from _by_direction_and_point(results, "several-", "several positives, ", columns, cells, (note,))


def judged(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield precision, cluster recall and their F1 at 20, where the dataset's images were judged."""
    columns = [Column(key.upper(), ranked=True) for key in (*_JUDGED,)] + [Column("kept")]

    def cells(runs: RunResults, task: str, direction: str, label: str) -> Sequence[Value]:
        values: list[Value] = [runs.average(summary(key)) for key in _JUDGED]
        return [*values, runs.average(summary("kept")) if any(v is not None for v in values) else None]

    yield from _by_direction_and_point(results, "judged-", "clusters found, ", columns, cells)
    for name, part in subsets(results):
        yield from _by_direction_and_point(part, f"judged-{name}-", f"clusters found, {name} topics, ", columns, cells)
    yield from at_their_best(results)


def subsets(results: RunResults) -> Iterator[tuple[str, RunResults]]:
    """Yield the results on each named subset of the queries, such as the topics that no setting was chosen on."""
    for name in dict.fromkeys(name for record in results.records for name in record.get("subsets", {})):
        yield name, results.within(name)


def stand_ins(results: RunResults, point: str) -> dict[str, str]:
    """Return the marks, each with its sentence, of the settings that replace published ones."""
    kinds = [kind for kind in _STAND_INS if point == "published" and results.where(point=kind)]
    return dict(_STAND_INS[kind] for kind in kinds)


def _by_direction_and_point(
    results: RunResults,
    prefix: str,
    heading: str,
    columns: Sequence[Column],
    cells: Callable[[RunResults, str, str, str], Sequence[Value]],
    sentences: Sequence[str] = (),
) -> Iterator[ResultTable]:
    main = results.where(study="main")
    points = main.points or [""]  # "" where no method has a choice of points
    for direction in (d for d in main.names("direction") if d in _SPREAD_FOCUS):
        for point in points:
            part = main.where(direction=direction).at(point)
            parts = []
            for task in part.names("task"):
                rows = []
                for label in part.where(task=task).names("label"):
                    runs = part.where(task=task, label=label)
                    name = naming.method(label) + "".join(f" {mark}" for mark in stand_ins(runs, point))
                    values = tuple(cells(runs, task, direction, naming.origin(label)))
                    rows.append(TableRow(name, values, ranked=label != naming.BASE))
                parts.append(Section(naming.task(task), tuple(rows)))
            notes = [*sentences, *(f"{mark} {word}" for mark, word in stand_ins(part, point).items())]
            where = f" {naming.POINTS[point]}" if point else ""
            key = prefix + "-".join(filter(None, (direction, point)))
            yield from table(part, key, f"{heading}{direction}{where}".capitalize(), columns, parts, notes)


def appearance(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the diversity of the image vectors beside DM and R@10: do wishes change how varied the pictures look?"""
    main = results.where(study="main", task="geo_hour").preferred()
    if main.blind:
        return
    keys = ("appearance", "dm", results.retrieval)
    parts = []
    for direction in (d for d in main.names("direction") if d in _SPREAD_FOCUS):
        rows = []
        for label in main.where(direction=direction).names("label"):
            runs, source = main.where(direction=direction, label=label), naming.origin(label)
            printed = published.appearance("geo_hour", direction, source)
            row = published.row("geo_hour", direction, source) if printed is not None else None
            cells = (*(runs.average(summary(key)) for key in keys), printed, *map((row or {}).get, keys[1:]))
            rows.append(TableRow(naming.method(label), cells, ranked=label != naming.BASE))
        parts.append(Section(direction, tuple(rows)))
    names = ("appearance", "DM", results.retrieval.upper())
    columns = [Column(name, group) for group in (OURS, PAPER) for name in names]
    note = "Appearance is the normalised Vendi score of the image vectors; it is never inverted."
    yield from table(main, "appearance", "Appearance diversity, geo + hour", columns, parts, (note,))


def parameters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield what the validation search chose, and what the paper's chose."""
    main = results.where(study="main", point="validated")

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        for label in part.names("label"):
            runs = part.where(label=label)
            settings = [_setting_texts(record["method"], record["wishes"]) for record in runs.records]
            ours = [_distinct(row[key] for row in settings) for key in ("strength", "geo", "time", "other")]
            printed = published.operating_point(task, direction, naming.origin(label)) or {}
            paper = [_text(printed.get(key)) for key in ("strength", "sigma_geo", "sigma_time")]
            retrieved = runs.average(summary(results.retrieval))
            yield TableRow(naming.method(label), (*ours, retrieved, *paper, printed.get("retrieval")))

    names = ("strength", "σ geo", "σ time")
    columns = [Column(name, OURS) for name in (*names, "other", results.retrieval.upper())]
    columns += [Column(name, PAPER) for name in (*names, results.retrieval.upper())]
    notes = (
        "Several values: the seeds chose differently. Widths in degrees (geo) and hours (time).",
        "Strength of the DPPs is 1 - theta.",
    )
    yield from table(main, "parameters", "Parameters chosen on validation", columns, sections(main, rows), notes)


def _setting_texts(method: Mapping[str, Any], wishes: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return strength, widths and the other searched settings, as text."""
    texts: dict[str, str | None] = {"strength": _text(method.get("strength")), "geo": None, "time": None}
    other_settings = [f"{name} {method[name]:g}" for name in ("beta", "clusters", "protect") if method.get(name)]
    if method.get("keep") is not None:
        other_settings.append(f"keep {method['keep']:g}")
    # The other methods do not see the bins.
    for attribute in [wish["attribute"] for wish in wishes if method.get("kind") == "Mascot"]:
        if attribute["kind"] == "Grid":
            texts["geo"] = _text(attribute["sigma"])
        elif attribute["kind"] == "HourOfDay":
            texts["time"] = _text(attribute["sigma"])
        elif attribute.get("sigma_km") is not None:
            other_settings.append(f"{attribute['name']} {attribute['sigma_km']:g} km")
    return texts | {"other": ", ".join(other_settings) or None}


def _text(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"


def _distinct(values: Any) -> str | None:
    """Return the distinct values as text."""
    return " / ".join(sorted({value for value in values if value is not None})) or None
