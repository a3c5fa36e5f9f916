"""Hosts and where they are: real lookups, a real database, and a server that answers as the public services do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet
from range_server import Manners, Server, local_web, serving

from mascot.bench.prepare.hosts import SERVICES, address, from_database, from_services, from_table, write_table
from mascot.bench.prepare.outcomes import Journal, Loss, value_of
from mascot.errors import InputError


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


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


def test_a_database_of_cities(tmp_path: Path) -> None:
    writer = MMDBWriter(4, "GeoLite2-City", languages=["en"], float_type="f64")
    for network, record in {
        "127.0.0.1/32": {"location": {"latitude": 48.85, "longitude": 2.35}},
        "127.0.0.2/32": {"location": {"latitude": 0.0, "longitude": 0.0}},
        "127.0.0.3/32": {"country": {"iso_code": "FR"}},
    }.items():
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(tmp_path / "city.mmdb"))
    locate = from_database(tmp_path / "city.mmdb")
    assert locate("127.0.0.1") == {"ip": "127.0.0.1", "lat": 48.85, "lon": 2.35, "source": "database"}
    assert {reason(locate, f"127.0.0.{i}") for i in (2, 3, 4)} == {"no place"}
    assert reason(locate, "bad..name") == "dead link"


def test_what_is_not_a_database_or_a_table(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("host,lat\na,1\n")
    for call in (from_database, from_table):
        with pytest.raises(InputError, match=r"must be a database|must have the columns host, lat, lon"):
            call(tmp_path / "a")
        with pytest.raises(InputError, match="must be a"):
            call(tmp_path / "none")


def test_a_table(tmp_path: Path) -> None:
    rows = "host,lat,lon,ip\na.example,48.85,2.35,1.2.3.4\nb.example,,\nc.example,91,0\nd.example,0,0\ne.example,x,y\n"
    (tmp_path / "hosts.csv").write_text(rows)
    locate = from_table(tmp_path / "hosts.csv")
    assert locate("a.example") == {"ip": "1.2.3.4", "lat": 48.85, "lon": 2.35, "source": "table"}
    reasons = [reason(locate, f"{letter}.example") for letter in "bcdef"]
    assert reasons == ["no place", "out of range", "no place", "no place", "no place"]


@pytest.fixture
def services(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SERVICES, "geolocation-db", server.url + "/db/{ip}")
    monkeypatch.setitem(SERVICES, "ip-api", server.url + "/api/{ip}")


def answer(server: Server, path: str, **values: Any) -> None:
    server.put(path, json.dumps(values).encode())


@pytest.mark.usefixtures("services")
def test_services_are_asked_in_the_order_that_is_given(server: Server) -> None:
    answer(server, "/db/127.0.0.1", latitude=48.85, longitude=2.35)
    answer(server, "/api/127.0.0.1", status="success", lat=1.0, lon=2.0)
    answer(server, "/db/127.0.0.2", latitude="Not found", longitude="Not found")
    answer(server, "/api/127.0.0.2", status="success", lat=3.0, lon=4.0)
    answer(server, "/db/127.0.0.3", latitude=0.0, longitude=0.0)
    answer(server, "/api/127.0.0.3", status="fail")
    web = local_web(retries=0, pause=0)
    published = from_services(web, "geolocation-db,ip-api")
    assert published("127.0.0.1") == {"ip": "127.0.0.1", "lat": 48.85, "lon": 2.35, "source": "geolocation-db"}
    assert published("127.0.0.2")["source"] == "ip-api"
    assert reason(published, "127.0.0.3") == "no place"
    assert [request.path for request in server.requests][:3] == ["/db/127.0.0.1", "/db/127.0.0.2", "/api/127.0.0.2"]
    assert from_services(web, "ip-api, geolocation-db")("127.0.0.1")["lat"] == 1.0


@pytest.mark.usefixtures("services")
def test_a_service_without_an_answer_is_not_a_host_without_a_place(server: Server) -> None:
    server.manners["/db/127.0.0.1"] = Manners(always=503)
    answer(server, "/api/127.0.0.1", status="fail")
    locate = from_services(local_web(retries=0, pause=0), "geolocation-db,ip-api")
    assert reason(locate, "127.0.0.1") == "no answer"


def test_hosts_are_located_once_whatever_thread_asks(tmp_path: Path) -> None:
    calls: list[str] = []

    def locate(host: str) -> dict[str, Any]:
        calls.append(host)
        if host == "b":
            raise Loss("no place")
        if host == "c" and len(calls) < 4:
            raise Loss("no answer")
        return {"ip": "", "lat": 1.5, "lon": 2.5, "source": "test"}

    def place_of(host: str) -> Any:
        return value_of(journal.settle(host, lambda: locate(host)))

    with Journal(tmp_path / "hosts.jsonl") as journal:
        threads = [threading.Thread(target=place_of, args="a") for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (reason(place_of, "b"), reason(place_of, "c")) == ("no place", "no answer")
    assert calls == ["a", "b", "c"]
    with Journal(tmp_path / "hosts.jsonl") as journal:
        assert place_of("a")["lat"] == 1.5
        assert place_of("c")["lat"] == 1.5  # what had no answer is tried again by the next run
    assert calls == ["a", "b", "c", "c"]
    write_table(tmp_path / "hosts.csv", {"b": locate("c"), "a": locate("a")})
    assert (tmp_path / "hosts.csv").read_text() == "host,ip,lat,lon,source\na,,1.5,2.5,test\nb,,1.5,2.5,test\n"
    assert from_table(tmp_path / "hosts.csv")("a")["lon"] == 2.5
