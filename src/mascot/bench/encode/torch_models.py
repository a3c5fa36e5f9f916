"""The models of `mascot bench encode`, on torch: CLIP and its relatives, and the contrastive head of BLIP-2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from mascot.errors import InputError, require
from mascot.extras import package
from mascot.photos.encoders.clip import ImageTextModel
from mascot.photos.encoders.encoder import Vectors, encode_batches
from mascot.photos.encoders.hub import Model, find_model

# The two models of the published results.
_PUBLISHED = {"blip2": "Salesforce/blip2-itm-vit-g-coco", "clip": "openai/clip-vit-large-patch14"}
_SETTINGS = ("config.json", "*processor_config.json")
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_FORMS = tuple((*_SETTINGS, pattern) for pattern in _WEIGHTS)
_SIGLIP = "siglip"
_TEXT_LIMIT = 128  # tokens


def open_model(spec: str, *, device: str = "auto", offline: bool = False) -> TorchModel:
    """Open `blip2`, `clip`, `blip2:MODEL` or `clip:MODEL`; the model is downloaded if it is not on this machine."""
    kind, _, model = spec.partition(":")
    source = find_model(kind, model or _PUBLISHED[kind], _FORMS, offline=offline)
    return Blip2(source, device) if kind == "blip2" else Clip(source, device)


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off progress bars and advice of the model libraries, and restore their settings afterwards."""
    logging = package("transformers.utils.logging", "prepare", "a model")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


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
        torch, transformers = (package(name, "prepare", owner) for name in ("torch", "transformers"))
        super().__init__(owner, model)
        if self._kind not in kinds:
            raise InputError(f"{owner}: {model.name} must be a model of type {', '.join(kinds)}, got {self._kind}")
        self.device = pick_device(device)
        self._dtype = torch.float16 if self.device.startswith("cuda") else torch.float32
        self._weights = next(filter(None, (sorted(model.folder.glob(pattern)) for pattern in _WEIGHTS)), [])
        with quiet():
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model.folder, local_files_only=True)
            self._model = getattr(transformers, loader).from_pretrained(model.folder, local_files_only=True).eval()

    def _tokens(self, texts: Sequence[str], limit: int, padding: str | bool = True) -> Any:
        ids = self._tokenizer(list(texts), padding=padding, truncation=True, max_length=limit, return_tensors="pt")
        return ids.to(self.device)


class Clip(TorchModel):
    """CLIP, MetaCLIP 2 or SigLIP on torch."""

    def __init__(self, model: Model, device: str = "auto") -> None:
        super().__init__("clip", model, device, ("clip", "metaclip_2", _SIGLIP), "AutoModel")
        self._model.to(device=self.device, dtype=self._dtype)
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
            tensor = torch.from_numpy(pixels).to(self.device, self._dtype)
            return _numbers(self._model.get_image_features(pixel_values=tensor))


def _numbers(features: Any) -> Vectors:
    """Return the features, which transformers wraps since version 5."""
    return getattr(features, "pooler_output", features).float().cpu().numpy()


class Blip2(TorchModel):
    """`Blip2ForImageTextRetrieval`, each tower separately, so that photographs are encoded once.

    A photograph is 32 vectors; a text is compared with the nearest one.
    """

    batch = 16  # photographs, or texts, per call of the model

    def __init__(self, model: Model, device: str = "auto") -> None:
        super().__init__("blip2", model, device, ("blip-2",), "Blip2ForImageTextRetrieval")
        # Only the image tower, most of the model, is in float16; the other parts stay in float32, as published.
        self._model.float().to(self.device)
        self._model.vision_model.to(dtype=self._dtype)
        self.dim = int(self._model.config.image_text_hidden_size)
        self.tokens = int(self._model.config.num_query_tokens)

    def texts(self, texts: Sequence[str], *, masked: bool = True) -> Vectors:
        """Return unit rows [n, dim]: the projection of the first token of each text, truncated to 128 tokens.

        Without `masked`, as published, all texts are one batch, and the model also attends to the padding.
        """
        batch = self.batch if masked else max(1, len(texts))
        return encode_batches(texts, batch, partial(self._text_rows, masked), (self.dim,))

    def _text_rows(self, masked: bool, texts: Sequence[str]) -> Vectors:
        import torch

        model = self._model
        limit = min(_TEXT_LIMIT, model.config.qformer_config.max_position_embeddings)
        ids = self._tokens(texts, limit)
        with torch.inference_mode():
            words = model.embeddings(input_ids=ids["input_ids"])
            mask = ids["attention_mask"] if masked else None
            output = model.qformer(query_embeds=words, query_length=0, attention_mask=mask)
            return model.text_projection(output.last_hidden_state[:, 0]).cpu().numpy()

    def _image_rows(self, pixels: Vectors) -> Vectors:
        """Return the projection of every query token."""
        import torch

        model = self._model
        with torch.inference_mode():
            tensor = torch.from_numpy(pixels).to(self.device, self._dtype)
            patches = model.vision_model(pixel_values=tensor).last_hidden_state.float()
            queries = model.query_tokens.expand(len(patches), -1, -1)
            mask = torch.ones(patches.shape[:-1], dtype=torch.long, device=patches.device)
            output = model.qformer(query_embeds=queries, encoder_hidden_states=patches, encoder_attention_mask=mask)
            return model.vision_projection(output.last_hidden_state).cpu().numpy()
