"""Calls: every recorded case of tvm_ffi, arguments, results, and the references of both."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import json
import pickle
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

import fnabi
from fnabi import ArgumentValueError, CallError, Function, LibraryError
from fnabi._base import lane
from support.apart import run_apart
from support.callee import SOURCES, callee_library, exported, interop_library
from support.sanitizers import SANITIZE, check_grown, check_nothing_kept, resident

LONG = "a string longer than seven bytes"
CASES = json.loads((SOURCES / "cases.json").read_text())["cases"]


def plain(name: str) -> Function:
    return exported(interop_library("c_plain"), name)


def odd(name: str) -> Function:
    return exported(interop_library("c_odd"), name)


def run(script: str, *arguments: str) -> str:
    """Run a program, which must succeed, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ------------------------------------------------------------------- the recorded cases


@dataclass(frozen=True)
class Better:
    """The result of fnabi if it differs from the record, and the reason."""

    why: str
    value: object = None
    error: type[BaseException] | None = None
    message: str = ""


READ_ONLY = Better(
    "the text says what to do",
    error=CallError,
    message="tensor_info: argument 0: expected memory that may be written to, got a read-only"
    " array; pass a copy, or set allow_read_only of a function that only reads",
)
BETTER = {
    ("apply", "throw(KeyError('k'))"): Better(
        "the exception itself comes out", error=KeyError, message="'k'"
    ),
    ("apply", "throw(KeyboardInterrupt())"): Better(
        "the exception itself comes out", error=KeyboardInterrupt
    ),
    ("apply_times", "1/0"): Better(
        "the exception itself comes out", error=ZeroDivisionError, message="division by zero"
    ),
    ("tensor_info", '"readonly": true'): READ_ONLY,
    ("alloc_like", '"np"'): Better("memory is allocated without a framework", value=ANY),
    ("unknown_pod_tag", "[]"): Better(
        "no value is guessed",
        error=CallError,
        message="unknown_pod_tag: the function returned type index 33 with payload 0x1, which"
        " is no value of the ABI; the library may be built for another version of it",
    ),
}
"""Keyed by the name of the function and a part of its arguments."""

PEER_BETTER = {
    ("strong_count", "tensor"): Better("a call holds what tvm_ffi may let go of", value=2),
}
"""The same for arguments of tvm_ffi's types."""


def case_name(case: dict[str, Any]) -> str:
    return f"{case['fn']}({', '.join(json.dumps(arg)[:40] for arg in case['args'])})"


def array_of(spec: dict[str, Any]) -> np.ndarray:
    array = np.array(spec["data"], spec["dtype"]).reshape(spec["shape"])
    if spec.get("strided"):
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        array = wide[..., ::2]
    if spec.get("readonly"):
        array.flags.writeable = False
    return array


@cache
def module(name: str) -> fnabi.Library:
    pytest.importorskip("tvm_ffi")
    return fnabi.load_module(interop_library(name.removeprefix("lib"), link=name == "libc_err"))


@dataclass(frozen=True)
class Fnabi:
    """Make arguments of fnabi's types."""

    def __call__(self, arg: Any) -> Any:
        if isinstance(arg, list):
            return [self(item) for item in arg]
        if not isinstance(arg, dict):
            return arg
        [(key, spec)] = arg.items()
        common: dict[str, Callable[[Any], object]] = {
            "f": float,
            "bytes": bytes.fromhex,
            "np": array_of,
            "np0": lambda spec: np.dtype(spec[0]).type(spec[1]),
            "npdtype": np.dtype,
            "list": self,
            "tuple": lambda spec: tuple(self(spec)),
            "dict": lambda spec: dict(self(spec)),
            "py": eval,
            "ptr": ctypes.c_void_p,
            "call": lambda spec: self.call(spec[0], spec[1], self(spec[2])),
        }
        return common[key](spec) if key in common else self.own(key, spec)

    def call(self, library: str, name: str, args: list[Any]) -> Any:
        return module(library)[name](*args)

    def own(self, key: str, spec: Any) -> Any:
        if key == "tensor":
            return fnabi.from_dlpack(array_of(spec))
        if key == "dtype":
            import tvm_ffi

            return plain("first")(tvm_ffi.dtype(spec))
        if key == "device":
            return fnabi.Device(spec)
        if key == "shape":
            return fnabi.Shape(spec)
        return getattr(fnabi, key)(dict(self(spec)) if key in ("Map", "Dict") else self(spec))


@dataclass(frozen=True)
class Peer(Fnabi):
    """Make arguments of tvm_ffi's types."""

    def own(self, key: str, spec: Any) -> Any:
        import tvm_ffi

        if key == "tensor":
            return tvm_ffi.from_dlpack(array_of(spec))
        if key in ("dtype", "device"):
            return getattr(tvm_ffi, key)(spec)
        if key == "shape":
            return tvm_ffi.Shape(spec)
        return getattr(tvm_ffi, key)(dict(self(spec)) if key in ("Map", "Dict") else self(spec))


def encoded(value: Any) -> Any:
    """Return a value in the form of the record."""
    if value is None or isinstance(value, (bool, int, str)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, float):
        return {"f": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, fnabi.Shape):
        return {"shape": list(value)}
    if isinstance(value, fnabi.types.DType):
        return {"dtype": plain("raw")(value)}
    if isinstance(value, fnabi.Device):
        return {"device": str(value)}
    if isinstance(value, ctypes.c_void_p):
        return {"ptr": value.value or 0}
    if isinstance(value, (fnabi.Array, fnabi.List)):
        return {type(value).__name__: [encoded(item) for item in value]}
    if isinstance(value, (fnabi.Map, fnabi.Dict)):
        pairs = [[encoded(key), encoded(item)] for key, item in value.items()]
        return {type(value).__name__: pairs}
    if isinstance(value, (np.ndarray, fnabi.Tensor)):
        key = "np" if isinstance(value, np.ndarray) else "tensor"
        array = np.from_dlpack(value)
        spec = {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "data": array.ravel().tolist(),
        }
        return {key: spec}
    if isinstance(value, Function):
        return {"object": "Function"}
    kind = type(value)
    if kind is fnabi.Object:
        return {"object": "tvm_ffi.core.Object"}
    return {"object": f"{kind.__module__}.{kind.__qualname__}"}


def normalized(expected: Any) -> Any:
    """Return a record in comparable form: dtypes by their bits, tensors by their numbers."""
    if isinstance(expected, dict) and "dtype" in expected:
        import tvm_ffi

        return {"dtype": plain("raw")(tvm_ffi.dtype(expected["dtype"]))}
    if isinstance(expected, dict) and ("tensor" in expected or "np" in expected):
        [(key, spec)] = expected.items()
        array = array_of(spec)
        return {
            key: {
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "data": array.ravel().tolist(),
            }
        }
    return expected


@pytest.mark.parametrize("make", [Fnabi(), Peer()], ids=["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_recorded_cases(case, make):
    module("libc_err")  # and with it the runtime
    function = module(case["lib"])[case["fn"]]
    if case["fn"] == "live":
        gc.collect()
    args = make(case["args"])
    expect = case["expect"]
    table = BETTER | (PEER_BETTER if isinstance(make, Peer) else {})
    text = json.dumps(case["args"])
    for (name, part), better in table.items():
        if name == case["fn"] and part in text:
            if better.error is None:
                assert function(*args) == better.value
            else:
                with pytest.raises(better.error) as raised:
                    function(*args)
                assert str(raised.value) == better.message
            return
    if "crash" in expect:
        with pytest.raises((CallError, LibraryError), match=f"^{case['fn']}: .*see its doc"):
            function(*args)
    elif "error" in expect:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the record says which
            function(*args)
        assert expect["error"]["type"] in [kind.__name__ for kind in type(raised.value).__mro__]
        assert str(raised.value) == expect["error"]["message"]
    else:
        answer = function(*args)
        assert encoded(answer) == normalized(expect["value"])
        if "identity_of_arg" in expect:
            assert answer is args[expect["identity_of_arg"]]
        for arg, after in zip(args, expect.get("after", ()), strict=False):
            assert encoded(plain("first")(arg) if "tensor" in after else arg) == normalized(after)


# ------------------------------------------------------------------- names


def named(*names: str) -> Function:
    function = odd("swallow") if not names else plain("apply")
    function.names = names
    return function


def test_arguments_by_name():
    apply = named("function", "a", "b")
    assert apply(lambda a, b: a - b, 5, b=3) == 2
    assert apply(b=3, a=5, function=lambda a, b: a - b) == 2
    assert apply(b=3, a=5, function=lambda a, b: a - b) == 2
    assert Function.__call__(apply, lambda a, b: a - b, 5, b=3) == 2
    assert apply.bind(lambda a, b: a - b, b=3, a=5)() == 2
    assert apply.map(lambda a, b: a - b, b=[1, 2], a=(5, 5)).tolist() == [4, 3]


@pytest.mark.parametrize(
    ("args", "named_args", "message"),
    [
        ((print,), {"c": 1}, "argument 'c': no parameter has this name"),
        ((print, 1), {"a": 1}, "argument 'a': also given by position"),
        ((print,), {"b": 1}, "argument 'a' is missing"),
        ((), {"a": 1}, "argument 'function' is missing"),
        ((1, 2, 3, 4), {"b": 1}, "argument 'b': also given by position"),
    ],
)
def test_bad_names(args, named_args, message):
    apply = named("function", "a", "b")
    for call in (apply, apply.bind, apply.map):
        with pytest.raises(CallError, match=f"^apply: {message}$"):
            call(*args, **named_args)


def test_names_that_are_not_known():
    function = plain("nargs")
    assert function.names is None
    with pytest.raises(
        CallError,
        match=r"^nargs: argument 'x': the function's parameter names are unknown; pass it",
    ):
        function(x=1)
    function.names = ["x"]
    assert function.names == ("x",)
    assert function(x=1) == 1
    function.names = None
    assert function.names is None
    for bad in ("xy", ["x", 1], [None], 5):
        with pytest.raises(CallError, match=r"names: expected a sequence of str"):
            function.names = bad


def test_dtypes_that_are_made_for_one_call():
    """The next one may get their address."""
    double = fnabi.load_module(callee_library()).double_lanes
    for lanes in range(1, 300):
        assert str(double(fnabi.DType(f"int8x{lanes}"))) == f"int8x{2 * lanes}"


def test_an_error_whose_class_cannot_be_imported():
    told = run_apart(
        """
        import sys, fnabi
        function = fnabi.Function(len)
        sys.modules["fnabi.calls._hooks"] = None
        try: function(unknown=1)
        except ImportError as problem: print(problem.name)
        """
    )
    assert told.split() == ["fnabi.calls._hooks"]


def test_a_callable_that_refers_to_its_function() -> None:
    class Keeps:
        def __init__(self) -> None:
            self.function = Function(self.run)

        def run(self) -> None: ...

    kept: Any = Keeps()
    seen = weakref.ref(kept)
    del kept.function
    kept = None
    gc.collect()
    assert seen() is None


def test_chains_of_functions_are_freed_on_a_small_stack() -> None:
    """A function of a function, and a call whose argument is a call, and so on."""
    told = run_apart(
        """
        import threading
        from fnabi import Function

        class Witness:
            def __call__(self): ...
            def __del__(self):
                freed.append(threading.current_thread())

        def run():
            for grow in (Function, lambda last: Function(print).bind(last)):
                chain = Function(Witness())
                for _ in range(50_000):
                    chain = grow(chain)
                del chain
                assert freed.pop() is threading.current_thread()

        freed = []
        threading.stack_size(256 * 1024)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        print(freed)
        """
    )
    assert told == "[]\n"


def test_a_function_describes_itself():
    function = plain("nargs")
    assert repr(function) == "<fnabi.Function nargs>"
    function.__doc__ = "How many."
    function.__signature__ = inspect.Signature()
    assert function.__doc__ == "How many."
    assert inspect.signature(function) == inspect.Signature()
    assert inspect.getdoc(function) == "How many."
    nameless, other = Function(print), plain("nargs")
    del other.__name__
    assert re.fullmatch(r"<fnabi\.Function at 0x[0-9a-fA-F]*[1-9a-fA-F][0-9a-fA-F]*>", repr(other))
    assert repr(nameless).startswith("<fnabi.Function at 0x")
    with pytest.raises(AttributeError):
        nameless.__name__  # noqa: B018
    with pytest.raises(CallError, match="__name__: expected str, got int"):
        nameless.__name__ = 1
    assert "callable" in str(inspect.signature(Function))


def test_the_same_function():
    library = interop_library("c_plain")
    nop = exported(library, "nop")
    assert nop == exported(library, "nop")
    assert hash(nop) == hash(exported(library, "nop"))
    assert nop != exported(library, "first")
    assert nop != print
    again = plain("first")(nop)
    assert again == nop
    assert hash(again) == hash(nop)
    assert again() is None
    callback = Function(len)
    assert plain("first")(callback) == callback
    assert Function(len) != callback


@pytest.mark.parametrize("count", range(7))
def test_callables_of_every_kind_get_their_arguments(count):
    """Few arguments are passed without a tuple, and more in one."""
    got = []

    class Kinds:
        def __init__(self, *values):
            got.append(values)

        def method(self, *values):
            got.append(values)

        __call__ = method

    def function(*values):
        got.append(values)

    made = Kinds()
    values = [object() for _ in range(count)]
    before = [sys.getrefcount(value) for value in values]
    kinds = [function, made.method, made, partial(function), partial(made.method), Kinds]
    for kind in kinds:
        Function(kind)(*values)
    assert got == [(), *[tuple(values)] * len(kinds)]
    got.clear()
    assert [sys.getrefcount(value) for value in values] == before
    with pytest.raises(TypeError, match="missing"):
        Function(lambda a, b, c, d, e, f, g: None)(*values)


@pytest.mark.parametrize("value", [0, 1 << 64, "1", None, 1.0])
def test_no_address(value):
    with pytest.raises(CallError, match=r"^Function.from_address: address: expected the address"):
        Function.from_address(value)


def test_no_callable():
    with pytest.raises(CallError, match=r"^Function: callable: expected a callable, got int"):
        Function(1)


def test_what_cannot_be_pickled_says_so():
    library = fnabi.load_module(interop_library("c_plain"))
    values = [fnabi.Any(1), fnabi.AnyArray([1]), Function(print), plain("nop").bind()]
    values += [fnabi.from_dlpack(np.zeros(2)), library, library.functions, fnabi.Catalog(None)]
    for value in values:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(CallError, match=f"^{type(value).__name__}: cannot be pickled or c"):
                attempt(value)


# ------------------------------------------------------------------- arguments and results


class Int(int):
    def bit_length(self):
        return 1

    def to_bytes(self, *args, **named):
        return b""


class Odd:
    def __init__(self, **methods):
        self.__dict__ |= methods


def with_method(name: str, answer: object) -> object:
    methods = {name: lambda self: self if answer is Odd else answer, "__repr__": lambda self: name}
    return type("Given", (), methods)()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Int(1 << 70), 1 << 70),
        (Fraction(3, 2), 1.5),
        (np.longdouble(2.5), 2.5),
        (np.clongdouble(1 + 2j), 1 + 2j),
        (np.float16(0.5), 0.5),
        (np.bool_(True), True),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (b"\x00" * 9, b"\x00" * 9),
        (bytearray(b"ab"), b"ab"),
        ("\udcff a name that is no UTF-8", "\udcff a name that is no UTF-8"),
        (fnabi.AnyArray([1, "x"]), fnabi.Array([1, "x"])),
        (with_method("__tvm_ffi_int__", 3), 3),
        (with_method("__tvm_ffi_float__", 0.5), 0.5),
        (with_method("__tvm_ffi_value__", "text"), "text"),
        (with_method("__tvm_ffi_object__", 7), 7),
    ],
    ids=repr,
)
def test_arguments(value, expected):
    answer = plain("first")(value)
    assert answer == expected
    assert type(answer) is type(expected) or isinstance(expected, fnabi.Array)


@pytest.mark.parametrize(
    ("name", "answer", "kind", "expected"),
    [
        ("__tvm_ffi_int__", "x", ValueError, "a number, got 'x'"),
        ("__tvm_ffi_int__", None, TypeError, "a number, got None"),
        ("__tvm_ffi_float__", "x", TypeError, "a number, got 'x'"),
        ("__tvm_ffi_opaque_ptr__", "x", TypeError, "an address, got 'x'"),
        ("__tvm_ffi_opaque_ptr__", 1 << 64, OverflowError, "an address, got an int that is too"),
    ],
)
def test_answers_that_are_no_values(name, answer, kind, expected):
    text = rf"^first: argument 0: {name}\(\): expected {expected}"
    with pytest.raises(CallError, match=text) as caught:
        plain("first")(with_method(name, answer))
    assert isinstance(caught.value, kind)


def test_a_conversion_that_fails_keeps_its_error():
    class Broken:
        def __int__(self):
            raise ValueError("broken")

    with pytest.raises(ValueError, match=r"^broken$"):
        plain("first")(with_method("__tvm_ffi_int__", Broken()))


def test_numbers_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    first = plain("first")
    assert (first(ml_dtypes.int4(3)), plain("tag")(ml_dtypes.int4(3))) == (3, 1)
    assert first(ml_dtypes.bfloat16(1.5)) == 1.5


@pytest.mark.parametrize(
    "value",
    [
        *(object(), 1j, {1}, NotImplemented),
        *(np.datetime64("2020-01-01"), np.datetime64(1, "ns"), np.datetime64("NaT", "s")),
        *(np.timedelta64(5, "Y"), np.timedelta64(5, "ns"), np.void(b"ab")),
        np.array([(1, 2)], "i4,i4")[0],
    ],
)
def test_opaque_arguments_come_back_as_they_are(value):
    assert plain("tag")(value) == 74
    assert plain("first")(value) is value


def test_looking_for_a_conversion_keeps_no_reference_to_it():
    first = plain("first")

    def convert(self):
        return 3

    before = sys.getrefcount(convert)
    for _ in range(1000):
        assert first(type("Given", (), {"__tvm_ffi_value__": convert})()) == 3
    gc.collect()
    assert sys.getrefcount(convert) - before < 500  # some classes are known, and stay


def test_classes_are_callables():
    assert plain("apply")(int, "12") == 12
    assert plain("tag")(int) == 68


def test_an_argument_that_stands_for_itself():
    for name in ("object", "value", "int", "float"):
        with pytest.raises(
            CallError, match=r"^first: argument 0: .*its conversion returned itself"
        ):
            plain("first")(with_method(f"__tvm_ffi_{name}__", Odd))
    deep: list[object] = []
    deep.append(deep)
    with pytest.raises(ArgumentValueError, match=r"^first: argument 0: nested too deeply"):
        plain("first")(deep)


@pytest.mark.parametrize(
    ("tag", "payload"),
    [
        (-1, 0),
        (-5, 1),
        (8, 1),  # borrowed, and by then perhaps gone
        (9, 1),
        (10, 1),
        (14, 0),
        (33, 1),
        (63, 1),
        (64, 0),
        (65, 0),
        (9999, 0),
        (0x7FFFFFFF, 0),
    ],
)
def test_results_that_are_none(tag, payload):
    answer = odd("answer")
    message = f"answer: the function returned type index {tag} with payload "
    with pytest.raises(CallError, match=message):
        answer(tag, payload)
    with pytest.raises(CallError, match=message) as raised:
        answer.map([tag], payload)
    assert raised.value.row == 0


def test_small_texts_of_impossible_size():
    for tag in (11, 12):
        with pytest.raises(CallError, match=r"^answer: the function returned type index"):
            odd("answer")(tag, 0, 8)
    assert odd("answer")(11, int.from_bytes(b"abcdefg", "little"), 3) == "abc"


def test_results_in_an_array_have_their_padding():
    array = odd("answer").map([1, 2, 3, 0], [42, 17, 0, 5])
    assert array == fnabi.AnyArray([42, True, 0.0, None])
    assert bytes(array) == bytes(fnabi.AnyArray([42, True, 0.0, None]))


def test_an_object_of_an_unknown_type_is_carried():
    thing = plain("unknown_obj_tag")()
    assert type(thing) is fnabi.Object
    assert thing.type_index == 9999
    assert plain("strong_count")(thing) == 1
    assert plain("first")(thing) == thing


def test_a_result_left_untouched():
    assert plain("unset_result")() is None


def test_a_function_without_code():
    empty_function = odd("empty_function")

    def refuse():
        with pytest.raises(CallError, match="result: the function object has no code to call"):
            empty_function()

    check_nothing_kept(refuse, CallError)


def test_a_failure_that_wrote_a_result():
    live = plain("live")()
    with pytest.raises(
        CallError, match=r"^fail_after_result: the function failed with status -1 an"
    ):
        plain("fail_after_result")()
    text = fnabi.Any(LONG)
    for _ in range(3):
        with pytest.raises(CallError, match="status -1"):
            odd("fail_with_result")(text)
    with pytest.raises(CallError, match="status -1"):
        odd("fail_with_result").map([text])
    assert plain("strong_count")(text) == 1
    assert plain("live")() == live


def test_plain_results():
    first = plain("first")
    first.plain = True
    value = first({"a": [1, {"b": (2,)}]})
    assert value == {"a": [1, {"b": [2]}]}
    assert type(value["a"][1]) is dict


# ------------------------------------------------------------------- bound calls


def test_bind():
    call = plain("add_ints").bind(1, 2, 3)
    assert [call(), call()] == [6, 6]
    assert call.args == (1, 2, 3)
    assert call.function == plain("add_ints")
    assert repr(call) == "<call of <fnabi.Function add_ints> with (1, 2, 3)>"
    for bad in ({"args": (1,)}, {"named": {"x": 1}}):
        with pytest.raises(CallError, match=r"^add_ints: the call is bound to its arguments"):
            call(*bad.get("args", ()), **bad.get("named", {}))
    with pytest.raises(CallError, match=r"^nargs: argument 1: .*its conversion returned itself"):
        plain("nargs").bind(1, with_method("__tvm_ffi_value__", Odd))


def test_a_bound_array_is_read_when_the_call_is_made():
    array = np.zeros(2, np.float32)
    call = plain("tensor_sum_strided").bind(array)
    assert call() == 0
    array[:] = 1, 2
    assert call() == 3


# ------------------------------------------------------------------- map

COLUMNS = {
    "list": [1, 2, 300],
    "tuple": (1, 2, 300),
    "range": range(1, 4),
    "AnyArray": fnabi.AnyArray([1, 2, 300]),
    "floats": np.array([1.5, 2.5, 3]),
    "objects": np.array([1, "x", None], object),
    "half": np.array([1, 2, 3], np.float16),
    "other end": np.array([1, 2, 3], ">i4"),
    "memoryview": memoryview(b"abc"),
    "ctypes": (ctypes.c_long * 3)(1, -2, 3),
    "reversed": np.arange(9)[::-3],
    "read-only": np.broadcast_to(np.int16(7), 3),
    "uint64": np.array([0, 2**63 - 1, 2**64 - 1], np.uint64),
    "bool": np.array([True, False, True]),
    **{code: np.array([0, 1, 100], code) for code in "bBhHiIlLqQfd"},
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name):
    column = COLUMNS[name]
    first = plain("first")
    expected = [first(item) for item in column]
    array = first.map(column)
    assert isinstance(array, fnabi.AnyArray)
    assert array.tolist() == expected
    assert [type(item) for item in array] == [type(item) for item in expected]


def test_values_beside_columns():
    array = np.zeros((2, 2), np.float32)
    for value in (1, "text", b"bytes", fnabi.Shape((1, 2)), {"a": 1}, array, fnabi.Array([1, 2])):
        assert plain("tag").map(value, [1, 2]).tolist() == [plain("tag")(value)] * 2
    assert plain("add_ints").map([1, 2], 10, (3, 4)).tolist() == [14, 16]


def test_rows_hold_their_objects():
    thing = object()
    before = sys.getrefcount(thing)
    values, array = fnabi.AnyArray([thing]), fnabi.Array([thing])
    plain("nargs").map(values)
    plain("nargs").map([1, 2], array)
    assert sys.getrefcount(thing) == before + 2
    assert values[0] is array[0] is thing


@pytest.mark.parametrize(
    ("format", "items"),
    [("hh", [(1, 2), (3, 4)]), ("ii", [(1, 2), (3, 4)]), ("e", [1, 2]), (">i", [1, 2])],
)
def test_map_of_a_memoryview_whose_items_python_cannot_read(format, items):
    made = pytest.importorskip("_testbuffer").ndarray(items, shape=[2], format=format)
    with pytest.raises(fnabi.ArgumentTypeError) as caught:
        plain("tag").map(memoryview(made))
    expected = f"expected a column of numbers, got a memoryview of the format '{format}'"
    assert str(caught.value) == f"tag: argument 0: {expected}"


def test_map_of_no_rows():
    assert plain("fail_silent").map([]).tolist() == []


@pytest.mark.parametrize("rows", [4095, 4096, 4097, 10_000])
def test_map_of_many_rows(rows):
    assert plain("add_ints").map(range(rows), 1).tolist() == list(range(1, rows + 1))
    wide = plain("nargs").map(*[range(100)] * 700)
    assert wide.tolist() == [700] * 100


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "map: no argument is a column; expected at least one"),
        ((1, "x"), "map: no argument is a column; expected at least one"),
        (([1], [1, 2]), "argument 1: expected a column of 1 rows, got 2"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises(CallError, match=f"^add_ints: {message}$"):
        plain("add_ints").map(*columns)


@pytest.mark.parametrize("at", [0, 3, 4096, 5000])
def test_the_first_failure_ends_a_map(at):
    seen = []

    def callback(i):
        seen.append(i)
        if i >= at:
            raise KeyError(i)
        return i

    with pytest.raises(KeyError) as raised:
        plain("apply").map(callback, range(6000))
    assert raised.value.row == at
    assert raised.value.__notes__ == [f"in row {at}"]
    assert seen == list(range(at + 1))


def test_a_row_that_cannot_be_converted():
    seen: list[object] = []
    bad = with_method("__tvm_ffi_value__", Odd)
    with pytest.raises(CallError, match=r"argument 2: .*its conversion returned itself") as raised:
        plain("apply").map(lambda a, b: seen.append(a), [1, 2, 3, 4], [1, 2, bad, 4])
    assert raised.value.row == 2
    assert seen == [1, 2]
    with pytest.raises(ZeroDivisionError) as raised:  # it comes first
        plain("apply").map(lambda a, b: 1 // (2 - a), [1, 2, 3, 4], [1, 2, bad, 4])
    assert raised.value.row == 1
    with pytest.raises(CallError) as raised:
        plain("apply").map(print, [1, 2, bad, 4], [1, bad, 3, 4])
    assert raised.value.row == 1


def test_a_column_that_shrinks():
    column = [1] * 10

    class Shrink:
        def __tvm_ffi_value__(self):
            column.clear()
            return 1

    column[3] = Shrink()
    with pytest.raises(IndexError) as raised:
        plain("nargs").map(column)
    assert raised.value.row == 4


def test_a_column_whose_items_fail():
    class Failing(list):
        def __getitem__(self, i):
            raise ZeroDivisionError

    class Ends(tuple):
        def __len__(self):
            return 5

    with pytest.raises(ZeroDivisionError) as raised:
        plain("nargs").map(Failing([1, 2, 3]))
    assert raised.value.row == 0
    with pytest.raises(IndexError) as raised:
        plain("nargs").map(Ends([1, 2, 3]))
    assert raised.value.row == 3


@pytest.mark.threads
@pytest.mark.parametrize("release", [True, False])
def test_other_threads_run_during_a_map(release):
    function = plain("nargs")
    function.release_gil = release
    rows = np.zeros(1_000_000)
    stop = threading.Event()
    count = 0

    def work():
        nonlocal count
        while not stop.is_set():
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = count
        assert len(function.map(rows)) == len(rows)
        deadline = time.monotonic() + 10
        while count == before and time.monotonic() < deadline:
            function.map(rows)
        assert count > before
    finally:
        stop.set()
        thread.join()


# ------------------------------------------------------------------- counts and memory


class Thing:
    pass


COUNTED: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "int": lambda: 1 << 62,
    "big int": lambda: 1 << 100,
    "float": lambda: 1.5,
    "bool": lambda: True,
    "short str": lambda: "short",
    "str": lambda: LONG,
    "bytes": lambda: LONG.encode(),
    "bytearray": lambda: bytearray(20),
    "list": lambda: [1, "x", [Thing()]],
    "dict": lambda: {"key": [1], 2: Thing()},
    "callable": lambda: lambda: None,
    "Function": lambda: Function(print),
    "exported": lambda: plain("nop"),
    "opaque": Thing,
    "exception": lambda: ValueError("text"),
    "Any": lambda: fnabi.Any(LONG),
    "AnyArray": lambda: fnabi.AnyArray([LONG]),
    "Array": lambda: fnabi.Array([LONG]),
    "Map": lambda: fnabi.Map({LONG: 1}),
    "Shape": lambda: fnabi.Shape((1, 2)),
    "array": lambda: np.zeros(3, np.float32),
    "scalar": lambda: np.float32(1),
    "pointer": lambda: ctypes.c_void_p(4096),
    "Device": lambda: fnabi.Device("cuda", 1),
    "dtype": lambda: np.dtype("f4"),
}


def peer_values() -> dict[str, object]:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    return {
        "tensor": tvm_ffi.from_dlpack(np.zeros(3, np.float32)),
        "array": tvm_ffi.Array([1, LONG]),
        "map": tvm_ffi.Map({"a": 1}),
        "function": tvm_ffi.convert(lambda *args: None),
        "string": tvm_ffi.core.String(LONG),
        "shape": tvm_ffi.Shape((1, 2)),
        "dtype": tvm_ffi.dtype("float32"),
        "device": tvm_ffi.device("cpu:0"),
    }


def failing(kind: type[BaseException], call: Callable[..., object]) -> Callable[[], None]:
    def fail() -> None:
        try:
            call()
        except kind:
            return
        raise AssertionError(kind)

    return fail


def check_counts(calls: list[Callable[[], object]], *values: object, times: int = 20_000) -> None:
    """Check that `times` rounds of calls leak no references, objects or memory."""
    live = plain("live")
    times = 200 if SANITIZE else times
    for call in calls:
        for _ in range(200):
            call()
    gc.collect()
    counts = [sys.getrefcount(value) for value in values]
    objects, memory = live(), resident()
    for call in calls:
        for _ in range(times):
            call()
    gc.collect()
    assert live() == objects
    after = [sys.getrefcount(value) for value in values]
    if values and values[0] is not None:  # of which everybody has some
        assert after == counts
    check_grown(memory, 4 << 20)  # an object leaked by each is more


@pytest.mark.parametrize("name", COUNTED)
def test_references(name):
    value = COUNTED[name]()
    first, apply = plain("first"), plain("apply")

    def fail(*args):
        raise ValueError

    check_counts(
        [
            lambda: first(value),
            lambda: apply(lambda x: x, value),
            lambda: first.bind(value)(),
            lambda: first.map([value], 1),
            lambda: first([value], {"key": value}),
        ],
        value,
    )
    bound = apply.bind(fail, value)
    check_counts([failing(ValueError, bound)], value, times=60_000)
    others = [lambda: apply(fail, value), lambda: apply.map(fail, [value])]
    check_counts([failing(ValueError, call) for call in others], value)


def test_references_of_tvm_ffi():
    first, apply = plain("first"), plain("apply")
    for value in peer_values().values():
        check_counts([lambda v=value: first(v), lambda v=value: apply(lambda x: x, v)], value)


def test_references_where_tvm_ffi_calls():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    first = tvm_ffi.load_module(interop_library("c_plain"))["first"]
    for name in ("Function", "exported", "Array", "Map"):
        value = COUNTED[name]()
        check_counts([lambda v=value: first(v)], value)


def test_results_are_let_go_of():
    calls = [
        plain("array_squares").bind(9),
        plain("map_build").bind(9),
        plain("make_counter").bind(),
        plain("str_repeat").bind(LONG, 3),
        plain("bytes_reverse").bind(LONG.encode()),
        plain("unknown_obj_tag").bind(),
        plain("no_deleter_str").bind(),
        plain("bad_padding_obj").bind(),
        plain("tensor_arange").bind(5),
    ]
    check_counts(list(calls), times=100_000)
    squares, column = plain("array_squares"), [5] * 10
    check_counts([lambda: squares.map(column)], times=10_000)


def without_backtrace(name: str) -> Function:
    return exported(interop_library("c_odd", "-DLINKED", link=True), name)


unfit = with_method("__tvm_ffi_value__", Odd)
FAILING: dict[str, tuple[type[BaseException], Callable[[], Callable[..., object]]]] = {
    "silently": (CallError, lambda: plain("fail_silent")),
    "with a result": (CallError, lambda: odd("fail_with_result").bind(LONG)),
    "libtvm_ffi's slot": (ValueError, lambda: without_backtrace("fail").bind(LONG)),
    "a library's slot": (KeyError, lambda: fnabi.load_module(callee_library()).fail_elsewhere),
    "a bad argument": (CallError, lambda: partial(plain("nop"), [LONG, unfit])),
    "a bad name": (CallError, lambda: partial(plain("nop"), LONG, name=LONG)),
    "a bad row": (CallError, lambda: partial(plain("nop").map, [LONG, unfit])),
    "a bad result": (CallError, lambda: plain("unknown_pod_tag")),
    "a callback's result": (CallError, lambda: plain("apply").bind(lambda: unfit)),
}


@pytest.mark.parametrize("how", FAILING)
def test_failures_are_let_go_of(how):
    kind, make = FAILING[how]
    check_counts([failing(kind, make())], times=100_000)


def test_native_backtraces_are_let_go_of():
    # libtvm_ffi needs at least 20 microseconds for one
    need_int = exported(interop_library("c_err", link=True), "need_int")
    check_counts([failing(TypeError, need_int.bind("x"))])


def test_cycles_are_collected():
    function = plain("nop")
    gone = weakref.ref(function)
    function.itself = function
    function.call = function.bind([function])
    del function.call  # a call holds its arguments in an object that cannot be looked into
    del function
    gc.collect()
    assert gone() is None


@pytest.mark.threads
@pytest.mark.parametrize("release", [True, False])
def test_two_threads(release):
    values = [1, 2.5, LONG, [1, [LONG]], {"a": LONG}, Thing(), print, np.zeros(2, np.float32)]
    first, times, apply = plain("first"), plain("apply_times"), plain("apply")
    first.release_gil = times.release_gil = release
    array = fnabi.Array([1, 2])
    problems: list[BaseException] = []

    def work():
        try:
            for _ in range(300):
                for value in values:
                    first(value)
                    first(array)
                assert times(lambda i: i, 10) == 45
                with pytest.raises(KeyError, match="mine"):
                    apply(lambda: {}["mine"])
                first.map([LONG] * 20, array)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert plain("strong_count")(array) == 1


# ------------------------------------------------------------------- beside tvm_ffi

ORDERS = {
    "fnabi first": "import fnabi, fnabi._base.lane; import tvm_ffi",
    "tvm_ffi first": "import tvm_ffi; import fnabi",
}

BESIDE = """
import sys, numpy as np
plain, err = sys.argv[1:]
mine, theirs = fnabi.load_module(plain), tvm_ffi.load_module(plain)
LONG = "a string longer than seven bytes"

# objects that tvm_ffi made
assert mine.apply(theirs["add_ints"], 1, 2) == 3
assert mine.apply(tvm_ffi.convert(lambda x: x + 1), 1) == 2
assert mine.seq_sum(tvm_ffi.Array([1, 2])) == mine.seq_sum(tvm_ffi.List([1, 2])) == 3
assert mine.map_sum(tvm_ffi.Map({"a": 1})) == mine.map_sum(tvm_ffi.Dict({"a": 1})) == 1
tensor = tvm_ffi.from_dlpack(np.arange(3, dtype="f4"))
assert mine.tensor_sum_strided(tensor) == 3
assert mine.first(tvm_ffi.core.String(LONG)) == LONG
assert mine.first(tvm_ffi.Shape((1, 2))) == (1, 2)
assert str(mine.first(tvm_ffi.device("cuda:3"))) == "cuda:3"
assert mine.raw(tvm_ffi.dtype("int8x4")) == theirs["raw"](tvm_ffi.dtype("int8x4"))
assert [*mine.first([tensor, theirs["nop"]])][1] is not None

# objects that fnabi made
first = theirs["first"]
assert theirs["apply"](fnabi.Function(lambda x: x + 1), 1) == 2
assert theirs["apply"](mine.add_ints, 1, 2) == 3
assert list(first(fnabi.Array([1, LONG]))) == [1, LONG]
assert dict(first(fnabi.Map({"a": 1}))) == {"a": 1}
assert theirs["tensor_sum_strided"](fnabi.from_dlpack(np.arange(3, dtype="f4"))) == 3
assert theirs["seq_sum"](fnabi.List([1, 2])) == 3

# in both directions, including errors
def boom(x):
    raise KeyError("deep")
try:
    theirs["apply"](fnabi.Function(lambda x: mine.apply(theirs["apply"], boom, x)), 1)
except KeyError as error:
    assert "deep" in str(error)
try:
    mine.apply(tvm_ffi.convert(boom), 1)
except KeyError as error:
    assert "deep" in str(error), error
    assert error.ffi_error.kind == "KeyError"
else:
    raise SystemExit("no error")
try:
    mine.apply(theirs["apply"], fnabi.Function(boom), 1)
except KeyError as error:
    assert error.args == ("deep",)
    assert not hasattr(error, "ffi_error")
failing = fnabi.load_module(err), tvm_ffi.load_module(err)
for each in failing:
    try:
        each["need_int"]("x")
    except TypeError as error:
        assert str(error) == "need_int: argument 0 is not an int"
# an error that tvm_ffi left does not become fnabi's
assert failing[1]["raise_then_ok"]() == 5
try:
    mine.fail_silent()
except fnabi.CallError as error:
    assert "left no error" in str(error)
print("good")
"""


@pytest.mark.parametrize("order", ORDERS)
def test_beside_tvm_ffi(order):
    pytest.importorskip("tvm_ffi")
    libraries = interop_library("c_plain"), interop_library("c_err", link=True)
    assert run(ORDERS[order] + BESIDE, *libraries) == "good\n"


def test_a_float_of_the_protocol_is_a_float() -> None:
    class Three:
        def __tvm_ffi_float__(self) -> int:
            return 3

    value = module("libc_plain").first(Three())
    assert (type(value), value) == (float, 3.0)


def test_which_cycles_are_collected() -> None:
    class Node:
        def __call__(self) -> None: ...

    def by_attribute() -> Node:
        node, function = Node(), fnabi.Function(print)
        function.me, function.node = function, node
        return node

    def by_callable() -> Node:
        node = Node()
        node.function = fnabi.Function(node)  # type: ignore[attr-defined]
        return node

    nodes = [by_attribute(), by_callable()]
    weak = [weakref.ref(node) for node in nodes]
    del nodes
    gc.collect()
    assert [ref() is None for ref in weak] == [True, False]
    del weak[1]().function  # as the documentation says: clear one of its members
    gc.collect()
    assert weak[1]() is None


def test_a_class_of_functions_lets_its_base_go():
    def made():
        lane.function_class("tests.Temporary")
        gc.collect()
        return sys.getrefcount(Function)

    assert made() == made()


def test_only_a_function_that_is_described_has_a_schema():
    function = Function(len)
    library = fnabi.load_module(callee_library())
    assert function.schema is None
    assert str(library.add.schema) == "(int, int) -> int"
    assert Function(lambda value: value)(function).schema is None
    kept = [1]
    before = sys.getrefcount(kept)
    function.schema = kept
    assert function.schema is kept
    del function
    assert sys.getrefcount(kept) == before


@pytest.mark.parametrize("kind", [ValueError, TypeError])
def test_only_a_type_error_about_a_large_int_says_that_it_does_not_fit(
    kind: type[Exception],
) -> None:
    """A function may refuse it for another reason."""

    def refuse(number: object) -> None:
        raise kind("argument 0 is odd")

    with pytest.raises(ValueError if kind is ValueError else fnabi.RangeError) as caught:
        fnabi.Function(refuse)(1 << 70)
    assert isinstance(caught.value, fnabi.RangeError) is (kind is TypeError)
