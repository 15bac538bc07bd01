"""Tensors of TVM-FFI's stable C ABI, their devices, and their DLPack dtypes.

``from_dlpack`` makes a `Tensor` from any array, and ``Tensor.numpy`` makes a NumPy array from a
`Tensor`, both without a copy::

    >>> import array
    >>> tensor = from_dlpack(array.array("f", [1, 2, 3]))
    >>> tensor
    <fnabi.Tensor of shape (3,), float32 on cpu:0>
    >>> tensor.dtype, tensor.device
    (DType(kind='float', bits=32), Device('cpu', 0))

DLPack's numbers of dtypes and devices are those of its version 1.3.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from fnabi._base.arguments import check_type
from fnabi._base.dtype import load_numpy
from fnabi._base.lane import Tensor, from_dlpack
from fnabi._base.text import quoted
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CallError,
    RangeError,
    shown_int,
    type_name,
)
from fnabi.types import DType, DTypeKind

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Device", "Tensor", "device_parts", "dtype_of", "dtype_parts", "from_dlpack"]


def __dir__() -> list[str]:
    return __all__


_DEVICES = {
    "cpu": 1,
    "cuda": 2,
    "cuda_host": 3,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
}
_DEVICE_NAMES = {number: name for name, number in _DEVICES.items()}
_DEVICE_TEXT = re.compile(r"(\w+?)(?::(\d+))?", re.ASCII)

_INT, _UINT, _FLOAT, _HANDLE, _BFLOAT, _COMPLEX, _BOOL = range(7)
_KINDS: dict[int, DTypeKind] = {
    _INT: "signed",
    _UINT: "unsigned",
    _FLOAT: "float",
    _HANDLE: "handle",
    _BFLOAT: "bfloat",
    _COMPLEX: "complex",
}
_CODES = {kind: code for code, kind in _KINDS.items()}
_FORMATS = {
    7: ("e3m4", 8),
    8: ("e4m3", 8),
    9: ("e4m3b11fnuz", 8),
    10: ("e4m3fn", 8),
    11: ("e4m3fnuz", 8),
    12: ("e5m2", 8),
    13: ("e5m2fnuz", 8),
    14: ("e8m0fnu", 8),
    15: ("e2m3fn", 6),
    16: ("e3m2fn", 6),
    17: ("e2m1fn", 4),
}
_FORMAT_CODES = {format: code for code, format in _FORMATS.items()}


def _int32(name: str, x: SupportsIndex) -> int:
    """Return a number of DLPack as an int; frameworks have integers of their own types."""
    try:
        number = int(index(x))
    except TypeError:
        raise ArgumentTypeError(f"Device: {name}: expected int32, got {type_name(x)}") from None
    if not -(1 << 31) <= number < 1 << 31:
        raise RangeError(f"Device: {name}: expected int32, got {shown_int(number)}")
    return number


class Device:
    """A device: its type and its index among the devices of that type.

    Immutable, hashable, comparable and picklable. ``str(Device("cuda", 1))`` is ``"cuda:1"``.

    Args:
        type: DLPack's number of the device type, any integer, or its name: ``"cpu"``,
            ``"cuda"``, ``"rocm"``, ``"vulkan"``, ``"metal"`` and so on. A name may include the
            index, as in ``"cuda:1"``.
        id: The index, from 0.

    Attributes:
        type: DLPack's number of the device type.
        id: The index.

    Raises:
        CallError: If `type` is not a known name, or a number does not fit in int32.

    Example:
        >>> import fnabi
        >>> device = fnabi.Device("cuda", 1)
        >>> device.type, device.id, str(device)
        (2, 1, 'cuda:1')

    """

    __slots__ = ("id", "type")
    __match_args__ = ("type", "id")

    type: int
    id: int

    def __init__(self, type: SupportsIndex | str, id: SupportsIndex = 0) -> None:
        if isinstance(type, str):
            match = _DEVICE_TEXT.fullmatch(type)
            if match is None or match[1] not in _DEVICES:
                raise ArgumentValueError(
                    f"Device: type: unknown device {quoted(type)}; expected a name, with or without"
                    f" an index as in 'cuda:1'; names are {', '.join(_DEVICES)}"
                )
            if match[2] is not None:
                if _int32("id", id):
                    raise ArgumentValueError(
                        f"Device: id: {quoted(type)} already has an index, got {quoted(id)} too"
                    )
                id = int(match[2])
            type = _DEVICES[match[1]]
        object.__setattr__(self, "type", _int32("type", type))
        object.__setattr__(self, "id", _int32("id", id))

    @property
    def name(self) -> str:
        """The name of the device type, or its number in digits if it has no name."""
        return _DEVICE_NAMES.get(self.type, str(self.type))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Device is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Device is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return self.type == other.type and self.id == other.id

    def __hash__(self) -> int:
        return hash((self.type, self.id))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.type, self.id

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.type, self.id)

    def __repr__(self) -> str:
        return f"Device({_DEVICE_NAMES.get(self.type, self.type)!r}, {self.id})"

    def __str__(self) -> str:
        return f"{self.name}:{self.id}"


def dtype_of(code: int, bits: int, lanes: int) -> DType:
    """Return the DType for DLPack's code, bits and lanes.

    Raises:
        CallError: If DLPack has no such code, its dtype has another width, or DType cannot express
            it. Other numbers of bits and lanes are kept, even where DLPack's fields lack them.

    Example:
        >>> from fnabi import tensor
        >>> print(tensor.dtype_of(2, 32, 1))
        float32

    """
    for name, number in ("code", code), ("bits", bits), ("lanes", lanes):
        check_type(f"tensor.dtype_of: {name}", number, int)
    if code in _FORMATS:
        format, width = _FORMATS[code]
        if bits == width:
            return DType("float", bits, format, lanes)
    elif code == _BOOL and bits == 8:
        return DType("bool", 1, "", lanes)
    elif code in _KINDS:
        return DType(_KINDS[code], bits, "", lanes)
    raise ArgumentValueError(
        f"tensor.dtype_of: code: no DType for DLPack's code {shown_int(code)} of"
        f" {shown_int(bits)} bits, {shown_int(lanes)} lanes"
    )


def dtype_parts(x: object) -> tuple[int, int, int]:
    """Return DLPack's code, bits and lanes for a dtype.

    Args:
        x: A DType or its name, a dtype of NumPy, ml_dtypes, torch or tvm_ffi, or any object with
            ``__dlpack_data_type__``.

    Raises:
        CallError: If DLPack has no such dtype. It has no signless integers and no index type.

    Example:
        >>> import numpy as np
        >>> from fnabi import tensor
        >>> tensor.dtype_parts("float32"), tensor.dtype_parts(np.int8)
        ((2, 32, 1), (0, 8, 1))

    """
    try:
        return dlpack_dtype(x)
    except CallError as problem:
        raise type(problem)(f"tensor.dtype_parts: x: {problem}") from None


def dlpack_dtype(x: object) -> tuple[int, int, int]:
    """Do what `dtype_parts` does for the call lane, which names the function and the argument."""
    if isinstance(x, DType):
        return _parts_of(x)
    given = getattr(x, "__dlpack_data_type__", None)
    if given is not None:
        own = given() if callable(given) else given
        code, bits, lanes = _own_parts(
            own, 3, "__dlpack_data_type__: expected code, bits and lanes"
        )
        return _checked(code, bits, lanes)
    module = type(x).__module__.partition(".")[0]
    if module == "tvm_ffi":
        dtype: Any = x
        return _checked(int(dtype.type_code), int(dtype.bits), int(dtype.lanes))
    if module == "torch":
        try:
            return _parts_of(DType.parse(str(x).removeprefix("torch.")))
        except CallError:
            raise ArgumentValueError(f"DLPack has no dtype for {x}") from None
    if isinstance(x, str):  # of which NumPy reads some as others, such as i8
        try:
            named = DType.parse(x)
        except CallError:
            pass
        else:
            return _parts_of(named)
    try:
        return _parts_of(DType.from_numpy(x))  # type: ignore[arg-type]
    except CallError as problem:
        reason = str(problem).removeprefix("DType.from_numpy: dtype: ")
        raise type(problem)(f"DLPack has no such dtype: {reason}") from None


def _parts_of(dtype: DType) -> tuple[int, int, int]:
    kind, bits, format, lanes = dtype.kind, dtype.bits, dtype.format, dtype.lanes
    if kind == "bool" and bits == 1:
        return _checked(_BOOL, 8, lanes)
    if kind == "float" and format:
        code: int | None = _FORMAT_CODES.get((format, bits))
    else:
        code = None if format else _CODES.get(kind)
    if code is None:
        hint = "; expected signed or unsigned integers" if kind == "signless" else ""
        raise ArgumentValueError(f"DLPack has no dtype for {dtype!r}{hint}")
    return _checked(code, bits, lanes)


def _checked(code: int, bits: int, lanes: int) -> tuple[int, int, int]:
    if 0 <= code < 256 and 0 <= bits < 256 and 0 <= lanes < 65536:
        return code, bits, lanes
    raise ArgumentValueError(
        f"DLPack has no dtype of code {shown_int(code)}, {shown_int(bits)} bits and"
        f" {shown_int(lanes)} lanes; expected at most 255 bits and 65535 lanes"
    )


def _own_parts(given: Any, count: int, expected: str) -> list[int]:
    """Return the integers that an object's own method gives for its dtype or device."""
    try:
        parts = [*map(int, given)]
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{expected}, got {type_name(given)}") from None
    if len(parts) != count:
        raise ArgumentValueError(f"{expected}, got {len(parts)} numbers")
    return parts


def device_parts(x: object) -> tuple[int, int]:
    """Return DLPack's type and index of a device.

    Args:
        x: A Device, a device of torch or tvm_ffi, or any object with ``__dlpack_device__``.

    Raises:
        CallError: If DLPack has no such device.

    Example:
        >>> from fnabi import Device, tensor
        >>> tensor.device_parts(Device("cuda", 1))
        (2, 1)

    """
    try:
        return dlpack_device(x)
    except CallError as problem:
        raise type(problem)(f"tensor.device_parts: x: {problem}") from None


def dlpack_device(x: object) -> tuple[int, int]:
    """Do what `device_parts` does for those that name the function and the argument themselves."""
    device: Any = x
    if isinstance(x, Device):
        return x.type, x.id
    if hasattr(x, "__dlpack_device__"):
        given = device.__dlpack_device__()
        parts = _own_parts(given, 2, "__dlpack_device__: expected type and index")
        if all(-(1 << 31) <= each < 1 << 31 for each in parts):
            return parts[0], parts[1]
        raise ArgumentValueError(
            f"DLPack has no device of type {shown_int(parts[0])} and index {shown_int(parts[1])};"
            " expected at most 31 bits"
        )
    if hasattr(x, "dlpack_device_type"):
        return int(device.dlpack_device_type()), int(device.index)
    if type(x).__module__ == "torch":  # immutable, and each tensor makes its own
        return _known_device(x)
    return _device_of_name(x)


def _device_of_name(device: Any) -> tuple[int, int]:
    kind = getattr(device, "type", None)
    if not isinstance(kind, str):
        raise ArgumentTypeError(f"expected a device, got {type_name(device)}")
    code = {"hip": 10, "xpu": 14, "mps": 8}.get(kind) or _DEVICES.get(kind)
    if code is None:
        raise ArgumentValueError(f"DLPack has no device for {device!r}")
    return code, device.index or 0


_known_device = lru_cache(maxsize=64)(_device_of_name)


def __getattr__(name: str) -> object:
    """Return NumPy's function that makes arrays of dtypes it knows; called by the call lane.

    ``from_dlpack`` is faster, but respects read-only memory only since NumPy 2.1.
    """
    if name != "read_numpy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    numpy = load_numpy("Tensor.numpy")
    major, minor = map(int, numpy.__version__.split(".")[:2])
    return numpy.from_dlpack if (major, minor) >= (2, 1) else numpy.asarray


class _Memory:
    """An object with NumPy's array interface that keeps a tensor alive."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Tensor, interface: dict[str, Any]) -> None:
        self.tensor = tensor
        self.__array_interface__ = interface


def to_numpy(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the memory of a tensor as a NumPy array; implements ``Tensor.numpy``.

    Raises:
        CallError: If NumPy and ml_dtypes have no such dtype, or the CPU cannot access the memory.
        RangeError: If NumPy has no arrays of the tensor's shape.

    """
    numpy = load_numpy("Tensor.numpy")
    dtype, device = tensor.dtype, tensor.device
    if device.name not in ("cpu", "cuda_host", "rocm_host", "cuda_managed"):
        raise ArgumentValueError(f"Tensor.numpy: NumPy cannot access the memory of {device}")
    lane = DType(dtype.kind, dtype.bits, dtype.format)
    item = lane.to_numpy()
    if (8 if dtype.kind == "bool" else dtype.bits) != 8 * item.itemsize:
        raise ArgumentValueError(
            f"Tensor.numpy: elements of {dtype} are packed; NumPy has no packed dtypes"
        )
    size = item.itemsize
    shape = tensor.shape
    strides = tuple(  # those of dims of 1 lead nowhere, and may be too large
        stride * size * dtype.lanes if dim > 1 else size
        for dim, stride in zip(shape, tensor.strides, strict=True)
    )
    if dtype.lanes != 1:
        shape, strides = (*shape, dtype.lanes), (*strides, size)
    interface = {
        "version": 3,
        "typestr": f"|V{size}",
        "shape": shape,
        "strides": strides,
        "data": (tensor.data_ptr, tensor.read_only),
    }
    try:
        if tensor.size == 0:
            empty: npt.NDArray[Any] = numpy.empty(shape, item)
            empty.flags.writeable = not tensor.read_only
            return empty
        return numpy.asarray(_Memory(tensor, interface)).view(item)  # type: ignore[no-any-return]
    except ValueError:
        raise RangeError(f"Tensor.numpy: NumPy has no arrays of the shape {shape}") from None


def tensor_view(tensor: Tensor) -> str:
    """Return the view of a tensor for notebooks, without its elements."""
    from fnabi._base.notebook import title

    return title(tensor)
