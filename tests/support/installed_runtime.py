"""The runtime of IREE in this environment: its release, and whether it loads a module."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from fnabi import FormatError, program, vmfb
from support.paths import DATA, ROOT, TESTS

Load = Callable[[bytes], str]
"""Loads a module in a process of its own, and returns what `official_loader` prints."""


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


@contextmanager
def loading() -> Iterator[Load]:
    """Start the loader of modules, and give what loads one."""
    runtime()
    command = [sys.executable, str(TESTS / "support" / "official_loader.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def load(data: bytes) -> str:
            stdin.write(struct.pack("<Q", len(data)) + data)
            stdin.flush()
            return stdout.readline().decode("utf-8", "surrogateescape").strip()

        yield load
        stdin.close()


def exports_that_load(
    hosts: tuple[str, ...] = ("hal_inline", "hal_loader"),
) -> Iterator[tuple[Path, vmfb.Export]]:
    """Yield the functions of the modules that the installed release runs without parameters.

    Modules that need other ones than `hosts` beside ``hal`` are left out, and those with functions
    that cannot work.
    """
    release = metadata.version("iree-base-runtime")
    for path in sorted([*DATA.glob("*/*.vmfb"), ROOT / "examples/classifier.vmfb"]):
        try:
            module = vmfb.open(path, lenient=True)
            verdict = module.runs_on(release, driver="local-sync")
            faults = program.verify(module)
        except FormatError:
            continue
        works = verdict.loads and not faults and not module.parameters
        if works and {*verdict.hosts} <= {*hosts}:
            exports = [each for each in module.exports.values() if each.name[:2] != "__"]
            for each in exports if len(exports) < 60 else exports[::15]:
                yield path, each
