"""Members of archives that stay on their server."""

from __future__ import annotations

import io
import random
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
from range_server import Server, local_web, serving

from mascot.bench.prepare import archives
from mascot.bench.prepare.archives import Member
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

NOISE = random.Random(7).randbytes(5000)
TEXT = b"all work and no play " * 200


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture
def web() -> Iterator[Web]:
    web = local_web(timeout=5, retries=1, pause=0.01)
    yield web
    web.stop()


class _Unseekable(io.RawIOBase):
    """A stream that cannot go back, so that sizes come behind the members."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.data += data
        return len(data)


def _packed(members: dict[str, bytes], to: IO[bytes] | None = None, **options: Any) -> bytes:
    stream: Any = to if to is not None else io.BytesIO()
    with zipfile.ZipFile(stream, "w", **{"compression": zipfile.ZIP_DEFLATED, **options}) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return bytes(stream.data) if isinstance(stream, _Unseekable) else stream.getvalue()


def directory(
    web: Web, url: str, stems: set[str], suffix: str, report: Any = lambda *_: None, path: Path | None = None
) -> dict[str, Member]:
    """The directory, stored nowhere unless a path is given."""
    with tempfile.TemporaryDirectory() as folder:
        return archives.directory(web, url, stems, suffix, path or Path(folder) / "a.json", report)


def test_members_are_found_by_their_stem_and_read_with_one_request(server: Server, web: Web) -> None:
    members = {"metas2/": b"", "metas2/a1_CH.pickle": TEXT, "metas2/a1_CH.txt": b"no", "meta2/deep/a2.PICKLE": NOISE}
    url = server.put("/meta2.zip", _packed(members))
    selection = directory(web, url, {"a1_CH", "a2", "a3"}, ".pickle")
    assert {stem: member.name for stem, member in selection.items()} == {
        "a1_CH": "metas2/a1_CH.pickle",
        "a2": "meta2/deep/a2.PICKLE",
    }
    for stem, content in (("a1_CH", TEXT), ("a2", NOISE)):
        before = server.count("/meta2.zip")
        assert selection[stem].read(web, url) == content
        assert server.count("/meta2.zip") == before + 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", ["plain", "descriptors", "zip64", "prefix"])
def test_every_shape_of_archive(server: Server, web: Web, method: int, shape: str) -> None:
    members = {"i/a.jpg": NOISE, "i/b.jpg": TEXT, "i/c.jpg": b"", "i/d.jpg": NOISE[::-1]}
    data = _packed(members, _Unseekable() if shape == "descriptors" else None, compression=method)
    if shape == "prefix":
        data = b"#!/bin/sh\n" * 300 + data
    if shape == "zip64":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as archive:
            for name, content in members.items():
                with archive.open(name, "w", force_zip64=True) as member:
                    member.write(content)
        data = stream.getvalue()
    url = server.put("/a.zip", data)
    selection = directory(web, url, {"a", "b", "c", "d"}, ".jpg")
    assert {f"i/{stem}.jpg": member.read(web, url) for stem, member in selection.items()} == members


def test_a_long_header_takes_a_second_request(server: Server, web: Web) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("i/a.jpg")
        info.extra = b"\xfe\xca" + (2000).to_bytes(2, "little") + b"x" * 2000
        archive.writestr(info, NOISE)
    url = server.put("/a.zip", stream.getvalue())
    member = directory(web, url, {"a"}, ".jpg")["a"]
    before = server.count("/a.zip")
    assert member.read(web, url) == NOISE
    assert server.count("/a.zip") == before + 2


def test_a_large_directory_is_read_once_and_in_pieces(
    server: Server, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {f"images2/a{i:05d}_with_a_rather_long_name.jpg": b"%d" % i for i in range(3000)}
    url = server.put("/a.zip", _packed(members))
    monkeypatch.setattr(archives, "_PIECE", 50_000)
    reports: list[tuple[int, int | None]] = []
    selection = directory(web, url, {"a01234_with_a_rather_long_name"}, ".jpg", lambda *step: reports.append(step))
    assert [member.read(web, url) for member in selection.values()] == [b"1234"]
    size = 3000 * (46 + len("images2/a00000_with_a_rather_long_name.jpg"))
    assert reports[-1][1] == len(server.files["/a.zip"])  # type: ignore[arg-type]
    assert size < server.sent["/a.zip"] < size + 3 * 65536 + 1000
    assert server.count("/a.zip", "GET") <= 6 + -(-size // 50_000) + 1


def test_only_ranges_are_fetched(server: Server, web: Web) -> None:
    rubbish = random.Random(1).randbytes(3_000_000)
    url = server.put("/a.zip", _packed({"i/big.jpg": rubbish, "i/a.jpg": NOISE, "i/big2.jpg": rubbish}))
    assert directory(web, url, {"a"}, ".jpg")["a"].read(web, url) == NOISE
    assert server.sent["/a.zip"] < 100_000


def test_damage_is_noticed(server: Server, web: Web) -> None:
    archive_bytes = _packed({"i/a.jpg": NOISE, "i/b.jpg": TEXT}, compression=zipfile.ZIP_STORED)
    url = server.put("/a.zip", archive_bytes)
    members = directory(web, url, {"a", "b"}, ".jpg")
    at = archive_bytes.index(NOISE) + 100
    server.put("/a.zip", archive_bytes[:at] + b"?" + archive_bytes[at + 1 :])
    with pytest.raises(Loss, match=r"i/a\.jpg: .*damaged"):
        members["a"].read(web, url)
    assert members["b"].read(web, url) == TEXT
    server.put("/a.zip", b"x" + archive_bytes)  # another archive, everything a byte further on
    with pytest.raises(Loss, match="not where the directory says"):
        members["b"].read(web, url)
    encrypted = bytearray(archive_bytes)
    encrypted[6] |= 1
    server.put("/a.zip", bytes(encrypted))
    with pytest.raises(Loss, match="encrypted"):
        members["a"].read(web, url)
    server.put("/a.zip", archive_bytes[:50])
    with pytest.raises(Loss):
        members["b"].read(web, url)


def test_a_bomb_does_not_go_off(server: Server, web: Web) -> None:
    url = server.put("/a.zip", _packed({"i/a.jpg": bytes(50_000_000)}))
    member = directory(web, url, {"a"}, ".jpg")["a"]
    with pytest.raises(Loss, match="too large"):
        member.read(web, url, most=1 << 20)
    liar = replace(member, size=100, crc=zlib.crc32(bytes(100)))
    with pytest.raises(Loss, match="damaged"):
        liar.read(web, url)


@pytest.mark.parametrize("content", [b"<html>sorry</html>", b"", b"PK\5\6" + b"\xff" * 18, b"x" * 100_000])
def test_what_is_no_archive(server: Server, web: Web, content: bytes) -> None:
    url = server.put("/a.zip", content)
    with pytest.raises(InputError, match=r"must be a zip archive|the archive .*(dead link|no ranges)"):
        directory(web, url, {"a"}, ".jpg")


def test_a_directory_that_lies(server: Server, web: Web) -> None:
    archive_bytes = bytearray(_packed({"i/a.jpg": NOISE}))
    offset = archive_bytes.rindex(b"PK\1\2") + 42
    archive_bytes[offset : offset + 4] = (2**31).to_bytes(4, "little")  # the member is behind the end
    url = server.put("/a.zip", bytes(archive_bytes))
    with pytest.raises((InputError, Loss), match=r"must be a zip archive|status 416"):
        directory(web, url, {"a"}, ".jpg")["a"].read(web, url)


def test_a_server_without_ranges(server: Server, web: Web) -> None:
    url = server.put("/a.zip", _packed({"i/a.jpg": NOISE}), no_ranges=True)
    with pytest.raises(InputError, match="no ranges"):
        directory(web, url, {"a"}, ".jpg")


def test_the_directory_is_remembered(server: Server, web: Web, tmp_path: Path) -> None:
    members = {f"i/a{i}.jpg": NOISE[:i] for i in range(100)}
    url = server.put("/a.zip", _packed(members))
    path = tmp_path / "a.json"
    first = directory(web, url, {"a7", "a8"}, ".jpg", path=path)
    before = server.count("/a.zip", "GET")
    again = directory(web, url, {"a8", "a7"}, ".jpg", path=path)
    assert again == first
    assert again["a7"].read(web, url) == NOISE[:7]
    assert server.count("/a.zip", "GET") == before + 2  # the size, and the member
    assert set(directory(web, url, {"a7", "a9"}, ".jpg", path=path)) == {"a7", "a9"}  # another question
    server.put("/a.zip", _packed({"i/new.jpg": TEXT, **members}))
    assert directory(web, url, {"a7", "a9"}, ".jpg", path=path)["a7"].read(web, url) == NOISE[:7]  # another archive
    path.write_text("{torn")
    assert set(directory(web, url, {"a7"}, ".jpg", path=path)) == {"a7"}


def test_a_missing_archive_stops_everything(server: Server, web: Web, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"images9\.zip: dead link .*run the same command again"):
        directory(web, server.url + "/images9.zip", {"a"}, ".jpg", path=tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
