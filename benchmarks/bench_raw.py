"""The raw ABI: fnabi beside a plain Python port (tests/support/grammar.py), one corpus a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import raw
from support import grammar

CORPORA = {"mixed": corpus.raw(), "distinct": corpus.raw_distinct()}

WORK: dict[str, dict[str, Callable[[Any], object]]] = {
    "parse": {"fnabi": raw.parse, "python": grammar.raw_parse},
    "encode": {"fnabi": raw.encode, "python": grammar.raw_encode},
    "to_string": {"fnabi": raw.to_string, "python": grammar.raw_to_string},
}

HEADLINES = {
    ("parse", "mixed"): "one raw signature (64 bytes) → typed objects",
    ("encode", "mixed"): "typed objects → raw signature",
}


def each(function: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", ["fnabi", "python"])
@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("work", WORK)
def test_raw(benchmark: BenchmarkFixture, work: str, name: str, who: str) -> None:
    items: list[Any] = CORPORA[name]
    if work == "encode":
        items = [raw.parse(data) for data in items]
    answers = [[function(item) for item in items] for function in WORK[work].values()]
    assert answers[0] == answers[1]

    benchmark.group = f"raw {work}, {name}, {len(items)} signatures"
    benchmark.extra_info["items"] = len(items)
    if (work, name) in HEADLINES:
        benchmark.extra_info["work"] = HEADLINES[work, name]
    benchmark.extra_info["bytes"] = sum(map(len, CORPORA[name]))
    benchmark(each, WORK[work][who], items)
