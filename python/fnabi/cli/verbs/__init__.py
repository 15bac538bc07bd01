"""The verbs of the command: one line of help and examples for each.

A verb has a module of its name with two functions: ``add_arguments(verb)`` declares its arguments,
and ``run(arguments)`` does the work and returns the exit status. The module is imported when the
verb is used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than this table
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Protocol

    class Module(Protocol):
        """The module of a verb."""

        add_arguments: Callable[[argparse.ArgumentParser], None]
        run: Callable[[argparse.Namespace], int]


class Verb:
    """A verb of the command.

    Attributes:
        name: What the user types. The module has this name, with "_" for "-".
        help: What the verb does, as a phrase without a full stop.
        examples: Command lines, each with what it does.
        status: What the exit status means.
        bad_input: The exit status for bad input.
        bad_input_with: An option with which it is another one, and that one.
        has_json: Whether there is an option ``--json``.
        has_pager: Whether long output on a terminal goes through a pager. Output that appears
            while input arrives must not.

    """

    def __init__(
        self,
        name: str,
        help: str,
        examples: tuple[tuple[str, str], ...],
        *,
        status: str = "0 for success, 1 for bad input, 2 for wrong usage",
        bad_input: int = 1,
        bad_input_with: tuple[str, int] | None = None,
        has_json: bool = True,
        has_pager: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.examples = examples
        self.status = status
        self.bad_input = bad_input
        self.bad_input_with = bad_input_with
        self.has_json = has_json
        self.has_pager = has_pager

    def bad_input_of(self, words: list[str]) -> int:
        """Return the exit status for bad input of a run with these words."""
        if self.bad_input_with is not None:
            option, status = self.bad_input_with
            names = (word.partition("=")[0] for word in words)
            if any(name[2:] and option.startswith(name) for name in names):  # or the start of it
                return status
        return self.bad_input


VERBS = (
    Verb(
        "inspect",
        "show the functions of a compiled module or library",
        (
            ("fnabi inspect model.vmfb", "every function with its signature"),
            ("fnabi inspect --function=main model.vmfb", "all that is known of one function"),
            ("fnabi inspect --needs --rodata model.vmfb", "what it needs, and its constants"),
            ("fnabi inspect --function=main --inputs model.vmfb", "flags for iree-run-module"),
            ("fnabi inspect --html -o page.html model.vmfb", "all of it as a page for browsers"),
            ("fnabi inspect --html -o page.html models/", "an overview of many modules"),
            ("fnabi inspect --json model.vmfb | jq .exports", "the same for programs"),
            ("fnabi inspect --metadata libadd.so", "the functions of a TVM-FFI library"),
        ),
        has_pager=True,
    ),
    Verb(
        "verify",
        "check compiled modules for errors",
        (
            ("fnabi verify *.vmfb", "one line for each file that is good"),
            ("fnabi verify --json model.vmfb", "the findings for programs"),
            ("fnabi verify --against=weights.irpa model.vmfb", "whether parameters are there"),
            ("fnabi verify --runtime 3.13.0 *.vmfb", "whether that release of IREE loads them"),
        ),
        status="0 for success, 1 for bad input, 2 for wrong usage; with --runtime 1 if a release"
        " does not load a module, 3 for bad input, 4 if it is unknown, and 5 if it calls functions"
        " of one wrongly",
        bad_input_with=("--runtime", 3),
    ),
    Verb(
        "explain",
        "say what an error of IREE's runtime means, and what to do",
        (
            ("fnabi explain error.txt", "each error in a text or a log"),
            ("iree-run-module ... 2>&1 | fnabi explain -", "of what a program prints"),
            ("fnabi explain --file=model.vmfb error.txt", "and what in the module causes it"),
        ),
        status="0 if an error is explained, 1 if none is known, 2 for wrong usage, 3 for bad input",
        bad_input=3,
        has_pager=True,
    ),
    Verb(
        "diff",
        "show whether callers of one module can use another in its place",
        (
            ("fnabi diff old.vmfb new.vmfb", "the changes, then the verdict"),
            ("fnabi diff --html -o page.html old.vmfb new.vmfb", "the same as a page"),
            ("fnabi diff released/ built/", "the modules of two folders, by name"),
            ("fnabi diff --style=markdown released/ built/", "a comment for a pull request"),
            ("fnabi diff --catalog 1.0.duckdb 2.0.duckdb", "all modules, grouped by cause"),
            ("fnabi diff --catalog models.duckdb --since 7d", "what changed in a week"),
        ),
        status="0 if callers of OLD can use NEW, 1 for a breaking change, 2 for wrong usage, 3 for"
        " bad input, 4 if the modules do not show whether callers can use NEW",
        bad_input=3,
        has_pager=True,
    ),
    Verb(
        "check-abi",
        "compare a module with its baseline, which is kept beside the source",
        (
            ("fnabi check-abi --update model.abi.json model.vmfb", "write the baseline"),
            ("fnabi check-abi model.abi.json model.vmfb", "fail where callers would"),
            ("fnabi check-abi --style=github model.abi.json model.vmfb", "annotate in CI"),
        ),
        status="0 if callers are still served, 1 for a breaking change, 2 for wrong usage, 3 for"
        " bad input, 4 if the module does not show whether callers are served",
        bad_input=3,
        has_pager=True,
    ),
    Verb(
        "decode",
        "decode signatures, one per line",
        (
            ("fnabi decode 'I11!B8!d-1d200R4!S1!'", "one signature of the raw ABI"),
            ("fnabi decode --abi=cconv 0rIi_r", "of another ABI"),
            ("fnabi decode - < signatures.txt", "one signature per line"),
            ("fnabi decode -o out.parquet signatures.txt", "a table of a whole file"),
            ("fnabi decode --column=sig -o out.parquet in.parquet", "a column of a table"),
            ("fnabi decode --column=sig -o out.jsonl in.csv.gz", "of CSV, which is compressed"),
            ("fnabi decode --max-errors=1% -o out.parquet in.txt", "or nothing is written"),
            ("fnabi decode --resume -o out.parquet texts/", "many files; goes on after a kill"),
        ),
    ),
    Verb(
        "scan",
        "show the functions of many compiled modules",
        (
            ("fnabi scan models/", "every function of every .vmfb file below models/"),
            ("fnabi scan --output=functions.parquet models/", "a table for DuckDB, polars, ..."),
        ),
        has_pager=True,
    ),
    Verb(
        "catalog",
        "make, update, show and query a catalog of many modules",
        (
            ("fnabi catalog update models.duckdb models/", "read what is new or has changed"),
            ("fnabi catalog update models.duckdb", "the same paths again"),
            ("fnabi catalog show models.duckdb", "what is in it"),
            ("fnabi catalog log models.duckdb main --since 7d", "what happened to functions"),
            ("fnabi catalog sql models.duckdb 'SELECT count(*) FROM functions'", "a query"),
            ("fnabi catalog sql --allow-files m.duckdb \"COPY files TO 'f.csv'\"", "a file"),
        ),
        status="0 for success, even if files in folders have errors, which the catalog lists, 1 for"
        " bad input, for a folder that cannot be listed, for a file that is given by name or in the"
        " catalog and cannot be read, and for a path to remove that is not in the catalog, 2 for"
        " wrong usage",
    ),
    Verb(
        "find",
        "find functions by signature in a catalog or a folder",
        (
            ("fnabi find models.duckdb 'f32[?,3,224,224] -> f32[?,1000]'", "or wider ones"),
            ("fnabi find models/ 'f32[B,T,*] -> f32[B,*]'", "B is the same dim"),
            ("fnabi find models/ '*, int[*], * -> *'", "with a tensor of integers somewhere"),
            ("fnabi find models/ --accepts image.npy", "functions for this array"),
            ("fnabi find models.duckdb --at 2026-10-01", "what was there then"),
        ),
        status="0 if a function is found, 1 if none is, 2 for wrong usage, 3 for bad input",
        bad_input=3,
        has_pager=True,
    ),
    Verb(
        "check-calls",
        "show which logged calls the modules of a catalog do not accept",
        (
            ("fnabi check-calls models.duckdb calls.parquet", "and why, the most frequent first"),
            ("fnabi check-calls --baseline=1.0.duckdb 2.0.duckdb calls.parquet", "since 1.0"),
            ("fnabi check-calls --column=model=name models/ calls.jsonl.gz", "another column"),
            ("fnabi check-calls --files='{model}/*/model.vmfb' m.duckdb c.csv", "names of files"),
            ("fnabi check-calls -o broken.parquet models.duckdb calls.parquet", "all as a table"),
        ),
        status="0 if all calls are accepted, or were refused before, 1 if one is broken, 2 for"
        " wrong usage, 3 for bad input or rows without a call, 4 if the modules do not show"
        " whether they accept one",
        bad_input=3,
        has_pager=True,
    ),
    Verb(
        "call",
        "call a function of a library",
        (
            ("fnabi call libadd.so add 1 2", "numbers, true, null, texts and JSON"),
            ("fnabi call libadd.so scale @x.npy 0.5", "an array from a file"),
            ("fnabi call --output=y.npy libadd.so scale @x.npy 0.5", "save what it returns"),
        ),
    ),
    Verb(
        "stub",
        "generate code that calls a library or a compiled module",
        (
            ("fnabi stub -o add.py libadd.so", "typed Python functions for a library's exports"),
            ("fnabi stub --global=xgrammar. lib.so", "for what it registers by name"),
            ("fnabi stub -o model.py model.vmfb", "a typed client over iree.runtime"),
            ("fnabi stub --language=json-schema model.vmfb", "or c-header"),
            ("fnabi stub --language=iree-run-module model.vmfb", "command lines"),
        ),
    ),
    Verb(
        "completion",
        "write a script that completes commands in a shell",
        (
            ('eval "$(fnabi completion bash)"', "in ~/.bashrc"),
            ('fnabi completion zsh > "${fpath[1]}/_fnabi"', "once"),
            ("fnabi completion fish > ~/.config/fish/completions/fnabi.fish", "once"),
        ),
        has_json=False,
    ),
)
