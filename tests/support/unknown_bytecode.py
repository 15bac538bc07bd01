"""A module whose bytecode has a version that no runtime has."""

from __future__ import annotations

import struct

from support.flatbuffer import Numbers, String, Table, Vector, module


def unknown_bytecode(code: bytes = b"\x79\x5a\0\0") -> bytes:
    """Return a module that imports from the hal, with a function without a text of its types."""
    name = String(b"hal.buffer_view.create")
    tables = {
        0: String(b"m"),
        6: Vector([Table({0: name, 1: Table({0: String(b"0v_v")})})]),
        7: Vector([Table({0: String(b"f"), 1: bytes(4)})]),
        8: Vector([Table({0: String(b"0r_v"), 1: Vector([])})]),
        12: Numbers(struct.pack("<iiIhhhh", 0, 4, 0, 0, 0, 1, 0), 20),
        13: (99 << 16).to_bytes(4, "little"),
        14: Numbers(code),
    }
    return module(Table(tables))
