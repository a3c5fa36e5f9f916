"""Read the responses of engines: failures, queries, groups, and the hits of one query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

from mascot.candidates import Candidates
from mascot.connect.converters.hit_lists import (
    HitColumns,
    are_distances,
    as_scores,
    as_vectors,
    candidates_of,
    entry,
    is_list,
    negated,
    reading,
    unreadable,
)
from mascot.errors import InputError, check_whole, require, warn

Path = str | Callable[[Sequence[Any]], list[Any]]
Groups = Iterable[tuple[Any, Sequence[Any]]]  # the value of each group, and its hits

# Entries that say that a search failed. MongoDB calls the message `errmsg`.
_FAILURES = ("error", "errors", "errmsg", "status.error", "root.errors")
# Entries that say that a search did not see all documents.
_PARTIAL = (
    "timed_out", "_shards.failed", "responseHeader.partialResults", "search_cutoff", "warning", "root.errors",
    "root.coverage.degraded",
)  # fmt: skip
_REPORTS = {path: path.partition(".")[0] for path in (*_FAILURES, *_PARTIAL)}


@dataclass(frozen=True)
class Shape:
    """Where the responses of an engine have their hits, and where a hit has its parts.

    A path such as ``hits.hits`` leads through keys or attributes; the path "" is the object itself. A path that begins
    with "@" is one key. A function that returns the values of all hits may take the place of a path.
    """

    owner: str  # the name of the converter
    hits: tuple[str, ...] = ()  # paths of the list of hits; a response may also be the list itself
    ids: tuple[Path, ...] = ("id",)  # the first that a hit has
    scores: tuple[str, ...] = ("score",)  # the first that a hit has; "-" negates a distance
    fields: tuple[Path, ...] = ("",)  # dictionaries, which become the columns
    vector: str | None = None  # path of the vector, or of a dictionary of named vectors
    queries: tuple[str, ...] = ()  # paths of the responses to several queries; ".*" means all values
    groups: Callable[[Any], Groups | None] | None = None  # returns None if the hits are not grouped
    needs_ids: str | None = None  # the name of the id, if every hit must have one
    needs_scores: str | None = None  # the name of the score, if a hit must have one
    empty: str | None = None  # path of an entry of responses that leave out the hits if there are none
    unwrap: bool = False  # whether lists of one value become the value
    envelope: str | None = None  # attribute of a client's response that holds the response of the server

    def answers(self, response: Any) -> list[Any]:
        """Return the response to each query; the response itself if it answers one query."""
        if self.envelope is not None:
            response = entry(response, self.envelope) or response
        self.check(response, self.owner)
        with reading(self.owner, response):
            for path in self.queries:
                parts = value_at(response, path.removesuffix(".*"))
                parts = list(parts.values()) if path.endswith(".*") and isinstance(parts, Mapping) else parts
                if is_list(parts) and parts and all(map(self._is_answer, parts)):
                    return list(parts)
        return [response]

    def answer(self, response: Any, query: int | None) -> Any:
        """Return the response to one query, checked (default: to the only one)."""
        answers = self.answers(response)
        at = query_at(self.owner, len(answers), query)
        if len(answers) > 1:
            self.check(answers[at], f"{self.owner} query {at}")
        return answers[at]

    def check(self, response: Any, owner: str) -> None:
        """Raise if a response reports an error and has no hits; warn if the search was partial."""
        if response is None or is_list(response):
            return
        names: Any = response
        if not isinstance(response, Mapping):
            names = {*_names_in(response.__class__), *getattr(response, "__dict__", ())}
        reasons = {path: value_at(response, path) for path, name in _REPORTS.items() if name in names}
        failure = next((reasons[path] for path in _FAILURES if reasons.get(path)), None)
        if failure and not any(value_at(response, path) for path in self.hits):
            raise InputError(f"{owner} needs a response without errors, got {failure!r:.160}")
        for path in _PARTIAL:
            if reasons.get(path):
                warn(f"{owner}: the response is partial: {path} is {reasons[path]!r:.80}", RuntimeWarning)

    def hits_of(self, answer: Any) -> tuple[list[Any], list[Any] | None]:
        """Return the hits, and the group of each if they are grouped."""
        groups = self.groups(answer) if self.groups else None
        if groups is not None:
            return self._ungrouped(groups)
        return self._checked(self.unchecked_hits(answer)), None

    def unchecked_hits(self, answer: Any) -> list[Any]:
        """Return the list of hits: the response itself, or the list at the first path that has one."""
        for hits in (answer, *(value_at(answer, path) for path in self.hits)):
            if is_list(hits):
                return list(hits)
        if self.empty is not None and value_at(answer, self.empty) is not None:
            return []
        needed = f"a response with {' or '.join(path.rpartition('.')[2] for path in self.hits[:2])}"
        raise unreadable(self.owner, needed, answer)

    def candidates(
        self, response: Any, *, query: int | None = None, vector: str | None = None, distances: bool | None = False
    ) -> Candidates[Any]:
        """Return the candidates of one query."""
        with reading(self.owner, response):
            hits, groups = self.hits_of(self.answer(response, query))
            ids, fields = self._ids(hits), self._fields(hits)
            if self.needs_ids and None in ids:
                raise unreadable(self.owner, f"an id in every hit ({self.needs_ids})", hits[ids.index(None)])
            if groups is not None:
                fields = [{**field, "group": group} for field, group in zip(fields, groups, strict=True)]
            columns = HitColumns(fields, hits, self.unwrap)
            scores = first_scores(hits, self.scores)
            if self.needs_scores and hits and all(score is None for score in scores):
                raise unreadable(self.owner, f"a hit with a score ({self.needs_scores})", hits[0])
            if distances is None and groups is not None:
                distances = are_distances(as_scores(scores), groups)
            if self.vector is None or vector is None:
                return candidates_of(hits, columns, scores, ids, vector, distances)
            cells = each_at(hits, self.vector)
            vectors = as_vectors([cell.get(vector) if isinstance(cell, Mapping) else cell for cell in cells])
            return candidates_of(hits, columns, scores, ids, vectors, distances)

    def _is_answer(self, part: Any) -> bool:
        if is_list(part) or any(is_list(value_at(part, path)) for path in self.hits):
            return True
        return any(value_at(part, path) for path in _FAILURES) or bool(self.groups and self.groups(part) is not None)

    def _checked(self, hits: list[Any]) -> list[Any]:
        for kind in set(map(type, hits)):
            if issubclass(kind, (Sequence, int, float, type(None))):
                hit = next(hit for hit in hits if type(hit) is kind)
                raise unreadable(self.owner, "hits that are dictionaries or objects", hit)
        return hits

    def _ids(self, hits: Sequence[Any]) -> list[Any]:
        kinds = [each_at(hits, path) for path in self.ids]
        return next((ids for ids in kinds if any(id_ is not None for id_ in ids)), kinds[0])

    def _fields(self, hits: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
        kinds = [each_at(hits, path) for path in self.fields]
        kinds = [fields for fields in kinds if any(fields)]
        if len(kinds) == 1 and set(map(type, kinds[0])) == {dict}:
            return kinds[0]
        merged: list[dict[str, Any]] = [{} for _ in hits]
        for fields in kinds:
            for columns, field in zip(merged, fields, strict=True):
                columns.update(_as_mapping(field))
        return merged

    def _ungrouped(self, groups: Groups) -> tuple[list[Any], list[Any]]:
        """Return the hits of all groups once; a hit of several groups gets the list of their values."""
        pairs = [(value, hit) for value, hits in groups for hit in self._checked(list(hits))]
        ids = self._ids([hit for _, hit in pairs])
        places: dict[Any, int] = {}
        hits: list[Any] = []
        values: list[Any] = []
        for id_, (value, hit) in zip(ids, pairs, strict=True):
            at = len(hits) if id_ is None else places.setdefault(id_, len(hits))
            if at == len(hits):
                hits.append(hit)
                values.append([value])
            elif value not in values[at]:
                values[at].append(value)
        return hits, [cell[0] if len(cell) == 1 else cell for cell in values]


def query_at(owner: str, count: int, query: int | None) -> int:
    """Return the position of a query, checked (default: of the only one)."""
    if query is None:
        if count != 1:
            remedy = f"set query= to 0..{count - 1}, or use each_query({owner}, ...)"
            raise InputError(f"{owner} needs the response to one query, got {count}: {remedy}")
        return 0
    check_whole(f"{owner} query", query, 0)
    require(query < count, f"{owner} query", f"must be below {count}, the queries searched", query)
    return query


@cache
def _names_in(kind: type) -> frozenset[str]:
    """Return the names in `_REPORTS` that are attributes of a class: `getattr` of a missing one is slow in models."""
    return frozenset(name for name in _REPORTS.values() if hasattr(kind, name))


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path through keys and attributes, or None."""
    for name in path.split(".") if path else ():
        value = entry(value, name)
    return value


def each_at(hits: Sequence[Any], path: Path) -> list[Any]:
    """Return the value at a path of each hit."""
    if not isinstance(path, str):
        return path(hits)
    values = list(hits)
    for name in [path] if path.startswith("@") else path.split(".") if path else ():
        try:
            values = list(map(dict.get, values, repeat(name)))
        except TypeError:  # objects of a client, other mappings, or None
            if any(issubclass(kind, Mapping) for kind in set(map(type, values))):
                values = [entry(value, name) for value in values]
            else:
                values = [getattr(value, name, None) for value in values]
    return values


def first_scores(hits: Sequence[Any], paths: Iterable[str]) -> list[Any]:
    """Return the scores at the first path that a hit has; negated if the path begins with "-"."""
    for path in paths:
        scores = each_at(hits, path.removeprefix("-"))
        if any(score is not None for score in scores):
            return negated(scores) if path.startswith("-") else scores
    return [None] * len(hits)


def listed(response: Any) -> Any:
    """Return the items of a cursor or pager as a list, and other responses unchanged."""
    is_plain = isinstance(response, (str, bytes, Mapping, Sequence))
    return list(response) if isinstance(response, Iterable) and not is_plain else response


def elastic_groups(response: Any) -> Groups | None:
    """Return the `top_hits` of aggregations, grouped by the innermost bucket."""
    aggregations = entry(response, "aggregations")
    if not aggregations or value_at(response, "hits.hits"):
        return None
    groups, total = list(_top_hits(aggregations, None)), value_at(response, "hits.total")
    if not groups and (entry(total, "value") if isinstance(total, Mapping) else total) != 0:
        raise InputError(f"from_elasticsearch needs hits or top_hits, got the aggregations {', '.join(aggregations)}")
    return groups


def _top_hits(node: Any, key: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the bucket's key and the hits of each `top_hits` below a node."""
    for name, part in node.items() if isinstance(node, Mapping) else ():
        hits = value_at(part, "hits.hits") if isinstance(part, Mapping) else None
        if is_list(hits):
            yield key, hits
        elif name == "buckets" and isinstance(part, Mapping):  # keyed buckets
            for bucket_key, bucket in part.items():
                yield from _top_hits(bucket, bucket_key)
        elif name == "buckets":
            for bucket in part:
                yield from _top_hits(bucket, bucket.get("key_as_string", bucket.get("key")))
        else:
            yield from _top_hits(part, key)


def solr_groups(response: Any) -> Groups | None:
    """Return the groups of `group.field`, in either format, or of each `group.query`."""
    commands = entry(response, "grouped")
    if not isinstance(commands, Mapping) or not commands:
        return None
    fields = [name for name, command in commands.items() if "groups" in command]
    if len(fields) > 1:
        raise InputError(f"from_solr needs one group.field, got {', '.join(fields)}")
    groups: list[tuple[Any, Any]] = []
    for name, command in commands.items():
        if name in fields:
            groups += [(group["groupValue"], group["doclist"]["docs"]) for group in command["groups"]]
        else:  # a query, or a field whose documents are in one list (group.format=simple)
            groups += [(doc.get(name, name), [doc]) for doc in command["doclist"]["docs"]]
    return groups


def vespa_groups(response: Any) -> Groups | None:
    """Return the hits of the groups; None if there are hits outside groups, or no groups."""
    nodes = response if is_list(response) else value_at(response, "root.children") or value_at(response, "hits") or []
    if not nodes or not all(is_group(node) for node in nodes):
        return None
    groups = list(_vespa_hits(nodes, None))
    if not groups and any(entry(node, "children") for node in nodes):
        raise InputError("from_vespa needs hits, got groups without hits: add each(output(summary()))")
    return groups


def is_group(node: Any) -> bool:
    """Return whether a node of a Vespa result is a group."""
    return str(entry(node, "id") or "").startswith("group:")


def _vespa_hits(nodes: Iterable[Any], value: Any) -> Iterator[tuple[Any, list[Any]]]:
    for node in nodes:
        children = node.get("children") or []
        if str(node.get("id")).startswith("hitlist:"):
            yield value, children
        else:
            yield from _vespa_hits(children, node.get("value", value))


def weaviate_groups(response: Any) -> Groups | None:
    """Return the groups of GraphQL's `group`, or of the objects of the client."""
    hits = response if is_list(response) else entry(response, "objects") or []
    first = hits[0] if hits else None
    if value_at(first, "_additional.group") is not None:
        groups = each_at(hits, "_additional.group")
        return [(value_at(group, "groupedBy.value"), group["hits"]) for group in groups]
    if entry(first, "belongs_to_group") is None:
        return None
    return [(entry(hit, "belongs_to_group"), [hit]) for hit in hits]


def _as_mapping(field: Any) -> Mapping[str, Any]:
    """Return a field as a dictionary; models of a client keep attributes apart from their own fields."""
    if field is None or isinstance(field, Mapping):
        return field or {}
    return getattr(field, "model_extra", None) or vars(field)
