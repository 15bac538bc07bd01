"""The border to the C core: one crossing a value, and C errors as exceptions.

Every decoder of the core has the same form (``fnabi.h`` gives the contract), so one function
calls them all; the same holds for the encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Generic, TypeVar

import msgspec

from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, FormatError, RangeError, excerpt

T = TypeVar("T")

_Scratch = tuple[Any, int, Any, memoryview]

_ROOM = 1 << 14
_ROOM_KEPT = 1 << 20
_CODE_INT32: int = lib.FNABI_INT32

# Scratch memory that no thread is using; list.pop and list.append are atomic.
_pool: list[_Scratch] = []


def _scratch(room: int = _ROOM) -> _Scratch:
    out = ffi.new("uint8_t[]", room)
    return out, room, ffi.new("fnabi_error *"), memoryview(ffi.buffer(out)).toreadonly()


def data_bytes(data: object, function: str, argument: str = "data") -> bytes:
    """The bytes of a signature given as bytes, bytearray, memoryview or ASCII str."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        if not data.isascii():
            raise CallError(f"{function}: {argument} must be ASCII when it is a str, or bytes")
        return data.encode("ascii")
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise CallError(
        f"{function}: {argument} must be bytes, bytearray, memoryview or str,"
        f" not {type(data).__name__}"
    )


def check_positive(function: str, argument: str, number: object) -> None:
    """Raise CallError for an argument that is not an int of at least 1."""
    if not isinstance(number, int):
        raise CallError(f"{function}: {argument}: expected int, got {type(number).__name__}")
    if number < 1:
        raise CallError(f"{function}: {argument}: {number} is below 1")


def view(data: object, function: str) -> Any:
    """Any contiguous buffer, so that it crosses without a copy."""
    if data.__class__ is bytes:  # crosses as it is
        return data
    try:
        return ffi.from_buffer(data)
    except (TypeError, ValueError, BufferError) as problem:
        raise CallError(f"{function}: data must be a contiguous buffer: {problem}") from problem


def text_bytes(text: object, function: str = "fnabi", argument: str = "text") -> bytes:
    """The bytes of a text as they stand in a signature: UTF-8, other bytes surrogate-escaped."""
    if not isinstance(text, str):
        return data_bytes(text, function, argument)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as problem:
        raise CallError(f"{function}: {argument}: {problem}") from problem


def format_error(error: Any, data: Any) -> FormatError:
    """The exception for a C error; only bytes are shown, other buffers are not text."""
    expected = None if error.expected == ffi.NULL else ffi.string(error.expected).decode()
    return refusal(error.code, error.offset, ffi.string(error.path), expected, data)


def refusal(code: int, offset: int, path: bytes, expected: str | None, data: object) -> FormatError:
    """The exception for the parts of a C error; only bytes and str are shown."""
    if isinstance(data, str):
        data = data.encode()
    return FormatError(
        code_name(code),
        offset,
        path.decode("utf-8", "replace"),
        reason=code_text(code),
        expected=expected,
        excerpt=excerpt(data, offset) if isinstance(data, bytes) else None,
    )


def call_error(error: Any, function: str) -> CallError:
    """The exception for a C error about an argument of `function`."""
    place = ffi.string(error.path).decode("utf-8", "replace")
    text = f"{function}: {place + ': ' if place else ''}{code_text(error.code)}"
    if error.expected != ffi.NULL:
        text += f", expected {ffi.string(error.expected).decode()}"
    kind = RangeError if error.code == _CODE_INT32 else CallError
    return kind(text)


def code_name(code: int) -> str:
    """The name of a ``fnabi_code``, such as ``"span-end"``."""
    name: str = ffi.string(lib.fnabi_code_name(code)).decode()
    return name


def code_text(code: int) -> str:
    """The text of a ``fnabi_code``."""
    text: str = ffi.string(lib.fnabi_code_text(code)).decode()
    return text


class Decoder(Generic[T]):
    """A decoder of messages that is made when it is first used: not all are in most programs."""

    decode: Callable[[bytes | memoryview], T]

    def __init__(self, type: type[T] | UnionType) -> None:
        self.type = type

    def __getattr__(self, name: str) -> Callable[[bytes | memoryview], T]:
        if name != "decode":
            raise AttributeError(name)
        self.decode = msgspec.msgpack.Decoder(self.type).decode
        return self.decode


def decode(read: Callable[..., int], decoder: Decoder[T], data: Any, *arguments: object) -> T:
    """Call ``read(data, size, *arguments, out, capacity, error)``; build what it answers.

    `data` is bytes, or what ``ffi.from_buffer`` gave.

    Raises:
        FormatError: when the core refuses `data`.

    """
    try:
        scratch = _pool.pop()
    except IndexError:
        scratch = _scratch()
    out, room, error, view = scratch
    if arguments:
        size = read(data, len(data), *arguments, out, room, error)
    else:  # a call without unpacking is 80 ns shorter
        size = read(data, len(data), out, room, error)
    if size > room:
        out, room, error, view = scratch = _scratch(size)
        size = read(data, len(data), *arguments, out, room, error)
    if size < 0:
        try:  # no variable holds the error, whose traceback would then hold itself and the data
            raise format_error(error, data)
        finally:
            _pool.append(scratch)
    value = build(decoder, view[:size])
    if room <= _ROOM_KEPT:
        _pool.append(scratch)
    return value


def build(decoder: Decoder[T], message: bytes | memoryview) -> T:
    """What a message of the core says."""
    try:
        return decoder.decode(message)
    except msgspec.ValidationError:
        return msgspec.convert(_escaped(msgspec.msgpack.decode(message)), decoder.type)


def reader(read: Callable[..., int], decoder: Decoder[T]) -> Callable[[bytes], T]:
    """Give a function that does what `decode` does for one `read` without more arguments.

    It is 70 ns shorter, as long as nothing unusual happens; then `decode` does it all over.
    """
    take, give = _pool.pop, _pool.append

    def run(data: bytes) -> T:
        try:
            scratch = take()
        except IndexError:
            return decode(read, decoder, data)
        out, room, error, view = scratch
        size = read(data, len(data), out, room, error)
        if 0 <= size <= room:
            try:
                return decoder.decode(view[:size])
            except msgspec.ValidationError:
                pass
            finally:
                give(scratch)
        else:
            give(scratch)
        return decode(read, decoder, data)

    return run


def encode(
    write: Callable[..., int], value: object, function: str, *, integers: str = "int32"
) -> bytes:
    """Call ``write(message, size, out, capacity, error)`` on the message of `value`.

    Raises:
        CallError: when the ABI cannot express `value`, naming the part of it.
        RangeError: when an integer is outside `integers`, the type that the ABI has for it.

    """
    try:
        message = _pack(value)
    except OverflowError as problem:
        raise RangeError(f"{function}: an integer is outside {integers}") from problem
    except (TypeError, UnicodeEncodeError, RecursionError) as problem:
        raise CallError(f"{function}: {problem}") from problem
    return fill(write, function, message, len(message))


def fill(write: Callable[..., int], function: str, *arguments: object) -> bytes:
    """Call ``write(*arguments, out, capacity, error)`` and give the bytes that it wrote.

    Raises:
        CallError: when the core refuses the arguments; RangeError for its int32.

    """
    try:
        scratch = _pool.pop()
    except IndexError:
        scratch = _scratch()
    out, room, error, view = scratch
    try:
        size = write(*arguments, out, room, error)
        if size > room:
            out, room, error, view = scratch = _scratch(size)
            size = write(*arguments, out, room, error)
    except OverflowError as problem:
        raise RangeError(f"{function}: {problem}") from problem
    except TypeError as problem:
        raise CallError(f"{function}: {problem}") from problem
    if size >= 0:
        written = bytes(view[:size])
        if room <= _ROOM_KEPT:
            _pool.append(scratch)
        return written
    refused = call_error(error, function)
    _pool.append(scratch)
    raise refused


_encoder = msgspec.msgpack.Encoder()


def _pack(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_unescaped(msgspec.to_builtins(value, builtin_types=(bytes,))))


# Text that is not UTF-8 crosses as a binary, which no typed decoder takes: only then, and only
# for that value, the message is built untyped and its binaries become escaped strings.


def _escaped(value: object) -> object:
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _unescaped(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_unescaped(item) for item in value]
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
