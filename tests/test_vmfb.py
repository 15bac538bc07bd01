from __future__ import annotations

import gzip
import hashlib
import json
import mmap
import os
import pickle
import random
import struct
import threading
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from flatbuffer import Numbers, String, Table, Vector, module
from fnabi import CallError, FormatError, debug, raw, sip, vmfb
from fnabi._core import decode
from fnabi._fnabi import ffi, lib

DATA = Path(__file__).parent / "data" / "vmfb"
GOLDEN: dict[str, Any] = json.loads((DATA / "golden.json").read_text())
OFFICIAL: dict[str, Any] = json.loads(gzip.decompress((DATA / "official.json.gz").read_bytes()))
MALFORMED: dict[str, bool] = json.loads((DATA / "malformed" / "expected.json").read_text())
VALID = [name for name, golden in GOLDEN.items() if golden["valid"]]
SMALL = ["debug_kept", "std_llvmcpu", "raw_v0", "module_attrs", "vm_globals", "rodata_mixed"]

untyped = msgspec.msgpack.Decoder()


@cache
def read(name: str) -> bytes:
    return (DATA / f"{name}.vmfb").read_bytes()


def field(data: bytes, number: int) -> Any:
    """A field of the root as the core gives it."""
    return decode(lib.fnabi_module_field, untyped, ffi.from_buffer(data), number)


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
    debug.Unknown: "NONE",
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
    if isinstance(value, debug.Unknown):
        return {"type": "NONE"}
    return {"type": LOCATIONS[type(value)], **struct_fields(value)}


def descriptor(value: vmfb.Function) -> list[int]:
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
        "exports": [{"local_name": e.name, "internal_ordinal": e.ordinal} for e in opened.exports],
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


@pytest.mark.parametrize("name", VALID)
def test_every_table_as_the_independent_reader_finds_it(name: str) -> None:
    opened = vmfb.open(DATA / f"{name}.vmfb")
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


def official_descriptor(value: vmfb.Function) -> dict[str, Any]:
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
    opened = vmfb.open(DATA / f"{name}.vmfb")
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
            lean(local_name=e.name, internal_ordinal=e.ordinal) for e in opened.exports
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
    opened = vmfb.open(DATA / f"{name}.vmfb")
    golden = OFFICIAL[name]["runtime"]
    assert (opened.name, opened.version) == (golden["name"], golden["version"])
    functions = [opened.functions[export.ordinal] for export in opened.exports]
    found = [
        {
            "name": export.name,
            "module_name": opened.name,
            "linkage": 2,
            "ordinal": index,  # which is the export's
            "reflection": dict(function.attrs),
            "calling_convention": function.calling_convention,
        }
        for index, (export, function) in enumerate(zip(opened.exports, functions, strict=True))
    ]
    assert abridged(found) == golden["functions"]


# ---------------------------------------------------------------------------- damaged modules


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in VALID])
def test_null_attributes_of_old_compilers_are_refused(name: str) -> None:
    with pytest.raises(FormatError) as caught:
        vmfb.open(DATA / f"{name}.vmfb")
    assert caught.value.code == "module-offset"
    assert caught.value.path.rsplit("[", 1)[0].endswith("attrs")
    assert struct.unpack_from("<I", read(name), caught.value.offset) == (0,)


@pytest.mark.parametrize(("name", "valid"), MALFORMED.items())
def test_refuses_what_the_official_verifier_refuses(name: str, valid: bool) -> None:
    data = (DATA / "malformed" / f"{name}.vmfb").read_bytes()
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
    data = (DATA / "malformed" / f"{name}.vmfb").read_bytes()
    with pytest.raises(FormatError) as caught:
        vmfb.from_buffer(data)
    assert (caught.value.code, caught.value.offset, caught.value.path) == (code, offset, path)
    assert caught.value.excerpt is None
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["crash_439_metadata", "crash_5000073_metadata"])
def test_an_ordinal_outside_its_table_fails_all_exports(name: str) -> None:
    opened = vmfb.open(DATA / "malformed" / f"{name}.vmfb")
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
    """What reading everything comes to; an error anywhere but where it may be is raised."""
    error = error_of(lambda: vmfb.verify(data))
    if error is not None:
        assert error.offset <= len(data)
        return error.code
    every_field(data)  # whatever was verified can be read
    opened = vmfb.from_buffer(data)
    error = error_of(lambda: opened.exports)
    if error is not None:
        return error.code
    for export in opened.exports:
        assert export.attrs.keys() == {key for key, _ in export.attrs.pairs}
        for part in ("signature", "sip"):
            error = error_of(partial(getattr, export, part))
            assert error is None or error.path.startswith("exports[")
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


def signatures(*pairs: tuple[bytes, bytes]) -> Table:
    """One exported function with these attributes."""
    attrs = Vector([Table({0: String(key), 1: String(value)}) for key, value in pairs])
    function = Table({0: String(b"0v_v"), 1: attrs})
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
    assert opened.exports == ()
    assert opened.attrs == {}
    assert (opened.version, opened.bytecode_version, opened.requirements) == (0, (0, 0), 0)
    unnamed = Table({0: NAME, 7: Vector([Table()]), 8: Vector([Table({1: Vector([Table()])})])})
    (export,) = vmfb.from_buffer(module(unnamed)).exports
    assert (export.name, export.ordinal, export.calling_convention) == ("", 0, "")
    assert export.attrs.pairs == (("", ""),)
    assert (export.signature, export.sip, export.source, export.result_allocator) == (None,) * 4


def test_text_that_is_not_utf8_and_nul_survive() -> None:
    table = signatures((b"\xff\xfe", b"a\0b"), (b"k", "ünï".encode()))
    table.fields[0] = String(b"\x80m\0")
    opened = vmfb.from_buffer(module(table))
    assert opened.name.encode("utf-8", "surrogateescape") == b"\x80m\0"
    assert opened.exports[0].attrs.pairs == (("\udcff\udcfe", "a\0b"), ("k", "ünï"))


# ----------------------------------------------------------------------------------- exports

RAW = b"I15!B11!d10d128d64R15!B11!t6d32d8d64"
SIP = b"I12!S9!k0_0k1_1R3!_0"


def only_export(*pairs: tuple[bytes, bytes]) -> vmfb.Export:
    (export,) = vmfb.from_buffer(module(signatures(*pairs))).exports
    return export


def test_raw_signatures() -> None:
    exports = vmfb.open(DATA / "raw_v0.vmfb").exports
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
        assert exports[name].source is None


@pytest.mark.parametrize("value", [b"", b"I", b"I3!S1!R1!", b"I15!B11!d10d128d64R15!B11!t99d8d64"])
def test_a_malformed_raw_signature_is_the_error_of_raw_parse(value: bytes) -> None:
    with pytest.raises(FormatError) as expected:
        raw.parse(value)
    with pytest.raises(FormatError) as caught:
        _ = only_export((b"f", value)).signature
    assert caught.value.path == 'exports[0].attrs["f"]' + (
        f".{expected.value.path}" if expected.value.path else ""
    )
    for part in ("code", "offset", "reason", "expected", "excerpt"):
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
    assert only_export(*pairs).signature is None


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
    assert export.signature is None
    assert export.sip is None


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
    duplicates = vmfb.open(DATA / "decl_dup_key.vmfb").exports
    assert any(len(e.attrs) < len(e.attrs.pairs) for e in duplicates)


def test_exports_are_a_tuple_and_found_by_name() -> None:
    exports = vmfb.open(DATA / "raw_v0.vmfb").exports
    assert isinstance(exports, tuple)
    assert [export.name for export in exports][:2] == ["conv", "every_scalar"]
    assert exports["every_scalar"] is exports[1]
    assert exports[-1].name == "no_version"
    assert exports[1:3] == (exports[1], exports[2])
    assert "conv" in exports
    assert "none" not in exports
    assert exports[0] in exports
    with pytest.raises(KeyError, match="none"):
        exports["none"]


def test_the_first_export_of_a_name_is_found() -> None:
    same = String(b"same")
    functions = Vector([Table({0: String(b"0v_v")}), Table({0: String(b"0i_i")})])
    twins = Vector([Table({0: same, 1: u32(1)}), Table({0: same})])
    exports = vmfb.from_buffer(module(Table({0: NAME, 7: twins, 8: functions}))).exports
    assert exports["same"] is exports[0]
    assert [export.ordinal for export in exports] == [1, 0]


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
    first, second = vmfb.open(DATA / "raw_v0.vmfb").exports[:2]
    assert pickle.loads(pickle.dumps(first)) == first
    assert hash(first) != hash(second)
    with pytest.raises(AttributeError):
        first.name = "other"  # type: ignore[misc]
    assert repr(first) == "<Export 'conv' (float32[10x128x64]) -> (int32[32x8x64])>"


# ------------------------------------------------------------------------------------ opening


def test_open_takes_paths_and_reads_without_mapping_too(tmp_path: Path) -> None:
    path = DATA / "raw_v0.vmfb"
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


@pytest.mark.parametrize("wrong", ["text", 3, None, memoryview(b"abcdef")[::2]])
@pytest.mark.parametrize("function", [vmfb.from_buffer, vmfb.verify])
def test_what_is_no_buffer_is_named(function: Any, wrong: Any) -> None:
    with pytest.raises(CallError, match=f"^vmfb.{function.__name__}: data must be"):
        function(wrong)


def test_closing() -> None:
    with vmfb.open(DATA / "raw_v0.vmfb") as opened:
        exports = opened.exports
        assert repr(opened) == "<Module 'legacy_raw' version 0, bytecode 17.0, 1845 bytes>"
    assert opened.exports is exports
    assert opened.name == "legacy_raw"
    assert repr(opened) == "<Module closed>"
    with vmfb.open(DATA / "raw_v0.vmfb") as opened:
        pass
    for part in ("name", "layout", "attrs", "exports"):
        with pytest.raises(CallError, match=r"vmfb\.Module: the module is closed"):
            getattr(opened, part)


def test_features() -> None:
    opened = vmfb.open(DATA / "std_llvmcpu.vmfb")
    assert opened.requirements == vmfb.Features.YIELD | vmfb.Features.UNWIND
    unknown = module(Table({0: NAME, 2: u32(1 << 20 | 1), 1: u32(0xFFFFFFFF)}))
    assert int(vmfb.from_buffer(unknown).requirements) == 1 << 20 | 1
    assert vmfb.from_buffer(unknown).version == 4294967295


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
