"""The test records of a dataset as a pandas table: a row per point and seed, a column per field and measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mascot.bench import metrics
from mascot.bench.datasets.dataset import Floats
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.running import records
from mascot.bench.running.measure import DEGREES, FOUND_AT, is_measure
from mascot.bench.running.records import Record
from mascot.errors import InputError

CASE = ["task", "direction", "label"]
DISPLACED = ["displaced, %", "other bin, %"]
GAINS: dict[str, Callable[[Floats], Any]] = {"min": np.min, "mean": np.mean, "max": np.max}
_IDENTITY = ["study", "point", *CASE, "value", "k", "n"]  # what makes a point of a dataset
_FIELDS = [*_IDENTITY, "seed", "dataset", "data_hash", "short", "bare"]
_FIXED = ("mixed",)  # studies whose settings were not searched for
_ON_VALIDATION = ("clusters",)  # studies that the released code ran on the validation split
_PREFERENCE = {"published": 0, "inferred": 1, "validated": 2, "default": 3, "": 4}  # the lowest is preferred


Builder = Callable[["RunResults", Published], Iterator[Any]]  # of tables or figures


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over seeds, with the lowest and the highest value."""

    value: float
    low: float
    high: float
    seeds: int


def means(frame: pd.DataFrame, by: Sequence[str], keys: Iterable[Any]) -> pd.DataFrame:
    """Return the `Average` of each column for each combination of the fields `by`, in display order.

    A column without values gives None.
    """
    keys = list(keys)
    numbers = frame.reindex(columns=[*by, *keys]).astype(dict.fromkeys(keys, float))
    statistics = numbers.groupby(list(by), observed=True, dropna=False).agg(["mean", "min", "max", "count"])

    def averages(key: Any) -> list[Average | None]:
        rows = statistics[key].to_numpy().tolist()
        return [Average(mean, low, high, int(seeds)) if seeds else None for mean, low, high, seeds in rows]

    return pd.DataFrame({key: averages(key) for key in keys}, statistics.index, dtype=object)


def displaced(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the percentages of `DISPLACED`: of all queries, and of the displaced ones those in another bin."""
    counts = frame.groupby([*by, "seed"], observed=True)[["asked", "moved", "moved_bin"]].sum()
    shares = [100 * counts["moved"] / counts["asked"], 100 * counts["moved_bin"] / counts["moved"]]
    return means(pd.concat(shares, axis=1, keys=DISPLACED).reset_index(), by, DISPLACED)


def reflection(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return PRS (``"prs"``) and Kendall's tau (``"tau"``) of strength sweeps, computed for each seed."""
    scores = pd.DataFrame(columns=[*by, "prs", "tau"])
    swept = frame.dropna(subset=["wished", "value"])
    if len(swept):
        curves = swept.groupby([*by, "seed", "value"], observed=True)["wished"].mean()
        sweeps = curves.groupby(level=[*by, "seed"], observed=True)
        scores = sweeps.agg(prs=_prs, tau=_tau).reset_index()
    return means(scores, by, ["prs", "tau"])


def _prs(sweep: pd.Series) -> float:
    return metrics.prs(sweep.to_numpy()) if len(sweep) > 1 else np.nan


def _tau(sweep: pd.Series) -> float:
    strengths = sweep.index.get_level_values("value").to_numpy()
    return metrics.kendall_tau(strengths, sweep.to_numpy()) if len(sweep) > 1 else np.nan


def per_query(record: Record, key: str) -> Floats:
    """Return the values of the queries that have one; an empty array if the record has none."""
    values = np.array(record.get("per_query", {}).get(key) or [], dtype=np.float64)  # null becomes NaN
    return values[np.isfinite(values)]


def _row(record: Record) -> dict[str, Any]:
    """Return the fields of a record, its summary, and the measures that the report derives from its queries."""
    row: dict[str, Any] = {name: record.get(name) for name in _FIELDS} | {"point": record.get("point") or ""}
    row |= {name: value for name, value in record.get("summary", {}).items() if is_measure(name)}
    values = {name: per_query(record, name) for name in ("top1", "metadata", DEGREES, "geo", "hour", "first_gain")}
    query_means = {name: float(column.mean()) for name, column in values.items() if len(column)}
    if "metadata" in query_means:
        row["wished"] = 1 - query_means["metadata"] if record["direction"] == "focus" else query_means["metadata"]
    row |= {"agrees": query_means.get("top1"), "hour": query_means.get("hour")}
    row["geo"] = query_means.get(DEGREES, query_means.get("geo"))
    if len(gains := values["first_gain"]):
        row |= {name: float(statistic(gains)) for name, statistic in GAINS.items()}
        row["not 0, %"] = 100 * float((gains != 0).mean())
    moved, moved_bin = per_query(record, "displaced"), per_query(record, "other_bin")
    row |= {"asked": len(moved), "moved": moved.sum(), "moved_bin": moved_bin.sum()}
    seconds = record.get("seconds")
    row["ms"] = None if seconds is None else 1000 * seconds
    ranks = per_query(record, FOUND_AT)
    for k in range(1, record["k"] + 1) if len(ranks) else ():
        row.setdefault(f"r@{k}", float(((ranks >= 1) & (ranks <= k)).mean()))
    return row | {"record": record}


def frame_of(rows: Iterable[Record]) -> pd.DataFrame:
    """Return records as a table; methods, tasks and directions sort in display order."""
    frame = pd.DataFrame(list(map(_row, rows)))
    frame = frame.reindex(columns=frame.columns.union([*_FIELDS, "wished", "record"], sort=False))
    for name in CASE:
        frame[name] = pd.Categorical(frame[name], naming.in_order(name, frame[name].dropna()), ordered=True)
    return frame


@dataclass(frozen=True, slots=True, eq=False)
class RunResults:
    """The test records of one dataset, in any number of seeds."""

    dataset: str
    frame: pd.DataFrame  # see `frame_of`
    notes: tuple[str, ...] = field(default=())
    run_seeds: tuple[int, ...] = ()  # every seed of the dataset's runs
    limits: Mapping[str, int | None] = field(default_factory=dict)  # maximum number of queries of a split

    def __bool__(self) -> bool:
        return not self.frame.empty

    @property
    def records(self) -> list[Record]:
        return list(self.frame["record"])

    def filter(self, condition: Any) -> RunResults:
        """Return the rows for which a sequence of booleans is true."""
        return replace(self, frame=self.frame[np.asarray(condition, dtype=bool)])

    def where(self, **fields: Any) -> RunResults:
        """Return the records whose fields have these values."""
        return self.filter(np.logical_and.reduce([self.frame[name] == value for name, value in fields.items()]))

    def names(self, name: str) -> list[Any]:
        """Return the distinct values of a field in display order, without missing ones."""
        return self.frame[name].dropna().drop_duplicates().sort_values().tolist()

    def split(self, name: str) -> Iterator[tuple[Any, RunResults]]:
        """Yield each value of a field in display order, with its records."""
        return ((value, self.where(**{name: value})) for value in self.names(name))

    def at(self, point: str) -> RunResults:
        """Return each method at this kind of operating point, or at its only one if it has no choice.

        If the paper does not print a setting, the inferred one is used, otherwise the validated one.
        """
        allowed = list(_PREFERENCE) if point == "published" else [point, "default", ""]
        return self.filter(self.frame["point"].isin(allowed)).preferred()

    def preferred(self) -> RunResults:
        """Return one operating point for each method, task and direction: the published, otherwise the validated."""
        ranks = self.frame["point"].map(_PREFERENCE).fillna(len(_PREFERENCE)).sort_values(kind="stable")
        best = self.frame.loc[ranks.index].groupby(CASE, observed=True)["point"].transform("first")
        return self.filter(self.frame["point"] == best.reindex(self.frame.index))

    @property
    def missing(self) -> dict[tuple[Any, ...], list[int]]:
        """The seeds that are missing for each point, because a run was stopped or had fewer seeds.

        The keys hold study, point, task, direction, label, value, k and n. Points without any seed are not included.
        """
        points = self.frame.groupby(_IDENTITY, observed=True, dropna=False, sort=False)["seed"]
        return {point: sorted(absent) for point, seeds in points if (absent := set(self.run_seeds) - set(seeds))}

    def subsets(self) -> Iterator[tuple[str, RunResults]]:
        """Yield the results on each named subset of the queries, such as the topics that no setting was chosen on."""
        parts: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            for name, part in record.get("subsets", {}).items():
                inside = np.isin(record["queries"], part["queries"])
                values = {key: list(compress(column, inside)) for key, column in record["per_query"].items()}
                inner: Any = {"queries": part["queries"], "per_query": values, "summary": part["summary"]}
                parts[name].append(record | inner)
        return ((name, replace(self, frame=frame_of(records))) for name, records in parts.items())

    @property
    def points(self) -> list[str]:
        """The kinds of operating points of these records."""
        kinds = set(self.frame["point"].replace("inferred", "published"))
        return [point for point in naming.POINTS if point in kinds]

    @property
    def retrieval(self) -> str:
        """The measure of relevance in HM: ``"r@10"`` or ``"map"``."""
        return next((record["retrieval"] for record in self.records if "retrieval" in record), "r@10")

    @property
    def blind(self) -> bool:
        """Whether there were no vectors, so that DM is the diversity of the metadata alone."""
        values = self.frame.reindex(columns=["metadata", "appearance"]).notna().any()
        return bool(values["metadata"] and not values["appearance"])

    @property
    def setting(self) -> str:
        """A description of how these records were made."""
        parts = [self.dataset, "test split"]
        parts += [f"{name.upper()}={'/'.join(map(str, sizes))}" for name in ("n", "k") if (sizes := self.names(name))]
        queries = sorted({len(record["queries"]) for record in self.records if record.get("queries")})
        if queries:
            descriptions = {"short": "have fewer than K candidates", "bare": "have no positive"}
            most = self.frame[list(descriptions)].fillna(0).astype(int).max()
            exceptions = ", ".join(f"{most[name]} of them {text}" for name, text in descriptions.items() if most[name])
            parts.append(f"{'/'.join(map(str, queries))} queries{f' ({exceptions})' if exceptions else ''}")
        seeds = self.names("seed")
        parts.append(("mean of seeds " if len(seeds) > 1 else "seed ") + ", ".join(map(str, seeds)))
        return ", ".join(parts)


def build(
    results: RunResults, builders: Iterable[tuple[str, str | None, Builder]], notes: list[tuple[str, str]]
) -> Iterator[Any]:
    """Yield the tables or figures of some results; `notes` receives those of the results and of missing studies.

    A builder has the name and the study of what it makes; None if the data decides whether there is any.
    """
    notes += [(results.dataset, note) for note in results.notes]
    for name, study, builder in builders:
        parts = list(filter(None, builder(results, Published(results.dataset))))
        if not parts and study is not None:
            notes.append((results.dataset, f"no {name}: these results lack its study ({study})"))
        yield from parts


def read(directory: str | Path) -> list[RunResults]:
    """Return the results of each dataset in a directory that the benchmark wrote."""
    datasets = collect(records.read(directory), records.run_info(directory))
    if not datasets:
        raise InputError(f"{directory} holds no test results; make some with: mascot bench run DATASET --out DIR")
    return datasets


def collect(rows: Iterable[Record], run: records.RunInfo | None = None) -> list[RunResults]:
    """Return test records by dataset. If a point was measured twice, the last record counts, and a note says so.

    A DPP run with the released greedy update becomes a method of its own, at the point of its setting.
    """
    tested = [row for row in rows if row.get("split") == "test" or row.get("study") in _ON_VALIDATION]
    if not tested:
        return []
    asked, data, notes = (run.asked, run.data, run.notes) if run else ({}, {}, ())
    limits = {split: asked[split] for split in ("validation", "test") if split in asked}
    collected = []
    for name, frame in frame_of(map(_relabelled, tested)).groupby("dataset"):
        unique = frame.drop_duplicates([*_IDENTITY, "seed"], keep="last")
        seeds = tuple(sorted({*unique["seed"], *data}))
        part = RunResults(str(name), unique, run_seeds=seeds, limits=limits)
        warnings = _warnings(part, len(frame) - len(unique), run is not None and not run.ended)
        collected.append(replace(part, notes=(*notes, *warnings)))
    return collected


def _relabelled(record: Record) -> Record:
    """Return a DPP's record with the released update under a label of its own; other records as they are."""
    point = record.get("point")
    if point != "released" and not (point in ("published", "inferred") and record["method"].get("released")):
        return record
    searched = "default" if record["study"] in _FIXED else "validated"
    kind = searched if point == "released" else point
    return {**record, "point": kind, "label": naming.released(record["label"])}


def _warnings(run_results: RunResults, repeats: int, is_stopped: bool) -> Iterator[str]:
    if is_stopped:
        yield "the last run into this folder did not finish: points may be missing"
    if missing := run_results.missing:
        points = len(run_results.frame.drop_duplicates(_IDENTITY))
        seeds = ", ".join(map(str, run_results.run_seeds))
        yield f"{len(missing)} of {points} points were not measured on every seed ({seeds})"
    if repeats:
        yield f"{repeats} points were measured more than once; the last record of each counts"
    versions = run_results.frame.groupby("seed")["data_hash"].nunique()
    if mixed := [str(seed) for seed in versions[versions > 1].index]:
        yield f"the records of seed {', '.join(mixed)} come from different versions of the data"
