"""What modules need: targets, executables, parameters, transients."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fnabi import FormatError, compat, needs, vmfb
from fnabi.cli import main
from fnabi.vmfb.needs import Parameter, _spirv
from support.bytecode_template import MOVE, REF, Part, assemble, call, load
from support.flatbuffer import Node, Numbers, String, Table, Vector, module
from support.growth import modules
from support.paths import DATA, TESTS

NEEDS = DATA / "needs"
MODULES = DATA / "vmfb"
_SIZE = "iree.abi.transients.size"
PARAMETERS = (
    Parameter("load", "model", "layer.weight", 0, 48),
    Parameter("load", "model", "layer.bias", 0, 12),
    Parameter("load", "", "scale", 0, 16),
)
FORMATS = {
    "llvm-cpu": ("local", "embedded-elf-x86_64", "x86_64"),
    "vmvx": ("local", "vmvx-bytecode-fb", "vmvx"),
    "vulkan": ("vulkan", "vulkan-spirv-fb", "spir-v"),
}
EVERY = sorted(path.stem for path in NEEDS.glob("params_*.vmfb"))


def open_needs(name: str) -> vmfb.Module:
    return vmfb.open(NEEDS / f"{name}.vmfb")


@pytest.mark.parametrize("name", EVERY)
def test_every_target_and_compiler(name: str) -> None:
    opened = open_needs(name)
    device, format, isa = FORMATS[name.partition("_")[2].partition("@")[0]]
    (target,) = opened.targets
    assert (target.device, target.formats) == (device, (format,))
    assert opened.parameters == PARAMETERS
    assert opened.executables
    for each in opened.executables:
        assert (each.format, each.isa) == (format, isa)
        assert each.target == target.executables[0]
        assert each.segment is not None
        segment = opened.rodata[each.segment]
        assert (each.name, each.size) == (segment.name, segment.size)


MODELS: dict[str, tuple[str, list[str], list[str]]] = {
    "vmvx_async-external": ("local", ["vmvx-bytecode-fb"], []),
    "vmvx_async-internal": ("local", ["vmvx-bytecode-fb"], []),
    "vmvx_inline-dynamic": ("hal_loader", ["vmvx-bytecode-fb"], ["hal_loader", "hal_inline"]),
    "llvm-cpu_inline-dynamic": (
        *("hal_loader", ["embedded-elf-x86_64"]),
        ["hal_loader", "hal_inline"],
    ),
    "llvm-cpu_inline-dynamic@3.6.0": (
        *("hal_loader", ["embedded-elf-x86_64"]),
        ["hal_loader", "hal_inline"],
    ),
    "vmvx_inline-static": ("", [], ["hal_inline"]),
}
"""For each module its device, the formats of its executables, and what the host registers."""


@pytest.mark.parametrize("name", MODELS)
def test_every_execution_model(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device, formats, host = MODELS[name]
    path = str(NEEDS / f"exp_{name}.vmfb")
    targets = [f"{device} {each}" for each in formats]
    assert main(["inspect", "--json", path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["host_modules"] == host
    assert found["needs_problem"] is None
    assert [each["format"] for each in found["executables"]] == formats
    isa = {"vmvx-bytecode-fb": "vmvx", "embedded-elf-x86_64": "x86_64"}
    for each in found["executables"]:
        assert each["isa"] == isa[each["format"]]
        assert each["size"] == found["rodata"][each["segment"]]["size"] > 500
        assert each["target"]["format"] == each["format"]
        assert each["entry_points"] or "@3.6.0" in name  # which has no lookups
    for each in found["targets"]:
        compiled = [one["format"] for one in each["executables"]]
        assert (each["device"], compiled) == (device, formats)
    assert bool(found["targets"]) == bool(formats)
    assert main(["inspect", "--needs", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{len(formats)} executable{'' if formats else 's'}" in lines
    told = [each for each in lines if each.startswith(("loads in IREE", "unknown of IREE"))]
    needed = f" if the host registers {', '.join(host)}" if host else ""
    assert len(told) == 1
    assert told[0].endswith(needed) if needed else "host" not in told[0]
    shown = [each for each in lines if each.startswith("target ")]
    assert len(shown) == len(targets)
    assert all(line.startswith(f"target {text}") for line, text in zip(shown, targets, strict=True))
    assert main(["scan", "--json", path]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row.get("target") == (targets[0] if targets else None)
    page = tmp_path / "page.html"
    assert main(["inspect", "--html", "-o", str(page), path]) == 0
    text = page.read_text()
    data = json.loads(re.findall(r"<script[^>]*>([{].*?)</script>", text, re.DOTALL)[0])
    assert data["needs"]["host_modules"] == host
    assert [each["format"] for each in data["needs"]["executables"]] == formats


@pytest.mark.parametrize("name", [each for each in MODELS if "@" not in each])
def test_the_runtime_wants_the_modules_of_the_host(name: str) -> None:
    runtime = pytest.importorskip("iree.runtime")
    path = NEEDS / f"exp_{name}.vmfb"
    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    try:
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, path.read_bytes()))
    except ValueError as problem:
        (missing,) = re.findall("required module '([a-z_]+)' not registered", str(problem))
        assert missing in MODELS[name][2]
    else:
        assert MODELS[name][2] == []


def test_a_loaded_executable_is_compared() -> None:
    vmvx, elf = (open_needs(f"exp_{name}_inline-dynamic") for name in ("vmvx", "llvm-cpu"))
    paths = [each.path for each in compat.compare(vmvx, elf).changes]
    assert any("vmvx-bytecode-fb" in path for path in paths)


def test_entry_points() -> None:
    both = ("run_dispatch_0_elementwise_4_f32", "run_dispatch_1_matvec_3x4_f32")
    for name in ("params_llvm-cpu", "params_vmvx"):
        (executable,) = open_needs(name).executables
        assert executable.entry_points == both
    for name in ("params_vulkan", "params_vulkan@3.0.0"):
        first, second = open_needs(name).executables
        assert first.entry_points + second.entry_points == both
    assert open_needs("params_vulkan@3.0.0").executables[0].features == ("Shader",)
    (old,) = open_needs("params_vmvx@3.0.0").executables
    assert {"run_dispatch_1_elementwise_4_f32", "run_dispatch_3_matvec_3x4_f32"} < set(
        old.entry_points
    )


def test_targets_have_settings() -> None:
    (target,) = open_needs("params_llvm-cpu").targets
    (compiled,) = target.executables
    assert compiled.backend == "llvm-cpu"
    assert compiled.triple == "x86_64-unknown-unknown-eabi-elf"
    assert (compiled.cpu, compiled.features) == ("generic", ())
    assert dict(compiled.config)["native_vector_size"] == "16 : i64"
    assert str(target) == "local embedded-elf-x86_64 (generic)"
    (vulkan,) = open_needs("params_vulkan").targets[0].executables
    assert (vulkan.triple, vulkan.cpu) == (None, "vp_android_baseline_2022")
    assert vulkan.features == ("spirv:v1.3", "cap:Shader")


def test_a_module_without_devices_needs_nothing() -> None:
    opened = open_needs("types_vmvx")
    assert (opened.targets, opened.executables, opened.parameters) == ((), (), ())
    assert opened.transients == ()


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.vmfb")), ids=lambda path: path.stem)
def test_every_module_reads(path: Path) -> None:
    opened = vmfb.open(path, lenient=True)
    assert all(target.formats for target in opened.targets)
    for each in opened.executables:
        assert each.format in {one for target in opened.targets for one in target.formats}
        assert each.segment is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("#hal.device.target<", []),
        ('#hal.device.target<"local"', []),
        ('#hal.device.target<"local">', []),
        ('#hal.device.target<"local", []>', [("local", ())]),
        ('#hal.device.target<"a", {k = 1}, [#hal.executable.target<"b", "c">]>', [("a", ("c",))]),
        (
            'no: [#hal.device.target<"a", [#hal.executable.target<"b", "x>]">]>,'
            ' #hal.device.target<"d", [#hal.executable.target<"e", "f">,'
            ' #hal.executable.target<"e", "g", {m = affine_map<(d0) -> (d0)>, s = "}\\""}>]>]',
            [("a", ("x>]",)), ("d", ("f", "g"))],
        ),
    ],
)
def test_texts_of_targets(text: str, found: list[tuple[str, Any]]) -> None:
    assert [(each.device, each.formats) for each in needs.parse_targets(text)] == found


@pytest.mark.parametrize("text", ['"' * 40000, '"\\' * 30000, "<[" * 30000, "," * 60000])
def test_hostile_texts_take_linear_time(text: str) -> None:
    list(needs.parse_targets(f'#hal.device.target<"a", [{text}'))
    list(needs.parse_targets(f'#hal.device.target<"a", [{text}]>'))


def test_damaged_tables_of_keys() -> None:
    data = bytearray((NEEDS / "params_vmvx.vmfb").read_bytes())
    segments = vmfb.from_buffer(bytes(data)).rodata
    table = segments[6]
    assert bytes(table.data) == bytes.fromhex("000000000c0000000c0000000a000000")
    data[table.offset + 12] = 11  # the second key past the end
    with pytest.raises(FormatError) as caught:
        _ = vmfb.from_buffer(bytes(data)).parameters
    assert (caught.value.code, caught.value.offset, caught.value.path) == (
        *("module-range", table.offset + 8),
        "rodata_segments[6]",
    )


def queries(count: int) -> bytes:
    """Return a module with queries whose keys are segments that the file lacks."""
    code = bytearray(b"\x79")
    for index in range(count):
        code += b"\x11" + struct.pack("<IH", index, 0x8001)
        code += b"\x58" + struct.pack("<I", 1 << 31)
        code += b"\0" * (len(code) % 2)
        code += struct.pack("<7H", 3, 0x8000, 0x8001, 0x8001, 2, 0, 2)
    code += b"\x5a" + b"\0" * (3 - len(code) % 2)
    sized = [
        Table({3: struct.pack("<Q", 64 * index), 4: struct.pack("<Q", 4)}) for index in range(count)
    ]
    query = Table({0: String(b"0rrr_iI")})
    fields = {
        0: String(b"m"),
        6: Vector([Table({0: String(b"hal.device.query.i64"), 1: query})]),
        8: Vector([Table({0: String(b"0v_v")})]),
        9: Vector([*sized]),
        12: Numbers(struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 4, 2), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(bytes(code)),
    }
    return module(Table(fields))


def test_any_number_of_segments_may_be_elsewhere() -> None:
    opened = vmfb.from_buffer(queries(20))
    assert len(opened.functions[0].instructions) == 42
    assert opened.targets == ()


TEXTS = (
    *(b"hal.device.id", b"local*", b"vulkan*", b"hal.executable.format", b"vmvx-bytecode-fb"),
    *(b"hal.other", b"x" * 5000, b"", b"an executable", b"main"),
    *(struct.pack("<4I", 0, 1, 1, 2), b"abc", struct.pack("<6Q", 0, 1, 2, 3, 4, 5), b"model"),
    b"metal*",
)


def query(category: int, key: int) -> tuple[Part, ...]:
    return call(0, [REF, REF | category, REF | key], [0, 2])


def everything(texts: tuple[bytes, ...] = TEXTS, more: Mapping[int, Node] = {}) -> bytes:
    """Return a module that needs something of every kind, of which the tests in C have a copy.

    `more` is what the module has besides, by the number of the field.
    """
    store = b"\x09" + struct.pack("<II", 0, 0)
    code = assemble(
        ("first",),
        (b"\x86", struct.pack("<HH", MOVE | 1, REF | 14)),
        load(0, 2),
        load(1, 3),
        (b"\x86", struct.pack("<HH", REF | 3, REF | 4)),  # assign.ref
        (b"\x86", struct.pack("<HH", MOVE | 4, REF | 5)),
        (
            *(b"\x83\0\0", "asks", [REF | 2, REF | 6, REF | 5, REF | 7], b"\2\0"),
            *("asks", [MOVE | 2, REF | 6, REF | 5, REF | 7], "needs", []),
        ),
        ("asks",),
        query(6, 7),  # what the block before has
        load(2, 3),
        query(6, 3),
        query(6, 3),
        load(14, 3),
        query(6, 3),
        load(15, 3),  # which is elsewhere
        query(6, 3),
        load(3, 8),
        load(4, 9),
        query(8, 9),
        load(5, 8),
        query(8, 9),  # another category
        query(6, 0),  # a key that is not known
        load(7, 3),
        query(6, 3),  # a key without text
        load(6, 3),
        query(6, 3),  # too long for a text
        call(4, [REF | 9], [0]),
        (b"\x56", "needs", []),
        ("needs",),
        load(8, 3),
        load(4, 9),
        call(1, [REF, REF | 9, REF | 3, REF], [REF | 10]),
        (store, struct.pack("<H", REF | 10)),
        call(1, [REF, REF | 9, REF | 3, REF], [REF | 11]),
        (store, struct.pack("<H", REF | 11)),
        (store, struct.pack("<H", REF)),
        (b"\x08", struct.pack("<IIH", 0, 0, REF | 12)),
        load(9, 13),
        call(2, [REF | 12, REF | 13], [4]),  # one of the two
        call(2, [REF | 10, REF | 13], [4]),
        load(10, 3),
        load(11, 4),
        load(12, 5),
        load(13, 6),
        call(3, [REF, 2, REF, REF, REF | 6, 4, 0, 0, REF | 3, REF | 4, REF | 5], [REF | 7]),
        call(3, [REF, 2, REF, REF, REF, 4, 0, 0, REF, REF | 4, REF | 5], [REF | 7]),
        (b"\x5a", []),
    )
    last = b"\x79\x0d\0\0\0\0\0\x58\x5a\0\0\0"  # a number like that of a call
    creates = assemble(
        ("all",), load(4, 9), call(1, [REF, REF | 9, REF | 1, REF], [REF | 10]), (b"\x5a", [])
    )
    loads = assemble(
        ("all",),
        load(13, 6),
        call(3, [REF, 2, REF, REF, REF | 6, 4, 0, 0, REF | 1, REF | 1, REF | 1], [REF | 7]),
        (b"\x5a", []),
    )
    functions = [(0, 0)]
    whole = b""
    for each in (code, last, creates, loads):
        functions.append((len(whole), len(each)))
        whole += each
    functions.append((0, 1))
    rows = [struct.pack("<iiIhhhh", *each, 0, 0, 3, 16, 16) for each in functions]
    imports = {
        b"hal.device.query.i64": b"0rrr_iI",
        b"hal.executable.create": b"0rrrr_r",
        b"hal.executable.lookup.function": b"0rr_i",
        b"io_parameters.load": b"0rIrrrIiirrr_r",
        b"hal_loader.executable.query_support": b"0r_i",
    }
    fields: dict[int, Node | bytes] = {
        0: String(b"m"),
        4: Vector([Table({0: String(b"!hal.executable")})]),
        6: Vector(
            [Table({0: String(name), 1: Table({0: String(by)})}) for name, by in imports.items()]
        ),
        8: Vector([Table({0: String(b"0v_v")}) for _ in rows]),
        9: Vector(
            [
                *(Table({2: Numbers(text)}) for text in texts),
                Table({3: struct.pack("<Q", 1 << 20), 4: struct.pack("<Q", 4)}),
            ]
        ),
        11: Table({0: struct.pack("<I", 0), 1: struct.pack("<I", 1)}),
        12: Numbers(b"".join(rows), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(whole),
    }
    return module(Table({**fields, **more}))


def test_everything_that_a_module_needs() -> None:
    data = everything()
    assert (TESTS / "c" / "corpus" / "vmfb" / "needs").read_bytes() == data
    opened = vmfb.from_buffer(data)
    devices = ["local", "vulkan", "metal", "", "x" * 5000, "hal_loader"]
    assert [each.device for each in opened.targets] == devices
    assert [each.formats for each in opened.targets if each.formats] == [("vmvx-bytecode-fb",)]
    first, second, third = opened.executables
    assert (third.segment, third.entry_points) == (None, ())
    assert (first.segment, first.entry_points) == (8, ("main",))
    assert (second.segment, second.entry_points) == (8, ())
    assert opened.parameters == (
        Parameter("load", "model", "a", 0, 2),
        Parameter("load", "model", "bc", 3, 5),
        Parameter("load", None, None, None, None),
        Parameter("load", "model", None, None, None),
    )


def test_a_query_of_an_unknown_key_is_of_no_target(tmp_path: Path) -> None:
    texts = tuple(each or b"local*" for each in TEXTS)
    export = Table({0: String(b"f"), 1: struct.pack("<i", 0)})
    (tmp_path / "m.vmfb").write_bytes(everything(texts, {7: Vector([export])}))
    ((row,),) = (batch.rows() for batch in vmfb.scan(tmp_path))
    assert row.target == "local,vulkan,metal,hal_loader vmvx-bytecode-fb"


@pytest.mark.parametrize(("size", "target"), [(0, "local"), (5, None)])
def test_a_call_that_is_cut_leaves_the_target_unknown(
    size: int, target: str | None, tmp_path: Path
) -> None:
    asks = assemble(("all",), load(0, 1), load(1, 2), query(1, 2), (b"\x5a", []))
    cut = assemble(query(1, 2))[:size]
    rows = ((0, len(asks)), (len(asks), size))
    more = {
        7: Vector([Table({0: String(b"f"), 1: struct.pack("<i", 0)})]),
        8: Vector([Table({0: String(b"0v_v")}) for _ in rows]),
        12: Numbers(b"".join(struct.pack("<iiIhhhh", *row, 0, 0, 1, 4, 4) for row in rows), 20),
        14: Numbers(asks + cut),
    }
    (tmp_path / "m.vmfb").write_bytes(everything(more=more))
    ((row,),) = (batch.rows() for batch in vmfb.scan(tmp_path))
    assert row.target == target


def test_executables_that_share_their_bytes_too_often() -> None:
    create = call(0, [REF, REF | 1, REF | 2, REF], [REF | 3])
    code = assemble(("all",), *(load(0, 1), load(1, 2), create) * 400, (b"\x5a", []))
    fields = {
        0: String(b"m"),
        6: Vector(
            [Table({0: String(b"hal.executable.create"), 1: Table({0: String(b"0rrrr_r")})})]
        ),
        8: Vector([Table({0: String(b"0v_v")})]),
        9: Vector(
            [Table({2: Numbers(text)}) for text in (b"embedded-elf-x86_64", b"\x7fELF" * 2000)]
        ),
        12: Numbers(struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 0, 4), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(code),
    }
    opened = vmfb.from_buffer(module(Table(fields)))
    assert len(opened.executables) == 400
    with pytest.raises(FormatError) as caught:
        opened.runs_on("3.13.0")
    assert caught.value.code == "work"


def test_executables_of_one_segment_share_what_it_says() -> None:
    words = [(17, 100_000 + i) for i in range(9)]
    opened = vmfb.from_buffer(modules.created(1200, spirv(*words)))
    first, *others = opened.executables
    assert (len(first.features), len(others)) == (9, 19)
    assert all(each.features is first.features for each in others)


@pytest.mark.parametrize("name", ["capabilities", "features", "inner modules"])
def test_executables_that_share_too_much(name: str) -> None:
    opened = vmfb.from_buffer(modules.MODULES[name](20_000))
    with pytest.raises(FormatError) as caught:
        _ = opened.executables
    assert caught.value.code == "work"


def test_another_version_of_bytecode() -> None:
    data = module(Table({0: String(b"m"), 13: (99 << 16).to_bytes(4, "little")}))
    opened = vmfb.from_buffer(data)
    with pytest.raises(FormatError) as caught:
        _ = opened.targets
    assert caught.value.code == "bytecode-version"


def test_transients() -> None:
    def pair(key: str, value: str) -> Table:
        return Table({0: String(key.encode()), 1: String(value.encode())})

    attrs = [
        [pair(_SIZE, "f_size"), pair(f"{_SIZE}.constant", "512")],
        [pair(_SIZE, "g_size")],
        [pair(f"{_SIZE}.constant", "9" * 5000)],
        [],
    ]
    names = ["f", "g", "h", "i"]
    signatures = [Table({0: String(b"0r_r"), 1: Vector([*each])}) for each in attrs]
    exports = [
        Table({0: String(name.encode()), 1: index.to_bytes(4, "little")})
        for index, name in enumerate(names)
    ]
    root = Table(
        {0: String(b"m"), 7: Vector([*exports]), 8: Vector([*signatures]), 14: Numbers(b"")}
    )
    assert [str(each) for each in vmfb.from_buffer(module(root)).transients] == [
        "f 512 bytes",
        "g bytes as g_size returns",
        "h bytes as None returns",
    ]


@pytest.mark.parametrize(("shown", "end"), [(2, "layer.bias"), (1, "weight and 1 more")])
def test_the_rest_of_the_parameters_is_counted(
    shown: int, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fnabi.cli.verbs.inspect._needs._SHOWN", shown)
    assert main(["inspect", str(NEEDS / "params_vulkan.vmfb")]) == 0
    (line,) = re.findall("^parameters 2, .*", capsys.readouterr().out, re.M)
    assert line.endswith(end)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(NEEDS / "params_vulkan.vmfb")
    assert main(["inspect", "--needs", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "target vulkan vulkan-spirv-fb (vp_android_baseline_2022)" in lines
    assert "parameters 2, 60 bytes: model::layer.weight, model::layer.bias" in lines
    assert "parameters 1, 16 bytes: scale" in lines
    assert "      entry     run_dispatch_1_matvec_3x4_f32" in lines
    assert lines[-1] == "  scale 16 bytes, load"
    assert main(["inspect", "--json", path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["targets"][0]["executables"][0]["features"] == ["spirv:v1.3", "cap:Shader"]
    assert [each["key"] for each in found["parameters"]] == ["layer.weight", "layer.bias", "scale"]
    assert found["parameter_sizes"] == [
        {"scope": "model", "size": 60},
        {"scope": "", "size": 16},
    ]
    assert found["weights"] == {"size": 0, "segments": []}
    assert found["executables"][1]["isa"] == "spir-v"
    assert (found["transients"], found["needs_problem"]) == ([], None)


def test_functions_of_the_same_code_are_limited() -> None:
    """Where a value is from is searched in each of them, and its file has the code once."""
    jump = (b"\x56", "second", [])
    create = call(0, [REF, REF | 1, REF | 2, REF], [REF | 3])
    code = assemble(
        *(("first",), load(0, 1), jump, ("second",), *(load(1, 2),) * 8000, create, (b"\x5a", [])),
    )
    count = 8000
    fields = {
        0: String(b"m"),
        6: Vector(
            [Table({0: String(b"hal.executable.create"), 1: Table({0: String(b"0rrrr_r")})})]
        ),
        8: Vector([Table({0: String(b"0v_v")})] * count),
        9: Vector([Table({2: Numbers(text)}) for text in (b"embedded-elf-x86_64", b"\x7fELF")]),
        12: Numbers(struct.pack("<iiIhhhh", 0, len(code), 0, 0, 2, 0, 4) * count, 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(code),
    }
    opened = vmfb.from_buffer(module(Table(fields)))
    with pytest.raises(FormatError) as caught:
        _ = opened.executables
    assert caught.value.code == "work"


def spirv(*instructions: tuple[int, ...]) -> bytes:
    """Return a module of SPIR-V: a header of five words, and instructions of opcode and words."""
    words = [0x07230203, 0x10300, 0, 100, 0]
    for opcode, *operands in instructions:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return struct.pack(f"<{len(words)}I", *words)


SHADER, NAME = (17, 1), tuple(struct.unpack("<2I", b"main\0\0\0\0"))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (spirv(SHADER, (15, 5, 4, *NAME)), (("Shader",), ("main",))),
        (spirv((15, 5, 4), SHADER), (("Shader",), ())),  # without a name
        (spirv((54, 1, 2, 0, 3), SHADER), ((), ())),  # in a function
        (spirv(SHADER) + bytes(64) + spirv((17, 9)), (("Shader", "Float16"), ())),
        (spirv(SHADER) + bytes(4) + spirv(SHADER)[20:], (("Shader",), ())),  # no words
        (spirv(SHADER, (17, 9))[:-1], (("Shader",), ())),
    ],
    ids=["entry", "nameless", "function", "two", "empty", "cut"],
)
def test_capabilities_and_entry_points_of_spirv(
    code: bytes, found: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    assert _spirv(memoryview(code), {}) == found
