"""Wishes of a request as wishes of the library. A new kind of wish is one type in models.py and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

import mascot as mc
from mascot.server import models
from mascot.server.bodies import error_text
from mascot.server.failures import BadBody

_CONVERSIONS: dict[type, Callable[[Any], mc.AnyWish]] = {
    models.SpreadWish: lambda wish: mc.spread(models.attribute_of(wish.spread), wish.weight),
    models.FocusWish: lambda wish: _focus(models.attribute_of(wish.focus), wish.weight, wish.near, wish.within),
    models.LimitWish: lambda wish: mc.limit(models.attribute_of(wish.limit), wish.n, fill=wish.fill),
    models.ShareWish: lambda wish: mc.share(models.attribute_of(wish.share), _shares(wish.shares)),
    models.DirectedWish: lambda wish: (
        mc.spread(models.attribute_of(wish.attribute), wish.weight)
        if wish.direction == "spread"
        else _focus(models.attribute_of(wish.attribute), wish.weight, wish.near)
    ),
}


def wishes_of(parts: Sequence[dict[str, Any]]) -> list[mc.AnyWish]:
    """Return the library's wishes."""
    return [_wish_of(part, place) for place, part in enumerate(parts)]


def decode(part: dict[str, Any], place: int, kinds: Mapping[str, type[Any]]) -> Any:
    """Return the wish at a position of the list; its key tells its kind."""
    keys = [key for key in kinds if key in part]
    if len(keys) != 1:
        names = ", ".join(kinds)
        raise BadBody(f"wishes[{place}] must have exactly one of {names}, got {', '.join(part)[:80] or 'nothing'}")
    try:
        return msgspec.convert(part, kinds[keys[0]])
    except msgspec.ValidationError as error:
        raise BadBody(error_text(error, f"wishes[{place}]")) from None


def _wish_of(part: dict[str, Any], place: int) -> mc.AnyWish:
    wish = decode(part, place, models.WISHES)
    try:
        return _CONVERSIONS[type(wish)](wish)
    except BadBody as error:
        raise BadBody(f"wishes[{place}]: {error}") from None
    except mc.MascotError:
        raise
    except ValueError as error:  # a date or an hour that cannot be parsed
        raise mc.InputError(f"wishes[{place}]: {error}") from None


def _focus(attribute: Any, weight: float, near: Any, within: float | None = None) -> mc.Wish:
    point = tuple(near) if isinstance(near, list) else near
    return mc.focus(attribute, weight, point, within)


def _shares(shares: Any) -> dict[Any, float]:
    return shares if isinstance(shares, dict) else {part.value: part.share for part in shares}
