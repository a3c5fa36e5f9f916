"""Models from a hub on this machine: broken off, refusing, lying and out of reach. No real model runs here."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mascot.cli.photos.encoder_choice import choose_encoder
from mascot.errors import InputError, OptionError
from mascot.photos import Library
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.local_hub import CLOSED, LocalHub, local_hub, use_hub
from tests.photos.tiny_models import save_onnx_clip
from tests.retelling import run_command

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install huggingface_hub")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install onnxruntime tokenizers")
pytest.importorskip("onnx", reason="needs the package onnx to build a model")

from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.clip import SMALL
from mascot.photos.encoders.encoder import Report
from mascot.photos.encoders.hub import Download, HubError, plan_download
from mascot.photos.encoders.model_folders import Form

LARGEST = "onnx/text_model_quantized.onnx"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_onnx_clip(tmp_path_factory.mktemp("model"))
    (folder / "README.md").write_text("read me")
    return folder


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with local_hub(model, SMALL) as served:
        use_hub(served.server.url, tmp_path, monkeypatch)
        yield served


def mascot(*words: str) -> tuple[int, str, str]:
    result = run_command(*words)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        write_jpeg(tmp_path / "photos" / f"{name}.jpg", f"the letter {name}")
    return tmp_path / "photos"


def fetch(report: Report | None = None) -> Path:
    return plan_download(SMALL, list(Form)).fetch(report)


def test_a_download_reports_every_byte_and_takes_what_is_needed(
    hub: LocalHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps: list[tuple[str, int, int]] = []
    folder = fetch(lambda *step: steps.append(step))
    counts = [count for _, count, _ in steps]
    assert counts == sorted(counts)
    assert steps[-1] == (f"downloading {SMALL}", *[plan_download(SMALL, list(Form)).size] * 2)
    assert "README.md" not in hub.files
    assert (folder / LARGEST).is_file()
    assert capfd.readouterr() == ("", "")


def test_a_broken_connection_is_resumed_in_the_same_run(hub: LocalHub, model: Path) -> None:
    hub.cut(LARGEST, 300_000, 300_000)
    assert (fetch() / LARGEST).read_bytes() == (model / LARGEST).read_bytes()
    ranges = [range_ for name, range_ in hub.downloads if name == LARGEST]
    assert (ranges[0], len(set(ranges))) == (None, 3)


def test_an_interrupted_download_is_resumed_by_the_next_one(hub: LocalHub, model: Path, tmp_path: Path) -> None:
    def interrupt(_step: str, count: int, _total: int) -> None:
        if count > 300_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(interrupt)
    (part,) = tmp_path.rglob("*.mascot-part")
    size = part.stat().st_size
    hub.server.requests.clear()
    assert (fetch() / LARGEST).read_bytes() == (model / LARGEST).read_bytes()
    assert (LARGEST, f"bytes={size}-") in hub.downloads


def test_refusals_are_short_reasons(hub: LocalHub) -> None:
    hub.refuse(401)
    with pytest.raises(HubError, match=r"^401: it does not exist, or needs a login: hf auth login, or set HF_TOKEN$"):
        fetch()
    hub.refuse(503)
    with pytest.raises(HubError, match=r"^the hub answered 503$"):
        fetch()


def test_a_wrong_hash_and_a_cache_that_cannot_be_written(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.tamper()
    with pytest.raises(HubError, match=rf"^{LARGEST} has the wrong hash and was removed: run the same command again$"):
        fetch()
    assert not [*tmp_path.rglob("text_model_quantized*"), *tmp_path.rglob("*.mascot-part")]
    hub.publish()
    assert fetch().is_dir()
    (tmp_path / "file").write_text("")
    use_hub(hub.server.url, tmp_path / "file", monkeypatch)
    with pytest.raises(HubError, match=r"^cannot write .*/file/hub.*; set HF_HOME to another folder$"):
        fetch()


def test_a_new_library_gets_a_clip_from_the_hub_and_then_the_one_here(
    hub: LocalHub, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, errors = mascot("index", str(root))
    assert code == 0, errors
    assert "3 photographs: 3 new" in out
    assert re.search(rf"downloading {SMALL}, 1\.0 MB; Ctrl-C continues with lite", errors)
    assert Library(root).encoder == f"clip:{SMALL}"
    second = shutil.copytree(root, tmp_path / "second", ignore=shutil.ignore_patterns(".mascot"))
    use_hub(CLOSED, tmp_path, monkeypatch)
    code, _, errors = mascot("index", str(second))
    assert (code, errors) == (0, f"mascot: encoding with clip:{SMALL}, which is on this machine\n")
    assert Library(second).encoder == f"clip:{SMALL}"


@pytest.mark.parametrize("fault", ["no network", "tampered", "Ctrl-C"])
def test_a_hub_that_does_not_give_the_model_leads_to_lite_at_once(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], fault: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    reason = "no model from the hub ("
    if fault == "no network":
        use_hub(CLOSED, tmp_path, monkeypatch)
    elif fault == "tampered":
        hub.tamper()
    else:
        monkeypatch.setattr(Download, "fetch", interrupt)
        reason = "the download was stopped, and is resumed next time"
    assert choose_encoder(Library(tmp_path), "auto", False, "auto") == ("lite", False)
    assert capfd.readouterr().err.count(f"encoding with lite: {reason}") == 1


def test_a_change_is_refused_before_the_download_and_made_with_again(hub: LocalHub, root: Path, tmp_path: Path) -> None:
    with Library(root) as library:
        library.index(BagOfWords("lite"))
    spec = f"clip:{SMALL}"
    code, out, errors = mascot("index", str(root), "--encoder", spec)
    assert (code, out) == (2, "")
    assert "this library is encoded with lite: encode all 3 photographs anew with " in errors
    assert "(1.0 MB to download)? Then run: " in errors
    assert errors.endswith(f"index --encoder {spec} --again\n")
    assert hub.files == []
    code, out, errors = mascot("index", str(root), "--encoder", spec, "--again")
    assert code == 0, errors
    assert "3 changed" in out
    assert Library(root).encoder == spec
    shutil.rmtree(tmp_path / "hub")
    code, out, errors = mascot("index", str(root), "--encoder", "clip")
    assert (code, errors) == (0, f"mascot: downloading {SMALL}, 1.0 MB\n"), "the library's own, named and not here"
    assert "3 unchanged" in out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_asked_before_a_change(model: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, spec, terminal = Library(root), f"clip:{model}", Terminal()
    library.index(BagOfWords("lite"))
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.stdin", Terminal("n\ny\n"))
    with pytest.raises(OptionError, match="nothing was changed; the library stays encoded with lite"):
        choose_encoder(library, spec, False, "auto")
    assert choose_encoder(library, spec, False, "auto") == (spec, True)
    assert "searches use lite until all photographs are encoded" in terminal.getvalue()
    assert f"encode all 3 photographs anew with {spec}? [y/N]" in terminal.getvalue()


def test_without_torch_its_weights_are_neither_downloaded_nor_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    both = save_onnx_clip(tmp_path / "both")
    (both / "model.safetensors").write_bytes(bytes(60_000))
    with local_hub(both) as hub:
        use_hub(hub.server.url, tmp_path / "home", monkeypatch)
        encoder = open_encoder("clip:someone/model")
        assert (encoder.name, encoder.texts(["cat"]).shape) == ("clip:someone/model", (1, 4096))
        assert LARGEST in hub.files
        assert "model.safetensors" not in hub.files
        shutil.rmtree(both / "onnx")
        hub.publish()
        use_hub(hub.server.url, tmp_path / "other", monkeypatch)
        with pytest.raises(InputError, match=r"\(it has only torch weights: .*pip install torch transformers\)"):
            open_encoder("clip:someone/model")
        assert hub.files == []
