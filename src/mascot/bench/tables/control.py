"""The effect of the parameters: PRS and monotonicity, sensitivity sweeps, fixed recall, protected results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mascot import metrics
from mascot.bench import naming
from mascot.bench.averages import RunResults, average, summary, wished_diversity
from mascot.bench.published import Published
from mascot.bench.tables.comparison import OURS, PAPER
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, Value, sections, table

SWEEPS = {
    "strength": "strength",
    "sigma_geo": "σ geo (degrees)",
    "sigma_time": "σ time (hours)",
    "grid": "grid cells a side",
}
FLOORS = (0.95, 0.90, 0.85)
# Studies whose records are operating points of the same problem.
_POINTS = ("main", "strength", "sigma_geo", "sigma_time", "grid", "protect")


def preference(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield PRS as published, and Kendall's tau of strength against diversity, from the strength sweeps."""
    sweep = results.where(study="strength").preferred()
    fixed = results.where(study="prs")  # as the released study: with the same bins for all tasks
    swept = tuple(r for r in sweep.records if not fixed.where(label=r["label"], task=r["task"]))
    sweep = replace(sweep, records=(*swept, *fixed.records))
    comparable = len({len(sweep.where(label=label).values) for label in sweep.names("label")}) == 1

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        for label in part.names("label"):
            runs = part.where(label=label)
            prs, tau = (average(reflection(run)[which] for run in runs.by_seed()) for which in (0, 1))
            steps = None if comparable else float(len(runs.values))
            yield TableRow(
                naming.method(label), (prs, tau, steps, published.prs(task, direction, naming.origin(label)))
            )

    columns = (
        Column("PRS", OURS, ranked=comparable),
        Column("tau", OURS, ranked=comparable),
        Column("steps", OURS, digits=0),
        Column("PRS", PAPER, ranked=True),
    )
    notes = (
        "PRS sees only the first and the last strength and the extremes; "
        "tau is Kendall's tau of strength against the wished diversity over all steps.",
        *(() if comparable else ("Ours are not ranked: sweeps of unlike steps do not compare.",)),
    )
    yield from table(sweep, "prs", "Preference reflection", columns, sections(sweep, rows), notes)


def reflection(run: RunResults) -> tuple[float | None, float | None]:
    """Return PRS and tau of one seed's sweep."""
    steps = [(value, run.where(value=value).average(wished_diversity)) for value in run.values]
    pairs = [(value, step.value) for value, step in steps if step is not None]
    if len(pairs) < 2:
        return None, None
    strengths, diversity = zip(*pairs, strict=True)
    return metrics.prs(diversity), metrics.kendall_tau(strengths, diversity)


def sweeps(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield R@10 (or MAP) as one parameter changes, beside the published values, or beside DM where there are none."""
    for study, stub in SWEEPS.items():
        sweep = results.where(study=study).preferred()
        labels = sweep.names("label")
        for label in sorted(labels, key=lambda name: name != "mascot"):  # the paper's own subject first
            yield _sweep(sweep.where(label=label), published, study, stub, label)


def _sweep(sweep: RunResults, published: Published, study: str, stub: str, label: str) -> ResultTable:
    cases = [(task, d) for task in sweep.names("task") for d in sweep.where(task=task).names("direction")]
    printed = {case: published.sweep(study, *case, label) for case in cases}
    names = ("ours", "publ.") if any(printed.values()) else (sweep.retrieval.upper(), "DM")
    columns = [Column(name, f"{naming.task(task)} {direction}") for task, direction in cases for name in names]
    rows = []
    for value in sweep.values:
        cells: list[Value] = []
        bold = set()
        for task, direction in cases:
            runs = sweep.where(task=task, direction=direction, value=value)
            cells.append(runs.average(summary(sweep.retrieval)))
            cells.append(
                printed[task, direction].get(round(value, 6)) if any(printed.values()) else runs.average(summary("dm"))
            )
            point = published.operating_point(task, direction, label) or {}
            # The paper's grid was 20 cells a side throughout.
            if printed[task, direction] and round(value, 6) == (20 if study == "grid" else point.get(study)):
                bold |= {len(cells) - 2, len(cells) - 1}
        rows.append(TableRow(f"{value:g}", tuple(cells), bold=frozenset(bold)))
    return ResultTable(
        sweep.dataset,
        f"{study}-{naming.key(label)}",
        f"{naming.method(label)}{' R@10' if any(printed.values()) else ''} as {stub} changes",
        sweep.setting,
        stub,
        tuple(columns),
        (Section("", tuple(rows)),),
        ("* the published operating point.",) if any(row.bold for row in rows) else (),
        seeds=len(sweep.seeds),
    )


def fixed_recall(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the best DM of a method at a floor on R@10, over every setting that was run on the test queries."""
    points = all_points(results)

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        for label in part.names("label"):
            printed = published.fixed_recall(task, direction, naming.origin(label)).values()
            paper: list[Value] = ["none" if value is None else value for value in printed] or [None] * len(FLOORS)
            yield TableRow(
                naming.method(label), (*fronts(part.where(label=label)), *paper), ranked=label != naming.BASE
            )

    title = f"Best DM at a floor on {results.retrieval.upper()}"
    columns = [Column(f"≥ {floor:.2f}", group, ranked=True) for group in (OURS, PAPER) for floor in FLOORS]
    note = (
        "None: no setting meets the floor in every seed. Settings are all test runs, the sweeps included: who was run "
        "with more of them is favoured."
    )
    yield from table(points, "fixed-recall", title, columns, sections(points, rows, ("spread", "focus")), (note,))


def all_points(results: RunResults) -> RunResults:
    """Return every setting of every method, with the same queries and number of results."""
    return RunResults(results.dataset, tuple(r for r in results.records if r["study"] in _POINTS))


def fronts(results: RunResults) -> list[Value]:
    """Return the mean over seeds of the best DM at each floor, where every seed has one."""
    fronts = []
    for run in results.by_seed():
        pairs = [(summary(results.retrieval)(record), summary("dm")(record)) for record in run.records]
        present = [(recall, dm) for recall, dm in pairs if recall is not None and dm is not None]
        if present:
            recalls, diversities = zip(*present, strict=True)
            fronts.append(metrics.fixed_recall_front(recalls, diversities, FLOORS))
    best: list[Value] = []
    for reached in zip(*fronts, strict=True):
        values = [point.diversity for point in reached if point is not None]
        best.append(average(values) if len(values) == len(reached) else "none")
    return best or [None] * len(FLOORS)


def protection(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the measures by the number of protected results."""
    study = results.where(study="protect").preferred()
    base = results.where(study="main", label=naming.BASE).preferred()
    keys = ("r@1", results.retrieval, "dm", "hm", "kept")

    def rows(task: str, direction: str, part: RunResults) -> Iterator[TableRow]:
        plain = base.where(direction=direction, task=task)
        yield TableRow("base", tuple(plain.average(summary(key)) for key in keys), ranked=False)
        for value in part.values:
            yield TableRow(f"{value:g}", tuple(part.where(value=value).average(summary(key)) for key in keys))

    columns = [Column("kept" if key == "kept" else key.upper(), ranked=key == "hm") for key in keys]
    for label in study.names("label"):
        title = f"{naming.method(label)} as the number of protected results changes"
        parts = sections(study.where(label=label), rows)
        yield from table(study, f"protect-{naming.key(label)}", title, columns, parts, stub="protect")
