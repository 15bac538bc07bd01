"""The foo ABI: one corpus a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import foo

TEXTS = [text.encode() for text in corpus.foo()]

WORK: dict[str, tuple[list[Any], Callable[[Any], object]]] = {
    "parse": (TEXTS, foo.parse),
    "encode": ([foo.parse(text) for text in TEXTS], foo.encode),
}


def each(function: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("work", WORK)
def test_foo(benchmark: BenchmarkFixture, work: str) -> None:
    items, function = WORK[work]
    benchmark.group = f"foo {work}, {len(items)} signatures"
    benchmark.extra_info["items"] = len(items)
    benchmark.extra_info["bytes"] = sum(map(len, TEXTS))
    benchmark(each, function, items)
