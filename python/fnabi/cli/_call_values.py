"""The arguments and results of ``fnabi call``: as texts, JSON and arrays."""

from __future__ import annotations

import hashlib
import json
import math
import re
from io import BytesIO
from operator import is_
from typing import Any

from fnabi._base.dtype import DType, load_numpy, meant_dtype
from fnabi._base.files import named, open_file, read_stream
from fnabi._base.lane import Function, Tensor
from fnabi.calls.schema import SEQUENCES, FunctionSchema, Schema, TypeSchema
from fnabi.errors import FnabiError, FormatError
from fnabi.many import pattern
from fnabi.many.pattern import BufferOf, Dim, ScalarOf, ValuePattern
from fnabi.many.pattern._types import unknown_dtypes


class ArgumentError(Exception):
    """An argument of the command, or the file that it names, cannot be used."""


_TYPED = re.compile(r"([A-Za-z]\w*(?:\[[^\]]*\])?)=(.*)", re.DOTALL)
"""A type, and the elements of an array of it."""

_TENSORS = frozenset(("ffi.Tensor", "DLTensor*"))
_FLOATS = ("float", "bfloat", "complex")
_NUMBERS = "biuf"
"""The kinds of NumPy's dtypes that JSON has numbers of."""


def parse_argument(index: int, text: str) -> Any:
    if text.startswith("@"):
        return load_array(text[1:], "call")
    typed = _TYPED.fullmatch(text)
    type = typed and _buffer(index, typed[1])
    if typed and type:
        what = f"argument {index} ({typed[1]})"
        value = _parse_json(index, typed[2])
        if isinstance(value, str):
            raise ArgumentError(f"{what}: expected a number or lists of numbers as JSON after =")
        return _array(what, value, type)
    name, shape = (typed[1].partition("[")[::2]) if typed else ("", "")
    meant = meant_dtype(name) if typed and (shape or typed[2][:1] == "[") else None
    if typed and meant and shape and _buffer(index, name):
        raise ArgumentError(f"argument {index}: [{shape} is no shape, expected one such as [2x3]")
    if typed and meant:
        raise ArgumentError(f"argument {index}: unknown type {typed[1]}; did you mean {meant}?")
    return _parse_json(index, text)


def as_signature(args: list[Any], function: Function) -> dict[int, Any]:
    """Make arrays of the lists whose parameters are tensors.

    Returns:
        Those arguments that have changed, by their indexes.

    """
    params = function.schema.params if isinstance(function.schema, FunctionSchema) else None
    changed = {}
    for index, (value, schema) in enumerate(zip(args, params or (), strict=False)):
        made = _as_schema(f"argument {index}", value, schema)
        if made is not value:
            changed[index] = made
    return changed


def _as_schema(what: str, value: Any, schema: Schema | int) -> Any:
    if not isinstance(value, list) or not isinstance(schema, TypeSchema):
        return value
    if schema.name in _TENSORS:
        return _array(what, value, None)
    if len(schema.args) == 1 and schema.name in ("Optional", *SEQUENCES):
        (inner,) = schema.args
        if schema.name == "Optional":
            return _as_schema(what, value, inner)
        made = [_as_schema(f"{what}[{i}]", item, inner) for i, item in enumerate(value)]
        return value if all(map(is_, made, value)) else made
    return value


def _buffer(index: int, text: str) -> tuple[DType, tuple[Dim, ...] | None] | None:
    """Return the dtype of a type, and its dims if it has them; None for what is no such type."""
    try:
        found = pattern.parse(f"{text} -> ()")
        (value,) = found.inputs
    except (FormatError, ValueError):  # of several values, or none
        return None
    for name, meant in unknown_dtypes(found).items():
        raise ArgumentError(f"argument {index}: unknown type {name}; did you mean {meant}?")
    type = value.type if isinstance(value, ValuePattern) else None
    if not isinstance(type, (BufferOf, ScalarOf)) or not isinstance(type.dtype, DType):
        return None
    return type.dtype, type.dims if isinstance(type, BufferOf) else None


def _array(what: str, value: Any, type: tuple[DType, tuple[Dim, ...] | None] | None) -> Any:
    """Return an array of numbers in lists.

    One number fills a shape, and a flat list is reshaped. Without a type, floats are float32, as
    in frameworks, whole numbers int64, or uint64 if one is above it, and true and false bool.
    """
    numpy = load_numpy("call")
    try:
        found = numpy.array(value)
    except ValueError:
        raise ArgumentError(
            f"{what}: the lists differ in length, or are nested too deeply"
        ) from None
    if found.size == 0:  # small integers become any dtype
        found = found.astype(numpy.float32 if type is None else numpy.uint8)
    if found.dtype.kind not in _NUMBERS:
        raise ArgumentError(f"{what}: expected numbers of at most 64 bits, or lists of them")
    if found.size and found.dtype.kind == "f":
        found = _exact(what, value, found, type and type[0])
    if type is None:
        return _cast(what, found, DType("float", 32)) if found.dtype.kind == "f" else found
    dtype, dims = type
    if dtype.lanes != 1:  # NumPy would make a vector of each number
        raise ArgumentError(f"{what}: a vector type, expected one whose elements are numbers")
    made = _cast(what, found, dtype)
    return made if dims is None else _shaped(what, made, dims)


def _exact(what: str, value: Any, found: Any, dtype: DType | None) -> Any:
    """Return the whole numbers that NumPy has made floats of, because one is above int64."""
    numpy = load_numpy("call")
    numbers = [*numpy.array(value, object).flat]
    if any(isinstance(each, float) for each in numbers):
        return found
    try:
        return numpy.array(value, numpy.uint64)
    except OverflowError:  # some are below 0
        if dtype is not None and dtype.kind in _FLOATS:
            return found
    outside = min(numbers) if dtype is not None and dtype.kind == "unsigned" else max(numbers)
    raise ArgumentError(f"{what}: {outside} does not fit in {dtype or 'int64'}")


def _cast(what: str, found: Any, dtype: DType) -> Any:
    numpy = load_numpy("call")
    if found.dtype.kind == "f" and dtype.kind not in _FLOATS:
        raise ArgumentError(f"{what}: expected whole numbers, got floats")
    with numpy.errstate(all="ignore"):  # what does not fit is an error below
        made = found.astype(dtype.to_numpy())
        is_whole = dtype.kind not in _FLOATS
        kept = numpy.isfinite(made)
        if is_whole:  # the sign, as 64 bits come back from the other kind unchanged
            kept = (made.astype(found.dtype) == found) & ((made < 0) == (found < 0))
        elif dtype.bits < 8:  # without infinity and NaN: what is larger becomes the largest
            kept = abs(found) <= float(numpy.array(numpy.inf).astype(made.dtype))
        else:
            kept |= ~numpy.isfinite(found)
    if not numpy.all(kept):
        raise ArgumentError(f"{what}: {found[~kept].flat[0]} does not fit in {dtype}")
    return made


def _shaped(what: str, made: Any, dims: tuple[Dim, ...]) -> Any:
    """Return an array of a shape, in which dims that are no numbers are any."""
    shape = [dim if isinstance(dim, int) else -1 for dim in dims]
    if len(made.shape) == len(shape) and all(
        dim in (-1, size) for dim, size in zip(shape, made.shape, strict=True)
    ):
        return made
    size = math.prod(shape)
    if made.ndim == 0 and -1 not in shape:
        try:
            return load_numpy("call").full(shape, made)
        except (MemoryError, ValueError):
            raise ArgumentError(f"{what}: {size:,} elements are too many for memory") from None
    if made.ndim == 1 and shape.count(-1) == 0 and made.size == size:
        return made.reshape(shape)
    got = "x".join(map(str, made.shape))
    raise ArgumentError(f"{what}: the shape does not fit: got [{got}]")


def _parse_json(index: int, text: str) -> Any:
    try:
        return json.loads(text, parse_float=_float)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ArgumentError(f"argument {index}: the JSON is nested too deeply") from None
    except ValueError as problem:  # an int of thousands of digits, or a float that is too large
        raise ArgumentError(f"argument {index}: {problem}") from None


def _float(text: str) -> float:
    """Return a number of JSON, which is not infinite: that is spelled ``Infinity``."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} does not fit in float64")
    return number


def load_array(path: str, function: str) -> Any:
    """Read the array of a file; an error about a missing NumPy names the function."""
    numpy = load_numpy(function)
    with named(path), open_file(path) as file:
        source = file if file.seekable() else BytesIO(read_stream(file, path))
        try:
            array = numpy.lib.format.read_array(source, allow_pickle=False)
        except OSError:
            raise
        except Exception as problem:  # the header can ask for any shape and dtype
            raise ArgumentError(f"{path}: {_fault_of_npy(str(problem))}") from None
    if array.dtype.kind == "V" and array.dtype.names is None:
        raise ArgumentError(
            f"{path}: the file does not contain the dtype of its elements, only their size; NumPy"
            f" saves bfloat16 and other dtypes of ml_dtypes so"
        )
    return array


def _fault_of_npy(text: str) -> str:
    """Return what is wrong with a file that NumPy does not read, without its words for callers."""
    if "magic string" in text:
        return "not a valid .npy file, expected one that numpy.save has written"
    if "max_header_size" in text:  # a text that names allow_pickle too
        return "a header that is too long, expected at most 10,000 characters"
    if "allow_pickle" in text:
        return "an array of Python objects, expected numbers"
    return f"not a valid .npy file: {text}"


def digest(value: Any) -> bytes | None:
    """Return a hash of an array's bytes, with which a change shows; None for any other value."""
    if not hasattr(value, "dtype"):
        return None
    numpy = load_numpy("call")
    if not value.nbytes:
        return b""
    if not value.flags.c_contiguous and value.flags.f_contiguous:
        value = value.T
    flat = numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)
    return hashlib.blake2b(flat, digest_size=16).digest()


def array_of(value: Any) -> Any:
    """Return the NumPy array of a tensor, or the tensor if it cannot be one."""
    try:
        return value.numpy()
    except FnabiError:  # it is on another device, or NumPy lacks its dtype
        return value


def show(value: Any, width: int | None = None) -> str:
    """Return a value as text, on one line or, for an array, on more of a width."""
    if isinstance(value, str):
        return value
    has_tensor = _has_tensor(value)
    if width is None or not (has_tensor or hasattr(value, "dtype")):
        return repr(_arrays(value) if has_tensor else value)
    with load_numpy("call").printoptions(linewidth=width):
        return repr(_arrays(value) if has_tensor else value)


def _has_tensor(value: Any) -> bool:
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, Tensor):
            return True
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
    return False


def _arrays(value: Any) -> Any:
    """Return a value with NumPy arrays instead of tensors, for its repr."""
    if isinstance(value, Tensor):
        return array_of(value)
    if isinstance(value, dict):
        return {_arrays(key): _arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_arrays(item) for item in value]
    return value


def json_of(value: Any) -> Any:
    """Return a value for JSON; a type that JSON lacks becomes an object with one key, its name.

    Numbers that JSON lacks become ``{"float": "nan"}``. A tensor has its dtype, its shape, which
    the data does not show where a dim is 0, and its data, in which such numbers are the bare text,
    and complex numbers are pairs.
    """
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, Tensor):
        value = array_of(value)
    if hasattr(value, "tolist") and not isinstance(value, Tensor):
        shape = list(value.shape)
        return {"tensor": {"dtype": str(value.dtype), "shape": shape, "data": _data(value)}}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {"dict": {key: json_of(item) for key, item in value.items()}}
        return {"dict": [[json_of(key), json_of(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return [json_of(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"object": str(value)}


def _data(array: Any) -> Any:
    if array.dtype.type.__module__ == "ml_dtypes":
        kinds = {"complex": "complex64", "int": "int64", "": "float64"}
        array = array.astype(next(kinds[each] for each in kinds if each in array.dtype.name))
    if array.dtype.kind == "c":
        pairs = array.reshape(-1).view(array.real.dtype)
        array = pairs.reshape(*array.shape, 2)
    data = array.tolist()
    if array.dtype.kind == "f" and not load_numpy("call").isfinite(array).all():
        return _finite(data)
    return data


def _finite(data: Any) -> Any:
    if isinstance(data, list):
        return [_finite(item) for item in data]
    return data if math.isfinite(data) else str(data)
