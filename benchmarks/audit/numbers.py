"""Compare the settings and the published numbers of the package with the paper.

The numbers of the package are those of `published.json`. Where the source of the paper is at hand
(`../shared/paper/mascot.tex`), its tables are read, and every number is compared with that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.audit.selections import TASKS, agree
from mascot.bench.prepare.preparation import permutation
from mascot.bench.protocol.published import load
from mascot.bench.protocol.search_space import BETAS, COVERAGE, DPPS, THETAS, WIDE, published, settings
from mascot.bench.protocol.tasks import FOCUS, GEO_HOUR, SPREAD

_PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper" / "mascot.tex"
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+|(?<![\w.-])\d+(?![\w.])")
_LABELS = [
    "base", "clustering", "mmr", "k-dpp", "ms-dpp", "ms-dpp+tn", "ms-dpp+tn+tvms", "prob-coverage", "no-normalization",
    "uniform-binning", "mascot",
]  # fmt: skip
_DATASETS = {"PP": "pixelprose", "VG": "visual-genome", "I1M": "incidents1m"}
_KNOWN = [930, 653, 482, 217, 974]  # the beginning of torch.randperm(996) with seed 42
_DIRECTIONS = {"increase": SPREAD, "decrease": FOCUS}


@cache
def _paper_rows(label: str) -> list[list[float]] | None:
    """Return the numbers of each row of a table of the paper; None without its source."""
    if not _PAPER.is_file():
        return None
    body = _PAPER.read_text(encoding="utf-8").partition(rf"\label{{tab:{label}}}")[0].rpartition(r"\begin{tabular}")[2]
    lines = body.partition(r"\end{tabular}")[0].partition(r"\midrule")[2].replace("{,}", "").splitlines()
    cells = [re.sub(r"\\multirow\{\d+\}", "", line).partition("&")[2] for line in lines]
    rows = [[float(number) for number in _NUMBER.findall(line)] for line in cells]
    return [row for row in rows if row]


def _same(label: str, ours: Iterable[Iterable[Any]]) -> str:
    """Compare rows of `published.json` with a table of the paper, and return how many numbers were compared."""
    rows = [[number for number in row if number is not None] for row in ours]
    rows = [row for row in rows if row]
    count = sum(map(len, rows))
    theirs = _paper_rows(label)
    if theirs is None:
        return f"{count} numbers of published.json (the source of the paper is not at hand)"
    agree(rows == theirs, f"table {label} of the paper differs from published.json")
    return f"{count} numbers equal the table of the paper"


def _main(tables: Iterable[Any], measure: str = "r@10") -> list[list[float]]:
    parts = list(tables)
    labels = [label for label in _LABELS if label in parts[0]]
    return [[part[label][key] for part in parts for key in ("hm", measure, "dm")] for label in labels]


def pixelprose_table(direction: str) -> str:
    tables = load()["pixelprose"][direction]
    return _same(direction, _main(tables[task] for task in TASKS))


def other_table(name: str, label: str) -> str:
    tables = load()[name]
    measure = "map" if name == "incidents1m" else "r@10"
    return _same(label, _main((tables["increase"], tables["decrease"]), measure))


def prs_table() -> str:
    return _same("prs_score", (row.values() for row in load()["prs"].values()))


def sweep_table(name: str, label: str) -> str:
    # The first cell of a row is the swept value, which the reader of the paper's rows leaves out.
    return _same(label, (row[1:] for row in load()["sensitivity_r@10"][name]["rows"]))


def fixed_recall_table() -> str:
    table = load()["fixed_recall_geo_hour_decrease_dm"]
    return _same("fixed_recall", (row for name, row in table.items() if name != "floors"))


def mixed_table() -> str:
    names = ("lam", "r@10", "geo_v", "time_v", "hm")
    return _same("mixed", ([row[name] for name in names] for row in load()["mixed_direction_K10"]))


def appearance_table() -> str:
    rows = []
    for direction, looks in load()["appearance_img_vendi_geo_hour"].items():
        main = load()["pixelprose"][direction]["geo_hour"]
        rows += [[value, main[label]["dm"], main[label]["r@10"]] for label, value in looks.items()]
    return _same("appearance", rows)


def runtime_table() -> str:
    return _same("runtime", ([value] for value in load()["runtime_ms_per_query_a6000_N200_K20_U424"].values()))


def sizes_table() -> str:
    """Compare the sizes, and the split of a fifth, rounded down."""
    sizes = load()["dataset_sizes"]
    order = ("visual_genome", "incidents1m", "pixelprose", "skyscript")
    rows = [[*(float(n) for n in sizes[name].values()), float(sum(sizes[name].values()))] for name in order]
    for validation, _, total in rows:
        agree(validation == total // 5, f"{validation} of {total} for validation")
    return _same("dataset_sizes", rows) + "; validation is a fifth, rounded down"


def operating_points() -> str:
    """Compare the 30 printed operating points with those that the package runs."""
    printed, rows = load()["operating_points"], []
    for point in printed:
        prefix, _, task = point["task"].partition("_")
        setting: Any = published(point["method"], TASKS[task], _DIRECTIONS[point["direction"]], _DATASETS[prefix])
        agree(setting is not None, f"no point for {point}")
        agree(setting.method.strength == point["lam"], f"another strength than {point}")
        for name, width in (("geo", "sigma_geo"), ("hour", "sigma_time")):
            agree(point[width] in (None, getattr(setting.widths, name)), f"another width than {point}")
        rows.append([point[name] for name in ("lam", "sigma_geo", "sigma_time", "retrieval")])
    return f"{len(printed)} operating points are run as printed; {_same('hyperparams', rows)}"


def pixelprose_grids() -> str:
    """Compare the search grids with those of the paper."""
    grids, count = load()["grid_search"], 0
    for label in COVERAGE:
        points: list[Any] = settings(label, GEO_HOUR, FOCUS)
        expected = set(product(*(map(float, grids[label][name]) for name in ("lam", "sigma_geo", "sigma_time"))))
        actual = {(point.method.strength, point.widths.geo, point.widths.hour) for point in points}
        agree(actual == expected, f"another grid of {label}")
        count += len(points)
    others: dict[str, list[Any]] = {name: settings(name, GEO_HOUR, FOCUS) for name in ("mmr", "clustering", *DPPS)}
    agree([p.method.strength for p in others["mmr"]] == grids["mmr"]["lam"], "another grid of MMR")
    counts = [p.method.clusters for p in others["clustering"]]
    agree(counts == grids["clustering"]["n_clusters"], "another grid of clustering")
    agree([list(BETAS), list(THETAS)] == list(grids["dpp family"].values()), "another grid of the DPPs")
    return f"{count + sum(map(len, others.values()))} settings of {len(COVERAGE) + len(others)} methods as printed"


def wide_grids() -> str:
    """Check the grids of the three other datasets, and that they hold the printed points."""
    strengths = [round(step / 10, 1) for step in range(1, 10)]
    for name, label in product(WIDE, COVERAGE):
        points: list[Any] = settings(label, GEO_HOUR, FOCUS, name)
        actual = {(point.method.strength, point.widths.geo, point.widths.hour) for point in points}
        agree(actual == set(product(strengths, (1.0, 5.0, 10.0, 15.0), (0.5, 1.5, 3.0))), f"another grid on {name}")
    for name in WIDE:
        others: list[Any] = [*settings("clustering", GEO_HOUR, FOCUS, name), *settings("mmr", GEO_HOUR, FOCUS, name)]
        agree([p.method.clusters for p in others[:3]] == [40, 60, 80], f"another grid of clustering on {name}")
        agree([p.method.strength for p in others[3:]] == strengths, f"another grid of MMR on {name}")
    return "strengths 0.1 to 0.9, all widths, 40, 60 and 80 clusters on three datasets"


def split() -> str:
    """Compare the permutation with torch's; without torch, with its known beginning."""
    agree(permutation(996, 42)[:5].tolist() == _KNOWN, f"the permutation of 996 begins {permutation(996, 42)[:5]}")
    shared = len(set(permutation(199, 42)[:50].tolist()) & set(range(50)))
    agree(shared == 18, f"{shared} of the 50 captions are among the first 50 rows")
    try:
        import torch
    except ImportError:
        return "the beginning of torch.randperm(996), seed 42 (torch is not installed)"
    for count in (683, 996, 15_650, 26_517):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(42)).tolist()
        agree(permutation(count, 42).tolist() == order, f"the permutation of {count}")
    return "equal to torch.randperm with seed 42 for 683, 996, 15,650 and 26,517"
