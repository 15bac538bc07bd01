"""Components: fnabi beside a plain Python port (tests/support/grammar.py), one corpus per round."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import ComponentType, SignatureBuilder, SignatureParser
from support import grammar

RAW = corpus.raw()
CORPORA = {
    "nested": RAW,
    "flat": [data.replace(b"I", b"_1I").replace(b"R", b"_2a-3d45R") for data in RAW],
    "long": [b"".join(RAW)],
}

Tokens = list[tuple[str, int]]


def fnabi_flat(data: bytes) -> Tokens:
    return [(component.tag, component.ival) for component in SignatureParser(data)]


def fnabi_nested(data: bytes) -> Tokens:
    tokens: Tokens = []

    def walk(parser: SignatureParser) -> None:
        while not parser.end_or_error:
            tokens.append((parser.tag, parser.ival))
            if parser.type is ComponentType.SPAN:
                walk(parser.nested())
            parser.next()

    walk(SignatureParser(data))
    return tokens


def python_flat(data: bytes) -> Tokens:
    return [(chr(component.tag), component.ival) for component in grammar.tokens(data)[0]]


def python_nested(data: bytes) -> Tokens:
    tokens: Tokens = []

    def walk(at: int, end: int) -> None:
        component = grammar.read(data, at, end)
        while component.kind in ("int", "span"):
            tokens.append((chr(component.tag), component.ival))
            if component.kind == "span":
                walk(component.begin, component.end)
            component = grammar.read(data, component.end, end)

    walk(0, len(data))
    return tokens


WALKS: dict[str, dict[str, Callable[[bytes], Tokens]]] = {
    "flat": {"fnabi": fnabi_flat, "python": python_flat},
    "long": {"fnabi": fnabi_flat, "python": python_flat},
    "nested": {"fnabi": fnabi_nested, "python": python_nested},
}


def each(function: Callable[[bytes], object], items: list[bytes]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", ["fnabi", "python"])
@pytest.mark.parametrize("name", CORPORA)
def test_tokens(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    items = CORPORA[name]
    answers = [[walk(data) for data in items] for walk in WALKS[name].values()]
    assert answers[0] == answers[1]

    benchmark.group = f"tokens {name}, {sum(map(len, answers[0]))} components"
    benchmark.extra_info["items"] = sum(map(len, answers[0]))
    if name == "flat":
        benchmark.extra_info["work"] = "components one by one: walking"
    benchmark(each, WALKS[name][who], items)


def build_fnabi() -> bytes:
    builder = SignatureBuilder()
    for number in range(100):
        builder.integer(number, "d").span(b"contents", "K")
    return builder.encoded


def build_python() -> bytes:
    text = b""
    for number in range(100):
        text += b"d%d" % number + grammar.span("K", "contents")
    return text


@pytest.mark.parametrize("who", ["fnabi", "python"])
def test_build(benchmark: BenchmarkFixture, who: str) -> None:
    assert build_fnabi() == build_python()
    benchmark.group = "build, 200 components"
    benchmark.extra_info["items"] = 200
    benchmark.extra_info["work"] = "components one by one: building"
    benchmark({"fnabi": build_fnabi, "python": build_python}[who])
