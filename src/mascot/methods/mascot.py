"""MASCOT: spend the result list on bins; covering a new one earns (spread) or costs (focus)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mascot.accounts import Account, account
from mascot.errors import OptionError, check_share, check_switch, check_whole, is_number, require
from mascot.kernels import reference
from mascot.memberships import Floats, Ints, Sparse
from mascot.packing import pack
from mascot.problem import Problem, Queries, Selection, Selections
from mascot.values import Value

# Candidates x bins x results that numpy gets through in 100 to 200 ms. A larger query is worth the 0.6 s that numba
# takes to load (some 25 s, once per machine, to compile): the next one like it takes a tenth of numpy's time.
_SMALL = 40_000_000
_TRIES = 10  # strengths that `keep` tries, about: from 1 to 26
_PROTECT = 3
_A_THIRD = 3


@dataclass(frozen=True, slots=True)
class Mascot(Value):
    """Greedy coverage of soft bins, each attribute with its own direction.

    The gain of candidate i, with what is covered so far in P:

        (1 - strength) * relevance_i + strength * sum_a sign_a * weight_a * c_a(i)
        c_a(i) = sum_u w_u * (1 - P_u) * p_iu        over the bins u of attribute a

    Parameters
    ----------
    strength
        0 is relevance only, 1 is wishes only; 0.5 unless `keep` is given.
    protect
        The first so many by relevance are always kept, and count as covered (but where a focus names
        its point, they do not pull it elsewhere). 3 unless given, but no more than a third of the results
        asked for, rounded up: of few results some are left to steer.
    bin_weight
        ``"uniform"``: every bin is worth 1. ``"query"``: a bin is worth its peak relevance (the paper's omega).
    normalize
        Relevance runs from 0 to 1 over the candidates; otherwise raw scores are used.
    scale
        Divide c_a by its largest first-step value and by the sum of the weights, so that strength
        means the same for every width, grid and number of attributes.
    order
        Show the chosen by ``"relevance"`` or in the order of ``"selection"``.
    keep
        Share of the best possible summed relevance that the result must retain. For each query the strength comes
        down from 1 in steps of 0.05 until that much is kept, then goes back up in hundredths while it is.

    The default is the guarded method. `Mascot.paper` is the published one; the paper's ablations are
    its switches: `normalize=False` (w/o Normalization), `bin_weight="uniform"` (Uniform Binning),
    both (Prob-Coverage).
    """

    strength: float | None = None
    protect: int | None = None
    bin_weight: Literal["uniform", "query"] = "uniform"
    normalize: bool = True
    scale: bool = True
    order: Literal["relevance", "selection"] = "relevance"
    keep: float | None = None

    def __post_init__(self) -> None:
        if self.keep is not None:
            if self.strength is not None:
                raise OptionError(
                    f"Mascot.keep finds the strength itself: give keep or strength, got keep={self.keep!r} "
                    f"and strength={self.strength!r}"
                )
            require(
                is_number(self.keep) and 0 < self.keep <= 1,
                "Mascot.keep",
                "must be in 0..1 and above 0",
                self.keep,
            )
        elif self.strength is None:
            object.__setattr__(self, "strength", 0.5)
        if self.strength is not None:
            check_share("Mascot.strength", self.strength)
        if self.protect is not None:
            check_whole("Mascot.protect", self.protect, 0)
        check_switch("Mascot.normalize", self.normalize)
        check_switch("Mascot.scale", self.scale)
        require(
            self.bin_weight in ("uniform", "query"),
            "Mascot.bin_weight",
            "must be 'uniform' or 'query'",
            self.bin_weight,
        )
        require(
            self.order in ("relevance", "selection"),
            "Mascot.order",
            "must be 'relevance' or 'selection'",
            self.order,
        )

    @classmethod
    def paper(
        cls, strength: float, bin_weight: Literal["uniform", "query"] = "query", normalize: bool = True
    ) -> Mascot:
        """The published method, exactly: query bin weights, no scaling, nobody protected, selection order."""
        return cls(strength, 0, bin_weight, normalize, scale=False, order="selection")

    def protected(self, k: int) -> int:
        """How many of k results are protected."""
        return min(_PROTECT, math.ceil(k / _A_THIRD)) if self.protect is None else int(self.protect)

    def select(self, problem: Problem, k: int) -> Selection:
        """Choose k of one query's candidates, on numpy if the problem is small and numba is not yet loaded."""
        if problem.backend in ("numba", "gpu") or (problem.backend == "auto" and "mascot.kernels.cpu" in sys.modules):
            return self.select_many(Queries.of(problem), k, threads=1, backend=problem.backend)[0]
        rows = [member.sparse().compact() for member in problem.memberships()]
        if problem.backend == "auto" and self._steps(len(problem.scores), k) * sum(m.bins for m in rows) > _SMALL:
            return self.select_many(Queries.of(problem), k, threads=1)[0]
        return self._select_numpy(problem, rows, k)

    def _steps(self, count: int, k: int) -> int:
        """Times that numpy looks at a bin."""
        return count * min(k, count) * (1 if self.keep is None else _TRIES)

    def _select_numpy(self, problem: Problem, members: Sequence[Sparse], k: int) -> Selection:
        scores, count, protect = problem.scores, len(problem.scores), self.protected(k)
        ideal = reference.normalized(scores)
        relevance = ideal if self.normalize else scores
        share = float(problem.weights.sum()) if self.scale else 1.0
        parts: list[Floats] = []
        states: list[Floats] = []
        multipliers, tops = np.zeros(len(problem.signs)), np.zeros(len(problem.signs))
        offset = np.zeros(count)
        top = np.argsort(-scores, kind="stable")[:protect]
        chosen = top[~np.isin(top, problem.seen)][:k]
        known = np.concatenate([problem.seen, chosen])  # covered before the first choice
        for a, member in enumerate(members):
            rows = member.dense()
            membership, missing = rows[:count], member.missing[:count]
            if problem.rules[a] == "neutral":
                membership[missing] = reference.mean_membership(membership, missing)
            weight = np.ones(rows.shape[1])
            if self.bin_weight == "query":
                weight = reference.peak_relevance(membership, relevance)
            tops[a] = (membership * weight).sum(axis=1).max(initial=0.0)
            size = tops[a] if self.scale and tops[a] > 0 else 1.0
            multipliers[a] = problem.signs[a] * problem.weights[a] / (size * share)
            if problem.signs[a] < 0 and problem.rules[a] == "last":
                offset[missing] += multipliers[a] * tops[a]
            # Where the user names a point, the protected do not vote on where the focus lies.
            point = rows[count:]
            opening = known[~np.isin(known, top)] if len(point) else known
            left = reference.covered(reference.covered(weight, point), membership[opening])
            states.append(multipliers[a] * left)
            parts.append(membership)
        bins = np.concatenate(parts, axis=1) if parts else np.zeros((count, 0))
        state = np.concatenate(states) if states else np.zeros(0)
        worth = float((np.abs(multipliers) * tops).sum())

        def positions(strength: float) -> Ints:
            base = (1 - strength) * relevance + strength * offset
            tie = reference.TIE * ((1 - strength) * float(np.abs(relevance).max()) + strength * worth)
            return reference.greedy(base, bins, strength * state, chosen, problem.seen, k, tie)

        strength, picked = (
            (self.strength, positions(self.strength))
            if self.strength is not None
            else _ladder(positions, ideal, problem.seen, k, self.keep or 0.0)
        )
        return Selection(picked, self._shown(picked, scores), strength, multipliers, tops, protect)

    def select_many(self, queries: Queries, k: int, threads: int | None = None, backend: str = "auto") -> Selections:
        """Choose for many queries at once, compiled, on all cores or on a GPU.

        As many places as the longest query has candidates, where k is larger than that.
        """
        packed, protect = queries.packed or pack(queries.memberships), self.protected(k)
        if backend == "gpu":
            from mascot.kernels import gpu, gpu_plan

            out, shown, strengths, multipliers, tops = gpu.select_host(
                queries.ptr, queries.rows, queries.scores, queries.seen_ptr, queries.seen, queries.near, packed,
                queries.signs, queries.weights, queries.rules, gpu_plan.options(self, k), k,
            )  # fmt: skip
            return Selections(out, shown, strengths, multipliers, tops, protect)
        from mascot.kernels import cpu, parallel

        count, kinds = len(queries), len(queries.signs)
        most = int(np.diff(queries.ptr).max(initial=0))
        k = min(k, most)
        out = np.empty((count, k), np.int64)
        strengths, multipliers, tops = np.empty(count), np.empty((count, kinds)), np.empty((count, kinds))
        bits = max(4, math.ceil(math.log2(2 * packed.hashed_each * (most + 1) + 1)))
        rules = np.array([cpu.NEUTRAL if rule == "neutral" else cpu.LAST for rule in queries.rules], np.int64)

        def some(first: int, last: int) -> None:
            cpu.select_range(
                first, last, queries.ptr, queries.rows, queries.scores, queries.seen_ptr, queries.seen,
                packed.shapes, packed.axes, packed.xs, packed.ys, packed.sparse_at, packed.indptr, packed.indices,
                packed.values, queries.signs, queries.weights, rules, queries.near, packed.blocks_each,
                packed.lanes_each, bits, float(self.strength or 0.0), float(self.keep or 0.0),
                self.bin_weight == "query", self.normalize, self.scale, min(protect, most), k,
                out, strengths, multipliers, tops,
            )  # fmt: skip

        parallel.in_chunks(some, count, threads)
        return Selections(out, self._shown_many(out, queries), strengths, multipliers, tops, protect)

    def account(self, problem: Problem, selection: Selection, others: Ints) -> Account:
        """What each chosen candidate, and each of the others, earned and opened."""
        relevance = reference.normalized(problem.scores) if self.normalize else problem.scores
        return account(problem, selection, others, relevance, by_peak=self.bin_weight == "query")

    def _shown_many(self, positions: Ints, queries: Queries) -> Ints:
        if self.order == "selection" or not len(queries.scores):
            return positions
        ascending = np.sort(positions, axis=1)
        at = queries.ptr[:-1, None] + np.maximum(ascending, 0)
        scores = np.where(ascending < 0, -np.inf, queries.scores[np.minimum(at, len(queries.scores) - 1)])
        return np.take_along_axis(ascending, np.argsort(-scores, axis=1, kind="stable"), axis=1)

    def _shown(self, positions: Ints, scores: Floats) -> Ints:
        if self.order == "selection":
            return positions
        return positions[np.lexsort((positions, -scores[positions]))]


def _ladder(positions: Callable[[float], Ints], ideal: Floats, seen: Ints, k: int, keep: float) -> tuple[float, Ints]:
    """The largest strength, in hundredths, whose result keeps that share of the best summed relevance.

    Down in steps of 0.05 until one keeps enough, then the hundredths above it from the top.
    """
    free = np.delete(ideal, seen)
    floor = keep * float(np.sort(free)[::-1][:k].sum()) - 1e-9

    def enough(picked: Ints) -> bool:
        return float(ideal[picked].sum()) >= floor

    for rung in range(20, -1, -1):
        picked = positions(rung / 20)
        if enough(picked) or rung == 0:
            break
    if rung == 20 or not enough(picked):
        return rung / 20, picked
    for fine in range(rung * 5 + 4, rung * 5 - 1, -1):
        picked = positions(fine / 100)
        if enough(picked):
            break
    return fine / 100, picked
