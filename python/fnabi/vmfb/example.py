"""Example inputs for a function: zeros of the right types and shapes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from fnabi import types
from fnabi._base.arguments import check_type
from fnabi._base.dtype import load_numpy
from fnabi._base.files import path_text
from fnabi.errors import ArgumentValueError, RangeError, shown_int

__all__ = [
    "DIM",
    "example_values",
    "runner_function",
    "runner_inputs",
    "runner_module",
    "unknown_shapes",
]


def __dir__() -> list[str]:
    return __all__


DIM = 4
"""The default size of a dynamic dim, in elements."""

DIM_MOST = 2**63 - 1
"""The largest dim that an index of a module holds."""


def example_values(signature: types.Signature, dim: int = DIM) -> tuple[Any, ...]:
    """Make a value for each input of a signature.

    Buffers become NumPy arrays of zeros, scalars become NumPy zeros. Structures nest as in the
    signature; a homogeneous list gets one element. A buffer view of unknown shape and dtype gets
    one dim and float32 elements. Other references, unknown types and empty slots become None.

    Args:
        signature: The signature with the inputs.
        dim: The size of each dynamic dim, in elements. An unknown rank becomes 1.

    Raises:
        CallError: If NumPy is not installed, or has no such dtype.
        RangeError: If NumPy has no arrays of such a shape, or `dim` does not fit in int64.
        MemoryError: If there is no memory for an array; the text names the input and the size.

    Example:
        >>> from fnabi import Signature, example
        >>> signature = Signature.parse("(float32[?x2], int32) -> ()")
        >>> array, number = example.example_values(signature, dim=3)
        >>> array.shape, array.dtype
        ((3, 2), dtype('float32'))

    """
    check_type("example.example_values: signature", signature, types.Signature)
    dim = _plain_dim("example.example_values", dim)
    numpy = load_numpy("example.example_values")
    values = []
    for index, type in enumerate(signature.inputs):
        try:
            values.append(_value(numpy, type, dim))
        except MemoryError as problem:
            raise MemoryError(f"example.example_values: input {index}: {problem}") from None
    return tuple(values)


def _plain_dim(function: str, dim: int) -> int:
    """Return an argument as an int of Python itself, not as a bool or the member of an enum."""
    check_type(f"{function}: dim", dim, int)
    if dim < 0:
        raise ArgumentValueError(f"{function}: dim: {shown_int(dim)} is below 0")
    if dim > DIM_MOST:
        raise RangeError(f"{function}: dim: {shown_int(dim)} does not fit in int64")
    return int(dim)


def _value(numpy: Any, type: types.Type, dim: int) -> Any:
    match type:
        case types.Named():
            return _value(numpy, type.type, dim)
        case types.Scalar():
            return numpy.zeros((), _numpy_dtype(type.dtype))[()]
        case types.Buffer():
            return _array(numpy.zeros, _dims(type.shape, dim), _numpy_dtype(type.dtype))
        case types.RefArray():
            array = _array(numpy.empty, _dims(type.shape, dim), object)
            array.fill(_value(numpy, type.element, dim))  # a list is an element, too
            return array
        case types.List(items):
            return [_value(numpy, item, dim) for item in items]
        case types.Tuple(items):
            return tuple(_value(numpy, item, dim) for item in items)
        case types.Dict(pairs):
            return {key: _value(numpy, item, dim) for key, item in pairs}
        case types.HomogeneousList(element):
            return [_value(numpy, element, dim)]
        case types.Ref(name) if (name or "").lstrip("!") == "hal.buffer_view":
            return _array(numpy.zeros, (dim,), numpy.float32)
    return None


def _array(make: Callable[..., Any], shape: tuple[int, ...], dtype: Any) -> Any:
    try:
        return make(shape, dtype)
    except (ValueError, OverflowError):  # too many bytes or dims, or a dim that is too large
        text = f"example.example_values: NumPy has no arrays of the shape {_shown(shape)}"
        raise RangeError(text) from None
    except MemoryError:
        size = math.prod(shape) * load_numpy("example.example_values").dtype(dtype).itemsize
        text = f"no memory for {size} bytes, an array of the shape {_shown(shape)}"
        raise MemoryError(text) from None


def _shown(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(shown_int, shape))})"


def _numpy_dtype(dtype: types.DType) -> Any:
    return "int64" if dtype.kind == "index" else dtype.to_numpy()


def _dims(shape: tuple[int | None, ...] | None, dim: int) -> tuple[int, ...]:
    return (dim,) if shape is None else tuple(dim if each is None else each for each in shape)


def runner_inputs(
    signature: types.Signature, outputs: dict[int, types.Type] | None = None, dim: int = DIM
) -> list[str]:
    """Write the inputs of a function as flags of ``iree-run-module``.

    Each input is one ``--input=`` flag, quoted for a shell: a shape and an element type, which the
    runner fills with zeros; ``0`` for a scalar; ``(null)`` for a reference of unknown type, such as
    an argument that the function does not use. A buffer view of unknown shape and dtype gets one
    dim and float32 elements, which the function may reject, and a buffer of unknown size gets
    256 KiB times `dim`; `unknown_shapes` names these.

    Args:
        signature: The signature of the function, without the fences of an asynchronous one, which
            the runner adds.
        outputs: The index of each argument that is the storage of a result (``iree.abi.output``),
            and the type of that result. It is passed as a buffer, ``&4xf32``.
        dim: The size of each dynamic dim.

    Raises:
        CallError: If the runner has no notation for a type: structures and lists.
        RangeError: If `dim` does not fit in int64.

    Example:
        >>> from fnabi import Signature, example
        >>> example.runner_inputs(Signature.parse("(float32[?x2], int32) -> ()"))
        ['--input=4x2xf32', '--input=0']

    """
    check_type("example.runner_inputs: signature", signature, types.Signature)
    dim = _plain_dim("example.runner_inputs", dim)
    outputs = {} if outputs is None else outputs
    check_type("example.runner_inputs: outputs", outputs, Mapping, expected="a mapping")
    flags = []
    for index, type in enumerate(signature.inputs):
        type = type.type if isinstance(type, types.Named) else type
        stored = outputs.get(index)
        if isinstance(stored, types.Named):
            stored = stored.type
        name = (type.name or "").lstrip("!") if isinstance(type, types.Ref) else None
        if isinstance(type, types.Ref) and isinstance(stored, types.Buffer):
            value = f"&{_spelled(stored, index, dim)}"
        elif name == "hal.buffer_view":
            value = f"{dim}xf32"
        elif name == "hal.buffer":
            value = f"&{min(max(dim, 1) * _ROOM, DIM_MOST)}xi8"
        elif isinstance(type, types.Scalar):
            value = "0"
        elif isinstance(type, types.Buffer):
            value = _spelled(type, index, dim)
        elif isinstance(type, (types.Ref, types.Unknown)):
            value = "(null)"
        else:
            raise ArgumentValueError(f"runner_inputs: iree-run-module has no notation for {type}")
        flags.append(f"--input={_quote(value)}")
    return flags


def runner_module(path: str) -> tuple[str, str]:
    """Write the flag of ``iree-run-module`` for a file, and the end of the command line.

    The runner splits the value of ``--module=`` at ``@``, strips white space from it, and loads
    what has the suffix of a library with the system's loader. Such a file becomes its standard
    input.

    Example:
        >>> from fnabi import example
        >>> example.runner_module("model.vmfb")
        ('--module=model.vmfb', '')
        >>> example.runner_module("model@2.vmfb")
        ('--module=-', '< model@2.vmfb')

    """
    path = path_text("example.runner_module: path", path)
    if "@" in path or path != path.strip(_STRIPPED) or path.endswith((".so", ".dll", ".dylib")):
        return "--module=-", f"< {_quoted(path)}"
    return f"--module={_quoted(path)}", ""


def _quote(text: str) -> str:
    from shlex import quote  # the command imports this module for its options

    return quote(text)


def _quoted(path: str) -> str:
    """Quote a path for a shell, without characters that a terminal would obey."""
    if path.isprintable():
        return _quote(path)
    return "".join(map(_escaped, path)).join(("$'", "'"))


def _escaped(character: str) -> str:
    if character.isprintable() and character not in "\\'":
        return character
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def runner_function(name: str) -> str | None:
    """Write the flag for a function; None if the runner, or a terminal, would change its name.

    Example:
        >>> from fnabi import example
        >>> example.runner_function("main")
        '--function=main'

    """
    check_type("example.runner_function: name", name, str)
    if not name or not name.isprintable() or name != name.strip(_STRIPPED):
        return None
    return f"--function={_quote(name)}"


_STRIPPED = " \t\n\v\f\r"
"""The characters that the runner strips from the value of a flag."""


def unknown_shapes(
    signature: types.Signature, outputs: dict[int, types.Type] | None = None
) -> list[str]:
    """Say for which inputs `runner_inputs`, given the same, makes up a rank or a type.

    Example:
        >>> from fnabi import Signature, example
        >>> example.unknown_shapes(Signature.parse("(x: float32[*], int32) -> ()"))
        ['input 0: the rank is not known, one dim is an example']

    """
    check_type("example.unknown_shapes: signature", signature, types.Signature)
    outputs = {} if outputs is None else outputs
    check_type("example.unknown_shapes: outputs", outputs, Mapping, expected="a mapping")
    found = []
    for index, type in enumerate(signature.inputs):
        type = type.type if isinstance(type, types.Named) else type
        stored = outputs.get(index)
        stored = stored.type if isinstance(stored, types.Named) else stored
        if isinstance(type, types.Ref) and isinstance(stored, types.Buffer):
            type = stored
        if isinstance(type, types.Buffer) and type.shape is None:
            found.append(f"input {index}: the rank is not known, one dim is an example")
        elif isinstance(type, types.Ref) and (type.name or "").lstrip("!") in _UNTYPED:
            found.append(f"input {index}: {_UNTYPED[(type.name or '').lstrip('!')]}")
    return found


_ROOM = 1 << 18
_UNTYPED = {
    "hal.buffer_view": "shape and type are not known, one dim of float32 is an example",
    "hal.buffer": "the size is not known, a large buffer is an example",
    "hal.fence": "a fence, of which iree-run-module passes none, so that the function may fail",
}

_FORMATS = {
    "e5m2": "f8E5M2",
    "e4m3fn": "f8E4M3FN",
    "e5m2fnuz": "f8E5M2FNUZ",
    "e4m3fnuz": "f8E4M3FNUZ",
    "e8m0fnu": "f8E8M0FNU",
}
_HEX = ("i1", *_FORMATS.values())
"""Elements whose values the runner reads as bytes in hexadecimal, as those of complex numbers."""

_PREFIX = {
    "signed": "i",
    "signless": "i",
    "unsigned": "ui",
    "index": "i",
    "bfloat": "bf",
    "complex": "cf",
}


def _spelled(buffer: types.Buffer, index: int, dim: int) -> str:
    dtype = buffer.dtype
    if dtype.kind == "bool":
        element = "i1"
    elif dtype.format in _FORMATS:
        element = _FORMATS[dtype.format]
    elif dtype.kind == "float" and not dtype.format:
        element = f"f{dtype.bits}"
    elif dtype.kind in _PREFIX:
        element = f"{_PREFIX[dtype.kind]}{dtype.bits}"
    else:
        raise ArgumentValueError(f"runner_inputs: input {index}: iree-run-module has no {dtype}")
    dims = _dims(buffer.shape, dim)
    if not dims:
        zero = "0" * (2 * dtype.itemsize) if element[0] == "c" or element in _HEX else "0"
        return f"{element}={zero}"  # without a value the flag would be parsed as a number
    return "".join(f"{each}x" for each in dims) + element
