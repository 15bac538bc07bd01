"""Declarations: fnabi beside a parser made of regular expressions.

The peer accepts what compilers print for plain names, and does not detect ambiguous texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import declaration
from fnabi.abi.declaration import Declaration, Value
from fnabi.types import Buffer, DType, DTypeKind, Ref, Scalar, Signature, Type, Unknown

MM = (
    b"sync func @mm(%input0: tensor<8x16xf32>, %input1: tensor<16x4xf32>)"
    b" -> (%output0: tensor<8x4xf32>)"
)
CORPORA = {"three tensors": [MM], "mixed": corpus.declarations()}

HEAD = re.compile(r"(?:(sync|async) )?func @(.*?)\((.*)\) -> \((.*)\)")
VALUE = re.compile(
    r"%(.*?): ([!\w.]+(?:<.*?>)?|\(.*?\) -> \S+)(?: \{(.*?)\})?(?:, (?=%)|$)",
)
ATTRIBUTE = re.compile(r"(\S+) = (.*?)(?:, |$)")
TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(.*?)>")
INTEGER = re.compile(r"(s|u|)i(\d+)")
KINDS: dict[str, DTypeKind] = {"": "signless", "s": "signed", "u": "unsigned"}
FLOATS = {
    "f16": DType("float", 16),
    "f32": DType("float", 32),
    "f64": DType("float", 64),
    "bf16": DType("bfloat", 16),
    "f8E4M3FN": DType("float", 8, "e4m3fn"),
    "i1": DType("bool", 1),
    "index": DType("index", 64),
}


def python_parse(data: bytes) -> Declaration:
    text = data.decode("utf-8", "surrogateescape")
    head = HEAD.fullmatch(text)
    if head is None:
        raise ValueError(text)
    model, name, inputs, results = head.groups()
    return Declaration(name, model, python_values(inputs), python_values(results), text)


def python_values(text: str) -> tuple[Value, ...]:
    return tuple(python_value(match) for match in VALUE.finditer(text))


def python_value(match: re.Match[str]) -> Value:
    name, type_text, attributes = match.groups()
    pairs = tuple(item.groups() for item in ATTRIBUTE.finditer(attributes or ""))
    type = python_type(type_text)
    text = match[0].removesuffix(", ")
    for key, value in pairs:
        if key == "iree.abi.encoding":
            return Value(name, python_type(value), pairs, text, type)
    return Value(name, type, pairs, text)


def python_type(text: str) -> Type:
    tensor = TENSOR.fullmatch(text)
    if tensor:
        dims = tensor[1].split("x")[:-1]
        shape = tuple(None if dim == "?" else int(dim) for dim in dims)
        return Buffer(python_dtype(tensor[2]), shape)
    if text.startswith("!"):
        return Ref(text)
    return Scalar(python_dtype(text)) if "<" not in text else Unknown()


def python_dtype(text: str) -> DType:
    if text in FLOATS:
        return FLOATS[text]
    integer = INTEGER.fullmatch(text)
    if integer is None:
        raise ValueError(text)
    return DType(KINDS[integer[1]], int(integer[2]))


WHO: dict[str, Callable[[bytes], Declaration]] = {
    "fnabi": declaration.parse,
    "python": python_parse,
}


def each(function: Callable[[bytes], object], items: list[bytes]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("name", CORPORA)
def test_parse(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    items = CORPORA[name]
    answers = [[function(item) for item in items] for function in WHO.values()]
    assert answers[0] == answers[1]

    benchmark.group = f"declaration parse, {name}, {len(items)} texts"
    benchmark.extra_info["items"] = len(items)
    if name == "three tensors":
        benchmark.extra_info["work"] = "one declaration of three tensors → typed objects"
        benchmark.extra_info["peer"] = "regular expressions"
    benchmark.extra_info["bytes"] = sum(map(len, items))
    benchmark(each, WHO[who], items)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("name", CORPORA)
def test_signature(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    function = WHO[who]

    def signature(item: bytes) -> Signature:
        return function(item).signature

    items = CORPORA[name]
    benchmark.group = f"declaration parse to signature, {name}, {len(items)} texts"
    benchmark.extra_info["items"] = len(items)
    benchmark(each, signature, items)
