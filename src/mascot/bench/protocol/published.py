"""The published numbers, in this library's terms: spread for increase, focus for decrease, strength for lambda.

They are copied from the paper and its released result files (`published.json`); nothing here is measured.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

DIRECTIONS = {"spread": "increase", "focus": "decrease"}

# The datasets of the paper, with the prefix of their task names.
_PREFIXES = {"pixelprose": "PP", "visual_genome": "VG", "incidents1m": "I1M", "skyscript": "SkyScript"}
_ONLY_TASK = {"visual_genome": "hour", "incidents1m": "geo", "skyscript": "geo"}
_MIXED = {"geo+hour-": ("increase", "decrease"), "geo-hour+": ("decrease", "increase")}
_CENTRAL = "mascot"  # the method that the sweeps and the analyses are about


@cache
def load() -> Mapping[str, Any]:
    """Return the content of the file. Treat it as read-only."""
    text = files("mascot.bench.protocol").joinpath("published.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


@dataclass(frozen=True, slots=True)
class Published:
    """The numbers of the paper for one of our datasets; a number that the paper does not have is missing, or None.

    >>> Published("pixelprose-sim").row("geo_hour", "focus", "ms-dpp")["hm"]
    0.385
    """

    dataset: str

    @property
    def exists(self) -> bool:
        """Whether the paper has this dataset."""
        return bool(self._name)

    @property
    def _name(self) -> str:
        """The name in the file, or an empty text; the simulated PixelProse is compared with the real one."""
        name = self.dataset.replace("-", "_").removesuffix("_sim")
        return name if name in _PREFIXES else ""

    def _pixelprose(self, table: str) -> Any:
        """Return a table that the paper has only for PixelProse; an empty one for other datasets."""
        return load()[table] if self._name == "pixelprose" else {}

    def row(self, task: str, direction: str, label: str) -> dict[str, Any]:
        """Return all numbers of a method on a task, by measure.

        ``hm``, ``dm``, ``r@10`` (``map`` for Incidents1M) and the recall curve; ``prs``; ``appearance``; ``agrees``,
        the share of queries whose first result is the base's; ``min``, ``mean`` and ``max`` of the first pick's gain.
        On mixed directions also ``strength``, and ``geo`` and ``hour``, the Vendi score of each attribute.
        """
        key, word, is_central = _key(task, direction), DIRECTIONS.get(direction, ""), label == _CENTRAL
        tasks = load().get(self._name, {}).get(word, {})
        if self._name in _ONLY_TASK:
            tasks = {_ONLY_TASK[self._name]: tasks}
        numbers = tasks.get(task, {}).get(label, {}) | self.recall(task, direction, label)
        numbers["prs"] = self._pixelprose("prs").get(label, {}).get(key)
        if task == "geo_hour":
            numbers["appearance"] = self._pixelprose("appearance_img_vendi_geo_hour").get(word, {}).get(label)
        if direction == "focus" and is_central:
            numbers["agrees"] = self._pixelprose("top1").get("first_pick_agreement_decrease", {}).get(task)
            if task == "geo_hour":
                numbers |= self._pixelprose("first_step_coverage_gain_geo_hour_decrease")
        if task == "clusters" and (row := self._pixelprose("clusters_k10").get(word)):
            ours = {"dm": row["dm"], "r@10": row["r@10"]} if is_central else {}
            numbers |= {"dm": row["dm_base"]} if label == "base" else ours
        for row in self._pixelprose("mixed_direction_K10"):  # the paper prints K = 10; the released study took K = 20
            if (row["geo"], row["time"], row["method"]) == (*_MIXED.get(direction, ()), label):
                dm = round(1 / (2 / row["hm"] - 1 / row["r@10"]), 3)  # which its other numbers imply
                vendi = {"geo": row["geo_v"], "hour": row["time_v"]}
                numbers |= {"strength": row["lam"], "r@10": row["r@10"], **vendi, "dm": dm, "hm": row["hm"]}
        return {measure: number for measure, number in numbers.items() if number is not None}

    def recall(self, task: str, direction: str, label: str) -> dict[str, float]:
        """Return R@1, 3, 5, 10, 20 as ``{"r@1": ...}``."""
        tables = {"pixelprose": load()["recall_at_k"]} | load()["recall_at_k_others"]
        curve = tables.get(self._name, {}).get(_key(task, direction), {}).get(label, {})
        return {f"r@{k}": value for k, value in curve.items()}

    def facts(self, table: str) -> dict[str, float]:
        """Return the images of each split (``"dataset_sizes"``), or the shares of `QuerySet.dataset_places`."""
        return dict(load()[table].get(self._name, {}))

    def sweep(self, study: str, task: str, direction: str, label: str) -> dict[float, float]:
        """Return R@10 at each value of a swept parameter: strength, sigma_geo (degrees), sigma_time (hours) or grid."""
        table = self._pixelprose("sensitivity_r@10").get("lambda" if study == "strength" else study, {"columns": []})
        key = _key(task, direction)
        if label != _CENTRAL or key not in table["columns"]:
            return {}
        column = table["columns"].index(key)
        return {float(row[0]): float(row[column]) for row in table["rows"]}

    def operating_point(self, task: str, direction: str, label: str) -> dict[str, float | None]:
        """Return `strength`, `sigma_geo` (degrees), `sigma_time` (hours), and `retrieval`, its R@10 or MAP."""
        key = (f"{_PREFIXES.get(self._name)}_{task}", DIRECTIONS.get(direction), label)
        for point in load()["operating_points"]:
            if (point["task"], point["direction"], point["method"]) == key:
                return {"strength": point["lam"]} | {n: point[n] for n in ("sigma_geo", "sigma_time", "retrieval")}
        return {}

    def fixed_recall(self, task: str, direction: str, label: str) -> dict[float, float | None]:
        """Return the best DM at each floor on R@10, or None if the method does not meet the floor."""
        table = self._pixelprose("fixed_recall_geo_hour_decrease_dm")
        if (task, direction) != ("geo_hour", "focus") or label not in table:
            return {}
        return dict(zip(table["floors"], table[label], strict=True))

    def displaced(self, tasks: Collection[str], direction: str, label: str) -> dict[str, float]:
        """Return the percentage of queries whose right first result was displaced, and of these, those in another bin.

        The names are those of `run_results.displaced`. The paper counts over its three tasks together, so other sets of
        tasks have no number.
        """
        table = self._pixelprose("top1")
        agreements = table.get("first_pick_agreement_decrease", {})
        if (direction, label) != ("focus", _CENTRAL) or not table or set(tasks) != set(agreements):
            return {}
        other, moved = table["displacements_to_another_primary_bin"]
        queries = load()["protocol"]["pixelprose_test_queries"] * len(agreements)
        return {"displaced, %": 100 * moved / queries, "other bin, %": 100 * other / moved}

    def runtime(self, label: str, sequential: bool = False) -> float | None:
        """Return milliseconds per query on an RTX A6000, N=200, K=20, 424 bins; MASCOT vectorised or sequential."""
        name = f"{label}_{'sequential' if sequential else 'vectorized'}" if label == _CENTRAL else label
        return self._pixelprose("runtime_ms_per_query_a6000_N200_K20_U424").get(name)


def _key(task: str, direction: str) -> str:
    return f"{task}/{DIRECTIONS.get(direction)}"
