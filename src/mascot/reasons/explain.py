"""Explanations: why each result was selected, in sentences and as gains."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.attributes.vectors import Vectors
from mascot.bins import Ints, SparseBins, VectorBins
from mascot.constraints import AtLeast, Limit, Share
from mascot.kernels.constants import COPY_TOLERANCE
from mascot.kernels.quotas import Quota
from mascot.reasons.phrases import codes_of, coverage_texts, near_texts, ordinal_text, target_text
from mascot.reasons.replay import is_replayed
from mascot.reasons.rule_counts import RuleCounts
from mascot.serialize import plain
from mascot.wishes import AnyWish

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_EQUAL = 1e-9  # gains that differ by less are equal
OVER = "over"  # the cause of a limit that was exceeded
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
    _row: int = field(repr=False, compare=False)  # in the account of the ranking

    @property
    def gains(self) -> dict[str, float]:
        """Contributions of relevance and of each attribute; their sum is `gain`."""
        account = self._ranking._account
        return dict(zip(account.names, account.rows[self._row], strict=True)) if account else {}

    @property
    def gain(self) -> float:
        return sum(self.gains.values())

    @property
    def opened(self) -> dict[str, list[str]]:
        """The names of the bins that it was the first to cover, for each attribute."""
        account = self._ranking._account
        return {} if account is None or self.step is None else account.opened[self.step - 1]

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


@dataclass(frozen=True)
class MissedRule:
    """A rule that a page does not meet; `str` gives the sentence of `Explanation.notes`."""

    rule: str  # "share region", "at least used", "limit seller"; "pin"; "page" if there are fewer than k results
    value: str  # that has too few or too many results; empty for a page
    count: int
    target: int
    cause: str  # "absent", "scarce", "limited", "crowded" or "over"; for a page "limits" or "places"
    reason: str

    def __str__(self) -> str:
        if not self.value:
            return f"{self.count} of {self.target}: {self.reason}"
        if self.rule == "pin":
            return f"pin: {self.value} {self.reason}"
        return f"{self.rule}: {self.count} of {self.target} from {self.value} ({self.reason})"


def describe_wish(wish: AnyWish) -> str:
    """Return a wish as text: "focus hour near 18:00"."""
    name = wish.attribute.name
    if isinstance(wish, Limit):
        where = f" in every {wish.window}" if wish.window else f" among the first {wish.first}" if wish.first else ""
        if isinstance(wish.n, Mapping):
            others = [] if wish.others is None else [f"{wish.others} per other {name}"]
            return "at most " + ", ".join([*(f"{n} from {value}" for value, n in wish.n.items()), *others]) + where
        return f"at most {wish.n} {'near-copies' if isinstance(wish.attribute, Vectors) else f'per {name}'}{where}"
    if isinstance(wish, AtLeast):
        return f"at least {name} " + ", ".join(f"{value} {count}" for value, count in wish.counts.items())
    if isinstance(wish, Share):
        bound = "" if wish.bound == "exactly" else f" {wish.bound}"
        return f"share {name}{bound} " + ", ".join(f"{value} {part:.0%}" for value, part in wish.shares.items())
    text = f"{'spread' if wish.sign > 0 else 'focus'} {name}"
    if wish.near is not None:
        text += f" near {target_text(wish)}" + (f" within {wish.within:g}" if wish.within is not None else "")
    return text + (f" x {wish.weight:g}" if wish.weight != 1 else "")


class Explainer:
    """Explains one ranking by its fitted wishes and gains."""

    def __init__(self, ranking: Ranking[Any], left_out: bool) -> None:
        problem, fitted, selection = ranking._problem, ranking._fitted, ranking._selection
        self.ranking, self.fitted, self.has_gains = ranking, fitted, is_replayed(ranking)
        self.results = ranking._problem_positions
        self.others = ranking._runners_up if left_out else self.results[:0]
        self.rows = problem.rows_of(0)
        steps = {position: step for step, position in enumerate(selection.positions[0].tolist())}
        self.steps = [steps[i] for i in self.results.tolist()]
        self.pinned = [step < selection.pinned for step in self.steps]
        best = set(ranking._by_score[: selection.protect].tolist())
        self.protected = [i in best for i in self.results.tolist()]
        listed = np.concatenate([self.results, self.others])
        self.before = ranking._queries.already_rows(0)
        self.counts = [
            RuleCounts(wish, labels, quota, ranking.k, self.rows[listed], len(self.results), self.before)
            for wish, labels, quota in zip(fitted.constraints, fitted.labels, fitted.quotas, strict=True)
            if isinstance(labels, SparseBins) and isinstance(quota, Quota)
        ]
        self.place_rules = [describe_wish(wish) for wish in fitted.constraints if getattr(wish, "places", False)]
        positions = problem.remaining.to_input(listed)
        values = positions, ranking._rank_of[positions], ranking._all_relevance[positions]
        self.ranks = list(zip(*(value.tolist() for value in values), strict=True))  # position, was and relevance

    def explanation(self) -> Explanation:
        ranking, count = self.ranking, len(self.results)
        default = "selected for its relevance" if self.has_gains else f"selected by {type(ranking.method).__name__}"
        if self.has_gains and self.fitted.coverage:  # a single result, which has no others to be compared with
            default = "best by relevance and wishes together"
        texts = ["; ".join(filter(None, dict.fromkeys(own))) or default for own in zip(*self._columns(), strict=True)]
        texts += [self._left_out(m, i) for m, i in enumerate(self.others.tolist())]
        listed = [*self.steps, *range(count, count + len(self.others))]
        reasons = []
        for (position, was, relevance), step, text in zip(self.ranks, listed, texts, strict=True):
            id_, order = ranking._ids[position], step + 1 if step < count else None
            reasons.append(Reason(id_, position, was, relevance, order, text, ranking, step))
        notes = tuple(str(missed) for missed in self.missed_rules() if missed.cause != OVER)
        return Explanation(reasons[:count], reasons[count:], ranking.strength, ranking.wishes, notes)

    def _columns(self) -> Iterator[list[str]]:
        """Yield for each kind of reason one text per result, which may be empty."""
        fitted, selection, rows = self.fitted, self.ranking._selection, self.rows[self.results]
        at = "" if self.ranking._queries.places is None else " at position {}"
        yield [f"pinned{at.format(place)}" if is_pinned else "" for place, is_pinned in enumerate(self.pinned, 1)]
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
            yield counts.texts(self.pinned)
        if self.place_rules:
            yield self._moves()
        text = "one of the {} matches" if selection.protect > 1 else "the {} match"
        # Closeness to named values is part of relevance.
        unknown = np.all([focus.bins.missing(rows) for focus in fitted.focuses], axis=0) | (not fitted.aims)
        best = [text.format("best" if own else "closest good") for own in np.broadcast_to(unknown, len(rows)).tolist()]
        yield [own if protected else "" for own, protected in zip(best, self.protected, strict=True)]

    def _moves(self) -> list[str]:
        """Return for each result whether rules about places put one before it that would come later without them."""
        scores = self.ranking._problem.scores[self.results]
        wanted = -scores if getattr(self.ranking.method, "order", "") == "relevance" else np.array(self.steps)
        text, latest, texts = f"moved back: {', '.join(self.place_rules)}", -np.inf, []
        for place, is_pinned in zip(wanted.tolist(), self.pinned, strict=True):
            texts.append(text if place < latest and not is_pinned else "")
            latest = latest if is_pinned else max(latest, place)
        return texts

    def _left_out(self, m: int, i: int) -> str:
        """Return why candidate i, number m of those left out, is not a result."""
        if text := self._exclusion(m, i):
            return text
        if self.place_rules and len(self.results) < self.ranking.k:
            return f"no place was found: {', '.join(self.place_rules)}"
        if not self.has_gains:
            return f"not selected by {type(self.ranking.method).__name__}"
        if all(map(operator.or_, self.pinned, self.protected)):
            return f"every result is {'pinned' if all(self.pinned) else 'protected'}"
        return self._comparison(m, i)

    def _exclusion(self, m: int, i: int) -> str:
        """Return which limit excludes candidate i, number m of those left out; empty if no limit does."""
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
        """Return what candidate i, number m of those left out, lacks compared with the last selected result."""
        count, scores = len(self.results), self.ranking._problem.scores
        last = int(self.ranking._selection.positions[0, count - 1])
        assert self.ranking._account is not None
        of_last, own = self.ranking._account.rows[count - 1], self.ranking._account.rows[count + m]
        behind = list(map(operator.sub, of_last, own))
        total, tie = sum(behind), _EQUAL * max(1.0, *map(abs, of_last + own))
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
            return self._shortcoming(worst - 1, m, i, than)
        if behind[0] <= tie:
            crowded = [describe_wish(counts.wish) for counts in self.counts if is_ahead and counts.is_crowded(m)]
            return f"gave way to: {', '.join(crowded)}" if crowded else "the results fit the wishes better without it"
        return f"less relevant {'or less close ' if self.fitted.aims else ''}than {than}"

    def _shortcoming(self, a: int, m: int, i: int, than: str) -> str:
        """Return why the value of attribute a speaks against candidate i, number m of those left out."""
        account = self.ranking._account
        assert account is not None
        name, parts, spread = account.names[1 + a], account.parts[a], self.fitted.coverage[a].sign > 0
        if self.fitted.bins[a].missing(self.rows[[i]])[0]:
            return f"its {name} is unknown"
        if parts is None:  # vectors
            return f"too {'like' if spread else 'unlike'} the other results"
        covered = parts.covered(len(self.results) + m)
        if spread:
            return f"its {name} is already covered" if covered >= _COVERED else f"its {name} adds less than {than}"
        far = covered < 1 - _COVERED
        return f"its {name} is too far from the other results" if far else f"its {name} costs more than {than}"

    def missed_rules(self) -> Iterator[MissedRule]:
        """Yield the shares that could not be met, the limits that were exceeded, and what cut the page short."""
        k, problem = self.ranking.k, self.ranking._problem
        is_open = problem.open_positions(0)
        for position in self.ranking._pinned.tolist():
            if position not in self.ranking.positions:
                reason = f"fits no place of this page: {', '.join(self.place_rules)}"
                yield MissedRule("pin", str(self.ranking._ids[position]), 0, 1, "places", reason)
        for counts in self.counts:
            wish = counts.wish
            if isinstance(wish, Limit):
                reason = "to fill the page" if wish.fill else "because of a pin"
                for code, count in counts.counts.items() if not wish.places else ():
                    if count > (most := int(counts.capacity[code])):
                        yield MissedRule(f"limit {wish.attribute.name}", counts.names(code), count, most, OVER, reason)
                continue
            for group, value in enumerate(wish.named):
                least = wish.bounds(value, k)[0]
                if counts.counts[group] < least:
                    yield self._shortfall(counts, group, least, self.rows[is_open])
        if len(self.results) < min(k, int(is_open.sum())):
            is_open[self.results] = False
            yield from self._short_page(np.flatnonzero(is_open))

    def _shortfall(self, counts: RuleCounts, group: int, target: int, rows: Ints) -> MissedRule:
        """Return why a value of a share or minimum has fewer results than its target; `rows` may be shown."""
        codes = codes_of(counts.quota.indptr, counts.quota.labels, rows)
        rows, count = rows[[group in own for own in codes]], counts.counts[group]
        cause, reason = "crowded", "limits, pins and protected results leave no room"
        if not len(rows):
            cause, reason = "absent", "no candidate has it"
        elif len(rows) == count:
            cause, reason = "scarce", "the candidates have no more"
        for other in self.counts if len(rows) > count else ():
            labels = codes_of(other.quota.indptr, other.quota.labels, rows)
            if isinstance(other.wish, Limit) and not other.wish.fill and max(map(len, labels)) == 1:
                numbers = Counter(own[0] if own else -1 for own in labels)
                most = {code: len(rows) if code < 0 else int(other.capacity[code]) for code in numbers}
                fits = sum(min(rows_with, most[code]) for code, rows_with in numbers.items())
                if count <= fits < min(target, len(rows)):
                    values = f"{len(numbers)} value{'s'[: len(numbers) > 1]} of {other.wish.attribute.name}"
                    cause, reason = "limited", f"at most {fits} fit: its {len(rows)} candidates have {values}"
        rule = f"{'share' if isinstance(counts.wish, Share) else 'at least'} {counts.wish.attribute.name}"
        return MissedRule(rule, counts.names(group), count, target, cause, reason)

    def _short_page(self, remaining: Ints) -> Iterator[MissedRule]:
        """Yield which limits exclude all remaining candidates; nothing if they do not."""
        blocked, limits = np.zeros(len(remaining), bool), []
        for wish, labels, quota in zip(self.fitted.constraints, self.fitted.labels, self.fitted.quotas, strict=True):
            if isinstance(labels, VectorBins) and isinstance(wish, Limit) and not wish.fill:
                full = np.array([len(self._copies(wish, labels, i)) >= wish.most("") for i in remaining.tolist()])
            else:
                counts = next((counts for counts in self.counts if counts.quota is quota), None)
                if counts is None or not counts.never_exceeded:
                    continue
                codes = codes_of(counts.quota.indptr, counts.quota.labels, self.rows[remaining])
                full = np.array([counts.is_full(own) for own in codes])
            if full.any():
                blocked |= full
                limit = f"the limit of {describe_wish(wish).removeprefix('at most ')}"
                limits.append(limit if isinstance(wish, Limit) else f"the largest share of {wish.attribute.name}")
        if blocked.all():
            reason = f"{' and '.join(limits)} {'leaves' if len(limits) == 1 else 'leave'} no more candidates"
            yield MissedRule("page", "", len(self.results), self.ranking.k, "limits", reason)
        elif self.place_rules:
            reason = f"no other candidate was found that fits {' and '.join(self.place_rules)}"
            yield MissedRule("page", "", len(self.results), self.ranking.k, "places", reason)
