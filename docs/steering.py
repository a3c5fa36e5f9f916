"""Draw the pictures of README.md and docs/method.md, results before and after: `python -m docs.steering`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import mascot as mc
from mascot.attributes import Clusters
from mascot.cli import example

FIGURES = Path(__file__).parent / "figures"
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
GREY, BLUE, ORANGE = "#b8bec6", "#2b6cb0", "#dd6b20"
PALETTE = ("#2b6cb0", "#dd6b20", "#2f855a", "#b83280", "#6b46c1", "#b7791f", "#0987a0", "#c53030", "#4a5568", "#975a16")


def draw_ten_rows(path: Path) -> None:
    """Ten results of "sunset over water": by relevance, and spread over places; one colour per city."""
    hits, records = example.candidates(), example.records()
    steered = mc.rerank(hits, mc.spread(mc.Place()), k=10)
    lists = {"by relevance": mc.rerank(hits, [], k=10), "spread over places": steered}
    cities = list(dict.fromkeys(records[i]["city"] for page in lists.values() for i in page.positions))
    share = steered.relevance.sum() / lists["by relevance"].relevance.sum()
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.set(xlim=(0, 2), ylim=(10.7, -0.4))
    axes.axis("off")
    for column, (title, page) in enumerate(lists.items()):
        names = {records[i]["city"] for i in page.positions}
        count = f"{len(names)} {'city' if len(names) == 1 else 'cities'}"
        note = f"{count}, {share:.0%} of the relevance" if column else count
        axes.text(column + 0.02, 0.1, title, weight="bold", size=12)
        axes.text(column + 0.93, 0.1, note, ha="right", size=9, color="#4a5568")
        for row, (position, was) in enumerate(zip(page.positions, page.was, strict=True), 1):
            record = records[position]
            colour = PALETTE[cities.index(record["city"]) % len(PALETTE)]
            axes.add_patch(plt.Rectangle((column + 0.02, row - 0.4), 0.91, 0.8, color=colour, alpha=0.16, lw=0))
            axes.add_patch(plt.Rectangle((column + 0.02, row - 0.4), 0.012, 0.8, color=colour, lw=0))
            axes.text(column + 0.05, row, str(row), va="center", size=9, color="#4a5568")
            axes.text(column + 0.11, row, record["id"].replace("-", " "), va="center", size=9)
            axes.text(column + 0.52, row, record["city"], va="center", size=9, color=colour, weight="bold")
            if was != row:
                axes.text(column + 0.91, row, f"was {was}", va="center", ha="right", size=8, color="#4a5568")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_aim(axes: Any) -> None:
    """Share of results near a named place, by strength: coverage of bins alone, and closeness as part of relevance."""
    rng = np.random.default_rng(1)
    count = 600
    lat, lon = np.degrees(np.arcsin(rng.uniform(-0.9, 0.9, count))), rng.uniform(-180, 180, count)
    lat[:14], lon[:14] = -33.9 + rng.normal(0, 0.1, 14), 18.4 + rng.normal(0, 0.1, 14)
    hits = mc.Candidates(rng.beta(2, 5, count), columns={"lat": lat, "lon": lon})
    place = mc.Place(sigma_km=500)
    for label, wish, colour in (
        ("before: focus on any crowd", mc.focus(place), GREY),
        ("after: focus near Cape Town", mc.focus(place, near=(-33.9, 18.4)), BLUE),
    ):
        counts = [int((mc.rerank(hits, wish, 24, strength=s).positions < 14).sum()) for s in STRENGTHS]
        axes.plot(STRENGTHS, counts, "o-", color=colour, label=label)
    axes.set(title="A named focus aims", xlabel="strength", ylabel="of 14 at the place, k=24", ylim=(-0.5, 14.5))
    axes.legend(frameon=False)


def draw_balance(axes: Any) -> None:
    """Results per seller at strength 1, with bins that one result covers and with room for a share of k."""
    rng = np.random.default_rng(0)
    sellers = rng.choice(list("abcd"), 200, p=[0.70, 0.20, 0.07, 0.03])
    hits = mc.Candidates(np.sort(rng.uniform(size=200))[::-1], columns={"seller": sellers})
    for offset, balance, label, colour in (
        (-0.2, False, "before: one each, then relevance", GREY),
        (0.2, True, "after: room for a share", BLUE),
    ):
        positions = mc.rerank(hits, mc.spread("seller"), 20, mc.Mascot(1.0, balance=balance)).positions
        counts = Counter(sellers[positions].tolist())
        axes.bar(np.arange(4) + offset, [counts[name] for name in "abcd"], 0.4, color=colour, label=label)
    shares = ["a (70%)", "b (20%)", "c (7%)", "d (3%)"]
    axes.set(title="Spread goes on to an even mix", xticks=range(4), xticklabels=shares, ylabel="results of 20")
    axes.legend(frameon=False)


def draw_outliers(axes: Any) -> None:
    """Ranks of the results when one score is pinned at 1000."""
    rng = np.random.default_rng(2)
    scores = np.sort(rng.uniform(2, 12, 200))[::-1].copy()
    scores[0] = 1000.0
    hits = mc.Candidates(scores, columns={"hour": rng.uniform(0, 24, 200)})
    wish = mc.spread(mc.HourOfDay("hour"))
    for row, method, label, colour in (
        (1, mc.Mascot(0.5, scale=False), "before", GREY),
        (0, mc.Mascot(0.5), "after", BLUE),
    ):
        ranks = mc.rerank(hits, wish, 20, method).was
        axes.plot(ranks, np.full(len(ranks), row), "|", markersize=22, color=colour, label=label)
    axes.set(title="One pinned score does not decide", xlabel="rank by score of the 20 results", yticks=[0, 1])
    axes.set_yticklabels(["after", "before"])


def draw_constraints(axes: Any) -> None:
    """Results per seller without and with a limit, and with shares."""
    rng = np.random.default_rng(0)
    sellers = rng.choice(list("abcd"), 200, p=[0.70, 0.20, 0.07, 0.03])
    hits = mc.Candidates(np.sort(rng.uniform(size=200))[::-1], columns={"seller": sellers})
    cases: list[tuple[str, list[Any], str]] = [
        ("before: relevance", [], GREY),
        ("limit('seller', 6)", [mc.limit("seller", 6)], BLUE),
        ("share a 40%, b 40%", [mc.share("seller", {"a": 0.4, "b": 0.4})], ORANGE),
    ]
    for at, (label, wishes, colour) in enumerate(cases):
        counts = Counter(sellers[mc.rerank(hits, wishes, 20).positions].tolist())
        axes.bar(np.arange(4) + 0.27 * (at - 1), [counts[name] for name in "abcd"], 0.27, color=colour, label=label)
    axes.set(title="Limits and shares hold", xticks=range(4), xticklabels=list("abcd"), ylabel="results of 20")
    axes.legend(frameon=False)


def draw_together(axes: Any) -> None:
    """Results per city: by relevance, and kept together by a focus."""
    rng = np.random.default_rng(3)
    sizes = {"Paris": 60, "Sintra": 25, "others": 115}
    cities = np.repeat(list(sizes), list(sizes.values()))
    scores = np.concatenate([rng.uniform(0, 0.5, 60), rng.uniform(0.6, 0.9, 25), rng.random(115)])
    scores[0] = 1.0  # the best match is in Paris, most good matches are in Sintra
    labels = np.where(cities == "others", np.arange(200).astype(str), cities)
    hits = mc.Candidates(scores, columns={"city": labels})
    wish = mc.focus("city")
    cases = {
        "by relevance": mc.rerank(hits, [], 24),
        "focus": mc.rerank(hits, wish, 24, mc.Mascot(0.7)),
    }
    best = cases["by relevance"].relevance.sum()
    for row, page in enumerate(cases.values()):
        counts, left = Counter(cities[page.positions].tolist()), 0
        for name, colour in zip(sizes, (ORANGE, BLUE, GREY), strict=True):
            axes.barh(row, counts[name], 0.6, left=left, color=colour, label=name if row == 0 else None)
            left += counts[name]
        axes.text(24.3, row, f"{page.relevance.sum() / best:.0%}", va="center", size=9)
    axes.set(title="A focus goes where the matches are", yticks=range(2), yticklabels=list(cases), xlim=(0, 28))
    axes.set_xlabel("results of 24, and the share of relevance retained")
    axes.invert_yaxis()
    axes.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.4, -0.2))


def draw_vectors(axes: Any) -> None:
    """Results spread by vectors, of passages with eight aspects and off-topic noise."""
    rng = np.random.default_rng(4)
    aspects, noise = rng.normal(size=(8, 16)), rng.normal(size=(50, 16)) * 1.5
    member = rng.integers(0, 8, 150)
    vectors = np.concatenate([aspects[member] + rng.normal(0, 0.25, (150, 16)), noise])
    scores = np.concatenate([rng.uniform(0.5, 1, 150), rng.uniform(0, 0.45, 50)])
    hits = mc.Candidates(scores, vectors=vectors)
    strengths = (0.3, 0.5, 0.7, 0.9)
    wishes = {"Clusters": (mc.spread(Clusters(16)), GREY), "Vectors": (mc.spread(mc.Vectors()), BLUE)}
    for label, (wish, colour) in wishes.items():
        pages = [mc.rerank(hits, wish, 16, strength=strength).positions for strength in strengths]
        axes.plot(strengths, [(page < 150).mean() for page in pages], "o-", color=colour, label=f"{label}, on topic")
        found = [len(set(member[page[page < 150]].tolist())) / 8 for page in pages]
        axes.plot(strengths, found, "s--", color=colour, label=f"{label}, aspects")
    axes.set(title="A spread of vectors stays on topic", xlabel="strength", ylabel="share", ylim=(0, 1.05))
    axes.legend(frameon=False, fontsize=8, ncols=2)


def main() -> None:
    draw_ten_rows(FIGURES / "ten-rows.png")
    pictures = {
        "aim": draw_aim, "balance": draw_balance, "outliers": draw_outliers, "constraints": draw_constraints,
        "together": draw_together, "vectors": draw_vectors,
    }  # fmt: skip
    for name, draw in pictures.items():
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(FIGURES / f"steering-{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
