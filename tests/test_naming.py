"""Names say what a value is: vague words are rare among bindings, and every class name has one meaning."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src" / "mascot"
VAGUE = frozenset((
    "asked", "behind", "done", "drawn", "found", "given", "gone", "got", "held", "kept", "known", "left", "listed",
    "lost", "made", "meant", "met", "named", "one", "others", "own", "put", "read", "rest", "said", "shown", "some",
    "taken", "theirs", "there", "thing", "things", "those", "told", "wanted", "what", "who", "whole", "whose",
))  # fmt: skip
BAR = 0.005  # of all bindings


def bindings(tree: ast.AST) -> Iterator[str]:
    """Yield every name that is bound: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def vague_names() -> tuple[Counter[str], Counter[str]]:
    """Return how many bindings each room has, and how many of them are vague."""
    total, vague = Counter[str](), Counter[str]()
    for path in SOURCES.rglob("*.py"):
        room = path.relative_to(SOURCES).parts[0]
        names = list(bindings(ast.parse(path.read_text(encoding="utf-8"))))
        total[room] += len(names)
        # `taken` is the column of a photograph's time.
        vague[room] += sum(name.strip("_").lower() in VAGUE - {"taken"} for name in names)
    return total, vague


def test_vague_names_are_rare() -> None:
    total, vague = vague_names()
    assert vague.total() <= BAR * total.total(), vague.most_common(8)


def test_class_names_are_unique() -> None:
    classes = Counter(
        node.name
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, count in classes.items() if count > 1}


if __name__ == "__main__":  # a table of the rooms
    totals, vagues = vague_names()
    for name in sorted(totals):
        sys.stdout.write(f"{name:16} {vagues[name]:4} of {totals[name]:5}  {vagues[name] / max(totals[name], 1):.2%}\n")
    sys.stdout.write(f"{'all':16} {vagues.total():4} of {totals.total():5}  {vagues.total() / totals.total():.2%}\n")
