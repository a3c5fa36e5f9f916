"""Hooks of the site (mkdocs.yml): the README becomes the first page; the changelog and optional pages join the menu."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
REPOSITORY = "https://github.com/mascot-rerank/mascot/blob/main"


def on_config(config: Any) -> Any:
    """Add the pages that exist and that no section names."""
    named = {page for section in config.nav for page in re.findall(r"[\w/-]+\.md", str(section))}
    tutorials = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "tutorials").glob("*.md"))
    if tutorials:
        config.nav.insert(2, {"Tutorials": tutorials})
    notes = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "notes").glob("*.md"))
    config.nav[-1] = {"Notes": notes}
    others = sorted({path.name for path in DOCS.glob("*.md")} - named - {"index.md"})
    config.nav[1]["Guide"].extend(others)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the changelog and the README, the first page: links into docs/ stay in the site, others lead to GitHub."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\((?!https?:|#|docs/)([^)]+)\)", rf"]({REPOSITORY}/\1)", text)
    files.append(File.generated(config, "index.md", content=text.replace("](docs/", "](")))
    changes = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    return files
