"""Where a torch model runs."""

from __future__ import annotations

from mascot.errors import require


def pick_device(device: str) -> str:
    """Return the torch device; `auto` is the GPU if there is one, otherwise the CPU."""
    import torch

    gpu = torch.cuda.is_available()
    if device == "auto":
        return "cuda" if gpu else "cpu"
    require(device == "cpu" or device.partition(":")[0] == "cuda", "device", "must be auto, cpu or cuda", device)
    require(gpu or device == "cpu", "device", "must be auto or cpu where torch finds no GPU", device)
    return device
