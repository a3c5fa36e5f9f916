"""Labels: photographer, camera, city, tags. One per candidate or several."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, product, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.columns import as_objects, cells, column_of, is_missing, printable
from mascot.bins import Floats, SparseBins, one_hot
from mascot.errors import InputError, require
from mascot.serialize import Value, Write

_SPELLINGS = {"true": "True", "false": "False"}  # of JSON, where the keys of dictionaries are text


@dataclass(frozen=True, slots=True)
class Category(Value):
    """One whole bin per label. A candidate has one label, or a list, set or tuple of them.

    Parameters
    ----------
    column
        Column of labels, any hashable values. They are compared as text: 5 and "5" are one label. None, NaN,
        pandas.NA, empty text and an empty list are missing.
    missing, name
        What a candidate without a label gets (``"last"``, ``"neutral"``, ``"drop"``); default name: the column's.
    """

    column: str
    missing: Missing = "last"
    name: str = ""

    def __post_init__(self) -> None:
        check_missing("Category", self.missing)
        object.__setattr__(self, "name", self.name or self.column)

    def membership(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        if hasattr(columns, "cells_named"):  # records
            try:
                return text_labels(columns.cells_named(self.column))
            except (KeyError, TypeError):
                pass
        values = cells(column_of(columns, self.column, "Category"))
        with suppress(TypeError):
            return text_labels(values)
        if set(map(type, values)) <= {bool, int, str, type(None)}:
            return text_labels([None if value is None else str(value) for value in values])
        codes: dict[str, int] = {}
        flat: list[int] = []
        indptr = np.zeros(len(values) + 1, np.int64)
        for row, value in enumerate(values):
            try:
                names = {label_text(label) for label in labels_of(value)}
            except TypeError:
                raise InputError(f"Category column {self.column!r} must hold hashable labels, got {value!r}") from None
            flat.extend(sorted(codes.setdefault(name, len(codes)) for name in names))
            indptr[row + 1] = len(flat)
        return SparseBins(indptr, np.array(flat, np.int64), None, max(len(codes), 1), tuple(codes))

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        matrix = self.membership(columns, vectors).dense()
        return matrix / np.maximum(np.sqrt(matrix.sum(axis=1, keepdims=True)), 1.0)

    def point(self, value: Any) -> dict[str, Any]:
        try:
            is_label = len(set(labels_of(value))) > 0
        except TypeError:
            is_label = False
        require(is_label, "Category near", "must be a label or a list of labels", printable(value))
        return {self.column: value}


@dataclass(frozen=True, slots=True)
class BareColumn(Category):
    """The column that a wish names without an attribute: labels, unless its values say otherwise.

    `mascot.column_types` reads the values when the wish meets the candidates.
    """

    def _described(self, write: Write) -> dict[str, Any]:
        return {**Value._described(self, write), "kind": "Category"}


@dataclass(frozen=True, slots=True)
class Combination(Value):
    """One label per combination of the labels of several columns; a candidate without one of them has none."""

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        valid = len(self.columns) > 1 and all(isinstance(name, str) for name in self.columns)
        require(valid, "a combination", "must name at least two columns", self.columns)

    @property
    def name(self) -> str:
        return "+".join(self.columns)

    def membership(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        parts = [cells(column_of(columns, name, "Combination")) for name in self.columns]
        rows = (map(labels_of, row) for row in zip(*parts, strict=True))
        labels = as_objects([list(map(label_text, product(*row))) for row in rows])
        return Category(self.name).membership({self.name: labels}, vectors)

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return self.membership(columns, vectors).dense()


def text_labels(values: Sequence[str | None]) -> SparseBins:
    """Return one named label per row; None and empty text are missing. Raise a `TypeError` for other values."""
    codes: dict[Any, int] = defaultdict(count().__next__, {None: -1, "": -1})
    numbers = itemgetter(*values)(codes) if len(values) > 1 else map(codes.__getitem__, values)  # the first is faster
    rows = np.frombuffer(bytearray(struct.pack(f"{len(values)}q", *numbers)), np.int64)  # faster than np.array
    if "true" in codes or "false" in codes:
        return text_labels([_SPELLINGS.get(value, value) if value else None for value in values])
    _, _, *names = codes
    if not all(map(str.strip, names, repeat(" \0"))):
        return text_labels([value if value and value.strip(" \0") else None for value in values])
    return one_hot(rows, max(len(names), 1), tuple(names))


def label_text(label: Hashable) -> str:
    """Return the text by which labels are compared: 5, 5.0 and "5" are one label, and so are True and "true".

    >>> label_text(5.0), label_text("true"), label_text(("acme", 5))
    ('5', 'True', 'acme, 5')
    """
    hash(label)  # raises a TypeError for dictionaries
    if isinstance(label, tuple):  # of a combination; labels that contain the separator must not look like two
        return ", ".join(label_text(part).replace("\\", "\\\\").replace(", ", "\\, ") for part in label)
    text = f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label)
    return _SPELLINGS.get(text, text)


def labels_of(value: Any) -> Iterable[Hashable]:
    """Return the labels of one cell."""
    if isinstance(value, (list, set, frozenset, tuple, np.ndarray)):
        return [label for label in value if not is_missing(label)]
    return [] if is_missing(value) else [value]
