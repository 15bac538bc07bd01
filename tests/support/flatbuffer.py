"""Write FlatBuffers that no compiler writes: objects may be shared by any number of references."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


@dataclass(eq=False)
class String:
    data: bytes


@dataclass(eq=False)
class Vector:
    """A vector of offsets to objects; None is a null offset."""

    items: list[Node | None]


@dataclass(eq=False)
class Numbers:
    """A vector of scalars of `width` bytes each."""

    data: bytes
    width: int = 1


@dataclass(eq=False)
class Table:
    """A table; its fields by id are objects, or scalars as packed bytes."""

    fields: dict[int, Node | bytes] = field(default_factory=dict)


Node = String | Vector | Numbers | Table


def module(root: Table) -> bytes:
    """Return the size-prefixed FlatBuffer with the file identifier of modules."""
    out = bytearray(b"\0\0\0\0\0\0\0\0IREE")
    patches: list[tuple[int, Node]] = [(4, root)]
    # Offsets are positive: an object comes after all objects that refer to it.
    places = {id(node): _write(out, node, patches) for node in reversed(_postorder(root, {}))}
    for at, node in patches:
        struct.pack_into("<I", out, at, places[id(node)] - at)
    struct.pack_into("<I", out, 0, len(out) - 4)
    return bytes(out)


def _postorder(node: Node, seen: dict[int, Node]) -> list[Node]:
    if id(node) in seen:
        return []
    seen[id(node)] = node
    inner: list[Node] = []
    if isinstance(node, Vector):
        inner = [item for item in node.items if item is not None]
    elif isinstance(node, Table):
        inner = [value for value in node.fields.values() if not isinstance(value, bytes)]
    return [found for item in inner for found in _postorder(item, seen)] + [node]


def _pad(out: bytearray, align: int) -> None:
    out.extend(b"\0" * (-len(out) % align))


def _write(out: bytearray, node: Node, patches: list[tuple[int, Node]]) -> int:
    _pad(out, 8)
    place = len(out)
    if isinstance(node, String):
        out.extend(struct.pack("<I", len(node.data)) + node.data + b"\0")
        return place
    if isinstance(node, Numbers):
        out.extend(struct.pack("<I", len(node.data) // node.width) + node.data)
        return place
    if isinstance(node, Vector):
        out.extend(struct.pack("<I", len(node.items)))
        for item in node.items:
            if item is not None:
                patches.append((len(out), item))
            out.extend(b"\0\0\0\0")
        return place
    body = bytearray(b"\0\0\0\0")
    entries = [0] * (max(node.fields, default=-1) + 1)
    inner: list[tuple[int, Node]] = []
    for number, value in node.fields.items():
        size = len(value) if isinstance(value, bytes) else 4
        _pad(body, size)
        entries[number] = len(body)
        if isinstance(value, bytes):
            body.extend(value)
        else:
            inner.append((len(body), value))
            body.extend(b"\0\0\0\0")
    out.extend(struct.pack(f"<{2 + len(entries)}H", 4 + 2 * len(entries), len(body), *entries))
    vtable = len(out) - 4 - 2 * len(entries)
    _pad(out, 8)
    place = len(out)
    struct.pack_into("<i", body, 0, place - vtable)
    out.extend(body)
    patches.extend((place + at, value) for at, value in inner)
    return place
