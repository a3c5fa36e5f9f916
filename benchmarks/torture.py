"""Attacks on a photo library and a server, and a table of what was tried and what survived.

    python -m benchmarks.torture [--short] [--attack NAME] [--resume] [--out FOLDER] [--seed 0]

Everything runs on this machine, in a temporary folder. Each attack has a limit of time; it stops there and counts what
it tried. Finished attacks are recorded in the folder `--out`; `--resume` goes on behind them.

An attack is a function in `benchmarks/attacks` that yields a `Trial` for every attempt; `@attack` adds it to the list.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.attacks import kernels, photo_library, saved_files, server  # noqa: F401 - they add their attacks to the list
from benchmarks.attacks.frame import ATTACKS, Tally, run_attack, table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks that are not recorded yet, and print the table; 1 if one was not survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="few attempts each, two or three minutes")
    parser.add_argument("--attack", action="append", choices=list(ATTACKS), help="this attack; repeatable")
    parser.add_argument("--resume", action="store_true", help="without those that an earlier run has finished")
    parser.add_argument("--out", type=Path, default=Path("out/torture"), help="where results are recorded")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    record = options.out / f"{'short' if options.short else 'full'}-{options.seed}.jsonl"
    if not options.resume:
        record.unlink(missing_ok=True)
    tallies = _recorded(record)
    names: list[str] = options.attack or list(ATTACKS)
    with tempfile.TemporaryDirectory(prefix="mascot-torture-") as temporary:
        folder = Path(temporary)
        photo_library.prepare(folder)
        try:
            for name in names:
                if name not in tallies:
                    print(f"{name} ...", file=sys.stderr, flush=True)
                    tallies[name] = run_attack(name, options.short, options.seed, folder)
                    with record.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(asdict(tallies[name])) + "\n")
        except KeyboardInterrupt:
            print("stopped; --resume goes on here", file=sys.stderr)
    results = [tallies[name] for name in names if name in tallies]
    print(table(results))
    return int(len(results) < len(names) or any(tally.survived < tally.tried for tally in results))


def _recorded(record: Path) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    if record.is_file():
        for line in record.read_text("utf-8").splitlines():
            try:
                values = json.loads(line)
                lists = {name: tuple(values.get(name, ())) for name in ("failures", "measured")}
                tallies[values["attack"]] = Tally(**values | lists)
            except (ValueError, KeyError, TypeError):  # a line that was cut by a kill
                continue
    return tallies


if __name__ == "__main__":
    sys.exit(main())
