"""Tables of the side studies: the effect of each parameter, mixed directions, clusters, the first result, time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from mascot.bench import metrics
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.run_results import DISPLACED, GAINS, RunResults, displaced, means, reflection
from mascot.bench.report.tables import result_table
from mascot.bench.report.tables.result_table import LEVELS, OURS, PAPER, Column, ResultTable

MIXED = ("r@10", "geo", "hour", "dm", "hm")
SWEEPS = {
    "strength": "strength",
    "sigma_geo": "σ geo (degrees)",
    "sigma_time": "σ time (hours)",
    "grid": "grid cells per side",
}
FLOORS = [0.95, 0.90, 0.85]
_FIRST = ("agrees", "r@1")
_ROW = [*LEVELS, "label"]


def preference(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield PRS as published, and Kendall's tau of strength against diversity, from the strength sweeps."""
    fixed = results.where(study="prs").frame  # as in the released code: with the same bins for all tasks
    sweep = results.where(study="strength").preferred()
    is_fixed = pd.MultiIndex.from_frame(sweep.frame[["label", "task"]]).isin(
        pd.MultiIndex.from_frame(fixed[["label", "task"]])
    )
    sweep = replace(sweep, frame=pd.concat([sweep.frame[~is_fixed], fixed]))
    comparable = sweep.frame.groupby("label", observed=True)["value"].nunique().nunique() == 1
    ranked = ("prs", "tau") if comparable else ()
    cells = result_table.labelled(reflection(sweep.frame, _ROW), OURS, ranked)
    if not comparable:
        cells[Column("steps", OURS, 0)] = sweep.frame.groupby(_ROW, observed=True)["value"].nunique().astype(float)
    cells = cells.join(result_table.printed(cells.index, ("prs",), published.row, ("prs",)))
    notes = (
        "PRS depends only on the first and the last strength and the extremes. "
        "Tau is Kendall's tau of strength against the wished diversity over all steps.",
        *(() if comparable else ("Our numbers are not ranked, because the sweeps have different steps.",)),
    )
    yield result_table.table(sweep, "prs", "Preference reflection", cells, notes)


def sweeps(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@10 (or MAP) as one parameter changes, beside the published values, or beside DM if there are none."""
    for study, stub in SWEEPS.items():
        methods = results.where(study=study).preferred().split("label")
        for label, sweep in sorted(methods, key=lambda pair: pair[0] != "mascot"):  # the paper's own subject first
            yield _sweep(sweep, published, study, stub, label)


def _sweep(sweep: RunResults, published: Published, study: str, stub: str, label: str) -> ResultTable:
    curves = means(sweep.frame, ["task", "direction", "value"], (sweep.retrieval, "dm"))
    cases: list[tuple[str, str]] = list(curves.index.droplevel("value").unique())
    paper = {case: published.sweep(study, *case, label) for case in cases}
    is_printed = any(paper.values())
    names = ("ours", "publ.") if is_printed else (sweep.retrieval.upper(), "DM")
    values = sweep.names("value")
    cells = pd.DataFrame(index=values)
    bold = set()
    for case in cases:
        group = f"{naming.display('task', case[0])} {case[1]}"
        curve = curves.loc[case]
        numbers = pd.Series(paper[case], dtype=object).reindex([round(value, 6) for value in values]).set_axis(values)
        cells[Column(names[0], group)] = curve[sweep.retrieval]
        cells[Column(names[1], group)] = numbers if is_printed else curve["dm"]
        # The paper's grid always had 20 cells per side.
        point = 20 if study == "grid" else published.operating_point(*case, label).get(study)
        bold |= {(f"{value:g}", group) for value in values if paper[case] and round(value, 6) == point}
    cells.index = pd.MultiIndex.from_product([[""], [f"{value:g}" for value in values]])
    key = f"{study}-{label}".replace(" ", "-")
    title = f"{naming.method(label)}{' R@10' if is_printed else ''} as {stub} changes"
    notes = ["* the published operating point."] if bold else []
    return result_table.table(sweep, key, title, cells, notes, stub, levels=None, bold=bold)


def fixed_recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the best DM of a method at a floor on R@10, over all settings of the test queries, and over the study's."""
    all_note = "The settings are all test runs, including the sweeps, which favours methods with more runs."
    released_note = (
        "The settings are those of the released study: MASCOT and Prob-Coverage at every strength with widths of 10 "
        "degrees and 1.5 hours and at their main points, and the search grid of MS-DPP+TN+TVMS."
    )
    yield _fronts_table(all_points(results), published, "fixed-recall", "", all_note)
    yield _fronts_table(released_points(results), published, "fixed-recall-published", ", as published", released_note)


def _fronts_table(points: RunResults, published: Published, key: str, suffix: str, note: str) -> ResultTable:
    reached = fronts(points.frame, _ROW, points.retrieval)
    rows = [published.fixed_recall(*result_table.case_of(_ROW, entry)) for entry in reached.index]
    paper = [["none" if floor in row and row[floor] is None else row.get(floor) for floor in FLOORS] for row in rows]
    cells = pd.concat([reached, pd.DataFrame(paper, reached.index, FLOORS, dtype=object)], axis=1)
    columns = [Column(f"≥ {floor:.2f}", group, ranked=True) for group in (OURS, PAPER) for floor in FLOORS]
    title = f"Best DM at a floor on {points.retrieval.upper()}{suffix}"
    sentence = f"None: no setting meets the floor in every seed. {note}"
    return result_table.table(points, key, title, cells.set_axis(columns, axis=1), (sentence,))


def all_points(results: RunResults) -> RunResults:
    """Return every setting of every method, with the same queries and number of results."""
    return results.filter(results.frame["study"].isin(["main", *SWEEPS, "protect"]))


def released_points(results: RunResults) -> RunResults:
    """Return the settings of the released fixed-recall table: its own study, and the main points of its methods."""
    study = results.where(study="fixed_recall")
    cases = pd.MultiIndex.from_frame(study.frame[_ROW])
    is_main = (results.frame["study"] == "main") & results.frame["point"].isin(["published", "inferred"])
    is_main &= pd.MultiIndex.from_frame(results.frame[_ROW]).isin(cases)
    return results.filter(is_main | (results.frame["study"] == "fixed_recall"))


def fronts(frame: pd.DataFrame, by: Sequence[str], retrieval: str) -> pd.DataFrame:
    """Return the mean over seeds of the best DM at each floor; "none" if a seed does not reach the floor."""

    def front(points: pd.DataFrame) -> pd.Series:
        reached = metrics.fixed_recall_front(points[retrieval], points["dm"], FLOORS)
        return pd.Series([point and point.diversity for point in reached], FLOORS, dtype=float)

    measured = frame.reindex(columns=[*by, "seed", retrieval, "dm"]).dropna(subset=[retrieval, "dm"])
    if measured.empty:
        return means(measured, by, FLOORS)
    seeds = measured.groupby([*by, "seed"], observed=True)[[retrieval, "dm"]].apply(front)
    missed = seeds.isna().groupby(level=list(by), observed=True).any()
    return means(seeds.reset_index(), by, FLOORS).mask(missed, "none")


def protection(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the measures by the number of protected results."""
    study = results.where(study="protect").preferred()
    base = results.where(study="main", label=naming.BASE).preferred().frame.assign(value=-1.0)
    keys = ("r@1", results.retrieval, "dm", "hm", "kept")

    def name(fields: Mapping[str, Any]) -> str:
        return "base" if fields["value"] < 0 else f"{fields['value']:g}"

    for label, runs in study.split("label"):
        cases = pd.MultiIndex.from_frame(runs.frame[list(LEVELS)])
        plain = base[pd.MultiIndex.from_frame(base[list(LEVELS)]).isin(cases)]
        frame = pd.concat([plain, runs.frame])
        cells = result_table.measured(frame, keys, "", ("hm",), by=[*LEVELS, "value"])
        title = f"{naming.method(label)} as the number of protected results changes"
        key = f"protect-{label}".replace(" ", "-")
        yield result_table.table(study, key, title, cells, stub="protect", name=name)


def mixed(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield one attribute spread while the other is focused."""
    study = results.where(study="mixed").preferred()
    cells = result_table.beside(study.frame, MIXED, published.row, ("hm",), digits=3)
    strengths = study.frame.assign(strength=[record["method"].get("strength") for record in study.records])
    values = strengths.dropna(subset="strength").groupby(_ROW, observed=True)["strength"].unique()
    ours = values.map(lambda column: " / ".join(f"{value:g}" for value in sorted(column)))
    paper = result_table.printed(cells.index, ("strength",), published.row).iloc[:, 0]
    cells.insert(0, Column("strength", OURS), ours)
    cells.insert(1 + len(MIXED), paper.name, paper.map(lambda value: value and f"{value:g}"))
    notes = [
        "V: normalised Vendi score of one attribute; geo is compared in degrees. "
        "DM combines both channels, neither inverted; HM combines R@10 and DM."
    ]
    if published.row("geo_hour", "geo+hour-", "ms-dpp"):
        notes.append("Published strengths are as printed; the one of MS-DPP appears to be its theta, 1 - strength.")
    yield result_table.table(study, "mixed", "Mixed directions", cells, notes, levels=("direction",))


def clusters(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield clusters of the image vectors as the attribute: nothing in the objective is about place or time.

    A method that protects all results is the base retriever, and is not shown beside it.
    """
    study = results.where(study="clusters").preferred()
    study = study.filter([(record["method"].get("protect") or 0) < record["k"] for record in study.records])
    cells = result_table.beside(study.frame, ("dm", results.retrieval, "hm"), published.row, ("hm",), digits=3)
    title = "Ten clusters of the image vectors as the attribute"
    yield result_table.table(study, "clusters", title, cells, levels=("direction",))


def first_gain(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the coverage gain of the first pick: it is not zero, so nothing guarantees the base's first result."""
    main = results.where(study="main").preferred()
    measured = main.frame.dropna(subset=[name for name in GAINS if name in main.frame])
    ours = [
        result_table.measured(measured, list(GAINS), digits=2),
        result_table.measured(measured, ["not 0, %"], digits=1),
    ]
    paper = result_table.printed(ours[0].index, list(GAINS), published.row, digits=2)
    cells = pd.concat([*ours, paper], axis=1)

    def name(fields: Mapping[str, Any]) -> str:
        return f"{naming.method(fields['label'])}, {naming.display('task', fields['task'])}"

    title = "Coverage gain of the first pick"
    yield result_table.table(main, "first-gain", title, cells, (), "method, task", ("direction",), name)


def top1(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield how often the first result is still the base's, and how often a displaced one left its bin."""
    main = results.where(study="main").preferred()
    parts = []
    for direction, runs in main.split("direction"):
        ours = result_table.measured(runs.frame, _FIRST)
        shares = result_table.labelled(displaced(runs.frame, _ROW), OURS, digits=1)
        paper = result_table.printed(ours.index, _FIRST, published.row)
        parts.append(result_table.headed(pd.concat([ours, shares, paper], axis=1)))
        changed = runs.filter(runs.frame["label"] != naming.BASE).frame
        totals = result_table.labelled(displaced(changed, ["label"]), OURS, digits=1)
        paper = [published.displaced(runs.where(label=label).names("task"), direction, label) for label in totals.index]
        for name in DISPLACED:
            totals[Column(name, PAPER, 1)] = [numbers.get(name) for numbers in paper]
        names = [(f"{direction}, all tasks", naming.method(label)) for label in totals.index]
        parts.append(totals.set_axis(pd.MultiIndex.from_tuples(names), axis=0) if names else totals.iloc[:0])
    note = (
        "Agrees: share of queries with the base's first result. Displaced: share of queries whose right first result "
        "was replaced. Other bin: share of these whose new first result is in another primary bin."
    )
    if parts:
        yield result_table.table(main, "top1", "The first result", pd.concat(parts), (note,), levels=None)


def runtime(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield milliseconds per query, asked one at a time and many at once."""
    study = results.where(study="runtime")
    times = means(study.frame, [*_ROW, "point"], ["ms"])["ms"].unstack("point")
    ways = [point for point in ("single", "batch", "") if point in times]
    cells = times[ways].set_axis([Column(point or "ms", OURS, 3) for point in ways], axis=1)
    cells[Column("A6000", PAPER, 2)] = [published.runtime(naming.origin(label)) for *_, label in cells.index]
    sequential = published.runtime("mascot", sequential=True)
    note = f"Published: RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised, sequential {sequential} ms."
    notes = () if sequential is None else (note,)
    yield result_table.table(study, "runtime", "Milliseconds per query", cells, notes)
