"""What the errors of IREE's runtime mean: ``failures.explain(text)``.

The text may be what a program of Python raised, the output of ``iree-run-module``, or a log with
other lines around it. `FAILURES` has every kind that is known, with its meaning and remedy::

    >>> from fnabi import failures
    >>> text = "INVALID_ARGUMENT; bytecode version mismatch; runtime supports 15.0, module has 17.0"
    >>> (found,) = failures.explain(text)
    >>> found.name, found.values
    ('bytecode-version', {'has': '15.0', 'wanted': '17.0'})
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import msgspec

from fnabi.errors import ArgumentTypeError, type_name
from fnabi.vmfb import Module
from fnabi.vmfb._failure_places import is_of_call, places
from fnabi.vmfb._failure_table import FAILURES, Failure, fixed_part

__all__ = ["FAILURES", "Explanation", "Failure", "explain"]


def __dir__() -> list[str]:
    return __all__


class Explanation(msgspec.Struct, frozen=True):
    """An error of the runtime that was found in a text, and what it means.

    Attributes:
        name: The kind of failure as a short fixed name, that of a row of `FAILURES`.
        line: The line of the text, from 1, on which it is first.
        message: The runtime's words, without what is around them.
        values: What varies in the message, such as the versions that it names.
        title: What failed, as a phrase.
        meaning: What that means.
        places: What of the module it is about, and which releases have it; empty without a module.
            Of a part that cannot be read, the error.
        remedy: What to do.

    """

    name: str
    line: int
    message: str
    values: dict[str, str]
    title: str
    meaning: str
    places: tuple[str, ...]
    remedy: str


def explain(text: str, module: Module | None = None) -> tuple[Explanation, ...]:
    """Find the errors of IREE's runtime in a text, and explain each.

    The time is linear in the text. An error that is repeated is explained once; one about
    arguments, with a module, once for each function that was called.

    Args:
        text: An error message, the output of a program, or a log.
        module: The module that the runtime was to load or to call.

    Returns:
        The errors in the order of the text; none where no message is known.

    Raises:
        ArgumentTypeError: when `text` is not a str, or `module` not a Module.

    Example:
        >>> from fnabi import failures
        >>> text = "INVALID_ARGUMENT; function expected fewer input values; parsed 3 of 2"
        >>> for found in failures.explain(text):
        ...     print(found.title)
        the call has too many or too few arguments

    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"failures.explain: text: expected str, got {type_name(text)}")
    if module is not None and not isinstance(module, Module):
        got = type_name(module)
        raise ArgumentTypeError(f"failures.explain: module: expected Module, got {got}")
    text = _MARKS.sub("", text)
    matches = [
        (match.start(), order, match)
        for order, failure in enumerate(FAILURES)
        for pattern in failure.patterns
        for match in _found(pattern, text)
    ]
    matches.sort(key=lambda each: each[:2])
    lines = [0, *accumulate(len(line) for line in text.split("\n"))]
    starts = [start + number for number, start in enumerate(lines)]
    found: dict[tuple[object, ...], Explanation] = {}
    end = 0
    nexts = [*(start for start, *_ in matches[1:]), len(text)]
    for (start, order, match), following in zip(matches, nexts, strict=False):
        if start < end:
            continue  # part of what was found before
        end = match.end()
        failure = FAILURES[order]
        values = {name: value for name, value in match.groupdict().items() if value is not None}
        called = None
        if module is not None and is_of_call(failure.name):
            called = _called(text, end, max(end, min(following, end + _CONTEXT)))
        key = (order, called, *values.items())
        if key not in found:
            found[key] = Explanation(
                failure.name,
                bisect_right(starts, start),
                match[0],
                values,
                failure.title,
                failure.meaning,
                () if module is None else places(failure.name, values, module, called),
                failure.remedy,
            )
    return tuple(found.values())


_MARKS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|(?<!\r)\r+(?=\n|\Z)|\A\ufeff")
"""Colours, ends of lines of Windows and the mark of UTF-8, none of which the runtime wrote."""

_CALLED = re.compile(r"invoking function '([^'\n]{1,300})'|\bfunc @([^(\n]{1,300})\(")
"""Which function was called, as the runtime says after an error."""

_KEY = re.compile(r'"\s{0,2}:\s{0,2}"')
"""What is before a string in a line of JSON."""

_END = re.compile(r'(?<!\\)(?:\\\\)*("|\\[nr])')
"""The end of a string of JSON, or of a line in it."""

_CONTEXT = 2000
"""The most characters after an error that are looked at."""


def _called(text: str, start: int, end: int) -> str | None:
    called = _CALLED.search(text, start, end)
    return None if called is None else called[1] or called[2]


def _found(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find a pattern in the lines that have its longest fixed part, which is found faster."""
    fixed = fixed_part(pattern)
    at = text.find(fixed)
    while at >= 0:
        begin = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        key = _KEY.search(text, begin, end)
        for match in pattern.finditer(text, begin, end):
            start, stop = match.span()
            inside = key is not None and key.end() <= start
            after = _END.search(text, start, stop) if inside else None
            yield match if after is None else pattern.match(text, start, after.start(1)) or match
        at = text.find(fixed, end)
