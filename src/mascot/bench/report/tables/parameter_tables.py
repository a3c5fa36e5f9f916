"""The effect of the parameters: PRS and monotonicity, sensitivity sweeps, fixed recall, protected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from mascot import metrics
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.run_results import RunResults, means, reflection
from mascot.bench.report.tables import result_table
from mascot.bench.report.tables.result_table import LEVELS, OURS, PAPER, Column, ResultTable

SWEEPS = {
    "strength": "strength",
    "sigma_geo": "σ geo (degrees)",
    "sigma_time": "σ time (hours)",
    "grid": "grid cells per side",
}
FLOORS = [0.95, 0.90, 0.85]
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
