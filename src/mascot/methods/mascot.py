"""MASCOT: spend the result list on bins; covering a new bin earns (spread) or costs (focus)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mascot.bins import Floats
from mascot.errors import InputError, OptionError, check_one_of, check_switch, check_whole, require, warn_once
from mascot.kernels import native, reference
from mascot.kernels.constants import LEADERS
from mascot.kernels.quotas import AnyQuota
from mascot.kernels.reference import Options
from mascot.methods.method import Problem, Selection, check_strength
from mascot.serialize import Value

DEFAULT_STRENGTH = 0.5
_PROTECT = 3
_LEAST_STRENGTH = 1e-100  # a smaller strength counts as this: products with it would underflow
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
        Always select this many of the most relevant candidates; they count as covered (default: 3, but at most a third
        of k, rounded up).
    bin_weight
        ``"uniform"``: every bin is worth 1. ``"query"``: a bin is worth its peak relevance, the paper's omega
        (default: ``"uniform"``).
    normalize
        Rescale the scores to 0..1 over the candidates; otherwise use raw scores (default: True).
    scale
        Divide c_a by its largest first-step value and by the sum of the weights, so that strength means the same for
        every width, grid and number of attributes. A new label costs a focus a quarter of that, so that the number of
        labels falls evenly with the strength. Also let far outliers among the scores (boosted or sentinel values) count
        as the outermost of the other scores (default: True).
    order
        Rank the selected results by ``"relevance"`` or in the order of ``"selection"`` (default: ``"selection"``, so
        that the first results are already mixed).
    keep
        Share of the best possible summed relevance that the results must retain. For each query the strength goes down
        from 1 in steps of 0.05 until the results retain enough, then up in hundredths while they do (default: None).
    balance
        A bin of a spread holds its share of the k results; otherwise one whole membership covers it (default: True).
    starts
        How many further starts a focus without a named value tries, around the most relevant candidates where most
        matches lie. The best objective wins. 0 is a single greedy pass (default: 1).

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
    starts: int = 1

    def __post_init__(self) -> None:
        check_strength(self, DEFAULT_STRENGTH)
        if self.protect is not None:
            check_whole("Mascot.protect", self.protect, 0)
        check_whole("Mascot.starts", self.starts, 0)
        require(self.starts <= LEADERS, "Mascot.starts", f"must be at most {LEADERS}", self.starts)
        for switch in ("normalize", "scale", "balance"):
            check_switch(f"Mascot.{switch}", getattr(self, switch))
            object.__setattr__(self, switch, bool(getattr(self, switch)))
        check_one_of("Mascot.bin_weight", self.bin_weight, "uniform", "query")
        check_one_of("Mascot.order", self.order, "relevance", "selection")

    @classmethod
    def paper(
        cls, strength: float, bin_weight: Literal["uniform", "query"] = "query", normalize: bool = True
    ) -> Mascot:
        """Return the published method, exactly: query bin weights, no scaling, nothing protected, one start."""
        return cls(strength, 0, bin_weight, normalize, scale=False, order="selection", balance=False, starts=0)

    @property
    def robust(self) -> bool:
        """Whether far outliers among the scores are ignored."""
        return self.normalize and self.scale

    def protected(self, k: int) -> int:
        """Return how many of k results are protected."""
        return min(_PROTECT, math.ceil(k / 3)) if self.protect is None else int(self.protect)

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        if not self.normalize and np.abs(problem.scores).max(initial=0.0) > _LARGEST_SCORE:
            largest = np.abs(problem.scores).max()
            raise InputError(f"scores must be within -1e150..1e150 without rescaling, got {largest}")
        options = self.kernel_options(k, problem.weights, problem.named_weight)
        if k > problem.longest:  # protect as many as for k results
            options = options._replace(k=problem.longest)
        if options.keep > 0 and problem.quotas:
            lengths = np.array([problem.open_positions(q).sum() for q in range(len(problem))])
            selection = reference.hold_limits_first(
                lambda quotas: select_by_kernel(problem, quotas, options),
                problem.quotas,
                np.minimum(lengths, options.k),
            )
        else:
            selection = select_by_kernel(problem, problem.quotas, options)
        selection.protect = options.protect
        if self.keep is None and options.strength != self.strength:  # report what was asked for
            selection.strengths.fill(float(self.strength or 0.0))
        return selection

    def kernel_options(self, k: int, weights: Floats, named_weight: float) -> Options:
        """Return the options of kernels, for the `weights` of the coverage wishes and the weight of named focuses."""
        # A named focus is part of relevance: coverage gets what the named wishes leave of the strength.
        strength, keep = float(self.strength or 0.0), float(self.keep or 0.0)
        if named_weight > 0:
            covered = float(weights.sum())
            strength *= covered / (covered + named_weight)
        if not len(weights):  # there is nothing to cover, and relevance alone decides
            strength = keep = 0.0
        if strength > 0:
            strength = max(strength, _LEAST_STRENGTH)
        return Options(
            k,
            self.protected(k),
            strength,
            keep,
            self.starts,
            query_weight=self.bin_weight == "query",
            normalize=self.normalize,
            scale=self.scale,
            robust=self.robust and not named_weight,
            balance=self.balance,
            by_relevance=self.order == "relevance",
        )


def select_by_kernel(problem: Problem, quotas: Sequence[AnyQuota], options: Options) -> Selection:
    """Select on the native kernel unless numpy is asked for, or on numpy if there is none."""
    if problem.backend != "numpy" and native.available():
        return _select_native(problem, quotas, options)
    if problem.backend == "native":
        raise OptionError(f"backend 'native' cannot be used: {native.description()}")
    if problem.backend == "auto":
        reason = f"no native kernel ({native.description()}). Install gcc or clang, then install mascot again"
        warn_once(f"mascot runs on numpy, tens of times slower: {reason}")
    queries = (problem.arrays_of(q, quotas) for q in range(len(problem)))
    return reference.select(queries, len(problem), len(problem.bins), options)


def _select_native(problem: Problem, quotas: Sequence[AnyQuota], options: Options) -> Selection:
    rules = [native.NEUTRAL if rule == "neutral" else native.LAST for rule in problem.rules]
    bins = [part.packed() for part in problem.bins]
    return native.select(
        problem.ptr, problem.rows, problem.scores, problem.already_ptr, problem.already, bins,
        problem.signs, problem.weights, rules, quotas, options, problem.threads,
    )  # fmt: skip
