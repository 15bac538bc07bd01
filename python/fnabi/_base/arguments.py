"""Checks of the arguments of public functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from fnabi._base.text import is_utf8, quoted
from fnabi.errors import ArgumentTypeError, ArgumentValueError, CallError, shown_int, type_name

T = TypeVar("T")


def argument_error(
    where: str, expected: str, value: object, *types: type, hint: str = ""
) -> CallError:
    """Make the error about an argument: about its value where it has one of `types`, else its type.

    Args:
        where: The function and the argument, such as ``"raw.parse: text"``.
        expected: What the function accepts.
        value: The argument.
        types: The types that the function accepts.
        hint: What ends the text.

    """
    if isinstance(value, types):
        shown = shown_int(value) if isinstance(value, int) else quoted(value)
        return ArgumentValueError(f"{where}: expected {expected}, got {shown}{hint}")
    return ArgumentTypeError(f"{where}: expected {expected}, got {type_name(value)}{hint}")


def check_type(where: str, value: object, *types: type, expected: str | None = None) -> None:
    """Refuse an argument of another type.

    Args:
        where: The function and the argument, such as ``"raw.parse: text"``.
        value: The argument.
        types: The types that the function accepts.
        expected: Their names in words.

    Raises:
        ArgumentTypeError: when it has none of these types.

    """
    if not isinstance(value, types):
        names = expected or " or ".join(each.__name__ for each in types)
        raise ArgumentTypeError(f"{where}: expected {names}, got {type_name(value)}")


def check_text(where: str, value: object) -> None:
    """Refuse an argument that is no text, or one that UTF-8 lacks.

    Args:
        where: The function and the argument.
        value: The argument.

    Raises:
        CallError: when it is.

    """
    check_type(where, value, str)
    if isinstance(value, str) and not is_utf8(value):
        raise argument_error(where, "UTF-8", value, str)


def check_attribute(where: str, value: object, name: str, expected: str) -> None:
    """Refuse an argument of a class of another package that lacks what the class has.

    Args:
        where: The function and the argument.
        value: The argument.
        name: An attribute of the class.
        expected: The class in words.

    Raises:
        ArgumentTypeError: when it has no such attribute.

    """
    if not hasattr(value, name):
        raise ArgumentTypeError(f"{where}: expected {expected}, got {type_name(value)}") from None


def iterator_of(where: str, values: Iterable[T], expected: str) -> Iterator[T]:
    """Return the iterator of an argument; a text and the contents of a file have no items.

    Raises:
        ArgumentTypeError: when it has none. An array without dims has none, though its type has.

    """
    try:
        if not isinstance(values, (str, bytes, bytearray, memoryview)):
            return iter(values)
    except TypeError:
        pass
    raise ArgumentTypeError(f"{where}: expected {expected}, got {type_name(values)}")


def listed(where: str, values: T) -> T | list[Any]:
    """Return an argument, or the items of a memoryview: CPython iterates over a released one.

    Raises:
        ArgumentValueError: when it was released, or Python cannot read its items.

    """
    if not isinstance(values, memoryview):
        return values
    try:
        items: list[Any] = values.tolist()
    except (ValueError, NotImplementedError) as problem:
        raise ArgumentValueError(f"{where}: {problem}") from None
    return items


def check_items(where: str, values: Iterable[T], *types: Any) -> list[T]:
    """Return the items of an argument, which must be an iterable of objects of some types.

    Raises:
        ArgumentTypeError: when it is not.

    """
    names = " or ".join(each.__name__ for each in types)
    items = list(iterator_of(where, values, f"an iterable of {names}"))
    for index, item in enumerate(items):
        if not isinstance(item, types):
            raise ArgumentTypeError(f"{where}[{index}]: expected {names}, got {type_name(item)}")
    return items
