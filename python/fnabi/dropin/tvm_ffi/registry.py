"""Global functions and the classes of objects."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import fnabi.calls.registry as plain
from fnabi.dropin.tvm_ffi._dialect import Object, api, dialect, register

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
        return register(cls, key, init=init)

    if isinstance(type_key, str):
        return lambda cls: registered(cls, type_key)
    if type_key is None:
        return lambda cls: registered(cls, cls.__name__)
    if isinstance(type_key, type):
        return registered(type_key, type_key.__name__)
    raise TypeError("type_key must be a string, type, or None")


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
    found = dialect(plain.get_global_func, name, True)
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
    module = sys.modules[target_module_name or namespace]
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
