"""The GPU kernel's source, emulated on the host, selects what the reference selects."""

from __future__ import annotations

import numpy as np
import pytest
from emulation import queries_of, select_many
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mascot.packing import pack
from worlds import CASES, world

import mascot as mc
from mascot.kernels import gpu_plan
from test_exactness import candidates, methods, wishes

COMMON = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
BUILDS = st.sampled_from(
    [
        (),
        ("THREADS=8", "COLUMNS=3"),
        ("THREADS=32", "LANES=4", "COLUMNS=5"),
        ("THREADS=96", "LANES=2", "EAGER=1", "TALL=16", "LONG=10"),
    ]
)


def agree(
    found: list[mc.Candidates], asked: list[mc.Wish], method: mc.Mascot, k: int, already: list[list[int]],
    names: tuple[str, ...] = (), tight: bool = True,
) -> None:  # fmt: skip
    queries = queries_of(found, asked, already)
    if not np.diff(queries.ptr).max():
        return
    fast = select_many(queries, method, k, names, tight)
    for q, one in enumerate(found):
        if queries.ptr[q] == queries.ptr[q + 1]:
            assert (fast.shown[q] == -1).all()
            continue
        law = mc.rerank(one, asked, k, method, already=already[q], backend="numpy")._selection
        assert fast[q].positions.tolist() == law.positions.tolist()
        assert fast[q].shown.tolist() == law.shown.tolist()
        assert fast[q].strength == law.strength
        np.testing.assert_allclose(fast[q].multipliers, law.multipliers, rtol=1e-9)
        np.testing.assert_allclose(fast[q].tops, law.tops, rtol=1e-9)


@COMMON
@given(
    st.lists(candidates(), min_size=1, max_size=3), st.lists(wishes(), max_size=4), methods(), st.integers(1, 30),
    BUILDS, st.booleans(), st.data(),
)  # fmt: skip
def test_the_kernel_selects_what_the_reference_selects(
    found: list[mc.Candidates], asked: list[mc.Wish], method: mc.Mascot, k: int, names: tuple[str, ...], tight: bool,
    data: st.DataObject,
) -> None:  # fmt: skip
    already = [data.draw(st.lists(st.sampled_from(one.ids), max_size=5, unique=True)) for one in found]
    agree(found, asked, method, k, already, names, tight)


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    "method", [mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9)], ids=["guarded", "paper", "keep"]
)
def test_full_size_queries_are_selected_alike(asked: list[mc.Wish], method: mc.Mascot) -> None:
    found = [world(200, seed) for seed in range(3)]
    agree(found, asked, method, 20, [[], [3, 7], []])
    few = ("THREADS=416", "LANES=2", "EAGER=1", "TALL=10", "LONG=10", "COLUMNS=5")
    agree(found[:1], asked, method, 20, [[5]], few)


def test_the_largest_problems_fit() -> None:
    agree([world(2048, 1)], CASES["grid, mixed"], mc.Mascot(), 256, [[]])


def test_the_arena_of_the_benchmark_leaves_room_for_many_blocks() -> None:
    queries = queries_of([world(200, 0)], CASES["grid, spread"])
    packed = gpu_plan.Corpus.of(pack(queries.memberships))
    ready = gpu_plan.prepare(
        packed, queries.signs, queries.weights, queries.rules, gpu_plan.options(mc.Mascot(), 20), 20, 200, near=False
    )
    assert int(ready.record["arena"]) * 8 < 24 * 1024
    assert not ready.slab
    assert ready.exact
