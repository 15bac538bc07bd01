"""The arguments and results of ``fnabi call``: as texts, JSON and arrays."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from fnabi._base.dtype import load_numpy
from fnabi._base.files import named, open_file
from fnabi._base.lane import Tensor
from fnabi.errors import FnabiError


class ArgumentError(Exception):
    """An argument of the command, or the file that it names, cannot be used."""


def parse_argument(index: int, text: str) -> Any:
    if text.startswith("@"):
        return load_array(text[1:], "fnabi call")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except RecursionError:
        raise ArgumentError(f"argument {index}: the JSON is nested too deeply") from None
    except ValueError as problem:  # an int of thousands of digits
        raise ArgumentError(f"argument {index}: {problem}") from None


def load_array(path: str, function: str) -> Any:
    """Read the array of a file; an error about a missing NumPy names the function."""
    numpy = load_numpy(function)
    with named(path), open_file(path) as file:
        try:
            return numpy.lib.format.read_array(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as problem:  # the header can ask for any shape and dtype
            raise ArgumentError(f"{path}: {_fault_of_npy(str(problem))}") from None


def _fault_of_npy(text: str) -> str:
    """Return what is wrong with a file that NumPy does not read, without its words for callers."""
    if "magic string" in text:
        return "not a valid .npy file, expected one that numpy.save has written"
    if "allow_pickle" in text:
        return "an array of Python objects, expected numbers"
    return f"not a valid .npy file: {text}"


def digest(value: Any) -> bytes | None:
    """Return a hash of an array's bytes, with which a change shows; None for any other value."""
    if not hasattr(value, "dtype"):
        return None
    numpy = load_numpy("fnabi call")
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
    with load_numpy("fnabi call").printoptions(linewidth=width):
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

    Numbers that JSON lacks become ``{"float": "nan"}``. In the data of tensors they are the bare
    text, and complex numbers are pairs.
    """
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, Tensor):
        value = array_of(value)
    if hasattr(value, "tolist") and not isinstance(value, Tensor):
        return {"tensor": {"dtype": str(value.dtype), "data": _data(value)}}
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
        array = array.astype("int64" if "int" in array.dtype.name else "float64")
    if array.dtype.kind == "c":
        pairs = array.reshape(-1).view(array.real.dtype)
        array = pairs.reshape(*array.shape, 2)
    data = array.tolist()
    if array.dtype.kind == "f" and not load_numpy("fnabi call").isfinite(array).all():
        return _finite(data)
    return data


def _finite(data: Any) -> Any:
    if isinstance(data, list):
        return [_finite(item) for item in data]
    return data if math.isfinite(data) else str(data)
