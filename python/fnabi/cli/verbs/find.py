"""``fnabi find``: search functions by signature, in a catalog or in modules."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from fnabi._base.files import Found
from fnabi._base.url import is_remote, public
from fnabi.cli._arguments import add_lenient, add_moment, check_exists, refuse_swapped, whole
from fnabi.cli._catalogs import (
    has_modules,
    is_catalog,
    lenient_helps,
    names_in,
    open_catalog,
    open_past,
    shown_path,
    told_of_errors,
    told_of_names,
)
from fnabi.cli._problems import tell
from fnabi.cli._runtime import add_runtime
from fnabi.cli._screen import Screen, complain, counted, name_width, one_line, signature, where
from fnabi.cli._streams import print_json
from fnabi.errors import CallError, FormatError
from fnabi.many import pattern
from fnabi.many._search import Match, search_for, value_of_array
from fnabi.many.pattern._types import unknown_dtypes

_SCHEMA = "fnabi.find/1"
_NAMES = ("function", "module", "target", "file")
_NONE_FOUND = 1
_BAD_INPUT = 3


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "catalog",
        type=public,
        metavar="CATALOG",
        help="a catalog; or a folder of modules or one module, which are read for this search",
    )
    verb.add_argument(
        "pattern",
        metavar="PATTERN",
        nargs="?",
        default="* -> *",
        help='such as "f32[?,3,224,224] -> f32[?,1000]"; "_" is any dim, "*" any number of dims or'
        ' values, a name such as B a dim that is the same everywhere, and "any", "float" and "int"'
        " are classes of types (default: any signature)",
    )
    verb.add_argument(
        "--accepts",
        metavar="ARRAY.npy",
        nargs="+",
        action="extend",
        help="find functions that accept these arrays as their arguments, in this order",
    )
    verb.add_argument("--exact", action="store_true", help="leave out wider matches")
    for name, what in (
        ("function", "functions of this name"),
        ("module", "functions of modules of this name"),
        ("target", "functions of modules for this device or format"),
        ("file", "functions in files of this name"),
    ):
        verb.add_argument(f"--{name}", metavar="GLOB", help=f'find {what}; "*" is any text')
    add_runtime(
        verb,
        "find functions of modules that all these releases of IREE's runtime load",
        where=False,
    )
    add_moment(
        verb,
        "--at",
        "search the catalog as it was at this time: 2026-10-01, '2026-10-01 14:00', 7d or 12h ago",
    )
    verb.add_argument("--limit", metavar="N", type=whole(1), help="show at most N functions")
    verb.add_argument("--sql", action="store_true", help="show the query instead of running it")
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    arrays = None
    if arguments.accepts is not None:
        if any("->" in path and not os.path.exists(path) for path in arguments.accepts):
            arguments.usage("--accepts takes all values after it, so write PATTERN before it")
        from fnabi.cli._call_values import ArgumentError, load_array  # slow

        try:
            arrays = [load_array(path, "--accepts") for path in arguments.accepts]
            for path, array in zip(arguments.accepts, arrays, strict=True):
                value_of_array(array, path)
        except (ArgumentError, CallError) as problem:
            complain("", problem)
            return _BAD_INPUT
    at = arguments.at and arguments.at.replace(tzinfo=None)
    if not os.path.exists(arguments.catalog) and has_modules(arguments.pattern):
        words = ["find", arguments.pattern, arguments.catalog]
        refuse_swapped(arguments, "CATALOG and PATTERN", words)
    names = {name: getattr(arguments, name) for name in _NAMES}
    try:
        search = search_for(
            arguments.pattern,
            accepts=arrays,
            exact=arguments.exact,
            limit=arguments.limit,
            runtime=arguments.runtime,
            **names,
        )
    except FormatError as problem:
        tell(problem, hint=_with_arrow(arguments.pattern))
        return _BAD_INPUT
    if arguments.sql:
        from fnabi.many.catalog._search import search_query  # slow, as all of catalogs is

        print(search_query(search, at))
        return 0
    if at is None and not is_catalog(arguments.catalog):
        from fnabi.many._find import find  # slow, as all of modules is

        searched = find(_files(arguments.catalog), search, lenient=arguments.lenient)
        errors = [(file, error.text) for file, error in searched.errors]
        parts = [(file, error.path) for file, error in searched.errors]
        if not told_of_errors(searched.files, errors, lambda: lenient_helps(parts)):
            return _BAD_INPUT
        return _end(arguments, searched.matches, lambda column: sorted(searched.names[column]))
    from fnabi.many.catalog._history import as_of

    with (
        open_catalog(arguments.catalog)
        if at is None
        else open_past(arguments, arguments.catalog, "--at")
    ) as catalog:
        found = catalog.find(
            search.pattern,
            exact=search.exact,
            limit=search.limit,
            runtime=arguments.runtime,
            at=arguments.at,
            **names,
        )
        return _end(arguments, found, names_in(catalog, "" if at is None else as_of(at)))


def _files(path: str) -> Iterator[Found]:
    """Yield the modules of a path, with absolute names as those in a catalog."""
    from fnabi.vmfb._walk import walk

    check_exists(path)
    name = path if is_remote(path) else os.path.abspath(path)
    return walk(name, "fnabi find", status=False)


def _end(
    arguments: argparse.Namespace, found: list[Match], names_of: Callable[[str], Sequence[str]]
) -> int:
    """Show what was found, and if it is nothing, say why as far as that is known."""
    if arguments.json:
        for match in found:
            print_json(_match_json(match))
    else:
        _show(found)
    if found:
        return 0
    given = {name: getattr(arguments, name) for name in _NAMES}
    told = [
        told_of_names(arguments.catalog, given, names_of),
        _told_of_dtypes(arguments.pattern),
    ]
    if arguments.json and not any(told):
        complain(where(arguments.catalog), "no function fits")
    return _NONE_FOUND


def _told_of_dtypes(text: str) -> bool:
    """Say which dtypes of the pattern no compiler has; return whether there are any."""
    unknown = unknown_dtypes(pattern.parse(text))
    for name, usual in unknown.items():
        complain("", f"{name} is not a dtype of any compiler; did you mean {usual}?")
    return bool(unknown)


def _with_arrow(text: str) -> str:
    """Return the end of an error about a pattern that may lack its results alone."""
    import shlex  # which few runs need

    try:
        pattern.parse(f"{text} -> *")
    except FormatError:
        return ""
    return f"; did you mean {shlex.quote(f'{text.strip()} -> *')}?"


def _show(found: list[Match]) -> None:
    screen = Screen()
    for file, group in groupby(found, key=lambda match: match.file):
        matches = [*group]
        stale = matches[0].stale
        mark = () if stale is None else (f"  stale: {one_line(shown_path(stale))}",)
        screen.write((one_line(shown_path(file)), "name"), *mark)
        width = name_width(one_line(match.function) for match in matches)
        for match in matches:
            how = ("exact", "good") if match.exact else (f"wider {match.differences}", "notice")
            screen.write(
                "  ",
                (f"{how[0]:8}", how[1]),
                (one_line(match.function).ljust(width), "name"),
                "  ",
                signature(str(match.signature)),
                hang=14,
            )
    exact = sum(match.exact for match in found)
    kinds = f", {exact} exact" if 0 < exact < len(found) else ""
    files = counted(len({match.file for match in found}), "file")
    screen.write(f"{counted(len(found), 'function')} in {files}{kinds}")


def _match_json(match: Match) -> dict[str, Any]:
    from fnabi.cli._values import json_value  # which imports every ABI

    return {
        "schema": _SCHEMA,
        "file": match.file,
        "module": match.module,
        "function": match.function,
        "source": match.source,
        "match": "exact" if match.exact else "wider",
        "differences": match.differences,
        "stale": match.stale,
        "signature": {"text": one_line(str(match.signature)), "value": json_value(match.signature)},
    }
