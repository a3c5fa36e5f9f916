"""Methods side by side on each task: the spread and focus tables, recall, several positives, clusters, appearance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.run_results import RunResults
from mascot.bench.report.tables import result_table
from mascot.bench.report.tables.differences import paired
from mascot.bench.report.tables.result_table import LEVELS, OURS, PAPER, Column, ResultTable
from mascot.bench.running.measure import CUTOFFS, PRECISIONS, SUBTOPIC_MEASURES
from mascot.bench.running.records import Record

_RECALLS = tuple(f"r@{at}" for at in CUTOFFS)
_SEVERAL = ("map", "mrr", *(f"p@{at}" for at in PRECISIONS))
_JUDGED = ("p@20", "cr@20", "f1@20")
_JUDGED_NOTE = (
    "alpha-nDCG (alpha = 0.5), ERR-IA and S-recall are those of ir_measures with clusters as subtopics: S-recall@20 is "
    "CR@20. N@10: judged relevance of the first 10 results, as a share of the best possible."
)
_INTERVAL_NOTE = "From, to: the 95% paired bootstrap interval over the queries of each seed."
# Settings that the paper does not print, by their origin: the mark, and the sentence under a table.
_STAND_INS = {
    "inferred": ("†", "† The paper does not print this setting; it is inferred from the rows."),
    "validated": ("‡", "‡ The paper does not print this setting; it is chosen on validation."),
}


def sizes(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the numbers of images and queries of each split, and the attributes of an image.

    A record may hold the size of each split of its dataset (``sizes``), and always holds the test queries that were
    run. The number of validation queries of the search is the limit of the run, or all of them.
    """
    main = results.where(study="main")
    split_sizes: dict[str, Any] = {}
    for record in main.records:
        split_sizes |= record.get("sizes", {})
    rows = {split: dict(split_sizes.get(split, {})) for split in (*split_sizes, "test")} if main else {}
    for split, row in rows.items():
        if split == "test":
            row["asked"] = "/".join(map(str, sorted({len(record["queries"]) for record in main.records})))
            names = {wish["attribute"]["name"] for record in main.records for wish in record["wishes"]}
            row["attributes"] = ", ".join(sorted(names))
        elif split in results.limits and "queries" in row:
            limit = results.limits[split]
            row["asked"] = str(row["queries"] if limit is None else min(limit, row["queries"]))
    columns = [Column("images", digits=0), Column("queries", digits=0), Column("asked"), Column("attributes")]
    values = [[row.get(column.name) for column in columns] for row in rows.values()]
    cells = pd.DataFrame(values, pd.MultiIndex.from_product([[""], rows]), columns, dtype=object)
    note = (
        "Asked: the queries that were run for these results and for the search. Attributes: what is spread or focused."
    )
    yield result_table.table(main, "sizes", "The dataset", cells, (note,), "split", levels=None)


def comparison(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield HM, R@10 (or MAP), DM and R@1 of every method, for each direction and operating point."""
    blind = results.where(study="main").blind
    notes = ("Without vectors DM is the diversity of the metadata alone.",) if blind else ()
    keys = ("hm", results.retrieval, "dm", "r@1")
    yield from _by_direction_and_point(results, "", "", keys, ("hm",), published.row, notes, "hm")


def recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@1, 3, 5, 10 and 20 of every method."""
    yield from _by_direction_and_point(results, "recall-", "recall, ", _RECALLS, _RECALLS, published.recall)


def several(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield MAP, MRR and precision of every method, if queries have several positives."""
    if "mrr" in results.where(study="main").frame.dropna(how="all", axis=1):
        note = (
            "MAP divides by the number of positives found, as published. R@K, in other tables, asks for any positive."
        )
        heading = "several positives, "
        yield from _by_direction_and_point(results, "several-", heading, _SEVERAL, _SEVERAL, None, (note,))


def judged(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield precision, cluster recall, their F1 and measures of novelty at 20, if the images were judged."""
    keys = (*_JUDGED, *SUBTOPIC_MEASURES, "n@10", "kept")
    parts = {"": ("clusters found, ", results)}
    parts |= {f"{name}-": (f"clusters found, {name} topics, ", part) for name, part in results.subsets()}
    for prefix, (heading, part) in parts.items():
        judged_part = part.filter(part.frame.reindex(columns=_JUDGED).notna().any(axis=1))
        yield from _by_direction_and_point(
            judged_part, f"judged-{prefix}", heading, keys, keys[:-1], None, (_JUDGED_NOTE,), "f1@20"
        )
    yield from _at_their_best(results)


def _at_their_best(results: RunResults) -> Iterator[ResultTable]:
    """Yield P@20, CR@20 and F1@20 of every method with a strength sweep on spread, at the highest mean CR@20."""
    swept = results.where(study="strength", direction="spread")
    groups = ("chosen on the other topics", "best on these topics")
    columns = [Column(key.upper(), group, ranked=key != "p@20") for group in groups for key in _JUDGED]
    columns.append(Column("settings", digits=0))
    seeds = swept.frame.groupby(["task", "label", "seed"], observed=True)["record"]
    choices = {entry: numbers for entry, records in seeds if (numbers := _choices(list(records))) is not None}
    if choices:
        index = pd.MultiIndex.from_tuples(choices, names=["task", "label", "seed"])
        cells = pd.DataFrame(list(choices.values()), index).groupby(level=["task", "label"], sort=False).mean()
        note = (
            "The settings are those of the strength sweeps. The one with the highest mean CR@20 is chosen, for each "
            "topic on all other topics, and once on all topics. The second choice favours methods with more settings."
        )
        title = "Clusters found, spread, every method at its best"
        cells = cells.set_axis(pd.Index(columns, dtype=object), axis=1)
        yield result_table.table(swept, "judged-settings-spread", title, cells, (note,), levels=("task",))


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


def stand_ins(results: RunResults, point: str) -> dict[str, str]:
    """Return the marks, each with its sentence, of the settings that replace published ones."""
    points = set(results.frame["point"]) if point == "published" else ()
    return dict(mark for kind, mark in _STAND_INS.items() if kind in points)


def marked(results: RunResults, point: str, label: str) -> str:
    """Return a method's name with the marks that say that its setting is not the paper's."""
    return " ".join([naming.method(label), *stand_ins(results.where(label=label), point)])


def _by_direction_and_point(
    results: RunResults, prefix: str, heading: str, keys: Sequence[str], ranked: Sequence[str],
    lookup: result_table.Lookup | None = None, sentences: Sequence[str] = (), interval: str | None = None,
) -> Iterator[ResultTable]:  # fmt: skip
    main = results.where(study="main")
    for (direction, runs), point in product(main.split("direction"), main.points or [""]):  # "": there is no choice
        part = runs.at(point)
        ours = result_table.measured(part.frame, keys, OURS if lookup else "", ranked)
        limits = _intervals(part, ours.index, interval) if interval else ours.iloc[:, :0]
        paper = result_table.printed(ours.index, keys, lookup, ranked) if lookup else ours.iloc[:, :0]

        def name(fields: Any, part: RunResults = part, point: str = point) -> str:
            return marked(part.where(task=fields["task"]), point, fields["label"])

        title = f"{heading}{direction}{f' {naming.POINTS[point]}' if point else ''}".capitalize()
        key = prefix + "-".join(filter(None, (direction, point)))
        is_bounded = bool(limits.notna().any(axis=None))
        notes = [*sentences, *([_INTERVAL_NOTE] if is_bounded else []), *stand_ins(part, point).values()]
        cells = pd.concat([ours, limits, paper], axis=1)
        yield result_table.table(part, key, title, cells, notes, levels=("task",), name=name)


def _intervals(part: RunResults, index: pd.MultiIndex, measure: str) -> pd.DataFrame:
    """Return the limits of the paired bootstrap interval of each method minus the base."""
    columns = [Column(name, f"{measure.upper()} - base, 95%", signed=True) for name in ("from", "to")]
    rows = []
    for entry in index:
        runs = part.where(**dict(zip(index.names, entry, strict=True)))
        base = part.where(**dict(zip(index.names, (*entry[:-1], naming.BASE), strict=True)))
        difference = None if entry[-1] == naming.BASE else paired(runs, base, measure)
        rows.append([None, None] if difference is None else [difference.low, difference.high])
    return pd.DataFrame(rows, index, columns, dtype=object)


def appearance(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the diversity of the image vectors beside DM and R@10: do wishes change how varied the pictures look?"""
    main = results.where(study="main", task="geo_hour").preferred()
    if main.blind:
        return

    def numbers(*case: str) -> dict[str, Any]:
        row = published.row(*case)
        return row if "appearance" in row else {}

    keys = ("appearance", "dm", results.retrieval)
    cells = result_table.beside(main.frame, keys, numbers)
    note = "Appearance is the normalised Vendi score of the image vectors; it is never inverted."
    title = "Appearance diversity, geo + hour"
    yield result_table.table(main, "appearance", title, cells, (note,), levels=("direction",))


def parameters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the settings that the validation search chose, and those that the paper's search chose."""
    main = results.where(study="main", point="validated")
    if not main:
        return
    names = ["strength", "sigma_geo", "sigma_time"]
    texts = pd.DataFrame([_texts(record) for record in main.records], main.frame.index, columns=[*names, "other"])
    cases = main.frame[[*LEVELS, "label"]].join(texts).groupby([*LEVELS, "label"], observed=True)
    choices = cases.agg(lambda column: " / ".join(sorted(set(column.dropna()) - {""})) or None)
    chosen = result_table.labelled(choices, OURS)
    paper = result_table.printed(chosen.index, names, published.operating_point).map(_text)
    reached = result_table.printed(chosen.index, ["retrieval"], published.operating_point)
    reached = reached.set_axis([Column(results.retrieval.upper(), PAPER)], axis=1)
    cells = pd.concat([chosen, result_table.measured(main.frame, (results.retrieval,)), paper, reached], axis=1)
    notes = (
        "Several values: the seeds chose differently. Widths are in degrees (geo) and hours (time).",
        "The strength of the DPPs is 1 - theta.",
    )
    yield result_table.table(main, "parameters", "Parameters chosen on validation", cells, notes)


def _texts(record: Record) -> dict[str, str | None]:
    method = record["method"]
    texts = {"strength": _text(method.get("strength"))}
    is_own = ":" in method.get("kind", "")
    names = method.keys() - {"kind", "source", "strength"} if is_own else ("beta", "clusters", "protect")
    others = [f"{name} {_text(method[name])}" for name in sorted(names) if method.get(name)]
    others += [f"keep {method['keep']:g}"] if not is_own and method.get("keep") is not None else []
    # The other methods do not see the bins.
    for attribute in [wish["attribute"] for wish in record["wishes"] if is_own or method.get("kind") == "Mascot"]:
        if width := {"Grid": "sigma_geo", "HourOfDay": "sigma_time"}.get(attribute["kind"]):
            texts[width] = _text(attribute["sigma"])
        elif attribute.get("sigma_km") is not None:
            others.append(f"{attribute['name']} {attribute['sigma_km']:g} km")
    return texts | {"other": ", ".join(others)}


def _text(value: float | str | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:g}"
