"""Pin, reject, save and download over HTTP, on the real server."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import httpx

from tests.server.serving import hosted, message, result_ids


def _ids(client: httpx.Client, **query: Any) -> list[int]:
    return result_ids(client.post("/api/search", json=query))


def test_pinned_photographs_come_first_and_are_marked(client: httpx.Client) -> None:
    ids = _ids(client, text="boats", k=12)
    pin = [ids[9], ids[3]]
    body = {"text": "boats", "k": 8, "pin": pin, "wishes": [{"limit": "day", "n": 1, "fill": True}]}
    results = client.post("/api/search", json=body).json()["results"]
    assert [result["photo"]["id"] for result in results][:2] == pin
    assert [result["pinned"] for result in results] == [True, True] + [False] * 6


def test_choices_are_saved_and_deleted(own: Path) -> None:
    with hosted(own, "secret") as server, server.client() as client:
        assert client.get("/api/choices").json() == {"choices": []}
        name = "Lisbon / best of 2019 ✓"
        body = {"photos": [3, 1, 2], "rejected": [4], "query": {"text": "boats", "k": 20}}
        path = f"/api/choices/{httpx.URL(path=name).raw_path.decode().lstrip('/')}"
        assert client.put(path, json=body).json() == {"name": name, **body, "missing": 0}
        client.put("/api/choices/another", json={"photos": [5]})
        assert client.put("/api/choices/another", json={"photos": [6]}).status_code == 200
        assert [c["photos"] for c in client.get("/api/choices").json()["choices"]] == [[3, 1, 2], [6]]
        assert client.delete("/api/choices/another").json() == {"deleted": "another"}
        assert "no choice is called 'another'" in message(client.delete("/api/choices/another"), 404)
        assert "no photograph 999" in message(client.put("/api/choices/x", json={"photos": [999]}), 400)
        message(client.delete(path, headers={"origin": "https://evil.example"}), 403)
        assert httpx.put(f"{server.address}/api/choices/x", json={"photos": [1]}, trust_env=False).status_code == 401


def test_an_archive_holds_the_originals(client: httpx.Client, photographs: Path) -> None:
    ids = _ids(client, k=40)
    before = {file: file.stat().st_mtime_ns for file in photographs.rglob("*") if ".mascot" not in file.parts}
    answer = client.post("/api/export", json={"photos": ids, "format": "zip", "title": 'Été "2019"/..'})
    assert answer.headers["content-type"] == "application/zip"
    assert "filename*=UTF-8''%C3%89t%C3%A9%20_2019__.zip" in answer.headers["content-disposition"]
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    originals = sorted(file.read_bytes() for file in before if file.is_file())
    assert sorted(archive.read(name) for name in archive.namelist()) == originals
    assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_files_that_are_gone_or_too_large_are_reported(own: Path, own_client: httpx.Client) -> None:
    ids = _ids(own_client, k=3)
    large, gone = (own / own_client.get(f"/api/photos/{id_}").json()["path"] for id_ in ids[:2])
    os.truncate(large, 5 << 30)
    gone.unlink()

    def export(photos: list[int]) -> httpx.Response:
        return own_client.post("/api/export", json={"photos": photos})

    assert "5.4 GB" in message(export(ids), 413)
    names = zipfile.ZipFile(io.BytesIO(export(ids[1:]).content)).namelist()
    assert len(names) == 2
    assert names[-1] == "missing photographs.txt"
    assert "is gone" in message(export(ids[1:2]), 400)
    assert "no photograph 999" in message(export([999]), 400)
