"""Compare what is selected and answered with what is stored.

`python -m tests.freeze [--only selections|answers] [--kind TEXT] [--write]` prints, kind by kind, how many problems
differ, and the first of them. It needs the sample library, which it makes in build/freeze at the first run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.freeze.answers import answers
from tests.freeze.problems import selections

HERE = Path(__file__).parent
FOLDER = Path("build/freeze")


def compare(name: str, current: Iterable[tuple[str, Any, Any]], kind: str, write: bool) -> int:
    """Compare answers with the stored ones, or store them. Return how many differ."""
    file = HERE / f"{name}.json"
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    result: dict[str, dict[str, Any]] = {}
    asked: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for group, key, value in current:
        value = json.loads(json.dumps(value))
        before = stored.get(group, {}).get(str(key))
        value = " ".join(map(str, value)) if name == "selections" else value
        result.setdefault(group, {})[str(key)] = value
        asked[group] += 1
        if value != before and kind in group:
            changed[group] += 1
            if changed[group] == 1 and not write:
                print(f"  {group}, first difference: {key}\n    stored  {short(before)}\n    current {short(value)}")
    if write:
        groups = (
            f"{json.dumps(group)}: {{\n"
            + ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items())
            + "\n}"
            for group, rows in result.items()
        )
        file.write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="utf-8")
    for group, number in asked.items():
        print(f"{group:24} {number:5} problems {changed[group]:5} differ")
    print(f"{name:24} {asked.total():5} problems {changed.total():5} differ")
    return changed.total()


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 1000 else f"{text[:1000]}..."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["selections", "answers"], help="one of the two")
    parser.add_argument("--kind", default="", help="kinds whose name contains this text")
    parser.add_argument("--write", action="store_true", help="store the answers instead of comparing them")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    differences = 0
    if options.only != "answers":
        differences += compare("selections", selections(), options.kind, options.write)
    if options.only != "selections":
        differences += compare("answers", answers(FOLDER.resolve()), options.kind, options.write)
    sys.exit(1 if differences and not options.write else 0)


if __name__ == "__main__":
    main()
