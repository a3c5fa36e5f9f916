"""On the whole sample library, with k=24 and the default strength, steering does what was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import mascot as mc
from mascot.photos import Library
from mascot.photos.photo import Photo
from mascot.photos.sample import write_sample
from tests.photos.libraries import photos_in

K = 24


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("sample") / "trips"
    write_sample(folder)
    with Library.open(folder) as opened:
        opened.index("lite")
        yield opened


def _km(photo: Photo, point: tuple[float, float]) -> float:
    if photo.lat is None or photo.lon is None:
        return np.inf
    lat, lon, near_lat, near_lon = np.radians([photo.lat, photo.lon, *point])
    cosine = np.sin(lat) * np.sin(near_lat) + np.cos(lat) * np.cos(near_lat) * np.cos(lon - near_lon)
    return float(6371 * np.arccos(np.clip(cosine, -1, 1)))


def test_a_search_aims_and_balances(library: Library) -> None:
    assert sum(photo.city == "Cape Town" for photo in photos_in(library)) == 14
    for text in ("mountain", "sunset over water"):
        photos = library.search(text, library.focus("place=Cape Town"), K).photos
        assert sum(photo.city == "Cape Town" for photo in photos) >= 12, text
    lists = []
    for city in ("Paris", "Hamburg", "Bergen"):
        wish = library.focus(f"place={city}")
        photos = library.search("food", wish, K).photos
        assert sum(_km(photo, tuple(wish.near)) <= 100 for photo in photos) >= 12, city
        lists.append({photo.id for photo in photos})
    assert max(len(lists[a] & lists[b]) for a, b in ((0, 1), (0, 2), (1, 2))) <= 2 * K // 3
    photos = library.search("boats", library.focus("hour=7"), K).photos
    hours = [photo.taken.hour + photo.taken.minute / 60 for photo in photos if photo.taken]
    assert sum(abs(hour - 7) <= 1.5 for hour in hours) >= 18
    for text in (None, "sunset over water", "mountain", "food", "boats"):
        years = Counter(p.taken.year for p in library.search(text, library.spread("year"), K).photos if p.taken)
        assert len(years) == 9, text
        assert max(years.values()) <= 7, text


def test_a_focus_finds_where_the_matches_are(library: Library) -> None:
    dials: list[list[int]] = []
    retained = []
    for text in ("sunset", "boats", "church", "food", "mountain", "beach", "snow", "street at night"):
        hits = library.hits(text)
        relevance = (hits.scores - hits.scores.min()) / np.ptp(hits.scores)
        plain = np.argsort(-hits.scores, kind="stable")[:K]
        for name in ("city", "country", "place", "hour", "year"):
            wish = library.focus(name)
            column = hits.candidates.columns["taken" if name == "hour" else "city" if name == "place" else name]
            values = [str(value)[11:13] if name == "hour" else str(value) for value in column]
            counts = [len({values[i] for i in plain})]
            for strength in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
                candidates = hits.candidates_for([wish], mc.Mascot())
                positions = mc.rerank(candidates, wish, K, mc.Mascot(strength)).positions
                counts.append(len({values[i] for i in positions}))
                if strength == 0.5 and name in ("city", "country", "place"):
                    retained.append(relevance[positions].sum() / relevance[plain].sum())
            assert max(counts) == counts[0], (text, name, counts)  # never above the plain page
            dials.append(counts)
    assert (np.diff(np.mean(dials, axis=0)) <= 0).all()  # a single query may rise
    assert min(retained) >= 0.78
    assert np.mean(retained) >= 0.85
