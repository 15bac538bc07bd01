"""Pages of HTML about modules and libraries, each in one file that needs nothing else.

A page has a table of functions to search and sort, typed signatures and structures, the sizes of
all data as a picture, the steps of each function as a graph, and its bytecode::

    >>> from pathlib import Path
    >>> from fnabi import html, vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     _ = Path("page.html").write_text(html.render(module, "model.vmfb"))

The page loads nothing, and its policy forbids the browser to. All that comes from a file is data in
JSON, which the page's script inserts as text; it shows control characters escaped. What exceeds the
limits of a page is left out, and the page says so.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fnabi._base.arguments import check_attribute, check_items, check_type
from fnabi._base.text import one_line
from fnabi.calls.library import Library, LibraryFile
from fnabi.compat import Comparison, FileComparison
from fnabi.errors import ArgumentTypeError, ArgumentValueError, type_name
from fnabi.html._catalog_data import catalog_data
from fnabi.html._diff_data import diff_data, folders_data
from fnabi.html._library_data import library_data
from fnabi.html._module_data import module_data
from fnabi.html._plain import plain_tables
from fnabi.vmfb import Module
from fnabi.vmfb.example import runner_module

if TYPE_CHECKING:
    from fnabi.many.catalog import Catalog

__all__ = ["render", "render_catalog", "render_diff", "render_folders"]


def __dir__() -> list[str]:
    return __all__


_SHARED = ("document", "types", "search", "table")
"""The scripts of every page, before its own."""

_OWN = {
    "module": (
        *("module_functions", "module_graph", "module_code", "module_storage", "module_needs"),
        "module",
    ),
    "library": ("library",),
    "catalog": ("catalog",),
    "diff": ("changes", "diff"),
    "folders": ("changes", "folders"),
}


def render(shown: Module | Library | LibraryFile, file: str = "") -> str:
    """Render a page about a module or a library.

    The types of a library's functions come from functions of the library, which run where it is
    loaded: a `Library`, not a `LibraryFile`. Of a module where an export refers to a function that
    the module does not have, the page has the finding in place of the exports.

    Args:
        shown: The module or library.
        file: The name of its file, for the title.

    Returns:
        The page, which has only ASCII characters.

    Raises:
        CallError: When `shown` is something else, or a closed module.
        FormatError: When the file of the module has changed.

    Example:
        >>> from pathlib import Path
        >>> from fnabi import html, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> _ = Path("page.html").write_text(html.render(module, "classifier.vmfb"))

    """
    check_type("html.render: file", file, str)
    if isinstance(shown, Module):
        data, blocks = module_data(shown)
        data["runner"] = runner_module(file if file and file.isprintable() else "FILE")
        return _page("module", data, file, blocks)
    if isinstance(shown, (Library, LibraryFile)):
        return _page("library", library_data(shown), file)
    raise ArgumentTypeError(
        f"html.render: shown: expected Module, Library or LibraryFile, got {type_name(shown)}"
    )


def render_diff(
    old: Module,
    new: Module,
    files: tuple[str, str] = ("", ""),
    comparison: Comparison | None = None,
) -> str:
    """Render a page about the differences of two modules for their callers.

    Args:
        old: The module that callers were written for.
        new: The module that they would use.
        files: The names of the files, for the title.
        comparison: The result of `compat.compare`, if it is there already.

    Returns:
        The page, which has only ASCII characters.

    Raises:
        CallError: When an argument has another type, or a module is closed.
        FormatError: When an export refers to a function that its module does not have.

    Example:
        >>> from pathlib import Path
        >>> from fnabi import html, vmfb
        >>> old, new = (vmfb.open(f"examples/releases/{each}/rank.vmfb") for each in ("1.0", "2.0"))
        >>> _ = Path("diff.html").write_text(html.render_diff(old, new, ("rank 1.0", "rank 2.0")))

    """
    for name, module in (("old", old), ("new", new)):
        if not isinstance(module, Module):  # a baseline has exports too
            check_attribute(f"html.render_diff: {name}", module, "exports", "a Module")
    if comparison is not None:
        check_type("html.render_diff: comparison", comparison, Comparison)
    title = _title("html.render_diff: files", files)
    return _page("diff", diff_data(old, new, comparison), title)


def render_folders(found: Sequence[FileComparison], folders: tuple[str, str] = ("", "")) -> str:
    """Render a page about the differences of the modules of two folders.

    Args:
        found: The results of `compat.compare_folders`.
        folders: The names of the folders, for the title.

    Returns:
        The page, which has only ASCII characters.

    Raises:
        CallError: When an argument has another type.

    Example:
        >>> from pathlib import Path
        >>> from fnabi import compat, html
        >>> folders = "examples/releases/1.0", "examples/releases/2.0"
        >>> found = [*compat.compare_folders(*folders)]
        >>> _ = Path("folders.html").write_text(html.render_folders(found, folders))

    """
    found = check_items("html.render_folders: found", found, FileComparison)
    return _page("folders", folders_data(found), _title("html.render_folders: folders", folders))


def render_catalog(catalog: Catalog, file: str = "") -> str:
    """Render a page about a catalog: an overview of its modules, and all their functions.

    Args:
        catalog: The catalog.
        file: Its name, for the title.

    Returns:
        The page, which has only ASCII characters.

    Raises:
        CallError: When the catalog is closed.
        FileNotFoundError: When there is no catalog.

    Example:
        >>> from pathlib import Path
        >>> import fnabi
        >>> with fnabi.Catalog("models.duckdb") as catalog:
        ...     updated = catalog.update("examples/releases/1.0")
        ...     _ = Path("catalog.html").write_text(fnabi.html.render_catalog(catalog))

    """
    from fnabi.many.catalog import Catalog

    check_type("html.render_catalog: catalog", catalog, Catalog)
    check_type("html.render_catalog: file", file, str)
    return _page("catalog", catalog_data(catalog), file)


def _title(where: str, names: tuple[str, str]) -> str:
    found = check_items(where, names, str)
    if len(found) != 2:
        raise ArgumentValueError(f"{where}: expected two names, got {len(found)}")
    return " \N{RIGHTWARDS ARROW} ".join(found)


def _page(kind: str, data: dict[str, Any], file: str, blocks: Iterable[str] = ()) -> str:
    from fnabi._base.version import VERSION

    style = _part("page.css")
    script = "".join(_part(f"{name}.js") for name in (*_SHARED, *_OWN[kind]))
    content = json.dumps(
        {"kind": kind, "file": file, "version": VERSION, **data}, separators=(",", ":")
    )
    fields = {
        "TITLE": f"{one_line(file) or kind} - fnabi",
        "HEADING": one_line(file) or kind,
        "STYLE_HASH": _hash(style),
        "SCRIPT_HASH": _hash(script),
        "STYLE": style,
        # Only in strings are these characters possible; escaped, none of them ends the element.
        "DATA": content.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"),
        "PLAIN": plain_tables(kind, data),
        "BLOCKS": "\n".join(
            f'<script type="text/plain" id="block-{index}">{block}</script>'
            for index, block in enumerate(blocks)
        ),
        "SCRIPT": script,
    }
    page = []
    for position, part in enumerate(_part("template.html").split("@@")):
        value = fields[part] if position % 2 else part
        page.append(html.escape(value) if part in ("TITLE", "HEADING") else value)
    return "".join(page).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("ascii")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
