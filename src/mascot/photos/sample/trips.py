"""The journeys of the two travellers, and the years at home between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Trip:
    folder: str
    start: date
    days: int
    cities: tuple[str, ...]
    weight: float = 1.0  # how many pictures it gave, next to the others


def _trip(folder: str, start: str, days: int, cities: str, weight: float = 1.0) -> Trip:
    return Trip(folder, date.fromisoformat(start), days, tuple(cities.split(", ")), weight)


TRIPS = (
    _trip("2016/2016-05 Paris", "2016-05-05", 4, "Paris"),
    _trip("2016/2016-08 Norway by boat", "2016-08-06", 9, "Bergen"),
    _trip("2016/2016-12 Grüße aus Österreich", "2016-12-10", 6, "Innsbruck"),
    _trip("2017/2017-03 Maroc", "2017-03-06", 10, "Marrakesh, Essaouira", 1.2),
    _trip("2017/2017-04 Tulips", "2017-04-21", 4, "Amsterdam"),
    _trip("2017/2017-06 Greece", "2017-06-10", 12, "Athens, Fira", 1.3),
    _trip("2017/2017-10 New York", "2017-10-14", 7, "New York"),
    _trip("2018/2018-02 Safari & Zanzibar", "2018-02-03", 13, "Nairobi, Zanzibar City", 1.5),
    _trip("2018/2018-04 Japan 🌸", "2018-04-02", 14, "Tokyo, Kyoto", 1.7),
    _trip("2018/2018-09 Peru", "2018-09-08", 14, "Lima, Cusco", 1.3),
    _trip("2018/2018-12 Habana", "2018-12-27", 8, "Havana", 0.8),
    _trip("2019/2019-02 Tromsø, northern lights", "2019-02-08", 6, "Tromsø", 0.9),
    _trip("2019/2019-07 Portugal", "2019-07-12", 11, "Lisbon, Cascais, Porto", 1.5),
    _trip("2019/2019-09 Iceland", "2019-09-14", 8, "Reykjavík", 1.1),
    _trip("2019/2019-11 India", "2019-11-09", 12, "Mumbai, Jaipur", 1.2),
    _trip("2020/2020-02 Egypt", "2020-02-08", 7, "Cairo"),
    _trip("2020/2020-08 Close to home", "2020-08-08", 9, "Dresden, Copenhagen", 1.1),
    _trip("2020/2020-09 Croatia", "2020-09-05", 7, "Dubrovnik", 0.8),
    _trip("2021/2021-07 Scotland", "2021-07-17", 10, "Edinburgh, Portree", 1.1),
    _trip("2021/2021-10 Roma e Venezia", "2021-10-02", 9, "Rome, Venice", 1.2),
    _trip("2022/2022-01 Dubai (stopover)", "2022-01-15", 4, "Dubai", 0.8),
    _trip("2022/2022-04 Vietnam + Singapore", "2022-04-04", 13, "Hanoi, Singapore", 1.2),
    _trip("2022/2022-07 Rocky Mountains", "2022-07-09", 12, "Vancouver, Banff", 1.2),
    _trip("2022/2022-11 Rio, Ushuaia, Antarctica", "2022-11-12", 20, "Rio de Janeiro, Ushuaia, Port Lockroy", 1.9),
    _trip("2023/2023-02 Down under", "2023-02-04", 16, "Sydney, Queenstown", 1.3),
    _trip("2023/2023-05 España", "2023-05-13", 9, "Barcelona, Seville", 1.1),
    _trip("2023/2023-08 California", "2023-08-12", 7, "San Francisco"),
    _trip("2023/2023-10 Türkiye 🎈", "2023-10-07", 10, "Istanbul, Göreme", 1.2),
    _trip("2024/2024-02 Cape Town", "2024-02-10", 8, "Cape Town", 1.1),
    _trip("2024/2024-05 Bali", "2024-05-04", 10, "Denpasar", 0.9),
    _trip("2024/2024-07 Switzerland", "2024-07-06", 8, "Zermatt, Lausanne", 1.1),
    _trip("2024/2024-08 Hawai'i", "2024-08-17", 9, "Honolulu", 0.8),
    _trip("At home/Kätzchen & Co", "2016-03-01", 3100, "Hamburg", 1.2),
)  # fmt: skip
