"""Which values and texts fnabi accepts and tvm_ffi refuses, and the reverse: a few known classes.

docs/about/differences.md explains each class; a difference of another one fails.
"""

from __future__ import annotations

import array
import collections
import contextlib
import ctypes
import datetime
import decimal
import enum
import json
import os
import pathlib
import random
import re
import sys
import types
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import fnabi
from fnabi import DType, schema
from support.paths import ROOT
from tools.damage import changed

np = pytest.importorskip("numpy")
RELEASE = "0.1.15.post2"


@pytest.fixture(scope="module")
def tvm_ffi() -> Any:
    package = pytest.importorskip("tvm_ffi")
    if package.__version__ != RELEASE:
        pytest.skip(f"tvm_ffi {RELEASE} is not installed")
    return package


class Class(NamedTuple):
    """Differences of one kind: who accepts the input, what it is like, and an example."""

    accepts: str  # "tvm_ffi", "fnabi", or "both", which read different values
    pattern: str
    example: str


DTYPES = {
    "no type": Class("tvm_ffi", r"", ""),
    "numbers without a width": Class("tvm_ffi", r"(u?int|b?float)(x\d+)?", "int"),
    "short names": Class("tvm_ffi", r"(f|u|bf)\d+(_\w+)?(x\d+)?", "f32"),
    "wide bools": Class("tvm_ffi", r"bool\d+(x\d+)?", "bool8"),
    "complex numbers": Class("fnabi", r"complex\d+(x\d+)?", "complex64"),
    "the index": Class("fnabi", r"index\d*(x\d+)?", "index"),
    "formats that DLPack does not have": Class("fnabi", r"float\d+_\w+", "float8_e4m3d"),
    "more than 255 bits": Class("fnabi", r"(i|u?int|b?float|handle)\d{3,}(x\d+)?", "int256"),
    "no lanes, and more than 65,535": Class("fnabi", r".*x(0+|\d{5,})", "float32x0"),
    "numbers of more than 64 bits": Class("tvm_ffi", r".*\d{20}.*", "int8x18446744073709551620"),
    "scalable lanes": Class("tvm_ffi", r"\w*xvscale(x\d+)?", "float32xvscalex4"),
    "other texts of a type": Class("both", r".*x(1|0\d+)|[a-z]+0\d.*|handle64.*", "float32x1"),
}
DEVICES = {
    "spaces, and numbers of Python": Class(
        "tvm_ffi", r"\s*\w+(\s.*|\s*(:\s*[-+]?[\d_]+\s*)?)", "cpu:-1"
    ),
    "names of DLPack's devices": Class(
        "fnabi", r"(cuda_host|cuda_managed|rocm_host|oneapi)(:\d+)?", "cuda_host"
    ),
}
SCHEMAS = {
    "types with other numbers of arguments": Class(
        "fnabi",
        r'.*"type": "(Optional|Union|Variant|Callable|std::vector|list|dict|'
        r'(ffi\.)?(Function|Array|List|Map|Dict))".*',
        '{"type": "Optional", "args": []}',
    ),
    "arguments that are no types": Class(
        "tvm_ffi",
        r'.*"args":\s*(\[?(["\d]|null)|\[\[|\{).*',
        '{"type": "int", "args": ["int"]}',
    ),
    "names of arguments that are null": Class(
        "fnabi", r'.*"named_args":\s*null.*', '{"type": "int", "named_args": null}',
    ),
    "numbers that JSON does not have": Class(
        "tvm_ffi", r".*(NaN|Infinity).*", '{"type": "int", "v": NaN}',
    ),
}  # fmt: skip


def of_schema(tvm_ffi: Any) -> Callable[[str], object]:
    return lambda text: tvm_ffi.core.TypeSchema.from_json_str(text) and None


TEXTS: dict[str, tuple[Any, Any, dict[str, Class], list[str]]] = {
    "dtype": (
        lambda tvm_ffi: lambda text: str(tvm_ffi.dtype(text)),
        lambda text: str(DType(text)),
        DTYPES,
        [
            *("int8", "uint8", "float32", "float16", "bfloat16", "bool", "float8_e4m3fn", "i32"),
            *("float4_e2m1fn", "int32x4", "float32x16", "handle", "void", "", "int", "bf16"),
            *("float6_e2m3fn", "float8_e8m0fnu", "complex64", "uint1", "f32", "int64x2"),
            *("float32xvscalex4", "int08", "float32x0", "float32x65536", "handle64"),
            *("index", "indexx4", "int8x18446744073709551620", "int18446744073709551624"),
        ],
    ),
    "device": (
        lambda tvm_ffi: lambda text: [*map(int, _numbers(tvm_ffi.device(text)))],
        lambda text: [fnabi.Device(text).type, fnabi.Device(text).id],
        DEVICES,
        [
            *("cpu", "cuda:0", "cuda:1", "vulkan", "metal:3", "rocm:1", "opencl", "llvm", "gpu"),
            *("ext_dev", "hexagon", "trn:2", "webgpu", "cuda_host", "cpu:00", "cpu:-1", "musa"),
            *("oneapi", "cuda_managed:2", "xpu:0", "npu", "maia", "cpu:1_0"),
        ],
    ),
    "schema": (
        of_schema,
        lambda text: schema.parse_type(text) and None,
        SCHEMAS,
        [
            json.dumps(each)
            for each in (
                {"type": "int"},
                {"type": "ffi.Function", "args": [{"type": "int"}, {"type": "ffi.String"}]},
                {"type": "ffi.Function", "named_args": {"return": [{"type": "int"}], "params": []}},
                {"type": "Optional", "args": [{"type": "ffi.String"}]},
                {"type": "Union", "args": [{"type": "int"}, {"type": "float"}]},
                {"type": "ffi.Map", "args": [{"type": "ffi.String"}, {"type": "Any"}]},
                {"type": "ffi.Array", "args": [{"type": "DLTensor*"}]},
                {"type": "Tuple", "args": [{"type": "int"}, {"type": "bool"}]},
                {"type": "Variant", "args": [{"type": "int"}, {"type": "None"}]},
                {"type": "Optional", "args": []},
                {"type": "int", "args": ["int"]},
                {"type": "int", "args": {}},
                {"type": "int", "args": None},
                {"type": "list", "args": [None]},
                {"type": "Tuple", "args": [[]]},
                {"type": "int", "named_args": None},
                {"type": "Callable", "named_args": {}},
                {"type": "int", "v": float("nan")},
                {"type": "Array", "args": [{"type": "int"}, {"type": "int"}]},
            )
        ],
    ),
}
"""What reads a kind of text in each package, the classes of differences, and texts to change."""


def _numbers(device: Any) -> tuple[int, int]:
    return device.dlpack_device_type(), device.index


class UnknownDifferenceError(AssertionError):
    """The two differ in a way that nobody has explained."""


def outcome(read: Callable[[str], object], text: str) -> tuple[bool, object]:
    try:
        return True, read(text)
    except Exception:
        return False, None


def class_of(
    theirs: Callable[[str], object],
    ours: Callable[[str], object],
    classes: dict[str, Class],
    text: str,
) -> str | None:
    """Return the class of a difference, None where there is none."""
    (takes, value), (takes_too, other) = outcome(theirs, text), outcome(ours, text)
    if (takes, value) == (takes_too, other):
        return None
    who = "both" if takes and takes_too else "tvm_ffi" if takes else "fnabi"
    for name, each in classes.items():
        if each.accepts == who and re.fullmatch(each.pattern, text, re.DOTALL):
            return name
    raise UnknownDifferenceError(who, text, value, other)


@pytest.mark.parametrize("kind", TEXTS)
def test_texts(kind: str, tvm_ffi: Any) -> None:
    make, ours, classes, texts = TEXTS[kind]
    theirs = make(tvm_ffi)
    chance = random.Random(kind)
    data = [text.encode() for text in texts]
    edits = (changed(chance.choice(data), chance.choice(data), chance) for _ in range(3000))
    every = [*texts, *(each.decode("utf-8", "replace") for each in edits)]
    found = collections.Counter(class_of(theirs, ours, classes, text) for text in every)
    assert found[None] > 2000
    for name, each in classes.items():
        assert class_of(theirs, ours, classes, each.example) == name


# -------------------------------------------------------------------------------------- values


class Value:
    def __tvm_ffi_value__(self) -> int:
        return 3


class Index:
    def __index__(self) -> int:
        return 3


class Int(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


LOOP: list[object] = []
LOOP.append(LOOP)
DEEP: list[object] = []
for _ in range(12_000):
    DEEP = [DEEP]
ONES = np.ones(6, "f4")
FIXED = ONES.copy()
FIXED.flags.writeable = False

VALUES: dict[str, object] = {
    **{repr(each)[:30]: each for each in (None, True, 1, 1 << 70, -1 << 63, 1.5, 1j, "x", "x" * 9)},
    **{repr(each)[:30]: each for each in (b"x", b"x" * 9, bytearray(b"x"), [1], (1,), {"a": 1})},
    **{repr(each)[:30]: each for each in ({1}, range(3), ..., NotImplemented, Int.ONE, Text("x"))},
    **{repr(each)[:30]: each for each in ({(1, 2): 1}, [[1], {"a": [None]}], decimal.Decimal(1))},
    **{f"np.{each.dtype}": each for each in (np.int64(3), np.uint64(2**64 - 1), np.float16(1))},
    **{f"np.{each.dtype}": each for each in (np.bool_(True), np.complex64(1), np.longdouble(1))},
    **{f"np.dtype {each}": np.dtype(each) for each in ("f4", ">f4", "U3", "O", "M8[s]", "f4,i4")},
    "surrogate": "\ud800",
    "memoryview": memoryview(b"x"),
    "memoryview to write": memoryview(bytearray(b"x")),
    "array.array": array.array("f", [1]),
    "array.array of text": array.array("u" if sys.version_info < (3, 13) else "w", "x"),
    "ctypes array": (ctypes.c_int * 3)(),
    "list in itself": LOOP,
    "deep list": DEEP,
    "ordered": collections.OrderedDict(a=1),
    "deque": collections.deque([1]),
    "proxy": types.MappingProxyType({}),
    "function": lambda: 1,
    "class": int,
    "module": types,
    "exception": ValueError("x"),
    "date": datetime.date(2020, 1, 1),
    "uuid": uuid.UUID(int=1),
    "path": pathlib.Path("x"),
    "pointer": ctypes.c_void_p(5),
    "null pointer": ctypes.c_void_p(),
    "c_int": ctypes.c_int(3),
    "__tvm_ffi_value__": Value(),
    "__index__": Index(),
    "array": ONES,
    "array of steps": ONES[::2],
    "array backwards": ONES[::-1],
    "array of nothing": ONES[:0],
    "array of a number": np.array(1.0),
    "array of bools": np.array([True]),
    "array of complex": np.array([1j]),
    "array of halves": ONES.astype("f2"),
    "array of other byte order": ONES.astype(">f4"),
    "array of records": np.zeros(2, "f4,i4"),
    "array of objects": np.array([None]),
    "array of texts": np.array(["x"]),
    "array of dates": np.zeros(2, "M8[s]"),
    "array of long doubles": np.zeros(2, np.longdouble),
    "array to read": FIXED,
    "array broadcast": np.broadcast_to(ONES, (3, 6)),
    "array transposed": ONES.reshape(2, 3).T,
    "array with a mask": np.ma.array([1, 2]),
    "dtype of complex": np.dtype("c8"),
}


def package_values() -> dict[str, object]:
    """Return arrays of packages that may be missing."""
    found: dict[str, object] = {}
    with contextlib.suppress(ImportError):
        import pyarrow as pa

        found |= {"pyarrow": pa.array([1, 2]), "pyarrow nulls": pa.array([1, None])}
    with contextlib.suppress(ImportError):
        import ml_dtypes

        found |= {"bfloat16": np.ones(2, ml_dtypes.bfloat16)}
        found |= {"float8": np.ones(2, ml_dtypes.float8_e5m2)}
    return found | torch_values()


def torch_values() -> dict[str, object]:
    """Return tensors of torch; none without it."""
    try:
        import torch
    except ImportError:
        return {}
    t = torch.arange(6.0)
    return {
        "torch": t,
        "torch strided": t[::2],
        "torch grad": t.clone().requires_grad_(),
        "torch conj": torch.tensor([1j]).conj(),
        "torch neg": torch.tensor([1j]).conj().imag,
        "torch bf16": t.bfloat16(),
        "torch sparse": torch.eye(2).to_sparse(),
        "torch meta": t.to("meta"),
        "torch dtype": torch.float32,
        "torch device": torch.device("cpu"),
        "torch device of no memory": torch.device("meta"),
        "torch dtype of complex": torch.complex64,
        "torch Size": torch.Size([1, 2]),
    }


BY_VALUE: dict[str, dict[str, tuple[str, str]]] = {
    "buffers": {
        "memoryview": ("accepted", "refused"),
        "array.array of text": ("accepted", "refused"),
    },
    "arrays with a mask": {"array with a mask": ("accepted", "refused")},
    "tensors whose values are not in memory": {
        "torch conj": ("accepted", "refused"),
        "torch neg": ("accepted", "refused"),
    },
    "arrays that never change": {"pyarrow": ("accepted", "refused")},
    "arrays of ml_dtypes": {
        "bfloat16": ("refused", "accepted"),
        "float8": ("refused", "accepted"),
    },
    "dtypes of complex numbers": {
        "dtype of complex": ("refused", "accepted"),
        "torch dtype of complex": ("refused", "accepted"),
    },
    "devices that DLPack does not have": {"torch device of no memory": ("accepted", "refused")},
    "containers of many levels": {"deep list": ("accepted", "refused")},
    "containers that contain themselves": {"list in itself": ("ended", "refused")},
}
"""The classes of values: what tvm_ffi and fnabi do with each value that differs."""


def fates(function: Callable[[object], object], values: dict[str, object]) -> dict[str, str]:
    """Pass values in a process of its own, another one after each that ends it."""
    found: dict[str, str] = {}
    while len(found) < len(values):
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for name in [*values][len(found) :]:
                try:
                    function(values[name])
                    os.write(send, b"a")
                except Exception:
                    os.write(send, b"r")
            os._exit(0)
        os.close(send)
        with open(receive, "rb") as answers:
            given = answers.read()
        os.waitpid(child, 0)
        words = ["accepted" if each == ord("a") else "refused" for each in given]
        found |= zip([*values][len(found) :], [*words, "ended"], strict=False)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
@pytest.mark.unsanitized("ends processes")
@pytest.mark.filterwarnings("ignore:Exporting an unversioned DLPack capsule:DeprecationWarning")
def test_values(tvm_ffi: Any) -> None:
    theirs = tvm_ffi.convert(lambda value: None)
    ours = fnabi.Function(lambda value: None)
    every = VALUES | package_values()
    of_theirs, of_ours = fates(theirs, every), fates(ours, every)
    found = {name: (of_theirs[name], of_ours[name]) for name in every}
    known = {name: each for values in BY_VALUE.values() for name, each in values.items()}
    different = {name: each for name, each in found.items() if each[0] != each[1]}
    assert different == {name: each for name, each in known.items() if name in every}
    assert len(found) > 70


def test_scalars_that_arrive_as_another_value(tvm_ffi: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for value, number in (
        (np.bool_(True), True),
        (np.complex64(1j), 1j),
        (np.clongdouble(1j), 1j),
        (ml_dtypes.bfloat16(1.5), 1.5),
        (ml_dtypes.int4(-3), -3),
    ):
        assert type(tvm_ffi.convert(lambda value: value)(value)) is type(value)
        found = fnabi.Function(lambda value: value)(value)
        assert (type(found), found) == (type(number), number)


def test_devices_of_torch(tvm_ffi: Any) -> None:
    torch = pytest.importorskip("torch")
    value = torch.device("cpu")
    assert tvm_ffi.convert(lambda value: value)(value) is value
    assert fnabi.Function(lambda value: value)(value) == fnabi.Device("cpu")


def test_spans_of_time(tvm_ffi: Any) -> None:
    """They are numbers of no unit for tvm_ffi."""
    value = np.timedelta64(5, "Y")
    assert tvm_ffi.convert(lambda value: value)(value) == 5
    assert fnabi.Function(lambda value: value)(value) is value
    with pytest.raises(TypeError):
        tvm_ffi.convert(lambda value: value)(np.timedelta64(5, "s"))


def test_the_page_has_each_class() -> None:
    page = (ROOT / "docs" / "about" / "differences.md").read_text(encoding="utf-8")
    section = page.partition("## Values")[2]
    named = re.findall(r"^\| ([^|-]+?) \|", section, re.M)
    assert [each for each in named if each != "class"] == [*BY_VALUE, *DTYPES, *DEVICES, *SCHEMAS]
