"""What functions do, by their bytecode."""

from __future__ import annotations

import json
import re
import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fnabi import FormatError, NotFoundError, bytecode, costs, program, vmfb
from fnabi.cli import main
from fnabi.vmfb._program import ModuleReader
from fnabi.vmfb._values import Argument, High, Low
from fnabi.vmfb.program import (
    Allocation,
    Barrier,
    Copy,
    Dispatch,
    Execution,
    Fill,
    FunctionCall,
    Release,
    Transfer,
    Wait,
)
from support.flatbuffer import String, Table
from support.flatbuffer import module as module_of
from support.growth.modules import NUMBERS, Code, dispatches, running, spans
from support.paths import DATA, ROOT

CHAIN = DATA / "program" / "chain.vmfb"
MODULES = sorted(
    [
        *(DATA / "bytecode_types").glob("*.vmfb"),
        *(DATA / "needs").glob("*.vmfb"),
        *(DATA / "program").glob("*.vmfb"),
        *(DATA / "vmfb").glob("*.vmfb"),
    ]
)


def read(name: str) -> program.Program:
    with vmfb.open(CHAIN) as module:
        found = program.of(module, name)
    assert found is not None
    return found


def test_text() -> None:
    assert str(read("rows")) == (
        "@rows\n"
        "  input0 has dims Ax64\n"
        "  t0 = allocate 256*A bytes\n"
        "  t1 = allocate 256*A bytes\n"
        "  dispatch rows_dispatch_0_matmul_Dx64x64_f32 [-(-A // 64), 1, 1]: input0, input1, t1\n"
        "  barrier\n"
        "  dispatch rows_dispatch_0_matmul_Dx64x64_f32 [-(-A // 64), 1, 1]: t1, input1, t0\n"
        "  barrier\n"
        "  release t1\n"
        "  wait\n"
        "  return t0"
    )


def test_dims_without_letters_are_apart_from_others() -> None:
    with vmfb.open(DATA / "bytecode_types" / "linalg_basic@3.13.0@vmvx.vmfb") as module:
        found = program.of(module, "mm")
    lines = str(found).splitlines()
    assert lines[1:3] == [
        "  input0 has dims [A, input0[1]]",
        "  input1 has dims [input1[0], B]",
    ]


def test_recorded_commands() -> None:
    with vmfb.open(CHAIN) as module:
        programs = program.read(module)
        executables = module.executables
    (main_,) = (each for each in programs if each is not None and each.name == "main")
    (execution,) = (each for each in main_.steps if isinstance(each, Execution))
    assert [each.buffer for each in execution.bindings] == ["input0", "input1", "t0", "t1"]
    assert execution.function is not None
    recorded = programs[execution.function]
    assert recorded is not None
    dispatches = [each for each in recorded.steps if isinstance(each, Dispatch)]
    assert len(dispatches) == 3
    for each in dispatches:
        assert each.executable is not None
        assert each.entry_point in executables[each.executable].entry_points
        assert [size.value for size in each.workgroups if size is not None] == [8, 1, 1]
    assert [each.buffer for each in dispatches[0].bindings] == ["binding0", "binding1", "binding3"]


def test_copies_and_fills() -> None:
    with vmfb.open(CHAIN) as module:
        programs = program.read(module)
    steps = [step for each in programs if each is not None for step in each.steps]
    sizes = [
        each.target.length.value
        for each in steps
        if isinstance(each, Copy | Fill) and each.target.length is not None
    ]
    assert {8 * 16 * 4, 2 * 16 * 4, 4 * 16 * 4} <= set(sizes)


def test_buffers_in_globals_have_the_numbers_of_these() -> None:
    """The disassembly has the number of what is loaded."""
    with vmfb.open(DATA / "bytecode_types" / "globals@3.13.0@vmvx.vmfb") as module:
        programs = program.read(module)
        code = bytecode.disassemble(module)
    steps = [step for each in programs if each is not None for step in each.steps]
    sources = {step.source.buffer for step in steps if isinstance(step, Copy)}
    names = {name for name in sources if name is not None and name.startswith("global")}
    assert names
    for name in names:
        assert f"global.load.ref refs[{name.removeprefix('global')}], !hal.buffer\n" in code


def test_loops() -> None:
    loop = read("loop")
    inside = [block for block in loop.blocks if block.in_loop]
    assert [type(step) for block in inside for step in block.steps] == [
        Allocation,
        Allocation,
        Execution,
        Release,
    ]
    assert not loop.blocks[0].in_loop
    assert not [block for block in read("main").blocks if block.in_loop]
    assert "in a loop:" in str(loop)
    numbers = {block.offset: number for number, block in enumerate(loop.blocks)}
    targets = [
        " or ".join(f"block {numbers[each]}" for each in block.next)
        for block in loop.blocks
        if block.end not in ("return", "fail")
    ]
    assert len(targets) > 2
    assert re.findall(r"^    go to (.*)", str(loop), re.M) == targets


def test_halves_of_a_64_bit_value() -> None:
    """Only code that no compiler makes reads one register of two."""
    code = Code()
    code.block()
    code.call(NUMBERS["hal.command_buffer.execution_barrier"], [0x8000, 0, 1, 2])
    code.leave()
    module = vmfb.from_buffer(running([bytes(code.data)], [b"0rII_v"]))
    (function,) = ModuleReader(module).functions
    assert function is not None
    (call,) = function.blocks[0].calls
    _, low, high, pair = call.operands
    number = function.values.index(Argument(1))
    assert function.values[low] == Low(number)
    assert function.values[high] == High(number)
    assert function.values[pair] == Argument(2)


def test_a_function_that_only_fails(tmp_path, capsys) -> None:
    code = Code()
    code.block()
    code.op(0x5B, struct.pack("<HH", 0, 1) + b"x")
    path = tmp_path / "fail.vmfb"
    path.write_bytes(running([bytes(code.data)]))
    assert main(["inspect", "--dispatches", str(path)]) == 0
    assert capsys.readouterr().out == "@f0\n"


def test_no_name_is_a_command_of_github(tmp_path, capsys) -> None:
    path = tmp_path / "chain.vmfb"
    path.write_bytes(CHAIN.read_bytes().replace(b"main_dispatch_0", b"##[error]_xxxxx"))
    assert main(["inspect", "--dispatches", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "##[" not in shown
    assert shown.count("dispatch #\\x23[error]_xxxxx") == 10


@pytest.mark.parametrize("file", MODULES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_agrees_with_the_instructions(file) -> None:
    """Each step is a call in the disassembly, in the same order, of what it says."""
    words = {
        Dispatch: r"@hal\w*\.(command_buffer|executable)\.dispatch\(",
        Allocation: r"@hal\w*\.(allocator\.allocate|buffer\.allocate|device\.queue\.alloca)\(",
        Release: r"@hal\.device\.queue\.dealloca\(",
        Fill: r"@hal\.(command_buffer\.fill_buffer|device\.queue\.fill)\(",
        Copy: r"@hal\.(command_buffer\.copy_buffer|device\.queue\.copy)\(",
        Barrier: r"@hal\.command_buffer\.execution_barrier\(",
        Execution: r"@hal\.device\.queue\.execute\.indirect\(",
        Wait: r"@hal\.fence\.await\(",
    }
    try:
        module = vmfb.open(file, lenient=True)
    except FormatError:
        pytest.skip("of an old schema")
    with module:
        for each in program.read(module):
            if each is None:
                continue
            text = bytecode.disassemble(module, each.ordinal)
            calls = dict(re.findall(r"^  ([0-9A-F]{4})  (.*call.*)", text, re.M))
            seen = set()
            for step in each.steps:
                line = calls[f"{step.offset:04X}"]
                assert re.search(words.get(type(step), "call"), line)
                seen.add(f"{step.offset:04X}")
            for offset, line in calls.items():
                if re.search("|".join(words.values()), line):
                    assert offset in seen, line


def test_no_such_function() -> None:
    with vmfb.open(CHAIN) as module:
        with pytest.raises(NotFoundError, match="no function is named 'nothing'"):
            program.of(module, "nothing")
        with pytest.raises(NotFoundError, match="99 is out of range"):
            program.of(module, 99)


def test_unknown_version() -> None:
    data = module_of(Table({0: String(b"m"), 13: (99 << 16).to_bytes(4, "little")}))
    with vmfb.from_buffer(data) as module:
        with pytest.raises(FormatError) as caught:
            program.read(module)
        assert caught.value.code == "bytecode-version"


def test_command(capsys) -> None:
    assert main(["inspect", "--dispatches", "--function", "main", str(CHAIN)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("@main\n  t0 = allocate 16384 bytes\n")
    assert shown.count("dispatch main_dispatch_0_matmul_64x64x64_f32") == 3
    assert "@rows" not in shown
    assert main(["inspect", "--dispatches", "--json", str(CHAIN)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == "fnabi.dispatches/1"
    (rows,) = (each for each in shown["functions"] if each["name"] == "rows")
    assert rows["memory"] == {"peak": "512*A", "results": "256*A"}
    assert rows["dims"] == [["A", "64"], ["64", "64"]]
    kinds = [step["kind"] for block in rows["blocks"] for step in block["steps"]]
    assert kinds.count("dispatch") == 2
    assert main(["inspect", "--dispatches", "--function", "nothing", str(CHAIN)]) == 1
    assert "nothing" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["inspect", "--dispatches", "--disassemble", str(CHAIN)])


def test_dims_without_a_letter_are_those_of_their_input() -> None:
    with vmfb.open(ROOT / "examples" / "classifier.vmfb") as module:
        dense = program.of(module, "dense")
    assert dense is not None
    assert dense.dims == (("A", "64"), ("64", "10"), ("10",))


@given(st.data())
@settings(deadline=None)
def test_damaged_modules(data) -> None:
    """Whatever bytes are changed, the module is refused or something is read."""
    changed = bytearray(CHAIN.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(64, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(FormatError), vmfb.from_buffer(bytes(changed)) as module:
        programs = program.read(module)
        assert len(costs.count(programs)) == len(module.functions)
        assert all(str(each) for each in programs)
        program.verify(module)


def test_other_conventions_are_calls() -> None:
    """An import whose operands are not known is not left out."""
    name, convention = b"0rIrrIiiII_r", b"0rIrrIiiIi_r"
    with vmfb.from_buffer(CHAIN.read_bytes().replace(name, convention)) as module:
        found = program.of(module, "rows")
    assert found is not None
    calls = [each.name for each in found.steps if isinstance(each, FunctionCall)]
    assert calls == ["hal.device.queue.alloca"] * 2


def test_results_of_calls_have_names() -> None:
    with vmfb.open(ROOT / "examples" / "releases" / "2.0" / "vision.vmfb") as module:
        found = program.of(module, "main")
    assert found is not None
    (call,) = (each for each in found.steps if isinstance(each, FunctionCall))
    assert str(call) == "c0 = call @main$async(input0, input1, ?, ?)"
    assert found.blocks[-1].returned == ("c0",)


def test_segments_that_code_names_and_the_module_has_not() -> None:
    with vmfb.open(CHAIN) as module:
        reader, count = ModuleReader(module), len(module.rodata)
        assert [reader.text(ordinal) for ordinal in (-count, count)] == [None, None]
    data = (DATA / "vmfb" / "weights_64k.vmfb").read_bytes()
    with vmfb.from_buffer(data) as module:
        reader, layout = ModuleReader(module), module.layout
        sizes = {each.index: each.size for each in module.rodata if each.external}
        texts = {index: reader.text(index) for index in sizes}
    assert [index for index, text in texts.items() if text is None] == [
        index for index, size in sizes.items() if size > 4096
    ]
    with vmfb.from_buffer(data[: layout.flatbuffer_offset + layout.flatbuffer_size]) as module:
        reader = ModuleReader(module)
        assert {reader.text(index) for index in sizes} == {None}


def test_spans_have_rows_of_their_operands_alone() -> None:
    with vmfb.from_buffer(spans(1000)) as module:
        (found,) = program.read(module)
    assert found is not None
    executions = [each for each in found.steps if isinstance(each, Execution)]
    assert len(executions) == 22
    assert {each.bindings for each in executions} == {()}


def test_a_name_with_a_line_break_makes_no_line_of_the_text() -> None:
    forged = "f\n  return t0"
    call = FunctionCall(0, forged, None)
    dispatch = Dispatch(0, forged, None, (None,) * 3, 0, ())
    block = program.Block(0, False, (call, dispatch), (), "fail")
    made = program.Program(0, forged, (block,), (None,))
    shown = "f\\n  return t0"
    assert str(made) == f"@{shown}\n  call {shown}()\n  dispatch {shown} [?, ?, ?]: "
    assert str(Transfer(0, forged, None)) == f"{shown} ? bytes"


def test_long_names_are_shared_and_cut() -> None:
    with vmfb.from_buffer(dispatches(40_000)) as module:
        (found,) = program.read(module)
    assert found is not None
    first, *others = (each for each in found.steps if isinstance(each, Dispatch))
    assert first.entry_point == "x" * 4090 + "\U0001f600"
    assert len(others) == 799
    assert all(each.entry_point is first.entry_point for each in others)
    assert str(first) == f"dispatch {'x' * 500}... [?, ?, ?]: "
    call = FunctionCall(0, "x" * 501, None)
    assert str(call) == f"call {'x' * 500}...()"
    assert str(Transfer(0, "x" * 500, None)) == f"{'x' * 500} ? bytes"
