"""Facts about compiled modules that texts, JSON and pages report alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntFlag
from functools import lru_cache, partial
from typing import Any, TypeAlias

from fnabi import vmfb
from fnabi.abi import cconv
from fnabi.errors import FormatError
from fnabi.types import Signature
from fnabi.vmfb import debug
from fnabi.vmfb._verdict import Answers

Texts: TypeAlias = dict[str, Any]
"""The parsed texts of a function by source; a malformed one is a FormatError."""


def texts_of(export: vmfb.Export) -> Texts:
    """Parse each text of a function, the best one first."""
    parsers: dict[str, Callable[[], Any]] = {
        "iree.abi.declaration": lambda: export.declaration,
        "f": lambda: export.raw,
        "sip": lambda: export.sip,
        "cconv": lambda: cconv.parse(export.calling_convention.encode("utf-8", "surrogateescape")),
    }
    if "iree.abi" in export.attrs:
        parsers = {"iree.abi": partial(_iree_abi, export)} | parsers
    found: Texts = {}
    for source, parse in parsers.items():
        try:
            value = parse()
        except FormatError as problem:
            value = problem
        if value is not None:
            found[source] = value
    return found


def _iree_abi(export: vmfb.Export) -> Signature | None:
    """Return the signature of ``iree.abi``, or None if it is ignored, for example when empty."""
    problem = export.problem
    if problem is not None and re.match(r'exports\[\d+\]\.attrs\["iree\.abi"\]', problem.path):
        raise problem
    return export.signature if export.source == "iree.abi" else None


def faults(export: vmfb.Export, texts: Texts) -> dict[str, FormatError]:
    """Return the texts that are malformed, by source; a declaration may be any text."""
    found = {
        source: value
        for source, value in texts.items()
        if isinstance(value, FormatError) and source != "iree.abi.declaration"
    }
    if export.source is None and not found and export.problem is not None:
        found["signature"] = export.problem
    return found


def answers_of(module: vmfb.Module) -> Answers | None:
    """Return what the releases of IREE's runtime answer; None for a damaged module.

    Their `hosts` are the modules that must be registered beside this one, without ``hal``: a
    context of ``iree.runtime`` has that; a program that runs the module must register others, such
    as ``hal_inline`` and ``hal_loader``, itself.
    """
    try:
        return module._answers()
    except FormatError:
        return None


def flag_names(flags: IntFlag) -> list[str]:
    """Return the names of flags; bits without a name become a number."""
    return [*_flag_names(flags)]


@lru_cache(256, typed=True)
def _flag_names(flags: IntFlag) -> list[str]:
    """Do it once for flags that many modules of a fleet have."""
    rest = int(flags)
    names = []
    for flag in type(flags):
        if flag in flags:
            names.append(str(flag.name))
            rest &= ~int(flag)
    return names + ([hex(rest)] if rest else [])


def span_count(convention: cconv.CallingConvention) -> int:
    """Return the number of variadic arguments."""
    return sum(isinstance(argument, cconv.Span) for argument in convention.arguments)


def place_of(module: vmfb.Module, function: str) -> debug.SourceLocation | None:
    """Return the place in the sources of the first operation of a function that has one."""
    database = module.debug
    if database is None:
        return None
    row = database._first_rows.get(function)
    return None if row is None else database.resolve(row)
