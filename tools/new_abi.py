"""Write the skeleton of an ABI: ``python -m tools new-abi NAME``.

It copies ``tools/template``, which is an ABI of two letters, under the new name, and adds its line
in every list that names each ABI. The result builds and passes its tests; what is left to do by
hand is printed.
"""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).parent / "template"

CODES = """\
/* foo */
FNABI_CODE(FNABI_FOO_VALUE, "foo-value", "unknown value",
           "A value is `i` or `f`.")
FNABI_CODE(FNABI_FOO_SIZE, "foo-size", "foo signature of 4 GiB or more",
           "No function has so many values.")

"""

DECLARATIONS = """\
/* ---------------------------------------------------------------------- foo */

/* A signature of the foo ABI, such as "if>f"; its message is that of a
 * signature. The grammar is in abi/foo.c. */

/* Decodes a whole signature, and accepts exactly the grammar. */
FNABI_API int64_t fnabi_foo_decode(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* Encodes the message of a signature. Fails with FNABI_UNSUPPORTED for a value
 * that is neither i32 nor float32. */
FNABI_API int64_t fnabi_foo_encode(const uint8_t* message, size_t size,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error);

"""

CORPUS = '''\
def foo(size: int = SIZE) -> list[str]:
    """Return signatures of the foo ABI: 0-8 inputs, 0-3 results."""
    return [*islice(foo_stream(), size)]


def foo_stream() -> Iterator[str]:
    random = Random(9)
    while True:
        inputs, results = (random.choices("if", k=random.randint(0, most)) for most in (8, 3))
        yield f"{''.join(inputs)}>{''.join(results)}"


'''

PAGE = """\
## `fnabi.foo`

```{eval-rst}
.. automodule:: fnabi.abi.foo
```

"""

INSERTIONS: tuple[tuple[str, str, str], ...] = (
    ("csrc/codes.h", "#undef FNABI_CODE\n", CODES),
    ("csrc/fnabi.h", r"/\* -+ columns \*/", DECLARATIONS),
    ("python/fnabi/__init__.py", '    "vmfb": ', '    "abi.foo": (),\n'),
    ("python/fnabi/cli/verbs/decode/__init__.py", '    "tokens": ', '    "foo": foo.parse,\n'),
    ("docs/reference/texts.md", "## `fnabi.signature`\n", PAGE),
    ("docs/reference/error_examples.toml", r"\Z(?!\n)", "foo-value = 'foo.parse(\"x>\")'\n"),
    (
        "ARCHITECTURE.md",
        r"\| types \| prepare a class",
        "| foo | parse, encode | message | `fnabi_foo_decode`, `fnabi_foo_encode` | - |\n",
    ),
    ("tests/support/allocations.py", "    iree_abi: json", '    foo: "if>fi",\n'),
    ("benchmarks/corpus.py", "def declarations?\\(", CORPUS),
    ("benchmarks/corpus.py", '    "iree_abi": iree_abi_stream', '    "foo": foo_stream,\n'),
    (
        "benchmarks/workloads.py",
        '    "vmfb from_buffer": ',
        '    "foo parse": lambda: on("foo:parse", corpus.foo(COUNT)),\n'
        '    "foo encode": lambda: on("foo:encode", parsed("foo", corpus.foo(COUNT))),\n',
    ),
)
"""The lists that name each ABI: the file, what stands behind the new lines, and the lines."""

IMPORTS = (
    ("python/fnabi/cli/verbs/decode/__init__.py", "fnabi.abi"),
    ("tests/support/allocations.py", "fnabi"),
)
"""Modules that import every ABI, and where from."""

LEFT = """\
The skeleton builds and passes its tests:

  .venv/bin/python setup.py -q build_ext --inplace
  .venv/bin/pytest tests/abi/test_foo.py
  make -C csrc test_foo replay_foo

What is left:

  csrc/abi/foo.c                    the real grammar; then the files that were written here
  csrc/fnabi.h                      what the functions accept, and their message
  csrc/codes.h                      its faults
  python/fnabi/abi/foo.py           its own records, where types of signatures do not suffice
  tests/data/foo/                   golden answers of the real tool
  tests/support/grammar.py          a plain parser and printer to compare with
  tests/support/strategies.py       values for hypothesis; then tests/abi/test_canonical.py
  tests/project/test_benchmarks.py  the parser and the digest of its corpus
  README.md, CHANGELOG.md           a line each
  docs/grammar/foo.md               the grammar for users
  csrc/many                         columns, if it gets them: FNABI_ABI_FOO in csrc/fnabi.h, its
                                    cases, and its name in python/fnabi/many/columns/_part.py
"""


def renamed(text: str, name: str) -> str:
    """Return a text of the template for another name."""
    return text.replace("foo", name).replace("FOO", name.upper())


def inserted(text: str, before: str, lines: str) -> str:
    """Return a text with lines before the one place where a pattern matches.

    Raises:
        ValueError: when there is no such place, or more than one.

    """
    places = [match.start() for match in re.finditer(rf"^{before}", text, re.MULTILINE)]
    if len(places) != 1:
        raise ValueError(f"{len(places)} lines begin with {before!r}, expected one")
    return text[: places[0]] + lines + text[places[0] :]


def imported(text: str, package: str, name: str) -> str:
    """Return a text with another name in an import of one line.

    Raises:
        ValueError: when there is no such import.

    """

    def added(match: re.Match[str]) -> str:
        return match[1] + ", ".join(sorted([*match[2].split(", "), name]))

    line = rf"^(from {re.escape(package)} import )([\w, ]+)$"
    text, count = re.subn(line, added, text, count=1, flags=re.MULTILINE)
    if count == 0:
        raise ValueError(f"no line imports names from {package}")
    return text


def skeleton(name: str) -> dict[Path, str]:
    """Return the texts of the new files, and of those that change."""
    texts = {
        ROOT / renamed(path.relative_to(TEMPLATE).as_posix(), name): renamed(
            path.read_text(encoding="utf-8"), name
        )
        for path in sorted(TEMPLATE.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    files = {file for file, *_ in (*INSERTIONS, *IMPORTS)}
    texts |= {ROOT / file: (ROOT / file).read_text(encoding="utf-8") for file in sorted(files)}
    for file, before, lines in INSERTIONS:
        texts[ROOT / file] = inserted(texts[ROOT / file], before, renamed(lines, name))
    for file, package in IMPORTS:
        texts[ROOT / file] = imported(texts[ROOT / file], package, name)
    return texts


def main() -> int:
    """Write the skeleton of the ABI that the argument names."""
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,19}", name) or keyword.iskeyword(name):
        print("usage: python -m tools new-abi NAME (a noun, such as foo)", file=sys.stderr)
        return 2
    taken = sorted(path for path in ROOT.glob(f"python/fnabi/*/{name}.py"))
    if taken or (ROOT / "python" / "fnabi" / name).exists():
        print(f"new-abi: the name {name} is taken", file=sys.stderr)
        return 1
    for path, text in skeleton(name).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT).as_posix())
    subprocess.run([sys.executable, "-m", "tools", "names"], cwd=ROOT, check=True)
    print("python/fnabi/__init__.pyi\n")
    print(renamed(LEFT, name), end="")
    return 0
