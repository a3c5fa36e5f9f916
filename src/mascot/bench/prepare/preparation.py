"""The steps that all recipes share: download a source, gather items, and write the dataset with a report of losses."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np

from mascot import __version__
from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.files import replace_text, sha256
from mascot.bench.prepare import pictures, splits
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.losses import Loss, Tally
from mascot.bench.prepare.outcomes import run_all
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

T = TypeVar("T")
Report = Callable[[str, int, "int | None"], None]  # step, items that are done, items in all

_LEAST_IMAGES = 5  # with fewer there is no validation split
_PACKAGES = ("numpy", "pillow", "pyarrow")


@dataclass(slots=True)
class Preparation:
    """A dataset in the making, in the folder `out`. For the parameters see `mascot.bench.prepare.recipes.prepare`."""

    out: Path
    web: Web
    limit: int | None = None
    workers: int = 8
    seed: int = 42
    split: str = "torch"
    report: Report | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    tallies: list[Tally] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        """Where journals and downloaded tables are."""
        path = self.out / "work"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def progress(self, step: str) -> Callable[[int, int | None], None]:
        """Return a function that reports the progress of one step."""
        return lambda count, total: None if self.report is None else self.report(step, count, total)

    def note(self, text: str) -> None:
        """Say something now, and in dataset.json and the report."""
        self.notes.append(text)
        self.progress(f"note: {text}")(0, None)

    def tally(self, step: str) -> Tally:
        """Return the counts of a new step."""
        self.tallies.append(Tally(step))
        return self.tallies[-1]

    def source(self, name: str, address: str) -> Path:
        """Return the file of a source: a path, or a web address that is downloaded to the work folder."""
        path = Path(address)
        if "://" in address:
            suffix = "".join(PurePosixPath(unquote(urlsplit(address).path)).suffixes[-2:])
            path = self.work / f"{name}{suffix}"
            self.web.download(address, path, self.progress(f"download {name}"))
        elif not path.is_file():
            raise InputError(f"source {name} must be a web address or a file, got {address!r}")
        self.sources[name] = {"url": address, "sha256": sha256(path)}
        return path

    def gather(
        self, rows: Sequence[T], key: Callable[[T], str], task: Callable[[T], dict[str, Any]], step: str
    ) -> list[tuple[T, dict[str, Any]]]:
        """Run `task`, which stores a picture, for the rows up to the limit; return those that succeeded."""
        tally, accepted = Tally(step), []
        self.tallies = [*(other for other in self.tallies if other.step != step), tally]
        with Journal(self.work / "pictures.jsonl") as journal:
            outcomes = run_all(
                rows, key, task, journal, workers=self.workers, report=self.progress("pictures"), enough=self.limit,
                valid=lambda entry: pictures.exists(self.out, entry),
            )  # fmt: skip
        for item, entry in outcomes:
            if "ok" in entry:
                tally.accepted += 1
                accepted.append((item, entry["ok"]))
            else:
                tally.lose(Loss(entry["lost"], entry["detail"]), key(item))
        return accepted

    def finish(
        self,
        name: str,
        columns: Mapping[str, Sequence[Any]],
        queries: Sequence[Query],
        *,
        least: int = 0,
        by_row: bool = False,
        most: int = 0,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Split the dataset and write it. The same input gives the same bytes.

        Columns have a value for each image in the order of the source; positives of queries are numbers in it.

        Parameters
        ----------
        least
            Positives that a query must have in each split; others are dropped.
        by_row
            Bring queries into the order of the images they are about.
        most
            Test queries at most, a seeded sample; 0 does not limit them.
        about
            What else dataset.json says.
        """
        count = len(columns["id"])
        if count < _LEAST_IMAGES:
            raise InputError(
                f"{name}: at least {_LEAST_IMAGES} images are needed for two splits, got {count}\n{self._losses()}"
            )
        rows = splits.permutation(count, self.seed, self.split)
        validation = splits.validation(count)
        moved = {column: [values[i] for i in rows] for column, values in columns.items()}
        accepted = self._queries(queries, np.argsort(rows), validation, least, by_row, most)
        if not accepted:
            raise InputError(f"{name}: no query has {least} positives in each split of {count} images")
        files = set(moved["file"])
        for path in sorted((self.out / pictures.FOLDER).rglob("*")):  # pictures after the limit, or of a killed run
            if path.relative_to(self.out).as_posix() not in files:
                path.unlink()
        hashes = "".join(f"{sha256(self.out / file)}  {file}\n" for file in sorted(moved["file"]))
        replace_text(self.out / "images.sha256", hashes)
        facts = {
            **(about or {}),
            "recipe": name,
            "settings": dict(self.settings),
            "seed": self.seed,
            "limit": self.limit,
            "sources": self.sources,
            "steps": [tally.to_dict() for tally in self.tallies],
            "notes": self.notes,
            "pictures": {"file": "images.sha256", "sha256": sha256(self.out / "images.sha256")},
            "versions": {"mascot": __version__, **{package: version(package) for package in _PACKAGES}},
        }
        write_folder(self.out, name, moved, validation, accepted, facts)
        sizes = f"{count} images: {validation} for validation, {count - validation} for test. {len(accepted)} queries."
        replace_text(self.out / "report.md", self._text(name, sizes))

    def _queries(
        self, queries: Sequence[Query], row_of: Any, validation: int, least: int, by_row: bool, most: int
    ) -> list[Query]:
        """Return the queries in terms of rows, without those that have too few positives."""
        tally, accepted = self.tally("queries"), []
        moved = [Query(query.text, tuple(sorted(int(row_of[i]) for i in query.positives))) for query in queries]
        if by_row:
            moved.sort(key=lambda query: query.positives)
        test = [i for i, query in enumerate(moved) if query.positives and query.positives[-1] >= validation]
        left_out = set(test) - set(random.Random(self.seed).sample(test, min(most or len(test), len(test))))
        for i, query in enumerate(moved):
            early = sum(row < validation for row in query.positives)
            late = len(query.positives) - early
            if not query.positives or min(early, late) < least:
                tally.lose(Loss("few positives", f"{early} for validation, {late} for test"), query.text[:60])
            elif i in left_out:
                tally.lose(Loss("not sampled"), query.text[:60])
            else:
                tally.accepted += 1
                accepted.append(query)
        return accepted

    def _text(self, name: str, sizes: str) -> str:
        """Return the report in Markdown."""
        limit = "" if self.limit is None else f" --limit {self.limit}."
        lines = [f"# {name}", "", f"{sizes} Seed {self.seed}, split of {self.split}.{limit}", "", self._losses()]
        lines += ["", *(f"- {note}" for note in self.notes)]
        for tally in self.tallies:
            for reason, examples in sorted(tally.examples.items()):
                lines += ["", f"## {tally.step}: {reason} ({tally.losses[reason]})", "", *map(_item, examples)]
        lines += ["", "## Sources", "", *(_item(f"{key}: {json.dumps(value)}") for key, value in self.sources.items())]
        lines += ["", "## Options", "", *(f"- {key}: {value}" for key, value in self.settings.items())]
        return "\n".join(lines) + "\n"

    def _losses(self) -> str:
        lines = ["| step | looked at | kept | lost |", "|---|---:|---:|---|"]
        for entry in (tally.to_dict() for tally in self.tallies):
            losses = sorted(entry["lost"].items(), key=lambda loss: -loss[1])
            text = ", ".join(f"{reason} {count}" for reason, count in losses) or "-"
            lines.append(f"| {entry['step']} | {entry['looked_at']} | {entry['kept']} | {text} |")
        return "\n".join(lines)


def _item(text: str) -> str:
    """Return a list item with text from outside as code on one line."""
    return "- `" + " ".join(text.split()).replace("`", "'")[:300] + "`"
