"""Models from a hub on this machine: slow, broken off, refusing, lying and out of reach. No real model runs here."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jpegs import small_library
from local_hub import LocalHub, local_hub
from tiny_models import save_onnx_clip

from retelling import environment

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install huggingface_hub")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install onnxruntime tokenizers")
pytest.importorskip("onnx", reason="needs the package onnx to build a model")

SMALL = "Xenova/clip-vit-base-patch32"
LARGEST = "onnx/text_model_quantized.onnx"
CLOSED = "http://127.0.0.1:9"
FETCH = """
import json, sys
from mascot.photos.encoders.folders import Form
from mascot.photos.encoders.hub import HubError, plan_download
from mascot.photos.encoders.clip import SMALL
told = []
try:
    download = plan_download(SMALL, list(Form))
    folder = download.fetch(lambda what, done, total: told.append((what, done, total)))
    print(json.dumps({"size": download.size, "folder": str(folder), "told": told}))
except HubError as error:
    print(json.dumps({"error": str(error)}))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_onnx_clip(tmp_path_factory.mktemp("model"))
    (folder / "README.md").write_text("read me")
    return folder


@pytest.fixture
def hub(model: Path) -> Iterator[LocalHub]:
    with local_hub(model, SMALL) as served:
        yield served


def start(words: list[str], address: str, home: Path, **more: str) -> subprocess.Popen[str]:
    env = environment(HF_ENDPOINT=address, HF_HOME=str(home), HF_HUB_OFFLINE="0", XDG_STATE_HOME=str(home), **more)
    command = [sys.executable, "-W", "error::UserWarning", *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fetch(address: str, home: Path, **more: str) -> dict[str, Any]:
    process = start(["-c", FETCH], address, home, **more)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert errors == ""
    return json.loads(out)


def mascot(address: str, home: Path, *words: str) -> tuple[int, str, str]:
    process = start(["-m", "mascot", *words], address, home)
    out, errors = process.communicate(timeout=240)
    return process.returncode, out, errors


def encoder_of(root: Path) -> str:
    with sqlite3.connect(root / ".mascot" / "library.sqlite") as connection:
        return str(connection.execute("SELECT value FROM facts WHERE name = 'encoder'").fetchone()[0])


def wait_until(condition: Any) -> None:
    limit = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.02)


def parts_of(home: Path) -> list[Path]:
    return list(home.rglob("*.mascot-part"))


def largest_part(home: Path) -> int:
    """Bytes; a part may be complete and renamed while it is looked at."""
    sizes = [0]
    for part in parts_of(home):
        with suppress(FileNotFoundError):
            sizes.append(part.stat().st_size)
    return max(sizes)


def test_a_slow_hub_reports_every_byte(hub: LocalHub, tmp_path: Path) -> None:
    hub.pause_s = 0.01
    answer = fetch(hub.address, tmp_path)
    done = [count for _, count, _ in answer["told"]]
    assert done == sorted(done)
    assert done[-1] == answer["size"]
    assert len(done) > 4
    assert {what for what, _, _ in answer["told"]} == {f"downloading {SMALL}"}
    assert "README.md" not in hub.files
    assert (Path(answer["folder"]) / LARGEST).is_file()
    assert not parts_of(tmp_path)


def test_a_broken_connection_is_resumed_in_the_same_run(hub: LocalHub, model: Path, tmp_path: Path) -> None:
    hub.break_after, hub.breaks = 300_000, 2
    answer = fetch(hub.address, tmp_path)
    assert (Path(answer["folder"]) / LARGEST).read_bytes() == (model / LARGEST).read_bytes()
    methods = [method for method, name in hub.requests if name == LARGEST and method.startswith("GET")]
    starts = [int(method.removeprefix("GET bytes=").removesuffix("-")) for method in methods[1:]]
    assert (methods[0], len(starts)) == ("GET", 2)
    assert 0 < starts[0] < starts[1]


def test_a_killed_download_is_resumed_by_the_next_run(hub: LocalHub, model: Path, tmp_path: Path) -> None:
    hub.pause_s = 0.2
    process = start(["-c", FETCH], hub.address, tmp_path)
    wait_until(lambda: largest_part(tmp_path) > 100_000)
    process.kill()
    process.communicate()
    size = parts_of(tmp_path)[0].stat().st_size
    hub.pause_s = 0
    hub.requests.clear()
    answer = fetch(hub.address, tmp_path)
    assert (Path(answer["folder"]) / LARGEST).read_bytes() == (model / LARGEST).read_bytes()
    resumed = [re.search(r"bytes=(\d+)-", method) for method, name in hub.requests if name == LARGEST]
    assert max(int(match[1]) for match in resumed if match) >= size


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "401: it does not exist, or needs a login: hf auth login"),
        (404, "404: it does not exist"),
        (429, "429: too many requests; try again later"),
        (503, "the hub answered 503"),
    ],
)
def test_refusals_are_short_reasons(hub: LocalHub, tmp_path: Path, status: int, reason: str) -> None:
    hub.status = status
    assert fetch(hub.address, tmp_path) == {"error": reason}


def test_a_wrong_hash_is_refused_and_removed(hub: LocalHub, tmp_path: Path) -> None:
    hub.tampered = True
    answer = fetch(hub.address, tmp_path)
    assert answer == {"error": f"{LARGEST} has the wrong hash and was removed: run the same command again"}
    assert not parts_of(tmp_path)
    assert not list(tmp_path.rglob("text_model_quantized.onnx"))
    hub.tampered = False
    assert "folder" in fetch(hub.address, tmp_path)


def test_no_network_and_a_cache_that_cannot_be_written(hub: LocalHub, tmp_path: Path) -> None:
    assert fetch(CLOSED, tmp_path)["error"].startswith("no connection: ")
    (tmp_path / "file").write_text("")
    answer = fetch(hub.address, tmp_path, HF_HUB_CACHE=str(tmp_path / "file" / "hub"))
    assert re.fullmatch(r"cannot write .*/file/hub.*; HF_HOME names another folder", answer["error"])


def test_a_new_library_gets_a_clip_from_the_hub_and_then_the_one_here(hub: LocalHub, tmp_path: Path) -> None:
    first, second = small_library(tmp_path / "first"), small_library(tmp_path / "second")
    code, out, errors = mascot(hub.address, tmp_path, "index", str(first))
    assert code == 0, errors
    assert "30 photographs: 30 new" in out
    assert re.search(rf"downloading {SMALL}, 1\.0 MB; Ctrl-C continues with lite", errors)
    assert encoder_of(first) == f"clip:{SMALL}"
    code, _, errors = mascot(CLOSED, tmp_path, "index", str(second))
    assert code == 0, errors
    assert errors == f"mascot: encoding with clip:{SMALL}, which is on this machine\n"
    assert encoder_of(second) == f"clip:{SMALL}"
    code, out, errors = mascot(CLOSED, tmp_path, "search", "cat", "--library", str(second), "-k", "3")
    assert (code, errors) == (0, "")
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize("address", [CLOSED, "refusing", "tampered"])
def test_a_hub_that_does_not_give_the_model_leads_to_lite_at_once(hub: LocalHub, tmp_path: Path, address: str) -> None:
    hub.status, hub.tampered = (404 if address == "refusing" else 200), address == "tampered"
    root = small_library(tmp_path / "photos")
    code, out, errors = mascot(CLOSED if address == CLOSED else hub.address, tmp_path, "index", str(root))
    assert code == 0, errors
    assert "30 photographs: 30 new" in out
    assert errors.count("encoding with lite: no model from the hub (") == 1
    assert encoder_of(root) == "lite"


def test_ctrl_c_in_a_download_goes_on_with_lite(hub: LocalHub, tmp_path: Path) -> None:
    hub.pause_s = 0.2
    root = small_library(tmp_path / "photos")
    process = start(["-m", "mascot", "index", str(root)], hub.address, tmp_path)
    wait_until(lambda: largest_part(tmp_path) > 100_000)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert "30 photographs: 30 new" in out
    assert "encoding with lite: the download was stopped, and is resumed next time" in errors
    assert encoder_of(root) == "lite"
    assert parts_of(tmp_path)


def test_a_change_is_refused_before_the_download_and_made_with_again(hub: LocalHub, tmp_path: Path) -> None:
    root = small_library(tmp_path / "photos")
    assert mascot(CLOSED, tmp_path, "index", str(root), "--encoder", "lite")[0] == 0
    spec = f"clip:{SMALL}"
    code, out, errors = mascot(hub.address, tmp_path, "index", str(root), "--encoder", spec)
    assert (code, out) == (2, "")
    assert "this library is encoded with lite: encode all 30 photographs anew with " in errors
    assert "(1.0 MB to download)? Then run: " in errors
    assert errors.endswith(f"index --encoder {spec} --again\n")
    assert hub.files == []
    code, out, errors = mascot(hub.address, tmp_path, "index", str(root), "--encoder", spec, "--again")
    assert code == 0, errors
    assert "30 changed" in out
    assert encoder_of(root) == spec
    shutil.rmtree(tmp_path / "hub")
    code, out, errors = mascot(hub.address, tmp_path, "index", str(root), "--encoder", "clip")
    assert (code, errors) == (0, f"mascot: downloading {SMALL}, 1.0 MB\n"), "the library's own, named and not here"
    assert "30 unchanged" in out


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_terminal_is_asked_before_a_change(model: Path, tmp_path: Path, answer: str) -> None:
    root = small_library(tmp_path / "photos")
    assert mascot(CLOSED, tmp_path, "index", str(root), "--encoder", "lite")[0] == 0
    leader, follower = pty.openpty()
    env = environment(HF_ENDPOINT=CLOSED, HF_HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path), TERM="dumb")
    command = [sys.executable, "-m", "mascot", "index", str(root), "--encoder", f"clip:{model}"]
    process = subprocess.Popen(command, env=env, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    os.write(leader, f"{answer}\n".encode())
    text = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(leader)
    assert process.wait(timeout=120) == (0 if answer == "y" else 2), text.decode()
    assert b"searches use lite until all photographs are encoded" in text
    assert encoder_of(root) == (f"clip:{model.resolve()}" if answer == "y" else "lite")
    assert (b"nothing was changed" in text) == (answer == "n")


def test_torch_weights_are_not_downloaded_without_torch(model: Path, tmp_path: Path) -> None:
    script = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = None
from mascot.errors import InputError
from mascot.photos.encoders import open_encoder
try:
    encoder = open_encoder("clip:someone/model")
    print(encoder.name, encoder.texts(["cat"]).shape)
except InputError as error:
    print(error)
"""
    both = tmp_path / "both"
    save_onnx_clip(both)
    (both / "model.safetensors").write_bytes(bytes(60_000))
    with local_hub(both) as hub:
        out, errors = start(["-c", script], hub.address, tmp_path / "home").communicate(timeout=120)
        assert (out, errors) == ("clip:someone/model (1, 4096)\n", "")
        assert LARGEST in hub.files
        assert "model.safetensors" not in hub.files
        for file in (both / "onnx").iterdir():
            file.unlink()
        hub.requests.clear()
        out, errors = start(["-c", script], hub.address, tmp_path / "other").communicate(timeout=120)
        assert "(it has only torch weights: " in out
        assert "pip install torch transformers)" in out
        assert hub.files == []


def test_quantised_weights_have_their_own_fingerprint(tmp_path: Path) -> None:
    from mascot.photos.encoders import open_encoder

    full = open_encoder(f"clip:{save_onnx_clip(tmp_path / 'full', 'full')}")
    quantized = open_encoder(f"clip:{save_onnx_clip(tmp_path / 'quantized')}")
    assert full.fingerprint == quantized.fingerprint, "the same bytes under both names here"
    (tmp_path / "quantized" / "model.safetensors").write_bytes(b"weights that do not run")
    assert os.path.isfile(tmp_path / "quantized" / LARGEST)
    script = """
import sys
sys.modules["torch"] = None
from mascot.photos.encoders import open_encoder
print(*(open_encoder("clip:" + folder).fingerprint for folder in sys.argv[1:]))
"""
    (tmp_path / "full" / "model.safetensors").write_bytes(b"weights that do not run")
    words = ["-c", script, str(tmp_path / "full"), str(tmp_path / "quantized")]
    out, _ = start(words, CLOSED, tmp_path).communicate(timeout=120)
    of_weights, of_quantized = out.split()
    assert of_quantized == quantized.fingerprint
    assert of_weights != of_quantized
