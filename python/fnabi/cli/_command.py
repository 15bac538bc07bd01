"""The run of the command: a verb is looked up, and its exit status returned, whatever happens."""

from __future__ import annotations

import gc
import io
import os
import sys

from fnabi._base.text import did_you_mean, named_as, quoted
from fnabi.cli._parser import PROGRAM, Parser, module_of, parser_of, top_parser
from fnabi.cli.verbs import VERBS

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from typing import NoReturn


_LIBRARY = os.path.dirname(os.__file__) + os.sep
_NO_MEMORY = b"fnabi: out of memory\n"
_LACKS = (
    "t allocate ",
    "failed to map segment",
    "cannot create shared object descriptor",
    "envelope routines] initialization error",
)
"""What Python, the loader and OpenSSL say where memory lacks. A regex would need some, too."""

_LACKS_END = "cannot open shared object file"
"""What the loader says then, without a reason."""


def run(words: list[str], *, is_process: bool) -> int:
    """Run the command and return its exit status.

    Args:
        words: What follows the name of the command.
        is_process: Whether the process is the command, which may then end here.

    """
    output = getattr(sys.stdout, "buffer", None)
    if None in (sys.stdin, output, sys.stderr) or isinstance(output, io.RawIOBase):
        from fnabi.cli._streams import prepare

        prepare()
    try:
        return _run(words, is_process=is_process)
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            from fnabi.cli._streams import drop_errors

            drop_errors()


def _run(words: list[str], *, is_process: bool) -> int:
    """Run the command; no exception but SystemExit leaves it."""
    try:
        try:
            return _main(words, is_process=is_process)
        finally:
            print(end="", flush=True)
    except (Exception, KeyboardInterrupt) as problem:
        status = next((each.bad_input_of(words) for each in VERBS if [each.name] == words[:1]), 1)
        if _lacks_memory(problem):
            return _tell_memory(status, is_process=is_process)
        try:
            if isinstance(problem, OSError):  # of the help; verbs handle their own
                from fnabi.cli._running import failed

                return failed(problem, status)
            from fnabi.cli._problems import tell_unknown

            return tell_unknown(problem)
        except Exception as another:  # fnabi itself cannot be read
            if _lacks_memory(another):
                return _tell_memory(status, is_process=is_process)
            sys.stderr.write(f"fnabi: {getattr(another, 'strerror', None) or another}\n")
            return status


def _lacks_memory(problem: BaseException | None) -> bool:
    """Return whether an error, or one that it hides, comes from a lack of memory.

    Python's modules of C report some of those as other errors.
    """
    while problem is not None:
        text = str(problem.args[0]) if problem.args else ""
        if isinstance(problem, MemoryError) or any(each in text for each in _LACKS):
            return True
        if text.endswith(_LACKS_END) or _is_of_compiler(problem, text):
            return True
        problem = problem.__context__
    return False


def _is_of_compiler(problem: BaseException, text: str) -> bool:
    """Return whether Python's compiler lacked memory, which sets no error then.

    Functions in C that fnabi or other packages call do so by mistake only.
    """
    if not isinstance(problem, SystemError) or "without exception set" not in text:
        return False
    at = problem.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_LIBRARY)


def _tell_memory(status: int, *, is_process: bool) -> int:
    """Report a lack of memory and return the exit status.

    Where there is not even memory to do so, or Python would have to clean up, the process ends.
    """
    try:
        from fnabi.cli._screen import complain
        from fnabi.cli._streams import drop_output

        drop_output()
        complain("", "out of memory")
        sys.stderr.flush()
    except Exception:  # of its own imports, too
        try:
            os.write(2, _NO_MEMORY)
        finally:
            os._exit(status)
    if is_process:
        os._exit(status)
    return status


def _main(words: list[str], *, is_process: bool) -> int:
    if words[:1] == ["help"]:
        if len(words) > 2:
            top_parser().error(f"unexpected argument {quoted(words[2])}; help takes one VERB")
        words = [*(word for word in words[1:2] if word != "help"), "--help"]
    if not words or words[0].startswith("-"):
        return _without_verb(words)
    verb = next((each for each in VERBS if each.name == words[0]), None)
    if verb is None:
        top_parser().error(f"{quoted(words[0])} is not a verb{_meant(words[0])}")
    if is_process:
        _import_msgspec()
    arguments = parser_of(verb).parse_args(words[1:])

    from fnabi.cli._running import run

    work = module_of(verb).run
    if is_process and "duckdb" not in sys.modules:  # which reports what is never freed
        gc.freeze()  # what was imported stays, and Python need not look through it at the end
    return run(verb, work, arguments, verb.bad_input_of(words))


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which would double the time that it takes.

    Where that package is installed, msgspec gets from it what `typing` of these versions of Python
    has, too. Whatever else imports it afterwards finds it.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def _without_verb(words: list[str]) -> int:
    parser = top_parser()
    arguments, rest = parser.parse_known_args(words)
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(2, f"\n{PROGRAM}: error: VERB is missing\n")
    if not arguments.version or rest:
        _refuse(parser, words, rest)
    from fnabi.cli._version import show_versions

    show_versions()
    return 0


def _refuse(parser: Parser, words: list[str], rest: list[str]) -> NoReturn:
    """Exit with an error about options where a verb was expected."""
    option = rest[0].partition("=")[0] if rest else words[0]
    later = next((each.name for each in VERBS if each.name in rest), None)
    if later is not None and option not in ("--version", later):
        parser.error(f"expected a verb before {option}: {PROGRAM} {later} {option}")
    if not option.startswith("-"):
        parser.error(f"unexpected argument {quoted(option)}")
    parser.error(
        f"there is no option {named_as(option)}{did_you_mean(option, ['--help', '--version'])}"
    )


def _meant(word: str) -> str:
    """Return the verb that may have been meant by a word that is none."""
    hint = did_you_mean(word, [each.name for each in VERBS])
    if hint:
        return hint
    if os.path.exists(word):
        return f"; it is a file, did you mean {PROGRAM} {VERBS[0].name} {word}?"
    return f", expected {', '.join(each.name for each in VERBS)}"
