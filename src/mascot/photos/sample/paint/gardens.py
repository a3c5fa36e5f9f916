"""Scenes of what people plant: tulip fields, cherry trees, terraces and parks."""

from __future__ import annotations

import math

import numpy as np

from mascot.photos.sample.paint import growth
from mascot.photos.sample.paint.backdrop import WHITE, ground, hills, sky
from mascot.photos.sample.paint.figures import people
from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.stage import Pen, Stage, circle, placed, smooth


def garden(stage: Stage) -> None:
    """Tulip fields, cherry blossom, rice terraces or a park in flower."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.44 + 0.06 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    if scene.variant == "tulips":
        hills(stage, horizon + 0.01, 0.05, (96, 140, 104), 0.5)
        growth.tulip_rows(
            stage, horizon, ((226, 74, 84), (246, 196, 70), (238, 130, 160), (150, 84, 160), (250, 240, 230))
        )
        return
    if scene.variant == "rice":
        _rice(stage, horizon)
        return
    for i in range(8):
        tree = Pen(stage, stage.wide * (i + rng.random()) / 8, horizon + 0.05, 0.22 + 0.1 * rng.random(), depth=0.35)
        growth.broadleaf(tree, growth.leaves(scene.season, rng))
    line = ground(
        stage, horizon + 0.06, growth.meadow("spring" if scene.season == "winter" else scene.season), slope=0.05
    )
    if scene.variant == "cherry":
        for i in range(rng.randint(3, 5)):
            x = stage.wide * (i + 0.2 + 0.6 * rng.random()) / 4
            growth.blossom_tree(Pen(stage, x, line(x) + 0.10 + 0.12 * rng.random(), 0.46 + 0.24 * rng.random()))
        for _ in range(90):
            x, y = rng.random() * stage.wide, horizon * 0.5 + (stage.high - horizon * 0.5) * rng.random()
            stage.oval(x, y, 0.0055, 0.0035, stage.light.on(rng.choice(growth.BLOSSOM)))
        return
    light = stage.light
    if rng.random() < 0.45:
        x, y = stage.wide * (0.35 + 0.3 * rng.random()), horizon + (stage.high - horizon) * 0.5
        pond = circle(x, y, 0.34 + 0.1 * rng.random(), 0.30, 40)
        stage.polygon(circle(x, y, 0.47, 0.30, 40), light.on((214, 202, 176)))
        stage.fill([pond], mix(light.middle, light.horizon, 0.4), light.on((72, 136, 150)))
        for dx in (-0.1, 0.02, 0.12):
            stage.oval(x + dx, y + 0.02 + dx * 0.2, 0.03, 0.011, light.on((98, 150, 90)))
            stage.oval(x + dx + 0.01, y + 0.012 + dx * 0.2, 0.010, 0.008, light.on((244, 190, 206)))
    else:
        bend = rng.choice((-0.3, 0.0, 0.3))
        far = placed(f"{bend * 0.4 - 0.06},-.2 0,-.06 {bend * 0.4 + 0.06},-.18", stage.wide * 0.5, horizon, 1.0, 1.0)
        near = placed(".24,0 -.3,0", stage.wide * 0.5 + bend, stage.high + 0.1, 1.0, 1.0)
        stage.fill([smooth([*far, *near])], light.on((236, 218, 180)), light.on((222, 194, 150)))
    palette: tuple[Colour, ...] = ((226, 84, 92), (246, 196, 80), (236, 140, 170), (160, 100, 180), WHITE)
    growth.flowers(
        stage,
        horizon + 0.20,
        stage.high,
        (rng.choice(palette), rng.choice(palette), rng.choice(palette)),
        rng.randint(60, 180),
    )
    for side in rng.sample((0.08, 0.9), rng.randint(1, 2)):
        growth.broadleaf(
            Pen(stage, stage.wide * side, stage.high * (0.80 + 0.14 * rng.random()), 0.44 + 0.3 * rng.random()),
            growth.leaves(scene.season, rng),
        )
    if rng.random() < 0.5:
        people(stage, stage.high * 0.9, rng.randint(1, 2))


def _rice(stage: Stage, horizon: float) -> None:
    rng, light = stage.rng, stage.light
    hills(stage, horizon, 0.16, (74, 124, 92), 0.6)
    for i in range(11):
        t = i / 10
        foot = horizon - 0.02 + (stage.high - horizon) * t**1.1
        phase = 1.2 + 0.35 * i
        swing = 0.02 + 0.05 * t
        rim = [(x, foot + swing * math.sin(3.2 * x + phase)) for x in np.arange(-0.1, stage.wide + 0.2, 0.05).tolist()]
        tone = light.on(mix((150, 192, 88), (82, 150, 80), (i % 3) / 2), 0.4 * (1 - t))
        stage.fill([stage.below(rim)], mix(tone, WHITE, 0.12), mix(tone, light.shadow, 0.2))
        stage.line(rim, 0.004 + 0.006 * t, mix(light.on((226, 240, 226)), light.horizon, 0.3))
    for _ in range(rng.randint(2, 4)):
        pen = Pen(stage, stage.wide * rng.random(), stage.high * (0.7 + 0.3 * rng.random()), 0.4 + 0.2 * rng.random())
        if stage.scene.land == "tropic":
            growth.palm(pen, 0.12)
        else:
            growth.cypress(pen)
