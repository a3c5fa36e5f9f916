"""Dates in a sentence: `July 2019`, `14 July`, `2017-2018`, `last summer`, `Christmas 2020`, `two years ago`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from mascot.photos.metadata.moments import SEASONS, easter_days
from mascot.photos.sentences.vocabulary import Lexeme

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEW_YEAR = "new year"  # from the last day of the year before; without a year `_EVERY_NEW_YEAR`
_EVERY_NEW_YEAR = "12-31..01-01"
_Days = tuple[date, date]
_PART, _YEARLY = re.compile("Pp?a?"), re.compile(r"(\d\d)(?:-(\d\d))?(?:\.\.(\d\d-\d\d))?")


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a part of a sentence names: from `first` to `last`, or `recurring` in every year (`12-24..12-26`)."""

    end: int  # the position after its last lexeme
    first: date | None = None
    last: date | None = None
    recurring: str | None = None
    season: str | None = None  # that photographs of these days must have

    def fields(self) -> dict[str, str]:
        if self.recurring is not None:
            return {"date": self.recurring}
        fields = {} if self.first is None else {"since": self.first.isoformat()[: self._precision()]}
        if self.last is not None:
            fields["until"] = self.last.isoformat()[: self._precision()]
        return fields | ({} if self.season is None else {"season": self.season})

    def _precision(self) -> int:
        """Return the length of the dates: 4 for whole years, 7 for whole months, otherwise 10."""
        edges = [] if self.first is None else [self.first]
        edges += [] if self.last is None else [self.last + timedelta(days=1)]
        if any(edge.day != 1 for edge in edges):
            return 10
        return 4 if all(edge.month == 1 for edge in edges) else 7

    def days(self) -> tuple[date | None, date | None]:
        """Return the first and the last day; of a season in a year, those of the season."""
        if self.season is None or self.first is None or self._precision() != 4:
            return self.first, self.last
        return _in_year({"s": self.season}, self.first.year)

    def excluding(self) -> dict[str, str]:
        """Return the field of a search request that excludes these days."""
        if self.recurring is not None:
            return {"date": f"not {self.recurring}"}
        fields = self.fields()
        since, until = fields.get("since", "0001"), fields.get("until", "9999")
        return {"date": f"not {since}" if since == until else f"not {since}..{until}"}


def date_at(roles: str, lexemes: Sequence[Lexeme], at: int, today: date) -> Span | None:
    """Return the days that the lexemes from a position on name; None if they name none."""
    if part := _PART.match(roles, at):
        whole = date_at(roles, lexemes, part.end(), today)
        return whole and _part_of(whole, *map(int, lexemes[at].value.split("/")))
    for pattern, days_of in _RULES:
        match = pattern.match(roles, at)
        if match is None:
            continue
        parts = {roles[i]: lexemes[i].value for i in range(at, match.end())} | {"from": lexemes[at].value}
        try:
            days = days_of(parts, today)
        except (ValueError, OverflowError):  # 31 February
            continue
        if isinstance(days, str):
            return Span(match.end(), recurring=days)
        if days is not None:
            return Span(match.end(), *days, season=parts.get("s") if parts.keys() & {"y", "Y", "n"} else None)
    return None


def _part_of(whole: Span, part: int, count: int) -> Span | None:
    """Return the days of `early July`, `late summer 2019` or `first half of 2018`; None if they are unknown."""
    first, last = whole.days()
    if first is not None and last is not None:
        return Span(whole.end, *_share(first, last, part, count))
    if whole.recurring is None or not whole.recurring.isdigit():
        return None
    first, last = _share(*_months(2000, int(whole.recurring)), part, count)
    return Span(whole.end, recurring=f"{first:%m-%d}..{last:%m-%d}")


def _share(first: date, last: date, part: int, count: int) -> _Days:
    """Return one of `count` equal parts of whole months or of days."""
    months, days = (last.year - first.year) * 12 + last.month - first.month + 1, (last - first).days + 1
    if months % count == 0:
        return _months(first.year, first.month + months * part // count, months // count)
    return first + timedelta(days * part // count), first + timedelta(days * (part + 1) // count - 1)


def in_year_of(dated: Span, span: Span) -> Span:
    """Return a month without a year in the year of the month that follows: `July or August 2019`."""
    if dated.first is None or dated.fields().get("since", "")[4:] == "" or not (span.recurring or "").isdigit():
        return span
    return Span(span.end, *_months(dated.first.year, int(span.recurring or 0)))


def joined(first: Span, last: Span) -> Span | None:
    """Return the days from one span to another: `2017 to 2018`, `May to August 2019`, `June to September`."""
    start, end = (span.recurring and _YEARLY.fullmatch(span.recurring) for span in (first, last))
    if start and end:
        return Span(last.end, recurring=f"{start[0].partition('..')[0]}..{end[3] or end[0]}")
    if start and last.last is not None:
        with suppress(ValueError):  # 29 February
            begin = last.last.replace(month=int(start[1]), day=int(start[2] or 1))
            return Span(last.end, begin if begin <= last.last else begin.replace(year=begin.year - 1), last.last)
    return None if first.first is None or last.last is None else Span(last.end, first.first, last.last)


def _months(year: int, month: int, count: int = 1) -> _Days:
    """Return the first and the last day of some months; `month` may be more than 12, or less than 1."""
    first, after = year * 12 + month - 1, year * 12 + month - 1 + count
    return date(first // 12, first % 12 + 1, 1), date(after // 12, after % 12 + 1, 1) - timedelta(days=1)


def _day(parts: dict[str, Any], _: date) -> _Days | str:
    if "d" in parts:
        year, month, day = parts["d"]
        return _months(year, month) if day == 0 else (date(year, month, day),) * 2
    if "y" in parts:
        return (date(parts["y"], parts["m"], parts["n"]),) * 2
    return date(2000, parts["m"], parts["n"]).isoformat()[5:]  # 2000 was a leap year


def _in_year(parts: dict[str, Any], year: int) -> _Days:
    """Return the days of a month, a season or a holiday in a year; a winter begins in that year."""
    if "m" in parts:
        return _months(year, parts["m"])
    if "s" in parts:
        return _months(year, 3 + 3 * SEASONS.index(parts["s"]), 3)
    if parts["h"] == "easter":
        return easter_days(year)[0], easter_days(year)[-1]
    if parts["h"] == _NEW_YEAR:
        return date(year - 1, 12, 31), date(year, 1, 1)
    first, last = (date.fromisoformat(f"{year}-{day}") for day in parts["h"].split(".."))
    return first, last if last >= first else last.replace(year=year + 1)


def _named(parts: dict[str, Any], _: date) -> _Days | str:
    """Return the days of a month, season, holiday or whole year of a given year."""
    if "y" not in parts:
        name = f"{parts['m']:02}" if "m" in parts else str(parts["h"])
        return _EVERY_NEW_YEAR if name == _NEW_YEAR else name
    if "s" in parts or not {"m", "h"} & parts.keys():
        return _months(parts["y"], 1, 12)
    return _in_year(parts, parts["y"])


def _last(parts: dict[str, Any], today: date) -> _Days | None:
    """Return the days of the latest week, month, year, weekday, season or holiday that is over."""
    if "w" in parts:
        number = WEEKDAYS.index("saturday" if parts["w"] == "weekend" else parts["w"])
        length = 1 if parts["w"] == "weekend" else 0
        first = today - timedelta(days=(today.weekday() - number - length - 1) % 7 + length + 1)
        return first, first + timedelta(days=length)
    if "x" in parts:
        return _unit(parts["x"], today, 1)
    return next(days for days in (_in_year(parts, today.year - ago) for ago in range(4)) if days[1] < today)


def _last_several(parts: dict[str, Any], today: date) -> _Days | None:
    """Return the days of `last two weeks`, until today, or of `last three summers`, which are over."""
    if "x" in parts:
        days = _unit(parts["x"], today, parts["n"])
        return None if days is None else (days[0], today)
    last = _last(parts, today)
    return None if last is None else (last[0].replace(year=last[0].year - parts["n"] + 1), last[1])


def _this(parts: dict[str, Any], today: date) -> _Days | None:
    if "w" in parts:
        monday = today - timedelta(days=today.weekday())
        first = monday + timedelta(days=WEEKDAYS.index("saturday" if parts["w"] == "weekend" else parts["w"]))
        return first, first + timedelta(days=parts["w"] == "weekend")
    return _unit(parts["x"], today, 0) if "x" in parts else _in_year(parts, today.year)


def _unit(unit: str, today: date, ago: int) -> _Days | None:
    """Return the day, week, month or year that was some of them ago."""
    if unit in ("day", "week"):
        first = today - timedelta(days=ago if unit == "day" else today.weekday() + 7 * ago)
        return first, first + timedelta(days=0 if unit == "day" else 6)
    if unit == "month":
        return _months(today.year, today.month - ago)
    return _months(today.year - ago, 1, 12) if unit == "year" else None


def _ago(parts: dict[str, Any], today: date) -> _Days | None:
    return _unit(parts["x"], today, parts["n"]) if "x" in parts else _unit("day", today, parts["R"])


def _years(parts: dict[str, Any], _: date) -> _Days:
    first, last = sorted(parts["Y"])
    if parts.get("s") == "winter" and last == first + 1:
        return _in_year(parts, first)
    return _months(first, 1, 12)[0], _months(last, 1, 12)[1]


def _days_of_month(parts: dict[str, Any], _: date) -> _Days | str | None:
    first, last = parts.get("M") or (parts["from"], parts["n"])
    if first > last:
        return None
    days = (date(parts.get("y", 2000), parts["m"], first), date(parts.get("y", 2000), parts["m"], last))
    return days if "y" in parts else f"{days[0]:%m-%d}..{days[1]:%m-%d}"


# Patterns of roles, by the letters of `sentence_parser.LETTERS`, and the days they mean. The first that matches counts.
_RULES: list[tuple[re.Pattern[str], Callable[[dict[str, Any], date], _Days | str | None]]] = [
    (re.compile(pattern), days_of)
    for pattern, days_of in (
        ("d", _day),
        ("(sC?p?a?)?Y", _years),
        ("nC?[Uj]nC?m(C?p?y)?|M[pC]?m(C?p?y)?|mM(C?y)?", _days_of_month),
        ("n[Cp]?mC?p?y|mnC?y", _day),
        ("n[Cp]?m|mn(?!u)", _day),
        ("[msh]C?p?a?y|y", _named),
        ("Ln[xs]", _last_several),
        ("L[msxwh]", _last),
        ("H[msxwh]", _this),
        ("R|nxG|Bnx", _ago),
        ("[mh]", _named),
    )
]
