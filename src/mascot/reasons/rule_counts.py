"""What limits, shares and minimum counts count, and the reasons that follow from the counts."""

from __future__ import annotations

import operator
from collections import Counter
from typing import TYPE_CHECKING, Any

from mascot.bins import Ints, SparseBins
from mascot.constraints import UNLIMITED, AtLeast, Constraint, Limit, Share
from mascot.kernels.counters import LabelRule
from mascot.reasons.phrases import codes_of, count_text, number_text, ordinal_text, origin_text

if TYPE_CHECKING:
    from mascot.ranking import Ranking


def counts_of(ranking: Ranking[Any], others: Ints) -> list[RuleCounts]:
    """Return what the rules on labels count on a page, and for other candidates."""
    fitted, problem = ranking._fitted, ranking._problem
    rows = problem.rows_of(0)
    shown, left_out, before = rows[ranking._problem_positions], rows[others], ranking._queries.already_rows(0)
    rules = zip(fitted.constraints, fitted.labels, problem.rules, strict=True)
    return [
        RuleCounts(number, wish, labels, rule, ranking.k, shown, left_out, before)
        for number, (wish, labels, rule) in enumerate(rules)
        if isinstance(labels, SparseBins) and isinstance(rule, LabelRule)
    ]


class RuleCounts:
    """What one rule counts: the labels of the results, in the order shown, and of the candidates left out.

    `capacity` is the largest count of each label on the page. A limit for a session or a window also counts the labels
    of `before`, the results of earlier pages.
    """

    def __init__(
        self, number: int, wish: Constraint, labels: SparseBins, rule: LabelRule, k: int, shown: Ints, left_out: Ints,
        before: Ints,
    ) -> None:  # fmt: skip
        self.number, self.wish, self.rule, self.k = number, wish, rule, k
        self.names = labels.name if isinstance(wish, Limit) else [*wish.named, ""].__getitem__
        self.is_placed = isinstance(wish, Limit) and wish.places
        self.capacity = rule.on_page(k)
        self.never_exceeded = not wish.fill if isinstance(wish, Limit) else getattr(wish, "bound", "") == "at most"
        counts_before = isinstance(wish, Limit) and (wish.counts_session or wish.window)
        self.before = codes_of(rule.indptr, rule.labels, before) if counts_before else []
        self.selected, self.left_out = (codes_of(rule.indptr, rule.labels, rows) for rows in (shown, left_out))
        earlier = self.before if isinstance(wish, Limit) and wish.counts_session else []
        least_among = wish.first if isinstance(wish, AtLeast) else None
        self.counts = Counter(code for own in (*earlier, *self.selected[:least_among]) for code in own)

    def texts(self, pinned: list[bool]) -> list[str]:
        """Return for each result for example "second of at most two from acme" or "one of 3 from Europe"."""
        if isinstance(self.wish, Limit):
            return [self._limit_text(self.wish, place, is_pinned) for place, is_pinned in enumerate(pinned)]
        named = [[code for code in own if self.names(code)] for own in self.selected]
        return [count_text(self.counts[own[0]], self._origin(own[0])) if own else "" for own in named]

    def _origin(self, code: int) -> str:
        return origin_text(self.wish.attribute.name, self.names(code))

    def _limit_text(self, wish: Limit, place: int, is_pinned: bool) -> str:
        """Return the number of a result among those with its value."""
        code = next(iter(self.selected[place]), -1)
        if code < 0 or self.rule.capacity[code] >= UNLIMITED or place >= (wish.first or self.k):
            return ""
        counted = [*self.before, *self.selected[: place + 1]][-(wish.window or 0) :]
        count, most, origin = sum(code in own for own in counted), int(self.rule.capacity[code]), self._origin(code)
        ordinal, where = ordinal_text(count, words=True), ""
        if wish.places:
            where = f" in every {wish.window}" if wish.window else f" among the first {wish.first}"
        if count <= most:
            return f"{ordinal} of at most {number_text(most)} {origin}{where}"
        cause = "to fill the page" if wish.fill and not is_pinned else "because of a pin"
        return f"{ordinal} {origin}, over the limit of {number_text(most)} {cause}"

    def is_full(self, codes: list[int]) -> bool:
        """Return whether a limit has no place left for a candidate with these labels."""
        return any(self.counts[code] >= self.capacity[code] for code in codes)

    def place_text(self, row: int, place: int, results: Ints) -> str:
        """Return why a rule on places does not allow a row at a place; `results` are the rows of the page."""
        wish, own = self.wish, self.rule.of(row).tolist()
        assert isinstance(wish, Limit)
        codes = codes_of(self.rule.indptr, self.rule.labels, results)
        near = codes[:place] if wish.first else [*self.before, *codes[:place]][1 - (wish.window or 1) :]
        where = f"among the first {wish.first}" if wish.first else f"in {wish.window} results"
        for code in own:
            if sum(code in other for other in near) >= (most := int(self.rule.capacity[code])):
                return f"{self._label(code)} may have {number_text(most)} {where}"
        return ""

    def _label(self, code: int) -> str:
        """Return a value with its column: "seller acme"."""
        return f"{self.wish.attribute.name} {self.names(code)}"

    def limit_text(self, m: int) -> str:
        """Return why a limit excludes candidate m of those left out; empty if it does not."""
        for code in self.left_out[m]:
            count, most = self.counts[code], int(self.capacity[code])
            if count >= most:
                over = f", over its limit of {number_text(most)}" if count > most else ""
                pages = " with earlier pages" if isinstance(self.wish, Limit) and self.wish.counts_session else ""
                return f"{self._label(code)} already has {number_text(count)}{pages}{over}"
        return ""

    def share_text(self, m: int) -> str:
        """Return how a share or a minimum excludes candidate m of those left out; empty if it does not."""
        wish, own = self.wish, self.left_out[m]
        assert not isinstance(wish, Limit)
        is_full = operator.ge if self.never_exceeded else operator.eq  # only pins exceed a largest share
        full = [code for code in own if is_full(self.counts[code], self.capacity[code])]
        if full and self.names(full[0]):
            count, most = self.counts[full[0]], int(self.capacity[full[0]])
            over = f"{number_text(count)}, over " if count > most else ""
            return f"{self._label(full[0])} already has {over}its share of {number_text(most)}"
        least = {code: wish.bounds(value, self.k)[0] for code, value in enumerate(wish.named)}
        at_minimum = [code for code in least if code not in own and 0 < self.counts[code] <= least[code]]
        if not at_minimum or any(self.counts[code] < least.get(code, 0) for code in own):
            return ""
        places = ", ".join(f"{self.counts[code]} of {len(self.selected)} {self._origin(code)}" for code in at_minimum)
        word = "share" if isinstance(wish, Share) else "minimum"
        return f"gave way to the {word} of {wish.attribute.name}: {places}"
