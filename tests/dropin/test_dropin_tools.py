"""What `fnabi.dropin.tvm_ffi` has for builds and tools, compared with tvm_ffi."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support.apart import run_apart

theirs = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
ours = import_module("fnabi.dropin.tvm_ffi")

BOTH = pytest.mark.parametrize("t", [ours, theirs], ids=["ours", "theirs"])

OPTIONS = [
    "--includedir",
    "--dlpack-includedir",
    "--cmakedir",
    "--sourcedir",
    "--libdir",
    "--libfiles",
    "--libs",
    "--cython-lib-path",
    "--cxxflags",
    "--cflags",
    "--ldflags",
]


def test_what_a_build_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = [import_module(f"{t.__name__}.config") for t in (ours, theirs)]
    for option in OPTIONS:
        monkeypatch.setattr(sys, "argv", ["tvm-ffi-config", option])
        printed = []
        for config in configs:
            config.__main__()
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1], option


@pytest.mark.unsanitized("it starts the interpreter without the library of the sanitizer")
def test_the_command_prints_its_help() -> None:
    command = [sys.executable, "-m", "fnabi.dropin.tvm_ffi.config"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(option in done.stdout for option in OPTIONS)


def test_libraries_are_found_in_folders(tmp_path: Any) -> None:
    library = tmp_path / "libdummy.so"
    library.touch()
    find = ours.libinfo._find_library_by_basename
    assert find("nothing", "dummy", extra_lib_paths=[tmp_path]) == library.resolve()
    with pytest.raises(TypeError, match=r"extra_lib_paths\[0\] must be a pathlib\.Path, got str"):
        find("nothing", "dummy", extra_lib_paths=[str(tmp_path)])
    with pytest.raises(RuntimeError, match=r"Cannot find implib"):
        ours.libinfo.find_windows_implib()


def test_a_package_that_lacks_what_a_build_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours.libinfo, "_package", lambda: tmp_path)
    for find, what in (("cython_lib", "tvm cython"), ("cmake_path", "cmake")):
        with pytest.raises(RuntimeError, match=f"Cannot find {what} path"):
            getattr(ours.libinfo, f"find_{find}")()


@dataclass
class Inner:
    x: int
    y: list[int]


@dataclass
class Outer:
    inner: Inner
    many: dict[str, Inner]
    number: int | None
    anything: Any


@BOTH
def test_tuples_of_dataclasses(t: Any) -> None:
    unpack = import_module(f"{t.__name__}.utils.unpack_dataclass")
    inner = Inner(1, [2])
    made = unpack.unpack_dataclass_to_tuple(Outer(inner, {"a": inner}, None, (inner,)))
    assert made == ((1, [2]), {"a": (1, [2])}, None, ((1, [2]),))
    assert unpack._extract_dataclass_to_tuple_schema(Outer) == {
        "inner": {"x": None, "y": "unpack"},
        "many": "unpack",
        "number": None,
        "anything": "unpack",
    }


@BOTH
def test_a_test_that_uses_a_gpu_alone(t: Any) -> None:
    run = import_module(f"{t.__name__}.testing").run_with_gpu_lock
    assert run(divmod, 7, 2) == (3, 1)


@BOTH
def test_what_programs_ask_of_types(t: Any) -> None:
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    assert str(t.core.TypeSchema.from_annotation(numpy.ndarray)) == "Tensor"
    for made, key in ((t.Array([1]), "ffi.Array"), (t.Dict({}), "ffi.Dict")):
        assert made.__tvm_ffi_type_info__.type_key == key
        assert made.__tvm_ffi_type_info__ is type(made).__tvm_ffi_type_info__
    program = f"""
    import {t.__name__} as t
    @t.register_object("testing.TestIntPair")
    class Pair(t.Object):
        pass
    print(Pair(1, 2).sum())
    """
    assert run_apart(program) == "3\n"


def test_headers_of_types_are_those_of_the_original() -> None:
    for t in (ours, theirs):
        import_module(f"{t.__name__}.testing")
    keys = [
        str(key) for key in ours.registry.get_registered_type_keys() if key.startswith("testing.")
    ]
    assert len(keys) > 20
    told = r"Ambiguous native \w+ carrier|did not match any registered object type"
    for key in [*keys, "ffi.Object", "ffi.Map", "int"]:
        made = []
        for t in (ours, theirs):
            try:
                made.append(t.dataclasses.gen_abi_cpp(key))
            except ValueError as problem:
                made.append(re.findall(told, str(problem)))
        assert made[0] == made[1], key


def test_headers_of_types_with_names_that_cpp_does_not_have() -> None:
    @ours.dataclasses.py_class("namespace.tools.default")
    class Named(ours.Object):
        operator: int
        texts: list[str | None]

    text = ours.dataclasses.gen_abi_cpp("namespace.tools.*")
    assert f"namespace __ffi_escape_{b'namespace'.hex()} {{" in text
    assert "struct alignas(8) defaultObj" in text
    assert f"int64_t __ffi_escape_{b'operator'.hex()};" in text
    assert "::tvm::ffi::List<::tvm::ffi::Any> texts;" in text


def test_the_first_of_the_types_that_are_registered_is_one_of_objects() -> None:
    program = """
    from fnabi._base import lane
    from fnabi.dropin.tvm_ffi.dataclasses import _structs
    key = lane.type_info(128)[0]
    print(key, _structs.Header([])._item({"type": "Optional", "args": [{"type": key}]}))
    """
    key, text = run_apart(program).split()
    assert (key, text) == ("ffi.EnumState", "::tvm::ffi::ObjectPtr<::ffi::EnumStateObj>")


@pytest.mark.skipif(
    not all(map(shutil.which, ("as", "ld", "objcopy", "nm"))), reason="binutils are not installed"
)
@pytest.mark.skipif(sys.platform != "linux", reason="object files of ELF")
def test_a_binary_in_an_object_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    embed = import_module("fnabi.dropin.tvm_ffi.utils.embed_cubin")
    source, given, cubin, made = (tmp_path / name for name in ("a.s", "a.o", "a.cubin", "b.o"))
    source.write_text(".data\n.quad __tvm_ffi__cubin_k, __tvm_ffi__cubin_k_end\n")
    subprocess.run(["as", "-o", given, source], check=True)
    cubin.write_bytes(b"of the GPU" * 100)
    embed.embed_cubin(cubin, given, made, "k")
    listed = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    symbols = {name: (int(at, 16), kind) for at, kind, name in map(str.split, listed.splitlines())}
    start, kind = symbols["__tvm_ffi__cubin_k"]
    assert symbols["__tvm_ffi__cubin_k_end"] == (start + 1000, kind)
    assert kind == "r", "of this object file alone"
    assert cubin.read_bytes() in made.read_bytes()
    with pytest.raises(ValueError, match="no identifier"):
        embed.embed_cubin(cubin, given, made, "k\n.err")
    with pytest.raises(FileNotFoundError, match="lacking"):
        embed.embed_cubin(tmp_path / "lacking", given, made, "k")
    words = [f"--output-obj={tmp_path / 'new' / 'c.o'}", f"--input-obj={given}", "--name=k"]
    monkeypatch.setattr(sys, "argv", ["embed_cubin", *words, f"--cubin={cubin}", "--verbose"])
    assert embed.main() == 0
    assert (tmp_path / "new" / "c.o").read_bytes() == made.read_bytes()
    told = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert [each for each in told if each[-1] != ":"] == ["as", "ld", "objcopy"]
    monkeypatch.setattr(sys, "argv", ["embed_cubin", *words, "--cubin=lacking"])
    assert embed.main() == 1
    assert capsys.readouterr().err == "embed_cubin: no such file: lacking\n"
    cubin.write_bytes(b"")
    given.write_bytes(b"no object file")
    with pytest.raises(RuntimeError, match="ld"):
        embed.embed_cubin(cubin, given, made, "k")


def test_classes_whose_instances_are_passed_as_pointers() -> None:
    class Event:
        address = 0xCAFE

    handlers = ours.core._OPAQUE_PTR_HANDLERS
    handlers[Event] = lambda event: event.address
    echo = ours.convert(lambda x: x)
    assert echo(Event()).value == 0xCAFE
    handlers.clear()
    assert not hasattr(Event, "__tvm_ffi_opaque_ptr__")
    with pytest.raises(TypeError, match="immutable type 'complex'"):
        handlers[complex] = lambda number: 0
    assert not handlers


def test_the_base_of_objects_is_no_type() -> None:
    base = ours.core.CObject
    assert all(isinstance(each, base) for each in (ours.Array([1]), ours.convert(len)))
    assert issubclass(ours.Object, base)
    assert base is not ours.Object
    with pytest.raises(TypeError, match="CObject is not registered"):
        ours.core.TypeSchema.from_annotation(base)


def test_builds_have_the_arguments_of_the_original() -> None:
    compilers = import_module("tvm_ffi.cpp"), ours.cpp
    for name in ours.cpp.__all__:
        expected, found = (inspect.signature(getattr(cpp, name)).parameters for cpp in compilers)
        assert [*found] == [*expected]
        assert [each.default for each in found.values()] == [
            each.default for each in expected.values()
        ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja is not installed")
def test_a_binary_is_embedded_in_what_is_built(tmp_path: Path) -> None:
    source = """
int add_one(int x) { return x + 1; }
extern "C" const char __tvm_ffi__cubin_kernel;
int first() { return *&__tvm_ffi__cubin_kernel; }
"""
    library = ours.cpp.load_inline(
        "embedding",
        cpp_sources=source,
        functions=["add_one", "first"],
        embed_cubin={"kernel": b"A cubin"},
        build_directory=str(tmp_path),
    )
    assert (library.add_one(2), library.first()) == (3, ord("A"))


def test_functions_are_put_into_a_module_of_either_name() -> None:
    told = run_apart(
        """
        import fnabi.dropin.tvm_ffi
        fnabi.dropin.tvm_ffi.install()
        from tvm_ffi import init_ffi_api, testing
        init_ffi_api("testing", "tvm_ffi.testing")
        print(testing.echo(3))
        """
    )
    assert told == "3\n"
