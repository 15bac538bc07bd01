"""Read, write and call the function ABIs of ML compilers.

Modules are imported on first use, so ``import fnabi`` itself is cheap.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from fnabi import (
        bytecode,
        callee,
        catalog,
        catalog_diff,
        cconv,
        columns,
        compat,
        dask,
        debug,
        declaration,
        dropin,
        errors,
        example,
        extract,
        invoke,
        iree_abi,
        library,
        needs,
        parameters,
        pattern,
        raw,
        ray,
        reflection,
        registry,
        rodata,
        schema,
        sip,
        spark,
        stream,
        tensor,
        types,
        vmfb,
    )
    from fnabi.any import Any, AnyArray
    from fnabi.array import Array, List
    from fnabi.callee import get_include
    from fnabi.catalog import Catalog
    from fnabi.columns import Columns, decode_columns, encode_columns, iter_columns
    from fnabi.dtype import DType
    from fnabi.errors import (
        CallError,
        CatalogError,
        FnabiError,
        FormatError,
        LibraryError,
        NotFoundError,
        RangeError,
        RegisteredError,
    )
    from fnabi.function import Call, Error, Function
    from fnabi.library import Library, load_module
    from fnabi.map import Dict, Map
    from fnabi.module import Module
    from fnabi.object import Object, Shape
    from fnabi.reflection import Instance, ObjectType, get_type, list_type_keys
    from fnabi.registry import (
        get_global_func,
        list_global_func_names,
        register_global_func,
        remove_global_func,
    )
    from fnabi.signature import Component, ComponentType, SignatureBuilder, SignatureParser
    from fnabi.stream import get_raw_stream, use_raw_stream, use_tensors, use_torch_stream
    from fnabi.tensor import Device, Tensor, from_dlpack
    from fnabi.types import Signature

__all__ = [
    "Any",
    "AnyArray",
    "Array",
    "Call",
    "CallError",
    "Catalog",
    "CatalogError",
    "Columns",
    "Component",
    "ComponentType",
    "DType",
    "Device",
    "Dict",
    "Error",
    "FnabiError",
    "FormatError",
    "Function",
    "Instance",
    "Library",
    "LibraryError",
    "List",
    "Map",
    "Module",
    "NotFoundError",
    "Object",
    "ObjectType",
    "RangeError",
    "RegisteredError",
    "Shape",
    "Signature",
    "SignatureBuilder",
    "SignatureParser",
    "Tensor",
    "arrow",
    "bytecode",
    "callee",
    "catalog",
    "catalog_diff",
    "cconv",
    "client",
    "columns",
    "compat",
    "dask",
    "debug",
    "declaration",
    "decode_columns",
    "dropin",
    "encode_columns",
    "errors",
    "example",
    "extract",
    "from_dlpack",
    "get_global_func",
    "get_include",
    "get_raw_stream",
    "get_type",
    "html",
    "invoke",
    "iree_abi",
    "iter_columns",
    "library",
    "list_global_func_names",
    "list_type_keys",
    "load_module",
    "needs",
    "parameters",
    "pattern",
    "raw",
    "ray",
    "reflection",
    "register_global_func",
    "registry",
    "remove_global_func",
    "rodata",
    "schema",
    "sip",
    "spark",
    "stream",
    "stub",
    "tensor",
    "types",
    "use_raw_stream",
    "use_tensors",
    "use_torch_stream",
    "vmfb",
]

__version__ = "0.1.0"

_HOMES = {
    "Any": "any",
    "AnyArray": "any",
    "Array": "array",
    "Call": "function",
    "Catalog": "catalog",
    "Columns": "columns",
    "Component": "signature",
    "ComponentType": "signature",
    "DType": "dtype",
    "Device": "tensor",
    "Dict": "map",
    "Error": "function",
    "Function": "function",
    "Instance": "reflection",
    "Library": "library",
    "List": "array",
    "Map": "map",
    "Module": "module",
    "Object": "object",
    "ObjectType": "reflection",
    "Shape": "object",
    "Signature": "types",
    "SignatureBuilder": "signature",
    "SignatureParser": "signature",
    "Tensor": "tensor",
    "decode_columns": "columns",
    "encode_columns": "columns",
    "from_dlpack": "tensor",
    "get_global_func": "registry",
    "get_include": "callee",
    "get_raw_stream": "stream",
    "get_type": "reflection",
    "iter_columns": "columns",
    "list_global_func_names": "registry",
    "list_type_keys": "reflection",
    "load_module": "library",
    "register_global_func": "registry",
    "remove_global_func": "registry",
    "use_raw_stream": "stream",
    "use_tensors": "stream",
    "use_torch_stream": "stream",
}
"""The module of each name that is neither a module nor an error."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name[0].islower() and name not in _HOMES:
        return import_module(f"{__name__}.{name}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'errors')}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
