"""Find models by name on this machine, or download them from the hub.

Files go into the cache of the hub, so that other programs can use them. `huggingface_hub` neither resumes the download
of an earlier process nor checks hashes. The bytes are therefore fetched here, and the package manages the cache.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mascot.errors import InputError, MascotError
from mascot.extras import install_command, package
from mascot.photos.encoders.encoder import Report
from mascot.photos.encoders.model_folders import Form, Model, checked_model, complete_model, local_folder, remedy

_ANSWER_S = 10.0  # timeout of the first answer of the hub
_SILENCE_S = 30.0  # timeout within a download
_ATTEMPTS, _PAUSE_S = 4, 0.5  # consecutive attempts without progress; increment of the pause between them
_CHUNK = 2**16
_SMALL_FILES = (".json", ".txt", ".model")  # settings and tokenizers
_STATUS_REASONS = {
    401: "401: it does not exist, or needs a login: hf auth login, or set HF_TOKEN",
    403: "403: it does not exist, or needs a login: hf auth login, or set HF_TOKEN",
    404: "404: it does not exist",
    429: "429: too many requests; try again later",
}


class HubError(MascotError):
    """A model could not be downloaded from the hub. The message is a short reason."""


def find_model(
    owner: str, model: str, forms: Sequence[Form], *, offline: bool = False, report: Report | None = None
) -> Model:
    """Return the model: on this machine, or (unless `offline`) from the hub.

    For `owner` and `forms` see `local_folder`. `report` is called with the progress of the download, in bytes.
    """
    located = locate_model(owner, model, forms)
    if located is not None:
        return located
    if offline:
        raise InputError(f"{owner}: the model {model} is not on this machine. {remedy(owner, forms, model)}")
    try:
        folder = plan_download(model, forms).fetch(report)
    except HubError as error:
        raise InputError(
            f"{owner}: the model {model} is not on this machine and could not be downloaded ({error}). "
            f"{remedy(owner, forms, model)}"
        ) from None
    return checked_model(owner, folder, model, forms)


def locate_model(owner: str, model: str, forms: Sequence[Form]) -> Model | None:
    """Return the model if it is on this machine: in a folder of that name, or in the cache of the hub."""
    return local_folder(owner, model, forms) or cached_model(model, forms)


def cached_model(model: str, forms: Sequence[Form]) -> Model | None:
    """Return a model from the cache of the hub, if it is complete and runs here."""
    hub = client()
    try:
        folder = Path(hub.snapshot_download(model, local_files_only=True))
    except (hub.errors.LocalEntryNotFoundError, OSError):
        return None
    return complete_model(folder, model, forms)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a model on the hub."""

    name: str
    size: int  # bytes
    checksum: str  # SHA-256 of large files; SHA-1 as git computes it of small ones

    def matches(self, path: Path) -> bool:
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
        return sum(file.size for file in self.files)

    def fetch(self, report: Report | None = None) -> Path:
        """Download the missing files and return the folder. Raises `HubError`; a partial download is kept."""
        hub = client()
        folder, complete = None, 0  # bytes of complete files

        def progress(count: int) -> None:
            if report is not None:
                report(f"downloading {self.model}", complete + count, self.size)

        with short_reasons():
            cache = hub.file_download.repo_folder_name(repo_id=self.model, repo_type="model")
            for file in self.files:
                blob = Path(hub.constants.HF_HUB_CACHE) / cache / "blobs" / file.checksum
                if not blob.is_file():
                    url = hub.hf_hub_url(self.model, file.name, revision=self.commit)
                    _fetch(hub, url, file, blob, progress)
                complete += file.size
                progress(0)
                # Finds the blob in place and adds the links to it.
                path = Path(hub.hf_hub_download(self.model, file.name, etag_timeout=_ANSWER_S))
                folder = path.parent if "/" not in file.name else folder
        if folder is None:
            raise HubError("it holds no settings")
        return folder


def plan_download(model: str, forms: Sequence[Form], timeout_s: float = _ANSWER_S) -> Download:
    """Query the hub for the files that the model needs here. Nothing is downloaded. Raises `HubError`.

    Of the forms that run here, torch weights are preferred, then the smaller export.
    """
    hub = client()
    with short_reasons():
        information = hub.HfApi().model_info(model, files_metadata=True, timeout=timeout_s)
    siblings = {sibling.rfilename: sibling for sibling in information.siblings or []}
    order = [form for form in (Form.TORCH, Form.QUANTIZED, Form.ONNX) if form in forms and form.files(siblings)]
    form = next((form for form in order if form.runs), None)
    if form is None:
        reason = f"only {order[0].value} weights: {install_command(*order[0].packages)}" if order else "no weights"
        raise HubError(f"it has {reason}")
    weights = form.files(siblings)
    small = [name for name in siblings if "/" not in name and name.endswith(_SMALL_FILES) and name not in weights]
    hub_files: list[HubFile] = []
    for name in (*small, *weights):
        sibling = siblings[name]
        checksum = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
        if not checksum or sibling.size is None or os.path.isabs(name) or ".." in name.split("/"):
            raise HubError(f"the hub does not state the size and hash of {name}")
        hub_files.append(HubFile(name, int(sibling.size), str(checksum)))
    return Download(model, str(information.sha), tuple(hub_files))


def cached_models() -> Iterator[str]:
    """Yield the names of the models in the cache of the hub on this machine."""
    for folder in sorted(Path(client().constants.HF_HUB_CACHE).glob("models--*")):
        yield folder.name.removeprefix("models--").replace("--", "/")


def client() -> Any:
    """Return the client of the hub, with the parts that are used here."""
    hub = package("huggingface_hub", "photos", "a model from the hub")
    for part in ("constants", "errors", "file_download", "utils"):  # the package may not have loaded them
        import_module(f"huggingface_hub.{part}")
    return hub


def _fetch(hub: Any, url: str, file: HubFile, blob: Path, progress: Callable[[int], None]) -> None:
    """Download one file to `blob`, resuming an earlier download."""
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{blob.name}.mascot-part")
    with hub.utils.WeakFileLock(f"{part}.lock"):
        if blob.is_file():  # another process has downloaded it
            return
        part.touch()
        attempts = 0
        while (start := part.stat().st_size) < file.size:
            failure: Exception = HubError("the hub stopped sending")
            try:
                _stream(hub, url, file.size, part, progress)
            except OSError:  # an error status of the hub, or the disk
                raise
            except Exception as error:  # raised by the HTTP library
                failure = error
            attempts = 0 if part.stat().st_size > start else attempts + 1
            if attempts >= _ATTEMPTS:
                raise failure
            time.sleep(_PAUSE_S * attempts)
        if not file.matches(part):
            part.unlink()
            raise HubError(f"{file.name} has the wrong hash and was removed: run the same command again")
        os.replace(part, blob)
    Path(f"{part}.lock").unlink(missing_ok=True)


def _stream(hub: Any, url: str, size: int, part: Path, progress: Callable[[int], None]) -> None:
    """Append the missing bytes to `part`."""
    position = part.stat().st_size
    headers = hub.utils.build_hf_headers() | {"Accept-Encoding": "identity"}
    if position:
        headers["Range"] = f"bytes={position}-"
    request = hub.utils.get_session().stream("GET", url, headers=headers, timeout=_SILENCE_S, follow_redirects=True)
    with request as response:
        hub.utils.hf_raise_for_status(response)
        if response.status_code == 200:  # the server sends the file from its start
            position = 0
        with part.open("ab" if position else "wb") as output:
            for chunk in response.iter_bytes(_CHUNK):
                output.write(chunk)
                position += len(chunk)
                progress(min(position, size))
                if position > size:
                    break


@contextmanager
def short_reasons() -> Iterator[None]:
    """Turn errors of the hub, the network and the disk into a `HubError`."""
    try:
        yield
    except MascotError:
        raise
    except Exception as error:
        raise HubError(_reason(error)) from error


def _reason(error: Exception) -> str:
    errors = client().errors
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "offline: HF_HUB_OFFLINE is set"
    if isinstance(error, errors.GatedRepoError):
        return "it is gated: accept its terms on huggingface.co, then hf auth login or set HF_TOKEN"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return _STATUS_REASONS.get(status, f"the hub answered {status}")
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write {error.filename}: {error.strerror}; set HF_HOME to another folder"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"no connection: {lines[0]}"
