"""The reference implementation: what MASCOT selects, in numpy and float64, written to be read.

`select` selects for Q queries. For each of them `WeighedQuery` holds what does not depend on the strength (relevance,
protected results, the worth of bins), its `pick` selects at one strength, and its `search` finds the strength that
`keep` asks for. One greedy pass is myopic under a focus: the bins of the protected results are free, so it takes
everything there before it opens a better bin. A focus therefore has several runs, and the best objective wins. Without
a spread beside it, these runs do not depend on the strength: among fixed lists a higher strength never prefers one that
costs more, so the dial is monotone.

Wishes about vectors earn or pay novelty, which `novelty.py` defines; all other attributes have bins.

Gains closer together than `TIE` of the query's scale are equal, and equal gains go to the lowest position. Rounding
therefore never decides: bursts, mirrored places and one-hot bins tie exactly here and in every other backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import (
    ALIKE,
    CENTRE_STEPS,
    EPSILON,
    FENCE,
    FEW,
    LABEL_PRICE,
    LEADERS,
    NOTHING,
    PROTECTED_STEP,
    TIE,
)
from mascot.kernels.look_ahead import select_results
from mascot.kernels.novelty import Novelty, QueryVectors, WeighedVectors
from mascot.kernels.quotas import (
    AnyQuota,
    QuotaCounts,
    has_lower_bounds,
    may_fill,
    may_look_ahead,
    select_protected,
    without_fill,
    without_places,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Options(NamedTuple):
    """How to select; see `mascot.Mascot`."""

    k: int
    protect: int
    strength: float
    keep: float  # 0: select at `strength`
    starts: int  # further starts of a focus; 0: a single greedy pass
    # The bits of `flags`, the lowest first:
    query_weight: bool  # a bin is worth its peak relevance; otherwise 1
    normalize: bool  # relevance is in 0..1; otherwise raw scores are used
    scale: bool  # coverage is divided by its largest first-step value and by the sum of the weights
    robust: bool  # far outliers among the scores count as the outermost of the other scores
    balance: bool  # a bin of a spread holds its share of the k results
    by_relevance: bool  # results are ranked by relevance; otherwise in the order of selection

    @property
    def flags(self) -> int:
        """The switches as one number, as kernels take them."""
        low = self.query_weight | self.normalize << 1 | self.scale << 2
        return low | self.robust << 3 | self.balance << 4 | self.by_relevance << 5


@dataclass(slots=True)
class Selection:
    """What was selected for Q queries; -1 pads where a query has fewer than k results."""

    positions: Ints  # [Q, k] in the order of selection
    ranked: Ints  # [Q, k] the same positions, best first
    strengths: Floats  # [Q] the strength that was used (the one found, if `keep` was asked for)
    gain_factors: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] worth of one unit of coverage
    largest_gains: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] largest first-step coverage
    coverage_per_result: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] part of a bin that it fills
    stages: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # [Q] stages the quotas needed
    arranged: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # [Q] 1: `ranked` obeys rules on places
    protect: int = 0  # how many by relevance were selected first
    pinned: int = 0  # how many the caller selected, before all others

    def only(self, q: int) -> Selection:
        """Return one query's selection, without padding."""
        count, own = int((self.positions[q] >= 0).sum()), slice(q, q + 1)  # a slice of an empty array is empty
        per_query: dict[str, Any] = {name: getattr(self, name)[own] for name in (*_PER_QUERY, "arranged")}
        return replace(self, positions=self.positions[own, :count], ranked=self.ranked[own, :count], **per_query)

    def after(self, pinned: Ints, count: int) -> Selection:
        """Return the selection of one query with `pinned` first, followed by at most `count` selected positions."""
        picks, arranged = (row[0][row[0] >= 0][:count] for row in (self.positions, self.ranked))
        positions, ranked = np.concatenate([pinned, picks])[None], np.concatenate([pinned, arranged])[None]
        return replace(self, positions=positions, ranked=ranked, pinned=len(pinned))

    def where(self, queries: Bools, other: Selection) -> Selection:
        """Return this selection for the queries that `queries` [Q] marks, and `other`, of the same shape, elsewhere."""
        arrays: dict[str, Any] = {}
        for name in ("positions", "ranked", *_PER_QUERY):
            values = getattr(self, name)
            mask = queries.reshape(-1, *(1 for _ in values.shape[1:]))
            arrays[name] = np.where(mask, values, getattr(other, name))
        return replace(self, **arrays)


_PER_QUERY = ("strengths", "gain_factors", "largest_gains", "coverage_per_result", "stages")


def inner_range(scores: Floats, robust: bool) -> tuple[Floats, Floats]:
    """Return the lowest and the highest score of each query; if `robust`, without far outliers.

    A score is a far outlier if it lies more than ten interquartile ranges outside the quartiles. `scores` is [Q, N],
    both results are [Q, 1].
    """
    if not robust or scores.shape[1] < FEW:
        return scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    halves = scores / 2  # because the range of finite scores may not be finite
    ranked, last = np.sort(halves, axis=1), scores.shape[1] - 1
    first, third = ranked[:, last // 4, None], ranked[:, 3 * last // 4, None]
    with np.errstate(over="ignore", invalid="ignore"):
        fence = FENCE * (third - first)
        fence = np.where(fence > 0, fence, np.inf)
        inside = (halves >= first - fence) & (halves <= third + fence)
    lowest = np.where(inside, scores, np.inf).min(axis=1, keepdims=True)
    highest = np.where(inside, scores, -np.inf).max(axis=1, keepdims=True)
    return lowest, highest


def normalized(scores: Floats, robust: bool = False) -> Floats:
    """Return scores rescaled to 0..1: (r - low) / (high - low + 1e-8).

    With `robust`, far outliers count as the outermost of the other scores.
    """
    low, high = (float(bound[0, 0]) for bound in inner_range(scores[None], robust))
    return np.asarray((np.clip(scores, low, high) / 2 - low / 2) / (high / 2 - low / 2 + EPSILON / 2))


def by_relevance(relevance: Floats, scores: Floats) -> Ints:
    """Return positions, best first: by relevance, then by score, then by position."""
    return np.lexsort((-scores, -relevance)).astype(np.int64)


class QueryBins(NamedTuple):
    """The bins of one attribute, for the N candidates of one query."""

    membership: Floats  # [N, U] in 0..1
    missing: Bools  # [N]
    sign: float  # +1 spread, -1 focus
    weight: float
    neutral: bool  # a missing value gets the mean membership; otherwise the candidate comes last
    labels: bool = False  # explicit bins: labels, clusters, those of a user
    names: Floats | None = None  # [N] the whole part is the name of a value, NaN a name of its own
    name_price: float = 0.0  # what a name costs a list of results that competes, in new bins

    @property
    def last(self) -> Bools:
        """Which candidates come last because their value is missing: under a focus, covering nothing would be best."""
        return self.missing & (self.sign < 0 and not self.neutral)

    def weighed(self, relevance: Floats, query_weight: bool) -> tuple[Floats, Floats]:
        """Return the membership, with neutral values filled in, and the weight of each bin [U].

        A neutral value covers what the value of another candidate, drawn at random, would cover on average. The query
        weight of a bin is its peak relevance, the paper's omega[u] = max_j p[j, u] r[j].
        """
        membership = self.membership
        if self.neutral and self.missing.any():
            valued = membership[~self.missing]
            mean = valued.mean(axis=0) if len(valued) else 0.0
            membership = np.where(self.missing[:, None], mean, membership)
        if not query_weight:
            return membership, np.ones(membership.shape[1])
        return membership, np.maximum((membership * relevance[:, None]).max(axis=0), 0.0)


class WeighedAttribute(NamedTuple):
    """The worth of covering the bins of one attribute, for the N candidates of one query."""

    membership: Floats  # [N, U]
    bin_weights: Floats  # [U]
    last: Bools  # [N] candidates that come last because their value is missing
    gain_factor: float  # worth of one unit of coverage, negative under a focus
    largest_gain: float  # largest coverage of a single candidate
    coverage_per_result: float  # part of a bin that one whole membership covers
    names: Floats | None = None  # [N] as in `QueryBins`
    name_price: float = 0.0

    @property
    def worth(self) -> Floats:
        """Worth [U] of covering each bin."""
        return self.gain_factor * self.bin_weights if self.largest_gain > 0 else np.zeros_like(self.bin_weights)

    @property
    def offset(self) -> Floats:
        """Gains [N] that do not depend on coverage: the penalty of candidates that come last."""
        return np.where(self.last, self.gain_factor * self.largest_gain, 0.0)

    def likeness(self, positions: Ints) -> Floats:
        """Return [i, c]: how much of the bins of the candidate at positions[c] the one at positions[i] has."""
        rows = self.membership[positions]
        own = (rows * rows).sum(axis=1)
        shared = np.array([(rows * row).sum(axis=1) for row in rows])  # [c, i]
        return np.asarray((shared / np.where(own > 0, own, 1.0)[:, None]).T)

    def start(self, already: Ints) -> Coverage:
        """Return the state of a pass in which only the results of earlier pages are selected."""
        return Coverage(self, already)

    def uncovered(self, worth: Floats, positions: Ints) -> Floats:
        """Return what is left of the worth of each bin: worth * prod_i (1 - coverage_per_result * p[i])."""
        for position in positions:
            worth = worth * (1 - self.coverage_per_result * self.membership[position])
        return worth

    def replay(self, already: int, k: int) -> tuple[Floats, Floats]:
        """Return the gains [k + M] of results and other candidates, and the part of each bin [k + M, U] that they open.

        The candidates are the results of earlier pages, k results in the order of selection, and M others. The gains of
        results are those at their selection; the others have the gains that they would have had in the last place.
        """
        left = np.ones((already + k, len(self.bin_weights)))
        np.cumprod(1 - self.coverage_per_result * self.membership[: already + k - 1], axis=0, out=left[1:])
        parts = self.membership[already:].copy()
        parts[:k] *= left[already:]
        parts[k:] *= left[-1]
        return (parts * self.worth).sum(axis=1) + self.offset[already:], parts


class Coverage:
    """What is left to cover of the bins of one attribute."""

    def __init__(self, attribute: WeighedAttribute, already: Ints) -> None:
        self._attribute, self._left = attribute, attribute.uncovered(attribute.worth, already)

    def gains(self) -> Floats:
        """Return what each candidate earns (spread) or pays (focus) if it is selected next [N]."""
        # Row sums, not a matrix product: BLAS gives equal rows different sums.
        return np.asarray((self._attribute.membership * self._left).sum(axis=1))

    def add(self, position: int) -> None:
        self._left = self._attribute.uncovered(self._left, np.array([position]))


def weigh_attribute(
    bins: QueryBins | QueryVectors, relevance: Floats, total_weight: float, k: int, options: Options
) -> WeighedAttribute | WeighedVectors:
    """Weigh the bins or vectors of one attribute, whose weight is part of `total_weight`, for k results."""
    if isinstance(bins, QueryVectors):
        return bins.weighed(total_weight, options.scale)
    membership, bin_weights = bins.weighed(relevance, options.query_weight)
    largest_gain = float((membership * bin_weights).sum(axis=1).max(initial=0.0))
    largest_gain = largest_gain if largest_gain >= NOTHING else 0.0
    gain_factor = bins.sign * bins.weight
    if options.scale:
        price = LABEL_PRICE if bins.labels and bins.sign < 0 else 1.0
        gain_factor = gain_factor * price / total_weight / (largest_gain or 1.0)
    filled = coverage_per_result(membership, k) if options.balance and bins.sign > 0 else 1.0
    weighed = WeighedAttribute(membership, bin_weights, bins.last, gain_factor, largest_gain, filled)
    return weighed._replace(names=bins.names, name_price=bins.name_price) if bins.sign < 0 else weighed


def coverage_per_result(membership: Floats, k: int) -> float:
    """Return the part of a bin that a membership of 1 covers, so that an even list of k results fills every bin.

    If an even list has n > 1 results per bin, each of them covers 1 / n of its bin; otherwise it covers the whole bin.
    """
    peaks = float(membership.max(axis=0, initial=0.0).sum())
    if peaks <= 0:
        return 1.0
    results_per_bin = k * float(membership.sum()) / len(membership) / peaks
    return 1.0 if results_per_bin <= 1 else 1 / results_per_bin


class QueryArrays(NamedTuple):
    """The N candidates of one query."""

    scores: Floats  # [N]
    attributes: Sequence[QueryBins | QueryVectors]
    already: Ints  # positions that earlier pages showed: they count as covered and are not selected again
    quotas: Sequence[AnyQuota]
    rows: Ints  # [N] rows of the quotas


def count_names(names: Floats, positions: Ints, already: Ints) -> int:
    """Return how many names positions add to those of earlier pages. Each missing value counts as a name."""
    own = np.floor(names[positions]).tolist()
    earlier = set(np.floor(names[already]).tolist())
    return len(set(own) - earlier)  # NaN differs from every other NaN


class Run(NamedTuple):
    """The results of a greedy pass, in the order of selection."""

    positions: Ints
    stages: int  # that the quotas needed
    relevance: float  # sum of their relevance
    wishes: float  # sum of what they gain by all wishes


class WeighedQuery:
    """One query, and everything about it that does not depend on the strength."""

    def __init__(self, query: QueryArrays, options: Options) -> None:
        self.query, self.options = query, options
        self.k = min(options.k, len(query.scores) - len(query.already))
        self.ideal = normalized(query.scores, options.robust)  # what `keep` and the ranking are about
        self.relevance = self.ideal if options.normalize else query.scores  # what the gain is about
        order = by_relevance(self.relevance, query.scores)
        parts = [part.scaled(order) if isinstance(part, QueryVectors) else part for part in query.attributes]
        spread_vectors = [part for part in parts if isinstance(part, QueryVectors) and part.sign > 0]
        counts = self._counts()
        self.protected = select_protected(order, options.protect, query.already, self.k, counts, spread_vectors)
        total_weight = float(
            sum(part.weight / (part.most if isinstance(part, QueryVectors) else 1.0) for part in parts)
        )
        self.attributes = [weigh_attribute(part, self.relevance, total_weight, self.k, options) for part in parts]
        self.focuses = [part for part in self.attributes if part.gain_factor < 0 and part.largest_gain > 0]
        self.starts = [self.protected]
        self.several = options.starts > 0 and len(self.focuses) > 0
        self.fixed = not any(part.sign > 0 for part in query.attributes)  # the runs do not depend on the strength
        self._family: list[Run] = []
        if self.several:
            fresh = order[~np.isin(order, query.already)]
            self.plain = select_protected(fresh, len(fresh), query.already, self.k, self._counts())
            self.starts += [np.append(self.protected, centre) for centre in self.centres(fresh[:LEADERS])]

    def _counts(self) -> QuotaCounts:
        return QuotaCounts(self.query.quotas, self.query.rows)

    def centres(self, leaders: Ints) -> list[int]:
        """Return up to `starts` of the most relevant candidates, around which most of the others lie.

        No two of them are alike, and none of them is like a protected result, whose bins are free anyway. Two
        candidates are alike if one lies in half of the other's bins of the focused attributes, or if their vectors are
        half as similar as near-copies.
        """
        stakes = [part.gain_factor * part.largest_gain for part in self.focuses]
        like = np.zeros((len(leaders), len(leaders)))  # [i, c]: how much of the bins of c candidate i has
        for part, stake in zip(self.focuses, stakes, strict=True):
            like += stake / sum(stakes) * part.likeness(leaders)
        alike = (np.maximum(like, like.T) >= ALIKE) | np.eye(len(leaders), dtype=bool)
        mass = (self.ideal[leaders][:, None] * like).sum(axis=0)
        counts = self._counts()
        for position in self.protected:
            counts.add(int(position))
        allowed = np.array([len(self.protected) < self.k and counts.allows(int(i), 0) for i in leaders], bool)
        near_protected = alike[np.isin(leaders, self.protected)].any(axis=0)
        mass[near_protected | (like.diagonal() == 0) | ~allowed] = -np.inf
        centres: list[int] = []
        while len(centres) < self.options.starts and len(leaders) and mass.max() > -np.inf:
            centre = int(np.argmax(mass >= mass.max() - TIE * LEADERS))
            centres.append(int(leaders[centre]))
            mass[alike[centre]] = -np.inf
        return centres

    def select_greedily(self, strength: float, relevance: Floats, first: Ints) -> tuple[Ints, int]:
        """Return up to k positions, `first` and then each with the largest gain, and the stages that quotas needed."""
        base, _, tie = self._gains(strength, relevance)

        def begin() -> tuple[Callable[[Bools], int], Callable[[int], None]]:
            states = self._gains(strength, relevance)[1]

            def choose(allowed: Bools) -> int:
                gains = base.copy()
                for state in states:
                    gains += strength * state.gains()
                gains = np.where(allowed, gains, -np.inf)
                return int(np.argmax(gains >= gains.max() - tie))

            def add(position: int) -> None:
                for state in states:
                    state.add(position)

            return choose, add

        return select_results(first, self.query.already, self.k, self.query.quotas, self.query.rows, begin)

    def _gains(self, strength: float, relevance: Floats) -> tuple[Floats, list[Coverage | Novelty], float]:
        """Return the gains that no selection changes, the state of each attribute, and the tolerance of ties."""
        offset = sum((attribute.offset for attribute in self.attributes), np.zeros(len(relevance)))
        base = (1 - strength) * relevance + strength * offset
        states = [part.start(self.query.already) for part in self.attributes]
        largest = sum(abs(part.gain_factor) * part.largest_gain for part in self.attributes)
        return base, states, TIE * ((1 - strength) * float(np.abs(relevance).max()) + strength * largest)

    def run(self, strength: float, first: Ints) -> Run:
        """Return what a greedy pass with this strength selects after `first`."""
        return self.measured(*self.select_greedily(strength, self.relevance, first))

    def measured(self, positions: Ints, stages: int) -> Run:
        """Return a run with the gains of its positions, in the order of selection, by relevance and by all wishes."""
        wishes = sum(self._gain_of(part, positions) for part in self.attributes)
        return Run(positions, stages, float(self.relevance[positions].sum()), wishes)

    def _gain_of(self, part: WeighedAttribute | WeighedVectors, positions: Ints) -> float:
        """Return what positions gain by one wish. Without a spread beside it, a focus with names pays for each name."""
        if self.fixed and isinstance(part, WeighedAttribute) and part.names is not None:
            count = count_names(part.names, positions, self.query.already)
            return part.gain_factor * part.largest_gain * part.name_price * count
        state, total = part.start(self.query.already), float(part.offset[positions].sum())
        for position in positions:
            total += float(state.gains()[position])
            state.add(int(position))
        return total

    def runs(self, strength: float) -> list[Run]:
        """Return the runs of a focus that compete: from the protected results, from each centre, and the most relevant.

        The most relevant results compete too, so a focus never covers more than they do.
        """
        quotas = self.query.quotas
        met = len(self.plain) == self.k and not has_lower_bounds(quotas)
        plain = self.measured(self.plain, 1 if met else 4 if may_look_ahead(quotas) else 3)  # they do not look ahead
        if not self.fixed:
            return [*(self.run(strength, first) for first in self.starts), plain]
        if not self._family:
            further = [(first, step) for first in self.starts[1:] or self.starts for step in CENTRE_STEPS]
            self._family = [
                *(self.run(step, first) for first, step in [(self.protected, PROTECTED_STEP), *further]),
                plain,
            ]
        return self._family

    @cached_property
    def strict_run(self) -> Run:
        """The run from the protected results by the wishes alone.

        It competes at strengths above those of the other runs, if it costs no more than the best of them. So the dial
        stays monotone.
        """
        return self.run(1.0, self.protected)

    def pick(self, strength: float) -> tuple[Ints, int]:
        """Return up to k positions, and the stages that the quotas needed.

        The gain is (1 - strength) * relevance + strength * (what the bins that are left to cover, and the novelty of
        vectors, are worth). Under a focus the run with the largest sum of gains wins, among those that have most
        results and break fewest quotas.
        """
        if not self.several or strength == 0:
            return self.select_greedily(strength, self.relevance, self.protected)
        tie = self._gains(strength, self.relevance)[2]

        def objective(run: Run) -> float:
            return (1 - strength) * run.relevance + strength * run.wishes

        def beats(run: Run, other: Run) -> bool:
            rank, other_rank = (len(run.positions), -run.stages), (len(other.positions), -other.stages)
            return rank > other_rank or (rank == other_rank and objective(run) > objective(other) + tie)

        best, *others = self.runs(strength)
        for run in others:
            best = run if beats(run, best) else best
        if self.fixed and strength > PROTECTED_STEP:
            strict = self.strict_run
            best = strict if strict.wishes >= best.wishes - tie and beats(strict, best) else best
        return best.positions, best.stages

    def search(self) -> tuple[Ints, float, int]:
        """Return the positions, the strength and the stages; `search_strength` finds the strength for `keep`."""
        options = self.options
        if options.keep <= 0:
            picks, stages = self.pick(options.strength)
            return picks, options.strength, stages
        best = np.sort(np.delete(self.ideal, self.query.already))[::-1][: self.k]
        if self.query.quotas:
            best = self.ideal[self.select_greedily(0.0, self.ideal, self.protected)[0]]
        least = options.keep * float(best.sum()) - 1e-9
        return search_strength(self.pick, self.ideal, least)

    def ranked(self, picks: Ints) -> Ints:
        """Return selected positions, best first."""
        if not self.options.by_relevance:
            return picks
        return np.asarray(picks[np.lexsort((picks, -self.query.scores[picks], -self.ideal[picks]))])


def search_strength(
    pick: Callable[[float], tuple[Ints, int]], relevance: Floats, least: float
) -> tuple[Ints, float, int]:
    """Return the positions, the strength and the stages of a strength whose results retain `least` relevance in sum.

    `pick(strength)` returns the positions and the stages that the quotas needed. The search goes down from 1 in steps
    of 0.05 until the results retain enough, and then tries the hundredths above that step from the top.
    """
    for hundredths in range(100, -1, -5):
        picks, stages = pick(hundredths / 100)
        if relevance[picks].sum() >= least:
            break
    else:
        return picks, 0.0, stages
    if hundredths == 100:
        return picks, 1.0, stages
    for finer in range(hundredths + 4, hundredths, -1):
        finer_picks, finer_stages = pick(finer / 100)
        if relevance[finer_picks].sum() >= least:
            return finer_picks, finer / 100, finer_stages
    return picks, hundredths / 100, stages


def select(queries: Iterable[QueryArrays], count: int, attributes: int, options: Options) -> Selection:
    """Select for `count` queries that have the same number of attributes."""
    positions, ranked = np.full((count, options.k), -1, np.int64), np.full((count, options.k), -1, np.int64)
    strengths, stages = np.full(count, options.strength), np.ones(count, np.int64)
    numbers = np.zeros((3, count, attributes))
    numbers[2] = 1.0
    for q, query in enumerate(queries):
        if len(query.scores):
            weighed = WeighedQuery(query, options)
            picks, strengths[q], stages[q] = weighed.search()
            positions[q, : len(picks)], ranked[q, : len(picks)] = picks, weighed.ranked(picks)
            for a, part in enumerate(weighed.attributes):
                numbers[:, q, a] = part.gain_factor, part.largest_gain, part.coverage_per_result
    return Selection(positions, ranked, strengths, numbers[0], numbers[1], numbers[2], stages)


def hold_limits_first(
    select_with: Callable[[Sequence[AnyQuota]], Selection], quotas: Sequence[AnyQuota], lengths: Ints
) -> Selection:
    """Select with all limits held, and with filling only for queries that then have fewer than `lengths` [Q] results.

    `keep` needs this. It may find another strength when the list is filled, at which a limit is exceeded although the
    list within the limit was full.
    """
    if not may_fill(quotas):
        return select_with(quotas)
    quotas = without_places(quotas)  # whether the list is full is decided before it is arranged
    held = select_with(without_fill(quotas))
    full = (held.positions >= 0).sum(axis=1) >= lengths
    return held if full.all() else held.where(full, select_with(quotas))
