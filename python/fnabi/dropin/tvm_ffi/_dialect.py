"""The dialect of this package: its classes, which results of functions are made of."""

from __future__ import annotations

from typing import Any

from fnabi import _call, library
from fnabi.errors import CallError
from fnabi.object import Object as AnyObject
from fnabi.reflection import Family, Instance, ObjectType, TypeRecord
from fnabi.registry import runtime_function

library.load_runtime()

dialect = _call.Dialect()
dialect.attribute = "__tvm_ffi_error__"
dialect.errors = {}


def api(name: str) -> Any:
    """Return a function of libtvm_ffi, by its name without ``ffi.``."""
    return Object.__fnabi_family__.function(f"ffi.{name}")


def address_of(value: Any) -> int:
    """Return the address of the object that a value is passed as."""
    if isinstance(value, AnyObject):
        return value.address
    return _call.object_of(value).address


class _Family(Family):
    """The classes of this package."""

    def _finish(
        self, name: str, base: type, namespace: dict[str, Any], record: TypeRecord
    ) -> ObjectType:
        doc = record.doc
        namespace["__doc__"] = f"Auto-generated fallback class for {record.key}." + (
            f"\n\n{doc}" if doc else ""
        )
        namespace["__qualname__"] = record.key
        made: ObjectType = type(base)(name, (base,), namespace)  # type: ignore[assignment]
        add_members(made)
        return made


def add_members(cls: Any) -> None:
    """Add the fields and methods of a type to its class, except those that it defines."""
    record = cls.__fnabi_type__
    for field in record.fields:
        if field.name not in cls.__dict__:
            setattr(cls, field.name, field)
    for method in record.methods:
        name = method.name
        if name.startswith("__ffi_") or hasattr(cls, name):
            continue
        setattr(cls, name, staticmethod(method.function) if method.static else method)


class Handle:
    """What objects and functions have in common: the object in memory."""

    __slots__ = ()

    def __chandle__(self) -> int:
        """Return the address of the object, 0 where there is none."""
        return address_of(self)

    def __ctypes_handle__(self) -> Any:
        """Return the address as a ``ctypes.c_void_p``."""
        from ctypes import c_void_p

        return c_void_p(self.__chandle__())

    @property
    def id_(self) -> int:
        """The address of the object."""
        return self.__chandle__()

    def same_as(self, other: Any) -> bool:
        """Return whether another one stands for the same object."""
        return hasattr(other, "__chandle__") and self.__chandle__() == other.__chandle__()

    def is_(self, other: Any) -> bool:
        """Return whether another one stands for the same object."""
        return self.same_as(other)


class _ObjectMeta(ObjectType):
    """The class of the classes of objects. Functions count as objects."""

    @property
    def __tvm_ffi_type_info__(cls) -> Any:
        from fnabi.dropin.tvm_ffi._types import info_of

        return info_of(cls.__fnabi_type__)

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is Object and isinstance(instance, _call.Function):
            return True
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is Object and issubclass(subclass, _call.Function):
            return True
        return super().__subclasscheck__(subclass)


class Object(Instance, metaclass=_ObjectMeta):
    """An object of a library; classes are registered with `register_object`."""

    __slots__ = ()
    __fnabi_dialect__ = dialect

    def __new__(cls, *args: Any, **named: Any) -> Any:  # noqa: D102
        return _call.empty_object(cls)

    def __init__(self, *args: Any, **named: Any) -> None:
        cls = type(self)
        try:
            cls.__fnabi_type__.find_initialiser()
        except CallError:
            raise TypeError(
                f"`{cls.__name__}` cannot be constructed directly. Define a custom __init__ or"
                " use a factory method."
            ) from None
        self.__ffi_init__(*args, **named)

    def __ffi_init__(self, *args: Any, **named: Any) -> None:
        """Make the object with the initialiser that the library registered."""
        named = {name: value for name, value in named.items() if not is_missing(value)}
        _call.move_object(self, type(self).__fnabi_type__.make(args, named))

    def __init_handle_by_constructor__(self, fconstructor: Any, *args: Any) -> None:
        """Make the object with a function."""
        _call.move_object(self, fconstructor(*args))

    __chandle__ = Handle.__chandle__
    __ctypes_handle__ = Handle.__ctypes_handle__
    id_ = Handle.id_
    same_as = Handle.same_as
    is_ = Handle.is_

    def _move(self) -> Any:
        """Return the object for a callee that may take it; this one has none afterwards."""
        return _call.Moved(self)

    def __move_handle_from__(self, other: Any) -> None:
        """Take over the object of another one."""
        _call.move_object(self, other)

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.__chandle__())

    def __repr__(self) -> str:
        return object_repr(self)

    def __reduce__(self) -> Any:
        return _from_json, (api("ToJSONGraphString")(self, None),)


class _FunctionHandle(Handle):
    """The methods of `Function`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ffi.Function"

    def __hash__(self) -> int:
        return hash(self.__chandle__())

    def __eq__(self, other: object) -> bool:
        return self.same_as(other)

    def __move_handle_from__(self, other: Any) -> None:
        """Take over the code of another function."""
        self: Any
        _call.move_function(self, other)

    @staticmethod
    def __from_extern_c__(c_symbol: int, *, keep_alive_object: Any | None = None) -> Any:
        """Make a function of the address of its code."""
        return dialect(_call.Function.from_address, c_symbol, keep_alive_object)

    @staticmethod
    def __from_mlir_packed_safe_call__(
        mlir_packed_symbol: int, *, keep_alive_object: Any | None = None
    ) -> Any:
        """Make a function of the address of code that MLIR has packed the interface of."""
        return dialect(
            _call.Function.from_address, mlir_packed_symbol, keep_alive_object, packed=True
        )


Function: Any = _call.function_class("fnabi.dropin.tvm_ffi.core.Function")
for _cls in (_FunctionHandle, Handle):
    for _name, _value in vars(_cls).items():
        if _name not in vars(Function) and _name not in ("__slots__", "__module__", "__doc__"):
            setattr(Function, _name, _value)
Function.__doc__ = "A function of a library, or one that was made of a Python callable."
Function.__fnabi_dialect__ = dialect
Function.__eq__ = _FunctionHandle.__eq__
Function.__hash__ = _FunctionHandle.__hash__
Function.__repr__ = _FunctionHandle.__repr__


def object_repr(obj: Any) -> str:
    """Return the text that the library has for an object."""
    if obj._empty:
        return f"{type(obj).__name__}(chandle=None)"
    text: str = api("ReprPrint")(obj)
    return text


def is_missing(value: Any) -> bool:
    """Return whether a value is the one that stands for no value."""
    return isinstance(value, Object) and value.same_as(MISSING)


def _from_json(text: str) -> Any:
    return api("FromJSONGraphString")(text)


family = _Family(Object, dialect)
Object.__fnabi_family__ = family
Object.__fnabi_type__ = family.record("ffi.Object", 64)
dialect.class_of = family.class_of
dialect.function = Function
family.adopt(64, Object)
MISSING: Any = api("GetInvalidObject")() if _call.runtime_loaded() else None
KWARGS: Any = api("GetKwargsObject")() if _call.runtime_loaded() else None
_ = runtime_function


def register(cls: Any, type_key: str, index: int | None = None) -> Any:
    """Make a class that of the objects of a type."""
    if index is None:
        index = _call.type_index_of(type_key)
    if index is None:
        raise ValueError(f"Cannot find object type index for {type_key}")
    cls.__fnabi_type__ = family.record(type_key, index)
    add_members(cls)
    family.adopt(index, cls)
    return cls
