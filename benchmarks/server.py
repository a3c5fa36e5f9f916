"""A hundred clients at once against `mascot serve` on this machine: times, errors, requests per second.

    python -m benchmarks.server                       30 s over a small library made for it
    python -m benchmarks.server --address http://127.0.0.1:8765 --clients 100 --requests 3

Each client has one connection and waits for an answer before the next request: searches with changing wishes,
thumbnails, and lists of candidates. It ends after --seconds or after --requests per client, whichever is first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np

_WORDS = ("sunset", "market", "tower", "harbour", "water", "morning")
_WISHES = (("place", "spread"), ("hour", "focus"), ("camera", "spread"), ("season", "focus"))
_PATIENCE_S = 60.0
_MOST_REQUESTS = 100_000  # in all, also if more are requested


def _question(client: int, turn: int) -> tuple[str, str, dict[str, Any] | None]:
    """Return a request: mostly those of a moving slider, some thumbnails, some lists of the caller."""
    kind = (client + turn) % 10
    if kind < 6:
        name, direction = _WISHES[(client + turn) % len(_WISHES)]
        body = {
            "text": _WORDS[client % len(_WORDS)], "k": 20, "strength": (turn % 11) / 10,
            "wishes": [{direction: name}],
        }  # fmt: skip
        return "search", "/api/search", body
    if kind < 9:
        return "thumb", f"/api/photos/{1 + (client * 7 + turn) % 30}/thumb", None
    hours = [float((i * 7 + client) % 24) for i in range(200)]
    wish = {"spread": {"kind": "HourOfDay", "column": "hour"}}
    return "rerank", "/api/rerank", {"scores": [1 - i / 200 for i in range(200)], "columns": {"hour": hours},
                                     "wishes": [wish]}  # fmt: skip


async def _client(number: int, address: str, ends: float, most: int, took: dict[str, list[float]], wrong: Counter[str],
                  headers: dict[str, str]) -> None:  # fmt: skip
    options: dict[str, Any] = {"timeout": _PATIENCE_S, "trust_env": False, "verify": False, "headers": headers}
    async with httpx.AsyncClient(base_url=address, **options) as client:
        for turn in range(most):
            if time.monotonic() > ends:
                return
            kind, path, body = _question(number, turn)
            started = time.perf_counter()
            try:
                answer = await (client.get(path) if body is None else client.post(path, json=body))
            except httpx.HTTPError as error:
                wrong[type(error).__name__] += 1
                continue
            if answer.status_code == 200:
                took.setdefault(kind, []).append(time.perf_counter() - started)
            else:
                wrong[f"{kind} {answer.status_code}"] += 1


async def _run(address: str, clients: int, seconds: float, most: int, token: str | None) -> int:
    took: dict[str, list[float]] = {}
    wrong: Counter[str] = Counter()
    headers = {"authorization": f"Bearer {token}"} if token else {}
    started = time.perf_counter()
    ends = time.monotonic() + seconds
    await asyncio.gather(*(_client(i, address, ends, most, took, wrong, headers) for i in range(clients)))
    spent = time.perf_counter() - started
    every = [value for values in took.values() for value in values]
    errors = sum(wrong.values())
    print(f"{clients} clients, {spent:.1f} s: {len(every) + errors} requests, {errors} errors, ", end="")
    print(f"{len(every) / spent:.0f} a second")
    print(f"{'ms':<8} {'count':>7} {'p50':>8} {'p95':>8} {'p99':>8} {'max':>8}")
    for kind, values in [*sorted(took.items()), ("all", every)]:
        if values:
            percentiles = np.percentile(np.array(values) * 1e3, [50, 95, 99, 100])
            print(f"{kind:<8} {len(values):>7} " + " ".join(f"{value:>8.1f}" for value in percentiles))
    for kind, count in wrong.items():
        print(f"error: {kind} x {count}")
    return 1 if wrong or not every else 0


def _served(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server over thirty photographs."""
    from tests.photos.jpegs import small_library

    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    surroundings["XDG_STATE_HOME"] = str(folder / "state")
    command = [sys.executable, "-m", "mascot.cli"]
    root = str(small_library(folder / "photos"))
    subprocess.run([*command, "index", root], env=surroundings, check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, "serve", "--library", root, "--port", "0"], env=surroundings, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    return process, next(word for word in line.split() if word.startswith("http://"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="address of a running server (default: start one)")
    parser.add_argument("--token", default=os.environ.get("MASCOT_TOKEN"))
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--requests", type=int, help="at most, of each client")
    options = parser.parse_args()
    most = min(options.requests or _MOST_REQUESTS, _MOST_REQUESTS // options.clients)
    if options.address:
        return asyncio.run(_run(options.address, options.clients, options.seconds, most, options.token))
    with tempfile.TemporaryDirectory() as folder:
        process, address = _served(Path(folder))
        try:
            return asyncio.run(_run(address, options.clients, options.seconds, most, None))
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
