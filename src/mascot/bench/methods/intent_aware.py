"""xQuAD, PM-2 and IA-Select, which diversify by explicit aspects of a query, with the bins of the wishes as aspects.

For candidate d and bin u: r(d) is the score scaled to 0..1, p(u, d) the membership, v(d, u) = r(d) p(u, d) the value of
d for u, and P(u) the importance of u: a bin's share of the summed values of its attribute, times the attribute's share
of the weights. All three only spread: they ignore the direction of a wish. Ties go to the lowest position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.datasets.dataset import Floats
from mascot.bench.methods.own_method import select_by
from mascot.errors import check_share


class _AspectMethod(ABC):
    """Select the candidate with the highest gain at every step."""

    @abstractmethod
    def gains(self, relevance: Floats, values: Floats, importance: Floats, selected: list[int]) -> Floats:
        """Return the gain [N] of each candidate, from r [N], v [N, U], P [U] and the positions selected so far."""

    def select(self, problem: Any, k: int) -> Any:
        def pick(q: int, count: int) -> list[int]:
            relevance = problem.relevance_of(q, robust=False)
            values, importance = _aspects(problem, q, relevance)
            selected: list[int] = []
            for _ in range(count):
                gains = self.gains(relevance, values, importance, selected)
                gains[selected] = -np.inf
                selected.append(int(gains.argmax()))
            return selected

        return select_by(problem, k, pick)


@dataclass(frozen=True)
class XQuad(_AspectMethod):
    """xQuAD (Santos et al., 2010): (1 - strength) r(d) + strength sum_u P(u) v(d, u) prod_selected (1 - v(s, u))."""

    strength: float = 0.5

    def __post_init__(self) -> None:
        check_share("XQuad.strength", self.strength)

    def gains(self, relevance: Floats, values: Floats, importance: Floats, selected: list[int]) -> Floats:
        uncovered = importance * np.prod(1.0 - values[selected], axis=0)
        return np.asarray((1 - self.strength) * relevance + self.strength * (values * uncovered).sum(axis=1))


@dataclass(frozen=True)
class IaSelect(_AspectMethod):
    """IA-Select (Agrawal et al., 2009): sum_u P(u) v(d, u) prod_selected (1 - v(s, u)): xQuAD at strength 1."""

    def gains(self, relevance: Floats, values: Floats, importance: Floats, selected: list[int]) -> Floats:
        return XQuad(1.0).gains(relevance, values, importance, selected)


@dataclass(frozen=True)
class Pm2(_AspectMethod):
    """PM-2 (Dang and Croft, 2012): seats are given to bins in proportion to their importance.

    The next seat belongs to the bin u* with the highest quotient q(u) = P(u) / (2 s(u) + 1), and goes to the candidate
    with the highest weight q(u*) v(d, u*) + (1 - weight) sum over the other u of q(u) v(d, u). Its values, scaled to
    sum 1, are added to the seats s(u).
    """

    weight: float = 0.5  # the paper's lambda

    def __post_init__(self) -> None:
        check_share("Pm2.weight", self.weight)

    def gains(self, relevance: Floats, values: Floats, importance: Floats, selected: list[int]) -> Floats:
        totals = values[selected].sum(axis=1, keepdims=True)
        seats = (values[selected] / np.where(totals > 0, totals, 1.0)).sum(axis=0)
        quotients = importance / (2 * seats + 1)
        turns = np.full(len(quotients), 1 - self.weight)
        turns[quotients.argmax()] = self.weight
        return np.asarray((values * (turns * quotients)).sum(axis=1))


def _aspects(problem: Any, q: int, relevance: Floats) -> tuple[Floats, Floats]:
    """Return the values [N, U] of one query's candidates for its bins, and the importance [U] of the bins."""
    blocks, shares = [], []
    for a, weight in enumerate(problem.weights):
        membership = problem.membership_of(q, a)
        if membership is None:
            raise mc.OptionError("xQuAD, PM-2 and IA-Select need attributes with bins, got Vectors")
        values = relevance[:, None] * membership
        total = values.sum()
        blocks.append(values)
        shares.append(weight * values.sum(axis=0) / (total if total > 0 else 1.0))
    return np.concatenate(blocks, axis=1), np.concatenate(shares) / problem.weights.sum()
