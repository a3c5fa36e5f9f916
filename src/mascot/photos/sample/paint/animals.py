"""Animals, each one length high, facing right, with the ground at 0."""

from __future__ import annotations

import math
from collections.abc import Callable

from mascot.photos.sample.paint.light import Colour, mix
from mascot.photos.sample.paint.stage import Pen, Points, points_of

_INK: Colour = (34, 30, 40)
_WHITE: Colour = (252, 248, 240)
_NIGHT: Colour = (30, 24, 44)

COATS: dict[str, tuple[Colour, ...]] = {
    "cat": ((222, 142, 72), (70, 66, 78), (168, 160, 158), (236, 224, 204), (122, 92, 72)),
    "dog": ((206, 158, 98), (92, 66, 54), (232, 216, 188), (60, 58, 66), (176, 104, 62)),
    "horse": ((142, 84, 54), (92, 62, 50), (216, 206, 192), (186, 132, 82), (64, 54, 56)),
    "elephant": ((142, 138, 142), (128, 122, 120), (156, 148, 146)),
    "camel": ((206, 158, 104), (188, 138, 88), (224, 184, 134)),
    "giraffe": ((232, 184, 104), (226, 172, 92)),
    "penguin": ((40, 44, 60),),
    "sheep": ((244, 238, 226), (232, 226, 214)),
    "llama": ((238, 226, 206), (176, 124, 86), (226, 196, 156)),
    "swan": ((252, 250, 246),),
}  # fmt: skip


def cat(pen: Pen, coat: Colour) -> None:
    """Sitting, looking at us."""
    dull, pale = mix(coat, _NIGHT, 0.28), mix(coat, _WHITE, 0.62)
    pen.stroke(".18,.06 .36,.05 .46,.16 .4,.32", 0.085, dull, 0.7)
    pen.curve("-.2,0 -.26,.12 -.2,.36 -.12,.58 .12,.58 .2,.36 .26,.12 .2,0", coat)
    pen.curve("-.1,.12 -.09,.48 0,.54 .09,.48 .1,.12 0,.06", pale)
    for half in (pen.mirror(), pen):
        half.curve(".02,0 .03,.3 .1,.32 .12,0", coat)
        half.oval(0.075, 0.025, 0.06, 0.032, pale)
        half.curve(".14,0 .17,.16 .28,.1 .26,0", dull)
        half.poly(".2,.76 .185,1 .045,.87", coat)
        half.poly(".175,.8 .17,.94 .085,.86", (232, 160, 150))
    pen.curve("-.22,.7 -.19,.82 -.08,.88 .08,.88 .19,.82 .22,.7 .12,.585 0,.56 -.12,.585", coat)
    for x in (-0.05, 0.0, 0.05):
        pen.line([(x, 0.87), (x * 0.7, 0.80)], 0.018, dull)
    pen.curve("-.1,.63 0,.68 .1,.63 0,.57", pale)
    for half in (pen.mirror(), pen):
        half.oval(0.092, 0.735, 0.042, 0.040, (188, 206, 104))
        half.oval(0.092, 0.735, 0.015, 0.036, _INK)
        half.line(".08,.625 .3,.595", 0.006, _WHITE)
        half.line(".08,.65 .3,.695", 0.006, _WHITE)
    pen.poly("-.026,.668 .026,.668 0,.64", (214, 120, 116))


def cat_walking(pen: Pen, coat: Colour) -> None:
    """On its way along a wall, tail up."""
    dull = mix(coat, _NIGHT, 0.3)
    pen.stroke("-.48,.48 -.62,.66 -.6,.88 -.7,1", 0.08, coat, 0.8)
    for x, lean in ((-0.30, -0.06), (0.30, 0.07)):
        pen.stroke([(x, 0.40), (x + lean, 0.2), (x + lean * 1.3, 0.03)], 0.085, dull, 0.75)
    pen.curve("-.54,.48 -.5,.3 -.2,.27 .2,.27 .42,.34 .48,.52 .3,.57 -.1,.54 -.4,.58", coat)
    for x, lean in ((-0.42, 0.05), (0.38, -0.05)):
        pen.stroke([(x, 0.44), (x + lean, 0.2), (x + lean * 1.5, 0.03)], 0.09, coat, 0.75)
    for x in (-0.22, -0.08, 0.06):
        pen.line([(x, 0.55), (x + 0.02, 0.43)], 0.028, dull)
    pen.oval(0.54, 0.60, 0.155, 0.135, coat)
    for x in (0.44, 0.58):
        pen.poly([(x - 0.01, 0.69), (x + 0.03, 0.84), (x + 0.11, 0.69)], coat)
    pen.oval(0.60, 0.62, 0.026, 0.026, (188, 206, 104))
    pen.oval(0.605, 0.62, 0.010, 0.022, _INK)
    pen.oval(0.68, 0.58, 0.018, 0.014, (214, 120, 116))


def dog(pen: Pen, coat: Colour) -> None:
    dull, pale = mix(coat, _NIGHT, 0.3), mix(coat, _WHITE, 0.45)
    pen.stroke("-.4,.6 -.56,.66 -.62,.84 -.56,.98", 0.10, coat, 0.5)
    pen.poly("-.31,.4 -.17,.4 -.22,.02 -.18,0 -.32,0", dull)
    pen.poly(".19,.4 .33,.4 .34,.02 .38,0 .24,0", dull)
    pen.curve("-.44,.58 -.42,.36 -.22,.32 0,.36 .24,.28 .4,.4 .42,.66 .18,.66 -.16,.63 -.34,.67", coat)
    pen.curve("-.45,.5 -.26,.46 -.35,.18 -.3,0 -.445,0 -.45,.2", coat)
    pen.curve(".23,.5 .42,.46 .38,.18 .43,0 .285,0 .28,.2", coat)
    pen.curve(".2,.62 .3,.4 .42,.42 .58,.72 .5,.9 .34,.84", coat)
    pen.curve(".3,.32 .34,.3 .44,.46 .46,.62 .36,.56", pale)
    pen.curve(".36,.84 .4,.98 .54,1 .62,.93 .78,.88 .8,.79 .66,.74 .5,.73 .4,.76", coat)
    pen.curve(".62,.76 .8,.8 .78,.76 .66,.72", dull)
    pen.poly(".62,.75 .69,.76 .675,.66 .64,.66", (228, 118, 122))
    pen.curve(".4,.98 .31,.86 .33,.66 .41,.64 .47,.76 .47,.94", dull)
    pen.oval(0.575, 0.895, 0.024, 0.026, _INK)
    pen.oval(0.582, 0.902, 0.008, 0.008, _WHITE)
    pen.oval(0.79, 0.865, 0.032, 0.026, _INK)
    pen.line([(0.33, 0.69), (0.53, 0.68)], 0.055, (206, 66, 60))


def horse(pen: Pen, coat: Colour) -> None:
    dull, mane = mix(coat, _NIGHT, 0.32), mix(coat, _NIGHT, 0.62) if sum(coat[:3]) < 540 else (236, 228, 214)
    pen.stroke("-.42,.6 -.54,.5 -.56,.3 -.6,.14", 0.10, mane, 0.5)
    for x, knee, foot in ((-0.26, -0.24, -0.30), (0.22, 0.24, 0.20)):
        pen.stroke([(x, 0.42), (knee, 0.24), (foot, 0.04)], 0.075, dull, 0.62)
    pen.curve("-.46,.56 -.42,.4 -.2,.34 .1,.34 .3,.4 .36,.54 .32,.64 .1,.61 -.14,.6 -.34,.66", coat)
    for x, knee, foot in ((-0.36, -0.40, -0.38), (0.28, 0.32, 0.30)):
        pen.stroke([(x, 0.50), (knee, 0.25), (foot, 0.04)], 0.105, coat, 0.5)
        pen.box(foot - 0.035, 0, foot + 0.045, 0.05, _INK)
    pen.curve(".12,.62 .24,.44 .36,.48 .46,.7 .56,.84 .48,.96 .34,.86", coat)
    pen.curve(".44,.9 .5,.97 .58,.93 .7,.74 .74,.66 .68,.61 .6,.66 .5,.76", coat)
    pen.poly(".46,.94 .48,1.03 .54,.95", coat)
    pen.curve(".48,1 .36,.94 .22,.76 .12,.6 .22,.62 .34,.78 .46,.92", mane)
    pen.stroke(".5,.99 .54,.92 .56,.86", 0.04, mane, 0.5)
    pen.oval(0.575, 0.865, 0.016, 0.018, _INK)
    pen.oval(0.705, 0.675, 0.012, 0.010, _INK)


def elephant(pen: Pen, coat: Colour) -> None:
    dull, pale = mix(coat, _NIGHT, 0.28), mix(coat, _WHITE, 0.28)
    pen.stroke("-.6,.66 -.7,.5 -.69,.32", 0.035, dull, 0.8)
    for x in (-0.30, 0.16):
        pen.poly([(x - 0.11, 0.44), (x + 0.11, 0.44), (x + 0.085, 0.0), (x - 0.085, 0.0)], dull)
    pen.curve("-.64,.58 -.6,.34 -.3,.28 .05,.28 .34,.36 .42,.6 .36,.86 .1,.94 -.22,.92 -.5,.84", coat)
    for x in (-0.48, 0.30):
        pen.poly([(x - 0.13, 0.50), (x + 0.13, 0.46), (x + 0.10, 0.0), (x - 0.10, 0.0)], coat)
        for toe in (-0.06, 0.0, 0.06):
            pen.oval(x + toe, 0.014, 0.024, 0.018, pale)
    pen.stroke(".66,.62 .78,.48 .78,.26 .82,.1 .92,.08", 0.16, coat, 0.42)
    pen.curve(".3,.74 .36,.96 .54,1 .7,.9 .76,.7 .7,.54 .52,.48 .36,.56", coat)
    pen.curve(".62,.54 .74,.42 .94,.44 .82,.48 .7,.58", (250, 242, 222))
    pen.curve(".46,.92 .24,1 .08,.86 .1,.62 .22,.46 .36,.44 .46,.6", dull)
    pen.curve(".42,.86 .26,.92 .15,.82 .17,.64 .26,.53 .36,.53 .42,.64", mix(dull, (220, 150, 150), 0.25))
    pen.oval(0.595, 0.78, 0.022, 0.022, _INK)


def camel(pen: Pen, coat: Colour) -> None:
    dull = mix(coat, _NIGHT, 0.3)
    pen.stroke("-.46,.58 -.54,.48 -.52,.36", 0.035, dull, 0.8)
    for x, foot in ((-0.26, -0.28), (0.16, 0.14)):
        pen.stroke([(x, 0.46), (x + 0.02, 0.26), (foot, 0.03)], 0.085, dull, 0.55)
    pen.curve("-.5,.56 -.46,.42 -.2,.36 .1,.36 .28,.42 .34,.56 .24,.64 .1,.7 0,.9 -.1,.9 -.2,.7 -.38,.66", coat)
    for x, foot in ((-0.38, -0.40), (0.24, 0.26)):
        pen.stroke([(x, 0.50), (x + 0.02, 0.27), (foot, 0.03)], 0.11, coat, 0.48)
        pen.oval(foot + 0.01, 0.018, 0.05, 0.02, dull)
    pen.stroke(".26,.56 .44,.46 .56,.58 .58,.86", 0.17, coat, 0.55)
    pen.curve(".5,.9 .54,.99 .64,.98 .78,.92 .8,.85 .68,.83 .56,.82", coat)
    pen.poly(".52,.94 .5,1.03 .57,.98", coat)
    pen.oval(0.635, 0.925, 0.018, 0.018, _INK)
    pen.line([(0.70, 0.86), (0.79, 0.875)], 0.010, dull)
    pen.curve("-.3,.67 -.18,.74 -.05,.77 .08,.74 .2,.66 .14,.44 -.05,.41 -.24,.44", (186, 62, 58))
    for y, tone in ((0.66, (244, 196, 92)), (0.57, (62, 120, 128)), (0.48, (244, 196, 92))):
        pen.line([(-0.265, y - 0.02), (0.155, y - 0.02)], 0.03, tone)


def giraffe(pen: Pen, coat: Colour) -> None:
    spot, dull = (150, 88, 50), mix(coat, _NIGHT, 0.22)
    pen.stroke("-.24,.44 -.3,.34 -.29,.24", 0.018, dull, 1.4)
    for x in (-0.12, 0.09):
        pen.stroke([(x, 0.34), (x + 0.005, 0.18), (x, 0.02)], 0.045, dull, 0.6)
    pen.curve("-.26,.44 -.24,.34 -.1,.3 .1,.31 .19,.4 .2,.52 .08,.5 -.12,.46", coat)
    for x in (-0.20, 0.14):
        pen.stroke([(x, 0.40), (x + 0.01, 0.2), (x, 0.02)], 0.055, coat, 0.55)
    pen.poly(".02,.48 .2,.42 .37,.9 .29,.93", coat)
    pen.curve(".27,.9 .3,.96 .37,.955 .46,.9 .475,.865 .42,.86 .33,.87", coat)
    for x in (0.305, 0.34):
        pen.line([(x, 0.95), (x - 0.01, 1.0)], 0.012, spot)
        pen.oval(x - 0.01, 1.0, 0.012, 0.012, spot)
    pen.poly(".28,.94 .22,.95 .28,.915", coat)
    pen.line([(0.02, 0.50), (0.28, 0.93)], 0.016, spot)
    pen.oval(0.37, 0.925, 0.010, 0.011, _INK)
    spots = points_of(
        "-.19,.4 -.11,.42 -.13,.35 -.04,.37 0,.44 .05,.37 .1,.44 .13,.37 .15,.5 .12,.54 .19,.57 .18,.63 .23,.67 "
        ".23,.73 .28,.77 .28,.83 -.2,.3 .145,.3"
    )
    for i, (x, y) in enumerate(spots):
        size = 0.034 if y < 0.52 else 0.025
        turns = [i * 1.3 + k * 1.256 for k in range(5)]
        pen.poly([(x + size * math.cos(turn), y + size * 0.8 * math.sin(turn)) for turn in turns], spot)


def penguin(pen: Pen, coat: Colour) -> None:
    for half in (pen.mirror(), pen):
        half.oval(0.10, 0.022, 0.085, 0.028, (238, 152, 62))
        half.curve(".22,.66 .3,.52 .37,.26 .3,.32 .2,.46", coat)
    pen.curve("-.16,.03 -.27,.3 -.22,.62 -.16,.8 -.13,.94 0,1 .13,.94 .16,.8 .22,.62 .27,.3 .16,.03", coat)
    pen.curve("-.13,.05 -.2,.3 -.15,.6 0,.7 .15,.6 .2,.3 .13,.05", _WHITE)
    for half in (pen.mirror(), pen):
        half.oval(0.062, 0.86, 0.036, 0.046, _WHITE)
        half.oval(0.056, 0.865, 0.016, 0.020, _INK)
    pen.poly("-.045,.83 .045,.83 0,.765", (240, 158, 60))


def sheep(pen: Pen, coat: Colour) -> None:
    face = (62, 56, 62)
    for x in (-0.30, -0.18, 0.16, 0.28):
        pen.box(x - 0.035, 0, x + 0.035, 0.34, face)
    for x, y in points_of("-.325,.47 -.145,.59 .095,.63 .29,.53 -.165,.39 .1,.39"):
        pen.oval(x, y, 0.22, 0.21, mix(coat, (120, 110, 140), 0.28))
    for x, y in points_of("-.33,.52 -.16,.63 .08,.67 .26,.57 -.18,.48 .08,.48"):
        pen.oval(x, y, 0.20, 0.18, coat)
    pen.curve(".34,.78 .44,.86 .54,.78 .6,.56 .54,.48 .44,.54", face)
    pen.oval(0.36, 0.74, 0.085, 0.036, face)
    pen.oval(0.42, 0.86, 0.10, 0.07, coat)
    pen.oval(0.49, 0.70, 0.020, 0.022, _WHITE)
    pen.oval(0.495, 0.70, 0.010, 0.012, _INK)


def llama(pen: Pen, coat: Colour) -> None:
    dull = mix(coat, _NIGHT, 0.25)
    for x in (-0.20, 0.14):
        pen.stroke([(x, 0.36), (x, 0.04)], 0.08, dull, 0.6)
    for x, y, r in ((-0.26, 0.44, 0.15), (-0.10, 0.45, 0.17), (0.08, 0.45, 0.17)):
        pen.oval(x, y, r, r * 0.92, coat)
    for x in (-0.30, 0.20):
        pen.stroke([(x, 0.40), (x, 0.04)], 0.10, coat, 0.55)
    pen.oval(-0.40, 0.52, 0.06, 0.075, coat)
    pen.stroke(".14,.46 .25,.62 .26,.84", 0.17, coat, 0.75)
    pen.curve(".18,.84 .2,.94 .3,.95 .42,.88 .43,.81 .32,.78 .22,.78", coat)
    for x in (0.21, 0.27):
        pen.curve([(x - 0.02, 0.92), (x - 0.015, 1.02), (x + 0.03, 1.05), (x + 0.03, 0.93)], dull)
    pen.oval(0.315, 0.875, 0.016, 0.018, _INK)
    pen.oval(0.42, 0.85, 0.018, 0.016, dull)
    for y, tone in ((0.60, (214, 68, 84)), (0.555, (62, 150, 150)), (0.51, (242, 186, 72))):
        pen.line([(0.13 + (y - 0.5) * 0.5, y), (0.32 + (y - 0.5) * 0.2, y - 0.03)], 0.036, tone)


def swan(pen: Pen, coat: Colour) -> None:
    """On the water."""
    dull = mix(coat, (150, 160, 196), 0.4)
    pen.curve("-.62,.42 -.5,.1 -.1,0 .32,.04 .42,.22 .26,.36 -.1,.4 -.4,.38", coat)
    pen.curve("-.56,.5 -.36,.2 0,.16 .24,.26 .02,.42 -.28,.46", dull)
    pen.stroke(".3,.24 .46,.46 .34,.74 .42,.94 .54,.92", 0.13, coat, 0.72)
    pen.poly(".57,.96 .57,.86 .72,.84", (236, 130, 60))
    pen.oval(0.53, 0.935, 0.018, 0.018, _INK)


def whale_tail(pen: Pen, coat: Colour) -> None:
    """The fluke, as the whale goes down."""
    pen.curve("-.1,0 -.07,.36 -.02,.56 .02,.56 .07,.36 .1,0", coat)
    for half in (pen.mirror(), pen):
        half.curve("0,.44 .1,.62 .34,.8 .62,.92 .56,.74 .36,.6 .1,.5", coat)
        half.line(".1,.6 .5,.84", 0.014, mix(coat, _WHITE, 0.3))
    for x in (-0.22, -0.12, 0.14, 0.26):
        pen.oval(x, 0.02, 0.09, 0.02, (236, 246, 250))


def gull(pen: Pen, colour: Colour = (250, 250, 250), beat: float = 0.0) -> None:
    """In the air: two bent wings, seen from the side; `beat` from -1 (down) to 1 (up)."""
    tip = 0.34 + 0.3 * beat
    for side in (-1, 1):
        pen.poly(_wing(side, tip), mix(colour, (110, 120, 140), 0.0 if side > 0 else 0.22))
    pen.curve("-.1,-.02 0,.045 .14,.03 .18,0 .06,-.05", colour)
    pen.poly(".17,.02 .24,0 .17,-.01", (240, 170, 70))


def _wing(side: int, tip: float) -> Points:
    steps = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    upper = [(side * (0.03 + 0.52 * t), 0.02 + tip * math.sin(1.9 * t) * (1 - 0.25 * t)) for t in steps]
    lower = [(x * 0.98, y - 0.10 * math.cos(1.5 * i / 5)) for i, (x, y) in enumerate(upper)]
    return [*upper, *reversed(lower)]


ANIMALS: dict[str, Callable[[Pen, Colour], None]] = {
    "cat": cat, "dog": dog, "horse": horse, "elephant": elephant, "camel": camel, "giraffe": giraffe,
    "penguin": penguin, "sheep": sheep, "llama": llama, "swan": swan,
}  # fmt: skip
