"""The surface a postcard is painted on, and the pen that draws a shape anywhere on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from mascot.photos.sample.paint.light import Colour, Light

Points = Sequence[tuple[float, float]]
Shape = Points | str  # points, or points written as in SVG: "0,0 .5,1 1,0"

SHORT, LONG = 320, 480
MARGIN = 6  # pixels painted around the picture, so that the next frame of a burst can look a little aside
_FINE = 2  # painted this many times larger than it is kept, for smooth edges
_UNIT = SHORT * _FINE


@dataclass(frozen=True, slots=True)
class Scene:
    """What is to be painted, before any of it is."""

    subject: str
    variant: str  # which of its kind: the landmark, the boat, the mountain; "" leaves it to chance
    land: str  # the look of the country: its houses and trees
    season: str
    weather: str
    altitude: float  # of the sun, in degrees
    portrait: bool
    frame: int  # 0, or the place in a burst: things that move have moved a little


class Stage:
    """A picture being painted. Lengths are in units of the short side, from the top left corner."""

    def __init__(self, scene: Scene, light: Light, rng: Random) -> None:
        wide, high = (SHORT, LONG) if scene.portrait else (LONG, SHORT)
        self.wide, self.high = wide / SHORT, high / SHORT
        self.scene = scene
        self.drift = 0.012 * scene.frame
        self.light = light
        self.rng = rng
        self.size = ((wide + 2 * MARGIN) * _FINE, (high + 2 * MARGIN) * _FINE)
        self.sun: tuple[float, float] | None = None
        self.image = Image.new("RGB", self.size)
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        return x * _UNIT + MARGIN * _FINE, y * _UNIT + MARGIN * _FINE

    def row(self, y: float) -> int:
        return min(max(round(self.pixel(0, y)[1]), 0), self.size[1])

    def paint(self, pixels: NDArray[np.float32], scale: int) -> None:
        """An array of colours, enlarged `scale` times and smoothly, from the top left corner."""
        small = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        size = (small.width * scale, small.height * scale)
        self.image.paste(small.resize(size, Image.Resampling.BILINEAR))

    def below(self, rim: Points) -> Points:
        """All of the picture under a line from left to right."""
        return [*rim, (self.wide + 0.4, self.high + 0.2), (-0.4, self.high + 0.2)]

    def band(self, top: float, bottom: float) -> Points:
        """The full width of the picture between two heights."""
        return [(-0.1, top), (self.wide + 0.1, top), (self.wide + 0.1, bottom), (-0.1, bottom)]

    def polygon(self, points: Points, colour: Colour) -> None:
        self._draw.polygon([self.pixel(x, y) for x, y in points], fill=_ink(colour))

    def line(self, points: Points, width: float, colour: Colour) -> None:
        pixels = [self.pixel(x, y) for x, y in points]
        self._draw.line(pixels, fill=_ink(colour), width=max(round(width * _UNIT), 1), joint="curve")

    def oval(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        left, top = self.pixel(x - rx, y - ry)
        right, bottom = self.pixel(x + rx, y + ry)
        self._draw.ellipse([left, top, right, bottom], fill=_ink(colour))

    def arc(self, box: tuple[float, float, float, float], angles: tuple[float, float], width: float, c: Colour) -> None:
        left, top = self.pixel(box[0], box[1])
        right, bottom = self.pixel(box[2], box[3])
        self._draw.arc([left, top, right, bottom], *angles, fill=_ink(c), width=max(round(width * _UNIT), 1))

    def fill(
        self, shapes: Iterable[Points], top: Colour, bottom: Colour, opacity: float = 1.0, blur: float = 0.0
    ) -> None:
        """The shapes as one, coloured from `top` to `bottom`, with soft edges where `blur` is given."""
        pixels = [[self.pixel(x, y) for x, y in shape] for shape in shapes]
        flat = [point for shape in pixels for point in shape]
        if not flat:
            return
        soft = round(blur * _UNIT)
        left = max(int(min(x for x, _ in flat)) - 2 * soft, 0)
        right = min(int(max(x for x, _ in flat)) + 2 * soft + 1, self.size[0])
        upper = max(int(min(y for _, y in flat)) - 2 * soft, 0)
        lower = min(int(max(y for _, y in flat)) + 2 * soft + 1, self.size[1])
        if left >= right or upper >= lower:
            return
        # A blurred edge needs no fine mask, and a coarse one is many times as fast.
        coarse = 4 if soft > 8 else 2 if soft > 2 else 1
        wide, high = (right - left) // coarse + 1, (lower - upper) // coarse + 1
        mask = Image.new("L", (wide, high))
        draw = ImageDraw.Draw(mask)
        for shape in pixels:
            draw.polygon([((x - left) / coarse, (y - upper) / coarse) for x, y in shape], fill=round(255 * opacity))
        if soft:
            mask = mask.filter(ImageFilter.GaussianBlur(soft / coarse))
        if coarse > 1:
            mask = mask.resize((right - left, lower - upper), Image.Resampling.BILINEAR)
        shade = _gradient(top, bottom, mask.size)
        self.image.paste(shade, (left, upper), mask)

    def finish(self, view: View) -> Image.Image:
        """The picture at its kept size, as the view frames it: glow, vignette, grain."""
        wide, high = round(self.wide * SHORT), round(self.high * SHORT)
        span = (wide * _FINE / view.zoom, high * _FINE / view.zoom)
        left = (self.size[0] - span[0]) * view.x
        upper = (self.size[1] - span[1]) * view.y
        box = (left, upper, left + span[0], upper + span[1])
        picture = self.image.resize((wide, high), Image.Resampling.BOX, box=box)
        if self.sun is not None:
            x, y = self.pixel(*self.sun)
            mask = _bloom((x - left) * view.zoom / _UNIT, (y - upper) * view.zoom / _UNIT, wide, high)
            picture.paste(_ink(self.light.sun)[:3], (0, 0, wide, high), mask)
        picture = picture.point([_byte(level * 1.03 * view.exposure) for level in range(256)] * 3)
        picture = ImageChops.multiply(picture, _vignette(wide, high))
        across, down = view.grain % 96, view.grain // 96 % 96
        grain = _noise(self.light.dark > 0.5).crop((across, down, across + wide, down + high))
        picture = ImageChops.add(picture, Image.merge("RGB", [grain] * 3), 1, -128)
        return picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if view.mirrored else picture


@dataclass(frozen=True, slots=True)
class View:
    """How the camera frames what is painted: `x` and `y` from 0 to 1 move the frame over the stage."""

    x: float
    y: float
    zoom: float  # 1 shows nearly the whole stage
    exposure: float
    mirrored: bool
    grain: int


def _bloom(x: float, y: float, wide: int, high: int) -> Image.Image:
    """The light that spills from the sun over everything near it."""
    down = (np.linspace(0, high / SHORT, high // 4)[:, None] - y) ** 2
    across = (np.linspace(0, wide / SHORT, wide // 4)[None, :] - x) ** 2
    glow = 0.34 * np.exp((down + across) / -0.012) + 0.16 * np.exp((down + across) / -0.12)
    return Image.fromarray((255 * glow).astype(np.uint8)).resize((wide, high), Image.Resampling.BILINEAR)


@cache
def _vignette(wide: int, high: int) -> Image.Image:
    x, y = np.linspace(-0.5, 0.5, wide)[None, :], np.linspace(-0.5, 0.5, high)[:, None]
    shade = Image.fromarray((255 - 50 * (x * x + y * y)).astype(np.uint8))
    return Image.merge("RGB", [shade] * 3)


@cache
def _noise(coarse: bool) -> Image.Image:
    """Grain around 128, large enough to cut any picture's share from it."""
    noise = np.random.default_rng(7).normal(128.5, 2.4 if coarse else 1.7, (LONG + 96, LONG + 96))
    return Image.fromarray(noise.astype(np.uint8))


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws a shape given in its own lengths, y upward from its foot, at a place and size on the stage."""

    stage: Stage
    x: float
    y: float
    size: float
    flip: bool = False
    depth: float = 0.0

    def at(self, x: float, y: float, size: float = 1.0) -> Pen:
        """A pen for a part of this shape."""
        left, down = self.spot(x, y)
        return replace(self, x=left, y=down, size=self.size * size)

    def mirror(self) -> Pen:
        """A pen for the other half of a shape that is the same left and right."""
        return replace(self, flip=not self.flip)

    def spot(self, x: float, y: float) -> tuple[float, float]:
        return self.x + (-x if self.flip else x) * self.size, self.y - y * self.size

    def tone(self, colour: Colour) -> Colour:
        return self.stage.light.on(colour, self.depth)

    def poly(self, points: Shape, colour: Colour) -> None:
        self.stage.polygon([self.spot(x, y) for x, y in points_of(points)], self.tone(colour))

    def box(self, left: float, bottom: float, right: float, top: float, colour: Colour) -> None:
        self.poly([(left, bottom), (right, bottom), (right, top), (left, top)], colour)

    def curve(self, points: Shape, colour: Colour) -> None:
        """A closed shape whose outline runs smoothly through the points."""
        self.poly(smooth(points_of(points)), colour)

    def oval(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        cx, cy = self.spot(x, y)
        self.stage.oval(cx, cy, rx * self.size, ry * self.size, self.tone(colour))

    def line(self, points: Shape, width: float, colour: Colour) -> None:
        self.stage.line([self.spot(x, y) for x, y in points_of(points)], width * self.size, self.tone(colour))

    def stroke(self, points: Shape, width: float, colour: Colour, taper: float = 1.0) -> None:
        """A smooth line through the points, round at its ends, `taper` times as wide where it stops."""
        path = smooth(points_of(points), closed=False)
        last = max(len(path) - 1, 1)
        tone = self.tone(colour)
        for i, (x, y) in enumerate(path):
            cx, cy = self.spot(x, y)
            radius = width / 2 * (1 + (taper - 1) * i / last) * self.size
            self.stage.oval(cx, cy, radius, radius, tone)

    def glow(self, x: float, y: float, radius: float, colour: Colour, opacity: float = 0.5) -> None:
        """A soft light, its colour as given."""
        shape = [self.spot(px, py) for px, py in circle(x, y, radius)]
        self.stage.fill([shape], colour, colour, opacity, blur=radius * self.size * 0.6)


def placed(shape: str, x: float, y: float, wide: float, high: float) -> Points:
    """A shape at a place on the stage, `wide` and `high` times as large; its own y goes upward."""
    return [(x + across * wide, y - up * high) for across, up in _parsed(shape)]


def stretched(shape: str, x: float, y: float, wide: float, high: float) -> Points:
    """The same for a pen, whose y goes upward too."""
    return [(x + across * wide, y + up * high) for across, up in _parsed(shape)]


def points_of(shape: Shape) -> Points:
    return _parsed(shape) if isinstance(shape, str) else shape


@lru_cache(maxsize=1024)
def _parsed(shape: str) -> Points:
    pairs = (pair.split(",") for pair in shape.split())
    return [(float(x), float(y)) for x, y in pairs]


def circle(x: float, y: float, radius: float, squash: float = 1.0, steps: int = 24) -> Points:
    turn = np.linspace(0, 2 * np.pi, steps, endpoint=False)
    return list(zip((x + radius * np.cos(turn)).tolist(), (y + radius * squash * np.sin(turn)).tolist(), strict=True))


def smooth(points: Points, closed: bool = True, steps: int = 8) -> Points:
    """A Catmull-Rom curve through the points."""
    p = np.array(points, dtype=float)
    if closed:
        p = np.vstack([p[-1:], p, p[:2]])
    else:
        p = np.vstack([p[:1], p, p[-1:]])
        steps *= 3  # strokes are made of dots, which must overlap
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    a, b, c, d = (p[i : len(p) - 3 + i, None, :] for i in range(4))
    curve = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    flat = curve.reshape(-1, 2)
    if not closed:
        flat = np.vstack([flat, p[-1:]])
    return [(float(x), float(y)) for x, y in flat]


def _ink(colour: Colour) -> tuple[int, int, int, int]:
    opacity = round(255 * colour[3]) if len(colour) > 3 else 255
    return _byte(colour[0]), _byte(colour[1]), _byte(colour[2]), opacity


def _byte(part: float) -> int:
    return 0 if part < 0 else 255 if part > 255 else int(part + 0.5)


def _gradient(top: Colour, bottom: Colour, size: tuple[int, int]) -> Image.Image:
    steps = np.linspace(0, 1, size[1])[:, None, None]
    column = np.array(top[:3]) + (np.array(bottom[:3]) - np.array(top[:3])) * steps
    return Image.fromarray(np.clip(column, 0, 255).astype(np.uint8)).resize(size, Image.Resampling.NEAREST)
