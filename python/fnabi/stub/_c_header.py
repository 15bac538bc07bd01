"""Generate a C header that describes the functions of a module, and calls them.

The descriptions need the C standard library alone. With IREE's ``iree/runtime/api.h`` included
before, the header also has a function of C types for each function of the module. It compiles as
C11 and as C++.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from fnabi import types
from fnabi._base.names import Names, identifier
from fnabi._base.text import one_line
from fnabi._base.version import VERSION
from fnabi.abi import cconv
from fnabi.run.invoke import element_type
from fnabi.stub._code import Stub, literal
from fnabi.stub._interface import Entry, InexpressibleError, Interface, Value

_LIBRARIES = re.compile(r"(?i)(?:iree|fnabi)(?:_.*)?")
"""What the names of IREE and of the header begin with."""

_USED = re.compile(r"(?:iree|fnabi)_.*|.*_t|session|call|status|errno|assert|stdin|stdout|stderr")
"""Names that the body of a function uses, which an argument would hide, and macros."""

_TABLES = re.compile(r"functions|(?:values|shape)_\d+|t")
"""What follows the prefix in the names of tables, and in those of types such as ``int32_t``."""

_DESCRIPTORS = """\
#ifndef FNABI_STUB_DESCRIPTORS
#define FNABI_STUB_DESCRIPTORS

#if defined(__GNUC__)
#define FNABI_STUB_UNUSED __attribute__((unused))
#else
#define FNABI_STUB_UNUSED
#endif

enum fnabi_stub_kind {
  FNABI_STUB_SCALAR,
  FNABI_STUB_BUFFER,
  FNABI_STUB_STRUCTURE, /* a list, tuple or dict with a type for each slot */
  FNABI_STUB_LIST,      /* a list of any length; one item, the type of all elements */
  FNABI_STUB_REFERENCE,
  FNABI_STUB_NULL,
  FNABI_STUB_UNKNOWN
};

typedef struct fnabi_stub_value {
  const char* name;      /* of an argument, a result or a key; else empty */
  const char* type;      /* as text */
  int32_t kind;          /* an enum fnabi_stub_kind */
  uint32_t element_type; /* an iree_hal_element_type_t; 0 if there is none */
  int32_t rank;          /* of a buffer; -1 if it is unknown */
  const int64_t* shape;  /* `rank` dims, -1 for a dynamic one; may be NULL */
  size_t item_count;
  const struct fnabi_stub_value* items; /* of a structure or a list; else NULL */
} fnabi_stub_value;

typedef struct fnabi_stub_function {
  const char* name; /* with the name of the module */
  size_t name_size;
  const char* calling_convention;
  int32_t is_async; /* whether two fences follow the inputs */
  size_t input_count;
  const fnabi_stub_value* inputs;
  size_t result_count;
  const fnabi_stub_value* results;
} fnabi_stub_function;

#endif"""

_CALLS = """\
#ifndef FNABI_STUB_CALLS
#define FNABI_STUB_CALLS
#include "iree/modules/hal/types.h"

static inline iree_status_t fnabi_stub_push(iree_runtime_call_t* call,
                                            iree_vm_value_t value) {
  return iree_vm_list_push_value(iree_runtime_call_inputs(call), &value);
}

static inline iree_status_t fnabi_stub_push_ref(iree_runtime_call_t* call,
                                                const iree_vm_ref_t* value) {
  return iree_vm_list_push_ref_retain(iree_runtime_call_inputs(call), value);
}

static inline iree_status_t fnabi_stub_push_fence(iree_runtime_call_t* call,
                                                  iree_hal_fence_t* fence) {
  iree_vm_ref_t value = iree_vm_ref_null();
  if (fence != NULL) value = iree_hal_fence_retain_ref(fence);
  iree_status_t status =
      iree_vm_list_push_ref_retain(iree_runtime_call_inputs(call), &value);
  iree_vm_ref_release(&value);
  return status;
}

static inline iree_status_t fnabi_stub_value_at(
    const iree_runtime_call_t* call, size_t index, iree_vm_value_type_t type,
    iree_vm_value_t* value) {
  return iree_vm_list_get_value_as(iree_runtime_call_outputs(call), index, type,
                                   value);
}

static inline iree_status_t fnabi_stub_view_at(const iree_runtime_call_t* call,
                                               size_t index,
                                               iree_hal_buffer_view_t** view) {
  *view = iree_vm_list_get_buffer_view_retain(iree_runtime_call_outputs(call),
                                              index);
  return *view != NULL ? iree_ok_status()
                       : iree_make_status(IREE_STATUS_INTERNAL,
                                          "a result is not a buffer view");
}

static inline iree_status_t fnabi_stub_ref_at(const iree_runtime_call_t* call,
                                              size_t index,
                                              iree_vm_ref_t* value) {
  return iree_vm_list_get_ref_retain(iree_runtime_call_outputs(call), index,
                                     value);
}

#endif"""

_REGISTERS = {"i32": "int32_t", "i64": "int64_t", "f32": "float", "f64": "double"}


def c_header(interface: Interface) -> Stub:
    """Generate a C header."""
    notices = list(interface.omitted)
    prefix = identifier(interface.name, "module")
    if _LIBRARIES.fullmatch(prefix):
        prefix = f"module_{prefix}"
    # Each function has the module's name twice, which a macro keeps short.
    module = _Module(f"{prefix.upper()}_MODULE_NAME", _size(interface.name))
    tables = _Tables(prefix)
    identifiers = [entry.identifier for entry in interface.entries]
    taken = {
        each for each in identifiers if _TABLES.fullmatch(each) or f"{prefix}_{each}".isupper()
    }
    scope = Names(reserved=taken, expected=identifiers)
    rows: list[str] = []
    calls: list[str] = []
    for entry in interface.entries:
        rows += tables.function(module, entry)
        try:
            name = scope.add(entry.identifier)
            calls += ["", *_call(f"{prefix}_{name}", module, entry)]
        except InexpressibleError as problem:
            notices.append(f"{literal(entry.export.name)} has no C function: {problem}")
            calls += ["", f"/* {_comment(notices[-1])}. */"]
    about = f"Functions of the module {interface.name} in {interface.file}"
    head = [
        f"/* {_comment(about)}.",
        f" * Written by fnabi {VERSION} (fnabi stub); write it again instead of editing.",
        *(f" * {_comment(each)}" for each in interface.left_out(interface.omitted)),
        " */",
    ]
    lines = [
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        _DESCRIPTORS,
        "",
        f"#define {module.macro} {_string(interface.name)}",
        "",
        *tables.lines,
    ]
    if rows:
        lines += [
            f"static const fnabi_stub_function {prefix}_functions[] FNABI_STUB_UNUSED = {{",
            *rows,
            "};",
            "",
        ]
    lines += [
        f"enum {{ {prefix.upper()}_FUNCTION_COUNT = {len(interface.entries)} }};",
        "",
        "/* Functions of C types, if iree/runtime/api.h is included before. The caller releases",
        " * the buffer views and references that they write, also those of a call that fails: what",
        " * is not written is NULL. Fences may be NULL. */",
        "#ifdef IREE_RUNTIME_API_H_",
        "",
        _CALLS,
        *calls,
        "",
        "#endif",
        "",
    ]
    guarded = _guarded(f"FNABI_STUB_{prefix.upper()}_H", lines)
    return Stub("\n".join([*head, *guarded]) + "\n", tuple(notices))


def _guarded(guard: str, lines: list[str]) -> Iterator[str]:
    """Yield lines that may be included twice, but not with others of the same guard."""
    number = f"0x{crc32(chr(10).join(lines).encode('utf-8', 'surrogateescape')):08X}"
    yield f"#ifdef {guard}"
    yield f"#if {guard} != {number}"
    yield '#error "the header of another module with the same name is included in this file"'
    yield "#endif"
    yield "#else"
    yield f"#define {guard} {number}"
    yield ""
    yield from lines
    yield "#endif"


def _comment(text: str) -> str:
    return one_line(text).replace("*/", "* /").replace("/*", "/ *")


def _string(text: str) -> str:
    """Return a string literal of ASCII alone; other bytes are octal escapes."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
    return '"' + shown.replace("??", "?\\?") + '"'  # no trigraphs


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


class _Module(NamedTuple):
    """The macro that has the name of the module, and the size of that name."""

    macro: str
    size: int

    def full_name(self, entry: Entry) -> str:
        """Return the full name of a function, as a string literal, and its size."""
        rest = f".{entry.export.name}"
        return f"{self.macro} {_string(rest)}, {self.size + _size(rest)}"


class _Tables:
    """The constant tables that describe functions.

    Args:
        prefix: What the names of tables begin with.

    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._shapes: dict[tuple[int | None, ...], str] = {}
        self.lines: list[str] = []

    def function(self, module: _Module, entry: Entry) -> list[str]:
        """Return the lines that describe a function."""
        sides = [self._values(entry.inputs), self._values(entry.results)]
        name = module.full_name(entry)
        flag = int(entry.export.is_async)
        return [
            f"    {{{name}, {_string(entry.export.calling_convention)}, {flag},",
            f"     {sides[0]}, {sides[1]}}},",
        ]

    def _values(self, values: Sequence[Value]) -> str:
        return self._table([(value.name, value.type) for value in values])

    def _table(self, items: Sequence[tuple[str, types.Type]]) -> str:
        """Add a table and return its size and name."""
        if not items:
            return "0, NULL"
        rows = [self._row(name, type) for name, type in items]
        table = f"{self._prefix}_values_{self._next()}"
        head = f"static const fnabi_stub_value {table}[] FNABI_STUB_UNUSED = {{"
        self.lines += [head, *(f"    {row}," for row in rows), "};", ""]
        return f"{len(items)}, {table}"

    def _row(self, name: str, type: types.Type) -> str:
        text = _string(str(type))
        element, rank, shape, items = "0", "0", "NULL", "0, NULL"
        match type:
            case types.Scalar(dtype):
                kind, element = "SCALAR", self._element(element_type(dtype))
            case types.Buffer(dtype, dims):
                kind, element = "BUFFER", self._element(element_type(dtype))
                rank, shape = ("-1", "NULL") if dims is None else (str(len(dims)), self._dims(dims))
            case types.List(slots) | types.Tuple(slots):
                kind, items = "STRUCTURE", self._table([("", slot) for slot in slots])
            case types.Dict(pairs):
                kind, items = "STRUCTURE", self._table(pairs)
            case types.HomogeneousList(inner):
                kind, items = "LIST", self._table([("", inner)])
            case types.Ref() | types.RefArray():
                kind = "REFERENCE"
            case types.Null():
                kind = "NULL"
            case _:
                kind = "UNKNOWN"
        parts = f"FNABI_STUB_{kind}, {element}, {rank}, {shape}, {items}"
        return f"{{{_string(name)}, {text}, {parts}}}"

    def _element(self, number: int | None) -> str:
        return "0" if number is None else f"{number:#010x}u"

    def _dims(self, dims: tuple[int | None, ...]) -> str:
        if not dims:
            return "NULL"
        if dims not in self._shapes:
            name = self._shapes[dims] = f"{self._prefix}_shape_{self._next()}"
            shown = ", ".join("-1" if dim is None else f"INT64_C({dim})" for dim in dims)
            self.lines += [
                f"static const int64_t {name}[] FNABI_STUB_UNUSED = {{{shown}}};",
                "",
            ]
        return self._shapes[dims]

    def _next(self) -> int:
        self._count += 1
        return self._count


class _Slot(NamedTuple):
    """A register of a call, and what is passed in it."""

    name: str
    register: str
    is_view: bool


def _call(function: str, module: _Module, entry: Entry) -> list[str]:
    """Return the C function of a name that calls a function of the module."""
    registers = entry.registers()
    values = [value.identifier for value in (*entry.inputs, *entry.slots)]
    used = {each for each in values if _USED.fullmatch(each) or each.isupper()}
    scope = Names(reserved=used, expected=values)
    fences = 2 if entry.export.is_async else 0
    inputs = _slots(scope, entry.inputs, registers.arguments)
    results = _slots(scope, entry.slots, registers.results)
    parameters = ["iree_runtime_session_t* session"]
    steps = []
    for slot in inputs:
        if slot.is_view:
            parameters.append(f"iree_hal_buffer_view_t* {slot.name}")
            push = f"iree_runtime_call_inputs_push_back_buffer_view(&call, {slot.name})"
        elif slot.register == "ref":
            parameters.append(f"const iree_vm_ref_t* {slot.name}")
            push = f"fnabi_stub_push_ref(&call, {slot.name})"
        else:
            parameters.append(f"{_REGISTERS[slot.register]} {slot.name}")
            push = f"fnabi_stub_push(&call, iree_vm_value_make_{slot.register}({slot.name}))"
        steps.append(push)
    for name in ("wait_fence", "signal_fence")[:fences]:
        fence = scope.add(name)
        parameters.append(f"iree_hal_fence_t* {fence}")
        steps.append(f"fnabi_stub_push_fence(&call, {fence})")
    steps.append("iree_runtime_call_invoke(&call, 0)")
    start = []
    body = []
    for index, slot in enumerate(results):
        if slot.is_view:
            parameters.append(f"iree_hal_buffer_view_t** {slot.name}")
            start.append(f"  *{slot.name} = NULL;")
            steps.append(f"fnabi_stub_view_at(&call, {index}, {slot.name})")
        elif slot.register == "ref":
            parameters.append(f"iree_vm_ref_t* {slot.name}")
            start.append(f"  *{slot.name} = iree_vm_ref_null();")
            steps.append(f"fnabi_stub_ref_at(&call, {index}, {slot.name})")
        else:
            register = slot.register
            parameters.append(f"{_REGISTERS[register]}* {slot.name}")
            value = scope.add(f"{slot.name}_value")
            start.append(f"  iree_vm_value_t {value} = iree_vm_value_make_none();")
            kind = f"IREE_VM_VALUE_TYPE_{register.upper()}"
            steps.append(f"fnabi_stub_value_at(&call, {index}, {kind}, &{value})")
            start.append(f"  *{slot.name} = 0;")
            body.append(f"    *{slot.name} = {value}.{register};")
    lines = [
        f"/* {_comment(entry.title)} */",
        f"static inline iree_status_t {function}(",
        *(f"    {parameter}," for parameter in parameters[:-1]),
        f"    {parameters[-1]}) {{",
        "  iree_runtime_call_t call;",
        *start,
        "  iree_status_t status = iree_runtime_call_initialize_by_name(",
        f"      session, iree_make_string_view({module.full_name(entry)}), &call);",
        "  if (!iree_status_is_ok(status)) return status;",
    ]
    for step in steps:
        lines += ["  if (iree_status_is_ok(status))", f"    status = {step};"]
    if body:
        lines += ["  if (iree_status_is_ok(status)) {", *body, "  }"]
    return [*lines, "  iree_runtime_call_deinitialize(&call);", "  return status;", "}"]


def _slots(
    scope: Names, values: Sequence[Value], registers: Sequence[cconv.RegisterType]
) -> list[_Slot]:
    found = []
    for value, register in zip(values, registers, strict=True):
        type = value.type
        is_view = isinstance(type, types.Buffer) or (
            isinstance(type, types.Ref) and (type.name or "").lstrip("!") == "hal.buffer_view"
        )
        found.append(_Slot(scope.add(value.identifier), register, is_view and register == "ref"))
    return found
