"""Meals: a table seen from above."""

from __future__ import annotations

import math

from mascot.photos.sample.paint.backdrop import WHITE
from mascot.photos.sample.paint.light import Colour, faded, mix
from mascot.photos.sample.paint.stage import Stage, circle, placed, smooth


def food(stage: Stage) -> None:
    """A table seen from above."""
    rng, light = stage.rng, stage.light
    wood = rng.choice(((186, 136, 96), (224, 206, 182), (96, 126, 132), (160, 104, 78), (236, 226, 208)))
    tone = light.on(wood)
    w, h = stage.wide, stage.high
    stage.fill([stage.band(-0.1, h + 0.1)], mix(tone, WHITE, 0.08), mix(tone, light.shadow, 0.14))
    for i in range(8):
        y = h * i / 8 + 0.02 * rng.random()
        stage.line([(-0.1, y), (w + 0.1, y)], 0.004, mix(tone, light.shadow, 0.28))
        for _ in range(3):
            x = rng.random() * w
            stage.line([(x, y + 0.05), (x + 0.2, y + 0.052)], 0.002, mix(tone, light.shadow, 0.18))
    usual = {
        "east": ("noodles", "sushi", "tea"), "south": ("pizza", "fish", "coffee"), "island": ("fish", "salad"),
        "north": ("fish", "coffee", "cake"), "alpine": ("cake", "coffee", "pizza"), "desert": ("tea", "salad", "stew"),
        "tropic": ("stew", "salad", "fish"), "metro": ("pizza", "coffee", "cake"), "savanna": ("stew", "tea"),
    }  # fmt: skip
    dish = stage.scene.variant or rng.choice(usual.get(stage.scene.land, ("stew", "coffee")))
    side = rng.random()
    if side < 0.45:
        x, y = w * (0.40 + 0.2 * rng.random()), h * (0.44 + 0.12 * rng.random())
        _place(stage, x, y, dish)
        corner = (w * rng.choice((0.12, 0.88)), h * rng.choice((0.16, 0.84)))
        _dish(stage, *corner, "cake" if dish in ("coffee", "tea") else rng.choice(("coffee", "tea")), 0.15)
    elif side < 0.72:  # two plates
        tilt = 0.12 * (rng.random() - 0.5)
        for way in (-1, 1):
            if stage.scene.portrait:
                _dish(stage, w * (0.5 + tilt * way * 2), h * (0.5 + 0.24 * way), dish, 0.30)
            else:
                _dish(stage, w * (0.5 + 0.23 * way), h * (0.5 + tilt * way), dish, 0.29)
    else:  # many small bowls
        others = ["salad", "stew", "cake", "tea", "coffee", "salad", "stew", dish]
        rng.shuffle(others)
        turn = rng.random() * 6.28
        for i in range(6):
            angle = turn + i * math.pi / 3
            x, y = w * (0.5 + 0.31 * math.cos(angle)), h * (0.5 + 0.37 * math.sin(angle))
            _dish(stage, x, y, others[i], 0.155)
        _dish(stage, w * 0.5, h * 0.5, dish, 0.21)
    for _ in range(7):
        px, py = rng.random() * w, rng.random() * h
        leaf = smooth([(px - 0.03, py), (px, py - 0.014), (px + 0.035, py + 0.004), (px, py + 0.014)])
        stage.polygon(leaf, light.on((96, 144, 84)))


def _place(stage: Stage, x: float, y: float, dish: str) -> None:
    """A plate on its cloth, with something to eat it with."""
    rng = stage.rng
    _cloth(stage, x, y, rng.choice(((214, 96, 80), (76, 130, 142), (236, 190, 96), (122, 146, 104), (240, 232, 214))))
    _dish(stage, x, y, dish, 0.28 + 0.04 * rng.random())
    metal = stage.light.on((206, 206, 210) if dish not in ("noodles", "sushi") else (120, 70, 56))
    for dx in (0.0, 0.045):
        stage.line([(x + 0.37 + dx, y - 0.2), (x + 0.37 + dx, y + 0.22)], 0.013, metal)


def _cloth(stage: Stage, x: float, y: float, colour: Colour) -> None:
    tone = stage.light.on(colour)
    corners = [(x - 0.46, y - 0.36), (x + 0.44, y - 0.38), (x + 0.47, y + 0.36), (x - 0.44, y + 0.38)]
    stage.polygon([(px + 0.01, py + 0.014) for px, py in corners], faded(stage.light.shadow, 0.25))
    stage.polygon(corners, tone)
    for i in range(1, 9):
        t = i / 9
        stripe = [(x - 0.455 + 0.9 * t, y - 0.37), (x - 0.445 + 0.91 * t, y + 0.37)]
        stage.line(stripe, 0.016, faded(mix(tone, WHITE, 0.55), 0.5))


def _dish(stage: Stage, x: float, y: float, dish: str, size: float) -> None:
    rng, light = stage.rng, stage.light
    stage.fill([circle(x + 0.012, y + 0.018, size * 1.02)], light.shadow, light.shadow, 0.35, blur=0.012)

    def disc(radius: float, colour: Colour, dx: float = 0.0, dy: float = 0.0, squash: float = 1.0) -> None:
        stage.polygon(circle(x + dx * size, y + dy * size, radius * size, squash, 48), light.on(colour))

    def scatter(number: int, reach: float, radius: float, *colours: Colour) -> None:
        for _ in range(number):
            turn, far = rng.random() * 6.28, reach * rng.random() ** 0.5
            disc(radius * (0.7 + 0.6 * rng.random()), rng.choice(colours), far * math.cos(turn), far * math.sin(turn))

    plate: Colour = rng.choice(((250, 248, 242), (232, 240, 242), (96, 130, 150), (244, 232, 212)))
    if dish in ("coffee", "tea"):
        disc(1.0, (248, 246, 240))
        disc(0.62, (226, 222, 214))
        handle = (x + 0.45 * size, y - 0.22 * size, x + 0.92 * size, y + 0.22 * size)
        stage.arc(handle, (-110, 110), 0.06 * size, light.on((248, 246, 240)))
        disc(0.56, (248, 246, 240))
        disc(0.48, (122, 76, 50) if dish == "coffee" else (206, 142, 70))
        if dish == "coffee":
            for r, dy in ((0.24, 0.0), (0.15, 0.10), (0.08, 0.2)):
                disc(r, (238, 216, 184), -0.07 * (r > 0.1), dy)
                disc(r * 0.5, (176, 124, 88), 0.0, dy)
        else:
            scatter(5, 0.3, 0.09, (96, 150, 84), (126, 172, 92))
        return
    disc(1.0, plate)
    disc(0.86, mix(plate, (120, 110, 120), 0.14))
    if dish == "pizza":
        disc(0.92, (218, 160, 92))
        disc(0.80, (206, 74, 50))
        scatter(46, 0.72, 0.13, (250, 232, 178), (246, 214, 142))
        scatter(10, 0.64, 0.11, (188, 52, 44))
        scatter(12, 0.66, 0.06, (92, 146, 76), (58, 108, 66))
        for i in range(4):
            dx, dy = 0.9 * size * math.cos(i * math.pi / 4 + 0.2), 0.9 * size * math.sin(i * math.pi / 4 + 0.2)
            stage.line([(x + dx, y + dy), (x - dx, y - dy)], 0.006, light.on((196, 130, 76)))
    elif dish == "noodles":
        disc(0.9, (52, 50, 64))
        disc(0.80, (222, 152, 76))
        for i in range(26):
            turn, r = rng.random() * 360, (0.2 + 0.2 * rng.random()) * size
            cx, cy = x + 0.3 * size * math.cos(math.radians(turn)), y + 0.3 * size * math.sin(math.radians(turn))
            noodle = light.on(mix((250, 226, 160), (232, 190, 110), (i % 3) / 2))
            stage.arc((cx - r, cy - r, cx + r, cy + r), (turn, turn + 200), 0.035 * size, noodle)
        disc(0.22, (250, 248, 240), 0.36, -0.3, 0.85)
        disc(0.11, (244, 170, 62), 0.36, -0.3)
        scatter(20, 0.6, 0.05, (96, 156, 84), (130, 182, 92))
        disc(0.2, (196, 120, 96), -0.38, 0.28, 0.7)
        disc(0.2, (206, 132, 106), -0.2, 0.42, 0.7)
    elif dish == "sushi":
        for i in range(6):
            dx, dy = -0.46 + 0.46 * (i % 3), -0.25 + 0.5 * (i // 3)
            disc(0.21, (40, 52, 50), dx, dy)
            disc(0.17, (252, 250, 244), dx, dy)
            disc(0.09, rng.choice(((240, 124, 88), (126, 176, 86), (250, 200, 92))), dx, dy)
    elif dish == "fish":
        stage.polygon(placed(".48,0 .8,.22 .72,0 .8,-.22", x, y, size, size), light.on((160, 148, 140)))
        body = placed("-.72,0 -.3,.26 .3,.2 .56,0 .3,-.2 -.3,-.26", x, y, size, size)
        stage.polygon(smooth(body), light.on((196, 182, 168)))
        for i in range(6):
            mark = placed("0,.17 .05,-.17", x + (-0.28 + 0.12 * i) * size, y, size, size)
            stage.line(mark, 0.022 * size, light.on((142, 106, 84)))
        disc(0.05, (40, 40, 50), -0.52, -0.05)
        for i in range(3):
            disc(0.17, (250, 214, 84), -0.3 + 0.3 * i, 0.52)
            disc(0.12, (254, 236, 150), -0.3 + 0.3 * i, 0.52)
        scatter(8, 0.2, 0.04, (96, 146, 84))
    elif dish == "cake":
        disc(0.62, (244, 226, 200))
        disc(0.62, (112, 68, 56), 0.0, -0.03)
        disc(0.50, (134, 84, 66), -0.03, -0.06)
        scatter(9, 0.42, 0.10, (222, 66, 78), (196, 46, 66))
        scatter(14, 0.5, 0.03, (252, 246, 238))
    elif dish == "salad":
        scatter(46, 0.66, 0.20, (112, 168, 84), (146, 190, 96), (88, 144, 78))
        scatter(10, 0.6, 0.12, (226, 82, 66), (240, 116, 84))
        scatter(8, 0.55, 0.09, (252, 248, 236))
        scatter(8, 0.6, 0.06, (84, 60, 90))
    else:
        disc(0.84, (196, 104, 58))
        disc(0.76, (216, 130, 66))
        scatter(22, 0.6, 0.13, (236, 170, 84), (176, 84, 56), (250, 214, 132))
        scatter(14, 0.6, 0.05, (98, 150, 80))
        disc(0.24, (252, 250, 244), 0.30, -0.30, 0.8)
