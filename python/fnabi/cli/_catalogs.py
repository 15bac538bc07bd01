"""Catalogs and the names of files in them, as several verbs use them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fnabi._base.files import check_regular, is_duckdb
from fnabi._base.text import did_you_mean, known_names, named_as
from fnabi.cli._arguments import check_exists, is_module
from fnabi.cli._screen import complain, counted, one_line, where

if TYPE_CHECKING:
    from fnabi.many.catalog import Catalog


def open_catalog(path: str, lenient: bool = False) -> Catalog:
    """Open a catalog, or make one in memory of a module or a folder of modules."""
    from fnabi.many.catalog import Catalog

    if is_catalog(path):
        return Catalog(path)
    check_exists(path)
    catalog = Catalog(None)
    catalog.update([path], threads=min(4, os.cpu_count() or 1), lenient=lenient)
    return catalog


def open_past(arguments: argparse.Namespace, path: str, option: str) -> Catalog:
    """Open a catalog for an option about the past, which modules do not have."""
    if os.path.isdir(path):
        arguments.usage(f"{option} needs a catalog, whose updates know what was before")
    from fnabi.many.catalog import Catalog

    return Catalog(path)


def is_catalog(path: str) -> bool:
    """Return whether a path is that of a catalog, not of modules."""
    try:
        check_regular(path)
        return is_duckdb(path)
    except OSError:
        return False


def has_modules(path: str) -> bool:
    """Return whether a path is a folder, a catalog or a module, in which verbs look for modules."""
    return os.path.isdir(path) or is_catalog(path) or is_module(path)


_NAMED = {
    "function": "no function is named",
    "module": "no module is named",
    "target": "no module is for",
    "file": "no file is named",
}
"""What to say of a pattern of each kind of names that matches none."""


def told_of_names(
    path: str, given: Mapping[str, str | None], names_of: Callable[[str], Sequence[str]]
) -> bool:
    """Say which patterns of names match no name at all, with names that are like them.

    Args:
        path: The argument of the command that is the catalog.
        given: The patterns by what has such a name: a file, module, function or target; None for
            any name.
        names_of: Returns all names of one of these, in order.

    Returns:
        Whether there are such patterns.

    """
    told = False
    for column, glob in given.items():
        if glob is None:
            continue
        names = names_of(column)
        if any(fnmatchcase(name, glob) for name in names):
            continue
        complain(where(path), f"{_NAMED[column]} {named_as(glob)}{_meant(column, glob, names)}")
        told = True
    return told


def names_in(catalog: Catalog, tables: str = "") -> Callable[[str], list[str]]:
    """Return a function that returns the names of a column of functions in a catalog.

    Args:
        catalog: The catalog.
        tables: The tables of the query that are not those of the catalog, for its ``WITH``.

    """

    def names_of(column: str) -> list[str]:
        select = f"SELECT DISTINCT {column} FROM functions WHERE {column} IS NOT NULL ORDER BY 1"
        query = f"{tables and f'WITH {tables} '}{select}"
        return [name for (name,) in catalog._rows(query, tuple[str])]

    return names_of


def _meant(column: str, glob: str, given: Sequence[str]) -> str:
    """Return the end of an error about a pattern: names like it, or how to find those with it."""
    word = glob.strip("*?")
    names, stems = [*given], []
    if column == "file":  # of which users know the end
        names = [f"*/{os.path.basename(name)}" for name in names]
        stems = [f"*{os.path.splitext(name)[0][2:]}*" for name in names]
    close = did_you_mean(word, dict.fromkeys((*names, *stems)))
    if close or not word:
        return one_line(close)
    if any(word in name for name in given):
        return f"; did you mean *{word}*?"
    return known_names(word, names)


def lenient_hint(catalog: Catalog) -> str:
    """Return the end of a text about files with errors, if ``--lenient`` helps for any."""
    query = "SELECT file, error_path FROM files WHERE error IS NOT NULL AND file_bytes IS NULL"
    return lenient_helps(catalog._rows(query, tuple[str, str | None]))


def lenient_helps(errors: Iterable[tuple[str, str | None]]) -> str:
    """Return the end of a text about files with errors, if ``--lenient`` helps for any.

    Args:
        errors: The files, and the parts of the modules that have the errors.

    """
    # what it accepts are attributes, so other errors need no second look at their files
    helps = any("attrs[" in (part or "") and is_module(file) for file, part in errors)
    return "; --lenient accepts invalid attributes of old compilers" if helps else ""


def told_of_unread(catalog: Catalog) -> bool:
    """Say that modules have errors; return whether any can be searched."""
    total = catalog._rows("SELECT count(*) FROM files")[0][0]
    query = "SELECT file, error FROM files WHERE error IS NOT NULL"
    errors = catalog._rows(query, tuple[str, str])
    return told_of_errors(total, errors, lambda: lenient_hint(catalog))


def told_of_errors(
    total: int, errors: Sequence[tuple[str, str]], lenient: Callable[[], str]
) -> bool:
    """Say that files have errors; return whether any can be searched.

    Args:
        total: The number of files.
        errors: Those that have errors, with these.
        lenient: Returns the end of a text about them, if ``--lenient`` helps.

    """
    if len(errors) == total == 1:
        file, error = errors[0]
        complain(f"{shown_path(file)}: ", f"{error}{lenient()}")
        return False
    if errors:
        complain(
            "",
            f"{len(errors)} of {counted(total, 'file')} cannot be read"
            f"{lenient() or '; see fnabi scan'}",
        )
    return True


def shown_path(name: str) -> str:
    """Return the absolute name of a file relative to the current folder, if it is below that."""
    folder = os.getcwd().rstrip(os.sep) + os.sep
    return name.removeprefix(folder)
