"""MASCOT: spend the result list on bins; covering a new bin earns (spread) or costs (focus)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mascot.bins import Bins, SparseBins
from mascot.bins.vector_bins import VectorBins
from mascot.errors import InputError, check_one_of, check_switch, check_whole
from mascot.kernels.constants import FOCUS_PRICE, LABEL_PRICE, NOVELTY, RIVALS
from mascot.kernels.objective import Floats, Novelty, Options, normalized_each, relevance_of
from mascot.kernels.page import protect
from mascot.kernels.solve import Solver
from mascot.methods.by_kernel import may_use_kernel, select_by_kernel
from mascot.methods.method import Problem, Selection, check_strength, select_pages
from mascot.serialize import Value

DEFAULT_STRENGTH = 0.5
_PROTECT = 3
_LEAST_STRENGTH = 1e-100  # a smaller strength counts as this: products with it would underflow
_QUARTER = 0.25  # the largest scores are finite in sums of kernels, too
_LARGEST_SCORE = 1e150  # raw scores that are summed without rescaling


@dataclass(frozen=True, slots=True)
class Mascot(Value):
    """Greedy coverage of soft bins, each attribute with its own direction.

    The gain of candidate i, with P_u the part of bin u that is covered so far:

        (1 - strength) * relevance_i + strength * sum_a sign_a * weight_a * c_a(i)
        c_a(i) = sum_u w_u * (1 - P_u) * p_iu        over the bins u of attribute a

    Parameters
    ----------
    strength
        0 is relevance only, 1 is wishes only (default: 0.5, unless `keep` is given).
    protect
        Always select this many of the most relevant candidates; they count as covered (default: 1; with a focus among
        the wishes 3, but at most a third of k, rounded up).
    bin_weight
        ``"uniform"``: every bin is worth 1. ``"query"``: a bin is worth its peak relevance, the paper's omega
        (default: ``"uniform"``).
    normalize
        Rescale the scores to 0..1 over the candidates; otherwise use raw scores (default: True).
    scale
        Divide c_a by its largest first-step value and by the sum of the weights, so that strength means the same for
        every width, grid and number of attributes. A new label is worth 0.35 of that, a new bin under a focus 1.25 and
        a vector unlike the results 1.5, so that strength 0.5 is about half of the way. Also let far outliers among the
        scores (boosted or sentinel values) count as the best of the others, and set the range of relevance by the
        scores that can win: 1 is the best, 0 the score of rank 3k (default: True).
    order
        Rank the selected results by ``"relevance"`` or in the order of ``"selection"`` (default: ``"selection"``, so
        that the first results are already mixed).
    keep
        Share of the best possible summed relevance that the results must retain. For each query the strength goes down
        from 1 in steps of 0.05 until the results retain enough, then up in hundredths while they do (default: None).
    balance
        A bin of a spread holds its share of the k results; otherwise one whole membership covers it (default: True).
    The default is the guarded method. `Mascot.paper` is the published one. The paper's ablations are its switches:
    `normalize=False` (w/o Normalization), `bin_weight="uniform"` (Uniform Binning), both (Prob-Coverage).
    """

    strength: float | None = None
    protect: int | None = None
    bin_weight: Literal["uniform", "query"] = "uniform"
    normalize: bool = True
    scale: bool = True
    order: Literal["relevance", "selection"] = "selection"
    keep: float | None = None
    balance: bool = True

    def __post_init__(self) -> None:
        check_strength(self, DEFAULT_STRENGTH)
        if self.protect is not None:
            check_whole("Mascot.protect", self.protect, 0)
        for switch in ("normalize", "scale", "balance"):
            check_switch(f"Mascot.{switch}", getattr(self, switch))
            object.__setattr__(self, switch, bool(getattr(self, switch)))
        check_one_of("Mascot.bin_weight", self.bin_weight, "uniform", "query")
        check_one_of("Mascot.order", self.order, "relevance", "selection")

    @classmethod
    def paper(
        cls, strength: float, bin_weight: Literal["uniform", "query"] = "query", normalize: bool = True
    ) -> Mascot:
        """Return the published method, exactly: query bin weights, no scaling, nothing protected, one list."""
        return cls(strength, 0, bin_weight, normalize, scale=False, order="selection", balance=False)

    @property
    def robust(self) -> bool:
        """Whether far outliers among the scores are ignored."""
        return self.normalize and self.scale

    def protected(self, k: int, focused: bool) -> int:
        """Return how many of k results are protected; `focused`: a focus is among the wishes."""
        usual = min(_PROTECT, math.ceil(k / 3)) if focused else 1
        return usual if self.protect is None else int(self.protect)

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        if not self.normalize and np.abs(problem.scores).max(initial=0.0) > _LARGEST_SCORE:
            largest = np.abs(problem.scores).max()
            raise InputError(f"scores must be within -1e150..1e150 without rescaling, got {largest}")
        options = self.options_for(problem, k)
        relevance, ideal = self.relevance(problem, k, options)
        is_plain = self.robust and options.strength == options.keep == 0
        worth = problem.scores * _QUARTER if is_plain else relevance  # of equal relevances, the higher score

        def solver(q: int) -> Solver:
            return self.solver(problem, q, k, options, is_plain)

        if may_use_kernel(problem, options):
            selection = select_by_kernel(problem, k, options, worth, ideal, self.shares(problem), solver)
        else:
            method = replace(self, strength=options.strength, keep=None) if options.keep == 0 else self
            selection = select_pages(problem, k, method, solver)
        if is_plain:
            selection.log_relevance(relevance, problem.ptr)
        if self.keep is None and options.strength != self.strength:  # report what was asked for
            selection.strengths.fill(float(self.strength or 0.0))
        return selection

    def options_for(self, problem: Problem, k: int) -> Options:
        """Return the options of kernels for pages of k results."""
        # A named focus is part of relevance: coverage gets what the named wishes leave of the strength.
        strength, keep, named_weight = float(self.strength or 0.0), float(self.keep or 0.0), problem.named_weight
        if named_weight > 0:
            covered = float(problem.weights.sum())
            strength *= covered / (covered + named_weight)
        if not len(problem.weights):  # there is nothing to cover, and relevance alone decides
            strength = keep = 0.0
        if strength > 0:
            strength = max(strength, _LEAST_STRENGTH)
        count = k - len(problem.pinned)
        protect = self.protected(count, named_weight > 0 or -1.0 in problem.signs.tolist())
        if strength == keep == 0 and any(isinstance(bins, VectorBins) for bins in problem.bins):
            protect = 0  # relevance alone decides, also about near-copies
        return Options(
            min(count, problem.longest), protect, strength, keep, self.bin_weight == "query", self.normalize,
            self.scale, self.robust and not named_weight, self.balance, self.order == "relevance",
        )  # fmt: skip

    def relevance(self, problem: Problem, k: int, options: Options) -> tuple[Floats, Floats]:
        """Return relevance in the gain, and in 0..1, of all candidates."""
        scores, ptr = problem.scores, problem.ptr.tolist()
        if not self.robust:
            ideal = normalized_each(scores, problem.ptr) if len(scores) else scores
            return (ideal if self.normalize else scores), ideal
        shown = [0] * len(problem) if problem.already_ptr is None else np.diff(problem.already_ptr).tolist()
        parts = [
            relevance_of(scores[start:end], RIVALS * k + count, options.robust)
            for start, end, count in zip(ptr, ptr[1:], shown, strict=False)
        ]
        relevance = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return relevance, np.minimum(np.maximum(relevance, 0.0), 1.0)

    def shares(self, problem: Problem) -> list[float]:
        """Return what the largest coverage or novelty of each wish is worth, negative for a focus."""
        signs, weights = problem.signs.tolist(), problem.weights.tolist()
        total = sum(weights) if self.scale else 1.0
        wishes = zip(problem.bins, signs, weights, strict=True)
        return [sign * weight / total * self.price(bins, sign) for bins, sign, weight in wishes]

    def price(self, bins: Bins, sign: float) -> float:
        """Return what a new bin or a vector unlike all results is worth, in relevance of the best result."""
        if isinstance(bins, VectorBins):
            return NOVELTY
        if not self.scale:
            return 1.0
        return LABEL_PRICE if isinstance(bins, SparseBins) else FOCUS_PRICE if sign < 0 else 1.0

    def solver(self, problem: Problem, q: int, k: int, options: Options, is_plain: bool = False) -> Solver:
        """Return what selects for one query; `is_plain`: by its scores alone."""
        own = problem.only(q)
        relevance, ideal = self.relevance(own, k, options)
        relevance = own.scores * _QUARTER if is_plain else relevance
        shares = enumerate(self.shares(problem))
        terms = [problem.term(q, a, share, relevance, options) for a, share in shares]
        query = problem.query(q, k, relevance, terms)
        novelties = [term for term in terms if isinstance(term, Novelty) and term.spreads]
        protected = protect(query.order(), options.protect, query, novelties)
        focuses = [term for term in terms if term.factor < 0 and term.tie > 0] if options.guarded else []
        return Solver(query, ideal, protected, terms, focuses)
