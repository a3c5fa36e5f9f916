"""Every rule beside every other: an independent reader counts values and places, and all interfaces agree."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import mascot as mc
from mascot.server.rerank.rerank_task import RerankTask
from mascot.wishes import AnyWish
from tests.retelling import run_command

N, K = 80, 8
RNG = np.random.default_rng(3)
COLUMNS: dict[str, list[Any]] = {
    "seller": RNG.choice(list("abcdefgh"), N, p=np.array([8, 5, 3, 2, 2, 2, 1, 1]) / 24).tolist(),
    "city": RNG.choice(["rome", "oslo", "lima", "pune", "bonn"], N).tolist(),
    "ad": (RNG.random(N) < 0.3).astype(int).tolist(),
    "used": RNG.choice(["yes", "no"], N, p=[0.2, 0.8]).tolist(),
    "maker": RNG.choice(["x", "y", "z", "v", "w", None], N).tolist(),
}
HITS = mc.Candidates(np.linspace(1, 0.1, N), columns=COLUMNS)
EARLIER = [0, 1, 2, 5]
Page = list[int]


def values(name: str, page: Page) -> list[Any]:
    return [COLUMNS[name][i] for i in page]


def most(name: str, page: Page, window: int = K) -> int:
    """Return the largest number of results of one value in a window; missing values do not count."""
    spans = [values(name, page[start : start + window]) for start in range(len(page))]
    return max(max(Counter(v for v in span if v is not None).values(), default=0) for span in spans)


class Rule(NamedTuple):
    """A wish or an option, what holds on every page, and how the command line writes it."""

    wishes: list[AnyWish]
    holds: Callable[[Page], bool]
    typed: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})


SHARE = {1: 0.25}
RULES: dict[str, Rule] = {
    "limit": Rule([mc.limit("seller", 2)], lambda p: most("seller", p) <= 2, "--limit seller=2"),
    "per value": Rule(
        [mc.limit("seller", {"a": 1, "b": 2})],
        lambda p: values("seller", p).count("a") <= 1 and values("seller", p).count("b") <= 2,
        "--limit seller=a:1,b:2",
    ),
    "window": Rule([mc.limit("seller", 1, window=3)], lambda p: most("seller", p, 3) == 1, "--limit seller=1/3"),
    "window of cities": Rule([mc.limit("city", 2, window=5)], lambda p: most("city", p, 5) <= 2, "--limit city=2/5"),
    "first": Rule([mc.limit("ad", {1: 0}, first=2)], lambda p: 1 not in values("ad", p[:2]), "--limit ad=1:0@2"),
    "at least": Rule(
        [mc.at_least("city", {"oslo": 3})], lambda p: values("city", p).count("oslo") >= 3, "--at-least city=oslo:3"
    ),
    "share": Rule([mc.share("ad", SHARE)], lambda p: sum(values("ad", p)) == 2, "--share ad=1:25%"),
    "share at least": Rule(
        [mc.share("used", {"yes": 0.5}, "at least")],
        lambda p: values("used", p).count("yes") >= 4,
        "--share used=yes:min50%",
    ),
    "share at most": Rule(
        [mc.share("city", {"rome": 0.125}, "at most")],
        lambda p: values("city", p).count("rome") <= 1,
        "--share city=rome:max12.5%",
    ),
    "combination": Rule(
        [mc.limit(("used", "city"), 2)],
        lambda p: max(Counter(zip(values("used", p), values("city", p), strict=True)).values()) <= 2,
        "--limit used+city=2",
    ),
    "missing counted": Rule(
        [mc.limit("maker", 2, missing="value")], lambda p: max(Counter(values("maker", p)).values()) <= 2
    ),
    "missing dropped": Rule(
        [mc.limit("maker", 3, missing="drop")], lambda p: most("maker", p) <= 3 and None not in values("maker", p)
    ),
    "session": Rule(
        [mc.limit("seller", 3, session=True)], lambda p: most("seller", EARLIER + p, 2 * K) <= 3,
        options={"already": EARLIER},
    ),
    "fill": Rule([mc.limit("maker", 1, fill=True)], lambda p: most("maker", p) <= 2),
    "pinned first": Rule([], lambda p: p[:2] == [9, 12], "--pin 9 --pin 12", {"pin": [9, 12]}),
    "pinned": Rule([], lambda p: p[4] == 30 and p[6] == 20, "--pin 30=5 --pin 20=7",
                   {"pin": {30: 5, 20: 7}}),
    "already": Rule([], lambda p: not set(EARLIER) & set(p), "--already 0 --already 1 --already 2 --already 5",
                    {"already": EARLIER}),
    "protect": Rule([mc.spread("city")], lambda p: True, "--spread city --protect 2", {"protect": 2}),
    "keep": Rule([mc.spread("seller")], lambda p: True, "--spread seller --keep 0.9", {"keep": 0.9}),
    "order": Rule([], lambda p: True, "--order relevance", {"order": "relevance"}),
}  # fmt: skip
CONTRARY = {("pinned first", "pinned")}
PAIRS = [pair for pair in combinations(RULES, 2) if pair not in CONTRARY]


def combined(names: tuple[str, ...]) -> tuple[list[AnyWish], dict[str, Any]]:
    rules = [RULES[name] for name in names]
    options = {key: value for rule in rules for key, value in rule.options.items()}
    return [wish for rule in rules for wish in rule.wishes], options


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
def test_two_rules_hold_together(names: tuple[str, str]) -> None:
    wishes, options = combined(names)
    page, other = (mc.rerank(HITS, wishes, K, backend=backend, **options).ids for backend in ("native", "numpy"))
    assert page == other
    assert len(page) == len(set(page)) == K
    assert [name for name in names if not RULES[name].holds(page)] == []
    if "order" in names and not options.get("pin") and not any(getattr(wish, "places", False) for wish in wishes):
        assert page == sorted(page)  # scores fall with the position


def test_the_most_relevant_results_break_most_rules() -> None:
    assert len([name for name, rule in RULES.items() if rule.holds(list(range(K)))]) == 5


TYPED = [
    ("limit", "share"), ("per value", "at least"), ("window", "share"), ("window", "first"), ("window", "already"),
    ("first", "share at least"), ("share at most", "order"), ("combination", "window of cities"), ("limit", "keep"),
    ("window", "protect"), ("at least", "share at most", "window"), ("share", "combination", "already"),
    ("window", "pinned"), ("limit", "pinned first"),
]  # fmt: skip


@pytest.mark.parametrize("names", TYPED, ids=" and ".join)
def test_interfaces_agree(names: tuple[str, ...]) -> None:
    wishes, options = combined(names)
    expected = mc.rerank(HITS, wishes, K, **options).ids
    body = {"scores": HITS.scores.tolist(), "columns": COLUMNS, "k": K, "wishes": [wish.to_dict() for wish in wishes]}
    answer = RerankTask(json.dumps(body | options).encode()).answer()
    assert [result.id for result in answer.results] == expected
    words = [word for name in names for word in str(RULES[name].typed).split()]
    records = [
        {"id": i, "score": HITS.scores[i], **{name: column[i] for name, column in COLUMNS.items()}} for i in range(N)
    ]
    lines = "\n".join(map(json.dumps, records))
    done = run_command("rerank", "-k", str(K), "--format", "jsonl", *words, stdin=lines)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == expected
