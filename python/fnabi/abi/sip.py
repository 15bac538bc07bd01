"""The Structured Index Path ABI, version 1: attributes ``sip`` and ``sipv``.

It maps the flat list of a function's raw arguments or results onto nested sequences and dicts,
like TensorFlow's ``tf.nest``. `parse` and `encode` accept exactly the grammar of IREE's
``function_abi.md``. The classes `SipSignatureMangler` and `SipSignatureParser` are those of
`fnabi.dropin.signature_mangle`, which accept whatever the C++ classes of the same names accept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceABC
from typing import Any, Literal, TypeAlias

import msgspec

from fnabi._base import core, records
from fnabi._base.arguments import argument_error, check_type, iterator_of
from fnabi._base.core import Data
from fnabi._base.text import quoted
from fnabi._fnabi import lib
from fnabi.abi._mangle import SipSignatureMangler, SipSignatureParser
from fnabi.errors import TOO_DEEP, ArgumentTypeError, ArgumentValueError, Mismatch, type_name

__all__ = [
    "Dict",
    "Leaf",
    "Node",
    "Sequence",
    "Signature",
    "SipSignatureMangler",
    "SipSignatureParser",
    "encode",
    "flatten",
    "parse",
    "paths",
    "to_string",
    "unflatten",
]


def __dir__() -> list[str]:
    return __all__


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

    def _repr_html_(self) -> str:
        return _view(("value", self))


class Dict(_Node, frozen=True, tag=lib.FNABI_SIP_DICT):
    """A dict: pairs of key and node, in the order of the text.

    Keys are decoded as UTF-8. Bytes that are not UTF-8 become surrogate escapes;
    ``key.encode("utf-8", "surrogateescape")`` returns the original bytes.
    """

    children: tuple[tuple[str, Node], ...]

    def __str__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _view(("value", self))


Node: TypeAlias = Leaf | Sequence | Dict


class Signature(_Node, frozen=True):
    """A SIP signature: the structures of a function's inputs and results, None without values."""

    inputs: Node | None
    results: Node | None

    def __str__(self) -> str:
        return f"{_text(self.inputs)} -> {_text(self.results)}"

    def _repr_html_(self) -> str:
        return _view(("input", self.inputs), ("result", self.results))


_parse = core.parser(lib.fnabi_sip_decode, core.Decoder(Signature))


def parse(text: Data) -> Signature:
    """Decode a SIP signature (the value of ``sip``).

    Raises:
        FormatError: when `text` does not conform to the grammar, has a key twice in one structure
            or nests more than 128 levels.
        CallError: when `text` has another type.

    Example:
        >>> from fnabi import sip, vmfb
        >>> dense = vmfb.open("examples/classifier.vmfb").exports["dense"]
        >>> structure = sip.parse(dense.attrs["sip"])
        >>> print(structure.inputs)
        {params: {bias: $2, kernel: $1}, x: $0}

    """
    if text.__class__ is not bytes:
        text = core.data_bytes(text, "sip.parse")
    return _parse(text)


def encode(signature: Signature) -> bytes:
    """Encode a SIP signature as the canonical text; children of a structure keep their order.

    Raises:
        CallError: when `signature` is something else, holds a negative key or index, has a key
            twice in one structure or nests more than 128 levels.
        RangeError: when a key or an index does not fit in int32.

    Example:
        >>> from fnabi import sip
        >>> pair = sip.Dict((("x", sip.Leaf(0)), ("y", sip.Leaf(1))))
        >>> sip.encode(sip.Signature(pair, sip.Leaf(0)))
        b'I17!D13!K2!x_0K2!y_1R3!_0'

    """
    text = records.encoder.sip(signature)
    return _encode_by_cffi(signature) if text is None else text


def _encode_by_cffi(signature: Signature) -> bytes:
    """Encode in steps: the plain equivalent of the fast path, and its errors."""
    check_type("sip.encode: signature", signature, Signature)
    return core.encode(lib.fnabi_sip_encode, signature, "sip.encode")


def to_string(text: Data, side: Literal["inputs", "results"]) -> str:
    """Return one side as indented text with one line for each node, as IREE's visitor does.

    `raw.to_string` needs no side, because a line shows both; ``str(parse(text))`` is such a line.

    Raises:
        FormatError: when `text` is not exactly the grammar.

    Example:
        >>> from fnabi import sip, vmfb
        >>> dense = vmfb.open("examples/classifier.vmfb").exports["dense"]
        >>> print(sip.to_string(dense.attrs["sip"], "inputs"), end="")
        :{
          params:{
            bias=raw(2),
            kernel=raw(1),
          },
          x=raw(0),
        },

    """
    if not isinstance(side, str) or side not in ("inputs", "results"):
        raise argument_error("sip.to_string: side", "'inputs' or 'results'", side, str)
    data = core.data_bytes(text, "sip.to_string")
    parse(data)
    visitor = SipSignatureParser.ToStringVisitor()
    parser = SipSignatureParser()
    (parser.visit_inputs if side == "inputs" else parser.visit_results)(visitor, data)
    return visitor.s


def paths(structure: Node | None) -> tuple[tuple[Path, int], ...]:
    """Return the path and the index of every leaf of a structure.

    Example:
        >>> from fnabi import sip, vmfb
        >>> dense = vmfb.open("examples/classifier.vmfb").exports["dense"]
        >>> sip.paths(sip.parse(dense.attrs["sip"]).inputs)
        ((('params', 'bias'), 2), (('params', 'kernel'), 1), (('x',), 0))

    """
    found = []
    stack: list[tuple[Path, Node]] = [] if structure is None else [((), structure)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, Leaf):
            found.append((path, node.index))
        else:
            stack += [((*path, key), child) for key, child in _children(node, "sip.paths")[::-1]]
    return tuple(found)


def _view(*sides: tuple[str, Node | None]) -> str:
    """Return the view for notebooks: the place of each leaf, and its index in the flat list."""
    from fnabi._base.notebook import code, escaped, table

    rows = [
        (escaped(side), code("".join(f"[{key!r}]" for key in path)), str(index))
        for side, structure in sides
        for path, index in paths(structure)
    ]
    return table(("", "key", "index in the flat list"), rows, len(rows))


def _children(node: Sequence | Dict, function: str) -> tuple[tuple[Any, Node], ...]:
    if isinstance(node, (Sequence, Dict)):
        return node.children
    raise ArgumentTypeError(
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
            the text names; when two values that are not the same object, even equal ones, have
            the same index, or an index has none.

    Example:
        >>> from fnabi import sip, vmfb
        >>> dense = vmfb.open("examples/classifier.vmfb").exports["dense"]
        >>> inputs = sip.parse(dense.attrs["sip"]).inputs
        >>> sip.flatten(inputs, {"x": "X", "params": {"kernel": "K", "bias": "B"}})
        ['X', 'K', 'B']

    """
    places = _places(structure, "sip.flatten")
    flat: dict[int, Any] = {}
    try:
        _flatten(structure, values, flat)
    except Mismatch as problem:
        raise problem.kind(f"sip.flatten: values{problem.path}: {problem.reason}") from None
    except RecursionError:
        raise ArgumentValueError(f"sip.flatten: structure: {TOO_DEEP}") from None
    return [flat[index] for index in places]


_NO_LISTS = str, bytes, bytearray, memoryview


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
        if not isinstance(values, SequenceABC) or isinstance(values, _NO_LISTS):
            raise Mismatch(
                f"expected a list or tuple, got {type_name(values)}", kind=ArgumentTypeError
            )
        given: Any = range(len(values))
    elif isinstance(values, Mapping):
        given = values.keys()
    else:
        raise Mismatch(f"expected a mapping, got {type_name(values)}", kind=ArgumentTypeError)
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
        CallError: when the structure has other indexes than `flat`, or a key twice in one place.

    Example:
        >>> from fnabi import sip, vmfb
        >>> dense = vmfb.open("examples/classifier.vmfb").exports["dense"]
        >>> sip.unflatten(sip.parse(dense.attrs["sip"]).results, ["LOGITS"])
        {'logits': 'LOGITS'}

    """
    places = _places(structure, "sip.unflatten")
    where, expected = "sip.unflatten: flat", "a list or tuple"
    if isinstance(flat, Mapping):
        raise argument_error(where, expected, flat)
    values = list(iterator_of(where, flat, expected))
    if len(places) != len(values):
        raise ArgumentValueError(
            f"sip.unflatten: flat: expected {len(places)} values, got {len(values)}"
        )
    try:
        return None if structure is None else _unflatten(structure, values)
    except RecursionError:
        raise ArgumentValueError(f"sip.unflatten: structure: {TOO_DEEP}") from None


def _unflatten(node: Node, flat: list[Any]) -> Any:
    if isinstance(node, Leaf):
        return flat[node.index]
    values: dict[Any, Any] = {key: _unflatten(child, flat) for key, child in node.children}
    if len(values) < len(node.children):
        keys = [key for key, _ in node.children]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ArgumentValueError(
            f"sip.unflatten: structure: the key {quoted(twice)} is there twice"
        )
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
        raise ArgumentValueError(f"{function}: structure: no leaf has the index {index}")
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
        children = dict(node.children)
        parts = ", ".join(_text(children[key]) for key in range(len(children)))
    return f"[{parts}]"


def _key_text(key: str) -> str:
    """Return a key as it is where that is unambiguous, else quoted."""
    return key if key.replace("/", "_").replace(".", "_").isidentifier() else repr(key)
