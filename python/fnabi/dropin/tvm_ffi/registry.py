"""Global functions and the classes of objects."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, overload

import fnabi.calls.registry as plain
from fnabi.calls.reflection import fields_of
from fnabi.dropin.tvm_ffi._dialect import Object, add_members, api, dialect, register
from fnabi.dropin.tvm_ffi._types import FFIProperty, TypeInfo, _lookup_type_attr, payload_enums

__all__ = [
    "get_global_func",
    "get_global_func_metadata",
    "get_registered_type_keys",
    "init_ffi_api",
    "list_global_func_names",
    "register_global_func",
    "register_object",
    "remove_global_func",
]


def register_object(type_key: str | type | None = None, *, init: bool = True) -> Any:
    """Return a decorator that makes a class that of the objects of a type.

    Args:
        type_key: The key of the type. Without it, the name of the class is the key.
        init: Whether calling the class makes an object with the library's initialiser.

    """

    def registered(cls: Any, key: str) -> Any:
        if not isinstance(cls, type) or not issubclass(cls, Object):
            raise TypeError(f"expected a class derived from Object, got {cls!r}")
        if key.startswith("testing."):
            import_module(f"{__package__}.testing")  # whose library the original always loads
        made: Any = register(cls, key, init=init)
        _add_class_attrs(made, made.__tvm_ffi_type_info__)
        if init:
            _accept_values_of_enums(made)
        return made

    if isinstance(type_key, str):
        return lambda cls: registered(cls, type_key)
    if type_key is None:
        return lambda cls: registered(cls, cls.__name__)
    if isinstance(type_key, type):
        return registered(type_key, type_key.__name__)
    raise TypeError("type_key must be a string, type, or None")


def _accept_values_of_enums(cls: Any) -> None:
    """Let the initialiser of a class accept the values of enums for their members."""
    enums = {}
    for name in fields_of(cls) if payload_enums else ():
        found = inspect.getattr_static(cls, name, None)  # a base may lack a class
        if isinstance(found, FFIProperty) and found.convert is not None:
            enums[name] = found.convert
    written = vars(cls).get("__init__")
    if not enums or not hasattr(written, "__signature__"):
        return
    positional = [*inspect.signature(written).parameters][1:]

    @functools.wraps(written)
    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        for name, value in zip(positional, args, strict=False):
            named[name] = value
        for name in enums.keys() & named.keys():
            named[name] = enums[name](named[name])
        written(self, *args[len(positional) :], **named)

    cls.__init__ = __init__


def _add_class_attrs(
    type_cls: Any, type_info: TypeInfo, type_attr_names: Collection[str] = ()
) -> Any:
    """Add the fields and methods of a type to its class, and values under the names given."""
    add_members(type_cls)
    for field in type_info.fields:
        if vars(type_cls).get(field.name) is field._member:
            setattr(type_cls, field.name, field.as_property(type_cls))
    for name in type_attr_names:
        value = _lookup_type_attr(type_info.type_index, name)
        if value is not None and name not in vars(type_cls):
            setattr(type_cls, name, value)
    return type_cls


def _warn_missing_field_annotations(cls: type, type_info: TypeInfo, *, stacklevel: int) -> None:
    """Warn of fields that a class does not annotate, which type checkers then do not know."""
    if cls.__module__.startswith(__name__.rpartition(".")[0]):
        return  # a class of this package, over a release of libtvm_ffi that has other fields
    known = inspect.get_annotations(cls)
    missing = sorted(each.name for each in type_info.fields if each.name not in known)
    if missing:
        warnings.warn(
            f"{type_info.type_key}: the class {cls.__qualname__} does not annotate the field(s)"
            f" {', '.join(missing)}, which type checkers then do not know",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


@overload
def register_global_func(
    func_name: str, f: None = None, override: bool = False
) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def register_global_func(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any: ...
def register_global_func(
    func_name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Register a function under a name; without a function, return a decorator."""
    name = func_name
    if callable(name):
        f, name = name, getattr(name, "__name__", None)  # type: ignore[assignment]
    if not isinstance(name, str):
        raise ValueError("expect string function name")
    if f is None:
        return lambda decorated: register_global_func(name, decorated, override)
    return dialect(plain.register_global_func, name, f, override)


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """Return the function of a name.

    Raises:
        ValueError: There is none, and `allow_missing` is false.

    """
    found = dialect(plain.look_up, name)
    if found is None and not allow_missing:
        raise ValueError(f"Cannot find global function {name}")
    return found


def list_global_func_names() -> list[str]:
    """Return the names of all functions."""
    return plain.list_global_func_names()


def remove_global_func(name: str) -> None:
    """Remove a function."""
    plain.remove_global_func(name)


def get_global_func_metadata(name: str) -> dict[str, Any]:
    """Return what the library has recorded of a function, such as ``type_schema``."""
    text = api("GetGlobalFuncMetadata")(name)
    return json.loads(text) if text else {}


def get_registered_type_keys() -> Sequence[str]:
    """Return the keys of all types."""
    keys: Sequence[str] = api("GetRegisteredTypeKeys")()
    return keys


def init_ffi_api(namespace: str, target_module_name: str | None = None) -> None:
    """Put the functions of a namespace into a module, by the part after the last dot."""
    name = target_module_name or namespace
    if name not in sys.modules and name.startswith("tvm_ffi."):
        import_module(name)  # under this name too, and not only where it is
    module = sys.modules[name]
    prefix = namespace.removeprefix("tvm.")
    for name in list_global_func_names():
        if not name.startswith(prefix):
            continue
        short = name[len(prefix) + 1 :]
        if "." in short:
            continue
        function = get_global_func(name)
        function.__name__ = short
        setattr(module, short, function)
