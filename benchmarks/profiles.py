"""Profiles over HTTP: the server CPU of a request by profile and of the same request spelled out, and a load test.

    python -m benchmarks.profiles              # medians of both, alternating, and their ratio
    python -m benchmarks.profiles --load 30    # two profiles, 200 clients, for 30 s

Linux only: the CPU time of the server comes from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import numpy as np

WISHES = [{"limit": "seller", "n": 2}, {"spread": {"kind": "Place"}}, {"share": "ad", "shares": {"yes": 0.2}}]
RULES: dict[str, Any] = {"wishes": WISHES, "k": 20}
ROUNDS, REQUESTS = 41, 100


def hits(count: int = 200) -> dict[str, Any]:
    """Return candidates with three columns."""
    rng = np.random.default_rng(0)
    columns = {
        "seller": [f"seller {n}" for n in rng.integers(0, 40, count)],
        "ad": ["yes" if n else "no" for n in rng.integers(0, 2, count)],
        "lat": rng.uniform(-60, 60, count).round(4).tolist(),
        "lon": rng.uniform(-180, 180, count).round(4).tolist(),
    }
    return {"scores": np.sort(rng.random(count))[::-1].round(6).tolist(), "columns": columns}


async def load(
    address: str, profiles: list[str], body: dict[str, Any], clients: int, requests: int = 0, seconds: float = 0
) -> Counter[tuple[str, int]]:
    """Return how often each profile got each status; every client sends some requests, or for some seconds."""
    statuses: Counter[tuple[str, int]] = Counter()
    end = asyncio.get_running_loop().time() + seconds

    async def ask(name: str, client: httpx.AsyncClient) -> None:
        content, sent = json.dumps(body | {"profile": name}), 0
        while sent < requests or asyncio.get_running_loop().time() < end:
            answer = await client.post("/api/rerank", content=content, headers={"content-type": "application/json"})
            statuses[name, answer.status_code] += 1
            sent += 1

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60, trust_env=False) as client:
        await asyncio.gather(*(ask(profiles[n % len(profiles)], client) for n in range(clients)))
    return statuses


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def compare(address: str, pid: int) -> None:
    """Print the medians of both kinds of request, and the median of their ratios by round."""
    bodies = {"spelled out": hits() | RULES, "by profile": hits() | {"profile": "home"}}
    contents = {name: json.dumps(body) for name, body in bodies.items()}
    times: dict[str, list[float]] = {name: [] for name in contents}
    with httpx.Client(base_url=address, trust_env=False, headers={"content-type": "application/json"}) as client:
        for number in range(ROUNDS + 1):
            for name in sorted(contents, reverse=number % 2 == 1):
                start = cpu_seconds(pid)
                for _ in range(REQUESTS):
                    client.post("/api/rerank", content=contents[name]).raise_for_status()
                if number:  # the first round warms the server
                    times[name].append((cpu_seconds(pid) - start) / REQUESTS * 1000)
    for name, values in times.items():
        print(f"{name:<12} {median(values):.3f} ms of server CPU")
    ratios = [a / b for a, b in zip(times["by profile"], times["spelled out"], strict=True)]
    print(f"ratio        {median(ratios):.3f} (median of {ROUNDS} rounds of {REQUESTS} requests)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--load", type=float, metavar="SECONDS")
    seconds = parser.parse_args().load
    with tempfile.TemporaryDirectory() as folder:
        for name in ("home", "list"):
            (Path(folder) / f"{name}.json").write_text(json.dumps(RULES | {"k": 20 if name == "home" else 50}))
        command = [sys.executable, "-m", "mascot.cli", "serve", "--no-library", "--port", "0", "--profiles", folder]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                address = server.stderr.readline().split()[1]
                if seconds is None:
                    compare(address, server.pid)
                else:
                    print(dict(asyncio.run(load(address, ["home", "list"], hits(), clients=200, seconds=seconds))))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
