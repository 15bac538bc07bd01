from pathlib import Path

import pytest
from hypothesis import settings

import native

# The same examples in every run; a case that a longer search finds becomes a test of its own.
settings.register_profile("fnabi", deadline=None, derandomize=True, max_examples=500)
settings.load_profile("fnabi")

pytest.register_assert_rewrite("outcomes")


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    """The objects of the core, loaded by the installed tvm_ffi as one of its modules."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    source = Path(__file__).parent / "data" / "tvm" / "objects.c"
    out = tmp_path_factory.mktemp("objects") / "objects.so"
    return tvm_ffi.load_module(str(native.library(out, [source, *native.CORE_OBJECTS])))
