"""Every example in docs/ runs and prints what the page shows."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from fnabi.cli import main
from fnabi.cli.verbs import VERBS
from support import documents

DOCS = documents.ROOT / "docs"
COOKBOOK = sorted({*(DOCS / "cookbook").glob("*.md")} - {DOCS / "cookbook" / "index.md"})
OTHERS = {*COOKBOOK, DOCS / "install.md"}  # test_install.py runs it
PAGES = sorted(
    page for page in {*DOCS.rglob("*.md")} - OTHERS if documents.FENCE.search(page.read_text())
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents.run(page, tmp_path, monkeypatch)


def test_pages_are_found() -> None:
    assert len(PAGES) > 30


def test_a_page_leaves_no_module_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests would find those that its commands wrote."""
    page = """```{code-block} python
:caption: left_behind.py
VALUE = 3
```

```pycon
>>> from left_behind import VALUE
>>> VALUE
3
```
"""
    assert documents.run_text(page, "a page", tmp_path, monkeypatch) == 2
    assert "left_behind" not in sys.modules


def answers(page: Path) -> list[str]:
    """Return the answers of a page of the cookbook, each with the front matter of the page."""
    head, *found = re.split(r"^## ", page.read_text(), flags=re.M)
    return [f"{head}## {each}" for each in found]


@pytest.mark.parametrize("page", COOKBOOK, ids=lambda page: page.stem)
def test_each_answer_stands_alone(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder and a namespace of its own, and in about ten lines."""
    for number, text in enumerate(answers(page)):
        folder = tmp_path / str(number)
        folder.mkdir()
        name = f"{page.name}, answer {number}"
        assert documents.run_text(text, name, folder, monkeypatch), text
        assert sum(block.body.count("\n") for block in documents.blocks(text)) <= 12, text


def test_the_cookbook_has_twenty_answers() -> None:
    assert sum(len(answers(page)) for page in COOKBOOK) == 20


def test_links_between_pages_lead_somewhere() -> None:
    """Sphinx checks it too; this needs no Sphinx."""
    for page in DOCS.rglob("*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text()):
            target = DOCS / link[1:] if link.startswith("/") else page.parent / link
            assert target.exists(), f"{page.relative_to(DOCS)} links to {link}"


COMMANDS = re.compile(r"`fnabi ([^`]+)`|^(?: {4,}|\$ )fnabi (.+)", re.M)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def test_options_in_pages_are_options_of_their_verb(capsys: pytest.CaptureFixture[str]) -> None:
    @cache
    def options(*words: str) -> set[str]:
        with suppress(SystemExit):
            main([*words, "--help"])
        return set(OPTION.findall(capsys.readouterr().out))

    verbs = {verb.name for verb in VERBS}
    pages = [*documents.ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    found = 0
    for page in pages:
        for code in map("".join, COMMANDS.findall(page.read_text())):
            words = re.match(r"(?:catalog )?[a-z-]+", code)
            if words and words[0].split()[0] in verbs:
                used = set(OPTION.findall(code.partition("|")[0].partition(" # ")[0]))
                found += len(used)
                unknown = used - options(*words[0].split())
                assert not unknown, f"{page.relative_to(documents.ROOT)}: fnabi {code}: {unknown}"
    assert found > 100


INSTALLS = re.compile(
    r"\b(?:(?:pip3?|pipx|uv|conda|mamba|poetry|pdm)\s+(?:-\S+\s+)*(?:(?:pip|tool)\s+)?"
    r"(?:install|add|upgrade)\b|(?:pipx|uv\s+tool)\s+run\b|uvx\s)([^\n`;|&)]*)"
)
WITH = re.compile(r"\buv\s+run\b[^\n`;|&)]*?\s--with[\s=]+(\S+)")
LISTS = re.compile(r"(?:[\"']pip[\"']\s*:|additional_dependencies:)\s*\[([^\]]*)\]")
"""Packages for the workers of an engine, or for a hook."""


def installed_by_name(text: str) -> list[str]:
    """Return the requirements of fnabi itself in the commands and lists of a text."""
    words = [word for found in INSTALLS.findall(text) for word in found.split()]
    words += WITH.findall(text)
    words += [word for found in LISTS.findall(text) for word in re.split(r"[\s,]+", found)]
    return [word for word in words if re.match(r"[\"'\\]*fnabi(?:$|[^\w/-])", word)]


def test_fnabi_is_not_installed_by_name() -> None:
    """It is on no index, where others could take the name: a checkout is installed."""
    patterns = [
        *("*.md", "*.yml", "*.yaml", ".*.yml", ".*.yaml", ".ci/*", ".github/**/*", "docs/**/*"),
        *("examples/**/*", "python/**/*", "csrc/**/*", "benchmarks/*", "tests/*.py"),
    ]
    files = {file for pattern in patterns for file in documents.ROOT.glob(pattern)}
    kinds = {"", ".md", ".yml", ".yaml", ".py", ".pyi", ".js", ".html", ".sh", ".h", ".c", ".toml"}
    read = 0
    for file in sorted(files - {Path(__file__)}):
        if file.is_file() and file.suffix in kinds and "build" not in file.parts:
            found = installed_by_name(file.read_text("utf-8", "replace"))
            assert found == [], f"{file.relative_to(documents.ROOT)} installs {found}"
            read += 1
    assert read > 300
    for text in (
        'python3 -m pip install --quiet "fnabi${VERSION}"',
        "pip install 'fnabi[arrow]'",
        "x (pip install fnabi)",
        "uv pip install numpy fnabi==0.1",
        "pipx run fnabi",
        "uvx fnabi inspect x",
        "uv run --with fnabi python",
        '{"pip": ["numpy", "fnabi"]}',
    ):
        assert len(installed_by_name(text)) == 1, text
    for text in (
        "pip install -q . && .venv/bin/fnabi x",
        "pip install ./fnabi",
        "uv run --with . fnabi inspect x",
        "`pip install x` fnabi",
    ):
        assert installed_by_name(text) == [], text


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


def test_the_reference_has_the_entry_points_of_the_package() -> None:
    """The scripts that pip installs, and the hooks for pre-commit."""
    page = (DOCS / "reference/command_line.md").read_text()
    project = tomllib.loads((documents.ROOT / "pyproject.toml").read_text())["project"]
    for name, target in project["scripts"].items():
        assert re.search(rf"^\| `{name}` \| .*`{target}` \|$", page, re.M)
    hooks = (documents.ROOT / ".pre-commit-hooks.yaml").read_text()
    (told,) = re.findall(r"^\| (.*) \| \[hooks for pre-commit\]", page, re.M)
    assert {*re.findall(r"`(.*?)`", told)} == {*re.findall(r"^- id: (.*)$", hooks, re.M)}


def test_the_names_that_come_first_in_the_reference_are_there() -> None:
    source = ast.parse((DOCS / "_ext/entry_points.py").read_text())
    (first,) = (each.value for each in source.body if isinstance(each, ast.Assign))
    for module, listed in ast.literal_eval(first).items():
        assert {*listed.split()} <= {*import_module(module).__all__}, module
