"""The core as an installed library, and the C++ classes of fnabi/signature_mangle.hpp over it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import library
from fnabi.abi.raw import RawSignatureMangler, ScalarType
from support import grammar, vectors
from support.documents import FENCE, ROOT, blocks

CXX = os.environ.get("CXX", "c++")
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
KINDS = ("end", "int", "span", "error")
RAW_KINDS = "BOSU"

pytestmark = [
    pytest.mark.slow,  # it compiles the core
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in (CXX, "make", "cc")),
        reason="no make or compiler",
    ),
    pytest.mark.unsanitized("builds and runs programs of its own"),
]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    objects = tmp_path_factory.mktemp("objects")
    return ["make", "-s", "-C", str(ROOT / "csrc"), f"RELEASE={objects}", "CFLAGS=-O1"]


@pytest.fixture(scope="module")
def prefix(make: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix") / "with spaces"
    subprocess.run([*make, "install", f"PREFIX={folder}"], check=True)
    return folder


def test_a_compiler_with_options(make: list[str]) -> None:
    """Or one that another program, such as ccache, runs."""
    planned = subprocess.run(
        [*make, "-n", "test_raw", "install", "CC=cc -pipe"], check=True, capture_output=True
    )
    assert b"cc -pipe -std=c11" in planned.stdout


WITHOUT = ["-fno-exceptions", "-fno-rtti"]
"""How IREE is compiled."""


@pytest.fixture(scope="module", params=[[], WITHOUT], ids=["exceptions", "without"])
def options(request: pytest.FixtureRequest) -> list[str]:
    """Return the options of the compiler beside the strict ones."""
    return list(request.param)


@pytest.fixture(scope="module")
def program(prefix: Path, options: list[str]) -> Path:
    """tests/cpp/signature_mangle.cc, found by pkg-config where there is one."""
    out = prefix / f"signature_mangle{len(options)}"
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lfnabi"]
    if shutil.which("pkg-config"):
        printed = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fnabi"],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"},
        ).stdout
        flags = shlex.split(printed)
    source = ROOT / "tests/cpp/signature_mangle.cc"
    command = [CXX, *STRICT, *options, *SANITIZE, str(source), "-o", str(out), *flags]
    subprocess.run([*command, f"-Wl,-rpath,{prefix}/lib"], check=True)
    return out


def test_the_stack_of_the_decoders_into_columns(prefix: Path) -> None:
    """Threads of musl have 128 KB, so callers need to know."""
    header = (prefix / "include/fnabi/fnabi.h").read_text(encoding="utf-8")
    (told,) = re.findall(r"take\n \* about (\d+) KB of the stack", header)
    program = prefix / "stack"
    source = str(ROOT / "tests/cpp/stack.c")
    flags = [f"-I{prefix}/include", f"{prefix}/lib/libfnabi.a", "-pthread"]
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", source, "-o", program, *flags], check=True)
    taken = int(subprocess.run([program], check=True, capture_output=True).stdout)
    assert taken <= int(told)


def pack(texts: Iterable[bytes]) -> bytes:
    return b"".join(b"%d:%s" % (len(text), text) for text in texts)


def unpack(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        colon = data.index(b":", at)
        size = int(data[at:colon])
        yield data[colon + 1 : colon + 1 + size]
        at = colon + 1 + size


def refused(program: Path, op: str, arguments: list[bytes]) -> str:
    """Return what a program without exceptions writes before it ends itself."""
    asked = pack([op.encode(), b"%d" % len(arguments), *arguments])
    ran = subprocess.run(program, input=asked, capture_output=True, timeout=300)
    assert ran.returncode == -signal.SIGABRT
    return ran.stderr.decode()


def ask(program: Path, requests: Iterable[tuple[str, list[bytes]]]) -> list[list[bytes]]:
    """Run the program once, and return the answer to each request."""
    asked = [pack([op.encode(), b"%d" % len(arguments), *arguments]) for op, arguments in requests]
    ran = subprocess.run(program, input=b"".join(asked), capture_output=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, b"")
    answers: list[list[bytes]] = [[]]
    for text in unpack(ran.stdout):
        if text == b"done":
            answers.append([])
        else:
            answers[-1].append(text)
    assert answers.pop() == []
    assert len(answers) == len(asked)
    return answers


def error_of(text: bytes) -> str | None:
    return None if text == b"ok" else text.removeprefix(b"error ").decode("latin-1")


def component(answer: Iterator[bytes]) -> list[Any]:
    kind, tag, ival, sval = (next(answer) for _ in range(4))
    return [KINDS[int(kind)], int(tag), int(ival), sval]


def test_tokens(program: Path) -> None:
    cases = [case for case in vectors.load("tokens") if case["op"] == "tokens"]
    data = [vectors.bytes_of(case["in"]) for case in cases]
    for case, text, answer in zip(
        cases, data, ask(program, (("tokens", [text]) for text in data)), strict=True
    ):
        *fields, end, count, _ = answer
        assert end == b"end"
        read = iter(fields)
        found = [component(read) for _ in range(int(count) + 1)]
        tokens = [[*each[:3], each[3] if each[0] == "span" else None] for each in found[:-1]]
        assert vectors.abridged(tokens) == case["out"]["tokens"], text
        assert found[-1] == [*case["out"]["final"][:3], b""], text


def test_seek(program: Path) -> None:
    cases = [case for case in vectors.load("tokens") if case["op"] == "seek"]
    requests = [
        ("seek", [vectors.bytes_of(case["in"]), "".join(case["tags"]).encode()]) for case in cases
    ]
    compared = 0
    for case, answer in zip(cases, ask(program, requests), strict=True):
        read = iter(answer)
        for recorded in case["out"]:
            found = [next(read) == b"1", *component(read)]
            if recorded == {"reference": "hang"} or (recorded[0] and recorded[1] == "error"):
                assert case["note"] == "reference-defect"
                assert found[:2] == [False, "error"]
            else:
                found[-1] = found[-1].decode("latin-1")
                assert vectors.abridged(found) == recorded
                compared += 1
    assert compared > 100


def raw_items(answer: Iterator[bytes]) -> tuple[list[Any], list[str], str | None]:
    items: list[Any] = []
    texts = []
    for text in answer:
        if text == b"end":
            break
        kind = RAW_KINDS[int(text)]
        dims = [int(next(answer)) for _ in range(int(next(answer)))]
        scalar_type = [int(next(answer))] if kind in "BS" else []
        items.append([kind, *scalar_type, *([dims] if kind == "B" else [])])
        texts.append(next(answer).decode())
    return items, texts, error_of(next(answer))


def test_raw(program: Path) -> None:
    cases = [vectors.bytes_of(case["in"]) for case in vectors.load("raw")]
    cases += vectors.inputs("sip", "tokens")
    for data, answer in zip(cases, ask(program, (("raw", [text]) for text in cases)), strict=True):
        read = iter(answer)
        sides = [raw_items(read) for _ in "IR"]
        for tag, (items, _, error) in zip("IR", sides, strict=True):
            assert (items, error) == grammar.raw_visit(data, tag), data
        text, error = next(read), error_of(next(read))
        first = sides[0][2] or sides[1][2]
        assert error == first
        whole = " -> ".join(f"({', '.join(texts)})" for _, texts, _ in sides)
        assert text == (b"none" if error else f"text {whole}".encode())


def sip_side(answer: Iterator[bytes]) -> tuple[list[Any], str | None, bytes]:
    events: list[Any] = []
    for kind in answer:
        if kind == b"end":
            break
        value = next(answer).decode("latin-1")
        events.append(
            [kind.decode(), *([int(value)] if kind in (b"k", b"r") else [value] if value else [])]
        )
    return events, error_of(next(answer)), next(answer)


def test_sip(program: Path) -> None:
    cases = vectors.load("sip")
    data = [vectors.bytes_of(case["in"]) for case in cases]
    requests = (("sip", [text, b""]) for text in data)
    for case, text, answer in zip(cases, data, ask(program, requests), strict=True):
        read = iter(answer)
        for side, recorded in case["out"].items():
            events, error, shown = sip_side(read)
            events = [["K", ""] if event == ["K"] else event for event in events]
            assert (events, error) == grammar.sip_visit(text, side[0].upper())
            if case["note"] != "reference-defect":
                assert vectors.abridged(shown) == recorded["str"]
                assert error == recorded["err"]


def test_an_error_of_a_visitor_closes_what_is_open(program: Path) -> None:
    text = b"I20!S16!k0_0k1S5!k0_1k2_2R1!"
    text = b"I%d!%sR1!" % (len(text[4:-4]) + 1, text[4:-4])
    (answer,) = ask(program, [("sip", [text, b"0"])])
    events, error, _ = sip_side(iter(answer))
    assert events == [["o", "S"], ["k", 0], ["r", 0], ["c"]]
    assert error == "stopped by the visitor"


def flat_ops(ops: list[list[Any]]) -> list[bytes]:
    flat: list[bytes] = []
    for op in ops:
        if op[0] == "i":
            flat += [b"i", str(op[1]).encode(), op[2].encode("latin-1")]
        elif op[0] == "s":
            flat += [b"s", vectors.bytes_of(op[1]), op[2].encode("latin-1")]
        else:
            flat += [b"n", *flat_ops(op[2]), b"pop", op[1].encode("latin-1")]
    return flat


def test_build(program: Path, options: list[str]) -> None:
    cases = [case for case in vectors.load("build") if case["op"] == "builder"]
    if options:
        (defect, *_) = (case for case in cases if case["note"] == "reference-defect")
        cases = [case for case in cases if case["note"] != "reference-defect"]
        text = refused(program, "build", flat_ops(defect["ops"]))
        assert re.fullmatch(r"fnabi: .* tag.*\n", text), text
    requests = (("build", flat_ops(case["ops"])) for case in cases)
    for case, answer in zip(cases, ask(program, requests), strict=True):
        if case["note"] == "reference-defect":
            assert answer == [b"exception"]
        else:
            assert vectors.abridged(answer[0]) == case["out"]["enc"]


def raw_ops(values: list[list[Any]]) -> list[bytes]:
    flat = []
    for kind, *rest in values:
        flat.append(kind.encode())
        flat += [str(scalar_type).encode() for scalar_type in rest[:1]]
        if kind == "B":
            flat += [str(number).encode() for number in (len(rest[1]), *rest[1])]
    return flat


def is_unknown(case: dict[str, Any]) -> bool:
    """Return whether a case has a type that no signature has."""
    values = case["inputs"] + case["results"]
    return any(value[0] in "BS" and not 0 <= value[1] < 12 for value in values)


def test_build_raw(program: Path, options: list[str]) -> None:
    cases = [case for case in vectors.load("build") if case["op"] == "build_raw"]
    if options:
        cases = [case for case in cases if not is_unknown(case)]
    requests = (
        ("build_raw", [*raw_ops(case["inputs"]), b"results", *raw_ops(case["results"])])
        for case in cases
    )
    for case, answer in zip(cases, ask(program, requests), strict=True):
        if is_unknown(case):
            assert answer == [b"exception"]
        else:
            recorded = [case["out"][name] for name in ("inputs", "results", "sig")]
            assert [vectors.abridged(text) for text in answer] == recorded


def sip_ops(calls: list[Any]) -> list[bytes]:
    flat: list[bytes] = []
    for index, path in calls:
        flat += [str(index).encode(), str(len(path)).encode()]
        for key in path:
            number = isinstance(key, int)
            flat += [b"i", str(key).encode()] if number else [b"s", vectors.bytes_of(key)]
    return flat


def test_build_sip(program: Path) -> None:
    cases = [case for case in vectors.load("build") if case["op"] == "build_sip"]
    requests = (
        ("build_sip", [*sip_ops(case["inputs"]), b"results", *sip_ops(case["results"])])
        for case in cases
    )
    for case, answer in zip(cases, ask(program, requests), strict=True):
        taken = [text == b"1" for text in answer[: answer.index(b"end")]]
        encoded = answer[answer.index(b"end") + 1 :]
        for number, side in enumerate(("inputs", "results")):
            calls = [
                (index, [key if isinstance(key, int) else vectors.bytes_of(key) for key in path])
                for index, path in case[side]
            ]
            begin = number * len(case["inputs"])
            found = (taken[begin : begin + len(calls)], encoded[number])
            assert found == grammar.sip_mangle(calls)
            if case["note"] != "reference-defect":
                assert vectors.abridged(encoded[number]) == case["out"][side]
        if case["note"] != "reference-defect":
            assert vectors.abridged(encoded[2]) == case["out"]["sig"]


def test_lists_in_braces_constants_and_owned_keys(program: Path) -> None:
    ((buffers, structure, *constants),) = ask(program, [("others", [])])
    mangler = RawSignatureMangler()
    mangler.add_shaped_nd_buffer(ScalarType.SINT8, [2, -1])
    mangler.add_shaped_nd_buffer(ScalarType.IEEE_FLOAT32, [3])
    assert buffers == mangler.builder.encoded
    assert structure == b"D52!K41!a key that is longer than a small stringS5!k0_0"
    assert constants == [
        text for each in ScalarType for text in (str(each).encode(), b"%d" % each.itemsize)
    ]


def test_scalar_types_and_structures_of_other_code(program: Path) -> None:
    ((*texts, visited),) = ask(program, [("foreign", [])])
    names = ["float32", "uint64", "!BADTYPE!", "!BADTYPE!"]
    assert texts == [f"{name}Buffer<{name}[]>".encode() for name in names]
    assert visited == b":{\n},\n"


def test_manglers_are_moved(program: Path) -> None:
    ((*encoded, copied),) = ask(program, [("moved", [])])
    assert encoded == [b"D14!K2!bD7!K2!b_0", b"", b"_1"]
    assert copied == b"0"


def test_a_mangler_without_memory_stays_as_it_is(program: Path) -> None:
    ((encoded, changed),) = ask(program, [("memory", [])])
    key = b"k" * 100
    mapped = b"K101!%s_1" % key
    for _ in range(2):
        mapped = b"K101!%sD%d!%s" % (key, len(mapped) + 1, mapped)
    assert encoded == b"D%d!K2!a_0%s" % (len(mapped) + 7, mapped)
    assert changed == b"0"


@pytest.mark.parametrize("standard", ["c99", "c11"])
def test_a_c_program_links_with_the_static_library(
    prefix: Path, tmp_path: Path, standard: str
) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        "#include <fnabi/fnabi.h>\n"
        "#include <string.h>\n"
        "int main(void) {\n"
        '  return strcmp(fnabi_raw_scalar_name(4), "sint8");\n'
        "}\n"
    )
    out = tmp_path / "main"
    flags = [f"-std={standard}", "-Wall", "-Werror", f"-I{prefix}/include"]
    subprocess.run(
        ["cc", *flags, str(source), "-o", str(out), str(prefix / "lib/libfnabi.a")], check=True
    )
    assert subprocess.run([out]).returncode == 0


def test_the_programs_of_the_guide_print_what_it_shows(prefix: Path, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guide/library_c.md").read_text()
    programs = {block.caption: block.body for block in blocks(guide) if block.caption}
    assert set(programs) == {"dims.c", "signature.cc", "dims.rs"}
    del programs["dims.rs"]
    for name, body in programs.items():
        (tmp_path / name).write_text(body)
        compiler = ["cc"] if name.endswith(".c") else [CXX, "-std=c++17"]
        flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lfnabi", f"-Wl,-rpath,{prefix}/lib"]
        source, out = tmp_path / name, tmp_path / name.split(".")[0]
        subprocess.run([*compiler, "-Wall", "-Werror", source, "-o", out, *flags], check=True)
    printed = subprocess.run([tmp_path / "signature"], capture_output=True, text=True).stdout
    assert printed in guide
    dims = subprocess.run([tmp_path / "dims", "I1!"], capture_output=True, text=True)
    assert (dims.returncode, dims.stdout) == (1, "Results span not found at byte 3\n")
    assert subprocess.run([tmp_path / "dims", "I1!R1!"]).returncode == 0


def test_the_rust_of_the_guide(prefix: Path, tmp_path: Path) -> None:
    for program in ("bindgen", "rustc"):
        if shutil.which(program) is None:
            pytest.skip(f"could not find the program {program!r}")
    guide = (ROOT / "docs/guide/library_c.md").read_text()
    section = guide.partition("\n## Rust\n")[2].partition("\n## ")[0]
    (source,) = (block.body for block in blocks(section) if block.caption == "dims.rs")
    (tmp_path / "dims.rs").write_text(source)
    commands = [match["body"] for match in FENCE.finditer(section) if match["language"] == "sh"]
    script = "\n".join(commands).replace("/usr/local", shlex.quote(str(prefix)))
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, check=True)
    for text, status, told in (
        ("I1!", 1, "Results span not found at byte 3\n"),
        ("I1!R1!", 0, "a signature; its message has 11 bytes\n"),
    ):
        ran = subprocess.run([tmp_path / "dims", text], capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (status, told)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="could not find cmake")
def test_cmake_finds_the_library(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text(
        "#include <fnabi/signature_mangle.hpp>\n"
        "int main() {\n"
        "  iree::SignatureBuilder builder;\n"
        '  return builder.Integer(5).encoded() != "_5";\n'
        "}\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\n"
        "project(uses_fnabi CXX)\n"
        "find_package(fnabi 0.1 REQUIRED)\n"
        "foreach(target fnabi static)\n"
        "  add_executable(with_${target} main.cc)\n"
        "  target_compile_features(with_${target} PRIVATE cxx_std_17)\n"
        "  target_link_libraries(with_${target} PRIVATE fnabi::${target})\n"
        "endforeach()\n"
    )
    build = tmp_path / "build"
    found = f"-DCMAKE_PREFIX_PATH={prefix}"
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, found], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    for target in ("fnabi", "static"):
        assert subprocess.run([build / f"with_{target}"]).returncode == 0


@pytest.mark.skipif(shutil.which("cmake") is None, reason="could not find cmake")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        *(("", True), ("0.1", True), ("0.1.0 EXACT", True), ("0.0...0.9", True), ("0.2", False)),
        *(("1.0", False), ("0.0.9 EXACT", False), ("0.0...<0.1.0", False), ("1.0...2.0", False)),
    ],
)
def test_which_versions_cmake_accepts(
    prefix: Path, tmp_path: Path, asked: str, found: bool
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.19)\n"
        "project(uses_fnabi NONE)\n"
        f"find_package(fnabi {asked} QUIET)\n"
        'message(STATUS "found ${fnabi_FOUND}")\n'
    )
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert f"-- found {int(found)}\n" in done.stdout


HEADERS = ("fnabi.h", "callee.h", "signature_mangle.hpp")
STANDARDS = [
    *(
        ("c", header, f"c{year}")
        for header in ("fnabi.h", "callee.h")
        for year in ("11", "17", "2x")
    ),
    ("c", "fnabi.h", "c99"),
    *(
        ("c++", header, f"c++{year}")
        for header in ("fnabi.h", "callee.h")
        for year in ("11", "14", "17", "20", "2b")
    ),
    *(("c++", "signature_mangle.hpp", f"c++{year}") for year in ("17", "20", "2b")),
    *(("c++", header, f"c++17 {' '.join(WITHOUT)}") for header in HEADERS),
]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("language", "header", "standard"), STANDARDS)
def test_a_header_compiles_without_a_warning(
    prefix: Path, compiler: str, language: str, header: str, standard: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    # not a system header, whose warnings are not shown
    flags = [*f"-std={standard}".split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    flags += ["-pedantic-errors", f"-I{prefix}/include"]
    subprocess.run(
        [compiler, "-x", language, *flags, "-fsyntax-only", "-"],
        input=f"#include <fnabi/{header}>\n",
        text=True,
        check=True,
    )


def test_what_is_installed_can_be_removed(make: list[str], tmp_path: Path) -> None:
    """Below DESTDIR, which is in no file and no link."""
    place = [f"DESTDIR={tmp_path}/a root", "PREFIX=/opt/its own"]
    other = tmp_path / "a root/opt/its own/include/other.h"
    other.parent.mkdir(parents=True)
    other.touch()
    subprocess.run([*make, "install", *place], check=True)
    installed = [path for path in other.parents[1].rglob("*") if not path.is_dir()]
    library = other.parents[1] / "lib/libfnabi.so"
    assert {other, library, library.with_suffix(".a")} < set(installed)
    assert library.resolve().parent == library.parent
    for path in installed:
        assert str(tmp_path).encode() not in path.read_bytes()
    subprocess.run([*make, "uninstall", *place], check=True)
    assert [path for path in other.parents[1].rglob("*") if not path.is_dir()] == [other]


def test_the_name_of_the_shared_library_has_the_major_version(prefix: Path) -> None:
    version = fnabi.__version__
    shared = prefix / "lib/libfnabi.so"
    assert shared.resolve().name == f"libfnabi.so.{version}"
    found = library.read(shared)
    assert found.soname == f"libfnabi.so.{version.split('.')[0]}"
