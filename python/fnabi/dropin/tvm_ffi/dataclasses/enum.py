"""Enums: types with a fixed set of objects, shared with all libraries."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.calls.reflection import fields_of
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object, ObjectMeta, dialect
from fnabi.dropin.tvm_ffi._types import payload_enums
from fnabi.dropin.tvm_ffi.container import Dict, List
from fnabi.dropin.tvm_ffi.dataclasses.c_class import c_class
from fnabi.dropin.tvm_ffi.dataclasses.field import field
from fnabi.dropin.tvm_ffi.dataclasses.py_class import own_hints, py_class
from fnabi.errors import type_name

ENUM_STATE_ATTR = "__ffi_enum__"


def _registered(cls: Any) -> Any:
    """Register the class of the states of enums, whose type libtvm_ffi has from 0.1.13 on."""
    if lane.type_index_of("ffi.EnumState") is not None:
        return c_class("ffi.EnumState")(cls)
    for name, kind in {"entries": List, "indexes": Dict, "attrs": Dict}.items():
        setattr(cls, name, field(default_factory=kind))
    return py_class("ffi.EnumState")(cls)


@_registered
class EnumState(Object):
    """The members of an enum: in order, by index, and their attributes."""

    __slots__ = ()
    entries: Any
    indexes: Any
    attrs: Any


class _EnumEntry:
    """A member that the body of a class declares, with the values of its fields."""

    __slots__ = ("args", "named")

    def __init__(self, *args: Any, **named: Any) -> None:
        self.args = args
        self.named = named

    def __repr__(self) -> str:
        parts = [*map(repr, self.args), *(f"{key}={each!r}" for key, each in self.named.items())]
        return f"entry({', '.join(parts)})"


def entry(*args: Any, **kwargs: Any) -> Any:
    """Declare a member of an enum by the values of its fields."""
    return _EnumEntry(*args, **kwargs)


def auto() -> Any:
    """Declare a member of an enum without fields."""
    return _EnumEntry()


_OLDER_ENTRIES = "__ffi_enum_entries__"
"""The attribute of types in which libraries for releases up to 0.1.12 have their members."""


def _state(cls: Any, create: bool = False) -> Any:
    """Return the members of an enum, which every library sees; None where there are none."""
    index = cls.__fnabi_type__.index
    found = dialect(lane.type_attribute, index, ENUM_STATE_ATTR)
    older = None if found is not None else dialect(lane.type_attribute, index, _OLDER_ENTRIES)
    if found is None and (create or older):
        state = EnumState()
        for name, member in (older or {}).items():
            state.entries.append(member)
            number = member._int_index if hasattr(member, "_int_index") else member._value
            state.indexes[name] = state.indexes[number] = member
        dialect(lane.define_attribute, index, ENUM_STATE_ATTR, state)
        found = dialect(lane.type_attribute, index, ENUM_STATE_ATTR)
    return found


def _index(value: Any) -> int | str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int):
        raise TypeError(f"enum index must be int or str, got {type_name(value)}")
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"enum integer index {value} is outside the int64 range")
    return int(value)


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.replace(" ", "").removeprefix("typing.").startswith("ClassVar")
    return hint is ClassVar or typing.get_origin(hint) is ClassVar


def _check_value(cls: Any) -> None:
    if "value" in vars(cls) or "value" in own_hints(cls):
        base = f"{cls.__fnabi_payload__.__name__.capitalize()}Enum"
        raise TypeError(f"{base} reserves `value` as its canonical index alias")


class _EnumType(ObjectMeta):
    """The class of enums."""

    __fnabi_payload__: Any
    get: Any

    def __new__(mcs, name: str, bases: Any, namespace: Any, **options: Any) -> Any:
        return super().__new__(mcs, name, bases, namespace)

    def __init__(
        cls,
        name: str,
        bases: Any,
        namespace: Any,
        *,
        type_key: str | None = None,
        frozen: bool = True,
        init: bool = True,
        repr: bool = True,
    ) -> None:
        super().__init__(name, bases, namespace)
        if cls.__fnabi_payload__ is not None and "__fnabi_payload__" not in namespace:
            _check_value(cls)
        if type_key is not None:
            _define(cls, type_key, frozen, init, repr)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if len(args) == 1 and not named:
            (value,) = args
            if isinstance(value, cls):
                return value
            if isinstance(value, (int, str)):
                try:
                    return cls.get(value)
                except KeyError:
                    raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None
        return super().__call__(*args, **named)

    def __iter__(cls) -> Iterator[Any]:
        state = _state(cls)
        return iter(() if state is None else list(state.entries))

    def __len__(cls) -> int:
        return len(list(iter(cls)))

    @property
    def attr_dict(cls) -> Any:
        """The attributes of members, by name and member."""
        state = _state(cls)
        return Dict({}) if state is None else state.attrs


@c_class("ffi.Enum", init=False)
class Enum(Object, metaclass=_EnumType):
    """A type whose objects are its members; a class with ``type_key`` defines one."""

    __slots__ = ()
    __fnabi_payload__: ClassVar[Any] = None
    _int_index: int
    _str_index: str

    @classmethod
    def get(cls, index: int | str) -> Any:
        """Return the member with an index or a name.

        Raises:
            KeyError: There is none.

        """
        wanted = _index(index)
        state = _state(cls)
        if state is None or wanted not in state.indexes:
            raise KeyError(wanted)
        return state.indexes[wanted]

    @classmethod
    def all_entries(cls) -> Iterator[Any]:
        """Return the members in their order."""
        return iter(cls)

    @classmethod
    def def_attr(cls, name: str, *, default: Any = MISSING) -> EnumAttrMap:
        """Return an attribute that members can have; see `EnumAttrMap`."""
        return EnumAttrMap(cls, name, default=default)


@c_class("ffi.IntEnum", init=False)
class IntEnum(Enum):
    """An enum whose members have an int as ``value``."""

    __slots__ = ()
    __fnabi_payload__ = int
    value: int


@c_class("ffi.StrEnum", init=False)
class StrEnum(Enum):
    """An enum whose members have a text as ``value``."""

    __slots__ = ()
    __fnabi_payload__ = str
    value: str


class EnumAttrMap:
    """An attribute of the members of an enum: a mapping from members to values.

    Args:
        enum_cls: The enum.
        name: The name of the attribute.
        default: The value of members that have none.

    """

    __slots__ = ("_cls", "_default", "_name")

    def __init__(self, enum_cls: Any, name: str, *, default: Any = MISSING) -> None:
        self._cls = enum_cls
        self._name = name
        self._default = default

    def _column(self) -> Any:
        state = _state(self._cls)
        return {} if state is None else state.attrs.get(self._name, {})

    def _check(self, variant: Any) -> None:
        if not isinstance(variant, self._cls):
            raise TypeError(f"expected {self._cls.__name__}, got {type_name(variant)}")

    def __setitem__(self, variant: Any, value: Any) -> None:
        self._check(variant)
        attributes = _state(self._cls, create=True).attrs
        if self._name not in attributes:
            attributes[self._name] = Dict({})
        attributes[self._name][variant] = value

    def __getitem__(self, variant: Any) -> Any:
        self._check(variant)
        column = self._column()
        if variant in column:
            return column[variant]
        if self._default is MISSING:
            raise KeyError(f"{variant!r} has no extensible attribute {self._name!r}")
        return self._default

    def __contains__(self, variant: object) -> bool:
        return isinstance(variant, self._cls) and variant in self._column()

    def get(self, variant: Any, default: Any = None) -> Any:
        """Return the value of a member that has one, or `default`."""
        if not isinstance(variant, self._cls):
            return default
        return self._column().get(variant, default)

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self._name


# ------------------------------------------------------------------------------- definition


def _define(cls: Any, key: str, frozen: bool, init: bool, repr: bool) -> None:
    payload = cls.__fnabi_payload__
    own = set(vars(cls))
    names, declared = _declarations(cls, payload)
    known = lane.type_index_of(key) is not None
    if known:
        c_class(key, init=init, repr=repr)(cls)
    else:
        py_class(key, frozen=frozen, structural_eq="singleton")(cls)
    if payload is not None:
        payload_enums[key] = cls
        _add_payload(cls, own)
    state = _state(cls, create=True)
    for name in names:
        if name in state.indexes:
            setattr(cls, name, state.indexes[name])
        elif known:
            raise RuntimeError(f"{key!r} has no enum at string index {name!r}")
        elif payload is int:
            raise TypeError(f"{cls.__name__}.{name} requires an integer value")
        else:
            declared[name] = _EnumEntry(value=name) if payload is str else _EnumEntry()
    for name, each in declared.items():
        setattr(cls, name, _member(cls, state, name, each, known))


def _declarations(cls: Any, payload: Any) -> tuple[list[str], dict[str, _EnumEntry]]:
    """Return the names of members without values, and the members with; both leave the class."""
    hints = {name: _is_class_variable(hint) for name, hint in own_hints(cls).items()}
    names = [
        name
        for name, of_class in hints.items()
        if of_class and not name.startswith("_") and name not in vars(cls)
    ]
    declared = {}
    for name, value in list(vars(cls).items()):
        if name.startswith("_") or hints.get(name) is False:
            continue
        if isinstance(value, _EnumEntry):
            declared[name] = value
        elif payload is not None and not (
            callable(value) or isinstance(value, (staticmethod, classmethod, property))
        ):
            declared[name] = _EnumEntry(value=value)
        else:
            continue
        delattr(cls, name)
    return names, declared


def _member(cls: Any, state: Any, name: str, declared: _EnumEntry, known: bool) -> Any:
    """Return the member of a declaration, which is made unless a library has it."""
    payload, where = cls.__fnabi_payload__, f"{cls.__name__}.{name}"
    named = dict(declared.named)
    number, text = len(state.entries), name
    if "_int_index" in named or "_str_index" in named:
        raise TypeError(f"{where}: enum indices are inferred")
    if payload is not None:
        value = named.pop("value", None)
        if type(value) is not payload:
            raise TypeError(f"{where} requires a value of type {payload.__name__}")
        if payload is int:
            number = _index(value)  # type: ignore[assignment]
        else:
            text = value
    wanted = number if payload is int else text
    if wanted in state.indexes:
        return state.indexes[wanted]
    if number in state.indexes or text in state.indexes:
        raise ValueError(f"duplicate enum index in {where}")
    named |= {"_int_index": number, "_str_index": text}
    try:
        made = (
            _made_by_library(cls, declared.args, named) if known else cls(*declared.args, **named)
        )
    except Exception as problem:
        raise TypeError(f"{where}: invalid enum entry: {problem}") from problem
    state.entries.append(made)
    state.indexes[number] = made
    state.indexes[text] = made
    return made


def _made_by_library(cls: Any, args: Any, named: dict[str, Any]) -> Any:
    if args:
        raise TypeError("expected fields by name")
    new = cls.__fnabi_type__.attribute("__ffi_new__")
    if new is None:
        raise TypeError("the library registered no way to make an object")
    made, fields = new(), fields_of(cls)
    for name, value in named.items():
        if name not in fields:
            raise TypeError(f"there is no field {name!r}")
        fields[name].set(made, value)
    return made


def _add_payload(cls: Any, own: set[str]) -> None:
    """Make members equal to their values."""
    payload = cls.__fnabi_payload__

    def equal(self: Any, other: object) -> Any:
        if isinstance(other, type(self)):
            return self.value == other.value
        return self.value == other if isinstance(other, payload) else NotImplemented

    def unequal(self: Any, other: object) -> Any:
        found = equal(self, other)
        return NotImplemented if found is NotImplemented else not found

    for name, value in {
        "__eq__": equal,
        "__ne__": unequal,
        "__hash__": lambda self: hash(self.value),
        "__str__": lambda self: str(self.value),
        "__repr__": lambda self: f"{type(self).__name__}.{self.name}",
        "name": property(lambda self: str(self._str_index), doc="The name of the member."),
    }.items():
        if name not in own:
            setattr(cls, name, value)
