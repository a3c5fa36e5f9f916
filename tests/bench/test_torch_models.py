"""CLIP, its relatives and BLIP-2 on torch, with small random weights; and the ONNX export of a CLIP."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.bench.encode.torch_models import open_model, quiet
from mascot.photos.encoders import Encoder, Picture, open_encoder
from tests.photos.local_hub import local_hub, use_hub
from tests.photos.tiny_models import export_onnx, pictures_of, save_blip2, save_clip

pytest.importorskip("torch", reason="needs torch: pip install 'mascot-rerank[prepare]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'mascot-rerank[prepare]'")

TEXTS = ["a cat on a sofa", "red boat", "Two children play at the beach, at sunset, by an old tower, and so on", "x"]
KINDS = ["clip", "metaclip_2", "siglip", "blip2"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    import transformers

    there = [kind for kind in KINDS if kind != "metaclip_2" or hasattr(transformers, "MetaClip2Model")]
    with quiet():
        return {kind: saved(tmp_path_factory.mktemp(kind), kind) for kind in there}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, folders: dict[str, Path]) -> str:
    if request.param not in folders:
        pytest.skip(f"this version of transformers has no {request.param}")
    return str(request.param)


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    return [Picture(image) for image in pictures_of()]


@pytest.fixture(scope="module")
def exported(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install onnxruntime tokenizers")
    pytest.importorskip("onnx", reason="needs the package onnx to export a model")
    folder = tmp_path_factory.mktemp("exported") / "model"
    shutil.copytree(folders["clip"], folder)
    with quiet():
        export_onnx(folder)
    return folder


@pytest.fixture
def copy(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["clip"], tmp_path / "model"))


def saved(folder: Path, kind: str, seed: int = 0) -> Path:
    return save_blip2(folder, seed) if kind == "blip2" else save_clip(folder, kind, seed)


def opened(kind: str, folder: Path, device: str = "cpu") -> Encoder:
    return open_model(f"{'blip2' if kind == 'blip2' else 'clip'}:{folder}", device=device)


def changed(path: Path, **settings: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def test_scores_are_those_of_the_model_itself_in_any_batch(
    kind: str, folders: dict[str, Path], pictures: list[Picture]
) -> None:
    import torch
    import transformers

    folder = folders[kind]
    model_class = transformers.Blip2ForImageTextRetrieval if kind == "blip2" else transformers.AutoModel
    with quiet():
        model = model_class.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = TEXTS[:2] if kind in ("clip", "metaclip_2") else TEXTS
    padding = "max_length" if kind == "siglip" else True
    tokens = tokenizer(texts, padding=padding, truncation=True, max_length=24, return_tensors="pt")
    inputs = {"input_ids": tokens["input_ids"]}
    if kind != "siglip":
        inputs["attention_mask"] = tokens["attention_mask"]
    pixels = torch.from_numpy(processed(folder, kind, [picture.image for picture in pictures]))
    options = {"use_image_text_matching_head": False} if kind == "blip2" else {}
    with torch.inference_mode():
        cosines = model(**inputs, pixel_values=pixels, **options).logits_per_image
        if kind != "blip2":
            cosines = (cosines - (model.logit_bias if kind == "siglip" else 0)) / model.logit_scale.exp()
    assert np.ptp(cosines.numpy(), axis=0).min() > 0.005, "otherwise the comparison would say nothing"
    encoder = opened(kind, folder)
    images, rows = encoder.pictures(pictures), encoder.texts(TEXTS)
    np.testing.assert_allclose((images @ rows[: len(texts)].T).max(1), cosines.numpy(), atol=1e-5)
    assert images.shape == (5, 8 if kind == "blip2" else 1, encoder.dim)
    np.testing.assert_allclose(np.linalg.norm(images, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(encoder.texts([TEXTS[3]]), rows[3:], atol=1e-5)  # whatever else is in the batch
    np.testing.assert_allclose(encoder.pictures(pictures[3:4]), images[3:4], atol=1e-5)
    assert encoder.texts([]).shape == (0, encoder.dim)
    assert encoder.pictures([]).shape == (0, encoder.tokens, encoder.dim)


def processed(folder: Path, kind: str, images: list[Any]) -> np.ndarray:
    """The pixels of the library's own image processor for the folder, on PIL."""
    import transformers

    name = {"siglip": "SiglipImageProcessor", "blip2": "BlipImageProcessor"}.get(kind, "CLIPImageProcessor")
    processor_of = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)
    with quiet():
        return processor_of.from_pretrained(folder)(images, return_tensors="np")["pixel_values"]


def test_a_text_of_blip2_is_cut_at_128_tokens(folders: dict[str, Path]) -> None:
    encoder = opened("blip2", folders["blip2"])
    beyond = " ".join(["cat"] * 126 + ["boat"] * 20)  # the first and the last token are marks
    within = " ".join(["cat"] * 125 + ["boat"] * 20)
    plain = encoder.texts([" ".join(["cat"] * 126)])
    np.testing.assert_allclose(encoder.texts([beyond]), plain, atol=1e-6)
    assert np.abs(encoder.texts([within]) - plain).max() > 1e-4


def test_an_onnx_export_gives_the_vectors_of_torch(
    exported: Path, folders: dict[str, Path], pictures: list[Picture]
) -> None:
    torch, encoder = opened("clip", folders["clip"]), open_encoder(f"clip:{exported}")
    np.testing.assert_allclose(encoder.texts(TEXTS * 10), torch.texts(TEXTS * 10), atol=1e-5)
    np.testing.assert_allclose(encoder.pictures(pictures), torch.pictures(pictures), atol=1e-5)


def test_a_quantised_photograph_does_not_depend_on_the_batch(
    exported: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization", reason="needs the package onnx")
    folder = Path(shutil.copytree(exported, tmp_path / "model"))
    for name in ("text_model", "vision_model"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quantization.quantize_dynamic(folder / "onnx" / f"{name}.onnx", folder / "onnx" / f"{name}_quantized.onnx")
    full = open_encoder(f"clip:{exported}")
    assert open_encoder(f"clip:{folder}").fingerprint == full.fingerprint, "the full export is better"
    for name in ("text_model", "vision_model"):
        (folder / "onnx" / f"{name}.onnx").unlink()
    quantized = open_encoder(f"clip:{folder}")
    assert quantized.fingerprint != full.fingerprint
    alone = np.concatenate([quantized.pictures([picture]) for picture in pictures])
    np.testing.assert_array_equal(quantized.pictures(pictures), alone)
    assert (quantized.pictures(pictures) * full.pictures(pictures)).sum(-1).min() > 0.9


def test_fingerprints_tell_weights_and_settings_apart(folders: dict[str, Path], copy: Path, tmp_path: Path) -> None:
    before = opened("clip", folders["clip"]).fingerprint
    with quiet():
        assert opened("clip", saved(tmp_path / "other", "clip", seed=1)).fingerprint != before
    changed(copy / "config.json", transformers_version="1.2.3")
    assert opened("clip", copy).fingerprint == before, "who saved the model does not matter"
    changed(copy / "preprocessor_config.json", resample=2)
    assert opened("clip", copy).fingerprint != before


def test_one_kind_of_weights_is_downloaded(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / "pytorch_model.bin").write_bytes(b"the same weights once more")
    (copy / "open_clip_model.safetensors").write_bytes(b"the same weights for another library")
    with local_hub(copy) as hub:
        use_hub(hub.server.url, tmp_path / "home", monkeypatch)
        fingerprints = {open_model("clip:someone/model", offline=offline).fingerprint for offline in (False, True)}
    assert fingerprints == {opened("clip", without(copy, "pytorch_model.bin")).fingerprint}
    assert [name for name in hub.files if "model." in name] == ["model.safetensors"]
