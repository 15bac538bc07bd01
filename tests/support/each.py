"""One test for many cases: the check runs for each, and a failure names all that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TypeVar

import pytest

T = TypeVar("T")


def check_each(cases: Iterable[tuple[object, T]], check: Callable[[T], object]) -> None:
    """Run a check for each pair of name and case; then fail if any failed.

    The text of the failure has one line for each case: its name, where its check failed, and why.
    The traceback of the first is shown in full.
    """
    count, failed = 0, {}
    for name, case in cases:
        count += 1
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed[f"{count}. {name}"] = error
    assert count, "there are no cases"
    if failed:
        lines = [
            f"{name}: {_place_of(error)}: {_reason_of(error)}" for name, error in failed.items()
        ]
        summary = f"{len(failed)} of {count} cases failed"
        raise AssertionError("\n".join([summary, *lines])) from next(iter(failed.values()))


def each(
    cases: Callable[[], Iterable[tuple[object, T]]],
) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Make a test without arguments of a check that takes one of `cases`."""

    def decorate(check: Callable[[T], None]) -> Callable[[], None]:
        @wraps(check)
        def test() -> None:
            check_each(cases(), check)

        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]  # no fixtures
        return test

    return decorate


def _place_of(error: BaseException) -> str:
    """Return file and line of the check, which `check_each` called."""
    frame = error.__traceback__
    assert frame is not None
    frame = frame.tb_next or frame
    path = frame.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{path}:{frame.tb_lineno}"


def _reason_of(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
