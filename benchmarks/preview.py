"""Time of `mascot preview` for 10,000 invented queries of 200 hits: `python -m benchmarks.preview`."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_QUERIES, _HITS = 10_000, 200
_CATEGORIES = ("shoes", "bags", "hats", "coats", "socks")
_OLD = [{"limit": "seller", "n": 3}]
_NEW = [{"spread": "category"}, {"limit": "seller", "n": 2}, {"share": "used", "shares": {"True": 0.2}}]


def _line(rng: random.Random, number: int) -> str:
    hits = [
        {
            "id": f"p{rng.randrange(100_000)}", "score": 0.99**rank + rng.random() / 20, "price": rng.randrange(5, 200),
            "seller": f"seller{min(int(rng.expovariate(0.15)), 39)}", "category": rng.choice(_CATEGORIES),
            "sponsored": rng.random() < 0.1, "used": rng.random() < 0.05,
        }
        for rank in range(_HITS)
    ]  # fmt: skip
    return json.dumps({"query": f"query {number}", "hits": hits}) + "\n"


def main() -> None:
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with (folder / "queries.jsonl").open("w") as file:
            file.writelines(_line(rng, number) for number in range(_QUERIES))
        for name, wishes in (("old", _OLD), ("rules", _NEW)):
            (folder / f"{name}.json").write_text(json.dumps({"wishes": wishes}))
        words = ["rules.json", "queries.jsonl", "--against", "old.json", "--html", "preview.html"]
        start = time.perf_counter()
        command = [sys.executable, "-m", "mascot.cli", "preview", *words]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print(f"{_QUERIES:,} queries of {_HITS} hits: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
