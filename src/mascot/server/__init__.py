"""The library over HTTP: re-ranking as a service, and photo search with a page.

`uvicorn mascot.server:app` and `uvicorn --factory mascot.server:make_app` serve it with
settings from the environment. `mascot serve` does the same with options, and with limits on connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from mascot.server.application import make_app as make_app

    app: Starlette


def __getattr__(name: str) -> Any:
    if name not in ("app", "make_app"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mascot.server.application import make_app

    value = globals()[name] = make_app if name == "make_app" else make_app()
    return value
