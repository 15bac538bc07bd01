"""Read-only data of modules: the names, kinds and bytes of its segments.

Segments after the FlatBuffer have names in the ZIP directory at the end of the file. Runtimes do
not read the directory, so it may be missing. The kind of a segment is recognised by its content::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     for segment in module.rodata:
    ...         print(segment.name, segment.kind, segment.size)
    model_linked_embedded_elf_x86_64.so elf 4272
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from fnabi._base import core
from fnabi._base.files import path_text, write_whole
from fnabi._fnabi import ffi, lib
from fnabi.errors import FormatError
from fnabi.vmfb._records import Layout, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fnabi.vmfb._remote import RemoteFile

__all__ = ["Content", "ContentKind", "File", "RodataSegment", "Segment"]


def __dir__() -> list[str]:
    return __all__


ContentKind: TypeAlias = Literal["elf", "spir-v", "flatbuffer", "splat", "string table", "raw"]


class Content(Record, frozen=True):
    """The content of a segment, recognised by its bytes.

    Attributes:
        kind: ``"elf"``, ``"spir-v"``, ``"flatbuffer"``, ``"splat"`` (equal elements of 1, 2, 4 or
            8 bytes), ``"string table"`` (printable UTF-8) or ``"raw"``.
        identifier: The four characters that identify a FlatBuffer's schema, such as ``"IREE"`` for
            a module or ``"VKE1"`` for a Vulkan executable, or None.
        isa: The instruction set of an ELF file, such as ``"x86_64"``, or None if it is unknown.

    """

    kind: ContentKind
    identifier: str | None
    isa: str | None

    def __str__(self) -> str:
        detail = self.identifier or self.isa
        return f"{self.kind} {detail}" if detail else self.kind


class File(Record, frozen=True):
    """A file in the ZIP directory.

    Attributes:
        name: Its name.
        offset: The offset of its data in the module, in bytes.
        size: The size of its data in bytes.
        checksum: Their CRC-32 as the directory has it, or None if they are compressed.

    """

    name: str
    offset: int
    size: int
    checksum: int | None


class _Entry(Record, frozen=True):
    name: str
    header: int
    size: int
    checksum: int | None


class _Directory(Record, frozen=True):
    needed: int
    entries: tuple[_Entry, ...]


_content = core.Decoder(Content)
_directory = core.Decoder(_Directory)


class Segment(Record, frozen=True):
    """A segment in the module's table."""

    compression: tuple[int, ...]
    embedded: tuple[int, int] | None
    external_offset: int
    external_length: int


_TAIL = 22 + 0xFFFF + 20 + 56
"""The most bytes from an end record of a ZIP directory to the end of the file."""

_LOCAL = struct.Struct("<4s22xHH")
"""The local header of a file in a ZIP archive: what it begins with, and the sizes of its ends."""


def remote_files(file: RemoteFile) -> tuple[File, ...]:
    """Read the ZIP directory of a remote module, as ``fnabi_vmfb_files`` that of a local one."""
    if not file.data.startswith(b"PK\3\4"):
        return ()
    origin = max(0, file.size - _TAIL)
    while True:
        (tail,) = file.read([(origin, file.size - origin)])
        found = core.decode(lib.fnabi_vmfb_directory, _directory, tail, origin)
        if found.needed >= origin:
            break
        origin = found.needed
    for index, entry in enumerate(found.entries):
        if entry.header + _LOCAL.size > found.needed:  # where the directory begins
            raise _damaged(min(entry.header, file.size), index)
    headers = file.read([(entry.header, _LOCAL.size) for entry in found.entries])
    files = []
    for index, (entry, header) in enumerate(zip(found.entries, headers, strict=True)):
        magic, name, extra = _LOCAL.unpack(header)
        offset = entry.header + _LOCAL.size + name + extra
        if magic != b"PK\3\4" or offset + entry.size > found.needed:
            raise _damaged(entry.header, index)
        files.append(File(entry.name, offset, entry.size, entry.checksum))
    return tuple(files)


def _damaged(offset: int, index: int) -> FormatError:
    code = lib.FNABI_MODULE_ZIP
    place = f"zip_directory[{index}]"
    return FormatError(core.code_name(code), offset, place, reason=core.code_text(code))


class _Module(Protocol):
    """What a segment uses of the `vmfb.Module` that it is from."""

    _remote: RemoteFile | None

    @property
    def layout(self) -> Layout: ...
    @property
    def _names(self) -> dict[tuple[int, int], str]: ...
    @property
    def rodata(self) -> tuple[RodataSegment, ...]: ...
    @property
    def _shares_too_much(self) -> bool: ...
    def _bytes(self, offset: int, size: int) -> memoryview: ...


_SHARED = 32
"""The most bytes of segments for each byte of a file."""


def share_too_much(segments: Sequence[RodataSegment], file_size: int) -> bool:
    """Return whether segments overlap so often that none is looked into."""
    return sum(each.size for each in segments if each.is_inside) > _SHARED * file_size


class RodataSegment:
    """A segment of read-only data, inside the FlatBuffer or after it in the file.

    Attributes:
        external: Whether it is after the FlatBuffer.
        external_offset: The offset of an external segment from ``layout.rodata_base``, in bytes;
            otherwise None.
        compression: The compression type of the schema: 0 for none, 1 for explicitly uncompressed.
        index: The index in the module.
        path: The name of the segment in errors, such as ``rodata_segments[2]``.
        size: The stored size in bytes.

    Example:
        >>> from fnabi import vmfb
        >>> segment = vmfb.open("examples/classifier.vmfb").rodata[0]
        >>> segment.kind, segment.size, bytes(segment.data)
        ('string table', 13, b'hal.device.id')

    """

    __slots__ = (
        "_embedded",
        "_module",
        "compression",
        "external",
        "external_offset",
        "index",
        "path",
        "size",
    )

    def __init__(self, module: _Module, index: int, segment: Segment) -> None:
        self._module = module
        self.path = f"rodata_segments[{index}]"
        self.index = index
        self._embedded = segment.embedded
        self.external = segment.embedded is None
        self.external_offset = segment.external_offset if self.external else None
        self.size = segment.embedded[1] if segment.embedded else segment.external_length
        self.compression = segment.compression[-1]

    @property
    def offset(self) -> int:
        """The offset of the segment, in bytes from the start of the file.

        Raises:
            FormatError: If a part of it is outside the file.

        """
        if self._embedded is not None:
            return self._embedded[0]
        layout = self._module.layout
        offset = layout.rodata_base + (self.external_offset or 0)
        if not self.is_inside:
            code = lib.FNABI_MODULE_RANGE
            reason = core.code_text(code)
            raise FormatError(core.code_name(code), layout.file_size, self.path, reason=reason)
        return offset

    @property
    def is_inside(self) -> bool:
        """Whether all of it is inside the file."""
        layout = self._module.layout
        place = layout.rodata_base + (self.external_offset or 0)
        return not self.external or place + self.size <= layout.file_size

    @property
    def is_read(self) -> bool:
        """Whether `data` needs no request to a remote store."""
        remote = self._module._remote
        if remote is None or self._embedded is not None:
            return True
        return self.is_inside and self.offset + self.size <= len(remote.data)

    @property
    def data(self) -> memoryview:
        """The stored bytes, read-only and not copied. In a remote module they are requested.

        They keep the file or buffer alive, even after the module is closed. A memory-mapped file
        must not be truncated while they are used; changes of the file change the bytes.

        Raises:
            FormatError: If a part of it is outside the file, or the file has changed.
            CallError: If the module is closed.
            OSError: If the remote store does not answer.

        """
        return self._module._bytes(self.offset, self.size)

    @property
    def name(self) -> str | None:
        """The name in the ZIP directory at the end of the file, or None."""
        if self.external_offset is None:
            return None
        place = self._module.layout.rodata_base + self.external_offset, self.size
        return self._module._names.get(place)

    @property
    def content(self) -> Content:
        """The content of the segment, recognised by its bytes.

        Raises:
            FormatError: As `data` does, and if the segments of the module overlap so often that
                they have 32 times as many bytes as the file (``work``).
            CallError: If the module is closed.

        """
        view: Any = ffi.from_buffer(self.data)
        self._check_sharing()
        return core.decode(lib.fnabi_rodata_content, _content, view)

    def _check_sharing(self) -> None:
        module = self._module
        few = self.size * len(module.rodata) <= _SHARED * module.layout.file_size
        if not few and module._shares_too_much:  # few bytes even if all were as large
            code = lib.FNABI_WORK
            reason = core.code_text(code)
            raise FormatError(core.code_name(code), self.offset, self.path, reason=reason)

    @property
    def kind(self) -> ContentKind:
        """The kind of its content, such as ``"elf"``; raises as `content` does."""
        return self.content.kind

    def extract(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a new file, which appears whole or not at all.

        Raises:
            FileExistsError: If the path exists, even as a dangling symbolic link.
            FormatError: As `data` does.
            OSError: If the file cannot be written.
            CallError: If `path` is not a path.

        """
        name = path_text("RodataSegment.extract: path", path)
        data = self.data
        with write_whole(name, replace=False) as file:
            file.write(data)

    def __repr__(self) -> str:
        kind = "external" if self.external else "embedded"
        return f"<RodataSegment {self.path} {kind}, {self.size} bytes>"
