"""Types that are defined in Python: classes whose objects every library can read.

`py_class` registers a type with libtvm_ffi: its key, a field for each type hint in the class, and
special methods such as ``__ffi_repr__``. Objects are memory laid out by the fields, which
libtvm_ffi allocates, copies, compares and frees.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple

from fnabi._base import lane
from fnabi.calls.reflection import fields_of
from fnabi.dropin.tvm_ffi._definition import abandon_type, define_type
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object, dialect, object_classes
from fnabi.dropin.tvm_ffi._dunder import MARK, _install_dataclass_dunders
from fnabi.dropin.tvm_ffi._layout import schema_of
from fnabi.dropin.tvm_ffi._types import TypeInfo
from fnabi.dropin.tvm_ffi.dataclasses.field import KW_ONLY, Field, InitProperty, converted, field
from fnabi.dropin.tvm_ffi.registry import _add_class_attrs

_KINDS = {None: 0, "tree": 1, "var": 2, "dag": 3, "const-tree": 4, "singleton": 5}
"""How objects are compared by structure, as the C ABI counts it."""

_INHERITED = ("__s_equal__", "__s_hash__", "__s_visit__", "__data_to_json__", "__data_from_json__")
TYPE_ATTRIBUTES = frozenset(
    (
        "__ffi_repr__",
        "__ffi_hash__",
        "__ffi_eq__",
        "__ffi_compare__",
        "__ffi_convert__",
        "__ffi_convert_type_schema__",
        "__any_hash__",
        "__any_equal__",
        "__s_mutate__",
        "__s_maybe_inplace_mutate__",
        *_INHERITED,
    )
)
"""The names of methods that libraries look up as attributes of the type."""

_METHOD = "__ffi_method__"
_HOOK = "__ffi_on_fields_resolved__"


class _Options(NamedTuple):
    frozen: bool
    init: bool
    repr: bool
    eq: bool
    order: bool
    unsafe_hash: bool
    match_args: bool
    kw_only: bool
    structural_eq: str | None


class _Waiting(NamedTuple):
    """A class with a type hint that names what is not defined yet."""

    cls: Any
    options: _Options
    initialiser: Any


_waiting: list[_Waiting] = []
_by_module: dict[str, dict[str, Any]] = {}
"""The classes that are defined, by module and name: a module may not have them yet."""


def method(fn: Any) -> Any:
    """Mark a method of a class below `py_class`, which libraries can then call by its name.

    Raises:
        TypeError: It is a class method, or cannot be called.

    """
    if isinstance(fn, classmethod):
        raise TypeError("method: @classmethod is not supported; use @staticmethod")
    function = fn.__func__ if isinstance(fn, staticmethod) else fn
    if not callable(function):
        raise TypeError(f"method: expected a callable, got {type(fn).__name__}")
    setattr(function, _METHOD, True)
    return fn


@typing.dataclass_transform(eq_default=False, field_specifiers=(Field, field))
def py_class(
    cls_or_type_key: Any = None,
    /,
    *,
    type_key: str | None = None,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
    kw_only: bool = False,
    structural_eq: str | None = "tree",
    slots: bool = True,
) -> Any:
    """Define a type by a class; used as a decorator, with or without arguments.

    Args:
        cls_or_type_key: The class, or the key of the type.
        type_key: The key of the type; by default the module and the name of the class.
        frozen: Whether all fields are read-only.
        init: Whether calling the class makes an object of its fields.
        repr: Whether the library writes the repr.
        eq: Whether two objects with equal fields are equal.
        order: Whether objects are ordered by their fields; needs `eq`.
        unsafe_hash: Whether the hash is that of the fields.
        match_args: Whether patterns match the fields by position.
        kw_only: Whether the initialiser accepts fields by name only.
        structural_eq: How objects are compared by structure: ``"tree"``, ``"var"``, ``"dag"``,
            ``"const-tree"``, ``"singleton"``, or None for not at all.
        slots: Ignored: a class has the attributes that its own ``__slots__`` name.

    Raises:
        TypeError: The class derives from no type, or a field cannot have the type of its hint.
        ValueError: The key is registered, or options contradict each other.

    """
    if order and not eq:
        raise ValueError("order=True requires eq=True")
    if structural_eq not in _KINDS:
        known = ", ".join(map(str, _KINDS))
        raise ValueError(f"structural_eq must be one of {known}, got {structural_eq!r}")
    options = _Options(
        frozen, init, repr, eq, order, unsafe_hash, match_args, kw_only, structural_eq
    )
    if isinstance(cls_or_type_key, type):
        return _define(cls_or_type_key, type_key, options)
    if cls_or_type_key is not None and not isinstance(cls_or_type_key, str):
        raise TypeError(f"py_class: expected str or type, got {type(cls_or_type_key).__name__}")
    return lambda cls: _define(cls, cls_or_type_key or type_key, options)


py_class.__dataclass_transform__["kwargs"]["converter"] = converted  # type: ignore[attr-defined]


def _define(cls: Any, key: str | None, options: _Options) -> Any:
    if not (isinstance(cls, type) and issubclass(cls, Object)):
        name = getattr(cls, "__name__", cls)
        raise TypeError(f"{name} must inherit from a registered FFI Object type")
    key = key or f"{cls.__module__}.{cls.__qualname__}"
    made: Any = cls
    info = define_type(made.__tvm_ffi_type_info__, key, made)
    info._decorator_args = options._asdict()
    names = _by_module.setdefault(cls.__module__, {})
    names[cls.__name__] = cls
    setattr(made, MARK, True)
    try:
        hints = _resolved(made)
        if hints is None:
            _waiting.append(_Waiting(made, options, vars(cls).get("__init__")))
            made.__init__ = _deferred
        else:
            _finish(made, hints, options)
            _retry()
    except BaseException:
        names.pop(cls.__name__, None)
        abandon_type(info, made)
        delattr(made, MARK)
        raise
    return cls


# ------------------------------------------------------------------------------- type hints


def own_hints(cls: type) -> Mapping[str, Any]:
    """Return the type hints in the body of a class, as they are written."""
    return inspect.get_annotations(cls)


def _owners(cls: Any) -> Iterator[Any]:
    """Yield the classes whose hints are fields of a type: it, and bases that are no types."""
    parent = next(each for each in cls.__mro__[1:] if "__fnabi_type__" in vars(each))
    for each in reversed(cls.__mro__):
        if each not in parent.__mro__:
            yield each


def _resolved(cls: Any) -> list[tuple[Any, str, Any]] | None:
    """Return the owner, name and hint of each field; None where one is not defined yet."""
    if any(each.cls in cls.__mro__[1:] for each in _waiting):
        return None
    local = _by_module.get(cls.__module__, {}) | {cls.__name__: cls}
    elsewhere = {name: each for names in _by_module.values() for name, each in names.items()}
    for names in (local, elsewhere | local):
        try:
            return [
                (owner, name, hint)
                for owner in _owners(cls)
                for name, hint in _evaluated(owner, names).items()
            ]
        except (NameError, AttributeError):
            continue
    return None


def _evaluated(owner: Any, names: dict[str, Any]) -> dict[str, Any]:
    body = {"__annotations__": dict(own_hints(owner)), "__module__": owner.__module__}
    globals_ = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    return typing.get_type_hints(
        type(owner.__name__, (), body), globalns=globals_, localns=names, include_extras=True
    )


def _retry() -> None:
    """Finish the classes whose hints are defined by now."""
    done = True
    while done:
        done = False
        for each in list(_waiting):
            hints = _resolved(each.cls)
            if hints is not None and each in _waiting:
                _resume(each, hints)
                done = True


def _resume(each: _Waiting, hints: list[tuple[Any, str, Any]]) -> None:
    _waiting.remove(each)
    if each.initialiser is None:
        del each.cls.__init__
    else:
        each.cls.__init__ = each.initialiser
    _finish(each.cls, hints, each.options)


def _deferred(self: Any, /, *args: Any, **named: Any) -> None:
    """Initialise the first object of a class whose hints were not defined before."""
    cls = type(self)
    for base in reversed(cls.__mro__):
        for each in list(_waiting):
            if each.cls is base:
                hints = _resolved(base)
                if hints is None:
                    raise TypeError(
                        f"Cannot instantiate {cls.__name__}: unresolved forward references:"
                        f" {_unresolved(base)}"
                    )
                _resume(each, hints)
    _retry()
    cls.__init__(self, *args, **named)


def _unresolved(cls: Any) -> list[str]:
    found = []
    for owner in _owners(cls):
        for name, hint in own_hints(owner).items():
            try:
                _evaluated(
                    type(owner.__name__, (), {"__annotations__": {name: hint}}),
                    _by_module.get(cls.__module__, {}),
                )
            except Exception as problem:  # whatever a hint does
                found.append(f"{name}: {hint} ({problem})")
    return found


# ------------------------------------------------------------------------------- definition


def _finish(cls: Any, hints: list[tuple[Any, str, Any]], options: _Options) -> None:
    """Register the fields and the methods of a type, and complete its class."""
    info = cls.__tvm_ffi_type_info__
    fields, computed = _declared(cls, hints, options, info)
    for base in reversed(cls.__mro__):
        for value in list(vars(base).values()):
            if callable(value) and getattr(value, _HOOK, False) is True:
                value(info, fields)
    for each in fields:
        if each.extra_kwargs:
            names = ", ".join(sorted(each.extra_kwargs))
            raise TypeError(f"{cls.__name__}.{each.name}: unrecognized field options: {names}")
    structure = options.structural_eq
    info._register_fields(fields, None if structure is None else _KINDS[structure])
    cls.__fnabi_computed__ = computed
    info._register_py_methods(_collect_py_methods(cls), _attributes_of(cls))
    _inherit_attributes(cls)
    _add_class_attrs(cls, info)
    _install_dataclass_dunders(
        cls,
        init=options.init,
        repr=options.repr,
        eq=options.eq,
        order=options.order,
        unsafe_hash=options.unsafe_hash,
        match_args=options.match_args,
        py_class_mode=True,
    )


def _declared(
    cls: Any, hints: list[tuple[Any, str, Any]], options: _Options, info: TypeInfo
) -> tuple[list[Field], dict[str, Callable[[Any], Any]]]:
    """Return the fields of a class, and the functions that compute some of them.

    Hints that an extension marks are no fields; the options of the class have their positions.
    """
    found: dict[str, Field] = {}
    computed = {}
    parent: Any = info.parent_type_info
    marks = list(getattr(parent, "_decorator_args", {}).get("field_markers", ()))
    marking = getattr(cls, "__ffi_field_markers__", ())
    if not isinstance(marking, (tuple, list)) or not all(isinstance(t, type) for t in marking):
        raise TypeError(f"{cls.__name__}.__ffi_field_markers__: expected a tuple or list of types")
    before = len(fields_of(object_classes.class_of(parent.type_index)))
    kw_only = options.kw_only
    for owner, name, hint in hints:
        if hint is ClassVar or typing.get_origin(hint) is ClassVar:
            continue
        if any(hint is each for each in marking):
            marks.append((hint, owner, name, before + len(found)))
            continue
        value = vars(owner).get(name, MISSING)
        if owner is cls and value is not MISSING:
            delattr(cls, name)
        if hint is KW_ONLY:
            kw_only = True
            continue
        if isinstance(value, Field):
            made = copy(value)
        elif isinstance(value, InitProperty):
            made = field(init=False, structural_eq="ignore", repr=False, compare=False)
            computed[name] = value.function
        else:
            made = field(default=value)
        made.name = name
        made.type = hint
        made._ty_schema = schema_of(hint)
        made.kw_only = kw_only if made.kw_only is None else made.kw_only
        made.frozen = made.frozen or options.frozen
        made.hash = made.compare if made.hash is None else made.hash
        found[name] = made
    info._decorator_args["field_markers"] = tuple(marks)
    return list(found.values()), computed


def _names_to_inherit(cls: Any) -> tuple[str, ...]:
    return tuple(getattr(cls, "__ffi_inherit_type_attrs__", _INHERITED))


def _attributes_of(cls: Any) -> frozenset[str]:
    """Return the names of members that libraries look up for the type."""
    extra = getattr(cls, "__ffi_type_attr_names__", ())
    return TYPE_ATTRIBUTES.union(extra, _names_to_inherit(cls))


def _collect_py_methods(cls: Any) -> list[tuple[str, Any, bool]] | None:
    """Return the name of what libraries can call, it, and whether it does without an object.

    Raises:
        TypeError: It is a class method.

    """
    attributes, found = _attributes_of(cls), []
    for name, value in vars(cls).items():
        static = isinstance(value, staticmethod)
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if name not in attributes and getattr(function, _METHOD, False) is not True:
            continue
        if isinstance(value, classmethod):
            raise TypeError(
                f"{cls.__name__}.{name}: wrapped by @classmethod, which libraries cannot call"
            )
        found.append((name, function, static))
    return found or None


def _inherit_attributes(cls: Any) -> None:
    for name in _names_to_inherit(cls):
        if name not in vars(cls):
            value = _inherited(cls, name)
            if value is not None:
                dialect(lane.define_attribute, cls.__fnabi_type__.index, name, value)


def _inherited(cls: Any, name: str) -> Any:
    """Return an attribute of the nearest base that has it, or says that it has none."""
    for index in reversed(cls.__fnabi_type__.ancestors):
        value = dialect(lane.type_attribute, index, name)
        base = object_classes.class_of(index)
        if value is not None or (base is not None and name in vars(base)):
            return value
    return None
