"""Every recipe against a local server that has its sources in their true formats."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from mascot.bench.datasets.folder import Stored, read_folder
from mascot.bench.prepare.visual_genome import QUERIES
from mascot.errors import InputError
from tests.bench import recipe_worlds
from tests.bench.range_server import Server
from tests.bench.recipe_worlds import GOOD, HUB_FILES, ORDER, WORLDS, World, files, losses, prepare, table
from tests.photos import local_hub


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_recipe_accounts_for_every_item_and_a_killed_run_goes_on_to_the_same_result(
    world: World, server: Server, tmp_path: Path
) -> None:
    out, killed = tmp_path / "out", tmp_path / "killed"
    sources = world.options | world.fill(server)
    if world.name == "incidents1m":
        sources["hosts"] = str(tmp_path / "table.csv")
        Path(sources["hosts"]).write_text(recipe_worlds.HOSTS_TABLE)

    def report(step: str, count: int, total: int | None) -> None:
        if step == "pictures" and count == 7:  # what a kill at this moment leaves on the disk
            shutil.copytree(out, killed, ignore=shutil.ignore_patterns(".*"))

    prepare(world.name, out, report=report, **sources)
    stored = read_folder(out)
    assert (stored.name, stored.images, stored.validation) == (world.name, world.images, world.images // 5)
    assert set(stored.columns) == {"id", "file", *world.columns.split()}
    assert losses(out) == world.losses
    checks = (check_pixelprose, check_visual_genome, check_incidents1m, check_skyscript)
    checks[WORLDS.index(world)](stored, out, server)

    whole = files(out)
    assert not (killed / "dataset.json").exists()
    requests = len(server.requests)
    prepare(world.name, killed, **sources)
    assert files(killed) == whole
    assert len(server.requests) <= 2 * requests - 7, "what was there is not requested again"
    server.requests.clear()
    (out / stored.columns["file"][3]).unlink()
    prepare(world.name, out, **sources)
    assert files(out) == whole
    assert len(server.requests) == world.repair


def check_pixelprose(stored: Stored, out: Path, server: Server) -> None:
    for row, query in enumerate(stored.queries):
        number, i = map(int, str(stored.columns["uid"][row]).removeprefix("uid").split("-"))
        assert query.positives == (row,)
        assert query.text == f" This image displays:photograph {number}-{i}, of café {ORDER[number]}. "  # as published
        assert stored.columns["part"][row] == recipe_worlds.SHARDS[ORDER[number]]
        place = (stored.columns["lat"][row], stored.columns["lon"][row])
        assert place == pytest.approx((10 * number + i + 0.5, 2 + 17 / 60 + 40 / 3600))
        assert str(stored.columns["taken"][row]).startswith(f"2018-01-1{i}T0{i}:30:00")
        with Image.open(out / stored.columns["file"][row]) as image:
            assert image.size == ((1024, 472) if i == 1 else (120, 80))
    note = "50 rows have a place and a time; the paper has 1799"
    assert (stored.about["notes"], stored.about["validation_queries"]) == ([note], 50)
    digest = hashlib.sha256(server.files[f"{HUB_FILES}/{ORDER[0]}"]).hexdigest()
    expected = {"url": f"tomg-group-umd/pixelprose/{ORDER[0]}", "sha256": digest, "rows": 24}
    assert stored.about["sources"][ORDER[0]] == expected
    assert stored.about["sources"]["hub"] == {"url": "tomg-group-umd/pixelprose", "revision": local_hub.COMMIT}
    assert not list((out / "work" / "shards").rglob("*.parquet"))  # deleted when read


def check_visual_genome(stored: Stored, out: Path, server: Server) -> None:
    ids = stored.columns["id"].tolist()
    assert sorted(map(int, ids)) == [*range(1, 2 * GOOD, 2), 1003, 1004, 1005, 1007]
    row = {id_: i for i, id_ in enumerate(ids)}
    assert str(stored.columns["taken"][row["1005"]]).startswith("2013-02-02T11:30:00")
    assert server.sent["/VG_100K/1008.jpg"] == 65_536  # the beginning alone, where there is no time
    queries = {query.text: query.positives for query in stored.queries}
    assert list(queries["sky"]) == sorted(row[str(2 * i + 1)] for i in range(0, GOOD, 2))  # not "skyline"
    assert len(queries["person"]) == GOOD + 2


def check_incidents1m(stored: Stored, out: Path, server: Server) -> None:
    assert stored.about["measure"] == "map"
    for id_, host, *place in zip(*(stored.columns[name] for name in ("id", "host", "lat", "lon")), strict=True):
        number = 40 if id_ == "again.jpg" else int(id_[-7:-4])
        assert host == ("127.0.0.1" if number % 3 else "localhost")
        # As published, the first image at a place stays, and the 26th is moved by up to 0.025 degrees.
        assert np.abs(np.subtract(place, recipe_worlds.HOSTS[host])).max() <= 0.001 * number
    assert [query.text for query in stored.queries] == ["flooded", "on_fire", "place:beach", "place:building_outdoor"]
    annotations = json.loads(server.files["/multi_label_val.json"])
    for query in stored.queries:
        kind = "places" if query.text.startswith("place:") else "incidents"
        labels = [annotations[id_][kind][query.text.removeprefix("place:")] for id_ in stored.columns["id"]]
        assert query.positives == tuple(np.flatnonzero(labels))
    lines = ["host,ip,lat,lon,source", "127.0.0.1,,48.855,2.345,table", "localhost,,-33.875,151.205,table"]
    assert (out / "hosts.csv").read_text().splitlines() == lines


def check_skyscript(stored: Stored, out: Path, server: Server) -> None:
    ids = stored.columns["id"].tolist()
    assert sorted(ids) == sorted([f"a{i:03d}_CH_19" for i in range(20) if i != 7] + ["b1", "c1", "c2", "c3", "c4"])
    places = {id_: (stored.columns["lat"][i], stored.columns["lon"][i]) for i, id_ in enumerate(ids)}
    assert places["a004_CH_19"] == pytest.approx((47.25, 8.05))
    assert (places["c1"], places["c2"]) == ((51.0, 11.0), pytest.approx((-16.9, -179.9)))
    captions = {
        "a000_CH_19": "the same file under another caption",
        "b1": "a church and 7 trees",
        "c1": "in an array",
        "c2": "across",
        "c3": "large",
        "c4": "under another name",
    }
    for i, (id_, query) in enumerate(zip(ids, stored.queries, strict=True)):
        caption = captions.get(id_) or f"a church and {int(id_[1:4])} trees"
        assert (query.text, query.positives) == (caption, (i,))
        with Image.open(out / stored.columns["file"][i]) as image:
            assert image.size == ((1024, 1024) if id_ == "c3" else (50, 40))


def test_published_visual_genome_reads_clocks_and_saves_pictures_again(server: Server, tmp_path: Path) -> None:
    prepare("visual-genome", tmp_path, **recipe_worlds.fill_visual_genome(server))
    stored = read_folder(tmp_path)
    ids = stored.columns["id"].tolist()
    assert sorted(map(int, ids)) == [*range(1, 2 * GOOD, 2), 1003, 1004, 1005, 1007]
    assert str(stored.columns["taken"][ids.index("1003")]).endswith("T00:00:00")  # 0000:00:00 00:00:00
    stored_picture = (tmp_path / stored.columns["file"][ids.index("1005")]).read_bytes()
    assert stored_picture != server.files["/VG_100K_2/1005.jpg"]
    queries = {query.text: len(query.positives) for query in stored.queries}
    assert queries["dog"] == 2  # one in each split: picture 7, under `names`, and picture 1003, under `name`
    assert list(queries) == [name for name in QUERIES if name in queries]
    assert losses(tmp_path)["queries"] == {"few positives": len(QUERIES) - len(queries)}


def test_published_incidents_keep_repeated_addresses_and_the_noise_counts_failed_downloads(
    server: Server, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    annotations = recipe_worlds.annotations_of(server, 20)
    lying = server.put("/lying.jpg", recipe_worlds.jpeg(1, (60, 40), exif=exif))
    dead = {f"dead{i}.jpg": recipe_worlds.labelled(f"{server.url}/dead{i}.jpg") for i in range(300)}
    annotations = {**dead, **annotations, "lying.jpg": recipe_worlds.labelled(lying)}
    annotations["again.jpg"] = recipe_worlds.labelled(lying)
    path, table = tmp_path / "a.json", tmp_path / "hosts.csv"
    path.write_text(json.dumps(annotations))
    table.write_text(recipe_worlds.HOSTS_TABLE)
    prepare("incidents1m", tmp_path / "out", annotations=str(path), hosts=str(table))
    stored = read_folder(tmp_path / "out")
    assert stored.images == 22
    lying_picture = stored.columns["file"][stored.columns["id"].tolist().index("lying.jpg")]
    with Image.open(tmp_path / "out" / lying_picture) as image:
        assert (image.size, image.getexif().get(ExifTags.Base.Orientation, 1)) == ((60, 40), 1)
    near_paris = stored.columns["host"] == "127.0.0.1"
    moved = np.abs(stored.columns["lat"][near_paris] - 48.855)
    assert moved.max() > 0.05  # up to 0.3 degrees, after 300 failed downloads


def test_a_caption_whose_first_picture_fails_has_the_next(server: Server, tmp_path: Path) -> None:
    site = recipe_worlds.SkySite(server, good=10)
    site.add("b1", "two towers", picture=None)
    site.add("b2", "two towers")
    site.add("b3", "two towers")
    sources = site.publish()
    prepare("skyscript", tmp_path, **sources)
    stored = read_folder(tmp_path)
    assert stored.images == 11
    assert {"b2", "b3"} & set(stored.columns["id"].tolist())


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "captions"])
def test_a_list_of_pictures_pins_the_test_split_and_names_the_missing(
    form: str, server: Server, tmp_path: Path
) -> None:
    sources = recipe_worlds.fill_pixelprose(server)
    names = [f"{number}-{i}" for number in (3, 1, 4) for i in range(6)]
    pictures = [{"uid_name": f"uid{name}_{name}.jpg", "caption": f"photograph {name}"} for name in names]
    pictures.insert(5, {"uid_name": "gone_gone.jpg", "caption": "A picture that vanished"})
    texts = {
        "csv": "uid\n" + "".join(f"{picture['uid_name'].split('_')[0]}\n" for picture in pictures),
        "json": json.dumps({"results": {"test": pictures}}),
        "jsonl": "".join(json.dumps(picture) + "\n" for picture in pictures),
        "captions": "caption\n" + "".join(
            f'"This image displays: photograph {name}, of café {ORDER[int(name[0])]}."\n' for name in names
        ) + "A picture that vanished\n",
    }  # fmt: skip
    pins = tmp_path / "pins"
    pins.write_text(texts[form], encoding="utf-8")
    out = tmp_path / "out"
    prepare("pixelprose", out, pinned=pins, **sources)
    stored = read_folder(out)
    assert (stored.images, stored.validation) == (30, 12)
    assert stored.columns["uid"].tolist()[12:] == [f"uid{name}" for name in names]
    missing = (out / "missing.txt").read_text().splitlines()
    assert len(missing) == 1
    assert missing[0].startswith("A picture" if form == "captions" else "gone")
    assert losses(out)["pinned pictures"] == {"missing": 1}
    assert stored.about["notes"][-1] == f"1 of the 19 pictures of {pins.name} are missing; missing.txt lists them"
    assert stored.about["sources"]["pinned pictures"]["url"] == "pins"


@pytest.mark.parametrize(
    ("text", "words"), [("", "must name pictures by uid_name"), ("nobody", "it names 0; its rows")]
)
def test_a_list_of_no_pictures_is_refused(text: str, words: str, server: Server, tmp_path: Path) -> None:
    (tmp_path / "pins").write_text(text)
    with pytest.raises(InputError, match=words):
        prepare("visual-genome", tmp_path / "out", pinned=tmp_path / "pins", **recipe_worlds.fill_visual_genome(server))


def test_visual_genome_is_pinned_by_numbers(server: Server, tmp_path: Path) -> None:
    queries = [(41, "sky"), (7, "person"), (1005, "person"), (7, "dog")]  # a picture may answer several queries
    listing = [{"image_id": number, "caption": query} for number, query in queries]
    (tmp_path / "ids.json").write_text(json.dumps(listing))
    sources = recipe_worlds.fill_visual_genome(server)
    prepare("visual-genome", tmp_path / "out", pinned=tmp_path / "ids.json", **sources)
    stored = read_folder(tmp_path / "out")
    assert stored.columns["id"].tolist()[stored.validation :] == ["41", "7", "1005"]
    assert not (tmp_path / "out" / "missing.txt").read_text()


def test_the_hub_may_refuse(server: Server, tmp_path: Path) -> None:
    server.put(recipe_worlds.API, b"", always=403, headers={"X-Error-Code": "GatedRepo"})
    with pytest.raises(InputError, match=r"gated: accept its terms on .*, then hf auth login or set HF_TOKEN"):
        prepare("pixelprose", tmp_path, hub=server.url)


def test_the_limit_stops_reading_tables_and_a_token_is_sent_to_the_hub_alone(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    sources = recipe_worlds.fill_pixelprose(server)
    prepare("pixelprose", tmp_path, limit=10, workers=3, **sources)
    expected = [f"uid{number}-{i}" for number in (0, 1) for i in range(6)][:10]
    assert sorted(read_folder(tmp_path).columns["uid"].tolist()) == expected
    assert [server.count(f"{HUB_FILES}/{name}", "GET") for name in ORDER] == [1, 1, 0, 0, 0]
    assert len(list((tmp_path / "images").iterdir())) == 10
    prepare("pixelprose", tmp_path, limit=14, **sources)  # more of the same folder later
    assert len(read_folder(tmp_path).columns["id"]) == 14
    assert [server.count(f"{HUB_FILES}/{name}", "GET") for name in ORDER] == [1, 1, 1, 0, 0]
    assert server.count("/photos/0-0.jpg") == 1
    for request in server.requests:
        token = {name.lower(): value for name, value in request.headers.items()}.get("authorization")
        assert token == ("Bearer hf_secret" if request.path.startswith(("/api/", "/datasets/")) else None)


def test_a_shard_must_be_what_the_hub_lists(server: Server, tmp_path: Path) -> None:
    sources = recipe_worlds.fill_pixelprose(server)
    good = server.files[f"{HUB_FILES}/{ORDER[1]}"]
    server.files[f"{HUB_FILES}/{ORDER[1]}"] = table([])
    with pytest.raises(InputError, match=r"must have the SHA-256 .* that the hub lists, got .*|no connection"):
        prepare("pixelprose", tmp_path, limit=10, **sources)
    server.files[f"{HUB_FILES}/{ORDER[1]}"] = good
    prepare("pixelprose", tmp_path, limit=10, **sources)
    assert server.count(f"{HUB_FILES}/{ORDER[0]}", "GET") == 1


def test_published_rows_are_shuffled_and_cut_before_captions_are_unique(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mascot.bench.prepare.skyscript._ROWS", 16)
    site = recipe_worlds.SkySite(server)
    for i in range(24):
        site.add(f"a{i:02d}", f"caption {i % 18}")
    prepare("skyscript", tmp_path, **site.publish())
    captions = [caption for *_, caption in site.rows]
    random.Random(42).shuffle(captions)
    assert sorted(query.text for query in read_folder(tmp_path).queries) == sorted(set(captions[:16]))
