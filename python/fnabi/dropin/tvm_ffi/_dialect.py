"""The dialect of this package: its classes, which results of functions are made of."""

from __future__ import annotations

import ctypes
import sys
import warnings
from inspect import Parameter, Signature
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.calls import library
from fnabi.calls._object import Object as AnyObject
from fnabi.calls.reflection import (
    Instance,
    ObjectClasses,
    ObjectType,
    TypeRecord,
    fields_of,
    initialiser_fields,
    is_by_name,
)
from fnabi.errors import CallError

library.load_runtime()

_PACKAGE = __name__.rpartition(".")[0]
_DYNAMIC = 128  # the first type index that a library registers

dialect = lane.Dialect()
dialect.attribute = "__tvm_ffi_error__"
dialect.errors = {}


def api(name: str) -> Any:
    """Return a function of libtvm_ffi, by its name without ``ffi.``."""
    return Object.__fnabi_classes__.function(f"ffi.{name}")


class _ObjectClasses(ObjectClasses):
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


# What objects and functions have in common: the object in memory.


def _chandle(self: Any) -> int:
    """Return the address of the object, 0 where there is none."""
    return lane.address_of(self)


def _ctypes_handle(self: Any) -> ctypes.c_void_p:
    """Return the address as a ``ctypes.c_void_p``."""
    return ctypes.c_void_p(lane.address_of(self))


def _same_as(self: Any, other: Any) -> bool:
    """Return whether another one refers to the same object."""
    same: bool = lane.object_of(self)._same_as(other)
    return same


def unequal(self: Any, other: object) -> Any:
    """Return the opposite of ``__eq__``: a C class has an own ``__ne__``."""
    equal = self.__eq__(other)
    return NotImplemented if equal is NotImplemented else not equal


def _hashed(self: Any) -> int:
    return hash(lane.address_of(self))


class _Hidden:
    """A property of classes of fnabi, which a member of this name hides."""

    def __init__(self, name: str) -> None:
        self.of = getattr(ObjectType, name)

    def __get__(self, cls: Any, _: type | None = None) -> Any:
        return self if cls is None else self.of.__get__(cls)


class ObjectMeta(ObjectType):
    """The class of the classes of objects. Functions count as objects."""

    has_attributes = True
    type_key, type_index, ancestors, fields, methods = map(
        _Hidden, ("type_key", "type_index", "ancestors", "fields", "methods")
    )
    describe: ClassVar[Any]
    """Returns what a record has, in the words of the original."""

    @property
    def __tvm_ffi_type_info__(cls) -> Any:
        return ObjectMeta.describe(cls.__fnabi_type__)

    @__tvm_ffi_type_info__.setter
    def __tvm_ffi_type_info__(cls, info: Any) -> None:
        if info is not ObjectMeta.describe(cls.__fnabi_type__):
            raise AttributeError(f"{cls.__name__}: the type of a class cannot be changed")

    def __instancecheck__(cls, instance: object) -> bool:
        if cls in (CObject, Object) and isinstance(instance, lane.Function):
            return True
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls in (CObject, Object) and issubclass(subclass, lane.Function):
            return True
        return super().__subclasscheck__(subclass)


class CObject(Instance, metaclass=ObjectMeta):
    """The base of `Object`, which no type has."""

    __slots__ = ()


class Object(CObject):
    """An object of a library; classes are registered with `register_object`."""

    __slots__ = ()
    __fnabi_dialect__ = dialect

    def __new__(cls, *args: Any, **named: Any) -> Any:
        return lane.empty_object(cls)

    def __init__(self, *args: Any, **named: Any) -> None:
        cls = type(self)
        if not lane.is_empty(self) and hasattr(cls, "__fnabi_computed__"):
            return  # of a type that is defined in Python, whose own initialiser made the object
        try:
            cls.__fnabi_type__.find_initialiser()
        except CallError:
            raise TypeError(
                f"`{cls.__name__}` cannot be constructed directly. Define a custom __init__ or"
                " use a factory method."
            ) from None
        self.__ffi_init__(*args, **named)

    def __ffi_init__(self, /, *args: Any, **named: Any) -> None:
        """Make the object with the initialiser that the library registered."""
        for name in [name for name, value in named.items() if is_missing(value)]:
            del named[name]
        lane.take_object(self, type(self).__fnabi_type__.make(args, named))

    def __init_handle_by_constructor__(self, fconstructor: Any, *args: Any) -> None:
        """Make the object with a function."""
        lane.take_object(self, fconstructor(*args))

    @property
    def __tvm_ffi_type_info__(self) -> Any:
        return ObjectMeta.describe(type(self).__fnabi_type__)

    __chandle__ = _chandle
    __ctypes_handle__ = _ctypes_handle
    id_ = property(_chandle, doc="The address of the object.")
    same_as = is_ = AnyObject._same_as

    def _move(self) -> Any:
        """Return the object for a callee that may take it; this one has none afterwards."""
        return lane.Moved(self)

    def __move_handle_from__(self, other: Any) -> None:
        """Take over the object of another one."""
        lane.move_object(self, other)

    __eq__ = AnyObject._same_as
    __ne__ = unequal
    __hash__ = _hashed

    def __repr__(self) -> str:
        return object_repr(self)

    def __copy__(self) -> Any:
        if type(self).__fnabi_type__.attribute("__ffi_shallow_copy__") is None:
            raise TypeError(f"Type `{type(self).__fnabi_type__.key}` does not support copy")
        return super().__copy__()

    def __deepcopy__(self, memo: Any) -> Any:
        record = type(self).__fnabi_type__
        described = fields_of(type(self)) or record.attribute("__ffi_new__") is not None
        if record.index >= _DYNAMIC and not described:  # a copy might share what it consists of
            raise TypeError(f"Type `{record.key}` does not support deepcopy")
        return super().__deepcopy__(memo)

    def __reduce__(self) -> Any:
        return _from_json, (api("ToJSONGraphString")(self, None),)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle of the original says of the object."""
        made = None if state["handle"] is None else _from_json(state["handle"])
        if isinstance(made, CObject):
            lane.move_object(self, made)


def _from_extern_c(c_symbol: int, *, keep_alive_object: Any | None = None) -> Any:
    """Make a function of the address of its code."""
    return dialect(lane.Function.from_address, c_symbol, keep_alive_object)


def _from_mlir_packed_safe_call(
    mlir_packed_symbol: int, *, keep_alive_object: Any | None = None
) -> Any:
    """Make a function of the address of code whose interface MLIR has packed."""
    return dialect(lane.Function.from_address, mlir_packed_symbol, keep_alive_object, packed=True)


Function: Any = lane.function_class("fnabi.dropin.tvm_ffi.core.Function")
Function.__doc__ = "A function of a library, or one that was made of a Python callable."
Function.__fnabi_dialect__ = dialect
Function.__chandle__ = _chandle
Function.__ctypes_handle__ = _ctypes_handle
Function.id_ = property(_chandle, doc="The address of the object.")
Function.same_as = Function.is_ = _same_as
Function.__move_handle_from__ = lambda self, other: lane.move_function(self, other)
Function.__from_extern_c__ = staticmethod(_from_extern_c)
Function.__from_mlir_packed_safe_call__ = staticmethod(_from_mlir_packed_safe_call)
Function.__eq__ = _same_as
Function.__ne__ = unequal
Function.__hash__ = _hashed
Function.__repr__ = lambda self: "ffi.Function"


def object_repr(obj: Any) -> str:
    """Return the text that the library has for an object; its class and address if it has none."""
    if lane.is_empty(obj):
        return f"{type(obj).__name__}(chandle=None)"
    try:
        return str.__str__(api("ReprPrint")(obj))  # no String, which serialisers refuse
    except Exception:
        return f"{type(obj).__name__}({_chandle(obj)})"


def c_int(value: Any, bits: int, sign: str = "") -> int:
    """Return a number as an integer of C has it, with the exceptions of the original."""
    name = f"{sign}int{bits}_t"
    if not hasattr(type(value), "__int__") and not hasattr(type(value), "__index__"):
        raise TypeError("an integer is required")  # of a text or a buffer int() reads the digits
    try:
        number = int(value)
    except TypeError:
        raise TypeError("an integer is required") from None
    if sign and number < 0:
        raise OverflowError(f"can't convert negative value to {name}")
    if not -(1 << bits - 1) <= number < 1 << bits - (not sign):
        raise OverflowError(f"value too large to convert to {name}")
    return number


def is_missing(value: Any) -> bool:
    """Return whether a value is the one that means no value."""
    return type(value) is Object and value._same_as(MISSING)


def _from_json(text: str) -> Any:
    return api("FromJSONGraphString")(text)


object_classes = _ObjectClasses(Object, dialect)
Object.__fnabi_classes__ = object_classes
Object.__fnabi_type__ = object_classes.record("ffi.Object", 64)
dialect.class_of = object_classes.class_of
dialect.function = Function
object_classes.adopt(64, Object)
MISSING: Any = api("GetInvalidObject")()
KWARGS: Any = api("GetKwargsObject")()


def install_init(cls: Any) -> None:
    """Give a class an initialiser of its own, with the signature of the library's."""
    record = cls.__fnabi_type__

    def __ffi_init__(self: Any, /, *args: Any, **named: Any) -> None:
        if type(self).__fnabi_type__ is not record:
            raise TypeError(
                f"Calling `{cls.__name__}.__ffi_init__()` on a `{type(self).__name__}` instance"
                " is not supported. Register a class of its own."
            )
        Object.__ffi_init__(self, *args, **named)

    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        is_other = type(self).__fnabi_type__ is not record or record.initialiser is None
        if is_other or any(map(is_missing, named.values())):
            Object.__init__(self, *args, **named)
        else:
            lane.take_object(self, record.make(args, named))

    if "__ffi_init__" not in vars(cls):
        cls.__ffi_init__ = __ffi_init__
    if "__init__" not in vars(cls):
        __init__.__signature__ = signature_of(cls)  # type: ignore[attr-defined]
        cls.__init__ = __init__


def signature_of(cls: Any) -> Signature:
    """Return the signature of an initialiser; a parameter with a default has `MISSING`."""
    first = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    try:
        fields = initialiser_fields(cls)
    except (AttributeError, CallError):
        fields = None
    if fields is None:
        rest = [Parameter("args", Parameter.VAR_POSITIONAL)]
    else:
        rest = [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY if is_by_name(field) else Parameter.POSITIONAL_OR_KEYWORD,
                default=MISSING if field.has_default else Parameter.empty,
            )
            for field in fields
        ]
    return Signature([first, *rest])


_registered: dict[str, Any] = {}
"""The classes that programs have registered, by the key of the type."""


def _warn_of_two(type_key: str, cls: Any) -> None:
    """Warn where two packages have a class for a type; the last one counts, as in the original."""
    if cls.__module__.startswith(f"{_PACKAGE}."):
        return
    known = _registered.setdefault(type_key, cls)
    files = [getattr(sys.modules.get(each.__module__), "__file__", "") for each in (known, cls)]
    if files[0] == files[1] or issubclass(cls, known):
        return
    before, now = (
        f"{each.__module__}.{each.__qualname__} ({file or 'no file'})"
        for each, file in zip((known, cls), files, strict=True)
    )
    _registered[type_key] = cls
    warnings.warn(
        f"the type {type_key} has two classes: {before}, and now {now}, which its objects have"
        " from here on",
        RuntimeWarning,
        stacklevel=5,
    )


def register(cls: Any, type_key: str, index: int | None = None, init: bool = True) -> Any:
    """Make a class that of the objects of a type."""
    if index is None:
        index = lane.type_index_of(type_key)
    if index is None and cls.__module__.startswith(f"{_PACKAGE}."):
        return cls  # of a later release of libtvm_ffi: objects of this type do not exist here
    if index is None:
        raise ValueError(f"Cannot find object type index for {type_key}")
    _warn_of_two(type_key, cls)
    cls.__fnabi_type__ = object_classes.record(type_key, index)
    add_members(cls)
    object_classes.adopt(index, cls)
    if init and index >= _DYNAMIC:
        install_init(cls)
    return cls
