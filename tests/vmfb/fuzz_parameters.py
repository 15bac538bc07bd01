"""An archive of parameters is refused at an offset inside, or has what a plain reading finds."""

from __future__ import annotations

import struct

from fnabi import FormatError
from fnabi.vmfb.parameters import read_archive
from support.paths import DATA

ARCHIVE = (DATA / "needs/params.irpa").read_bytes()
HEADER = struct.Struct("<4sHHQQQQ6Q")
SEEDS = (
    ARCHIVE,
    HEADER.pack(b"IRPA", 0, 0, 88, 96, 0, 0, *[0] * 6) + bytes(8) + ARCHIVE,
    HEADER.pack(b"IRPA", 0, 0, 88, 0, 0, 1, 88, 160, 88, 8, 96, 8)
    + struct.pack("<QIQ5Q", 92, 3, 0, 0, 4, 0, 0, 0)
    + bytes(164),
)
WORDS = (
    *(b"IRPA", bytes(8), b"\xff" * 8, struct.pack("<Q", 1 << 63), struct.pack("<Q", 16)),
    *(struct.pack("<I", kind) for kind in range(5)),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        found = read_archive(data)
    except FormatError as problem:
        assert 0 <= problem.offset <= len(data)
        return
    assert found == plain(data)


def plain(data: bytes) -> dict[str, int]:
    """Read an archive that is known to be sound."""
    found, base, following = {}, 0, -1
    while following:
        *_, following, _, count, at, _, names, _, _, _ = HEADER.unpack_from(data, base)
        at += base
        for _ in range(count):
            size, kind, _, name, length, *_ = struct.unpack_from("<QIQ5Q", data, at)
            if kind:
                start = base + names + name
                place = at + 60 + {1: 0, 2: 8, 3: 24}[kind]
                key = data[start : start + length].decode("utf-8", "surrogateescape")
                found[key] = int.from_bytes(data[place : place + 8], "little")
            at += (size + 15) // 16 * 16
        base += following
    return found
