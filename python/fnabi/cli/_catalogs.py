"""Catalogs and the names of files in them, as several verbs use them."""

from __future__ import annotations

import argparse
import errno
import os
from typing import TYPE_CHECKING

from fnabi._base.files import check_regular, is_duckdb
from fnabi._base.url import is_remote
from fnabi.cli._arguments import opens_leniently
from fnabi.cli._screen import complain, counted

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


def lenient_hint(catalog: Catalog) -> str:
    """Return the end of a text about files with errors, if ``--lenient`` helps for any."""
    # what it accepts are attributes, so other errors need no second look at their files
    query = "SELECT file FROM files WHERE error_path LIKE '%attrs[%' AND file_bytes IS NULL"
    helps = any(opens_leniently(file) for (file,) in catalog._rows(query))
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
