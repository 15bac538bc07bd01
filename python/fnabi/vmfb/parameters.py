"""List the parameters in files, and compare them with the parameters that a module needs.

`read` lists the parameters of an IREE parameter archive (``.irpa``), a GGUF or a safetensors file
with their sizes, without reading the data. `compare` compares them with a module's needs::

    >>> from fnabi import parameters, vmfb
    >>> module = vmfb.open("model.vmfb")
    >>> parameters.compare(module.parameters, {"model": parameters.read("model.irpa")})
    ()

A parameter archive is a chain of one or more headers. All numbers are little-endian, and offsets
are relative to their header. Strings are in the metadata segment, data in the storage segment::

    header:  "IRPA", u16 major, u16 minor, u64 header size, u64 offset of the next header or 0,
             u64 flags, u64 entry count, and offset and size of the entries, the metadata and the
             storage, u64 each
    entry:   u64 size, u32 type, u64 flags, name, metadata, u64 alignment; at multiples of 16
      skip 0
      splat 1:     u64 length, 16 bytes of pattern, u8 length of the pattern
      data 2:      offset and size in the storage
      external 3:  path, u64 offset and u64 size in that file

A GGUF file has metadata, then the infos of its tensors, then their data at a multiple of the
alignment, which is 32 unless the metadata has ``general.alignment``. A string has a u64 size::

    header:  "GGUF", u32 version, u64 tensor count, u64 metadata count
    pair:    name, u32 type, value; an array has the u32 type and the u64 count of its items first
    tensor:  name, u32 dim count, u64 dims with the fastest first, u32 type, u64 offset in the data
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from importlib import import_module
from math import prod
from typing import Any, Literal, TypeAlias

from fnabi._base.arguments import check_items, check_type
from fnabi._base.files import announce_mapping, check_regular, path_text, read_or_map
from fnabi._base.packages import why_unusable
from fnabi._base.text import cut, one_line
from fnabi.errors import FormatError, MissingPackageError
from fnabi.vmfb._records import Finding
from fnabi.vmfb.needs import Parameter

__all__ = ["Format", "Index", "compare", "read"]


def __dir__() -> list[str]:
    return __all__


Format: TypeAlias = Literal["irpa", "gguf", "safetensors"]
"""The formats of parameter files."""

Index: TypeAlias = dict[str, int]
"""The size of each parameter in bytes, by its name."""

_HEADER = struct.Struct("<4sHHQQQQ6Q")
_ENTRY = struct.Struct("<QIQ5Q")
_SKIP, _SPLAT, _DATA, _EXTERNAL = 0, 1, 2, 3
_ALIGNMENT = 16

_HEAD_MOST = 100_000_000
"""The most bytes of a file that are not data, as for safetensors: a sparse file has no end."""

_SHOWN = 40
"""The most characters of a scope that an error shows."""

_PROBLEM = 200
"""The most characters of the text of another package, which may quote the file."""


def read(path: str | os.PathLike[str]) -> Index:
    """List the parameters of a file, whose format is recognised by its first bytes.

    Raises:
        FormatError: If the file is damaged or has an unknown format.
        CallError: If the package ``safetensors`` is not installed, which reads its format.
        OSError: If the file cannot be read.

    Example:
        >>> import numpy as np, safetensors.numpy
        >>> from fnabi import parameters
        >>> safetensors.numpy.save_file({"scale": np.ones(4, np.float32)}, "scale.safetensors")
        >>> parameters.read("scale.safetensors")
        {'scale': 16}

    """
    path = path_text("parameters.read: path", path)
    check_regular(path)
    data, mapped = read_or_map(path)
    if data[:4] == b"IRPA":
        return read_archive(data)
    if data[:4] == b"GGUF":
        return read_gguf(data)
    if data[8:9] == b"{":  # after the size of the header
        if mapped is None:
            announce_mapping(path)  # by the package
        return _read_safetensors(path)
    expected = '"IRPA", "GGUF" or a safetensors header'
    raise FormatError("parameters", 0, reason="not a file of parameters", expected=expected)


def read_archive(data: bytes | mmap.mmap) -> Index:
    """List the parameters of an IREE parameter archive, in the order of the file.

    If names are equal, the last one counts.

    Raises:
        FormatError: If a part of it is outside the file, or its version is not 0.0.

    """
    index: Index = {}
    at, size = 0, len(data)
    # Limits the work: headers may share entries, and entries may share names.
    work = 32 * min(size, _HEAD_MOST)
    while True:
        if at > size - _HEADER.size:
            raise _error("irpa-size", min(at, size), "the file ends before the header")
        magic, major, minor, head, following, _, count, *segments = _HEADER.unpack_from(data, at)
        if magic != b"IRPA":
            raise _error("irpa-header", at, "not a parameter archive", '"IRPA"')
        if major != 0 or minor != 0:
            raise _error("irpa-version", at + 4, f"unknown version {major}.{minor}", "0.0")
        if head != _HEADER.size:
            raise _error("irpa-header", at + 8, f"header of {head} bytes", f"{_HEADER.size}")
        for number in range(3):
            begin, length = segments[2 * number : 2 * number + 2]
            if begin > size - at or length > size - at - begin:
                place = at + 40 + 16 * number
                raise _error("irpa-range", place, "segment outside the file")
        work = _read_entries(data, at, count, segments, index, work)
        if following == 0:
            return index
        if following % _ALIGNMENT:
            raise _error("irpa-header", at + 16, "header offset is not a multiple of 16")
        at += following


def _read_entries(
    data: bytes | mmap.mmap, base: int, count: int, segments: list[int], index: Index, work: int
) -> int:
    entries, entries_size, names, names_size, _, storage_size = segments
    place, end = base + entries, base + entries + entries_size
    for _ in range(count):
        if place > end - _ENTRY.size:
            raise _error("irpa-range", min(place, end), "entry outside the entry table")
        size, kind, _, name, name_size, about, about_size, _ = _ENTRY.unpack_from(data, place)
        needed = _ENTRY.size + {_SPLAT: 25, _DATA: 16, _EXTERNAL: 32}.get(kind, 0)
        if size < needed or size > end - place:
            raise _error("irpa-range", place, "wrong size of an entry")
        if name > names_size or name_size > names_size - name:
            raise _error("irpa-range", place + 20, "name outside the metadata")
        if about_size and about_size > names_size - about:
            raise _error("irpa-range", place + 36, "metadata outside the metadata")
        work -= size + name_size
        if work < 0:
            raise _error("work", place, "more references than the size allows")
        if kind == _SKIP:
            place += -(-size // _ALIGNMENT) * _ALIGNMENT
            continue
        begin = base + names + name
        key = data[begin : begin + name_size].decode("utf-8", "surrogateescape")
        body = place + _ENTRY.size
        if kind == _SPLAT:
            length, pattern = struct.unpack_from("<Q16xB", data, body)
            if pattern > 16:
                raise _error("irpa-range", body + 24, f"pattern of {pattern} bytes", "at most 16")
        elif kind == _DATA:
            offset, length = struct.unpack_from("<QQ", data, body)
            if length and length > storage_size - offset:
                raise _error("irpa-range", body, "data outside the storage")
        elif kind == _EXTERNAL:
            _, length = struct.unpack_from("<QQ", data, body + 16)
        else:
            raise _error("irpa-entry", place + 8, f"unknown entry type {kind}")
        index[key] = length
        place += -(-size // _ALIGNMENT) * _ALIGNMENT
    return work


def _error(code: str, offset: int, reason: str, expected: str | None = None) -> FormatError:
    return FormatError(code, offset, reason=reason, expected=expected)


def _package(name: str, path: object) -> Any:
    try:
        return import_module(name)
    except ImportError as problem:
        why = f"the package {name}, which {why_unusable(problem, name)}"
        raise MissingPackageError(f"parameters.read: {path} needs {why}") from None


# Bytes of the values of GGUF's types, at the index of the type. Strings and arrays, which have
# what the table lacks, begin with so many.
_VALUE_SIZES = (1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8)
_UINT32, _STRING, _ARRAY = 4, 8, 9

# Elements and bytes of a block of each type of GGUF's tensors.
_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 40),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
}
_DIMS_MOST, _NESTING_MOST = 64, 64


def read_gguf(data: bytes | mmap.mmap) -> Index:
    """List the parameters of a GGUF file, in the order of the file.

    Raises:
        FormatError: If a part of it is outside the file, or has an unknown type or version.

    """
    reader = _Gguf(data)
    tensors, pairs = reader.number("Q"), reader.number("Q")
    reader.expect(tensors, 24, "tensors")
    reader.expect(pairs, 13, "pairs of metadata")
    alignment = 32
    for _ in range(pairs):
        name, kind = reader.text(), reader.number("I")
        if name == b"general.alignment" and kind == _UINT32:
            alignment = reader.number("I") or 1
        else:
            reader.skip(kind, 1)
    index: Index = {}
    end = 0
    for _ in range(tensors):
        name, count = reader.text(), reader.number("I")
        if count > _DIMS_MOST:
            raise reader.error(f"tensor has {count} dims, expected at most {_DIMS_MOST}")
        dims = [reader.number("Q") for _ in range(count)]
        kind, offset = reader.number("I"), reader.number("Q")
        if kind not in _BLOCKS:
            raise reader.error(f"unknown tensor type {kind}")
        elements, size = _BLOCKS[kind]
        if (dims[0] if dims else 1) % elements:
            raise reader.error(f"the first dim is not a multiple of {elements}")
        key = name.decode("utf-8", "surrogateescape")
        if key in index:
            raise reader.error("two tensors have one name")
        index[key] = prod(dims) // elements * size
        end = max(end, offset + index[key])
    start = -(-reader.at // alignment) * alignment
    if index and end > len(data) - start:
        raise reader.error("tensor outside the file")
    return index


class _Gguf:
    """A GGUF file and an offset in it; whatever is read is checked to be inside the file."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data, self.at, self._order = data, 4, "<"
        self._end = min(len(data), _HEAD_MOST)
        version = self.number("I")
        if version and version % 65536 == 0:  # written on a machine with the other byte order
            self._order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in (2, 3):
            raise self.error(f"unknown version {version}, expected 2 or 3")

    def error(self, reason: str) -> FormatError:
        return _error("gguf", min(self.at, len(self.data)), f"damaged GGUF file: {reason}")

    def take(self, size: int) -> int:
        """Go on by a number of bytes, and return the offset before."""
        begin = self.at
        if size > self._end - begin:
            self.expect(size, 1, "bytes")
        self.at += size
        return begin

    def expect(self, count: int, least: int, kind: str) -> None:
        """Refuse more of a kind, of so many bytes at least each, than can follow."""
        if count * least > self._end - self.at:
            most = "file" if self._end == len(self.data) else f"first {_HEAD_MOST:,} bytes"
            raise self.error(f"{count} {kind} are outside the {most}")

    def number(self, kind: Literal["I", "Q"]) -> int:
        begin = self.take(4 if kind == "I" else 8)
        (value,) = struct.unpack_from(self._order + kind, self.data, begin)
        return int(value)

    def text(self) -> bytes:
        begin = self.take(self.number("Q"))
        return self.data[begin : self.at]

    def skip(self, kind: int, count: int, nesting: int = 0) -> None:
        """Go on after values of a type."""
        if kind >= len(_VALUE_SIZES):
            raise self.error(f"unknown type {kind}")
        if kind not in (_STRING, _ARRAY):
            self.take(count * _VALUE_SIZES[kind])
            return
        self.expect(count, _VALUE_SIZES[kind], "values")
        if nesting > _NESTING_MOST:
            raise self.error(f"more than {_NESTING_MOST} arrays inside of each other")
        for _ in range(count):
            if kind == _STRING:
                self.take(self.number("Q"))
            else:
                self.skip(self.number("I"), self.number("Q"), nesting + 1)


# Bits of the elements of safetensors' dtypes.
_BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}


def _read_safetensors(path: str | os.PathLike[str]) -> Index:
    safetensors = _package("safetensors", path)
    index = {}
    try:
        with safetensors.safe_open(os.fspath(path), framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 - the object is no mapping
                part = file.get_slice(name)
                index[name] = prod(part.get_shape()) * _BITS[part.get_dtype()] // 8
    except (safetensors.SafetensorError, KeyError, ValueError) as problem:
        text = cut(one_line(str(problem)), _PROBLEM)
        raise _error("safetensors", 0, f"damaged safetensors file: {text}") from problem
    return index


def compare(needed: Iterable[Parameter], given: Mapping[str | None, Index]) -> tuple[Finding, ...]:
    """Find parameters that are missing in files or have another size.

    Args:
        needed: The `parameters` of a module.
        given: The parameters of files by scope; those under None are for every scope.

    Returns:
        An error for each parameter that is missing or has another size, and a notice for each use
        of parameters that the code does not name.

    Raises:
        CallError: If an argument has another type, such as an index without its scope.

    Example:
        >>> from fnabi import needs, parameters
        >>> needed = [needs.Parameter("load", "model", "scale", 0, 16)]
        >>> for finding in parameters.compare(needed, {"model": {"scale": 8}}):
        ...     print(finding)
        error: parameter has 8 bytes, expected 16 in parameters["model::scale"]

    """
    sizes: dict[Parameter, int] = {}
    findings = []
    check_type("parameters.compare: given", given, Mapping)
    for scope, index in given.items():
        where = f"parameters.compare: given[{cut(repr(scope), _SHOWN)}]"
        check_type(where, index, Mapping, expected="the sizes of a scope by name")
    for each in check_items("parameters.compare: needed", needed, Parameter):
        if each.key is None or each.scope is None:
            text = "the code does not tell which parameters are used"
            findings.append(
                Finding("parameter-unknown", None, f"parameters: {each}", text, "notice")
            )
            continue
        whole = Parameter("load", each.scope, each.key, None, None)
        sizes[whole] = max(sizes.get(whole, 0), each.required_size or 0)
    for each, size in sizes.items():
        path = f'parameters["{each.full_name}"]'
        assert each.key is not None
        found = [given[scope] for scope in (each.scope, None) if scope in given]
        has = next((index[each.key] for index in found if each.key in index), None)
        if has is None:
            text = f"parameter is missing, expected {size} bytes"
            findings.append(Finding("parameter-missing", None, path, text, "error"))
        elif has != size:
            text = f"parameter has {has} bytes, expected {size}"
            findings.append(Finding("parameter-size", None, path, text, "error"))
    return tuple(findings)
