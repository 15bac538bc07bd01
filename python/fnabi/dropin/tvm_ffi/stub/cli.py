"""The arguments of ``tvm-ffi-stubgen``, and its steps."""

from __future__ import annotations

import argparse
import ctypes
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fnabi.dropin.tvm_ffi.core import _object_type_key_to_index
from fnabi.dropin.tvm_ffi.stub import consts
from fnabi.dropin.tvm_ffi.stub.file_utils import CodeBlock, FileInfo, collect_files, syntax_for
from fnabi.dropin.tvm_ffi.stub.generator import Generator, generator_names, get_generator
from fnabi.dropin.tvm_ffi.stub.layout import classify, write_coverage_report
from fnabi.dropin.tvm_ffi.stub.lib_state import (
    collect_global_funcs,
    collect_type_keys,
    object_info_from_type_key,
    toposort_objects,
)
from fnabi.dropin.tvm_ffi.stub.utils import FuncInfo, InitConfig, Options


def __main__() -> int:
    """Run the command and return its exit status.

    It is 0; 1 where ``--check`` has found a file that is not as it would be written; 2 where a
    file cannot be written, or a type cannot be read.
    """
    try:
        return _run()
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2


def _run() -> int:
    opt = _options()
    generator = get_generator(opt.target)
    for module in opt.imports:
        importlib.import_module(module)
    libraries = [ctypes.CDLL(path) for path in opt.dlls]
    files = collect_files(map(Path, opt.files), generator.source_exts)
    functions = collect_global_funcs()
    ty_map = generator.default_ty_map()
    failed = stale = 0

    def report(file: FileInfo, problem: object) -> None:
        nonlocal failed
        failed += 1
        print(f"{file.path}: {problem}", file=sys.stderr)

    for file in files:
        try:
            _stage_1(file, ty_map)
        except ValueError as problem:
            report(file, problem)
    if opt.init is not None:
        first = Path(opt.files[0]).resolve()
        folder = first.parent if first.is_file() else first
        _stage_2(files, ty_map, opt.init, folder, functions, generator)
    for file, fault in _add_objects(files, generator):
        report(file, fault)
    declared = _declared(files)
    for file in files:
        if opt.verbose:
            print(file.path)
        try:
            changed = _stage_3(file, opt, ty_map, functions, generator, declared)
        except ValueError as problem:
            report(file, problem)
            continue
        if changed and opt.check:
            stale += 1
            print(f"{file.path}: out of date")
    if opt.coverage_out is not None:
        keys = [key for group in collect_type_keys().values() for key in group]
        verdicts = classify({key: object_info_from_type_key(key) for key in keys})
        write_coverage_report(Path(opt.coverage_out), verdicts)
    del libraries
    return 2 if failed else 1 if stale else 0


def _blocks(files: list[FileInfo], kind: str) -> list[Any]:
    """Return what blocks of a kind are about."""
    return [code.param for file in files for code in file.code_blocks if code.kind == kind]


def _directives(files: list[FileInfo], name: str) -> set[str]:
    return {payload for each, payload in _blocks(files, "directive") if each == name}


def _declared(files: list[FileInfo]) -> dict[str, Path]:
    """Return the file that has the block of each type."""
    found: dict[str, Path] = {}
    for file in files:
        for key in _blocks([file], "object"):
            found.setdefault(key, file.path)
    return found


# --------------------------------------------------------------------------------------- steps


def _stage_1(file: FileInfo, ty_map: dict[str, str]) -> None:
    """Read the names that a file gives to types.

    Raises:
        ValueError: A directive is not of the form ``key -> name``.

    """
    for code in file.code_blocks:
        if code.kind == "directive" and code.param[0] == "ty-map":
            key, arrow, name = code.param[1].partition("->")
            if not arrow:
                raise ValueError(f"ty-map at line {code.lineno_start}: expected A.B -> C.D")
            ty_map[key.strip()] = name.strip()


def _stage_2(
    files: list[FileInfo],
    ty_map: dict[str, str],
    init_cfg: InitConfig,
    init_path: Path,
    global_funcs: Mapping[str, list[FuncInfo]],
    generator: Generator,
) -> set[str]:
    """Write files for what has no block yet; return what their functions and types begin with."""
    with_functions = {prefix for prefix, _ in _blocks(files, "global")}
    left_out = set(_blocks(files, "object")) | _directives(files, "skip")
    root = init_cfg.prefix.strip().rstrip(".")
    keys = collect_type_keys()
    written = set()
    for prefix in sorted({*keys, *global_funcs}):
        if prefix != root and not prefix.startswith(f"{root}." if root else ""):
            continue
        functions = [] if prefix in with_functions else global_funcs.get(prefix, [])
        objects = toposort_objects(
            key
            for key in keys.get(prefix, ())
            if isinstance(key, str) and key not in left_out and not generator.is_builtin(key)
        )
        if not functions and not objects:
            continue
        written.add(prefix)
        folder = init_path.joinpath(*prefix.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        name = generator.api_filename()
        file = _file_of(files, folder / name)
        text = generator.generate_api_file(
            file.code_blocks, ty_map, prefix, objects, init_cfg, prefix == root
        )
        _append(file, text)
        file = _file_of(files, folder / generator.init_filename())
        _append(file, generator.generate_init_file(file.code_blocks, prefix, Path(name).stem))
    return written


def _file_of(files: list[FileInfo], path: Path) -> FileInfo:
    """Return a file among those that are read, which it is added to."""
    path = path.resolve()
    for file in files:
        if file.path == path:
            return file
    found = FileInfo.from_file(path, include_empty=True) if path.exists() else None
    made = found or FileInfo(path, (), [], syntax_for(path))
    files.append(made)
    return made


def _append(file: FileInfo, text: str) -> None:
    with file.path.open("a", encoding="utf-8") as stream:
        stream.write(text)
    file.reload()


def _add_objects(files: list[FileInfo], generator: Generator) -> list[tuple[FileInfo, str]]:
    """Give a file with a ``prefix`` directive blocks for the types whose keys begin so.

    Returns the files whose directives are wrong, with what is wrong.
    """
    declared, registered = _declared(files), collect_type_keys()
    owners: dict[str, Path] = {}
    wrong = []
    for file in files:
        prefixes = [
            (index, code.param[1].rstrip("."))
            for index, code in enumerate(file.code_blocks)
            if code.kind == "directive" and code.param[0] == "prefix"
        ]
        if not prefixes:
            continue
        at, prefix = prefixes[0]
        if len(prefixes) > 1:
            wrong.append((file, "more than one prefix directive"))
            continue
        if owners.setdefault(prefix, file.path) != file.path:
            wrong.append((file, f"the prefix {prefix} is that of {owners[prefix]}"))
            continue
        keys = registered.get(prefix, [])
        head = file.code_blocks[at]
        file.code_blocks[:] = [
            code
            for code in file.code_blocks
            if code.kind != "object"
            or code.param.rpartition(".")[0] != prefix
            or code.param in keys
        ]
        blocks = file.code_blocks
        if not any(code.kind == "import-section" for code in blocks):
            at = blocks.index(head) + 1
            blocks[at:at] = _new_blocks(file, "import-section")
        left_out = _directives([file], "skip")
        new = [
            key
            for key in keys
            if key not in declared and key not in left_out and not generator.is_builtin(key)
        ]
        after = (i for i, code in enumerate(blocks) if code.kind in ("object", "import-section"))
        at = max(after) + 1
        for info in reversed(toposort_objects(new)):
            blocks[at:at] = _new_blocks(file, f"object/{info.type_key}")
    return wrong


def _new_blocks(file: FileInfo, what: str) -> list[CodeBlock]:
    """Return an empty line and an empty block."""
    begin = f"{file.syntax.begin} {what}"
    block = CodeBlock.from_begin_line(0, begin, file.syntax)
    block.lines = [begin, file.syntax.end]
    return [CodeBlock(None, "", 0, 0, [""]), block]


def _stage_3(
    file: FileInfo,
    opt: Options,
    ty_map: dict[str, str],
    global_funcs: Mapping[str, list[FuncInfo]],
    generator: Generator,
    declared: Mapping[str, Path] | None = None,
) -> bool:
    """Write the blocks of a file anew and return whether they have changed.

    Raises:
        ValueError: A directive is not known, or a type is not registered.

    """
    imports = generator.new_imports()
    functions: set[str] = set()
    types: set[str] = set()
    missing = []
    for code in file.code_blocks:
        if code.kind == "directive" and code.param[0] not in consts.PIPELINE_DIRECTIVE_KINDS:
            name, payload = code.param
            if name not in generator.directive_kinds:
                raise ValueError(f"Unknown directive `{name}` at line {code.lineno_start}")
            generator.add_directive(imports, name, payload, code.lineno_start)
    for code in file.code_blocks:
        if code.kind == "global":
            found = list(global_funcs.get(code.param[0], ()))
            functions.update(each.schema.name for each in found)
            generator.generate_global_funcs_block(code, found, ty_map, imports, opt)
    for code in file.code_blocks:
        if code.kind == "object":
            key = code.param
            if _object_type_key_to_index(key) is None:
                missing.append(f"{key} (line {code.lineno_start})")
                continue
            types.add(generator.canonical_type_name(ty_map.get(key, key)))
            generator.generate_object_block(
                code,
                ty_map,
                imports,
                opt,
                object_info_from_type_key(key),
                _declared([file]) if declared is None else declared,
            )
    for code in file.code_blocks:
        if code.kind == "import-section":
            generator.generate_import_section_block(code, imports, opt, types)
        elif code.kind == "__all__":
            names = functions | types | generator.extra_export_names(imports)
            generator.generate_all_block(code, names, opt)
        elif code.kind == "export":
            generator.generate_export_block(code)
    changed = file.update(verbose=opt.verbose, dry_run=opt.dry_run)
    if missing:
        raise ValueError(f"types that are not registered: {', '.join(missing)}; delete the blocks")
    return changed


# ----------------------------------------------------------------------------------- arguments


def _options() -> Options:
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-stubgen",
        description="Writes type hints of what libraries register into blocks of source files.",
    )
    parser.add_argument("files", nargs="*", metavar="PATH", help="files, and folders of such")
    parser.add_argument("--imports", default="", metavar="MODULES", help="modules, divided by ;")
    parser.add_argument("--dlls", default="", metavar="LIBS", help="libraries, divided by ;")
    parser.add_argument("--init-pypkg", metavar="NAME", help="the distribution of new files")
    parser.add_argument("--init-lib", metavar="NAME", help="the name of its library")
    parser.add_argument("--init-prefix", metavar="PREFIX", help="what names in it begin with")
    parser.add_argument("--indent", type=int, default=4, help="spaces before a member")
    parser.add_argument("--target", default="python", choices=generator_names(), help="language")
    parser.add_argument("--verbose", action="store_true", help="print the differences")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it would")
    parser.add_argument(
        "--coverage-out", metavar="JSON", help="write which types' memory is known whole"
    )
    given = parser.parse_args()
    init = (given.init_pypkg, given.init_lib, given.init_prefix)
    if any(init) and not all(init):
        parser.error("--init-pypkg, --init-lib and --init-prefix belong together")
    if any(init) and given.check:
        parser.error("--check cannot be combined with --init-pypkg")
    if not given.files and (given.coverage_out is None or any(init)):
        parser.error("expected a file or a folder")
    return Options(
        imports=_divided(given.imports),
        dlls=_divided(given.dlls),
        init=InitConfig(*init) if all(init) else None,
        indent=given.indent,
        files=given.files,
        verbose=given.verbose,
        dry_run=given.dry_run or given.check,
        check=given.check,
        target=given.target,
        coverage_out=given.coverage_out,
    )


def _divided(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


if __name__ == "__main__":
    sys.exit(__main__())
