"""The datasets that can be prepared, by name."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from mascot.bench.files import alone, read_json, replace_text, sha256
from mascot.bench.prepare.incidents1m import Incidents1M
from mascot.bench.prepare.outcomes import NO_ANSWER, Loss
from mascot.bench.prepare.pins import Pins
from mascot.bench.prepare.pixelprose import PixelProse
from mascot.bench.prepare.preparation import Preparation, Report
from mascot.bench.prepare.skyscript import SkyScript
from mascot.bench.prepare.visual_genome import VisualGenome
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, require

RECIPES: dict[str, Any] = {
    "pixelprose": PixelProse, "visual-genome": VisualGenome, "incidents1m": Incidents1M, "skyscript": SkyScript,
}  # fmt: skip


def prepare(
    name: str,
    out: Path | str,
    *,
    limit: int | None = None,
    workers: int = 8,
    seed: int = 42,
    pinned: Path | None = None,
    report: Report = lambda step, count, total: None,
    web: Web | None = None,
    **settings: str,
) -> None:
    """Make a published dataset in the folder `out`; after an interruption the same call continues.

    The sources are read as the released study read them. At most `limit` images are taken, in the order of the source,
    by `workers` requests at a time; `seed` is that of the split. The test split consists of the pictures that the file
    `pinned` names (default: four fifths of the pictures, by the seed); see `mascot.bench.prepare.pins`. `report` is
    called as ``report(step, count, total)``; the total is None if it is unknown. The client `web` (default: half of the
    workers may ask one host) is stopped at the end. `settings` are addresses of sources; see `sources_of`.
    """
    require(limit is None or limit >= 1, "limit", "must be >= 1", limit)
    require(workers >= 1, "workers", "must be >= 1", workers)
    require(seed >= 0, "seed", "must be >= 0", seed)
    values, recipe = sources_of(name), RECIPES[name]
    for key, text in settings.items():
        require(key in values, f"a source of {name}", f"must be one of {', '.join(values)}", key)
        values[key] = text
    web = web or Web(per_host=max(4, workers // 2))
    preparation = Preparation(name, Path(out), web, limit, workers, seed, report, values)
    if pinned is not None:
        preparation.pins = Pins.read(pinned)
        preparation.sources["pinned pictures"] = {"url": pinned.name, "sha256": sha256(pinned)}
    _claim(Path(out), {"recipe": name, "settings": values})
    with alone(preparation.work / "lock", f"{out} is being prepared by another process"):
        try:
            recipe(**values).run(preparation)
        except Loss as loss:
            remedy = "run the same command again to continue" if loss.reason == NO_ANSWER else "name another --source"
            raise InputError(f"{name}: {loss}; {remedy}") from None
        finally:
            web.stop()


def sources_of(name: str) -> dict[str, Any]:
    """Return the sources of a recipe with their default addresses."""
    require(name in RECIPES, "the dataset", f"must be one of {', '.join(RECIPES)}", name)
    return {field.name: field.default for field in fields(RECIPES[name])}


def _claim(out: Path, claim: dict[str, Any]) -> None:
    """Refuse a folder that holds something else; note what is made here."""
    begun, complete = out / "work" / "recipe.json", out / "dataset.json"
    stored = read_json(begun if begun.is_file() else complete)
    if stored and {key: stored.get(key) for key in claim} != claim:
        raise InputError(
            f"{out} was begun as {stored.get('recipe', stored.get('name'))} with {stored.get('settings')}; choose "
            f"another --out, or delete {out / 'work'} to begin again"
        )
    if not stored and out.exists() and (not out.is_dir() or any(path.name != "work" for path in out.iterdir())):
        raise InputError(f"{out} is not empty, and no preparation was begun there; choose another --out")
    begun.parent.mkdir(parents=True, exist_ok=True)
    replace_text(begun, json.dumps(claim, indent=2, sort_keys=True) + "\n")
