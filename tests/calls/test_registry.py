"""Global functions: fnabi's own registry, that of libtvm_ffi, and the move to the latter."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref

import pytest

import fnabi
from fnabi import registry
from fnabi._base import lane
from support.apart import run_apart
from support.callee import interop_library
from support.sanitizers import examples


@pytest.fixture(params=["own", "libtvm_ffi"])
def each_registry(request, monkeypatch):
    """Both registries, one after the other, in the process of the tests."""
    if request.param == "libtvm_ffi":
        pytest.importorskip("tvm_ffi")
    else:
        monkeypatch.setattr(lane, "runtime_loaded", lambda: False)
        find = lane.global_function
        monkeypatch.setattr(lane, "global_function", lambda name: find(name) and None)
        monkeypatch.setattr(registry, "_own", {})
    yield request.param
    for name in fnabi.list_global_func_names():
        if name.startswith("tests."):
            fnabi.remove_global_func(name)


@pytest.mark.usefixtures("each_registry")
class TestRegistry:
    def test_register_get_remove(self):
        function = fnabi.register_global_func("tests.add", lambda a, b: a + b)
        assert isinstance(function, fnabi.Function)
        assert function(1, 2) == 3
        found = fnabi.get_global_func("tests.add")
        assert found == function
        assert found(1, 2) == 3
        assert found.__name__ == "tests.add"
        assert "tests.add" in fnabi.list_global_func_names()
        fnabi.remove_global_func("tests.add")
        assert "tests.add" not in fnabi.list_global_func_names()
        assert fnabi.get_global_func("tests.add", allow_missing=True) is None
        assert found(1, 2) == 3
        fnabi.remove_global_func("tests.add")

    def test_decorators(self):
        @fnabi.register_global_func("tests.typed")
        def typed(x: int, y: str = "") -> list[str]:
            """Repeat a text."""
            return [y] * x

        @fnabi.register_global_func
        def tests_bare():
            return "bare"

        assert isinstance(typed, fnabi.Function)
        found = fnabi.get_global_func("tests.typed")
        assert found.__doc__ == "Repeat a text."
        assert str(inspect.signature(found)) == "(x: 'int', y: 'str' = '') -> 'list[str]'"
        assert list(found(2, "a")) == ["a", "a"]
        assert fnabi.get_global_func("tests_bare")() == "bare"
        fnabi.remove_global_func("tests_bare")

    def test_override(self):
        first = fnabi.register_global_func("tests.f", lambda: 1)
        with pytest.raises(fnabi.RegisteredError, match=r"'tests\.f' already") as caught:
            fnabi.register_global_func("tests.f", lambda: 2)
        assert isinstance(caught.value, RuntimeError)
        assert fnabi.get_global_func("tests.f")() == 1
        fnabi.register_global_func("tests.f", lambda: 2, override=True)
        assert fnabi.get_global_func("tests.f")() == 2
        assert first() == 1

    def test_a_function_object_is_registered_as_it_is(self):
        first = fnabi.register_global_func("tests.f", lambda: 1)
        assert fnabi.register_global_func("tests.g", first) is first
        assert fnabi.get_global_func("tests.g")() == 1

    def test_order(self):
        names = ["tests.c", "tests.a", "tests.b"]
        for name in names:
            fnabi.register_global_func(name, len)
        fnabi.register_global_func("tests.c", len, override=True)
        found = [name for name in fnabi.list_global_func_names() if name in names]
        assert found == ["tests.a", "tests.b", "tests.c"]

    @pytest.mark.parametrize("name", ["tests. blank", "tests.nul\0", "tests.größe", "tests."])
    def test_names(self, name):
        fnabi.register_global_func(name, len)
        assert fnabi.get_global_func(name)([1, 2]) == 2
        assert name in fnabi.list_global_func_names()

    def test_a_name_without_bytes(self):
        with pytest.raises(fnabi.ArgumentValueError, match=r"^register_global_func: name: 'utf-8'"):
            fnabi.register_global_func("tests.\ud800", len)
        with pytest.raises(fnabi.NotFoundError):
            fnabi.get_global_func("tests.\ud800")
        assert fnabi.get_global_func("tests.\ud800", allow_missing=True) is None
        fnabi.remove_global_func("tests.\ud800")
        fnabi.register_global_func("tests.\udcff", len)  # a byte that is not UTF-8
        assert fnabi.get_global_func("tests.\udcff")([1, 2]) == 2

    def test_missing(self):
        with pytest.raises(fnabi.NotFoundError, match=r"no global function is named 'tests\.none'"):
            fnabi.get_global_func("tests.none")
        fnabi.register_global_func("tests.nine", len)
        with pytest.raises(fnabi.NotFoundError, match=r"; did you mean tests\.nine"):
            fnabi.get_global_func("tests.none")
        with pytest.raises(LookupError, match=r"tests\.none"):
            fnabi.get_global_func("tests.none")

    @pytest.mark.parametrize(
        ("call", "text"),
        [
            (lambda: fnabi.get_global_func(1), "get_global_func: name: expected str, got int"),
            (lambda: fnabi.remove_global_func(None), "expected str, got NoneType"),
            (lambda: fnabi.register_global_func(1), "expected str, got int"),
            (
                lambda: fnabi.register_global_func("tests.x", 1),
                "^register_global_func: func: expected a callable, got int",
            ),
        ],
    )
    def test_bad_calls(self, call, text):
        with pytest.raises(fnabi.CallError, match=text):
            call()

    def test_a_replaced_callable_is_released(self):
        class Callable:
            def __call__(self):
                return 1

        kept = Callable()
        gone = weakref.ref(kept)
        fnabi.register_global_func("tests.kept", kept)
        del kept
        gc.collect()
        assert gone() is not None
        fnabi.register_global_func("tests.kept", len, override=True)
        gc.collect()
        assert gone() is None

    def test_nothing_is_leaked(self):
        def function(x):
            return x

        before = sys.getrefcount(function)
        for _ in range(examples(20_000)):
            fnabi.register_global_func("tests.leak", function, override=True)
            for _ in range(5):
                assert fnabi.get_global_func("tests.leak")(5) == 5
            fnabi.remove_global_func("tests.leak")
        assert sys.getrefcount(function) == before


def test_the_package_tvm_ffi_sees_the_same():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    fnabi.register_global_func("tests.shared", lambda x: x * 2)
    assert tvm_ffi.get_global_func("tests.shared")(4) == 8
    theirs = tvm_ffi.register_global_func("tests.shared", lambda x: x * 3, override=True)
    assert fnabi.get_global_func("tests.shared")(4) == 12
    fnabi.register_global_func("tests.same", theirs)
    assert fnabi.get_global_func("tests.same") == fnabi.get_global_func("tests.shared")
    for name in ("tests.same", "tests.shared"):
        tvm_ffi.registry.remove_global_func(name)


def test_metadata_of_a_library():
    pytest.importorskip("tvm_ffi")
    function = fnabi.get_global_func("ffi.ModuleLoadFromFile")
    assert str(function.schema) == "(ffi.String) -> ffi.Module"
    assert str(inspect.signature(function)) == "(arg0: str, /) -> ffi.Module"


def test_functions_move_to_libtvm_ffi():
    """What was registered before libtvm_ffi came is in its registry when it has come."""
    pytest.importorskip("tvm_ffi")
    printed = run_apart(
        """
        import sys, fnabi
        for name in ("b", "a"):
            fnabi.register_global_func(name, lambda name=name: name)
        print(fnabi.list_global_func_names(), fnabi._base.lane.runtime_loaded())
        fnabi.load_module(sys.argv[1])
        names = fnabi.list_global_func_names()
        print(names[-2:], len(names) > 50, "tvm_ffi" in sys.modules)
        import tvm_ffi
        print(tvm_ffi.get_global_func("a")(), fnabi.get_global_func("b")())
        """,
        interop_library("c_err"),
    )
    assert printed == "['b', 'a'] False\n['b', 'a'] True False\na b\n"


def test_a_name_that_is_taken_when_libtvm_ffi_comes():
    pytest.importorskip("tvm_ffi")
    printed = run_apart(
        """
        import warnings, fnabi
        fnabi.register_global_func("ffi.Array", lambda: "mine")
        fnabi.register_global_func("x", lambda: "x")
        import tvm_ffi
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(list(fnabi.get_global_func("ffi.Array")(1, 2)), fnabi.get_global_func("x")())
        print(*(each.message for each in caught))
        """
    )
    assert printed.splitlines() == [
        "[1, 2] x",
        "the global function 'ffi.Array' is dropped: a library has registered one of this name",
    ]


def test_a_callable_that_is_registered_at_exit():
    """The table outlives the interpreter, and must not call into it."""
    pytest.importorskip("tvm_ffi")
    run_apart("import tvm_ffi, fnabi; fnabi.register_global_func('at.exit', print)")
