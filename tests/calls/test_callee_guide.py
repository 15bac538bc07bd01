"""The libraries of the guides to kernels, called by fnabi and by ``tvm_ffi``.

``test_docs.py`` follows the guides as a reader does. Here their code is compiled strictly; the
pages have the same functions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fnabi
from support import documents
from support.callee import built, rust_library
from support.sanitizers import SANITIZE

GUIDE = documents.ROOT / "docs" / "guide"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", *SANITIZE)
LIBRARIES = {
    "c": ("kernel_c.md", "shop.c", "gcc", ["-std=c11"]),
    "c by clang": ("kernel_c.md", "shop.c", "clang", ["-std=c11"]),
    "c++11": ("kernel_cpp.md", "shop.cc", "g++", ["-std=c++11"]),
    "c++20": ("kernel_cpp.md", "shop.cc", "g++", ["-std=c++20"]),
    "rust 2021": ("kernel_rust.md", "shop.rs", "rustc", ["--edition", "2021"]),
    "rust 2024": ("kernel_rust.md", "shop.rs", "rustc", ["--edition", "2024", "-O"]),
}


def source(page: str, name: str) -> str:
    """Return the code of a page that is to be saved under a name."""
    blocks = documents.blocks((GUIDE / page).read_text())
    return next(block.body for block in blocks if block.caption == name)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guide")


@cache
def library(language: str, folder: Path) -> str:
    page, name, compiler, flags = LIBRARIES[language]
    path = folder / language.replace(" ", "_") / name
    path.parent.mkdir(exist_ok=True)  # a skip is not cached
    path.write_text(source(page, name))
    if compiler == "rustc":
        return rust_library(path, *flags)
    return built("shop", compiler, *flags, *STRICT, "-I", fnabi.get_include(), str(path))


@pytest.fixture(params=LIBRARIES)
def path(request: pytest.FixtureRequest, folder: Path) -> str:
    return library(request.param, folder)


@pytest.fixture(params=["fnabi", "tvm_ffi"])
def caller(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture
def shop(caller: Any, path: str) -> Any:
    return caller.load_module(path)


def test_values(shop: Any) -> None:
    assert shop.area(2, 1.5) == 3.0
    assert shop.label("Käse", 3) == "Käse: 3"
    assert shop.label("", -(2**63)) == f": {-(2**63)}"
    assert list(shop.count(["abacus", "", "kernel"], "a")) == [2, 0, 0]
    assert list(shop.count([], "a")) == []


def test_maps(shop: Any) -> None:
    for size in (0, 1, 4, 5, 100):
        prices = {f"{i} or so" * (i % 3): i for i in range(0, 3 * size, 3)}
        prices |= {f"{i}": i for i in range(size)}
        made = shop.raised(prices, 100)
        assert list(made.items()) == [(name, 2.0 * price) for name, price in prices.items()]
        assert all(made[name] == 2.0 * price for name, price in prices.items())


def test_tensors(shop: Any, caller: Any) -> None:
    numpy = pytest.importorskip("numpy")
    made = shop.normalized(numpy.float32([1, 3]))
    assert type(made) is caller.Tensor
    assert numpy.from_dlpack(made).tolist() == [0.25, 0.75]
    torch = pytest.importorskip("torch")
    made = shop.normalized(torch.tensor([1.0, 3.0]))
    assert type(made) is torch.Tensor
    assert made.tolist() == [0.25, 0.75]


# tvm_ffi raises a kind that it does not know as a RuntimeError.
DIVISION = (ZeroDivisionError, RuntimeError)


def test_functions(shop: Any) -> None:
    assert round(shop.root(lambda x: x * x - 2, 0, 2), 6) == 1.414214
    with pytest.raises(DIVISION, match="division by zero"):
        shop.root(lambda x: 1 / (x - 1), 0, 2)
    with pytest.raises(TypeError, match="f returned no number"):
        shop.root(lambda x: "a text that is no number", 0, 2)


def test_errors(shop: Any) -> None:
    numpy = pytest.importorskip("numpy")
    for kind, told, function, *arguments in (
        (ValueError, r"^2 by -1 is no area$", shop.area, 2, -1),
        (TypeError, r"area\(\) takes 2 arguments, not 1", shop.area, 2),
        (TypeError, r"area\(\) argument 0 must be float, not str", shop.area, "2", 1),
        (TypeError, r"words\[1\] is not a text", shop.count, ["abacus", 7], "a"),
        (ValueError, "letter has 0 bytes, expected 1", shop.count, [], ""),
        (TypeError, r"a price is not a number", shop.raised, {"a longer name": "x"}, 1),
        (TypeError, "not float64 of rank 2", shop.normalized, numpy.eye(2)),
        (TypeError, "must be ffi.Tensor, not int", shop.normalized, 1),
    ):
        with pytest.raises(kind, match=told):
            function(*arguments)
    with pytest.raises(DIVISION, match="the sum is 0"):
        shop.normalized(numpy.zeros(3, dtype="float32"))


def test_the_same_without_the_runtime(path: str) -> None:
    """Errors, maps and tensors come from the library and fnabi alone."""
    code = (
        "import sys\n"
        "sys.modules['tvm_ffi'] = None\n"
        "import fnabi\n"
        "shop = fnabi.load_module(sys.argv[1])\n"
        "print(shop.area(2, height=2), shop.raised(dict(a=2), percent=50))\n"
        "try: shop.area(2, -1)\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert done.stdout == "4.0 Map({'a': 3.0})\n2 by -1 is no area\n", done.stderr


NAME = re.compile(r"\b(?:callee|CALLEE)_\w+\b")
HEADER = Path(fnabi.get_include(), "fnabi", "callee.h").read_text()
READERS = {f"callee_{name}" for name in re.findall(r"^CALLEE_ARGUMENT\((\w+),", HEADER, re.M)}


def test_the_pages_have_names_of_the_header() -> None:
    known = {*NAME.findall(HEADER), *READERS}
    for page in (documents.ROOT / "docs").rglob("*.md"):
        unknown = set(NAME.findall(page.read_text())) - known
        assert all(name.endswith("_") for name in unknown), f"{page}: {unknown}"


def test_the_reference_has_what_arguments_and_results_need() -> None:
    page = (documents.ROOT / "docs" / "reference" / "kernels.md").read_text()
    families = r"\b(callee_(?:as|put|return|raise|count|argument|new|release)\w*)\("
    private = re.compile(r"_(?:list|span|own|small|table|raiser)$")
    public = {name for name in re.findall(families, HEADER) if not private.search(name)}
    assert {*public, *READERS} <= set(NAME.findall(page))
