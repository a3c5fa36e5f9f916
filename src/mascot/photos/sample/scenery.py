"""One painter per subject, and `paint`, which gives a scene its light and its painter."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from PIL import Image

from mascot.photos.sample.paint import gardens, growth, market, meals, nature, shores, sights, towns
from mascot.photos.sample.paint.animals import ANIMALS, COATS, cat_walking, gull
from mascot.photos.sample.paint.backdrop import LAGOON, LAKE, SEA, SNOW, WHITE, falling, ground, hills, sky, water
from mascot.photos.sample.paint.built import FACADES, houses
from mascot.photos.sample.paint.light import Colour, light_at, mix
from mascot.photos.sample.paint.masonry import lit_box
from mascot.photos.sample.paint.peaks import distant_peaks, mountain, mountains
from mascot.photos.sample.paint.stage import Pen, Scene, Stage, View, placed

_HERDS = {"cat": (1, 1), "dog": (1, 1), "giraffe": (1, 3), "penguin": (2, 5), "sheep": (2, 4)}
_SIZES = {"cat": 0.52, "dog": 0.44, "giraffe": 0.72, "penguin": 0.34, "sheep": 0.26, "swan": 0.26}


def paint(scene: Scene, composition: str, sky_of: str) -> Image.Image:
    """The picture of a scene.

    `composition` seeds what stands where; `sky_of` seeds the colours of the sky, which all pictures of one
    evening share.
    """
    weather = "clear" if scene.subject == "aurora" else scene.weather
    facing = scene.subject in ("sunset", "sunrise")
    altitude = max(scene.altitude, 14.0) if scene.subject == "food" else scene.altitude  # a table has its lamp
    light = light_at(altitude, Random(sky_of), weather, facing)
    stage = Stage(scene, light, Random(composition))
    PAINTERS[scene.subject](stage)
    if scene.subject not in ("food", "cat", "forest"):
        falling(stage, weather)
    return stage.finish(_view(composition, scene.frame))


def _view(composition: str, frame: int) -> View:
    """The frame of the picture; within a burst the hand moves a little."""
    eye, hand = Random(f"{composition}/view"), Random(f"{composition}/{frame}")
    x, y, zoom, mirrored = eye.random(), eye.random(), 1.0 + 0.22 * eye.random() ** 2, eye.random() < 0.5
    shake = 0.0 if frame == 0 else 0.5
    return View(
        x=min(max(x + shake * (hand.random() - 0.5), 0.0), 1.0),
        y=min(max(y + shake * (hand.random() - 0.5), 0.0), 1.0),
        zoom=zoom,
        exposure=1.0 if frame == 0 else 0.97 + 0.06 * hand.random(),
        mirrored=mirrored,
        grain=hand.randrange(96 * 96),
    )


def animal(stage: Stage) -> None:
    """One animal, or a few of them, where they live."""
    rng, kind = stage.rng, stage.scene.subject
    floor = _habitat(stage, kind)
    number = rng.randint(*_HERDS.get(kind, (1, 2)))
    size = _SIZES.get(kind, 0.46)
    order = sorted(rng.random() for _ in range(number))
    start = rng.random()
    for i, near in enumerate(order):
        scale = size * (0.72 + 0.36 * near) if number > 1 else size * (0.80 + 0.4 * rng.random())
        place = 0.5 + 0.3 * (rng.random() - 0.5) if number == 1 else 0.2 + 0.6 * ((start + i / number) % 1.0)
        x = stage.wide * place + stage.drift
        y = floor + (stage.high - floor) * (0.30 + 0.55 * near)
        pen = Pen(stage, x, y, scale, flip=rng.random() < 0.5)
        if kind != "swan":
            stage.oval(x, y, scale * 0.5, scale * 0.045, (*stage.light.shadow, 0.30))
        else:
            stage.oval(x, y, scale * 0.5, scale * 0.07, (*stage.light.shadow, 0.22))
        coat = rng.choice(COATS[kind])
        if kind == "cat" and rng.random() < 0.35:
            cat_walking(pen, coat)
        else:
            ANIMALS[kind](pen, coat)


def _habitat(stage: Stage, kind: str) -> float:
    """The country the animal lives in; gives the y where its ground begins."""
    rng, scene = stage.rng, stage.scene
    horizon = stage.high * (0.48 + 0.08 * rng.random())
    if kind == "cat":
        return _wall(stage)
    sky(stage, horizon, weather=scene.weather)
    if kind == "camel":
        hills(stage, horizon + 0.01, 0.06, (196, 150, 118), 0.8)
        nature.dunes(stage, horizon)
        return stage.high * 0.70
    if kind in ("elephant", "giraffe") and scene.land == "savanna":
        if scene.variant == "kilimanjaro" or rng.random() < 0.4:
            _kilimanjaro(stage, horizon)
        hills(stage, horizon + 0.02, 0.05, (150, 156, 110), 0.6)
        line = ground(stage, horizon + 0.04, (206, 176, 104), slope=0.03)
        for _ in range(rng.randint(2, 4)):
            x = stage.wide * rng.random()
            growth.acacia(Pen(stage, x, line(x) + 0.02 + 0.06 * rng.random(), 0.18 + 0.16 * rng.random(), depth=0.2))
        growth.grass(stage, horizon + 0.08, stage.high, (206, 176, 104), 150)
        return horizon + 0.16
    if kind == "elephant":  # in India, before the fort
        houses(stage, horizon + 0.04, 0.36, "desert", 0.25)
        ground(stage, horizon + 0.03, (222, 186, 140), slope=0.01)
        return horizon + 0.14
    if kind == "penguin":
        if scene.land == "polar":
            distant_peaks(stage, horizon, snowy=True)
            water(stage, horizon, 0.8, (34, 92, 124))
            nature.iceberg(stage, stage.wide * rng.random(), horizon + 0.05, 0.16)
            ground(stage, horizon + 0.16, SNOW, slope=0.05)
        else:
            water(stage, horizon, 0.3, LAGOON)
            shores.rocks(stage, horizon + 0.14, 6)
            shores.shore(stage, horizon + 0.15)
        return horizon + 0.22
    if kind == "swan":
        hills(stage, horizon, 0.20, (110, 134, 132), 0.6)
        water(stage, horizon, 0.9, LAKE)
        return horizon + 0.06
    if kind in ("dog", "horse") and scene.variant == "beach":
        shores.headland(stage, horizon, 0.12)
        water(stage, horizon, 0.3, SEA)
        shores.shore(stage, horizon + 0.16)
        return horizon + 0.24
    return _pasture(stage, horizon)


def _pasture(stage: Stage, horizon: float) -> float:
    rng, scene = stage.rng, stage.scene
    green = growth.meadow(scene.season)
    high = scene.land in ("north", "alpine", "polar") or scene.subject in ("llama", "sheep")
    if high:
        for i in range(4):
            top = (stage.wide * (i + rng.random()) / 4, horizon - stage.high * (0.16 + 0.16 * rng.random()))
            mountain(stage, top, horizon + 0.01, 0.3, (112, 124, 124), 0.5, 0.3 if scene.land != "south" else 0.0)
    hills(stage, horizon + 0.06, 0.12, mix(green, (86, 124, 96), 0.4), 0.35)
    line = ground(stage, horizon + 0.10, green, slope=0.04)
    for _ in range(5):
        x = stage.wide * rng.random()
        pen = Pen(stage, x, line(x) + 0.03, 0.16 + 0.12 * rng.random(), depth=0.12)
        if high:
            growth.pine(pen, snow=scene.season == "winter")
        else:
            growth.broadleaf(pen, growth.leaves(scene.season, rng))
    if scene.season != "winter":
        growth.grass(stage, horizon + 0.12, stage.high, green, 120)
        growth.flowers(stage, horizon + 0.16, stage.high, ((250, 214, 90), WHITE, (226, 120, 140)), 30)
    return horizon + 0.20


def _kilimanjaro(stage: Stage, horizon: float) -> None:
    x = stage.wide * (0.3 + 0.4 * stage.rng.random())
    tone = stage.light.on((104, 116, 140), 0.6)
    cone = placed("-.8,-.02 -.16,.25 .12,.25 .8,-.02", x, horizon, 1.0, 1.0)
    stage.fill([cone], tone, mix(tone, stage.light.horizon, 0.6))
    teeth = [(x - 0.24 + 0.44 * i / 8, horizon - (0.17 if i % 2 else 0.205)) for i in range(9)]
    stage.polygon([(x - 0.16, horizon - 0.25), (x + 0.12, horizon - 0.25), *reversed(teeth)], stage.light.on(SNOW, 0.4))


def _wall(stage: Stage) -> float:
    """A sunny house wall with a window, a pot and a step to sit on."""
    rng, land = stage.rng, stage.scene.land
    sky(stage, stage.high * 0.5, weather=stage.scene.weather)
    stage.sun = None
    look = land if land in FACADES else "south"
    colour: Colour = rng.choice(FACADES[look])
    wall = stage.light.on(colour)
    stage.fill([stage.band(-0.1, stage.high)], mix(wall, WHITE, 0.10), mix(wall, stage.light.shadow, 0.16))
    for _ in range(40):
        x, y = stage.wide * rng.random(), stage.high * 0.72 * rng.random()
        brick = mix(wall, WHITE if rng.random() < 0.4 else stage.light.shadow, 0.16)
        stage.polygon([(x, y), (x + 0.06, y), (x + 0.06, y + 0.022), (x, y + 0.022)], brick)
    shutter = rng.choice(((78, 122, 104), (70, 106, 150), (134, 76, 62), (216, 150, 90)))
    for x in (0.16, 0.84) if rng.random() < 0.5 else (rng.choice((0.2, 0.8)),):
        window = Pen(stage, stage.wide * x, stage.high * 0.46, 0.36)
        window.box(-0.36, -0.04, 0.36, 1.04, mix(colour, WHITE, 0.6))
        lit_box(window, -0.30, 0.0, 0.30, 1.0, (92, 118, 142))
        window.line([(0, 0), (0, 1.0)], 0.04, mix(colour, WHITE, 0.6))
        window.line([(-0.3, 0.5), (0.3, 0.5)], 0.04, mix(colour, WHITE, 0.6))
        for side in (-1, 1):
            window.box(min(side * 0.36, side * 0.62), -0.02, max(side * 0.36, side * 0.62), 1.02, shutter)
            for k in range(8):
                slat = [(side * 0.39, 0.08 + 0.12 * k), (side * 0.59, 0.08 + 0.12 * k)]
                window.line(slat, 0.02, mix(shutter, (30, 30, 50), 0.3))
        window.box(-0.42, -0.10, 0.42, -0.03, mix(colour, WHITE, 0.7))
    floor = stage.high * 0.74
    ground(stage, floor, (208, 188, 160), slope=0.0)
    for _ in range(rng.randint(1, 3)):
        x = stage.wide * rng.choice((0.1, 0.18, 0.84, 0.92))
        pot = Pen(stage, x, floor + 0.06 + 0.06 * rng.random(), 0.22)
        for _ in range(12):
            dx, dy = 0.5 * (rng.random() - 0.5), 0.5 + 0.5 * rng.random()
            pot.oval(dx, dy, 0.12, 0.10, growth.leaves("summer", rng))
        for _ in range(9):
            dx, dy = 0.5 * (rng.random() - 0.5), 0.5 + 0.55 * rng.random()
            pot.oval(dx, dy, 0.05, 0.05, rng.choice(((226, 84, 92), (246, 196, 80), (236, 140, 170))))
        pot.poly("-.2,.45 .2,.45 .14,0 -.14,0", (196, 106, 74))
        pot.box(-0.23, 0.40, 0.23, 0.50, (212, 124, 90))
    return floor


def birds(stage: Stage) -> None:
    """Gulls over the water, near and large."""
    rng = stage.rng
    horizon = stage.high * (0.62 + 0.1 * rng.random())
    sky(stage, horizon, weather=stage.scene.weather)
    if stage.scene.land == "metro" or rng.random() < 0.3:
        look = stage.scene.land if stage.scene.land in FACADES else "north"
        houses(stage, horizon, 0.15, look, 0.5)
    else:
        shores.headland(stage, horizon, 0.12)
    water(stage, horizon, 0.5, SEA)
    for i in range(rng.randint(4, 9)):
        size = 0.10 + 0.22 * rng.random() if i else 0.40
        x, y = stage.wide * (0.1 + 0.8 * rng.random()) + stage.drift, horizon * (0.15 + 0.7 * rng.random())
        tone: Colour = (252, 252, 250) if stage.light.low < 0.6 else (96, 84, 104)
        gull(Pen(stage, x, y, size, flip=rng.random() < 0.5), tone, rng.random() * 1.6 - 0.6)


PAINTERS: dict[str, Callable[[Stage], None]] = {
    "sunset": shores.sunset, "sunrise": shores.sunset, "beach": shores.beach, "sea": shores.sea,
    "mountains": mountains, "snow": nature.snow, "ice": nature.ice, "forest": nature.forest,
    "desert": nature.desert, "waterfall": nature.waterfall, "aurora": nature.aurora, "garden": gardens.garden,
    "skyline": towns.skyline, "night": towns.skyline, "harbour": towns.harbour, "boat": towns.boat,
    "street": towns.street, "bridge": towns.bridge, "market": market.market, "food": meals.food,
    "landmark": sights.landmark, "lighthouse": sights.lighthouse, "balloons": sights.balloons, "birds": birds,
    **dict.fromkeys(ANIMALS, animal),
}  # fmt: skip
