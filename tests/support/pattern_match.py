"""A slow and obvious matcher of patterns, by trying every possibility and asking `compat`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from fnabi import pattern as p
from fnabi.compat import compare_signatures
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)

_SAME = Scalar(DType("bool", 1))
"""What replaces, on both sides, what is not compared."""

Env = dict[str, int | None]


def differences(pattern: p.Pattern, signature: Signature, untold: bool = False) -> int | None:
    """Return the least number of differences, or None if the signature does not match.

    `untold` is for a signature from the bytecode, where ``ref<?>`` may be any reference.
    """
    found = []
    for env in _assignments(pattern, signature):
        for inputs in _values(pattern.inputs, signature.inputs, env):
            for results in _values(pattern.results, signature.results, env):
                pairs = [*inputs, *results]
                if _disagree(pairs, pattern):
                    continue
                asked = Signature(*(tuple(pair[0] for pair in side) for side in (inputs, results)))
                given = Signature(*(tuple(pair[1] for pair in side) for side in (inputs, results)))
                if asked == given:
                    return 0
                changes = compare_signatures(asked, given)
                if any(change.severity in ("breaking", "unknown") for change in changes):
                    continue
                if untold and any(c.path.endswith(".name") and "inputs" in c.path for c in changes):
                    continue
                found.append(len(changes))
    return min(found, default=None)


def _assignments(pattern: p.Pattern, signature: Signature) -> Iterator[Env]:
    """Yield every assignment of variables to dims that occur, and to dynamic."""
    names = sorted(set(_variables(pattern)))
    dims: set[int | None] = {None, *_dims_of((signature.inputs, signature.results))}
    for values in product(sorted(dims, key=str), repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def _variables(part: Any) -> Iterator[str]:
    if isinstance(part, p.Variable):
        yield part.name
    elif isinstance(part, tuple):
        for each in part:
            yield from _variables(each)
    elif hasattr(part, "__struct_fields__") and not isinstance(part, DType):
        for name in part.__struct_fields__:
            yield from _variables(getattr(part, name))


def _dims_of(part: Any) -> Iterator[int]:
    if isinstance(part, (Buffer, RefArray)):
        yield from (dim for dim in part.shape or () if dim is not None)
    if isinstance(part, tuple):
        for each in part:
            yield from _dims_of(each)
    elif hasattr(part, "__struct_fields__") and not isinstance(part, DType):
        for name in part.__struct_fields__:
            yield from _dims_of(getattr(part, name))


Pair = tuple[Any, Any, tuple[tuple[str, int | None], ...]]
"""What the pattern asks for, what the signature has, and the dims at variables."""


def _disagree(pairs: list[Pair], pattern: p.Pattern) -> bool:
    statics: dict[str, set[int]] = {}
    for _, _, dims in pairs:
        for name, dim in dims:
            if dim is not None:
                statics.setdefault(name, set()).add(dim)
    return any(len(found) > 1 for found in statics.values())


def _values(
    values: tuple[Any, ...], given: tuple[Any, ...], env: Env, bare: bool = False
) -> Iterator[list[Pair]]:
    """Yield the pairs for every way to lay the values beside those of a signature."""
    if not values:
        if not given:
            yield []
        return
    first, rest = values[0], values[1:]
    if isinstance(first, p.Star):
        for count in range(len(given) + 1):
            for tail in _values(rest, given[count:], env):
                yield [(_SAME, _SAME, ())] * count + tail
        return
    if given:
        for head in _value(first, given[0], env):
            for tail in _values(rest, given[1:], env):
                yield [head, *tail]


def _value(value: p.ValuePattern, given: Type, env: Env) -> Iterator[Pair]:
    name = given.name if isinstance(given, Named) else None
    if value.name is not None and value.name != name:
        return
    yield from _type(value.type, given.type if isinstance(given, Named) else given, env)


def _type(type: Any, given: Type, env: Env) -> Iterator[Pair]:
    match type, given:
        case p.AnyType(), _:
            yield _SAME, _SAME, ()
        case p.ScalarOf(dtype), Scalar(own):
            if (asked := _dtype(dtype, own)) is not None:
                yield Scalar(asked), given, ()
        case p.BufferOf(dtype, dims), Buffer(own, shape):
            if (asked := _dtype(dtype, own)) is not None:
                for asked_shape, bound in _shapes(dims, shape, env):
                    yield Buffer(asked, asked_shape), given, bound
        case p.RefTo(_, True), Ref():
            yield _SAME, _SAME, ()
        case p.RefTo(name, False), Ref():
            yield Ref(name), given, ()
        case p.ListOf(element), HomogeneousList(own):
            for asked, seen, bound in _type(element, own, env):
                yield HomogeneousList(asked), HomogeneousList(seen), bound
        case p.ArrayOf(element, dims), RefArray(own, shape):
            for asked, seen, bound in _type(element, own, env):
                for asked_shape, more in _shapes(dims, shape, env):
                    yield RefArray(asked, asked_shape), RefArray(seen, shape), bound + more
        case p.Structure("list", values), List(items):
            for pairs in _values(values, items, env):
                yield List(_firsts(pairs)), List(_seconds(pairs)), _bound(pairs)
        case p.Structure("tuple", values), Tuple(items):
            for pairs in _values(values, items, env):
                yield Tuple(_firsts(pairs)), Tuple(_seconds(pairs)), _bound(pairs)
        case p.Structure("dict", values), Dict(items):
            keys = [key for key, _ in items]
            named = tuple(Named(key, item) for key, item in items)
            for pairs in _values(values, named, env):
                yield (
                    Dict(tuple(zip(keys, _firsts(pairs), strict=True))),
                    Dict(tuple(zip(keys, _seconds(pairs), strict=True))),
                    _bound(pairs),
                )
        case p.Untyped("null"), Null():
            yield _SAME, _SAME, ()
        case p.Untyped("unknown"), Unknown():
            yield _SAME, _SAME, ()


def _firsts(pairs: list[Pair]) -> tuple[Any, ...]:
    return tuple(pair[0] for pair in pairs)


def _seconds(pairs: list[Pair]) -> tuple[Any, ...]:
    return tuple(pair[1] for pair in pairs)


def _bound(pairs: list[Pair]) -> tuple[tuple[str, int | None], ...]:
    return tuple(each for pair in pairs for each in pair[2])


def _dtype(asked: Any, given: DType) -> DType | None:
    if isinstance(asked, DType):
        return asked
    kinds = {
        "any": (given.kind,),
        "float": ("float", "bfloat"),
        "int": ("signed", "unsigned", "signless"),
        "complex": ("complex",),
    }
    return given if given.kind in kinds[asked] else None


def _shapes(
    dims: tuple[Any, ...], given: tuple[int | None, ...] | None, env: Env
) -> Iterator[tuple[tuple[int | None, ...] | None, tuple[tuple[str, int | None], ...]]]:
    """Yield the shapes that the pattern may ask for, and the dims that variables lie beside."""
    if given is None:
        if dims and all(isinstance(dim, p.Star) for dim in dims):
            yield None, ()
            return
        known = [dim for dim in dims if not isinstance(dim, p.Star)]
        yield tuple(_asked(dim, None, env) for dim in known), ()
    else:
        yield from _shapes_of(dims, given, env)


def _shapes_of(
    dims: tuple[Any, ...], given: tuple[int | None, ...], env: Env
) -> Iterator[tuple[tuple[int | None, ...], tuple[tuple[str, int | None], ...]]]:
    if not dims:
        if not given:
            yield (), ()
        return
    first, rest = dims[0], dims[1:]
    if isinstance(first, p.Star):
        for count in range(len(given) + 1):
            for tail, bound in _shapes_of(rest, given[count:], env):
                yield given[:count] + tail, bound
    elif given:
        more = ((first.name, given[0]),) if isinstance(first, p.Variable) else ()
        for tail, bound in _shapes_of(rest, given[1:], env):
            yield (_asked(first, given[0], env), *tail), more + bound


def _asked(dim: Any, given: int | None, env: Env) -> int | None:
    if isinstance(dim, p.Variable):
        return env[dim.name]
    if dim == "_":
        return given
    return None if dim == "?" else dim
