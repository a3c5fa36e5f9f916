"""A list of published test pictures, which pins the test split.

The file is JSON (objects at any depth, or a list of ids), JSON Lines, CSV with a header, or text with one id on each
line. An object or a row of CSV names a picture by `uid_name`, `uid`, `id`, `image_id` or `caption`.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mascot.bench.prepare.outcomes import Loss, StepTally
from mascot.errors import InputError

_FIELDS = ("uid_name", "uid", "id", "image_id", "caption")  # the most specific first


@dataclass(frozen=True, slots=True)
class Pins:
    """The names of each picture of the list, in its order."""

    path: Path
    pictures: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, path: Path) -> Pins:
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} must be a list of pictures: {error}") from None
        pictures = tuple(dict.fromkeys(_pictures(_content(text))))
        if not pictures:
            raise InputError(f"{path} must name pictures by {', '.join(_FIELDS)}, got none")
        return cls(path, pictures)

    def match(self, rows: Sequence[dict[str, Any]], tally: StepTally) -> tuple[list[int], list[str]]:
        """Return the numbers of the rows that the list names, in its order, and the pictures that no row is."""
        numbers = defaultdict[str, list[int]](list)
        for i, row in enumerate(rows):
            for name in _names(row):
                numbers[_key(name)].append(i)
        matches, missing = dict[int, None](), list[str]()
        for names in self.pictures:
            with tally.item():
                same_name = next(filter(None, (numbers[_key(name)] for name in names)), [])
                if not same_name:
                    missing.append(" ".join(" | ".join(names).split()))
                    raise Loss("missing")
                # Several rows of a name are taken in turn; a picture may be listed once for each query.
                matches.update(dict.fromkeys([i for i in same_name if i not in matches][:1]))
        return list(matches), missing


def _content(text: str) -> Any:
    lines = [line for line in text.splitlines() if line.strip()]
    for document in (text, f"[{','.join(lines)}]"):  # JSON, JSON Lines or numbers
        try:
            return json.loads(document)
        except (ValueError, RecursionError):
            continue
    table = csv.DictReader(io.StringIO(text, newline=""))
    return list(table) if set(_FIELDS) & set(table.fieldnames or ()) else [line.strip() for line in lines]


def _pictures(content: Any, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the names of each picture in decoded content; text and numbers are names in the outermost list alone."""
    fields = content if isinstance(content, dict) else {}
    names = tuple(str(fields[name]) for name in _FIELDS if isinstance(fields.get(name), (str, int)))
    if isinstance(content, (str, int)) and depth <= 1:
        names = (str(content),)
    if any(names):
        yield tuple(filter(None, names))
    else:
        for part in content if isinstance(content, list) else fields.values():
            yield from _pictures(part, depth + 1 if isinstance(content, list) else 2)


def _names(row: dict[str, Any]) -> Iterator[str]:
    """Yield what a list may call a row of a dataset; `uid_name` is the uid and the name of the file."""
    yield from (str(row[name]) for name in ("id", "uid", "caption") if row.get(name))
    if row.get("uid"):
        file = PurePosixPath(row["url"].partition("?")[0])
        yield from (row["uid"] + file.name, row["uid"] + file.stem)


def _key(name: str) -> str:
    """Return the letters and digits of a name: separators differ between releases, and newlines in captions."""
    return "".join(filter(str.isalnum, name)).casefold()
