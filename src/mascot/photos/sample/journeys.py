"""Who travelled where and when: the plan of the sample library, made without painting anything."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import zip_longest
from random import Random
from typing import Literal

from mascot.errors import require
from mascot.photos.sample.cameras import CAMERAS, Camera, file_name
from mascot.photos.sample.captions import caption, foreign, keywords
from mascot.photos.sample.hours import hour_for
from mascot.photos.sample.places import CITIES, City, Spot
from mascot.photos.sample.sun import altitude, time_of
from mascot.photos.sample.trips import TRIPS, Trip
from mascot.photos.sample.weather import season_of, weather_of

Tag = Literal["right", "absent", "wrong"]
_Stop = tuple[City, Spot, str]


@dataclass(frozen=True, slots=True)
class Postcard:
    """One picture of the sample: the truth about it, and what its file will tell."""

    path: str  # relative, with forward slashes
    trip: str
    subject: str
    variant: str  # which of its kind, such as the landmark; often ""
    place: str  # the spot
    city: str
    country: str  # ISO 3166-1 alpha-2
    lat: float
    lon: float
    metres: float  # above the sea
    taken: datetime  # local, without a zone
    offset_h: float  # hours ahead of UTC
    camera: Camera
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None
    gps: Tag  # whether the file holds the place: "wrong" is 0, 0
    clock: Tag  # whether it holds the time: "wrong" is 0000:00:00 00:00:00
    orientation: int  # of the stored picture, as EXIF counts: 1, 3, 6 or 8
    portrait: bool
    weather: str
    season: str
    land: str
    composition: str  # equal for the frames of one burst
    sky: str  # equal for all pictures of one place and day
    frame: int  # 0, or the place within a burst

    @property
    def known_place(self) -> tuple[float, float] | None:
        """The place as a reader of the file should see it."""
        return (self.lat, self.lon) if self.gps == "right" else None

    @property
    def known_time(self) -> datetime | None:
        """The time as a reader of the file should see it."""
        return self.taken if self.clock == "right" else None

    @property
    def sun(self) -> float:
        """Degrees of the sun over the horizon."""
        return altitude(self.lat, self.lon, self.taken - timedelta(hours=self.offset_h))


_EVENING = ("Cascais", "Guincho", date(2019, 7, 19))
_EVENING_SHARE = 34 / 600
_PLACES_WITH = Counter(
    subject
    for city in CITIES.values()
    for spot in city.spots
    for subject in {word.partition(":")[0] for word in spot.subjects}
)
_ODD_NAMES = {
    "sunset": ("Sonnenuntergang über dem Meer (1).jpg", "🌅.jpg", "por do sol - final FINAL.jpg"),
    "birds": ("beste Möwe ever!.JPG",), "cat": ("Kätzchen 2.jpeg", "猫.jpg"), "food": ("mmmh … lunch.jpg",),
    "market": ("100% orange & co.jpg",), "snow": ("Schnee #1.jpg",), "landmark": ("copy of IMG_0001 (2).jpg",),
}  # fmt: skip
_TALL = {
    "landmark": 0.36, "lighthouse": 0.36, "waterfall": 0.4, "street": 0.4, "food": 0.3, "cat": 0.25, "giraffe": 0.4,
    "forest": 0.35, "sunset": 0.14, "sunrise": 0.14, "mountains": 0.14, "snow": 0.2, "aurora": 0.25, "balloons": 0.25,
    "night": 0.2, "skyline": 0.12, "dog": 0.1, "penguin": 0.12, "beach": 0.08, "boat": 0.12, "garden": 0.12,
}  # fmt: skip
_LIVELY = frozenset(
    {
        "birds",
        "dog",
        "horse",
        "elephant",
        "giraffe",
        "penguin",
        "cat",
        "boat",
        "camel",
        "sheep",
        "swan",
        "balloons",
        "sea",
        "llama",
    }
)


def plan(count: int = 600, seed: int = 0) -> list[Postcard]:
    """The whole library, in the order of its paths; the same for the same count and seed, anywhere."""
    require(count >= 1, "sample.count", "must be >= 1", count)
    evening = round(count * _EVENING_SHARE)
    cards = _evening(evening, seed)
    shares = _shares(count - evening, [trip.weight for trip in TRIPS])
    for trip, number in zip(TRIPS, shares, strict=True):
        cards.extend(_journey(trip, number, seed))
    return sorted(_named(_with_gaps(cards, seed)), key=lambda card: card.path)


def _journey(trip: Trip, number: int, seed: int) -> list[Postcard]:
    """`number` pictures of one trip: each outing gives one or a few, some of them a burst."""
    rng = Random(f"{seed}/{trip.folder}")
    cities = [CITIES[name] for name in trip.cities]
    stops = [(city, spot, subject) for city in cities for spot in city.spots for subject in spot.subjects]
    rng.shuffle(stops)
    suns = [stop for stop in stops if stop[2].startswith("sunset")]
    days = [stop for stop in stops if not stop[2].startswith("sunset")]
    turns = [_varied([stop for stop in days if stop[0] == city], rng) for city in cities]
    others: list[_Stop] = [stop for round_ in zip_longest(*turns) for stop in round_ if stop is not None]
    evenings = round(0.11 * number) if suns else 0
    cards: list[Postcard] = []
    for wanted, pool in ((evenings, suns), (number, others)):
        outing = 0
        while len(cards) < wanted:
            cards.extend(
                _outing(trip, *pool[outing % len(pool)], wanted - len(cards), f"{trip.folder}/{len(cards)}", seed)
            )
            outing += 1
    return cards


def _varied(stops: list[_Stop], rng: Random) -> list[_Stop]:
    """The stops in an order that repeats a subject late, and comes early to what few places offer."""
    seen: Counter[str] = Counter()
    ranks = []
    for i, (_, _, word) in enumerate(stops):
        subject = word.partition(":")[0]
        ranks.append((seen[subject], rng.random() * _PLACES_WITH[subject] ** 0.4, i))
        seen[subject] += 1
    return [stops[i] for _, _, i in sorted(ranks)]


def _outing(trip: Trip, city: City, spot: Spot, word: str, most: int, key: str, seed: int) -> list[Postcard]:
    """What one stop at a spot gives: a single picture, a few different ones, or a burst."""
    rng = Random(f"{seed}/{key}/{spot.name}/{word}")
    day = _day(trip, city, rng)
    subject, _, variant = word.partition(":")
    first = hour_for(subject, city, spot, day, rng)
    if first is None:  # no night so far north in summer
        subject = "skyline"
        first = hour_for(subject, city, spot, day, rng)
        assert first is not None
    burst = rng.random() < (0.16 if subject in _LIVELY else 0.045)
    usual = (2, 2, 3, 4) if _PLACES_WITH[subject] < 7 else (1, 1, 1, 2, 2, 3)
    number = min(rng.randint(3, 8 if subject in _LIVELY else 5) if burst else rng.choice(usual), most)
    base = _card(trip.folder, city, spot, subject, variant, first, rng, seed)
    base = replace(base, composition=f"{seed}/{key}")
    cards = []
    taken = first
    for i in range(number):
        if burst:
            cards.append(replace(base, taken=taken, frame=i))
            taken += timedelta(milliseconds=rng.choice((140, 200, 330, 500, 900)))
        else:
            card = _card(trip.folder, city, spot, subject, variant, taken, rng, seed)
            cards.append(replace(card, composition=f"{seed}/{key}/{i}"))
            taken += timedelta(seconds=rng.randint(40, 420), milliseconds=rng.randint(0, 999))
    return cards


def _evening(number: int, seed: int) -> list[Postcard]:
    """One evening at the sea of which far too many pictures were taken."""
    name, at, day = _EVENING
    city = CITIES[name]
    spot = next(spot for spot in city.spots if spot.name == at)
    folder = next(trip.folder for trip in TRIPS if name in trip.cities)
    rng = Random(f"{seed}/evening")
    cards: list[Postcard] = []
    scenes = ("shore", "none", "shore", "boat", "rocks", "people")
    for i in range(number):
        down = time_of(6.5 - 8.5 * i / max(number - 1, 1), spot.lat, spot.lon, city.offset_h(day), day, evening=True)
        assert down is not None
        taken = down + timedelta(milliseconds=rng.randint(0, 999))
        scene = i * len(scenes) // max(number, 1)
        card = _card(folder, city, spot, "sunset", scenes[scene], taken, rng, seed)
        cards.append(
            replace(
                card,
                caption=caption("sunset", "evening", at, name, taken, rng),
                keywords=("sunset", "sea"),
                weather="fair",
                portrait=scene == 3,
                # Neighbouring pictures share their composition: the same view, with the sun a little lower.
                composition=f"{seed}/evening/{scene}",
                frame=i % 6,
            )
        )
    return cards


def _card(
    folder: str, city: City, spot: Spot, subject: str, variant: str, taken: datetime, rng: Random, seed: int
) -> Postcard:
    far, turn = 0.12 * abs(rng.gauss(0, 1)) + 0.02, rng.random() * 2 * math.pi  # kilometres from the spot
    lat = spot.lat + far * math.cos(turn) / 111.2
    lon = spot.lon + far * math.sin(turn) / (111.2 * math.cos(math.radians(spot.lat)))
    day = taken.date()
    cameras = [camera for camera in CAMERAS if camera.first <= day <= camera.last]
    weather = weather_of(city, day, subject, seed)
    return Postcard(
        path=folder,
        trip=folder.rpartition("/")[2],
        subject=subject,
        variant=variant,
        place=spot.name,
        city=city.name,
        country=city.country,
        lat=round(lat, 6),
        lon=round(lon, 6),
        metres=round(max(spot.metres + 2 * rng.random(), 0.5), 1),
        taken=taken,
        offset_h=city.offset_h(day),
        camera=rng.choice(cameras),
        caption=caption(subject, variant, spot.name, city.name, taken, rng),
        keywords=keywords(subject, city.name, rng) if rng.random() < 0.45 else (),
        rating=rng.choice((2, 3, 3, 4, 4, 5)) if rng.random() < 0.25 else None,
        gps="right",
        clock="right",
        orientation=1,
        portrait=rng.random() < _TALL.get(subject, 0.05),
        weather=weather,
        season=season_of(city, day),
        land=city.land,
        composition="",
        sky=f"{seed}/{city.name}/{day}",
        frame=0,
    )


def _with_gaps(cards: Sequence[Postcard], seed: int) -> list[Postcard]:
    """The same cards with what real libraries lack: places, times and captions, and pictures stored sideways."""
    rng = Random(f"{seed}/gaps")
    made = list(cards)

    def some(share: float) -> list[int]:
        return rng.sample(range(len(made)), round(share * len(made)))

    places, times = some(0.06), some(0.04)
    for order, i in enumerate(places):
        made[i] = replace(made[i], gps="wrong" if order * 8 < len(places) else "absent")
    for order, i in enumerate(times):
        made[i] = replace(made[i], clock="wrong" if order * 6 < len(times) else "absent")
    for i in some(0.07):
        card = made[i]
        words = foreign(card.subject, card.place, card.city, card.taken, rng)
        made[i] = replace(card, caption=words or card.caption)
    for i in some(0.12):
        made[i] = replace(made[i], caption=None)
    for i, card in enumerate(made):
        turned = rng.random()
        if card.portrait and turned < 0.4:
            made[i] = replace(card, orientation=6 if turned < 0.28 else 8)
        elif not card.portrait and turned < 0.015:
            made[i] = replace(card, orientation=3)
    return made


def _named(cards: Sequence[Postcard]) -> list[Postcard]:
    """The cards with their paths: each camera counts on, in the order of the clock."""
    counters: Counter[str] = Counter()
    of_subject: Counter[str] = Counter()
    odd = {subject: list(names) for subject, names in _ODD_NAMES.items()}
    taken: set[str] = set()
    named = []
    for card in sorted(cards, key=lambda card: (card.taken, card.composition, card.frame)):
        counters[card.camera.model] += 1
        name = file_name(card.camera, card.taken, counters[card.camera.model])
        of_subject[card.subject] += 1
        if of_subject[card.subject] % 2 == 0 and odd.get(card.subject):
            name = odd[card.subject].pop()
        stem, _, ending = name.rpartition(".")
        again = 0
        while f"{card.path}/{name}".casefold() in taken:  # a burst within one second, or two cameras that count alike
            again += 1
            name = f"{stem}_{again}.{ending}"
        taken.add(f"{card.path}/{name}".casefold())
        named.append(replace(card, path=f"{card.path}/{name}"))
    return named


def _day(trip: Trip, city: City, rng: Random) -> date:
    """A day of the trip on which it was in this city."""
    if trip.days > 300:  # at home: any month, but not near a change of the clocks
        later = trip.start + timedelta(days=rng.randrange(trip.days))
        return later.replace(day=rng.randint(1, 20))
    part = trip.cities.index(city.name)
    per = trip.days / len(trip.cities)
    return trip.start + timedelta(days=int(part * per + rng.random() * per))


def _shares(total: int, weights: Sequence[float]) -> list[int]:
    """`total` split by weight into whole numbers: the largest remainders get what rounding left."""
    exact = [total * weight / sum(weights) for weight in weights]
    shares = [int(part) for part in exact]
    rest = sorted(range(len(exact)), key=lambda i: shares[i] - exact[i])
    for i in rest[: total - sum(shares)]:
        shares[i] += 1
    return shares
