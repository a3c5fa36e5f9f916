"""Incidents1M from annotations of the true form, with hosts that are looked up for real."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import killing
import numpy as np
import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet
from PIL import Image
from range_server import Server, local_web, serving

from mascot.bench.datasets.folder import read_folder, splits
from mascot.bench.prepare.incidents1m import queries_of, read_annotations, scattered
from mascot.bench.prepare.outcomes import Tally
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, OptionError

INCIDENTS = ("flooded", "train_accident", "on_fire")
PLACES = ("beach", "building_outdoor")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


def _web() -> Web:
    return local_web(timeout=5, retries=1, pause=0.01, per_host=8)


def _jpeg(number: int, height: int = 40) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 255, (height, 50, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def _record(url: Any, incidents: tuple[str, ...], places: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "url": url,
        "incidents": {name: int(name in incidents) for name in INCIDENTS},
        "places": {name: int(name in places) for name in PLACES},
    }


def _site(server: Server, count: int, **manners: Any) -> dict[str, Any]:
    """Good entries: two hosts, three incidents, two places."""
    port = server.url.rpartition(":")[2]
    annotations = {}
    for i in range(count):
        server.put(f"/{i}.jpg", _jpeg(i), **manners)
        url = f"http://{'localhost' if i % 3 == 0 else '127.0.0.1'}:{port}/{i}.jpg"
        incidents = ("flooded",) if i % 2 else ("flooded", "on_fire")
        annotations[f"flooded/{i:03d}.jpg"] = _record(
            url, incidents, ("beach",) if i % 4 else ("beach", "building_outdoor")
        )
    return annotations


def _write(path: Path, annotations: Any) -> str:
    path.write_text(json.dumps(annotations))
    return str(path)


def _table(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text("host,lat,lon\nlocalhost,-33.875,151.205\n127.0.0.1,48.855,2.345\nnowhere.example,0,0\n")
    return str(path)


def _steps(out: Path) -> dict[str, dict[str, int]]:
    return {step["step"]: step["lost"] for step in json.loads((out / "dataset.json").read_text())["steps"]}


def test_the_whole_of_it(server: Server, tmp_path: Path) -> None:
    annotations = _site(server, 40)
    server.put("/page.jpg", b"<html>removed</html>")
    annotations |= {
        "none.jpg": _record(server.url + "/1.jpg", (), ("beach",)),
        "again.jpg": _record(server.url + "/2.jpg", ("flooded",)),
        "file.jpg": _record("file:///etc/passwd", ("flooded",)),
        "nothing.jpg": _record(None, ("flooded",)),
        "odd.jpg": ["flooded"],
        "unknown.jpg": _record("http://unknown.example/a.jpg", ("flooded",)),
        "zero.jpg": _record("http://nowhere.example/a.jpg", ("flooded",)),
        "dead.jpg": _record(server.url + "/dead.jpg", ("flooded",)),
        "page.jpg": _record(server.url + "/page.jpg", ("train_accident",)),
        "small.jpg": _record(server.put("/small.jpg", _jpeg(0, 31)), ("flooded",)),
    }
    path = _write(tmp_path / "multi_label_val.json", annotations)
    out = tmp_path / "out"
    steps: set[str] = set()
    report = lambda step, *_: steps.add(step)  # noqa: E731
    prepare("incidents1m", out, web=_web(), annotations=path, hosts=_table(tmp_path), report=report)
    stored = read_folder(out)
    assert (stored.name, stored.images, stored.validation) == ("incidents1m", 40, 8)
    assert stored.about["measure"] == "map"
    assert set(stored.columns) == {"id", "file", "lat", "lon", "host", "url"}
    assert sorted(stored.columns["id"]) == sorted(name for name in annotations if name.startswith("flooded/"))
    assert _steps(out) == {
        "labels": {"no label": 1, "duplicate": 1, "bad address": 2, "wrong content": 1},
        "place of the host, and picture": {"no place": 2, "dead link": 1, "not a picture": 1, "too small": 1},
        "queries": {},
    }
    assert steps == {"pictures"}
    for id_, file, host, lat, lon in zip(
        *(stored.columns[name] for name in ("id", "file", "host", "lat", "lon")), strict=True
    ):
        number = int(id_[-7:-4])
        assert (out / file).read_bytes() == _jpeg(number)
        assert host == ("localhost" if number % 3 == 0 else "127.0.0.1")
        true = (-33.875, 151.205) if host == "localhost" else (48.855, 2.345)
        # As published, the first image at a place stays, and the 26th is moved by up to 0.025 degrees.
        assert max(abs(lat - true[0]), abs(lon - true[1])) <= 0.001 * number
    assert [query.text for query in stored.queries] == ["flooded", "on fire", "place:beach", "place:building outdoor"]
    for query in stored.queries:
        type_ = query.text.removeprefix("place:").replace(" ", "_")
        labels = {id_: {**annotations[id_]["incidents"], **annotations[id_]["places"]} for id_ in stored.columns["id"]}
        assert query.positives == tuple(i for i, id_ in enumerate(stored.columns["id"]) if labels[id_][type_])
    assert all(len(queries) == 4 for _, queries in splits(stored).values())
    assert (out / "hosts.csv").read_text().splitlines() == [
        "host,ip,lat,lon,source",
        "127.0.0.1,,48.855,2.345,table",
        "localhost,,-33.875,151.205,table",
    ]


def test_places_from_a_database_and_again_from_what_was_found(server: Server, tmp_path: Path) -> None:
    writer = MMDBWriter(4, "GeoLite2-City", float_type="f64")
    writer.insert_network(IPSet(["127.0.0.1/32"]), {"location": {"latitude": 35.685, "longitude": 139.765}})
    writer.insert_network(IPSet(["127.0.0.3/32"]), {"location": {"latitude": 0.0, "longitude": 0.0}})
    writer.to_db_file(str(tmp_path / "city.mmdb"))
    annotations = _site(server, 24)
    annotations["zero"] = _record("http://127.0.0.3/a.jpg", ("flooded",))
    annotations["unlisted"] = _record("http://127.0.0.4/a.jpg", ("flooded",))
    annotations["dead"] = _record("http://bad..name/a.jpg", ("flooded",))
    path = _write(tmp_path / "a.json", annotations)
    first = tmp_path / "first"
    prepare("incidents1m", first, web=_web(), annotations=path, database=str(tmp_path / "city.mmdb"))
    stored = read_folder(first)
    assert stored.images == 24
    assert _steps(first)["place of the host, and picture"] == {"no place": 2, "dead link": 1}
    assert stored.columns["lat"] == pytest.approx(np.full(24, 35.685), abs=0.03)
    assert "127.0.0.1,127.0.0.1,35.685,139.765,database" in (first / "hosts.csv").read_text()
    again = tmp_path / "again"
    prepare("incidents1m", again, web=_web(), annotations=path, hosts=str(first / "hosts.csv"))
    for file in ("images.parquet", "queries.parquet", "hosts.csv", "images.sha256"):
        assert (again / file).read_bytes() == (first / file).read_bytes()


def test_queries_need_two_positives_in_each_split(server: Server, tmp_path: Path) -> None:
    annotations = _site(server, 20)
    first = next(iter(annotations))
    annotations[first]["incidents"]["train_accident"] = 1
    prepare(
        "incidents1m", tmp_path / "out", web=_web(), hosts=_table(tmp_path),
        annotations=_write(tmp_path / "a.json", annotations),
    )  # fmt: skip
    stored = read_folder(tmp_path / "out")
    assert "train accident" not in [query.text for query in stored.queries]
    assert _steps(tmp_path / "out")["queries"]["few positives"] >= 1
    for query in stored.queries:
        early = sum(row < stored.validation for row in query.positives)
        assert early >= 2
        assert len(query.positives) - early >= 2


@pytest.mark.parametrize("workers", [1, 8])
def test_a_limit_takes_the_first_that_succeed(server: Server, tmp_path: Path, workers: int) -> None:
    annotations = _site(server, 60)
    names = list(annotations)
    annotations[names[3]]["url"] = "http://unknown.example/a.jpg"
    annotations[names[50]]["url"] = "http://later.example/a.jpg"
    for i in (5, 20, 21):
        del server.files[f"/{i}.jpg"]
    out = tmp_path / "out"
    path = _write(tmp_path / "a.json", annotations)
    prepare("incidents1m", out, limit=20, workers=workers, web=_web(), annotations=path, hosts=_table(tmp_path))
    stored = read_folder(out)
    assert sorted(stored.columns["id"]) == [names[i] for i in range(24) if i not in (3, 5, 20, 21)]
    assert "later.example" not in (out / "hosts.csv").read_text()
    assert _steps(out)["place of the host, and picture"] == {"dead link": 3, "no place": 1}
    assert len(list((out / "images").iterdir())) == 20


def test_killed_and_resumed_is_as_if_never_killed(server: Server, tmp_path: Path) -> None:
    annotations = _site(server, 60, wait=0.03)
    del server.files["/7.jpg"]
    path, hosts = _write(tmp_path / "a.json", annotations), _table(tmp_path)
    prepare("incidents1m", tmp_path / "whole", web=_web(), annotations=path, hosts=hosts)
    out = tmp_path / "killed"
    start = len(server.requests)
    options = {"annotations": path, "hosts": hosts}
    killing.kill("incidents1m", out, lambda: len(server.requests) >= start + 25, workers=2, **options)
    assert not (out / "dataset.json").exists()
    start = len(server.requests)
    prepare("incidents1m", out, web=_web(), **options)
    assert len(server.requests) - start < 45  # the rest alone
    assert killing.files(out) == killing.files(tmp_path / "whole")


def test_annotations_have_to_be_given(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"a form and an e-mail .*incidentsdataset\.csail\.mit\.edu.*--source annotations=FILE"
    ):
        prepare("incidents1m", tmp_path / "out", web=_web())
    for name, text in (("list.json", "[1]"), ("torn.json", '{"a": {'), ("text.json", "\0")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match="must be a JSON"):
            prepare("incidents1m", tmp_path / name[:-5], web=_web(), annotations=str(tmp_path / name))


def test_annotations_over_the_web(server: Server, tmp_path: Path) -> None:
    url = server.put("/multi_label_val.json", json.dumps(_site(server, 20)).encode())
    prepare("incidents1m", tmp_path / "out", web=_web(), annotations=url, hosts=_table(tmp_path))
    sources = json.loads((tmp_path / "out" / "dataset.json").read_text())["sources"]
    assert sources["annotations"]["sha256"] == hashlib.sha256(server.files["/multi_label_val.json"]).hexdigest()  # type: ignore[arg-type]
    assert sources["hosts"]["sha256"] == hashlib.sha256((tmp_path / "out" / "hosts.csv").read_bytes()).hexdigest()


def test_entries_keep_the_order_of_the_file(tmp_path: Path) -> None:
    annotations = {
        name: _record(f"HTTPS://User@{name}.Example:8443/x", ("on_fire", "flooded"), ("beach",)) for name in "zxy"
    }
    (tmp_path / "a.json").write_text(json.dumps(annotations))
    rows = read_annotations(tmp_path / "a.json", Tally("labels"))
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


class TestScattered:
    NAMES = tuple(f"image {i}" for i in range(400))

    def moves(self, count: int, noise: str, place: tuple[float, float] = (10.001, 20.004), seed: int = 0) -> Any:
        places = np.tile(place, (count, 1))
        return scattered(self.NAMES[:count], places, seed, noise) - places

    @pytest.mark.parametrize("noise", ["count", "capped", "none"])
    def test_an_image_that_is_alone_stays(self, noise: str) -> None:
        places = np.array([[10.0, 20.0], [10.02, 20.0]])
        np.testing.assert_array_equal(scattered(["a", "b"], places, 0, noise), places)

    def test_published_noise_grows_with_the_earlier_images_and_is_not_capped(self) -> None:
        moves = np.abs(self.moves(400, "count"))
        assert (moves.max(axis=1) <= 0.001 * np.arange(400)).all()
        assert moves[0].max() == 0
        assert moves[1:].min() > 0
        assert moves.max() > 0.3
        assert (moves / (0.001 * np.maximum(np.arange(400), 1))[:, None]).mean() == pytest.approx(0.5, abs=0.05)

    def test_published_places_are_compared_to_four_decimals(self) -> None:
        near = np.array([[10.00001, 20.0], [10.00002, 20.0], [10.0003, 20.0]])
        moved = scattered(["a", "b", "c"], near, 0, "count") - near
        assert np.abs(moved).max(axis=1).astype(bool).tolist() == [False, True, False]

    @pytest.mark.parametrize(("count", "half"), [(2, 0.001 * math.sqrt(2)), (100, 0.01), (400, 0.02)])
    def test_capped_noise_is_alike_for_all_images_of_a_place(self, count: int, half: float) -> None:
        moves = np.abs(self.moves(count, "capped"))
        assert 0 < moves.min() <= moves.max() <= half
        if count > 50:
            assert moves.mean() == pytest.approx(half / 2, rel=0.1)

    def test_another_seed_gives_another_move(self) -> None:
        assert not np.isin(self.moves(400, "capped", seed=4), self.moves(400, "capped", seed=3)).any()
        np.testing.assert_array_equal(self.moves(400, "count"), self.moves(400, "count"))

    def test_the_edge_of_the_map_holds(self) -> None:
        moved = self.moves(400, "count", (90.0, -180.0)) + np.array([90.0, -180.0])
        assert moved[:, 0].max() == 90
        assert moved[:, 1].min() == -180

    def test_no_noise_moves_nothing(self) -> None:
        assert not self.moves(400, "none").any()


def test_correct_places_are_asked_by_their_names(server: Server, tmp_path: Path) -> None:
    prepare(
        "incidents1m", tmp_path / "out", behaviour="correct", web=_web(), hosts=_table(tmp_path),
        annotations=_write(tmp_path / "a.json", _site(server, 40)),
    )  # fmt: skip
    stored = read_folder(tmp_path / "out")
    assert [query.text for query in stored.queries] == ["flooded", "on fire", "beach", "building outdoor"]
    assert stored.about["settings"]["noise"] == "capped"


def test_services_have_names(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="services must be of geolocation-db, ip-api, got 'ip-api,google'"):
        prepare("incidents1m", tmp_path, web=_web(), annotations="x", services="ip-api,google")
