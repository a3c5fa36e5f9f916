"""Div400: photographs of landmarks that people judged for relevance and sorted into clusters (MediaEval 2013).

Each of the 57 topics is a landmark, with the photographs that Flickr returned for it, in Flickr's order. The folder
holds ``topics.json.gz`` (title, latitude, longitude, split), ``photos.jsonl.gz`` (topic, id, rank, title, tags, desc,
lat, lon, taken, user, rel, cluster) and ``descriptors.npz`` (id and the visual descriptors).

Relevance. Photographs have no score, only a rank, so one is made from text match and rank, the same for every topic
and every method::

    score = 1.0 * words(title, tags and description) + 0.5 * words(title) + 0.3 * (1 - (rank - 1) / photographs)

where words(text) is the share of the topic's own words that occur in the text. All scores are > 0.

Vectors. The five global descriptors are standardised (values that are not finite count as the mean; beyond four
standard deviations they are cut), each divided by the root of its length so that all weigh the same, and joined.

Reference: Ionescu et al., "Div400: a social image retrieval result diversification dataset", MMSys 2014.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Dataset, Floats, Split
from mascot.errors import InputError

_FILES = ("topics.json.gz", "photos.jsonl.gz", "descriptors.npz")
_DESCRIPTORS = ("CN", "CM", "CSD", "HOG", "LBP")  # colour names, moments, structure; gradients; binary patterns
_LARGEST = 4.0  # standard deviations
_WORD = re.compile(r"\w+")
_EMPTY = frozenset(("a", "an", "and", "at", "de", "del", "di", "el", "in", "la", "le", "of", "the"))
_ANYWHERE, _TITLE, _RANK = 1.0, 0.5, 0.3
_LEAST = 1e-3  # scores stay above 0, which the normalised MS-DPPs need


@dataclass(frozen=True, slots=True)
class Div400:
    """The dataset in a folder. Split ``validation`` is the task's devset (9 topics), ``test`` all 57 topics."""

    folder: Path

    def load(self) -> Dataset:
        for name in _FILES:
            if not (self.folder / name).is_file():
                raise InputError(f"{self.folder}: div400 needs the file {name}, got none")
        with gzip.open(self.folder / "topics.json.gz", "rt", encoding="utf-8") as stream:
            topics: list[dict[str, Any]] = json.load(stream)
        with gzip.open(self.folder / "photos.jsonl.gz", "rt", encoding="utf-8") as stream:
            photos: list[dict[str, Any]] = [json.loads(line) for line in stream]
        rows_by_topic: dict[str, list[int]] = {topic["title"]: [] for topic in topics}
        for row, photo in enumerate(photos):
            if photo["topic"] not in rows_by_topic:
                where = f"{self.folder}: photos.jsonl.gz"
                raise InputError(f"{where} topic must be in topics.json.gz, got {photo['topic']!r}")
            rows_by_topic[photo["topic"]].append(row)
        rows = list(rows_by_topic.values())
        scores = [_scores(title, [photos[row] for row in topic_rows]) for title, topic_rows in rows_by_topic.items()]
        relevant = [[row for row in topic_rows if photos[row]["rel"] == 1] for topic_rows in rows]
        dev = [number for number, topic in enumerate(topics) if topic["split"] == "devset"]
        images = np.arange(len(photos))
        return Dataset(
            name="div400",
            columns=_columns(photos),
            positives=relevant,
            splits={
                "validation": Split(images, np.array(dev)),
                "test": Split(images, np.arange(len(topics))),
                "unseen": Split(images, np.setdiff1d(np.arange(len(topics)), dev)),
            },
            vectors=self._vectors([photo["id"] for photo in photos]),
            lists=rows,
            scores=scores,
        )

    def _vectors(self, ids: Sequence[str]) -> Floats:
        with np.load(self.folder / "descriptors.npz") as stored:
            place = {name: row for row, name in enumerate(stored["id"].tolist())}
            missing = [name for name in ids if name not in place]
            if missing:
                where = f"{self.folder}: descriptors.npz"
                raise InputError(f"{where} must have every photograph, got none for {missing[0]}")
            blocks = [_standard(stored[name].astype(np.float64)) for name in _DESCRIPTORS]
        return np.concatenate(blocks, axis=1)[[place[name] for name in ids]]


def _standard(values: Floats) -> Floats:
    """Return a block with mean 0, standard deviation 1, outliers clipped, and the same weight as any other block."""
    finite = np.where(np.isfinite(values), values, np.nan)
    spread = np.nanstd(finite, axis=0)
    scaled = (finite - np.nanmean(finite, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.clip(np.nan_to_num(scaled), -_LARGEST, _LARGEST) / np.sqrt(values.shape[1])


def _columns(photos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = {name: [photo[name] for photo in photos] for name in ("lat", "lon", "taken", "user", "rank", "cluster")}
    columns["cluster"] = [-1 if cluster is None else cluster for cluster in columns["cluster"]]
    kinds: dict[str, Any] = {"lat": np.float64, "lon": np.float64, "taken": object, "user": object}
    return {name: np.array(values, kinds.get(name)) for name, values in columns.items()}


def _scores(topic: str, photos: Sequence[Mapping[str, Any]]) -> Floats:
    words = [word for word in _WORD.findall(topic.lower()) if word not in _EMPTY]

    def share(text: str) -> float:
        return sum(word in text for word in words) / max(1, len(words))

    scores = []
    for photo in photos:
        title = (photo["title"] or "").lower()
        anywhere = f"{title} {photo['tags'] or ''} {photo['desc'] or ''}".lower()
        early = 1.0 - (photo["rank"] - 1) / len(photos)
        scores.append(_ANYWHERE * share(anywhere) + _TITLE * share(title) + _RANK * early)
    return np.maximum(np.array(scores) / (_ANYWHERE + _TITLE + _RANK), _LEAST)
