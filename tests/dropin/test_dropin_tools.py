"""What `fnabi.dropin.tvm_ffi` has for builds and tools, compared with tvm_ffi."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
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
