"""``fnabi call``: call a function of a library."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fnabi import library
from fnabi._call import Tensor
from fnabi.cli.arguments import Verbs, no_function
from fnabi.cli.screen import complain, plain
from fnabi.errors import FnabiError
from fnabi.types import load_numpy

_CALL_SCHEMA = "fnabi.call/1"


def add_call(verbs: Verbs) -> argparse.ArgumentParser:
    call = verbs.add_parser(
        "call",
        help="call a function of a library",
        epilog='An ARG is JSON (1, 2.5, true, null, "text", [1, 2], {"k": 1}), @FILE.npy for an'
        " array, or any other text, which is passed as a string.",
    )
    call.add_argument(
        "file", metavar="LIBRARY", help="a shared library; it is loaded, so its code runs"
    )
    call.add_argument("function", metavar="FUNCTION", help="the name of the function")
    call.add_argument("args", metavar="ARG", nargs="*", help="its arguments")
    call.set_defaults(run=_call_function)
    return call


def _call_function(arguments: argparse.Namespace) -> int:
    found = library.load_module(arguments.file)
    if arguments.function not in found:
        return no_function(arguments, "TVM-FFI function")
    function = found[arguments.function]
    function.plain = True
    try:
        args = [_argument(text) for text in arguments.args]
    except _BadArray as problem:
        complain("", problem)
        return 1
    try:
        result = function(*args)
    except FnabiError:
        raise
    except Exception as problem:
        complain("", f"{arguments.function}: {type(problem).__name__}: {problem}")
        return 1
    if arguments.json:
        answer = {"schema": _CALL_SCHEMA, "function": arguments.function, "result": _value(result)}
        print(json.dumps(answer))
    elif result is not None:
        shown = _array(result) if isinstance(result, Tensor) else result
        print(plain(shown if isinstance(shown, str) else repr(shown)))
    return 0


class _BadArray(Exception):
    """The file of an argument is not a .npy file."""


def _argument(text: str) -> Any:
    if text.startswith("@"):
        return _load_array(text[1:])
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _load_array(path: str) -> Any:
    numpy = load_numpy("fnabi call")
    with open(path, "rb") as file:
        try:
            return numpy.lib.format.read_array(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as problem:  # the header can ask for any shape and dtype
            raise _BadArray(f"{path}: not a valid .npy file: {problem}") from None


def _array(tensor: Tensor) -> Any:
    try:
        return tensor.numpy()
    except FnabiError:  # it is on another device, or NumPy lacks its dtype
        return tensor


def _value(result: Any) -> Any:
    """Return a result for JSON; a type that JSON lacks becomes an object with one key, its name."""
    if isinstance(result, (bytes, bytearray)):
        return {"bytes": result.hex()}
    if isinstance(result, Tensor):
        array = _array(result)
        if array is result:
            return {"object": repr(result)}
        return {"tensor": {"dtype": str(result.dtype), "data": array.tolist()}}
    if isinstance(result, dict):
        if all(isinstance(key, str) for key in result):
            return {"dict": {key: _value(item) for key, item in result.items()}}
        return {"dict": [[_value(key), _value(item)] for key, item in result.items()]}
    if isinstance(result, (list, tuple)):
        return [_value(item) for item in result]
    if result is None or isinstance(result, (bool, int, float, str)):
        return result
    return {"object": str(result)}
