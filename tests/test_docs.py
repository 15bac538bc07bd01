"""Every example in docs/ runs and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import documents

DOCS = documents.ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if documents.FENCE.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents.run(page, tmp_path, monkeypatch)


def test_pages_are_found() -> None:
    assert len(PAGES) > 0


def test_links_between_pages_lead_somewhere() -> None:
    """Sphinx checks it too; this needs no Sphinx."""
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text()):
            target = DOCS / link[1:] if link.startswith("/") else page.parent / link
            assert target.exists(), f"{page.relative_to(DOCS)} links to {link}"


def test_a_wrong_example_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    (tmp_path / "examples").mkdir()
    for wrong in (
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```console\n$ echo two\nthree\n```\n",
        "```python\nassert 1 == 2\n```\n",
    ):
        page.write_text(wrong)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with pytest.raises(AssertionError):
            documents.run(page, folder, monkeypatch)
