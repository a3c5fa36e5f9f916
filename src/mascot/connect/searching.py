"""Search an engine with a text or a photograph, and steer the results: `mascot search --source`."""

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
from mascot.connect.engine import EngineSource
from mascot.connect.responses import NamedColumns
from mascot.connect.source import CANDIDATES, Found, Steered, open_source, warn_of_few
from mascot.errors import OptionError
from mascot.methods.base import Method
from mascot.photos import steering


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
    spread: Sequence[str] = (),
    focus: Sequence[str] = (),
    k: int = 20,
    method: Method | None = None,
    *,
    candidates: int = CANDIDATES,
    where: str | None = None,
    missing: str = "last",
    limit: Sequence[str] = (),
    share: Sequence[str] = (),
    fill: bool = False,
    already: Sequence[str] = (),
) -> Steered:
    """Search the table at an address; wishes are in words, about its columns, and ids of earlier pages as text."""
    warn_of_few(candidates, k)
    with open_source(uri) as source:
        hits = source.search(vector_of(source, question), candidates=candidates + len(already), where=where)
    if not len(hits):
        return Steered(hits, None)
    wishes: list[mc.AnyWish] = [_wish(text, 1, hits, missing) for text in spread]
    wishes += [_wish(text, -1, hits, missing) for text in focus]
    wishes += [_limit(text, fill, hits) for text in limit]
    wishes += [_share(text, hits) for text in share]
    earlier_ids = [id_ for id_ in hits.ids if str(id_) in set(already)]
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
    if text is not None:
        return encoder.texts([text])[0]
    from mascot.photos.reading import picture_of_file

    mean = encoder.pictures([picture_of_file(Path(like or ""))])[0].mean(axis=0)
    return mean / max(float(np.linalg.norm(mean)), 1e-12)


class _Rows:
    """The hits, in which wishes look up values."""

    def __init__(self, hits: Found) -> None:
        self._columns = hits.candidates().columns

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


def _wish(text: str, sign: int, hits: Found, missing: str) -> mc.Wish:
    """Return a wish about photographs where the table has their columns; else one about any, as of `mascot rerank`."""
    if _is_of_photos(words.split(text)[0], hits):
        return steering.wish(*words.split(text), sign, _Rows(hits), missing)
    wish = words.spread(text, missing) if sign > 0 else words.focus(text, missing)  # type: ignore[arg-type]
    columns = NamedColumns(len(hits), hits.columns, hits.columns.__getitem__)
    for column in words.columns_of(wish):
        cells = columns.cells(column)
        if column in hits.columns or any(cell is not None for cell in cells):  # else it is all missing
            anchored = words.anchored(wish, cells)
            assert isinstance(anchored, mc.Wish)
            wish = anchored
    return wish


def _limit(text: str, fill: bool, hits: Found) -> mc.Limit:
    if _is_of_photos(words.split_limit(text)[0], hits):
        return steering.limit(*words.split_limit(text), fill)
    return words.limit(text, fill)


def _share(text: str, hits: Found) -> mc.Share:
    if _is_of_photos(words.split_share(text)[0], hits):
        return steering.share(*words.split_share(text), _Rows(hits))
    return words.share(text)


def _is_of_photos(name: str, hits: Found) -> bool:
    """Return whether the table has the columns of an attribute of photographs."""
    if name == "look" or name not in steering.NAMES:
        return False
    return set(words.columns_of(mc.Wish(steering.attribute(name), 1))) <= set(hits.columns)
