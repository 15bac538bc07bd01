from __future__ import annotations

import copy
import gc
import gzip
import hashlib
import json
import mmap
import os
import pickle
import random
import struct
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from fnabi import (
    ArgumentTypeError,
    CallError,
    FormatError,
    cconv,
    debug,
    declaration,
    iree_abi,
    raw,
    sip,
    types,
    vmfb,
)
from fnabi._base import lane
from fnabi._base.core import decode
from fnabi._fnabi import ffi, lib
from fnabi.types import (
    DType,
    HomogeneousList,
    Named,
    Ref,
    Scalar,
    Signature,
    Tuple,
    Type,
)
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.paths import DATA, TESTS
from support.sanitizers import check_grown, resident

MODULES = DATA / "vmfb"
GOLDEN: dict[str, Any] = json.loads((MODULES / "golden.json").read_text())
OFFICIAL: dict[str, Any] = json.loads(gzip.decompress((MODULES / "official.json.gz").read_bytes()))
MALFORMED: dict[str, bool] = json.loads((MODULES / "malformed" / "expected.json").read_text())
VALID = [name for name, golden in GOLDEN.items() if golden["valid"]]
SMALL = ["debug_kept", "std_llvmcpu", "raw_v0", "module_attrs", "vm_globals", "rodata_mixed"]

untyped = msgspec.msgpack.Decoder()


@cache
def read(name: str) -> bytes:
    return (MODULES / f"{name}.vmfb").read_bytes()


def field(data: bytes, number: int) -> Any:
    """A field of the root as the core gives it."""
    return decode(lib.fnabi_vmfb_field, untyped, ffi.from_buffer(data), number)


def escaped(value: Any) -> Any:
    if isinstance(value, list):
        return [escaped(item) for item in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def every_field(data: bytes) -> list[Any]:
    return [escaped(field(data, number)) for number in range(16)]


def abridged(value: Any) -> Any:
    """A value as golden.json has it: large ones as their hash."""
    text = json.dumps(value, sort_keys=True)
    if len(text) <= 5000:
        return value
    return {"count": len(value), "sha256": hashlib.sha256(text.encode()).hexdigest()}


# ------------------------------------------------------------------------------- golden files


LOCATIONS: dict[type, str] = {
    debug.UnknownLocation: "NONE",
    debug.CallSite: "callsite",
    debug.FileLineCol: "file",
    debug.Fused: "fused",
    debug.Name: "name",
}


def struct_fields(value: Any) -> dict[str, Any]:
    """A Struct as JSON has it."""
    return json.loads(msgspec.json.encode(msgspec.structs.asdict(value)))  # type: ignore[no-any-return]


def digest(data: memoryview) -> dict[str, Any]:
    return {"len": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def attr_pairs(value: Any) -> list[list[str]] | None:
    return [list(pair) for pair in value.attrs.pairs] or None


def called(value: Any) -> dict[str, Any]:
    return {"calling_convention": value.calling_convention, "attrs": attr_pairs(value)}


def segment(value: vmfb.RodataSegment) -> dict[str, Any]:
    kind: dict[str, Any] = {"kind": "embedded", "compression": value.compression}
    if value.external:
        kind |= {
            "kind": "external",
            "offset": value.external_offset,
            "file_offset": value.offset,
        }
    return kind | digest(value.data)


def location(value: debug.Location) -> dict[str, Any]:
    if isinstance(value, debug.UnknownLocation):
        return {"type": "NONE"}
    return {"type": LOCATIONS[type(value)], **struct_fields(value)}


def descriptor(value: vmfb.VmFunction) -> list[int]:
    requirements = int(value.requirements)
    first = [value.bytecode_offset, value.bytecode_length, requirements, value.reserved]
    return [*first, value.block_count, value.i32_register_count, value.ref_register_count]


def decoded(opened: vmfb.Module) -> dict[str, Any]:
    """Everything in a module in the words of golden.json."""
    found = {
        "layout": struct_fields(opened.layout),
        "name": opened.name,
        "version": opened.version,
        "requirements": int(opened.requirements),
        "bytecode_version": list(opened.bytecode_version),
        "attrs": attr_pairs(opened),
        "types": list(opened.types),
        "dependencies": [
            {"name": d.name, "minimum_version": d.minimum_version, "flags": int(d.flags)}
            for d in opened.dependencies
        ],
        "imports": [
            {"full_name": i.full_name, "flags": int(i.flags), "signature": called(i)}
            for i in opened.imports
        ],
        "exports": [
            {"local_name": e.name, "internal_ordinal": e.ordinal} for e in opened.exports.values()
        ],
        "signatures": [called(signature) for signature in opened.signatures],
        "rodata": [segment(each) for each in opened.rodata],
        "rwdata": [each.byte_size for each in opened.rwdata],
        "module_state": opened.state and struct_fields(opened.state),
        "functions": [descriptor(function) for function in opened.functions],
        "bytecode": digest(opened.bytecode),
        "debug": opened.debug
        and {
            "locations": [location(each) for each in opened.debug.locations],
            "functions": [
                {
                    "local_name": f.local_name,
                    "locations": [[o.bytecode_offset, o.location] for o in f.locations],
                }
                for f in opened.debug.functions
            ],
        },
    }
    return {name: abridged(value) for name, value in found.items()}


def test_a_folder_is_told_what_reads_it(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"a file; vmfb\.scan reads the modules in"):
        vmfb.open(tmp_path)


@pytest.mark.parametrize("name", VALID)
def test_every_table_as_the_independent_reader_finds_it(name: str) -> None:
    opened = vmfb.open(MODULES / f"{name}.vmfb")
    assert decoded(opened) == GOLDEN[name]["decoded"]
    assert [called(function) for function in opened.functions] == [
        called(signature) for signature in opened.signatures
    ]


# ------------------------------------------------------------------------ the official tools

KINDS = {
    "NONE": "NONE",
    "callsite": "CallSiteLocDef",
    "file": "FileLineColLocDef",
    "fused": "FusedLocDef",
    "name": "NameLocDef",
}


def lean(**fields: Any) -> dict[str, Any]:
    """A table as the dump tool prints it: without defaults, but for the fields of structs."""
    return {name: value for name, value in fields.items() if value not in (None, 0, "", [], {})}


def bit_names(bits: Any) -> Any:
    return " ".join(bit.name for bit in bits) or 0


def link_flags(flags: Any) -> str | None:
    return None if flags == type(flags).REQUIRED else bit_names(flags)


def official_attrs(value: Any) -> list[dict[str, str]]:
    return [{"key": key, "value": text} for key, text in value.attrs.pairs]


def official_signature(value: Any) -> dict[str, Any]:
    return lean(calling_convention=value.calling_convention, attrs=official_attrs(value))


def official_segment(value: vmfb.RodataSegment) -> dict[str, Any]:
    if not value.external:
        return {"embedded_data": digest(value.data)}
    return lean(external_data_offset=value.external_offset, external_data_length=value.size)


def official_descriptor(value: vmfb.VmFunction) -> dict[str, Any]:
    names = ("bytecode_offset", "bytecode_length", "requirements", "reserved", "block_count")
    found = dict(
        zip((*names, "i32_register_count", "ref_register_count"), descriptor(value), strict=True)
    )
    return found | {"requirements": bit_names(value.requirements)}


def official_debug(value: debug.Database) -> dict[str, Any]:
    rows = [location(each) for each in value.locations]
    kinds = [KINDS[row.pop("type")] for row in rows]
    return lean(
        location_table_type=kinds,
        location_table=[
            None if kind == "NONE" else lean(**row) for kind, row in zip(kinds, rows, strict=True)
        ],
        functions=[
            lean(
                local_name=each.local_name,
                locations=[struct_fields(operation) for operation in each.locations],
            )
            for each in value.functions
        ],
    )


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_table_as_the_dump_tool_prints_it(name: str) -> None:
    opened = vmfb.open(MODULES / f"{name}.vmfb")
    major, minor = opened.bytecode_version
    found = lean(
        name=opened.name,
        version=opened.version,
        requirements=bit_names(opened.requirements),
        attrs=official_attrs(opened),
        types=[{"full_name": each} for each in opened.types],
        dependencies=[
            lean(name=d.name, minimum_version=d.minimum_version, flags=link_flags(d.flags))
            for d in opened.dependencies
        ],
        imported_functions=[
            lean(full_name=i.full_name, signature=official_signature(i), flags=link_flags(i.flags))
            for i in opened.imports
        ],
        exported_functions=[
            lean(local_name=e.name, internal_ordinal=e.ordinal) for e in opened.exports.values()
        ],
        function_signatures=[official_signature(each) for each in opened.signatures],
        rodata_segments=[official_segment(each) for each in opened.rodata],
        rwdata_segments=[struct_fields(each) for each in opened.rwdata],
        module_state=opened.state and lean(**struct_fields(opened.state)),
        function_descriptors=[official_descriptor(each) for each in opened.functions],
        bytecode_version=major << 16 | minor,
        bytecode_data=digest(opened.bytecode),
        debug_database=opened.debug and official_debug(opened.debug),
    )
    golden = OFFICIAL[name]["flatbuffer_json"]
    assert {key: abridged(value) for key, value in found.items()} == golden


@pytest.mark.parametrize("name", [name for name in OFFICIAL if OFFICIAL[name]["runtime"]])
def test_functions_as_the_runtime_reports_them(name: str) -> None:
    opened = vmfb.open(MODULES / f"{name}.vmfb")
    golden = OFFICIAL[name]["runtime"]
    assert (opened.name, opened.version) == (golden["name"], golden["version"])
    functions = [opened.functions[export.ordinal] for export in opened.exports.values()]
    found = [
        {
            "name": export.name,
            "module_name": opened.name,
            "linkage": 2,
            "ordinal": index,  # which is the export's
            "reflection": dict(function.attrs),
            "calling_convention": function.calling_convention,
        }
        for index, (export, function) in enumerate(
            zip(opened.exports.values(), functions, strict=True)
        )
    ]
    assert abridged(found) == golden["functions"]


# ---------------------------------------------------------------------------- damaged modules


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in VALID])
def test_null_attributes_of_old_compilers_are_refused(name: str) -> None:
    with pytest.raises(FormatError) as caught:
        vmfb.open(MODULES / f"{name}.vmfb")
    assert caught.value.code == "module-offset"
    assert caught.value.path.rsplit("[", 1)[0].endswith("attrs")
    assert struct.unpack_from("<I", read(name), caught.value.offset) == (0,)


@pytest.mark.parametrize(("name", "valid"), MALFORMED.items())
def test_refuses_what_the_official_verifier_refuses(name: str, valid: bool) -> None:
    data = (MODULES / "malformed" / f"{name}.vmfb").read_bytes()
    if valid:
        vmfb.verify(data)
    else:
        with pytest.raises(FormatError) as caught:
            vmfb.verify(data)
        assert caught.value.code.startswith("module-")
        assert 0 <= caught.value.offset <= len(data)


@pytest.mark.parametrize(
    ("name", "code", "offset", "path"),
    [
        ("empty", "module-size", 0, ""),
        ("pk_only", "module-size", 4, ""),
        ("trunc_16", "module-size", 16, ""),
        ("trunc_100", "module-size", 100, ""),
        ("text", "module-identifier", 8, ""),
        ("elf", "module-identifier", 8, ""),
        ("no_size_prefix", "module-identifier", 8, ""),
        ("size_prefix_neg", "module-size", 3061, ""),
        ("zip_name_len_ffff", "module-size", 3061, ""),
        ("root_off_huge", "module-offset", 68, ""),
        ("flip_0_vm_imports", "module-alignment", 808, "dependencies[1].name"),
        (
            "flip_15_rodata_mixed",
            "module-length",
            2616,
            "debug_database.location_table[3].filename",
        ),
        ("flip_5_debug_kept", "module-vtable", 594, "attrs"),
        ("flip_6_abi_records", "module-string", 1789, "function_signatures[3].attrs[0].value"),
    ],
)
def test_errors_say_what_and_where(name: str, code: str, offset: int, path: str) -> None:
    data = (MODULES / "malformed" / f"{name}.vmfb").read_bytes()
    with pytest.raises(FormatError) as caught:
        vmfb.from_buffer(data)
    assert (caught.value.code, caught.value.offset, caught.value.path) == (code, offset, path)
    assert caught.value.excerpt is None
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["crash_439_metadata", "crash_5000073_metadata"])
def test_an_ordinal_outside_its_table_fails_all_exports(name: str) -> None:
    opened = vmfb.open(MODULES / "malformed" / f"{name}.vmfb")
    with pytest.raises(FormatError) as caught:
        _ = opened.exports
    assert caught.value.code == "module-ordinal"
    assert caught.value.path.startswith("exported_functions[")
    assert caught.value.path.endswith("].internal_ordinal")


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_is_whole_or_refused(name: str) -> None:
    data = read(name)
    layout = vmfb.from_buffer(data).layout
    end = layout.flatbuffer_offset + layout.flatbuffer_size
    for size in range(0, end, 1 if end < 2000 else 7):
        with pytest.raises(FormatError) as caught:
            vmfb.verify(data[:size])
        assert caught.value.offset <= size
    vmfb.verify(data[:end])


def error_of(read: Callable[[], object]) -> FormatError | None:
    try:
        read()
    except FormatError as error:
        return error
    return None


def outcome(data: bytes) -> str:
    """Read everything and return the outcome; raise errors that are not allowed."""
    error = error_of(lambda: vmfb.verify(data))
    if error is not None:
        assert error.offset <= len(data)
        return error.code
    every_field(data)  # whatever was verified can be read
    opened = vmfb.from_buffer(data)
    findings = opened.check()
    error = error_of(lambda: opened.exports)
    if error is not None:
        assert error.code in [finding.code for finding in findings]
        return error.code
    for export in opened.exports.values():
        assert export.attrs.keys() == {key for key, _ in export.attrs.pairs}
        for part in ("signature", "sip"):
            error = error_of(partial(getattr, export, part))
            assert error is None or error.path.startswith("exports[")
        for part in ("raw", "declaration", "disagreements"):
            error_of(partial(getattr, export, part))
        declared = export.source == "iree.abi.declaration" and export.declaration
        if declared:
            assert (export.signature, export.ambiguity) == (declared.signature, declared.ambiguity)
    return "ok"


def test_random_edits_are_whole_or_refused() -> None:
    random_number = random.Random(3)
    seen = set()
    for name in SMALL:
        data = read(name)
        for _ in range(1500):
            edited = bytearray(data)
            for _ in range(random_number.randint(1, 4)):
                at = random_number.randrange(len(data))
                edited[at] = random_number.choice((0, 1, 4, 0x7F, 0xFF, edited[at] ^ 1))
            seen.add(outcome(bytes(edited)))
    expected = {"size", "identifier", "offset", "length", "alignment", "vtable", "string"}
    expected |= {"union", "required", "ordinal"}
    assert seen - {"ok"} <= {f"module-{what}" for what in expected}
    assert len(seen) > 7


@given(
    st.sampled_from(SMALL),
    st.lists(st.tuples(st.integers(0), st.binary(min_size=1, max_size=8)), max_size=4),
    st.integers(0, 64),
)
def test_any_edit_is_whole_or_refused(
    name: str, edits: list[tuple[int, bytes]], dropped: int
) -> None:
    data = bytearray(read(name))
    for at, new in edits:
        at %= len(data)
        data[at : at + len(new)] = new
    outcome(bytes(data[: len(data) - dropped]))


@given(st.binary(max_size=200))
def test_any_bytes_behind_a_header_are_whole_or_refused(body: bytes) -> None:
    outcome(struct.pack("<I", len(body) + 8) + struct.pack("<I", 8) + b"IREE" + body)


def test_a_buffer_that_changes_is_checked_again() -> None:
    data = bytearray(read("raw_v0"))
    opened = vmfb.from_buffer(data)
    end = opened.layout.flatbuffer_offset + opened.layout.flatbuffer_size
    data[72:end] = b"\xff" * (end - 72)
    with pytest.raises(FormatError):
        _ = opened.exports


# --------------------------------------------------------------------------- crafted modules

NAME = String(b"m")


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def signatures(*pairs: tuple[bytes, bytes], convention: bytes = b"0v_v") -> Table:
    """One exported function with these attributes."""
    attrs = Vector([Table({0: String(key), 1: String(value)}) for key, value in pairs])
    function = Table({0: String(convention), 1: attrs})
    return Table({0: NAME, 7: Vector([Table({0: String(b"go")})]), 8: Vector([function])})


def test_tables_that_refer_to_the_same_parts_do_not_multiply() -> None:
    attr = Table({0: String(b"k"), 1: String(b"v")})
    function = Table({0: String(b"0v_v"), 1: Vector([attr] * 5000)})
    data = module(Table({0: NAME, 8: Vector([function] * 5000)}))
    assert len(data) < 41_000  # for 25 million attributes
    with pytest.raises(FormatError) as caught:
        vmfb.verify(data)
    assert caught.value.code == "work"
    assert caught.value.path.startswith("function_signatures[")


def test_text_that_is_referred_to_over_and_over_does_not_multiply() -> None:
    attr = Table({0: String(b"k"), 1: String(b"v" * 100_000)})
    function = Table({0: String(b"0v_v"), 1: Vector([attr] * 2000)})
    export = Table({0: String(b"go")})
    data = module(Table({0: NAME, 3: Vector([]), 7: Vector([export]), 8: Vector([function])}))
    opened = vmfb.from_buffer(data)
    with pytest.raises(FormatError) as caught:
        _ = opened.exports
    assert (caught.value.code, caught.value.path.rsplit("[", 1)[0]) == (
        "work",
        "function_signatures[0].attrs",
    )
    assert caught.value.excerpt is None
    with pytest.raises(FormatError, match="more references than the size allows") as caught:
        _ = opened.signatures
    assert caught.value.excerpt is None  # a module is not text
    with pytest.raises(FormatError, match="more references than the size allows"):
        field(data, 8)


def test_numbers_that_are_referred_to_over_and_over_do_not_multiply() -> None:
    fused = Table({1: Numbers(b"\1\0\0\0" * 5000, 4)})
    debug = Table({0: Numbers(b"\3" * 2000), 1: Vector([fused] * 2000)})
    data = module(Table({0: NAME, 15: debug}))
    vmfb.verify(data)
    with pytest.raises(FormatError) as caught:
        field(data, 15)
    assert caught.value.code == "work"
    once = Table({0: Numbers(b"\3"), 1: Vector([fused])})
    assert field(module(Table({0: NAME, 15: once})), 15) == [[[3, None, [1] * 5000]], []]


def test_text_shared_as_writers_share_it_is_read() -> None:
    path = String(b"/some/where/" + b"x" * 200)
    location = [Table({0: path, 1: u32(line), 2: u32(1)}) for line in range(3000)]
    debug = Table({0: Numbers(b"\2" * 3000), 1: Vector(location)})
    data = module(Table({0: NAME, 15: debug}))
    locations, functions = field(data, 15)
    assert locations[2999] == [2, path.data.decode(), 2999, 1]
    assert functions == []


def test_unions() -> None:
    def database(types: bytes | None, *values: Table | None) -> bytes:
        fields: dict[int, Any] = {1: Vector(list(values))}
        if types is not None:
            fields[0] = Numbers(types)
        return module(Table({0: NAME, 15: Table(fields)}))

    none = Table()
    call = Table({0: u32(1), 1: u32(2)})
    assert field(database(b"\1\0", call, None), 15) == [[[1, 1, 2], [0, 0]], []]
    assert field(database(b"\1\x07", call, none), 15) == [[[1, 1, 2], [0, 7]], []]
    assert field(database(None, call), 15) == [[], []]  # as the official reader has it
    for bad in (database(b"\0", call), database(b"\1", None), database(b"\1\1", call)):
        with pytest.raises(FormatError) as caught:
            vmfb.verify(bad)
        assert caught.value.code == "module-union"
        assert caught.value.path.startswith("debug_database.location_table")

    def rodata(fields: dict[int, Any]) -> bytes:
        return module(Table({0: NAME, 9: Vector([Table(fields)])}))

    assert field(rodata({0: b"\1", 1: none}), 9) == [[[1], None, 0, 0]]
    assert field(rodata({0: b"\1"}), 9) == [[[0, 1], None, 0, 0]]
    assert field(rodata({0: b"\x09", 1: none}), 9) == [[[0, 9], None, 0, 0]]
    for fields in ({0: b"\0", 1: none}, {1: none}):
        with pytest.raises(FormatError) as caught:
            vmfb.verify(rodata(fields))
        assert (caught.value.code, caught.value.path) == (
            "module-union",
            "rodata_segments[0].compression_type",
        )


def test_required_and_absent_fields() -> None:
    with pytest.raises(FormatError) as caught:
        vmfb.verify(module(Table()))
    assert (caught.value.code, caught.value.path) == ("module-required", "name")
    opened = vmfb.from_buffer(module(Table({0: NAME})))
    assert len(opened.exports) == 0
    assert opened.attrs == {}
    assert (opened.version, opened.bytecode_version, opened.requirements) == (0, (0, 0), 0)
    unnamed = Table({0: NAME, 7: Vector([Table()]), 8: Vector([Table({1: Vector([Table()])})])})
    (export,) = vmfb.from_buffer(module(unnamed)).exports.values()
    assert (export.name, export.ordinal, export.calling_convention) == ("", 0, "")
    assert export.attrs.pairs == (("", ""),)
    assert (export.sip, export.raw, export.declaration, export.result_allocator) == (None,) * 4
    assert (export.source, export.signature) == ("cconv", Signature((), ()))


def test_text_that_is_not_utf8_and_nul_survive() -> None:
    table = signatures((b"\xff\xfe", b"a\0b"), (b"k", "ünï".encode()))
    table.fields[0] = String(b"\x80m\0")
    opened = vmfb.from_buffer(module(table))
    assert opened.name.encode("utf-8", "surrogateescape") == b"\x80m\0"
    assert opened.exports.values()[0].attrs.pairs == (("\udcff\udcfe", "a\0b"), ("k", "ünï"))


# ----------------------------------------------------------------------------------- exports

RAW = b"I15!B11!d10d128d64R15!B11!t6d32d8d64"
SIP = b"I12!S9!k0_0k1_1R3!_0"


def only_export(*pairs: tuple[bytes, bytes], convention: bytes = b"0v_v") -> vmfb.Export:
    (export,) = vmfb.from_buffer(module(signatures(*pairs, convention=convention))).exports.values()
    return export


def test_raw_signatures() -> None:
    exports = vmfb.open(MODULES / "raw_v0.vmfb").exports
    assert exports["conv"].signature == raw.parse(RAW)
    assert exports["conv"].source == "f"
    assert exports["conv"].result_allocator == "conv$allocate_results"
    assert exports["no_version"].signature == raw.parse(RAW)
    assert exports["nothing"].result_allocator is None
    assert str(exports["nothing"].signature) == "() -> ()"
    for name, key, index, code, offset in [
        ("ver2", "fv", 3, "version", 0),
        ("truncated", "f", 4, "span-end", 1),
        ("badlen", "f", 5, "span-end", 1),
    ]:
        with pytest.raises(FormatError) as caught:
            _ = exports[name].signature
        assert (caught.value.code, caught.value.offset) == (code, offset)
        assert caught.value.path == f'exports[{index}].attrs["{key}"]'
        assert caught.value.excerpt is not None
        assert exports[name].attrs[key] in caught.value.excerpt
        for part in ("signature", "raw"):
            again = error_of(partial(getattr, exports[name], part))
            assert again is not None
            assert str(again) == str(caught.value)


@pytest.mark.parametrize("value", [b"", b"I", b"I3!S1!R1!", b"I15!B11!d10d128d64R15!B11!t99d8d64"])
def test_a_malformed_raw_signature_is_the_error_of_raw_parse(value: bytes) -> None:
    with pytest.raises(FormatError) as expected:
        raw.parse(value)
    with pytest.raises(FormatError) as caught:
        _ = only_export((b"f", value)).signature
    assert caught.value.path == 'exports[0].attrs["f"]' + (
        f".{expected.value.path}" if expected.value.path else ""
    )
    for part in ("code", "offset", "reason", "expected", "found", "excerpt"):
        assert getattr(caught.value, part) == getattr(expected.value, part)


@pytest.mark.parametrize(
    "pairs",
    [
        [(b"sip", SIP)],
        [(b"sip", SIP), (b"sipv", b"1")],
        [(b"sip", SIP), (b"abi", b"sip"), (b"abiv", b"1")],
        [(b"sip", SIP), (b"abi", b"sip")],
        [(b"sip", SIP), (b"abi", b"other"), (b"abiv", b"9")],
        [(b"sip", SIP), (b"sipv", b"1"), (b"abi", b"sip"), (b"abiv", b"9")],
    ],
)
def test_sip_signatures(pairs: list[tuple[bytes, bytes]]) -> None:
    assert only_export(*pairs).sip == sip.parse(SIP)
    assert (only_export(*pairs).source, only_export(*pairs).raw) == ("cconv", None)


@pytest.mark.parametrize(
    ("pairs", "code", "path"),
    [
        ([(b"sip", b"I3!_0")], "sip-results", 'exports[0].attrs["sip"]'),
        ([(b"sip", SIP), (b"sipv", b"2")], "version", 'exports[0].attrs["sipv"]'),
        ([(b"sip", SIP), (b"sipv", b"")], "version", 'exports[0].attrs["sipv"]'),
        (
            [(b"sip", SIP), (b"abi", b"sip"), (b"abiv", b"2")],
            "version",
            'exports[0].attrs["abiv"]',
        ),
    ],
)
def test_malformed_sip_signatures(pairs: list[tuple[bytes, bytes]], code: str, path: str) -> None:
    export = only_export(*pairs)
    with pytest.raises(FormatError) as caught:
        _ = export.sip
    assert (caught.value.code, caught.value.path) == (code, path)


def test_without_a_value_a_version_means_nothing() -> None:
    export = only_export((b"fv", b"2"), (b"sipv", b"2"), (b"abi", b"sip"), (b"abiv", b"7"))
    assert (export.source, export.raw, export.sip) == ("cconv", None, None)
    assert export.signature == Signature((), ())


def test_of_equal_keys_the_last_counts() -> None:
    export = only_export((b"f", b"broken"), (b"k", b"1"), (b"f", RAW), (b"k", b"2"))
    assert export.signature == raw.parse(RAW)
    assert export.attrs == {"f": RAW.decode(), "k": "2"}
    assert len(export.attrs) == 2
    assert list(export.attrs) == ["f", "k"]
    assert [key for key, _ in export.attrs.pairs] == ["f", "k", "f", "k"]
    with pytest.raises(KeyError):
        export.attrs["none"]
    with pytest.raises(TypeError):
        export.attrs["k"] = "3"  # type: ignore[index]
    duplicates = vmfb.open(MODULES / "decl_dup_key.vmfb").exports
    assert any(len(e.attrs) < len(e.attrs.pairs) for e in duplicates.values())


def test_exports_are_a_mapping_in_the_order_of_the_module() -> None:
    exports = vmfb.open(MODULES / "raw_v0.vmfb").exports
    assert isinstance(exports, Mapping)
    assert [*exports][:2] == ["conv", "every_scalar"]
    assert exports["every_scalar"] is exports.values()[1]
    assert [*exports][-1] == exports.values()[-1].name == "no_version"
    assert exports == vmfb.open(MODULES / "raw_v0.vmfb").exports != vmfb.Exports()
    assert hash(exports) == hash(vmfb.Exports(exports.values()))
    assert "conv" in exports
    assert "none" not in exports
    assert exports.values()[0] not in exports
    for missing in ("none", 0):
        with pytest.raises(KeyError, match=f"no export {missing!r}"):
            exports[missing]  # type: ignore[index]


def test_the_first_export_of_a_name_is_found() -> None:
    same = String(b"same")
    functions = Vector([Table({0: String(b"0v_v")}), Table({0: String(b"0i_i")})])
    twins = Vector([Table({0: same, 1: u32(1)}), Table({0: same})])
    exports = vmfb.from_buffer(module(Table({0: NAME, 7: twins, 8: functions}))).exports
    assert exports["same"] is exports.values()[0]
    assert [export.ordinal for export in exports.values()] == [1, 0]
    assert len(exports) == 2
    assert [*exports] == [*exports.keys()] == ["same", "same"]
    assert [name for name, _ in exports.items()] == ["same", "same"]


@pytest.mark.parametrize("ordinal", [2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_ordinals_outside(ordinal: int) -> None:
    table = signatures((b"f", RAW))
    table.fields[7] = Vector([Table({0: NAME}), Table({0: NAME, 1: u32(ordinal)})])
    data = module(table)
    opened = vmfb.from_buffer(data)
    with pytest.raises(FormatError) as caught:
        _ = opened.exports
    assert caught.value.code == "module-ordinal"
    assert caught.value.path == "exported_functions[1].internal_ordinal"
    assert struct.unpack_from("<I", data, caught.value.offset) == (ordinal,)


def test_exports_are_values() -> None:
    first, second = vmfb.open(MODULES / "raw_v0.vmfb").exports.values()[:2]
    assert pickle.loads(pickle.dumps(first)) == first
    assert hash(first) != hash(second)
    with pytest.raises(AttributeError):
        first.name = "other"  # type: ignore[misc]
    assert repr(first) == "<Export 'conv' (float32[10x128x64]) -> (int32[32x8x64])>"


# ------------------------------------------------------------- signatures of the best text

ABI = b'{"a":["i32",["ndarray","f32",1,null]],"r":["f64"]}'
DECLARED = b"sync func @go(%x: i32, %y: tensor<?xf32>) -> (%z: f64)"
REGISTERS: dict[str, Type] = {
    "i32": Scalar(DType("signless", 32)),
    "i64": Scalar(DType("signless", 64)),
    "f32": Scalar(DType("float", 32)),
    "f64": Scalar(DType("float", 64)),
    "ref": Ref(),
}


def of_registers(text: str) -> Signature:
    def typed(register: cconv.RegisterType | cconv.Span) -> Type:
        if isinstance(register, cconv.Span):
            return HomogeneousList(Tuple(tuple(map(typed, register.items))))
        return REGISTERS[register]

    convention = cconv.parse(text.encode("utf-8", "surrogateescape"))
    return Signature(tuple(map(typed, convention.arguments)), tuple(map(typed, convention.results)))


def best(attrs: vmfb.Attributes, convention: str) -> tuple[str, Signature, str | None]:
    """Return source, signature and ambiguity, from the results of the single parsers."""
    if "iree.abi" in attrs:
        return "iree.abi", iree_abi.parse(attrs["iree.abi"]), None
    if "iree.abi.declaration" in attrs:
        sides = [side.replace("v", "") for side in convention[1:].split("_")]
        known = (
            dict(zip(("inputs", "results"), sides, strict=False)) if "C" not in convention else {}
        )
        try:
            read = declaration.parse(attrs["iree.abi.declaration"], **known)
        except FormatError:
            pass
        else:
            return "iree.abi.declaration", read.signature, read.ambiguity
    if "f" in attrs:
        if attrs.get("fv", "1") != "1":
            raise FormatError("version", 0, "", reason="")
        return "f", raw.parse(attrs["f"]), None
    return "cconv", of_registers(convention), None


@pytest.mark.parametrize("name", GOLDEN)
def test_every_signature_is_that_of_the_best_text(name: str) -> None:
    for index, export in enumerate(vmfb.from_buffer(read(name), lenient=True).exports.values()):
        expecting = partial(best, export.attrs, export.calling_convention)
        expected = error_of(expecting)
        if expected is None:
            assert (export.source, export.signature, export.ambiguity) == expecting()
            continue
        caught = error_of(lambda export=export: export.signature)
        assert caught is not None
        assert export.source is None
        assert (caught.code, caught.offset) == (expected.code, expected.offset)
        assert caught.path.startswith(f"exports[{index}].attrs[")


TEXTS = [
    ("iree.abi", (b"iree.abi", ABI)),
    ("iree.abi.declaration", (b"iree.abi.declaration", DECLARED)),
    ("f", (b"f", RAW)),
]


@pytest.mark.parametrize("chosen", range(8))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_best_text_counts_wherever_it_stands(chosen: int, reverse: bool) -> None:
    texts = [text for bit, text in enumerate(TEXTS) if chosen >> bit & 1]
    pairs = [pair for _, pair in texts]
    export = only_export(*(pairs[::-1] if reverse else pairs), convention=b"0ir_F")
    expected = best(export.attrs, "0ir_F")
    assert expected[0] == (texts[0][0] if texts else "cconv")
    assert (export.source, export.signature, export.ambiguity) == expected
    assert export.problem is None
    assert export.raw == (raw.parse(RAW) if chosen & 4 else None)
    read = declaration.parse(DECLARED, inputs="ir", results="F") if chosen & 2 else None
    assert export.declaration == read
    assert pickle.loads(pickle.dumps(export)) == export


KNOWN = (
    *("i1", "i8", "i16", "i32", "i64", "si8", "si16", "si32", "si64", "ui8", "ui16", "ui32"),
    *("ui64", "f16", "bf16", "f32", "f64", "index", "complex<f32>", "complex<f64>"),
)


@pytest.mark.parametrize("name", KNOWN)
def test_types_that_every_model_has_are_one_object(name: str) -> None:
    text = f"sync func @f(%input0: {name}) -> (%output0: tensor<4x{name}>)".encode()
    found = []
    for _ in range(2):
        (argument,), (result,) = (
            [value.type for value in side]
            for side in msgspec.structs.astuple(
                only_export((b"iree.abi.declaration", text)).signature
            )[:2]
        )
        found.append(argument)
        assert result.dtype is argument.dtype
    assert found[0] is found[1]


def test_equal_types_of_a_module_are_one_object_and_others_are_not() -> None:
    records = [f'["ndarray","f32",2,{dim},{dim % 7}]' for dim in range(3000)]
    records += [f'["named","{"x" * dim}","i32"]' for dim in range(0, 600, 7)]
    text = f'{{"a":[{",".join(records * 2)}],"r":[]}}'.encode()
    export = only_export((b"iree.abi", text), (b"k" * 300, b"v" * 70000))
    assert export.signature == iree_abi.parse(text)
    assert [str(type) for type in export.signature.inputs] == 2 * (
        [f"float32[{dim}x{dim % 7}]" for dim in range(3000)]
        + ['"": i32', *(f"{'x' * dim}: i32" for dim in range(7, 600, 7))]
    )
    assert export.attrs["k" * 300] == "v" * 70000
    twice = only_export(
        (b"iree.abi", b'{"a":[["ndarray","f32",1,7],["ndarray","f32",1,7]],"r":[]}')
    )
    first, second = twice.signature.inputs
    assert first is second


@pytest.mark.parametrize("size", [27, 31, 32, 62, 63, 64, 255, 256, 270, 65536])
def test_references_with_names_of_any_length(size: int) -> None:
    names = ["!" + letter * size for letter in "abba"]
    values = ", ".join(f"%input{place}: {name}" for place, name in enumerate(names))
    text = f"sync func @f({values}) -> ()".encode()
    signature = only_export((b"iree.abi.declaration", text)).signature
    assert signature == declaration.parse(text).signature
    assert [value.type.name for value in signature.inputs] == names  # type: ignore[union-attr]


def test_an_unreadable_export_is_whole_but_for_its_signature() -> None:
    export = only_export((b"iree.abi", b"[]"))
    assert isinstance(export, vmfb.Export)
    with pytest.raises(FormatError):
        _ = export.signature
    assert pickle.loads(pickle.dumps(export)) == export
    assert hash(pickle.loads(pickle.dumps(export))) == hash(export)
    assert repr(export).startswith("<Export ")
    assert export.attrs["iree.abi"] == "[]"


def test_what_an_export_is_asked_later_outlives_the_module() -> None:
    with vmfb.from_buffer(
        bytearray(module(signatures((b"iree.abi", ABI), (b"k", b"\xff"))))
    ) as opened:
        (export,) = opened.exports.values()
    assert export.attrs["k"] == "\udcff"
    assert (export.source, export.problem, export.sip, export.ambiguity) == (
        "iree.abi",
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: lane.record(int),
        lambda: lane.record(None),
        lambda: lane.RecordDecoder((int,) * 12, print),
        lambda: lane.RecordDecoder((types.DType,) * 12, print),
        lambda: lane.RecordDecoder((), print),
        lambda: types.decoder.raw(b"I1!R1!"),
        lambda: types.decoder.raw(b"I1!R1!", lane.record(types.DType)),
        lambda: types.decoder.raw(3, lane.record(types.Signature)),
        lambda: types.decoder.verify(3, False),
    ],
)
def test_the_decoder_accepts_nothing_else(misuse: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        misuse()


def test_extra_keys_of_iree_abi_are_kept() -> None:
    signature = only_export((b"iree.abi", b'{"a":[],"r":[],"more":[1, 2]}')).signature
    assert isinstance(signature, iree_abi.Signature)
    assert signature.extra == (("more", "[1, 2]"),)


@pytest.mark.parametrize("text", [b"", b"takes a thing", b"sync func @f(", b"\xff\0"])
@pytest.mark.parametrize(("source", "more"), [("f", [(b"f", RAW)]), ("cconv", [])])
def test_a_declaration_that_cannot_be_read_is_passed_over(
    text: bytes, source: str, more: list[tuple[bytes, bytes]]
) -> None:
    pairs = [(b"iree.abi.declaration", text), *more]
    opened = vmfb.from_buffer(module(signatures(*pairs, convention=b"0i_v")))
    export = opened.exports.values()[0]
    with pytest.raises(FormatError) as expected:
        declaration.parse(text, inputs="i", results="")
    assert (export.source, export.ambiguity) == (source, None)
    assert export.signature == (raw.parse(RAW) if more else of_registers("0i_v"))
    problem = export.problem
    assert problem is not None
    assert (problem.code, problem.offset) == (expected.value.code, expected.value.offset)
    path = 'exports[0].attrs["iree.abi.declaration"]'
    assert problem.path == f"{path}.{expected.value.path}".rstrip(".")
    assert problem.excerpt == expected.value.excerpt
    with pytest.raises(FormatError):
        _ = export.declaration
    (finding,) = (each for each in opened.check() if "attrs" in each.path)
    assert (finding.code, finding.offset, finding.path, finding.severity) == (
        problem.code,
        problem.offset,
        problem.path,
        "notice",
    )


def test_what_is_malformed_behind_a_declaration_that_is_passed_over() -> None:
    export = only_export((b"iree.abi.declaration", b"any"), (b"f", b"broken"))
    for part in ("signature", "raw"):
        error = error_of(partial(getattr, export, part))
        assert error is not None
        assert error.path == 'exports[0].attrs["f"]'


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a":[],"r":[3]}', b'{"a":[["named",5,"i8"]],"r":[]}', b"[\xff]"]
)
def test_a_malformed_iree_abi_is_the_error_of_its_parse(text: bytes) -> None:
    with pytest.raises(FormatError) as expected:
        iree_abi.parse(text)
    opened = vmfb.from_buffer(module(signatures((b"iree.abi", text), TEXTS[1][1], TEXTS[2][1])))
    export = opened.exports.values()[0]
    assert export.source is None
    error = error_of(lambda: export.signature)
    assert error is not None
    inner = f".{expected.value.path}" if expected.value.path else ""
    assert error.path == f'exports[0].attrs["iree.abi"]{inner}'
    for same in ("code", "offset", "reason", "expected", "found", "excerpt"):
        assert getattr(error, same) == getattr(expected.value, same)
    assert (export.disagreements, export.raw) == ((), raw.parse(RAW))
    (finding,) = (each for each in opened.check() if "attrs" in each.path)
    assert (finding.path, finding.severity) == (error.path, "error")


@pytest.mark.parametrize("convention", [b"1v_v", b"0q_v", b"0Ci_v", b"0\xff"])
def test_a_malformed_calling_convention_as_the_only_text(convention: bytes) -> None:
    with pytest.raises(FormatError) as expected:
        cconv.parse(convention)
    export = only_export(convention=convention)
    with pytest.raises(FormatError) as caught:
        _ = export.signature
    inner = f".{expected.value.path}" if expected.value.path else ""
    assert caught.value.path == f"exports[0].calling_convention{inner}"
    for part in ("code", "offset", "reason", "expected", "found", "excerpt"):
        assert getattr(caught.value, part) == getattr(expected.value, part)
    better = only_export((b"iree.abi", ABI), convention=convention)
    assert better.signature == iree_abi.parse(ABI)
    assert better.disagreements == ()  # there is nothing to compare with


@pytest.mark.parametrize("convention", [b"0vi_v", b"0iv_v", b"0v_vi", b"0", b"0v", b"0_", b"9i_i"])
def test_a_declaration_beside_any_calling_convention(convention: bytes) -> None:
    export = only_export((b"iree.abi.declaration", DECLARED), convention=convention)
    assert export.declaration is not None
    assert (export.signature, export.ambiguity) == (
        export.declaration.signature,
        export.declaration.ambiguity,
    )


def test_ambiguity() -> None:
    text = b"sync func @go(%x: i64, %y: i32) -> ()"
    for convention, names, ambiguity in [
        (b"0Ii_v", ["x", "y"], None),
        (b"0i_v", ["x: i64, %y"], None),
        (b"0iii_v", ["x", "y"], "arity"),
    ]:
        opened = vmfb.from_buffer(
            module(signatures((b"iree.abi.declaration", text), convention=convention))
        )
        (export,) = opened.exports.values()
        inputs = [type.name for type in export.signature.inputs if isinstance(type, Named)]
        assert (inputs, export.ambiguity) == (names, ambiguity)
        assert [each.severity for each in opened.check() if each.code == "ambiguity"] == (
            ["notice"] if ambiguity else []
        )


def test_fences_agree() -> None:
    text = b"sync func @go(%x: tensor<4xf32>) -> (%y: tensor<4xf32>)"
    pair = (b"iree.abi.declaration", text.replace(b"sync", b"async"))
    assert only_export(pair, convention=b"0rrr_r").disagreements == ()
    assert only_export((b"iree.abi.declaration", text), convention=b"0rrr_r").disagreements
    fenced = (b"iree.abi.model", b"coarse-fences")
    abi = (b"iree.abi", b'{"a":[["ndarray","f32",1,4]],"r":["i32"]}')
    assert only_export(abi, fenced, convention=b"0rrr_i").disagreements == ()
    assert len(only_export(abi, convention=b"0rrr_i").disagreements) == 1
    for name in ("async_fences", "async_fences@2.9.0", "async_fences@3.7.0"):
        exports = vmfb.from_buffer(read(name)).exports
        assert any("rrr" in export.calling_convention for export in exports.values())
        assert [export.disagreements for export in exports.values()] == [()] * len(exports)


@pytest.mark.parametrize(
    ("text", "convention", "expected"),
    [
        (ABI, b"0ir_F", []),
        (ABI, b"0i_F", ["inputs: 2 in iree.abi, 1 in the calling convention 0i_F"]),
        (ABI, b"0ir_v", ["results: 1 in iree.abi, 0 in the calling convention 0ir_v"]),
        (
            ABI,
            b"0rI_f",
            [
                "inputs[0]: i32 in iree.abi, ref in the calling convention 0rI_f",
                "inputs[1]: float32[?] in iree.abi, i64 in the calling convention 0rI_f",
                "results[0]: float64 in iree.abi, f32 in the calling convention 0rI_f",
            ],
        ),
        (
            b'{"a":["i32"],"r":[]}',
            b"0CiD_v",
            ["inputs[0]: i32 in iree.abi, tuple<i32>... in the calling convention 0CiD_v"],
        ),
        (b'{"a":[],"r":[["sdict",["a","i32"],["b","f32"]]]}', b"0v_if", []),
        (b'{"a":[],"r":[["slist","i32","f32"]]}', b"0_if", []),
        (b'{"a":[],"r":[["stuple","i32",["slist","f32"]]]}', b"0_ir", []),
        (
            b'{"a":[],"r":[["stuple","i32","f32"]]}',
            b"0_r",
            ["results: 2 in iree.abi, 1 in the calling convention 0_r"],
        ),
        (b'{"a":[["named","x","f64"],"unknown",null,"i8"],"r":["bf16"]}', b"0Fiii_i", []),
    ],
)
def test_disagreements(text: bytes, convention: bytes, expected: list[str]) -> None:
    pair = (b"iree.abi", text)
    opened = vmfb.from_buffer(module(signatures(pair, convention=convention)))
    assert list(opened.exports.values()[0].disagreements) == expected
    found = [each for each in opened.check() if each.code == "disagreement"]
    assert [each.text for each in found] == expected
    assert {(each.path, each.severity) for each in found} <= {("exports[0]", "notice")}


def test_a_span_in_the_calling_convention() -> None:
    export = only_export(convention=b"0iCrID_F")
    item = Tuple((REGISTERS["ref"], REGISTERS["i64"]))
    inputs = (REGISTERS["i32"], HomogeneousList(item))
    assert export.signature == Signature(inputs, (REGISTERS["f64"],))
    assert export.disagreements == ()


def test_the_raw_signature_beside_a_better_one() -> None:
    assert only_export((b"iree.abi", ABI), (b"f", RAW), (b"fv", b"1")).raw == raw.parse(RAW)
    assert only_export((b"iree.abi", ABI)).raw is None
    assert only_export((b"iree.abi", b"{"), (b"f", RAW)).raw == raw.parse(RAW)
    for pairs, path, code in [
        ([(b"f", RAW), (b"fv", b"2")], 'attrs["fv"]', "version"),
        ([(b"f", b"I9!")], 'attrs["f"]', "span-end"),
        ([(b"f", b"I\xff")], 'attrs["f"]', "integer"),
    ]:
        error = error_of(partial(getattr, only_export((b"iree.abi", ABI), *pairs), "raw"))
        assert error is not None
        assert (error.path, error.code) == (path, code)


def test_exports_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = vmfb.from_buffer(read("many_300"))
    crossings: list[bytes] = []
    decode = vmfb.decode_exports

    def decode_and_note(data: bytes, held: Any) -> tuple[vmfb.Export, ...]:
        crossings.append(data)
        return decode(data, held)

    monkeypatch.setattr(vmfb, "decode_exports", decode_and_note)
    assert opened.exports is opened.exports
    for export in opened.exports.values():
        assert export.signature is export.signature
    assert crossings == [read("many_300")]


# ------------------------------------------------------------------------------------ opening


def test_open_takes_paths_and_reads_without_mapping_too(tmp_path: Path) -> None:
    path = MODULES / "raw_v0.vmfb"
    for given_path in (path, str(path)):
        assert vmfb.open(given_path).name == "legacy_raw"
    empty = tmp_path / "empty.vmfb"
    empty.touch()
    with pytest.raises(FormatError) as caught:
        vmfb.open(empty)
    assert (caught.value.code, caught.value.offset) == ("module-size", 0)
    with pytest.raises(FileNotFoundError):
        vmfb.open(tmp_path / "none.vmfb")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(read("raw_v0"),))
    writer.start()
    assert len(vmfb.open(pipe).exports) == 7
    writer.join()


@pytest.mark.parametrize("ahead", range(9))
def test_any_place_in_memory_will_do(ahead: int) -> None:
    data = b"x" * ahead + read("rodata_mixed")
    assert vmfb.from_buffer(memoryview(data)[ahead:]).name == "mixed_ro"
    layout = vmfb.from_buffer(read("rodata_mixed")).layout
    plain_data = read("rodata_mixed")[layout.zip_header_bytes :]
    header = b"PK\3\4" + b"\0" * 22 + struct.pack("<HH", ahead, 0) + b"n" * ahead
    opened = vmfb.from_buffer(header + plain_data)
    assert opened.layout.zip_header_bytes == 30 + ahead
    assert opened.layout.flatbuffer_offset == 34 + ahead
    assert vmfb.from_buffer(plain_data).layout.zip_header_bytes == 0


def test_from_buffer_takes_any_buffer_and_keeps_it_alive() -> None:
    data = read("raw_v0")
    for buffer in (data, bytearray(data), memoryview(data), memoryview(data).cast("b")):
        assert len(vmfb.from_buffer(buffer).exports) == 7
    mapped = mmap.mmap(-1, len(data))
    mapped.write(data)
    opened = vmfb.from_buffer(mapped)
    del mapped
    assert opened.exports["conv"].ordinal == 0
    growing = bytearray(data)
    opened = vmfb.from_buffer(growing)
    with pytest.raises(BufferError):
        growing.append(0)
    opened.close()
    growing.append(0)


@pytest.mark.parametrize(
    ("wrong", "got"),
    [("text", "str"), (3, "int"), (None, "NoneType"), (memoryview(b"abcdef")[::2], None)],
)
@pytest.mark.parametrize("function", [vmfb.from_buffer, vmfb.verify])
def test_what_is_no_buffer_is_named(function: Any, wrong: Any, got: str | None) -> None:
    text = f"vmfb.{function.__name__}: data: expected a contiguous buffer"
    end = ": .+" if got is None else f", such as bytes, got {got}"
    with pytest.raises(CallError, match=f"^{text}{end}$"):
        function(wrong)


def test_an_export_that_may_be_meant() -> None:
    with vmfb.open(MODULES / "raw_v0.vmfb") as module:
        with pytest.raises(KeyError, match=r"no export 'cnv'; did you mean conv\?"):
            module.exports["cnv"]
        with pytest.raises(KeyError) as raised:
            module.exports["nothing like it"]
    assert raised.value.args == ("the module has no export 'nothing like it'",)


def test_records_show_what_is_public() -> None:
    pairs = (("a", "b"),)
    convention = vmfb.FunctionSignature("0r_v", vmfb.Attributes(pairs))
    assert repr(convention) == (
        "FunctionSignature(calling_convention='0r_v', attrs=Attributes((('a', 'b'),)))"
    )
    assert repr(vmfb.Import("hal.f", ("0r_v", pairs), 1)) == (
        "Import(full_name='hal.f', calling_convention='0r_v',"
        " attrs=Attributes((('a', 'b'),)), flags=<ImportFlags.REQUIRED: 1>)"
    )
    assert repr(vmfb.Dependency("hal", 6, 2)) == (
        "Dependency(name='hal', minimum_version=6, flags=<DependencyFlags.OPTIONAL: 2>)"
    )


def test_attributes_with_a_key_twice() -> None:
    opened = vmfb.open(MODULES / "decl_dup_key.vmfb")
    twice = [each for each in opened.signatures if len(each.attrs) < len(each.attrs.pairs)]
    assert twice
    for each in twice:
        assert dict(each.attrs) == dict(each.attrs.pairs)
        again = pickle.loads(pickle.dumps(each))
        assert (again, hash(again), again.attrs.pairs) == (each, hash(each), each.attrs.pairs)
    once = vmfb.open(MODULES / "many_300.vmfb").signatures[0]
    assert once.attrs.pairs == tuple(once.attrs.items())
    assert pickle.loads(pickle.dumps(once)).attrs.pairs == once.attrs.pairs


def test_pickles(tmp_path: Path) -> None:
    """Also after tables were read, and of mapped files."""
    data = (MODULES / "rodata_mixed.vmfb").read_bytes()
    (tmp_path / "large.vmfb").write_bytes(data + bytes(1 << 20))
    for opened in vmfb.open(tmp_path / "large.vmfb"), vmfb.from_buffer(bytearray(data)):
        assert opened.rodata
        assert opened.bytecode
        assert opened.debug is None or opened.debug.locations
        again = pickle.loads(pickle.dumps(opened))
        assert (again.name, again.exports, again.layout) == (
            opened.name,
            opened.exports,
            opened.layout,
        )
        assert bytes(pickle.loads(pickle.dumps(again.rodata[0])).data) == again.rodata[0].data
        opened.close()
        assert copy.copy(again).types == again.types
        with pytest.raises(CallError, match="closed"):
            pickle.dumps(opened)
    again._remote = object()
    with pytest.raises(ArgumentTypeError, match=r"^Module: cannot be pickled"):
        pickle.dumps(again)


def test_closing() -> None:
    with vmfb.open(MODULES / "raw_v0.vmfb") as opened:
        exports = opened.exports
        assert repr(opened) == "<Module 'legacy_raw' version 0, bytecode 17.0, 1845 bytes>"
    assert opened.exports is exports
    assert opened.name == "legacy_raw"
    assert repr(opened) == "<Module closed>"
    with vmfb.open(MODULES / "raw_v0.vmfb") as opened:
        pass
    for part in ("name", "layout", "attrs", "exports"):
        with pytest.raises(CallError, match=r"vmfb\.Module: the module is closed"):
            getattr(opened, part)


def test_features() -> None:
    opened = vmfb.open(MODULES / "std_llvmcpu.vmfb")
    assert opened.requirements == vmfb.Features.YIELD | vmfb.Features.UNWIND
    unknown = module(Table({0: NAME, 2: u32(1 << 20 | 1), 1: u32(0xFFFFFFFF)}))
    assert int(vmfb.from_buffer(unknown).requirements) == 1 << 20 | 1
    assert vmfb.from_buffer(unknown).version == 4294967295


@pytest.mark.threads
def test_threads_share_a_module() -> None:
    opened = vmfb.from_buffer(read("many_300"))
    expected = vmfb.from_buffer(read("many_300")).exports
    found: list[vmfb.Exports] = []
    threads = [threading.Thread(target=lambda: found.append(opened.exports)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_an_unknown_field_is_refused() -> None:
    for number in (-1, 16):
        with pytest.raises(fnabi.FormatError) as caught:
            field(read("raw_v0"), number)
        assert caught.value.code == "unsupported"


# -------------------------------------------------------------------------- the other tables


def test_absent_tables_are_empty() -> None:
    opened = vmfb.from_buffer(module(Table({0: NAME})))
    for part in ("types", "dependencies", "imports", "signatures", "functions", "rodata", "rwdata"):
        assert getattr(opened, part) == ()
    assert (opened.state, opened.debug, opened.bytecode.nbytes) == (None, None, 0)
    assert opened.check() == ()
    assert opened.skipped == ()


def test_each_table_is_decoded_once_and_kept() -> None:
    opened = vmfb.open(MODULES / "std_llvmcpu.vmfb")
    parts = ("types", "dependencies", "imports", "signatures", "functions", "rodata", "rwdata")
    found = {part: getattr(opened, part) for part in (*parts, "state", "bytecode", "debug")}
    opened.close()
    for part, value in found.items():
        assert getattr(opened, part) is value
    for part in (*parts, "state", "bytecode", "debug"):
        closed = vmfb.open(MODULES / "std_llvmcpu.vmfb")
        closed.close()
        with pytest.raises(CallError, match="the module is closed"):
            getattr(closed, part)
    with pytest.raises(CallError, match="the module is closed"):
        opened.check()


def test_parts_of_the_names_of_imports() -> None:
    def imported(name: bytes) -> tuple[str, str]:
        (found,) = vmfb.from_buffer(
            module(Table({0: NAME, 6: Vector([Table({0: String(name)})])}))
        ).imports
        assert (found.calling_convention, found.attrs.pairs) == ("", ())
        assert found.flags is vmfb.ImportFlags.REQUIRED
        return found.module, found.name

    assert imported(b"hal.buffer_view.create") == ("hal", "buffer_view.create")
    assert imported(b"unscoped") == ("", "unscoped")
    assert imported(b".x") == ("", "x")
    assert imported(b"x.") == ("x", "")
    assert imported(b"") == ("", "")
    first = vmfb.open(MODULES / "vm_imports_plain.vmfb").imports[2]
    assert (first.full_name, first.module, first.name) == ("maybe.fn", "maybe", "fn")
    assert first.flags == vmfb.ImportFlags.OPTIONAL


def test_functions_without_signatures() -> None:
    functions = Numbers(struct.pack("<iiIhhhh", 0, 4, 1 << 9, 0, 1, 2, 3) * 3, 20)
    one = Vector([Table({0: String(b"0v_v")})])
    opened = vmfb.from_buffer(module(Table({0: NAME, 8: one, 12: functions})))
    first, second, _ = opened.functions
    assert (first.signature, first.calling_convention) == (opened.signatures[0], "0v_v")
    assert (second.signature, second.calling_convention, second.attrs) == (None, "", {})
    assert int(second.requirements) == 1 << 9
    fewer = vmfb.from_buffer(module(Table({0: NAME, 8: one})))
    assert (fewer.functions, len(fewer.signatures)) == ((), 1)


# ----------------------------------------------------------------------------- read-only data


def rodata_module(*segments: dict[int, Any], behind: bytes = b"") -> bytes:
    data = module(Table({0: NAME, 9: Vector([Table(fields) for fields in segments])}))
    return data + b"\0" * (-len(data) % 64) + behind


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def test_rodata_is_not_copied_and_stays(tmp_path: Path) -> None:
    buffer = bytearray(read("rodata_mixed"))
    segments = vmfb.from_buffer(buffer).rodata
    data = segments[2].data
    assert data.readonly
    buffer[segments[2].offset] ^= 0xFF
    assert data[0] == buffer[segments[2].offset]
    path = tmp_path / "big.vmfb"
    path.write_bytes(read("rodata_mixed") + b"\0" * (1 << 19))
    with vmfb.open(path) as opened:
        views = [segment.data for segment in opened.rodata] + [opened.bytecode]
    path.unlink()
    del opened
    gc.collect()
    golden = GOLDEN["rodata_mixed"]["decoded"]
    found = [hashlib.sha256(view).hexdigest() for view in views]
    assert found == [part["sha256"] for part in (*golden["rodata"], golden["bytecode"])]


def test_kinds_of_rodata() -> None:
    opened = vmfb.from_buffer(
        rodata_module(
            {2: Numbers(b"abc")},
            {2: Numbers(b"")},
            {},
            {3: u64(1), 4: u64(2)},
            {0: b"\1", 1: Table(), 4: u64(3)},
            {0: b"\x63", 1: Table(), 3: u64(3)},
            {0: b"\1", 2: Numbers(b"x"), 3: u64(1 << 63), 4: u64(9)},
            behind=b"xyz",
        )
    )
    found = [
        (bytes(each.data), each.external, each.compression, each.size) for each in opened.rodata
    ]
    assert found == [
        (b"abc", False, 0, 3),
        (b"", False, 0, 0),
        (b"", True, 0, 0),
        (b"yz", True, 0, 2),
        (b"xyz", True, 1, 3),
        (b"", True, 0x63, 0),
        (b"x", False, 1, 1),
    ]
    assert repr(opened.rodata[3]) == "<RodataSegment rodata_segments[3] external, 2 bytes>"
    assert [finding.code for finding in opened.check()] == ["module-kind"]


@pytest.mark.parametrize(
    ("offset", "size"), [(0, 4), (4, 0), (1, 3), (1 << 63, 1), (1, (1 << 64) - 1), (3, 1)]
)
def test_rodata_outside_the_file(offset: int, size: int) -> None:
    inside: dict[int, Any] = {3: u64(0), 4: u64(3)}
    data = rodata_module(inside, {3: u64(offset), 4: u64(size)}, behind=b"xyz")
    segment = vmfb.from_buffer(data).rodata[1]
    assert (segment.external_offset, segment.size) == (offset, size)
    for part in ("offset", "data"):
        with pytest.raises(FormatError) as caught:
            getattr(segment, part)
        assert (caught.value.code, caught.value.path) == ("module-range", "rodata_segments[1]")
        assert caught.value.offset == len(data)
    (finding,) = vmfb.from_buffer(data).check()
    assert (finding.code, finding.path, finding.severity) == (
        "module-range",
        "rodata_segments[1]",
        "error",
    )
    assert struct.unpack_from("<Q", data, finding.offset) == (offset,)


def test_rodata_cut_off() -> None:
    whole = read("rodata_mixed")
    cut = [vmfb.from_buffer(whole[:size]) for size in (18648, 13568, 5440)]
    outside = [[each.path for each in opened.check()] for opened in cut]
    names = [*(f"rodata_segments[{index}]" for index in (2, 3, 4)), "zip_directory"]
    assert outside == [names[2:], names[1:], names]


# ---------------------------------------------------------------------------- lenient reading


INVALID = [name for name in GOLDEN if name not in VALID]


@pytest.mark.parametrize("name", INVALID)
def test_lenient_reading_says_what_it_passed_over(name: str) -> None:
    path = MODULES / f"{name}.vmfb"
    opened = vmfb.open(path, lenient=True)
    assert vmfb.from_buffer(read(name), lenient=True).skipped == opened.skipped
    with pytest.raises(FormatError) as caught:
        vmfb.open(path)
    (skipped,) = opened.skipped
    strict = caught.value
    assert (skipped.code, skipped.offset, skipped.path) == (
        strict.code,
        strict.offset,
        strict.path,
    )
    assert skipped in opened.check()
    assert decoded(opened)["name"] == opened.name
    newer = vmfb.open(MODULES / f"{name.split('@')[0]}.vmfb")
    table, _, index = skipped.path.rpartition("attrs")
    if table:  # but for the attribute all is there
        function = int(table.split("[")[1].split("]")[0])
        pairs = list(newer.signatures[function].attrs.pairs)
        assert opened.signatures[function].attrs.pairs == (
            *pairs[: int(index[1:-1])],
            *pairs[int(index[1:-1]) + 1 :],
        )
        assert opened.exports.values()[function].attrs == opened.functions[function].attrs
        assert [*opened.exports] == [*newer.exports]
    else:
        assert len(opened.attrs.pairs) == len(newer.attrs.pairs) - 1


@pytest.mark.parametrize("name", SMALL)
def test_lenient_reading_of_what_is_valid_is_the_same(name: str) -> None:
    opened = vmfb.from_buffer(read(name), lenient=True)
    assert decoded(opened) == decoded(vmfb.from_buffer(read(name)))
    assert opened.skipped == ()


def test_lenient_reading_passes_over_attributes_only() -> None:
    attr = Table({0: String(b"k"), 1: String(b"v")})
    attrs = Vector([None, attr, None])
    function = Table({0: String(b"0v_v"), 1: attrs})
    imported = Table({0: String(b"a.b"), 1: function})
    data = module(
        Table(
            {
                0: NAME,
                3: attrs,
                6: Vector([imported]),
                7: Vector([Table({0: String(b"go")})]),
                8: Vector([function]),
                12: Numbers(b"\0" * 20, 20),
            }
        )
    )
    opened = vmfb.from_buffer(data, lenient=True)
    pairs = (("k", "v"),)
    for each in (
        opened,
        *opened.imports,
        *opened.exports.values(),
        *opened.signatures,
        *opened.functions,
    ):
        assert each.attrs.pairs == pairs
    assert [skipped.path for skipped in opened.skipped] == [
        f"{place}attrs[{index}]"
        for place in ("", "imported_functions[0].signature.", "function_signatures[0].")
        for index in (0, 2)
    ]
    for skipped in opened.skipped:
        assert struct.unpack_from("<I", data, skipped.offset) == (0,)
    for fields in ({4: Vector([None])}, {8: Vector([None])}, {3: Vector([Table({0: Table()})])}):
        with pytest.raises(FormatError):
            vmfb.from_buffer(module(Table({0: NAME, **fields})), lenient=True)


# ------------------------------------------------------------------------- files that change


def big(tmp_path: Path, name: str = "many_vm_2000") -> Path:
    path = tmp_path / "big.vmfb"
    path.write_bytes(read(name) + b"\0" * (1 << 19))
    return path


PARTS = ("name", "exports", "types", "imports", "functions", "rodata", "debug", "bytecode")


@pytest.mark.parametrize("part", PARTS)
def test_a_file_that_was_cut_is_noticed(tmp_path: Path, part: str) -> None:
    path = big(tmp_path)
    opened = vmfb.open(path)
    os.truncate(path, 100)
    with pytest.raises(FormatError) as caught:
        getattr(opened, part)
    assert (caught.value.code, caught.value.offset) == ("module-changed", 100)
    with pytest.raises(FormatError, match="file changed while open"):
        opened.check()


@pytest.mark.parametrize("part", PARTS)
def test_a_file_that_was_written_to_is_noticed(tmp_path: Path, part: str) -> None:
    path = big(tmp_path)
    opened = vmfb.open(path)
    functions = opened.functions
    with path.open("r+b") as file:
        file.write(b"XX")
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 10_000_000))  # clocks may be coarse
    if part == "functions":
        assert opened.functions is functions  # what was read stays
        return
    with pytest.raises(FormatError) as caught:
        getattr(opened, part)
    assert (caught.value.code, caught.value.offset) == ("module-changed", 0)


def test_rodata_of_a_file_that_was_cut(tmp_path: Path) -> None:
    path = big(tmp_path, "rodata_mixed")
    opened = vmfb.open(path)
    segments = opened.rodata
    assert segments[2].data[0] == read("rodata_mixed")[segments[2].offset]
    os.truncate(path, 6000)
    for segment in segments:
        with pytest.raises(FormatError) as caught:
            _ = segment.data
        assert caught.value.code == "module-changed"


def test_a_module_is_made_of_a_file_or_a_buffer_alone() -> None:
    for arguments in (), (b"IREE",):
        with pytest.raises(TypeError, match=r"^vmfb\.Module: expected a call of vmfb\.open or"):
            vmfb.Module(*arguments)
    opened = vmfb.open(MODULES / "scalars.vmfb")
    assert [*copy.copy(opened).exports] == [*opened.exports]


def test_files_that_are_replaced_or_small_may_change(tmp_path: Path) -> None:
    path = big(tmp_path)
    opened = vmfb.open(path)
    other = tmp_path / "other"
    other.write_bytes(read("raw_v0"))
    other.replace(path)
    assert len(opened.exports) == 2000
    small = vmfb.open(path)
    os.truncate(path, 3)
    assert len(small.exports) == 7


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="of Linux")
def test_files_are_let_go_of(tmp_path: Path) -> None:
    path = big(tmp_path)

    def descriptors() -> int:
        """Count those of the file: other tests' are let go of at any time."""
        found = [Path(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")]
        return sum(os.path.realpath(each) == str(path) for each in found)

    opened = [vmfb.open(path) for _ in range(20)]
    assert opened[0].name
    all_of_them = descriptors()
    assert all_of_them >= 20
    for each in opened[:10]:
        each.close()
    assert descriptors() == all_of_them // 2
    del opened, each
    gc.collect()
    assert descriptors() == 0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="of Linux")
def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.vmfb"
    segments = Vector([Table({3: u64(1 << 31), 4: u64(1 << 31)}), Table({3: u64(0), 4: u64(64)})])
    data = module(Table({0: NAME, 9: segments}))
    path.write_bytes(data)
    os.truncate(path, (1 << 32) + (1 << 20))
    before, started = resident(), time.process_time()
    opened = vmfb.open(path)
    whole = opened.rodata[0].data
    assert (opened.check(), len(whole), whole[-1]) == ((), 1 << 31, 0)
    assert opened.rodata[0].offset == opened.layout.rodata_base + (1 << 31)
    check_grown(before, 4 << 20)
    assert time.process_time() - started < 0.5


# ----------------------------------------------------------------------- what check() finds

BROKEN = {"raw_v0": 3, "abi_broken": 15, **dict.fromkeys(INVALID, 1)}
BROKEN |= dict.fromkeys(("abi_broken@2.9.0", "abi_broken@3.7.0"), 1 + 14)


@pytest.mark.parametrize("name", GOLDEN)
def test_nothing_is_found_in_what_compilers_write(name: str) -> None:
    opened = vmfb.from_buffer(read(name), lenient=True)
    findings = [finding for finding in opened.check() if finding.code != "disagreement"]
    if name == "vm_sigs@2.9.0":  # the runtime refuses it: f64 arguments in the registers of f32
        assert [finding.code for finding in findings] == ["bytecode-arguments"]
        return
    assert len(findings) == BROKEN.get(name, BROKEN.get(name.split("@")[0], 0))
    assert all(finding.severity == "error" for finding in findings)
    told = len(opened.check()) > len(findings)
    assert told == name.startswith(("abi_records", "many_300", "raw_v0"))  # made-up attributes
    if name.startswith("raw_v0"):
        assert [(finding.code, finding.path) for finding in findings] == [
            ("version", 'exports[3].attrs["fv"]'),
            ("span-end", 'exports[4].attrs["f"]'),
            ("span-end", 'exports[5].attrs["f"]'),
        ]


def descriptors(*rows: tuple[int, ...]) -> Numbers:
    return Numbers(b"".join(struct.pack("<iiIhhhh", *row) for row in rows), 20)


def whole_module() -> dict[int, Any]:
    """A module with everything and without findings."""
    function = Table({0: String(b"0i_i")})
    locations = [
        Table({0: u32(1), 1: u32(0)}),
        Table({0: String(b"f"), 1: u32(1)}),
        Table({1: Numbers(u32(0) + u32(3), 4)}),
        Table({0: String(b"n"), 1: u32(1)}),
    ]
    operations = Numbers(u32(0) + u32(0) + u32(7) + u32(3), 8)
    return {
        0: NAME,
        2: u32(15),
        4: Vector([Table({0: String(b"i32")})]),
        5: Vector([Table({0: String(b"hal"), 2: u32(3)})]),
        6: Vector([Table({0: String(b"hal.a"), 1: function}), Table({0: String(b"hal.b")})]),
        7: Vector([Table({0: String(b"a")}), Table({0: String(b"b"), 1: u32(1)})]),
        8: Vector([function, function]),
        9: Vector([Table({2: Numbers(b"x")})]),
        10: Vector([Table({0: u32(5)})]),
        11: Table({0: u32(1), 1: u32(2)}),
        12: descriptors((0, 4, 3, 0, 1, 2, 3), (4, 4, 0, 0, 0, 0, 0)),
        14: Numbers(b"\0" * 8),
        15: Table(
            {
                0: Numbers(b"\1\2\3\4"),
                1: Vector([*locations]),
                2: Vector([Table({0: String(b"a"), 1: operations})]),
            }
        ),
    }


def findings_of(fields: dict[int, Any], lenient: bool = False) -> list[tuple[str, str, int]]:
    """Code, path and the 32 bits at the offset of each finding, but for those about bytecode."""
    data = module(Table(fields))
    found = [
        finding
        for finding in vmfb.from_buffer(data, lenient=lenient).check()
        if not finding.code.startswith("bytecode-")
    ]
    assert all(finding.severity == "error" or finding.code in NOTICES for finding in found)
    return [(f.code, f.path, *struct.unpack_from("<i", data, f.offset)) for f in found]


NOTICES = ("module-duplicate", "module-flags", "module-kind")
NEGATIVE = 0xFFFFFFFF
CHANGES: list[tuple[Callable[[dict[int, Any]], object], list[tuple[str, str]]]] = [
    (lambda m: None, []),
    (lambda m: m.update({0: String(b"")}), [("name", "name")]),
    (lambda m: m.update({2: u32(1 << 20)}), [("flags", "requirements")]),
    (lambda m: m.update({3: Vector([Table()])}), [("name", "attrs[0].key")]),
    (lambda m: m.update({4: Vector([Table()])}), [("name", "types[0].full_name")]),
    (
        lambda m: m.update({5: Vector([Table({2: u32(4)})])}),
        [("name", "dependencies[0].name"), ("flags", "dependencies[0].flags")],
    ),
    (
        lambda m: m.update({6: Vector([Table({2: u32(8)})])}),
        [("name", "imported_functions[0].full_name"), ("flags", "imported_functions[0].flags")],
    ),
    (
        lambda m: m[6].items.append(Table({0: String(b"hal.a")})),
        [("duplicate", "imported_functions[2].full_name")],
    ),
    (lambda m: m[7].items.append(Table()), [("name", "exported_functions[2].local_name")]),
    (
        lambda m: m[7].items.extend([Table(), Table({0: String(b"")})]),
        [
            ("name", "exported_functions[2].local_name"),
            ("name", "exported_functions[3].local_name"),
        ],
    ),
    (
        lambda m: m[7].items.extend([Table({0: String(b"b")}), Table({0: String(b"b")})]),
        [
            ("duplicate", "exported_functions[2].local_name"),
            ("duplicate", "exported_functions[3].local_name"),
        ],
    ),
    (
        lambda m: m[7].items.append(Table({0: String(b"c"), 1: u32(2)})),
        [("ordinal", "exported_functions[2].internal_ordinal")],
    ),
    (
        lambda m: m[7].items.append(Table({0: String(b"c"), 1: u32(NEGATIVE)})),
        [("ordinal", "exported_functions[2].internal_ordinal")],
    ),
    (lambda m: m[8].items.append(Table()), [("count", "function_descriptors")]),
    (
        lambda m: m[8].items.pop(),
        [("ordinal", "exported_functions[1].internal_ordinal"), ("count", "function_descriptors")],
    ),
    (
        lambda m: m.update({10: Vector([Table({0: u32(NEGATIVE)})])}),
        [("negative", "rwdata_segments[0].byte_size")],
    ),
    (
        lambda m: m.update({11: Table({0: u32(1 << 31), 1: u32(NEGATIVE)})}),
        [
            ("negative", "module_state.global_bytes_capacity"),
            ("negative", "module_state.global_ref_count"),
        ],
    ),
    (
        lambda m: m.update({12: descriptors((4, 5, 0, 0, 0, 0, 0), (-1, 4, 0, 0, 0, 0, 0))}),
        [("range", "function_descriptors[0]"), ("range", "function_descriptors[1]")],
    ),
    (
        lambda m: m.update({12: descriptors((0, -1, 0, 0, 0, 0, 0), (8, 0, 0, 0, 0, 0, 0))}),
        [("range", "function_descriptors[0]")],
    ),
    (
        lambda m: m.update({12: descriptors((0, 1, 16, 0, -1, 0, 0), (1, 0, 0, 1, 0, -1, -2))}),
        [
            ("flags", "function_descriptors[0].requirements"),
            ("negative", "function_descriptors[0].block_count"),
            ("flags", "function_descriptors[1].reserved"),
            ("negative", "function_descriptors[1].i32_register_count"),
            ("negative", "function_descriptors[1].ref_register_count"),
        ],
    ),
    (
        lambda m: m[15].fields[1].items.__setitem__(0, Table({0: u32(4), 1: u32(NEGATIVE)})),
        [
            ("ordinal", "debug_database.location_table[0].callee"),
            ("ordinal", "debug_database.location_table[0].caller"),
        ],
    ),
    (
        lambda m: m[15].fields[1].items.__setitem__(2, Table({1: Numbers(u32(0) + u32(4), 4)})),
        [("ordinal", "debug_database.location_table[2].locations[1]")],
    ),
    (
        lambda m: m[15].fields[1].items.__setitem__(3, Table({1: u32(4)})),
        [("ordinal", "debug_database.location_table[3].child_location")],
    ),
    (
        lambda m: m[15].fields.update({0: Numbers(b"\1\2\3\5")}),
        [("kind", "debug_database.location_table[3]")],
    ),
    (
        lambda m: m[15].fields[2].items.append(Table({1: Numbers(u32(8) + u32(4), 8)})),
        [
            ("name", "debug_database.functions[1].local_name"),
            ("range", "debug_database.functions[1].locations[0].bytecode_offset"),
            ("ordinal", "debug_database.functions[1].locations[0].location"),
        ],
    ),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_what_is_found(
    change: Callable[[dict[int, Any]], object], expected: list[tuple[str, str]]
) -> None:
    fields = whole_module()
    change(fields)
    found = [(code, path) for code, path, _ in findings_of(fields)]
    assert found == [(f"module-{code}", path) for code, path in expected]


def test_findings_are_where_they_say() -> None:
    fields = whole_module()
    fields[7].items.append(Table({0: String(b"c"), 1: u32(77)}))
    fields[10] = Vector([Table({0: u32(NEGATIVE)})])
    fields[12] = descriptors((0, 1, 1 << 30, 0, 0, 0, 0), (-5, 4, 0, 0, 0, 0, 0))
    fields[15].fields[1].items[3] = Table({1: u32(-6 & NEGATIVE)})
    fields[15].fields[1].items[2] = Table({1: Numbers(u32(0) + u32(99), 4)})
    assert [bits for _, _, bits in findings_of(fields)] == [77, -1, 1 << 30, -5, 99, -6]


def test_wide_numbers_are_aligned() -> None:
    segment = Table({3: struct.pack("<Q", 7), 4: struct.pack("<Q", 0)})
    data = module(Table({0: NAME, 9: Vector([segment])}))
    vmfb.verify(data)
    entries = struct.pack("<7H", 14, 24, 0, 0, 0, 8, 16)
    moved = data.replace(entries, struct.pack("<7H", 14, 24, 0, 0, 0, 12, 16))
    with pytest.raises(FormatError) as caught:
        vmfb.verify(moved)
    assert caught.value.code == "module-alignment"
    assert caught.value.path == "rodata_segments[0].external_data_offset"


def everything_wrong() -> dict[int, Any]:
    """A module with a finding of each kind in each part, of which the tests in C have a copy."""
    m = whole_module()
    bad = Table({0: String(b"0iq_i"), 1: Vector([Table()])})
    m[0] = String(b"")
    m[2] = u32(1 << 20)
    m[3] = Vector([None, Table()])
    m[4] = Vector([Table()])
    m[5] = Vector([Table({2: u32(4)})])
    same = [Table({0: String(b"same")}), Table({0: String(b"same")})]
    m[6] = Vector([Table({2: u32(8)}), Table({0: NAME, 1: bad}), *same])
    zero = bytes.fromhex("d56bb95342870836")  # whose hash is 0, with NULs after it as well
    alike = [Table({0: String(zero + b"\0" * nuls)}) for nuls in (1, 0, 2, 0)]
    m[7] = Vector([Table({1: u32(9)}), *same, *alike])
    m[8] = Vector([bad])
    m[9] = Vector([Table({0: b"\7", 1: Table(), 4: struct.pack("<Q", 1 << 20)})])
    m[10] = Vector([Table({0: u32(NEGATIVE)})])
    m[11] = Table({0: u32(1 << 31), 1: u32(NEGATIVE)})
    m[12] = descriptors((9, 1, 16, 1, -1, -1, -1), (0, 4, 0, 0, 0, 0, 0))
    debug = m[15].fields
    debug[0] = Numbers(b"\1\2\3\4\5\3\0")
    locations = debug[1].items
    locations[0] = Table({0: u32(9), 1: u32(NEGATIVE)})
    locations[2] = Table({1: Numbers(u32(0) + u32(9), 4)})
    locations[3] = Table({1: u32(9)})
    locations += [Table(), Table({1: Numbers(u32(9), 4)}), None]
    debug[2].items.append(Table({1: Numbers(u32(8) + u32(9), 8)}))
    return m


def test_everything_is_wrong() -> None:
    fields = everything_wrong()
    assert (TESTS / "c" / "corpus" / "vmfb" / "findings").read_bytes() == module(Table(fields))
    found = [
        f"{code.removeprefix('module-')} {path}" for code, path, _ in findings_of(fields, True)
    ]
    assert found == [
        "name name",
        "flags requirements",
        "offset attrs[0]",
        "name attrs[1].key",
        "name types[0].full_name",
        "name dependencies[0].name",
        "flags dependencies[0].flags",
        "name imported_functions[0].full_name",
        "flags imported_functions[0].flags",
        "import imported_functions[1].full_name",
        "cconv-register imported_functions[1].signature.calling_convention.arguments[1]",
        "name imported_functions[1].signature.attrs[0].key",
        "import imported_functions[2].full_name",
        "import imported_functions[3].full_name",
        "duplicate imported_functions[3].full_name",
        "name exported_functions[0].local_name",
        "ordinal exported_functions[0].internal_ordinal",
        "duplicate exported_functions[2].local_name",
        "duplicate exported_functions[6].local_name",
        "cconv-register function_signatures[0].calling_convention.arguments[1]",
        "name function_signatures[0].attrs[0].key",
        "kind rodata_segments[0].compression_type",
        "range rodata_segments[0]",
        "negative rwdata_segments[0].byte_size",
        "negative module_state.global_bytes_capacity",
        "negative module_state.global_ref_count",
        "count function_descriptors",
        "range function_descriptors[0]",
        "flags function_descriptors[0].requirements",
        "flags function_descriptors[0].reserved",
        "negative function_descriptors[0].block_count",
        "negative function_descriptors[0].i32_register_count",
        "negative function_descriptors[0].ref_register_count",
        "ordinal debug_database.location_table[0].callee",
        "ordinal debug_database.location_table[0].caller",
        "ordinal debug_database.location_table[2].locations[1]",
        "ordinal debug_database.location_table[3].child_location",
        "kind debug_database.location_table[4]",
        "ordinal debug_database.location_table[5].locations[0]",
        "name debug_database.functions[1].local_name",
        "range debug_database.functions[1].locations[0].bytecode_offset",
        "ordinal debug_database.functions[1].locations[0].location",
    ]


def test_calling_conventions_that_cannot_be_read() -> None:
    table = signatures()
    table.fields[6] = Vector([Table({0: String(b"a.b"), 1: Table({0: String(b"9i_i")})})])
    table.fields[8] = Vector([Table({0: String(b"0iq_i")})])
    table.fields[12] = descriptors((0,) * 7)
    data = module(table)
    first, second, third = vmfb.from_buffer(data).check()
    assert third.code == "bytecode-version"
    assert (first.code, first.path) == (
        "version",
        "imported_functions[0].signature.calling_convention",
    )
    assert data[first.offset : first.offset + 4] == b"9i_i"
    assert second.code == "cconv-register"
    assert second.path.startswith("function_signatures[0].calling_convention")
    assert data[second.offset : second.offset + 1] == b"q"
    assert str(second) == (f"error: unknown register type at byte {second.offset} in {second.path}")


@pytest.mark.parametrize("name", [name for name, valid in MALFORMED.items() if valid])
def test_damage_that_the_verifier_does_not_see(name: str) -> None:
    opened = vmfb.open(MODULES / "malformed" / f"{name}.vmfb")
    found = opened.check()
    findings = [finding for finding in found if finding.code != "module-checksum"]
    paths = [finding.path for finding in findings]
    if name.startswith("crash_"):
        assert findings
    if name.startswith("ro_trunc"):
        assert any(path.startswith("rodata_segments[") for path in paths)
    if name == "import_dup":
        assert [finding.severity for finding in findings] == ["notice"]
    for finding in found:
        assert finding.offset is None or 0 <= finding.offset <= opened.layout.file_size
        assert "\n" not in str(finding)


def test_names_that_are_inside_of_another_do_not_multiply() -> None:
    """Each begins four bytes later, with its own size, and all have one end."""
    count = 10_000
    size = 4 * count
    outer = String(b"".join(u32(size - 4 * each) for each in range(1, count + 1)))
    data = bytearray(module(Table({0: NAME, 6: Vector([Table({0: outer}) for _ in range(count)])})))
    words = struct.unpack_from(f"<{len(data) // 4}I", data)
    begin = data.index(u32(size) + u32(size - 4))
    first, second = [4 * at for at, word in enumerate(words) if 4 * at + word == begin][:2]
    uses = range(first, first + count * (second - first), second - first)
    for each, at in enumerate(uses):
        struct.pack_into("<I", data, at, begin + 4 * each - at)
    with pytest.raises(FormatError) as caught:  # 200 MB of names in 240 KB
        vmfb.from_buffer(bytes(data)).check()
    assert (caught.value.code, len(data) < 250_000) == ("work", True)


def test_many_names_take_no_longer_than_they_are() -> None:
    same = String(b"a.same" * 700)
    many = [Table({0: same}) for _ in range(20_000)]
    data = module(Table({0: NAME, 6: Vector([*many])}))
    with pytest.raises(FormatError) as caught:  # 80 MB of names in 400 KB
        vmfb.from_buffer(data).check()
    assert (caught.value.code, len(data) < 500_000) == ("work", True)
    names = [Table({0: String(b"a.%d" % number)}) for number in range(20_000)]
    few = vmfb.from_buffer(module(Table({0: NAME, 6: Vector([*names, *names])}))).check()
    assert [finding.path for finding in few] == [
        f"imported_functions[{index}].full_name" for index in range(20_000, 40_000)
    ]


def test_a_changing_buffer_is_checked_again() -> None:
    data = bytearray(read("raw_v0"))
    opened = vmfb.from_buffer(data)
    data[76] ^= 0xFF
    with pytest.raises(FormatError):
        opened.check()


def test_a_malformed_raw_signature_is_found_behind_a_better_text() -> None:
    opened = vmfb.from_buffer(module(signatures((b"iree.abi", ABI), (b"f", b"I1!"))))
    assert opened.exports.values()[0].source == "iree.abi"
    found = [each for each in opened.check() if each.code.startswith("raw-")]
    assert [(each.code, each.offset, each.path, each.severity) for each in found] == [
        ("raw-results", 3, 'exports[0].attrs["f"]', "error")
    ]


def test_a_disagreement_is_at_no_one_place() -> None:
    opened = vmfb.from_buffer(module(signatures((b"iree.abi", b'{"a":["i32"],"r":[]}'))))
    (finding,) = [each for each in opened.check() if each.code == "disagreement"]
    assert finding.offset is None
    assert str(finding).startswith("notice: inputs: 1 in iree.abi, ")
    assert str(finding).endswith(" in exports[0]")


def test_a_module_of_the_old_schema() -> None:
    """Compiled in February 2023."""
    data = (MODULES.parent / "needs" / "add_vmvx@20230209.vmfb").read_bytes()
    for open_module in (vmfb.from_buffer, partial(vmfb.from_buffer, lenient=True), vmfb.verify):
        with pytest.raises(FormatError) as caught:
            open_module(data)
        assert str(caught.value) == (
            "module of an old schema at byte 68, expected a schema of March 2023 or later"
        )
    for name, valid in MALFORMED.items():  # damage alone is not taken for it
        if not valid:
            with pytest.raises(FormatError) as caught:
                vmfb.verify((MODULES / "malformed" / f"{name}.vmfb").read_bytes())
            assert caught.value.code != "module-schema"


@pytest.mark.parametrize("path", [0, b"module.vmfb", None])
def test_open_refuses_what_is_not_a_path(path: Any) -> None:
    with pytest.raises(CallError, match=r"^vmfb\.open: path: expected str or os\.PathLike, got "):
        vmfb.open(path)


def test_an_export_whose_signature_is_malformed() -> None:
    attributes = Vector([Table({0: String(b"iree.abi"), 1: String(b'{"a":["i3')})])
    tables = {
        7: Vector([Table({0: String(b"f"), 1: bytes(4)})]),
        8: Vector([Table({0: String(b"0r_v"), 1: attributes})]),
    }
    export = vmfb.from_buffer(module(Table({0: String(b"m")} | tables))).exports["f"]
    assert "<code>unreadable: unterminated string at byte 9" in export._repr_html_()
    assert pickle.loads(pickle.dumps(export)) == export


def test_attributes_have_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = vmfb.Attributes(()).nothing
