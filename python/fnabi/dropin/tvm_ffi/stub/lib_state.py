"""What loaded libraries have registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from fnabi._base.text import one_line
from fnabi.dropin.tvm_ffi.core import TypeSchema, _lookup_or_register_type_info_from_type_key
from fnabi.dropin.tvm_ffi.registry import (
    get_global_func_metadata,
    get_registered_type_keys,
    list_global_func_names,
)
from fnabi.dropin.tvm_ffi.stub.utils import FuncInfo, ObjectInfo


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Let errors about a type that cannot be read name what has it."""
    try:
        yield
    except (AttributeError, TypeError, ValueError) as problem:
        raise ValueError(f"{one_line(name)}: {one_line(str(problem))}") from None


@cache
def object_info_from_type_key(type_key: str) -> ObjectInfo:
    """Return what is known of a type.

    Raises:
        ValueError: A type of a field or method cannot be read.

    """
    info = _lookup_or_register_type_info_from_type_key(type_key)
    with _named(type_key):
        return ObjectInfo.from_type_info(info)


def collect_global_funcs() -> dict[str, list[FuncInfo]]:
    """Return the functions whose types are known, by what their names begin with.

    Raises:
        ValueError: A type cannot be read.

    """
    found: dict[str, list[FuncInfo]] = {}
    for name in sorted(map(str, list_global_func_names())):
        with _named(name):
            schema = get_global_func_metadata(name).get("type_schema")
            prefix = name.rpartition(".")[0]
            if schema is not None and prefix:
                info = FuncInfo.from_schema(name, TypeSchema.from_json_str(schema))
                found.setdefault(prefix, []).append(info)
    return found


def collect_type_keys() -> dict[str, list[str]]:
    """Return the keys of types, by what they begin with."""
    found: dict[str, list[str]] = {}
    for key in sorted(map(str, get_registered_type_keys())):
        prefix = key.rpartition(".")[0]
        if prefix:
            found.setdefault(prefix, []).append(key)
    return found


def toposort_objects(type_keys: Iterable[str]) -> list[ObjectInfo]:
    """Return types in the order of their keys, but each after the one that it derives from."""
    found = []
    waiting = {key: object_info_from_type_key(key) for key in sorted(set(type_keys))}
    while waiting:
        ready = next(key for key, info in waiting.items() if info.parent_type_key not in waiting)
        found.append(waiting.pop(ready))
    return found
