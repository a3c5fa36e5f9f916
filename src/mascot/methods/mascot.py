"""MASCOT: spend the result list on bins; covering a new bin earns (spread) or costs (focus)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from mascot.bins import AxisBins, Bins, Floats, GlobeBins, Ints
from mascot.errors import (
    InputError,
    OptionError,
    check_one_of,
    check_share,
    check_switch,
    check_whole,
    require,
    warn_once,
)
from mascot.kernels import native, reference
from mascot.kernels.constants import NOTHING, TIE
from mascot.methods.method import Problem, Selection
from mascot.serialize import Value

DEFAULT_STRENGTH = 0.5
_PROTECT = 3
_LARGEST_SCORE = 1e150  # raw scores that are summed without rescaling


@dataclass(frozen=True, slots=True)
class Mascot(Value):
    """Greedy coverage of soft bins, each attribute with its own direction.

    The gain of candidate i, with P_u the share of bin u that is covered so far:

        (1 - strength) * relevance_i + strength * sum_a sign_a * weight_a * c_a(i)
        c_a(i) = sum_u w_u * (1 - P_u) * p_iu        over the bins u of attribute a

    Parameters
    ----------
    strength
        0 is relevance only, 1 is wishes only (default: 0.5, unless `keep` is given).
    protect
        The first so many by relevance are always selected, and count as covered (default: 3, but at most a third
        of the results asked for, rounded up).
    bin_weight
        ``"uniform"``: every bin is worth 1. ``"query"``: a bin is worth its peak relevance (the paper's omega).
    normalize
        Relevance runs from 0 to 1 over the candidates; otherwise raw scores are used.
    scale
        Divide c_a by its largest first-step value and by the sum of the weights, so that strength means the same for
        every width, grid and number of attributes; and let far outliers among the scores (pinned, boosted or sentinel
        values) count as the outermost of the others.
    order
        Show the selected results by ``"relevance"`` or in the order of ``"selection"``.
    keep
        Share of the best possible summed relevance that the result must retain. For each query the strength comes
        down from 1 in steps of 0.05 until that much is retained, then goes back up in hundredths while it is.
    balance
        A bin of spread has room for its share of the k results; otherwise one whole membership covers it.

    The default is the guarded method. `Mascot.paper` is the published one; the paper's ablations are its switches:
    `normalize=False` (w/o Normalization), `bin_weight="uniform"` (Uniform Binning), both (Prob-Coverage).
    """

    strength: float | None = None
    protect: int | None = None
    bin_weight: Literal["uniform", "query"] = "uniform"
    normalize: bool = True
    scale: bool = True
    order: Literal["relevance", "selection"] = "relevance"
    keep: float | None = None
    balance: bool = True

    def __post_init__(self) -> None:
        if self.keep is not None:
            if self.strength is not None:
                raise OptionError(
                    f"Mascot.keep searches for the strength: give keep or strength, got keep={self.keep!r} "
                    f"and strength={self.strength!r}"
                )
            rule = "must be in 0..1 and above 0"
            check_share("Mascot.keep", self.keep, rule)
            require(self.keep > 0, "Mascot.keep", rule, self.keep)
        elif self.strength is None:
            object.__setattr__(self, "strength", DEFAULT_STRENGTH)
        if self.strength is not None:
            check_share("Mascot.strength", self.strength)
        if self.protect is not None:
            check_whole("Mascot.protect", self.protect, 0)
        for switch in ("normalize", "scale", "balance"):
            check_switch(f"Mascot.{switch}", getattr(self, switch))
        check_one_of("Mascot.bin_weight", self.bin_weight, "uniform", "query")
        check_one_of("Mascot.order", self.order, "relevance", "selection")

    @classmethod
    def paper(
        cls, strength: float, bin_weight: Literal["uniform", "query"] = "query", normalize: bool = True
    ) -> Mascot:
        """Return the published method, exactly: query bin weights, no scaling, nothing protected, selection order."""
        return cls(strength, 0, bin_weight, normalize, scale=False, order="selection", balance=False)

    @property
    def robust(self) -> bool:
        """Whether far outliers among the scores are ignored."""
        return self.normalize and self.scale

    def protected(self, k: int) -> int:
        """Return how many of k results are protected."""
        return min(_PROTECT, math.ceil(k / 3)) if self.protect is None else int(self.protect)

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k of each query's candidates, or as many as there are."""
        if not self.normalize and np.abs(problem.scores).max(initial=0.0) > _LARGEST_SCORE:
            largest = np.abs(problem.scores).max()
            raise InputError(f"scores must be within -1e150..1e150 without rescaling, got {largest}")
        options = self.kernel_options(k, problem.weights, problem.named_weight)
        options = options._replace(k=min(k, problem.longest))  # a query protects as many in a batch as alone
        if problem.backend == "gpu":
            from mascot.kernels import gpu

            return self._select_packed(problem, options, gpu.select)
        if problem.backend == "native" and not native.available():
            raise OptionError(f"backend 'native' cannot be used: {native.description()}")
        if problem.backend == "numpy" or not native.available():
            if problem.backend == "auto":
                reason = f"no native kernel ({native.description()}). Install gcc or clang, then install mascot again"
                warn_once(f"mascot runs on numpy, tens of times slower: {reason}")
            return self._select_numpy(problem, options)
        return self._select_packed(problem, options, native.select)

    def kernel_options(self, k: int, weights: Floats, named_weight: float) -> native.Options:
        """Return what kernels are told: `weights` of the coverage wishes, and the weight of named focuses."""
        flags = (
            native.QUERY_WEIGHT * (self.bin_weight == "query")
            | native.NORMALIZE * bool(self.normalize)
            | native.SCALE * bool(self.scale)
            | native.ROBUST * bool(self.robust and not named_weight)
            | native.BALANCE * bool(self.balance)
            | native.BY_RELEVANCE * (self.order == "relevance")
        )
        # A named focus is part of relevance: coverage gets what the named wishes leave of the strength.
        strength, keep = float(self.strength or 0.0), float(self.keep or 0.0)
        if named_weight > 0:
            covered = float(weights.sum())
            strength *= covered / (covered + named_weight)
        if not len(weights):  # nothing to cover: relevance alone decides
            strength = keep = 0.0
        return native.Options(k, self.protected(k), strength, keep, flags)

    def _select_packed(self, problem: Problem, options: native.Options, select: Callable[..., Selection]) -> Selection:
        """Select by a kernel that takes all queries at once: `native.select` or `gpu.select`."""
        rules = [native.NEUTRAL if rule == "neutral" else native.LAST for rule in problem.rules]
        pack = pack_once if problem.backend == "gpu" and problem.rows is not None else pack_bins
        result = select(
            problem.ptr, problem.rows, problem.scores, problem.seen_ptr, problem.seen,
            [pack(bins) for bins in problem.bins], problem.signs, problem.weights, rules, problem.quotas, options,
            problem.threads,
        )  # fmt: skip
        result.protect = options.protect
        if self.keep is None and options.strength != self.strength:  # report what was asked for
            result.strengths = np.where(np.diff(problem.ptr) > 0, float(self.strength or 0.0), 0.0)
        return result

    def _select_numpy(self, problem: Problem, options: native.Options) -> Selection:
        count, kinds, k = len(problem), len(problem.signs), options.k
        positions, ranked = np.full((count, k), -1, np.int64), np.full((count, k), -1, np.int64)
        strengths, stages = np.zeros(count), np.ones(count, np.int64)
        multipliers, tops, rooms = np.zeros((count, kinds)), np.zeros((count, kinds)), np.ones((count, kinds))
        for q in range(count):
            if not len(problem.scores_of(q)):
                continue
            setting = _Setting(problem, q, self, options)
            picks, strengths[q], stages[q] = setting.search(options)
            positions[q, : len(picks)] = picks
            ranked[q, : len(picks)] = setting.arranged(picks) if self.order == "relevance" else picks
            multipliers[q], tops[q], rooms[q] = setting.multipliers, setting.tops, setting.rooms
            if self.keep is None:
                strengths[q] = float(self.strength or 0.0)
        return Selection(positions, ranked, strengths, multipliers, tops, rooms, stages, options.protect)


def pack_bins(bins: Bins) -> native.PackedBins:
    """Return bins as the native kernel takes them."""
    if isinstance(bins, AxisBins):
        axes: list[float] = []
        for a in bins.axes:
            axes += (a.start, a.step, a.count, a.sigma, a.period, a.smallest, a.floor, a.ceiling)
        axes += [0.0] * (16 - len(axes))
        plane = len(bins.values) == 2
        x, y = _contiguous(bins.values[0]), _contiguous(bins.values[1]) if plane else None
        return native.PackedBins(native.PLANE if plane else native.LINE, x, y, tuple(axes))
    if isinstance(bins, GlobeBins):
        axes = [0.0] * 16
        axes[3] = bins.sigma_km
        return native.PackedBins(native.GLOBE, _contiguous(bins.lat), _contiguous(bins.lon), tuple(axes))
    pairs = bins.sparse()
    return native.PackedBins(native.LABELS, indptr=pairs.indptr, indices=pairs.indices, values=pairs.values)


# Returns the same object each time: the GPU keeps the bins of a corpus, and recognises them by identity.
pack_once: Callable[..., native.PackedBins] = lru_cache(maxsize=16)(pack_bins)


def _contiguous(values: Floats) -> Floats:
    return np.ascontiguousarray(values, np.float64)


class _Setting:
    """One query of the numpy reference: everything that does not depend on the strength."""

    def __init__(self, problem: Problem, q: int, method: Mascot, options: native.Options) -> None:
        rows, scores, seen = problem.rows_of(q), problem.scores_of(q), problem.seen_of(q)
        count, kinds = len(scores), len(problem.signs)
        ideal = reference.normalized(scores, robust=bool(options.flags & native.ROBUST))
        relevance = ideal if method.normalize else scores
        k = min(options.k, count - len(seen))
        order = reference.by_relevance(relevance, scores)
        heads = reference.protected(order, options.protect, seen, k, problem.counts_of(q))
        weights_sum = float(problem.weights.sum()) if method.scale else 1.0
        multipliers, tops, rooms = np.zeros(kinds), np.zeros(kinds), np.ones(kinds)
        offset = np.zeros(count)
        parts, states, fades = [np.zeros((count, 0))], [np.zeros(0)], [np.zeros(0)]
        for a, bins in enumerate(problem.bins):
            query_bins = bins.take(rows)
            membership, missing = query_bins.sparse().compact()[0].dense(), query_bins.missing()
            if problem.rules[a] == "neutral":
                membership[missing] = reference.mean_membership(membership, missing)
            weight = np.ones(membership.shape[1])
            if method.bin_weight == "query":
                weight = reference.peak_relevance(membership, relevance)
            top = float((membership * weight).sum(axis=1).max(initial=0.0))
            tops[a] = top if top >= NOTHING else 0.0
            if tops[a] == 0:
                weight = np.zeros_like(weight)
            if method.balance and problem.signs[a] > 0:
                rooms[a] = reference.room(membership, k)
            size = tops[a] if method.scale and tops[a] > 0 else 1.0
            multipliers[a] = problem.signs[a] * problem.weights[a] / weights_sum / size
            if problem.signs[a] < 0 and problem.rules[a] == "last":
                offset[missing] += multipliers[a] * tops[a]
            states.append(multipliers[a] * reference.covered(weight, membership[seen], rooms[a]))
            parts.append(membership)
            fades.append(np.full(membership.shape[1], rooms[a]))
        self.problem, self.q, self.scores, self.seen, self.heads, self.offset = problem, q, scores, seen, heads, offset
        self.ideal, self.relevance = ideal, relevance  # from 0 to 1, and as the gain uses it
        self.multipliers, self.tops, self.rooms = multipliers, tops, rooms
        self.membership = np.concatenate(parts, axis=1)  # [N, U] of all attributes side by side
        self.state, self.fade = np.concatenate(states), np.concatenate(fades)  # [U] worth of what is left, with signs

    def pick(self, k: int, strength: float, relevance: Floats) -> tuple[Ints, int]:
        base = (1 - strength) * relevance + strength * self.offset
        worth = float((np.abs(self.multipliers) * self.tops).sum())
        tie = TIE * ((1 - strength) * float(np.abs(relevance).max()) + strength * worth)
        return reference.greedy(
            base, self.membership, strength * self.state, self.fade, self.heads, self.seen, k, tie,
            self.problem.counts_of(self.q),
        )  # fmt: skip

    def search(self, options: native.Options) -> tuple[Ints, float, int]:
        """Return the positions, the strength and the stages."""
        k = min(options.k, len(self.scores) - len(self.seen))
        if options.keep <= 0:
            picks, stages = self.pick(k, options.strength, self.relevance)
            return picks, options.strength, stages
        best = np.sort(np.delete(self.ideal, self.seen))[::-1][:k]
        if self.problem.quotas:
            best = self.ideal[self.pick(k, 0.0, self.ideal)[0]]
        least = options.keep * float(best.sum())
        return _search_ladder(lambda strength: self.pick(k, strength, self.relevance), self.ideal, least)

    def arranged(self, picks: Ints) -> Ints:
        return np.asarray(picks[np.lexsort((picks, -self.scores[picks], -self.ideal[picks]))])


def _search_ladder(pick: Callable[[float], tuple[Ints, int]], ideal: Floats, least: float) -> tuple[Ints, float, int]:
    """Return the result of the largest strength, in hundredths, that keeps that much summed relevance.

    The search goes down in steps of 0.05 until one keeps enough, then tries the hundredths above it from the top.
    """

    def enough(picks: Ints) -> bool:
        return float(ideal[picks].sum()) >= least - 1e-9

    for rung in range(20, -1, -1):
        picks, stages = pick(rung / 20)
        if enough(picks) or rung == 0:
            break
    if rung == 20 or not enough(picks):
        return picks, rung / 20, stages
    for fine in range(rung * 5 + 4, rung * 5 - 1, -1):
        picks, stages = pick(fine / 100)
        if enough(picks):
            break
    return picks, fine / 100, stages
