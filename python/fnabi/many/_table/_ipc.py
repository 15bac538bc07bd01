"""Arrow's IPC formats, whose compression lets a few bytes stand for many.

pyarrow unpacks the buffers of a batch when it decodes the message that has them. Each message is
therefore measured before, by the lengths that compressed buffers begin with, and pyarrow decodes
nothing but a stream of measured messages, for a file with a footer too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from fnabi._fnabi import lib
from fnabi.many._table._memory import own
from fnabi.many._table._units import Units

_SCHEMA = 1
"""The type of the first message."""

_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
"""The types of a message that has buffers."""

_OLD_COMPRESSION = b"ARROW:experimental_compression"
"""A key in the metadata of messages that have compressed buffers, before Arrow 1.0."""

_MAGIC = b"ARROW1"
_START = 8
"""The position of the first message of a file, after the magic bytes and padding."""

_LENGTH = struct.Struct("<i")
"""The length of a footer, between it and the magic bytes at the end of the file."""

_AROUND = _START + _LENGTH.size + len(_MAGIC)
"""The least size of a file."""

_BLOCK = "<qi4xq"
"""The position of a message, the size of its head, and that of its body."""

_STORED = -1
"""The length of a buffer that compression did not make smaller."""


def read_arrow_stream(file: Any, refuse: Callable[[], Exception]) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a stream, and its batches.

    Args:
        file: The stream, as pyarrow has it.
        refuse: Makes the error for a file whose buffers take too much.

    """
    ipc = import_module("pyarrow").ipc
    return _decoded(_Measured(ipc.MessageReader.open_stream(file), refuse))


def read_arrow_file(
    file: Any, refuse: Callable[[], Exception], units: Units
) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a file with a footer, which has random access, and its batches."""
    pyarrow = import_module("pyarrow")
    known = pyarrow.ipc.open_file(_end(file)).schema  # verifies the footer
    schema, batches = _decoded(_Measured(_listed(file, units.first), refuse))
    if not schema.equals(known):
        raise pyarrow.ArrowInvalid("its footer has another schema")
    return schema, units.batches(batches)


def _end(file: Any) -> Any:
    """Return the footer with what is around it, as a file that pyarrow reads in no thread."""
    size = file.size()
    wanted = min(size, _AROUND)
    tail = file.read_at(wanted, size - wanted)
    if wanted == _AROUND:
        (length,) = _LENGTH.unpack_from(tail, _AROUND - _LENGTH.size - len(_MAGIC))
        if 0 < length <= size - _AROUND:  # otherwise pyarrow says what is wrong
            tail = file.read_at(_AROUND + length, size - _AROUND - length)
    return own(tail)


def _decoded(messages: _Measured) -> tuple[Any, Iterator[Any]]:
    pyarrow = import_module("pyarrow")
    stream = pyarrow.ipc.open_stream(pyarrow.PythonFile(messages, "r"))
    return stream.schema, iter(stream)


def _listed(file: Any, first: int) -> Iterator[Any]:
    """Yield the schema, the dictionaries and the batches of a file as its footer lists them.

    Args:
        file: The file, as pyarrow has it.
        first: The number of the first batch that is wanted.

    """
    pyarrow = import_module("pyarrow")
    size = left = file.size()
    end = size - len(_MAGIC) - _LENGTH.size
    (length,) = _LENGTH.unpack(file.read_at(_LENGTH.size, end))
    tail = file.read_at(length, end - length)
    footer = _Fields.root(tail)
    dictionaries, batches = footer.structs(2, _BLOCK), footer.structs(3, _BLOCK)
    file.seek(_START)
    try:
        yield from islice(pyarrow.ipc.MessageReader.open_stream(file), 1)  # the schema
    except OSError:  # of polars 2, which writes it there without a head
        yield _schema_message(tail)
    replaced = set()
    for at, head, body in (*dictionaries, *islice(batches, first, None)):
        left -= head + body
        if min(at, head, body) < 0 or at + head + body > size or left < 0:
            raise pyarrow.ArrowInvalid("its footer lists messages that overlap, or outside of it")
        try:
            message = pyarrow.ipc.read_message(file.read_at(head + body, at))
        except EOFError:
            raise pyarrow.ArrowInvalid("its footer lists the end of a stream") from None
        fields = _Fields.root(memoryview(message.metadata))
        if message.type == "dictionary" and not (batch := fields.table(2)).number(2, "<?"):
            if (key := batch.number(0, "<q")) in replaced:  # as a stream may
                raise pyarrow.ArrowInvalid("its footer replaces a dictionary")
            replaced.add(key)
        yield message


def _schema_message(footer: bytes) -> Any:
    """Return the message that has the schema of a footer, with its numbers of dictionaries."""
    fields = _Fields.root(memoryview(footer))
    at = fields.table(1).place or 0  # which is no Schema
    version = fields.number(0, "<h")
    # The FlatBuffer of the footer with a Message before it, which refers to the Schema in there.
    head = struct.pack("<I5H2xiIhB5x", 16, 10, 12, 8, 10, 4, 12, at + 12, version, _SCHEMA)
    data = head + footer + bytes(-len(footer) % 8)
    return import_module("pyarrow").ipc.read_message(
        struct.pack("<Ii", 0xFFFFFFFF, len(data)) + data
    )


class _Measured:
    """A stream of messages as a Python file.

    Args:
        messages: The messages, which pyarrow has verified.
        refuse: Makes the error for buffers that take too much.

    """

    closed = False

    def __init__(self, messages: Iterator[Any], refuse: Callable[[], Exception]) -> None:
        self._messages = messages
        self._refuse = refuse
        self._allowed: int = lib.FNABI_ARROW_FREE
        self._parts: list[memoryview] = []

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Do nothing: another owns the file."""

    def read(self, size: int) -> Any:
        """Return the next bytes, without a copy where one message part has them."""
        found: list[memoryview] = []
        while size > 0 and (self._parts or self._advance()):
            part = self._parts[0]
            found.append(part[:size])
            self._parts[:1] = [part[size:]] if len(part) > size else []
            size -= len(found[-1])
        return found[0] if len(found) == 1 else b"".join(found)

    def _advance(self) -> bool:
        message = next(self._messages, None)
        if message is None:
            return False
        metadata, body = memoryview(message.metadata), memoryview(message.body or b"")
        self._allowed -= max(0, _size(metadata, body) - lib.FNABI_ARROW_GROWTH * len(body))
        if self._allowed < 0:
            raise self._refuse()
        head = struct.pack("<Ii", 0xFFFFFFFF, len(metadata))
        self._parts = [memoryview(head), metadata, *([body] if body else [])]
        return True


def _size(metadata: memoryview, body: memoryview) -> int:
    """Return how many bytes the buffers of a message take when they are unpacked."""
    message = _Fields.root(metadata)
    kind = message.number(1, "<B")
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return 0
    batch = message.table(2)
    if kind == _DICTIONARY_BATCH:
        batch = batch.table(1)
    is_packed = batch.find(3) is not None or _OLD_COMPRESSION in bytes(metadata)
    buffers = list(batch.structs(2, "<qq"))
    if not is_packed and len(buffers) <= lib.FNABI_ARROW_GROWTH:  # even if all are the whole body
        return 0
    total = 0
    for at, length in buffers:
        size = min(length, len(body))
        if is_packed and length and 0 <= at <= len(body) - 8:
            (found,) = struct.unpack_from("<q", body, at)
            size = size if found == _STORED else found
        total += max(0, size)
    return total


class _Fields:
    """A table of a FlatBuffer that pyarrow has verified; one that is not there has no fields."""

    def __init__(self, data: memoryview, at: int | None) -> None:
        self._data, self._at = data, at

    @property
    def place(self) -> int | None:
        """The position of the table, or None."""
        return self._at

    @classmethod
    def root(cls, data: memoryview) -> _Fields:
        """Return the table that the first number refers to."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def find(self, slot: int) -> int | None:
        """Return the position of a field, or None."""
        if self._at is None:
            return None
        layout = self._at - struct.unpack_from("<i", self._data, self._at)[0]
        at = 4 + 2 * slot
        if at >= struct.unpack_from("<H", self._data, layout)[0]:
            return None
        (offset,) = struct.unpack_from("<H", self._data, layout + at)
        return self._at + offset if offset else None

    def number(self, slot: int, code: str) -> int:
        """Return a number, by default 0."""
        at = self.find(slot)
        return 0 if at is None else int(struct.unpack_from(code, self._data, at)[0])

    def _follow(self, slot: int) -> int | None:
        at = self.find(slot)
        return None if at is None else at + struct.unpack_from("<I", self._data, at)[0]

    def table(self, slot: int) -> _Fields:
        """Return the table that a field refers to."""
        return _Fields(self._data, self._follow(slot))

    def structs(self, slot: int, code: str) -> Iterator[tuple[int, ...]]:
        """Return the structures of a vector."""
        at = self._follow(slot)
        count = 0 if at is None else struct.unpack_from("<I", self._data, at)[0]
        first = 0 if at is None else at + 4
        return struct.iter_unpack(code, self._data[first : first + count * struct.calcsize(code)])
