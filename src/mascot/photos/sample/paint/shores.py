"""Scenes at the water: evenings, beaches, cliffs, and what stands there."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mascot.photos.sample.paint import built, growth
from mascot.photos.sample.paint.animals import whale_tail
from mascot.photos.sample.paint.backdrop import LAGOON, SAND, SEA, WHITE, sky, water
from mascot.photos.sample.paint.figures import flock, parasol, people, some_boat
from mascot.photos.sample.paint.landmarks import LANDMARKS
from mascot.photos.sample.paint.light import faded, mix
from mascot.photos.sample.paint.peaks import distant_peaks, lone_peak
from mascot.photos.sample.paint.stage import Pen, Points, Stage, circle, placed, smooth


def sunset(stage: Stage) -> None:
    """The sun low over water; the sunrise is painted the same, its hour makes the difference."""
    rng, land = stage.rng, stage.scene.land
    horizon = stage.high * (0.54 + 0.12 * rng.random())
    sky(stage, horizon, stage.wide * rng.choice((0.3, 0.36, 0.5, 0.62, 0.7)), stage.scene.weather)
    variant = stage.scene.variant
    if variant == "karst":
        karst(stage, horizon, 5)
    elif variant in LANDMARKS:
        look = land if land in built.FACADES else "south"
        built.houses(stage, horizon, 0.10, look, 0.35)
        LANDMARKS[variant](
            Pen(stage, stage.wide * rng.choice((0.24, 0.5, 0.76)), horizon, 0.34 + 0.08 * rng.random(), depth=0.2)
        )
        built.houses(stage, horizon, 0.06, look, 0.2)
    elif variant in ("lake", "fuji"):
        if variant == "fuji":
            lone_peak(stage, horizon)
        else:
            distant_peaks(stage, horizon, snowy=True)
    elif land == "metro":
        side = rng.random() < 0.5
        reach = stage.wide * (0.3 + 0.2 * rng.random())
        built.skyline(stage, horizon, 0.22, 0.35, *((-0.05, reach) if side else (stage.wide - reach, 9.0)))
    elif rng.random() < 0.6:
        headland(stage, horizon, 0.10 if land != "north" else 0.2)
    water(stage, horizon, 0.5 + 0.4 * rng.random(), SEA)
    _evening_foreground(stage, horizon)
    flock(stage, horizon, rng.choice((0, 0, 3, 5, 7)))


def _evening_foreground(stage: Stage, horizon: float) -> None:
    rng, land, variant = stage.rng, stage.scene.land, stage.scene.variant
    choices = {
        "tropic": ("palms", "palms", "boat", "shore", "hammock"), "south": ("boat", "shore", "rocks", "pier"),
        "island": ("terraces", "boat", "terraces"), "north": ("rocks", "islet", "pier", "boat"),
        "desert": ("boat", "palms", "shore"), "east": ("boat", "rocks", "pier"), "metro": ("pier", "boat", "people"),
        "alpine": ("boat", "pier", "reeds"), "polar": ("rocks", "boat"), "savanna": ("palms", "boat"),
    }[land]  # fmt: skip
    choice = rng.choice(choices)
    if variant in ("shore", "palms", "rocks", "pier", "boat", "people", "terraces", "none"):
        choice = variant
    floor = stage.high
    if choice in ("boat", "hammock") or variant == "karst":
        some_boat(stage, horizon + (floor - horizon) * (0.25 + 0.3 * rng.random()), 0.16 + 0.14 * rng.random())
    if choice in ("palms", "hammock"):
        shore(stage, floor - 0.10, bare=True)
        side = rng.random() < 0.5
        for i in range(rng.randint(1, 3)):
            x = 0.10 + 0.16 * i + 0.06 * rng.random()
            lean = (0.16 + 0.16 * rng.random()) * (1 if side else -1)
            growth.palm(Pen(stage, x if side else stage.wide - x, floor - 0.06, 0.62 + 0.28 * rng.random()), lean)
    elif choice == "shore":
        shore(stage, floor - 0.16, bare=True)
        people(stage, floor - 0.08, rng.randint(1, 3))
    elif choice == "rocks":
        rocks(stage, floor, rng.randint(3, 6))
    elif choice == "pier":
        pier(stage, horizon)
    elif choice == "people":
        promenade(stage, floor - 0.08)
        people(stage, floor - 0.03, rng.randint(2, 4))
    elif choice == "islet":
        islet(stage, horizon + 0.06, stage.wide * rng.choice((0.2, 0.8)))
    elif choice == "terraces":
        terraces(stage)
    elif choice == "reeds":
        for _ in range(46):
            x, high = stage.wide * rng.random() ** 1.6, 0.14 + 0.22 * rng.random()
            bend = 0.05 * (rng.random() - 0.3)
            tone = stage.light.on((96, 104, 60))
            stage.polygon([(x - 0.004, floor + 0.03), (x + 0.004, floor + 0.03), (x + bend, floor - high)], tone)
            stage.oval(x + bend * 0.8, floor - high * 0.86, 0.007, 0.026, stage.light.on((112, 74, 50)))


def beach(stage: Stage) -> None:
    rng, tropic = stage.rng, stage.scene.land in ("tropic", "savanna")
    horizon = stage.high * (0.36 + 0.10 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    if rng.random() < 0.7:
        headland(stage, horizon, 0.16)
    water(stage, horizon, 0.25, LAGOON if tropic or stage.scene.land in ("south", "island") else SEA)
    for i in range(rng.randint(1, 2)):
        some_boat(stage, horizon + 0.03 + 0.05 * i, 0.07 + 0.03 * i, rng.choice(("sail", "fishing")))
    line = shore(stage, stage.high * (0.66 + 0.06 * rng.random()))
    for i in range(rng.randint(2, 5)):
        x = stage.wide * (0.06 + 0.88 * rng.random())
        cloth = rng.choice(((224, 86, 74), (62, 138, 158), (244, 190, 84), (116, 164, 112)))
        parasol(Pen(stage, x, line(x) + 0.06 + 0.05 * i, 0.15 + 0.04 * i), cloth)
    people(stage, line(stage.wide / 2) + 0.07, rng.randint(0, 3))
    if tropic:
        side = rng.random() < 0.5
        for i in range(rng.randint(1, 2)):
            x = 0.08 + 0.2 * i
            growth.palm(
                Pen(stage, x if side else stage.wide - x, stage.high * 0.97, 0.85 + 0.15 * i), 0.26 if side else -0.26
            )
    flock(stage, horizon, rng.choice((0, 2, 4)))


def sea(stage: Stage) -> None:
    """Open water and cliffs; with the variant `whale`, a fluke."""
    rng = stage.rng
    horizon = stage.high * (0.38 + 0.12 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    if stage.scene.variant == "karst":
        karst(stage, horizon, 6)
    elif stage.scene.land == "polar" or stage.scene.variant == "whale":
        distant_peaks(stage, horizon, snowy=stage.scene.land in ("polar", "north"))
    else:
        headland(stage, horizon, 0.14)
    water(stage, horizon, 0.2 if not stage.scene.variant else 0.6, SEA)
    if stage.scene.variant == "whale":
        size = 0.34 + 0.14 * rng.random()
        y = horizon + (stage.high - horizon) * (0.5 + 0.1 * rng.random())
        whale_tail(Pen(stage, stage.wide * (0.35 + 0.3 * rng.random()), y - stage.drift, size), (52, 64, 86))
        return
    if stage.scene.variant == "karst":
        some_boat(stage, horizon + 0.2, 0.26, "junk")
        return
    _breakers(stage, horizon)
    cliff(stage, horizon, left=rng.random() < 0.5)
    some_boat(stage, horizon + 0.06, 0.10, "sail")
    flock(stage, horizon, rng.randint(3, 7), near=True)


def headland(stage: Stage, horizon: float, high: float) -> None:
    """A strip of far coast from one side."""
    rng = stage.rng
    left = rng.random() < 0.5
    reach = stage.wide * (0.3 + 0.4 * rng.random())
    start, way = (0.0, reach) if left else (stage.wide, -reach)
    rim = placed(
        f"0,{0.5 + 0.5 * rng.random()} .25,{0.6 + 0.4 * rng.random()} .5,.55 .78,.22 1,-.03", start, horizon, way, high
    )
    line = smooth(rim, closed=False, steps=3)
    edge = -0.1 if left else stage.wide + 0.1
    tone = stage.light.on((104, 124, 120), 0.55)
    stage.fill([[(edge, line[0][1]), *line, (edge, horizon + 0.004)]], tone, mix(tone, stage.light.horizon, 0.4))


def karst(stage: Stage, horizon: float, number: int) -> None:
    """Steep green rocks that stand in the sea."""
    rng = stage.rng
    for i in range(number):
        depth = 0.7 - 0.55 * i / number
        x, high, half = stage.wide * rng.random(), 0.12 + 0.26 * rng.random(), 0.07 + 0.10 * rng.random()
        rim = smooth(placed("-1,-.05 -.9,.5 -.4,1 .3,.92 .85,.45 1,-.05", x, horizon, half, high))
        tone = stage.light.on((88, 122, 96), depth)
        stage.fill([rim], tone, mix(tone, stage.light.on((150, 144, 128), depth), 0.5))


def shore(stage: Stage, top: float, bare: bool = False) -> Callable[[float], float]:
    """Wet sand, a line of foam, dry sand; gives the y of the water's edge at any x."""
    light, rng = stage.light, stage.rng
    phase, slope = rng.random() * 6.28, (rng.random() - 0.5) * 0.14

    def line(x: float) -> float:
        return top + 0.022 * math.sin(3.1 * x + phase) + slope * (x - stage.wide / 2)

    xs = np.arange(-0.1, stage.wide + 0.15, 0.05).tolist()
    wet, dry = light.on((206, 172, 128)), light.on(SAND)
    foam = mix(light.on((252, 252, 250)), light.horizon, 0.3)

    def under(drop: float, swing: float = 0.0) -> Points:
        return stage.below([(x, line(x) + drop + swing * math.sin(5 * x)) for x in xs])

    stage.fill([under(-0.016)], foam, foam, 0.55, blur=0.004)
    stage.fill([under(0.0)], foam, wet)
    stage.fill([under(0.008)], wet, mix(wet, dry, 0.4))
    stage.fill([under(0.05, 0.02)], dry, mix(dry, light.shadow, 0.12), blur=0.004)
    if not bare:
        for _ in range(60):
            x, y = rng.random() * stage.wide, top + 0.08 + (stage.high - top) * rng.random()
            stage.oval(x, y, 0.004, 0.002, faded(mix(dry, light.shadow, 0.5), 0.3))
    return line


def rocks(stage: Stage, floor: float, number: int) -> None:
    rng = stage.rng
    for _ in range(number):
        x, half, high = rng.random() * stage.wide, 0.07 + 0.14 * rng.random(), 0.05 + 0.12 * rng.random()
        tone = stage.light.on((104, 96, 100))
        stage.polygon(placed("-1,-.4 -.7,.5 -.2,1 .3,.8 .7,.3 1,-.4", x, floor, half, high), tone)
        side = placed("-.2,1 .3,.8 .7,.3 1,-.4 .2,-.4 .05,.4", x, floor, half, high)
        stage.polygon(side, mix(tone, stage.light.shadow, 0.4))


def cliff(stage: Stage, horizon: float, left: bool) -> None:
    rng, light = stage.rng, stage.light
    start, way = (0.0, 1) if left else (stage.wide, -1)
    rim = placed("-.1,.16 .18,.15 .34,.08 .38,-.06 .46,-.2 .52,-.38 .56,-1 -.1,-1", start, horizon, way, 1.0)
    rock = light.on((190, 154, 118) if stage.scene.land in ("south", "island", "tropic", "desert") else (128, 122, 122))
    stage.fill([rim], rock, mix(rock, light.shadow, 0.35))
    grass = placed("-.1,.16 .18,.15 .34,.08 .3,.03 .12,.1 -.1,.1", start, horizon, way, 1.0)
    stage.polygon(grass, light.on((126, 152, 88)))
    for _ in range(16):
        x, y = start + way * 0.36 * rng.random(), horizon + 0.02 + (stage.high - horizon) * 0.8 * rng.random()
        crack = placed("0,0 .02,-.01 .012,-.1 .002,-.07", x, y, 1.0, 1.0)
        stage.polygon(crack, faded(mix(rock, light.shadow, 0.5), 0.4))
    spray = []
    for _ in range(12):
        x, y = start + way * (0.40 + 0.12 * rng.random()), stage.high * (0.86 + 0.12 * rng.random())
        spray.append(circle(x, y, 0.02 + 0.03 * rng.random(), 0.5))
    stage.fill(spray, mix(WHITE, light.horizon, 0.3), mix(WHITE, light.horizon, 0.3), 0.7, blur=0.008)


def _breakers(stage: Stage, horizon: float) -> None:
    rng = stage.rng
    for i in range(4):
        y = horizon + (stage.high - horizon) * (0.3 + 0.2 * i)
        x, long = stage.wide * rng.random(), 0.3 + 0.3 * rng.random()
        crest = placed("-1,0 -.3,1 .5,.6 1,0 0,-.25", x, y, long, 0.014 + 0.006 * i)
        stage.fill([smooth(crest)], mix(WHITE, stage.light.horizon, 0.3), stage.light.middle, 0.6, blur=0.004)


def pier(stage: Stage, horizon: float) -> None:
    """Planks that run out toward the horizon."""
    light, rng = stage.light, stage.rng
    x = stage.wide * (0.3 + 0.4 * rng.random())
    far, near = horizon + 0.05, stage.high + 0.05
    wood = light.on((140, 104, 80))
    stage.polygon([(x - 0.022, far), (x + 0.022, far), (x + 0.30, near), (x - 0.26, near)], wood)
    for i in range(16):
        t = (i / 16) ** 2
        y = far + (near - far) * t
        stage.line(
            [(x - 0.022 - 0.238 * t, y), (x + 0.022 + 0.278 * t, y)], 0.002 + 0.004 * t, mix(wood, light.shadow, 0.5)
        )
    for i in range(6):
        t = (i / 5) ** 2 * 0.9
        y = far + (near - far) * t
        for side in (-1, 1):
            px = x + side * (0.024 + 0.25 * t)
            stage.line([(px, y + 0.05 * t), (px, y - 0.02 - 0.12 * t)], 0.004 + 0.018 * t, mix(wood, light.shadow, 0.3))


def promenade(stage: Stage, top: float) -> None:
    tone = stage.light.on((196, 182, 168))
    stage.polygon(stage.band(top, stage.high + 0.1), tone)
    stage.line([(-0.1, top - 0.045), (stage.wide + 0.1, top - 0.045)], 0.008, stage.light.on((70, 74, 90)))
    for i in range(24):
        x = stage.wide * i / 23
        stage.line([(x, top - 0.045), (x, top)], 0.005, stage.light.on((70, 74, 90)))


def islet(stage: Stage, foot: float, x: float) -> None:
    rng = stage.rng
    tone = stage.light.on((94, 100, 98))
    stage.polygon(smooth(placed("-.3,-.01 -.12,.035 .1,.04 .3,-.01 0,-.03", x, foot, 1.0, 1.0)), tone)
    for _ in range(7):
        growth.pine(Pen(stage, x + 0.2 * (rng.random() - 0.5), foot - 0.02, 0.12 + 0.12 * rng.random()))


def terraces(stage: Stage) -> None:
    """White houses that climb down to the sea."""
    rng = stage.rng
    left = rng.random() < 0.5
    for i in range(7):
        y = stage.high * (0.66 + 0.055 * i)
        reach = 0.16 + 0.10 * i
        built.houses(
            stage, y + 0.10, 0.13 + 0.012 * i, "island", 0.0, *((-0.05, reach) if left else (stage.wide - reach, 9.0))
        )
