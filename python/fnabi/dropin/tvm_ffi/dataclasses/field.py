"""Fields of types that are defined in Python: what they hold, and how values are converted."""

from __future__ import annotations

import collections.abc
import ctypes
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from fnabi._base import lane
from fnabi.dropin.tvm_ffi import core
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object
from fnabi.dropin.tvm_ffi._dtype import dtype
from fnabi.dropin.tvm_ffi._tensor import Tensor
from fnabi.dropin.tvm_ffi._values import Bytes, Device, Shape, String, device
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map
from fnabi.errors import type_name

KW_ONLY = dataclasses.KW_ONLY

_EQUALITIES = (None, "ignore", "def", "def-pattern", "def-simple")


class Field:
    """A field of a class, with the names of `dataclasses.Field`.

    Attributes:
        name: Its name.
        type: Its type hint.
        default: The value where none is given, or `MISSING`.
        default_factory: A function that makes it, or `MISSING`.
        frozen: Whether it is read-only.
        init: Whether the initialiser accepts it.
        repr: Whether a repr shows it.
        hash: Whether it counts in the hash.
        compare: Whether it counts in comparisons.
        kw_only: Whether the initialiser accepts it by name only.
        structural_eq: How it counts in comparisons by structure: None, ``"ignore"``,
            ``"def-pattern"`` or ``"def-simple"``.
        metadata: What a program wants to keep with it.
        converter: For type checkers alone: values are converted by the type.
        doc: What it is.

    """

    __slots__ = (
        "compare",
        "converter",
        "default",
        "default_factory",
        "doc",
        "frozen",
        "hash",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "structural_eq",
        "type",
    )

    def __init__(
        self,
        name: str = "",
        *,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        frozen: bool = False,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = True,
        compare: bool = False,
        kw_only: bool | None = False,
        metadata: Mapping[str, Any] | None = None,
        structural_eq: str | None = None,
        doc: str | None = None,
        converter: Any = None,
    ) -> None:
        if default_factory is not MISSING:
            if default is not MISSING:
                raise ValueError("cannot specify both default and default_factory")
            if not callable(default_factory):
                raise TypeError(
                    f"default_factory must be a callable, got {type_name(default_factory)}"
                )
        if structural_eq not in _EQUALITIES:
            known = ", ".join(map(str, _EQUALITIES))
            raise ValueError(f"structural_eq must be one of {known}, got {structural_eq!r}")
        self.name = name
        self.type: Any = None
        self.default = default
        self.default_factory = default_factory
        self.frozen = frozen
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.kw_only = kw_only
        self.metadata = dict(metadata or {})
        self.structural_eq = structural_eq
        self.doc = doc
        self.converter = converter

    @classmethod
    def of(cls, member: Any, hint: Any) -> Field:
        """Describe a field that a library has registered."""
        made = cls(
            member.name,
            default=member.c_default if member.c_has_default else MISSING,
            frozen=member.frozen,
            init=member.c_init,
            repr=member.c_repr,
            hash=member.c_hash,
            compare=member.c_compare,
            kw_only=member.c_kw_only,
            doc=member.doc,
        )
        made.type = hint
        return made

    def __copy__(self) -> Field:
        made = Field.__new__(type(self))
        for name in Field.__slots__:
            setattr(made, name, getattr(self, name))
        made.metadata = dict(self.metadata)
        return made

    def __repr__(self) -> str:
        return f"Field(name={self.name!r})"


def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    kw_only: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
    structural_eq: str | None = None,
    doc: str | None = None,
    converter: Any = None,
) -> Any:
    """Declare a field in the body of a class below `py_class`; see `Field`.

    `hash` and `kw_only` are those of `compare` and of the class where they are None.
    """
    return Field(
        default=default,
        default_factory=default_factory,
        frozen=frozen,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        kw_only=kw_only,
        metadata=metadata,
        structural_eq=structural_eq,
        doc=doc,
        converter=converter,
    )


class InitProperty:
    """A field whose value a function computes after the others are set."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        """Declare the field by the hint of what the function returns, unless there is one."""
        hint = inspect.get_annotations(self.function).get("return", Any)
        owner.__annotations__ = {name: hint} | inspect.get_annotations(owner)


def init_property(function: Callable[[Any], Any]) -> Any:
    """Declare a field whose value a function of the object gives, once."""
    return InitProperty(function)


# ------------------------------------------------------------------------------- type hints

_INT, _BOOL, _FLOAT, _POINTER, _DTYPE, _DEVICE, _OBJECT, _ANY = 1, 2, 3, 4, 5, 6, 64, -1

LAYOUTS = {
    _INT: (8, 8),
    _BOOL: (1, 1),
    _FLOAT: (8, 8),
    _POINTER: (8, 8),
    _DTYPE: (4, 2),
    _DEVICE: (8, 4),
    _OBJECT: (8, 8),
    _ANY: (16, 8),
}
"""The size and the alignment of a field in memory, by the type index that it has for C."""


class Hint(NamedTuple):
    """What a type hint means for a field.

    Attributes:
        schema: The type, as libraries describe theirs.
        storage: The type index of the field in memory; -1 for a value of any kind.
        convert: Returns the value to store, or raises a TypeError.
        kept: Type indexes of values that are stored as they are.

    """

    schema: dict[str, Any]
    storage: int
    convert: Callable[[Any], Any]
    kept: tuple[int, ...] = ()


def _refuse(expected: str, value: Any) -> TypeError:
    return TypeError(f"expected {expected}, got {'None' if value is None else type_name(value)}")


def _made_of(expected: str, *accepted: Any, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, accepted):
            return make(value)
        raise _refuse(expected, value)

    return convert


_as_str = _made_of("str", str, make=lambda value: value)
_as_bytes = _made_of("bytes", bytes, bytearray, make=bytes)


def _as_pointer(value: Any) -> Any:
    if value is None or isinstance(value, (int, ctypes.c_void_p)):
        return ctypes.c_void_p(value) if isinstance(value, int) else value
    raise _refuse("ctypes.c_void_p", value)


def _as_device(value: Any) -> Any:
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return device(value)
    raise _refuse("Device", value)


def _as_function(value: Any) -> Any:
    if callable(value):
        return core._convert_to_ffi_func(value)
    raise _refuse("Callable", value)


def _as_none(value: Any) -> None:
    if value is not None:
        raise _refuse("None", value)


_NONE = Hint({"type": "None"}, _ANY, _as_none)

_PLAIN: dict[Any, Hint] = {
    Any: Hint({"type": "Any"}, _ANY, lambda value: value),
    None: _NONE,
    type(None): _NONE,
    int: Hint({"type": "int"}, _INT, _made_of("int", Integral, make=int), (_INT,)),
    float: Hint({"type": "float"}, _FLOAT, _made_of("float", Real, make=float), (_FLOAT,)),
    bool: Hint({"type": "bool"}, _BOOL, _made_of("bool", Integral, make=bool), (_BOOL,)),
    str: Hint({"type": "ffi.String"}, _ANY, _as_str, (11, 65)),
    String: Hint({"type": "ffi.String"}, _ANY, _as_str, (11, 65)),
    bytes: Hint({"type": "ffi.Bytes"}, _ANY, _as_bytes, (12, 66)),
    Bytes: Hint({"type": "ffi.Bytes"}, _ANY, _as_bytes, (12, 66)),
    ctypes.c_void_p: Hint({"type": "void*"}, _POINTER, _as_pointer),
    dtype: Hint({"type": "DataType"}, _DTYPE, _made_of("dtype", str, dtype, make=dtype)),
    Device: Hint({"type": "Device"}, _DEVICE, _as_device),
    collections.abc.Callable: Hint({"type": "ffi.Function"}, _OBJECT, _as_function),
    core.Function: Hint({"type": "ffi.Function"}, _OBJECT, _as_function),
}

_SEQUENCES: dict[Any, tuple[str, Any]] = {
    list: ("ffi.List", List),
    List: ("ffi.List", List),
    tuple: ("ffi.Array", Array),
    Array: ("ffi.Array", Array),
}
_MAPPINGS: dict[Any, tuple[str, Any]] = {
    dict: ("ffi.Dict", Dict),
    Dict: ("ffi.Dict", Dict),
    Map: ("ffi.Map", Map),
}


def hint_of(hint: Any) -> Hint:
    """Return what a type hint means.

    Raises:
        TypeError: No field can have the type.

    """
    try:
        found = _PLAIN.get(hint)
    except TypeError:
        found = None
    if found is not None:
        return found
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return hint_of(args[0])
    if origin is typing.Union or origin is types.UnionType:
        return _union(args)
    if origin is collections.abc.Callable:
        return _function(args)
    origin = origin or hint
    if origin is tuple and args and args[-1] is not Ellipsis:
        return _tuple(args)
    if origin in _SEQUENCES:
        return _sequence(*_SEQUENCES[origin], args[: len(args) - (origin is tuple)])
    if origin in _MAPPINGS:
        return _mapping(*_MAPPINGS[origin], args)
    if isinstance(origin, type) and issubclass(origin, (Object, Tensor, Shape)):
        return _object(origin)
    raise TypeError(f"no field can have the type {hint!r}")


def _union(args: tuple[Any, ...]) -> Hint:
    choices = [hint_of(each) for each in args if each is not type(None)]
    optional = len(choices) < len(args)
    schemas = [each.schema for each in choices]
    schema = schemas[0] if len(schemas) == 1 else {"type": "Variant", "args": schemas}
    if optional:
        schema = {"type": "Optional", "args": [schema]}
    exact = [each for each in args if isinstance(each, type)]

    def convert(value: Any) -> Any:
        if value is None and optional:
            return None
        for each in exact:
            if type(value) is each:
                return value
        for choice in choices:
            try:
                return choice.convert(value)
            except TypeError:
                continue
        raise _refuse(_told(schema), value)

    return Hint(schema, _ANY, convert)


def _told(schema: dict[str, Any]) -> str:
    return str(core.TypeSchema.from_json_obj(schema))


def _function(args: tuple[Any, ...]) -> Hint:
    if not args:
        return _PLAIN[collections.abc.Callable]
    params, result = args
    types_of = [hint_of(result).schema]
    if params is not Ellipsis:
        types_of += [hint_of(each).schema for each in params]
        return Hint({"type": "ffi.Function", "args": types_of}, _OBJECT, _as_function)
    return _PLAIN[collections.abc.Callable]


def _items(value: Any, expected: str) -> list[Any]:
    if not isinstance(value, (list, tuple, lane.Array, lane.List)):
        raise _refuse(expected, value)
    return list(value)


def _sequence(key: str, made: Any, args: tuple[Any, ...]) -> Hint:
    inner = [hint_of(each) for each in args[:1]]
    schema: dict[str, Any] = {"type": key}
    if inner:
        schema["args"] = [inner[0].schema]

    def convert(value: Any) -> Any:
        items = _items(value, _told(schema))
        parts = items
        if inner:
            parts = [_part(inner[0], item, f"element [{at}]") for at, item in enumerate(items)]
        same = all(part is item for part, item in zip(parts, items, strict=True))
        return value if same and isinstance(value, made) else made(parts)

    return Hint(schema, _OBJECT, convert)


def _tuple(args: tuple[Any, ...]) -> Hint:
    inner = [hint_of(each) for each in args]
    schema = {"type": "Tuple", "args": [each.schema for each in inner]}

    def convert(value: Any) -> Any:
        items = _items(value, _told(schema))
        if len(items) != len(inner):
            raise TypeError(f"expected {_told(schema)}, got {len(items)} items")
        pairs = enumerate(zip(inner, items, strict=True))
        return Array([_part(each, item, f"element [{at}]") for at, (each, item) in pairs])

    return Hint(schema, _OBJECT, convert)


def _mapping(key: str, made: Any, args: tuple[Any, ...]) -> Hint:
    inner = [hint_of(each) for each in args]
    schema: dict[str, Any] = {"type": key}
    if inner:
        schema["args"] = [each.schema for each in inner]

    def convert(value: Any) -> Any:
        if not isinstance(value, (dict, lane.Map, lane.Dict)):
            raise _refuse(_told(schema), value)
        items = list(value.items())
        if not inner:
            return value if isinstance(value, made) else made(dict(items))
        keys, values = inner
        pairs = [
            (_part(keys, k, f"key {k!r}"), _part(values, v, f"value for key {k!r}"))
            for k, v in items
        ]
        same = all(a[0] is b[0] and a[1] is b[1] for a, b in zip(pairs, items, strict=True))
        return value if same and isinstance(value, made) else made(dict(pairs))

    return Hint(schema, _OBJECT, convert)


def _part(hint: Hint, value: Any, where: str) -> Any:
    try:
        return hint.convert(value)
    except TypeError as problem:
        raise TypeError(f"{where}: {problem}") from None


def _object(cls: Any) -> Hint:
    payload = getattr(cls, "__fnabi_payload__", None)
    key = "ffi.Tensor" if cls is Tensor else "ffi.Shape" if cls is Shape else cls.__fnabi_type__.key

    def convert(value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if payload is not None and isinstance(value, payload):
            try:
                return cls(value)
            except (ValueError, OverflowError) as problem:
                raise TypeError(f"expected {key}: {problem}") from None
        if cls is Shape and isinstance(value, (list, tuple)):
            return Shape(value)
        raise _refuse(key, value)

    return Hint({"type": key}, _OBJECT, convert)
