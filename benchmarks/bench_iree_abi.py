"""The JSON of `iree.abi`: fnabi, which builds types, beside JSON parsers, which build lists.

`one` parses the same text again and again; `corpus` parses different texts, as a module has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import iree_abi
from fnabi.types import Signature
from support import grammar

CORPORA = {
    "one": [
        '{"a": [["named", "image", ["ndarray", "f32", 4, null, 224, 224, 3]],'
        ' ["named", "labels", ["ndarray", "i64", 1, null]]],'
        ' "r": [["ndarray", "f32", 1, 1000], ["ndarray", "i64", 1, null]]}'
    ]
    * 1000,
    "corpus": corpus.iree_abi(),
}


PARSERS: dict[str, Callable[[], Callable[[str], Any]]] = {
    "fnabi": lambda: iree_abi.parse,
    "msgspec": lambda: msgspec.json.decode,
    "orjson": lambda: pytest.importorskip("orjson").loads,
    "json": lambda: json.loads,
}
ENCODERS: dict[str, Callable[[Any], str]] = {
    "fnabi": iree_abi.encode,
    "python": grammar.iree_abi_encode,
}


def each(function: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", PARSERS)
@pytest.mark.parametrize("name", CORPORA)
def test_parse(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    parse, items = PARSERS[who](), CORPORA[name]
    benchmark.group = f"iree_abi parse, {name}, {len(items)} texts"
    benchmark.extra_info["items"] = len(items)
    if name == "corpus":
        benchmark.extra_info["work"] = "one `iree.abi` JSON (182 bytes) → typed objects"
    benchmark.extra_info["peer"] = f"{who}, untyped"
    benchmark.extra_info["bytes"] = sum(map(len, items))
    benchmark(each, parse, items)


@pytest.mark.parametrize("who", ENCODERS)
def test_encode(benchmark: BenchmarkFixture, who: str) -> None:
    signatures = [iree_abi.parse(text) for text in CORPORA["corpus"]]
    assert ENCODERS["fnabi"](signatures[0]) == ENCODERS["python"](signatures[0])
    benchmark.group = f"iree_abi encode, corpus, {len(signatures)} signatures"
    benchmark.extra_info["items"] = len(signatures)
    benchmark(each, ENCODERS[who], signatures)


STRUCTURES = iree_abi.parse(
    '{"a":[["named","x",["sdict",["a",["slist","i32","f32"]],["b",["ndarray","f32",1,2]]]],'
    '["py_homogeneous_list","i32"]],"r":[["sdict",["a",["slist","i32","f32"]],["b","f32"]]]}'
)


def pack(signature: Signature) -> object:
    return iree_abi.flatten(signature, [{"a": [1, 2.0], "b": None}, [1, 2, 3, 4]], {})


def unpack(signature: Signature) -> object:
    return iree_abi.unflatten(signature, [[1, 2.0], 3.0])


@pytest.mark.parametrize("work", [pack, unpack])
def test_values(benchmark: BenchmarkFixture, work: Callable[[Signature], object]) -> None:
    benchmark.group = f"iree_abi {work.__name__}"
    benchmark(work, STRUCTURES)
