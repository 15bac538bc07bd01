"""Modules that the compiler writes here, called with what their signatures make of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from fnabi import iree_abi, raw, vmfb
from fnabi.types import Buffer, DType, Named, Scalar, Signature, Type
from fnabi.vmfb import program as programs
from support.paths import ROOT

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")
compiler = pytest.importorskip("iree.compiler")
runtime = pytest.importorskip("iree.runtime")


def reflection(**attrs: Any) -> str:
    """A function's attributes in MLIR; what is no text as JSON."""
    texts = {
        key.replace("_", "."): value if isinstance(value, str) else json.dumps(value)
        for key, value in attrs.items()
    }
    pairs = ", ".join(f'"{key}" = {json.dumps(text)}' for key, text in texts.items())
    return f"attributes {{iree.reflection = {{{pairs}}}}}"


ROWS = ["ndarray", "f32", 2, None, 3]
NESTED = ["sdict", ["scale", "f32"], ["parts", ["slist", ROWS, "i32"]]]
SOURCE = f"""
func.func @named(%a: tensor<?x3xf32>, %b: tensor<3xf32>, %n: i32) -> tensor<?x3xf32>
    {
    reflection(
        iree_abi={
            "a": [
                ["named", "a", ROWS],
                ["named", "b", ["ndarray", "f32", 1, 3]],
                ["named", "n", "i32"],
            ],
            "r": [ROWS],
        }
    )
} {{
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x3xf32>
  %f = arith.sitofp %n : i32 to f32
  %out = tensor.empty(%d) : tensor<?x3xf32>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b : tensor<?x3xf32>, tensor<3xf32>) outs(%out : tensor<?x3xf32>) {{
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.mulf %y, %f : f32
      %t = arith.addf %x, %s : f32
      linalg.yield %t : f32
  }} -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}}

func.func @nested(%p: !util.list<?>) -> (tensor<?x3xf32>, i32)
    {
    reflection(
        iree_abi={
            "a": [["named", "p", NESTED]],
            "r": [["sdict", ["rows", ROWS], ["count", "i32"]]],
        }
    )
} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %scale = util.list.get %p[%c0] : !util.list<?> -> f32
  %parts = util.list.get %p[%c1] : !util.list<?> -> !util.list<?>
  %view = util.list.get %parts[%c0] : !util.list<?> -> !hal.buffer_view
  %n = util.list.get %parts[%c1] : !util.list<?> -> i32
  %d = hal.buffer_view.dim<%view : !hal.buffer_view>[0] : index
  %rows = hal.tensor.import %view : !hal.buffer_view -> tensor<?x3xf32>{{%d}}
  %by = flow.tensor.splat %scale : tensor<?x3xf32>{{%d}}
  %r = arith.mulf %rows, %by : tensor<?x3xf32>
  %m = arith.addi %n, %n : i32
  return %r, %m : tensor<?x3xf32>, i32
}}

func.func @several(%x: tensor<?xi32>, %y: i64) -> (tensor<?xi32>, i64, f32)
    {
    reflection(
        iree_abi={
            "a": [["ndarray", "i32", 1, None], "i64"],
            "r": [["ndarray", "i32", 1, None], "i64", "f32"],
        }
    )
} {{
  %r = arith.muli %x, %x : tensor<?xi32>
  %z = arith.addi %y, %y : i64
  %f = arith.sitofp %y : i64 to f32
  return %r, %z, %f : tensor<?xi32>, i64, f32
}}

func.func @declared(%n: i32, %v: tensor<?x4xi8> {{iree.abi.encoding = tensor<?x4xui8>}})
    -> (tensor<?x4xi8> {{iree.abi.encoding = tensor<?x4xui8>}}) {{
  %t = arith.trunci %n : i32 to i8
  %c0 = arith.constant 0 : index
  %d = tensor.dim %v, %c0 : tensor<?x4xi8>
  %by = flow.tensor.splat %t : tensor<?x4xi8>{{%d}}
  %r = arith.addi %v, %by : tensor<?x4xi8>
  return %r : tensor<?x4xi8>
}}

func.func @raw(%v: tensor<?x4xf32>) -> tensor<?x4xf32>
    {
    reflection(
        f=raw.encode(
            Signature(
                (Buffer(DType("float", 32), (None, 4)),), (Buffer(DType("float", 32), (None, 4)),)
            )
        ).decode(),
        fv="1",
    )
} {{
  %r = arith.addf %v, %v : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}}

func.func @bf16(%v: tensor<?xbf16>) -> tensor<?xbf16>
    {
    reflection(iree_abi={"a": [["ndarray", "bf16", 1, None]], "r": [["ndarray", "bf16", 1, None]]})
} {{
  %r = arith.addf %v, %v : tensor<?xbf16>
  return %r : tensor<?xbf16>
}}
"""

DEMOTED = f"""
func.func @demoted(%x: f64, %v: tensor<2xf64>) -> f64
    {reflection(iree_abi={"a": ["f64", ["ndarray", "f64", 1, 2]], "r": ["f64"]})} {{
  %r = arith.addf %x, %x : f64
  return %r : f64
}}
"""


def compiled(source: str, *flags: str) -> bytes:
    data: bytes = compiler.compile_str(
        source,
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=generic", *flags],
    )
    return data


class Program:
    """A compiled module, and the runtime's view of it, which knows nothing of signatures."""

    def __init__(self, data: bytes) -> None:
        self.exports = vmfb.from_buffer(data).exports
        config = runtime.Config("local-sync")
        self.device = config.device
        self.module = runtime.VmModule.copy_buffer(config.vm_instance, data)
        hal = runtime.create_hal_module(config.vm_instance, config.device)
        self.context = runtime.VmContext(config.vm_instance, [hal, self.module])

    def call(self, name: str, flat: Sequence[Any]) -> list[Any]:
        results = runtime.VmVariantList(4)
        self.context.invoke(self.module.lookup_function(name), self.listed(flat), results)
        return [self.taken(results, place) for place in range(results.size)]

    def listed(self, values: Sequence[Any]) -> Any:
        listed = runtime.VmVariantList(len(values))
        for value in values:
            if isinstance(value, list):
                listed.push_list(self.listed(value))
            elif isinstance(value, int):
                listed.push_int(value)
            elif isinstance(value, float):
                listed.push_float(value)
            else:
                listed.push_ref(self.buffer_view(value))
        return listed

    def buffer_view(self, array: Any) -> Any:
        assert array.flags.c_contiguous
        return self.device.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=runtime.BufferUsage.DEFAULT,
            device=self.device,
            buffer=array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array,
            element_type=ELEMENTS[array.dtype.name],
        )

    def taken(self, results: Any, place: int) -> Any:
        value = results.get_variant(place)
        if not isinstance(value, runtime.VmRef):
            return value
        view = value.deref(runtime.HalBufferView)
        array = runtime.DeviceArray(self.device, view, implicit_host_transfer=True)
        return array.to_host()


ELEMENTS = {
    "float32": runtime.HalElementType.FLOAT_32,
    "int32": runtime.HalElementType.INT_32,
    "uint8": runtime.HalElementType.UINT_8,
    "bfloat16": runtime.HalElementType.BFLOAT_16,
}


@cache
def program() -> Program:
    return Program(compiled(SOURCE))


def rows(count: int) -> Any:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3)


def same(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert (found == expected).all()


@pytest.mark.parametrize("count", [0, 1, 5])
def test_named_arguments(count: int) -> None:
    a, b = rows(count), np.array([1, 2, 4], dtype=np.float32)
    signature = program().exports["named"].signature
    for flat in (
        iree_abi.flatten(signature, [a, b, 3]),
        iree_abi.flatten(signature, [a], {"n": 3, "b": b}),
        iree_abi.flatten(signature, [], {"b": b, "n": 3, "a": a}),
    ):
        same(iree_abi.unflatten(signature, program().call("named", flat)), a + b * np.float32(3))


def test_a_nested_dict() -> None:
    export = program().exports["nested"]
    assert (export.source, export.disagreements) == ("iree.abi", ())
    given = {"parts": [rows(4), 21], "scale": 0.5}
    flat = iree_abi.flatten(export.signature, [given])
    assert [type(value) for value in flat] == [list]
    result = iree_abi.unflatten(export.signature, program().call("nested", flat))
    assert list(result) == ["rows", "count"]
    same(result["rows"], rows(4) * np.float32(0.5))
    assert result["count"] == 42


def test_several_results() -> None:
    signature = program().exports["several"].signature
    x = np.array([3, -4], dtype=np.int32)
    flat = iree_abi.flatten(signature, [x, 1 << 40])
    squared, doubled, converted = iree_abi.unflatten(signature, program().call("several", flat))
    same(squared, x * x)
    assert (doubled, converted) == (1 << 41, float(1 << 40))


def test_elements_that_numpy_has_not() -> None:
    export = program().exports["bf16"]
    (result,) = export.signature.results
    assert isinstance(result, Buffer)
    v = np.array([1, 2.5], dtype=result.dtype.to_numpy())
    (doubled,) = program().call("bf16", iree_abi.flatten(export.signature, [v]))
    assert doubled.tobytes() == (v + v).tobytes()


def passed(type: Type, value: Any) -> Any:
    """A value as the type wants it; arrays of another layout are copied."""
    if isinstance(type, Named):
        return passed(type.type, value)
    if isinstance(type, Scalar):
        return value
    assert isinstance(type, Buffer)
    given = raw.describe(value)
    wanted = raw.oracle(type, given)
    if wanted == given:
        return value
    array = np.empty(wanted.shape, wanted.dtype.to_numpy())
    array[...] = value
    return array


@pytest.mark.parametrize(("name", "source"), [("declared", "iree.abi.declaration")])
def test_declared(name: str, source: str) -> None:
    export = program().exports[name]
    assert (export.source, export.ambiguity, export.disagreements) == (source, None, ())
    given = np.arange(250, 258, dtype=np.int64).astype(np.uint8)
    for v in (given.reshape(2, 4), given.reshape(4, 2).T, given.reshape(2, 4)[::-1]):
        flat = [passed(*pair) for pair in zip(export.signature.inputs, [7, v], strict=True)]
        (found,) = program().call(name, flat)
        same(found, v + np.uint8(7))


def test_raw_beside_a_declaration() -> None:
    export = program().exports["raw"]
    assert export.source == "iree.abi.declaration"
    assert export.raw is not None
    names = [type.type for type in export.signature.inputs if isinstance(type, Named)]
    assert (*names,) == export.raw.inputs
    v = np.arange(12, dtype=np.float32).reshape(4, 3).T
    (kept,) = [passed(*pair) for pair in zip(export.raw.inputs, [v], strict=True)]
    assert kept.flags.c_contiguous
    (found,) = program().call("raw", [kept])
    same(found, v + v)
    assert passed(export.raw.inputs[0], kept) is kept


def test_a_demoted_function_disagrees_with_its_iree_abi() -> None:
    (export, *_) = vmfb.from_buffer(
        compiled(DEMOTED, "--iree-input-demote-f64-to-f32")
    ).exports.values()
    assert export.declaration is not None
    assert [str(value.type) for value in export.declaration.inputs] == ["float32", "float32[2]"]
    assert [str(type) for type in export.signature.inputs] == ["float64", "float64[2]"]
    assert export.disagreements == (
        "inputs[0]: float64 in iree.abi, f32 in the calling convention 0fr_f",
        "results[0]: float64 in iree.abi, f32 in the calling convention 0fr_f",
    )


def test_which_attribute_of_a_function_becomes_its_iree_abi() -> None:
    text = json.dumps(json.dumps({"a": ["i32"], "r": []}))
    attributes = {
        "own": f"iree.abi = {text}",
        "nested": f'iree.reflection = {{"iree.abi" = {text}}}',
    }
    source = "".join(
        f"func.func @{name}(%a: i32) attributes {{{each}}} {{ return }}\n"
        for name, each in attributes.items()
    )
    exports = vmfb.from_buffer(compiled(source)).exports
    assert [name for name in attributes if "iree.abi" in exports[name].attrs] == ["nested"]
    page = (ROOT / "docs" / "grammar" / "iree_abi.md").read_text()
    assert 'iree.reflection = {"iree.abi" = "..."}`; it drops an attribute `iree.abi` of a' in page


def test_sizes_of_a_number_and_of_dims_without_a_letter() -> None:
    source = """
    func.func @padded(%a: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
      %z = arith.constant 0.0 : f32
      %r = tensor.pad %a low[0, 0] high[%n, 3] { ^bb0(%i: index, %j: index): tensor.yield %z : f32 }
        : tensor<?x?xf32> to tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    found = programs.of(vmfb.from_buffer(compiled(source)), "padded")
    assert {"input0[0]", "input0[1]", "input1"} <= {*re.findall(r"input\d(?:\[\d\])?", str(found))}
    page = (ROOT / "docs" / "guide" / "program.md").read_text()
    assert "`input0[1]` is a dim that has no letter, `input2` an argument that is a number" in page
