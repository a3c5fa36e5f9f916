"""Parse wishes and methods from text, as typed on the command line.

KIND[:COLUMNS][~WIDTH][=NEAR[~WITHIN]][*WEIGHT]   place:lat,lon~50   hour=18:30~1   camera=X100*2
KIND[:COLUMNS]=N                                  seller=2
KIND[:COLUMNS]=VALUE:SHARE,...                    region=Europe:0.6,Asia:40%
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from mascot import attributes
from mascot.attributes import Attribute, Category
from mascot.attributes.attribute import Missing
from mascot.attributes.category import labels_of
from mascot.attributes.cycle import MONTHS
from mascot.bins.axis import WEEKDAYS
from mascot.errors import OptionError
from mascot.methods import Mascot
from mascot.registry import METHOD_NAMES, METHODS
from mascot.wishes import AnyWish, Limit, Share, Wish

_WEIGHT = re.compile(r"\*\s*(-?(?:\d+\.?\d*|\.\d+))$")
_WIDTH = re.compile(r"~\s*(\d+\.?\d*|\.\d+)$")
WIDTHS = ("sigma", "sigma_km", "sigma_days")  # the fields that hold an attribute's width
_LEAP_YEAR = 2024  # any leap year will do where only the day of the year counts
_MAX_LABELS = 8  # labels in a message


@dataclass(frozen=True, slots=True)
class _Kind:
    """The syntax of one attribute."""

    usage: str
    attribute: Callable[..., Attribute]
    readers: tuple[Callable[[str], Any], ...]  # one for each word after the colon, usually a column
    default: tuple[str, ...]  # the words where there is no colon; () if the colon is required
    near: Callable[[str], Any] | None = None  # reads the text after the equals sign


def spread(text: str, missing: Missing = "last") -> Wish:
    """Return the wish typed after `--spread`.

    >>> spread("place:lat,lon*2").weight
    2.0
    """
    attribute, near, weight = _parse(text, missing)
    if near is not None:
        raise OptionError(f"{text!r}: only focus takes a value; write --focus")
    return Wish(attribute, 1, weight)


def focus(text: str, missing: Missing = "last") -> Wish:
    """Return the wish typed after `--focus`.

    >>> focus("place=35.7,139.7~50").near
    (35.7, 139.7)
    """
    before, tilde, within = text.rpartition("~")
    if not tilde or "=" not in before:
        attribute, near, weight = _parse(text, missing)
        return Wish(attribute, -1, weight, near)
    within, star, weight_text = within.partition("*")
    attribute, near, weight = _parse(before + star + weight_text, missing)
    try:
        return Wish(attribute, -1, weight, near, _number(within))
    except ValueError as error:
        raise OptionError(f"{text!r}: {error}") from None


def limit(text: str, fill: bool = False) -> Limit:
    """Return the limit typed after `--limit`."""
    name, count = split_limit(text)
    return Limit(_parse(name, "last")[0], count, fill)


def split_limit(text: str) -> tuple[str, int]:
    """Return what a typed limit counts, and how many: `("seller", 2)` for `seller=2`."""
    name, equals, count = (part.strip() for part in text.rpartition("="))
    if not equals or not re.fullmatch(r"[0-9]{1,18}", count):
        raise OptionError(f"{text!r}: write NAME=N, such as seller=2")
    return name, int(count)


def share(text: str) -> Share:
    """Return the target shares typed after `--share`."""
    name, shares = split_share(text)
    return Share(_parse(name, "last")[0], shares)


def split_share(text: str) -> tuple[str, dict[str, float]]:
    """Return what typed shares count, and the share of each value.

    >>> split_share("city=Porto:25%,Faro:0.5")
    ('city', {'Porto': 0.25, 'Faro': 0.5})
    """
    name, _, parts = (part.strip() for part in text.partition("="))
    shares: dict[str, float] = {}
    try:
        for part in parts.split(","):
            value, number = (piece.strip() for piece in part.rsplit(":", 1))
            shares[value] = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        shares = {}
    if not shares or "" in shares:
        raise OptionError(f"{text!r}: write NAME=VALUE:SHARE,..., such as region=Europe:60%,Asia:40%")
    return name, shares


def method(
    name: str = "mascot",
    strength: float | None = None,
    protect: int | None = None,
    keep: float | None = None,
    order: str | None = None,
) -> Any:
    """Return the method of that name with these options; None is the default of the method.

    >>> method("mascot", strength=0.7).strength
    0.7
    """
    guarded = {"protect": protect, "keep": keep, "order": order}
    options: dict[str, Any] = {option: value for option, value in guarded.items() if value is not None}
    if options and name != "mascot":
        raise OptionError(f"protect, keep and order are options of the method mascot, not of {name}")
    if strength is not None and name != "relevance":
        options["strength"] = strength
    if name == "paper":
        return Mascot.paper(**{"strength": 0.5, **options})
    if name not in METHOD_NAMES:
        raise OptionError(f"there is no method {name!r}; choose from {', '.join(METHOD_NAMES)}")
    return next(method for method in METHODS if method.__name__.lower() == name)(**options)


def columns_of(wish: AnyWish) -> list[str]:
    """Return the columns that a typed wish reads."""
    columns = [getattr(wish.attribute, name, None) for name in ("lat", "lon", "column")]
    return [name for name in columns if name is not None]


def anchored(wish: AnyWish, labels: Iterable[Any]) -> AnyWish:
    """Return the wish with `near` replaced by the label of that text: typed `5` may mean the number or the text.

    `labels` are the cells of the wish's column. Wishes for other attributes than `Category` are returned unchanged.
    """
    if not isinstance(wish, Wish) or wish.near is None or not isinstance(wish.attribute, Category):
        return wish
    labels_by_text = {str(label): label for cell in labels for label in labels_of(cell)}
    folded = {text.casefold(): label for text, label in reversed(labels_by_text.items())}
    if wish.near not in labels_by_text and wish.near.casefold() not in folded:
        more = ", ..." if len(labels_by_text) > _MAX_LABELS else ""
        examples = ", ".join(list(labels_by_text)[:_MAX_LABELS]) + more
        raise OptionError(f"column {wish.attribute.column!r} has no value {wish.near!r}; its values: {examples}")
    return replace(wish, near=labels_by_text.get(wish.near, folded.get(wish.near.casefold())))


def split(text: str) -> tuple[str, str | None, float]:
    """Return the attribute, the value after `=` and the weight of a typed wish.

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


def _parse(text: str, missing: Missing) -> tuple[Attribute, Any, float]:
    head, near, weight = split(text)
    head, width = _split_width(head)
    name, colon, arguments = (part.strip() for part in head.partition(":"))
    if name not in _KINDS:
        if colon or not name:
            kinds = ", ".join(kind.usage for kind in _KINDS.values())
            raise OptionError(f"{text!r}: there is no attribute {name!r}; write {kinds}, or the name of a column")
        name, colon, arguments = "category", ":", name  # a bare name is a column of labels
    kind = _KINDS[name]
    words = [word.strip() for word in arguments.split(",")] if colon else list(kind.default)
    if len(words) != len(kind.readers) or not all(words):
        raise OptionError(f"{text!r}: write {kind.usage}")
    if near is not None and (kind.near is None or not near):
        raise OptionError(f"{text!r}: {'name a value after =' if kind.near else f'{name} takes no value'}")
    try:
        values = [reader(word) for reader, word in zip(kind.readers, words, strict=True)]
        point = None if near is None or kind.near is None else kind.near(near)
        attribute: Any = kind.attribute(*values, missing=missing)
        return replace(attribute, **width), point, weight
    except ValueError as error:
        raise OptionError(f"{text!r}: {error}") from None


def _split_width(text: str) -> tuple[str, dict[str, float]]:
    """Return an attribute's text without its width, and the width by its field; a column's name may hold a tilde."""
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
    """Return a day; a month or a year is read as its middle."""
    day = text + {4: "-07-01", 7: "-15"}.get(len(text), "")
    try:
        if not re.match(r"\d{4}-\d{2}-\d{2}", day):  # newer Pythons read 20240501 and 2024-W18-3, the columns do not
            raise ValueError
        datetime.fromisoformat(day)
    except ValueError:
        raise ValueError(f"must be a date like 2024-05-01, got {text!r}") from None
    return day


def _season(text: str) -> str:
    """Return a day of the year: `07-14`, a whole date, or the middle of a month given by name."""
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
    """Return the number of the name that begins with this text of at least three letters, or None."""
    matches = (at for at, name in enumerate(names) if len(text) >= 3 and name.lower().startswith(text.lower()))
    return next(matches, None)


_KINDS = {
    "place": _Kind("place[:LAT,LON]", attributes.Place, (str, str), ("lat", "lon"), _point),
    "grid": _Kind("grid[:LAT,LON]", attributes.Grid, (str, str), ("lat", "lon"), _point),
    "hour": _Kind("hour[:COLUMN]", attributes.HourOfDay, (str,), ("taken",), _hour),
    "season": _Kind("season[:COLUMN]", attributes.DayOfYear, (str,), ("taken",), _season),
    "weekday": _Kind("weekday[:COLUMN]", attributes.Weekday, (str,), ("taken",), _weekday),
    "date": _Kind("date[:COLUMN]", attributes.Date, (str,), ("taken",), _date),
    "number": _Kind("number:COLUMN", attributes.Number, (str,), (), _number),
    "cycle": _Kind("cycle:COLUMN,PERIOD", attributes.Cycle, (str, _number), (), _number),
    "category": _Kind("category:COLUMN", Category, (str,), (), str),
    "branches": _Kind("branches[:COUNT]", attributes.Branches, (lambda word: (_integer(word),),), ("16",)),
    "look": _Kind("look[:CLUSTERS]", attributes.Clusters, (_integer,), ("10",)),
}
