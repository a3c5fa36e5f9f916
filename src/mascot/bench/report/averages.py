"""Result records, selected by their fields and averaged over their seeds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from mascot import metrics
from mascot.bench.datasets.dataset import Floats
from mascot.bench.report import naming
from mascot.bench.running import records
from mascot.bench.running.measure import dm_per_query
from mascot.bench.running.records import Record
from mascot.errors import InputError

Measure = Callable[[Record], "float | None"]

_TEST = "test"
_FIXED = ("mixed",)  # studies whose settings were not searched for
_ON_VALIDATION = ("clusters",)  # studies that the released study ran on the validation split
_PREFERENCE = {"published": 0, "inferred": 1, "validated": 2, "default": 3, None: 4}  # the lowest is taken
_IDENTITY = ("study", "point", "task", "direction", "label", "value", "k", "n")


@dataclass(frozen=True, slots=True)
class Average:
    """A number over several seeds."""

    value: float  # the mean
    low: float
    high: float
    seeds: int


def average(values: Iterable[float | None]) -> Average | None:
    """Return the mean, lowest and highest of the values that are not missing; None where all are.

    >>> average([0.25, None, 0.75])
    Average(value=0.5, low=0.25, high=0.75, seeds=2)
    """
    numbers = [float(value) for value in values if value is not None and math.isfinite(value)]
    return Average(math.fsum(numbers) / len(numbers), min(numbers), max(numbers), len(numbers)) if numbers else None


def summary(key: str) -> Measure:
    """Return a measure: a number of the record's summary."""
    return lambda record: record["summary"].get(key)


def query_mean(key: str) -> Measure:
    """Return a measure: the mean over the queries that have the value."""
    return lambda record: float(values.mean()) if len(values := per_query(record, key)) else None


def recall(k: int) -> Measure:
    """Return the measure R@k for any k, from the ranks of the first positives; None where k exceeds the results."""

    def measure(record: Record) -> float | None:
        stored: float | None = record["summary"].get(f"r@{k}")
        ranks = per_query(record, "found_at")
        if stored is not None or not len(ranks) or k > record["k"]:
            return stored
        return float(((ranks >= 1) & (ranks <= k)).mean())

    return measure


def per_query(record: Record, key: str) -> Floats:
    """Return the values of the queries that have one; empty where the record has none."""
    values = np.array(record["per_query"].get(key) or [], dtype=np.float64)  # null becomes NaN
    return values[np.isfinite(values)]


def wished_diversity(record: Record) -> float | None:
    """Return the mean of the metadata channel in the direction of the wish: V on spread, 1 - V on focus."""
    value = query_mean("metadata")(record)
    return value if value is None or record["direction"] != "focus" else 1.0 - value


def uninverted_hm(record: Record) -> float | None:
    """Return HM of relevance and the diversity of both channels, neither inverted, as published for mixed directions.

    Without vectors it is that of the metadata channel.
    """
    looks, metadata = per_query(record, "appearance"), per_query(record, "metadata")
    recall = summary(record.get("retrieval", "r@10"))(record)
    if recall is None or not len(metadata) or len(looks) not in (0, len(metadata)):
        return None
    wished = dm_per_query(looks if len(looks) else None, metadata, focus=False)
    return metrics.overall(recall, metrics.harmonic_mean(wished))


@dataclass(frozen=True, slots=True, eq=False)
class RunResults:
    """The test records of one dataset, in any number of seeds."""

    dataset: str
    records: tuple[Record, ...]
    notes: tuple[str, ...] = field(default=())
    run_seeds: tuple[int, ...] = ()  # every seed of the dataset's runs
    limits: Mapping[str, int | None] = field(default_factory=dict)  # maximum number of queries of a split

    def __bool__(self) -> bool:
        return bool(self.records)

    def filter(self, condition: Callable[[Record], bool]) -> RunResults:
        """Return the records that meet a condition."""
        return replace(self, records=tuple(filter(condition, self.records)))

    def where(self, **fields: Any) -> RunResults:
        """Return the records whose fields have these values."""
        return self.filter(lambda record: all(record.get(name) == value for name, value in fields.items()))

    def split(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield each combination of values of the fields, in display order, followed by its records."""
        groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
        for record in self.records:
            groups[tuple(record.get(name) for name in names)].append(record)
        for values in sorted(groups, key=lambda values: list(map(naming.position, names, values))):
            yield *values, replace(self, records=tuple(groups[values]))

    def names(self, name: str) -> list[Any]:
        """Return the values of a field in display order, without None."""
        return [value for value, _ in self.split(name) if value is not None]

    @property
    def case(self) -> tuple[str, str, str]:
        """Task, direction and label, without the suffix of the released update, of records that share them."""
        first = self.records[0]
        return first["task"], first["direction"], naming.origin(first["label"])

    def at(self, point: str) -> RunResults:
        """Return each method at this kind of operating point, or at its only one where it has no choice.

        Where the paper does not print a setting, the inferred one is used, else the validated one.
        """
        allowed = tuple(_PREFERENCE) if point == "published" else (point, "default", None)
        return self.filter(lambda record: record.get("point") in allowed).preferred()

    def preferred(self) -> RunResults:
        """Return one operating point for each method, task and direction: the published, else the validated."""
        best: dict[tuple[str, ...], str | None] = {}
        for record in sorted(self.records, key=lambda record: _PREFERENCE.get(record.get("point"), len(_PREFERENCE))):
            best.setdefault(_owner(record), record.get("point"))
        return self.filter(lambda record: record.get("point") == best[_owner(record)])

    @property
    def missing(self) -> dict[tuple[Any, ...], list[int]]:
        """The seeds that points were not measured on, because a run was stopped or had fewer seeds.

        By study, point, task, direction, label, value, k and n. Points that no seed has are not included.
        """
        measured: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        for record in self.records:
            measured[_identity(record)].add(record["seed"])
        return {point: sorted(absent) for point, seeds in measured.items() if (absent := set(self.run_seeds) - seeds)}

    def within(self, subset: str) -> RunResults:
        """Return the records restricted to a subset of the split's queries; records without it are left out."""
        records = []
        for record in self.filter(lambda record: subset in record.get("subsets", {})).records:
            part = record["subsets"][subset]
            inside = np.isin(record["queries"], part["queries"])
            values = {name: list(compress(column, inside)) for name, column in record["per_query"].items()}
            records.append({**record, "queries": part["queries"], "per_query": values, "summary": part["summary"]})
        return replace(self, records=tuple(records))

    @property
    def points(self) -> list[str]:
        """The kinds of operating points of these records."""
        kinds = {"published" if r.get("point") == "inferred" else r.get("point") for r in self.records}
        return [point for point in naming.POINTS if point in kinds]

    @property
    def retrieval(self) -> str:
        """The measure of relevance in HM: ``"r@10"`` or ``"map"``."""
        return next((record["retrieval"] for record in self.records if "retrieval" in record), "r@10")

    @property
    def blind(self) -> bool:
        """Whether there were no vectors: DM is of the metadata alone."""
        keys = {key for record in self.records for key in record["summary"]}
        return "metadata" in keys and "appearance" not in keys

    def average(self, measure: Measure) -> Average | None:
        """Return the mean over the records, which should differ only in their seed."""
        return average(map(measure, self.records))

    @property
    def setting(self) -> str:
        """A description of how these records were made."""
        parts = [self.dataset, "test split"]
        parts += [f"{name.upper()}={'/'.join(map(str, sizes))}" for name in ("n", "k") if (sizes := self.names(name))]
        queries = sorted({len(record["queries"]) for record in self.records if record.get("queries")})
        if queries:
            descriptions = {"short": "have fewer than K candidates", "bare": "have no positive"}
            most = {name: max(record.get(name, 0) for record in self.records) for name in descriptions}
            exceptions = ", ".join(f"{most[name]} of them {text}" for name, text in descriptions.items() if most[name])
            parts.append(f"{'/'.join(map(str, queries))} queries{f' ({exceptions})' if exceptions else ''}")
        seeds = self.names("seed")
        parts.append(("mean of seeds " if len(seeds) > 1 else "seed ") + ", ".join(map(str, seeds)))
        return ", ".join(parts)


def _owner(record: Record) -> tuple[str, ...]:
    return record["label"], record["task"], record["direction"]


def _identity(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in _IDENTITY)


def read(directory: str | Path) -> list[RunResults]:
    """Return the results of each dataset in a directory that the benchmark wrote."""
    datasets = collect(records.read(directory), records.run_info(directory))
    if not datasets:
        raise InputError(f"{directory} holds no test results; make some with: mascot bench run DATASET --out DIR")
    return datasets


def collect(records: Iterable[Record], run: records.RunInfo | None = None) -> list[RunResults]:
    """Return test records by dataset. Of a point measured twice the last record counts, and a note says so.

    A DPP run with the released greedy update becomes a method of its own, at the point of its setting.
    """
    datasets: dict[str, dict[tuple[Any, ...], Record]] = defaultdict(dict)
    repeats: Counter[str] = Counter()
    for record in records:
        if record.get("split") != _TEST and record.get("study") not in _ON_VALIDATION:
            continue
        point = record.get("point")
        if point == "released" or (point == "published" and record["method"].get("released")):
            searched = "default" if record["study"] in _FIXED else "validated"
            renamed = {"point": searched if point == "released" else point, "label": naming.released(record["label"])}
            record = {**record, **renamed}
        points, identity = datasets[record["dataset"]], (*_identity(record), record["seed"])
        repeats[record["dataset"]] += points.pop(identity, None) is not None
        points[identity] = record
    collected = []
    asked, data, notes = (run.asked, run.data, run.notes) if run else ({}, {}, ())
    limits = {split: asked[split] for split in ("validation", _TEST) if split in asked}
    for name, points in sorted(datasets.items()):
        seeds = {record["seed"] for record in points.values()} | data.keys()
        part = RunResults(name, tuple(points.values()), run_seeds=tuple(sorted(seeds)), limits=limits)
        is_stopped = run is not None and not run.ended
        collected.append(replace(part, notes=(*notes, *_warnings(part, repeats[name], is_stopped))))
    return collected


def _warnings(run_results: RunResults, repeats: int, is_stopped: bool) -> Iterator[str]:
    if is_stopped:
        yield "the last run into this folder did not come to its end: points may be missing"
    if missing := run_results.missing:
        points = len(set(map(_identity, run_results.records)))
        seeds = ", ".join(map(str, run_results.run_seeds))
        yield f"{len(missing)} of {points} points were not measured on every seed ({seeds})"
    if repeats:
        yield f"{repeats} points were measured more than once; the last record of each counts"
    hashes = [(seed, {record["data_hash"] for record in part.records}) for seed, part in run_results.split("seed")]
    if mixed := [str(seed) for seed, versions in hashes if len(versions) > 1]:
        yield f"the records of seed {', '.join(mixed)} come from different versions of the data"
