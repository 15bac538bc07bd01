"""Global functions: functions that libraries and programs share by name.

Most libraries of TVM-FFI export nothing; they register functions by name when they are loaded::

    >>> lib = fnabi.load_module("libxgrammar_bindings.so")
    >>> version = fnabi.get_global_func("xgrammar.tvm_ffi_binding.config.get_serialization_version")
    >>> inspect.signature(version)
    <Signature (*args: Any) -> str>

    >>> @fnabi.register_global_func("demo.add_one")
    ... def add_one(x: int) -> int:
    ...     return x + 1
    >>> fnabi.get_global_func("demo.add_one")(2)
    3

There are two registries with the same semantics:

* That of ``libtvm_ffi``, once it is loaded: by `fnabi.load_module`, for a library that needs it, or
  by anyone else, as by ``import tvm_ffi``. All users of ``libtvm_ffi`` share it.
* fnabi's own until then, which Python shares with the libraries that `fnabi.load_module` loads:
  they find and register functions in it as they do in the first one (`_stand_in`). Its
  functions move to that, in their order, when fnabi loads ``libtvm_ffi``, or else at the next use
  of a function of this module. Where a name is taken there, that function stays and a
  `RuntimeWarning` names the one that is dropped. Functions of libraries with types of their own do
  not move: libraries of ``libtvm_ffi`` know no objects of these types.

Names are any text that has bytes: one with a lone surrogate names nothing. Names with dots group
functions by convention.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from fnabi._base import lane
from fnabi._base.text import did_you_mean, quoted
from fnabi.calls import schema
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FormatError,
    NotFoundError,
    RegisteredError,
)

if TYPE_CHECKING:
    from inspect import Signature

__all__ = [
    "get_global_func",
    "list_global_func_names",
    "register_global_func",
    "remove_global_func",
]


def __dir__() -> list[str]:
    return __all__


_T = TypeVar("_T", bound=Callable[..., Any])

_own: dict[str, lane.Function] = {}
"""The functions that are registered while libtvm_ffi is not loaded."""

_metadata: dict[str, str] = {}
"""What libraries say of those that they have registered themselves."""


@overload
def get_global_func(name: str, allow_missing: Literal[False] = False) -> lane.Function: ...
@overload
def get_global_func(name: str, allow_missing: bool) -> lane.Function | None: ...
def get_global_func(name: str, allow_missing: bool = False) -> lane.Function | None:
    """Return the global function of a name.

    It has its name as ``__name__``. Where the library describes it, ``schema`` has its type and
    ``__signature__`` the same for `inspect.signature`. A function that was made of a Python
    callable has that as ``__wrapped__``, and its docstring.

    Args:
        name: The name under which it is registered.
        allow_missing: Return None for a name that is not registered.

    Raises:
        NotFoundError: The name is not registered. It is a `LookupError`.
        CallError: `name` is not a str.

    Example:
        >>> import fnabi
        >>> _ = fnabi.register_global_func("demo.add_one", lambda x: x + 1)
        >>> fnabi.get_global_func("demo.add_one")(2)
        3
        >>> print(fnabi.get_global_func("demo.missing", allow_missing=True))
        None

    """
    try:
        function = look_up(name, describes=True)
    except UnicodeEncodeError:  # nothing has this name
        function = None
    if function is None and not allow_missing:
        hint = did_you_mean(name, list_global_func_names())
        raise NotFoundError(
            f"get_global_func: name: no global function is named {quoted(name)}{hint}"
        )
    return function


def list_global_func_names() -> list[str]:
    """Return the names of all global functions, in the order of the registry.

    A function that replaces another one may move to the end.

    Example:
        >>> import fnabi
        >>> _ = fnabi.register_global_func("demo.zero", lambda: 0, override=True)
        >>> "demo.zero" in fnabi.list_global_func_names()
        True

    """
    use_runtime()
    listing = lane.global_function("ffi.FunctionListGlobalNamesFunctor")
    if listing is None:
        return list(_own)
    name_at = listing()
    theirs = [name_at(index) for index in range(name_at(-1))]
    return list(dict.fromkeys([*theirs, *_own]))


@overload
def register_global_func(
    name: str | _T, func: None = None, override: bool = False
) -> Callable[[Callable[..., Any]], lane.Function]: ...
@overload
def register_global_func(
    name: str | _T, func: Callable[..., Any], override: bool = False
) -> lane.Function: ...
def register_global_func(
    name: str | _T, func: Callable[..., Any] | None = None, override: bool = False
) -> lane.Function | Callable[[Callable[..., Any]], lane.Function]:
    """Register a function under a name, for libraries and for `get_global_func`.

    Args:
        name: The name. A callable with ``__name__`` instead is registered under that.
        func: Any callable; a `Function` is registered as the same object. Without one, the result
            is a decorator.
        override: Replace the function that has the name. Who holds that one can still call it.

    Returns:
        The `Function`; a decorated name becomes the `Function` too.

    Raises:
        RegisteredError: The name is registered and `override` is false. It is a `RuntimeError`.
        CallError: `name` is not a str or has no bytes, or `func` is not callable.

    Example:
        >>> import fnabi
        >>> @fnabi.register_global_func("demo.double")
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> fnabi.get_global_func("demo.double")(21)
        42

    """
    if func is None and callable(name):
        return register_global_func(getattr(name, "__name__", repr(name)), name, override)
    known = _check(name, "register_global_func")
    try:
        known.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as problem:
        raise ArgumentValueError(f"register_global_func: name: {problem}") from None
    if func is None:
        return lambda decorated: _register(known, decorated, override)
    return _register(known, func, override)


def remove_global_func(name: str) -> None:
    """Remove a global function; a name that is not registered is left alone.

    Who holds the function can still call it.

    Raises:
        CallError: `name` is not a str.

    Example:
        >>> import fnabi
        >>> _ = fnabi.register_global_func("demo.once", lambda: 1)
        >>> fnabi.remove_global_func("demo.once")
        >>> "demo.once" in fnabi.list_global_func_names()
        False

    """
    _check(name, "remove_global_func")
    with suppress(UnicodeEncodeError):  # nothing has this name
        forget(name)


def forget(name: str) -> bool:
    """Remove a global function; return whether there was one."""
    use_runtime()
    remove = lane.global_function("ffi.FunctionRemoveGlobal")
    if remove is not None and remove(name):
        return True
    _metadata.pop(name, None)
    return _own.pop(name, None) is not None


def metadata_of(name: str) -> str:
    """Return what a library says of a global function, as JSON, or an empty text."""
    if name in _own or not lane.runtime_loaded():
        return _metadata.get(name, "")
    try:
        read = runtime_function("ffi.GetGlobalFuncMetadata")
    except NotFoundError:  # in a release that keeps none
        return ""
    return str(read(name))


@cache
def runtime_function(name: str) -> lane.Function:
    """Return a function of libtvm_ffi itself, which nobody replaces.

    Raises:
        NotFoundError: It has none of the name, or is not loaded.

    """
    function = lane.without_dialect(lane.global_function, name)
    if function is None:
        why = (
            "has no such function"
            if lane.runtime_loaded()
            else "is not loaded (pip install apache-tvm-ffi)"
        )
        raise NotFoundError(f"{name}: libtvm_ffi {why}")
    return function


def builtin_function(name: str) -> lane.Function:
    """Return a function of libtvm_ffi itself, or where that is not loaded, one of fnabi for it.

    Raises:
        NotFoundError: There is none of the name.

    """
    own = None if lane.runtime_loaded() else lane.without_dialect(_builtin, name)
    return own or runtime_function(name)


def find_function(name: str) -> lane.Function | None:
    """Return a global function for a library that is bound to fnabi; None if there is none.

    Its types are in fnabi's own table, so those of the functions that belong to a table are
    fnabi's, too.
    """
    use_runtime()
    return _own.get(name) or _builtin(name) or lane.global_function(name)


def accept_function(name: str, function: lane.Function, override: bool, metadata: str) -> None:
    """Register a function for a library, with what it says of it."""
    _register(name, function, bool(override), metadata)
    if name in _own and lane.callable_of(function) is None:
        function.__name__ = name
        describe(function, metadata)


_pinned: dict[tuple[str, lane.Function], None] = {}
"""The functions that libraries keep without a reference to them."""


def pin_function(name: str) -> lane.Function | None:
    """Return the same, and keep it for ever, even when another function takes its name."""
    function = find_function(name)
    if function is not None:
        _pinned[name, function] = None
    return function


def _check(name: object, function: str) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{function}: name: expected str, got {type(name).__name__}")
    return name


def look_up(name: str, describes: bool = False) -> lane.Function | None:
    """Return the global function of a name, or None.

    Args:
        name: The name.
        describes: Whether to ask the library for its type; the rest takes a third of the time.

    Raises:
        CallError: `name` is not a str.

    """
    if _own:
        use_runtime()
    function = lane.global_function(name)
    if function is None:
        return _own.get(name) or (None if lane.runtime_loaded() else _builtin(name))
    wrapped = lane.callable_of(function)
    if wrapped is not None:
        return _about(function, name, wrapped)
    function.__name__ = name
    if describes:
        describe(function, metadata_of(name))
    return function


def describe(function: lane.Function, text: str | None) -> None:
    """Add what a library says of a function, as JSON."""
    function.schema, signature = _parsed(text) if text else (None, None)
    if signature is not None:
        function.__signature__ = signature


def _about(function: lane.Function, name: str, wrapped: Callable[..., Any]) -> lane.Function:
    """Add what is known of a function that was made of a Python callable."""
    function.__name__ = name
    function.__doc__ = getattr(wrapped, "__doc__", None)
    function.__dict__["__wrapped__"] = wrapped
    return function


@lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[schema.Schema | None, Signature | None]:
    try:
        described = schema.parse(text).schema
    except FormatError:
        return None, None  # the function can be called without
    if isinstance(described, schema.FunctionSchema):
        return described, schema.signature(described)
    return described, None


def _register(
    name: str, func: Callable[..., Any], override: bool, metadata: str = ""
) -> lane.Function:
    if not callable(func):
        raise ArgumentTypeError(
            f"register_global_func: func: expected a callable, got {type(func).__name__}"
        )
    use_runtime()
    function = _function_of(func)
    if lane.runtime_loaded() and not lane.is_bound(function):
        if not override and lane.global_function(name) is not None:
            raise RegisteredError(_taken(name))
        lane.set_global_function(name, function, override, metadata)
    else:
        if not override and name in _own:
            raise RegisteredError(_taken(name))
        _own.pop(name, None)
        _own[name] = function
        _metadata[name] = metadata
    wrapped = lane.callable_of(function)
    return function if wrapped is None else _about(function, name, wrapped)


def _taken(name: str) -> str:
    return (
        f"register_global_func: a global function is named {name!r} already; pass override=True to"
        " replace it"
    )


def _function_of(func: Callable[..., Any]) -> lane.Function:
    """Return the same function object where there is one, as of the package tvm_ffi."""
    if isinstance(func, lane.Function):
        return func
    if hasattr(type(func), "__tvm_ffi_object__") or hasattr(func, "__chandle__"):
        value = lane.Any(func).value
        if isinstance(value, lane.Function):
            return value
    return lane.Function(func)


def use_runtime() -> None:
    """Move fnabi's own functions to libtvm_ffi, once it is loaded."""
    if not _own or not lane.runtime_loaded():
        return
    moving = {name: each for name, each in _own.items() if not lane.is_bound(each)}
    metadata = {name: _metadata.pop(name, "") for name in moving}
    for name in moving:
        del _own[name]
    for name, function in moving.items():
        if lane.global_function(name) is None:
            lane.set_global_function(name, function, False, metadata.get(name, ""))
        else:
            warnings.warn(
                f"the global function {name!r} is dropped: a library has registered one of this"
                " name",
                RuntimeWarning,
                stacklevel=3,
            )


def _builtin(name: str) -> lane.Function | None:
    """Return a function that libtvm_ffi registers by itself, as fnabi has it, or None."""
    return _builtins().find(name) if name.startswith("ffi.") else None


@cache
def _builtins() -> Any:
    from fnabi.calls import _builtin as builtin  # imports the containers

    builtin.provide("ffi.FunctionListGlobalNamesFunctor", _list_names)
    builtin.provide("ffi.FunctionRemoveGlobal", forget)
    builtin.provide("ffi.GetGlobalFuncMetadata", metadata_of)
    return builtin


def _list_names() -> Callable[[int], Any]:
    """Return a function that gives the names by their indexes, and for -1 how many there are."""
    found = list_global_func_names()
    return lambda index: len(found) if index == -1 else found[index]
