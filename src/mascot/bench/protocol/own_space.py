"""The search spaces of methods beside the paper's: a user's own, and xQuAD, PM-2 and IA-Select."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from mascot.bench.protocol.tasks import HOUR_OF_DAY, PLACE, BenchTask, Direction, Point, Widths
from mascot.bench.running.intent_aware import IaSelect, Pm2, XQuad
from mascot.bench.running.own_method import OwnMethod, parameters_of
from mascot.errors import OptionError

Grid = tuple[tuple[str, tuple[Any, ...]], ...]
WIDTHS = ("sigma_geo", "sigma_time")  # of the published bins, in degrees and hours


@dataclass(frozen=True, slots=True)
class OwnSpace:
    """A method by its label and its path ``module:Class``, and the values of each parameter that the search tries.

    With `WIDTHS` in the grid the places and hours have the published bins, otherwise the default bins of the library.
    """

    label: str
    path: str
    grid: Grid = ()

    def points(self, task: BenchTask, direction: Direction) -> list[Point]:
        """Return a point for each combination of the grid; widths that the task does not have are not combined."""
        used = {"sigma_geo": task.has(PLACE), "sigma_time": task.has(HOUR_OF_DAY)}
        grid = {name: values if used.get(name, True) else values[:1] for name, values in self.grid}
        points = []
        for combination in product(*grid.values()):
            setting = dict(zip(grid, combination, strict=True))
            sigmas = [setting.pop(name, None) for name in WIDTHS]
            widths = None if sigmas == [None, None] else Widths(sigmas[0] or 15.0, sigmas[1] or 1.5)
            method = OwnMethod(self.path, tuple(setting.items()))
            points.append(Point(self.label, task, direction, method, widths, point="default"))
        return points


def own_spaces(methods: Sequence[str], grids: Sequence[str], taken: Sequence[str]) -> tuple[OwnSpace, ...]:
    """Return the search spaces of methods and grids as the command line has them.

    A method is ``module:Class``, ``LABEL=module:Class`` (default label: the class in lower case), or a name of
    `RELATED`. A grid is ``PARAMETER=VALUE,VALUE`` for every method with that parameter, or
    ``LABEL.PARAMETER=VALUE,VALUE`` for one. `taken` are the labels of the other methods.
    """
    spaces: dict[str, OwnSpace] = {}
    for text in methods:
        label, _, path = text.rpartition("=")
        space = RELATED.get(text) or OwnSpace(label or path.rpartition(":")[2].lower(), path)
        if space.label in (*taken, *spaces):
            raise OptionError(f"--method must have a new label, got {space.label!r}; write LABEL=module:Class")
        parameters_of(space.path)  # the class must exist
        spaces[space.label] = space
    for text in grids:
        name, equals, values = text.partition("=")
        label, _, parameter = name.rpartition(".")
        owners = [
            space for space in spaces.values()
            if label in ("", space.label) and parameter in (*parameters_of(space.path), *WIDTHS)
        ]  # fmt: skip
        if not equals or not values or not owners:
            names = sorted({name for space in spaces.values() for name in parameters_of(space.path)} | {*WIDTHS})
            rule = "--grid must be PARAMETER=VALUE,VALUE with a parameter of a --method"
            raise OptionError(f"{rule}, got {text!r}; there are {', '.join(names)}")
        for space in owners:
            grid = {**dict(space.grid), parameter: tuple(map(_value, values.split(",")))}
            spaces[space.label] = replace(space, grid=tuple(grid.items()))
    return tuple(spaces.values())


def _value(text: str) -> Any:
    """Return a number, a boolean or null as JSON writes it, otherwise the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


_SIGMAS: Grid = (("sigma_geo", (1.0, 10.0, 15.0)), ("sigma_time", (0.5, 1.5, 3.0)))  # of MASCOT's search
_WEIGHTS = (0.1, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9)
RELATED = {
    label: OwnSpace(label, f"{kind.__module__}:{kind.__name__}", (*grid, *_SIGMAS))
    for label, kind, grid in (
        ("xquad", XQuad, (("strength", _WEIGHTS),)),
        ("pm-2", Pm2, (("weight", _WEIGHTS),)),
        ("ia-select", IaSelect, ()),
    )
}
