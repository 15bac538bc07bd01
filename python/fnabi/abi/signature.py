"""Signatures as plain text: tagged integers and spans.

`SignatureBuilder` and `SignatureParser` are IREE's classes of the same names
(``iree/base/signature_mangle.h``), methods in snake case and getters as properties. The grammar
is in ``fnabi.h``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, NoReturn

from fnabi._base import core, lane
from fnabi._base.arguments import argument_error, check_type
from fnabi._base.core import Data
from fnabi._fnabi import ffi, lib

__all__ = ["Component", "ComponentType", "SignatureBuilder", "SignatureParser"]


def __dir__() -> list[str]:
    return __all__


class ComponentType(IntEnum):
    """The kind of component that a parser is at."""

    END = lib.FNABI_COMPONENT_END
    INTEGER = lib.FNABI_COMPONENT_INTEGER
    SPAN = lib.FNABI_COMPONENT_SPAN
    ERROR = lib.FNABI_COMPONENT_ERROR


class Component(NamedTuple):
    """One component: an integer with its value, or a span with its contents."""

    type: ComponentType
    tag: str
    ival: int
    sval: bytes


class SignatureBuilder(lane.SignatureBuilder):
    """Builder of a signature, component by component.

    Example:
        >>> import fnabi
        >>> builder = fnabi.SignatureBuilder()
        >>> builder.integer(5).span(b"foobar", "A").encoded
        b'_5A7!foobar'

    """

    __slots__ = ()

    def append_to(self, other: SignatureBuilder, tag: str) -> None:
        """Append everything built so far to `other`, as one span with `tag`."""
        try:
            other.span(self.encoded, tag)
        except AttributeError:
            check_type("SignatureBuilder.append_to: other", other, SignatureBuilder)
            raise

    def _integer(self, value: int, tag: str) -> SignatureBuilder:
        return self._append(_encode_integer(value, tag))

    def _span(self, contents: Data, tag: str) -> SignatureBuilder:
        return self._append(_encode_span(contents, tag))

    def __repr__(self) -> str:
        return f"<SignatureBuilder {self.encoded!r}>"


def _encode_integer(value: int, tag: str) -> bytes:
    """Encode an integer: the plain equivalent of the fast path, which raises the errors."""
    function = "SignatureBuilder.integer"
    number = core.int32(value, function, "value")
    return core.fill(lib.fnabi_signature_integer, function, number, _byte(tag, function))


def _encode_span(contents: bytes | bytearray | memoryview | str, tag: str) -> bytes:
    """Encode a span: the plain equivalent of the fast path, for any contents."""
    function = "SignatureBuilder.span"
    data = core.text_bytes(contents, function, "contents")
    return core.fill(lib.fnabi_signature_span, function, data, len(data), _byte(tag, function))


class SignatureParser(lane.SignatureParser):
    """Parser that is at one component of a signature, at first the first one.

    `next` goes to the following component. It returns END again at the end and ERROR again at an
    error, without raising. Iteration yields the components from the current one on, and raises
    `FormatError` at an error.

    Args:
        data: The signature; a str must be ASCII.

    Raises:
        CallError: when `data` has another type.

    Example:
        >>> import fnabi
        >>> parser = fnabi.SignatureParser(b"_5A7!foobar")
        >>> parser.type.name, parser.tag, parser.ival
        ('INTEGER', '_', 5)
        >>> [component.sval for component in parser]
        [b'', b'foobar']

    """

    __slots__ = ()

    def seek_tag(self, tag: str) -> bool:
        """Go to the next component with `tag`, starting with the current one.

        Returns:
            False when there is none; the parser is then at the end or at an error.

        """
        return self._seek(_byte(tag, "SignatureParser.seek_tag"))

    @staticmethod
    def _bytes(data: object) -> bytes:
        return core.data_bytes(data, "SignatureParser", "data")

    def _raise(self) -> NoReturn:
        error = ffi.new("fnabi_error *")
        error.code, error.offset, data = self._error
        raise core.format_error(error, data)

    def __repr__(self) -> str:
        return f"<SignatureParser {self.type.name} {self.tag!r} at byte {self.offset}>"


def _byte(tag: str, function: str) -> int:
    if isinstance(tag, str) and len(tag) == 1 and ord(tag) < 256:
        return ord(tag)
    raise argument_error(f"{function}: tag", "a character of one byte", tag, str)


lane.signature_classes(tuple(ComponentType), Component, SignatureParser)
