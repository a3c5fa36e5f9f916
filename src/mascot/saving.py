"""A fitted `Reranker` in one file: arrays as numpy writes them, everything else as JSON. Nothing is unpickled."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Hashable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mascot.bins import Axis, AxisBins, Bins, GlobeBins, SparseBins
from mascot.errors import InputError, OptionError
from mascot.fitting import FittedWishes, sort_wishes
from mascot.methods.method import Method, Table
from mascot.registry import from_dict
from mascot.wishes import AnyWish

_VERSION = 1
_Arrays = dict[str, Any]


def save_reranker(
    path: Path, wishes: tuple[AnyWish, ...], method: Method, fitted: FittedWishes, ids: list[Hashable] | None
) -> None:
    """Write wishes, method, bins and ids."""
    arrays: _Arrays = {}
    simple = ids is None or all(isinstance(id_, (str, int)) and not isinstance(id_, bool) for id_ in ids)
    if not simple:
        raise OptionError("Reranker.save needs ids that are text or whole numbers")
    document = {
        "version": _VERSION, "rows": fitted.rows, "wishes": [wish.to_dict() for wish in wishes],
        "method": method.to_dict(), "ids": ids,
        "bins": [_describe(bins, f"bins{a}", arrays) for a, bins in enumerate(fitted.bins)],
        "focuses": [_describe(focus.bins, f"focus{a}", arrays) for a, focus in enumerate(fitted.focuses)],
        "labels": [_describe(labels, f"labels{a}", arrays) for a, labels in enumerate(fitted.labels)],
    }  # fmt: skip
    if fitted.removed is not None:
        arrays["removed"] = fitted.removed
    arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


def load_reranker(path: Path) -> tuple[tuple[AnyWish, ...], Method, FittedWishes, list[Hashable] | None]:
    """Read what `save_reranker` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        document = json.loads(bytes(arrays.pop("document")))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"Reranker.load needs a file that Reranker.save wrote, got {str(path)!r}: {error}") from None
    if document.get("version") != _VERSION:
        raise InputError(f"Reranker.load needs version {_VERSION}, got {document.get('version')!r} in {str(path)!r}")

    def restored(part: str, prefix: str) -> tuple[Any, ...]:
        return tuple(_restore(described, f"{prefix}{a}", arrays) for a, described in enumerate(document[part]))

    wishes = tuple(from_dict(wish) for wish in document["wishes"])
    _, aims, _ = sort_wishes(wishes)
    focuses = tuple(wish.named_focus(bins) for wish, bins in zip(aims, restored("focuses", "focus"), strict=True))
    bins, labels = restored("bins", "bins"), restored("labels", "labels")
    fitted = FittedWishes(wishes, document["rows"], (Table({}),), bins, focuses, labels, arrays.get("removed"))
    return wishes, from_dict(document["method"]), fitted, document["ids"]


def _describe(bins: Bins, name: str, arrays: _Arrays) -> dict[str, Any]:
    """Add the arrays of the bins to `arrays` and return their other fields."""
    if isinstance(bins, AxisBins):
        for at, values in enumerate(bins.values):
            arrays[f"{name}.{at}"] = values
        return {"kind": "axis", "axes": [asdict(axis) for axis in bins.axes], "unit": bins.unit}
    if isinstance(bins, GlobeBins):
        arrays[f"{name}.lat"], arrays[f"{name}.lon"] = bins.lat, bins.lon
        return {"kind": "globe", "sigma_km": bins.sigma_km}
    pairs = bins.sparse()
    arrays[f"{name}.indptr"], arrays[f"{name}.indices"] = pairs.indptr, pairs.indices
    if pairs.values is not None:
        arrays[f"{name}.values"] = pairs.values
    return {"kind": "sparse", "count": pairs.count, "labels": pairs.labels}


def _restore(described: dict[str, Any], name: str, arrays: _Arrays) -> Bins:
    if described["kind"] == "axis":
        axes = tuple(Axis(**axis) for axis in described["axes"])
        return AxisBins(axes, tuple(arrays[f"{name}.{at}"] for at in range(len(axes))), described["unit"])
    if described["kind"] == "globe":
        return GlobeBins(arrays[f"{name}.lat"], arrays[f"{name}.lon"], described["sigma_km"])
    labels = None if described["labels"] is None else tuple(described["labels"])
    return SparseBins(
        arrays[f"{name}.indptr"], arrays[f"{name}.indices"], arrays.get(f"{name}.values"), described["count"], labels
    )
