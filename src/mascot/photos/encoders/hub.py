"""Downloads from the model hub: planned before they start, resumed after an interruption, and checked by hash.

Files go into the cache of the hub, so that other programs can use them. The client of the hub neither resumes the
download of an earlier process nor checks hashes, so the bytes are fetched here; the client lays out the cache.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from mascot.errors import MascotError
from mascot.extras import install_command, package
from mascot.photos.encoders.folders import ONNX_PACKAGES, TORCH_PACKAGES, Form, Report

_ANSWER_S = 10.0  # timeout of the first answer of the hub
_SILENCE_S = 30.0  # timeout within a download
_ATTEMPTS, _PAUSE_S = 4, 0.5  # consecutive attempts without a byte; increment of the pause between them
_CHUNK = 2**16
_SMALL_FILES = (".json", ".txt", ".model")  # settings and tokenizers


class HubError(MascotError):
    """A model could not be downloaded from the hub. The message is a short reason."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a model on the hub."""

    name: str
    size: int  # bytes
    checksum: str  # SHA-256 of large files; SHA-1 as git computes it of small ones

    def matches(self, path: Path) -> bool:
        """Return whether the file has this size and checksum."""
        if path.stat().st_size != self.size:
            return False
        digest = hashlib.sha256() if len(self.checksum) == 64 else hashlib.sha1(b"blob %d\0" % self.size)
        with path.open("rb") as file:
            while chunk := file.read(2**20):
                digest.update(chunk)
        return digest.hexdigest() == self.checksum


@dataclass(frozen=True, slots=True)
class Download:
    """The files of a model that are to be downloaded."""

    model: str
    commit: str
    files: tuple[HubFile, ...]

    @property
    def size(self) -> int:
        """The total size in bytes."""
        return sum(file.size for file in self.files)

    def fetch(self, report: Report | None = None) -> Path:
        """Download the missing files and return the folder. Raises `HubError`; a partial download is kept."""
        hub = _client()
        folder, byte_count = None, 0
        with _short_reasons(), _without_bars(hub):
            for file in self.files:
                blob = _blobs(hub, self.model) / file.checksum
                if not blob.is_file():
                    _fetch(hub, self, file, blob, partial(self._report, report, byte_count))
                byte_count += file.size
                self._report(report, byte_count)
                # Finds the blob in place and adds the links to it.
                path = Path(hub.hf_hub_download(self.model, file.name, etag_timeout=_ANSWER_S))
                folder = path.parent if "/" not in file.name else folder
        if folder is None:
            raise HubError("it holds no settings")
        return folder

    def _report(self, report: Report | None, before: int, extra: int = 0) -> None:
        if report is not None:
            report(f"downloading {self.model}", before + extra, self.size)


def plan_download(model: str, forms: Sequence[Form], timeout_s: float = _ANSWER_S) -> Download:
    """Query the hub for the files that the model needs here. Nothing is downloaded. Raises `HubError`.

    Of the forms that run here, torch weights are preferred, then the smaller export.
    """
    hub = _client()
    with _short_reasons():
        information = hub.HfApi().model_info(model, files_metadata=True, timeout=timeout_s)
    siblings = {sibling.rfilename: sibling for sibling in information.siblings or []}
    order = [form for form in (Form.TORCH, Form.QUANTIZED, Form.ONNX) if form in forms]
    weights = next((files for form in order if form.runs and (files := form.files(siblings))), [])
    if not weights:
        other = next((form for form in order if form.files(siblings)), None)
        raise HubError(
            "it has no weights" if other is None else f"it has only {other.value} weights: {_packages(other)}"
        )
    small = [name for name in siblings if "/" not in name and name.endswith(_SMALL_FILES) and name not in weights]
    hub_files: list[HubFile] = []
    for name in (*small, *weights):
        sibling = siblings[name]
        checksum = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
        if not checksum or sibling.size is None or not _is_plain(name):
            raise HubError(f"the hub does not tell size and hash of {name}")
        hub_files.append(HubFile(name, int(sibling.size), str(checksum)))
    return Download(model, str(information.sha), tuple(hub_files))


def cached_folder(model: str) -> Path | None:
    """Return the folder of a model downloaded before, complete or not."""
    hub = _client()
    try:
        return Path(hub.snapshot_download(model, local_files_only=True))
    except (hub.errors.LocalEntryNotFoundError, OSError):
        return None


def cached_models() -> Iterator[str]:
    """Yield the names of the models in the cache of the hub on this machine."""
    for folder in sorted(Path(_client().constants.HF_HUB_CACHE).glob("models--*")):
        yield folder.name.removeprefix("models--").replace("--", "/")


def _client() -> Any:
    hub = package("huggingface_hub", "photos", "a model from the hub")
    for part in ("constants", "errors", "file_download", "utils"):  # the package may not have loaded them
        import_module(f"huggingface_hub.{part}")
    return hub


def _blobs(hub: Any, model: str) -> Path:
    folder = hub.file_download.repo_folder_name(repo_id=model, repo_type="model")
    return Path(hub.constants.HF_HUB_CACHE) / folder / "blobs"


def _packages(form: Form) -> str:
    return install_command(*(TORCH_PACKAGES if form is Form.TORCH else ONNX_PACKAGES))


def _is_plain(name: str) -> bool:
    return not os.path.isabs(name) and ".." not in name.split("/")


def _fetch(hub: Any, download: Download, file: HubFile, blob: Path, progress: Callable[[int], None]) -> None:
    """Download one file to `blob`, resuming an earlier download."""
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{blob.name}.mascot-part")
    with hub.utils.WeakFileLock(f"{part}.lock"):
        if blob.is_file():  # another process has downloaded it
            return
        attempts = 0
        while not part.is_file() or part.stat().st_size < file.size:
            start = _size(part)
            failure: Exception = HubError("the hub stopped sending")
            try:
                _stream(hub, download, file, part, start, progress)
            except OSError:  # an error status of the hub, or the disk
                raise
            except Exception as error:  # of the HTTP library of the client
                failure = error
            attempts = 0 if _size(part) > start else attempts + 1
            if attempts >= _ATTEMPTS:
                raise failure
            time.sleep(_PAUSE_S * attempts)
        if not file.matches(part):
            part.unlink()
            raise HubError(f"{file.name} has the wrong hash and was removed: run the same command again")
        os.replace(part, blob)
    Path(f"{part}.lock").unlink(missing_ok=True)


def _stream(
    hub: Any, download: Download, file: HubFile, part: Path, start: int, progress: Callable[[int], None]
) -> None:
    """Append the bytes from `start` on to `part`."""
    headers = hub.utils.build_hf_headers() | {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    url = hub.hf_hub_url(download.model, file.name, revision=download.commit)
    request = hub.utils.get_session().stream("GET", url, headers=headers, timeout=_SILENCE_S, follow_redirects=True)
    with request as response:
        hub.utils.hf_raise_for_status(response)
        is_restart = response.status_code == 200  # the server sends the file from its start
        with part.open("wb" if is_restart else "ab") as output:
            position = 0 if is_restart else start
            for chunk in response.iter_bytes(_CHUNK):
                output.write(chunk)
                position += len(chunk)
                progress(min(position, file.size))
                if position > file.size:
                    break


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@contextmanager
def _short_reasons() -> Iterator[None]:
    """Turn errors of the hub, the network and the disk into a `HubError`."""
    try:
        yield
    except MascotError:
        raise
    except Exception as error:
        raise HubError(_reason(error)) from error


def _reason(error: Exception) -> str:
    hub = _client()
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, hub.errors.OfflineModeIsEnabled):
        return "offline: HF_HUB_OFFLINE is set"
    if status in (401, 403):
        return f"{status}: it does not exist, or needs a login: hf auth login"
    if status == 404:
        return "404: it does not exist"
    if status == 429:
        return "429: too many requests; try again later"
    if status is not None:
        return f"the hub answered {status}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write {error.filename}: {error.strerror}; HF_HOME names another folder"
    return f"no connection: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}"


@contextmanager
def _without_bars(hub: Any) -> Iterator[None]:
    """Switch off the progress bars of the client."""
    bars_disabled = hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        yield
    finally:
        if not bars_disabled:
            hub.utils.enable_progress_bars()
