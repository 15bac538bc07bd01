"""The languages that hints are written in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from fnabi.dropin.tvm_ffi.stub.file_utils import CodeBlock
from fnabi.dropin.tvm_ffi.stub.python_generator import PythonGenerator
from fnabi.dropin.tvm_ffi.stub.utils import FuncInfo, InitConfig, ObjectInfo, Options


class Generator(Protocol):
    """Writes the blocks of files in a language.

    Attributes:
        name: The name of the language.
        source_exts: The suffixes of its files.
        directive_kinds: The directives that it knows beside those for all languages.

    """

    name: str
    source_exts: frozenset[str]
    directive_kinds: frozenset[str]

    def default_ty_map(self) -> dict[str, str]:
        """Return the names of types in the language, by those of libraries."""

    def new_imports(self) -> Any:
        """Return what collects the imports of a file."""

    def add_directive(self, imports: Any, name: str, payload: str, lineno: int) -> None:
        """Record a directive."""

    def canonical_type_name(self, type_key: str) -> str:
        """Return the whole name of a type."""

    def extra_export_names(self, imports: Any) -> set[str]:
        """Return names that a file has beside functions and types."""

    def is_builtin(self, type_key: str) -> bool:
        """Return whether the language has a class for a type already."""

    def generate_global_funcs_block(
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
    ) -> None:
        """Write functions into a block."""

    def generate_object_block(
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: Any,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        """Write a type into a block."""

    def generate_import_section_block(
        self, code: CodeBlock, imports: Any, opt: Options, defined_types: set[str]
    ) -> None:
        """Write the imports of a file into a block."""

    def generate_all_block(self, code: CodeBlock, names: set[str], opt: Options) -> None:
        """Write the names that a file has into a block."""

    def generate_export_block(self, code: CodeBlock) -> None:
        """Write the names of another module into a block."""

    def api_filename(self) -> str:
        """Return the name of the file with functions and types."""

    def init_filename(self) -> str:
        """Return the name of the file of a package."""

    def generate_api_file(
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        """Return the text to add to a file with functions and types."""

    def generate_init_file(
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        """Return the text to add to the file of a package."""


_GENERATORS: dict[str, Generator] = {"python": PythonGenerator()}


def generator_names() -> list[str]:
    """Return the names of the languages."""
    return sorted(_GENERATORS)


def get_generator(target: str) -> Generator:
    """Return what writes a language.

    Raises:
        ValueError: Nothing does.

    """
    if target not in _GENERATORS:
        known = ", ".join(generator_names())
        raise ValueError(f"Unknown target {target!r}. Known generators: {known}")
    return _GENERATORS[target]
