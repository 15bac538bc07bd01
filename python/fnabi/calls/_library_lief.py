"""Read the libraries of Windows (PE) and macOS (Mach-O), with the package lief.

`fnabi.library` reads ELF itself and asks this module for the rest. The numbers and words are those
of ELF, so that a `LibraryFile` means the same whatever the format.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from fnabi.errors import LibraryError

_SHARED, _OTHER = 3, 2
_EXPORTED = ("__tvm_ffi_", "__fnabi_", "__TVM")
_WANTED = "TVM"
_MACHINES = {
    "I386": 3,
    "X86": 3,
    "AMD64": 62,
    "X86_64": 62,
    "ARM": 40,
    "ARMNT": 40,
    "THUMB": 40,
    "ARM64": 183,
}
"""The ELF number of a machine by its name in lief."""
_NAMES = {"x86_64": "X86_64", "amd64": "X86_64", "arm64": "ARM64", "aarch64": "ARM64"}
_CODE = 0x20000000  # IMAGE_SCN_MEM_EXECUTE
_BINDS_AT_LOAD = 0x8  # MH_BINDATLOAD
_WEAK = 0x40  # N_WEAK_REF
_HIDDEN_OR_DEFINED, _DEFINED = 0x1F, 0x0F  # N_PEXT and N_TYPE and N_EXT; N_SECT and N_EXT


def describe(data: bytes, kind: str) -> tuple[object, ...]:
    """Return the fields of a `LibraryFile` for a PE or a Mach-O file.

    Args:
        data: The file.
        kind: What its first bytes say that it is, for texts of errors.

    Raises:
        LibraryError: If lief is not installed or cannot read the file.

    """
    try:
        lief: Any = import_module("lief")
    except ImportError:
        raise LibraryError(f"{kind}; reading it needs lief (pip install lief)") from None
    lief.logging.disable()  # what it logs is said by the error below
    parse, fields = (
        (lief.PE.parse, _pe_fields) if data.startswith(b"MZ") else (lief.MachO.parse, _macho_fields)
    )
    try:
        parsed = parse(data)
        if parsed is not None:
            return fields(parsed, len(data))
    except Exception:  # such as SystemError for a number that lief does not know
        pass
    raise LibraryError(f"{kind}, but a damaged one; lief cannot read it")


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")


def _check(good: bool) -> None:
    """Refuse what lief skips: a part that is missing or runs past the end."""
    if not good:
        raise ValueError


def _sorted(symbols: Iterable[tuple[str, str, int]]) -> tuple[object, ...]:
    return tuple(sorted({each for each in symbols if each[0].startswith(_EXPORTED)}))


def _fields(
    *, bits: int, machine: str, shared: bool, bind_now: bool, soname: str | None,
    runpath: str | None, needed: Iterable[str], symbols: tuple[object, ...],
    wanted: Iterable[tuple[str, bool]], name: str,
) -> tuple[object, ...]:  # fmt: skip
    """Return the fields in the order of `LibraryFile`."""
    number = _MACHINES.get(machine, 0)
    kind = _SHARED if shared else _OTHER
    imported = tuple(sorted(set(wanted)))
    early = bind_now and any(not weak for _, weak in imported)
    head = (bits, "little", kind, number, bind_now, early, soname, runpath)
    return (*head, tuple(needed), symbols, imported, name)


# -------------------------------------------------------------------------------------------- PE


def _pe_fields(binary: Any, size: int) -> tuple[object, ...]:
    _check(len(binary.sections) == binary.header.numberof_sections > 0)
    _check(all(each.offset + each.sizeof_raw_data <= size for each in binary.sections))
    exports = binary.get_export()
    _check((exports is not None) == bool(binary.export_dir.rva))
    _check(binary.has_imports == bool(binary.import_dir.rva))
    entries = [] if exports is None else list(exports.entries)

    def kind(address: int) -> str:
        section = binary.section_from_rva(address)
        return "function" if section is None or section.characteristics & _CODE else "object"

    found = [
        (_text(each.name), "function" if each.is_forwarded else kind(each.address), each.address)
        for each in entries
    ]
    late = list(binary.delay_imports)
    # What is imported late is found by its first call: a library loads without it.
    wanted = [
        (_text(entry.name), False)
        for each in (*binary.imports, *late)
        for entry in each.entries
        if not entry.is_ordinal and _text(entry.name).startswith(_WANTED)
    ]
    return _fields(
        bits=64 if binary.optional_header.magic.name == "PE32_PLUS" else 32,
        machine=binary.header.machine.name,
        shared=bool(binary.header.characteristics & 0x2000),  # IMAGE_FILE_DLL
        bind_now=True,
        soname=_text(exports.name) or None if exports is not None else None,
        runpath=None,
        needed=[_text(each.name) for each in (*binary.imports, *late)],
        symbols=_sorted(found),
        wanted=wanted,
        name="PE",
    )


# ---------------------------------------------------------------------------------------- Mach-O


def _macho_fields(fat: Any, size: int) -> tuple[object, ...]:
    """Describe the part of a universal file for this machine, or else the first one."""
    here = _NAMES.get(platform.machine().lower())
    parts = list(fat)
    binary = next((each for each in parts if each.header.cpu_type.name == here), parts[0])
    symbols = binary.symbol_command
    _check(len(binary.commands) == binary.header.nb_cmds)
    _check(all(each.file_offset + each.file_size <= size for each in binary.segments))
    _check(symbols.symbol_offset < size and symbols.strings_offset + symbols.strings_size <= size)
    code = {
        section.name: (section.virtual_address, section.virtual_address + section.size)
        for section in binary.sections
        if section.segment_name == "__TEXT"
    }

    def kind(address: int) -> str:
        begin, end = code.get("__text", (0, 0))
        return "function" if begin <= address < end else "object"

    def plain(name: str | bytes) -> str:
        return _text(name).removeprefix("_")  # C names have it

    found: dict[str, int] = {}
    for each in binary.symbols:
        if each.has_export_info:  # of the export trie, which a stripped library still has
            found[plain(each.name)] = binary.imagebase + each.export_info.address
        elif each.raw_type & _HIDDEN_OR_DEFINED == _DEFINED:
            found[plain(each.name)] = each.value
    wanted = [
        (plain(each.name), bool(each.description & _WEAK))
        for each in binary.imported_symbols
        if plain(each.name).startswith(_WANTED)
    ]
    own = [each for each in binary.libraries if each.command.name == "ID_DYLIB"]
    return _fields(
        bits=64 if binary.header.is_64bit else 32,
        machine=binary.header.cpu_type.name,
        shared=binary.header.file_type.name in ("DYLIB", "BUNDLE"),
        bind_now=binary.has_dyld_chained_fixups or bool(binary.header.flags & _BINDS_AT_LOAD),
        soname=_text(own[0].name) if own else None,
        runpath=":".join(_text(each.path) for each in binary.rpaths) or None,
        needed=[_text(each.name) for each in binary.libraries if each.command.name != "ID_DYLIB"],
        symbols=_sorted((each, kind(address), address) for each, address in found.items()),
        wanted=wanted,
        name="Mach-O",
    )
