"""The size of a dataset: images and queries of each split, and the attributes of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mascot.bench.averages import RunResults
from mascot.bench.published import Published
from mascot.bench.tables.grid import Column, ResultTable, Section, TableRow, table


def sizes(results: RunResults, published: Published) -> Iterator[ResultTable]:
    """Yield the numbers of images and queries, and the attributes.

    A record may have the size of each split of its dataset (``sizes``), and always has the number of test queries that
    were run. The number of validation queries of the search is the limit of the run, or all of them.
    """
    main = results.where(study="main")
    if not main:
        return
    sizes: dict[str, dict[str, int]] = {}
    for record in main.records:
        sizes |= record.get("sizes", {})
    query_counts = "/".join(map(str, sorted({len(record["queries"]) for record in main.records})))
    attributes = {wish["attribute"]["name"] for record in main.records for wish in record["wishes"]}
    rows = []
    for split in dict.fromkeys((*sizes, "test")):
        counts = [_number(sizes.get(split, {}).get(kind)) for kind in ("images", "queries")]
        is_test = split == "test"
        asked_queries = query_counts if is_test else _search_size(results, split, sizes)
        rows.append(TableRow(split, (*counts, asked_queries, ", ".join(sorted(attributes)) if is_test else None)))
    columns = (Column("images", digits=0), Column("queries", digits=0), Column("asked"), Column("attributes"))
    note = "Asked: queries of these results, and of the search before. Attributes: what is spread or focused."
    yield from table(main, "sizes", "The dataset", columns, [Section("", tuple(rows))], (note,), "split")


def _search_size(results: RunResults, split: str, sizes: Mapping[str, Mapping[str, int]]) -> str | None:
    available = sizes.get(split, {}).get("queries")
    if split not in results.limits or available is None:
        return None
    limit = results.limits[split]
    return str(available if limit is None else min(limit, available))


def _number(count: int | None) -> float | None:
    return None if count is None else float(count)
