"""The library over HTTP: re-ranking as a service, and photo search with a page.

`uvicorn mascot.server:app` and `gunicorn mascot.server:app` serve it with settings from the environment; so does the
factory, `uvicorn --factory mascot.server:make_app`. `mascot serve` does the same with options and safer connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from mascot.server.settings import Settings

    app: Starlette


def make_app(settings: Settings | None = None) -> Starlette:
    """Return the application (default: settings from the environment)."""
    from mascot.server.application import make_app as make

    return make(settings)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = application = make_app()
    return application
