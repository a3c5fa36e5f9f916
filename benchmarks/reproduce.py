"""Audit the package against the paper: 96 items, one line each, and how many are right.

    python -m benchmarks.reproduce [--only NUMBER,NUMBER]

Each item is decided by computations in this run (the literal formulas of `audit/formulas.py`, the numbers of the paper,
a small run of the whole protocol), by named tests, or by both. The tests run in a process of their own at the same
time. The source of the paper and the real photographs are used if `../shared` has them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.audit.items import ITEMS, Check, Item
from benchmarks.audit.selections import Mismatch

_ROOT = Path(__file__).resolve().parents[1]


class TestRun:
    """The tests of some items in a process of their own, and whether each of them passed."""

    def __init__(self, ids: Sequence[str], folder: Path) -> None:
        self._report = folder / "tests.xml"
        flags = ["-q", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={self._report}"]
        command = [sys.executable, "-m", "pytest", *flags, *ids]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL) if ids else None

    def outcomes(self) -> dict[str, list[str]]:
        """Wait for the end, and return "passed", "failed" or "skipped" for each case of a test, by its id."""
        if self._process is None:
            return {}
        self._process.wait()
        cases: dict[str, list[str]] = {}
        for case in ElementTree.parse(self._report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            for key in {name, name.partition("[")[0]}:
                cases.setdefault(key, []).append(outcome)
        return cases


def _evidence(checks: Sequence[Check], known: dict[Check, str | Mismatch]) -> tuple[list[str], list[str]]:
    """Return the evidence of the checks that agree, and what differs in the others; each check runs once."""
    for check in checks:
        if check not in known:
            try:
                known[check] = check()
            except Mismatch as error:
                known[check] = error
    texts = [known[check] for check in checks]
    return [text for text in texts if isinstance(text, str)], [
        str(text) for text in texts if isinstance(text, Mismatch)
    ]


def judge(item: Item, known: dict[Check, str | Mismatch], outcomes: dict[str, list[str]]) -> tuple[str, str]:
    """Return "right", "part" or "wrong" for an item, and how it was checked."""
    evidence, differing = _evidence(item.checks, known)
    skipped = 0
    for test in item.tests:
        results = outcomes.get(test, ["missing"])
        name = test.rpartition("::")[2]
        passed = results.count("passed")
        if set(results) - {"passed", "skipped"}:
            differing.append(f"{name} {', '.join(sorted(set(results) - {'passed', 'skipped'}))}")
        elif passed:
            evidence.append(f"{name}: {passed} passed")
        else:
            skipped += 1
            evidence.append(f"{name}: skipped here")
    if differing:
        return "wrong", "; ".join(differing)
    if item.gap or len(evidence) == skipped:
        return "part", "; ".join([item.gap or "nothing could be checked here", *evidence])
    return "right", "; ".join(evidence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", type=lambda text: [int(part) for part in text.split(",")], help="numbers of items")
    wanted = parser.parse_args().only or range(1, len(ITEMS) + 1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    started = time.perf_counter()
    known: dict[Check, str | Mismatch] = {}
    states: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        tests = TestRun(sorted({test for number in wanted for test in ITEMS[number - 1].tests}), Path(folder))
        for number in wanted:  # while the tests run
            _evidence(ITEMS[number - 1].checks, known)
        outcomes = tests.outcomes()
    for number in wanted:
        item = ITEMS[number - 1]
        state, how = judge(item, known, outcomes)
        states.append(state)
        print(f"{number:>2}  {state:<5}  {item.section:<11}  {item.text}  [{how}]")
    print(f"{states.count('right')} of {len(states)} right, in {(time.perf_counter() - started) / 60:.1f} minutes")
    raise SystemExit(1 if "wrong" in states else 0)


if __name__ == "__main__":
    main()
