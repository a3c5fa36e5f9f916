"""From nothing to a table by three commands: a server, a model and a dataset that are all small, and all real."""

from __future__ import annotations

from pathlib import Path

import pytest
from range_server import serving
from typer.testing import CliRunner
from worlds import fill_pixelprose

from mascot.bench.datasets.folder import read_folder
from mascot.bench.results import read
from mascot.cli.bench import bench

pytest.importorskip("torch", reason="needs torch: pip install 'mascot-rerank[clip]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'mascot-rerank[clip]'")


def _said(*words: str) -> str:
    done = CliRunner().invoke(bench, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_three_commands_make_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiny_models import save_clip

    from mascot.photos.encoders.folders import quiet

    monkeypatch.setattr("mascot.bench.prepare.web.is_public", lambda address: True)  # the server is local
    data, results = str(tmp_path / "data"), str(tmp_path / "results")
    with quiet():
        save_clip(tmp_path / "clip")
    with serving() as server:
        sources = [f"--source={name}={where}" for name, where in fill_pixelprose(server).items()]
        told = _said("prepare", "pixelprose", "--out", data, "--workers", "4", *sources)
    assert f"30 images, 6 of them for validation; 30 queries in {data}" in told
    assert "picture: 30 of 40 kept; lost: dead link 5, not a picture 5" in told
    assert "report.md" in told
    assert f"mascot bench encode {data}" in told
    stored = read_folder(Path(data))
    assert stored.name == "pixelprose"
    assert stored.images == len(stored.queries) == 30
    assert f"vectors in {data}" in _said("encode", data, "--model", f"clip:{tmp_path / 'clip'}", "--device", "cpu")
    _said("run", data, "--out", results, "--methods", "base,mascot,guarded", "--jobs", "1", "--quick")
    records = [record for record in read(results) if record["study"] == "main" and record["split"] == "test"]
    assert {record["dataset"] for record in records} == {"pixelprose-clip-clip"}
    assert {record["task"] for record in records} == {"geo_hour", "geo", "hour"}
    assert {len(record["queries"]) for record in records} == {24}
    assert "Guarded" in _said("tables", results)
    # The paper's rows are BLIP-2's.
    assert "Nothing here has a published counterpart" in _said("compare", results)
