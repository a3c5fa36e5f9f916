"""The effect of the parameters: PRS and monotonicity, sensitivity sweeps, fixed recall, protected results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mascot import metrics
from mascot.bench import naming
from mascot.bench.averages import RunResults, average, summary, wished_diversity
from mascot.bench.published import Published
from mascot.bench.tables.grid import OURS, PAPER, Column, ResultTable, Section, TableRow, Value, means, sections, table

SWEEPS = {
    "strength": "strength",
    "sigma_geo": "σ geo (degrees)",
    "sigma_time": "σ time (hours)",
    "grid": "grid cells a side",
}
FLOORS = (0.95, 0.90, 0.85)


def preference(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield PRS as published, and Kendall's tau of strength against diversity, from the strength sweeps."""
    fixed = results.where(study="prs")  # as the released study: with the same bins for all tasks
    sweep = results.where(study="strength").preferred()
    owners = {(record["label"], record["task"]) for record in fixed.records}
    sweep = sweep.filter(lambda record: (record["label"], record["task"]) not in owners)
    sweep = replace(sweep, records=(*sweep.records, *fixed.records))
    comparable = len({len(runs.names("value")) for _, runs in sweep.split("label")}) == 1

    def steps(runs: RunResults) -> Value:
        return None if comparable else float(len(runs.names("value")))

    columns = (
        Column("PRS", OURS, lambda runs: reflection(runs, 0), ranked=comparable),
        Column("tau", OURS, lambda runs: reflection(runs, 1), ranked=comparable),
        Column("steps", OURS, steps, digits=0),
        Column("PRS", PAPER, lambda runs: published.prs(*runs.case), ranked=True),
    )
    notes = (
        "PRS sees only the first and the last strength and the extremes; "
        "tau is Kendall's tau of strength against the wished diversity over all steps.",
        *(() if comparable else ("Ours are not ranked: sweeps of unlike steps do not compare.",)),
    )
    yield table(sweep, "prs", "Preference reflection", columns, notes)


def reflection(sweep: RunResults, which: int) -> Value:
    """Return PRS (0) or tau (1) of each seed's sweep, averaged."""

    def of_seed(run: RunResults) -> float | None:
        steps = [(value, part.average(wished_diversity)) for value, part in run.split("value")]
        pairs = [(value, step.value) for value, step in steps if value is not None and step is not None]
        if len(pairs) < 2:
            return None
        strengths, diversity = zip(*pairs, strict=True)
        return metrics.kendall_tau(strengths, diversity) if which else metrics.prs(diversity)

    return average(of_seed(run) for _, run in sweep.split("seed"))


def sweeps(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@10 (or MAP) as one parameter changes, beside the published values, or beside DM where there are none."""
    for study, stub in SWEEPS.items():
        methods = list(results.where(study=study).preferred().split("label"))
        for label, sweep in sorted(methods, key=lambda pair: pair[0] != "mascot"):  # the paper's own subject first
            yield _sweep(sweep, published, study, stub, label)


def _sweep(sweep: RunResults, published: Published, study: str, stub: str, label: str) -> ResultTable:
    cases = [(task, direction) for task, direction, _ in sweep.split("task", "direction")]
    printed = {case: published.sweep(study, *case, label) for case in cases}
    is_printed = any(printed.values())
    names = ("ours", "publ.") if is_printed else (sweep.retrieval.upper(), "DM")
    columns = [Column(name, f"{naming.task(task)} {direction}") for task, direction in cases for name in names]
    # The paper's grid was 20 cells a side throughout.
    published_values = {
        case: 20 if study == "grid" else published.operating_point(*case, label).get(study) for case in cases
    }
    rows = []
    for value, part in sweep.split("value"):
        cells: list[Value] = []
        bold: set[int] = set()
        for case in cases:
            runs, at = part.where(task=case[0], direction=case[1]), round(value, 6)
            if printed[case] and at == published_values[case]:
                bold |= {len(cells), len(cells) + 1}
            cells.append(runs.average(summary(sweep.retrieval)))
            cells.append(printed[case].get(at) if is_printed else runs.average(summary("dm")))
        rows.append(TableRow(f"{value:g}", tuple(cells), bold=frozenset(bold)))
    key = f"{study}-{naming.key(label)}"
    title = f"{naming.method(label)}{' R@10' if is_printed else ''} as {stub} changes"
    notes = ["* the published operating point."] if any(row.bold for row in rows) else []
    return table(sweep, key, title, columns, notes, [Section("", tuple(rows))], stub)


def fixed_recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the best DM of a method at a floor on R@10, over every setting that was run on the test queries."""
    points = all_points(results)

    def rows(part: RunResults) -> Iterator[TableRow]:
        for label, runs in part.split("label"):
            printed = published.fixed_recall(*runs.case).values()
            paper: list[Value] = ["none" if value is None else value for value in printed] or [None] * len(FLOORS)
            yield TableRow(naming.method(label), (*fronts(runs), *paper), ranked=label != naming.BASE)

    title = f"Best DM at a floor on {results.retrieval.upper()}"
    columns = [Column(f"≥ {floor:.2f}", group, ranked=True) for group in (OURS, PAPER) for floor in FLOORS]
    note = (
        "None: no setting meets the floor in every seed. Settings are all test runs, the sweeps included: who was run "
        "with more of them is favoured."
    )
    yield table(points, "fixed-recall", title, columns, (note,), sections(points, rows))


def all_points(results: RunResults) -> RunResults:
    """Return every setting of every method, with the same queries and number of results."""
    return results.filter(lambda record: record["study"] in ("main", *SWEEPS, "protect"))


def fronts(results: RunResults) -> list[Value]:
    """Return the mean over seeds of the best DM at each floor, where every seed has one."""
    fronts = []
    for _, run in results.split("seed"):
        pairs = [(summary(results.retrieval)(record), summary("dm")(record)) for record in run.records]
        present = [(recall, dm) for recall, dm in pairs if recall is not None and dm is not None]
        if present:
            fronts.append(metrics.fixed_recall_front(*zip(*present, strict=True), FLOORS))
    best: list[Value] = []
    for reached in zip(*fronts, strict=True):
        values = [point.diversity for point in reached if point is not None]
        best.append(average(values) if len(values) == len(reached) else "none")
    return best or [None] * len(FLOORS)


def protection(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the measures by the number of protected results."""
    study = results.where(study="protect").preferred()
    base = results.where(study="main", label=naming.BASE).preferred()
    columns = means(("r@1", results.retrieval, "dm", "hm", "kept"), "", ranked=("hm",))

    def rows(part: RunResults) -> Iterator[TableRow]:
        task, direction, _ = part.case
        plain = base.where(direction=direction, task=task)
        yield TableRow("base", tuple(column.cell(plain) for column in columns), ranked=False)
        for value, runs in part.split("value"):
            yield TableRow(f"{value:g}", tuple(column.cell(runs) for column in columns))

    for label, runs in study.split("label"):
        title = f"{naming.method(label)} as the number of protected results changes"
        yield table(study, f"protect-{naming.key(label)}", title, columns, (), sections(runs, rows), "protect")
