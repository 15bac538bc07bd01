"""The special methods of classes that behave as dataclasses."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from fnabi._base import lane
from fnabi.calls.reflection import Instance, fields_of
from fnabi.dropin.tvm_ffi._dialect import (
    Object,
    api,
    install_init,
    is_missing,
    object_repr,
    signature_of,
    unequal,
)

_NO_INIT, _BY_NAME = 512, 1024

MARK = "__ffi_is_dataclass__"
"""The attribute of classes that behave as dataclasses."""


def _compared(name: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return NotImplemented
        return bool(api(name)(self, other))

    return compare


def _hashed(self: Any) -> int:
    return hash(api("RecursiveHash")(self))


def no_initialiser(self: Any, *args: Any, **named: Any) -> None:
    """Refuse to make an object."""
    raise TypeError(
        f"`{type(self).__name__}` cannot be constructed directly. Define a custom __init__ or"
        " use a factory method."
    )


def _replaced(self: Any, **changes: Any) -> Any:
    made = copy.copy(self)
    known = fields_of(type(self))
    for name, value in changes.items():
        if name not in known:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        known[name].set(made, value)
    return made


def _install_dataclass_dunders(
    cls: Any,
    *,
    init: bool,
    repr: bool,
    eq: bool,
    order: bool,
    unsafe_hash: bool,
    match_args: bool = True,
    py_class_mode: bool = False,
) -> None:
    """Add special methods to a class, except those that it defines itself.

    Args:
        cls: The class.
        init: Whether calling the class makes an object.
        repr: Whether the library writes the repr.
        eq: Whether two objects with equal fields are equal.
        order: Whether objects are ordered by their fields.
        unsafe_hash: Whether the hash is that of the fields.
        match_args: Whether patterns match the fields by position.
        py_class_mode: Whether an initialiser of the class finds an object without its fields.

    """
    own = set(vars(cls))

    def add(name: str, value: Any) -> None:
        if name not in own:
            setattr(cls, name, value)

    if py_class_mode:
        _install_py_init(cls, init)
    elif init:
        install_init(cls)
    else:
        add("__init__", no_initialiser)
    if repr:
        add("__repr__", lambda self: object_repr(self))
    if eq and not {"__eq__", "__ne__"} & own:
        cls.__eq__ = _compared("RecursiveEq")
        cls.__ne__ = unequal
        if "__hash__" not in own and not unsafe_hash:
            cls.__hash__ = Object.__hash__
    ordering = ("Lt", "Le", "Gt", "Ge")
    if order and not {f"__{name.lower()}__" for name in ordering} & own:
        for name in ordering:
            setattr(cls, f"__{name.lower()}__", _compared(f"Recursive{name}"))
    if unsafe_hash:
        add("__hash__", _hashed)
    add("__deepcopy__", Instance.__deepcopy__)
    add("__replace__", _replaced)
    setattr(cls, MARK, True)
    if match_args:
        add(
            "__match_args__",
            tuple(
                name
                for name, each in fields_of(cls).items()
                if not each.flags & (_NO_INIT | _BY_NAME)
            ),
        )


def _install_py_init(cls: Any, init: bool) -> None:
    """Give a class that is defined in Python its initialiser.

    One that the class defines itself gets an object whose fields are not set yet. One of a base,
    called by that, does nothing: there is an object already.
    """
    record = cls.__fnabi_type__
    written = vars(cls).get("__init__")
    if written is None and not init:
        cls.__init__ = no_initialiser
        return
    if written is None:
        computed = _computed_fields(cls)

        def __init__(self: Any, /, *args: Any, **named: Any) -> None:
            if not lane.is_empty(self):
                return
            for name in [name for name, value in named.items() if is_missing(value)]:
                del named[name]
            lane.take_object(self, record.make(args, named))
            fields = fields_of(type(self))
            for name, function in computed:
                fields[name].set(self, function(self))
            if hasattr(self, "__post_init__"):
                self.__post_init__()

        __init__.__signature__ = signature_of(cls)  # type: ignore[attr-defined]
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__module__ = cls.__module__
        cls.__init__ = __init__
        return

    @functools.wraps(written)
    def allocated(self: Any, /, *args: Any, **named: Any) -> None:
        if lane.is_empty(self):
            lane.take_object(self, type(self).__fnabi_type__.attribute("__ffi_new__")())
        written(self, *args, **named)

    cls.__init__ = allocated


def _computed_fields(cls: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the fields that functions compute, those of bases first."""
    found: dict[str, Callable[[Any], Any]] = {}
    for each in reversed(cls.__mro__):
        found |= vars(each).get("__fnabi_computed__", {})
    return list(found.items())
