"""Structs in C++ of registered types: the text of a header."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, NamedTuple

from fnabi._base import lane
from fnabi.dropin.tvm_ffi._type_schema import _ORIGINS
from fnabi.dropin.tvm_ffi._types import (
    TypeField,
    TypeInfo,
    _lookup_or_register_type_info_from_type_key,
)
from fnabi.dropin.tvm_ffi.registry import get_registered_type_keys

_FIRST_OBJECT, _FIRST_DYNAMIC = 64, 128
"""The type index of ``ffi.Object``, and the first one that a program assigns."""


class Stored(NamedTuple):
    """How C++ names the type of a value in memory, with its size and alignment."""

    cpp_type: str
    size: int = 8
    alignment: int = 8


_ANY = Stored("::tvm::ffi::Any", 16)
_OBJECT = Stored("::tvm::ffi::Arc<::tvm::ffi::Object>")
_POINTER = Stored("::tvm::ffi::ObjectPtr<::tvm::ffi::Object>")

_VALUES = {
    "int": Stored("int64_t"),
    "bool": Stored("bool", 1, 1),
    "float": Stored("double"),
    "void*": Stored("void*"),
    "DataType": Stored("DLDataType", 4, 2),
    "Device": Stored("DLDevice", 8, 4),
    "Any": _ANY,
    **dict.fromkeys(("ffi.String", "ffi.SmallStr"), Stored("::tvm::ffi::String", 16)),
    **dict.fromkeys(("ffi.Bytes", "ffi.SmallBytes"), Stored("::tvm::ffi::Bytes", 16)),
}
"""The values that need no object, by the names that libraries have for them."""

_BY_INDEX = {
    -1: _ANY,
    **dict(
        enumerate((_VALUES[n] for n in ("int", "bool", "float", "void*", "DataType", "Device")), 1)
    ),
}
"""Those of fields of which nothing but a type index is known."""

_TEXTS = ("ffi.String", "ffi.Bytes")
"""Values that are objects only where they are long."""

_OWN_CLASS = {f"ffi.{name}": name for name in ("Error", "Function", "Shape", "Tensor")}
_CONTAINERS = {f"ffi.{name}": name for name in ("Array", "List", "Map", "Dict")}
_CONTAINERS["Tuple"] = "Tuple"
_BARE = {f"ffi.{name}": name for name in ("Module", "VisitInterrupt")}
"""Objects of C++ without a class for references to them."""

_STRUCTS = {
    "ffi.Object": "::tvm::ffi::Object",
    "ffi.String": "::tvm::ffi::detail::StringObj",
    "ffi.Bytes": "::tvm::ffi::detail::BytesObj",
    **{
        key: f"::tvm::ffi::{name}Obj"
        for key, name in {**_OWN_CLASS, **_CONTAINERS, **_BARE}.items()
        if key != "Tuple"
    },
}
"""The structs that the headers of tvm_ffi have, by the key of the type."""

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)
_ESCAPED = "__ffi_escape_"

_START = """\
#pragma once

#include <tvm/ffi/tvm_ffi.h>

"""
_BEFORE_STRUCTS = """\
static_assert(sizeof(::tvm::ffi::Object) == 24);
static_assert(alignof(::tvm::ffi::Object) == 8);

#if defined(__clang__) || defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#elif defined(_MSC_VER)
#pragma warning(push)
#pragma warning(disable : 4749)
#endif

"""
_END = """\
#if defined(__clang__) || defined(__GNUC__)
#pragma GCC diagnostic pop
#elif defined(_MSC_VER)
#pragma warning(pop)
#endif
"""


def selected(type_keys: str | Sequence[str]) -> list[TypeInfo]:
    """Return the types that patterns select and those that they derive from, bases first.

    Raises:
        ValueError: A pattern selects no type of objects, or one that C++ has no struct for.

    """
    known = sorted(map(str, get_registered_type_keys()))
    found: dict[int, TypeInfo] = {}
    for pattern in [type_keys] if isinstance(type_keys, str) else type_keys:
        infos = [
            _lookup_or_register_type_info_from_type_key(key)
            for key in known
            if fnmatchcase(key, pattern)
        ]
        infos = [info for info in infos if info.type_index >= _FIRST_OBJECT]
        if not infos:
            raise ValueError(f"{pattern!r} did not match any registered object type")
        for info in infos:
            if info.type_index < _FIRST_DYNAMIC and info.type_key not in _STRUCTS:
                raise ValueError(f"{info.type_key}: C++ has no struct for the type")
            found.update((each.type_index, each) for each in _lineage(info))
    made = [info for index, info in found.items() if index >= _FIRST_DYNAMIC]
    return sorted(made, key=lambda info: (len(info.type_ancestors), info.type_key))


class Header:
    """A header for types.

    Args:
        infos: The types, bases first.

    """

    def __init__(self, infos: Iterable[TypeInfo]) -> None:
        self._infos = list(infos)
        self._named = {info.type_key: info for info in self._infos}
        """The types that the header declares, by key."""

    def text(self) -> str:
        """Return the text of the header.

        Raises:
            ValueError: The memory of an object is not known whole.

        """
        defined = [(_names(info)[:-1], self._struct(info)) for info in self._infos]
        declared = sorted(self._named.values(), key=lambda info: (_names(info)[:-1], _names(info)))
        is_object = (
            "template <>\ninline constexpr bool"
            f" tvm::ffi::is_object_subclass_v<{_qualified(info)}> = true;\n"
            for info in declared
        )
        only_named = (
            (
                _names(info)[:-1],
                f"struct {_names(info)[-1]} : public ::tvm::ffi::Object {_open(info)}\n}};",
            )
            for info in declared
            if info not in self._infos
        )
        names = ((_names(info)[:-1], f"struct {_names(info)[-1]};") for info in declared)
        return "".join(
            (
                _START,
                _in_namespaces(names),
                *is_object,
                "\n",
                _in_namespaces(only_named),
                _BEFORE_STRUCTS,
                _in_namespaces(defined),
                _END,
            )
        )

    def _struct(self, info: TypeInfo) -> str:
        """Return a struct with assertions of where its fields are."""
        in_python = hasattr(info, "_decorator_args")
        if info.fields is None or not (in_python or info._has_type_metadata):
            raise ValueError(f"{info.type_key} does not expose fixed total-size metadata")
        base = info.parent_type_info
        if base is None or (base.type_index < _FIRST_DYNAMIC and base.type_key not in _STRUCTS):
            raise ValueError(
                f"{info.type_key}: C++ has no struct for the type that it derives from"
            )
        base_struct = _STRUCTS.get(base.type_key) or _qualified(base)
        alignment = max(
            [8, *(field.alignment for each in _lineage(info) for field in each.fields or ())]
        )
        name = _names(info)[-1]
        members = []
        facts = [f"sizeof({name}) == {info.total_size}", f"alignof({name}) == {alignment}"]
        for field in sorted(info.fields, key=lambda field: field.offset):
            stored = self._lower_field(field, info)
            member = _identifier(field.name)
            members.append(
                f"\n  {stored.cpp_type} {member};  // offset={field.offset},"
                f" size={stored.size}, align={stored.alignment}"
            )
            if member != field.name:
                members[-1] += f", reflected name={field.name!r}"
            facts += (
                f"sizeof(decltype({name}::{member})) == {stored.size}",
                f"alignof(decltype({name}::{member})) == {stored.alignment}",
                f"offsetof({name}, {member}) == {field.offset}",
            )
        if members:
            members.insert(0, "\n")
        head = f"struct alignas({alignment}) {name} : public {base_struct} {_open(info)}"
        asserts = "\n".join(f"static_assert({fact});" for fact in facts)
        return f"{head}{''.join(members)}\n}};\n\n{asserts}"

    def _lower_field(self, field: TypeField, owner: TypeInfo) -> Stored:
        """Return how C++ stores a field."""
        where = f"{owner.type_key}.{field.name}"
        layout = field.size, field.alignment
        if field.ty is None:
            index = getattr(field, "field_static_type_index", 0)
            stored = _BY_INDEX.get(index, _POINTER if index >= _FIRST_OBJECT else None)
        else:
            schema = field.metadata["type_schema"]
            schema = json.loads(schema) if isinstance(schema, str) else schema
            if schema["type"] in ("Optional", "Variant"):
                stored = _ANY if hasattr(owner, "_decorator_args") else self._either(schema, layout)
                if stored is None:
                    kind = "Optional" if schema["type"] == "Optional" else "Union"
                    raise ValueError(f"{where}: Ambiguous native {kind} carrier")
            else:
                stored = self._value(schema)
                if schema["type"] in _STRUCTS and layout == (8, 8) != stored[1:]:
                    stored = Stored(f"::tvm::ffi::Arc<{_STRUCTS[schema['type']]}>")
                elif schema["type"] == "ffi.Error":  # it has the members of an exception, too
                    stored = Stored(stored.cpp_type, *layout)
        if stored is None:
            raise ValueError(f"{where}: how C++ stores the field is not known")
        if stored[1:] != layout:
            raise ValueError(
                f"{where}: the size and alignment are {layout}, expected {tuple(stored[1:])}"
                f" of {stored.cpp_type}"
            )
        return stored

    def _either(self, schema: dict[str, Any], layout: tuple[int, int]) -> Stored | None:
        """Return how a library stores a value that may be None, or of several types."""
        args = schema["args"]
        if schema["type"] == "Variant":
            return _OBJECT if layout == (8, 8) and all(map(_is_object, args)) else None
        if layout == (8, 8) and _is_object(args[0]):
            return Stored(f"::tvm::ffi::ObjectPtr<{self._object(args[0])}>")
        if layout == (16, 8) and (_is_object(args[0]) or args[0]["type"] in _TEXTS):
            return Stored(f"::tvm::ffi::Optional<{self._value(args[0]).cpp_type}>", 16)
        return None

    def _value(self, schema: dict[str, Any]) -> Stored:
        """Return how C++ stores a value of a type."""
        name = schema["type"]
        if name in _VALUES:
            return _VALUES[name]
        if name in _CONTAINERS:
            inner = ", ".join(map(self._item, schema.get("args") or _items_of(name)))
            return Stored(f"::tvm::ffi::{_CONTAINERS[name]}<{inner}>")
        if name == "ffi.Error":
            return Stored("::tvm::ffi::Error", 16)
        if name in _OWN_CLASS:
            return Stored(f"::tvm::ffi::{_OWN_CLASS[name]}")
        if not _is_object(schema):
            raise ValueError(f"C++ has no type for {name}")
        return Stored(f"::tvm::ffi::Arc<{self._object(schema)}>")

    def _item(self, schema: dict[str, Any]) -> str:
        """Return the type in C++ of the items of a container."""
        args = schema.get("args", ())
        if schema["type"] == "Variant":
            return (_OBJECT if all(map(_is_object, args)) else _ANY).cpp_type
        if schema["type"] != "Optional":
            return self._value(schema).cpp_type
        if not _is_object(args[0]):
            return _ANY.cpp_type
        return f"::tvm::ffi::ObjectPtr<{self._object(args[0])}>"

    def _object(self, schema: dict[str, Any]) -> str:
        """Return the struct of a type of objects, and declare it."""
        name = schema["type"]
        if name in _STRUCTS:
            return _STRUCTS[name]
        info = self._named[name] = _lookup_or_register_type_info_from_type_key(name)
        return _qualified(info)


def _is_object(schema: dict[str, Any]) -> bool:
    """Return whether all values of a type are objects of a struct."""
    name = schema["type"]
    if name in _STRUCTS:
        return name not in _TEXTS
    index = None if name in _ORIGINS else lane.type_index_of(name)
    return index is not None and index >= _FIRST_DYNAMIC


def _items_of(container: str) -> list[dict[str, Any]]:
    """Return the types of items of a container that does not have them."""
    return [{"type": "Any"}] * {"ffi.Map": 2, "ffi.Dict": 2, "Tuple": 0}.get(container, 1)


def _lineage(info: TypeInfo) -> list[TypeInfo]:
    """Return a type and those that it derives from."""
    parent = info.parent_type_info
    return [info] if parent is None else [info, *_lineage(parent)]


def _identifier(name: str) -> str:
    """Return a name for C++, as it is where C++ allows that."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in _KEYWORDS
    return name if plain and not name.startswith(_ESCAPED) else _ESCAPED + name.encode().hex()


def _names(info: TypeInfo) -> tuple[str, ...]:
    """Return the namespaces of a struct and its name."""
    *namespaces, last = info.type_key.split(".")
    struct = last if last in _KEYWORDS else _identifier(last)
    return (*map(_identifier, namespaces), f"{struct}Obj")


def _qualified(info: TypeInfo) -> str:
    return "::" + "::".join(_names(info))


def _open(info: TypeInfo) -> str:
    """Return the start of the body of a struct."""
    key = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in info.type_key.encode()
    )
    return f'{{\n  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("{key}", {len(info.type_ancestors)});'


def _in_namespaces(declarations: Iterable[tuple[tuple[str, ...], str]]) -> str:
    """Return declarations in their namespaces, with those that follow each other in one."""
    text = ""
    for namespaces, group in groupby(declarations, key=lambda each: each[0]):
        text += "".join(f"namespace {name} {{\n" for name in namespaces) + "\n" * bool(namespaces)
        text += "\n\n".join(declaration for _, declaration in group) + "\n\n"
        text += "".join(f"}}  // namespace {name}\n" for name in reversed(namespaces))
        text += "\n" * bool(namespaces)
    return text
