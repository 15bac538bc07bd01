"""Exports written with ``fnabi/callee.h``, called by fnabi, by ``tvm_ffi`` and by ctypes."""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi import library
from support.callee import built
from support.paths import DATA, ROOT
from support.programs import found
from support.sanitizers import SANITIZE

SOURCES = DATA / "callee"
PLAIN = [str(SOURCES / "plain.c"), str(SOURCES / "second.c")]


def compiled(name: str, compiler: str, *arguments: str) -> str:
    warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
    return built(name, compiler, *warnings, *SANITIZE, "-I", fnabi.get_include(), *arguments)


@pytest.fixture(scope="session", params=["c", "c++"])
def plain(request: pytest.FixtureRequest) -> str:
    """Build the library of two files as C or as C++."""
    if request.param == "c":
        return compiled("plain_c", "cc", "-std=c11", "-O2", *PLAIN)
    return compiled("plain_cc", "c++", "-std=c++11", "-x", "c++", *PLAIN)


@pytest.fixture(scope="session", params=["c", "c++"])
def making(request: pytest.FixtureRequest) -> str:
    source = str(SOURCES / "making.c")
    if request.param == "c":
        return compiled("making_c", "cc", "-std=c11", "-O2", source)
    return compiled("making_cc", "c++", "-std=c++11", "-x", "c++", source)


@pytest.fixture(scope="session")
def exceptions() -> str:
    return compiled("exceptions", "c++", "-std=c++17", str(SOURCES / "exceptions.cc"))


def test_nothing_is_linked() -> None:
    # The C driver does not link with the C++ library.
    flags = ("-std=c++20", "-fno-exceptions", "-fno-rtti", "-x", "c++")
    if SANITIZE:
        pytest.skip("the runtimes of the sanitizers are linked")
    for path in (
        compiled("alone_c", "cc", "-std=c11", *PLAIN),
        compiled("alone_cc", "cc", *flags, *PLAIN),
    ):
        needed = library.read(path).needed
        assert {name.partition(".")[0].partition("-")[0] for name in needed} <= {"libc", "ld"}


def test_the_header_is_found() -> None:
    assert (Path(fnabi.get_include()) / "fnabi" / "callee.h").is_file()


def test_what_is_exported(plain: str, exceptions: str) -> None:
    found = library.read(plain)
    assert {"add", "apply", "fail_elsewhere", "main"} <= set(found.functions)
    assert found.documented == ("add",)
    assert found.described == ("add", "nothing", "sum")
    assert not any(name.startswith("libtvm_ffi") for name in found.needed)
    for each in (found, library.read(exceptions)):
        assert each.has_error_slot
        assert each.required == ()
        assert each.optional == ("TVMFFIErrorSetRaisedFromCStr",)
        assert not each.needs_runtime_to_load
        assert not each.needs_runtime_to_call


# ------------------------------------------------------------------------- as tvm_ffi calls


@pytest.fixture(scope="session")
def tvm_ffi() -> Any:
    return pytest.importorskip("tvm_ffi")


def error_of(function: Any, *arguments: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(*arguments)
    return type(caught.value), str(caught.value).strip("\"'")


def test_values(plain: str, tvm_ffi: Any) -> None:
    lib = tvm_ffi.load_module(plain)
    assert lib.add(40, 2) == 42
    assert lib.add(True, -1) == 0
    assert lib.nothing() is None
    assert lib.halve(3) == 1.5
    assert lib.negate(0) is True
    assert lib.repeat("ab", 3) == "ababab"
    assert lib.repeat("a long text \0 ü", 2) == "a long text \0 ü" * 2
    assert lib.reverse(b"0123") == b"3210"
    assert lib.reverse("01234567") == b"76543210"
    assert lib.reverse(bytearray(range(256))) == bytes(range(256))[::-1]
    assert lib.next_pointer(ctypes.c_void_p(41)).value == 42
    assert lib.next_pointer(None).value == 1
    assert str(lib.double_lanes(tvm_ffi.dtype("float32"))) == "float32x2"
    assert lib.next_device(tvm_ffi.device("cpu", 1)) == tvm_ffi.device("cpu", 2)
    assert lib.main() == "the library"


def test_containers(plain: str, tvm_ffi: Any) -> None:
    lib = tvm_ffi.load_module(plain)
    assert lib.sum([1, 2.5, True]) == 4.5
    assert lib.sum(tvm_ffi.List([1, 2])) == 3
    assert list(lib.flatten({"a": 1, "a longer key": [2]})) == ["a", 1, "a longer key", [2]]
    for size in (0, 1, 4, 5, 100):
        assert list(lib.flatten({i: str(i) * 9 for i in range(size)})) == [
            part for i in range(size) for part in (i, str(i) * 9)
        ]
    assert list(lib.flatten(tvm_ffi.Dict({3: 4}))) == [3, 4]
    assert list(lib.texts(3)) == ["0", "a longer text, number 1", "2"]


def test_tensors(plain: str, tvm_ffi: Any) -> None:
    numpy = pytest.importorskip("numpy")
    lib = tvm_ffi.load_module(plain)
    x = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    assert lib.sum_tensor(x) == 276
    assert lib.sum_tensor(x[:, ::2, 1:3]) == x[:, ::2, 1:3].sum()
    assert list(lib.shape_of(x)) == [2, 3, 4]
    assert lib.product(tvm_ffi.Shape([2, 3, 4])) == 24
    kind, message = error_of(lib.sum_tensor, x.astype("float64"))
    assert (kind, message) == (TypeError, "sum_tensor() takes float32")


def test_functions(plain: str, tvm_ffi: Any) -> None:
    lib = tvm_ffi.load_module(plain)
    counter = lib.make_counter(5)
    assert [counter(), counter(10), lib.apply(counter, 1)] == [6, 16, 17]
    assert lib.live_closures() == 1
    assert error_of(counter, "x") == (TypeError, "counter() argument 0 must be int, not str")
    del counter
    gc.collect()  # the traceback of an error had it
    assert lib.live_closures() == 0
    assert lib.apply(lambda *xs: sum(xs), 1, 2, 3) == 6

    def raises() -> None:
        raise KeyError("from Python")

    assert error_of(lib.apply, raises) == (KeyError, "from Python")
    word = "a text that lives on the heap"
    assert lib.apply(lambda x: x, word) == lib.same(word) == word


def test_what_tvm_ffi_finds_beside_functions(plain: str, tvm_ffi: Any) -> None:
    lib = tvm_ffi.load_module(plain)
    assert lib.get_function_doc("add") == "Adds two integers.\n\nThey wrap around."
    for name, shown in {
        "add": "(int, int) -> int",
        "nothing": "() -> None",
        "sum": "(ffi.Array<float>) -> float",
    }.items():
        schema = lib.get_function_metadata(name)["type_schema"]
        assert str(fnabi.schema.parse_type(schema)) == shown


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("ValueError", ValueError),
        ("IndexError", IndexError),
        ("MemoryError", MemoryError),
        ("Unheard", RuntimeError),
    ],
)
def test_errors(plain: str, tvm_ffi: Any, kind: str, found: type[Exception]) -> None:
    lib = tvm_ffi.load_module(plain)
    assert error_of(lib.fail, kind, "100 %s") == (found, "100 %s")
    assert error_of(lib.fail_elsewhere) == (KeyError, "fail_elsewhere: elsewhere")
    assert error_of(lib.add, 1) == (TypeError, "add() takes 2 arguments, not 1")
    assert error_of(lib.add, 1, None) == (TypeError, "add() argument 1 must be int, not None")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((2**63, 1), "argument 0 (a): 9223372036854775808 does not fit in int64"),
        ((1, -(2**63) - 1), "argument 1 (b): -9223372036854775809 does not fit in int64"),
        ((2**64, 1 << 100_000), "argument 0 (a): 18446744073709551616 does not fit in int64"),
        ((1, 1 << 100_000), "argument 1 (b): the number does not fit in int64"),
    ],
)
def test_an_int_outside_int64_is_named(plain: str, arguments: tuple[int, int], text: str) -> None:
    add = fnabi.load_module(plain).add
    add.names = ("a", "b")
    for call in (add, lambda *values: add.map(*([value] for value in values))):
        with pytest.raises(fnabi.CallError) as caught:
            call(*arguments)
        assert str(caught.value) == f"add: {text}"
        assert isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(TypeError, match=r"argument 1 must be int, not None"):
        add(2**63 - 1, None)


@pytest.mark.parametrize("value", [[1.0], (1.0,)])
def test_a_list_for_a_tensor_is_told_how_to_be_one(plain: str, value: Any) -> None:
    shape_of = fnabi.load_module(plain).shape_of
    for call in (shape_of, lambda value: shape_of.map([value])):
        with pytest.raises(TypeError, match=r"argument 0 must be ffi.Tensor, not ffi.Array") as it:
            call(value)
        assert it.value.__notes__[0].startswith("argument 0 is an ffi.Array, as lists and tuples")
    for other in ("text", {}):
        with pytest.raises(TypeError) as it:
            shape_of(other)
        assert not hasattr(it.value, "__notes__")


def test_an_example_names_what_it_expects() -> None:
    source = ROOT / "examples" / "kernels.c"
    lib = fnabi.load_module(built("kernels", "cc", str(source), f"-I{fnabi.get_include()}", "-lm"))
    expected = "norm() argument 0 must be a float32 vector in memory of the CPU, not float64 of ra"
    with pytest.raises(TypeError, match=re.escape(expected)):
        lib.norm(np.ones(3))


def test_exceptions(exceptions: str, tvm_ffi: Any) -> None:
    lib = tvm_ffi.load_module(exceptions)
    assert lib.join(["a", "bcdefghijk", ""]) == "abcdefghijk"
    assert error_of(lib.join, ["a", 1]) == (ValueError, "item 1 is no text")
    assert lib["at"](3) == 9
    assert error_of(lib["at"], 4)[0] is IndexError
    assert error_of(lib.raise_it, 0) == (MemoryError, "out of memory")
    assert error_of(lib.raise_it, 1) == (RuntimeError, "too much")  # tvm_ffi knows few kinds
    assert error_of(lib.raise_it, 2) == (RuntimeError, "it %d %s")
    assert error_of(lib.raise_it, 3) == (ValueError, "outside")
    assert error_of(lib.raise_it, 4)[1] == "raise_it() threw something other than a std::exception"
    counter = lib.word_counter()
    assert [counter("a"), counter("b"), counter("a")] == [1, 1, 2]
    assert lib.live() == 1
    del counter
    assert lib.live() == 0


def test_the_runtime_may_come_after_the_library(plain: str, tvm_ffi: Any) -> None:
    # A weak symbol that was NULL when the library was loaded stays NULL.
    code = (
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1])\n"
        "import tvm_ffi\n"
        "try: tvm_ffi.load_module(sys.argv[1]).fail('ValueError', 'told')\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, plain], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


# ------------------------------------------------------------------ what the compiler refuses

MISTAKES = {
    "return callee_return_int(call, call->args[0].as.integer);": "read arguments with callee_int",
    "int a = 1; return a + 1;": "callee_status",
    "callee_value v; callee_put_int(&v, 1); return v;": "callee_status",
    "callee_value v; callee_put_int(&v, 1); return callee_return_owned(call, v);": "callee_value",
    "const callee_tensor_value* x; callee_tensor(call, 0, &x);"
    "return callee_return_tensor(call, x);": "callee_tensor_object",
    "callee_put_none(call->result);": "return-type",
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_mistakes_do_not_compile(compiler: str, language: str) -> None:
    for body, told in MISTAKES.items():
        done = subprocess.run(
            [found(compiler), "-x", language, "-fsyntax-only", "-I", fnabi.get_include(), "-"],
            input=f"#include <fnabi/callee.h>\nCALLEE_EXPORT(f) {{ {body} }}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0, body
        assert told in done.stderr, (body, done.stderr)


# ------------------------------------------------------------------------- maps and tensors


@pytest.fixture(params=["fnabi", "tvm_ffi"])
def caller(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def test_maps_are_made(making: str, caller: Any) -> None:
    lib = caller.load_module(making)
    for size in (0, 1, 3, 4, 5, 8, 9, 100, 3000):
        keys = [f"k{i}" * (i % 5 + 1) for i in range(size)]
        made = lib.zip(keys, list(range(size)))
        assert type(made) is caller.Map
        assert list(made.items()) == list(zip(keys, range(size), strict=True))
        assert all(made[key] == i for i, key in enumerate(keys))
        assert "nothing" not in made
    keys = [0, 1, True, 1.0, "a", b"a", "a longer key", b"a longer key", None]
    made = lib.zip(keys * 2, list(range(len(keys) * 2)))
    assert [value for _, value in made.items()] == list(range(len(keys), len(keys) * 2))
    twice = lib.zip(["b", "a", "b"], [["dropped"], 2, ["a value", 3]])
    assert [(key, str(value)) for key, value in twice.items()][1] == ("a", "2")
    assert list(twice["b"]) == ["a value", 3]
    assert lib.find({"a": 1, "b": [2]}, "a") == 1
    assert error_of(lib.find, {"a": 1}, "c") == (KeyError, "c")
    assert error_of(lib.zip, ["a"], []) == (ValueError, "1 keys and 0 values")


def test_a_map_can_be_changed_by_the_caller(making: str, caller: Any) -> None:
    """A Dict of any size, which is changed in place."""
    lib = caller.load_module(making)
    for size in (0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 500):
        keys = [f"k{i}" * (i % 5 + 1) for i in range(size)]
        made = lib.dict(lib.zip(keys, list(range(size))))
        assert type(made) is caller.Dict
        model = dict(zip(keys, range(size), strict=True))
        for i in range(100):
            made[f"more {i}"] = model[f"more {i}"] = i
        for key in list(model)[::3]:
            del made[key], model[key]
        assert list(made.items()) == list(model.items())
        assert all(made[key] == value for key, value in model.items())


def test_tensors_are_made(making: str, caller: Any) -> None:
    numpy = pytest.importorskip("numpy")
    lib = caller.load_module(making)
    x = numpy.arange(6, dtype="float32").reshape(2, 3)
    made = lib.scaled(x, 2)
    assert type(made) is caller.Tensor
    assert (numpy.from_dlpack(made) == 2 * x).all()
    assert lib.dropped(x) is None
    assert error_of(lib.scaled, x.T, 2)[0] is TypeError
    assert "non-contiguous float32 of rank 2" in error_of(lib.scaled, x.T, 2)[1]
    assert lib.scaled(x[:1].T, 2).shape == (3, 1)
    assert lib.matrix(numpy.zeros((3, 4), dtype="int64")) == 12
    assert "float32 of rank 2 on device 1:0" in error_of(lib.matrix, x)[1]
    assert lib.scaled(numpy.zeros((0, 3), dtype="float32"), 1).shape == (0, 3)


def test_tensors_are_those_of_torch(making: str, caller: Any) -> None:
    torch = pytest.importorskip("torch")
    lib = caller.load_module(making)
    x = torch.arange(6, dtype=torch.float32)
    made = lib.scaled(x, 2)
    assert type(made) is torch.Tensor
    assert (made == 2 * x).all()
    made += 1
    assert lib.dropped(x) is None


def test_tensors_that_cannot_be(making: str, caller: Any) -> None:
    lib = caller.load_module(making)
    float32 = fnabi.DType("float32") if caller is fnabi else caller.dtype("float32")
    cpu, cuda = (
        fnabi.Device(name) if caller is fnabi else caller.device(name) for name in ("cpu", "cuda")
    )
    for rank, dims, device, no_shape, kind, told in (
        (-1, [2], cpu, False, ValueError, "a tensor of rank -1; expected 0 to 64"),
        (65, [2], cpu, False, ValueError, "a tensor of rank 65; expected 0 to 64"),
        (None, [2, -3], cpu, False, ValueError, "dim 1 of a tensor is negative: -3"),
        (None, [2**62, 4], cpu, False, ValueError, "a tensor that is larger than memory"),
        (None, [2**50], cpu, False, (MemoryError, RuntimeError), "memory$"),
        (None, [2], cpu, True, ValueError, "a tensor whose shape is NULL"),
        (None, [2], cuda, False, RuntimeError, "without|allocator"),
    ):
        with pytest.raises(kind, match=told):
            lib.empty(float32, caller.Shape(dims), device, rank, no_shape)
    if caller is fnabi:
        told = "^a tensor cannot be allocated: it is larger than memory$"
        with pytest.raises(RuntimeError, match=told):
            lib.empty(float32, caller.Shape([2**50]), cpu, None, False)
    assert lib.empty(float32, caller.Shape([2, 3]), cpu, None, False)[1] is True
    assert lib.empty(float32, caller.Shape([]), cpu, None, True)[0].shape == ()


def test_null_is_an_error(making: str, caller: Any) -> None:
    lib = caller.load_module(making)
    for which in range(8):
        assert error_of(lib.null, which) == (ValueError, "null() returned a value that is NULL")
    assert error_of(lib.null, 8)[0] is ValueError
    assert error_of(lib.null, 9) == (TypeError, "null() argument 1 is missing")
    assert error_of(lib.null, 10) == (RuntimeError, "")
    assert lib.null(11) == ""
    assert lib.null(13) is True
    assert len(lib.null(12)) == 0


MAKING = """
import sys
if sys.argv[2] == "without":
    sys.modules["tvm_ffi"] = None
import fnabi, numpy
lib = fnabi.load_module(sys.argv[1])
if sys.argv[2] == "after":
    import tvm_ffi
x = numpy.arange(3, dtype="float32")
assert type(lib.scaled(x, 2)) is fnabi.Tensor
assert lib.scaled(x, 2).numpy().tolist() == [0, 2, 4]
try:
    lib.scaled("x", 2)
except TypeError as error:
    assert str(error) == "scaled() argument 0 must be ffi.Tensor, not str"
else:
    raise AssertionError
if sys.argv[3] == "torch":
    import torch
    assert type(lib.scaled(torch.ones(3), 2)) is torch.Tensor
    assert type(lib.scaled(x, 2)) is fnabi.Tensor
if sys.argv[2] == "after":
    assert type(tvm_ffi.load_module(sys.argv[1]).scaled(x, 2)) is tvm_ffi.Tensor
"""


@pytest.mark.parametrize("runtime", ["without", "installed", "after"])
def test_tensors_are_made_whatever_is_loaded(making: str, runtime: str) -> None:
    pytest.importorskip("numpy")
    if runtime != "without":
        pytest.importorskip("tvm_ffi")
    torch = "torch" if find_spec("torch") else "-"
    done = subprocess.run(
        [sys.executable, "-c", MAKING, making, runtime, torch],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---------------------------------------------------------------------- without any runtime

WITHOUT = """
import ctypes, sys, threading

class Any(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int32), ("size", ctypes.c_uint32), ("value", ctypes.c_int64)]

class Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

class Error(ctypes.Structure):
    _fields_ = [("kind", Span), ("message", Span)]

lib = ctypes.CDLL(sys.argv[1])

def call(name, *values):
    args = (Any * len(values))(*(Any(1, 0, value) for value in values))
    result = Any()
    status = lib["__tvm_ffi_" + name](None, args, len(values), ctypes.byref(result))
    return status, result.tag, result.value

def taken():
    error = Error()
    status = lib.__getattr__("__fnabi_error_slot")(
        ctypes.byref(error), ctypes.c_size_t(ctypes.sizeof(error)))
    return status, error.kind.data, error.message.data

print(call("add", 40, 2), taken())
print(call("add", 1), taken(), taken())
print(call("fail_elsewhere")[0])
thread = threading.Thread(target=lambda: print(taken(), call("add")[0], taken()))
thread.start(), thread.join()
print(taken())
assert not any("tvm_ffi" in name for name in sys.modules)
"""


def test_errors_without_a_runtime(plain: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT, plain], capture_output=True, text=True, check=False
    )
    none = "(0, None, None)"
    told = r"(1, b'TypeError', b'add() takes 2 arguments, not {}')"
    assert done.stdout.splitlines() == [
        f"(0, 1, 42) {none}",
        f"(-1, 0, 0) {told.format(1)} {none}",
        "-1",
        f"{none} -1 {told.format(0)}",
        "(1, b'KeyError', b'fail_elsewhere: elsewhere')",
    ], done.stderr


# ------------------------------------------------------------------------------ as fnabi calls

OURS = """
import gc, sys
if sys.argv[2] == "without":
    sys.modules["tvm_ffi"] = None  # as if it were not installed
elif sys.argv[2] == "before":
    import tvm_ffi
import fnabi
lib = fnabi.load_module(sys.argv[1])
if sys.argv[2] == "after":
    import tvm_ffi
assert lib.add(40, 2) == 42
assert str(lib.add.__signature__) == "(arg0: int, arg1: int, /) -> int"
assert lib.add.__doc__ == "Adds two integers.\\n\\nThey wrap around."
assert lib.repeat("a long text", 2) == "a long texta long text"
assert lib.reverse(bytes(range(9))) == bytes(range(9))[::-1]
assert list(lib.flatten({"a": 1, "a longer key": 2.5})) == ["a", 1, "a longer key", 2.5]
assert list(lib.texts(2)) == ["0", "a longer text, number 1"]
counter = lib.make_counter(1)
assert lib.apply(counter, 2) == 3
del counter
gc.collect()
assert lib.live_closures() == 0
for expected, call in (
    ("TypeError('add() takes 2 arguments, not 1')", lambda: lib.add(1)),
    ("KeyError('fail_elsewhere: elsewhere')", lambda: lib.fail_elsewhere()),
    ("OverflowError('far too much')", lambda: lib.fail("OverflowError", "far too much")),
    ("ZeroDivisionError('division by zero')", lambda: lib.apply(lambda: 1 / 0)),
):
    try:
        call()
    except Exception as error:
        assert repr(error) == expected, error
    else:
        raise AssertionError(expected)
try:
    lib.fail_silently()
except fnabi.CallError as error:
    assert "fail_silently" in str(error)
"""


@pytest.mark.parametrize("runtime", ["without", "installed", "before", "after"])
def test_fnabi(plain: str, runtime: str) -> None:
    if runtime != "without":
        pytest.importorskip("tvm_ffi")
    done = subprocess.run(
        [sys.executable, "-c", OURS, plain, runtime], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
