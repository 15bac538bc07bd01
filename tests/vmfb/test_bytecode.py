"""VM bytecode: instructions, disassembly, and what is wrong with it.

The official tools are the authority: ``iree-dump-module`` for what instructions are, the runtime's
loader for what is refused. Tests against them are skipped where they are not installed.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fnabi import CallError, FormatError, NotFoundError, bytecode, vmfb
from fnabi.cli import main
from fnabi.vmfb import _instructions
from fnabi.vmfb.bytecode import (
    Branch,
    BytecodeFinding,
    Callee,
    Global,
    Immediate,
    Instruction,
    Register,
    Rodata,
    Segments,
    Text,
    TypeName,
)
from support.bytecode_template import FUZZED, TEMPLATE, seed, template
from support.each import each
from support.growth.modules import shared_code
from support.installed_runtime import Load, loading
from support.paths import DATA, TESTS

FOLDERS = (DATA / "vmfb", DATA / "bytecode_types", DATA / "needs")
OLD_SCHEMA = "add_vmvx@20230209"
PATHS = {path.stem: path for folder in FOLDERS for path in folder.glob("*.vmfb")}
del PATHS[OLD_SCHEMA]  # refused before its bytecode is looked at
MODULES = sorted(PATHS)


def modules() -> Iterator[tuple[str, str]]:
    return ((name, name) for name in MODULES)


def opened(name: str) -> vmfb.Module:
    return vmfb.from_buffer(PATHS[name].read_bytes(), lenient=True)


def of_code(code: str, **changes: int) -> vmfb.Module:
    """A module whose functions have this bytecode, in hexadecimal."""
    return vmfb.from_buffer(template(bytes.fromhex(code), **changes))


def instructions(code: str, **changes: int) -> tuple[Instruction, ...]:
    return of_code(code, **changes).functions[0].instructions


# --------------------------------------------------------------------- against iree-dump-module


def _find_dump() -> str | None:
    """The official tool on the path, or where the runtime's package has it."""
    spec = find_spec("iree._runtime_libs") if find_spec("iree") else None
    places = spec.submodule_search_locations if spec else None
    return shutil.which("iree-dump-module") or shutil.which(
        "iree-dump-module", path=os.pathsep.join(places or ())
    )


DUMP = _find_dump()
LINE = re.compile(r"\[([0-9A-F]{8})\]\s*(\^bb\d+:|.*)")
REGISTER = re.compile(r"%([irR])(\d+)")
OPCODE = re.compile(r"(?:^| = )vm\.([a-z0-9_.]+)")


def dumped(path: Path) -> list[list[tuple[int, str]]]:
    """Offset and text of each instruction, by function."""
    if DUMP is None:
        pytest.skip("iree-dump-module is not installed")
    command = [DUMP, "--output=disassembly", "--bytecode_offsets", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    if "unhandled ext opcode" in ran.stderr:
        pytest.skip("iree-dump-module cannot print an instruction of it")
    assert ran.returncode == 0, ran.stderr
    functions: list[list[tuple[int, str]]] = []
    for line in ran.stdout.split("\n"):
        if line.startswith("vm.func "):
            functions.append([])
        found = LINE.fullmatch(line)
        if found:
            functions[-1].append((int(found[1], 16), found[2].strip()))
    return functions


def registers(instruction: Instruction) -> list[tuple[str, int]]:
    """Bank and number of each, the results first, but last where another block gets them."""
    yields = instruction.opcode.endswith(".yieldable")
    found: list[Register] = [] if yields else list(instruction.results)
    for operand in instruction.operands:
        if isinstance(operand, Register):
            found.append(operand)
        if isinstance(operand, Branch):
            found += [register for pair in operand.moves for register in pair]
    if yields:
        found += instruction.results
    if instruction.opcode.startswith("buffer.store."):  # the tool prints the value first
        found.insert(0, found.pop())
    return [
        ("R" if each.move else "r" if each.kind == "ref" else "i", each.number) for each in found
    ]


def check_line(instruction: Instruction, text: str, blocks: dict[int, int]) -> None:
    """Check that the other disassembler returns the same instruction."""
    if instruction.opcode == "block":
        assert text == f"^bb{blocks[instruction.offset]}:"
        return
    said = text.partition("  //")[0]
    opcode = OPCODE.search(said)
    assert opcode is not None
    assert opcode[1].replace("varadic", "variadic") == instruction.opcode
    quoted = re.sub(r'"[^"]*"', "", said)  # which may hold anything
    assert [(bank, int(number)) for bank, number in REGISTER.findall(quoted)] == registers(
        instruction
    )
    targets = [each.offset for each in instruction.operands if isinstance(each, Branch)]
    assert [int(each) for each in re.findall(r"\^bb(\d+)", quoted)] == [blocks[t] for t in targets]
    for operand in instruction.operands:
        match operand:
            case Immediate(value, "i32" | "i64"):
                assert re.search(rf"(?<![\w.]){value}\b", said)
            case Callee(imported=True, name=name):
                assert f"@{name}" in said
            case Global("ref", number):
                assert f".refs[{number}]" in said
            case Rodata(ordinal):
                assert said.endswith(f"rodata {ordinal}")
            case Segments(sizes):
                listed = ", ".join(str(0xFFFF if size is None else size) for size in sizes)
                assert f"segments[{listed}]" in said
            case TypeName(_, str(name)):
                assert name in said
            case Text(value):
                assert value in said


@pytest.mark.parametrize(
    "name", [name for name in MODULES if opened(name).bytecode_version == (17, 0)]
)
def test_listing_agrees_with_the_official_one(name: str) -> None:
    module = opened(name)
    functions = dumped(PATHS[name])
    assert len(functions) == len(module.functions)
    for function, lines in zip(module.functions, functions, strict=True):
        listed = function.instructions
        blocks = [each.offset for each in listed if each.opcode == "block"]
        numbers = {offset: number for number, offset in enumerate(blocks)}
        assert [each.offset for each in listed] == [offset for offset, _ in lines]
        for instruction, (_, text) in zip(listed, lines, strict=True):
            check_line(instruction, text, numbers)


# ----------------------------------------------------------------------------- real modules


@each(modules)
def test_instructions_fill_their_functions(name: str) -> None:
    module = opened(name)
    for function in module.functions:
        listed = function.instructions
        assert (listed[0].opcode, listed[0].offset) == ("block", 0)
        ends = [each.offset + each.size for each in listed]
        assert [each.offset for each in listed[1:]] + [function.bytecode_length] == ends
        assert sum(each.opcode == "block" for each in listed) == function.block_count


def modules_with_databases() -> Iterator[tuple[str, vmfb.Module]]:
    """Since version 17 a database lacks entries for some functions."""
    for name in MODULES:
        module = opened(name)
        if module.debug is not None and module.bytecode_version[0] <= 16:
            yield name, module


@each(modules_with_databases)
def test_instructions_are_where_the_debug_database_says(module: vmfb.Module) -> None:
    assert module.debug is not None
    for function, source in zip(module.functions, module.debug.functions, strict=True):
        offsets = [each.offset for each in function.instructions if each.opcode != "block"]
        assert offsets == [each.bytecode_offset for each in source.locations]


@each(modules)
def test_nothing_is_found_in_what_compilers_write(name: str) -> None:
    found = bytecode.verify(opened(name))
    if name == "vm_sigs@2.9.0":  # the runtime refuses it: f64 arguments in the registers of f32
        assert [(each.code, each.name) for each in found] == [("bytecode-arguments", "a_all")]
    else:
        assert found == ()


@each(modules)
def test_text_has_a_line_for_each_instruction(name: str) -> None:
    module = opened(name)
    functions = bytecode.disassemble(module).split("\n\n")
    assert len(functions) == len(module.functions)
    for ordinal, (function, text) in enumerate(zip(module.functions, functions, strict=True)):
        head, *lines = text.split("\n")
        assert head.endswith(f"  // ordinal {ordinal}")
        for instruction, line in zip(function.instructions, lines, strict=True):
            if instruction.opcode == "block":
                assert re.fullmatch(r"bb\d+:", line)
            else:
                assert line.startswith(f"  {instruction.offset:04X}  ")
                assert instruction.opcode in line
        if ordinal < 5:
            assert bytecode.disassemble(module, ordinal) == text


def test_text_has_the_registers_of_arguments() -> None:
    data = template(bytes.fromhex(ret(HEAD)), conventions=(b"0rirIfFr_Ir",))
    head, *_ = bytecode.disassemble(vmfb.from_buffer(data), 0).split("\n")
    assert head == (
        "function @main(%r0: ref, %i0: i32, %r1: ref, %i2:3: i64, %i4: f32, %i6:7: f64, %r2: ref)"
        " -> (i64, ref)  // ordinal 0"
    )


def test_internal_functions_have_the_names_of_the_debug_database() -> None:
    module = opened("debug_kept@3.7.0")
    assert bytecode.names(module) == {0: "go", 1: "never", 2: "twin"}
    assert bytecode.disassemble(module, "never") == (
        "function @never(%i0: i32) -> (i32)  // ordinal 1\n"
        "bb0:\n"
        "  0001  return %i0  // debug_kept.mlir:15:94"
    )
    (call, _) = module.functions[2].instructions[1:]
    assert call.operands[0] == Callee(1, False, "never")
    later = opened("debug_kept")
    assert bytecode.names(later) == {0: "go", 2: "twin"}
    assert later.functions[2].instructions[1].operands[0] == Callee(1, False, None)


# -------------------------------------------------------------------------- every kind of operand


def test_every_kind_of_operand() -> None:
    i32 = [Register("i32", number, False) for number in range(8)]
    code = (
        "79"
        "0dfeffffff0000"  # const.i32
        "0f00000000000000800200"  # const.i64
        "e0050000c03f0100"  # const.f32
        "e105000000000000f03f0400"  # const.f64
        "000c0000000000"  # global.load.i32
        "0801000000020000000180"  # global.load.ref
        "11000000000280"  # const.ref.rodata
        "1f00000100"
        "00"
        "010003000200"  # switch.i32 with its list at an even offset
    )
    code += "5f020068690001000080"  # print
    code += "5b00000400" + b"oops".hex()  # fail
    listed = instructions(code)
    assert [each.opcode for each in listed] == [
        *("block", "const.i32", "const.i64", "const.f32", "const.f64", "global.load.i32"),
        *("global.load.ref", "const.ref.rodata", "switch.i32", "print", "fail"),
    ]
    assert listed[1].operands == (Immediate(-2, "i32"),)
    assert listed[1].results == (i32[0],)
    assert listed[2].operands == (Immediate(-(1 << 63), "i64"),)
    assert listed[2].results == (Register("i64", 2, False),)
    assert listed[3].operands == (Immediate(1.5, "f32"),)
    assert listed[4].operands == (Immediate(1.0, "f64"),)
    assert listed[5].operands == (Global("value", 12),)
    assert listed[6].operands == (Global("ref", 1), TypeName(2, "!hal.buffer"))
    assert listed[6].results == (Register("ref", 1, False),)
    assert listed[7].operands == (Rodata(0),)
    assert listed[8].operands == (i32[0], i32[1], i32[3])
    assert listed[8].results == (i32[2],)
    assert listed[9].operands == (Text("hi"), Register("ref", 0, False))
    assert listed[10].operands == (i32[0], Text("oops"))
    assert [listed[10].number, listed[4].number] == [0x5B, 0xE105]
    assert bytecode.disassemble(of_code(code), 0).split("\n")[1:] == [
        "bb0:",
        "  0001  %i0 = const.i32 -2",
        "  0008  %i2:3 = const.i64 -9223372036854775808",
        "  0013  %i1 = const.f32 1.5",
        "  001B  %i4:5 = const.f64 1",
        "  0027  %i0 = global.load.i32 values[12]",
        "  002E  %r1 = global.load.ref refs[1], !hal.buffer",
        '  0039  %r2 = const.ref.rodata rodata[0]  // "text"',
        "  0040  %i2 = switch.i32 %i0, %i1, [%i3]",
        '  004C  print "hi", %r0',
        '  0056  fail %i0, "oops"',
    ]


def test_branches_and_calls() -> None:
    code = "79" + "57" + "0000" + "14000000" + "0100" + "0000" + "0100" + "14000000" + "0000"
    assert len(code) // 2 == 20
    code += "79" + "83" + "0000" + "14000000" + "0000" + "0200"
    code += "00000000" + "0000" + "14000000" + "0100" + "00c0" + "0180"
    listed = instructions(code, blocks=2)
    value, ref = Register("value", 0, False), Register("ref", 0, True)
    assert listed[1].operands == (
        Register("i32", 0, False),
        Branch(20, ((value, Register("value", 1, False)),)),
        Branch(20, ()),
    )
    assert listed[3].opcode == "br_table"
    assert listed[3].operands == (
        Register("i32", 0, False),
        Branch(20, ()),
        Branch(0, ()),
        Branch(20, ((ref, Register("ref", 1, False)),)),
    )
    text = bytecode.disassemble(of_code(code, blocks=2), 0).split("\n")
    assert text[2] == "  0001  cond_br %i0, bb1(%i0 -> %i1), bb1"
    assert text[4] == "  0015  br_table %i0, bb1, [bb0, bb1(move %r0 -> %r1)]"
    call = "79" + "59" + "00000080" + "0500" + "ffff" * 4 + "0200" + "0600"
    call += "0080" + "01c0" + "0000" + "0100" + "0200" + "0400" + "0000" + "5a000000"
    listed = instructions(call)
    assert listed[1].operands == (
        Callee(0, True, "hal.buffer_view.assert"),
        Segments((None, None, None, None, 2)),
        Register("ref", 0, False),
        Register("ref", 1, True),
        Register("i32", 0, False),
        Register("i32", 1, False),
        Register("i64", 2, False),
        Register("i64", 4, False),
    )
    assert bytecode.disassemble(of_code(call), 0).split("\n")[2] == (
        "  0001  call.variadic @hal.buffer_view.assert(%r0, move %r1, %i0, %i1, [%i2:3, %i4:5])"
    )
    assert str(listed[1]).startswith(
        "call.variadic @hal.buffer_view.assert, segments[-, -, -, -, 2]"
    )


# ------------------------------------------------------------------------------------- findings


def codes(module: vmfb.Module) -> list[tuple[str, str]]:
    found = bytecode.verify(module)
    return [(each.code.removeprefix("bytecode-"), each.severity) for each in found]


HEAD = "79"
CASE = HEAD + "83" + "0000" + "00000000" + "0000" + "0100"
"""A table of branches with one case, which follows."""


def ret(code: str) -> str:
    """Return the code followed by a return of %i0."""
    at = len(code) // 2
    return code + "5a" + ("00" if (at + 1) % 2 else "") + "01000000"


BAD: dict[str, tuple[str, dict[str, int], tuple[str, str]]] = {
    "opcode": (ret(HEAD + "89"), {}, ("opcode", "error")),
    "opcode of a page": (ret(HEAD + "e03f"), {}, ("opcode", "error")),
    "opcode of a later version": (
        ret(HEAD + "860080" + "0180"),
        {"major": 15, "requirements": 3},
        ("opcode", "error"),
    ),
    "end": (HEAD + "0d0000", {}, ("end", "error")),
    "page without its bit": (ret(HEAD + "e0040000"), {"requirements": 14}, ("feature", "error")),
    "unknown bit": (ret(HEAD), {"requirements": 16}, ("feature", "error")),
    "bit of a later version": (ret(HEAD), {"major": 16, "requirements": 4}, ("feature", "error")),
    "no block": (ret("0c0000"), {}, ("outside", "error")),
    "block in a block": (ret(HEAD + HEAD), {}, ("nested", "error")),
    "no terminator": (HEAD + "0c0000", {}, ("terminator", "error")),
    "empty": ("", {}, ("terminator", "error")),
    "too many blocks": (ret(HEAD), {"blocks": 2}, ("blocks", "error")),
    "too few blocks": (ret(ret(HEAD) + HEAD), {"blocks": 1}, ("blocks", "error")),
    "target past the end": (HEAD + "56ff0000000000", {}, ("target", "error")),
    "target in an instruction": (HEAD + "56" + "02000000" + "0000", {}, ("target", "error")),
    "too many value registers": (ret(HEAD), {"values": 0x4001}, ("registers", "error")),
    "too many ref registers": (ret(HEAD), {"refs": 0x2001}, ("registers", "error")),
    "no register for an argument": (ret(HEAD), {"values": 0}, ("arguments", "unsafe")),
    "register in a list": (HEAD + "5a" + "0100" + "0800", {}, ("register", "error")),
    "register that is rounded up": (
        HEAD + "5a" + "0100" + "0700",
        {"values": 5},
        ("register", "unsafe"),
    ),
    "register": (ret(HEAD + "0c0800"), {}, ("register", "unsafe")),
    "register, 15.0": (
        ret(HEAD + "0c0800"),
        {"major": 15, "requirements": 3},
        ("register", "error"),
    ),
    "bank": (ret(HEAD + "0c0080"), {}, ("bank", "unsafe")),
    "bank in a list": (HEAD + "5a" + "0100" + "0080", {}, ("bank", "error")),
    "odd": (ret(HEAD + "0e0100"), {}, ("odd", "unsafe")),
    "move": (ret(HEAD + "14" + "00c0" + "0000"), {}, ("move", "unsafe")),
    "callee": (ret(HEAD + "58" + "02000000" + "00000000"), {}, ("callee", "unsafe")),
    "import": (ret(HEAD + "58" + "06000080" + "00000000"), {}, ("callee", "error")),
    "variadic call of a function": (
        ret(HEAD + "59" + "00000000" + "0000" * 3),
        {},
        ("import", "error"),
    ),
    "type": (ret(HEAD + "12" + "04000000" + "0000" + "0080"), {}, ("type", "unsafe")),
    "rodata": (ret(HEAD + "11" + "02000000" + "0080"), {}, ("rodata", "error")),
    "global": (ret(HEAD + "00" + "0d000000" + "0000"), {}, ("global", "error")),
    "global that wraps": (ret(HEAD + "00" + "feffffff" + "0000"), {}, ("global", "unsafe")),
    "f64 global": (ret(HEAD + "e100" + "0c000000" + "0000"), {}, ("global", "unsafe")),
    "ref global": (ret(HEAD + "08" + "02000000" + "00000000" + "0080"), {}, ("global", "error")),
    "too few operands": (
        ret(HEAD + "58" + "01000000" + "0000" + "01000000"),
        {},
        ("missing", "error"),
    ),
    "too many operands": (
        ret(HEAD + "58" + "01000000" + "020000000000" + "01000000"),
        {},
        ("surplus", "unsafe"),
    ),
    "span without sizes": (
        ret(HEAD + "58" + "05000080" + "0000" + "0000"),
        {},
        ("segments", "error"),
    ),
    "remap between banks": (
        HEAD + "56" + "00000000" + "0100" + "0000" + "0080",
        {},
        ("remap", "unsafe"),
    ),
    "case past the end": (CASE + "ff000000" + "0000", {}, ("target", "error")),
    "case in an instruction": (CASE + "02000000" + "0000", {}, ("target", "error")),
    "register of a case": (
        CASE + "00000000" + "0100" + "0000" + "0800",
        {},
        ("register", "error"),
    ),
    "remap of a case between banks": (
        CASE + "00000000" + "0100" + "0000" + "0080",
        {},
        ("remap", "unsafe"),
    ),
    "padding": (HEAD + "0c0000" + "5a01" + "01000000", {}, ("padding", "notice")),
    "trailing byte": (ret(HEAD) + "00", {}, ("trailing", "notice")),
    "yieldable call": (
        HEAD + "87" + "01000000" + "01000000" + "00000000" + "01000000",
        {"requirements": 3},
        ("yield", "notice"),
    ),
    "negative block count": (ret(HEAD), {"blocks": -1}, ("module-negative", "unsafe")),
    "version": (ret(HEAD), {"major": 18}, ("version", "error")),
}


def damaged(name: str) -> bytes:
    code, changes, _ = BAD[name]
    return template(bytes.fromhex(code), **changes)


@pytest.mark.parametrize("name", BAD)
def test_damage_is_found(name: str) -> None:
    expected = BAD[name][2]
    found = codes(vmfb.from_buffer(damaged(name)))
    assert expected in found
    worst = {severity for _, severity in found}
    assert ("error" in worst) == (expected[1] == "error")


def test_the_template_is_sound() -> None:
    assert bytecode.verify(of_code(ret(HEAD))) == ()


@pytest.mark.parametrize("byte", ["00", "5a", "79", "ff"])
def test_an_unused_byte_is_no_instruction(byte: str) -> None:
    code = ret(HEAD) + byte
    assert bytecode.disassemble(of_code(code)) == bytecode.disassemble(of_code(ret(HEAD)))
    assert instructions(code) == instructions(ret(HEAD))


def test_a_finding_reads_well() -> None:
    module = of_code(HEAD + "5a" + "0100" + "0900")
    found = bytecode.verify(module)[-1]
    assert isinstance(found, BytecodeFinding)
    assert (found.function, found.name, found.position, found.instruction) == (1, None, 1, "return")
    assert found.path == "function_descriptors[1]"
    assert str(found) == (
        "error: register out of range: %i9, expected below 8 at byte"
        f" {found.offset} in function_descriptors[1], return at 0x0001"
    )
    data = template(bytes.fromhex(HEAD + "5a" + "0100" + "0900"))
    assert found.offset is not None
    assert data[found.offset] == 9


def test_findings_are_bounded() -> None:
    code = HEAD + "0c0800" * 1500  # a register that there is not, in two functions
    found = bytecode.verify(of_code(ret(code)))
    assert len(found) == 1001
    assert found[-1].code == "bytecode-more"
    assert found[-1].text == "more findings left out: 2000"
    assert found[-1].severity == "unsafe"


def test_functions_that_share_their_bytecode_too_often() -> None:
    from support.flatbuffer import Numbers, String, Table, Vector
    from support.flatbuffer import module as written

    code = bytes.fromhex(HEAD + "0c0000" * 20000 + "5a000000"[:6])
    function = struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 1, 0)
    fields = {
        0: String(b"m"),
        8: Vector([Table({0: String(b"0v_v")})] * 4000),
        12: Numbers(function * 4000, 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(code),
    }
    module = vmfb.from_buffer(written(Table(fields)))
    with pytest.raises(FormatError) as caught:
        bytecode.verify(module)
    assert caught.value.code == "work"


# -------------------------------------------------------------------- against the official loader


@pytest.fixture(scope="module")
def loader() -> Iterator[Load]:
    with loading() as load:
        yield load


def check_verdict(load: Load, data: bytes) -> str:
    """That a module has an error exactly where the loader refuses it.

    The loader reads the convention of a function that is not there from whatever is in its place.
    """
    found = bytecode.verify(vmfb.from_buffer(data, lenient=True))
    severities = {each.severity for each in found}
    verdict = load(data)
    about = (verdict, [str(each) for each in found])
    if ("bytecode-callee", "unsafe") not in {(each.code, each.severity) for each in found}:
        assert verdict.startswith("refuses") == ("error" in severities), about
    if not verdict.startswith(("refuses", "loads")):
        assert "unsafe" in severities, about
    return verdict.partition(":")[0]


def test_errors_are_what_the_official_loader_refuses(loader: Load) -> None:
    for name in BAD:
        _, changes, _ = BAD[name]
        if changes.get("major", 17) == 17:
            check_verdict(loader, damaged(name))


EDITED = ("debug_kept", "vm_globals", "vm_imports_plain", "raw_v0", "vm_sigs", "std_llvmcpu")


@pytest.mark.parametrize("name", EDITED)
def test_edits_of_bytecode_and_the_official_loader(name: str, loader: Load) -> None:
    data = (DATA / "vmfb" / f"{name}.vmfb").read_bytes()
    module = vmfb.from_buffer(data, lenient=True)
    assert check_verdict(loader, data) == "loads"
    start = data.index(bytes(module.bytecode))
    choose = random.Random(name)
    refused = 0
    for _ in range(150):
        at = start + choose.randrange(len(module.bytecode))
        edited = data[:at] + bytes([choose.randrange(256)]) + data[at + 1 :]
        refused += check_verdict(loader, edited) == "refuses"
    assert refused > 20


# ----------------------------------------------------------------------------------- the interface


def test_unknown_versions_are_refused_for_bytecode_only() -> None:
    module = of_code(ret(HEAD), major=14)
    assert module.exports["main"].calling_convention == "0r_i"
    assert module.functions[0].block_count == 1
    for read in (
        lambda: module.functions[0].instructions,
        lambda: bytecode.disassemble(module),
    ):
        with pytest.raises(FormatError) as caught:
            read()
        assert caught.value.code == "bytecode-version"
        assert caught.value.expected == "15.0, 16.0 or 17.0"
    (found,) = bytecode.verify(module)
    assert found.text == "unknown bytecode version: 14.0, expected 15.0, 16.0 or 17.0"
    assert (found.function, found.path) == (None, "bytecode_version")


def test_bytes_that_are_no_instruction() -> None:
    module = of_code(HEAD + "ff")
    for read in (
        lambda: module.functions[1].instructions,
        lambda: bytecode.disassemble(module, 1),
    ):
        with pytest.raises(FormatError) as caught:
            read()
        assert caught.value.code == "bytecode-opcode"
        assert caught.value.path == "function_descriptors[1]"


def test_functions_that_are_not_there() -> None:
    module = opened("debug_kept")
    for function in ("nothing", 3, -1):
        with pytest.raises(NotFoundError):
            bytecode.disassemble(module, function)
    assert bytecode.disassemble(module, "go") == bytecode.disassemble(module, 0)


def test_functions_without_their_module() -> None:
    module = opened("debug_kept")
    functions = module.functions
    assert functions == opened("debug_kept").functions
    again = pickle.loads(pickle.dumps(functions[1]))
    assert (again, hash(again)) == (functions[1], hash(functions[1]))
    with pytest.raises(CallError):
        _ = again.instructions
    kept = functions[1].instructions
    assert pickle.loads(pickle.dumps(kept)) == kept
    module.close()
    with pytest.raises(CallError, match="closed"):
        _ = functions[1].instructions
    with pytest.raises(CallError, match="closed"):
        bytecode.verify(module)


def test_functions_outlive_the_name_of_their_module() -> None:
    functions = vmfb.open(DATA / "vmfb" / "std_llvmcpu.vmfb").functions
    assert functions[0].instructions[0].opcode == "block"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b'a b"\n\xff\xc3\xa4', '"a b\\"\\x0A\\xFFä"'),
        (b"A-z.$_9!<?>", "A-z.$_9!<?>"),
        (b"a{", '"a{"'),
        (b"[", '"["'),
        (b"\x7f\xc2\x9f\xc2\xa0", '"\\x7F\\xC2\\x9F\u00a0"'),
    ],
)
def test_names_that_are_not_plain(name: bytes, shown: str) -> None:
    from support.flatbuffer import Numbers, String, Table, Vector
    from support.flatbuffer import module as written

    loads = "11" + "00000000" + "0080" + "11" + "01000000" + "0080"
    code = bytes.fromhex(HEAD + "58" + "00000080" + "00000000" + loads + "5a000000")
    fields = {
        0: String(b"m"),
        6: Vector([Table({0: String(name)})]),
        8: Vector([Table({0: String(b"0v_v")})]),
        9: Vector([Table({2: Numbers(b"\x7f")}), Table({2: Numbers(b"\x7e\xff")})]),
        12: Numbers(struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 0, 0), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(code),
    }
    lines = bytecode.disassemble(vmfb.from_buffer(written(Table(fields)))).split("\n")
    assert lines[2] == f"  0001  call @{shown}()"
    assert [line.partition("  // ")[2] for line in lines[3:5]] == ["1 byte", "2 bytes"]


def test_the_template_is_the_file_of_the_fuzz_target() -> None:
    assert TEMPLATE.read_bytes() == template(conventions=FUZZED)
    whole = template(b"\x79" * 8)
    assert whole[-12:] == struct.pack("<I", 8) + b"\x79" * 8
    corpus = TESTS / "c" / "corpus" / "bytecode"
    kept = {path.read_bytes() for path in corpus.iterdir()}
    module = opened("debug_kept")
    code = bytes(module.bytecode[:12])
    assert all(len(each) > 5 for each in kept)
    assert seed(code, 17, 1, 2, 0, 3)[5:] == code


def test_operands_are_written_as_in_the_text() -> None:
    kinds = set()
    for name in MODULES[:12]:
        module = opened(name)
        for ordinal, function in enumerate(module.functions):
            text = bytecode.disassemble(module, ordinal).splitlines()
            lines = {int(line.split()[0], 16): line for line in text if line.startswith("  ")}
            for instruction in function.instructions:
                for operand in instruction.operands:
                    kind = type(operand).__name__
                    kinds.add(kind)
                    if kind not in ("Branch", "Segments", "Text"):  # whose text depends on others
                        assert str(operand) in lines[instruction.offset], (name, instruction)
    assert kinds >= {"Register", "Immediate", "Global", "TypeName", "Rodata", "Callee"}


# -------------------------------------------------------------------------------- command line


def test_disassemble_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DATA / "vmfb" / "debug_kept@3.7.0.vmfb")
    assert main(["inspect", "--disassemble", path]) == 0
    module = opened("debug_kept@3.7.0")
    assert capsys.readouterr().out == bytecode.disassemble(module) + "\n"
    assert main(["inspect", "--disassemble", "--function", "never", path]) == 0
    assert capsys.readouterr().out == bytecode.disassemble(module, "never") + "\n"
    assert main(["inspect", "--disassemble", "--function", "nothing", path]) == 1
    assert "no function is named nothing" in capsys.readouterr().err
    assert main(["inspect", "--disassemble", "--json", "--function", "twin", path]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == "fnabi.disassembly/1"
    ((function),) = shown["functions"]
    assert (function["name"], function["ordinal"]) == ("twin", 2)
    assert function["instructions"][1]["operands"][0] == {
        "type": "callee",
        "ordinal": 1,
        "imported": False,
        "name": "never",
    }


def test_shared_code_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shared.vmfb"
    path.write_bytes(shared_code(12_000))
    errors = []
    for options in ([], ["--json"]):
        assert main(["inspect", "--disassemble", *options, str(path)]) == 1
        out, error = capsys.readouterr()
        assert out == ""
        errors.append(error)
    assert errors[0] == errors[1]
    assert "more references than the size allows" in errors[0]
    assert main(["inspect", "--disassemble", "--json", "--function", "f7", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["functions"][0]["ordinal"] == 7


def test_verify_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.vmfb"
    for name, status in (("rodata", 1), ("register", 1)):
        path.write_bytes(damaged(name))
        assert main(["verify", str(path)]) == status
        assert BAD[name][2][1] in capsys.readouterr().out
    path.write_bytes(damaged("rodata"))
    assert main(["verify", "--json", str(path)]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert not shown["good"]
    finding = next(each for each in shown["findings"] if each["code"] == "bytecode-rodata")
    assert (finding["function"], finding["position"]) == (0, 1)
    assert finding["instruction"] == "const.ref.rodata"


def test_texts_of_operands() -> None:
    register = _instructions.Register("i32", 1, False)
    for operand, text in (
        (_instructions.Global("ref", 3), "refs[3]"),
        (_instructions.Global("value", 8), "values[8]"),
        (_instructions.TypeName(4, "!vm.list<i8>"), "!vm.list<i8>"),
        (_instructions.TypeName(4, None), "type[4]"),
        (_instructions.Rodata(2), "rodata[2]"),
        (_instructions.Callee(5, True, "hal.x"), "@hal.x"),
        (_instructions.Callee(5, True, None), "import[5]"),
        (_instructions.Callee(5, False, None), "function[5]"),
        (_instructions.Text("a\n"), "'a\\n'"),
        (_instructions.Branch(26, ()), "0x001A"),
        (_instructions.Branch(26, ((register, register),)), f"0x001A({register} -> {register})"),
    ):
        assert str(operand) == text


def test_what_is_no_module() -> None:
    with pytest.raises(CallError, match="verify: module: expected a Module"):
        bytecode.verify(3)  # type: ignore[arg-type]
    closed = vmfb.open(DATA / "vmfb" / "scalars.vmfb")
    closed.close()
    with pytest.raises(CallError, match="closed"):
        bytecode.verify(closed)
