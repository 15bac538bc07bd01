"""Modules that no compiler writes: many parts, shared parts, and code that is hard to follow."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from support.flatbuffer import Node, Numbers, String, Table, Vector, module

Make = Callable[[int], bytes]

I32 = struct.Struct("<i")
FUNCTION = struct.Struct("<iiIhhhh")
REF = 0x8000
BR_TABLE = 0x83


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


class Code:
    """Bytecode of one function, whose lists are at even offsets."""

    def __init__(self) -> None:
        self.data = bytearray()

    def op(self, number: int, *parts: bytes | list[int]) -> None:
        self.data.append(number)
        for part in parts:
            if isinstance(part, bytes):
                self.data += part
            else:
                self.data += b"\0" * (len(self.data) % 2)
                self.data += struct.pack(f"<{len(part) + 1}H", len(part), *part)

    def block(self) -> int:
        self.op(0x79)
        return len(self.data) - 1

    def branch(self, target: int) -> None:
        self.op(0x56, u32(target), [])

    def condition(self, register: int, yes: int, no: int) -> None:
        self.op(0x57, struct.pack("<HI", register, yes), [])
        self.data += u32(no)
        self.data += b"\0" * (len(self.data) % 2) + b"\0\0"

    def call(self, callee: int, operands: list[int], results: Sequence[int] = ()) -> None:
        self.op(0x58, u32(callee), operands, [*results])

    def variadic(self, callee: int, sizes: list[int], operands: list[int], *results: int) -> None:
        self.op(0x59, u32(callee), sizes, operands, [*results])

    def leave(self, *registers: int) -> None:
        self.op(0x5A, [*registers])

    def i32(self, value: int, register: int) -> None:
        self.op(0x0D, struct.pack("<iH", value, register))

    def i64(self, value: int, register: int) -> None:
        self.op(0x0F, struct.pack("<qH", value, register))


IMPORTS = (
    ("hal.buffer_view.assert", "0rriiCID_v"),
    ("hal.buffer_view.dim", "0ri_I"),
    ("hal.command_buffer.copy_buffer", "0riirIrIII_v"),
    ("hal.command_buffer.fill_buffer", "0rrIIiIiI_v"),
    ("hal.command_buffer.execution_barrier", "0riiI_v"),
    ("hal.device.queue.alloca", "0rIrrIiiII_r"),
    ("hal.device.queue.dealloca", "0rIrrrI_v"),
    ("hal.executable.create", "0rIrrr_r"),
    ("io_parameters.load", "0rIrrrIiirrr_r"),
    ("hal.command_buffer.create", "0riiIi_r"),
    ("hal.fence.create", "0rI_r"),
)
NUMBERS = {name: 0x80000000 | index for index, (name, _) in enumerate(IMPORTS)}


def text(value: bytes | str) -> String:
    return String(value.encode() if isinstance(value, str) else value)


def attributes(pairs: Sequence[tuple[bytes, bytes]]) -> Vector:
    return Vector([Table({0: text(key), 1: text(value)}) for key, value in pairs])


def made(**changes: Node | bytes) -> bytes:
    ids = {
        "attrs": 3, "types": 4, "dependencies": 5, "imports": 6, "exports": 7, "signatures": 8,
        "rodata": 9, "rwdata": 10, "state": 11, "functions": 12, "debug": 15, "code": 14,
    }  # fmt: skip
    fields: dict[int, Node | bytes] = {0: text("hostile"), 13: u32(17 << 16)}
    return module(Table(fields | {ids[name]: value for name, value in changes.items()}))


def running(
    codes: Sequence[bytes],
    conventions: Sequence[bytes] = (b"0v_v",),
    registers: tuple[int, int] = (8, 8),
    blocks: Sequence[int] = (1,),
    **changes: Node | bytes,
) -> bytes:
    """Make a module of functions; of fewer conventions or numbers of blocks, the last counts."""
    offset, functions = 0, bytearray()
    for index, code in enumerate(codes):
        count = min(blocks[min(index, len(blocks) - 1)], 32767)
        functions += FUNCTION.pack(offset, len(code), 0, 0, count, *registers)
        offset += len(code)
    tables = {each: Table({0: text(each)}) for each in conventions}
    known = [tables[conventions[min(index, len(conventions) - 1)]] for index in range(len(codes))]
    parts: dict[str, Node | bytes] = {
        "types": Vector([Table({0: text(name)}) for name in ("!hal.buffer", "!vm.list<?>")]),
        "imports": Vector(
            [Table({0: text(name), 1: Table({0: text(each)})}) for name, each in IMPORTS]
        ),
        "exports": Vector([Table({0: text(f"f{i}"), 1: I32.pack(i)}) for i in range(len(codes))]),
        "signatures": Vector([*known]),
        "functions": Numbers(bytes(functions), 20),
        "code": Numbers(b"".join(codes)),
        "rodata": Vector([Table({2: Numbers(b"text")})]),
        "state": Table({0: u32(16), 1: u32(2)}),
    }
    return made(**(parts | changes))


# ---------------------------------------------------------------------------------------- tables


def exporting(
    size: int,
    each: int,
    name: Callable[[int], bytes],
    attrs: Callable[[int], Vector | None] = lambda i: None,
    convention: bytes = b"0r_r",
    one: bool = False,
) -> bytes:
    """Make a module of exports without code; with `one`, all of one function."""
    count = max(1, size // each)
    code = b"\x79\x5a\x01\0\0\x80"
    signatures: list[Node | None] = []
    for i in range(1 if one else count):
        fields: dict[int, Node | bytes] = {0: text(convention)}
        if (found := attrs(i)) is not None:
            fields[1] = found
        signatures.append(Table(fields))
    return made(
        exports=Vector([Table({0: text(name(i)), 1: u32(0 if one else i)}) for i in range(count)]),
        signatures=Vector(signatures),
        functions=Numbers(FUNCTION.pack(0, len(code), 0, 0, 1, 8, 8) * len(signatures), 20),
        code=Numbers(code),
    )


def named(i: int) -> bytes:
    return b"f%07d" % i


DECLARED = b"sync func @f(%input0: tensor<8x16xf32>, %input1: tensor<?x4xi32>) -> (%output0: i32)"
ABI = b'{"a":[["ndarray","f32",1,4]],"r":[["ndarray","f32",1,4]],"v":1}'


def exports(size: int) -> bytes:
    return exporting(size, 200, named, lambda i: attributes([(b"iree.abi", ABI)]))


def plain_exports(size: int) -> bytes:
    return exporting(size, 90, named)


def same_exports(size: int) -> bytes:
    return exporting(size, 90, lambda i: b"f")


def declarations(size: int) -> bytes:
    return exporting(
        size, 280, named, lambda i: attributes([(b"iree.abi.declaration", DECLARED)]), b"0rr_r"
    )


def storages(size: int) -> bytes:
    """Arguments that results are written into."""
    count = max(1, size // 58)
    inputs = b", ".join(
        b"%%a%d: tensor<4xf32> {iree.abi.output = 1%06d : index}" % (i, i) for i in range(count)
    )
    text_ = b"sync func @f(" + inputs + b") -> (%r: i32)"
    declared = attributes([(b"iree.abi.declaration", text_)])
    return exporting(size, 10**9, lambda i: b"f", lambda i: declared, b"0" + b"r" * count + b"_r")


def array(dims: int) -> bytes:
    return b'["ndarray","f32",%d' % dims + b",7" * dims + b"]"


def many_dims(size: int) -> bytes:
    """A type of one array with many dims."""
    value = b'{"a":[' + array(max(1, size // 2)) + b'],"r":[]}'
    pairs = [(b"iree.abi", value)]
    return exporting(size, 10**9, lambda i: b"f", lambda i: attributes(pairs), b"0r_v")


def arrays(size: int) -> bytes:
    """Arrays of as many dims as are compared one by one."""
    count = max(1, size // 40)
    value = b'{"a":[' + b",".join([array(8)] * count) + b'],"r":[]}'
    pairs = [(b"iree.abi", value)]
    convention = b"0" + b"r" * count + b"_v"
    return exporting(size, 10**9, lambda i: b"f", lambda i: attributes(pairs), convention)


def disagreeing(size: int) -> bytes:
    """A function whose signature and calling convention disagree about each value."""
    count = max(1, size // 7)
    pairs = [(b"iree.abi", b'{"a":[' + b",".join([b'"f32"'] * count) + b'],"r":[]}')]
    convention = b"0" + b"i" * count + b"_v"
    return exporting(size, 10**9, named, lambda i: attributes(pairs), convention)


def alike_exports(size: int) -> bytes:
    """Names that begin alike, so that identifiers made of them are equal."""
    return exporting(
        size, 280, lambda i: b"x" * 100 + b"%d" % i, lambda i: attributes([(b"iree.abi", ABI)])
    )


def exports_of_one(size: int) -> bytes:
    """Many names of one function with a long text."""
    value = b'{"a":[' + b'"i32",' * (size // 24) + b'null],"r":[]}'
    return exporting(size // 2, 40, named, lambda i: attributes([(b"iree.abi", value)]), one=True)


def other_attributes(size: int) -> bytes:
    return exporting(
        size, 10**9, named, lambda i: attributes([(b"k%07d" % k, b"v") for k in range(size // 50)])
    )


def same_attributes(size: int) -> bytes:
    return exporting(size, 10**9, named, lambda i: attributes([(b"iree.abi", ABI)] * (size // 130)))


def shared_attributes(size: int) -> bytes:
    shared = attributes([(b"k%07d" % i, b"v") for i in range(size // 100)])
    return exporting(size // 2, 90, named, lambda i: shared)


def structures(size: int) -> bytes:
    pairs = [(b"f", b"I6!B3!d11R1!"), (b"fv", b"1"), (b"sip", b"I8!S6!k0_0R1!"), (b"sipv", b"1")]
    return exporting(size, 250, named, lambda i: attributes(pairs))


def long_name(size: int) -> bytes:
    return exporting(size, 10**9, lambda i: b"x" * size)


def many_arguments(size: int) -> bytes:
    return exporting(size, 10**9, named, convention=b"0" + b"r" * size + b"_v")


def many_results(size: int) -> bytes:
    return exporting(size, 10**9, named, convention=b"0v_" + b"r" * size)


def faulty(size: int) -> bytes:
    """Exports whose every text is wrong."""
    pairs = [(b"iree.abi", b"{"), (b"f", b"x"), (b"sip", b"x")]
    return exporting(size, 200, named, lambda i: attributes(pairs), b"?")


def wrong_ordinals(size: int) -> bytes:
    count = size // 60
    return made(exports=Vector([Table({0: text("f"), 1: u32(i)}) for i in range(count)]))


def imports(size: int, name: Callable[[int], bytes] = lambda i: b"m%05d.f" % i) -> bytes:
    convention = Table({0: text("0r_r")})
    return made(
        imports=Vector(
            [Table({0: text(name(i)), 1: convention}) for i in range(max(1, size // 50))]
        )
    )


def same_imports(size: int) -> bytes:
    return imports(size, lambda i: b"hal.buffer.length")


def imports_of_one(size: int) -> bytes:
    return imports(size, lambda i: b"hal.f%07d" % i)


def dependencies(size: int) -> bytes:
    return made(
        dependencies=Vector(
            [Table({0: text(f"m{i:07}"), 1: u32(i)}) for i in range(max(1, size // 50))]
        )
    )


def same_dependencies(size: int) -> bytes:
    return made(
        dependencies=Vector([Table({0: text("hal"), 1: u32(i)}) for i in range(max(1, size // 45))])
    )


def types(size: int) -> bytes:
    return made(types=Vector([Table({0: text(f"!t.t{i:07}")}) for i in range(max(1, size // 40))]))


def module_attributes(size: int) -> bytes:
    return made(attrs=attributes([(b"k%07d" % i, b"v") for i in range(max(1, size // 50))]))


def rodata(size: int) -> bytes:
    return made(rodata=Vector([Table({2: Numbers(b"text")}) for _ in range(max(1, size // 30))]))


def shared_rodata(size: int) -> bytes:
    data = Numbers(b"\x7fELF" + b"x" * (size // 2))
    return made(rodata=Vector([Table({2: data}) for _ in range(max(1, size // 48))]))


def shared_splat(size: int) -> bytes:
    data = Numbers(b"\x01\x02\x03\x04" * (size // 8))
    return made(rodata=Vector([Table({2: data}) for _ in range(max(1, size // 48))]))


def shared_table(size: int) -> bytes:
    one = Table({2: Numbers(b"a" * (size // 2))})
    return made(rodata=Vector([one] * max(1, size // 8)))


def rwdata(size: int) -> bytes:
    return made(rwdata=Vector([Table({0: u32(i)}) for i in range(max(1, size // 20))]))


def outside_rodata(size: int) -> bytes:
    return made(
        rodata=Vector([Table({3: u64(i * 64), 4: u64(1 << 30)}) for i in range(max(1, size // 40))])
    )


# -------------------------------------------------------------------------------- debug databases


def located(size: int, locations: list[tuple[int, Node | None]], count: int = 0) -> bytes:
    """Make a module with a debug database; `count` rows of source maps end in the last one."""
    rows = Numbers(
        b"".join(struct.pack("<ii", i, len(locations) - 1) for i in range(max(1, count))), 8
    )
    database = Table(
        {
            0: Numbers(bytes(kind for kind, _ in locations)),
            1: Vector([table for _, table in locations]),
            2: Vector([Table({0: text("f0"), 1: rows})]),
        }
    )
    code = Code()
    code.block()
    code.leave()
    return running([bytes(code.data)], debug=database)


def callers(size: int) -> bytes:
    """Locations of which each is called from the one before."""
    place: list[tuple[int, Node | None]] = [(2, Table({0: text("a.py"), 1: u32(1), 2: u32(2)}))]
    for i in range(size // 48):
        place.append((1, Table({0: u32(0), 1: u32(i)})))
    return located(size, place, size // 16)


def names(size: int) -> bytes:
    place: list[tuple[int, Node | None]] = [(2, Table({0: text("a.py"), 1: u32(1), 2: u32(2)}))]
    for i in range(size // 60):
        place.append((4, Table({0: text("n"), 1: u32(i)})))
    return located(size, place, size // 20)


def fused(size: int) -> bytes:
    """Locations of which each is the one before twice."""
    place: list[tuple[int, Node | None]] = [(2, Table({0: text("a.py"), 1: u32(1), 2: u32(2)}))]
    for i in range(size // 50):
        place.append((3, Table({1: Numbers(struct.pack("<ii", i, i), 4)})))
    return located(size, place, size // 20)


def wide_fused(size: int) -> bytes:
    place: list[tuple[int, Node | None]] = [(2, Table({0: text("a.py"), 1: u32(1), 2: u32(2)}))] * (
        size // 40
    )
    count = len(place)
    place.append((3, Table({1: Numbers(struct.pack(f"<{count}i", *range(count)), 4)})))
    return located(size, place, size // 16)


def long_fused(size: int) -> bytes:
    """A location of many parts that are all one with a long name."""
    name = Table({0: text(b"x" * (size // 2)), 1: u32(99_999)})
    parts = Table({0: text("m"), 1: Numbers(struct.pack("<999I", *[0] * 999), 4)})
    return located(size, [(4, name), (3, parts)], size // 16)


def long_file(size: int) -> bytes:
    """Instructions that are from two places of a file with a long name, in turn."""
    count = max(1, size // 40)
    code = Code()
    code.block()
    for _ in range(count):
        code.op(0x22, struct.pack("<HHH", 0, 0, 0))
    code.leave()
    name = text(b"a" * (size // 2))
    rows = Vector([Table({0: name, 1: u32(1), 2: u32(column)}) for column in (2, 3)])
    starts = b"".join(struct.pack("<ii", 1 + 7 * i, i % 2) for i in range(count))
    maps = Vector([Table({0: text("f0"), 1: Numbers(starts, 8)})])
    return running([bytes(code.data)], debug=Table({0: Numbers(b"\2\2"), 1: rows, 2: maps}))


def same_maps(size: int) -> bytes:
    """Functions with one name, and as many source maps of that name."""
    count = max(1, size // 150)
    code = Code()
    code.block()
    code.leave()
    rows = Vector([Table({0: text("a.py"), 1: u32(1), 2: u32(2)})])
    maps = Vector(
        [Table({0: text("f0"), 1: Numbers(struct.pack("<ii", i, 0), 8)}) for i in range(count)]
    )
    exports = Vector([Table({0: text("f0"), 1: u32(i)}) for i in range(count)])
    database = Table({0: Numbers(b"\2"), 1: rows, 2: maps})
    return running([bytes(code.data)] * count, exports=exports, debug=database)


def circles(size: int) -> bytes:
    """Locations that lead to each other."""
    count = size // 40
    return located(
        size,
        [(1, Table({0: u32((i + 1) % count), 1: u32((i * 7) % count)})) for i in range(count)],
        count,
    )


# ------------------------------------------------------------------------------------------ code


def straight(size: int) -> bytes:
    code = Code()
    code.block()
    code.i32(1, 0)
    for _ in range(size // 7):
        code.op(0x22, struct.pack("<HHH", 0, 0, 0))
    code.leave()
    return running([bytes(code.data)])


def many_terms(size: int) -> bytes:
    """Every instruction makes a new value of the two before."""
    code = Code()
    code.block()
    for i in range(size // 7):
        code.op(0x24, struct.pack("<HHH", i % 4, (i + 1) % 4, i % 4))
    code.leave()
    return running([bytes(code.data)], [b"0iiii_v"])


def forward(size: int) -> bytes:
    code = Code()
    count = max(1, size // 12)
    for _ in range(count):
        at = code.block()
        code.branch(at + 8 + (len(code.data) + 5) % 2)
    code.block()
    code.leave()
    return running([bytes(code.data)], blocks=[count + 1])


def loops(size: int, wide: int = 8) -> bytes:
    """Blocks that each lead to the next one and to the first."""
    code = b"".join(
        b"\x79\x57\0\0" + struct.pack("<IHIH", 16 * (i + 1), 0, 0, 0)
        for i in range(max(1, size // 16))
    )
    code += b"\x79\x5a\0\0"
    return running([code], [b"0rr_v"], (wide, wide), blocks=[max(1, size // 16) + 1])


def wide_loops(size: int) -> bytes:
    return loops(size, 4000)


def backward(size: int) -> bytes:
    """Blocks of which each leads to the one before and the one after."""
    count = max(2, size // 16)
    code = b"".join(
        b"\x79\x57\0\0" + struct.pack("<IHIH", 16 * min(i + 1, count), 0, 16 * max(i - 1, 0), 0)
        for i in range(count)
    )
    return running([code + b"\x79\x5a\0\0"], [b"0ir_v"], blocks=[count + 1])


def ladder(size: int) -> bytes:
    """Blocks of which each passes values on to the next one, and to one half way back."""
    count = max(2, size // 28)
    code = Code()
    for i in range(count):
        code.block()
        code.op(0x22, struct.pack("<HHH", i % 7, (i + 1) % 7, (i + 1) % 7))
        moved = struct.pack("<HHH", 1, i % 7, (i + 3) % 7)
        code.data += struct.pack("<BHI", 0x57, i % 7, 28 * (i + 1)) + b"\0" + moved
        code.data += struct.pack("<IH", 28 * (i // 2), 0)
        assert len(code.data) == 28 * (i + 1), len(code.data)
    code.block()
    code.leave()
    return running([bytes(code.data)], [b"0iiir_v"], blocks=[count + 1])


def table_branch(size: int) -> bytes:
    """Branches with many cases, all to the next block."""
    count = min(65535, max(1, size // 6))
    code = Code()
    blocks = max(1, size // 6 // count)
    for _ in range(blocks):
        code.block()
        code.data += struct.pack("<BH", BR_TABLE, 0)
        after = len(code.data) + 8 + 6 * count  # two lists, of which the first is empty
        code.data += u32(after) + struct.pack("<HH", 0, count) + (u32(after) + b"\0\0") * count
    code.block()
    code.leave()
    return running([bytes(code.data)], [b"0i_v"], blocks=[blocks + 1])


def calls(size: int) -> bytes:
    """Functions that each call the next one, and the last one the first."""
    count = max(1, size // 130)
    codes = []
    for i in range(count):
        code = Code()
        code.block()
        code.call((i + 1) % count, [REF])
        code.leave()
        codes.append(bytes(code.data))
    return running(codes, [b"0r_v"])


def call_twice(size: int) -> bytes:
    """Functions that each call the next one twice."""
    count = max(1, size // 150)
    codes = []
    for i in range(count):
        code = Code()
        code.block()
        if i + 1 < count:
            code.call(i + 1, [REF], [REF | 1])
            code.call(i + 1, [REF | 1], [REF | 1])
        code.leave(REF)
        codes.append(bytes(code.data))
    return running(codes, [b"0r_r"])


def call_all(size: int) -> bytes:
    """Functions, the first of which calls all, and all call the last one."""
    count = max(2, size // 150)
    first = Code()
    first.block()
    for i in range(1, count):
        first.call(i, [REF])
    first.leave()
    codes = [bytes(first.data)]
    for i in range(1, count):
        code = Code()
        code.block()
        if i + 1 < count:
            code.call(count - 1, [REF])
        code.leave()
        codes.append(bytes(code.data))
    return running(codes, [b"0r_v"])


def asserts(size: int) -> bytes:
    """Assertions of shapes, each of another dim."""
    code = Code()
    code.block()
    for i in range(max(1, size // 60)):
        code.i32(553648160, 0)
        code.i64(i, 2)
        code.variadic(
            NUMBERS["hal.buffer_view.assert"],
            [0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 2],
            [REF, REF | 1, 0, 1, 2, 4],
        )
    code.leave()
    return running([bytes(code.data)], [b"0rr_v"])


def lists(size: int) -> bytes:
    begin = b"\x79" + b"".join(
        b"\x12" + struct.pack("<IHH", 1, 0, REF | 2) + b"\x0d" + struct.pack("<IH", 63, 0)
        for _ in range(1)
    )
    change = b"".join(b"\x1b" + struct.pack("<HHH", REF | 2, 0, ref) for ref in (REF, REF | 1))
    code = begin + max(1, size // 14) * change
    code += b"\x5a" + b"\0" * ((len(code) + 1) % 2) + b"\0\0"
    return running([code], [b"0rr_v"])


def copies(size: int) -> bytes:
    """Copies between two buffers, of ranges that all overlap."""
    code = Code()
    code.block()
    for i in range(max(1, size // 70)):
        code.i64(i, 2)
        code.i64(100, 4)
        code.call(
            NUMBERS["hal.command_buffer.copy_buffer"],
            [REF, 0, 0, REF | 1, 2, REF | 2, 2, 4, 2],
        )
    code.leave()
    return running([bytes(code.data)], [b"0rrr_v"])


def spans(size: int) -> bytes:
    """Spans that claim more rows than they have operands."""
    code = Code()
    code.block()
    sizes = [0xFFFF] * 6 + [65534]
    for _ in range(max(1, size // 44)):
        code.variadic(0x80000000, sizes, [REF, 2, REF | 1, REF | 1, REF | 1, 2])
    code.leave()
    convention = Table({0: text("0rIrrrICrIID_v")})
    imports = Vector([Table({0: text("hal.device.queue.execute.indirect"), 1: convention})])
    return running([bytes(code.data)], [b"0rr_v"], imports=imports)


def dispatches(size: int) -> bytes:
    """Dispatches of one entry point with a long name that is no Latin."""
    code = Code()
    code.block()
    code.op(0x11, struct.pack("<IH", 0, REF | 2))
    code.call(0x80000000, [REF | 1, REF | 2], [2])
    sizes = [0xFFFF] * 7 + [0, 0]
    for _ in range(max(1, size // 50)):
        code.variadic(0x80000001, sizes, [REF, REF | 1, 2, 0, 0, 0, 2])
    code.leave()
    imports = Vector(
        [
            Table({0: text(name), 1: Table({0: text(convention)})})
            for name, convention in (
                ("hal.executable.lookup.function", "0rr_I"),
                ("hal.command_buffer.dispatch", "0rrIiiiICiDCiirIID_v"),
            )
        ]
    )
    name = b"x" * min(size // 8, 4090) + "\U0001f600".encode()
    segments = Vector([Table({2: Numbers(name)})])
    return running([bytes(code.data)], [b"0rr_v"], imports=imports, rodata=segments)


def fills(size: int) -> bytes:
    """Fills of neighbouring ranges, and barriers."""
    code = Code()
    code.block()
    for i in range(max(1, size // 80)):
        code.i64(i * 8, 2)
        code.i64(8, 4)
        code.call(NUMBERS["hal.command_buffer.fill_buffer"], [REF, REF | 1, 2, 4, 0, 2, 0, 2])
        if i % 2:
            code.call(NUMBERS["hal.command_buffer.execution_barrier"], [REF, 0, 0, 2])
    code.leave()
    return running([bytes(code.data)], [b"0rr_v"])


def allocations(size: int) -> bytes:
    """Buffers that are all alive, of lengths that are not known."""
    code = Code()
    code.block()
    for i in range(max(1, size // 70)):
        code.i64(i, 2)
        code.op(0x2C, struct.pack("<HHH", 2, 0, 4))
        code.call(
            NUMBERS["hal.device.queue.alloca"],
            [REF, 2, REF | 1, REF | 1, 2, 0, 0, 2, 4],
            [REF | 2],
        )
        code.call(
            NUMBERS["hal.command_buffer.copy_buffer"],
            [REF, 0, 0, REF | 2, 2, REF | 1, 2, 4, 2],
        )
    code.leave()
    return running([bytes(code.data)], [b"0rrI_v"])


def executables(size: int) -> bytes:
    code = Code()
    code.block()
    code.op(0x11, struct.pack("<IH", 0, REF | 2))
    for _ in range(max(1, size // 30)):
        code.call(NUMBERS["hal.executable.create"], [REF, 2, REF | 2, REF | 2, REF | 1], [REF | 3])
    code.leave()
    return running(
        [bytes(code.data)],
        [b"0rr_v"],
        rodata=Vector(
            [Table({2: Numbers(b"\x7fELF\x02\x01\x01" + b"\0" * 57 + b"x" * (size // 4))})]
        ),
    )


def created(size: int, segment: bytes, said: bytes = b"") -> bytes:
    """Create executables of one segment, beside a failure that says so."""
    code = Code()
    code.block()
    code.op(0x11, struct.pack("<IH", 0, REF | 2))
    code.op(0x11, struct.pack("<IH", 1, REF | 4))
    for _ in range(max(1, size // 60)):
        code.call(NUMBERS["hal.executable.create"], [REF, 2, REF | 4, REF | 2, REF | 1], [REF | 3])
    code.leave()
    code.block()
    code.op(0x5B, struct.pack("<HH", 0, len(said)) + said)
    segments = Vector([Table({2: Numbers(segment)}), Table({2: Numbers(b"fmt")})])
    return running([bytes(code.data)], [b"0rr_v"], blocks=[2], rodata=segments)


def capabilities(size: int) -> bytes:
    """Executables of the same SPIR-V, which needs much."""
    words = b"".join(struct.pack("<II", 2 << 16 | 17, 100_000 + i) for i in range(size // 16))
    return created(size, b"\x03\x02\x23\x07" + b"\0" * 16 + words)


def inner_modules(size: int) -> bytes:
    """Executables of the same module."""
    return created(size, exporting(size // 2, 80, named, one=True))


def targeted(targets: bytes) -> bytes:
    return b'not found or unavailable: #hal.device.target<"local", [' + targets + b"]>"


def features(size: int) -> bytes:
    """Executables for the same target, which has many features."""
    names = b",".join(b"+%d" % i for i in range(min(size, 120_000) // 14))
    config = b'{cpu_features = "' + names + b'"}'
    said = targeted(b'#hal.executable.target<"b", "fmt", ' + config + b">")
    return created(size, b"x" * 64, said)


def required_features(size: int) -> bytes:
    names = b",".join(b"+f00%d" % i for i in range(min(size, 60_000) // 9))
    config = b'{cpu_features = "' + names + b'"}'
    code = Code()
    code.block()
    said = targeted(b'#hal.executable.target<"b", "fmt", ' + config + b">")
    code.op(0x5B, struct.pack("<HH", 0, len(said)) + said)
    return running([bytes(code.data)])


def alternatives(size: int) -> bytes:
    """Executables, and targets of other formats."""
    count = min(size, 120_000) // 80
    said = b", ".join(b'#hal.executable.target<"b", "%d">' % i for i in range(count))
    return created(size, b"x" * 64, targeted(said))


def parameters(size: int) -> bytes:
    """Loads of parameters that all have one long name."""
    code = Code()
    code.block()
    code.op(0x11, struct.pack("<IH", 0, REF | 2))
    code.op(0x11, struct.pack("<IH", 1, REF | 3))
    code.op(0x11, struct.pack("<IH", 2, REF | 4))
    for _ in range(max(1, size // 50)):
        code.call(
            NUMBERS["io_parameters.load"],
            [REF, 2, REF | 1, REF | 1, REF | 2, 2, 0, 0, REF | 3, REF | 2, REF | 4],
            [REF | 5],
        )
    code.leave()
    name = b"k" * (size // 4)
    return running(
        [bytes(code.data)],
        [b"0rr_v"],
        rodata=Vector(
            [
                Table({2: Numbers(name)}),
                Table({2: Numbers(struct.pack("<II", 0, len(name)))}),
                Table({2: Numbers(struct.pack("<QQQ", 0, 0, 16))}),
            ]
        ),
    )


def long_import(size: int) -> bytes:
    """Calls of a function with a long name."""
    code = Code()
    code.block()
    for _ in range(max(1, size // 24)):
        code.call(0x80000000, [REF])
    code.leave()
    return running(
        [bytes(code.data)],
        [b"0r_v"],
        imports=Vector([Table({0: text(b"m." + b"x" * (size // 2)), 1: Table({0: text("0r_v")})})]),
    )


def traces(size: int) -> bytes:
    code = Code()
    code.block()
    for _ in range(max(1, size // 40)):
        said = b'#hal.device.target<"a", [<>'
        code.op(0x5E, struct.pack("<H", len(said)) + said, [])
    code.leave()
    return running([bytes(code.data)])


def fails(size: int) -> bytes:
    """Failures whose texts begin lists of targets."""
    code = Code()
    for _ in range(max(1, size // 50)):
        code.block()
        said = b'#hal.device.target<"a", ["<[['
        code.op(0x5B, struct.pack("<HH", 0, len(said)) + said)
    return running([bytes(code.data)], blocks=[max(1, size // 50)])


def shared_code(size: int) -> bytes:
    """Functions of the same code."""
    count = max(1, size // 130)
    code = Code()
    code.block()
    for _ in range(size // 2 // 7):
        code.op(0x22, struct.pack("<HHH", 0, 0, 0))
    code.leave()
    functions = FUNCTION.pack(0, len(code.data), 0, 0, 1, 8, 8) * count
    one = Table({0: text("0v_v")})
    return made(
        exports=Vector([Table({0: text(f"f{i}"), 1: I32.pack(i)}) for i in range(count)]),
        signatures=Vector([one] * count),
        functions=Numbers(functions, 20),
        code=Numbers(bytes(code.data)),
    )


def unsound(size: int) -> bytes:
    """Instructions of which each has a fault."""
    code = Code()
    code.block()
    for _ in range(max(1, size // 7)):
        code.op(0x22, struct.pack("<HHH", 1000, 1000, 1000))
    code.leave()
    return running([bytes(code.data)])


def small_functions(size: int) -> bytes:
    code = Code()
    code.block()
    code.leave()
    return running([bytes(code.data)] * max(1, size // 90))


MODULES: dict[str, Make] = {
    made.__name__.replace("_", " "): made
    for made in (
        exports, plain_exports, same_exports, alike_exports, declarations, exports_of_one,
        disagreeing, many_dims, arrays, storages, other_attributes, same_attributes,
        shared_attributes, structures, long_name, many_arguments, many_results, faulty,
        wrong_ordinals, imports, same_imports, imports_of_one, dependencies, same_dependencies,
        types, module_attributes, rodata, shared_rodata, shared_splat, shared_table, rwdata,
        outside_rodata, callers, names, fused, wide_fused, long_fused, long_file, same_maps,
        circles, straight, many_terms, forward, loops, wide_loops, backward, ladder,
        table_branch, calls, call_twice, call_all, asserts, lists, copies, spans, dispatches,
        fills, allocations, executables, capabilities, inner_modules, features,
        required_features, alternatives, parameters, long_import, traces, fails, shared_code,
        unsound, small_functions,
    )
}  # fmt: skip
