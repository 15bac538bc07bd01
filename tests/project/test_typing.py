"""The Python of README and of the pages, as type checkers and editors of users see it."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fnabi import Signature
from support import documents
from support.checkers import CHECKERS
from support.paths import ROOT

ROOMS = ("tutorials", "guide", "cookbook", "grammar", "port")
NAMESPACE = re.compile(r"\.fnabi\.")
"""What polars adds to its classes while it runs, so that no type checker knows it."""


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
    if "import fnabi.polars" in lines:
        lines = [
            f"{line}  # type: ignore[attr-defined]" if NAMESPACE.search(line) else line
            for line in lines
        ]
    return "\n".join([*lines, ""])


def pages() -> dict[str, Path]:
    """Return the pages that have a program, by a name for it."""
    found = {"readme": ROOT / "README.md"}
    for room in ROOMS:
        for page in sorted((ROOT / "docs" / room).glob("*.md")):
            if any(statements(page)):
                found[f"{room}_{page.stem}"] = page
    return found


PAGES = pages()


def generate(page: Path, modules: set[str]) -> set[str]:
    """Write the modules that the commands of a page generate, and return which they are."""
    blocks = [*documents.blocks(page.read_text())]
    commands = {
        name: command
        for block in blocks
        if block.language == "console"
        for command, name in re.findall(r"^\$ (fnabi stub -o (\w+)\.py .*)$", block.body, re.M)
        if name in modules
    }
    if commands:
        build = [block.body for block in blocks if block.language == "sh" and "cc " in block.body]
        script = "\n".join([*build, *commands.values()])
        subprocess.run(["bash", "-euc", script], check=True, env=documents.environment())
    return {*commands}


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
    assert len(PAGES) > 40
    for page in PAGES.values():
        text, lines = page.read_text().splitlines(), program(page).splitlines()
        assert any(lines)
        assert all(line.partition("  # type:")[0] in text[i] for i, line in enumerate(lines))


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_a_checker_accepts_every_page(
    check: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    programs, missing = [], set[str]()
    for name, page in PAGES.items():
        code = program(page)
        lacking = {each for each in imported(code) if find_spec(each) is None}
        lacking -= generate(page, lacking)
        missing |= lacking
        if not lacking:
            programs.append(tmp_path / f"{name}.py")
            programs[-1].write_text(code)
    assert len(programs) > 35
    check(*programs)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from fnabi import Signature\n\nSignature.parse('').inputs[0].name\n")
    with pytest.raises(AssertionError, match="name"):
        check(wrong)
    if missing:  # the other pages are checked
        pytest.skip(f"{', '.join(sorted(missing))} is not installed")


TYPES = """
from typing import assert_type

import fnabi
from fnabi import cconv, declaration, iree_abi, sip, stub, types, vmfb

assert_type(fnabi.decode_columns([b"I1!R1!"])[0], types.Signature | None)
assert_type(fnabi.decode_columns([], "sip")[0], sip.Signature | None)
assert_type(fnabi.decode_columns([], abi="cconv")[0], cconv.CallingConvention | None)
assert_type(fnabi.decode_columns([], "iree.abi")[0], iree_abi.Signature | None)
assert_type(fnabi.decode_columns([], "declaration")[0], declaration.Declaration | None)
with open("texts", "rb") as file:
    for columns in fnabi.iter_columns(file, "sip"):
        for row in columns:
            assert_type(row, sip.Signature | None)


def rows(columns: fnabi.Columns) -> list[object]:
    return [*columns]


assert_type(stub.FORMATS["python"](vmfb.open("x.vmfb"), "x.vmfb", only=["f"]), stub.Stub)
assert_type(fnabi.arrow.decode({"a": 1}, "a"), dict[str, int])
"""


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_a_checker_knows_the_types(check: Callable[..., None], tmp_path: Path) -> None:
    program = tmp_path / "types_of_calls.py"
    program.write_text(TYPES)
    check(program)
    program.write_text(TYPES.replace(', only=["f"]', ", only=1"))
    with pytest.raises(AssertionError, match="only"):
        check(program)


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
