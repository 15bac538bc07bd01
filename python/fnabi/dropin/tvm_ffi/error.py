"""Errors: classes of exceptions for kinds of errors, and backtraces."""

from __future__ import annotations

import re
import traceback
from types import TracebackType
from typing import Any

from fnabi.dropin.tvm_ffi import core
from fnabi.dropin.tvm_ffi._dialect import dialect

__all__ = ["register_error"]

_LINE = re.compile(r'File "(.+?)", line (\d+), in (.+)')


def register_error(name_or_cls: str | type | None = None, cls: type | None = None) -> Any:
    """Register a class of exceptions for errors of a kind; also as a decorator.

    Args:
        name_or_cls: The kind. Without it, the name of the class is the kind.
        cls: The class.

    """
    if isinstance(name_or_cls, type):
        cls, name_or_cls = name_or_cls, name_or_cls.__name__
    name = name_or_cls

    def registered(mycls: type) -> type:
        kind = name or mycls.__name__
        core.ERROR_NAME_TO_TYPE[kind] = mycls
        core.ERROR_TYPE_TO_NAME[mycls] = kind
        return mycls

    return registered if cls is None else registered(cls)


def _parse_backtrace(backtrace: str) -> list[tuple[str, int, str]]:
    """Return file, line and function of the lines of a backtrace."""
    return [(file, int(line), name) for file, line, name in _LINE.findall(backtrace)]


def _traceback_to_backtrace_str(tb: TracebackType | None) -> str:
    """Return the text of a traceback, the most recent call first."""
    lines = [
        f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
        for frame in traceback.extract_tb(tb)
    ]
    return "".join(reversed(lines))


def _backtrace(exception: BaseException, known: str) -> str:
    """Return the backtrace of an exception's error: what is known, and then Python's."""
    return known + _traceback_to_backtrace_str(exception.__traceback__)


dialect.backtrace = _backtrace
