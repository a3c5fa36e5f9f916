"""Markets: stalls in a row, crates of fruit, heaps of spices."""

from __future__ import annotations

from dataclasses import replace

from mascot.photos.sample.paint import built
from mascot.photos.sample.paint.backdrop import WHITE, ground, sky
from mascot.photos.sample.paint.figures import people, person
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import Pen, Stage, circle, placed, smooth

_SPICES: tuple[Colour, ...] = (
    (222, 84, 44), (238, 176, 58), (170, 62, 46), (150, 160, 80), (120, 76, 52),
    (246, 214, 120), (196, 110, 60), (226, 200, 170), (110, 130, 66), (140, 60, 90),
)  # fmt: skip

_FACES: tuple[Colour, ...] = ((226, 182, 148), (190, 138, 104), (140, 96, 72), (110, 74, 58))


def market(stage: Stage) -> None:
    """A row of stalls, one stall from near, or heaps of spices."""
    kind = stage.rng.random()
    if kind < 0.42:
        _stalls(stage)
    elif kind < 0.74:
        _counter(stage)
    else:
        _spices(stage)


def _counter(stage: Stage) -> None:
    """Crates of fruit right before us, the seller behind them."""
    lamps = stage.light.dark > 0.1
    _lamplit(stage)
    rng, light = stage.rng, stage.light
    w, h = stage.wide, stage.high
    dark = light.on((92, 76, 84))
    stage.fill([stage.band(-0.1, h + 0.1)], mix(dark, light.shadow, 0.3), dark)
    for x in (w * 0.3, w * 0.72)[: rng.randint(1, 2)]:
        seller = Pen(stage, x + 0.1 * rng.random(), h * 0.70, 0.46)
        person(seller, rng.choice(built.FLAGS), (70, 70, 92), head=rng.choice(_FACES))
        seller.oval(0.0, 0.945, 0.14, 0.018, (236, 214, 166))  # a straw hat
        seller.curve("-.075,.945 -.06,1.02 .06,1.02 .075,.945", (226, 200, 146))
    rows, columns = (3, 4) if not stage.scene.portrait else (4, 3)
    top = h * 0.44
    tones = [tone for tone in (*built.FLAGS, (196, 52, 60), (250, 186, 120), (96, 140, 70)) for _ in range(2)]
    rng.shuffle(tones)
    for row in range(rows):
        y = top + (h - top) * row / rows + 0.03
        for column in range(columns):
            wide = w * (1.04 + 0.08 * row) / columns
            left = w / 2 + (column - columns / 2) * wide
            _crate(stage, left, y, wide, (h - top) / rows, tones[(row * columns + column) % len(tones)], 1 + 0.25 * row)
    tone = rng.choice(((214, 84, 70), (62, 134, 140), (240, 184, 80), (104, 146, 96)))
    built.awning(Pen(stage, -0.06, h * 0.16, 1.0), w + 0.12, h * 0.2, tone, 11)
    if lamps:
        for x in (0.2, 0.5, 0.8):
            bulb = Pen(stage, w * x, h * 0.24, 1.0)
            bulb.glow(0, 0, 0.10, built.LAMP, 0.7)
            stage.oval(bulb.x, bulb.y, 0.016, 0.020, (255, 240, 200))


def _lamplit(stage: Stage) -> None:
    """Under a roof there are lamps, whatever the sky does."""
    if stage.light.dark > 0 or stage.light.shade > 0.1:
        stage.light = replace(stage.light, tint=(1.0, 0.93, 0.82), shade=0.10)


def _crate(stage: Stage, left: float, y: float, wide: float, high: float, tone: Colour, near: float) -> None:
    rng, light = stage.rng, stage.light
    size = 0.030 * near
    floor = y + high
    stage.polygon(placed(".02,0 .98,0 .99,-1 .01,-1", left, y, wide, high), light.on(mix(tone, (40, 24, 30), 0.55)))
    rows = int(high * 0.72 / (size * 1.2)) + 1
    for r in range(rows):
        count = max(int(wide / (size * 1.9)), 2)
        for k in range(count):
            x = left + 0.012 + (wide - 0.024) * (k + 0.5 + 0.3 * ((r % 2) - 0.5)) / count
            fruit = mix(tone, (60, 26, 34), 0.16 * rng.random())
            py = y + size * 0.4 + r * size * 1.2
            stage.oval(x, py, size, size, light.on(fruit))
            stage.oval(x - size * 0.3, py - size * 0.3, size * 0.32, size * 0.26, light.on(mix(fruit, WHITE, 0.4)))
    stage.polygon(placed(".01,0 .99,0 .99,.22 .01,.22", left, floor, wide, high), light.on((188, 142, 98)))
    stage.line(placed(".01,.1 .99,.1", left, floor, wide, high), 0.004, light.on((140, 100, 70)))
    if rng.random() < 0.5:
        x = left + wide / 2
        label = placed("-.036,.16 .036,.16 .036,.36 -.036,.36", x, floor, 1.0, high)
        stage.polygon(label, light.on((250, 246, 232)))
        stage.line([(x - 0.02, floor - high * 0.26), (x + 0.02, floor - high * 0.26)], 0.006, light.on((70, 70, 90)))


def _spices(stage: Stage) -> None:
    """Pointed heaps in round baskets, row behind row."""
    _lamplit(stage)
    rng, light = stage.rng, stage.light
    w, h = stage.wide, stage.high
    wall = rng.choice(((196, 140, 104), (150, 104, 92), (98, 124, 128), (214, 178, 130)))
    back = light.on(wall)
    stage.fill([stage.band(-0.1, h + 0.1)], back, mix(back, light.shadow, 0.45))
    for i in range(rng.randint(4, 7)):  # cloths and lamps on the wall
        x = w * (i + 0.5) / 6
        tone = light.on(rng.choice(built.FLAGS))
        if rng.random() < 0.5:
            cloth = placed("-.06,.3 .06,.3 .055,-.3 0,-.33 -.055,-.3", x, 0.0, 1.0, h)
            stage.fill([cloth], tone, mix(tone, light.shadow, 0.3))
        else:
            lamp = Pen(stage, x, h * 0.2, 1.0)
            lamp.line([(0, 0.3), (0, 0.05)], 0.004, (70, 56, 54))
            lamp.glow(0, 0, 0.07, built.LAMP, 0.55)
            stage.polygon(circle(x, lamp.y, 0.034, 1.3), mix(tone, built.LAMP, 0.5))
    spices = rng.sample(_SPICES, len(_SPICES))
    rows = 3 if not stage.scene.portrait else 4
    for row in range(rows):
        number = 6 - row if not stage.scene.portrait else 4 - row // 2
        size = w / number * 0.47
        y = h * (0.50 + 0.5 * (row + 0.35) / rows)
        for i in range(number):
            x = w * (i + 0.5) / number
            tone = light.on(spices[(row * 3 + i) % len(spices)])
            stage.oval(x + 0.008, y + 0.014, size, size * 0.42, faded(light.shadow, 0.4))
            basket = light.on((176, 128, 84))
            stage.polygon(placed("-1,0 1,0 .8,-.6 -.8,-.6", x, y, size, size), basket)
            for weave in ("-.95,-.14 .95,-.14", "-.89,-.29 .89,-.29", "-.83,-.44 .83,-.44"):
                stage.line(placed(weave, x, y, size, size), 0.005, mix(basket, light.shadow, 0.35))
            stage.oval(x, y, size, size * 0.36, mix(basket, WHITE, 0.15))
            stage.oval(x, y, size * 0.9, size * 0.30, mix(tone, light.shadow, 0.2))
            heap = smooth(placed("-.86,0 -.4,.42 0,.78 .4,.42 .86,0 0,-.24", x, y, size, size))
            stage.fill([heap], mix(tone, WHITE, 0.16), tone)
            side = placed("0,.76 .42,.4 .84,0 .2,-.2", x, y, size, size)
            stage.polygon(side, faded(mix(tone, light.shadow, 0.5), 0.35))


def _stalls(stage: Stage) -> None:
    """Stalls under striped awnings; lanterns after dark."""
    rng, light = stage.rng, stage.light
    floor = stage.high * 0.70
    sky(stage, floor * 0.7, weather=stage.scene.weather)
    stage.sun = None
    look = stage.scene.land if stage.scene.land in built.FACADES else "south"
    built.houses(stage, floor - 0.06, 0.58 * stage.high, look, 0.3)
    ground(stage, floor - 0.06, (206, 184, 156), slope=0.01)
    built.bunting(stage, stage.wide * 0.35, floor - 0.50)
    built.bunting(stage, stage.wide * 0.75, floor - 0.46)
    tones: list[Colour] = [(214, 84, 70), (62, 134, 140), (240, 184, 80), (104, 146, 96), (110, 92, 146)]
    rng.shuffle(tones)
    number = 3 if not stage.scene.portrait else 2
    for i in range(number):
        wide = stage.wide / number * 0.88
        left = stage.wide * i / number + 0.02
        _stall(Pen(stage, left, floor + 0.10 + 0.04 * (i % 2), 1.0), wide, tones[i])
    people(stage, stage.high * 0.97, rng.randint(2, 4))
    if light.dark > 0.15 or look in ("east", "desert"):
        for _ in range(9):
            x, y = rng.random() * stage.wide, floor * (0.30 + 0.28 * rng.random())
            pen = Pen(stage, x, y, 0.05)
            tone = rng.choice(((226, 84, 66), (244, 176, 84)))
            if light.dark > 0.15:
                pen.glow(0, 0, 1.4, built.LAMP, 0.5)
            shine = mix(tone, built.LAMP, 0.5 * light.dark)
            stage.oval(x, y, 0.026, 0.032, mix(light.on(tone), shine, 0.3 + 0.7 * light.dark))
            stage.line([(x, y - 0.032), (x, y - 0.06)], 0.003, light.on((60, 50, 56)))


def _stall(pen: Pen, wide: float, colour: Colour) -> None:
    rng = pen.stage.rng
    for x in (0.01, wide - 0.01):
        pen.line([(x, -0.02), (x, 0.40)], 0.012, (120, 88, 68))
    pen.box(0.01, 0.14, wide - 0.01, 0.34, mix(colour, (70, 50, 66), 0.62))
    pen.box(0, -0.02, wide, 0.12, (166, 120, 84))
    for y in (0.02, 0.065):
        pen.line([(0, y), (wide, y)], 0.005, (118, 82, 60))
    crates = 4
    for i in range(crates):
        left = wide * i / crates
        tone = rng.choice(built.FLAGS)
        for row in range(3):
            for k in range(6 - row):
                x = left + wide / crates * (k + 0.7 + 0.5 * row) / 6.6
                shade = mix(tone, (60, 30, 40) if rng.random() < 0.4 else (255, 255, 255), 0.18)
                pen.oval(x, 0.135 + 0.026 * row, 0.018, 0.018, shade)
        pen.box(left + 0.005, 0.09, left + wide / crates - 0.005, 0.125, (196, 150, 104))
    built.awning(pen.at(-0.01, 0.38), wide + 0.02, 0.13, colour, 9)
