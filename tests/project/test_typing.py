"""The Python of README and tutorials, as type checkers and editors of users see it."""

from __future__ import annotations

import ast
import doctest
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fnabi import Signature
from support import documents
from support.checkers import CHECKERS
from support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


def statements(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the Python of a page, with the line that each piece starts on."""
    for block in documents.blocks(page.read_text()):
        if block.language == "python" and block.caption is None:
            yield block.line, block.body
        elif block.language == "pycon":
            for example in doctest.DocTestParser().get_examples(block.body):
                yield block.line + example.lineno, example.source


def program(page: Path) -> str:
    """Return the Python of a page as one program, each statement on its line of the page."""
    lines: list[str] = []
    for line, code in statements(page):
        lines += [""] * (line - 1 - len(lines))
        lines += code.splitlines()
    return "\n".join([*lines, ""])


def imported(code: str) -> set[str]:
    """Return the packages that a program imports."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.partition(".")[0])
    return found


def test_the_programs_are_those_of_the_pages() -> None:
    assert len(PAGES) > 4
    for page in PAGES:
        text, lines = page.read_text().splitlines(), program(page).splitlines()
        assert sum(map(bool, lines)) > 10
        assert all(line in text[index] for index, line in enumerate(lines))


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_a_checker_accepts_every_page(check: Callable[..., None], tmp_path: Path) -> None:
    programs, missing = [], set[str]()
    for page in PAGES:
        code = program(page)
        lacking = {each for each in imported(code) if find_spec(each) is None}
        missing |= lacking
        if not lacking:
            programs.append(tmp_path / f"{page.stem}.py")
            programs[-1].write_text(code)
    check(*programs)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from fnabi import Signature\n\nSignature.parse('').inputs[0].name\n")
    with pytest.raises(AssertionError, match="name"):
        check(wrong)
    if missing:  # the other pages are checked
        pytest.skip(f"{', '.join(sorted(missing))} is not installed")


def test_jedi_completes_a_type() -> None:
    """In a file what has the type `Type`, and in a session, such as a notebook, each of them.

    jedi loses the items of a tuple that is an attribute, so ``inputs[0]`` in a file is nothing.
    """
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(ROOT, sys_path=[str(ROOT / "python"), *sys.path])
    code = "from fnabi.types import Type\n\ndef show(type: Type):\n    type."
    found = {each.name for each in jedi.Script(code, project=project).complete()}
    assert {"dtype", "shape"} <= found
    names = {"signature": Signature.parse("(x: float32[2]) -> (ref<?>)")}
    for code in ("signature.inputs[0].", "signature.results[0]."):
        found = {each.name for each in jedi.Interpreter(code, [names]).complete()}
        assert {"dtype", "shape"} <= found
