"""A user's own data, in one npz or Parquet file.

**npz** (``numpy.savez``), M images and Q queries:

=================  ==============  ==================================================================
array              shape           what
=================  ==============  ==================================================================
``scores``         Q x M           score of every image for every query; higher is better
``vectors``        M x D           image vectors; a row of NaN is missing. Needed without ``scores``
``query_vectors``  Q x D           instead of ``scores``: the scores are dot products with ``vectors``
``positives``      Q               row of the one right answer of each query, or
                   P x 2           pairs (query, row) where a query has any number of them
``column:NAME``    M               an attribute: ``column:lat``, ``column:lon``, ``column:taken``, ...
=================  ==============  ==================================================================

**Parquet**, one row for each pair of a query and a candidate: ``query`` and ``id`` (text or numbers), ``score`` (a
number), ``positive`` (true or false), ``vector`` (a list of numbers, optional); every other column is an attribute
of the image and must be the same wherever its ``id`` occurs. Queries may have different numbers of candidates; one with
fewer than the results asked for shows all it has. A right answer that the search did not find is a row with
``positive`` true and no ``score`` (null): no candidate, but a miss.

**Positives.** Where some query has several, MAP, MRR and P@k are measured beside R@k (is any of them there?). A query
without any counts for diversity alone: recall, precision and HM are means over the others, and a note says how many
there were.

**Clusters.** The name ``cluster`` (``column:cluster`` in an npz) is reserved: it is no attribute, but what people made
of the positives, a number or text for each image. Then P@20, CR@20 (the share of a query's clusters seen) and F1@20 are
measured too. A missing value or a number below 0 is no cluster.

**Vectors** are optional beside ``scores``. Without them DM is the diversity of the metadata alone, nothing clusters the
images, and a note says so.

Scores are finite and best above 0, as cosines of matching pairs are: MS-DPP+TN and MS-DPP+TN+TVMS take their logarithm
and are left out, with a note, where a candidate's is not.

``lat`` and ``lon`` in degrees are a place; ``taken`` holds times (datetime64, ISO or EXIF text) or plain hours, 0..24.
Every other column is a label or, where it holds floating-point numbers, a number. It must not have the name of a
measure or a task of the benchmark (``r@10``, ``appearance``, ``geo``, ...).

More than one file's worth, with pictures to encode, is a folder: see `mascot.bench.datasets.folder`.

A fifth of the queries (at least one, by a seeded permutation) is the validation split, the rest the test split; both
search all images. The search for settings asks the first 50 of the validation queries where each query has one
positive, and all of them elsewhere, as for a folder.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.attributes import as_columns, check_attributes, is_missing, read_parquet
from mascot.bench.datasets.dataset import Dataset, Floats, Ints, Lists, Ragged, Split, Stamp, stamp
from mascot.errors import InputError

CLUSTER = "cluster"
_COLUMN = "column:"
_ARRAYS = ("scores", "vectors", "query_vectors", "positives")
_REQUIRED = ("query", "id", "score", "positive")
_FIELDS = (*_REQUIRED, "vector")
# Errors that a damaged zip file may cause: truncated, a flipped bit, a header with wrong sizes.
_DAMAGED = (OSError, ValueError, EOFError, BadZipFile, zlib.error, RuntimeError, KeyError, SyntaxError, MemoryError)


@dataclass(frozen=True, slots=True)
class Arrays:
    """The dataset of a file as it is now; see the module's text for what it must hold."""

    path: Path
    seed: int = 0
    stamp: Stamp = field(init=False, repr=False)  # a rewritten file is a different dataset

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamp", stamp(self.path))

    def load(self) -> Dataset:
        """Read the file and check every field of it."""
        if self.path.suffix not in (".npz", ".parquet"):
            raise InputError(f"{self.path}: the suffix must be one of .npz, .parquet")
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file")
        if stamp(self.path) != self.stamp:
            raise InputError(f"{self.path}: the file changed while it was in use; run again")
        is_npz = self.path.suffix == ".npz"
        content: dict[str, Any] = _stored(self.path) if is_npz else read_parquet(self.path, _REQUIRED)
        try:
            parts = _npz(content) if is_npz else _parquet(content)
            positives: Ragged = parts["positives"]
            if not len(positives.values):
                raise InputError("at least one query must have a positive, got none")
            order = np.random.default_rng(self.seed).permutation(len(positives))
            if len(order) < 2:
                raise InputError(f"must have at least 2 queries, one to search on, got {len(order)}")
            if parts["vectors"] is not None and not np.nan_to_num(parts["vectors"]).any():
                raise InputError("vectors must not be 0 or missing everywhere")
            images = np.arange(len(next(iter(parts["columns"].values()))))
            size = max(1, len(order) // 5)
            splits = {"validation": Split(images, order[:size]), "test": Split(images, order[size:])}
            return Dataset(name=self.path.stem, splits=splits, **parts)
        except InputError as error:
            separator = " " if str(error).startswith("row ") else ": "
            raise InputError(f"{self.path}{separator}{error}") from None


def _stored(path: Path) -> dict[str, NDArray[Any]]:
    """Return every array of an npz file, by name."""
    if not is_zipfile(path):  # numpy would take it for a pickle
        raise InputError(f"{path}: not an npz file: write it with numpy.savez")
    arrays: dict[str, NDArray[Any]] = {}
    name = ""
    try:
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                arrays[name] = stored[name]
    except _DAMAGED as error:
        if "allow_pickle" not in str(error):
            raise InputError(f"{path}: not an npz file: {error}") from None
        raise InputError(
            f"{path}: {name} must hold numbers, times or text and no Python objects; "
            "numpy.array(values, dtype=str) makes text of them"
        ) from None
    return arrays


def _npz(stored: dict[str, NDArray[Any]]) -> dict[str, Any]:
    def matrix(name: str) -> Floats | None:
        array = stored.get(name)
        if array is None:
            return None
        if array.dtype.kind not in "iuf" or array.ndim != 2 or not array.shape[-1]:
            raise InputError(f"{name} must be numbers of 2 dimensions, got {array.dtype} {array.shape}")
        return array.astype(np.float64)

    scores, vectors, query_vectors = matrix("scores"), matrix("vectors"), matrix("query_vectors")
    if (scores is None) == (query_vectors is None):
        raise InputError(f"must hold either scores or query_vectors, got {sorted(stored)}")
    if query_vectors is not None and vectors is None:
        raise InputError(f"query_vectors needs vectors, got {sorted(stored)}")
    columns = {name[len(_COLUMN) :]: array for name, array in stored.items() if name.startswith(_COLUMN)}
    unnamed = [name for name in stored if not name.startswith(_COLUMN) and name not in _ARRAYS]
    if unnamed:
        raise InputError(f"{unnamed[0]!r} is not known; an attribute is named {_COLUMN}{unnamed[0]}")
    if not columns.keys() - {CLUSTER}:
        raise InputError(f"must hold at least one attribute, named {_COLUMN}NAME, got {sorted(stored)}")
    images, owner = (len(np.asarray(vectors)), "vectors") if scores is None else (scores.shape[1], "scores")
    sizes = {f"{_COLUMN}{name}": len(column) for name, column in columns.items() if column.ndim}
    if vectors is not None:
        sizes["vectors"] = len(vectors)
    for name, size in sizes.items():
        if size != images:
            raise InputError(f"{name} must have {images} values like {owner}, got {size}")
    columns = _checked(columns, lambda name: f"{_COLUMN}{name}")
    lists = None
    if scores is not None:
        if not np.isfinite(scores).all():
            raise InputError(f"scores must be finite, got {scores[~np.isfinite(scores)][0]}")
        rows = np.tile(np.arange(images), len(scores))
        lists = Lists(Ragged(np.arange(len(scores) + 1) * images, rows), scores.reshape(-1))
    positives = _positives(
        stored.get("positives"), len(np.asarray(query_vectors if scores is None else scores)), images
    )
    parts = {"columns": columns, "positives": positives, "vectors": vectors}
    return {**parts, "query_vectors": query_vectors, "lists": lists}


def _checked(columns: dict[str, NDArray[Any]], called: Callable[[str], str]) -> dict[str, NDArray[Any]]:
    """Return the attributes, checked, and the judged clusters, numbered."""
    attributes = {name: column for name, column in columns.items() if name != CLUSTER}
    check_attributes(attributes, called)
    if CLUSTER in columns:
        attributes[CLUSTER] = _clusters(columns[CLUSTER], called(CLUSTER))
    return attributes


def _clusters(column: NDArray[Any], where: str) -> Ints:
    """Return the number of each image's cluster, -1 where it has none."""
    if column.ndim != 1:
        raise InputError(f"{where} must hold one value for each image, got shape {column.shape}")
    numbering: dict[Any, int] = {}
    numbers = np.full(len(column), -1, np.int64)
    for row, value in enumerate(column.tolist()):
        if is_missing(value):
            continue
        if not isinstance(value, (str, bytes, int, float)):
            raise InputError(f"{where} must hold numbers or text, got {value!r:.60}")
        if isinstance(value, (str, bytes)) or value >= 0:
            numbers[row] = numbering.setdefault(value, len(numbering))
    if not numbering:
        raise InputError(f"{where} must hold at least one cluster, got none")
    return numbers


def _positives(positives: NDArray[Any] | None, queries: int, images: int) -> Ragged:
    if positives is None:
        raise InputError("must hold positives, the rows of the right answers")
    if positives.dtype.kind not in "iu":
        raise InputError(f"positives must be integers, got {positives.dtype}")
    if positives.shape == (queries,):
        positives = np.stack([np.arange(queries), positives.astype(np.int64)], axis=1)
    if positives.ndim != 2 or positives.shape[1] != 2:
        raise InputError(f"positives must be {queries} rows or pairs (query, row), got shape {positives.shape}")
    pairs = positives.astype(np.int64)
    for column, name, count in ((0, "queries", queries), (1, "rows", images)):
        outside = (pairs[:, column] < 0) | (pairs[:, column] >= count)
        if outside.any():
            raise InputError(f"positives {name} must lie in 0..{count - 1}, got {pairs[outside, column][0]}")
    return Ragged.grouped(pairs[:, 0], pairs[:, 1], queries)


def _parquet(values: dict[str, list[Any]]) -> dict[str, Any]:
    names = [name for name in values if name not in _FIELDS]
    if not set(names) - {CLUSTER}:
        raise InputError(f"must have at least one attribute beside {', '.join(_FIELDS)}")
    queries, query = _numbered("query", values["query"])
    ids, image = _numbered("id", values["id"])
    for row, (score, flag) in enumerate(zip(values["score"], values["positive"], strict=True), 1):
        if not isinstance(flag, bool):
            raise InputError(f"row {row}: positive must be true or false, got {flag!r}")
        if score is None and flag:
            continue  # a right answer that was not found
        if not isinstance(score, (int, float)) or isinstance(score, bool) or not np.isfinite(score):
            raise InputError(f"row {row}: score must be a finite number, got {score!r}")
    scores, positive = np.array(values["score"], np.float64), np.array(values["positive"], np.bool_)
    if len(np.unique(query * len(ids) + image)) != len(query):
        raise InputError("an id must not occur twice in one query")
    _, first = np.unique(image, return_index=True)
    for name in names:
        for row, number in enumerate(image):
            value, first_value = values[name][row], values[name][first[number]]
            if value != first_value and not (is_missing(value) and is_missing(first_value)):
                raise InputError(
                    f"row {row + 1}: {name} must be the same for id {ids[number]!r}, got {value!r:.60} and in "
                    f"row {first[number] + 1} {first_value!r:.60}"
                )
    columns = as_columns({name: [values[name][row] for row in first] for name in names})
    scored = np.isfinite(scores)
    return {
        "columns": _checked(columns, lambda name: f"column {name!r}"),
        "positives": Ragged.grouped(query[positive], image[positive], len(queries)),
        "vectors": _vectors([values["vector"][row] for row in first]) if "vector" in values else None,
        "query_vectors": None,
        "lists": Lists.grouped(query[scored], image[scored], scores[scored], len(queries)),
    }


def _numbered(name: str, values: list[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in the order of appearance, and the number of each row's value."""
    numbering: dict[Any, int] = {}
    for row, value in enumerate(values, 1):
        if is_missing(value) or isinstance(value, (list, dict)):
            raise InputError(f"row {row}: {name} must be text or a number, got {value!r:.60}")
        numbering.setdefault(value, len(numbering))
    return list(numbering), np.array([numbering[value] for value in values], np.int64)


def _vectors(rows: list[Any]) -> Floats:
    present = [row for row in rows if row is not None]
    if not present:
        raise InputError("vector must not be empty in every row")
    for row in present:
        if not isinstance(row, list) or not row or not all(isinstance(value, (int, float)) for value in row):
            raise InputError(f"vector must be a list of numbers, got {row!r:.60}")
        if len(row) != len(present[0]):
            raise InputError(f"vector must have {len(present[0])} numbers like the first, got {len(row)}")
    return np.array([[np.nan] * len(present[0]) if row is None else row for row in rows], np.float64)
