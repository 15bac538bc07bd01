"""The table of public names: what it lists, the stub that is made from it, and who sees them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import fnabi
from support.checkers import CHECKERS
from support.paths import ROOT
from tools import names

PACKAGE = ROOT / "python" / "fnabi"
ROOMS = {"abi", "calls", "run", "many"}
"""Rooms that have modules, but nothing of their own."""

PROGRAM = {"cli", "__main__"}
OWN_NAMES = {"dropin.iree_runtime", "dropin.signature_mangle", "dropin.tvm_ffi"}
"""What stands for another package or header, and has its names."""


def public_modules() -> set[str]:
    """Return the modules without an underscore, as the table names them."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    names = {".".join(path.parts).removesuffix("__init__").rstrip(".") for path in paths}
    return {
        name
        for name in names - {""} - ROOMS - OWN_NAMES
        if name.split(".")[0] not in PROGRAM
        and not any(part.startswith("_") for part in name.split("."))
        and not any(name.startswith(f"{package}.") for package in OWN_NAMES)
    }


def test_every_public_module_is_in_the_table() -> None:
    listed = {name for name in fnabi._PUBLIC if "._" not in f".{name}"}
    assert public_modules() == listed
    for name in ROOMS:
        assert not getattr(import_module(f"fnabi.{name}"), "__all__", ())


def test_every_public_module_has_its_page() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    shown = {*re.findall(r"automodule:: fnabi\.(\S+)", text)}
    assert public_modules() - shown == set()


def test_only_modules_with_a_page_list_their_names() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    shown = {*re.findall(r"automodule:: (fnabi\.\S+)", text)}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if any(part.startswith("_") and part != "__init__" for part in parts):
            lists = "__all__ = " in path.read_text(encoding="utf-8")
            assert not lists or ".".join(parts) in shown, path


def test_dir_is_the_table_whatever_was_imported() -> None:
    code = (
        "import fnabi, pkgutil\n"
        "assert dir(fnabi) == sorted(fnabi.__all__)\n"
        "import fnabi.abi.raw, fnabi.many.columns, fnabi.compat._folders, fnabi.cli.verbs\n"
        "fnabi.Tensor, fnabi.catalog, fnabi.abi, fnabi.cli\n"
        "assert dir(fnabi) == sorted(fnabi.__all__)\n"
        "for name in fnabi.__all__: getattr(fnabi, name)\n"
        "assert dir(fnabi) == sorted(fnabi.__all__)\n"
        "space = {}\n"
        "exec('from fnabi import *', space)\n"
        "assert {*space} - {'__builtins__'} == {*fnabi.__all__}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_stub_is_written_from_the_table() -> None:
    assert names.STUB.read_text(encoding="utf-8") == names.stub(), "run `python -m tools names`"


def test_jedi_completes_every_name() -> None:
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(ROOT, sys_path=[str(PACKAGE.parent), *sys.path])
    for code in ("import fnabi\nfnabi.", "from fnabi import "):
        found = {each.name for each in jedi.Script(code, project=project).complete()}
        assert {name for name in fnabi.__all__ if name[0] != "_"} - found == set()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Write a program that imports every name, and uses each as an attribute of the package."""
    public = [name for name in fnabi.__all__ if name != "__version__"]
    lines = ["import fnabi", *(f"from fnabi import {name}" for name in public)]
    lines += [f"print(fnabi.{name}, {name})" for name in public]
    path = tmp_path / "program.py"
    path.write_text("\n".join([*lines, "print(fnabi.__version__)", ""]))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_a_checker_sees_every_name(check: Callable[..., None], program: Path) -> None:
    check(program)
    program.write_text("from fnabi import nothing\n")
    with pytest.raises(AssertionError, match="nothing"):
        check(program)
