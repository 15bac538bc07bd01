"""Pages that are documents of the repository: a page of one line, ``document: NAME``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent.parent
FILES = "https://github.com/fnabi/fnabi/blob/main/"
PAGES = {
    "README.md": "/index.md",
    "ARCHITECTURE.md": "/about/architecture.md",
    "CONTRIBUTING.md": "/about/contributing.md",
    "SECURITY.md": "/about/security.md",
    "CHANGELOG.md": "/about/changelog.md",
    "benchmarks/README.md": "/about/benchmarks.md",
}
"""The page of each document, for links between them."""


def read(document: str) -> str:
    """Return the text of a document; links lead to pages, or to files of the repository."""
    folder = (ROOT / document).parent

    def target(match: re.Match[str]) -> str:
        link, _, anchor = match[2].partition("#")
        path = (folder / link).resolve().relative_to(ROOT).as_posix()
        if path.startswith("docs/"):
            return f"{match[1]}(/{path.removeprefix('docs/')}{'#' if anchor else ''}{anchor})"
        if path in PAGES:
            return f"{match[1]}({PAGES[path]}{'#' if anchor else ''}{anchor})"
        if not (ROOT / path).exists():
            raise ValueError(f"{document}: link to {link}, which does not exist")
        if match[1].startswith("!"):
            return f"{match[1]}(/../{path})"
        return f"{match[1]}({FILES}{path})"

    text = (ROOT / document).read_text()
    text = re.sub(r"(!?\[[^\]]*\])\((?!https?:|#)([^)]+)\)", target, text)
    return text.replace("```mermaid", "```text")


def replace(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the line of a page by its document."""
    if match := re.fullmatch(r"document: (\S+)\n", source[0]):
        source[0] = read(match[1])
        app.env.note_dependency(ROOT / match[1])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", replace)
    return {"parallel_read_safe": True}
