"""The data of a page about a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fnabi.errors import CallError, FormatError
from fnabi.html._code import code_blocks
from fnabi.html._graph_data import GraphData
from fnabi.html._limits import Kept
from fnabi.html._values import exact, export_signature, signature_value, sip_value
from fnabi.vmfb import Export, Module, bytecode, costs, program
from fnabi.vmfb._facts import answers_of, flag_names, place_of, span_count, texts_of
from fnabi.vmfb._records import Finding
from fnabi.vmfb._verdict import Answers, ranges
from fnabi.vmfb.example import runner_function
from fnabi.vmfb.needs import Executable, Parameter, Target
from fnabi.vmfb.rodata import RodataSegment

_SHOWN_BY = "fnabi inspect shows them all."


def module_data(module: Module) -> tuple[dict[str, Any], list[str]]:
    """Return the data, and the blocks of code that it refers to."""
    kept = Kept()
    firsts, blocks = code_blocks(module, kept)
    exports = kept.rows(module._readable_exports().values(), "exported functions", _SHOWN_BY)
    steps, words = _steps(module, kept)
    data = {
        **head_data(module),
        "attrs": [[kept.text(key), kept.text(value)] for key, value in module.attrs.pairs],
        "exports": [_export(module, each, kept) | steps.get(each.ordinal, {}) for each in exports],
        "internal": [each | steps.get(each["ordinal"], {}) for each in _internal(module, kept)],
        "code": firsts,
        "words": words,
        "imports": [
            {
                "name": kept.text(each.full_name),
                "convention": kept.text(each.calling_convention),
                "registers": kept.text(_registers(each.calling_convention)),
                "flags": [name.lower() for name in flag_names(each.flags)],
                "attrs": [[kept.text(key), kept.text(value)] for key, value in each.attrs.pairs],
            }
            for each in kept.rows(module.imports, "imports", "fnabi inspect --imports shows all.")
        ],
        "types": kept.texts(kept.rows(module.types, "types", "fnabi inspect --json has all.")),
        "storage": _storage(module, kept),
        "needs": _needs(module, kept),
        **_checks(module, kept),
    }
    return data | {"left_out": kept.all_left_out()}, blocks


def head_data(module: Module) -> dict[str, Any]:
    """Return the facts at the head of a page, also for each side of a comparison."""
    state = module.state
    major, minor = module.bytecode_version
    return {
        "name": module.name,
        "module_version": module.version,
        "bytecode_version": f"{major}.{minor}",
        "features": flag_names(module.requirements),
        "dependencies": [
            [each.name, each.minimum_version, [name.lower() for name in flag_names(each.flags)]]
            for each in module.dependencies
        ],
        "file_size": module.layout.file_size,
        "state": None if state is None else [state.global_bytes_capacity, state.global_ref_count],
        "debug": module.debug is not None,
        "functions": [len(module._readable_exports()), len(module.functions)],
    }


# --------------------------------------------------------------------------------- functions


def _export(module: Module, export: Export, kept: Kept) -> dict[str, Any]:
    texts = texts_of(export)
    convention = texts["cconv"]
    found: dict[str, Any] = {
        "name": kept.text(export.name),
        "source": export.source,
        "async": export.is_async,
        "problem": None if export.problem is None else kept.text(str(export.problem)),
        "notes": kept.texts([*export.disagreements, *module.contradictions(export)]),
        "attrs": [
            [kept.text(key), kept.text(value), _error_of(texts, key)]
            for key, value in export.attrs.pairs
        ],
        "place": None,
        **_function(module, export.ordinal, export.calling_convention, kept),
    }
    if export.ambiguity is not None:
        found["notes"].append(f"ambiguous declaration: {export.ambiguity}")
    if export.source is not None:
        proofs = export.proofs
        found["signature"] = export_signature(export)
        found["run"] = None if runner_function(export.name) is None else kept.texts(_inputs(export))
        if proofs is not None and export.source == "bytecode":
            found["aliases"] = [
                None if each is None else [each.argument, each.kind] for each in proofs.aliases
            ]
        if proofs is not None and export.differences:
            found["proven"] = signature_value(proofs.signature, proofs)
    if not isinstance(convention, FormatError):
        spans = span_count(convention)
        sizes = convention.argument_size([0] * spans), convention.result_size()
        found["sizes"] = [*sizes, spans > 0]
    structure = texts.get("sip")
    if structure is not None and not isinstance(structure, FormatError):
        found["sip"] = [sip_value(structure.inputs), sip_value(structure.results)]
    place = place_of(module, export.name)
    if place is not None:
        found["place"] = kept.text(str(place.file or place))
    if export.result_storage:
        found["storage"] = list(export.result_storage.items())
    if export.transients is not None:
        found["transients"] = kept.text(str(export.transients).removeprefix(f"{export.name} "))
    return found


def _error_of(texts: dict[str, Any], key: str) -> str | None:
    found = texts.get("sip" if key == "abi" else key)
    return str(found) if isinstance(found, FormatError) else None


def _inputs(export: Export) -> list[str]:
    try:
        return export.runner_inputs()
    except CallError:  # the runner has no notation for a type
        return []


def _internal(module: Module, kept: Kept) -> Iterator[dict[str, Any]]:
    """Yield the functions that are not exported."""
    exported = {export.ordinal for export in module._readable_exports().values()}
    try:
        types = module.bytecode_types
    except FormatError:  # of an unknown version
        types = (None,) * len(module.functions)
    named = bytecode.names(module)
    rows = [each for each in module.functions if each.ordinal not in exported]
    for each in kept.rows(rows, "internal functions", "fnabi inspect --json has all."):
        proven = types[each.ordinal]
        found: dict[str, Any] = {
            "name": kept.text(named.get(each.ordinal, f"function[{each.ordinal}]")),
            "source": None if proven is None else "bytecode",
            "attrs": [[kept.text(key), kept.text(value), None] for key, value in each.attrs.pairs],
            **_function(module, each.ordinal, each.calling_convention, kept),
        }
        if proven is not None:
            found["signature"] = signature_value(proven.signature, proven)
        yield found


def _function(module: Module, ordinal: int, convention: str, kept: Kept) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ordinal": ordinal,
        "convention": kept.text(convention),
        "registers": kept.text(_registers(convention)),
    }
    if 0 <= ordinal < len(module.functions):
        function = module.functions[ordinal]
        found["code"] = [
            function.bytecode_offset,
            function.bytecode_length,
            function.block_count,
            function.i32_register_count,
            function.ref_register_count,
        ]
        found["features"] = flag_names(function.requirements)
    return found


def _steps(module: Module, kept: Kept) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """Return what functions do, and the memory that they take, by ordinal; and the words of it."""
    try:
        programs = program.read(module)
    except FormatError:  # bytecode of an unknown version
        return {}, []
    graphs = GraphData(module, programs, kept)
    found: dict[int, dict[str, Any]]
    found = {ordinal: {"steps": each} for ordinal, each in graphs.all().items()}
    for each, memory in zip(programs, costs.count(programs), strict=True):
        if each is None or memory is None or next(each.steps, None) is None:
            continue
        if memory.peak is None or memory.peak.terms:
            peak = "unknown" if memory.peak is None else f"{memory.peak} bytes at the peak"
            kept_by = f", {memory.results} of them in results" if memory.results else ""
            dims = each._dim_lines(peak)
            where = f", where {' and '.join(dims)}" if dims else ""
            found.setdefault(each.ordinal, {})["memory"] = kept.text(peak + kept_by + where)
    return found, graphs.words


def _registers(convention: str) -> str:
    from fnabi.abi import cconv

    try:
        return str(cconv.parse(convention.encode("utf-8", "surrogateescape")))
    except FormatError as problem:
        return problem.text


# ----------------------------------------------------------------------------------- storage


def _storage(module: Module, kept: Kept) -> dict[str, Any]:
    layout = module.layout
    segments = kept.rows(module.rodata, "read-only segments", "fnabi inspect --rodata shows all.")
    embedded = sum(each.size for each in module.rodata if not each.external)
    external = sum(each.size for each in module.rodata if each.external)
    code = len(module.bytecode)
    tables = max(0, layout.flatbuffer_size - code - embedded)
    rest = max(0, layout.file_size - layout.flatbuffer_size - external)
    left_out = sum(each.size for each in module.rodata[len(segments) :])
    return {
        "segments": [_segment(each, kept) for each in segments],
        "parts": {"bytecode": code, "tables": tables, "rest": rest, "left_out": left_out},
        "zeroed": [each.byte_size for each in module.rwdata],
    }


def _segment(segment: RodataSegment, kept: Kept) -> dict[str, Any]:
    found: dict[str, Any] = {
        "index": segment.index,
        "name": kept.text(segment.name or ""),
        "size": segment.size,
        "external": segment.external,
        "compression": segment.compression,
    }
    try:
        content = segment.content
    except FormatError as problem:  # outside the file
        return found | {"problem": problem.text}
    return found | {
        "offset": segment.offset,
        "kind": content.kind,
        "detail": kept.text(content.identifier or content.isa or ""),
    }


# ------------------------------------------------------------------------------------- needs


def _needs(module: Module, kept: Kept) -> dict[str, Any]:
    remedy = "fnabi inspect --needs shows all."
    answers = answers_of(module)
    hosts = () if answers is None else answers.hosts
    always = {
        "host_modules": kept.texts(kept.rows(hosts, "modules of the host", remedy)),
        "runtime": None if answers is None else _runtime(answers, kept),
        "transients": [
            {"name": kept.text(each.function), "text": kept.text(str(each))}
            for export in module._readable_exports().values()
            if (each := export.transients) is not None
        ],
    }
    try:
        targets, executables = module.targets, module.executables
        parameters = module.parameters
        inside, outside = costs.weights(module), costs.parameters(module)
    except FormatError as problem:
        return {
            "problem": problem.text,
            "weights": [0, 0],
            "parameter_sizes": [],
            "targets": [],
            "executables": [],
            "parameters": [],
            **always,
        }
    return {
        "problem": None,
        "targets": [_target(each, kept) for each in kept.rows(targets, "targets", remedy)],
        "executables": [
            _executable(each, kept) for each in kept.rows(executables, "executables", remedy)
        ],
        "weights": [len(inside), sum(each.size for each in inside)],
        "parameter_sizes": [
            [kept.text("?" if scope is None else scope), size]
            for scope, size in kept.rows([*outside.items()], "scopes of parameters", remedy)
        ],
        "parameters": [
            _parameter(each, kept) for each in kept.rows(parameters, "uses of parameters", remedy)
        ],
        **always,
    }


def _runtime(answers: Answers, kept: Kept) -> dict[str, Any]:
    """Return the releases that load the module, and others with the causes, newest first."""
    return {
        "loads": ranges(answers.loading()),
        **{
            name: [
                [ranges(group), kept.text(str(cause))]
                for group, cause in reversed(answers.by_cause(names))
            ]
            for name, names in (
                ("miscalls", answers.miscalling()),
                ("refuses", answers.loading(False)),
                ("unknown", answers.loading(None)),
            )
        },
    }


def _target(target: Target, kept: Kept) -> dict[str, Any]:
    return {
        "device": kept.text(target.device),
        "name": kept.text(target.name),
        "executables": [
            {
                "backend": kept.text(each.backend),
                "format": kept.text(each.format),
                "config": [[kept.text(key), kept.text(value)] for key, value in each.config],
            }
            for each in target.executables
        ],
    }


def _executable(executable: Executable, kept: Kept) -> dict[str, Any]:
    target = executable.target
    return {
        "name": kept.text(executable.name or ""),
        "format": executable.format and kept.text(executable.format),
        "segment": executable.segment,
        "size": executable.size,
        "isa": executable.isa,
        "triple": None if target is None else target.triple,
        "cpu": None if target is None else target.cpu,
        "features": kept.texts(executable.features),
        "entry_points": kept.texts(executable.entry_points),
    }


def _parameter(parameter: Parameter, kept: Kept) -> dict[str, Any]:
    return {
        "name": kept.text(parameter.full_name),
        "access": parameter.access,
        "offset": exact(parameter.offset),
        "size": exact(parameter.size),
    }


# ------------------------------------------------------------------------------------ checks


def _lengths(module: Module) -> tuple[Finding, ...]:
    try:
        return program.verify(module)
    except FormatError:  # bytecode of an unknown version is among the other findings
        return ()


def _checks(module: Module, kept: Kept) -> dict[str, Any]:
    """Return the severity, the code and the text of each finding, and the number of errors."""
    try:
        findings = (*module.check(), *_lengths(module))
    except FormatError as problem:
        place = problem.offset, problem.path
        findings = (Finding(problem.code, *place, problem.reason, "error"),)
    rows: list[tuple[str, Finding]] = [("skipped", each) for each in module.skipped]
    rows += [(each.severity, each) for each in findings]
    return {
        "checks": [
            [severity, each.code, kept.text(str(each).partition(": ")[2])]
            for severity, each in kept.rows(rows, "findings", "fnabi verify shows all.")
        ],
        "errors": sum(severity in ("error", "unsafe") for severity, _ in rows),
    }
