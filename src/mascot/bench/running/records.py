"""The results of a benchmark: one JSON file for each *point*, a setting of one method on one dataset.

A point's file is ``DIR/points/<hash>.json``; the hash is that of its key: the parameters, the data, the seed and the
versions. It is written to a temporary file and renamed, so a file is complete or absent however a run ends. A run
looks for the file first: existing points are not computed again, and an unreadable file counts as absent.

``DIR/run.json`` describes the runs of the folder (see `RunInfo`). If the data of a seed changed, the records of the
earlier data are kept but not read: tables show the new numbers, and after a change back the records are used again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy

import mascot
from mascot.bench.files import read_json, replace_text
from mascot.bench.protocol.tasks import Direction, Study
from mascot.errors import InputError

_FORMAT = 2  # version of the record format; part of every key
_RUN = "run.json"


class Record(TypedDict, total=False):
    """The result of one point on one seed, as it is stored.

    `per_query` holds lists as long as `queries`, with null for a query without such a number: ``r@1`` to ``r@20``
    (0 or 1), ``found_at`` (the rank of the first positive, 0 if none is shown), ``appearance`` and ``metadata``
    (normalised Vendi scores, never inverted; no appearance without vectors), one Vendi score for each attribute,
    ``top1`` (agreement with the base), ``displaced``, ``other_bin``, ``kept`` (share of relevance), ``first_gain``
    (coverage of the first pick). If queries have several positives, also ``map`` (average precision, divided by the
    positives found), ``mrr``, ``p@5``, ``p@10`` and ``p@20``; on judged data ``p@20``, ``cr@20``, ``f1@20``,
    ``alpha-ndcg@20``, ``err-ia@20``, ``s-recall@20`` and ``n@10``.
    """

    id: str  # hash of the key
    dataset: str  # "pixelprose-sim", "div400", or the name of the user's file
    data_hash: str  # SHA-256 of the dataset's content
    seed: int  # of the dataset
    split: str  # "test" or "validation"
    study: Study
    task: str  # one of `report/names.csv`, or one of the dataset's own
    direction: Direction
    label: str  # of the method, see `report/names.csv`
    point: str | None  # how the setting was chosen, see `Point.point`
    method: dict[str, Any]  # its parameters; for DPPs "released" says which update
    wishes: list[dict[str, Any]]  # their parameters
    value: float | None  # of the parameter that the study sweeps
    k: int  # results of the query that has most
    n: int  # candidates of the query that has most
    short: int  # queries with fewer than k candidates, which show fewer results
    bare: int  # queries without a positive
    queries: list[int]
    retrieval: str  # relevance in HM: "r@10", or "map" on Incidents1M
    sizes: dict[str, dict[str, int]]  # images and queries of each split
    places: dict[str, float]  # see `QuerySet.dataset_places`
    per_query: dict[str, list[Any]]
    summary: dict[str, float]  # means of the above except "found_at", and "dm" and "hm"
    subsets: dict[str, dict[str, Any]]  # `queries` and `summary` of some queries, such as those no choice has seen
    seconds: float | None  # per query; the median if queries were timed one by one, null if the time was shared
    versions: dict[str, str]  # of the packages


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on besides its parameters."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"mascot": mascot.__version__, "python": python, "results": str(_FORMAT), "numpy": numpy.__version__}


def digest(key: Mapping[str, Any]) -> str:
    """Return the name of a key: a hash of its content."""
    text = json.dumps(key, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class RecordStore:
    """The folder of a benchmark's results."""

    folder: Path

    def path(self, key: Mapping[str, Any]) -> Path:
        """Return the path of a key's record, which need not exist."""
        return self.folder / "points" / f"{digest(key)}.json"

    def get(self, key: Mapping[str, Any]) -> Record | None:
        """Return the record of a key, or None if it is absent or unreadable."""
        return _read_record(self.path(key))

    def put(self, key: Mapping[str, Any], record: Record) -> None:
        path = self.path(key)
        _write(path, {**record, "id": path.stem})

    def claim(self, settings: Mapping[str, Any], data: Mapping[int, str], notes: Sequence[str] = ()) -> None:
        """Record the settings of the folder, and refuse the folder of a different run, whose numbers would mix.

        Every run into the folder must have the same `settings`. `data` holds the hash of each seed's dataset: seeds of
        earlier runs stay, and a changed hash replaces the earlier one. `notes` are printed under the tables.
        """
        earlier = run_info(self.folder) or RunInfo({}, {})
        for name, value in settings.items():
            if earlier.asked.get(name, value) != value:
                hint = " (--quick asks fewer queries: use it for both);" if name in ("validation", "test") else ";"
                run = f"{self.folder} holds a run with {name} {earlier.asked[name]!r}"
                raise InputError(f"{run}; this one has {value!r}{hint} use another --out")
        info = RunInfo(dict(settings), {**earlier.data, **data}, tuple(notes))
        _write(self.folder / _RUN, asdict(info))  # JSON has the seeds as text

    def finish(self) -> None:
        if info := run_info(self.folder):
            _write(self.folder / _RUN, asdict(replace(info, ended=True)))


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The content of ``run.json``: the runs into a folder."""

    asked: Mapping[str, Any]  # settings that all of them share
    data: Mapping[int, str]  # the hash of each seed's dataset
    notes: tuple[str, ...] = ()  # of the last run
    ended: bool = False  # whether the last run ended


def run_info(folder: Path | str) -> RunInfo | None:
    """Read the ``run.json`` of a folder; return None if it is absent or unreadable."""
    content = read_json(Path(folder) / _RUN)
    try:
        data = {int(seed): str(data_hash) for seed, data_hash in content["data"].items()}
        return RunInfo(content["asked"], data, tuple(content["notes"]), content["ended"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def read(folder: Path | str) -> list[Record]:
    """Return every complete record of the folder's data, in the order in which they were written.

    Unreadable files and records of data that has changed since are skipped.
    """
    points = Path(folder) / "points"
    if not points.parent.is_dir():
        raise InputError(f"{folder}: no such folder; make one with: mascot bench run DATASET --out {folder}")
    run = run_info(folder)
    data = {} if run is None else run.data
    records = filter(None, map(_read_record, sorted(points.glob("*.json"))))
    current = [record for record in records if data.get(record["seed"], record["data_hash"]) == record["data_hash"]]

    def age(record: Record) -> tuple[int, str]:
        return (points / f"{record['id']}.json").stat().st_mtime_ns, record["id"]

    return sorted(current, key=age)


def _read_record(path: Path) -> Record | None:
    record = read_json(path)
    return cast(Record, record) if record.get("id") == path.stem else None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(content, separators=(",", ":"), allow_nan=False))
