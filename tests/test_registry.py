"""Attributes and methods are listed once: Python, the command line, HTTP and the documentation know the same."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import mascot as mc
from mascot import attributes, grammar, methods, registry
from mascot.attributes import Grid
from mascot.cli import options
from mascot.wishes import AnyWish

ROOT = Path(__file__).resolve().parents[1]
# Parameters without a default
NEEDED: dict[str, Any] = {"Category": {"column": "a"}, "Number": {"column": "a"}, "Cycle": {"column": "a", "period": 7}}


def public_classes(module: Any, member: str) -> set[Any]:
    classes = {getattr(module, name) for name in module.__all__}
    return {cls for cls in classes if inspect.isclass(cls) and is_dataclass(cls) and hasattr(cls, member)}


def test_every_public_attribute_and_method_is_registered() -> None:
    assert set(registry.ATTRIBUTES) == public_classes(attributes, "membership")
    assert set(registry.METHODS) == public_classes(methods, "select")
    for cls in (*registry.ATTRIBUTES, *registry.METHODS):
        value = cls(**NEEDED.get(cls.__name__, {}))
        assert mc.from_dict(value.to_dict()) == value


def test_every_name_at_the_top_level_is_in_the_reference() -> None:
    listed = re.findall(r"^::: mascot\.[\w.]*?(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert set(mc.__all__) <= set(listed)


@pytest.mark.parametrize(
    ("wish", "data"),
    [
        (mc.spread("city", 2), {"spread": "city", "weight": 2}),
        (mc.spread(mc.Category("city", "drop")),
         {"spread": {"kind": "Category", "column": "city", "missing": "drop", "name": "city"}, "weight": 1.0}),
        (mc.focus(mc.Place(), near=(38.7, -9.1), within=5),
         {"focus": mc.Place().to_dict(), "near": [38.7, -9.1], "within": 5, "weight": 1.0}),
        (mc.limit("seller", 2), {"limit": "seller", "n": 2, "fill": False}),
        (mc.share("ad", {True: 0.25}), {"share": "ad", "shares": {"True": 0.25}}),
    ],
)  # fmt: skip
def test_a_wish_is_written_and_read_in_one_grammar(wish: AnyWish, data: dict[str, Any]) -> None:
    assert wish.to_dict() == data
    assert mc.from_dict(data) == wish


def test_every_attribute_and_method_can_be_typed() -> None:
    assert {kind.attribute for kind in grammar._KINDS.values()} == set(registry.ATTRIBUTES)
    for name, kind in grammar._KINDS.items():
        typed = name if kind.default else f"{name}:{','.join(['7', '7'][: len(kind.readers)])}"
        assert type(grammar.spread(typed).attribute) is kind.attribute
    assert list(get_args(options.MethodName)) == list(registry.METHOD_NAMES)
    methods = {type(grammar.method(name)) for name in registry.METHOD_NAMES}
    assert methods == set(registry.METHODS)


def test_http_knows_all() -> None:
    pytest.importorskip("msgspec", reason="the service needs pip install msgspec")
    from mascot.server import schemas

    assert list(schemas.ATTRIBUTES) == [cls.__name__ for cls in registry.ATTRIBUTES]
    assert list(schemas.METHODS) == [cls.__name__ for cls in registry.METHODS]
    assert schemas.MethodName.__args__ == registry.METHOD_NAMES


def test_the_documentation_lists_all() -> None:
    attributes = (ROOT / "docs" / "attributes.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([\w.]+)\(", attributes, flags=re.M))
    names = {"Place.grid" if cls is Grid else cls.__name__ for cls in registry.ATTRIBUTES}
    assert listed == names | {"point", "to_dict"}  # of attributes of your own
    command = (ROOT / "docs" / "rerank.md").read_text(encoding="utf-8")
    assert {word for word in grammar._KINDS if f"| `{word}:" in command} == set(grammar._KINDS)
    for name in registry.METHOD_NAMES:
        assert f"`{name}`" in command
        assert f"`{name}`" in (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
