"""Metrics of control: whether strength has the effect it promises, and what it costs at the top of the list."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from mascot.bench.metrics import _checks
from mascot.bench.metrics._checks import Bools, Floats, Ints
from mascot.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Displacement:
    """Queries that lost a right first result; see :func:`displacement`."""

    displaced: Bools  # [Q], the first result of the base ranking was right and is no longer first
    other_bin: Bools  # [Q], and the new first result has another primary bin

    @property
    def share(self) -> float | None:
        """Share of the displacements that change the primary bin; None if there are no displacements."""
        count = int(self.displaced.sum())
        return int(self.other_bin.sum()) / count if count else None


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One setting of a method, with its index in the input arrays."""

    index: int
    recall: float
    diversity: float


def prs(diversity: ArrayLike) -> float:
    """PRS, the preference reflection score, as published: from -1 to 1, and 0 if the strength changes nothing.

    With v the values scaled to [0, 1] by min-max over the S steps of the strength::

        PRS = sum_{s < S} (v(s+1) - v(s)) / step * step = v(S) - v(1)

    The sum telescopes, so PRS sees the first and the last step and nothing in between except the
    extremes. Report :func:`kendall_tau` as well.

    Parameters
    ----------
    diversity : array_like of shape [S]
        Mean over queries of :func:`mascot.bench.metrics.metadata_channel` at each strength, ascending: 0, 0.1,
        ... 1 in the published runs. On focus it is already ``1 - V``.

    Examples
    --------
    >>> prs([0.2, 0.4, 0.6])
    1.0
    >>> prs([0.2, 0.6, 0.4, 0.5, 0.3, 0.6])  # up and down, and yet perfect
    1.0
    """
    values = _checks.floats("prs diversity", diversity, "[S]")
    _check_steps("prs", values)
    extent = values.max() - values.min()
    return float((values[-1] - values[0]) / extent) if extent > 0 else 0.0


def kendall_tau(strength: ArrayLike, diversity: ArrayLike) -> float:
    """Return Kendall's tau-b of strength and diversity: 1 if every step goes the right way, -1 if none does.

    Over the pairs of steps, ``tau = (concordant - discordant) / sqrt(n_s * n_d)`` with n_s and n_d the
    pairs that are not tied in strength and in diversity; 0 if either is constant.

    Parameters
    ----------
    strength : array_like of shape [S]
        The settings of the parameter, in any order.
    diversity : array_like of shape [S]
        As for :func:`prs`: more is better for the wish.

    Examples
    --------
    >>> round(kendall_tau([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.2, 0.6, 0.4, 0.5, 0.3, 0.6]), 4)
    0.276
    """
    settings = _checks.floats("kendall_tau strength", strength, "[S]")
    values = _checks.floats("kendall_tau diversity", diversity, "[S]")
    _checks.same_length("kendall_tau", strength=settings, diversity=values)
    _check_steps("kendall_tau", values)
    first, second = np.triu_indices(len(values), k=1)
    moved = np.sign(settings[second] - settings[first])
    answered = np.sign(values[second] - values[first])
    untied = float(np.abs(moved).sum()) * float(np.abs(answered).sum())
    return float((moved * answered).sum() / np.sqrt(untied)) if untied else 0.0


def top1_agreement(first: ArrayLike, base_first: ArrayLike) -> Floats:
    """Return for each query 1.0 if its first result is that of the base ranking, otherwise 0.0.

    Parameters
    ----------
    first, base_first : array_like of shape [Q]
        The id, or corpus row, of the first result of each query, after and before re-ranking.

    Examples
    --------
    >>> top1_agreement(["a", "b", "c"], ["a", "x", "c"])
    array([1., 0., 1.])
    """
    top, base = np.asarray(first), np.asarray(base_first)
    _checks.axes("top1_agreement first", top.shape, "[Q]")
    _checks.axes("top1_agreement base_first", base.shape, "[Q]")
    _checks.same_length("top1_agreement", first=top, base_first=base)
    return np.where(top == base, 1.0, 0.0)


def primary_bin(membership: ArrayLike) -> Ints:
    """Primary bin of each item: the arg-max of its membership, the lowest on ties, -1 if it is in no bin.

    Parameters
    ----------
    membership : array_like of shape [N, U]
        Soft bins, >= 0.

    Examples
    --------
    >>> primary_bin([[0.1, 0.9, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    array([ 1,  0, -1])
    """
    array = _checks.floats("primary_bin membership", membership, "[N, U]", low=0)
    return np.where(array.any(axis=1), array.argmax(axis=1), -1)


def displacement(first: ArrayLike, base_first: ArrayLike, base_right: ArrayLike, bins: ArrayLike) -> Displacement:
    """Return which queries lost a right first result, and whether its successor has another primary bin.

    ``displaced(q) = base_right(q) and first(q) != base_first(q)``, and
    ``other_bin(q) = displaced(q) and b(first(q)) != b(base_first(q))``.

    Parameters
    ----------
    first, base_first : array_like of int, shape [Q]
        Corpus row of the first result of each query, after and before re-ranking.
    base_right : array_like of shape [Q]
        1 where the base's first is a positive.
    bins : array_like of int, shape [N]
        :func:`primary_bin` of every corpus row.

    Examples
    --------
    >>> moved = displacement([0, 1, 2], [0, 0, 3], [1, 1, 1], bins=[5, 5, 6, 7])
    >>> moved.displaced, moved.other_bin, moved.share
    (array([False,  True,  True]), array([False, False,  True]), 0.5)
    """
    owner = "displacement"
    of = _checks.integers(f"{owner} bins", bins, "[N]")
    top = _checks.positions(f"{owner} first", first, "[Q]", len(of))
    base = _checks.positions(f"{owner} base_first", base_first, "[Q]", len(of))
    right = _checks.flags(f"{owner} base_right", base_right, "[Q]")
    _checks.same_length(owner, first=top, base_first=base, base_right=right)
    displaced = right & (top != base)
    return Displacement(displaced, displaced & (of[top] != of[base]))


def fixed_recall_front(recall: ArrayLike, diversity: ArrayLike, floors: ArrayLike) -> tuple[OperatingPoint | None, ...]:
    """Best diversity of the operating points that reach each recall floor; None if no point reaches it.

    ``front(f) = argmax{diversity(i) : recall(i) >= f}``; ties go to the higher recall, then to the first.

    Parameters
    ----------
    recall, diversity : array_like of shape [P]
        One method's operating points.
    floors : array_like of shape [F]
        Floors on recall.

    Examples
    --------
    >>> fixed_recall_front([0.97, 0.90, 0.49], [0.17, 0.21, 0.32], floors=[0.99, 0.85])
    (None, OperatingPoint(index=1, recall=0.9, diversity=0.21))
    """
    owner = "fixed_recall_front"
    recalls = _checks.floats(f"{owner} recall", recall, "[P]")
    diversities = _checks.floats(f"{owner} diversity", diversity, "[P]")
    _checks.same_length(owner, recall=recalls, diversity=diversities)
    pairs = zip(recalls.tolist(), diversities.tolist(), strict=True)
    points = [OperatingPoint(index, *pair) for index, pair in enumerate(pairs)]
    points.sort(key=attrgetter("diversity", "recall"), reverse=True)  # stable: the first of equal points stays first
    return tuple(
        next((point for point in points if point.recall >= floor), None)
        for floor in _checks.floats(f"{owner} floors", floors, "[F]")
    )


def _check_steps(owner: str, values: Floats) -> None:
    if len(values) < 2:
        raise InputError(f"{owner} diversity must have >= 2 steps, got {len(values)}")
