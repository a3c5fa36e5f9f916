"""A text or a photograph to steered results of an engine, as `mascot search --source` asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot import words
from mascot.attributes.category import labels_of
from mascot.attributes.columns import is_missing
from mascot.connect.nested import unfolded
from mascot.connect.source import CANDIDATES, Found, Source, Steered, open_source, warn_of_few
from mascot.errors import InputError, OptionError
from mascot.methods.base import Method
from mascot.photos import steering


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for: a text, or a photograph that results are to be like."""

    text: str | None = None
    like: Path | None = None
    encoder: str | None = None  # the one the table was made with unless given
    device: str = "auto"


def search_source(
    uri: str,
    question: Question,
    spread: Sequence[str] = (),
    focus: Sequence[str] = (),
    k: int = 20,
    method: Method | None = None,
    *,
    candidates: int = CANDIDATES,
    where: str | None = None,
    missing: str = "last",
) -> Steered:
    """Search the table at an address; wishes are in words, about its columns."""
    warn_of_few(candidates, k)
    with open_source(uri) as source:
        found = source.search(vector_of(source, question), candidates=candidates, where=where)
    if not len(found):
        return Steered(found, None)
    wishes = [_wish(text, 1, found, missing) for text in spread] + [_wish(text, -1, found, missing) for text in focus]
    return Steered(found, mc.rerank(found.candidates(), wishes, k, method))


def vector_of(source: Source, question: Question) -> NDArray[np.float32]:
    """The question as the encoder of the table sees it."""
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
    known = facts.get("fingerprint", encoder.fingerprint)
    if encoder.fingerprint != known:
        raise OptionError(
            f"this source was encoded with {facts.get('encoder')} (fingerprint {known}), and {encoder.name} has "
            f"{encoder.fingerprint}"
        )
    if text is not None:
        return encoder.texts([text])[0]
    from mascot.photos.reading import picture_of_file

    mean = encoder.pictures([picture_of_file(Path(like or ""))])[0].mean(axis=0)
    return mean / max(float(np.linalg.norm(mean)), 1e-12)


class _Rows:
    """The rows found, as wishes look values up in them."""

    def __init__(self, found: Found) -> None:
        self._columns = found.candidates().columns

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        if not {column, "lat", "lon"} <= set(self._columns):
            return None
        country = "country" if "country" in self._columns else column
        rows = zip(*(self._columns[name].tolist() for name in (column, country, "lat", "lon")), strict=True)
        return steering.middle(
            (where, lat, lon)
            for label, where, lat, lon in rows
            if not any(map(is_missing, (label, lat, lon))) and str(label).casefold() == value.casefold()
        )

    def labels(self, column: str) -> list[Any]:
        return list(dict.fromkeys(label for cell in self._columns[column].tolist() for label in labels_of(cell)))


def _wish(text: str, sign: int, found: Found, missing: str) -> mc.Wish:
    """A wish about photographs where the table has their columns; else one about any columns, as of `mascot rerank`."""
    name = words.split(text)[0]
    if name != "look" and name in steering.NAMES:
        needed = words.columns_of(mc.Wish(steering.attribute(name, missing), sign))
        if set(needed) <= set(found.columns):
            return steering.wish(text, sign, _Rows(found), missing)
    made: Any = words.spread(text, missing) if sign > 0 else words.focus(text, missing)  # type: ignore[arg-type]
    known = unfolded(found.columns)
    for column in words.columns_of(made):
        if column not in known:
            raise InputError(f"{text!r}: the source has no column {column!r}; its columns: {', '.join(known)}")
        made = words.anchored(made, known[column])
    return made
