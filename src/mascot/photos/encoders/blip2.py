"""`blip2`: the contrastive head of BLIP-2. A photograph is 32 vectors; a text is compared with the nearest one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from mascot.errors import InputError
from mascot.extras import package
from mascot.photos.encoders.encoder import Picture, Vectors
from mascot.photos.encoders.folders import Form, Report, find_model, model_settings, quiet, read_json, weight_files
from mascot.photos.encoders.pixels import Pixels
from mascot.photos.encoders.runtime import encode_batches, fingerprint_of, pick_device

DEFAULT = "Salesforce/blip2-itm-vit-g-coco"
_TEXT_LIMIT = 128  # tokens


class Blip2:
    """`Blip2ForImageTextRetrieval`, each tower separately, so that photographs are encoded once."""

    sees = True
    notice = None
    batch = 16  # photographs, or texts, per call of the model

    def __init__(
        self, model: str | None = None, *, device: str = "auto", offline: bool = False, report: Report | None = None
    ) -> None:
        torch = package("torch", "clip", "blip2")
        transformers = package("transformers", "clip", "blip2")
        source = find_model("blip2", model or DEFAULT, (Form.TORCH,), offline=offline, report=report)
        self._folder, name = source.folder, source.name
        kind = read_json(self._folder / "config.json").get("model_type")
        if kind != "blip-2":
            raise InputError(f"blip2: {name} must be a model of type blip-2, got {kind}")
        self.name = "blip2" if name == DEFAULT else f"blip2:{name}"
        self._device = pick_device(device)
        self._pixels = Pixels.of(self._folder)
        with quiet():
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            self._model = transformers.Blip2ForImageTextRetrieval.from_pretrained(self._folder, local_files_only=True)
        # Only the image tower, most of the model, is in float16; the other parts stay in float32, as published.
        self._dtype = torch.float16 if self._device.startswith("cuda") else torch.float32
        self._model.eval().to(device=self._device, dtype=torch.float32)
        self._model.vision_model.to(dtype=self._dtype)
        self.dim = int(self._model.config.image_text_hidden_size)
        self.tokens = int(self._model.config.num_query_tokens)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(weight_files(self._folder), ("blip2", model_settings(self._folder), self._pixels))

    def texts(self, texts: Sequence[str], *, masked: bool = True) -> Vectors:
        """Return unit rows [n, dim]: the projection of the first token of each text, truncated to 128 tokens.

        Without `masked`, as published, all texts are one batch, and the model also attends to the padding.
        """
        batch = self.batch if masked else max(1, len(texts))
        return encode_batches(texts, batch, partial(self._text_rows, masked), (self.dim,))

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return unit rows [n, tokens, dim]: the projection of every query token."""
        return encode_batches(pictures, self.batch, self._picture_rows, (self.tokens, self.dim))

    def _text_rows(self, masked: bool, texts: Sequence[str]) -> Vectors:
        import torch

        model = self._model
        limit = min(_TEXT_LIMIT, model.config.qformer_config.max_position_embeddings)
        ids = self._tokenizer(list(texts), padding=True, truncation=True, max_length=limit, return_tensors="pt")
        ids = ids.to(self._device)
        with torch.inference_mode():
            words = model.embeddings(input_ids=ids["input_ids"])
            mask = ids["attention_mask"] if masked else None
            output = model.qformer(query_embeds=words, query_length=0, attention_mask=mask)
            return model.text_projection(output.last_hidden_state[:, 0]).cpu().numpy()

    def _picture_rows(self, pictures: Sequence[Picture]) -> Vectors:
        import torch

        model = self._model
        pixels = self._pixels([picture.image for picture in pictures])
        with torch.inference_mode():
            tensor = torch.from_numpy(pixels).to(self._device, self._dtype)
            patches = model.vision_model(pixel_values=tensor).last_hidden_state.float()
            queries = model.query_tokens.expand(len(patches), -1, -1)
            mask = torch.ones(patches.shape[:-1], dtype=torch.long, device=patches.device)
            output = model.qformer(query_embeds=queries, encoder_hidden_states=patches, encoder_attention_mask=mask)
            return model.vision_projection(output.last_hidden_state).cpu().numpy()
