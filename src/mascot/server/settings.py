"""Settings of the server, which every worker process reads from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from mascot.errors import OptionError

PREFIX = "MASCOT_"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `make_app` and of the connections. Numbers of connections and bytes are per process."""

    library: str | None = None  # folder of an indexed photo library; None serves re-ranking only
    token: str | None = None  # required from every client except health checks; None answers only requests to `hosts`
    admin_token: str | None = None  # required instead of `token` for /metrics, /openapi.json and /docs
    hosts: tuple[str, ...] = LOCAL_NAMES  # names that are answered without a token
    cors: tuple[str, ...] = ()  # origins whose pages may use the API
    profiles: str | None = None  # folder of profiles that requests can name
    audit: str | None = None  # file of the audit log; "-" is standard output
    audit_share: float = 1.0  # of the requests that are logged in it
    header_timeout_s: float = 10.0  # for a client to send the headers of a request
    body_timeout_s: float = 30.0  # for a client to send the body
    keep_alive_s: float = 75.0  # that an idle connection stays open
    grace_s: float = 20.0  # for running requests to finish after SIGTERM
    connections: int = 1000  # at most; beyond it the connection that was idle longest is closed
    request_bytes: int = 16 * _MIB  # of a request body
    held_bytes: int = 128 * _MIB  # of all unfinished bodies; beyond it the oldest one is refused
    memory_bytes: int = 512 * _MIB  # of all requests: unfinished bodies, and estimates of those being answered

    @classmethod
    def from_environment(cls) -> Settings:
        """Return the settings of `MASCOT_LIBRARY`, `MASCOT_TOKEN`, `MASCOT_BODY_TIMEOUT_S` and so on."""
        texts = {field: os.environ.get(PREFIX + field.name.upper()) for field in fields(cls)}
        return cls(**{field.name: _parse(field.name, text, field.default) for field, text in texts.items() if text})

    def to_environment(self) -> dict[str, str]:
        """Return the variables that `from_environment` reads."""
        values = {PREFIX + field.name.upper(): getattr(self, field.name) for field in fields(self)}
        return {
            name: ",".join(value) if isinstance(value, tuple) else str(value)
            for name, value in values.items()
            if value is not None
        }


def limit(name: str, default: int) -> int:
    """Return a limit of the schemas from the environment. It is read once, because the types of requests contain it."""
    return int(_parse(name, os.environ.get(PREFIX + name.upper()) or str(default), default))


def _parse(name: str, text: str, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if not isinstance(default, (int, float)):
        return text
    try:
        number = type(default)(text)
    except ValueError:
        number = -1
    if not 0 < number < float("inf"):
        raise OptionError(f"{PREFIX}{name.upper()} must be a number > 0, got {text!r}")
    return number
