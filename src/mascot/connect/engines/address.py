"""Addresses of tables in engines: `qdrant://host:6333/photos?vector=image&metric=l2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from mascot.errors import InputError, OptionError, require

Metric = Literal["cosine", "ip", "l2"]
METRICS: tuple[Metric, ...] = ("cosine", "ip", "l2")
ENGINES = ("lance", "qdrant", "milvus", "postgresql")
_OPTIONS = ("table", "vector", "id", "metric")
# User and password: up to the last @ before a slash, or up to the very last @ if the password contains a slash.
_SECRET = re.compile(r"^(?:[^/]*@|[^/]*:(?!\d*/).*@)")


@dataclass(frozen=True, slots=True)
class Address:
    engine: str  # the scheme up to a plus: lance, qdrant, milvus, postgresql
    way: str  # the scheme after the plus: s3, https, local
    host: str  # host and port, or the first part of a relative path
    place: str  # the path without the table
    table: str
    vector: str | None = None  # the column of vectors, needed if there are several
    id: str | None = None  # the column of ids
    metric: Metric | None = None  # needed if the engine does not store it
    label: str = ""  # for messages: the address without the password
    dsn: str = field(default="", repr=False)  # the address without our options, for PostgreSQL

    @property
    def file(self) -> Path:
        """The place as a path: `lance://db/table` is relative, `lance:///home/db/table` is absolute."""
        return Path(self.host + self.place or ".")

    @property
    def facts(self) -> str:
        """The name of the table that stores the facts about this one."""
        return f"{self.table}_facts"

    def open_file(self) -> Path:
        """Return the path, or raise an error if it does not exist."""
        if not self.file.exists():
            raise InputError(f"{self.label}: there is no {self.file}")
        return self.file

    def absent(self, kind: str, names: Iterable[str]) -> InputError:
        """Return the error for a table that does not exist; `names` are those that do."""
        existing = ", ".join(sorted(names)) or "none"
        return InputError(f"{self.label}: there is no {kind} {self.table!r}; {kind}s: {existing}")

    def pick(self, names: list[str]) -> str:
        """Return the column of vectors: the one in the address, or the only one."""
        if self.vector in names or (self.vector is None and len(names) == 1):
            return self.vector or names[0]
        rule = "must have one column of vectors, or name it with ?vector="
        if self.vector is not None:
            rule = f"has no column of vectors {self.vector!r}"
        raise InputError(f"{self.label} {rule}; it has: {', '.join(names) or 'none'}")

    def agree(self, metric: Metric) -> Metric:
        """Return the metric of a collection, or raise an error if the address has another one."""
        if self.metric not in (None, metric):
            raise OptionError(f"{self.label} uses the metric {metric}, got ?metric={self.metric}")
        return metric


def read_address(uri: str) -> Address:
    label = _without_secrets(uri)
    try:
        parts = urlsplit(uri)
    except ValueError:  # its message may contain the password
        raise OptionError(f"{label} is not an address: its host cannot be read") from None
    engine, _, way = parts.scheme.partition("+")
    engine = "postgresql" if engine == "postgres" else engine
    schemes = ", ".join(f"{name}://" for name in ENGINES)
    require(engine in ENGINES, "the address of an engine", f"must begin with one of {schemes}", label)
    _check_user(uri, engine, parts.netloc, label)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in _OPTIONS}
    engine_options = [(name, value) for name, value in pairs if name not in _OPTIONS]
    metric: Any = options.get("metric")
    _check_metric(f"{label} ?metric", metric)
    host, place = unquote(parts.netloc.rpartition("@")[2]), unquote(parts.path)
    dsn = ""
    if engine == "postgresql":
        # PostgreSQL reads a plus as a plus; in web forms it means a space.
        dsn = urlunsplit((engine, parts.netloc, parts.path, urlencode(engine_options, quote_via=quote), ""))
        table = options.get("table", "photos")
    else:
        unknown = [name for name, _ in engine_options] + ["table"] * ("table" in options)
        require(not unknown, label, "takes ?vector=, ?id= and ?metric=", ", ".join(unknown))
        full_path = place if place.strip("/") else f"/{host}"
        host = host if place.strip("/") else ""
        place, _, table = full_path.rstrip("/").rpartition("/")
    require(bool(table), f"the address of {engine}", "must end with the name of a table", label)
    return Address(engine, way, host, place, table, options.get("vector"), options.get("id"), metric, label, dsn)


def address_of_client(
    engine: str, table: str, vector: str | None = None, id: str | None = None, metric: Metric | None = None
) -> Address:
    """Return the address of a table of the caller's own client."""
    require(isinstance(table, str) and bool(table), f"the table of {engine}", "must be a name", table)
    _check_metric("metric", metric)
    return Address(engine, "", "", "", table, vector, id, metric, f"{engine} {table!r}")


def _check_metric(owner: str, metric: str | None) -> None:
    require(metric is None or metric in METRICS, owner, f"must be one of {', '.join(METRICS)}", metric)


def _without_secrets(uri: str) -> str:
    """Return an address without user, password and query string, for messages."""
    scheme, mark, remainder = uri.partition("://")
    return re.split("[?#]", scheme + mark + _SECRET.sub("", remainder, count=1))[0]


def _check_user(uri: str, engine: str, netloc: str, label: str) -> None:
    """Check that only PostgreSQL has a user in its address, and that special characters are escaped."""
    user = _SECRET.match(uri.partition("://")[2])
    if user and engine != "postgresql":
        raise OptionError(
            f"{label}: {engine}:// takes no user or password in its address; set QDRANT_API_KEY or MILVUS_TOKEN in "
            "the environment (and write ./ before a folder whose name has an @)"
        )
    if "#" in uri or (user and netloc.count("@") != 1):
        raise OptionError(f"{label}: write #, and within a password ?, / and @, as %23, %3F, %2F and %40")
