"""An error about something that is gone names what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

import mascot as mc
from tests.retelling import run_command

HITS = mc.Candidates([0.9, 0.1])


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["search", "boats", "--source", "qdrant://"], "--input-format ENGINE"),
        (["bench", "run", "pixelprose-sim", "--ray", "auto"], "--jobs"),
        (["library", "--check"], "mascot library check"),
        (["probe"], "mascot tune"),
        (["rerank", "--input-format", "tsv"], "duckdb -json"),
        (["rerank", "hits.parquet"], "duckdb -json"),
    ],
)
def test_a_command_names_what_to_do_instead(
    arguments: list[str], remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_command(*arguments)
    assert done.returncode == 2
    assert "is gone: " in done.stderr
    assert remedy in done.stderr


def test_python_names_what_to_do_instead() -> None:
    for name, remedy in (("Branches", "use Vectors"), ("probe", "mascot tune")):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; {name} is gone: .*{remedy}"):
            getattr(mc, name)
    with pytest.raises(mc.OptionError, match="Branches is gone: use Vectors"):
        mc.from_dict({"spread": {"kind": "Branches"}})
    with pytest.raises(mc.OptionError, match="gpu is gone: use 'auto'"):
        mc.rerank(HITS, [], backend="gpu")
    with pytest.raises(AttributeError, match=r"no attribute 'reranks'$"):
        _ = mc.reranks
