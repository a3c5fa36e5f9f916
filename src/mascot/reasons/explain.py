"""Explanations: why each result was selected, in sentences and as gains."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.bins import Ints, VectorBins
from mascot.constraints import Limit
from mascot.kernels.constants import COPY_TOLERANCE
from mascot.kernels.page import BEST, PINNED, PROTECTED
from mascot.reasons.account import names_of
from mascot.reasons.missed import OVER, missed_rules
from mascot.reasons.phrases import coverage_texts, describe_wish, near_texts, ordinal_text
from mascot.reasons.rule_counts import counts_of
from mascot.serialize import plain
from mascot.wishes import AnyWish

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_EQUAL = 1e-9  # gains that differ by less are equal
_COVERED = 0.05  # a value is covered if this part of its bins is


@dataclass(slots=True)
class Reason:
    """Why one candidate is a result or was left out. `because` is the reason in one sentence and is never empty."""

    id: Hashable
    position: int  # in the input, from 0
    was: int  # its rank by score, from 1
    relevance: float  # in 0..1 over the candidates
    step: int | None  # when it was selected, from 1; None: left out
    because: str
    _ranking: Ranking[Any] = field(repr=False, compare=False)
    _at: int = field(repr=False, compare=False)  # its step, or its position among the remaining candidates

    @property
    def gains(self) -> dict[str, float]:
        """Contributions of relevance and of each attribute; their sum is `gain`.

        Those of a candidate that was left out are what it would have had at the last place that gains decided.
        """
        ranking = self._ranking
        if not ranking._has_gains:
            return {}
        own = ranking._last_place.gains(self._at) if self.step is None else ranking._gains_by_step[self._at]
        return dict(zip(["relevance", *names_of(ranking._fitted.coverage)], own, strict=True))

    @property
    def gain(self) -> float:
        return sum(self.gains.values())

    @property
    def opened(self) -> dict[str, list[str]]:
        """The names of the bins that it was the first to cover, for each attribute."""
        return {name: names[self._at] for name, names in self._ranking._opened.items()} if self.step else {}

    def to_dict(self, gains: bool = True) -> dict[str, Any]:
        """Return the reason as plain data; without `gains` neither the gains nor the names of bins."""
        values = {
            "id": plain(self.id), "position": self.position, "was": self.was, "relevance": self.relevance,
            "step": self.step, "because": self.because,
        }  # fmt: skip
        return values | {"gain": self.gain, "gains": self.gains, "opened": self.opened} if gains else values


@dataclass(frozen=True)
class Explanation:
    """Reasons for each result, best first, and for the best candidates that were left out. `print` shows it as text."""

    results: list[Reason]
    left_out: list[Reason]
    strength: float
    wishes: tuple[AnyWish, ...]
    notes: tuple[str, ...] = ()  # shares that could not be met, and limits that cut the page short

    def __str__(self) -> str:
        title = ", ".join(describe_wish(wish) for wish in self.wishes) or "relevance only"
        lines, count = [f"{title}; strength {self.strength:g}"], len(self.results)
        names = [str(reason.id) for reason in self.results + self.left_out]
        width = max(map(len, names), default=2)
        for place, (name, reason) in enumerate(zip(names, self.results + self.left_out, strict=True), 1):
            rank = f"was {ordinal_text(reason.was)}"
            if place <= count:
                rank = ordinal_text(place) + (f", {rank}" if place != reason.was else "")
            lines.append(f"{rank:<17} {name:<{width}}  {reason.because}".rstrip())
        if self.left_out:
            lines.insert(1 + count, "left out")
        return "\n".join([*lines, *self.notes])

    def to_dict(self, gains: bool = True) -> dict[str, Any]:
        """Return the explanation as plain data, ready for JSON; `gains` adds gains and the names of opened bins."""
        return {
            "strength": self.strength,
            "wishes": [plain(wish) for wish in self.wishes],
            "results": [{"rank": rank, **reason.to_dict(gains)} for rank, reason in enumerate(self.results, 1)],
            "left_out": [reason.to_dict(gains) for reason in self.left_out],
            "notes": list(self.notes),
        }


class Explainer:
    """Explains one ranking by the log of its page."""

    def __init__(self, ranking: Ranking[Any], others: Ints) -> None:
        self.ranking, self.fitted, self.page, problem = ranking, ranking._fitted, ranking._page, ranking._problem
        self.has_gains, self.others = ranking._has_gains, others
        self.results = ranking._problem_positions
        self.rows = problem.rows_of(0)
        step_of = {position: step for step, position in enumerate(self.page.positions)}
        self.steps = [step_of[i] for i in self.results.tolist()]
        self.causes = [self.page.log[step].cause if self.page.log else BEST for step in self.steps]
        listed = np.concatenate([self.results, self.others])
        self.before = ranking._queries.already_rows(0)
        self.counts = counts_of(ranking, self.others)
        positions = problem.remaining.to_input(listed)
        values = positions, ranking._rank_of[positions], ranking.all_relevance[positions]
        self.ranks = list(zip(*(value.tolist() for value in values), strict=True))  # position, was and relevance

    def explanation(self) -> Explanation:
        ranking, count = self.ranking, len(self.results)
        default = "selected for its relevance" if self.has_gains else f"selected by {type(ranking.method).__name__}"
        if self.has_gains and self.fitted.coverage:
            default = "best by relevance and wishes together"
        texts = ["; ".join(filter(None, dict.fromkeys(own))) or default for own in zip(*self._columns(), strict=True)]
        texts += [self._left_out(m, i) for m, i in enumerate(self.others.tolist())]
        reasons = []
        for m, ((position, was, relevance), text) in enumerate(zip(self.ranks, texts, strict=True)):
            step = self.steps[m] if m < count else None
            own = ranking._ids[position], position, was, relevance, None if step is None else step + 1, text
            reasons.append(Reason(*own, ranking, int(self.others[m - count]) if step is None else step))
        notes = tuple(str(missed) for missed in missed_rules(ranking, self.counts) if missed.cause != OVER)
        return Explanation(reasons[:count], reasons[count:], ranking.strength, ranking.wishes, notes)

    def _columns(self) -> Iterator[list[str]]:
        """Yield for each kind of reason one text per result, which may be empty."""
        fitted, rows, pinned = self.fitted, self.rows[self.results], [cause == PINNED for cause in self.causes]
        at = "" if self.ranking._queries.places is None else " at position {}"
        yield [f"pinned{at.format(place)}" if is_pinned else "" for place, is_pinned in enumerate(pinned, 1)]
        for wish, focus in zip(fitted.aims, fitted.focuses, strict=True):
            point = focus.point
            if point is None:  # the candidate with an id
                position = np.array([list(self.ranking._ids).index(focus.near)])
                point = focus.bins.take(self.rows[self.ranking._problem.remaining.from_input(0, position)])
            if point.rows:
                yield near_texts(wish, focus.bins, point, rows)
        for wish, bins in zip(fitted.coverage, fitted.bins, strict=True):
            yield coverage_texts(wish, bins, rows)
        for counts in self.counts:
            yield counts.texts(pinned)
        yield self._moves()
        several = self.causes.count(PROTECTED) > 1
        text = "one of the {} matches" if several else "the {} match"
        # Closeness to named values is part of relevance.
        unknown = np.all([focus.bins.missing(rows) for focus in fitted.focuses], axis=0) | (not fitted.aims)
        best = [text.format("best" if own else "closest good") for own in np.broadcast_to(unknown, len(rows)).tolist()]
        protected = [cause == PROTECTED and self.has_gains for cause in self.causes]
        yield [own if is_protected else "" for own, is_protected in zip(best, protected, strict=True)]

    def _moves(self) -> list[str]:
        """Return for each result which rule kept it out of an earlier place, where it would have gained more."""
        moved: dict[int, str] = {}
        for place, entry in enumerate(self.page.log):
            text = "" if entry.rule < 0 else self._rule_text(entry.rule, entry.kept_out, place)
            if text and entry.kept_out not in moved:
                moved[entry.kept_out] = f"moved back: {text}"
        return [moved.get(i, "") for i in self.results.tolist()]

    def _rule_text(self, rule: int, i: int, place: int) -> str:
        """Return why a rule on places does not allow candidate i at a place; empty for other rules."""
        counts = next((counts for counts in self.counts if counts.number == rule), None)
        if counts is None or not counts.is_placed:
            return ""
        return counts.place_text(self.rows[i], place, self.rows[self.page.positions])

    def _left_out(self, m: int, i: int) -> str:
        """Return why candidate i, number m of those left out, is not a result."""
        if text := self._exclusion(m, i):
            return text
        placed = [describe_wish(counts.wish) for counts in self.counts if counts.is_placed]
        if placed and len(self.results) < self.ranking.k:
            return f"no page was found that shows it: {', '.join(placed)}"
        if not self.has_gains:
            return f"not selected by {type(self.ranking.method).__name__}"
        if BEST not in self.causes:
            return f"every result is {'pinned' if set(self.causes) == {PINNED} else 'protected'}"
        return self._comparison(m, i)

    def _exclusion(self, m: int, i: int) -> str:
        """Return which rule excludes candidate i, number m of those left out; empty if none does."""
        for wish, labels in zip(self.fitted.constraints, self.fitted.labels, strict=True):
            if isinstance(labels, VectorBins) and isinstance(wish, Limit):
                copies = self._copies(wish, labels, i)
                if len(copies) >= wish.most(""):
                    return f"a near-copy of {copies[0]} is already shown"
        for counts in self.counts:
            if isinstance(counts.wish, Limit) and (text := counts.limit_text(m)):
                same = [bool(set(own) & set(counts.left_out[m])) for own in counts.selected]
                is_better = self.ranking._problem.scores[i] > self.ranking._problem.scores[self.results[same]]
                return (is_better.all() and self._share_text(m)) or text
            if counts.never_exceeded and counts.is_full(counts.left_out[m]):  # a largest share
                return counts.share_text(m)
        for place, entry in enumerate(self.page.log):
            if entry.kept_out == i and entry.rule >= 0 and (text := self._rule_text(entry.rule, i, place)):
                return f"gave way to a rule: {text}"
        return ""

    def _share_text(self, m: int) -> str:
        """Return which share or minimum excludes number m of those left out; empty if none does."""
        shares = (counts.share_text(m) for counts in self.counts if not isinstance(counts.wish, Limit))
        return next(filter(None, shares), "")

    def _copies(self, wish: Limit, labels: VectorBins, i: int) -> list[Hashable]:
        """Return the ids of the results that are near-copies of candidate i, in a session also those shown before."""
        ids, rows = self.ranking.ids, self.rows[self.results]
        if wish.session:
            ids, rows = ids + self.ranking.already, np.concatenate([rows, self.before])
        cosines = labels.cosines(labels.take(self.rows[[i]]), rows)
        return [ids[place] for place in np.flatnonzero(cosines >= labels.copies - COPY_TOLERANCE).tolist()]

    def _comparison(self, m: int, i: int) -> str:
        """Return what candidate i, number m of those left out, lacks at the last place that gains decided."""
        last_place, scores = self.ranking._last_place, self.ranking._problem.scores
        last = self.page.positions[last_place.place]
        own, of_last = last_place.gains(i), last_place.gains(last)
        behind = list(map(operator.sub, of_last, own))
        total, tie = sum(behind), max(last_place.tie, _EQUAL * max(1.0, *map(abs, of_last + own)))
        than = "the last result"
        if last != self.results[-1]:
            than = str(self.ranking.ids[self.results.tolist().index(last)])
        is_ahead = total < -tie or (total <= tie and i < last)
        if (is_ahead or scores[i] > scores[self.results[-1]]) and (text := self._share_text(m)):
            return text
        if not is_ahead and total <= tie:
            return f"as good as {than}, but later in the input"
        worst = 0 if is_ahead else behind.index(max(behind))
        if worst:
            return self._shortcoming(worst - 1, i, than)
        if behind[0] <= tie:
            return "the results fit the wishes better without it"
        return f"less relevant {'or less close ' if self.fitted.aims else ''}than {than}"

    def _shortcoming(self, a: int, i: int, than: str) -> str:
        """Return why the value of attribute a speaks against candidate i."""
        wish = self.fitted.coverage[a]
        name, spread, covered = names_of(self.fitted.coverage)[a], wish.sign > 0, self.ranking._last_place.covered(i, a)
        if self.fitted.bins[a].missing(self.rows[[i]])[0]:
            return f"its {name} is unknown"
        if covered is None:  # vectors
            return f"too {'like' if spread else 'unlike'} the other results"
        if spread:
            return f"its {name} is already covered" if covered >= _COVERED else f"its {name} adds less than {than}"
        far = covered < 1 - _COVERED
        return f"its {name} is too far from the other results" if far else f"its {name} costs more than {than}"
