"""The audit against the paper: its list, and how an item is judged; `python -m benchmarks.reproduce` runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.audit import selections
from benchmarks.audit.items import ITEMS, Item
from benchmarks.reproduce import judge

ROOT = Path(__file__).parents[2]


def mismatch() -> str:
    raise selections.Mismatch("1 is not 2")


def test_the_list_is_complete_and_every_named_test_exists() -> None:
    assert len(ITEMS) == 95
    for test in {test for item in ITEMS for test in item.tests}:
        file, _, name = test.partition("::")
        assert re.search(rf"def {name.partition('[')[0]}\(", (ROOT / file).read_text(encoding="utf-8")), test
    assert all(item.checks or item.tests for item in ITEMS)


@pytest.mark.parametrize(
    ("item", "outcomes", "state", "words"),
    [
        (Item("s", "t", (lambda: "equal",)), {}, "right", "equal"),
        (Item("s", "t", (mismatch,)), {}, "wrong", "1 is not 2"),
        (Item("s", "t", (), ("f::a",)), {"f::a": ["passed", "passed"]}, "right", "a: 2 passed"),
        (Item("s", "t", (), ("f::a", "f::b")), {"f::a": ["passed"], "f::b": ["failed"]}, "wrong", "b failed"),
        (Item("s", "t", (), ("f::a",)), {}, "wrong", "a missing"),
        (Item("s", "t", (), ("f::a",)), {"f::a": ["skipped"]}, "part", "nothing could be checked here"),
        (Item("s", "t", (lambda: "equal",), gap="needs files"), {}, "part", "needs files"),
    ],
)
def test_an_item_is_judged_by_its_checks_and_tests(item: Item, outcomes: Any, state: str, words: str) -> None:
    judged, how = judge(item, {}, outcomes)
    assert judged == state
    assert words in how


def test_a_changed_formula_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "957,600 memberships" in selections.memberships()
    monkeypatch.setattr(selections.formulas, "_thresholded", lambda memberships: memberships)
    with pytest.raises(selections.Mismatch, match="a membership differs"):
        selections.memberships()
