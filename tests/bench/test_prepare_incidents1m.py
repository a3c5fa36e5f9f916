"""Incidents1M from annotations of the true form, with hosts that are looked up for real."""

from __future__ import annotations

import hashlib
import json
import math
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet
from preparing import jpeg, losses, prepare
from range_server import Server, local_web

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare.hosts import SERVICES, address, from_database, from_services, from_table
from mascot.bench.prepare.incidents1m import queries_of, read_annotations, scattered
from mascot.bench.prepare.outcomes import Journal, Loss, Tally
from mascot.errors import InputError, OptionError

INCIDENTS = ("flooded", "train_accident", "on_fire")
PLACES = ("beach", "building_outdoor")


def _record(url: Any, incidents: tuple[str, ...], places: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "url": url,
        "incidents": {name: int(name in incidents) for name in INCIDENTS},
        "places": {name: int(name in places) for name in PLACES},
    }


def _site(server: Server, count: int) -> dict[str, Any]:
    """Good entries: two hosts, two incidents, two places."""
    port = server.url.rpartition(":")[2]
    annotations = {}
    for i in range(count):
        server.put(f"/{i}.jpg", jpeg(i))
        url = f"http://{'localhost' if i % 3 == 0 else '127.0.0.1'}:{port}/{i}.jpg"
        places = ("beach",) if i % 4 else ("beach", "building_outdoor")
        annotations[f"flooded/{i:03d}.jpg"] = _record(url, ("flooded",) if i % 2 else ("flooded", "on_fire"), places)
    return annotations


def _write(path: Path, annotations: Any) -> str:
    path.write_text(json.dumps(annotations))
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text(
        "host,lat,lon\nlocalhost,-33.875,151.205\n127.0.0.1,48.855,2.345\nzero.example,0,0\nnorth.example,91,0\n"
        "text.example,x,y\nempty.example,,\n"
    )
    return str(path)


def test_the_whole_recipe(server: Server, tmp_path: Path, table: str) -> None:
    annotations = _site(server, 40)
    next(iter(annotations.values()))["incidents"]["train_accident"] = 1
    annotations |= {
        "none.jpg": _record(server.url + "/1.jpg", (), ("beach",)),
        "again.jpg": _record(server.url + "/2.jpg", ("flooded",)),
        "file.jpg": _record("file:///etc/passwd", ("flooded",)),
        "nothing.jpg": _record(None, ("flooded",)),
        "odd.jpg": ["flooded"],
        **{
            f"{name}.jpg": _record(f"http://{name}.example/a.jpg", ("flooded",))
            for name in ("unknown", "zero", "north", "text", "empty")
        },
        "dead.jpg": _record(server.url + "/dead.jpg", ("flooded",)),
        "page.jpg": _record(server.put("/page.jpg", b"<html>removed</html>"), ("flooded",)),
        "small.jpg": _record(server.put("/small.jpg", jpeg(0, (50, 31))), ("flooded",)),
    }
    out, source = tmp_path / "out", server.put("/multi_label_val.json", json.dumps(annotations).encode())
    prepare("incidents1m", out, annotations=source, hosts=table)
    stored = read_folder(out)
    assert (stored.name, stored.images, stored.validation) == ("incidents1m", 40, 8)
    assert stored.about["measure"] == "map"
    assert set(stored.columns) == {"id", "file", "lat", "lon", "host", "url"}
    assert sorted(stored.columns["id"]) == sorted(name for name in annotations if name.startswith("flooded/"))
    assert losses(out) == {
        "labels": {"no label": 1, "duplicate": 1, "bad address": 2, "wrong content": 1},
        "place of the host, and picture": {
            "no place": 4, "out of range": 1, "dead link": 1, "not a picture": 1, "too small": 1,
        },
        "queries": {"few positives": 1},
    }  # fmt: skip
    for id_, host, lat, lon in zip(*(stored.columns[name] for name in ("id", "host", "lat", "lon")), strict=True):
        number = int(id_[-7:-4])
        assert host == ("localhost" if number % 3 == 0 else "127.0.0.1")
        true = (-33.875, 151.205) if host == "localhost" else (48.855, 2.345)
        # As published, the first image at a place stays, and the 26th is moved by up to 0.025 degrees.
        assert max(abs(lat - true[0]), abs(lon - true[1])) <= 0.001 * number
    assert [query.text for query in stored.queries] == ["flooded", "on fire", "place:beach", "place:building outdoor"]
    for query in stored.queries:
        kind = "places" if query.text.startswith("place:") else "incidents"
        type_ = query.text.removeprefix("place:").replace(" ", "_")
        labels = [annotations[id_][kind][type_] for id_ in stored.columns["id"]]
        assert query.positives == tuple(np.flatnonzero(labels))
        early = sum(row < stored.validation for row in query.positives)
        assert min(early, len(query.positives) - early) >= 2
    lines = ["host,ip,lat,lon,source", "127.0.0.1,,48.855,2.345,table", "localhost,,-33.875,151.205,table"]
    assert (out / "hosts.csv").read_text().splitlines() == lines
    sources = stored.about["sources"]
    assert sources["annotations"]["sha256"] == hashlib.sha256(server.files["/multi_label_val.json"]).hexdigest()
    assert sources["hosts"]["sha256"] == hashlib.sha256((out / "hosts.csv").read_bytes()).hexdigest()


def test_places_from_a_database_and_again_from_its_table(server: Server, tmp_path: Path) -> None:
    writer = MMDBWriter(4, "GeoLite2-City", float_type="f64")
    writer.insert_network(IPSet(["127.0.0.1/32"]), {"location": {"latitude": 35.685, "longitude": 139.765}})
    writer.insert_network(IPSet(["127.0.0.3/32"]), {"location": {"latitude": 0.0, "longitude": 0.0}})
    writer.insert_network(IPSet(["127.0.0.5/32"]), {"country": {"iso_code": "FR"}})
    writer.to_db_file(str(tmp_path / "city.mmdb"))
    annotations = _site(server, 24)
    for host in ("127.0.0.3", "127.0.0.4", "127.0.0.5", "bad..name"):  # at 0, 0; not listed; no city; no address
        annotations[host] = _record(f"http://{host}/a.jpg", ("flooded",))
    path, first, again = _write(tmp_path / "a.json", annotations), tmp_path / "first", tmp_path / "again"
    options = {"behaviour": "correct", "annotations": path}
    prepare("incidents1m", first, database=str(tmp_path / "city.mmdb"), **options)
    stored = read_folder(first)
    assert losses(first)["place of the host, and picture"] == {"no place": 3, "dead link": 1}
    assert stored.columns["lat"] == pytest.approx(np.full(24, 35.685), abs=0.03)
    assert [query.text for query in stored.queries][2:] == ["beach"]
    assert stored.about["settings"]["noise"] == "capped"
    assert "127.0.0.1,127.0.0.1,35.685,139.765,database" in (first / "hosts.csv").read_text()
    prepare("incidents1m", again, hosts=str(first / "hosts.csv"), **options)
    for file in ("images.parquet", "queries.parquet", "hosts.csv", "images.sha256"):
        assert (again / file).read_bytes() == (first / file).read_bytes()


def test_annotations_and_tables_of_hosts_are_checked(tmp_path: Path) -> None:
    form = r"a form and an e-mail .*incidentsdataset\.csail\.mit\.edu.*--source annotations=FILE"
    with pytest.raises(InputError, match=form):
        prepare("incidents1m", tmp_path / "out")
    for name, text in (("list.json", "[1]"), ("torn.json", '{"a": {'), ("text.json", "\0")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match="must be a JSON"):
            prepare("incidents1m", tmp_path / name[:-5], annotations=str(tmp_path / name))
    (tmp_path / "wrong").write_text("host,lat\na,1\n")
    for call in (from_database, from_table):
        with pytest.raises(InputError, match=r"must be a database|must have the columns host, lat, lon"):
            call(tmp_path / "wrong")
        with pytest.raises(InputError, match="must be a"):
            call(tmp_path / "none")
    with pytest.raises(OptionError, match="services must be of geolocation-db, ip-api, got 'ip-api,google'"):
        prepare("incidents1m", tmp_path / "services", annotations="x", services="ip-api,google")


def reason(call: Any, *arguments: Any) -> str:
    with pytest.raises(Loss) as caught:
        call(*arguments)
    return caught.value.reason


def test_a_name_becomes_its_lowest_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address("127.0.0.2") == "127.0.0.2"
    assert address("localhost") in ("127.0.0.1", "::1")
    assert reason(address, "bad..name") == reason(address, "x" * 70 + ".com") == "dead link"
    assert reason(address, "nothing.invalid") in ("dead link", "no answer")  # the second without a name server
    entries = [(2, 1, 6, "", (ip, 0)) for ip in ("203.0.113.9", "2001:db8::1", "203.0.113.7")]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: entries)
    assert address("several.example") == "203.0.113.7"


def test_services_are_asked_in_the_order_of_their_names(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SERVICES, "geolocation-db", server.url + "/db/{ip}")
    monkeypatch.setitem(SERVICES, "ip-api", server.url + "/api/{ip}")
    answers: dict[str, Any] = {
        "/db/127.0.0.1": {"latitude": 48.85, "longitude": 2.35},
        "/api/127.0.0.1": {"status": "success", "lat": 1.0, "lon": 2.0},
        "/db/127.0.0.2": {"latitude": "Not found", "longitude": "Not found"},
        "/api/127.0.0.2": {"status": "success", "lat": 3.0, "lon": 4.0},
        "/db/127.0.0.3": {"latitude": 0.0, "longitude": 0.0},
        "/api/127.0.0.3": {"status": "fail"},
        "/api/127.0.0.4": {"status": "fail"},
    }
    for path, values in answers.items():
        server.put(path, json.dumps(values).encode())
    server.put("/db/127.0.0.4", b"", always=503)
    web = local_web(retries=0, pause=0)
    published = from_services(web, "geolocation-db,ip-api")
    assert published("127.0.0.1") == {"ip": "127.0.0.1", "lat": 48.85, "lon": 2.35, "source": "geolocation-db"}
    assert published("127.0.0.2")["source"] == "ip-api"
    assert reason(published, "127.0.0.3") == "no place"
    assert [request.path for request in server.requests][:3] == ["/db/127.0.0.1", "/db/127.0.0.2", "/api/127.0.0.2"]
    assert from_services(web, "ip-api, geolocation-db")("127.0.0.1")["lat"] == 1.0
    assert reason(published, "127.0.0.4") == "no answer"  # which is not a host without a place


def test_hosts_are_located_once_by_all_threads(tmp_path: Path) -> None:
    calls: list[str] = []
    with Journal(tmp_path / "hosts.jsonl") as journal, ThreadPool(8) as pool:
        pool.map(lambda host: journal.settle(host, lambda: calls.append(host)), "aaaaaaaa")
    assert calls == ["a"]


def test_entries_keep_the_order_of_the_file(tmp_path: Path) -> None:
    urls = {name: f"HTTPS://User@{name}.Example:8443/x" for name in "zxy"}
    annotations = {name: _record(url, ("on_fire", "flooded"), ("beach",)) for name, url in urls.items()}
    rows = read_annotations(Path(_write(tmp_path / "a.json", annotations)), Tally("labels"))
    assert [row["host"] for row in rows] == ["z.example", "x.example", "y.example"]
    assert rows[0]["incidents"] == ("flooded", "on_fire")


def test_a_type_that_is_both_is_one_query() -> None:
    rows: list[dict[str, Any]] = [
        {"incidents": ("dust_storm", "fire"), "places": ("beach",)},
        {"incidents": ("fire",), "places": ("dust storm",)},
        {"incidents": ("fire",), "places": ("airport",)},
    ]
    queries = queries_of(rows)
    assert queries == {"dust storm": {0, 1}, "fire": {0, 1, 2}, "airport": {2}, "beach": {0}}
    assert list(queries) == ["dust storm", "fire", "airport", "beach"]


def _moves(count: int, noise: str, place: tuple[float, float] = (10.001, 20.004), seed: int = 0) -> Any:
    places = np.tile(place, (count, 1))
    return scattered([f"image {i}" for i in range(count)], places, seed, noise) - places


def test_published_noise_grows_with_the_earlier_images_and_is_not_capped() -> None:
    moves = np.abs(_moves(400, "count"))
    assert (moves.max(axis=1) <= 0.001 * np.arange(400)).all()
    assert moves[0].max() == 0
    assert moves[1:].min() > 0
    assert moves.max() > 0.3
    assert (moves / (0.001 * np.maximum(np.arange(400), 1))[:, None]).mean() == pytest.approx(0.5, abs=0.05)
    near = np.array([[10.00001, 20.0], [10.00002, 20.0], [10.0003, 20.0]])  # compared to four decimals
    moved = scattered(["a", "b", "c"], near, 0, "count") - near
    assert np.abs(moved).max(axis=1).astype(bool).tolist() == [False, True, False]
    edge = _moves(400, "count", (90.0, -180.0))
    assert (edge[:, 0].max(), edge[:, 1].min()) == (0, 0)


@pytest.mark.parametrize(("count", "half"), [(2, 0.001 * math.sqrt(2)), (100, 0.01), (400, 0.02)])
def test_capped_noise_is_alike_for_all_images_of_a_place(count: int, half: float) -> None:
    moves = np.abs(_moves(count, "capped"))
    assert 0 < moves.min() <= moves.max() <= half
    if count > 50:
        assert moves.mean() == pytest.approx(half / 2, rel=0.1)
    assert not np.isin(_moves(count, "capped", seed=4), _moves(count, "capped", seed=3)).any()


def test_an_image_that_is_alone_stays() -> None:
    places = np.array([[10.0, 20.0], [10.02, 20.0]])
    for noise in ("count", "capped", "none"):
        np.testing.assert_array_equal(scattered(["a", "b"], places, 0, noise), places)
    assert not _moves(400, "none").any()
