"""Mountains: one of any kind, the ones known by their shape, and the scenes they stand in."""

from __future__ import annotations

from collections.abc import Callable

from mascot.photos.sample.paint import growth
from mascot.photos.sample.paint.backdrop import LAKE, ROCK, SNOW, WHITE, ground, hills, mist, sky, water
from mascot.photos.sample.paint.figures import some_boat
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import Pen, Points, Stage, circle, placed, smooth


def mountains(stage: Stage) -> None:
    """A range above a lake or a meadow; some mountains are known by their shape."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.60 + 0.06 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    cold = scene.season == "winter" or scene.land in ("alpine", "polar")
    if scene.variant == "table":
        _table_mountain(stage, horizon)
    elif scene.variant == "sugarloaf":
        _sugarloaf(stage, horizon)
    elif scene.variant in ("fuji", "matterhorn", "kilimanjaro"):
        lone_peak(stage, horizon)
    else:
        snow = 0.42 if scene.season == "winter" else 0.28 if cold else 0.12 * rng.random()
        colour = {"tropic": (92, 124, 104), "desert": (178, 126, 98), "south": (136, 124, 112)}.get(scene.land, ROCK)
        for rank, (depth, tall) in enumerate(((0.72, 0.34), (0.42, 0.42), (0.18, 0.30))):
            for i in range(4 - rank):
                x = stage.wide * (i + 0.15 + 0.7 * rng.random()) / (4 - rank)
                top = horizon - stage.high * tall * (0.7 + 0.4 * rng.random())
                mountain(stage, (x, top), horizon + 0.02, 0.30 + 0.12 * rng.random(), colour, depth, snow)
            mist(stage, horizon - 0.01, 0.05, 0.35)
    lake = scene.variant in ("lake", "fuji", "sugarloaf") or (not scene.variant and rng.random() < 0.45)
    _foothills(stage, horizon, lake)


def _foothills(stage: Stage, horizon: float, lake: bool) -> None:
    rng, scene = stage.rng, stage.scene
    green = growth.meadow(scene.season if scene.land != "savanna" else "autumn")
    if lake:
        line = hills(stage, horizon + 0.03, 0.05, mix(green, (44, 84, 72), 0.5), 0.12)
        for _ in range(26):
            x = rng.random() * stage.wide
            growth.pine(
                Pen(stage, x, line(x) + 0.02, 0.05 + 0.05 * rng.random(), depth=0.1), snow=scene.season == "winter"
            )
        water(stage, horizon + 0.035, 0.92, LAKE)
        if rng.random() < 0.6:
            some_boat(stage, horizon + 0.18 + 0.1 * rng.random(), 0.18, rng.choice(("canoe", "sail")))
    else:
        hills(stage, horizon + 0.08, 0.09, mix(green, (70, 110, 84), 0.45), 0.14)
        line = ground(stage, horizon + 0.12, green, slope=0.05)
        if scene.season in ("spring", "summer") and scene.land != "savanna":
            growth.grass(stage, horizon + 0.12, stage.high, green)
            growth.flowers(
                stage, horizon + 0.16, stage.high, ((250, 214, 90), (240, 130, 140), WHITE, (170, 120, 190)), 46
            )
    if scene.land in ("tropic", "desert", "savanna", "south"):
        return
    for side in (0.0, 1.0):
        for i in range(rng.randint(1, 4)):
            x = stage.wide * side + (1 - 2 * side) * 0.10 * i + 0.04 * rng.random()
            growth.pine(
                Pen(stage, x, stage.high * (0.94 + 0.05 * rng.random()), 0.36 + 0.26 * rng.random()),
                snow=scene.season == "winter",
            )


def _table_mountain(stage: Stage, foot: float) -> None:
    wide, top = stage.wide, foot - 0.36
    colour = stage.light.on((120, 124, 120), 0.3)
    rim = placed(".06,-.36 .16,-.12 .22,0 .72,.012 .78,-.1 .86,-.07 .9,-.16 1,-.36", 0.0, top, wide, 1.0)
    stage.fill([rim], colour, mix(colour, stage.light.on((90, 128, 92), 0.2), 0.8))
    for i in range(14):
        x = wide * (0.22 + 0.5 * i / 13)
        gully = [(x, top + 0.01), (x + 0.02, top + 0.01), (x + 0.03, top + 0.13 + 0.05 * stage.rng.random())]
        stage.polygon(gully, faded(stage.light.on((66, 66, 84), 0.3), 0.5))
    puff = [circle(wide * (0.24 + 0.05 * i), top - 0.004, 0.035 + 0.015 * stage.rng.random(), 0.5) for i in range(10)]
    stage.fill(puff, mix(WHITE, stage.light.horizon, 0.2), mix(WHITE, stage.light.middle, 0.3), 0.85, blur=0.006)
    for side in (-0.02, 0.92):
        mountain(stage, (wide * (side + 0.05), foot - 0.22), foot, 0.22, (128, 122, 112), 0.3)


def _sugarloaf(stage: Stage, foot: float) -> None:
    hills(stage, foot, 0.10, (86, 120, 110), 0.7)
    for x, high, half in ((0.30, 0.20, 0.26), (0.58, 0.40, 0.20)):
        base = stage.wide * x
        rim = smooth(placed("-1,-.08 -.62,.55 -.2,1 .25,.94 .62,.5 1.1,-.08", base, foot, half, high))
        tone = stage.light.on((112, 108, 104), 0.22)
        stage.fill([rim], tone, stage.light.on((70, 112, 84), 0.12))
    stage.line(
        [(stage.wide * 0.30, foot - 0.20), (stage.wide * 0.57, foot - 0.385)], 0.003, stage.light.on((50, 46, 56), 0.2)
    )


def lone_peak(stage: Stage, foot: float) -> None:
    rng, variant = stage.rng, stage.scene.variant
    x = stage.wide * (0.42 + 0.2 * rng.random())
    light = stage.light
    if variant == "matterhorn":
        for i in range(5):
            at = stage.wide * (i + rng.random()) / 5
            mountain(stage, (at, foot - 0.20 - 0.1 * rng.random()), foot, 0.3, ROCK, 0.6, 0.5)
        top = foot - stage.high * 0.50
        left = [(x, top), (x - 0.05, top + 0.10), (x - 0.10, top + 0.17), (x - 0.13, top + 0.30), (x - 0.34, foot)]
        right = [(x + 0.05, top + 0.05), (x + 0.09, top + 0.16), (x + 0.18, top + 0.26), (x + 0.40, foot)]
        edge = [(x - 0.01, top + 0.12), (x + 0.03, top + 0.2), (x + 0.0, top + 0.3), (x + 0.06, foot)]
        stage.polygon([*left, *reversed(edge)], light.on((206, 212, 224), 0.1))
        stage.polygon([(x, top), *right, *reversed(edge)], light.on((92, 98, 124), 0.12))
        for dx, dy in ((-0.04, 0.16), (-0.10, 0.28), (-0.16, 0.36), (-0.06, 0.30)):
            stage.polygon(placed("0,0 .05,-.05 .01,-.11", x + dx, top + dy, 1.0, 1.0), light.on((158, 166, 188), 0.1))
        for dx, dy in ((0.05, 0.12), (0.10, 0.24), (0.06, 0.3), (0.2, 0.34)):
            stage.polygon(placed("0,0 .03,-.03 -.01,-.08", x + dx, top + dy, 1.0, 1.0), light.on(SNOW, 0.1))
        mist(stage, foot - 0.02, 0.05, 0.4)
        return
    high, half = (0.40, 0.72) if variant == "fuji" else (0.24, 0.80)
    flat = 0.05 if variant == "fuji" else 0.14
    rim = placed(f"-1,-.05 -.45,.42 {-flat / half},1 {flat / half},.98 .45,.42 1,-.05", x, foot, half, high)
    tone = light.on((94, 110, 146), 0.42 + 0.3 * light.shade)
    stage.fill([rim], tone, mix(tone, light.horizon, 0.5))
    cut = high * (0.30 if variant == "fuji" else 0.24)
    reach = flat + 0.115
    teeth = [(x - reach + 2 * reach * i / 9, foot - high + cut * (1.15 if i % 2 else 0.74)) for i in range(10)]
    snow = mix(light.on(SNOW, 0.28), light.horizon, 0.6 * light.shade)
    stage.polygon([(x - flat, foot - high), (x + flat, foot - high * 0.98), *reversed(teeth)], snow)
    mist(stage, foot, 0.06, 0.5)


def distant_peaks(stage: Stage, horizon: float, snowy: bool) -> None:
    rng = stage.rng
    for i in range(6):
        x = stage.wide * (i + rng.random()) / 6
        mountain(
            stage,
            (x, horizon - stage.high * (0.08 + 0.14 * rng.random())),
            horizon + 0.004,
            0.26,
            (106, 118, 142),
            0.5,
            0.75 if snowy else 0.0,
        )


def mountain(
    stage: Stage, peak: tuple[float, float], foot: float, spread: float, colour: Colour, depth: float, snow: float = 0.0
) -> None:
    """One mountain of two sides, lit and shaded, with `snow` down from the peak (a share of its height)."""
    light, rng = stage.light, stage.rng
    x, y = peak
    high = foot - y
    from_left = stage.sun is None or stage.sun[0] < x
    lit, dull = light.on(colour, depth), light.on(mix(colour, (40, 44, 78), 0.42), depth)
    sides = (lit, dull) if from_left else (dull, lit)
    reach = (spread * (0.85 + 0.3 * rng.random()), spread * (0.85 + 0.3 * rng.random()))
    edges = [_crag(rng.random, (x, y), (x + way * far, foot)) for way, far in ((-1, reach[0]), (1, reach[1]))]
    crest = _crest(stage, (x, y), foot, spread)
    sink = mix(lit, light.horizon, 0.35)
    stage.fill([[*edges[0], *reversed(crest)]], sides[0], mix(sides[0], sink, 0.6))
    stage.fill([[*edges[1], *reversed(crest)]], sides[1], mix(sides[1], sink, 0.6))
    if snow <= 0:
        return
    bright, blue = light.on(SNOW, depth * 0.7), light.on((172, 192, 222), depth * 0.7)
    caps = (bright, blue) if from_left else (blue, bright)
    for edge, cap in zip(edges, caps, strict=True):
        upper = [p for p in edge if p[1] < y + high * snow]
        inner = [p for p in crest if p[1] < y + high * snow * 1.05]
        if len(upper) < 2 or len(inner) < 2:
            continue
        teeth = _teeth(rng.random, upper[-1], inner[-1], high * snow)
        stage.polygon([*upper, *teeth, *reversed(inner)], cap)


def _crag(
    random: Callable[[], float], top: tuple[float, float], foot: tuple[float, float]
) -> list[tuple[float, float]]:
    """From a peak down to its foot, not quite straight."""
    points = [top]
    for i in range(1, 14):
        share = i / 14
        bend = share**1.15
        width = (foot[0] - top[0]) * bend + (random() - 0.5) * 0.035 * abs(foot[0] - top[0])
        points.append((top[0] + width, top[1] + (foot[1] - top[1]) * share))
    return [*points, foot]


def _crest(stage: Stage, top: tuple[float, float], foot: float, spread: float) -> list[tuple[float, float]]:
    """The edge between the two sides: a zigzag from the peak to the foot."""
    rng = stage.rng
    lean = (rng.random() - 0.35) * 0.5 * spread
    points = [top]
    for i in range(1, 8):
        share = i / 8
        zig = (0.06 if i % 2 else -0.06) * spread * (0.5 + rng.random()) * (0.4 + share)
        points.append((top[0] + lean * share + zig, top[1] + (foot - top[1]) * share))
    return [*points, (top[0] + lean, foot)]


def _teeth(random: Callable[[], float], start: tuple[float, float], stop: tuple[float, float], high: float) -> Points:
    """The jagged lower rim of a snow field."""
    points = []
    for i in range(1, 6):
        share = i / 6
        drop = high * (0.30 if i % 2 else -0.12) * (0.5 + 0.8 * random())
        points.append((start[0] + (stop[0] - start[0]) * share, start[1] + (stop[1] - start[1]) * share + drop))
    return points
