"""Example arguments, and the flags of the official runner."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fnabi import CallError, FormatError, RangeError, example, iree_abi, vmfb
from fnabi.abi.declaration import parse
from fnabi.cli import main
from fnabi.run.invoke import Invoker
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)
from support.each import check_each
from support.installed_runtime import exports_that_load
from support.paths import DATA
from support.runner import RUNNER

NEEDS = DATA / "needs"


F32, I32 = DType("float", 32), Scalar(DType("signed", 32))


def spelled(*types: str) -> Signature:
    text = ", ".join(f"%a{index}: {type}" for index, type in enumerate(types))
    found = parse(f"sync func @f({text}) -> ()")
    return Signature(tuple(value.type for value in found.inputs), ())


@pytest.mark.parametrize(
    "dims", ["9223372036854775807", "0x4611686018427387904", "x".join("1" * 65)]
)
def test_arrays_that_numpy_has_not(dims: str) -> None:
    signature = Signature.parse(f"(float32[{dims}]) -> ()")
    with pytest.raises(RangeError, match=r"^example\.example_values: NumPy has no arrays of"):
        example.example_values(signature)


@pytest.mark.parametrize("type", [Buffer(F32, (1 << 59,)), RefArray(Ref("x"), (1 << 58,))])
def test_an_array_that_memory_has_no_room_for(type: Type) -> None:
    with pytest.raises(MemoryError) as caught:
        example.example_values(Signature((I32, Tuple((type,))), ()))
    shape = f"an array of the shape ({type.shape[0]})"  # type: ignore[index]
    text = f"input 1: no memory for {1 << 61} bytes, {shape}"
    assert str(caught.value) == f"example.example_values: {text}"


def test_a_dim_that_is_a_bool() -> None:
    signature = Signature.parse("(float32[?x3]) -> ()")
    assert example.runner_inputs(signature, dim=True) == ["--input=1x3xf32"]
    assert example.example_values(signature, dim=True)[0].shape == (1, 3)


DYNAMIC = pytest.mark.parametrize("type", ["float32[?]", "float32[*]", 'ref<"!hal.buffer_view">'])


@DYNAMIC
def test_a_dim_that_numpy_has_not(type: str) -> None:
    with pytest.raises(RangeError, match=r"^example\.example_values: NumPy has no arrays of"):
        example.example_values(Signature.parse(f"({type}) -> ()"), 2**63 - 1)


@pytest.mark.parametrize("dim", [2**63, 10**5000], ids=["2**63", "10**5000"])
@DYNAMIC
def test_a_dim_that_no_index_holds(dim: int, type: str) -> None:
    signature = Signature.parse(f"({type}) -> ()")
    for function in (example.example_values, example.runner_inputs):
        name = function.__name__
        text = rf"^example\.{name}: dim: .+ does not fit in int64$"
        with pytest.raises(RangeError, match=text):
            function(signature, dim=dim)
    assert example.runner_inputs(Signature.parse('(ref<"!hal.buffer">) -> ()'), dim=2**63 - 1) == [
        f"--input='&{2**63 - 1}xi8'"
    ]


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
        (spelled("tensor<?xindex>", "tensor<index>"), ["4xi64", "i64=0"]),
        (spelled("tensor<i1>", "tensor<complex<f32>>"), ["i1=00", "cf64=0000000000000000"]),
        (spelled("tensor<bf16>", "tensor<f8E4M3FN>"), ["bf16=0", "f8E4M3FN=00"]),
        (Signature((Ref(), Unknown()), ()), ["'(null)'", "'(null)'"]),
        (Signature((Ref("!hal.buffer_view"), Ref("hal.buffer")), ()), ["4xf32", "'&1048576xi8'"]),
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


CANNOT = {
    ("zero_extent.vmfb", "huge_dim"): "RESOURCE_EXHAUSTED",  # a tensor of 1 TiB
    ("linalg_basic@3.13.0@inline-static.vmfb", "small"): "printing results",  # of i4
    ("elements.vmfb", "i4"): "printing results",
    ("torch_empty@3.13.0@vmvx.vmfb", "main$async"): "hal.fence.signal",  # the runner has no fence
    ("torch_state@3.13.0@vmvx.vmfb", "set$async"): "hal.fence.signal",
}
"""The functions of which release 3.13.0 cannot run the suggestion, with what it says."""

UNPASSABLE = {
    "res_types.vmfb": ("bufs", "lists", "ubuf"),
    "vm_sigs.vmfb": ("a_ref", "a_all"),
    "declared_views@3.13.0@vmvx.vmfb": ("buffer", "storage"),
    "onnx_unused@3.13.0@vmvx.vmfb": ("onnx_unused",),
    "torch_empty@3.13.0@vmvx.vmfb": ("main",),
    "torch_mlp_transients.vmfb": ("main", "main$async_transients_size"),
    "torch_unused@3.13.0@vmvx.vmfb": ("main",),
    "storage_vmvx.vmfb": ("store",),
}
"""The functions with an argument of which there is no example: a reference that is not a view."""


def suggestions() -> Iterator[tuple[str, tuple[Path, str, str]]]:
    for path, export in exports_that_load():
        name = example.runner_function(export.name)
        with suppress(CallError, FormatError):  # structures; texts that are malformed
            words = " ".join([name or "", *export.runner_inputs()])
            if name is not None:
                yield f"{path.name} {export.name}", (path, export.name, words)


@pytest.mark.slow
@pytest.mark.skipif(RUNNER is None, reason="iree-run-module is not installed")
def test_every_suggestion_runs(tmp_path: Path) -> None:
    module = tmp_path / "module.vmfb"  # in the runner's flag an @ has a meaning
    failed: dict[tuple[str, str], str] = {}

    def run(case: tuple[Path, str, str]) -> None:
        path, name, words = case
        shutil.copy(path, module)
        command = f"{RUNNER} --device=local-sync --module={module} {words}"
        done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
        if done.returncode != 0:
            said = failed[path.name, name] = done.stderr.decode()
            assert (path.name, name) in CANNOT, said
            assert CANNOT[path.name, name] in said

    cases = [*suggestions()]
    check_each(cases, run)
    if metadata.version("iree-base-runtime") == "3.13.0":
        assert failed.keys() == CANNOT.keys()
        assert len(cases) - len(failed) > 250


@pytest.mark.slow
def test_every_example_is_accepted() -> None:
    rt = pytest.importorskip("iree.runtime", exc_type=ImportError)
    instance, device = rt.VmInstance(), rt.get_device("local-sync")
    hal = rt.create_hal_module(instance, device)
    contexts: dict[Path, Any] = {}

    def call(case: tuple[Path, vmfb.Export]) -> None:
        path, export = case
        if path not in contexts:
            loaded = rt.VmModule.copy_buffer(instance, path.read_bytes())
            contexts[path] = loaded, rt.VmContext(instance, [hal, loaded])
        loaded, context = contexts[path]
        function = loaded.lookup_function(export.name)
        signature, _ = export._accepted()
        is_async = export.attrs.get("iree.abi.model") == "coarse-fences"
        convention = export.calling_convention
        invoke = Invoker(context, device, function, signature, is_async, convention)
        if export.name in UNPASSABLE.get(path.name, ()):
            with pytest.raises(CallError, match="could not convert python value to VM: None"):
                invoke(*export.example_arrays())
        elif export.name in ("small", "i4"):  # returns i4
            with pytest.raises(CallError, match="Unsupported VM Buffer -> numpy dtype"):
                invoke(*export.example_arrays())
        elif (path.name, export.name) == ("values.vmfb", "flat"):  # whose text has one value of two
            with pytest.raises(ValueError, match="expected 2 arguments but passed 1"):
                invoke(*export.example_arrays())
        else:
            invoke(*export.example_arrays())

    cases = [
        (f"{path.name} {export.name}", (path, export))
        for path, export in exports_that_load(hosts=())
        if not export.name.endswith("$async")
        and (path.name, export.name) not in CANNOT
        and export.problem is None
    ]
    check_each(cases, call)


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
        "input 3: the size is not known, a large buffer is an example",
        f"input 5: {rank}",
    ]


def test_made_up_shapes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(NEEDS.parent / "vmfb" / "res_types.vmfb")
    assert main(["inspect", "--function=views", "--inputs", path]) == 0
    text = "input 0: shape and type are not known, one dim of float32 is an example"
    notice = f"fnabi: notice: views: {text}\n"
    assert capsys.readouterr() == ("--input=4xf32\n", notice)
    assert main(["stub", "--function=views", "--language=iree-run-module", path]) == 0
    assert capsys.readouterr().out.splitlines()[-2] == f"# I{text[1:]}."
    fence = "input 1: a fence, of which iree-run-module passes none, so that the function may fail"
    export = vmfb.open(DATA / "bytecode_types/torch_state@3.13.0@vmvx.vmfb").exports["set$async"]
    assert export.unknown_shapes[0] == fence


def test_a_text_of_other_values_than_the_function_takes_is_not_followed() -> None:
    exports = vmfb.open(DATA / "vmfb" / "abi_records.vmfb").exports
    assert str(exports["prims"].signature).startswith("(bool, i8, i16, i32, i64) -> ")
    assert exports["prims"].calling_convention == "0i_i"
    assert exports["prims"].runner_inputs() == ["--input=0"]
    assert exports["prims"].example_arrays() == (0,)
    many = vmfb.open(DATA / "vmfb" / "many_300.vmfb").exports["fn_0003"]
    assert many.calling_convention == "0Iri_Iri"
    assert many.runner_inputs() == ["--input=0", "--input=f32=0", "--input=0"]
    assert many.example_arrays()[1].shape == ()


def test_a_buffer_of_unknown_size_is_large() -> None:
    export = vmfb.open(DATA / "bytecode_types/torch_mlp_transients.vmfb").exports["main"]
    assert export.runner_inputs() == ["--input=4x4xf32", "--input='&1048576xi8'"]
    assert export.runner_inputs(0)[1] == "--input='&262144xi8'"


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


@pytest.mark.parametrize("element", ["i32", ["slist", "i32", "f32"], ["sdict", ["a", "i32"]]])
@pytest.mark.parametrize("shape", [[], [2], [2, 0], [2, 3]])
def test_arrays_of_structures_fit_their_signature(element: Any, shape: list[int]) -> None:
    """An array of lists has lists as its elements."""
    type = ["ndarray", element, len(shape), *shape]
    signature = iree_abi.parse(json.dumps({"a": [type], "r": []}))
    (array,) = example.example_values(signature)
    assert array.shape == tuple(shape)
    assert len(iree_abi.flatten(signature, (array,))) == 1
    if not isinstance(element, str):
        kind = list if element[0] == "slist" else dict
        assert all(isinstance(each, kind) for each in array.flat)
