"""Classes of the types of libraries that behave as dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fnabi.dropin.tvm_ffi._dunder import install, no_initialiser, set_match_args
from fnabi.dropin.tvm_ffi.registry import register_object


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
        if not init and "__init__" not in own:
            made.__init__ = no_initialiser
        install(made, own, repr=repr, eq=eq, order=order, unsafe_hash=unsafe_hash)
        if match_args:
            set_match_args(made, own)
        return made

    return decorated
