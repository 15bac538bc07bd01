"""The foo ABI."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, DType, FormatError, Signature, foo
from fnabi.types import Buffer, Scalar

LETTERS = {"i": Scalar(DType("i32")), "f": Scalar(DType("float32"))}


def test_parse() -> None:
    assert foo.parse("if>f") == Signature((LETTERS["i"], LETTERS["f"]), (LETTERS["f"],))
    assert foo.parse(bytearray(b">")) == Signature((), ())


@given(st.text("if"), st.text("if"))
def test_it_is_what_its_letters_are(inputs: str, results: str) -> None:
    text = f"{inputs}>{results}"
    sides = (tuple(LETTERS[letter] for letter in side) for side in (inputs, results))
    signature = Signature(*sides)
    assert foo.parse(text) == foo.parse(text.encode()) == signature
    assert foo.encode(signature) == text


@pytest.mark.parametrize(
    ("text", "code", "offset", "path"),
    [
        ("", "missing", 0, ""),
        ("ii", "missing", 2, ""),
        ("ix>", "foo-value", 1, "inputs[1]"),
        ("i>f>", "foo-value", 3, "results[1]"),
    ],
)
def test_bad_texts(text: str, code: str, offset: int, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        foo.parse(text)
    problem = caught.value
    assert (problem.code, problem.offset, problem.path) == (code, offset, path)


@pytest.mark.parametrize("value", [Scalar(DType("float64")), Buffer(DType("i32"), (1,))])
def test_what_it_cannot_express(value: Any) -> None:
    with pytest.raises(CallError, match=r"results\[0\].*expected a Scalar of i32 or float32"):
        foo.encode(Signature((), (value,)))


def test_other_arguments() -> None:
    wrong: Any = 5
    with pytest.raises(CallError):
        foo.parse(wrong)
    with pytest.raises(CallError):
        foo.encode(wrong)
