"""A prepared folder through a model, batch by batch; a run that was ended goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mascot.bench.alone import alone
from mascot.bench.datasets.folder import ENCODED, Stored, content, read_folder, slug
from mascot.bench.encode.lists import Report, write_lists
from mascot.bench.encode.pictures import picture_batches
from mascot.bench.encode.progress import Made, add_images, add_texts, begin, read_made, save_made
from mascot.errors import InputError, OptionError, require

if TYPE_CHECKING:
    from mascot.photos.encoders.blip2 import Blip2
    from mascot.photos.encoders.clip import Clip
    from mascot.photos.encoders.onnx import OnnxClip

    Model: TypeAlias = Blip2 | Clip | OnnxClip

# The two backbones that the published results were made with.
_PUBLISHED = {"blip2": "blip2:Salesforce/blip2-itm-vit-g-coco", "clip": "clip:openai/clip-vit-large-patch14"}


def encode(
    folder: Path,
    model: str = "blip2",
    *,
    device: str = "auto",
    batch: int | None = None,
    candidates: int = 200,
    offline: bool = False,
    report: Report | None = None,
) -> Path:
    """Encode a prepared folder's images and queries, and list the best images of each query.

    A run that was killed loses at most a batch; the next one goes on behind it, and with the same batch the files
    come out the same to the last byte. Vectors of other images or queries, or made on another kind of device, are never
    mixed: the model's folder is then begun again. One that holds another model's is refused.

    Where all vectors of the model, by its name, are there for these images and queries, no model is opened; other
    `candidates` then make new lists alone. (Weights that changed under the same name are not noticed: remove the
    model's folder to encode again.)

    Parameters
    ----------
    folder
        As `mascot bench prepare` made it.
    model
        ``"blip2"`` (Salesforce/blip2-itm-vit-g-coco), ``"clip"`` (openai/clip-vit-large-patch14), ``"blip2:MODEL"`` or
        ``"clip:MODEL"``, where MODEL is a folder or a name on the model hub.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``. On a GPU the towers run in float16.
    batch
        Images, and texts, that go through the model at once, >= 1; without it what suits the model.
    candidates
        Images in each query's list, >= 1.
    offline
        Never ask the model hub.
    report
        Called with ``"images"``, ``"texts"`` or ``"lists"``, how many are done, and how many there are.

    Returns
    -------
    Path
        The folder of the model's vectors.
    """
    require(batch is None or batch >= 1, "encode.batch", "must be >= 1", batch)
    require(candidates >= 1, "encode.candidates", "must be >= 1", candidates)
    stored = read_folder(folder)
    name = _full_name(model)
    where = folder / ENCODED / slug(name)
    with alone(where.with_name(f".{where.name}.lock"), f"{where} is being made by another process"):
        made = read_made(where)
        if made is None or not made.whole or (made.model, made.data) != (name, content(stored)):
            with _enough_memory(f"encode.model must fit into the GPU's memory, got {name}: try device cpu"):
                encoder = _open(name, device, offline)
            encoder.batch = batch or encoder.batch
            made = _begun(where, stored, name, encoder, device)
            with _enough_memory(f"encode.batch must fit into the GPU's memory, got {encoder.batch}: try a smaller one"):
                made = _encode_images(folder, where, stored, made, encoder, report)
                made = _encode_texts(where, stored, made, encoder, report)
        write_lists(where, stored, made, candidates, device, report)
    return where


@contextmanager
def _enough_memory(otherwise: str) -> Iterator[None]:
    """Says what does not fit into a GPU's memory. What was encoded before it is kept."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, which an ONNX export does without
            raise
        raise OptionError(otherwise) from None


def _full_name(model: str) -> str:
    """A folder by its full path: a relative one is another one elsewhere."""
    kind, _, where = (part.strip() for part in model.partition(":"))
    folder = Path(where).expanduser()
    return f"{kind}:{folder.resolve()}" if where and folder.is_dir() else model.strip()


def _open(name: str, device: str, offline: bool) -> Model:
    kind = name.partition(":")[0]
    if kind == "lite":
        raise OptionError(
            "encode.model must look at pictures: lite describes files by their words, and there is nothing to compare; "
            "take blip2, clip, blip2:MODEL or clip:MODEL"
        )
    if kind not in _PUBLISHED:
        raise OptionError(f"encode.model must be blip2, clip, blip2:MODEL or clip:MODEL, got {name!r}")
    from mascot.photos.encoders import open_encoder
    from mascot.photos.encoders.blip2 import Blip2
    from mascot.photos.encoders.clip import Clip
    from mascot.photos.encoders.onnx import OnnxClip

    encoder = open_encoder(_PUBLISHED.get(name, name), device=device, offline=offline)
    assert isinstance(encoder, (Blip2, Clip, OnnxClip))
    return encoder


def _begun(where: Path, stored: Stored, name: str, encoder: Model, device: str) -> Made:
    """Where the work stands: as it was left, or at the beginning."""
    fresh = Made(
        model=name,
        fingerprint=encoder.fingerprint,
        device=_kind_of_device(encoder, device),
        data=content(stored),
        images=stored.images,
        queries=len(stored.queries),
        tokens=encoder.tokens,
        dim=encoder.dim,
    )
    made = read_made(where)
    if made is not None and made.images_done and made.model != name and made.fingerprint != fresh.fingerprint:
        raise InputError(
            f"{where} holds what {made.model} made, and {name} would go by the same name there: "
            "remove it, or give this model's folder another name"
        )
    if made is None or not made.continues(fresh):
        return begin(where, fresh)
    return made if made.model == name else save_made(where, replace(made, model=name))


def _kind_of_device(encoder: Model, device: str) -> str:
    from mascot.photos.encoders.devices import pick_device
    from mascot.photos.encoders.onnx import OnnxClip

    return "onnx" if isinstance(encoder, OnnxClip) else pick_device(device).partition(":")[0]


def _encode_images(
    folder: Path,
    where: Path,
    stored: Stored,
    made: Made,
    encoder: Model,
    report: Report | None,
) -> Made:
    paths = [folder / file for file in stored.columns["file"][made.images_done :]]
    for pictures in picture_batches(paths, encoder.batch):
        made = add_images(where, made, encoder.pictures(pictures))
        if report is not None:
            report("images", made.images_done, made.images)
    return made


def _encode_texts(where: Path, stored: Stored, made: Made, encoder: Model, report: Report | None) -> Made:
    while made.texts_done < made.queries:
        some = stored.queries[made.texts_done : made.texts_done + encoder.batch]
        made = add_texts(where, made, encoder.texts([query.text for query in some]))
        if report is not None:
            report("texts", made.texts_done, made.queries)
    return made
