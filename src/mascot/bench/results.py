"""The results of a benchmark: one JSON file for each *point*, a setting of one method on one dataset.

A point's file is ``DIR/points/<hash>.json``; the hash is of its key: the parameters, the data, the seed and the
versions. It is written to the side and moved into place, so a file is whole or absent however a run ends. A run
looks for the file first: what is there is not computed again, and what cannot be read counts as absent.

A record, as `read` returns it::

    dataset     "pixelprose-sim", "div400", or the name of the user's file
    data_hash   SHA-256 of the dataset's content
    seed        of the dataset
    split       "test" or "validation"
    study       "main", "search", "strength", "sigma_geo", "sigma_time", "grid", "mixed", "clusters", "runtime" or
                "protect"
    task        "geo_hour", "hour", "geo", "clusters", or one of the dataset's own
    direction   "spread", "focus", "geo+hour-" or "geo-hour+"
    label       "base", "clustering", "mmr", "k-dpp", "ms-dpp", "ms-dpp+tn", "ms-dpp+tn+tvms", "prob-coverage",
                "no-normalization", "uniform-binning", "mascot", "guarded", "guarded-10", or "pyversity-..."
    point       how the setting came about: "published" (the paper's table), "inferred" (the paper does not print it;
                see `grid.INFERRED`), "validated" (searched on the validation split), "released" (validated, with the
                greedy update of the published experiments), "default" (nothing was chosen), "batch" or "single"
                (runtime), or null
    method      its parameters
    wishes      their parameters
    value       the value of what the study sweeps, or null
    k, n        results, and candidates
    queries     the queries, by number
    retrieval   what "hm" takes for relevance: "r@10", or "map" on Incidents1M
    per_query   lists as long as `queries`: "r@1" ... "r@20" (0 or 1), "appearance" and "metadata" (normalised Vendi
                scores, never inverted), one Vendi score for each attribute ("geo", "hour", ...), "top1" (agreement
                with the base), "displaced", "other_bin", "kept" (share of relevance); where measured also
                "first_gain" (coverage of the first pick), "map" (average precision over the results, divided by
                the positives found), and "p@20", "cr@20", "f1@20" on judged data
    summary     means of the above, and "dm", "hm"
    seconds     a query's share of the time (the median where queries were timed one by one); null where the work
                was shared with other points
    versions    of the packages
    id          the hash

Examples
--------
>>> import tempfile
>>> store = Store(Path(tempfile.mkdtemp()))
>>> key = {"method": "mmr", "seed": 0}
>>> store.has(key)
False
>>> store.put(key, {"study": "main"})
>>> store.has(key), [record["study"] for record in read(store.folder)]
(True, ['main'])
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mascot
from mascot.bench.files import replace_text
from mascot.errors import InputError

Record = dict[str, Any]

_FORMAT = 1  # of the records; part of every key
_PACKAGES = ("numpy", "numba")


def versions() -> dict[str, str]:
    """What a result may depend on besides its parameters."""
    own = {"mascot": mascot.__version__, "python": ".".join(map(str, sys.version_info[:2])), "results": str(_FORMAT)}
    return own | {name: version(name) for name in _PACKAGES}


def digest(key: Mapping[str, Any]) -> str:
    """The name of a key: a hash of its content."""
    text = json.dumps(key, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of a benchmark's results."""

    folder: Path

    def path(self, key: Mapping[str, Any]) -> Path:
        """Where the record of a key is, or would be."""
        return self.folder / "points" / f"{digest(key)}.json"

    def has(self, key: Mapping[str, Any]) -> bool:
        """Whether there is a whole record."""
        return self.get(key) is not None

    def get(self, key: Mapping[str, Any]) -> Record | None:
        """The record of a key; None where there is none, or none that can be read."""
        return _whole(self.path(key))

    def put(self, key: Mapping[str, Any], record: Record) -> None:
        """Write a record, all of it or nothing."""
        path = self.path(key)
        _write(path, {**record, "id": path.stem})

    def claim(self, run: Mapping[str, Any]) -> None:
        """Note what the folder is for, and refuse another run's folder: their tables would mix."""
        path = self.folder / "run.json"
        before = _parsed(path)
        if before is not None and before != dict(run):
            differ = {name: (before.get(name), value) for name, value in run.items() if before.get(name) != value}
            name, (old, new) = next(iter(differ.items()), ("run", (before, dict(run))))
            raise InputError(f"{self.folder} holds a run with {name} {old!r}; this one has {new!r}: use another --out")
        _write(path, dict(run))


def read(folder: Path | str) -> list[Record]:
    """Every whole record of a folder, in the order of their names. Files that cannot be read are passed over."""
    where = Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: no such folder; make one with: mascot bench run DATASET --out {where}")
    records = [_whole(path) for path in sorted((where / "points").glob("*.json"))]
    return [record for record in records if record is not None]


def _parsed(path: Path) -> Record | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _whole(path: Path) -> Record | None:
    record = _parsed(path)
    return record if record is not None and record.get("id") == path.stem else None


def _write(path: Path, content: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(content, separators=(",", ":"), allow_nan=False))
