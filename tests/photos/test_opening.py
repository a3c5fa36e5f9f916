"""Libraries opened by their folder, and opened anew; what the commands tell beside their results."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import write_jpeg

from mascot.photos import Library
from mascot.server import models
from mascot.server.service import LibraryGone, Service
from retelling import environment


def test_a_library_made_anew_is_served_with_its_own_encoder(tmp_path: Path) -> None:
    """An encoder of the user's own cannot be opened by its name: the one at hand is used on."""
    root = tmp_path / "photos"
    for i, title in enumerate(["a boat", "a harbour", "a boat in a harbour"]):
        write_jpeg(root / f"{i}.jpg", title)
    asked = models.Search(text="boat", k=3)
    with Library(root, "cpu", exact=2) as library:
        library.index(BagOfWords())
        with library.reopened() as again:
            assert again.store is not library.store
            assert (again.root, again._encoders.device, again.exact) == (library.root, "cpu", 2)
        service = Service(library)
        before = service.search(asked)
        shutil.rmtree(root / ".mascot")
        with pytest.raises(LibraryGone):
            service.search(asked)
        write_jpeg(root / "3.jpg", "a boat, a boat")
        with Library(root) as other:
            other.index(BagOfWords())
        after = service.search(asked)
        service.current.close()
    assert (before.candidates, after.candidates) == (3, 4)
    assert after.query == "boat"


def test_what_a_command_lacks_is_told_with_its_extra(tmp_path: Path) -> None:
    """Where only the command itself is installed, and where one of the packages of an extra is missing."""
    script = """
import sys
from mascot.errors import MissingExtra
from mascot.cli.photos import sample
from mascot.cli.serve import serve
from pathlib import Path
for missing in ("PIL", "uvicorn", "msgspec"):
    loaded = {name for name in sys.modules if name.partition(".")[0] in (missing, "mascot")}
    kept = {name: sys.modules.pop(name) for name in loaded if name.startswith((missing, "mascot.p", "mascot.s"))}
    sys.modules[missing] = None
    try:
        sample(Path(sys.argv[1])) if missing == "PIL" else serve()
    except MissingExtra as error:
        print(error)
    del sys.modules[missing]
    sys.modules.update(kept)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "sample")],
        env=environment(), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    needs = {"PIL": ("sample library", "pillow"), "uvicorn": ("server", "uvicorn"), "msgspec": ("server", "uvicorn")}
    for line, (name, (part, package)) in zip(done.stdout.splitlines(), needs.items(), strict=True):
        assert re.fullmatch(rf"the {part} needs the package {name}: .*pip install .*\b{package}\b.*", line)
    assert not (tmp_path / "sample").exists()
