"""Signatures as a catalog has them: built from their nodes, and kept as messages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from fnabi._base import core
from fnabi.errors import FormatError
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)

Nodes: TypeAlias = list[dict[str, Any]]
"""The values of one side of a signature in preorder, as in the columns of `scan.Scan`."""

_DEPTH_MAX = 128
"""The deepest nesting of what the core decodes."""

_decoder = core.Decoder(Signature)


def message(signature: Signature) -> bytes:
    """Return the MessagePack value of a signature, as it crosses from the core."""
    return core.pack(signature)


def from_message(data: bytes) -> Signature:
    """Return the signature of a message.

    Raises:
        FormatError: when the message is damaged.

    """
    try:
        signature = core.build(_decoder, data)
    except (ValueError, IndexError, RecursionError) as problem:
        raise _damaged(problem) from None
    if len(data) > 2 * _DEPTH_MAX and _depth(signature) > _DEPTH_MAX:
        raise _damaged("nested too deeply")
    return signature


def _damaged(why: object) -> FormatError:
    return FormatError("catalog", 0, reason=f"damaged signature in the catalog: {why}")


def _depth(signature: Signature) -> int:
    """Return how deeply the types of a signature are nested."""
    level: list[Any] = [signature]
    depth = 0
    while level:
        depth += 1
        level = [
            inner
            for record in level
            for name in record.__struct_fields__
            for inner in _records(getattr(record, name))
        ]
    return depth - 2  # without the signature, and the dtypes


def _records(value: Any) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _records(item)  # at most a pair of a name and a type


def from_nodes(inputs: Nodes, results: Nodes) -> Signature:
    """Return the signature of the nodes of its sides."""
    return Signature(_types(inputs), _types(results))


def node_ends(nodes: Nodes) -> list[int]:
    """Return for each node the index after the last node inside it, counted from 1."""
    found = [len(nodes) + 1] * len(nodes)
    open_nodes: list[int] = []
    for at, node in enumerate(nodes):
        while open_nodes and nodes[open_nodes[-1]]["depth"] >= node["depth"]:
            found[open_nodes.pop()] = at + 1
        open_nodes.append(at)
    return found


def _types(nodes: Nodes) -> tuple[Type, ...]:
    found, at = [], 0
    while at < len(nodes):
        type, after = _type(nodes, at)
        name = _name(nodes[at], "name")
        found.append(type if name is None else Named(name, type))
        at = after
    return tuple(found)


def _type(nodes: Nodes, at: int) -> tuple[Type, int]:
    """Build the type of a node, and return the index of the first node after it."""
    node = nodes[at]
    kind, depth = node["kind"], node["depth"]
    shape = None if node["shape"] is None else tuple(node["shape"])
    at += 1
    match kind:
        case "scalar":
            return Scalar(_dtype(node["dtype"])), at
        case "buffer":
            return Buffer(_dtype(node["dtype"]), shape), at
        case "ref":
            return Ref(_name(node, "ref")), at
        case "null":
            return Null(), at
        case "unknown":
            return Unknown(), at
    items: list[tuple[str, Type]] = []
    while at < len(nodes) and nodes[at]["depth"] > depth:
        name = _name(nodes[at], "name")
        inner, at = _type(nodes, at)
        items.append((name or "", inner))
    types = tuple(inner for _, inner in items)
    match kind:
        case "list":
            return List(types), at
        case "tuple":
            return Tuple(types), at
        case "dict":
            return Dict(tuple(items)), at
        case "homogeneous_list":
            return HomogeneousList(types[0]), at
    return RefArray(types[0], shape), at


def _name(node: dict[str, Any], key: str) -> str | None:
    data: bytes | None = node[f"{key}_bytes"]
    name: str | None = node[key]
    return name if data is None else data.decode("utf-8", "surrogateescape")


@lru_cache(512)
def _dtype(name: str) -> DType:
    return DType.parse(name)
