"""The classes of IREE's ``iree/base/signature_mangle.h`` for raw and SIP signatures.

They return what the C++ classes return, leniencies included. `fnabi.dropin.signature_mangle` has
their names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_type, iterator_of
from fnabi._base.core import Data
from fnabi._fnabi import lib
from fnabi.abi._scalar import ScalarType
from fnabi.abi.signature import SignatureBuilder
from fnabi.errors import ArgumentValueError
from fnabi.types import shape_text


class VisitingParser:
    """Base of the parsers that call a visitor: the first error stays and stops the parser."""

    __slots__ = ("_error",)

    def __init__(self) -> None:
        self._error: str | None = None

    @property
    def error(self) -> str | None:
        """The text of the first error, or None."""
        return self._error

    def set_error(self, error: str) -> None:
        """Stop with an error, unless there is one already; for visitors."""
        if self._error is None:
            self._error = error


def _check_sides(mangler: type, inputs: object, results: object) -> None:
    for name, side in (("inputs", inputs), ("results", results)):
        check_type(f"{mangler.__name__}.to_function_signature: {name}", side, mangler)


class RawSignatureMangler:
    """Builder of one side of a signature, value by value.

    Example:
        >>> from fnabi import raw
        >>> inputs = raw.RawSignatureMangler()
        >>> inputs.add_shaped_nd_buffer(0, [10, -1])
        >>> raw.RawSignatureMangler.to_function_signature(inputs, raw.RawSignatureMangler()).encoded
        b'I10!B7!d10d-1R1!'

    """

    __slots__ = ("_builder",)

    def __init__(self) -> None:
        self._builder = SignatureBuilder()

    @staticmethod
    def to_function_signature(
        inputs: RawSignatureMangler, results: RawSignatureMangler
    ) -> SignatureBuilder:
        """Combine both sides into the signature of a function."""
        _check_sides(RawSignatureMangler, inputs, results)
        function = SignatureBuilder()
        inputs._builder.append_to(function, "I")
        results._builder.append_to(function, "R")
        return function

    def add_any_reference(self) -> None:
        """Add a reference to an object of any type."""
        self._builder.span(b"", "O")

    def add_unrecognized(self) -> None:
        """Add a value of a type that has no encoding."""
        self._builder.span(b"", "U")

    def add_scalar(self, type: ScalarType | int) -> None:
        """Add a scalar.

        Raises:
            CallError: when `type` is not a scalar type.

        """
        self._builder._append(
            core.fill(lib.fnabi_raw_scalar, "RawSignatureMangler.add_scalar", type)
        )

    def add_shaped_nd_buffer(self, element_type: ScalarType | int, shape: Iterable[int]) -> None:
        """Add a buffer; a dynamic dim is -1.

        Raises:
            CallError: when `element_type` is not a scalar type.
            RangeError: when a dim does not fit in int32.

        """
        function = "RawSignatureMangler.add_shaped_nd_buffer"
        dims = core.int32_array(shape, function, "shape")
        self._builder._append(
            core.fill(lib.fnabi_raw_buffer, function, element_type, dims, len(dims))
        )

    @property
    def builder(self) -> SignatureBuilder:
        """The builder of what was added so far."""
        return self._builder


class Description:
    """One argument or result, as `RawSignatureParser` passes it to a visitor.

    Attributes:
        type: Its kind.
        dims: The dims of a buffer; any negative one is dynamic.
        scalar_type: The element type of a buffer, the type of a scalar, else None.

    """

    __slots__ = ("dims", "scalar_type", "type")

    class Type(IntEnum):
        """The kind of value that a description is about."""

        BUFFER = lib.FNABI_TYPE_BUFFER
        SCALAR = lib.FNABI_TYPE_SCALAR
        REF_OBJECT = lib.FNABI_TYPE_REF
        UNRECOGNIZED = lib.FNABI_TYPE_UNKNOWN

    def __init__(self, type: Type, dims: list[int], scalar_type: ScalarType | None) -> None:
        self.type = type
        self.dims = dims
        self.scalar_type = scalar_type

    def to_string(self) -> str:
        """Return the text: ``Buffer<float32[?x128]>``, ``sint32``, ``RefObject<?>``."""
        if self.type is Description.Type.BUFFER:
            shape = shape_text(tuple(None if dim < 0 else dim for dim in self.dims))
            return f"Buffer<{self.scalar_type}[{shape}]>"
        if self.type is Description.Type.SCALAR:
            return str(self.scalar_type)
        return "RefObject<?>" if self.type is Description.Type.REF_OBJECT else "!UNKNOWN!"

    def __repr__(self) -> str:
        return f"<Description {self.to_string()}>"


class _RawVisited(msgspec.Struct, frozen=True, array_like=True, gc=False):
    items: list[tuple[Description.Type, list[int], ScalarType]]
    code: int


_raw_visited = core.Decoder(_RawVisited)
_TYPED = (Description.Type.BUFFER, Description.Type.SCALAR)


class RawSignatureParser(VisitingParser):
    """Parser that passes the values of a signature to a visitor, one by one.

    It accepts whatever the C++ class accepts: components in any order, the first ``I`` and the
    first ``R``, the last element type of a buffer. It stops at the first error, which `error`
    then returns; the values before it have been visited. The first error stays, and a parser with
    an error visits nothing.

    Example:
        >>> from fnabi import raw
        >>> parser = raw.RawSignatureParser()
        >>> signature = b"I11!B8!d-1d200R4!S1!"
        >>> parser.function_signature_to_string(signature)
        '(Buffer<float32[?x200]>) -> (float32)'
        >>> parser.visit_results(signature, lambda each: print(each.to_string()))
        float32

    """

    __slots__ = ()

    Type = Description.Type

    def visit_inputs(
        self,
        signature: Data,
        visitor: Callable[[Description], object],
    ) -> None:
        """Call `visitor` with a `Description` of each input."""
        self._visit(signature, "I", visitor)

    def visit_results(
        self,
        signature: Data,
        visitor: Callable[[Description], object],
    ) -> None:
        """Call `visitor` with a `Description` of each result."""
        self._visit(signature, "R", visitor)

    def function_signature_to_string(self, signature: Data) -> str | None:
        """Return the whole signature as text, or None on an error."""
        sides: list[list[str]] = [[], []]
        self.visit_inputs(signature, lambda d: sides[0].append(d.to_string()))
        self.visit_results(signature, lambda d: sides[1].append(d.to_string()))
        if self._error is not None:
            return None
        return f"({', '.join(sides[0])}) -> ({', '.join(sides[1])})"

    def _visit(
        self,
        signature: Data,
        side: str,
        visitor: Callable[[Description], object],
    ) -> None:
        if self._error is not None:
            return
        data = core.data_bytes(signature, "RawSignatureParser", "signature")
        visited = core.decode(_read_visited, _raw_visited, data, ord(side))
        core.check_interrupt(visited.code)
        for type, dims, scalar_type in visited.items:
            visitor(Description(type, dims, scalar_type if type in _TYPED else None))
            if self._error is not None:
                return
        if visited.code != lib.FNABI_OK:
            self.set_error(core.code_text(visited.code))


def _read_visited(
    data: bytes, size: int, side: int, out: object, capacity: int, error: object
) -> int:
    needed: int = lib.fnabi_raw_visit(data, size, side, out, capacity)
    return needed


class SipSignatureMangler:
    """Builder of one side of a SIP signature from the path of each raw value.

    Example:
        >>> from fnabi import sip
        >>> inputs = sip.SipSignatureMangler()
        >>> inputs.set_raw_signature_index(0, ["x"]), inputs.set_raw_signature_index(1, ["y"])
        (True, True)
        >>> sip.SipSignatureMangler.to_function_signature(inputs, sip.SipSignatureMangler()).encoded
        b'I17!D13!K2!x_0K2!y_1R1!'

    """

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Level = _Level()

    def set_raw_signature_index(self, index: int, path: Iterable[int | str | bytes]) -> bool:
        """Map a raw value to the position at the end of `path`.

        Args:
            index: The index of the value in the flat list.
            path: Ints are positions in sequences, strings are keys of dicts; empty for the root.

        Returns:
            False, changing nothing, when the index or a position is negative, when the position
            is occupied, when the path leads through a value, or when it would mix positions and
            keys in one structure.

        Raises:
            RangeError: when an integer does not fit in int32.
            CallError: when `index` or a part of `path` has another type.

        """
        function = "SipSignatureMangler.set_raw_signature_index"
        index = core.int32(index, function, "index")
        parts = iterator_of(f"{function}: path", path, "ints and strings")
        keys = [_key(part, function) for part in parts]
        level, depth = self._root, 0
        for key in keys:
            child = level.children.get(key)
            if child is None:
                break
            level, depth = child, depth + 1
        rest = keys[depth:]
        if index < 0 or level.index is not None:
            return False
        if level.children and not (rest and type(rest[0]) is type(next(iter(level.children)))):
            return False
        for key in rest:
            if isinstance(key, int) and key < 0:
                return False
        for key in rest:
            child = level.children[key] = _Level()
            level = child
        level.index = index
        return True

    def to_structure_signature(self) -> SignatureBuilder:
        """Encode the structure, children in the order of their keys; nothing for an empty one."""
        builder = SignatureBuilder()
        builder._append(
            core.encode(
                lib.fnabi_sip_mangle,
                list(self._events()),
                "SipSignatureMangler.to_structure_signature",
            )
        )
        return builder

    @staticmethod
    def to_function_signature(
        inputs: SipSignatureMangler, results: SipSignatureMangler
    ) -> SignatureBuilder:
        """Combine both sides into the signature of a function."""
        _check_sides(SipSignatureMangler, inputs, results)
        function = SignatureBuilder()
        inputs.to_structure_signature().append_to(function, "I")
        results.to_structure_signature().append_to(function, "R")
        return function

    def _events(self) -> Iterator[tuple[int, int | bytes | None]]:
        """Yield the structure in preorder, without recursion: paths may be long."""
        stack: list[tuple[int | bytes | None, _Level] | None] = [(None, self._root)]
        while stack:
            entry = stack.pop()
            if entry is None:
                yield _CLOSE, None
                continue
            key, level = entry
            if isinstance(key, int):
                yield _INTEGER_KEY, key
            elif key is not None:
                yield _STRING_KEY, key
            if level.index is not None:
                yield _INDEX, level.index
            elif level.children:
                children: list[Any] = sorted(
                    level.children.items(), reverse=True, key=operator.itemgetter(0)
                )
                integers = isinstance(children[0][0], int)
                yield _OPEN_SEQUENCE if integers else _OPEN_DICT, None
                stack.append(None)
                stack.extend(children)


class _Level:
    __slots__ = ("children", "index")

    def __init__(self) -> None:
        self.index: int | None = None
        self.children: dict[int | bytes, _Level] = {}


def _key(part: object, function: str) -> int | bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return core.text_bytes(part, function, "path")
    return core.int32(part, function, "path", "ints and strings")


class StructType(IntEnum):
    """The kind of structure that a visitor's `open_struct` opens."""

    SEQUENCE = lib.FNABI_SIP_OPEN_SEQUENCE
    DICT = lib.FNABI_SIP_OPEN_DICT


class Visitor(Protocol):
    """The methods that `SipSignatureParser` calls on its way through a structure."""

    def integer_key(self, parser: SipSignatureParser, k: int, /) -> object:
        """Handle the position of the value that follows."""

    def string_key(self, parser: SipSignatureParser, k: str, /) -> object:
        """Handle the key of the value that follows; bytes that are not UTF-8 are escaped."""

    def open_struct(self, parser: SipSignatureParser, struct_type: StructType, /) -> object:
        """Handle the start of a structure."""

    def close_struct(self, parser: SipSignatureParser, /) -> object:
        """Handle the end of the innermost open structure."""

    def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int, /) -> object:
        """Handle a value, given by its index in the flat list."""


_OPEN_SEQUENCE: int = lib.FNABI_SIP_OPEN_SEQUENCE
_OPEN_DICT: int = lib.FNABI_SIP_OPEN_DICT
_CLOSE: int = lib.FNABI_SIP_CLOSE
_INDEX: int = lib.FNABI_SIP_INDEX
_INTEGER_KEY: int = lib.FNABI_SIP_INTEGER_KEY
_STRING_KEY: int = lib.FNABI_SIP_STRING_KEY
_STRUCT_TYPES = {int(struct_type): struct_type for struct_type in StructType}


class _SipVisited(msgspec.Struct, frozen=True, array_like=True, gc=False):
    events: list[tuple[int, int | str | None]]
    code: int


_sip_visited = core.Decoder(_SipVisited)


class SipSignatureParser(VisitingParser):
    """Parser that takes a visitor through one side of a SIP signature.

    It accepts whatever the C++ class accepts: repeated, negative and dangling keys, keys of both
    kinds in one structure, several values at the root. It stops at the first error, which
    `error` then returns; the visitor's `close_struct` is still called for every open structure.
    The first error stays, and a parser with an error visits nothing. Nesting is limited to 16,384
    levels.

    Example:
        >>> from fnabi import sip
        >>> from fnabi.dropin.signature_mangle import SipSignatureParser
        >>> visitor = SipSignatureParser.ToStringVisitor()
        >>> SipSignatureParser().visit_inputs(visitor, b"I17!D13!K2!x_0K2!y_1R1!")
        >>> print(visitor.s, end="")
        :{
          x=raw(0),
          y=raw(1),
        },

    """

    __slots__ = ()

    def visit_inputs(self, visitor: Visitor, signature: Data) -> None:
        """Call `visitor` for each part of the inputs."""
        self._visit(visitor, signature, "I")

    def visit_results(self, visitor: Visitor, signature: Data) -> None:
        """Call `visitor` for each part of the results."""
        self._visit(visitor, signature, "R")

    def _visit(self, visitor: Visitor, signature: Data, side: str) -> None:
        if self._error is not None:
            return
        data = core.data_bytes(signature, "SipSignatureParser", "signature")
        visited = core.decode(lib.fnabi_sip_visit, _sip_visited, data, ord(side))
        core.check_interrupt(visited.code)
        depth = 0
        value: Any  # of the event: a key, an index or None
        for event, value in visited.events:
            if self._error is not None:  # set by the visitor: only close what is open
                break
            if event == _CLOSE:
                depth -= 1
                visitor.close_struct(self)
            elif event == _INDEX:
                visitor.map_to_raw_signature_index(self, value)
            elif event == _INTEGER_KEY:
                visitor.integer_key(self, value)
            elif event == _STRING_KEY:
                visitor.string_key(self, value)
            else:
                depth += 1
                visitor.open_struct(self, _STRUCT_TYPES[event])
        for _ in range(depth):
            visitor.close_struct(self)
        if visited.code != lib.FNABI_OK:
            self.set_error(core.code_text(visited.code))

    class ToStringVisitor:
        """Visitor that collects the text of a structure in `s`."""

        def __init__(self) -> None:
            self._parts: list[tuple[int, str]] = []  # levels of indentation, text
            self._closers: list[str] = []

        @property
        def s(self) -> str:
            """The text so far; for deep structures most of it is indentation."""
            return "".join("  " * level + text for level, text in self._parts)

        def integer_key(self, parser: SipSignatureParser, k: int) -> None:
            """Write a position."""
            self._parts.append((len(self._closers), str(k)))

        def string_key(self, parser: SipSignatureParser, k: str) -> None:
            """Write a key."""
            self._parts.append((len(self._closers), k))

        def open_struct(self, parser: SipSignatureParser, struct_type: StructType) -> None:
            """Open a bracket."""
            sequence = struct_type is StructType.SEQUENCE
            self._parts.append((0, ":[\n" if sequence else ":{\n"))
            self._closers.append("],\n" if sequence else "},\n")

        def close_struct(self, parser: SipSignatureParser) -> None:
            """Close the last bracket.

            Raises:
                CallError: when none is open.

            """
            if not self._closers:
                text = "ToStringVisitor.close_struct: no structure is open"
                raise ArgumentValueError(text)
            closer = self._closers.pop()
            self._parts.append((len(self._closers), closer))

        def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
            """Write a value."""
            self._parts.append((0, f"=raw({index}),\n"))
