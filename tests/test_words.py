"""What is typed becomes the wish that was meant, or an error that says what to type."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import mascot as mc
from mascot import words


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("place", mc.Place("lat", "lon")),
        ("place:latitude,longitude", mc.Place("latitude", "longitude")),
        ("place: latitude , longitude ", mc.Place("latitude", "longitude")),
        ("grid", mc.Grid("lat", "lon")),
        ("branches", mc.Branches((16,))),
        ("branches:4", mc.Branches((4,))),
        ("hour", mc.HourOfDay("taken")),
        ("hour:uploaded", mc.HourOfDay("uploaded")),
        ("season", mc.DayOfYear("taken")),
        ("season:uploaded", mc.DayOfYear("uploaded")),
        ("weekday", mc.Weekday("taken")),
        ("weekday:uploaded", mc.Weekday("uploaded")),
        ("date", mc.Date("taken")),
        ("date:uploaded", mc.Date("uploaded")),
        ("number:altitude", mc.Number("altitude")),
        ("cycle:bearing,360", mc.Cycle("bearing", 360.0)),
        ("category:camera", mc.Category("camera")),
        ("category:date", mc.Category("date")),
        ("camera", mc.Category("camera")),
        ("look", mc.Clusters(10)),
        ("look:4", mc.Clusters(4)),
    ],
)
def test_a_typed_attribute_is_the_attribute(text: str, attribute: Any) -> None:
    assert words.spread(text) == mc.spread(attribute)
    assert words.focus(text) == mc.focus(attribute)


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("place~50", mc.Place(sigma_km=50)),
        ("place:lat,lon ~ .5", mc.Place(sigma_km=0.5)),
        ("hour~0.5", mc.HourOfDay("taken", sigma=0.5)),
        ("date:uploaded~7", mc.Date("uploaded", sigma_days=7)),
        ("number:altitude~100", mc.Number("altitude", sigma=100)),
        ("cycle:bearing,360~5", mc.Cycle("bearing", 360.0, sigma=5)),
        ("part~2", mc.Category("part~2")),  # no width, so a part of the name
        ("number:a~b", mc.Number("a~b")),
    ],
)
def test_width_follows_a_tilde(text: str, attribute: Any) -> None:
    assert words.spread(text) == mc.spread(attribute)
    assert words.spread(f"{text}*2") == mc.spread(attribute, 2)


def test_width_and_within_are_two_numbers() -> None:
    assert words.focus("hour~0.5=18:30~1*2") == mc.focus(mc.HourOfDay("taken", sigma=0.5), 2, 18.5, 1)
    assert words.with_width("hour~0.5=18*2", 0.25) == "hour~0.25=18*2"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("place=35.7,139.7", (35.7, 139.7)),
        ("place:lat,lon=-33.9, 18.4", (-33.9, 18.4)),
        ("hour:taken=18", 18.0),
        ("hour=18:30", 18.5),
        ("hour=6.25", 6.25),
        ("hour=6:05", 6 + 5 / 60),
        ("hour=24:00", 24.0),
        ("season=july", "2024-07-15"),
        ("season=Feb", "2024-02-15"),
        ("season=02-29", "2024-02-29"),
        ("season=2019-07-14", "2019-07-14"),
        ("weekday=sat", "saturday"),
        ("weekday=Sunday", "sunday"),
        ("date=2019-05-20", "2019-05-20"),
        ("date=2019-05", "2019-05-15"),
        ("date=2019", "2019-07-01"),
        ("number:altitude=-12.5", -12.5),
        ("cycle:bearing,360=90", 90.0),
        ("camera=X100", "X100"),
        ("category:camera=X100 = F", "X100 = F"),
    ],
)
def test_near_is_read_by_its_attribute(text: str, near: Any) -> None:
    assert words.focus(text).near == near


@pytest.mark.parametrize(
    ("text", "weight"), [("place", 1.0), ("place*2", 2.0), ("place:lat,lon*0.5", 0.5), ("place*.5", 0.5)]
)
def test_weight_follows_a_star(text: str, weight: float) -> None:
    assert words.spread(text) == mc.spread(mc.Place(), weight)


def test_weight_follows_near() -> None:
    assert words.focus("hour=18:30*3") == mc.focus(mc.HourOfDay(), 3.0, near=18.5)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("hour=18:30~1", mc.focus(mc.HourOfDay(), near=18.5, within=1.0)),
        ("hour=18:30~0.5*3", mc.focus(mc.HourOfDay(), 3.0, near=18.5, within=0.5)),
        ("place=35.7,139.7~50", mc.focus(mc.Place(), near=(35.7, 139.7), within=50.0)),
        ("camera=a~b", None),
        ("~", None),
    ],
)
def test_within_follows_a_tilde(text: str, wish: mc.Wish | None) -> None:
    if wish is None:
        with pytest.raises(mc.OptionError) if "=" in text else nullcontext():
            assert words.focus(text) == mc.focus(mc.Category("~"))
    else:
        assert words.focus(text) == wish


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("seller=2", mc.limit("seller", 2)),
        (" seller = 2 ", mc.limit("seller", 2)),
        ("hour=3", mc.limit(mc.HourOfDay(), 3)),
        ("date:uploaded=1", mc.limit(mc.Date("uploaded"), 1)),
    ],
)
def test_limits_are_typed(text: str, limit: mc.Limit) -> None:
    assert words.limit(text) == limit
    assert words.limit(text, fill=True) == mc.limit(limit.attribute, limit.n, fill=True)


@pytest.mark.parametrize("text", ["seller", "seller=", "seller=two", "seller=-1", "seller=1.5", "=2", "seller=0"])
def test_a_wrong_limit_says_what_to_write(text: str) -> None:
    with pytest.raises(mc.OptionError, match=r"write NAME=N, such as seller=2|no attribute is called ''|must be"):
        words.limit(text)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("region=Europe:60%,Asia:0.4", {"Europe": 0.6, "Asia": 0.4}),
        ("region = Europe : 60% ", {"Europe": 0.6}),
        ("region=a:b:50%", {"a:b": 0.5}),
    ],
)
def test_shares_are_typed(text: str, shares: dict[str, float]) -> None:
    assert words.share(text) == mc.share("region", shares)


@pytest.mark.parametrize(
    "text", ["region", "region=", "region=Europe", "region=Europe:", "region=:0.5", "region=Europe:many", "=a:1"]
)
def test_a_wrong_share_says_what_to_write(text: str) -> None:
    with pytest.raises(mc.OptionError, match=r"write NAME=VALUE:SHARE,|no attribute is called ''"):
        words.share(text)


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(mc.OptionError, match="must sum to at most 1"):
        words.share("region=Europe:60%,Asia:60%")


@pytest.mark.parametrize("rule", ["last", "neutral", "drop"])
@pytest.mark.parametrize("text", ["place", "hour", "season", "weekday", "date", "number:a", "cycle:a,8", "a", "look"])
def test_missing_reaches_every_attribute(text: str, rule: Any) -> None:
    assert words.spread(text, rule).attribute.missing == rule  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("place:lat", r"'place:lat': write place\[:LAT,LON\]"),
        ("place:lat,", r"write place\[:LAT,LON\]"),
        ("hour:", r"'hour:': write hour\[:COLUMN\]"),
        ("hour:a,b", r"write hour\[:COLUMN\]"),
        ("number", r"'number': write number:COLUMN"),
        ("cycle:bearing", r"write cycle:COLUMN,PERIOD"),
        ("cycle:bearing,round", r"'cycle:bearing,round': must be a number, got 'round'"),
        ("cycle:bearing,inf", r"must be a finite number, got 'inf'"),
        ("cycle:bearing,0", r"Cycle.period must be > 0, got 0.0"),
        ("look:many", r"must be a whole number, got 'many'"),
        ("look:0", r"Clusters.count must be a whole number >= 1, got 0"),
        (
            "plcae:lat,lon",
            r"no attribute is called 'plcae'; write place\[:LAT,LON\], grid\[:LAT,LON\], hour.*or the name of a column",
        ),
        ("", r"no attribute is called ''"),
        ("place*0", r"weight must be > 0, got 0.0"),
        ("place*-1", r"weight must be > 0, got -1.0"),
    ],
)
def test_a_wrong_attribute_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(mc.OptionError, match=message):
        words.spread(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("place=35.7", r"'place=35.7': must be latitude,longitude, got '35.7'"),
        ("place=95,0", r"near must be a latitude in -90..90"),
        ("place=a,b", r"must be a number, got 'a'"),
        ("hour=25", r"must be an hour from 0 to 24, got '25'"),
        ("hour=noon", r"must be a number, got 'noon'"),
        ("hour=nan", r"must be a finite number, got 'nan'"),
        ("hour=18:99", r"'hour=18:99': must be an hour like 18 or 18:30, got '18:99'"),
        ("hour=18:60", r"must be an hour like 18 or 18:30"),
        ("hour=18:", r"must be an hour like 18 or 18:30"),
        ("hour=18.5:30", r"must be an hour like 18 or 18:30"),
        ("hour=24:01", r"must be an hour from 0 to 24"),
        ("number:price=nan", r"'number:price=nan': must be a finite number, got 'nan'"),
        ("number:price=-inf", r"must be a finite number, got '-inf'"),
        ("cycle:bearing,360=nan", r"must be a finite number, got 'nan'"),
        ("place=nan,0", r"must be a finite number, got 'nan'"),
        ("hour=", r"nothing to be near"),
        ("season=mud", r"must be a date like 2024-05-01, got 'mud'"),
        ("weekday=no", r"must be a day of the week, got 'no'"),
        ("date=2019-13-40", r"must be a date like 2024-05-01"),
        ("date=0000", r"must be a date like 2024-05-01, got '0000'"),
        ("date=20190520", r"must be a date like 2024-05-01, got '20190520'"),
        ("date=2019-W20-1", r"must be a date like 2024-05-01, got '2019-W20-1'"),
        ("look=3", r"look has no values to be near"),
    ],
)
def test_a_wrong_near_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(mc.OptionError, match=message):
        words.focus(text)


def test_spread_has_no_near() -> None:
    with pytest.raises(mc.OptionError, match="'hour=18': spread has no place to be near, only focus does"):
        words.spread("hour=18")


@pytest.mark.parametrize(
    ("text", "columns"),
    [("place:a,b", ["a", "b"]), ("hour", ["taken"]), ("cycle:c,8", ["c"]), ("camera", ["camera"]), ("look", [])],
)
def test_columns_of_a_wish(text: str, columns: list[str]) -> None:
    assert words.columns_of(words.spread(text)) == columns


@pytest.mark.parametrize(
    ("typed", "cells", "near"),
    [
        ("X100", ["D750", "X100"], "X100"),
        ("x100", ["D750", "X100"], "X100"),
        ("5", [4, 5, None], 5),
        ("5", ["4", "5"], "5"),
        ("True", [True, False], True),
        ("sea", [["sky", "sea"], [], None], "sea"),
    ],
)
def test_a_typed_label_is_the_label_of_the_column(typed: str, cells: list[Any], near: Any) -> None:
    settled = words.anchored(words.focus(f"camera={typed}"), cells)
    assert settled.near == near
    assert type(settled.near) is type(near)


def test_a_label_nobody_has_is_an_error() -> None:
    with pytest.raises(mc.OptionError, match="column 'camera' never holds 'X200'; it holds: D750, X100"):
        words.anchored(words.focus("camera=X200"), ["D750", "X100", None])


@pytest.mark.parametrize("text", ["camera", "hour=18", "place=1,2"])
def test_other_wishes_need_no_anchor(text: str) -> None:
    wish = words.focus(text)
    assert words.anchored(wish, []) is wish
