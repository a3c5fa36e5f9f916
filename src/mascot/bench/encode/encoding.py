"""Encode a prepared folder with a model, batch by batch; an interrupted run continues."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from mascot.bench.datasets.folder import ENCODED, Stored, content, open_picture, read_folder, slug
from mascot.bench.encode.scoring import Report, Vectors
from mascot.bench.encode.torch_models import open_model
from mascot.bench.encode.vector_files import EncodedModel, append, read_encoding, resume, write_lists
from mascot.bench.files import alone
from mascot.errors import OptionError, require
from mascot.photos.encoders import Picture

_TEXT_BATCH = 100  # texts that the published study padded to one length
_THREADS = 8  # that decode pictures, at most


def encode(
    folder: Path,
    model: str = "blip2",
    *,
    behaviour: str = "published",
    device: str = "auto",
    batch: int | None = None,
    candidates: int = 200,
    offline: bool = False,
    report: Report = lambda *_: None,
) -> Path:
    """Encode a prepared folder's images and queries, list the best images of each query, and return their folder.

    A killed run loses at most a batch; the next run continues, and with the same batch size the files are the same to
    the last byte. Vectors of other data or of another kind of device are never mixed: the folder is begun again. Where
    all vectors of a model of that name are there, no model is loaded, and other `candidates` only make new lists.

    Parameters
    ----------
    model
        ``"blip2"`` or ``"clip"``, the published ones; ``"blip2:MODEL"`` or ``"clip:MODEL"``, where MODEL is a folder or
        a name on the model hub.
    behaviour
        ``"published"``: BLIP-2 reads the texts of a split in batches of 100, padded and without an attention mask, as
        the published study did; ``"correct"``: the padding is masked.
    batch, candidates
        Images, and masked texts, at once (default: what suits the model); images in each query's list.
    report
        Called with ``"images"``, ``"texts"`` or ``"lists"``, a count, and the total.
    """
    require(behaviour in ("published", "correct"), "encode.behaviour", "must be published or correct", behaviour)
    require(batch is None or batch >= 1, "encode.batch", "must be >= 1", batch)
    require(candidates >= 1, "encode.candidates", "must be >= 1", candidates)
    stored = read_folder(folder)
    name = _full_name(model)
    masked = behaviour == "correct" or not name.startswith("blip2")
    where = folder / ENCODED / slug(name)
    with alone(where.with_name(f".{where.name}.lock"), f"{where} is being made by another process"):
        encoding = read_encoding(where)
        goal = {"model": name, "data": content(stored), "masked": masked}
        goal |= {"images_done": stored.images, "texts_done": len(stored.queries)}
        if encoding is None or any(getattr(encoding, key) != value for key, value in goal.items()):
            kind = name.partition(":")[0]
            if kind not in ("blip2", "clip"):
                raise OptionError(f"encode.model must be blip2, clip, blip2:MODEL or clip:MODEL, got {name!r}")
            with _enough_memory(f"encode.model must fit into the GPU's memory, got {name}: try device cpu"):
                encoder: Any = open_model(name, device=device, offline=offline)
            encoder.batch = batch or encoder.batch
            counts = (stored.images, len(stored.queries), encoder.tokens, encoder.dim)
            runs_on = encoder.device.partition(":")[0]
            fresh = EncodedModel(name, encoder.fingerprint, runs_on, content(stored), *counts, masked=masked)
            encoding = resume(where, fresh)
            paths = [folder / file for file in stored.columns["file"][encoding.images_done :]]
            with _enough_memory(f"encode.batch must fit into the GPU's memory, got {encoder.batch}: try a smaller one"):
                batches = map(encoder.pictures, picture_batches(paths, encoder.batch))
                encoding = append(where, encoding, "images", batches, report)
                vectors = _text_vectors(encoder, stored, encoding.texts_done, masked)
                encoding = append(where, encoding, "texts", vectors, report)
        write_lists(where, stored, encoding, candidates, report)
    return where


def _text_vectors(encoder: Any, stored: Stored, done: int, masked: bool) -> Iterator[Vectors]:
    """Yield batches of vectors of the queries that are not done; as published, no batch has queries of two splits."""
    step, options = (encoder.batch, {}) if masked else (_TEXT_BATCH, {"masked": False})  # which BLIP-2 alone has
    for _, queries in groupby(stored.queries[done:], lambda query: masked or min(query.positives) < stored.validation):
        texts = [query.text for query in queries]
        for start in range(0, len(texts), step):
            yield encoder.texts(texts[start : start + step], **options)


@contextmanager
def _enough_memory(remedy: str) -> Iterator[None]:
    """Say what does not fit into a GPU's memory. What was encoded before stays."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise OptionError(remedy) from None


def _full_name(model: str) -> str:
    kind, _, where = (part.strip() for part in model.partition(":"))
    folder = Path(where).expanduser()
    return f"{kind}:{folder.resolve()}" if where and folder.is_dir() else model.strip()


def picture_batches(paths: Sequence[Path], batch: int) -> Iterator[list[Picture]]:
    """Yield batches in the order of the paths. While one is used, the next is decoded, and no more than that."""
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "pictures") as pool:
        ahead = pool.map(_picture, paths[:batch])
        for start in range(batch, len(paths) + batch, batch):
            pictures, ahead = ahead, pool.map(_picture, paths[start : start + batch])
            yield list(pictures)


def _picture(path: Path) -> Picture:
    """Return an upright RGB picture in full size without its colour profile: the model scales it in its own way."""
    return Picture(open_picture(path, srgb=False))
