"""Sixty photographs that a search for "sunset over water" might find, for the demo and for trying things out.

Invented, at real places. One evening on a harbour wall in Oia fills the first page.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mascot.candidates import Candidates

QUERY = "sunset over water"

_CITIES = {
    "Auckland": (-36.84, 174.76),
    "Cape Town": (-33.92, 18.38),
    "Chicago": (41.89, -87.61),
    "Dubrovnik": (42.64, 18.11),
    "Havana": (23.14, -82.36),
    "Hoi An": (15.88, 108.33),
    "Hong Kong": (22.29, 114.17),
    "Honolulu": (21.28, -157.83),
    "Istanbul": (41.02, 28.98),
    "Key West": (24.56, -81.81),
    "Lisbon": (38.69, -9.21),
    "Oia": (36.46, 25.37),
    "Reykjavik": (64.15, -21.94),
    "Rio de Janeiro": (-22.99, -43.19),
    "San Francisco": (37.81, -122.48),
    "Seattle": (47.61, -122.34),
    "Stockholm": (59.32, 18.07),
    "Sydney": (-33.86, 151.21),
    "Tokyo": (35.63, 139.78),
    "Varanasi": (25.31, 83.01),
    "Venice": (45.43, 12.34),
    "Zanzibar": (-6.16, 39.19),
}

# Caption, city, local time, camera, score.
_PHOTOS = (
    ("harbour-wall-gold-1", "Oia", "2023-06-14 20:21", "X100V", 0.3912),
    ("harbour-wall-gold-2", "Oia", "2023-06-14 20:21", "X100V", 0.3907),
    ("caldera-last-light-1", "Oia", "2023-06-14 20:34", "X100V", 0.3889),
    ("caldera-last-light-2", "Oia", "2023-06-14 20:34", "X100V", 0.3883),
    ("boats-below-the-sun", "Oia", "2023-06-14 20:12", "X100V", 0.3871),
    ("caldera-last-light-3", "Oia", "2023-06-14 20:35", "X100V", 0.3866),
    ("harbour-wall-gold-3", "Oia", "2023-06-14 20:22", "X100V", 0.3858),
    ("windmill-and-sea-1", "Oia", "2023-06-14 20:02", "Pixel 7", 0.3840),
    ("gondola-glow-1", "Venice", "2022-09-03 19:31", "D750", 0.3832),
    ("windmill-and-sea-2", "Oia", "2023-06-14 20:02", "Pixel 7", 0.3829),
    ("red-sun-on-the-water", "Oia", "2023-06-14 20:41", "X100V", 0.3818),
    ("gondola-glow-2", "Venice", "2022-09-03 19:31", "D750", 0.3811),
    ("sail-into-the-sun-1", "Oia", "2023-06-14 20:29", "Pixel 7", 0.3803),
    ("sail-into-the-sun-2", "Oia", "2023-06-14 20:29", "Pixel 7", 0.3797),
    ("golden-gate-haze", "San Francisco", "2021-10-17 18:24", "A7 III", 0.3790),
    ("blue-domes-dusk", "Oia", "2023-06-14 20:58", "X100V", 0.3778),
    ("ferry-crossing-gold", "Istanbul", "2022-10-21 18:02", "X-T3", 0.3771),
    ("lagoon-piles-evening", "Venice", "2022-09-03 19:44", "D750", 0.3764),
    ("midnight-sun-pier", "Reykjavik", "2022-06-24 23:41", "Z6", 0.3755),
    ("pier-end-crowd", "Key West", "2020-01-12 17:51", "iPhone 11", 0.3752),
    ("ghats-first-sun-1", "Varanasi", "2020-02-02 06:44", "A7 III", 0.3749),
    ("harbour-wall-gold-4", "Oia", "2023-06-14 20:23", "X100V", 0.3747),
    ("waikiki-first-surf", "Honolulu", "2018-12-01 06:52", "iPhone 8", 0.3745),
    ("dhow-on-orange-sea", "Zanzibar", "2019-08-05 18:19", "EOS 6D", 0.3741),
    ("harbour-bridge-dawn", "Sydney", "2019-04-21 06:21", "A7 III", 0.3736),
    ("tower-and-tide", "Lisbon", "2021-03-27 18:47", "X-T3", 0.3733),
    ("ghats-first-sun-2", "Varanasi", "2020-02-02 06:45", "A7 III", 0.3729),
    ("rainbow-bridge-night", "Tokyo", "2019-11-08 20:05", "X-T3", 0.3719),
    ("caldera-by-boat", "Oia", "2023-06-13 19:48", "Pixel 7", 0.3718),
    ("arpoador-swim", "Rio de Janeiro", "2018-06-10 07:20", "EOS 6D", 0.3712),
    ("grand-canal-embers", "Venice", "2022-09-04 19:27", "D750", 0.3709),
    ("malecon-spray-gold", "Havana", "2017-02-11 18:12", "EOS 6D", 0.3690),
    ("waikiki-silhouettes", "Honolulu", "2018-11-30 17:46", "iPhone 8", 0.3688),
    ("ipanema-two-brothers", "Rio de Janeiro", "2018-06-09 17:13", "EOS 6D", 0.3684),
    ("old-port-walls-warm", "Dubrovnik", "2022-08-30 19:18", "D750", 0.3675),
    ("opera-house-evening", "Sydney", "2019-04-20 17:29", "A7 III", 0.3655),
    ("camps-bay-swimmers", "Cape Town", "2019-12-27 19:55", "EOS 6D", 0.3652),
    ("archipelago-late", "Stockholm", "2023-07-02 21:52", "Z6", 0.3643),
    ("sound-ferry-evening", "Seattle", "2021-09-11 19:22", "iPhone 11", 0.3639),
    ("bay-bridge-pink", "Tokyo", "2019-11-08 16:34", "X-T3", 0.3633),
    ("baker-beach-waves", "San Francisco", "2021-10-18 18:19", "A7 III", 0.3630),
    ("star-ferry-glow", "Hong Kong", "2018-12-15 17:38", "X-T3", 0.3622),
    ("galata-gulls", "Istanbul", "2022-10-21 17:40", "X-T3", 0.3603),
    ("lake-shore-dawn", "Chicago", "2020-07-19 05:38", "iPhone 11", 0.3595),
    ("river-lanterns-dusk", "Hoi An", "2020-01-25 18:05", "A7 III", 0.3574),
    ("tagus-noon-glare", "Lisbon", "2021-03-28 12:40", "X-T3", 0.3551),
    ("west-coast-surf-gold", "Auckland", "2019-03-16 19:41", "A7 III", 0.3543),
    ("stone-town-swim", "Zanzibar", "2019-08-06 17:58", "EOS 6D", 0.3532),
    ("fishing-boats-dawn", "Hoi An", "2020-01-26 06:10", "A7 III", 0.3519),
    ("mallory-square-sails", "Key West", "2020-01-13 17:44", "iPhone 11", 0.3507),
    ("lagoon-fog-morning", "Venice", "2022-09-05 07:12", "D750", 0.3488),
    ("black-sand-evening", "Reykjavik", "2022-06-23 22:50", "Z6", 0.3442),
    ("harbour-neon", "Hong Kong", "2018-12-15 20:31", "X-T3", 0.3378),
    ("whitewashed-lane", "Oia", "2023-06-13 11:05", "X100V", 0.3341),
    ("cable-car-and-bay", "San Francisco", "2021-10-17 14:02", "A7 III", 0.3302),
    ("table-mountain-sea", "Cape Town", "2019-12-26 15:33", "EOS 6D", 0.3287),
    ("vintage-car-seafront", "Havana", "2017-02-12 10:48", "EOS 6D", 0.3214),
    ("canal-reflections", "Stockholm", "2023-07-01 13:26", "Z6", 0.3176),
    ("space-needle-clouds", "Seattle", "2021-09-12 16:11", "iPhone 11", 0.3092),
    ("city-wall-steps", "Dubrovnik", "2022-08-31 10:20", "D750", 0.3035),
)  # fmt: skip


def records() -> list[dict[str, Any]]:
    """Return the photographs as records: id, city, lat, lon, taken, camera, score; best score first."""
    names = ("id", "city", "lat", "lon", "taken", "camera", "score")
    rows = (
        (caption, city, *_CITIES[city], datetime.fromisoformat(taken).isoformat(), camera, score)
        for caption, city, taken, camera, score in _PHOTOS
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def candidates() -> Candidates:
    return Candidates.from_records(records())
