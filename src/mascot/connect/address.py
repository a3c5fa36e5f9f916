"""Addresses of tables in engines: `qdrant://host:6333/photos?vector=image&metric=l2`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from mascot.errors import InputError, OptionError, require

Metric = Literal["cosine", "ip", "l2"]
METRICS: tuple[Metric, ...] = ("cosine", "ip", "l2")
ENGINES = ("lance", "qdrant", "milvus", "postgresql")
_OURS = ("table", "vector", "id", "metric")
# User and password, up to the last @ before a slash; or, where a password itself has a slash, up to the last @ of all.
_SECRET = re.compile(r"^(?:[^/]*@|[^/]*:(?!\d*/).*@)")


@dataclass(frozen=True, slots=True)
class Address:
    """One table of one engine."""

    engine: str  # what stands before `://` up to a plus: lance, qdrant, milvus, postgresql
    way: str  # what stands after the plus: s3, https, local
    host: str  # host and port, or the first part of a relative path
    place: str  # the path without the table
    table: str
    vector: str | None = None  # the column of vectors, unless there is but one
    id: str | None = None  # the column of ids
    metric: Metric | None = None  # unless the engine knows
    shown: str = ""  # for messages: without the password
    dsn: str = field(default="", repr=False)  # the whole without what is ours, for PostgreSQL

    @property
    def file(self) -> Path:
        """The place as a file: `lance://here/db/table` is relative, `lance:///there/db/table` is not."""
        return Path(self.host + self.place or ".")

    @property
    def facts(self) -> str:
        """The table beside it that says how it was made."""
        return f"{self.table}_facts"

    def open_file(self) -> Path:
        """The place, which must be there."""
        if not self.file.exists():
            raise InputError(f"{self.shown}: there is no {self.file}")
        return self.file

    def pick(self, names: list[str]) -> str:
        """The column of vectors: the one asked for, or the only one."""
        if self.vector is not None and self.vector in names:
            return self.vector
        listed = ", ".join(names) or "none"
        if self.vector is not None:
            raise InputError(f"{self.shown} has no column of vectors {self.vector!r}; it has: {listed}")
        if len(names) != 1:
            raise InputError(
                f"{self.shown} must have one column of vectors, or name it with ?vector=; it has: {listed}"
            )
        return names[0]

    def agree(self, metric: Metric) -> Metric:
        """The metric a collection was made with, which cannot be asked to be another."""
        if self.metric not in (None, metric):
            raise OptionError(f"{self.shown} was made with metric {metric}, and ?metric={self.metric} is another")
        return metric


def read_address(uri: str) -> Address:
    """The parts of an address, checked."""
    shown = _without_secrets(uri)
    try:
        parts = urlsplit(uri)
    except ValueError:  # its message may hold the password
        raise OptionError(f"{shown} is not an address: its host cannot be read") from None
    engine, _, way = parts.scheme.partition("+")
    engine = "postgresql" if engine == "postgres" else engine
    schemes = ", ".join(f"{name}://" for name in ENGINES)
    require(engine in ENGINES, "the address of an engine", f"must begin with one of {schemes}", shown)
    _check_user(uri, engine, parts.netloc, shown)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    ours = {name: value for name, value in pairs if name in _OURS}
    theirs = [(name, value) for name, value in pairs if name not in _OURS]
    metric = ours.get("metric")
    require(metric is None or metric in METRICS, f"{shown} ?metric", f"must be one of {', '.join(METRICS)}", metric)
    host, place = unquote(parts.netloc.rpartition("@")[2]), unquote(parts.path)
    dsn = ""
    if engine == "postgresql":
        # PostgreSQL reads a plus as a plus, where forms of web pages mean a space.
        dsn = urlunsplit((engine, parts.netloc, parts.path, urlencode(theirs, quote_via=quote), ""))
        table = ours.get("table", "photos")
    else:
        unknown = [name for name, _ in theirs] + ["table"] * ("table" in ours)
        require(not unknown, shown, "takes ?vector=, ?id= and ?metric=", ", ".join(unknown))
        whole = place if place.strip("/") else f"/{host}"
        host = host if place.strip("/") else ""
        place, _, table = whole.rstrip("/").rpartition("/")
    require(bool(table), f"the address of {engine}", "must end with the name of a table", shown)
    return Address(
        engine, way, host, place, table, ours.get("vector"), ours.get("id"), metric,  # type: ignore[arg-type]
        shown, dsn,
    )  # fmt: skip


def address_of_client(
    engine: str, table: str, vector: str | None = None, id: str | None = None, metric: Metric | None = None
) -> Address:
    """Return the address of a table that a client of the caller's reaches."""
    require(isinstance(table, str) and bool(table), f"the table of {engine}", "must be a name", table)
    require(metric is None or metric in METRICS, "metric", f"must be one of {', '.join(METRICS)}", metric)
    return Address(engine, "", "", "", table, vector, id, metric, f"{engine} {table!r}")


def _without_secrets(uri: str) -> str:
    """An address for messages: without user and password, and without what is behind its question mark."""
    scheme, mark, rest = uri.partition("://")
    return re.split("[?#]", scheme + mark + _SECRET.sub("", rest, count=1))[0]


def _check_user(uri: str, engine: str, netloc: str, shown: str) -> None:
    """Only PostgreSQL takes a user from its address, and signs that end a part of it must not cut a password."""
    user = _SECRET.match(uri.partition("://")[2])
    if user and engine != "postgresql":
        raise OptionError(
            f"{shown}: {engine}:// takes no user or password in its address; set QDRANT_API_KEY or MILVUS_TOKEN in "
            "the environment (and write ./ before a folder whose name has an @)"
        )
    if "#" in uri or (user and netloc.count("@") != 1):
        raise OptionError(f"{shown}: write #, and within a password ?, / and @, as %23, %3F, %2F and %40")
