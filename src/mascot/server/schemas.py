"""Types of the HTTP API: requests and their limits, and answers."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from mascot import registry
from mascot.connect.converters.convert import ENGINES
from mascot.constraints import Bound, Uncounted
from mascot.photos.photo import json_types
from mascot.photos.request import SearchRequest
from mascot.photos.sentences import Chip, Ignored
from mascot.server.settings import limit

MOST_RESULTS = limit("most_results", 200)
MOST_OWN_CANDIDATES = limit("most_candidates", 5000)
LARGEST_EXPORT = 4 << 30  # bytes of the photographs in an archive
MOST_COLUMNS = 50
LONGEST_VECTOR = 4096
LARGEST = 1e100  # of a number: squares and sums stay finite
_MOST_CANDIDATES = 5000
_MOST_CHOSEN = 5000  # photographs that a choice or an export holds
_LONGEST_TEXT = 1000

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Text = Annotated[str, Meta(max_length=_LONGEST_TEXT)]
Name = Annotated[str, Meta(max_length=200)]
Share = Annotated[float, Meta(ge=0, le=1)]
Keep = Annotated[float, Meta(gt=0.0, le=1.0)]
Weight = Annotated[float, Meta(ge=1e-6, le=1e6)]
Within = Annotated[float, Meta(gt=0.0, le=LARGEST)]
PhotoId = Annotated[int, Meta(ge=1, le=2**53)]
Photos = Annotated[list[PhotoId], Meta(max_length=_MOST_CHOSEN)]
Id = Text | Integer
Leaf = bool | Integer | Number | Text | None
CellList = Annotated[list[Leaf], Meta(max_length=4096)]
Cell = bool | Integer | Number | Text | CellList | dict[str, Any] | None
Column = Annotated[list[Cell], Meta(max_length=MOST_OWN_CANDIDATES)]
Vector = Annotated[list[Number], Meta(min_length=1, max_length=LONGEST_VECTOR)]
Near = bool | Number | Text | Vector | None
Count = Annotated[int, Meta(ge=1, le=MOST_RESULTS)]
Wishes = Annotated[list[dict[str, Any]], Meta(max_length=12)]  # decoded one by one: the key of each tells its kind


class _Body(Struct, forbid_unknown_fields=True):
    """A part of a request: unknown fields and numbers written as text are errors."""


# Attributes and methods: one type for each public class of values

_BOUNDS: dict[str, dict[str, float]] = {  # upper limits of the server; the library has none
    "bins": {"ge": 1, "le": 1440},
    "cells": {"ge": 2, "le": 200},
    "count": {"ge": 1, "le": 200},
    "counts": {"ge": 1, "le": 1000},
    "edges": {"ge": -LARGEST, "le": LARGEST},
    "keep": {"gt": 0, "le": 1},
    "period": {"ge": 1e-6, "le": LARGEST},
    "protect": {"ge": 0, "le": MOST_OWN_CANDIDATES},
    "seed": {"ge": 0, "le": 2**31 - 1},
    "sigma": {"gt": 0, "le": LARGEST},
    "sigma_days": {"gt": 0, "le": LARGEST},
    "sigma_km": {"ge": 0.001, "le": 100_000},
    "strength": {"ge": 0, "le": 1},
}


def _bounded(hint: Any, bounds: dict[str, float]) -> Any:
    """Return the type with bounds on the numbers in it."""
    if hint in (int, float):
        limits: dict[str, Any] = {name: hint(bound) for name, bound in bounds.items()}
        return Annotated[hint, Meta(**limits)]
    if get_origin(hint) in (Union, types.UnionType):
        return Union[tuple(_bounded(part, bounds) for part in get_args(hint))]  # noqa: UP007 - of a tuple
    if get_origin(hint) in (tuple, Sequence):
        part = _bounded(get_args(hint)[0], bounds)
        return Annotated[tuple[part, ...], Meta(min_length=1, max_length=20)]  # type: ignore[valid-type]
    return hint


def _struct(cls: type) -> type[Struct]:
    """Return the type of what `to_dict` of a class writes: `kind`, the name of the class, and its parameters."""
    hints = get_type_hints(cls)
    members: list[Any] = []
    for field in fields(cls):
        hint: Any = hints[field.name]
        if field.name in _BOUNDS:
            hint = _bounded(hint, _BOUNDS[field.name])
        elif hint is str:
            hint = Name
        members.append((field.name, hint) if field.default is MISSING else (field.name, hint, field.default))
    return msgspec.defstruct(
        cls.__name__, members, tag_field="kind", tag=cls.__name__, forbid_unknown_fields=True, kw_only=True
    )


ATTRIBUTES = {cls.__name__: _struct(cls) for cls in registry.ATTRIBUTES}
METHODS = {cls.__name__: _struct(cls) for cls in registry.METHODS}
EngineName: Any = Literal.__getitem__(ENGINES)
MethodName: Any = Literal.__getitem__(registry.METHOD_NAMES)
MethodIn: Any = Union[tuple(METHODS.values())]  # noqa: UP007 - of a tuple
AttributeIn: Any = Union[Name, Union[tuple(ATTRIBUTES.values())]]  # noqa: UP007 - a text is a column


# Wishes: one type each, identified by its first field, in the form that `mascot.from_dict` reads


_Most = Annotated[int, Meta(ge=0, le=MOST_RESULTS)]
_NAMED = Meta(min_length=1, max_length=MOST_RESULTS)
_Names = Annotated[list[Name], Meta(min_length=2, max_length=4)]  # columns whose combinations are counted


def _wish_types(names: str, docs: dict[str, str], attribute: Any, near: Any, weight: Any, label: Any) -> dict[str, Any]:
    """Return the type of each kind of wish, by its first field; `names` is the template of the names of the types."""
    # fmt: off
    members: dict[str, list[Any]] = {
        "spread": [("weight", weight, 1.0)],
        "focus": [("near", near, None), ("within", Within | None, None), ("weight", weight, 1.0)],
        "limit": [
            ("n", _Most | Annotated[dict[label, _Most], _NAMED]), ("fill", bool, False), ("window", Count | None, None),
            ("first", Count | None, None), ("others", _Most | None, None), ("missing", Uncounted, "ignore"),
            ("session", bool, False),
        ],
        "at_least": [("counts", Annotated[dict[label, Count], _NAMED]), ("first", Count | None, None)],
        "share": [("shares", Annotated[dict[label, Share], _NAMED]), ("bound", Bound, "exactly")],
    }
    # fmt: on
    return {
        kind: msgspec.defstruct(
            names.format(kind.title().replace("_", "")),
            [(kind, attribute if kind in ("spread", "focus") else attribute | _Names), *others],
            bases=(_Body,),
            namespace={"__doc__": docs[kind]},
        )
        for kind, others in members.items()
    }


_WISH_DOCS = {
    "spread": "Results from many different values of an attribute.",
    "focus": "Results from few values of an attribute, or near one value.",
    "limit": "At most `n` results per value of an attribute, in every `window` results, or among the `first` ones.",
    "at_least": "At least this many results of values, on the page or among the `first` ones; a value is text.",
    "share": "Target shares of the values of an attribute; a value is written as text.",
}
WISHES = _wish_types("{}Wish", _WISH_DOCS, AttributeIn, Near, Weight, str)


Pins = (
    Annotated[list[Id], Meta(max_length=MOST_RESULTS)]
    | Annotated[dict[str, Count], Meta(max_length=MOST_RESULTS, description="The position of each id, counted from 1.")]
)


_NEAR_VALUES = Meta(max_length=12, description="Values of focuses of the profile, by the names of their attributes.")


class Rerank(_Body, kw_only=True):
    """Candidates to re-rank, and the options. Send `scores`, `records`, or `response` with `from`."""

    wishes: Wishes = []
    method: MethodIn | None = None
    k: Annotated[Count | None, Meta(description="Default: 20, or that of the profile.")] = None
    strength: Share | None = None
    keep: Keep | None = None
    protect: Annotated[int, Meta(ge=0, le=MOST_OWN_CANDIDATES)] | None = None
    profile: Annotated[Name | None, Meta(description="The name of a profile: see `/api/profiles`.")] = None
    key: Annotated[Text | None, Meta(description="A user or session, which always gets the same variant.")] = None
    variant: Annotated[Name | None, Meta(description="A variant of the profile, instead of `key`.")] = None
    near: Annotated[dict[Name, Near], _NEAR_VALUES] = {}
    already: Annotated[list[Id], Meta(max_length=MOST_OWN_CANDIDATES)] = []
    order: Literal["relevance", "selection"] | None = None
    pin: Pins = []
    gains: bool = False
    explain: bool = False
    scores: Annotated[list[Number], Meta(max_length=MOST_OWN_CANDIDATES)] | None = None
    ids: Annotated[list[Id], Meta(max_length=MOST_OWN_CANDIDATES)] | None = None
    columns: Annotated[dict[Name, Column], Meta(max_length=MOST_COLUMNS)] = {}
    vectors: Annotated[list[Vector | None], Meta(max_length=MOST_OWN_CANDIDATES)] | None = None
    records: Annotated[list[dict[str, Any]], Meta(max_length=MOST_OWN_CANDIDATES)] | None = None
    id: Annotated[Name | None, Meta(description="The field of the ids of records (default: `id`).")] = None
    score: Annotated[Name | None, Meta(description="The field of the scores of records (default: `score`).")] = None
    vector: Annotated[Name | None, Meta(description="The field of the vectors of records or hits.")] = None
    from_: Annotated[EngineName | None, Meta(description="The engine of `response`.")] = msgspec.field(
        default=None, name="from"
    )
    response: Annotated[Any, Meta(description="What the engine returned, unchanged.")] = None


class RankedOut(Struct, omit_defaults=True):
    """One result: a candidate, and its ranks before and after."""

    id: Id
    position: int
    rank: int  # among these results, from 1
    was: int  # its rank by relevance, from 1
    score: float
    relevance: float
    gains: dict[str, float] | UnsetType = UNSET
    because: Annotated[str, Meta(description="One sentence: why this result is here.")] | UnsetType = UNSET


class ProfileUsed(Struct, omit_defaults=True):
    """The profile that an answer obeys: the hash of its rules, and the variant, if it has variants."""

    name: str
    version: str
    variant: str = ""


class RerankOut(Struct, omit_defaults=True):
    """The re-ranked candidates, best first. `gains`, `because` and `explanation` are there only if requested."""

    results: list[RankedOut]
    strength: float
    profile: ProfileUsed | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType = UNSET


# Photographs


_TEXT = Meta(max_length=_LONGEST_TEXT, description="Without words all are equally relevant.")
_SENTENCE = Meta(
    max_length=_LONGEST_TEXT,
    description="Instead of `text`: a sentence, parts of which become filters and wishes. Fields of the request "
    "override it, and its wishes are added.",
)
_PIN = Meta(max_length=MOST_RESULTS, description="Always in the result, first, and completed by the others up to k.")
_CANDIDATES = Meta(ge=1, le=_MOST_CANDIDATES, description="Default: 5000; without words the newest.")
_BOX = Meta(description="South, west, north and east in degrees.")
_NEAR = Meta(max_length=200, description="As people write it: `Lisbon`, `38.7,-9.1`, `18:30`, `6pm`, `2019-07`.")
_Latitude = Annotated[float, Meta(ge=-90, le=90)]
_Longitude = Annotated[float, Meta(ge=-180, le=180)]
_Ids = Annotated[tuple[PhotoId, ...], Meta(max_length=_MOST_CHOSEN)]
_Attribute = Annotated[str, Meta(max_length=40, examples=["place"])]
_PhotoWeight = Annotated[float, Meta(ge=0.001, le=1000)]


_PHOTO_WISH_DOCS = {
    "spread": 'Results from many values of an attribute of the photographs: `{"spread": "place"}`.',
    "focus": 'Results from few values, or near one: `{"focus": "hour", "near": "18:00", "within": 1}`.',
    "limit": 'At most `n` results per value: `{"limit": "day", "n": 2}`.',
    "at_least": 'At least this many results of values: `{"at_least": "country", "counts": {"Portugal": 3}}`.',
    "share": 'Target shares of values, each as people write it: `{"share": "country", "shares": {"Portugal": 0.6}}`.',
}
_PhotoNear = Annotated[str, _NEAR] | Number | Annotated[list[Number], Meta(min_length=2, max_length=2)] | None
PHOTO_WISHES = _wish_types("Photo{}", _PHOTO_WISH_DOCS, _Attribute, _PhotoNear, _PhotoWeight, Text)
# The fields of a search whose type over HTTP differs from that of `SearchRequest`: a server needs upper limits.
_SEARCH_TYPES: dict[str, Any] = {
    "text": Annotated[str, _TEXT] | None,
    "like": PhotoId | None,
    "rating": Annotated[int, Meta(ge=0, le=5, description="The lowest rating.")] | None,
    "box": Annotated[tuple[_Latitude, _Longitude, _Latitude, _Longitude], _BOX] | None,
    "wishes": Wishes,
    "k": Count,
    "candidates": Annotated[int, _CANDIDATES] | None,
    "strength": Share | None,
    "keep": Keep | None,
    "protect": Annotated[int, Meta(ge=0, le=MOST_RESULTS)] | None,
    "method": MethodName,
    "pin": Annotated[tuple[PhotoId, ...], _PIN],
    "reject": Annotated[_Ids, Meta(description="Never in the result.")],
    "already": Annotated[_Ids, Meta(description="Shown by earlier pages: counted as covered, not shown again.")],
    "stacks": Annotated[bool, Meta(description="One photograph for all shots of a burst and all copies.")],
}


def _search_struct() -> Any:
    """Return the type of a search: the fields of `SearchRequest`."""
    hints = {name: Name | None if hint == str | None else hint for name, hint in get_type_hints(SearchRequest).items()}
    types: dict[str, Any] = hints | _SEARCH_TYPES
    members = [(field.name, types[field.name], field.default) for field in fields(SearchRequest)]
    members.append(("sentence", Annotated[str, _SENTENCE] | None, None))
    text = "Search the library for a text, for photographs like one of them, or without either for the newest."
    return msgspec.defstruct("Search", members, bases=(_Body,), namespace={"__doc__": text})


Search = _search_struct()
_PHOTO = {"__doc__": "The metadata of one photograph."}
PhotoOut: Any = msgspec.defstruct("PhotoOut", json_types(), namespace=_PHOTO)  # what `Photo.to_dict` returns


class PhotoDetails(PhotoOut):  # type: ignore[misc]
    """The metadata of one photograph, the text in the picture, and the parts of its quality."""

    text: Annotated[str | None, Meta(description="The text in the picture, if `mascot index --text` read it.")]
    quality_parts: Annotated[dict[str, float], Meta(description="From 0 to 1; a document, screen or test card: 1.")]


class ResultOut(Struct):
    """One result, and why it is there."""

    rank: int
    was: int
    score: float
    relevance: float
    gains: dict[str, float]
    opened: dict[str, list[str]]
    because: Annotated[str, Meta(description="Why it was selected; empty without wishes.")]
    photo: PhotoOut
    similar: Annotated[list[int], Meta(description="Ids of the photographs that it stands for: a burst, copies.")] = []
    pinned: bool = False
    good: Annotated[bool | None, Meta(description="Whether it matches the text well; null without words.")] = None


class LeftOut(Struct):
    """One of the best candidates that were left out, and the reason."""

    id: int
    was: int
    relevance: float
    because: str


class TargetOut(Struct):
    """What a focus is near: the text of the request, and the place, hour or date that it means."""

    name: str
    near: str
    lat: float | None = None
    lon: float | None = None
    hour: float | None = None
    date: str | None = None
    nearest: Annotated[str | None, Meta(description="If no result is close: `nearest is 5,000 km away`.")] = None


class DropOut(Struct):
    """A chip, by its position, and the number of results without it."""

    chip: int
    label: str
    count: int


class UnderstoodOut(Struct):
    """What was understood of a sentence."""

    sentence: str
    text: Annotated[str | None, Meta(description="The words that are searched for.")]
    line: Annotated[str, Meta(description="What was understood, in one line.")]
    chips: list[Chip]
    ignored: list[Ignored]
    drop: Annotated[list[DropOut], Meta(description="If there are few results: which chip to drop, best first.")] = []


class Sentence(_Body):
    """A sentence to be understood."""

    sentence: Text


class SearchOut(Struct, kw_only=True):
    """The steered results, and beside them the results by relevance alone."""

    query: str
    request: Annotated[dict[str, Any], Meta(description="The request, with the strength, protect and order in use.")]
    candidates: int
    newest_of: Annotated[
        int | None, Meta(description="Without words: how many photographs the candidates are the newest of.")
    ] = None
    strength: float
    kept: Annotated[float, Meta(description="Share of the best possible relevance that is kept, 0 to 1.")]
    results: list[ResultOut]
    plain: list[PhotoOut]
    left_out: list[LeftOut]
    targets: Annotated[list[TargetOut], Meta(description="What each focus with `near` is near to.")] = []
    took_ms: dict[str, float]
    understood: UnderstoodOut | None = None
    good_matches: Annotated[
        int | None, Meta(description="How many candidates match the text well; 0: nothing fits. Null without words.")
    ] = None


class ChoiceIn(_Body):
    """A choice to save: its photographs, the rejected ones, and the search they come from, as for `/api/search`."""

    photos: Photos
    rejected: Photos = []
    query: dict[str, Any] | None = None


class ChoiceOut(Struct):
    """A saved choice. `missing` counts its photographs that the library does not hold any more."""

    name: str
    photos: list[int]
    rejected: list[int]
    query: dict[str, Any] | None
    missing: int


class ChoicesOut(Struct):
    """The saved choices, by name."""

    choices: list[ChoiceOut]


class Deleted(Struct):
    """The name of the choice that was deleted."""

    deleted: str


class Export(_Body):
    """Photographs to download: their files in a ZIP archive, or one HTML page with small pictures."""

    photos: Annotated[list[PhotoId], Meta(min_length=1, max_length=_MOST_CHOSEN)]
    format: Literal["zip", "album"] = "zip"
    title: Name = "Photographs"


class Suggestion(Struct):
    """A search with results, and a photograph among them."""

    text: str
    photo: int


class HomeOut(Struct):
    """The place that was photographed in most months."""

    city: str
    country: str


class PeriodOut(Struct):
    """A trip or a year: its days, its numbers, the photograph that represents it, and the search for it."""

    name: str
    place: str | None
    country: str | None
    since: str
    until: str
    photos: int
    moments: int
    cover: int
    request: dict[str, Any]
    best: Annotated[dict[str, Any] | None, Meta(description="The search for its best; null if it has few.")]


class TripsOut(Struct):
    """The trips and the years of a library, the newest first."""

    home: HomeOut | None
    trips: list[PeriodOut]
    years: list[PeriodOut]


class LibraryOut(Struct):
    """What is in the library."""

    photos: int
    encoder: str
    notice: str | None
    without_place: int
    without_time: int
    without_words: int
    first: str | None
    last: str | None
    moments: int
    hours: list[int]
    years: dict[str, int]
    months: Annotated[dict[str, int], Meta(description="Photographs of each month (`2019-07`) that has some.")]
    labels: dict[str, dict[str, int]]
    distinct: dict[str, int]
    choices: Annotated[
        dict[str, dict[str, int]],
        Meta(description="Cameras, countries and ratings to filter by, and how many photographs have each."),
    ]
    skipped: int
    attributes: list[str]
    points: Annotated[list[list[float]], Meta(description="Latitude and longitude of photographs, thinned.")]
    best: Annotated[dict[str, Any], Meta(description="The search for the best photographs of the library.")]
    suggestions: list[Suggestion]
