"""Loops over blocks of eight bins, eight at a time.

Numba vectorises a loop over blocks by gathering across them, at half the speed of scalar code. So these loops
are written with vectors of eight from the start, as numba intrinsics; each is one call from compiled code.

A block b reads eight values p = coef[b] * lanes[vec[b]:][:8], those below `cut` counting as zero,
against eight bins state[slot[b]:][:8].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
_intrinsic: Any = intrinsic  # called without the typing context, which its own types do not say

DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
INDEX = ir.IntType(64)
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
    builder: Any, begin: Any, end: Any, slots: Any, vecs: Any, coefs: Any, lanes: Any, state: Any, cut: Any,
    step: Callable[[Any, Any], tuple[Any, Any]],
) -> Any:  # fmt: skip
    """The loop itself: `step(p, bins)` gives what to add to the sum, and the new bins or None.

    Without `coefs` the lanes are taken as they are.
    """
    total = cgutils.alloca_once_value(builder, constant(0.0))
    with cgutils.for_range_slice(builder, begin, end, ir.Constant(begin.type, 1), inc=True) as (b, _):
        at_slot = builder.zext(builder.load(builder.gep(slots, [b])), INDEX)
        at_lane = builder.zext(builder.load(builder.gep(vecs, [b])), INDEX)
        p = builder.load(builder.bitcast(builder.gep(lanes, [at_lane]), VECTOR.as_pointer()), align=8)
        where = builder.bitcast(builder.gep(state, [at_slot]), VECTOR.as_pointer())
        if coefs is not None:
            p = builder.fmul(splat(builder, builder.load(builder.gep(coefs, [b]))), p)
            p = builder.select(builder.fcmp_ordered(">=", p, cut), p, constant(0.0))
        more, new = step(p, builder.load(where, align=8))
        builder.store(builder.fadd(builder.load(total), more, flags=_FLAGS), total)
        if new is not None:
            builder.store(new, where, align=8)
    return _add_up(builder, builder.load(total))


def _loop(step: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Any:
    """An intrinsic f(begin, end, slot, vec, coef, lanes, state, cut, factor) that returns the sum over blocks."""

    def declare(
        typing: Any,
        begin: Any,
        end: Any,
        slot: Any,
        vec: Any,
        coef: Any,
        lanes: Any,
        state: Any,
        cut: Any,
        factor: Any,
    ) -> Any:
        signature = types.float64(types.int64, types.int64, slot, vec, coef, lanes, state, types.float64, types.float64)

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            slots, vecs, coefs, values, bins = _arrays(context, builder, signature, args, range(2, 7))
            cut, factor = splat(builder, args[7]), splat(builder, args[8])
            return _over_blocks(
                builder, args[0], args[1], slots, vecs, coefs, values, bins, cut,
                lambda p, old: step(builder, p, old, factor),
            )  # fmt: skip

        return signature, build

    return _intrinsic(declare)


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


@_intrinsic
def worth_plain(typing: Any, begin: Any, end: Any, slot: Any, vec: Any, lanes: Any, state: Any) -> Any:
    """As `worth`, where all factors are 1 and the lanes were cut when they were made."""
    signature = types.float64(types.int64, types.int64, slot, vec, lanes, state)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        slots, vecs, values, bins = _arrays(context, builder, signature, args, range(2, 6))
        return _over_blocks(
            builder, args[0], args[1], slots, vecs, None, values, bins, None,
            lambda p, old: (builder.fmul(p, old, flags=_FLAGS), None),
        )  # fmt: skip

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


worth = _loop(_worth)  # sum of p * state
cover = _loop(_cover)  # state *= 1 - p; returns by how much the state fell in all
add = _loop(_add)  # state += factor * p
peak = _loop(_peak)  # state = max(state, factor * p)
