"""A pytest plugin that runs the tests of tvm_ffi with ``fnabi.dropin.tvm_ffi`` in its place.

Names that the drop-in lacks are replaced by stand-ins, which let a test file be imported and fail
the tests that use them. ``FNABI_DROPIN_OUTCOMES`` names a file, to which the outcome of each test
is written.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fnabi.dropin.tvm_ffi as dropin
from fnabi.dropin.tvm_ffi import core, dataclasses, testing


class Lacking:
    """A replacement for a name that the drop-in lacks; used, it fails the test."""

    def __init__(self, name: str) -> None:
        self.lacking = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the drop-in has no {self.lacking}")


dropin.install()


def lacks(module: str, *names: str) -> Any:
    """Give a module stand-ins for names of its own that tests of the original import."""
    found = sys.modules.setdefault(module, ModuleType(module))
    for name in names:
        vars(found).setdefault(name, Lacking(name))
    return found


root = dropin.__name__
lacks(core.__name__, "_OPAQUE_PTR_HANDLERS", "FFIProperty")
lacks(f"{root}.registry", "_add_class_attrs", "_warn_missing_field_annotations")
lacks(f"{root}._dunder", "_install_dataclass_dunders")
vars(dataclasses)["common"] = lacks(f"{root}.dataclasses.common", "_make_namedtuple")
lacks(f"{root}.dataclasses.c_class", "_attach_field_objects")
vars(dataclasses)["gen_abi_cpp"] = lacks(f"{root}.dataclasses.gen_abi_cpp", "_Generator")

# Marks for tests, which the original defines beside the classes that they test.
marks = lacks(f"{testing.__name__}.testing")
marks.requires_py310 = pytest.mark.skipif(False, reason="requires Python 3.10")
marks.requires_py313 = pytest.mark.skipif(sys.version_info < (3, 13), reason="requires Python 3.13")


_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the worst outcome of a test's setup, call and teardown."""
    if report.failed or report.when == "call" or report.skipped:
        known = _outcomes.get(report.nodeid)
        if known != "failed":
            expected = hasattr(report, "wasxfail")
            _outcomes[report.nodeid] = "xfailed" if expected else report.outcome


def pytest_sessionfinish() -> None:
    """Write the outcomes."""
    path = os.environ.get("FNABI_DROPIN_OUTCOMES")
    if path:
        Path(path).write_text(json.dumps(_outcomes))
