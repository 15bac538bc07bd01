"""The public names: each has a documentation and a signature that can be shown."""

from __future__ import annotations

import inspect
import rlcompleter
from typing import Any, get_origin

import msgspec
import pytest

import fnabi
from fnabi import cconv, iree_abi, raw, sip, types
from support.each import each

MODULES = [name for name in fnabi.__all__ if inspect.ismodule(getattr(fnabi, name))]
NAMES = [
    *((fnabi, name) for name in fnabi.__all__),
    *(
        (module, name)
        for module in (getattr(fnabi, name) for name in MODULES)
        for name in getattr(module, "__all__", ())
    ),
]


@each(lambda: ((name, getattr(fnabi, name)) for name in MODULES if name != "dropin"))
def test_a_module_completes_its_public_names(module: Any) -> None:
    """Nothing of what it imports, as `Path`, `msgspec` and `annotations`."""
    assert dir(module) == sorted(module.__all__)
    completer = rlcompleter.Completer({"module": module})
    completed = {each.rstrip("()") for each in completer.attr_matches("module.")}
    assert completed == {f"module.{name}" for name in module.__all__}


def test_ipython_completes_public_names() -> None:
    pytest.importorskip("IPython")
    from IPython.core.completer import IPCompleter, provisionalcompleter

    for use_jedi in (True, False):
        completer = IPCompleter(namespace={"vmfb": fnabi.vmfb}, use_jedi=use_jedi)
        with provisionalcompleter():
            found = {each.text.lstrip(".") for each in completer.completions("vmfb.", 5)}
        assert found == {*fnabi.vmfb.__all__}


def records(base: type[msgspec.Struct] = msgspec.Struct) -> list[type[msgspec.Struct]]:
    """Return the public records that derive from one, also those that only functions return."""
    for home, name in NAMES:
        getattr(home, name)
    found = [each for cls in base.__subclasses__() for each in (cls, *records(cls))]
    return [cls for cls in found if cls.__module__.startswith("fnabi.") and cls.__name__[0] != "_"]


RECORDS = sorted(records(), key=str)


def test_every_exported_record_is_tested() -> None:
    exported = [each for home, name in NAMES if inspect.isclass(each := getattr(home, name))]
    assert {each for each in exported if issubclass(each, msgspec.Struct)} <= {*RECORDS}
    assert len(RECORDS) > 80


@each(lambda: ((f"{cls.__module__}.{cls.__name__}", cls) for cls in RECORDS))
def test_a_record_is_frozen_and_hashable(cls: type[msgspec.Struct]) -> None:
    fields = cls.__struct_fields__
    value = fnabi.DType("float32") if cls is fnabi.DType else cls(*[None] * len(fields))
    same = msgspec.structs.replace(value)
    assert {value: "found"}[same] == "found"
    for name in (*fields, "anything"):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


SEVERAL_MEANINGS = {
    "Cause": "why modules differ, and why a release does not load one",
    "Dict": "a container of calls, a type with named slots, a node of SIP, as each ABI calls it",
    "List": "a container of calls, and a type with slots, as each ABI calls it",
    "Module": "a compiled module, and what TVM calls a module",
    "Signature": "types of arguments and results, in iree.abi with more keys; a structure in SIP",
}
"""The names of classes that stand for several, with the reason."""


def test_the_name_of_a_class_has_one_meaning() -> None:
    """Not counted is what has the names of other packages on purpose, `fnabi.dropin`."""
    meanings: dict[str, list[object]] = {}
    for home, name in NAMES:
        value = getattr(home, name)
        known = meanings.setdefault(name, [])
        if (inspect.isclass(value) or get_origin(value)) and value not in known:
            known.append(value)
    assert {name for name, known in meanings.items() if len(known) > 1} == {*SEVERAL_MEANINGS}


def test_what_parses_a_text_and_what_encodes_one_agree() -> None:
    """The first argument of every `parse` is a text, bytes or str, and `encode` returns one."""
    parses = [home.parse for home, name in NAMES if name == "parse" and inspect.ismodule(home)]
    assert len(parses) >= 8
    for parse in (*parses, fnabi.Signature.parse, fnabi.DType.parse):
        assert next(iter(inspect.signature(parse).parameters)) == "text", parse
    texts = {raw: b"I1!R1!", sip: b"I1!R1!", iree_abi: '{"a":[],"r":[]}', cconv: "0v_v"}
    for module, text in texts.items():
        value = module.parse(text)
        other = text.encode() if isinstance(text, str) else text.decode()
        assert module.parse(other) == value
        assert type(module.encode(value)) is type(text)


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


@each(lambda: ((f"{home.__name__}.{name}", (home, name)) for home, name in NAMES))
def test_a_public_name_is_documented(place: tuple[Any, str]) -> None:
    home, name = place
    value = getattr(home, name)
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        assert inspect.getdoc(value), f"{home.__name__}.{name} has no docstring"


@each(lambda: ((f"{home.__name__}.{name}", (home, name)) for home, name in NAMES))
def test_the_signature_of_a_public_name_can_be_shown(place: tuple[Any, str]) -> None:
    """An annotation that names what its module does not have would raise NameError."""
    home, name = place
    value = getattr(home, name)
    if not callable(value):
        return
    try:
        inspect.signature(value)
    except (ValueError, TypeError):  # of C without a text signature, or a metaclass
        assert value.__doc__
