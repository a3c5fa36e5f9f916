"""How large a dataset is: images and queries of each split, and what is known of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mascot.bench.averages import RunResults
from mascot.bench.published import Published
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, table


def sizes(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Images, queries and attributes.

    A record may say how large each split of its dataset is (``sizes``); of the test queries that were asked it always
    does. How many the search asked of the validation split is what the run was told, or all that there are.
    """
    main = results.where(study="main")
    if not main:
        return
    sizes: dict[str, dict[str, int]] = {}
    for record in main.records:
        sizes |= record.get("sizes", {})
    asked = "/".join(map(str, sorted({len(record["queries"]) for record in main.records})))
    attributes = {wish["attribute"]["name"] for record in main.records for wish in record["wishes"]}
    rows = []
    for split in dict.fromkeys((*sizes, "test")):
        counts = [_number(sizes.get(split, {}).get(kind)) for kind in ("images", "queries")]
        last = (asked, ", ".join(sorted(attributes))) if split == "test" else (_asked(results, split, sizes), None)
        rows.append(TableRow(split, (*counts, *last)))
    columns = (Column("images", digits=0), Column("queries", digits=0), Column("asked"), Column("attributes"))
    note = "Asked: queries of these results, and of the search before. Attributes: what is spread or focused."
    yield from table(main, "sizes", "The dataset", columns, [Section("", tuple(rows))], (note,), "split")


def _asked(results: RunResults, split: str, sizes: Mapping[str, Mapping[str, int]]) -> str | None:
    there = sizes.get(split, {}).get("queries")
    if split not in results.limits or there is None:
        return None
    limit = results.limits[split]
    return str(there if limit is None else min(limit, there))


def _number(count: int | None) -> float | None:
    return None if count is None else float(count)
