"""Random problems of every kind of wish, rule and option, and what the library selects for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mascot as mc
from mascot.wishes import AnyWish

Problem = dict[str, Any]  # the arguments of `rerank`
Draw = Callable[[np.random.Generator, mc.Candidates[int]], Problem]
PLACE, HOUR, PRICE, VECTORS = mc.Place(), mc.HourOfDay("hour"), mc.Number("price", scale="linear"), mc.Vectors()
ATTRIBUTES = [PLACE, mc.Place.grid(), HOUR, PRICE, "who", "tags", mc.Date("day"), mc.Weekday("day")]
NAMED = [(PLACE, (48.2, 16.4)), (HOUR, 18), (PRICE, 3.0), ("who", "b"), (mc.Date("day"), "2021-06-01")]


def candidates_of(rng: np.random.Generator) -> mc.Candidates[int]:
    """Return up to 80 candidates; every other list has few distinct scores, so that ties are common."""
    n = int(rng.integers(5, 80))
    scores = rng.random(n) if rng.random() < 0.5 else rng.integers(0, 6, n) / 5
    days = np.datetime64("2019-01-01") + rng.integers(0, 1200, n).astype("timedelta64[D]")
    columns = {
        "lat": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-80, 80, n)),
        "lon": rng.uniform(-180, 180, n),
        "hour": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, n)),
        "price": rng.lognormal(size=n),
        "who": _labels(rng, ["a", "b", "c", "d", "e", None], n),
        "brand": _labels(rng, list("uvwxyz"), n),
        "tags": [sorted({"new", "red", "big"} - {str(tag)}) for tag in rng.choice(["new", "red", "big"], n)],
        "day": [str(day) for day in days],
    }
    return mc.Candidates(scores, columns=columns, vectors=rng.normal(size=(n, 4)).round(3))


def _labels(rng: np.random.Generator, values: list[Any], n: int) -> list[Any]:
    return [values[i] for i in rng.integers(0, len(values), n)]


def _one(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(0, len(values)))]


def _some(rng: np.random.Generator, *directions: Any) -> list[Any]:
    """Return one to three wishes for different attributes in these directions."""
    picks = rng.choice(len(ATTRIBUTES), int(rng.integers(1, 4)), replace=False)
    return [_one(rng, list(directions))(ATTRIBUTES[i], float(_one(rng, [1, 1, 2]))) for i in picks]


def _near(rng: np.random.Generator) -> AnyWish:
    attribute, value = _one(rng, NAMED)
    return mc.focus(attribute, near=value)


def _shares(rng: np.random.Generator) -> AnyWish:
    shares = _one(rng, [{"a": 0.5}, {"a": 0.4, "b": 0.4}, {"c": 0.2, "d": 0.2}])
    return mc.share("who", shares, bound=_one(rng, ["exactly", "at least", "at most"]))


def _paper(rng: np.random.Generator, *directions: Any) -> Problem:
    method = mc.Mascot.paper(_one(rng, [0.2, 0.5, 0.9]), _one(rng, ["query", "uniform"]), bool(rng.random() < 0.5))
    attributes = [PLACE, mc.Place.grid(), HOUR, PRICE, "who"]
    picks = rng.choice(len(attributes), int(rng.integers(1, 4)), replace=False)
    return {"wishes": [_one(rng, list(directions))(attributes[i]) for i in picks], "method": method}


def _limit(rng: np.random.Generator, **options: Any) -> AnyWish:
    return mc.limit(_one(rng, ["who", "brand", "tags"]), int(rng.integers(1, 4)), **options)


def _pins(rng: np.random.Generator, rows: mc.Candidates[int]) -> Any:
    """Return one or two candidates to pin, as a list or with positions."""
    pins = [int(i) for i in rng.choice(len(rows), 2, replace=False)]
    return pins if rng.random() < 0.5 else {pins[0]: 2, pins[1]: 4}


def _earlier(rng: np.random.Generator, rows: mc.Candidates[int]) -> list[int]:
    return [int(i) for i in rng.choice(len(rows), min(4, len(rows)), replace=False)]


BOTH = (mc.spread, mc.focus)
KINDS: dict[str, tuple[int, Draw]] = {
    "paper, spread": (120, lambda rng, _: _paper(rng, mc.spread)),
    "paper, focus": (120, lambda rng, _: _paper(rng, mc.focus)),
    "paper, mixed": (120, lambda rng, _: _paper(rng, *BOTH)),
    "spread": (160, lambda rng, _: {"wishes": _some(rng, mc.spread)}),
    "focus": (100, lambda rng, _: {"wishes": _some(rng, mc.focus)}),
    "focus near": (100, lambda rng, _: {"wishes": [_near(rng)]}),
    "focus near, spread": (60, lambda rng, _: {"wishes": [_near(rng), mc.spread("brand")]}),
    "mixed": (60, lambda rng, _: {"wishes": _some(rng, *BOTH)}),
    "strength": (80, lambda rng, _: {"wishes": _some(rng, mc.spread), "strength": _one(rng, [0, 0.1, 0.3, 0.9, 1])}),
    "protect": (60, lambda rng, _: {"wishes": _some(rng, mc.spread), "protect": _one(rng, [0, 1, 2, 5])}),
    "order": (40, lambda rng, _: {"wishes": _some(rng, mc.spread), "order": "selection"}),
    "keep": (60, lambda rng, _: {"wishes": _some(rng, mc.spread), "keep": _one(rng, [0.8, 0.9, 0.95, 1])}),
    "missing": (60, lambda rng, _: {
        "wishes": [mc.spread(mc.HourOfDay("hour", missing=_one(rng, ["neutral", "drop"])))]}),
    "limit": (120, lambda rng, _: {"wishes": [mc.spread(HOUR), _limit(rng)]}),
    "limit, focus near": (40, lambda rng, _: {"wishes": [_near(rng), _limit(rng)]}),
    "limit, fill": (60, lambda rng, _: {"wishes": [mc.spread(HOUR), _limit(rng, fill=True)]}),
    "limit of values": (60, lambda rng, _: {
        "wishes": [mc.spread(PRICE), mc.limit("who", {"a": 1, "b": 0}, others=_one(rng, [None, 2]))]}),
    "limit of combinations": (20, lambda rng, _: {"wishes": [mc.limit(("who", "brand"), 1)]}),
    "limit, missing": (40, lambda rng, _: {"wishes": [mc.limit("who", 1, missing=_one(rng, ["value", "drop"]))]}),
    "limit of hours": (20, lambda rng, _: {"wishes": [mc.limit(HOUR, 1), mc.spread("who")]}),
    "limit, window": (60, lambda rng, _: {
        "wishes": [mc.spread(HOUR), _limit(rng, window=int(rng.integers(4, 7)))]}),
    "limit, first": (60, lambda rng, _: {
        "wishes": [mc.spread(HOUR), mc.limit("who", {"a": 0, "b": 1}, first=int(rng.integers(2, 6)))]}),
    "limit, session": (40, lambda rng, rows: {
        "wishes": [mc.spread(HOUR), mc.limit("brand", 2, session=True)], "already": _earlier(rng, rows)}),
    "share": (60, lambda rng, _: {"wishes": [mc.spread("brand"), _shares(rng)]}),
    "at_least": (40, lambda rng, _: {"wishes": [mc.spread("brand"), mc.at_least("who", {"a": 2, "c": 1})], "k": 12}),
    "share and limit": (60, lambda rng, _: {"wishes": [_shares(rng), mc.limit("brand", 2)]}),
    "two shares": (20, lambda rng, _: {"wishes": [_shares(rng), mc.share("brand", {"u": 0.3}, bound="at least")]}),
    "pins": (40, lambda rng, rows: {"wishes": _some(rng, mc.spread), "pin": _pins(rng, rows), "k": 10}),
    "already": (60, lambda rng, rows: {"wishes": _some(rng, *BOTH), "already": _earlier(rng, rows)}),
    "Mmr": (40, lambda rng, _: {"wishes": [mc.spread("who")] * (rng.random() < 0.5), "method": mc.Mmr(0.5)}),
    "Relevance": (20, lambda rng, _: {"wishes": [_limit(rng)], "method": mc.Relevance()}),
    "vectors": (60, lambda rng, _: {
        "wishes": [_one(rng, [mc.spread, mc.spread, mc.focus])(VECTORS)], "strength": _one(rng, [0.2, 0.5, 0.8])}),
    "vectors, near": (20, lambda rng, _: {"wishes": [mc.focus(VECTORS, near=[1.0, 0.0, 0.0, 0.5])]}),
}  # fmt: skip


def selections() -> Iterator[tuple[str, int, list[int]]]:
    """Yield the kind, the number and the selected positions of each problem."""
    for place, (kind, (count, draw)) in enumerate(KINDS.items()):
        for number in range(count):
            rng = np.random.default_rng([place, number])
            rows = candidates_of(rng)
            arguments = {"k": int(rng.integers(4, 25))} | draw(rng, rows)
            yield kind, number, mc.rerank(rows, **arguments).positions.tolist()
