"""Texts of each ABI: one huge token, many tiny ones, what is not closed, what repeats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import fnabi
from fnabi import cconv, declaration, iree_abi, needs, pattern, raw, schema, sip
from fnabi.many.pattern._glob import expression
from fnabi.types import Signature
from support.growth import Work, add

Make = Callable[[int], bytes]


def span(tag: bytes, contents: bytes) -> bytes:
    return b"%b%d!%b" % (tag, len(contents) + 1, contents)


def fill(unit: bytes, size: int) -> bytes:
    return unit * max(1, size // len(unit))


def count(unit: Callable[[int], bytes], size: int) -> bytes:
    """Join numbered units up to a size."""
    each = len(unit(size))
    return b"".join(map(unit, range(max(1, size // each))))


def around(start: bytes, unit: bytes, end: bytes = b"") -> Make:
    return lambda size: start + fill(unit, size) + end


def sides(make: Make) -> Make:
    return lambda size: span(b"I", make(size)) + b"R1!"


def spans(make: Make, tag: bytes) -> Make:
    return sides(lambda size: span(tag, make(size)))


def nested(start: bytes, tag: bytes, depth: int, inner: bytes) -> bytes:
    for _ in range(depth):
        inner = start + span(tag, inner)
    return inner


def nested_to(size: int, start: bytes, tag: bytes) -> bytes:
    inner = b"_0"
    while len(inner) < size:
        inner = start + span(tag, inner)
    return inner


# -------------------------------------------------------------------------------------------- texts

RAW: dict[str, Make] = {
    "references": sides(lambda size: fill(b"O1!", size)),
    "buffers": sides(lambda size: fill(b"B6!t2d-1", size)),
    "dims": spans(lambda size: b"t0" + fill(b"d1", size), b"B"),
    "zeros of a dim": spans(lambda size: b"t0d" + fill(b"0", size), b"B"),
    "zeros of a length": lambda size: b"I" + fill(b"0", size) + b"1!R1!",
    "an error at the end": sides(lambda size: fill(b"U1!", size) + b"U1"),
    "no token": lambda size: fill(b"!", size),
    "one span": lambda size: span(b"X", fill(b"x", size)),
    "components": lambda size: fill(b"_5", size),
    "a span too long": lambda size: fill(b"I999999999!", size),
}

SIP: dict[str, Make] = {
    "keys": spans(lambda size: count(lambda i: b"k%07d_1" % i, size), b"S"),
    "keys downwards": spans(lambda size: count(lambda i: b"k%07d_1" % (9_999_999 - i), size), b"S"),
    "scattered keys": spans(
        lambda size: count(lambda i: b"k%09d_1" % (i * 618_033_989 % 999_999_937), size), b"S"
    ),
    "long keys": spans(
        lambda size: count(lambda i: span(b"K", b"x" * 200 + b"%07d" % -i) + b"_1", size), b"D"
    ),
    "equal keys at the end": spans(
        lambda size: count(lambda i: b"k%07d_1" % (9_999_999 - i), size) + b"k9999999_1", b"S"
    ),
    "one long key": spans(lambda size: span(b"K", fill(b"x", size)) + b"_1", b"D"),
    "depth": lambda size: (
        span(b"I", nested(b"k0", b"S", 120, count(lambda i: b"k%07d_1" % i, size))) + b"R1!"
    ),
    "many deep ones": spans(
        lambda size: count(
            lambda i: b"k%07d" % i + nested(b"", b"S", 1, nested(b"k0", b"S", 100, b"_1")), size
        ),
        b"S",
    ),
    "endless depth": sides(lambda size: nested_to(size, b"k0", b"S")),
    "zeros": sides(lambda size: b"_" + fill(b"0", size)),
    "no values": sides(lambda size: b""),
}

CCONV: dict[str, Make] = {
    "registers": around(b"0", b"iIfFr", b"_v"),
    "results": around(b"0v_", b"iIfFr"),
    "spans": around(b"0", b"CiD", b"_v"),
    "one span": around(b"0C", b"iIr", b"D_v"),
    "open spans": around(b"0", b"C", b"_v"),
    "closed spans": around(b"0", b"D", b"_v"),
    "nothing": around(b"0", b"v", b"_v"),
    "a fault at the end": around(b"0", b"i", b"x"),
    "separators": around(b"0", b"_"),
}

IREE_ABI: dict[str, Make] = {
    "values": lambda size: b'{"a":[' + fill(b'"i32",', size) + b'null],"r":[]}',
    "dims": lambda size: (
        b'{"a":[["ndarray","f32",1'
        + b"]],"
        + b'"r":[["ndarray","f32",'
        + str(size // 2).encode()
        + b","
        + b"1," * (size // 2 - 1)
        + b"1]]}"
    ),
    "escapes": lambda size: b'{"a":[["named","' + fill(rb"\u0041", size) + b'","i32"]],"r":[]}',
    "backslashes": lambda size: b'{"a":[["named","' + fill(rb"\\", size) + b'","i32"]],"r":[]}',
    "surrogates": lambda size: (
        b'{"a":[["named","' + fill(rb"\ud83d\ude00", size) + b'","i32"]],"r":[]}'
    ),
    "half a surrogate": lambda size: (
        b'{"a":[["named","' + fill(rb"\n", size) + rb'\ud83d","i32"]],"r":[]}'
    ),
    "utf-8": lambda size: b'{"a":[["named","' + fill("😀".encode(), size) + b'","i32"]],"r":[]}',
    "an open text": around(b'{"a":["', b"x"),
    "space": around(b'{"a":[],', b" ", b'"r":[]}'),
    "a number": lambda size: b'{"a":[],"r":[],"n":' + fill(b"1", size) + b"}",
    "open brackets": around(b'{"a":[],"r":[],"n":', b"["),
    "open braces": around(b'{"a":[],"r":[],"n":', b'{"x":'),
    "brackets": lambda size: (
        b'{"a":[],"r":[],"n":[' + fill(b"[" * 100 + b"]" * 100 + b",", size) + b"0]}"
    ),
    "other keys": lambda size: b'{"a":[],"r":[]' + count(lambda i: b',"k%07d":0' % i, size) + b"}",
    "the same key": lambda size: b'{"a":[],"r":[]' + fill(b',"k":0', size) + b"}",
    "slots": lambda size: (
        b'{"a":[["sdict"' + count(lambda i: b',["k%07d","i32"]' % i, size) + b']],"r":[]}'
    ),
    "the same slot": lambda size: b'{"a":[["sdict"' + fill(b',["k","i32"]', size) + b']],"r":[]}',
    "named": lambda size: b'{"a":[' + fill(b'["named","k","i32"],', size) + b'null],"r":[]}',
    "deep types": lambda size: (
        b'{"a":[' + fill(b'["slist",' * 60 + b'"i32"' + b"]" * 60 + b",", size) + b'null],"r":[]}'
    ),
    "results first": lambda size: b'{"r":[' + fill(b'"i32",', size) + b'null],"a":[]}',
    "a fault at the end": lambda size: b'{"a":[' + fill(b'"i32",', size) + b'"i33"],"r":[]}',
}

DECLARATION: dict[str, Make] = {
    "values": lambda size: (
        b"func @f(" + count(lambda i: b"%%a%07d: i32, " % i, size) + b"%z: i32) -> ()"
    ),
    "tensors": lambda size: (
        b"func @f(" + fill(b"%a: tensor<?x8xf32> {a = 1 : i32}, ", size) + b"%z: i32) -> ()"
    ),
    "names of several readings": lambda size: b"func @f(" + fill(b"%a: i32, b: ", size) + b"i32)",
    "results": lambda size: (
        b"func @f() -> (" + fill(b"%r: tensor<4xf32>, ", size) + b"%z: i32) -> ()"
    ),
    "open brackets": around(b"func @f(%a: ", b"<"),
    "open braces": around(b"func @f(%a: ", b"{"),
    "open parentheses": around(b"func @f(", b"("),
    "closed brackets": around(b"func @f(%a: ", b">"),
    "quotes": around(b"func @f(%a: i32 {", b'"'),
    "open quotes": around(b'func @f(%a: i32 {a = "', b"\\"),
    "colons": around(b"func @f(", b": "),
    "values without types": around(b"func @f(", b"%a: "),
    "commas": around(b"func @f(%a: i32", b", %"),
    "arrows": around(b"func @f()", b" -> ("),
    "names": around(b"func @", b"f(", b"()"),
    "a long name": around(b"func @f(%", b"x", b": i32)"),
    "dims": around(b"func @f(%a: tensor<", b"4x", b"f32>)"),
    "attributes": lambda size: (
        b"func @f(%a: i32 {" + count(lambda i: b"k%07d = 1, " % i, size) + b"z = 1}) -> ()"
    ),
    "the same attribute": lambda size: (
        b"func @f(%a: i32 {" + fill(b"k = 1, ", size) + b"z = 1}) -> ()"
    ),
    "deep types": lambda size: (
        b"func @f("
        + fill(b"%a: !util.list<" + b"!util.list<" * 60 + b"i32" + b">" * 61 + b", ", size)
        + b"%z: i32) -> ()"
    ),
    "brackets": around(b"func @f(%a: ", b"<>", b")"),
    "unclosed lists": around(b"func @f(", b"!util.list<", b")"),
    "ends within": around(b"func @f(%a: i32", b")", b""),
    "models": around(b"", b"sync ", b"func @f()"),
}

TYPES: dict[str, Make] = {
    "values": lambda size: b"(" + fill(b"float32[?x4], ", size) + b"int32) -> ()",
    "names": lambda size: b"(" + count(lambda i: b"a%07d: int32, " % i, size) + b"z: int32) -> ()",
    "a long name": around(b"(", b"x", b": int32) -> ()"),
    "dims": around(b"(float32[", b"4x", b"4]) -> ()"),
    "open lists": around(b"(", b"list<"),
    "open tuples": around(b"(", b"("),
    "open brackets": around(b"(float32", b"["),
    "deep types": lambda size: (
        b"(" + fill(b"list<" * 60 + b"int32" + b">" * 60 + b", ", size) + b"int32) -> ()"
    ),
    "quotes": around(b"(", b'"', b") -> ()"),
    "backslashes": around(b'({"', b"\\\\", b'": int32}) -> ()'),
    "slots": lambda size: (
        b"({" + count(lambda i: b'"k%07d": int32, ' % i, size) + b'"z": int32}) -> ()'
    ),
    "space": around(b"(", b" ", b") -> ()"),
    "commas": around(b"(", b",", b") -> ()"),
    "arrows": around(b"()", b" -> ()"),
    "digits": around(b"(int", b"3", b") -> ()"),
}

PATTERN: dict[str, Make] = {
    **TYPES,
    "stars": around(b"(", b"*, ", b"*) -> ()"),
    "rests": around(b"(", b"..., ", b"...) -> ()"),
    "alternatives": around(b"(", b"float32|", b"int32) -> ()"),
    "unknown dims": around(b"(float32[", b"?x", b"*]) -> ()"),
    "variables": lambda size: (
        b"(" + count(lambda i: b"float32[N%07d], " % i, size) + b"int32) -> ()"
    ),
}

NAMES: dict[str, Make] = {
    "open sets": lambda size: fill(b"[", size),
    "open negated sets": lambda size: fill(b"[!", size),
    "sets": lambda size: fill(b"[a-c]", size),
    "an open set after others": around(b"[a]", b"[", b"[]"),
    "stars": lambda size: fill(b"*", size),
}

TARGETS: dict[str, Make] = {
    "quotes": around(b'#hal.device.target<"a", [', b'"'),
    "backslashes": around(b'#hal.device.target<"a", ["', b"\\"),
    "brackets": around(b'#hal.device.target<"a", [', b"<["),
    "targets": lambda size: fill(
        b'#hal.device.target<"a", [#hal.executable.target<"b", "c">]> ', size
    ),
    "open targets": lambda size: fill(
        b'#hal.device.target<"a", [#hal.executable.target<"b", "c"', size
    ),
    "starts": lambda size: fill(b"#hal.device.target<", size),
    "space": around(b"#hal.device.target<", b" "),
}

SCHEMA: dict[str, Make] = {
    "arguments": lambda size: (
        b'{"type":"ffi.Tuple","args":[' + fill(b'{"type":"int"},', size) + b'{"type":"int"}]}'
    ),
    "open": lambda size: fill(b'{"type":"ffi.Array","args":[', size),
    "depth": lambda size: (
        b'{"type":"ffi.Array","args":[' * (size // 26) + b'{"type":"int"}' + b"]}" * (size // 26)
    ),
    "a long name": around(b'{"type":"', b"x", b'"}'),
    "optional": lambda size: (
        b'{"type":"Optional","args":[' * (size // 30) + b'{"type":"int"}' + b"]}" * (size // 30)
    ),
    "unions": lambda size: (
        b'{"type":"Union","args":[' + fill(b'{"type":"int"},', size) + b'{"type":"int"}]}'
    ),
}

DTYPE: dict[str, Make] = {
    "digits": around(b"float", b"3"),
    "letters": around(b"", b"x"),
    "lanes": around(b"float32", b"x4"),
    "underscores": around(b"float8_", b"_e4m3"),
    "brackets": around(b"custom", b"["),
}


def run(parse: Callable[..., Any], data: bytes) -> Any:
    """Read a text and, where it is one, write it again."""
    try:
        return parse(data)
    except (ValueError, TypeError):
        return None


def families(
    noun: str, entries: str, parse: Callable[[bytes], Any], texts: dict[str, Make]
) -> None:
    for name, make in texts.items():

        def prepare(size: int, make: Make = make) -> tuple[int, Work]:
            data = make(size)
            return len(data), partial(run, parse, data)

        add(f"{noun}: {name}", entries, prepare)


families("raw.parse", "raw.parse fnabi_raw_decode", raw.parse, RAW)
families("sip.parse", "sip.parse fnabi_sip_decode", sip.parse, SIP)
families("cconv.parse", "cconv.parse fnabi_cconv_decode", cconv.parse, CCONV)
families("iree_abi.parse", "iree_abi.parse fnabi_iree_abi_decode", iree_abi.parse, IREE_ABI)
families(
    "declaration.parse",
    "declaration.parse fnabi_declaration_decode",
    declaration.parse,
    DECLARATION,
)
families("Signature.parse", "Signature.parse", lambda text: Signature.parse(text.decode()), TYPES)
families("DType.parse", "DType.parse", lambda text: fnabi.DType.parse(text.decode()), DTYPE)
families("pattern.parse", "pattern.parse", lambda text: pattern.parse(text.decode()), PATTERN)
families("names", "Catalog.find", lambda text: expression(text.decode()), NAMES)
families(
    "needs.parse_targets",
    "needs.parse_targets",
    lambda text: list(needs.parse_targets(text.decode())),
    TARGETS,
)
families(
    "schema.parse_type", "schema.parse_type", lambda text: schema.parse_type(text.decode()), SCHEMA
)
