"""How long the command takes to start, in seconds: the shortest of some runs, beside Python alone.

python -m benchmarks.startup [--rounds 10]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time

_BAR_S = 0.3
_COMMANDS = (
    ("python -c pass", ("-c", "pass")),
    ("import mascot, first name", ("-c", "import mascot; mascot.rerank")),
    ("mascot --help", ("-m", "mascot", "--help")),
    ("mascot --version", ("-m", "mascot", "--version")),
    ("mascot search --help", ("-m", "mascot", "search", "--help")),
)


def measure(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Return seconds of wall-clock time and of CPU time of one process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, shortest of {rounds}\n{'':28}wall, s   CPU, s")
    for name, arguments in _COMMANDS:
        times = [measure(arguments) for _ in range(rounds)]
        wall, cpu = (min(column) for column in zip(*times, strict=True))
        verdict = f"   bar {_BAR_S}: {'passes' if wall < _BAR_S else 'fails'}" if name == "mascot --help" else ""
        print(f"{name:28}{wall:7.3f}  {cpu:7.3f}{verdict}")


if __name__ == "__main__":
    main()
