"""Read-only data of modules: the names, kinds and bytes of its segments.

Compilers name the segments that stand after the FlatBuffer in the ZIP directory at the end of the
file; runtimes do not read it, so it may be missing. The kind is recognised in the content::

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
from fnabi.vmfb_records import Record

if TYPE_CHECKING:
    from fnabi.vmfb import Module

__all__ = ["Content", "File", "Kind", "RodataSegment", "Segment"]

Kind: TypeAlias = Literal["elf", "spir-v", "flatbuffer", "splat", "string table", "raw"]


class Content(Record, frozen=True):
    """What a segment holds, as far as its bytes show it.

    Attributes:
        kind: ``"elf"``, ``"spir-v"``, ``"flatbuffer"``, ``"splat"`` (equal elements of 1, 2, 4 or
            8 bytes), ``"string table"`` (printable UTF-8) or ``"raw"``.
        identifier: The four characters that name a FlatBuffer's schema, such as ``"IREE"`` for a
            module or ``"VKE1"`` for a Vulkan executable; else None.
        isa: Instruction set of an ELF file, such as ``"x86_64"``, where it is known; else None.

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
    """A segment as the module's table has it."""

    compression: tuple[int, ...]
    embedded: tuple[int, int] | None
    external_offset: int
    external_length: int


class RodataSegment:
    """A segment of read-only data, inside the FlatBuffer or behind it in the file.

    Attributes:
        external: Whether it stands behind the FlatBuffer.
        external_offset: For an external segment, its offset from ``layout.rodata_base``, in
            bytes; else None.
        compression: 0 for data as it is, 1 for data that is said to be uncompressed; the schema
            has no other.
        index: Its index in the module.
        size: Size in bytes, as it is stored.

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
        """Where the segment is, in bytes from the start of the file.

        Raises:
            FormatError: when a part of it is outside the file.

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
        """The bytes as they are stored, read-only and not copied.

        They keep the file or buffer alive, after the module was closed too. Nothing may shorten
        a mapped file while they are used, and what changes in the file changes in them.

        Raises:
            FormatError: when a part of it is outside the file, or the file has changed.
            CallError: when the module is closed.

        """
        return self._module._bytes(self.offset, self.size)

    @property
    def name(self) -> str | None:
        """The name that the ZIP directory at the end of the file gives to it, or None."""
        if self.external_offset is None:
            return None
        place = self._module.layout.rodata_base + self.external_offset, self.size
        return self._module._names.get(place)

    @property
    def content(self) -> Content:
        """What the segment holds, recognised in its bytes.

        Raises:
            FormatError: as `data` does.
            CallError: when the module is closed.

        """
        view: Any = ffi.from_buffer(self.data)
        return _core.decode(lib.fnabi_rodata_content, _content, view)

    @property
    def kind(self) -> Kind:
        """The kind of its content, such as ``"elf"``; raises as `content` does."""
        return self.content.kind

    def extract(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a new file.

        Raises:
            FileExistsError: when something is there already, be it a link that leads nowhere.
            FormatError: as `data` does.
            OSError: when the file cannot be written.

        """
        data = self.data
        with open(path, "xb") as file:
            file.write(data)

    def __repr__(self) -> str:
        kind = "external" if self.external else "embedded"
        return f"<RodataSegment {self._path} {kind}, {self.size} bytes>"
