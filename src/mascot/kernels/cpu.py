"""The law on numba: the same selections in microseconds, for whole batches, on all cores.

`layout` turns values into blocks of eight bins; this is the greedy pass over them. It is lazy and exact: covering
only lowers the state, so a stale spread sum is an upper bound, and a stale focus sum has fallen by no more than
the state has in all. Only candidates whose bound reaches the best gain seen in the step are evaluated again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mascot.kernels.blocks import (
    LANES,
    TILE,
    add,
    cover,
    narrow_tile_worth,
    next_from,
    peak,
    tile_add,
    tile_cover,
    tile_peak,
    tile_worth,
    worth,
    worth_plain,
)
from mascot.kernels.layout import (
    COUNT,
    LINE,
    PLANE,
    SIGMA,
    SPARSE,
    SPHERE,
    STEP,
    compiled,
    fit_axis,
    fit_sphere,
    jit,
    pack_lines,
    pack_planes,
    pack_sparse,
    pack_spheres,
)
from mascot.kernels.reference import TIE
from mascot.memberships import EARTH_KM

LAST, NEUTRAL = 0, 1  # what a missing value gets

_SOME = 40  # candidates looked at between two rises of the bar


@compiled(fastmath={"nnan", "nsz", "reassoc"})
def _highest(values: Any) -> float:
    """The largest value; there are no NaNs, so eight may be compared at a time."""
    top = values[0]
    for i in range(1, len(values)):
        top = values[i] if values[i] > top else top
    return float(top)


@jit
def _pick_all(
    base: Any, lam: float, span: Any, tiles: Any, strides: Any, shapes: Any, signs: Any, slot: Any, vec: Any,
    coef: Any, lanes: Any, state: Any, spread: Any, cost: Any, chosen: Any, near: Any, closed: Any, k: int,
    tie: float, out: Any, cap: Any, low: Any, bound: Any, todo: Any,
) -> int:  # fmt: skip
    """The lazy greedy pass; `spread` and `cost` hold sums of the state at the start. Uses up the state."""
    n, kinds = len(base), len(signs)
    slope = 0.0
    for a in range(kinds):
        if signs[a] < 0:
            slope = lam
    for i in range(n):
        cap[i] = base[i] + lam * spread[i]  # the gain if all focus bins were covered
        low[i] = cap[i] - lam * cost[i]  # the gain when last evaluated, less what has fallen since the start
    for i in closed:
        cap[i] = low[i] = -np.inf
    wanted = min(k, n - len(closed))
    fallen = 0.0  # how much the focus state has fallen in all
    for done in range(wanted):
        if done < len(chosen):
            best = chosen[done]
        else:
            for i in range(n):
                bound[i] = min(cap[i], low[i] + slope * fallen)
            # The highest bound sets a bar; then, some at a time, all that reach it are listed and evaluated. Listing
            # first keeps the processor from waiting for one gain before it may guess whether the next is needed.
            leader = next_from(0, bound, _highest(bound))
            todo[0], count, bar, at = leader, 1, -np.inf, 0
            while count > 0 or at < n:
                for j in range(count):
                    i = todo[j]
                    earn = pay = 0.0
                    for a in range(kinds):
                        begin, end = span[i, a, 0], span[i, a, 1]
                        if shapes[a] == SPARSE:
                            sum_ = worth(begin, end, slot, vec, coef, lanes, state, 0.0)
                        elif shapes[a] == PLANE and begin == end and tiles[i, a, 3] == 1:
                            sum_ = narrow_tile_worth(tiles, (i * kinds + a) * TILE, strides[a], lanes, state)
                        elif shapes[a] == PLANE and begin == end:
                            sum_ = tile_worth(tiles, (i * kinds + a) * TILE, strides[a], lanes, state, 0.0)
                        else:
                            sum_ = worth_plain(begin, end, slot, vec, lanes, state)
                        if signs[a] > 0:
                            earn += sum_
                        else:
                            pay += sum_
                    cap[i] = base[i] + lam * earn
                    bound[i] = cap[i] - lam * pay
                    low[i] = bound[i] - slope * fallen
                    bar = max(bar, bound[i] - tie)
                count = 0
                for i in range(at, min(at + _SOME, n)):
                    todo[count] = i
                    count += (bound[i] >= bar) & (i != leader)
                at += _SOME
            best = next_from(0, bound, bar)
        for a in range(kinds):
            if done < len(chosen) and near[a] >= 0:
                continue  # where the user names a point, the protected do not vote on where the focus lies
            fall = cover(span[best, a, 0], span[best, a, 1], slot, vec, coef, lanes, state, 0.0)
            fall += tile_cover(tiles, (best * kinds + a) * TILE, strides[a], lanes, state, 0.0)
            if signs[a] < 0:
                fallen += fall
        cap[best] = low[best] = -np.inf
        out[done] = best
    return wanted


@jit
def _by_score(scores: Any, count: int, out: Any) -> int:
    """The positions of the `count` highest scores, best first, ties to the lowest."""
    taken = 0
    for i in range(len(scores)):
        if taken == count and scores[i] <= scores[out[taken - 1]]:
            continue
        j = taken if taken < count else taken - 1
        while j > 0 and scores[out[j - 1]] < scores[i]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = i
        taken = min(taken + 1, count)
    return taken


@jit
def _grown(array: Any, size: int) -> Any:
    """The array, or a longer copy."""
    if len(array) >= size:
        return array
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@jit
def select_range(
    first: int, last: int, ptr: Any, rows: Any, scores: Any, seen_ptr: Any, seen: Any,
    shapes: Any, axes: Any, xs: Any, ys: Any, sparse_at: Any, indptr: Any, indices: Any, values: Any,
    signs: Any, weights: Any, rules: Any, near: Any, blocks_each: int, lanes_each: int, table_bits: int,
    strength: float, keep: float, query_weight: bool, normalize: bool, scale: bool,
    protect: int, k: int, out: Any, strengths: Any, multipliers: Any, tops: Any,
) -> None:  # fmt: skip
    """Queries first..last: pack every candidate's blocks, weigh the bins, choose. Fills the four output arrays."""
    kinds = len(shapes)
    most = 0
    for q in range(first, last):
        most = max(most, ptr[q + 1] - ptr[q])
    room = (most + 1) * blocks_each
    slot, vec, coef = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room)
    units = LANES * LANES + LANES  # a block of zeros comes after them
    lanes = np.empty(units + (most + 1) * lanes_each)
    for j in range(units):  # unit lanes, shared by all explicit bins
        lanes[j] = 1.0 if j // LANES == j % LANES else 0.0
    span = np.empty((most + 1, kinds, 2), np.int64)  # a candidate's first block and the end, by attribute
    tiles, strides = np.empty((most + 1, kinds, TILE), np.int64), np.zeros(kinds, np.int64)
    table, slots = np.empty(1 << table_bits, np.int64), np.empty(1 << table_bits, np.int64)
    mine = np.empty(most + 1, np.int64)
    ideal, relevance, base = np.empty(most), np.empty(most), np.empty(most)
    sums, spread, cost, offset = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    cap, low, bound = np.empty(most), np.empty(most), np.empty(most + 2 * LANES)
    todo = np.empty(most + 1, np.int64)
    order, chosen = np.empty(protect + 1, np.int64), np.empty(protect + 1, np.int64)
    axis = np.empty(axes.shape[1:])
    state, live = np.empty(1), np.empty(1)

    for q in range(first, last):
        raw = scores[ptr[q] : ptr[q + 1]]
        shut = seen[seen_ptr[q] : seen_ptr[q + 1]]
        n = len(raw)
        if n == 0:
            out[q] = -1
            strengths[q] = strength
            multipliers[q] = 0.0
            tops[q] = 0.0
            continue
        smallest, largest = raw.min(), raw.max()
        biggest = 0.0
        for i in range(n):
            mine[i] = rows[ptr[q] + i]
            ideal[i] = (raw[i] - smallest) / (largest - smallest + 1e-8)
            relevance[i] = ideal[i] if normalize else raw[i]
            biggest = max(biggest, abs(relevance[i]))
            spread[i] = cost[i] = offset[i] = 0.0
        all_weights = weights.sum() if scale else 1.0
        b, v, free = 0, units, 0
        total_worth = 0.0
        found = _by_score(raw, protect, order) if protect > 0 else 0
        heads = 0  # those of them that were not shown yet come first
        for j in range(found):
            fresh = True
            for i in shut:
                fresh &= i != order[j]
            if fresh:
                chosen[heads] = order[j]
                heads += 1

        for a in range(kinds):
            total = n
            if near[q, a] >= 0:
                mine[n] = near[q, a]
                total = n + 1
            here = mine[:total]
            origin, shape = free, shapes[a]
            axis[:] = axes[a]
            tiles[:total, a, 1:4] = 0
            if shape == LINE:
                if axis[0, STEP] == 0.0:
                    fit_axis(xs[a], mine[:n], axis[0])
                b, v = pack_lines(xs[a], here, axis[0], origin, slot, vec, coef, lanes, span[:, a], b, v)
                free += (int(axis[0, COUNT]) + 2 * LANES - 1) // LANES * LANES
            elif shape == PLANE:
                v = pack_planes(xs[a], ys[a], here, axis, origin, lanes, tiles[:, a], v)
                span[:total, a] = b
                strides[a] = int(axis[1, COUNT]) + LANES
                free += ((int(axis[0, COUNT]) + 1) * strides[a] + LANES - 1) // LANES * LANES
            else:
                table[:] = -1
                if shape == SPHERE:
                    km = axis[0, SIGMA]
                    if km == 0.0:
                        km = fit_sphere(xs[a], ys[a], mine[:n])
                    b, v, free = pack_spheres(
                        xs[a], ys[a], here, km / EARTH_KM, free, slot, vec, coef, lanes, span[:, a], b, v,
                        table, slots,
                    )  # fmt: skip
                else:
                    b, free = pack_sparse(
                        indptr, indices, values, here, sparse_at[a], free, slot, vec, coef, span[:, a], b,
                        table, slots,
                    )  # fmt: skip
            if len(state) < free:
                state, live = _grown(state, 2 * free), np.empty(2 * free)

            unknown = 0  # rows without a value
            for i in range(n):
                if shape == SPARSE:
                    missing = span[i, a, 0] == span[i, a, 1]
                else:
                    missing = xs[a, mine[i]] != xs[a, mine[i]]
                bound[i] = 1.0 if missing else 0.0
                unknown += missing
            if rules[a] == NEUTRAL and 0 < unknown < n:
                # They cover what the others cover on average: one more row, shared by all.
                live[origin:free] = 0.0
                for i in range(n):
                    add(span[i, a, 0], span[i, a, 1], slot, vec, coef, lanes, live, 1.0 / (n - unknown))
                    tile_add(tiles, (i * kinds + a) * TILE, strides[a], lanes, live, 1.0 / (n - unknown))
                size = (free - origin) // LANES
                need = b + size + room  # the attributes still to come need theirs
                slot, vec, coef = _grown(slot, need), _grown(vec, need), _grown(coef, need)
                lanes = _grown(lanes, v + free - origin + (most + 1) * lanes_each)
                lanes[v : v + free - origin] = live[origin:free]
                for i in range(n):
                    if bound[i] == 1.0:
                        span[i, a, 0], span[i, a, 1] = b, b + size
                for j in range(size):
                    slot[b], vec[b], coef[b] = origin + j * LANES, v + j * LANES, 1.0
                    b += 1
                v += free - origin

            # Bin weights, first-step sums, and the scale they set.
            if query_weight:
                state[origin:free] = 0.0
                for i in range(n):
                    peak(span[i, a, 0], span[i, a, 1], slot, vec, coef, lanes, state, relevance[i])
                    tile_peak(tiles, (i * kinds + a) * TILE, strides[a], lanes, state, relevance[i])
            else:
                state[origin:free] = 1.0
            if shape == LINE:
                state[origin + int(axis[0, COUNT]) : free] = 0.0
            top = 0.0
            for i in range(n):
                sums[i] = worth(span[i, a, 0], span[i, a, 1], slot, vec, coef, lanes, state, 0.0)
                sums[i] += tile_worth(tiles, (i * kinds + a) * TILE, strides[a], lanes, state, 0.0)
                top = max(top, sums[i])
            factor = weights[a] / all_weights
            if scale and top > 0.0:
                factor /= top
            state[origin:free] *= factor
            total_worth += factor * top
            multipliers[q, a], tops[q, a] = signs[a] * factor, top

            # Covered before anything is chosen: where focus starts, and what the user has seen.
            fall = 0.0
            if near[q, a] >= 0:
                fall += cover(span[n, a, 0], span[n, a, 1], slot, vec, coef, lanes, state, 0.0)
                fall += tile_cover(tiles, (n * kinds + a) * TILE, strides[a], lanes, state, 0.0)
            for i in shut:
                protected = False
                for j in range(found):
                    protected |= order[j] == i
                if not (protected and near[q, a] >= 0):
                    fall += cover(span[i, a, 0], span[i, a, 1], slot, vec, coef, lanes, state, 0.0)
                    fall += tile_cover(tiles, (i * kinds + a) * TILE, strides[a], lanes, state, 0.0)
            for i in range(n):
                now = sums[i] * factor
                if fall > 0.0:
                    now = worth(span[i, a, 0], span[i, a, 1], slot, vec, coef, lanes, state, 0.0)
                    now += tile_worth(tiles, (i * kinds + a) * TILE, strides[a], lanes, state, 0.0)
                if signs[a] > 0:
                    spread[i] += now
                else:
                    cost[i] += now
                    if rules[a] == LAST and bound[i] == 1.0:
                        offset[i] -= factor * top

        floor = 0.0
        if keep > 0.0:
            left = ideal[:n].copy()
            left[shut] = -1.0
            left.sort()
            for j in range(min(k, n - len(shut))):
                floor += keep * left[n - 1 - j]
        # `keep`: down a ladder of strengths in steps of 0.05, then back up in hundredths; as `_ladder`.
        lam, coarse, rung = strength, True, 20
        while True:
            if keep > 0.0:
                lam = rung / 20.0 if coarse else rung / 100.0
            for i in range(n):
                base[i] = (1.0 - lam) * relevance[i] + lam * offset[i]
            tie = TIE * ((1.0 - lam) * biggest + lam * total_worth)
            live[:free] = state[:free]
            done = _pick_all(
                base[:n], lam, span, tiles, strides, shapes, signs, slot, vec, coef, lanes, live, spread, cost,
                chosen[:heads], near[q], shut, k, tie, out[q], cap[:n], low[:n], bound[:n], todo,
            )  # fmt: skip
            if keep <= 0.0:
                break
            kept = 0.0
            for j in range(done):
                kept += ideal[out[q, j]]
            enough = kept >= floor - 1e-9
            if coarse and (enough or rung == 0):
                if rung == 20 or not enough:
                    break
                coarse = False
                rung = rung * 5 + 4
            elif not coarse and (enough or rung % 5 == 0):
                break
            else:
                rung -= 1
        strengths[q] = lam
        out[q, done:] = -1
