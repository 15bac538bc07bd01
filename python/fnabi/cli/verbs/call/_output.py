"""``fnabi call --output``: the numbers and arrays of a call as files of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from fnabi._base.dtype import load_numpy
from fnabi._base.files import is_same_file, write_whole
from fnabi._base.lane import Tensor
from fnabi._base.names import Names
from fnabi.cli._call_values import array_of
from fnabi.cli._ending import ended_by_signals
from fnabi.errors import type_name

EXTENSIONS = (".npy", ".npz")


class OutputError(Exception):
    """The values of a call cannot be saved."""


class _Nothing(Exception):
    """Nothing is to be written."""


def check_target(path: str) -> None:
    """Raise an OSError now for a file that cannot be written after the call."""
    with suppress(_Nothing), write_whole(path):
        raise _Nothing


def save(
    path: str, result: Any, changed: Sequence[tuple[str, Any]], read: Sequence[str]
) -> list[tuple[str, str]]:
    """Save the result, and the arguments that changed, and return names of values and files.

    All files are written before the first one gets its name.

    Args:
        path: The name of the file, or of several without their numbers.
        result: The result.
        changed: The names and values of the arguments that changed.
        read: The files that arguments are from.

    Raises:
        OutputError: A part of the result is neither a number nor an array, an array has a dtype
            of ml_dtypes, there is nothing, or a file of several is that of an argument.
        OSError: A file cannot be written.

    """
    numpy = load_numpy("--output")
    parts = _parts(result)
    names = Names(expected=[name for name, _ in (*parts, *changed)])
    values = [(names.add(name), _saved(numpy, name, each)) for name, each in parts]
    values += [(names.add(name), _with_dtype(name, each)) for name, each in changed]
    if not values:
        raise OutputError("the function returned no array and changed no argument")
    if path.endswith(".npz"):
        with ended_by_signals(), write_whole(path) as file:
            numpy.savez(file, **dict(values))
        return [(name, path) for name, _ in values]
    stem = path.removesuffix(".npy")
    numbered = [f"{stem}.{index}.npy" for index in range(len(values))]
    paths = numbered if len(values) > 1 else [path]
    for each in paths:
        if any(is_same_file(each, other) for other in read):
            raise OutputError(f"{each} is the file of an argument")
    with ended_by_signals(), ExitStack() as files:
        for each, (_, value) in zip(paths, values, strict=True):
            numpy.save(files.enter_context(write_whole(each)), value, allow_pickle=False)
    return [(name, each) for (name, _), each in zip(values, paths, strict=True)]


def _parts(result: Any) -> list[tuple[str, Any]]:
    """Return the arrays of a result in their order, a list of numbers being one."""
    found: list[tuple[str, Any]] = []
    left = [] if result is None else [("result", result)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{name}_{key}", item) for key, item in reversed(value.items())]
        elif isinstance(value, (list, tuple)) and not _is_numbers(value):
            inner = [(f"{name}_{index}", item) for index, item in enumerate(value)]
            left += reversed(inner)
        else:
            found.append((name, value))
    return found


def _is_numbers(values: Sequence[Any]) -> bool:
    kinds = {type(value) for value in values}
    return len(kinds) == 1 and kinds <= {bool, int, float}


def _saved(numpy: Any, name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        array = array_of(value)
        if array is value:
            raise OutputError(f"{name}: NumPy cannot hold {value!r}")
        return _with_dtype(name, array)
    if not isinstance(value, (bool, int, float, list, tuple)):
        raise OutputError(f"{name}: expected a number or an array, got {type_name(value)}")
    array = numpy.asarray(value)
    if array.dtype == object:
        raise OutputError(f"{name}: {value!r} does not fit in an array")
    return array


def _with_dtype(name: str, array: Any) -> Any:
    """Return an array whose dtype a file of NumPy can name, as it cannot those of ml_dtypes."""
    try:
        is_named = load_numpy("--output").dtype(array.dtype.str) == array.dtype
    except TypeError:
        is_named = False
    if not is_named:
        raise OutputError(f"{name}: a file of NumPy cannot name {array.dtype.name}, --json can")
    return array
