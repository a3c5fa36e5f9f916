"""Selections do not change within a minor version: stored problems and their results (tests/golden/selections.json).

`python -m tests.test_golden` adds the results of new problems. It refuses to change a stored result unless the minor
version of the package has changed.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mascot as mc

FILE = Path(__file__).parent / "golden" / "selections.json"
PLACE, HOUR, PRICE = mc.Place(), mc.HourOfDay("taken"), mc.Number("price", scale="linear")
WISHES: list[list[mc.AnyWish]] = [
    [],
    [mc.spread(PLACE)],
    [mc.spread("city"), mc.focus(HOUR, near=18)],
    [mc.spread(PRICE), mc.spread("tags")],
    [mc.focus("city", near="Rome"), mc.spread(HOUR)],
    [mc.focus(PRICE, near=50, within=20)],
    [mc.spread(mc.Vectors())],
]
RULES: list[list[mc.AnyWish]] = [
    [mc.limit("city", 2)],
    [mc.limit("city", 1, window=3), mc.spread("tags")],
    [mc.share("city", {"Rome": 0.5, "Oslo": 0.25})],
    [mc.share("used", {True: 0.3}, bound="at least"), mc.limit("city", 3)],
    [mc.at_least("tags", {"new": 3}), mc.spread(PLACE)],
]
METHODS: list[Any] = [
    mc.Mascot(), mc.Mascot(0.9), mc.Mascot(keep=0.95), mc.Mascot.paper(0.5), mc.Mmr(0.5), mc.Relevance(),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [{}, {"pin": [7, 3]}, {"already": [0, 1, 2, 3, 4]}]


def minor(version: str) -> str:
    """Return the part of a version within which selections stay: the major and minor number."""
    return ".".join(version.split(".")[:2])


def stored() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def selection(lists: dict[str, Any], problem: dict[str, Any], backend: Any = "auto") -> list[int]:
    wishes, method = [mc.from_dict(wish) for wish in problem["wishes"]], mc.from_dict(problem["method"])
    row = lists[problem["candidates"]]
    candidates = mc.Candidates(row["scores"], columns=row["columns"], vectors=row["vectors"])
    ranking = mc.rerank(candidates, wishes, 10, method, backend=backend, **problem["options"])
    return ranking.positions.tolist()


def test_the_file_is_of_this_minor_version() -> None:
    assert minor(stored()["version"]) == minor(mc.__version__), "run `python -m tests.test_golden`"


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_selections_are_those_of_the_first_release_of_this_minor_version(backend: str) -> None:
    golden = stored()
    assert [problem for problem in current_problems() if problem not in unsolved(golden)] == []
    for problem in golden["problems"]:
        assert selection(golden["candidates"], problem, backend) == problem["selection"], problem


def test_a_stored_selection_changes_with_the_minor_version_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = stored()
    golden["problems"][0]["selection"].reverse()
    copy = tmp_path / "selections.json"
    monkeypatch.setattr(f"{__name__}.FILE", copy)
    copy.write_text(json.dumps(golden), encoding="utf-8")
    with pytest.raises(SystemExit, match="changed within"):
        write()
    copy.write_text(json.dumps({**golden, "version": "0.0.9"}), encoding="utf-8")
    write()
    assert stored()["version"] == mc.__version__


def random_lists() -> dict[str, Any]:
    """Return lists of candidates. Their values are stored, because the generator of random numbers may change."""
    lists = {}
    for name, rows, seed in (("forty", 40, 0), ("ties", 25, 1)):
        rng = np.random.default_rng(seed)
        digits = 1 if name == "ties" else 4
        lists[name] = {
            "scores": rng.random(rows).round(digits).tolist(),
            "columns": {
                "city": rng.choice(["Rome", "Oslo", "Lima", None], rows, p=[0.5, 0.25, 0.15, 0.1]).tolist(),
                "tags": [sorted(set(rng.choice(["new", "red", "big"], 2).tolist())) for _ in range(rows)],
                "used": (rng.random(rows) < 0.2).tolist(),
                "price": rng.integers(5, 100, rows).tolist(),
                "taken": (rng.random(rows) * 24).round(digits).tolist(),
                "lat": rng.uniform(-60, 70, rows).round(digits).tolist(),
                "lon": rng.uniform(-180, 180, rows).round(digits).tolist(),
            },
            "vectors": rng.normal(size=(rows, 4)).round(3).tolist(),
        }
    return lists


def current_problems() -> list[dict[str, Any]]:
    """Return the problems to store, as JSON reads them."""
    cases = [
        *product(random_lists(), WISHES + RULES, METHODS, OPTIONS[:1]),
        *product(random_lists(), WISHES + RULES, METHODS[:1], OPTIONS[1:]),
    ]
    problems = [
        {
            "candidates": name,
            "wishes": [wish.to_dict() for wish in wishes],
            "method": method.to_dict(),
            "options": options,
        }
        for name, wishes, method, options in cases
    ]
    return list(json.loads(json.dumps(problems)))


def unsolved(golden: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stored problems without their selections."""
    return [{key: value for key, value in problem.items() if key != "selection"} for problem in golden["problems"]]


def write() -> None:
    golden = stored() if FILE.exists() else {"version": mc.__version__, "candidates": random_lists(), "problems": []}
    golden["problems"] += [problem for problem in current_problems() if problem not in unsolved(golden)]
    is_new_version = minor(golden["version"]) != minor(mc.__version__)
    for problem in golden["problems"]:
        result = selection(golden["candidates"], problem)
        if problem.get("selection", result) != result and not is_new_version:
            raise SystemExit(f"the selection changed within {minor(mc.__version__)}: {problem}, now {result}")
        problem["selection"] = result
    golden["version"] = mc.__version__
    problems = ",\n".join(json.dumps(problem) for problem in golden["problems"])
    head = json.dumps({"version": golden["version"], "candidates": golden["candidates"]})
    FILE.write_text(f'{head[:-1]}, "problems": [\n{problems}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    write()
