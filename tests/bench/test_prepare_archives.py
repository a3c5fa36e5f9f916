"""Members of archives that stay on their server."""

from __future__ import annotations

import io
import random
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from range_server import Server, local_web

from mascot.bench.prepare import archives
from mascot.bench.prepare.archives import Member
from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

NOISE = random.Random(7).randbytes(5000)
TEXT = b"all work and no play " * 200


@pytest.fixture
def web() -> Web:
    return local_web(retries=1)


class _Unseekable(io.BytesIO):
    """A stream that cannot go back, so that sizes come after the members."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise OSError("not seekable")

    tell = seek


def _packed(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED, shape: str = "plain") -> bytes:
    stream = _Unseekable() if shape == "descriptors" else io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            if shape == "long header":
                info.extra = b"\xfe\xca" + (2000).to_bytes(2, "little") + b"x" * 2000
            info.compress_type = compression
            with archive.open(info, "w", force_zip64=shape == "zip64") as member:
                member.write(data)
    return b"#!/bin/sh\n" * 300 * (shape == "prefix") + stream.getvalue()


def directory(web: Web, url: str, stems: set[str], path: Path, report: Any = lambda *_: None) -> dict[str, Member]:
    return archives.directory(web, url, stems, ".jpg", path / "a.jsonl", report)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", ["plain", "descriptors", "zip64", "prefix", "long header"])
def test_members_are_found_by_their_stem_and_read_with_one_request(
    server: Server, web: Web, tmp_path: Path, method: int, shape: str
) -> None:
    members = {"i/a.jpg": NOISE, "deep/er/b_CH.JPG": TEXT, "i/c.jpg": b"", "i/d.jpg": NOISE[::-1]}
    others = {"i/": b"", "i/a.txt": b"no", "i/e.jpg": b"not asked for", "j/a.jpg": b"not the first"}
    url = server.put("/a.zip", _packed(members | others, method, shape))
    selection = directory(web, url, {"a", "b_CH", "c", "d", "absent"}, tmp_path)
    assert {member.name for member in selection.values()} == set(members)
    before = server.count("/a.zip")
    assert {member.name: member.read(web, url) for member in selection.values()} == members
    second = sum(member.compressed > 0 for member in selection.values()) if shape == "long header" else 0
    assert server.count("/a.zip") - before == 4 + second


def test_a_directory_is_read_once_in_pieces_and_the_members_alone(
    server: Server, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {f"images2/a{i:05d}_with_a_rather_long_name.jpg": b"%d" % i for i in range(3000)}
    rubbish = random.Random(1).randbytes(2_000_000)
    url = server.put("/a.zip", _packed({"i/big.jpg": rubbish, **members}))
    monkeypatch.setattr(archives, "_PIECE", 50_000)
    reports: list[tuple[int, int | None]] = []
    stems = {"a01234_with_a_rather_long_name"}
    (member,) = directory(web, url, stems, tmp_path, lambda *step: reports.append(step)).values()
    assert member.read(web, url) == b"1234"
    size = 3000 * (46 + len("images2/a00000_with_a_rather_long_name.jpg"))
    assert reports[-1][1] == len(server.files["/a.zip"])
    assert size < server.sent["/a.zip"] < size + 3 * 65536 + 1000
    assert server.count("/a.zip") <= 6 + -(-size // 50_000) + 1


def test_damage_is_noticed(server: Server, web: Web, tmp_path: Path) -> None:
    content = _packed({"i/a.jpg": NOISE, "i/b.jpg": TEXT}, zipfile.ZIP_STORED)
    url = server.put("/a.zip", content)
    members = directory(web, url, {"a", "b"}, tmp_path)
    at = content.index(NOISE) + 100
    damage = {
        r"i/a\.jpg: .*damaged": content[:at] + b"?" + content[at + 1 :],
        "not where the directory says": b"x" + content,  # another archive, everything a byte further on
        "encrypted": content[:6] + bytes([content[6] | 1]) + content[7:],
        "dead link|no answer|not where": content[:20],
    }
    for words, damaged in damage.items():
        server.put("/a.zip", damaged)
        with pytest.raises(Loss, match=words):
            members["a"].read(web, url)


def test_a_bomb_does_not_go_off(server: Server, web: Web, tmp_path: Path) -> None:
    url = server.put("/a.zip", _packed({"i/a.jpg": bytes(5_000_000)}))
    member = directory(web, url, {"a"}, tmp_path)["a"]
    with pytest.raises(Loss, match="too large"):
        member.read(web, url, most=1 << 20)
    with pytest.raises(Loss, match="damaged"):
        replace(member, size=100, crc=zlib.crc32(bytes(100))).read(web, url)


@pytest.mark.parametrize(
    ("content", "manners", "words"),
    [
        (b"<html>sorry</html>", {}, "must be a zip archive"),
        (b"", {}, "the archive .*dead link"),
        (b"PK\5\6" + b"\xff" * 18, {}, "must be a zip archive"),
        (b"x" * 100_000, {}, "must be a zip archive"),
        (_packed({"i/a.jpg": NOISE}), {"no_ranges": True}, "no ranges"),
        (b"", {"always": 404}, r"a\.zip: dead link .*run the same command again"),
    ],
)
def test_what_is_no_archive(
    server: Server, web: Web, tmp_path: Path, content: bytes, manners: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        directory(web, server.put("/a.zip", content, **manners), {"a"}, tmp_path)


def test_a_directory_that_lies(server: Server, web: Web, tmp_path: Path) -> None:
    content = bytearray(_packed({"i/a.jpg": NOISE}))
    offset = content.rindex(b"PK\1\2") + 42
    content[offset : offset + 4] = (2**31).to_bytes(4, "little")  # the member is after the end
    url = server.put("/a.zip", bytes(content))
    with pytest.raises((InputError, Loss), match=r"must be a zip archive|status 416"):
        directory(web, url, {"a"}, tmp_path)["a"].read(web, url)


def test_the_directory_is_remembered(server: Server, web: Web, tmp_path: Path) -> None:
    members = {f"i/a{i}.jpg": NOISE[:i] for i in range(100)}
    url = server.put("/a.zip", _packed(members))
    first = directory(web, url, {"a7", "a8"}, tmp_path)
    before = server.count("/a.zip")
    assert directory(web, url, {"a8", "a7"}, tmp_path) == first
    assert server.count("/a.zip") == before + 1  # the size
    assert set(directory(web, url, {"a7", "a9"}, tmp_path)) == {"a7", "a9"}  # another question
    server.put("/a.zip", _packed({"i/new.jpg": TEXT, **members}))
    assert directory(web, url, {"a7", "a9"}, tmp_path)["a7"].read(web, url) == NOISE[:7]  # another archive
    (tmp_path / "a.jsonl").write_text("{torn")
    assert set(directory(web, url, {"a7"}, tmp_path)) == {"a7"}
