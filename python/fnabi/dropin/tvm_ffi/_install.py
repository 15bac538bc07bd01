"""The original's name for this package, for packages that import the original themselves."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from importlib import import_module, util
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

from fnabi.dropin.tvm_ffi import _watch

_PACKAGE = __name__.rpartition(".")[0]
_NAME = _PACKAGE.rpartition(".")[2]

FOLDER = str(Path(__file__).with_name("_path"))
"""A folder for the path of Python, whose ``tvm_ffi`` is this package."""

TOLD = "FNABI_DROPIN_TVM_FFI"
"""The environment variable that says how the package in the folder is installed."""


_HIDDEN = ("dataclasses.c_class", "dataclasses.field", "dataclasses.py_class")
"""Modules with the name of a function, whose place they would take when they are imported."""


class _Alias(MetaPathFinder, InspectLoader):
    """Finds the modules of the original among those of this package."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_NAME}."):
            return None
        real = _real_spec(fullname)
        if real is None:
            _watch.lack(fullname, f"{_PACKAGE} has no module {fullname!r}")
            return None
        _watch.have(fullname)
        spec = util.spec_from_loader(fullname, self, origin=real.origin, is_package=True)
        if spec is not None:
            spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_PACKAGE + spec.name.removeprefix(_NAME))
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs.pop(module.__name__)  # the import system has replaced it

    def get_source(self, fullname: str) -> str | None:
        return _loader(fullname).get_source(_PACKAGE + fullname.removeprefix(_NAME))

    def get_code(self, fullname: str) -> CodeType | None:
        return _loader(fullname).get_code(_PACKAGE + fullname.removeprefix(_NAME))


def _real_spec(fullname: str) -> ModuleSpec | None:
    return util.find_spec(_PACKAGE + fullname.removeprefix(_NAME))


def _loader(fullname: str) -> InspectLoader:
    spec = _real_spec(fullname)
    if spec is None or not isinstance(spec.loader, InspectLoader):
        raise ImportError(f"No module named {fullname!r}", name=fullname)
    return spec.loader


def install(*, strict: bool = False, record: bool = False) -> None:
    """Make ``import tvm_ffi`` mean this package, in this process.

    Packages that are built on the original then run over this one, such as xgrammar.

    Args:
        strict: Whether the first name that this package does not have raises `NotFoundError`,
            which no ``hasattr`` and no ``except ImportError`` hides.
        record: Whether `report` lists what the program asks for.

    Raises:
        ImportError: The original is imported already.

    """
    package = sys.modules[_PACKAGE]
    known = sys.modules.get(_NAME)
    if known is not None and known is not package:
        raise ImportError(f"{_PACKAGE}.install: the package {_NAME} is imported already")
    if known is None:
        sys.modules[_NAME] = package
        for name in _HIDDEN:
            sys.modules[f"{_NAME}.{name}"] = sys.modules[f"{_PACKAGE}.{name}"]
        sys.meta_path.insert(0, _Alias())
    if strict or record:
        _watch.watch(strict)


def install_as_told() -> None:
    """Install it as an environment variable says, such as ``"strict,report"``."""
    words = os.environ.get(TOLD, "").split(",")
    install(strict="strict" in words, record="report" in words)
    if "report" in words:
        atexit.register(lambda: print(_watch.report(), file=sys.stderr))


def without_folder() -> dict[str, str]:
    """Return the environment of a process whose ``tvm_ffi`` is the original."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(each for each in folders if each != FOLDER),
    }
