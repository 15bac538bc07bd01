"""`Module.runs_on`: the installed runtime is asked, too."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from random import Random
from typing import Any

import pytest

import fnabi
from fnabi import vmfb
from fnabi.cli import main
from fnabi.vmfb._verdict import parse_releases
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.installed_runtime import installed, loaded, loading, runtime
from support.paths import DATA, ROOT

MODULES = sorted(
    [
        *(DATA / "bytecode_types").glob("*.vmfb"),
        *(DATA / "needs").glob("*.vmfb"),
        *(DATA / "vmfb").glob("*.vmfb"),
    ]
)
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert old in data
    return data.replace(old, new)


def test_the_installed_runtime_gives_the_same_answers() -> None:
    release = installed()
    seen = set()
    for file in MODULES:
        try:
            module = vmfb.open(file, lenient=True)
        except fnabi.FormatError:
            continue  # of an old schema
        verdict = module.runs_on(release, driver="local-sync")
        if verdict.hosts:
            continue
        answer = loaded(file.read_bytes())
        assert verdict.loads is (answer == ""), (file.name, answer, str(verdict))
        seen.add(verdict.loads)
    assert seen == {True, False}


ELF = (DATA / "needs" / "mm_llvm-cpu.vmfb").read_bytes()
HAL = (DATA / "needs" / "mm_vmvx.vmfb").read_bytes()


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (changed(ELF, b"\x7fELF", b"\0\0\0\0"), "executable", "is damaged"),
        (
            changed(
                ELF,
                b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0",
                b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\xb7\0",
            ),
            "executable",
            "is damaged, or for another machine",
        ),
        (changed(ELF, b"embedded-elf-x86_64", b"nothing-elf-of-any1"), "format", "no driver"),
        (
            changed(HAL, b"hal.buffer_view.assert", b"hal.buffer_view.asserT"),
            "import",
            "no measured release has it",
        ),
        (changed(HAL, b"!hal.buffer_view", b"!hal.buffer_vieW"), "type", "no measured release"),
    ],
    ids=["magic", "aarch64", "format", "import", "type"],
)
def test_what_no_release_loads(data: bytes, kind: str, text: str) -> None:
    module = vmfb.from_buffer(data)
    for release in vmfb.releases():
        verdict = module.runs_on(release, driver="local-sync")
        assert verdict.loads is False
        if release == vmfb.releases()[-1]:
            assert kind in {cause.kind for cause in verdict.causes}
            assert text in " ".join(map(str, verdict.causes))
    assert module.executables  # it is a module for fnabi
    assert loaded(data) != ""


# Of an ELF file: where the header has the program headers, and the fields of one of these.
PROGRAMS, LOAD, DYNAMIC, READ_ONLY = 32, 1, 2, 0x6474E552
ADDRESS, IN_FILE, IN_MEMORY = 16, 32, 40


def elf_field(data: bytearray, kind: int, field: int) -> int:
    """Return the offset of a field of the first program header of a kind."""
    start = data.index(b"\x7fELF")
    (programs,) = struct.unpack_from("<Q", data, start + PROGRAMS)
    (count,) = struct.unpack_from("<H", data, start + 56)
    headers = (start + programs + 56 * i for i in range(count))
    return next(at for at in headers if struct.unpack_from("<I", data, at)[0] == kind) + field


def elf_tag(data: bytearray, tag: int) -> int:
    """Return the offset of the value of a tag in the dynamic table."""
    start = data.index(b"\x7fELF")
    at, *_, size = struct.unpack_from("<QQQQ", data, elf_field(data, DYNAMIC, 8))
    entries = range(start + at, start + at + size, 16)
    return next(each for each in entries if struct.unpack_from("<Q", data, each)[0] == tag) + 8


def relocation(data: bytearray) -> int:
    """Return the offset of the first relocation, whose segment is at its address in the file."""
    return data.index(b"\x7fELF") + int(struct.unpack_from("<Q", data, elf_tag(data, 7))[0])


ELF_DAMAGE = {
    "type": lambda data: (data.index(b"\x7fELF") + 16, "<H", 2),
    "version": lambda data: (data.index(b"\x7fELF") + 20, "<I", 2),
    "section size": lambda data: (data.index(b"\x7fELF") + 58, "<H", 63),
    "no sections": lambda data: (data.index(b"\x7fELF") + 60, "<H", 0),
    "segment outside the file": lambda data: (elf_field(data, LOAD, IN_FILE), "<Q", 1 << 30),
    "address of the table": lambda data: (elf_field(data, DYNAMIC, ADDRESS), "<Q", 1 << 30),
    "size of the table": lambda data: (elf_field(data, DYNAMIC, IN_FILE), "<Q", 1 << 20),
    "size of relocations": lambda data: (elf_tag(data, 9), "<Q", 25),
    "relocations without a size": lambda data: (elf_tag(data, 9), "<Q", 0),
    "symbols without a size": lambda data: (elf_tag(data, 11), "<Q", 0),
    "relocations at address 0": lambda data: (elf_tag(data, 7), "<Q", 0),
    "no count of symbols": lambda data: (elf_tag(data, 4) - 8, "<Q", 0x70),
    "no names": lambda data: (elf_tag(data, 10), "<Q", 0),
    "symbol of a relocation": lambda data: (relocation(data) + 12, "<I", 99),
    "type of a relocation": lambda data: (relocation(data) + 8, "<I", 77),
    "address of a relocation": lambda data: (relocation(data), "<Q", 1 << 30),
}


@pytest.mark.parametrize(
    ("kind", "field"), [(READ_ONLY, ADDRESS), (LOAD, IN_MEMORY)], ids=["read-only", "memory"]
)
def test_an_unusual_elf_executable_is_unknown(kind: int, field: int) -> None:
    data = bytearray(ELF)
    struct.pack_into("<Q", data, elf_field(data, kind, field), 1 << 36)
    assert vmfb.from_buffer(data).runs_on(vmfb.releases()[-1]).loads is None


def test_no_release_asks_for_version_0_of_a_library() -> None:
    data = bytearray(ELF)
    at = data.index(b"\x83\xff", data.index(b"\x7fELF")) + 2  # cmp edi, VERSION
    assert data[at] == 6
    data[at] = 0
    verdict = vmfb.from_buffer(bytes(data)).runs_on(vmfb.releases()[-1])
    assert (verdict.loads, [cause.kind for cause in verdict.causes]) == (False, ["library"])
    runtime()
    assert loaded(bytes(data)) != ""


@pytest.mark.parametrize("type", [0, 1, 6])
def test_an_unusual_relocation_is_unknown(type: int) -> None:
    """Of twelve that are left out, one ends the process that loads the file, and three its load."""
    data = bytearray(ELF)
    at = relocation(data) + 8
    assert struct.unpack_from("<I", data, at)[0] == 8  # RELATIVE
    assert vmfb.from_buffer(bytes(data)).runs_on(vmfb.releases()[-1]).loads
    struct.pack_into("<I", data, at, type)
    verdict = vmfb.from_buffer(bytes(data)).runs_on(vmfb.releases()[-1])
    assert (verdict.loads, [cause.kind for cause in verdict.causes]) == (None, ["library"])


@pytest.mark.parametrize("case", ELF_DAMAGE)
def test_elf_executables_that_no_release_loads(case: str, tmp_path: Path) -> None:
    """Some of them end the process that loads them."""
    data = bytearray(ELF)
    offset, form, value = ELF_DAMAGE[case](data)
    struct.pack_into(form, data, offset, value)
    verdict = vmfb.from_buffer(data).runs_on(vmfb.releases()[-1])
    assert [cause.kind for cause in verdict.causes] == ["executable"]
    runtime()
    file = tmp_path / "damaged.vmfb"
    file.write_bytes(data)
    code = "import sys; from support.installed_runtime import loaded\n"
    code += "print(loaded(open(sys.argv[1], 'rb').read()) or 'loads')"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
    )
    assert ran.returncode < 0 or ran.stdout.strip() != "loads"
    assert ran.returncode < 0 or ran.stdout, ran.stderr


def test_relocations_of_other_machines_are_not_judged() -> None:
    data = bytearray(ELF.replace(b"embedded-elf-x86_64", b"embedded-elf-arm_64"))
    struct.pack_into("<H", data, data.index(b"\x7fELF") + 18, 183)
    struct.pack_into("<I", data, relocation(data) + 8, 1027)
    assert vmfb.from_buffer(data).runs_on("3.13.0", machine="aarch64").loads is None


@pytest.mark.parametrize("name", [b"hal.device.id", b"hal.executable.format", b"local*"])
def test_an_unusual_query_of_a_device_is_unknown(name: bytes) -> None:
    """Of its answer, which executable is loaded depends."""
    data = changed(HAL, name, name[:-1] + b"X")
    (cause,) = vmfb.from_buffer(data).runs_on(vmfb.releases()[-1]).causes
    assert str(cause) == "the format of its executables is not in its code"
    assert loaded(data) != ""


def test_hosts_are_named_up_to_a_limit() -> None:
    names = [b"", b".f", b"odd\0.f", b"odd\0.g", *(b"host%d.f" % each for each in range(70))]
    data = module(Table({0: String(b"m"), 6: Vector([Table({0: String(each)}) for each in names])}))
    verdict = vmfb.from_buffer(data).runs_on(vmfb.releases()[-1])
    assert verdict.hosts == ("odd\0", *(f"host{number}" for number in range(63)))


@pytest.mark.parametrize("offset", [0, 8, 1 << 20])
@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_a_segment_outside_the_file(offset: int, size: int) -> None:
    """The runtime refuses one without bytes, too."""
    segment = Table({3: struct.pack("<Q", offset), 4: struct.pack("<Q", size)})
    data = module(Table({0: String(b"m"), 9: Vector([segment]), 13: struct.pack("<I", 17 << 16)}))
    for more in 0, 80:
        opened = vmfb.from_buffer(data + b"\0" * more)
        inside = bool(more) and offset + size < 64
        assert [each.code for each in opened.check()] == ["module-range"] * (not inside)
        assert opened.runs_on(installed()).loads is inside
        assert (loaded(data + b"\0" * more) == "") is inside


def test_code_that_no_release_runs() -> None:
    data = (DATA / "vmfb" / "scalars.vmfb").read_bytes()
    code = b"\x79\x5a\x01\0\0\0"  # a function that returns its argument
    other = code[:-1] + b"\x10"  # or a register that it lacks
    module = vmfb.from_buffer(data.replace(code, other, 1))
    (cause,) = module.runs_on(vmfb.releases()[-1]).causes
    assert str(cause).startswith("no release accepts it: register out of range: %i4096")


@pytest.mark.parametrize("flags", [b"\1", b"\2"])
def test_an_import_without_a_module(flags: bytes) -> None:
    """The runtime refuses one that is optional, too."""
    found = Table({0: String(b"hal_none"), 2: flags + bytes(3)})
    root = Table({0: String(b"m"), 6: Vector([found]), 13: struct.pack("<I", 17 << 16)})
    opened = vmfb.from_buffer(module(root))
    verdict = opened.runs_on(vmfb.releases()[-1])
    fault = "no release accepts it: import without the name of a module"
    assert (verdict.loads, verdict.hosts) == (False, ())
    assert [*map(str, verdict.causes)] == [fault]
    (finding,) = opened.check()
    assert (finding.code, finding.path, finding.severity) == (
        "module-import",
        "imported_functions[0].full_name",
        "error",
    )


def root_with(field: int, entry: Table) -> bytes:
    return module(Table({0: String(b"m"), field: Vector([entry]), 13: struct.pack("<I", 17 << 16)}))


@pytest.mark.parametrize("flags", range(4))
def test_flags_as_the_runtime_reads_them(flags: int) -> None:
    """One that is not optional is required, and versions of required ones are compared."""
    release = installed()
    for name in (".f", ".", "hal.none", "hal.a\0b", "a.f", "a\0b.f", "\0.f", "hal.fence.create"):
        entry = Table({0: String(name.encode()), 2: struct.pack("<I", flags)})
        data = root_with(6, entry)
        verdict = vmfb.from_buffer(data).runs_on(release, driver="local-sync")
        assert (loaded(data) == "") == (verdict.loads and not verdict.hosts), name
        module = name.partition(".")[0]
        if verdict.loads and module != "hal":
            assert verdict.hosts == (() if flags & 2 else (module,))
    for name in ("hal", "a", "hal\0", "a\0b", "."):
        for version in (0, 1 << 20):
            numbers = struct.pack("<I", version), struct.pack("<I", flags)
            data = root_with(5, Table({0: String(name.encode()), 1: numbers[0], 2: numbers[1]}))
            verdict = vmfb.from_buffer(data).runs_on(release, driver="local-sync")
            assert (loaded(data) == "") == (verdict.loads and not verdict.hosts), (name, version)


DESCRIPTORS = [
    *(("bytecode_offset", each) for each in (0, 1, 4, -1)),
    *(("bytecode_length", each) for each in (4, 3, 5, 0, -1)),
    *(("block_count", each) for each in (1, 0, 2, 32767)),
    *(("i32_register_count", each) for each in (0, 1, -1, 32767)),
    *(("ref_register_count", each) for each in (0, 1, -1, 32767)),
]


@pytest.mark.parametrize(("field", "number"), DESCRIPTORS)
def test_descriptors_of_functions(field: str, number: int) -> None:
    values = {"bytecode_offset": 0, "bytecode_length": 4, "requirements": 0, "reserved": 0}
    values |= {"block_count": 1, "i32_register_count": 0, "ref_register_count": 0, field: number}
    fields: dict[int, Any] = {
        0: String(b"m"),
        8: Vector([Table({0: String(b"0v_v")})]),
        12: Numbers(struct.pack("<iiIhhhh", *values.values()), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(b"\x79\x5a\0\0"),
    }
    data = module(Table(fields))
    verdict = vmfb.from_buffer(data).runs_on(installed())
    with loading() as load:
        assert (load(data) == "loads") is verdict.loads


MODULE_NAMES = b"m", b"m", b"hal", b"x.y", b""
TYPES = (
    *(b"i32", b"f32", b"!vm.buffer", b"!vm.list<i32>", b"!vm.list<", b"!vm.ref<?>", b"?", b"!"),
    *(b"!hal.buffer", b"!hal.none", b"hal.fence", b"!hal.fence ", b"!!hal.fence", b"!custom.type"),
)
IMPORTS = (
    *((b"hal.fence.create", each) for each in (b"0ri_r", b"0rii_r", b"", None)),
    *((b"hal.buffer.length", each) for each in (b"0r_I", b"0r_i", b"0r_I ", b"1r_I")),
    *((b"hal_inline.buffer.wrap", b"0rII_r"), (b"io_parameters.load", b"0v_v")),
    *((b"custom.f", b"0i_v"), (b"HAL.fence.create", b"0ri_r"), (b"vm.x", b""), (b"m.f", b"0v_v")),
)
DEPENDENCIES = b"hal", b"hal", b"vm", b"hal_inline", b"io_parameters", b"vmvx", b"custom", b"m"


def random_root(random: Random) -> Table:
    """Tables of types, dependencies and imports, each of which a runtime may refuse."""

    def number(*choices: int) -> bytes:
        return struct.pack("<I", random.choice(choices))

    def some(entry: Callable[[], Table]) -> Vector:
        return Vector([entry() for _ in range(random.randrange(3))])

    def imported() -> Table:
        name, convention = random.choice(IMPORTS)
        fields: dict[int, Any] = {0: String(name), 2: number(0, 1, 1, 2, 3, 6)}
        if convention is not None:
            fields[1] = Table({0: String(convention)})
        return Table(fields)

    def dependency() -> Table:
        version, flags = number(0, 1, 6, 7, 8, 1 << 31), number(0, 1, 1, 2, 3, 7)
        return Table({0: String(random.choice(DEPENDENCIES)), 1: version, 2: flags})

    return Table(
        {
            0: String(random.choice(MODULE_NAMES)),
            4: some(lambda: Table({0: String(random.choice(TYPES))})),
            5: some(dependency) if random.random() < 0.5 else Vector([]),
            6: some(imported),
            13: number(*[17 << 16] * 9, 17 << 16 | 1, 16 << 16, 18 << 16),
        }
    )


def test_random_tables_load_as_the_verdict_says() -> None:
    release, random, loads = installed(), Random(1), 0
    for _ in range(600):
        data = module(random_root(random))
        try:
            verdict = vmfb.from_buffer(data).runs_on(release, driver="local-sync")
        except fnabi.FormatError:
            assert loaded(data) != ""
            continue
        said = loaded(data)
        assert (said == "") == (verdict.loads is True and not verdict.hosts), (said, verdict)
        loads += said == ""
    assert 60 < loads < 540


def test_causes_in_words() -> None:
    module = vmfb.open(CLASSIFIER)
    assert str(module.runs_on("3.13.0")) == "IREE 3.13.0: loads"
    assert str(module.runs_on("3.11")) == (
        "IREE 3.11.0: does not load: needs hal 7; 3.11.0 has 6; the first release with it is 3.12.0"
    )
    cause = module.runs_on("3.11.0").causes[0]
    assert (cause.kind, cause.subject, cause.wanted, cause.has) == ("module", "hal", "7", "6")
    assert (cause.since, cause.until, cause.is_known) == ("3.12.0", None, True)
    old = vmfb.open(DATA / "needs" / "exp_llvm-cpu_inline-dynamic@3.6.0.vmfb")
    assert (
        str(old.runs_on("3.7.0"))
        == "IREE 3.7.0: loads if the host registers hal_loader, hal_inline"
    )
    assert "needs version 5 of the interface of ELF executables; 3.8.0 has 6" in str(
        old.runs_on("3.8.0")
    )


def test_what_was_not_measured_is_unknown() -> None:
    module = vmfb.open(CLASSIFIER)
    assert str(module.runs_on("3.99.0")) == "IREE 3.99.0: unknown: 3.99.0 was not measured"
    assert module.runs_on("3.13.0", machine="aarch64").loads is None
    assert module.runs_on("3.11.0", machine="aarch64").loads is False
    vulkan = vmfb.open(DATA / "needs" / "mm_vulkan.vmfb")
    assert vulkan.runs_on("3.13.0").loads is None
    assert vulkan.runs_on("3.13.0", driver="vulkan").loads is None
    assert vulkan.runs_on("3.13.0", driver="local-task").loads is False
    elf = vmfb.from_buffer(ELF)
    assert elf.runs_on("3.13.0", driver="local-task").loads is True
    assert elf.runs_on("3.13.0", machine="aarch64").loads is False
    assert elf.runs_on("3.13.0", machine="x86_64").loads is True


def verify(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[object, str]:
    try:
        status: object = main(["verify", *map(str, words)])
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_verify_tells_by_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(capsys, "--runtime=3.12.0..3.13.0", CLASSIFIER)[0] == 0
    status, text = verify(capsys, "--runtime=3.11.0,3.13.0", CLASSIFIER)
    assert (status, text.count("\n")) == (1, 2)
    assert "3.11.0: does not load: needs hal 7; 3.11.0 has 6; the first release" in text
    assert verify(capsys, "--runtime=3.99.0,3.13.0", CLASSIFIER)[0] == 4
    assert verify(capsys, "--runtime=3.99.0,3.11.0", CLASSIFIER)[0] == 1
    assert verify(capsys, "--runtime=3.13.0", ROOT / "README.md", CLASSIFIER)[0] == 3
    assert verify(capsys, "--runtime=3.13.0", "--arch=aarch64", CLASSIFIER)[0] == 4
    assert verify(capsys, "--runtime=newest", CLASSIFIER)[0] == 2
    assert verify(capsys, "--runtime=3.13.0..3.9.0", CLASSIFIER)[0] == 2


def test_verify_names_the_installed_release(capsys: pytest.CaptureFixture[str]) -> None:
    release = installed()
    status, text = verify(capsys, "--runtime=installed", "--json", CLASSIFIER)
    assert status == 0
    (found,) = json.loads(text)["runtime"]
    assert (found["release"], found["loads"]) == (release, True)


@pytest.mark.parametrize("name", ["driver", "arch"])
def test_where_is_only_asked_with_a_release(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", f"--{name}=x", str(CLASSIFIER)])
    assert ended.value.code == 2
    assert f"--{name} is only allowed with --runtime" in capsys.readouterr().err


def test_inspect_names_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(CLASSIFIER)]) == 0
    assert "\nloads in IREE 3.12.0 and 3.13.0\n" in capsys.readouterr().out
    assert main(["inspect", "--json", str(CLASSIFIER)]) == 0
    found = json.loads(capsys.readouterr().out)["runtime"]
    assert found["loads"] == ["3.12.0", "3.13.0"]
    assert sorted(found["loads"] + found["refuses"] + found["unknown"]) == sorted(vmfb.releases())


@pytest.mark.parametrize("missing", [1, 64, 4096, "all"])
def test_a_file_that_lacks_read_only_data(missing: int | str) -> None:
    data = (DATA / "vmfb" / "weights_64k.vmfb").read_bytes()
    assert loaded(data) == ""
    with vmfb.from_buffer(data) as module:
        assert any(segment.external for segment in module.rodata)
        end = max(each.offset + each.size for each in module.rodata if each.external)
        assert module.runs_on(installed()).loads
        metadata_end = module.layout.flatbuffer_offset + module.layout.flatbuffer_size
    cut = data[:metadata_end] if isinstance(missing, str) else data[: end - missing]
    assert "out of range" in loaded(cut).lower()
    with vmfb.from_buffer(cut) as module:
        verdict = module.runs_on(installed())
    assert verdict.loads is False
    assert verdict.causes[0].kind == "fault"


def test_ranges_of_releases() -> None:
    assert parse_releases("f", "3.9.0..3.9.0") == ["3.9.0"]
    assert parse_releases("f", "3.9.0,3.11.0..3.13.0") == ["3.9.0", "3.11.0", "3.12.0", "3.13.0"]


def test_no_runtime_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(fnabi.CallError, match=r"^f: no runtime of IREE is installed"):
        parse_releases("f", "installed")
