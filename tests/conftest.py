from pathlib import Path

import pytest
from hypothesis import settings

from sanitizers import SANITIZE, examples

# The same examples in every run; a case that a longer search finds becomes a test of its own.
settings.register_profile("fnabi", deadline=None, derandomize=True, max_examples=examples(500))
settings.load_profile("fnabi")

pytest.register_assert_rewrite("outcomes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot run under the sanitizers, for the reason that stands there."""
    for item in items:
        mark = item.get_closest_marker("unsanitized")
        if mark is not None and SANITIZE:
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))


@pytest.fixture(scope="session")
def objects():
    """The objects of the core, loaded by the installed tvm_ffi as one of its modules."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    import callee

    csrc = Path(__file__).parents[1] / "csrc"
    core = [str(csrc / "value" / f"{noun}.c") for noun in ("any", "object", "array", "map")]
    return tvm_ffi.load_module(callee.interop_library("objects", f"-I{csrc}", *core))
