"""Every verb of the command: its module, a test that runs it, and a page that shows it."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module

import pytest

from fnabi.cli import verbs
from fnabi.cli.verbs import VERBS, Verb
from support.paths import ROOT

TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*/test_*.py"))
PAGES = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*/*.md"))


def is_run(verb: str) -> bool:
    """Return whether a test runs a verb: ``main(["verb", ...])`` or ``run("verb", ...)``."""
    return bool(re.search(rf"\b(main|run)\(\s*\[?\s*\"{verb}\"", TESTS))


def is_shown(verb: str) -> bool:
    return bool(re.search(rf"\bfnabi {verb}(?![\w-])", PAGES))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_verb_has_a_module_a_test_and_a_page(verb: Verb) -> None:
    module = import_module(f"fnabi.cli.verbs.{verb.name.replace('-', '_')}")
    assert callable(module.add_arguments)
    assert callable(module.run)
    assert is_run(verb.name), f"no test runs `fnabi {verb.name}`"
    assert is_shown(verb.name), f"no page of docs shows `fnabi {verb.name}`"


def test_a_verb_without_test_or_page_is_noticed() -> None:
    assert not is_run("frobnicate")
    assert not is_shown("frobnicate")
    assert not is_shown("check")  # only the beginning of check-abi


def test_every_module_is_a_verb() -> None:
    modules = {found.name for found in pkgutil.iter_modules(verbs.__path__)}
    assert {name for name in modules if name[0] != "_"} == {
        verb.name.replace("-", "_") for verb in VERBS
    }


def test_schemas_are_named_after_verbs_and_not_after_modules() -> None:
    names: list[str] = []
    for path in (ROOT / "python" / "fnabi" / "cli").rglob("*.py"):
        names += re.findall(r'_SCHEMA = "(.*)"', path.read_text(encoding="utf-8"))
    assert len(names) > 15
    for name in names:
        assert re.fullmatch(r"fnabi\.[a-z]+([.-][a-z]+)?/\d", name), name
