"""Names say what a value is: vague words are rare among bindings, and every class name has one meaning."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "src" / "mascot"
# Without `taken`, the column of a photograph's time.
VAGUE = frozenset((
    "asked", "behind", "done", "drawn", "found", "given", "gone", "got", "held", "kept", "known", "left", "listed",
    "lost", "made", "meant", "met", "named", "one", "others", "own", "put", "read", "rest", "said", "shown", "some",
    "theirs", "there", "thing", "things", "those", "told", "wanted", "what", "who", "whole", "whose",
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


@pytest.fixture(scope="module")
def trees() -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES.rglob("*.py")]


def test_vague_names_are_rare(trees: list[ast.Module]) -> None:
    names = Counter(name.strip("_").lower() for tree in trees for name in bindings(tree))
    vague = {name: names[name] for name in VAGUE if names[name]}
    assert sum(vague.values()) <= BAR * names.total(), vague


def test_class_names_are_unique(trees: list[ast.Module]) -> None:
    nodes = (node for tree in trees for node in ast.walk(tree))
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert not {name for name, count in classes.items() if count > 1}
