"""Helpers of all models: devices, ONNX sessions, batches, and fingerprints of vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mascot.errors import OptionError, require
from mascot.extras import install_command, package
from mascot.photos.encoders.encoder import Vectors, unit

T = TypeVar("T")
_ERRORS_ONLY = 3
_BLOCKS, _BLOCK = 64, 65_536
_FINGERPRINT_DIGITS = 16


def pick_device(device: str) -> str:
    """Return the torch device; `auto` is the GPU if there is one, otherwise the CPU."""
    import torch

    gpu = torch.cuda.is_available()
    if device == "auto":
        return "cuda" if gpu else "cpu"
    require(device == "cpu" or device.partition(":")[0] == "cuda", "device", "must be auto, cpu or cuda", device)
    require(gpu or device == "cpu", "device", "must be auto or cpu where torch finds no GPU", device)
    return device


def open_session(model: Path | bytes, device: str = "auto", threads: int | None = None) -> Any:
    """Return an onnxruntime session for a file or its content; one call uses `threads` cores (default: all)."""
    runtime = package("onnxruntime", "photos", "an ONNX model")
    gpu = device != "cpu" and "CUDAExecutionProvider" in runtime.get_available_providers()
    if device.startswith("cuda") and not gpu:
        raise OptionError(
            f"device must be auto or cpu where onnxruntime has no GPU: {install_command('onnxruntime-gpu')}"
        )
    options = runtime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    if threads is not None:
        options.intra_op_num_threads = threads
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"] if gpu else ["CPUExecutionProvider"]
    return runtime.InferenceSession(model if isinstance(model, bytes) else str(model), options, providers=providers)


def encode_batches(
    items: Sequence[T], batch: int, encode: Callable[[Sequence[T]], Vectors], shape: tuple[int, ...]
) -> Vectors:
    """Return the unit rows of all items, encoded `batch` at a time; `shape` is that of the rows of one item."""
    rows = [encode(items[start : start + batch]) for start in range(0, len(items), batch)]
    return unit(np.concatenate(rows)) if rows else np.empty((0, *shape), np.float32)


def fingerprint_of(files: Iterable[Path], settings: Any) -> str:
    """Return the hash of the settings, and of the size and 64 evenly spaced blocks of each file (all, below 4 MB).

    Weights of gigabytes are not read completely: training changes every tensor, so the blocks distinguish models.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for path in files:
        size = path.stat().st_size
        starts: Iterable[int] = range(0, size, _BLOCK)
        if size > _BLOCKS * _BLOCK:
            starts = [index * (size - _BLOCK) // (_BLOCKS - 1) for index in range(_BLOCKS)]
        digest.update(size.to_bytes(8, "little"))
        with path.open("rb") as file:
            for start in starts:
                file.seek(start)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]
