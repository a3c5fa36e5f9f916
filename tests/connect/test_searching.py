"""`mascot search --source`: a table of an engine is searched with a text, and steered by wishes in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.cli.options import TypedWishes
from mascot.connect.engines import EngineHits, open_sink
from mascot.grammar import focus
from mascot.photos import encoders
from mascot.photos.engine_search import HitResolver, Question, search_source
from mascot.photos.indexing.table_sink import FIELDS
from tests.connect.engine_stores import some_rows
from tests.photos.bag_of_words import BagOfWords
from tests.retelling import run_command

pytestmark = pytest.mark.integration
ROWS = [{**row, "camera": f"camera {i % 3}"} for i, row in enumerate(some_rows(40))]
QUESTION = Question("boats in the harbour")


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table whose pictures show what a text says; those of one city are nearest to the query."""
    pytest.importorskip("lancedb", reason="needs mascot-rerank[lance]")
    bag = BagOfWords()
    uri = f"lance://{tmp_path_factory.mktemp('trips')}/trips"
    sights = {"Lisbon": "boats in the harbour", None: "a brick wall"}
    vectors = bag.texts([sights.get(row["city"], f"boats in the harbour of {row['city']}") for row in ROWS])
    with pytest.MonkeyPatch.context() as patch, open_sink(uri, fields=FIELDS, dim=bag.dim) as sink:
        patch.setattr(encoders, "open_encoder", lambda name, device: bag)
        sink.put(ROWS, vectors)
        with pytest.raises(mc.OptionError, match="name it with --encoder"):
            search_source(uri, QUESTION)
        sink.set_facts({"encoder": "bag", "fingerprint": "other"})
        with pytest.raises(mc.OptionError, match=r"fingerprint other"):
            search_source(uri, QUESTION)
        sink.set_facts({"fingerprint": bag.fingerprint})
        yield uri


def records(uri: str, **options: Any) -> list[dict[str, Any]]:
    typed = TypedWishes(*(options.pop(name, ()) for name in ("spread", "focus", "limit", "share")))
    read = lambda resolver: typed.read(resolver, "last")  # noqa: E731
    return search_source(uri, QUESTION, read, **options).records()


def test_wishes_in_words_are_about_what_was_found(trips: str) -> None:
    method = mc.Mascot(strength=1, protect=0, order="selection")
    assert records(trips, focus=["city=kyoto"], k=3, method=method)[0]["city"] == "Kyoto"
    words = ["place=Lima", "place=Reykjavik", "season=summer", "hour=18", "keywords=sea", "number:rating=3"]
    assert len(records(trips, focus=words, k=5)) == 5
    assert records(trips, where="country = 'XX'") == []
    limited = records(trips, limit=["city=1", "category:camera=2"], k=9)
    assert max(Counter(row["city"] for row in limited if row["city"]).values()) == 1
    assert max(Counter(row["camera"] for row in limited).values()) <= 2
    assert sum(row["country"] == "NO" for row in records(trips, share=["country=no:25%"], k=8)) == 2


def test_the_next_page_has_others_and_a_column_that_no_row_has_is_an_error(trips: str) -> None:
    shown = [row["id"] for row in records(trips, spread=["place"], k=5, candidates=6)]
    second = records(trips, spread=["place"], k=5, candidates=6, already=[*shown, "nobody"])
    assert len({row["id"] for row in second} - set(shown)) == 5  # there are candidates beside those shown before
    with pytest.raises(mc.InputError, match=r"^Category needs column 'colour', got columns: "):
        records(trips, limit=["colour=1"], k=5)
    hits = HitResolver(EngineHits(["p", "q"], np.array([0.9, 0.8]), {"meta": [{"by": 5}, {"by": "Bob"}]}))
    assert focus("category:meta.by=5", resolver=hits) == mc.focus(mc.Category("meta.by"), near=5)
    assert focus("category:meta.to=5", resolver=hits) == mc.focus(mc.Category("meta.to"), near="5")


def test_a_question_is_a_text_or_a_photograph(trips: str, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (64, 48), "navy").save(tmp_path / "sea.png")
    assert len(search_source(trips, Question(like=tmp_path / "sea.png"), k=3).records()) == 3
    with pytest.raises(mc.OptionError, match="must not be empty"):
        search_source(trips, Question(" "))


def test_the_command_searches_steers_warns_and_refuses(trips: str) -> None:
    words = ("search", "--source", trips, "boats in the harbour", "-k", "8")
    wishes = ("--spread", "place", "--focus", "country=PT*0.1", "--strength", "0.9", "--protect", "1")
    plain, steered = run_command(*words), run_command(*words, *wishes)
    assert (steered.returncode, steered.stderr) == (0, "")
    before, after = ([json.loads(line) for line in done.stdout.splitlines()] for done in (plain, steered))
    assert len(after) == 8
    assert {"path", "score", "rank", "was", "city", "taken", "relevance"} <= set(after[0])
    assert len({row["city"] for row in after} - {None}) > len({row["city"] for row in before} - {None})
    few = run_command(*words, "--candidates", "8", "--format", "paths", "--where", "country IS NOT NULL")
    assert (few.returncode, few.stderr) == (
        0, "mascot: candidates=8 and k=8: there is nothing to choose from; search for ten times as many candidates\n"
    )  # fmt: skip
    expected = search_source(trips, QUESTION, k=8, candidates=9, where="country IS NOT NULL").hits
    assert few.stdout.splitlines() == expected.ids[:8]
    refused = run_command(*words, "--since", "2019")
    expected_error = "mascot: --since: not with --source; conditions go to --where\n"
    assert (refused.returncode, refused.stderr) == (2, expected_error)
