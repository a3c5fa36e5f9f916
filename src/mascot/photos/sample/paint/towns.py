"""Scenes where people live: skylines, harbours, streets and bridges."""

from __future__ import annotations

from mascot.photos.sample.paint import built, growth
from mascot.photos.sample.paint.backdrop import LAGOON, LAKE, RIVER, ROCK, SEA, ground, hills, sky, water
from mascot.photos.sample.paint.figures import HULLS, fishing_boat, flock, parasol, people, sailing_boat, some_boat
from mascot.photos.sample.paint.landmarks import LANDMARKS
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.peaks import mountain
from mascot.photos.sample.paint.shores import headland, karst
from mascot.photos.sample.paint.stage import Pen, Stage, placed


def skyline(stage: Stage) -> None:
    """A city over its river or park; at night, all its windows."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.62 + 0.08 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    old = scene.land not in ("metro", "tropic", "desert") or scene.variant == "old town"
    if scene.land in ("north", "alpine", "south") and rng.random() < 0.6:
        hills(stage, horizon, 0.2, (110, 128, 124), 0.75)
    if old:
        _old_town(stage, horizon)
    else:
        for rank, depth in enumerate((0.6, 0.34, 0.10)):
            built.skyline(stage, horizon, (0.52, 0.44, 0.28)[rank] * stage.high, depth)
            if stage.light.dark > 0.3:
                _shine(stage, horizon, 0.22)
    if scene.variant in LANDMARKS:
        LANDMARKS[scene.variant](
            Pen(stage, stage.wide * (0.3 + 0.4 * rng.random()), horizon, 0.46 * stage.high, depth=0.1)
        )
    if rng.random() < 0.72 or stage.light.dark > 0.5:
        water(stage, horizon, 0.85, RIVER)
        if rng.random() < 0.6:
            some_boat(stage, horizon + 0.12 + 0.1 * rng.random(), 0.16)
    else:
        line = ground(stage, horizon, growth.meadow(scene.season), slope=0.02)
        for _ in range(18):
            x = rng.random() * stage.wide
            growth.broadleaf(
                Pen(stage, x, line(x) + 0.03 + 0.2 * rng.random(), 0.10 + 0.10 * rng.random()),
                growth.leaves(scene.season, rng),
            )
    if stage.light.dark > 0.3:
        _lamps(stage, horizon)


def _old_town(stage: Stage, horizon: float) -> None:
    rng, land = stage.rng, stage.scene.land
    look = land if land in built.FACADES else "south"
    for rank, depth in enumerate((0.55, 0.34, 0.12)):
        foot = horizon - 0.10 + 0.05 * rank
        if stage.light.dark > 0.3:
            _shine(stage, foot, 0.34)
        built.houses(stage, foot, 0.16, look, depth)
        if rank < 2:
            for _ in range(rng.randint(1, 2)):
                _steeple(
                    Pen(stage, stage.wide * (0.1 + 0.8 * rng.random()), foot, 0.34 + 0.14 * rng.random(), depth=depth),
                    look,
                )
    if rng.random() < 0.5:
        LANDMARKS["dome"](Pen(stage, stage.wide * (0.25 + 0.5 * rng.random()), horizon - 0.05, 0.38, depth=0.3))
        built.houses(stage, horizon, 0.14, look, 0.1)


def _shine(stage: Stage, foot: float, strength: float) -> None:
    """The streets of a city shine up between its houses."""
    tone = mix(built.LAMP, (226, 120, 90), 0.4)
    stage.fill([stage.band(foot - 0.10, foot)], tone, tone, strength * stage.light.dark, blur=0.05)


def _steeple(pen: Pen, look: str) -> None:
    wall = built.FACADES[look][0]
    pen.box(-0.09, 0, 0.09, 0.62, wall)
    pen.box(0.03, 0, 0.09, 0.62, mix(wall, (40, 34, 60), 0.3))
    pen.poly("-.11,.62 0,1 .11,.62", (98, 140, 122))
    pen.oval(0, 0.52, 0.04, 0.04, (250, 244, 226))


def _lamps(stage: Stage, y: float) -> None:
    """A string of street lamps along the water."""
    for i in range(13):
        pen = Pen(stage, stage.wide * (i + 0.5) / 13, y, 1.0)
        pen.glow(0, 0.012, 0.03, built.LAMP, 0.5)
        stage.oval(pen.x, y - 0.012, 0.005, 0.005, (255, 240, 200))
        for k in range(5):
            gleam = placed("-8,0 0,3 8,0 0,-3", pen.x, y + 0.03 + 0.03 * k, 0.001, 0.001)
            stage.polygon(gleam, faded(built.LAMP, 0.5 - 0.09 * k))


def harbour(stage: Stage) -> None:
    """Colourful houses on a quay, boats before them."""
    rng, land = stage.rng, stage.scene.land
    quay = stage.high * (0.54 + 0.06 * rng.random())
    sky(stage, quay, weather=stage.scene.weather)
    hills(stage, quay, 0.26, (108, 136, 112) if land != "desert" else (196, 152, 116), 0.6)
    look = land if land in built.FACADES and land != "metro" else "tropic"
    if rng.random() < 0.7:
        built.houses(stage, quay - 0.06, 0.26, look, 0.3)
    built.houses(stage, quay, 0.28 if not stage.scene.portrait else 0.4, look, 0.05)
    tone = stage.light.on((150, 140, 132))
    stage.polygon(stage.band(quay - 0.004, quay + 0.03), tone)
    water(stage, quay + 0.03, 0.85, SEA if land in ("north", "polar") else LAGOON if land == "tropic" else RIVER)
    for i in range(rng.randint(3, 6)):
        near = i / 6
        size = 0.20 + 0.16 * near + 0.04 * rng.random()
        x = stage.wide * ((i * 0.37 + 0.5 * rng.random()) % 1.0) + stage.drift * (i % 2)
        y = quay + 0.10 + (stage.high - quay - 0.14) * near
        pen = Pen(stage, x, y, size, flip=rng.random() < 0.5)
        shade = faded(mix(stage.light.shadow, RIVER, 0.3), 0.4)
        stage.oval(x, y + size * 0.05, size * 0.5, size * 0.06, shade)
        if rng.random() < 0.25:
            sailing_boat(pen, hull=rng.choice(HULLS))
        else:
            fishing_boat(pen, rng.choice(HULLS))
    flock(stage, quay, rng.choice((0, 3, 5)))


def boat(stage: Stage) -> None:
    """One boat, large, on the water it belongs to."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.44 + 0.1 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    if scene.variant == "junk":
        karst(stage, horizon, 5)
    elif scene.variant == "gondola":
        built.houses(stage, horizon, 0.34, "south", 0.2)
    elif scene.variant == "canoe":
        for i in range(4):
            peak = (stage.wide * (i + rng.random()) / 4, horizon - 0.22 - 0.12 * rng.random())
            mountain(stage, peak, horizon + 0.01, 0.3, ROCK, 0.4, 0.3)
    elif scene.land in ("north", "alpine"):
        hills(stage, horizon + 0.004, 0.18, (96, 126, 122), 0.6)
    elif rng.random() < 0.6:
        headland(stage, horizon, 0.12)
    blue = {"tropic": LAGOON, "island": LAGOON, "alpine": LAKE}.get(scene.land, SEA)
    water(stage, horizon, 0.6 if scene.variant != "canoe" else 0.92, blue)
    if rng.random() < 0.6:
        far = scene.variant if scene.variant in ("dhow", "junk", "gondola") else "sail"
        some_boat(stage, horizon + 0.05, 0.10, far)
    y, size = horizon + (stage.high - horizon) * (0.48 + 0.16 * rng.random()), 0.42 + 0.16 * rng.random()
    some_boat(stage, y, size, scene.variant or rng.choice(("fishing", "fishing", "sail")))
    flock(stage, horizon, rng.choice((0, 2, 4)))


def street(stage: Stage) -> None:
    """A lane between old houses that narrows toward the sky."""
    rng, land = stage.rng, stage.scene.land
    look = land if land in built.FACADES else "south"
    far = stage.high * (0.56 + 0.10 * rng.random())
    middle = stage.wide * (0.38 + 0.24 * rng.random())
    sky(stage, far, middle, stage.scene.weather)
    stage.sun = None
    if look in ("island", "alpine", "north") or rng.random() < 0.4:
        hills(stage, far, 0.26, (104, 132, 140), 0.7)
    light = stage.light
    end = rng.random()
    if end < 0.3:
        _steeple(Pen(stage, middle, far, 0.42, depth=0.4), look)
    elif end < 0.55:
        LANDMARKS["dome"](Pen(stage, middle, far, 0.36, depth=0.4))
    paving = light.on((204, 184, 160))
    ground(stage, far - 0.002, (204, 184, 160), slope=0.0)
    last: Colour | None = None
    for i in range(5):  # far houses first; each rank is nearer the viewer and further from the middle
        gap, foot, high = 0.07 + 0.115 * i, far + 0.006 + 0.052 * i, 0.20 + 0.135 * i
        wide = 0.12 + 0.10 * i
        for side in (-1, 1):
            colour = rng.choice([tone for tone in built.FACADES[look] if tone != last])
            last = colour
            shade = colour if side < 0 else mix(colour, (44, 36, 72), 0.20)
            left = middle + gap * side - (wide if side < 0 else 0.0)
            built.house(
                Pen(stage, left, foot, 1.0, depth=0.34 - 0.075 * i),
                wide,
                high * (0.9 + 0.2 * rng.random()),
                shade,
                look,
            )
    lane = placed("-.07,0 .07,0 .62,-1 -.62,-1", middle, far + 0.004, 1.0, stage.high - far + 0.1)
    stage.fill([lane], mix(paving, light.horizon, 0.25), mix(paving, light.shadow, 0.18))
    for i in range(1, 13):
        t = (i / 12) ** 1.7
        y = far + (stage.high - far) * t
        half = 0.07 + 0.55 * t
        for k in range(9):
            x = middle - half + 2 * half * (k + 0.5 * (i % 2)) / 9
            stage.line([(x, y), (x + half * 0.12, y)], 0.0016 + 0.002 * t, faded(mix(paving, light.shadow, 0.6), 0.45))
    feature = rng.random()
    if feature < 0.3:
        built.bunting(stage, middle, far - 0.26)
    elif feature < 0.7:  # a café on one side
        side = rng.choice((-1, 1))
        tone: Colour = rng.choice(((224, 86, 74), (62, 138, 128), (244, 190, 84)))
        for i in range(2):
            parasol(Pen(stage, middle + side * (0.36 + 0.14 * i), far + 0.16 + 0.08 * i, 0.22 + 0.05 * i), tone)
    else:
        for side in (-1, 1):
            tree = Pen(stage, middle + side * 0.34, far + 0.16, 0.34)
            if look in ("tropic", "desert"):
                growth.palm(tree, 0.06)
            else:
                growth.broadleaf(tree, growth.leaves(stage.scene.season, rng))
    people(stage, far + 0.07 + 0.1 * rng.random(), rng.randint(0, 3))
    if light.dark > 0.2:
        for side in (-1, 1):
            lamp = Pen(stage, middle + side * 0.36, far + 0.20, 1.0)
            lamp.line([(0, 0), (0, 0.30)], 0.010, (52, 50, 62))
            lamp.glow(0, 0.31, 0.07, built.LAMP, 0.7)
            stage.oval(lamp.x, lamp.y - 0.31, 0.018, 0.022, (255, 238, 190))


def bridge(stage: Stage) -> None:
    rng, scene = stage.rng, stage.scene
    variant = scene.variant or rng.choice(("stone", "stone", "suspension"))
    horizon = stage.high * (0.60 + 0.06 * rng.random())
    sky(stage, horizon, weather=scene.weather)
    if scene.land in ("metro", "tropic"):
        built.skyline(stage, horizon, 0.26, 0.6)
    elif scene.land in ("south", "north", "east", "alpine"):
        hills(stage, horizon, 0.16, (112, 134, 118), 0.6)
        built.houses(stage, horizon, 0.15, scene.land, 0.4)
    if variant in ("red", "suspension", "grey"):
        hills(stage, horizon + 0.004, 0.10, (110, 124, 110), 0.55)
        deck = horizon - 0.10 - 0.03 * rng.random()
        first = stage.wide * (0.14 + 0.12 * rng.random())
        colour: Colour = (204, 76, 54) if variant == "red" else (150, 146, 150)
        built.suspension_bridge(stage, deck, colour, 0.1, (first, first + stage.wide * 0.56), 0.34)
    elif variant == "bow":
        built.arch_bridge(stage, horizon - 0.12, (104, 114, 130), 0.15, 0.26)
    else:
        built.stone_bridge(stage, horizon, 0.15 + 0.05 * rng.random(), (206, 184, 154), 0.08, rng.randint(3, 5))
        for i in range(7):
            x = stage.wide * (i + 0.5) / 7
            lamp = Pen(stage, x, horizon - 0.18, 1.0)
            lamp.line([(0, 0), (0, 0.07)], 0.006, (60, 58, 70))
            lit = stage.light.dark > 0.2
            stage.oval(x, lamp.y - 0.075, 0.009, 0.011, built.LAMP if lit else lamp.tone((240, 234, 214)))
            if lit:
                lamp.glow(0, 0.075, 0.04, built.LAMP, 0.6)
    water(stage, horizon, 0.8, RIVER)
    if rng.random() < 0.7:
        some_boat(stage, horizon + 0.14 + 0.08 * rng.random(), 0.2)
    flock(stage, horizon, rng.choice((0, 0, 4)))
