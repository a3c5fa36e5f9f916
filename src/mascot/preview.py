"""Preview: what rules change over recorded queries, before they go live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from heapq import nlargest
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from mascot.attributes.category import Category, label_text, labels_of
from mascot.bins import Floats, Ints
from mascot.candidates import Candidates, scaled
from mascot.errors import InputError
from mascot.grammar import columns_of
from mascot.methods import Relevance
from mascot.profiles import Variant
from mascot.ranking import Ranking
from mascot.reranking import rerank_many
from mascot.serialize import plain

MOST_CHANGED = 10  # queries that are shown side by side
_FIRST = 5  # results at the top of a page that are compared on their own
_MEANINGS = {
    "absent": "no candidate has the value",
    "scarce": "the candidates do not have enough results with the value",
    "limited": "a limit on another attribute leaves room for fewer",
    "crowded": "limits, pins and protected results leave no room",
    "over": "the limit was exceeded to fill the page",
    "limits": "limits leave no more candidates",
    "places": "no other candidate was found that fits the rules about places",
}  # of the causes of a `MissedRule`
_Rule = tuple[str, str, str]  # a rule, the value that has too few or too many results, and the cause


@dataclass(frozen=True, slots=True)
class QueryHits:
    """The recorded hits of one query, and the weight of the query, such as its number of searches."""

    query: Any
    candidates: Candidates[Any]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PageChange:
    """How the page of one query differs: 0 or 1 where a share of several pages is between them."""

    pages: float  # some position has another result
    first: float
    first_five: float  # one of the first five positions has another result
    replaced: float  # results that the page did not have before
    moved: float  # share of the exposure that went to other results
    kept_before: float  # relevance as a share of the best possible
    kept: float
    short_before: float  # fewer than k results, although there are k hits
    short: float


@dataclass(frozen=True, slots=True)
class PageResult:
    """One result of a page: its rank by score, its values in the columns of the rules, and why it was selected."""

    id: Any
    was: int
    values: dict[str, Any]
    because: str = ""


@dataclass(frozen=True, slots=True)
class ChangedQuery:
    """A query whose page changes much, with the results before and after."""

    query: Any
    weight: float
    moved: float
    replaced: int
    before: list[PageResult]
    after: list[PageResult]


@dataclass(frozen=True, slots=True)
class MissedCount:
    """On how many pages a rule is missed, before and after, and why."""

    rule: str
    value: str
    cause: str
    reason: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class ExposureChange:
    """The share of all exposure that a value receives. The result at rank r receives 1 / log2(r + 1)."""

    column: str
    value: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(slots=True)
class Tally:
    """What some queries add to a preview. The tallies of all queries are added up by `add`."""

    changes: list[PageChange] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)  # of these queries
    missed: tuple[Counter[_Rule], Counter[_Rule]] = field(
        default_factory=lambda: (Counter(), Counter())
    )  # before, after
    exposure: tuple[Counter[Any], Counter[Any]] = field(default_factory=lambda: (Counter(), Counter()))
    most_changed: list[ChangedQuery] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)  # queries by the message of their error

    def add(self, other: Tally) -> None:
        self.changes += other.changes
        self.weights += other.weights
        for mine, theirs in zip((*self.missed, *self.exposure), (*other.missed, *other.exposure), strict=True):
            mine.update(theirs)
        self.most_changed = nlargest(
            MOST_CHANGED, self.most_changed + other.most_changed, key=attrgetter("moved", "weight")
        )
        self.refused += other.refused


@dataclass(frozen=True, slots=True)
class Preview(PageChange):
    """What rules change over recorded queries: the mean change, weighted by the weights of the queries, and lists.

    Attributes
    ----------
    queries, refused
        The number of queries that were compared, and the number of those that the rules refuse, by the message.
    missed, exposure, most_changed
        Rules that pages miss; values with their exposure, the largest change first; the ten most changed queries.
    changes
        How each query changed.
    """

    queries: int
    refused: dict[str, int]
    missed: list[MissedCount]
    exposure: list[ExposureChange]
    most_changed: list[ChangedQuery]
    changes: list[PageChange]

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as plain data, ready for JSON, without the changes of single queries."""
        values = asdict(replace(self, changes=[]))
        del values["changes"]
        return plain(values)


def preview(
    queries: Iterable[QueryHits], rules: Variant, against: Variant | None = None, columns: Sequence[str] = ()
) -> Preview:
    """Compare the pages of recorded queries under two sets of rules.

    Parameters
    ----------
    queries
        The recorded hits of each query.
    rules, against
        The new rules and the old ones, such as `mascot.load_profile(path).rules()` (default of `against`: None, which
        stands for the hits by relevance alone).
    columns
        Columns whose values are compared by exposure, in addition to the columns of labels of the rules (default: ()).

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates(scores=[0.9, 0.8, 0.5], columns={"city": ["Rome", "Rome", "Oslo"]})
    >>> rules = Variant("", 1.0, (mc.limit("city", 1),), 2, mc.Mascot())
    >>> preview([QueryHits("pizza", hits)], rules).replaced
    1.0
    """
    return summarize(tally(list(queries), rules, against, columns))


def tally(queries: Sequence[QueryHits], rules: Variant, against: Variant | None, columns: Sequence[str]) -> Tally:
    """Return what these queries add to a preview."""
    old_rules = against or Variant("", 1.0, (), rules.k, Relevance())
    labelled = [wish for wish in (*old_rules.wishes, *rules.wishes) if isinstance(wish.attribute, Category)]
    columns = list(dict.fromkeys([*(column for wish in labelled for column in columns_of(wish)), *columns]))
    result, pages = Tally(), []
    for query, before, after in _rankings(queries, (old_rules, rules), result.refused):
        change = _compare(query.candidates.scores, before, after)
        result.changes.append(change)
        result.weights.append(query.weight)
        if change.pages:
            pages.append((change.moved, query.weight, change.replaced, query, before, after))
        cells = {name: query.candidates.columns[name] for name in columns if name in query.candidates.columns}
        for side, ranking in enumerate((before, after)):
            missed = {(missed.rule, missed.value, missed.cause) for missed in ranking.missed_rules()}
            result.missed[side].update(missed)
            _add_exposure(result.exposure[side], query.weight, ranking.positions, cells)
    for moved, weight, replaced, query, before, after in nlargest(MOST_CHANGED, pages, key=itemgetter(0, 1)):
        sides = [_results(ranking, query.candidates, columns) for ranking in (before, after)]
        result.most_changed.append(ChangedQuery(plain(query.query), weight, moved, int(replaced), *sides))
    return result


def _rankings(queries: Sequence[QueryHits], both: Sequence[Variant], refused: Counter[str]) -> list[Any]:
    """Return each query with its rankings by both rules. Queries that the rules refuse are counted and left out."""
    if not queries:
        return []
    candidates = [query.candidates for query in queries]
    try:
        ranked = [rerank_many(candidates, rules.wishes, rules.k, rules.method) for rules in both]
        return list(zip(queries, *ranked, strict=True))
    except InputError as error:
        if len(queries) == 1:
            refused[str(error)] += 1
            return []
        half = len(queries) // 2
        return _rankings(queries[:half], both, refused) + _rankings(queries[half:], both, refused)


def _compare(scores: Floats, before: Ranking[Any], after: Ranking[Any]) -> PageChange:
    relevance, sides = scaled(scores), (before.positions, after.positions)
    exposure = np.zeros((2, len(scores)))
    for row, positions in zip(exposure, sides, strict=True):
        row[positions] = _discounts(len(positions))
    old, new = (positions.tolist() for positions in sides)
    total = exposure.sum()
    kept_before, kept = (_kept(relevance, positions) for positions in sides)
    short_before, short = (len(ranking) < min(ranking.k, len(scores)) for ranking in (before, after))
    return PageChange(
        old != new, old[:1] != new[:1], old[:_FIRST] != new[:_FIRST], len(set(new) - set(old)),
        float(np.abs(exposure[1] - exposure[0]).sum() / total) if total else 0.0,
        kept_before, kept, short_before, short,
    )  # fmt: skip


def _kept(relevance: Floats, positions: Ints) -> float:
    """Return the relevance of the results as a share of the best possible, 1 if that is 0."""
    # Both sums run in the same order, so that an untouched ranking keeps exactly 1.
    best = np.sort(relevance)[len(relevance) - len(positions) :].sum()
    return float(np.sort(relevance[positions]).sum() / best) if best > 0 else 1.0


def _discounts(count: int) -> Floats:
    """Return the exposure of the results of a page, by rank."""
    return 1 / np.log2(np.arange(2, count + 2))


def _add_exposure(exposure: Counter[Any], weight: float, positions: Ints, cells: dict[str, Any]) -> None:
    discounts = (weight * _discounts(len(positions))).tolist()
    exposure[None] += sum(discounts)
    for name, column in cells.items():
        for value, discount in zip(column[positions].tolist(), discounts, strict=True):
            for label in labels_of(value):
                exposure[name, label_text(label)] += discount


def _results(ranking: Ranking[Any], candidates: Candidates[Any], columns: Sequence[str]) -> list[PageResult]:
    cells = {name: candidates.columns[name] for name in columns if name in candidates.columns}
    return [
        PageResult(
            plain(reason.id),
            reason.was,
            {name: plain(column[reason.position]) for name, column in cells.items()},
            reason.because if ranking.wishes else "",
        )
        for reason in ranking.explain(left_out=False).results
    ]


def summarize(total: Tally) -> Preview:
    """Return the preview of the queries that were added up."""
    if not total.changes:
        message = next(iter(total.refused), "there are no queries")
        raise InputError(f"no query can be previewed: {message}")
    if not sum(total.weights):
        raise InputError("the weights of the queries must not all be 0")
    table = np.array(list(map(astuple, total.changes)))
    means = np.average(table, axis=0, weights=total.weights).tolist()
    before, after = total.missed
    rules = sorted({*before, *after}, key=lambda rule: (-after[rule], -before[rule], rule))
    missed = [MissedCount(*rule, _MEANINGS[rule[2]], before[rule], after[rule]) for rule in rules]
    old, new = total.exposure
    exposure = [
        ExposureChange(key[0], key[1], old[key] / (old[None] or 1), new[key] / (new[None] or 1))
        for key in {**old, **new}
        if key
    ]
    return Preview(
        **dict(zip(PageChange.__slots__, means, strict=True)),
        queries=len(total.changes),
        refused=dict(total.refused.most_common()),
        missed=missed,
        exposure=sorted(exposure, key=lambda entry: (-abs(entry.change), entry.column, entry.value)),
        most_changed=total.most_changed,
        changes=total.changes,
    )
