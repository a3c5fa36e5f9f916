"""Draws the pictures of docs/method.md: `python -m docs.steering`. Each shows results before and after one change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import mascot as mc

FIGURES = Path(__file__).parent / "figures"
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
GREY, BLUE, ORANGE = "#b8bec6", "#2b6cb0", "#dd6b20"


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


def main() -> None:
    pictures = {"aim": draw_aim, "balance": draw_balance, "outliers": draw_outliers, "constraints": draw_constraints}
    for name, draw in pictures.items():
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(FIGURES / f"steering-{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
