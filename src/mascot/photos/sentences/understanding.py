"""What was understood of a sentence: chips, each with the fields of a search request that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mascot.photos.request import SearchRequest

FEW = 3  # results below which it is said which chip to drop


@dataclass(frozen=True, slots=True)
class Ignored:
    """Words of a sentence that are not searched for, where they are, and why."""

    words: str
    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A part of a sentence that was understood.

    `filled` chips filter or limit the results, the others express a preference. `start` and `end` are positions of
    `words` in the sentence, in characters.
    """

    kind: str
    words: str
    start: int
    end: int
    label: str
    filled: bool
    fields: Mapping[str, Any]  # of a `SearchRequest`


@dataclass(frozen=True, slots=True)
class Understanding:
    """The chips of a sentence, the words that remain for the encoder, and what was ignored."""

    sentence: str
    text: str | None
    chips: tuple[Chip, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    def request(self, base: SearchRequest | None = None, without: Chip | None = None) -> SearchRequest:
        """Return the request of the sentence, perhaps without one of its chips.

        The fields of `base`, a request without text, override the sentence. Its wishes are added to those of the
        sentence, and replace those about the same attribute.
        """
        base = base or SearchRequest()
        values: dict[str, Any] = {"text": self.text}
        wishes: list[Any] = []
        for chip in self.chips:
            if chip is not without:
                wishes += chip.fields.get("wishes", ())
                values |= _merged(values, chip.fields)
        explicit = base.to_dict()
        steered = {_subject(wish) for wish in base.wishes}
        wishes = [wish for wish in wishes if _subject(wish) not in steered]
        return SearchRequest.from_dict(values | explicit | {"wishes": [*wishes, *base.wishes]})

    @property
    def line(self) -> str:
        """The understanding in one line: `boats; only Portugal, dusk; 1 per year; different cities`."""
        parts: dict[bool, list[str]] = {False: [], True: []}  # labels of filters, and of what steers
        for chip in self.chips:
            parts[bool(chip.fields.keys() & {"wishes", "k", "best", "order"})].append(chip.label)
        filters = [f"only {', '.join(parts[False])}"] if parts[False] else []
        return "; ".join([self.text or "all photographs", *filters, *parts[True]])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"line": self.line}


def _merged(values: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a chip, combined with those that other chips have set."""
    merged = {name: value for name, value in fields.items() if name != "wishes"}
    for name in ("place", "camera", "date", "season", "weekday", "part_of_day", "light"):
        before, value = values.get(name), merged.get(name)
        if before is None or value is None or before == value:
            continue
        if before.startswith("not ") == value.startswith("not "):
            merged[name] = f"{before} or {value.removeprefix('not ')}"
        elif before.startswith("not "):
            merged[name] = value  # what is wanted excludes everything else
        else:
            merged[name] = before
    return merged


def _subject(wish: Any) -> Any:
    """Return the attribute of a wish that spreads or focuses; a wish about another one does not replace it."""
    return (wish.get("spread") or wish.get("focus") or id(wish)) if isinstance(wish, Mapping) else id(wish)
