"""Objects, functions, tensors and values."""

from __future__ import annotations

import builtins
import ctypes
from collections import UserDict
from collections.abc import Callable
from typing import Any

from fnabi._base import lane
from fnabi.calls import stream
from fnabi.calls.tensor import Device as AnyDevice
from fnabi.dropin.tvm_ffi import _types
from fnabi.dropin.tvm_ffi._dialect import (
    KWARGS,
    MISSING,
    CObject,
    Function,
    Object,
    dialect,
    object_repr,
    register,
    unequal,
)
from fnabi.dropin.tvm_ffi._dtype import DataType, dtype
from fnabi.dropin.tvm_ffi._tensor import Tensor, from_dlpack
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema
from fnabi.dropin.tvm_ffi._types import (
    FFIProperty,
    TypeField,
    TypeInfo,
    TypeMethod,
    _type_cls_to_type_info,
)
from fnabi.dropin.tvm_ffi._types import (
    _lookup_or_register_type_info_from_type_key as _lookup_or_register_type_info_from_type_key,
)
from fnabi.dropin.tvm_ffi._types import (
    _lookup_type_attr as _lookup_type_attr,
)
from fnabi.dropin.tvm_ffi._types import (
    _object_type_key_to_index as _object_type_key_to_index,
)
from fnabi.dropin.tvm_ffi._types import (
    _type_index_to_type_info as _type_index_to_type_info,
)
from fnabi.dropin.tvm_ffi._values import (
    Bytes,
    Device,
    DLDeviceType,
    PyNativeObject,
    Shape,
    String,
)

__all__ = [
    "KWARGS",
    "MISSING",
    "Bytes",
    "CAny",
    "CContainerBase",
    "CObject",
    "DLDeviceType",
    "DataType",
    "Device",
    "Error",
    "FFIProperty",
    "Function",
    "Object",
    "ObjectConvertible",
    "ObjectRValueRef",
    "OpaquePyObject",
    "PyNativeObject",
    "Shape",
    "String",
    "Tensor",
    "TypeField",
    "TypeInfo",
    "TypeMethod",
    "TypeSchema",
    "from_dlpack",
    "object_repr",
]

ObjectRValueRef = lane.Moved

ERROR_NAME_TO_TYPE: dict[str, type] = {}
ERROR_TYPE_TO_NAME: dict[type, str] = {}
dialect.errors = ERROR_NAME_TO_TYPE


class Error(lane.Error, Object):
    """An error of a library: the attribute ``__tvm_ffi_error__`` of an exception."""

    __slots__ = ()

    def __init__(self, kind: str, message: str, backtrace: str = "") -> None:
        """Make an error of its texts."""

    def py_error(self) -> BaseException:
        """Return the exception that its kind names."""
        named = ERROR_NAME_TO_TYPE.get(self.kind) or vars(builtins).get(self.kind)
        known = isinstance(named, type) and issubclass(named, Exception)
        error: Any = (named if known else RuntimeError)(self.message)  # type: ignore[misc]
        error.__tvm_ffi_error__ = error.ffi_error = self
        made: BaseException = error
        return made

    @property
    def extra_context(self) -> Any:
        """None: what a library adds to an error is not read."""
        return None

    __eq__ = Object.__eq__
    __ne__ = unequal
    __hash__ = Object.__hash__

    def __repr__(self) -> str:
        return "ffi.Error"

    def __reduce__(self) -> Any:
        return type(self), (self.kind, self.message, self.backtrace)

    def __copy__(self) -> Any:
        return type(self)(self.kind, self.message, self.backtrace)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


dialect.error = Error


# ------------------------------------------------------ names in pickles of the original


def _new_object(cls: Any) -> Any:
    if issubclass(cls, (lane.Array, lane.List)):
        return cls(())
    return cls({}) if issubclass(cls, (lane.Map, lane.Dict)) else cls.__new__(cls)


def _create_cdtype_from_tuple(cls: Any, *parts: int) -> Any:
    return cls(str(dtype.from_dlpack_data_type(parts)))  # type: ignore[arg-type]


def _create_device_from_tuple(cls: Any, device_type: int, device_id: int) -> Any:
    return cls(device_type, device_id)


class CContainerBase(Object):
    """The base of containers."""

    __slots__ = ()


class OpaquePyObject(Object):
    """A Python object that a library keeps."""

    __slots__ = ()

    def pyobject(self) -> Any:
        """Return the Python object."""
        return lane.Any(self).value


class ObjectConvertible:
    """A base for classes whose instances are passed as an object that they give."""

    __slots__ = ()

    def asobject(self) -> Any:
        """Return the object."""
        raise NotImplementedError

    def __tvm_ffi_object__(self) -> Any:
        return self.asobject()


class CAny:
    """A value of the ABI."""

    __slots__ = ("_any",)

    def __init__(self, value: Any = None) -> None:
        self._any = dialect(lane.Any, value)

    @property
    def type_index(self) -> int:
        """What the value is, a number."""
        return self._any.type_index

    def __repr__(self) -> str:
        index = self.type_index
        if index >= Object.__fnabi_type__.index:
            return f"CAny(object, type_index={index})"
        name = _SINGLE.get(index)
        if name is None:
            return f"CAny(type_index={index})"
        if name == "None":
            return "CAny(None)"
        return f"CAny({name}={_to_py_class_value(self)!r})"


_SINGLE = {0: "None", 1: "int", 2: "bool", 3: "float", 4: "void*", 5: "dtype", 6: "Device"}


def _to_py_class_value(value: CAny) -> Any:
    """Return the value as Python has it; a text is a `String` even if it has no object."""
    found = dialect(type(value._any).value.__get__, value._any)
    if type(found) is str:
        return String(found)
    return Bytes(found) if type(found) is bytes else found


for _index, _cls in (
    (5, DataType),
    (6, Device),
    (65, String),
    (66, Bytes),
    (68, Function),
    (69, Shape),
):
    _types.know(_index, _cls)
for _cls in (DataType, Device, String, Bytes, Function, Shape):
    _cls.__tvm_ffi_type_info__ = _type_cls_to_type_info(_cls)  # type: ignore[union-attr]
for _index, _key, _cls in (
    (67, "ffi.Error", Error),
    (70, "ffi.Tensor", Tensor),
    (74, "ffi.OpaquePyObject", OpaquePyObject),
):
    register(_cls, _key, _index)

# ------------------------------------------------------------------- classes of results

_CLASS_DEVICE: type[Device] = Device
_CLASS_TENSOR: type[Tensor] = Tensor
_CLASS_OBJECT: type[Object] = Object


def _set_class_device(cls: type[Device]) -> None:
    global _CLASS_DEVICE
    _CLASS_DEVICE = cls
    dialect.parts.clear()
    dialect.device = cls


def _set_class_tensor(cls: type[Tensor]) -> None:
    global _CLASS_TENSOR
    _CLASS_TENSOR = cls
    dialect.tensor = cls


_set_class_device(Device)

# ------------------------------------------------------------------------- conversions


def _convert_to_ffi_func(pyfunc: Any, tensor_cls: type | None = None) -> Any:
    """Make a function of a Python callable."""
    if tensor_cls is not None and not hasattr(tensor_cls, "__dlpack_c_exchange_api__"):
        raise TypeError(
            f"tensor_cls {tensor_cls.__name__} does not have the attribute"
            " __dlpack_c_exchange_api__"
        )
    if isinstance(pyfunc, Function):
        return pyfunc
    if tensor_cls is None:
        return dialect(lane.Function, pyfunc)
    return dialect(lane.Function, _WithTensors(pyfunc, tensor_cls))


class _WithTensors:
    """A callable whose arguments that are tensors come as those of a framework."""

    __slots__ = ("_callable", "_type")

    def __init__(self, callable: Any, type: type) -> None:
        self._callable = callable
        self._type = type

    def __call__(self, *args: Any) -> Any:
        with stream.use_tensors(self._type):
            args = tuple(_identity(each) if isinstance(each, Tensor) else each for each in args)
        return self._callable(*args)


_identity = lane.Function(lambda x: x)


class _PointerHandlers(UserDict[type, Callable[[Any], int]]):
    """Functions that return the address to pass for an instance of a class.

    A class gets a method for that, before an instance is passed for the first time. One that is
    not defined in Python cannot have it.
    """

    def __setitem__(self, cls: Any, handler: Callable[[Any], int]) -> None:
        cls.__tvm_ffi_opaque_ptr__ = lambda instance: handler(instance)
        super().__setitem__(cls, handler)

    def __delitem__(self, cls: Any) -> None:
        super().__delitem__(cls)
        del cls.__tvm_ffi_opaque_ptr__


_OPAQUE_PTR_HANDLERS = _PointerHandlers()


def _register_py_class(parent_type_info: TypeInfo, type_key: str, type_cls: type) -> TypeInfo:
    """Give a class a type, whose fields are not known yet."""
    made: TypeInfo = TypeInfo._definition.define_type(parent_type_info, type_key, type_cls)
    return made


def _convert_to_opaque_object(pyobject: Any) -> OpaquePyObject:
    """Make an object that keeps a Python object."""
    found: Any = dialect(lane.object_of, pyobject)
    return found  # type: ignore[no-any-return]


def _convert_to_ffi_error(error: BaseException) -> Error:
    """Return the error of an exception."""
    found: Any = dialect(lane.object_of, error)
    return found  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------ streams


def _env_set_current_stream(device_type: int, device_id: int, handle: Any) -> int:
    """Set the current stream of a device; return the one before."""
    if isinstance(handle, ctypes.c_void_p):
        handle = handle.value or 0
    device = AnyDevice(device_type, device_id)
    return stream.set_raw_stream(device, handle)


def _env_get_current_stream(device_type: int, device_id: int) -> int:
    """Return the current stream of a device."""
    return lane.get_stream(device_type, device_id)
