"""Modules of libtvm_ffi: libraries as such, and a Relax VM of an installed TVM."""

from __future__ import annotations

import gc
import inspect
import sys

import pytest

import fnabi
from apart import run_apart
from callee import interop_library

pytest.importorskip("tvm_ffi")


@pytest.fixture
def plain():
    return fnabi.Module.load(interop_library("c_plain"))


@pytest.fixture
def other():
    return fnabi.Module.load(interop_library("c_err"))


def test_functions(plain):
    assert plain["add_ints"](2, 3) == 5
    function = plain.get_function("add_ints")
    assert isinstance(function, fnabi.Function)
    assert function.__name__ == "add_ints"
    assert plain.implements_function("add_ints")
    assert "add_ints" in plain
    assert "none" not in plain
    assert 5 not in plain


def test_properties(plain):
    assert plain.kind == "library"
    assert (plain.is_runnable, plain.is_serializable, plain.is_exportable) == (True, True, False)
    assert plain.imports == []
    assert plain.write_formats == []
    assert plain.inspect_source() == ""
    assert repr(plain) == "<fnabi.Module of kind 'library'>"
    assert plain.type_key == "ffi.Module"
    assert fnabi.get_type("ffi.Module") is fnabi.Module
    assert isinstance(plain, fnabi.Module)


def test_imports(plain, other):
    plain.import_module(other)
    assert plain.imports == [other]
    assert not plain.implements_function("alloc_like")
    assert plain.implements_function("alloc_like", query_imports=True)
    assert plain.get_function("alloc_like", query_imports=True).__name__ == "alloc_like"
    with pytest.raises(RuntimeError, match="Cyclic"):
        other.import_module(plain)
    plain.clear_imports()
    assert plain.imports == []


def test_what_is_not_there(plain, other, tmp_path):
    with pytest.raises(fnabi.NotFoundError, match="kind 'library' has no function 'none'"):
        plain.get_function("none")
    with pytest.raises(LookupError):
        plain["none"]
    with pytest.raises(fnabi.NotFoundError, match="'main'"):
        other()
    with pytest.raises(fnabi.CallError, match=r"Module\.get_function: name: expected str, got int"):
        plain[1]
    with pytest.raises(RuntimeError, match="does not support WriteToFile"):
        plain.write_to_file(tmp_path / "x.o", "o")
    with pytest.raises(RuntimeError, match="nothing"):
        fnabi.Module.load(tmp_path / "nothing.so")
    with pytest.raises(fnabi.CallError, match=r"ffi\.Module: the library registered no init"):
        fnabi.Module()
    with pytest.raises(TypeError):
        iter(plain)


def test_results_of_the_loader(plain):
    load = fnabi.get_global_func("ffi.ModuleLoadFromFile")
    again = load(interop_library("c_plain"))
    assert type(again) is fnabi.Module
    assert again != plain
    assert str(inspect.signature(load)) == "(arg0: str, /) -> ffi.Module"


def test_without_libtvm_ffi_being_loaded():
    """Module.load loads it, and what it gives outlives the module."""
    run_apart(
        """
        import sys, fnabi
        module = fnabi.Module.load(sys.argv[1])
        squares = module["array_squares"](3)
        del module
        import gc; gc.collect()
        assert list(squares) == [0, 1, 4]
        del squares
        assert "tvm_ffi" not in sys.modules
        """,
        interop_library("c_plain"),
    )


def test_nothing_is_leaked(plain):
    function = plain["add_ints"]
    before = [sys.getrefcount(each) for each in (plain, function)]
    for _ in range(20_000):
        assert plain["add_ints"](1, 2) == 3
        assert plain.kind == "library"
        assert plain.imports == []
        assert "none" not in plain
    gc.collect()
    assert [sys.getrefcount(each) for each in (plain, function)] == before
