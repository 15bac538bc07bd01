"""What the command says where something is wrong, and with which status it ends."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import fnabi
from fnabi import library, vmfb
from fnabi.cli import main
from fnabi.cli._arguments import is_module
from fnabi.cli._problems import tell, tell_unknown
from fnabi.cli._terminal import width_of
from fnabi.cli.verbs import VERBS
from fnabi.errors import CallError, FormatError
from support.callee import callee_library
from support.flatbuffer import String, Table, Vector, module
from support.paths import RELEASES, ROOT
from support.unknown_bytecode import unknown_bytecode

MODULES = ROOT / "tests/data/vmfb"
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
SOURCE = b"module @m {\n  func.func @f() { return }\n}\n"
SUCCESSOR = b"IREEVM\0\0" + bytes([1, 0, 2, 0, 3, 0, 0, 0]) + bytes(99)
MLIR = "a .vmfb module, got MLIR source, which iree-compile compiles"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Run the command here, and return its status, output and errors."""

    def run(*argv: str | Path) -> tuple[object, str, str]:
        try:
            status: object = main([str(word) for word in argv])
        except SystemExit as ended:
            status = ended.code
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


NAMING = [
    "verify {}.vmfb",
    "verify --runtime 3.13.0 {}.vmfb",
    "scan {}.vmfb",
    "find .",
    "diff one two",
    "check-abi --update {}.abi.json {}.vmfb",
    "inspect --extract all {} one/{}.vmfb",
    "decode --abi raw {}",
]
"""Command lines that show the name of a file."""


@pytest.mark.parametrize("words", NAMING)
@pytest.mark.parametrize("name", ["::stop-commands::x", " ::error::x", "x ##[error]y"])
def test_no_line_has_a_command_of_github(run, here: Path, words: str, name: str) -> None:
    """The runner looks for ``::name::`` where a line begins, and for ``##[name]`` anywhere."""
    for folder in here, here / "one", here / "two":
        folder.mkdir(exist_ok=True)
        shutil.copy(CLASSIFIER, folder / f"{name}.vmfb")
    _, out, error = run(*(word.format(name) for word in words.split(" ")))
    assert re.search(r"\\x3a:|#\\x23\[", out + error)
    assert not re.search(r"^\s*::|##\[", out + error, re.MULTILINE)


@pytest.mark.parametrize("colour", ["", "1"])
@pytest.mark.parametrize("words", NAMING)
def test_no_folded_line_begins_with_a_command_of_github(
    run, here: Path, monkeypatch: pytest.MonkeyPatch, words: str, colour: str
) -> None:
    """Whatever word a line is folded before."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", colour)
    name = f"{'a' * 40} ::error::x"
    for folder in here, here / "one", here / "two":
        folder.mkdir(exist_ok=True)
        shutil.copy(CLASSIFIER, folder / f"{name}.vmfb")
    _, out, error = run(*(word.format(name) for word in words.split(" ")))
    assert not re.search(r"^\s*::", out + error, re.MULTILINE)


# ------------------------------------------------------------------ functions with bad texts

MALFORMED = {
    "malformed/cconv_badver.vmfb": (
        "use.it: malformed cconv: unknown ABI version at byte 0, expected '0'"
    ),
    "raw_v0.vmfb": (
        'ver2: malformed f: unknown ABI version at byte 0 in exports[3].attrs["fv"], expected "1",'
        " and 2 other functions"
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("form", [[], ["--json"], ["--html"], ["--needs"]], ids=str)
def test_inspect_says_why_the_status_is_1_in_each_form(run, name: str, form: list[str]) -> None:
    """The output is there all the same."""
    status, out, error = run("inspect", *form, MODULES / name)
    assert (status, error) == (1, f"fnabi: {MODULES / name}: {MALFORMED[name]}\n")
    assert len(out) > 200


DAMAGED = sorted((MODULES / "malformed").glob("*.vmfb")) + [
    file for file in sorted(MODULES.glob("*.vmfb")) if not file.name.startswith("many")
]


@pytest.mark.parametrize("lenient", [[], ["--lenient"]], ids=str)
def test_a_status_has_a_message_and_is_the_same_in_each_form(run, lenient: list[str]) -> None:
    """Of every damaged module; verify and scan answer with findings in their output."""
    forms = {
        "inspect": ([], ["--json"], ["--html"]),
        "stub": ([], ["--json"]),
        "verify": ([], ["--json"]),
    }
    for file in DAMAGED:
        for verb, options in forms.items():
            found = [run(verb, *option, *lenient, file) for option in options]
            assert len({status for status, _, _ in found}) == 1, (verb, file.name)
            for status, out, error in found:
                assert status == 0 or (out if verb == "verify" else error), (verb, file.name)


def test_find_says_that_nothing_fits(run) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    status, out, error = run("find", CLASSIFIER, "f64[7] -> *")
    assert (status, out, error) == (1, "0 functions in 0 files\n", "")
    status, out, error = run("find", "--json", CLASSIFIER, "f64[7] -> *")
    assert (status, out, error) == (1, "", f"fnabi: {CLASSIFIER}: no function fits\n")


def test_find_says_which_dtypes_no_compiler_has(run) -> None:
    """Nothing fits because of them; a text of a signature can have any width, so may a pattern."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    told = (
        "fnabi: f99 is not a dtype of any compiler; did you mean f16, f32 or f64?\n"
        "fnabi: bf8 is not a dtype of any compiler; did you mean bf16?\n"
        "fnabi: c96 is not a dtype of any compiler; did you mean c64 or c128?\n"
    )
    words = (CLASSIFIER, "f99[?], [bf8, i7, f8E4M3FN] -> array<float99>[2], c96")
    assert run("find", *words) == (1, "0 functions in 0 files\n", told)
    assert run("find", "--json", *words) == (1, "", told)


# --------------------------------------------------------------------- files of another kind

KINDS = {
    SOURCE: "MLIR source, which iree-compile compiles",
    b"  \n// a comment\nmodule {}": "MLIR source, which iree-compile compiles",
    b"#map = affine_map<(d0) -> (d0)>\n": "MLIR source, which iree-compile compiles",
    b"ML\xefR" + bytes(20): "MLIR bytecode, which iree-compile compiles",
    b"\x7fELF" + bytes(60): "an ELF file, such as a shared library",
    b"PK\x03\x04" + bytes(60): "a ZIP archive",
    b"\x1f\x8b" + bytes(60): "data compressed by gzip",
    b"GGUF" + bytes(60): "parameters (GGUF)",
    b"GGUF": "parameters (GGUF)",
    b"\x93NUMPY" + bytes(60): "an array of NumPy",
    bytes(8) + b"DUCK" + bytes(60): "a database of DuckDB, such as a catalog",
    "Größe\n".encode() * 20: "text",
    "Ü".encode() * 100: "text",  # of which the last one is cut
    b"short": "text",
    b"": "an empty file",
}


def test_an_error_names_the_file_that_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "clamp.txt"
    path.write_bytes(b"int clamp(void);\n" * 20)
    fault = "not an IREE module at byte 8, expected a .vmfb module, got text"
    with pytest.raises(FormatError) as raised:
        vmfb.open(path)
    assert (raised.value.file, raised.value.text) == (str(path), fault)
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert str(error) == f"{path}: {fault}"
    with pytest.raises(FormatError) as raised:
        vmfb.from_buffer(path.read_bytes())
    assert (raised.value.file, str(raised.value)) == (None, fault)
    fault = "not a library; expected an ELF shared library (Linux and others)"
    for read in (fnabi.load_module, library.read):
        with pytest.raises(fnabi.LibraryError) as refused:
            read(path)
        assert str(refused.value) == f"{path}: {fault}"
    with pytest.raises(fnabi.LibraryError) as refused:
        library.read(path.read_bytes())
    assert str(refused.value) == fault


@pytest.mark.parametrize(
    ("name", "language", "compiler"),
    [("a b.c", "C", "cc"), ("k.cc", "C++", "c++"), ("k.cpp", "C++", "c++"), ("k.C", "C++", "c++")],
)
def test_a_source_is_told_how_to_compile_it(
    run, here: Path, name: str, language: str, compiler: str
) -> None:
    source = (ROOT / "examples/kernels.c").read_text()
    own = "int one(void) { return 1; }\n"
    target = f"{name.partition('.')[0]}.so"
    needed = [f"-I{fnabi.get_include()}", *(["-lm"] if compiler == "cc" else [])]
    for text, flags in ((own, []), (source, needed)):
        Path(name).write_text(text)
        command = [compiler, "-shared", "-fPIC", "-O2", "-o", target, name, *flags]
        fault = f"{language} source, not a library; compile it first: {shlex.join(command)}"
        with pytest.raises(fnabi.LibraryError) as raised:
            fnabi.load_module(name)
        assert str(raised.value) == f"{name}: {fault}"
        for words in (("call", name, "norm"), ("inspect", name), ("stub", name)):
            assert run(*words) == (1, "", f"fnabi: {name}: {fault}\n")
    if compiler == "cc" and shutil.which("cc"):
        subprocess.run(command, check=True)
        assert run("call", target, "norm", "[3.0, 4]") == (0, "5.0\n", "")


def test_a_strict_opening_says_what_a_lenient_one_reads() -> None:
    path = MODULES / "module_attrs@2.9.0.vmfb"
    fault = "offset outside the module at byte 264 in attrs[1]"
    with pytest.raises(FormatError) as raised:
        vmfb.open(path)
    assert str(raised.value) == f"{path}: {fault} (lenient=True reads it)"
    with pytest.raises(FormatError) as raised:
        vmfb.from_buffer(path.read_bytes())
    assert str(raised.value) == f"{fault} (lenient=True reads it)"


@pytest.mark.parametrize("data", KINDS)
def test_the_kind_of_a_file_that_is_no_module(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.vmfb"
    path.write_bytes(data)
    for read in (lambda: vmfb.open(path), lambda: vmfb.from_buffer(data)):
        with pytest.raises(FormatError) as caught:
            read()
        error = caught.value
        assert (error.expected, error.found) == ("a .vmfb module", KINDS[data])
        assert str(error).endswith(f", expected a .vmfb module, got {KINDS[data]}")
        again = pickle.loads(pickle.dumps(error))
        assert (again.found, str(again)) == (error.found, str(error))
    (row,) = vmfb.scan(path).rows()
    assert row.error is not None
    assert row.error.text.endswith(f", expected a .vmfb module, got {KINDS[data]}")


@pytest.mark.parametrize(
    "data", [bytes(100), b"\xff" * 100, b"text\x00" * 20, b"\x1b[31m" * 20, b"P", b"PK\x03\x04"]
)
def test_a_file_of_no_known_kind(data: bytes) -> None:
    with pytest.raises(FormatError) as caught:
        vmfb.from_buffer(data)
    assert caught.value.expected in (None, '"IREE"')
    assert caught.value.found is None


def test_every_verb_says_what_a_file_is(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    Path("m.mlir").write_bytes(SOURCE)
    shutil.copy(CLASSIFIER, "good.vmfb")
    fault = "not an IREE module at byte 8, expected "
    for argv, status, shown in (
        (["verify", "m.mlir"], 1, f"m.mlir: error: {fault}{MLIR}\n"),
        (["diff", "good.vmfb", "m.mlir"], 3, f"fnabi: m.mlir: {fault}{MLIR}\n"),
        (["diff", "m.mlir", "good.vmfb"], 3, f"fnabi: m.mlir: {fault}{MLIR}\n"),
        (["stub", "m.mlir"], 1, f"fnabi: m.mlir: {fault}{MLIR}\n"),
        (["check-abi", "m.abi.json", "m.mlir"], 3, f"fnabi: m.mlir: {fault}{MLIR}\n"),
        (["find", "m.mlir"], 3, f"fnabi: m.mlir: not an IREE module, expected {MLIR}\n"),
        (["scan", "m.mlir"], 1, f"m.mlir  error: {fault}{MLIR}\n"),
    ):
        found, out, error = run(*argv)
        assert found == status
        assert shown in out + error


def test_a_module_of_the_next_format_is_named(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    Path("folder").mkdir()
    Path("folder/next.vmfb").write_bytes(SUCCESSOR)
    fault = (
        "not read yet: a module in the format after .vmfb (VM image of ROCm's HRX) at byte 8"
        " in core version 1.2, expected a .vmfb module, which is a FlatBuffer"
    )
    for read in (lambda: vmfb.open("folder/next.vmfb"), lambda: vmfb.verify(SUCCESSOR)):
        with pytest.raises(FormatError) as raised:
            read()
        assert raised.value.text == fault
        assert (raised.value.code, raised.value.path) == ("module-successor", "core version 1.2")
    for argv, status in (
        (["inspect", "folder/next.vmfb"], 1),
        (["verify", "folder/next.vmfb"], 1),
        (["verify", "folder"], 1),
        (["scan", "folder"], 1),
        (["diff", CLASSIFIER, "folder/next.vmfb"], 3),
        (["stub", "folder/next.vmfb"], 1),
    ):
        found, out, error = run(*argv)
        assert found == status
        assert "folder/next.vmfb" in out + error
        assert fault in out + error
    assert run("catalog", "update", "c.duckdb", "folder")[0] == 0
    assert "the format after .vmfb (VM image" in run("catalog", "show", "c.duckdb")[1]


def test_a_module_that_is_called(run) -> None:
    status, out, error = run("call", CLASSIFIER, "dense")
    assert (status, out) == (1, "")
    assert error.startswith(f"fnabi: {CLASSIFIER}: a compiled module, expected a shared library; ")
    assert "fnabi stub --language=iree-run-module" in error


def test_a_folder_instead_of_a_file(here: Path, run) -> None:
    Path("models").mkdir()
    Path("array.npy").mkdir()
    status, _, error = run("inspect", "models")
    assert status == 1
    assert error.startswith("fnabi: models: Is a directory, expected a file; fnabi scan ")
    for argv, status in (
        (["stub", "models"], 1),
        (["call", "models", "f"], 1),
        (["decode", "--input=models"], 1),
        (["check-abi", "models", CLASSIFIER], 3),
        (["check-abi", "a.json", "models"], 3),
        (["find", ".", "--accepts", "array.npy"], 3),
        (["call", callee_library(), "add", "@models"], 1),
        (["verify", "--against=models", CLASSIFIER], 1),
        (["inspect", "--html", "--output=models", CLASSIFIER], 1),
        (["stub", "--output=models", CLASSIFIER], 1),
        (["check-abi", "--update", "models", CLASSIFIER], 3),
    ):
        found, out, error = run(*argv)
        assert (found, out) == (status, ""), argv
        assert ": Is a directory, expected a file" in error, argv


# ------------------------------------------------------------------------------------- texts


def test_no_file_is_named_twice(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    Path("sigs.txt").write_text("I1!R1!\n" * 100)
    for argv in (
        ["catalog", "show", "sigs.txt"],
        ["catalog", "update", "sigs.txt", "."],
        ["find", "missing.duckdb"],
        ["call", "sigs.txt", "f"],
        ["verify", "--against=sigs.txt", CLASSIFIER],
        ["inspect", "sigs.txt"],
        ["diff", "sigs.txt", "sigs.txt"],
        ["check-abi", "sigs.txt", CLASSIFIER],
        ["decode", "--output=a.jsonl", "--column=x", "missing.txt"],
    ):
        status, out, error = run(*argv)
        assert status in (1, 3)
        assert out == ""
        name = next(word for word in ("missing.duckdb", "missing.txt", "sigs.txt") if word in error)
        assert error.count(name) == 1, error


def test_a_catalog_of_bad_files_names_each_once(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    Path("m.vmfb").write_text("no module")
    status, out, error = run("diff", "--catalog", "m.vmfb", "m.vmfb")
    fault = "m.vmfb: file ends before the module does, expected a .vmfb module, got text"
    assert (status, error) == (3, "")
    assert out == f"unreadable: 1 file\n          {fault}\nunreadable: 1 file: 1 unreadable\n"


def test_two_modules_are_no_catalogs(here: Path, run) -> None:
    """Compared by name, one would be removed and the other added."""
    pytest.importorskip("duckdb")
    for name in ("a.vmfb", "b.vmfb"):
        Path(name).write_bytes(CLASSIFIER.read_bytes())
    status, out, error = run("diff", "--catalog", "a.vmfb", "b.vmfb")
    fault = "OLD and NEW are modules; leave out --catalog to compare two of them"
    assert (status, out) == (2, "")
    assert fault in error
    assert run("diff", "--catalog", "a.vmfb", "a.vmfb")[0] == 0


def test_no_function_of_python_is_named(here: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "memory://models/a.vmfb"
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for argv in (["inspect", url], ["scan", url], ["verify", url], ["diff", url, url]):
        _, _, error = run(*argv)
        assert error.startswith(f"fnabi: {url} needs fsspec"), argv
    shutil.copytree(RELEASES / "1.0", "models")
    monkeypatch.setattr("fnabi.many.catalog._load.find_spec", lambda name: None)
    for argv in (
        ["catalog", "update", "c.duckdb", "models"],
        ["check-calls", "models", "calls.jsonl"],
        ["inspect", "--html", "-o", "page.html", "models"],
    ):
        _, _, error = run(*argv)
        assert error.startswith("fnabi: duckdb is not installed (pip install"), argv
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    _, _, error = run("scan", "models", "-o", "a.parquet")
    assert error.startswith("fnabi: .parquet needs pyarrow")


def test_a_catalog_without_paths(here: Path, run) -> None:
    status, _, error = run("catalog", "update", "c.duckdb")
    assert status == 1
    assert error.startswith("fnabi: paths: none, and the catalog has none either")


def test_the_file_that_a_comparison_changes(here: Path, run, monkeypatch) -> None:
    """A module that changes while it is compared is named."""
    for name in ("old.vmfb", "new.vmfb"):
        Path(name).write_bytes(CLASSIFIER.read_bytes() + bytes(1 << 20))
    compare = fnabi.compat.compare

    def changed(old: vmfb.Module, new: vmfb.Module, **where: Any) -> object:
        Path("new.vmfb").touch()
        os.utime("new.vmfb", (1, 1))
        return compare(old, new, **where)

    monkeypatch.setattr("fnabi.compat.compare", changed)
    status, out, error = run("diff", "old.vmfb", "new.vmfb")
    assert (status, out) == (3, "")
    assert error == "fnabi: new.vmfb: file changed while open at byte 0\n"


def test_the_url_that_a_comparison_reads(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*_: object, **__: object) -> object:
        raise OSError(5, "the server answers 500", "https://host/new.vmfb")

    monkeypatch.setattr("fnabi.compat.compare", failed)
    fault = "fnabi: https://host/new.vmfb: the server answers 500\n"
    assert run("diff", CLASSIFIER, CLASSIFIER) == (3, "", fault)


# ------------------------------------------------------------------------------ suggestions


def test_the_verb_help(run) -> None:
    status, out, error = run("help")
    assert (status, error) == (0, "")
    assert out == run("--help")[1]
    assert run("help", "help") == run("help")
    for verb in VERBS:
        assert run("help", verb.name) == run(verb.name, "--help")
    status, out, error = run("help", "inspekt")
    assert (status, out) == (2, "")
    assert "'inspekt' is not a verb; did you mean inspect?" in error


def test_functions_that_may_be_meant(run) -> None:
    hint = "no function is named 'dens'; did you mean dense?\n"
    assert run("stub", "--function=dens", CLASSIFIER) == (1, "", f"fnabi: {CLASSIFIER}: {hint}")
    path = callee_library()
    name = next(each for each in fnabi.load_module(path).functions if len(each) > 4)
    status, _, error = run("stub", f"--function={name}x", path)
    assert status == 1
    assert f"did you mean {name}" in error


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("*", "; did you mean '* -> *'?"),
        (" f32[?,4] ", "; did you mean 'f32[?,4] -> *'?"),
        ("f32[", ""),
        ("* -> * ->", ""),
    ],
)
def test_a_pattern_without_results(pattern: str, meant: str, run) -> None:
    status, out, error = run("find", RELEASES, pattern)
    assert (status, out) == (3, "")
    assert error.splitlines()[0].endswith(meant)
    assert ("did you mean" in error) == bool(meant)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["find", "x", "--limit=x"], "--limit: expected a whole number, got 'x'"),
        (["find", "x", "--limit=0"], "--limit: must be at least 1, got 0"),
        (["scan", "x", "--threads=0"], "--threads: must be at least 1, got 0"),
        (["stub", "x", "--dim=-1"], "--dim: must be at least 0, got -1"),
        (["stub", "x", f"--dim={2**63}"], f"--dim: must be at most {2**63 - 1}, got {2**63}"),
        (["inspect", "x", f"--dim={2**63}"], f"--dim: must be at most {2**63 - 1}, got {2**63}"),
        (["find", "x", "--limit"], "--limit: the value is missing, expected N"),
        (["find", "x", "--accepts"], "--accepts: the value is missing, expected ARRAY.npy"),
        (["inspect", "x", "--extract", "0"], "--extract: the value is missing, expected NAME DIR"),
        (["scan", "x", "-o"], "-o/--output: the value is missing, expected FILE"),
        (["inspect", "--xyz"], "there is no option --xyz"),
        (["diff", "--format=sarif"], "there is no option --format; it is --style here"),
        (["find", "--path=x"], "there is no option --path; it is --file here"),
        (["stub", "--format", "pyi"], "there is no option --format; it is --language here"),
        (["inspect", "--needz"], "there is no option --needz; did you mean --needs?"),
        (["diff", "--html"], "OLD is missing"),
        (["diff", "--htm", "--lenient"], "OLD is missing"),
        (["diff", "--", "-x"], "NEW is missing"),
        (["catalog"], "ACTION, CATALOG are missing"),
        (["completion"], "SHELL is missing"),
        (["verify", "--runtime", "3.9.0..", "x"], "--runtime: expected FIRST..LAST, got '3.9.0..'"),
        (
            ["catalog", "update", "x", "--max-removed=200%"],
            "--max-removed: expected at most 100%, got '200%'",
        ),
        (["catalog", "sql", "x", " "], "sql needs one query, in quotes"),
        (
            ["diff", "file:///models", "."],
            "file:///models is a URL, and a folder is compared with a local one alone; --catalog"
            " compares catalogs",
        ),
        (
            ["diff", "x", "y", "--json", "--style=sarif"],
            "--json and --style=sarif cannot be combined",
        ),
        (
            ["check-abi", "x", "y", "--json", "--style=github"],
            "--json and --style=github cannot be combined",
        ),
        (["--version", "x"], "unexpected argument 'x'"),
        (
            ["catalog", "show", "x", "--memory"],
            "--memory is only allowed with update",
        ),
        (
            ["completion", "bash", "--", "x"],
            "bash gives its word breaks and the line before and after the cursor",
        ),
        (["verify", "-", "x", "-"], "- is standard input, expected once"),
        (["diff", "--catalog", "x"], "NEW is missing"),
        (["diff", "--catalog", "x", "y", "--since=7d"], "--since and NEW cannot be combined"),
        (["diff", "x", "--since=7d"], "--since is only allowed with --catalog"),
        (
            ["inspect", "x", "--extract", "y", "z", "--function", "f"],
            "--extract and --function cannot be combined",
        ),
        (
            ["inspect", str(MODULES), "--html", "--metadata"],
            "--metadata is only allowed for libraries",
        ),
        (
            ["stub", str(CLASSIFIER), "--language=pyi"],
            "--language pyi is for a library, not for a module",
        ),
        (
            ["stub", str(CLASSIFIER), "--global", "x"],
            "--global is for a library, not for a module",
        ),
        *(
            ([*words, *options], f"{options[0]} is only allowed with --output")
            for words in (["scan", "x"], ["check-calls", "x", "y"], ["decode", "x"])
            for options in (["--format", "csv"], ["--raw-csv"])
        ),
        *(
            (["catalog", *words, *options], f"{options[0]} is only allowed with update")
            for words in (["show", "x"], ["log", "x"], ["sql", "x", "y"], ["remove", "x", "y"])
            for options in (["--threads", "2"], ["--processes", "2"], ["--lenient"])
        ),
        *(
            (
                ["stub", str(CLASSIFIER), *language, "--dim=2"],
                "--dim is only allowed with --language iree-run-module",
            )
            for language in ([], ["--language=c-header"])
        ),
        (["help", "inspect", "verify"], "unexpected argument 'verify'; help takes one VERB"),
        (["explain", "x", "--lenient"], "--lenient is only allowed with --file"),
    ],
)
def test_wrong_usage(argv: list[str], text: str, run) -> None:
    status, out, error = run(*argv)
    assert (status, out) == (2, "")
    assert error.endswith(f"error: {text}\n")


@pytest.mark.parametrize("option", ["--language=pyi", "--global=x"])
def test_what_is_neither_a_module_nor_a_library(option: str, tmp_path: Path, run) -> None:
    file = tmp_path / "text"
    file.write_text("no module, and no library")
    status, out, error = run("stub", option, file)
    assert (status, out) == (1, "")
    assert "not an IREE module" in error


LONG = "x" * 5000


@pytest.mark.parametrize(
    "argv",
    [
        [LONG],
        ["help", LONG],
        ["help", "inspect", LONG],
        [f"--{LONG}"],
        ["--version", LONG],
        ["inspect", f"--{LONG}", CLASSIFIER],
        ["inspect", f"-{LONG}", CLASSIFIER],
        ["inspect", CLASSIFIER, LONG],
        ["inspect", f"--function={LONG}", CLASSIFIER],
        ["inspect", "--disassemble", f"--function={LONG}", CLASSIFIER],
        ["inspect", "--extract", LONG, "folder", CLASSIFIER],
        ["decode", f"--max-errors={'9' * 4000}%", "-o", "o.csv", "x"],
        ["decode", f"--max-line={' ' * 5000}0", "x"],
        ["catalog", "show", "x", LONG],
        ["catalog", "log", "x", "y", LONG],
        ["call", callee_library(), LONG],
    ],
    ids=lambda argv: " ".join(f"{each}"[:12] for each in argv),
)
def test_an_error_does_not_repeat_a_long_word(argv: list[Any], run) -> None:
    status, _, error = run(*argv)
    assert status in (1, 2)
    assert len(error) < 1000


def test_no_column_has_a_long_name(tmp_path: Path, run) -> None:
    pytest.importorskip("pyarrow")
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    status, _, error = run("decode", f"--column={LONG}", "-o", tmp_path / "o.csv", table)
    assert status == 2
    assert len(error) < 500


@pytest.mark.parametrize("words", [[], ["inspect", "x"], ["inspect", "--dim"]])
def test_a_long_url_hides_its_secrets(words: list[str], run) -> None:
    status, _, error = run(*words, f"https://user:{'secret' * 60}@host/x")
    assert status == 2
    assert "secret" not in error
    assert "'https://host/x'" in error


@pytest.mark.parametrize(
    ("argv", "status"),
    [(["inspect", ""], 1), (["verify", ""], 1), (["diff", "", ""], 3), (["find", ""], 3)],
)
def test_an_empty_name(argv: list[str], status: int, run) -> None:
    found, _, error = run(*argv)
    assert found == status
    assert error == "fnabi: '': No such file or directory\n"


def test_one_text_instead_of_a_list() -> None:
    with pytest.raises(CallError, match="expected a list of texts, got str; put a single text in"):
        fnabi.decode_columns("I1!R1!")
    with pytest.raises(CallError, match=r"offsets: missing, .*; put a single text in a list"):
        fnabi.decode_columns(b"I1!R1!")


def test_what_is_not_in_the_catalog(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    shutil.copytree(RELEASES, "models")
    run("catalog", "update", "c.duckdb", "models")
    told = "not in the catalog, expected a file or folder that it has"
    assert run("catalog", "remove", "c.duckdb", "nope") == (
        1,
        "",
        f"fnabi: nope: {told}\n",
    )
    status, out, error = run("catalog", "remove", "c.duckdb", "models/1.0", "nope")
    assert (status, out) == (1, "4 files removed\n")
    assert error == f"fnabi: nope: {told}\n"
    Path("empty").mkdir()
    run("catalog", "update", "c.duckdb", "empty")
    assert run("catalog", "remove", "c.duckdb", "empty") == (0, "0 files removed\n", "")
    status, _, error = run("catalog", "remove", "none.duckdb", "x")
    assert (status, error) == (1, "fnabi: none.duckdb: no catalog\n")
    assert not Path(".none.duckdb.lock").exists()


def test_an_old_folder_without_modules_serves_nobody(here: Path, run) -> None:
    """An artifact that did not arrive is no reason for a green check."""
    Path("empty").mkdir()
    for new in ("empty", str(ROOT / "examples" / "releases" / "2.0")):
        for option in ([], ["--json"], ["--style=github"]):
            status, out, err = run("diff", *option, "empty", new)
            assert (status, out) == (3, "")
            assert err == "fnabi: empty: no files named *.vmfb\n"
    assert run("diff", str(ROOT / "examples" / "releases" / "2.0"), "empty")[0] == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["scan", "-"], 1),
        (["scan", ""], 1),
        (["catalog", "update", "c.duckdb", "-"], 1),
        (["catalog", "show", "-"], 1),
        (["find", "-", "* -> *"], 3),
        (["find", "", "* -> *"], 3),
        (["check-calls", "-", "calls.csv"], 3),
        (["call", "-", "norm"], 1),
        (["verify", "--against", "-", "a.vmfb"], 1),
        (["inspect", ""], 1),
    ],
)
def test_errors_name_what_is_missing(here: Path, run, words: list[str], status: int) -> None:
    pytest.importorskip("duckdb")
    told = run(*words)
    assert told[:2] == (status, "")
    what = "no catalog" if "show" in words else "No such file or directory"
    if "" in words:
        assert told[2] == f"fnabi: '': {what}\n"
    else:
        assert told[2] == f"fnabi: -: {what}; it is not standard input here\n"


def test_bad_input_is_no_answer_of_a_runtime(here: Path, run) -> None:
    """With --runtime, 1 says that a release does not load a module."""
    for option in ("--runtime=3.13.0", "--run=3.13.0"):
        for words in (["--against=a.irpa", CLASSIFIER], ["no://a.vmfb"], ["oci://a"]):
            assert run("verify", option, *words)[:2] == (3, ""), words
            assert run("verify", *words)[:2] == (1, ""), words
    Path("--runtime").write_bytes(CLASSIFIER.read_bytes()[:9])
    assert run("verify", "./--runtime", "--against=a.irpa")[:2] == (1, "")


def test_a_folder_and_a_missing_one(here: Path, run) -> None:
    Path("models").mkdir()
    missing = "fnabi: missing: No such file or directory\n"
    assert run("diff", "models", "missing") == (3, "", missing)
    assert run("diff", "missing", "models") == (3, "", missing)


def test_catalogs_instead_of_modules(here: Path, run) -> None:
    pytest.importorskip("duckdb")
    run("catalog", "update", "c.duckdb", CLASSIFIER)
    for files in (("c.duckdb", "c.duckdb"), (CLASSIFIER, "c.duckdb")):
        status, _, error = run("diff", *files)
        assert status == 2
        assert error.endswith("c.duckdb is a catalog; --catalog compares two of them\n")
    assert run("diff", "--catalog", "c.duckdb", "c.duckdb")[0] == 0
    for verb in ("inspect", "stub", "verify"):
        status, out, error = run(verb, "c.duckdb")
        assert status == 1
        assert "a database of DuckDB, such as a catalog" in out + error


def test_a_catalog_in_a_missing_folder(here: Path, run) -> None:
    status, _, error = run("catalog", "update", "no/c.duckdb", RELEASES)
    assert (status, error) == (1, "fnabi: no/c.duckdb: No such file or directory\n")


def test_a_baseline_that_is_none(here: Path, run) -> None:
    Path("b.json").write_text("text")
    fault = "not JSON at byte 0, expected a baseline, which"
    status, _, error = run("check-abi", "b.json", CLASSIFIER)
    assert (status, error) == (3, f"fnabi: b.json: {fault} fnabi check-abi --update writes\n")


# ------------------------------------------------------------------------- arrays, and outputs


@pytest.mark.parametrize("data", [b"", b"text", b"\x93NUMPY\x01"])
def test_arrays_that_are_none(data: bytes, here: Path, run) -> None:
    Path("a.npy").write_bytes(data)
    status, _, error = run("find", RELEASES, "--accepts", "a.npy")
    assert status == 3
    assert error.startswith("fnabi: a.npy: not a valid .npy file")


def test_several_arrays_in_a_file(here: Path, run) -> None:
    numpy.savez("a.npz", x=numpy.zeros(3), y=numpy.zeros(4))
    status, _, error = run("find", RELEASES, "--accepts", "a.npz")
    assert status == 3
    assert error.startswith("fnabi: a.npz: not a valid .npy file")


@pytest.mark.skipif(os.name == "nt", reason="no SIGPIPE")
@pytest.mark.parametrize(
    "argv",
    [
        ["diff", RELEASES / "1.0", RELEASES / "2.0"],
        ["inspect", CLASSIFIER],
        ["find", RELEASES],
        ["scan", RELEASES],
        ["verify", RELEASES],
        ["stub", CLASSIFIER],
        ["help"],
    ],
    ids=lambda argv: argv[0],
)
def test_a_closed_pipe(argv: list[str]) -> None:
    if argv[0] == "find":
        pytest.importorskip("duckdb")
    """The status is that of a program which SIGPIPE ends, and no verdict."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "fnabi", *argv],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


# ------------------------------------------------------------------------------ out of memory


@pytest.mark.parametrize("text", ["", "cannot allocate memory", "failed to map segment of x.so"])
def test_a_lack_of_memory(text: str, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of C report it as other errors, too."""

    def fail(words: list[str], *, is_process: bool) -> int:
        try:
            raise ImportError(text) if text else MemoryError
        finally:
            raise ValueError

    monkeypatch.setattr("fnabi.cli._command._main", fail)
    assert run("inspect", "x") == (1, "", "fnabi: out of memory\n")
    assert run("diff", "x", "y") == (3, "", "fnabi: out of memory\n")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", "fnabi: out of memory\n"),
        ("sys.modules['fnabi.cli._screen'] = None", "fnabi: out of memory\n"),
    ],
)
def test_a_process_without_memory_ends_at_once(before: str, expected: str) -> None:
    """Python would have to allocate to clean up."""
    program = f"""
import atexit, sys
import fnabi.cli, fnabi.cli._command

def fail(words, is_process):
    raise MemoryError

fnabi.cli._command._main = fail
atexit.register(print, "cleaned up", file=sys.stderr)
sys.argv = ["fnabi", "inspect", "x"]
{before}
sys.exit(fnabi.cli.main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


@pytest.mark.parametrize(
    ("problem", "text"),
    [(ImportError("x is broken"), "x is broken"), (MemoryError(), "out of memory")],
)
def test_fnabi_itself_cannot_be_read(
    problem: Exception, text: str, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any, **__: Any) -> int:
        raise ValueError

    def fail_again(_: Any) -> int:
        raise problem

    monkeypatch.setattr("fnabi.cli._command._main", fail)
    monkeypatch.setattr("fnabi.cli._problems.tell_unknown", fail_again)
    assert run("inspect", "x") == (1, "", f"fnabi: {text}\n")


def test_an_interrupt_that_nothing_caught() -> None:
    assert tell_unknown(KeyboardInterrupt()) == 130


def test_an_error_of_a_path_of_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    tell(FileNotFoundError(2, "No such file or directory", b"a\xff"))
    assert capsys.readouterr().err == "fnabi: a\\xff: No such file or directory\n"


# ------------------------------------------------------------------------------ what cannot be read


def test_a_module_of_unknown_bytecode(here: Path, run) -> None:
    """What is not in its bytecode is shown."""
    (here / "m.vmfb").write_bytes(unknown_bytecode())
    status, out, _ = run("inspect", "m.vmfb")
    assert status == 0
    assert "bytecode 99.0" in out
    assert "target" not in out
    status, out, _ = run("inspect", "--json", "m.vmfb")
    assert status == 0
    found = json.loads(out)
    assert found["needs_problem"]["code"] == "bytecode-version"
    assert found["targets"] is found["weights"] is None
    assert [each["name"] for each in found["functions"]] == ["f"]


def test_notices_about_functions(here: Path, run) -> None:
    """Texts that are ignored, ambiguous, or contradict the bytecode; what imports have."""

    def attributes(key: bytes, value: bytes) -> Vector:
        return Vector([Table({0: String(key), 1: String(value)})])

    ambiguous = b"sync func @go(%x: i64, %y: i32) -> ()"
    tables = {
        6: Vector([Table({0: String(b"x.a"), 1: Table({1: attributes(b"k", b"v")})})]),
        7: Vector([Table({0: String(b"go")}), Table({0: String(b"odd"), 1: b"\1\0\0\0"})]),
        8: Vector(
            [
                Table({0: String(b"0iii_v"), 1: attributes(DECLARATION, ambiguous)}),
                Table({0: String(b"0i_v"), 1: attributes(DECLARATION, b"takes a thing")}),
            ]
        ),
        10: Vector([Table({0: b"\5\0\0\0"}), Table({0: b"\7\0\0\0"})]),
    }
    (here / "m.vmfb").write_bytes(module(Table({0: String(b"m")} | tables)))
    ignored = "notice ignored: not a declaration at byte 0 in exports[1].attrs["
    for options in ([], ["--function", "go"]):
        assert "  notice ambiguous declaration: arity\n" in run("inspect", *options, "m.vmfb")[1]
    for options in ([], ["--function", "odd"]):
        assert ignored in run("inspect", *options, "m.vmfb")[1]
    out = run("inspect", "--imports", "m.vmfb")[1]
    assert "12 wanted in 2 zeroed segments" in out
    assert out.endswith("  x.a  () -> ()  []\n      k = v\n")
    data = CLASSIFIER.read_bytes()
    (here / "c.vmfb").write_bytes(data.replace(b"tensor<?x64xf32>)", b"tensor<?x64xf64>)"))
    out = run("inspect", "--function", "normalize", "c.vmfb")[1]
    text = "float64[?x64] in iree.abi.declaration, float32[?x64] in the bytecode"
    assert f"\n    notice results[0]: {text}\n" in out


def test_inputs_without_a_spelling(here: Path, run) -> None:
    attributes = Vector([Table({0: String(b"iree.abi"), 1: String(ABI)})])
    tables = {
        7: Vector([Table({0: String(b"f"), 1: bytes(4)})]),
        8: Vector([Table({0: String(b"0r_v"), 1: attributes})]),
    }
    (here / "m.vmfb").write_bytes(module(Table({0: String(b"m")} | tables)))
    assert run("inspect", "m.vmfb", "--function", "f", "--inputs") == (
        1,
        "",
        "fnabi: m.vmfb: f: iree-run-module has no notation for array<null>[2]\n",
    )


ABI = b'{"a":[["ndarray",null,1,2]],"r":[]}'
DECLARATION = b"iree.abi.declaration"


def test_errors_of_the_runtime_from_standard_input(monkeypatch, run) -> None:
    text = "required module 'hal' not registered on the context\n" * 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status, out, _ = run("explain", "-")
    assert status == 0
    assert out.count("line 1: ") == 1
    assert out.count("\n\n") == out.count("line 2: ") == 0
    text += "data provided does not contain the ELF identifier\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status, out, _ = run("explain", "-")
    assert status == 0
    assert "\n\nexecutable-damaged: " in out


def test_errors_are_explained_also_without_the_module(run, here: Path) -> None:
    (here / "error.txt").write_text("required module 'hal' not registered on the context\n")
    status, out, err = run("explain", "--file=m.vmfb", "error.txt")
    assert (status, err) == (3, "fnabi: m.vmfb: No such file or directory\n")
    assert "line 1: " in out


def test_a_table_on_a_stream_that_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert width_of(Stream()) is None  # it has no number
    monkeypatch.setenv("COLUMNS", "72")
    assert width_of(Stream()) == 72
    for wanted in ("0", "-1", "wide", "9" * 5000):  # as if it were not set
        monkeypatch.setenv("COLUMNS", wanted)
        assert width_of(Stream()) is None


def test_what_a_lenient_opening_accepts(tmp_path: Path) -> None:
    for path, opens in (
        (MODULES / "module_attrs@2.9.0.vmfb", True),
        (tmp_path, False),
        (Path(__file__), False),
    ):
        assert is_module(str(path)) is opens


def test_versions_of_packages_that_are_missing(monkeypatch, run) -> None:
    monkeypatch.setattr("fnabi.cli._version._PEERS", ("no-such-package",))
    status, out, _ = run("--version")
    assert status == 0
    assert out.endswith("peers: no no-such-package\n")


def test_a_thread_that_waits_does_not_hold_the_command_back() -> None:
    program = """
import threading, sys
from fnabi.cli._ending import leave
threading.Thread(target=threading.Event().wait, name="fnabi-waits").start()
print("written")
sys.exit(leave(3))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, b"written\n")


def test_a_program_that_runs_the_command_goes_on() -> None:
    """Also where it was interrupted, and a thread still waits."""
    program = """
import sys, threading
from unittest import mock
from fnabi.cli import main
threading.Thread(target=threading.Event().wait, name="fnabi-waits", daemon=True).start()
with mock.patch("fnabi.vmfb.open", side_effect=KeyboardInterrupt):
    print("status", main(["inspect", sys.argv[1]]))
"""
    words = [sys.executable, "-c", program, str(MODULES / "module_attrs@2.9.0.vmfb")]
    done = subprocess.run(words, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"status 130\n")


def test_a_signal_in_a_destructor_is_not_lost() -> None:
    """Python drops the exceptions of destructors, and would print this one."""
    program = """
import os, signal, sys
from fnabi.cli._ending import Ended, ended_by_signals

class Last:
    def __init__(self, problem=None):
        self.problem = problem

    def __del__(self):
        if self.problem is not None:
            raise self.problem
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass

try:
    with ended_by_signals() as check:
        check()
        Last()
        Last(ValueError("of a user"))
        check()
except Ended as end:
    sys.exit(end.status)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 128 + 15
    assert "ValueError: of a user" in done.stderr
    assert "Ended" not in done.stderr


def test_memory_that_lacks_where_python_looks_for_a_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the file, but a folder of Python would be what the error is about."""

    def lacks(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "/lib/python/fnabi/abi")

    monkeypatch.setattr(vmfb, "open", lacks)
    for verb, status in (("diff", 3), ("inspect", 1)):
        assert main([verb, *[str(CLASSIFIER)] * (1 + (verb == "diff"))]) == status
        assert capsys.readouterr() == ("", "fnabi: out of memory\n")


@pytest.mark.parametrize(
    "words",
    [
        ("find", str(MODULES / "scalars.vmfb"), "--accepts=URL"),
        ("verify", str(MODULES / "scalars.vmfb"), "--against=URL"),
        ("check-calls", str(MODULES / "scalars.vmfb"), "URL"),
        ("check-abi", "URL", str(MODULES / "scalars.vmfb")),
        ("check-abi", "--update", "URL", str(MODULES / "scalars.vmfb")),
    ],
    ids=lambda words: words[0],
)
def test_a_url_where_a_file_is_expected(run, words: tuple[str, ...]) -> None:
    if words[0] == "check-calls":
        pytest.importorskip("pyarrow")
    url = "https://me:secret@127.0.0.1:9/file"
    status, out, error = run(*(word.replace("URL", url) for word in words))
    assert status != 0
    assert out == ""
    shown = "https://127.0.0.1:9/file"
    assert error == f"fnabi: {shown}: a URL, expected the path of a file\n"
