"""Loops over blocks of eight bins, eight at a time.

Numba vectorises a loop over blocks by gathering across them, at half the speed of scalar code. So these loops
are written with vectors of eight from the start, as numba intrinsics; each is one call from compiled code.

A candidate's bins are either a list of blocks, block b having the eight values coef[b] * lanes[vec[b]:][:8] for the
bins state[slot[b]:][:8]; or a tile, the outer product of row factors and lanes, as two-dimensional bumps are: a
tile of 10 x 8 bins is 18 numbers, and memory is what the loops wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mascot.memberships import CUTOFF

LANES = 8
TILE = 5  # fields of a tile: first slot, rows, first lane, blocks across, first factor
_intrinsic: Any = intrinsic  # called without the typing context, which its own types do not say

DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
INDEX = ir.IntType(64)
_Step = Callable[[Any, Any, Any], tuple[Any, Any]]
_FLAGS = ("contract",)  # products may be fused into sums; NaN and infinity keep their meaning


def constant(value: float) -> Any:
    return ir.Constant(VECTOR, [value] * LANES)


def splat(builder: Any, scalar: Any) -> Any:
    one = builder.insert_element(constant(ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _arrays(context: Any, builder: Any, signature: Any, args: Any, positions: Iterable[int]) -> list[Any]:
    """Pointers to the data of the array arguments at these positions."""
    return [context.make_array(signature.args[j])(context, builder, args[j]).data for j in positions]


def _add_up(builder: Any, total: Any) -> Any:
    """The sum of eight values, by halves."""
    for half in (4, 2, 1):
        low, high = (
            builder.shuffle_vector(
                total,
                total,
                ir.Constant(ir.VectorType(ir.IntType(32), half), list(range(first, first + half))),
            )
            for first in (0, half)
        )
        total = builder.fadd(low, high)
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _over_blocks(
    builder: Any, begin: Any, end: Any, slots: Any, vecs: Any, coefs: Any, lanes: Any, state: Any, step: _Step
) -> Any:
    """Over the blocks begin..end; without `coefs` all factors are 1. Returns the sum of what `step` adds."""
    total = cgutils.alloca_once_value(builder, constant(0.0))
    with cgutils.for_range_slice(builder, begin, end, ir.Constant(begin.type, 1), inc=True) as (b, _):
        at_slot = builder.zext(builder.load(builder.gep(slots, [b])), INDEX)
        at_lane = builder.zext(builder.load(builder.gep(vecs, [b])), INDEX)
        p = _load(builder, lanes, at_lane)
        if coefs is not None:
            p = builder.fmul(splat(builder, builder.load(builder.gep(coefs, [b]))), p)
        _take(builder, p, state, at_slot, total, step)
    return _add_up(builder, builder.load(total))


def _over_tile(builder: Any, tiles: Any, at: Any, stride: Any, lanes: Any, state: Any, step: _Step) -> Any:
    """Over the tile at tiles[at:]: rows of bins whose values are a row's factor times shared lanes, then cut."""
    slot, rows, lane, across, factor = (
        builder.load(builder.gep(tiles, [builder.add(at, ir.Constant(INDEX, field))])) for field in range(TILE)
    )
    total = cgutils.alloca_once_value(builder, constant(0.0))
    with cgutils.for_range(builder, rows) as loop:
        scale = splat(builder, builder.load(builder.gep(lanes, [builder.add(factor, loop.index)])))
        at_row = builder.add(slot, builder.mul(loop.index, stride))
        with cgutils.for_range(builder, across) as inner:
            along = builder.shl(inner.index, ir.Constant(INDEX, 3))
            p = builder.fmul(scale, _load(builder, lanes, builder.add(lane, along)))
            p = builder.select(builder.fcmp_ordered(">=", p, constant(CUTOFF)), p, constant(0.0))
            _take(builder, p, state, builder.add(at_row, along), total, step)
    return _add_up(builder, builder.load(total))


def _over_narrow_tile(builder: Any, tiles: Any, at: Any, stride: Any, lanes: Any, state: Any) -> Any:
    """What a tile one block across is worth: two rows at a time, so that sums need not wait for one another.

    Reads one row more where their number is odd; its factor is 0.
    """
    slot, rows, lane, _, factor = (
        builder.load(builder.gep(tiles, [builder.add(at, ir.Constant(INDEX, field))])) for field in range(TILE)
    )
    shared = _load(builder, lanes, lane)
    totals = [cgutils.alloca_once_value(builder, constant(0.0)) for _ in range(2)]
    with cgutils.for_range_slice(builder, ir.Constant(INDEX, 0), rows, ir.Constant(INDEX, 2), inc=True) as (row, _):
        for odd, total in enumerate(totals):
            here = builder.add(row, ir.Constant(INDEX, odd))
            scale = splat(builder, builder.load(builder.gep(lanes, [builder.add(factor, here)])))
            p = builder.fmul(scale, shared)
            p = builder.select(builder.fcmp_ordered(">=", p, constant(CUTOFF)), p, constant(0.0))
            bins = _load(builder, state, builder.add(slot, builder.mul(here, stride)))
            more = builder.fmul(p, bins, flags=_FLAGS)
            builder.store(builder.fadd(builder.load(total), more, flags=_FLAGS), total)
    return _add_up(builder, builder.fadd(*(builder.load(total) for total in totals)))


def _load(builder: Any, data: Any, at: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer()), align=8)


def _take(builder: Any, p: Any, state: Any, at: Any, total: Any, step: _Step) -> None:
    """`step(builder, p, bins)` gives what to add to the total, and the new bins or None."""
    more, new = step(builder, p, _load(builder, state, at))
    builder.store(builder.fadd(builder.load(total), more, flags=_FLAGS), total)
    if new is not None:
        builder.store(new, builder.bitcast(builder.gep(state, [at]), VECTOR.as_pointer()), align=8)


def _blocks(step: Callable[..., tuple[Any, Any]]) -> Any:
    """An intrinsic f(begin, end, slot, vec, coef, lanes, state, factor)."""

    def declare(
        typing: Any, begin: Any, end: Any, slot: Any, vec: Any, coef: Any, lanes: Any, state: Any, factor: Any
    ) -> Any:
        signature = types.float64(types.int64, types.int64, slot, vec, coef, lanes, state, types.float64)

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            slots, vecs, coefs, values, bins = _arrays(context, builder, signature, args, range(2, 7))
            factor = splat(builder, args[7])
            return _over_blocks(
                builder, args[0], args[1], slots, vecs, coefs, values, bins,
                lambda builder, p, old: step(builder, p, old, factor),
            )  # fmt: skip

        return signature, build

    return _intrinsic(declare)


def _tile(step: Callable[..., tuple[Any, Any]]) -> Any:
    """An intrinsic f(tiles, at, stride, lanes, state, factor)."""

    def declare(typing: Any, tiles: Any, at: Any, stride: Any, lanes: Any, state: Any, factor: Any) -> Any:
        signature = types.float64(tiles, types.int64, types.int64, lanes, state, types.float64)

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            fields, values, bins = _arrays(context, builder, signature, args, (0, 3, 4))
            factor = splat(builder, args[5])
            return _over_tile(
                builder, fields, args[1], args[2], values, bins, lambda builder, p, old: step(builder, p, old, factor)
            )

        return signature, build

    return _intrinsic(declare)


@_intrinsic
def worth_plain(typing: Any, begin: Any, end: Any, slot: Any, vec: Any, lanes: Any, state: Any) -> Any:
    """As `worth`, where all factors are 1."""
    signature = types.float64(types.int64, types.int64, slot, vec, lanes, state)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        slots, vecs, values, bins = _arrays(context, builder, signature, args, range(2, 6))
        step: _Step = lambda builder, p, old: _worth(builder, p, old, None)  # noqa: E731
        return _over_blocks(builder, args[0], args[1], slots, vecs, None, values, bins, step)

    return signature, build


@_intrinsic
def next_from(typing: Any, start: Any, values: Any, bar: Any) -> Any:
    """The first position from `start` on whose value is at least `bar`; len(values) or more if there is none.

    Reads up to eight values beyond the end: the array behind `values` must be that much longer.
    """
    signature = types.int64(types.int64, values, types.float64)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.make_array(signature.args[1])(context, builder, args[1])
        (size,) = cgutils.unpack_tuple(builder, made.shape, 1)
        bar = splat(builder, args[2])
        before = builder.block
        check, done = builder.append_basic_block("check"), builder.append_basic_block("done")
        builder.branch(check)
        builder.position_at_end(check)
        at = builder.phi(INDEX)
        at.add_incoming(args[0], before)
        eight = builder.load(builder.bitcast(builder.gep(made.data, [at]), VECTOR.as_pointer()), align=8)
        mask = builder.bitcast(builder.fcmp_ordered(">=", eight, bar), ir.IntType(LANES))
        following = builder.add(at, ir.Constant(INDEX, LANES))
        at.add_incoming(following, check)
        found = builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(LANES), 0))
        over = builder.icmp_signed(">=", following, size)
        builder.cbranch(builder.or_(found, over), done, check)
        builder.position_at_end(done)
        lane = builder.zext(builder.cttz(mask, ir.Constant(ir.IntType(1), 0)), INDEX)  # 8 where none was found
        return builder.add(at, lane)

    return signature, build


def _worth(builder: Any, p: Any, bins: Any, factor: Any) -> tuple[Any, Any]:
    return builder.fmul(p, bins, flags=_FLAGS), None


def _cover(builder: Any, p: Any, bins: Any, factor: Any) -> tuple[Any, Any]:
    fall = builder.fmul(p, bins)
    return fall, builder.fsub(bins, fall)


def _add(builder: Any, p: Any, bins: Any, factor: Any) -> tuple[Any, Any]:
    more = builder.fmul(p, factor)
    return more, builder.fadd(bins, more)


def _peak(builder: Any, p: Any, bins: Any, factor: Any) -> tuple[Any, Any]:
    value = builder.fmul(p, factor)
    return value, builder.select(builder.fcmp_ordered(">", value, bins), value, bins)


@_intrinsic
def narrow_tile_worth(typing: Any, tiles: Any, at: Any, stride: Any, lanes: Any, state: Any) -> Any:
    """As `tile_worth`, for a tile that is one block across."""
    signature = types.float64(tiles, types.int64, types.int64, lanes, state)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        fields, values, bins = _arrays(context, builder, signature, args, (0, 3, 4))
        return _over_narrow_tile(builder, fields, args[1], args[2], values, bins)

    return signature, build


worth, tile_worth = _blocks(_worth), _tile(_worth)  # sum of p * state
cover, tile_cover = _blocks(_cover), _tile(_cover)  # state *= 1 - p; returns by how much the state fell in all
add, tile_add = _blocks(_add), _tile(_add)  # state += factor * p
peak, tile_peak = _blocks(_peak), _tile(_peak)  # state = max(state, factor * p)
