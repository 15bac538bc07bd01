"""All that the lane names from Python: `csrc/lane/runtime/hooks.c` gets it here by its name.

Each is imported when the lane first needs it, so that this module costs nothing to import.
"""

import sys
from importlib import import_module
from typing import Any

_MODULES = {
    "ArgumentTypeError": "fnabi.errors",
    "ArgumentValueError": "fnabi.errors",
    "CallError": "fnabi.errors",
    "DType": "fnabi.types",
    "Device": "fnabi.calls.tensor",
    "Integral": "numbers",
    "Items": "fnabi.calls._map",
    "Keys": "fnabi.calls._map",
    "LibraryError": "fnabi.errors",
    "MethodType": "types",
    "RangeError": "fnabi.errors",
    "Real": "numbers",
    "Shape": "fnabi.calls._object",
    "Values": "fnabi.calls._map",
    "accept_function": "fnabi.calls.registry",
    "c_void_p": "ctypes",
    "class_of": "fnabi.calls.reflection",
    "deepcopy": "copy",
    "dlpack_device": "fnabi.calls.tensor",
    "dlpack_dtype": "fnabi.calls.tensor",
    "dtype_of": "fnabi.calls.tensor",
    "find_function": "fnabi.calls.registry",
    "function_view": "fnabi.calls._function_view",
    "parts_of": "fnabi.calls._object",
    "pin_function": "fnabi.calls.registry",
    "member_schema": "fnabi.calls.reflection",
    "method_signature": "fnabi.calls.reflection",
    "read_numpy": "fnabi.calls.tensor",
    "remake": "fnabi.calls._object",
    "set_state": "fnabi.calls._object",
    "tensor_view": "fnabi.calls.tensor",
    "to_numpy": "fnabi.calls.tensor",
}
"""The names, with the modules that define them."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def loaded(name: str) -> Any:
    """Return what has a name, or None while its module is not imported or not complete."""
    return getattr(sys.modules.get(_MODULES[name]), name, None)
