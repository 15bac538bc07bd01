"""Signatures as plain text: tagged integers and spans.

`SignatureBuilder` and `SignatureParser` are IREE's classes of the same names
(``iree/base/signature_mangle.h``), methods in snake case and getters as properties. The grammar
is in ``fnabi.h``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import msgspec

from fnabi._base import core
from fnabi._base.arguments import argument_error
from fnabi._base.core import Data
from fnabi._base.lane import signature_integer, signature_span
from fnabi._fnabi import ffi, lib

__all__ = ["Component", "ComponentType", "SignatureBuilder", "SignatureParser"]


def __dir__() -> list[str]:
    return __all__


_CHUNK = 256
"""The number of components read in one crossing: all of them, except in the largest signatures."""


class ComponentType(IntEnum):
    """The kind of component that a parser is at."""

    END = lib.FNABI_COMPONENT_END
    INTEGER = lib.FNABI_COMPONENT_INTEGER
    SPAN = lib.FNABI_COMPONENT_SPAN
    ERROR = lib.FNABI_COMPONENT_ERROR


_STOPS = (ComponentType.END, ComponentType.ERROR)


class Component(NamedTuple):
    """One component: an integer with its value, or a span with its contents."""

    type: ComponentType
    tag: str
    ival: int
    sval: bytes


class SignatureBuilder:
    """Builder of a signature, component by component."""

    __slots__ = ("_encoded",)

    def __init__(self) -> None:
        self._encoded = bytearray()

    def integer(self, value: int, tag: str = "_") -> SignatureBuilder:
        """Append an integer.

        Args:
            value: An int32.
            tag: ``_`` or ``a`` to ``z``.

        Returns:
            The builder itself.

        Raises:
            RangeError: (an `OverflowError`) when `value` does not fit in int32.
            CallError: when `tag` is not an integer tag.

        """
        if signature_integer(self._encoded, value, tag):
            return self
        return self._append(_encode_integer(value, tag))

    def span(self, contents: Data, tag: str) -> SignatureBuilder:
        """Append a span.

        Args:
            contents: Any bytes, fewer than 2**31 - 1; a str is written as UTF-8.
            tag: ``A`` to ``Z``.

        Returns:
            The builder itself.

        Raises:
            RangeError: (an `OverflowError`) when the length of `contents` does not fit in int32.
            CallError: when `tag` is not a span tag, or `contents` has another type.

        """
        if signature_span(self._encoded, contents, tag):
            return self
        return self._append(_encode_span(contents, tag))

    def append_to(self, other: SignatureBuilder, tag: str) -> None:
        """Append everything built so far to `other`, as one span with `tag`."""
        other.span(bytes(self._encoded), tag)

    @property
    def encoded(self) -> bytes:
        """The signature built so far."""
        return bytes(self._encoded)

    def _append(self, component: bytes) -> SignatureBuilder:
        self._encoded += component
        return self

    def __repr__(self) -> str:
        return f"<SignatureBuilder {self.encoded!r}>"


def _encode_integer(value: int, tag: str) -> bytes:
    """Encode an integer: the plain equivalent of the fast path, which raises the errors."""
    function = "SignatureBuilder.integer"
    return core.fill(lib.fnabi_signature_integer, function, value, _byte(tag, function))


def _encode_span(contents: bytes | bytearray | memoryview | str, tag: str) -> bytes:
    """Encode a span: the plain equivalent of the fast path, for any contents."""
    function = "SignatureBuilder.span"
    data = core.text_bytes(contents, function, "contents")
    return core.fill(lib.fnabi_signature_span, function, data, len(data), _byte(tag, function))


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    type: ComponentType
    tag: str
    ival: int
    code: int
    offset: int
    begin: int
    end: int


_records = core.Decoder(list[_Record])


class SignatureParser:
    """Parser that is at one component of a signature, at first the first one.

    `next` goes to the following component. It returns END again at the end and ERROR again at an
    error, without raising. Iteration yields the components from the current one on, and raises
    `FormatError` at an error.

    Args:
        data: The signature; a str must be ASCII.

    Raises:
        CallError: when `data` has another type.

    """

    __slots__ = ("_at", "_current", "_data", "_records", "_size")

    def __init__(self, data: Data) -> None:
        self._stand(core.data_bytes(data, "SignatureParser", "data"), 0, None)

    def _stand(self, data: bytes, begin: int, end: int | None) -> None:
        self._data = data
        self._size = len(data) if end is None else end
        self._read(begin)

    def _read(self, offset: int) -> None:
        self._records = core.decode(_read_records, _records, self._data, self._size, offset)
        self._at = 0
        self._current = self._records[0]

    @property
    def type(self) -> ComponentType:
        """The kind of the current component."""
        return self._current.type

    @property
    def tag(self) -> str:
        """The tag, one character; the byte found at an error, and NUL at the end."""
        return self._current.tag

    @property
    def ival(self) -> int:
        """The value of an integer, or the size in bytes of the contents of a span."""
        return self._current.ival

    @property
    def sval(self) -> bytes:
        """The contents of a span; empty for any other component."""
        current = self._current
        if current.type is not ComponentType.SPAN:
            return b""
        return self._data[current.begin : current.end]

    @property
    def offset(self) -> int:
        """The position of the component, in bytes from the start of the data."""
        return self._current.offset

    @property
    def end_or_error(self) -> bool:
        """Whether the parser is at the end or at an error."""
        return self._current.type in _STOPS

    def next(self) -> ComponentType:
        """Go to the next component and return its type."""
        at = self._at + 1
        if at < len(self._records):  # an end or an error is the last record
            self._at = at
            self._current = self._records[at]
        elif self._current.type not in _STOPS:
            self._read(self._current.end)
        return self._current.type

    def seek_tag(self, tag: str) -> bool:
        """Go to the next component with `tag`, starting with the current one.

        Returns:
            False when there is none; the parser is then at the end or at an error.

        """
        component = ffi.new("fnabi_component *")
        byte = _byte(tag, "SignatureParser.seek_tag")
        found: bool = lib.fnabi_signature_seek(
            self._data, self._size, self._current.offset, byte, component
        )
        self._read(component.offset)
        return found

    def nested(self) -> SignatureParser:
        """Return a parser of the current span's contents, or of nothing when it is not a span."""
        current = self._current
        begin = current.begin if current.type is ComponentType.SPAN else current.end
        parser = SignatureParser.__new__(SignatureParser)
        parser._stand(self._data, begin, max(begin, current.end))
        return parser

    def __iter__(self) -> Iterator[Component]:
        while (current := self._current).type not in _STOPS:
            yield Component(current.type, current.tag, current.ival, self.sval)
            self.next()
        if self._current.type is ComponentType.ERROR:
            error = ffi.new("fnabi_error *")
            error.code, error.offset = self._current.code, self._current.end
            raise core.format_error(error, self._data)

    def __repr__(self) -> str:
        return f"<SignatureParser {self.type.name} {self.tag!r} at byte {self.offset}>"


def _read_records(
    data: bytes, _: int, size: int, offset: int, out: object, capacity: int, error: object
) -> int:
    needed: int = lib.fnabi_signature_decode(data, size, offset, _CHUNK, out, capacity)
    return needed


def _byte(tag: str, function: str) -> int:
    if isinstance(tag, str) and len(tag) == 1 and ord(tag) < 256:
        return ord(tag)
    raise argument_error(f"{function}: tag", "a character of one byte", tag, str)
