"""Gaussian bumps, eight bins at a time, in products and sums alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mascot.kernels.blocks import INDEX, LANES, VECTOR, constant, splat
from mascot.memberships import CUTOFF

_intrinsic: Any = intrinsic  # as in `blocks`
NEAR = 0.0704  # haversine of the reach of the widest self-scaled bump, and a little more
_FAR = 5.0  # exponents beyond this are below the cutoff


def _polynomial(function: Callable[[Any], Any], most: float, degree: int) -> list[float]:
    """Coefficients, highest first, of a polynomial that is the function on 0..most to the last digits."""
    fit = np.polynomial.Chebyshev.interpolate(function, degree, domain=(0.0, most))
    return [float(c) for c in fit.convert(kind=np.polynomial.Polynomial, domain=(-1, 1)).coef[::-1]]


def _sine_ratio(square: Any) -> Any:
    """sin(x)^2 / x^2 at x^2 = square."""
    return np.sinc(np.sqrt(square) / np.pi) ** 2


def _angle_ratio(hav: Any) -> Any:
    """Squared angle over its haversine, (2 arcsin(sqrt(hav)))^2 / hav."""
    hav = np.maximum(hav, 1e-18)
    return (2 * np.arcsin(np.sqrt(hav))) ** 2 / hav


_SINE = _polynomial(_sine_ratio, (np.pi / 2) ** 2, 11)
_ANGLE = _polynomial(_angle_ratio, NEAR, 10)
_EXP = _polynomial(lambda x: np.exp(-x / 8), _FAR, 10)


def _horner(builder: Any, coefficients: Sequence[float], x: Any) -> Any:
    total = constant(coefficients[0])
    for coefficient in coefficients[1:]:
        total = builder.fadd(builder.fmul(total, x, flags=("contract",)), constant(coefficient), flags=("contract",))
    return total


def _decay(builder: Any, exponent: Any, kept: Any) -> Any:
    """exp(-exponent) where it reaches the cutoff and the lane is kept, else 0."""
    p = _horner(builder, _EXP, exponent)
    for _ in range(3):  # exp(-x) = exp(-x / 8)^8
        p = builder.fmul(p, p)
    kept = builder.and_(kept, builder.fcmp_ordered("<=", exponent, constant(_FAR)))
    kept = builder.and_(kept, builder.fcmp_ordered(">=", p, constant(CUTOFF)))
    return builder.select(kept, p, constant(0.0))


def _first(builder: Any, count: Any) -> Any:
    """Which of the eight lanes are among the first `count`."""
    wide = ir.VectorType(INDEX, LANES)
    one = builder.insert_element(ir.Constant(wide, ir.Undefined), count, ir.Constant(ir.IntType(32), 0))
    counts = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
    return builder.icmp_signed("<", ir.Constant(wide, list(range(LANES))), counts)


def _store(context: Any, builder: Any, signature: Any, args: Any, values: Any) -> Any:
    """Write eight values to the array and position that are the first two arguments."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    builder.store(values, builder.bitcast(builder.gep(data, [args[1]]), VECTOR.as_pointer()), align=8)
    return context.get_dummy_value()


_STEPS = ir.Constant(VECTOR, [float(j) for j in range(LANES)])


@_intrinsic
def bump_lanes(typing: Any, lanes: Any, at: Any, offset: Any, step: Any, count: Any) -> Any:
    """lanes[at + j] = exp(-((offset - j) * step)^2 / 2) for eight centres, 0 below the cutoff or where j >= count."""
    signature = types.void(lanes, types.int64, types.float64, types.float64, types.int64)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        d = builder.fmul(builder.fsub(splat(builder, args[2]), _STEPS), splat(builder, args[3]))
        exponent = builder.fmul(builder.fmul(d, d), constant(0.5))
        return _store(context, builder, signature, args, _decay(builder, exponent, _first(builder, args[4])))

    return signature, build


@_intrinsic
def globe_lanes(
    typing: Any, lanes: Any, at: Any, across: Any, along: Any, apart: Any, width: Any, fold: Any, count: Any
) -> Any:
    """lanes[at + j] = exp(-angle^2 * fold) for eight cells, 0 below the cutoff or where j >= count.

    hav = across + along * sin((apart - j * width) / 2)^2, where `apart` is the difference of longitudes to the
    first cell. Needs a reach of at most `NEAR`.
    """
    real = types.float64
    signature = types.void(lanes, types.int64, real, real, real, real, real, types.int64)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        across, along, apart, width, fold = (splat(builder, scalar) for scalar in args[2:7])
        x = builder.fsub(apart, builder.fmul(_STEPS, width))
        for limit, turn in ((">", np.pi), ("<", -np.pi)):  # the short way round
            beyond = builder.fcmp_ordered(limit, x, constant(turn))
            x = builder.select(beyond, builder.fsub(x, constant(2 * turn)), x)
        square = builder.fmul(builder.fmul(x, x), constant(0.25))
        sine = builder.fmul(_horner(builder, _SINE, square), square)
        hav = builder.fadd(across, builder.fmul(along, sine))
        exponent = builder.fmul(builder.fmul(_horner(builder, _ANGLE, hav), hav), fold)
        kept = builder.and_(_first(builder, args[7]), builder.fcmp_ordered("<=", hav, constant(NEAR)))
        return _store(context, builder, signature, args, _decay(builder, exponent, kept))

    return signature, build
