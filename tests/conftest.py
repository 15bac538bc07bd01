import os
import signal

import pytest
from hypothesis import settings

from support.paths import ROOT
from support.sanitizers import SANITIZE, examples

# Every run has the same examples. A failure found by a longer search becomes its own test.
settings.register_profile("fnabi", deadline=None, derandomize=True, max_examples=examples(500))
settings.load_profile("fnabi")

pytest.register_assert_rewrite("support.outcomes")

# A job in the background of a script ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _unfolded() -> None:
    """Forget the size of the terminal, which readline exports to the workers of pytest-xdist."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that cannot run under the sanitizers, with the reason of their marker."""
    for item in items:
        mark = item.get_closest_marker("unsanitized")
        if mark is not None and SANITIZE:
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))


@pytest.fixture(scope="session")
def objects():
    """Load the core's objects with the installed package tvm_ffi, as one of its modules."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    from support import callee

    csrc = ROOT / "csrc"
    core = [str(csrc / "calls" / f"{noun}.c") for noun in ("any", "object", "array", "map")]
    return tvm_ffi.load_module(callee.interop_library("objects", f"-I{csrc}", *core))
