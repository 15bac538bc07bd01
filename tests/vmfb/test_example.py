"""Example arguments, and the flags of the official runner."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fnabi import CallError, example, vmfb
from fnabi.abi.declaration import parse
from fnabi.cli import main
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Ref,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)
from support.paths import DATA
from support.runner import RUNNER

NEEDS = DATA / "needs"


F32, I32 = DType("float", 32), Scalar(DType("signed", 32))


def spelled(*types: str) -> Signature:
    text = ", ".join(f"%a{index}: {type}" for index, type in enumerate(types))
    found = parse(f"sync func @f({text}) -> ()")
    return Signature(tuple(value.type for value in found.inputs), ())


@pytest.mark.parametrize(
    ("signature", "flags"),
    [
        (Signature((), ()), []),
        (spelled("tensor<?x8xf32>", "index", "f32"), ["4x8xf32", "0", "0"]),
        (spelled("tensor<i32>", "tensor<2xi1>"), ["i32=0", "2xi1"]),
        (spelled("tensor<2xbf16>", "tensor<2x?xi8>"), ["2xbf16", "2x4xi8"]),
        (spelled("tensor<2xcomplex<f32>>", "tensor<1xf16>"), ["2xcf64", "1xf16"]),
        (spelled("tensor<?xf8E4M3FN>", "tensor<3xf8E5M2FNUZ>"), ["4xf8E4M3FN", "3xf8E5M2FNUZ"]),
        (spelled("tensor<2xui8>", "tensor<2xsi16>"), ["2xui8", "2xi16"]),
        (spelled("tensor<i1>", "tensor<complex<f32>>"), ["i1=00", "cf64=0000000000000000"]),
        (spelled("tensor<bf16>", "tensor<f8E4M3FN>"), ["bf16=0", "f8E4M3FN=00"]),
        (Signature((Ref(), Unknown()), ()), ["'(null)'", "'(null)'"]),
        (Signature((Ref("!hal.buffer_view"), Ref("hal.buffer")), ()), ["4xf32", "'&4xf32'"]),
    ],
)
def test_flags(signature: Signature, flags: list[str]) -> None:
    assert example.runner_inputs(signature) == [f"--input={flag}" for flag in flags]


@pytest.mark.parametrize("type", [List((I32,)), Dict((("a", I32),)), HomogeneousList(I32)])
def test_what_the_runner_cannot_be_given(type: Type) -> None:
    with pytest.raises(CallError, match="iree-run-module has no notation"):
        example.runner_inputs(Signature((type,), ()))


def test_values() -> None:
    structure = Dict(
        (("a", Buffer(F32, (None, 2))), ("b", List((I32, Scalar(DType("bool", 1)))))),
    )
    bytes_list = HomogeneousList(Scalar(DType("unsigned", 8)))
    index = Tuple((Scalar(DType("index", 64)),))
    found = example.example_values(Signature((structure, bytes_list, index, Ref()), ()), 3)
    assert found[0]["a"].shape == (3, 2)
    assert found[0]["a"].dtype == np.float32
    assert not found[0]["a"].any()
    assert [type(each) for each in found[0]["b"]] == [np.int32, np.bool_]
    assert [each.dtype for each in found[1]] == [np.uint8]
    assert found[2] == (np.int64(0),)
    assert found[3] is None


def every_export() -> list[tuple[Path, str]]:
    found = []
    others = [
        path
        for name in ("torch_*", "declared_views")
        for path in NEEDS.parent.glob(f"bytecode_types/{name}@3.13.0@vmvx.vmfb")
    ]
    for path in sorted([*NEEDS.glob("*_vmvx.vmfb"), *NEEDS.glob("exp_*[a-z].vmfb"), *others]):
        names = [
            each.name
            for each in vmfb.open(path).exports.values()
            if each.name[0] != "_" and "$" not in each.name
        ]
        found += [(path, name) for name in names]
    return found


@pytest.mark.skipif(RUNNER is None, reason="iree-run-module is not installed")
@pytest.mark.parametrize(("path", "name"), every_export())
def test_the_runner_takes_the_flags(path: Path, name: str, tmp_path: Path) -> None:
    if vmfb.open(path).parameters:
        pytest.skip("needs parameters")
    module = tmp_path / "module.vmfb"  # in the runner's flag an @ has a meaning
    module.write_bytes(path.read_bytes())
    flags = " ".join(vmfb.open(path).exports[name].runner_inputs())
    command = f"{RUNNER} --device=local-sync --module={module} --function={name} {flags}"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_storage_is_passed_as_a_buffer() -> None:
    export = vmfb.open(NEEDS / "storage_vmvx.vmfb").exports["store"]
    assert export.runner_inputs(3) == ["--input=3xf32", "--input='&3xf32'"]


def test_shapes_that_are_made_up() -> None:
    view, unranked, stored = Ref("!hal.buffer_view"), Buffer(F32, None), Ref("!hal.buffer")
    signature = Signature((I32, unranked, view, stored, stored, stored, Ref()), ())
    outputs: dict[int, Type] = {4: Buffer(F32, (2,)), 5: Named("x", unranked)}
    rank = "the rank is not known, one dim is an example"
    both = "shape and type are not known, one dim of float32 is an example"
    assert example.unknown_shapes(signature, outputs) == [
        f"input 1: {rank}",
        f"input 2: {both}",
        f"input 3: {both}",
        f"input 5: {rank}",
    ]


def test_made_up_shapes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(NEEDS.parent / "vmfb" / "abi_records.vmfb")
    assert main(["inspect", "--function=nd_unknown_rank", "--inputs", path]) == 0
    text = "input 0: the rank is not known, one dim is an example"
    notice = f"fnabi: notice: nd_unknown_rank: {text}\n"
    assert capsys.readouterr() == ("--input=4xf32\n", notice)
    assert main(["stub", "--function=nd_unknown_rank", "--language=iree-run-module", path]) == 0
    assert capsys.readouterr().out.splitlines()[-2] == f"# I{text[1:]}."


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(NEEDS / "mm_vmvx.vmfb")
    assert main(["inspect", "--function=mm", "--inputs", path]) == 0
    assert capsys.readouterr().out == "--input=4x16xf32\n--input=16x4xf32\n"
    assert main(["inspect", "--function=mm", "--inputs", "--dim=2", "--json", path]) == 0
    flags = ["--input=2x16xf32", "--input=16x4xf32"]
    assert json.loads(capsys.readouterr().out) == {
        "schema": "fnabi.inputs/1",
        "function": "mm",
        "inputs": flags,
    }
    with pytest.raises(SystemExit):
        main(["inspect", "--inputs", path])
    assert "--inputs needs --function" in capsys.readouterr().err
