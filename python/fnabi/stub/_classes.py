"""Generated classes for the types that libraries register."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import NamedTuple

from fnabi._base.lane import Field, Method
from fnabi.calls import schema
from fnabi.calls._object import Object
from fnabi.calls.reflection import ObjectType, initialiser_fields, is_by_name
from fnabi.stub._code import docstring, function, indented, literal, remark
from fnabi.stub._functions import parameters, result_hint
from fnabi.stub._hints import ModuleSpelling

_INITIALISER = "__ffi_init__"


class ClassLines(NamedTuple):
    """The lines of a class, and what they lack."""

    lines: list[str]
    notices: list[str]


def class_lines(
    name: str,
    found: ObjectType,
    classes: Mapping[str, str],
    spelling: ModuleSpelling,
    interface: bool,
) -> ClassLines:
    """Return the definition of a class for type checkers, and its lookup for the interpreter."""
    bases = [classes[base.type_key] for base in found.ancestors if base.type_key in classes]
    base = bases[-1] if bases else "fnabi.Object"
    notices: list[str] = []
    body = docstring(found.__doc__ or "", f"``{found.type_key}`` of the library.")
    body += _constructor(found, spelling)
    inherited = {*dir(Object)}
    for ancestor in found.ancestors:
        if ancestor.type_key in classes:
            inherited |= {*ancestor.fields, *ancestor.methods}
    record = found.__fnabi_type__
    members: dict[str, Field | Method] = {each.name: each for each in record.fields}
    members |= {each.name: each for each in record.methods}
    for member_name, member in members.items():
        if member_name.startswith("__ffi_"):
            continue  # of the runtime: the constructor, equality, repr
        problem = _problem(member_name, spelling)
        if problem:
            kind = "field" if isinstance(member, Field) else "method"
            text = f"{found.type_key}: the {kind} {literal(member_name)} {problem}"
            notices.append(text)
            body += ["", remark(text)]
        elif member_name in inherited:  # perhaps with a type that does not fit that one
            body += ["", f"{member_name}: Any"]
        elif isinstance(member, Field):
            body += ["", *_field(member, spelling)]
        else:
            body += ["", *_method(member, spelling)]
    head = f"class {name}({base}):"
    lines = [head, *indented(body)]
    if interface:
        return ClassLines(lines, notices)
    lookup = f"{name} = fnabi.get_type({literal(found.type_key)})"
    guarded = ["if TYPE_CHECKING:", "", *indented(lines), "", "else:", *indented([lookup])]
    return ClassLines(guarded, notices)


def _problem(name: str, spelling: ModuleSpelling) -> str | None:
    if not name.isidentifier() or not name.isascii():
        return "is no identifier; use getattr"
    if keyword.iskeyword(name):
        return "is a keyword; use getattr"
    if name in spelling.words:
        return "hides a name that the class uses for types; use getattr"
    if name.startswith("__"):
        return "has a name that Python gives a meaning"
    return None


def _constructor(found: ObjectType, spelling: ModuleSpelling) -> list[str]:
    method = found.methods.get(_INITIALISER)
    own = {each.name for each in found.__fnabi_type__.methods}
    if method is not None and _INITIALISER in own:
        declared = parameters(method.schema, None, spelling).declared
        return ["", *function("__init__", ["self", *declared], "None", [])]
    fields = initialiser_fields(found)
    if fields is None:
        return []
    declared = ["self"]
    if any(field.name == "self" or _problem(field.name, spelling) for field in fields):
        return ["", *function("__init__", ["self", "*args: Any", "**named: Any"], "None", [])]
    by_name = False
    for field in fields:
        if is_by_name(field) and not by_name:
            declared.append("*")
            by_name = True
        default = " = ..." if field.has_default else ""
        declared.append(f"{field.name}: {_hint(field, spelling, False)}{default}")
    return ["", *function("__init__", declared, "None", [])]


def _hint(field: Field, spelling: ModuleSpelling, result: bool) -> str:
    return "Any" if field.schema is None else spelling.hint(field.schema, result)


def _field(field: Field, spelling: ModuleSpelling) -> list[str]:
    hint = _hint(field, spelling, True)
    doc = docstring(field.__doc__ or "") if field.__doc__ else []
    if field.writable:
        return [f"{field.name}: {hint}", *doc]
    return ["@property", *function(field.name, ["self"], hint, [], doc)]


def _method(method: Method, spelling: ModuleSpelling) -> list[str]:
    described: schema.Schema | None = method.schema
    found = parameters(described, None, spelling, 0 if method.static else 1)
    declared = found.declared if method.static else ["self", *found.declared]
    doc = docstring(method.__doc__ or "") if method.__doc__ else []
    lines = function(method.name, declared, result_hint(described, spelling), [], doc)
    return ["@staticmethod", *lines] if method.static else lines
