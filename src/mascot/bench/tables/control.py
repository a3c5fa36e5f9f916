"""What the knobs do: PRS and monotonicity, the sensitivity sweeps, fixed recall, the protected head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mascot import metrics
from mascot.bench import naming
from mascot.bench.averages import Results, average, summary, wished_diversity
from mascot.bench.published import Published
from mascot.bench.tables.comparison import OURS, PAPER
from mascot.bench.tables.grid import Column, Row, Section, Table, Value

SWEEPS = {
    "strength": "strength",
    "sigma_geo": "σ geo (degrees)",
    "sigma_time": "σ time (hours)",
    "grid": "grid cells a side",
}
FLOORS = (0.95, 0.90, 0.85)
# Studies whose records are operating points of the same problem.
_POINTS = ("main", "strength", "sigma_geo", "sigma_time", "grid", "protect")


def preference(results: Results, published: Published) -> Iterator[Table]:
    """PRS as published, and Kendall's tau of strength against diversity, from the strength sweeps."""
    sweep = results.where(study="strength").preferred()
    fixed = results.where(study="prs")  # as the released study: with the same bins for all tasks
    swept = tuple(r for r in sweep.records if not fixed.where(label=r["label"], task=r["task"]))
    sweep = replace(sweep, records=(*swept, *fixed.records))
    sections = []
    alike = len({len(sweep.where(label=label).values) for label in sweep.names("label")}) == 1
    for direction in sweep.names("direction"):
        for task in sweep.where(direction=direction).names("task"):
            found = sweep.where(direction=direction, task=task)
            rows = []
            for label in found.names("label"):
                runs = found.where(label=label)
                prs, tau = (average(reflection(run)[which] for run in runs.by_seed()) for which in (0, 1))
                steps = None if alike else float(len(runs.values))
                said = published.prs(task, direction, naming.origin(label))
                rows.append(Row(naming.method(label), (prs, tau, steps, said)))
            sections.append(Section(f"{direction}, {naming.task(task)}", tuple(rows)))
    if sections:
        yield Table(
            results.dataset,
            "prs",
            "Preference reflection",
            sweep.setting,
            "method",
            (
                Column("PRS", OURS, ranked=alike),
                Column("tau", OURS, ranked=alike),
                Column("steps", OURS, digits=0),
                Column("PRS", PAPER, ranked=True),
            ),
            tuple(sections),
            (
                "PRS sees only the first and the last strength and the extremes; "
                "tau is Kendall's tau of strength against the wished diversity over all steps.",
                *(() if alike else ("Ours are not ranked: sweeps of unlike steps do not compare.",)),
            ),
            seeds=len(sweep.seeds),
        )


def reflection(run: Results) -> tuple[float | None, float | None]:
    """PRS and tau of one seed's sweep."""
    steps = [(value, run.where(value=value).average(wished_diversity)) for value in run.values]
    known = [(value, step.value) for value, step in steps if step is not None]
    if len(known) < 2:
        return None, None
    strengths, diversity = zip(*known, strict=True)
    return metrics.prs(diversity), metrics.kendall_tau(strengths, diversity)


def sweeps(results: Results, published: Published) -> Iterator[Table]:
    """R@10 (or MAP) as one parameter changes: beside the published, or beside DM where nothing was published."""
    for study, stub in SWEEPS.items():
        sweep = results.where(study=study).preferred()
        labels = sweep.names("label")
        for label in sorted(labels, key=lambda name: name != "mascot"):  # the paper's own subject first
            yield _sweep(sweep.where(label=label), published, study, stub, label)


def _sweep(found: Results, published: Published, study: str, stub: str, label: str) -> Table:
    cases = [(task, d) for task in found.names("task") for d in found.where(task=task).names("direction")]
    said = {case: published.sweep(study, *case, label) for case in cases}
    names = ("ours", "publ.") if any(said.values()) else (found.retrieval.upper(), "DM")
    columns = [Column(name, f"{naming.task(task)} {direction}") for task, direction in cases for name in names]
    rows = []
    for value in found.values:
        cells: list[Value] = []
        bold = set()
        for task, direction in cases:
            runs = found.where(task=task, direction=direction, value=value)
            cells.append(runs.average(summary(found.retrieval)))
            cells.append(
                said[task, direction].get(round(value, 6)) if any(said.values()) else runs.average(summary("dm"))
            )
            point = published.operating_point(task, direction, label) or {}
            # The paper's grid was 20 cells a side throughout.
            if said[task, direction] and round(value, 6) == (20 if study == "grid" else point.get(study)):
                bold |= {len(cells) - 2, len(cells) - 1}
        rows.append(Row(f"{value:g}", tuple(cells), bold=frozenset(bold)))
    return Table(
        found.dataset,
        f"{study}-{naming.key(label)}",
        f"{naming.method(label)}{' R@10' if any(said.values()) else ''} as {stub} changes",
        found.setting,
        stub,
        tuple(columns),
        (Section("", tuple(rows)),),
        ("* the published operating point.",) if any(row.bold for row in rows) else (),
        seeds=len(found.seeds),
    )


def fixed_recall(results: Results, published: Published) -> Iterator[Table]:
    """Best DM a method offers at a floor on R@10, over every setting that was run on the test queries."""
    sections = []
    points = all_points(results)
    for direction in (d for d in points.names("direction") if d in ("spread", "focus")):
        for task in points.where(direction=direction).names("task"):
            found = points.where(direction=direction, task=task)
            rows = []
            for label in found.names("label"):
                said = published.fixed_recall(task, direction, naming.origin(label))
                ours = fronts(found.where(label=label))
                paper: list[Value] = ["none" if value is None else value for value in said.values()]
                paper = paper or [None] * len(FLOORS)
                cells = (*ours, *paper)
                rows.append(Row(naming.method(label), cells, ranked=label != naming.BASE))
            sections.append(Section(f"{direction}, {naming.task(task)}", tuple(rows)))
    if sections:
        yield Table(
            results.dataset,
            "fixed-recall",
            f"Best DM at a floor on {results.retrieval.upper()}",
            points.setting,
            "method",
            tuple(Column(f"≥ {floor:.2f}", group, ranked=True) for group in (OURS, PAPER) for floor in FLOORS),
            tuple(sections),
            (
                "None: no setting meets the floor in every seed. Settings are all test runs, the sweeps included: who "
                "was run with more of them is favoured.",
            ),
            seeds=len(points.seeds),
        )


def all_points(results: Results) -> Results:
    """Every setting of every method that was asked the same queries for as many results."""
    return Results(results.dataset, tuple(r for r in results.records if r["study"] in _POINTS))


def fronts(found: Results) -> list[Value]:
    """The mean over seeds of the best DM at each floor, where every seed has one."""
    fronts = []
    for run in found.by_seed():
        pairs = [(summary(found.retrieval)(record), summary("dm")(record)) for record in run.records]
        known = [(recall, dm) for recall, dm in pairs if recall is not None and dm is not None]
        if known:
            recalls, diversities = zip(*known, strict=True)
            fronts.append(metrics.fixed_recall_front(recalls, diversities, FLOORS))
    best: list[Value] = []
    for reached in zip(*fronts, strict=True):
        values = [point.diversity for point in reached if point is not None]
        best.append(average(values) if len(values) == len(reached) else "none")
    return best or [None] * len(FLOORS)


def protection(results: Results, published: Published) -> Iterator[Table]:
    """How many results to protect: what the head keeps, and what is left to steer."""
    study = results.where(study="protect").preferred()
    base = results.where(study="main", label=naming.BASE).preferred()
    keys = ("r@1", results.retrieval, "dm", "hm", "kept")
    for label in study.names("label"):
        sections = []
        for direction in study.where(label=label).names("direction"):
            for task in study.where(label=label, direction=direction).names("task"):
                found = study.where(label=label, direction=direction, task=task)
                plain = base.where(direction=direction, task=task)
                rows = [Row("base", tuple(plain.average(summary(key)) for key in keys), ranked=False)]
                for value in found.values:
                    runs = found.where(value=value)
                    rows.append(Row(f"{value:g}", tuple(runs.average(summary(key)) for key in keys)))
                sections.append(Section(f"{direction}, {naming.task(task)}", tuple(rows)))
        yield Table(
            results.dataset,
            f"protect-{naming.key(label)}",
            f"{naming.method(label)} as the number of protected results changes",
            study.setting,
            "protect",
            tuple(Column("kept" if key == "kept" else key.upper(), ranked=key == "hm") for key in keys),
            tuple(sections),
            seeds=len(study.seeds),
        )
