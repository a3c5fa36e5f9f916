"""A user's own data, in one npz or Parquet file: M images and Q queries. docs/reproduce.md describes the formats.

A fifth of the queries (at least one, by a seeded permutation) is the validation split, the rest the test split; both
search all images.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.attributes import as_columns, check_attributes, is_missing, read_parquet
from mascot.bench.datasets.dataset import Dataset, Floats, Ints, Split, Stamp, grouped, stamp
from mascot.connect.converters.hit_lists import as_vectors
from mascot.errors import InputError

CLUSTER = "cluster"
_COLUMN = "column:"
_MATRICES = ("scores", "vectors", "query_vectors")
_REQUIRED = ("query", "id", "score", "positive")
_FIELDS = (*_REQUIRED, "vector")
# Errors that a damaged zip file may cause: truncated, a flipped bit, a header with wrong sizes.
_DAMAGED = (OSError, ValueError, EOFError, BadZipFile, zlib.error, RuntimeError, KeyError, SyntaxError, MemoryError)


@dataclass(frozen=True, slots=True)
class Arrays:
    """The dataset of a file as it is now."""

    path: Path
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
            if not any(map(len, parts["positives"])):
                raise InputError("at least one query must have a positive, got none")
            order = np.random.default_rng(0).permutation(len(parts["positives"]))
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
    if not is_zipfile(path):  # numpy would take it for a pickle
        raise InputError(f"{path}: not an npz file: write it with numpy.savez")
    name = ""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {}
            for name in stored.files:
                arrays[name] = stored[name]
            return arrays
    except _DAMAGED as error:
        if "allow_pickle" not in str(error):
            raise InputError(f"{path}: not an npz file: {error}") from None
        raise InputError(
            f"{path}: {name} must hold numbers, times or text and no Python objects; "
            "numpy.array(values, dtype=str) makes text of them"
        ) from None


def _npz(stored: dict[str, NDArray[Any]]) -> dict[str, Any]:
    matrices: dict[str, Floats] = {}
    for name in (name for name in _MATRICES if name in stored):
        array = stored[name]
        if array.dtype.kind not in "iuf" or array.ndim != 2 or not array.shape[-1]:
            raise InputError(f"{name} must be numbers of 2 dimensions, got {array.dtype} {array.shape}")
        matrices[name] = array.astype(np.float64)
        bad = array[np.isinf(array) if name == "vectors" and "scores" in stored else ~np.isfinite(array)]
        if len(bad):
            raise InputError(f"{name} must be finite, got {bad[0]}")
    scores, vectors, query_vectors = map(matrices.get, _MATRICES)
    columns = {name.removeprefix(_COLUMN): array for name, array in stored.items() if name.startswith(_COLUMN)}
    unnamed = [name for name in stored if not name.startswith(_COLUMN) and name not in (*_MATRICES, "positives")]
    if unnamed:
        raise InputError(f"{unnamed[0]!r} is not known; an attribute is named {_COLUMN}{unnamed[0]}")
    if not columns.keys() - {CLUSTER}:
        raise InputError(f"must hold at least one attribute, named {_COLUMN}NAME, got {sorted(stored)}")
    if scores is not None and query_vectors is None:
        images, owner, queries = scores.shape[1], "scores", len(scores)
    elif query_vectors is not None and scores is None and vectors is not None:
        images, owner, queries = len(vectors), "vectors", len(query_vectors)
        if query_vectors.shape[1] != vectors.shape[1]:
            raise InputError(f"query_vectors must be as wide as vectors, got {query_vectors.shape}, {vectors.shape}")
    else:
        raise InputError(f"must hold either scores or query_vectors with vectors, got {sorted(stored)}")
    sizes = {f"{_COLUMN}{name}": len(column) for name, column in columns.items() if column.ndim}
    for name, size in (sizes | ({} if vectors is None else {"vectors": len(vectors)})).items():
        if size != images:
            raise InputError(f"{name} must have {images} values like {owner}, got {size}")
    return {
        "columns": _checked(columns, lambda name: f"{_COLUMN}{name}"),
        "positives": _positives(stored.get("positives"), queries, images),
        "vectors": vectors,
        "query_vectors": query_vectors,
        "lists": None if scores is None else [np.arange(images)] * queries,
        "scores": scores,
    }


def _checked(columns: dict[str, NDArray[Any]], called: Callable[[str], str]) -> dict[str, NDArray[Any]]:
    """Return the attributes, checked, and the judged clusters, numbered; -1 if an image has none."""
    attributes = {name: column for name, column in columns.items() if name != CLUSTER}
    check_attributes(attributes, called)
    if CLUSTER in columns:
        column, where = columns[CLUSTER], called(CLUSTER)
        if column.ndim != 1:
            raise InputError(f"{where} must hold one value for each image, got shape {column.shape}")
        values = [None if is_missing(value) else value for value in column.tolist()]
        for value in values:
            if not isinstance(value, (str, bytes, int, float, type(None))):
                raise InputError(f"{where} must hold numbers or text, got {value!r:.60}")
        clusters = [value for value in values if isinstance(value, (str, bytes)) or (value is not None and value >= 0)]
        if not clusters:
            raise InputError(f"{where} must hold at least one cluster, got none")
        numbers = {value: number for number, value in enumerate(dict.fromkeys(clusters))}
        attributes[CLUSTER] = np.array([numbers.get(value, -1) for value in values], np.int64)
    return attributes


def _positives(positives: NDArray[Any] | None, queries: int, images: int) -> list[Ints]:
    if positives is None:
        raise InputError("must hold positives, the rows of the right answers")
    if positives.dtype.kind not in "iu":
        raise InputError(f"positives must be integers, got {positives.dtype}")
    if positives.shape == (queries,):
        positives = np.stack([np.arange(queries), positives], axis=1)
    if positives.ndim != 2 or positives.shape[1] != 2:
        raise InputError(f"positives must be {queries} rows or pairs (query, row), got shape {positives.shape}")
    pairs = positives.astype(np.int64)
    for column, name, count in ((0, "queries", queries), (1, "rows", images)):
        outside = (pairs[:, column] < 0) | (pairs[:, column] >= count)
        if outside.any():
            raise InputError(f"positives {name} must lie in 0..{count - 1}, got {pairs[outside, column][0]}")
    return grouped(pairs[:, 0], pairs[:, 1], queries)


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
    scored, count = np.isfinite(scores), len(queries)
    return {
        "columns": _checked(columns, lambda name: f"column {name!r}"),
        "positives": grouped(query[positive], image[positive], count),
        "vectors": _vectors([values["vector"][row] for row in first]) if "vector" in values else None,
        "lists": grouped(query[scored], image[scored], count),
        "scores": grouped(query[scored], scores[scored], count),
    }


def _numbered(name: str, values: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in the order of appearance, and the number of each row's value."""
    for row, value in enumerate(values, 1):
        if is_missing(value) or isinstance(value, (list, dict)):
            raise InputError(f"row {row}: {name} must be text or a number, got {value!r:.60}")
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return list(numbers), np.array([numbers[value] for value in values], np.int64)


def _vectors(rows: list[Any]) -> Floats:
    vectors = as_vectors(rows)
    if vectors is None:
        raise InputError("vector must not be empty in every row")
    if np.isinf(vectors).any():
        raise InputError("vector must be finite, got inf")
    return vectors
