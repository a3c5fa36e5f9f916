"""The best photographs: quality and stars are their relevance."""

from __future__ import annotations

from pathlib import Path

import pytest

from mascot.photos import Library
from mascot.photos.request import SearchRequest
from tests.photos.bag_of_words import BagOfWords
from tests.photos.test_metadata import DATA

_FAILURES = ("altitude", "npm-exif__IMG_0001", "drewnoakes__Apple_iPhone_4")  # blank wall, test card, receipt


@pytest.mark.skipif(not (DATA / "photos").is_dir(), reason="needs the real photographs")
def test_clear_failures_are_not_among_the_best(tmp_path: Path) -> None:
    for path in (DATA / "photos").iterdir():
        (tmp_path / path.name).symlink_to(path)
    with Library.open(tmp_path) as library:
        library.index(BagOfWords(), follow_links=True)
        results = library.search(SearchRequest(best=True, k=20))
        assert len(results) == 20
        assert [photo.path for photo in results.photos if any(name in photo.path for name in _FAILURES)] == []
        assert len(library.search(SearchRequest(best=True, k=90, stacks=False))) == 90  # the count is exact
