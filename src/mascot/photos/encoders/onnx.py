"""CLIP on onnxruntime, without torch: a text and a vision model, in full precision or quantised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.encoders.clip import clip_fingerprint
from mascot.photos.encoders.encoder import Picture, Vectors, unit
from mascot.photos.encoders.folders import Form, Model, read_json
from mascot.photos.encoders.pixels import Pixels
from mascot.photos.encoders.runtime import open_session

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


class OnnxClip:
    """The usual export of a CLIP model. The text and the vision model are loaded when first used."""

    tokens = 1
    sees = True
    notice = None

    def __init__(self, model: Model, device: str = "auto") -> None:
        tokenizers = package("tokenizers", "photos", "clip from an ONNX export")
        folder, name = model.folder, model.name
        # A quantised model scales its numbers over the whole batch: only alone does a photograph always get one vector.
        self.batch = 1 if model.form is Form.QUANTIZED else 32
        settings = read_json(folder / "config.json")
        kind = settings.get("model_type")
        if kind != "clip":
            # Other kinds pad their texts differently; a wrong guess would give wrong vectors silently.
            raise InputError(f"clip: an ONNX export must be of a clip model, got {kind} in {name}")
        if not (folder / "tokenizer.json").is_file():
            raise InputError(f"clip: an ONNX export needs tokenizer.json in {folder}")
        self.name = f"clip:{name}"
        self._source, self._device = model, device
        self._pixels = Pixels.of(folder)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.get("text_config", {}).get("max_position_embeddings", 77))
        self.dim = int(self.texts(["photograph"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        return clip_fingerprint(self._source, self._pixels)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows [n, dim]."""
        # Texts of equal length are one batch, so that nothing is padded: not every export takes a mask.
        lengths: dict[int, list[int]] = defaultdict(list)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for index, ids in enumerate(tokens):
            lengths[len(ids)].append(index)
        rows: dict[int, NDArray[Any]] = {}
        for indices in lengths.values():
            for start in range(0, len(indices), self.batch):
                batch = indices[start : start + self.batch]
                ids = np.array([tokens[index] for index in batch], np.int64)
                inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                rows.update(zip(batch, _run(self._text_model, inputs, "text_embeds"), strict=True))
        if not rows:
            return np.empty((0, self.dim), np.float32)
        return unit(np.stack([rows[index] for index in range(len(texts))]))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return unit rows [n, 1, dim]."""
        rows = [np.empty((0, self.dim), np.float32)]
        for start in range(0, len(pictures), self.batch):
            pixels = self._pixels([picture.image for picture in pictures[start : start + self.batch]])
            rows.append(_run(self._vision_model, {"pixel_values": pixels}, "image_embeds"))
        return unit(np.concatenate(rows))[:, None, :]

    @cached_property
    def _text_model(self) -> Any:
        return open_session(self._source.weights[0], self._device)

    @cached_property
    def _vision_model(self) -> Any:
        return open_session(self._source.weights[1], self._device)


def _run(session: Any, inputs: dict[str, NDArray[Any]], output: str) -> NDArray[Any]:
    """Return the projected vectors. Exports differ in their inputs and in the types of these."""
    outputs = [value.name for value in session.get_outputs()]
    if output not in outputs:
        raise InputError(f"clip: the ONNX export must have the output {output}, got {', '.join(outputs)}")
    typed_inputs = {value.name: inputs[value.name].astype(_TYPES[value.type]) for value in session.get_inputs()}
    vectors: NDArray[Any] = session.run([output], typed_inputs)[0]
    return vectors
