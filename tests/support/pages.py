"""Modules that are hard to show: hostile names, thousands of functions, large constants."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from fnabi import vmfb
from support.flatbuffer import Node, String, Table, Vector, module
from support.paths import ROOT

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"'`><svg/onload=window.hacked=1>",
    "<!--<script>",
    "]]></style>&lt;b&gt;&amp;",
    "javascript:window.hacked=1",
    "${window.hacked = 1}{{1}}",
    "bidi \u202eevil\u2066\u200f\u061c",
    "control \x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u2029",
    "invisible \u200b\ufeff\u00ad\U000e0041\u3164",
    "עברית العربية",
    "bytes \udcff\udc80",
    "__proto__",
    "constructor",
    "x" * 3000,
    "",
)


def hostile_module() -> vmfb.Module:
    """Make a module whose every text is hostile."""

    def attrs(text: str) -> Vector:
        return Vector([Table({0: encoded(text), 1: encoded(text)})])

    exports: list[Node | None] = []
    signatures: list[Node | None] = []
    for ordinal, text in enumerate(HOSTILE):
        declared = f"sync func @{text}(%{text}: tensor<?x4xf32>) -> (%r: i32)"
        pairs = [(text, text), ("iree.abi.declaration", declared), ("abi", text), ("sipv", "1")]
        known = Vector([Table({0: encoded(key), 1: encoded(value)}) for key, value in pairs])
        exports.append(Table({0: encoded(text), 1: struct.pack("<i", ordinal)}))
        signatures.append(Table({0: encoded(text if ordinal % 2 else "0v_v"), 1: known}))
    imports: list[Node | None] = [
        Table({0: encoded(text), 1: Table({0: encoded(text), 1: attrs(text)})}) for text in HOSTILE
    ]
    types: list[Node | None] = [Table({0: encoded(text)}) for text in HOSTILE]
    root = Table(
        {
            0: encoded(HOSTILE[0]),
            3: attrs(HOSTILE[1]),
            4: Vector(types),
            6: Vector(imports),
            7: Vector(exports),
            8: Vector(signatures),
            13: struct.pack("<I", 17 << 16),
        }
    )
    return vmfb.from_buffer(module(root))


def encoded(text: str) -> String:
    return String(text.encode("utf-8", "surrogateescape"))


def large_module(path: Path, functions: int, constants: int) -> vmfb.Module:
    """Make a file with many functions and constants of a MiB, most of them sparse."""
    pair = ("iree.abi.declaration", "sync func @f(%x: tensor<?x128xf32>) -> (%y: tensor<4xf16>)")
    signature = Table(
        {0: String(b"0r_r"), 1: Vector([Table({0: encoded(pair[0]), 1: encoded(pair[1])})])}
    )
    exports: list[Node | None] = [
        Table({0: encoded(f"layer_{index}"), 1: struct.pack("<i", index)})
        for index in range(functions)
    ]
    mebibyte = struct.pack("<Q", 1 << 20)
    segments: list[Node | None] = [
        Table({3: struct.pack("<Q", index << 20), 4: mebibyte}) for index in range(constants)
    ]
    data = module(
        Table(
            {
                0: String(b"large"),
                7: Vector(exports),
                8: Vector([signature] * functions),
                9: Vector(segments),
                13: struct.pack("<I", 17 << 16),
            }
        )
    )
    path.write_bytes(data)
    base = vmfb.open(path).layout.rodata_base
    with path.open("r+b") as file:
        file.truncate(base + (constants << 20))
        file.seek(base)
        file.write(bytes(range(256)))  # one constant whose elements differ
    return vmfb.open(path)


def fleet(folder: Path) -> Path:
    """Fill a folder with modules, some with hostile names and one that is damaged."""
    folder.mkdir()
    for path in (ROOT / "examples").rglob("*.vmfb"):
        (folder / f"{path.parent.name}-{path.name}").write_bytes(path.read_bytes())
    for index, name in enumerate(HOSTILE[:12]):
        file = name.replace("/", "|").replace("\0", "").encode("utf-8", "surrogateescape")
        (folder / f"hostile{index}").mkdir()
        target = os.path.join(os.fsencode(folder / f"hostile{index}"), file + b".vmfb")
        Path(os.fsdecode(target)).write_bytes((ROOT / "examples" / "classifier.vmfb").read_bytes())
    (folder / "damaged.vmfb").write_bytes(bytes(64))
    return folder
