"""Check the exports of a VM bytecode module for malformed and contradictory texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fnabi._base import core
from fnabi.errors import FormatError
from fnabi.vmfb._export import Export
from fnabi.vmfb._records import Finding


def check_exports(exports: Iterable[Export]) -> Iterator[Finding]:
    """Yield the findings about the signatures of exports, in the order of the exports.

    A malformed calling convention is left out: the check of the module's tables reports it.
    """
    for index, export in enumerate(exports):
        where = f"exports[{index}]"
        rest = export._rest
        problems = ((rest.problem, rest.source is not None), (rest.sip_problem, False))
        for problem, passed_over in problems:
            if problem is not None and problem.key is not None:  # None: reported already
                yield Finding(
                    core.code_name(problem.code),
                    problem.offset,
                    problem.path,
                    core.code_text(problem.code),
                    "notice" if passed_over else "error",
                )
        if rest.source != "f" and "f" in rest.texts[::2]:
            fault = _raw_problem(export)
            if fault is not None and not fault.path.startswith(where):  # else: reported above
                path = f"{where}.{fault.path}"
                yield Finding(fault.code, fault.offset, path, fault.reason, "error")
        for text in export.disagreements:
            yield Finding("disagreement", None, where, text, "notice")
        if rest.ambiguity is not None:
            text = f"ambiguous declaration: {rest.ambiguity}"
            yield Finding("ambiguity", None, where, text, "notice")


def _raw_problem(export: Export) -> FormatError | None:
    try:
        _ = export.raw
    except FormatError as problem:
        return problem
    return None
