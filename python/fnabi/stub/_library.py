"""Generate a typed Python module for the functions that a library exports or registers by name."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from fnabi._base.lane import Function
from fnabi._base.names import Names
from fnabi._base.text import known_names, quoted
from fnabi._base.version import VERSION
from fnabi.calls import library, reflection, registry
from fnabi.calls.reflection import ObjectType
from fnabi.errors import NotFoundError
from fnabi.stub._classes import class_lines
from fnabi.stub._code import Stub, docstring, listing, literal, location
from fnabi.stub._functions import thin_function
from fnabi.stub._hints import RESERVED, TENSOR_LIKE, ModuleSpelling, imports_of


def exported(
    path: str,
    *,
    interface: bool = False,
    output: str | None = None,
    only: Collection[str] | None = None,
) -> Stub:
    """Generate a module with a function for each function that a library exports.

    The library is loaded, because its own code describes the functions.

    Args:
        path: The path of the library.
        interface: Whether to generate the text of a ``.pyi`` file, without code that runs.
        output: The path of the generated module, to which a library beside it is relative.
        only: The names of the functions to generate; all without it.

    Raises:
        NotFoundError: The library exports no function, or none with a name in `only`.
        LibraryError: It cannot be loaded, or an export that describes a function fails.
        FormatError: The file is damaged.
        OSError: The file cannot be read.

    """
    loaded = library.load_module(path)
    if not loaded.functions:
        by_name = loaded.file.registers_functions or loaded.file.registers_types
        hint = "; it registers by name, see --global" if by_name else ""
        raise NotFoundError(f"the library exports no function{hint}")
    for name in only or ():
        if name not in loaded:
            hint = known_names(name, loaded.functions)
            raise NotFoundError(f"no function is named {quoted(name)}{hint}")
    chosen = [name for name in loaded.functions if only is None or name in only]
    functions = {name: loaded[name] for name in chosen}
    return _Module(path, interface, output).write(
        f"Functions of {os.path.basename(path)}",
        {name: name for name in functions},
        functions,
        "_library[{}]",
        {},
    )


def registered(
    path: str, prefix: str, *, interface: bool = False, output: str | None = None
) -> Stub:
    """Generate a module for the functions and types that are registered under a prefix.

    Their names in the module are without the prefix, with ``_`` for dots.

    Args:
        path: The path of a library that registers them when it is loaded.
        prefix: The first characters of their names, such as ``"xgrammar."``.
        interface: As for `exported`.
        output: As for `exported`.

    Raises:
        NotFoundError: No name begins with the prefix.
        LibraryError: The library cannot be loaded.
        FormatError: The file is damaged.
        OSError: The file cannot be read.

    """
    needed = library.read(path)
    if needed.needs_runtime_to_call or needed.optional:
        library.load_runtime()
    library.load_module(path)
    names = [name for name in registry.list_global_func_names() if name.startswith(prefix)]
    keys = [key for key in reflection.list_type_keys() if key.startswith(prefix)]
    if not names and not keys:
        raise NotFoundError(f"no function or type is registered under {quoted(prefix)}")
    return _Module(path, interface, output).write(
        f"Functions and types {prefix}* of {os.path.basename(path)}",
        {name: name[len(prefix) :] or name for name in sorted(names)},
        {name: registry.get_global_func(name) for name in names},
        "fnabi.get_global_func({})",
        {key: (key[len(prefix) :] or key, reflection.get_type(key)) for key in keys},
    )


class _Module:
    def __init__(self, path: str, interface: bool, output: str | None) -> None:
        self._path = path
        self._interface = interface
        self._output = output

    def write(
        self,
        title: str,
        short: dict[str, str],
        functions: dict[str, Function],
        lookup: str,
        types: dict[str, tuple[str, ObjectType]],
    ) -> Stub:
        """Write the module.

        Args:
            title: The first line of its docstring.
            short: The names of the functions in the module, by those in the library.
            functions: The functions by their names in the library.
            lookup: The expression of a function, with its name for ``{}``.
            types: The names and classes of the types, by their keys.

        """
        expected = [*(name for name, _ in types.values()), *short.values()]
        scope = Names(reserved=RESERVED, expected=expected)
        classes = {key: scope.add(name, "Type") for key, (name, _) in types.items()}
        public = {name: scope.add(short[name], "function") for name in short}
        spelling = ModuleSpelling(classes)
        notices: list[str] = []
        lines: list[str] = []
        for key, name in classes.items():
            found = class_lines(name, types[key][1], classes, spelling, self._interface)
            notices += found.notices
            lines += ["", "", *found.lines]
        for called, name in public.items():
            target = None
            if not self._interface:
                target = scope.add(f"_{name}")
                lines += ["", "", f"{target} = {lookup.format(literal(called))}"]
            lines += ["", "", *thin_function(name, target, called, functions[called], spelling)]
        if any("TensorLike" in line for line in lines):
            lines = ["", "", *TENSOR_LIKE, *lines]
        head = self._head()
        everything = listing("__all__", sorted([*classes.values(), *public.values()]))
        body = [*everything, *head, *lines]
        about = f"Written by fnabi {VERSION} (fnabi stub); write it again instead of editing."
        text = [
            *docstring(title, about),
            "",
            "from __future__ import annotations",
            "",
            *imports_of(body),
            *body,
        ]
        return Stub("\n".join(text) + "\n", tuple(notices))

    def _head(self) -> Sequence[str]:
        if self._interface:
            return []
        where, _ = location(self._path, self._output)
        load = "_library = fnabi.load_module(LIBRARY)"
        return ["", f"LIBRARY = {where}", '"""The path of the library."""', "", load]
