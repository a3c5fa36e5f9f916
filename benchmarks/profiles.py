"""Profiles over HTTP: the server CPU of a request by profile and of the same request spelled out, and a load test.

    python -m benchmarks.profiles              # medians of both, alternating, and their ratio
    python -m benchmarks.profiles --load 30    # two profiles, 200 clients, for 30 s

Linux only: the CPU time of the server comes from /proc.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.service import Connection, cpu_seconds, print_load, served

_WISHES = [{"limit": "seller", "n": 2}, {"spread": {"kind": "Place"}}, {"share": "ad", "shares": {"yes": 0.2}}]
_RULES: dict[str, Any] = {"wishes": _WISHES, "k": 20}
_ROUNDS, _REQUESTS = 41, 100


def _hits(count: int = 200) -> dict[str, Any]:
    """Return candidates with four columns."""
    rng = np.random.default_rng(0)
    columns = {
        "seller": [f"seller {n}" for n in rng.integers(0, 40, count)],
        "ad": ["yes" if n else "no" for n in rng.integers(0, 2, count)],
        "lat": rng.uniform(-60, 60, count).round(4).tolist(),
        "lon": rng.uniform(-180, 180, count).round(4).tolist(),
    }
    return {"scores": np.sort(rng.random(count))[::-1].round(6).tolist(), "columns": columns}


def _body(**rules: Any) -> bytes:
    return json.dumps(_hits() | rules).encode()


def _compare(pid: int, port: int) -> None:
    """Print the medians of both kinds of request, and the median of their ratios by round."""
    bodies = {"spelled out": _body(**_RULES), "by profile": _body(profile="home")}
    times: dict[str, list[float]] = {name: [] for name in bodies}
    connection = Connection(port)
    for number in range(_ROUNDS + 1):
        for name in sorted(bodies, reverse=number % 2 == 1):
            start = cpu_seconds(pid)
            for _ in range(_REQUESTS):
                connection.post(bodies[name])
            if number:  # the first round warms the server
                times[name].append((cpu_seconds(pid) - start) / _REQUESTS * 1000)
    for name, values in times.items():
        print(f"{name:<12} {median(values):.3f} ms of server CPU")
    ratios = [a / b for a, b in zip(times["by profile"], times["spelled out"], strict=True)]
    print(f"ratio        {median(ratios):.3f} (median of {_ROUNDS} rounds of {_REQUESTS} requests)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", type=float, metavar="SECONDS")
    seconds = parser.parse_args().load
    with tempfile.TemporaryDirectory() as folder:
        for name, k in (("home", 20), ("list", 50)):
            (Path(folder) / f"{name}.json").write_text(json.dumps(_RULES | {"k": k}))
        with served("--profiles", folder) as (pid, port):
            if seconds is None:
                _compare(pid, port)
            else:
                print_load(port, [_body(profile="home"), _body(profile="list")], 200, seconds)


if __name__ == "__main__":
    main()
