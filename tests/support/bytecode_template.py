"""Make modules around any bytecode, and the seeds of the fuzz target from real functions."""

from __future__ import annotations

import struct

from support.flatbuffer import Numbers, String, Table, Vector, module
from support.paths import DATA

TEMPLATE = DATA / "bytecode" / "template.vmfb"

TYPES = (b"i32", b"i64", b"!hal.buffer", b"!vm.list<?>")
IMPORTS = (
    (b"hal.buffer_view.assert", b"0rriiCID_v"),
    (b"hal.buffer_view.dim", b"0ri_I"),
    (b"hal.fence.create", b"0rI_r"),
    (b"hal.fence.await", b"0iICrD_i"),
    (b"test.floats", b"0fF_Ff"),
    (b"test.pairs", b"0CiID_v"),
)
FUZZED = (b"0rIif_rI", b"0i_i")
GLOBAL_BYTES, GLOBAL_REFS = 16, 2
FUNCTION = struct.Struct("<iiIhhhh")


def template(
    code: bytes = b"",
    *,
    major: int = 17,
    requirements: int = 15,
    blocks: int = 1,
    values: int = 8,
    refs: int = 4,
    conventions: tuple[bytes, ...] = (b"0r_i", b"0i_i"),
) -> bytes:
    """Return a module whose functions share the same bytecode, which is last in the file."""
    function = FUNCTION.pack(0, len(code), requirements, 0, blocks, values, refs)
    fields = {
        14: Numbers(code),  # written last: every object comes after those that refer to it
        0: String(b"template"),
        2: struct.pack("<I", requirements),
        4: Vector([Table({0: String(name)}) for name in TYPES]),
        6: Vector(
            [Table({0: String(name), 1: Table({0: String(cconv)})}) for name, cconv in IMPORTS]
        ),
        7: Vector([Table({0: String(b"main")})]),
        8: Vector([Table({0: String(cconv)}) for cconv in conventions]),
        9: Vector([Table({2: Numbers(b"text")}), Table({2: Numbers(b"\0\1")})]),
        11: Table({0: struct.pack("<I", GLOBAL_BYTES), 1: struct.pack("<I", GLOBAL_REFS)}),
        12: Numbers(function * len(conventions), FUNCTION.size),
        13: struct.pack("<I", major << 16),
    }
    return module(Table(fields))


def seed(code: bytes, major: int, blocks: int, values: int, refs: int, requirements: int) -> bytes:
    """Return an input of the fuzz target: five bytes of the descriptor, then bytecode."""
    return bytes([major, requirements, blocks & 255, values & 255, refs & 255]) + code


Part = bytes | str | list[int]


def assemble(*lines: tuple[Part, ...]) -> bytes:
    """Return bytecode: bytes, targets by the name of a block, and lists of registers or pairs.

    A line of one name is a block.
    """
    places: dict[str, int] = {}
    for _ in range(2):  # the second time with the places of blocks
        code = bytearray()
        for line in lines:
            for part in line:
                if isinstance(part, bytes):
                    code += part
                elif isinstance(part, list):
                    width = 2 if line[0] in BRANCHES else 1
                    code += b"\0" * (len(code) % 2)
                    code += struct.pack(f"<{1 + len(part)}H", len(part) // width, *part)
                elif len(line) == 1:
                    places[part] = len(code)
                    code += b"\x79"
                else:
                    code += struct.pack("<I", places.get(part, 0))
    return bytes(code)


BRANCHES = (b"\x56", b"\x83\0\0")
REF, MOVE = 0x8000, 0xC000


def load(segment: int, register: int) -> tuple[Part, ...]:
    """Return a line that puts a segment of read-only data into a ref register."""
    return (b"\x11", struct.pack("<IH", segment, REF | register))


def call(function: int, arguments: list[int], results: list[int]) -> tuple[Part, ...]:
    """Return a line that calls an import."""
    return (b"\x58", struct.pack("<I", 1 << 31 | function), arguments, results)
