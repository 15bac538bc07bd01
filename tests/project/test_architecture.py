"""The rooms of the sources, the crossing table and the documents, held against the code."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from fnabi._base import lane
from fnabi._fnabi import lib
from fnabi.calls import _hooks
from support.crossings import CROSSINGS
from support.paths import ROOT

CSRC = ROOT / "csrc"
PACKAGE = ROOT / "python" / "fnabi"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

BELOW = {
    "base": set(),
    "abi": {"base"},
    "elf": {"base"},
    "vmfb": {"abi", "elf", "base"},
    "infer": {"vmfb", "abi", "base"},
    "calls": {"base"},
    "many": {"infer", "vmfb", "abi", "base"},
    "lane/runtime": {"calls", "base"},
    "lane/records": {"lane/runtime", "many", "infer", "vmfb", "abi", "base"},
    "lane/calls": {"lane/runtime", "calls", "base"},
    "lane/stand_in": {"lane/calls", "lane/runtime", "calls", "base"},
    "lane": {"lane/runtime", "lane/records", "lane/calls", "lane/stand_in"},
}
"""The rooms that a room may include and call, beside itself."""

CONTRACT = {"fnabi.h", "codes.h"}

RECURSIVE = {"calls": 3, "lane/calls": 16}
"""The most files of a room that may need each other, because values contain values."""

Graph = Mapping[str, set[str]]


def find_circle(graph: Graph) -> list[str]:
    """Return nodes of which each needs the next and the last the first, or an empty list."""
    done: set[str] = set()
    for start in sorted(graph):
        path: list[str] = []
        stack = [iter([start])]
        while stack:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                if path:
                    done.add(path.pop())
            elif node in path:
                return path[path.index(node) :]
            elif node not in done:
                path.append(node)
                stack.append(iter(sorted(graph.get(node, ()))))
    return []


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert find_circle({"a": {"a"}}) == ["a"]
    assert find_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


# ---------------------------------------------------------------------------- C


def c_files() -> Iterator[Path]:
    yield from sorted(path for path in CSRC.rglob("*.[ch]") if "out" not in path.parts)


def c_includes(path: Path) -> list[str]:
    """Return the files of csrc that a file includes, relative to csrc."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)


def room_of(path: str) -> str:
    first, *rest = path.split("/")
    return f"{first}/{rest[0]}" if first == "lane" and len(rest) > 1 else first


def test_every_c_file_is_in_a_room() -> None:
    rooms = {room_of(path.relative_to(CSRC).as_posix()) for path in c_files()}
    assert rooms == {*BELOW, *CONTRACT}


@pytest.mark.parametrize("room", BELOW)
def test_includes_point_down(room: str) -> None:
    allowed = {room, *BELOW[room], *CONTRACT}
    for path in c_files():
        name = path.relative_to(CSRC).as_posix()
        if room_of(name) != room:
            continue
        for included in c_includes(path):
            assert (CSRC / included).is_file(), f"{name} includes {included}, which is not there"
            assert room_of(included) in allowed, f"{name} includes {included}, which is above it"


def test_the_header_stands_alone() -> None:
    assert c_includes(CSRC / "fnabi.h") == ["codes.h"]
    assert c_includes(CSRC / "codes.h") == []


def test_only_the_lane_includes_python() -> None:
    including = {
        path.relative_to(CSRC).as_posix()
        for path in c_files()
        if re.search(r"^\s*#\s*include\s+<Python\.h>", path.read_text(), re.MULTILINE)
    }
    assert including == {"lane/runtime/python.h"}


@pytest.mark.parametrize("room", BELOW)
def test_a_source_begins_with_what_it_is(room: str) -> None:
    sources = [path for path in c_files() if room_of(path.relative_to(CSRC).as_posix()) == room]
    assert [path.name for path in sources if not path.read_text().startswith("/* ")] == []


def test_the_lane_imports_one_module_of_python() -> None:
    """What C gets from it by name is what it has, and each of these can be imported."""
    imports = {
        path.relative_to(CSRC).as_posix(): re.findall(r"PyImport_\w+\((\w*)", path.read_text())
        for path in c_files()
    }
    assert {*imports["lane/runtime/hooks.c"]} == {"MODULE"}
    assert {name: found for name, found in imports.items() if found and "hooks" not in name} == {
        "lane/runtime/python.c": [""]  # PyImport_GetModuleDict()
    }
    code = (CSRC / "lane/runtime/hooks.c").read_text()
    assert re.findall(r'#define MODULE "(.+)"', code) == [_hooks.__name__]
    names = re.findall(r'\[LANE_\w+\] = "(\w+)"', code)
    assert sorted(names) == sorted(_hooks._MODULES)
    for name in names:
        assert getattr(_hooks, name) is _hooks.loaded(name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = _hooks.nothing


def test_no_circle_of_c_files() -> None:
    """A source and its header count as one file."""
    graph: dict[str, set[str]] = {}
    for path in c_files():
        name = path.relative_to(CSRC).with_suffix("").as_posix()
        needs = graph.setdefault(name, set())
        if room_of(name) not in RECURSIVE:
            needs |= {included.rsplit(".", 1)[0] for included in c_includes(path)} - {name}
    assert find_circle(graph) == []


def compile_room(sources: list[Path], folder: Path) -> None:
    """Compile sources of one folder, as the extension is compiled but for the optimization."""
    folder.mkdir(parents=True, exist_ok=True)
    python = sysconfig.get_path("include")
    flags = ["-std=c11", "-O0", "-w", "-DFNABI_API=", "-DPy_LIMITED_API=0x030B0000"]
    subprocess.run(
        ["cc", *flags, f"-I{CSRC}", "-isystem", python, "-c", *sources], cwd=folder, check=True
    )


def c_calls(out: Path) -> dict[str, set[str]]:
    """Return the sources that each source calls, by the symbols of their objects."""
    folders: dict[Path, list[Path]] = {}
    for path in c_files():
        if path.suffix == ".c":
            folders.setdefault(path.parent, []).append(path)
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(compile_room, sources, out / folder.relative_to(CSRC))
            for folder, sources in folders.items()
        ]
    for job in jobs:
        job.result()
    owners: dict[str, str] = {}
    missing: dict[str, set[str]] = {}
    for path in sorted(out.rglob("*.o")):
        name = path.relative_to(out).with_suffix("").as_posix()
        text = subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout
        symbols = [line.split()[:2] for line in text.splitlines()]
        owners |= {symbol: name for symbol, kind in symbols if kind.isupper() and kind != "U"}
        missing[name] = {symbol for symbol, kind in symbols if kind == "U"}
    return {
        name: {owners[symbol] for symbol in symbols if symbol in owners}
        for name, symbols in missing.items()
    }


def c_circles(graph: Graph) -> list[list[str]]:
    """Return the sets of nodes that reach each other and themselves."""
    reached = {name: {*called} for name, called in graph.items()}
    for middle in reached:
        for called in reached.values():
            if middle in called:
                called |= reached[middle]
    circles = {
        tuple(sorted(each for each in called if name in reached[each]))
        for name, called in reached.items()
        if name in called
    }
    return [[*circle] for circle in sorted(circles)]


def test_files_that_reach_each_other_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e", "a"}, "e": {"d"}, "f": {"d"}}
    assert c_circles(graph) == [["b", "c"], ["d", "e"]]


@pytest.mark.slow
def test_calls_point_down(tmp_path: Path) -> None:
    """One test, because it compiles all sources."""
    if shutil.which("cc") is None or shutil.which("nm") is None:
        pytest.skip("no C compiler, or no nm")
    calls = c_calls(tmp_path)
    assert "lane/calls/to_value" in calls["lane/calls/from_value"] | calls["lane/calls/array"]
    for name, called in calls.items():
        allowed = {room_of(name), *BELOW[room_of(name)]}
        above = {each for each in called if room_of(each) not in allowed}
        assert above == set(), f"{name} calls {above}"
    for circle in c_circles(calls):
        rooms = {room_of(name) for name in circle}
        assert rooms <= {*RECURSIVE}
        assert [room for room in rooms if len(circle) > RECURSIVE[room]] == [], circle


# ----------------------------------------------------------------------- Python

MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

ENGINES = ("dask", "datafusion", "duckdb", "pandas", "polars", "ray", "spark")
"""Modules, not packages: each has the name of the package that it brings fnabi to."""

_TEXTS = {"types", "_base", "errors"}
_MODULES = {"vmfb", "abi", *_TEXTS}
_MANY = {"many", "compat", *_MODULES}
PYTHON_BELOW = {
    "errors": set(),
    "_base": {"errors"},
    "types": {"_base", "errors"},
    "abi": _TEXTS,
    "calls": _TEXTS,
    "vmfb": {"abi", *_TEXTS},
    "compat": _MODULES,
    "run": _MODULES,
    "many": {"compat", *_MODULES},
    **{each: {"many", "compat", *_MODULES} for each in ENGINES},
    "stub": {"run", "calls", *_MODULES},
    "html": {"calls", *_MANY},
    "dropin": {"run", "calls", *_MODULES},
    "cli": {"stub", "html", "run", "calls", *_MANY},
    "__main__": {"cli"},
}
"""The rooms of Python that a room may import, beside itself; `cli` alone imports `fnabi` itself."""


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that code imports anywhere, also those that only types need."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name == "fnabi._fnabi":
                    continue
                yield name if name in MODULES else str(node.module)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "import_module"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.args[0].value
        else:
            yield from imports(node)


@cache
def python_graph() -> dict[str, set[str]]:
    """Return the modules of the package that each imports, `fnabi` and itself left out."""
    return {
        name: {
            each
            for each in imports(ast.parse(path.read_text()))
            if each in MODULES and each != name
        }
        for name, path in MODULES.items()
        if name != "fnabi"
    }


def test_every_python_module_is_in_a_room() -> None:
    assert {name.split(".")[1] for name in python_graph()} == {*PYTHON_BELOW}


@pytest.mark.parametrize("room", PYTHON_BELOW)
def test_python_imports_point_down(room: str) -> None:
    allowed = {room, *PYTHON_BELOW[room]}
    for name, needs in python_graph().items():
        if name.split(".")[1] == room:
            above = {each for each in needs if each.partition(".")[2].split(".")[0] not in allowed}
            assert above <= ({"fnabi"} if room == "cli" else set()), f"{name} needs {above}"


def test_no_circle_of_python_modules() -> None:
    """Neither at run time nor by types, which `cli` needs of `fnabi` itself."""
    graph = {name: needs - {"fnabi"} for name, needs in python_graph().items()}
    assert graph["fnabi.abi.raw"] >= {"fnabi._base.core", "fnabi.types"}
    assert find_circle(graph) == []
    rooms: dict[str, set[str]] = {}
    for name, needs in graph.items():
        room = name.split(".")[1]
        others = {each.split(".")[1] for each in needs} - {room}
        rooms.setdefault(room, set()).update(others)
    assert find_circle(rooms) == []


# --------------------------------------------------------------- crossing table

WAYS = {"message", "columns", "lane", "Python"}


def section(title: str) -> str:
    return ARCHITECTURE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def crossing_rows() -> list[list[str]]:
    table = section("The crossing table").split("Modules without a row:")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    head, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    assert head == ["noun", "operation", "way", "entry points", "measurement or reason"]
    return rows


ROWS = crossing_rows()
NOT_IN_TABLE, _, WITHOUT_ROW_TEXT = (
    section("The crossing table").split("Not in the table:")[1].partition("Modules without a row:")
)
EXCEPTIONS = {*names(NOT_IN_TABLE)}
WITHOUT_ROW = {*names(WITHOUT_ROW_TEXT)}


def entry_points() -> set[str]:
    """Return every function of fnabi.h, and every function and type of the lane.

    The methods of `RecordDecoder` and `RecordEncoder` count one by one, and the classes do not.
    """
    ours = {name for name in vars(lane) if not name.startswith("_")}
    for methods in (lane.RecordDecoder, lane.RecordEncoder):
        ours.remove(methods.__name__)
        ours |= {f"{methods.__name__}.{name}" for name in vars(methods) if name[0] != "_"}
    core = {name for name in dir(lib) if callable(getattr(lib, name))}
    return core | {f"lane.{name}" for name in ours}


def test_the_crossing_table_has_every_entry_point() -> None:
    listed = [name for row in ROWS for name in names(row[3])]
    listed_or_excepted = {*listed} | EXCEPTIONS
    assert entry_points() - listed_or_excepted == set(), "not in the table"
    assert listed_or_excepted - entry_points() == set(), "not in the code"
    assert {*listed} & EXCEPTIONS == set(), "both in the table and excepted"


def test_the_crossing_table_has_every_noun() -> None:
    """A row is about a module; each public one has a row or a reason to have none."""
    rows = {noun for row in ROWS for noun in row[0].split(", ")}
    nouns = {name.rpartition(".")[2].removeprefix("_") for name in MODULES}
    packages = {"abi", "calls", "run", "many"}
    public = {
        name.split(".")[-1]
        for name in MODULES
        if "._" not in name and name.count(".") in (1, 2) and not name.startswith("fnabi.cli")
    } - {*packages, "__main__", "tvm_ffi", "iree_runtime", "signature_mangle"}
    assert rows - nouns == set(), "rows of no module"
    assert WITHOUT_ROW & rows == set(), "excepted, and in the table"
    assert WITHOUT_ROW - public == set(), "excepted, but not a public module"
    assert public - rows - WITHOUT_ROW == set(), "modules that are not in the table"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_row_of_the_crossing_table(row: list[str]) -> None:
    assert len(row) == 5
    ways = {*row[2].split(", ")}
    assert ways <= WAYS
    lane = [name for name in names(row[3]) if name.startswith("lane.")]
    core = [name for name in names(row[3]) if name.startswith("fnabi_")]
    assert ("lane" in ways) == bool(lane)
    assert bool({"message", "columns"} & ways) == bool(core)
    assert not lane or row[4], "a lane path needs its measurement or reason"


def test_every_fast_path_is_compared() -> None:
    """A row with a lane path and a plain equivalent is one of tests/project/test_crossing.py."""
    fast = {
        name
        for row in ROWS
        if "lane," in row[2]
        for name in names(row[3])
        if name.startswith("lane.")
    }
    assert fast == {f"lane.{crossing.lane}" for crossing in CROSSINGS}


def test_the_package_uses_the_core_as_the_table_says() -> None:
    """A function of the core that Python calls has a row; a row's function has a user."""
    code = "".join(path.read_text() for path in MODULES.values())
    lane = "".join(path.read_text() for path in (CSRC / "lane").rglob("*.[ch]"))
    listed = {name for row in ROWS for name in names(row[3]) if name.startswith("fnabi_")}
    assert {*re.findall(r"\blib\.(fnabi_\w+)", code)} - listed - EXCEPTIONS == set()
    used = {*re.findall(r"\bfnabi_\w+", code + lane)}
    assert listed - used == set(), "nothing in the package calls these"


# -------------------------------------------------------------------- documents

DOCUMENTS = ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "benchmarks/README")
HERE = ("csrc/", "python/", "tests/", "benchmarks/", "examples/", ".ci/", "docs/")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_and_paths_exist(name: str) -> None:
    path = ROOT / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    paths = [each for each in names(text) if re.fullmatch(r"[\w./-]+", each)]
    paths = [each for each in paths if each.startswith(HERE) and not is_a_pattern(each)]
    missing = [each for each in links if not (path.parent / each).exists()]
    missing += [each for each in paths if not (ROOT / each).exists()]
    assert missing == []


def is_a_pattern(path: str) -> bool:
    """Return whether a path names an example, such as the ABI "foo" of CONTRIBUTING.md."""
    return bool(re.search(r"foo|NOUN|VERB|NAME|/out/", path))


def test_the_glossary_is_short() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*", section("Glossary"), re.MULTILINE)
    assert 5 < len(terms) < 20
    assert len({*terms}) == len(terms)


def test_every_package_is_installed() -> None:
    packages = re.search(r"packages=\[([^\]]*)\]", (ROOT / "setup.py").read_text())
    assert packages is not None
    folders = {path.parent for path in PACKAGE.rglob("__init__.py")}
    assert {*re.findall(r'"([\w.]+)"', packages[1])} == {
        ".".join(folder.relative_to(PACKAGE.parent).parts) for folder in folders
    }
