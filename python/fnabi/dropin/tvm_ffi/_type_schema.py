"""The types of fields and functions: read from JSON and from type hints, printed, compared."""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.dropin.tvm_ffi._dialect import Object

_ORIGINS = {
    "DataType": "dtype",
    "DLTensor*": "Tensor",
    "void*": "ctypes.c_void_p",
    "const char*": "str",
    "std::string": "str",
    "ffi.String": "str",
    "ffi.SmallStr": "str",
    "ffi.Bytes": "bytes",
    "ffi.SmallBytes": "bytes",
    "TVMFFIByteArray*": "bytes",
    "ffi.BigInt": "int",
    "ffi.Object": "Object",
    "ffi.Tensor": "Tensor",
    "ffi.Shape": "Shape",
    "ffi.Module": "Module",
    "ffi.Error": "Error",
    "ffi.Array": "Array",
    "ffi.List": "List",
    "ffi.Map": "Map",
    "ffi.Dict": "Dict",
    "std::vector": "Array",
    "std::map": "Map",
    "std::unordered_map": "Map",
    "std::optional": "Optional",
    "std::variant": "Union",
    "std::tuple": "tuple",
    "Variant": "Union",
    "Tuple": "tuple",
    "ffi.Function": "Callable",
    "std::function": "Callable",
    "ObjectRValueRef": "Object",
}
"""The names of types in type hints, by those in libraries."""

_LOSSY = {"ffi.BigInt"}
"""Names of libraries that mean less than the name in type hints."""

_INDEXES = {
    "Any": -1,
    "None": 0,
    "int": 1,
    "bool": 2,
    "float": 3,
    "ctypes.c_void_p": 4,
    "dtype": 5,
    "Device": 6,
    "Object": 64,
    "str": 65,
    "bytes": 66,
    "Error": 67,
    "Callable": 68,
    "Shape": 69,
    "Tensor": 70,
    "Array": 71,
    "Map": 72,
    "Module": 73,
    "List": 75,
    "Dict": 76,
}
_OF_INDEX = {index: name for name, index in _INDEXES.items()}
_OF_INDEX |= {7: "Tensor", 8: "str", 9: "bytes", 10: "Object", 11: "str", 12: "bytes"}
_STRUCTURAL, _UNKNOWN = -2, -3

_LENGTHS = {"Array": 1, "List": 1, "Map": 2, "Dict": 2, "list": 1, "dict": 2}


def _check_args(origin: str, count: int) -> None:
    wanted = _LENGTHS.get(origin)
    if wanted is not None and count not in (0, wanted):
        raise ValueError(f"{origin} requires 0 or {wanted} type arguments, got {count}")
    if origin == "Union" and count < 2:
        raise ValueError(f"Union requires at least two type arguments, got {count}")
    if origin == "Optional" and count != 1:
        raise ValueError(f"Optional requires exactly one type argument, got {count}")


class TypeSchema:
    """A type in the words of Python's type hints.

    Attributes:
        origin: The name of the type, such as ``"int"``, ``"Array"`` or ``"Callable"``.
        args: The type arguments; those of a ``"Callable"`` are its result and its parameters.
        origin_type_index: The type index; -1 for any value, -2 for ``"Optional"`` and ``"Union"``,
            -3 for ``"tuple"`` and a name that is not known.
        named_args: The groups of arguments that have names, or None: ``"return"`` and ``"params"``
            of a ``"Callable"``.
        fallback: The type to use where this one is not known, or None.
        type_key: The name in the library, where `origin` means more.

    """

    __slots__ = (
        "_any_length",
        "_convert",
        "args",
        "fallback",
        "named_args",
        "origin",
        "origin_type_index",
        "type_key",
    )

    _conversion: ClassVar[Any]
    """The module `_type_convert`, which needs all classes of values."""

    def __init__(
        self,
        origin: str,
        args: tuple[TypeSchema, ...] | None = None,
        origin_type_index: int | None = None,
        fallback: TypeSchema | None = None,
        named_args: dict[str, tuple[TypeSchema, ...]] | None = None,
        type_key: str | None = None,
    ) -> None:
        if not isinstance(origin, str) or not origin:
            raise ValueError(f"origin: expected the name of a type, got {origin!r}")
        self._any_length = origin == "tuple" and args is None
        args = tuple(args or ())
        if not isinstance(named_args, (Mapping, type(None))):
            raise TypeError(f"named_args: expected a mapping, got {type(named_args).__name__}")
        for each in chain(args, *(named_args or {}).values()):
            if not isinstance(each, TypeSchema):
                raise TypeError(f"args: expected TypeSchema, got {type(each).__name__}")
        _check_args(origin, len(args))
        if not args and origin in _LENGTHS:
            args = (TypeSchema("Any"),) * _LENGTHS[origin]
        if origin == "Callable":
            if named_args is None and args:
                named_args = {"return": args[:1]}
                if args[1:]:
                    named_args["params"] = args[1:]
            elif named_args is not None and not args:
                args = (*named_args.get("return", ()), *named_args.get("params", ()))
        self.origin = origin
        self.args = args
        self.fallback = fallback
        self.named_args = named_args
        self.type_key = type_key
        self.origin_type_index = (
            _index_of(origin) if origin_type_index is None else origin_type_index
        )
        self._convert: Callable[[Any], Any] | None = None

    def become(self, other: TypeSchema) -> None:
        """Take over what another type means."""
        for name in TypeSchema.__slots__:
            setattr(self, name, getattr(other, name))

    # -------------------------------------------------------------------------------------- making

    @staticmethod
    def from_json_str(s: str) -> TypeSchema:
        """Return the type of a JSON text."""
        return TypeSchema.from_json_obj(json.loads(s))

    @staticmethod
    def from_json_obj(obj: dict[str, Any]) -> TypeSchema:
        """Return the type of decoded JSON.

        Raises:
            TypeError: It is no type.

        """
        name = obj.get("type") if isinstance(obj, dict) else None
        if not isinstance(name, str):
            raise TypeError(f"expected schema dict with the key 'type', got {obj!r}")
        args = tuple(_schemas(obj.get("args")))
        if name in ("ObjectRValueRef", "Expected") and args:
            return args[0]
        fallback = obj.get("fallback")
        type_key = name if name in _LOSSY else None
        found = None if fallback is None else TypeSchema.from_json_obj(fallback)
        named = _named(obj.get("named_args"))
        if name in ("std::function", "ffi.Function", "Callable") and named is None and args:
            named = {"return": args[:1]}
            if len(args) > 1 or len(obj["args"]) > 1:
                named["params"] = args[1:]
        given = args if args or obj.get("args") == [] else None
        return TypeSchema(_ORIGINS.get(name, name), given, None, found, named, type_key)

    @staticmethod
    def from_type_index(type_index: int, args: tuple[TypeSchema, ...] | None = None) -> TypeSchema:
        """Return the type of a type index.

        Raises:
            ValueError: No type has it.

        """
        origin = _OF_INDEX.get(type_index)
        if origin is None:
            if type_index < Object.__fnabi_type__.index or type_index not in _registered():
                raise ValueError(f"no type has the index {type_index}")
            key = lane.type_info(type_index)[0]
            origin = _ORIGINS.get(key, key)
            return TypeSchema(origin, args, None, type_key=key if key in _LOSSY else None)
        return TypeSchema(origin, args, type_index)

    @staticmethod
    def from_annotation(annotation: object) -> TypeSchema:
        """Return the type that a type hint means.

        Raises:
            TypeError: It means none.

        """
        return _of_hint(annotation)

    # ------------------------------------------------------------------------------------ printing

    def repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the type hint, with names replaced by a function."""
        return self._text(ty_map, is_input=False)

    output_repr = repr

    def input_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the type hint of what is accepted where the type is expected."""
        return self._text(ty_map, is_input=True)

    def _text(self, ty_map: Callable[[str], str] | None, *, is_input: bool) -> str:
        wider = self._accepted() if is_input else None
        if wider is not None:
            return " | ".join(
                each._text(ty_map, is_input=each.origin != self.origin)
                for each in (wider.args if wider.origin == "Union" else (wider,))
            )
        name = self.type_key or self.origin
        origin = name if ty_map is None else ty_map(name)
        if origin == name:
            if self.fallback is not None:
                return self.fallback._text(ty_map, is_input=is_input)
            origin = self.origin if ty_map is None else ty_map(self.origin)
        args = [arg._text(ty_map, is_input=is_input) for arg in self.args]
        if self.origin == "Callable":
            if not args:
                return f"{origin}[..., Any]"
            if self.named_args is not None and "params" not in self.named_args:
                return f"{origin}[..., {args[0]}]"
            return f"{origin}[[{', '.join(args[1:])}], {args[0]}]"
        if self.origin == "Optional":
            return f"{args[0]} | None"
        if self.origin == "Union":
            return " | ".join(args)
        if self.origin == "tuple" and not args and not self._any_length:
            return f"{origin}[()]"
        return f"{origin}[{', '.join(args)}]" if args else origin

    def _accepted(self) -> TypeSchema | None:
        """Return what the type says that it accepts beside its own values, or None."""
        if self.origin_type_index < Object.__fnabi_type__.index:
            return None
        text = lane.type_attribute(self.origin_type_index, "__ffi_convert_type_schema__")
        return TypeSchema.from_json_str(str(text)) if isinstance(text, str) else None

    def to_json(self) -> dict[str, Any]:
        """Return the type as JSON, from which `from_json_obj` reads it."""
        found: dict[str, Any] = {"type": self.type_key or self.origin}
        if self.named_args is not None:
            found["named_args"] = {
                name: [each.to_json() for each in group] for name, group in self.named_args.items()
            }
        elif self.args or (self.origin == "tuple" and not self._any_length):
            found["args"] = [each.to_json() for each in self.args]
        if self.fallback is not None:
            found["fallback"] = self.fallback.to_json()
        return found

    def __repr__(self) -> str:
        return self.repr()

    def __str__(self) -> str:
        return self.repr()

    def _parts(self) -> tuple[Any, ...]:
        named = self.named_args
        return (
            self.origin,
            self.args,
            self._any_length,
            None if named is None else tuple(sorted(named.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSchema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.origin, self.args))

    # --------------------------------------------------------------------------------- conversions

    def is_subtype_of(self, target_cls: type) -> bool:
        """Return whether objects of the type are instances of a class."""
        target: Any = getattr(target_cls, "__fnabi_type__", None)
        index = self.origin_type_index
        if target is None or index < Object.__fnabi_type__.index:
            return False
        return index == target.index or target.index in lane.type_info(index)[1]

    def check_value(self, value: object) -> None:
        """Check that a value can be converted to the type.

        Raises:
            TypeError: It cannot.

        """
        self._conversion.convert(self, value, "type check")

    def convert(self, value: object) -> Any:
        """Return a value as a `CAny` of the type.

        Raises:
            TypeError: It cannot be converted.

        """
        return self._conversion.packed(self, value)


def _index_of(origin: str) -> int:
    known = _INDEXES.get(origin)
    if known is not None:
        return known
    if origin in ("Optional", "Union"):
        return _STRUCTURAL
    index = lane.type_index_of(origin)
    return _UNKNOWN if index is None else index


def _registered() -> set[int | None]:
    keys = lane.global_function("ffi.GetRegisteredTypeKeys")
    return set() if keys is None else {lane.type_index_of(str(key)) for key in keys()}


def _schemas(args: Any) -> Iterable[TypeSchema]:
    """Yield the types in a list; one in it is that of parameters."""
    for each in args if isinstance(args, (list, tuple)) else ():
        if isinstance(each, dict):
            yield TypeSchema.from_json_obj(each)
        elif isinstance(each, (list, tuple)):
            yield from _schemas(each)


def _named(groups: Any) -> dict[str, tuple[TypeSchema, ...]] | None:
    if groups is None:
        return None
    if not isinstance(groups, dict) or not all(isinstance(each, list) for each in groups.values()):
        raise TypeError(f"expected a dict of lists of types, got {groups!r}")
    return {name: tuple(_schemas(group)) for name, group in groups.items()}


# --------------------------------------------------------------------------------------- type hints


def _of_hint(hint: Any) -> TypeSchema:
    try:
        found = plain.get(hint)
    except TypeError:
        found = None
    if found is not None:
        return TypeSchema(found)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _of_hint(args[0])
    if origin is typing.Union or origin is types.UnionType:
        return _union(args)
    if origin is collections.abc.Callable or origin is plain.get(Callable):
        return _function(args)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return TypeSchema("Array", (_of_hint(args[0]),))
        return TypeSchema("tuple", tuple(map(_of_hint, args)))
    name = plain.get(origin)
    if name in ("Array", "List", "Map", "Dict"):
        return TypeSchema(name, _container_args(origin, name, args))
    if isinstance(hint, type) and issubclass(hint, lane.Object):
        own = vars(hint).get("__fnabi_type__")
        if own is None:
            raise TypeError(f"{hint.__name__} is not registered: no type has this class")
        return TypeSchema(own.key, (), own.index)
    if isinstance(hint, type) and hasattr(hint, "__dlpack__"):
        return TypeSchema("Tensor")  # the array of another package
    raise TypeError(f"Cannot convert the type hint {hint!r} to a type")


plain: dict[Any, str] = {}
"""The names of types by the classes that type hints name them with; `_type_convert` adds them."""


def _union(args: tuple[Any, ...]) -> TypeSchema:
    choices = tuple(_of_hint(each) for each in args if each is not type(None))
    found = choices[0] if len(choices) == 1 else TypeSchema("Union", choices)
    return TypeSchema("Optional", (found,)) if len(choices) < len(args) else found


def _function(args: tuple[Any, ...]) -> TypeSchema:
    if not args:
        return TypeSchema("Callable")
    params, result = args
    named: dict[str, tuple[TypeSchema, ...]] = {"return": (_of_hint(result),)}
    if params is not Ellipsis:
        named["params"] = tuple(map(_of_hint, params))
    return TypeSchema("Callable", named_args=named)


def _container_args(origin: Any, name: str, args: tuple[Any, ...]) -> tuple[TypeSchema, ...]:
    wanted = _LENGTHS[name]
    if len(args) not in (0, wanted):
        if origin is list:
            raise TypeError(f"list takes at most 1 type argument, got {len(args)}")
        if origin is dict:
            raise TypeError(f"dict requires 0 or 2 type arguments, got {len(args)}")
        raise TypeError(f"{name} requires {wanted} type arguments, got {len(args)}")
    return tuple(map(_of_hint, args))
