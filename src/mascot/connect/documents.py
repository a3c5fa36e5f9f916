"""What the frameworks share: documents with metadata become candidates, and wishes choose among them."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.connect.nested import column_of
from mascot.connect.warned import warn
from mascot.errors import check_whole
from mascot.rerank import check_method
from mascot.wishes import check_wishes

NOTE = "mascot"  # the metadata key under which a document says why it is there
Metadata = Sequence[Mapping[str, Any]]
Scores = Sequence[float | None]
Vectors = Sequence[Sequence[float] | NDArray[Any] | None]


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes, how many results, and a method, ready for the documents of any query.

    Parameters
    ----------
    wishes
        `spread(...)`, `focus(...)`, `limit(...)` and `share(...)`.
    k
        How many results; fewer documents than that are all returned.
    method
        `Mascot(...)`, or another.
    columns
        The metadata keys to read (default: those the wishes name; all of them where an attribute is not one of
        mascot's). `location.lat` is the `lat` of a dictionary `location`, unless there is such a key.
    remedy
        How to pass vectors in this framework, for the error message where they are needed and missing.
    distances
        Scores are distances: smaller is better.
    """

    wishes: tuple[mc.AnyWish, ...]
    k: int
    method: Any
    columns: Sequence[str] | None = None
    remedy: str = ""
    distances: bool = False

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)
        object.__setattr__(self, "k", int(self.k))  # numpy integers cannot be saved as JSON

    @property
    def strength(self) -> float | None:
        """The method's strength; None where it finds one for each query."""
        strength: float | None = getattr(self.method, "strength", None)
        return strength

    @property
    def needs_vectors(self) -> bool:
        """Whether the method or a wish compares vectors: reading them from lists is the most expensive step."""
        return not isinstance(self.method, (mc.Mascot, mc.Relevance)) or any(
            _compares_vectors(wish.attribute) or not _is_built_in(wish.attribute) for wish in self.wishes
        )

    def for_call(self, wishes: Any = None, k: int | None = None) -> Steering:
        """Return the same with the wishes and the k of one call; None leaves them as they are."""
        if wishes is None and k is None:
            return self
        return replace(self, wishes=self.wishes if wishes is None else as_wishes(wishes), k=self.k if k is None else k)

    def rank(
        self,
        metadata: Metadata,
        scores: Scores,
        vectors: Callable[[], Vectors],
        ids: Sequence[Hashable] | None = None,
        already: Iterable[Hashable] | None = None,
    ) -> mc.Ranking:
        """Select among documents, at least one.

        Parameters
        ----------
        metadata, scores
            Of each document.
        vectors
            Returns the vector of each document; called only where they are needed.
        ids
            Of each document (default: None, positions).
        already
            Ids that were shown before: not shown again, and counted as covered (default: None).
        """
        matrix = as_vectors(vectors()) if self.needs_vectors else None
        if matrix is None and (owner := self._vector_user()) is not None:
            raise mc.InputError(f"{owner} needs vectors, and no document came with one: {self.remedy}")
        relevance = as_scores(scores, self.distances)
        columns = self._columns(metadata)
        candidates: mc.Candidates = mc.Candidates(scores=relevance, ids=ids, columns=columns, vectors=matrix)
        return mc.rerank(candidates, self.wishes, k=self.k, method=self.method, already=already)

    def _vector_user(self) -> str | None:
        """Return the name of the attribute or method that cannot work without vectors, or None."""
        for wish in self.wishes:
            if _is_built_in(wish.attribute) and _compares_vectors(wish.attribute):
                return type(wish.attribute).__name__
        method = self.method
        can_rank = self.wishes or self.strength == 0 or isinstance(method, (mc.Mascot, mc.Relevance))
        return None if can_rank or not _is_built_in(method) else type(method).__name__

    def _columns(self, metadata: Metadata) -> dict[str, list[Any]]:
        names = self.columns if self.columns is not None else _column_names(self.wishes)
        if self.columns is None and not all(_is_built_in(wish.attribute) for wish in self.wishes):
            # A user's own attribute may read any of them.
            names = tuple(dict.fromkeys([*names, *(key for row in metadata for key in row if isinstance(key, str))]))
        columns = {name: column_of(metadata, name) for name in names}
        for name, column in columns.items():
            if column[0] is None and not any(value is not None for value in column):
                warn(f"no document has the metadata key {name!r}")
        return columns


def earlier_ids(already: Any, kind: type | tuple[type, ...], id_of: Callable[[Any], Hashable]) -> list[Hashable] | None:
    """Return the ids of earlier results, which may be ids or the documents themselves."""
    if already is None:
        return None
    if not isinstance(already, Iterable) or isinstance(already, (str, bytes, Mapping)):
        raise mc.InputError(f"already must be a list of ids or of documents, got {already!r:.60}")
    return [id_of(entry) if isinstance(entry, kind) else entry for entry in already]


def method_from_lambda(value: float, method: Callable[..., Any] = mc.Mascot, owner: str = "lambda") -> Any:
    """Return a method of the strength that an MMR's lambda stands for: 1 is relevance only there, 0 is so here.

    >>> method_from_lambda(0.75).strength
    0.25
    """
    if not 0 <= value <= 1:
        raise mc.OptionError(f"{owner} must be in 0..1, got {value!r}")
    parameters = inspect.signature(method).parameters.values() if callable(method) else ()
    if not any(parameter.name == "strength" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        name = getattr(method, "__name__", repr(method))
        raise mc.OptionError(f"{owner} needs a method that takes a strength, such as Mascot or Mmr, got {name}")
    return method(strength=1 - value)


def lambda_from_strength(strength: float | None) -> float | None:
    """Return the lambda of a strength; None where the method finds its strength for each query.

    >>> lambda_from_strength(0.25)
    0.75
    """
    return None if strength is None else 1 - strength


def as_wishes(wishes: Any) -> tuple[mc.AnyWish, ...]:
    """Return one wish or several, which may be objects or dictionaries."""
    items: Any = [wishes] if isinstance(wishes, Mapping) else wishes
    if isinstance(items, Iterable) and not isinstance(items, str):
        items = [mc.from_dict(wish) if isinstance(wish, Mapping) else wish for wish in items]
    return check_wishes(items)


def as_names(names: Any) -> Any:
    """Return a list of names as a tuple; any other value is returned unchanged, to be refused later."""
    return tuple(names) if isinstance(names, Iterable) and not isinstance(names, (str, bytes)) else names


def as_method(method: Any) -> Any:
    """Return a method, which may be an object or a dictionary (default: the guarded one)."""
    return check_method(mc.from_dict(method) if isinstance(method, Mapping) else method)


def plain_wishes(wishes: Iterable[mc.AnyWish]) -> list[dict[str, Any]]:
    """Return wishes as dictionaries, ready for JSON."""
    return [wish.to_dict() for wish in wishes]


def plain_method(method: Any) -> dict[str, Any]:
    """Return a method as a dictionary."""
    if not hasattr(method, "to_dict"):
        raise mc.OptionError(f"a method cannot be saved unless it has to_dict(), got {method!r}")
    plain: dict[str, Any] = method.to_dict()
    return plain


def as_scores(scores: Scores, distances: bool = False) -> NDArray[np.float64]:
    """Return scores without missing values, higher is better; distances are negated.

    Where no document has one, the order is the relevance: evenly spaced from 1 downwards. Where some have, the others
    get the lowest.
    """
    try:
        relevance = np.asarray(scores, np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise mc.InputError(f"scores must be numbers: {error}") from None
    relevance = -relevance if distances else relevance
    missing = np.isnan(relevance)
    if not missing.any():
        return relevance
    if missing.all():
        return 1 - np.arange(len(relevance)) / len(relevance)
    return np.where(missing, relevance[~missing].min(), relevance)


def as_vectors(rows: Vectors) -> NDArray[np.float64] | None:
    """Return vectors as N x D; a missing vector is a row of NaN. None where all are missing."""
    lists = [row for row in rows if row is not None]
    if not lists:
        return None
    nested = next((row for row in lists if not _is_flat(row)), None)
    if nested is not None:
        raise mc.InputError(f"a vector must be one flat list of numbers, got {nested!r:.60}")
    width = len(lists[0])
    other_width = next((len(row) for row in lists if len(row) != width), None)
    if other_width is not None:
        raise mc.InputError(f"vectors must be of one length, got {width} and {other_width}")
    packed = struct.Struct(f"{width}d")  # converts lists of floats twice as fast as numpy
    matrix = np.full((len(rows), width), np.nan)
    for at, row in enumerate(rows):
        try:
            if isinstance(row, np.ndarray):
                matrix[at] = row
            elif row is not None:
                packed.pack_into(matrix.data, at * packed.size, *row)
        except (struct.error, TypeError, ValueError, OverflowError):
            raise mc.InputError(f"vectors must be numbers, got {row!r:.60}") from None
    return matrix


def _is_flat(row: Any) -> bool:
    """Return whether a value is a list or a one-dimensional array; its elements are checked later."""
    if hasattr(row, "ndim"):
        return bool(row.ndim == 1)
    return isinstance(row, Sequence) and not isinstance(row, (str, bytes))


def notes(ranking: mc.Ranking) -> list[dict[str, Any]]:
    """Return for each result its rank, its rank by relevance, and the gains of relevance and of each wish."""
    gains = ranking.gains
    return [
        {"rank": place + 1, "was": int(was), "gains": {name: float(values[place]) for name, values in gains.items()}}
        for place, was in enumerate(ranking.was)
    ]


def _is_built_in(attribute: Any) -> bool:
    return type(attribute).__module__.startswith("mascot.")


def _compares_vectors(attribute: Any) -> bool:
    clusters = isinstance(attribute, mc.Clusters) and attribute.column is None
    return clusters or isinstance(attribute, mc.Branches)


def _column_names(wishes: Iterable[mc.AnyWish]) -> tuple[str, ...]:
    """Return the columns that the wishes' built-in attributes name."""
    names: dict[str, None] = {}
    for wish in wishes:
        for field in ("lat", "lon", "column") if _is_built_in(wish.attribute) else ():
            name = getattr(wish.attribute, field, None)
            if name is not None:
                names[name] = None
    return tuple(names)
