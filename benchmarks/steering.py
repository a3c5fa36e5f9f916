"""Measure whether steering does what the wishes ask: balance of labels, aim at a place or hour.

    python -m benchmarks.steering [balance,aim] [--only sample,tokyo,...] [--data DIR] [--queries 120]

**Balance** spreads results over labels of skewed shares. It prints the normalised entropy of the labels in the result
and the relevance retained, by strength, beside the best entropy that the candidates allow.

**Aim** focuses near a value. It prints how many results lie within a radius of the value, as a share of the largest
possible number, at equal relevance retained. MASCOT, which needs no scale, is compared with the exponential decay of
Elasticsearch, tuned to each radius.

`python -m benchmarks.steering dial --data DIR` measures whether the dial is even, see `benchmarks.dial`, and
`python -m benchmarks.steering vectors --data DIR` compares ways to diversify by vectors, see `benchmarks.vectors`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.datasets.dataset import Dataset, Floats, Ints
from mascot.bench.datasets.div400 import Div400
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.methods import KDpp, MsDpp
from mascot.bench.methods.pyversity import STRATEGIES, Pyversity, relevance
from mascot.bench.metrics import relevance_kept
from mascot.bench.protocol.tasks import hours_of

K = 20
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
FINE = tuple(round(step / 20, 2) for step in range(21))
RADII = {"place": (100.0, 500.0, 2000.0), "hour": (1.0, 2.0, 4.0)}  # km, hours
SELLERS = {"a": 0.70, "b": 0.20, "c": 0.07, "d": 0.03}
EQUAL_RELEVANCE = 0.8  # relevance retained at which aims are compared
_TABLES = {
    "tokyo": ("flickr_tokyo_yfcc.csv.gz", "latitude", "longitude", "user_id"),
    "dresden": ("flickr_dresden_cc-by.csv.gz", "lat", "lng", "user_guid"),
}  # file, latitude, longitude, user
NAMES = ("pixelprose-sim", *_TABLES, "div400", "sample")
TABLES = ("balance", "aim")
_SAMPLE_QUERIES = ("sunset", "boats", "church", "food", "mountain", "beach", "snow", "street at night")
_POOL = 200  # candidates of a query drawn from a table of photographs


@dataclass(frozen=True, slots=True)
class SteeringCase:
    """One query: candidates whose labels are to be balanced, and the values to aim at."""

    candidates: mc.Candidates  # with a column "label"
    place: tuple[float, float] | None = None
    hour: float | None = None


def load_cases(name: str, data: Path | None, queries: int, seed: int = 0) -> list[SteeringCase]:
    """Return the queries of one of `NAMES`."""
    if name not in NAMES:
        raise mc.OptionError(f"--only must be one of {', '.join(NAMES)}, got {name!r}")
    rng = np.random.default_rng(seed)
    if name == "pixelprose-sim":
        return list(_of_dataset(PixelProseSim(seed=seed).load(), queries, rng))
    if name == "sample":
        return list(_of_sample(rng))
    if data is None:
        raise mc.OptionError(f"{name} needs --data, the folder that holds its files")
    if name == "div400":
        return list(_of_dataset(Div400(data / "div400").load(), queries, rng, label="user"))
    file, lat, lon, user = _TABLES[name]
    try:
        with gzip.open(data / file, "rt", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise mc.InputError(f"{data / file}: {error.strerror or error}") from None
    columns = {
        "lat": np.array([float(row[lat]) for row in rows]), "lon": np.array([float(row[lon]) for row in rows]),
        "label": np.array([row[user] for row in rows]),
    }  # fmt: skip
    if "date_taken" in rows[0]:
        columns["taken"] = np.array([row["date_taken"] for row in rows])
    return list(_of_table(columns, queries, rng))


def _of_dataset(
    dataset: Dataset, queries: int, rng: np.random.Generator, label: str | None = None
) -> Iterator[SteeringCase]:
    """Yield queries of a benchmark dataset; without a column of labels, sellers of skewed shares are drawn."""
    sellers = rng.choice(list(SELLERS), dataset.images, p=list(SELLERS.values()))
    for query in dataset.splits["test"].queries[:queries].tolist():
        hits = dataset.candidates(query, _POOL, "test")
        columns = {name: column[hits.images] for name, column in dataset.columns.items()}
        columns["label"] = sellers[hits.images] if label is None else columns[label]
        vectors = None if dataset.vectors is None else dataset.vectors[hits.images]
        yield _case(mc.Candidates(hits.scores, columns=columns, vectors=vectors), rng)


def _of_sample(rng: np.random.Generator) -> Iterator[SteeringCase]:
    """Yield queries of the sample library; labels are its cities."""
    from mascot.photos import Library
    from mascot.photos.sample import write_sample

    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder) / "sample")
        with Library.open(Path(folder) / "sample") as library:
            library.index("lite")
            for text in _SAMPLE_QUERIES:
                hits = library.hits(text)
                columns = {name: hits.candidates.columns[name] for name in ("lat", "lon", "taken", "city")}
                yield _case(mc.Candidates(hits.scores, columns={**columns, "label": columns["city"]}), rng)


def _of_table(columns: dict[str, Any], queries: int, rng: np.random.Generator) -> Iterator[SteeringCase]:
    """Yield queries over a table of photographs: random candidates with descending scores."""
    count = len(columns["lat"])
    for _ in range(queries):
        rows = rng.choice(count, min(_POOL, count), replace=False)
        candidate_columns = {name: column[rows] for name, column in columns.items()}
        yield _case(mc.Candidates(np.sort(rng.beta(2, 5, len(rows)))[::-1], columns=candidate_columns), rng)


def _case(candidates: mc.Candidates, rng: np.random.Generator) -> SteeringCase:
    """Return a query that aims at the place and hour of a random candidate."""
    columns = candidates.columns
    target = int(rng.integers(len(candidates)))
    lat, lon = (float(columns[name][target]) if name in columns else np.nan for name in ("lat", "lon"))
    place = None if np.isnan(lat) else (lat, lon)
    hour = float(hours_of(columns)[target]) if "taken" in columns else np.nan
    return SteeringCase(candidates, place, None if np.isnan(hour) else hour)


def methods_at(strength: float) -> dict[str, Any]:
    """Return every method that can spread labels, at one strength."""
    methods: dict[str, Any] = {"mascot": mc.Mascot(strength), "mmr": mc.Mmr(strength)}
    methods |= {"k-dpp": KDpp(strength, beta=0.0), "ms-dpp": MsDpp(strength, beta=0.0)}
    return methods | {f"pyversity {strategy}": Pyversity(strategy, strength) for strategy in STRATEGIES}


def entropy_of(labels: Sequence[Any], groups: int) -> float:
    """Return the entropy of label counts, divided by that of `groups` even groups."""
    if groups <= 1 or not labels:
        return 1.0
    shares = np.array(list(Counter(labels).values()), float) / len(labels)
    return float(-(shares * np.log(shares)).sum() / np.log(groups))


def best_entropy(available: Sequence[Any], k: int, groups: int) -> float:
    """Return the entropy of the most even k labels that are possible."""
    counts = Counter(available)
    picks: Counter[Any] = Counter()
    for _ in range(min(k, len(available))):
        label = min((label for label in counts if picks[label] < counts[label]), key=lambda label: picks[label])
        picks[label] += 1
    return entropy_of(list(picks.elements()), groups)


def balance(
    cases: Sequence[SteeringCase], k: int = K, strengths: Sequence[float] = STRENGTHS
) -> dict[str, list[tuple[float, float, float]]]:
    """Return how evenly each method spreads the labels, by strength, as means over the cases.

    They are the entropy of the labels in the result (1 is even), that of the most even result that the candidates
    allow, and the share of the best possible summed relevance.
    """

    def measured(candidates: mc.Candidates, method: Any) -> tuple[float, float, float]:
        labels = candidates.columns["label"].tolist()
        groups = min(len(set(labels)), k)
        plain = mc.Candidates(candidates.scores, columns={"label": candidates.columns["label"]})
        positions = mc.rerank(plain, mc.spread("label"), k, method).positions
        entropy = entropy_of([labels[i] for i in positions], groups)
        return entropy, best_entropy(labels, k, groups), _retained(candidates.scores, positions)

    rows: dict[str, list[tuple[float, float, float]]] = {}
    for strength in strengths:
        for name, method in methods_at(strength).items():
            means = np.mean([measured(case.candidates, method) for case in cases], axis=0)
            rows.setdefault(name, []).append(tuple(means.tolist()))
    return rows


def _retained(scores: Floats, positions: Ints) -> float:
    return float(relevance_kept(relevance(scores)[None], positions[None])[0])


def aim(cases: Sequence[SteeringCase], target: str, k: int = K) -> dict[str, list[float]]:
    """Return for each method the share of results within each of `RADII`, when all retain the same relevance.

    The share is a mean over the cases that have the target, ``"place"`` or ``"hour"``, and is of what could be had.
    """
    curves: dict[str, list[tuple[Floats, Floats]]] = {}
    for case in cases:
        if getattr(case, target) is not None:
            distances = _distances(case, target)
            selections = {"mascot": _ours(case, target, k)}
            selections |= {f"decay {radius:g}": _decay(case, distances, radius, k) for radius in RADII[target]}
            for name, positions in selections.items():
                curves.setdefault(name, []).append(_curve(case, distances, RADII[target], positions))
    shares = {}
    for name, parts in curves.items():
        retained, within = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        order = np.argsort(retained)
        shares[name] = [float(np.interp(EQUAL_RELEVANCE, retained[order], column)) for column in within[order].T]
    return shares


def _distances(case: SteeringCase, target: str) -> Floats:
    columns = case.candidates.columns
    if target == "hour":
        assert case.hour is not None
        hours = np.abs(hours_of(columns) - case.hour)
        return np.asarray(np.minimum(hours, 24 - hours))
    assert case.place is not None
    lat, lon = np.radians(columns["lat"].astype(float)), np.radians(columns["lon"].astype(float))
    lat_0, lon_0 = np.radians(case.place)
    haversine = np.sin((lat - lat_0) / 2) ** 2 + np.cos(lat) * np.cos(lat_0) * np.sin((lon - lon_0) / 2) ** 2
    return np.asarray(2 * 6371.0088 * np.arcsin(np.sqrt(np.minimum(haversine, 1.0))))


def _ours(case: SteeringCase, target: str, k: int) -> Iterator[Ints]:
    wish = mc.focus(mc.Place(), near=case.place) if target == "place" else mc.focus(mc.HourOfDay(), near=case.hour)
    for strength in FINE:
        yield mc.rerank(case.candidates, wish, k, mc.Mascot(strength, protect=0)).positions


def _decay(case: SteeringCase, distances: Floats, scale: float, k: int) -> Iterator[Ints]:
    """Yield selections by relevance blended with 0.5 ** (distance / scale), Elasticsearch's exponential decay."""
    near = np.where(np.isnan(distances), 0.0, 0.5 ** (distances / scale))
    for strength in FINE:
        blend = (1 - strength) * relevance(case.candidates.scores) + strength * near
        yield np.argsort(-blend, kind="stable")[:k]


def _curve(
    case: SteeringCase, distances: Floats, radii: Sequence[float], selections: Iterator[Ints]
) -> tuple[Floats, Floats]:
    """Return the relevance retained and, as a share of the possible, the results within each radius, by strength."""
    inside = distances[:, None] <= np.array(radii)  # [N, radii]
    retained, within = [], []
    for positions in selections:
        retained.append(_retained(case.candidates.scores, positions))
        most = np.minimum(len(positions), inside.sum(axis=0))
        within.append(inside[positions].sum(axis=0) / np.maximum(most, 1))
    return np.array(retained), np.array(within)


def balance_table(name: str, cases: Sequence[SteeringCase]) -> str:
    """Return the table of balance: entropy and relevance by strength, a line for each method."""
    rows = balance(cases)
    best = next(iter(rows.values()))[0][1]
    lines = [f"Balance, {name}: entropy (relevance retained) by strength; best possible {best:.3f}"]
    lines.append(_line("", [f"{strength:g}" for strength in STRENGTHS], 16))
    for method, steps in rows.items():
        lines.append(_line(method, [f"{entropy:.3f} ({retained:.2f})" for entropy, _, retained in steps], 16))
    return "\n".join([*lines, ""])


def aim_table(name: str, cases: Sequence[SteeringCase]) -> str:
    """Return the table of aim: share within each radius at equal relevance, a line for each method."""
    lines = []
    for target, unit in (("place", "km"), ("hour", "h")):
        if rows := aim(cases, target):
            relevance_text = f"{EQUAL_RELEVANCE:.0%} of relevance retained"
            lines.append(f"Aim, {name}, {target}: share within a radius at {relevance_text}")
            lines.append(_line("", [f"{radius:g} {unit}" for radius in RADII[target]], 12))
            lines += [_line(method, [f"{share:.3f}" for share in shares], 12) for method, shares in rows.items()]
            lines.append("")
    return "\n".join(lines)


def _line(name: str, cells: Sequence[str], width: int) -> str:
    return f"{name:<18}" + "".join(cell.rjust(width) for cell in cells)


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["vectors"]:
        from benchmarks import vectors

        vectors.main(arguments[1:])
        return
    if arguments[:1] == ["dial"]:
        from benchmarks import dial

        dial.main(arguments[1:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "tables", nargs="?", default="balance,aim", help=f"some of {','.join(TABLES)} (default: balance,aim)"
    )
    parser.add_argument("--only", metavar="NAMES", help=f"datasets, separated by commas: {', '.join(NAMES)}")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the tables of photographs")
    parser.add_argument("--queries", type=int, default=120, help="number of queries per dataset (default: 120)")
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else NAMES[:-1] if options.data else NAMES[:1]
    for name in names:
        try:
            cases = load_cases(name, options.data, options.queries)
        except mc.MascotError as error:
            parser.error(str(error))
        makers = {"balance": balance_table, "aim": aim_table}
        for table in options.tables.split(","):
            if table not in makers:
                parser.error(f"no table is called {table!r}; there are {', '.join(TABLES)}")
            print(makers[table](name, cases), flush=True)


if __name__ == "__main__":
    main()
