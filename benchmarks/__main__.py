"""Runs the benchmarks, from a checkout with `pip install -e '.[bench]'`.

    python -m benchmarks [NOUN...]                       run them, print a table, keep the results
    python -m benchmarks [NOUN...] --from RESULTS...     the table of kept results
    python -m benchmarks raw|sip --input FILE            the signatures of a file, one per line
    python -m benchmarks compare OLD NEW [NOUN...]       compare two commits by instruction counts
    python -m benchmarks corpus ABI --count N [-o FILE]  write a corpus, one text per line
    python -m benchmarks engines [--rows N]              run Ray, Spark and Dask, 1 and 2 workers
    python -m benchmarks fleet [--modules N] [--rows N]  run catalogs and decoding at their size

Beside each ratio are its floor and its goal, if aims.toml has them, and what of these it reaches.
`--markdown` prints the table as benchmarks/README.md has it, and `--svg FILE` plots its ratios.
Exit status: 0 good, 1 a benchmark failed or results cannot be read, 2 wrong usage or a missing
tool.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import compare, corpus, engines, fleet, report, workloads

HERE = Path(__file__).parent
NOUNS = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
OWN = ("raw", "sip")
"""The ABIs of which a file of one's own is measured."""
BRIEF = ("--benchmark-max-time=0.1",)
"""A work and its peer are measured within a fraction of a second, in each of several passes."""
QUICK = ("--benchmark-max-time=0.05", "--benchmark-min-rounds=3")
PASSES = 5


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    verbs = {
        "compare": compare_main,
        "corpus": corpus_main,
        "engines": engines_main,
        "fleet": fleet_main,
    }
    try:
        status = verbs[argv[0]](argv[1:]) if argv and argv[0] in verbs else run_main(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the consumer has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def new_parser(verb: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks{verb}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def fail(message: object, status: int) -> int:
    print(f"benchmarks: {message}", file=sys.stderr)
    return status


# ------------------------------------------------------------------------------------- run


def run_main(argv: list[str]) -> int:
    parser = new_parser("", __doc__ or "")
    add = parser.add_argument
    add("nouns", nargs="*", metavar="NOUN", help=f"one or more of {', '.join(NOUNS)} (all)")
    add("--quick", action="store_true", help="a few rounds: shows that they run, not how fast")
    add("--passes", type=positive, help=f"run everything this many times ({PASSES})")
    add("--input", type=Path, metavar="FILE", help="measure the signatures of a file, one per line")
    add("-o", "--output", type=Path, help="the folder to keep results in (.benchmarks)")
    add(
        "--from",
        dest="results",
        nargs="+",
        type=Path,
        metavar="RESULTS",
        help="run nothing; read kept results (.json) or a printed table (.md)",
    )
    add("--headlines", action="store_true", help="leave out works that no peer does in full")
    add("--front", action="store_true", help="only the ten works of the plot in README.md")
    add(
        "--markdown",
        action="store_true",
        help="print the table as Markdown, as benchmarks/README.md has it",
    )
    add("--svg", type=Path, metavar="FILE", help="plot the ratios of the table")
    options = parser.parse_args(argv)
    if options.results and (options.quick or options.passes or options.output):
        parser.error(
            "--from runs nothing: it cannot be combined with --quick, --passes or --output"
        )
    unknown = sorted({*options.nouns} - {*NOUNS})
    if unknown:
        parser.error(f"unknown noun {', '.join(unknown)}, expected one of {', '.join(NOUNS)}")

    own = options.input is not None
    if own and (len(options.nouns) != 1 or options.nouns[0] not in OWN):
        parser.error(f"--input needs one noun, {' or '.join(OWN)}")
    if own and options.results:
        parser.error("--from runs nothing: it cannot be combined with --input")
    if own and not options.input.is_file():
        return fail(f"{options.input}: no such file", 2)

    failed = False
    if options.results:
        paths = options.results
    else:
        for package in ("pytest", "pytest_benchmark"):
            if not find_spec(package):
                return fail(f"{package} is not installed: pip install -e '.[bench]'", 2)
        folder = options.output or HERE.parent / ".benchmarks"
        folder.mkdir(parents=True, exist_ok=True)
        start = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        passes = options.passes or (1 if options.quick else PASSES)
        paths = [folder / f"{start}-{n}.json" for n in range(1, passes + 1)]
        for path in paths:
            if own:
                files = ["own.py"]
                given = {"FNABI_ABI": options.nouns[0], "FNABI_INPUT": str(options.input.resolve())}
            else:
                files, given = [f"bench_{noun}.py" for noun in options.nouns or NOUNS], {}
            failed |= not run(files, path, options.quick, given)
            if not path.exists():
                return fail("no results", 1)
            print(f"results: {path}", file=sys.stderr)
    try:
        results = report.read(paths)
        if not options.results and not options.nouns and (lost := report.without_row(results)):
            failed = True
            fail(f"aims.toml has works that nothing measures: {'; '.join(lost)}", 1)
        results = report.select(results, [] if own else options.nouns, options.headlines)
        if options.front:
            results = report.front(results)
    except report.ResultError as error:
        return fail(error, 1)
    if options.svg:
        try:
            options.svg.write_text(report.svg(results), encoding="utf-8")
        except OSError as error:
            return fail(f"{options.svg}: {error.strerror}", 2)
    if options.markdown:
        print(report.markdown(results), end="")
    else:
        report.show(results, sys.stdout)
    return int(failed)


def positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return number


def run(files: Sequence[str], path: Path, quick: bool, given: dict[str, str]) -> bool:
    """Run the benchmarks in these files, write results to `path`; returns whether all passed."""
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-quiet"]
    command += [f"--benchmark-json={path.resolve()}", *(QUICK if quick else BRIEF)]
    command += [f"{HERE.name}/{file}" for file in files]
    # processes that are measured have their bytecode, which `pip install` compiles
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""} | given
    done = subprocess.run(command, cwd=HERE.parent, stdout=sys.stderr, env=environment)
    if path.exists() and path.stat().st_size:
        drop_rounds(path)
    return done.returncode == 0


def drop_rounds(path: Path) -> None:
    """Keep the statistics and drop the single rounds: megabytes that nothing uses."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    for entry in document["benchmarks"]:
        entry["stats"].pop("data", None)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


# --------------------------------------------------------------------------------- compare


def compare_main(argv: list[str]) -> int:
    parser = new_parser(" compare", (compare.__doc__ or "").strip())
    parser.add_argument("old", metavar="OLD", help="a commit")
    parser.add_argument("new", metavar="NEW", help="a commit, or . for the working tree")
    nouns = workloads.NOUNS
    parser.add_argument(
        "nouns", nargs="*", metavar="NOUN", help=f"one or more of {', '.join(nouns)} (all)"
    )
    options = parser.parse_args(argv)
    unknown = sorted({*options.nouns} - {*nouns})
    if unknown:
        parser.error(f"unknown noun {', '.join(unknown)}, expected one of {', '.join(nouns)}")

    width = max(map(len, workloads.WORKLOADS))
    absent = []
    print(f"{'instructions of one item':{width}}  {'old':>12}  {'new':>12}  new/old")
    try:
        with progress() as say:
            for count in compare.compare(options.old, options.new, options.nouns, say):
                if count.ratio is None:
                    absent.append(count)
                    continue
                figures = f"{count.old:12,.0f}  {count.new:12,.0f}  {count.ratio:7.4f}"
                say("")
                print(f"{count.name:{width}}  {figures}", flush=True)
    except compare.CompareError as error:
        return fail(error, 2)
    for name, *sides in absent:
        for side, why in zip(("old", "new"), sides, strict=True):
            if isinstance(why, str):
                print(f"{name:{width}}  not in {side}: {why}")
    return 0


@contextmanager
def progress() -> Any:
    """Show the current step on one line of a terminal; nothing elsewhere."""
    shown = sys.stderr.isatty()

    def say(text: str) -> None:
        if shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        say("")


# ---------------------------------------------------------------------------------- corpus


def corpus_main(argv: list[str]) -> int:
    parser = new_parser(
        " corpus", "Write a corpus, one text per line. Equal arguments give equal bytes."
    )
    parser.add_argument(
        "abi", choices=corpus.STREAMS, metavar="ABI", help=", ".join(corpus.STREAMS)
    )
    parser.add_argument("--count", type=positive, default=corpus.SIZE, help=f"({corpus.SIZE})")
    parser.add_argument(
        "--distinct", action="store_true", help="raw only: no text and no dim occurs twice"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="(standard output)")
    options = parser.parse_args(argv)
    try:
        texts = corpus.texts(options.abi, options.count, options.distinct)
    except ValueError as error:
        parser.error(str(error))
    lines = (text + b"\n" for text in texts)
    if options.output is None:
        sys.stdout.buffer.writelines(lines)
        return 0
    try:
        with options.output.open("wb") as file:
            file.writelines(lines)
    except OSError as error:
        return fail(f"{options.output}: {error.strerror}", 2)
    return 0


# --------------------------------------------------------------------------------- engines


def engines_main(argv: list[str]) -> int:
    return long_main("engines", engines, ("psutil", "pyarrow"), argv)


def fleet_main(argv: list[str]) -> int:
    return long_main("fleet", fleet, ("duckdb", "pyarrow"), argv)


def long_main(verb: str, module: Any, packages: Sequence[str], argv: list[str]) -> int:
    """Run a module whose work is too long for pytest-benchmark."""
    parser = new_parser(f" {verb}", (module.__doc__ or "").strip())
    module.add_arguments(parser, positive)
    options = parser.parse_args(argv)
    for package in packages:
        if not find_spec(package):
            return fail(f"{package} is not installed: pip install -e '.[bench]'", 2)
    try:
        module.run(options)
    except (OSError, RuntimeError) as error:
        return fail(error, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
