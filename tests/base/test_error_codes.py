"""The page of error codes: complete, and each example provokes its code."""

from __future__ import annotations

import sys

import pytest

from support import documents

sys.path.insert(0, str(documents.ROOT / "docs/_ext"))
pytest.importorskip("docutils")
import error_codes


def test_every_code_has_a_remedy() -> None:
    assert list(error_codes.codes()) == sorted(
        error_codes.TABLE, key=list(error_codes.codes()).index
    )
    assert all(entry["remedy"] for entry in error_codes.TABLE.values())


@pytest.mark.parametrize(
    ("code", "example"),
    [(code, entry["example"]) for code, entry in error_codes.TABLE.items() if "example" in entry],
)
def test_an_example_provokes_its_code(code: str, example: str) -> None:
    assert error_codes.provoke(code, example)


def test_an_example_that_provokes_nothing_is_noticed() -> None:
    with pytest.raises(ValueError, match="no error with the code"):
        error_codes.provoke("raw-dim", 'raw.parse(b"I1!R1!")')
