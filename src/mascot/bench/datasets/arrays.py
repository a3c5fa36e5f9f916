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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib.format import MAGIC_PREFIX, read_array_header_1_0, read_array_header_2_0, read_magic
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from mascot.bench.datasets.attributes import as_columns, check_attributes, is_missing
from mascot.bench.datasets.dataset import Dataset, Floats, Ints, Lists, Ragged, Split, Stamp, stamp
from mascot.errors import InputError
from mascot.extras import missing

CLUSTER = "cluster"
_COLUMN = "column:"
_FIELDS = ("query", "id", "score", "positive", "vector")
_ZIPPED = b"PK"
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
        readers = {".npz": _npz, ".parquet": _parquet}
        if self.path.suffix not in readers:
            raise InputError(f"{self.path}: the suffix must be one of {', '.join(readers)}")
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file")
        if stamp(self.path) != self.stamp:
            raise InputError(f"{self.path}: the file changed while it was in use; run again")
        parts = readers[self.path.suffix](self.path)
        positives: Ragged = parts["positives"]
        if not len(positives.values):
            raise InputError(f"{self.path}: at least one query must have a positive, got none")
        order = np.random.default_rng(self.seed).permutation(len(positives))
        if len(order) < 2:
            raise InputError(f"{self.path}: must have at least 2 queries, one to search on, got {len(order)}")
        validation_size = max(1, len(order) // 5)
        images = np.arange(len(next(iter(parts["columns"].values()))))
        vectors: Floats | None = parts["vectors"]
        if vectors is not None and not np.nan_to_num(vectors).any():
            raise InputError(f"{self.path}: vectors must not be 0 or missing everywhere")
        splits = {"validation": Split(images, order[:validation_size]), "test": Split(images, order[validation_size:])}
        try:
            return Dataset(name=self.path.stem, splits=splits, **parts)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None


def _npz(path: Path) -> dict[str, Any]:
    stored = _stored(path)

    def numbers(name: str, dimensions: int) -> Floats | None:
        if name not in stored:
            return None
        array = stored[name]
        if array.dtype.kind not in "iuf" or array.ndim != dimensions or not array.shape[-1]:
            raise InputError(
                f"{path}: {name} must be numbers of {dimensions} dimensions, got {array.dtype} {array.shape}"
            )
        return array.astype(np.float64)

    scores, vectors = numbers("scores", 2), numbers("vectors", 2)
    query_vectors = numbers("query_vectors", 2)
    if (scores is None) == (query_vectors is None):
        raise InputError(f"{path}: must hold either scores or query_vectors, got {sorted(stored)}")
    if query_vectors is not None and vectors is None:
        raise InputError(f"{path}: query_vectors needs vectors, got {sorted(stored)}")
    columns = {name[len(_COLUMN) :]: array for name, array in stored.items() if name.startswith(_COLUMN)}
    unnamed = [
        name
        for name in stored
        if not name.startswith(_COLUMN) and name not in ("scores", "vectors", "query_vectors", "positives")
    ]
    if unnamed:
        raise InputError(f"{path}: {unnamed[0]!r} is not known; an attribute is named {_COLUMN}{unnamed[0]}")
    if not columns.keys() - {CLUSTER}:
        raise InputError(f"{path}: must hold at least one attribute, named {_COLUMN}NAME, got {sorted(stored)}")
    images = scores.shape[1] if scores is not None else len(vectors if vectors is not None else ())
    sizes = {f"{_COLUMN}{name}": len(column) for name, column in columns.items() if column.ndim}
    if vectors is not None:
        sizes["vectors"] = len(vectors)
    for name, size in sizes.items():
        if size != images:
            owner = "scores" if scores is not None else "vectors"
            raise InputError(f"{path}: {name} must have {images} values like {owner}, got {size}")
    columns = _checked(columns, lambda name: f"{path}: {_COLUMN}{name}")
    if scores is not None and not np.isfinite(scores).all():
        raise InputError(f"{path}: scores must be finite, got {scores[~np.isfinite(scores)][0]}")
    queries = len(scores if scores is not None else query_vectors if query_vectors is not None else ())
    positives = _positives(path, stored.get("positives"), queries, images)
    lists = None
    if scores is not None:
        image_rows = np.tile(np.arange(images), queries)
        lists = Lists(Ragged(np.arange(queries + 1) * images, image_rows), scores.reshape(-1))
    return {
        "columns": columns,
        "positives": positives,
        "vectors": vectors,
        "query_vectors": query_vectors,
        "lists": lists,
    }


def _stored(path: Path) -> dict[str, NDArray[Any]]:
    """Return every array of an npz file, by name."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(len(MAGIC_PREFIX))
        if start != MAGIC_PREFIX and not start.startswith(_ZIPPED):  # numpy would take it for a pickle
            raise ValueError("write it with numpy.savez")
        stored = np.load(path, allow_pickle=False)
        if not isinstance(stored, NpzFile):
            raise ValueError("it holds one array and no names; write it with numpy.savez")
        with stored:
            objects = next(_pickled(path), None)
            if objects is None:
                return {name: stored[name] for name in stored.files}
    except _DAMAGED as error:
        raise InputError(f"{path}: not an npz file: {error}") from None
    raise InputError(
        f"{path}: {objects} must hold numbers, times or text and no Python objects; "
        "numpy.array(values, dtype=str) makes text of them"
    )


def _pickled(path: Path) -> Iterator[str]:
    """Yield the arrays of an npz file that hold objects, according to their headers."""
    with ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                read_header = read_array_header_1_0 if read_magic(stream) == (1, 0) else read_array_header_2_0
                if read_header(stream)[2].hasobject:
                    yield member.removesuffix(".npy")


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


def _positives(path: Path, positives: NDArray[Any] | None, queries: int, images: int) -> Ragged:
    if positives is None:
        raise InputError(f"{path}: must hold positives, the rows of the right answers")
    if positives.dtype.kind not in "iu":
        raise InputError(f"{path}: positives must be integers, got {positives.dtype}")
    if positives.shape == (queries,):
        pairs = np.stack([np.arange(queries), positives.astype(np.int64)], axis=1)
    elif positives.ndim == 2 and positives.shape[1] == 2:
        pairs = positives.astype(np.int64)
    else:
        raise InputError(f"{path}: positives must be {queries} rows or pairs (query, row), got shape {positives.shape}")
    for column, name, count in ((0, "queries", queries), (1, "rows", images)):
        outside = (pairs[:, column] < 0) | (pairs[:, column] >= count)
        if outside.any():
            raise InputError(f"{path}: positives {name} must lie in 0..{count - 1}, got {pairs[outside, column][0]}")
    return Ragged.of([pairs[pairs[:, 0] == query, 1] for query in range(queries)])


def _parquet(path: Path) -> dict[str, Any]:
    try:
        import pyarrow.parquet as reader
    except ModuleNotFoundError as error:
        raise missing(error, "reading Parquet", "parquet") from None
    try:
        table = reader.read_table(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: not a Parquet file: {str(error).splitlines()[0]}") from None
    for name in ("query", "id", "score", "positive"):
        if name not in table.column_names:
            raise InputError(f"{path}: needs a column {name!r}, got {', '.join(table.column_names)}")
    names = [name for name in table.column_names if name not in _FIELDS]
    if not set(names) - {CLUSTER}:
        raise InputError(f"{path}: must have at least one attribute beside {', '.join(_FIELDS)}")
    values = {name: table.column(name).to_pylist() for name in table.column_names}
    queries, query = _numbered(path, "query", values["query"])
    ids, image = _numbered(path, "id", values["id"])
    for row, (score, flag) in enumerate(zip(values["score"], values["positive"], strict=True)):
        if not isinstance(flag, bool):
            raise InputError(f"{path} row {row + 1}: positive must be true or false, got {flag!r}")
        if score is None and flag:
            continue  # a right answer that was not found
        if not isinstance(score, (int, float)) or isinstance(score, bool) or not np.isfinite(score):
            raise InputError(f"{path} row {row + 1}: score must be a finite number, got {score!r}")
    scores = np.array([np.nan if score is None else score for score in values["score"]], np.float64)
    positive = np.array(values["positive"], np.bool_)
    if len(np.unique(query * len(ids) + image)) != len(query):
        raise InputError(f"{path}: an id must not occur twice in one query")
    first = np.full(len(ids), -1)
    first[image[::-1]] = np.arange(len(image))[::-1]
    for name in names:
        for row, number in enumerate(image):
            value, first_value = values[name][row], values[name][first[number]]
            if value != first_value and not (is_missing(value) and is_missing(first_value)):
                raise InputError(
                    f"{path} row {row + 1}: {name} must be the same for id {ids[number]!r}, got {value!r:.60} and in "
                    f"row {first[number] + 1} {first_value!r:.60}"
                )
    columns = as_columns({name: [values[name][row] for row in first] for name in names})
    columns = _checked(columns, lambda name: f"{path}: column {name!r}")
    vectors = _vectors(path, [values["vector"][row] for row in first]) if "vector" in values else None
    scored = np.flatnonzero(np.isfinite(scores))
    order = scored[np.argsort(query[scored], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query[scored], minlength=len(queries)))])
    return {
        "columns": columns,
        "positives": Ragged.of([image[(query == q) & positive] for q in range(len(queries))]),
        "vectors": vectors,
        "query_vectors": None,
        "lists": Lists(Ragged(offsets, image[order]), scores[order]),
    }


def _numbered(path: Path, name: str, values: list[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in the order of appearance, and the number of each row's value."""
    numbering: dict[Any, int] = {}
    numbers = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        if is_missing(value) or isinstance(value, (list, dict)):
            raise InputError(f"{path} row {row + 1}: {name} must be text or a number, got {value!r:.60}")
        numbers[row] = numbering.setdefault(value, len(numbering))
    return list(numbering), numbers


def _vectors(path: Path, rows: list[Any]) -> Floats:
    present = [row for row in rows if row is not None]
    if not present:
        raise InputError(f"{path}: vector must not be empty in every row")
    for row in present:
        if not isinstance(row, list) or not row or not all(isinstance(value, (int, float)) for value in row):
            raise InputError(f"{path}: vector must be a list of numbers, got {row!r:.60}")
        if len(row) != len(present[0]):
            raise InputError(f"{path}: vector must have {len(present[0])} numbers like the first, got {len(row)}")
    return np.array([[np.nan] * len(present[0]) if row is None else row for row in rows], np.float64)
