"""The public names: each has a documentation and a signature that can be shown."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import fnabi
from fnabi import types

MODULES = [name for name in fnabi.__all__ if inspect.ismodule(getattr(fnabi, name))]
NAMES = [
    *((fnabi, name) for name in fnabi.__all__),
    *(
        (module, name)
        for module in (getattr(fnabi, name) for name in MODULES)
        for name in getattr(module, "__all__", ())
    ),
]


def test_types_of_signatures_are_names_of_the_package() -> None:
    dtype, signature = fnabi.DType, fnabi.Signature
    assert (dtype, signature) == (types.DType, types.Signature)
    assert {"DType", "Signature"} <= {*fnabi.__all__} & {*dir(fnabi)}
    assert fnabi.DType("float32") == fnabi.DType.parse("float32") == fnabi.DType("float", 32)
    assert str(fnabi.DType.parse("float8_e4m3fn")) == "float8_e4m3fn"
    text = "(float32[?x4]) -> (int32)"
    found = fnabi.Signature.parse(text)
    assert str(found) == text
    assert found.results == (types.Scalar(fnabi.DType("int32")),)
    with pytest.raises(AttributeError, match="no attribute 'Dtype'"):
        _ = fnabi.Dtype  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("home", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_public_name_is_documented(home: Any, name: str) -> None:
    value = getattr(home, name)
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        assert inspect.getdoc(value), f"{home.__name__}.{name} has no docstring"


@pytest.mark.parametrize(
    ("home", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value)
)
def test_the_signature_of_a_public_name_can_be_shown(home: Any, name: str) -> None:
    """An annotation that names what its module does not have would raise NameError."""
    value = getattr(home, name)
    if not callable(value):
        return
    try:
        inspect.signature(value)
    except (ValueError, TypeError):  # of C without a text signature, or a metaclass
        assert value.__doc__
