"""Open ONNX models on onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mascot.errors import OptionError
from mascot.extras import install_command, package

_ERRORS_ONLY = 3


def open_session(model: Path | bytes, device: str = "auto", threads: int | None = None) -> Any:
    """Return a session for a file or its content.

    Parameters
    ----------
    device
        ``"auto"`` (a GPU if onnxruntime has one), ``"cpu"`` or ``"cuda"``.
    threads
        Cores that one call uses (default: all).
    """
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
