"""Names that lead into nested records, `seller.name`, and into lists of them, `sellers.name` and `sellers.0.name`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import repeat
from operator import contains, itemgetter
from typing import Any

_NO_FIELDS: dict[str, Any] = {}


def as_mapping(record: Any) -> Mapping[str, Any] | None:
    """Return a dictionary, dataclass, pydantic object or named tuple as a mapping; None for other values.

    >>> as_mapping({"id": 3})
    {'id': 3}
    """
    if isinstance(record, Mapping):
        return record
    if isinstance(record, type):
        return None
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    to_mapping = getattr(record, "model_dump", None) or getattr(record, "_asdict", None)
    return None if to_mapping is None else to_mapping()


def value_of(record: Any, name: str) -> Any:
    """Return a record's value under a name or a dotted path through nested dictionaries; None if it is missing.

    >>> value_of({"location": {"lat": 38.7}}, "location.lat")
    38.7
    >>> value_of({"location.lat": 59.9, "location": {"lat": 38.7}}, "location.lat")
    59.9
    """
    return next((value for value in _values_under(record, name) if value is not None), None)


def has_name(record: Any, name: str) -> bool:
    """Return whether a record has a name or a dotted path, even if its value is None."""
    return any(True for _ in _values_under(record, name))


def _values_under(record: Any, name: str) -> Iterator[Any]:
    """Yield the value under a name; if there is none, the values under all dotted paths that the name may mean."""
    values = as_mapping(record)
    if values is None and isinstance(record, (list, tuple)):
        values = {str(at): part for at, part in enumerate(record)}
        parts = [part for part in (value_of(part, name) for part in record) if part is not None]
        if parts:
            yield parts
    if values is not None and name in values:
        yield values[name]
    elif values is not None:
        for at, letter in enumerate(name):
            if letter == ".":
                yield from _values_under(values.get(name[:at]), name[at + 1 :])


def values_of(records: Sequence[Any], name: str, plain: bool = False) -> list[Any]:
    """Return `value_of` each record, which is a mapping. The path is followed once for all records, level by level.

    Records that are all of type `dict` are `plain`, and are read faster.
    """
    if "." not in name:
        try:
            if plain:
                return list(map(itemgetter(name), records))
        except KeyError:
            pass
        return [record.get(name) for record in records]
    head, rest = name.split(".", 1)
    if not any(map(contains, records, repeat(name))):
        inner = [_NO_FIELDS if (field := record.get(head)) is None else field for record in records]
        if set(map(type, inner)) == {dict}:
            pairs = zip(records, values_of(inner, rest, plain=True), strict=True)
            return [value_of(record, name) if value is None else value for record, value in pairs]
    return [value_of(record, name) for record in records]
