"""`mascot serve`: serve re-ranking, photo search and the page over HTTP."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import typer

import mascot as mc
from mascot.cli import options
from mascot.errors import require
from mascot.extras import package

_PORT = 8765
_ORIGIN = re.compile(r"https?://[^/\s*]+")
_PACKAGES = ("uvicorn", "starlette", "anyio", "msgspec", "prometheus_client", "cachetools", "httptools")


def serve(
    library: list[Path] | None = options.LIBRARY,
    no_library: bool = typer.Option(False, "--no-library", help="Serve re-ranking only, even if there is a library."),
    host: str = typer.Option(
        "127.0.0.1", help="Address to listen on; addresses that other machines can reach need --token."
    ),
    port: int = typer.Option(_PORT, min=0, max=65535, help="Port to listen on; 0 takes any free port."),
    profiles: Path | None = typer.Option(
        None, metavar="DIR", help="Folder of profiles, which requests name instead of their rules."
    ),
    audit: str | None = typer.Option(
        None, metavar="FILE", help="Append a line of JSON per re-ranked page; - is standard output."
    ),
    workers: int = typer.Option(1, min=1, max=256, help="Processes that share the port."),
    token: str | None = typer.Option(
        None, envvar="MASCOT_TOKEN", help="Token that every client must send.", show_default=False
    ),
    cors: list[str] | None = typer.Option(
        None, metavar="ORIGIN", help="Allow pages of this origin to use the API. Repeatable."
    ),
    open_: bool = typer.Option(False, "--open", help="Show the page in the browser."),
) -> None:
    """Serve re-ranking over HTTP, and photo search with a web page.

    \b
    mascot serve --open
    mascot serve --no-library --workers 4 --profiles rules
    mascot serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"

    Without a token only this machine can connect. Without a library only re-ranking is served. SIGTERM lets
    running requests finish; SIGHUP restarts the workers one by one.
    """
    if token is not None and not token:
        raise mc.OptionError("--token must not be empty")
    if token is None and not _is_loopback(host):
        raise mc.OptionError(f"--host {host} can be reached from other machines: set a --token, or listen on 127.0.0.1")
    for origin in cors or []:
        require(bool(_ORIGIN.fullmatch(origin)), "--cors", "must be an origin like https://example.org", origin)
    for name in _PACKAGES:
        package(name, "serve", "the server")
    from mascot.server.rerank.audit import AuditLog
    from mascot.server.rerank.profile_store import ProfileStore
    from mascot.server.run import process
    from mascot.server.settings import LOCAL_NAMES, Settings

    folder = None if no_library else _library(options.single_library(library))
    os.environ.pop("MASCOT_LIBRARY", None)
    names = (*LOCAL_NAMES, f"[{host}]" if ":" in host else host)
    environment = Settings.from_environment()
    profile_folder = str(profiles.absolute()) if profiles else environment.profiles
    for error in ProfileStore(profile_folder).errors.values():
        raise mc.OptionError(error)
    audit = audit or environment.audit
    AuditLog(audit, 1)  # report a file that cannot be written before listening
    origins = tuple(cors) if cors else environment.cors
    settings = replace(
        environment, library=folder, profiles=profile_folder, audit=audit, token=token, cors=origins, hosts=names
    )  # fmt: skip
    with _listen(host, port) as listener:
        address = listener.getsockname()
        with suppress(KeyboardInterrupt):
            process.serve(settings, listener, workers, lambda: _announce(address, open_, token))
    process.exit_now()


def _library(path: Path | None) -> str | None:
    """Return the folder of the library to serve, or None if there is none."""
    from mascot.photos.locations import enclosing, remembered

    if path is None and not (os.environ.get("MASCOT_LIBRARY") or enclosing() or remembered()):
        return None
    from mascot.photos.library import Library

    with Library.open(path) as library:
        library.store.count()  # report an unreadable library before listening
        return str(library.location)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, socket_address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(socket_address[:2], family=family, backlog=2048)
    except OSError as error:
        raise mc.OptionError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another --port; "
            "0 takes any free port"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _announce(address: tuple[str, int], open_: bool, token: str | None) -> None:
    """Print the address of the server, and open the page."""
    host, port = address[:2]
    name = f"[{host}]" if ":" in host else host
    print(f"mascot: http://{name}:{port}/ (Ctrl+C stops it)", file=sys.stderr, flush=True)
    if open_:
        name = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(name, name)
        page = f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
        # Some browsers block until they are closed.
        threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
