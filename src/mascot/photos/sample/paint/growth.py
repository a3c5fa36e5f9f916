"""What grows: trees of several lands, grass, flowers and cacti."""

from __future__ import annotations

import math
from random import Random

from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.stage import Pen, Points, Stage, stretched

BARK: Colour = (98, 70, 56)
GREENS: tuple[Colour, ...] = ((86, 142, 84), (70, 124, 78), (112, 156, 80), (58, 108, 84))
AUTUMN: tuple[Colour, ...] = ((222, 128, 52), (196, 78, 48), (232, 176, 72), (168, 92, 56), (120, 132, 70))
BLOSSOM: tuple[Colour, ...] = ((246, 186, 200), (252, 212, 220), (238, 160, 182), (250, 226, 228))


def leaves(season: str, rng: Random) -> Colour:
    if season == "autumn":
        return rng.choice(AUTUMN)
    if season == "winter":
        return mix(rng.choice(GREENS), (120, 126, 122), 0.4)
    return rng.choice(GREENS)


def meadow(season: str) -> Colour:
    """The ground of a green country."""
    return {"spring": (134, 176, 96), "summer": (126, 166, 88), "autumn": (176, 150, 88), "winter": (236, 242, 248)}[
        season
    ]


def pine(pen: Pen, colour: Colour = (44, 92, 82), snow: bool = False, tiers: int = 5) -> None:
    """A fir, one length high."""
    rng = pen.stage.rng
    pen.box(-0.025, 0, 0.025, 0.16, BARK)
    for i in range(tiers):
        low = 0.10 + 0.78 * i / tiers
        top = min(low + 0.34, 1.0) if i < tiers - 1 else 1.0
        half = 0.24 * (1 - i / tiers * 0.82) * (0.92 + 0.16 * rng.random())
        pen.poly([(0, top), *stretched("1,0 .4,.02 0,-.015 -.4,.02 -1,0", 0.0, low, half, 1.0)], colour)
        pen.poly([(0, top), (half, low), (half * 0.4, low + 0.02), (half * 0.1, low)], mix(colour, (16, 30, 54), 0.28))
        if snow:
            cut = low + (top - low) * 0.30
            cap = stretched(".5,.02 .2,.06 0,0 -.3,.07 -.62,0", 0.0, cut, half, 1.0)
            pen.poly([(0, top), *cap], (240, 246, 252))


def broadleaf(pen: Pen, colour: Colour) -> None:
    """A round tree, one length high."""
    rng = pen.stage.rng
    pen.poly("-.04,0 .04,0 .022,.5 -.022,.5", BARK)
    pen.line([(0, 0.3), (0.12, 0.5)], 0.025, BARK)
    dull, lit = mix(colour, (24, 40, 62), 0.28), mix(colour, (255, 244, 200), 0.22)
    crown = [(0.0, 0.66, 0.3), (-0.2, 0.56, 0.2), (0.21, 0.55, 0.19), (-0.1, 0.78, 0.2), (0.12, 0.76, 0.2)]
    for x, y, r in crown:
        pen.oval(x + 0.03, y - 0.03, r, r * 0.95, dull)
    for x, y, r in crown:
        pen.oval(x - 0.015, y + 0.015, r * 0.88, r * 0.84, colour)
    for x, y, r in crown[1:]:
        pen.oval(x - 0.05 + 0.03 * rng.random(), y + 0.05, r * 0.5, r * 0.42, lit)


def blossom_tree(pen: Pen) -> None:
    rng = pen.stage.rng
    pen.stroke(".03,0 -.02,.2 .03,.42", 0.08, BARK, 0.5)
    pen.stroke("0,.28 -.16,.46 -.28,.52", 0.045, BARK, 0.5)
    pen.stroke(".02,.34 .18,.5 .3,.54", 0.04, BARK, 0.5)
    for i in range(34):
        turn, far = rng.random() * 6.28, rng.random() ** 0.6
        x, y = 0.42 * far * math.cos(turn), 0.66 + 0.26 * far * math.sin(turn)
        r = 0.07 + 0.06 * rng.random()
        pen.oval(x, y, r, r * 0.8, BLOSSOM[2] if i < 12 else rng.choice(BLOSSOM))


def palm(pen: Pen, lean: float = 0.2) -> None:
    """A coconut palm, one length high, leaning to one side."""
    rng = pen.stage.rng
    top = (lean, 0.86)
    pen.stroke([(0, 0), (lean * 0.25, 0.3), (lean * 0.65, 0.62), top], 0.058, (132, 98, 72), 0.55)
    green = (62, 120, 74)
    for i in range(9):
        turn = math.pi * (-0.12 + 1.24 * i / 8) + 0.12 * (rng.random() - 0.5)
        long = 0.30 + 0.08 * rng.random()
        pen.poly(_frond(top, turn, long), mix(green, (24, 60, 58), 0.35 * (i % 3) / 2))
    for dx in (-0.025, 0.02):
        pen.oval(top[0] + dx, top[1] - 0.03, 0.024, 0.026, (96, 70, 50))


def _frond(root: tuple[float, float], turn: float, long: float) -> Points:
    """A drooping leaf with a toothed lower rim."""
    upper, lower = [], []
    for i in range(9):
        t = i / 8
        x = root[0] + long * t * math.cos(turn)
        y = root[1] + long * t * math.sin(turn) * (1 - 0.5 * t) - 0.24 * long / 0.3 * t * t * 0.9
        upper.append((x, y + 0.018 * math.sin(math.pi * t)))
        tooth = 0.035 if i % 2 else 0.065
        lower.append((x, y - tooth * math.sin(math.pi * min(t + 0.08, 1.0))))
    return [*upper, *reversed(lower)]


def cypress(pen: Pen) -> None:
    colour = (58, 92, 72)
    pen.box(-0.012, 0, 0.012, 0.1, BARK)
    pen.curve("0,.06 .085,.3 .06,.66 0,1 -.06,.66 -.085,.3", colour)
    pen.curve(".01,.08 .08,.3 .055,.66 .005,.96 .02,.5", mix(colour, (18, 34, 52), 0.3))


def acacia(pen: Pen) -> None:
    """The flat tree of the savanna."""
    pen.stroke("0,0 .02,.3 -.03,.55", 0.05, BARK, 0.6)
    pen.stroke(".01,.3 .14,.5 .26,.62", 0.035, BARK, 0.6)
    pen.stroke([(-0.02, 0.5), (-0.18, 0.64)], 0.03, BARK, 0.6)
    crown = ((0, 0.72, 0.42, 0.10), (-0.24, 0.66, 0.22, 0.075), (0.27, 0.66, 0.24, 0.075), (0.04, 0.8, 0.26, 0.075))
    for x, y, rx, ry in crown:
        pen.oval(x + 0.02, y - 0.02, rx, ry, (74, 92, 50))
        pen.oval(x, y, rx * 0.94, ry * 0.85, (112, 126, 64))


def cactus(pen: Pen) -> None:
    green = (82, 128, 92)
    for path, width in (("0,0 0,.5 0,.93", 0.16), ("0,.34 .2,.36 .22,.7", 0.11), ("0,.46 -.2,.5 -.2,.76", 0.11)):
        pen.stroke(path, width, green)
    for x in (-0.035, 0.03):
        pen.line([(x, 0.04), (x, 0.92)], 0.012, (58, 98, 76))


def bamboo(pen: Pen) -> None:
    """One stem, taller than any picture."""
    rng = pen.stage.rng
    green = mix((122, 164, 84), (70, 124, 74), rng.random())
    half = 0.022 + 0.010 * rng.random()
    pen.box(-half, 0, half, 1.7, green)
    pen.box(half * 0.3, 0, half, 1.7, mix(green, (20, 60, 50), 0.35))
    pen.box(-half * 0.7, 0, -half * 0.3, 1.7, mix(green, (250, 255, 210), 0.3))
    knot = rng.random() * 0.1
    while knot < 1.7:
        pen.box(-half * 1.15, knot, half * 1.15, knot + 0.008, mix(green, (40, 70, 40), 0.5))
        knot += 0.13 + 0.02 * rng.random()


def grass(stage: Stage, top: float, bottom: float, colour: Colour, number: int = 90) -> None:
    rng = stage.rng
    for _ in range(number):
        near = rng.random()
        x, y = rng.random() * stage.wide, top + (bottom - top) * near
        high = (0.012 + 0.035 * near) * (0.6 + rng.random())
        bend = (rng.random() - 0.5) * high
        tone = stage.light.on(mix(colour, (30, 60, 50) if rng.random() < 0.5 else (250, 246, 190), 0.3))
        stage.polygon([(x - 0.003, y), (x + 0.003, y), (x + bend, y - high)], tone)


def flowers(stage: Stage, top: float, bottom: float, colours: tuple[Colour, ...], number: int = 160) -> None:
    """A bed of small flowers, larger toward the viewer."""
    rng = stage.rng
    spots = sorted((rng.random(), rng.random()) for _ in range(number))
    for near, across in spots:
        x, y, r = across * stage.wide, top + (bottom - top) * near, 0.004 + 0.013 * near
        stage.line([(x, y), (x, y + r * 3.5)], 0.0025 + 0.002 * near, stage.light.on((84, 128, 70)))
        tone = rng.choice(colours)
        stage.oval(x - r * 0.5, y, r * 0.75, r, stage.light.on(mix(tone, (40, 20, 40), 0.12)))
        stage.oval(x + r * 0.5, y, r * 0.75, r, stage.light.on(tone))
        stage.oval(x, y + r * 0.2, r * 0.6, r * 0.9, stage.light.on(mix(tone, (255, 255, 255), 0.2)))


def tulip_rows(stage: Stage, horizon: float, colours: tuple[Colour, ...]) -> None:
    """Fields in stripes that run to one point on the horizon."""
    rng = stage.rng
    far_x = stage.wide * (0.35 + 0.3 * rng.random())
    number = 13
    edges = [-1.6 + (stage.wide + 3.2) * i / number for i in range(number + 1)]
    tones = list(colours)
    rng.shuffle(tones)
    foot = stage.high + 0.05
    for i in range(number):
        left, right = edges[i], edges[i + 1]
        gap = (right - left) * 0.2
        spread = 0.10
        far_l, far_r = (far_x + (edge - stage.wide / 2) * spread for edge in (left, right - gap))
        tone = stage.light.on(tones[i % len(tones)])
        row = [(far_l, horizon), (far_r, horizon), (right - gap, foot), (left, foot)]
        stage.fill([row], mix(tone, stage.light.horizon, 0.3), tone)
        for _ in range(90):
            near = rng.random() ** 0.6
            share = 0.04 + 0.92 * rng.random()
            y = horizon + (foot - horizon) * near
            start, stop = far_l + (left - far_l) * near, far_r + (right - gap - far_r) * near
            x = start + (stop - start) * share
            r = 0.0015 + 0.012 * near
            shade = mix(tone, (255, 255, 255) if rng.random() < 0.5 else (50, 20, 50), 0.22)
            stage.oval(x, y, r * 0.8, r, shade)
