"""The text of ``fnabi inspect`` for a compiled module."""

from __future__ import annotations

import argparse
import re
from typing import Any

from fnabi import vmfb
from fnabi._base.dtype import NUMPY_OWN
from fnabi.abi import cconv, declaration
from fnabi.cli._screen import Part, Screen, counted, name_width, one_line, plain, signature
from fnabi.cli._values import finding_text
from fnabi.cli.verbs.inspect._needs import show_needs, show_needs_head
from fnabi.errors import FormatError
from fnabi.types import Buffer, DType, Named, Scalar
from fnabi.vmfb._export import UNTYPED
from fnabi.vmfb._facts import Texts, answers_of, flag_names, place_of, span_count


def show(
    arguments: argparse.Namespace, module: vmfb.Module, found: list[tuple[vmfb.Export, Texts]]
) -> None:
    """Show the module, or one function of it, and the sections that are asked for."""
    screen = Screen()
    name = arguments.function
    if name is None:
        _show_head(screen, module)
        _show_functions(screen, found)
    for export, texts in found if name is not None else ():
        _show_function(screen, module, export, texts)
    if arguments.imports:
        _show_imports(screen, module)
    if arguments.needs:
        show_needs(screen, module)
    if arguments.rodata:
        from fnabi.cli.verbs.inspect._rodata import show_rodata

        show_rodata(screen, module)
    if arguments.debug:
        _show_debug(screen, module, name)


def _show_head(screen: Screen, module: vmfb.Module) -> None:
    major, minor = module.bytecode_version
    screen.write(
        "module ",
        (one_line(module.name), "name"),
        f", version {module.version}, bytecode {major}.{minor}",
    )
    if module.requirements:
        screen.write("requires ", ", ".join(flag_names(module.requirements)))
    for dependency in module.dependencies:
        flags = flag_names(dependency.flags)
        optional = "" if flags == ["REQUIRED"] else f", {', '.join(flags).lower() or 'no flags'}"
        version = f"version {dependency.minimum_version} or newer"
        screen.write(f"depends on {one_line(dependency.name)}, {version}{optional}")
    answers = answers_of(module)
    if answers is not None:  # else the checks report it
        screen.write(one_line(str(answers)))
    sizes = [f"{module.layout.file_size} bytes"]
    sizes.append(f"{len(module.bytecode)} of bytecode")
    if module.rodata:
        size = sum(segment.size for segment in module.rodata)
        sizes.append(f"{size} in {counted(len(module.rodata), 'read-only segment')}")
    if module.rwdata:
        size = sum(segment.byte_size for segment in module.rwdata)
        sizes.append(f"{size} wanted in {counted(len(module.rwdata), 'zeroed segment')}")
    screen.write("size ", ", ".join(sizes))
    state = module.state
    if state is not None and (state.global_bytes_capacity or state.global_ref_count):
        references = counted(state.global_ref_count, "reference")
        screen.write(f"state {state.global_bytes_capacity} bytes, {references}")
    show_needs_head(screen, module)
    for key, value in module.attrs.pairs:
        screen.write("attribute ", (one_line(key), "key"), f" = {one_line(value)}")
    for finding in module.skipped:
        screen.write(("skipped ", "notice"), finding_text(finding))


def _show_functions(screen: Screen, found: list[tuple[vmfb.Export, Texts]]) -> None:
    screen.write(counted(len(found), "function"))
    width = name_width(one_line(export.name) for export, _ in found)
    for export, texts in found:
        source = export.source
        name = one_line(export.name)
        padding = " " * (width - len(name))
        if source is None:
            screen.write("  ", (name, "name"), padding, "  ", ("?", "bad"))
        else:
            about = f"[{source}{', async' if export.is_async else ''}]"
            text = signature(export.signature_text)
            screen.write("  ", (name, "name"), padding, "  ", text, "  ", (about, "about"), hang=6)
        _show_more(screen, export, texts)


def _show_more(screen: Screen, export: vmfb.Export, texts: Texts) -> None:
    """Show what deserves a line besides the signature of a function."""
    indent = " " * 6
    source = export.source
    if source is None:
        screen.block(indent, "error", plain(str(export.problem)), "bad")
        if not isinstance(texts.get("cconv"), FormatError):
            screen.block(indent, "cconv", one_line(export.calling_convention))
    elif export.problem is not None:
        screen.block(indent, "notice", plain(f"ignored: {export.problem}"), "notice")
    if source not in (None, "f") and "f" in texts:
        value = texts["f"]
        if isinstance(value, FormatError):
            screen.block(indent, "f", plain(str(value)), "bad")
        elif value.without_names() != export.signature.without_names():
            screen.block(indent, "f", signature(str(value)))
    if "sip" in texts:
        value = texts["sip"]
        if isinstance(value, FormatError):
            screen.block(indent, "sip", plain(str(value)), "bad")
        else:
            screen.block(indent, "sip", signature(str(value)))
    if source is not None:
        _show_proofs(screen, indent, export)
    if export.result_allocator is not None:
        screen.block(indent, "fbr", one_line(export.result_allocator))
    if isinstance(texts["cconv"], FormatError) and source is not None:
        screen.block(indent, "cconv", plain(str(texts["cconv"])), "bad")
    _show_ambiguity(screen, indent, export)


def _show_ambiguity(screen: Screen, indent: str, export: vmfb.Export) -> None:
    for text in export.disagreements:
        screen.block(indent, "notice", one_line(text), "notice")
    if export.ambiguity is not None:
        screen.block(indent, "notice", f"ambiguous declaration: {export.ambiguity}", "notice")


def _show_proofs(screen: Screen, indent: str, export: vmfb.Export) -> None:
    """Show the signature in the bytecode where it says more, or something else."""
    if export.differences:
        screen.block(indent, "bytecode", signature(str(export.proofs)))


def _show_function(screen: Screen, module: vmfb.Module, export: vmfb.Export, texts: Texts) -> None:
    """Show a function in detail."""
    screen.write("function ", (one_line(export.name), "name"), f", ordinal {export.ordinal}")
    place = place_of(module, export.name)
    if place is not None:
        screen.write(f"  from {one_line(str(place.file or place))}")
    source = export.source
    if source is None:
        screen.write("  signature ", ("?", "bad"))
        screen.block("    ", "error", plain(str(export.problem)), "bad")
    else:
        about = f"[{source}{', async' if export.is_async else ''}]"
        screen.write("  signature ", (about, "about"))
        parsed = texts.get(source) if source == "iree.abi.declaration" else None
        sides = ("inputs", "results")
        rows = [_row(side, i, export, parsed) for side in sides for i in _indexes(export, side)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        for name, type, dtype, attributes in rows:
            screen.write(
                "    ",
                (f"{name:{widths[0]}}  ", "name"),
                signature(f"{type:{widths[1]}}"),
                "  ",
                (f"{dtype:{widths[2]}}  ", "about"),
                attributes,
            )
        if export.problem is not None:
            screen.block("    ", "notice", plain(f"ignored: {export.problem}"), "notice")
        _show_ambiguity(screen, "    ", export)
        for text in module.contradictions(export):
            screen.block("    ", "notice", one_line(text), "notice")
        _show_proofs(screen, "    ", export)
    _show_convention(screen, export, texts["cconv"])
    if export.attrs:
        screen.write("  attributes")
    for key, value in export.attrs.pairs:
        text = signature(value) if key == "iree.abi.declaration" else one_line(value)
        screen.write("    ", (one_line(key), "key"), " = ", text, hang=8)
        read = texts.get("sip" if key == "abi" else key)
        if isinstance(read, FormatError):
            screen.error(6, read)
        elif read is not None:
            screen.write("      ", signature(str(read)))
    if 0 <= export.ordinal < len(module.functions):
        function = module.functions[export.ordinal]
        screen.write(
            f"  bytecode {function.bytecode_length} bytes at {function.bytecode_offset},"
            f" {counted(function.block_count, 'block')}"
        )
        numbers = counted(function.i32_register_count, "32-bit register")
        references = counted(function.ref_register_count, "reference register")
        screen.write(f"  uses {numbers}, {references}")
        if function.requirements:
            screen.write(f"  requires {', '.join(flag_names(function.requirements))}")
        from fnabi.cli.verbs.inspect._program import show_memory  # slow

        show_memory(screen, module, export.ordinal)


def _indexes(export: vmfb.Export, side: str) -> range:
    return range(len(getattr(export.signature, side)))


def _row(side: str, index: int, export: vmfb.Export, parsed: Any) -> tuple[str, str, str, str]:
    """Return the name, type, NumPy dtype and attributes of an argument or result."""
    type = getattr(export.signature, side)[index]
    name = f"{side}[{index}]"
    if isinstance(type, Named):
        name, type = f"{name} {one_line(type.name)}", type.type
    dtype = attributes = ""
    has_dtype = Buffer if export.source in UNTYPED else (Buffer, Scalar)
    if isinstance(type, has_dtype):  # a register has none
        dtype = _numpy_name(type.dtype)
    text, proofs = str(type), export.proofs if export.source == "bytecode" else None
    if proofs is not None:
        text = proofs.texts()[side == "results"][index]
        alias = proofs.aliases[index] if side == "results" else None
        if alias is not None:
            kind = "storage of " if alias.kind == "storage" else ""
            attributes = f"= {kind}inputs[{alias.argument}]"
    if isinstance(parsed, declaration.Declaration):
        value = getattr(parsed, side)[index]
        attributes = ", ".join(f"{key} = {text}" for key, text in value.attributes)
    return name, one_line(text), dtype, one_line(attributes)


_ML_DTYPES = (
    r"bfloat16|u?int[24]|float8_(e3m4|e4m3|e4m3b11fnuz|e4m3fn|e4m3fnuz|e5m2|e5m2fnuz|e8m0fnu)"
    r"|float6_(e2m3fn|e3m2fn)|float4_e2m1fn"
)


def _numpy_name(dtype: DType) -> str:
    """Return the NumPy or ml_dtypes name of a dtype, whether that package is installed or not."""
    name = f"int{dtype.bits}" if dtype.kind == "signless" else str(dtype)
    if name in NUMPY_OWN:
        return f"numpy.{name}"
    return f"ml_dtypes.{name}" if re.fullmatch(_ML_DTYPES, name) else ""


def _show_convention(screen: Screen, export: vmfb.Export, convention: Any) -> None:
    screen.write(f"  calling convention {one_line(export.calling_convention)}")
    if isinstance(convention, FormatError):
        screen.error(4, convention)
        return
    screen.write("    ", signature(str(convention)))
    spans = span_count(convention)
    empty = " and more for each element of a span" if spans else ""
    arguments = convention.argument_size([0] * spans)
    results = convention.result_size()
    screen.write(f"    arguments in {arguments} bytes{empty}, results in {results} bytes")
    if export.is_async:
        screen.write("    async: the last two arguments are fences, to wait for and to signal")


def _show_imports(screen: Screen, module: vmfb.Module) -> None:
    screen.write(counted(len(module.imports), "import"))
    width = name_width(one_line(each.full_name) for each in module.imports)
    for each in module.imports:
        flags = flag_names(each.flags)
        about = "" if flags in (["REQUIRED"], []) else f", {', '.join(flags).lower()}"
        name = one_line(each.full_name)
        try:
            convention = cconv.parse(each.calling_convention.encode("utf-8", "surrogateescape"))
            text: Part = signature(str(convention))
        except FormatError as problem:
            text = one_line(problem.text.partition("\n")[0]), "bad"
        about = f"[{one_line(each.calling_convention)}{about}]"
        padding = " " * (width - len(name))
        screen.write("  ", (name, "name"), padding, "  ", text, "  ", (about, "about"), hang=6)
        for key, value in each.attrs.pairs:
            screen.write("      ", (one_line(key), "key"), f" = {one_line(value)}")


_SHOWN = 4
"""The most names of functions without locations that are shown."""


def _show_debug(screen: Screen, module: vmfb.Module, function: str | None) -> None:
    database = module.debug
    if database is None:
        screen.write(
            "no debug database, which iree-compile writes without"
            " --iree-vm-bytecode-module-strip-source-map"
        )
        return
    recorded = {each.local_name for each in database.functions}
    maps = [each for each in database.functions if function in (None, each.local_name)]
    locations = counted(len(database.locations), "location")
    screen.write(f"debug database, {locations}, {counted(len(maps), 'function')}")
    width = name_width(one_line(each.local_name) for each in maps)
    where: dict[str, str] = {}
    texts: dict[int, str] = {}
    for each in maps:
        operations = counted(len(each.locations), "operation")
        if each.local_name not in where:
            place = place_of(module, each.local_name)
            shown = "at no known place" if place is None else f"from {place.file or place}"
            where[each.local_name] = one_line(shown)
        name = one_line(each.local_name).ljust(width)
        screen.write("  ", (name, "name"), f"  {operations}  {where[each.local_name]}")
        for operation in each.locations if function is not None else ():
            row = operation.location
            if row not in texts:
                texts[row] = one_line(str(database.resolve(row)))
            screen.write(f"    {operation.bytecode_offset:6}  {texts[row]}", hang=12)
    names = [function] if function is not None else [*module.exports]
    without = [name for name in dict.fromkeys(names) if name not in recorded]
    if without:
        shown = ", ".join(map(one_line, without[:_SHOWN]))
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        screen.write(("  the compiler recorded no locations of ", "about"), f"{shown}{more}")
