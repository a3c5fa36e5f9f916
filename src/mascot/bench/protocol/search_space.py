"""The settings each method is searched over, published or a user's own, and the choice among them on validation.

A setting is a `Point`. The paper prints no operating points of Prob-Coverage, nor of MS-DPP and MS-DPP+TN on focus,
only the grids they were chosen from. The inferred ones are the points of these grids whose R@10 and DM on the simulated
PixelProse (test split, mean of the seeds 0 to 2; the DPPs on 250 queries of each) are nearest to the published row,
with differences in units of 0.07 and 0.04. That they are near shows only that the grid has such a point; "validated" is
the searched setting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import mascot as mc
from mascot.bench.methods import Clustering, KDpp, MsDpp
from mascot.bench.methods.intent_aware import IaSelect, Pm2, XQuad
from mascot.bench.methods.own_method import OwnMethod, parameters_of
from mascot.bench.protocol.published import Published
from mascot.bench.protocol.tasks import HOUR_OF_DAY, PLACE, BenchTask, Direction, Method, Point, Widths
from mascot.bench.running.records import Record
from mascot.errors import OptionError

Grid = tuple[tuple[str, tuple[Any, ...]], ...]
SearchKey = tuple[str, str, str, bool]  # label, task, direction, and whether a DPP has the released update
Chosen = dict[SearchKey, Point]

BETAS, THETAS = (0.4, 0.5, 0.6), (0.8, 0.9)
WIDE = ("visual-genome", "incidents1m", "skyscript")  # datasets with the wider grid of the released study
_WIDE_STRENGTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_NORMALIZE: dict[str, Literal["tn", "tn+tvms"] | None] = {
    "ms-dpp": None, "ms-dpp+tn": "tn", "ms-dpp+tn+tvms": "tn+tvms",
}  # fmt: skip
DPPS = ("k-dpp", *_NORMALIZE)
# "coverage": the published coverage methods, with bin weight and normalisation. "grids": their strengths, widths in
# degrees and in hours. "released_dpps": beta and theta of the released study on PixelProse, by direction, the same for
# every task. "inferred": strength and widths, or beta and theta of a DPP, by task and direction; the released study has
# the strength of Prob-Coverage on geo, focus.
_SPACE: dict[str, Any] = json.loads(files("mascot.bench.protocol").joinpath("search_space.json").read_text("utf-8"))
COVERAGE = tuple(_SPACE["coverage"])
GUARDED = {"guarded": mc.Mascot(order="relevance"), "guarded-10": mc.Mascot(protect=10, order="relevance")}
WIDTHS = ("sigma_geo", "sigma_time")  # of the published bins, in degrees and hours
LABELS = ("base", "clustering", "mmr", *DPPS, *COVERAGE, *GUARDED)


def coverage(label: str, strength: float) -> mc.Mascot:
    return mc.Mascot.paper(strength, *_SPACE["coverage"][label])


def dpp(label: str, beta: float, theta: float, released: bool = False) -> KDpp | MsDpp:
    """Return a DPP by its label; strength is 1 - theta."""
    strength = round(1.0 - theta, 10)
    if label == "k-dpp":
        return KDpp(strength, beta, released, normalize=False)
    return MsDpp(strength, beta, _NORMALIZE[label], released)


def is_dpp(method: Any) -> bool:
    """Return whether a method is a DPP, which has a released and an exact update."""
    return isinstance(method, (KDpp, MsDpp))


def published(label: str, task: BenchTask, direction: Direction, dataset: str = "pixelprose") -> Point | None:
    """Return the operating point of the paper or of the released study on a dataset, or None if there is none."""
    setting = _SPACE["released_dpps"].get(label, {}).get(direction) if dataset == "pixelprose" else None
    printed = Published(dataset).operating_point(task.name, direction, label) if label in COVERAGE else {}
    if printed.get("strength") is not None:
        setting = printed["strength"], printed["sigma_geo"] or 15.0, printed["sigma_time"] or 1.5
    return None if setting is None else _point_of(setting, label, task, direction, "published")


def inferred(label: str, task: BenchTask, direction: Direction, dataset: str = "pixelprose") -> Point | None:
    """Return the operating point that is inferred from the rows of the paper, which prints none on PixelProse."""
    setting = _SPACE["inferred"].get(label, {}).get(task.name, {}).get(direction) if dataset == "pixelprose" else None
    return None if setting is None else _point_of(setting, label, task, direction, "inferred")


def _point_of(setting: Sequence[Any], label: str, task: BenchTask, direction: Direction, point: str) -> Point:
    """Return the point of strength and widths, or of beta and theta of a DPP, which has the released update."""
    if label in DPPS:
        beta, theta = setting
        return Point(label, task, direction, dpp(label, beta, theta, released=True), Widths(), point=point)
    strength, geo, hour = setting
    return Point(label, task, direction, coverage(label, strength), Widths(geo, hour), point=point)


def released(*points: Point) -> list[Point]:
    """Return the points of DPPs among these with the greedy update of the published experiments."""
    return [
        replace(point, method=replace(point.method, released=True), point="released")
        for point in points
        if isinstance(point.method, (KDpp, MsDpp))
    ]


def search_key(point: Point) -> SearchKey:
    """Return the key of a search; each of the two updates of a DPP has its own search."""
    return point.label, point.task.name, point.direction, getattr(point.method, "released", False)


def settings(label: str, task: BenchTask, direction: Direction, dataset: str | None = "pixelprose") -> list[Point]:
    """Return the search space of a method on a task of a dataset; a single point if there is nothing to search."""
    wide, point = dataset in WIDE, Point(label, task, direction, widths=Widths(), point="default")
    if label in COVERAGE:
        values = _SPACE["grids"]["wide" if wide else label]
        return _combined(point, partial(coverage, label), zip(("strength", *WIDTHS), values, strict=True))
    if label in DPPS:
        return _combined(point, partial(dpp, label), (("beta", BETAS), ("theta", THETAS)))
    if label == "mmr":
        strengths = _WIDE_STRENGTHS if wide else (0.1, 0.2, 0.5)
        return _combined(point, partial(mc.Mmr, published=True), (("strength", strengths),))
    if label == "clustering":
        return _combined(point, Clustering, (("clusters", (40, 60, 80) if wide else (40, 60)),))
    return [replace(point, method=GUARDED[label], widths=None) if label in GUARDED else point]


def _combined(point: Point, make: Callable[..., Method], grid: Iterable[tuple[str, Sequence[Any]]]) -> list[Point]:
    """Return the point with each combination of the grid; widths that its task does not have are not combined."""
    used = {"sigma_geo": point.task.has(PLACE), "sigma_time": point.task.has(HOUR_OF_DAY)}
    axes = {name: values if used.get(name, True) else values[:1] for name, values in grid}
    points = []
    for combination in product(*axes.values()):
        setting = dict(zip(axes, combination, strict=True))
        sigmas = [setting.pop(name, None) for name in WIDTHS]
        widths = point.widths if sigmas == [None, None] else Widths(sigmas[0] or 15.0, sigmas[1] or 1.5)
        points.append(replace(point, method=make(**setting), widths=widths))
    return points


def best(points: Sequence[Point], records: Sequence[Record], metric: str) -> Chosen:
    """Return the point with the highest metric for each `search_key`, for the test split; ties go to the first."""
    highest: dict[SearchKey, float] = {}
    best_points: Chosen = {}
    for point, record in zip(points, records, strict=True):
        if metric not in record["summary"]:
            raise mc.InputError(
                f"the search needs {metric} of every setting, got none for {point.label} on {point.task.name}, "
                f"{point.direction}: no query of the validation split has a positive and shows two results"
            )
        key, value = search_key(point), record["summary"][metric]
        if value > highest.get(key, -math.inf):
            highest[key], best_points[key] = value, replace(point, study="main", split="test", k=20)
    return best_points


@dataclass(frozen=True, slots=True)
class OwnSpace:
    """A method by its label and its path ``module:Class``, and the values of each parameter that the search tries.

    With `WIDTHS` in the grid the places and hours have the published bins, otherwise the default bins of the library.
    """

    label: str
    path: str
    grid: Grid = ()

    def points(self, task: BenchTask, direction: Direction) -> list[Point]:
        point = Point(self.label, task, direction, point="default")
        return _combined(point, lambda **setting: OwnMethod(self.path, tuple(setting.items())), self.grid)


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
