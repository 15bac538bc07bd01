from __future__ import annotations

import ctypes
import inspect
import mmap
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from fnabi import CallError, FormatError, LibraryError, NotFoundError, library
from fnabi._base import lane
from fnabi.calls.library import LibraryFile
from support.callee import built, callee_library, interop_library, tvm_ffi_folder
from support.command import run
from support.outcomes import check_pickled, outcome_of
from support.paths import DATA, TESTS

CORPUS = TESTS / "c" / "corpus" / "library"

SOURCE = r"""
#include <stdlib.h>
#define EXPORT __attribute__((visibility("default")))
__attribute__((constructor)) static void never(void) { abort(); }
typedef int function(void*, const void*, int, void*);
EXPORT int __tvm_ffi_second(void) { return 0; }
EXPORT int __tvm_ffi_first(void) { return 0; }
EXPORT int __tvm_ffi__of_its_own(void) { return 0; }
EXPORT int __tvm_ffi_main(void) { return 0; }
EXPORT int __tvm_ffi_(void) { return 0; }
EXPORT int __tvm_ffi__doc_first(void) { return 0; }
EXPORT int __tvm_ffi__metadata_second(void) { return 0; }
EXPORT int __tvm_ffi__metadata_missing(void) { return 0; }
EXPORT int __attribute__((weak)) __tvm_ffi_weak(void) { return 0; }
int __tvm_ffi_hidden(void) { return 0; }
EXPORT void* __tvm_ffi__library_ctx;
EXPORT char __tvm_ffi__library_bin[8];
EXPORT int __tvm_ffi_data;
EXPORT int tvm_ffi_other(void) { return 0; }
asm(".globl __tvm_ffi_assembly\n__tvm_ffi_assembly:\n");
"""


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that ends the process when it is loaded."""
    source = tmp_path_factory.mktemp("library") / "own.c"
    source.write_text(SOURCE)
    return built("own", "cc", str(source), "-Wl,-soname,libown.so.1", "-Wl,-rpath,$ORIGIN:/a b")


def test_what_is_exported(own: str) -> None:
    found = library.read(own)
    assert found.functions == ("_of_its_own", "assembly", "first", "main", "second", "weak")
    assert found.documented == ("first",)
    assert found.described == ("missing", "second")
    kinds = {symbol.name.removeprefix("__tvm_ffi_"): symbol.kind for symbol in found.symbols}
    assert kinds.pop("assembly") == "other"
    assert {name for name, kind in kinds.items() if kind == "object"} == {
        "_library_ctx",
        "_library_bin",
        "data",
    }
    assert all(symbol.value for symbol in found.symbols)
    assert "__tvm_ffi_hidden" not in {symbol.name for symbol in found.symbols}
    assert (found.bits, found.byte_order) == (64, sys.byteorder)
    assert found.machine == os.uname().machine.replace("_", "-")
    assert found.soname == "libown.so.1"
    assert found.runpath == "$ORIGIN:/a b"
    assert "\nrun path $ORIGIN:/a b\n" in run("inspect", own).out
    assert "libc.so.6" in found.needed
    assert found.is_shared
    assert found.wanted == found.required == found.optional == ()
    assert not found.needs_runtime_to_load
    assert not found.needs_runtime_to_call
    assert not found.has_error_slot


def test_a_library_is_a_value(own: str) -> None:
    found = library.read(own)
    assert found == library.read(Path(own))
    assert hash(found) == hash(library.read(own))
    assert pickle.loads(pickle.dumps(found)) == found
    assert eval(repr(found), vars(library)) == found


@pytest.mark.parametrize(
    ("flags", "link", "linked", "early", "now", "load", "call"),
    [
        ([], True, True, False, False, True, True),
        (["-Wl,-z,lazy"], False, False, False, False, False, True),
        (["-Wl,-z,now"], False, False, False, True, True, True),
        (["-fno-plt", "-Wl,-z,lazy"], False, False, True, False, True, True),
        (["-DWEAK", "-Wl,-z,lazy"], False, False, False, False, False, False),
        (["-DWEAK", "-Wl,-z,now"], False, False, False, True, False, False),
    ],
)
def test_what_is_needed_of_the_runtime(
    flags: list[str], link: bool, linked: bool, early: bool, now: bool, load: bool, call: bool
) -> None:
    found = library.read(interop_library("c_err", *flags, link=link))
    assert found.is_linked_with_runtime is linked
    assert found.binds_early is early
    assert found.bind_now is now
    assert found.needs_runtime_to_load is load
    assert found.needs_runtime_to_call is call
    weak = "-DWEAK" in flags
    assert "TVMFFIErrorSetRaisedFromCStr" in (found.optional if weak else found.required)
    assert (found.required if weak else found.optional) == ()
    assert found.runpath == (f"{tvm_ffi_folder()}/lib" if link else None)


def test_a_library_of_the_peer() -> None:
    found = library.read(interop_library("c_plain"))
    assert {"add_ints", "main", "nop", "not_"} <= set(found.functions)
    assert found.described == found.documented == ("add_ints",)
    runtime = library.read(tvm_ffi_folder() / "lib" / "libtvm_ffi.so")
    assert runtime.functions == runtime.required == ()
    assert not runtime.is_linked_with_runtime


def test_the_symbols_are_those_of_nm(own: str) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    for path in (own, interop_library("c_plain"), interop_library("c_err")):
        shown = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True)
        lines = [line.split() for line in shown.stdout.splitlines()]
        found = library.read(path)
        assert sorted((each.name, each.value) for each in found.symbols) == sorted(
            (name, int(value, 16))
            for value, _, name in (line for line in lines if len(line) == 3)
            if name.startswith("__tvm_ffi_")
        )
        assert set(found.required) == {
            line[1] for line in lines if line[0] == "U" and line[1].startswith("TVMFFI")
        }


def test_libraries_of_this_process() -> None:
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("what is loaded is not told here")
    loaded = {line.split()[-1] for line in maps.read_text().splitlines() if ".so" in line}
    paths = sorted(path for path in loaded if Path(path).is_file())[:12]
    assert paths
    for path in paths:
        shown = subprocess.run(
            ["readelf", "-dW", path],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"LC_ALL": "C"},
        ).stdout
        needed = [line for line in shown.splitlines() if "(NEEDED)" in line]
        found = library.read(path)
        assert found.needed == tuple(line.split("[")[1].rstrip("]") for line in needed)
        assert found.bind_now == ("NOW" in shown)


# ------------------------------------------------------------------------ where it is read


def test_any_buffer(own: str, tmp_path: Path) -> None:
    found = library.read(own)
    data = Path(own).read_bytes()
    assert library.read(data) == found
    assert library.read(bytearray(data)) == found
    assert library.read(memoryview(b"x" + data)[1:]) == found
    with open(own, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert library.read(mapped) == found
    large = tmp_path / "large.so"  # which is mapped
    large.write_bytes(data + bytes(1 << 20))
    assert library.read(large) == found
    large.unlink()


def test_sections_are_not_needed(own: str) -> None:
    data = bytearray(Path(own).read_bytes())
    struct.pack_into(
        "<QIHHHHHH", data, 40, 0, 0, 64, 56, *struct.unpack_from("<H", data, 56), 0, 0, 0
    )
    assert library.read(data) == library.read(own)


def test_symbols_that_are_wanted_by_a_library_without_exports(tmp_path: Path) -> None:
    source = tmp_path / "wants.c"
    source.write_text(
        "void TVMFFIErrorSetRaised(void*);\n"
        "__attribute__((constructor)) static void f(void) { TVMFFIErrorSetRaised(0); }\n"
    )
    for style in ("gnu", "sysv", "both"):
        path = built("wants", "cc", str(source), f"-Wl,--hash-style={style}")
        assert library.read(path).required == ("TVMFFIErrorSetRaised",)


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"!<arch>\nlib.o/", "a static library"),
        (b"/* GNU ld script\n", "a linker script"),
        (b"#!/bin/sh", "not a library"),
        (b"\x7fEL", "not a library"),
        (b"", "not a library"),
        (b"MZ\0\0\0\0\0\0IREE", "not a library"),
    ],
)
def test_other_files(start: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(start)
    for source in (path, start, memoryview(start)):
        is_module = source is path and start.endswith(b"IREE")
        told = "a compiled module, not a library" if is_module else f"{what}.*; expected an ELF"
        with pytest.raises(LibraryError, match=f"^({re.escape(str(path))}: )?{told}"):
            library.read(source)
    assert library.looks_like_one(start) is (what != "not a library")


def test_bad_calls(tmp_path: Path) -> None:
    for value in (None, 3, ["a"], memoryview(bytes(32))[::2]):
        with pytest.raises(CallError, match=r"library\.read"):
            library.read(value)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        library.read(tmp_path / "missing.so")
    with pytest.raises(IsADirectoryError):
        library.read(tmp_path)


# --------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.iterdir()))
def test_files_of_any_machine(name: str) -> None:
    found = library.read(CORPUS / name)
    assert found.functions == ("add", "plain", "weak")
    assert found.required == ("TVMFFIErrorSetRaised",)
    assert found.optional == ("TVMFFIGetVersion",)
    assert found.needed == ("libtvm_ffi.so", "libc.so.6")
    assert found.has_error_slot
    assert (found.bits, found.byte_order) == {
        "small_big": (32, "big"),
        "sections": (32, "little"),
        "wide_hash": (64, "big"),
    }.get(name, (64, "little"))
    assert found.machine == ("s390" if name == "wide_hash" else "x86-64")
    assert found.binds_early is (name == "hash")


def test_an_error_says_where() -> None:
    data = (CORPUS / "hash").read_bytes()
    with pytest.raises(FormatError) as caught:
        library.read(data[:-1])
    assert str(caught.value) == "part runs past the end of the file at byte 64 in segments[0]"
    check_pickled(caught.value)
    with pytest.raises(FormatError, match="expected PT_DYNAMIC"):
        library.read(data[:56] + b"\1" + data[57:])


def test_names_that_are_no_text() -> None:
    data = (CORPUS / "hash").read_bytes().replace(b"__tvm_ffi_add", b"__tvm_ffi_\xffdd")
    assert "\udcffdd" in library.read(data).functions


@given(st.sampled_from(sorted(CORPUS.iterdir())), st.data())
def test_changed_files_are_read_or_refused(path: Path, draw: st.DataObject) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(4, len(data) - 1))
        data[at : at + 8] = draw.draw(st.binary(min_size=1, max_size=8))
    data = data[: draw.draw(st.integers(4, len(data)))]
    outcome = outcome_of(library.read, data)
    if isinstance(outcome, LibraryFile):
        assert isinstance(outcome.functions, tuple)
    else:
        assert outcome[0].startswith("library-") or outcome[0] == "work"
        assert outcome[1] <= len(data)


# --------------------------------------------------------------------------------- loading


def in_new_process(program: str, *argv: str) -> str:
    """Return what a program prints in a new process, where no library is loaded."""
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_of_a_loaded_library() -> None:
    path = interop_library("c_plain")
    lib = library.load_module(path)
    assert lib.path == path
    assert lib.file == library.read(path)
    assert tuple(lib.functions) == tuple(lib) == lib.file.functions
    assert len(lib) == len(lib.functions) > 40
    assert {"add_ints", "functions"} < {*dir(lib)}
    assert not [each for each in dir(lib) if each[0] == "_" and each[1] != "_"]
    assert lib.add_ints(1, 2) == lib["add_ints"](1, 2) == 3
    assert lib.add_ints is lib.functions["add_ints"]
    assert "add_ints" in lib
    assert "nothing" not in lib
    assert lib() == lib.main() == 4242
    with pytest.raises(AttributeError, match="no function 'nothing'"):
        _ = lib.nothing
    with pytest.raises(KeyError, match="no function 'nothing'"):
        _ = lib["nothing"]
    with pytest.raises(AttributeError, match="'add_int'; did you mean add_ints") as raised:
        _ = lib.add_int
    assert (raised.value.name, raised.value.obj) == ("add_int", None)
    with pytest.raises(KeyError, match="'add_int'; did you mean add_ints"):
        _ = lib["add_int"]


def test_what_a_library_says_of_its_functions() -> None:
    lib = library.load_module(interop_library("c_plain"))
    assert lib.add_ints.__name__ == "add_ints"
    assert lib.add_ints.__doc__ == "Add any number of integers."
    assert str(lib.add_ints.schema) == "(int, int) -> int"
    assert str(inspect.signature(lib.add_ints)) == "(arg0: int, arg1: int, /) -> int"
    assert lib.first.__doc__ is None
    assert lib.first.schema is None
    with pytest.raises(CallError, match="add_ints: argument 'x': the function's parameter names"):
        lib.add_ints(x=1)


def test_a_function_whose_name_is_no_text(tmp_path: Path) -> None:
    source = tmp_path / "odd.c"
    name = r"\377\376"
    source.write_text(
        f"""__attribute__((visibility("default"))) int odd(void) __asm__("__tvm_ffi_{name}");
        int odd(void) {{ return 0; }}"""
    )
    lib = library.load_module(built("odd", "cc", str(source)))
    assert list(lib.functions) == ["\udcff\udcfe"]
    assert lib["\udcff\udcfe"]() is None
    with pytest.raises(KeyError, match="has no function"):
        lib["\udcff\udcfe\0"]


def test_a_library_without_a_default_function(tmp_path: Path) -> None:
    source = tmp_path / "other.c"
    source.write_text('int __attribute__((visibility("default"))) __tvm_ffi_f(void) { return 0; }')
    lib = library.load_module(built("other", "cc", str(source)))
    assert lib.f() is None
    with pytest.raises(NotFoundError, match="no function 'main'"):
        lib()


def test_a_library_without_functions_says_so(tmp_path: Path) -> None:
    """It is loaded all the same: it may register functions by name."""
    source = tmp_path / "empty.c"
    source.write_text("int f;\n")
    path = built("empty", "cc", str(source))
    lib = library.load_module(path)
    why = "no exported symbol is named __tvm_ffi_NAME: it was not built for TVM-FFI"
    for look in (lambda: lib.f, lambda: lib["f"]):
        with pytest.raises(NotFoundError, match=f"has no function 'f'; {why}"):
            look()
    with pytest.raises(NotFoundError, match=f"has no function 'main'; {why}"):
        lib()
    done = run("call", path, "f")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"fnabi: {path}: no TVM-FFI function is named f; {why}")

    source.write_text(
        "int TVMFFIFunctionSetGlobal(const void*, void*, int);\n"
        "int unused(void) { return TVMFFIFunctionSetGlobal(0, 0, 0); }\n"
    )
    path = built("registers", "cc", str(source))
    why = "none is exported by name: it registers functions when it is loaded"
    with pytest.raises(NotFoundError, match=f"; {why}, for fnabi.get_global_func"):
        library.load_module(path)["f"]
    assert run("call", path, "f").err.endswith(f"; {why}; fnabi inspect --run lists them\n")


def test_metadata_that_is_none_leaves_the_function(tmp_path: Path) -> None:
    source = tmp_path / "told.c"
    source.write_text(
        """
        #include <string.h>
        #define EXPORT __attribute__((visibility("default")))
        typedef struct { int tag, size; char text[8]; } value;
        EXPORT int __tvm_ffi_f(void* h, value* a, int n, value* r) { return 0; }
        EXPORT int __tvm_ffi__metadata_f(void* h, value* a, int n, value* r) {
          r->tag = 11; r->size = 2; memcpy(r->text, "{]", 2); return 0;
        }
        EXPORT int __tvm_ffi_g(void* h, value* a, int n, value* r) { return 0; }
        EXPORT int __tvm_ffi__doc_g(void* h, value* a, int n, value* r) { r->tag = 1; return 0; }
        """
    )
    lib = library.load_module(built("told", "cc", "-w", str(source)))
    assert lib.f() is None
    assert lib.f.schema is None
    with pytest.raises(LibraryError, match="__tvm_ffi__doc_g: expected a string, got 0"):
        _ = lib.g


@pytest.mark.parametrize("flags", [(), ("-Wl,-z,lazy",), ("-Wl,-z,now",), ("-DWEAK",)])
@pytest.mark.parametrize("first", ["", "import tvm_ffi", "import fnabi, ctypes, mmap"])
def test_the_runtime_is_loaded_without_its_package(flags: tuple[str, ...], first: str) -> None:
    path = interop_library("c_err", *flags)
    program = f"""{first}
import sys, fnabi
lib = fnabi.load_module(sys.argv[1])
try:
    lib.need_int("x")
except TypeError as problem:
    print(problem, problem.ffi_error.kind, "tvm_ffi" in sys.modules)
"""
    imported = "tvm_ffi" in first
    told = in_new_process(program, path)
    assert told == f"need_int: argument 0 is not an int TypeError {imported}\n"


def test_without_the_runtime() -> None:
    needs = interop_library("c_err", "-Wl,-z,lazy")
    alone = interop_library("c_plain")
    program = """
import sys, fnabi
sys.modules["tvm_ffi"] = None
lib = fnabi.load_module(sys.argv[1])
print(lib.need_int(2))
try:
    lib.need_int("a")
except TypeError as problem:
    print(problem)
lib = fnabi.load_module(sys.argv[2])
print(lib.add_ints(2, 3))
try:
    lib.fail_silent()
except fnabi.CallError as problem:
    print(problem)
"""
    told = in_new_process(program, needs, alone).splitlines()
    assert told[:3] == ["3", "need_int: argument 0 is not an int", "5"]
    assert "fail_silent" in told[3]


def test_a_symbol_that_nothing_has(tmp_path: Path) -> None:
    source = tmp_path / "wants.c"
    source.write_text(
        "int TVMFFINoSuchFunction(void);\n"
        'int __attribute__((visibility("default"))) __tvm_ffi_f(void)'
        "{ return TVMFFINoSuchFunction(); }"
    )
    tvm_ffi_folder()
    with pytest.raises(LibraryError, match=r"needs TVMFFINoSuchFunction, .*newer apache-tvm-ffi"):
        library.load_module(built("wants", "cc", str(source)))
    source.write_text(source.read_text().replace("TVMFFINoSuch", "no_such_"))
    with pytest.raises(LibraryError, match="no_such_"):
        library.load_module(built("wants", "cc", str(source)))
    source = tmp_path / "wants.cc"
    source.write_text(
        "namespace tvm::ffi { struct None { void such(int); }; }"
        'extern "C" int __tvm_ffi_f() { tvm::ffi::None().such(1); return 0; }'
    )
    with pytest.raises(LibraryError, match="needs tvm::ffi::None::such, which the installed"):
        library.load_module(built("wants", "c++", "-fvisibility=default", str(source)))


def test_what_is_no_library_for_this_machine(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"expected a \d+-bit library for"):
        library.load_module(CORPUS / "small_big")
    with pytest.raises(LibraryError, match="not a library"):
        library.load_module(__file__)
    module = DATA / "vmfb" / "abi_records.vmfb"
    with pytest.raises(LibraryError, match="a compiled module, not a library"):
        library.load_module(module)
    program = bytearray(Path(callee_library()).read_bytes())
    program[16] = 2  # ET_EXEC
    (tmp_path / "program").write_bytes(program)
    with pytest.raises(LibraryError, match="a program or an object file, not a shared library"):
        library.load_module(tmp_path / "program")
    with pytest.raises(FileNotFoundError):
        library.load_module(tmp_path / "nothing.so")


def test_a_symbol_that_the_loader_does_not_find(tmp_path: Path) -> None:
    """A symbol of an old version only is for libraries that were linked with that."""
    source, versions = tmp_path / "old.c", tmp_path / "old.map"
    source.write_text(
        'int old(void) { return 0; } asm(".symver old, __tvm_ffi_old@V1");'
        "int __tvm_ffi_new(void) { return 0; }"
    )
    versions.write_text("V1 { global: __tvm_ffi_*; local: *; };")
    flags = ("-fvisibility=default", f"-Wl,--version-script={versions}")
    lib = library.load_module(built("old", "cc", str(source), *flags))
    assert list(lib.functions) == ["new", "old"]
    with pytest.raises(LibraryError, match="old: the loader cannot find the symbol __tvm_ffi_old"):
        _ = lib.old


def test_where_the_runtime_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another module of that name is no runtime, nor is a package that is being imported."""
    (tmp_path / "tvm_ffi.py").touch()
    monkeypatch.delitem(sys.modules, "tvm_ffi", raising=False)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        beside = library.runtime_path()
        patch.setattr(sys, "path", [str(tmp_path)])
        assert library.runtime_path() is None
    assert beside == library.runtime_path()
    monkeypatch.setitem(sys.modules, "tvm_ffi", ModuleType("tvm_ffi"))
    assert library.runtime_path() is None


def test_the_runtime_fills_in_what_a_library_leaves_for_it() -> None:
    path = interop_library("c_plain")
    program = """
import sys, tvm_ffi, fnabi
print(fnabi.load_module(sys.argv[1]).has_library_ctx())
"""
    assert in_new_process(program, path) == "True\n"


VERSIONS = """
#include <fnabi/callee.h>
CALLEE_EXPORT(version) {{ return callee_return_int(call, {}); }}
CALLEE_PARAMETERS(divide, dividend, divisor)
CALLEE_SIGNATURE(divide, CALLEE_TYPE("int"), CALLEE_TYPE("int") "," CALLEE_TYPE("int"))
CALLEE_EXPORT(divide) {{
  int64_t a, b;
  if (!callee_int(call, 0, &a) || !callee_int(call, 1, &b)) return CALLEE_FAILED;
  return callee_return_int(call, a / b);
}}
CALLEE_PARAMETERS(nothing)
CALLEE_EXPORT(nothing) {{ return callee_return_none(call); }}
"""


def built_version(folder: Path, version: int) -> str:
    """Build a library whose `version` gives a number, at the same path each time."""
    source = folder / "versions.c"
    source.write_text(VERSIONS.format(version))
    made = built("versions", "cc", f"-I{fnabi.get_include()}", str(source))
    path = folder / "libversions.so"
    os.replace(made, path)
    return str(path)


def test_a_rebuilt_library_runs_the_new_code(tmp_path: Path) -> None:
    old = fnabi.load_module(built_version(tmp_path, 1))
    assert old.version() == 1
    new = fnabi.load_module(built_version(tmp_path, 2))
    assert (old.version(), new.version()) == (1, 2)
    assert fnabi.load_module(new.path).version() == 2
    assert fnabi.load_module(built_version(tmp_path, 3)).version() == 3
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".so"] == ["libversions.so"]


def test_a_library_that_another_has_loaded_and_that_was_rebuilt(tmp_path: Path) -> None:
    ctypes.CDLL(built_version(tmp_path, 1))
    assert fnabi.load_module(built_version(tmp_path, 2)).version() == 2


@pytest.mark.parametrize("why", ["rebuilt", "linked with what is missing"])
def test_a_copy_that_cannot_be_written(why: str, tmp_path: Path) -> None:
    program = """
import os, sys, tempfile, fnabi
sys.modules["tvm_ffi"] = None
old, new, folder = sys.argv[1:]
if new:
    fnabi.load_module(old)
    os.replace(new, old)
tempfile.tempdir = folder
try: fnabi.load_module(old)
except fnabi.LibraryError as problem: print(problem)
"""
    path, new = built_version(tmp_path, 1), ""
    text = f"{path}: the file has changed, and the old library is still loaded: "
    if why == "rebuilt":
        (tmp_path / "new").mkdir()
        new = built_version(tmp_path / "new", 2)
    else:
        path, text = interop_library("c_err", link=True), ""
    told = in_new_process(program, path, new, str(tmp_path / "none"))
    assert f"{text or path + ': '}a copy cannot be loaded: [Errno 2]" in told


def test_what_registers_by_name_is_not_loaded_twice(tmp_path: Path) -> None:
    path = tmp_path / "libregisters.so"
    source = tmp_path / "registers.c"
    source.write_text(
        "extern int TVMFFIFunctionSetGlobal(void) __attribute__((weak));"
        "int __tvm_ffi_f(void) { return TVMFFIFunctionSetGlobal ? -1 : -2; }"
    )
    for flag in ("-DA", "-DB"):
        made = built("registers", "cc", "-fvisibility=default", flag, str(source))
        os.replace(made, path)
        if flag == "-DA":
            fnabi.load_module(path)
    with pytest.raises(LibraryError, match="the old library is still loaded: it registers"):
        fnabi.load_module(path)


def test_names_of_parameters(tmp_path: Path) -> None:
    lib = fnabi.load_module(built_version(tmp_path, 1))
    assert lib.file.named == ("divide", "nothing")
    assert lib.divide.names == ("dividend", "divisor")
    assert lib.nothing.names == ()
    assert str(lib.divide.__signature__) == "(dividend: int, divisor: int) -> int"
    assert lib.divide(divisor=3, dividend=12) == 4
    assert lib.version.names is None
    with pytest.raises(fnabi.CallError, match="argument 'c': no parameter has this name"):
        lib.divide(1, c=2)


def test_attributes_are_found_once() -> None:
    lib = fnabi.load_module(interop_library("c_plain"))
    name = lib.file.functions[0]
    assert getattr(lib, name) is getattr(lib, name) is lib[name]
    assert lib._ipython_key_completions_() == list(lib.functions) == dir_functions(lib)
    assert lib.functions._ipython_key_completions_() == list(lib.functions)
    with pytest.raises(AttributeError, match="has no function 'missing'"):
        _ = lib.missing
    assert not hasattr(lib, "__wrapped__")
    assert len(dir(lib)) == len(set(dir(lib)))
    with pytest.raises(AttributeError, match="the library is not loaded"):
        _ = fnabi.Library.__new__(fnabi.Library).f


def dir_functions(lib: fnabi.Library) -> list[str]:
    return [name for name in dir(lib) if name in lib.functions]


def test_a_handle_that_is_no_address() -> None:
    with pytest.raises(TypeError):
        lane.library_symbol("1", "name")  # type: ignore[arg-type]
