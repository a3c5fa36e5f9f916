"""Compare the methods on a dataset: run, then tables, figures, compare; prepare and encode make datasets."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import typer
from typer.core import TyperGroup

from mascot.bench.datasets.arrays import Arrays
from mascot.bench.datasets.folder import Folder, read_folder
from mascot.bench.prepare.outcomes import step_line
from mascot.bench.protocol import presets
from mascot.bench.protocol.search_space import LABELS, own_spaces
from mascot.bench.protocol.studies import Benchmark
from mascot.bench.protocol.tasks import BenchTask
from mascot.bench.running.records import read, run_info
from mascot.bench.running.run import run as run_benchmark
from mascot.cli.command_group import STYLE
from mascot.cli.printing import progress_bar
from mascot.errors import InputError, Interrupted, OptionError, require

_RESUMABLE = ("run", "prepare", "encode")
_DIV400 = "MASCOT_DIV400"  # the environment variable
_FILES = (".npz", ".parquet")


class _BenchGroup(TyperGroup):
    """Describe commands without cutting the sentences, and say after Ctrl-C how to continue."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in self.commands.items()])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if ctx.invoked_subcommand not in _RESUMABLE:
                raise
            raise Interrupted(f"stopped; the same mascot bench {ctx.invoked_subcommand} resumes it") from None


bench = typer.Typer(cls=_BenchGroup, name="bench", help=__doc__, no_args_is_help=True, **STYLE)


def _comma_list(content: str, default: str, metavar: str = "NAMES") -> Any:
    return typer.Option(None, metavar=metavar, help=f"{content}, separated by commas (default: {default}).")


_RESULTS = typer.Argument(metavar="DIR", help="The folder of a run's results.")
_AS = typer.Option(
    "published", "--as", help="Repeat the released study exactly, or correct its mistakes; see docs/reproduce.md."
)


@bench.command()
def run(
    dataset: str = typer.Argument(
        metavar="DATASET", help="pixelprose-sim, div400, an npz or Parquet file, or an encoded folder."
    ),
    out: Path = typer.Option(metavar="DIR", help="Folder for the results; a stopped run resumes there."),
    data: Path | None = typer.Option(
        None, metavar="PATH", help=f"Folder of the files of div400 (default: ${_DIV400})."
    ),
    model: str | None = typer.Option(
        None, metavar="NAME", help="Model whose vectors are used, if several models encoded the folder."
    ),
    methods: str | None = _comma_list("Methods", "all"),
    method: list[str] | None = typer.Option(
        None, metavar="MODULE:CLASS", help="A further method: xquad, pm-2, ia-select, or a class; LABEL=MODULE:CLASS."
    ),
    grid: list[str] | None = typer.Option(
        None, metavar="NAME=VALUES", help="Values of a parameter of --method to search, separated by commas."
    ),
    tasks: str | None = _comma_list("Tasks", "all"),
    seeds: str | None = _comma_list("Seeds of the simulated data", "0,1,2", "NUMBERS"),
    jobs: int | None = typer.Option(None, min=1, help="Number of processes (default: all cores)."),
    quick: bool = typer.Option(
        False, "--quick", help="Run few queries, of seed 0 unless --seeds is set; takes minutes, numbers are rough."
    ),
    behaviour: Literal["published", "correct"] = _AS,
) -> None:
    """Choose settings on the validation queries, measure on the test queries, and store every number."""
    benchmark = _benchmark(dataset, data, model, methods, tasks, seeds, quick, behaviour)
    _import_from_here()
    benchmark = benchmark.with_own(own_spaces(method or (), grid or (), (*LABELS, *benchmark.labels)))
    with progress_bar(lines=True) as report:
        records = run_benchmark(benchmark, out, jobs, report)
    info = run_info(out)
    for note in () if info is None else info.notes:
        print(f"note: {note}")
    print(f"{len(records)} points in {out}; next: mascot bench tables {out}")


@bench.command()
def prepare(
    name: str = typer.Argument(metavar="NAME", help="pixelprose, visual-genome, incidents1m or skyscript."),
    out: Path | None = typer.Option(
        None, metavar="DIR", help="Folder for the dataset, required; a stopped preparation resumes there."
    ),
    limit: int | None = typer.Option(None, metavar="N", min=1, help="Largest number of images."),
    workers: int = typer.Option(8, metavar="N", min=1, help="Number of parallel requests."),
    seed: int = typer.Option(42, min=0, help="Seed of the split into validation and test."),
    images: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="List of the pictures of the test split, by uid, id or caption; see docs/reproduce.md.",
    ),
    source: list[str] | None = typer.Option(
        None, metavar="NAME=WHERE", help="Use another address or file for a source; ? lists them."
    ),
) -> None:
    """Download, filter and split one of the paper's datasets, and report what was lost and why."""
    from mascot.bench.prepare import recipes

    sources = recipes.sources_of(name)
    settings: dict[str, Any] = {"limit": limit, "workers": workers, "seed": seed, "pinned": images}
    for text in source or ():
        key, equals, value = map(str.strip, text.partition("="))
        if text == "?":
            print("\n".join(f"{key}={default or ' (not set)'}" for key, default in sources.items()))
            return
        if not equals or key not in sources:
            names = ", ".join(f"{key}={default}" for key, default in sources.items())
            raise OptionError(f"--source must be NAME=WHERE, got {text!r}; {name} has {names}")
        settings[key] = value
    if out is None:
        raise OptionError("prepare needs --out DIR, the folder for the dataset")
    with progress_bar(lines=True) as report:
        recipes.prepare(name, out, report=report, **settings)
    stored = read_folder(out)
    print(f"{stored.images} images, {stored.validation} of them for validation; {len(stored.queries)} queries in {out}")
    lines = [f"note: {note}" for note in stored.about.get("notes", ())]
    print("\n".join([*lines, *(f"  {step_line(step)}" for step in stored.about["steps"])]))
    print(f"more in {out / 'dataset.json'}; next: mascot bench encode {out} --model blip2")


@bench.command()
def encode(
    folder: Path = typer.Argument(metavar="DIR", help="A prepared folder."),
    model: str = typer.Option("blip2", metavar="NAME", help="blip2, clip (ViT-L/14), or blip2:MODEL, clip:MODEL."),
    device: str = typer.Option("auto", help="auto, cpu or cuda."),
    batch: int | None = typer.Option(None, metavar="N", min=1, help="Images or texts per batch."),
    candidates: int = typer.Option(200, metavar="N", min=1, help="Images in each query's list."),
    offline: bool = typer.Option(False, "--offline", help="Do not contact the model hub."),
    behaviour: Literal["published", "correct"] = _AS,
) -> None:
    """Encode the images and queries of a prepared folder, and list the best images of each query."""
    from mascot.bench.encode import encode as run_encode

    options: dict[str, Any] = {"behaviour": behaviour, "device": device, "batch": batch, "candidates": candidates}
    with progress_bar(lines=True) as report:
        where = run_encode(folder, model, **options, offline=offline, report=report)
    print(f"vectors in {where}; next: mascot bench run {folder} --out results")


@bench.command()
def tables(
    results: Path = _RESULTS,
    format: Literal["text", "markdown", "latex", "csv"] = typer.Option("text", help="Format of the tables."),
    out: str | None = typer.Option(None, metavar="PATH", help="A file, or a folder that ends with / (default: print)."),
    only: str | None = _comma_list("Tables, by name or prefix", "all"),
) -> None:
    """Print every table of the paper, with our numbers beside the published ones."""
    from mascot.bench.report import tables as tables_module

    text = tables_module.write(results, format, out, _names_in(only))
    if out is None:
        print(text)


@bench.command()
def figures(
    results: Path = _RESULTS,
    out: Path = typer.Option(Path("figures"), metavar="DIR", help="Folder for the figures."),
    data: Path | None = typer.Option(
        None, metavar="PATH", help="The encoded folder, npz or Parquet file, for the figure of one query."
    ),
    query: int | None = typer.Option(
        None, min=0, help="The query of that figure (default: the first whose best result is right)."
    ),
    methods: str | None = typer.Option(
        None, metavar="NAMES", help="Methods to draw, separated by commas (default: all)."
    ),
) -> None:
    """Draw every figure of the paper from the results."""
    from mascot.bench.datasets.pixelprose_sim import PixelProseSim
    from mascot.bench.report import figures as figures_module

    dataset, picture = None, None
    _import_from_here()
    if data is not None and data.is_dir():
        dataset, picture = Folder(data).load(), figures_module.pictures(data)
    elif data is not None:
        if data.suffix not in _FILES:
            raise InputError(f"--data must be an encoded folder or a file {' or '.join(_FILES)}, got {str(data)!r}")
        dataset = Arrays(data).load()
    elif simulated := next((record for record in read(results) if record["dataset"] == "pixelprose-sim"), None):
        dataset = PixelProseSim(seed=simulated["seed"]).load()
    drawing = figures_module.draw(results, out, dataset, query, picture, _names_in(methods))
    for name, note in drawing.notes:
        print(f"{name}: {note}")
    print(f"{len(drawing.files)} files in {out}")


@bench.command()
def compare(
    results: Path = _RESULTS,
    format: Literal["text", "markdown", "csv"] = typer.Option("text", help="Format of the comparison."),
) -> None:
    """Print our numbers (means over seeds), the published ones, and the differences."""
    from mascot.bench.report import compare as compare_module

    print(compare_module.compare(results, format), end="")


def _benchmark(
    dataset: str, data: Path | None, model: str | None, methods: str | None, tasks: str | None, seeds: str | None,
    quick: bool, behaviour: str = "published",
) -> Benchmark:  # fmt: skip
    path = Path(dataset)

    def labels(names: Sequence[str] = LABELS) -> list[str]:
        return _select_names("method", methods, names)

    if dataset == "pixelprose-sim":
        _refuse(dataset, {"--data": data, "--model": model})
        numbers = _numbers(seeds) if seeds is not None else presets.SEEDS[:1] if quick else presets.SEEDS
        benchmark = presets.pixelprose(numbers, labels(), quick=quick, behaviour=behaviour)
    elif dataset == "div400":
        _refuse(dataset, {"--model": model, "--seeds": seeds})
        if quick:
            raise OptionError("--quick must not be given with div400: all of its 57 topics are run, which are few")
        selected_tasks = _select_tasks(tasks, presets.DIV400_TASKS)
        return presets.div400(_div400(data), labels(presets.DIV400_LABELS), selected_tasks)
    elif path.is_dir():
        _refuse("a folder", {"--data": data, "--seeds": seeds})
        benchmark = presets.folder(path, model, labels(), quick, behaviour)
    elif path.suffix in _FILES:
        _refuse("a file", {"--data": data, "--model": model, "--seeds": seeds})
        benchmark = presets.arrays(path, labels(), quick)
    else:
        choices = f"pixelprose-sim, div400, a file {' or '.join(_FILES)}, or an encoded folder"
        raise InputError(f"DATASET must be {choices}, got {dataset!r}")
    return replace(benchmark, tasks=tuple(_select_tasks(tasks, benchmark.tasks)))


def _import_from_here() -> None:
    """Let the classes of --method be imported from the working directory, also by the workers."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _select_tasks(text: str | None, tasks: Sequence[BenchTask]) -> list[BenchTask]:
    by_name = {task.name: task for task in tasks}
    return [by_name[name] for name in _select_names("task", text, list(by_name))]


def _refuse(dataset: str, useless: dict[str, object]) -> None:
    """Refuse options that have no effect on this dataset."""
    for option, value in useless.items():
        if value is not None:
            raise OptionError(f"{option} must not be given with {dataset}: it has no effect there")


def _div400(data: Path | None) -> Path:
    default = os.environ.get(_DIV400)
    folder = data if data is not None else Path(default) if default else None
    if folder is not None and folder.is_dir():
        return folder
    raise InputError(
        f"{'' if folder is None else f'{folder}: no such folder; '}div400 needs --data PATH (or {_DIV400} in the "
        "environment), the folder with photos.jsonl.gz, topics.json.gz and descriptors.npz of MediaEval 2013"
    )


def _select_names(kind: str, text: str | None, names: Sequence[str]) -> list[str]:
    """Return the checked names of a comma-separated list (default: all)."""
    selection = _names_in(text)
    for name in selection:
        require(name in names, kind, f"must be one of {', '.join(names)}", name)
    return selection or list(names)


def _names_in(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    numbers = [int(name) if name.isdecimal() else -1 for name in _names_in(text)]
    require(min(numbers, default=-1) >= 0, "--seeds", "must be whole numbers >= 0, separated by commas", text)
    return list(dict.fromkeys(numbers))
