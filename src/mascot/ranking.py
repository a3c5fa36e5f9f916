"""What comes back: the results, best first, and why each is there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, SupportsIndex, overload

import numpy as np

from mascot.accounts import Account
from mascot.kernels.reference import normalized
from mascot.memberships import Floats, Ints
from mascot.problem import Method, Problem, Selection
from mascot.values import plain
from mascot.wishes import Wish

_COLUMN = 12  # letters of a column that `explain` prints, where the name fits
_LEFT_OUT = 3  # best candidates left out that `explain` speaks of


@dataclass(frozen=True)
class Reason:
    """Why one candidate is where it is. Its gains add up to `gain`."""

    id: Hashable
    position: int  # in the input, from 0
    was: int  # its rank by relevance, from 1
    relevance: float  # from 0 to 1 over the candidates
    step: int | None  # when it was chosen, from 1; None: left out
    gains: dict[str, float]  # of relevance and of each attribute
    opened: dict[str, list[str]] = field(default_factory=dict)  # bins it was the first to cover
    because: str = ""  # for one left out: what kept it out

    @property
    def gain(self) -> float:
        return sum(self.gains.values())


@dataclass(frozen=True)
class Explanation:
    """Reasons for each result, best first, and for the best candidates left out. `print` shows it as text."""

    results: list[Reason]
    left_out: list[Reason]
    strength: float
    wishes: tuple[Wish, ...]

    def __str__(self) -> str:
        asked = ", ".join(_wish_text(wish) for wish in self.wishes) or "relevance only"
        names = list(self.results[0].gains) if self.results else []
        lines = [f"{asked}; strength {self.strength:g}"]
        width = max((len(str(r.id)) for r in self.results + self.left_out), default=2)
        head = "".join(f"{name:>{_wide(name)}}" for name in names)
        lines.append(f"{'':>3} {'id':<{width}} {'was':>5} {'relevance':>10} {head}  opened")
        for place, reason in enumerate(self.results, 1):
            opened = "; ".join(f"{name}: {', '.join(bins)}" for name, bins in reason.opened.items() if bins)
            lines.append(f"{place:>3} {_row(reason, width, names)}  {opened}".rstrip())
        if self.left_out:
            lines.append("left out")
            lines += [f"{'-':>3} {_row(reason, width, names)}  {reason.because}".rstrip() for reason in self.left_out]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return {
            "strength": self.strength,
            "wishes": [plain(wish) for wish in self.wishes],
            "results": [{"rank": rank, **_reason_dict(reason)} for rank, reason in enumerate(self.results, 1)],
            "left_out": [_reason_dict(reason) for reason in self.left_out],
        }


def _row(reason: Reason, width: int, names: Sequence[str]) -> str:
    gains = "".join(f"{reason.gains[name]:>+{_wide(name)}.3f}" for name in names)
    return f"{reason.id!s:<{width}} {reason.was:>5} {reason.relevance:>10.3f} {gains}"


def _wide(name: str) -> int:
    return max(_COLUMN, len(name) + 1)


def names_of(wishes: Sequence[Wish]) -> list[str]:
    """Attribute names, made distinct from one another and from relevance."""
    names = ["relevance"]
    for wish in wishes:
        name, number = wish.attribute.name, 2
        while name in names:
            name, number = f"{wish.attribute.name} {number}", number + 1
        names.append(name)
    return names[1:]


def _wish_text(wish: Wish) -> str:
    text = f"{'spread' if wish.sign > 0 else 'focus'} {wish.attribute.name}"
    if wish.near is not None:
        text += f" near {wish.near}"
    return text + (f" x {wish.weight:g}" if wish.weight != 1 else "")


def _reason_dict(reason: Reason) -> dict[str, Any]:
    return {
        "id": plain(reason.id),
        "position": reason.position,
        "was": reason.was,
        "relevance": reason.relevance,
        "step": reason.step,
        "gain": reason.gain,
        "gains": reason.gains,
        "opened": reason.opened,
        **({"because": reason.because} if reason.because else {}),
    }


class Ranking:
    """The chosen candidates of one query, best first.

    Attributes
    ----------
    ids, positions, scores, relevance, was
        Of each result: its id, its position in the input, its score, its relevance from 0 to 1 over
        the candidates, its rank by relevance from 1.
    strength
        The strength used: the method's, or the one found for `keep`.
    method, wishes
        What was asked for.
    """

    def __init__(
        self, ids: Sequence[Hashable], problem: Problem, selection: Selection, method: Method, wishes: tuple[Wish, ...],
        kept: Ints | None = None,
    ) -> None:  # fmt: skip
        self._problem, self._selection, self._all_ids, self._kept = problem, selection, ids, kept
        self.method, self.wishes, self.strength = method, wishes, selection.strength
        shown = selection.shown
        self.positions: Ints = shown if kept is None else kept[shown]
        self.ids: list[Hashable] = [ids[i] for i in self.positions]
        self.scores: Floats = problem.scores[shown]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.ids)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Hashable: ...

    @overload
    def __getitem__(self, place: slice) -> list[Hashable]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Hashable | list[Hashable]:
        """The id at a place from 0, or the ids of a slice."""
        return self.ids[place]

    def __repr__(self) -> str:
        return f"Ranking({self.ids!r})" if len(self) <= 8 else f"Ranking({len(self)}: {self.ids[:6]!r}...)"

    @cached_property
    def relevance(self) -> Floats:
        return normalized(self._problem.scores)[self._selection.shown] if len(self) else np.zeros(0)

    @cached_property
    def _rank_of(self) -> Ints:
        rank = np.empty(len(self._problem.scores), np.int64)
        rank[np.argsort(-self._problem.scores, kind="stable")] = np.arange(1, len(rank) + 1)
        return rank

    @property
    def was(self) -> Ints:
        return self._rank_of[self._selection.shown]

    def __getstate__(self) -> dict[str, Any]:
        """All that was asked and can be explained; the candidates' bins stay behind."""
        asked = self._account  # found now, while the bins are here
        problem = replace(self._problem, memberships=tuple, features=tuple, vectors=None)
        return {**self.__dict__, "_account": asked, "_problem": problem}

    @cached_property
    def _names(self) -> list[str]:
        return names_of(self.wishes)

    @property
    def shown_before(self) -> list[Hashable]:
        """Ids of what earlier pages had shown."""
        seen = self._problem.seen
        return [self._all_ids[i] for i in (seen if self._kept is None else self._kept[seen])]

    @cached_property
    def _others(self) -> Ints:
        """The best candidates left out, by relevance."""
        taken = np.concatenate([self._selection.positions, self._problem.seen])
        order = np.argsort(-self._problem.scores, kind="stable")
        return order[~np.isin(order, taken)][:_LEFT_OUT]

    @cached_property
    def _account(self) -> Account | None:
        replay = getattr(self.method, "account", None)
        if replay is None or not len(self):
            return None
        done: Account = replay(self._problem, self._selection, self._others)
        return done

    @property
    def gains(self) -> dict[str, Floats]:
        """What relevance and each attribute contributed to each result's gain when it was chosen."""
        if self._account is None:
            return {}
        step = {int(i): s for s, i in enumerate(self._selection.positions)}
        order = np.array([step[int(i)] for i in self._selection.shown], np.int64)
        parts = {"relevance": self._account.relevance[order]}
        return parts | {name: self._account.gains[a, order] for a, name in enumerate(self._names)}

    def explain(self) -> Explanation:
        """Why each result is there, and what kept the best of the others out."""
        results = []
        step = {int(i): s for s, i in enumerate(self._selection.positions)}
        gains = self.gains
        for place, i in enumerate(self._selection.shown):
            opened = {}
            if self._account is not None:
                opened = {name: self._account.opened[a][step[int(i)]] for a, name in enumerate(self._names)}
            parts = {name: float(values[place]) for name, values in gains.items()}
            results.append(self._reason(int(i), step[int(i)] + 1, parts, opened))
        return Explanation(results, self._left_out(), self.strength, self.wishes)

    def _reason(
        self,
        i: int,
        step: int | None,
        gains: dict[str, float],
        opened: dict[str, list[str]],
        because: str = "",
    ) -> Reason:
        position = i if self._kept is None else int(self._kept[i])
        relevance = float(normalized(self._problem.scores)[i])
        was = int(self._rank_of[i])
        return Reason(self._all_ids[position], position, was, relevance, step, gains, opened, because)

    def _left_out(self) -> list[Reason]:
        account = self._account
        if account is None:
            return [self._reason(int(i), None, {}, {}) for i in self._others]
        protected = bool((self._rank_of[self._selection.positions] <= self._selection.protect).all())
        last = {"relevance": float(account.relevance[-1])}
        last |= {name: float(account.gains[a, -1]) for a, name in enumerate(self._names)}
        found = []
        for m, i in enumerate(self._others):
            gains = {"relevance": float(account.other_relevance[m])}
            gains |= {name: float(account.other_gains[a, m]) for a, name in enumerate(self._names)}
            short = {name: last[name] - gains[name] for name in gains}
            worst = max(short, key=lambda name: short[name])
            loss = sum(short.values())
            missed = f"{worst} {short[worst]:.3f} below the last one chosen, {loss:.3f} in all"
            because = "every place is protected" if protected else missed
            found.append(self._reason(int(i), None, gains, {}, because))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain data, ready for JSON."""
        gains = self.gains
        results = [
            {
                "id": plain(self.ids[place]),
                "position": int(self.positions[place]),
                "rank": place + 1,
                "was": int(self.was[place]),
                "score": float(self.scores[place]),
                "relevance": float(self.relevance[place]),
                "gains": {name: float(values[place]) for name, values in gains.items()},
            }
            for place in range(len(self))
        ]
        return {
            "results": results,
            "strength": self.strength,
            "method": self.method.to_dict(),
            "wishes": [plain(wish) for wish in self.wishes],
        }
