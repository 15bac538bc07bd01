"""Small fixed workloads, with which two commits are compared.

A workload is a function and the items that it is called with, one after another. Names of fnabi
are looked up when a workload is made, so that a commit without them is reported, not an error.

As a script, `workloads.py list [NOUN...]` runs each workload once and prints, as JSON, its number
of items or why it does not run; `workloads.py run NAME ROUNDS MARKS` runs one under callgrind.
MARKS is the library of callgrind_marks.c, which starts and stops the counting.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

if __package__:
    from . import corpus
else:  # as a script, or under pytest
    import corpus

COUNT = 100
"""Items of most workloads: enough to be mixed, few enough for callgrind."""

DATA = Path(__file__).parent.parent / "tests" / "data" / "vmfb"
MODULE = DATA / "std_llvmcpu.vmfb"

Workload = tuple[Callable[[Any], object], Sequence[Any]]


def each(function: Callable[[Any], object], items: Iterable[Any]) -> None:
    for item in items:
        function(item)


def on(name: str, items: Iterable[Any]) -> Workload:
    """Return a workload that calls a function by its name, such as `raw:parse`."""
    return resolve_name(f"fnabi:{name.replace(':', '.')}"), [*items]


def parsed(name: str, texts: Iterable[Any]) -> list[Any]:
    parse = resolve_name(f"fnabi:{name}.parse")
    return [parse(text) for text in texts]


def walk() -> Workload:
    parser = resolve_name("fnabi:SignatureParser")
    return lambda data: [(each.tag, each.ival) for each in parser(data)], corpus.raw(COUNT)


def build() -> Workload:
    builder = resolve_name("fnabi:SignatureBuilder")
    return lambda number: builder().integer(number, "d").span(b"abc", "K").encoded, range(COUNT)


def sip_flatten() -> Workload:
    flatten, unflatten, paths = (
        resolve_name(f"fnabi:sip.{name}") for name in ("flatten", "unflatten", "paths")
    )
    structures = [signature.inputs for signature in parsed("sip", corpus.sip(COUNT))]
    items = [(each, unflatten(each, range(len(paths(each))))) for each in structures]
    return lambda item: flatten(*item), items


def vmfb_signatures() -> Workload:
    read = resolve_name("fnabi:vmfb.from_buffer")
    data = (DATA / "many_300.vmfb").read_bytes()
    return lambda _: [export.signature for export in read(data).exports.values()], [None]


def vmfb_attributes() -> Workload:
    read = resolve_name("fnabi:vmfb.from_buffer")
    data = (DATA / "many_300.vmfb").read_bytes()
    return lambda _: [len(each.attrs) for each in read(data).signatures], [None]


def instructions() -> Workload:
    read = resolve_name("fnabi:vmfb.from_buffer")
    data = (DATA / "many_300.vmfb").read_bytes()
    return lambda _: [each.instructions for each in read(data).functions], [None]


def types(data: Iterable[bytes]) -> Workload:
    read = resolve_name("fnabi:vmfb.from_buffer")
    return lambda each: read(each).bytecode_types, [*data]


def needs() -> Workload:
    read = resolve_name("fnabi:vmfb.from_buffer")
    return lambda data: read(data).targets, [MODULE.read_bytes()] * 10


def verify() -> Workload:
    read, check = resolve_name("fnabi:vmfb.from_buffer"), resolve_name("fnabi:bytecode.verify")
    return lambda data: check(read(data)), [MODULE.read_bytes()] * 10


def columns(abi: str, texts: list[Any]) -> Workload:
    decode = resolve_name("fnabi:decode_columns")
    return lambda texts: decode(texts, abi=abi), [texts]


def scan() -> Workload:
    function = resolve_name("fnabi:vmfb.scan")
    return lambda files: [len(batch) for batch in function(files)], [[MODULE] * COUNT]


VALUES = (None, True, 1, -(2**40), 2.5, "short", "a string that is longer than a few bytes", b"x")
ARGUMENTS = ((), (1,), (1, 2.5, 3), (True, None), ("short",), (VALUES[6], 1))


def any_values() -> Workload:
    kind = resolve_name("fnabi:Any")
    return lambda value: kind(value).value, VALUES * 10


def made(name: str, values: Callable[[Any], object], give: str) -> Workload:
    """Return a workload that builds a container of 100 items and converts it back."""
    kind = resolve_name(f"fnabi:{name}")
    back = getattr(kind, give)
    items = [values(range(start, start + COUNT)) for start in range(10)]
    return lambda item: back(kind(item)), items


def equal_arrays() -> Workload:
    """Return a workload that compares arrays of 100 items with an equal one."""
    kind = resolve_name("fnabi:Array")
    one = kind(range(COUNT))
    return lambda item: item == one, [kind(range(COUNT)) for _ in range(10)]


def function_call() -> Workload:
    function = resolve_name("fnabi:Function")(lambda *arguments: None)
    return lambda arguments: function(*arguments), ARGUMENTS * 10


def function_bound() -> Workload:
    function = resolve_name("fnabi:Function")(lambda *arguments: None)
    return lambda call: call(), [function.bind(*arguments) for arguments in ARGUMENTS] * 10


def function_device() -> Workload:
    device = resolve_name("fnabi:Device")
    function = resolve_name("fnabi:Function")(lambda *arguments: None)
    return function, [device(kind, 1) for kind in ("cpu", "cuda", "rocm", "vulkan")] * 10


def tensor() -> Workload:
    import numpy as np

    function = resolve_name("fnabi:Function")(lambda *arguments: None)
    return function, [np.zeros(shape, "float32") for shape in ((), (4,), (2, 3), (2, 3, 4))] * 10


def tensor_numpy() -> Workload:
    import numpy as np

    tensor = resolve_name("fnabi:from_dlpack")(np.zeros((2, 3), "float32"))
    return lambda each: each.numpy(), [tensor] * COUNT


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "signature walk": walk,
    "signature build": build,
    "raw parse": lambda: on("raw:parse", corpus.raw(COUNT)),
    "raw parse distinct": lambda: on("raw:parse", corpus.raw_distinct(COUNT)),
    "raw encode": lambda: on("raw:encode", parsed("raw", corpus.raw(COUNT))),
    "raw to_string": lambda: on("raw:to_string", corpus.raw(COUNT)),
    "sip parse": lambda: on("sip:parse", corpus.sip(COUNT)),
    "sip encode": lambda: on("sip:encode", parsed("sip", corpus.sip(COUNT))),
    "sip flatten": sip_flatten,
    "iree_abi parse": lambda: on("iree_abi:parse", corpus.iree_abi(COUNT)),
    "iree_abi encode": lambda: on("iree_abi:encode", parsed("iree_abi", corpus.iree_abi(COUNT))),
    "cconv parse": lambda: on("cconv:parse", corpus.cconv(COUNT)),
    "cconv encode": lambda: on("cconv:encode", parsed("cconv", corpus.cconv(COUNT))),
    "declaration parse": lambda: on("declaration:parse", corpus.declarations(COUNT)),
    "vmfb from_buffer": lambda: on("vmfb:from_buffer", repeat(MODULE.read_bytes(), 10)),
    "vmfb signatures": vmfb_signatures,
    "vmfb attributes": vmfb_attributes,
    "bytecode verify": verify,
    "bytecode instructions": instructions,
    "bytecode types": lambda: types([MODULE.read_bytes()] * 10),
    "bytecode types distinct": lambda: types([(DATA / "many_300.vmfb").read_bytes()]),
    "needs targets": needs,
    "columns raw": lambda: columns("raw", corpus.raw(COUNT)),
    "columns sip": lambda: columns("sip", corpus.sip(COUNT)),
    "scan files": scan,
    "any value": any_values,
    "array list": lambda: made("Array", list, "tolist"),
    "array equal": equal_arrays,
    "map dict": lambda: made("Map", lambda keys: dict.fromkeys(keys, 1), "todict"),
    "function call": function_call,
    "function bound": function_bound,
    "function device": function_device,
    "tensor argument": tensor,
    "tensor numpy": tensor_numpy,
}
"""Workloads by name; a name begins with the noun."""

NOUNS = list(dict.fromkeys(name.split()[0] for name in WORKLOADS))

INSIDE = {
    **dict.fromkeys(("columns", "scan", "array", "map"), COUNT),
    **dict.fromkeys(
        ("vmfb signatures", "vmfb attributes", "bytecode instructions", "bytecode types distinct"),
        300,
    ),
}
"""How many units an item consists of, where that is not one; by name or noun."""


def things(name: str, items: Sequence[Any]) -> int:
    return len(items) * INSIDE.get(name, INSIDE.get(name.split()[0], 1))


def listing(nouns: list[str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for name, make in WORKLOADS.items():
        if nouns and name.split()[0] not in nouns:
            continue
        try:
            function, items = make()
            each(function, items)
            found[name] = things(name, items)
        except Exception as error:  # an older fnabi may raise anything
            found[name] = f"{type(error).__name__}: {error}"
    return found


def run(name: str, rounds: int, marks: str) -> None:
    """Run a workload between marks, and an empty round that measures the marks themselves."""
    library = ctypes.CDLL(marks)
    function, items = WORKLOADS[name]()
    gc.disable()  # it would run in one process and not in the other
    each(function, items)  # one-time work is done
    for count, mark in ((0, b"first"), (0, b"nothing"), (rounds, b"rounds")):
        library.begin()
        for _ in range(count):
            each(function, items)
        library.end(mark)


if __name__ == "__main__":
    import fnabi

    if sys.argv[1] == "list":
        print(json.dumps({"fnabi": fnabi.__file__, "found": listing(sys.argv[2:])}))
    else:
        run(sys.argv[2], int(sys.argv[3]), sys.argv[4])
