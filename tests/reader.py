"""An independent reader of explanations: it checks every sentence against the scores, the values and the order.

It knows only what a caller knows: the columns, the wishes, and the ids of the results in the order shown.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mascot as mc
from mascot.constraints import AtLeast, Limit, Share
from mascot.wishes import Wish

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ORDINALS = ["", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def number(text: str) -> int:
    """Return a number or an ordinal in words or digits."""
    words = NUMBERS if text in NUMBERS else ORDINALS
    return words.index(text) if text in words else int(re.sub(r"\D", "", text))


@dataclass
class Reader:
    """The problem as its caller knows it. Candidates are named by their position."""

    scores: Sequence[float]
    columns: dict[str, list[Any]]  # labels, lists of labels, or numbers
    wishes: list[Any]
    page: mc.Ranking[int]
    pin: Sequence[int] = ()
    already: Sequence[int] = ()
    explanation: mc.Explanation = field(init=False)

    def __post_init__(self) -> None:
        self.explanation = self.page.explain()
        self.limits = {wish.attribute.name: wish for wish in self.wishes if isinstance(wish, Limit)}
        self.shares = {wish.attribute.name: wish for wish in self.wishes if isinstance(wish, (AtLeast, Share))}
        self.covered = [w for w in self.wishes if isinstance(w, Wish) and w.near is None]
        self.aims = [wish for wish in self.wishes if isinstance(wish, Wish) and wish.near is not None]
        self.by_score = sorted(range(len(self.scores)), key=lambda i: -self.scores[i])

    def values(self, column: str, i: int) -> list[str]:
        """Return the labels of a candidate as text."""
        value = self.columns[column][i]
        return [str(part) for part in value] if isinstance(value, list) else [] if value is None else [str(value)]

    def count(self, column: str, label: str, among: Sequence[int] | None = None) -> int:
        return sum(label in self.values(column, i) for i in (self.page.ids if among is None else among))

    def label_columns(self, i: int, label: str) -> list[str]:
        """Return the columns in which a candidate has a label."""
        return [name for name in self.columns if isinstance(name, str) and label in self._labels(name, i)]

    def _labels(self, column: str, i: int) -> list[str]:
        return [] if isinstance(self.columns[column][i], float) else self.values(column, i)

    def merits(self, i: int) -> list[float]:
        """Return the score of a candidate and its closeness to each named value."""
        parts = [float(self.scores[i])]
        for wish in self.aims:
            value = self.columns[wish.attribute.name][i]
            distance = abs(value - wish.near) if isinstance(value, float) else float(value != wish.near)
            parts.append(-math.inf if self.unknown(i, -1, wish.attribute.name) else -distance)
        return parts

    def falls_short(self, i: int, other: int) -> bool:
        """Return whether a candidate is less relevant, or less close to a named value, than another one."""
        return any(map(operator.lt, self.merits(i), self.merits(other)))

    def may_be_protected(self, i: int) -> bool:
        """Return whether fewer candidates than are protected are better in every respect."""
        better = [j for j in range(len(self.scores)) if all(map(operator.gt, self.merits(j), self.merits(i)))]
        protect = self.page._selection.protect
        return len(better) < protect if self.aims else self.by_score.index(i) < protect

    def gain_of(self, i: int) -> float:
        (gain,) = (r.gain for r in [*self.explanation.results, *self.explanation.left_out] if r.id == i)
        return gain

    def check(self) -> None:
        """Check the whole explanation."""
        page, explanation = self.page, self.explanation
        assert [reason.id for reason in explanation.results] == page.ids
        for place, reason in enumerate(explanation.results):
            assert reason.was == 1 + self.by_score.index(reason.id)
            for sentence in reason.because.split("; "):
                self.read(RESULTS, sentence, reason.id, place)
        hidden = set(page.ids) | set(self.already)
        for reason in explanation.left_out:
            assert reason.id not in hidden
            self.read(LEFT_OUT, reason.because, reason.id, -1)
        for note in explanation.notes:
            self.read(NOTES, note, -1, -1)
        self.check_notes_are_complete()

    def read(self, table: dict[str, Callable[..., bool]], sentence: str, i: int, place: int) -> None:
        for pattern, holds in table.items():
            if match := re.fullmatch(pattern, sentence):
                assert holds(self, i, place, *match.groups()), f"{i}: {sentence}\n{self.explanation}\n{self.columns}"
                return
        raise AssertionError(f"the reader does not understand {sentence!r}\n{self.explanation}")

    def check_notes_are_complete(self) -> None:
        """A share that was missed and a page that a limit cut short must be mentioned."""
        notes = "\n".join(self.explanation.notes)
        available = len(self.scores) - len(set(self.already) - set(self.pin))
        assert (len(self.page) < min(self.page.k, available)) == ("no more candidates" in notes or "no other" in notes)
        for name, wish in self.shares.items():
            for value in wish.named:
                count, target = self.count(name, value), wish.bounds(value, self.page.k)[0]
                assert (count < target) == (f"{name}: {count} of {target} from {value} (" in notes)

    # What a sentence claims.

    def id_of(self, text: str) -> int:
        return self.page.ids[-1] if text == "the last result" else int(text)

    def moved_back(self, i: int, place: int) -> bool:
        earlier = [j for j in self.page.ids[:place] if j not in self.pin]
        steps = {reason.id: reason.step or 0 for reason in self.page.explain().results}
        if getattr(self.page.method, "order", "") == "selection":
            return any(steps[j] > steps[i] for j in earlier)
        return any(self.falls_short(j, i) for j in earlier)

    def nth_of_limit(self, i: int, place: int, ordinal: str, most: str, label: str, every: str | None) -> bool:
        shown = self.page.ids[: place + 1]
        if every:
            shown = [*self.already, *shown][-number(every) :]
        return any(
            self.limits[name].n == number(most) and self.count(name, label, shown) == number(ordinal)
            for name in self.label_columns(i, label)
            if name in self.limits and number(ordinal) <= number(most)
        )

    def over_limit(self, i: int, place: int, ordinal: str, label: str, most: str, cause: str) -> bool:
        return any(
            self.count(name, label, self.page.ids[: place + 1]) == number(ordinal) > number(most) == self.limits[name].n
            and (i in self.pin if cause == "because of a pin" else self.limits[name].fill)
            for name in self.label_columns(i, label)
            if name in self.limits
        )

    def only_from(self, i: int, place: int, label: str) -> bool:
        return any(self.count(name, label) == 1 for name in self.label_columns(i, label))

    def one_of(self, i: int, place: int, count: str, label: str) -> bool:
        return any(self.count(name, label) == int(count) > 1 for name in self.label_columns(i, label))

    def unknown(self, i: int, place: int, name: str) -> bool:
        value = self.columns[name][i]
        return value is None or value == [] or value != value

    def apart(self, i: int, place: int, value: str, distance: str, what: str) -> bool:
        """A number, and its distance from a named value or from the nearest other result."""
        for name in [
            wish.attribute.name for wish in [*self.covered, *self.aims] if isinstance(wish.attribute, mc.Number)
        ]:
            others = [float(what)] if what[0].isdigit() else [self.columns[name][j] for j in self.page.ids if j != i]
            own, known = self.columns[name][i], [other for other in others if other == other]
            if own == own and f"{own:g}" == value and known:
                return abs(min(abs(own - other) for other in known) - float(distance)) <= 1e-3 * max(
                    float(distance), 1e-9
                )
        return False

    def only_with(self, i: int, place: int, name: str) -> bool:
        known = [j for j in self.page.ids if not self.unknown(j, -1, name)]
        return known == [i]

    def exactly(self, i: int, place: int, value: str) -> bool:
        return any(
            float(value) == wish.near == self.columns[wish.attribute.name][i]
            for wish in self.aims
            if isinstance(wish.attribute, mc.Number)
        )

    def is_named(self, i: int, place: int, word: str, label: str) -> bool:
        return (label in self.values("seller", i)) == (word == "seller")

    def best_match(self, i: int, place: int, close: str) -> bool:
        is_unknown = all(self.unknown(i, -1, wish.attribute.name) for wish in self.aims)
        return is_unknown == (close == "best") and self.may_be_protected(i)

    def for_relevance(self, i: int, place: int) -> bool:
        """No other reason applies, and no better candidate without a label of a rule was left out."""
        if i in self.pin or self.aims or self.covered:
            return False
        hidden = {*self.page.ids, *self.already}
        better = [j for j in self.by_score[: self.by_score.index(i)] if j not in hidden]
        return not self.is_ruled(i) and (bool(self.shares) or all(map(self.is_ruled, better)))

    def is_ruled(self, i: int) -> bool:
        """Return whether a limit counts a candidate or a share names its label."""
        is_named = any(set(self.values(name, i)) & set(wish.named) for name, wish in self.shares.items())
        return is_named or any(self.values(name, i) for name in self.limits)

    def label_full(self, i: int, place: int, label: str, count: str, over: str | None) -> bool:
        return any(
            self.count(name, label) == number(count) >= self.most(name)
            and (self.most(name) == number(over.split()[-1]) < number(count) if over else True)
            for name in self.label_columns(i, label)
            if name in self.limits
        )

    def share_full(self, i: int, place: int, label: str, over: str | None, count: str) -> bool:
        return any(
            self.count(name, label) == number(over or count) >= number(count) == wish.bounds(label, self.page.k)[1]
            for name, wish in self.shares.items()
            if label in self.values(name, i)
        )

    def gave_way(self, i: int, place: int, name: str, places: str) -> bool:
        parts = [re.fullmatch(r"(\d+) of (\d+) (?:from|with \w+) (.*)", part) for part in places.split(", ")]
        own = set(self.values(name, i)) & set(self.shares[name].named)
        needed = [value for value in own if self.count(name, value) < self.shares[name].bounds(value, self.page.k)[0]]
        return not needed and all(
            part is not None and int(part[1]) == self.count(name, part[3]) > 0 and int(part[2]) == len(self.page)
            for part in parts
        )

    def less_relevant(self, i: int, place: int, close: str | None, than: str) -> bool:
        return bool(close) == bool(self.aims) and self.falls_short(i, self.id_of(than))

    def fits_better_without(self, i: int, place: int) -> bool:
        """It would gain at least as much as the last one selected: only a focus or a rule can speak against it."""
        last = max(self.explanation.results, key=lambda reason: reason.step or 0)
        has_rule = bool(self.limits or self.shares or any(wish.sign < 0 for wish in self.covered))
        return self.gain_of(i) >= last.gain - 1e-6 and (has_rule or last.id in self.pin)

    def fits_nowhere(self, i: int, place: int, rules: str) -> bool:
        """At every place after the pinned results it would exceed a limit in a window."""
        windows = [(name, wish) for name, wish in self.limits.items() if wish.window]
        pages = [[*self.page.ids[:at], i, *self.page.ids[at:]] for at in range(len(set(self.pin)), len(self.page) + 1)]
        return len(self.page) < self.page.k and all(
            any(
                self.count(name, label, [*self.already, *page][max(end - wish.window, 0) : end]) > wish.n
                for name, wish in windows
                for label in self.values(name, i)
                for end in range(min(wish.window, len(self.already) + len(page)), len(self.already) + len(page) + 1)
            )
            for page in pages
        )

    def gave_way_to_window(self, i: int, place: int, rules: str) -> bool:
        """A window allows no more results of its value than are shown, and it would gain as much as another."""
        windows = [(name, wish) for name, wish in self.limits.items() if wish.window]
        shown = [*self.already, *self.page.ids]
        crowded = (self.count(name, v, shown) >= wish.n for name, wish in windows for v in self.values(name, i))
        return any(crowded) and self.fits_better_without(i, place)

    def as_good(self, i: int, place: int, than: str) -> bool:
        other = self.id_of(than)
        return i > other and abs(self.gain_of(i) - self.gain_of(other)) < 1e-6

    def is_covered(self, i: int, place: int, name: str) -> bool:
        if isinstance(self.columns[name][i], float):
            return len(self.page) > 0
        return any(self.count(name, label, [*self.page.ids, *self.already]) for label in self.values(name, i))

    def adds_less(self, i: int, place: int, name: str, verb: str, than: str) -> bool:
        (own,) = (reason.gains[name] for reason in self.explanation.left_out if reason.id == i)
        (theirs,) = (reason.gains[name] for reason in self.explanation.results if reason.id == self.id_of(than))
        return own < theirs

    def too_far(self, i: int, place: int, name: str) -> bool:
        if isinstance(self.columns[name][i], float):
            return self.columns[name][i] == self.columns[name][i]
        return any(not self.count(name, label, self.page.ids[:-1]) for label in self.values(name, i))

    def every_result(self, i: int, place: int, what: str) -> bool:
        return all(j in self.pin or (what == "protected" and self.may_be_protected(j)) for j in self.page.ids)

    def missed_share(self, i: int, place: int, name: str, count: str, target: str, value: str, why: str) -> bool:
        available = [j for j in range(len(self.scores)) if j not in set(self.already) - set(self.pin)]
        having = [j for j in available if value in self.values(name, j)]
        right = {
            "no candidate has it": not having,
            "the candidates have no more": 0 < len(having) == int(count),
            "limits, pins and protected results leave no room": len(having) > int(count),
        }.get(why)
        if fits := re.fullmatch(r"at most (\d+) fit: its (\d+) candidates have (\d+) values? of (\w+)", why):
            column = fits[4]
            labels = Counter(next(iter(self.values(column, j)), None) for j in having)
            room = sum(n if label is None else min(n, self.most(column)) for label, n in labels.items())
            right = (len(having), room, len(labels)) == (int(fits[2]), int(fits[1]), int(fits[3]))
            right = right and int(count) <= room < min(int(target), len(having))
        return bool(right) and self.count(name, value) == int(count) < int(target)

    def most(self, name: str) -> int:
        """Return how many results of one value a limit allows on the page."""
        return int(self.limits[name].bounds("", self.page.k)[1] if self.limits[name].window else self.limits[name].n)

    def no_place(self, i: int, place: int, count: str, k: str) -> bool:
        has_window = any(wish.window for wish in self.limits.values())
        return has_window and (int(count), int(k)) == (len(self.page), self.page.k)

    def short_page(self, i: int, place: int, count: str, k: str, limits: str) -> bool:
        hidden = set(self.page.ids) | set(self.already)
        remaining = [j for j in range(len(self.scores)) if j not in hidden]
        names = re.findall(r"the limit of \d+ per (\w+)", limits)
        assert not any(self.limits[name].fill for name in names)
        shares = {name: self.shares[name] for name in re.findall(r"the largest share of (\w+)", limits)}
        return (int(count), int(k)) == (len(self.page), self.page.k) and all(
            any(self.count(name, label) >= self.most(name) for name in names for label in self.values(name, j))
            or any(
                self.count(name, label) >= wish.bounds(label, self.page.k)[1]
                for name, wish in shares.items()
                for label in self.values(name, j)
            )
            for j in remaining
        )


def _is_pinned(reader: Reader, i: int, place: int) -> bool:
    return i in reader.pin


RESULTS: dict[str, Callable[..., bool]] = {
    "pinned": _is_pinned,
    "moved back: .*": Reader.moved_back,
    r"(\w+) of at most (\w+) (?:from|with \w+) (.*?)( in every \d+)?": Reader.nth_of_limit,
    r"(\w+) (?:from|with \w+) (.*), over the limit of (\w+) (to fill the page|because of a pin)": Reader.over_limit,
    r"the only one (?:from|with (?!a )\w+) (.*)": Reader.only_from,
    r"one of (\d+) (?:from|with \w+) (.*)": Reader.one_of,
    r"the only one with a (.*)": Reader.only_with,
    r"(\w+) unknown": Reader.unknown,
    r"(\S+), (\S+) from (the nearest other result|\d\S*)": Reader.apart,
    r"(\d\S*)": Reader.exactly,
    r"(not|seller) (x)": Reader.is_named,
    r"(?:one of )?the (best|closest good) match(?:es)?": Reader.best_match,
    "selected for its relevance": Reader.for_relevance,
    "best by relevance and wishes together": lambda reader, i, place: reader.covered and len(reader.page) == 1,
}
LEFT_OUT: dict[str, Callable[..., bool]] = {
    r"(.*) already has (?:(\w+), over )?its share of (\w+)": Reader.share_full,
    r"(.*) already has (\w+)(, over its limit of \w+)?": Reader.label_full,
    r"gave way to the (?:share|minimum) of (\w+): (.*)": Reader.gave_way,
    r"less relevant (or less close )?than (.*)": Reader.less_relevant,
    r"as good as (.*), but later in the input": Reader.as_good,
    r"its (\w+) is unknown": Reader.unknown,
    r"its (\w+) is already covered": Reader.is_covered,
    r"its (\w+) (adds less|costs more) than (.*)": Reader.adds_less,
    r"its (\w+) is too far from the other results": Reader.too_far,
    r"every result is (protected|pinned)": Reader.every_result,
    "the results fit the wishes better without it": Reader.fits_better_without,
    r"no place was found: (at most .*)": Reader.fits_nowhere,
    r"gave way to: (at most .*)": Reader.gave_way_to_window,
}
NOTES: dict[str, Callable[..., bool]] = {
    r"(?:share|at least) (\w+): (\d+) of (\d+) from (.*) \((.*)\)": Reader.missed_share,
    r"(\d+) of (\d+): no other candidate was found that fits at most .*": Reader.no_place,
    r"(\d+) of (\d+): (the .*) leaves? no more candidates": Reader.short_page,
}
