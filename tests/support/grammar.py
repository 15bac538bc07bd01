"""Parse the grammars the slow and obvious way, as one would in plain Python.

The tests compare the core with this module, including the offsets of errors, and the benchmarks
compare its time. It shares only the types of the results and the names of the error codes with
the core.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from fnabi import iree_abi, sip
from fnabi.abi.cconv import CallingConvention, RegisterType, Span
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

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


class GrammarError(Exception):
    """An error with the name of its ``fnabi_code``, its byte offset and its path."""

    def __init__(self, code: str, offset: int, path: str = "") -> None:
        super().__init__(code, offset, path)
        self.code = code
        self.offset = offset
        self.path = path

    def within(self, part: str) -> GrammarError:
        """Return the error with `part` before its path; the last 124 characters are kept."""
        if self.path.startswith("..."):
            return self
        if len(part + self.path) > 124:
            part = "..."
        return GrammarError(self.code, self.offset, part + self.path)


# ------------------------------------------------------------------------------------ signature
#
#   component ::= integer-tag integer | span-tag length '!' contents

INTEGER_TAGS = b"_abcdefghijklmnopqrstuvwxyz"
SPAN_TAGS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NUMBER = re.compile(rb"(-?)([0-9]*)")


@dataclass(slots=True)
class Component:
    """One component. The contents of a span are `begin` to `end`.

    On an error, `code` is the error code and `end` its offset.
    """

    kind: str
    tag: int
    ival: int
    offset: int
    begin: int
    end: int
    code: str = "ok"


def read(data: bytes, at: int, end: int) -> Component:
    """Parse the component at `at` of ``data[:end]``."""
    if at == end:
        return Component("end", 0, 0, at, at, at)
    tag = data[at]
    number = NUMBER.match(data, at + 1, end)
    assert number is not None
    sign, digits = number.groups()
    ival, fits = to_int32(sign, digits)
    begin, after = number.span()

    if tag not in INTEGER_TAGS and tag not in SPAN_TAGS:
        return Component("error", tag, ival, at, begin, at, "tag")
    if not digits:
        return Component("error", tag, ival, at, begin, after, "integer")
    if not fits:
        return Component("error", tag, ival, at, begin, begin, "int32")
    if tag in INTEGER_TAGS:
        return Component("int", tag, ival, at, begin, after)
    if ival < 1:
        return Component("error", tag, ival, at, begin, begin, "length")
    if after == end or data[after] != ord("!"):
        return Component("error", tag, ival, at, begin, after, "span-mark")
    if after + ival > end:
        return Component("error", tag, ival, at, begin, begin, "span-end")
    return Component("span", tag, ival - 1, at, after + 1, after + ival)


def to_int32(sign: bytes, digits: bytes) -> tuple[int, bool]:
    """Return the value, saturated, and whether it fits."""
    digits = digits.lstrip(b"0")
    value = int(digits[:11] or b"0")
    if sign:
        value = -value
    if value < INT32_MIN:
        return INT32_MIN, False
    if value > INT32_MAX:
        return INT32_MAX, False
    return value, True


def tokens(data: bytes) -> tuple[list[Component], Component]:
    """Return all components, then the end or the error."""
    components = []
    component = read(data, 0, len(data))
    while component.kind in ("int", "span"):
        components.append(component)
        component = read(data, component.end, len(data))
    return components, component


def seek(data: bytes, at: int, tag: int) -> Component:
    """Return the first component from `at` on with `tag`, or the end or the error before it."""
    component = read(data, at, len(data))
    while component.kind in ("int", "span") and component.tag != tag:
        component = read(data, component.end, len(data))
    return component


# ------------------------------------------------------------------------------------------ raw
#
#   signature   ::= 'I' length-prefixed(value*) 'R' length-prefixed(value*)
#   value       ::= buffer | scalar | ref | unknown
#   buffer      ::= 'B' length-prefixed(scalar-type? dim*)
#   scalar      ::= 'S' length-prefixed(scalar-type?)
#   ref         ::= 'O' length-prefixed()
#   unknown     ::= 'U' length-prefixed()
#   scalar-type ::= 't' ('0' | '1' | ... | '11')
#   dim         ::= 'd' integer

SCALAR_TYPES = [
    ("float32", DType("float", 32)),
    ("float16", DType("float", 16)),
    ("float64", DType("float", 64)),
    ("bfloat16", DType("bfloat", 16)),
    ("sint8", DType("signed", 8)),
    ("sint16", DType("signed", 16)),
    ("sint32", DType("signed", 32)),
    ("sint64", DType("signed", 64)),
    ("uint8", DType("unsigned", 8)),
    ("uint16", DType("unsigned", 16)),
    ("uint32", DType("unsigned", 32)),
    ("uint64", DType("unsigned", 64)),
]
DTYPES = [dtype for _, dtype in SCALAR_TYPES]
NAMES = {dtype: name for name, dtype in SCALAR_TYPES}
LITERALS = {b"%d" % number: dtype for number, dtype in enumerate(DTYPES)}


def raw_parse(data: bytes) -> Signature:
    """Parse a whole signature, strictly by the grammar."""
    inputs, at = raw_side(data, 0, b"I", "inputs")
    results, at = raw_side(data, at, b"R", "results")
    if at != len(data):
        raise GrammarError("unexpected", at)
    return Signature(inputs, results)


def raw_side(data: bytes, at: int, tag: bytes, name: str) -> tuple[tuple[Type, ...], int]:
    component = read(data, at, len(data))
    if component.tag != tag[0] or component.kind == "end":
        raise GrammarError(f"raw-{name}", at)
    if component.kind == "error":
        raise GrammarError(component.code, component.end)
    values: list[Type] = []
    at = component.begin
    while at < component.end:
        try:
            value, at = raw_value(data, at, component.end)
        except GrammarError as error:
            raise error.within(f"{name}[{len(values)}]") from None
        values.append(value)
    return tuple(values), component.end


def raw_value(data: bytes, at: int, end: int) -> tuple[Type, int]:
    component = expect(data, at, end)
    if component.tag == ord("B"):
        return raw_buffer(data, component), component.end
    if component.tag == ord("S"):
        dtype, at = raw_dtype(data, component.begin, component.end)
        expect_end(data, at, component.end, "raw-scalar-field")
        return Scalar(dtype), component.end
    if component.tag == ord("O"):
        expect_end(data, component.begin, component.end, "raw-ref-field")
        return Ref(), component.end
    if component.tag == ord("U"):
        expect_end(data, component.begin, component.end, "unexpected")
        return Unknown(), component.end
    raise GrammarError("raw-tag", at)


def raw_buffer(data: bytes, span: Component) -> Buffer:
    dtype, at = raw_dtype(data, span.begin, span.end)
    shape: list[int | None] = []
    while at < span.end:
        dim = expect(data, at, span.end)
        if dim.tag != ord("d"):
            raise GrammarError("raw-buffer-field", at)
        if dim.ival < -1:
            raise GrammarError("raw-dim", dim.begin, f".shape[{len(shape)}]")
        shape.append(None if dim.ival == -1 else dim.ival)
        at = dim.end
    return Buffer(dtype, tuple(shape))


def raw_dtype(data: bytes, at: int, end: int) -> tuple[DType, int]:
    if at == end or data[at] != ord("t"):
        return DTYPES[0], at
    component = expect(data, at, end)
    literal = data[component.begin : component.end]
    if literal not in LITERALS:
        raise GrammarError("raw-scalar-type", component.begin, ".dtype")
    return LITERALS[literal], component.end


def expect(data: bytes, at: int, end: int) -> Component:
    component = read(data, at, end)
    if component.kind == "error":
        raise GrammarError(component.code, component.end)
    return component


def expect_end(data: bytes, at: int, end: int, code: str) -> None:
    if at < end:
        expect(data, at, end)
        raise GrammarError(code, at)


def raw_encode(signature: Signature) -> bytes:
    """Write a signature."""
    return span("I", raw_values(signature.inputs)) + span("R", raw_values(signature.results))


def span(tag: str, contents: str) -> bytes:
    return f"{tag}{len(contents) + 1}!{contents}".encode("ascii")


def raw_values(values: tuple[Type, ...]) -> str:
    parts = []
    for value in values:
        match value:
            case Buffer(dtype, shape) if shape is not None:
                dims = "".join(f"d{-1 if dim is None else dim}" for dim in shape)
                contents = raw_type_text(dtype) + dims
                parts.append(f"B{len(contents) + 1}!{contents}")
            case Scalar(dtype):
                contents = raw_type_text(dtype)
                parts.append(f"S{len(contents) + 1}!{contents}")
            case Ref(None):
                parts.append("O1!")
            case Unknown():
                parts.append("U1!")
            case _:
                raise TypeError(f"the raw ABI cannot express {value!r}")
    return "".join(parts)


def raw_type_text(dtype: DType) -> str:
    number = DTYPES.index(dtype)
    return f"t{number}" if number else ""


def raw_to_string(data: bytes) -> str:
    """Return the text of a signature."""
    signature = raw_parse(data)
    inputs = ", ".join(map(raw_text, signature.inputs))
    results = ", ".join(map(raw_text, signature.results))
    return f"({inputs}) -> ({results})"


def raw_text(value: Type) -> str:
    match value:
        case Buffer(dtype, shape) if shape is not None:
            return (
                f"Buffer<{NAMES[dtype]}[{'x'.join('?' if d is None else str(d) for d in shape)}]>"
            )
        case Scalar(dtype):
            return NAMES[dtype]
        case Ref():
            return "RefObject<?>"
        case _:
            return "!UNKNOWN!"


# The drop-in parser accepts components in any order and uses the first span of a side.

RAW_ERRORS = {
    "I": "Inputs span not found",
    "R": "Results span not found",
    "item": "Unrecognized raw tag",
    "B": "Unrecognized buffer field tag",
    "S": "Unrecognized scalar field tag",
    "O": "Unrecognized ref object field tag",
    "dtype": "Illegal ScalarType code",
    "syntax": "Syntax error in signature",
}


def raw_visit(data: bytes, side: str, kinds: str = "BSOU") -> tuple[list[list[object]], str | None]:
    """Return the values before the first error, as in the golden vectors, and the error's text.

    The C++ reference knows only the `kinds` B, S and O.
    """
    items: list[list[object]] = []
    component = seek(data, 0, ord(side))
    if component.kind != "span":
        return items, RAW_ERRORS[side]
    at = component.begin
    while at < component.end:
        value = read(data, at, component.end)
        if value.kind == "error":
            return items, RAW_ERRORS["syntax"]
        if value.kind != "span" or chr(value.tag) not in kinds:
            return items, RAW_ERRORS["item"]
        item, error = raw_visit_value(data, value)
        if error:
            return items, error
        items.append(item)
        at = value.end
    return items, None


def raw_visit_value(data: bytes, value: Component) -> tuple[list[object], str | None]:
    kind = chr(value.tag)
    scalar_type, dims, at = 0, [], value.begin
    while at < value.end:
        field = read(data, at, value.end)
        if field.kind == "error":
            return [], RAW_ERRORS["syntax"]
        if field.tag == ord("t") and kind in "BS":
            scalar_type = field.ival
            if not 0 <= scalar_type < len(SCALAR_TYPES):
                return [], RAW_ERRORS["dtype"]
        elif field.tag == ord("d") and kind == "B":
            dims.append(field.ival)
        else:
            return [], RAW_ERRORS.get(kind, "component not allowed here")
        at = field.end
    return {"B": [kind, scalar_type, dims], "S": [kind, scalar_type]}.get(kind, [kind]), None


# ---------------------------------------------------------------------------------------- cconv
#
#   convention ::= '' | '0' arguments ('_' results)?
#   arguments  ::= 'v' | (register | span)*
#   results    ::= 'v' | register*
#   span       ::= 'C' register* 'D'

REGISTERS: dict[str, RegisterType] = {"i": "i32", "I": "i64", "f": "f32", "F": "f64", "r": "ref"}
REGISTER_SIZES = {"i32": 4, "i64": 8, "f32": 4, "f64": 8, "ref": 16}


def cconv_parse(text: bytes) -> CallingConvention:
    """Parse a calling convention."""
    if not text:
        return CallingConvention((), ())
    if text[:1] != b"0":
        raise GrammarError("version", 0)
    arguments, at = cconv_side(text, 1, "arguments")
    results, _ = cconv_side(text, at + 1, "results")
    return CallingConvention(arguments, results)


def cconv_side(text: bytes, at: int, name: str) -> tuple[tuple[Any, ...], int]:
    end = len(text)
    if name == "arguments" and b"_" in text:
        end = text.index(b"_")
    if text[at : at + 1] == b"v":
        if at + 1 < end:
            raise GrammarError("cconv-void", at + 1, f"{name}[0]")
        return (), end
    items: list[RegisterType | Span] = []
    while at < end:
        try:
            if name == "arguments" and text[at] == ord("C"):
                close = text.find(b"D", at, end)
                registers = [
                    cconv_register(text, i, f".items[{i - at - 1}]")
                    for i in range(at + 1, end if close < 0 else close)
                ]
                if close < 0:
                    raise GrammarError("cconv-span-end", end)
                items.append(Span(tuple(registers)))
                at = close
            else:
                items.append(cconv_register(text, at))
        except GrammarError as error:
            raise error.within(f"{name}[{len(items)}]") from None
        at += 1
    return tuple(items), end


def cconv_register(text: bytes, at: int, path: str = "") -> RegisterType:
    letter = chr(text[at])
    if letter in REGISTERS:
        return REGISTERS[letter]
    raise GrammarError(
        {"C": "cconv-span", "v": "cconv-void"}.get(letter, "cconv-register"), at, path
    )


def cconv_encode(convention: CallingConvention) -> str:
    """Write a calling convention."""
    letters = {name: letter for letter, name in REGISTERS.items()}

    def side(items: tuple[RegisterType | Span, ...]) -> str:
        return "".join(
            f"C{''.join(letters[register] for register in item.items)}D"
            if isinstance(item, Span)
            else letters[item]
            for item in items
        )

    return f"0{side(convention.arguments) or 'v'}_{side(convention.results) or 'v'}"


def cconv_layout(
    items: tuple[RegisterType | Span, ...], span_counts: list[int], packed: bool
) -> tuple[list[int], int]:
    """Return the offset of each value in a buffer, and the size of the buffer."""
    offsets: list[int] = []
    at, largest, counts = 0, 4, iter(span_counts)

    def alignment(register: RegisterType) -> int:
        return 4 if packed or REGISTER_SIZES[register] == 4 else 8

    def align(to: int) -> None:
        nonlocal at
        while at % to:
            at += 1

    def place(register: RegisterType) -> None:
        nonlocal at
        align(alignment(register))
        offsets.append(at)
        at += REGISTER_SIZES[register]

    for item in items:
        if isinstance(item, Span):
            count = next(counts)
            place("i32")
            widest = max(map(alignment, item.items), default=4)
            largest = max(largest, widest)
            if count:
                align(widest)
            for _ in range(count):
                for register in item.items:
                    place(register)
        else:
            largest = max(largest, alignment(item))
            place(item)
    align(largest)
    return offsets, at


# ------------------------------------------------------------------------------------------ sip
#
#   signature ::= 'I' length-prefixed(node?) 'R' length-prefixed(node?)
#   node      ::= index | sequence | dict
#   index     ::= '_' integer
#   sequence  ::= 'S' length-prefixed(('k' integer node)*)
#   dict      ::= 'D' length-prefixed(('K' length-prefixed(bytes) node)*)

SIP_DEPTH = 128
SIP_EVENT_DEPTH = 16384


def sip_parse(data: bytes) -> sip.Signature:
    """Parse a whole signature, strictly by the grammar. The first byte at fault is reported."""
    inputs, at = sip_side(data, 0, b"I", "inputs")
    results, at = sip_side(data, at, b"R", "results")
    if at != len(data):
        raise GrammarError("unexpected", at)
    return sip.Signature(inputs, results)


def sip_side(data: bytes, at: int, tag: bytes, name: str) -> tuple[sip.Node | None, int]:
    component = read(data, at, len(data))
    if component.tag != tag[0] or component.kind == "end":
        raise GrammarError(f"sip-{name}", at)
    if component.kind == "error":
        raise GrammarError(component.code, component.end)
    if component.begin == component.end:
        return None, component.end
    try:
        node, at = sip_node(data, component.begin, component.end, 0)
        if at < component.end:
            raise sip_misplaced(expect(data, at, component.end))
    except GrammarError as error:
        raise error.within(name) from None
    return node, at


def sip_misplaced(component: Component) -> GrammarError:
    code = {"k": "sip-key", "K": "sip-key", "_": "sip-value", "S": "sip-value", "D": "sip-value"}
    return GrammarError(code.get(chr(component.tag), "sip-tag"), component.offset)


def sip_node(data: bytes, at: int, end: int, depth: int) -> tuple[sip.Node, int]:
    if at == end:
        raise GrammarError("missing", at)
    component = expect(data, at, end)
    if component.tag == ord("_"):
        return sip.Leaf(natural(component)), component.end
    if component.tag not in b"SD":
        raise sip_misplaced(component)
    if depth == SIP_DEPTH:
        raise GrammarError("depth", at)
    if component.tag == ord("S"):
        return sip.Sequence(sip_children(data, component, b"k", depth)), component.end
    return sip.Dict(sip_children(data, component, b"K", depth)), component.end


def sip_children(
    data: bytes, structure: Component, key_tag: bytes, depth: int
) -> tuple[tuple[Any, sip.Node], ...]:
    children: dict[int | str, sip.Node] = {}
    at = structure.begin
    while at < structure.end:
        component = expect(data, at, structure.end)
        if component.tag != key_tag[0]:
            raise sip_misplaced(component)
        key: int | str
        if component.kind == "int":
            key, part = natural(component), f"[{component.ival}]"
        else:
            text = data[component.begin : component.end]
            key, part = text.decode("utf-8", "surrogateescape"), sip_path_part(text)
        if key in children:
            raise GrammarError("sip-duplicate", at)
        try:
            children[key], at = sip_node(data, component.end, structure.end, depth + 1)
        except GrammarError as error:
            raise error.within(part) from None
    return tuple(children.items())


def natural(component: Component) -> int:
    if component.ival < 0:
        raise GrammarError("sip-negative", component.begin)
    return component.ival


def sip_path_part(key: bytes) -> str:
    shown = ""
    for byte in key:
        part = chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
        if len(shown) + len(part) > 34:
            break
        shown += part
    return f'["{shown}"]'


def sip_encode(signature: sip.Signature) -> bytes:
    """Write a signature."""
    inputs, results = map(sip_node_text, (signature.inputs, signature.results))
    return sip_span(b"I", inputs) + sip_span(b"R", results)


def sip_span(tag: bytes, contents: bytes) -> bytes:
    return b"%s%d!%s" % (tag, len(contents) + 1, contents)


def sip_node_text(node: sip.Node | None) -> bytes:
    match node:
        case None:
            return b""
        case sip.Leaf(index):
            return b"_%d" % index
        case sip.Sequence(children):
            parts = [b"k%d%s" % (key, sip_node_text(child)) for key, child in children]
            return sip_span(b"S", b"".join(parts))
        case sip.Dict(children):
            parts = [
                sip_span(b"K", key.encode("utf-8", "surrogateescape")) + sip_node_text(child)
                for key, child in children
            ]
            return sip_span(b"D", b"".join(parts))


# The drop-in parser accepts any keys and any number of values at the root, and uses the first span
# of a side. The events are those of the golden vectors.

SIP_ERRORS = {
    "I": "Inputs struct not found",
    "R": "Results struct not found",
    "key": "Struct key not allowed here",
    "value": "Value not allowed here",
    "tag": "Unrecognized tag",
    "syntax": "Syntax error in signature",
    "depth": "nested too deeply",
}


def sip_visit(data: bytes, side: str) -> tuple[list[list[Any]], str | None]:
    """Return the events before the first error, the missing closes, and the error's text."""
    component = seek(data, 0, ord(side))
    if component.kind != "span":
        return [], SIP_ERRORS[side]
    events: list[list[Any]] = []
    ends = [component.end]  # of the side and of every open structure
    at, error, keyed = component.begin, None, True
    while error is None:
        component = read(data, at, ends[-1])
        tag, at = chr(component.tag), component.end
        inside = len(ends) > 1
        if component.kind == "error":
            error = "syntax"
        elif component.kind == "end" and not inside:
            return events, None
        elif component.kind == "end":
            events.append(["c"])
            at, keyed = ends.pop(), len(ends) == 1
        elif tag not in "kK_SD":
            error = "tag"
        elif tag in "kK":
            if not inside or keyed:
                error = "key"
            elif tag == "k":
                events.append(["k", component.ival])
            else:
                events.append(["K", data[component.begin : component.end].decode("latin-1")])
            keyed = True
        elif not keyed:
            error = "value"
        elif tag == "_":
            events.append(["r", component.ival])
            keyed = not inside
        elif len(ends) > SIP_EVENT_DEPTH:
            error = "depth"
        else:
            events.append(["o", tag])
            ends.append(component.end)
            at, keyed = component.begin, False
    return events + [["c"]] * (len(ends) - 1), SIP_ERRORS[error]


def sip_text(events: list[list[Any]]) -> str:
    """Return the text of a structure."""
    lines, closers = [], []
    for event in events:
        indent = "  " * len(closers)
        match event:
            case ["k" | "K", key]:
                lines.append(f"{indent}{key}")
            case ["r", index]:
                lines.append(f"=raw({index}),\n")
            case ["o", tag]:
                lines.append({"S": ":[\n", "D": ":{\n"}[tag])
                closers.append({"S": "],\n", "D": "},\n"}[tag])
            case ["c"]:
                closer = closers.pop()
                lines.append("  " * len(closers) + closer)
    return "".join(lines)


def sip_mangle(calls: list[tuple[int, list[int | bytes]]]) -> tuple[list[bool], bytes]:
    """Return the drop-in mangler's result of each call, and the structure it then writes."""
    leaves: dict[tuple[int | bytes, ...], int] = {}
    answers = []
    for index, path in calls:
        new = tuple(path)
        good = index >= 0 and not any(isinstance(key, int) and key < 0 for key in new)
        for other in leaves:
            common = 0
            while common < min(len(new), len(other)) and new[common] == other[common]:
                common += 1
            through = common in (len(new), len(other))  # one path leads through the other
            if through or isinstance(new[common], int) != isinstance(other[common], int):
                good = False
        if good:
            leaves[new] = index
        answers.append(good)
    return answers, sip_mangled(leaves)


def sip_mangled(leaves: dict[tuple[int | bytes, ...], int]) -> bytes:
    if not leaves:
        return b""
    if () in leaves:
        return b"_%d" % leaves[()]
    children: dict[Any, dict[tuple[int | bytes, ...], int]] = {}
    for path, index in leaves.items():
        children.setdefault(path[0], {})[path[1:]] = index
    integers = isinstance(next(iter(children)), int)
    parts = [
        (b"k%d" % key if integers else sip_span(b"K", key)) + sip_mangled(children[key])
        for key in sorted(children)
    ]
    return sip_span(b"S" if integers else b"D", b"".join(parts))


# ------------------------------------------------------------------------------------- IREE ABI
#
#   signature ::= {"a": [argument...], "r": [record...], key: value, ...}
#   argument  ::= record | ["named", name, record]
#   record    ::= primitive | null | "unknown"
#               | ["ndarray", record, rank, dim...]
#               | ["slist", record...] | ["stuple", record...]
#               | ["sdict", [key, record]...]
#               | ["py_homogeneous_list", record]
#   primitive ::= "iN" | "fN" | "bf16"
#   rank, dim ::= null | integer

DEPTH_MAX = 128
PRIMITIVE = re.compile(r"([if])([1-9][0-9]{0,7})")
SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(slots=True)
class Node:
    """A JSON value from character `begin` to `end`; `value` is set if it has no parts."""

    kind: str
    begin: int
    end: int
    value: Any = None
    items: list[Node] | None = None
    members: list[tuple[Node, Node]] | None = None


class JsonTree:
    """A text that `json` has accepted, with the offsets of all its values."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode()
        json.loads(self.text, parse_constant=self.refuse, parse_int=str, parse_float=str)
        self.offsets = [0, *accumulate(len(char.encode()) for char in self.text)]
        self.root = self.node(0)

    @staticmethod
    def refuse(text: str) -> None:
        raise ValueError(text)

    def space(self, at: int) -> int:
        match = SPACE.match(self.text, at)
        assert match is not None
        return match.end()

    def node(self, at: int) -> Node:
        begin = self.space(at)
        opening = self.text[begin]
        if opening not in "[{":
            value, end = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode(
                self.text, begin
            )
            if opening == '"':
                value.encode()  # half a surrogate pair is not a character
            kind = {'"': "string", "n": "null", "t": "bool", "f": "bool"}.get(opening, "number")
            return Node(kind, begin, end, value)
        items, members = [], []
        at = self.space(begin + 1)
        while self.text[at] not in "]}":
            if opening == "[":
                items.append(self.node(at))
                at = items[-1].end
            else:
                key = self.node(at)
                members.append((key, self.node(self.text.index(":", key.end) + 1)))
                at = members[-1][1].end
            at = self.space(at)
            if self.text[at] == ",":
                at = self.space(at + 1)
        if opening == "[":
            return Node("array", begin, at + 1, items=items)
        return Node("object", begin, at + 1, members=members)


def iree_abi_parse(data: bytes) -> iree_abi.Signature:
    """Parse a whole text. A JSON syntax error is only "json", without an offset."""
    try:
        tree = JsonTree(data)
    except ValueError as problem:
        raise GrammarError("json", 0) from problem
    reader = IreeAbiReader(tree)
    try:
        return reader.signature(tree.root)
    except GrammarError as error:
        raise GrammarError(error.code, tree.offsets[error.offset], error.path) from None


class IreeAbiReader:
    def __init__(self, tree: JsonTree) -> None:
        self.tree = tree

    def text(self, node: Node) -> str:
        return self.tree.text[node.begin : node.end]

    def signature(self, root: Node) -> iree_abi.Signature:
        if root.members is None:
            raise GrammarError("iree-abi-object", root.begin)
        sides: dict[str, tuple[Type, ...]] = {}
        extra = []
        for key, value in root.members:
            if key.value not in ("a", "r"):
                self.check_depth(value, 1)
                extra.append((key.value, self.text(value)))
            elif key.value in sides:
                raise GrammarError("iree-abi-duplicate", key.begin)
            else:
                try:
                    sides[key.value] = self.side(value, key.value == "a")
                except GrammarError as error:
                    raise error.within(key.value) from None
        if len(sides) != 2:
            raise GrammarError("iree-abi-missing", root.end - 1)
        return iree_abi.Signature(sides["a"], sides["r"], tuple(extra))

    def check_depth(self, node: Node, depth: int) -> None:
        if node.items is None and node.members is None:
            return
        if depth == DEPTH_MAX:
            raise GrammarError("depth", node.begin)
        for child in node.items or [value for _, value in node.members or []]:
            self.check_depth(child, depth + 1)

    def side(self, node: Node, arguments: bool) -> tuple[Type, ...]:
        if node.items is None:
            raise GrammarError("iree-abi-side", node.begin)
        return self.records(node.items, 0, 2, arguments)

    def records(
        self, items: list[Node], first: int, depth: int, argument: bool = False
    ) -> tuple[Type, ...]:
        return tuple(self.at(items, i, depth, argument) for i in range(first, len(items)))

    def at(self, items: list[Node], i: int, depth: int, argument: bool = False) -> Type:
        try:
            return self.record(items[i], depth, argument)
        except GrammarError as error:
            raise error.within(f"[{i}]") from None

    def record(self, node: Node, depth: int, argument: bool = False) -> Type:
        if node.kind == "null":
            return Null()
        if node.kind == "string":
            return Unknown() if node.value == "unknown" else Scalar(self.primitive(node))
        if node.items is None:
            raise GrammarError("iree-abi-record", node.begin)
        if depth == DEPTH_MAX:
            raise GrammarError("depth", node.begin)
        return self.compound(node, node.items, depth + 1, argument)

    def primitive(self, node: Node) -> DType:
        if node.value == "bf16":
            return DType("bfloat", 16)
        match = PRIMITIVE.fullmatch(node.value)
        if not match or int(match[2]) > 16777215:
            raise GrammarError("iree-abi-primitive", node.begin)
        bits = int(match[2])
        return DType("float" if match[1] == "f" else "bool" if bits == 1 else "signless", bits)

    def compound(self, node: Node, items: list[Node], depth: int, argument: bool) -> Type:
        def need(count: int) -> None:
            if len(items) < count:
                raise GrammarError("iree-abi-field", node.end - 1)

        def end(count: int) -> None:
            if len(items) > count:
                raise GrammarError("iree-abi-field", items[count].begin, f"[{count}]")

        need(1)
        match items[0].value if items[0].kind == "string" else None:
            case "named":
                if not argument:
                    raise GrammarError("iree-abi-named", node.begin)
                need(2)
                name = self.name(items, 1)
                need(3)
                named = Named(name, self.at(items, 2, depth))
                end(3)
                return named
            case "ndarray":
                need(2)
                element = self.at(items, 1, depth)
                need(3)
                shape = self.shape(node, items)
                if isinstance(element, Scalar):
                    return Buffer(element.dtype, shape)
                return RefArray(element, shape)
            case "slist":
                return List(self.records(items, 1, depth))
            case "stuple":
                return Tuple(self.records(items, 1, depth))
            case "sdict":
                return Dict(tuple(self.slot(items, i, depth) for i in range(1, len(items))))
            case "py_homogeneous_list":
                need(2)
                element = self.at(items, 1, depth)
                end(2)
                return HomogeneousList(element)
        raise GrammarError("iree-abi-compound", items[0].begin, "[0]")

    def name(self, items: list[Node], i: int) -> str:
        if items[i].kind != "string":
            raise GrammarError("iree-abi-name", items[i].begin, f"[{i}]")
        return str(items[i].value)

    def slot(self, items: list[Node], i: int, depth: int) -> tuple[str, Type]:
        pair = items[i].items
        try:
            if pair is None:
                raise GrammarError("iree-abi-slot", items[i].begin)
            if depth == DEPTH_MAX:
                raise GrammarError("depth", items[i].begin)
            if not pair:
                raise GrammarError("iree-abi-field", items[i].end - 1)
            key = self.name(pair, 0)
            if len(pair) < 2:
                raise GrammarError("iree-abi-field", items[i].end - 1)
            slot = self.at(pair, 1, depth + 1)
            if len(pair) > 2:
                raise GrammarError("iree-abi-field", pair[2].begin, "[2]")
        except GrammarError as error:
            raise error.within(f"[{i}]") from None
        return key, slot

    def shape(self, node: Node, items: list[Node]) -> tuple[int | None, ...] | None:
        rank = 0
        if items[2].kind != "null":
            if not re.fullmatch("[0-9]+", self.text(items[2])):
                raise GrammarError("iree-abi-rank", items[2].begin, "[2]")
            rank = int(self.text(items[2])[:20])
        dims: list[int | None] = []
        for i, item in enumerate(items[3:], 3):
            if len(dims) == rank:
                raise GrammarError("iree-abi-dims", item.begin, f"[{i}]")
            if item.kind == "null":
                dims.append(None)
                continue
            text = self.text(item)
            if not re.fullmatch("[0-9]{1,19}", text) or int(text) >= 2**63:
                raise GrammarError("iree-abi-dim", item.begin, f"[{i}]")
            dims.append(int(text))
        if len(dims) != rank:
            raise GrammarError("iree-abi-dims", node.end - 1)
        return None if items[2].kind == "null" else tuple(dims)


def iree_abi_encode(signature: Signature) -> str:
    """Write a signature."""

    def primitive(dtype: DType) -> str:
        if dtype.kind == "bfloat":
            return "bf16"
        return f"{'f' if dtype.kind == 'float' else 'i'}{dtype.bits}"

    def shape(dims: tuple[int | None, ...] | None) -> list[int | None]:
        return [None] if dims is None else [len(dims), *dims]

    def record(type: Type) -> Any:
        match type:
            case Scalar(dtype):
                return primitive(dtype)
            case Buffer(dtype, dims):
                return ["ndarray", primitive(dtype), *shape(dims)]
            case RefArray(element, dims):
                return ["ndarray", record(element), *shape(dims)]
            case List(items):
                return ["slist", *map(record, items)]
            case Tuple(items):
                return ["stuple", *map(record, items)]
            case Dict(items):
                return ["sdict", *([key, record(item)] for key, item in items)]
            case HomogeneousList(element):
                return ["py_homogeneous_list", record(element)]
            case Named(name, item):
                return ["named", name, record(item)]
            case Unknown():
                return "unknown"
        assert type == Null()
        return None

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    members = [
        f'"a":{compact([*map(record, signature.inputs)])}',
        f'"r":{compact([*map(record, signature.results)])}',
        *(f"{compact(key)}:{value}" for key, value in getattr(signature, "extra", ())),
    ]
    return f"{{{','.join(members)}}}"
