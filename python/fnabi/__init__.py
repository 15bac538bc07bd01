"""Read, write and call the function ABIs of ML compilers.

Public modules lie in rooms, and ``from fnabi import raw`` finds each of them. They are imported on
first use, so ``import fnabi`` itself is cheap.
"""

from importlib import import_module

from fnabi._base.version import VERSION as __version__

_PUBLIC: dict[str, tuple[str, ...]] = {
    "errors": (
        "ArgumentTypeError",
        "ArgumentValueError",
        "CallError",
        "CatalogError",
        "FnabiError",
        "FormatError",
        "LibraryError",
        "MissingAttributeError",
        "MissingFileError",
        "MissingKeyError",
        "MissingPackageError",
        "NotFoundError",
        "RangeError",
        "RegisteredError",
    ),
    "_base.progress": ("Progress",),
    "types": ("DType", "Signature"),
    "abi.cconv": (),
    "abi.declaration": (),
    "abi.iree_abi": (),
    "abi.raw": (),
    "abi.signature": ("Component", "ComponentType", "SignatureBuilder", "SignatureParser"),
    "abi.sip": (),
    "vmfb": (),
    "vmfb.bytecode": (),
    "vmfb.costs": (),
    "vmfb.debug": (),
    "vmfb.example": (),
    "vmfb.extract": (),
    "vmfb.failures": (),
    "vmfb.needs": (),
    "vmfb.parameters": (),
    "vmfb.program": (),
    "vmfb.rodata": (),
    "compat": (),
    "compat.baseline": (),
    "compat.report": (),
    "run.client": (),
    "run.invoke": (),
    "calls.callee": ("get_include",),
    "calls.function": ("Call", "Error", "Function"),
    "calls.library": ("Library", "load_module"),
    "calls.reflection": ("Instance", "ObjectType", "get_type", "list_type_keys"),
    "calls.registry": (
        "get_global_func",
        "list_global_func_names",
        "register_global_func",
        "remove_global_func",
    ),
    "calls.schema": (),
    "calls.stream": ("get_raw_stream", "use_raw_stream", "use_tensors", "use_torch_stream"),
    "calls.tensor": ("Device", "Tensor", "from_dlpack"),
    "calls._any": ("Any", "AnyArray"),
    "calls._array": ("Array", "List"),
    "calls._map": ("Dict", "Map"),
    "calls._module": ("Module",),
    "calls._object": ("Object", "Shape"),
    "many.arrow": (),
    "many.catalog": ("Catalog",),
    "many.catalog_diff": (),
    "many.columns": ("Columns", "decode_columns", "encode_columns", "iter_columns"),
    "many.pattern": (),
    "dask": (),
    "datafusion": (),
    "duckdb": (),
    "pandas": (),
    "polars": (),
    "ray": (),
    "spark": (),
    "dropin": (),
    "html": (),
    "stub": (),
}
"""The public modules by room, with the names that fnabi itself has of each; a module or room with
an underscore only gives names.

``python -m tools names`` writes ``__init__.pyi`` from it, for type checkers and editors.
"""

_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
_MODULES = {module.rpartition(".")[2]: module for module in _PUBLIC if "._" not in f".{module}"}

__all__ = ["__version__", *sorted([*_HOMES, *_MODULES])]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(f"fnabi.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"fnabi.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'fnabi' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
