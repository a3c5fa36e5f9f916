"""Models from a hub on this machine: refusing and out of reach. No real model runs here."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mascot.cli.photos.encoder_choice import choose_encoder
from mascot.errors import InputError, OptionError
from mascot.photos import Library
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.local_hub import CLOSED, LocalHub, local_hub, use_hub
from tests.photos.tiny_models import pictures_of, save_onnx_clip
from tests.retelling import run_command

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install huggingface_hub")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install onnxruntime tokenizers")
pytest.importorskip("onnx", reason="needs the package onnx to build a model")

from mascot.cli.photos import encoder_choice
from mascot.photos.encoders import Picture, open_encoder
from mascot.photos.encoders.clip import DEFAULT, FORMS
from mascot.photos.encoders.hub import HubError, cached_model, download

LARGEST = "onnx/text_model_quantized.onnx"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_onnx_clip(tmp_path_factory.mktemp("model"))
    (folder / "README.md").write_text("read me")
    return folder


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with local_hub(model, DEFAULT) as served:
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


def fetch() -> Path:
    return download(DEFAULT, FORMS).folder


def test_only_the_files_of_one_form_are_downloaded_and_only_once(hub: LocalHub, model: Path) -> None:
    for _ in range(2):
        assert (fetch() / LARGEST).read_bytes() == (model / LARGEST).read_bytes()
    assert sorted(hub.files) == sorted({*hub.files})
    assert "README.md" not in hub.files
    assert cached_model(DEFAULT, FORMS) is not None


def test_refusals_are_short_reasons(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.refuse(401)
    with pytest.raises(HubError, match=r"^401: it does not exist, or needs a login: hf auth login, or set HF_TOKEN$"):
        fetch()
    hub.refuse(418)
    with pytest.raises(HubError, match=r"^the hub answered 418$"):
        fetch()
    hub.publish()
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
    assert f"downloading {DEFAULT}, 154 MB; Ctrl-C continues with lite" in errors
    assert Library(root).encoder == f"clip:{DEFAULT}"
    second = shutil.copytree(root, tmp_path / "second", ignore=shutil.ignore_patterns(".mascot"))
    use_hub(CLOSED, tmp_path, monkeypatch)
    code, _, errors = mascot("index", str(second))
    assert (code, errors) == (0, f"mascot: encoding with clip:{DEFAULT}, which is on this machine\n")
    assert Library(second).encoder == f"clip:{DEFAULT}"


@pytest.mark.parametrize("fault", ["no network", "Ctrl-C"])
def test_a_hub_that_does_not_give_the_model_leads_to_lite_at_once(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], fault: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    reason = "no model from the hub ("
    if fault == "no network":
        use_hub(CLOSED, tmp_path, monkeypatch)
    else:
        monkeypatch.setattr(encoder_choice, "download", interrupt)
        reason = "the download was stopped"
    assert choose_encoder(Library(tmp_path), "auto", False) == ("lite", False)
    assert capfd.readouterr().err.count(f"encoding with lite: {reason}") == 1


def test_a_change_is_refused_before_the_download_and_made_with_again(hub: LocalHub, root: Path, tmp_path: Path) -> None:
    with Library(root) as library:
        library.index(BagOfWords("lite"))
    spec = f"clip:{DEFAULT}"
    code, out, errors = mascot("index", str(root), "--encoder", spec)
    assert (code, out) == (2, "")
    assert "this library is encoded with lite: encode all 3 photographs anew with " in errors
    assert "? Then run: " in errors
    assert errors.endswith(f"index --encoder {spec} --again\n")
    assert hub.files == []
    code, out, errors = mascot("index", str(root), "--encoder", spec, "--again")
    assert code == 0, errors
    assert "3 changed" in out
    assert Library(root).encoder == spec
    shutil.rmtree(tmp_path / "hub")
    code, out, errors = mascot("index", str(root), "--encoder", "clip")
    assert (code, errors) == (0, f"mascot: downloading {DEFAULT}\n"), "the library's own, named and not here"
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
        choose_encoder(library, spec, False)
    assert choose_encoder(library, spec, False) == (spec, True)
    assert "searches use lite until all photographs are encoded" in terminal.getvalue()
    assert f"encode all 3 photographs anew with {spec}? [y/N]" in terminal.getvalue()


def test_a_model_without_an_export_is_refused_and_a_full_export_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_onnx_clip(tmp_path / "model")
    for path in (folder / "onnx").iterdir():
        path.rename(path.with_name(path.name.replace("_quantized", "")))
    (folder / "model.safetensors").write_bytes(bytes(60_000))
    with local_hub(folder) as hub:
        use_hub(hub.server.url, tmp_path / "home", monkeypatch)
        encoder = open_encoder("clip:someone/model")
        assert (encoder.name, encoder.texts(["cat"]).shape) == ("clip:someone/model", (1, 4096))
        assert "onnx/text_model.onnx" in hub.files
        assert "model.safetensors" not in hub.files
        shutil.rmtree(folder / "onnx")
        hub.publish()
        use_hub(hub.server.url, tmp_path / "other", monkeypatch)
        with pytest.raises(InputError, match=r"\(it lacks onnx/text_model_quantized\.onnx, .*The folder must contain"):
            open_encoder("clip:someone/model")
        assert "model.safetensors" not in hub.files


def test_what_cannot_be_opened_is_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    with pytest.raises(OptionError, match="onnxruntime-gpu"):
        open_encoder(f"clip:{copy}", device="cuda")
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(settings | {"model_type": "siglip"}))
    with pytest.raises(InputError, match="an ONNX export must be of a clip model, got siglip"):
        open_encoder(f"clip:{copy}")
    (copy / LARGEST).unlink()
    with pytest.raises(InputError, match=rf"lacks {LARGEST}\. .*hf download MODEL --local-dir FOLDER"):
        open_encoder(f"clip:{copy}")
    with pytest.raises(InputError, match=r"not on this machine\. .*hf download nobody/model --local-dir model"):
        open_encoder("clip:nobody/model", offline=True)
    use_hub(CLOSED, tmp_path, monkeypatch)
    with pytest.raises(InputError, match="clip-vit-base-patch32 is not on this machine and could not be downloaded"):
        open_encoder("clip")


def test_vectors_do_not_depend_on_the_batch_and_fingerprints_tell_models_apart(model: Path, tmp_path: Path) -> None:
    encoder = open_encoder(f"clip:{model}")
    pictures = [Picture(image) for image in pictures_of()]
    alone = np.concatenate([encoder.pictures([picture]) for picture in pictures])
    np.testing.assert_array_equal(encoder.pictures(pictures), alone)
    np.testing.assert_allclose(np.linalg.norm(alone, axis=-1), 1, atol=1e-6)
    assert encoder.texts([]).shape == (0, encoder.dim)
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(settings | {"transformers_version": "1.2.3"}))
    assert open_encoder(f"clip:{copy}").fingerprint == encoder.fingerprint
    sizes = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps(sizes | {"resample": 2}))
    assert open_encoder(f"clip:{copy}").fingerprint != encoder.fingerprint
