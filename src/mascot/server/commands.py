"""`mascot serve`: the page and the API on a port."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

import mascot as mc
from mascot.extras import package

_PORT = 8765
_GRACE_S = 1  # requests under way have after Ctrl+C
_ORIGIN = re.compile(r"https?://[^/\s*]+")


def serve(
    library: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="The folder that was indexed; else MASCOT_LIBRARY, else the one indexed last."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; another than this machine's own wants --token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free one.")] = _PORT,
    token: Annotated[
        str | None, typer.Option(envvar="MASCOT_TOKEN", help="Wanted from every client.", show_default=False)
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Let pages of this origin use the API. Repeatable.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
) -> None:
    """Look at the photographs: search, a map, a clock, and a slider for each attribute.

    \b
    mascot serve --open
    mascot serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"

    Without a token only this machine can see the page.
    """
    if token is not None and not token:
        raise mc.OptionError("--token must not be empty")
    if token is None and not _is_loopback(host):
        raise mc.OptionError(
            f"--host {host} can be reached from other machines: give a --token that clients must know, "
            "or listen on 127.0.0.1"
        )
    for origin in cors or []:
        if not _ORIGIN.fullmatch(origin):
            raise mc.OptionError(f"--cors must be an origin like https://example.org, got {origin!r}")
    uvicorn = package("uvicorn", "web", "the page")
    make_app = package("mascot.server.http", "web", "the page").make_app
    from mascot.photos.library import Library

    with Library.open(library) as found:
        found.store.count()  # a library that cannot be read is told before the port is taken
        with _listening(host, port) as taken:
            app = make_app(found, token, cors=cors, hosts=_names(host))
            config = uvicorn.Config(
                app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_S,
            )  # fmt: skip
            threading.Thread(target=app.state.service.warm, daemon=True).start()
            try:
                _server(config, taken.getsockname(), open_, token).run(sockets=[taken])
            except KeyboardInterrupt:
                # Threads at work would be waited for, and nothing they do must be finished.
                os._exit(0)


def _listening(host: str, port: int) -> socket.socket:
    """The port, taken."""
    try:
        family, *_, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise mc.OptionError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; name another with --port, "
            "0 takes any free one"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _names(host: str) -> list[str]:
    return ["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host]


def _server(config: Any, listening: tuple[Any, ...], open_: bool, token: str | None) -> Any:
    """A server that says where it is once it listens."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if not self.started:
                return
            host, port = listening[:2]
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{port}/"
            print(f"mascot: {address} (Ctrl+C stops it)", file=sys.stderr, flush=True)
            if open_:
                name = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(name, name)
                entrance = f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
                # Some browsers run in this terminal until they are closed.
                threading.Thread(target=webbrowser.open, args=(entrance,), daemon=True).start()

        async def shutdown(self, sockets: Any = None) -> None:
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what is broken off now is no news
            await super().shutdown(sockets)

    return Server(config)
