"""Search an engine with a text or a photograph, and steer the results: `mascot search --source`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.attributes.category import labels_of
from mascot.attributes.columns import is_missing
from mascot.connect.engines import EngineHits, EngineSource, Steered, open_source
from mascot.connect.engines.engine import CANDIDATES
from mascot.connect.engines.source import warn_of_few
from mascot.errors import OptionError
from mascot.methods.method import Method
from mascot.photos import wish_text


@dataclass(frozen=True, slots=True)
class Question:
    """The query: a text, or a photograph that results should resemble."""

    text: str | None = None
    like: Path | None = None
    encoder: str | None = None  # None: the one that the table was made with
    device: str = "auto"


def search_source(
    uri: str,
    question: Question,
    read_wishes: Callable[[HitResolver], Sequence[mc.AnyWish]] = lambda _: [],
    k: int = 20,
    method: Method | None = None,
    *,
    candidates: int | None = None,
    where: str | None = None,
    already: Sequence[str] = (),
) -> Steered:
    """Search the table at an address; wishes are in words, about its columns, and ids of earlier pages as text."""
    candidates = CANDIDATES if candidates is None else candidates
    warn_of_few(candidates, k)
    with open_source(uri) as source:
        hits = source.search(vector_of(source, question), candidates=candidates + len(already), where=where)
    if not len(hits):
        return Steered(hits, None)
    earlier_ids = [id_ for id_ in hits.ids if str(id_) in set(already)]
    wishes = read_wishes(HitResolver(hits))
    return Steered(hits, mc.rerank(hits.candidates(), wishes, k, method, already=earlier_ids))


def vector_of(source: EngineSource, question: Question) -> NDArray[np.float32]:
    """Return the question as a vector of the table's encoder."""
    from mascot.photos.encoders import open_encoder

    text, like = question.text, question.like
    if (text is None) == (like is None):
        raise OptionError("a search needs a text or a photograph to be like, and not both")
    if text is not None and not text.strip():
        raise OptionError(f"the text to search for must not be empty, got {text!r}")
    facts = source.facts()
    name = question.encoder or facts.get("encoder")
    if name is None:
        raise OptionError("this source does not say which encoder its vectors came from: name it with --encoder")
    encoder = open_encoder(name, device=question.device)
    fingerprint = facts.get("fingerprint", encoder.fingerprint)
    if encoder.fingerprint != fingerprint:
        raise OptionError(
            f"this source was encoded with {facts.get('encoder')} (fingerprint {fingerprint}), and {encoder.name} has "
            f"{encoder.fingerprint}"
        )
    from mascot.photos.files.reading import query_vector

    return query_vector(encoder, text, like)


class HitResolver:
    """Resolve wishes about hits: about photographs if the table has their columns, otherwise about any table."""

    def __init__(self, hits: EngineHits) -> None:
        self._names = set(hits.columns)
        self._columns: Any = hits.candidates().columns

    def attribute(self, name: str, near: str | None, missing: Missing) -> mc.Attribute:
        return self._resolver(name).attribute(name, near, missing)

    def near(self, name: str, attribute: mc.Attribute, text: str) -> Any:
        return self._resolver(name).near(name, attribute, text)

    def counted(self, name: str) -> mc.Attribute:
        return self._resolver(name).counted(name)

    def label(self, name: str, attribute: mc.Attribute, text: str) -> str:
        return self._resolver(name).label(name, attribute, text)

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        if not {column, "lat", "lon"} <= self._names:
            return None
        country = "country" if "country" in self._names else column
        rows = zip(*(self._columns[name].tolist() for name in (column, country, "lat", "lon")), strict=True)
        return wish_text.middle(
            (where, lat, lon)
            for label, where, lat, lon in rows
            if not any(map(is_missing, (label, lat, lon))) and str(label).casefold() == value.casefold()
        )

    def labels(self, column: str) -> list[Any]:
        return list(dict.fromkeys(label for cell in self._columns[column].tolist() for label in labels_of(cell)))

    def _resolver(self, name: str) -> grammar.Resolver:
        """Return the resolver of a name: of photographs, if the table has the columns of that attribute."""
        if name in wish_text.NAMES and name != "look":
            columns = grammar.columns_of(mc.Wish(wish_text.attribute(name), 1))
            if self._names.issuperset(columns):
                return wish_text.PhotoResolver(self)
        return grammar.TableResolver(self._columns.cells)
