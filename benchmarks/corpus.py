"""Corpora made from a seed: the same bytes in every run and on every machine.

Each corpus is a list of the first texts of an endless stream; large files take more of the stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count, islice
from random import Random
from typing import Any

SIZE = 2000

DIMS = (-1, -1, 1, 2, 3, 8, 16, 28, 32, 64, 128, 224, 256, 512, 768, 1024)


def raw(size: int = SIZE) -> list[bytes]:
    """Return raw signatures: 1-6 inputs, 1-3 results, ranks 0-4, about 64 bytes on average."""
    return [*islice(raw_stream(), size)]


def raw_stream() -> Iterator[bytes]:
    random = Random(1)
    while True:
        yield _raw_signature(random, lambda: random.choice(DIMS))


def raw_distinct(size: int = SIZE) -> list[bytes]:
    """Return raw signatures of which no two are equal; no dim occurs twice either."""
    return [*raw_distinct_stream(size)]


def raw_distinct_stream(size: int) -> Iterator[bytes]:
    """Yield `size` distinct signatures; dims have more digits in a larger corpus.

    Only signatures without dims have to be remembered: multiplying by an odd factor permutes the
    numbers of a fixed count of bits, so dims do not repeat. A signature has at most 36 dims.
    """
    random = Random(2)
    bits = _distinct_bits(size)
    numbers = (1 + index * 0x9E3779B1 % (1 << bits) for index in count())
    no_dims: set[bytes] = set()
    while size > 0:
        signature = _raw_signature(random, lambda: next(numbers))
        if b"d" not in signature:
            if signature in no_dims:
                continue
            no_dims.add(signature)
        size -= 1
        yield signature


def _distinct_bits(size: int) -> int:
    return (36 * size).bit_length()


def _raw_signature(random: Random, dim: Callable[[], int]) -> bytes:
    def value() -> bytes:
        kind = random.choices("BSO", (17, 2, 1))[0]
        if kind == "O":
            return _span(kind, b"")
        number = random.choice((0, 0, 0, *range(12)))
        contents = b"t%d" % number if number else b""
        if kind == "B":
            contents += b"".join(b"d%d" % dim() for _ in range(random.randint(0, 4)))
        return _span(kind, contents)

    inputs = b"".join(value() for _ in range(random.randint(1, 6)))
    results = b"".join(value() for _ in range(random.randint(1, 3)))
    return _span("I", inputs) + _span("R", results)


NAMES = (
    *("x", "y", "a", "b", "kwargs", "kernel", "bias", "inputs", "training", "state", "mask"),
    *("layer_1", "layer_2", "output", "logits", "gamma", "beta", "ids", "token_type", "dense"),
)


def sip(size: int = SIZE) -> list[bytes]:
    """Return SIP signatures with nested arguments, about 67 bytes on average."""
    return [*islice(sip_stream(), size)]


def sip_stream() -> Iterator[bytes]:
    random = Random(3)
    while True:
        yield _sip_signature(random)


def _sip_signature(random: Random) -> bytes:
    def node(depth: int) -> bytes:
        if depth == 0 or random.random() < 0.54:
            return b"_%d" % next(indexes)
        children = random.randint(1, 3)
        if random.random() < 0.5:
            return _span("S", b"".join(b"k%d" % key + node(depth - 1) for key in range(children)))
        names = sorted(random.sample(NAMES, children))
        return _span("D", b"".join(_span("K", name.encode()) + node(depth - 1) for name in names))

    def side(most: int, depth: int) -> bytes:
        children = range(random.randint(1, most))
        return _span("S", b"".join(b"k%d" % key + node(depth) for key in children))

    indexes = count()
    inputs = side(4, 2)
    indexes = count()
    results = node(0) if random.random() < 0.5 else side(2, 1)
    return _span("I", inputs) + _span("R", results)


def _span(tag: str, contents: bytes) -> bytes:
    return b"%s%d!%s" % (tag.encode(), len(contents) + 1, contents)


def cconv(size: int = SIZE) -> list[str]:
    """Return calling conventions: 0-8 arguments, one in ten a span, and 0-3 results."""
    return [*islice(cconv_stream(), size)]


def cconv_stream() -> Iterator[str]:
    random = Random(3)

    def registers(low: int, high: int) -> str:
        return "".join(random.choices("rIifF", (12, 4, 4, 1, 1), k=random.randint(low, high)))

    def argument() -> str:
        return f"C{registers(1, 5)}D" if random.random() < 0.1 else registers(1, 1)

    while True:
        arguments = "".join(argument() for _ in range(random.randint(0, 8)))
        yield f"0{arguments or 'v'}_{registers(0, 3) or 'v'}"


DTYPES = ("f32", "f32", "f32", "f16", "bf16", "f64", "i8", "i32", "i64", "i1", "f8E4M3FN")


def declarations(size: int = SIZE) -> list[bytes]:
    """Return declarations as compilers print them: 1-6 inputs, 1-3 results, mostly tensors."""
    return [*islice(declaration_stream(), size)]


def declaration_stream() -> Iterator[bytes]:
    random = Random(5)

    def value(name: str) -> str:
        kind = random.choices(("tensor", "scalar", "ref"), (17, 2, 1))[0]
        if kind == "ref":
            return f"%{name}: !hal.buffer {{iree.abi.output = 0 : index}}"
        dtype = random.choice(DTYPES)
        if kind == "scalar":
            return f"%{name}: {dtype}"
        dims = (random.choice(DIMS) for _ in range(random.randint(0, 4)))
        shape = "".join("?x" if dim < 0 else f"{dim}x" for dim in dims)
        text = f"%{name}: tensor<{shape}{dtype}>"
        if dtype == "i8" and random.random() < 0.5:
            text += f" {{iree.abi.encoding = tensor<{shape}ui8>}}"
        return text

    for index in count():
        inputs = ", ".join(value(f"input{i}") for i in range(random.randint(1, 6)))
        results = ", ".join(value(f"output{i}") for i in range(random.randint(1, 3)))
        yield f"sync func @function_{index}({inputs}) -> ({results})".encode()


def iree_abi(size: int = SIZE) -> list[str]:
    """Return values of `iree.abi` as `json.dumps` writes them, about 180 bytes on average.

    1-4 arguments, a third of them named, and 1-2 results; mostly arrays.
    """
    return [*islice(iree_abi_stream(), size)]


def iree_abi_stream() -> Iterator[str]:
    random = Random(4)
    dtypes = ("f32",) * 6 + ("f16", "bf16", "f64", "i1", "i8", "i32", "i64")

    def dims() -> list[int | None]:
        rank = random.randint(0, 4)
        return [rank, *(None if (dim := random.choice(DIMS)) < 0 else dim for _ in range(rank))]

    def array() -> list[Any]:
        return ["ndarray", random.choice(dtypes), *dims()]

    def record() -> Any:
        match random.choices(("array", "scalar", "slist", "stuple", "sdict"), (14, 3, 1, 1, 1))[0]:
            case "array":
                return array()
            case "scalar":
                return random.choice(dtypes)
            case "sdict":
                return ["sdict", ["input_ids", array()], ["mask", array()]]
            case kind:
                return [kind, array(), array()]

    while True:
        arguments = [record() for _ in range(random.randint(1, 4))]
        for i, argument in enumerate(arguments):
            if random.random() < 0.33:
                arguments[i] = ["named", f"arg{i}", argument]
        yield json.dumps({"a": arguments, "r": [record() for _ in range(random.randint(1, 2))]})


STREAMS: dict[str, Callable[[], Iterator[bytes | str]]] = {
    "raw": raw_stream,
    "sip": sip_stream,
    "cconv": cconv_stream,
    "declaration": declaration_stream,
    "iree_abi": iree_abi_stream,
}
"""The endless stream of each ABI."""


def texts(abi: str, size: int, distinct: bool = False) -> Iterator[bytes]:
    """Yield the first `size` texts of an ABI.

    Raises:
        ValueError: there is no such corpus, or none that large.

    """
    if distinct and abi != "raw":
        raise ValueError(f"{abi} has no corpus of distinct texts, only raw has one")
    if distinct and _distinct_bits(size) > 30:
        raise ValueError(f"{size} distinct signatures need more dims than int32 has")
    found = raw_distinct_stream(size) if distinct else islice(STREAMS[abi](), size)
    return (text if isinstance(text, bytes) else text.encode() for text in found)
