"""The words that a sentence is read by: `words.csv`, and the places, cameras and file names of a library."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from mascot.photos.database.conditions import CONDITIONS
from mascot.photos.metadata.gazetteer import gazetteer, without_accents
from mascot.photos.trips import Period, Trips

if TYPE_CHECKING:
    from mascot.photos.database.store import Store

CITY_NAMES = "city_names"  # the fact of a library that holds the other names of its cities
LONGEST_SENTENCE = 1000  # characters
_LONGEST_PHRASE = 5  # words
# Text in double quotes; words, with the signs inside dates, file names and times; stars; punctuation.
_TOKEN = re.compile(r"""["“”„«»]([^"“”„«»]*)["“”„«»]|['’]\d\d\b|[^\W_]+(?:[-–_.'’/:][^\W_]+)*|★+|[-–,;.:!?&]""")
_NUMBER = re.compile(r"(\d{1,3})(?:st|nd|rd|th)?")
_NUMBERS = re.compile(r"(\d\d?)[-–](\d\d?)")
_YEARS = re.compile(r"((?:19|20)\d\d)[-–/]((?:19|20)?\d\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO_DAY = re.compile(r"((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?")
_DOTTED_DAY = re.compile(r"(\d\d?)[./](\d\d?)[./]((?:19|20)\d\d)")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])[:.][0-5]\d|(?:0?[1-9]|1[0-2])(?:[:.][0-5]\d)?[ap]m")
_STARS = re.compile(r"([1-5])-?(?:stars?|sterne?)|(★{1,5})")
_FILE = re.compile(
    r"(?=.*\d)(?=.*[a-z]).*_.*|[a-z]{1,4}\d{3,}|.*\.(?:jpe?g|heic|heif|png|tiff?|webp|dng|cr[23]|nef|arw)"
)

_Phrase = tuple[str, ...]  # normalized words
Meaning = tuple[str, Any]  # the role of a phrase in a sentence, and its value


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A phrase of a sentence: its role, its value, and where it is, in characters."""

    role: str
    value: Any
    start: int
    end: int


def normalized(word: str) -> str:
    """Return a word without case and accents, as phrases are compared."""
    return without_accents(word.casefold()).replace("’", "'")


def phrase(text: str) -> _Phrase:
    return tuple(normalized(match[0]) for match in _TOKEN.finditer(text) if match[1] is None)


class _WordTable(NamedTuple):
    """The contents of `words.csv`."""

    meanings: dict[_Phrase, Meaning]
    countries: dict[str, list[_Phrase]]  # names by alpha-2 code
    brands: dict[str, list[_Phrase]]  # names of cameras, by words of their models
    ambiguous: set[_Phrase]


@cache
def _table() -> _WordTable:
    table = _WordTable({}, defaultdict(list), defaultdict(list), set())
    with (files("mascot.photos.sentences") / "words.csv").open(encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        for role, value, *languages in rows:
            for words in (phrase(form) for forms in languages for form in forms.split("|") if form):
                if role in ("country", "brand"):
                    (table.countries if role == "country" else table.brands)[value].append(words)
                elif role == "ambiguous":
                    table.ambiguous.add(words)
                else:
                    table.meanings.setdefault(words, (role, int(value) if value.isdigit() else value))
    return table


@dataclass(frozen=True)
class Vocabulary:
    """The names that a library gives meaning to; other names stay words to search for."""

    cities: Mapping[str, Collection[str]] = field(default_factory=dict)  # each with the names of its countries
    countries: Mapping[str, str] = field(default_factory=dict)  # English names by alpha-2 code
    cameras: Iterable[str] = ()
    other_names: Mapping[str, str] = field(default_factory=dict)  # such as `Lissabon`, and the city that each means
    has_file: Callable[[str], bool] = lambda _: False  # returns whether a file has this text in its name
    trips: Callable[[], Sequence[Period]] = tuple  # returns the trips, the newest first
    _names: Mapping[_Phrase, Meaning] = field(init=False)
    _uncertain: Collection[_Phrase] = field(init=False)

    def __post_init__(self) -> None:
        table = _table()
        names: dict[_Phrase, Meaning] = {}
        for camera, words in ((camera, phrase(camera)) for camera in self.cameras):
            ends = range(1, len(words) + 1)
            aliases = {words[first:last] for last in ends for first in range(last)}
            for models, brands in table.brands.items():
                aliases.update(() if set(models.split()).isdisjoint(words) else brands)
            for alias in aliases:
                if alias not in table.meanings and not all(map(str.isdigit, alias)):
                    labels = names.get(alias, ("camera", ()))[1]
                    names[alias] = ("camera", (*labels, camera))
        uncertain = {phrase(name) for name in self.other_names} - {phrase(city) for city in self.cities}
        for name, city in {**self.other_names, **dict(zip(self.cities, self.cities, strict=True))}.items():
            for words in (phrase(name), phrase(re.sub(r" City$", "", name))):
                names[words] = ("place", city)
        for code, country in self.countries.items():
            for words in (phrase(country), *table.countries.get(code, ())):
                names[words] = ("place", country)
        object.__setattr__(self, "_names", {words: meaning for words, meaning in names.items() if words})
        object.__setattr__(self, "_uncertain", uncertain | table.ambiguous)

    def is_ambiguous(self, text: str) -> bool:
        """Return whether a phrase may also be ordinary words: Nice, May, or a name of a city in another language."""
        return phrase(text) in self._uncertain

    @classmethod
    def of_library(cls, store: Store) -> Vocabulary:
        run, names = store.connection.execute, gazetteer()
        places = run("SELECT DISTINCT city, country FROM photos WHERE country IS NOT NULL").fetchall()
        countries = {code: names.country_name(code) for _, code in places}
        cities: dict[str, set[str]] = defaultdict(set)
        for city, code in places:
            if city is not None:
                cities[city].add(countries[code])
        cameras = [row[0] for row in run("SELECT DISTINCT camera FROM photos WHERE camera IS NOT NULL ORDER BY 1")]

        def has_file(name: str) -> bool:
            condition, values = CONDITIONS["name"](name, lambda _, value: value)
            return run(f"SELECT 1 FROM photos WHERE {condition} LIMIT 1", values).fetchone() is not None

        @cache
        def trips() -> Sequence[Period]:
            return Trips.of_library(store).trips

        return cls(dict(cities), countries, cameras, json.loads(store.fact(CITY_NAMES) or "{}"), has_file, trips)

    def lexemes(self, sentence: str) -> list[Lexeme]:
        """Return the phrases of a sentence; at each word the longest phrase with a meaning."""
        tokens = list(_TOKEN.finditer(sentence))
        words = ["" if token[1] is not None else normalized(token[0]) for token in tokens]
        lexemes, at = [], 0
        while at < len(tokens):
            if tokens[at][1] is not None:
                role, value, count = "quoted", tokens[at][1], 1
            else:
                role, value, count = self._meaning(words, at, tokens[at][0])
            lexemes.append(Lexeme(role, value, tokens[at].start(), tokens[at + count - 1].end()))
            at += count
        return lexemes

    def _meaning(self, words: list[str], at: int, written: str) -> tuple[str, Any, int]:
        """Return role, value and number of words of the longest phrase with a meaning at a position."""
        for count in range(min(_LONGEST_PHRASE, len(words) - at), 0, -1):
            key = tuple(words[at : at + count])
            meaning = self._names.get(key) or _table().meanings.get(key)
            if meaning is not None:
                return *meaning, count
        return *self._token_meaning(words[at], written), 1

    def _token_meaning(self, word: str, written: str) -> Meaning:
        """Return the role and value of a word that no table has: a number, a date, a time, a file, or a plain word."""
        if match := _STARS.fullmatch(word):
            return "rating", int(match[1] or len(match[2]))
        if (match := _YEARS.fullmatch(word)) and (years := _years(*match.groups(), is_month="-" in word)):
            return "years", years
        if _YEAR.fullmatch(word) or word[0] == "'":
            return "year", int(word) if word[0] != "'" else int(word[1:]) + (2000 if word[1:] < "60" else 1900)
        if match := _ISO_DAY.fullmatch(word):
            return "day", (int(match[1]), int(match[2]), int(match[3] or 0))
        if match := _DOTTED_DAY.fullmatch(word):
            return "day", (int(match[3]), int(match[2]), int(match[1]))
        if _CLOCK.fullmatch(word):
            return "clock", word.replace(".", ":")
        if match := _NUMBERS.fullmatch(word):
            return "numbers", (int(match[1]), int(match[2]))
        if match := _NUMBER.fullmatch(word):
            return "number", int(match[1])
        if not word[0].isalnum():
            return "punctuation", word
        return ("file" if _FILE.fullmatch(word) and self.has_file(written) else "word"), written


def _years(first: str, last: str, *, is_month: bool) -> tuple[int, int] | None:
    """Return the years of `2017-2018` or `2018/19`; None for `2018-07`, which is a month."""
    if len(last) == 4:
        return int(first), int(last)
    year = int(first)
    return None if (year + 1) % 100 != int(last) or (is_month and int(last) <= 12) else (year, year + 1)


def remember_city_names(store: Store) -> None:
    """Store the other names of the cities of a library: loading all cities of the world is slow."""
    cities = store.connection.execute("SELECT DISTINCT city, country FROM photos WHERE city IS NOT NULL ORDER BY 1, 2")
    names = {name: city for city, country in cities for name in gazetteer().other_names(city, country)}
    text = json.dumps(names, ensure_ascii=False)
    if text != (store.fact(CITY_NAMES) or "{}"):
        store.set_facts({CITY_NAMES: text})
