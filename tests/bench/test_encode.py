"""`mascot bench encode` through the real models, on small random weights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from encode_folders import TURNED, contents, prepared
from PIL import Image, ImageOps
from tiny_models import save_blip2, save_clip

from mascot.bench import presets
from mascot.bench.compare import differences
from mascot.bench.datasets.folder import Folder, content, is_published, read_folder, splits
from mascot.bench.encode import encode
from mascot.bench.encode.encoding import picture_batches
from mascot.bench.results import read
from mascot.bench.run import run
from mascot.errors import InputError, MissingExtra, OptionError

pytest.importorskip("torch", reason="needs torch: pip install 'mascot-rerank[clip]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'mascot-rerank[clip]'")

_HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mascot.photos.encoders.folders import quiet

    folder = tmp_path_factory.mktemp("models")
    with quiet():
        save_blip2(folder / "blip2")
        save_clip(folder / "clip")
        save_clip(folder / "other" / "clip", seed=1)
    return folder


@pytest.fixture(scope="module")
def encoded(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that BLIP-2 encoded without a break, four at a time."""
    folder = prepared(tmp_path_factory.mktemp("whole") / "data")
    encode(folder, f"blip2:{models / 'blip2'}", behaviour="correct", device="cpu", batch=4, candidates=10)
    return folder


@pytest.fixture
def copy(encoded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoded, tmp_path / "copy"))


@pytest.mark.parametrize(("kind", "tokens"), [("blip2", 8), ("clip", 1)])
def test_vectors_are_the_models_own(kind: str, tokens: int, models: Path, encoded: Path, tmp_path: Path) -> None:
    from mascot.photos.encoders import Picture, open_encoder

    folder = prepared(tmp_path / "data")
    reports: list[tuple[str, int, int]] = []
    where = encode(
        folder, f"{kind}:{models / kind}", behaviour="correct", device="cpu", batch=5, candidates=6,
        report=lambda *step: reports.append(step),
    )  # fmt: skip
    assert where == folder / "encoded" / f"{kind}-{kind}"
    stored = read_folder(folder)
    encoder = open_encoder(f"{kind}:{models / kind}", device="cpu")
    pictures = []
    for file in stored.columns["file"]:
        with Image.open(folder / file) as image:
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
        with np.load(where / f"lists-{split}.npz") as lists:
            np.testing.assert_array_equal(lists["queries"], queries)
            assert lists["rows"].shape == lists["scores"].shape == (len(queries), 6)
            assert (lists["rows"].dtype, lists["scores"].dtype) == (np.int32, np.float32)
            expected = -np.sort(-scores[np.ix_(queries, rows)], axis=1)[:, :6]
            length = min(len(rows), 6)
            np.testing.assert_allclose(lists["scores"][:, :length], expected, atol=1e-6)
            assert (lists["rows"][:, length:] == -1).all()
            assert (lists["scores"][:, length:] == -np.inf).all()
            actual = np.take_along_axis(scores[queries], lists["rows"][:, :length].astype(int), axis=1)
            np.testing.assert_allclose(actual, expected, atol=1e-6)
            assert set(lists["rows"][:, :length].ravel().tolist()) <= set(rows.tolist())

    assert reports[0] == ("images", 5, 23)
    assert ("images", 23, 23) in reports
    assert ("texts", 24, 24) in reports
    assert reports[-1] == ("lists", 25, 25)  # the query of both splits counts twice
    facts = json.loads((where / "model.json").read_text())
    assert facts == {
        "model": f"{kind}:{(models / kind).resolve()}", "fingerprint": encoder.fingerprint, "device": "cpu",
        "data": content(stored), "images": 23, "queries": 24, "tokens": tokens, "dim": 16, "images_done": 23,
        "texts_done": 24, "candidates": 6, "complete": True, "masked": True,
    }  # fmt: skip


def test_a_benchmark_reads_it(encoded: Path, models: Path) -> None:
    dataset = Folder(encoded, f"blip2:{models / 'blip2'}").load()
    hits = dataset.candidates(7, n=10)
    assert len(hits.images) == 10
    assert (hits.images >= 4).all()
    assert (np.diff(hits.scores) <= 0).all()


def test_published_texts_are_padded_by_the_hundred_and_not_masked(copy: Path, models: Path) -> None:
    from mascot.photos.encoders.blip2 import Blip2

    model, steps = f"blip2:{models / 'blip2'}", []
    where = copy / "encoded" / "blip2-blip2"
    before = contents(where)
    encode(copy, model, device="cpu", batch=4, candidates=10, report=lambda *step: steps.append(step))
    assert "images" not in {stage for stage, _, _ in steps}  # the pictures are the same
    assert ("texts", 24, 24) in steps
    after = contents(where)
    assert {name for name in after if after[name] != before[name]} >= {"texts.npy", "model.json"}
    assert after["tokens.npy"] == before["tokens.npy"]
    encoder = Blip2(str(models / "blip2"), device="cpu")
    texts = [query.text for query in read_folder(copy).queries]
    np.testing.assert_allclose(np.load(where / "texts.npy"), encoder.texts(texts, masked=False), atol=1e-6)
    alone = [encoder.texts([text], masked=False)[0] for text in texts]  # nothing is padded
    np.testing.assert_allclose(encoder.texts(texts), alone, atol=1e-5)
    assert np.abs(np.load(where / "texts.npy") - alone).max() > 1e-3
    encode(copy, model, behaviour="correct", device="cpu", batch=4, candidates=10)
    assert contents(where) == before


def test_a_local_copy_of_the_published_checkpoint_is_compared(models: Path, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(models / "blip2", tmp_path / "blip2-itm-vit-g-coco")
    folder = prepared(tmp_path / "data", 60)
    about = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**about, "name": "pixelprose"}))
    encode(folder, f"blip2:{checkpoint}", device="cpu", candidates=40)
    dataset = Folder(folder).load()
    assert dataset.name == "pixelprose"
    suite = presets.folder(folder, labels=["base", "mascot"], quick=True)
    assert suite.published == "pixelprose"
    run(suite, tmp_path / "results", jobs=1)
    assert {row.table for row in differences(read(tmp_path / "results"))} >= {"main", "sizes"}


def test_which_models_are_the_published_checkpoint() -> None:
    cache = "/home/me/.cache/huggingface/hub/models--Salesforce--blip2-itm-vit-g-coco/snapshots/abc"
    for model in (
        "blip2",
        "blip2:Salesforce/blip2-itm-vit-g-coco",
        "blip2:/models/blip2-itm-vit-g-coco",
        f"blip2:{cache}",
    ):
        assert is_published(model), model
    for model in ("clip", "blip2:Salesforce/blip2-itm-vit-g", "clip:/models/blip2-itm-vit-g-coco", "my vectors"):
        assert not is_published(model), model


def test_the_batch_changes_nothing_but_the_last_bits(copy: Path, models: Path) -> None:
    before = {name: np.load(copy / "encoded" / "blip2-blip2" / f"{name}.npy") for name in ("tokens", "texts")}
    shutil.rmtree(copy / "encoded")
    where = encode(copy, f"blip2:{models / 'blip2'}", behaviour="correct", device="cpu", batch=100, candidates=10)
    for name, array in before.items():
        np.testing.assert_allclose(np.load(where / f"{name}.npy"), array, atol=1e-5)


def test_a_complete_folder_asks_for_no_model(copy: Path, models: Path, tmp_path: Path) -> None:
    where = copy / "encoded" / "blip2-blip2"
    absent = tmp_path / "gone" / "blip2"
    facts = json.loads((where / "model.json").read_text())
    facts["model"] = f"blip2:{absent}"
    (where / "model.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")
    before, reports = contents(where), []
    assert (
        encode(copy, f"blip2:{absent}", behaviour="correct", candidates=10, report=lambda *step: reports.append(step))
        == where
    )
    assert contents(where) == before
    assert reports == []

    encode(
        copy,
        f"blip2:{absent}",
        behaviour="correct",
        device="cpu",
        candidates=3,
        report=lambda *step: reports.append(step),
    )
    assert {stage for stage, _, _ in reports} == {"lists"}
    with np.load(where / "lists-test.npz") as lists:
        assert lists["rows"].shape[1] == 3
    assert {name for name, data in contents(where).items() if data != before[name]} == {
        "model.json", "lists-test.npz", "lists-validation.npz",
    }  # fmt: skip
    (where / "lists-test.npz").write_bytes(b"PK damaged")
    encode(copy, f"blip2:{absent}", behaviour="correct", device="cpu", candidates=10)
    assert contents(where) == before


def test_a_moved_model_is_known_by_its_weights(copy: Path, models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "blip2", tmp_path / "elsewhere" / "blip2")
    reports: list[tuple[str, int, int]] = []
    where = encode(
        copy, f"blip2:{tmp_path / 'elsewhere' / 'blip2'}", behaviour="correct", device="cpu", candidates=10,
        report=lambda *step: reports.append(step),
    )  # fmt: skip
    assert reports == []
    assert json.loads((where / "model.json").read_text())["model"].endswith("elsewhere/blip2")


def test_another_model_of_the_same_name_is_refused(models: Path, tmp_path: Path) -> None:
    """What took a night is not replaced by a slip."""
    folder = prepared(tmp_path / "data", 12)
    first = encode(folder, f"clip:{models / 'clip'}", device="cpu")
    before = contents(first)
    with pytest.raises(InputError, match="clip would have the same name there: remove it"):
        encode(folder, f"clip:{models / 'other' / 'clip'}", device="cpu")
    assert contents(first) == before
    shutil.rmtree(first)
    second = encode(folder, f"clip:{models / 'other' / 'clip'}", device="cpu")
    assert contents(second)["tokens.npy"] != before["tokens.npy"]


def test_two_processes_do_not_encode_one_folder(models: Path, copy: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    with open(copy / "encoded" / ".blip2-blip2.lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being made by another process"):
            encode(copy, f"blip2:{models / 'blip2'}", device="cpu")


def test_changed_queries_begin_again(models: Path, tmp_path: Path) -> None:
    model = f"clip:{models / 'clip'}"
    folder = prepared(tmp_path / "data", 12)
    where = encode(folder, model, device="cpu")
    pictures = tmp_path / "pictures"
    (folder / "images").rename(pictures)
    shutil.copy(prepared(tmp_path / "new", 12, more=" in snow") / "queries.parquet", folder / "queries.parquet")
    shutil.copy(tmp_path / "new" / "dataset.json", folder / "dataset.json")
    with pytest.raises(InputError, match="was made of other images or queries"):
        Folder(folder).load()
    pictures.rename(folder / "images")
    encode(folder, model, device="cpu")
    Folder(folder).load()
    assert contents(where) == contents(encode(tmp_path / "new", model, device="cpu"))


def test_half_a_batch_is_written_again(encoded: Path, copy: Path, models: Path) -> None:
    """What a kill leaves behind: rows that were written and not counted."""
    where = copy / "encoded" / "blip2-blip2"
    facts = json.loads((where / "model.json").read_text())
    for name in ("tokens.npy", "vectors.npy", "texts.npy"):
        rows = np.load(where / name, mmap_mode="r+")
        rows[8:] = np.nan
        rows.flush()
    (where / "lists-test.npz").unlink()
    partial = facts | {"images_done": 8, "texts_done": 0, "candidates": 0, "complete": False}
    (where / "model.json").write_text(json.dumps(partial))
    with pytest.raises(InputError, match="has no vectors"):
        Folder(copy).load()
    reports: list[tuple[str, int, int]] = []
    encode(
        copy, f"blip2:{models / 'blip2'}", behaviour="correct", device="cpu", batch=4, candidates=10,
        report=lambda *step: reports.append(step),
    )  # fmt: skip
    assert reports[0] == ("images", 12, 23)
    assert contents(where) == contents(encoded / "encoded" / "blip2-blip2")


_SLOW = """
import sys, time
from pathlib import Path
from mascot.bench.encode import encode
report = lambda *_: time.sleep(0.05)
encode(Path(sys.argv[1]), sys.argv[2], behaviour="correct", device="cpu", batch=4, candidates=10, report=report)
"""


def test_killed_in_the_middle_and_resumed(encoded: Path, models: Path, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data")
    where = folder / "encoded" / "blip2-blip2"
    for field, count in (("images_done", 8), ("texts_done", 8)):
        command = [sys.executable, "-c", _SLOW, str(folder), f"blip2:{models / 'blip2'}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
        for _ in range(15_000):
            if process.poll() is not None or _count(where, field) >= count:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        assert count <= _count(where, field) < 23
    encode(folder, f"blip2:{models / 'blip2'}", behaviour="correct", device="cpu", batch=4, candidates=10)
    assert contents(where) == contents(encoded / "encoded" / "blip2-blip2")


def _count(where: Path, field: str) -> int:
    try:
        return int(json.loads((where / "model.json").read_text())[field])
    except OSError:
        return 0


def test_a_damaged_picture_is_named(models: Path, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data", 12)
    damaged = folder / "images" / "007.jpg"
    damaged.write_bytes(damaged.read_bytes()[:200])
    with pytest.raises(InputError, match=r"007\.jpg gives no picture .* mascot bench prepare"):
        encode(folder, f"clip:{models / 'clip'}", device="cpu", batch=2)
    assert _count(folder / "encoded" / "clip-clip", "images_done") == 6
    damaged.unlink()
    with pytest.raises(InputError, match=r"007\.jpg gives no picture .*No such file"):
        encode(folder, f"clip:{models / 'clip'}", device="cpu", batch=2)


def test_pictures_are_read_ahead_by_one_batch_and_no_more(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data", 12)
    paths = sorted((folder / "images").iterdir())
    batches = picture_batches(paths, 5)
    sizes = [[picture.image.size for picture in batch] for batch in batches]
    assert [len(batch) for batch in sizes] == [5, 5, 2]
    assert sizes[0][:3] == [(40, 48), (64, 40), (33, 33)]
    batches = picture_batches(paths, 2)
    assert len(next(batches)) == 2
    paths[4].unlink()
    assert len(next(batches)) == 2
    with pytest.raises(InputError, match=paths[4].name):
        next(batches)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "lite"}, "lite describes files by their words"),
        ({"model": "resnet"}, r"encode\.model must be blip2, clip, blip2:MODEL or clip:MODEL, got 'resnet'"),
        ({"batch": 0}, r"encode\.batch must be >= 1, got 0"),
        ({"candidates": 0}, r"encode\.candidates must be >= 1, got 0"),
        ({"model": "clip:no/such/folder"}, "there is no folder no/such/folder"),
    ],
)
def test_refusals(encoded: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        encode(encoded, **{"model": "blip2:nothing", "offline": True, **options})  # type: ignore[arg-type]


def test_the_published_models_are_the_papers(encoded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for model, name in (("blip2", "Salesforce/blip2-itm-vit-g-coco"), ("clip", "openai/clip-vit-large-patch14")):
        with pytest.raises(InputError, match=f"the model {name} is not on this machine"):
            encode(encoded, model, offline=True)


def test_no_prepared_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mascot bench prepare"):
        encode(tmp_path, "clip")


def test_torch_is_asked_for_by_its_extra(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = prepared(tmp_path / "data", 6)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install .*torch"):
        encode(folder, f"blip2:{models / 'blip2'}")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["blip2", "clip"])
def test_float16_on_a_gpu_is_near_and_not_mixed_with_the_cpu(kind: str, models: Path, tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use")
    folder, model = prepared(tmp_path / "data"), f"{kind}:{models / kind}"
    where = encode(folder, model, device="cpu")
    cpu = {name: np.load(where / f"{name}.npy") for name in ("tokens", "texts")}
    facts = json.loads((where / "model.json").read_text())
    (where / "model.json").write_text(json.dumps(facts | {"images_done": 5, "complete": False}))
    encode(folder, model, device="cuda")
    assert json.loads((where / "model.json").read_text())["device"] == "cuda"
    for name, array in cpu.items():
        gpu = np.load(where / f"{name}.npy")
        assert np.einsum("...d,...d->...", gpu, array).min() > 0.999
    assert (np.load(where / "tokens.npy")[:5] != cpu["tokens"][:5]).any()


_IN_A_MEBIBYTE = """
import sys
import torch
from pathlib import Path
from mascot.bench.encode.encoding import encode
torch.cuda.set_per_process_memory_fraction(2**20 / torch.cuda.get_device_properties(0).total_memory)
encode(Path(sys.argv[1]), sys.argv[2], device="cuda")
"""


@pytest.mark.gpu
def test_a_gpu_that_is_too_small_says_so(models: Path, tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use")
    arguments = [str(prepared(tmp_path / "data")), f"clip:{models / 'clip'}"]
    process = subprocess.run([sys.executable, "-c", _IN_A_MEBIBYTE, *arguments], capture_output=True, text=True)
    assert "encode.model must fit into the GPU's memory, got clip:" in process.stderr.splitlines()[-1]


def test_a_batch_that_is_too_large_says_so(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from mascot.photos.encoders.clip import Clip

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(Clip, "pictures", full)
    with pytest.raises(OptionError, match=r"encode.batch must fit into the GPU's memory, got 8: try a smaller one"):
        encode(prepared(tmp_path / "data"), f"clip:{models / 'clip'}", batch=8)
