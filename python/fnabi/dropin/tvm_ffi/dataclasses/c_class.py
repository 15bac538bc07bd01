"""Classes of the types of libraries that behave as dataclasses."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from fnabi.dropin.tvm_ffi._dunder import _install_dataclass_dunders
from fnabi.dropin.tvm_ffi._types import TypeInfo
from fnabi.dropin.tvm_ffi.dataclasses.field import Field, converted, field
from fnabi.dropin.tvm_ffi.dataclasses.py_class import TYPE_ATTRIBUTES
from fnabi.dropin.tvm_ffi.registry import (
    _add_class_attrs,
    _warn_missing_field_annotations,
    register_object,
)


@typing.dataclass_transform(eq_default=False, field_specifiers=(Field, field))
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
        frozen: Whether the fields of the type itself are read-only, also those that libraries set.
        init: Whether calling the class makes an object.
        repr: Whether the library writes the repr.
        eq: Whether two objects with equal fields are equal.
        order: Whether objects are ordered by their fields.
        unsafe_hash: Whether the hash is that of the fields.
        match_args: Whether patterns match the fields by position.

    """

    def decorated(cls: Any) -> Any:
        for name, value in list(vars(cls).items()):
            if isinstance(value, Field):
                delattr(cls, name)
        made = register_object(type_key, init=init)(cls)
        info = made.__tvm_ffi_type_info__
        _warn_missing_field_annotations(made, info, stacklevel=2)
        _attach_field_objects(made, info)
        if frozen:
            for each in info.fields:
                each.frozen = each.dataclass_field.frozen = True
        _add_class_attrs(made, info, TYPE_ATTRIBUTES)
        _install_dataclass_dunders(
            made,
            init=init,
            repr=repr,
            eq=eq,
            order=order,
            unsafe_hash=unsafe_hash,
            match_args=match_args,
        )
        return made

    return decorated


c_class.__dataclass_transform__["kwargs"]["converter"] = converted  # type: ignore[attr-defined]


def _attach_field_objects(cls: Any, type_info: TypeInfo) -> None:
    """Describe the fields of a type as those of a dataclass, with the type hints of a class."""
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # whatever a hint does
        hints = {}
    for each in type_info.fields:
        each.dataclass_field = Field.of(each, hints.get(each.name))
