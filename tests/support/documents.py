"""Runs the examples of a Markdown document, in their order.

What a fenced block does depends on its language:

    pycon           a session; its output is compared
    python          code in the same namespace
    console         lines that start with "$ " are commands; the lines after each are its output
    sh              commands

A block of ``{code-block}`` with ``:caption: NAME`` is the file NAME, and is written before later
blocks run. Other blocks of ``{code-block}`` and other languages are not run. In output, a line
"..." matches any lines, and "..." in a line any text.
The front matter ``needs: duckdb, torch`` names packages, without which the document is skipped;
``$NAME`` in it is a program. ``warnings: ignore`` is for packages that warn.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.paths import ROOT
from support.programs import found

FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<shown>\{code-block\} *)?(?P<language>\w+)\n"
    r"(?P<options>(?::\S+:[^\n]*\n)*)"
    r"(?P<body>.*?)^(?P=fence)$",
    re.M | re.S,
)


class Block(NamedTuple):
    """A fenced block, with the line it starts on; one that is only shown has no language."""

    language: str | None
    caption: str | None
    body: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        caption = re.search(r"^:caption: *(\S+)", match["options"], re.M)
        line = text.count("\n", 0, match.start("body")) + 1
        body = match["body"].lstrip("\n") if match["options"] else match["body"]
        language = None if match["shown"] else match["language"]
        yield Block(language, caption and caption[1], body, line)


def shown_commands(page: str, title: str, names: dict[str, str]) -> int:
    """Run the consoles of a section that are only shown, with other names in place of some.

    Args:
        page: The path of the page in ``docs``.
        title: The title of the section.
        names: The other names.

    Returns:
        The number of commands.

    """
    text = (ROOT / "docs" / page).read_text()
    for old, new in names.items():
        assert old in text, old
        text = text.replace(old, new)
    start = text.index(f"\n## {title}\n")
    end = text.find("\n## ", start + 1)
    consoles = [
        match["body"]
        for match in FENCE.finditer(text, start, end)
        if match["shown"] and match["language"] == "console"
    ]
    for body in consoles:
        run_commands(body, page, text.count("\n", 0, text.index(body)) + 1)
    return sum(len(re.findall(r"^\$ ", body, re.M)) for body in consoles)


def require(text: str) -> None:
    """Skip the test by the name of a package or program that the document needs."""
    front = re.match(r"---\n(.*?)^---\n", text, re.M | re.S)
    needs = front and re.search(r"^needs: *(.*)$", front[1], re.M)
    for name in needs[1].replace(",", " ").split() if needs else ():
        if name.startswith("$"):
            found(name[1:])
        else:
            pytest.importorskip(name)


def matches(want: str, got: str) -> bool:
    if want == got:
        return True
    lines = re.escape(want).replace("\\\n", "\n")
    pattern = re.sub(r"^\\\.\\\.\\\.\n", r"(?:.*\n)*?", lines, flags=re.M).replace(r"\.\.\.", ".*?")
    return re.fullmatch(pattern, got) is not None


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONWARNINGS": ""}


def run_commands(body: str, name: str, line: int) -> None:
    """Run each command of a console, and compare its output, with its errors, exit aside."""
    for part in re.split(r"^(?=\$ )", body, flags=re.M)[1:]:
        command, want = re.findall(r"\A\$ ((?:[^\n]*\\\n)*[^\n]*\n)(.*)\Z", part, re.S)[0]
        ran = subprocess.run(
            ["bash", "-uc", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            timeout=300,
        )
        assert matches(want, ran.stdout), (
            f"{name}, line {line}: $ {command}expected:\n{want}got:\n{ran.stdout}"
        )


def run_session(body: str, name: str, line: int, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(body, names, name, name, line - 1)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=told.append, clear_globs=False)
    names.update(test.globs)
    assert result.attempted, f"{name}, line {line}: a session without a prompt"
    assert not result.failed, "".join(told)


def run(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the examples of a document as `run_text` does."""
    return run_text(document.read_text(), f"{document.relative_to(ROOT)}", folder, monkeypatch)


def run_text(text: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the examples of a text in `folder`, beside a copy of the repository's examples.

    Returns:
        The number of blocks that were run or written.

    """
    require(text)
    shutil.copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))  # as in an interactive session
    if "warnings: ignore" in text.partition("\n# ")[0]:  # of another package
        warnings.simplefilter("ignore")
    try:
        return run_blocks(text, name, folder)
    finally:
        forget(folder)


def forget(folder: Path) -> None:
    """Take the modules of a folder out of those that are imported."""
    for name, module in [*sys.modules.items()]:
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


def run_blocks(text: str, name: str, folder: Path) -> int:
    """Run the examples of a text in `folder`, which is the current one, and return their number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    done = 0
    for block in blocks(text):
        if block.caption is not None:
            path = folder / block.caption
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body)
        elif block.language == "console":
            run_commands(block.body, name, block.line)
        elif block.language == "sh":
            subprocess.run(["bash", "-euc", block.body], check=True, env=environment())
        elif block.language == "pycon":
            run_session(block.body, name, block.line, names)
        elif block.language == "python":
            code = compile("\n" * (block.line - 1) + block.body, name, "exec")
            exec(code, names)
        else:
            continue
        done += 1
    return done
