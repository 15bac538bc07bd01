"""The page of error codes: complete, and each example provokes its code."""

from __future__ import annotations

import re
import sys

import pytest

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "docs/_ext"))
pytest.importorskip("docutils")
import error_codes

TESTS = ROOT / "tests"


def test_every_code_has_a_remedy() -> None:
    for code, text, remedy in error_codes.codes():
        assert text, code
        assert remedy.endswith("."), code


def test_every_code_is_provoked() -> None:
    """By its example; otherwise a test is about it."""
    names = [code for code, _, _ in error_codes.codes()]
    assert list(error_codes.EXAMPLES) == [name for name in names if name in error_codes.EXAMPLES]
    tests = [*TESTS.rglob("test_*.py"), *TESTS.rglob("test_*.c")]
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    for name in {*names} - {*error_codes.EXAMPLES}:
        in_c = f"FNABI_{name.upper().replace('-', '_')}"
        assert re.search(rf'"{name}"|\b{in_c}\b', text), f"no test is about the code {name}"


@pytest.mark.parametrize(("code", "example"), error_codes.EXAMPLES.items())
def test_an_example_provokes_its_code(code: str, example: str) -> None:
    assert error_codes.provoke(code, example)


def test_an_example_that_provokes_nothing_is_noticed() -> None:
    with pytest.raises(ValueError, match="no error with the code"):
        error_codes.provoke("raw-dim", 'raw.parse(b"I1!R1!")')


def test_codes_of_python_alone() -> None:
    """Those that the C core lacks are in a table of the page."""
    page = (ROOT / "docs/reference/error_codes.md").read_text(encoding="utf-8")
    core = {code for code, _, _ in error_codes.codes()}
    raised = re.compile(r'(?:FormatError\(|\b_error\(|\bcode: str = )\s*"([a-z-]+)"')
    found: set[str] = set()
    for path in (ROOT / "python").rglob("*.py"):
        found |= {*raised.findall(path.read_text(encoding="utf-8"))}
    told = {*re.findall(r"`([a-z-]+)`(?=[^|]*\|[^|]*\|$)", page, re.MULTILINE)}
    assert found - core == told
