"""The text of blocks in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from fnabi.dropin.tvm_ffi.stub.consts import MarkerSyntax
from fnabi.dropin.tvm_ffi.stub.file_utils import CodeBlock
from fnabi.dropin.tvm_ffi.stub.python_generator.consts import (
    TY_MAP_DEFAULTS,
    TY_MAP_INPUT_DEFAULTS,
)
from fnabi.dropin.tvm_ffi.stub.python_generator.utils import ImportItem
from fnabi.dropin.tvm_ffi.stub.utils import FuncInfo, InitConfig, ObjectInfo, Options

_Naming = Callable[[str], str]
"""Returns the name of a type in the file."""

_INIT = "__ffi_init__"
_LOAD = "tvm_ffi.libinfo.load_lib_module"
_CHECKING = ImportItem("typing.TYPE_CHECKING")

# ---------------------------------------------------------------------------------- signatures


def render_func_signature(
    func: FuncInfo, ty_map: _Naming, indent: int, input_ty_map: _Naming | None = None
) -> str:
    """Return the line that declares a function.

    Raises:
        ValueError: Its type is not that of a function.

    """
    schema = func.schema
    name = schema.name.rpartition(".")[2]
    if schema.origin != "Callable":
        raise ValueError(f"{schema.name}: expected the type of a function, got {schema}")
    groups = schema.named_args or {}
    results, hints = groups.get("return", ()), groups.get("params")
    if hints is None:
        any_ = ty_map("Any")
        params = [f"*args: {any_}"]
        result = results[0].repr(ty_map) if results else any_
    else:
        params = [
            f"_{index}: {hint.input_repr(input_ty_map or ty_map)}"
            for index, hint in enumerate(hints)
        ]
        result = results[0].repr(ty_map) if results else ty_map("Any")
        if func.is_member and name != _INIT:
            params[:1] = ["self"]
        if name == _INIT:
            params = ["self", *params]
        if params:
            params.append("/")
    if hints is None and (func.is_member or name == _INIT):
        params.insert(0, "self")
    result = "None" if name == _INIT else result
    return f"{' ' * indent}def {name}({', '.join(params)}) -> {result}: ..."


def render_object_fields(info: ObjectInfo, ty_map: _Naming, indent: int) -> list[str]:
    """Return the lines that annotate the fields of a type."""
    return [f"{' ' * indent}{each.name}: {each.repr(ty_map)}" for each in info.fields]


def render_object_methods(
    info: ObjectInfo, ty_map: _Naming, indent: int, input_ty_map: _Naming | None = None
) -> list[str]:
    """Return the lines that declare the methods of a type, overloads together."""
    groups: dict[tuple[str, bool], list[FuncInfo]] = {}
    for each in info.methods:
        groups.setdefault((each.schema.name, each.is_member), []).append(each)
    lines, space = [], " " * indent
    for (name, is_member), group in groups.items():
        for each in group:
            if len(group) > 1:
                lines.append(f"{space}@overload")
            if not is_member and name.rpartition(".")[2] != _INIT:
                lines.append(f"{space}@staticmethod")
            lines.append(render_func_signature(each, ty_map, indent, input_ty_map))
    return lines


def render_object_init(
    info: ObjectInfo, ty_map: _Naming, indent: int, input_ty_map: _Naming | None = None
) -> list[str]:
    """Return the line that declares ``__init__``, if a type has one."""
    return _initialiser("__init__", info, input_ty_map or ty_map, indent)


def render_object_ffi_init(
    info: ObjectInfo, ty_map: _Naming, indent: int, input_ty_map: _Naming | None = None
) -> list[str]:
    """Return the line that declares ``__ffi_init__``, if a type has one that is no method."""
    if any(each.schema.name.rpartition(".")[2] == _INIT for each in info.methods):
        return []
    return _initialiser(_INIT, info, input_ty_map or ty_map, indent)


def _initialiser(name: str, info: ObjectInfo, ty_map: _Naming, indent: int) -> list[str]:
    if not info.has_init:
        return []
    params, by_name = ["self"], False
    for each in sorted(info.init_fields, key=lambda each: (each.kw_only, each.has_default)):
        if each.kw_only and not by_name:
            by_name = True
            params.append("*")
        default = " = ..." if each.has_default else ""
        params.append(f"{each.name}: {each.schema.input_repr(ty_map)}{default}")
    return [f"{' ' * indent}def {name}({', '.join(params)}) -> None: ..."]


# -------------------------------------------------------------------------------------- blocks


def _naming(
    ty_map: Mapping[str, str], imports: list[ImportItem], taken: Collection[str] = ()
) -> tuple[_Naming, _Naming]:
    """Return what names types in results and in parameters, and imports them.

    Args:
        ty_map: The whole names of types.
        imports: The imports of the file, to which those of types are added.
        taken: Names that functions of the file have.

    """

    def named(full: str) -> str:
        _, dot, name = full.rpartition(".")
        if not dot:
            return full
        alias = f"_{name}" if name in taken else None
        item = ImportItem(full, type_checking_only=True, alias=alias)
        if item not in imports:
            imports.append(item)
        return alias or name

    def result(name: str) -> str:
        return named(ty_map.get(name, TY_MAP_DEFAULTS.get(name, name)))

    def parameter(name: str) -> str:
        if ty_map.get(name) in (None, TY_MAP_DEFAULTS.get(name)) and name in TY_MAP_INPUT_DEFAULTS:
            return named(TY_MAP_INPUT_DEFAULTS[name])
        return result(name)

    return result, parameter


def _fill(code: CodeBlock, lines: Iterable[str]) -> None:
    """Put lines between the first and the last one of a block."""
    space = " " * code.indent
    code.lines = [code.lines[0], *(space + line for line in lines), code.lines[-1]]


def _unformatted(lines: Iterable[str]) -> list[str]:
    return ["# fmt: off", *lines, "# fmt: on"]


def _unsorted(lines: Iterable[str]) -> list[str]:
    return _unformatted(["# isort: off", *lines, "# isort: on"])


def generate_python_global_funcs(
    code: CodeBlock,
    global_funcs: list[FuncInfo],
    ty_map: Mapping[str, str],
    imports: list[ImportItem],
    opt: Options,
) -> None:
    """Write functions, and the call that puts them into the module."""
    if not global_funcs:
        return
    prefix, module = code.param
    imports.append(ImportItem(f"{module or 'tvm_ffi'}.init_ffi_api", alias="_FFI_INIT_FUNC"))
    imports.append(_CHECKING)
    taken = {each.schema.name.rpartition(".")[2] for each in global_funcs}
    result, parameter = _naming(ty_map, imports, taken)
    functions = [
        render_func_signature(each, result, opt.indent, parameter) for each in global_funcs
    ]
    call = f'_FFI_INIT_FUNC("{prefix}", __name__)'
    _fill(code, _unformatted([call, "if TYPE_CHECKING:", *functions]))


def generate_python_object(
    code: CodeBlock,
    ty_map: Mapping[str, str],
    imports: list[ImportItem],
    opt: Options,
    obj_info: ObjectInfo,
) -> None:
    """Write the fields and methods of a type into the body of its class."""
    result, parameter = _naming(ty_map, imports)
    members = [
        *render_object_init(obj_info, result, opt.indent, parameter),
        *render_object_ffi_init(obj_info, result, opt.indent, parameter),
        *render_object_methods(obj_info, result, opt.indent, parameter),
    ]
    if members:
        imports.append(_CHECKING)
        members.insert(0, "if TYPE_CHECKING:")
    if obj_info.has_overloaded_methods():
        imports.append(ImportItem("typing.overload", type_checking_only=True))
    _fill(code, _unformatted([*render_object_fields(obj_info, result, 0), *members]))


def generate_python_import_section(
    code: CodeBlock, imports: list[ImportItem], opt: Options
) -> None:
    """Write the imports of a file: those that programs need, and those of type checkers."""
    needed = {each for each in imports if not each.type_checking_only}
    checked = {
        each
        for each in imports
        if each.type_checking_only and ImportItem(each.full_name, alias=each.alias) not in needed
    }
    if checked:
        needed.add(_CHECKING)
    lines = _imports(needed)
    if checked:
        lines += ["if TYPE_CHECKING:", *(" " * opt.indent + line for line in _imports(checked))]
    if lines:
        _fill(code, _unsorted(["from __future__ import annotations", *lines]))


def _imports(items: Iterable[ImportItem]) -> list[str]:
    modules: dict[str, list[str]] = {}
    for each in items:
        if each.mod:
            modules.setdefault(each.mod, []).append(each.name_with_alias)
    return [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(modules.items())
    ]


def generate_python_all(code: CodeBlock, names: Iterable[str], opt: Options) -> None:
    """Write names of a module: those of constants, of classes, and then the others."""
    short = {name.rpartition(".")[2] for name in names}
    if short:
        ranked = sorted(short, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        _fill(code, [f'"{name}",' for name in ranked])


def generate_python_export(code: CodeBlock) -> None:
    """Write the import of all names of a module, which are names of the package too."""
    module = code.param
    _fill(
        code,
        _unsorted(
            [
                f"from .{module} import *  # noqa: F403",
                f"from .{module} import __all__ as {module}__all__",
                'if "__all__" not in globals():',
                "    __all__ = []",
                f"__all__.extend({module}__all__)",
            ]
        ),
    )


# ----------------------------------------------------------------------------------- new files


def _block(syntax: MarkerSyntax, what: str, indent: int = 0) -> list[str]:
    return [f"{' ' * indent}{syntax.begin} {what}", f"{' ' * indent}{syntax.end}"]


def _import(syntax: MarkerSyntax, name: str, alias: str) -> str:
    return f"{syntax.import_object} {name};False;{alias}"


def generate_python_ffi_api(
    code_blocks: list[CodeBlock],
    ty_map: Mapping[str, str],
    module_name: str,
    object_infos: list[ObjectInfo],
    init_cfg: InitConfig,
    is_root: bool,
    syntax: MarkerSyntax,
) -> str:
    """Return what a file with functions and types lacks: blocks, and classes of the types."""
    known = {(each.kind, each.param) for each in code_blocks}
    kinds = {each.kind for each in code_blocks}
    lines: list[str] = []
    if not code_blocks:
        lines += [f'"""FFI API bindings for {module_name}."""', ""]
    if "import-section" not in kinds:
        lines += _block(syntax, "import-section")
    load = _import(syntax, _LOAD, "_FFI_LOAD_LIB")
    if is_root and not any(load in each.lines for each in code_blocks):
        lines.append(load)
        lines.append(f'LIB = _FFI_LOAD_LIB("{init_cfg.pkg}", "{init_cfg.shared_target}")')
    if not any(kind == "global" and param[0] == module_name for kind, param in known):
        lines += _block(syntax, f"global/{module_name}")
    if object_infos:
        lines.append(_import(syntax, "tvm_ffi.register_object", "_FFI_REG_OBJ"))
    here = {each.type_key for each in object_infos}
    for each in object_infos:
        parent = each.parent_type_key or "ffi.Object"
        if parent in here:
            base = parent.rpartition(".")[2]
        else:
            whole = ty_map.get(parent, parent)
            base = f"_{whole.replace('.', '_')}"
            lines.append(_import(syntax, whole, base))
        key = each.type_key or ""
        lines += [
            f'@_FFI_REG_OBJ("{key}")',
            f"class {key.rpartition('.')[2]}({base}):",
            f'    """FFI binding for `{key}`."""',
            "",
            *_block(syntax, f"object/{key}", 4),
            "",
        ]
    if "__all__" not in kinds:
        lines += ["" for _ in object_infos[:1]]
        lines += ["__all__ = [", *_block(syntax, "__all__", 4), "]"]
    return "\n".join([*lines, ""])


def generate_python_init(
    code_blocks: list[CodeBlock], module_name: str, submodule: str, syntax: MarkerSyntax
) -> str:
    """Return what the file of a package lacks to have the names of a module in it."""
    if any(each.kind == "export" and each.param == submodule for each in code_blocks):
        return ""
    lines = [] if code_blocks else [f'"""Package {module_name}."""', ""]
    return "\n".join([*lines, *_block(syntax, f"export/{submodule}"), ""])
