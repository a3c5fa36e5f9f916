"""`mascot bench encode` through the real models, on small random weights."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps
from typer.testing import CliRunner

from mascot.bench.datasets.folder import Folder, Query, content, is_published, read_folder, splits, write_folder
from mascot.bench.encode import encode, vector_files
from mascot.bench.protocol import presets
from mascot.bench.running.records import read
from mascot.cli.bench_commands import bench
from mascot.errors import InputError
from tests.bench.range_server import Server
from tests.bench.recipe_worlds import fill_pixelprose
from tests.photos.tiny_models import WORDS, pictures_of, save_blip2, save_clip

pytest.importorskip("torch", reason="needs torch: pip install 'mascot-rerank[prepare]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'mascot-rerank[prepare]'")

TURNED = 3  # the row whose picture is stored lying on its side
Steps = list[tuple[str, int, int]]


def prepared(folder: Path, images: int = 23, *, more: str = "") -> Path:
    """A folder with one caption for each image, and one query for a handful of images of both splits."""
    (folder / "images").mkdir(parents=True)
    files = []
    for row, picture in enumerate(pictures_of(images)):
        files.append(f"images/{row:03d}.{'png' if row % 7 == 1 else 'jpg'}")
        exif = Image.Exif()
        if row == TURNED:
            exif[ExifTags.Base.Orientation] = 6
        picture.save(folder / files[-1], exif=exif, quality=90)
    captions = [" ".join(WORDS[(row * 5 + step) % len(WORDS)] for step in range(2 + row % 9)) for row in range(images)]
    queries = [Query(f"{text}{more}", (row,)) for row, text in enumerate(captions)]
    columns = {
        "id": [str(row) for row in range(images)],
        "file": files,
        "lat": [row * 1.5 - 40 for row in range(images)],
        "lon": [row * 3.5 - 90 for row in range(images)],
        "taken": [datetime(2020, 5, 1, row % 24) for row in range(images)],
    }
    write_folder(folder, "tiny", columns, images // 5, [*queries, Query("old tower", (0, 1, images - 1))], {})
    return folder


def contents(where: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(where.iterdir())}


def model_info(where: Path, **changes: Any) -> dict[str, Any]:
    info = json.loads((where / "model.json").read_text()) | changes
    (where / "model.json").write_text(json.dumps(info, indent=2, sort_keys=True) + "\n")
    return info


def run(folder: Path, model: str, **options: Any) -> tuple[Path, Steps]:
    """Encode four at a time; the folder of the vectors, and the progress."""
    steps: Steps = []
    options = {"behaviour": "correct", "batch": 4, "candidates": 10, **options}
    return encode(folder, model, device="cpu", report=lambda *step: steps.append(step), **options), steps


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mascot.bench.encode.torch_models import quiet

    folder = tmp_path_factory.mktemp("models")
    with quiet():
        save_blip2(folder / "blip2")
        save_clip(folder / "clip")
        save_clip(folder / "other" / "clip", seed=1)
    return folder


@pytest.fixture(scope="module")
def blip2(models: Path) -> str:
    return f"blip2:{models / 'blip2'}"


@pytest.fixture(scope="module")
def clip(models: Path) -> str:
    return f"clip:{models / 'clip'}"


@pytest.fixture(scope="module")
def encoded(blip2: str, clip: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that both models encoded without a break."""
    folder = prepared(tmp_path_factory.mktemp("whole") / "data")
    for model in (blip2, clip):
        _, steps = run(folder, model)
        assert (steps[0], steps[-1]) == (("images", 4, 23), ("lists", 25, 25))  # a query of both splits counts twice
    return folder


@pytest.fixture
def copy(encoded: Path, tmp_path: Path) -> Path:
    """A copy without the vectors of CLIP, which a test may change."""
    return Path(shutil.copytree(encoded, tmp_path / "copy", ignore=shutil.ignore_patterns("*clip-clip*")))


@pytest.mark.parametrize(("kind", "tokens"), [("blip2", 8), ("clip", 1)])
def test_vectors_are_the_models_own(kind: str, tokens: int, models: Path, encoded: Path) -> None:
    from mascot.bench.encode.torch_models import open_model
    from mascot.photos.encoders import Picture

    where, pictures = encoded / "encoded" / f"{kind}-{kind}", []
    stored, encoder = read_folder(encoded), open_model(f"{kind}:{models / kind}", device="cpu")
    for file in stored.columns["file"]:
        with Image.open(encoded / file) as image:
            pictures.append(Picture(ImageOps.exif_transpose(image).convert("RGB")))
    assert pictures[TURNED].image.size == (200, 90)  # stored with 90 columns and 200 rows

    arrays = {name: np.load(where / f"{name}.npy") for name in ("tokens", "vectors", "texts")}
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
    assert arrays["tokens"].shape == (23, tokens, 16)
    np.testing.assert_allclose(arrays["tokens"], encoder.pictures(pictures), atol=1e-5)
    np.testing.assert_allclose(arrays["texts"], encoder.texts([query.text for query in stored.queries]), atol=1e-5)
    mean = arrays["tokens"].astype(float).mean(1)
    np.testing.assert_allclose(arrays["vectors"], mean / np.linalg.norm(mean, axis=1)[:, None], atol=1e-6)

    scores = np.einsum("itd,qd->qit", arrays["tokens"].astype(float), arrays["texts"].astype(float)).max(2)
    for split, (rows, queries) in splits(stored).items():
        length = min(len(rows), 10)
        expected = -np.sort(-scores[np.ix_(queries, rows)], axis=1)[:, :10]
        with np.load(where / f"lists-{split}.npz") as lists:
            np.testing.assert_array_equal(lists["queries"], queries)
            np.testing.assert_allclose(lists["scores"][:, :length], expected, atol=1e-6)
            assert (lists["rows"][:, length:] == -1).all()
            actual = np.take_along_axis(scores[queries], lists["rows"][:, :length].astype(int), axis=1)
            np.testing.assert_allclose(actual, expected, atol=1e-6)
            assert set(lists["rows"][:, :length].ravel().tolist()) <= set(rows.tolist())
    assert model_info(where) == {
        "model": f"{kind}:{(models / kind).resolve()}", "fingerprint": encoder.fingerprint, "device": "cpu",
        "data": content(stored), "images": 23, "queries": 24, "tokens": tokens, "dim": 16, "images_done": 23,
        "texts_done": 24, "candidates": 10, "complete": True, "masked": True,
    }  # fmt: skip


def test_published_texts_are_padded_by_the_hundred_and_not_masked(copy: Path, models: Path, blip2: str) -> None:
    from mascot.bench.encode.torch_models import open_model

    where = copy / "encoded" / "blip2-blip2"
    before = contents(where)
    _, steps = run(copy, blip2, behaviour="published")
    assert {stage for stage, _, _ in steps} == {"texts", "lists"}  # the pictures are the same
    encoder = open_model(f"blip2:{models / 'blip2'}", device="cpu")
    texts = [query.text for query in read_folder(copy).queries]
    parts = (texts[:4], texts[4:23], texts[23:])  # no batch has queries of both splits
    batches = [encoder.texts(part, masked=False) for part in parts]
    np.testing.assert_allclose(np.load(where / "texts.npy"), np.concatenate(batches), atol=1e-6)
    alone = [encoder.texts([text], masked=False)[0] for text in texts]  # nothing is padded
    np.testing.assert_allclose(encoder.texts(texts), alone, atol=1e-5)
    assert np.abs(np.load(where / "texts.npy") - alone).max() > 1e-3
    moved = shutil.copytree(models / "blip2", copy.parent / "elsewhere" / "blip2")  # known by its weights
    run(copy, f"blip2:{moved}")
    assert model_info(where)["model"] == f"blip2:{moved}"
    model_info(where, model=blip2)
    assert contents(where) == before


def test_a_local_copy_of_the_published_checkpoint_is_compared(copy: Path) -> None:
    cache = "/home/me/.cache/huggingface/hub/models--Salesforce--blip2-itm-vit-g-coco/snapshots/abc"
    assert not any(map(is_published, ("blip2:Salesforce/blip2-itm-vit-g", "clip:/models/blip2-itm-vit-g-coco")))
    about = json.loads((copy / "dataset.json").read_text())
    (copy / "dataset.json").write_text(json.dumps({**about, "name": "pixelprose"}))
    assert presets.folder(copy, labels=["base"]).name == "pixelprose-blip2-blip2"
    model_info(copy / "encoded" / "blip2-blip2", model=f"blip2:{cache}")
    suite = presets.folder(copy, labels=["base"])
    assert (suite.name, suite.published) == ("pixelprose", "pixelprose")


def test_a_complete_folder_asks_for_no_model(copy: Path, tmp_path: Path) -> None:
    where, absent = copy / "encoded" / "blip2-blip2", f"blip2:{tmp_path / 'gone' / 'blip2'}"
    model_info(where, model=absent)
    before = contents(where)
    assert run(copy, absent) == (where, [])
    assert contents(where) == before
    run(copy, absent, candidates=3)
    changed = {name for name, data in contents(where).items() if data != before[name]}
    assert changed == {"model.json", "lists-test.npz", "lists-validation.npz"}
    (where / "lists-test.npz").write_bytes(b"PK damaged")
    run(copy, absent)
    assert contents(where) == before


def test_another_model_of_the_same_name_is_refused_and_changed_queries_begin_again(
    encoded: Path, models: Path, clip: str, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(encoded, tmp_path / "copy"))
    where = copy / "encoded" / "clip-clip"
    before = contents(where)
    with pytest.raises(InputError, match="clip would have the same name there: remove it"):
        run(copy, f"clip:{models / 'other' / 'clip'}")
    assert contents(where) == before
    new = prepared(tmp_path / "new", more=" in snow")
    for name in ("queries.parquet", "dataset.json"):
        shutil.copy(new / name, copy / name)
    with pytest.raises(InputError, match="was made of other images or queries"):
        Folder(copy, clip).load()
    run(copy, clip)
    Folder(copy, clip).load()
    assert contents(where) == contents(run(new, clip)[0])


def test_an_interrupted_run_continues_and_half_a_batch_is_written_again(
    encoded: Path, blip2: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepared(tmp_path / "data")
    where = folder / "encoded" / "blip2-blip2"
    save = vector_files._save
    for kind, count in (("images", 12), ("texts", 8)):
        field = f"{kind}_done"

        def killed(*arguments: Any, field: str = field, count: int = count) -> Any:
            if getattr(arguments[1], field) == count:  # the rows are written and not counted
                raise KeyboardInterrupt
            return save(*arguments)

        monkeypatch.setattr(vector_files, "_save", killed)
        with pytest.raises(KeyboardInterrupt):
            run(folder, blip2)
        assert model_info(where)[field] == count - 4
        with pytest.raises(InputError, match="has no vectors"):
            Folder(folder).load()
        for name in ("tokens.npy", "vectors.npy") if kind == "images" else ("texts.npy",):
            rows = np.load(where / name, mmap_mode="r+")
            rows[count - 3 :] = np.nan
            rows.flush()
    monkeypatch.setattr(vector_files, "_save", save)
    _, steps = run(folder, blip2)
    assert steps[0] == ("texts", 8, 24)
    assert contents(where) == contents(encoded / "encoded" / "blip2-blip2")


def test_a_damaged_picture_is_named(clip: str, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data", 12)
    damaged = folder / "images" / "007.jpg"
    damaged.write_bytes(damaged.read_bytes()[:200])
    with pytest.raises(InputError, match=r"007\.jpg gives no picture .* mascot bench prepare"):
        run(folder, clip, batch=2)
    assert model_info(folder / "encoded" / "clip-clip")["images_done"] == 6


def test_three_commands_make_the_tables(
    clip: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*words: str) -> str:
        done = CliRunner().invoke(bench, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    monkeypatch.setattr("mascot.bench.prepare.web.is_public", lambda address: True)  # the server is local
    data, results = str(tmp_path / "data"), str(tmp_path / "results")
    sources = [f"--source={name}={where}" for name, where in fill_pixelprose(server).items()]
    text = printed("prepare", "pixelprose", "--out", data, "--workers", "4", *sources)
    assert f"30 images, 6 of them for validation; 30 queries in {data}" in text
    assert "picture: 30 of 50 kept; lost: dead link 5, no caption 5, not a picture 5, out of range 5" in text
    assert f"mascot bench encode {data}" in text
    assert f"vectors in {data}" in printed("encode", data, "--model", clip, "--device", "cpu")
    printed("run", data, "--out", results, "--methods", "base,guarded", "--tasks", "geo", "--jobs", "1", "--quick")
    records = [record for record in read(results) if record["study"] == "main" and record["split"] == "test"]
    assert {record["dataset"] for record in records} == {"pixelprose-clip-clip"}
    assert {len(record["queries"]) for record in records} == {24}
    assert "Guarded" in printed("tables", results)
    # The paper's rows are BLIP-2's.
    assert "Nothing here has a published counterpart" in printed("compare", results)


def test_the_split_of_a_preparation_is_that_of_torch_at_every_size() -> None:
    import torch

    from mascot.bench.prepare.preparation import permutation

    for count, seed in ((0, 0), (1, 7), (683, 42), (15_650, 12345)):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
        assert permutation(count, seed).tolist() == order
