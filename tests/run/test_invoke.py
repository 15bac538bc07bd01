"""Calling functions of iree.runtime, beside the runtime's own invoker."""

from __future__ import annotations

import collections
import decimal
import enum
import json
import math
import re
import subprocess
import sys
import types
from collections.abc import Callable
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fnabi import CallError, MissingPackageError, compat, invoke, iree_abi, vmfb
from fnabi.dropin.iree_runtime import FunctionInvoker
from fnabi.errors import ArgumentTypeError, ArgumentValueError, RangeError
from fnabi.run.invoke import Invoker
from fnabi.types import Buffer, DType, HomogeneousList, List, RefArray, Scalar, Signature, Unknown
from fnabi.types import Named as Argument
from support.paths import DATA

rt = pytest.importorskip("iree.runtime")

INT = Scalar(DType("int32"))
NEEDS = DATA / "needs"
DEVICE = rt.Config("local-task").device
I32 = np.array([1, 0], np.int32)

Fill = Callable[[Any], None]


class Context:
    """A replacement for the context of a module: records what it is called with."""

    def __init__(self, fill: Fill) -> None:
        self.fill, self.packed = fill, ""

    def invoke(self, function: Any, inputs: Any, outputs: Any) -> None:
        self.fill(outputs)
        self.packed = repr(inputs)


class Named:
    def __init__(self, abi: dict[str, Any] | None) -> None:
        self.reflection = {} if abi is None else {"iree.abi": json.dumps(abi)}


def called(
    invoker: Any, abi: dict[str, Any] | None, fill: Fill, args: tuple[Any, ...], kwargs: Any
) -> Any:
    context = Context(fill)
    try:
        result = invoker(context, DEVICE, Named(abi))(*args, **kwargs)
    except ValueError as problem:
        return ValueError, str(problem)
    arrays = isinstance(result, rt.DeviceArray)
    return context.packed, (result.dtype, result.to_host().tolist()) if arrays else result


def ints(*values: int) -> Fill:
    def fill(outputs: Any) -> None:
        for value in values:
            outputs.push_int(value)

    return fill


def view(array: Any, element: str = "SINT_32") -> Any:
    return DEVICE.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
        device=DEVICE,
        buffer=array,
        element_type=getattr(rt.HalElementType, element),
    )


def views(array: Any, element: str = "SINT_32") -> Fill:
    return lambda outputs: outputs.push_ref(view(array, element))


def nested(outputs: Any) -> None:
    pair, both = rt.VmVariantList(2), rt.VmVariantList(2)
    ints(100, 200)(both)
    pair.push_list(both)
    pair.push_int(6)
    outputs.push_int(3)
    outputs.push_list(pair)


def listed(outputs: Any) -> None:
    values = rt.VmVariantList(2)
    ints(1, 2)(values)
    outputs.push_list(values)


def args(*types: Any, r: list[Any] | None = None) -> dict[str, Any]:
    return {"a": list(types), "r": ["i32"] if r is None else r}


NAMED = args("i32", ["named", "a", "i32"], ["named", "b", "i32"])
ARRAYS = args(
    ["ndarray", "i32", 1, 1], *(["named", name, ["ndarray", "i32", 1, 1]] for name in "ab")
)
LIST, TUPLE = args(["slist", "i32", "i32"]), args(["stuple", "i32", "i32"])
DICT = args(["sdict", ["a", "i32"], ["b", "i32"]])
ARRAY = args(["ndarray", "i32", 1, 2], r=[])

CASES: dict[str, tuple[dict[str, Any] | None, Fill, tuple[Any, ...], dict[str, Any]]] = {
    "no reflection, scalars": (None, ints(3, 4), (1, 2), {}),
    "no reflection, floats": (None, lambda outputs: outputs.push_float(0.5), (1.5, 2), {}),
    "no reflection, keyword": (None, ints(), (), {"a": 1}),
    "no reflection, object": (None, ints(), (object,), {}),
    "no reflection, none": (None, ints(), (None,), {}),
    "keywords": (NAMED, ints(3), (-1,), {"a": 1, "b": 2}),
    "a keyword by position": (NAMED, ints(3), (-1, 1), {"b": 2}),
    "a missing positional": (NAMED, ints(3), (), {"a": 1, "b": 1}),
    "a missing positional array": (ARRAYS, ints(3), (), {"a": 1, "b": 1}),
    "a missing keyword": (NAMED, ints(3), (-1,), {"a": 1}),
    "a missing keyword array": (ARRAYS, ints(3), (-1,), {"a": 1}),
    "a keyword twice": (NAMED, ints(3), (-1, 1), {"a": 1, "b": 2}),
    "an unknown keyword": (NAMED, ints(3), (-1,), {"a": 1, "b": 2, "c": 3}),
    "a list": (LIST, ints(3), ([2, 3],), {}),
    "a list without reflection": (None, ints(3), ([2, 3],), {}),
    "nested lists without reflection": (None, ints(3), ([2, (3, [4.5])],), {}),
    "a list too long": (LIST, ints(3), ([2, 3, 4],), {}),
    "a tuple": (TUPLE, ints(3), ((2, 3),), {}),
    "a tuple too short": (TUPLE, ints(3), ((2,),), {}),
    "a dict": (DICT, ints(3), ({"b": 3, "a": 2},), {}),
    "a dict without reflection": (None, ints(3), ({"b": 3, "a": 2},), {}),
    "a dict too long": (DICT, ints(3), ({"a": 2, "b": 3, "c": 4},), {}),
    "a dict with another key": (DICT, ints(3), ({"a": 2, "c": 3},), {}),
    "results of a list": (args(r=[["slist", "i32", "i32"]]), ints(3, 4), (), {}),
    "results of a tuple": (args(r=[["stuple", "i32", "i32"]]), ints(3, 4), (), {}),
    "results of a dict": (args(r=[["sdict", ["x", "i32"]]]), ints(3), (), {}),
    "nested results": (
        args(r=["i32", ["slist", ["sdict", ["bar", "i32"], ["foo", "i32"]], "i64"]]),
        nested,
        (),
        {},
    ),
    "too many results": (args(r=["i32"]), ints(3, 4), (), {}),
    "no results": (args(r=[]), ints(), (), {}),
    "an array": (ARRAY, ints(), (I32,), {}),
    "an array of another dtype": (ARRAY, ints(), (I32.astype(np.float64),), {}),
    "an array as a list": (ARRAY, ints(), ([1, 0],), {}),
    "a device array": (ARRAY, ints(), (rt.asdevicearray(DEVICE, I32),), {}),
    "a buffer view": (ARRAY, ints(), (view(I32),), {}),
    "an array without reflection": (None, ints(), (I32,), {}),
    "a device array without reflection": (None, ints(), (rt.asdevicearray(DEVICE, I32),), {}),
    "a buffer view without reflection": (None, ints(), (view(I32),), {}),
    "a result array": (args(r=[["ndarray", "i32", 1, 2]]), views(I32), (), {}),
    "a result array without reflection": (None, views(I32), (), {}),
    "a result of bools": (
        args(r=[["ndarray", "i1", 1, 2]]),
        views(I32.astype(np.int8), "UINT_8"),
        (),
        {},
    ),
    "a result list": (args(r=[["py_homogeneous_list", "i64"]]), listed, (), {}),
    "a float for an int": (args(r=["i32"]), lambda outputs: outputs.push_float(1.5), (), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_drop_in_agrees_with_the_original(case: str) -> None:
    ours, theirs = (called(each, *CASES[case]) for each in (FunctionInvoker, rt.FunctionInvoker))
    if theirs[0] is ValueError:
        assert ours[0] is ValueError
        reason = theirs[1].partition(" (while")[0].removeprefix("Error passing argument: ")
        if not reason.startswith(("could not convert", "could not get", "expected an <class")):
            assert ours[1] == reason
        elif reason.startswith("could not get"):
            assert ours[1].startswith(reason.partition("':")[0])
    else:
        assert ours == theirs


@pytest.mark.parametrize(
    ("slots", "kind"),
    [
        (["slist", None, "i32"], RuntimeError),
        (["stuple", "i32", None], RuntimeError),
        (["sdict", ["k", None]], RuntimeError),
        (None, RuntimeError),
        (["named", "x", None], RuntimeError),
        (["py_homogeneous_list", None], ValueError),
        (["slist", ["py_homogeneous_list", ["slist", None]]], ValueError),
        (["ndarray", ["slist", None], 1, 2], ValueError),
    ],
)
def test_an_empty_slot_is_refused_as_by_the_original(slots: Any, kind: type[Exception]) -> None:
    for invoker in (rt.FunctionInvoker, FunctionInvoker):
        with pytest.raises(kind):
            invoker(Context(ints(3)), DEVICE, Named(args(slots)))


@pytest.mark.parametrize("old", [*product(("x", "y", None), repeat=2)])
@pytest.mark.parametrize("new", [*product(("x", "y", "z", None), repeat=2)])
def test_calls_of_before_where_names_are_compatible(
    old: tuple[str | None, ...], new: tuple[str | None, ...]
) -> None:
    """The original takes a named argument by its name alone, so a new name refuses calls."""

    def accepts(names: tuple[str | None, ...], values: tuple[int, ...], named: Any) -> bool:
        types = args(*(["named", name, "i32"] if name else "i32" for name in names), r=[])
        answer = called(rt.FunctionInvoker, types, ints(), values, named)
        return not (isinstance(answer, tuple) and answer[0] is ValueError)

    calls: list[tuple[tuple[int, ...], dict[str, int]]] = [((1, 2), {})]
    calls += [((), {first: 1, second: 2}) for first, second in permutations("xyz", 2)]
    calls += [((1,), {name: 2}) for name in "xyz"]
    integer = Scalar(DType("signless", 32))
    sides = [
        Signature(tuple(Argument(name, integer) if name else integer for name in names), ())
        for names in (old, new)
    ]
    found = compat.compare_signatures(*sides, keywords=True)
    assert any(change.severity == "breaking" for change in found) is (old != new)
    taken = [call for call in calls if accepts(old, *call)]
    if old == new:
        assert all(accepts(new, *call) for call in taken)
    elif taken and {*old} != {*new}:  # in another order they are others for callers by position
        assert not all(accepts(new, *call) for call in taken)


def test_the_drop_in_tells_unreadable_reflection() -> None:
    function = Named(None)
    function.reflection = {"iree.abi": "{"}
    with pytest.raises(RuntimeError, match="Malformed function reflection metadata"):
        FunctionInvoker(Context(ints()), DEVICE, function)
    wrapped = FunctionInvoker(Context(ints()), DEVICE, function := Named(None))
    assert wrapped.vm_function is function
    assert repr(wrapped) == repr(function)


@pytest.mark.parametrize("primitive", ["i1", "i8", "i16", "f16", "bf16", "f32", "f64"])
def test_the_drop_in_passes_every_scalar(primitive: str) -> None:
    kinds = args(primitive, ["py_homogeneous_list", primitive], r=[])
    packed, _ = called(FunctionInvoker, kinds, ints(), (1, [1, 0]), {})
    one, none = ("1.", "0.") if primitive in ("f32", "f64") else ("1", "0")
    one = {"f16": "15360", "bf16": "16256"}.get(primitive, one)  # their bits
    assert packed.startswith(f"<VmVariantList(2): [{one}")
    assert none in packed.partition("List[")[2]


class Whole:
    def __int__(self) -> int:
        return 3


class Real:
    def __float__(self) -> float:
        return 1.5


class Level(enum.IntEnum):
    LOW = 3


Pair = collections.namedtuple("Pair", "a b")
NUMBERS: list[Any] = [
    *(0, 1, -1, 127, 128, -128, -129, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63),
    *(-(2**63), -(2**63) - 1, 10**400, 3.7, 1e300, math.inf, None, True, 1j, "1", "x", b"1", [1]),
    *((1,), {}, Level.LOW, Whole(), Real(), decimal.Decimal("1.5"), object(), np.int8(3)),
    *(np.uint64(2**63), np.float32(1.5), np.float64(2.5), np.bool_(True), np.array(3)),
    *(
        np.array([3]),
        np.ma.array([1, 2], mask=[0, 1], dtype=np.int32),
        Pair(1, 2),
        collections.OrderedDict(a=1),
        types.MappingProxyType({"a": 1}),
    ),
]


@pytest.mark.parametrize("primitive", ["i8", "i16", "i32", "i64", "f32", "f64", None])
def test_the_drop_in_takes_the_numbers_of_the_original(primitive: str | None) -> None:
    """None: without reflection."""
    original = import_module("iree.runtime.function").FunctionInvoker
    abi = None if primitive is None else args(primitive, r=[])

    def tried(invoker: Any, value: Any) -> object:
        try:
            return called(invoker, abi, ints(), (value,), {})
        except RuntimeError as problem:
            return RuntimeError, str(problem)

    for value in NUMBERS:
        assert tried(FunctionInvoker, value) == tried(original, value), value


# ---------------------------------------------------------------------------------- our invoker


def loaded(name: str, function: str) -> Invoker:
    config = rt.Config("local-task")
    context = rt.SystemContext(config=config)
    data = (NEEDS / f"{name}.vmfb").read_bytes()
    module = rt.VmModule.copy_buffer(config.vm_instance, data)
    context.add_vm_module(module)
    return Invoker(context.vm_context, config.device, module.lookup_function(function))


def test_a_compiled_function_returns_what_it_is_given() -> None:
    function = loaded("types_vmvx", "idx")
    given = vmfb.open(NEEDS / "types_vmvx.vmfb").exports["idx"].example_arrays(3)
    random = np.random.default_rng(5)
    given = tuple(
        random.integers(0, 2, each.shape).astype(each.dtype) if each.shape else each + 1
        for each in given
    )
    found = function(*given)
    assert len(found) == len(given)
    for ours, theirs in zip(found, given, strict=True):
        assert np.array_equal(ours, theirs)
    assert [getattr(each, "dtype", type(each)) for each in found] == [
        *(np.float32, int, float, np.int32, np.bool_, given[5].dtype, np.int8, np.complex64)
    ]
    assert function(*given[:2], t := 2.5, *given[3:])[2] == t
    with pytest.raises(CallError, match="argument 7: missing"):
        function(*given[:-1])
    with pytest.raises(CallError, match="argument 1: expected index, got float"):
        function(given[0], 1.5, *given[2:])
    with pytest.raises(CallError, match=f"argument 1: {2**64} does not fit in index"):
        function(given[0], 2**64, *given[2:])
    with pytest.raises(CallError, match="argument 0: expected float32, got an array of <U4"):
        function("text", *given[1:])


def scalars(version: str) -> vmfb.Export:
    """A function with scalars of every type, of which f16 and bf16 are the sixth and seventh."""
    path = DATA / "bytecode_types" / f"func_abi@{version}@vmvx.vmfb"
    return vmfb.open(path).exports["scalars"]


SMALL = [
    (0.0, 0.0, 0.0),
    (-1.5, -1.5, -1.5),
    (65504.0, 65504.0, 65536.0),
    (math.inf, math.inf, math.inf),
    (0.1, 0.0999755859375, 0.10009765625),
    (-math.inf, -math.inf, -math.inf),
]
"""Numbers, and what they are as f16 and as bf16."""


def test_small_floats() -> None:
    """A function gets their bits; the runtime itself passes what is in registers."""
    bfloat16 = ml_dtypes().bfloat16
    path = DATA / "bytecode_types" / "func_abi@3.13.0@vmvx.vmfb"
    config = rt.Config("local-task")
    system = rt.SystemContext(config=config)
    module = rt.VmModule.mmap(config.vm_instance, str(path))
    system.add_vm_module(module)
    context, function = system.vm_context, module.lookup_function("scalars")
    convention = scalars("3.13.0").calling_convention
    assert convention[6:8] == "ii"
    call = Invoker(context, config.device, function, convention=convention)
    for value, half, brain in SMALL:
        given = (True, 2, 3, 4, 5, value, value, 6.5, 7.5, 8)
        found = call(*given)
        assert found == (*given[:5], half, brain, *given[7:])
        assert [type(each) for each in found[5:7]] == [float, float]
        assert Invoker(context, config.device, function)(*given) == found
        inputs, outputs = rt.VmVariantList(10), rt.VmVariantList(10)
        for each in (*given[:5], half, brain, *given[7:]):
            if each is half or each is brain:
                dtype = np.dtype(bfloat16 if inputs.size == 6 else np.float16)
                inputs.push_int(int(np.array(each).astype(dtype).view(np.uint16)))
            elif isinstance(each, float):
                inputs.push_float(each)
            else:
                inputs.push_int(each)
        context.invoke(function, inputs, outputs)
        bits = np.array([outputs.get_variant(5), outputs.get_variant(6)], np.uint16)
        assert found[5:7] == (float(bits[0].view(np.float16)), float(bits[1].view(bfloat16)))
    nan = call(True, 2, 3, 4, 5, math.nan, math.nan, 6.5, 7.5, 8)
    assert all(map(math.isnan, nan[5:7]))
    small = np.float16(1.5), bfloat16(2.5)
    assert call(True, 2, 3, 4, 5, *small, 1.0, 1.0, 8)[5:7] == (1.5, 2.5)
    for value in (1e6, -1e6):
        with pytest.raises(RangeError, match=f"argument 5: {value} does not fit in float16"):
            call(True, 2, 3, 4, 5, value, value, 6.5, 7.5, 8)
    with pytest.raises(CallError, match="argument 5: expected float16"):
        call(True, 2, 3, 4, 5, "text", 1.0, 6.5, 7.5, 8)


@pytest.mark.parametrize("version", ["3.0.0", "3.10.0"])
def test_small_floats_of_older_compilers(version: str) -> None:
    """A function gets the numbers; no runtime of today loads such a module."""
    export = scalars(version)
    assert export.calling_convention[6:8] == "ff"

    def fill(outputs: Any) -> None:
        for value in (1, 2, 3, 4, 5):
            outputs.push_int(value)
        for value in (1.5, -2.5, 6.5, 7.5):
            outputs.push_float(value)
        outputs.push_int(8)

    context = Context(fill)
    convention = export.calling_convention
    call = Invoker(context, DEVICE, Named(None), export.signature, convention=convention)
    given = (True, 2, 3, 4, 5, 1.5, -2.5, 6.5, 7.5, 8)
    assert call(*given) == given
    assert context.packed == (
        "<VmVariantList(10): [1, 2, 3, 4, 5, 1.500000, -2.500000, 6.500000, 7.500000, 8]>"
    )


@pytest.mark.parametrize(
    ("version", "widened"),
    [
        ("3.13.0rc20261016", False),
        ("3.11.0", False),
        ("3.10.0", True),
        ("20230209.425", True),
        ("unknown", False),
        (None, False),
    ],
)
def test_small_floats_by_the_release(
    monkeypatch: pytest.MonkeyPatch, version: str | None, widened: bool
) -> None:
    releases = import_module("iree.runtime.version")
    if version is None:
        monkeypatch.delattr(releases, "VERSION")
    else:
        monkeypatch.setattr(releases, "VERSION", version)
    invoke._runtime_widens.cache_clear()
    try:
        context = Context(ints())
        Invoker(context, DEVICE, Named(args("f16", r=[])))(1.5)
    finally:
        invoke._runtime_widens.cache_clear()
    expected = "1.500000" if widened else "15872"
    assert context.packed == f"<VmVariantList(1): [{expected}]>"


def ml_dtypes() -> Any:
    return pytest.importorskip("ml_dtypes")


def test_small_floats_in_structures() -> None:
    abi = args(["slist", "f16", "bf16"], r=[["stuple", "f16", "bf16"]])
    context = Context(ints(0x3E00, -0x4000 & 0xFFFF))
    assert Invoker(context, DEVICE, Named(abi))([1.5, -2.0]) == (1.5, -2.0)
    assert context.packed == "<VmVariantList(1): [List[15872, 49152]]>"


def test_integer_results_are_in_the_range_of_their_type() -> None:
    """The runtime has registers of 32 and 64 bits, which are signed."""
    signature = Signature.parse("() -> (uint8, uint32, uint64, int8, i8, i8)")
    context = Context(ints(-1, -1, -1, 200, 256, 127))
    function = Invoker(context, DEVICE, Named(None), signature)
    assert function() == (255, 2**32 - 1, 2**64 - 1, -56, 0, 127)
    original = FunctionInvoker(Context(ints(256)), DEVICE, Named(args(r=["i8"])))
    assert original() == 256  # the register, as the original has it


def test_a_product() -> None:
    function = loaded("mm_vmvx", "mm")
    left = np.arange(48, dtype=np.float32).reshape(3, 16)
    right = np.arange(64, dtype=np.float32).reshape(16, 4)
    assert np.allclose(function(left, right), left @ right)
    assert np.allclose(function(left.tolist(), right), left @ right)


def test_structures_nest_both_ways() -> None:
    abi = {
        "a": [["named", "x", ["sdict", ["p", ["slist", "i32", "f32"]], ["q", "i1"]]]],
        "r": [["sdict", ["k", "i32"], ["v", ["stuple", "i32", "i32"]]]],
    }

    def fill(outputs: Any) -> None:
        outputs.push_int(7)
        listed(outputs)

    context = Context(fill)
    function = Invoker(context, DEVICE, Named(abi))
    assert function(x={"q": True, "p": [3, 0.5]}) == {"k": 7, "v": (1, 2)}
    assert context.packed == "<VmVariantList(1): [List[List[3, 0.500000], 1]]>"
    assert str(function.signature) in repr(function)
    with pytest.raises(CallError, match=r"\['p'\]: expected a list or tuple, got int"):
        function(x={"q": True, "p": 3})


def test_arrays_of_references_are_pairs() -> None:
    context = Context(ints())
    i32 = Scalar(DType("signed", 32))
    signature = Signature((RefArray(i32, (2, 2)),), ())
    Invoker(context, DEVICE, Named(None), signature)(np.array([[1, 2], [3, 4]]))
    assert context.packed == "<VmVariantList(1): [List[List[1, 2, 3, 4], List[2, 2]]]>"


def test_arrays_of_elements_without_a_name() -> None:
    abi = {"a": [["ndarray", None, 1, None]], "r": [["ndarray", None, 1, 2]]}
    context = Context(views(I32))
    found = Invoker(context, DEVICE, Named(abi))(np.array([1.5], np.float32))
    assert found.tolist() == [1, 0]
    assert context.packed.startswith("<VmVariantList(1): [HalBufferView(")


def test_an_asynchronous_function_gets_fences() -> None:
    config = rt.Config("local-task")
    context = rt.SystemContext(config=config)
    path = DATA / "vmfb" / "async_fences.vmfb"
    module = rt.VmModule.mmap(config.vm_instance, str(path))
    context.add_vm_module(module)
    plus = Invoker(context.vm_context, config.device, module.lookup_function("plus"))
    x = np.arange(3, dtype=np.float32)
    assert plus(x, x).tolist() == [0, 2, 4]
    with pytest.raises(CallError, match=r"argument 2: surplus"):
        plus(x, x, x)


def test_too_many_results() -> None:
    signature = Signature((), (Buffer(DType("float", 32), (2,)),))
    with pytest.raises(CallError, match="expected 1 results, got 2"):
        Invoker(Context(ints(1, 2)), DEVICE, Named(None), signature)()


def test_a_function_without_a_signature() -> None:
    def call(fill: Fill, *given: Any, **named: Any) -> Any:
        return Invoker(Context(fill), DEVICE, Named(None))(*given, **named)

    assert call(ints()) is None
    assert call(ints(3)) == 3
    assert call(ints(3, 4), 1) == (3, 4)
    assert call(views(I32)).tolist() == [1, 0]
    with pytest.raises(CallError, match=r"has no signature; expected no keyword arguments$"):
        call(ints(), a=1)
    context = Context(ints())
    Invoker(context, DEVICE, Named(None))(rt.HalFence(0))
    assert context.packed == "<VmVariantList(1): [fence(0)]>"


@pytest.mark.parametrize(
    ("type", "value", "reason"),
    [
        (None, None, "iree.runtime cannot pass an empty slot"),
        ("f32", "x", "expected float32, got str"),
        ("f32", [], "expected float32, got list"),
        ("i32", "3", "expected i32, got str"),
        ("i32", np.float32(1.5), "expected i32, got float32"),
        ("i1", 1.0, "expected bool, got float"),
        (["ndarray", "i32", 1, 2], np.ma.array([1, 2], mask=[0, 1]), "the array has a mask; fill"),
        (["ndarray", "i8", 1, 2], [1.0, 2.5], "expected i8, got an array of float64"),
        (["ndarray", "i8", 1, 2], np.array([1, np.nan]), "expected i8, got an array of float64"),
        (["ndarray", "i8", 1, 2], np.array([1, 2.5], object), "expected i8, got float"),
        (["ndarray", "f32", 1, 2], np.array([1, 2j]), "expected float32, got an array of complex"),
        (["ndarray", "f32", 1, 2], ["1", "2"], "expected float32, got an array of <U1"),
        (
            ["ndarray", "i64", 1, 1],
            np.array([1], "M8[s]"),
            "expected i64, got an array of datetime",
        ),
    ],
)
def test_an_argument_that_the_runtime_cannot_pass(type: Any, value: Any, reason: str) -> None:
    function = Invoker(Context(ints()), DEVICE, Named(args(type, r=[])))
    with pytest.raises(CallError) as caught:
        function(value)
    assert str(caught.value).startswith(f"Invoker: argument 0: {reason}")


@pytest.mark.parametrize(
    ("type", "value", "packed"),
    [
        ("i8", np.array([200, -1]), [-56, -1]),
        ("i8", np.array([1, 2], ">i4"), [1, 2]),
        ("i8", [True, False], [1, 0]),
        ("i8", np.zeros(0), []),
        ("f32", np.array([1.5, np.inf, 2**40], object), [1.5, np.inf, 2.0**40]),
        ("f32", np.array([0.1, -np.inf]), [np.float32(0.1), -np.inf]),
        ("f32", np.array([1, 2], np.uint64), [1.0, 2.0]),
        ("i1", np.array([0, 1]), [0, 1]),
    ],
    ids=str,
)
def test_an_array_of_another_dtype(type: str, value: Any, packed: list[float]) -> None:
    """Its elements fit; the runtime gives them back."""
    marshaller = invoke.Marshaller(DEVICE)
    text = json.dumps(args(["ndarray", type, 1, None], r=[]))
    types = iree_abi.parse(text).inputs
    assert marshaller.unpack(types, marshaller.pack(types, [value]))[0].tolist() == packed


def test_arrays_of_indexes() -> None:
    """They are int64 for the runtime."""
    marshaller = invoke.Marshaller(DEVICE)
    types = (Buffer(DType("index"), (None,)),)
    for given in ([1, -2], np.array([1, -2], np.int32)):
        (found,) = marshaller.unpack(types, marshaller.pack(types, [given]))
        assert (found.dtype, found.tolist()) == (np.int64, [1, -2])
    with pytest.raises(RangeError, match="does not fit in int64"):
        marshaller.pack(types, [[2**63]])


@pytest.mark.parametrize(
    ("type", "value", "reason"),
    [
        ("i1", 2, "2 does not fit in bool"),
        ("i8", 256, "256 does not fit in i8"),
        ("i8", -129, "-129 does not fit in i8"),
        ("f32", 1e39, r"1e\+39 does not fit in float32"),
        ("f32", 10**39, f"{10**39} does not fit in float32"),
        ("f64", 10**400, "an int of 1329 bits does not fit in float64"),
        (["ndarray", "f64", 0], 10**400, "an int of 1329 bits does not fit in float64"),
        (["ndarray", "i8", 1, 2], np.array([300, 1]), "300 does not fit in i8"),
        (["ndarray", "i8", 1, 2], [1, -129], "-129 does not fit in i8"),
        (["ndarray", "i4", 1, 2], np.array([7, 16], np.int8), "16 does not fit in i4"),
        (["ndarray", "i1", 1, 2], [0, 2], "2 does not fit in bool"),
        (["ndarray", "f32", 1, 2], np.array([0, -1e39]), r"-1e\+39 does not fit in float32"),
        (["ndarray", "f16", 1, 2], np.array([70_000, 1], np.float32), "70000.0 does not fit in"),
        (
            ["ndarray", "complex<f32>", 1, 2],
            np.array([1j, 1e300j]),
            r"1e\+300j does not fit in complex64",
        ),
        ("unknown", 2**64, f"{2**64} does not fit in i64"),
    ],
)
def test_a_number_that_does_not_fit(type: Any, value: Any, reason: str) -> None:
    function = Invoker(Context(ints()), DEVICE, Named(args(type, r=[])))
    with pytest.raises(RangeError, match=rf"^Invoker: argument 0: {reason}"):
        function(value)


@pytest.mark.parametrize(
    ("name", "most", "more"),
    [("float4_e2m1fn", 6.5, 7), ("float6_e2m3fn", 7.7, 7.75), ("float6_e3m2fn", 29, 30)],
)
def test_floats_without_a_value_for_what_is_too_large(name: str, most: float, more: float) -> None:
    dtype = getattr(ml_dtypes(), name, None)
    if dtype is None:
        pytest.skip(f"this ml_dtypes has no {name}")
    for sign in (1, -1):
        assert all(invoke.number_fits(DType(name), sign * each) for each in (0, 0.3, 1.5, most))
        assert not any(invoke.number_fits(DType(name), sign * each) for each in (more, 100, 1e30))
    marshaller = invoke.Marshaller(DEVICE)
    types = (Buffer(DType(name), (4,)),)
    with pytest.raises(RangeError, match=f"argument 0: 100.0 does not fit in {name}"):
        marshaller.pack(types, [np.array([1, math.nan, 100, math.inf], np.float32)])


def test_texts_of_another_type_are_named() -> None:
    with pytest.raises(CallError, match=r"^invoke\.signature_of: reflection: expected .* got int$"):
        invoke.signature_of({"iree.abi": 5})  # type: ignore[dict-item]
    convention: Any = 5
    with pytest.raises(CallError, match=r"^Invoker: convention: expected .*, got int$"):
        Invoker(Context(ints()), DEVICE, Named(args("i32", r=[])), convention=convention)


@pytest.mark.parametrize(
    ("type", "least", "most"),
    [
        ("uint8", 0, 255),
        ("int16", -(2**15), 2**15 - 1),
        ("uint64", 0, 2**64 - 1),
        ("index", -(2**63), 2**63 - 1),
        ("i8", -128, 255),
    ],
)
def test_the_range_of_integers(type: str, least: int, most: int) -> None:
    signature = Signature.parse(f"({type}) -> ()")
    function = Invoker(Context(lambda _: None), DEVICE, Named(None), signature)
    for value in (least, most):
        assert function(value) is None
    for value in (least - 1, most + 1):
        with pytest.raises(RangeError, match=rf"argument 0: {value} does not fit in {type}$"):
            function(value)


def test_the_original_refuses_the_same_values(tmp_path: Path) -> None:
    """In a process of its own: nanobind, in which the runtime is written, reports what is left."""
    done = subprocess.run(
        [sys.executable, "-c", BESIDE, str(DATA / "vmfb" / "scalars.vmfb")],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == "112 equal\n", done.stdout + done.stderr


BESIDE = """
import subprocess
import sys
import numpy as np
import iree.runtime as rt
from iree.runtime import function as original
from fnabi.dropin import iree_runtime as ours

assert ours.ArgumentError is original.ArgumentError
assert ours.ReturnError is original.ReturnError
config = rt.Config("local-sync")
module = rt.VmModule.mmap(config.vm_instance, sys.argv[1])
context = rt.SystemContext(config=config)
context.add_vm_module(module)

def tried(made, value):
    call = made(context.vm_context, config.device, module.lookup_function(name))
    try:
        return repr(call(value))
    except Exception as problem:
        return type(problem), str(problem)

count = 0
values = True, None, "x", 3, 2.5, np.float32(1), np.int32(3), 1e39, 10**40, 2**63, -1, 300, 1j, [1]
for name in module.function_names:
    if name.startswith("sc_") and name != "sc_mix":
        for value in values:
            theirs, found = (tried(each.FunctionInvoker, value) for each in (original, ours))
            if theirs == found:
                count += 1
            else:
                print(name, value, theirs, found)
print(count, "equal")
"""


def test_an_array_of_elements_that_the_runtime_lacks() -> None:
    array = np.zeros(2, ml_dtypes().float8_e3m4)
    with pytest.raises(CallError, match=r"runtime has no element type float8_e3m4$"):
        Invoker(Context(ints()), DEVICE, Named(None))(array)


def test_an_array_of_which_iree_has_no_elements() -> None:
    function = Invoker(Context(ints()), DEVICE, Named(None))
    for dtype, reason in (("M8[s]", "no DType for datetime64[s]"), ("O", "no DType for object")):
        with pytest.raises(ArgumentTypeError, match=f"^Invoker: argument 1: {re.escape(reason)}$"):
            function(1, np.zeros(2, dtype))
    foreign = np.dtype(np.int32).newbyteorder("S")
    with pytest.raises(ArgumentTypeError, match=r"^Invoker: argument 0: .* is not in the byte ord"):
        function(np.zeros(2, foreign))


def test_an_array_that_does_not_become_one_of_numpy() -> None:
    class Tracked:  # as a tensor of torch that requires a gradient
        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            raise RuntimeError("call detach() first")

    function = Invoker(Context(ints()), DEVICE, Named(ARRAY))
    reason = r"could not convert value to numpy array: call detach\(\) first"
    with pytest.raises(ArgumentTypeError, match=f"^Invoker: argument 0: {reason}$"):
        function(Tracked())


def test_lists_of_unknown_type() -> None:
    for abi in (None, args(r=["unknown", "unknown"])):
        function = Invoker(Context(nested), DEVICE, Named(abi))
        assert function() == (3, [[100, 200], 6])


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("int4", [[-4, 3, -1], [0, 1, 2]], [0x3C, 0x0F, 0x21]),
        ("uint4", [15, 1, 2], [0x1F, 0x02]),
        ("int2", [1, -1, 0, -2, 1], [0x8D, 0x01]),
        ("int4", [], []),
    ],
)
def test_arrays_of_packed_elements(dtype: str, values: Any, expected: list[int]) -> None:
    """IREE has several to a byte, the first in the low bits; NumPy has one."""
    array = np.array(values, getattr(ml_dtypes(), dtype))
    packed = invoke.Marshaller(DEVICE).pack((Unknown(),), [array])
    found = packed.get_as_object(0, rt.HalBufferView)
    assert found.shape == list(array.shape)
    assert found.element_type == invoke.element_type(DType.from_numpy(array.dtype))
    memory = found.map().asarray([len(expected)], np.dtype("uint8")) if expected else np.zeros(0)
    assert memory.tolist() == expected


@pytest.mark.parametrize("given", ["int4", "uint4"])
def test_signless_elements_of_either_sign(given: str) -> None:
    array = np.array([1, 7, 2, 0], getattr(ml_dtypes(), given))
    types = (Buffer(DType("i4"), (2, 2)),)
    packed = invoke.Marshaller(DEVICE).pack(types, [array.reshape(2, 2)[:, ::-1]])
    found = packed.get_as_object(0, rt.HalBufferView)
    assert found.map().asarray([2], np.dtype("uint8")).tolist() == [0x17, 0x20]


def test_a_result_that_numpy_has_no_array_for() -> None:
    packed = views(np.zeros(2, np.uint8), "INT_4")
    function = Invoker(Context(packed), DEVICE, Named(args(r=[["ndarray", "i4", 1, 2]])))
    with pytest.raises(CallError, match=r"^Invoker: result 0: NumPy has no array for it: "):
        function()
    function._name = "M.main"  # of a client
    with pytest.raises(CallError, match=r"^M\.main: result 0: NumPy has no array for it: "):
        function()


def test_a_resulting_array_of_references() -> None:
    def pair(outputs: Any) -> None:
        both, values, dims = (rt.VmVariantList(4) for _ in range(3))
        ints(1, 2, 3, 4, 5, 6)(values)
        ints(3, 2)(dims)
        both.push_list(values)
        both.push_list(dims)
        outputs.push_list(both)

    signature = Signature((), (RefArray(Scalar(DType("signed", 32)), (3, 2)),))
    found = Invoker(Context(pair), DEVICE, Named(None), signature)()
    assert found == [[1, 2], [3, 4], [5, 6]]


def test_a_resulting_structure_of_another_size() -> None:
    def fill(outputs: Any) -> None:
        outputs.push_int(1)
        listed(outputs)

    function = Invoker(Context(fill), DEVICE, Named(args(r=["i32", ["slist", *["i32"] * 3]])))
    with pytest.raises(CallError, match="Invoker: result 1: expected 3 values, got 2"):
        function()


@pytest.mark.parametrize(
    ("type", "fill", "reason"),
    [
        (["ndarray", "i32", 1, 2], ints(3), "expected i32[2]: list element is not a ref"),
        (["ndarray", "i32", 1, 2], listed, "expected a buffer view"),
        (["py_homogeneous_list", "i32"], ints(3), "expected list<i32>: Could not access list"),
        (["py_homogeneous_list", "i32"], views(I32), "expected list<i32>: Could not deref list"),
    ],
    ids=["number", "list", "no list", "array"],
)
def test_a_result_of_another_kind(type: Any, fill: Fill, reason: str) -> None:
    """The texts of the runtime name neither the function nor the result."""

    def both(outputs: Any) -> None:
        outputs.push_int(1)
        fill(outputs)

    function = Invoker(Context(both), DEVICE, Named(args(r=["i32", type])))
    with pytest.raises(CallError, match=f"^Invoker: result 1: {re.escape(reason)}"):
        function()


def test_the_runtime_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "iree.runtime", None)
    with pytest.raises(CallError, match=r"pip install iree-base-runtime") as caught:
        invoke.Marshaller(DEVICE)
    assert isinstance(caught.value, MissingPackageError)


def test_pack_names_what_is_wrong() -> None:
    marshaller = invoke.Marshaller(DEVICE)
    for given, values in (([], [1]), ([Unknown()] * 2, [1])):
        fault = f"Marshaller.pack: values: expected {len(given)}, one for each type, got 1"
        with pytest.raises(CallError, match=f"^{fault}$"):
            marshaller.pack(given, values)
    with pytest.raises(
        CallError, match=r"^Invoker: argument 0: expected keys that can be sorted: "
    ):
        marshaller.pack([Unknown()], [{1: 2, "a": 3}])


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (
            lambda to: to.pack(1, [1]),
            "Marshaller.pack: types: expected a sequence of types, got int",
        ),
        (
            lambda to: to.pack([], 1),
            "Marshaller.pack: values: expected a sequence of values, got int",
        ),
        (
            lambda to: to.pack([List((INT, INT))], [1]),
            "Invoker: argument 0: expected a list, got int",
        ),
        (
            lambda to: to.pack([HomogeneousList(INT)], [1]),
            "Invoker: argument 0: expected a list, got int",
        ),
        (
            lambda to: to.unpack(1, []),
            "Marshaller.unpack: types: expected a sequence of types, got int",
        ),
        (
            lambda to: to.unpack([INT], []),
            "Marshaller.unpack: packed: expected a VmVariantList, got list",
        ),
        (
            lambda to: to.new_list("a"),
            "Marshaller.new_list: capacity: expected an int of 0 or more, got str",
        ),
        (
            lambda to: to.push_fences(1),
            "Marshaller.push_fences: packed: expected a VmVariantList, got int",
        ),
        (
            lambda to: Invoker(Context(print), DEVICE, Named(None), 5),
            "Invoker: signature: expected Signature, got int",
        ),
        (lambda to: invoke.Marshaller(1), "Marshaller: device: expected a HalDevice, got int"),
        (lambda to: Invoker(1, DEVICE, 1), "Invoker: context: expected a VmContext, got int"),
        (
            lambda to: Invoker(Context(print), DEVICE, 1),
            "Invoker: function: expected a VmFunction, got int",
        ),
    ],
)
def test_another_type_is_refused_by_name(make: Callable[[Any], Any], fault: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{fault}$"):
        make(invoke.Marshaller(DEVICE))


def test_a_list_of_another_length_is_refused() -> None:
    marshaller = invoke.Marshaller(DEVICE)
    with pytest.raises(ArgumentValueError, match=r"capacity: expected an int of 0 or more, got -1"):
        marshaller.new_list(-1)
    for type, value, expected in (
        (List((INT, INT)), [1], "2 values"),
        (RefArray(Unknown(), (1,)), [[]], "a list of elements and one of dims"),
    ):
        fault = f"Invoker: argument 0: expected {expected}, got 1"
        with pytest.raises(ArgumentValueError, match=f"^{fault}"):
            marshaller.pack([type], [value])
