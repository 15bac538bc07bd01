"""The memory that calls take, beside what the runtime's allocator counts."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fnabi import FormatError, costs, vmfb
from fnabi.cli import main
from fnabi.vmfb import _size
from fnabi.vmfb._values import Argument, Pure, Value
from fnabi.vmfb.program import Allocation, Block, FunctionCall, Program, Release, Size
from support.paths import DATA, ROOT

CHAIN = DATA / "program" / "chain.vmfb"

MEASURE = """
import json, sys
import numpy as np
import iree.runtime as rt

config = rt.Config("local-sync")
module = rt.VmModule.mmap(config.vm_instance, sys.argv[1])
hal = rt.create_hal_module(config.vm_instance, config.device)
context = rt.SystemContext(config=config, vm_modules=[hal, module])
shapes = json.loads(sys.argv[3])
inputs = [rt.asdevicearray(config.device, np.ones(shape, np.float32)) for shape in shapes]
before = dict(config.device.allocator.statistics)
context.modules.module[sys.argv[2]](*inputs)
after = config.device.allocator.statistics
live = before["device_bytes_allocated"] - before["device_bytes_freed"]
print(json.dumps([before["device_bytes_peak"], after["device_bytes_peak"], live]))
"""

SHAPES = {
    "main": [[64, 64], [64, 64]],
    "twice": [[64, 64], [64, 64]],
    "rows": [[300, 64], [64, 64]],
    "pieces": [[8, 16], [2, 16]],
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_runtime_allocates_as_much(name: str) -> None:
    """A process for each function, as the runtime's peak is that of the process."""
    pytest.importorskip("iree.runtime", exc_type=ImportError)
    command = [sys.executable, "-c", MEASURE, str(CHAIN), name, json.dumps(SHAPES[name])]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    earlier, peak, live = json.loads(run.stdout)
    with vmfb.open(CHAIN) as module:
        found = costs.of(module, name)
    assert found is not None
    assert found.peak is not None
    stated = eval(str(found.peak), {"A": SHAPES[name][0][0]})
    assert peak > earlier  # else the peak was before the call
    assert abs(peak - live - stated) <= 0.05 * stated


def test_a_result_that_is_one_of_several_buffers() -> None:
    step = Allocation(0, "t0", Size((((), 16),)))
    for returned, expected in (((None,), None), (("t0",), 16), ((), 0)):
        block = Block(0, False, (step,), (), "return", returned)
        (found,) = costs.count([Program(0, "main", (block,), ())])
        assert found is not None
        assert found.peak == step.size
        assert (found.results and found.results.value) == expected


def test_results() -> None:
    with vmfb.open(CHAIN) as module:
        found = {name: costs.of(module, name) for name in SHAPES}
    assert {
        name: None if each is None else (str(each.peak), str(each.results))
        for name, each in found.items()
    } == {
        "main": ("49152", "16384"),
        "twice": ("65536", "32768"),
        "rows": ("512*A", "256*A"),
        "pieces": ("896", "896"),
    }


def test_what_the_code_does_not_tell() -> None:
    with vmfb.open(CHAIN) as module:
        assert costs.of(module, "loop") == costs.Costs(None, None)


def test_a_caller_has_the_costs_of_its_callees_in_its_own_dims() -> None:
    with vmfb.open(ROOT / "examples" / "releases" / "2.0" / "vision.vmfb") as module:
        inner, outer = costs.of(module, "main$async"), costs.of(module, "main")
    assert inner == outer
    assert inner is not None
    assert str(inner.peak) == "64*((12*A + 63) // 64) + 40*A"


def test_command(capsys) -> None:
    assert main(["inspect", "--function", "main", str(CHAIN)]) == 0
    line = "  a call takes 49152 bytes at its peak, 16384 of them in results\n"
    assert line in capsys.readouterr().out
    assert main(["inspect", "--function", "rows", str(CHAIN)]) == 0
    lines = capsys.readouterr().out.splitlines()
    line = "  a call takes 512*A bytes at its peak, 256*A of them in results"
    assert lines[lines.index(line) + 1] == "    input0 has dims Ax64"
    assert main(["inspect", "--function", "loop", str(CHAIN)]) == 0
    assert "memory of a call unknown" in capsys.readouterr().out
    assert main(["inspect", "--json", str(CHAIN)]) == 0
    functions = json.loads(capsys.readouterr().out)["functions"]
    (rows,) = (each for each in functions if each["name"] == "rows")
    assert rows["memory"] == {"peak": "512*A", "results": "256*A"}


def test_many_buffers_are_not_followed() -> None:
    """Time is linear in the steps, whatever their sizes are."""

    def peak(sizes: list[Size], names: list[str]) -> Size | None:
        steps = map(Allocation, range(len(sizes)), names, sizes)
        block = Block(0, False, tuple(steps), (), "return", ())
        (found,) = costs.count([Program(0, "main", (block,), ())])
        assert found is not None
        return found.peak

    names = [f"t{index}" for index in range(20_000)]
    sizes = [Size((((f"input{index}[0]",), 1),)) for index in range(20_000)]
    assert peak(sizes, names) is None
    assert peak(sizes, ["t0"] * 20_000) is None
    fours = peak([Size((((), 4),))] * 200, names[:200])
    assert fours is not None
    assert fours.value == 800


FOUR = Size((((), 4),))
UNKNOWN = costs.Costs(None, None)


def costs_of(*blocks: Block, callee: Program | None = None) -> costs.Costs | None:
    """Count a function of these blocks, in a module with another one."""
    return costs.count([Program(0, "main", blocks, ()), callee])[0]


def test_a_call_of_what_is_not_known() -> None:
    call = Block(0, False, (FunctionCall(0, "f", 1),), (), "return")
    assert costs_of(call) == UNKNOWN
    for size in (FOUR, None):
        fill = Block(0, False, (Allocation(0, "t0", size),), (), "return", (None,))
        found = costs_of(call, callee=Program(1, "f", (fill,), ()))
        assert found == UNKNOWN


def test_loops_have_costs_if_they_keep_nothing() -> None:
    fill, leave = Allocation(0, "t0", FOUR), Block(9, False, (), (), "return")
    for steps, peak in (((fill,), None), ((fill, Release(4, "t0")), FOUR)):
        found = costs_of(Block(0, True, steps, (0, 9), "condition"), leave)
        assert found is not None
        assert found.peak == peak


# ------------------------------------------------------------------------------------------ weights


def test_weights() -> None:
    """The bytes that went in, and no text, no table of parameters and no executable."""
    sizes = {
        "torch_cache@3.13.0@vmvx": 64,
        "torch_mlp@3.4.0@vmvx": 128,
        "torch_params@3.13.0@vmvx": 0,
    }
    for name, size in sizes.items():
        with vmfb.open(DATA / "bytecode_types" / f"{name}.vmfb") as module:
            assert sum(each.size for each in costs.weights(module)) == size, name
    with vmfb.open(DATA / "vmfb" / "weights_64k.vmfb") as module:
        (segment,) = costs.weights(module)
        assert (segment.name, segment.size) == ("_const.bin", 16384 * 4)


def test_the_compiler_puts_weights_there(tmp_path: Path) -> None:
    compiler = shutil.which("iree-compile")
    if compiler is None:
        pytest.skip("iree-compile is not installed")
    data = random.Random(1).randbytes(3000 * 4)
    source = tmp_path / "weights.mlir"
    source.write_text(
        "func.func @f(%x: tensor<3000xf32>) -> tensor<3000xf32> {\n"
        "  %w = arith.constant dense_resource<w> : tensor<3000xf32>\n"
        "  %y = arith.addf %x, %w : tensor<3000xf32>\n"
        "  return %y : tensor<3000xf32>\n}\n"
        f'{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{data.hex()}" }} }} #-}}\n'
    )
    made = tmp_path / "weights.vmfb"
    command = [compiler, "--iree-hal-target-device=local", str(source), "-o", str(made)]
    command.append("--iree-hal-local-target-device-backends=vmvx")
    subprocess.run(command, check=True, capture_output=True)
    with vmfb.open(made) as module:
        (segment,) = costs.weights(module)
        assert bytes(segment.data[: len(data)]) == data
        assert segment.size < len(data) + 64  # they are padded


def test_parameters_are_counted_once_by_scope() -> None:
    with vmfb.open(DATA / "needs" / "params_vmvx.vmfb") as module:
        assert costs.parameters(module) == {"model": 60, "": 16}
    with vmfb.open(CHAIN) as module:
        assert costs.parameters(module) == {}


def test_inspect_shows_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(DATA / "vmfb" / "weights_64k.vmfb")]) == 0
    assert "weights 65536 bytes in 1 read-only segment\n" in capsys.readouterr().out
    assert main(["inspect", str(CHAIN)]) == 0
    assert "weights" not in capsys.readouterr().out


def test_the_weights_of_every_module_are_within_its_data() -> None:
    for path in sorted(DATA.glob("*/*.vmfb")):
        with suppress(FormatError), vmfb.open(path, lenient=True) as module:
            inside = {each.index for each in costs.weights(module)}
            executables = {each.segment for each in module.executables}
            assert not inside & executables, path
            assert sum(each.size for each in costs.weights(module)) <= module.layout.file_size, path


@pytest.mark.parametrize("count", [32, 33])
def test_formulas_of_more_than_32_products_are_unknown(count: int) -> None:
    dims = Size(tuple(((f"A{i}",), 1) for i in range(count)))
    assert _size._is_short(dims) == (count == 32)


def test_the_largest_of_sizes_that_depend_on_different_dims() -> None:
    a, b = _size.named("A"), _size.named("B")
    assert str(_size.largest([a, b, a])) == "max(A, B)"
    assert _size.largest([a, a]) == a
    assert _size.largest([]) == Size()


A, B = _size.named("A"), _size.named("B")


def test_sizes_that_are_no_formula() -> None:
    assert _size._divide(A, _size.number(0)) is None
    assert _size._shift(A, _size.number(64), True) is None
    assert _size._shift(A, B, False) is None
    assert _size._mask(A, B) is None
    assert _size._mask(A, _size.number(5)) is None  # no complement of an alignment
    for mask in (-64, (1 << 32) - 64):
        rounded = _size._mask(A + _size.number(63), _size.number(mask))
        assert str(rounded) == "64*((A + 63) // 64)"
    assert str((A * B).renamed({"A": "C", "B": "D"})) == "C*D"
    assert A.renamed({"B": "D"}) is None
    assert _size.named("input0").renamed({"A": "B"}) is None


def test_a_pair_of_halves_has_the_size_of_the_low_one() -> None:
    low, none, some = (Argument(number) for number in range(3))
    leaves: dict[Value, Size] = {low: A, none: _size.number(0), some: _size.number(1)}
    pairs = [Pure("pair", (0, high)) for high in (1, 2)]
    sizes = _size.Sizes([low, none, some, *pairs], leaves.get)
    assert [sizes[3], sizes[4]] == [A, None]
