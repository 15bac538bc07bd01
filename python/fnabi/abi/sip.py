"""The Structured Index Path ABI, version 1: attributes ``sip`` and ``sipv``.

It maps the flat list of a function's raw arguments or results onto nested sequences and dicts,
like TensorFlow's ``tf.nest``. `parse` and `encode` accept exactly the grammar of IREE's
``function_abi.md``. The classes `SipSignatureMangler` and `SipSignatureParser` are compatible with
the C++ classes of the same names and accept whatever those accept.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceABC
from enum import IntEnum
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from fnabi._base import core
from fnabi._base.core import Data
from fnabi._fnabi import lib
from fnabi.abi.signature import SignatureBuilder, VisitingParser
from fnabi.errors import CallError, Mismatch, RangeError, type_name

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
    """Base of all nodes. They cannot form cycles, so the garbage collector ignores them."""


class Leaf(_Node, frozen=True, tag=lib.FNABI_SIP_LEAF):
    """A value: its index in the flat list."""

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

    Keys are decoded as UTF-8. Bytes that are not UTF-8 become surrogate escapes;
    ``key.encode("utf-8", "surrogateescape")`` returns the original bytes.
    """

    children: tuple[tuple[str, Node], ...]

    def __str__(self) -> str:
        return _text(self)


Node: TypeAlias = Leaf | Sequence | Dict


class Signature(_Node, frozen=True):
    """A SIP signature: the structures of a function's inputs and results, None without values."""

    inputs: Node | None
    results: Node | None

    def __str__(self) -> str:
        return f"{_text(self.inputs)} -> {_text(self.results)}"


_parse = core.parser(lib.fnabi_sip_decode, core.Decoder(Signature))


def parse(data: Data) -> Signature:
    """Decode a SIP signature (the value of ``sip``).

    Raises:
        FormatError: when `data` does not conform to the grammar, has a key twice in one structure
            or nests more than 128 levels.
        CallError: when `data` has another type.

    """
    if data.__class__ is not bytes:
        data = core.data_bytes(data, "sip.parse")
    return _parse(data)


def encode(signature: Signature) -> bytes:
    """Encode a SIP signature as the canonical text; children of a structure keep their order.

    Raises:
        CallError: when `signature` is something else, holds a negative key or index, has a key
            twice in one structure or nests more than 128 levels.
        RangeError: when a key or an index does not fit in int32.

    """
    return core.encode(lib.fnabi_sip_encode, signature, "sip.encode")


def to_string(data: Data, side: Literal["inputs", "results"]) -> str:
    """Return one side as indented text with one line for each node.

    Raises:
        FormatError: when `data` is not exactly the grammar.

    """
    if side not in ("inputs", "results"):
        raise CallError(f"sip.to_string: side must be 'inputs' or 'results', not {side!r}")
    data = core.data_bytes(data, "sip.to_string")
    parse(data)
    visitor = SipSignatureParser.ToStringVisitor()
    parser = SipSignatureParser()
    (parser.visit_inputs if side == "inputs" else parser.visit_results)(visitor, data)
    return visitor.s


def paths(structure: Node | None) -> tuple[tuple[Path, int], ...]:
    """Return the path and the index of every leaf of a structure."""
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
        f"{function}: structure: expected Leaf, Sequence, Dict or None, got {type_name(node)}"
    )


def flatten(structure: Node | None, values: object) -> list[Any]:
    """Flatten nested Python values into the list that the raw function accepts.

    Args:
        structure: ``signature.inputs`` or ``signature.results``.
        values: Nested like `structure`: a mapping for a Dict, a list or tuple for a Sequence
            whose keys are 0, 1, 2, ..., a mapping for any other Sequence; None for no structure.
            Leaves may be anything.

    Raises:
        CallError: when `values` is nested in another way; when a key is missing or surplus, which
            the text names; when two different values have the same index, or an index has none.

    """
    places = _places(structure, "sip.flatten")
    flat: dict[int, Any] = {}
    try:
        _flatten(structure, values, flat)
    except Mismatch as problem:
        raise CallError(f"sip.flatten: values{problem.path}: {problem.reason}") from None
    return [flat[index] for index in places]


def _flatten(node: Node | None, values: Any, flat: dict[int, Any]) -> None:
    if isinstance(node, Leaf):
        if flat.setdefault(node.index, values) is not values:
            raise Mismatch(f"two values for index {node.index}")
        return
    if node is None:
        if values is not None:
            raise Mismatch("expected None: the structure is empty")
        return
    if _is_dense(node):
        if not isinstance(values, SequenceABC) or isinstance(values, (str, bytes, bytearray)):
            raise Mismatch(f"expected a list or tuple, got {type_name(values)}")
        given: Any = range(len(values))
    elif isinstance(values, Mapping):
        given = values.keys()
    else:
        raise Mismatch(f"expected a mapping, got {type_name(values)}")
    for key, child in node.children:
        if key not in given:
            raise Mismatch("missing", key)
        try:
            _flatten(child, values[key], flat)
        except Mismatch as problem:
            problem.keys.append(key)
            raise
    if len(given) > len(node.children):
        known = {key for key, _ in node.children}
        surplus = next(key for key in given if key not in known)
        raise Mismatch("unknown key", surplus)


def unflatten(structure: Node | None, flat: Iterable[Any]) -> Any:
    """Nest the flat list that the raw function returns.

    Args:
        structure: ``signature.inputs`` or ``signature.results``.
        flat: The values, one for each leaf's index.

    Returns:
        A dict for a Dict, a list for a Sequence whose keys are 0, 1, 2, ..., a dict for any other
        Sequence; None for no structure.

    Raises:
        CallError: when the structure has other indexes than `flat`.

    """
    places = _places(structure, "sip.unflatten")
    if isinstance(flat, (str, bytes, bytearray, Mapping)) or not hasattr(flat, "__iter__"):
        raise CallError(f"sip.unflatten: flat: expected a list or tuple, got {type_name(flat)}")
    values = list(flat)
    if len(places) != len(values):
        raise CallError(f"sip.unflatten: flat: expected {len(places)} values, got {len(values)}")
    return None if structure is None else _unflatten(structure, values)


def _unflatten(node: Node, flat: list[Any]) -> Any:
    if isinstance(node, Leaf):
        return flat[node.index]
    values: dict[Any, Any] = {key: _unflatten(child, flat) for key, child in node.children}
    return [values[key] for key in range(len(values))] if _is_dense(node) else values


def _places(structure: Node | None, function: str) -> range:
    """Return the range of the indexes of a structure's leaves, which have no gap."""
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
    """Return whether the node is a sequence whose keys are 0, 1, 2, ... in any order."""
    if not isinstance(node, Sequence):
        return False
    keys = [key for key, _ in node.children]
    return keys == list(range(len(keys))) or set(keys) == set(range(len(keys)))


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
    """Return a key as it is where that is unambiguous, else quoted."""
    return key if key.replace("/", "_").replace(".", "_").isidentifier() else repr(key)


class SipSignatureMangler:
    """Builder of one side of a SIP signature from the path of each raw value."""

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
        index = _int32(index, function, "index")
        if isinstance(path, (str, bytes, bytearray)) or not hasattr(path, "__iter__"):
            raise CallError(f"{function}: path: expected ints and strings, got {type_name(path)}")
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
            f"{function}: {argument}: expected {expected}, got {type_name(value)}"
        ) from None
    if not -(2**31) <= number < 2**31:
        raise RangeError(f"{function}: {argument}: {number} does not fit in int32")
    return number


def _key(part: object, function: str) -> int | bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return core.text_bytes(part, function, "path")
    return _int32(part, function, "path", "ints and strings")


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


class _Visited(msgspec.Struct, frozen=True, array_like=True, gc=False):
    events: list[tuple[int, int | str | None]]
    code: int


_visited = core.Decoder(_Visited)


class SipSignatureParser(VisitingParser):
    """Parser that takes a visitor through one side of a SIP signature.

    It accepts whatever the C++ class accepts: repeated, negative and dangling keys, keys of both
    kinds in one structure, several values at the root. It stops at the first error, which
    `error` then returns; the visitor's `close_struct` is still called for every open structure.
    The first error stays, and a parser with an error visits nothing. Nesting is limited to 16,384
    levels.
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
        visited = core.decode(lib.fnabi_sip_visit, _visited, data, ord(side))
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
            """Close the last bracket."""
            closer = self._closers.pop()
            self._parts.append((len(self._closers), closer))

        def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
            """Write a value."""
            self._parts.append((0, f"=raw({index}),\n"))
