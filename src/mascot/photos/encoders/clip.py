"""`clip`: CLIP and its relatives, from the model hub or from a folder, on torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mascot.errors import InputError
from mascot.extras import installed, package
from mascot.photos.encoders.devices import pick_device
from mascot.photos.encoders.encoder import Encoder, Picture, Vectors, unit
from mascot.photos.encoders.fingerprints import fingerprint_of
from mascot.photos.encoders.folders import (
    Form,
    Model,
    Report,
    find_model,
    local_model,
    model_settings,
    quiet,
    read_json,
    weight_files,
)
from mascot.photos.encoders.pixels import Pixels

DEFAULT = "openai/clip-vit-base-patch32"
SMALL = "Xenova/clip-vit-base-patch32"  # the same model as a quantised ONNX export
_SIGLIP = "siglip"
_KINDS = ("clip", "metaclip_2", _SIGLIP)


def open_clip(
    model: str | None = None, *, device: str = "auto", offline: bool = False, report: Report | None = None
) -> Encoder:
    """Open the model on onnxruntime if its folder has an export and no GPU is requested, else on torch."""
    source = find_model("clip", model or default_model(), clip_forms(device), offline=offline, report=report)
    if source.form is not Form.TORCH:
        from mascot.photos.encoders.onnx import OnnxClip

        return OnnxClip(source, device)
    return Clip(source, device)


def clip_forms(device: str = "auto") -> tuple[Form, ...]:
    """Return the forms of weights that CLIP can use, best first."""
    if device.startswith("cuda"):
        return Form.TORCH, Form.ONNX, Form.QUANTIZED
    return Form.ONNX, Form.TORCH, Form.QUANTIZED


def default_model() -> str:
    """Return the default model of `clip`: one on this machine, else by the installed packages."""
    names = (DEFAULT, SMALL) if Form.TORCH.runs else (SMALL,)
    if not any(form.runs for form in Form) or not installed("huggingface_hub"):
        return names[0]
    return next((name for name in names if local_model(name, clip_forms()) is not None), names[0])


def clip_fingerprint(model: Model, pixels: Pixels) -> str:
    """Return the fingerprint, equal on torch and onnxruntime if the folder has both, other for quantised weights."""
    weights = model.weights if model.form is Form.QUANTIZED else weight_files(model.folder) or model.weights
    return fingerprint_of(weights, ("clip", model_settings(model.folder), pixels))


class Clip:
    """A model with a text and an image tower: CLIP, MetaCLIP 2, SigLIP."""

    tokens = 1
    sees = True
    notice = None
    batch = 32  # photographs, or texts, per call of the model

    def __init__(self, model: Model, device: str = "auto") -> None:
        torch = package("torch", "clip", "clip")
        transformers = package("transformers", "clip", "clip")
        folder, name = model.folder, model.name
        self._kind = str(read_json(folder / "config.json").get("model_type"))
        if self._kind not in _KINDS:
            raise InputError(f"clip: {name} must be a model of type {', '.join(_KINDS)}, got {self._kind}")
        self.name = f"clip:{name}"
        self._source, self._device = model, pick_device(device)
        self._pixels = Pixels.of(folder)
        with quiet():
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
        self._dtype = torch.float16 if self._device.startswith("cuda") else torch.float32
        self._model.to(device=self._device, dtype=self._dtype).eval()
        self.dim = int(self.texts(["photograph"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        return clip_fingerprint(self._source, self._pixels)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows [n, dim]. A text is truncated to the length of the text tower, 77 tokens for CLIP."""
        import torch

        limit = self._model.config.text_config.max_position_embeddings
        # SigLIP was trained on texts padded to full length, and attends to the padding.
        padding = "max_length" if self._kind == _SIGLIP else True
        rows = [np.empty((0, getattr(self, "dim", 0)), np.float32)] if not len(texts) else []
        for start in range(0, len(texts), self.batch):
            batch = list(texts[start : start + self.batch])
            ids = self._tokenizer(batch, padding=padding, truncation=True, max_length=limit, return_tensors="pt")
            ids = ids.to(self._device)
            inputs = {"input_ids": ids["input_ids"]}
            if self._kind != _SIGLIP:
                inputs["attention_mask"] = ids["attention_mask"]
            with torch.inference_mode():
                rows.append(_numbers(self._model.get_text_features(**inputs)))
        return unit(np.concatenate(rows))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return unit rows [n, 1, dim]."""
        import torch

        rows = [np.empty((0, self.dim), np.float32)]
        for start in range(0, len(pictures), self.batch):
            pixels = self._pixels([picture.image for picture in pictures[start : start + self.batch]])
            with torch.inference_mode():
                tensor = torch.from_numpy(pixels).to(self._device, self._dtype)
                rows.append(_numbers(self._model.get_image_features(pixel_values=tensor)))
        return unit(np.concatenate(rows))[:, None, :]


def _numbers(features: Any) -> Vectors:
    """Return the features, which transformers wraps since version 5."""
    tensor = getattr(features, "pooler_output", features)
    return tensor.float().cpu().numpy()
