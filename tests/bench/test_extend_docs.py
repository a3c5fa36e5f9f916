"""docs/extend.md as a new user would follow it: save the files, run the commands, read the table."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.retelling import run_command

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"


def test_the_method_and_the_dataset_of_the_page_are_run_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, code in re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", text, re.S | re.M):
        Path(name).write_text(code, encoding="utf-8")
    for name, imports, most in (("farthest.py", 3, 15), ("make_data.py", 1, 5)):
        assert len(list(filter(str.strip, Path(name).read_text().splitlines()))) - imports <= most
    (commands,) = re.findall(r"^```console\n(.*?)^```", text, re.S | re.M)
    (expected,) = re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)
    for command in commands.splitlines():
        program, *words = shlex.split(command)
        if program == "python":
            runpy.run_path(words[0])
            continue
        done = run_command(*words, *(["--jobs", "1"] if "run" in words else []), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected.strip()
