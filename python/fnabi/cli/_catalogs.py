"""Catalogs and the names of files in them, as several verbs use them."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fnabi._base.files import check_regular, is_duckdb
from fnabi._base.text import did_you_mean, known_names
from fnabi._base.url import is_remote
from fnabi.cli._arguments import is_module
from fnabi.cli._screen import complain, counted, one_line, where

if TYPE_CHECKING:
    from fnabi.many.catalog import Catalog


def open_catalog(path: str, lenient: bool = False) -> Catalog:
    """Open a catalog, or make one in memory of a module or a folder of modules."""
    from fnabi.many.catalog import Catalog

    if is_catalog(path):
        return Catalog(path)
    if not os.path.exists(path) and not is_remote(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
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
    catalog: Catalog, path: str, given: Mapping[str, str | None], tables: str = ""
) -> bool:
    """Say which patterns of names match no name at all, with names that are like them.

    Args:
        catalog: The catalog.
        path: The argument of the command that is the catalog.
        given: The patterns by columns of functions; None for any name.
        tables: The tables of the query that are not those of the catalog, for its ``WITH``.

    Returns:
        Whether there are such patterns.

    """
    told = False
    for column, glob in given.items():
        if glob is None:
            continue
        select = f"SELECT DISTINCT {column}, {column} GLOB $glob FROM functions"
        query = f"{tables and f'WITH {tables} '}{select} WHERE {column} IS NOT NULL ORDER BY 1"
        rows = catalog._rows(query, glob=glob)
        if any(matches for _, matches in rows):
            continue
        complain(where(path), f"{_NAMED[column]} {glob or repr('')}{_meant(column, glob, rows)}")
        told = True
    return told


def _meant(column: str, glob: str, rows: list[tuple[str, bool]]) -> str:
    """Return the end of an error about a pattern: names like it, or how to find those with it."""
    word = glob.strip("*?")
    names, stems = [name for name, _ in rows], []
    if column == "file":  # of which users know the end
        names = [f"*/{os.path.basename(name)}" for name in names]
        stems = [f"*{os.path.splitext(name)[0][2:]}*" for name in names]
    close = did_you_mean(word, dict.fromkeys((*names, *stems)))
    if close or not word:
        return one_line(close)
    if any(word in name for name, _ in rows):
        return f"; did you mean *{word}*?"
    return known_names(word, names)


def lenient_hint(catalog: Catalog) -> str:
    """Return the end of a text about files with errors, if ``--lenient`` helps for any."""
    # what it accepts are attributes, so other errors need no second look at their files
    query = "SELECT file FROM files WHERE error_path LIKE '%attrs[%' AND file_bytes IS NULL"
    helps = any(is_module(file) for (file,) in catalog._rows(query))
    return "; --lenient accepts invalid attributes of old compilers" if helps else ""


def told_of_unread(catalog: Catalog) -> bool:
    """Say that modules have errors; return whether any can be searched."""
    total = catalog._rows("SELECT count(*) FROM files")[0][0]
    errors = catalog._rows("SELECT file, error FROM files WHERE error IS NOT NULL")
    if len(errors) == total == 1:
        file, error = errors[0]
        complain(f"{shown_path(file)}: ", f"{error}{lenient_hint(catalog)}")
        return False
    if errors:
        hint = lenient_hint(catalog) or "; see fnabi scan"
        complain("", f"{len(errors)} of {counted(total, 'file')} cannot be read{hint}")
    return True


def shown_path(name: str) -> str:
    """Return the absolute name of a file relative to the current folder, if it is below that."""
    folder = os.getcwd().rstrip(os.sep) + os.sep
    return name.removeprefix(folder)
