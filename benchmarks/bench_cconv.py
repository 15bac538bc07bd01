"""Calling conventions: fnabi beside plain Python (tests/support/grammar.py), one corpus a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import cconv
from fnabi.abi.cconv import CallingConvention, Span
from support import grammar

TEXTS = [text.encode() for text in corpus.cconv()]
CONVENTIONS = [cconv.parse(text) for text in TEXTS]


def counts(convention: CallingConvention) -> list[int]:
    return [3 for item in convention.arguments if isinstance(item, Span)]


WORK: dict[str, tuple[list[Any], dict[str, Callable[[Any], object]]]] = {
    "parse": (TEXTS, {"fnabi": cconv.parse, "python": grammar.cconv_parse}),
    "encode": (CONVENTIONS, {"fnabi": cconv.encode, "python": grammar.cconv_encode}),
    "argument_size": (
        CONVENTIONS,
        {
            "fnabi": lambda convention: convention.argument_size(counts(convention)),
            "python": lambda convention: grammar.cconv_layout(
                convention.arguments, counts(convention), False
            )[1],
        },
    ),
}


def each(function: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", ["fnabi", "python"])
@pytest.mark.parametrize("work", WORK)
def test_cconv(benchmark: BenchmarkFixture, work: str, who: str) -> None:
    items, functions = WORK[work]
    answers = [[function(item) for item in items] for function in functions.values()]
    assert answers[0] == answers[1]

    benchmark.group = f"cconv {work}, {len(items)} conventions"
    benchmark.extra_info["items"] = len(items)
    if work == "parse":
        benchmark.extra_info["work"] = "one calling convention → typed objects"
    benchmark.extra_info["bytes"] = sum(map(len, TEXTS))
    benchmark(each, functions[who], items)
