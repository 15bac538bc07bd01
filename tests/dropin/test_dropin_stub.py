"""`fnabi.dropin.tvm_ffi.stub`: the command tvm-ffi-stubgen, compared with the original's."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

theirs = pytest.importorskip("tvm_ffi", reason="tvm_ffi is not installed")
ours = import_module("fnabi.dropin.tvm_ffi")
import_module("fnabi.dropin.tvm_ffi.testing")
cli: Any = import_module("fnabi.dropin.tvm_ffi.stub.cli")

pytestmark = pytest.mark.unsanitized("it starts the interpreter without the library")

SOURCE = '''# tvm-ffi-stubgen(begin): import-section
# tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(import-object): tvm_ffi.libinfo.load_lib_module;False;_FFI_LOAD_LIB
# tvm-ffi-stubgen(ty-map): testing.TestObjectBase -> mypkg.sub.Base
# tvm-ffi-stubgen(begin): global/testing
# tvm-ffi-stubgen(end)
class A:
    """A type with methods."""

    # tvm-ffi-stubgen(begin): object/testing.SchemaAllTypes
    # tvm-ffi-stubgen(end)
class B:
    # tvm-ffi-stubgen(begin): object/testing.TestObjectDerived
    # tvm-ffi-stubgen(end)
class C:
    # tvm-ffi-stubgen(begin): object/testing.TestCxxKwOnly
    # tvm-ffi-stubgen(end)
class D:
    # tvm-ffi-stubgen(begin): object/testing.TestObjectPtrHolder
    # tvm-ffi-stubgen(end)
# tvm-ffi-stubgen(begin): export/_ffi_api
# tvm-ffi-stubgen(end)
__all__ = [
    # tvm-ffi-stubgen(begin): __all__
    # tvm-ffi-stubgen(end)
]
'''


def run(package: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"{package}.stub.cli", "--imports", f"{package}.testing"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def written(folder: Path) -> dict[str, str]:
    """Return the texts of a folder's files; how many empty lines end one is left out."""
    return {
        each.relative_to(folder).as_posix(): each.read_text().rstrip()
        for each in folder.rglob("*.py")
    }


@pytest.mark.slow
def test_files_are_written_as_by_the_original(tmp_path: Path) -> None:
    found = []
    for package in (ours.__name__, theirs.__name__):
        folder = tmp_path / package
        (folder / "new").mkdir(parents=True)
        (folder / "a.py").write_text(SOURCE)
        (folder / "more.py").write_text(
            "# tvm-ffi-stubgen(prefix): testing\n# tvm-ffi-stubgen(skip): testing.TestHash\n"
        )
        (folder / "left.py").write_text(SOURCE + "# tvm-ffi-stubgen(skip-file)\n")
        done = run(package, folder)
        assert (done.returncode, done.stderr) == (0, "")
        new = ("--init-pypkg", "my-pkg", "--init-lib", "my_lib", "--init-prefix", "testing")
        assert run(package, folder / "new", *new).returncode == 0
        for module in folder.glob("new/**/_ffi_api.py"):
            module.unlink()  # and is written again, but what imports it is there
        assert run(package, folder / "new", *new).returncode == 0
        found.append(written(folder))
    assert len(found[0]) == 5
    assert found[0] == found[1]
    assert "def sum(self, /) -> int: ..." in found[0]["new/testing/_ffi_api.py"]


def cli_status(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["tvm-ffi-stubgen", *map(str, arguments)])
    status: int = cli.__main__()
    return status


def test_a_block_of_no_functions_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.py"
    text = "# tvm-ffi-stubgen(begin): global/testing.none\n# tvm-ffi-stubgen(end)\n"
    source.write_text(text)
    assert cli_status(monkeypatch, source) == 0
    assert source.read_text() == text


def test_what_would_be_written_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.py"
    source.write_text(SOURCE)
    assert cli_status(monkeypatch, "--check", source) == 1
    assert source.read_text() == SOURCE
    assert capsys.readouterr().out == f"{source}: out of date\n"
    assert cli_status(monkeypatch, "--verbose", "--indent", 2, source) == 0
    assert "+  def add_one(_0: int, /) -> int: ..." in capsys.readouterr().out
    assert cli_status(monkeypatch, "--check", "--indent", 2, source) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# tvm-ffi-stubgen(begin): global/a", "Unclosed stub block at line 1"),
        ("# tvm-ffi-stubgen(end)", "Unmatched `# tvm-ffi-stubgen(end)` found at line 1"),
        ("# tvm-ffi-stubgen(begin): object", "Unknown stub type `object` at line 1"),
        ("# tvm-ffi-stubgen(ty-map): a", "ty-map at line 1: expected A.B -> C.D"),
        ("# tvm-ffi-stubgen(field): a", "Unknown directive `field` at line 1"),
        (
            "# tvm-ffi-stubgen(begin): object/no.Type\n# tvm-ffi-stubgen(end)",
            "types that are not registered: no.Type (line 1); delete the blocks",
        ),
    ],
)
def test_files_that_are_wrong_are_reported(
    text: str,
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "a.py"
    source.write_text(text + "\n")
    cli_status(monkeypatch, source)
    assert capsys.readouterr().err.splitlines()[0] == f"{source}: {fault}"


def test_prefixes_that_are_wrong_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = "# tvm-ffi-stubgen(prefix): testing\n"
    for name, text in {"a": prefix, "b": prefix, "c": prefix * 2}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert cli_status(monkeypatch, tmp_path) == 2
    told = dict(line.split(": ", 1) for line in capsys.readouterr().err.splitlines())
    first = tmp_path / "a.py"
    assert told == {
        str(tmp_path / "b.py"): f"the prefix testing is that of {first}",
        str(tmp_path / "c.py"): "more than one prefix directive",
    }


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ('{"type": "Optional"}', "Optional requires exactly one type argument, got 0"),
        ("[]", "expected schema dict with the key 'type', got []"),
        ("{", "Expecting property name"),
    ],
)
def test_types_that_cannot_be_read_are_reported(
    schema: str,
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = import_module("fnabi.dropin.tvm_ffi.stub.lib_state")
    monkeypatch.setattr(state, "list_global_func_names", lambda: ["my.f"])
    monkeypatch.setattr(state, "get_global_func_metadata", lambda _: {"type_schema": schema})
    (tmp_path / "a.py").write_text(SOURCE)
    assert cli_status(monkeypatch, tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"my.f: {fault}")


def test_a_language_that_is_not_known() -> None:
    with pytest.raises(ValueError, match=r"Unknown target 'zig'\. Known generators: python"):
        import_module("fnabi.dropin.tvm_ffi.stub.generator").get_generator("zig")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--init-lib", "x", "."],
        ["--target", "zig", "."],
        ["--check", "--init-pypkg", "x", "--init-lib", "y", "--init-prefix", "z", "."],
    ],
)
def test_arguments_that_are_wrong_are_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli_status(monkeypatch, *arguments)
    assert ended.value.code == 2
    assert "tvm-ffi-stubgen: error: " in capsys.readouterr().err


def test_the_memory_of_types_is_judged_as_by_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ours.json"
    layout, state = (import_module(f"tvm_ffi.stub.{name}") for name in ("layout", "lib_state"))
    import_module("tvm_ffi.testing")
    # Other tests in this process may have registered types that cannot be read.
    groups = {
        name: [key for key in group if key.startswith(("ffi.", "testing."))]
        for name, group in state.collect_type_keys().items()
    }
    monkeypatch.setattr(cli, "collect_type_keys", lambda: groups)
    assert cli_status(monkeypatch, "--coverage-out", file) == 0
    found = json.loads(file.read_text())
    keys = [key for group in groups.values() for key in group]
    infos = {key: state.object_info_from_type_key(key) for key in keys}
    wanted = layout.coverage_report(layout.classify(infos))
    for key in wanted:
        ours_of, theirs_of = found[key], wanted[key]
        assert ours_of.pop("detail") or ours_of["verdict"]
        theirs_of.pop("detail")
        assert ours_of == theirs_of, key
    assert found["testing.TestCxxClassHiddenField"]["uncovered"] == [[32, 40]]


def test_types_are_what_they_are_for_the_original() -> None:
    import_module("tvm_ffi.testing")
    states = [import_module(f"{each.__name__}.stub.lib_state") for each in (ours, theirs)]
    keys = [str(each) for each in ours.registry.get_registered_type_keys()]
    for key in [key for key in keys if key.startswith("testing.")]:
        found, wanted = (state.object_info_from_type_key(key) for state in states)
        for name in ("has_init", "ancestors", "parent_type_key", "total_size", "is_final"):
            assert getattr(found, name) == getattr(wanted, name), (key, name)
        assert [each.name for each in found.init_fields] == [
            each.name for each in wanted.init_fields
        ]


def test_methods_of_one_name_are_overloads() -> None:
    utils: Any = import_module("fnabi.dropin.tvm_ffi.stub.utils")
    schema = utils.NamedTypeSchema("f", utils.TypeSchema("Callable"))
    once, beside = (utils.FuncInfo(schema, is_member=each) for each in (True, False))
    assert not utils.ObjectInfo([], [once, beside]).has_overloaded_methods()
    assert utils.ObjectInfo([], [once, beside, once]).has_overloaded_methods()
