"""Unit tests of the modules of the page that need no document, in Node and in Chromium."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser import browser

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted(HERE.glob("*.test.mjs"))
ORIGIN = "http://units.invalid"
# Import maps can replace `node:test` because it is an absolute URL.
PAGE = f"""<!doctype html><script type="importmap">{{"imports": {{
    "node:test": "/tests/page/harness.mjs", "node:assert/strict": "/tests/page/assert.mjs"}}}}</script>
<script type="module">
    {"".join(f'import "/tests/page/{file.name}";' for file in FILES)}
    import {{ runTests }} from "/tests/page/harness.mjs";
    window.results = await runTests();
</script>"""
ASSERT = 'export { assert as default } from "/tests/page/harness.mjs";'


def test_units_in_node() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    run = subprocess.run([node, "--test", *map(str, FILES)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.integration
def test_units_in_chromium() -> None:
    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path == "/":
            route.fulfill(body=PAGE, content_type="text/html")
        elif path == "/tests/page/assert.mjs":
            route.fulfill(body=ASSERT, content_type="text/javascript")
        else:
            route.fulfill(path=ROOT / path.removeprefix("/"), content_type="text/javascript")

    with browser() as chromium:
        page = chromium.new_page()
        page.route("**/*", answer)
        page.goto(f"{ORIGIN}/")
        page.wait_for_function("() => window.results")
        results = page.evaluate("window.results")
    assert results["count"] > 100
    assert results["failures"] == []
