"""Parse declarations the slow and obvious way, into every parse that their grammar allows.

The tests compare the core with this parser. It shares only the types of the results with the
core. Texts are bytes in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fnabi.types import Buffer, DType, DTypeKind, HomogeneousList, Ref, Scalar, Type, Unknown

BRACKETS = {b"(": b")", b"[": b"]", b"{": b"}", b"<": b">"}
DEPTH_MAX = 128


class Value(NamedTuple):
    name: bytes
    type: bytes
    attributes: bytes
    """The attributes with their braces; empty if there are none."""


class Reading(NamedTuple):
    name: bytes
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]


class TooDeepError(Exception):
    pass


# -------------------------------------------------------------------------------- readings


def readings(text: bytes) -> Iterator[Reading]:
    """Return every parse, the shortest function names first, then the shortest value names."""
    head = re.match(rb"(sync |async )?func @", text)
    if head is None:
        return
    for bracket in re.finditer(rb"\(", text):
        if bracket.start() >= head.end():
            name = text[head.end() : bracket.start()]
            for inputs, at in lists(text, bracket.end(), b") -> ("):
                for results, end in lists(text, at, b")"):
                    if end == len(text):
                        yield Reading(name, tuple(inputs), tuple(results))


def lists(text: bytes, at: int, close: bytes) -> Iterator[tuple[list[Value], int]]:
    """Return the lists at `at` and the offset after `close`."""
    if text.startswith(close, at):
        yield [], at + len(close)
    if text.startswith(b"%", at):
        for colon in re.finditer(rb": ", text[at:]):
            value, end = read_value(text, at, at + colon.start())
            if value is not None and text.startswith(close, end):
                yield [value], end + len(close)
            if value is not None and text.startswith(b", %", end):
                for others, last in lists(text, end + 2, close):
                    yield [value, *others], last


def read_value(text: bytes, at: int, colon: int) -> tuple[Value | None, int]:
    type_end = end = skip_type(text, colon + 2)
    if type_end and text.startswith(b" {", type_end):
        end = skip_brackets(text, type_end + 1)
    if not end:
        return None, 0
    return Value(text[at + 1 : colon], text[colon + 2 : type_end], text[type_end + 1 : end]), end


def skip_type(text: bytes, at: int) -> int:
    if not text.startswith(b"(", at):
        return skip_named(text, at)
    end = skip_brackets(text, at)
    if not end or not text.startswith(b" -> ", end):
        return 0
    after = end + 4
    return skip_brackets(text, after) if text.startswith(b"(", after) else skip_named(text, after)


def skip_named(text: bytes, at: int) -> int:
    word = re.compile(rb"!?[A-Za-z][A-Za-z0-9_$.-]*").match(text, at)
    if word is None:
        return 0
    return skip_brackets(text, word.end()) if text.startswith(b"<", word.end()) else word.end()


def skip_brackets(text: bytes, at: int) -> int:
    """Return the offset after the bracket that closes the one at `at`, or 0."""
    open_ones: list[bytes] = []
    piece = re.compile(rb'"[^"]*"?|->|>=|[][(){}<>]')
    for found in piece.finditer(text, at):
        token = found.group()
        if token in BRACKETS:
            if len(open_ones) == DEPTH_MAX:
                raise TooDeepError(found.start())
            open_ones.append(BRACKETS[token])
        elif len(token) == 1 and token != b'"':
            if open_ones.pop() != token:
                return 0
            if not open_ones:
                return found.end()
    return 0


def attributes(text: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the pairs of an attribute dictionary, which includes its braces."""
    parts, depth, quoted, start = [], 0, False, 1
    for at, (before, byte, after) in enumerate(
        zip(b" " + text, text, text[1:] + b" ", strict=False)
    ):
        character = chr(byte)
        if character == '"':
            quoted = not quoted
        elif not quoted and character in "([{<":
            depth += 1
        elif not quoted and character in ")]}>":
            depth -= 0 if character == ">" and (before == ord("-") or after == ord("=")) else 1
        elif not quoted and character == "," and depth == 1:
            parts.append(text[start:at])
            start = at + (2 if after == ord(" ") else 1)
    if start < len(text) - 1:
        parts.append(text[start:-1])
    return tuple((key, value) for key, _, value in (part.partition(b" = ") for part in parts))


# ----------------------------------------------------------------------------------- types

DTYPES: dict[str, DType] = {
    "index": DType("index", 64),
    "i1": DType("bool", 1),
    "bf16": DType("bfloat", 16),
    "tf32": DType("float", 19, "tf32"),
    **{f"f{bits}": DType("float", bits) for bits in (16, 32, 64, 80, 128)},
    **{
        f"f{bits}{format}": DType("float", bits, format.lower())
        for bits, formats in (
            (8, "E5M2 E4M3 E4M3FN E5M2FNUZ E4M3FNUZ E4M3B11FNUZ E3M4 E8M0FNU"),
            (6, "E2M3FN E3M2FN"),
            (4, "E2M1FN"),
        )
        for format in formats.split()
    },
}
SIGNS: dict[str, DTypeKind] = {"": "signless", "s": "signed", "u": "unsigned"}


def dtype_of(text: str) -> DType | None:
    part = re.fullmatch(r"complex<(.*)>", text)
    if part:
        dtype = dtype_of(part[1])
        if dtype is None or dtype.kind == "complex" or dtype.bits > 16777215 // 2:
            return None
        ieee = dtype.kind == "float" and not dtype.format
        return DType("complex", 2 * dtype.bits, "" if ieee else part[1])
    integer = re.fullmatch(r"([su]?)i([1-9][0-9]*)", text)
    if integer and text != "i1":
        bits = int(integer[2])
        return DType(SIGNS[integer[1]], bits) if bits <= 16777215 else None
    return DTYPES.get(text)


def type_of(text: str) -> Type:
    """Return the type for the text of a type."""
    tensor = re.fullmatch(r"tensor<(\*x|(?:[0-9?]+x)*)([^,]*?)(,.*)?>", text, re.DOTALL)
    if tensor:
        element = dtype_of(tensor[2])
        if element is None:
            return Unknown()
        if tensor[1] == "*x":
            return Buffer(element, None)
        dims = tensor[1].split("x")[:-1]
        shape = tuple(None if dim == "?" else int(dim) if dim.isdigit() else -1 for dim in dims)
        if any(dim is not None and not 0 <= dim < 2**63 for dim in shape):
            return Unknown()
        return Buffer(element, shape)
    scalar = dtype_of(text)
    if scalar is not None:
        return Scalar(scalar)
    if text == "!vm.ref<?>":
        return Ref()
    if text == "!util.list<?>":
        return HomogeneousList(Unknown())
    data = text.encode("utf-8", "surrogateescape")
    if data.startswith(b"!util.list<") and skip_type(data, 11) == len(data) - 1:
        return HomogeneousList(type_of(text[11:-1]))
    return Ref(text) if text.startswith("!") else Unknown()


def letter_of(text: str) -> str | None:
    """Return the calling convention's letter for a type, or None if it is unknown."""
    if text.startswith(("!", "tensor<")):
        return "r"
    dtype = dtype_of(text)
    if dtype is None or dtype.kind == "complex" or dtype.bits > 64:
        return None
    if dtype.kind == "float" and dtype.bits >= 32:
        return "f" if dtype.bits == 32 else "F"
    return "i" if dtype.bits <= 32 else "I"


# ------------------------------------------------------------------------- what is known


def fits(reading: Reading, inputs: int | str | None, results: int | str | None) -> bool:
    """Return whether a parse has the known counts and letters."""
    return side_fits(reading.inputs, inputs) and side_fits(reading.results, results)


def side_fits(values: tuple[Value, ...], known: int | str | None) -> bool:
    if known is None:
        return True
    if isinstance(known, int):
        return len(values) == known
    letters = [letter_of(value.type.decode("utf-8", "surrogateescape")) for value in values]
    return len(letters) == len(known) and all(
        letter in (None, other) for letter, other in zip(letters, known, strict=True)
    )
