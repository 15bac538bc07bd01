"""Errors as the command shows them: the file once, and no names of functions of Python."""

from __future__ import annotations

import errno
from typing import Any

import fnabi
from fnabi.cli.screen import complain, where
from fnabi.errors import CallError, FnabiError


def tell(problem: FnabiError | OSError, file: str | None = None, hint: str = "") -> None:
    """Write an error to standard error.

    Args:
        problem: The error. The file that it names itself is shown rather than `file`.
        file: The file that the verb was about, or None; "-" is standard input.
        hint: The end of the text.

    """
    if isinstance(problem, FnabiError):
        file, text = problem.file or file, problem.text
        if isinstance(problem, CallError):
            text = _without_function(text)
            if text != problem.text:  # fnabi was called wrongly, or lacks a package
                file = None
    else:
        file, text = problem.filename, problem.strerror or str(problem)
        if problem.errno == errno.EISDIR and "expected" not in text:
            text += ", expected a file"
    if isinstance(file, bytes):
        file = file.decode(errors="surrogateescape")
    first, *excerpt = text.split("\n")
    is_named = file is not None and text.startswith(f"{file}: ")
    complain("" if is_named else where(file), "\n".join([first + hint, *excerpt]))


def _without_function(text: str) -> str:
    """Return the text of a CallError without the function of fnabi that it begins with."""
    name, _, rest = text.partition(": ")
    if not rest or name.partition(" ")[0] == "fnabi":
        return rest or text
    found: Any = fnabi
    for part in name.removeprefix("fnabi.").split("."):
        found = getattr(found, part, None)
    return text if found is None else rest
