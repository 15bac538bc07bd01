"""Streams of devices, and the type of the tensors that calls return.

A call with tensors of a framework that has a DLPack exchange API, such as torch, runs in that
framework's environment, which is decided once, when its arguments are converted:

* The first tensor that is not in memory of the CPU determines the device, whose current stream its
  framework reports. Functions see it as ``TVMFFIEnvGetStream``. It is set back afterwards, also
  after an error.
* The last tensor determines the framework: its allocator is that of ``TVMFFIEnvTensorAlloc`` during
  the call, and tensors of the result are tensors of the framework, also in containers, and as
  arguments of callbacks that the function calls on the same thread.

A tensor that comes back as it was passed is the same Python object. Tensors in lists, tuples and
dicts count. Without such a tensor, fnabi allocates memory of the CPU, and results are
`fnabi.Tensor`. `use_tensors` decides instead of the arguments; `use_raw_stream` and
`use_torch_stream` set a stream for functions that get no tensor. A row map (`fnabi.Function.map`)
runs as a whole in the environment of its first row, and its `fnabi.AnyArray` gives tensors of that
framework. Document: the stable C ABI of TVM-FFI, environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

from fnabi._base import lane
from fnabi._base.arguments import argument_error, check_attribute
from fnabi._base.packages import why_unusable
from fnabi.calls.tensor import Device, dlpack_device
from fnabi.errors import ArgumentValueError, CallError, MissingPackageError, RangeError, shown_int

__all__ = ["get_raw_stream", "use_raw_stream", "use_tensors", "use_torch_stream"]


def __dir__() -> list[str]:
    return __all__


def get_raw_stream(device: Device | object) -> int:
    """Return the current stream of a device for this thread: its handle, 0 for the default.

    Raises:
        CallError: If `device` is no device.

    Example:
        >>> import fnabi
        >>> fnabi.get_raw_stream(fnabi.Device("cuda"))
        0

    """
    return lane.get_stream(*_parts("get_raw_stream", device))


@contextmanager
def use_raw_stream(device: Device | object, stream: object) -> Iterator[None]:
    """Set the current stream of a device for this thread, and set it back at the end.

    Args:
        device: A `Device`, or a device of torch or tvm_ffi.
        stream: The handle, an int or a ``ctypes.c_void_p``, or an object with
            ``__cuda_stream__`` of version 0.

    Raises:
        CallError: If `device` is no device, or `stream` is none of these.

    Example:
        >>> import fnabi
        >>> device = fnabi.Device("cuda")
        >>> with fnabi.use_raw_stream(device, 4096):
        ...     fnabi.get_raw_stream(device)
        4096
        >>> fnabi.get_raw_stream(device)
        0

    """
    old = set_raw_stream(device, stream)
    try:
        yield
    finally:
        set_raw_stream(device, old)


def set_raw_stream(device: Device | object, stream: object) -> int:
    """Set the current stream as `use_raw_stream` does, and return the former one."""
    return _set(*_parts("use_raw_stream", device), _handle(stream))


def _parts(function: str, device: object) -> tuple[int, int]:
    try:
        return dlpack_device(device)
    except CallError as problem:
        raise type(problem)(f"{function}: device: {problem}") from None


def _handle(stream: Any) -> int:
    if hasattr(stream, "__cuda_stream__"):
        given = stream.__cuda_stream__()
        if not isinstance(given, tuple) or len(given) != 2 or given[0] != 0:
            expected = "0 and a handle from __cuda_stream__()"
            raise argument_error("use_raw_stream: stream", expected, given, tuple)
        stream = given[1]
    elif hasattr(stream, "value"):  # of ctypes
        stream = stream.value or 0
    if not isinstance(stream, int):
        raise argument_error("use_raw_stream: stream", "a handle", stream)
    if not 0 <= stream < 1 << 64:
        raise RangeError(f"use_raw_stream: stream: expected a handle, got {shown_int(stream)}")
    return stream


def _set(kind: int, number: int, handle: int) -> int:
    if kind < 0 or number < 0:
        raise ArgumentValueError(
            "use_raw_stream: device: expected a type and an index of 0 or more"
        )
    return lane.set_stream(kind, number, handle)


@contextmanager
def use_torch_stream(context: AbstractContextManager[Any] | None = None) -> Iterator[None]:
    """Set torch's current CUDA stream for functions of this thread.

    Args:
        context: What is entered first, such as ``torch.cuda.stream(s)`` or
            ``torch.cuda.graph(g)``; it is left last.

    Raises:
        CallError: If torch is not installed, or `context` is no context manager. Where torch has
            no CUDA, it raises what it has for that, such as an `AssertionError`.

    Example:
        >>> import fnabi, torch
        >>> if torch.cuda.is_available():
        ...     with fnabi.use_torch_stream(torch.cuda.stream(torch.cuda.Stream())):
        ...         print(fnabi.get_raw_stream(torch.device("cuda")) != 0)

    """
    if context is not None:
        where = "use_torch_stream: context"
        check_attribute(where, context, "__enter__", "a context manager or None")
    try:
        torch = import_module("torch")
    except ImportError as problem:
        why = why_unusable(problem, "torch")
        raise MissingPackageError(f"use_torch_stream: torch {why}") from None
    with nullcontext() if context is None else context:
        stream = torch.cuda.current_stream()
        with use_raw_stream(stream.device, stream.cuda_stream):
            yield


@contextmanager
def use_tensors(type: type[Any]) -> Iterator[None]:
    """Choose the type of the tensors that calls of this thread return, whatever their arguments.

    Args:
        type: `fnabi.Tensor`, or a type with a DLPack exchange API, such as ``torch.Tensor``.

    Raises:
        CallError: If `type` is neither.

    Example:
        >>> import fnabi, torch
        >>> echo = fnabi.Function(lambda x: x)
        >>> with fnabi.use_tensors(fnabi.Tensor):
        ...     echo(torch.ones(2))
        <fnabi.Tensor of shape (2,), float32 on cpu:0>

    """
    if isinstance(type, tuple):  # as the lane returns for what was chosen before
        expected = "fnabi.Tensor or a type with a DLPack exchange API"
        raise argument_error("use_tensors: type", expected, type)
    old = lane.set_tensors(type)
    try:
        yield
    finally:
        lane.set_tensors(old)
