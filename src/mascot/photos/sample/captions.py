"""What the travellers wrote under their pictures: many words for one thing, and sometimes another language."""

from __future__ import annotations

from datetime import datetime
from random import Random

from mascot.photos.sample.phrases import ENGLISH, OTHERS

_RIVERSIDE = frozenset({"dome", "eiffel", "minaret", "mosque", "campanile"})

_HOURS = (
    (5, "at night"), (8, "at dawn"), (11, "in the morning"), (14, "at noon"), (17, "in the afternoon"),
    (21, "in the evening"),
)  # fmt: skip


def caption(subject: str, variant: str, at: str, city: str, taken: datetime, rng: Random) -> str:
    """A line in English; a subject's variant has lines of its own where that matters."""
    kind = "river" if subject == "sunset" and variant in _RIVERSIDE else variant
    lines = ENGLISH.get(f"{subject}:{kind}", ENGLISH[subject])
    return _filled(rng.choice(lines), at, city, taken)


def foreign(subject: str, at: str, city: str, taken: datetime, rng: Random) -> str | None:
    """A line in Portuguese, German, French, Spanish or Japanese; None for a subject they have none for."""
    lines = OTHERS.get(subject)
    return None if lines is None else _filled(rng.choice(lines), at, city, taken)


def _filled(line: str, at: str, city: str, taken: datetime) -> str:
    text = line.format(at=at, city=city, when=_when(taken.hour))
    return text[0].upper() + text[1:]


def _when(hour: int) -> str:
    return next((words for until, words in _HOURS if hour < until), "at night")


def keywords(subject: str, city: str, rng: Random) -> tuple[str, ...]:
    """A few tags, the most general last."""
    more = {
        "sunset": ("sunset", "sea", "evening"), "sunrise": ("sunrise", "morning", "sea"), "beach": ("beach", "summer"),
        "mountains": ("mountains", "hiking"), "snow": ("winter", "snow"), "forest": ("trees", "nature"),
        "landmark": ("architecture", "sightseeing"), "night": ("night", "city lights"), "market": ("market", "food"),
        "food": ("food",), "harbour": ("harbour", "boats"), "boat": ("boat", "water"), "street": ("old town", "street"),
    }.get(subject, (subject, "nature"))  # fmt: skip
    chosen = list(more[: rng.randint(1, len(more))])
    if rng.random() < 0.7:
        chosen.append(city)
    if rng.random() < 0.3:
        chosen.append("travel")
    return tuple(dict.fromkeys(chosen))
