"""Find a model in a folder, in the cache of the model hub, or on the hub."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mascot.errors import InputError, MascotError
from mascot.extras import package

Form = tuple[str, ...]  # a kind of weights: the patterns of the files that a model needs; each must match a file
_SMALL_FILES = ("*.json", "*.txt", "*.model")  # settings and tokenizers
_ANSWER_S = 10.0  # timeout of the first answer of the hub
_UNKNOWN = "it does not exist, or needs a login: hf auth login, or set HF_TOKEN"


class HubError(MascotError):
    """A model could not be downloaded from the hub. The message is a short reason."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model on this machine."""

    folder: Path
    name: str  # the full path of a folder, or the name on the hub


def find_model(owner: str, model: str, forms: Sequence[Form], *, offline: bool = False) -> Model:
    """Return the model: on this machine, or (unless `offline`) from the hub.

    `owner` is the kind of encoder, for messages. Of the acceptable forms, the first that the hub has is downloaded.
    """
    located = locate_model(owner, model, forms)
    if located is not None:
        return located
    reason = ""
    if not offline:
        try:
            return download(model, forms)
        except HubError as error:
            reason = f" and could not be downloaded ({error})"
    raise InputError(f"{owner}: the model {model} is not on this machine{reason}. {_remedy(owner, forms, model)}")


def locate_model(owner: str, model: str, forms: Sequence[Form]) -> Model | None:
    """Return the model if it is on this machine: in a folder of that name, or in the cache of the hub."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        folder = folder.resolve()
        missing = min((_missing(folder, form) for form in forms), key=len)
        if missing:
            raise InputError(f"{owner}: the folder {folder} lacks {', '.join(missing)}. {_remedy(owner, forms)}")
        return Model(folder, str(folder))
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) or model.startswith("."):
        raise InputError(f"{owner}: there is no folder {model}. {_remedy(owner, forms)}")
    return cached_model(model, forms)


def cached_model(model: str, forms: Sequence[Form]) -> Model | None:
    """Return a model from the cache of the hub, if it is complete."""
    for form in forms:
        with suppress(OSError, ValueError):  # it is not there, or is not a name
            folder = Path(client().snapshot_download(model, local_files_only=True, allow_patterns=list(form)))
            if not _missing(folder, form):
                return Model(folder, model)
    return None


def cached_models() -> Iterator[str]:
    """Yield the names of the models in the cache of the hub on this machine."""
    for folder in sorted(Path(client().constants.HF_HUB_CACHE).glob("models--*")):
        yield folder.name.removeprefix("models--").replace("--", "/")


def download(model: str, forms: Sequence[Form]) -> Model:
    """Download the model in the first of these forms that the hub has. Raises `HubError`."""
    for form in forms:
        patterns = [*_SMALL_FILES, *form]
        with requests_to_hub(bars=sys.stderr.isatty()) as hub:
            folder = Path(hub.snapshot_download(model, allow_patterns=patterns, etag_timeout=_ANSWER_S))
        if not _missing(folder, form):
            return Model(folder, model)
    raise HubError(f"it lacks {', '.join(_missing(folder, forms[0]))}")


def client() -> Any:
    """Return the client of the hub, with the parts that are used here."""
    hub = package("huggingface_hub", "photos", "a model from the hub")
    for part in ("constants", "errors", "utils"):  # the package may not have loaded them
        import_module(f"huggingface_hub.{part}")
    return hub


@contextmanager
def requests_to_hub(bars: bool = False) -> Iterator[Any]:
    """Provide the client, with or without progress bars; errors of hub, network and disk become a `HubError`."""
    hub = client()
    was_disabled = hub.utils.are_progress_bars_disabled()
    if not bars:
        hub.utils.disable_progress_bars()
    try:
        yield hub
    except MascotError:
        raise
    except Exception as error:
        raise HubError(_reason(error)) from error
    finally:
        if not was_disabled:
            hub.utils.enable_progress_bars()


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold an object, got {type(content).__name__}")
    return content


def _missing(folder: Path, form: Form) -> list[str]:
    return [pattern for pattern in form if not any(folder.glob(pattern))]


def _remedy(owner: str, forms: Sequence[Form], model: str = "MODEL") -> str:
    """Return an instruction to download the files of a model, and the list of these files."""
    folder = model.rpartition("/")[2].lower() if model != "MODEL" else "FOLDER"
    return (
        f"On a machine with a network, run: hf download {model} --local-dir {folder}; copy the folder here and use "
        f"{owner}:{folder}. The folder must contain: {'; or '.join(map(', '.join, forms))}"
    )


def _reason(error: BaseException) -> str:
    errors = client().errors
    if isinstance(error, errors.LocalEntryNotFoundError):  # after a failed request
        error = error.__cause__ or error
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "offline: HF_HUB_OFFLINE is set"
    if isinstance(error, errors.GatedRepoError):
        return "it is gated: accept its terms on huggingface.co, then hf auth login or set HF_TOKEN"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"{status}: {_UNKNOWN}" if status in (401, 403, 404) else f"the hub answered {status}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write {error.filename}: {error.strerror}; set HF_HOME to another folder"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"no connection: {lines[0]}"
