"""What people build: houses, skylines, bridges and awnings."""

from __future__ import annotations

import math

from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import Pen, Stage, placed, stretched

LAMP: Colour = (255, 214, 128)
GLASS: Colour = (86, 112, 140)
DARK: Colour = (52, 50, 64)
FLAGS: tuple[Colour, ...] = (
    (224, 74, 62),
    (244, 160, 60),
    (250, 212, 82),
    (126, 176, 76),
    (142, 72, 128),
    (240, 236, 210),
)
TOWERS: tuple[Colour, ...] = (
    (126, 150, 178),
    (178, 160, 150),
    (150, 172, 186),
    (198, 180, 160),
    (112, 128, 156),
    (164, 138, 132),
)
FACADES: dict[str, tuple[Colour, ...]] = {
    "north": ((176, 66, 54), (226, 180, 92), (236, 230, 216), (92, 122, 142), (150, 86, 62), (110, 138, 108)),
    "south": ((238, 206, 152), (226, 158, 116), (244, 226, 190), (216, 130, 104), (240, 190, 166), (206, 186, 140)),
    "island": ((246, 246, 242), (240, 242, 246), (250, 244, 234), (234, 240, 244)),
    "tropic": ((92, 176, 170), (244, 182, 92), (236, 124, 112), (122, 164, 206), (246, 218, 142), (178, 206, 140)),
    "desert": ((222, 176, 128), (204, 146, 104), (234, 198, 156), (190, 124, 92)),
    "east": ((196, 172, 146), (150, 110, 88), (222, 206, 182), (126, 118, 118), (178, 82, 66)),
    "alpine": ((240, 226, 200), (226, 190, 140), (170, 120, 84), (236, 206, 186), (188, 206, 196)),
    "metro": ((196, 178, 160), (162, 92, 76), (178, 186, 194), (214, 196, 166), (132, 104, 96)),
    "polar": ((186, 62, 54), (70, 92, 110), (214, 170, 84)),
}  # fmt: skip
ROOFS: dict[str, Colour] = {
    "north": (92, 80, 84), "south": (190, 102, 72), "island": (70, 122, 186), "tropic": (168, 96, 74),
    "desert": (176, 118, 84), "east": (78, 82, 96), "alpine": (120, 84, 68), "metro": (96, 90, 98), "polar": (70, 70,
        82),
}  # fmt: skip


def window_light(stage: Stage, share: float = 0.55) -> Colour | None:
    """The colour of one window: lit in the dark, more often the darker it is; None where it is by day."""
    light = stage.light
    lit = share * min(light.dark * 1.3 + 0.35 * light.low, 1.0)
    return mix(LAMP, (255, 240, 205), stage.rng.random() * 0.7) if stage.rng.random() < lit else None


def skyline(stage: Stage, foot: float, tallest: float, depth: float, left: float = -0.05, right: float = 9.0) -> None:
    """One rank of towers, from `left` to `right`."""
    rng = stage.rng
    x, end = left, min(right, stage.wide + 0.05)
    centre, reach = left + (end - left) * (0.3 + 0.4 * rng.random()), (end - left) * 0.38
    while x < end:
        wide = 0.035 + 0.055 * rng.random()
        hump = math.exp(-(((x - centre) / reach) ** 2))
        high = tallest * (0.25 + 0.35 * rng.random() + 0.5 * hump * rng.random())
        _tower(Pen(stage, x, foot, 1.0, depth=depth), min(wide, end - x + 0.02), high)
        x += wide + (0.004 if rng.random() < 0.75 else 0.02)


def _tower(pen: Pen, wide: float, high: float) -> None:
    stage, rng = pen.stage, pen.stage.rng
    colour = rng.choice(TOWERS)
    side = mix(colour, (30, 36, 66), 0.32)
    cut = wide * (0.62 + 0.15 * rng.random())
    pen.box(0, 0, wide, high, side)
    pen.box(0, 0, cut, high, colour)
    top = rng.random()
    if top < 0.22:
        pen.box(wide * 0.2, high, wide * 0.75, high + 0.025, colour)
        pen.line([(wide * 0.45, high), (wide * 0.45, high + 0.09)], 0.004, side)
    elif top < 0.4:
        pen.poly([(0, high), (wide, high), (wide * 0.5, high + 0.06)], side)
    elif top < 0.55:
        pen.poly([(0, high), (wide, high), (wide, high + 0.035)], side)
    columns, step = max(int(wide / 0.016), 2), 0.021
    gap = wide / columns
    for row in range(int((high - 0.01) / step)):
        for column in range(columns):
            x, y = gap * (column + 0.25), 0.012 + row * step
            lit = window_light(stage, 0.62)
            if lit is not None:
                left, up = pen.spot(x, y)
                tone = mix(lit, stage.light.horizon, pen.depth * 0.5)
                stage.polygon(placed("0,0 1,0 1,1 0,1", left, up, gap * 0.5, 0.011), tone)
            elif stage.light.dark < 0.7:
                pen.box(x, y, x + gap * 0.5, y + 0.011, mix(colour, GLASS, 0.55 if x < cut else 0.75))


def houses(
    stage: Stage, foot: float, high: float, land: str, depth: float = 0.0, left: float = -0.05, right: float = 9.0
) -> None:
    """A row of old town houses."""
    rng = stage.rng
    x, end, last = left, min(right, stage.wide + 0.05), None
    while x < end:
        wide = high * (0.36 + 0.28 * rng.random())
        colour = rng.choice([tone for tone in FACADES[land] if tone != last])
        last = colour
        house(Pen(stage, x, foot, 1.0, depth=depth), wide, high * (0.66 + 0.34 * rng.random()), colour, land)
        x += wide


def house(pen: Pen, wide: float, high: float, colour: Colour, land: str) -> None:
    """One house with its foot at the pen."""
    stage, rng = pen.stage, pen.stage.rng
    roof = mix(ROOFS[land], (30, 26, 40), 0.25 * rng.random())
    flat = land in ("island", "desert")
    wall = high * (1.0 if flat else 0.74)
    pen.box(0, 0, wide, wall, colour)
    pen.box(wide * 0.86, 0, wide, wall, mix(colour, (40, 34, 70), 0.16))
    if land == "island" and rng.random() < 0.4:
        pen.curve(stretched(".15,-.08 .2,.25 .5,.42 .8,.25 .85,-.08", 0.0, wall, wide, wide), roof)
        pen.box(0, wall - wide * 0.14, wide, wall, colour)
    elif flat:
        pen.box(-wide * 0.02, wall, wide * 1.02, wall + high * 0.04, mix(colour, (60, 40, 40), 0.18))
    elif land in ("north", "alpine", "polar") or rng.random() < 0.35:
        pen.poly([(-wide * 0.06, wall), (wide * 0.5, high), (wide * 1.06, wall)], roof)
        gable = mix(colour, roof, 0.15 if land != "alpine" else 0.5)
        pen.poly([(wide * 0.06, wall), (wide * 0.5, high * 0.96), (wide * 0.94, wall)], gable)
        pen.oval(wide * 0.5, wall + (high - wall) * 0.3, wide * 0.06, wide * 0.07, DARK)
    else:
        pen.poly(stretched("-.05,0 .1,1 .9,1 1.05,0", 0.0, wall, wide, high * 0.92 - wall), roof)
        if rng.random() < 0.5:
            pen.box(wide * 0.7, high * 0.86, wide * 0.8, high * 1.03, mix(roof, colour, 0.3))
    _windows(pen, wide, wall, colour, land)
    door = rng.choice([0.2, 0.5, 0.72]) * wide
    pen.box(door - wide * 0.08, 0, door + wide * 0.08, wall * 0.2, mix(roof, (36, 60, 76), 0.5))
    if rng.random() < 0.3 and stage.light.dark < 0.9 and land not in ("island", "polar"):
        tone = rng.choice(((214, 92, 74), (86, 136, 138), (238, 198, 96)))
        awning(pen.at(wide * 0.1, wall * 0.25), wide * 0.8, wall * 0.09, tone)


def _windows(pen: Pen, wide: float, wall: float, colour: Colour, land: str) -> None:
    stage, rng = pen.stage, pen.stage.rng
    rows, columns = max(int(wall / 0.085), 1), max(int(wide / 0.055), 2)
    shutters = land in ("south", "tropic", "island", "alpine") and rng.random() < 0.6
    shutter = rng.choice(((78, 122, 104), (70, 106, 150), (134, 76, 62), (104, 96, 90)))
    ww, hh = wide / columns * 0.42, wall / rows * 0.48
    for row in range(rows):
        for column in range(columns):
            x = wide * (column + 0.5) / columns
            y = wall * (row + 0.42) / rows
            if row == 0 and rows > 1:
                y = wall * 0.34 / 1.0 if rows == 2 else wall * (0.62 / rows)
            pen.box(x - ww * 0.62, y - hh * 0.06, x + ww * 0.62, y + hh * 1.06, mix(colour, (255, 255, 255), 0.55))
            lit = window_light(stage)
            pen.box(x - ww / 2, y, x + ww / 2, y + hh, mix(GLASS, (40, 50, 70), 0.3))
            if lit is not None:
                pane = placed("-.5,0 .5,0 .5,1 -.5,1", *pen.spot(x, y), ww * pen.size, hh * pen.size)
                stage.polygon(pane, mix(lit, stage.light.horizon, pen.depth * 0.4))
            pen.line([(x, y), (x, y + hh)], ww * 0.10, mix(colour, (255, 255, 255), 0.55))
            if shutters:
                pen.box(x - ww * 1.0, y, x - ww * 0.56, y + hh, shutter)
                pen.box(x + ww * 0.56, y, x + ww * 1.0, y + hh, shutter)


def awning(pen: Pen, wide: float, high: float, colour: Colour, stripes: int = 7) -> None:
    """A striped cloth roof with a scalloped rim, its lower edge at the pen."""
    step = wide / stripes
    for i in range(stripes):
        tone = colour if i % 2 == 0 else (250, 242, 226)
        x = i * step
        pen.poly([(x, 0), (x + step, 0), (x * 0.94 + wide * 0.03 + step, high), (x * 0.94 + wide * 0.03, high)], tone)
        pen.oval(x + step / 2, 0, step / 2, high * 0.22, tone)


def bunting(stage: Stage, middle: float, y: float) -> None:
    """Two strings of little flags across a street."""
    rng = stage.rng
    for row in range(2):
        top = y - 0.10 * row
        half = 0.26 + 0.14 * row
        path = [(middle - half + 2 * half * i / 12, top + 0.05 * math.sin(math.pi * i / 12)) for i in range(13)]
        stage.line(path, 0.003, stage.light.on((90, 80, 84)))
        for x, py in path[1:-1]:
            stage.polygon([(x - 0.016, py), (x + 0.016, py), (x, py + 0.034)], stage.light.on(rng.choice(FLAGS)))


def suspension_bridge(
    stage: Stage, deck: float, colour: Colour, depth: float, posts: tuple[float, float], high: float
) -> None:
    """Two towers, hanging cables and a deck from edge to edge."""
    light = stage.light
    tone, dull = light.on(colour, depth), light.on(mix(colour, (30, 26, 50), 0.4), depth)
    for x in posts:
        for dx in (-0.022, 0.014):
            stage.polygon(placed("-.004,-.35 0,1 .012,1 .016,-.35", x + dx, deck, 1.0, high), tone)
        for y in (0.25, 0.5, 0.75, 0.97):
            stage.polygon(placed("-.02,0 .024,0 .024,-.016 -.02,-.016", x, deck - high * y, 1.0, 1.0), dull)
    span = posts[1] - posts[0]
    cables = [(posts[0] - span, posts[0]), (posts[0], posts[1]), (posts[1], posts[1] + span)]
    for start, stop in cables:
        path = []
        for i in range(33):
            t = i / 32
            sag = 4 * (t - 0.5) ** 2
            path.append((start + (stop - start) * t, deck - 0.015 - (high - 0.02) * sag))
        stage.line(path, 0.007, tone)
        for x, y in path[1:-1]:
            stage.line([(x, y), (x, deck)], 0.0025, faded(tone, 0.8))
    stage.polygon(stage.band(deck, deck + 0.024), tone)
    stage.polygon(stage.band(deck + 0.016, deck + 0.03), dull)


def stone_bridge(stage: Stage, foot: float, high: float, colour: Colour, depth: float, arches: int) -> None:
    """Round arches across the whole picture, standing in the water at `foot`."""
    light = stage.light
    tone = light.on(colour, depth)
    step = (stage.wide + 0.2) / arches
    shape = [(-0.1, foot)]
    for i in range(arches):
        left, right = -0.1 + i * step + step * 0.09, -0.1 + (i + 1) * step - step * 0.09
        middle, reach = (left + right) / 2, (right - left) / 2
        for j in range(15):
            turn = math.pi * (1 - j / 14)
            shape.append((middle + reach * math.cos(turn), foot - min(high * 0.74, reach * 0.95) * math.sin(turn)))
    shape.append((stage.wide + 0.1, foot))
    top = []
    for i in range(20, -1, -1):
        top.append((-0.1 + (stage.wide + 0.2) * i / 20, foot - high * (1 + 0.12 * math.sin(math.pi * i / 20))))
    stage.fill([[*shape, *top]], mix(tone, (255, 255, 255), 0.08), mix(tone, light.shadow, 0.3))
    stage.line(top, 0.014, mix(tone, (255, 255, 255), 0.25))
    stage.line([(x, y + 0.02) for x, y in top], 0.005, mix(tone, light.shadow, 0.35))


def arch_bridge(stage: Stage, deck: float, colour: Colour, depth: float, high: float) -> None:
    """One steel bow over the water, with pylons, the deck hanging in it."""
    tone = stage.light.on(colour, depth)
    dull = mix(tone, stage.light.shadow, 0.35)
    left, right = stage.wide * 0.1, stage.wide * 0.9

    def bow(rise: float) -> list[tuple[float, float]]:
        return [(left + (right - left) * i / 40, deck + 0.05 - rise * math.sin(math.pi * i / 40)) for i in range(41)]

    outer, inner = bow(high + 0.05), bow(high - 0.01)
    stage.line(outer, 0.010, tone)
    stage.line(inner, 0.012, tone)
    for i in range(1, 40):
        stage.line([outer[i], inner[i + 1 if i % 2 else i - 1]], 0.004, dull)
        if inner[i][1] < deck:
            stage.line([inner[i], (inner[i][0], deck)], 0.003, dull)
    for x in (left, right):
        pylon = placed("-.035,-.2 -.03,.11 .03,.11 .035,-.2", x, deck, 1.0, 1.0)
        stage.polygon(pylon, stage.light.on((206, 184, 154), depth))
    stage.polygon(stage.band(deck, deck + 0.02), tone)
