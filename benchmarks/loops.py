"""Calls in a loop: what is measured is a call, and not what surrounds each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

TIMES = 1000


def repeat(call: Callable[..., Any], args: tuple[Any, ...]) -> None:
    times = range(TIMES)
    match args:
        case ():
            for _ in times:
                call()
        case (a,):
            for _ in times:
                call(a)
        case (a, b):
            for _ in times:
                call(a, b)
        case (a, b, c):
            for _ in times:
                call(a, b, c)


def benchmark_call(benchmark: BenchmarkFixture, call: Callable[..., Any], *args: Any) -> None:
    """Measure a call with up to three arguments."""
    benchmark.extra_info["items"] = TIMES
    benchmark(repeat, call, args)
