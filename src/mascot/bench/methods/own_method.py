"""A user's own method: any class with `select(problem, k)`, by its import path."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.datasets.dataset import Ints
from mascot.bench.files import sha256
from mascot.errors import OptionError

_HASH = 16  # digits of the hash of a module's source


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """A class by its path, ``module:Class``, and its parameters; workers import it again.

    The hash of its module's source is part of the record, so that an edited method is run again.
    """

    path: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def select(self, problem: Any, k: int) -> Any:
        """Select k of each query's candidates. An error in the class is reported with its line in the module."""
        try:
            selection = _instance(self).select(problem, k)
        except mc.MascotError:
            raise
        except Exception as error:
            source = inspect.getfile(load_class(self.path))
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
            where = f"{source}, line {lines[-1]}" if lines else source
            raise mc.InputError(f"{self.path} failed in {where}: {type(error).__name__}: {error}") from error
        if not hasattr(selection, "positions"):
            raise mc.InputError(f"{self.path} must return what select_by returns, got {type(selection).__name__}")
        return selection

    @property
    def strength(self) -> float | None:
        """The strength, or None if the class has none."""
        return getattr(_instance(self), "strength", None)

    def at(self, strength: float) -> OwnMethod:
        return OwnMethod(self.path, tuple({**dict(self.parameters), "strength": strength}.items()))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.path, "source": source_hash(self.path), **dict(self.parameters)}


def select_by(problem: Any, k: int, pick: Callable[[int, int], Sequence[int] | Ints]) -> Any:
    """Return the selection of `pick(q, count)`, which returns the positions of query q's results, best first.

    `count` is k, or the number of candidates if there are fewer.
    """
    selection = mc.Relevance().select(problem, k)
    positions = np.full_like(selection.positions, -1)
    for q, count in enumerate((selection.positions >= 0).sum(axis=1).tolist()):
        picks = np.asarray(pick(q, count), np.int64)
        candidates = len(problem.scores_of(q))
        if len(picks) > count or len(np.unique(picks)) < len(picks) or not np.isin(picks, np.arange(candidates)).all():
            rule = f"at most {count} different positions below {candidates}"
            raise mc.InputError(f"a method must select {rule}, got {picks.tolist()} for query {q}")
        positions[q, : len(picks)] = picks
    return replace(selection, positions=positions, ranked=positions)


def from_record(method: dict[str, Any]) -> OwnMethod:
    """Return the method of a record; see `OwnMethod.to_dict`."""
    parameters = {name: value for name, value in method.items() if name not in ("kind", "source")}
    return OwnMethod(method["kind"], tuple(parameters.items()))


def load_class(path: str) -> type[Any]:
    """Return the class of a path ``module:Class``, checked."""
    module, _, name = path.partition(":")
    try:
        loaded: Any = getattr(import_module(module), name) if module and name else None
    except (ImportError, AttributeError) as error:
        raise OptionError(f"method must be module:Class, got {path!r}: {error}") from None
    if not inspect.isclass(loaded) or not hasattr(loaded, "select"):
        raise OptionError(f"method must be module:Class with select(problem, k), got {path!r}")
    return loaded


@lru_cache
def source_hash(path: str) -> str:
    """Return the hash of the module of a class, once: what runs is the module as it was imported."""
    return sha256(Path(inspect.getfile(load_class(path))))[:_HASH]


def parameters_of(path: str) -> list[str]:
    return list(inspect.signature(load_class(path)).parameters)


@lru_cache(maxsize=256)
def _instance(method: OwnMethod) -> Any:
    loaded = load_class(method.path)
    try:
        return loaded(**dict(method.parameters))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{method.path} must accept {dict(method.parameters)}, got: {error}") from None
