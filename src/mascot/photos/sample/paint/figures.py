"""What moves through a picture: boats, birds and people."""

from __future__ import annotations

import math

from mascot.photos.sample.paint.animals import gull
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import Pen, Stage, placed, smooth

HULLS: tuple[Colour, ...] = ((60, 118, 160), (196, 78, 62), (72, 140, 122), (232, 178, 78), (96, 84, 122))
DARK: Colour = (52, 50, 64)


def some_boat(stage: Stage, y: float, size: float, kind: str = "") -> None:
    """A boat fit for the country, with its shadow on the water."""
    rng, land = stage.rng, stage.scene.land
    usual = {
        "tropic": ("dhow", "fishing", "sail"),
        "desert": ("dhow", "felucca"),
        "east": ("junk", "fishing"),
        "alpine": ("sail", "canoe"),
    }
    known = ("dhow", "felucca", "junk", "gondola", "canoe", "sail", "fishing")
    variant = stage.scene.variant
    kind = kind or (variant if variant in known else rng.choice(usual.get(land, ("fishing", "sail"))))
    x = stage.wide * (0.2 + 0.6 * rng.random()) + stage.drift
    pen = Pen(stage, x, y, size, flip=rng.random() < 0.5)
    colour = rng.choice(HULLS)
    shade = faded(mix(stage.light.shadow, stage.light.zenith, 0.3), 0.35)
    stage.polygon(placed("-.5,0 0,.03 .5,0 .2,-.16 -.25,-.14", x, y, size, size), shade)
    if kind in ("dhow", "felucca"):
        dhow(pen, (250, 246, 236) if kind == "felucca" else (244, 228, 196))
    elif kind == "junk":
        junk(pen)
    elif kind == "gondola":
        gondola(pen)
    elif kind == "canoe":
        canoe(pen, colour)
    elif kind == "sail":
        sailing_boat(pen, rng.choice(((250, 246, 236), (250, 246, 236), (226, 120, 84))), colour)
    else:
        fishing_boat(pen, colour)


def flock(stage: Stage, horizon: float, number: int, near: bool = False) -> None:
    rng = stage.rng
    x, y = stage.wide * (0.2 + 0.6 * rng.random()), horizon * (0.25 + 0.3 * rng.random())
    for _ in range(number):
        size = (0.05 + 0.04 * rng.random()) * (1.8 if near else 1.0)
        dx, dy = 0.3 * (rng.random() - 0.5) + stage.drift, 0.16 * (rng.random() - 0.5)
        pen = Pen(stage, x + dx, y + dy, size, flip=rng.random() < 0.5)
        gull(pen, (250, 250, 250) if stage.light.low < 0.4 else (70, 60, 80), rng.random() * 2 - 1)


def people(stage: Stage, foot: float, number: int) -> None:
    rng = stage.rng
    x = stage.wide * (0.2 + 0.6 * rng.random()) + stage.drift
    for i in range(number):
        shirt = rng.choice(((214, 84, 72), (72, 130, 158), (240, 196, 96), (240, 236, 226), (106, 150, 110)))
        size = 0.14 + 0.03 * rng.random()
        person(Pen(stage, x + 0.075 * i, foot + 0.012 * rng.random(), size), shirt, (62, 66, 92))


def parasol(pen: Pen, colour: Colour) -> None:
    pen.line([(0, 0), (0.04, 0.9)], 0.035, (236, 226, 206))
    for i in range(6):
        edges = []
        for k in (i, i + 1):
            foot = -0.55 + 1.1 * k / 6
            edges.append([(foot * math.cos(t), 0.60 + 0.40 * math.sin(t)) for t in (0.0, 0.4, 0.8, 1.2, 1.57)])
        pen.poly([*edges[0], *reversed(edges[1])], colour if i % 2 == 0 else (252, 246, 234))
    pen.poly("-.5,0 .4,0 .6,-.1 -.3,-.1", mix(colour, (255, 255, 255), 0.45))


def person(pen: Pen, shirt: Colour, trousers: Colour, head: Colour = (92, 66, 54)) -> None:
    """Somebody, one length high, seen from behind unless the head is given the colour of a face."""
    pen.poly("-.09,0 -.015,0 0,.42 .015,0 .09,0 .11,.48 -.11,.48", trousers)
    pen.curve("-.12,.42 -.15,.62 -.1,.8 .1,.8 .15,.62 .12,.42", shirt)
    pen.oval(0, 0.9, 0.075, 0.09, head)


def fishing_boat(pen: Pen, colour: Colour) -> None:
    """A small boat, one length long, on the water line."""
    pen.curve("-.5,.16 -.42,0 -.2,-.07 .24,-.07 .42,.02 .55,.24 .3,.14 -.1,.11", colour)
    pen.curve("-.5,.17 -.1,.115 .3,.145 .55,.245 .28,.175 -.1,.15", (250, 244, 230))
    pen.box(-0.24, 0.12, 0.02, 0.34, (244, 238, 224))
    pen.box(-0.27, 0.33, 0.06, 0.37, mix(colour, DARK, 0.3))
    for x in (-0.21, -0.09):
        pen.box(x, 0.2, x + 0.08, 0.3, (92, 124, 148))
    pen.line([(0.14, 0.14), (0.14, 0.68)], 0.018, (120, 88, 66))
    pen.line([(0.14, 0.66), (0.5, 0.22)], 0.007, DARK)
    pen.line([(0.14, 0.66), (-0.24, 0.36)], 0.007, DARK)
    pen.poly(".14,.68 .28,.63 .14,.58", (214, 74, 62))


def sailing_boat(pen: Pen, sail: Colour = (250, 244, 232), hull: Colour = (62, 84, 122)) -> None:
    pen.curve("-.42,.12 -.34,0 0,-.05 .32,0 .5,.15 0,.1", hull)
    pen.line([(0.0, 0.08), (0.0, 1.15)], 0.018, (110, 82, 64))
    pen.poly(smooth([(-0.02, 1.1), (-0.02, 0.2), (-0.40, 0.2), (-0.22, 0.62)]), mix(sail, (160, 150, 170), 0.18))
    pen.poly(".03,1.04 .03,.2 .46,.2 .26,.56", sail)
    pen.poly("0,1.15 .1,1.12 0,1.08", (214, 74, 62))


def dhow(pen: Pen, sail: Colour = (246, 236, 214), hull: Colour = (112, 74, 54)) -> None:
    """A boat with one slanting sail: dhow or felucca."""
    pen.curve("-.48,.2 -.36,0 0,-.06 .34,0 .56,.26 .2,.12 -.2,.11", hull)
    pen.line([(-0.04, 0.08), (0.04, 0.86)], 0.022, (92, 66, 50))
    pen.poly(smooth([(-0.34, 1.12), (0.52, 0.36), (0.0, 0.24), (-0.14, 0.6)]), sail)
    pen.line([(-0.36, 1.16), (0.56, 0.33)], 0.018, (92, 66, 50))


def junk(pen: Pen) -> None:
    """A boat of Ha Long Bay with red ribbed sails."""
    pen.curve("-.52,.26 -.4,0 0,-.05 .36,0 .54,.2 .2,.13 -.3,.15", (116, 72, 52))
    pen.box(-0.36, 0.14, 0.1, 0.26, (176, 128, 86))
    for x, size in ((-0.2, 0.8), (0.14, 1.0)):
        part = pen.at(x, 0.12, size)
        part.line([(0, 0), (0, 1.0)], 0.018, (84, 58, 46))
        fan = [(-0.16, 0.2), (0.2, 0.14), (0.26, 0.6), (0.12, 0.98), (-0.06, 0.9)]
        part.poly(fan, (196, 84, 58))
        for y in (0.32, 0.48, 0.64, 0.8):
            part.line([(-0.15 + 0.08 * y, y), (0.26 - 0.10 * y * y, y - 0.04)], 0.012, (140, 52, 44))


def gondola(pen: Pen) -> None:
    pen.curve("-.62,.32 -.5,.08 -.2,0 .2,0 .5,.08 .64,.4 .46,.14 .1,.08 -.3,.1", (38, 36, 46))
    pen.curve("-.12,.08 .14,.08 .16,.16 -.14,.16", (178, 52, 60))
    person(pen.at(-0.36, 0.1, 0.5), (244, 240, 232), (46, 44, 60))
    pen.line([(-0.2, 0.52), (-0.48, -0.1)], 0.014, (150, 110, 76))


def canoe(pen: Pen, colour: Colour = (206, 72, 58)) -> None:
    pen.curve("-.5,.2 -.4,.02 0,-.04 .4,.02 .5,.2 .3,.1 -.3,.1", colour)
    pen.line([(-0.32, 0.09), (0.32, 0.09)], 0.02, mix(colour, (255, 240, 220), 0.5))
