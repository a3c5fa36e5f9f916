"""Run the property tests on random examples for a given time: `python tests/fuzz.py [--minutes 10] [TEST ...]`.

Each round draws new examples from one seed and prints it. A failing round prints its failures, with the smallest
example that Hypothesis found. `MASCOT_HYPOTHESIS=fuzz pytest --hypothesis-seed SEED TEST` repeats a round.
The exit code is 1 if a round failed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LIMIT_S = 3600.0  # of one round; a property that hangs is a failure too


def property_files() -> list[str]:
    """Return the test files that use Hypothesis, without those that need a server or a browser."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if "@given" in path.read_text(encoding="utf-8")]


def run_round(seed: int, tests: list[str], jobs: str) -> tuple[bool, str]:
    """Run the tests on examples of a seed; return whether they passed, and what pytest printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--hypothesis-seed", str(seed), *tests]
    environment = {**os.environ, "MASCOT_HYPOTHESIS": "fuzz", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return False, f"the round did not end within {_LIMIT_S:.0f} s"
    return done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--jobs", default="auto", help="processes (default: one per core)")
    parser.add_argument("tests", nargs="*", help="test files (default: all with properties)")
    options = parser.parse_args()
    tests = options.tests or property_files()
    end, rounds, failed = time.monotonic() + 60 * options.minutes, 0, []
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(2**32)
        passed, output = run_round(seed, tests, options.jobs)
        rounds += 1
        left = max(end - time.monotonic(), 0) / 60
        print(f"seed {seed}: {'passed' if passed else 'FAILED'} ({left:.1f} minutes left)", flush=True)
        if not passed:
            failed.append(seed)
            print(output, flush=True)
    print(f"{rounds} rounds, {len(failed)} failed{': seeds ' + ', '.join(map(str, failed)) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
