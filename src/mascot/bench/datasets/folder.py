"""A dataset in a folder: what `mascot bench prepare` writes, `mascot bench encode` adds vectors to, and a run reads.

::

    DIR/dataset.json      its name, how many rows are the validation split, and a description
    DIR/images.parquet    one row for each image: id, file (relative to DIR), and its columns
    DIR/queries.parquet   one row for each query: text, and positives, a list of rows of images.parquet
    DIR/images/           the pictures
    DIR/encoded/NAME/     the vectors of a model: see `mascot.bench.encode`

The first rows of images.parquet are the validation split, the rest the test split. A query belongs to every split in
which it has a positive, and finds the images of that split alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.attributes import as_columns, check_attributes, read_parquet
from mascot.bench.datasets.dataset import Dataset, Floats, Ints, Split, Stamp, grouped, stamp
from mascot.bench.files import read_json, replace_text, replacing, sha256
from mascot.errors import InputError
from mascot.extras import package

SPLITS = ("validation", "test")
ENCODED = "encoded"
MODEL = "model.json"
VECTORS, TEXTS, TOKENS = "vectors.npy", "texts.npy", "tokens.npy"
_ABOUT, _IMAGES, _QUERIES = "dataset.json", "images.parquet", "queries.parquet"
_FORMAT = 1
_CHECKPOINT = "blip2-itm-vit-g-coco"
_REQUIRED = ("id", "file")
# Attributes, unless dataset.json lists others under "attributes". Other columns, such as a URL, identify images and are
# not spread or focused.
_ATTRIBUTES = ("lat", "lon", "taken")


class Query(NamedTuple):
    """A text, and the rows of the images that answer it."""

    text: str
    positives: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The content of a folder, without vectors."""

    name: str
    columns: Mapping[str, NDArray[Any]]  # with id and file
    validation: int  # rows of the validation split
    queries: tuple[Query, ...]
    about: Mapping[str, Any]  # dataset.json as it is

    @property
    def images(self) -> int:
        return len(self.columns["id"])


def write_folder(
    out: Path,
    name: str,
    columns: Mapping[str, Sequence[Any]],
    validation: int,
    queries: Sequence[Query],
    about: Mapping[str, Any],
) -> None:
    """Write the tables of a dataset; dataset.json is written last, so a folder that has it is complete.

    The same input gives the same bytes. `columns` are lists of one value for each image, ``id`` and ``file`` among
    them; the first `validation` rows are the validation split; `about` is further information, as JSON values.
    """
    sizes = {column: len(values) for column, values in columns.items()}
    if not set(_REQUIRED) <= set(columns) or len(set(sizes.values())) != 1:
        raise InputError(f"a dataset needs id and file and columns of one length, got {sizes}")
    count = sizes["id"]
    _check(count, validation, queries)
    out.mkdir(parents=True, exist_ok=True)
    (out / _ABOUT).unlink(missing_ok=True)
    arrow, writer = (package(module, "bench", "a dataset in a folder") for module in ("pyarrow", "pyarrow.parquet"))
    rows = arrow.array([list(query.positives) for query in queries], arrow.list_(arrow.int64()))
    tables = {
        _IMAGES: arrow.table({column: list(values) for column, values in columns.items()}),
        _QUERIES: arrow.table({"text": [query.text for query in queries], "positives": rows}),
    }
    for file, table in tables.items():
        with replacing(out / file) as stream:
            writer.write_table(table, stream, compression="zstd")
    sizes = {"images": count, "queries": len(queries), "validation": validation}
    hashes = {file: sha256(out / file) for file in tables}
    content = {**about, **sizes, "format": _FORMAT, "name": name, "sha256": hashes}
    replace_text(out / _ABOUT, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def _check(count: int, validation: int, queries: Sequence[Query]) -> None:
    if not 1 <= validation < count:
        raise InputError(f"the validation split must have 1 to {count - 1} of {count} images, got {validation}")
    if not queries:
        raise InputError("a dataset must have at least one query, got none")
    for query in queries:
        if not query.positives or min(query.positives) < 0 or max(query.positives) >= count:
            raise InputError(f"query {query.text!r:.60} must have positives in 0..{count - 1}, got {query.positives}")


def read_folder(folder: Path) -> Stored:
    """Read and check the tables of a dataset."""
    path = folder / _ABOUT
    if not path.is_file():
        raise InputError(f"{folder} holds no {_ABOUT}; make it with: mascot bench prepare NAME --out {folder}")
    try:
        about = json.loads(path.read_text("utf-8"))
        form, name, validation = about["format"], str(about["name"]), int(about["validation"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {error!r}") from None
    if form != _FORMAT:
        raise InputError(f"{path}: format must be {_FORMAT}, got {form!r}")
    images, table = read_parquet(folder / _IMAGES, _REQUIRED), read_parquet(folder / _QUERIES, ("text", "positives"))
    queries = tuple(Query(text, tuple(rows)) for text, rows in zip(table["text"], table["positives"], strict=True))
    _check(len(images["id"]), validation, queries)
    return Stored(name, as_columns(images), validation, queries, about)


def open_picture(path: Path, side: int | None = None, *, srgb: bool = True) -> Any:
    """Return the upright picture of a file of the folder, its longest side at most `side` pixels (default: all)."""
    from mascot.photos.files.images import Unreadable, open_image, upright

    try:
        with open_image(path) as image:
            return upright(image, side or max(image.size), srgb=srgb)
    except (Unreadable, OSError) as error:
        remedy = "make the folder again with: mascot bench prepare"
        raise InputError(f"{path} gives no picture ({error}); {remedy}") from None


def splits(stored: Stored) -> dict[str, tuple[Ints, Ints]]:
    """Return the rows and the query numbers of ``validation`` and ``test``."""
    parts = {}
    for split, rows in zip(SPLITS, np.split(np.arange(stored.images), [stored.validation]), strict=True):
        has = [any(rows[0] <= row <= rows[-1] for row in query.positives) for query in stored.queries]
        parts[split] = rows, np.flatnonzero(has)
    return parts


def content(stored: Stored) -> str:
    """Return the SHA-256 of the tables, which identifies the vectors made from them."""
    hashes = stored.about["sha256"]
    return hashlib.sha256(f"{hashes[_IMAGES]} {hashes[_QUERIES]}".encode()).hexdigest()


def slug(model: str) -> str:
    """Return the name of a model's folder under ``encoded``.

    >>> slug("blip2"), slug("clip:models/Tiny CLIP/")
    ('blip2', 'clip-tiny-clip')
    """
    kind, _, where = model.partition(":")
    last = where.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^a-z0-9.]+", "-", f"{kind} {last}".lower()).strip("-.")


def encoded(folder: Path, model: str | None = None) -> Path:
    """Return the folder of a model's vectors (default: the only one)."""
    if model is not None:
        folders = [folder / ENCODED / slug(model)]
    else:
        folders = sorted(path.parent for path in folder.glob(f"{ENCODED}/*/{MODEL}"))
    complete = [path for path in folders if read_json(path / MODEL).get("complete")]
    if len(complete) > 1:
        raise InputError(f"{folder} is encoded by {', '.join(path.name for path in complete)}: choose one with --model")
    if not complete:
        remedy = f"make them with: mascot bench encode {folder} --model {model or 'blip2'}"
        raise InputError(f"{folder} has no vectors{f' of {model}' if model else ''}; {remedy}")
    return complete[0]


@dataclass(frozen=True, slots=True)
class Folder:
    """The dataset of a prepared folder as it is now, as one model sees it."""

    path: Path
    model: str | None = None
    stamp: tuple[Stamp, ...] = field(init=False, repr=False)  # a folder that was encoded again is a different dataset

    def __post_init__(self) -> None:
        files = (self.path / _ABOUT, *sorted(self.path.glob(f"{ENCODED}/*/{MODEL}")))
        object.__setattr__(self, "stamp", tuple(map(stamp, files)))

    def load(self) -> Dataset:
        """Read the tables, the model's image vectors, and the best candidates of each query."""
        stored = read_folder(self.path)
        where = encoded(self.path, self.model)
        info = read_json(where / MODEL)
        model = str(info.get("model", self.model or "blip2"))
        remedy = f"make it again with: mascot bench encode {self.path} --model {model}"
        if info.get("data") != content(stored):
            raise InputError(f"{where} was made of other images or queries; {remedy}")
        try:
            vectors = np.load(where / VECTORS, mmap_mode="r", allow_pickle=False)
            lists, scores = _lists(where, len(stored.queries))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{where} cannot be read ({error}); {remedy}") from None
        attributes = stored.about.get("attributes", _ATTRIBUTES)
        columns = {name: column for name, column in stored.columns.items() if name in attributes}
        check_attributes(columns, lambda name: f"{self.path / _IMAGES}: column {name!r}")
        return Dataset(
            name=stored.name if is_published(model) else f"{stored.name}-{slug(model)}",
            columns=columns,
            positives=[query.positives for query in stored.queries],
            splits={split: Split(rows, queries) for split, (rows, queries) in splits(stored).items()},
            vectors=vectors.astype(np.float64),
            lists=lists,
            scores=scores,
        )


def is_published(model: str) -> bool:
    """Return whether a model is the published checkpoint: by default, on the hub, or a local copy under its name.

    >>> is_published("blip2"), is_published("blip2:/models/blip2-itm-vit-g-coco"), is_published("clip")
    (True, True, False)
    """
    kind, _, where = model.partition(":")
    names = {part.rpartition("--")[2] for part in re.split(r"[/\\]", where)}  # the hub's cache: models--OWNER--NAME
    return kind == "blip2" and (not where or _CHECKPOINT in names)


def _lists(where: Path, queries: int) -> tuple[list[Ints], list[Floats]]:
    """Join the lists of all splits: a query of both has the candidates of both, and each split uses its own."""
    parts = []
    for split in SPLITS:
        with np.load(where / f"lists-{split}.npz", allow_pickle=False) as stored:
            rows = stored["rows"].astype(np.int64)
            owners = np.repeat(stored["queries"].astype(np.int64), rows.shape[1])
            parts.append((owners, rows.reshape(-1), stored["scores"].astype(np.float64).reshape(-1)))
    owners, images, scores = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    filled = images >= 0
    return grouped(owners[filled], images[filled], queries), grouped(owners[filled], scores[filled], queries)
