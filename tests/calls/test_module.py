"""Modules of libtvm_ffi: libraries as such, and a Relax VM of an installed TVM."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys

import pytest

import fnabi
from support.apart import run_apart
from support.callee import installed_library, interop_library
from support.sanitizers import examples

pytest.importorskip("tvm_ffi")


@pytest.fixture
def plain():
    return fnabi.Module.load(interop_library("c_plain"))


@pytest.fixture
def other():
    return fnabi.Module.load(interop_library("c_err"))


def test_functions(plain):
    assert plain["add_ints"](2, 3) == 5
    assert plain.add_ints(2, 3) == 5
    with pytest.raises(AttributeError, match="no function 'none'"):
        _ = plain.none
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
    with pytest.raises(KeyError):
        plain["none"]
    lone = "\ud800"  # no library has a name without bytes
    assert lone not in plain
    assert getattr(plain, lone, None) is None
    with pytest.raises(fnabi.MissingKeyError):
        plain[lone]
    with pytest.raises(fnabi.NotFoundError, match="'main'"):
        other()
    with pytest.raises(fnabi.CallError, match=r"Module\.get_function: name: expected str, got int"):
        plain[1]
    with pytest.raises(RuntimeError, match="does not support WriteToFile"):
        plain.write_to_file(tmp_path / "x.o", "o")
    with pytest.raises(FileNotFoundError, match="nothing"):
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


def test_without_libtvm_ffi_being_installed():
    printed = run_apart(
        """
        import sys, fnabi
        sys.modules["tvm_ffi"] = None
        try:
            fnabi.Module.load(sys.argv[1])
        except fnabi.LibraryError as problem:
            print(problem)
        """,
        interop_library("c_plain"),
    )
    text = "Module.load: libtvm_ffi.so is not installed (pip install apache-tvm-ffi)"
    assert printed.strip() == text


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (fnabi.FormatError("unsupported", 5, reason="no toy"), fnabi.FormatError),
        (KeyError("no toy"), fnabi.LibraryError),
    ],
)
def test_errors_of_a_loader(problem, expected, tmp_path):
    """Those of fnabi stay what they are; others become the cause of a `LibraryError`."""

    def load(path, _):
        raise problem

    path = tmp_path / "module.toy"
    path.write_bytes(b"")
    fnabi.register_global_func("ffi.Module.load_from_file.toy", load)
    try:
        with pytest.raises(expected, match="no toy") as found:
            fnabi.Module.load(path)
    finally:
        fnabi.remove_global_func("ffi.Module.load_from_file.toy")
    assert found.value is problem or found.value.__cause__ is problem


def test_nothing_is_leaked(plain):
    function = plain["add_ints"]
    before = [sys.getrefcount(each) for each in (plain, function)]
    for _ in range(examples(100_000)):
        assert plain["add_ints"](1, 2) == 3
        assert plain.kind == "library"
        assert plain.imports == []
        assert "none" not in plain
    gc.collect()
    assert [sys.getrefcount(each) for each in (plain, function)] == before


# TVM's parser reads this from a file.
COMPILED = """
import sys, tvm
from tvm.script import ir as I, relax as R

@I.ir_module
class Added:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.add(x, R.const(1.0, "float32"))
            R.output(y)
        return y

tvm.compile(Added, target="llvm").export_library(sys.argv[1])
"""


@pytest.mark.full
def test_a_relax_machine(tmp_path):
    """TVM compiles a function; fnabi runs it to the end without TVM's Python package."""
    runtime = installed_library("tvm", "lib/libtvm_runtime.so")
    program, path = tmp_path / "compile.py", str(tmp_path / "add.so")
    program.write_text(COMPILED)
    done = subprocess.run(
        [sys.executable, program, path], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"tvm compiles nothing here: {done.stderr.strip().splitlines()[-1]}")
    run_apart(
        """
        import sys, fnabi, numpy as np
        fnabi.load_module(sys.argv[1])
        module = fnabi.Module.load(sys.argv[2])
        assert module.kind == "relax.VMExecutable"
        assert [each.kind for each in module.imports] == ["library"]
        assert "vm_load_executable" in module and "main" not in module
        machine = module["vm_load_executable"]()
        assert isinstance(machine, fnabi.Module) and machine.kind == "relax.VirtualMachine"
        machine["vm_initialization"](1, 0, 2, 1, 0, 2)
        main = machine["main"]
        del module, machine
        for start in range(1000):
            result = main(np.arange(start, start + 4, dtype="float32"))
            assert np.from_dlpack(result).tolist() == [start + i + 1.0 for i in range(4)]
        try:
            main(np.arange(5, dtype="float32"))
        except (ValueError, RuntimeError, TypeError):
            pass
        else:
            raise AssertionError("a wrong shape")
        assert not {"tvm", "tvm_ffi"} & {*sys.modules}
        """,
        runtime,
        path,
    )


@pytest.mark.full
def test_a_module_that_is_written(tmp_path):
    """LLVM's text is a module of TVM's compiler, which writes an object file."""
    source, written = tmp_path / "same.ll", tmp_path / "same.o"
    source.write_text("define i32 @same(i32 %x) {\n  ret i32 %x\n}\n")
    run_apart(
        """
        import sys, fnabi
        fnabi.load_module(sys.argv[1])
        module = fnabi.Module.load(sys.argv[2])
        assert module.kind == "llvm" and module.is_exportable
        assert "define i32 @same" in module.inspect_source("ll")
        module.write_to_file(sys.argv[3], "o")
        """,
        installed_library("tvm", "lib/libtvm_compiler.so"),
        str(source),
        str(written),
    )
    assert written.read_bytes()[:4] == b"\x7fELF"
