"""The JSON of ``fnabi inspect`` for a compiled module."""

from __future__ import annotations

from typing import Any

from fnabi import vmfb
from fnabi.cli._streams import print_json
from fnabi.cli._values import error_json, fields, json_value
from fnabi.cli.verbs.inspect._needs import needs_json
from fnabi.cli.verbs.inspect._rodata import rodata_json
from fnabi.errors import FormatError
from fnabi.vmfb import bytecode, debug
from fnabi.vmfb._facts import Texts, flag_names, place_of, span_count
from fnabi.vmfb._infer import Proofs

_INSPECT_SCHEMA = "fnabi.inspect/1"


def print_module(module: vmfb.Module, found: list[tuple[vmfb.Export, Texts]]) -> None:
    print_json(_module_json(module, found), indent=2)


def _module_json(module: vmfb.Module, found: list[tuple[vmfb.Export, Texts]]) -> dict[str, Any]:
    names = bytecode.names(module)
    from fnabi.cli.verbs.inspect._program import memory_json  # slow

    memory = memory_json(module)
    return {
        "schema": _INSPECT_SCHEMA,
        "name": module.name,
        "version": module.version,
        "bytecode_version": list(module.bytecode_version),
        "requirements": int(module.requirements),
        "features": flag_names(module.requirements),
        "attrs": json_value(module.attrs.pairs),
        **needs_json(module),
        "layout": fields(module.layout),
        "bytecode_size": len(module.bytecode),
        "types": list(module.types),
        "dependencies": [
            {
                "name": each.name,
                "minimum_version": each.minimum_version,
                "flags": flag_names(each.flags),
            }
            for each in module.dependencies
        ],
        "imports": [
            {
                "full_name": each.full_name,
                "calling_convention": each.calling_convention,
                "flags": flag_names(each.flags),
                "attrs": json_value(each.attrs.pairs),
            }
            for each in module.imports
        ],
        "exports": [_export_json(module, export, texts) for export, texts in found],
        "functions": [
            {
                "name": names.get(ordinal),
                "calling_convention": each.calling_convention,
                "attrs": json_value(each.attrs.pairs),
                "bytecode_offset": each.bytecode_offset,
                "bytecode_length": each.bytecode_length,
                "requirements": int(each.requirements),
                "features": flag_names(each.requirements),
                "block_count": each.block_count,
                "i32_register_count": each.i32_register_count,
                "ref_register_count": each.ref_register_count,
                "memory": memory[ordinal] if ordinal < len(memory) else None,
            }
            for ordinal, each in enumerate(module.functions)
        ],
        "rodata": rodata_json(module),
        "rwdata": [fields(each) for each in module.rwdata],
        "state": None if module.state is None else fields(module.state),
        "debug": None if module.debug is None else _debug_json(module.debug),
        "skipped": [fields(finding) for finding in module.skipped],
    }


def _export_json(module: vmfb.Module, export: vmfb.Export, texts: Texts) -> dict[str, Any]:
    source, problem = export.source, export.problem
    place = place_of(module, export.name)
    sizes = None
    convention = texts["cconv"]
    if not isinstance(convention, FormatError):
        sizes = {
            "arguments": convention.argument_size([0] * span_count(convention)),
            "results": convention.result_size(),
        }
    return {
        "name": export.name,
        "ordinal": export.ordinal,
        "calling_convention": export.calling_convention,
        "buffer_sizes": sizes,
        "attrs": json_value(export.attrs.pairs),
        "result_allocator": export.result_allocator,
        "async": export.is_async,
        "source": source,
        "signature": None if source is None else json_value(export.signature),
        "problem": None if problem is None else error_json(problem),
        "ambiguity": export.ambiguity,
        "disagreements": list(export.disagreements),
        "contradictions": list(module.contradictions(export)),
        "differences": []
        if source is None
        else [
            {
                "side": each.side,
                "index": each.index,
                "stated": str(each.stated),
                "bytecode": each.text,
                "contradictory": each.contradictory,
            }
            for each in export.differences
        ],
        "proofs": None if export.proofs is None else _proofs_json(export.proofs),
        "texts": {
            name: {"error": error_json(value)}
            if isinstance(value, FormatError)
            else {"value": json_value(value)}
            for name, value in texts.items()
        },
        "location": None if place is None else str(place),
    }


def _proofs_json(proofs: Proofs) -> dict[str, Any]:
    inputs, results = proofs.dims
    return {
        "signature": json_value(proofs.signature),
        "text": str(proofs),
        "dims": {"inputs": inputs, "results": results},
        "aliases": [None if each is None else fields(each) for each in proofs.aliases],
        "fences": fields(proofs.fences),
        "lengths": proofs.lengths,
    }


def _debug_json(database: debug.Database) -> dict[str, Any]:
    return {
        "locations": [json_value(location) for location in database.locations],
        "functions": [
            {
                "local_name": each.local_name,
                "locations": [[o.bytecode_offset, o.location] for o in each.locations],
            }
            for each in database.functions
        ],
    }
