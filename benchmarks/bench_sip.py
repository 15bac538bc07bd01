"""The SIP ABI: fnabi beside a plain Python port (tests/support/grammar.py), one corpus a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import sip
from fnabi.dropin.signature_mangle import SipSignatureMangler, SipSignatureParser, StructType
from support import grammar

CORPUS = corpus.sip()
SIGNATURES = [sip.parse(data) for data in CORPUS]
CALLS = [
    [(index, [key.encode() if isinstance(key, str) else key for key in path]) for path, index in p]
    for p in (sip.paths(signature.inputs) for signature in SIGNATURES)
]
NESTS = [
    (structure, sip.unflatten(structure, range(len(sip.paths(structure)))))
    for structure in (signature.inputs for signature in SIGNATURES)
]


class Events:
    """A visitor that records its events."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []

    def integer_key(self, parser: SipSignatureParser, k: int) -> None:
        self.events.append(["k", k])

    def string_key(self, parser: SipSignatureParser, k: str) -> None:
        self.events.append(["K", k])

    def open_struct(self, parser: SipSignatureParser, struct_type: StructType) -> None:
        self.events.append(["o", "S" if struct_type is StructType.SEQUENCE else "D"])

    def close_struct(self, parser: SipSignatureParser) -> None:
        self.events.append(["c"])

    def map_to_raw_signature_index(self, parser: SipSignatureParser, index: int) -> None:
        self.events.append(["r", index])


def fnabi_visit(data: bytes) -> object:
    parser, visitor = SipSignatureParser(), Events()
    parser.visit_inputs(visitor, data)
    return visitor.events, parser.error


def python_visit(data: bytes) -> object:
    return grammar.sip_visit(data, "I")


def fnabi_to_string(data: bytes) -> str:
    return sip.to_string(data, "inputs")


def python_to_string(data: bytes) -> str:
    grammar.sip_parse(data)
    return grammar.sip_text(grammar.sip_visit(data, "I")[0])


def fnabi_mangle(calls: list[Any]) -> object:
    mangler = SipSignatureMangler()
    answers = [mangler.set_raw_signature_index(index, path) for index, path in calls]
    return answers, mangler.to_structure_signature().encoded


WORK: dict[str, tuple[list[Any], dict[str, Callable[[Any], object]]]] = {
    "parse": (CORPUS, {"fnabi": sip.parse, "python": grammar.sip_parse}),
    "encode": (SIGNATURES, {"fnabi": sip.encode, "python": grammar.sip_encode}),
    "visit": (CORPUS, {"fnabi": fnabi_visit, "python": python_visit}),
    "to_string": (CORPUS, {"fnabi": fnabi_to_string, "python": python_to_string}),
    "mangle": (CALLS, {"fnabi": fnabi_mangle, "python": grammar.sip_mangle}),
}


def each(function: Callable[[Any], object], items: list[Any]) -> None:
    for item in items:
        function(item)


@pytest.mark.parametrize("who", ["fnabi", "python"])
@pytest.mark.parametrize("work", WORK)
def test_sip(benchmark: BenchmarkFixture, work: str, who: str) -> None:
    items, peers = WORK[work]
    answers = [[function(item) for item in items] for function in peers.values()]
    assert answers[0] == answers[1]

    benchmark.group = f"sip {work}, {len(items)} signatures"
    benchmark.extra_info["items"] = len(items)
    if work == "parse":
        benchmark.extra_info["work"] = "one SIP signature (67 bytes) → typed objects"
    benchmark.extra_info["bytes"] = sum(map(len, CORPUS))
    benchmark(each, peers[who], items)


@pytest.mark.parametrize("work", ["flatten", "unflatten"])
def test_nest(benchmark: BenchmarkFixture, work: str) -> None:
    benchmark.group = f"sip {work}, {len(NESTS)} structures"
    benchmark.extra_info["items"] = len(NESTS)
    if work == "flatten":
        benchmark(each, lambda nest: sip.flatten(*nest), NESTS)
    else:
        flats = [(structure, sip.flatten(structure, values)) for structure, values in NESTS]
        benchmark(each, lambda flat: sip.unflatten(*flat), flats)
