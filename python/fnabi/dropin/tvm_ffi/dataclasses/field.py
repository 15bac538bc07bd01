"""Fields of classes that behave as dataclasses, and how classes declare them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fnabi.dropin.tvm_ffi._dialect import MISSING
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema
from fnabi.errors import type_name

KW_ONLY = dataclasses.KW_ONLY

_EQUALITIES = (None, "ignore", "def", "def-pattern", "def-simple")


def converted(value: Any) -> Any:
    """Tell type checkers that a field accepts what its type converts."""
    return value


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
        extra_kwargs: Options that extensions of `py_class` read and remove.

    """

    __slots__ = (
        "_ty_schema",
        "compare",
        "converter",
        "default",
        "default_factory",
        "doc",
        "extra_kwargs",
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
        _ty_schema: TypeSchema | None = None,
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
        **extra_kwargs: Any,
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
        self._ty_schema = _ty_schema
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
        self.converter = converted if converter is None else converter
        self.extra_kwargs = extra_kwargs

    @classmethod
    def of(cls, member: Any, hint: Any) -> Field:
        """Describe a field that a library has registered."""
        made = cls(
            member.name,
            member.ty,
            default=member.c_default,
            default_factory=member.c_default_factory,
            frozen=member.frozen,
            init=member.c_init,
            repr=member.c_repr,
            hash=member.c_hash,
            compare=member.c_compare,
            kw_only=member.c_kw_only,
            structural_eq=member.c_structural_eq,
            doc=member.doc,
        )
        made.type = hint
        return made

    def __copy__(self) -> Field:
        made = Field.__new__(type(self))
        for name in Field.__slots__:
            setattr(made, name, getattr(self, name))
        made.metadata = dict(self.metadata)
        made.extra_kwargs = dict(self.extra_kwargs)
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
    **extra_kwargs: Any,
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
        **extra_kwargs,
    )


class InitProperty:
    """A field whose value a function computes after the others are set."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        """Declare the field by the hint of what the function returns, unless there is one."""
        hint = inspect.get_annotations(self.function).get("return", Any)
        own = inspect.get_annotations(owner)
        owner.__annotations__ = own if name in own else own | {name: hint}


def init_property(function: Callable[[Any], Any]) -> Any:
    """Declare a field whose value a function of the object gives, once."""
    return InitProperty(function)
