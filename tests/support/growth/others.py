"""What is neither one text nor one module: builders, many texts, tables, libraries, logs, URLs."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fnabi
from fnabi import (
    FnabiError,
    SignatureBuilder,
    SignatureParser,
    _fnabi,
    cconv,
    columns,
    compat,
    failures,
    iree_abi,
    library,
    raw,
    sip,
    stub,
    types,
    vmfb,
)
from fnabi._base import secrets, url
from fnabi.cli._screen import Screen, signature
from fnabi.many._find import find
from fnabi.many._search import search_for
from fnabi.vmfb import parameters
from fnabi.vmfb._page import links_below
from fnabi.vmfb._walk import walk
from support.growth import Work, add
from support.growth.modules import MODULES, attributes, exporting, named
from support.growth.texts import CCONV, DECLARATION, IREE_ABI, RAW, SIP, fill, span

FOLDER = TemporaryDirectory(prefix="fnabi-growth-")


def family(name: str, entries: str, make: Callable[[int], Any], act: Callable[[Any], Any]) -> None:
    def prepare(size: int) -> tuple[int, Work]:
        made = make(size)

        def work() -> object:
            with suppress(FnabiError):
                return act(made)
            return None

        return len(made) if isinstance(made, bytes | str) else size, work

    add(name, entries, prepare)


# ------------------------------------------------------------------------ signatures by their parts


def built(amount: int) -> bytes:
    builder = SignatureBuilder()
    for i in range(amount):
        builder.integer(i).span(b"x", "S")
    return builder.encoded


def components(data: bytes) -> None:
    parser = SignatureParser(data)
    while parser.type in (fnabi.ComponentType.INTEGER, fnabi.ComponentType.SPAN):
        parser.next()


def sought(data: bytes) -> None:
    parser = SignatureParser(data)
    while parser.seek_tag("z"):
        parser.next()


def inner(data: bytes) -> None:
    parser = SignatureParser(data)
    for _ in range(100):
        if parser.type != fnabi.ComponentType.SPAN:
            break
        parser = parser.nested()


def mangled(amount: int) -> None:
    mangler = sip.SipSignatureMangler()
    for i in range(amount):
        mangler.set_raw_signature_index(i, [amount - i])
    mangler.to_structure_signature()


def mangled_names(amount: int) -> None:
    mangler = sip.SipSignatureMangler()
    for i in range(amount):
        mangler.set_raw_signature_index(i, ["a", f"k{amount - i}"])
    mangler.to_structure_signature()


def mangled_raw(amount: int) -> None:
    mangler = raw.RawSignatureMangler()
    for _ in range(amount):
        mangler.add_shaped_nd_buffer(raw.ScalarType(0), [1, -1])


for name, data in (("many", b"_5S2!x"), ("none", b"_5")):
    family(
        f"SignatureParser: {name}",
        "SignatureParser fnabi_signature_read",
        lambda size, data=data: fill(data, size),
        components,
    )
family(
    "SignatureParser.seek_tag: none", "fnabi_signature_seek", lambda size: fill(b"_5", size), sought
)
family(
    "SignatureParser.seek_tag: all",
    "fnabi_signature_seek",
    lambda size: fill(b"z5_4", size),
    sought,
)
family(
    "SignatureParser.nested: one",
    "fnabi_signature_read",
    lambda size: span(b"A", span(b"B", fill(b"_5", size))),
    inner,
)
family("SignatureBuilder: parts", "SignatureBuilder", lambda size: size // 10, built)
family(
    "SipSignatureMangler: numbers",
    "sip.SipSignatureMangler fnabi_sip_mangle",
    lambda size: size // 10,
    mangled,
)
family(
    "SipSignatureMangler: names", "sip.SipSignatureMangler", lambda size: size // 10, mangled_names
)
family(
    "RawSignatureMangler: buffers",
    "raw.RawSignatureMangler fnabi_raw_buffer",
    lambda size: size // 20,
    mangled_raw,
)

for name, make in RAW.items():
    family(f"raw.to_string: {name}", "raw.to_string", make, raw.to_string)
    family(
        f"raw.RawSignatureParser: {name}",
        "raw.RawSignatureParser fnabi_raw_visit",
        make,
        lambda data: raw.RawSignatureParser().function_signature_to_string(data),
    )
for name, make in SIP.items():
    family(
        f"sip.to_string: {name}",
        "sip.to_string fnabi_sip_visit",
        make,
        lambda data: sip.to_string(data, "inputs"),
    )


def again(parse: Callable[[bytes], Any], encode: Callable[[Any], Any]) -> Callable[[bytes], Any]:
    return lambda data: encode(parse(data))


for noun, texts in (("raw", RAW), ("sip", SIP), ("cconv", CCONV), ("iree_abi", IREE_ABI)):
    home = {"raw": raw, "sip": sip, "cconv": cconv, "iree_abi": iree_abi}[noun]
    for name, make in texts.items():
        family(
            f"{noun}.encode: {name}",
            f"{noun}.encode fnabi_{noun}_encode",
            make,
            again(home.parse, home.encode),
        )


def flattened(data: bytes) -> None:
    signature = sip.parse(data)
    leaves = [*range(len(sip.paths(signature.inputs)))]
    value = sip.unflatten(signature.inputs, leaves)
    sip.flatten(signature.inputs, value)


def flattened_json(data: bytes) -> None:
    signature = iree_abi.parse(data)
    iree_abi.unflatten(signature, [0] * len(signature.results))


for name, make in SIP.items():
    family(f"sip.flatten: {name}", "sip.flatten sip.unflatten sip.paths", make, flattened)
for name, make in IREE_ABI.items():
    family(f"iree_abi.unflatten: {name}", "iree_abi.unflatten", make, flattened_json)


def laid_out(data: bytes) -> None:
    convention = cconv.parse(data)
    counts = [1] * data.count(b"C")
    convention.argument_size(counts)
    convention.argument_offsets(counts)


for name, make in CCONV.items():
    family(f"cconv.offsets: {name}", "fnabi_cconv_size fnabi_cconv_offsets", make, laid_out)

# --------------------------------------------------------------------------------------- signatures


def signature_of(size: int, unit: str) -> str:
    return "(" + unit * (size // len(unit)) + "int32) -> ()"


for name, unit in (("buffers", "float32[?x4], "), ("names", "x: float32[4], ")):
    family(
        f"compat.compare_signatures: {name}",
        "compat.compare_signatures",
        lambda size, unit=unit: signature_of(size, unit),
        lambda text: compat.compare_signatures(
            types.Signature.parse(text),
            types.Signature.parse(text.replace("4]", "5]").replace("x:", "y:")),
        ),
    )
family(
    "compat.compare_signatures: moved",
    "compat.compare_signatures",
    lambda size: "(" + "".join(f"a{i}: int32, " for i in range(size // 12)) + "z: int32) -> ()",
    lambda text: compat.compare_signatures(
        signature := types.Signature.parse(text),
        types.Signature(signature.inputs[::-1], signature.results),
    ),
)


def described(texts: Sequence[bytes]) -> bytes:
    abi = b'{"a":[' + b",".join(texts) + b'],"r":[]}'
    convention = b"0" + b"r" * len(texts) + b"_v"
    return exporting(1, 1, named, lambda i: attributes([(b"iree.abi", abi)]), convention)


NESTED = b'["slist",' * 120, b"]" * 120
WIDE = b'["ndarray","f32",32' + b",1" * 32 + b"]"
for name, make in {
    "equal names": lambda size: described([b'["named","k","i32"]'] * (size // 20)),
    "a high rank": lambda size: described(
        [b'["ndarray","f32",%d%s]' % (size // 2, b",1" * (size // 2))]
    ),
    "nested arrays": lambda size: described(
        [NESTED[0] + b",".join([WIDE] * (size // 80)) + NESTED[1]]
    ),
}.items():
    family(
        f"stub: {name}",
        "stub.FORMATS",
        make,
        lambda data: stub.FORMATS["json-schema"](vmfb.from_buffer(data), "m.vmfb"),
    )


def on_a_terminal(text: str) -> None:
    screen = Screen()
    screen.width, screen._paint = 80, lambda shown, meaning: shown
    with redirect_stdout(StringIO()):
        screen.write("  ", ("f", "name"), "  ", signature(text))


for name, unit in (
    ("buffers", "float32[?x4], "),
    ("names", "x: float32[4], "),
    ("dims", "4x"),
    ("one word", "y"),
    ("words", "y "),
    ("a dtype", "f8_e1m1"),
    ("groups", "(a, b) -> "),
):
    family(
        f"signatures on a terminal: {name}",
        "inspect find",
        lambda size, unit=unit: signature_of(size, unit),
        on_a_terminal,
    )

HOSTILE = (
    "(" + "*, f32[A,*], " * 40 + "*) -> ()",
    "(*, f32[A,B], *, f32[B,A], *, f32[A,A], *) -> ()",
    "(" + "*, any, " * 40 + "*) -> ()",
)

# -------------------------------------------------------------------------------------- many texts

ONE: dict[str, tuple[bytes, dict[str, Any]]] = {
    "raw": (b"I12!B9!t4d-1d64R1!", RAW),
    "sip": (b"I8!S6!k0_0R1!", SIP),
    "cconv": (b"0rIi_r", CCONV),
    "iree.abi": (b'{"a":["i32"],"r":["i32"]}', IREE_ABI),
    "declaration": (b"sync func @f(%a: i32) -> (%b: i32)", DECLARATION),
}


def table(made: list[bytes], abi: Any) -> None:
    decoded = columns.decode_columns(made, abi=abi)
    _ = decoded.errors, decoded.bad
    with suppress(FnabiError, TypeError):
        columns.encode_columns(decoded)
    pickle.loads(pickle.dumps(decoded))


for abi, (text, texts) in ONE.items():
    entries = (
        "decode_columns encode_columns"
        " fnabi_columns_decode_list fnabi_columns_encode fnabi_columns_restore"
    )
    family(
        f"decode_columns {abi}: many",
        entries,
        lambda size, text=text: [text] * (size // len(text)),
        lambda made, abi=abi: table(made, abi),
    )
    family(
        f"decode_columns {abi}: faults",
        entries,
        lambda size: [b"?"] * size,
        lambda made, abi=abi: table(made, abi),
    )
    family(
        f"decode_columns {abi}: empty",
        entries,
        lambda size: [b""] * size,
        lambda made, abi=abi: table(made, abi),
    )
    for name, make in texts.items():
        family(
            f"decode_columns {abi}: one with {name}",
            entries,
            lambda size, make=make: [make(size)],
            lambda made, abi=abi: table(made, abi),
        )


def lines(data: bytes) -> None:
    path = Path(FOLDER.name, "lines")
    path.write_bytes(data)
    with path.open("rb") as file:
        for each in columns.iter_columns(file, "raw"):
            _ = each.bad


family(
    "iter_columns: lines",
    "iter_columns fnabi_columns_decode_lines",
    lambda size: fill(b"I1!R1!\n", size),
    lines,
)
family("iter_columns: empty lines", "iter_columns", lambda size: fill(b"\n", size), lines)
family("iter_columns: one line", "iter_columns", lambda size: fill(b"x", size), lines)

# ---------------------------------------------------------------------------------------- libraries


def elf(symbols: list[bytes], needed: int = 0, segments: int = 0, relocations: int = 0) -> bytes:
    """Return a library of functions without code, with the tables of the dynamic linker."""
    strings = b"\0" + b"\0".join(symbols) + b"\0"
    at, offsets = 1, []
    for each in symbols:
        offsets.append(at)
        at += len(each) + 1
    base = 64 + 56 * (2 + segments)
    symtab = b"\0" * 24 + b"".join(
        struct.pack("<IBBHQQ", offset, 0x12, 0, 1, 0x1000, 0) for offset in offsets
    )
    count_ = len(symbols) + 1
    hash_ = struct.pack("<II", 1, count_) + struct.pack("<I", min(1, count_ - 1))
    hash_ += struct.pack(f"<{count_}I", *((i + 1) % count_ if i else 0 for i in range(count_)))
    strings_at = base + 16 * (8 + needed)
    strings += b"\0" * (-len(strings) % 8)
    symtab_at = strings_at + len(strings)
    hash_at = symtab_at + len(symtab)
    hash_ += b"\0" * (-len(hash_) % 8)
    rela_at = hash_at + len(hash_)
    rela = struct.pack("<QQq", 0x1000, 1 << 32 | 1, 0) * relocations
    end = rela_at + len(rela)
    dynamic = struct.pack(
        "<16Q",
        *(5, strings_at, 10, len(strings), 6, symtab_at, 11, 24, 4, hash_at),
        *(7, rela_at, 8, len(rela), 9, 24),
    )[: 16 * 8]
    dynamic = dynamic[:-16] + struct.pack("<2Q", 9, 24) if relocations else dynamic
    dynamic = struct.pack("<2Q", 1, 1) * needed + dynamic
    dynamic += struct.pack("<2Q", 0, 0)
    strings_at += 16
    header = b"\x7fELF\2\1\1" + b"\0" * 9
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2 + segments, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, end + 16, end + 16, 4096)
    place = struct.pack("<IIQQQQQQ", 2, 6, base, base, base, len(dynamic), len(dynamic), 8)
    more = b"".join(
        struct.pack("<IIQQQQQQ", 1, 5, 0, (i + 1) << 24, 0, 16, 16, 4096) for i in range(segments)
    )
    data = header + load + more + place + dynamic
    moved = len(data) - (base + 16 * (8 + needed))
    # The tables follow the dynamic section, which has one entry more than was counted.
    fixed = bytearray(data)
    for entry in range(8 + needed + 1):
        tag, value = struct.unpack_from("<2Q", fixed, base + 16 * entry)
        if tag in (4, 5, 6, 7):
            struct.pack_into("<2Q", fixed, base + 16 * entry, tag, value + moved)
    return bytes(fixed) + strings + symtab + hash_ + rela


LIBRARIES: dict[str, Callable[[int], bytes]] = {
    "functions": lambda size: elf([b"__tvm_ffi_f%07d" % i for i in range(size // 50)]),
    "the same function": lambda size: elf([b"__tvm_ffi_f"] * (size // 44)),
    "a long name": lambda size: elf([b"__tvm_ffi_" + b"x" * size]),
    "needed libraries": lambda size: elf([b"lib"], needed=size // 16),
    "segments": lambda size: elf(
        [b"__tvm_ffi_f%07d" % i for i in range(size // 100)], segments=min(60000, size // 112)
    ),
    "relocations": lambda size: elf([b"TVMFFIError"], relocations=size // 24),
    "no library": lambda size: b"\x7fELF\2\1\1" + b"\xff" * size,
}
for name, make in LIBRARIES.items():
    family(
        f"library.read: {name}",
        "library.read fnabi_library_decode",
        make,
        lambda data: (found := library.read(data), found.functions, found.required),
    )

# ----------------------------------------------------------------------------------- logs and URLs

LOGS = [
    "x",
    "[",
    "'",
    "a@1+",
    "; ",
    "no function `",
    "required module '",
    "\n",
    "INVALID_ARGUMENT; ",
    "input0 element type mismatch; ",
    "iree/",
    "\x1b[",
    "0x",
    "\r",
]
for each in LOGS:
    family(
        f"failures.explain: {each!r}",
        "failures.explain",
        lambda size, each=each: each * (size // len(each)) + "x",
        failures.explain,
    )

URLS: dict[str, Callable[[int], str]] = {
    "letters": lambda size: "a" * size + " ://",
    "words": lambda size: "a-" * (size // 2),
    "underscores": lambda size: "_a" * (size // 2),
    "digits": lambda size: "1a" * (size // 2) + "://",
    "schemes": lambda size: "a://" * (size // 4),
    "URLs": lambda size: "https://u:p@h/a?token=x " * (size // 24),
    "URLs in a URL": lambda size: "https://h?u=" * (size // 12) + "@",
    "chained": lambda size: "a::" * (size // 3) + "https://u:p@h",
    "users": lambda size: "https://" + "@" * size,
    "parameters": lambda size: "https://u@h?" + "a=1&" * (size // 4),
    "secrets": lambda size: "https://u@h?" + "token=1&" * (size // 8),
    "a random key": lambda size: "https://u@h?key=" + "aA1" * (size // 3),
    "spaces": lambda size: 'a="' + " " * size,
    "colons": lambda size: 'token"' + " " * size + ":",
    "headers": lambda size: "Bearer 1a " * (size // 10),
}
for name, make in URLS.items():
    family(f"hidden URLs: {name}", "", make, lambda text: (url.public(text), secrets._hidden(text)))

family(
    "hidden URLs: secrets of a URL in a text",
    "",
    lambda size: "https://h/?" + "&".join(f"token=secret{i}" for i in range(size // 18)),
    lambda text: secrets.without_secrets(f"cannot open {text.upper()}", text, None),
)

PAGES = (
    "<",
    "<a ",
    "<!",
    "<!--",
    "<?",
    "</",
    "<a href='",
    "<script>",
    "<a href=x>",
    "<a x=y ",
    "&amp",
)
for each in PAGES:
    family(
        f"links of a page: {each!r}",
        "",
        lambda size, each=each: each * (size // len(each)),
        lambda text: links_below(text, "http://h/f/"),
    )

# -------------------------------------------------------------------------------------------- names

family(
    "exports: missing names",
    "",
    MODULES["alike exports"],
    lambda data: [vmfb.from_buffer(data).exports.get("x" * 5000)],
)
family(
    "exports: a long missing name",
    "",
    MODULES["long name"],
    lambda data: vmfb.from_buffer(data).exports["x" * (len(data) - 300)],
)


SEARCHES = (
    "f32[?,3] -> any",
    "* -> *",
    "*, f32[A,*], *, any, * -> *, {*, a: any, *}, *",
    "*, f32[A,B], *, f32[B,A], *, f32[A,A], * -> *",
)


def catalogued(data: bytes) -> None:
    path = Path(FOLDER.name, "m.vmfb")
    path.write_bytes(data)
    with fnabi.Catalog(None) as catalog:
        catalog.update([path])
        for each in SEARCHES:
            for _ in catalog.find(each):
                pass


for name in ("exports", "same exports", "exports of one", "structures", "faulty", "long name"):
    family(f"Catalog: {name}", "Catalog", MODULES[name], catalogued)


def found(data: bytes) -> None:
    path = Path(FOLDER.name, "m.vmfb")
    path.write_bytes(data)
    for each in SEARCHES:
        find(walk(path, "find", status=False), search_for(each, function="*m*", target="*vmvx*"))
        find(walk(path, "find", status=False), search_for(each))


for name in ("exports", "same exports", "exports of one", "structures", "faulty", "long name"):
    family(f"find: {name}", "find", MODULES[name], found)

# --------------------------------------------------------------------------------------- parameters


def archive(count: int, name: int, shared: bool = False, headers: int = 1) -> bytes:
    """Return an archive of parameters, whose names have so many bytes; one has all of them."""
    entries = b"".join(
        struct.pack("<QIQ7Q", 76, 2, 0, 0 if shared else i * name, name, 0, 0, 0, 0, 0).ljust(80)
        for i in range(count)
    )
    names = b"".join(b"%0*d" % (name, i) for i in range(1 if shared else count))
    data = b""
    for header in range(headers):
        at = 96 * (headers - header)
        ends = at + len(entries), at + len(entries) + len(names)
        data += struct.pack(
            "<4sHHQQQQ6Q",
            *(b"IRPA", 0, 0, 88, 96 if at > 96 else 0, 0, count),
            *(at, len(entries), ends[0], len(names), ends[1], 0),
        ).ljust(96)
    return data + entries + names


def parameters_of(data: bytes) -> object:
    path = Path(FOLDER.name, "p.irpa")
    path.write_bytes(data)
    return parameters.read(path)


ARCHIVES: dict[str, Callable[[int], bytes]] = {
    "entries": lambda size: archive(size // 90, 10),
    "a long name": lambda size: archive(1, size),
    "a shared name": lambda size: archive(size // 160, size // 2, shared=True),
    "shared entries": lambda size: archive(size // 180, 10, headers=size // 192),
}
for name, make in ARCHIVES.items():
    family(f"parameters.read: {name}", "parameters.read", make, parameters_of)

# ------------------------------------------------------------------------------------------- Arrow

if find_spec("pyarrow") is not None:
    import pyarrow as pa

    KINDS = {
        "string": pa.string(),
        "large binary": pa.large_binary(),
        "view": pa.string_view(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
        "runs": None,
    }

    def arrow(text: str, size: int, kind: Any) -> Any:
        texts = pa.array([text, "?", None] * (size // (len(text) + 16)))
        if kind is not None:
            return texts.cast(kind)
        return pa.RunEndEncodedArray.from_arrays(range(1, len(texts) + 1), texts)

    for abi, (text, _) in ONE.items():
        for name, kind in KINDS.items():
            family(
                f"decode_columns {abi} in Arrow: {name}",
                "decode_columns",
                lambda size, text=text, kind=kind: arrow(text.decode(), size, kind),
                lambda made, abi=abi: columns.encode_columns(
                    pa.table(columns.decode_columns(made, abi=abi))
                ),
            )


# ---------------------------------------------------------------------------------------------- CSV


def find_rows(name: str, make: Callable[[int], bytes]) -> None:
    def prepare(size: int) -> tuple[int, Work]:
        text, state = make(size), _fnabi.ffi.new("int32_t *")
        return len(text), lambda: _fnabi.lib.fnabi_csv_rows(text, len(text), state)

    add(f"CSV: {name}", "fnabi_csv_rows", prepare)


find_rows("quotes in fields", lambda size: b"a" + fill(b'b"', size))
find_rows("quoted fields of one row", lambda size: fill(b'"a",', size))
find_rows("doubled quotes", lambda size: b'"' + fill(b'""', size))
find_rows("rows", lambda size: fill(b'a,"b\n",c\n', size))


# ------------------------------------------------------------------------------------ lines of JSON


def count_fields(name: str, make: Callable[[int], bytes]) -> None:
    def prepare(size: int) -> tuple[int, Work]:
        text = make(size)
        ffi, error = _fnabi.ffi, _fnabi.ffi.new("fnabi_error *")

        def work() -> None:
            places = ffi.new("uint64_t[]", 1 << 10)
            _fnabi.lib.fnabi_json_fields(text, len(text), places, 1 << 10, 7, error)

        return len(text), work

    add(f"lines of JSON: {name}", "fnabi_json_fields", prepare)


count_fields(
    "a key before many colons", lambda size: b'"' + b"k" * (size // 2) + b'"' + b":" * (size // 2)
)
count_fields("a string that has no end", lambda size: b'"' + fill(b'\\"', size))
count_fields("many rows", lambda size: fill(b'{"a":[{"b":1},[2]]}\n', size))
