"""Modules and arguments of functions of the drop-in, beside those of the original."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.dropin.tvm_ffi import _loaded
from support.callee import built, callee_library, interop_library
from support.paths import DATA

theirs = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
ours: Any = pytest.importorskip("fnabi.dropin.tvm_ffi", exc_type=ImportError)
pytest.importorskip("cffi")


@pytest.fixture(scope="module")
def named() -> str:
    """Return a library that has the names of its parameters."""
    source = str(DATA / "callee" / "named.c")
    return str(built("dropin_named", "cc", f"-I{fnabi.get_include()}", source))


def test_arguments_by_name(named: str) -> None:
    module = ours.load_module(named)
    for add in (module.add, module["add"], module.get_function("add")):
        assert add(1, 2) == add(1, int=2) == add(int=2, result=1) == 3
        assert [*inspect.signature(add).parameters] == ["result", "int"]
    with pytest.raises(TypeError, match=r"add: argument 'other': no parameter has this name"):
        module.add(1, other=2)
    with pytest.raises(TypeError, match=r"add: argument 'result': also given by position"):
        module.add(1, result=2)
    short = ours.load_module(named, keep_module_alive=False)
    with pytest.raises(TypeError, match="parameter names are unknown"):
        short.add(result=1, int=2)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": lambda module, _: module.nothing,
    "dunder": lambda module, _: module.__nothing__,
    "item": lambda module, _: module["nothing"],
    "item of an int": lambda module, _: module[0],
    "item of bytes": lambda module, _: module[b"add"],
    "function of an int": lambda module, _: module.get_function(3),
    "function that is nowhere": lambda module, _: module.get_function("nothing", True),
    "implements an int": lambda module, _: module.implements_function(3),
    "doc of an int": lambda module, _: module.get_function_doc(3),
    "len": lambda module, _: len(module),
    "order": lambda module, _: module < module,
    "sum": lambda module, _: module + module,
    "set an item": lambda module, _: module.__setitem__("a", 1),
    "delete an attribute": lambda module, _: delattr(module, "x"),
    "copy": lambda module, _: copy.copy(module),
    "deepcopy": lambda module, _: copy.deepcopy(module),
    "pickle": lambda module, _: pickle.dumps(module),
    "write": lambda module, _: module.write_to_file("/tmp/x.so"),
    "write to an int": lambda module, _: module.write_to_file(3),
    "import None": lambda module, _: module.import_module(None),
    "import itself": lambda module, _: module.import_module(module),
    "load None": lambda _, package: package.load_module(None),
    "load no file": lambda _, package: package.load_module("/nothing.so"),
    "load no suffix": lambda _, package: package.load_module("/nothing"),
    "load bytes": lambda _, package: package.load_module(b"/nothing.so"),
    "make one": lambda _, package: package.Module(1),
    "the system's": lambda _, package: package.system_lib().nothing,
    "too few arguments": lambda _, package: package.load_module(callee_library())["add"](1),
    "an argument of a wrong type": lambda _, package: package.load_module(callee_library()).add(
        1, "a"
    ),
    "function's attribute": lambda module, _: module["first"].nothing,
    "function's item": lambda module, _: module["first"][0],
    "copy of a function": lambda module, _: copy.deepcopy(module["first"]),
}


def builtin_kind(problem: BaseException) -> type:
    return next(each for each in type(problem).__mro__ if each.__module__ == "builtins")


@pytest.mark.parametrize("what", WRONG)
def test_modules_refuse_what_the_original_refuses(what: str) -> None:
    found = []
    for package in (theirs, ours):
        module = package.load_module(interop_library("c_plain"))
        with pytest.raises(Exception) as caught:  # noqa: PT011
            WRONG[what](module, package)
        found.append((builtin_kind(caught.value), str(caught.value)))
    assert found[0][0] is found[1][0]
    if what in ("attribute", "dunder", "item", "item of an int", "function of an int", "load None"):
        assert found[0][1] == found[1][1]


def test_modules_have_what_those_of_the_original_have() -> None:
    found = []
    for package in (theirs, ours):
        module = package.load_module(Path(interop_library("c_plain")))
        module.x = [1]
        found.append(
            [
                repr(module),
                module.x,
                type(module.imports).__name__,
                type(module.get_write_formats()).__name__,
                type(package.convert(lambda x: x)(module)).__name__,
                module.__tvm_ffi_type_info__.type_key,
                package.Array([1]).__tvm_ffi_type_info__.type_key,
                package.Array([module])[0] == module,
            ]
        )
    assert found[0] == found[1]


ODD = """
typedef struct { int index, zero; long long value; } any;
#define EXPORT __attribute__((visibility("default")))
#define SAY(name, number)                                                    \\
  EXPORT int __tvm_ffi_##name(void* self, const any* args, int n, any* out) { \\
    out->index = 1;                                                          \\
    out->value = number;                                                     \\
    return 0;                                                                \\
  }
SAY(__odd, 7)
SAY(add, 8)
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a library that has a function whose name begins with underscores."""
    source = tmp_path_factory.mktemp("odd") / "odd.c"
    source.write_text(ODD)
    return built("dropin_odd", "cc", str(source))


def test_functions_are_attributes_as_in_the_original(odd: str) -> None:
    found = []
    for load in (theirs.load_module, ours.load_module, _loaded.load):
        module, outer = load(odd), load(interop_library("c_plain"))
        outer.import_module(module)
        lacks = [not hasattr(outer, name) for name in ("add", "__odd", "_odd")]
        same = module.add is module.add, module["add"] is module["add"]
        found.append((lacks, same, getattr(module, "__odd")(), module.add()))
    assert found == [([True] * 3, (True, False), 7, 8)] * 3


def test_functions_as_attributes_do_not_keep_their_module(odd: str, tmp_path: Path) -> None:
    for package in (theirs, ours):
        path = str(shutil.copy(odd, tmp_path / f"{package.__name__}.so"))
        module = package.load_module(path, keep_module_alive=False)
        assert module.add() == 8
        function = module.add
        del module
        gc.collect()
        assert function() == 8
        assert path in Path("/proc/self/maps").read_text()
        del function
        gc.collect()
        assert path not in Path("/proc/self/maps").read_text()


def test_other_attributes_last_as_long_as_the_module(odd: str) -> None:
    module = ours.load_module(odd)
    module.hook, module.number = ours.convert(lambda: 9), 3
    assert (module.add(), module.hook()) == (8, 9)
    kept = ours.Array([module])
    del module
    gc.collect()
    again = vars(kept[0])
    assert {*again} == {"hook", "number"}
    assert (again["hook"](), kept[0].add()) == (9, 8)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


def test_tensors_of_torch_come_back_as_those_of_the_original(torch: Any) -> None:
    class Own(torch.Tensor):  # type: ignore[misc]
        pass

    values = [
        torch.nn.Parameter(torch.ones(2, 3)),
        torch.ones(2, requires_grad=True),
        torch.ones(2).as_subclass(Own),
        torch.ones(4)[::2],
    ]
    for value in values:
        seen = []
        for package in (theirs, ours):
            echo = package.get_global_func("testing.echo")
            for back in (echo(value), echo([value])[0]):
                seen.append((type(back), back.requires_grad, back.shape, back.stride()))
                assert back is not value
                assert back.data_ptr() == value.data_ptr()
        assert len({*map(str, seen)}) == 1
    assert fnabi.get_global_func("testing.echo")(values[0]) is values[0]


def test_streams_are_handles(torch: Any) -> None:
    class Stream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 1234

    for package in (theirs, ours):
        assert package.get_global_func("testing.echo")(Stream()).value == 1234


# -------------------------------------------------------------------- libraries without the runtime


def test_texts_of_a_library_without_the_runtime() -> None:
    with_runtime, without = ours.load_module(callee_library()), _loaded.load(callee_library())
    for name in ("add", "halve", "nothing", "none"):
        doc, metadata = without.get_function_doc(name), without.get_function_metadata(name)
        assert doc == with_runtime.get_function_doc(name), name
        assert metadata == with_runtime.get_function_metadata(name), name
    assert without.get_function_doc("add").startswith("Adds two integers.")
    outer = _loaded.load(interop_library("c_plain"))
    outer.import_module(without)
    assert outer.get_function_doc("add") is None
    assert outer.get_function_doc("add", query_imports=True) == without.get_function_doc("add")
    assert _loaded.system("").get_function_doc("add") is None


def test_a_library_without_the_runtime() -> None:
    plain, outer = _loaded.load(callee_library()), _loaded.load(interop_library("c_plain"))
    assert isinstance(plain, ours.Module)
    assert repr(plain) == f"Module(kind='library', path={callee_library()!r})"
    assert plain() == "the library"
    assert not outer.implements_function("halve", query_imports=True)
    outer.import_module(plain)
    assert outer.imports == outer.imports_ == [plain]
    assert not outer.implements_function("halve")
    assert not hasattr(outer, "halve")
    assert outer.get_function("halve", query_imports=True)(3.0) == plain.halve(3.0) == 1.5
    outer.clear_imports()
    assert outer.imports == []
    assert (plain.get_write_formats(), plain.inspect_source()) == ([], "")
    assert (plain.is_binary_serializable(), plain.is_runnable()) == (True, True)
    assert not plain.is_compilation_exportable()
    with pytest.raises(RuntimeError, match="does not support write_to_file"):
        plain.write_to_file("m.so")


@pytest.mark.parametrize("name", ["attribute", "dunder", "item", "item of an int"])
def test_wrong_use_of_a_library_without_the_runtime(name: str) -> None:
    outcomes = []
    for module in (load(interop_library("c_plain")) for load in (ours.load_module, _loaded.load)):
        with pytest.raises((AttributeError, ValueError)) as raised:
            WRONG[name](module, None)
        outcomes.append((type(raised.value), str(raised.value)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["copy", "deepcopy", "pickle"])
def test_a_library_without_the_runtime_is_not_copied(name: str) -> None:
    for load in (ours.load_module, _loaded.load):
        with pytest.raises(TypeError, match=r"does not support|cannot be copied or pickled"):
            WRONG[name](load(interop_library("c_plain")), None)
