"""`mascot bench`: run a benchmark, and make tables, figures and comparisons of its results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mascot.bench import compare as comparing
from mascot.bench import suites
from mascot.bench.experiment import Crew, Suite
from mascot.bench.experiment import run as run_suite
from mascot.bench.grid import LABELS
from mascot.bench.results import read
from mascot.errors import InputError, MascotError, OptionError
from mascot.scale.words import Ray, TakesRay

_REFUSED = 2
_DIV400 = Path("..") / "shared" / "data" / "div400"

bench = typer.Typer(
    name="bench",
    help="Compare the methods on a dataset: run, then tables, figures, compare.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class TableFormat(str, Enum):
    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class CompareFormat(str, Enum):
    text = "text"
    markdown = "markdown"
    csv = "csv"


_Results = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run's results.")]


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """What the library refuses becomes one line and an exit code."""
    try:
        yield
    except MascotError as error:
        print("mascot: " + " ".join(str(error).split()), file=sys.stderr)
        raise typer.Exit(_REFUSED) from None


@bench.command(cls=TakesRay)
def run(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="pixelprose-sim, div400, or an npz or Parquet file.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the results go; a killed run resumes there.")
    ],
    data: Annotated[Path | None, typer.Option(metavar="PATH", help="The files of div400.")] = None,
    methods: Annotated[str | None, typer.Option(metavar="NAMES", help="Some methods, with commas between.")] = None,
    tasks: Annotated[str | None, typer.Option(metavar="NAMES", help="Some tasks, with commas between.")] = None,
    seeds: Annotated[str, typer.Option(metavar="NUMBERS", help="Seeds of the simulated data.")] = "0,1,2",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; all cores unless given.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few queries and one seed: minutes, and rough numbers.")
    ] = False,
    ray: Ray = None,
) -> None:
    """Search on the validation queries, measure on the test queries, and keep every number."""
    with _one_line_errors():
        suite = _suite(dataset, data, methods, tasks, seeds, quick)
        with _progress() as report:
            records = run_suite(suite, out, jobs, report, None if ray is None else _crew(ray, jobs))
    print(f"{len(records)} points in {out}; next: mascot bench tables {out}")


def _crew(address: str, jobs: int | None) -> Crew:
    from mascot.scale.benchmarking import RayCrew

    return RayCrew(address, jobs)


@bench.command()
def tables(
    results: _Results,
    format: Annotated[TableFormat, typer.Option(help="How the tables are written.")] = TableFormat.text,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="A file or folder; printed without.")
    ] = None,
) -> None:
    """Every table of the paper, ours beside the published."""
    from mascot.bench import tables as made

    with _one_line_errors():
        written = made.write(results, format.value, out)
    if out is None:
        print(written)


@bench.command()
def figures(
    results: _Results,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the figures go.")] = Path("figures"),
) -> None:
    """Every figure of the paper, drawn from the results."""
    from mascot.bench import figures as made
    from mascot.bench.datasets.pixelprose_sim import PixelProseSim

    with _one_line_errors():
        simulated = next((r for r in read(results) if r["dataset"] == "pixelprose-sim"), None)
        dataset = PixelProseSim(seed=simulated["seed"]).load() if simulated else None
        drawn = made.draw(results, out, dataset, caption="city" if dataset else None)
    for name, note in drawn.notes:
        print(f"{name}: {note}")
    print(f"{len(drawn.files)} files in {out}")


@bench.command()
def compare(
    results: _Results,
    format: Annotated[CompareFormat, typer.Option(help="How the comparison is written.")] = CompareFormat.text,
) -> None:
    """Ours (the mean of the seeds), the published number, and the difference."""
    with _one_line_errors():
        print(comparing.compare(results, format.value), end="")


def _suite(
    dataset: str, data: Path | None, methods: str | None, tasks: str | None, seeds: str, quick: bool
) -> Suite:  # fmt: skip
    labels = _some("method", methods, LABELS)
    if dataset == "pixelprose-sim":
        known = {task.name: task for task in suites.PIXELPROSE_TASKS}
        asked = [known[name] for name in _some("task", tasks, list(known))]
        numbers = _numbers(seeds)
        return suites.pixelprose(numbers[:1] if quick else numbers, labels, asked, quick)
    if dataset == "div400":
        where = data or _DIV400
        if not where.is_dir():
            raise InputError(
                f"{where}: no such folder; div400 needs --data PATH, the folder with photos.jsonl.gz, topics.json.gz "
                "and descriptors.npz of MediaEval 2013"
            )
        extra = _some("method", methods, [*suites.DIV400_LABELS])
        return suites.div400(where, extra)
    path = Path(dataset)
    if path.suffix not in (".npz", ".parquet"):
        raise InputError(f"DATASET must be pixelprose-sim, div400, or a file .npz or .parquet, got {dataset!r}")
    suite = suites.arrays(path, labels, quick)
    named = {task.name: task for task in suite.plan.tasks}
    return suites.only(suite, [named[name] for name in _some("task", tasks, list(named))])


def _some(kind: str, given: str | None, known: Sequence[str]) -> list[str]:
    """The names in a list with commas, checked; all that are known where nothing is given."""
    if given is None:
        return list(known)
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise OptionError(f"{kind} must be one of {', '.join(known)}, got {name!r}")
    return names or list(known)


def _numbers(given: str) -> list[int]:
    try:
        numbers = [int(part) for part in given.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 0:
        raise OptionError(f"--seeds must be whole numbers >= 0 with commas between, got {given!r}")
    return numbers


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description:<7}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bars = {stage: progress.add_task(stage, total=None) for stage in ("search", "test")}

        def report(stage: str, done: int, total: int) -> None:
            progress.update(bars[stage], completed=done, total=total)

        yield report
