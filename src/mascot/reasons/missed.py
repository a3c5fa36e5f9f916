"""Rules that a page does not meet, and what cut it short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.attributes.category import Category, label_text, labels_of
from mascot.bins import Bins, Ints, SparseBins
from mascot.constraints import Limit, Share
from mascot.kernels.counters import CopyCounter, CopyRule
from mascot.reasons.phrases import codes_of, describe_wish
from mascot.reasons.rule_counts import RuleCounts

if TYPE_CHECKING:
    from mascot.fitting.fitted_wishes import FittedWishes
    from mascot.ranking import Ranking

OVER = "over"  # the cause of a limit that was exceeded
_NO_PAGE = "no page was found that has more"


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


def missed_rules(ranking: Ranking[Any], rules: Sequence[RuleCounts]) -> Iterator[MissedRule]:
    """Yield the shares that could not be met, the limits that were exceeded, and what cut the page short."""
    problem, placed = ranking._problem, [describe_wish(counts.wish) for counts in rules if counts.is_placed]
    is_open, rows = problem.open_positions(0), problem.rows_of(0)
    for position in ranking._pinned.tolist():
        if position not in ranking.positions:
            reason = f"fits no place of this page: {', '.join(placed)}"
            yield MissedRule("pin", str(ranking._ids[position]), 0, 1, "places", reason)
    for counts in rules:
        wish = counts.wish
        if isinstance(wish, Limit):
            reason = "to fill the page" if wish.fill else "because of a pin"
            for code, count in counts.counts.items() if not wish.places else ():
                if count > (most := int(counts.capacity[code])):
                    yield MissedRule(f"limit {wish.attribute.name}", counts.names(code), count, most, OVER, reason)
            continue
        for group, value in enumerate(wish.named):
            least = wish.bounds(value, ranking.k)[0]
            if counts.counts[group] < least:
                yield _shortfall(counts, group, least, rows[is_open], rules)
    yield from unknown_values(ranking._fitted, rows)
    if len(ranking) < min(ranking.k, int(is_open.sum())):
        is_open[ranking._problem_positions] = False
        yield from _short_page(ranking, rules, np.flatnonzero(is_open), placed)


def _shortfall(counts: RuleCounts, group: int, target: int, rows: Ints, rules: Sequence[RuleCounts]) -> MissedRule:
    """Return why a value of a share or minimum has fewer results than its target; `rows` may be shown."""
    codes = codes_of(counts.rule.indptr, counts.rule.labels, rows)
    rows, count = rows[[group in own for own in codes]], counts.counts[group]
    cause, reason = "crowded", _NO_PAGE
    if not len(rows):
        cause, reason = "absent", "no candidate has it"
    elif len(rows) == count:
        cause, reason = "scarce", "the candidates have no more"
    for other in rules if len(rows) > count else ():
        labels = codes_of(other.rule.indptr, other.rule.labels, rows)
        if isinstance(other.wish, Limit) and not other.wish.fill and max(map(len, labels)) == 1:
            numbers = Counter(own[0] if own else -1 for own in labels)
            most = {code: len(rows) if code < 0 else int(other.capacity[code]) for code in numbers}
            fits = sum(min(rows_with, most[code]) for code, rows_with in numbers.items())
            if count <= fits < min(target, len(rows)):
                values = f"{len(numbers)} value{'s'[: len(numbers) > 1]} of {other.wish.attribute.name}"
                cause, reason = "limited", f"at most {fits} fit: its {len(rows)} candidates have {values}"
    rule = f"{'share' if isinstance(counts.wish, Share) else 'at least'} {counts.wish.attribute.name}"
    return MissedRule(rule, counts.names(group), count, target, cause, reason)


def _short_page(
    ranking: Ranking[Any], rules: Sequence[RuleCounts], remaining: Ints, placed: Sequence[str]
) -> Iterator[MissedRule]:
    """Yield which rules exclude all remaining candidates, or that no page was found."""
    problem, blocked, limits = ranking._problem, np.zeros(len(remaining), bool), []
    rows, results = problem.rows_of(0), dict(enumerate(ranking._page.positions))
    for number, (wish, rule) in enumerate(zip(ranking._fitted.constraints, problem.rules, strict=True)):
        if isinstance(rule, CopyRule):
            counter: CopyCounter = rule.counter(rows)
            counter.begin(ranking._queries.already_rows(0).tolist(), results)
            allowed = counter.allowed(0)
            full = np.zeros(len(remaining), bool) if allowed is None else ~allowed[remaining]
        else:
            counts = next(counts for counts in rules if counts.number == number)
            if not counts.never_exceeded:
                continue
            full = np.array([counts.is_full(own) for own in codes_of(rule.indptr, rule.labels, rows[remaining])])
        if full.any() and not (isinstance(wish, Limit) and wish.fill):
            blocked |= full
            limit = f"the limit of {describe_wish(wish).removeprefix('at most ')}"
            limits.append(limit if isinstance(wish, Limit) else f"the largest share of {wish.attribute.name}")
    if blocked.all():
        reason = f"{' and '.join(limits)} {'leaves' if len(limits) == 1 else 'leave'} no more candidates"
        yield MissedRule("page", "", len(ranking), ranking.k, "limits", reason)
    elif placed:
        reason = f"no page was found that fits {' and '.join(placed)}"
        yield MissedRule("page", "", len(ranking), ranking.k, "places", reason)


def unknown_values(fitted: FittedWishes, rows: Ints) -> Iterator[MissedRule]:
    """Yield a note for each label of a focus or a limit that none of these rows has. Shares have notes of their own."""
    for wish, focus in zip(fitted.aims, fitted.focuses, strict=True):
        if isinstance(wish.attribute, Category):
            values = [label_text(label) for label in labels_of(wish.near)]
            yield from _absent(f"focus {wish.attribute.name}", dict.fromkeys(values, 1), focus.bins, rows)
    for rule, labels in zip(fitted.constraints, fitted.labels, strict=True):
        if isinstance(rule, Limit) and not isinstance(rule.n, int):
            yield from _absent(f"limit {rule.attribute.name}", rule.named, labels, rows)


def _absent(rule: str, targets: dict[str, int], labels: Bins, rows: Ints) -> Iterator[MissedRule]:
    if not isinstance(labels, SparseBins) or not len(rows):
        return
    present = {labels.name(code) for own in codes_of(labels.indptr, labels.indices, rows) for code in own}
    for value, target in targets.items():
        if value not in present:
            yield MissedRule(rule, value, 0, target, "absent", "no candidate has it")
