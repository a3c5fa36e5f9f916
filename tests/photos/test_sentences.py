"""Sentences: what is understood of them, and that the results are right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.photos import Library, Photo, SearchRequest
from mascot.photos.metadata.sun import lights, sun_height
from mascot.photos.sample import write_sample
from mascot.photos.sentences import Vocabulary, parse
from mascot.photos.trips import Period
from tests.server.serving import indexed

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "photos"
TODAY = date(2024, 11, 18)
Check = Callable[[Photo], Any]


def _trip(place: str, country: str, since: str, until: str) -> Period:
    return Period(f"{place}, {since[:7]}", place, country, since, until, 20, (), 1)


VOCABULARY = Vocabulary(
    {"Lisbon": ("Portugal",), "Nice": ("France",), "New York City": ("United States",), "Náxos": ("Greece",)},
    {"PT": "Portugal", "FR": "France", "GR": "Greece", "US": "United States"},
    ["Apple iPhone 7", "Apple iPhone 6", "Canon EOS 80D"],
    {"Lissabon": "Lisbon"},
    lambda name: name == "IMG_1046",
    lambda: [
        _trip("United States", "US", "2020-08-01", "2020-08-09"),
        _trip("Portugal", "PT", "2019-07-04", "2019-07-18"),
    ],
)


def _table(heading: str) -> dict[str, str]:
    """Return sentences and what is understood of them, from the page of the documentation."""
    page = (ROOT / "docs" / "sentences.md").read_text(encoding="utf-8")
    rows = page.partition(heading)[2].partition("\n\n|")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| (.+) \| (.+) \|$", rows, re.M)[1:])


SAMPLE, PHOTOGRAPHS = _table("In the sample library"), _table("In a library of 95")


def _in(*countries: str) -> Check:
    return lambda photo: photo.country in countries or (photo.city is None and "Portugal" in photo.path)


def _year(*years: int) -> Check:
    return lambda photo: photo.taken is not None and photo.taken.year in years


def _month(text: str) -> Check:
    return lambda photo: str(photo.taken).startswith(text)


def _light(name: str) -> Check:
    return lambda photo: (
        name
        in lights(
            photo.taken and photo.taken.isoformat(), photo.lat, photo.lon, photo.offset, photo.city, photo.country
        )
    )


def _word(*words: str) -> Check:
    return lambda photo: any(word in f"{photo.caption} {photo.keywords} {photo.path}".casefold() for word in words)


# What every result must be (`all`), what the best match must be (`first`), how many there are (`count`), and the most
# results with one value (`per`).
RIGHT: dict[str, dict[str, Any]] = {
    "photos from july 2019": {"all": _month("2019-07"), "count": 24},
    "boats not in portugal": {"all": lambda photo: photo.country != "PT" and "Portugal" not in photo.path},
    "one photo per year of mountains": {"per": (1, lambda photo: photo.taken.year), "count": 9},
    "IMG_0086": {"all": lambda photo: "IMG_0086" in photo.path, "count": 1},
    "boats in Portugal at dusk, one per year, from different cities": {"all": _light("dusk"), "count": 1},
    "sunset last summer": {"all": lambda photo: photo.taken.year == 2024 and 6 <= photo.taken.month <= 8},
    "lisbon tram": {"all": lambda photo: photo.city == "Lisbon"},
    "food in italy": {"all": _in("IT"), "first": _word("pizza", "dscn")},
    "best beach photos": {"count": 24},
    "the best 10 of 2019": {"all": _year(2019), "count": 10},
    "boats on weekends": {"all": lambda photo: photo.taken.weekday() >= 5},
    "sunsets near Lisbon": {"first": lambda photo: photo.city == "Lisbon"},
    "boats around 6pm": {"first": lambda photo: photo.taken.hour in (17, 18)},
    "4 stars": {"all": lambda photo: photo.rating >= 4},
    "snow in winter, not in Norway": {"all": lambda photo: photo.season == "winter" and photo.country != "NO"},
    "beach without the iPhone": {"all": lambda photo: "iPhone" not in photo.camera, "first": _word("beach")},
    "Fotos vom Juli 2019": {"all": _month("2019-07"), "count": 24},
    "nicht in Portugal: Boote": {"all": lambda photo: photo.country != "PT" and "Portugal" not in photo.path},
    "max 2 per day, Portugal 2019": {"all": _in("PT"), "per": (2, lambda photo: photo.taken.date())},
    "my trip to Vietnam": {"all": _month("2022-04")},
    "the first half of 2018": {"all": lambda photo: photo.taken.year == 2018 and photo.taken.month <= 6},
    "ten photos, no two from the same day": {"per": (1, lambda photo: photo.taken.date()), "count": 10},
    "pictures taken with my phone in 2022": {"all": lambda photo: photo.camera[:3] in ("App", "Goo", "sam")},
    "jedes Jahr ein Foto von Katzen": {"per": (1, lambda photo: photo.taken.year), "count": 9},
    "airplane at Frankfurt": {"first": _word("img_4120"), "count": 1},
    "cars not in Germany": {"all": lambda photo: photo.country != "DE", "first": _word("npm-exif__test")},
    "snow in january 2013": {"all": _month("2013-01")},
}


def _check(library: Library, sentence: str, line: str) -> None:
    understood = library.understand(sentence, TODAY)
    assert understood.line == line
    photos = library.search(understood.request()).photos
    right = RIGHT.get(sentence, {})
    assert photos
    assert all(map(right.get("all", bool), photos))
    assert right.get("first", bool)(photos[0])
    assert len(photos) == right.get("count", len(photos))
    most, value = right.get("per", (len(photos), id))
    assert max(Counter(map(value, photos)).values()) <= most


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = tmp_path_factory.mktemp("sentences") / "trips"
    write_sample(root)
    with Library.open(indexed(root)) as library:
        yield library


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = tmp_path_factory.mktemp("sentences") / "real"
    root.mkdir()
    for path in REAL.iterdir():
        (root / path.name).symlink_to(path)
    with Library(root) as library:
        library.index("lite", follow_links=True)
        yield library


def test_enough_sentences_are_documented() -> None:
    assert len(SAMPLE) >= 37
    assert len(PHOTOGRAPHS) >= 12


@pytest.mark.integration
@pytest.mark.parametrize("sentence", SAMPLE)
def test_a_sentence_finds_the_right_photographs_of_the_sample(sample: Library, sentence: str) -> None:
    _check(sample, sentence, SAMPLE[sentence])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("boats", "Boats at their moorings"),
        ("northern lights", "Northern lights"),
        ("OUR RIDE for the day", "Our ride for the day"),
        ("IMG_0086", "Sunset over the water at Guincho"),
    ],
)
def test_exact_matches_come_first(sample: Library, text: str, first: str) -> None:
    results = sample.search(text, k=5)
    assert str(results.photos[0].caption).startswith(first)
    assert results.results[0].good


@pytest.mark.integration
def test_good_matches_end_and_nothing_fits_nonsense(sample: Library) -> None:
    boats = sample.search("boats", k=60)
    assert boats.good_matches is not None
    assert 8 <= boats.good_matches <= 30
    assert [result.good for result in boats] == [rank < boats.good_matches for rank in range(60)]
    assert [sample.search(text).good_matches for text in ("asdfgh qwerty", "xyzzy", "tax declaration")] == [0, 0, 0]
    assert sample.search(SearchRequest(country="Portugal")).good_matches is None


@pytest.mark.integration
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real photographs")
@pytest.mark.parametrize("sentence", PHOTOGRAPHS)
def test_a_sentence_finds_the_right_real_photographs(real: Library, sentence: str) -> None:
    _check(real, sentence, PHOTOGRAPHS[sentence])


@pytest.mark.parametrize(
    ("sentence", "text", "fields"),
    [
        ("14 July 2019", None, {"since": "2019-07-14", "until": "2019-07-14"}),
        ("14.07.2019", None, {"since": "2019-07-14", "until": "2019-07-14"}),
        ("since July 2019", None, {"since": "2019-07"}),
        ("from 2017 to 2018", None, {"since": "2017", "until": "2018"}),
        ("last weekend", None, {"since": "2024-11-16", "until": "2024-11-17"}),
        ("last winter", None, {"since": "2023-12", "until": "2024-02"}),
        ("yesterday", None, {"since": "2024-11-17", "until": "2024-11-17"}),
        ("vor zwei Jahren", None, {"since": "2022", "until": "2022"}),
        ("the winter of 2019", None, {"since": "2019", "until": "2019", "season": "winter"}),
        ("christmas", None, {"date": "12-18..12-28"}),
        ("flowers in may", "flowers", {"date": "05"}),
        ("may flowers", "may flowers", {}),
        ("not in July 2019", None, {"date": "not 2019-07"}),
        ("31 february 2019 boats", "31 boats", {"since": "2019-02", "until": "2019-02"}),
        ("boats in Lisbon, Portugal", "boats", {"place": "Lisbon"}),
        ("letzten Sommer in Lissabon", None, {"since": "2024-06", "until": "2024-08", "place": "Lisbon"}),
        ("not in Portugal, not in France", None, {"place": "not Portugal or France"}),
        ("autumn leaves in New York", "autumn leaves", {"place": "New York City"}),
        ("naxos", None, {"place": "Náxos"}),
        ("orange boats", "orange boats", {}),
        ("canon photos", None, {"camera": "Canon EOS 80D"}),
        ("no parking sign", "no parking sign", {}),
        ("two cats", "two cats", {}),
        ("5-star sunsets", "sunsets", {"rating": 5}),
        ("IMG_1046", None, {"name": "IMG_1046"}),
        ("IMG_9999", "IMG_9999", {}),
        ("one photo of mountains per year", "mountains", {"wishes": [{"limit": "year", "n": 1, "missing": "drop"}]}),
        ("all from one city", None, {"wishes": [{"focus": "city"}]}),
        ("near Lisbon", None, {"wishes": [{"focus": "place", "near": "Lisbon"}]}),
        ("around 18:30", None, {"wishes": [{"focus": "hour", "near": "18:30"}]}),
        ('boats "in Portugal"', "boats in Portugal", {}),
        ("Easter 2019", None, {"since": "2019-04-19", "until": "2019-04-22"}),
        ("Easter", None, {"date": "easter"}),
        ("2017-18", None, {"since": "2017", "until": "2018"}),
        ("2017-08", None, {"since": "2017-08", "until": "2017-08"}),
        ("14.-20. Juli 2019", None, {"since": "2019-07-14", "until": "2019-07-20"}),
        ("July 14-20", None, {"date": "07-14..07-20"}),
        ("November to February 2020", None, {"since": "2019-11", "until": "2020-02"}),
        ("from June to September", None, {"date": "06..09"}),
        ("July or August 2022", None, {"date": "2022-07 or 2022-08"}),
        ("early July", None, {"date": "07-01..07-10"}),
        ("2012 or later", None, {"since": "2012"}),
        ("the last two weeks", None, {"since": "2024-11-04", "until": "2024-11-18"}),
        ("May to October 2018", None, {"since": "2018-05", "until": "2018-10"}),
        ("first week of July 2019", None, {"since": "2019-07-01", "until": "2019-07-07"}),
        ("the last two trips", None, {"date": "2020-08-01..2020-08-09 or 2019-07-04..2019-07-18"}),
        ("from the same evening", None, {"wishes": [{"focus": "day"}]}),
        ("ten photos from ten countries", None, {"k": 10, "wishes": [{"spread": "country"}]}),
        ("up to 2019", None, {"until": "2019"}),
        ("early morning boats", "boats", {"part_of_day": "morning"}),
        ("everything but 2016", None, {"date": "not 2016"}),
        ("the last three summers", None, {"since": "2022-06", "until": "2024-08", "season": "summer"}),
        ("1st of January", None, {"date": "01-01"}),
        ("spring in Lisbon", None, {"season": "spring", "place": "Lisbon"}),
        ("trip to Portugal", None, {"date": "2019-07-04..2019-07-18"}),
        ("without the trip to Portugal", None, {"date": "not 2019-07-04..2019-07-18"}),
        ("last trip", None, {"date": "2020-08-01..2020-08-09"}),
        ("holiday in Nice", None, {"place": "Nice"}),
        ("pictures taken with my phone", None, {"camera": "Apple iPhone 7 or Apple iPhone 6"}),
        ("phone", "phone", {}),
        ("around 6 in the evening", None, {"wishes": [{"focus": "hour", "near": "18:00"}]}),
        ("between 10pm and 2am", None, {"wishes": [{"focus": "hour", "near": "0:00", "within": 2}]}),
        ("one per place", None, {"wishes": [{"limit": "city", "n": 1, "missing": "drop"}]}),
        ("je Land ein Foto", None, {"wishes": [{"limit": "country", "n": 1, "missing": "drop"}]}),
        ("max. 3 photos", None, {"k": 3}),
        ("Max on the beach", "Max on the beach", {}),
        ("20 favourites", None, {"k": 20, "rating": 5}),
        ("boats, oldest first", "boats", {"order": "date"}),
    ],
)  # fmt: skip
def test_the_grammar(sentence: str, text: str | None, fields: dict[str, Any]) -> None:
    understood = parse(sentence, VOCABULARY, TODAY)
    request = understood.request().to_dict()
    assert request == fields | ({} if text is None else {"text": text})
    for chip in understood.chips:
        assert sentence[chip.start : chip.end] == chip.words


@pytest.mark.parametrize("sentence", ["best 5 boats", "top 5 boats", "die besten 5 boats"])
def test_the_best_are_asked_for(sentence: str) -> None:
    assert parse(sentence, VOCABULARY, TODAY).request() == SearchRequest("boats", k=5, best=True)


@pytest.mark.parametrize(
    ("sentence", "text", "words", "reason"),
    [
        ("boats without people", "boats", "without people", "excluded"),
        ("boats, no people", "boats", "no people", "excluded"),
        ("boats, at most 3 stars", "boats", "at most 3 stars", "lowest"),
        ("two photos of boats per trip", "boats", "per trip", "limits"),
        ("boats from 5 different countries", "boats", "5", "values"),
    ],
)
def test_what_is_ignored_is_said(sentence: str, text: str, words: str, reason: str) -> None:
    understood = parse(sentence, VOCABULARY, TODAY)
    assert understood.text == text
    assert [(part.words, reason in part.reason) for part in understood.ignored] == [(words, True)]


def test_fields_of_a_request_override_the_sentence() -> None:
    understood = parse("3 photos of boats in Portugal, different cities", VOCABULARY, TODAY)
    request = understood.request(SearchRequest(k=7, place="France", wishes=[{"spread": "city", "weight": 2}]))
    assert (request.k, request.place, request.wishes) == (7, "France", ({"spread": "city", "weight": 2},))


@pytest.mark.parametrize(
    "sentence",
    ["boats " * 166, "((a+)+)+$" * 100, "'; DROP TABLE photos; --", "\x00\x01\x1b[31m\u202e", "not " * 250, "1 " * 500,
     "july or " * 125, "\U0001f6a4" * 1000, "in the " * 140, "2019-" * 200,
     "early " * 160, "max . " * 160, "last 999 years, last 999 summers, 31 to 30 february"],
)  # fmt: skip
def test_hostile_sentences_are_words(sentence: str) -> None:
    understood = parse(sentence[:1000], VOCABULARY, TODAY)
    assert len(understood.text or "") <= 1000
    understood.request()


def test_a_long_sentence_is_refused() -> None:
    with pytest.raises(mc.OptionError, match="at most 1000 characters"):
        parse("boats " * 200_000, VOCABULARY, TODAY)


@pytest.mark.parametrize(
    ("taken", "place", "expected"),
    [
        ("2019-07-18T20:45", (38.7, -9.1, "Lisbon", "PT"), {"golden hour"}),
        ("2019-07-18T21:30", (38.7, -9.1, "Lisbon", "PT"), {"dusk", "blue hour"}),
        ("2019-12-18T18:00", (38.7, -9.1, "Lisbon", "PT"), {"dusk", "night"}),
        ("2019-12-18T11:45", (69.65, 18.96, "Tromsø", "NO"), {"dusk", "golden hour"}),
        ("2019-12-18T18:00", (69.65, 18.96, "Tromsø", "NO"), {"night"}),
        ("2019-07-18T00:30", (69.65, 18.96, "Tromsø", "NO"), {"golden hour"}),
        ("2019-07-18T12:30", (-33.9, 151.2, "Sydney", "AU"), {"day"}),
        ("2019-07-18T23:30", (None, None, None, None), {"night"}),
        (None, (38.7, -9.1, "Lisbon", "PT"), set()),
    ],
)
def test_light_follows_the_sun(taken: str | None, place: Sequence[Any], expected: set[str]) -> None:
    lat, lon, city, country = place
    assert set(lights(taken, lat, lon, None, city, country)) == expected


def test_the_height_of_the_sun_is_that_of_an_almanac() -> None:
    from datetime import datetime

    # Greenwich at noon on the June solstice: 90 - 51.48 + 23.44 degrees.
    assert sun_height(datetime(2020, 6, 21, 12, 2), 51.48, 0.0)[0] == pytest.approx(61.96, abs=0.05)


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"country": "not Portugal"}, "coalesce(country, '') <> 'PT'"),
        ({"country": "Portugal or Japan"}, "country IN ('PT', 'JP')"),
        ({"date": "07"}, "substr(taken, 6, 2) = '07'"),
        ({"date": "06..08-15"}, "substr(taken, 6, 5) BETWEEN '06-01' AND '08-15'"),
        ({"date": "2024 or easter"}, "taken LIKE '2024%' OR substr(taken, 1, 10) IN ('2017-04-14', '2019-04-21')"),
        ({"date": "not 2019-07"}, "taken IS NULL OR taken NOT LIKE '2019-07%'"),
        ({"date": "12-24..01-02"}, "substr(taken, 6, 5) >= '12-24' OR substr(taken, 6, 5) <= '01-02'"),
        ({"weekday": "weekend"}, "strftime('%w', taken) IN ('0', '6')"),
        ({"name": "img_"}, "path LIKE '%IMG\\_%' ESCAPE '\\'"),
    ],
)
def test_filters_select_what_they_say(shared: Library, fields: dict[str, str], count: str) -> None:
    expected = shared.store.connection.execute(f"SELECT count(*) FROM photos WHERE {count}").fetchone()[0]
    assert len(shared.candidates(SearchRequest(**fields))) == expected


def test_light_is_an_attribute(shared: Library) -> None:
    results = shared.search("boat", [shared.spread("light"), shared.limit("light=3")], k=8)
    assert len(results)
    assert shared.search("boat", shared.focus("light=night"), k=3)


@pytest.mark.parametrize("fields", [{"date": "soon"}, {"weekday": "someday"}, {"light": "neon"}])
def test_filters_refuse_unknown_values(shared: Library, fields: dict[str, str]) -> None:
    with pytest.raises(mc.OptionError, match=next(iter(fields))):
        shared.candidates(SearchRequest(**fields))
