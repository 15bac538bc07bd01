"""VM bytecode modules (``.vmfb``), read without running them.

The format is IREE's bytecode module schema (``bytecode_module_def.fbs``), a FlatBuffer, plain or
after a ZIP local file header. Opening a module verifies all of it. A table is decoded on first
access, in one crossing to the C core::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     print(module.exports["conv"].signature)
    (float32[10x128x64]) -> (int32[32x8x64])

Text is decoded as UTF-8; other bytes become surrogate escapes. Text that a module lacks is ``""``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from fnabi._base import core, lane
from fnabi._base.arguments import check_type
from fnabi._base.files import READ_MOST, MappedFile, Options, path_text, read_or_map
from fnabi._base.progress import Wanted
from fnabi._base.url import is_remote
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, FormatError, contrast, not_pickled
from fnabi.types import decoder
from fnabi.vmfb import rodata
from fnabi.vmfb._bytes import ModuleBytes, current, decode, flatbuffer, message
from fnabi.vmfb._export import Export, Exports, Source, decode_exports
from fnabi.vmfb._function import VmFunction
from fnabi.vmfb._infer import Proofs, contradictions
from fnabi.vmfb._records import (
    Attributes,
    Dependency,
    DependencyFlags,
    Features,
    Finding,
    FunctionSignature,
    Import,
    ImportFlags,
    Layout,
    Pairs,
    Record,
    RwdataSegment,
    State,
    decode_signatures,
)
from fnabi.vmfb._verdict import (
    Answers,
    Cause,
    Verdict,
    answers,
    asked,
    check_release,
    releases,
)
from fnabi.vmfb.rodata import File, RodataSegment, share_too_much

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from fnabi.vmfb._remote import RemoteFile
    from fnabi.vmfb._scan import Scan
    from fnabi.vmfb._walk import Path
    from fnabi.vmfb.debug import Database
    from fnabi.vmfb.needs import Executable, Needs, Parameter, Rows, Target, Transients

__all__ = [
    "Attributes",
    "Cause",
    "Dependency",
    "DependencyFlags",
    "Export",
    "Exports",
    "Features",
    "Finding",
    "FunctionSignature",
    "Import",
    "ImportFlags",
    "Layout",
    "Module",
    "RodataSegment",
    "RwdataSegment",
    "Source",
    "State",
    "Verdict",
    "VmFunction",
    "from_buffer",
    "open",
    "releases",
    "scan",
    "verify",
]


def __dir__() -> list[str]:
    return __all__


Function = VmFunction
"""The earlier name of `VmFunction`."""

_T = TypeVar("_T")


class _Head(Record, frozen=True):
    layout: Layout
    name: str
    version: int
    requirements: int
    bytecode_version: tuple[int, int]
    attrs: Pairs


_head = core.Decoder(_Head)
_types = core.Decoder(tuple[tuple[str], ...])
_dependencies = core.Decoder(tuple[Dependency, ...])
_imports = core.Decoder(tuple[Import, ...])
_segments = core.Decoder(tuple[rodata.Segment, ...])
_files = core.Decoder(tuple[rodata.File, ...])
_rwdata = core.Decoder(tuple[RwdataSegment, ...])
_state: core.Decoder[State | None] = core.Decoder(State | None)
_Descriptor: TypeAlias = tuple[int, int, int, int, int, int, int]
_descriptors = core.Decoder(tuple[_Descriptor, ...])
_range: core.Decoder[tuple[int, int] | None] = core.Decoder(tuple[int, int] | None)
_findings = core.Decoder(tuple[Finding, ...])

# Fields of the root by their ids in the schema.
_TYPES, _DEPENDENCIES, _IMPORTS, _RODATA = 4, 5, 6, 9
_RWDATA, _STATE, _FUNCTIONS, _BYTECODE, _DEBUG = 10, 11, 12, 14, 15


class Module:
    """An open module, returned by `open` and `from_buffer`.

    Each table is decoded on first access, and kept. A module holds its file or buffer until it is
    closed or deleted, and is a context manager. What was read before stays valid; reading more
    from a closed module raises CallError, and from a changed file FormatError. A pickle has the
    bytes of the whole file, which are verified again; a module from a URL cannot be pickled.

    Example:
        >>> from fnabi import vmfb
        >>> with vmfb.open("examples/classifier.vmfb") as module:
        ...     module.name, module.bytecode_version, [*module.exports]
        ('classifier', (17, 0), ['normalize', 'dense', 'version', '__init'])

    """

    _view: Any
    _lenient = False
    _mapped: MappedFile | None = None
    _remote: RemoteFile | None = None
    _whole: Any = None
    _exports: Exports | None = None
    _signatures: tuple[FunctionSignature, ...] | None = None
    _kept: ModuleBytes | None = None

    def __init__(self, *_: object, **_names: object) -> None:
        raise ArgumentTypeError("vmfb.Module: expected a call of vmfb.open or vmfb.from_buffer")

    @cached_property
    def _head(self) -> _Head:
        head = self._decode(lib.fnabi_vmfb_head, _head)
        if self._remote is None:
            return head
        layout = msgspec.structs.replace(head.layout, file_size=self._remote.size)
        return msgspec.structs.replace(head, layout=layout)

    @property
    def name(self) -> str:
        """The namespace of the module's functions."""
        return self._head.name

    @property
    def version(self) -> int:
        """The version, which other modules may require; unsigned."""
        return self._head.version

    @property
    def requirements(self) -> Features:
        """The features that the module as a whole requires of a runtime."""
        return Features(self._head.requirements)

    @property
    def bytecode_version(self) -> tuple[int, int]:
        """Major and minor version of the bytecode."""
        return self._head.bytecode_version

    @property
    def layout(self) -> Layout:
        """The positions and sizes of the parts of the file."""
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
        if self._exports is None:
            source = flatbuffer(self._view, self._mapped)
            self._exports = Exports(decode_exports(source, self._held))
        return self._exports

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
        """The functions that the module imports, in its order."""
        return self._field(_IMPORTS, _imports)

    @property
    def signatures(self) -> tuple[FunctionSignature, ...]:
        """The calling convention and attributes of each function, in the order of `functions`."""
        if self._signatures is None:
            self._signatures = decode_signatures(flatbuffer(self._view, self._mapped))
        return self._signatures

    @cached_property
    def functions(self) -> tuple[VmFunction, ...]:
        """All internal functions of the module; an export's `ordinal` is an index into them."""
        signatures, rows = self.signatures, self._descriptors
        missing = (None,) * (len(rows) - len(signatures))
        held = self._held
        return tuple(
            VmFunction(*row, signature, ordinal, held)
            for ordinal, (row, signature) in enumerate(
                zip(rows, signatures + missing, strict=False)
            )
        )

    @cached_property
    def _descriptors(self) -> tuple[_Descriptor, ...]:
        """What the module says of each function beside its signature."""
        return self._field(_FUNCTIONS, _descriptors)

    @cached_property
    def rodata(self) -> tuple[RodataSegment, ...]:
        """The segments of read-only data, such as constants and executables."""
        segments = self._field(_RODATA, _segments)
        return tuple(RodataSegment(self, index, each) for index, each in enumerate(segments))

    @cached_property
    def _shares_too_much(self) -> bool:
        return share_too_much(self.rodata, self.layout.file_size)

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        """The names in the ZIP directory by offset and size; none if it is damaged."""
        try:
            files = self._files()
        except FormatError as problem:
            if problem.code != core.code_name(lib.FNABI_MODULE_ZIP):
                raise
            return {}
        return {(file.offset, file.size): file.name for file in reversed(files)}

    def _files(self) -> tuple[File, ...]:
        if self._remote is None:
            return self._decode(lib.fnabi_vmfb_files, _files)
        self._source()  # the module may be closed
        return rodata.remote_files(self._remote)

    @cached_property
    def rwdata(self) -> tuple[RwdataSegment, ...]:
        """The segments of zeroed memory that the module needs."""
        return self._field(_RWDATA, _rwdata)

    @cached_property
    def state(self) -> State | None:
        """The memory that the module needs in each context, or None."""
        return self._field(_STATE, _state)

    @cached_property
    def bytecode(self) -> memoryview:
        """The code of all functions, read-only and without a copy, like `RodataSegment.data`."""
        return self._bytes(*(self._field(_BYTECODE, _range) or (0, 0)))

    @property
    def bytecode_types(self) -> tuple[Proofs | None, ...]:
        """What the bytecode proves of each function, in the order of `functions`.

        None for a function of which nothing is known, because its code is damaged or takes too
        long to follow. An export has the same as its `proofs`.

        Raises:
            FormatError: when the bytecode is of a version other than 15.0, 16.0 and 17.0.

        """
        return self._held.types()

    @cached_property
    def debug(self) -> Database | None:
        """The debug database, or None in a stripped module."""
        from fnabi.vmfb.debug import decoder

        return self._field(_DEBUG, decoder)

    @cached_property
    def _need_rows(self) -> tuple[Rows, tuple[RodataSegment, ...]]:
        """What the bytecode needs, and the segments that were requested to know that."""
        from fnabi.vmfb import needs

        rows = self._decode(lib.fnabi_vmfb_needs, needs.rows)
        if self._remote is None or not rows.missing:
            return rows, ()
        segments = [self.rodata[index] for index in rows.missing]
        segments = [each for each in segments if each.is_inside]
        parts = self._remote.read([(each.offset, each.size) for each in segments])
        given = core.pack([*zip((s.index for s in segments), parts, strict=True)])
        rows = self._decode(lib.fnabi_vmfb_needs_with, needs.rows, given, len(given))
        return rows, tuple(segments)

    @cached_property
    def _needs(self) -> Needs:
        from fnabi.vmfb import needs

        def functions(data: memoryview) -> Exports:
            with _module(data, "vmfb.from_buffer", True) as inner:
                return inner.exports

        rows, size = self._need_rows[0], self.layout.file_size
        return needs.needs_of(rows, self.rodata, functions, size)

    def _placed(self) -> Any:
        """Return the bytes for what looks beyond the FlatBuffer, such as who loads the module.

        Of a remote file these are its executables, and what they are named by; the rest is zero.
        """
        source, remote = self._source(), self._remote
        if remote is None or remote.is_whole or self._whole is not None:
            return source if self._whole is None else self._whole
        segments: set[RodataSegment] = set()
        with suppress(FormatError):  # of code that cannot be read, which needs nothing
            rows, named = self._need_rows
            numbers = {each.segment for each in rows.creations if each.segment is not None}
            some = (self.rodata[each] for each in numbers if each < len(self.rodata))
            segments = {*named, *(each for each in some if each.is_inside)}
        self._whole = remote.placed((each.offset, each.data) for each in segments)
        return self._whole

    @property
    def targets(self) -> tuple[Target, ...]:
        """The devices that the module asks for, and the executable formats that they must run.

        Raises:
            FormatError: when the bytecode is damaged or of an unknown version, and when so many
                executables share names, settings or features that these have 32 times as many
                bytes as the file (``work``).
            CallError: when the module is closed.

        """
        return self._needs.targets

    @property
    def executables(self) -> tuple[Executable, ...]:
        """The device code of the module, in the order in which it is loaded.

        Raises as `targets` does.
        """
        return self._needs.executables

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the module is given at run time, by their uses in the bytecode.

        Raises as `targets` does.
        """
        return self._needs.parameters

    @cached_property
    def transients(self) -> tuple[Transients, ...]:
        """The memory that callers provide for the time of a call, for each function of that kind.

        Raises:
            FormatError: when an export refers to a function that the module does not have.

        """
        found = (export.transients for export in self.exports.values())
        return tuple(each for each in found if each is not None)

    @cached_property
    def skipped(self) -> tuple[Finding, ...]:
        """What was ignored because the module was opened with ``lenient=True``."""
        if not self._lenient:
            return ()
        null = core.code_name(lib.FNABI_MODULE_OFFSET)
        findings = self._check()
        return tuple(finding for finding in findings if finding.code == null)

    def runs_on(
        self, release: str, *, driver: str | None = None, machine: str | None = None
    ) -> Verdict:
        """Tell whether a release of IREE's runtime loads the module, and why if it does not.

        The answer is what the release itself gave when it was asked for each thing that the
        module needs, on x86-64 with the drivers ``local-sync`` and ``local-task``. What was not
        measured, such as drivers of GPUs and other machines, is unknown, not True.

        Args:
            release: One of `releases`, such as ``"3.9.0"``; ``"3.9"`` is the same.
            driver: The driver of the device, such as ``"local-task"``; None for any.
            machine: The machine, such as ``"x86_64"`` or ``"aarch64"``; None for that of the
                executables.

        Raises:
            FormatError: when the bytecode cannot be read, or the file has changed.
            CallError: when an argument is invalid, or the module is closed.
            OSError: when the rest of a remote file cannot be requested, or is larger than the
                address space.

        """
        name = check_release("Module.runs_on", release)
        for argument, value in (("driver", driver), ("machine", machine)):
            if value is not None and not isinstance(value, str):
                found = type(value).__name__
                raise ArgumentTypeError(f"Module.runs_on: {argument}: expected str, got {found}")
        return self._answers(driver, machine).of(name)

    def _answers(self, driver: str | None = None, machine: str | None = None) -> Answers:
        """Return what all releases answer."""
        return decode(self._placed(), lib.fnabi_vmfb_runs_on, answers, *asked(driver, machine))

    def _message(self, read: Any, *arguments: object) -> bytes:
        """Return what a function of the core reads of the module, as its message."""
        return decode(self._placed(), read, message, *arguments)

    def check(self) -> tuple[Finding, ...]:
        """Check the module beyond its structure.

        Errors are ordinals and indexes outside their tables, ranges outside the file or the
        bytecode, tables of functions that differ in length, empty names, imports without the name
        of a module, negative sizes, whatever a lenient opening has ignored, malformed calling
        conventions and signatures, bytes that differ from their checksum in the ZIP directory, and
        a directory that is damaged, as in a file that was cut. Of a remote file, the bytes up to
        the end of its FlatBuffer are compared.
        Notices are bits and kinds that the schema lacks, duplicate names among the imports or the
        exports, and contradictory types in the text of an export and its bytecode. The findings of
        `bytecode.verify` come last. The time is linear in the size of the module, except for
        sorting names.

        Raises:
            FormatError: when parts refer to the same names more often than the size of the module
                allows (``work``), or the file has changed.
            CallError: when the module is closed.

        """
        found = self._check()
        findings = list(found)
        damage = self._damage()
        if damage is not None:
            text = damage.reason + contrast(damage.expected, damage.found)
            findings.append(Finding(damage.code, damage.offset, damage.path, text, "error"))
        exports = self._readable_exports()  # of others, the findings include the error
        from fnabi.vmfb._check import check_exports
        from fnabi.vmfb._instructions import findings as check_bytecode

        findings += check_exports(exports.values())
        findings += [
            Finding("contradiction", None, f"exports[{index}]", text, "notice")
            for index, export in enumerate(exports.values())
            for text in self.contradictions(export)
        ]
        reported = {(finding.code, finding.offset) for finding in findings}
        code = check_bytecode(self._source())
        findings += (each for each in code if (each.code, each.offset) not in reported)
        return tuple(findings)

    def _readable_exports(self) -> Exports:
        """Return the exports, or none where one refers to a function that the module lacks."""
        try:
            return self.exports
        except FormatError as problem:
            if problem.code != core.code_name(lib.FNABI_MODULE_ORDINAL):
                raise
            return Exports()

    def _damage(self) -> FormatError | None:
        """Return how the bytes differ from what the compiler wrote, by the ZIP directory; or None.

        Runtimes do not read the directory.
        """
        from fnabi.vmfb._check import compare_checksums

        try:
            data = memoryview(_buffer(self._source()))
            compare_checksums(self._files(), data, self.layout.file_size)
        except FormatError as problem:
            if problem.code == core.code_name(lib.FNABI_MODULE_ZIP):
                problem.path = "zip_directory"
            elif problem.code != core.code_name(lib.FNABI_MODULE_CHECKSUM):
                raise
            return problem
        return None

    def _check(self) -> tuple[Finding, ...]:
        """Return the findings of the core, to which a remote file ends with its FlatBuffer."""
        findings = self._decode(lib.fnabi_vmfb_check, _findings)
        if self._remote is None:
            return findings
        code = core.code_name(lib.FNABI_MODULE_RANGE)
        inside = {segment.path for segment in self.rodata if segment.is_inside}
        return tuple(
            each
            for each in findings
            if each.code != code or each.path.partition(".")[0] not in inside
        )

    def contradictions(self, export: Export) -> tuple[str, ...]:
        """In which types the text of an export and its bytecode cannot both be right.

        Compared are the dtypes of buffers, but not whether integers are signed, their ranks and
        static dims. Empty for an export without a text that can be read, and where the bytecode
        is of an unknown version.

        Args:
            export: One of `exports`.

        Raises:
            CallError: when `export` is no export.

        """
        check_type("Module.contradictions: export", export, Export)
        source = export.source
        if source not in ("iree.abi", "iree.abi.declaration", "f"):
            return ()
        proofs = export.proofs
        return () if proofs is None else tuple(contradictions(export.signature, source, proofs))

    def close(self) -> None:
        """Release the file or buffer, which is freed when nothing else uses it."""
        self._view = self._mapped = self._remote = self._whole = None
        if self._kept is not None:
            self._kept.close()

    @property
    def closed(self) -> bool:
        """Whether the module is closed."""
        return self._view is None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bytes of the file; a remote one, of which few were read, raises CallError."""
        if self._remote is not None:
            raise not_pickled("Module")
        return _module, (bytes(_buffer(self._source())), "vmfb.from_buffer", self._lenient)

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Module closed>"
        major, minor = self.bytecode_version
        return (
            f"<Module {self.name!r} version {self.version}, bytecode {major}.{minor},"
            f" {self.layout.file_size} bytes>"
        )

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, fact_table, marked, title

        head = title(self)
        if self.closed:
            return head
        try:
            targets = ", ".join(
                f"{target.device} {' '.join(each.format for each in target.executables)}"
                for target in self.targets
            )
        except FormatError:  # bytecode of an unknown version
            targets = ""
        facts = fact_table([("target", code(targets))]) if targets else ""
        try:
            exports = self.exports._repr_html_()
        except FormatError as problem:
            exports = f"<p>{marked('breaking', problem)}</p>"
        return f"{head}{facts}{exports}"

    def _source(self) -> Any:
        return current(self._view, self._mapped)

    def _decode(self, read: Any, decoder: core.Decoder[_T], *arguments: object) -> _T:
        return decode(self._source(), read, decoder, *arguments)

    @property
    def _held(self) -> ModuleBytes:
        """The bytes, which exports and functions hold."""
        if self._kept is None:
            self._kept = ModuleBytes(self._view, self._mapped)
        return self._kept

    def _field(self, number: int, decoder: core.Decoder[_T]) -> _T:
        return self._decode(lib.fnabi_vmfb_field, decoder, number)

    def _bytes(self, offset: int, size: int) -> memoryview:
        view = memoryview(_buffer(self._source()))
        if self._remote is not None and offset + size > len(view):
            return memoryview(self._remote.read([(offset, size)])[0])
        return view.toreadonly()[offset : offset + size]


def open(
    path: str | os.PathLike[str], *, lenient: bool = False, storage_options: Options = None
) -> Module:
    """Open the module in a file. A small file is read, a larger one is memory-mapped.

    Replacing a file is always safe, and so is writing to a small one. When the size or the time
    of modification of a mapped file changes, every later access raises FormatError. A change
    during an access, or within the resolution of the file system's clock, is not noticed: the
    access returns the new contents or raises FormatError. If the file is shortened in such a
    moment, or while `RodataSegment.data` is used, the system may end the process.

    A URL such as ``s3://bucket/model.vmfb`` is read through fsspec: only the FlatBuffer, which is
    followed by the constants and executables. Those are requested when they are used, by
    `RodataSegment.data`, `Module.executables` and others; an object that has changed raises
    FormatError then.

    Args:
        path: The path or URL of the file.
        lenient: Whether to ignore attributes with an empty value in files of compilers up to 3.10,
            which wrote them as invalid FlatBuffers, without the key; `Module.skipped` lists them.
        storage_options: Arguments of the file system of fsspec for a URL; of a registry
            ``username``, ``password``, ``plain_http`` and ``client_kwargs``.

    Raises:
        FormatError: when the file is not a module, or is damaged. Its offset is in the file, its
            path has the names of the schema, such as ``exported_functions[3].local_name``, and
            `found` names the kind of a file that is something else, such as MLIR source.
        CallError: when `path` is not a path, or fsspec or its package for a URL is not installed.
        OSError: when the file cannot be read.

    Example:
        >>> from fnabi import vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> print(module.exports["normalize"].signature)
        (input0: i8[?x64], input1: float32) -> (output0: float32[?x64])

    """
    path = path_text("vmfb.open: path", path)
    if is_remote(path):
        from fnabi.vmfb._remote import open_file

        return open_remote(open_file(path, storage_options, "vmfb.open"), lenient)
    sys.audit("open", path, None, os.O_RDONLY)  # as os.open does
    small = lane.read_small(path, READ_MOST)
    if small is not None:
        return _opened(small, path, lenient, None)
    try:
        data, mapped = read_or_map(path)
    except IsADirectoryError as problem:
        why = f"{problem.strerror}, expected a file; vmfb.scan reads the modules in a folder"
        raise IsADirectoryError(problem.errno, why, path) from None
    return _opened(data, path, lenient, mapped)


def open_remote(remote: RemoteFile, lenient: bool) -> Module:
    """Open a module of which the FlatBuffer has been read from a store, as `open` does."""
    module = _opened(remote.data, remote.url, lenient, None)
    module._remote = remote
    return module


def _opened(
    data: ReadableBuffer, path: str | os.PathLike[str], lenient: bool, mapped: MappedFile | None
) -> Module:
    try:
        module = _module(data, "vmfb.open", lenient)
    except FormatError as problem:
        problem.file = os.fspath(path)
        raise
    if mapped is not None:
        module._mapped = mapped
    return module


_new = object.__new__


def _module(data: ReadableBuffer, function: str, lenient: bool) -> Module:
    """Verify the module in a buffer, and open it."""
    view: Any = data
    if data.__class__ is not bytes:
        view = core.view(data, function)
        data = ffi.buffer(view)
    try:
        _verify(data, lenient)
    except FormatError as problem:
        if not lenient:
            _hint(problem, data)
        raise
    module = _new(Module)
    module._view = view
    if lenient:
        module._lenient = lenient
    return module


def from_buffer(data: ReadableBuffer, *, lenient: bool = False) -> Module:
    """Open the module in a buffer, without a copy.

    The module keeps `data` alive. Every access checks it again: after a change it returns the new
    contents or raises FormatError.

    Args:
        data: The whole file, in any object with the buffer protocol.
        lenient: As for `open`.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    Example:
        >>> from pathlib import Path
        >>> from fnabi import vmfb
        >>> module = vmfb.from_buffer(Path("examples/classifier.vmfb").read_bytes())
        >>> print(module.exports["normalize"].signature)
        (input0: i8[?x64], input1: float32) -> (output0: float32[?x64])

    """
    return _module(data, "vmfb.from_buffer", lenient)


def verify(data: ReadableBuffer) -> None:
    """Verify the module in a buffer against the schema.

    Every table, string and vector is checked to conform to the schema and to be inside the file.
    Bytecode is not checked, nor are references by number: see `Module.check`.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    Example:
        >>> from pathlib import Path
        >>> from fnabi import vmfb
        >>> vmfb.verify(Path("examples/classifier.vmfb").read_bytes())

    """
    if data.__class__ is not bytes:
        data = ffi.buffer(core.view(data, "vmfb.verify"))
    _verify(data, False)


def _hint(problem: FormatError, data: ReadableBuffer) -> None:
    """Add to the error of a strict opening that a lenient one reads the module."""
    if problem.code == core.code_name(lib.FNABI_MODULE_OFFSET):
        with suppress(FormatError):
            _verify(data, True)
            problem.hint = "lenient=True reads it"


def _verify_by_cffi(data: ReadableBuffer, lenient: bool) -> None:
    """Verify a module: the plain equivalent of the fast path."""
    error = ffi.new("fnabi_error *")
    view = ffi.from_buffer(data)
    if lib.fnabi_vmfb_verify(view, len(view), lenient, error) != 0:
        raise core.format_error(error, view)


_verify = _verify_by_cffi if decoder is None else decoder.verify


def _buffer(view: Any) -> ReadableBuffer:
    return view if view.__class__ is bytes else ffi.buffer(view)


def scan(
    paths: Path | Iterable[Path],
    *,
    lenient: bool = False,
    threads: int = 1,
    progress: Wanted = False,
    storage_options: Options = None,
) -> Scan:
    """Return the exports of many modules as one table, which is read as it is consumed.

    A file that cannot be read or is not a module becomes a row with its error. Memory does not
    depend on the number of files: each thread decodes a few hundred files at a time, and reads
    only the FlatBuffer of each.

    Args:
        paths: One or more files, directories and URLs. In a directory and its subdirectories all
            files named ``*.vmfb`` are read, in the order of their names. A URL may be a pattern,
            such as ``gs://bucket/**/*.vmfb``, and is read through fsspec.
        lenient: As for `open`.
        threads: The number of threads that read and decode.
        progress: Whether to show a progress bar on standard error, if that is a terminal; or a
            function that is called with a `Progress` about once a second, and at the end.
        storage_options: As for `open`.

    Raises:
        CallError: when an argument has another type or `threads` is below 1.

    Example:
        >>> from fnabi import vmfb
        >>> for row in vmfb.scan("examples/releases/1.0").rows():
        ...     if row.function == "main":
        ...         print(row.module, row.signature)
        embed (i64[?x?], float32[16x8]) -> (float32[?x?x8])
        project (float32[?x6], float32[6x?]) -> (float32[?x?])
        rank (float32[?x6]) -> (i64[?])
        vision (float32[1x3x224x224], float32[3x10]) -> (float32[1x10])

    """
    from fnabi.vmfb._scan import Scan

    return Scan(
        paths,
        lenient=lenient,
        threads=threads,
        progress=progress,
        storage_options=storage_options,
    )
