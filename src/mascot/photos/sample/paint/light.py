"""Colour by the height of the sun: what the sky, the haze and the things under it look like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

Colour = tuple[float, ...]  # red, green, blue from 0 to 255, and sometimes an opacity from 0 to 1

GREY: Colour = (178, 188, 196)
PALE: Colour = (226, 230, 228)
NAVY: Colour = (14, 20, 46)


@dataclass(frozen=True, slots=True)
class Light:
    """The light of one picture.

    `dark` is 0 by day and 1 at night, `low` is 1 while the sun stands at the horizon; `shade` is how much of a
    near thing is drowned in `shadow`, and `air` how much of a far one in the `horizon`'s colour.
    """

    altitude: float
    zenith: Colour
    middle: Colour
    horizon: Colour
    sun: Colour
    tint: Colour
    shadow: Colour
    shade: float
    dark: float
    low: float
    air: float

    def on(self, colour: Colour, depth: float = 0.0) -> Colour:
        """A thing's own colour as it looks in this light, from near (depth 0) to the far horizon (1)."""
        lit = (colour[0] * self.tint[0], colour[1] * self.tint[1], colour[2] * self.tint[2], *colour[3:])
        return mix(mix(lit, self.shadow, self.shade), self.horizon, min(depth * self.air, 1.0))


@dataclass(frozen=True, slots=True)
class _Sky:
    zenith: Colour
    middle: Colour
    horizon: Colour


_NIGHT = _Sky((8, 13, 36), (15, 28, 66), (36, 54, 98))
_TWILIGHT = _Sky((13, 22, 58), (30, 48, 100), (82, 86, 138))
_NOON = _Sky((52, 128, 198), (118, 182, 224), (206, 233, 240))
_DAY = _Sky((70, 144, 206), (140, 194, 226), (226, 238, 232))
# Low suns differ more than high ones: each list goes from dusk (-6 degrees) over the horizon (-1, 3) to 11.
_LOWS: dict[str, tuple[_Sky, _Sky, _Sky, _Sky]] = {
    "apricot": (
        _Sky((26, 38, 88), (88, 78, 134), (236, 138, 112)),
        _Sky((62, 76, 130), (222, 118, 104), (255, 178, 102)),
        _Sky((92, 122, 172), (240, 166, 122), (255, 214, 142)),
        _Sky((92, 152, 200), (178, 200, 208), (252, 228, 186)),
    ),
    "rose": (
        _Sky((30, 30, 82), (104, 66, 132), (226, 116, 132)),
        _Sky((66, 56, 118), (196, 90, 130), (254, 152, 126)),
        _Sky((94, 96, 160), (228, 136, 150), (255, 198, 160)),
        _Sky((104, 150, 204), (204, 188, 208), (255, 218, 196)),
    ),
    "amber": (
        _Sky((34, 34, 70), (112, 66, 92), (240, 122, 70)),
        _Sky((88, 62, 92), (224, 98, 62), (255, 164, 66)),
        _Sky((140, 116, 130), (246, 156, 86), (255, 210, 108)),
        _Sky((114, 154, 186), (214, 202, 176), (255, 226, 158)),
    ),
    "violet": (
        _Sky((28, 24, 76), (84, 56, 130), (196, 100, 156)),
        _Sky((58, 48, 122), (154, 84, 156), (250, 140, 140)),
        _Sky((84, 88, 166), (188, 130, 178), (255, 186, 160)),
        _Sky((98, 142, 206), (190, 188, 216), (254, 218, 206)),
    ),
    "teal": (
        _Sky((16, 46, 80), (48, 92, 122), (214, 150, 120)),
        _Sky((34, 88, 122), (128, 150, 148), (255, 190, 122)),
        _Sky((64, 134, 164), (174, 196, 178), (255, 222, 152)),
        _Sky((82, 156, 192), (172, 210, 208), (250, 232, 190)),
    ),
}
_STEPS = (-18.0, -11.0, -6.0, -1.0, 3.0, 11.0, 26.0, 60.0)


def light_at(altitude: float, rng: Random, weather: str, facing: bool = False) -> Light:
    """The light with the sun `altitude` degrees over the horizon; `facing` it, near things stand dark against it."""
    lows = _LOWS[rng.choice(sorted(_LOWS))]
    skies = (_NIGHT, _TWILIGHT, *lows, _DAY, _NOON)
    sky = _between(skies, altitude)
    dark = _ramp(altitude, -1.0, -10.0)
    low = _ramp(altitude, 14.0, 4.0) * _ramp(altitude, -9.0, -3.0)
    warm = mix((255, 255, 255), mix(sky.horizon, (255, 236, 214), 0.35), 0.55 * low)
    tint = tuple(part / 255 * (1 - 0.42 * dark) for part in mix(warm, (150, 172, 236), 0.75 * dark))
    shadow = mix(mix((38, 34, 66), sky.zenith, 0.2), NAVY, dark)
    shade = max(0.54 * dark, 0.16 * low)
    if facing:
        shade = max(shade, 0.80 * low, 0.74 * dark)
    sun = mix((255, 250, 226), mix((255, 226, 150), sky.horizon, 0.25), low)
    light = Light(altitude, sky.zenith, sky.middle, sky.horizon, sun, tint, shadow, shade, dark, low, 0.86)
    return _weathered(light, weather)


def _weathered(light: Light, weather: str) -> Light:
    cover = {"clear": 0.0, "fair": 0.05, "cloudy": 0.6, "rain": 0.8, "mist": 0.5, "snowfall": 0.7}[weather]
    if cover < 0.1:
        return light
    veil = mix(PALE if weather in ("mist", "snowfall") else GREY, mix(light.horizon, light.middle, 0.5), 0.3)
    veil = mix(veil, mix(NAVY, light.horizon, 0.35), light.dark * 0.85)
    if weather == "rain":
        veil = mix(veil, (96, 110, 128), 0.35)
    return replace(
        light,
        zenith=mix(light.zenith, mix(veil, light.zenith, 0.2), cover),
        middle=mix(light.middle, veil, cover),
        horizon=mix(light.horizon, mix(veil, PALE, 0.3 * (1 - light.dark)), cover * 0.85),
        tint=tuple(part * (1 - 0.12 * cover) for part in light.tint),
        air=0.97 if weather == "mist" else 0.9,
    )


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """`one` with `share` of `other` in it; the opacity, where there is one, stays that of `one`."""
    red, green, blue = one[0], one[1], one[2]
    return (
        red + (other[0] - red) * share,
        green + (other[1] - green) * share,
        blue + (other[2] - blue) * share,
        *one[3:],
    )


def faded(colour: Colour, opacity: float) -> Colour:
    """The colour with this opacity."""
    return (*colour[:3], opacity)


def _between(skies: tuple[_Sky, ...], altitude: float) -> _Sky:
    if altitude <= _STEPS[0]:
        return skies[0]
    for i in range(1, len(_STEPS)):
        if altitude <= _STEPS[i]:
            share = (altitude - _STEPS[i - 1]) / (_STEPS[i] - _STEPS[i - 1])
            a, b = skies[i - 1], skies[i]
            return _Sky(
                mix(a.zenith, b.zenith, share), mix(a.middle, b.middle, share), mix(a.horizon, b.horizon, share)
            )
    return skies[-1]


def _ramp(value: float, zero: float, one: float) -> float:
    """0 at `zero`, 1 at `one`, straight between and level beyond."""
    return min(max((value - zero) / (one - zero), 0.0), 1.0)
