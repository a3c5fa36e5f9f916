"""What is behind everything: sky, sun, moon, clouds, water, hills and mountains."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import MARGIN, SHORT, Points, Stage, circle, placed, smooth

WHITE: Colour = (255, 255, 255)
SNOW: Colour = (244, 248, 252)
ROCK: Colour = (112, 116, 132)
SEA: Colour = (34, 112, 148)
LAGOON: Colour = (40, 166, 176)
LAKE: Colour = (52, 128, 140)
RIVER: Colour = (62, 112, 132)
SAND: Colour = (238, 212, 166)
_COARSE = 4  # a sky is smooth: it is computed in a fourth of the width and height


def sky(stage: Stage, horizon: float, sun_x: float | None = None, weather: str = "clear") -> None:
    """The whole sky down to the horizon: gradient, sun or moon, stars and clouds."""
    light, rng = stage.light, stage.rng
    x = 0.2 * stage.wide + rng.random() * 0.6 * stage.wide if sun_x is None else sun_x
    up = light.altitude / 22.0  # a wide lens: 22 degrees are one short side
    hidden = weather in ("cloudy", "rain", "snowfall")
    y = horizon - up
    stage.paint(_sky_pixels(stage, horizon, (x, max(y, -0.6)), 0.35 if hidden else 1.0), _COARSE)
    if light.dark > 0.45 and not hidden:
        _stars(stage, horizon)
    if not hidden and light.altitude > -2.2 and y > -0.05:
        radius = 0.062 if light.low > 0.5 else 0.05
        stage.sun = (x, y)
        disc = mix(light.sun, WHITE, 0.7)
        stage.fill([circle(x, y, radius * 1.5, steps=48)], disc, disc, 0.22)
        stage.fill([circle(x, y, radius, steps=48)], disc, mix(disc, (255, 190, 110), 0.45 * light.low))
    elif light.dark > 0.6 and not hidden and rng.random() < 0.6:
        _moon(stage, horizon)
    _clouds(stage, horizon, weather)


def _sky_pixels(stage: Stage, horizon: float, sun: tuple[float, float], strength: float) -> NDArray[np.float32]:
    light = stage.light
    wide, high = stage.size[0] // _COARSE, stage.row(horizon + 0.12) // _COARSE  # a little below, for rounded shores
    step = _COARSE / 2 / SHORT
    x = (np.arange(wide, dtype=np.float32) * step - MARGIN / SHORT)[None, :]
    y = (np.arange(high, dtype=np.float32) * step - MARGIN / SHORT)[:, None]
    down = np.clip(y / max(horizon, 0.05), 0, 1)[:, :, None]
    stops = [np.array(colour, dtype=np.float32) for colour in (light.zenith, light.middle, light.horizon)]
    knee = 0.58
    first, second = np.clip(down / knee, 0, 1), np.clip((down - knee) / (1 - knee), 0, 1)
    pixels = stops[0] + (stops[1] - stops[0]) * first + (stops[2] - stops[1]) * second**1.3
    if light.dark < 0.95:
        away = np.sqrt((x - sun[0]) ** 2 + ((y - sun[1]) * 1.25) ** 2)
        glow = (0.55 * np.exp(-away / 0.16) + 0.42 * np.exp(-away / 0.55)) * strength * (1 - light.dark)
        pixels = pixels + (np.array(light.sun, dtype=np.float32) - pixels) * np.clip(glow, 0, 1)[:, :, None]
    return np.broadcast_to(pixels, (high, wide, 3))


def _stars(stage: Stage, horizon: float) -> None:
    rng = stage.rng
    for _ in range(round(150 * stage.light.dark**2 * stage.wide * stage.high)):
        x, y = rng.random() * stage.wide, horizon * rng.random() ** 1.4
        size = 0.0011 + 0.0022 * rng.random() ** 4
        stage.oval(x, y, size, size, (255, 250, 235, (0.35 + 0.6 * rng.random()) * (1 - y / horizon * 0.8)))


def _moon(stage: Stage, horizon: float) -> None:
    rng = stage.rng
    x, y = stage.wide * (0.12 + 0.76 * rng.random()), horizon * (0.12 + 0.3 * rng.random())
    radius, shine = 0.05, (252, 246, 224)
    stage.fill([circle(x, y, 0.13)], shine, shine, 0.3, blur=0.07)
    if rng.random() < 0.55:
        stage.polygon(_crescent(x, y, radius), shine)
        return
    disc = circle(x, y, radius, steps=48)
    stage.fill([disc], shine, mix(shine, (206, 206, 214), 0.5))
    for dx, dy, r in ((-0.3, -0.2, 0.2), (0.25, 0.15, 0.26), (-0.1, 0.45, 0.14)):
        stage.oval(x + dx * radius, y + dy * radius, r * radius, r * radius, (216, 212, 200, 0.6))


def _crescent(x: float, y: float, radius: float) -> Points:
    """A half circle one way round, a flatter half back, tilted like a young moon."""
    half = np.linspace(-np.pi / 2, np.pi / 2, 24)
    across = radius * np.concatenate([np.cos(half), 0.45 * np.cos(half[::-1])])
    along = radius * np.concatenate([np.sin(half), np.sin(half[::-1])])
    tilt = 0.5
    return list(
        zip(
            (x + across * math.cos(tilt) - along * math.sin(tilt)).tolist(),
            (y + across * math.sin(tilt) + along * math.cos(tilt)).tolist(),
            strict=True,
        )
    )


def _clouds(stage: Stage, horizon: float, weather: str) -> None:
    light, rng = stage.light, stage.rng
    if weather == "clear":
        if light.low > 0.4:
            _streaks(stage, horizon, rng.randint(2, 4))
        return
    if light.low > 0.45 or light.dark > 0.4:
        _streaks(stage, horizon, rng.randint(5, 9))
        if light.dark > 0.4 or weather == "fair":
            return
    number = {"fair": rng.randint(2, 4), "cloudy": 7, "rain": 7, "mist": 1, "snowfall": 4}[weather]
    base = mix(WHITE, light.horizon, 0.25 + 0.2 * light.low)
    if weather in ("cloudy", "rain"):
        base = mix(base, light.middle, 0.55 if weather == "cloudy" else 0.8)
    for i in range(number):
        size = (0.10 + 0.12 * rng.random()) * (1.5 if weather in ("cloudy", "rain") else 1.0)
        x = stage.wide * (i + rng.random()) / number
        y = horizon * (0.12 + 0.62 * rng.random())
        _cumulus(stage, x, y, size, base)


def _cumulus(stage: Stage, x: float, y: float, size: float, top: Colour) -> None:
    rng = stage.rng
    puffs: list[Points] = []
    number = rng.randint(4, 6)
    for i in range(number):
        along = (i + 0.5) / number * 2 - 1
        radius = size * (0.30 + 0.34 * (1 - along * along)) * (0.8 + 0.4 * rng.random())
        puffs.append([(px, min(py, y)) for px, py in circle(x + along * size * 1.15, y - radius * 0.45, radius)])
    shade = mix(top, mix(stage.light.middle, stage.light.zenith, 0.3), 0.5)
    stage.fill(puffs, top, shade, 0.92, blur=0.004)


def _streaks(stage: Stage, horizon: float, number: int) -> None:
    """Long clouds of evening and morning, lit from below."""
    light, rng = stage.light, stage.rng
    for _ in range(number):
        y = horizon * (0.12 + 0.72 * rng.random())
        near = y / horizon  # low clouds are thin, long and bright
        length, thick = 0.25 + 0.5 * rng.random(), 0.012 + 0.03 * (1 - near) * rng.random()
        x = stage.wide * rng.random()
        bright = mix(light.horizon, light.sun, 0.5)
        tone = mix(mix(light.middle, light.shadow, 0.35), bright, 0.25 + 0.6 * rng.random())
        lens = []
        for part in range(rng.randint(2, 3)):
            dx, dy = (rng.random() - 0.5) * length, (rng.random() - 0.5) * thick * 2.2
            half = length * (0.5 - 0.12 * part)
            lens.append(smooth(placed("-1,0 0,1 1,0 0,-.5", x + dx, y + dy, half, thick)))
        stage.fill(lens, tone, mix(tone, bright, 0.5), 0.30 + 0.35 * rng.random(), blur=0.006)


def water(stage: Stage, top: float, calm: float = 0.6, colour: Colour = (38, 104, 138), bottom: float = 9.0) -> None:
    """Water from `top` down to `bottom`: it mirrors what is painted above, the more the calmer it is."""
    light, rng = stage.light, stage.rng
    low = min(bottom, stage.high + MARGIN / SHORT)
    first, last = stage.row(top), stage.row(low)
    high = last - first
    if high < 4:
        return
    source = stage.image.crop((0, max(first - high, 0), stage.size[0], first))
    narrow = (stage.size[0] // 4, high // 2)  # ripples smear what they mirror, most of all sideways
    mirror = source.transpose(Image.Transpose.FLIP_TOP_BOTTOM).resize(narrow, Image.Resampling.BOX)
    pixels = np.asarray(mirror, dtype=np.float32)
    rows = np.arange(len(pixels))
    near = rows / len(pixels)
    sway = (0.5 + 5 * near) * np.sin(rows * (0.9 - 0.5 * near) + 6.0 * rng.random()) * (1.2 - calm)
    columns = (np.arange(pixels.shape[1])[None, :] + sway[:, None].astype(int)).clip(0, pixels.shape[1] - 1)
    pixels = pixels[rows[:, None], columns]
    own = light.on(colour)
    deep = np.array(mix(own, mix(light.zenith, light.shadow, 0.4), 0.35 + 0.3 * light.low))
    shallow = np.array(mix(own, light.horizon, 0.62))
    depth = (near**0.8)[:, None, None]
    body = shallow + (deep - shallow) * depth
    share = (0.30 + 0.5 * calm) * (1 - 0.45 * depth)
    blended = pixels * share * (1 - 0.05 * depth) + body * (1 - share)
    sheet = Image.fromarray(np.clip(blended, 0, 255).astype(np.uint8))
    stage.image.paste(sheet.resize((stage.size[0], high), Image.Resampling.BILINEAR), (0, first))
    _ripples(stage, top, low, calm)
    if stage.sun is not None:
        _glitter(stage, top, low, stage.sun[0])


def _ripples(stage: Stage, top: float, low: float, calm: float) -> None:
    light, rng = stage.light, stage.rng
    bright, dull = mix(light.horizon, WHITE, 0.25), mix(light.zenith, light.shadow, 0.55)
    for _ in range(round((150 - 70 * calm) * stage.wide * min(low - top, 0.7))):
        near = rng.random() ** 1.5
        y = top + (low - top) * (0.02 + 0.98 * near)
        half = (0.008 + 0.07 * near) * (0.4 + rng.random())
        x, thick = rng.random() * stage.wide, 0.0009 + 0.0032 * near
        colour = faded(bright if rng.random() < 0.55 else dull, 0.10 + 0.22 * rng.random())
        stage.polygon([(x - half, y), (x, y - thick), (x + half, y), (x, y + thick)], colour)


def _glitter(stage: Stage, top: float, low: float, x: float) -> None:
    light, rng = stage.light, stage.rng
    if light.low < 0.1 and light.altitude > 25:
        return
    tone = mix(light.sun, WHITE, 0.3)
    for _ in range(round(120 * (0.4 + 0.6 * light.low))):
        near = rng.random()
        y = top + (low - top) * near * (0.9 if low - top > 0.3 else 1.0) + 0.002
        side = (rng.gauss(0, 1)) * (0.018 + 0.055 * near)
        half, thick = (0.012 + 0.035 * near) * (0.4 + rng.random()), 0.0014 + 0.0040 * near
        stage.polygon(
            [(x + side - half, y), (x + side, y - thick), (x + side + half, y), (x + side, y + thick)],
            faded(tone, (0.75 - 0.45 * near) * (0.5 + 0.5 * rng.random())),
        )


def outline(stage: Stage, height: float, rough: float = 0.5, bumps: float = 3.0) -> Callable[[float], float]:
    """A random hill line: height over its foot at any x, from 0 to about `height`."""
    rng = stage.rng
    waves = [(bumps * 2.0**i * (0.8 + 0.4 * rng.random()), rng.random() * 6.28, rough**i) for i in range(4)]
    total = sum(size for _, _, size in waves)

    def line(x: float) -> float:
        value = sum(size * math.sin(often * x * 2.1 + phase) for often, phase, size in waves)
        return height * (0.5 + 0.5 * value / total)

    return line


def hills(
    stage: Stage, foot: float, height: float, colour: Colour, depth: float, rough: float = 0.4, bumps: float = 1.6
) -> Callable[[float], float]:
    """One range of hills down to the bottom; gives the height of the ground (a y) at any x."""
    line = outline(stage, height, rough, bumps)
    tone = stage.light.on(colour, depth)
    below = mix(tone, stage.light.horizon, 0.22 + 0.25 * depth) if depth > 0.12 else mix(tone, stage.light.shadow, 0.12)
    points = [(x, foot - line(x)) for x in np.arange(-0.05, stage.wide + 0.08, 0.03).tolist()]
    stage.fill([stage.below(points)], tone, below)
    return lambda x: foot - line(x)


def ground(
    stage: Stage, top: float, colour: Colour, depth: float = 0.0, slope: float = 0.03
) -> Callable[[float], float]:
    """The near ground, gently curved, with flecks of light on it."""
    rng = stage.rng
    line = outline(stage, slope, 0.3, 1.0)
    tone = stage.light.on(colour, depth)
    points = [(x, top - line(x)) for x in np.arange(-0.05, stage.wide + 0.08, 0.04).tolist()]
    bright = mix(tone, WHITE, 0.06 * (1 - stage.light.dark))
    stage.fill([stage.below(points)], bright, mix(tone, stage.light.shadow, 0.22))
    for _ in range(70):
        near = rng.random()
        x, y = rng.random() * stage.wide, top + (stage.high - top) * near
        half = 0.004 + 0.03 * near * rng.random()
        fleck = mix(tone, WHITE, 0.3) if rng.random() < 0.5 else mix(tone, stage.light.shadow, 0.4)
        stage.polygon([(x - half, y), (x, y - 0.002 - 0.002 * near), (x + half, y), (x, y + 0.002)], faded(fleck, 0.22))
    return lambda x: top - line(x)


def mist(stage: Stage, y: float, thick: float, opacity: float = 0.5) -> None:
    """A soft band of air across the picture."""
    tone = mix(stage.light.horizon, WHITE, 0.2 * (1 - stage.light.dark))
    stage.fill([stage.band(y - thick, y + thick)], tone, tone, opacity, blur=thick * 0.8)


def falling(stage: Stage, weather: str) -> None:
    """Rain or snow in the air, over everything."""
    rng = stage.rng
    if weather == "rain":
        for _ in range(170):
            x, y, long = rng.random() * stage.wide * 1.1, rng.random() * stage.high, 0.03 + 0.04 * rng.random()
            stage.line([(x, y), (x - long * 0.22, y + long)], 0.0022, (228, 236, 244, 0.16 + 0.14 * rng.random()))
    if weather == "snowfall":
        for _ in range(200):
            x, y, size = rng.random() * stage.wide, rng.random() * stage.high, 0.0018 + 0.006 * rng.random() ** 3
            stage.oval(x, y, size, size, (255, 255, 255, 0.45 + 0.45 * rng.random()))
