"""Take the pictures of the page in the documentation: `python -m docs.screenshots [--library FOLDER] [--into FOLDER]`.

Writes page.png, page-start.png, page-dark.png, page-compare.png, page-photo.png, page-tray.png and page-phone.png
over the sample library, which is created and indexed first unless a folder is given. Needs Chromium and Playwright.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.page import chromium, sample, serving
from PIL import Image

_FIGURES = Path(__file__).parent / "figures"
_QUERY = "/?text=mountains+and+snow"
_STEERED = f"{_QUERY}&spread=place"
_SUNSET = "/?text=sunset+over+water&spread=place"


@dataclass(frozen=True, slots=True)
class _Shot:
    """One picture: its address and size, and the positions of photographs to open or pick, from 0."""

    name: str
    address: str = _STEERED
    width: int = 1280
    height: int = 800
    theme: str = "light"
    dense: int = 1
    opened: int | None = None
    picked: tuple[int, ...] = ()
    panel: bool = False


_SHOTS = (
    _Shot("page"),
    _Shot("page-start", "/"),
    _Shot("page-dark", f"{_SUNSET}&map=large", theme="dark"),
    _Shot("page-compare", f"{_SUNSET}&compare=1"),
    _Shot("page-photo", f"{_STEERED}&focus=hour=18:00", opened=4),
    _Shot("page-tray", _QUERY, picked=(0, 2, 5, 8)),
    _Shot("page-phone", _SUNSET, width=390, height=844, dense=2, panel=True),
)


def take(browser: Any, address: str, shot: _Shot) -> bytes:
    """Return the page as a PNG, once nothing moves any more."""
    context = browser.new_context(
        base_url=address,
        viewport={"width": shot.width, "height": shot.height},
        color_scheme=shot.theme,
        device_scale_factor=shot.dense,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(shot.address)
    page.wait_for_selector("#results[data-state=shown]")
    # The notice depends on the encoder of this machine.
    page.locator("#notice").evaluate("notice => { notice.style.display = 'none'; }")
    if shot.opened is not None:
        page.locator("#grid button.tile").nth(shot.opened).click()
        page.locator(".stage img").evaluate("picture => picture.decode()")
    for position in shot.picked:
        page.locator("#grid .mini.pick").nth(position).dispatch_event("click")
    if shot.picked:
        page.click("text=Complete my set")
        page.wait_for_selector("#results[data-state=shown]")
    if shot.panel:
        page.click("#bar-steer")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    picture: bytes = page.screenshot()
    context.close()
    return picture


def save(picture: bytes, path: Path) -> None:
    """Write the picture with its middle tones in steps of four, which halves its size without a visible difference."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    image.point(lambda value: value if value < 48 or value >= 240 else (value + 2) // 4 * 4).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="an indexed folder (default: a new sample library)")
    parser.add_argument("--into", type=Path, default=_FIGURES)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    with sample(options.library) as library, serving(library) as address, chromium() as browser:
        for shot in _SHOTS:
            path = options.into / f"{shot.name}.png"
            save(take(browser, address, shot), path)
            print(f"{path} {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
