"""How the tests run: loops name each case that fails, folders are tested in parallel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from support import vectors
from support.each import check_each, each
from support.paths import ROOT
from support.reasons import counted


def even(number: int) -> None:
    assert number % 2 == 0, f"{number} is odd\nand more"


def named(*numbers: int) -> list[tuple[str, int]]:
    return [(f"case-{number}", number) for number in numbers]


def test_every_failure_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        check_each(named(2, 3, 4, 5), even)
    first, *lines = str(caught.value).split("\n")
    assert first == "2 of 4 cases failed"
    assert [line.split(": ")[0] for line in lines] == ["2. case-3", "4. case-5"]
    assert "test_running.py:" in lines[0]
    assert "AssertionError: 3 is odd" in lines[0]
    assert str(caught.value.__cause__).startswith("3 is odd")


def test_what_pytest_raises_is_a_failure() -> None:
    def check(_: object) -> None:
        with pytest.raises(ValueError, match="never"):
            pass

    with pytest.raises(AssertionError, match=r"1 of 1 cases failed\n1\. x: .*DID NOT RAISE"):
        check_each([("x", 0)], check)


def test_no_case_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="there are no cases"):
        each(list)(even)()
    with pytest.raises(AssertionError, match="there are no cases"):
        vectors.each("raw", "no such op")(even)()  # type: ignore[arg-type]


def test_every_vector_is_a_case() -> None:
    """Each record of the files is checked by one of these groups."""
    found: list[str] = []
    for name, *ops in (
        ("tokens", "tokens", "seek"),
        ("raw", "raw"),
        ("sip", "sip"),
        ("build", "builder", "build_raw", "build_sip"),
    ):
        vectors.each(name, *ops)(lambda case: found.append(case["id"]))()
    assert len(found) == len({*found}) == 6042


@pytest.mark.parametrize(
    ("arguments", "capture", "parallel"),
    [
        (["tests"], "fd", True),
        (["tests/abi", "tests/project/test_running.py"], "fd", True),
        (["tests"], "no", False),
        (["tests/project/test_running.py"], "fd", False),
        (["tests/project/test_running.py::test_every_failure_is_named"], "fd", False),
    ],
)
def test_folders_run_in_parallel(
    arguments: list[str], capture: str, parallel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named files run in the process that collects them, where a debugger works."""
    import conftest

    monkeypatch.chdir(ROOT)
    config: Any = SimpleNamespace(args=arguments, getoption={"capture": capture}.__getitem__)
    assert (conftest.pytest_xdist_auto_num_workers(config) > 0) is parallel


def test_a_missing_package_is_one_line() -> None:
    reasons = [
        "could not import 'tvm_ffi': No module named 'tvm_ffi'",
        "could not import 'tvm_ffi.core': No module named 'tvm_ffi'",
        "lib/libtvm_runtime.so of the package tvm is not installed",
        "cannot be had: a\nb",
    ]
    assert counted(reasons) == [
        "    1 cannot be had: a",
        "    1 tvm is not installed",
        "    2 tvm_ffi is not installed",
    ]
