"""Checks for every parser: the results of the grammar, and errors with a code, offset and path."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

from fnabi import FormatError
from support.grammar import GrammarError

A = TypeVar("A")
T = TypeVar("T")

Place = tuple[str, int, str]
"""An error's code, offset and path."""


def outcome_of(read: Callable[[A], T], data: A) -> T | Place:
    """Return the result of `read`, or the code, offset and path of its error."""
    try:
        return read(data)
    except (FormatError, GrammarError) as error:
        return error.code, error.offset, error.path


def error_of(read: Callable[[A], object], data: A) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(data)
    return caught.value


def check_shown(error: FormatError, data: str) -> None:
    """Check that the text has the reason, and the input with a caret under the offset."""
    first = f"{error.reason} at byte {error.offset}"
    first += f" in {error.path}" if error.path else ""
    first += f", expected {error.expected}" if error.expected else ""
    assert error.found is None  # the excerpt shows it
    shown, before = (part.replace("\n", "\\x0a") for part in (data, data[: error.offset]))
    assert str(error).split("\n") == [first, "  " + shown, " " * (2 + len(before)) + "^"]


def check_pickled(error: FormatError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is FormatError
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def check_truncations(
    outcome: Callable[[bytes], object], expected: Callable[[bytes], object], data: bytes
) -> None:
    """Check that every truncation is rejected with the same error as by the grammar."""
    assert not isinstance(outcome(data), tuple)
    for size in range(len(data)):
        found = outcome(data[:size])
        assert isinstance(found, tuple)
        assert found == expected(data[:size])


def check_changes(
    outcome: Callable[[bytes], object], expected: Callable[[bytes], object], data: bytes
) -> None:
    """Check that the results are those of the grammar with any byte set to any value."""
    for at in range(len(data)):
        for byte in range(256):
            changed = data[:at] + bytes([byte]) + data[at + 1 :]
            assert outcome(changed) == expected(changed), changed
