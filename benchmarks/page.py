"""Measure how fast the page follows a slider, in a real browser: `python -m benchmarks.page [--library FOLDER]`.

The time is from the slider's input event until the grid, the map, the clock and the counts of 24 results are updated.
The sample library is created and indexed first unless a folder is given, which takes a minute or two.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_QUERY = "sunset over water"
_BAR_MS = 80
_MASCOT = [sys.executable, "-m", "mascot.cli"]
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_MOVES = """async ({ name, moves }) => {
  const slider = document.querySelector(`#lean-${name}`);
  const times = [];
  for (let i = 0; i < moves; i++) {
    const value = 1 + (i * 7) % 10;
    const shown = new Promise((done) => document.addEventListener("mascot:shown", done, { once: true }));
    const started = performance.now();
    slider.value = i % 2 ? value : -value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await shown;
    times.push(performance.now() - started);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
  return times;
}"""


@contextmanager
def sample(folder: Path | None = None) -> Iterator[Path]:
    """Yield an indexed library: the given folder, or a new sample library."""
    if folder is not None:
        yield folder
        return
    from mascot.photos.sample import write_sample

    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "sample"
        write_sample(root)
        subprocess.run([*_MASCOT, "index", str(root)], check=True)
        yield root


@contextmanager
def serving(library: Path) -> Iterator[str]:
    """Run `mascot serve` on a free port, and yield its address."""
    command = [*_MASCOT, "serve", "--library", str(library), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        log = ""
        while (address := re.search(r"http://[^\s/]+", log)) is None:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(f"mascot serve did not start: {log}")
            log += line
        yield address.group()
    finally:
        process.terminate()
        process.wait()


def chromium_path() -> str | None:
    """Return the path of a Chromium; None if none is installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a headless browser."""
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    if path is None:
        sys.exit("needs a Chromium on the PATH: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def measure(page: Any, others: str, name: str, moves: int) -> np.ndarray:
    """Return the milliseconds from each move of a slider to its results, beside other wishes.

    The first moves are not counted.
    """
    page.goto(f"/?text={_QUERY}{others}")
    page.wait_for_selector("#results[data-state=shown]")
    page.evaluate(_MOVES, {"name": name, "moves": 5})
    return np.array(page.evaluate(_MOVES, {"name": name, "moves": moves}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="an indexed folder (default: a new sample library)")
    parser.add_argument("--moves", type=int, default=60, help="moves of each slider (default: 60)")
    options = parser.parse_args()
    with sample(options.library) as library, serving(library) as address, chromium() as browser:
        page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 800})
        print(f"{'moved':<8} {'beside':<28} {'median ms':>9} {'p95 ms':>7}   under {_BAR_MS} ms")
        for name, others in (
            ("place", ""),
            ("hour", "&spread=place"),
            ("look", "&spread=place&focus=hour=18:00"),
            ("camera", "&spread=place&focus=hour=18:00&spread=look"),
        ):
            times = measure(page, others, name, options.moves)
            beside = ", ".join(re.findall(r"=([a-z]+)", others)) or "nothing"
            median, late = np.percentile(times, [50, 95])
            print(f"{name:<8} {beside:<28} {median:9.1f} {late:7.1f}   {np.mean(times < _BAR_MS):.0%}", flush=True)


if __name__ == "__main__":
    main()
