"""``fnabi call``: call a function of a library."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fnabi._base.lane import Function
from fnabi._base.text import did_you_mean, known_names, named_as
from fnabi._base.url import is_remote
from fnabi.calls import library, registry
from fnabi.calls._library_file import why_none
from fnabi.cli._arguments import (
    is_module,
    no_function,
    output_file,
    refuse_input,
    refuse_swapped,
    start_of,
)
from fnabi.cli._call_values import (
    ArgumentError,
    as_signature,
    digest,
    json_of,
    parse_argument,
    show,
)
from fnabi.cli._screen import Screen, complain, one_line, plain, where
from fnabi.cli.verbs.call._output import EXTENSIONS, OutputError, check_target, save
from fnabi.errors import FnabiError

_CALL_SCHEMA = "fnabi.call/1"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.epilog = (
        'An ARG is JSON (1, 2.5, true, null, "text", [1, 2], {"k": 1}), with NaN, Infinity and'
        " -Infinity as numbers, @FILE.npy for an array, or any other text, which is passed as a"
        " string. A list is an array where the function is known to take a tensor; f32=[1, 2],"
        " f32[2x2]=[1, 2, 3, 4] and f32[2x2]=0 are arrays of that type anywhere; they need NumPy."
        " Arrays that the function changes are shown after its result."
    )
    verb.add_argument(
        "file", metavar="LIBRARY", help="a shared library; it is loaded, so its code runs"
    )
    verb.add_argument(
        "function",
        metavar="FUNCTION",
        help="the name of a function that it exports or registers",
    )
    verb.add_argument("args", metavar="ARG", nargs="*", default=[], help="its arguments")
    verb.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save the numbers and arrays of the result, then the arrays that the function changed:"
        " all in FILE.npz by name; one in FILE.npy, several in FILE.0.npy, FILE.1.npy and so on",
    )


def run(arguments: argparse.Namespace) -> int:
    output: str | None = arguments.output
    if output is not None and not output.endswith(EXTENSIONS):
        arguments.usage(f"--output has an unknown extension, expected {', '.join(EXTENSIONS)}")
    for index, text in enumerate(arguments.args):
        if text.startswith("@"):
            refuse_input(arguments, text[1:], f"argument {index}")
    try:
        if output is not None:
            check_target(output)
        args = [parse_argument(index, text) for index, text in enumerate(arguments.args)]
    except ArgumentError as problem:
        complain("", problem)
        return 1
    if is_remote(arguments.file):
        complain(where(arguments.file), "a URL, expected a shared library that is a file")
        return 1
    if not os.path.exists(arguments.file) and os.path.isfile(arguments.function):
        words = ["call", arguments.function, arguments.file, *arguments.args]
        refuse_swapped(arguments, "LIBRARY and FUNCTION", words)
    start = start_of(arguments.file)
    if not library.looks_like_one(start) and is_module(arguments.file):
        complain(
            f"{arguments.file}: ",
            "a compiled module, expected a shared library; iree-run-module calls its functions, and"
            " fnabi stub --language=iree-run-module writes the command lines",
        )
        return 1
    loaded = library.load_module(arguments.file)
    function = _find(loaded, arguments.function)
    if function is None:
        return _lacks(arguments, loaded)
    function.plain = True
    try:
        made = as_signature(args, function)
    except ArgumentError as problem:
        complain("", problem)
        return 1
    given, args = args, [made.get(index, value) for index, value in enumerate(args)]
    before = [digest(value) for value in args]
    try:
        result = function(*args)
    except (FnabiError, KeyboardInterrupt):
        raise
    except BaseException as problem:  # the library may have set one of Python, such as SystemExit
        first, *more = _indented(f"{type(problem).__name__}: {problem}").split("\n")
        if isinstance(problem, TypeError):
            more += [f"  {line}" for line in _told_of_lists(given, made, function)]
            more += [f"  {line}" for line in _told_of_texts(arguments.args, given)]
        complain(f"{arguments.function}: ", first, more)
        return 1
    changed = [
        _Changed(index, function.names[index] if function.names else None, value)
        for index, value in enumerate(args)
        if digest(value) != before[index]
    ]
    try:
        return _report(arguments, result, changed)
    except RecursionError:
        complain("", f"{arguments.function}: the result is nested too deeply to be shown")
    except OutputError as problem:
        complain("", f"--output: {problem}")
    return 1


def _find(loaded: library.Library, name: str) -> Function | None:
    if name in loaded:
        return loaded[name]
    return registry.get_global_func(name, allow_missing=True)


def _lacks(arguments: argparse.Namespace, loaded: library.Library) -> int:
    """Complain of a function that the library neither exports nor registers."""
    registers = loaded.file.registers_functions
    registered = registry.list_global_func_names() if registers else []
    if did_you_mean(arguments.function, registered) or (loaded.functions and not registers):
        return no_function(arguments, [*loaded.functions, *registered], "TVM-FFI function")
    fault = f"no TVM-FFI function is named {named_as(arguments.function)}"
    if loaded.functions:
        names = known_names(arguments.function, loaded.functions)
        why = f"{names} (fnabi inspect --run lists those that it registers)"
    else:
        hint = "; fnabi inspect --run lists them" if registers else ""
        why = f"; {why_none(loaded.file)}{hint}"
    complain(where(arguments.file), f"{fault}{why}")
    return 1


def _told_of_texts(words: Sequence[str], given: Sequence[Any]) -> Iterator[str]:
    """Yield which arguments are texts although they look like JSON or an array."""
    for index, (word, value) in enumerate(zip(words, given, strict=True)):
        if isinstance(value, str) and value == word and re.match(r"[\[{]|\w+\[[^\]]*\] *=", word):
            yield f"argument {index} was passed as a text: it is no JSON, and no TYPE=JSON"


def _told_of_lists(
    given: Sequence[Any], made: Mapping[int, Any], function: Function
) -> Iterator[str]:
    """Yield how lists were passed, whose dtype the command line did not name."""
    is_known = getattr(function.schema, "params", None) is not None
    for index, value in enumerate(given):
        if isinstance(value, list) and (index in made or not is_known):
            array = made.get(index)
            passed = "a list"
            if array is not None and hasattr(array, "dtype"):
                passed = f"{array.dtype}[{'x'.join(map(str, array.shape))}]"
            yield f"argument {index} was passed as {passed}; f32=[...] makes it float32"


class _Changed(NamedTuple):
    """An argument whose contents the function has changed."""

    place: int
    name: str | None
    value: Any

    def __str__(self) -> str:
        return f"argument {self.place}" + (f" ({self.name})" if self.name else "")


def _report(arguments: argparse.Namespace, result: Any, changed: Sequence[_Changed]) -> int:
    files: list[tuple[str, str]] = []
    if arguments.json:
        answer: dict[str, Any] = {
            "schema": _CALL_SCHEMA,
            "function": arguments.function,
            "result": json_of(result),
            "changed": [
                {"argument": each.place, "name": each.name, "value": json_of(each.value)}
                for each in changed
            ],
        }
    else:
        screen = Screen()
        if isinstance(result, str):  # a text of the function, which is kept as it is
            print(plain(result))
        elif result is not None:
            _write(screen, "", result)
        for each in changed:
            _write(screen, f"changed {one_line(str(each))}: ", each.value)
    if arguments.output is not None:
        arrays = [(f"argument_{each.place}", each.value) for each in changed]
        read = [text[1:] for text in arguments.args if text.startswith("@")]
        files = save(arguments.output, result, arrays, read)
    if arguments.json:
        if arguments.output is not None:
            answer["files"] = [{"value": value, "file": file} for value, file in files]
        print(json.dumps(answer, allow_nan=False))
    else:
        for value, file in files:
            print(f"saved {value}: {one_line(file)}")
    return 0


def _write(screen: Screen, label: str, value: Any) -> None:
    """Write a value, whose lines are folded at spaces if they are wider than the screen."""
    width = None if screen.width is None else max(20, screen.width - len(label))
    for line in (label + plain(show(value, width))).split("\n"):
        screen.write(line, hang=len(line) - len(line.lstrip()) + 1)


def _indented(text: str) -> str:
    """Indent the lines of a library's own text, which must not look like lines of this command."""
    return text.replace("\n", "\n  ")
