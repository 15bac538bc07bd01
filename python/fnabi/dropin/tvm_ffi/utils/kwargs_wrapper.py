"""Functions with named arguments around those that accept arguments by position only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

from fnabi.dropin.tvm_ffi.utils.unpack_dataclass import unpack_dataclass_to_tuple

_OWN = "__i_"
"""What the names of the generated code begin with."""

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def make_kwargs_wrapper(
    target_func: Callable[..., Any],
    arg_names: list[str],
    arg_defaults: tuple[Any, ...] = (),
    kwonly_names: list[str] | None = None,
    kwonly_defaults: dict[str, Any] | None = None,
    prototype: Callable[..., Any] | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable[..., Any]:
    """Make a function that accepts arguments by name, and passes them on by position.

    Args:
        target_func: The function that it calls.
        arg_names: The names of its parameters.
        arg_defaults: The defaults of the last of these.
        kwonly_names: The names of parameters that are accepted by name only.
        kwonly_defaults: The defaults of some of these.
        prototype: The function whose name, docstring and type hints it gets.
        map_dataclass_to_tuple: The parameters whose dataclasses are passed on as tuples.

    Raises:
        TypeError: A name is no str, or `arg_defaults` no tuple.
        ValueError: A name is none of a parameter, or two parameters have it, or a default belongs
            to none.

    """
    only, defaults = kwonly_names or [], kwonly_defaults or {}
    _check_names(arg_names, "argument")
    _check_names(only, "keyword-only argument")
    _check_defaults(arg_names, arg_defaults, only, defaults)
    kinds: dict[str, Any] = dict.fromkeys(arg_names, Parameter.POSITIONAL_OR_KEYWORD)
    kinds |= dict.fromkeys(only, Parameter.KEYWORD_ONLY)
    given = dict(zip(arg_names[len(arg_names) - len(arg_defaults) :], arg_defaults, strict=True))
    given |= defaults
    unpacked = map_dataclass_to_tuple or []
    for name in unpacked:
        if name not in kinds:
            raise ValueError(f"map_dataclass_to_tuple: there is no argument {name!r}")
    return _made(target_func, kinds, given, prototype, unpacked)


def _check_names(names: list[str], what: str) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Argument name must be a string, got {type(name).__name__}")
        if not name.isidentifier():
            raise ValueError(f"Invalid argument name {name!r}: not a valid Python identifier")
        if iskeyword(name):
            raise ValueError(f"{name!r} is a Python keyword and cannot be used as a parameter name")
        if name.startswith(_OWN):
            raise ValueError(f"Argument names conflict with internal names: {name!r}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"Duplicate {what} names found: {', '.join(twice)}")


def _check_defaults(
    names: list[str], defaults: object, only: list[str], only_defaults: Mapping[str, Any]
) -> None:
    if not isinstance(defaults, tuple):
        raise TypeError(f"arg_defaults must be a tuple, got {type(defaults).__name__}")
    if len(defaults) > len(names):
        raise ValueError(
            f"arg_defaults has {len(defaults)} values but only {len(names)} arguments exist"
        )
    both = [name for name in only if name in names]
    if both:
        raise ValueError(f"{', '.join(both)}: cannot be both positional and keyword-only")
    unknown = [name for name in only_defaults if name not in only]
    if unknown:
        raise ValueError(f"kwonly_defaults: {', '.join(unknown)} not in kwonly_names")


def _made(
    target: Callable[..., Any],
    kinds: Mapping[str, Any],
    defaults: Mapping[str, Any],
    prototype: Callable[..., Any] | None,
    unpacked: list[str],
) -> Callable[..., Any]:
    """Compile a function: binding arguments by a signature takes several times as long."""
    shown, star = [], False
    for name, kind in kinds.items():
        if kind is Parameter.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(f"{name}={_OWN}default_{name}" if name in defaults else name)
    passed = (f"{_OWN}unpack({name})" if name in unpacked else name for name in kinds)
    code = f"def wrapper({', '.join(shown)}): return {_OWN}target({', '.join(passed)})"
    names: dict[str, Any] = {f"{_OWN}default_{name}": value for name, value in defaults.items()}
    names |= {f"{_OWN}target": target, f"{_OWN}unpack": unpack_dataclass_to_tuple}
    exec(code, names)
    wrapper: Callable[..., Any] = names["wrapper"]
    if prototype is not None:
        update_wrapper(wrapper, prototype, _COPIED, ())
        del wrapper.__wrapped__  # type: ignore[attr-defined]
    return wrapper


def make_kwargs_wrapper_from_signature(
    target_func: Callable[..., Any],
    signature: Signature,
    prototype: Callable[..., Any] | None = None,
    exclude_arg_names: Iterable[str] | None = None,
    map_dataclass_to_tuple: list[str] | None = None,
) -> Callable[..., Any]:
    """Make a function with a signature; see `make_kwargs_wrapper`.

    Args:
        target_func: The function that it calls.
        signature: Its signature.
        prototype: The function whose name, docstring and type hints it gets.
        exclude_arg_names: Parameters of the signature that it does not have.
        map_dataclass_to_tuple: The parameters whose dataclasses are passed on as tuples.

    Raises:
        ValueError: The signature has ``*args`` or ``**kwargs``.

    """
    left_out = {*(exclude_arg_names or ())}
    found = [each for each in signature.parameters.values() if each.name not in left_out]
    for each in found:
        if each.kind is Parameter.VAR_POSITIONAL:
            raise ValueError("*args not supported in the signature")
        if each.kind is Parameter.VAR_KEYWORD:
            raise ValueError("**kwargs not supported in the signature")
    only = [each for each in found if each.kind is Parameter.KEYWORD_ONLY]
    others = [each for each in found if each.kind is not Parameter.KEYWORD_ONLY]
    empty = Parameter.empty
    return make_kwargs_wrapper(
        target_func,
        [each.name for each in others],
        tuple(each.default for each in others if each.default is not empty),
        [each.name for each in only],
        {each.name: each.default for each in only if each.default is not empty},
        prototype,
        map_dataclass_to_tuple,
    )
