"""`clip`: CLIP and its relatives, from the model hub or from a folder, on torch or onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError, require
from mascot.extras import installed, package
from mascot.photos.encoders import Encoder, Picture
from mascot.photos.encoders.encoder import Report, Vectors, encode_batches, fingerprint_of, open_session
from mascot.photos.encoders.hub import Download, cached_model, cached_models, find_model, plan_download
from mascot.photos.encoders.model_folders import Form, Model, quiet, read_json, weight_files
from mascot.photos.encoders.pixels import Pixels

DEFAULT = "openai/clip-vit-base-patch32"
SMALL = "Xenova/clip-vit-base-patch32"  # the same model as a quantised ONNX export
_ARCHITECTURES = {"CLIPModel", "MetaClip2Model", "SiglipModel"}  # related models have other heads
_SIGLIP = "siglip"
_NOT_OF_THE_MODEL = {"transformers_version", "_name_or_path", "torch_dtype", "dtype"}  # in config.json
_ANSWER_S = 4.0  # timeout of the hub before continuing without it
_TYPES = {f"tensor({name})": name for name in ("float16", "int32", "int64")} | {"tensor(float)": "float32"}


def open_clip(
    model: str | None = None, *, device: str = "auto", offline: bool = False, report: Report | None = None
) -> Encoder:
    """Open the model on onnxruntime if its folder has an export and no GPU is requested, otherwise on torch."""
    source = find_model("clip", model or default_model(), clip_forms(device), offline=offline, report=report)
    return Clip(source, device) if source.form is Form.TORCH else OnnxClip(source, device)


def clip_forms(device: str = "auto") -> tuple[Form, ...]:
    """Return the forms of weights that CLIP can use, best first."""
    if device.startswith("cuda"):
        return Form.TORCH, Form.ONNX, Form.QUANTIZED
    return Form.ONNX, Form.TORCH, Form.QUANTIZED


def default_model() -> str:
    """Return the default model of `clip`: one on this machine, otherwise by the installed packages."""
    names = (DEFAULT, SMALL) if Form.TORCH.runs else (SMALL,)
    if not _can_run():
        return names[0]
    return next((name for name in names if cached_model(name, clip_forms()) is not None), names[0])


def local_clip(device: str = "auto") -> str | None:
    """Return `clip:NAME` of a CLIP in the hub's cache that is complete and runs here; None if there is none."""
    if not _can_run():
        return None
    for name in dict.fromkeys((DEFAULT, SMALL, *cached_models())):
        model = cached_model(name, clip_forms(device))
        with suppress(InputError):
            architectures = read_json(model.folder / "config.json").get("architectures") if model else None
            if isinstance(architectures, list) and _ARCHITECTURES.intersection(map(str, architectures)):
                return f"clip:{name}"
    return None


def small_clip() -> Download | None:
    """Return the download of a quantised CLIP; None if onnxruntime is not installed. Raises `HubError`."""
    if not _can_run() or not Form.QUANTIZED.runs:
        return None
    return plan_download(SMALL, (Form.QUANTIZED,), timeout_s=_ANSWER_S)


def _can_run() -> bool:
    return installed("huggingface_hub") and any(form.runs for form in Form)


class ImageTextModel:
    """A model with a text and an image tower. A subclass encodes a batch of texts and an array of pixels."""

    tokens = 1
    sees = True
    notice = None
    batch = 32  # photographs, or texts, per call of the model
    dim: int

    def __init__(self, owner: str, model: Model) -> None:
        self._owner, self._source, self.name = owner, model, f"{owner}:{model.name}"
        self._settings = read_json(model.folder / "config.json")
        self._kind = str(self._settings.get("model_type"))
        self._pixels = Pixels.of(model.folder)

    @cached_property
    def fingerprint(self) -> str:
        """Equal on torch and onnxruntime if the folder has both; different for quantised weights."""
        model = self._source
        weights = model.weights if model.form is Form.QUANTIZED else weight_files(model.folder) or model.weights
        settings = {key: value for key, value in sorted(self._settings.items()) if key not in _NOT_OF_THE_MODEL}
        return fingerprint_of(weights, (self._owner, settings, self._pixels))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:

        def encode(batch: Sequence[Picture]) -> Vectors:
            rows = self._image_rows(self._pixels([picture.image for picture in batch]))
            return rows.reshape(len(batch), self.tokens, self.dim)

        return encode_batches(pictures, self.batch, encode, (self.tokens, self.dim))

    def _image_rows(self, pixels: Vectors) -> Vectors:
        raise NotImplementedError


def pick_device(device: str) -> str:
    """Return the torch device; `auto` is the GPU if there is one, otherwise the CPU."""
    import torch

    gpu = torch.cuda.is_available()
    if device == "auto":
        return "cuda" if gpu else "cpu"
    require(device == "cpu" or device.partition(":")[0] == "cuda", "device", "must be auto, cpu or cuda", device)
    require(gpu or device == "cpu", "device", "must be auto or cpu where torch finds no GPU", device)
    return device


class TorchModel(ImageTextModel):
    """A model of one of these kinds that transformers loads, on a torch device."""

    def __init__(self, owner: str, model: Model, device: str, kinds: Sequence[str], loader: str) -> None:
        torch, transformers = (package(name, "clip", owner) for name in ("torch", "transformers"))
        super().__init__(owner, model)
        if self._kind not in kinds:
            raise InputError(f"{owner}: {model.name} must be a model of type {', '.join(kinds)}, got {self._kind}")
        self._device = pick_device(device)
        self._dtype = torch.float16 if self._device.startswith("cuda") else torch.float32
        with quiet():
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model.folder, local_files_only=True)
            self._model = getattr(transformers, loader).from_pretrained(model.folder, local_files_only=True).eval()

    def _tokens(self, texts: Sequence[str], limit: int, padding: str | bool = True) -> Any:
        ids = self._tokenizer(list(texts), padding=padding, truncation=True, max_length=limit, return_tensors="pt")
        return ids.to(self._device)


class Clip(TorchModel):
    """CLIP, MetaCLIP 2 or SigLIP on torch."""

    def __init__(self, model: Model, device: str = "auto") -> None:
        super().__init__("clip", model, device, ("clip", "metaclip_2", _SIGLIP), "AutoModel")
        self._model.to(device=self._device, dtype=self._dtype)
        self.dim = int(self._text_rows(["photograph"]).shape[1])

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows [n, dim]. A text is truncated to the length of the text tower, 77 tokens for CLIP."""
        return encode_batches(texts, self.batch, self._text_rows, (self.dim,))

    def _text_rows(self, texts: Sequence[str]) -> Vectors:
        import torch

        limit = self._model.config.text_config.max_position_embeddings
        # SigLIP was trained on texts padded to full length, and attends to the padding.
        inputs = dict(self._tokens(texts, limit, "max_length" if self._kind == _SIGLIP else True))
        names = ("input_ids",) if self._kind == _SIGLIP else ("input_ids", "attention_mask")
        with torch.inference_mode():
            return _numbers(self._model.get_text_features(**{name: inputs[name] for name in names}))

    def _image_rows(self, pixels: Vectors) -> Vectors:
        import torch

        with torch.inference_mode():
            tensor = torch.from_numpy(pixels).to(self._device, self._dtype)
            return _numbers(self._model.get_image_features(pixel_values=tensor))


def _numbers(features: Any) -> Vectors:
    """Return the features, which transformers wraps since version 5."""
    return getattr(features, "pooler_output", features).float().cpu().numpy()


class OnnxClip(ImageTextModel):
    """The usual ONNX export of a CLIP model, without torch. Text and vision model are loaded when first used."""

    def __init__(self, model: Model, device: str = "auto") -> None:
        tokenizers = package("tokenizers", "photos", "clip from an ONNX export")
        super().__init__("clip", model)
        # A quantised model scales its numbers over the batch, so vectors are reproducible only in batches of one.
        self.batch = 1 if model.form is Form.QUANTIZED else 32
        if self._kind != "clip":
            # Other kinds pad their texts differently; a wrong guess would give wrong vectors silently.
            raise InputError(f"clip: an ONNX export must be of a clip model, got {self._kind} in {model.name}")
        if not (model.folder / "tokenizer.json").is_file():
            raise InputError(f"clip: an ONNX export needs tokenizer.json in {model.folder}")
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
