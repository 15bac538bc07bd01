"""Subinterpreters, and forks while other threads import fnabi or use it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from support.apart import run_apart
from support.paths import DATA

interpreters: Any
try:
    import _interpreters as interpreters  # type: ignore[import-not-found]  # from CPython 3.13 on
except ImportError:
    interpreters = pytest.importorskip("_xxsubinterpreters")

ANYWHERE = """
import sys
try:
    import _interpreters as interpreters
    make = interpreters.create
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda kind: interpreters.create(isolated=kind == "isolated")
def refused():
    for kind in ("legacy", "isolated"):
        other = make(kind)
        text = '''
try:
    import fnabi
    fnabi.Array([1])
except ImportError as problem:
    assert "subinterpreter" in str(problem), problem
else:
    raise AssertionError("imported")
'''
        failed = None
        try:
            failed = interpreters.run_string(other, text)
        finally:
            assert failed is None, failed
            interpreters.destroy(other)
"""


@pytest.mark.parametrize("first", ["refused()", "import fnabi; fnabi.Array([1])"])
def test_a_subinterpreter_is_refused(first: str) -> None:
    """Whichever interpreter comes first, and the main one works all the while."""
    program = f"{ANYWHERE}\n{first}\nrefused()\nimport fnabi\nprint(fnabi.Array([1, 2]).tolist())"
    assert run_apart(program) == "[1, 2]\n"


def test_a_subinterpreter_of_the_standard_library_is_refused() -> None:
    """From CPython 3.14 on. The package itself loads nothing, and the first use is refused."""
    pytest.importorskip("concurrent.interpreters")
    assert (
        run_apart(
            """
            from concurrent import interpreters
            from contextlib import closing
            for _ in range(2):
                with closing(interpreters.create()) as other:
                    other.exec("import fnabi")
                    for use in "fnabi.Array([1])", "fnabi.raw.parse('I1!R1!')", "fnabi.vmfb":
                        try:
                            other.exec(use)
                        except interpreters.ExecutionFailed as problem:
                            assert problem.excinfo.type.__name__ == "ImportError", problem
                            assert "subinterpreter" in problem.excinfo.msg, problem
                        else:
                            raise AssertionError(use)
                import fnabi
                assert fnabi.Array([1, 2]).tolist() == [1, 2]
            print("refused")
            """
        )
        == "refused\n"
    )


STORM = f"""
import os, signal, threading, warnings
import fnabi
from fnabi import iree_abi, raw, vmfb
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
text = '{{"a": ["i32", ["slist", "f32"]], "r": ["i64"]}}'
module = {str(DATA / "vmfb" / "many_300.vmfb")!r}
shared = fnabi.Dict({{1: "a text that is no small one"}})
last = fnabi.Function(lambda *values: values[-1])
rows = [*vmfb.scan([module] * 2)]

def work():
    assert iree_abi.encode(iree_abi.parse(text)) == iree_abi.encode(iree_abi.parse(text))
    assert len(fnabi.decode_columns([text] * 500, abi="iree_abi", threads=2)) == 500
    assert len([*vmfb.scan([module] * 2, threads=2)]) == len(rows)
    shared[os.getpid()] = list(last(fnabi.Array(range(100)), shared)[1])
    try:
        raw.parse("x")
    except fnabi.FormatError:
        pass

def storm():
    while not ended.is_set():
        work()

work()  # imports what it needs: a child would wait for an import that was under way
ended = threading.Event()
threads = [threading.Thread(target=storm) for _ in range(3)]
for each in threads:
    each.start()
try:
    for _ in range(30):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
finally:
    ended.set()
    for each in threads:
        each.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_of_a_fork_beside_busy_threads_works() -> None:
    """Whatever the threads were doing: decoding, scanning, calling or changing a `Dict`."""
    run_apart(STORM)
