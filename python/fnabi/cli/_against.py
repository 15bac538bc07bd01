"""``fnabi verify --against``: files of parameters that modules are held against."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import TypeAlias

from fnabi.cli._screen import one_line
from fnabi.errors import FormatError
from fnabi.vmfb import parameters

Given: TypeAlias = dict[str | None, parameters.Index]
"""Sizes of parameters by scope; under None those for any scope."""


def add_against(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--against",
        metavar="[SCOPE=]FILE",
        action="append",
        default=[],
        help="a file of parameters (.irpa, .gguf or .safetensors) that must have all that the"
        " modules use, in one scope or in any; may be repeated",
    )


def read_given(against: Iterable[str]) -> Given | None:
    """Read the files; None without any."""
    given: Given = {}
    for each in against:
        scope, mark, file = each.partition("=")  # as for IREE's --parameters
        if mark and not os.path.exists(each):
            given.setdefault(scope, {}).update(_read(file))
        else:
            given.setdefault(None, {}).update(_read(each))
    return given or None


def _read(file: str) -> parameters.Index:
    try:
        return parameters.read(file)
    except FormatError as problem:
        raise FormatError(
            problem.code,
            problem.offset,
            one_line(file),
            reason=problem.reason,
            expected=problem.expected,
            found=problem.found,
        ) from None
