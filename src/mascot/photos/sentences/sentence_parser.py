"""Read a sentence: which parts filter, limit or steer a search, and which words are left to search for.

Each phrase has a role, written as one letter, and the rules are patterns of these letters. At each position the first
rule that matches counts; what no rule matches is searched for. The time is linear in the length of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from mascot.errors import OptionError
from mascot.photos.sentences.dates import Span, date_at, in_year_of, joined
from mascot.photos.sentences.understanding import Chip, Ignored, Understanding
from mascot.photos.sentences.vocabulary import LONGEST_SENTENCE, Vocabulary
from mascot.photos.trips import Period

LETTERS = {
    "number": "n", "year": "y", "years": "Y", "day": "d", "month": "m", "season": "s", "weekday": "w",
    "part_of_day": "t", "light": "l", "holiday": "h", "clock": "K", "camera": "c", "place": "g", "file": "f",
    "attribute": "x", "unit": "u", "in": "p", "with": "W", "article": "a", "per": "e", "different": "v", "same": "o",
    "together": "O", "near": "k", "not": "z", "best": "b", "since": "S", "before": "B", "after": "A", "until": "U",
    "between": "E", "or": "j", "last": "L", "this": "H", "today": "R", "ago": "G", "stars": "q", "rating": "r",
    "favourite": "F", "filler": "i", "punctuation": "C", "quoted": "Q", "word": "X", "at_most": "V", "part": "P",
    "numbers": "M", "onwards": "N", "trip": "T", "or_more": "D", "order": "I", "o_clock": "J",
}  # fmt: skip
_EDGES = "paijCuUWekSBEHb"  # not searched for at the beginning or the end of what is left
PLURALS = {"city": "cities", "country": "countries", "lens": "lenses", "keywords": "keywords"}
_NO_HIGHEST_RATING = "photographs can only have a lowest rating"
_EXCLUDABLE = "only places, dates, seasons, light and cameras can be excluded"
_UNLIMITED = "limits are per year, month, day, season, city, country, moment, camera, folder or keyword"
_MOST = 200  # photographs
_COUNTED_VALUES = "how many different values there are cannot be chosen"


def parse(sentence: str, vocabulary: Vocabulary, today: date) -> Understanding:
    """Return what a sentence means for a library with this vocabulary; `today` is what `last summer` refers to."""
    if len(sentence) > LONGEST_SENTENCE:
        raise OptionError(f"a sentence has at most {LONGEST_SENTENCE} characters, got {len(sentence):,}")
    return _Reader(sentence, vocabulary, today).understanding()


class _Reader:
    """The state of reading one sentence."""

    def __init__(self, sentence: str, vocabulary: Vocabulary, today: date) -> None:
        self.sentence, self.vocabulary, self.today = sentence, vocabulary, today
        self.lexemes = vocabulary.lexemes(sentence)
        self.roles = "".join(LETTERS[lexeme.role] for lexeme in self.lexemes)
        self.chips: list[Chip] = []
        self.ignored: list[Ignored] = []
        self.rest: set[int] = set()  # positions of lexemes that no rule matched

    def understanding(self) -> Understanding:
        at = 0
        while at < len(self.roles):
            matches = ((rule, pattern.match(self.roles, at)) for pattern, rule in _RULES)
            end = next(filter(None, (rule(self, match) for rule, match in matches if match)), None)
            if end is None:
                self.rest.add(at)
            at = end or at + 1
        self._nest_places()
        is_plain = not self.chips and not self.ignored
        text = self.sentence.replace('"', " ") if is_plain else self._text()
        return Understanding(self.sentence, " ".join(text.split()) or None, tuple(self.chips), tuple(self.ignored))

    def _add(self, kind: str, span: tuple[int, int], label: str, fields: Mapping[str, Any], filled: bool = True) -> int:
        """Add a chip for a span of lexemes; return its end."""
        self.chips.append(Chip(kind, *self._words(span), label, filled, fields))
        return span[1]

    def _add_focus(self, span: tuple[int, int], label: str, name: str, **near: Any) -> int:
        return self._add("focus", span, label, {"wishes": [{"focus": name} | near]}, False)

    def _ignore(self, span: tuple[int, int], reason: str) -> int:
        self.ignored.append(Ignored(*self._words(span), reason))
        return span[1]

    def _words(self, span: tuple[int, int]) -> tuple[str, int, int]:
        """Return the words of a span of lexemes, and where they are in the sentence, in characters."""
        first, last = self.lexemes[span[0]].start, self.lexemes[span[1] - 1].end
        return self.sentence[first:last], first, last

    def _value(self, match: re.Match[str], group: int | str = 1) -> Any:
        return self.lexemes[match.start(group)].value if match[group] else None

    def _text(self) -> str:
        """Return the words to search for: runs of lexemes that no rule matched, without their edges."""
        unmatched = "".join(role if at in self.rest else " " for at, role in enumerate(self.roles))
        runs = re.finditer(f"[^ {_EDGES}]([^ ]*[^ {_EDGES}])?", unmatched)
        return re.sub('["“”„«»]', " ", " ".join(self._words(run.span())[0] for run in runs))

    def _nest_places(self) -> None:
        """Let a country of which a city is named as well restrict that city: `Lisbon in Portugal` is one place."""
        names = [chip.fields["place"] for chip in self.chips if chip.kind == "place"]
        countries = {country for name in names for country in self.vocabulary.cities.get(name, ())}
        self.chips = [
            replace(chip, fields={"country": chip.fields["place"]})
            if chip.kind == "place" and chip.fields["place"] in countries
            else chip
            for chip in self.chips
        ]

    # Rules: each takes the match of its pattern, and returns the position after it, or None if it does not apply.

    def _limit(self, match: re.Match[str]) -> int | None:
        attribute, count = self._value(match, "x"), self._value(match, "n")
        attribute = "city" if attribute == "place" else attribute
        if attribute in (None, "week", "look") or count == 0:
            return self._ignore(match.span(), _UNLIMITED)
        counts = [chip for chip in self.chips if chip.kind == "count"]
        if count is None and counts:  # one photo of mountains per year
            count = counts[0].fields["k"]
            self.chips.remove(counts[0])
        count = (count or 1) - match[0].startswith("z")  # no two of the same day
        if not count:
            return None
        fields: dict[str, Any] = {"wishes": [{"limit": attribute, "n": count, "missing": "drop"}]}
        if "b" in match[0]:
            fields["best"] = True
        return self._add("limit", match.span(), f"{count} per {attribute}", fields)

    def _count(self, match: re.Match[str]) -> int | None:
        count = next(self.lexemes[i].value for i in range(*match.span()) if self.roles[i] == "n")
        if not 1 <= count <= _MOST:
            return None
        if "b" in match[0]:
            return self._add("count", match.span(), f"best {count}", {"k": count, "best": True})
        return self._add("count", match.span(), _counted(count, "photograph"), {"k": count})

    def _spread(self, match: re.Match[str]) -> int:
        attribute, start, count = self._value(match, "x"), match.start(), self._value(match, "n")
        if count is not None:
            number, start = match.span("n")
            if match.groupdict().get("u") and 1 <= count <= _MOST:
                self._add("count", (number, start), _counted(count, "photograph"), {"k": count})
            else:
                self._ignore((number, start), _COUNTED_VALUES)
        name = "place" if attribute in (None, "week") else attribute
        label = f"different {PLURALS.get(name, f'{name}s')}"
        return self._add("spread", (start, match.end()), label, {"wishes": [{"spread": name}]}, False)

    def _focus(self, match: re.Match[str]) -> int | None:
        attribute = self._value(match, "x") or ("day" if match["t"] else "moment")
        if attribute == "week":
            return None
        if match["n"] and self._value(match, "n") != 1:  # ten photos from ten countries
            return self._spread(match)
        return self._add_focus(match.span(), f"same {attribute}", attribute)

    def _near(self, match: re.Match[str]) -> int | None:
        lexeme, end = self.lexemes[match.end() - 1], match.end()
        if lexeme.role in ("place", "clock"):
            name, near = ("place", lexeme.value) if lexeme.role == "place" else ("hour", lexeme.value)
        else:
            span = date_at(self.roles, self.lexemes, match.end() - 1, self.today)
            if span is None or span.first is None or span.last is None:
                return None
            name, near, end = "date", (span.first + (span.last - span.first) / 2).isoformat(), span.end
        return self._add_focus((match.start(), end), f"near {near}", name, near=near)

    def _hours(self, match: re.Match[str]) -> int:
        """Read `between 5pm and 8pm`: near the middle of these hours."""
        clocks = [self.lexemes[i].value for i in range(*match.span()) if self.roles[i] == "K"]
        start, end = map(_minutes, clocks)
        half = (end - start) % (24 * 60) / 2
        hour, minute = divmod(int(start + half) % (24 * 60), 60)
        label, near = f"near {clocks[0]} to {clocks[1]}", f"{hour}:{minute:02}"
        return self._add_focus(match.span(), label, "hour", near=near, within=max(half / 60, 0.5))

    def _hour(self, match: re.Match[str]) -> int | None:
        """Read `around 6 in the morning` and `18 Uhr`."""
        numbers = {self.roles[i]: self.lexemes[i].value for i in range(*match.span())}
        hour = numbers["n"] + 12 * (numbers["n"] < 12 and numbers.get("t") in ("afternoon", "evening"))
        return self._add_focus(match.span(), f"near {hour}:00", "hour", near=f"{hour}:00") if hour <= 24 else None

    def _date(self, match: re.Match[str]) -> int | None:
        """Read days, with what stands before them: since, before, between, not."""
        prefix, at = (match[1] + match[2]).replace("V", "U"), match.end()
        if self.roles.startswith("Bnx", at - 1):  # vor zwei Jahren
            prefix, at = prefix[:-1], at - 1
        spans = [date_at(self.roles, self.lexemes, at, self.today)]
        while spans[-1] is not None:
            joint = re.compile("C?U[pa]*|jp?a?|C(?=[yYdh])").match(self.roles, spans[-1].end)
            spans.append(date_at(self.roles, self.lexemes, joint.end(), self.today) if joint else None)
        days = [span for span in spans if span is not None]
        if not days or (len(days) == 1 and not prefix and self._is_plain_word(at, days[0].end)):
            return None
        joints = {self.roles[before.end] for before in days[:-1]} | set(prefix)
        if len(days) > 1 and joints & {"U", "E"}:
            days = [joined(days[0], days[-1]) or days[-1]]
        days = [in_year_of(days[-1], span) for span in days]
        end, span = days[-1].end, days[0]
        if self.roles[end : end + 1] == "N":
            prefix, end = prefix + self.lexemes[end].value, end + 1
        end += self.roles[end : end + 1] == "T"  # summer 2019 holiday
        if len(days) == 1 and {"S", "A", "B", "U"} & set(prefix):
            span = _open_ended(span, prefix)
        fields = span.excluding() if "z" in prefix else span.fields()
        if len(days) > 1:
            dates = " or ".join(dict.fromkeys(span.excluding()["date"].removeprefix("not ") for span in days))
            fields = {"date": f"not {dates}" if "z" in prefix else dates}
        return self._add("date", (match.start(), end), _date_label(fields), fields)

    def _is_plain_word(self, at: int, end: int) -> bool:
        """Return whether a single word such as May or spring is rather an ordinary word."""
        lexeme = self.lexemes[at]
        return end == at + 1 and self.vocabulary.is_ambiguous(self.sentence[lexeme.start : lexeme.end])

    def _label(self, match: re.Match[str]) -> int | None:
        """Read seasons, weekdays, parts of the day and light: `in summer or autumn`, `not at night`."""
        letter, first = match[2][0], match.start(2)
        values = [self.lexemes[i].value for i in range(first, match.end()) if self.roles[i] == letter]
        single = len(values) == 1
        follows_word = self.roles[match.end() : match.end() + 1] in ("X", "Q") and match.end() > 0
        in_place_or_year = re.compile("T?p?a?[gyY]").match(self.roles, match.end())  # spring in Paris
        is_certain = (
            match.start() < first
            or in_place_or_year
            or letter == "w"
            or " " in str(values[0])
            or values[0] in ("dusk", "dawn")
        )
        if not is_certain and (follows_word or (single and self._is_plain_word(first, first + 1))):
            return None  # winter coats, a night market
        name, value = self.lexemes[first].role, " or ".join(dict.fromkeys(map(str, values)))
        value = f"not {value}" if "z" in match[1] else value
        return self._add(name, match.span(), value, {name: value})

    def _place(self, match: re.Match[str]) -> int | None:
        first, end = match.span(2)
        values = [self.lexemes[i].value for i in range(first, end) if self.roles[i] == "g"]
        if "T" in match[0]:
            trips = self._trips(values)
            if trips:
                return self._add_trips(match, trips, f"trip to {' or '.join(values)}")
        elif match[1][-1:] not in ("p", "z") and self._is_plain_word(first, end):
            return None  # nice boats
        around = {country for name in values for country in self.vocabulary.cities.get(name, ())}  # Lisbon, Portugal
        cities = self.vocabulary.cities
        value = " or ".join(name for name in dict.fromkeys(values) if name in cities or name not in around)
        value = f"not {value}" if "z" in match[1] else value
        return self._add("place", match.span(), value, {"place": value})

    def _trips(self, places: Iterable[str]) -> list[Period]:
        """Return the trips to these cities or countries, the newest first."""
        countries = self.vocabulary.countries
        return [
            trip
            for trip in self.vocabulary.trips()
            if not {*(trip.place or "").split(" and "), countries.get(trip.country or "")}.isdisjoint(places)
        ]

    def _add_trips(self, match: re.Match[str], trips: Sequence[Period], label: str) -> int:
        if "LT" in match[0]:
            trips, label = trips[:1], trips[0].name
        sign = "not " if "z" in match[0] else ""
        days = " or ".join(f"{trip.since}..{trip.until}" for trip in trips)
        return self._add("date", match.span(), sign + label, {"date": sign + days})

    def _last_trip(self, match: re.Match[str]) -> int | None:
        trips = self.vocabulary.trips()[: self._value(match) or 1]
        return self._add_trips(match, trips, f"the last {len(trips)} trips") if trips else None

    def _camera(self, match: re.Match[str]) -> int | None:
        lexeme, (before, after) = self.lexemes[match.start(2)], (match[1], match[3])
        words = self.sentence[lexeme.start : lexeme.end]
        stands_alone = match.end() == len(self.roles) or self.roles[match.end()] in "pC"
        is_first = match.start() == 0 or self.roles[match.start() - 1] in "Cui"
        is_certain = bool({"W", "z"} & set(before) or after or re.search(r"\d|iphone", words.casefold()))
        if not is_certain and (not (stands_alone and is_first) or self.vocabulary.is_ambiguous(words)):
            return None  # apple pie, Mount Fuji
        sign = "not " if "z" in before else ""
        return self._add("camera", match.span(), sign + words, {"camera": sign + " or ".join(lexeme.value)})

    def _file(self, match: re.Match[str]) -> int:
        name = self._value(match)
        return self._add("name", match.span(), name, {"name": name})

    def _rating(self, match: re.Match[str]) -> int | None:
        stars = next(self.lexemes[i].value for i in range(*match.span()) if self.roles[i] in "nrF")
        if not 1 <= stars <= 5:
            return None
        return self._add("rating", match.span(), _counted(stars, "star"), {"rating": stars})


def _open_ended(span: Span, prefix: str) -> Span:
    """Return the days since, after, before or until some days."""
    first, last = span.days()
    if first is None or last is None:
        return span
    if "S" in prefix or "A" in prefix:
        return Span(span.end, first if "S" in prefix else last + timedelta(days=1))
    return Span(span.end, None, last if "U" in prefix else first - timedelta(days=1))


def _date_label(fields: dict[str, str]) -> str:
    """Return days as text: `2019-07`, `since 2019`, `2017 to 2018`, `every 12-24 to 12-26`."""
    since, until = fields.get("since"), fields.get("until")
    if "date" in fields:
        months = re.compile(r"\b(\d\d)(?= or |\.\.|$)(?<!-\d\d)")
        named = months.sub(lambda month: f"{date(2000, int(month[0]), 1):%B}", fields["date"])
        return named.replace("..", " to ")
    season = f"{fields['season']} " if "season" in fields else ""
    if since == until:
        return f"{season}{since}"
    if since is None or until is None:
        return f"since {since}" if until is None else f"until {until}"
    return f"{season}{since} to {until}"


def _minutes(clock: str) -> int:
    """Return the minutes since midnight of `18:30` or `6pm`."""
    hour, _, minute = clock.rstrip("apm").partition(":")
    hours = int(hour) % 12 + 12 * clock.endswith("pm") if clock.endswith("m") else int(hour)
    return 60 * hours + int(minute or 0)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_RULES: list[tuple[re.Pattern[str], Callable[[Any, re.Match[str]], int | None]]] = [
    (re.compile(pattern), rule)
    for pattern, rule in (
        ("[pa]{0,2}e[pa]?(?P<x>x)a?(?P<n>n)u", _Reader._limit),
        ("(?:VC?|[ai])*(?P<n>n)?b?u?[pa]{0,2}e[pa]?(?P<x>x)", _Reader._limit),
        ("(?:VC?|[ai])*(?P<n>n)b?u?[pa]{0,2}e[pa]?(?P<x>)[XTu]", _Reader._limit),
        ("(?P<n>)e[pa]?(?P<x>)T", _Reader._limit),
        ("z(?P<n>n)u?p?a?o(?P<x>x)", _Reader._limit),
        ("[ai]*VC?nq", lambda reader, match: reader._ignore(match.span(), _NO_HIGHEST_RATING)),
        ("(?:VC?|[ai]){0,3}(?:nb?u|b+nu?|nbu?|VC?n|n(?=F))(?!e)", _Reader._count),
        ("[pai]{0,3}(?P<n>n)?(?P<v>v)(?:p?(?P<x>x)|(?P<u>u))", _Reader._spread),
        ("[pai]{0,3}(?:[pa]?o|p(?P<n>n))(?:(?P<x>x)|(?<!n)(?P<t>t))", _Reader._focus),
        ("[ai]{0,2}(?P<n>n)?(?P<v>v)(?P<x>)(?P<u>)(?=X)", _Reader._spread),
        ("i?(?P<n>)(?P<x>)(?P<t>)O", _Reader._focus),
        ("ka?[gKymdshY]", _Reader._near),
        ("[pE]?K[Uj]K", _Reader._hours),
        ("pa?K", _Reader._near),
        ("[kp]{0,2}a?(n)J(?:p?a?(t))?|[kp]a?(n)p?a?(t)", _Reader._hour),
        ("I", lambda reader, match: reader._add("order", match.span(), "by date", {"order": "date"}, False)),
        ("(i?(?:zu?)?i?)([paSABUETV]{0,3})(?=[dYnymshLHRBPM])", _Reader._date),
        ("((?:zu?)?[paiP]{0,3})((s)(?:jp?a?s)*|(w)(?:jp?a?w)*|(t)(?:jp?a?t)*|(l)(?:jp?a?l)*)T?", _Reader._label),
        ("((?:zu?)?[pai]{0,3}L?T[pAU]?a?|(?:zu?)?[paiU]{0,3})(g(?:[jC]p?g)*)T?", _Reader._place),
        ("z?[pai]{0,3}L(n)?T", _Reader._last_trip),
        ("(i?(?:zu?)?[paiW]{0,3})(c)(u?)", _Reader._camera),
        ("[pai]{0,2}(f)", _Reader._file),
        ("[paiW]{0,3}(?:nD?q|r|F)D?", _Reader._rating),
        ("z[pa]{0,2}X+", lambda reader, match: reader._ignore(match.span(), _EXCLUDABLE)),
        ("a?b(?=[XuFT])u?", lambda reader, match: reader._add("best", match.span(), "best", {"best": True}, False)),
    )
]
