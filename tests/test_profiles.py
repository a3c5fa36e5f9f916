"""Profiles: files of rules, what a call may override, versions, and the assignment of variants."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.profiles import profile_of

HITS = [
    {"id": id_, "score": score, "seller": seller, "lat": lat, "lon": 0.0}
    for id_, score, seller, lat in [("a", 0.9, "x", 0), ("b", 0.8, "x", 0), ("c", 0.7, "y", 50), ("d", 0.6, "z", 50)]
]
PLACE = {"kind": "Place", "sigma_km": 50.0}
RULES: dict[str, Any] = {
    "wishes": [{"limit": "seller", "n": 1}, {"focus": PLACE, "within": 100}],
    "k": 3, "strength": 0.7, "protect": 0, "order": "selection", "allow": ["k", "near.place"],
}  # fmt: skip
VARIANTS = {"wishes": [{"limit": "seller", "n": 1}], "k": 2,
            "variants": {"control": {"weight": 3, "wishes": []}, "strict": {}}}  # fmt: skip
TOML = """
k = 3
strength = 0.7
protect = 0
order = "selection"
allow = ["k", "near.place"]
[[wishes]]
limit = "seller"
n = 1
[[wishes]]
focus = {kind = "Place", sigma_km = 50.0}
within = 100
"""


@pytest.mark.parametrize(("suffix", "text"), [("json", json.dumps(RULES)), ("toml", TOML), ("json", "\ufeff{}")])
def test_a_file_gives_the_results_of_its_rules(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"home-page.{suffix}"
    path.write_text(text, encoding="utf-8")
    profile = mc.load_profile(path)
    assert profile.name == "home-page"
    if text == "\ufeff{}":
        assert profile.rerank(HITS).ids == mc.rerank(HITS, []).ids
        return
    place = mc.Place(sigma_km=50.0)
    options: Any = {"strength": 0.7, "protect": 0, "order": "selection"}
    limit = mc.limit("seller", 1)
    for near in (None, {}, {"place": None}):  # without a value the focus does not apply
        assert profile.rerank(HITS, near=near).ids == mc.rerank(HITS, limit, 3, **options).ids
    wishes = [limit, mc.focus(place, near=(50, 0), within=100)]
    page = profile.rerank(HITS, near={"place": [50, 0]}, k=2, already=["c"], pin=["a"])
    assert page.ids == mc.rerank(HITS, wishes, 2, already=["c"], pin=["a"], **options).ids == ["a", "d"]


def test_the_version_depends_on_the_rules_alone() -> None:
    versions = {
        profile_of(name, RULES | changes).version
        for name, changes in [("a", {}), ("b", {}), ("a", {"description": "For the home page"})]
    }
    versions.add(profile_of("a", dict(reversed(RULES.items()))).version)
    assert len(versions) == 1
    for changes in ({"k": 4}, {"allow": ["near.place"]}, {"wishes": RULES["wishes"][1:]}, {"strength": 0.6}):
        assert profile_of("a", RULES | changes).version not in versions
    swapped = VARIANTS | {"variants": dict(reversed(VARIANTS["variants"].items()))}  # the order assigns the keys
    assert profile_of("a", VARIANTS).version != profile_of("a", swapped).version


def test_variants_are_assigned_by_weight_and_stay() -> None:
    profile = profile_of("home", VARIANTS)
    keys = [f"user {number}" for number in range(2000)]
    assigned = [profile.assign(key).name for key in keys]
    counts = Counter(assigned)
    assert 1400 < counts["control"] < 1600
    changed = profile_of("home", VARIANTS | {"k": 3})
    assert assigned == [changed.assign(key).name for key in keys]
    other = profile_of("other", VARIANTS)
    assert assigned != [other.assign(key).name for key in keys]
    assert profile.assign().name == "control"
    key = keys[assigned.index("strict")]
    assert profile.rerank(HITS, key=key).ids == profile.rerank(HITS, variant="strict").ids == ["a", "c"]
    assert profile.rerank(HITS).ids == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[1]", "x.json: a profile must be a dictionary, got [1]"),
        ('{"k": 1, "k": 2}', "x.json: a key must occur once in an object, got 'k'"),
        ("{", "x.json: not JSON: Expecting property name"),
        ({"wish": []}, "x.json: a profile has the fields wishes, k, method, strength, keep, protect, order, allow"),
        ({"k": 0}, "x.json: k must be a whole number >= 1, got 0"),
        ({"wishes": [{"spread": "a"}, {"limit": "seller", "n": 0}]}, "x.json: wishes[1]: limit(seller).n must be"),
        ({"wishes": [{"spread": {"kind": "Place", "lat": 3, "size": 1}}]}, "x.json: wishes[0]: Place does not take"),
        ({"wishes": [{"limit": "seller"}]}, "x.json: wishes[0]: limit needs 'n', got {}"),
        ({"wishes": {"spread": "a"}}, "x.json: wishes must be a list"),
        (
            {"wishes": ["seller=2"]},
            "x.json: wishes must be spread(...), focus(...), limit(...), at_least(...) or share(...), got",
        ),
        (
            {"k": 10, "wishes": [{"limit": "ad", "n": 1}, {"at_least": "ad", "counts": {"1": 3}}]},
            "x.json: limit(ad) contradicts at_least(ad): '1' is to have 3 of 10 results, and at most 1",
        ),
        (
            {"wishes": [{"focus": PLACE, "within": -1}], "allow": ["near.place"]},
            "x.json: wishes[0]: focus(place).within",
        ),
        ({"keep": 0.9, "strength": 0.5}, "x.json: Mascot.keep searches for the strength"),
        ({"method": {"kind": "Relevance"}, "strength": 0.1}, "x.json: strength is not a parameter of Relevance"),
        ({"variants": {}}, "x.json: variants must be a dictionary of name: fields, got {}"),
        ({"variants": {"b": {"weight": 0}}}, "x.json: variants.b: weight must be > 0, got 0"),
        ({"variants": {"b": {"allow": []}}}, "x.json: variants.b: a variant has the fields weight, wishes, k,"),
        ({"variants": {"b": {"strength": 2}}}, "x.json: variants.b: Mascot.strength must be in 0..1, got 2"),
        ({"allow": ["near.place"]}, "x.json: allow must be among wishes, k, method, strength, keep, protect, order"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, data: Any, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    with pytest.raises(mc.OptionError) as error:
        mc.load_profile(path)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"strength": 0.1}, "does not allow strength to be overridden; it allows k, near.place"),
        ({"near": {"hour": 3}}, "does not allow near.hour to be overridden"),
        ({"near": {"place": "nowhere"}}, "Place: near must be"),
        ({"k": 0}, "k must be a whole number >= 1, got 0"),
        ({"variant": "bold"}, "profile 'home' has no variant 'bold'; it has no variants"),
    ],
)
def test_calls_may_override_only_what_the_profile_allows(call: dict[str, Any], message: str) -> None:
    with pytest.raises(mc.MascotError, match=message.replace(".", r"\.")):
        profile_of("home", RULES).rerank(HITS, **call)


@pytest.mark.parametrize("name", ["none.json", "none.yaml"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(mc.OptionError, match=name):
        mc.load_profile(tmp_path / name)
