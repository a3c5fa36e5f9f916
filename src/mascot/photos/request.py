"""The description of a search: the same in Python, on the command line, over HTTP and in saved choices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal

import mascot as mc
from mascot import grammar
from mascot.errors import (
    OptionError,
    check_one_of,
    check_share,
    check_switch,
    check_whole,
    is_number,
    is_whole,
    require,
)
from mascot.photos.database.conditions import CONDITIONS, LabelOf
from mascot.registry import METHOD_NAMES
from mascot.wishes import AnyWish, Limit, Share, Wish

K = 24  # default number of results
CANDIDATES = 5000  # photographs that are re-ranked: all of a small library, else the best matches or the newest

BEST_WISHES: tuple[dict[str, Any], ...] = (  # of a request for the best photographs without wishes of its own
    {"limit": "moment", "n": 1, "fill": True},
    {"spread": "month"},
    {"spread": "place"},
    {"spread": "look", "weight": 0.5},
)


@dataclass(frozen=True)
class SearchRequest:
    """A search and how to steer its results. `policy` chooses the strength, protect and order that are None.

    Parameters
    ----------
    text, like
        What to search for: words, or a photograph that the results should resemble, by its id or path. Without
        either, all photographs match, newest first; with wishes, those of high quality and with stars match better.
    since, until
        The first and the last day on which photographs were taken: ``2019-07-14``, or a whole ``2019-07`` or ``2019``.
    country, city, camera, season, weekday, part_of_day, light
        Values that photographs must have, as people write them: ``Portugal``, ``Portugal or Spain``, ``not Portugal``.
        A weekday may be ``weekend``.
    place
        A city or country, in which photographs were taken; if their place is unknown, that their words name.
    date
        Days on which photographs were taken: ``2019``, ``2017-06..2018``, ``07`` (every July), ``12-24..12-26``,
        ``easter``; also with ``or`` and ``not``.
    name
        A part of the name of the file.
    rating
        The lowest rating.
    folder
        A part of the folder's path; with a slash at its end, that folder and all folders in it.
    box
        South, west, north and east in degrees, between which photographs were taken.
    wishes
        Dictionaries such as ``{"spread": "place"}`` (see `mascot.photos.wish_text.wish_of`), or wish objects.
    k
        The number of results (default: 24).
    candidates
        The number of best matches to choose from (default: 5000).
    strength, keep, protect, order, method
        As for `mascot.Mascot`; `method` is a name or an object (default: ``mascot``). The order ``date`` shows the
        selected photographs in the order in which they were taken, those of unknown time last.
    missing
        How photographs without a value are treated: ``last``, ``neutral`` or ``drop`` (default: ``last``).
    pin, reject, already
        Ids of photographs that come first, that are never results, and that earlier pages showed.
    stacks
        Whether one photograph represents all shots of a burst and all copies of a picture (default: True).
    best
        Whether to select the best photographs: quality and stars count as relevance, clear failures are left out, and
        the results cover moments, months, places and looks unless there are wishes. The default of `order` is then
        ``date`` (default: False).
    """

    text: str | None = None
    like: int | str | os.PathLike[str] | None = None
    since: str | None = None
    until: str | None = None
    country: str | None = None
    city: str | None = None
    camera: str | None = None
    place: str | None = None
    date: str | None = None
    season: str | None = None
    weekday: str | None = None
    part_of_day: str | None = None
    light: str | None = None
    name: str | None = None
    rating: int | None = None
    folder: str | None = None
    box: tuple[float, float, float, float] | None = None
    wishes: tuple[Any, ...] = ()
    k: int = K
    candidates: int | None = None
    strength: float | None = None
    keep: float | None = None
    protect: int | None = None
    order: Literal["relevance", "selection", "date"] | None = None
    method: Any = "mascot"
    missing: Literal["last", "neutral", "drop"] = "last"
    pin: tuple[int, ...] = ()
    reject: tuple[int, ...] = ()
    already: tuple[int, ...] = ()
    stacks: bool = True
    best: bool = False

    def __post_init__(self) -> None:
        for name in ("text", *_TEXTS):
            value = getattr(self, name)
            require(value is None or isinstance(value, str), name, "must be text", value)
            if isinstance(value, str) and not value.strip():
                self._set(name, None)
        if self.text is not None and self.like is not None:
            raise OptionError("a search takes a text or like (a photograph), not both")
        valid = self.like is None or is_whole(self.like) or isinstance(self.like, (str, os.PathLike))
        require(valid, "like", "must be the id or the path of a photograph", self.like)
        for name in ("since", "until"):
            self._set(name, _day(name, getattr(self, name)))
        for name, least in {"k": 1, "candidates": 1, "rating": 0, "protect": 0}.items():
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least)
        if self.box is not None:
            self._set("box", _box(self.box))
        for name in ("strength", "keep"):
            if getattr(self, name) is not None:
                check_share(name, getattr(self, name))
        check_one_of("order", self.order, None, "relevance", "selection", "date")
        if isinstance(self.method, str):
            check_one_of("method", self.method, *METHOD_NAMES)
        check_one_of("missing", self.missing, "last", "neutral", "drop")
        check_switch("stacks", self.stacks)
        check_switch("best", self.best)
        wishes = (self.wishes,) if isinstance(self.wishes, (Mapping, Wish, Limit, Share)) else self.wishes
        require(_is_list(wishes), "wishes", "must be a list of wishes", wishes)
        self._set("wishes", tuple(wishes) or (BEST_WISHES if self.best else ()))
        if self.best and self.order is None:
            self._set("order", "date")
        for name in ("pin", "reject", "already"):
            ids = getattr(self, name)
            require(_is_list(ids) and all(map(is_whole, ids)), name, "must be ids of photographs", ids)
            self._set(name, tuple(dict.fromkeys(map(int, ids))))
        check_choice(self.pin, self.reject)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SearchRequest:
        """Return the request that `to_dict` described."""
        require(isinstance(data, Mapping), "a search request", "must be a dictionary", data)
        for name in data:
            if name not in _DEFAULTS:
                raise OptionError(f"a search request has no field {name!r}; its fields are {', '.join(_DEFAULTS)}")
        values = dict(data)
        if isinstance(values.get("method"), Mapping):
            values["method"] = mc.from_dict(values["method"])
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, ready for JSON."""
        values = {name: getattr(self, name) for name in _DEFAULTS}
        return {name: _plain(value) for name, value in values.items() if value != _DEFAULTS[name]}

    @property
    def has_query(self) -> bool:
        """Whether there are words or a photograph to compare with; otherwise all photographs match equally."""
        return self.text is not None or self.like is not None

    def retrieval(self) -> SearchRequest:
        """Return the part of the request on which the candidates depend; equal parts have equal candidates.

        There are at least `k` candidates that are neither rejected nor on an earlier page.
        """
        count = max(self.candidates or CANDIDATES, self.k + len({*self.already, *self.reject}))
        filters = {name: getattr(self, name) for name in CONDITIONS}
        return SearchRequest(self.text, self.like, k=1, candidates=count, best=self.best, **filters)

    def conditions(self, label_of: LabelOf) -> tuple[list[str], list[Any]]:
        """Return the filters as SQL expressions, and the values of their question marks."""
        filters = {name: getattr(self, name) for name in CONDITIONS if getattr(self, name) is not None}
        parts = [CONDITIONS[name](value, label_of) for name, value in filters.items()]
        return [condition for condition, _ in parts], [value for _, values in parts for value in values]

    def settled(self, wishes: Sequence[AnyWish]) -> SearchRequest:
        """Return the request with `strength`, `protect` and `order` as they are used; the wishes are resolved.

        The policy is for the method ``mascot``; other methods have defaults of their own.
        """
        if self.method != "mascot":
            return self
        values = policy(wishes, self.has_query)
        if self.keep is not None:
            values["strength"] = None  # it is searched for
        explicit = {name: getattr(self, name) for name in values if getattr(self, name) is not None}
        return replace(self, **(values | explicit))

    def build_method(self) -> Any:
        if not isinstance(self.method, str):
            return self.method
        order = None if self.order == "date" else self.order  # the selection does not depend on it
        return grammar.method(self.method, self.strength, self.protect, self.keep, order)


def policy(wishes: Sequence[AnyWish], has_query: bool) -> dict[str, Any]:
    """Return the default strength, protect and order of photo search with the method ``mascot`` and these wishes."""
    steering = [wish for wish in wishes if isinstance(wish, Wish)]
    focuses = [wish for wish in steering if wish.sign < 0]
    strength = None  # limits and shares alone leave nothing to weigh against relevance
    if any(wish.near is not None for wish in focuses):
        # Closeness to a named value is part of relevance, and outweighs it sooner than variety does. Among 24 results
        # are at least 12 of the 14 to 17 photographs of a named city of the sample library; with 0.5 there are 9 to 14.
        strength = 0.6
    elif steering:
        # A dial at its end has weight 1, and leaves a part to relevance: results vary, and still match. Without a query
        # relevance is quality, which need not differ as much.
        end = 0.8 if has_query else 0.9
        strength = round(end * min(max(wish.weight for wish in steering), 1.0), 4)
    # The best match stays, so that people recognise their search. Without a query no photograph is a better match;
    # but a focus that names no value needs one to stay near, and takes the newest.
    protect = int(has_query or (bool(focuses) and all(wish.near is None for wish in focuses)))
    # Steered results are read from the top: each one adds what those before it lack.
    return {"strength": strength, "protect": protect, "order": "selection" if steering else "relevance"}


def check_choice(pin: Iterable[int], reject: Iterable[int]) -> None:
    """Raise `OptionError` if a photograph is both pinned and rejected."""
    for id_ in sorted(set(pin) & set(reject)):
        raise OptionError(f"photograph {id_} is pinned and rejected: it can be only one of them")


def _day(name: str, value: str | None) -> str | None:
    for shape in ("%Y-%m-%d", "%Y-%m", "%Y"):
        with suppress(ValueError):
            return None if value is None else datetime.strptime(value, shape).strftime(shape)
    raise OptionError(f"{name} must be a date like 2019-07-14, 2019-07 or 2019, got {value!r}")


def _box(box: Any) -> tuple[float, ...]:
    rule = "must be south, west, north and east in degrees, south below north"
    require(_is_list(box) and len(box) == 4 and all(map(is_number, box)), "box", rule, box)
    south, west, north, east = map(float, box)
    require(-90 <= south < north <= 90 and abs(west) <= 180 and abs(east) <= 180, "box", rule, box)
    return south, west, north, east


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def _plain(value: Any) -> Any:
    """Return the value of a field as plain data for JSON."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


_TEXTS = tuple(name for name in CONDITIONS if name not in ("rating", "box"))
_DEFAULTS = {field.name: field.default for field in fields(SearchRequest)}
