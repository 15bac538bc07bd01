"""Fields of types that are defined in Python: what they hold, and how values are converted."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fnabi.dropin.tvm_ffi._dialect import MISSING
from fnabi.dropin.tvm_ffi._type_convert import converter, normal
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema
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


_STORAGE = {
    "int": _INT,
    "bool": _BOOL,
    "float": _FLOAT,
    "ctypes.c_void_p": _POINTER,
    "dtype": _DTYPE,
    "Device": _DEVICE,
    **dict.fromkeys(("Any", "None", "str", "bytes", "Optional", "Union"), _ANY),
}
"""The type indexes of fields in memory by the origin of a type; those of others are objects."""

_KEPT = {"int": (1,), "bool": (2,), "float": (3,), "str": (11, 65), "bytes": (12, 66)}

_KEYS = {
    "dtype": "DataType",
    "ctypes.c_void_p": "void*",
    "str": "ffi.String",
    "bytes": "ffi.Bytes",
    "Callable": "ffi.Function",
    "Union": "Variant",
    "tuple": "Tuple",
    **{
        name: f"ffi.{name}"
        for name in ("Object", "Tensor", "Shape", "Module", "Error", "Array", "List", "Map", "Dict")
    },
}
"""The names of types in libraries by those in type hints."""


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


def hint_of(hint: Any) -> Hint:
    """Return what a type hint means.

    Raises:
        TypeError: No field can have the type.

    """
    try:
        schema = TypeSchema.from_annotation(hint)
    except TypeError as problem:
        raise TypeError(f"no field can have the type {hint!r}: {problem}") from None
    make = converter(schema)
    return Hint(
        _described(schema),
        _STORAGE.get(schema.origin, _OBJECT),
        lambda value: make(normal(value)),
        _KEPT.get(schema.origin, ()),
    )


def _described(schema: TypeSchema) -> dict[str, Any]:
    """Return a type as libraries describe theirs."""
    found: dict[str, Any] = {"type": _KEYS.get(schema.origin, schema.origin)}
    if schema.args and "params" in (schema.named_args or ("params",)):
        found["args"] = [_described(each) for each in schema.args]
    return found
