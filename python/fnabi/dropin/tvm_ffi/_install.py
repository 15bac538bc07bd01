"""The original's name for this package, for packages that import the original themselves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

_PACKAGE = __name__.rpartition(".")[0]
_NAME = _PACKAGE.rpartition(".")[2]


class _Alias(MetaPathFinder, Loader):
    """Finds the modules of the original among those of this package."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{_NAME}."):
            return None
        return spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_PACKAGE + spec.name.removeprefix(_NAME))
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs.pop(module.__name__)  # the import system has replaced it


def install() -> None:
    """Make ``import tvm_ffi`` mean this package, in this process.

    Packages that are built on the original then run over this one, such as xgrammar.

    Raises:
        ImportError: The original is imported already.

    """
    package = sys.modules[_PACKAGE]
    known = sys.modules.get(_NAME)
    if known is package:
        return
    if known is not None:
        raise ImportError(f"{_PACKAGE}.install: the package {_NAME} is imported already")
    sys.modules[_NAME] = package
    sys.meta_path.insert(0, _Alias())
