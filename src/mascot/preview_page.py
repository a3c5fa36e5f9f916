"""One HTML file of a preview: figures, tables and the most changed queries. It needs no script and no network."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from mascot.preview import ChangedQuery, ExposureChange, PageResult, Preview

VALUES = 12  # values whose exposure changes most
_BINS = 20
_WIDTH, _HEIGHT, _ROW = 420, 150, 22  # of figures, in units of their view box


def write_page(preview: Preview, path: str, title: str, subtitle: str) -> None:
    template = Template(files("mascot").joinpath("preview.html").read_text("utf-8"))
    body = "\n".join(_sections(preview))
    text = template.substitute(title=_text(title), subtitle=_text(subtitle), body=body)
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def summary_rows(preview: Preview) -> list[tuple[str, str, str]]:
    """Return the main figures as rows of name, value before and value after."""
    return [
        ("queries compared", "", f"{preview.queries:,}"),
        ("queries that the rules refuse", "", f"{sum(preview.refused.values()):,}"),
        ("pages that change", "", f"{preview.pages:.1%}"),
        ("first results that change", "", f"{preview.first:.1%}"),
        ("pages that change among the first five", "", f"{preview.first_five:.1%}"),
        ("results replaced per page", "", f"{preview.replaced:.2f}"),
        ("exposure that moves to other results", "", f"{preview.moved:.1%}"),
        ("relevance kept", f"{preview.kept_before:.1%}", f"{preview.kept:.1%}"),
        ("pages with fewer than k results", f"{preview.short_before:.1%}", f"{preview.short:.1%}"),
    ]


def _sections(preview: Preview) -> Iterator[str]:
    yield _table(("", "before", "after"), summary_rows(preview), numbers=(1, 2))
    kept = [change.kept for change in preview.changes]
    moved = [change.moved for change in preview.changes]
    figures = [
        _histogram("Relevance kept, by query", kept, min(kept)),
        _histogram("Exposure that moves to other results, by query", moved, 0.0),
        *([_bars(preview.exposure[:VALUES])] if preview.exposure else []),
    ]
    yield f'<h2>Figures</h2><div class="figures">{"".join(figures)}</div>'
    rows = [(entry.rule, entry.value, entry.reason, entry.before, entry.after) for entry in preview.missed]
    yield "<h2>Rules missed</h2>" + (
        _table(("rule", "value", "why", "pages before", "pages after"), rows, (3, 4)) if rows else "<p>None.</p>"
    )
    if preview.refused:
        yield "<h2>Queries that the rules refuse</h2>"
        yield _table(("message", "queries"), list(preview.refused.items()), (1,))
    yield "<h2>Most changed queries</h2>" + ("" if preview.most_changed else "<p>None.</p>")
    yield from map(_changed_query, preview.most_changed)


def _changed_query(entry: ChangedQuery) -> str:
    earlier = {str(result.id) for result in entry.before}
    pages = zip(("Before", "After"), (entry.before, entry.after), (set[str](), earlier), strict=True)
    title = f"{_text(entry.query)} <span class=quiet>{entry.moved:.0%} of the exposure moves, {entry.replaced} replaced"
    sides = "".join(
        f"<div class=scroll><h3>{name}</h3>{_page(results, earlier_ids)}</div>" for name, results, earlier_ids in pages
    )
    return f'<details><summary>{title}</span></summary><div class="pages">{sides}</div></details>'


def _page(results: Sequence[PageResult], earlier: set[str]) -> str:
    """Return the results of a page as a table; results that are not among the earlier ones are marked."""
    names = list(dict.fromkeys(name for result in results for name in result.values))
    rows = []
    for rank, result in enumerate(results, 1):
        mark = "fresh" if earlier and str(result.id) not in earlier else ""
        cells = "".join(f"<td>{_text(result.values.get(name, ''))}</td>" for name in names)
        because = f'<br><span class="quiet">{_text(result.because)}</span>' if result.because else ""
        rank_cell = f'<td class="number">{rank} <span class="was">({result.was})</span></td>'
        rows.append(f'<tr>{rank_cell}<td class="{mark}">{_text(result.id)}{because}</td>{cells}</tr>')
    heads = "".join(f"<th>{_text(name)}</th>" for name in ("rank (was)", "result", *names))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    def cells(tag: str, values: Sequence[Any]) -> str:
        marks = ['class="number"' if at in numbers else "" for at in range(len(values))]
        return "".join(f"<{tag} {mark}>{_text(value)}</{tag}>" for mark, value in zip(marks, values, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells("th", heads)}</tr></thead><tbody>{body}</tbody></table></div>'


def _histogram(title: str, values: Sequence[float], low: float) -> str:
    """Return a figure of how many queries have each value between `low` and 1."""
    low = min(low, 1 - 1e-6)
    counts, edges = np.histogram(values, _BINS, (low, 1.0))
    width, tallest = _WIDTH / _BINS, int(counts.max())
    bars = "".join(
        f'<rect class="new" x="{at * width:.1f}" width="{width - 2:.1f}" '
        f'y="{_HEIGHT * (1 - count / tallest):.1f}" height="{_HEIGHT * count / tallest:.1f}">'
        f"<title>{edges[at]:.0%} to {edges[at + 1]:.0%}: {count:,} queries</title></rect>"
        for at, count in enumerate(counts.tolist())
    )
    ends = [f'<text y="{_HEIGHT + 16}">{low:.0%}</text>']
    ends.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 16}" text-anchor="end">100%</text>')
    ends.append(f'<text y="-6">{tallest:,} queries</text>')
    ground = f'<line class="axis" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>'
    return _figure(title, bars + ground + "".join(ends), -18, _HEIGHT + 40)


def _bars(entries: Sequence[ExposureChange]) -> str:
    """Return a figure of the exposure of values, before and after."""
    left, right = _WIDTH * 0.42, _WIDTH * 0.78
    longest = max(max(entry.before, entry.after) for entry in entries) or 1.0
    parts = []
    for at, entry in enumerate(entries):
        y, name = at * _ROW, f"{entry.column}: {entry.value}"
        label = f"{name[:30]}…" if len(name) > 31 else name
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{_text(label)}</text>')
        for kind, share, top in (("old", entry.before, y + 2), ("new", entry.after, y + 10)):
            length = (right - left) * share / longest
            parts.append(f'<rect class="{kind}" x="{left}" y="{top}" width="{length:.1f}" height="7"/>')
        numbers = f"{entry.before:.1%} → {entry.after:.1%}"
        parts.append(f'<text x="{right + 8}" y="{y + 13}">{numbers}</text>')
    title = "Share of the exposure, before (grey) and after: the values that change most"
    return _figure(title, "".join(parts), 0, len(entries) * _ROW)


def _figure(title: str, content: str, top: int, height: int) -> str:
    label = html.escape(title, quote=True)
    picture = f'<svg role="img" aria-label="{label}" viewBox="0 {top} {_WIDTH} {height}">{content}</svg>'
    return f"<figure>{picture}<figcaption>{label}</figcaption></figure>"


def _text(value: Any) -> str:
    return html.escape("" if value is None else str(value))
