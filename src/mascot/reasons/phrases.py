"""Phrases about values: how far a result is from a named value, and from the other results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from mascot.attributes.category import Category
from mascot.attributes.place import NamedPoint
from mascot.attributes.vectors import Vectors
from mascot.bins import AxisBins, Bins, Bools, GlobeBins, Ints, SparseBins, VectorBins
from mascot.bins.distance import UNITS, distances, nearest_distances, unit_of
from mascot.constraints import AtLeast, Limit, Share
from mascot.wishes import AnyWish, Wish

_TRUTH_VALUES = ("0", "1", "false", "true", "no", "yes")


def describe_wish(wish: AnyWish) -> str:
    """Return a wish as text: "focus hour near 18:00"."""
    name = wish.attribute.name
    if isinstance(wish, Limit):
        where = f" in every {wish.window}" if wish.window else f" among the first {wish.first}" if wish.first else ""
        if isinstance(wish.n, Mapping):
            others = [] if wish.others is None else [f"{wish.others} per other {name}"]
            return "at most " + ", ".join([*(f"{n} from {value}" for value, n in wish.n.items()), *others]) + where
        return f"at most {wish.n} {'near-copies' if isinstance(wish.attribute, Vectors) else f'per {name}'}{where}"
    if isinstance(wish, AtLeast):
        where = "" if wish.first is None else f" among the first {wish.first}"
        return f"at least {name} " + ", ".join(f"{value} {count}" for value, count in wish.counts.items()) + where
    if isinstance(wish, Share):
        bound = "" if wish.bound == "exactly" else f" {wish.bound}"
        return f"share {name}{bound} " + ", ".join(f"{value} {part:.0%}" for value, part in wish.shares.items())
    text = f"{'spread' if wish.sign > 0 else 'focus'} {name}"
    if wish.near is not None:
        text += f" near {target_text(wish)}" + (f" within {wish.within:g}" if wish.within is not None else "")
    return text + (f" x {wish.weight:g}" if wish.weight != 1 else "")


def near_texts(wish: Wish, bins: Bins, point: Bins, rows: Ints) -> list[str]:
    """Return for each row for example "2 km from Paris" or "18:12, 12 minutes from 18:00"."""
    apart, unit, name = distances(bins, point, rows), unit_of(bins), wish.attribute.name
    target, missing = target_text(wish), np.isnan(apart)
    if unit == "cosine":
        texts = [f"cosine {1 - distance:.2f} to {target}" for distance in apart.tolist()]
    elif unit == "label":
        texts = [f"{name} {target}" if distance == 0 else f"not {target}" for distance in apart.tolist()]
    elif UNITS.get(unit) == "km":
        texts = [f"{_distance_text(distance, unit)} from {target}" for distance in apart.tolist()]
    else:
        assert isinstance(bins, AxisBins)
        assert isinstance(point, AxisBins)
        values, (target,) = _value_texts(bins, rows), _value_texts(point, np.zeros(1, np.int64))
        if unit == "date":  # days as the calendar counts them
            days = np.abs(np.floor(bins.values[0][rows]) - np.floor(point.values[0][0]))
            apart = np.where(apart >= 1, days, apart)
        texts = [
            value if distance == 0 or value == target else f"{value}, {_distance_text(distance, unit)} from {target}"
            for value, distance in zip(values, np.where(missing, 0.0, apart).tolist(), strict=True)
        ]
    return _or_unknown(texts, missing, name)


def coverage_texts(wish: Wish, bins: Bins, rows: Ints) -> list[str]:
    """Return how the value of each row, a result, compares with those of the other results."""
    missing, name = bins.missing(rows), wish.attribute.name
    if isinstance(bins, SparseBins):
        codes = codes_of(bins.indptr, bins.indices, rows)
        counts = Counter(code for own in codes for code in own)
        is_label = isinstance(wish.attribute, Category)
        names = [bins.name(own[0]) if own else "" for own in codes]
        origins = [origin_text(name, label) if is_label else f"of {label}" for label in names]
        texts = [count_text(counts[own[0]], text) if own else "" for own, text in zip(codes, origins, strict=True)]
        return _or_unknown(texts, missing, name)
    if len(rows) < 2 or not isinstance(bins, (GlobeBins, AxisBins, VectorBins)):
        return _or_unknown([""] * len(rows), missing, name)
    nearest, unit = nearest_distances(bins, rows), unit_of(bins)
    values = [""] * len(rows)
    if isinstance(bins, AxisBins) and UNITS.get(unit) != "km":
        values = [f"{value}, " for value in _value_texts(bins, rows)]
    texts = []
    for value, distance in zip(values, nearest.tolist(), strict=True):
        if not math.isfinite(distance):
            texts.append(f"the only one with a {name}")
        elif unit == "cosine":
            texts.append(f"cosine {1 - distance:.2f} to the nearest other result")
        else:
            texts.append(f"{value}{_distance_text(distance, unit)} from the nearest other result")
    return _or_unknown(texts, missing, name)


def _or_unknown(texts: list[str], missing: Bools, name: str) -> list[str]:
    """Return the texts, with the missing values named."""
    return [f"{name} unknown" if unknown else text for text, unknown in zip(texts, missing.tolist(), strict=True)]


def codes_of(indptr: Ints, codes: Ints, rows: Ints) -> list[list[int]]:
    """Return the labels of each row; row r has `codes[indptr[r]:indptr[r + 1]]`."""
    return [codes[a:b].tolist() for a, b in zip(indptr[rows].tolist(), indptr[rows + 1].tolist(), strict=True)]


def origin_text(name: str, label: str) -> str:
    """Return "from Porto", or "with ad 1" for a label that says nothing by itself.

    >>> origin_text("city", "Porto"), origin_text("ad", "1")
    ('from Porto', 'with ad 1')
    """
    return f"with {name} {label}" if label.lower() in _TRUTH_VALUES else f"from {label}"


def count_text(count: int, origin: str) -> str:
    """Return "the only one from Porto" or "one of 2 from Lisbon"."""
    return f"the only one {origin}" if count == 1 else f"one of {count} {origin}"


def _value_texts(bins: AxisBins, rows: Ints) -> list[str]:
    """Return the values of rows as text: "18:30", "2019-07-14"; a missing value has an arbitrary text."""
    values = bins.values[0][rows]
    values = np.where(np.isnan(values), 0.0, values)
    if bins.unit == "hour":
        minutes = [round(value * 60) % 1440 for value in values.tolist()]
        return [f"{minute // 60}:{minute % 60:02}" for minute in minutes]
    if bins.unit == "date":
        return (values * 86_400).astype(np.int64).astype("M8[s]").astype("M8[D]").astype(str).tolist()
    if bins.unit in ("weekday", "season"):
        (axis,) = bins.resolve().axes
        return [bins.name(round(value / axis.step) % axis.count) for value in values.tolist()]
    return [f"{value:g}" for value in values.tolist()]


def _distance_text(value: float, unit: str) -> str:
    """Return a distance in the attribute's unit: "12 minutes", "3 days", "1.2 km", "4.5"."""
    if UNITS.get(unit) == "km":
        return f"{value * 1000:.0f} m" if value < 1 else f"{value:.1f} km" if value < 10 else f"{value:,.0f} km"
    if unit == "hour":
        minutes = round(value * 60)
        if minutes < 60:
            return f"{minutes} minute{'' if minutes == 1 else 's'}"
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    if UNITS.get(unit) == "days":
        if value < 1:
            return _distance_text(value * 24, "hour")
        days = round(value)
        return f"{days:,} day{'' if days == 1 else 's'}"
    return f"{value:.4g}"


def target_text(wish: Wish) -> str:
    """Return the named value as text; a vector is too long to be shown."""
    return "the vector" if isinstance(wish.attribute, Vectors) and isinstance(wish.near, tuple) else _text(wish.near)


def _text(target: Any) -> str:
    if isinstance(target, NamedPoint):
        return target.name
    if isinstance(target, tuple) and len(target) == 2 and all(isinstance(part, (int, float)) for part in target):
        lat, lon = target
        return f"{abs(lat):g} {'S' if lat < 0 else 'N'} {abs(lon):g} {'W' if lon < 0 else 'E'}"
    return ", ".join(map(str, target)) if isinstance(target, tuple) else str(target)


def number_text(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def ordinal_text(number: int, words: bool = False) -> str:
    if words and number < len(_ORDINALS):
        return _ORDINALS[number]
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
