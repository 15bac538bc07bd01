"""The exports of many modules as one table.

    >>> from fnabi import vmfb
    >>> table = vmfb.scan("models")  # doctest: +SKIP
    >>> duckdb.sql("select file, function from table where error is null")  # doctest: +SKIP

A scan is a stream of Arrow record batches for every library that reads Arrow data:
``pyarrow.RecordBatchReader.from_stream(table)``, ``polars.DataFrame(table)``, ``duckdb``,
``nanoarrow``. Without any of them `Scan.rows` yields typed objects. Files are read, decoded and
released, some hundred at a time, so memory does not grow with their number.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby, islice
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from fnabi._base import core
from fnabi._base.arguments import iterator_of
from fnabi._base.capsule import Plain, check_memory, export_array, export_schema, export_stream
from fnabi._base.files import Found, Options, reason
from fnabi._base.progress import Advance, Wanted, check_wanted, show
from fnabi._base.text import one_line
from fnabi._base.url import is_remote, public
from fnabi._fnabi import ffi, lib
from fnabi.abi.iree_abi import Signature
from fnabi.errors import ArgumentValueError, FormatError, contrast, not_pickled, type_name
from fnabi.vmfb._export import Source
from fnabi.vmfb._walk import Path, walk

if TYPE_CHECKING:
    from concurrent.futures import Future

    from fnabi.vmfb._remote import RemoteFile

__all__ = ["Path", "Scan", "ScanBatch", "ScanError", "ScanRow"]

_SHOWN = 4
"""The number of paths that the `repr` of a scan shows."""
FILES = 256
"""The most files per crossing."""

_ROWS = 8192
"""The number of rows at which a batch takes no further file."""


class ScanError(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The error of a file, or of the signature of an export.

    Attributes:
        code: A short fixed name as in `FormatError`; ``"file"`` for a file that cannot be read.
        offset: The byte offset from the start of the file, or for an export from the start of
            the attribute's value; None for a file that cannot be read.
        path: The part of the module, such as ``exported_functions[3].local_name``; None for a
            file that cannot be read.
        reason: The fault in words.
        expected: What the format allows there, or None.
        found: What is there instead, as in `FormatError`, or None.

    """

    code: str
    offset: int | None
    path: str | None
    reason: str
    expected: str | None = None
    found: str | None = None

    @property
    def text(self) -> str:
        """The error in words, as in the column ``error`` of tables."""
        return self.reason + contrast(self.expected, self.found)

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        part = f" in {self.path}" if self.path else ""
        return self.reason + place + part + contrast(self.expected, self.found)


class ScanRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An export of a module, or a file that is not a module.

    Attributes:
        file: The file's name as it was given or found.
        module: The module's name; None for a file that is not a module, and then all of the
            following except `error` are None too.
        function: The export's name, without the module's.
        ordinal: Its index among the functions of the module.
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.
        source: The text that the signature was read from, as `vmfb.Export.source`; None where
            that is malformed.
        signature: The typed signature, as `vmfb.Export.signature`; None without a source.
        declaration: The text of ``iree.abi.declaration``; None without it.
        ambiguity: As `vmfb.Export.ambiguity`.
        is_async: As `vmfb.Export.is_async`.
        target: The devices that the module asks for, and their executable formats, such as
            ``"local vmvx-bytecode-fb"``; None where it asks for none.
        parameters: The names of its parameters, ``"model::weight, scale"``; None without any.
        error: The error, or None.

    """

    file: str
    module: str | None
    function: str | None
    ordinal: int | None
    calling_convention: str | None
    source: Source | None
    signature: Signature | None
    declaration: str | None
    ambiguity: Literal["arity", "names", "type"] | None
    is_async: bool | None
    target: str | None
    parameters: str | None
    error: ScanError | None


_rows = core.Decoder(tuple[ScanRow, ...])
_missing = core.Decoder(list[tuple[int, int, int]])


def _shown(path: object) -> str:
    """Return a path as text, or the type of what is none, which reading refuses."""
    return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else type_name(path)


class ScanBatch:
    """Some rows of a scan; as Arrow data, a record batch with the columns of `Scan`."""

    __slots__ = ("_scan",)

    def __init__(self) -> None:
        scan = lib.fnabi_scan_new()
        check_memory(scan == ffi.NULL)
        self._scan = ffi.gc(scan, lib.fnabi_scan_free)

    def __len__(self) -> int:
        count: int = lib.fnabi_scan_rows(self._scan)
        return count

    @property
    def bad(self) -> int:
        """The number of its rows that have an error."""
        count: int = lib.fnabi_scan_bad(self._scan)
        return count

    def rows(self) -> tuple[ScanRow, ...]:
        """Return the rows as typed objects."""
        return core.decode(
            lambda _data, _size, out, room, _error: lib.fnabi_scan_message(self._scan, out, room),
            _rows,
            b"",
        )

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow type of the table, a struct."""
        return _schema()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export the rows as one Arrow struct array, which may outlive the batch.

        `requested_schema` is honoured as by `Columns.__arrow_c_array__`.
        """
        return export_array(
            lib.fnabi_scan_schema, self._fill, requested_schema, "ScanBatch.__arrow_c_array__"
        )

    def _fill(self, array: Any) -> int:
        failed: int = lib.fnabi_scan_array(self._scan, array)
        return failed

    def __reduce__(self) -> NoReturn:
        raise not_pickled("ScanBatch")  # it has the core's memory

    def __repr__(self) -> str:
        return f"<ScanBatch of {len(self)} rows, {self.bad} with errors>"

    def _add_remote(self, file: RemoteFile, lenient: bool) -> bool:
        """Add the rows of a module, and return False if the batch has no space for them.

        Raises:
            FormatError: when the file has changed.
            OSError: when the store does not answer.

        """
        name, error = os.fsencode(file.url), ffi.new("fnabi_error *")
        given = name, len(name), file.data, len(file.data)
        capacity = 1 << 12
        segments: Any = ffi.NULL
        segments_size = 0
        while True:
            out = ffi.new("uint8_t[]", capacity)
            asked = segments, segments_size, lenient, out, capacity
            size = lib.fnabi_scan_data(self._scan, *given, *asked, error)
            if size <= 0:
                return bool(size == 0)
            if size > capacity:
                capacity = size
                continue
            rows = _missing.decode(ffi.buffer(out, size))
            rows = [row for row in rows if row[1] + row[2] <= file.size]
            parts = file.read([row[1:] for row in rows])
            segments = core.pack([(row[0], part) for row, part in zip(rows, parts, strict=True)])
            segments_size = len(segments)

    def _fail(self, file: bytes, code: int, text: str) -> None:
        why = text.encode("utf-8", "replace")
        check_memory(
            lib.fnabi_scan_fail(
                self._scan, file, len(file), code, why, len(why), ffi.new("fnabi_error *")
            )
        )


class Scan:
    r"""All exports of the modules in some files and directories; made by `vmfb.scan`.

    The files are read while the scan is consumed, and again each time; paths from an iterator
    can be read once only. Libraries that read Arrow data see a stream of record batches;
    iterating yields them as `ScanBatch`. The columns::

        file                text: the file's name as it was given or found
        module, function    text: their names
        ordinal             int64
        calling_convention  text, such as "0rIi_r"
        source              dictionary of text: the text that the signature was read from
        inputs, results     list of struct, the nodes of the values in preorder:
            kind            dictionary of text: "scalar", "buffer", "ref", ...
            dtype           dictionary of text: "float32", ..., null where there is none
            shape           list of int64, null where there is no shape, or its rank is not
                            known; a dynamic dim is null
            depth           uint8: the number of nodes it is in
            name            text, null where there is none
            name_bytes      binary: instead, where it is not UTF-8
            ref, ref_bytes  the same of the name of a reference
        declaration         text of "iree.abi.declaration"
        ambiguity           dictionary of text, as `vmfb.Export.ambiguity`
        async               bool, as `vmfb.Export.is_async`
        target              text: devices and executable formats, "local vmvx-bytecode-fb"
        parameters          text: names of parameters, "model::weight, scale"
        error_code          dictionary of text: null where there is no error
        error_offset        int64
        error_path, error   text: the part of the module, and the error in words

    A file that cannot be read or is not a module is a row with its name and an error, and so is a
    folder that cannot be read. An export whose signature is malformed is a row without source,
    inputs and results, and with an error. A module without exports has no row. Bytes of names that
    are not UTF-8 are escaped as ``\xff``.

    Attributes:
        empty: The folders without modules among the paths, as far as the last iteration has come.

    """

    def __init__(
        self,
        paths: Path | Iterable[Path | Found],
        *,
        lenient: bool = False,
        threads: int = 1,
        progress: Wanted = False,
        storage_options: Options = None,
    ) -> None:
        core.check_positive("vmfb.scan", "threads", threads)
        check_wanted(progress, "vmfb.scan")
        if isinstance(paths, (str, os.PathLike)):
            paths = (paths,)
        each = iterator_of("vmfb.scan: paths", paths, "paths or an iterable of them")
        self._once = each is paths
        self._paths: Iterable[Path | Found] | None = paths
        self._lenient = bool(lenient)
        self._threads = threads
        self._progress = progress
        self._options = storage_options
        self._opened: Mapping[str, RemoteFile] = {}
        """Files of stores that are open already, by their names."""
        self.empty: list[str] = []

    def _take_paths(self) -> Iterable[Path | Found]:
        paths = self._paths
        if paths is None:
            raise ArgumentValueError(
                "vmfb.scan: paths: the iterator has been read, expected a list"
            )
        if self._once:
            self._paths = None
        return paths

    def __iter__(self) -> Iterator[ScanBatch]:
        paths = self._take_paths()
        count = size = None
        if self._progress and not self._once:
            count, size = _counted(self._walk(paths))
        files = self._walk(paths)
        chunks = iter(lambda: list(islice(files, FILES)), [])
        with show(self._progress, "scan", "vmfb.scan", files=count, bytes=size) as advance:
            yield from self._run(chunks, self._advanced(advance))

    def _advanced(self, advance: Advance) -> Callable[[list[Found]], None]:
        """Return a function to call with files that are done."""
        if not self._progress:  # for which the sizes are not asked for
            return lambda files: None
        return lambda files: advance(*_counted(files))

    def _walk(self, paths: Iterable[Path | Found]) -> Iterator[Found]:
        self.empty = []
        found = walk(
            paths, "vmfb.scan", empty=self.empty.append, options=self._options, status=False
        )
        yield from found

    def _run(
        self, chunks: Iterable[list[Found]], advance: Callable[[list[Found]], None]
    ) -> Iterator[ScanBatch]:
        stop = Event()
        given = self._lenient, self._options, stop, self._opened
        if self._threads == 1:
            for chunk in chunks:
                yield from _Batches(*given).of(chunk)
                advance(chunk)
            return
        from concurrent.futures import ThreadPoolExecutor  # which imports logging

        running: deque[tuple[list[Found], Future[list[ScanBatch]]]] = deque()
        pool = ThreadPoolExecutor(self._threads, "fnabi-scan")
        try:
            for chunk in chunks:
                done = pool.submit(lambda files: [*_Batches(*given).of(files)], chunk)
                running.append((chunk, done))
                if len(running) > self._threads:
                    chunk, oldest = running.popleft()
                    yield from oldest.result()
                    advance(chunk)
            for chunk, each in running:
                yield from each.result()
                advance(chunk)
        finally:  # when interrupted, without waiting: each thread ends with what it is reading
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def rows(self) -> Iterator[ScanRow]:
        """Yield the rows as typed objects, while the files are read."""
        for batch in self:
            yield from batch.rows()

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow type of the table, a struct."""
        return _schema()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table as a stream of record batches, read while it is consumed.

        `requested_schema` is honoured as by `Columns.__arrow_c_array__`, except that numbers are
        not narrowed, because the values are not known yet. An invalid call, such as an iterator
        that has been read, fails when the consumer reads the stream.
        """
        return export_stream(
            lib.fnabi_scan_schema,
            (batch._fill for batch in self),
            requested_schema,
            "Scan.__arrow_c_stream__",
        )

    def plain(self) -> Plain:
        """Return the table in types that every consumer of Arrow data accepts.

        Strings replace dictionaries, and signed integers replace unsigned ones. Spark, for
        example, has no unsigned integers. The result reads the files as the scan does.
        """
        return Plain(self)

    def __repr__(self) -> str:
        if self._once:
            return "<Scan of the paths of an iterator>"
        paths = (each.path if isinstance(each, Found) else each for each in self._paths or ())
        names = [one_line(public(_shown(path))) for path in paths]
        more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"<Scan of {', '.join(names[:_SHOWN])}{more}>"

    def _repr_html_(self) -> str:
        """Return the view for notebooks, for which the first files are read, but none of stores."""
        from fnabi._base.notebook import ROWS, code, escaped, marked, table, title

        paths = () if self._once else [*islice(self._paths or (), ROWS)]
        names = [each.path if isinstance(each, Found) else _shown(each) for each in paths]
        if not paths or any(map(is_remote, names)):
            return title(self)
        files = [*islice(walk(paths, "vmfb.scan", status=False), ROWS)]
        rows = [*islice(Scan(files, lenient=self._lenient).rows(), ROWS + 1)]
        shown = (
            (
                escaped(row.file),
                code(row.function or ""),
                marked("breaking", row.error.text) if row.error else code(row.signature),
            )
            for row in rows
        )
        is_all = len(files) < ROWS and len(rows) <= ROWS
        more = "" if is_all else f"<p>the first {min(ROWS, len(rows))} rows</p>"
        return title(self) + table(("file", "function", "signature"), shown) + more


def _counted(files: Iterable[Found]) -> tuple[int, int | None]:
    """Return the number of files, and of their bytes, if the size of each is known."""
    count, size = 0, 0
    is_known = True
    for file in files:
        count += 1
        if file.size is not None:
            size += file.size
        elif is_remote(file.path):
            is_known = False
        elif file.error is None:
            with suppress(OSError):
                size += os.stat(file.path).st_size
    return count, size if is_known else None


def _schema() -> object:
    return export_schema(lib.fnabi_scan_schema)


def _kind(file: Found) -> str:
    return "unread" if file.error is not None else "remote" if is_remote(file.path) else "local"


class _Batches:
    """Batches that are filled from one chunk of files."""

    def __init__(
        self, lenient: bool, options: Options, stop: Event, opened: Mapping[str, RemoteFile]
    ) -> None:
        self._batch = ScanBatch()
        self._lenient = lenient
        self._options = options
        self._stop = stop
        self._opened = opened

    def of(self, chunk: list[Found]) -> Iterator[ScanBatch]:
        for kind, group in groupby(chunk, key=_kind):
            files = [*group]
            if kind == "local":
                yield from self._take_local([os.fsencode(file.path) for file in files])
            elif kind == "remote":
                yield from self._take_remote(files)
            else:
                for file in files:
                    self._fail(file.path, file.error or "")
        if len(self._batch):
            yield self._next()

    def _fail(self, path: str | bytes, text: str, code: int = lib.FNABI_FILE) -> None:
        self._batch._fail(os.fsencode(path), code, text)

    def _fail_memory(self, path: str | bytes) -> None:
        self._fail(path, core.code_text(lib.FNABI_MEMORY), lib.FNABI_MEMORY)

    def _next(self) -> ScanBatch:
        full, self._batch = self._batch, ScanBatch()
        return full

    def _take_local(self, files: list[bytes]) -> Iterator[ScanBatch]:
        message = core.pack(files)
        failed, error = ffi.new("int32_t *"), ffi.new("fnabi_error *")
        at = 0
        while at < len(files) and not self._stop.is_set():
            taken = lib.fnabi_scan_files(
                self._batch._scan, message, len(message), at, _ROWS, self._lenient, failed, error
            )
            if taken < 0:
                core.check_interrupt(error.code)
            at += taken if taken >= 0 else error.offset
            if taken >= 0 and failed[0]:
                self._fail(files[at], reason(files[at], failed[0]))
                at += 1
            elif taken < 0 and not len(self._batch):  # it does not fit even alone
                self._fail_memory(files[at])
                at += 1
            elif at < len(files):
                yield self._next()

    def _take_remote(self, files: list[Found]) -> Iterator[ScanBatch]:
        from fnabi.vmfb import _remote as remote

        more = [file for file in files if file.path not in self._opened]
        loaded = iter(remote.open_files(more, self._options, "vmfb.scan"))
        opened = [self._opened.get(file.path) or next(loaded) for file in files]
        del loaded
        for index, file in enumerate(files):
            if self._stop.is_set():
                return
            if len(self._batch) >= _ROWS:
                yield self._next()
            one = opened[index]
            opened[index] = None  # its metadata are not kept
            try:
                if one is None:
                    one = remote.open_file(file.path, self._options, "vmfb.scan")
                if isinstance(one, Exception):
                    raise one
                if not self._batch._add_remote(one, self._lenient):
                    yield self._next()
                    if not self._batch._add_remote(one, self._lenient):
                        self._fail_memory(file.path)
            except FormatError as problem:
                self._fail(file.path, problem.reason)
            except OSError as problem:
                self._fail(file.path, problem.strerror or str(problem))
