"""The effect of the parameters: PRS and monotonicity, sensitivity sweeps, fixed recall, protected results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mascot import metrics
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.averages import RunResults, average, summary, wished_diversity
from mascot.bench.report.tables import table_model
from mascot.bench.report.tables.table_model import OURS, PAPER, Column, ResultTable, Section, TableRow, Value

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
        *table_model.printed(("prs",), published.prs, ("prs",)),
    )
    notes = (
        "PRS sees only the first and the last strength and the extremes; "
        "tau is Kendall's tau of strength against the wished diversity over all steps.",
        *(() if comparable else ("Ours are not ranked: sweeps of unlike steps do not compare.",)),
    )
    yield table_model.table(sweep, "prs", "Preference reflection", columns, notes)


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
    paper = {case: published.sweep(study, *case, label) for case in cases}
    is_printed = any(paper.values())
    names = ("ours", "publ.") if is_printed else (sweep.retrieval.upper(), "DM")
    groups = {case: f"{naming.task(case[0])} {case[1]}" for case in cases}
    columns = [Column(name, group) for group in groups.values() for name in names]
    rows = []
    for value, part in sweep.split("value"):
        cells: list[Value] = []
        bold: set[str] = set()
        for case, group in groups.items():
            runs, at = part.where(task=case[0], direction=case[1]), round(value, 6)
            cells.append(runs.average(summary(sweep.retrieval)))
            cells.append(paper[case].get(at) if is_printed else runs.average(summary("dm")))
            # The paper's grid was 20 cells a side throughout.
            point = 20 if study == "grid" else published.operating_point(*case, label).get(study)
            bold |= {group} if paper[case] and at == point else set()
        rows.append(TableRow(f"{value:g}", tuple(cells), bold=frozenset(bold)))
    key = f"{study}-{label}".replace(" ", "-")
    title = f"{naming.method(label)}{' R@10' if is_printed else ''} as {stub} changes"
    notes = ["* the published operating point."] if any(row.bold for row in rows) else []
    return table_model.table(sweep, key, title, columns, notes, [Section("", tuple(rows))], stub)


def fixed_recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the best DM of a method at a floor on R@10, over every setting that was run on the test queries."""
    points = all_points(results)

    def rows(part: RunResults) -> Iterator[TableRow]:
        for label, runs in part.split("label"):
            paper = published.fixed_recall(*runs.case)
            cells = ["none" if floor in paper and paper[floor] is None else paper.get(floor) for floor in FLOORS]
            yield TableRow(naming.method(label), (*fronts(runs), *cells), ranked=label != naming.BASE)

    title = f"Best DM at a floor on {results.retrieval.upper()}"
    columns = [Column(f"≥ {floor:.2f}", group, ranked=True) for group in (OURS, PAPER) for floor in FLOORS]
    note = (
        "None: no setting meets the floor in every seed. Settings are all test runs, the sweeps included: who was run "
        "with more of them is favoured."
    )
    yield table_model.table(points, "fixed-recall", title, columns, (note,), table_model.sections(points, rows))


def all_points(results: RunResults) -> RunResults:
    """Return every setting of every method, with the same queries and number of results."""
    return results.filter(lambda record: record["study"] in ("main", *SWEEPS, "protect"))


def fronts(results: RunResults) -> list[Value]:
    """Return the mean over seeds of the best DM at each floor, where every seed has one."""
    fronts = []
    for _, run in results.split("seed"):
        pairs = [[record["summary"].get(key) for key in (results.retrieval, "dm")] for record in run.records]
        if present := [pair for pair in pairs if None not in pair]:
            recalls, diversities = zip(*present, strict=True)
            fronts.append(metrics.fixed_recall_front(recalls, diversities, FLOORS))
    best: list[Value] = []
    for reached in zip(*fronts, strict=True):
        best.append("none" if None in reached else average(point.diversity for point in reached))
    return best or [None] * len(FLOORS)


def protection(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the measures by the number of protected results."""
    study = results.where(study="protect").preferred()
    base = results.where(study="main", label=naming.BASE).preferred()
    columns = table_model.means(("r@1", results.retrieval, "dm", "hm", "kept"), "", ranked=("hm",))

    def rows(part: RunResults) -> Iterator[TableRow]:
        task, direction, _ = part.case
        plain = base.where(direction=direction, task=task)
        yield table_model.row("base", plain, columns, ranked=False)
        for value, runs in part.split("value"):
            yield table_model.row(f"{value:g}", runs, columns)

    for label, runs in study.split("label"):
        title = f"{naming.method(label)} as the number of protected results changes"
        key = f"protect-{label}".replace(" ", "-")
        yield table_model.table(study, key, title, columns, (), table_model.sections(runs, rows), "protect")
