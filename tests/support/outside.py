"""Move the read-only data of a module after its FlatBuffer, where compilers put large segments."""

from __future__ import annotations

import struct

from fnabi import vmfb

_RODATA = 9

_VTABLE = struct.Struct("<7H")
"""Without compression, two fields, and embedded data; with external offset and length."""


def with_data_outside(data: bytes) -> bytes:
    """Return a module whose segments are all after the FlatBuffer, without a ZIP archive."""
    opened = vmfb.from_buffer(data)
    layout = opened.layout
    start = layout.flatbuffer_offset
    buffer = bytearray(data[start : start + layout.flatbuffer_size])

    def u32(place: int) -> int:
        return int(struct.unpack_from("<I", buffer, place)[0])

    root = u32(0)
    vtable = root - struct.unpack_from("<i", buffer, root)[0]
    (member,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * _RODATA)
    vector = root + member + u32(root + member)
    after = bytearray()
    for index, segment in enumerate(opened.rodata):
        element = vector + 4 + 4 * index
        after += bytes(-len(after) % 64)
        buffer += bytes(-(4 + len(buffer) + _VTABLE.size) % 8)  # 4 of the size before it
        buffer += _VTABLE.pack(_VTABLE.size, 24, 0, 0, 0, 8, 16)
        table = len(buffer)
        buffer += struct.pack("<iIQQ", _VTABLE.size, 0, len(after), segment.size)
        struct.pack_into("<I", buffer, element, table - element)
        after += segment.data
    whole = struct.pack("<I", len(buffer)) + buffer
    return bytes(whole + bytes(-len(whole) % 64) + after)
