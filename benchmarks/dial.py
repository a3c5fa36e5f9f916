"""Measure whether the dial is even, and whether pages hold: `python -m benchmarks.steering dial --data DIR`.

**Dial**: how far strength 0.5 is from the plain page (strength 0) to the end of the dial (strength 1), for each
attribute alone, spread and focus, by the attribute's own count: distinct labels, clock hours, or bins of its axis or
globe; for vectors the mean cosine distance of two results. Beside it the relevance that the default keeps (scores
scaled to 0..1 over the candidates). Missing values count as one value. A dial that changes the count by less than one
value has no way.

**Stray**: how many pages stay the same when one unrelated candidate with a score far below the others is added.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mascot as mc
from benchmarks.vectors import manuals, recommendations
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.datasets.div400 import Div400
from mascot.bench.methods.pyversity import relevance
from mascot.wishes import Wish

K = 20
_SIZE = 200  # candidates of a list
Lists = dict[str, list[dict[str, Any]]]  # of each dataset: columns of N values, "scores" and perhaps "vectors"

ATTRIBUTES: dict[str, dict[str, Any]] = {  # of each dataset: attributes by a name that begins with their kind
    "manuals": {"labels page": mc.Category("page"), "vectors": mc.Vectors()},
    "tokyo": {
        "labels user": mc.Category("user"), "place": mc.Place(), "hour": mc.HourOfDay("taken"),
        "date": mc.Date("taken"),
    },
    "dresden": {"labels user": mc.Category("user"), "place": mc.Place(), "date": mc.Date("taken")},
    "oldnyc": {
        "labels borough": mc.Category("borough"), "labels street": mc.Category("street"),
        "number year": mc.Number("year"), "place": mc.Place(),
    },
    "movielens": {
        "labels genres": mc.Category("genres"), "labels genre": mc.Category("genre"), "number year": mc.Number("year"),
        "vectors": mc.Vectors(),
    },
    "div400": {
        "labels user": mc.Category("user"), "place": mc.Place(), "hour": mc.HourOfDay("taken"),
        "date": mc.Date("taken"), "vectors": mc.Vectors(),
    },
    "products": {"labels brand": mc.Category("brand"), "number price": mc.Number("price")},
}  # fmt: skip


def lists(folder: Path, count: int) -> Lists:
    """Return at most `count` lists of each dataset."""
    rng = np.random.default_rng(0)
    return {
        "manuals": [
            {"scores": own.scores, "vectors": own.vectors, "page": own.groups.tolist()}
            for own in manuals(folder)[:count]
        ],
        "tokyo": list(_tokyo(folder, count, rng)),
        "dresden": list(_dresden(folder, count, rng)),
        "oldnyc": list(_oldnyc(folder, count, rng)),
        "movielens": list(_movielens(folder / "movielens", count)),
        "div400": list(_div400(folder))[:count],
        "products": [_products(rng) for _ in range(count)],
    }


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _tokyo(folder: Path, count: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield random photographs; half of the lists have ranks for scores, half a beta distribution."""
    rows = _rows(folder / "flickr_tokyo_yfcc.csv.gz")
    for number in range(count):
        own = [rows[i] for i in rng.choice(len(rows), _SIZE, replace=False)]
        scores = 1 / (60 + np.arange(float(_SIZE))) if number % 2 else np.sort(rng.beta(2, 5, _SIZE))[::-1]
        yield {
            "scores": scores, "lat": [float(row["latitude"]) for row in own],
            "lon": [float(row["longitude"]) for row in own], "user": [row["user_id"] for row in own],
            "taken": [row["date_taken"][:19] for row in own],
        }  # fmt: skip


def _dresden(folder: Path, count: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the photographs with a tag; those with few other tags have high scores."""
    rows = _rows(folder / "flickr_dresden_cc-by.csv.gz")
    tags = [set(filter(None, row["hashtags"].split(";"))) for row in rows]
    often = Counter(tag for own in tags for tag in own)
    for tag in rng.permutation(sorted(tag for tag, number in often.items() if _SIZE <= number <= 4000))[:count]:
        at = rng.permutation([i for i, own in enumerate(tags) if tag in own])[:_SIZE]
        scores = np.array([len(tags[i]) ** -0.5 for i in at]) + 1e-3 * rng.random(_SIZE)
        at, scores = at[np.argsort(-scores)], -np.sort(-scores)
        yield {
            "scores": scores, "lat": [float(rows[i]["lat"]) for i in at], "lon": [float(rows[i]["lng"]) for i in at],
            "user": [rows[i]["user_guid"] for i in at], "taken": [rows[i]["post_create_date"] for i in at],
        }  # fmt: skip


def _oldnyc(folder: Path, count: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield historic photographs that BM25 finds for two words."""
    with gzip.open(folder / "oldnyc.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    texts = [Counter(re.findall(r"[a-z]+", f"{row['title']} {row['caption']}".lower())) for row in rows]
    found = defaultdict(list)
    for i, text in enumerate(texts):
        for word in text:
            found[word].append(i)
    length = np.array([text.total() for text in texts])
    words = sorted(word for word, at in found.items() if 100 <= len(at) <= 3000 and len(word) > 3)
    while count > 0:
        scores: dict[int, float] = defaultdict(float)
        for word in rng.choice(words, 2, replace=False).tolist():
            rarity = np.log(1 + (len(rows) - len(found[word]) + 0.5) / (len(found[word]) + 0.5))
            for i in found[word]:
                times = texts[i][word]
                scores[i] += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length[i] / length.mean()))
        if len(scores) < _SIZE:
            continue
        at = sorted(scores, key=lambda i: (-scores[i], i))[:_SIZE]
        years = [str(rows[i]["years"][0])[:4] if rows[i]["years"] else "" for i in at]
        yield {
            "scores": np.array([scores[i] for i in at]), "lat": [rows[i]["lat"] for i in at],
            "lon": [rows[i]["lon"] for i in at], "borough": [rows[i]["title"].split(":")[0] for i in at],
            "street": [rows[i]["title"].split(" - ")[0] for i in at],
            "year": [float(year) if year.isdigit() else np.nan for year in years],
        }  # fmt: skip
        count -= 1


def _movielens(folder: Path, count: int) -> Iterator[dict[str, Any]]:
    """Yield recommended films with their genres (all, and the first) and years."""
    films = pd.read_csv(folder / "movies.csv.gz").set_index("movieId")
    for question in recommendations(pd.read_csv(folder / "ratings.csv.gz"), 0)[:count]:
        rows = films.loc[question.items]
        genres = [tuple(text.split("|")) for text in rows["genres"]]
        years = rows["title"].str.extract(r"\((\d{4})\)\s*$")[0].astype(float)
        yield {
            "scores": question.scores, "vectors": question.vectors, "genres": genres,
            "genre": [own[0] for own in genres], "year": years.to_list(),
        }  # fmt: skip


def _div400(folder: Path) -> Iterator[dict[str, Any]]:
    dataset = Div400(folder / "div400").load()
    assert dataset.vectors is not None
    for hits in dataset.hits(10_000):
        columns = {name: dataset.columns[name][hits.images] for name in ("lat", "lon", "user", "taken")}
        yield {"scores": np.asarray(hits.scores), "vectors": dataset.vectors[hits.images], **columns}


def _products(rng: np.random.Generator) -> dict[str, Any]:
    """Return products of 40 brands, each with lognormal prices of its own level."""
    shares = 1 / np.arange(1, 41)
    brand = rng.choice(40, _SIZE, p=shares / shares.sum())
    price = np.exp(rng.normal(3, 0.8, _SIZE) + 0.3 * rng.normal(size=40)[brand])
    scores = rng.beta(2, 5, _SIZE) + 0.05 * rng.normal(size=40)[brand]
    order = np.argsort(-scores)
    return {"scores": scores[order], "brand": [str(own) for own in brand[order]], "price": price[order]}


def candidates_of(own: dict[str, Any], name: str) -> mc.Candidates:
    """Return a list as candidates: with vectors if the attribute reads them, otherwise with columns."""
    if name == "vectors":
        return mc.Candidates(own["scores"], vectors=np.asarray(own["vectors"], np.float32))
    columns = {key: values for key, values in own.items() if key not in ("scores", "vectors")}
    return mc.Candidates(own["scores"], columns=columns)


def counter_of(own: dict[str, Any], name: str, wish: Wish) -> Callable[[Ints], float]:
    """Return a function that counts the values of a page, or the mean cosine distance of its vectors."""
    if name == "vectors":
        vectors = np.asarray(own["vectors"], np.float64)
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return lambda page: float(1 - (unit[page] @ unit[page].T)[np.triu_indices(len(page), 1)].mean())
    if name == "hour":
        values: list[Any] = [{str(value)[11:13]} for value in own["taken"]]
    elif name.startswith("labels"):
        attribute: Any = wish.attribute
        column = own[attribute.column]
        values = [set(value) if isinstance(value, (list, tuple)) else {value} for value in column]
    else:
        candidates = candidates_of(own, name)
        bins = wish.bins(candidates.columns, None, len(candidates))
        membership = bins.sparse().compact()[0].dense()
        values = [{int(row.argmax()) if row.any() else -1} for row in membership]
    return lambda page: float(len(set().union(*(values[i] for i in page))))


def dial(own: list[dict[str, Any]], name: str, wish: Wish) -> tuple[Floats, float]:
    """Return the mean count at strengths 0, 0.5 and 1, and the mean relevance kept at the default."""
    counts, kept = [], []
    for row in own:
        candidates, count = candidates_of(row, name), counter_of(row, name, wish)
        pages = [mc.rerank(candidates, wish, K, strength=strength).positions for strength in (0.0, 0.5, 1.0)]
        counts.append([count(page) for page in pages])
        scaled, page = relevance(row["scores"]), mc.rerank(candidates, wish, K).positions
        kept.append(scaled[page].sum() / max(np.sort(scaled)[::-1][: len(page)].sum(), 1e-12))
    return np.mean(counts, axis=0), float(np.mean(kept))


def dial_table(data: Lists) -> None:
    print(f"Dial, k={K}: mean count at strength 0, 0.5, 1; the way at 0.5 (bar: 0.4 to 0.6); kept by the default")
    ways: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for dataset, attributes in ATTRIBUTES.items():
        for name, attribute in attributes.items():
            for direction, wish in (("spread", mc.spread(attribute)), ("focus", mc.focus(attribute))):
                (plain, middle, end), kept = dial(data[dataset], name, wish)
                is_short = name != "vectors" and abs(end - plain) < 1  # the dial has no way to go
                way = float("nan") if is_short else float((middle - plain) / (end - plain))
                ways[name.split()[0], direction].append((way, kept))
                print(
                    f"{dataset:<10}{name:<15}{direction:<7}{len(data[dataset]):4} lists  "
                    f"{plain:6.2f} {middle:6.2f} {end:6.2f}   way {way:5.2f}   kept {kept:.3f}",
                    flush=True,
                )
    for (kind, direction), own in ways.items():
        way, kept = np.nanmean(own, axis=0)
        print(f"mean      {kind:<15}{direction:<7}{len(own):4} datasets{'':22}way {way:5.2f}   kept {kept:.3f}")


def stray_table(data: Lists) -> None:
    """Print how many pages of labels, places and vectors stay the same beside one stray candidate."""
    print("\nStray: pages that stay the same if one candidate with a score of 0 or less is added (bar: 90%)")
    for dataset, attributes in ATTRIBUTES.items():
        for name, attribute in attributes.items():
            for direction, wish in (("spread", mc.spread(attribute)), ("focus", mc.focus(attribute))):
                same = 0
                for number, own in enumerate(data[dataset]):
                    pages = [
                        set(mc.rerank(candidates_of(row, name), wish, K).positions.tolist())
                        for row in (own, _with_stray(own, np.random.default_rng(number)))
                    ]
                    same += pages[0] == pages[1]
                print(f"{dataset:<10}{name:<15}{direction:<7}{same:4} of {len(data[dataset])}", flush=True)


def _with_stray(own: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return a list with another candidate, whose values are those of a random one."""
    scores, at = np.asarray(own["scores"]), int(rng.integers(len(own["scores"])))
    low = 0.0 if scores.min() > 0 else scores.min() - 3 * np.ptp(scores)
    columns: dict[str, Any] = {
        key: [*values, values[at]] for key, values in own.items() if key not in ("scores", "vectors")
    }
    if "vectors" in own:
        columns["vectors"] = np.vstack([own["vectors"], rng.normal(size=(1, len(own["vectors"][0])))])
    return {"scores": np.append(scores, low), **columns}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="?", default="dial,stray", help="some of dial,stray (default: both)")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the datasets")
    parser.add_argument("--lists", type=int, default=40, help="lists of each dataset (default: 40)")
    options = parser.parse_args(arguments)
    data = lists(options.data, options.lists)
    for table in options.tables.split(","):
        {"dial": dial_table, "stray": stray_table}[table](data)
