"""Model folders: where a model's files lie, on this machine or on the model hub, and what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mascot.errors import InputError
from mascot.extras import package

ONNX = ("onnx/text_model.onnx", "onnx/vision_model.onnx")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SHARDED = tuple(f"{name}.index.json" for name in _WEIGHTS)
_WEIGHT_FILE = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)(\.index\.json)?")
_TIMEOUT = 10.0  # seconds to wait for the hub's first answer

# Each is needed in one of its forms, and a form may be several files.
_NEEDED: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("config.json",),),
    (("preprocessor_config.json",), ("processor_config.json",)),
    (("tokenizer.json",), ("vocab.json", "merges.txt"), ("vocab.txt",), ("spiece.model",)),
)
_WEIGHT_FORMS = tuple((name,) for name in (*_WEIGHTS, *_SHARDED))


def find_model(owner: str, model: str, *, offline: bool, onnx: bool = False) -> tuple[Path, str]:
    """The folder that holds the model, and what to call the model: the folder's full path, or its name on the hub.

    Looks for a folder of that name, then among the models downloaded before, then on the hub.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        _check(owner, folder, onnx)
        return folder.resolve(), str(folder.resolve())
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) or model.startswith("."):
        raise InputError(f"{owner}: there is no folder {model}. {_remedy(owner, onnx)}")
    hub = package("huggingface_hub", "clip", owner)
    found = _downloaded(hub, model)
    if found is not None and not _missing(found, onnx):
        return found, model
    if offline:
        raise InputError(f"{owner}: the model {model} is not on this machine. {_remedy(owner, onnx, model)}")
    try:
        found = _download(hub, model, onnx)
    # The hub's client lets through the errors of whichever network library it was built on.
    except Exception as error:
        raise InputError(
            f"{owner}: the model {model} is not on this machine and the model hub did not give it "
            f"({_reason(error)}). {_remedy(owner, onnx, model)}"
        ) from error
    _check(owner, found, onnx)
    return found, model


def weight_files(folder: Path) -> list[Path]:
    """The files with the torch weights; empty where there are none."""
    for whole, index in zip(_WEIGHTS, _SHARDED, strict=True):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            return [folder / name for name in sorted(set(read_json(folder / index)["weight_map"].values()))]
    return []


def onnx_files(folder: Path) -> list[Path]:
    """The text and the vision model; empty unless both are there."""
    files = [folder / name for name in ONNX]
    return files if all(file.is_file() for file in files) else []


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold an object, got {type(found).__name__}")
    return found


def model_settings(folder: Path) -> dict[str, Any]:
    """config.json without what says nothing about the model."""
    passing = {"transformers_version", "_name_or_path", "torch_dtype", "dtype"}
    return {key: value for key, value in sorted(read_json(folder / "config.json").items()) if key not in passing}


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no advice from the model libraries; their settings come back afterwards."""
    logging = package("transformers.utils.logging", "clip", "a model")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _downloaded(hub: Any, model: str) -> Path | None:
    try:
        return Path(hub.snapshot_download(model, local_files_only=True))
    except hub.errors.LocalEntryNotFoundError:
        return None


def _download(hub: Any, model: str, onnx: bool) -> Path:
    information = hub.HfApi().model_info(model, timeout=_TIMEOUT)
    files = list(_wanted([sibling.rfilename for sibling in information.siblings], onnx))
    quieter = hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        paths = {name: Path(hub.hf_hub_download(model, name, etag_timeout=_TIMEOUT)) for name in files}
        return paths["config.json"].parent
    finally:
        if not quieter:
            hub.utils.enable_progress_bars()


def _wanted(files: Iterable[str], onnx: bool) -> Iterator[str]:
    """One form of the weights, and the small files beside them."""
    files = list(files)
    weights = [name for name in files if _WEIGHT_FILE.fullmatch(name)]
    safe = [name for name in weights if ".safetensors" in name]
    yield from safe or weights or (ONNX if onnx else ())
    for name in files:
        if "/" not in name and name.endswith((".json", ".txt", ".model")) and name not in weights:
            yield name


def _check(owner: str, folder: Path, onnx: bool) -> None:
    missing = _missing(folder, onnx)
    if missing:
        raise InputError(f"{owner}: the folder {folder} lacks {', '.join(missing)}. {_remedy(owner, onnx)}")


def _missing(folder: Path, onnx: bool) -> list[str]:
    missing = [_said(forms) for forms in _needed(onnx) if not any(_there(folder, form) for form in forms)]
    return missing + [file.name for file in weight_files(folder) if not file.is_file()]


def _needed(onnx: bool) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return (*_NEEDED, (*_WEIGHT_FORMS, ONNX) if onnx else _WEIGHT_FORMS)


def _there(folder: Path, form: tuple[str, ...]) -> bool:
    return all((folder / name).is_file() for name in form)


def _said(forms: tuple[tuple[str, ...], ...]) -> str:
    return " or ".join(" and ".join(form) for form in forms)


def _remedy(owner: str, onnx: bool, model: str = "MODEL") -> str:
    folder = model.rpartition("/")[2].lower() if model != "MODEL" else "FOLDER"
    needed = "; ".join(_said(forms) for forms in _needed(onnx))
    return (
        f"Where there is a network, run: hf download {model} --local-dir {folder}; copy the folder here and name "
        f"it {owner}:{folder}. It must hold: {needed}"
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no answer'}"
