"""Parse wishes and methods that are typed on the command line.

KIND[:COLUMNS][~WIDTH][=NEAR[~WITHIN]][*WEIGHT]   place:lat,lon~50   hour=18:30~1   camera=X100*2
KIND[:COLUMNS]=N[/WINDOW][@FIRST]                 seller=2   seller=2/5   ad=1:0@2   seller+category=1
KIND[:COLUMNS]=VALUE:N,...[/WINDOW][@FIRST]       seller=acme:5,dock:1   seller=acme:5,*:2 (* all other values)
KIND[:COLUMNS]=VALUE:[min|max]SHARE,...           region=Europe:0.6,Asia:40%   ad=1:max25%

A `Resolver` knows the names and values that depend on the data: a library of photographs has names of its own, and a
table knows the labels of its columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Protocol

from mascot import attributes
from mascot.attributes import Attribute, Category
from mascot.attributes.attribute import Missing
from mascot.attributes.category import BareColumn, labels_of
from mascot.attributes.cycle import MONTHS
from mascot.bins.axis import WEEKDAYS
from mascot.column_types import attribute_of
from mascot.constraints import AtLeast, Limit, Share, Uncounted
from mascot.errors import OptionError
from mascot.methods import Mascot
from mascot.registry import METHOD_NAMES, METHODS
from mascot.removed import instead
from mascot.wishes import AnyWish, Wish

_WEIGHT = re.compile(r"\*\s*(-?(?:\d+\.?\d*|\.\d+))$")
_WIDTH = re.compile(r"~\s*(\d+\.?\d*|\.\d+)$")
WIDTHS = ("sigma", "sigma_km", "sigma_days")  # the fields that hold an attribute's width
_BOUNDS = {"min": "at least", "max": "at most"}
_LEAP_YEAR = 2024  # any leap year will do where only the day of the year counts
_MAX_LABELS = 8  # labels in a message


class Resolver(Protocol):
    """Resolve the names and values in wishes that only a library or a table knows."""

    def attribute(self, name: str, near: str | None, missing: Missing) -> Attribute:
        """Return the attribute to spread or to focus; `near` is the text after the equals sign, if any."""

    def near(self, name: str, attribute: Attribute, text: str) -> Any:
        """Return the value of a focus: a point, an hour, a label."""

    def counted(self, name: str) -> Attribute:
        """Return the attribute whose values a limit or a share counts."""

    def label(self, name: str, attribute: Attribute, text: str) -> str:
        """Return the label of a value that is counted."""


class ColumnResolver:
    """Resolve names as attributes with their columns, and any other name as a column of labels."""

    def attribute(self, name: str, near: str | None, missing: Missing) -> Attribute:
        return _attribute(name, missing)

    def near(self, name: str, attribute: Attribute, text: str) -> Any:
        if isinstance(attribute, BareColumn):
            return text
        kind = next(kind for kind, syntax in _KINDS.items() if syntax.attribute is type(attribute))
        try:
            return near_value(kind, text)
        except ValueError as error:
            raise OptionError(f"{f'{name}={text}'!r}: {error}") from None

    def counted(self, name: str) -> Attribute:
        return _attribute(name, "last")

    def label(self, name: str, attribute: Attribute, text: str) -> str:
        return clock_hour(self.near(name, attribute, text)) if isinstance(attribute, attributes.HourOfDay) else text


class TableResolver(ColumnResolver):
    """Resolve the labels of a table: typed `5` may mean a number or a text.

    `cells` returns the cells of a column.
    """

    def __init__(self, cells: Callable[[str], Iterable[Any]]) -> None:
        self._cells = cells

    def attribute(self, name: str, near: str | None, missing: Missing) -> Attribute:
        attribute = super().attribute(name, near, missing)
        return attribute_of(attribute, [list(self._cells(name))]) if isinstance(attribute, BareColumn) else attribute

    def near(self, name: str, attribute: Attribute, text: str) -> Any:
        if not isinstance(attribute, Category):
            return super().near(name, attribute, text)
        labels = self._labels(attribute)
        if labels and text not in labels and text.casefold() not in labels:
            spellings = list(dict.fromkeys(map(str, labels.values())))
            examples = ", ".join(spellings[:_MAX_LABELS]) + (", ..." if len(spellings) > _MAX_LABELS else "")
            raise OptionError(f"column {attribute.column!r} has no value {text!r}; its values: {examples}")
        return labels.get(text, labels.get(text.casefold(), text))

    def label(self, name: str, attribute: Attribute, text: str) -> str:
        if not isinstance(attribute, Category):
            return super().label(name, attribute, text)
        labels = self._labels(attribute)
        return str(labels.get(text, labels.get(text.casefold(), text)))

    def _labels(self, attribute: Category) -> dict[str, Any]:
        """Return the labels of a column by their spellings, and by these in lower case."""
        labels = {str(label): label for cell in self._cells(attribute.column) for label in labels_of(cell)}
        for spelling, label in list(labels.items()):
            labels.setdefault(spelling.casefold(), label)
        return labels


COLUMNS = ColumnResolver()


def spread(text: str, missing: Missing = "last", resolver: Resolver = COLUMNS) -> Wish:
    """Return the wish typed after `--spread`.

    >>> spread("place:lat,lon*2").weight
    2.0
    """
    name, near, weight = split(text)
    if near is not None:
        raise OptionError(f"--spread takes no value; use --focus {text.strip()}")
    return Wish(resolver.attribute(name, None, missing), 1, weight)


def focus(text: str, missing: Missing = "last", resolver: Resolver = COLUMNS) -> Wish:
    """Return the wish typed after `--focus`.

    >>> focus("place=35.7,139.7~50").near
    (35.7, 139.7)
    """
    name, near, weight = split(text)
    attribute, within = resolver.attribute(name, near, missing), None
    if near is None:
        return Wish(attribute, -1, weight)
    if not near:
        raise OptionError(f"{text!r}: write a value after the equals sign")
    if not isinstance(attribute, Category):  # a label may contain a tilde
        near, within = split_within(name, near)
    return Wish(attribute, -1, weight, resolver.near(name, attribute, near), within)


def limit(
    text: str, fill: bool = False, resolver: Resolver = COLUMNS, missing: Uncounted = "ignore", session: bool = False
) -> Limit:
    """Return the limit typed after `--limit`.

    >>> limit("seller=2/5").window
    5
    """
    name, parameters = split_limit(text, fill)
    attribute = counted(name, resolver)
    parameters["n"] = labelled(name, attribute, parameters["n"], resolver)
    return Limit(attribute, missing=missing, session=session, **parameters)


def at_least(text: str, resolver: Resolver = COLUMNS) -> AtLeast:
    """Return the minimum counts typed after `--at-least`."""
    name, counts, first = split_at_least(text)
    attribute = counted(name, resolver)
    return AtLeast(attribute, labelled(name, attribute, counts, resolver), first)


def counted(name: str, resolver: Resolver) -> Any:
    """Return the attribute whose values are counted; a plus sign joins several columns."""
    return resolver.counted(name) if "+" not in name or ":" in name else tuple(map(str.strip, name.split("+")))


def labelled(name: str, attribute: Any, numbers: Any, resolver: Resolver) -> Any:
    """Return the numbers of typed values by label, those of one label added; anything but a mapping is unchanged."""
    if not isinstance(numbers, Mapping) or isinstance(attribute, tuple):
        return numbers
    by_label: dict[str, Any] = {}
    for value, number in numbers.items():
        label = resolver.label(name, attribute, str(value))
        by_label[label] = by_label[label] + number if label in by_label else number
    return by_label


def clock_hour(hour: float) -> str:
    """Return the label of an hour, as limits and shares count it: "18:00"."""
    return f"{int(hour) % 24}:00"


def split_at_least(text: str) -> tuple[str, dict[str, int], int | None]:
    """Return the name, the counts, and among how many results they are wanted.

    >>> split_at_least("used=yes:1@5")
    ('used', {'yes': 1}, 5)
    """
    name, _, typed = (part.strip() for part in text.partition("="))
    parts = re.fullmatch(r"(.+?)(?:@([0-9]{1,9}))?", typed)
    counts = _split_counts(parts[1]) if parts else {}
    if not counts:
        raise OptionError(f"{text!r}: write NAME=VALUE:N,..., such as used=yes:3 or used=yes:1@5")
    return name, counts, int(parts[2]) if parts and parts[2] else None


def split_limit(text: str, fill: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a typed limit; a limit on places is never exceeded to fill a page.

    >>> split_limit("seller=acme:5,dock:1/10")
    ('seller', {'n': {'acme': 5, 'dock': 1}, 'window': 10})
    >>> split_limit("seller=acme:5,*:2")
    ('seller', {'n': {'acme': 5}, 'others': 2})
    """
    name, _, typed = (part.strip() for part in text.partition("="))
    parts = re.fullmatch(r"(.+?)(?:/([0-9]{1,9}))?(?:@([0-9]{1,9}))?", typed)
    counts, window, first = parts.groups() if parts else ("", None, None)
    n = int(counts) if re.fullmatch(r"[0-9]{1,18}", counts) else _split_counts(counts)
    others = n.pop("*", None) if isinstance(n, dict) else None
    if n == {}:
        raise OptionError(f"{text!r}: write NAME=N, such as city=2, city=2/5 or city=Porto:5")
    parameters: dict[str, Any] = {"n": n} if others is None else {"n": n, "others": others}
    places = {"window": window, "first": first}
    parameters |= {option: int(length) for option, length in places.items() if length is not None}
    return name, parameters | {"fill": True} if fill and window is None and first is None else parameters


def _split_counts(text: str) -> dict[str, int]:
    """Return the counts of `VALUE:N,...`; nothing if the text is not written so."""
    parts = [re.fullmatch(r"(.+):\s*([0-9]{1,18})", part.strip()) for part in text.split(",")]
    return {part[1].strip(): int(part[2]) for part in parts if part} if all(parts) else {}


def share(text: str, resolver: Resolver = COLUMNS) -> Share:
    """Return the shares typed after `--share`."""
    name, parameters = split_share(text)
    attribute = counted(name, resolver)
    parameters["shares"] = labelled(name, attribute, parameters["shares"], resolver)
    return Share(attribute, **parameters)


def split_share(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of typed shares, and the share of each value, with the bound if there is one.

    >>> split_share("city=Porto:25%,Faro:0.5")
    ('city', {'shares': {'Porto': 0.25, 'Faro': 0.5}})
    >>> split_share("ad=1:max25%")
    ('ad', {'shares': {'1': 0.25}, 'bound': 'at most'})
    """
    name, _, parts = (part.strip() for part in text.partition("="))
    shares: dict[str, float] = {}
    bounds: set[str] = set()
    try:
        for part in parts.split(","):
            value, number = (piece.strip() for piece in part.rsplit(":", 1))
            bounds.add(_BOUNDS.get(number[:3], "exactly"))
            number = number[3:].strip() if number[:3] in _BOUNDS else number
            shares[value] = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        shares = {}
    if not shares or "" in shares:
        raise OptionError(f"{text!r}: write NAME=VALUE:SHARE,..., such as region=Europe:60%,Asia:40%")
    if "%" not in text and max(shares.values()) > 1:
        raise OptionError(f"{text!r}: a share is a percentage, such as 60%, or a number from 0 to 1")
    if len(bounds) > 1:
        raise OptionError(f"{text!r}: write min or max before every share, or write two shares")
    return name, {"shares": shares} | ({} if bounds == {"exactly"} else {"bound": bounds.pop()})


def method(
    name: str = "mascot",
    strength: float | None = None,
    protect: int | None = None,
    keep: float | None = None,
    order: str | None = None,
) -> Any:
    """Return the method with this name and these options; None means the method's default.

    >>> method("mascot", strength=0.7).strength
    0.7
    """
    if name not in METHOD_NAMES:
        raise OptionError(f"there is no method {name!r}; choose from {', '.join(METHOD_NAMES)}")
    kind = next((method for method in METHODS if method.__name__.lower() == name), None)
    names = {field.name for field in fields(kind)} if kind else set()
    steering = {"protect": protect, "keep": keep, "order": order}
    options: dict[str, Any] = {option: value for option, value in steering.items() if value is not None}
    for option in options:
        if option not in names:
            raise OptionError(f"{option} is not an option of the method {name}")
    if strength is not None and name != "relevance":
        options["strength"] = strength
    return Mascot.paper(**{"strength": 0.5, **options}) if kind is None else kind(**options)


def columns_of(wish: AnyWish) -> list[str]:
    """Return the columns that a wish reads."""
    columns = [getattr(wish.attribute, name, None) for name in ("lat", "lon", "column")]
    return [name for name in (*columns, *getattr(wish.attribute, "columns", ())) if name is not None]


def split(text: str) -> tuple[str, str | None, float]:
    """Return the name, the text after the equals sign, and the weight of a typed wish.

    >>> split("place=Lisbon*2")
    ('place', 'Lisbon', 2.0)
    """
    text, weight = text.strip(), 1.0
    weight_match = _WEIGHT.search(text)
    if weight_match:
        text, weight = text[: weight_match.start()], float(weight_match.group(1))
    name, equals, near = (part.strip() for part in text.partition("="))
    return name, near if equals else None, weight


def near_value(kind: str, text: str) -> Any:
    """Return the value that a text names for a kind of attribute; raise `ValueError` if it names none.

    >>> near_value("hour", "18:30")
    18.5
    """
    read = _KINDS[kind].near
    if read is None:
        raise ValueError(f"{kind} takes no value")
    return read(text)


def with_width(text: str, width: float) -> str:
    """Return the typed wish with this width.

    >>> with_width("place:lat,lon*2", 50)
    'place:lat,lon~50*2'
    """
    name, near, weight = split(text)
    suffix = ("" if near is None else f"={near}") + ("" if weight == 1 else f"*{weight:g}")
    return f"{_split_width(name)[0]}~{width:g}{suffix}"


@dataclass(frozen=True, slots=True)
class _Kind:
    """The syntax of one attribute."""

    usage: str
    attribute: Callable[..., Attribute]
    readers: tuple[Callable[[str], Any], ...]  # one for each word after the colon, usually a column
    default: tuple[str, ...] | None  # the words if there is no colon; (): the colon is required, None: no words
    near: Callable[[str], Any] | None = None  # reads the text after the equals sign


def _attribute(text: str, missing: Missing) -> Attribute:
    """Parse KIND[:COLUMNS][~WIDTH], or the name of a column of labels."""
    head, width = _split_width(text)
    name, colon, arguments = (part.strip() for part in head.partition(":"))
    if name not in _KINDS:
        if colon or not name:
            kinds = ", ".join(kind.usage for kind in _KINDS.values()) + ", or the name of a column"
            raise OptionError(f"{text!r}: there is no attribute {name!r}; write {kinds}{instead(name)}")
        return BareColumn(name, missing)
    kind = _KINDS[name]
    words = [word.strip() for word in arguments.split(",")] if colon else list(kind.default or ())
    readers = kind.readers if colon or kind.default is not None else ()
    if name in ("place", "grid") and len(words) == 1:  # a column of points
        readers = readers[:1]
    if len(words) != len(readers) or not all(words):
        raise OptionError(f"{text!r}: write {kind.usage}")
    try:
        values = [reader(word) for reader, word in zip(readers, words, strict=True)]
        attribute: Any = kind.attribute(*values, missing=missing)
        return replace(attribute, **width)
    except ValueError as error:
        raise OptionError(f"{text!r}: {error}") from None


def split_within(name: str, text: str) -> tuple[str, float | None]:
    """Return the value and the distance of `VALUE~WITHIN`; `name` is the attribute, for messages."""
    near, tilde, within = (part.strip() for part in text.rpartition("~"))
    try:
        return (near, _number(within)) if tilde else (text, None)
    except ValueError as error:
        raise OptionError(f"{f'{name}={text}'!r}: {error}") from None


def _split_width(text: str) -> tuple[str, dict[str, float]]:
    """Return an attribute's text without its width, and the width by its field. A column name may contain a tilde."""
    typed = _WIDTH.search(text)
    kind = _KINDS.get(text.partition(":")[0].partition("~")[0].strip())
    attribute: Any = kind.attribute if kind else None
    names = [field.name for field in fields(attribute) if field.name in WIDTHS] if typed and kind else []
    return (text[: typed.start()], {names[0]: float(typed[1])}) if typed and names else (text, {})


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"must be a number, got {text!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"must be a finite number, got {text!r}")
    return number


def _integer(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"must be a whole number, got {text!r}")
    return int(text)


def _point(text: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise ValueError(f"must be latitude,longitude, got {text!r}")
    lat, lon = map(_number, parts)
    attributes.Place().point((lat, lon))  # checks the range
    return lat, lon


def _hour(text: str) -> float:
    """Return the hour of `18`, `18.5` or `18:30`."""
    clock = re.fullmatch(r"(\d{1,2}):([0-5]?\d)", text)
    if ":" in text and not clock:
        raise ValueError(f"must be an hour like 18 or 18:30, got {text!r}")
    hour = int(clock[1]) + int(clock[2]) / 60 if clock else _number(text)
    if not 0 <= hour <= 24:
        raise ValueError(f"must be an hour from 0 to 24, got {text!r}")
    return hour


def _date(text: str) -> str:
    """Return a day; a month or a year means its middle."""
    day = text + {4: "-07-01", 7: "-15"}.get(len(text), "")
    try:
        if not re.match(r"\d{4}-\d{2}-\d{2}", day):  # newer Pythons read 20240501 and 2024-W18-3, the columns do not
            raise ValueError
        datetime.fromisoformat(day)
    except ValueError:
        raise ValueError(f"must be a date like 2024-05-01, got {text!r}") from None
    return day


def _season(text: str) -> str:
    """Return a day of the year from `07-14`, a full date, or the name of a month, which means its middle."""
    month = _beginning_with(text, MONTHS)
    if month is not None:
        return f"{_LEAP_YEAR}-{month + 1:02d}-15"
    return _date(f"{_LEAP_YEAR}-{text}" if re.fullmatch(r"\d{2}-\d{2}", text) else text)


def _weekday(text: str) -> str:
    day = _beginning_with(text, WEEKDAYS)
    if day is None:
        raise ValueError(f"must be a day of the week, got {text!r}")
    return WEEKDAYS[day].lower()


def _beginning_with(text: str, names: Iterable[str]) -> int | None:
    """Return the index of the name that begins with this text of at least three letters, or None."""
    matches = (at for at, name in enumerate(names) if len(text) >= 3 and name.lower().startswith(text.lower()))
    return next(matches, None)


_KINDS = {
    "place": _Kind("place[:POINTS] or place[:LAT,LON]", attributes.Place, (str, str), ("lat", "lon"), _point),
    "grid": _Kind("grid[:POINTS] or grid[:LAT,LON]", attributes.Grid, (str, str), ("lat", "lon"), _point),
    "hour": _Kind("hour[:COLUMN]", attributes.HourOfDay, (str,), ("taken",), _hour),
    "season": _Kind("season[:COLUMN]", attributes.DayOfYear, (str,), ("taken",), _season),
    "weekday": _Kind("weekday[:COLUMN]", attributes.Weekday, (str,), ("taken",), _weekday),
    "date": _Kind("date[:COLUMN]", attributes.Date, (str,), ("taken",), _date),
    "number": _Kind("number:COLUMN", attributes.Number, (str,), (), _number),
    "cycle": _Kind("cycle:COLUMN,PERIOD", attributes.Cycle, (str, _number), (), _number),
    "category": _Kind("category:COLUMN", Category, (str,), (), str),
    "look": _Kind("look[:CLUSTERS]", attributes.Clusters, (_integer,), ("10",)),
    "vectors": _Kind("vectors[:COLUMN]", attributes.Vectors, (str,), None),
}
