"""Programs that import the original's name, run over the drop-in without an edit."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from collections import namedtuple
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

tvm_ffi: Any = pytest.importorskip("fnabi.dropin.tvm_ffi", exc_type=ImportError)

SHOW = "import sys, tvm_ffi; print(tvm_ffi.Array.__module__, sys.argv[1:], __name__)"
FOUND = "fnabi.dropin.tvm_ffi.container ['a', '-b'] __main__\n"


def run(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fnabi.dropin.tvm_ffi", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_a_script(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("WORD = 'found'\n")
    script = tmp_path / "script.py"
    script.write_text(f"{SHOW}\nimport helper\nprint(helper.WORD)\n")
    done = run(str(script), "a", "-b")
    assert (done.stdout, done.stderr) == (f"{FOUND}found\n", "")


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(SHOW)
    done = run("-m", "tool", "a", "-b", folder=tmp_path)
    assert (done.stdout, done.stderr) == (FOUND, "")


def test_code() -> None:
    done = run("-c", SHOW, "a", "-b")
    assert (done.stdout, done.stderr) == (FOUND, "")


def test_the_status_of_the_program_is_kept() -> None:
    assert run("-c", "raise SystemExit(7)").returncode == 7


@pytest.mark.parametrize("words", [(), ("-m",), ("-c",)])
def test_nothing_to_run(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m fnabi.dropin.tvm_ffi ")


def test_a_script_that_does_not_exist() -> None:
    done = run("none.py")
    assert done.returncode == 2
    assert done.stderr == "fnabi.dropin.tvm_ffi: none.py: No such file or directory\n"


# ------------------------------------------------------------------------------- what programs ask


def test_a_lock_between_processes(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = f"""
import sys, tvm_ffi.utils
lock = tvm_ffi.utils.FileLock({path!r})
print(lock.acquire())
try:
    lock.blocking_acquire(timeout=0.2, poll_interval=0.05)
except TimeoutError as error:
    print("late")
"""
    first = tvm_ffi_utils().FileLock(path)
    assert first.acquire()
    with pytest.raises(RuntimeError, match="already held"):
        first.blocking_acquire()
    assert run("-c", code).stdout == "False\nlate\n"
    first.release()
    first.release()
    assert run("-c", code.split("try:", maxsplit=1)[0]).stdout == "True\n"
    with first:
        assert run("-c", code).stdout == "False\nlate\n"
    with pytest.raises(RuntimeError, match="Failed to acquire lock"):
        tvm_ffi_utils().FileLock(str(tmp_path / "none" / "lock")).acquire()


def tvm_ffi_utils() -> Any:
    from fnabi.dropin.tvm_ffi import utils

    return utils


def test_paths(tmp_path: Path) -> None:
    from fnabi.dropin.tvm_ffi import libinfo

    assert (Path(libinfo.find_dlpack_include_path()) / "dlpack" / "dlpack.h").is_file()
    here = tmp_path.resolve()
    assert libinfo._resolve_and_validate([here / "no", here], Path.is_dir) == str(here)
    assert libinfo._resolve_and_validate([here], lambda path: path / "x") == str(here / "x")
    assert libinfo._resolve_and_validate([here], lambda path: False) is None


def test_names_of_dtypes_and_devices() -> None:
    theirs = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
    pytest.importorskip("numpy")
    pytest.importorskip("ml_dtypes")
    assert tvm_ffi.dtype._NUMPY_DTYPE_TO_STR == theirs.dtype._NUMPY_DTYPE_TO_STR
    assert tvm_ffi.Device._DEVICE_TYPE_TO_NAME == theirs.Device._DEVICE_TYPE_TO_NAME
    names = tvm_ffi.Device._DEVICE_NAME_TO_TYPE
    assert theirs.Device._DEVICE_NAME_TO_TYPE.items() <= names.items()
    for name in ("float32", "nope", "", 3, tvm_ffi.dtype("int8")):
        assert tvm_ffi.dtype.is_dtype(name) is (name not in ("nope", 3))


# -------------------------------------------------------------------------------- named arguments


@dataclasses.dataclass
class Inner:
    x: int
    y: Any


@dataclasses.dataclass
class Outer:
    inner: Inner
    rest: list[Any]


def modules() -> list[Any]:
    names = ("kwargs_wrapper", "unpack_dataclass")
    roots = ("fnabi.dropin.tvm_ffi.utils", "tvm_ffi.utils")
    pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
    return [[import_module(f"{root}.{name}") for name in names] for root in roots]


def told(function: Any, *args: Any, **named: Any) -> Any:
    try:
        return function(*args, **named)
    except (TypeError, ValueError) as problem:
        return type(problem)


def test_named_arguments_are_those_of_the_original() -> None:
    def source(a: int, b: int = 2, *, c: str = "c", d: Any = None) -> None:
        """What it does."""

    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1,), {}),
        ((1, 5), {"d": [1]}),
        ((), {"a": 1, "c": 2}),
        ((), {}),
        ((1, 2, 3), {}),
        ((1,), {"e": 1}),
        ((Inner(1, 2),), {}),
    ]
    found = []
    for wrappers, _ in modules():
        made = wrappers.make_kwargs_wrapper_from_signature(
            lambda *args: args,
            inspect.signature(source),
            source,
            map_dataclass_to_tuple=["a"],
        )
        assert (made.__name__, made.__doc__) == ("source", "What it does.")
        assert made.__annotations__ == source.__annotations__
        found.append([told(made, *args, **named) for args, named in calls])
    assert found[0] == found[1]
    assert found[0][:2] == [(1, 2, "c", None), (1, 5, "c", [1])]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((["a", "a"],), {}),
        ((["a", 3],), {}),
        ((["a-b"],), {}),
        ((["if"],), {}),
        ((["__i_target_func"],), {}),
        ((["a"], [1]), {}),
        ((["a"], (1, 2)), {}),
        ((["a"],), {"kwonly_names": ["a"]}),
        ((["a"],), {"kwonly_names": ["b", "b"]}),
        ((["a"],), {"kwonly_names": ["b"], "kwonly_defaults": {"c": 1}}),
    ],
)
def test_names_that_no_function_can_have(args: Any, named: Any) -> None:
    kinds = [told(each.make_kwargs_wrapper, print, *args, **named) for each, _ in modules()]
    assert kinds[0] is kinds[1]
    assert issubclass(kinds[0], (TypeError, ValueError))


def test_a_dataclass_that_no_argument_has() -> None:
    make = modules()[0][0].make_kwargs_wrapper
    with pytest.raises(ValueError, match="there is no argument 'b'"):
        make(print, ["a"], map_dataclass_to_tuple=["b"])


def test_dataclasses_become_tuples() -> None:
    pair = namedtuple("pair", "a b")
    values = [
        3,
        Inner(1, None),
        Outer(Inner(1, {"k": Inner(2, 3)}), [Inner(4, (5, Inner(6, 7)))]),
        [Inner(1, 2)],
        pair(Inner(1, 2), "x"),
        {"a": Inner(1, 2)},
    ]
    ours, theirs = (unpack.unpack_dataclass_to_tuple for _, unpack in modules())
    for value in values:
        assert ours(value) == theirs(value)
        assert type(ours(value)) is type(theirs(value))
