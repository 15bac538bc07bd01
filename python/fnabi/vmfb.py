"""VM bytecode modules (``.vmfb``): what they export, read without running anything.

The format is IREE's bytecode module schema (``bytecode_module_def.fbs``), a FlatBuffer, plain or
behind a ZIP local file header. Opening a module verifies all of it; a table becomes objects when
it is first asked for, in one crossing to the C core::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     print(module.exports["conv"].signature)
    (float32[10x128x64]) -> (int32[32x8x64])

Text is UTF-8; other bytes come as surrogate escapes. Text that a module leaves out is ``""``.
"""

from __future__ import annotations

import builtins
import mmap
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from enum import KEEP, IntFlag
from functools import cached_property
from io import FileIO
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, TypeVar, overload

import msgspec

from fnabi import _core, cconv
from fnabi._call import record
from fnabi._fnabi import ffi, lib
from fnabi.debug import Database
from fnabi.declaration import Declaration
from fnabi.declaration import parse as parse_declaration
from fnabi.errors import CallError, FormatError, excerpt
from fnabi.iree_abi import Signature as IreeAbiSignature
from fnabi.raw import parse as parse_raw
from fnabi.sip import Signature as SipSignature
from fnabi.types import Dict, List, Named, Null, Scalar, Signature, Tuple, Type, Unknown, reader

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from fnabi.scan import Path, Scan

__all__ = [
    "Attributes",
    "Dependency",
    "DependencyFlags",
    "Export",
    "Exports",
    "Features",
    "Finding",
    "Function",
    "FunctionSignature",
    "Import",
    "ImportFlags",
    "Layout",
    "Module",
    "RodataSegment",
    "RwdataSegment",
    "Source",
    "State",
    "from_buffer",
    "open",
    "scan",
    "verify",
]

_T = TypeVar("_T")

Source: TypeAlias = Literal["iree.abi", "iree.abi.declaration", "f", "cconv"]
"""The texts that a signature is read from, the best one first."""

_READ_AT_ONCE = 1 << 18
"""Files up to this many bytes are read; mapping and unmapping takes longer."""

_Pairs = tuple[tuple[str, str], ...]


class Features(IntFlag, boundary=KEEP):
    """What a runtime must be able to do, as bits; unknown bits are kept."""

    EXT_F32 = 1 << 0
    EXT_F64 = 1 << 1
    YIELD = 1 << 2
    UNWIND = 1 << 3


class DependencyFlags(IntFlag, boundary=KEEP):
    """How a dependency is resolved, as bits; unknown bits are kept."""

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


class ImportFlags(IntFlag, boundary=KEEP):
    """How an import is resolved, as bits; unknown bits are kept."""

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


class Attributes(Mapping[str, str]):
    """Attributes as a read-only mapping in which the last of equal keys counts.

    Attributes:
        pairs: All of them, equal keys too, in the order of the module.

    """

    __slots__ = ("_last", "pairs")

    _last: dict[str, str]

    def __init__(self, pairs: _Pairs = ()) -> None:
        self.pairs = pairs

    def __getattr__(self, name: str) -> dict[str, str]:
        if name != "_last":  # which is made when it is first used
            raise AttributeError(name)
        self._last = dict(self.pairs)
        return self._last

    def __getitem__(self, key: str) -> str:
        return self._last[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def __repr__(self) -> str:
        return f"Attributes({self.pairs!r})"


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of the message; its fields stand in the order of the message."""


class Layout(_Record, frozen=True):
    """Where the parts of a file are, in bytes from its start.

    Attributes:
        zip_header_bytes: Size of the ZIP local file header, 0 without one.
        flatbuffer_offset: Where the FlatBuffer begins, behind its size prefix.
        flatbuffer_size: Its size.
        rodata_base: What the offsets of external read-only data are relative to.
        file_size: Size of the whole file.

    """

    zip_header_bytes: int
    flatbuffer_offset: int
    flatbuffer_size: int
    rodata_base: int
    file_size: int


class Dependency(_Record, frozen=True):
    """Another module that a module needs.

    Attributes:
        name: Its name.
        minimum_version: The lowest version of it that will do; unsigned.

    """

    name: str
    minimum_version: int
    _flags: int

    @property
    def flags(self) -> DependencyFlags:
        """Whether the module can do without it."""
        return DependencyFlags(self._flags)


class FunctionSignature(_Record, frozen=True):
    """What a module says of how a function is called; by index, one for each function.

    Attributes:
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.

    """

    calling_convention: str = ""
    _pairs: _Pairs = ()

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        return Attributes(self._pairs)


class Import(_Record, frozen=True):
    """A function that a module takes from another one.

    Attributes:
        full_name: Its name with the other module's, such as ``"hal.buffer_view.create"``.

    """

    full_name: str
    _signature: FunctionSignature | None
    _flags: int

    @property
    def module(self) -> str:
        """The other module's name, what stands before the first dot; ``""`` without a dot."""
        module, dot, _ = self.full_name.partition(".")
        return module if dot else ""

    @property
    def name(self) -> str:
        """The name in the other module, what stands behind the first dot."""
        _, dot, name = self.full_name.partition(".")
        return name if dot else self.full_name

    @property
    def flags(self) -> ImportFlags:
        """Whether the module can do without it."""
        return ImportFlags(self._flags)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention that the function must have, such as ``"0rIi_r"``."""
        return (self._signature or _NO_SIGNATURE).calling_convention

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the import."""
        return (self._signature or _NO_SIGNATURE).attrs


class Function(msgspec.Struct, frozen=True, gc=False):
    """A function of a module, exported or not; an export's `ordinal` is its index.

    Attributes:
        bytecode_offset: Where its code begins, in bytes from the start of the module's bytecode.
        bytecode_length: Size of its code in bytes.
        reserved: 0 in every known version.
        block_count: How many blocks its code has.
        i32_register_count: How many 32-bit registers it uses.
        ref_register_count: How many registers for references it uses.
        signature: That of the same index, or None where the module has none.

    """

    bytecode_offset: int
    bytecode_length: int
    _requirements: int
    reserved: int
    block_count: int
    i32_register_count: int
    ref_register_count: int
    signature: FunctionSignature | None

    @property
    def requirements(self) -> Features:
        """What the function asks of a runtime."""
        return Features(self._requirements)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention, such as ``"0rIi_r"``."""
        return (self.signature or _NO_SIGNATURE).calling_convention

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        return (self.signature or _NO_SIGNATURE).attrs


_NO_SIGNATURE = FunctionSignature()


class _Segment(_Record, frozen=True):
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
        size: Size in bytes, as it is stored.

    """

    __slots__ = (
        "_embedded",
        "_module",
        "_path",
        "compression",
        "external",
        "external_offset",
        "size",
    )

    def __init__(self, module: Module, index: int, segment: _Segment) -> None:
        self._module = module
        self._path = f"rodata_segments[{index}]"
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
            raise _error(lib.FNABI_MODULE_RANGE, layout.file_size, self._path)
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

    def __repr__(self) -> str:
        kind = "external" if self.external else "embedded"
        return f"<RodataSegment {self._path} {kind}, {self.size} bytes>"


class RwdataSegment(_Record, frozen=True):
    """Memory that a module wants zeroed; `byte_size` is its size in bytes."""

    byte_size: int


class State(_Record, frozen=True):
    """What a module keeps for each context that it is loaded into.

    Attributes:
        global_bytes_capacity: Bytes for its global numbers.
        global_ref_count: How many global references it has.

    """

    global_bytes_capacity: int
    global_ref_count: int


class Finding(_Record, frozen=True):
    """Something about a module that is wrong, or worth a look.

    Attributes:
        code: What, a short fixed name such as ``"module-ordinal"``, as in FormatError.
        offset: Where, in bytes from the start of the file; for an attribute that cannot be read,
            from the start of its value; None for what is not at one place.
        path: In which part, such as ``exported_functions[3].internal_ordinal``.
        text: The same as `code`, in words.
        severity: ``"error"``, or ``"notice"`` for what may be meant so.

    """

    code: str
    offset: int | None
    path: str
    text: str
    severity: Literal["error", "notice"]

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        part = f" in {self.path}" if self.path else ""
        return f"{self.severity}: {self.text}{place}{part}"


class _Problem(_Record, frozen=True):
    code: int
    offset: int
    expected: str | None
    path: str
    key: str | None  # None: the calling convention


class _Rest(_Record, frozen=True):
    """What few ask of an export: it stays the message that it came in until then."""

    texts: tuple[str, ...]  # keys and values in turn
    source: Source | None
    doubt: Literal["arity", "names", "type"] | None
    problem: _Problem | None
    sip: SipSignature | None
    sip_problem: _Problem | None


class Export(_Record, frozen=True):
    """A function that a module exports.

    Attributes:
        name: Its name, without the module's.
        ordinal: Its index among the functions of the module.
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.
        signature: The typed signature, from the best text that the module has for this function.
            That is the first of ``iree.abi``, ``iree.abi.declaration``, ``f`` (the raw ABI) and
            the calling convention, which there always is; `source` says which. The texts are
            not merged, and may differ: see `disagreements`. A declaration that cannot be read
            is passed over, for frontends may put any text there. Where that text is malformed or
            of another version, `signature` raises FormatError: its offset is in the attribute's
            value, its path such as ``exports[2].attrs["f"].inputs[0]``.

    """

    name: str
    ordinal: int
    calling_convention: str
    signature: IreeAbiSignature
    _message: bytes

    @property
    def _rest(self) -> _Rest:
        return _core.build(_rest, self._message)

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        texts = iter(self._rest.texts)
        return Attributes(tuple(zip(texts, texts, strict=True)))

    @property
    def source(self) -> Source | None:
        """Which text `signature` was read from; None where it is malformed."""
        return self._rest.source

    @property
    def doubt(self) -> Literal["arity", "names", "type"] | None:
        """Why a declaration that `signature` was read from may have another reading, or None.

        As in `declaration.Declaration.doubt`.
        """
        return self._rest.doubt

    @property
    def declaration(self) -> Declaration | None:
        """All that ``iree.abi.declaration`` says, its attributes too; None without it.

        Raises:
            FormatError: when it cannot be read as a declaration.

        """
        text = self.attrs.get("iree.abi.declaration")
        if text is None:
            return None
        known = self.calling_convention.startswith("0")
        arguments, _, results = self.calling_convention[1:].partition("_")
        inputs, outputs = (
            side if known and (side == "v" or not side.strip("iIfFr")) else None
            for side in (arguments, results)
        )
        return parse_declaration(text, inputs=inputs, results=outputs)

    @property
    def problem(self) -> FormatError | None:
        """What is wrong with a text that `signature` would have been read from, or None."""
        problem = self._rest.problem
        return None if problem is None else self._error(problem)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """In what `signature` and the calling convention differ: counts, and types of registers.

        An async function has two references more than its text tells, the fences that it waits
        for and signals. A type whose register is not known agrees with any. Nothing is compared
        where a text cannot be read.
        """
        return tuple(_disagreements(self))

    @property
    def raw(self) -> Signature | None:
        """The signature of the raw ABI, in ``f`` (version ``fv``), also where `source` is another.

        Raises:
            FormatError: when the attribute is malformed or of another version, as for `signature`.

        """
        rest = self._rest
        if rest.source == "f":
            return self.signature
        if rest.source is None and rest.problem is not None and rest.problem.key in ("f", "fv"):
            raise self._error(rest.problem)
        attrs = self.attrs
        if "f" not in attrs:
            return None
        if attrs.get("fv", "1") != "1":
            code = lib.FNABI_VERSION
            raise FormatError(
                _core.code_name(code),
                0,
                'attrs["fv"]',
                reason=_core.code_text(code),
                expected='"1"',
            )
        try:
            return parse_raw(_core.text_bytes(attrs["f"]))
        except FormatError as problem:
            problem.path = f'attrs["f"].{problem.path}'.rstrip(".")
            raise

    def _raw_problem(self) -> FormatError | None:
        try:
            _ = self.raw
        except FormatError as problem:
            return problem
        return None

    @property
    def sip(self) -> SipSignature | None:
        """How flat values nest, read from the SIP ABI's ``sip`` (version ``sipv``); or None.

        The earlier form, ``abi`` of ``sip`` with the version in ``abiv``, is read as well.

        Raises:
            FormatError: as for `signature`.

        """
        rest = self._rest
        if rest.sip_problem is not None:
            raise self._error(rest.sip_problem)
        return rest.sip

    @property
    def result_allocator(self) -> str | None:
        """Name of the function that allocates results of dynamic shape (``fbr``), or None."""
        return self.attrs.get("fbr")

    def _error(self, problem: _Problem) -> FormatError:
        text = self.calling_convention if problem.key is None else self.attrs[problem.key]
        return FormatError(
            _core.code_name(problem.code),
            problem.offset,
            problem.path,
            reason=_core.code_text(problem.code),
            expected=problem.expected,
            excerpt=excerpt(_core.text_bytes(text), problem.offset),
        )

    def __repr__(self) -> str:
        return f"<Export {self.name!r} {self.signature}>"


class _Unreadable(Export, frozen=True):
    """An export whose best text cannot be read."""

    @property  # type: ignore[misc]
    def signature(self) -> IreeAbiSignature:
        problem = self._rest.problem
        assert problem is not None
        raise self._error(problem)

    def __repr__(self) -> str:
        return f"<Export {self.name!r} {self.calling_convention}>"


_REGISTERS = {"float32": "f32", "float64": "f64", "index": "i64"}


def _register(type: Type) -> str | None:
    """The register that a value of the type travels in; None where that is not known."""
    if isinstance(type, Named):
        return _register(type.type)
    if isinstance(type, (Null, Unknown)):
        return None
    if not isinstance(type, Scalar):
        return "ref"
    dtype = type.dtype
    if dtype.kind in ("signed", "unsigned", "signless") and dtype.bits > 32:
        return "i64" if dtype.bits <= 64 else None
    return _REGISTERS.get(str(dtype), None if dtype.kind == "complex" else "i32")


def _disagreements(export: Export) -> Iterator[str]:
    source = export.source
    if source in (None, "cconv"):
        return
    try:
        convention = cconv.parse(_core.text_bytes(export.calling_convention))
    except FormatError:
        return
    inputs, results = export.signature.inputs, export.signature.results
    if source == "iree.abi" and len(results) == 1:
        match results[0]:  # a structure alone is spread over the results
            case List(items) | Tuple(items):
                results = items
            case Dict(items):
                results = tuple(type for _, type in items)
    arguments = convention.arguments
    attrs = export.attrs
    is_async = attrs.get("iree.abi.model") == "coarse-fences" or attrs.get(
        "iree.abi.declaration", ""
    ).startswith("async ")
    if is_async and arguments[-2:] == ("ref", "ref"):
        arguments = arguments[:-2]
    for side, types, registers in (
        ("inputs", inputs, arguments),
        ("results", results, convention.results),
    ):
        if len(types) != len(registers):
            yield (
                f"{side}: {len(types)} in {source}, {len(registers)} in the calling"
                f" convention {export.calling_convention}"
            )
            continue
        for index, (type, register) in enumerate(zip(types, registers, strict=True)):
            if _register(type) not in (None, register):
                yield (
                    f"{side}[{index}]: {type} in {source}, {register} in the calling"
                    f" convention {export.calling_convention}"
                )


class Exports(tuple[Export, ...]):
    """The exports of a module in their order, also found by name.

    ``exports["mm"]`` is the first one of that name and raises KeyError where there is none;
    ``"mm" in exports`` asks.
    """

    @cached_property
    def _by_name(self) -> dict[str, Export]:
        return {export.name: export for export in reversed(self)}

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Export: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Export, ...]: ...
    @overload
    def __getitem__(self, key: str, /) -> Export: ...
    def __getitem__(self, key: SupportsIndex | slice | str, /) -> Export | tuple[Export, ...]:
        if isinstance(key, str):
            return self._by_name[key]
        return super().__getitem__(key)

    def __contains__(self, key: object, /) -> bool:
        if isinstance(key, str):
            return key in self._by_name
        return super().__contains__(key)


class _Head(_Record, frozen=True):
    layout: Layout
    name: str
    version: int
    requirements: int
    bytecode_version: tuple[int, int]
    attrs: _Pairs


_verify, _export, _signature = reader.verify, record(Export), record(IreeAbiSignature)
_head = _core.Decoder(_Head)
_rest = _core.Decoder(_Rest)
_types = _core.Decoder(tuple[tuple[str], ...])
_dependencies = _core.Decoder(tuple[Dependency, ...])
_imports = _core.Decoder(tuple[Import, ...])
_signatures = _core.Decoder(tuple[FunctionSignature, ...])
_segments = _core.Decoder(tuple[_Segment, ...])
_rwdata = _core.Decoder(tuple[RwdataSegment, ...])
_state: _core.Decoder[State | None] = _core.Decoder(State | None)
_descriptors = _core.Decoder(tuple[tuple[int, int, int, int, int, int, int], ...])
_range: _core.Decoder[tuple[int, int] | None] = _core.Decoder(tuple[int, int] | None)
_debug: _core.Decoder[Database | None] = _core.Decoder(Database | None)
_findings = _core.Decoder(tuple[Finding, ...])

# Fields of the root by their ids in the schema.
_TYPES, _DEPENDENCIES, _IMPORTS, _SIGNATURES, _RODATA = 4, 5, 6, 8, 9
_RWDATA, _STATE, _FUNCTIONS, _BYTECODE, _DEBUG = 10, 11, 12, 14, 15


class _Mapped:
    """A mapped file, and whether it is still what it was."""

    def __init__(self, file: FileIO) -> None:
        self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        status = os.fstat(self._file)
        self._size, self._time = status.st_size, status.st_mtime_ns

    def check(self) -> None:
        status = os.fstat(self._file)
        if (status.st_size, status.st_mtime_ns) != (self._size, self._time):
            cut = status.st_size < self._size
            raise _error(lib.FNABI_MODULE_CHANGED, status.st_size if cut else 0, "")


class Module:
    """An opened module; made by `open` and `from_buffer`.

    Each table is decoded when it is first asked for, and kept. A module keeps what it reads from
    until it is closed or dropped, and works as a context manager. What was read before stays
    valid after that; to read more raises CallError, and FormatError where the file has changed.
    """

    _lenient = False
    _mapped: _Mapped | None = None
    _exports: Exports | None = None

    def __init__(
        self, data: ReadableBuffer, function: str, lenient: bool, mapped: _Mapped | None = None
    ) -> None:
        if lenient:
            self._lenient = lenient
        if mapped is not None:
            self._mapped = mapped
        self._view: Any = _verified(data, function, lenient)

    @cached_property
    def _head(self) -> _Head:
        return self._decode(lib.fnabi_vmfb_head, _head)

    @property
    def name(self) -> str:
        """The namespace of the module's functions."""
        return self._head.name

    @property
    def version(self) -> int:
        """The version that other modules may ask for; unsigned."""
        return self._head.version

    @property
    def requirements(self) -> Features:
        """What the module as a whole asks of a runtime."""
        return Features(self._head.requirements)

    @property
    def bytecode_version(self) -> tuple[int, int]:
        """Major and minor version of the bytecode."""
        return self._head.bytecode_version

    @property
    def layout(self) -> Layout:
        """Where the parts of the file are."""
        return self._head.layout

    @cached_property
    def attrs(self) -> Attributes:
        """The attributes of the module."""
        return Attributes(self._head.attrs)

    @property
    def exports(self) -> Exports:
        """The exported functions.

        Raises:
            FormatError: when an export refers to a function that the module does not have.

        """
        if self._exports is not None:
            return self._exports
        source = self._source()
        if source.__class__ is not bytes:  # what changes while it is read is copied first
            layout = self.layout
            source = ffi.buffer(source)[: layout.flatbuffer_offset + layout.flatbuffer_size]
        try:
            self._exports = Exports(reader.exports(source, _export, _signature, _Unreadable))
            return self._exports
        except FormatError as problem:
            problem.excerpt = None
            raise

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The full names of the types that the module uses, such as ``"!hal.buffer_view"``."""
        return tuple(name for (name,) in self._field(_TYPES, _types))

    @cached_property
    def dependencies(self) -> tuple[Dependency, ...]:
        """The modules that the imports come from."""
        return self._field(_DEPENDENCIES, _dependencies)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """The functions that the module takes from others, in its order."""
        return self._field(_IMPORTS, _imports)

    @cached_property
    def signatures(self) -> tuple[FunctionSignature, ...]:
        """What the module says of how its functions are called, in the order of `functions`."""
        return self._field(_SIGNATURES, _signatures)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions of the module, exported or not; an export's `ordinal` is an index."""
        signatures = self.signatures
        rows = self._field(_FUNCTIONS, _descriptors)
        missing = (None,) * (len(rows) - len(signatures))
        return tuple(
            Function(*row, signature)
            for row, signature in zip(rows, signatures + missing, strict=False)
        )

    @cached_property
    def rodata(self) -> tuple[RodataSegment, ...]:
        """The segments of read-only data, such as constants and executables."""
        segments = self._field(_RODATA, _segments)
        return tuple(RodataSegment(self, index, each) for index, each in enumerate(segments))

    @cached_property
    def rwdata(self) -> tuple[RwdataSegment, ...]:
        """The segments of memory that the module wants zeroed."""
        return self._field(_RWDATA, _rwdata)

    @cached_property
    def state(self) -> State | None:
        """What the module keeps for each context, or None."""
        return self._field(_STATE, _state)

    @cached_property
    def bytecode(self) -> memoryview:
        """The code of all functions, read-only and not copied; as for `RodataSegment.data`."""
        return self._bytes(*(self._field(_BYTECODE, _range) or (0, 0)))

    @cached_property
    def debug(self) -> Database | None:
        """The debug database, or None where it was stripped."""
        return self._field(_DEBUG, _debug)

    @cached_property
    def skipped(self) -> tuple[Finding, ...]:
        """What a lenient reading has passed over; empty unless the module was opened so."""
        if not self._lenient:
            return ()
        null = _core.code_name(lib.FNABI_MODULE_OFFSET)
        findings = self._decode(lib.fnabi_vmfb_check, _findings)
        return tuple(finding for finding in findings if finding.code == null)

    def check(self) -> list[Finding]:
        """Look for what is wrong with the module beyond its structure.

        Errors are ordinals and indexes outside their tables, ranges outside the file or the
        bytecode, tables of functions that differ in length, empty names, negative sizes, what a
        lenient reading has passed over, and calling conventions and signatures in attributes that
        cannot be read. Notices are bits and kinds that the schema does not know, and names that
        occur again among the imports or the exports. Bytecode is not looked at. The time it takes
        is linear in the module's size, but for sorting names.

        Raises:
            FormatError: when parts refer to the same names more often than the module's size
                allows (``work``), or the file has changed.
            CallError: when the module is closed.

        """
        found = self._decode(lib.fnabi_vmfb_check, _findings)
        findings = list(found)
        try:
            exports = self.exports
        except FormatError as problem:
            if problem.code != _core.code_name(lib.FNABI_MODULE_ORDINAL):
                raise
            return findings  # which say so
        for index, export in enumerate(exports):
            where = f"exports[{index}]"
            rest = export._rest
            problems = ((rest.problem, rest.source is not None), (rest.sip_problem, False))
            for text_problem, passed_over in problems:
                if text_problem is not None and text_problem.key is not None:  # else: found above
                    findings.append(
                        Finding(
                            _core.code_name(text_problem.code),
                            text_problem.offset,
                            text_problem.path,
                            _core.code_text(text_problem.code),
                            "notice" if passed_over else "error",
                        )
                    )
            if rest.source != "f" and "f" in rest.texts[::2]:
                fault = export._raw_problem()
                if fault is not None and not fault.path.startswith(where):  # else: told
                    place = fault.offset, f"{where}.{fault.path}"
                    findings.append(Finding(fault.code, *place, fault.reason, "error"))
            findings += [
                Finding("disagreement", None, where, text, "notice")
                for text in export.disagreements
            ]
            if rest.doubt is not None:
                text = f"the declaration may have another reading: {rest.doubt}"
                findings.append(Finding("doubt", None, where, text, "notice"))
        return findings

    def close(self) -> None:
        """Let go of the file or buffer; it is freed when nothing else uses it."""
        self._view = self._mapped = None

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._view is None:
            return "<Module closed>"
        major, minor = self.bytecode_version
        return (
            f"<Module {self.name!r} version {self.version}, bytecode {major}.{minor},"
            f" {self.layout.file_size} bytes>"
        )

    def _source(self) -> Any:
        # A call that is running has its own reference, so closing cannot pull the memory away.
        view, mapped = self._view, self._mapped
        if view is None:
            raise CallError("vmfb.Module: the module is closed")
        if mapped is not None:
            mapped.check()
        return view

    def _decode(self, read: Any, decoder: _core.Decoder[_T], *arguments: object) -> _T:
        try:
            return _core.decode(read, decoder, self._source(), *arguments)
        except FormatError as problem:
            problem.excerpt = None  # a module is no text to show
            raise

    def _field(self, number: int, decoder: _core.Decoder[_T]) -> _T:
        return self._decode(lib.fnabi_vmfb_field, decoder, number)

    def _bytes(self, offset: int, size: int) -> memoryview:
        view = memoryview(_buffer(self._source()))
        return view.toreadonly()[offset : offset + size]


def open(path: str | os.PathLike[str], *, lenient: bool = False) -> Module:
    """Open a module in a file. A small one is read, a larger one mapped.

    A small file may change afterwards. When a mapped one does, its size or its time of last
    change, whatever is read later raises FormatError. A change is not noticed while a read is
    under way, nor where the file system's clock does not tell it from the opening; what is read
    then is either of the new contents or an error. But when the file is cut in such a moment, or
    while bytes of `RodataSegment.data` are used, systems end a process that reads behind the new
    end. Replacing a file, rather than writing to it, is always safe.

    Args:
        path: Of the file.
        lenient: Whether to read files that compilers up to 3.10 wrote for attributes whose value
            is empty, which are no FlatBuffers. Such an attribute is passed over, its key being
            lost too; `Module.skipped` says where.

    Raises:
        FormatError: when the file is no module or damaged; its offset is in the file, its path
            in the names of the schema, such as ``exported_functions[3].local_name``.
        OSError: when the file cannot be read.

    """
    with builtins.open(path, "rb", buffering=0) as file:
        # The size of what cannot be mapped, such as a pipe, is 0.
        if os.fstat(file.fileno()).st_size <= _READ_AT_ONCE:
            return Module(file.readall(), "vmfb.open", lenient)
        mapped = _Mapped(file)
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Module(data, "vmfb.open", lenient, mapped)


def from_buffer(data: ReadableBuffer, *, lenient: bool = False) -> Module:
    """Open a module in memory, in any object with the buffer protocol; it is not copied.

    The module keeps `data` alive. If `data` changes meanwhile, what is read later is checked
    again and is either of the new contents or an error.

    Args:
        data: The whole file.
        lenient: As for `open`.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    """
    return Module(data, "vmfb.from_buffer", lenient)


def verify(data: ReadableBuffer) -> None:
    """Verify a module in memory against the schema.

    Every table, string and vector is checked to fit the schema and to lie inside. Bytecode and
    what numbers refer to are not; `Module.check` looks at the latter.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    """
    _verified(data, "vmfb.verify", False)


def _verified(data: ReadableBuffer, function: str, lenient: bool) -> Any:
    """What reads of a module cross with: bytes as they are, or what ``ffi.from_buffer`` gives."""
    view: Any = data
    if data.__class__ is not bytes:
        view = _core.view(data, function)
        data = ffi.buffer(view)
    try:
        _verify(data, lenient)
    except FormatError as problem:
        problem.excerpt = None  # a module is no text to show
        raise
    return view


def _buffer(view: Any) -> ReadableBuffer:
    return view if view.__class__ is bytes else ffi.buffer(view)


def scan(
    paths: Path | Iterable[Path],
    *,
    lenient: bool = False,
    threads: int = 1,
    progress: bool = False,
) -> Scan:
    """Make one table of the exports of many modules; nothing is read before it is consumed.

    A file that cannot be read or is no module is a row with its error, and costs the others
    nothing. Memory does not depend on the number of files: of each no more is read than its
    FlatBuffer, and some hundred files are decoded at a time, for each thread.

    Args:
        paths: Files and directories, one or an iterable of them. Of a directory all files named
            ``*.vmfb`` are read, in the order of their names, and those of the directories in it.
        lenient: As for `open`.
        threads: How many read and decode at once.
        progress: Whether to show a bar on standard error, where that is a terminal.

    Raises:
        CallError: when an argument is something else.

    """
    from fnabi.scan import Scan

    return Scan(paths, lenient=lenient, threads=threads, progress=progress)


def _error(code: int, offset: int, path: str) -> FormatError:
    return FormatError(_core.code_name(code), offset, path, reason=_core.code_text(code))
