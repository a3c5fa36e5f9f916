"""What the GPU backend says where there is no GPU, and what it refuses anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import mascot as mc
from mascot.kernels.gpu import cupy
from mascot.kernels.gpu.plan import Chip, KernelBins, KernelPlan, Task, plan_task
from mascot.methods.mascot import pack_bins


def hits(n: int = 5) -> mc.Candidates[int]:
    return mc.Candidates(np.linspace(1, 0, n), columns={"hour": np.arange(n) % 24})


def plan(n: int, k: int, wishes: int, chip: Chip | None = None) -> KernelPlan:
    bins = KernelBins.of(pack_bins(mc.HourOfDay("hour").membership(hits(n).columns, None)))
    options = mc.Mascot().kernel_options(k, np.ones(wishes), 0.0)
    task = Task((bins,) * wishes, (1.0,) * wishes, (1.0,) * wishes, (0,) * wishes, (), options)
    return plan_task(task, n) if chip is None else plan_task(task, n, chip=chip)


def test_without_a_gpu_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    cupy.cache_clear()
    with pytest.raises(mc.MissingExtra, match=r"pip install cupy-cuda13x"):
        mc.rerank_many([hits()], mc.spread(mc.HourOfDay("hour")), backend="gpu")
    cupy.cache_clear()
    with pytest.raises(mc.OptionError, match="backend 'gpu' must have the method Mascot"):
        mc.rerank_many([hits()], mc.spread(mc.HourOfDay("hour")), method=mc.Mmr(), backend="gpu")


def test_limits_are_named() -> None:
    for n, k, wishes, text in (
        (2049, 5, 1, "takes at most 2,048 candidates a query, got 2049"),
        (300, 257, 1, "takes k up to 256, got 257"),
        (5, 5, 9, "takes at most 8 wishes, got 9"),
    ):
        with pytest.raises(mc.OptionError, match=text):
            plan(n, k, wishes)


@pytest.mark.parametrize("kibibytes", [64, 99, 163, 227])  # T4, Ada, A100, H100
def test_what_a_device_cannot_hold_goes_to_global_memory(kibibytes: int) -> None:
    for n in (200, 500, 1000, 2048):
        layout = plan(n, 20, 4, Chip(kibibytes * 1024, (kibibytes + 1) * 1024))
        assert layout.slab or layout.size + 1024 <= kibibytes * 1024
        assert layout.slab == (layout.size > min(200, kibibytes - 1) * 1024)
