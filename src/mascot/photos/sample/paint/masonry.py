"""The parts of famous buildings: windows, arches, domes, battlements."""

from __future__ import annotations

import math

from mascot.photos.sample.paint.built import GLASS, LAMP, window_light
from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.stage import Pen

STONE: Colour = (222, 198, 160)
PALE: Colour = (240, 228, 206)
DUSK: Colour = (44, 34, 70)


def lit_box(pen: Pen, left: float, bottom: float, right: float, top: float, day: Colour = GLASS) -> None:
    """A window: dark by day, often lit in the dark."""
    pen.box(left, bottom, right, top, day)
    lit = window_light(pen.stage, 0.8)
    if lit is not None:
        corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
        pen.stage.polygon([pen.spot(x, y) for x, y in corners], mix(lit, pen.stage.light.horizon, pen.depth * 0.4))


def battlement(pen: Pen, left: float, right: float, y: float, colour: Colour) -> None:
    number = max(round((right - left) / 0.07), 2)
    step = (right - left) / number
    for i in range(number):
        pen.box(left + i * step, y, left + (i + 0.56) * step, y + 0.045, colour)


def arch(pen: Pen, x: float, low: float, half: float, high: float, colour: Colour) -> None:
    """An opening with a round top."""
    shoulder = max(high - half, 0.0)
    turns = [math.pi * i / 10 for i in range(11)]
    rim = [(x + half * math.cos(turn), low + shoulder + half * math.sin(turn)) for turn in turns]
    pen.poly([(x + half, low), *rim, (x - half, low)], colour)


def lit_arch(pen: Pen, x: float, low: float, half: float, high: float) -> None:
    if window_light(pen.stage, 0.9) is not None:
        px, py = pen.spot(x, low + high * 0.4)
        pen.stage.oval(px, py, half * 0.7 * pen.size, high * 0.42 * pen.size, (*LAMP, 0.75))


def cap(pen: Pen, x: float, y: float, radius: float, colour: Colour) -> None:
    """A dome, brighter on its left."""
    turns = [math.pi * i / 14 for i in range(15)]
    for middle, rx, ry, tone in ((x, 1.0, 0.92, mix(colour, DUSK, 0.25)), (x - 0.11 * radius, 0.82, 0.91, colour)):
        rim = [(middle + rx * radius * math.cos(turn), y + ry * radius * math.sin(turn)) for turn in turns]
        pen.poly(rim, tone)


def minaret(pen: Pen, stone: Colour, lead: Colour) -> None:
    pen.box(-0.028, 0, 0.028, 0.80, stone)
    pen.box(0.006, 0, 0.028, 0.80, mix(stone, DUSK, 0.28))
    for y in (0.46, 0.64, 0.78):
        pen.box(-0.045, y, 0.045, y + 0.026, mix(stone, DUSK, 0.1))
    pen.poly("-.034,.8 0,1.02 .034,.8", lead)
