"""Addresses: what is in them, what they may not have, and that no message shows a password."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.connect.engines import open_sink, open_source
from mascot.connect.engines.address import read_address


@settings(max_examples=20)
@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20))
def test_what_is_not_ours_reaches_postgresql_as_it_was(value: str) -> None:
    """A form of a web page would write a space as a plus, which PostgreSQL takes for a plus."""
    psycopg = pytest.importorskip("psycopg", reason="needs mascot-rerank[postgres]")
    dsn = read_address(f"postgresql://host/db?options={quote(value)}&table=things&application_name=a%20b").dsn
    options = psycopg.conninfo.conninfo_to_dict(dsn)
    assert (options.get("options", ""), options["application_name"]) == (value, "a b")


@pytest.mark.parametrize("engine", ["qdrant", "qdrant+https", "milvus", "lance+s3", "lance", "postgresql", "nonsense"])
def test_no_message_shows_a_password(engine: str) -> None:
    ends = ("/", "host:1/photos", "host:1/db/photos", "[::1/photos", "host/db?password=SECRET")
    for secret, rest in product(("SECRET", "SEC#RET", "SEC?RET", "SEC/RET", "SEC@RET", "SEC:RET"), ends):
        try:
            address = read_address(f"{engine}://me:{secret}@{rest}")
            text = address.label + repr(address)
            assert engine == "postgresql"
        except mc.OptionError as error:
            text = str(error)
        assert "SEC" not in text
        assert "RET" not in text


def test_a_database_of_milvus_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymilvus", reason="needs mascot-rerank[milvus]")
    from mascot.connect.engines import milvus

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(milvus, "_TIMEOUT_S", 0.2)
    for uri in ("milvus://127.0.0.1:1/db/photos", "milvus://127.0.0.1:1/x.db/photos"):
        with pytest.raises(mc.InputError, match="cannot use milvus://127"):
            open_sink(uri, fields={"path": str}, dim=3)
    for uri in ("milvus://127.0.0.1:1/a/b/photos", "milvus:///folder/photos", "milvus+lite://host/photos"):
        with pytest.raises(mc.OptionError, match=r"milvus://HOST:PORT/DATABASE/COLLECTION"):
            open_sink(uri, fields={"path": str}, dim=3)
    assert not list(tmp_path.iterdir())


def test_addresses_are_read() -> None:
    lance = read_address("lance:///data/my%20photos/db/table?vector=v&id=key&metric=ip")
    assert (str(lance.file), lance.table) == ("/data/my photos/db", "table")
    assert (lance.vector, lance.id, lance.metric) == ("v", "key", "ip")
    assert str(read_address("lance://here/db/table").file) == "here/db"
    assert str(read_address("lance:///folder/c%23d@e/table").file) == "/folder/c#d@e"
    with pytest.raises(mc.OptionError, match="as %23"):
        read_address("lance:///folder/c#d/table")
    cloud = read_address("lance+s3://bucket/a/b/table")
    assert (cloud.way, cloud.host, cloud.place, cloud.table) == ("s3", "bucket", "/a/b", "table")
    server = read_address("qdrant+https://host:6333/photos")
    assert (server.way, server.host, server.place, server.table) == ("https", "host:6333", "", "photos")
    database = read_address("postgresql://me:secret@host:5432/mine?sslmode=require&table=shop.photos&metric=l2")
    assert database.dsn == "postgresql://me:secret@host:5432/mine?sslmode=require"
    assert (database.table, database.metric) == ("shop.photos", "l2")
    assert "secret" not in database.label + repr(database)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("postgressql://me:secret@host/db?password=secret", "must begin with one of lance://, qdrant://"),
        ("qdrant://secret@host:6333/c", "takes no user or password.*QDRANT_API_KEY or MILVUS_TOKEN"),
        ("lance+s3://me:secret@bucket/t", "takes no user or password.*QDRANT_API_KEY or MILVUS_TOKEN"),
        ("lance://db/photos?colour=red", r"takes \?vector=, \?id= and \?metric=, got 'colour'"),
        ("qdrant://photos", "write qdrant://HOST:PORT/COLLECTION"),
        ("lance:///no/such/folder/photos", "there is no /no/such/folder"),
        ("qdrant://127.0.0.1:1/photos", "cannot use qdrant://127.0.0.1:1/photos"),
        ("postgresql://me:secret@127.0.0.1:1/mine", "cannot reach postgresql://127.0.0.1:1/mine"),
        ("postgresql://me:not%zzsecret@127.0.0.1:1/db", r'cannot reach postgresql://127.0.0.1:1/db: .* "\.\.\."'),
    ],
)
def test_addresses_that_lead_nowhere_are_refused(uri: str, message: str) -> None:
    for needed in ("qdrant_client", "pymilvus", "lancedb", "psycopg"):
        pytest.importorskip(needed)
    with pytest.raises(mc.MascotError, match=message) as caught:
        open_source(uri)
    assert "secret" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "qdrant_client"] + ["qdrant_client"]:
        monkeypatch.setitem(sys.modules, name, None)
    message = r"this engine needs the package qdrant_client\b.*pip install 'mascot-rerank\[qdrant\]'"
    with pytest.raises(mc.MissingExtra, match=message):
        open_source("qdrant://host/photos")
