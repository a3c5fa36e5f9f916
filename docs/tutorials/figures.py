"""Draws the pictures of the tutorials: `python -m docs.tutorials.figures`.

Each picture is drawn from the variables that the examples of its page leave, so that it shows what the page says.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from pyversity import diversify

import mascot as mc

FOLDER = Path(__file__).parent
GREY, BLUE, ORANGE = "#b8bec6", "#2b6cb0", "#dd6b20"
BRANDS = {"Aero": "#2b6cb0", "Bolt": "#dd6b20", "Cairn": "#2f855a", "Dash": "#805ad5", "Ember": "#c53030"}
STRENGTHS = [step / 10 for step in range(11)]


def variables(page: str) -> dict[str, Any]:
    """Return what the Python examples of a page leave, without those that need the service."""
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", (FOLDER / page).read_text(encoding="utf-8"), re.S | re.M)
    for block in (block for block in blocks if "http://127.0.0.1" not in block):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, page, "exec"), names)
    return names


def draw_product_search(names: dict[str, Any]) -> Any:
    """Age and price of the first ten, by brand, before and after."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), sharex=True, sharey=True, layout="constrained")
    for axes, title, ranking in zip(panels, ("by score", "with wishes"), (names["plain"], names["page"]), strict=True):
        for row in ranking.records():
            age = (names["today"] - date.fromisoformat(row["listed"])).days
            marker = "s" if row["condition"] == "used" else "o"
            axes.plot(age, row["price"], marker, color=BRANDS[row["brand"]], ms=9, mec="white")
        axes.set(title=title, xlabel="days since it was listed")
    panels[0].set_ylabel("price")
    handles = [plt.Line2D([], [], marker="o", ls="", color=colour) for colour in BRANDS.values()]
    handles.append(plt.Line2D([], [], marker="s", ls="", color=GREY))
    figure.legend(handles, [*BRANDS, "used (square)"], loc="outside lower center", ncols=6, frameon=False)
    return figure


def draw_sampling(names: dict[str, Any]) -> Any:
    """Counts of a random and an even sample, by label, town and time of day."""
    figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    columns = {"label": names["label"], "town": names["town"], "hours": names["quarter"]}
    for axes, (title, values) in zip(panels, columns.items(), strict=True):
        kinds = [name for name, _ in Counter(values.tolist()).most_common()]
        for offset, sample, colour, name in (
            (-0.2, names["plain"], GREY, "random"),
            (0.2, names["even"], BLUE, "even"),
        ):
            axes.bar(np.arange(len(kinds)) + offset, [(values[sample] == kind).sum() for kind in kinds], 0.4,
                     color=colour, label=name)  # fmt: skip
        axes.set(title=title, xticks=range(len(kinds)))
        axes.set_xticklabels(kinds, rotation=30, ha="right")
    panels[0].set_ylabel("rows of 300")
    panels[0].legend(frameon=False)
    return figure


def draw_rag(names: dict[str, Any]) -> Any:
    """Similarity of what was retrieved, and the four that reach the prompt before and after."""
    pairs = names["store"].similarity_search_with_score(names["question"], k=10)
    labels = [f"{document.metadata['name']} ({document.metadata['year']})" for document, _ in pairs]
    before, after = ({document.id for document in names[name]} for name in ("before", "after"))
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    at = np.arange(len(pairs))
    axes.barh(at, [score for _, score in pairs], color=GREY)
    for row, (document, score) in enumerate(pairs):
        if document.id in before:
            axes.plot(score + 0.02, row, "o", mfc="white", mec=ORANGE, ms=8, mew=2)
        if document.id in after:
            axes.plot(score + 0.05, row, "o", color=BLUE, ms=8)
    axes.set(yticks=at, yticklabels=labels, xlabel="similarity to the question", xlim=(0, 1))
    axes.invert_yaxis()
    handles = [
        plt.Line2D([], [], marker="o", ls="", mfc="white", mec=ORANGE, mew=2),
        plt.Line2D([], [], marker="o", ls="", color=BLUE),
    ]
    axes.legend(handles, ["in the prompt before", "after"], loc="lower right", frameon=False)
    return figure


def draw_migrating(names: dict[str, Any]) -> Any:
    """Relevance kept against evenness of brands, for MMR and spread, by strength."""
    hits, brands, vectors, scores = (names[name] for name in ("hits", "brands", "vectors", "scores"))
    best = np.sort(scores)[-10:].sum()
    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    lines = {
        "MMR of pyversity": (GREY, [diversify(vectors, scores, 10, "mmr", s).indices for s in STRENGTHS]),
        "spread('brand')": (BLUE, [mc.rerank(hits, mc.spread("brand"), 10, strength=s).positions for s in STRENGTHS]),
    }
    for label, (colour, selections) in lines.items():
        kept = [scores[chosen].sum() / best for chosen in selections]
        largest = [max(Counter(brands[chosen].tolist()).values()) for chosen in selections]
        axes.plot(largest, kept, "o-", color=colour, label=label)
        for at in (0, 5, 10):
            axes.annotate(f"{STRENGTHS[at]:g}", (largest[at], kept[at]), textcoords="offset points", xytext=(4, 5))
    axes.set(xlabel="results of the most frequent brand, of 10", ylabel="relevance kept")
    axes.invert_xaxis()
    axes.legend(frameon=False)
    return figure


def draw_elasticsearch(names: dict[str, Any]) -> Any:
    """Exposure of each seller over all recorded queries, before and after."""
    rows = [row for row in names["result"].exposure if row.column == "seller"]
    rows.sort(key=lambda row: row.before)
    figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
    at = np.arange(len(rows))
    axes.barh(at + 0.2, [row.before for row in rows], 0.4, color=GREY, label="before")
    axes.barh(at - 0.2, [row.after for row in rows], 0.4, color=BLUE, label="after")
    axes.set(yticks=at, yticklabels=[row.value for row in rows], xlabel="share of the exposure")
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.legend(frameon=False, loc="lower right")
    return figure


PICTURES = {
    "elasticsearch": draw_elasticsearch,
    "product-search": draw_product_search,
    "rag": draw_rag,
    "sampling": draw_sampling,
    "migrating": draw_migrating,
}


def main(folder: Path = FOLDER) -> None:
    """Write every picture."""
    for name, drawing in PICTURES.items():
        figure = drawing(variables(f"{name}.md"))
        figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
