"""`failures.explain`: each message is one that a release of IREE's runtime printed."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from fnabi import failures, vmfb
from fnabi.cli import main
from fnabi.errors import ArgumentTypeError
from support.paths import DATA, ROOT
from support.unknown_bytecode import unknown_bytecode
from tools import failures as provoked

CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
PARAMETERS = DATA / "needs" / "params_vmvx.vmfb"
RECORDED = {path.stem: json.loads(path.read_text()) for path in provoked.FOLDER.glob("*.json")}
NEWEST: dict[str, str] = RECORDED["3.13.0"]

KINDS = {
    "module-file": ("file absent", "file absent, tool"),
    "module-identifier": ("identifier",),
    "module-size": ("size", "size cut", "rodata cut"),
    "module-damaged": ("flatbuffer", "old schema"),
    "module-tables": (
        *("name", "name of a type", "name of a dependency", "name of an import"),
        *("name of an export", "ordinal of an export", "descriptors"),
        *("descriptor without blocks", "descriptor of more blocks", "descriptor without code"),
        *("descriptor of more code", "descriptor of many registers"),
    ),
    "module-alignment": ("unaligned",),
    "bytecode-version": ("bytecode newer", "bytecode older"),
    "bytecode-features": ("features",),
    "type-missing": ("type",),
    "opcode-unknown": ("opcode", "ext opcode"),
    "bytecode-damaged": ("code",),
    "module-missing": (
        *("module absent", "module absent, tool", "import of an absent module"),
        "parameters absent",
    ),
    "module-version": ("module old",),
    "import-missing": ("import absent",),
    "import-signature": ("import signature",),
    "executable-format": ("format", "elf query absent"),
    "executable-version": ("elf version",),
    "executable-machine": ("elf machine",),
    "executable-damaged": ("elf magic", "elf cut", "vmvx damaged", "elf query absent"),
    "executable-entry": ("vmvx entry",),
    "device-missing": ("device",),
    "driver-missing": ("driver", "driver, tool", "hip"),
    "driver-library": ("cuda", "cuda, tool", "vulkan", "hip"),
    "device-path": ("device path", "device path, tool"),
    "device-list": ("device list",),
    "function-missing": ("function", "function, tool"),
    "function-unnamed": ("functions, tool",),
    "module-unnamed": ("no module, tool",),
    "view-length": ("view, tool",),
    "output-file": ("output file, tool",),
    "output-text": ("output mode, tool",),
    "argument-count": (
        *("no function, tool", "arguments few", "arguments many", "arguments few, Python"),
        *("arguments many, Python", "arguments few, tool", "arguments many, tool"),
    ),
    "argument-kind": ("argument kind, tool", "argument kind, plain"),
    "argument-value": ("argument kind", "argument dtype"),
    "input-text": (
        *("argument text, tool", "argument short, tool", "argument number, tool"),
        *("argument empty, tool", "argument dim, tool", "argument element, tool"),
        "argument raw file, tool",
    ),
    "input-file": ("argument file, tool",),
    "buffer-type": ("element type", "element type, compiled"),
    "buffer-dim": ("dim", "dim, compiled", "dim, tool"),
    "buffer-rank": ("rank",),
    "buffer-size": ("buffer short",),
    "buffer-memory": ("buffer memory",),
    "reference-null": ("null",),
    "reference-type": ("wrong object",),
    "range": ("range", "range end", "range, compiled"),
    "memory": ("memory",),
    "parameter-file": ("parameters file, tool",),
    "parameter-format": (
        *("parameters format, tool", "parameters magic, tool", "parameters header, tool"),
        "parameters empty, tool",
    ),
    "parameter-scope": ("parameters scope", "parameters scope, tool"),
    "parameter-key": ("parameters key",),
    "parameter-size": ("parameters size",),
    "flag": ("flag, tool",),
    "assertion": ("failed",),
}
"""The kinds, with the cases of `tools/failures.py` that end so; in some releases in one of two."""


def kinds(case: str) -> set[str]:
    return {kind for kind, cases in KINDS.items() if case in cases}


def check(case: str, text: str, release: str) -> None:
    names = [each.name for each in failures.explain(text)]
    if case == "device" and release != "3.13.0":
        return  # an older release refuses the bytecode of that module
    assert len(names) == 1, (release, case, names, text)
    assert names[0] in kinds(case), (release, case, names, text)


def test_each_kind_is_provoked() -> None:
    names = [failure.name for failure in failures.FAILURES]
    assert names == list(dict.fromkeys(names))
    assert set(names) == set(KINDS)
    assert {case for cases in KINDS.values() for case in cases} == {*provoked.TRIES}
    assert len(names) > 40


def test_what_releases_printed_is_explained() -> None:
    assert len(RECORDED) >= 5
    for release, texts in RECORDED.items():
        assert len(texts) > 60
        for case, text in texts.items():
            check(case, text, release)
    assert {*NEWEST} == {*provoked.TRIES}


def test_a_pattern_is_what_a_release_printed() -> None:
    texts = [text for texts in RECORDED.values() for text in texts.values()]
    for failure in failures.FAILURES:
        for pattern in failure.patterns:
            assert any(pattern.search(text) for text in texts), (failure.name, pattern.pattern)


def test_what_the_installed_release_prints_is_explained() -> None:
    pytest.importorskip("iree.runtime", exc_type=ImportError)
    pytest.importorskip("numpy")
    release = metadata.version("iree-base-runtime")
    if release not in vmfb.releases():
        pytest.skip(f"IREE {release} is not measured")
    said = provoked.record(release, sys.executable)
    assert len(said) > 60
    for case, text in said.items():
        check(case, text, release)


# ------------------------------------------------------------------------------ what it says


def test_other_lines_do_no_harm() -> None:
    text = "".join(f"2026-01-01 INFO line {n}\n{each}" for n, each in enumerate(NEWEST.values()))
    found = failures.explain(text)
    assert {each.name for each in found} == set(KINDS)
    for each in found:
        assert each.message.split("\n")[0] in text.split("\n")[each.line - 1]
    assert failures.explain(text + text) == found
    assert failures.explain("all is well\n" * 10) == failures.explain("") == ()


DRESSED: dict[str, Callable[[str], str]] = {
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "a terminal": lambda text: text.replace("\n", "\r\r\n"),
    "coloured": lambda text: "".join(f"\x1b[1;31m{line}\x1b[0m\n" for line in text.split("\n")),
    "words": lambda text: re.sub(
        r"\b(require|have|but|at|in|hal)\b", "\x1b[1m\\1\x1b[K\x1b[m", text
    ),
    "logged": lambda text: "".join(f"2026-01-01 ERROR x: {line}\n" for line in text.split("\n")),
    "marked": lambda text: f"\ufeff{text}",
}


@pytest.mark.parametrize("how", DRESSED)
def test_what_programs_add_to_lines_does_no_harm(how: str) -> None:
    for release, texts in RECORDED.items():
        for case, text in texts.items():
            assert failures.explain(DRESSED[how](text)) == failures.explain(text), (release, case)


def test_a_word_ends_where_a_string_does() -> None:
    message = "bytecode version mismatch; runtime supports 15.0, module has 17.0"
    dim = "input0 shape dimension 1 mismatch; expected 4 but have 3"
    for text in json.dumps(message), repr(f"{message}\n"), f'{{"error":"{message}\\n"}}':
        (found,) = failures.explain(text)
        assert found.values == {"has": "15.0", "wanted": "17.0"}
    for text in json.dumps({"error": NEWEST["flatbuffer"]}), repr(ValueError(NEWEST["flatbuffer"])):
        (found,) = failures.explain(text)
        assert found.values == {"fault": "table field out of range"}
    for text in f"\ufeff{dim}", json.dumps({"error": dim}):
        (found,) = failures.explain(text)
        assert found.values["input"] == "input0"


def test_a_value_ends_where_a_string_of_json_does() -> None:
    message = "could not convert python value to VM: "
    for value in "'text'", '["it\'s", "b"]', "{'a': 1}", r"'C:\\x'":
        for text in f"{message}{value}", f"Traceback:\nValueError: {message}{value}\n":
            (plain,) = failures.explain(text)
            assert plain.values["value"] == value
            for line in (
                json.dumps({"message": text, "time": "12:00", "more": {"a": [1]}}),
                json.dumps({"message": text}, indent=1),
                "ERROR " + json.dumps({"level": "error", "message": text}),
            ):
                (found,) = failures.explain(line)
                assert found.values["value"] == json.dumps(value)[1:-1]


def test_what_varies_is_in_the_values() -> None:
    (found,) = failures.explain(NEWEST["module old"])
    assert found.values == {"module": "hal", "has": "7", "wanted": "1048576"}
    (found,) = failures.explain(NEWEST["import signature"])
    assert found.values["wanted"] == "0riii_v"
    assert found.values["name"] == "hal.buffer_view.assert"
    (found,) = failures.explain(NEWEST["dim"])
    assert (found.values["dim"], found.values["wanted"], found.values["has"]) == ("1", "4", "3")
    for case in "file absent", "file absent, tool":
        (found,) = failures.explain(NEWEST[case])
        assert found.values == {"file": "absent.vmfb"}
    for release, has in (("3.0.0", "EXT_F32|EXT_F64"), ("3.13.0", "EXT_F32|EXT_F64|YIELD|UNWIND")):
        (found,) = failures.explain(RECORDED[release]["features"])
        assert found.values == {"wanted": "100000h", "has": has, "required": "100000h"}


VIEWS = DATA / "bytecode_types/declared_views@3.13.0@vmvx.vmfb"
"""Its declarations have views, of which the bytecode asserts the types."""

PLACES = (
    ("bytecode newer", CLASSIFIER, "the module has bytecode 17.0"),
    ("bytecode newer", CLASSIFIER, "loads in IREE 3.12.0 and 3.13.0"),
    ("features", CLASSIFIER, "the module requires EXT_F32"),
    ("module old", CLASSIFIER, "dependencies[0] of the module is hal, version 7 or newer"),
    ("module old", CLASSIFIER, "IREE 3.12.0 and 3.13.0 have it"),
    (
        "import signature",
        CLASSIFIER,
        "of the module is hal.buffer_view.assert with the calling convention 0rriiCID_v",
    ),
    ("elf magic", DATA / "needs/mm_llvm-cpu.vmfb", "embedded-elf-x86_64, for x86_64"),
    (
        "device",
        DATA / "needs/mm_vulkan.vmfb",
        "for the device vulkan with executables vulkan-spirv",
    ),
    ("function, tool", CLASSIFIER, "the module exports normalize, dense, version, __init"),
    ("arguments few", CLASSIFIER, "normalize takes (input0: i8[?x64], input1: float32)"),
    ("dim, compiled", DATA / "needs/mm_vmvx.vmfb", "mm takes input0 as float32[?x16]"),
    ("dim, compiled", VIEWS, "static takes input0 as float32[4x3]"),
    ("arguments few, Python", VIEWS, "static takes (input0: float32[4x3]) -> "),
    ("parameters key", PARAMETERS, "needs the parameter model::layer.weight, 48 bytes"),
    ("parameters scope", PARAMETERS, "needs the parameter model::layer.bias, 12 bytes"),
    ("parameters absent", PARAMETERS, "the module imports from it: load"),
    ("code", CLASSIFIER, "functions[0] of the module, which is exported as normalize, at its byte"),
)


@pytest.mark.parametrize(("case", "file", "place"), PLACES)
def test_places_in_the_module(case: str, file: Path, place: str) -> None:
    module = vmfb.open(file)
    (found,) = failures.explain(NEWEST[case], module)
    assert place in "\n".join(found.places)
    (without,) = failures.explain(NEWEST[case])
    assert without.places == ()


def test_a_module_that_cannot_be_read_has_the_places_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = tmp_path / "unknown.vmfb"
    unknown.write_bytes(unknown_bytecode())
    text = "".join(NEWEST.values())
    with vmfb.open(unknown) as module:
        found = {each.name: each.places for each in failures.explain(text, module)}
    version = "the module cannot be read further: unknown bytecode version at byte 80"
    assert found["executable-format"][0].startswith(version)
    assert found["function-missing"] == ("the module exports f",)
    file = tmp_path / "error.txt"
    file.write_text(text)
    status, out, error = run(capsys, f"--file={unknown}", file)
    assert (status, error) == (0, "")
    assert f"{unknown}: the module exports f\n" in out
    module = vmfb.open(DATA / "vmfb" / "malformed" / "crash_439_metadata.vmfb")
    (place,) = failures.explain(NEWEST["function"], module)[0].places
    assert place.startswith("the module cannot be read further: ordinal outside its table")


def test_a_type_has_its_place() -> None:
    module = vmfb.open(CLASSIFIER)
    text = NEWEST["type"].replace("!hal.nothing", "!hal.buffer_view")
    (found,) = failures.explain(text, module)
    assert "of the module is !hal.buffer_view" in found.places[0]
    assert "every measured release has" in found.places[1]


def test_a_module_of_the_host_is_of_no_release() -> None:
    module = vmfb.open(DATA / "vmfb" / "vm_imports_plain.vmfb")
    for name in ("io", "maybe"):  # maybe is optional
        text = NEWEST["module absent"].replace("nothing", name)
        (found,) = failures.explain(text, module)
        host = f"no release of IREE has {name}: the host registers it"
        assert host in found.places, found
        assert "every measured release" not in str(found.places)


def test_all_messages_go_with_all_modules() -> None:
    text = "".join(NEWEST.values())
    for path in sorted((DATA / "needs").glob("*.vmfb")):
        if "20230209" not in path.name:
            with vmfb.open(path, lenient=True) as module:
                assert len(failures.explain(text, module)) >= len(KINDS)


def test_the_time_is_linear_in_the_text() -> None:
    starts = ["x", "[", "'", "a@1+", "; ", "no function `", "required module '", "\n"]
    starts += [
        f"{failures.FAILURES[0].name}",
        "INVALID_ARGUMENT; ",
        "input0 element type mismatch; ",
    ]
    for start in [*starts, *("".join(NEWEST.values()).split(" ")[:40])]:
        text = (start or " ") * (300_000 // max(1, len(start)))
        before = time.process_time()
        failures.explain(text)
        assert time.process_time() - before < 5, start


def test_the_fast_search_finds_what_the_patterns_find() -> None:
    texts = ["", *(text for texts in RECORDED.values() for text in texts.values())]
    texts += ["noise\n".join(texts), " ".join(text.replace("\n", " ") for text in texts)]
    for text in texts:
        for failure in failures.FAILURES:
            for pattern in failure.patterns:
                plain = [match.span() for match in pattern.finditer(text)]
                assert [match.span() for match in failures._found(pattern, text)] == plain


def test_the_function_that_was_called_is_the_place() -> None:
    text = NEWEST["dim, compiled"]
    with vmfb.open(DATA / "vmfb" / "elem_ints.vmfb") as module:
        names = [name for name in module.exports if len(module.exports[name].signature.inputs)]
        assert len(names) > 3
        (every,) = failures.explain(
            "input0 shape dimension 1 mismatch; expected 8 but have 7", module
        )
        assert len(every.places) == len(names)
        for name in names[:3]:
            for end in (f"; invoking function '{name}'", f"; `sync func @{name}(%input0: t)`"):
                (found,) = failures.explain(f"{every.message}{end}\n", module)
                assert [place.split(" ")[0] for place in found.places] == [name]
    assert failures.explain(text)


def test_the_function_that_was_called_is_in_another_module() -> None:
    text = "input0 shape dimension 0 mismatch; expected 4 but have 5; invoking function 'dyn'"
    other = "the module has no function dyn: the error is about another one"
    for message in (text, text.replace("dyn'", "normalize'")):
        (found,) = failures.explain(message, vmfb.open(CLASSIFIER))
        assert (found.places == (other,)) == ("dyn" in message)


def test_an_error_of_several_functions_is_explained_for_each() -> None:
    line = "input0 shape dimension 1 mismatch; expected 64 but have 63; invoking function '{}'\n"
    text = "".join(line.format(name) for name in ("dense", "normalize", "dense"))
    with vmfb.open(CLASSIFIER) as module:
        found = failures.explain(text, module)
        other = "no driver 'x' registered; invoking function '{}'\n"
        assert len(failures.explain(other.format("a") + other.format("b"), module)) == 1
    assert [(each.line, each.places[0].split(" ")[0]) for each in found] == [
        (1, "dense"),
        (2, "normalize"),
    ]
    assert len(failures.explain(text)) == 1


def test_a_text_that_is_loaded_as_a_module_may_be_no_module() -> None:
    size = int.from_bytes(b"# Re", "little")
    text = f"FlatBuffer length prefix out of bounds (prefix is {size} but only 1117 available)"
    (found,) = failures.explain(f"INVALID_ARGUMENT; {text}; loading bytecode module at 'README.md'")
    assert "the file is no module" in found.meaning


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentTypeError, match="expected str, got bytes"):
        failures.explain(b"text")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ the command


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[object, str, str]:
    try:
        status: object = main(["explain", *map(str, words)])
    except SystemExit as ended:
        status = ended.code
    return status, *capsys.readouterr()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "error.txt"
    file.write_text("INFO\n" + NEWEST["module old"])
    status, out, error = run(capsys, file)
    assert (status, error) == (0, "")
    assert out.startswith("module-version: a module that it depends on is too old\n  line 2: ")
    assert "  to do: Install the runtime" in out
    status, out, _ = run(capsys, f"--file={CLASSIFIER}", file)
    assert status == 0
    assert f"\n  {CLASSIFIER}: IREE 3.12.0 and 3.13.0 have it\n" in out
    status, out, _ = run(capsys, "--json", f"--file={CLASSIFIER}", file)
    found = json.loads(out)
    assert (status, found["schema"], found["file"]) == (0, "fnabi.explain/1", str(CLASSIFIER))
    assert found["errors"][0]["values"]["wanted"] == "1048576"
    assert found["errors"][0]["line"] == 2


def test_the_command_on_other_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "error.txt"
    file.write_bytes(b"\xff\x1b[31m no such message \n")
    status, out, error = run(capsys, file)
    assert (status, out) == (1, "")
    assert error == f"fnabi: {file}: no error of IREE's runtime that is known\n"
    assert json.loads(run(capsys, "--json", file)[1])["errors"] == []
    assert "; give a module with --file" in run(capsys, CLASSIFIER)[2]
    file.write_text("no driver '\x1b[31mred\u202e' registered")
    status, out, _ = run(capsys, file)
    assert status == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert run(capsys, tmp_path / "absent")[0] == 3
    status, out, error = run(capsys, f"--file={file}", file)
    assert status == 3
    assert out.startswith(
        "driver-missing: "
    )  # what a damaged module causes is explained all the same
    assert str(file) in error
    assert run(capsys, f"--file={tmp_path / 'absent'}", file)[0] == 3
    status, out, error = run(capsys, CLASSIFIER, f"--file={file}")
    assert (status, out) == (2, "")
    meant = f"fnabi explain {file} --file {CLASSIFIER}"
    assert error.endswith(f"error: TEXT and FILE are swapped; did you mean {meant}?\n")
    assert run(capsys)[0] == 2
    assert run(capsys, "--file=-", "-")[0] == 2
    assert run(capsys, "https://example.org/error.txt")[0] == 2
    for encoding in "utf-16", "utf-8-sig":
        file.write_text(NEWEST["module old"], encoding)
        assert run(capsys, file)[1].startswith("module-version: ")
