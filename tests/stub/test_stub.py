"""Generated Python modules for libraries: they pass a strict type checker, and run."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi._base.names import Names, identifier
from fnabi.stub._library import exported, registered
from support.callee import (
    callee_library,
    installed_library,
    interop_library,
    path_of,
    typed_library,
)
from support.command import Run, run
from support.generated import check, imported, write
from support.sanitizers import examples

pytestmark = pytest.mark.unsanitized("it needs the runtime, or runs programs without them")

# ------------------------------------------------------------------------------------- exports


def test_functions_of_a_library(tmp_path: Path) -> None:
    library = shutil.copy(callee_library(), tmp_path / "libplain.so")
    output = tmp_path / "plain.py"
    done = run("stub", "--output", output, library)
    assert done == Run(0, "", "")
    text = output.read_text()
    assert 'LIBRARY = str(Path(__file__).parent / "libplain.so")' in text
    plain = imported(output)
    assert plain.add(2, 3) == 5
    assert inspect.getdoc(plain.add) == (
        "Adds two integers.\n\nThey wrap around.\n\n``add`` of the library: (int, int) -> int."
    )
    assert plain.halve(3.0) == 1.5
    assert plain.nothing() is None
    assert set(plain.__all__) == set(fnabi.load_module(str(library)).functions)
    with pytest.raises(TypeError, match="positional-only"):
        plain.add(arg0=1, arg1=2)
    with pytest.raises(ValueError, match="must be 0 or more"):
        plain.repeat("a", -1)


def test_hostile_names_and_texts(tmp_path: Path) -> None:
    library = path_of("named")
    stub = exported(library)
    assert stub.notices == ()
    named = imported(write(tmp_path, "named.py", stub.text))
    numbered = "class_ int_ a_b_2 a_b x_import_os_os__exit_3_ function fnabi_ _library_ _t_ _2nd"
    names = [*numbered.split(), "Sequence_", "result", "same", "_same"]
    assert [getattr(named, name)() for name in names] == list(range(14))
    assert set(named.__all__) == {*names, "add", "few", "keyword", "many"}
    assert named.add(1, int_=2) == 3
    assert named.keyword(1, class_=2) == 2
    assert named.few(None, 2) == 2
    assert str(inspect.signature(named.few)) == "(arg0: 'Any', arg1: 'int', /) -> 'int'"
    assert (inspect.getdoc(named.few) or "").startswith('Ends with a "quote"')
    assert 'quote: """\nimport os\x1b[31m \\\n' in (inspect.getdoc(named.same) or "")
    assert "\x1b" not in stub.text
    write(tmp_path, "named.pyi", exported(library, interface=True).text)
    use = """
import numpy as np
from collections.abc import Mapping, Sequence
import named
one: int = named.add(1, 2)
found: Mapping[str, Sequence[int]] = named.many(None, [1], np.ones(2), {1: 2}, print)
"""
    write(tmp_path, "use.py", use)
    check(tmp_path, "named.pyi", "use.py")
    (tmp_path / "named.pyi").unlink()
    check(tmp_path, "named.py", "use.py")
    write(tmp_path, "wrong.py", 'import named\nnamed.add(1, "2")\n')
    with pytest.raises(AssertionError, match='incompatible type "str"; expected "int"'):
        check(tmp_path, "wrong.py")


def test_parameters_that_python_does_not_allow() -> None:
    keyword = fnabi.load_module(path_of("named"))["keyword"]
    assert keyword.names == ("a", "class")
    assert keyword(1, 2) == 2
    assert keyword(1, **{"class": 2}) == 2


def test_libraries_without_functions(tmp_path: Path) -> None:
    library = typed_library()
    done = run("stub", library)
    assert done == Run(
        1,
        "",
        f"fnabi: {library}: the library exports no function; it registers by name, see --global\n",
    )
    done = run("stub", "--global=no.such.", library)
    assert done == Run(
        1, "", f"fnabi: {library}: no function or type is registered under 'no.such.'\n"
    )
    output = tmp_path / "out.py"
    assert run("stub", "--global=no.such.", "-o", output, library).status == 1
    assert os.listdir(tmp_path) == []


def test_wrong_usage(tmp_path: Path) -> None:
    library = path_of("named")
    for argv, text in (
        (
            ["--language=c-header", library],
            "--language c-header is for a .vmfb module, not for a library",
        ),
        (["--language=nonsense", library], "nonsense"),
        (["--global=a", "--function=b", library], "--function is not allowed with --global"),
        (["-o", library, library], "--output is FILE itself"),
        (["-"], "standard input is not allowed"),
        ([], "FILE"),
    ):
        done = run("stub", *argv)
        assert (done.status, done.out) == (2, "")
        assert text in done.err
    missing = tmp_path / "none.so"
    assert run("stub", missing) == Run(1, "", f"fnabi: {missing}: No such file or directory\n")


def test_a_module_that_hides_behind_its_library(tmp_path: Path) -> None:
    library = shutil.copy(callee_library(), tmp_path / "plain.so")
    done = run("stub", "-o", tmp_path / "plain.py", library)
    assert (done.status, done.out) == (2, "")
    assert "Python would import plain.so instead of plain.py" in " ".join(done.err.split())
    assert run("stub", "-o", tmp_path / "other.py", library).status == 0
    assert run("stub", "--language=pyi", "-o", tmp_path / "plain.pyi", library).status == 0


def test_chosen_functions() -> None:
    text = run("stub", "--function=add", "--function=halve", callee_library()).out
    assert [line for line in text.splitlines() if line.startswith("def ")] == [
        "def add(arg0: int, arg1: int, /) -> int:",
        "def halve(*args: Any) -> Any:",
    ]
    done = run("stub", "--function=none", callee_library())
    text = "no function is named 'none', expected add, apply, "
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"fnabi: {callee_library()}: {text}")


def test_json_of_a_stub() -> None:
    done = run("stub", "--json", path_of("named"))
    answer = json.loads(done.out)
    text = answer.pop("text")
    assert text.startswith('"""Functions of libnamed.so\n')
    assert answer == {
        "schema": "fnabi.stub/1",
        "language": "python",
        "output": None,
        "notices": [],
    }


# ------------------------------------------------------------------------------- registered names


def test_classes_of_registered_types(tmp_path: Path) -> None:
    pytest.importorskip("tvm_ffi")
    library = interop_library("reflected", link=True)
    name = 'stubs.\n"""; raise SystemExit #'
    fnabi.register_global_func(name, lambda: 5, override=True)
    fnabi.register_global_func("stubs.Point.norm", lambda: 6, override=True)
    fnabi.register_global_func("stubs.", lambda: 7, override=True)
    hostile = imported(write(tmp_path, "hostile.py", registered(library, "stubs.").text))
    assert hostile._raise_SystemExit_() == 5
    assert hostile.Point_norm() == 6
    assert hostile.stubs_() == 7
    stub = registered(library, "tests.")
    assert stub.notices == ()
    path = write(tmp_path, "types_.py", stub.text)
    generated = imported(path)
    auto = generated.Auto(1.0, 2.0)
    assert (auto.x, auto.y) == (1.0, 2.0)
    assert isinstance(generated.Point.make(3.0, 4.0), generated.Point)
    assert generated.Point.make(3.0, 4.0).norm() == 25.0
    use = """
import types_
auto = types_.Auto(1.0, y=2.0)
length: float = types_.Point3.make3(1.0, 2.0, 3.0).norm()
auto.x = 3.0
x: float = auto.x
"""
    write(tmp_path, "use.py", use)
    check(tmp_path, "types_.py", "use.py", "hostile.py")
    write(tmp_path, "wrong.py", "import types_\ntypes_.Point.make(1.0, 2.0).y = 'a'\n")
    write(tmp_path, "types_.pyi", registered(library, "tests.", interface=True).text)
    check(tmp_path, "types_.pyi", "use.py")


def test_names_of_members_that_python_does_not_allow(tmp_path: Path) -> None:
    pytest.importorskip("tvm_ffi")
    stub = registered(typed_library(), "typed.")
    assert stub.notices == (
        'typed.Odd: the field "class" is a keyword; use getattr',
        'typed.Odd: the field "two words" is no identifier; use getattr',
        'typed.Odd: the field "Sequence" hides a name that the class uses for types; use getattr',
        'typed.Odd: the field "__doc__" has a name that Python gives a meaning',
        'typed.Odd: the method "in" is a keyword; use getattr',
        'typed.Own: the field "Pair" hides a name that the class uses for types; use getattr',
    )
    for notice in stub.notices:
        assert f"# {notice}\n" in stub.text
    typed = imported(write(tmp_path, "typed.py", stub.text))
    assert getattr(typed.Odd(**{"class": 5}), "two words") == 7
    pair = typed.Pair(1, rest=[2])
    own = typed.Own(self=3, Pair=pair)
    assert (own.self, own.same(pair).first) == (3, 1)
    uses = ["import typed", "pair = typed.Pair(1, rest=[2])", "typed.Odd(1, b=pair.first)"]
    uses.append("first: int = typed.Own(3, Pair=pair).same(pair).first")
    write(tmp_path, "use.py", "\n".join(uses) + "\n")
    check(tmp_path, "typed.py", "use.py")


def test_xgrammar(tmp_path: Path) -> None:
    library = installed_library("xgrammar", "libxgrammar_bindings.so")
    output = tmp_path / "grammar.py"
    done = run("stub", "--global=xgrammar.tvm_ffi_binding.", "-o", output, library)
    assert done == Run(0, "", "")
    use = """
import grammar
found = grammar.Grammar.from_ebnf('root ::= "a" | "b"', "root")
text: str = grammar.Grammar.from_regex("a|b", False).to_string()
version: str = grammar.config_get_serialization_version()
print(text, end="")
"""
    write(tmp_path, "use.py", use)
    check(tmp_path, "grammar.py", "use.py")
    done_use = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done_use.stderr, done_use.stdout[:8]) == ("", "root ::=")


def test_tvm(tmp_path: Path) -> None:
    library = installed_library("tvm", "lib/libtvm_compiler.so")
    output = tmp_path / "everything.py"
    done = run("stub", "--global=", "-o", output, library)
    assert (done.status, done.out) == (0, "")
    assert (
        'fnabi: notice: tirx.ScopeIdDefStmt: the field "def" is a keyword; use getattr\n'
        in done.err
    )
    text = output.read_text()
    for notice in done.err.splitlines():
        assert f"# {notice.removeprefix('fnabi: notice: ')}\n" in text
    check(tmp_path, "everything.py")


# ------------------------------------------------------------------------------------ references


def test_calls_leave_no_references(tmp_path: Path) -> None:
    plain = imported(write(tmp_path, "plain.py", exported(callee_library()).text))
    values: list[Any] = [np.ones(3, np.float32), "text of some length", b"bytes of some length"]
    assert plain.same(values[1]) == values[1]
    count = plain.live_closures()
    before = [sys.getrefcount(value) for value in values]
    for _ in range(examples(100_000)):
        plain.add(1, 2)
        plain.sum_tensor(values[0])
        plain.same(values[1])
        plain.reverse(values[2])
    with pytest.raises(ValueError, match="0 or more"):
        plain.repeat(values[1], -1)
    assert [sys.getrefcount(value) for value in values] == before
    assert plain.live_closures() == count


# ----------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("a-b.c", "a_b_c"),
        ("2nd", "_2nd"),
        ("class", "class_"),
        ("match", "match_"),
        ("double", "double_"),
        ("__init", "_init"),
        ("__", "nothing"),
        ("", "nothing"),
        ("\n\0\ud800", "nothing"),
        ("a\u202eb", "a_b"),
        ("x" * 200, "x" * 80),
    ],
)
def test_identifiers(name: str, expected: str) -> None:
    assert identifier(name, "nothing") == expected


def test_names_are_given_once() -> None:
    names = Names(["b"], reserved=["int"])
    given = [names.add(name) for name in ("a", "a", "a_2", "b", "int", "int_", "a.", "a_2")]
    assert given == ["a", "a_2", "a_2_2", "b_2", "int_", "int__2", "a_", "a_2_3"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["run.v2", "run_v2"], ["run_v2_2", "run_v2"]),
        (["run_v2", "run.v2"], ["run_v2", "run_v2_2"]),
        (["a", "a", "a_2", "a_2"], ["a", "a_3", "a_2", "a_2_2"]),
        (["int", "int_", "class", "class_"], ["int__2", "int_", "class__2", "class_"]),
    ],
)
def test_names_that_need_no_change_are_kept(names: list[str], expected: list[str]) -> None:
    scope = Names(reserved=["int"], expected=names)
    assert [scope.add(name) for name in names] == expected
