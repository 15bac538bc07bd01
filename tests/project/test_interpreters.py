"""Subinterpreters, and a fork while another thread imports fnabi."""

from __future__ import annotations

from typing import Any

import pytest

from support.apart import run_apart

interpreters: Any
try:
    import _interpreters as interpreters  # type: ignore[import-not-found]  # from CPython 3.13 on
except ImportError:
    interpreters = pytest.importorskip("_xxsubinterpreters")

ANYWHERE = """
import sys
try:
    import _interpreters as interpreters
    make = interpreters.create
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda kind: interpreters.create(isolated=kind == "isolated")
def refused():
    for kind in ("legacy", "isolated"):
        other = make(kind)
        text = '''
try:
    import fnabi
    fnabi.Array([1])
except ImportError as problem:
    assert "subinterpreter" in str(problem), problem
else:
    raise AssertionError("imported")
'''
        failed = None
        try:
            failed = interpreters.run_string(other, text)
        finally:
            assert failed is None, failed
            interpreters.destroy(other)
"""


@pytest.mark.parametrize("first", ["refused()", "import fnabi; fnabi.Array([1])"])
def test_a_subinterpreter_is_refused(first: str) -> None:
    """Whichever interpreter comes first, and the main one works all the while."""
    program = f"{ANYWHERE}\n{first}\nrefused()\nimport fnabi\nprint(fnabi.Array([1, 2]).tolist())"
    assert run_apart(program) == "[1, 2]\n"
