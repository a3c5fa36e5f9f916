"""Workers of a Ray cluster: open a stage, run it on batches, and report errors in one line.

A crash ends the process, which then cannot report anything. Workers therefore record in a ledger that they begin a
batch; a batch that was begun too often is given up.
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
class FailedBatch:
    """Why a batch failed. Returned as a value, because Ray would add its own traceback to an exception."""

    error: MascotError


@dataclass(frozen=True, slots=True)
class LostBatch:
    """A batch that killed every worker that tried it."""


class Ledger:
    """An actor that counts how often batches were begun: Ray itself would retry a deadly batch for ever."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[str, int]] = Counter()

    def begin(self, stage: str, number: int) -> int:
        """Record the start of a batch, and return how often it was begun before."""
        self._begun[stage, number] += 1
        return self._begun[stage, number] - 1

    def forget(self) -> None:
        self._begun.clear()


class Worker:
    """A stage over tables of batches, for Ray Data.

    Parameters
    ----------
    name
        Name of the stage.
    opener
        A pickled function that opens the stage. It is called with the first batch, so that its errors and crashes are
        counted and reported as those of that batch.
    ledger
        The `Ledger` actor.
    retries
        How often a batch is retried.
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

    def _answer(self, number: int, content: bytes) -> bytes:
        import ray

        items = pickle.loads(content)
        if isinstance(items, FailedBatch | LostBatch):  # by the stage before
            return content
        answer: list[Any] | FailedBatch | LostBatch
        if ray.get(self._ledger.begin.remote(self.__name__, number)) > self._retries:
            answer = LostBatch()
        else:
            answer = self._results(items)
        return pickle.dumps(answer, 5)

    def _results(self, items: Sequence[Any]) -> list[Any] | FailedBatch:
        try:
            return self._stage(items)
        except MascotError as error:
            return FailedBatch(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return FailedBatch(
                MascotError(f"a worker failed at {first_paths([item.path for item in items])}: {reason}")
            )


def answers(batches: Any) -> Iterator[tuple[int, list[Any] | LostBatch]]:
    """Yield the number and the results of each batch; raise the error of a failed batch."""
    for number, answer in zip(batches["number"].to_pylist(), batches["items"].to_pylist(), strict=True):
        items: list[Any] | FailedBatch | LostBatch = pickle.loads(answer)
        if isinstance(items, FailedBatch):
            raise items.error
        yield number, items


def _table(numbers: list[int], items: list[bytes]) -> Any:
    import pyarrow

    # Large: pictures of one batch may exceed two gigabytes, the limit of the offsets of plain binary.
    return pyarrow.table({"number": numbers, "items": pyarrow.array(items, pyarrow.large_binary())})


def first_paths(paths: Sequence[str], most: int = 3) -> str:
    """Return the first few paths as text, and how many more there are.

    >>> first_paths(["a.jpg"]), first_paths(["a.jpg", "b.jpg", "c.jpg"], most=2)
    ("'a.jpg'", "'a.jpg', 'b.jpg' and 1 more")
    """
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(repr(path) for path in paths[:most]) + more
