"""Models of the real kinds with small random weights, saved as the model hub lays them out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WORDS = (
    "a", "an", "the", "cat", "dog", "on", "sofa", "red", "boat", "sea", "at", "sunset", "photo", "of", "in", "snow",
    "two", "children", "play", "beach", "old", "tower",
)  # fmt: skip
START, END = "<|startoftext|>", "<|endoftext|>"
SIDE = 32  # pixels
TOWER = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = {**TOWER, "image_size": SIDE, "patch_size": 8}


def pictures_of(count: int = 5) -> list[Image.Image]:
    """Noise of several shapes and colours."""
    random = np.random.default_rng(7)
    sizes = [(48, 40), (40, 64), (33, 33), (200, 90), (31, 57)]
    images = []
    for index in range(count):
        low = random.integers(0, 200, 3)
        pixels = random.integers(low, low + 50, (*sizes[index % len(sizes)], 3))
        images.append(Image.fromarray(pixels.astype(np.uint8)))
    return images


def save_clip(folder: Path, kind: str = "clip", seed: int = 0) -> Path:
    """A CLIP (or SigLIP, or MetaCLIP 2) of a few thousand weights, with its tokenizer and preprocessor."""
    import torch
    import transformers

    vocabulary = _save_byte_pairs(folder)
    text = {
        **TOWER, "vocab_size": len(vocabulary), "max_position_embeddings": 24, "projection_dim": 16,
        "bos_token_id": vocabulary[START], "eos_token_id": vocabulary[END], "pad_token_id": vocabulary[END],
    }  # fmt: skip
    vision = {**VISION, "projection_dim": 16}
    if kind == "siglip":
        text["projection_size"] = 32
    name = {"clip": "CLIP", "metaclip_2": "MetaClip2", "siglip": "Siglip"}[kind]
    config_of, model_of = (getattr(transformers, f"{name}{part}") for part in ("Config", "Model"))
    torch.manual_seed(seed)
    config = config_of(text_config=text, vision_config=vision, projection_dim=16)
    model = model_of(config).eval()
    _spread_weights(model)
    model.save_pretrained(folder)
    _save_preprocessor(folder, crop=kind != "siglip")
    return folder


def export_onnx(folder: Path) -> None:
    """The usual export beside the weights: onnx/text_model.onnx and onnx/vision_model.onnx."""
    import torch
    import transformers

    model = transformers.CLIPModel.from_pretrained(folder).eval()
    (folder / "onnx").mkdir()

    class Tower(torch.nn.Module):
        def __init__(self, tower: Any, projection: Any) -> None:
            super().__init__()
            self.tower, self.projection = tower, projection

        def forward(self, *inputs: Any) -> Any:
            return self.projection(self.tower(*inputs).pooler_output)

    def export(name: str, tower: Tower, output: str, axes: dict[int, str], **inputs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # The older of torch's two exporters: the newer takes ten times as long.
            torch.onnx.export(
                tower, tuple(inputs.values()), str(folder / "onnx" / f"{name}.onnx"), dynamo=False,
                input_names=list(inputs), output_names=[output], dynamic_axes=dict.fromkeys(inputs, axes),
            )  # fmt: skip

    ids = torch.tensor([[1, 5, 6, 7, 2], [1, 6, 5, 2, 2]])
    text = Tower(model.text_model, model.text_projection)
    export("text_model", text, "text_embeds", {0: "batch", 1: "length"}, input_ids=ids, attention_mask=ids * 0 + 1)
    vision = Tower(model.vision_model, model.visual_projection)
    export("vision_model", vision, "image_embeds", {0: "batch"}, pixel_values=torch.zeros(2, 3, SIDE, SIDE))


def save_onnx_clip(folder: Path) -> Path:
    """An ONNX export of CLIP's kind that needs no torch: words are averaged, and so are the pixels. About 1 MB."""
    import onnx
    from onnx import numpy_helper, parser

    vocabulary, dim = _save_byte_pairs(folder), 4096
    random = np.random.default_rng(0)
    (folder / "onnx").mkdir()

    def save(name: str, graph: str, **sizes: tuple[int, ...]) -> None:
        model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {name} {graph}')
        for key, size in sizes.items():
            model.graph.initializer.append(numpy_helper.from_array(random.normal(size=size).astype(np.float32), key))
        onnx.save(model, folder / "onnx" / f"{name}_quantized.onnx")

    text = f"""(int64[batch, length] input_ids) => (float[batch, {dim}] text_embeds) {{
        rows = Gather(words, input_ids)
        text_embeds = ReduceMean<axes = [1], keepdims = 0>(rows)
    }}"""
    save("text_model", text, words=(len(vocabulary), dim))
    vision = f"""(float[batch, 3, {SIDE}, {SIDE}] pixel_values) => (float[batch, {dim}] image_embeds) {{
        means = GlobalAveragePool(pixel_values)
        flat = Flatten(means)
        image_embeds = Gemm(flat, weight, bias)
    }}"""
    save("vision_model", vision, weight=(3, dim), bias=(dim,))
    settings = {"model_type": "clip", "architectures": ["CLIPModel"], "text_config": {"max_position_embeddings": 24}}
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    _save_preprocessor(folder, crop=True)
    return folder


def save_blip2(folder: Path, seed: int = 0) -> Path:
    """A BLIP-2 for retrieval with 8 query tokens."""
    import torch
    import transformers

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    config = transformers.Blip2Config(
        vision_config=VISION,
        qformer_config={
            **TOWER, "hidden_size": 24, "encoder_hidden_size": 32, "vocab_size": len(vocabulary),
            "max_position_embeddings": 160, "use_qformer_text_input": True,
        },
        text_config={
            "model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1, "ffn_dim": 16, "vocab_size": 40,
            "num_attention_heads": 2, "word_embed_proj_dim": 16, "max_position_embeddings": 32,
        },
        num_query_tokens=8,
        image_text_hidden_size=16,
    )  # fmt: skip
    torch.manual_seed(seed)
    model = transformers.Blip2ForImageTextRetrieval(config).eval()
    _spread_weights(model)
    model.save_pretrained(folder)
    _save_preprocessor(folder, crop=False)
    return folder


def _spread_weights(model: Any) -> None:
    """Fresh weights are so small that every input gives nearly the same vector."""
    import torch

    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "norm" not in name and "logit" not in name:
                weights.normal_(0, 1.0 if "crossattention" in name else 0.3)  # or the picture is hardly felt


def _save_preprocessor(folder: Path, crop: bool) -> None:
    settings: dict[str, Any] = {
        "do_resize": True, "do_rescale": True, "do_normalize": True, "resample": 3, "rescale_factor": 1 / 255,
        "image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28], "size": {"height": SIDE, "width": SIDE},
    }  # fmt: skip
    if crop:  # as the first CLIP models wrote it
        settings.update(do_center_crop=True, crop_size=SIDE, size=SIDE)
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), "utf-8")


def _save_byte_pairs(folder: Path) -> dict[str, int]:
    """CLIP's kind of tokenizer over single letters and a few words."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "ca", "cat</w>", START, END]
    vocabulary = {piece: index + 3 for index, piece in enumerate(pieces)}
    vocabulary.update({"!": 0, ".": 1, ",": 2})
    tokenizer = Tokenizer(
        models.BPE(vocabulary, [("c", "a"), ("ca", "t</w>")], end_of_word_suffix="</w>", unk_token=END)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\p{L}]+|[^\s\p{L}]+"), "removed", invert=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $0 {END}", special_tokens=[(START, vocabulary[START]), (END, vocabulary[END])]
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": START, "eos_token": END, "pad_token": END,
        "unk_token": END, "model_max_length": 24,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return vocabulary
