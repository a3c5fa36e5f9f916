"""The datasets that can be prepared, by name."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mascot.bench.alone import alone
from mascot.bench.files import replace_text
from mascot.bench.prepare.common import Common, Report, work_folder
from mascot.bench.prepare.lost import NO_ANSWER, Lost
from mascot.errors import InputError, OptionError, require

if TYPE_CHECKING:
    from mascot.bench.prepare.web import Web

_RECIPES = {
    "pixelprose": ("pixelprose", "PixelProse"),
    "visual-genome": ("visual_genome", "VisualGenome"),
    "incidents1m": ("incidents1m", "Incidents1M"),
    "skyscript": ("skyscript", "SkyScript"),
}
NAMES = tuple(_RECIPES)
_BEGUN = "recipe.json"
_LOCK = "lock"


class Recipe(Protocol):
    """A frozen dataclass whose fields say where its sources are."""

    def run(self, out: Path, common: Common) -> None:
        """Make the dataset, or go on making it."""


def prepare(
    name: str,
    out: Path | str,
    *,
    limit: int | None = None,
    workers: int = 8,
    seed: int = 0,
    report: Report | None = None,
    web: Web | None = None,
    **sources: str,
) -> None:
    """Make a published dataset in the folder `out`; after a stop, the same call goes on where it was.

    Parameters
    ----------
    name
        One of `NAMES`.
    limit
        Keep at most so many images: the first ones in the order of the source.
    workers
        Requests at a time.
    seed
        Of the split.
    report
        Called as ``report(step, done, total)``; the total is None where it is not known.
    web
        How to read over the web, if not as usual; it is stopped at the end.
    sources
        Other addresses for the recipe's sources: see `sources_of`.
    """
    require(limit is None or limit >= 1, "limit", "must be >= 1", limit)
    require(workers >= 1, "workers", "must be >= 1", workers)
    require(seed >= 0, "seed", "must be >= 0", seed)
    recipe = _recipe(name, sources)
    from mascot.bench.prepare.web import Web

    out = Path(out)
    _begin(out, name, recipe)
    web = web or Web()
    with alone(work_folder(out) / _LOCK, f"{out} is being prepared by another process"):
        try:
            recipe.run(out, Common(web, limit, workers, seed, report))
        except Lost as lost:
            again = "run the same command again to go on" if lost.reason == NO_ANSWER else "name another --source"
            raise InputError(f"{name}: {lost}; {again}") from None
        finally:
            web.stop()


def sources_of(name: str) -> dict[str, Any]:
    """What may be given as a source of that recipe, and where it is taken from otherwise."""
    kind = _kind(name)
    return {field.name: field.default for field in fields(kind)}


def _kind(name: str) -> Any:
    if name not in _RECIPES:
        raise OptionError(f"the dataset must be one of {', '.join(NAMES)}, got {name!r}")
    module, kind = _RECIPES[name]
    return getattr(import_module(f"mascot.bench.prepare.{module}"), kind)


def _recipe(name: str, sources: dict[str, str]) -> Recipe:
    known = sources_of(name)
    for source in sources:
        if source not in known:
            raise OptionError(f"a source of {name} must be one of {', '.join(known)}, got {source!r}")
    given = {source: _value(source, text, known[source]) for source, text in sources.items()}
    recipe: Recipe = _kind(name)(**given)
    return recipe


def _value(source: str, text: str, usual: Any) -> Any:
    """What was typed, as the kind of value that is usual there."""
    try:
        return text if usual is None else type(usual)(text)
    except ValueError:
        raise OptionError(f"source {source} must be like {usual!r}, got {text!r}") from None


def _begin(out: Path, name: str, recipe: Any) -> None:
    """Refuse a folder that holds something else; note what is made here."""
    asked = {"recipe": name, "sources": {key: str(value) for key, value in asdict(recipe).items()}}
    begun, whole = out / "work" / _BEGUN, out / "dataset.json"
    if begun.is_file():
        found = _read(begun)
        if found != asked:
            raise InputError(
                f"{out} was begun as {found.get('recipe')} from {found.get('sources')}; choose another --out, "
                f"or delete {out / 'work'} to begin anew"
            )
        return
    if whole.is_file():
        found = _read(whole)
        if found.get("recipe") != name:
            raise InputError(f"{out} holds another dataset, {found.get('name')!r}; choose another --out")
    elif out.exists() and (not out.is_dir() or any(path.name != "work" for path in out.iterdir())):
        raise InputError(f"{out} is not empty, and no preparation was begun there; choose another --out")
    work_folder(out)
    replace_text(begun, json.dumps(asked, indent=2, sort_keys=True) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}
