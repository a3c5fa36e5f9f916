"""What is typed becomes the wish that was meant, or an error that says what to type."""

from __future__ import annotations

from typing import Any

import pytest

import mascot as mc
from mascot import grammar
from mascot.attributes import Clusters, Cycle
from mascot.wishes import Wish

ATTRIBUTES = {
    "place": mc.Place("lat", "lon"),
    "place: latitude , longitude ": mc.Place("latitude", "longitude"),
    "hour": mc.HourOfDay("taken"),
    "season:uploaded": mc.DayOfYear("uploaded"),
    "number:altitude": mc.Number("altitude"),
    "cycle:bearing,360": Cycle("bearing", 360.0),
    "category:date": mc.Category("date"),
    "camera": "camera",
    "look": Clusters(10),
    # A width follows a tilde.
    "place:lat,lon ~ .5": mc.Place(sigma_km=0.5),
    "place:geo": mc.Place("geo"),
    "grid:geo": mc.Place.grid("geo"),
    "hour~0.5": mc.HourOfDay("taken", sigma=0.5),
    "part~2": "part~2",  # labels have no width, so it is a part of the name
}


@pytest.mark.parametrize(("text", "attribute"), ATTRIBUTES.items())
def test_a_typed_attribute_is_the_attribute(text: str, attribute: Any) -> None:
    assert grammar.spread(text) == mc.spread(attribute)
    assert grammar.focus(text) == mc.focus(attribute)
    assert grammar.spread(f"{text}*.5") == mc.spread(attribute, 0.5)
    assert grammar.spread(text, "drop").attribute.missing == "drop"  # type: ignore[attr-defined]


NEAR = {
    "place:lat,lon=-33.9, 18.4": (-33.9, 18.4),
    "hour:taken=18": 18.0,
    "hour=6:05": 6 + 5 / 60,
    "season=july": "2024-07-15",
    "weekday=sat": "saturday",
    "date=2019": "2019-07-01",
    "cycle:bearing,360=90": 90.0,
    "camera=X100": "X100",
}


@pytest.mark.parametrize(("text", "near"), NEAR.items())
def test_near_is_read_by_its_attribute(text: str, near: Any) -> None:
    assert grammar.focus(text).near == near


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("hour=18:30*3", mc.focus(mc.HourOfDay(), 3.0, near=18.5)),
        ("hour=18:30~0.5*3", mc.focus(mc.HourOfDay(), 3.0, near=18.5, within=0.5)),
        ("hour~0.5=18:30~1*2", mc.focus(mc.HourOfDay("taken", sigma=0.5), 2, 18.5, 1)),
        ("place=35.7,139.7~50", mc.focus(mc.Place(), near=(35.7, 139.7), within=50.0)),
        ("~", mc.focus("~")),
    ],
)
def test_weight_and_within_follow_near(text: str, wish: Wish) -> None:
    assert grammar.focus(text) == wish


def test_limits_and_shares_are_typed() -> None:
    assert grammar.limit(" seller = 2 ") == mc.limit("seller", 2)
    assert grammar.limit("date:uploaded=1", fill=True) == mc.limit(mc.Date("uploaded"), 1, fill=True)
    assert grammar.share("region=Europe:60%,Asia:0.4") == mc.share("region", {"Europe": 0.6, "Asia": 0.4})
    assert grammar.share("region = a:b : 60% ") == mc.share("region", {"a:b": 0.6})


WRITE_SHARE = "write NAME=VALUE:SHARE,"
DATE = "must be a date like 2024-05-01, got"
MISTAKES = [
    (grammar.limit, "=2", "there is no attribute ''"),
    (grammar.share, "region=Europe:", WRITE_SHARE),
    (grammar.spread, "hour=18", "--spread takes no value; use --focus hour=18"),
    (grammar.spread, "number", "'number': write number:COLUMN"),
    (
        grammar.spread,
        "plcae:lat,lon",
        r"no attribute .plcae.; write place\[:POINTS\] or place\[:LAT,LON\], .*or the name of a column",
    ),
    (grammar.spread, "", "there is no attribute ''"),
    (grammar.focus, "place=35.7", "'place=35.7': must be latitude,longitude, got '35.7'"),
    (grammar.focus, "hour=18:60", "must be an hour like 18 or 18:30"),
    (grammar.focus, "hour=18~x", "'hour=18~x': must be a number, got 'x'"),
    (grammar.focus, "look=3", "look takes no value"),
    (grammar.focus, "hour=", "write a value after the equals sign"),
    (grammar.focus, "number:price=-inf", "'number:price=-inf': must be a finite number, got '-inf'"),
    (grammar.focus, "season=mud", f"{DATE} 'mud'"),
    (grammar.focus, "date=2019-W20-1", DATE),
]


@pytest.mark.parametrize(("parse", "text", "message"), MISTAKES)
def test_a_mistake_says_what_to_write(parse: Any, text: str, message: str) -> None:
    with pytest.raises(mc.OptionError, match=message):
        parse(text)


def test_columns_and_widths_of_a_wish() -> None:
    columns = {"place:a,b": ["a", "b"], "cycle:c,8": ["c"], "look": []}
    assert {text: grammar.columns_of(grammar.spread(text)) for text in columns} == columns
    assert grammar.with_width("hour~0.5=18*2", 0.25) == "hour~0.25=18*2"


@pytest.mark.parametrize(
    ("typed", "cells", "near"),
    [("x100", ["D750", "X100"], "X100"), ("5", [4, 5, None], 5), ("sea", [["sky", "sea"], [], None], "sea")],
)
def test_a_typed_label_is_the_label_of_the_column(typed: str, cells: list[Any], near: Any) -> None:
    wish = grammar.focus(f"camera={typed}", resolver=grammar.TableResolver({"camera": cells}.__getitem__))
    assert (wish.near, type(wish.near)) == (near, type(near))


def test_counted_labels_are_those_of_the_column() -> None:
    resolver = grammar.TableResolver({"ad": [True, False, None]}.__getitem__)
    assert grammar.limit("ad=true:0@2", resolver=resolver) == mc.limit("ad", {True: 0}, first=2)
    assert grammar.at_least("ad=FALSE:1,False:1", resolver) == mc.at_least("ad", {False: 2})
    assert grammar.share("ad=true:25%,other:25%", resolver) == mc.share("ad", {True: 0.25, "other": 0.25})
    assert grammar.limit("hour=18:1", resolver=resolver) == mc.limit(mc.HourOfDay("taken"), {"18:00": 1})


def test_only_labels_are_looked_up() -> None:
    resolver = grammar.TableResolver({"camera": ["D750", "X100", None]}.__getitem__)
    with pytest.raises(mc.OptionError, match="column 'camera' has no value 'X200'; its values: D750, X100"):
        grammar.focus("camera=X200", resolver=resolver)
    for text in ("camera", "hour=18", "place=1,2"):
        assert grammar.focus(text, resolver=resolver) == grammar.focus(text)
