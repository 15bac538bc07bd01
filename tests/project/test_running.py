"""Tests that run many cases in a loop name every case that fails."""

from __future__ import annotations

import pytest

from support import vectors
from support.each import check_each, each


def even(number: int) -> None:
    assert number % 2 == 0, f"{number} is odd\nand more"


def named(*numbers: int) -> list[tuple[str, int]]:
    return [(f"case-{number}", number) for number in numbers]


def test_every_failure_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        check_each(named(2, 3, 4, 5), even)
    first, *lines = str(caught.value).split("\n")
    assert first == "2 of 4 cases failed"
    assert [line.split(": ")[0] for line in lines] == ["2. case-3", "4. case-5"]
    assert "test_running.py:" in lines[0]
    assert "AssertionError: 3 is odd" in lines[0]
    assert str(caught.value.__cause__).startswith("3 is odd")


def test_what_pytest_raises_is_a_failure() -> None:
    def check(_: object) -> None:
        with pytest.raises(ValueError, match="never"):
            pass

    with pytest.raises(AssertionError, match=r"1 of 1 cases failed\n1\. x: .*DID NOT RAISE"):
        check_each([("x", 0)], check)


def test_no_case_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="there are no cases"):
        each(list)(even)()
    with pytest.raises(AssertionError, match="there are no cases"):
        vectors.each("raw", "no such op")(even)()  # type: ignore[arg-type]


def test_every_vector_is_a_case() -> None:
    """Each record of the files is checked by one of these groups."""
    found: list[str] = []
    for name, *ops in (
        ("tokens", "tokens", "seek"),
        ("raw", "raw"),
        ("sip", "sip"),
        ("build", "builder", "build_raw", "build_sip"),
    ):
        vectors.each(name, *ops)(lambda case: found.append(case["id"]))()
    assert len(found) == len({*found}) == 6042
