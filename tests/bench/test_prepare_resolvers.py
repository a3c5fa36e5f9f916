"""Hosts and where they are: real lookups, a real database, a real server that speaks as the public ones do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from mascot.bench.prepare.host_places import Places
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.resolvers import Database, Location, Online, Table, addresses, read_hosts, write_hosts
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, OptionError


def _database(path: Path, places: dict[str, Any]) -> Path:
    writer = MMDBWriter(4, "GeoLite2-City", languages=["en"], float_type="f64")
    for network, record in places.items():
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(path))
    return path


def _city(lat: float, lon: float) -> dict[str, Any]:
    return {"location": {"latitude": lat, "longitude": lon, "accuracy_radius": 50}}


class Api:
    """What the services know, how they misbehave, and what they were asked."""

    def __init__(self) -> None:
        self.url = ""
        self.batch: dict[str, tuple[float, float]] = {}
        self.single: dict[str, Any] = {}
        self.statuses: list[int] = []
        self.headers: list[dict[str, str]] = []  # of one answer each
        self.asked: list[tuple[float, list[str]]] = []  # when, which addresses
        self.singly: list[str] = []
        self.garbage = 0  # so many answers that are no JSON


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def do_POST(self) -> None:
        api: Api = self.server.api
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        api.asked.append((time.monotonic(), asked))
        if len(asked) > 100:
            self._say(422, {}, {})
        elif api.statuses and (status := api.statuses.pop(0)) != 200:
            self._say(status, {}, api.headers.pop(0) if api.headers else {})
        elif api.garbage:
            api.garbage -= 1
            self._say(200, None, {})
        else:
            known = [
                {"status": "success", "query": ip, "lat": api.batch[ip][0], "lon": api.batch[ip][1]}
                if ip in api.batch
                else {"status": "fail", "message": "private range", "query": ip}
                for ip in asked
            ]
            self._say(200, known, api.headers.pop(0) if api.headers else {"X-Rl": "14", "X-Ttl": "60"})

    def do_GET(self) -> None:
        api: Api = self.server.api
        ip = self.path.rpartition("/")[2]
        api.singly.append(ip)
        if isinstance(api.single.get(ip), int):
            self._say(api.single[ip], {}, {})
        else:
            self._say(200, api.single.get(ip, {"latitude": "Not found", "longitude": "Not found"}), {})

    def _say(self, status: int, body: Any, headers: dict[str, str]) -> None:
        data = b"<html>" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Quietly."""


@contextmanager
def _serving() -> Iterator[Api]:
    api = Api()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.api = api  # type: ignore[attr-defined]
    api.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def api() -> Iterator[Api]:
    with _serving() as state:
        yield state


def _online(api: Api, **options: Any) -> Online:
    web = Web(timeout=5, retries=1, pause=0.01)
    return Online(web, f"{api.url}/batch", f"{api.url}/json/", **{"pause": 0.01, **options})


def test_names_become_addresses() -> None:
    found = addresses(["localhost", "127.0.0.2", "bad..name", "x" * 70 + ".com", "nothing.invalid"])
    assert found["localhost"].ip in ("127.0.0.1", "::1")
    assert found["127.0.0.2"] == Location(ip="127.0.0.2", source="dns")
    assert found["bad..name"].lost == found["x" * 70 + ".com"].lost == "dead link"
    assert found["nothing.invalid"].lost in ("dead link", "no answer")  # the second where there is no name server
    assert addresses([]) == {}


def test_a_database_of_cities(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "city.mmdb",
        {
            "127.0.0.2/32": _city(52.5, 13.4),
            "127.0.0.3/32": _city(0.0, 0.0),
            "127.0.0.4/32": _city(95.0, 13.4),
            "127.0.0.5/32": {"country": {"iso_code": "DE"}},
            "127.0.0.6/32": {"location": {"latitude": -33.9, "longitude": 151.2}},
            "127.0.0.8/32": {"location": {"latitude": 1.0}},
        },
    )
    hosts = [f"127.0.0.{i}" for i in range(2, 9)]
    found = Database(path).locate([*hosts, "bad..name"])
    assert found["127.0.0.2"] == Location(52.5, 13.4, "127.0.0.2", "database")
    assert found["127.0.0.6"] == Location(-33.9, 151.2, "127.0.0.6", "database")
    assert [found[host].lost for host in hosts] == [
        None, "no place", "out of range", "no place", None, "no place", "no place"
    ]  # fmt: skip
    assert found["bad..name"].lost == "dead link"
    assert Database(path).locate(["::1"])["::1"].lost == "no place"  # the database has IPv4 alone


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.mmdb").write_bytes(b"<html>sorry</html>")
    for name in ("a.mmdb", "absent.mmdb"):
        with pytest.raises(InputError, match=r"must be a database in MaxMind's format"):
            Database(tmp_path / name).locate(["127.0.0.1"])


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("lat,host,lon\n48.5,a.example,2.25\n,b.example,\n0,c.example,0\n99,d.example,0\n")
    found = Table(path).locate(["a.example", "b.example", "c.example", "d.example", "e.example"])
    assert found["a.example"] == Location(48.5, 2.25, source="table")
    assert [found[f"{name}.example"].lost for name in "bcde"] == ["no place", "no place", "out of range", "no place"]


def test_what_was_found_is_a_table(tmp_path: Path) -> None:
    found = {
        "b.example": Location(1 / 3, -179.99999999, "10.0.0.1", "ip-api.com"),
        "a.example": Location(ip="10.0.0.2", source="database", lost="no place"),
        'odd,"name': Location(5.0, 6.0, "::1", "table"),
    }
    path = tmp_path / "hosts.csv"
    write_hosts(path, found)
    assert path.read_text().splitlines()[:2] == ["host,ip,lat,lon,source", "a.example,10.0.0.2,,,database"]
    assert read_hosts(path) == found
    again = tmp_path / "again.csv"
    write_hosts(again, Table(path).locate(list(reversed(found))))
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("host,latitude,longitude\na,1,2\n", "needs the columns host, lat and lon"),
        ("", "needs the columns host, lat and lon"),
        ("host,lat,lon\na.example,north,2\n", r"line 2: lat and lon must be numbers, got 'north', '2'"),
        ("host,lat,lon\na.example,1,\n", "line 2: lat and lon must be numbers"),
        ("host,lat,lon\n,1,2\n", "line 2: must have a host"),
        ("host,lat,lon\na.example,\xff,2\n", "must be a table of hosts"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "hosts.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=words):
        Table(path).locate(["a.example"])
    with pytest.raises(InputError, match="must be a table of hosts"):
        Table(tmp_path / "absent.csv").locate(["a.example"])


def test_services_are_asked_in_batches_of_addresses(api: Api) -> None:
    hosts = [f"127.0.{i}.{j}" for i in range(3) for j in range(1, 81)]
    api.batch = {host: (10.0 + i / 10, 20.0) for i, host in enumerate(hosts)}
    found = _online(api).locate([*hosts, "bad..name"])
    assert [len(asked) for _, asked in api.asked] == [100, 100, 40]
    assert found[hosts[77]] == Location(17.7, 20.0, hosts[77], "ip-api.com")
    assert all(found[host].lat == api.batch[host][0] for host in hosts)
    assert found["bad..name"].lost == "dead link"
    assert api.singly == []


def test_one_address_is_asked_for_once(api: Api) -> None:
    api.batch = {"127.0.0.1": (1.0, 2.0)}
    ip = addresses(["localhost"])["localhost"].ip
    api.batch[ip] = (1.0, 2.0)
    found = _online(api).locate(["localhost", "127.0.0.1", "127.1"])
    assert {(location.lat, location.lon) for location in found.values()} == {(1.0, 2.0)}
    assert sorted(api.asked[0][1]) == sorted({"127.0.0.1", ip})


def test_the_second_service_is_asked_for_the_rest(api: Api) -> None:
    api.batch = {"127.0.0.1": (1.0, 2.0), "127.0.0.2": (0.0, 0.0)}
    api.single = {"127.0.0.2": {"latitude": 3.5, "longitude": 4.5}, "127.0.0.4": 404}
    found = _online(api).locate([f"127.0.0.{i}" for i in range(1, 5)])
    assert api.singly == ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    assert found["127.0.0.2"] == Location(3.5, 4.5, "127.0.0.2", "geolocation-db.com")
    assert [found[f"127.0.0.{i}"].lost for i in range(1, 5)] == [None, None, "no place", "no place"]
    alone = Online(Web(), f"{api.url}/batch", "").locate(["127.0.0.2"])
    assert alone["127.0.0.2"].lost == "no place"


def test_a_second_service_that_is_silent_is_not_asked_for_ever(api: Api) -> None:
    hosts = [f"127.0.0.{i}" for i in range(1, 30)]
    api.single = dict.fromkeys(hosts, 503)
    found = _online(api).locate(hosts)
    assert {location.lost for location in found.values()} == {"no answer"}
    assert len(set(api.singly)) == 3


def test_the_limits_of_the_service_are_honoured(api: Api) -> None:
    hosts = [f"127.0.{i}.{j}" for i in range(2) for j in range(1, 81)]
    api.batch = dict.fromkeys(hosts, (1.0, 2.0))
    api.headers = [{"X-Rl": "0", "X-Ttl": "1"}]
    _online(api).locate(hosts)
    assert api.asked[1][0] - api.asked[0][0] >= 0.95
    api.asked.clear()
    api.statuses, api.headers = [429], [{"X-Rl": "0", "X-Ttl": "1"}]
    found = _online(api).locate(hosts[:5])
    assert {location.lost for location in found.values()} == {None}
    assert len(api.asked) == 2
    assert api.asked[1][0] - api.asked[0][0] >= 0.95


def test_trouble_passes_or_is_no_answer(api: Api) -> None:
    api.batch = {"127.0.0.1": (1.0, 2.0)}
    api.statuses, api.garbage = [500, 502, 200], 1
    assert _online(api).locate(["127.0.0.1"])["127.0.0.1"].lat == 1.0
    api.statuses = [503] * 3
    assert _online(api, tries=3).locate(["127.0.0.1"])["127.0.0.1"].lost == "no answer"
    gone = Online(Web(timeout=1, retries=0), "http://127.0.0.1:9/batch", "", tries=2, pause=0.01)
    assert gone.locate(["127.0.0.1"])["127.0.0.1"].lost == "no answer"
    api.statuses = [403]
    with pytest.raises(InputError, match=r"got status 403; give a file instead, with --source database=FILE.mmdb"):
        _online(api).locate(["127.0.0.1"])
    with pytest.raises(OptionError, match=r"Online.tries must be >= 1, got 0"):
        _online(api, tries=0)


class _Counting:
    """A resolver that notes what it is asked; hosts that begin with "dark" never answer."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def locate(self, hosts: Sequence[str]) -> dict[str, Location]:
        self.asked.append(list(hosts))
        return {
            host: Location(lost="no answer") if host.startswith("dark")
            else Location(lost="no place") if host.startswith("no")
            else Location(1.0, 2.0, "127.0.0.1", "test")
            for host in hosts
        }  # fmt: skip


def _places(path: Path) -> tuple[Places, _Counting]:
    resolver = _Counting()
    return Places(resolver, Journal(path), lambda done, total: None), resolver


def test_hosts_are_located_once_and_in_chunks(tmp_path: Path) -> None:
    hosts = [f"h{i % 250}" for i in range(600)]
    places, resolver = _places(tmp_path / "hosts.jsonl")
    assert places.reach(hosts, None) == 600
    assert [len(asked) for asked in resolver.asked] == [100, 100, 50]
    assert [host for asked in resolver.asked for host in asked] == [f"h{i}" for i in range(250)]
    again, second = _places(tmp_path / "hosts.jsonl")
    assert again.reach([*hosts, "new"], None) == 601
    assert second.asked == [["new"]]
    assert again.of(["h7"]) == {"h7": Location(1.0, 2.0, "127.0.0.1", "test")}


def test_no_more_hosts_are_located_than_needed(tmp_path: Path) -> None:
    hosts = [f"{'no' if i % 2 else 'h'}{i}" for i in range(600)]
    places, resolver = _places(tmp_path / "hosts.jsonl")
    assert places.reach(hosts, 10) == 19
    assert len(resolver.asked) == 1
    assert places.reach(hosts, 60) == 119
    assert len(resolver.asked) == 2
    assert places.reach(hosts, 1000) == 600


def test_what_had_no_answer_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    hosts = [*(f"dark{i}" for i in range(12)), "h1", "no1"]
    places, _ = _places(tmp_path / "hosts.jsonl")
    assert places.reach(hosts, None) == 14
    again, second = _places(tmp_path / "hosts.jsonl")
    assert again.reach(hosts, None) == 14
    assert second.asked == [[f"dark{i}" for i in range(12)]]


def test_a_network_that_is_down_is_not_taken_for_dead_hosts(tmp_path: Path) -> None:
    places, _ = _places(tmp_path / "hosts.jsonl")
    with pytest.raises(InputError, match=r"none of 30 hosts could be located, such as dark0.*is the network up"):
        places.reach([f"dark{i}" for i in range(30)], None)
    assert _places(tmp_path / "hosts.jsonl")[0].known == {}
