"""CLIP on onnxruntime: a folder with onnx/text_model.onnx and onnx/vision_model.onnx, and no torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.encoders.clip import clip_fingerprint
from mascot.photos.encoders.encoder import Picture, Vectors, unit
from mascot.photos.encoders.folders import onnx_files, read_json
from mascot.photos.encoders.pixels import Pixels

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}


class OnnxClip:
    """The usual export of a CLIP model. The text and the vision model are loaded when first used."""

    tokens = 1
    notice = None
    batch = 32  # photographs, or texts, that go through the model at once

    def __init__(self, folder: Path, name: str, device: str = "auto") -> None:
        self._runtime = package("onnxruntime", "onnx", "clip from an ONNX export")
        tokenizers = package("tokenizers", "onnx", "clip from an ONNX export")
        settings = read_json(folder / "config.json")
        kind = settings.get("model_type")
        if kind != "clip":
            # Others pad their texts in ways of their own; a wrong guess would give wrong vectors without a word.
            raise InputError(
                f"clip: an ONNX export must be of a clip model, got {settings.get('model_type')} in {name}"
            )
        if not (folder / "tokenizer.json").is_file():
            raise InputError(f"clip: an ONNX export needs tokenizer.json in {folder}")
        self.name = f"clip:{name}"
        self._folder, self._device = folder, device
        self._pixels = Pixels.of(folder)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.get("text_config", {}).get("max_position_embeddings", 77))
        self.dim = int(self.texts(["photograph"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        return clip_fingerprint(self._folder, self._pixels)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Unit rows [n, dim]."""
        # Texts of one length go together, so that nothing is padded: not every export takes a mask.
        lengths: dict[int, list[int]] = defaultdict(list)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for index, ids in enumerate(tokens):
            lengths[len(ids)].append(index)
        rows: dict[int, NDArray[Any]] = {}
        for indices in lengths.values():
            for start in range(0, len(indices), self.batch):
                batch = indices[start : start + self.batch]
                ids = np.array([tokens[index] for index in batch], np.int64)
                given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                rows.update(zip(batch, _run(self._text_model, given, "text_embeds"), strict=True))
        if not rows:
            return np.empty((0, self.dim), np.float32)
        return unit(np.stack([rows[index] for index in range(len(texts))]))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Unit rows [n, 1, dim]."""
        rows = [np.empty((0, self.dim), np.float32)]
        for start in range(0, len(pictures), self.batch):
            pixels = self._pixels([picture.image for picture in pictures[start : start + self.batch]])
            rows.append(_run(self._vision_model, {"pixel_values": pixels}, "image_embeds"))
        return unit(np.concatenate(rows))[:, None, :]

    @cached_property
    def _text_model(self) -> Any:
        return self._session(0)

    @cached_property
    def _vision_model(self) -> Any:
        return self._session(1)

    def _session(self, which: int) -> Any:
        options = self._runtime.SessionOptions()
        options.log_severity_level = 3  # errors only
        there = self._runtime.get_available_providers()
        gpu = self._device != "cpu" and "CUDAExecutionProvider" in there
        if self._device.startswith("cuda") and not gpu:
            raise InputError("clip: device cuda needs the package onnxruntime-gpu for an ONNX export, or torch weights")
        providers = ["CUDAExecutionProvider", "CPUExecutionProvider"] if gpu else ["CPUExecutionProvider"]
        return self._runtime.InferenceSession(str(onnx_files(self._folder)[which]), options, providers=providers)


def _run(session: Any, given: dict[str, NDArray[Any]], output: str) -> NDArray[Any]:
    """The projected vectors. Exports differ in the inputs they take and in the types of these."""
    outputs = [one.name for one in session.get_outputs()]
    if output not in outputs:
        raise InputError(f"clip: the ONNX export must have the output {output}, got {', '.join(outputs)}")
    inputs = {one.name: given[one.name].astype(_TYPES[one.type]) for one in session.get_inputs()}
    found: NDArray[Any] = session.run([output], inputs)[0]
    return found
