"""`blip2`: the contrastive head of BLIP-2. A photograph is 32 vectors; a text is compared with the nearest one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mascot.photos.encoders.clip import TorchModel
from mascot.photos.encoders.encoder import Report, Vectors, encode_batches
from mascot.photos.encoders.hub import find_model
from mascot.photos.encoders.model_folders import Form

DEFAULT = "Salesforce/blip2-itm-vit-g-coco"
_TEXT_LIMIT = 128  # tokens


class Blip2(TorchModel):
    """`Blip2ForImageTextRetrieval`, each tower separately, so that photographs are encoded once."""

    batch = 16  # photographs, or texts, per call of the model

    def __init__(
        self, model: str | None = None, *, device: str = "auto", offline: bool = False, report: Report | None = None
    ) -> None:
        source = find_model("blip2", model or DEFAULT, (Form.TORCH,), offline=offline, report=report)
        super().__init__("blip2", source, device, ("blip-2",), "Blip2ForImageTextRetrieval")
        self.name = "blip2" if source.name == DEFAULT else self.name
        # Only the image tower, most of the model, is in float16; the other parts stay in float32, as published.
        self._model.float().to(self._device)
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
            tensor = torch.from_numpy(pixels).to(self._device, self._dtype)
            patches = model.vision_model(pixel_values=tensor).last_hidden_state.float()
            queries = model.query_tokens.expand(len(patches), -1, -1)
            mask = torch.ones(patches.shape[:-1], dtype=torch.long, device=patches.device)
            output = model.qformer(query_embeds=queries, encoder_hidden_states=patches, encoder_attention_mask=mask)
            return model.vision_projection(output.last_hidden_state).cpu().numpy()
