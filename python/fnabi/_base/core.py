"""Calls of the C core: one crossing for each value, and C errors as exceptions.

Every decoder of the core has the same signature (``fnabi.h`` states the contract), so one function
calls them all; the same holds for the encoders. A value crosses as a MessagePack message.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from fnabi._base.arguments import listed
from fnabi._fnabi import ffi, lib
from fnabi.errors import (
    TOO_DEEP,
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    FormatError,
    RangeError,
    contrast,
    excerpt,
    shown_int,
    type_name,
)

T = TypeVar("T")

Data: TypeAlias = bytes | bytearray | memoryview | str
"""A signature or another text of an ABI, as functions accept it."""

_Scratch = tuple[Any, int, Any, memoryview, Any]

_CAPACITY = 1 << 14
"""The size in bytes of new scratch memory; larger messages get their own."""

_CAPACITY_KEPT = 1 << 20
"""The size up to which scratch memory is kept for the next call."""

_OUT_OF_RANGE: tuple[int, ...] = (lib.FNABI_INT32, lib.FNABI_IREE_ABI_DIM)
_CODE_INTERRUPTED: int = lib.FNABI_INTERRUPTED

# Scratch memory that no thread is using; list.pop and list.append are atomic.
_pool: list[_Scratch] = []


def _scratch(capacity: int = _CAPACITY) -> _Scratch:
    out = ffi.new("uint8_t[]", capacity)
    buffer = ffi.buffer(out)
    return out, capacity, ffi.new("fnabi_error *"), memoryview(buffer).toreadonly(), buffer


def data_bytes(data: object, function: str, argument: str = "text") -> bytes:
    """Return the bytes of a signature given as bytes, bytearray, memoryview or ASCII str."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        if not data.isascii():
            raise ArgumentValueError(
                f"{function}: {argument}: non-ASCII character in a str, expected ASCII or bytes"
            )
        return data.encode("ascii")
    if isinstance(data, (bytearray, memoryview)):
        try:
            return bytes(data)
        except ValueError as problem:  # it was released
            raise ArgumentValueError(f"{function}: {argument}: {problem}") from None
    raise ArgumentTypeError(
        f"{function}: {argument}: expected bytes, bytearray, memoryview or str,"
        f" got {type_name(data)}"
    )


def check_positive(function: str, argument: str, number: object) -> None:
    """Raise CallError for an argument that is not an int of at least 1."""
    if not isinstance(number, int):
        raise ArgumentTypeError(
            f"{function}: {argument}: expected int, got {type(number).__name__}"
        )
    if number < 1:
        raise ArgumentValueError(f"{function}: {argument}: {shown_int(number)} is below 1")


def text_of(data: object, function: str, code: str) -> str:
    """Return a text that a parser in Python reads: a str as it is, bytes as UTF-8.

    Raises:
        FormatError: when bytes are not UTF-8, with `code`.

    """
    if isinstance(data, str):
        return data
    found = data_bytes(data, function)
    try:
        return found.decode()
    except UnicodeDecodeError as problem:
        at = problem.start
        raise FormatError(code, at, reason="not UTF-8", excerpt=excerpt(found, at)) from None


def view(data: object, function: str, argument: str = "data") -> Any:
    """Return what crosses without a copy for any contiguous buffer."""
    if data.__class__ is bytes:  # cffi passes bytes as they are
        return data
    try:
        return ffi.from_buffer(data)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: {argument}: expected a contiguous buffer, such as bytes,"
            f" got {type_name(data)}"
        ) from None
    except (ValueError, BufferError) as problem:
        raise ArgumentValueError(
            f"{function}: {argument}: expected a contiguous buffer: {problem}"
        ) from problem


def text_bytes(text: object, function: str = "fnabi", argument: str = "text") -> bytes:
    """Return the bytes of a text: UTF-8, with surrogate escapes as the bytes they represent."""
    if not isinstance(text, str):
        return data_bytes(text, function, argument)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as problem:
        raise ArgumentValueError(f"{function}: {argument}: {problem}") from problem


def int32(value: Any, function: str, argument: str, expected: str = "an int") -> int:
    """Return an argument as a plain int.

    Raises:
        CallError: when it is not an int.
        RangeError: when it does not fit in int32.

    """
    try:
        number = value if type(value) is int else int(operator.index(value))
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: {argument}: expected {expected}, got {type_name(value)}"
        ) from None
    if not -(2**31) <= number < 2**31:
        raise RangeError(f"{function}: {argument}: {shown_int(number)} does not fit in int32")
    return number


def int32_array(values: Iterable[int], function: str, argument: str) -> Any:
    """Copy ints into a C array of int32.

    Raises:
        CallError: when a value is not an int, or a memoryview cannot be read.
        RangeError: when a value does not fit in int32.

    """
    try:
        return ffi.new("int32_t[]", list(listed(f"{function}: {argument}", values)))
    except OverflowError as problem:
        raise RangeError(f"{function}: {argument}: {problem}") from problem
    except TypeError as problem:
        raise ArgumentTypeError(f"{function}: {argument}: expected ints: {problem}") from problem


def format_error(error: Any, data: Any) -> FormatError | MemoryError:
    """Make the exception for a C error; only bytes get an excerpt, other buffers are not text."""
    expected, found = words(error.expected), words(error.found)
    return refusal(error.code, error.offset, ffi.string(error.path), expected, found, data)


def words(text: Any) -> str | None:
    """Return a static text of the core, or None for NULL."""
    return None if text == ffi.NULL else ffi.string(text).decode()


def refusal(
    code: int, offset: int, path: bytes, expected: str | None, found: str | None, data: object
) -> FormatError | MemoryError:
    """Make the exception for the parts of a C error; only bytes and str get an excerpt."""
    check_interrupt(code)
    if code == lib.FNABI_MEMORY:  # what was read may be faultless
        return MemoryError(code_text(code))
    if isinstance(data, str):
        data = data.encode()
    return FormatError(
        code_name(code),
        offset,
        path.decode("utf-8", "replace"),
        reason=code_text(code),
        expected=expected,
        found=found,
        excerpt=excerpt(data, offset) if isinstance(data, bytes) else None,
    )


def check_interrupt(code: int) -> None:
    """Raise the exception of the signal's handler that interrupted the core, if one did."""
    if code == _CODE_INTERRUPTED:
        from fnabi._base import lane

        lane._raise_interrupt()


def call_error(error: Any, function: str) -> CallError:
    """Make the exception for a C error about an argument of `function`."""
    check_interrupt(error.code)
    place = ffi.string(error.path).decode("utf-8", "replace")
    text = f"{function}: {place + ': ' if place else ''}{code_text(error.code)}"
    text += contrast(words(error.expected), words(error.found))
    kind = RangeError if error.code in _OUT_OF_RANGE else ArgumentValueError
    return kind(text)


def code_name(code: int) -> str:
    """Return the name of a ``fnabi_code``, such as ``"span-end"``."""
    name: str = ffi.string(lib.fnabi_code_name(code)).decode()
    return name


def code_text(code: int) -> str:
    """Return the text of a ``fnabi_code``."""
    text: str = ffi.string(lib.fnabi_code_text(code)).decode()
    return text


class Decoder(Generic[T]):
    """A decoder of messages, created on first use: most programs need few of them."""

    decode: Callable[[bytes | memoryview], T]

    def __init__(self, type: type[T] | UnionType) -> None:
        self.type = type

    def __getattr__(self, name: str) -> Callable[[bytes | memoryview], T]:
        if name != "decode":
            raise AttributeError(name)
        self.decode = msgspec.msgpack.Decoder(self.type).decode
        return self.decode


def decode(read: Callable[..., int], decoder: Decoder[T], data: Any, *arguments: object) -> T:
    """Call ``read(data, size, *arguments, out, capacity, error)``; build the value.

    Args:
        read: A decoder of the core; it returns the size of its message, or below 0 on an error.
        decoder: Builds the value from the message.
        data: Bytes, or what ``ffi.from_buffer`` returned.
        arguments: Further arguments of `read`.

    Raises:
        FormatError: when the core refuses `data`.

    """
    try:
        scratch = _pool.pop()
    except IndexError:
        scratch = _scratch()
    out, capacity, error, view, _ = scratch
    if arguments:
        size = read(data, len(data), *arguments, out, capacity, error)
    else:  # a call without unpacking takes 80 ns less
        size = read(data, len(data), out, capacity, error)
    if size > capacity:
        out, capacity, error, view, _ = scratch = _scratch(size)
        size = read(data, len(data), *arguments, out, capacity, error)
    if size < 0:
        try:  # a variable would make a cycle of the error and its traceback, which holds the data
            raise format_error(error, data)
        finally:
            _pool.append(scratch)
    value = build(decoder, view[:size])
    if capacity <= _CAPACITY_KEPT:
        _pool.append(scratch)
    return value


def build(decoder: Decoder[T], message: bytes | memoryview) -> T:
    """Build the value of a message of the core."""
    try:
        return decoder.decode(message)
    except msgspec.ValidationError:
        return msgspec.convert(_escaped(msgspec.msgpack.decode(message)), decoder.type)


def parser(read: Callable[..., int], decoder: Decoder[T]) -> Callable[[bytes], T]:
    """Make a function that does what `decode` does for one `read` without further arguments.

    A call takes 70 ns less. `decode`, its plain equivalent, starts over for anything unusual: an
    error, a message beyond the scratch memory, text that is not UTF-8.
    """
    take, give = _pool.pop, _pool.append

    def run(data: bytes) -> T:
        try:
            scratch = take()
        except IndexError:
            return decode(read, decoder, data)
        out, capacity, error, view, _ = scratch
        size = read(data, len(data), out, capacity, error)
        if 0 <= size <= capacity:
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
    write: Callable[..., int],
    value: object,
    function: str,
    argument: str = "signature",
    *,
    integers: str = "int32",
) -> bytes:
    """Call ``write(message, size, out, capacity, error)`` on the message of `value`.

    Raises:
        CallError: when the ABI cannot express `value`, naming the part of it.
        RangeError: when an integer does not fit in `integers`, the ABI's type for it.

    """
    try:
        try:
            message = pack(value)
        except TypeError:  # such as an integer of NumPy
            message = pack(_plain(value))
    except OverflowError as problem:
        text = f"{function}: {argument}: an integer does not fit in {integers}"
        raise RangeError(text) from problem
    except TypeError as problem:
        raise ArgumentTypeError(f"{function}: {argument}: {problem}") from problem
    except UnicodeEncodeError as problem:
        raise ArgumentValueError(f"{function}: {argument}: {problem}") from problem
    except RecursionError as problem:
        raise ArgumentValueError(f"{function}: {argument}: {TOO_DEEP}") from problem
    return fill(write, function, message, len(message))


def fill(write: Callable[..., int], function: str, *arguments: object) -> bytes:
    """Call ``write(*arguments, out, capacity, error)`` and return the bytes that it wrote.

    Raises:
        CallError: when the core refuses an argument.
        RangeError: when an integer does not fit in int32.

    """
    try:
        scratch = _pool.pop()
    except IndexError:
        scratch = _scratch()
    out, capacity, error, _, buffer = scratch
    try:
        size = write(*arguments + (out, capacity, error))  # noqa: RUF005 - it takes less time
        if size > capacity:
            out, capacity, error, _, buffer = scratch = _scratch(size)
            size = write(*arguments, out, capacity, error)
    except OverflowError as problem:
        raise RangeError(f"{function}: {problem}") from problem
    except TypeError as problem:
        raise ArgumentTypeError(f"{function}: {problem}") from problem
    if size >= 0:
        written: bytes = buffer[:size]
        if capacity <= _CAPACITY_KEPT:
            _pool.append(scratch)
        return written
    refused = call_error(error, function)
    _pool.append(scratch)
    raise refused


encode_into = msgspec.msgpack.Encoder().encode_into
"""Writes the message of a value into a bytearray."""


# Memory for what the encoder writes, which no thread is using.
_buffers: list[bytearray] = []
_take, _give = _buffers.pop, _buffers.append


def pack(value: object) -> bytes:
    """Return the message of a value; text that is not UTF-8 becomes a binary."""
    try:
        buffer = _take()
    except IndexError:
        buffer = bytearray()
    try:  # `encode` of msgspec ends the process where its memory cannot grow
        encode_into(value, buffer)
    except UnicodeEncodeError:
        encode_into(_unescaped(msgspec.to_builtins(value, builtin_types=(bytes,))), buffer)
    message = b"" + buffer  # takes half the time of bytes(buffer)
    if len(message) <= _CAPACITY_KEPT:
        _give(buffer)
    return message


def _plain(value: Any) -> Any:
    """Return a value with plain ints and strs, as those of NumPy are not.

    A hook of msgspec would run their code while msgspec is inside a list, which it may change.
    """
    if isinstance(value, msgspec.Struct):
        return type(value)(*map(_plain, msgspec.structs.astuple(value)))
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or isinstance(value, (bytes, bool, float)):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"expected an int or a type, got {type_name(value)}") from None


# Text that is not UTF-8 crosses as a binary, which typed decoders refuse. Only such a message is
# built untyped, its binaries become escaped strings, and msgspec converts it to the type.


def _escaped(value: object) -> object:
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _unescaped(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_unescaped(item) for item in value]
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
