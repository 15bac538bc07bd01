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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.errors import FormatError
from fnabi.files import write_whole
from fnabi.vmfb_records import Record

if TYPE_CHECKING:
    from fnabi.vmfb import Module

__all__ = ["Content", "File", "Kind", "RodataSegment", "Segment"]

Kind: TypeAlias = Literal["elf", "spir-v", "flatbuffer", "splat", "string table", "raw"]


class Content(Record, frozen=True):
    """The content of a segment, recognised by its bytes.

    Attributes:
        kind: ``"elf"``, ``"spir-v"``, ``"flatbuffer"``, ``"splat"`` (equal elements of 1, 2, 4 or
            8 bytes), ``"string table"`` (printable UTF-8) or ``"raw"``.
        identifier: The four characters that identify a FlatBuffer's schema, such as ``"IREE"`` for
            a module or ``"VKE1"`` for a Vulkan executable, or None.
        isa: The instruction set of an ELF file, such as ``"x86_64"``, or None if it is unknown.

    """

    kind: Kind
    identifier: str | None
    isa: str | None

    def __str__(self) -> str:
        detail = self.identifier or self.isa
        return f"{self.kind} {detail}" if detail else self.kind


class File(Record, frozen=True):
    """A file in the ZIP directory; `offset` and `size` are of its data, in bytes."""

    name: str
    offset: int
    size: int


_content = _core.Decoder(Content)


class Segment(Record, frozen=True):
    """A segment in the module's table."""

    compression: tuple[int, ...]
    embedded: tuple[int, int] | None
    external_offset: int
    external_length: int


class RodataSegment:
    """A segment of read-only data, inside the FlatBuffer or after it in the file.

    Attributes:
        external: Whether it is after the FlatBuffer.
        external_offset: The offset of an external segment from ``layout.rodata_base``, in bytes;
            otherwise None.
        compression: The compression type of the schema: 0 for none, 1 for explicitly uncompressed.
        index: The index in the module.
        size: The stored size in bytes.

    """

    __slots__ = (
        "_embedded",
        "_module",
        "_path",
        "compression",
        "external",
        "external_offset",
        "index",
        "size",
    )

    def __init__(self, module: Module, index: int, segment: Segment) -> None:
        self._module = module
        self._path = f"rodata_segments[{index}]"
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
        if offset + self.size > layout.file_size:
            code = lib.FNABI_MODULE_RANGE
            reason = _core.code_text(code)
            raise FormatError(_core.code_name(code), layout.file_size, self._path, reason=reason)
        return offset

    @property
    def data(self) -> memoryview:
        """The stored bytes, read-only and not copied.

        They keep the file or buffer alive, even after the module is closed. A memory-mapped file
        must not be truncated while they are used; changes of the file change the bytes.

        Raises:
            FormatError: If a part of it is outside the file, or the file has changed.
            CallError: If the module is closed.

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
            FormatError: As `data` does.
            CallError: If the module is closed.

        """
        view: Any = ffi.from_buffer(self.data)
        return _core.decode(lib.fnabi_rodata_content, _content, view)

    @property
    def kind(self) -> Kind:
        """The kind of its content, such as ``"elf"``; raises as `content` does."""
        return self.content.kind

    def extract(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a new file, which appears whole or not at all.

        Raises:
            FileExistsError: If the path exists, even as a dangling symbolic link.
            FormatError: As `data` does.
            OSError: If the file cannot be written.

        """
        data = self.data
        with write_whole(path, replace=False) as file:
            file.write(data)

    def __repr__(self) -> str:
        kind = "external" if self.external else "embedded"
        return f"<RodataSegment {self._path} {kind}, {self.size} bytes>"
