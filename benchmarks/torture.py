"""Attacks on a photo library and a server, and a table of what was tried and what survived.

    python -m benchmarks.torture [--attack NAME]

Everything runs on this machine, in a temporary folder. An attack is a function in `benchmarks/attacks` that yields a
`Trial` for every attempt; `@attack` adds it to the list.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.attacks import photo_library, server  # noqa: F401 - they add their attacks to the list
from benchmarks.attacks.frame import ATTACKS, run_attack, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks, and print the table; 1 if one was not survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--attack", action="append", choices=list(ATTACKS), help="this attack; repeatable")
    tallies = []
    for name in parser.parse_args(arguments).attack or ATTACKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        tallies.append(run_attack(name))
    print(table(tallies))
    return int(any(tally.failures for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
