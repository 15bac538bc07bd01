"""The Structured Index Path ABI, version 1: attributes ``sip`` and ``sipv``.

It maps the flat list of a function's raw arguments or results onto a nest of sequences and
dicts, as TensorFlow's ``tf.nest`` has it. `parse` and `encode` are strict: exactly the grammar of
IREE's ``function_abi.md``. The classes `SipSignatureMangler` and `SipSignatureParser` stand in for
the C++ classes of the same names and take what those take.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceABC
from enum import IntEnum
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from fnabi import _core
from fnabi._fnabi import lib
from fnabi.errors import CallError, RangeError
from fnabi.signature import SignatureBuilder

__all__ = [
    "Dict",
    "Leaf",
    "Node",
    "Sequence",
    "Signature",
    "SipSignatureMangler",
    "SipSignatureParser",
    "StructType",
    "Visitor",
    "encode",
    "flatten",
    "parse",
    "paths",
    "to_string",
    "unflatten",
]

Path: TypeAlias = tuple[int | str, ...]
"""The keys that lead to a leaf; empty for a leaf at the root."""


class _Node(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What all nodes have in common; without cycles, so the garbage collector can pass by."""


class Leaf(_Node, frozen=True, tag=lib.FNABI_SIP_LEAF):
    """A value: its place in the flat list."""

    index: int

    def __str__(self) -> str:
        return _text(self)


class Sequence(_Node, frozen=True, tag=lib.FNABI_SIP_SEQUENCE):
    """A sequence: pairs of position and node, in the order of the text."""

    children: tuple[tuple[int, Node], ...]

    def __str__(self) -> str:
        return _text(self)


class Dict(_Node, frozen=True, tag=lib.FNABI_SIP_DICT):
    """A dict: pairs of key and node, in the order of the text.

    A key is the text's bytes as UTF-8; bytes that are not UTF-8 are surrogate-escaped
    (``key.encode("utf-8", "surrogateescape")`` gives them back).
    """

    children: tuple[tuple[str, Node], ...]

    def __str__(self) -> str:
        return _text(self)


Node: TypeAlias = Leaf | Sequence | Dict


class Signature(_Node, frozen=True):
    """The structures of a function's inputs and results; None where there are no values."""

    inputs: Node | None
    results: Node | None

    def __str__(self) -> str:
        return f"{_text(self.inputs)} -> {_text(self.results)}"


_parse = _core.reader(lib.fnabi_sip_decode, _core.Decoder(Signature))


def parse(data: bytes | bytearray | memoryview | str) -> Signature:
    """Decode a SIP signature (the value of ``sip``).

    Raises:
        FormatError: when `data` is not exactly the grammar, has a key twice in one structure or
            nests more than 128 levels.
        CallError: when `data` is of another type.

    """
    if data.__class__ is not bytes:
        data = _core.data_bytes(data, "sip.parse")
    return _parse(data)


def encode(signature: Signature) -> bytes:
    """Encode a signature, the children of every structure in their order.

    Raises:
        CallError: when `signature` is something else, holds a negative key or index, has a key
            twice in one structure or nests more than 128 levels.
        RangeError: when a key or an index is outside int32.

    """
    return _core.encode(lib.fnabi_sip_encode, signature, "sip.encode")


def to_string(
    data: bytes | bytearray | memoryview | str, side: Literal["inputs", "results"]
) -> str:
    """Give one side's text, a line a node, indented.

    Raises:
        FormatError: when `data` is not exactly the grammar.

    """
    if side not in ("inputs", "results"):
        raise CallError(f"sip.to_string: side must be 'inputs' or 'results', not {side!r}")
    data = _core.data_bytes(data, "sip.to_string")
    parse(data)
    visitor = SipSignatureParser.ToStringVisitor()
    parser = SipSignatureParser()
    (parser.visit_inputs if side == "inputs" else parser.visit_results)(visitor, data)
    return visitor.s


def paths(structure: Node | None) -> tuple[tuple[Path, int], ...]:
    """Give every leaf of a structure: the path to it and its place in the flat list."""
    found = []
    stack: list[tuple[Path, Node]] = [] if structure is None else [((), structure)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, Leaf):
            found.append((path, node.index))
        else:
            stack += [((*path, key), child) for key, child in _children(node, "sip.paths")[::-1]]
    return tuple(found)


def _children(node: Sequence | Dict, function: str) -> tuple[tuple[Any, Node], ...]:
    if isinstance(node, (Sequence, Dict)):
        return node.children
    raise CallError(
        f"{function}: structure: expected Leaf, Sequence, Dict or None, not {_kind(node)}"
    )


def flatten(structure: Node | None, values: object) -> list[Any]:
    """Put nested Python values into the flat list that the raw function takes.

    Args:
        structure: ``signature.inputs`` or ``signature.results``.
        values: Nested as `structure`: a mapping for a Dict, a list or tuple for a Sequence whose
            keys are 0, 1, 2, ..., a mapping of its keys for any other Sequence; None for no
            structure. Leaves may be anything.

    Raises:
        CallError: when `values` is nested otherwise, lacks a key or has one too many, which
            is named; when a value has two places that differ, or a place has no value.

    """
    places = _places(structure, "sip.flatten")
    flat: dict[int, Any] = {}
    try:
        _flatten(structure, values, flat)
    except _Misfit as misfit:
        where = "".join(f"[{key!r}]" for key in reversed(misfit.keys))
        raise CallError(f"sip.flatten: values{where}: {misfit.reason}") from None
    return [flat[index] for index in places]


class _Misfit(Exception):
    """Values that do not fit; on the way out every level adds its key."""

    def __init__(self, reason: str, *keys: object) -> None:
        self.reason = reason
        self.keys = list(keys)


def _flatten(node: Node | None, values: Any, flat: dict[int, Any]) -> None:
    if isinstance(node, Leaf):
        if flat.setdefault(node.index, values) is not values:
            raise _Misfit(f"another value is mapped to {node.index} too")
        return
    if node is None:
        if values is not None:
            raise _Misfit("expected None, for there are no values")
        return
    if _is_dense(node):
        if not isinstance(values, SequenceABC) or isinstance(values, (str, bytes, bytearray)):
            raise _Misfit(f"expected a list or tuple, not {_kind(values)}")
        given: Any = range(len(values))
    elif isinstance(values, Mapping):
        given = values.keys()
    else:
        raise _Misfit(f"expected a mapping, not {_kind(values)}")
    for key, child in node.children:
        if key not in given:
            raise _Misfit("missing", key)
        try:
            _flatten(child, values[key], flat)
        except _Misfit as misfit:
            misfit.keys.append(key)
            raise
    if len(given) > len(node.children):
        known = {key for key, _ in node.children}
        surplus = next(key for key in given if key not in known)
        raise _Misfit("the structure has no such key", surplus)


def unflatten(structure: Node | None, flat: Iterable[Any]) -> Any:
    """Nest the flat list that the raw function gives.

    Args:
        structure: ``signature.inputs`` or ``signature.results``.
        flat: The values, one for each leaf's index.

    Returns:
        A dict for a Dict, a list for a Sequence whose keys are 0, 1, 2, ..., a dict of its keys
        for any other Sequence; None for no structure.

    Raises:
        CallError: when the structure's indexes are not just those of `flat`.

    """
    places = _places(structure, "sip.unflatten")
    if isinstance(flat, (str, bytes, bytearray, Mapping)) or not hasattr(flat, "__iter__"):
        raise CallError(f"sip.unflatten: flat: expected a list or tuple, not {_kind(flat)}")
    values = list(flat)
    if len(places) != len(values):
        raise CallError(f"sip.unflatten: flat: expected {len(places)} values, not {len(values)}")
    return None if structure is None else _unflatten(structure, values)


def _unflatten(node: Node, flat: list[Any]) -> Any:
    if isinstance(node, Leaf):
        return flat[node.index]
    values: dict[Any, Any] = {key: _unflatten(child, flat) for key, child in node.children}
    return [values[key] for key in range(len(values))] if _is_dense(node) else values


def _places(structure: Node | None, function: str) -> range:
    """The range of indexes that a structure's leaves fill without a gap."""
    used = set()
    stack = [] if structure is None else [structure]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            used.add(node.index)
        else:
            stack += [child for _, child in _children(node, function)]
    places = range(len(used))
    if not used.issuperset(places):
        index = next(index for index in places if index not in used)
        raise CallError(f"{function}: structure: no leaf has the index {index}")
    return places


def _is_dense(node: Sequence | Dict) -> bool:
    """Whether the node is a sequence whose keys are 0, 1, 2, ... in any order."""
    if not isinstance(node, Sequence):
        return False
    keys = [key for key, _ in node.children]
    return keys == list(range(len(keys))) or set(keys) == set(range(len(keys)))


def _kind(value: object) -> str:
    return type(value).__name__


def _text(node: Node | None) -> str:
    if node is None:
        return "()"
    if isinstance(node, Leaf):
        return f"${node.index}"
    if isinstance(node, Dict):
        return (
            "{" + ", ".join(f"{_key_text(k)}: {_text(child)}" for k, child in node.children) + "}"
        )
    parts = ", ".join(f"{key}: {_text(child)}" for key, child in node.children)
    if _is_dense(node):
        parts = ", ".join(_text(child) for _, child in sorted(node.children, key=_first))
    return f"[{parts}]"


def _key_text(key: str) -> str:
    """A key as it is where that is clear, else quoted."""
    return key if key.replace("/", "_").replace(".", "_").isidentifier() else repr(key)


class SipSignatureMangler:
    """Builds one side of a signature from the path of each raw value."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Level = _Level()

    def set_raw_signature_index(self, index: int, path: Iterable[int | str | bytes]) -> bool:
        """Map a raw value to the place where `path` leads.

        Args:
            index: The value's place in the flat list.
            path: Ints are positions in sequences, strings keys of dicts; empty for the root.

        Returns:
            False, changing nothing, when the index or a position is negative, when the place is
            taken, when the path leads through a value, or mixes positions and keys in one
            structure.

        Raises:
            RangeError: when an integer is outside int32.
            CallError: when `index` or a part of `path` is of another type.

        """
        function = "SipSignatureMangler.set_raw_signature_index"
        index = _int32(index, function, "index")
        if isinstance(path, (str, bytes, bytearray)) or not hasattr(path, "__iter__"):
            raise CallError(f"{function}: path: expected ints and strings, not {_kind(path)}")
        keys = [_key(part, function) for part in path]
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
            _core.encode(
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
        """Combine both sides to a function's signature."""
        function = SignatureBuilder()
        inputs.to_structure_signature().append_to(function, "I")
        results.to_structure_signature().append_to(function, "R")
        return function

    def _events(self) -> Iterator[tuple[int, int | bytes | None]]:
        """The structure in preorder, without recursion: paths may be long."""
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
                children: list[Any] = sorted(level.children.items(), reverse=True, key=_first)
                integers = isinstance(children[0][0], int)
                yield _OPEN_SEQUENCE if integers else _OPEN_DICT, None
                stack.append(None)
                stack.extend(children)


class _Level:
    __slots__ = ("children", "index")

    def __init__(self) -> None:
        self.index: int | None = None
        self.children: dict[int | bytes, _Level] = {}


def _first(item: tuple[Any, Any]) -> Any:
    return item[0]


def _int32(value: Any, function: str, argument: str, expected: str = "an int") -> int:
    try:
        number = value if type(value) is int else int(operator.index(value))
    except TypeError:
        raise CallError(
            f"{function}: {argument}: expected {expected}, not {_kind(value)}"
        ) from None
    if not -(2**31) <= number < 2**31:
        raise RangeError(f"{function}: {argument}: {number} is outside int32")
    return number


def _key(part: object, function: str) -> int | bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return _core.text_bytes(part, function, "path")
    return _int32(part, function, "path", "ints and strings")


class StructType(IntEnum):
    """What a visitor's `open_struct` opens."""

    SEQUENCE = lib.FNABI_SIP_OPEN_SEQUENCE
    DICT = lib.FNABI_SIP_OPEN_DICT


class Visitor(Protocol):
    """What `SipSignatureParser` calls on its way through a structure."""

    def integer_key(self, parser: SipSignatureParser, k: int, /) -> object:
        """Take the position of the value that follows."""

    def string_key(self, parser: SipSignatureParser, k: str, /) -> object:
        """Take the key of the value that follows; bytes that are not UTF-8 are escaped."""

    def open_struct(self, parser: SipSignatureParser, struct_type: StructType, /) -> object:
        """Enter a structure."""

    def close_struct(self, parser: SipSignatureParser, /) -> object:
        """Leave it."""

    def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int, /) -> object:
        """Take a value: its place in the flat list."""


_OPEN_SEQUENCE: int = lib.FNABI_SIP_OPEN_SEQUENCE
_OPEN_DICT: int = lib.FNABI_SIP_OPEN_DICT
_CLOSE: int = lib.FNABI_SIP_CLOSE
_INDEX: int = lib.FNABI_SIP_INDEX
_INTEGER_KEY: int = lib.FNABI_SIP_INTEGER_KEY
_STRING_KEY: int = lib.FNABI_SIP_STRING_KEY
_STRUCT_TYPES = {int(struct_type): struct_type for struct_type in StructType}


class _Visited(msgspec.Struct, frozen=True, array_like=True, gc=False):
    events: list[tuple[int, int | str | None]]
    code: int


_visited = _core.Decoder(_Visited)


class SipSignatureParser:
    """Takes a visitor through one side of a signature.

    The parser takes what the C++ class takes: repeated, negative and dangling keys, keys of both
    kinds in one structure, several values at the root. It stops at the first error, which
    `error` then tells; a close is still called for every structure that is open. Its first error
    stays, and a parser with an error visits nothing. Nesting is limited to 16,384 levels.
    """

    __slots__ = ("_error",)

    def __init__(self) -> None:
        self._error: str | None = None

    def visit_inputs(
        self, visitor: Visitor, signature: bytes | bytearray | memoryview | str
    ) -> None:
        """Take `visitor` through the inputs."""
        self._visit(visitor, signature, "I")

    def visit_results(
        self, visitor: Visitor, signature: bytes | bytearray | memoryview | str
    ) -> None:
        """Take `visitor` through the results."""
        self._visit(visitor, signature, "R")

    @property
    def error(self) -> str | None:
        """The first error's text, or None."""
        return self._error

    def set_error(self, error: str) -> None:
        """Stop with an error, unless there is one already; for visitors."""
        if self._error is None:
            self._error = error

    def _visit(
        self, visitor: Visitor, signature: bytes | bytearray | memoryview | str, side: str
    ) -> None:
        if self._error is not None:
            return
        data = _core.data_bytes(signature, "SipSignatureParser", "signature")
        visited = _core.decode(lib.fnabi_sip_visit, _visited, data, ord(side))
        depth = 0
        value: Any  # what the event has
        for event, value in visited.events:
            if self._error is not None:  # the visitor's: only leave what is open
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
            self.set_error(_core.code_text(visited.code))

    class ToStringVisitor:
        """Collects the text of a structure in `s`."""

        def __init__(self) -> None:
            self._parts: list[tuple[int, str]] = []  # levels of indentation, text
            self._closers: list[str] = []

        @property
        def s(self) -> str:
            """The text so far; of deep structures most of it is indentation."""
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
            """Close the last bracket."""
            closer = self._closers.pop()
            self._parts.append((len(self._closers), closer))

        def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
            """Write a value."""
            self._parts.append((0, f"=raw({index}),\n"))
