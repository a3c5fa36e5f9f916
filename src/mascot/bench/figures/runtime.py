"""Milliseconds a query, method by method."""

from __future__ import annotations

from collections.abc import Iterator

from mascot.bench import naming
from mascot.bench.averages import RunResults, average
from mascot.bench.figures import style
from mascot.bench.figures.relevance import Drawing
from mascot.bench.published import Published

# How the queries were asked.
_WAYS = {"single": "one query at a time", "batch": "many at once", None: "ours"}


def runtime(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw a dot for each method, single and batched, on a logarithmic axis; published times are hollow."""
    study = results.where(study="runtime")
    labels = study.names("label")
    ways = [way for way in _WAYS if study.where(point=way)]
    if not labels:
        return
    figure, axes = style.panels(1, 1, (style.COLUMN, 0.9 + 0.16 * len(labels)))
    ax = axes[0][0]
    printed = False
    for place, label in enumerate(labels):
        look = style.method(label)
        times = []
        for way in ways:
            records = study.where(label=label, point=way).records
            mean = average(None if r.get("seconds") is None else 1000 * r["seconds"] for r in records)
            if mean is not None:
                times.append(mean.value)
                filled = way != "batch"
                ax.plot(
                    mean.value,
                    place,
                    marker="o" if filled else "|",
                    markersize=5 if filled else 7,
                    color=look.colour,
                    markeredgewidth=0 if filled else 1.6,
                    zorder=4,
                )
        if len(times) > 1:
            ax.plot([min(times), max(times)], [place, place], color=look.colour, linewidth=1.0, alpha=0.6)
        paper = published.runtime(naming.origin(label))
        if paper is not None:
            printed = True
            style.hollow(ax, [paper], [place], style.Look(look.colour, "o", size=5))
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(labels)), [naming.method(label) for label in labels])
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("milliseconds a query")
    quiet = style.Look(style.QUIET, "o", size=5)
    handles, names = [], []
    for way in ways:
        look = style.Look(style.QUIET, "|", size=7) if way == "batch" else quiet
        handles.append(style.key(look, line=False, hollow=way == "batch"))
        names.append(_WAYS[way])
    if printed:
        handles.append(style.key(quiet, line=False, hollow=True))
        names.append(f"{style.PAPER} (RTX A6000)")
    style.legend(figure, handles, names)
    yield "runtime", figure
