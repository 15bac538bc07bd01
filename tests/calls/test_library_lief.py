"""Libraries of Windows and macOS, which lief reads."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import fnabi
from fnabi import LibraryError, library
from fnabi.cli import main

lief = pytest.importorskip("lief")

SOURCE = """
#define EXPORT __declspec(dllexport)
__declspec(dllimport) int TVMFFIErrorSetRaised(void*);
EXPORT int __tvm_ffi_add(void* h) { return TVMFFIErrorSetRaised(h); }
EXPORT int __tvm_ffi_main(void) { return 0; }
EXPORT int __tvm_ffi__doc_add(void) { return 0; }
EXPORT int __tvm_ffi__metadata_add(void) { return 0; }
EXPORT void* __tvm_ffi__library_ctx = 0;
EXPORT int __tvm_ffi_data = 3;
EXPORT int other(void) { return 0; }
"""


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DLL that imports a function of tvm_ffi.dll."""
    prefix = "x86_64-w64-mingw32-"
    if shutil.which(f"{prefix}gcc") is None or shutil.which(f"{prefix}dlltool") is None:
        pytest.skip("mingw-w64 is not installed")
    folder = tmp_path_factory.mktemp("windows")
    (folder / "own.c").write_text(SOURCE)
    (folder / "tvm.def").write_text("LIBRARY tvm_ffi.dll\nEXPORTS\nTVMFFIErrorSetRaised\n")
    for command in (
        f"{prefix}dlltool -d tvm.def -l libtvm.a",
        f"{prefix}gcc -shared -nostdlib -Wl,--entry=0 -o own.dll own.c libtvm.a",
    ):
        subprocess.run(command.split(), cwd=folder, check=True)
    return folder / "own.dll"


def test_a_library_of_windows(windows: Path) -> None:
    found = library.read(windows)
    assert (found.format, found.bits, found.byte_order) == ("PE", 64, "little")
    assert found.machine == "x86-64"
    assert found.is_shared
    assert found.functions == ("add", "main")
    assert (found.documented, found.described) == (("add",), ("add",))
    kinds = {each.name: each.kind for each in found.symbols}
    assert kinds["__tvm_ffi_data"] == kinds["__tvm_ffi__library_ctx"] == "object"
    assert "other" not in kinds
    assert (found.soname, found.needed) == ("own.dll", ("tvm_ffi.dll",))
    assert found.required == ("TVMFFIErrorSetRaised",)
    assert found.is_linked_with_runtime
    assert found.needs_runtime_to_load
    assert library.read(windows.read_bytes()) == found


# ------------------------------------------------------------------------------------ Mach-O

X86_64, ARM64 = 0x01000007, 0x0100000C
SECTION, UNDEFINED, EXTERNAL, WEAK = 0x0E, 0, 1, 0x40
SYMBOLS = (
    ("___tvm_ffi_add", SECTION | EXTERNAL, 1, 0, 0x1000),
    ("___tvm_ffi_main", SECTION | EXTERNAL, 1, 0, 0x1004),
    ("___tvm_ffi_data", SECTION | EXTERNAL, 2, 0, 0x1010),
    ("_other", SECTION | EXTERNAL, 1, 0, 0x1008),
    ("___tvm_ffi_local", SECTION, 1, 0, 0x1008),
    ("___tvm_ffi_hidden", SECTION | EXTERNAL | 0x10, 1, 0, 0x1008),
    ("_TVMFFIErrorSetRaised", UNDEFINED | EXTERNAL, 0, 0x0200, 0),
    ("_TVMFFIObjectIncRef", UNDEFINED | EXTERNAL, 0, 0x0200 | WEAK, 0),
    ("_malloc", UNDEFINED | EXTERNAL, 0, 0x0300, 0),
)


def padded(text: bytes) -> bytes:
    return text + bytes(8 - len(text) % 8)


def dylib(kind: int, name: str) -> bytes:
    path = padded(name.encode())
    return struct.pack("<6I", kind, 24 + len(path), 24, 2, 0x10000, 0x10000) + path


def number(value: int) -> bytes:
    """Return a ULEB128 of two bytes."""
    return bytes([value & 0x7F | 0x80, value >> 7])


def trie(symbols: dict[str, int]) -> bytes:
    """Return the trie of exports, a root with a leaf for each symbol."""
    leaves = [b"\x03\0" + number(at) + b"\0" for at in symbols.values()]
    at = 2 + sum(len(name) + 3 for name in symbols)
    root = bytes([0, len(symbols)])
    for name, leaf in zip(symbols, leaves, strict=True):
        root += name.encode() + b"\0" + number(at)
        at += len(leaf)
    return root + b"".join(leaves)


def macos(machine: int = ARM64, stripped: bool = False) -> bytes:
    """Return a dynamic library as the linker of macOS lays it out."""
    names, entries = b"\0", b""
    symbols = [each for each in SYMBOLS if each[1] == EXTERNAL or not stripped]
    exported = {name: value for name, kind, *_, value in SYMBOLS if kind == SECTION | EXTERNAL}
    exports = padded(trie(exported)) if stripped else b""
    for name, kind, section, description, value in symbols:
        entries += struct.pack("<IBBHQ", len(names), kind, section, description, value)
        names += name.encode() + b"\0"
    names = padded(names)
    linkedit = 0x2000

    def segment(name: str, at: int, size: int, sections: list[tuple[str, int, int]]) -> bytes:
        made = b"".join(
            struct.pack("<16s16sQQ8I", each.encode(), name.encode(), a, s, a, 0, 0, 0, 0, 0, 0, 0)
            for each, a, s in sections
        )
        head = struct.pack("<II16sQQQQiiII", 0x19, 72 + len(made), name.encode(), at, size, at,
                           size, 7, 5, len(sections), 0)  # fmt: skip
        return head + made

    commands = [
        segment("__TEXT", 0, 0x2000, [("__text", 0x1000, 16), ("__const", 0x1010, 16)]),
        segment("__LINKEDIT", linkedit, len(entries) + len(names) + len(exports), []),
        dylib(0xD, "@rpath/libown.dylib"),
        dylib(0xC, "@rpath/libtvm_ffi.dylib"),
        dylib(0xC, "/usr/lib/libSystem.B.dylib"),
        struct.pack("<6I", 0x2, 24, linkedit, len(symbols), linkedit + len(entries), len(names)),
        struct.pack("<20I", 0xB, 80, 0, 0, 0, 4, 4, 3, *[0] * 12),
        struct.pack("<III", 0x8000001C, 32, 12) + b"@loader_path/..".ljust(20, b"\0"),
    ]
    if stripped:  # the trie has what the table of symbols lacks
        at = linkedit + len(entries) + len(names)
        commands.append(struct.pack("<4I", 0x80000033, 16, at, len(exports)))
    body = b"".join(commands)
    head = struct.pack("<8I", 0xFEEDFACF, machine, 0, 6, len(commands), len(body), 0x85, 0)
    return (head + body).ljust(linkedit, b"\0") + entries + names + exports


def check_macos(found: library.LibraryFile) -> None:
    assert (found.format, found.bits, found.is_shared) == ("Mach-O", 64, True)
    assert found.functions == ("add", "main")
    kinds = {each.name: each.kind for each in found.symbols}
    assert kinds == {
        "__tvm_ffi_add": "function",
        "__tvm_ffi_main": "function",
        "__tvm_ffi_data": "object",
    }
    assert found.soname == "@rpath/libown.dylib"
    assert found.needed == ("@rpath/libtvm_ffi.dylib", "/usr/lib/libSystem.B.dylib")
    assert found.runpath == "@loader_path/.."
    assert (found.required, found.optional) == (("TVMFFIErrorSetRaised",), ("TVMFFIObjectIncRef",))
    assert found.is_linked_with_runtime
    assert found.provided == ()


def test_a_library_of_macos() -> None:
    found = library.read(macos())
    check_macos(found)
    assert found.machine == "aarch64"
    assert library.read(macos(X86_64)).machine == "x86-64"
    check_macos(library.read(macos(stripped=True)))


def test_a_universal_library() -> None:
    """The part for this machine is read."""
    parts = [macos(X86_64), macos(ARM64)]
    at, head, body = 0x4000, struct.pack(">II", 0xCAFEBABE, 2), b""
    for machine, part in zip((X86_64, ARM64), parts, strict=True):
        head += struct.pack(">5I", machine, 0, at + len(body), len(part), 14)
        body += part.ljust(0x4000, b"\0")
    found = library.read(head.ljust(at, b"\0") + body)
    check_macos(found)


# ------------------------------------------------------------------------------------ faults


def test_damaged_libraries(windows: Path) -> None:
    """A file is read or refused: no other exception, and the process goes on."""
    drawn = random.Random(5)
    dll = windows.read_bytes()
    sections = lief.PE.parse(dll).sections  # symbols for debuggers may follow
    used = max(each.offset + each.sizeof_raw_data for each in sections)
    for whole, needed in ((dll, used), (macos(), len(macos()))):
        tried = [whole[:size] for size in range(4, len(whole), len(whole) // 60)]
        for _ in range(200):
            changed = bytearray(whole)
            for _ in range(4):
                changed[drawn.randrange(4, min(len(whole), 2000))] = drawn.randrange(256)
            tried.append(bytes(changed))
        refused = 0
        for data in tried:
            try:
                library.read(data)
                assert len(data) >= needed
            except LibraryError:
                refused += 1
        assert refused


def test_the_command_line(
    windows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.dylib").write_bytes(macos())
    for path, shown in ((windows, "PE"), (tmp_path / "own.dylib", "Mach-O")):
        assert main(["inspect", str(path)]) == 0
        out = capsys.readouterr().out
        assert f"64-bit little-endian {shown}" in out
        assert "add" in out
        assert main(["inspect", "--json", str(path)]) == 0
        assert json.loads(capsys.readouterr().out)["format"] == shown.lower()


@pytest.mark.skipif(sys.platform == "win32", reason="this system loads it")
def test_a_library_of_windows_is_not_loaded_elsewhere(windows: Path) -> None:
    with pytest.raises(LibraryError, match=r"in the format PE; expected (ELF|Mach-O), which"):
        fnabi.load_module(windows)


@pytest.mark.skipif(sys.platform == "darwin", reason="this system loads it")
def test_a_library_of_macos_is_not_loaded_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "own.dylib").write_bytes(macos())
    with pytest.raises(LibraryError, match=r"in the format Mach-O; expected (ELF|PE), which"):
        fnabi.load_module(tmp_path / "own.dylib")


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"MZ\x90\0", "a PE file (Windows)"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "a Mach-O file (macOS)"),
        (b"\xca\xfe\xba\xbe\0\0\0\x02", "a Mach-O file (macOS)"),
    ],
)
def test_without_lief(start: bytes, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.looks_like_one(start)
    monkeypatch.setitem(sys.modules, "lief", None)
    with pytest.raises(LibraryError) as problem:
        library.read(start)
    assert str(problem.value) == f"{what}; reading it needs lief (pip install lief)"
