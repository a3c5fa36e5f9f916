"""The GPU kernel's source, emulated on the host, selects what the reference selects; what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.rules import COMBINATIONS, feasible_problems
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.kernels.gpu import cupy
from mascot.kernels.gpu.plan import GpuMemory, KernelBins, KernelPlan, Task, plan_task
from mascot.kernels.native.pack import pack_bins
from tests.gpu.emulation import emulate
from tests.gpu.worlds import CASES, NAMED, QUOTAS, ragged, world
from tests.test_exactness import assert_same, candidates, constraints, methods, wishes

COMMON = settings(
    max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
BUILDS = st.sampled_from([("THREADS=32", "LANES=4", "COLUMNS=5"), ("THREADS=96", "LANES=2", "EAGER=1", "HELD_BINS=10")])
FUSED = ("-O2", "-march=native", "-ffp-contract=fast")  # NVRTC too fuses multiplications and additions


def agree(
    pools: list[mc.Candidates[Any]], asked: list[Any], method: mc.Mascot, k: int, already: list[list[Any]],
    names: tuple[str, ...] = (), tight: bool = True,
) -> None:  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        emulate(patch, names, tight)
        many = mc.rerank_many(pools, asked, k, method, already=already, backend="gpu")
    for pool, seen, ranking in zip(pools, already, many, strict=True):
        assert_same(mc.rerank(pool, asked, k, method, already=seen, backend="numpy"), ranking)


@COMMON
@given(
    st.lists(candidates(), min_size=1, max_size=3), st.lists(wishes(), max_size=4), constraints(),
    methods(), st.integers(1, 30), BUILDS, st.booleans(), st.data(),
)  # fmt: skip
def test_kernel_selects_what_the_reference_selects(
    pools: list[mc.Candidates[Any]], asked: list[Any], quotas: list[Any], method: mc.Mascot, k: int,
    names: tuple[str, ...], tight: bool, data: st.DataObject,
) -> None:  # fmt: skip
    already = [data.draw(st.lists(st.sampled_from(pool.ids), max_size=5, unique=True)) for pool in pools]
    agree(pools, [*asked, *quotas], method, k, already, names, tight)


@pytest.mark.parametrize("asked", [*CASES.values(), *QUOTAS.values()], ids=[*CASES, *QUOTAS])
def test_full_size_queries_are_selected_alike(asked: list[Any]) -> None:
    pools = [world(200, seed) for seed in range(2)]
    few = ("THREADS=416", "LANES=2", "EAGER=1", "HELD_BINS=10", "COLUMNS=5")
    agree(pools, asked, mc.Mascot(), 20, [[], [3, 7]])
    agree(pools[:1], asked, mc.Mascot.paper(0.4), 20, [[5]], few)


STRENGTHS = {
    "low": mc.Mascot(0.2), "usual": mc.Mascot(), "high": mc.Mascot(0.85, starts=3), "highest": mc.Mascot(1.0, starts=2),
    "keep": mc.Mascot(keep=0.8),
}  # fmt: skip


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("name", NAMED)
def test_a_focus_counts_names_at_every_strength(name: str, strength: str) -> None:
    keeps = strength == "keep"  # the reference selects at some thirty strengths
    pools = [ragged(seed, 60) for seed in range(2 if keeps else 4)] + [world(120, seed) for seed in range(keeps, 2)]
    already = [list(range(5 * (q % 3))) for q in range(len(pools))]
    agree(pools, NAMED[name], STRENGTHS[strength], 12, already)


def test_the_run_by_the_wishes_alone_wins_only_if_it_costs_no_more() -> None:
    agree([world(60, 76)], NAMED["named and not"], mc.Mascot(0.9), 8, [[]])


def test_no_cell_around_a_pole_is_lost_to_fused_multiply_add() -> None:
    pools = [ragged(seed) for seed in range(8)]
    for name in ("globe", "towns"):
        agree(pools, CASES[name], mc.Mascot(), 20, [[] for _ in pools], FUSED)


@pytest.mark.parametrize("names", [names for name, names in COMBINATIONS.items() if "window" not in name], ids=repr)
def test_several_rules_are_obeyed_as_on_the_cpu(names: tuple[str, ...]) -> None:
    for problem in feasible_problems(names, 4, seed=2):
        agree([problem.candidates], [mc.spread("brand"), *problem.rules], mc.Mascot(), problem.k, [[]])


@pytest.mark.parametrize(
    "wish", [mc.limit("who", 1, window=3), mc.limit("who", 0, first=2), mc.at_least("who", {"1": 1})], ids=repr
)
def test_rules_about_places_and_minimum_counts_are_refused(wish: Any) -> None:
    with pytest.raises(mc.OptionError, match=r"backend 'gpu' cannot obey .*: use backend='native'"):
        mc.rerank_many([world(20, 0)], [mc.limit("side", 4), wish], 5, backend="gpu")


def test_largest_problems_fit() -> None:
    agree([world(2048, 1)], CASES["grid, mixed"], mc.Mascot(), 256, [[]])


def hits(n: int = 5) -> mc.Candidates[int]:
    return mc.Candidates(np.linspace(1, 0, n), columns={"hour": np.arange(n) % 24})


def plan(n: int, k: int, wishes: int, chip: GpuMemory | None = None) -> KernelPlan:
    bins = KernelBins.of(pack_bins(mc.HourOfDay("hour").membership(hits(n).columns, None)))
    options = mc.Mascot().kernel_options(k, np.ones(wishes), 0.0)
    task = Task((bins,) * wishes, (1.0,) * wishes, (1.0,) * wishes, (0,) * wishes, (), options)
    return plan_task(task, n) if chip is None else plan_task(task, n, chip=chip)


def test_without_a_gpu_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    cupy.cache_clear()
    with pytest.raises(mc.MissingExtra, match=r"pip install 'mascot-rerank\[gpu\]'"):
        mc.rerank_many([hits()], mc.spread(mc.HourOfDay("hour")), backend="gpu")
    cupy.cache_clear()
    with pytest.raises(mc.OptionError, match="backend 'gpu' must have the method Mascot"):
        mc.rerank_many([hits()], mc.spread(mc.HourOfDay("hour")), method=mc.Mmr(), backend="gpu")


def test_limits_are_named() -> None:
    for n, k, count, text in (
        (2049, 5, 1, "takes at most 2,048 candidates a query, got 2049"),
        (5, 5, 9, "takes at most 8 wishes, got 9"),
    ):
        with pytest.raises(mc.OptionError, match=text):
            plan(n, k, count)


@pytest.mark.parametrize("kibibytes", [64, 227])  # T4, H100
def test_what_a_device_cannot_hold_goes_to_global_memory(kibibytes: int) -> None:
    for n in (200, 500, 1000, 2048):
        layout = plan(n, 20, 4, GpuMemory(kibibytes * 1024, (kibibytes + 1) * 1024))
        assert layout.slab or layout.size + 1024 <= kibibytes * 1024
        assert layout.slab == (layout.size > min(200, kibibytes - 1) * 1024)


def test_arena_of_the_benchmark_leaves_room_for_many_blocks() -> None:
    pool = world(200, 0)
    bins = [pack_bins(wish.bins(pool.columns, None, 200)) for wish in CASES["grid, spread"]]
    options = mc.Mascot().kernel_options(20, np.ones(2), 0.0)
    task = Task(tuple(map(KernelBins.of, bins)), (1.0, 1.0), (1.0, 1.0), (0, 0), (), options)
    layout = plan_task(task, 200)
    assert layout.size < 24 * 1024
    assert (layout.slab, layout.exact) == (False, True)
