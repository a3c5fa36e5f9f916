"""CLIP and its relatives through the real libraries, on small random weights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from local_hub import local_hub
from tiny_models import export_onnx, pictures_of, save_clip

from mascot.errors import InputError, OptionError
from mascot.photos.encoders import Picture, open_encoder
from mascot.photos.encoders.folders import quiet
from mascot.photos.encoders.pixels import Pixels

pytest.importorskip("torch", reason="needs torch: pip install torch transformers")
pytest.importorskip("transformers", reason="needs transformers: pip install torch transformers")

TEXTS = [
    "a cat on a sofa",
    "red boat",
    "Two children play at the beach, at sunset, by an old tower, and so on and on",
    "x",
]
KINDS = ["clip", "metaclip_2", "siglip"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    import transformers

    there = [kind for kind in KINDS if kind != "metaclip_2" or hasattr(transformers, "MetaClip2Model")]
    with quiet():
        return {kind: save_clip(tmp_path_factory.mktemp(kind), kind) for kind in there}


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


def test_rows_are_units_and_do_not_depend_on_the_batch(
    kind: str, folders: dict[str, Path], pictures: list[Picture]
) -> None:
    encoder = open_encoder(f"clip:{folders[kind]}", device="cpu")
    texts, images = encoder.texts(TEXTS * 10), encoder.pictures(pictures * 8)
    assert texts.shape == (40, encoder.dim)
    assert images.shape == (40, 1, encoder.dim)
    assert encoder.tokens == 1
    assert texts.dtype == images.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(texts, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(images, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(texts[:4], np.concatenate([encoder.texts([text]) for text in TEXTS]), atol=1e-5)
    np.testing.assert_allclose(images[:5], np.concatenate([encoder.pictures([one]) for one in pictures]), atol=1e-5)
    assert np.abs(texts[0] - texts[1]).max() > 0.01
    assert encoder.texts([]).shape == (0, encoder.dim)
    assert encoder.pictures([]).shape == (0, 1, encoder.dim)


def test_scores_are_those_of_the_model_itself(kind: str, folders: dict[str, Path], pictures: list[Picture]) -> None:
    import torch
    import transformers

    folder = folders[kind]
    with quiet():
        model = transformers.AutoModel.from_pretrained(folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = TEXTS[:2] if kind != "siglip" else TEXTS
    padding = "max_length" if kind == "siglip" else True
    tokens = tokenizer(texts, padding=padding, truncation=True, max_length=24, return_tensors="pt")
    ids = {"input_ids": tokens["input_ids"]}
    if kind != "siglip":
        ids["attention_mask"] = tokens["attention_mask"]
    pixels = torch.from_numpy(_processor(folder, kind)([one.image for one in pictures]))
    with torch.inference_mode():
        logits = model(**ids, pixel_values=pixels).logits_per_image
        cosines = ((logits - (model.logit_bias if kind == "siglip" else 0)) / model.logit_scale.exp()).numpy()
    assert np.ptp(cosines, axis=0).min() > 0.05, "otherwise the comparison would say nothing"
    encoder = open_encoder(f"clip:{folder}", device="cpu")
    np.testing.assert_allclose(encoder.pictures(pictures)[:, 0] @ encoder.texts(texts).T, cosines, atol=1e-5)


def test_pixels_are_those_of_the_models_own_processor(kind: str, folders: dict[str, Path]) -> None:
    images = pictures_of()
    wanted = _processor(folders[kind], kind)(images)
    assert wanted.shape == (5, 3, 32, 32)
    np.testing.assert_allclose(Pixels.of(folders[kind])(images), wanted, atol=1e-5)


def test_pixels_smaller_than_the_crop_are_padded(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    own = getattr(transformers, "CLIPImageProcessorPil", None)
    if own is None:
        pytest.skip("needs transformers 5")
    processor = own(size={"shortest_edge": 20}, crop_size={"height": 30, "width": 25})
    processor.save_pretrained(tmp_path)
    wanted = processor(pictures_of(), return_tensors="np")["pixel_values"]
    np.testing.assert_allclose(Pixels.of(tmp_path)(pictures_of()), wanted, atol=1e-5)


def test_pixels_are_found_in_a_processor_file(folders: dict[str, Path], tmp_path: Path) -> None:
    settings = json.loads((folders["clip"] / "preprocessor_config.json").read_text())
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": settings}))
    assert Pixels.of(tmp_path) == Pixels.of(folders["clip"])
    del settings["image_mean"]
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"preprocessor_config\.json must say how photographs are resized.*image_mean"):
        Pixels.of(tmp_path)


def test_onnx_gives_the_vectors_of_torch(exported: Path, folders: dict[str, Path], pictures: list[Picture]) -> None:
    from mascot.photos.encoders.onnx import OnnxClip

    onnx, torch = open_encoder(f"clip:{exported}", device="cpu"), open_encoder(f"clip:{folders['clip']}", device="cpu")
    assert isinstance(onnx, OnnxClip)
    assert onnx.dim == torch.dim
    np.testing.assert_allclose(onnx.texts(TEXTS * 10), torch.texts(TEXTS * 10), atol=1e-5)
    np.testing.assert_allclose(onnx.pictures(pictures), torch.pictures(pictures), atol=1e-5)
    assert onnx.texts([]).shape == (0, onnx.dim)
    assert onnx.fingerprint == torch.fingerprint, "the same weights, whatever runs them"


def test_onnx_needs_no_torch(exported: Path, folders: dict[str, Path], tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(exported, bare)
    (bare / "model.safetensors").unlink()
    script = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = None
from PIL import Image
from mascot.photos.encoders import Picture, open_encoder
bare, weights, texts = json.loads(sys.argv[1])
encoder = open_encoder("clip:" + bare)
rows = encoder.texts(texts).tolist()
shape = encoder.pictures([Picture(Image.new("RGB", (50, 40)))]).shape
print(json.dumps([rows, shape, encoder.fingerprint]))
try:
    open_encoder("clip:" + weights)
except ImportError as error:
    print(error)
"""
    lines = _python(script, json.dumps([str(bare), str(folders["clip"]), TEXTS])).splitlines()
    rows, shape, fingerprint = json.loads(lines[0])
    encoder = open_encoder(f"clip:{folders['clip']}", device="cpu")
    np.testing.assert_allclose(rows, encoder.texts(TEXTS), atol=1e-5)
    assert shape == [1, 1, encoder.dim]
    assert len(fingerprint) == 16
    assert fingerprint != encoder.fingerprint, "an export alone does not tell which weights it was made of"
    assert lines[1].startswith("clip: the weights in ")
    assert lines[1].endswith("pip install torch transformers")


def test_onnx_refuses_what_it_would_get_wrong(exported: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(exported, bare)
    with pytest.raises(OptionError, match="onnxruntime-gpu"):
        open_encoder(f"clip:{_without(bare, 'model.safetensors')}", device="cuda")
    settings = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps({**settings, "model_type": "siglip"}))
    with pytest.raises(InputError, match="an ONNX export must be of a clip model, got siglip"):
        open_encoder(f"clip:{bare}", device="cpu")


def test_the_name_opens_it_again(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders["clip"].parent)
    encoder = open_encoder(f"clip:{folders['clip'].name}", device="cpu")
    assert encoder.name == f"clip:{folders['clip'].resolve()}"
    monkeypatch.chdir(Path.home())
    assert open_encoder(encoder.name).fingerprint == encoder.fingerprint


def test_fingerprints_tell_weights_and_settings_apart(folders: dict[str, Path], tmp_path: Path) -> None:
    before = open_encoder(f"clip:{folders['clip']}", device="cpu").fingerprint
    with quiet():
        other = save_clip(tmp_path / "other", seed=1)
    assert open_encoder(f"clip:{other}", device="cpu").fingerprint != before
    same = tmp_path / "same"
    shutil.copytree(folders["clip"], same)
    settings = json.loads((same / "config.json").read_text())
    (same / "config.json").write_text(json.dumps({**settings, "transformers_version": "1.2.3"}))
    assert open_encoder(f"clip:{same}", device="cpu").fingerprint == before, "who saved the model does not matter"
    pixels = json.loads((same / "preprocessor_config.json").read_text())
    (same / "preprocessor_config.json").write_text(json.dumps({**pixels, "resample": 2}))
    assert open_encoder(f"clip:{same}", device="cpu").fingerprint != before


def test_nothing_is_printed_while_a_model_opens(folders: dict[str, Path], capfd: pytest.CaptureFixture[str]) -> None:
    open_encoder(f"clip:{folders['clip']}", device="cpu").texts(["a cat"])
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_is_named(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(folders["clip"], folder)
    with pytest.raises(InputError) as caught:
        open_encoder(f"clip:{_without(folder, 'model.safetensors')}", device="cpu")
    assert f"the folder {folder} lacks model.safetensors or pytorch_model.bin" in str(caught.value)
    assert "onnx/text_model.onnx and onnx/vision_model.onnx" in str(caught.value)
    with pytest.raises(InputError, match=r"lacks tokenizer\.json or vocab\.json and merges\.txt"):
        open_encoder(f"clip:{_without(folder, 'tokenizer.json')}", device="cpu")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-00001-of-00002.safetensors"}}')
    with pytest.raises(InputError, match=r"model-00001-of-00002\.safetensors"):
        open_encoder(f"clip:{folder}", device="cpu")


def test_a_missing_model_says_where_its_files_go(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"clip: there is no folder \./no/such/folder"):
        open_encoder("clip:./no/such/folder")
    with pytest.raises(InputError) as caught:
        open_encoder("clip:nobody/no-such-model", offline=True)
    text = str(caught.value)
    assert text.startswith("clip: the model nobody/no-such-model is not on this machine. ")
    assert "hf download nobody/no-such-model --local-dir no-such-model" in text
    assert "name it clip:no-such-model" in text
    assert "config.json; preprocessor_config.json or processor_config.json; tokenizer.json or " in text


def test_a_model_of_another_kind_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(folders["clip"], folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "model_type": "bert"}))
    with pytest.raises(InputError, match="must be a model of type clip, metaclip_2, siglip, got bert"):
        open_encoder(f"clip:{folder}", device="cpu")


def test_devices(folders: dict[str, Path]) -> None:
    import torch

    with pytest.raises(OptionError, match="device must be auto, cpu or cuda, got 'abacus'"):
        open_encoder(f"clip:{folders['clip']}", device="abacus")
    if not torch.cuda.is_available():
        with pytest.raises(OptionError, match="device must be auto or cpu where torch finds no GPU, got 'cuda'"):
            open_encoder(f"clip:{folders['clip']}", device="cuda")


@pytest.mark.gpu
def test_half_precision_on_a_gpu_gives_nearly_the_same(
    kind: str, folders: dict[str, Path], pictures: list[Picture]
) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    here, there = (open_encoder(f"clip:{folders[kind]}", device=device) for device in ("cpu", "cuda"))
    assert here.fingerprint == there.fingerprint
    np.testing.assert_allclose(there.texts(TEXTS), here.texts(TEXTS), atol=5e-3)
    np.testing.assert_allclose(there.pictures(pictures), here.pictures(pictures), atol=5e-3)


def test_a_model_is_downloaded_once(folders: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(folders["clip"], source)
    (source / "pytorch_model.bin").write_bytes(b"the same weights once more")
    (source / "open_clip_model.safetensors").write_bytes(b"the same weights for another library")
    (source / "README.md").write_text("read me")
    script = """
from mascot.photos.encoders.clip import clip_forms
from mascot.photos.encoders.folders import find_model
from mascot.errors import InputError
for model, offline in (("someone/model", True), ("someone/model", False), ("someone/model", True), ("some/one", False)):
    try:
        located = find_model("clip", model, clip_forms(), offline=offline)
        print(located.name, *sorted(path.name for path in located.folder.iterdir()))
    except InputError as error:
        print(error)
"""
    with local_hub(source) as hub:
        environment = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
        first, second, third, fourth = _python(script, **environment).splitlines()
    assert "the model someone/model is not on this machine" in first
    files = "config.json model.safetensors preprocessor_config.json tokenizer.json tokenizer_config.json"
    assert second == third == f"someone/model {files}"
    assert "the model hub did not give it (404: it does not exist)" in fourth
    assert not {"pytorch_model.bin", "open_clip_model.safetensors", "README.md"} & set(hub.files)
    assert len(hub.files) == len(set(hub.files))


def test_a_quantised_photograph_does_not_depend_on_the_batch(
    exported: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization", reason="needs the package onnx")
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    for name in ("text_model", "vision_model"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quantization.quantize_dynamic(folder / "onnx" / f"{name}.onnx", folder / "onnx" / f"{name}_quantized.onnx")
        (folder / "onnx" / f"{name}.onnx").unlink()
    before = open_encoder(f"clip:{folder}", device="cpu")  # torch weights are better than quantised ones
    full = open_encoder(f"clip:{exported}", device="cpu")
    assert before.fingerprint == full.fingerprint
    quantized = open_encoder(f"clip:{_without(folder, 'model.safetensors')}", device="cpu")
    assert quantized.fingerprint != full.fingerprint
    alone = np.concatenate([quantized.pictures([picture]) for picture in pictures])
    np.testing.assert_array_equal(quantized.pictures(pictures), alone)
    assert (quantized.pictures(pictures) * full.pictures(pictures)).sum(-1).min() > 0.9
    assert (quantized.texts(TEXTS) * full.texts(TEXTS)).sum(-1).min() > 0.9


def test_a_hub_out_of_reach_is_said_at_once(tmp_path: Path) -> None:
    script = """
import time
from mascot.errors import InputError
from mascot.photos.encoders import open_encoder
start = time.perf_counter()
try:
    open_encoder("clip")
except InputError as error:
    print(error)
print(time.perf_counter() - start)
"""
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    text, seconds = _python(script, **environment).splitlines()
    assert "the model openai/clip-vit-base-patch32 is not on this machine and the model hub did not give it" in text
    assert "hf download openai/clip-vit-base-patch32 --local-dir clip-vit-base-patch32" in text
    assert float(seconds) < 60  # importing takes most of it on a busy machine; a retry alone would take minutes


def _processor(folder: Path, kind: str) -> Any:
    """The library's own image processor for the folder, on PIL."""
    import transformers

    name = {"siglip": "SiglipImageProcessor"}.get(kind, "CLIPImageProcessor")
    processor_of = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)
    with quiet():
        processor = processor_of.from_pretrained(folder)
    return lambda images: processor(images, return_tensors="np")["pixel_values"]


def _without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder


def _python(script: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
