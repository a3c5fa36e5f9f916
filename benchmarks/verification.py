"""The cost of verification for a process that searches: every block that it reads is compared with its checksum.

    python -m benchmarks.verification [--rows 200000] [--repeats 30] [--library FOLDER]

Prints CPU time, the least of several runs: of opening the index and comparing a query with every vector, verified and
without, and of a whole process that searches once. `--library` is where the synthetic library is, or is to be made.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from benchmarks.photos import Given, _synthetic
from mascot.photos import Library
from mascot.photos.database.checksums import CheckedRows
from mascot.photos.database.vector_index import open_nearest


def _search_once(root: Path) -> None:
    """Search as a command does, and print the CPU time of this process in ms."""
    with Library.open(root) as library:
        library.search("a query", [library.spread("place")], encoder=Given())
    print(time.process_time() * 1e3)


def _process_ms(root: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.verification", "--search-once", str(root)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _scan_ms(library: Library) -> float:
    """CPU time of opening the index and of its first comparison with all vectors, in ms."""
    query, space = Given().texts(["a query"])[0], library.store.space
    started = time.process_time()
    open_nearest(library.folder, library.store, space).search(query, 5000)
    return (time.process_time() - started) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--search-once", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search_once is not None:
        _search_once(options.search_once)
        return
    with tempfile.TemporaryDirectory() as folder:
        root = options.library or Path(folder) / "library"
        if not root.is_dir():
            _synthetic(root, options.rows)
        verified, plain = float("inf"), float("inf")
        with Library.open(root) as library:
            for _ in range(options.repeats):
                verified = min(verified, _scan_ms(library))
                with mock.patch.object(CheckedRows, "_verify"):
                    plain = min(plain, _scan_ms(library))
            rows = library.store.count()
        process = min(_process_ms(root) for _ in range(max(options.repeats // 3, 1)))
    print(f"{rows:,} vectors of {Given.dim} numbers; CPU time, the least of {options.repeats}")
    print(f"opening the index and comparing all, verified  {verified:8.1f} ms")
    print(f"the same without verifying                     {plain:8.1f} ms")
    print(f"a process that searches once, without encoder  {process:8.1f} ms")
    print(f"verifying costs such a process                 {(verified - plain) / (process - verified + plain):8.1%}")


if __name__ == "__main__":
    main()
