"""The functions and classes of ``libtvm_ffi_testing``, which lies beside libtvm_ffi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fnabi.dropin.tvm_ffi import libinfo
from fnabi.dropin.tvm_ffi._dialect import Object, api
from fnabi.dropin.tvm_ffi._types import (
    _lookup_or_register_type_info_from_type_key,
    _lookup_type_attr,
)
from fnabi.dropin.tvm_ffi.dataclasses import IntEnum, StrEnum, c_class, entry
from fnabi.dropin.tvm_ffi.registry import get_global_func

_LIB = libinfo.load_lib_ctypes("apache-tvm-ffi", "tvm_ffi_testing", "RTLD_GLOBAL")


def _hint(field: Any) -> Any:
    """Return the type hint of a field."""
    plain = {each.__name__: each for each in (int, float, bool, str, bytes)}
    return plain.get(str(field.ty), Any)


def _class(key: str, base: type = Object, **options: bool) -> Any:
    """Make the class of a type of the library."""
    name = key.removeprefix("testing.")
    info = _lookup_or_register_type_info_from_type_key(key)
    namespace = {"__slots__": (), "__test__": False, "__module__": __name__}
    namespace["__annotations__"] = {each.name: _hint(each) for each in info.fields}
    meta: Any = type(Object)
    return c_class(key, **options)(meta(name, (base,), namespace))


TestIntPair = _class("testing.TestIntPair")
TestObjectBase = _class("testing.TestObjectBase")
TestObjectDerived = _class("testing.TestObjectDerived", TestObjectBase)
TestObjectPtrHolder = _class("testing.TestObjectPtrHolder")
TestNonCopyable = _class("testing.TestNonCopyable")
TestCompare = _class("testing.TestCompare")
TestHash = _class("testing.TestHash")
TestCustomHash = _class("testing.TestCustomHash")
TestCustomCompare = _class("testing.TestCustomCompare")
TestEqWithoutHash = _class("testing.TestEqWithoutHash")
_SchemaAllTypes = _class("testing.SchemaAllTypes")
_TestCxxInitSubset = _class("testing.TestCxxInitSubset")
_TestCxxKwOnly = _class("testing.TestCxxKwOnly")
_TestCxxAutoInit = _class("testing.TestCxxAutoInit")
_TestCxxAutoInitSimple = _class("testing.TestCxxAutoInitSimple")
_TestCxxAutoInitAllInitOff = _class("testing.TestCxxAutoInitAllInitOff")
_TestCxxAutoInitKwOnlyDefaults = _class("testing.TestCxxAutoInitKwOnlyDefaults")
_TestCxxNoAutoInit = _class("testing.TestCxxNoAutoInit", init=False)
_TestCxxAutoInitParent = _class("testing.TestCxxAutoInitParent")
_TestCxxAutoInitChild = _class("testing.TestCxxAutoInitChild", _TestCxxAutoInitParent)


@c_class("testing.TestCxxClassBase")
class _TestCxxClassBase(Object):
    __test__ = False
    v_i64: int
    v_i32: int
    not_field_1 = 1
    not_field_2 = 2

    def __init__(self, v_i64: int, v_i32: int) -> None:
        info = self.__tvm_ffi_type_info__
        initialiser = _lookup_type_attr(info.type_index, "__ffi_init__")
        self.__init_handle_by_constructor__(initialiser, v_i64 + 1, v_i32 + 2)


@c_class("testing.TestCxxClassDerived", eq=True, order=True, unsafe_hash=True)
class _TestCxxClassDerived(_TestCxxClassBase):
    __test__ = False
    v_f64: float
    v_f32: float


@c_class("testing.TestCxxClassDerivedDerived")
class _TestCxxClassDerivedDerived(_TestCxxClassDerived):
    __test__ = False
    v_str: str
    v_bool: bool


class _TestCxxIntEnum(IntEnum, type_key="testing.TestCxxIntEnum"):
    __test__ = False
    low = entry(value=10)
    high = entry(value=20)


class _TestCxxStrEnum(StrEnum, type_key="testing.TestCxxStrEnum"):
    __test__ = False
    add = entry(value="+")
    mul = entry(value="*")


_TestCxxEnumHolder = _class("testing.TestCxxEnumHolder")


def create_object(type_key: str, **kwargs: Any) -> Any:
    """Make an object of its type and its fields."""
    pairs = [part for pair in kwargs.items() for part in pair]
    return api("MakeObjectFromPackedArgs")(type_key, *pairs)


def make_unregistered_object() -> Any:
    """Make an object of a type without a class."""
    return get_global_func("testing.make_unregistered_object")()


def run_with_gpu_lock(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function; nothing else uses a GPU in the meantime."""
    return function(*args, **named)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    function = get_global_func(f"testing.{name}", allow_missing=True)
    if function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function.__name__ = name
    globals()[name] = function
    return function
