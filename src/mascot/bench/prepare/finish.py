"""The end of every recipe: split, tables, hashes, and the report of what was lost where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.files import replace_text
from mascot.bench.prepare import pictures, splits
from mascot.bench.prepare.common import Common
from mascot.bench.prepare.download import sha256
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.tally import Tally
from mascot.errors import InputError

_LEAST_IMAGES = 5  # with fewer there is no validation split
_HASHES, _REPORT = "images.sha256", "report.md"
_VERSIONS = ("mascot", "numpy", "pillow", "pyarrow")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a recipe found, in the order of its source.

    Parameters
    ----------
    columns
        One value for each image: ``id``, ``file`` and the rest.
    queries
        Their positives number the images as the columns have them.
    tallies
        What every step kept and lost.
    sources
        What was read: a name, and its address and SHA-256.
    least
        Positives that a query must have in each split; others are dropped, and counted.
    by_row
        Whether queries are brought into the order of the images they find; else they keep theirs.
    measure
        How well its queries are answered: ``"r@10"``, or ``"map"`` where they have many positives.
    """

    columns: Mapping[str, Sequence[Any]]
    queries: Sequence[Query]
    tallies: Sequence[Tally]
    sources: Mapping[str, Mapping[str, Any]]
    least: int = 0
    by_row: bool = False
    measure: str = "r@10"


def finish(out: Path, name: str, gathered: Gathered, common: Common) -> None:
    """Write the dataset `name` to the folder. Equal input gives equal bytes."""
    count = len(gathered.columns["id"])
    if count < _LEAST_IMAGES:
        losses = _losses(gathered.tallies)
        raise InputError(f"{name}: at least {_LEAST_IMAGES} images are needed for two splits, got {count}\n{losses}")
    rows = splits.order(count, common.seed)
    validation = splits.validation(count)
    columns = {column: [values[i] for i in rows] for column, values in gathered.columns.items()}
    asked = Tally("queries")
    queries = _queries(gathered, rows, validation, asked)
    if not queries:
        raise InputError(f"{name}: no query has {gathered.least} positives in each split of {count} images")
    hashes = [(sha256(out / file), file) for file in columns["file"]]
    _prune(out, set(columns["file"]))
    replace_text(out / _HASHES, "".join(f"{found}  {file}\n" for found, file in sorted(hashes, key=lambda h: h[1])))
    tallies = [*gathered.tallies, asked]
    about = {
        "recipe": name,
        "seed": common.seed,
        "measure": gathered.measure,
        "limit": common.limit,
        "sources": {source: dict(told) for source, told in gathered.sources.items()},
        "steps": [{key: told for key, told in tally.to_dict().items() if key != "examples"} for tally in tallies],
        "pictures": {"file": _HASHES, "sha256": sha256(out / _HASHES)},
        "versions": {package: version(package) for package in _VERSIONS},
    }
    write_folder(out, name, columns, validation, queries, about)
    replace_text(out / _REPORT, _told(name, count, validation, len(queries), gathered, tallies, common))


def _queries(gathered: Gathered, rows: np.ndarray[Any, Any], validation: int, asked: Tally) -> list[Query]:
    """The queries in terms of rows, without those that have too few positives in a split."""
    row_of = np.argsort(rows)
    moved = [Query(query.text, tuple(sorted(int(row_of[i]) for i in query.positives))) for query in gathered.queries]
    if gathered.by_row:
        moved.sort(key=lambda query: query.positives)
    kept = []
    for query in moved:
        early = sum(row < validation for row in query.positives)
        late = len(query.positives) - early
        if min(early, late) < gathered.least or not query.positives:
            asked.lose(Lost("few positives", f"{early} for validation, {late} for the test"), query.text[:60])
        else:
            asked.kept += 1
            kept.append(query)
    return kept


def _prune(out: Path, wanted: set[str]) -> None:
    """Remove pictures behind the limit, and what a kill left half written."""
    for path in sorted((out / pictures.FOLDER).rglob("*")):
        torn = path.name.startswith(".") and path.name.endswith(".part")
        if torn or (path.suffix == ".jpg" and path.relative_to(out).as_posix() not in wanted):
            path.unlink()


def _told(
    name: str,
    count: int,
    validation: int,
    queries: int,
    gathered: Gathered,
    tallies: Sequence[Tally],
    common: Common,
) -> str:
    """The report, in Markdown."""
    limit = "" if common.limit is None else f", the first {common.limit} by --limit"
    lines = [
        f"# {name}",
        "",
        f"{count} images{limit}: {validation} for validation, {count - validation} for the test (seed {common.seed}). "
        f"{queries} queries.",
        "",
        _losses(tallies),
    ]
    for tally in tallies:
        for reason, shown in sorted(tally.examples.items()):
            of = "" if len(shown) == tally.lost[reason] else f" (the first of {tally.lost[reason]})"
            lines += ["", f"## {tally.step}: {reason}{of}", ""]
            lines += [f"- {_line(example)}" for example in shown]
    lines += ["", "## Sources", ""]
    for source, told in gathered.sources.items():
        lines.append(f"- {source}: " + ", ".join(f"{key} {_line(str(value))}" for key, value in told.items()))
    return "\n".join(lines) + "\n"


def _losses(tallies: Sequence[Tally]) -> str:
    rows = ["| step | looked at | kept | lost |", "|---|---:|---:|---|"]
    for tally in tallies:
        lost = ", ".join(f"{reason} {count}" for reason, count in sorted(tally.lost.items(), key=lambda r: -r[1]))
        rows.append(f"| {tally.step} | {tally.looked} | {tally.kept} | {lost or '-'} |")
    return "\n".join(rows)


def _line(text: str) -> str:
    """Text from outside, on one line and as code."""
    return "`" + " ".join(text.split()).replace("`", "'")[:300] + "`"
