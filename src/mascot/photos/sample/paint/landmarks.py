"""Famous buildings by name. Each is one length high, its foot in the middle at 0."""

from __future__ import annotations

import math
from collections.abc import Callable

from mascot.photos.sample.paint import towers
from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.masonry import DUSK, PALE, STONE, arch, battlement, cap, lit_arch, lit_box, minaret
from mascot.photos.sample.paint.stage import Pen


def dome(pen: Pen, colour: Colour = STONE, roof: Colour = (108, 128, 122)) -> None:
    """A church under a great stone dome with a lantern."""
    dull = mix(colour, DUSK, 0.24)
    pen.box(-0.36, 0, 0.36, 0.34, colour)
    pen.box(0.18, 0, 0.36, 0.34, dull)
    for x in (-0.36, 0.26):
        pen.box(x, 0.3, x + 0.10, 0.52, colour)
        pen.curve([(x - 0.01, 0.51), (x + 0.02, 0.58), (x + 0.05, 0.66), (x + 0.08, 0.58), (x + 0.11, 0.51)], roof)
    pen.box(-0.22, 0.32, 0.22, 0.50, colour)
    pen.box(0.10, 0.32, 0.22, 0.50, dull)
    pen.curve("-.25,.49 -.23,.64 -.12,.78 0,.82 .12,.78 .23,.64 .25,.49", roof)
    pen.curve(".04,.49 .08,.66 .02,.82 .12,.78 .23,.64 .25,.49", mix(roof, DUSK, 0.3))
    pen.box(-0.045, 0.80, 0.045, 0.90, colour)
    pen.poly("-.055,.89 0,.98 .055,.89", roof)
    pen.line([(0, 0.96), (0, 1.04)], 0.012, (226, 188, 92))
    for x in (-0.16, -0.055, 0.055, 0.16):
        lit_box(pen, x - 0.022, 0.37, x + 0.022, 0.46)
    for x in (-0.28, -0.14, 0.14, 0.28):
        lit_box(pen, x - 0.025, 0.10, x + 0.025, 0.25)
    arch(pen, 0, 0, 0.055, 0.22, mix(dull, DUSK, 0.5))


def temple(pen: Pen) -> None:
    """Columns under a gable, on steps."""
    dull = mix(PALE, DUSK, 0.3)
    for i in range(3):
        pen.box(-0.72 + 0.03 * i, 0.05 * i, 0.72 - 0.03 * i, 0.05 * i + 0.05, mix(PALE, dull, 0.25 * i))
    pen.box(-0.60, 0.15, 0.60, 0.66, mix(dull, (120, 90, 90), 0.3))
    for i in range(8):
        x = -0.58 + i * 1.16 / 7
        pen.poly([(x - 0.052, 0.15), (x + 0.052, 0.15), (x + 0.042, 0.66), (x - 0.042, 0.66)], PALE)
        pen.box(x + 0.012, 0.16, x + 0.044, 0.66, mix(PALE, dull, 0.6))
        pen.box(x - 0.06, 0.64, x + 0.06, 0.68, PALE)
    pen.box(-0.68, 0.68, 0.68, 0.78, PALE)
    pen.poly("-.72,.78 0,1 .72,.78", PALE)
    pen.poly("-.52,.8 0,.95 .52,.8", dull)


def colosseum(pen: Pen) -> None:
    dull = mix(STONE, DUSK, 0.5)
    pen.poly("-.86,0 -.86,.6 -.6,.66 -.34,.96 .3,1 .7,.94 .9,.88 .9,0", STONE)
    for row, (low, high) in enumerate(((0.04, 0.24), (0.32, 0.52), (0.60, 0.78))):
        for i in range(15):
            turn = math.pi * (i + 0.5) / 15
            x = -0.86 * math.cos(turn) + 0.02
            wide = 0.045 * math.sin(turn) + 0.008
            if row == 2 and x < -0.36:
                continue
            arch(pen, x, low, wide, high - low, dull)
            if pen.stage.light.dark > 0.3:
                lit_arch(pen, x, low, wide, high - low)
    for y in (0.28, 0.56):
        pen.line([(-0.86, y), (0.90, y)], 0.020, mix(STONE, (255, 255, 255), 0.3))
    pen.line([(-0.34, 0.84), (0.90, 0.84)], 0.018, mix(STONE, (255, 255, 255), 0.3))


def mosque(pen: Pen) -> None:
    """Domes upon domes and four minarets."""
    stone, lead = (214, 204, 194), (126, 146, 162)
    for x in (-0.62, 0.62):
        minaret(pen.at(x, 0), stone, lead)
    for x in (-0.36, 0.36):
        minaret(pen.at(x, 0.05, 0.96), stone, lead)
    pen.box(-0.54, 0, 0.54, 0.26, stone)
    for x, y, r in ((-0.38, 0.24, 0.14), (0.38, 0.24, 0.14), (-0.20, 0.32, 0.17), (0.20, 0.32, 0.17)):
        cap(pen, x, y, r, lead)
    pen.box(-0.28, 0.24, 0.28, 0.40, stone)
    pen.box(-0.22, 0.38, 0.22, 0.46, mix(stone, DUSK, 0.12))
    cap(pen, 0, 0.44, 0.25, lead)
    pen.line([(0, 0.68), (0, 0.76)], 0.012, (226, 188, 92))
    for i in range(9):
        x = -0.46 + i * 0.115
        arch(pen, x, 0.04, 0.032, 0.13, mix(stone, DUSK, 0.55))
        lit_arch(pen, x, 0.04, 0.032, 0.13)


def pyramids(pen: Pen) -> None:
    sand = (226, 184, 124)
    for x, size in ((0.86, 0.52), (-0.62, 0.74), (0.10, 1.0)):
        left, right, top = x - 0.80 * size, x + 0.80 * size, size
        pen.poly([(left, 0), (x, top), (right, 0)], sand)
        pen.poly([(x + 0.16 * size, 0), (x, top), (right, 0)], mix(sand, DUSK, 0.36))
        for i in range(1, 12):
            y = top * i / 12
            course = [(left + 0.80 * size * i / 12, y), (x + 0.16 * size * (1 - i / 12), y)]
            pen.line(course, 0.005, mix(sand, DUSK, 0.16))


def torii(pen: Pen) -> None:
    red, black = (222, 82, 52), (52, 46, 54)
    for side in (-1, 1):
        pen.poly([(side * 0.36, 0), (side * 0.44, 0), (side * 0.395, 0.86), (side * 0.325, 0.86)], red)
        pen.box(side * 0.40 - 0.055, 0, side * 0.40 + 0.055, 0.09, black)
    pen.box(-0.46, 0.62, 0.46, 0.69, red)
    pen.box(-0.03, 0.68, 0.03, 0.84, red)
    pen.poly("-.54,.9 -.3,.84 .3,.84 .54,.9 .56,.96 .3,.91 -.3,.91 -.56,.96", red)
    pen.poly("-.57,.96 -.3,.905 .3,.905 .57,.96 .6,1.02 .3,.96 -.3,.96 -.6,1.02", black)


def opera(pen: Pen) -> None:
    """White shells above the harbour."""
    shell, dull = (248, 244, 234), (206, 200, 204)
    pen.poly("-1,0 1,0 .94,.16 -.94,.16", (196, 160, 132))
    for i in range(16):
        pen.line([(-0.92 + i * 0.122, 0.02), (-0.92 + i * 0.122, 0.15)], 0.010, (160, 124, 104))
    for x, size, way in ((0.62, 0.50, 1), (0.30, 0.72, 1), (-0.08, 0.96, 1), (-0.30, 0.62, -1), (-0.62, 0.44, -1)):
        part = pen.at(x, 0.14, size)
        if way < 0:
            part = part.mirror()
        part.poly(".4,0 .34,.4 .12,.72 -.22,.9 -.16,.56 -.2,.28 -.32,0", shell)
        part.poly("-.22,.9 -.16,.56 -.2,.28 -.32,0 -.05,0 -.06,.4", dull)
        part.line(".4,0 .33,.4 .1,.72 -.22,.9", 0.018, (255, 255, 255))
    for i in range(10):
        lit_box(pen, -0.86 + i * 0.18, 0.035, -0.80 + i * 0.18, 0.10, (120, 92, 84))


def castle(pen: Pen, colour: Colour = (176, 160, 144)) -> None:
    dull = mix(colour, DUSK, 0.32)
    keeps = ((-0.62, 0.20, 0.60), (0.44, 0.22, 0.66), (-0.22, 0.44, 0.50), (0.02, 0.18, 0.92), (-0.34, 0.16, 0.76))
    for x, wide, top in keeps:
        pen.box(x, 0, x + wide, top, colour)
        pen.box(x + wide * 0.66, 0, x + wide, top, dull)
        if x in (-0.62, -0.34):
            pen.poly([(x - 0.025, top), (x + wide / 2, top + 0.24), (x + wide + 0.025, top)], (104, 92, 104))
        else:
            battlement(pen, x - 0.01, x + wide + 0.01, top, colour)
        for y in (top * 0.48, top * 0.74):
            lit_box(pen, x + wide * 0.28, y, x + wide * 0.28 + 0.035, y + 0.075, mix(dull, DUSK, 0.5))
    pen.box(-0.78, 0, 0.80, 0.26, mix(colour, PALE, 0.12))
    battlement(pen, -0.78, 0.80, 0.26, mix(colour, PALE, 0.12))
    arch(pen, 0.0, 0, 0.075, 0.19, mix(dull, DUSK, 0.6))
    pen.line([(0.11, 0.92), (0.11, 1.10)], 0.010, dull)
    pen.poly(".11,1.1 .26,1.06 .11,1.02", (206, 70, 62))


def fort(pen: Pen) -> None:
    """The white tower at the mouth of the Tagus."""
    white = (238, 228, 210)
    dull = mix(white, DUSK, 0.28)
    pen.poly("-.6,0 .46,0 .46,.28 -.66,.28", white)
    pen.poly(".2,0 .46,0 .46,.28 .2,.28", dull)
    battlement(pen, -0.68, 0.48, 0.28, white)
    pen.box(-0.06, 0.26, 0.40, 0.84, white)
    pen.box(0.24, 0.26, 0.40, 0.84, dull)
    battlement(pen, -0.08, 0.42, 0.84, white)
    pen.box(0.04, 0.84, 0.30, 0.97, white)
    for x in (-0.64, -0.10, 0.38, 0.44):
        y = 0.30 if x in (-0.64, 0.44) else 0.78
        pen.box(x, y, x + 0.07, y + 0.09, white)
        cap(pen, x + 0.035, y + 0.09, 0.045, (206, 192, 172))
    for i in range(4):
        arch(pen, 0.0 + i * 0.085, 0.50, 0.03, 0.14, mix(dull, DUSK, 0.4))
    for i in range(6):
        arch(pen, -0.52 + i * 0.14, 0.06, 0.035, 0.10, mix(dull, DUSK, 0.4))


def gateway(pen: Pen) -> None:
    """A great arch on the quay: Mumbai."""
    stone = (214, 172, 122)
    dull = mix(stone, DUSK, 0.34)
    pen.box(-0.62, 0, 0.62, 0.70, stone)
    pen.box(-0.26, 0, 0.26, 0.84, mix(stone, PALE, 0.2))
    for x in (-0.62, -0.26, 0.18, 0.54):
        pen.box(x, 0, x + 0.08, 0.90 if abs(x + 0.04) < 0.3 else 0.74, stone)
        cap(pen, x + 0.04, 0.90 if abs(x + 0.04) < 0.3 else 0.74, 0.055, mix(stone, PALE, 0.3))
    arch(pen, 0, 0, 0.155, 0.60, mix(dull, DUSK, 0.4))
    for x in (-0.43, 0.43):
        arch(pen, x, 0, 0.085, 0.38, mix(dull, DUSK, 0.3))
        arch(pen, x, 0.46, 0.04, 0.14, dull)
    for y in (0.42, 0.66):
        pen.line([(-0.62, y), (-0.26, y)], 0.018, dull)
        pen.line([(0.26, y), (0.62, y)], 0.018, dull)


def palace(pen: Pen) -> None:
    """The palace of winds: a pink honeycomb of small windows."""
    pink = (226, 138, 112)
    for row in range(5):
        half, low = 0.66 - 0.115 * row, row * 0.18
        pen.box(-half, low, half, low + 0.19, mix(pink, PALE, 0.05 * row))
        pen.line([(-half - 0.02, low + 0.185), (half + 0.02, low + 0.185)], 0.014, (250, 224, 206))
        number = 9 - row * 2 if row < 4 else 2
        for i in range(max(number, 1)):
            x = -half + half * 2 * (i + 0.5) / max(number, 1)
            arch(pen, x, low + 0.03, 0.042, 0.115, (250, 224, 206))
            arch(pen, x, low + 0.03, 0.030, 0.095, (150, 72, 70))
            lit_arch(pen, x, low + 0.03, 0.030, 0.095)
            if row >= 1:
                cap(pen, x, low + 0.175, 0.042, pink)
    for x in (-0.18, 0.0, 0.18):
        cap(pen, x, 0.90, 0.06, mix(pink, PALE, 0.2))
        pen.line([(x, 0.95), (x, 1.02)], 0.010, (226, 188, 92))


LANDMARKS: dict[str, Callable[[Pen], None]] = {
    "castle": castle, "colosseum": colosseum, "dome": dome, "fort": fort, "gateway": gateway, "mosque": mosque,
    "opera": opera, "palace": palace, "pyramids": pyramids, "temple": temple, "torii": torii,
    "campanile": towers.campanile, "church": towers.stepped_church, "eiffel": towers.lattice_tower,
    "minaret": towers.square_minaret, "needle": towers.needle, "pagoda": towers.pagoda, "red tower": towers.red_tower,
    "spires": towers.spires, "statue": towers.statue, "three towers": towers.three_towers, "windmill": towers.windmill,
}  # fmt: skip
WIDE = frozenset(
    {"castle", "colosseum", "fort", "gateway", "mosque", "opera", "palace", "pyramids", "temple", "three towers"}
)
