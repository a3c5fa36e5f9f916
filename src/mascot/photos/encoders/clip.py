"""`clip`: CLIP from the model hub or from a folder, as an ONNX export."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.extras import installed, package
from mascot.photos.encoders.encoder import Picture, Vectors, encode_batches, fingerprint_of, open_session
from mascot.photos.encoders.hub import Model, cached_model, cached_models, find_model, read_json
from mascot.photos.encoders.pixels import Pixels

DEFAULT = "Xenova/clip-vit-base-patch32"  # openai/clip-vit-base-patch32 as a quantised export
_SETTINGS = ("config.json", "*processor_config.json", "tokenizer.json")
_FULL = ("onnx/text_model.onnx", "onnx/vision_model.onnx")
_QUANTIZED = ("onnx/text_model_quantized.onnx", "onnx/vision_model_quantized.onnx")
FORMS = ((*_SETTINGS, *_QUANTIZED), (*_SETTINGS, *_FULL))
_NOT_OF_THE_MODEL = {"transformers_version", "_name_or_path", "torch_dtype", "dtype"}  # in config.json
_TYPES = {f"tensor({name})": name for name in ("float16", "int32", "int64")} | {"tensor(float)": "float32"}


def open_clip(model: str | None = None, *, device: str = "auto", offline: bool = False) -> OnnxClip:
    """Open a CLIP model; it is downloaded if it is not on this machine."""
    return OnnxClip(find_model("clip", model or DEFAULT, FORMS, offline=offline), device)


def can_run() -> bool:
    """Return whether the packages that run and download a CLIP are installed."""
    return installed("onnxruntime", "tokenizers", "huggingface_hub")


def local_clip() -> str | None:
    """Return `clip:NAME` of a CLIP in the hub's cache that is complete; None if there is none."""
    for name in dict.fromkeys((DEFAULT, *cached_models())):
        model = cached_model(name, FORMS)
        with suppress(InputError):
            architectures = read_json(model.folder / "config.json").get("architectures") if model else None
            if isinstance(architectures, list) and "CLIPModel" in architectures:
                return f"clip:{name}"
    return None


class ImageTextModel:
    """A model with a text and an image tower. A subclass encodes a batch of texts and an array of pixels."""

    tokens = 1
    sees = True
    notice = None
    batch = 32  # photographs, or texts, per call of the model
    dim: int
    _weights: Sequence[Path]  # the files with the weights

    def __init__(self, owner: str, model: Model) -> None:
        self._owner, self.name = owner, f"{owner}:{model.name}"
        self._settings = read_json(model.folder / "config.json")
        self._kind = str(self._settings.get("model_type"))
        self._pixels = Pixels.of(model.folder)

    @cached_property
    def fingerprint(self) -> str:
        settings = {key: value for key, value in sorted(self._settings.items()) if key not in _NOT_OF_THE_MODEL}
        return fingerprint_of(self._weights, (self._owner, settings, self._pixels))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:

        def encode(batch: Sequence[Picture]) -> Vectors:
            rows = self._image_rows(self._pixels([picture.image for picture in batch]))
            return rows.reshape(len(batch), self.tokens, self.dim)

        return encode_batches(pictures, self.batch, encode, (self.tokens, self.dim))

    def _image_rows(self, pixels: Vectors) -> Vectors:
        raise NotImplementedError


class OnnxClip(ImageTextModel):
    """The usual ONNX export of a CLIP model. Text and vision model are loaded when first used."""

    def __init__(self, model: Model, device: str = "auto") -> None:
        tokenizers = package("tokenizers", "photos", "clip from an ONNX export")
        super().__init__("clip", model)
        full, quantized = ([model.folder / name for name in names] for names in (_FULL, _QUANTIZED))
        is_full = all(file.is_file() for file in full)
        self._weights = full if is_full else quantized
        # A quantised model scales its numbers over the batch, so vectors are reproducible only in batches of one.
        self.batch = 32 if is_full else 1
        if self._kind != "clip":
            # Other kinds pad their texts differently; a wrong guess would give wrong vectors silently.
            raise InputError(f"clip: an ONNX export must be of a clip model, got {self._kind} in {model.name}")
        self._device = device
        self._tokenizer = tokenizers.Tokenizer.from_file(str(model.folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._settings.get("text_config", {}).get("max_position_embeddings", 77))
        self.dim = int(self._text_rows([self._tokenizer.encode("photograph").ids]).shape[1])

    def texts(self, texts: Sequence[str]) -> Vectors:
        # Texts of equal length are one batch, so that nothing is padded: not every export takes a mask.
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        lengths = np.array([len(ids) for ids in tokens])
        rows = np.empty((len(texts), self.dim), np.float32)
        for length in set(lengths.tolist()):
            indices = np.flatnonzero(lengths == length)
            same_length = [tokens[index] for index in indices]
            rows[indices] = encode_batches(same_length, self.batch, self._text_rows, (self.dim,))
        return rows

    def _text_rows(self, tokens: Sequence[list[int]]) -> Vectors:
        ids = np.array(tokens, np.int64)
        return _run(self._text_model, {"input_ids": ids, "attention_mask": np.ones_like(ids)}, "text_embeds")

    def _image_rows(self, pixels: Vectors) -> Vectors:
        return _run(self._vision_model, {"pixel_values": pixels}, "image_embeds")

    @cached_property
    def _text_model(self) -> Any:
        return open_session(self._weights[0], self._device)

    @cached_property
    def _vision_model(self) -> Any:
        return open_session(self._weights[1], self._device)


def _run(session: Any, inputs: dict[str, NDArray[Any]], output: str) -> NDArray[Any]:
    """Return the projected vectors. Exports differ in their inputs and in the types of these."""
    outputs = [value.name for value in session.get_outputs()]
    if output not in outputs:
        raise InputError(f"clip: the ONNX export must have the output {output}, got {', '.join(outputs)}")
    typed_inputs = {value.name: inputs[value.name].astype(_TYPES[value.type]) for value in session.get_inputs()}
    vectors: NDArray[Any] = session.run([output], typed_inputs)[0]
    return vectors
