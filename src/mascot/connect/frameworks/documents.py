"""Documents with metadata as candidates, for all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import mascot as mc
from mascot.attributes import Clusters
from mascot.candidates import RecordColumns
from mascot.connect.converters.hit_lists import as_scores, as_vectors
from mascot.errors import check_share, check_whole
from mascot.grammar import columns_of
from mascot.profiles import Variant
from mascot.reranking import check_call, check_method
from mascot.wishes import AnyWish, check_wishes

MethodClass = Callable[..., Any]
NOTE = "mascot"  # the metadata key of the reason


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """How to read the documents of a framework, and how to add a note to them."""

    types: type | tuple[type, ...]
    metadata: Callable[[Any], Mapping[str, Any]]
    id: Callable[[Any], Hashable]
    noted: Callable[[Any, dict[str, Any]], Any]  # returns a copy with a note in its metadata
    remedy: str  # how to provide vectors, for error messages


@dataclass(frozen=True, slots=True)
class Steering:
    """Wishes, the number of results, and a method, for the documents of any query.

    The components of all frameworks take `wishes` (default: none), `k` (default: 20) and `method` (default:
    `Mascot()`) as `mascot.rerank` does, or as dictionaries. `columns` are the metadata keys to read (default: those of
    the wishes; all keys if a wish has your own attribute). `location.lat` is the `lat` of a dictionary `location`,
    unless it is a key. `profile` is a file of rules, a `Profile` or one of its variants. Its wishes, k and method are
    used where these are not passed (default: None). `strength` and `keep` replace those of the method (default: None).
    `explain` says whether to add the reason to the metadata (default: False).

    If no document has a score, their order is the relevance. If only some have one, the others get the lowest.
    """

    kind: DocumentKind
    wishes: Any = ()
    k: int = 20
    method: Any = None
    columns: Sequence[str] | None = None
    explain: bool = False
    distances: bool = False  # smaller scores are better

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)
        object.__setattr__(self, "k", int(self.k))  # numpy integers cannot be saved as JSON
        object.__setattr__(self, "wishes", as_wishes(self.wishes))
        object.__setattr__(self, "method", as_method(self.method))

    @property
    def mmr_lambda(self) -> float | None:
        """1 - strength; None if the method finds its strength for each query."""
        strength = getattr(self.method, "strength", None)
        return None if strength is None else 1 - strength

    def to_dict(self) -> dict[str, Any]:
        columns = None if self.columns is None else list(self.columns)
        rules = {"wishes": plain_wishes(self.wishes), "k": self.k, "method": plain_method(self.method)}
        return {**rules, "columns": columns, "explain": self.explain}

    def select(
        self,
        documents: Sequence[Any],
        scores: Sequence[float | None],
        vectors: Callable[[], Sequence[Any]],
        wishes: Any = None,
        k: int | None = None,
        already: Any = None,
    ) -> list[Any]:
        """Return the selected documents, best first.

        `wishes` and `k` of one call replace those of the component (default: None). `vectors` returns the vector of
        each document, and is called only if vectors are needed. `already` are documents or ids of earlier pages
        (default: None). They are not shown again, and count as covered. Ids that are not among the documents are
        ignored.
        """
        if wishes is not None or k is not None:
            own = replace(self, wishes=self.wishes if wishes is None else wishes, k=self.k if k is None else k)
            return own.select(documents, scores, vectors, already=already)
        shown_ids = self._ids(already)
        if not documents:
            return []
        matrix = as_vectors(vectors()) if self._needs_vectors() else None
        if matrix is None and (owner := self._vector_user()) is not None:
            raise mc.InputError(f"{owner} needs vectors, but no document has one: {self.kind.remedy}")
        candidates: mc.Candidates = mc.Candidates(
            as_scores(scores, self.distances),
            None if shown_ids is None else list(map(self.kind.id, documents)),
            self._columns(list(map(self.kind.metadata, documents))),
            matrix,
        )
        ranking = mc.rerank(candidates, self.wishes, k=self.k, method=self.method, already=shown_ids)
        selection = [documents[at] for at in ranking.positions.tolist()]
        if not self.explain:
            return selection
        return [
            self.kind.noted(
                document, {"rank": rank, "was": reason.was, "gains": reason.gains, "because": reason.because}
            )
            for rank, (document, reason) in enumerate(zip(selection, ranking.explain().results, strict=True), 1)
        ]

    def _ids(self, already: Any) -> list[Hashable] | None:
        """Return the ids of earlier results, which may be ids or the documents themselves."""
        if already is None:
            return None
        if not isinstance(already, Iterable) or isinstance(already, (str, bytes, Mapping)):
            raise mc.InputError(f"already must be a list of ids or of documents, got {already!r:.60}")
        return [self.kind.id(entry) if isinstance(entry, self.kind.types) else entry for entry in already]

    def _needs_vectors(self) -> bool:
        """Return whether the method or a wish may compare vectors, which are expensive to read."""
        return not isinstance(self.method, (mc.Mascot, mc.Relevance)) or any(
            _compares_vectors(wish.attribute) or not _is_built_in(wish.attribute) for wish in self.wishes
        )

    def _vector_user(self) -> str | None:
        """Return the name of the attribute or method that needs vectors, or None."""
        for wish in self.wishes:
            if _is_built_in(wish.attribute) and _compares_vectors(wish.attribute):
                return type(wish.attribute).__name__
        can_rank = self.wishes or self.mmr_lambda == 1 or isinstance(self.method, (mc.Mascot, mc.Relevance))
        return None if can_rank or not _is_built_in(self.method) else type(self.method).__name__

    def _columns(self, metadata: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        names = self.columns
        if names is None:
            names = [name for wish in self.wishes if _is_built_in(wish.attribute) for name in columns_of(wish)]
            if not all(_is_built_in(wish.attribute) for wish in self.wishes):  # your own may read any column
                names += [key for row in metadata for key in row if isinstance(key, str)]
        rows = RecordColumns(metadata)
        for name in names:
            if name not in rows:
                raise mc.InputError(f"no document has the metadata key {name!r}, got keys: {', '.join(rows) or 'none'}")
        return {name: rows.cells(name) for name in names}


def method_from_lambda(value: float, method: MethodClass = mc.Mascot, owner: str = "lambda") -> Any:
    """Return a method with strength 1 - lambda: a lambda of 1, as MMR defines it, means relevance only.

    >>> method_from_lambda(0.75).strength
    0.25
    """
    check_share(owner, value)
    try:
        return method(strength=1 - value)
    except TypeError:
        name = getattr(method, "__name__", repr(method))
        raise mc.OptionError(
            f"{owner} needs a method that takes a strength, such as Mascot or Mmr, got {name}"
        ) from None


def as_wishes(wishes: Any) -> tuple[AnyWish, ...]:
    """Return one or several wishes, which may be objects or dictionaries, as a tuple."""
    items: Any = [wishes] if isinstance(wishes, Mapping) else wishes
    if isinstance(items, Iterable) and not isinstance(items, str):
        items = [mc.from_dict(wish) if isinstance(wish, Mapping) else wish for wish in items]
    return check_wishes(items)


def as_method(method: Any) -> Any:
    """Return a method, which may be an object or a dictionary (default: the guarded one)."""
    return check_method(mc.from_dict(method) if isinstance(method, Mapping) else method)


def resolve_rules(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a component with `profile`, `strength` and `keep` replaced by wishes, k and a method.

    A profile may be its file, a `Profile` or one of its variants. Options that are passed replace its rules.
    """
    replaced = {name: options.get(name) for name in ("profile", "strength", "keep")}
    rest = {name: value for name, value in options.items() if name not in replaced}
    profile = replaced.pop("profile")
    if profile is not None:
        if isinstance(profile, (str, PathLike)):
            profile = mc.load_profile(profile)
        rules = profile.assign() if isinstance(profile, mc.Profile) else profile
        if not isinstance(rules, Variant):
            raise mc.OptionError(f"profile must be a file, or as load_profile returns it, got {profile!r:.80}")
        rest = {"wishes": rules.wishes, "k": rules.k, "method": rules.method} | rest
    if any(value is not None for value in replaced.values()):
        rest["method"] = check_call(1, "auto", as_method(rest.get("method")), **replaced).method
    return rest


def plain_wishes(wishes: Iterable[AnyWish]) -> list[dict[str, Any]]:
    return [wish.to_dict() for wish in wishes]


def plain_method(method: Any) -> dict[str, Any]:
    if not hasattr(method, "to_dict"):
        raise mc.OptionError(f"a method cannot be saved unless it has to_dict(), got {method!r}")
    return method.to_dict()


def _is_built_in(attribute: Any) -> bool:
    return type(attribute).__module__.startswith("mascot.")


def _compares_vectors(attribute: Any) -> bool:
    return isinstance(attribute, (Clusters, mc.Vectors)) and getattr(attribute, "column", None) is None
