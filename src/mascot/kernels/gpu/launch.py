"""Launches of the CUDA kernel: from arrays on the device to arrays on the device.

The source is compiled for the attributes at hand by CuPy and NVRTC, which caches the result on disk.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from mascot.errors import InputError, MissingExtra
from mascot.extras import install_extra
from mascot.kernels.gpu.plan import INPUT, GpuMemory, KernelPlan, Task, address, plan_task, source
from mascot.kernels.reference import Selection

_FEW = 132  # up to this many queries leave most of the device idle: each gets more threads
_SLABS = 264  # blocks at a time if arenas are in global memory
_ALWAYS = 48 * 1024  # bytes of shared memory that a launch may use without an attribute of the kernel


@functools.lru_cache(maxsize=1)
def cupy() -> Any:
    """Return CuPy with a device, or raise an error that says what to install."""
    try:
        import cupy as cp

        if cp.cuda.runtime.getDeviceCount() < 1:
            raise RuntimeError("no device")
    except Exception as error:
        raise MissingExtra(
            f"backend 'gpu' needs an NVIDIA GPU and CuPy: {install_extra('gpu')} ({type(error).__name__}: {error})"
        ) from error
    return cp


@functools.cache
def chip(device: int) -> GpuMemory:
    """Return the shared memory of a device."""
    attributes = cupy().cuda.Device(device).attributes
    return GpuMemory(
        int(attributes["MaxSharedMemoryPerBlockOptin"]), int(attributes["MaxSharedMemoryPerMultiprocessor"])
    )


@functools.lru_cache(maxsize=64)
def _compile(device: int, names: tuple[str, ...], shared: int) -> Any:
    """Return the kernel for the current device, compiled with this configuration; `shared` is in bytes."""
    options = ("-std=c++17", *(f"-DCONFIG_{name}" for name in names))
    kernel = cupy().RawModule(code=source(), options=options).get_function("select_all")
    if shared + 1024 > _ALWAYS:  # the kernel needs a few bytes besides its arena
        kernel.max_dynamic_shared_size_bytes = shared
    return kernel


@dataclass(frozen=True, slots=True)
class DeviceQueries:
    """Queries as arrays on the device.

    `width` is the number of candidates per query, or the maximum if `ptr` is given.
    """

    count: int
    width: int
    scores: Any
    ptr: Any = None
    rows: Any = None
    already_ptr: Any = None
    already: Any = None


class DeviceResults:
    """Results in one block of memory, on the device (`xp` is CuPy) or on the host."""

    __slots__ = ("_attributes", "_count", "_k", "block")

    def __init__(self, xp: Any, count: int, k: int, attributes: int) -> None:
        self.block = xp.empty(count * (2 + 3 * attributes + k), np.float64)
        self._count, self._k, self._attributes = count, k, attributes

    @property
    def picks(self) -> Any:
        """[2, Q, k] int32: positions in the order of selection, and the same best first."""
        return self.block[self._count * (2 + 3 * self._attributes) :].view(np.int32).reshape(2, self._count, self._k)

    @property
    def strengths(self) -> Any:
        return self.block[: self._count]

    def arrays(self) -> tuple[Any, ...]:
        """Return the results as numpy arrays, in the order of `Selection`."""
        block = self.block if isinstance(self.block, np.ndarray) else self.block.get()
        count, attributes = self._count, self._attributes
        strengths, stages, per_wish, picks = np.split(block, [count, 2 * count, count * (2 + 3 * attributes)])
        positions, ranked = picks.view(np.int32).reshape(2, count, self._k).astype(np.int64)
        return positions, ranked, strengths, *per_wish.reshape(3, count, attributes), stages.astype(np.int64)

    def host(self) -> Selection:
        """Return the results on the host."""
        return Selection(*self.arrays())


class Launch:
    """One launch with all its arguments but the address of the results."""

    def __init__(self, plan: KernelPlan, kernel: Any, queries: DeviceQueries, subset: Any = None) -> None:
        cp = cupy()
        count = queries.count if subset is None else len(subset)
        blocks = min(count, _SLABS) if plan.slab else count
        slabs = cp.empty(blocks * plan.size // 8) if plan.slab else None
        inputs, self._out, scratch = np.zeros((), INPUT), np.zeros(3, np.int64), np.zeros((), np.uint64)
        inputs["count"], inputs["width"], inputs["list"] = count, queries.width, address(subset)
        for name in ("ptr", "rows", "scores", "already_ptr", "already"):
            inputs[name] = address(getattr(queries, name))
        self._out[0], scratch[...] = queries.count, address(slabs)
        records = (plan.record, inputs, self._out, scratch)
        arguments = np.array([address(part) for part in records], np.uint64)
        self._shape = (kernel.kernel.ptr, blocks, 1, 1, plan.threads, 1, 1, 0 if plan.slab else plan.size)
        self._arguments = address(arguments)
        self._alive = (plan, kernel, queries, subset, slabs, records, arguments)
        self._launch, self._stream, self._lock = cp.cuda.driver.launchKernel, cp.cuda.get_current_stream, Lock()

    def __call__(self, results: DeviceResults, overflow: Any = None) -> None:
        with self._lock:  # the driver reads the arguments during the call, and not after
            self._out[1], self._out[2] = results.block.data.ptr, address(overflow)
            self._launch(*self._shape, self._stream().ptr, self._arguments, 0)


def launcher(task: Task, queries: DeviceQueries) -> Callable[[], DeviceResults]:
    """Return a function that selects for these queries, each time into new memory.

    It does not wait for the device, unless bins are looked up.
    """
    cp = cupy()
    count, k, attributes = queries.count, task.options.k, len(task.bins)
    device = cp.cuda.runtime.getDevice()

    def prepare(tight: bool) -> tuple[KernelPlan, Any]:
        plan = plan_task(task, queries.width, tight, count <= _FEW, cp, chip(device))
        return plan, _compile(device, plan.names, 0 if plan.slab else plan.size)

    plan, kernel = prepare(tight=True)
    launch = Launch(plan, kernel, queries)

    def select() -> DeviceResults:
        """Select, and again with larger tables for the queries whose bins did not fit."""
        results = DeviceResults(cp, count, k, attributes)
        overflow: Any = None if plan.exact else cp.zeros(1 + count, np.int64)
        launch(results, overflow)
        failed = 0 if overflow is None else int(overflow[0])
        if failed:
            subset, again = overflow[1 : 1 + failed], cp.zeros(1 + failed, np.int64)
            Launch(*prepare(tight=False), queries, subset)(results, again)
            if int(again[0]):
                raise InputError(f"backend 'gpu' cannot hold the bins of query {int(again[1])}")
        return results

    return select
