"""Compute the nodes of a type in columns, independently of the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fnabi._fnabi import lib
from fnabi.types import (
    Buffer,
    Dict,
    HomogeneousList,
    List,
    Named,
    Ref,
    RefArray,
    Scalar,
    Tuple,
    Type,
)


def nodes_of(type: Type, depth: int = 0, name: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Return kind, dtype, shape, depth, name and reference of each node, in preorder."""
    while isinstance(type, Named):
        name, type = type.name, type.type
    kinds = {HomogeneousList: "HOMOGENEOUS_LIST", RefArray: "REF_ARRAY"}
    kind = getattr(lib, f"FNABI_TYPE_{kinds.get(type.__class__, type.__class__.__name__.upper())}")
    dtype = str(type.dtype) if isinstance(type, (Scalar, Buffer)) else None
    shape = type.shape if isinstance(type, (Buffer, RefArray)) else None
    yield kind, dtype, shape, depth, name, type.name if isinstance(type, Ref) else None
    if isinstance(type, (List, Tuple)):
        for item in type.__struct_fields__:
            for child in getattr(type, item):
                yield from nodes_of(child, depth + 1)
    elif isinstance(type, Dict):
        for key, child in getattr(type, type.__struct_fields__[0]):
            yield from nodes_of(child, depth + 1, key)
    elif isinstance(type, (HomogeneousList, RefArray)):
        yield from nodes_of(getattr(type, type.__struct_fields__[0]), depth + 1)
