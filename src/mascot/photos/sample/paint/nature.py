"""Scenes of the land: snow, woods, deserts, gardens, falling water and the lights of the north."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mascot.photos.sample.paint import growth
from mascot.photos.sample.paint.backdrop import SNOW, WHITE, ground, hills, mist, sky, water
from mascot.photos.sample.paint.built import LAMP
from mascot.photos.sample.paint.figures import flock
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.peaks import distant_peaks, mountain
from mascot.photos.sample.paint.shores import rocks
from mascot.photos.sample.paint.stage import Pen, Stage, circle, placed, smooth


def snow(stage: Stage) -> None:
    """A white country: firs, a cabin, mountains behind."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.52 + 0.1 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    for i in range(3):
        x = stage.wide * (i + 0.2 + 0.6 * rng.random()) / 3
        mountain(
            stage,
            (x, horizon - stage.high * (0.2 + 0.16 * rng.random())),
            horizon + 0.02,
            0.36,
            (122, 132, 156),
            0.45,
            0.6,
        )
    hills(stage, horizon + 0.06, 0.10, (226, 234, 246), 0.28)
    line = hills(stage, horizon + 0.15, 0.12, (236, 242, 250), 0.10)
    if scene.land != "polar":
        for _ in range(rng.randint(12, 22)):
            x = rng.random() * stage.wide
            growth.pine(Pen(stage, x, line(x) + 0.02, 0.10 + 0.10 * rng.random(), depth=0.12), snow=True)
    line = ground(stage, horizon + 0.26, SNOW, slope=0.08)
    if rng.random() < 0.6:
        x = stage.wide * (0.25 + 0.5 * rng.random())
        cabin(Pen(stage, x, line(x) + 0.06, 0.24))
    if scene.land != "polar":
        for side in (0, 1):
            for i in range(rng.randint(0, 3)):
                x = stage.wide * side + (1 - 2 * side) * (0.08 + 0.13 * i)
                growth.pine(
                    Pen(stage, x, stage.high * (0.93 + 0.05 * rng.random()), 0.42 + 0.2 * rng.random()), snow=True
                )
    if rng.random() < 0.5:  # a track in the snow
        path = [
            (stage.wide * 0.5 + 0.1 * math.sin(t * 5), horizon + 0.28 + (stage.high - horizon - 0.25) * t)
            for t in np.linspace(0, 1, 14).tolist()
        ]
        for dx in (-0.012, 0.012):
            stage.line(
                [(x + dx * (1 + 2 * i / 14), y) for i, (x, y) in enumerate(path)],
                0.005,
                stage.light.on((176, 194, 220)),
            )


def ice(stage: Stage) -> None:
    """Icebergs on a dark calm sea."""
    rng = stage.rng
    horizon = stage.high * (0.46 + 0.08 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    distant_peaks(stage, horizon, snowy=True)
    for i in range(rng.randint(2, 4)):
        iceberg(stage, stage.wide * (i + 0.3 + 0.4 * rng.random()) / 4, horizon + 0.012 * i, 0.10 + 0.18 * rng.random())
    water(stage, horizon + 0.03, 0.9, (30, 84, 116))
    for _ in range(16):
        x, near = rng.random() * stage.wide, rng.random()
        y = horizon + 0.06 + (stage.high - horizon - 0.08) * near
        floe = placed("-1,0 0,1 1.1,.15 0,-.5", x, y, 0.02 + 0.04 * near, 0.012 + 0.01 * near)
        stage.polygon(floe, stage.light.on((226, 240, 248)))


def forest(stage: Stage) -> None:
    """Between trees: stems fading into light, a path through them."""
    rng, scene = stage.rng, stage.scene
    light = stage.light
    sky(stage, stage.high * 0.8, stage.wide * (0.35 + 0.3 * rng.random()), "mist")
    stage.sun = None
    firs = scene.land in ("north", "alpine", "polar") and scene.season != "autumn"
    floor = stage.high * 0.74
    green: Colour = (116, 144, 84) if scene.season != "autumn" else (196, 142, 76)
    canopy: Colour = growth.leaves(scene.season, rng)
    for rank, depth in enumerate((0.72, 0.48, 0.26, 0.06)):
        foot = floor + 0.07 * rank
        ground(stage, foot, mix(green, canopy, 0.2 * rank), depth * 0.7, 0.03)
        if scene.variant == "bamboo":
            for _ in range(16 - 3 * rank):
                growth.bamboo(Pen(stage, rng.random() * stage.wide, foot + 0.04, 0.7 + 0.5 * rank, depth=depth))
            continue
        for i in range(9 - 2 * rank):
            x = stage.wide * (i + rng.random()) / (9 - 2 * rank)
            if rank == 3 and abs(x - stage.wide / 2) < 0.22:
                continue
            if firs:
                growth.pine(
                    Pen(stage, x, foot + 0.03, (0.5 + 0.14 * rank) * (0.8 + 0.4 * rng.random()), depth=depth),
                    snow=scene.season == "winter",
                )
            else:
                _stem(stage, x, foot + 0.03, 0.018 + 0.016 * rank, depth)
        if not firs:
            _canopy(stage, rank, depth, scene.season)
        mist(stage, foot - 0.03, 0.06, 0.22)
    middle, way = stage.wide * 0.5, rng.choice((-1, 1))
    far = placed("-.06,-.16 .02,-.08 0,-.01 .07,-.07 .02,-.15", middle, floor, way, 1.0)
    near = placed("-.1,0 -.28,0" if way < 0 else ".1,0 -.26,0", middle, stage.high + 0.1, 1.0, 1.0)
    path = [*far, *(near if way > 0 else reversed(near))]
    tone = light.on((206, 178, 132) if scene.season != "winter" else SNOW)
    stage.fill([smooth(path)], mix(tone, light.horizon, 0.5), tone, 0.85, blur=0.006)
    for i in range(4):  # shafts of light
        x = stage.wide * (0.2 + 0.2 * i) + 0.1 * rng.random()
        shaft = [(x, -0.1), (x + 0.06, -0.1), (x - 0.20, stage.high), (x - 0.36, stage.high)]
        stage.fill([shaft], light.sun, light.sun, 0.10 * (1 - light.dark), blur=0.012)
    if scene.season == "autumn":
        for _ in range(70):
            x, y = rng.random() * stage.wide, floor + (stage.high - floor) * rng.random()
            stage.oval(x, y, 0.008, 0.005, light.on(rng.choice(growth.AUTUMN)))


def _stem(stage: Stage, x: float, foot: float, half: float, depth: float) -> None:
    rng = stage.rng
    bark = mix(growth.BARK, (150, 120, 100), rng.random() * 0.5)
    bend = 0.04 * (rng.random() - 0.5)
    tone, dull = stage.light.on(bark, depth), stage.light.on(mix(bark, (24, 18, 34), 0.4), depth)
    top = placed("-.7,0 .2,0 .7,0", x + bend, -0.1, half, 1.0)
    root = placed("-1.5,0 -.9,.12 .2,0 .9,.12 1.6,0", x, foot, half, 1.0)
    stage.polygon([root[0], root[1], top[0], top[2], root[3], root[4]], tone)
    stage.polygon([root[2], top[1], top[2], root[3], root[4]], dull)


def _canopy(stage: Stage, rank: int, depth: float, season: str) -> None:
    rng = stage.rng
    for _ in range(20 - 2 * rank):
        x, y = rng.random() * stage.wide, stage.high * (0.02 + 0.20 * rng.random()) * (1.2 - 0.2 * rank)
        tone = stage.light.on(mix(growth.leaves(season, rng), (255, 240, 160), 0.25 * rng.random()), depth)
        r = 0.07 + 0.07 * rng.random()
        stage.oval(x, y, r * 1.4, r * 0.8, faded(tone, 0.85))


def desert(stage: Stage) -> None:
    """Dunes, each with a bright and a dark side."""
    rng = stage.rng
    horizon = stage.high * (0.46 + 0.1 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    hills(stage, horizon + 0.01, 0.06, (196, 150, 118), 0.8)
    dunes(stage, horizon)
    if stage.scene.variant == "rocks" or rng.random() < 0.25:
        growth.cactus(Pen(stage, stage.wide * (0.14 + 0.72 * rng.random()), stage.high * 0.9, 0.3))
    flock(stage, horizon, rng.choice((0, 0, 3)))


def dunes(stage: Stage, horizon: float) -> None:
    rng, light = stage.rng, stage.light
    for rank, depth in enumerate((0.5, 0.26, 0.08)):
        foot = horizon + (stage.high - horizon) * (0.16 + 0.30 * rank)
        tall = 0.12 + 0.06 * rank
        peak = stage.wide * (0.2 + 0.6 * rng.random())
        ridge = placed("-.4,.5 0,1 .35,.35", peak, foot, 1.0, tall)
        crest = smooth([(-0.3, foot + 0.06), *ridge, (stage.wide + 0.3, foot + 0.02)], closed=False, steps=3)
        bright = light.on((238, 184, 116), depth)
        dull = light.on((176, 112, 82), depth)
        stage.fill([stage.below(crest)], bright, mix(bright, dull, 0.35))
        right = [p for p in crest if p[0] >= peak]
        edge = smooth(placed("0,1 -.06,.3 .1,-.6 -.05,-2", peak, foot, 1.0, tall), closed=False, steps=3)
        stage.fill([[*right, (stage.wide + 0.4, stage.high + 0.2), *reversed(edge)]], dull, mix(dull, bright, 0.55))
        for i in range(5):
            y = foot + 0.04 + 0.035 * i
            wave = [(peak - 0.7 + 0.06 * j, y + 0.012 * math.sin(j * 0.9 + i)) for j in range(10)]
            stage.line(wave, 0.0028, faded(mix(bright, dull, 0.5), 0.5))


def waterfall(stage: Stage) -> None:
    rng, light, scene = stage.rng, stage.light, stage.scene
    horizon = stage.high * 0.30
    sky(stage, horizon + 0.1, weather=scene.weather)
    stage.sun = None
    hills(stage, horizon + 0.05, 0.10, growth.meadow("summer"), 0.6)
    brink, pool = horizon + 0.06, stage.high * 0.78
    rock = light.on((98, 96, 104), 0.1)
    cliff = stage.below([(-0.1, brink - 0.03), (stage.wide * 0.5, brink), (stage.wide + 0.1, brink - 0.05)])
    stage.fill([cliff], rock, mix(rock, light.shadow, 0.4))
    for _ in range(46):
        x, y = rng.random() * stage.wide, brink + (pool - brink) * rng.random()
        wide, high = 0.05 + 0.08 * rng.random(), 0.02 + 0.05 * rng.random()
        block = placed("0,0 1,-.2 .9,-1 .1,-1", x, y, wide, high)
        stage.polygon(block, faded(mix(rock, light.shadow if rng.random() < 0.6 else WHITE, 0.25), 0.55))
    water(stage, pool, 0.3, (60, 140, 158))
    middle, half = stage.wide * (0.4 + 0.2 * rng.random()), 0.17 + 0.12 * rng.random()
    fall = placed("-1,0 1,0 1.12,-1 -1.12,-1", middle, brink - 0.004, half, pool - brink + 0.024)
    white = light.on((236, 246, 250))
    stage.fill([fall], mix(white, light.on((120, 186, 206)), 0.35), white)
    for _ in range(46):
        x = middle + half * (2 * rng.random() - 1)
        start = brink + (pool - brink) * 0.8 * rng.random()
        tone = mix(white, light.on((96, 160, 190)), 0.7 * rng.random())
        stop = min(start + 0.1 + 0.2 * rng.random(), pool)
        stage.line([(x, start), (x + 0.1 * (x - middle), stop)], 0.004, faded(tone, 0.7))
    foam = []
    for _ in range(22):
        x = middle + half * 1.3 * (2 * rng.random() - 1)
        foam.append(circle(x, pool + 0.02 * rng.random(), 0.04 + 0.03 * rng.random(), 0.6))
    stage.fill(foam, white, white, 0.8, blur=0.014)
    if light.dark < 0.2 and rng.random() < 0.5:
        for i, tone in enumerate(((232, 96, 84), (244, 186, 84), (246, 232, 120), (126, 196, 128), (98, 150, 214))):
            r = 0.44 - 0.010 * i
            stage.arc((middle - r, pool - r * 0.9, middle + r, pool + r * 0.9), (185, 275), 0.011, faded(tone, 0.30))
    for x in (0.02, stage.wide - 0.06):
        for i in range(3):
            growth.pine(Pen(stage, x + 0.07 * i, stage.high * (0.98 + 0.02 * i), 0.4 + 0.16 * rng.random()))


def aurora(stage: Stage) -> None:
    """Green curtains over a snowy shore."""
    rng, light = stage.rng, stage.light
    horizon = stage.high * 0.66
    sky(stage, horizon, weather="clear")
    for tone, lift in (((92, 232, 160), 0.0), ((120, 220, 190), 0.12), ((176, 112, 214), 0.2)):
        phase, swing = rng.random() * 6.28, 0.08 + 0.06 * rng.random()
        foot = horizon * (0.70 - lift)
        for i in range(34):
            t = i / 33
            x = stage.wide * (-0.08 + 1.16 * t)
            low = foot + swing * math.sin(3.4 * t + phase) + 0.03 * math.sin(9 * t + phase)
            tall = (0.20 + 0.16 * math.sin(7 * t + 2 * phase) ** 2) * stage.high
            ray = placed("-1,0 1,0 1.4,1 -.4,1", x, low, stage.wide / 30, tall)
            opacity = 0.30 + 0.24 * math.sin(11 * t + phase) ** 2
            stage.fill([ray], mix(tone, light.zenith, 0.75), tone, opacity, blur=0.02)
    stage.light = replace(light, tint=(0.46, 0.78, 0.72), shade=0.34)  # the snow takes the colour of the sky
    distant_peaks(stage, horizon, snowy=True)
    if stage.scene.variant == "lake" or rng.random() < 0.6:
        water(stage, horizon, 0.95, (40, 90, 110))
        for i in range(4):
            rocks(stage, stage.high * (0.96 + 0.01 * i), 1)
    else:
        ground(stage, horizon + 0.04, SNOW, slope=0.06)
        cabin(Pen(stage, stage.wide * (0.3 + 0.4 * rng.random()), horizon + 0.16, 0.22))
        for _ in range(7):
            x = rng.random() * stage.wide
            growth.pine(Pen(stage, x, horizon + 0.10 + 0.2 * rng.random(), 0.2 + 0.2 * rng.random()), snow=True)


def iceberg(stage: Stage, x: float, foot: float, size: float) -> None:
    rng, light = stage.rng, stage.light
    lean, top = 0.3 * (rng.random() - 0.5), 0.7 + 0.5 * rng.random()
    right = f"{lean},{top} {lean + 0.3},{top - 0.18} .6,.35 1,-.2"
    whole = placed(f"-1,-.2 -.7,.4 -.3,.5 {right}", x, foot, size, size)
    stage.fill([whole], light.on((248, 252, 255), 0.08), light.on((176, 218, 236), 0.08))
    stage.polygon(placed(f"{right} .2,-.2 .1,.4", x, foot, size, size), light.on((150, 196, 224), 0.1))


def cabin(pen: Pen) -> None:
    """A log house with snow on its roof and a light in it."""
    wood = (136, 92, 66)
    pen.box(-0.5, 0, 0.5, 0.42, wood)
    for y in (0.1, 0.2, 0.3):
        pen.line([(-0.5, y), (0.5, y)], 0.012, mix(wood, (40, 24, 30), 0.4))
    pen.box(0.24, 0.5, 0.36, 0.86, (112, 98, 98))
    pen.poly("-.62,.38 -.3,.82 .3,.82 .62,.38", (84, 64, 62))
    pen.poly("-.64,.42 -.3,.88 .3,.88 .64,.42 .5,.5 .3,.72 -.3,.7 -.46,.52", SNOW)
    lamp = pen.stage.light.dark > 0.15 or pen.stage.light.low > 0.5
    for x in (-0.34, 0.14):
        corners = [pen.spot(px, py) for px, py in ((x, 0.14), (x + 0.18, 0.14), (x + 0.18, 0.32), (x, 0.32))]
        pen.stage.polygon(corners, LAMP if lamp else pen.tone((96, 122, 146)))
        if lamp:
            pen.glow(x + 0.09, 0.22, 0.26, LAMP, 0.35)
    pen.box(-0.08, 0, 0.06, 0.28, (92, 58, 48))
