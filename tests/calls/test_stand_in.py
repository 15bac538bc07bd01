"""Functions that replace those of libtvm_ffi: without it, before it and after it, one process each.

A kernel in C imports all of them; TVM compiles others, where it is installed.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import LibraryError, library
from fnabi._base import lane
from fnabi.calls import _stand_in as stand_in
from fnabi.cli import main
from support.apart import run_apart
from support.callee import SOURCES, built, installed_library, tvm_ffi_folder
from support.sanitizers import SANITIZE, examples

if not stand_in.names():
    pytest.skip("the dynamic linker has no absolute symbols", allow_module_level=True)

KERNEL = SOURCES.parent / "callee" / "kernel.c"
STYLES = ((), ("-Wl,-z,lazy",), ("-Wl,-z,now",), ("-fno-plt",))
"""How a library is linked decides when its symbols are resolved."""

ABSENT = 'import sys; sys.modules["tvm_ffi"] = None\n'
"""Python finds no package tvm_ffi then."""


NO_TORCH = 'import sys; sys.modules["torch"] = None\n'
"""tvm_ffi would import it, which takes longer than all the rest."""

BOTH_WAYS = (
    NO_TORCH
    + """
def check(lib, name):
    # one slot for errors: what one side raises, the other catches
    import fnabi, pytest, tvm_ffi
    theirs = tvm_ffi.load_module(sys.argv[1], keep_module_alive=True)
    with pytest.raises(IndexError, match="first, last"):
        theirs["fail_parts"]()
    with pytest.raises(IndexError, match="first, last"):
        lib.fail_parts()
    def fails(): raise LookupError("of Python")
    assert theirs["caught"](fails) == lib.caught(fails) == "of Python"
    assert theirs["caught"](theirs["fail_made"]) == lib.caught(lib.fail_made) == "made"
    assert lib.caught(theirs["fail_parts"]) == theirs["caught"](lib.fail_parts) == "first, last"
    # one table of streams
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:1"), 55):
        assert lib.stream(2, 1) == theirs["stream"](2, 1) == 55
    with fnabi.use_raw_stream(fnabi.Device("cuda", 1), 56):
        assert lib.stream(2, 1) == theirs["stream"](2, 1) == 56
    assert lib.stream(2, 1) == 0
    # one table of functions
    assert lib["global"](name)(4) == tvm_ffi.get_global_func(name)(4)
    tvm_ffi.register_global_func("stand_in.hook", lambda x: x * 5, override=True)
    assert lib.call_hook(2) == theirs["call_hook"](2) == 10
    assert lib.allocator() == theirs["allocator"]() != 0
    assert lib.by_variable(lambda x: x + 1, 4) == 5
    assert lib.left_alone()
"""
)


@cache
def kernel(*flags: str) -> str:
    return built("kernel", "cc", str(KERNEL), "-O1", "-Wall", "-Werror", *SANITIZE, *flags)


def absent(code: str, *arguments: str) -> str:
    return run_apart(ABSENT + code, *(arguments or (kernel(),)))


# ---------------------------------------------------------------------- without libtvm_ffi


@pytest.mark.parametrize("style", STYLES)
def test_a_library_is_loaded_without_the_runtime(style: tuple[str, ...]) -> None:
    path = kernel(*style)
    found = library.read(path)
    assert set(found.required) == set(found.provided) < stand_in.names()
    absent(
        """
import fnabi, pytest
lib = fnabi.load_module(sys.argv[1])
for name, kind, text in (("fail_parts", IndexError, "first, last"),
                         ("fail_made", TypeError, "made"),
                         ("by_variable", ValueError, "by a variable")):
    with pytest.raises(kind) as caught:
        lib[name]()
    assert str(caught.value) == text
    assert caught.value.ffi_error.kind == kind.__name__
with pytest.raises(KeyError, match="missing"):
    lib.fail_text()
assert fnabi.load_module(sys.argv[1]).address() == lib.address()
""",
        path,
    )


def test_constructors_may_call(tmp_path: Path) -> None:
    source = tmp_path / "early.c"
    source.write_text(
        "void* TVMFFIEnvGetStream(int, int);"
        "static void* seen = (void*)1;"
        "__attribute__((constructor)) static void f(void) { seen = TVMFFIEnvGetStream(2, 0); }"
        '__attribute__((visibility("default")))'
        " int __tvm_ffi_seen(void* h, void* a, int n, long* r)"
        " { r[0] = 1; r[1] = (long)seen; return 0; }"
    )
    path = built("early", "cc", str(source))
    told = absent("import fnabi; print(fnabi.load_module(sys.argv[1]).seen())", path)
    assert told == "0\n"


def test_what_arguments_the_functions_survive() -> None:
    absent(
        """
import fnabi, pytest
lib = fnabi.load_module(sys.argv[1])
for number, kind, text in ((0, RuntimeError, None), (1, ValueError, None), (2, ValueError, None),
                           (3, TypeError, "no ffi.Function"), (4, ValueError, "negative"),
                           (5, ValueError, "cannot be read"), (6, TypeError, "ffi.Tensor"),
                           (7, TypeError, "no ffi.Function"), (8, ValueError, "not described")):
    with pytest.raises(kind, match=text):
        lib.fail_odd(number)
assert lib.stream(-1, 0) == lib.stream(0, -1) == 0
"""
    )


def test_errors_of_what_a_library_calls() -> None:
    absent(
        """
import fnabi, pytest
lib = fnabi.load_module(sys.argv[1])
def fails(*values): raise ZeroDivisionError(f"no {values}")
assert lib.caught(fails) == "no ()"
assert lib.caught(lib.fail_parts) == "first, last"
assert lib.caught(lambda: 1) is None
with pytest.raises(ZeroDivisionError, match="no .1,."):
    lib.passed_on(fails, 1)
with pytest.raises(IndexError):
    lib.passed_on(lib.fail_parts)
assert lib.passed_on(lambda *values: list(values), 1, "x") == [1, "x"]
assert lib.by_variable(lambda x: x + 1, 4) == 5
assert lib.left_alone()
"""
    )


def test_values_and_functions() -> None:
    absent(
        """
import fnabi, pytest
lib = fnabi.load_module(sys.argv[1])
for value in (None, 1, 2.5, "short", "a longer string", b"bytes", [1, 2]):
    assert lib.same(value) == value
assert lib.as_bytes("short") == b"short" and lib.as_bytes("a longer string") == b"a longer string"
add = lib.adder(5)
assert add(6) == 11
del add
assert lib.deleted() == 1
assert lib["global"]("stand_in.hook") is None
with pytest.raises(ValueError, match="calls the global function stand_in.hook, which is not reg"):
    lib.call_hook(3)
twice = fnabi.register_global_func("stand_in.hook", lambda x: x * 2)
assert lib["global"]("stand_in.hook")(4) == 8
assert lib.call_hook(3) == 6
fnabi.register_global_func("stand_in.hook", lambda x: x * 3, override=True)
del twice
assert lib["global"]("stand_in.hook")(4) == 12
assert lib.call_hook(3) == 6  # it keeps what it has found
"""
    )


REGISTERED = """
import fnabi, inspect, pytest
lib = fnabi.load_module(sys.argv[1])
lib.register("stand_in.plus", 5)
assert fnabi.get_global_func("stand_in.plus")(6) == 11
assert lib["global"]("stand_in.plus")(7) == 12
assert "stand_in.plus" in fnabi.list_global_func_names()
with pytest.raises(RuntimeError, match="stand_in.plus"):
    lib.register("stand_in.plus", 6)
assert fnabi.get_global_func("stand_in.plus")(6) == 11
import json
schema = {"type": "ffi.Function", "args": [{"type": "int"}, {"type": "int"}]}
text = json.dumps({"type_schema": json.dumps(schema)})
lib.register("stand_in.plus", 7, text)
def told():
    found = fnabi.get_global_func("stand_in.plus")
    assert found(6) == 13 and found.__name__ == "stand_in.plus"
    return str(inspect.signature(found))
assert told() == "(arg0: int, /) -> int"
"""


def test_a_library_registers_functions_for_python() -> None:
    absent(REGISTERED + "\nfrom fnabi._base import lane\nassert not lane.runtime_loaded()\n")


def test_registering_keeps_no_reference_to_what_python_returns() -> None:
    absent(
        """
import fnabi
lib = fnabi.load_module(sys.argv[1])
def register():
    for number in range(200):
        lib.register("stand_in.plus", number, "{}")
register()
before = sys.getrefcount(None)
register()
assert abs(sys.getrefcount(None) - before) < 100
"""
    )


def test_what_a_library_registers_is_described_in_the_runtime_too() -> None:
    tvm_ffi_folder()
    absent(
        REGISTERED
        + """
before = told()
del sys.modules["tvm_ffi"]
import tvm_ffi
assert told() == before
assert tvm_ffi.get_global_func("stand_in.plus")(6) == 13
assert "int" in str(tvm_ffi.get_global_func_metadata("stand_in.plus"))
lib.register("stand_in.later", 1)  # bound to fnabi's functions, which use the registry of both
assert tvm_ffi.get_global_func("stand_in.later")(6) == 7
"""
    )


def test_an_error_that_replaces_another_frees_it() -> None:
    absent(
        """
import ctypes, fnabi
from fnabi._base import lane
from support.sanitizers import check_grown, resident
put = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(
    lane.stand_in_symbols()["TVMFFIErrorSetRaisedFromCStr"])
put(b"ValueError", b"first")
before = resident()
for _ in range(60_000):
    put(b"ValueError", b"a text" * 200)
check_grown(before, 16 << 20)
"""
    )


def test_a_handle_is_made_once() -> None:
    absent(
        """
import fnabi
from concurrent.futures import ThreadPoolExecutor
lib = fnabi.load_module(sys.argv[1])
for release in (True, False):
    lib.init_once.release_gil = release
    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(lambda _: lib.init_once(), range(64))}) == 1
    lib.deinit_once()
assert lib.init_once() == 3
"""
    )


def test_tensors() -> None:
    pytest.importorskip("numpy")
    absent(
        """
import fnabi, pytest, numpy as np
lib = fnabi.load_module(sys.argv[1])
assert np.from_dlpack(lib.allocated(5)).tolist() == [0, 1, 2, 3, 4]
for bad, text in (((4, 1), "only memory of the CPU"), ((-4,), "a dim is negative")):
    with pytest.raises(RuntimeError, match=text):
        lib.allocated(*bad)
array = np.arange(6.0).reshape(2, 3)
assert (np.from_dlpack(lib.exchanged(array, 0)) == array).all()
assert (np.from_dlpack(lib.exchanged(array.T, 0)) == array.T).all()
with pytest.raises(ValueError, match="not contiguous"):
    lib.exchanged(array.T, 1)
"""
    )


def test_streams() -> None:
    absent(
        """
import fnabi, threading
from fnabi import Device
lib = fnabi.load_module(sys.argv[1])
assert lib.stream(2, 0) == 0
with fnabi.use_raw_stream(Device("cuda", 0), 77):
    assert lib.stream(2, 0) == 77 and lib.stream(2, 1) == 0
    seen = []
    thread = threading.Thread(target=lambda: seen.append(lib.stream(2, 0)))
    thread.start(); thread.join()
    assert seen == [0]
    assert lib.set_stream(2, 0, 78) == 77
assert lib.stream(2, 0) == 0
for index in range(100):
    assert lib.set_stream(2, index, index + 1) == 0
assert [lib.stream(2, index) for index in range(100)] == [*range(1, 101)]
for index in range(100):
    assert lib.set_stream(2, index, 0) == index + 1
"""
    )


def test_the_environment_of_torch() -> None:
    pytest.importorskip("torch")
    absent(
        """
import fnabi, torch, numpy as np
lib = fnabi.load_module(sys.argv[1])
own = lib.allocator()
assert own != 0
seen = []
tensor = torch.arange(3)
lib.passed_on(lambda x: seen.append((type(x), lib.allocator())), tensor)
assert seen[0][0] is torch.Tensor and seen[0][1] not in (0, own)
made = lib.passed_on(lambda x: lib.allocated(3), tensor)
assert isinstance(made, torch.Tensor) and made.tolist() == [0, 1, 2]
assert lib.allocator() == own
assert isinstance(lib.allocated(3), fnabi.Tensor)
"""
    )


def test_ctrl_c_is_noticed() -> None:
    absent(
        """
import fnabi, pytest, signal, threading, os, time
lib = fnabi.load_module(sys.argv[1])
start = time.monotonic()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
with pytest.raises(KeyboardInterrupt):
    lib.wait()
assert time.monotonic() - start < 5
"""
    )


def test_threads_and_memory_of_kernels() -> None:
    absent(
        """
import os; os.environ["TVM_NUM_THREADS"] = "3"
import fnabi, pytest
lib = fnabi.load_module(sys.argv[1])
assert lib.parallel(0, -1) == 6
for count in (1, 2, 8, 50):
    assert lib.parallel(count, -1) == count * (count + 1) // 2
for failing in (0, 3, 7):
    with pytest.raises(ValueError, match="a task has failed"):
        lib.parallel(8, failing)
with pytest.raises(RuntimeError, match="more than 1024 threads"):
    lib.parallel(1025, 0)
assert lib.workspace(1, 0) == lib.workspace(1, 1000) == 0
with pytest.raises(RuntimeError, match="libtvm_runtime for memory of a device"):
    lib.workspace(2, 8)
with pytest.raises(MemoryError):
    lib.workspace(1, -1)
import ctypes
from support.leaks import kept
counted = hasattr(ctypes.CDLL(None), "mallinfo2")
assert not counted or kept(lambda: lib.parallel(8, -1), [], 30) == (0, {})
"""
    )


def test_nothing_is_leaked() -> None:
    absent(
        f"""
import fnabi, gc, weakref
from support.sanitizers import check_grown, resident
lib = fnabi.load_module(sys.argv[1])
class Thing: pass
thing = Thing()
def fails(): raise ValueError("x" * 1000)
def run(count):
    for _ in range(count):
        assert lib.caught(fails) == "x" * 1000
        lib.adder(1)(2)
        lib.same(thing)
        lib.allocated(64)
        try:
            lib.fail_made()
        except TypeError:
            pass
before = lib.deleted()
run(1000)
gc.collect()
size = resident()
run({examples(20_000)})
gc.collect()
check_grown(size, 2 << 20)
assert lib.deleted() - before == {1000 + examples(20_000)}
assert sys.getrefcount(thing) == 2
"""
    )


def test_what_is_not_provided(tmp_path: Path) -> None:
    source = tmp_path / "wants.c"
    source.write_text(
        "int TVMFFINoSuchFunction(int); int TVMFFIErrorSetRaised(int);"
        "int f(void) { return TVMFFINoSuchFunction(0) + TVMFFIErrorSetRaised(0); }"
    )
    path = built("wants", "cc", "-fvisibility=default", str(source))
    told = absent(
        "import fnabi\n"
        "try: fnabi.load_module(sys.argv[1])\n"
        "except fnabi.LibraryError as problem: print(problem)",
        path,
    )
    assert told.endswith(
        "needs libtvm_ffi.so (TVMFFINoSuchFunction), which is not installed"
        " (pip install apache-tvm-ffi)\n"
    )
    source.write_text("int TVMBackendNothing(void); int f(void) { return TVMBackendNothing(); }")
    path = built("wants", "cc", "-fvisibility=default", str(source))
    with pytest.raises(LibraryError, match=r"TVMBackendNothing, which libtvm_runtime\.so may"):
        library.load_module(path)


def test_what_another_library_of_tvm_provides(tmp_path: Path) -> None:
    source = tmp_path / "provides.c"
    source.write_text("int TVMBackendNothing(void) { return 0; }")
    provides = Path(built("tvm_provides", "cc", "-fvisibility=default", str(source)))
    source.write_text(
        "int TVMBackendNothing(void);"
        '__attribute__((visibility("default"))) int __tvm_ffi_f(void) {'
        "  return TVMBackendNothing(); }"
    )
    linked = (f"-L{provides.parent}", "-ltvm_provides", f"-Wl,-rpath,{provides.parent}")
    path = built("wants", "cc", str(source), *linked)
    assert library.load_module(path).f() is None


@pytest.mark.parametrize("flag", ["-Wl,-rpath,/nowhere", "-Wl,-rpath,$ORIGIN"])
def test_what_is_linked_with_the_runtime(flag: str) -> None:
    """It is loaded from a copy; the file itself may be loaded later, with the runtime."""
    path = kernel(f"-L{tvm_ffi_folder()}/lib", "-ltvm_ffi", flag)
    assert library.read(path).is_linked_with_runtime
    absent(
        BOTH_WAYS
        + """
import fnabi, pytest
fnabi.register_global_func("stand_in.double", lambda x: x * 2)
lib = fnabi.load_module(sys.argv[1])
with pytest.raises(IndexError, match="first, last"):
    lib.fail_parts()
del sys.modules["tvm_ffi"]
import tvm_ffi
assert fnabi.get_global_func("stand_in.double")(1) == 2
check(lib, "stand_in.double")
""",
        path,
    )


def test_optional_symbols_are_provided_too(tmp_path: Path) -> None:
    source = tmp_path / "weak.c"
    source.write_text(
        "void TVMFFIErrorSetRaisedFromCStr(const char*, const char*) __attribute__((weak));"
        '__attribute__((visibility("default"))) int __tvm_ffi_fail(void) {'
        "  if (TVMFFIErrorSetRaisedFromCStr)"
        '    TVMFFIErrorSetRaisedFromCStr("ValueError", "told");'
        "  return -1; }"
    )
    path = built("weak", "cc", str(source))
    absent(
        "import fnabi, pytest\n"
        "with pytest.raises(ValueError, match='told'): fnabi.load_module(sys.argv[1]).fail()",
        path,
    )


# --------------------------------------------------------------------------- with libtvm_ffi


@pytest.mark.parametrize("style", STYLES)
def test_the_runtime_comes_first(style: tuple[str, ...]) -> None:
    tvm_ffi_folder()
    run_apart(
        BOTH_WAYS
        + """
import ctypes, sys, tvm_ffi, fnabi
from fnabi._base import lane
fnabi.register_global_func("stand_in.double", lambda x: x * 2)
lib = fnabi.load_module(sys.argv[1])
runtime = ctypes.CDLL("libtvm_ffi.so")
real = ctypes.cast(runtime.TVMFFIErrorSetRaised, ctypes.c_void_p).value
assert lib.address() == real
check(lib, "stand_in.double")
""",
        kernel(*style),
    )


@pytest.mark.parametrize("style", STYLES)
def test_the_runtime_comes_later(style: tuple[str, ...]) -> None:
    tvm_ffi_folder()
    absent(
        BOTH_WAYS
        + """
import ctypes, fnabi
from fnabi._base import lane
fnabi.register_global_func("stand_in.double", lambda x: x * 2)
lib = fnabi.load_module(sys.argv[1])
assert not lane.runtime_loaded()
assert lib.address() == lane.stand_in_symbols()["TVMFFIErrorSetRaised"]
assert lib["global"]("stand_in.double")(4) == 8
del sys.modules["tvm_ffi"]
with fnabi.use_raw_stream(fnabi.Device("cuda", 0), 77):
    import tvm_ffi
    assert lib.stream(2, 0) == 77  # it was set before, in fnabi's table
    assert fnabi.get_global_func("stand_in.double")(4) == 8
assert tvm_ffi.get_global_func("stand_in.double")(4) == 8
real = ctypes.CDLL("libtvm_ffi.so").TVMFFIErrorSetRaised
assert ctypes.cast(real, ctypes.c_void_p).value != lib.address()
check(lib, "stand_in.double")
""",
        kernel(*style),
    )


def test_the_runtime_is_bound_when_a_library_that_needs_it_is_loaded() -> None:
    """fnabi loads libtvm_ffi itself; a second kernel is bound to that one."""
    tvm_ffi_folder()
    absent(
        """
import fnabi
first = fnabi.load_module(sys.argv[1])
del sys.modules["tvm_ffi"]
second = fnabi.load_module(sys.argv[2])
assert first.address() != second.address()
assert first.caught(second.fail_parts) == second.caught(first.fail_parts) == "first, last"
assert "tvm_ffi" not in sys.modules
""",
        kernel(),
        kernel("-DSECOND"),
    )


def test_the_runtime_is_loaded_by_another_thread_meanwhile() -> None:
    """Errors keep their thread while libtvm_ffi appears."""
    tvm_ffi_folder()
    absent(
        NO_TORCH
        + """
import fnabi, threading
lib = fnabi.load_module(sys.argv[1])
stop, wrong = threading.Event(), []
def run():
    while not stop.is_set():
        try:
            lib.fail_parts()
        except IndexError as problem:
            if str(problem) != "first, last": wrong.append(problem)
        except BaseException as problem:
            wrong.append(problem)
threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads: thread.start()
del sys.modules["tvm_ffi"]
import tvm_ffi
for _ in range(1000):
    assert lib.caught(lib.fail_made) == "made"
stop.set()
for thread in threads: thread.join()
assert not wrong, wrong[:3]
"""
    )


def test_the_runtime_that_is_loaded_for_others_alone() -> None:
    path = tvm_ffi_folder() / "lib" / "libtvm_ffi.so"
    absent(
        """
import ctypes, os, fnabi
runtime = ctypes.CDLL(sys.argv[2], mode=os.RTLD_LOCAL | os.RTLD_NOW)
lib = fnabi.load_module(sys.argv[1])
assert lib.address() == ctypes.cast(runtime.TVMFFIErrorSetRaised, ctypes.c_void_p).value
variable = ctypes.c_void_p.in_dll(ctypes.CDLL(sys.argv[1]), "__TVMFFIFunctionCall")
assert variable.value == ctypes.cast(runtime.TVMFFIFunctionCall, ctypes.c_void_p).value
assert lib.caught(lib.fail_parts) == "first, last"
""",
        kernel(),
        str(path),
    )


# ---------------------------------------------------------------------------- damaged files


def test_a_file_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(LibraryError, match=r"symbols of libtvm_ffi cannot be written: .*No such"):
        stand_in.open_library(kernel("-DUNWRITTEN"))


def test_a_file_that_the_linker_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a folder for temporary files that the system runs no code from."""
    monkeypatch.setattr(stand_in, "_group", lambda *_: b"no library")
    with pytest.raises(LibraryError, match="fnabi-stand-in-") as problem:
        stand_in.open_library(kernel("-DREJECTED"))
    assert "cannot be written" not in str(problem.value)


@pytest.mark.parametrize("libc", [("", ""), ("musl", "1.2.5"), ("glibc", "2.27")])
def test_linkers_without_absolute_symbols(
    libc: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: libc)
    assert stand_in.names.__wrapped__() == frozenset()


@given(st.binary(min_size=1, max_size=40).filter(lambda path: b"\0" not in path))
def test_what_is_written_is_a_library(path: bytes) -> None:
    header = Path(lane.__file__ or sys.executable).read_bytes()[:64]
    symbols = {"TVMFFIOne": 1 << 40, "TVMFFITwo": 5}
    data = stand_in._group(header, path, symbols)
    found = library.read(data)
    assert found.needed == (os.fsdecode(path),) or not path.isascii()
    assert found.is_shared
    assert found.functions == found.wanted == ()
    assert struct.unpack_from("=H", data, 18) == struct.unpack_from("=H", header, 18)


def test_libraries_are_unlinked_in_a_copy() -> None:
    path = built("linked", "cc", str(KERNEL), "-w", f"-L{tvm_ffi_folder()}/lib", "-ltvm_ffi", "-lm")
    data = Path(path).read_bytes()
    needed = library.read(data).needed
    assert "libtvm_ffi.so" in needed
    for removed in range(len(needed)):
        left = library.read(stand_in.unlinked(data, {removed}))
        assert left.needed == needed[:removed] + needed[removed + 1 :]
        assert left.wanted == library.read(data).wanted
    assert stand_in.unlinked(data, ()) == data


@given(st.data())
def test_what_cannot_be_unlinked_is_refused(draw: st.DataObject) -> None:
    data = bytearray(Path(lane.__file__ or sys.executable).read_bytes()[:4096])
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(32, 400))
        data[at : at + 8] = draw.draw(st.binary(min_size=1, max_size=8))
    data = data[: draw.draw(st.integers(1, len(data)))]
    try:
        assert len(stand_in.unlinked(bytes(data), {0, 1})) == len(data)
    except LibraryError as problem:
        assert "dynamic section cannot be found" in str(problem)  # noqa: PT017


# ------------------------------------------------------------------------------ TVM's kernels

COMPILED = """
import sys, tvm
from tvm import te
from tvm.script import ir as I, tirx as T

def one(path, target):
    n = te.var("n")
    A = te.placeholder((n,), name="A", dtype="float32")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    add = te.create_prim_func([A, B]).with_attr("global_symbol", "add_one")
    tvm.compile(add, target=target).export_library(path)

@I.ir_module
class Others:
    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "twice", "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in T.parallel(n):
            B[i] = A[i] * T.float32(2)

    @T.prim_func
    def mirrored(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "mirrored"})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.alloc_buffer((n,), "float32")
        for i in T.serial(n):
            C[i] = A[i] * T.float32(2)
        for i in T.serial(n):
            B[i] = C[n - 1 - i]

    @T.prim_func
    def hooked(a: T.handle):
        T.func_attr({"global_symbol": "hooked"})
        A = T.match_buffer(a, (4,), "float32")
        T.evaluate(T.call_packed("stand_in.hook", T.int32(5)))
        A[0] = T.float32(1)

folder = sys.argv[1]
one(f"{folder}/llvm.so", "llvm")
one(f"{folder}/c.so", "c")
tvm.compile(Others, target="llvm").export_library(f"{folder}/others.so")
"""

CHECKED = (
    NO_TORCH
    + """
import fnabi, pytest, numpy as np

def check_kernels(folder):
    a, b = np.arange(1000, dtype="float32"), np.zeros(1000, "float32")
    for name in ("llvm", "c"):
        lib = fnabi.load_module(f"{folder}/{name}.so")
        b[:] = 0
        lib.add_one(a, b)
        assert (b == a + 1).all()
        with pytest.raises(TypeError, match="Expected 2 arguments"):
            lib.add_one(a)
        with pytest.raises((ValueError, TypeError), match="add_one"):
            lib.add_one(a, b.astype("int32"))
        with pytest.raises(ValueError, match="add_one"):
            lib.add_one(a, b[:5])
    lib = fnabi.load_module(f"{folder}/others.so")
    lib.twice(a, b)
    assert (b == a * 2).all()
    lib.mirrored(a, b)
    assert (b == a[::-1] * 2).all()
    c = np.zeros(4, "float32")
    fnabi.register_global_func("stand_in.hook", lambda x: seen.append(x), override=True)
    seen.clear()
    lib.hooked(c)
    assert seen == [5] and c.tolist() == [1, 0, 0, 0]

seen = []
"""
)


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder with the kernels that the installed TVM compiles."""
    installed_library("tvm", "lib/libtvm_compiler.so")
    folder = tmp_path_factory.mktemp("kernels")
    program = folder / "compile.py"
    program.write_text(COMPILED)
    done = subprocess.run(
        [sys.executable, program, folder], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"tvm compiles nothing here: {done.stderr.strip().splitlines()[-1]}")
    return str(folder)


def test_what_kernels_of_tvm_import(kernels: str) -> None:
    assert library.read(f"{kernels}/llvm.so").provided == ("TVMFFIErrorSetRaisedFromCStrParts",)
    assert set(library.read(f"{kernels}/others.so").variables) >= {
        "__TVMBackendParallelLaunch",
        "__TVMFFIEnvModLookupFromImports",
        "__TVMFFIFunctionCall",
    }
    for name in ("llvm", "c", "others"):
        found = library.read(f"{kernels}/{name}.so")
        assert set(found.required) <= set(found.provided)
        assert found.needed in ((), ("libc.so.6",), ("libm.so.6", "libc.so.6"))


def test_kernels_of_tvm_alone(kernels: str) -> None:
    absent(
        CHECKED
        + """
check_kernels(sys.argv[1])
from fnabi._base import lane
assert not lane.runtime_loaded()
""",
        kernels,
    )


@pytest.mark.parametrize("runtime", [False, True])
def test_kernels_of_tvm_before_the_runtime(kernels: str, runtime: bool) -> None:
    tvm_ffi_folder()
    absent(
        CHECKED
        + """
check_kernels(sys.argv[1])
del sys.modules["tvm_ffi"]
import tvm_ffi
if len(sys.argv) > 2:
    fnabi.load_module(sys.argv[2])
check_kernels(sys.argv[1])
theirs = tvm_ffi.load_module(f"{sys.argv[1]}/llvm.so")
with pytest.raises(TypeError, match="Expected 2 arguments"):
    theirs["add_one"]()
""",
        kernels,
        *([installed_library("tvm", "lib/libtvm_runtime.so")] if runtime else []),
    )


@pytest.mark.parametrize("runtime", [False, True])
def test_kernels_of_tvm_after_the_runtime(kernels: str, runtime: bool) -> None:
    tvm_ffi_folder()
    run_apart(
        CHECKED
        + """
import sys, tvm_ffi
if len(sys.argv) > 2:
    fnabi.load_module(sys.argv[2])
check_kernels(sys.argv[1])
""",
        kernels,
        *([installed_library("tvm", "lib/libtvm_runtime.so")] if runtime else []),
    )


def test_inspect_says_what_is_provided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["inspect", kernel()]) == 0
    told = capsys.readouterr().out
    assert "  fnabi provides all of these where libtvm_ffi is not installed\n" in told
    assert main(["inspect", "--json", kernel()]) == 0
    told = json.loads(capsys.readouterr().out)["libtvm_ffi"]
    assert set(told["provided"]) == set(told["required"]) < stand_in.names()
    assert "__TVMFFIFunctionCall" in told["variables"]
    path = tmp_path / "wants.c"
    path.write_text(
        "int TVMFFINoSuchFunction(int), TVMFFIErrorSetRaised(int);"
        "int f(void) { return TVMFFINoSuchFunction(0) + TVMFFIErrorSetRaised(0); }"
    )
    assert main(["inspect", built("wants", "cc", str(path), "-fvisibility=default")]) == 0
    told = capsys.readouterr().out
    assert "  fnabi provides TVMFFIErrorSetRaised where libtvm_ffi is not installed" in told


def test_the_dict_alone_holds_the_addresses() -> None:
    found = lane.stand_in_symbols()
    made = {name: int(str(address)) for name, address in found.items()}
    assert [*map(sys.getrefcount, found.values())] == [*map(sys.getrefcount, made.values())]
