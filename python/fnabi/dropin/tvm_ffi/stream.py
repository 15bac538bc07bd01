"""Streams."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

from fnabi._base import lane
from fnabi.calls.stream import use_torch_stream
from fnabi.dropin.tvm_ffi import core

__all__ = ["StreamContext", "get_raw_stream", "use_raw_stream", "use_torch_stream"]


class StreamContext:
    """Sets the current stream of a device, and sets it back at the end.

    Args:
        device: The device.
        stream: The handle.

    """

    def __init__(self, device: core.Device, stream: int | c_void_p) -> None:
        self.device_type = device.dlpack_device_type()
        self.device_id = device.index
        self.stream = stream
        self.prev_stream: int | None = None

    def __enter__(self) -> StreamContext:
        self.prev_stream = core._env_set_current_stream(
            self.device_type, self.device_id, self.stream
        )
        return self

    def __exit__(self, *args: Any) -> None:
        core._env_set_current_stream(self.device_type, self.device_id, self.prev_stream)


def use_raw_stream(device: core.Device, stream: int | c_void_p) -> StreamContext:
    """Return a context in which a device has a stream.

    Raises:
        ValueError: The stream is no handle.

    """
    if not isinstance(stream, (int, c_void_p)):
        raise ValueError(
            "use_raw_stream only accepts int or c_void_p as stream input, "
            "try use_torch_stream when using torch.cuda.Stream or torch.cuda.graph"
        )
    return StreamContext(device, stream)


def get_raw_stream(device: core.Device) -> int:
    """Return the current stream of a device."""
    return lane.get_stream(device.dlpack_device_type(), device.index)
