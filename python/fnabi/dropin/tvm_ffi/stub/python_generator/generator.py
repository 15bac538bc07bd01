"""What the command asks of Python's blocks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fnabi.dropin.tvm_ffi.stub import consts
from fnabi.dropin.tvm_ffi.stub.file_utils import CodeBlock
from fnabi.dropin.tvm_ffi.stub.python_generator import codegen
from fnabi.dropin.tvm_ffi.stub.python_generator.consts import TY_MAP_DEFAULTS
from fnabi.dropin.tvm_ffi.stub.python_generator.utils import ImportItem, PythonImports
from fnabi.dropin.tvm_ffi.stub.utils import FuncInfo, InitConfig, ObjectInfo, Options


class PythonGenerator:
    """Writes hints in Python; see `Generator`."""

    name = "python"
    source_exts = frozenset({".py", ".pyi"})
    directive_kinds = frozenset({"import-object"})

    def default_ty_map(self) -> dict[str, str]:  # noqa: D102
        return dict(TY_MAP_DEFAULTS)

    def new_imports(self) -> PythonImports:  # noqa: D102
        return PythonImports()

    def add_directive(  # noqa: D102
        self, imports: PythonImports, name: str, payload: str, lineno: int
    ) -> None:
        path, checking, alias = [*map(str.strip, payload.split(";")), "", ""][:3]
        checking_only = checking.lower() == "true"
        imports.items.append(ImportItem(path, checking_only, alias or None))
        if path.endswith("libinfo.load_lib_module"):
            imports.has_lib_load = True

    def canonical_type_name(self, type_key: str) -> str:  # noqa: D102
        return ImportItem(type_key).full_name

    def extra_export_names(self, imports: PythonImports) -> set[str]:  # noqa: D102
        return {"LIB"} if imports.has_lib_load else set()

    def is_builtin(self, type_key: str) -> bool:  # noqa: D102
        return type_key in consts.BUILTIN_TYPE_KEYS

    def generate_global_funcs_block(  # noqa: D102
        self,
        code: CodeBlock,
        global_funcs: list[FuncInfo],
        ty_map: dict[str, str],
        imports: PythonImports,
        opt: Options,
    ) -> None:
        codegen.generate_python_global_funcs(code, global_funcs, ty_map, imports.items, opt)

    def generate_object_block(  # noqa: D102
        self,
        code: CodeBlock,
        ty_map: dict[str, str],
        imports: PythonImports,
        opt: Options,
        obj_info: ObjectInfo,
        declared: Mapping[str, Path],
    ) -> None:
        codegen.generate_python_object(code, ty_map, imports.items, opt, obj_info)

    def generate_import_section_block(  # noqa: D102
        self, code: CodeBlock, imports: PythonImports, opt: Options, defined_types: set[str]
    ) -> None:
        needed = [each for each in imports.items if each.full_name not in defined_types]
        codegen.generate_python_import_section(code, needed, opt)

    def generate_all_block(  # noqa: D102
        self, code: CodeBlock, names: set[str], opt: Options
    ) -> None:
        codegen.generate_python_all(code, names, opt)

    def generate_export_block(self, code: CodeBlock) -> None:  # noqa: D102
        codegen.generate_python_export(code)

    def api_filename(self) -> str:  # noqa: D102
        return "_ffi_api.py"

    def init_filename(self) -> str:  # noqa: D102
        return "__init__.py"

    def generate_api_file(  # noqa: D102
        self,
        code_blocks: list[CodeBlock],
        ty_map: dict[str, str],
        module_name: str,
        object_infos: list[ObjectInfo],
        init_cfg: InitConfig,
        is_root: bool,
    ) -> str:
        return codegen.generate_python_ffi_api(
            code_blocks,
            ty_map,
            module_name,
            object_infos,
            init_cfg,
            is_root,
            consts.PYTHON_SYNTAX,
        )

    def generate_init_file(  # noqa: D102
        self, code_blocks: list[CodeBlock], module_name: str, submodule: str
    ) -> str:
        return codegen.generate_python_init(
            code_blocks, module_name, submodule, consts.PYTHON_SYNTAX
        )
