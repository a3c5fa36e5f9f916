"""What requests may say and what answers look like: the types of the HTTP API."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

import mascot as mc

MOST_RESULTS = 200
MOST_CANDIDATES = 2000
MOST_OWN_CANDIDATES = 5000
MOST_WISHES = 12
MOST_COLUMNS = 50
_LONGEST_TEXT = 1000
_LONGEST_NAME = 200
_MOST_LABELS = 100  # in a cell
_LARGEST = 1e100  # of a number: squares and sums stay finite


class _Closed(BaseModel):
    """Unknown fields are mistakes, and said to be; so are numbers written as text."""

    model_config = ConfigDict(extra="forbid", strict=True)


Direction = Literal["spread", "focus"]


class PhotoWish(_Closed):
    """Spread or focus one attribute of the photographs."""

    name: Annotated[str, Field(max_length=40, examples=["place"])]
    direction: Direction
    weight: Annotated[float, Field(ge=0.001, le=1000, allow_inf_nan=False)] = 1.0
    near: Annotated[
        str | None, Field(max_length=200, description="Focus only: `Lisbon`, `38.7,-9.1`, `18:30`, `2019-07`.")
    ] = None


class Steering(_Closed):
    """How the wishes are weighed against relevance."""

    strength: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    protect: Annotated[int | None, Field(ge=0, le=MOST_RESULTS)] = None
    keep: Annotated[float | None, Field(gt=0, le=1, allow_inf_nan=False)] = None
    order: Literal["relevance", "selection"] | None = None
    method: Literal["mascot", "paper", "mmr", "kdpp", "msdpp", "clustering", "relevance"] = "mascot"


class Search(Steering):
    """Search the library for a text, for what is like one of its photographs, or without either for the newest."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "sunset over water",
                    "k": 20,
                    "wishes": [
                        {"name": "place", "direction": "spread"},
                        {"name": "hour", "direction": "focus", "near": "18"},
                    ],
                }
            ]
        },
    )
    text: Annotated[
        str | None,
        Field(max_length=_LONGEST_TEXT, description="Without words, all are of equal relevance, newest first."),
    ] = None
    like: Annotated[int | None, Field(ge=1, le=2**53, description="Id of a photograph of the library.")] = None
    wishes: Annotated[list[PhotoWish], Field(max_length=MOST_WISHES)] = []
    k: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 20
    candidates: Annotated[
        int | None,
        Field(ge=1, le=MOST_CANDIDATES, description=f"200 unless given; without words the {MOST_CANDIDATES} newest."),
    ] = None
    where: Annotated[
        str | None,
        Field(
            max_length=2000,
            pattern=r"^[^\x00]*$",
            examples=["country = 'PT' AND taken >= '2019'"],
            description="An SQL expression over the columns of the library.",
        ),
    ] = None
    missing: Literal["last", "neutral", "drop"] = "last"


class PhotoOut(BaseModel):
    """What the library knows of one photograph."""

    id: int
    path: str
    folder: str
    size: int
    width: int
    height: int
    lat: float | None
    lon: float | None
    altitude: float | None
    taken: str | None
    offset: int | None
    camera: str | None
    lens: str | None
    title: str | None
    caption: str | None
    keywords: list[str]
    rating: int | None
    city: str | None
    country: str | None
    season: str | None
    part_of_day: str | None
    moment: str | None
    problems: list[str]


class ResultOut(BaseModel):
    """One result, and why it is there."""

    rank: int
    was: int
    score: float
    relevance: float
    gains: dict[str, float]
    opened: dict[str, list[str]]
    photo: PhotoOut


class LeftOut(BaseModel):
    """One of the best candidates that were left out, and what kept it out."""

    id: int
    was: int
    relevance: float
    because: str


class SearchOut(BaseModel):
    """The steered results, and beside them what relevance alone would have shown."""

    query: str
    candidates: int
    newest_of: Annotated[
        int | None, Field(description="Without words: how many photographs the candidates are the newest of.")
    ] = None
    strength: float
    kept: Annotated[float, Field(description="Share of the best possible relevance that is kept, 0 to 1.")]
    results: list[ResultOut]
    plain: list[PhotoOut]
    left_out: list[LeftOut]
    took_ms: dict[str, float]


class Problem(BaseModel):
    """What was wrong with a request, in the library's own words."""

    kind: str
    message: str


class Failure(BaseModel):
    error: Problem


def _described(**bounds: float) -> dict[str, Any]:
    """Bounds that the library checks itself, for the schema: the library's words say more."""
    return {"json_schema_extra": bounds}


# What the library itself allows is without end, and a request that asks for too much would fill the memory.
_BOUNDS: dict[str, Any] = {
    "beta": Field(**_described(minimum=0, maximum=1)),
    "bins": Field(le=1440, **_described(minimum=1)),
    "clusters": Field(le=200, **_described(minimum=1)),
    "count": Field(le=200, **_described(minimum=1)),
    "keep": Field(**_described(exclusiveMinimum=0, maximum=1)),
    "period": Field(le=_LARGEST, **_described(exclusiveMinimum=0)),
    "protect": Field(le=MOST_OWN_CANDIDATES, **_described(minimum=0)),
    "seed": Field(ge=0, le=2**32 - 1),
    "sigma": Field(le=_LARGEST, **_described(exclusiveMinimum=0)),
    "sigma_days": Field(le=_LARGEST, **_described(exclusiveMinimum=0)),
    "sigma_km": Field(ge=0.001, le=100_000),
    "strength": Field(**_described(minimum=0, maximum=1)),
}


def _model(made: type) -> type[BaseModel]:
    """The type of a value class: its fields, and `kind`, its name, as `to_dict` writes them."""
    hints = get_type_hints(made)
    told: dict[str, Any] = {"kind": (Literal[made.__name__], ...)}
    for field in fields(made):
        hint: Any = hints[field.name]
        if field.name in _BOUNDS:
            hint = Annotated[hint, _BOUNDS[field.name]]
        elif hint is str:
            hint = Annotated[str, Field(max_length=_LONGEST_NAME)]
        told[field.name] = (hint, ... if field.default is MISSING else field.default)
    if made is mc.Clusters:
        told["column"] = (None, None)  # columns hold no vectors here; candidates have their own
    return create_model(f"{made.__name__}In", __base__=_Closed, **told)


_ATTRIBUTES = (mc.Category, mc.Clusters, mc.Cycle, mc.Date, mc.DayOfYear, mc.HourOfDay, mc.Number, mc.Place, mc.Weekday)
_METHODS = (mc.Clustering, mc.KDpp, mc.Mascot, mc.Mmr, mc.MsDpp, mc.Relevance)
if TYPE_CHECKING:
    AttributeIn = BaseModel
    MethodIn = BaseModel
else:
    AttributeIn = Annotated[reduce(or_, map(_model, _ATTRIBUTES)), Field(discriminator="kind")]
    MethodIn = Annotated[reduce(or_, map(_model, _METHODS)), Field(discriminator="kind")]
Number = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]


@dataclass(frozen=True, slots=True)
class OneOf:
    """What a value of several types may be, in words: else a mistake would be told once for each of them."""

    rule: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        union: Any = schema["schema"] if schema["type"] == "nullable" else schema
        union |= {"custom_error_type": "one_of", "custom_error_message": self.rule}
        return schema


_NUMBER, _TEXT = f"a number within {_LARGEST:g} either way", f"a text of at most {_LONGEST_TEXT:,} letters"
Cell = Annotated[
    Whole | Number | Text | Annotated[list[Text], Field(max_length=_MOST_LABELS)] | None,
    OneOf(f"must be {_NUMBER}, {_TEXT}, a list of at most {_MOST_LABELS} such texts, or null"),
]
Id = Annotated[Text | Whole, OneOf(f"must be {_TEXT} or a whole number of 64 bits")]
Near = Annotated[
    Number | Text | Annotated[list[Number], Field(min_length=2, max_length=2)] | None,
    OneOf(f"must be {_NUMBER}, {_TEXT}, a list of two such numbers, or null"),
]


class WishIn(_Closed):
    """Spread or focus an attribute of your own candidates."""

    attribute: AttributeIn
    direction: Direction
    weight: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)] = 1.0
    near: Near = None


class Rerank(_Closed):
    """Re-rank candidates you bring: scores, columns, vectors."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "ids": ["a", "b", "c"],
                    "scores": [0.9, 0.8, 0.7],
                    "columns": {"camera": ["X100", "X100", "Pixel"]},
                    "wishes": [{"attribute": {"kind": "Category", "column": "camera"}, "direction": "spread"}],
                    "k": 2,
                }
            ]
        },
    )
    scores: Annotated[list[Number], Field(min_length=1, max_length=MOST_OWN_CANDIDATES)]
    ids: Annotated[list[Id] | None, Field(max_length=MOST_OWN_CANDIDATES)] = None
    columns: Annotated[
        dict[
            Annotated[str, Field(max_length=_LONGEST_NAME)],
            Annotated[list[Cell], Field(max_length=MOST_OWN_CANDIDATES)],
        ],
        Field(max_length=MOST_COLUMNS),
    ] = {}
    vectors: Annotated[
        list[Annotated[list[Number], Field(min_length=1, max_length=4096)]] | None,
        Field(max_length=MOST_OWN_CANDIDATES),
    ] = None
    wishes: Annotated[list[WishIn], Field(max_length=MOST_WISHES)] = []
    method: MethodIn | None = None
    k: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 20
    explain: bool = False


class RankedOut(BaseModel):
    """One of your candidates, re-ranked."""

    id: Id
    position: int
    rank: int  # among these results, from 1
    was: int  # its rank by relevance, from 1
    score: float
    relevance: float
    gains: dict[str, float]


class RerankOut(BaseModel):
    results: list[RankedOut]
    strength: float
    explanation: dict[str, Any] | None = None


class Health(BaseModel):
    """The library can be read."""

    status: Literal["ok"]


class Suggestion(BaseModel):
    """A search that finds something, and a photograph it finds."""

    text: str
    photo: int


class LibraryOut(BaseModel):
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
    labels: dict[str, dict[str, int]]
    distinct: dict[str, int]
    choices: Annotated[
        dict[str, dict[str, int]],
        Field(description="Cameras, countries and ratings to filter by, and how many photographs have each."),
    ]
    skipped: int
    attributes: list[str]
    points: Annotated[list[list[float]], Field(description="Latitude and longitude of photographs, thinned.")]
    suggestions: list[Suggestion]
