"""Marks of pytest for tests that need a version of Python."""

from __future__ import annotations

import sys

import pytest


def _needs(minor: int) -> pytest.MarkDecorator:
    lacking = sys.version_info < (3, minor)
    return pytest.mark.skipif(lacking, reason=f"requires Python 3.{minor}")


requires_py310 = _needs(10)
requires_py312 = _needs(12)
requires_py313 = _needs(13)
