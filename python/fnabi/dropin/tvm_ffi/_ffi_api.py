"""The functions of libtvm_ffi itself, by the part of their names after ``ffi.``."""

from __future__ import annotations

from typing import Any

from fnabi.dropin.tvm_ffi._dialect import api
from fnabi.errors import NotFoundError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        function = api(name)
    except NotFoundError:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; libtvm_ffi has no function ffi.{name}"
        ) from None
    function.__name__ = name
    return function
