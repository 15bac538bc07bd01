"""Without memory an operation raises MemoryError: it does not end the process, or misreport."""

from __future__ import annotations

import ast
import inspect
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fnabi._base import lane
from fnabi.vmfb import _verdict
from support import allocations
from support.allocations import DATA, FAULTS, OPERATIONS, names_of_calls, names_of_records
from support.apart import run_apart
from support.callee import built, callee_library
from support.paths import ROOT
from support.public import BY_FNABI, public_callables
from support.sanitizers import SANITIZE


def with_fork(test: Callable[..., None]) -> Callable[..., None]:
    for mark in WITH_FORK:
        test = mark(test)
    return test


WITH_FORK = (
    pytest.mark.skipif(
        sys.version_info >= (3, 12),
        reason="CPython 3.12 and 3.13 end the process where they cannot allocate a function",
    ),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing"),
)

EXEMPT = {
    "Catalog": "DuckDB's memory: tests/many/test_catalog_limit.py",
    "catalog": "as Catalog",
    "catalog_diff": "as Catalog",
    "html.render_catalog": "as Catalog",
    "arrow": "the memory of pyarrow, pandas or polars, which hold the data",
    "dask": "the engine's memory, in its workers",
    "ray": "as dask",
    "spark": "as dask",
    "datafusion": "the engine's memory",
    "duckdb": "as datafusion; attach: as Catalog",
    "pandas": "as arrow",
    "polars": "as arrow",
    "client": "the memory of iree.runtime",
    "invoke": "as client",
    "library.load_runtime": "the memory of libtvm_ffi",
    "library.runtime_path": "the memory of Python's import system, which looks for a package",
    "Module": "as library.load_runtime",
    "use_torch_stream": "torch's memory",
}
"""Operations without a case, by name or module, with the reason."""


def called(run: Callable[[], object], names: dict[str, Any]) -> set[str]:
    """Return which of some functions are called."""
    codes = {
        code: name
        for name, each in names.items()
        if (code := getattr(inspect.unwrap(each), "__code__", None))
    }
    found = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            found.add(codes[frame.f_code])
        elif event == "c_call":
            found.update(name for name, each in names.items() if each is argument)

    sys.setprofile(profile)
    with suppress(Exception):
        run()
    sys.setprofile(None)
    return found


def constructed() -> set[str]:
    """Return the names that are called in the table of operations: classes, as `fnabi.Array`."""
    tree = ast.parse(Path(allocations.__file__).read_text())
    calls = (each.func for each in ast.walk(tree) if isinstance(each, ast.Call))
    names = [ast.unparse(each) for each in calls if isinstance(each, (ast.Attribute, ast.Name))]
    return {each.removeprefix("fnabi.") for each in names}


@pytest.mark.slow
def test_every_public_operation_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", "", callee_library()])
    public = public_callables()
    functions = {name: each for name, each in public.items() if not inspect.isclass(each)}
    for each in vars(_verdict).values():  # what is known already would not be asked for
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    found = constructed()
    for prepare in OPERATIONS.values():
        work = prepare()
        found |= called(work, functions)
    exempt = {
        name for name in public if name in EXEMPT or name.rpartition(".")[0] in EXEMPT
    } | BY_FNABI
    assert sorted(public.keys() - found - exempt) == []
    assert [
        name for name in EXEMPT if not any(name in (each, each.split(".")[0]) for each in public)
    ] == []
    assert [name for name in EXEMPT if name in found] == []


@pytest.fixture(scope="module")
def refusing() -> str:
    include = f"-I{sysconfig.get_path('include')}"
    return built("refusing", "cc", "-O2", include, str(DATA / "allocations" / "refusing.c"))


def run(
    refusing: str, *names: str, module: str = "allocations", library: str | None = None
) -> subprocess.CompletedProcess[str]:
    sanitizer = f"{os.environ.get('ASAN_OPTIONS', '')}:handle_segv=0"  # faulthandler says where
    library = library or callee_library()
    return subprocess.run(
        [sys.executable, "-m", f"support.{module}", refusing, library, *names],
        capture_output=True,
        text=True,
        env=os.environ | {"ASAN_OPTIONS": sanitizer},
        cwd=DATA.parent,
        timeout=600,
        check=False,
    )


PARTS = 4


@with_fork
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_each_allocation_fails(part: int, refusing: str) -> None:
    apart = {*names_of_calls(), *names_of_records()}
    others = [name for name in OPERATIONS if name not in apart]
    done = run(refusing, *others[part::PARTS])
    assert done.returncode == 0, done.stdout + done.stderr


@with_fork
@pytest.mark.slow
def test_each_allocation_of_a_record_fails(refusing: str) -> None:
    done = run(refusing, *names_of_records())
    assert done.returncode == 0, done.stdout + done.stderr


@with_fork
@pytest.mark.slow
@pytest.mark.parametrize("language", ["Python", "C"])
def test_each_allocation_of_a_call_fails(
    language: str, refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    callee_library()  # the compiler needs its memory
    if language == "C":
        if SANITIZE or platform.libc_ver()[0] != "glibc":
            pytest.skip("replaces the allocator of glibc")
        monkeypatch.setenv("LD_PRELOAD", refusing)
        monkeypatch.setenv("REFUSE_C", "1")
    done = run(refusing, *names_of_calls())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.unmeasured("allocations of coverage would fail, too")
@with_fork
def test_each_allocation_of_the_initialisation_fails(refusing: str) -> None:
    done = run(refusing, module="initialisation", library=lane.__file__)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_first_use_makes(refusing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made at the next use where there was no memory."""
    if SANITIZE or platform.libc_ver()[0] != "glibc":
        pytest.skip("replaces the allocator of glibc")
    monkeypatch.setenv("LD_PRELOAD", refusing)
    monkeypatch.setenv("REFUSE_C", "1")
    told = run_apart(
        """
        import sys
        from fnabi._base import lane
        from support.initialisation import initialised
        refusing = initialised("refusing", sys.argv[1])
        for _ in range(2): print(repr(refusing.run(lane.initialiser_marker, 1, 1)[1]))
        print(lane.initialiser_marker() == lane.initialiser_marker())
        """,
        refusing,
    )
    assert told.split() == ["MemoryError()", "MemoryError()", "True"]


@with_fork
def test_faults_are_found(refusing: str) -> None:
    done = run(refusing, *FAULTS)
    assert done.returncode == 1
    assert all(f"{name}: status" in done.stdout for name in FAULTS)


# -------------------------------------------------------------------------------------- the core

ALLOCATORS = ("malloc", "calloc", "realloc", "aligned_alloc")


def calls_of_core(folder: Path) -> dict[str, set[str]]:
    """Compile the core, and return what each of its functions and tables refers to."""
    core = ROOT / "csrc"
    found: dict[str, set[str]] = {}
    for number, room in enumerate(["base", "abi", "vmfb", "infer", "calls", "elf", "many"]):
        (made := folder / str(number)).mkdir()
        flags = ("-std=c11", "-D_GNU_SOURCE", "-O0", "-ffunction-sections", "-fdata-sections")
        paths = [str(path) for path in sorted((core / room).rglob("*.c"))]
        subprocess.run(["cc", *flags, "-w", f"-I{core}", "-c", *paths], cwd=made, check=True)
        for file in made.glob("*.o"):
            told = subprocess.run(
                ["objdump", "-r", str(file)], capture_output=True, text=True, check=True
            ).stdout
            for part in told.split("RELOCATION RECORDS FOR [")[1:]:
                section, _, lines = part.partition("]:\n")
                names = re.findall(r"^[0-9a-f]{8,} \S+\s+(\S+)", lines, re.M)
                wanted = {named(each, str(file)) for each in names}
                found.setdefault(named(section, str(file)), set()).update(wanted)
    return found


def named(text: str, file: str) -> str:
    """Return the name of a symbol or of its section; of one that is static, with its file."""
    kinds = r"text|data\.rel\.ro\.local|data\.rel\.ro|data\.rel\.local|data\.rel|data|rodata"
    name = re.sub(rf"^\.({kinds})\.|[-+]0x[0-9a-f]+$", "", text)
    name = re.sub(rf"^\.({kinds})\.", "", name)
    return name if name.startswith("fnabi_") or name in ALLOCATORS else f"{file}:{name}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF objects")
def test_every_function_of_the_core_that_allocates_is_refused(tmp_path: Path) -> None:
    """A C test that makes allocations fail calls each of them."""
    for tool in ("cc", "objdump"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    calls = calls_of_core(tmp_path)
    allocating = set(ALLOCATORS)
    while more := {each for each, wanted in calls.items() if wanted & allocating} - allocating:
        allocating |= more
    header = (ROOT / "csrc" / "fnabi.h").read_text()
    functions = {*re.findall(r"^FNABI_API [^;(]*?(fnabi_\w+)\(", header, re.M)} & allocating
    assert len(functions) > 40
    assert "fnabi_raw_decode" not in functions
    makefile = (ROOT / "csrc" / "Makefile").read_text()
    refusing = re.search(r"^REFUSING =((?:.*\\\n)*.*)", makefile, re.M)
    assert refusing is not None
    nouns = refusing[1].replace("\\", "").split()
    tests = [path for noun in nouns for path in (ROOT / "tests/c").rglob(f"test_{noun}.c")]
    text = "".join(path.read_text() for path in tests)
    assert sorted(each for each in functions if not re.search(rf"\b{each}\b", text)) == []
