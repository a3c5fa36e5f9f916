"""A prepared folder through a model, batch by batch; an interrupted run continues."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mascot.bench.alone import alone
from mascot.bench.datasets.folder import ENCODED, Stored, content, read_folder, slug
from mascot.bench.encode.vectors import EncodedModel, Report, append, begin, read_encoding, save_encoding, write_lists
from mascot.errors import InputError, OptionError, require

if TYPE_CHECKING:
    from mascot.photos.encoders import Picture
    from mascot.photos.encoders.blip2 import Blip2
    from mascot.photos.encoders.clip import Clip
    from mascot.photos.encoders.onnx import OnnxClip

    Model: TypeAlias = Blip2 | Clip | OnnxClip

# The two models of the published results.
_PUBLISHED = {"blip2": "blip2:Salesforce/blip2-itm-vit-g-coco", "clip": "clip:openai/clip-vit-large-patch14"}
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
    report: Report | None = None,
) -> Path:
    """Encode a prepared folder's images and queries, list the best images of each query, and return their folder.

    A killed run loses at most a batch; the next run continues, and with the same batch size the files are the same to
    the last byte. Vectors of other data or of another kind of device are never mixed: the folder is begun again. Where
    all vectors of a model of that name are there, no model is loaded, and other `candidates` only make new lists.

    Parameters
    ----------
    model
        ``"blip2"`` (Salesforce/blip2-itm-vit-g-coco), ``"clip"`` (openai/clip-vit-large-patch14), ``"blip2:MODEL"`` or
        ``"clip:MODEL"``, where MODEL is a folder or a name on the model hub.
    behaviour
        ``"published"``: BLIP-2 reads texts in batches of 100, padded and without an attention mask, as the published
        study did; ``"correct"``: the padding is masked.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``. On a GPU the models run in float16.
    batch
        Images, and masked texts, that go through the model at once, >= 1 (default: what suits the model).
    candidates
        Images in each query's list, >= 1.
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
        complete = encoding is not None and encoding.whole and encoding.masked == masked
        if encoding is None or not complete or (encoding.model, encoding.data) != (name, content(stored)):
            with _enough_memory(f"encode.model must fit into the GPU's memory, got {name}: try device cpu"):
                encoder = _open(name, device, offline)
            encoder.batch = batch or encoder.batch
            encoding = _begun(where, stored, name, encoder, device, masked)
            with _enough_memory(f"encode.batch must fit into the GPU's memory, got {encoder.batch}: try a smaller one"):
                encoding = _encode_images(folder, where, stored, encoding, encoder, report)
                encoding = _encode_texts(where, stored, encoding, encoder, report)
        write_lists(where, stored, encoding, candidates, report)
    return where


def _encode_images(
    folder: Path, where: Path, stored: Stored, encoding: EncodedModel, encoder: Model, report: Report | None
) -> EncodedModel:
    paths = [folder / file for file in stored.columns["file"][encoding.images_done :]]
    for pictures in picture_batches(paths, encoder.batch):
        encoding = append(where, encoding, "images", encoder.pictures(pictures))
        if report is not None:
            report("images", encoding.images_done, encoding.images)
    return encoding


def _encode_texts(
    where: Path, stored: Stored, encoding: EncodedModel, encoder: Model, report: Report | None
) -> EncodedModel:
    step = encoder.batch if encoding.masked else _TEXT_BATCH
    while encoding.texts_done < encoding.queries:
        texts = [query.text for query in stored.queries[encoding.texts_done : encoding.texts_done + step]]
        vectors = encoder.texts(texts) if encoding.masked else encoder.texts(texts, masked=False)  # type: ignore[call-arg]
        encoding = append(where, encoding, "texts", vectors)
        if report is not None:
            report("texts", encoding.texts_done, encoding.queries)
    return encoding


@contextmanager
def _enough_memory(remedy: str) -> Iterator[None]:
    """Say what does not fit into a GPU's memory. What was encoded before stays."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, which an ONNX export does without
            raise
        raise OptionError(remedy) from None


def _full_name(model: str) -> str:
    """Return a model's name, with the full path of a folder."""
    kind, _, where = (part.strip() for part in model.partition(":"))
    folder = Path(where).expanduser()
    return f"{kind}:{folder.resolve()}" if where and folder.is_dir() else model.strip()


def _open(name: str, device: str, offline: bool) -> Model:
    kind = name.partition(":")[0]
    if kind not in _PUBLISHED:
        why = ": lite describes files by their words, and there is nothing to compare" if kind == "lite" else ""
        raise OptionError(f"encode.model must be blip2, clip, blip2:MODEL or clip:MODEL, got {name!r}{why}")
    from mascot.photos.encoders import open_encoder
    from mascot.photos.encoders.blip2 import Blip2
    from mascot.photos.encoders.clip import Clip
    from mascot.photos.encoders.onnx import OnnxClip

    encoder = open_encoder(_PUBLISHED.get(name, name), device=device, offline=offline)
    assert isinstance(encoder, (Blip2, Clip, OnnxClip))
    return encoder


def _begun(where: Path, stored: Stored, name: str, encoder: Model, device: str, masked: bool) -> EncodedModel:
    """Return where the work stands: as it was left, or at the beginning."""
    from mascot.photos.encoders.devices import pick_device
    from mascot.photos.encoders.onnx import OnnxClip

    kind = "onnx" if isinstance(encoder, OnnxClip) else pick_device(device).partition(":")[0]
    counts = (stored.images, len(stored.queries), encoder.tokens, encoder.dim)
    fresh = EncodedModel(name, encoder.fingerprint, kind, content(stored), *counts, masked=masked)
    encoding = read_encoding(where)
    if encoding and encoding.images_done and encoding.model != name and encoding.fingerprint != fresh.fingerprint:
        raise InputError(
            f"{where} holds the vectors of {encoding.model}, and {name} would have the same name there: "
            "remove it, or give this model's folder another name"
        )
    if encoding is None or not encoding.continues(fresh):
        return begin(where, fresh)
    if encoding.masked != masked:
        encoding = replace(encoding, masked=masked, texts_done=0, complete=False)
    return save_encoding(where, replace(encoding, model=name))


def picture_batches(paths: Sequence[Path], batch: int) -> Iterator[list[Picture]]:
    """Yield batches in the order of the paths. While one is used, the next is decoded, and no more than that."""
    left = iter(paths)
    waiting: deque[Future[Picture]] = deque()
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "pictures") as pool:
        try:
            while True:
                waiting.extend(pool.submit(_picture, path) for path in islice(left, 2 * batch - len(waiting)))
                if not waiting:
                    return
                yield [waiting.popleft().result() for _ in range(min(batch, len(waiting)))]
        finally:
            for future in waiting:
                future.cancel()


def _picture(path: Path) -> Picture:
    """Return an upright RGB picture in full size without its colour profile: the model scales it in its own way."""
    from mascot.photos.encoders import Picture
    from mascot.photos.images import Unreadable, open_image, upright

    try:
        with open_image(path) as image:
            return Picture(upright(image, max(image.size), srgb=False))
    except Unreadable as error:
        raise InputError(
            f"{path} gives no picture ({error}); make the folder again with: mascot bench prepare"
        ) from None
