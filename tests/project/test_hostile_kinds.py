"""Results that break the rules of the ABI, by kind: each is a value, an exception or a named death.

What a cheap check can refuse is refused. What no check can find, such as an address where there is
no memory, ends the process: `DEATHS` names these kinds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from support.callee import built, path_of
from support.sanitizers import SANITIZE

if not hasattr(os, "fork"):
    pytest.skip("each kind is tried in a fork", allow_module_level=True)

OBJECTS = range(64, 79)
STR, BYTES, ERROR, FUNCTION, SHAPE, TENSOR, ARRAY, MAP = 65, 66, 67, 68, 69, 70, 71, 72
LIST, DICT, BIG_INT = 75, 76, 78
ONE = 1 | 1 << 32
"""One strong reference, and the weak one that all of them share."""

FAR = 1 << 46
"""An address where there is no memory."""

FLOAT32 = 2 | 32 << 8 | 1 << 16
CPU = 1


def tensor(*dims: int, data: int = 64, dtype: int = FLOAT32, rank: int = 1) -> list[int]:
    """Return the words of a tensor; dims and strides at address `dims`."""
    return [data, CPU, rank | dtype << 32, *dims, *[0] * (3 - len(dims))]


def kinds() -> Iterator[tuple[str, str, list[int]]]:
    for tag in (-(2**31), -2, -1, 7, 8, 9, 10, 13, 14, 15, 63, *OBJECTS, 79, 127, 128, 2**31 - 1):
        for payload in (0, 1, 4095):
            yield f"tag {tag}, payload {payload}", "any_value", [tag, 0, payload]
    for tag in range(7):
        yield f"tag {tag}, all bits", "any_value", [tag, 2**32 - 1, -1]
    for tag in (11, 12):
        for size in (0, 7, 8, 255, 2**31, 2**32 - 1):
            yield f"tag {tag}, {size} bytes in 7", "any_value", [tag, size, 0]
    yield "small text that is not UTF-8", "any_value", [11, 2, 0xFFFF]
    for tag in (STR, BYTES):
        name = "text" if tag == STR else "bytes"
        for data, size in ((0, 1), (1, 1), (4095, 9), (64, -1), (64, 2**62), (64, 2**48)):
            yield f"{name} of {size} at {data}", "any_object", [tag, ONE, 1, data, size]
        yield f"empty {name} at 1", "any_object", [tag, ONE, 1, 1, 0]
        yield f"{name} far away", "any_object", [tag, ONE, 1, FAR, 16]
        yield f"{name} of 16 GiB", "any_object", [tag, ONE, 1, FAR, 16 << 30]
    for dims, rank in ((0, 1), (1, 1), (4095, 2), (FAR, 2**62), (0, -1)):
        yield f"shape of {rank} at {dims}", "any_object", [SHAPE, ONE, 1, dims, rank]
    yield "shape far away", "any_object", [SHAPE, ONE, 1, FAR, 2]
    for tag in (ARRAY, LIST):
        for data, size in ((0, 1), (1, 1), (4095, 3), (FAR, -1), (FAR, 2**62)):
            words = [data, size, size, 0]
            yield f"sequence {tag} of {size} at {data}", "any_object", [tag, ONE, 1, *words]
        yield f"sequence {tag} far away", "any_object", [tag, ONE, 1, FAR, 4, 4, 0]
    for tag in (MAP, DICT):
        for data, size, slots in ((0, 1, 2), (1, 1, 2), (FAR, 2**40, 2), (FAR, 9, 7)):
            words = [data, size, slots]
            yield f"mapping {tag} of {size} at {data}", "any_object", [tag, ONE, 1, *words]
    for words, name in (
        (tensor(1, 0), "shape at 1"),
        (tensor(0, 0), "no shape"),
        (tensor(0, 0, rank=-1), "rank -1"),
        (tensor(0, 0, rank=65), "rank 65"),
        (tensor(0, 0, rank=2**31 - 1), "rank 2^31 - 1"),
        (tensor(0, 0, rank=0, data=0), "no memory"),
        (tensor(0, 0, rank=0, data=1), "memory at 1"),
        (tensor(0, 0, rank=0, data=4095), "memory at 4095"),
        (tensor(0, 0, -1, rank=0, data=FAR), "byte offset of 2^64 - 1"),
        (tensor(0, 0, rank=0, data=0, dtype=0), "no bits"),
        (tensor(0, 0, rank=0, data=1, dtype=0xFFFFFFFF), "odd dtype"),
        (tensor(0, 0, rank=0, data=FAR), "far away"),
    ):
        yield f"tensor, {name}", "any_object", [TENSOR, ONE, 1, *words]
    for words, name in (
        ([0, 4, 64, 0], "kind at 0"),
        ([1, 4, 1, 4], "kind at 1"),
        ([0, 0, 1, 4], "message at 1"),
        ([0, 0, 0, -1], "message of 2^64 - 1"),
        ([0, 0, 0, 0, 1, 4], "backtrace at 1"),
        ([0, 0, FAR, 16 << 30], "message of 16 GiB"),
    ):
        yield f"error, {name}", "any_object", [ERROR, ONE, 1, *words]
    for words in (0, 1, FAR, 2**62, -1):
        yield f"big int of {words} words", "any_object", [BIG_INT, ONE, 1, words]
    yield "function without code", "any_object", [FUNCTION, ONE, 1, 0, 0]
    for counts, name in ((0, "no references"), (2**32 - 1, "2^32 - 1"), (2**63, "all weak")):
        yield f"object with {name}", "any_object", [128, counts, 1]
    yield "object without deleter", "any_object", [128, ONE, 0]
    for status in (-(2**31), -2, 1, 2**31 - 1):
        yield f"status {status} without error", "any_status", [status]


KINDS = {name: (function, numbers) for name, function, numbers in kinds()}

OUTCOMES = {
    **{f"tag {tag}, all bits": "value" for tag in (0, 1, 2, 3, 4, 6)},
    "tag 5, all bits": "ArgumentValueError",
    **{f"tag {tag}, {size} bytes in 7": "value" for tag in (11, 12) for size in (0, 7)},
    "small text that is not UTF-8": "value",
    "empty text at 1": "value",
    "empty bytes at 1": "value",
    "tensor, no bits": "value",
    "tensor, odd dtype": "RangeError",
    "error, backtrace at 1": "value",
    "big int of 0 words": "value",
    "big int of 1 words": "value",
    "big int of 70368744177664 words": "MemoryError",
    "big int of 4611686018427387904 words": "MemoryError",
    "big int of -1 words": "MemoryError",
    "object with no references": "value",
    "object with all weak": "RangeError",
    "object without deleter": "value",
}
"""What is not a plain CallError."""

DEATHS = {
    "text far away",
    "bytes far away",
    "bytes of 16 GiB",
    "shape far away",
    "sequence 71 far away",
    "sequence 75 far away",
    "tensor, far away",
    "object with 2^32 - 1",
}
"""Addresses where there is no memory, and a count of references that overflows."""

PROGRAM = """
import json, os, sys
import fnabi
lib = fnabi.load_module(sys.argv[1])
def use(value):
    for look in (type, repr, str, hash, bytes, lambda x: x.tolist(), lambda x: x.todict(),
                 lambda x: x == [1], lambda x: sum(memoryview(x).cast("B")), lambda x: x.shape,
                 lambda x: x.message, lambda x: fnabi.Any(x), lambda x: fnabi.Array([x]).tolist()):
        try:
            look(value)
        except fnabi.CallError:
            raise
        except (TypeError, AttributeError, ValueError, BufferError):
            pass
for name, (function, numbers) in json.loads(sys.argv[2]).items():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for plain in (False, True):
                lib[function].plain = plain
                use(lib[function](*numbers))
            told = "value"
        except Exception as problem:
            told = type(problem).__name__
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    told = os.read(read, 100).decode()
    os.close(read)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([name, told if status == 0 else f"ended by {status}"]), flush=True)
"""


@cache
def outcomes() -> dict[str, str]:
    """Return what each kind leads to, each tried in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path_of("hostile"), json.dumps(KINDS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


def test_there_are_as_many_kinds_as_promised() -> None:
    assert len(KINDS) >= 128
    assert {*OUTCOMES, *DEATHS} <= {*KINDS}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind(name: str) -> None:
    found = outcomes()[name]
    if name in DEATHS:
        assert found.startswith("ended by"), "this death is no longer one"
    else:
        assert found == OUTCOMES.get(name, "CallError")


@pytest.mark.skipif(bool(SANITIZE), reason="the runtime of the sanitizer catches the exception")
def test_an_exception_of_cpp_ends_the_process(tmp_path) -> None:
    """It cannot cross the frames of C: the callee has to catch it."""
    source = tmp_path / "thrower.cc"
    source.write_text(
        'extern "C" __attribute__((visibility("default"))) int __tvm_ffi_thrower('
        "void*, const void*, int, void*) { throw 1; }\n"
    )
    library = built("thrower", "c++", str(source))
    done = subprocess.run(
        [sys.executable, "-c", f"import fnabi; fnabi.load_module({library!r}).thrower()"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "terminate called" in done.stderr or "terminating" in done.stderr
