"""BLIP-2's contrastive head through the real library, on small random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny_models import pictures_of, save_blip2, save_clip

from mascot.errors import InputError
from mascot.photos.encoders import Picture, open_encoder
from mascot.photos.encoders.folders import quiet

pytest.importorskip("torch", reason="needs torch: pip install 'mascot-rerank[clip]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'mascot-rerank[clip]'")

TEXTS = ["a cat on a sofa", "red boat", "two children play at the beach at sunset", "x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with quiet():
        return save_blip2(tmp_path_factory.mktemp("blip2"))


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    return [Picture(image) for image in pictures_of()]


def test_rows_are_units_and_do_not_depend_on_the_batch(folder: Path, pictures: list[Picture]) -> None:
    encoder = open_encoder(f"blip2:{folder}", device="cpu")
    assert encoder.name == f"blip2:{folder.resolve()}"
    assert (encoder.tokens, encoder.dim) == (8, 16)
    texts, images = encoder.texts(TEXTS * 10), encoder.pictures(pictures * 5)
    assert texts.shape == (40, 16)
    assert images.shape == (25, 8, 16)
    assert texts.dtype == images.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(texts, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(images, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(texts[:4], np.concatenate([encoder.texts([text]) for text in TEXTS]), atol=1e-5)
    np.testing.assert_allclose(images[:5], np.concatenate([encoder.pictures([one]) for one in pictures]), atol=1e-5)
    assert encoder.texts([]).shape == (0, 16)
    assert encoder.pictures([]).shape == (0, 8, 16)


def test_scores_are_those_of_the_model_itself(folder: Path, pictures: list[Picture]) -> None:
    import torch
    import transformers

    with quiet():
        model = transformers.Blip2ForImageTextRetrieval.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        processor_of = getattr(transformers, "BlipImageProcessorPil", None) or transformers.BlipImageProcessor
        processor = processor_of.from_pretrained(folder)
    tokens = tokenizer(TEXTS, padding=True, return_tensors="pt")
    given = {
        "pixel_values": processor([one.image for one in pictures], return_tensors="pt")["pixel_values"],
        "input_ids": tokens["input_ids"],
        "attention_mask": tokens["attention_mask"],
    }
    with torch.inference_mode():
        wanted = model(**given, use_image_text_matching_head=False).logits_per_image.numpy()
    encoder = open_encoder(f"blip2:{folder}", device="cpu")
    scores = (encoder.pictures(pictures) @ encoder.texts(TEXTS).T).max(1)
    assert np.ptp(scores, axis=0).min() > 0.005, "otherwise the comparison would say nothing"
    np.testing.assert_allclose(scores, wanted, atol=1e-5)


def test_a_text_is_cut_at_128_tokens(folder: Path) -> None:
    encoder = open_encoder(f"blip2:{folder}", device="cpu")
    beyond = " ".join(["cat"] * 126 + ["boat"] * 20)  # the first and the last token are marks
    within = " ".join(["cat"] * 125 + ["boat"] * 20)
    plain = encoder.texts([" ".join(["cat"] * 126)])
    np.testing.assert_allclose(encoder.texts([beyond]), plain, atol=1e-6)
    assert np.abs(encoder.texts([within]) - plain).max() > 1e-4


@pytest.mark.gpu
def test_half_precision_on_a_gpu_gives_nearly_the_same(folder: Path, pictures: list[Picture]) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    here, there = (open_encoder(f"blip2:{folder}", device=device) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there.texts(TEXTS), here.texts(TEXTS), atol=5e-3)
    np.testing.assert_allclose(there.pictures(pictures), here.pictures(pictures), atol=5e-3)


def test_fingerprints_tell_weights_apart(folder: Path, tmp_path: Path) -> None:
    with quiet():
        other = save_blip2(tmp_path / "other", seed=1)
    one = open_encoder(f"blip2:{folder}", device="cpu").fingerprint
    assert one == open_encoder(f"blip2:{folder}", device="cpu").fingerprint
    assert one != open_encoder(f"blip2:{other}", device="cpu").fingerprint


def test_what_is_missing_is_named(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "preprocessor_config.json").unlink()
    with pytest.raises(InputError) as caught:
        open_encoder(f"blip2:{copy}", device="cpu")
    assert f"blip2: the folder {copy} lacks preprocessor_config.json or processor_config.json." in str(caught.value)
    assert "onnx" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        open_encoder("blip2", offline=True)
    assert "hf download Salesforce/blip2-itm-vit-g-coco --local-dir blip2-itm-vit-g-coco" in str(caught.value)


def test_another_model_is_refused(tmp_path: Path) -> None:
    with quiet():
        clip = save_clip(tmp_path / "clip")
    with pytest.raises(InputError, match="must be a model of type blip-2, got clip"):
        open_encoder(f"blip2:{clip}", device="cpu")
    assert json.loads((clip / "config.json").read_text())["model_type"] == "clip"
