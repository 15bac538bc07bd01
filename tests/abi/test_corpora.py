"""Ways to read a text that must agree, over every text that the tests have and changes of them.

The core has the results of the plain Python in `support.grammar`, the lane those of cffi, and the
scalar, block and vector decoders of columns those of single texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fnabi import cconv, declaration, iree_abi, raw, sip, types
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, FormatError
from support import corpora, grammar
from support.outcomes import outcome_of

LEAST = {"raw": 4500, "sip": 4500, "cconv": 300, "iree_abi": 2000, "declaration": 2000}
"""How many texts there are of each ABI, at least."""

CHANGES = 4000

READINGS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any]]] = {
    "raw": (raw.parse, grammar.raw_parse),
    "sip": (sip.parse, grammar.sip_parse),
    "cconv": (cconv.parse, grammar.cconv_parse),
    "iree_abi": (iree_abi.parse, grammar.iree_abi_parse),
}
"""The core and the plain Python; tests/abi/test_declaration.py compares declarations."""


def every(abi: str) -> Iterator[bytes]:
    """Yield the texts and their changes."""
    yield from corpora.texts(abi)
    yield from corpora.changes(abi, CHANGES)


@pytest.mark.parametrize("abi", corpora.ABIS)
def test_there_are_texts_that_are_read_and_texts_that_are_refused(abi: str) -> None:
    parse = {**{name: pair[0] for name, pair in READINGS.items()}, "declaration": declaration.parse}
    outcomes = [outcome_of(parse[abi], text) for text in corpora.texts(abi)]
    refused = sum(type(each) is tuple for each in outcomes)
    assert len(outcomes) >= LEAST[abi]
    assert 50 < refused < len(outcomes) - 200


@pytest.mark.parametrize("abi", READINGS)
def test_the_core_agrees_with_plain_python(abi: str) -> None:
    core, plain = READINGS[abi]
    for text in every(abi):
        found, expected = outcome_of(core, text), outcome_of(plain, text)
        if expected == ("json", 0, ""):  # which knows no more of malformed JSON
            assert isinstance(found, tuple), text
        else:
            assert found == expected, text


# -------------------------------------------------------------------------- the lane and cffi


def shown(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return a result with the types of all its parts, or all of an error."""
    try:
        return repr(read(*arguments))
    except (FormatError, CallError) as error:
        return type(error), str(error), vars(error)


@pytest.mark.parametrize("abi", ["raw", "iree_abi"])
def test_the_lane_agrees_with_cffi(abi: str) -> None:
    assert types.decoder is not None
    module: Any = {"raw": raw, "iree_abi": iree_abi}[abi]
    fast = getattr(types.decoder, abi)
    for text in every(abi):
        assert shown(fast, text, module._layout) == shown(module._parse_by_message, text), text


# ------------------------------------------------------------------------------------- decoders

DECODERS = [
    name
    for name in ("SCALAR", "NEON", "AVX2", "AVX512")
    if lib.fnabi_decoder_find(getattr(lib, f"FNABI_DECODER_{name}")) >= 0
]
"""Those that this processor has. Other ABIs than raw and SIP have the reference alone."""


def contents(abi: int, decoder: int, data: bytes) -> tuple[object, ...]:
    """Decode lines with a decoder, and return the bytes of every column, and the dtypes."""
    columns = ffi.gc(lib.fnabi_columns_new(abi, decoder), lib.fnabi_columns_free)
    error, used = ffi.new("fnabi_error *"), ffi.new("size_t *")
    rows = lib.fnabi_columns_decode_lines(
        columns, data, len(data), True, (1 << 64) - 1, used, error
    )
    assert rows == lib.fnabi_columns_rows(columns)
    assert used[0] == len(data)
    found: list[object] = [rows]
    at, size = ffi.new("void **"), ffi.new("size_t *")
    for column in range(lib.FNABI_COLUMN_COUNT):
        width = lib.fnabi_columns_read(columns, column, at, size)
        found.append((width, bytes(ffi.buffer(at[0], size[0])) if width else b""))
    needed = lib.fnabi_columns_dtypes(columns, ffi.NULL, 0)
    dtypes = ffi.new("uint8_t[]", needed)
    lib.fnabi_columns_dtypes(columns, dtypes, needed)
    return (*found, bytes(ffi.buffer(dtypes)))


@pytest.mark.parametrize("abi", ["raw", "sip"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_every_decoder_makes_the_same_columns(abi: str, rows: int) -> None:
    """Alone, a few together, and many: fast decoders give up where one of many is malformed."""
    number = getattr(lib, f"FNABI_ABI_{abi.upper()}")
    lines = [text.replace(b"\n", b"") for text in every(abi)]
    for at in range(0, len(lines), rows):
        data = b"\n".join(lines[at : at + rows])
        expected = contents(number, lib.FNABI_DECODER_REFERENCE, data)
        for name in DECODERS:
            decoder = getattr(lib, f"FNABI_DECODER_{name}")
            assert contents(number, decoder, data) == expected, (name, data)
