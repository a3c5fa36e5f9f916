"""Tall landmarks, each one length high, its foot in the middle at 0."""

from __future__ import annotations

import math
from itertools import pairwise

from mascot.photos.sample.paint.built import GLASS, LAMP
from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.masonry import DUSK, PALE, arch, cap, lit_box
from mascot.photos.sample.paint.stage import Pen, Points, points_of, stretched


def lattice_tower(pen: Pen, colour: Colour = (136, 102, 80)) -> None:
    """The Eiffel Tower, or its red cousin."""
    dull = mix(colour, DUSK, 0.35)

    def half(y: float) -> float:
        return 0.012 + 0.20 * (1 - y) ** 3.2

    levels = [i / 24 for i in range(24)]
    for side in (-1, 1):
        rim = [(side * half(y), y) for y in levels]
        inner = [(side * max(half(y) - 0.055 * (1 - y), 0.0), y) for y in levels]
        pen.poly([*rim, *reversed(inner)], colour)
    for low, high in pairwise(levels[6:]):
        a, b = half(low) * 0.9, half(high) * 0.9
        pen.line([(-a, low), (b, high)], 0.010, dull)
        pen.line([(a, low), (-b, high)], 0.010, dull)
    arch = [(0.125 * math.cos(t), 0.02 + 0.13 * math.sin(t)) for t in [math.pi * i / 16 for i in range(17)]]
    pen.line(arch, 0.018, colour)
    for y, extra in ((0.19, 0.022), (0.40, 0.016), (0.86, 0.016)):
        pen.box(-half(y) - extra, y, half(y) + extra, y + 0.024, dull)
        if pen.stage.light.dark > 0.3:
            pen.glow(0, y, 0.07, LAMP, 0.35)
    pen.box(-0.016, 0.88, 0.016, 0.94, colour)
    pen.line([(0, 0.92), (0, 1.04)], 0.009, dull)


def red_tower(pen: Pen) -> None:
    lattice_tower(pen, (214, 84, 56))
    pen.box(-0.06, 0.54, 0.06, 0.60, PALE)


def needle(pen: Pen) -> None:
    """A glass tower that narrows in steps: the tallest of all."""
    glass = (158, 178, 198)
    steps = [(0.12, 0.30), (0.095, 0.46), (0.072, 0.60), (0.052, 0.72), (0.034, 0.82), (0.018, 0.90)]
    low = 0.0
    for i, (half, top) in enumerate(steps):
        lean = 0.012 * (-1) ** i
        pen.box(-half + lean, low, half + lean, top, glass)
        pen.box(half * 0.2 + lean, low, half + lean, top, mix(glass, DUSK, 0.36))
        for y in [low + 0.012 * k for k in range(1, int((top - low) / 0.012))]:
            if pen.stage.rng.random() < 0.5:
                left = lean - half * 0.8
                right = left + half * 1.5 * pen.stage.rng.random()
                lit_box(pen, left, y, right, y + 0.004, mix(glass, (90, 120, 160), 0.5))
        low = top - 0.02
    pen.line([(0, 0.88), (0, 1.06)], 0.010, mix(glass, DUSK, 0.3))


def square_minaret(pen: Pen) -> None:
    """The tower of Marrakesh."""
    clay = (206, 146, 102)
    pen.box(-0.50, 0, 0.50, 0.14, mix(clay, PALE, 0.2))
    for i in range(12):
        pen.box(-0.50 + i * 0.086, 0.14, -0.455 + i * 0.086, 0.17, mix(clay, PALE, 0.2))
    pen.box(-0.11, 0, 0.11, 0.74, clay)
    pen.box(0.04, 0, 0.11, 0.74, mix(clay, DUSK, 0.28))
    for y in (0.30, 0.48):
        arch(pen, -0.03, y, 0.03, 0.12, mix(clay, DUSK, 0.5))
    pen.box(-0.115, 0.64, 0.115, 0.69, (92, 146, 150))
    for i in range(5):
        pen.poly([(-0.12 + i * 0.05, 0.74), (-0.10 + i * 0.05, 0.78), (-0.08 + i * 0.05, 0.74)], clay)
    pen.box(-0.06, 0.74, 0.06, 0.88, clay)
    cap(pen, 0, 0.88, 0.055, mix(clay, PALE, 0.3))
    for y in (0.945, 0.97, 0.99):
        pen.oval(0, y, 0.013, 0.013, (226, 188, 92))


def pagoda(pen: Pen, tiers: int = 5) -> None:
    red, roof = (186, 72, 58), (74, 82, 96)
    pen.box(-0.34, 0, 0.34, 0.05, (178, 170, 160))
    step = 0.80 / tiers
    for i in range(tiers):
        low, half = 0.05 + i * step, 0.22 - 0.026 * i
        pen.box(-half, low, half, low + step * 0.62, red)
        pen.box(-half, low + step * 0.10, half, low + step * 0.16, (244, 232, 206))
        for k in (-0.6, 0.0, 0.6):
            lit_box(pen, half * k - 0.026, low + step * 0.18, half * k + 0.026, low + step * 0.52, (110, 50, 46))
        wide, y = half + 0.15, low + step * 0.58
        pen.curve(stretched("-1.06,.28 -.7,0 0,-.06 .7,0 1.06,.28 .6,.34 -.6,.34", 0.0, y, wide, step), roof)
        pen.line(stretched("-1,.22 -.7,.03 0,-.03 .7,.03 1,.22", 0.0, y, wide, step), 0.012, mix(roof, PALE, 0.35))
    pen.line([(0, 0.86), (0, 1.06)], 0.016, (206, 168, 88))
    for y in (0.91, 0.95, 0.99):
        pen.line([(-0.025, y), (0.025, y)], 0.010, (206, 168, 88))


def three_towers(pen: Pen) -> None:
    """Three towers that carry a ship-like roof: Singapore."""
    glass = (150, 170, 188)
    for x in (-0.56, 0.0, 0.56):
        pen.poly([(x - 0.19, 0), (x - 0.06, 0), (x + 0.02, 0.86), (x - 0.13, 0.86)], glass)
        pen.poly([(x + 0.02, 0), (x + 0.20, 0), (x + 0.10, 0.86), (x - 0.02, 0.86)], mix(glass, DUSK, 0.32))
        for k in range(14):
            y = 0.05 + k * 0.056
            for dx in (-0.13, -0.09, 0.07, 0.11):
                left = x + dx + y * (0.07 if dx < 0 else -0.06)
                lit_box(pen, left, y, left + 0.026, y + 0.028, mix(glass, GLASS, 0.6))
    pen.curve("-.86,.9 -.6,.86 .6,.86 .98,.94 .6,.97 -.6,.96", (236, 232, 224))
    for x in (-0.5, -0.3, -0.1, 0.15, 0.35, 0.55):
        pen.oval(x, 0.985, 0.045, 0.03, (86, 138, 84))


def spires(pen: Pen) -> None:
    """The honeycombed towers of Barcelona."""
    stone = (212, 180, 140)
    for x, top in ((-0.34, 0.72), (0.34, 0.72), (-0.20, 0.86), (0.20, 0.86), (0.0, 1.0)):
        half = 0.034 + 0.05 * top
        slim = [(half * (1 - (k / 12) ** 2.6), top * k / 12) for k in range(13)]
        rim = [*((x - wide, y) for wide, y in slim), *((x + wide, y) for wide, y in reversed(slim))]
        pen.poly(rim, stone)
        pen.poly([(max(px, x + half * 0.1), y) for px, y in rim], mix(stone, DUSK, 0.26))
        for k in range(4, 11):
            lit_box(pen, x - half * 0.28, top * k / 13, x - half * 0.02, top * k / 13 + 0.028, mix(stone, DUSK, 0.55))
        pen.oval(x, top + 0.012, 0.022, 0.022, (226, 120, 84))
        pen.line([(x - 0.03, top + 0.03), (x + 0.03, top + 0.03)], 0.012, (240, 220, 160))
        pen.line([(x, top), (x, top + 0.06)], 0.012, (240, 220, 160))
    pen.poly("-.46,0 -.42,.34 0,.5 .42,.34 .46,0", mix(stone, PALE, 0.2))
    for x in (-0.22, 0.0, 0.22):
        arch(pen, x, 0, 0.07, 0.24, mix(stone, DUSK, 0.5))
    pen.oval(0, 0.36, 0.06, 0.06, (112, 150, 176))


def stepped_church(pen: Pen) -> None:
    """The church of Reykjavik: basalt columns that step up to the tower."""
    grey = (206, 204, 200)
    dull = mix(grey, DUSK, 0.30)
    pen.box(-0.12, 0, 0.12, 0.30, dull)
    for i in range(12):
        for side in (-1, 1):
            x = side * (0.10 + i * 0.036)
            high = 0.74 * math.exp(-i * 0.27) + 0.05
            pen.box(x - 0.015, 0, x + 0.015, high, grey if (side < 0) ^ (i % 2 == 0) else dull)
    pen.box(-0.095, 0, 0.095, 0.78, grey)
    pen.box(0.03, 0, 0.095, 0.78, dull)
    pen.poly("-.095,.78 0,.98 .095,.78", mix(grey, dull, 0.5))
    pen.line([(0, 0.96), (0, 1.05)], 0.012, dull)
    pen.line([(-0.025, 1.02), (0.025, 1.02)], 0.010, dull)
    for y in (0.30, 0.50, 0.66):
        lit_box(pen, -0.028, y, 0.028, y + 0.10)
    arch(pen, 0, 0, 0.05, 0.16, mix(dull, DUSK, 0.6))


def windmill(pen: Pen) -> None:
    thatch, wood = (150, 112, 78), (62, 104, 88)
    pen.box(-0.24, 0, 0.24, 0.18, (178, 100, 76))
    for x in (-0.14, 0.10):
        lit_box(pen, x, 0.06, x + 0.06, 0.14)
    pen.box(-0.30, 0.18, 0.30, 0.21, (244, 238, 226))
    pen.poly("-.2,.21 .2,.21 .11,.64 -.11,.64", thatch)
    pen.poly(".04,.21 .2,.21 .11,.64 .03,.64", mix(thatch, DUSK, 0.3))
    pen.curve("-.13,.63 -.1,.74 .02,.78 .13,.72 .14,.63", wood)
    turn = pen.stage.rng.random() * 1.5
    for i in range(4):
        a = turn + i * math.pi / 2
        along, across = (math.cos(a), math.sin(a)), (-math.sin(a), math.cos(a))
        tip = (along[0] * 0.46, 0.70 + along[1] * 0.46)
        pen.line([(0, 0.70), tip], 0.018, (92, 70, 58))

        def turned(shape: str, along: tuple[float, float] = along, across: tuple[float, float] = across) -> Points:
            return [(along[0] * r + across[0] * s, 0.70 + along[1] * r + across[1] * s) for r, s in points_of(shape)]

        pen.poly(turned(".1,0 .1,.09 .45,.09 .45,0"), (244, 232, 210))
        for bar in (".16,0 .16,.09", ".23,0 .23,.09", ".3,0 .3,.09", ".37,0 .37,.09"):
            pen.line(turned(bar), 0.008, (150, 122, 96))
    pen.oval(0, 0.70, 0.03, 0.03, (206, 70, 62))


def campanile(pen: Pen) -> None:
    """A brick bell tower beside a domed white church."""
    brick = (198, 110, 82)
    pen.box(-0.12, 0, 0.62, 0.30, (240, 232, 218))
    pen.box(0.40, 0, 0.62, 0.30, (206, 196, 190))
    pen.poly("-.02,.3 .16,.4 .34,.3", (240, 232, 218))
    pen.box(0.28, 0.30, 0.54, 0.40, (240, 232, 218))
    cap(pen, 0.41, 0.38, 0.16, (142, 160, 166))
    pen.line([(0.41, 0.52), (0.41, 0.60)], 0.012, (226, 188, 92))
    arch(pen, 0.16, 0, 0.05, 0.18, (92, 76, 82))
    pen.box(-0.30, 0, -0.12, 0.72, brick)
    pen.box(-0.18, 0, -0.12, 0.72, mix(brick, DUSK, 0.3))
    pen.box(-0.32, 0.70, -0.10, 0.74, (240, 232, 218))
    pen.box(-0.29, 0.74, -0.13, 0.84, (240, 232, 218))
    for x in (-0.25, -0.17):
        arch(pen, x, 0.75, 0.022, 0.075, (92, 76, 82))
    pen.poly("-.3,.84 -.21,1.02 -.12,.84", (112, 150, 132))
    pen.line([(-0.21, 1.0), (-0.21, 1.07)], 0.012, (226, 188, 92))


def statue(pen: Pen) -> None:
    """Open arms on a mountain top: Rio."""
    white = (232, 230, 222)
    dull = mix(white, DUSK, 0.26)
    pen.box(-0.10, 0, 0.10, 0.16, mix(white, (120, 110, 110), 0.4))
    pen.poly("-.09,.16 .09,.16 .065,.8 -.065,.8", white)
    pen.poly(".02,.16 .09,.16 .065,.8 .03,.8", dull)
    for half, tone in ((pen.mirror(), white), (pen, mix(white, dull, 0.6))):
        half.poly(".05,.8 .44,.775 .44,.745 .24,.7 .06,.64", tone)
        half.oval(0.455, 0.76, 0.028, 0.018, white)
    pen.oval(0, 0.87, 0.045, 0.06, white)
