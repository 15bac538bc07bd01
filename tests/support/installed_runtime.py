"""The runtime of IREE in this environment: its release, and whether it loads a module."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest


def runtime() -> Any:
    return pytest.importorskip("iree.runtime", exc_type=ImportError)


def installed() -> str:
    runtime()
    return metadata.version("iree-base-runtime")


def loaded(data: bytes) -> str:
    """Return what the installed runtime says when it loads a module beside hal; "" if it does."""
    rt = runtime()
    instance = rt.VmInstance()
    device = rt.get_device("local-sync")
    try:
        modules = [rt.create_hal_module(instance, device), rt.VmModule.copy_buffer(instance, data)]
        rt.VmContext(instance, modules)
    except (RuntimeError, ValueError, IndexError) as problem:
        return str(problem)
    return ""
