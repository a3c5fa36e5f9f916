"""The source of the GPU kernel compiled as plain C++: a block's threads take turns.

`emulate(monkeypatch)` makes it the backend "gpu", so that tests go through the public functions.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.kernels import gpu
from mascot.kernels.gpu.launch import DeviceQueries, DeviceResults
from mascot.kernels.gpu.plan import INPUT, OUTPUT, KernelBins, Task, address, alike, index_name, plan_task, source
from mascot.kernels.native import Options, PackedBins
from mascot.kernels.quotas import Quota
from mascot.kernels.reference import Selection

DEFAULTS = (
    "THREADS=32", "LANES=1", "BLOCKS=1", "SLAB=0", "WIDE=1", "EAGER=0", "HELD_BINS=0", "COLUMNS=8",
    "PER_THREAD=64", "KEEP=1", "NEUTRAL=1", "QUERY_WEIGHT=1", "ROBUST=1", "BALANCE=1", "QUOTAS=1", "STARTS=1",
    "SPREAD=-1", "FOCUS=-1", "ATTRIBUTES=-1", "SHAPES=0", "INDEX=i64",
)  # fmt: skip


@functools.cache
def library(*names: str) -> Any:
    """Return the source built with this configuration and compiler options; skip the test if there is no compiler.

    Builds are kept under `build`, so that the processes of a run share them.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("the emulation of the GPU kernel needs g++")
    config = dict(name.split("=", 1) for name in (*DEFAULTS, *names) if not name.startswith("-"))
    options = [f"-DCONFIG_{key}={value}" for key, value in config.items()]
    options += [name for name in names if name.startswith("-")]
    command = [compiler, "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-DEMULATED", *options]
    digest = hashlib.sha256(repr((command, source())).encode()).hexdigest()[:24]
    target = Path(__file__).resolve().parents[2] / "build" / "gpu" / f"{digest}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            build, text = Path(folder) / "kernel.so", Path(folder) / "kernel.cpp"
            text.write_text(source(), encoding="utf-8")
            subprocess.run([*command, "-o", str(build), str(text)], check=True)
            os.replace(build, target)
    return ctypes.CDLL(str(target))


def run(task: Task, queries: DeviceQueries, names: tuple[str, ...] = (), tight: bool = True) -> DeviceResults:
    """Run the emulated kernel; arrays are numpy's."""
    count, parts, subset = queries.count, task.bins, None
    results = DeviceResults(np, count, task.options.k, len(parts))
    for small in (tight, False):
        plan = plan_task(task, queries.width, small)
        inputs, outputs, overflow = np.zeros((), INPUT), np.zeros((), OUTPUT), np.zeros(count + 1, np.int64)
        inputs["count"], inputs["width"] = count if subset is None else len(subset), queries.width
        inputs["list"] = address(subset)
        for name in ("ptr", "rows", "scores", "already_ptr", "already"):
            inputs[name] = address(getattr(queries, name))
        outputs["total"], outputs["results"], outputs["overflow"] = count, address(results.block), address(overflow)
        pointers = [ctypes.c_void_p(address(record)) for record in (plan.record, inputs, outputs)]
        library(*names, index_name(parts), f"WIDE={int(not small)}").select_all(*pointers)
        if not overflow[0]:
            break
        assert small, "a table of the full size has overflown"
        subset = overflow[1 : 1 + overflow[0]].copy()
    return results


def select(
    ptr: Any, rows: Any, scores: Any, already_ptr: Any, already: Any, bins: Sequence[PackedBins], signs: Any,
    weights: Any, rules: Sequence[int], quotas: Sequence[Quota], options: Options, threads: int | None = None,
    names: tuple[str, ...] = (), tight: bool = True,
) -> Selection:  # fmt: skip
    """As `mascot.kernels.gpu.select`, by the emulated kernel."""
    parts = alike([KernelBins.of(part) for part in bins])
    task = Task(parts, tuple(signs), tuple(weights), tuple(rules), tuple(quotas), options)
    queries = DeviceQueries(len(ptr) - 1, int(np.diff(ptr).max()), scores, ptr, rows, already_ptr, already)
    return run(task, queries, names, tight).host()


def emulate(monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...] = (), tight: bool = True) -> None:
    """Make the emulation the backend "gpu"."""
    monkeypatch.setattr(gpu, "select", functools.partial(select, names=names, tight=tight))


class NumpyDevice:
    """CuPy's functions by numpy: the "device" is the host."""

    asnumpy = staticmethod(np.asarray)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class Tensor:
    """An array that is not numpy's, as `Reranker.rerank_many` recognises tensors."""

    def __init__(self, array: Any) -> None:
        self._array = np.ascontiguousarray(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def emulate_device(monkeypatch: pytest.MonkeyPatch) -> NumpyDevice:
    """Make the emulation what `mascot.gpu` runs on, and return what stands for CuPy."""
    from mascot.gpu import device_batch as tensors

    device = NumpyDevice()
    for module in (tensors, gpu):
        monkeypatch.setattr(module, "cupy", lambda: device)
    monkeypatch.setattr(tensors, "launcher", lambda task, queries: functools.partial(run, task, queries))
    return device
