"""The ABIs that ``fnabi decode`` reads, by the names of ``--abi``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fnabi.abi import cconv, declaration, iree_abi, raw, sip
from fnabi.abi.signature import SignatureParser
from fnabi.errors import FormatError

BLANK = "the line is blank, expected a signature"

PARSERS: dict[str, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "cconv": cconv.parse,
    "iree.abi": iree_abi.parse,
    "declaration": declaration.parse,
    "tokens": lambda data: list(SignatureParser(data)),
}


def parse(text: bytes, abi: str) -> Any:
    """Parse a text; an error has the ABI that reads it as its hint.

    Raises:
        FormatError: It is no text of the ABI.

    """
    try:
        return PARSERS[abi](text)
    except FormatError as problem:
        meant = meant_abi(text)
        if problem.hint is None and meant is not None:
            problem.hint = f"--abi={meant} reads it"
        raise


def meant_abi(text: bytes) -> str | None:
    """Return the ABI whose signature a text is, or None if it is one of none."""
    for abi, read in PARSERS.items():
        if text and abi != "tokens":  # of which most texts consist
            with suppress(FormatError):
                read(text)
                return abi
    return None
