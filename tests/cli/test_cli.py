from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from fnabi import library, raw, sip, vmfb
from fnabi.cli import main
from fnabi.cli._arguments import size
from support import vectors
from support.callee import (
    built,
    callee_library,
    interop_library,
    tvm_ffi_folder,
    typed_library,
)
from support.command import Run, run
from support.grammar import sip_span
from support.outcomes import error_of
from support.paths import DATA, ROOT, TESTS

CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
MODULES = DATA / "vmfb"
DECLARED = MODULES.parent / "bytecode_types"
GATHER = DECLARED / "onnx_gather@3.13.0@vmvx.vmfb"


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
        (["--abi", "cconv", "0iCiID_r"], "(i32, tuple<i32, i64>...) -> (!vm.ref<?>)"),
        (["--abi", "iree.abi", '{"a":["i32"],"r":["f32"]}'], "(i32) -> (float32)"),
        (
            ["--abi", "declaration", "sync func @f(%a: tensor<?x8xf32>) -> (%b: i32)"],
            "sync f(a: float32[?x8]) -> (b: i32)",
        ),
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
            'fnabi: negative key or index at byte 21 in results[3]["a"],'
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


@pytest.mark.parametrize(("abi", "good"), [("cconv", b"0r_r"), ("iree.abi", b'{"a":[],"r":[]}')])
def test_decode_lines_of_other_texts(abi: str, good: bytes) -> None:
    done = run("decode", "--abi", abi, "-", stdin=good + b"\n\xff\n" + good + b"\n")
    assert done.status == 1
    assert len(done.out.splitlines()) == 2
    assert done.err.startswith("fnabi: line 2: ")


def test_decode_lines() -> None:
    """A bad line does not stop the others, and its number is reported."""
    done = run("decode", "-", stdin=b"I1!R1!\nI1!!\n\nI4!O1!R1!\r\r\nI4!O1!R1!")
    assert done.status == 1
    assert done.out == "() -> ()\n(ref<?>) -> ()\n"
    assert done.err.splitlines() == [
        "fnabi: line 2: Results span not found at byte 3, expected 'R'",
        "  I1!!",
        "     ^",
        "fnabi: line 3: the line is blank, expected a signature",
        "fnabi: line 4: component not allowed here at byte 9, expected the end",
        r"  I4!O1!R1!\x0d",
        "           ^",
    ]
    windows = run("decode", "-", stdin=b"I1!R1!\r\nI4!O1!R1!\r\n\r\nI4!O1!R1!")
    assert windows.out == "() -> ()\n(ref<?>) -> ()\n(ref<?>) -> ()\n"
    assert windows.err == "fnabi: line 3: the line is blank, expected a signature\n"
    assert run("decode", "-", stdin=b"I1!R1!\n" * 3) == Run(0, "() -> ()\n" * 3, "")
    assert run("decode", "-") == Run(0, "", "")


def test_decode_skips_a_byte_order_mark(tmp_path: Path) -> None:
    (path := tmp_path / "lines").write_bytes(b"\xef\xbb\xbfI1!R1!\nI4!O1!R1!\n")
    shown = Run(0, "() -> ()\n(ref<?>) -> ()\n", "")
    assert run("decode", "--input", str(path)) == shown
    assert run("decode", "-", stdin=path.read_bytes()) == shown
    out = tmp_path / "out.jsonl"
    assert run("decode", str(path), "-o", str(out)) == Run(0, "", "")
    assert [row["status"] for row in lines_of(out.read_text())] == ["ok", "ok"]
    path.write_bytes(b"\xef\xbb\xbf0v_v\n")
    meant = f"{path} has signatures of another ABI: --abi=cconv decodes them\n"
    assert meant in run("decode", str(path), "-o", str(out)).err


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
        (
            "cconv",
            "0iCiID_r",
            {
                "arguments": ["i32", {"type": "span", "items": ["i32", "i64"]}],
                "results": ["ref"],
                "version": 0,
            },
        ),
        (
            "iree.abi",
            '{"a":[["named","x",["py_homogeneous_list","i32"]]],"r":["f32"],"z":1}',
            {
                "inputs": [
                    {
                        "type": "named",
                        "name": "x",
                        "of": {
                            "type": "homogeneous_list",
                            "element": {"type": "scalar", "dtype": "i32"},
                        },
                    }
                ],
                "results": [{"type": "scalar", "dtype": "float32"}],
                "extra": [["z", "1"]],
            },
        ),
        (
            "declaration",
            "sync func @f(%a: tensor<?xf32>) -> ()",
            {
                "name": "f",
                "model": "sync",
                "inputs": [
                    {
                        "name": "a",
                        "type": {"type": "buffer", "dtype": "float32", "shape": [None]},
                        "attributes": [],
                        "text": "%a: tensor<?xf32>",
                        "declared": None,
                    }
                ],
                "results": [],
                "text": "sync func @f(%a: tensor<?xf32>) -> ()",
                "ambiguity": None,
            },
        ),
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
            "reason": "dim below -1",
            "expected": None,
            "found": None,
        },
    }
    assert done.err.startswith("fnabi: line 2: dim below -1 at byte 9")


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
            names = ("code", "offset", "path", "reason", "expected", "found")
            expected = {name: getattr(error, name) for name in names}
        assert found == expected
        assert ("value" in record) == (found is None)


# -------------------------------------------------------------------------------- inspect

INSPECTED = """\
module classifier, version 0, bytecode 17.0
requires EXT_F32, YIELD, UNWIND
depends on hal, version 7 or newer
loads in IREE 3.12.0 and 3.13.0
size 8510 bytes, 2560 of bytecode, 2257 in 11 read-only segments
state 0 bytes, 2 references
target local vmvx-bytecode-fb
4 functions
  normalize  (input0: i8[?x64], input1: float32) -> (output0: float32[?x64])  [iree.abi.declaration]
      f      (uint8[?x64], float32) -> (float32[?x64])
      sip    [$0, $1] -> $0
      fbr    normalize$allocate
  dense      (input0: float32[?x64], input1: float32[64x10], input2: float32[10]) -> (output0: float32[?x10])  [iree.abi.declaration]
      sip    {params: {bias: $2, kernel: $1}, x: $0} -> {logits: $0}
  version    () -> (output0: i32)  [iree.abi.declaration]
  __init     () -> ()  [cconv]
"""  # noqa: E501


def test_inspect() -> None:
    assert run("inspect", CLASSIFIER) == Run(0, INSPECTED, "")
    assert run("inspect", "-", stdin=CLASSIFIER.read_bytes()) == Run(0, INSPECTED, "")


def test_no_release_is_derived_from_the_version_of_the_bytecode() -> None:
    """A runtime of the same version may refuse a module: other versions decide too."""
    done = run("inspect", "--html", CLASSIFIER)
    assert (done.status, done.err) == (0, "")
    (data,) = re.findall(r"<script[^>]*>([{].*?)</script>", done.out, re.DOTALL)
    found = json.loads(data)
    assert found["bytecode_version"] == "17.0"
    assert found["needs"]["runtime"]["loads"] == "3.12.0 and 3.13.0"
    refused = "needs hal 7; 3.11.0 has 6; the first release with it is 3.12.0"
    assert ["3.11.0", refused] in found["needs"]["runtime"]["refuses"]
    same = run("diff", "--html", CLASSIFIER, CLASSIFIER).out
    assert not re.search(r"loads? in|loaded_by|IREE (releases?|\d+\.\d+)", same, re.I)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("1.0/model.vmfb", "2.0/model.vmfb", ["1.0/model.vmfb", "2.0/model.vmfb"]),
        ("1.0/a/model.vmfb", "2.0/a/model.vmfb", ["1.0/a/model.vmfb", "2.0/a/model.vmfb"]),
        ("1.0/model.vmfb", "2.0/other.vmfb", ["model.vmfb", "other.vmfb"]),
        ("1.0/model.vmfb", "1.0/model.vmfb", None),
    ],
)
def test_a_page_names_files_with_the_folders_that_tell_them_apart(
    old: str, new: str, names: list[str] | None, tmp_path: Path
) -> None:
    files = [tmp_path / old, tmp_path / new]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(CLASSIFIER.read_bytes())
    done = run("diff", "--html", *files)
    assert (done.status, done.err) == (0, "")
    title = " &#8594; ".join(names or map(str, files))
    assert f"<title>{title} - fnabi</title>" in done.out


def test_inspect_one_function_and_attributes() -> None:
    assert run("inspect", MODULES / "module_attrs.vmfb") == Run(
        0,
        """\
module carrier, version 42, bytecode 17.0
loads in IREE 3.11.0 to 3.13.0
size 757 bytes, 8 of bytecode
attribute build = 2026
attribute empty =
attribute lang = ünïcode
attribute num = 3
1 function
  go  () -> ()  [cconv]
""",
        "",
    )


def test_inspect_json() -> None:
    done = run("inspect", "--json", CLASSIFIER)
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    module = vmfb.open(CLASSIFIER)
    assert found["schema"] == "fnabi.inspect/1"
    assert (found["name"], found["version"]) == ("classifier", 0)
    assert (found["bytecode_version"], found["requirements"]) == ([17, 0], 13)
    assert found["features"] == ["EXT_F32", "YIELD", "UNWIND"]
    assert found["layout"]["file_size"] == CLASSIFIER.stat().st_size
    assert found["bytecode_size"] == len(module.bytecode)
    assert found["types"] == list(module.types)
    assert found["dependencies"] == [{"name": "hal", "minimum_version": 7, "flags": ["REQUIRED"]}]
    assert [each["full_name"] for each in found["imports"]] == [e.full_name for e in module.imports]
    assert [each["offset"] for each in found["rodata"]] == [s.offset for s in module.rodata]
    assert len(found["functions"]) == len(module.functions)
    names = [each["name"] for each in found["functions"]]
    assert {each.ordinal: each.name for each in reversed(module.exports.values())}.items() <= dict(
        enumerate(names)
    ).items()
    assert found["state"] == {"global_bytes_capacity": 0, "global_ref_count": 2}
    assert (found["attrs"], found["rwdata"], found["debug"], found["skipped"]) == ([], [], None, [])
    exports = found["exports"]
    assert [export["name"] for export in exports] == ["normalize", "dense", "version", "__init"]
    assert exports[3] == {
        "name": "__init",
        "ordinal": module.exports.values()[3].ordinal,
        "calling_convention": "0v_v",
        "buffer_sizes": {"arguments": 0, "results": 0},
        "attrs": [],
        "result_allocator": None,
        "async": False,
        "source": "cconv",
        "signature": {"inputs": [], "results": []},
        "problem": None,
        "ambiguity": None,
        "disagreements": [],
        "contradictions": [],
        "differences": [],
        "proofs": {
            "signature": {"inputs": [], "results": []},
            "text": "() -> ()",
            "dims": {"inputs": [], "results": []},
            "aliases": [],
            "fences": {"wait": None, "signal": None},
            "lengths": [],
        },
        "texts": {"cconv": {"value": {"arguments": [], "results": [], "version": 0}}},
        "location": None,
    }
    first = exports[0]
    assert first["source"] == "iree.abi.declaration"
    assert first["buffer_sizes"] == {"arguments": 24, "results": 16}
    assert first["result_allocator"] == "normalize$allocate"
    assert dict(map(tuple, first["attrs"])) == dict(module.exports["normalize"].attrs)
    assert first["signature"]["inputs"][1] == {
        "type": "named",
        "name": "input1",
        "of": {"type": "scalar", "dtype": "float32"},
    }
    texts = first["texts"]
    assert list(texts) == ["iree.abi.declaration", "f", "sip", "cconv"]
    assert texts["f"]["value"] == {
        "inputs": [
            {"type": "buffer", "dtype": "uint8", "shape": [None, 64]},
            {"type": "scalar", "dtype": "float32"},
        ],
        "results": [{"type": "buffer", "dtype": "float32", "shape": [None, 64]}],
    }
    assert texts["sip"]["value"]["results"] == {"type": "leaf", "index": 0}
    one = json.loads(run("inspect", "--json", "--function=dense", CLASSIFIER).out)
    assert one == found | {"exports": [exports[1]]}


def test_inspect_json_has_the_debug_database() -> None:
    database = vmfb.open(MODULES / "debug_kept.vmfb").debug
    assert database is not None
    found = json.loads(run("inspect", "--json", MODULES / "debug_kept.vmfb").out)["debug"]
    assert len(found["locations"]) == len(database.locations)
    assert {"file_line_col"} <= {location["type"] for location in found["locations"]}
    assert [each["local_name"] for each in found["functions"]] == [
        each.local_name for each in database.functions
    ]


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


NORMALIZE = 'fnabi: {}: normalize: malformed f: missing digits at byte 31 in attrs["f"].results[0]'


def test_inspect_malformed_attributes(malformed: Path) -> None:
    """Each is reported with its offset, and everything valid is shown."""
    assert run("inspect", malformed) == Run(
        1,
        """\
module classifier, version 0, bytecode 17.0
requires EXT_F32, YIELD, UNWIND
depends on hal, version 7 or newer
loads in IREE 3.12.0 and 3.13.0
size 8510 bytes, 2560 of bytecode, 2257 in 11 read-only segments
state 0 bytes, 2 references
target local vmvx-bytecode-fb
4 functions
  normalize  (input0: i8[?x64], input1: float32) -> (output0: float32[?x64])  [iree.abi.declaration]
      f      missing digits at byte 31 in attrs["f"].results[0]
               I15!B9!t8d-1d64S1!R10!B7!d-1d6x
                                              ^
      sip    [$0, $1] -> $0
      fbr    normalize$allocate
  dense      (input0: float32[?x64], input1: float32[64x10], input2: float32[10]) -> (output0: float32[?x10])  [iree.abi.declaration]
      sip    missing digits at byte 47 in exports[1].attrs["sip"].inputs["x"]
               ...0!K7!paramsD21!K5!bias_2K7!kernel_1K2!x_-R16!D12!K7!logits_0
                                                           ^
  version    () -> (output0: i32)  [iree.abi.declaration]
  __init     () -> ()  [cconv]
""",  # noqa: E501
        f"{NORMALIZE.format(malformed)}, and 1 other function\n",
    )
    done = run("inspect", "--json", malformed)
    assert (done.status, done.err) == (1, f"{NORMALIZE.format(malformed)}, and 1 other function\n")
    exports = json.loads(done.out)["exports"]
    assert exports[0]["texts"]["f"] == {
        "error": {
            "code": "integer",
            "offset": 31,
            "path": 'attrs["f"].results[0]',
            "reason": "missing digits",
            "expected": None,
            "found": None,
        }
    }
    assert "value" in exports[0]["texts"]["sip"]
    assert exports[1]["texts"]["sip"]["error"]["offset"] == 47
    one = run("inspect", "--function=normalize", malformed)
    assert (one.status, one.err) == (1, f"{NORMALIZE.format(malformed)}\n")
    assert '      missing digits at byte 31 in attrs["f"].results[0]\n' in one.out
    assert run("inspect", "--function=version", malformed).status == 0


def test_inspect_signatures_that_cannot_be_read() -> None:
    done = run("inspect", MODULES / "raw_v0.vmfb")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert (
        "  truncated     ?\n"
        '      error  span runs past the end at byte 1 in exports[4].attrs["f"]\n'
        "               I15!B11!d10d128\n"
        "                ^\n"
        "      cconv  0i_i\n"
    ) in done.out
    assert (
        "      notice inputs[0]: float32[10x128x64] in f, i32 in the calling convention 0i_i\n"
    ) in done.out
    one = run("inspect", "--function=truncated", MODULES / "raw_v0.vmfb")
    assert one.status == 1
    assert "  signature ?\n    error  span runs past the end at byte 1 in " in one.out


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
    assert r"  ver\tio\x9b  () -> (output0: i32)  [iree.abi.declaration]" in done.out
    assert r"fbr    normalize\x1b]0;ocate" in done.out
    name = json.loads(run("inspect", "--json", path).out)["name"]
    assert name.encode("utf-8", "surrogateescape") == b"a\nb\x1b[31m\xff\x7f"


JSON = [
    ["inspect", "--json", "{}"],
    ["inspect", "--json", "--needs", "{}"],
    ["inspect", "--json", "--rodata", "{}"],
    ["inspect", "--json", "--disassemble", "{}"],
    ["inspect", "--json", "--dispatches", "{}"],
    ["inspect", "--dispatches", "--style=json", "{}"],
    ["verify", "--json", "{}"],
    ["scan", "--json", "{}"],
    ["find", "--json", "{}"],
    ["diff", "--json", str(CLASSIFIER), "{}"],
    ["diff", "--style=json", str(CLASSIFIER), "{}"],
    ["diff", "--style=sarif", str(CLASSIFIER), "{}"],
    ["stub", "--language=json-schema", "{}"],
    ["stub", "--json", "{}", "-o", "{}.py"],
]
"""Command lines that print JSON about a module."""


@pytest.mark.parametrize("name", [b"a\x7fb\x1b[31m.", b"a\x7fb\xff\xc2\x9b\xe2\x80\xae."])
def test_json_has_no_control_character(name: bytes, tmp_path: Path) -> None:
    """Nothing that a terminal obeys is left of names, also of those with a DEL that are ASCII."""
    path = tmp_path / "m.vmfb"
    path.write_bytes(
        CLASSIFIER.read_bytes()
        .replace(b"classifier", name.ljust(10, b"."))
        .replace(b"version\0", b"ver\x7fion\0")
    )
    for argv in JSON:
        done = run(*(each.replace("{}", str(path)) for each in argv))
        assert done.status in (0, 1, 3), argv
        assert done.err == "", argv
        assert all(line.isascii() and line.isprintable() for line in done.out.splitlines()), argv


@pytest.mark.parametrize("size", [0, 1, 100, 1000])
def test_inspect_damaged(tmp_path: Path, size: int) -> None:
    path = tmp_path / "damaged.vmfb"
    path.write_bytes(CLASSIFIER.read_bytes()[:size])
    for arguments, where in (([path], f"{path}: "), (["-"], "")):
        done = run("inspect", *arguments, stdin=path.read_bytes())
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"fnabi: {where}file ends before the module does at byte ")
        assert done.err.count("\n") == 1


def test_inspect_another_file() -> None:
    done = run("inspect", __file__)
    assert (done.status, done.out) == (1, "")
    no_module = "neither an IREE module nor a shared library"
    assert done.err == f"fnabi: {__file__}: {no_module}, but text\n"
    assert run("inspect", "-", stdin=b"short") == Run(1, "", f"fnabi: {no_module}, but text\n")
    done = run("inspect", "-", stdin=bytes(100))
    assert done == Run(1, "", f'fnabi: {no_module} (no "IREE" at byte 8)\n')
    done = run("inspect", "-", stdin=b"module @a {\n  util.func public @f()")
    assert done.err == f"fnabi: {no_module}, but MLIR source, which iree-compile compiles\n"
    done = run("inspect", "-", stdin=b"PK\x03\x04" + bytes(100))
    assert done.err == f"fnabi: {no_module}, but a ZIP archive\n"


@pytest.mark.parametrize("verb", [["inspect"], ["inspect", "--json"]])
def test_inspect_no_file(tmp_path: Path, verb: list[str]) -> None:
    missing = tmp_path / "no such\nfile.vmfb"
    shown = str(missing).replace("\n", "\\n")
    assert run(*verb, missing) == Run(1, "", f"fnabi: {shown}: No such file or directory\n")
    folder = run(*verb, tmp_path)
    assert (folder.status, folder.out) == (1, "")
    assert folder.err.startswith(f"fnabi: {tmp_path}: Is a directory, expected a file; fnabi scan ")


@pytest.mark.parametrize(
    "path", sorted(MODULES.rglob("*.vmfb")), ids=lambda path: str(path.relative_to(MODULES))
)
def test_inspect_every_module(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = None
    try:
        exports = len(vmfb.open(path).exports)
    except fnabi.FormatError as error:
        error.hint = error.hint and "--lenient ignores it"
        problem = f"fnabi: {path}: {error.text}"
    if problem is not None:
        assert main(["inspect", str(path)]) == 1
        assert main(["inspect", "--json", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        first, second = err.splitlines()
        if library.looks_like_one(path.read_bytes()[:16]):
            assert first == second == f"fnabi: {error_of(library.read, path)}"
            return
        hinted = first.endswith(" (--lenient ignores it)")
        assert first == second
        no_module = first.startswith(f"fnabi: {path}: neither an IREE module nor a shared library")
        assert no_module or first == problem
        main(["inspect", "--lenient", str(path)])
        assert bool(capsys.readouterr().out) == hinted
        return

    status = main(["inspect", str(path)])
    shown = capsys.readouterr()
    assert (shown.err.count("\n"), shown.err.startswith(f"fnabi: {path}: ")) == (status, status)
    assert len(shown.out.splitlines()) > exports
    assert main(["inspect", "--json", str(path)]) == status
    out, err = capsys.readouterr()
    assert err == shown.err
    found = json.loads(out)["exports"]
    assert len(found) == exports
    assert status == any(
        export["source"] is None
        or any("error" in t for s, t in export["texts"].items() if s != "iree.abi.declaration")
        for export in found
    )
    sections = ["--imports", "--rodata", "--debug"]
    for name in sorted({export["name"] for export in found})[:20]:
        one = main(["inspect", *sections, f"--function={name}", str(path)])
        assert bool(capsys.readouterr().err) == one <= status
    assert main(["inspect", *sections, str(path)]) == status
    assert capsys.readouterr().err == shown.err


def test_inspect_a_function() -> None:
    assert run("inspect", "--function=scalar_in", MODULES / "async_fences.vmfb") == Run(
        0,
        """\
function scalar_in, ordinal 4
  signature [iree.abi.declaration, async]
    inputs[0] input0    i32[4]   numpy.int32
    inputs[1] input1    index
    inputs[2] input2    float32  numpy.float32
    results[0] output0  i32[4]   numpy.int32
  calling convention 0rIfrr_r
    (!vm.ref<?>, i64, f32, !vm.ref<?>, !vm.ref<?>) -> (!vm.ref<?>)
    arguments in 64 bytes, results in 16 bytes
    async: the last two arguments are fences, to wait for and to signal
  attributes
    iree.abi.declaration = async func @scalar_in(%input0: tensor<4xi32>, %input1: index, %input2: f32) -> (%output0: tensor<4xi32>)
      async scalar_in(input0: i32[4], input1: index, input2: float32) -> (output0: i32[4])
    iree.abi.model = coarse-fences
  bytecode 116 bytes at 1056, 1 block
  uses 8 32-bit registers, 5 reference registers
  requires UNWIND
""",  # noqa: E501
        "",
    )


def test_inspect_shows_equal_dims_of_each_side() -> None:
    shown = run("inspect", "--function", "onnx_gather$async", GATHER).out
    assert "    inputs[0]   i64[AxB]         numpy.int64\n" in shown
    assert "    results[0]  float32[AxBx4]   numpy.float32\n" in shown
    assert "    results[1]  i32[AxB]         numpy.int32\n" in shown


def test_inspect_what_the_bytecode_says_of_a_declared_function() -> None:
    path = DECLARED / "declared_views@3.13.0@vmvx.vmfb"
    lines = run("inspect", path).out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("  dynamic "))
    assert lines[at].endswith("(output0: ref<!hal.buffer_view>)  [iree.abi.declaration]")
    assert lines[at + 1] == "      bytecode (i32[Ax3]) -> (i32[Ax3])"
    one = run("inspect", "--function=static", path).out
    assert "    bytecode (float32[4x3]) -> (float32[4x3])\n" in one
    assert "bytecode (" not in run("inspect", "--function=pass", path).out

    exports = json.loads(run("inspect", "--json", path).out)["exports"]
    found = {export["name"]: export for export in exports}
    view = {"type": "ref", "name": "!hal.buffer_view"}
    assert found["dynamic"]["signature"]["results"] == [
        {"type": "named", "name": "output0", "of": view}
    ]
    assert found["dynamic"]["proofs"]["text"] == "(i32[Ax3]) -> (i32[Ax3])"
    assert found["dynamic"]["differences"] == [
        {
            "side": side,
            "index": 0,
            "stated": "ref<!hal.buffer_view>",
            "bytecode": "i32[Ax3]",
            "contradictory": False,
        }
        for side in ("inputs", "results")
    ]
    assert found["pass"]["differences"] == []
    assert found["buffer"]["proofs"]["lengths"] == [140]

    flags = run("inspect", "--function=storage", "--inputs", path)
    assert flags == Run(0, "--input=64x3xf32\n--input='&768xi8'\n", "")


def test_inspect_attributes_of_arguments() -> None:
    done = run("inspect", "--function=typed", MODULES / "decl_named.vmfb")
    assert done.status == 0
    assert re.search(r"  inputs\[0\] input0 +i32\[4\]  numpy\.int32  iree\.abi\.\w+ = ", done.out)


def test_inspect_no_such_function() -> None:
    names = "expected normalize, dense, version, __init"
    done = run("inspect", "--function=a\nb", CLASSIFIER)
    assert done == Run(1, "", f"fnabi: {CLASSIFIER}: no function is named a\\nb, {names}\n")
    assert run("inspect", "--function=x", "-", stdin=CLASSIFIER.read_bytes()) == Run(
        1, "", f"fnabi: no function is named x, {names}\n"
    )


def test_inspect_sections() -> None:
    plain = run("inspect", CLASSIFIER).out
    done = run("inspect", "--imports", "--rodata", "--debug", CLASSIFIER)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(plain)
    lines = done.out[len(plain) :].splitlines()
    assert lines[0] == "19 imports"
    assert lines[4].split() == [
        "hal.buffer_view.buffer",
        "(!vm.ref<?>)",
        "->",
        "(!vm.ref<?>)",
        "[0r_r]",
    ]
    segment = "     0  string table      embedded  13 bytes at byte 2952"
    assert lines[20:22] == ["11 read-only segments", segment]
    assert lines[-1].startswith("no debug database, ")
    optional = run("inspect", "--imports", MODULES / "vm_imports_plain.vmfb").out
    assert "  maybe.fn  () -> (i32)  [0v_i, optional]\n" in optional
    assert "depends on maybe, version 0 or newer, optional\n" in optional


def test_inspect_debug() -> None:
    path = MODULES / "debug_kept.vmfb"
    database = vmfb.open(path).debug
    assert database is not None
    function = database.functions[0]
    one = run("inspect", "--debug", f"--function={function.local_name}", path).out
    shown = one[one.index("debug database, ") :].splitlines()
    assert len(shown) == 2 + len(function.locations)
    first = function.locations[0]
    assert shown[2].split(maxsplit=1) == [
        str(first.bytecode_offset),
        str(database.resolve(first.location)),
    ]
    assert "no locations" not in one
    none = run("inspect", "--debug", "--function=go", path).out
    assert none.endswith(", 0 functions\n  the compiler recorded no locations of go\n")
    everything = run("inspect", "--debug", path).out
    assert everything.endswith("\n  the compiler recorded no locations of go\n")
    # the first operation of this function has no location, but others have
    params = run("inspect", "--debug", DATA / "needs/params_vmvx.vmfb").out
    assert re.search(r"\n  __init  \d+ operations  from params\.mlir:\d+:\d+\n", params)
    assert f"  {function.local_name}  {len(function.locations)} operation" in everything


def test_inspect_lenient() -> None:
    path = MODULES / "abi_broken@2.9.0.vmfb"
    where = "offset outside the module at byte 4248 in function_signatures[0].attrs[0]"
    hint = "(--lenient ignores it)"
    assert run("inspect", path) == Run(1, "", f"fnabi: {path}: {where} {hint}\n")
    done = run("inspect", "--lenient", path)
    assert f"\nskipped {where}\n" in done.out
    (skipped,) = json.loads(run("inspect", "--json", "--lenient", path).out)["skipped"]
    assert skipped["offset"] == 4248


# --------------------------------------------------------------------------------- colour


def colours(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")


@pytest.mark.parametrize("verb", [["inspect"], ["inspect", "--function=dense"], ["verify"]])
def test_a_terminal_shows_the_same_in_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    for path in (CLASSIFIER, MODULES / "raw_v0.vmfb", MODULES / "many_300.vmfb"):
        colours(monkeypatch)
        status = main([*verb, str(path)])
        plain = capsys.readouterr().out
        assert "\x1b" not in plain
        colours(monkeypatch, FORCE_COLOR="1")
        assert main([*verb, str(path)]) == status
        shown = capsys.readouterr().out
        assert re.sub(r"\x1b\[[\d;]*m", "", shown) == plain
        assert ("\x1b[" in shown) == bool(plain)
        colours(monkeypatch, FORCE_COLOR="1", NO_COLOR="1")
        main([*verb, str(path)])
        assert capsys.readouterr().out == plain


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_real_terminal() -> None:
    import pty

    main_end, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "fnabi", "verify", CLASSIFIER],
        stdout=terminal,
        env=environment | {"TERM": "xterm"},
        timeout=60,
    )
    os.close(terminal)
    shown = os.read(main_end, 10_000).decode()
    os.close(main_end)
    assert done.returncode == 0
    assert shown == f"{CLASSIFIER}: \x1b[32mok\x1b[0m\r\n"


# --------------------------------------------------------------------------------- verify


def test_verify() -> None:
    notice = MODULES / "malformed" / "import_dup.vmfb"
    assert run("verify", CLASSIFIER) == Run(0, f"{CLASSIFIER}: ok\n", "")
    assert run("verify", "-", stdin=CLASSIFIER.read_bytes()) == Run(0, "-: ok\n", "")
    done = run("verify", "--progress=json", "-", stdin=CLASSIFIER.read_bytes())
    last = json.loads(done.err.splitlines()[-1])
    assert (done.out, last["files"], last["bytes"]) == ("-: ok\n", 1, None)
    assert run("verify", notice) == Run(
        1,
        f"{notice}: notice: duplicate name at byte 1112 in imported_functions[1].full_name\n"
        f"{notice}: error: changed bytes, expected checksum afaf7504, got d9abf4cb at byte 64 in"
        " zip_directory[0]\n",
        "",
    )


def test_verify_goes_on_after_bad_files(tmp_path: Path) -> None:
    damaged = MODULES / "malformed" / "trunc_100.vmfb"
    broken = MODULES / "malformed" / "flip_36_vm_imports.vmfb"
    missing = tmp_path / "missing.vmfb"
    done = run("verify", damaged, missing, tmp_path, broken, __file__, CLASSIFIER)
    assert done == Run(
        1,
        f"{damaged}: error: file ends before the module does at byte 100\n"
        f"{broken}: error: ordinal outside its table at byte 368 in"
        " debug_database.functions[0].locations[13].location\n"
        f"{broken}: error: changed bytes, expected checksum afaf7504, got 8b3b3e97 at byte 64 in"
        " zip_directory[0]\n"
        f"{__file__}: error: not an IREE module at byte 8, expected a .vmfb module, got text\n"
        f"{CLASSIFIER}: ok\n",
        f"fnabi: {missing}: No such file or directory\nfnabi: {tmp_path}: no files named *.vmfb\n",
    )
    for each in (damaged, missing, broken):
        assert run("verify", each).status == 1


def test_verify_json(tmp_path: Path) -> None:
    damaged = MODULES / "malformed" / "trunc_100.vmfb"
    missing = tmp_path / "missing.vmfb"
    done = run("verify", "--json", damaged, missing, CLASSIFIER)
    assert done.status == 1
    finding = {
        "code": "module-size",
        "offset": 100,
        "path": "",
        "text": "file ends before the module does",
        "severity": "error",
        "expected": None,
        "found": None,
    }
    head = {"schema": "fnabi.verify/1"}
    no_file = "No such file or directory"
    assert lines_of(done.out) == [
        head | {"file": str(damaged), "good": False, "unread": None, "findings": [finding]},
        head | {"file": str(missing), "good": False, "unread": no_file, "findings": []},
        head | {"file": str(CLASSIFIER), "good": True, "unread": None, "findings": []},
    ]


def test_verify_lenient() -> None:
    path = MODULES / "module_attrs@2.9.0.vmfb"
    text = "offset outside the module at byte 264 in attrs[1]"
    strict = run("verify", path)
    hint = " (--lenient ignores it)"
    assert (strict.status, strict.out.splitlines()[0]) == (1, f"{path}: error: {text}{hint}")
    assert run("verify", "--lenient", path) == Run(0, f"{path}: notice: {text}\n", "")


def test_verify_every_module(capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(map(str, MODULES.rglob("*.vmfb")))
    assert main(["verify", "--json", *paths]) == 1
    for path, record in zip(paths, lines_of(capsys.readouterr().out), strict=True):
        good = True
        try:
            good = all(each.severity == "notice" for each in vmfb.open(path).check())
        except fnabi.FormatError:
            good = False
        assert (record["file"], record["good"]) == (path, good)
        assert main(["verify", path]) == (0 if good else 1)
        shown = capsys.readouterr()
        assert shown.err == ""
        assert len(shown.out.splitlines()) == max(1, len(record["findings"]))


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
        ["inspect", "--function"],
        ["verify"],
    ],
)
def test_wrong_usage(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: fnabi ")
    assert done.err.splitlines()[-1].startswith("fnabi ") or "fnabi: error: " in done.err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (
            ["verify", "--runtime=3.9.0", "--runtime", "3.13.0", "a.vmfb"],
            "--runtime is given twice; several releases are one list, such as 3.9.0,3.12.0",
        ),
        (["decode", "-o", "x", "a", "--output=y"], "--output is given twice, expected once"),
        (["find", "a", "--function", "f", "--function=f"], "--function is given twice, expected"),
        (["inspect", "a", *["--extract", "all", "x"] * 2], "--extract is given twice, expected"),
    ],
)
def test_an_option_with_one_value_is_not_repeated(argv: list[str], problem: str) -> None:
    done = run(*argv)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith(f"fnabi {argv[0]}: error: {problem}")


def test_options_that_are_lists_or_switches_may_be_repeated() -> None:
    assert run("verify", "--lenient", "--lenient", str(CLASSIFIER)).status == 0
    functions = ["--function=dense", "--function=normalize"]
    assert run("stub", *functions, str(CLASSIFIER)).status == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["call", "a.so", "f"],
        ["decode", "--format=csv", "a"],
        ["diff", "--html", "a.vmfb", "b.vmfb"],
        ["inspect", "--html", "a.vmfb"],
        ["scan", "--format=csv", "a"],
        ["stub", "a.vmfb"],
    ],
    ids=lambda argv: argv[0],
)
def test_an_output_is_not_standard_output(argv: list[str]) -> None:
    done = run(*argv, "-o", "-")
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith("--output: expected a file, got '-'; ./- is a file of this name\n")


@pytest.mark.parametrize(
    "argv", [["--help"], ["decode", "--help"], ["inspect", "--help"], ["verify", "--help"]]
)
def test_help(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("usage: fnabi ")
    assert "`" not in done.out


def test_version() -> None:
    done = run("--version")
    assert (done.status, done.err) == (0, "")
    first, core, decoders, own, extras, peers = done.out.splitlines()
    assert first == f"fnabi {fnabi.__version__}"
    assert core.startswith("core: ")
    assert re.fullmatch(r"decoders of columns: scalar(, \S+)*; \S+ is used", decoders)
    assert f"msgspec {version('msgspec')}" in own
    assert f"numpy {np.__version__}" in extras
    assert "iree-base-runtime" in peers


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
    assert (done.returncode, done.stderr) == (141, b"")


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


# ----------------------------------------------------------------------- inspect a library

LIBRARY = TESTS / "c" / "corpus" / "library" / "gnu_hash"

SHOWN_LIBRARY = """\
library libadd.so, 64-bit little-endian ELF for x86-64
linked with libtvm_ffi.so, libc.so.6
libtvm_ffi is used where it is installed
  requires TVMFFIErrorSetRaised
  may use TVMFFIGetVersion
  fnabi provides all of these where libtvm_ffi is not installed
errors are kept in its own slot where libtvm_ffi is not loaded
3 TVM-FFI functions
  add
  plain
  weak
"""


def test_inspect_a_library() -> None:
    assert run("inspect", LIBRARY) == Run(0, SHOWN_LIBRARY, "")
    assert run("inspect", "-", stdin=LIBRARY.read_bytes()) == Run(0, SHOWN_LIBRARY, "")
    assert run("inspect", "--function=plain", LIBRARY) == Run(0, "  plain\n", "")
    missing = run("inspect", "--function=none", LIBRARY)
    text = "no TVM-FFI function is named none, expected add, plain, weak"
    assert missing == Run(1, "", f"fnabi: {LIBRARY}: {text}\n")


def test_a_library_without_functions_says_why(tmp_path: Path) -> None:
    path = tmp_path / "none.so"
    path.write_bytes(LIBRARY.read_bytes().replace(b"__tvm_ffi_", b"__tvm_not_"))
    lines = run("inspect", path).out.splitlines()
    at = lines.index("0 TVM-FFI functions")
    assert lines[at + 1] == "  it exports __fnabi_error_slot, but no function as __tvm_ffi_NAME"
    assert lines[0].startswith("library libadd.so, 64-bit")
    program = bytearray(path.read_bytes())
    program[16] = 2  # ET_EXEC
    path.write_bytes(program)
    lines = run("inspect", path).out.splitlines()
    assert lines[0].startswith("not a shared library libadd.so, 64-bit")
    reason = "  only a shared library exports functions, not a program or an object file"
    assert lines[lines.index("0 TVM-FFI functions") + 1] == reason
    source = tmp_path / "empty.c"
    source.write_text("int f;")
    lines = run("inspect", built("empty", "cc", str(source))).out.splitlines()
    assert lines[-2] == "0 TVM-FFI functions"
    assert lines[-1].startswith("  no exported symbol is named __tvm_ffi_NAME: ")
    lines = run("inspect", typed_library()).out.splitlines()
    reason = "  none is exported by name: it registers functions when it is loaded"
    assert lines[-2:] == ["0 TVM-FFI functions", reason]


@pytest.mark.parametrize(
    ("flags", "need"),
    [
        (["-Wl,-z,lazy"], "must be loaded before a function is called"),
        (["-Wl,-z,now"], "is needed when the library is loaded"),
        (["-ltvm_ffi"], "is linked: the library cannot be loaded without it"),
    ],
)
def test_inspect_says_when_the_runtime_is_needed(
    flags: list[str], need: str, tmp_path: Path
) -> None:
    source = tmp_path / "wants.c"
    source.write_text(
        "int TVMFFINoSuchFunction(void); int f(void) { return TVMFFINoSuchFunction(); }"
    )
    flags = [f"-L{tvm_ffi_folder()}/lib", "-Wl,--no-as-needed", *flags]
    path = built("wants", "cc", str(source), "-fvisibility=default", *flags)
    assert f"libtvm_ffi {need}" in run("inspect", path).out.splitlines()


def test_errors_are_there_at_once() -> None:
    code = "import fnabi; print(fnabi.errors.FormatError is fnabi.FormatError)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"True\n"


def test_inspect_a_library_json() -> None:
    done = run("inspect", "--json", LIBRARY)
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert found.pop("symbols")[0] == {
        "name": "__tvm_ffi_add",
        "kind": "function",
        "value": 0x1234,
    }
    assert found == {
        "schema": "fnabi.inspect.library/1",
        "format": "elf",
        "bits": 64,
        "byte_order": "little",
        "machine": "x86-64",
        "is_shared": True,
        "soname": "libadd.so",
        "runpath": None,
        "needed": ["libtvm_ffi.so", "libc.so.6"],
        "bind_now": True,
        "functions": [
            {"name": name, "metadata": False, "doc": False} for name in ("add", "plain", "weak")
        ],
        "libtvm_ffi": {
            "needed_to_load": True,
            "needed_to_call": True,
            "required": ["TVMFFIErrorSetRaised"],
            "optional": ["TVMFFIGetVersion"],
            "variables": [],
            "provided": ["TVMFFIErrorSetRaised", "TVMFFIGetVersion"],
        },
        "error_slot": True,
        "registers": {"functions": False, "types": False},
        "registered": None,
    }
    one = json.loads(run("inspect", "--json", "--function=weak", LIBRARY).out)
    assert [each["name"] for each in one["functions"]] == ["weak"]


def test_inspect_a_library_runs_none_of_it(tmp_path: Path) -> None:
    source = tmp_path / "fatal.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "__attribute__((constructor)) static void at_once(void) { _Exit(99); }\n"
        '#define EXPORT __attribute__((visibility("default")))\n'
        "EXPORT int __tvm_ffi_a_function(void) { _Exit(98); }\n"
        "EXPORT int __tvm_ffi__doc_a_function(void) { _Exit(97); }\n"
        "EXPORT int __tvm_ffi__metadata_a_function(void) { _Exit(96); }\n"
    )
    done = run("inspect", built("fatal", "cc", str(source)))
    assert done.status == 0
    assert done.out.splitlines()[-3:] == [
        "libtvm_ffi is not needed",
        "1 TVM-FFI function",
        "  a_function  [metadata, doc]",
    ]


def test_inspect_what_a_library_registers() -> None:
    path = interop_library("reflected")
    said = "registers types by name when it is loaded; --run lists them"
    assert said in run("inspect", path).out.splitlines()
    program = [sys.executable, "-m", "fnabi", "inspect", "--run", path]
    shown = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    start = shown.index("registered 0 functions by name")
    assert shown[start:].startswith(
        "registered 0 functions by name\n"
        "registered 4 types\n"
        "  tests.Point\n"
        "      x: float\n"
        "      y: float\n"
        "      tag: Any\n"
        "      norm(tests.Point) -> float\n"
        "      add(...)\n"
    )
    printed = subprocess.run([*program, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(printed.stdout)
    assert found["registers"] == {"functions": False, "types": True}
    point = found["registered"]["types"][0]
    assert (point["key"], point["bases"]) == ("tests.Point", ["ffi.Object"])
    assert point["fields"][1] == {"name": "y", "type": "float", "writable": False}
    assert point["methods"][2] == {"name": "make", "signature": None, "static": True}
    program[-1] = typed_library()
    lines = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("registered "))
    width = len("typed.write_dtype")
    assert f"  {'typed.add':{width}}  (int, int) -> int" in lines[start:]
    assert f"  {'typed.fail':{width}}  (ffi.String) -> None" in lines[start:]


@pytest.mark.parametrize("option", ["--metadata", "--run"])
def test_a_library_that_is_loaded_is_a_file(option: str) -> None:
    done = run("inspect", option, "-", stdin=LIBRARY.read_bytes())
    assert done.status == 2
    assert f"{option} is not allowed with standard input" in done.err


@pytest.mark.parametrize(
    "option",
    [
        *("--imports", "--needs", "--rodata", "--debug", "--lenient"),
        *("--disassemble", "--inputs", "--extract all unused"),
    ],
)
def test_options_that_are_not_for_libraries(option: str) -> None:
    done = run("inspect", *option.split(), LIBRARY)
    assert (done.status, done.out) == (2, "")
    assert f"{option.split()[0]} is only allowed for .vmfb modules" in done.err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "numpy.save"),
        (b"# text", "numpy.save"),
        (b"\x93NUMPY\x01\x00\x02\x00{}", "Header"),
        (b"\x93NUMPY\x01\x00\x06\x00[1, 2]", "Header"),
    ],
)
def test_call_with_a_bad_array(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(content)
    name = library.read(callee_library()).functions[0]
    done = run("call", callee_library(), name, f"@{path}")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"fnabi: {path}: not a valid .npy file")
    assert problem in done.err
    missing = run("call", callee_library(), name, f"@{path}x")
    assert missing == Run(1, "", f"fnabi: {path}x: No such file or directory\n")


def test_a_dim_that_is_no_number() -> None:
    done = run("inspect", "--function=dense", "--inputs", "--dim=x", CLASSIFIER)
    assert (done.status, done.out) == (2, "")
    assert "error: --dim: expected a whole number, got 'x'" in done.err


def test_diff_counts_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.vmfb").write_bytes(CLASSIFIER.read_bytes())
    done = run("diff", tmp_path, tmp_path)
    assert done.out.endswith("\ncompatible: 1 file: 1 compatible\n")


def test_inspect_a_damaged_library(tmp_path: Path) -> None:
    path = tmp_path / "cut.so"
    path.write_bytes(LIBRARY.read_bytes()[:500])
    done = run("inspect", path)
    shown = "part runs past the end of the file at byte 64 in segments[0]"
    assert done == Run(1, "", f"fnabi: {path}: {shown}\n")
    path.write_bytes(b"\xcf\xfa\xed\xfe\x07\0\0\x01")
    done = run("inspect", "--json", path)
    assert (done.status, done.out) == (1, "")
    assert "a Mach-O file (macOS)" in done.err
    assert "lief" in done.err


def test_inspect_a_library_escapes_names(tmp_path: Path) -> None:
    path = tmp_path / "odd.so"
    data = LIBRARY.read_bytes().replace(b"__tvm_ffi_add", b"__tvm_ffi_\x1b\xff\n")
    path.write_bytes(data.replace(b"libadd.so", b"lib\nad.so"))
    done = run("inspect", path)
    assert done.status == 0
    assert done.out.splitlines()[0].startswith("library lib\\nad.so, ")
    assert "  \\x1b\\xff\\n" in done.out.splitlines()


# ----------------------------------------------------------------------------------- call


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["add_ints"], "0"),
        (["add_ints", "1", "-2", "30"], "29"),
        (["first", "null"], ""),
        (["first", "2.5"], "2.5"),
        (["first", "true"], "True"),
        (["first", "plain text"], "plain text"),
        (["first", '"5"'], "5"),
        (["first", '[1, {"k": [null, "x"]}]'], "[1, {'k': [None, 'x']}]"),
        (["bytes_reverse", "longer than seven"], repr(b"neves naht regnol")),
        (["tensor_arange", "3"], "array([0., 1., 2.], dtype=float32)"),
        (["main"], "4242"),
    ],
)
def test_call(argv: list[str], shown: str) -> None:
    done = run("call", interop_library("c_plain"), *argv)
    assert done == Run(0, shown + "\n" if shown else "", "")


def test_call_with_an_array(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2])
    assert run("call", interop_library("c_plain"), "tensor_sum_strided", f"@{file}").out == "10.0\n"


@pytest.mark.parametrize(
    ("argv", "result"),
    [
        (["first", "null"], None),
        (["first", '[1, "x"]'], [1, "x"]),
        (["first", '{"a": {"b": 1}}'], {"dict": {"a": {"dict": {"b": 1}}}}),
        (["bytes_reverse", "ab"], {"bytes": "6261"}),
        (
            ["tensor_arange", "2"],
            {"tensor": {"dtype": "float32", "shape": [2], "data": [0.0, 1.0]}},
        ),
    ],
)
def test_call_json(argv: list[str], result: object) -> None:
    done = run("call", "--json", interop_library("c_plain"), *argv)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out) == {
        "schema": "fnabi.call/1",
        "function": argv[0],
        "result": result,
        "changed": [],
    }


def test_call_that_fails() -> None:
    path = interop_library("c_err")
    done = run("call", path, "raise_kind", "ValueError", "of\tits own")
    assert done == Run(1, "", "fnabi: raise_kind: ValueError: of\\x09its own\n".replace("x09", "t"))
    done = run("call", path, "nothing")
    assert (done.status, done.out) == (1, "")
    text = "no TVM-FFI function is named nothing, expected alloc_like, apply, "
    assert done.err.startswith(f"fnabi: {path}: {text}")
    assert re.search(r" or one of \d+ more\n\Z", done.err)
    done = run("call", interop_library("c_plain"), "fail_silent")
    assert (done.status, done.out) == (1, "")
    assert "fail_silent: the function failed with status -1" in done.err
    done = run("call", __file__, "f")
    assert (done.status, done.out) == (1, "")
    assert "not a library" in done.err
    assert run("call", path).status == 2


def test_inspect_shows_names_of_parameters(tmp_path: Path) -> None:
    source = tmp_path / "named.c"
    source.write_text(
        """
#include <fnabi/callee.h>
CALLEE_PARAMETERS(scale, x, factor)
CALLEE_SIGNATURE(scale, CALLEE_TYPE("int"), CALLEE_TYPE("ffi.Tensor") "," CALLEE_TYPE("float"))
CALLEE_DOC(scale, "Scale.")
CALLEE_EXPORT(scale) { return callee_return_int(call, 0); }
CALLEE_PARAMETERS(area, width, height)
CALLEE_EXPORT(area) { return callee_return_int(call, 0); }
"""
    )
    library = tmp_path / "named.so"
    options = ["-shared", "-fPIC", f"-I{fnabi.get_include()}", "-o", library, source]
    subprocess.run(["cc", *options], check=True)
    done = run("inspect", "--metadata", str(library))
    assert "  scale  (x: ffi.Tensor, factor: float) -> int\n      Scale.\n" in done.out
    assert "  area   (width, height)\n" in done.out


def test_inspect_shows_metadata_of_a_library() -> None:
    path = interop_library("c_plain")
    done = run("inspect", "--metadata", "--function", "add_ints", path)
    assert done.out == "  add_ints  (int, int) -> int\n      Add any number of integers.\n"
    done = run("inspect", "--metadata", "--json", "--function", "add_ints", path)
    assert json.loads(done.out)["functions"] == [
        {
            "name": "add_ints",
            "metadata": True,
            "doc": True,
            "signature": "(int, int) -> int",
            "text": "Add any number of integers.",
        }
    ]
    done = run("inspect", "--metadata", "-", stdin=Path(path).read_bytes())
    assert (done.status, done.out) == (2, "")
    assert "loading a library needs a file" in done.err
    assert run("inspect", "--metadata", CLASSIFIER).status == 2


def test_scan() -> None:
    assert run("scan", CLASSIFIER).out.replace(str(CLASSIFIER), "FILE") == (
        "FILE  module classifier\n"
        "  normalize  (input0: i8[?x64], input1: float32) -> (output0: float32[?x64])\n"
        "  dense      (input0: float32[?x64], input1: float32[64x10], input2: float32[10])"
        " -> (output0: float32[?x10])\n"
        "  version    () -> (output0: i32)\n"
        "  __init     () -> ()\n"
        "4 functions in 1 file\n"
    )
    missing = run("scan", CLASSIFIER, "/nowhere")
    assert (missing.status, missing.out) == (1, "")
    assert missing.err == "fnabi: /nowhere: No such file or directory\n"


def test_threads_are_checked() -> None:
    for threads, fault in (
        ("0", "--threads: must be at least 1, got 0"),
        ("-3", "--threads: must be at least 1, got -3"),
        ("two", "--threads: expected a whole number, got 'two'"),
    ):
        done = run("scan", f"--threads={threads}", ".")
        assert (done.status, done.out) == (2, "")
        assert done.err.endswith(f"error: {fault}\n")


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("1", 1), ("4096", 4096), ("64MiB", 1 << 26), (" 2 kb", 2048), ("1G", 1 << 30)],
)
def test_sizes(text: str, bytes: int) -> None:
    assert size(text) == bytes


@pytest.mark.parametrize("text", ["0", "0K", "-1", "1.5M", "", "K", "1P"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected bytes|at least 1"):
        size(text)
