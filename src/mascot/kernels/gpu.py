"""The law on a GPU: whole batches in one launch of `gpu.cu`, from arrays on the device to arrays on the device.

`Device` compiles the source for the attributes at hand (CuPy and NVRTC, cached on disk) and launches it on what
`gpu_plan` laid out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from mascot.errors import InputError, MissingExtra
from mascot.kernels.gpu_plan import INPUT, Chip, Corpus, Options, Prepared, address, check, corpus_bins, prepare
from mascot.kernels.recent import Recent
from mascot.packing import SPARSE, Packed

_FEW = 132  # queries that leave most of the device idle get more threads each
_KEPT = 64  # problems laid out over one corpus: wishes, strength, k and widths
_SLABS = 264  # blocks at a time where arenas are in global memory
_ALWAYS = 48 * 1024  # bytes of shared memory that a launch may take without asking


def source() -> str:
    return Path(__file__).with_name("gpu.cu").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=1)
def cupy() -> Any:
    """CuPy with a device, or an error that says what to install."""
    try:
        import cupy as cp

        if cp.cuda.runtime.getDeviceCount() < 1:
            raise RuntimeError("no device")
    except Exception as error:
        raise MissingExtra(
            f"backend 'gpu' needs an NVIDIA GPU and: pip install 'mascot[gpu]' ({type(error).__name__}: {error})"
        ) from error
    return cp


@functools.cache
def chip(device: int) -> Chip:
    """What the device has of shared memory."""
    known = cupy().cuda.Device(device).attributes
    return Chip(int(known["MaxSharedMemoryPerBlockOptin"]), int(known["MaxSharedMemoryPerMultiprocessor"]))


def _kernel(cp: Any, prepared: Prepared) -> Any:
    """The source compiled for this kind of problem."""
    options = ("-std=c++17", *(f"-D{name}" for name in prepared.names))
    kernel = cp.RawModule(code=source(), options=options).get_function("select_all")
    if not prepared.slab and prepared.size + 1024 > _ALWAYS:  # the source takes a few bytes of its own
        kernel.max_dynamic_shared_size_bytes = prepared.size
    return kernel


@dataclass
class Batch:
    """Queries as arrays on the device; None where there is nothing to say."""

    count: int
    width: int  # candidates of every query, or the most of any
    scores: Any
    ptr: Any = None
    rows: Any = None
    seen_ptr: Any = None
    seen: Any = None
    near: Any = None


class Selected:
    """Results on the device: [Q, k] int32, and what they were found with."""

    __slots__ = ("_count", "_k", "_kinds", "held")

    def __init__(self, xp: Any, count: int, k: int, kinds: int) -> None:
        self.held = xp.empty(count * (1 + 2 * kinds + k), np.float64)
        self._count, self._k, self._kinds = count, k, kinds

    @property
    def picks(self) -> Any:
        """`positions` and `shown`: [2, Q, k]."""
        return self.held[self._count * (1 + 2 * self._kinds) :].view(np.int32).reshape(2, self._count, self._k)

    @property
    def positions(self) -> Any:
        """In the order of choice."""
        return self.picks[0]

    @property
    def shown(self) -> Any:
        """Best first."""
        return self.picks[1]

    @property
    def strengths(self) -> Any:
        return self.held[: self._count]

    @property
    def multipliers(self) -> Any:
        return self.held[self._count :][: self._count * self._kinds].reshape(self._count, self._kinds)

    @property
    def tops(self) -> Any:
        return self.held[self._count * (1 + self._kinds) :][: self._count * self._kinds].reshape(
            self._count, self._kinds
        )

    def get(self) -> Selected:
        """The same on the host."""
        found = object.__new__(Selected)
        found.held = self.held.get()
        found._count, found._k, found._kinds = self._count, self._k, self._kinds
        return found


class Launch:
    """One launch, laid out: all that the driver is handed but where results go."""

    def __init__(self, prepared: Prepared, kernel: Any, batch: Batch, some: Any) -> None:
        cp = cupy()
        count = batch.count if some is None else len(some)
        blocks = min(count, _SLABS) if prepared.slab else count
        slabs = cp.empty(blocks * prepared.size // 8) if prepared.slab else None
        given, self._out, scratch = np.zeros((), INPUT), np.zeros(3, np.int64), np.zeros((), np.uint64)
        given["count"], given["width"], given["list"] = count, batch.width, address(some)
        for name in ("ptr", "rows", "scores", "seen_ptr", "seen", "near"):
            given[name] = address(getattr(batch, name))
        self._out[0], scratch[...] = batch.count, address(slabs)
        parts = (prepared.record, given, self._out, scratch)
        arguments = np.array([address(part) for part in parts], np.uint64)
        self._shape = (
            kernel.kernel.ptr, blocks, 1, 1, prepared.threads, 1, 1, 0 if prepared.slab else prepared.size,
        )  # fmt: skip
        self._arguments = address(arguments)
        self._held = (prepared, kernel, batch, some, slabs, parts, arguments)
        self._launch, self._stream, self._lock = cp.cuda.driver.launchKernel, cp.cuda.get_current_stream, Lock()

    def __call__(self, out: Selected, overflow: Any = None) -> None:
        with self._lock:  # the driver reads the arguments while it is called, and not after
            self._out[1], self._out[2] = out.held.data.ptr, address(overflow)
            self._launch(*self._shape, self._stream().ptr, self._arguments, 0)


class Device:
    """A corpus on the device, and the launches over it. The last problems that were laid out are kept."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._ready = Recent[tuple[Prepared, Any]](_KEPT)

    def select(
        self, batch: Batch, signs: Any, weights: Any, rules: Sequence[str], options: Options, k: int
    ) -> Selected:
        """Choose for all queries; nothing waits, unless bins are looked up and a table was too small."""
        return self.launcher(batch, signs, weights, rules, options, k)()

    def launcher(
        self, batch: Batch, signs: Any, weights: Any, rules: Sequence[str], options: Options, k: int
    ) -> Callable[[], Selected]:
        """A function that chooses for these queries, as often as it is called, each time into new memory."""
        cp = cupy()
        few, near = batch.count <= _FEW, batch.near is not None
        key = (tuple(signs), tuple(weights), tuple(rules), options, k, batch.width, near, few)
        count, kinds = batch.count, len(self.corpus.shapes)

        def ready(tight: bool) -> tuple[Prepared, Any]:
            def lay_out() -> tuple[Prepared, Any]:
                here = chip(cp.cuda.runtime.getDevice())
                prepared = prepare(
                    self.corpus, signs, weights, rules, options, k, batch.width, near, tight, few, cp, here
                )
                return prepared, _kernel(cp, prepared)

            return self._ready.get((key, tight), lay_out)

        first = ready(True)
        launch = Launch(*first, batch, None)

        def exact() -> Selected:
            out = Selected(cp, count, k, kinds)
            launch(out)
            return out

        def bet() -> Selected:
            out = Selected(cp, count, k, kinds)
            overflow = cp.zeros(1 + count, np.int64)
            launch(out, overflow)
            found = int(overflow[0])
            if found:
                left, again = overflow[1 : 1 + found], cp.zeros(1 + found, np.int64)
                Launch(*ready(False), batch, left)(out, again)
                if int(again[0]):
                    raise InputError(f"backend 'gpu' has no room for the bins of query {int(again[1])}")
            return out

        return exact if first[0].exact else bet


_devices = Recent[tuple[Packed, Device]](4)  # the last corpora, by the packed memberships they were made of, and hold


def device_of(packed: Packed) -> Device:
    """The memberships on the device; the last few stay there."""
    return _devices.get(id(packed), lambda: (packed, Device(Corpus.of(packed, cupy()))))[1]


def select_host(
    ptr: Any, rows: Any, scores: Any, seen_ptr: Any, seen: Any, near: Any, packed: Packed, signs: Any, weights: Any,
    rules: Sequence[str], options: Options, k: int,
) -> tuple[Any, ...]:  # fmt: skip
    """As `Device.select` for numpy arrays: positions, shown, strengths, multipliers and tops come back as such."""
    cp = cupy()
    widths = np.diff(ptr)
    count, width = len(widths), int(widths.max(initial=0))
    check(len(signs), k, width)
    even = bool((widths == width).all())
    follow = even and len(rows) == packed.xs.shape[1] and SPARSE not in packed.shapes and not len(seen)
    if follow and (near < 0).all():
        from mascot.kernels import gpu_stream

        if gpu_stream.follow_on(rows):
            layout = gpu_stream.Layout(tuple(int(s) for s in packed.shapes), packed.axes, *corpus_bins(packed))
            bring = gpu_stream.slices(scores, packed)
            return gpu_stream.select_stream(count, width, bring, layout, signs, weights, rules, options, k)
    batch = Batch(
        count, width, cp.asarray(scores), None if even else cp.asarray(ptr), cp.asarray(rows),
        cp.asarray(seen_ptr) if len(seen) else None, cp.asarray(seen) if len(seen) else None,
        cp.asarray(near) if (near >= 0).any() else None,
    )  # fmt: skip
    found = device_of(packed).select(batch, signs, weights, rules, options, k)
    return parts(found.get())


def parts(found: Selected) -> tuple[Any, ...]:
    """On the host, as `Selections` holds them."""
    picks = found.picks.astype(np.int64)
    return picks[0], picks[1], found.strengths, found.multipliers, found.tops
