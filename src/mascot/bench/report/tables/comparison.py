"""Methods side by side on each task: the spread and focus tables, recall, several positives, clusters, appearance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.averages import RunResults, summary
from mascot.bench.report.tables import table_model
from mascot.bench.report.tables.table_model import OURS, PAPER, Column, ResultTable, Section, TableRow, Value
from mascot.bench.running.measure import PRECISIONS
from mascot.bench.running.records import Record

_RECALLS = ("r@1", "r@3", "r@5", "r@10", "r@20")
_SEVERAL = ("map", "mrr", *(f"p@{at}" for at in PRECISIONS))
_JUDGED = ("p@20", "cr@20", "f1@20")
# Settings that the paper does not print, by where they come from instead: the mark, and the sentence under a table.
_STAND_INS = {
    "inferred": ("†", "† The paper does not print this setting; inferred from its rows."),
    "validated": ("‡", "‡ The paper does not print this setting; chosen on validation."),
}


def sizes(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the numbers of images and queries of each split, and the attributes of an image.

    A record may have the size of each split of its dataset (``sizes``), and always has the number of test queries that
    were run. The number of validation queries of the search is the limit of the run, or all of them.
    """
    main = results.where(study="main")
    split_sizes: dict[str, dict[str, int]] = {}
    for record in main.records:
        split_sizes |= record.get("sizes", {})
    test_queries = "/".join(map(str, sorted({len(record["queries"]) for record in main.records})))
    attributes = {wish["attribute"]["name"] for record in main.records for wish in record["wishes"]}
    rows = []
    for split in dict.fromkeys((*split_sizes, "test")) if main else ():
        images, queries = (split_sizes.get(split, {}).get(kind) for kind in ("images", "queries"))
        last_cells: tuple[Value, Value] = (None, None)
        if split == "test":
            last_cells = (test_queries, ", ".join(sorted(attributes)))
        elif split in results.limits and queries is not None:
            limit = results.limits[split]
            last_cells = (str(queries if limit is None else min(limit, queries)), None)
        rows.append(TableRow(split, (images, queries, *last_cells)))
    columns = (Column("images", digits=0), Column("queries", digits=0), Column("asked"), Column("attributes"))
    note = "Asked: queries of these results, and of the search before. Attributes: what is spread or focused."
    yield table_model.table(main, "sizes", "The dataset", columns, (note,), [Section("", tuple(rows))], "split")


def comparison(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield HM, R@10 (or MAP), DM and R@1 of every method, for each direction and operating point."""
    keys, ranked = ("hm", results.retrieval, "dm", "r@1"), ("hm",)
    columns = table_model.means(keys, ranked=ranked) + table_model.printed(keys, published.row, ranked)
    blind = results.where(study="main").blind
    notes = ("Without vectors DM is the diversity of the metadata alone.",) if blind else ()
    yield from _by_direction_and_point(results, "", "", columns, notes)


def recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@1, 3, 5, 10 and 20 of every method."""
    columns = table_model.means(_RECALLS, ranked=_RECALLS) + table_model.printed(_RECALLS, published.recall, _RECALLS)
    yield from _by_direction_and_point(results, "recall-", "recall, ", columns)


def several(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield MAP, MRR and precision of every method, where queries have several positives."""
    if any("mrr" in record["summary"] for record in results.where(study="main").records):
        columns = table_model.means(_SEVERAL, "", ranked=_SEVERAL)
        note = "MAP divides by the positives found, as published; R@K, of other tables, asks whether any is there."
        yield from _by_direction_and_point(results, "several-", "several positives, ", columns, (note,))


def judged(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield precision, cluster recall and their F1 at 20, where the dataset's images were judged."""

    def relevance_kept(runs: RunResults) -> Value:
        is_judged = any(runs.average(summary(key)) is not None for key in _JUDGED)
        return runs.average(summary("kept")) if is_judged else None

    columns = [*table_model.means(_JUDGED, "", ranked=_JUDGED), Column("kept", cell=relevance_kept)]
    yield from _by_direction_and_point(results, "judged-", "clusters found, ", columns)
    for name, part in subsets(results):
        yield from _by_direction_and_point(part, f"judged-{name}-", f"clusters found, {name} topics, ", columns)
    yield _at_their_best(results)


def _at_their_best(results: RunResults) -> ResultTable:
    """Return P@20, CR@20 and F1@20 of every method with a strength sweep on spread, at the highest mean CR@20."""
    swept = results.where(study="strength", direction="spread")
    groups = ("chosen on the other topics", "best on these topics")
    columns = [Column(key.upper(), group, ranked=key != "p@20") for group in groups for key in _JUDGED]
    columns.append(Column("settings", digits=0))

    def rows(part: RunResults) -> Iterator[TableRow]:
        for label, runs in part.split("label"):
            seeds = [choices for _, seed in runs.split("seed") if (choices := _choices(seed.records)) is not None]
            cells = np.mean(seeds, axis=0).tolist() if seeds else [None] * len(columns)
            yield TableRow(naming.method(label), tuple(cells))

    note = (
        "Settings are those of the strength sweeps; the one with the highest mean CR@20 is taken, for each topic on "
        "all other topics, and once on all of them. The second favours methods with more settings."
    )
    title = "Clusters found, spread, every method at its best"
    return table_model.table(
        swept, "judged-settings-spread", title, columns, (note,), table_model.sections(swept, rows, ("task",))
    )


def _choices(records: Sequence[Record]) -> list[float] | None:
    """Return the numbers of one seed: the setting chosen without each topic, then with all of them."""
    chosen = "cr@20"
    judged = [record["per_query"] for record in records if record["per_query"].get(chosen)]
    if not judged or sum(value is not None for value in judged[0][chosen]) < 2:
        return None
    values = [np.array([columns[key] for columns in judged], float) for key in _JUDGED]  # [settings, topics] each
    present = np.isfinite(values[_JUDGED.index(chosen)]).all(axis=0)  # a topic may have no clusters
    values = [column[:, present] for column in values]
    quality = values[_JUDGED.index(chosen)]
    other_topics = quality.sum(axis=1, keepdims=True) - quality
    topic, best = np.arange(quality.shape[1]), int(quality.mean(axis=1).argmax())
    left_out = [float(column[other_topics.argmax(axis=0), topic].mean()) for column in values]
    return [*left_out, *(float(column[best].mean()) for column in values), float(len(judged))]


def subsets(results: RunResults) -> Iterator[tuple[str, RunResults]]:
    """Yield the results on each named subset of the queries, such as the topics that no setting was chosen on."""
    for name in dict.fromkeys(name for record in results.records for name in record.get("subsets", {})):
        yield name, results.within(name)


def stand_ins(results: RunResults, point: str) -> dict[str, str]:
    """Return the marks, each with its sentence, of the settings that replace published ones."""
    kinds = [kind for kind in _STAND_INS if point == "published" and results.where(point=kind)]
    return dict(_STAND_INS[kind] for kind in kinds)


def marked(point: str, label: str, runs: RunResults) -> str:
    """Return a method's name with the marks that say that its setting is not the paper's."""
    return " ".join([naming.method(label), *stand_ins(runs, point)])


def _by_direction_and_point(
    results: RunResults, prefix: str, heading: str, columns: Sequence[Column], sentences: Sequence[str] = ()
) -> Iterator[ResultTable]:
    main = results.where(study="main")
    for (direction, runs), point in product(main.split("direction"), main.points or [""]):  # "": there is no choice
        part = runs.at(point)
        notes = [*sentences, *stand_ins(part, point).values()]
        where = f" {naming.POINTS[point]}" if point else ""
        key = prefix + "-".join(filter(None, (direction, point)))
        parts = table_model.sections(part, table_model.by_method(columns, partial(marked, point)), ("task",))
        yield table_model.table(part, key, f"{heading}{direction}{where}".capitalize(), columns, notes, parts)


def appearance(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the diversity of the image vectors beside DM and R@10: do wishes change how varied the pictures look?"""
    main = results.where(study="main", task="geo_hour").preferred()
    if main.blind:
        return

    def numbers(*case: str) -> dict[str, float]:
        score = published.appearance(*case)
        return {} if score is None else {"appearance": score, **published.row(*case)}

    keys = ("appearance", "dm", results.retrieval)
    columns = table_model.means(keys) + table_model.printed(keys, numbers)
    note = "Appearance is the normalised Vendi score of the image vectors; it is never inverted."
    yield table_model.table(
        main, "appearance", "Appearance diversity, geo + hour", columns, (note,), levels=("direction",)
    )


def parameters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield what the validation search chose, and what the paper's chose."""
    main = results.where(study="main", point="validated")

    def ours(key: str) -> Callable[[RunResults], Value]:
        return lambda runs: " / ".join(sorted({text for r in runs.records if (text := _texts(r).get(key))})) or None

    def paper(key: str) -> Callable[[RunResults], Value]:
        return lambda runs: _text(published.operating_point(*runs.case).get(key))

    names = {"strength": "strength", "sigma_geo": "σ geo", "sigma_time": "σ time"}
    columns = [Column(name, OURS, ours(key)) for key, name in (names | {"other": "other"}).items()]
    columns += table_model.means((results.retrieval,))
    columns += [Column(name, PAPER, paper(key)) for key, name in names.items()]
    (retrieved,) = table_model.printed(("retrieval",), published.operating_point)
    columns.append(replace(retrieved, name=results.retrieval.upper()))
    notes = (
        "Several values: the seeds chose differently. Widths in degrees (geo) and hours (time).",
        "Strength of the DPPs is 1 - theta.",
    )
    yield table_model.table(main, "parameters", "Parameters chosen on validation", columns, notes)


def _texts(record: Record) -> dict[str, str | None]:
    """Return strength, widths and the other searched settings, as text."""
    method = record["method"]
    texts = {"strength": _text(method.get("strength"))}
    others = [f"{name} {method[name]:g}" for name in ("beta", "clusters", "protect") if method.get(name)]
    others += [f"keep {method['keep']:g}"] if method.get("keep") is not None else []
    # The other methods do not see the bins.
    for attribute in [wish["attribute"] for wish in record["wishes"] if method.get("kind") == "Mascot"]:
        if width := {"Grid": "sigma_geo", "HourOfDay": "sigma_time"}.get(attribute["kind"]):
            texts[width] = _text(attribute["sigma"])
        elif attribute.get("sigma_km") is not None:
            others.append(f"{attribute['name']} {attribute['sigma_km']:g} km")
    return texts | {"other": ", ".join(others)}


def _text(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"
