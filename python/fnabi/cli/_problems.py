"""Errors as the command shows them: the file once, and no names of functions of Python."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import fnabi
from fnabi._base.secrets import hidden_urls
from fnabi.cli._screen import complain, parted, plain, where
from fnabi.cli._streams import drop_output
from fnabi.errors import CallError, FnabiError, FormatError, NotFoundError


def tell(problem: FnabiError | OSError, file: str | None = None, hint: str = "") -> None:
    """Write an error to standard error.

    Args:
        problem: The error. The file that it names itself is shown rather than `file`.
        file: The file that the verb was about, or None; "-" is standard input.
        hint: The end of the text.

    Raises:
        MemoryError: when that is what the error is about, as where Python looks for a module.

    """
    if isinstance(problem, OSError) and problem.errno == errno.ENOMEM:
        raise MemoryError from problem
    if isinstance(problem, FnabiError):
        file = file if problem.file is None else problem.file
        text = problem.text
        if isinstance(problem, (CallError, NotFoundError)):
            text = _without_function(text)
            if text != problem.text:  # fnabi was called wrongly, or lacks a package
                file = None
    else:
        file, text = problem.filename, problem.strerror or str(problem)
        if problem.errno == errno.EISDIR and "expected" not in text:
            text += ", expected a file"
    if isinstance(file, bytes):
        file = file.decode(errors="surrogateescape")
    excerpt: list[str] = []
    if isinstance(problem, FormatError):
        text, excerpt = parted(problem, text)
    is_named = file is not None and text.startswith(f"{file}: ")
    place = "" if is_named else where(file)
    if file == "-" and isinstance(problem, FileNotFoundError):
        place, hint = "-: ", f"{hint}; it is not standard input here"
    complain(place, text + hint, excerpt)


ISSUES = "https://github.com/fnabi/fnabi/issues"

_INTERNAL = 70
"""The exit status for a fault of fnabi itself, which `sysexits.h` names EX_SOFTWARE."""


def tell_unknown(problem: Exception | KeyboardInterrupt) -> int:
    """Report an exception that nothing has foreseen, and return the exit status."""
    drop_output()
    if isinstance(problem, KeyboardInterrupt):
        return 130
    import traceback  # slow, and this error should not occur

    if os.environ.get("FNABI_TRACEBACK", "0") not in ("", "0"):
        text = "".join(traceback.format_exception(problem))
        sys.stderr.write(plain(hidden_urls(text)))
    what = "".join(traceback.format_exception_only(problem)).rstrip()
    ask = f"please report it at {ISSUES} with what FNABI_TRACEBACK=1 shows"
    complain("", f"internal error: {what}; {ask}")
    return _INTERNAL


def _without_function(text: str) -> str:
    """Return the text of a CallError without the function of fnabi that it begins with."""
    name, _, rest = text.partition(": ")
    if not rest or name.partition(" ")[0] == "fnabi":
        return rest or text
    found: Any = fnabi
    for part in name.removeprefix("fnabi.").split("."):
        found = getattr(found, part, None)
    return text if found is None else rest
