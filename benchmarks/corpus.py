"""The corpora, made from a seed: the same bytes in every run and on every machine."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SIZE = 2000

DIMS = (-1, -1, 1, 2, 3, 8, 16, 28, 32, 64, 128, 224, 256, 512, 768, 1024)


def raw(size: int = SIZE) -> list[bytes]:
    """Raw signatures: 1-6 inputs, 1-3 results, ranks 0-4, some 64 bytes on average."""
    random = Random(1)
    return [_raw_signature(random, lambda: random.choice(DIMS)) for _ in range(size)]


def raw_distinct(size: int = SIZE) -> list[bytes]:
    """The same, but no signature twice and no dim twice in the whole corpus."""
    random = Random(2)
    dims = iter(random.sample(range(1, 20 * size), 20 * size - 1))
    corpus: dict[bytes, None] = {}
    while len(corpus) < size:
        corpus[_raw_signature(random, lambda: next(dims))] = None
    return list(corpus)


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


def _span(tag: str, contents: bytes) -> bytes:
    return b"%s%d!%s" % (tag.encode(), len(contents) + 1, contents)


def cconv(size: int = SIZE) -> list[str]:
    """Calling conventions: 0-8 arguments, one in ten a span, and 0-3 results."""
    random = Random(3)

    def registers(low: int, high: int) -> str:
        return "".join(random.choices("rIifF", (12, 4, 4, 1, 1), k=random.randint(low, high)))

    def argument() -> str:
        return f"C{registers(1, 5)}D" if random.random() < 0.1 else registers(1, 1)

    def convention() -> str:
        arguments = "".join(argument() for _ in range(random.randint(0, 8)))
        return f"0{arguments or 'v'}_{registers(0, 3) or 'v'}"

    return [convention() for _ in range(size)]
