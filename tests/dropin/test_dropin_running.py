"""Programs that import the original's name, run over the drop-in without an edit."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import signal
import subprocess
import sys
from collections import namedtuple
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
tvm_ffi: Any = pytest.importorskip("fnabi.dropin.tvm_ffi", exc_type=ImportError)

SHOW = "import sys, tvm_ffi; print(tvm_ffi.Array.__module__, sys.argv[1:], __name__)"
FOUND = "fnabi.dropin.tvm_ffi.container ['a', '-b'] __main__\n"


RUN = ("-m", "fnabi.dropin.tvm_ffi")


def run(
    *words: str, folder: Path | None = None, text: str | None = None, before: tuple[str, ...] = RUN
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *before, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        input=text,
    )


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


def test_standard_input() -> None:
    done = run("-", "a", "-b", text=SHOW)
    assert (done.stdout, done.stderr) == (FOUND, "")


def test_the_status_of_the_program_is_kept() -> None:
    assert run("-c", "raise SystemExit(7)").returncode == 7


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_that_ends_the_program() -> None:
    """The program has the process itself, and gets its signals."""
    done = run("-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode == -signal.SIGTERM


SELF = """
import sys
print(__file__, __name__, getattr(__spec__, 'name', None), sys.argv, sys.path[0])
print(sys.flags.dev_mode, sys.flags.optimize, sys.stdout.write_through, sys.warnoptions)
def fail():
    raise ValueError("here")
fail()
"""


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ((), ("script.py", "-u", "x")),
        ((), ("-u", "-X", "dev", "-Werror", "-O", "script.py")),
        (("-O",), ("-uX", "dev", "./script.py", "--help")),
        (("-X", "dev", "-u"), ("script.py",)),
        ((), ("-m", "script", "-m")),
        ((), ("-mscript",)),
        ((), ("-c", SELF.replace("__file__", "0"), "--path")),
        ((), ("none.py",)),
        ((), ("-m",)),
        ((), ("--version",)),
    ],
)
def test_it_runs_as_python_does(
    tmp_path: Path, before: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "script.py").write_text(SELF)
    plain = run(*before, *words, folder=tmp_path, before=())
    ours = run(*before, *RUN, *words, folder=tmp_path, before=())
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)
    assert ours.returncode == plain.returncode


def test_options_may_stand_with_the_module(tmp_path: Path) -> None:
    done = run("-c", "import sys; print(sys.flags.optimize)", before=("-Omfnabi.dropin.tvm_ffi",))
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.parametrize("option", ["-I", "-E", "-sE", "-uI"])
def test_options_that_hide_the_folder(option: str) -> None:
    for words in ([*RUN, option], [option, *RUN]):
        done = run(*words, "-c", SHOW, before=())
        assert done.returncode == 2
        assert re.search(
            "^fnabi.dropin.tvm_ffi: -I and -E hide the folder ", done.stderr, re.MULTILINE
        )
    assert run("-W", "error", "-c", SHOW, "a", "-b", option).stdout.startswith(FOUND[:30])


def test_nothing_to_run() -> None:
    done = run()
    assert done.returncode == 2
    usage = done.stderr
    assert usage.startswith("usage: python -m fnabi.dropin.tvm_ffi ")
    assert [run(each).stdout for each in ("-h", "--help")] == [usage, usage]


# ------------------------------------------------------------------------------------- the folder


def folder() -> str:
    return run("--path").stdout.rstrip("\n")


def in_folder(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([folder(), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *(words or ("-c", code))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_the_folder_is_the_package() -> None:
    code = """
import importlib.util, os
spec = importlib.util.find_spec("tvm_ffi")
import tvm_ffi.core, fnabi.dropin.tvm_ffi as ours
from tvm_ffi.container import Array
print(os.path.dirname(os.path.dirname(spec.origin)))
print(tvm_ffi is ours, tvm_ffi.core is ours.core, Array is ours.Array)
print(tvm_ffi.Array([1, "two"]), os.path.basename(tvm_ffi.libinfo.find_libtvm_ffi()))
print(importlib.util.find_spec("tvm_ffi.container").origin == ours.container.__file__)
print(importlib.util.find_spec("tvm_ffi.nothing"))
ours.install()
"""
    done = in_folder(code)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        folder(),
        "True True True",
        '(1, "two") libtvm_ffi.so',
        "True",
        "None",
    ]


def test_programs_that_a_program_starts_run_over_it_too() -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SHOW!r}, 'a', '-b'])"
    assert run("-c", code).stdout == FOUND


def test_a_module_of_it_runs_as_a_program() -> None:
    done = in_folder("", "-m", "tvm_ffi.libinfo")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_sources_of_its_modules() -> None:
    code = """
import importlib.util, tvm_ffi
spec = importlib.util.find_spec("tvm_ffi.utils.embed_cubin")
print(spec.loader.get_source(spec.name) == open(spec.origin).read())
try:
    spec.loader.get_source("tvm_ffi.nothing")
except ImportError as problem:
    print(problem, problem.name)
"""
    done = in_folder(code)
    told = ["True", "No module named 'tvm_ffi.nothing' tvm_ffi.nothing"]
    assert done.stdout.splitlines() == told, done.stderr


def test_the_original_is_still_found_by_what_needs_it() -> None:
    pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
    code = """
import os, subprocess, sys
from fnabi.dropin.tvm_ffi import _install
code = "import tvm_ffi; print(tvm_ffi.Array.__module__)"
subprocess.run([sys.executable, "-c", code], env=_install.without_folder())
"""
    assert in_folder(code).stdout == "tvm_ffi.container\n"


# ---------------------------------------------------------------------------- what was asked for

ASKS = """
import tvm_ffi, tvm_ffi.testing, tvm_ffi.dataclasses as d
from tvm_ffi.core import Function
tvm_ffi.Array([1])
d.field
print(hasattr(tvm_ffi, "nope"), hasattr(tvm_ffi, "__wrapped__"))
try:
    from tvm_ffi.core import Absent
except ImportError as problem:
    print(type(problem).__name__)
try:
    import tvm_ffi.absent
except ImportError as problem:
    print(type(problem).__name__)
"""

REPORT = """\
tvm_ffi: 6 names found, 3 missing
  tvm_ffi.Array
  tvm_ffi.core
  tvm_ffi.core.Function
  tvm_ffi.dataclasses
  tvm_ffi.dataclasses.field
  tvm_ffi.testing
! tvm_ffi.absent
! tvm_ffi.core.Absent
! tvm_ffi.nope
"""
INSTALL = """
import fnabi.dropin.tvm_ffi as ours
report = ours.report
ours.install({})
"""


def test_a_report() -> None:
    missing = "False False\nImportError\nModuleNotFoundError\n"
    code = INSTALL.format("record=True") + ASKS + "print(report())"
    done = run("-c", code, before=())
    assert (done.stdout, done.stderr) == (missing + REPORT, "")
    done = run("--report", "-c", ASKS)
    assert (done.stdout, done.stderr) == (missing, REPORT)


def test_nothing_is_recorded_where_nothing_asks_for_it() -> None:
    code = INSTALL.format("") + ASKS + "print(type(tvm_ffi), report())"
    assert "<class 'module'> tvm_ffi: 0 names found, 0 missing" in run("-c", code, before=()).stdout


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            "import tvm_ffi; hasattr(tvm_ffi, 'nope')",
            "module 'fnabi.dropin.tvm_ffi' has no attribute 'nope'",
        ),
        (
            "from tvm_ffi.core import Absent",
            "module 'fnabi.dropin.tvm_ffi.core' has no attribute 'Absent'",
        ),
        ("import tvm_ffi.absent", "fnabi.dropin.tvm_ffi has no module 'tvm_ffi.absent'"),
        (
            "import tvm_ffi; tvm_ffi.cpp.nvrtc",
            "module 'fnabi.dropin.tvm_ffi.cpp' has no attribute 'nvrtc'; "
            "it belongs to the compiler of the package tvm_ffi",
        ),
    ],
)
def test_the_first_missing_name_is_an_error(code: str, problem: str) -> None:
    guarded = "try:\n    {}\nexcept (ImportError, AttributeError):\n    print('hidden')"
    guarded = guarded.format(code)
    assert run("-c", guarded).stdout == ("" if "hasattr" in code else "hidden\n")
    strict = INSTALL.format("strict=True") + guarded
    for done in (run("--strict", "-c", guarded), run("-c", strict, before=())):
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == f"fnabi.errors.NotFoundError: {problem}"
        assert "During handling" not in done.stderr


# ------------------------------------------------------------------------------- what programs ask


def test_a_type_that_two_packages_register(tmp_path: Path) -> None:
    for version in ("old", "new"):
        (tmp_path / f"{version}.py").write_text(
            "import tvm_ffi\n"
            "@tvm_ffi.register_object('ffi.StructuralKey')\n"
            "class Key(tvm_ffi.Object):\n"
            "    pass\n"
        )
    code = """
import old, new, tvm_ffi
@tvm_ffi.register_object("ffi.StructuralKey")
class Derived(new.Key):
    pass
print(type(tvm_ffi.get_global_func("ffi.StructuralKey")(1)).__module__)
"""
    done = run("-c", code, folder=tmp_path)
    assert done.stdout == "__main__\n"
    assert done.stderr == (
        f"{tmp_path}/new.py:2: RuntimeWarning: the type ffi.StructuralKey has two classes: old.Key"
        f" ({tmp_path}/old.py), and now new.Key ({tmp_path}/new.py), which its objects have from"
        " here on\n  @tvm_ffi.register_object('ffi.StructuralKey')\n"
    )


def test_members_of_enums_as_older_libraries_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from fnabi._base import lane
    from fnabi.dropin.tvm_ffi.dataclasses import Enum, auto, enum

    class Older(Enum, type_key="tests.OlderEnum"):
        first = auto()
        second = auto()

    members = {each._str_index: each for each in Older}
    index = Older.__tvm_ffi_type_info__.type_index
    lane.define_attribute(index, "__ffi_enum_entries__", tvm_ffi.Dict(members))
    monkeypatch.setattr(enum, "ENUM_STATE_ATTR", "__tests_no_state__")
    assert Older.get("second") == Older.get(1) == members["second"]
    assert [each._str_index for each in Older] == ["first", "second"]


def test_dtypes_that_programs_define() -> None:
    for known in (False, True):
        if known:
            tvm_ffi.register_global_func("dtype.get_custom_type_code", lambda name: 130)
            tvm_ffi.register_global_func("dtype.get_custom_type_name", lambda code: f"n{code}")
            made = tvm_ffi.dtype("custom[posit]16x4")
            assert (made, made.type_code, made.bits, made.lanes) == (
                "custom[posit]16x4",
                130,
                16,
                4,
            )
            assert tvm_ffi.dtype("custom[posit]").bits == 32
            assert tvm_ffi.convert(lambda x: x)(made) == "custom[n130]x4"
            tvm_ffi.remove_global_func("dtype.get_custom_type_code")
            tvm_ffi.remove_global_func("dtype.get_custom_type_name")
        with pytest.raises(ValueError, match=r"unknown dtype `custom\[posit\]8`"):
            tvm_ffi.dtype("custom[posit]8")


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
    runtime = Path(libinfo.find_libtvm_ffi())
    assert libinfo._find_library_by_basename("apache-tvm-ffi", "tvm_ffi") == runtime.resolve()
    with pytest.raises(RuntimeError, match=r"Cannot find library libnope\.so"):
        libinfo._find_library_by_basename("apache-tvm-ffi", "nope", [tmp_path])
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


@pytest.mark.parametrize("value", [int, Inner(1, 2)])
def test_only_dataclasses_have_a_schema(value: Any) -> None:
    for _, unpack in modules():
        with pytest.raises(TypeError, match=r"^Expected a dataclass"):
            unpack._extract_dataclass_to_tuple_schema(value)


@pytest.mark.parametrize(
    "schema",
    [[], {1: None}, {"1a": None}, {"class": None}, {"a": []}, {"a": {"b c": None}}, {"a": None}],
    ids=repr,
)
def test_names_that_a_schema_cannot_have(schema: Any) -> None:
    kinds = [told(unpack._validate_dataclass_to_tuple_schema, schema) for _, unpack in modules()]
    assert kinds[0] is kinds[1]
