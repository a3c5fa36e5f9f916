"""What a process of a Ray cluster does with a batch: open its stage, work, and tell what went wrong in one line.

A crash takes the process along, so that nobody is left to tell. Hence a worker notes in a ledger that it begins a
batch; the one who finds a batch begun too often before gives it up.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mascot.errors import MascotError

Stage = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a batch was not done; Ray would tell of it as of an accident, in a page of its own frames."""

    error: MascotError


@dataclass(frozen=True, slots=True)
class Lost:
    """A batch at which worker after worker died."""


class Ledger:
    """Counts how often batches were begun; an actor. Ray itself repeats what kills a worker for ever."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[str, int]] = Counter()

    def begin(self, stage: str, number: int) -> int:
        """How often this batch was begun before."""
        self._begun[stage, number] += 1
        return self._begun[stage, number] - 1

    def forget(self) -> None:
        self._begun.clear()


class Worker:
    """A stage over tables of batches, for Ray Data.

    Parameters
    ----------
    name
        Of the stage.
    opener
        A pickled function that opens the stage. It is called with the first batch: what it does wrong, or dies of, is
        counted and told as that batch's.
    ledger
        The actor.
    retries
        How often a batch is begun again.
    """

    def __init__(self, name: str, opener: bytes, ledger: Any, retries: int) -> None:
        self.__name__ = name  # Ray Data asks for it
        self._opener, self._ledger, self._retries = opener, ledger, retries

    @cached_property
    def _stage(self) -> Stage:
        stage: Stage = pickle.loads(self._opener)()
        return stage

    def __call__(self, batches: Any) -> Any:
        numbers, items = batches["number"].to_pylist(), batches["items"].to_pylist()
        return _table(numbers, [self._answer(*batch) for batch in zip(numbers, items, strict=True)])

    def _answer(self, number: int, asked: bytes) -> bytes:
        import ray

        items = pickle.loads(asked)
        if isinstance(items, Refused | Lost):  # by the stage before
            return asked
        answer: list[Any] | Refused | Lost
        if ray.get(self._ledger.begin.remote(self.__name__, number)) > self._retries:
            answer = Lost()
        else:
            answer = self._done(items)
        return pickle.dumps(answer, 5)

    def _done(self, items: Sequence[Any]) -> list[Any] | Refused:
        try:
            return self._stage(items)
        except MascotError as error:
            return Refused(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return Refused(MascotError(f"a worker failed at {named([item.path for item in items])}: {reason}"))


def answers(batches: Any) -> Iterator[tuple[int, list[Any] | Lost]]:
    """The number of each batch, and what it gave; raises what a worker refused with."""
    for number, answer in zip(batches["number"].to_pylist(), batches["items"].to_pylist(), strict=True):
        items: list[Any] | Refused | Lost = pickle.loads(answer)
        if isinstance(items, Refused):
            raise items.error
        yield number, items


def _table(numbers: list[int], items: list[bytes]) -> Any:
    import pyarrow

    # Large: pictures of one batch may pass two gigabytes, where the offsets of plain binary end.
    return pyarrow.table({"number": numbers, "items": pyarrow.array(items, pyarrow.large_binary())})


def named(paths: Sequence[str], most: int = 3) -> str:
    """The first few of some paths, and how many more there are.

    >>> named(["a.jpg"]), named(["a.jpg", "b.jpg", "c.jpg"], most=2)
    ("'a.jpg'", "'a.jpg', 'b.jpg' and 1 more")
    """
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(repr(path) for path in paths[:most]) + more
