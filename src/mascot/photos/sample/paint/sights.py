"""Scenes of what one travels for: famous buildings, lighthouses, balloons."""

from __future__ import annotations

import math

from mascot.photos.sample.paint import built, growth
from mascot.photos.sample.paint.backdrop import RIVER, SEA, ground, hills, sky, water
from mascot.photos.sample.paint.figures import flock, people, some_boat
from mascot.photos.sample.paint.landmarks import LANDMARKS, WIDE
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.nature import dunes
from mascot.photos.sample.paint.shores import cliff, headland
from mascot.photos.sample.paint.stage import Pen, Stage, placed, smooth


def landmark(stage: Stage) -> None:
    """A famous building in its own surroundings."""
    rng, scene = stage.rng, stage.scene
    variant = scene.variant
    horizon = stage.high * (0.70 + 0.05 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    wide = variant in WIDE
    room = (0.36 if scene.portrait else 0.42) if wide else 0.56 * stage.high
    size = room * (1.0 + 0.2 * rng.random())
    x = stage.wide * (0.40 + 0.2 * rng.random() if wide else rng.choice((0.34, 0.5, 0.5, 0.66)))
    waterside = variant in ("opera", "fort", "three towers", "campanile", "gateway")
    if variant in ("dome", "castle", "temple", "eiffel"):
        waterside = rng.random() < 0.35
    if variant == "pyramids":
        hills(stage, horizon, 0.04, (206, 164, 120), 0.7)
        LANDMARKS[variant](Pen(stage, x, horizon + 0.01, size * 0.94, depth=0.12))
        dunes(stage, horizon + 0.02)
        return
    if variant == "statue":
        _hilltop(stage, x, horizon)
        return
    depth = 0.04 if not scene.portrait else 0.0
    behind = {"needle", "three towers", "red tower", "opera", "gateway"}
    if variant in behind:
        built.skyline(stage, horizon, 0.30 * stage.high, 0.62)
    elif variant in ("temple", "castle") or scene.land in ("north", "alpine"):
        hills(stage, horizon, 0.18, (120, 134, 116), 0.66)
    if variant in ("dome", "spires", "campanile", "colosseum", "mosque", "minaret", "palace", "church"):
        built.houses(stage, horizon, 0.17, scene.land if scene.land in built.FACADES else "south", 0.42)
    if variant in ("temple", "castle"):
        horizon = _mound(stage, x, horizon, size)
    LANDMARKS[variant](Pen(stage, x, horizon + 0.004, size, depth=depth))
    _surroundings(stage, horizon, x, size, waterside)


def _mound(stage: Stage, x: float, horizon: float, size: float) -> float:
    top = horizon - 0.10
    rock = stage.light.on((158, 146, 126), 0.1)
    rim = smooth(placed("-1.6,-.16 -1,-.01 0,.004 1,-.01 1.7,-.16", x, top, size, 1.0))
    stage.fill([rim], rock, stage.light.on((112, 132, 92), 0.06))
    return top


def _hilltop(stage: Stage, x: float, horizon: float) -> None:
    top = stage.high * 0.56
    hills(stage, horizon + 0.1, 0.26, (96, 128, 122), 0.7)
    LANDMARKS["statue"](Pen(stage, x, top + 0.01, 0.46 * stage.high))
    tone = stage.light.on((76, 116, 82))
    slope = placed("-.4,-.22 -.08,0 .08,0 .46,-.24", x, top, 1.0, 1.0)
    rim = smooth([(-0.4, stage.high + 0.1), *slope, (stage.wide + 0.4, stage.high + 0.1)])
    stage.fill([rim], tone, mix(tone, stage.light.shadow, 0.4))
    for _ in range(26):
        px = stage.wide * stage.rng.random()
        y = top + 0.12 + 0.55 * abs(px - x) + 0.1 * stage.rng.random()
        growth.broadleaf(Pen(stage, px, y + 0.08, 0.14), growth.leaves("summer", stage.rng))


def _surroundings(stage: Stage, horizon: float, x: float, size: float, waterside: bool) -> None:
    rng, scene = stage.rng, stage.scene
    if waterside:
        water(stage, max(horizon, stage.high * 0.70), 0.85, RIVER if scene.land != "metro" else SEA)
        if rng.random() < 0.6:
            some_boat(stage, stage.high * (0.84 + 0.05 * rng.random()), 0.18)
        return
    land = scene.land
    colour: Colour = (222, 186, 140) if land == "desert" else growth.meadow(scene.season)
    if scene.variant in ("temple", "castle"):
        line = ground(stage, horizon + 0.14, colour, slope=0.05)
    else:
        if scene.variant in ("colosseum", "mosque", "palace", "dome"):  # they stand on paved squares
            colour = mix(colour, (214, 196, 170), 0.75)
        line = ground(stage, horizon + 0.002, colour, slope=0.006)
    for _ in range(rng.randint(5, 9)):
        px = stage.wide * rng.random()
        if abs(px - x) < size * 0.34:
            continue
        pen = Pen(stage, px, line(px) + 0.02 + 0.10 * rng.random(), 0.14 + 0.10 * rng.random())
        if land in ("tropic", "desert"):
            growth.palm(pen.at(0, 0, 1.4), 0.1)
        elif land == "east" and scene.season == "spring":
            growth.blossom_tree(pen.at(0, 0, 1.5))
        elif land in ("south", "island"):
            growth.cypress(pen.at(0, 0, 1.3))
        else:
            growth.broadleaf(pen, growth.leaves(scene.season, rng))
    if scene.variant == "windmill":
        growth.tulip_rows(stage, horizon + 0.08, ((226, 74, 84), (246, 196, 70), (238, 130, 160)))
    people(stage, stage.high * 0.95, rng.choice((0, 1, 2, 3)))


def lighthouse(stage: Stage) -> None:
    rng, light = stage.rng, stage.light
    horizon = stage.high * (0.56 + 0.06 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    if rng.random() < 0.5:
        headland(stage, horizon, 0.10)
    water(stage, horizon, 0.4, SEA)
    left = rng.random() < 0.5
    cliff(stage, horizon, left)
    x = 0.20 if left else stage.wide - 0.20
    pen = Pen(stage, x, horizon - 0.13, (0.34 + 0.05 * rng.random()) * (1.0 + 0.4 * (stage.high - 1.0)), flip=not left)
    stripe: Colour = rng.choice(((206, 66, 58), (206, 66, 58), (54, 92, 140), (60, 60, 72), (236, 190, 80)))
    if light.dark > 0.12 or light.low > 0.75:
        lamp = pen.spot(0, 0.82)
        for way, lift in ((1, -0.10), (-1, 0.06)):
            beam = [lamp, (lamp[0] + way * 1.4, lamp[1] + lift - 0.10), (lamp[0] + way * 1.4, lamp[1] + lift + 0.10)]
            stage.fill([beam], built.LAMP, built.LAMP, 0.30, blur=0.010)
    pen.box(0.10, 0, 0.36, 0.18, (246, 240, 228))
    pen.poly(".07,.18 .23,.3 .39,.18", (196, 92, 70))
    for i in range(5):
        low, high = 0.15 * i, 0.15 * (i + 1)
        a, b = 0.125 - 0.055 * low / 0.75, 0.125 - 0.055 * high / 0.75
        tone = stripe if i % 2 else (250, 246, 238)
        pen.poly([(-a, low), (a, low), (b, high), (-b, high)], tone)
        pen.poly([(a * 0.35, low), (a, low), (b, high), (b * 0.35, high)], mix(tone, (40, 34, 70), 0.26))
    pen.box(-0.10, 0.75, 0.10, 0.78, (60, 58, 70))
    pen.box(-0.05, 0.78, 0.05, 0.88, (250, 226, 150))
    pen.poly("-.075,.88 0,.98 .075,.88", stripe)
    if light.dark > 0.12 or light.low > 0.75:
        pen.glow(0, 0.83, 0.16, built.LAMP, 0.8)
    some_boat(stage, horizon + 0.10, 0.12, "sail")
    flock(stage, horizon, rng.choice((0, 3, 5)))


def balloons(stage: Stage) -> None:
    """Hot air balloons over a valley of stone cones."""
    rng, light = stage.rng, stage.light
    horizon = stage.high * 0.68
    sky(stage, horizon, weather=stage.scene.weather)
    hills(stage, horizon, 0.14, (190, 156, 136), 0.7)
    tones = built.FLAGS
    for i in range(rng.randint(5, 9)):
        size = 0.09 + 0.20 * rng.random() ** 2 if i else 0.30
        x, y = stage.wide * (0.06 + 0.88 * rng.random()), horizon * (0.22 + 0.55 * rng.random())
        _balloon(
            Pen(stage, x + stage.drift, y, size, depth=0.4 * (1 - size / 0.3)), rng.choice(tones), rng.choice(tones)
        )
    for rank, depth in enumerate((0.4, 0.16)):
        for i in range(9 - 3 * rank):
            x, high = stage.wide * (i + rng.random()) / (9 - 3 * rank), 0.10 + 0.12 * rng.random() + 0.06 * rank
            foot, half = horizon + 0.06 + 0.10 * rank, 0.05 + 0.04 * rng.random() + 0.03 * rank
            tone = light.on((222, 184, 148), depth)
            cone = smooth(placed("-1,0 -.5,.6 0,1 .5,.6 1,0", x, foot, half, high))
            stage.fill([cone], tone, mix(tone, light.shadow, 0.2))
            side = placed("0,1 .5,.6 1,0 .2,0", x, foot, half, high)
            stage.polygon(side, faded(mix(tone, light.shadow, 0.4), 0.5))
        ground(stage, horizon + 0.05 + 0.10 * rank, (214, 178, 138) if rank else (196, 164, 132), depth, 0.03)


def _balloon(pen: Pen, one: Colour, other: Colour) -> None:
    for i in range(7):
        share = 1 - i / 3.5
        tone = one if i % 2 == 0 else other
        edge, inner = share, 1 - (i + 1) / 3.5
        rim = [(edge * 0.42 * math.sin(math.pi * t / 12) ** 0.8, 0.95 - 0.95 * t / 12) for t in range(13)]
        back = [(inner * 0.42 * math.sin(math.pi * t / 12) ** 0.8, 0.95 - 0.95 * t / 12) for t in range(12, -1, -1)]
        pen.poly([*rim, *back], mix(tone, (44, 30, 60), 0.05 * i))
    for x in (-0.06, 0.06):
        pen.line([(x * 1.6, 0.06), (x, -0.14)], 0.012, (90, 70, 60))
    pen.box(-0.075, -0.26, 0.075, -0.13, (150, 104, 70))
