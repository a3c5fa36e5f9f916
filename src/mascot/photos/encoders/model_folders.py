"""Model folders: the files that a model needs, and the weights that run here."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from mascot.errors import InputError, MissingExtra
from mascot.extras import install_command, installed, package

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_WEIGHT_FILE = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)(\.index\.json)?")

Variants = tuple[tuple[str, ...], ...]  # files of which one variant is required; a variant may be several files
_REQUIRED_FILES: tuple[Variants, ...] = (
    (("config.json",),),
    (("preprocessor_config.json",), ("processor_config.json",)),
    (("tokenizer.json",), ("vocab.json", "merges.txt"), ("vocab.txt",), ("spiece.model",)),
)


class Form(Enum):
    """The format of the weights of a model, which determines what runs them."""

    TORCH = "torch"
    ONNX = "onnx"
    QUANTIZED = "quantized"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that run it, and for an export also the one that downloads it."""
        return ("torch", "transformers") if self is Form.TORCH else ("onnxruntime", "tokenizers", "huggingface_hub")

    @property
    def runs(self) -> bool:
        """Whether the packages that run it are installed."""
        return installed(*self.packages[:2])

    @property
    def variants(self) -> Variants:
        """The files with the weights: one of four variants for torch, otherwise the text and the vision model."""
        if self is Form.TORCH:
            return tuple((f"{name}{ending}",) for ending in ("", ".index.json") for name in _WEIGHTS)
        ending = "_quantized" if self is Form.QUANTIZED else ""
        return ((f"onnx/text_model{ending}.onnx", f"onnx/vision_model{ending}.onnx"),)

    def files(self, names: Collection[str]) -> list[str]:
        """Return the names that are weights in this form; empty if there are none."""
        if self is not Form.TORCH:
            return list(self.variants[0]) if set(self.variants[0]) <= set(names) else []
        weights = [name for name in names if _WEIGHT_FILE.fullmatch(name)]
        return [name for name in weights if ".safetensors" in name] or weights


@dataclass(frozen=True, slots=True)
class Model:
    """A model on this machine."""

    folder: Path
    name: str  # the full path of a folder, or the name on the hub
    form: Form

    @property
    def weights(self) -> list[Path]:
        """The files with the weights, for an ONNX export the text and the vision model; empty if there are none."""
        if self.form is Form.TORCH:
            return weight_files(self.folder)
        files = [self.folder / name for name in self.form.variants[0]]
        return files if all(file.is_file() for file in files) else []


def local_folder(owner: str, model: str, forms: Sequence[Form]) -> Model | None:
    """Return the model in a folder of that name; None if the name is one on the hub.

    `owner` is the kind of encoder, for messages. `forms` are the acceptable forms of weights, best first; forms
    whose packages are not installed are ignored.
    """
    if not any(form.runs for form in forms):
        command = install_command(*forms[-1].packages)
        raise MissingExtra(f"{owner} needs packages that are not installed: {command}")
    folder = Path(model).expanduser()
    if folder.is_dir():
        return checked_model(owner, folder.resolve(), str(folder.resolve()), forms)
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) or model.startswith("."):
        raise InputError(f"{owner}: there is no folder {model}. {remedy(owner, forms)}")
    return None


def complete_model(folder: Path, name: str, forms: Sequence[Form]) -> Model | None:
    """Return the model in this folder if nothing is missing and it runs here, in the best form."""
    for form in forms:
        if form.runs and Model(folder, name, form).weights:
            return None if _missing(folder, (form,)) else Model(folder, name, form)
    return None


def checked_model(owner: str, folder: Path, name: str, forms: Sequence[Form]) -> Model:
    """Return the model in this folder, or raise an error that names what is missing."""
    missing = _missing(folder, forms)
    if missing:
        raise InputError(f"{owner}: the folder {folder} lacks {', '.join(missing)}. {remedy(owner, forms)}")
    model = complete_model(folder, name, forms)
    if model is None:
        needed = Form.TORCH if weight_files(folder) else Form.ONNX
        raise MissingExtra(f"{owner}: the weights in {folder} need: {install_command(*needed.packages)}")
    return model


def remedy(owner: str, forms: Sequence[Form], model: str = "MODEL") -> str:
    """Return an instruction to download the files of a model, and the list of these files."""
    folder = model.rpartition("/")[2].lower() if model != "MODEL" else "FOLDER"
    return (
        f"On a machine with a network, run: hf download {model} --local-dir {folder}; copy the folder here and use "
        f"{owner}:{folder}. The folder must contain: {'; '.join(map(_either, _required_files(forms)))}"
    )


def weight_files(folder: Path) -> list[Path]:
    """Return the files with the torch weights; empty if there are none."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            return [folder / shard for shard in sorted(set(read_json(index)["weight_map"].values()))]
    return []


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold an object, got {type(content).__name__}")
    return content


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off progress bars and advice of the model libraries, and restore their settings afterwards."""
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


def _missing(folder: Path, forms: Sequence[Form]) -> list[str]:
    missing = [
        _either(variants)
        for variants in _required_files(forms)
        if not any(all((folder / name).is_file() for name in variant) for variant in variants)
    ]
    return missing + [file.name for file in weight_files(folder) if Form.TORCH in forms and not file.is_file()]


def _required_files(forms: Sequence[Form]) -> tuple[Variants, ...]:
    weights = tuple(variant for form in Form if form in forms for variant in form.variants)
    return (*_REQUIRED_FILES, weights)


def _either(variants: Variants) -> str:
    return " or ".join(" and ".join(variant) for variant in variants)
