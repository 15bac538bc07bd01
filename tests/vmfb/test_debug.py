from __future__ import annotations

import pickle
import struct
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import ArgumentTypeError, bytecode, vmfb
from fnabi.vmfb.debug import (
    CallSite,
    Database,
    FileLineCol,
    Fused,
    Name,
    Operation,
    SourceLocation,
    SourceMap,
    UnknownLocation,
)
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.paths import DATA

MODULES = DATA / "vmfb"


def read(name: str) -> Database:
    found = vmfb.open(MODULES / f"{name}.vmfb").debug
    assert found is not None
    return found


def database(*locations: object, **functions: list[tuple[int, int]]) -> Database:
    maps = [
        SourceMap(name, tuple(Operation(*operation) for operation in operations))
        for name, operations in functions.items()
    ]
    return Database(locations, tuple(maps))  # type: ignore[arg-type]


A, B = FileLineCol("a.mlir", 3, 14), FileLineCol("b.mlir", 1, 2)


def test_stripped() -> None:
    assert vmfb.open(MODULES / "debug_stripped.vmfb").debug is None


@pytest.mark.parametrize("compiler", ["2.9.0", "3.7.0"])
def test_all_kinds_of_a_real_module(compiler: str) -> None:
    debug = read(f"debug_kept@{compiler}")
    texts = {
        1: "net.py:12:5",
        8: "named_op(läyer.py:40:9)",
        15: "callsite(net.py:12:5 at läyer.py:40:9)",
        22: "fused[fuse(unknown), net.py:12:5, inner(unknown)]",
        29: 'fused<"meta data">[net.py:12:5, läyer.py:40:9]',
        36: "unknown",
        43: "net.py:99:1",
    }
    assert [operation.bytecode_offset for operation in debug.functions[0].locations] == [*texts]
    for (start, text), (end, _) in pairwise([*texts.items(), (60, "")]):
        for offset in range(start, end):
            assert str(debug.locate("go", offset)) == text
    assert debug.locate("go", 0) is None
    assert debug.locate("go", -1) is None
    assert debug.locate("none", 1) is None
    assert {type(row) for row in debug.locations} == {
        UnknownLocation,
        CallSite,
        FileLineCol,
        Fused,
        Name,
    }


def test_the_file_of_a_place() -> None:
    debug = read("debug_kept@3.7.0")

    def file(offset: int) -> str:
        place = debug.locate("go", offset)
        assert place is not None
        return str(place.file)

    net, layer = "net.py:12:5", "läyer.py:40:9"
    assert [file(offset) for offset in (1, 8, 15, 22, 29, 36)] == [
        net,
        layer,
        net,
        net,
        net,
        "None",
    ]


def test_functions_are_found_by_name_where_slots_are_shared() -> None:
    # This compiler puts every source map into the first slot.
    opened = vmfb.open(MODULES / "debug_kept.vmfb")
    assert opened.debug is not None
    assert len(opened.functions) == 3
    assert [each.local_name for each in opened.debug.functions] == ["twin"]
    assert str(opened.debug.locate("twin", 20)) == "debug_kept.mlir:17:82"
    assert opened.debug.locate("go", 20) is None


def test_names_that_recur() -> None:
    def maps(*rows: int) -> tuple[SourceMap, ...]:
        return tuple(SourceMap("f", (Operation(4, row),)) for row in rows)

    debug = Database((A, B), maps(0, 1, 0))
    assert len(debug.source_maps["f"]) == 3
    assert str(debug.locate("f", 4)) == "fused[a.mlir:3:14, b.mlir:1:2]"
    assert debug.locate("f", 3) is None
    assert debug.locate("f", 4) == SourceLocation(
        Fused(None, (0, 1)), (SourceLocation(A), SourceLocation(B))
    )
    assert Database((A, B), maps(1, 1)).locate("f", 9) == SourceLocation(B)
    other = SourceMap("f", (Operation(10, 1),))
    partly = Database((A, B), (*maps(0), other))
    assert partly.locate("f", 9) == SourceLocation(A)
    assert partly.locate("f", 10) == SourceLocation(
        Fused(None, (0, 1)), (SourceLocation(A), SourceLocation(B))
    )


def test_operations_in_any_order() -> None:
    debug = database(A, B, f=[(20, 1), (5, 0)], empty=[])
    assert [debug.locate("f", offset) for offset in (4, 5, 19, 20)] == [
        None,
        SourceLocation(A),
        SourceLocation(A),
        SourceLocation(B),
    ]
    assert debug.locate("empty", 1) is None


@pytest.mark.parametrize("row", [-1, 2, 1 << 31])
def test_rows_that_are_not_there_are_unknown(row: int) -> None:
    debug = database(A, Fused("why", (0, row)), f=[(1, row), (9, 1)])
    assert debug.locate("f", 1) == SourceLocation(UnknownLocation())
    assert str(debug.locate("f", 9)) == "fused<why>[a.mlir:3:14, unknown]"
    assert [bytecode._file(debug, each) for each in (row, 1)] == ["", "a.mlir:3:14"]


def test_rows_inside_themselves_end() -> None:
    debug = database(CallSite(1, 0), Name("loop", 0), Name("self", 2))
    assert str(debug.resolve(0)) == "callsite(loop(unknown) at unknown)"
    assert str(debug.resolve(2)) == "self(unknown)"
    assert debug.resolve(2).file is None


def test_arguments_are_checked() -> None:
    database: Any = Database((), (SourceMap("f", (Operation(0, 0),)),))
    for call, argument in (
        (lambda: database.locate([], 0), "locate: function: expected str, got list"),
        (lambda: database.locate("f", None), "locate: bytecode_offset: expected int, got NoneType"),
        (lambda: database.resolve("0"), "resolve: index: expected int, got str"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^Database.{argument}$"):
            call()


def test_rows_that_multiply_end() -> None:
    rows = [Fused(None, (row + 1,) * 1000) for row in range(40)]
    assert len(str(database(*rows, A).resolve(0))) < 20_000
    doubling = [CallSite(row + 1, row + 1) for row in range(60)]
    assert "UnknownLocation" in repr(database(*doubling, A).resolve(0))
    chain = [Name("n", row + 1) for row in range(5000)]
    assert str(database(*chain, A).resolve(0)).count("n(") == 64
    assert str(database(*chain, A).resolve(4950)).endswith("n(a.mlir:3:14" + ")" * 50)


def test_texts_are_cut() -> None:
    """The structure has all of a place; its text shows when it has not."""
    named = database(Name("n" * 501, 1), A).resolve(0)
    assert str(named) == "n" * 500 + "...(a.mlir:3:14)"
    assert str(FileLineCol("f" * 501, 3, 14)) == "f" * 500 + "...:3:14"
    fused = database(Fused("m" * 501, (1,) * 400), Name("n" * 501, 2), A).resolve(0)
    assert len(fused.parts) == 400
    assert str(fused) == f"fused<{'m' * 500}...>[{str(named)[:489]}..."
    assert len(str(fused)) == 1003
    short = database(Fused(None, (1,) * 50), A).resolve(0)
    assert str(short) == f"fused[{', '.join(['a.mlir:3:14'] * 50)}]"


def test_many_maps_of_one_name() -> None:
    rows = [FileLineCol("a.mlir", row + 1, 1) for row in range(20)]
    maps = tuple(SourceMap("f", (Operation(0, row),)) for row in range(20))
    found = Database(tuple(rows), maps).locate("f", 0)
    assert found is not None
    assert isinstance(found.location, Fused)
    assert found.location.locations == tuple(range(16))


@given(st.data())
def test_any_table_resolves(data: st.DataObject) -> None:
    row = st.integers(-2, 12)
    text = st.text(max_size=3)
    rows = st.one_of(
        st.builds(UnknownLocation, st.integers(0, 255)),
        st.builds(CallSite, row, row),
        st.builds(FileLineCol, text, st.integers(), st.integers()),
        st.builds(Fused, st.none() | text, st.lists(row, max_size=8).map(tuple)),
        st.builds(Name, text, row),
    )
    debug = Database(tuple(data.draw(st.lists(rows, max_size=10))), ())
    for index in range(-1, len(debug.locations) + 1):
        place = debug.resolve(index)
        assert str(place)
        files = [found for found in debug.locations if isinstance(found, FileLineCol)]
        assert place.file is None or place.file in files


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def test_crafted_rows() -> None:
    rows = Vector(
        [
            Table({0: String(b"\xff.py"), 1: u32(0xFFFFFFFF), 2: u32(7)}),
            Table({0: String(b""), 1: Numbers(u32(0, 9), 4)}),
            Table(),
            None,
            Table(),
        ]
    )
    maps = Vector([Table({0: String(b"f\0g"), 1: Numbers(u32(3, 0, 4, 1), 8)}), Table()])
    found = Table({0: Numbers(b"\2\3\1\0\x63"), 1: rows, 2: maps})
    debug = vmfb.from_buffer(module(Table({0: String(b"m"), 15: found}))).debug
    assert debug is not None
    assert debug.locations == (
        FileLineCol("\udcff.py", -1, 7),
        Fused("", (0, 9)),
        CallSite(0, 0),
        UnknownLocation(),
        UnknownLocation(0x63),
    )
    assert debug.functions == (
        SourceMap("f\0g", (Operation(3, 0), Operation(4, 1))),
        SourceMap("", ()),
    )
    assert str(debug.locate("f\0g", 4)) == "fused<>[\udcff.py:-1:7, unknown]"


def test_values() -> None:
    debug = read("debug_kept@2.9.0")
    assert pickle.loads(pickle.dumps(debug)) == debug
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(debug), type=Database) == debug
    assert len({*debug.locations, *debug.locations}) == len(set(debug.locations))
    assert repr(debug.locations[0]) == "FileLineCol(filename='net.py', line=12, column=5)"
    with pytest.raises(AttributeError):
        debug.locations[0].line = 3  # type: ignore[misc, union-attr]
