"""Names, kinds and extraction of read-only data."""

from __future__ import annotations

import json
import os
import struct
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import pytest

from fnabi import CallError, FormatError, NotFoundError, extract, rodata, vmfb
from fnabi.cli import main
from support.flatbuffer import String, Table, Vector, module
from support.paths import DATA, ROOT

NEEDS = DATA / "needs"
MODULES = DATA / "vmfb"


def archive(*names: bytes, data: bytes = b"12345678" * 8) -> bytes:
    """A module with a segment of external data for each name, as compilers lay it out."""
    u64 = struct.Struct("<Q").pack

    def local(name: bytes, content: bytes, extra: bytes) -> bytes:
        head = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 0, 0, 2**32 - 1, 2**32 - 1, *sizes)
        return head + name + extra + content

    count = len(names)
    tables = [Table({3: u64(1024 * index + 512), 4: u64(len(data))}) for index in range(count)]
    body = module(Table({0: String(b"m"), 9: Vector([*tables])}))
    out = bytearray()
    entries = bytearray()
    for index, (name, content) in enumerate([(b"module.fb", body), *((n, data) for n in names)]):
        if index:
            base = -(-(30 + 9 + 20 + len(body)) // 64) * 64
            want = base + 1024 * (index - 1) + 512
            padding = want - len(out) - 30 - len(name) - 20
            assert padding >= 0
            out += b"\0" * padding
        start = len(out)
        extra = struct.pack("<2H2Q", 1, 16, len(content), len(content))
        sizes = len(name), len(extra)
        out += local(name, content, extra)
        wide = struct.pack("<2H3Q", 1, 24, len(content), len(content), start)
        entries += struct.pack(
            "<4s6H3I5H2I",
            *(b"PK\1\2", 45, 45, 0, 0, 0, 0, crc32(content), 2**32 - 1, 2**32 - 1),
            *(len(name), len(wide), 0, 0, 0, 0, 2**32 - 1),
        )
        entries += name + wide
    ends = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count + 1, count + 1, len(entries), len(out), 0)
    return bytes(out + entries) + ends


def test_segments_of_compiled_modules() -> None:
    found = {}
    for target in ("llvm-cpu", "vmvx", "vulkan"):
        opened = vmfb.open(NEEDS / f"params_{target}.vmfb")
        found[target] = [(s.name, str(s.content)) for s in opened.rodata if s.name is not None]
        assert opened.rodata[0].content == rodata.Content("string table", None, None)
        assert bytes(opened.rodata[0].data) == b"model"
        assert [s.index for s in opened.rodata] == list(range(len(opened.rodata)))
    assert found == {
        "llvm-cpu": [("params_linked_embedded_elf_x86_64.so", "elf x86_64")],
        "vmvx": [("params_linked_vmvx_vmvx_bytecode_fb.fb", "flatbuffer IREE")],
        "vulkan": [
            ("run_dispatch_0_vulkan_spirv_fb.fb", "flatbuffer VKE1"),
            ("run_dispatch_1_vulkan_spirv_fb.fb", "flatbuffer VKE1"),
        ],
    }


def test_every_module_has_kinds() -> None:
    kinds = set()
    for path in MODULES.glob("*.vmfb"):
        for segment in vmfb.open(path, lenient=True).rodata:
            kinds.add(segment.kind)
    assert kinds <= {"elf", "flatbuffer", "raw", "splat", "string table"}
    assert kinds > {"elf", "string table"}


@pytest.mark.parametrize("cut", [1, 10, 22, 23, 60])
def test_a_cut_zip_directory_costs_the_names_alone(cut: int) -> None:
    data = (NEEDS / "params_vulkan.vmfb").read_bytes()[:-cut]
    opened = vmfb.from_buffer(data)
    assert {segment.name for segment in opened.rodata} == {None}
    (finding,) = opened.check()
    assert (finding.code, finding.severity) == ("module-zip", "error")
    assert finding.path == "zip_directory"


def changed(data: bytearray) -> list[vmfb.Finding]:
    """Return what is found of changed bytes."""
    return [each for each in vmfb.from_buffer(data).check() if each.code == "module-checksum"]


def test_a_changed_byte_differs_from_its_checksum() -> None:
    """Wherever it is in a file of the directory; the compiler's own checksums are the reference."""
    compared = 0
    for path in (*NEEDS.glob("*.vmfb"), *MODULES.glob("*.vmfb")):
        data = bytearray(path.read_bytes())
        try:
            files = vmfb.from_buffer(data)._files()
        except FormatError:  # of an old schema
            continue
        assert not changed(data), path
        for index, file in enumerate(files):
            for at in (file.offset + file.size - 1, file.offset + file.size // 2):
                data[at] ^= 0x10
                try:
                    (found,) = changed(data)
                except FormatError:  # the structure is damaged
                    continue
                finally:
                    data[at] ^= 0x10
                assert (found.offset, found.path) == (file.offset, f"zip_directory[{index}]")
                assert found.severity == "error"
                compared += 1
    assert compared > 50


@pytest.mark.slow
def test_each_byte_of_a_module() -> None:
    """Of what `Module.check` passes, all is in headers of the ZIP archive and between its files."""
    data = bytearray((ROOT / "examples/classifier.vmfb").read_bytes())
    files = vmfb.from_buffer(data)._files()
    inside = {at for file in files for at in range(file.offset, file.offset + file.size)}
    assert len(inside) > 8000
    for at in inside:
        data[at] ^= 1
        with suppress(FormatError):
            assert any(each.severity == "error" for each in vmfb.from_buffer(data).check()), at
        data[at] ^= 1


def test_a_remote_module_is_compared_up_to_the_end_of_its_flatbuffer() -> None:
    fsspec = pytest.importorskip("fsspec")
    data = bytearray(archive(b"a.so", data=bytes(1 << 20)))
    module, inside = vmfb.from_buffer(data)._files()
    for file, at in ((module, data.index(b"m\0", module.offset)), (inside, len(data) // 2)):
        data[at] ^= 1
        with fsspec.open("memory://checksum/m.vmfb", "wb") as out:
            out.write(data)
        data[at] ^= 1
        opened = vmfb.open("memory://checksum/m.vmfb")
        assert ("module-checksum" in {each.code for each in opened.check()}) is (file is module)


def test_files_that_overlap_are_not_compared() -> None:
    """They would be read as often as they are listed, if that is more than the module has."""
    data = archive(*[b"a.so"] * 3)
    directory = data.index(b"PK\1\2")
    entry = data[directory : data.index(b"PK\1\2", directory + 1)]
    start = data[:directory].replace(b"m\0", b"n\0")
    for count, found in (9, 1), (99, 0):
        ends = struct.pack(
            "<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(entry) * count, directory, 0
        )
        listed = bytearray(start + entry * count + ends)
        assert len(vmfb.from_buffer(listed)._files()) == count
        assert len(changed(listed)) == found


def test_a_damaged_zip_directory_never_fails_a_module() -> None:
    data = bytearray(archive(b"a.so", b"b.so"))
    start = data.index(b"PK\1\2")
    assert [segment.name for segment in vmfb.from_buffer(data).rodata] == ["a.so", "b.so"]
    for at in range(start, len(data)):
        for value in (0, 0x7F, 0xFF, data[at] ^ 1):
            kept, data[at] = data[at], value
            opened = vmfb.from_buffer(data)
            for segment in opened.rodata:
                assert segment.name is None or isinstance(segment.name, str)
            assert {finding.code for finding in opened.check()} <= {"module-zip", "module-checksum"}
            data[at] = kept


@pytest.mark.parametrize(
    ("name", "file"),
    [
        (b"../../etc/passwd", "_.._.._etc_passwd"),
        (b"/etc/passwd", "_etc_passwd"),
        (b"..", "__"),
        (b"x..", "x__"),
        (b"", "rodata_0"),
        (b".bashrc", "_.bashrc"),
        (b"a\\b:c\0d\n", "a_b_c_d_"),
        (b"CON.txt", "_CON.txt"),
        (b"caf\xc3\xa9\xff", "caf__"),
        (b"x" * 300 + b".so", "x" * 147 + ".so"),
    ],
)
def test_hostile_names_stay_in_the_directory(tmp_path: Path, name: bytes, file: str) -> None:
    opened = vmfb.from_buffer(archive(name))
    folder = tmp_path / "out"
    (path,) = extract.extract(opened.rodata, folder)
    assert path == folder / file
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out"]
    assert path.read_bytes() == opened.rodata[0].data


def test_equal_names_get_their_own_files(tmp_path: Path) -> None:
    opened = vmfb.from_buffer(archive(b"a.so", b"A.so", b"a.so"))
    assert extract.file_names(opened.rodata) == ["a.so", "rodata_1_A.so", "rodata_2_a.so"]
    assert len(extract.extract(opened.rodata, tmp_path)) == 3


def test_names_that_other_segments_would_get(tmp_path: Path) -> None:
    opened = vmfb.from_buffer(archive(b"x", b"rodata_2_x", b"x"))
    paths = extract.extract(opened.rodata, tmp_path)
    assert [each.name for each in paths] == ["x", "rodata_2_x", "rodata_2_rodata_2_x"]
    assert len(set(paths)) == len(list(tmp_path.iterdir())) == 3


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    opened = vmfb.open(NEEDS / "params_vulkan.vmfb")
    name = "run_dispatch_1_vulkan_spirv_fb.fb"
    outside = tmp_path / "outside"
    folder = tmp_path / "out"
    folder.mkdir()
    os.symlink(outside, folder / name)  # which leads nowhere yet
    with pytest.raises(FileExistsError):
        extract.extract(opened.rodata, folder)
    assert not outside.exists()
    assert [each.name for each in folder.iterdir()] == [name]  # nothing was written before
    with pytest.raises(FileExistsError):
        opened.rodata[0].extract(folder / name)
    with pytest.raises(CallError, match=r"^RodataSegment\.extract: path: expected str or os\.P"):
        opened.rodata[0].extract(5)  # type: ignore[arg-type]
    assert not outside.exists()


def test_extract_one(tmp_path: Path) -> None:
    segments = vmfb.open(NEEDS / "params_vulkan.vmfb").rodata
    name = "run_dispatch_0_vulkan_spirv_fb.fb"
    for place, select in enumerate((name, 5, "5")):
        (path,) = extract.extract(segments, tmp_path / str(place), select)
        assert path.name == name
        assert path.read_bytes() == segments[5].data
    with pytest.raises(NotFoundError, match="no segment is named 'x'"):
        extract.extract(segments, tmp_path / "none", "x")
    assert not (tmp_path / "none").exists()


def test_a_segment_outside_the_file_is_not_extracted(tmp_path: Path) -> None:
    data = (NEEDS / "params_vulkan.vmfb").read_bytes()[:8000]
    segments = vmfb.from_buffer(data).rodata
    with pytest.raises(FormatError, match="range outside its data"):
        extract.extract(segments, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(NEEDS / "params_llvm-cpu.vmfb")
    name = "params_linked_embedded_elf_x86_64.so"
    assert main(["inspect", "--rodata", path]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-16:]]
    assert rows[5][:4] == ["5", "elf", "x86_64", "external"]
    assert rows[5][4:] == ["4272", "bytes", "at", "byte", "6944", name]
    assert rows[6] == ["6", "raw", "embedded", "16", "bytes", "at", "byte", "3696"]
    assert main(["inspect", "--extract", name, str(tmp_path), path]) == 0
    assert capsys.readouterr().out == f"{tmp_path / name}\n"
    assert (tmp_path / name).read_bytes()[:4] == b"\x7fELF"
    assert main(["inspect", "--extract", "all", str(tmp_path), path]) == 1
    assert capsys.readouterr().err == f"fnabi: {tmp_path / name}: File exists\n"
    assert main(["inspect", "--extract", "x", str(tmp_path), path]) == 1
    assert capsys.readouterr().err == f"fnabi: {path}: no segment is named x\n"
    assert main(["inspect", "--extract", "", str(tmp_path), path]) == 1
    assert capsys.readouterr().err == f"fnabi: {path}: no segment is named ''\n"
    assert main(["inspect", "--json", "--extract", "0", str(tmp_path), path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"schema": "fnabi.extracted/1", "files": [str(tmp_path / "rodata_0.txt")]}
    assert main(["inspect", "--json", path]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rodata"][5] == {
        "name": name,
        "kind": "elf",
        "identifier": None,
        "isa": "x86_64",
        "external": True,
        "offset": 6944,
        "size": 4272,
        "compression": 0,
    }


def test_segments_that_share_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that have more than 32 times the bytes of the file are not read at all."""

    def opened(places: list[tuple[int, int]]) -> vmfb.Module:
        segments = [
            Table({3: place.to_bytes(8, "little"), 4: size.to_bytes(8, "little")})
            for place, size in places
        ]
        data = module(Table({0: String(b"m"), 9: Vector([*segments])}))
        return vmfb.from_buffer(data + b"x" * 100_000)

    equal = opened([(0, 50_000)] * 60).rodata
    assert {each.kind for each in equal} == {"splat"}
    absent = opened([(index, 50_000 if index < 60 else 1 << 40) for index in range(100)]).rodata
    assert absent[3].kind == "splat"  # those outside the file are not counted
    overlapping = opened([(index, 50_000) for index in range(100)]).rodata
    with pytest.raises(FormatError) as caught:
        _ = overlapping[3].content
    assert (caught.value.code, caught.value.path) == ("work", "rodata_segments[3]")
    monkeypatch.setattr(
        rodata.RodataSegment, "name", property(lambda segment: f"named {segment.index}")
    )  # as in a ZIP directory: else each content would be read for its suffix
    with pytest.raises(FormatError, match="more references"):
        extract.extract(overlapping, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    overlapping[3].extract(tmp_path / "one")
    assert (tmp_path / "one").stat().st_size == 50_000
