"""A pytest plugin that runs the tests of tvm_ffi with ``fnabi.dropin.tvm_ffi`` in its place.

``FNABI_DROPIN_OUTCOMES`` names a file, to which the outcome of each test is written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import fnabi.dropin.tvm_ffi as dropin

dropin.install()

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
