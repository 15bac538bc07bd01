"""Classes of objects that behave as dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fnabi.dropin.tvm_ffi._advice import lacking
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object, api, object_repr, unequal
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map
from fnabi.dropin.tvm_ffi.registry import register_object

__all__ = [
    "MISSING",
    "Field",
    "Object",
    "asdict",
    "astuple",
    "c_class",
    "fields",
    "is_dataclass",
    "replace",
]

_MARK = "__ffi_is_dataclass__"


class Field:
    """A field of a class, with the names of `dataclasses.Field`."""

    __slots__ = ("compare", "default", "doc", "hash", "init", "kw_only", "name", "repr", "type")

    def __init__(self, of: Any, hint: Any) -> None:
        self.name: str = of.name
        self.type = hint
        self.default = of.c_default if of.c_has_default else MISSING
        self.init: bool = of.c_init
        self.repr: bool = of.c_repr
        self.hash: bool = of.c_hash
        self.compare: bool = of.c_compare
        self.kw_only: bool = of.c_kw_only
        self.doc: str | None = of.doc

    def __repr__(self) -> str:
        return f"Field(name={self.name!r})"


def _compared(name: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return NotImplemented
        return bool(api(name)(self, other))

    return compare


def _hashed(self: Any) -> int:
    return hash(api("RecursiveHash")(self))


def _no_initialiser(self: Any, *args: Any, **named: Any) -> None:
    raise TypeError(
        f"`{type(self).__name__}` cannot be constructed directly. Define a custom __init__ or"
        " use a factory method."
    )


def _replaced(self: Any, **changes: Any) -> Any:
    made = copy.copy(self)
    known = type(self).fields
    for name, value in changes.items():
        if name not in known:
            raise TypeError(f"{type(self).__name__} has no field {name!r}")
        known[name].set(made, value)
    return made


def _positional(cls: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls) if each.init and not each.kw_only)


def c_class(
    type_key: str,
    *,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
) -> Callable[[Any], Any]:
    """Return a decorator that makes a class that of the objects of a type of a library.

    Args:
        type_key: The key of the type.
        frozen: Not supported: whether a field can be set is up to the library.
        init: Whether calling the class makes an object.
        repr: Whether the library writes the repr.
        eq: Whether two objects with equal fields are equal.
        order: Whether objects are ordered by their fields.
        unsafe_hash: Whether the hash is that of the fields.
        match_args: Whether patterns match the fields by position.

    """
    if frozen:
        raise TypeError(
            "c_class: frozen is not supported; whether a field can be set is up to the library"
        )

    def decorated(cls: Any) -> Any:
        own = set(vars(cls))
        made = register_object(type_key, init=init)(cls)

        def install(name: str, value: Any) -> None:
            if name not in own:
                setattr(made, name, value)

        if not init:
            install("__init__", _no_initialiser)
        if repr:
            install("__repr__", lambda self: object_repr(self))
        if eq:
            install("__eq__", _compared("RecursiveEq"))
            install("__ne__", unequal)
            if "__hash__" not in own and not unsafe_hash:
                made.__hash__ = Object.__hash__
        if order:
            for name in ("Lt", "Le", "Gt", "Ge"):
                install(f"__{name.lower()}__", _compared(f"Recursive{name}"))
        if unsafe_hash:
            install("__hash__", _hashed)
        install("__replace__", _replaced)
        setattr(made, _MARK, True)
        if match_args:
            install("__match_args__", _positional(made))
        return made

    return decorated


def is_dataclass(obj: Any) -> bool:
    """Return whether something is a class made by `c_class`, or an instance of one."""
    cls = obj if isinstance(obj, type) else type(obj)
    return getattr(cls, _MARK, False) is True


def fields(obj_or_cls: Any) -> tuple[Field, ...]:
    """Return the fields of a class, those of the types it derives from first."""
    if not is_dataclass(obj_or_cls):
        raise TypeError(
            "fields() argument must be a c_class or py_class type or instance, got"
            f" {type(obj_or_cls).__name__}"
        )
    cls = obj_or_cls if isinstance(obj_or_cls, type) else type(obj_or_cls)
    hints: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        hints |= vars(each).get("__annotations__", {})
    lines = []
    info = cls.__tvm_ffi_type_info__  # type: ignore[attr-defined]
    while info is not None:
        lines.append(info)
        info = info.parent_type_info
    return tuple(
        Field(field, hints.get(field.name)) for line in reversed(lines) for field in line.fields
    )


def replace(obj: Any, /, **changes: Any) -> Any:
    """Return a copy of an object with other values of some fields."""
    return obj.__replace__(**changes)


def _plain(value: Any, of_object: Callable[[list[tuple[str, Any]]], Any], pairs: Any) -> Any:
    def inner(each: Any) -> Any:
        return _plain(each, of_object, pairs)

    if isinstance(value, (Array, List)):
        return [inner(each) for each in value]
    if isinstance(value, (Map, Dict)):
        return pairs([(inner(key), inner(each)) for key, each in value.items()])
    if is_dataclass(value) and not isinstance(value, type):
        return of_object([(each.name, inner(getattr(value, each.name))) for each in fields(value)])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(inner, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(inner, value))
    if isinstance(value, dict):
        return type(value)((inner(key), inner(each)) for key, each in value.items())
    return copy.deepcopy(value)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Return the fields of an object as a dict, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("asdict() should be called on c_class / py_class instances")
    return _plain(obj, dict_factory, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Return the fields of an object as a tuple, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("astuple() should be called on c_class / py_class instances")
    return _plain(obj, lambda pairs: tuple_factory([each for _, each in pairs]), dict)


_IN_PYTHON = "types are defined in C++; the package tvm_ffi defines them in Python"

__getattr__ = lacking(
    __name__,
    dict.fromkeys(
        (
            "KW_ONLY",
            "Enum",
            "EnumAttrMap",
            "EnumState",
            "IntEnum",
            "StrEnum",
            "auto",
            "entry",
            "field",
            "gen_abi_cpp",
            "init_property",
            "py_class",
        ),
        _IN_PYTHON,
    ),
)
