from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fnabi
import vectors
from fnabi import raw, sip, vmfb
from fnabi.cli import main
from grammar import sip_span

CLASSIFIER = Path(__file__).parent.parent / "examples" / "classifier.vmfb"
MODULES = Path(__file__).parent / "data" / "vmfb"


class Run(NamedTuple):
    status: int
    out: str
    err: str


def run(*argv: str | bytes | Path, stdin: bytes = b"", encoding: str = "utf-8") -> Run:
    """Run the command as a user does."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "fnabi", *argv],
        input=stdin,
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "80"},
        timeout=60,
    )
    return Run(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --------------------------------------------------------------------------------- decode


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (
            ["I20!B11!d-1d128d64S3!t6R4!O1!"],
            "(float32[?x128x64], int32) -> (ref<?>)",
        ),
        (["--abi", "raw", "I1!R1!"], "() -> ()"),
        (["--abi", "sip", "I12!S9!k0_0k1_1R10!D7!K2!a_0"], "[$0, $1] -> {a: $0}"),
        (["--abi", "sip", "I1!R1!"], "() -> ()"),
        (["--abi", "tokens", "_5d-1A7!foobar"], '_5 d-1 A"foobar"'),
        (["--abi", "tokens", ""], ""),
        (["--abi=tokens", b'A6!\\"\t\xc3\xa9'], r'A"\\\"\x09\xc3\xa9"'),
    ],
)
def test_decode(argv: list[str | bytes], shown: str) -> None:
    assert run("decode", *argv) == Run(0, shown + "\n", "")


@pytest.mark.parametrize(
    ("abi", "text", "shown"),
    [
        (
            "raw",
            "I8!B5!d3x4R1!",
            "fnabi: Unrecognized buffer field tag at byte 8 in inputs[0], expected 'd'\n"
            "  I8!B5!d3x4R1!\n"
            "          ^\n",
        ),
        (
            "sip",
            "I1!R17!S13!k3D8!K2!a_-1",
            'fnabi: a key or raw index is 0 or more at byte 21 in results[3]["a"],'
            " expected 0 or more\n"
            "  I1!R17!S13!k3D8!K2!a_-1\n"
            "                       ^\n",
        ),
        (
            "tokens",
            "_1A9!x",
            "fnabi: span runs past the end at byte 3\n  _1A9!x\n     ^\n",
        ),
    ],
)
def test_decode_shows_where_the_error_is(abi: str, text: str, shown: str) -> None:
    assert run("decode", "--abi", abi, text) == Run(1, "", shown)


def test_decode_lines() -> None:
    """A bad line does not stop the others, and its number is told."""
    done = run("decode", "-", stdin=b"I1!R1!\nI1!!\n\nI4!O1!R1!\r\nI4!O1!R1!")
    assert done.status == 1
    assert done.out == "() -> ()\n(ref<?>) -> ()\n"
    assert done.err.splitlines() == [
        "fnabi: line 2: Results span not found at byte 3, expected 'R'",
        "  I1!!",
        "     ^",
        "fnabi: line 3: Inputs span not found at byte 0, expected 'I'",
        "  ",
        "  ^",
        "fnabi: line 4: component not allowed here at byte 9, expected the end",
        r"  I4!O1!R1!\x0d",
        "           ^",
    ]
    assert run("decode", "-", stdin=b"I1!R1!\n" * 3) == Run(0, "() -> ()\n" * 3, "")
    assert run("decode", "-") == Run(0, "", "")


@pytest.mark.parametrize(
    ("abi", "text", "value"),
    [
        (
            "raw",
            "I17!B6!d-1d5S3!t6U1!R7!O1!B1!",
            {
                "inputs": [
                    {"type": "buffer", "dtype": "float32", "shape": [None, 5]},
                    {"type": "scalar", "dtype": "int32"},
                    {"type": "unknown"},
                ],
                "results": [
                    {"type": "ref", "name": None},
                    {"type": "buffer", "dtype": "float32", "shape": []},
                ],
            },
        ),
        (
            "sip",
            "I11!D8!K3!ab_0R8!S5!k1_7",
            {
                "inputs": {"type": "dict", "children": [["ab", {"type": "leaf", "index": 0}]]},
                "results": {"type": "sequence", "children": [[1, {"type": "leaf", "index": 7}]]},
            },
        ),
        ("sip", "I1!R1!", {"inputs": None, "results": None}),
        (
            "tokens",
            "_5Z1!A2!x",
            [
                {"type": "integer", "tag": "_", "ival": 5},
                {"type": "span", "tag": "Z", "sval": ""},
                {"type": "span", "tag": "A", "sval": "x"},
            ],
        ),
        ("tokens", "", []),
    ],
)
def test_decode_json(abi: str, text: str, value: Any) -> None:
    done = run("decode", "--json", "--abi", abi, text)
    assert (done.status, done.err) == (0, "")
    schema = {"schema": "fnabi.decode/1", "abi": abi, "input": text}
    assert lines_of(done.out) == [schema | {"value": value}]


def test_decode_json_has_a_record_for_every_line() -> None:
    done = run("decode", "--json", "-", stdin=b"I1!R1!\nI9!B6!d1d-2R1!\nI1!R1!\n")
    assert done.status == 1
    first, second, third = lines_of(done.out)
    assert first == third
    assert second == {
        "schema": "fnabi.decode/1",
        "abi": "raw",
        "input": "I9!B6!d1d-2R1!",
        "error": {
            "code": "raw-dim",
            "offset": 9,
            "path": "inputs[0].shape[1]",
            "reason": "a dim is -1 or more",
            "expected": "-1 or more",
        },
    }
    assert done.err.startswith("fnabi: line 2: a dim is -1 or more at byte 9")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b"\xff", r"'\udcff'"),
        (b"\xed\xa0\x80", r"'\udced\udca0\udc80'"),
        (b"a\x1b[31m", r"'a\x1b[31m'"),
        (b"a b", "'a b'"),
        ("ü".encode(), "ü"),
    ],
)
def test_any_bytes_may_stand_in_a_text(key: bytes, shown: str) -> None:
    data = sip_span(b"I", sip_span(b"D", sip_span(b"K", key) + b"_0")) + b"R1!"
    assert sip.encode(sip.parse(data)) == data
    assert run("decode", "--abi=sip", data) == Run(0, f"{{{shown}: $0}} -> ()\n", "")
    assert run("decode", "--abi=sip", "-", stdin=data) == Run(0, f"{{{shown}: $0}} -> ()\n", "")
    (record,) = lines_of(run("decode", "--abi=sip", "--json", data).out)
    assert record["input"].encode("utf-8", "surrogateescape") == data
    name, _ = record["value"]["inputs"]["children"][0]
    assert name.encode("utf-8", "surrogateescape") == key
    shown = shown.replace("ü", r"\xfc")
    plain = run("decode", "--abi=sip", data, encoding="ascii")
    assert plain == Run(0, f"{{{shown}: $0}} -> ()\n", "")


def test_nul_on_standard_input() -> None:
    done = run("decode", "--abi=tokens", "-", stdin=b"_1A4!\0\xff\0\n")
    assert done == Run(0, '_1 A"\\x00\\xff\\x00"\n', "")


def test_errors_of_other_bytes() -> None:
    done = run("decode", b"\xff\x1b[31mI1!R1!")
    assert done.status == 1
    assert done.err == (
        "fnabi: Inputs span not found at byte 0, expected 'I'\n  \\xff\\x1b[31mI1!R1!\n  ^\n"
    )


@pytest.mark.parametrize("name", ["raw", "sip"])
def test_decode_golden_vectors(name: str) -> None:
    parse = {"raw": raw.parse, "sip": sip.parse}[name]
    texts = [data for data in vectors.inputs(name) if b"\n" not in data and len(data) < 1000]
    done = run("decode", "--json", "--abi", name, "-", stdin=b"\n".join(texts) + b"\n")
    assert done.status == 1
    records = lines_of(done.out)
    assert len(records) == len(texts)
    for data, record in zip(texts, records, strict=True):
        assert record["input"].encode("utf-8", "surrogateescape") == data
        found = record.get("error")
        try:
            parse(data)
            expected = None
        except fnabi.FormatError as error:
            names = ("code", "offset", "path", "reason", "expected")
            expected = {name: getattr(error, name) for name in names}
        assert found == expected
        assert ("value" in record) == (found is None)


# -------------------------------------------------------------------------------- inspect

INSPECTED = """\
module classifier, version 0, bytecode 17.0, 4 functions
  normalize  0rf_r   f   (uint8[?x64], float32) -> (float32[?x64])
                     sip [$0, $1] -> $0
                     fbr normalize$allocate
  dense      0rrr_r  f   (float32[?x64], float32[64x10], float32[10]) -> (float32[?x10])
                     sip {params: {bias: $2, kernel: $1}, x: $0} -> {logits: $0}
  version    0v_i
  __init     0v_v
"""


def test_inspect() -> None:
    assert run("inspect", CLASSIFIER) == Run(0, INSPECTED, "")
    assert run("inspect", "-", stdin=CLASSIFIER.read_bytes()) == Run(0, INSPECTED, "")


def test_inspect_one_function_and_attributes() -> None:
    assert run("inspect", MODULES / "module_attrs.vmfb") == Run(
        0,
        "module carrier, version 42, bytecode 17.0, 1 function\n"
        "  build = 2026\n"
        "  empty =\n"
        "  lang = ünïcode\n"
        "  num = 3\n"
        "  go  0v_v\n",
        "",
    )


def test_inspect_json() -> None:
    done = run("inspect", "--json", CLASSIFIER)
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    exports = found.pop("exports")
    assert found == {
        "schema": "fnabi.inspect/1",
        "name": "classifier",
        "version": 0,
        "bytecode_version": [17, 0],
        "requirements": 13,
        "attrs": [],
    }
    module = vmfb.open(CLASSIFIER)
    assert [export["name"] for export in exports] == ["normalize", "dense", "version", "__init"]
    assert [export["ordinal"] for export in exports] == [e.ordinal for e in module.exports]
    assert exports[3] == {
        "name": "__init",
        "ordinal": exports[3]["ordinal"],
        "calling_convention": "0v_v",
        "attrs": [],
        "result_allocator": None,
        "signatures": {},
    }
    first = exports[0]
    assert first["calling_convention"] == "0rf_r"
    assert first["result_allocator"] == "normalize$allocate"
    assert dict(map(tuple, first["attrs"])) == dict(module.exports["normalize"].attrs)
    assert first["signatures"] == {
        "f": {
            "value": {
                "inputs": [
                    {"type": "buffer", "dtype": "uint8", "shape": [None, 64]},
                    {"type": "scalar", "dtype": "float32"},
                ],
                "results": [{"type": "buffer", "dtype": "float32", "shape": [None, 64]}],
            }
        },
        "sip": {
            "value": {
                "inputs": {
                    "type": "sequence",
                    "children": [
                        [0, {"type": "leaf", "index": 0}],
                        [1, {"type": "leaf", "index": 1}],
                    ],
                },
                "results": {"type": "leaf", "index": 0},
            }
        },
    }


@pytest.fixture
def malformed(tmp_path: Path) -> Path:
    """The classifier with a malformed attribute in each of two functions."""
    data = CLASSIFIER.read_bytes()
    for old, new in ((b"R10!B7!d-1d64", b"R10!B7!d-1d6x"), (b"K2!x_0", b"K2!x_-")):
        assert data.count(old) == 1
        data = data.replace(old, new)
    path = tmp_path / "malformed.vmfb"
    path.write_bytes(data)
    return path


def test_inspect_malformed_attributes(malformed: Path) -> None:
    """They are told in their place, and all that is good is shown."""
    assert run("inspect", malformed) == Run(
        1,
        """\
module classifier, version 0, bytecode 17.0, 4 functions
  normalize  0rf_r   f   digits are missing at byte 31 in exports[0].attrs["f"].results[0]
                       I15!B9!t8d-1d64S1!R10!B7!d-1d6x
                                                      ^
                     sip [$0, $1] -> $0
                     fbr normalize$allocate
  dense      0rrr_r  f   (float32[?x64], float32[64x10], float32[10]) -> (float32[?x10])
                     sip digits are missing at byte 47 in exports[1].attrs["sip"].inputs["x"]
                       ...0!K7!paramsD21!K5!bias_2K7!kernel_1K2!x_-R16!D12!K7!logits_0
                                                                   ^
  version    0v_i
  __init     0v_v
""",
        "",
    )
    done = run("inspect", "--json", malformed)
    assert (done.status, done.err) == (1, "")
    exports = json.loads(done.out)["exports"]
    assert exports[0]["signatures"]["f"] == {
        "error": {
            "code": "integer",
            "offset": 31,
            "path": 'exports[0].attrs["f"].results[0]',
            "reason": "digits are missing",
            "expected": None,
        }
    }
    assert "value" in exports[0]["signatures"]["sip"]
    assert exports[1]["signatures"]["sip"]["error"]["offset"] == 47


def test_inspect_escapes_what_cannot_be_printed(tmp_path: Path) -> None:
    data = CLASSIFIER.read_bytes()
    path = tmp_path / "names.vmfb"
    path.write_bytes(
        data.replace(b"classifier", b"a\nb\x1b[31m\xff\x7f")
        .replace(b"version\0", b"ver\tio\x9b\0")
        .replace(b"normalize$allocate", b"normalize\x1b]0;ocate")
    )
    done = run("inspect", path)
    assert (done.status, done.err) == (0, "")
    assert all(line.isprintable() for line in done.out.splitlines())
    assert done.out.startswith(r"module a\nb\x1b[31m\xff\x7f, version 0, ")
    assert r"  ver\tio\x9b  0v_i" in done.out
    assert r"fbr normalize\x1b]0;ocate" in done.out
    name = json.loads(run("inspect", "--json", path).out)["name"]
    assert name.encode("utf-8", "surrogateescape") == b"a\nb\x1b[31m\xff\x7f"


@pytest.mark.parametrize("size", [0, 1, 100, 1000])
def test_inspect_damaged(tmp_path: Path, size: int) -> None:
    path = tmp_path / "damaged.vmfb"
    path.write_bytes(CLASSIFIER.read_bytes()[:size])
    for arguments, where in (([path], f"{path}: "), (["-"], "")):
        done = run("inspect", *arguments, stdin=path.read_bytes())
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"fnabi: {where}the file ends before the module at byte ")
        assert done.err.count("\n") == 1


def test_inspect_another_file() -> None:
    done = run("inspect", __file__)
    assert (done.status, done.out) == (1, "")
    assert done.err == f'fnabi: {__file__}: not an IREE module at byte 8, expected "IREE"\n'


@pytest.mark.parametrize("verb", [["inspect"], ["inspect", "--json"]])
def test_inspect_no_file(tmp_path: Path, verb: list[str]) -> None:
    missing = tmp_path / "no such\nfile.vmfb"
    shown = str(missing).replace("\n", "\\n")
    assert run(*verb, missing) == Run(1, "", f"fnabi: {shown}: No such file or directory\n")
    assert run(*verb, tmp_path) == Run(1, "", f"fnabi: {tmp_path}: Is a directory\n")


@pytest.mark.parametrize(
    "path", sorted(MODULES.rglob("*.vmfb")), ids=lambda path: str(path.relative_to(MODULES))
)
def test_inspect_every_module(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = None
    try:
        exports = len(vmfb.open(path).exports)
    except fnabi.FormatError as error:
        problem = f"fnabi: {path}: {error}\n"
    if problem is not None:
        assert main(["inspect", str(path)]) == 1
        assert main(["inspect", "--json", str(path)]) == 1
        assert capsys.readouterr() == ("", problem * 2)
        return

    status = main(["inspect", str(path)])
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(shown.out.splitlines()) > exports
    assert main(["inspect", "--json", str(path)]) == status
    found = json.loads(capsys.readouterr().out)["exports"]
    assert len(found) == exports
    assert status == any("error" in s for export in found for s in export["signatures"].values())


# ------------------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["no-verb"],
        ["decode"],
        ["decode", "--abi", "other", "I1!R1!"],
        ["decode", "I1!R1!", "I1!R1!"],
        ["decode", "--no-option", "I1!R1!"],
        ["inspect"],
        ["inspect", "a", "b"],
    ],
)
def test_wrong_usage(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: fnabi ")
    assert done.err.splitlines()[-1].startswith("fnabi ") or "fnabi: error: " in done.err


@pytest.mark.parametrize("argv", [["--help"], ["decode", "--help"], ["inspect", "--help"]])
def test_help(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("usage: fnabi ")
    assert "`" not in done.out


def test_version() -> None:
    assert run("--version") == Run(0, f"fnabi {fnabi.__version__}\n", "")


def test_the_command_is_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="fnabi")
    assert command.load() is main


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_goes_away(options: list[str]) -> None:
    """``fnabi decode - | head -1`` ends quietly."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "fnabi", "decode", *options, "-"],
        input=b"I1!R1!\n" * 100_000,
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_no_space_left() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "fnabi", "decode", "I1!R1!"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (1, b"fnabi: No space left on device\n")


def test_importing_the_command_brings_no_numpy() -> None:
    code = "import sys, fnabi.cli; print({'numpy', 'torch', 'ml_dtypes'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.stdout.decode().strip() == "set()"
