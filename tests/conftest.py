from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from support.paths import ROOT
from support.reasons import counted
from support.sanitizers import SANITIZE, examples

if TYPE_CHECKING:
    from support.browser import Browser

# Every run has the same examples. A failure found by a longer search becomes its own test.
# `.ci/run` and `.ci/run full` choose longer profiles with --hypothesis-profile.
for name, count in (("quick", 60), ("commit", 300), ("full", 1200)):
    settings.register_profile(name, deadline=None, derandomize=True, max_examples=examples(count))
settings.load_profile("quick")

pytest.register_assert_rewrite("support.outcomes")

# A job in the background of a script ignores Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Make a cache of mypy's for all workers: the first look at fnabi takes most of the time."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        cache = TemporaryDirectory(prefix="fnabi-mypy-")
        os.environ["MYPY_CACHE_DIR"] = cache.name
        config.add_cleanup(cache.cleanup)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use all processors for folders. Named files and tests run here, as does what prints."""
    named = [argument.partition("::")[0] for argument in config.args]
    if config.getoption("capture") == "no" or all(Path(name).is_file() for name in named):
        return 0
    return min(os.cpu_count() or 1, 8)  # each worker collects the tests, which takes seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write a line for each reason to skip, not for each place; `-rs` has the places."""
    skipped = [report.longrepr for report in terminalreporter.getreports("skipped")]
    lines = counted(why[2].removeprefix("Skipped: ") for why in skipped if isinstance(why, tuple))
    if lines:
        terminalreporter.section("reasons to skip", "-")
    for line in lines:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _unfolded() -> None:
    """Forget the size of the terminal, which readline exports to the workers of pytest-xdist."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
        os.unsetenv(name)  # where readline has set it since, which os.environ does not see


@pytest.fixture(autouse=True)
def _unmeasured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes without coverage in tests with the marker."""
    if request.node.get_closest_marker("unmeasured"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that cannot run under the sanitizers, with the reason of their marker.

    A name with an address differs from worker to worker, and pytest-xdist then runs nothing.
    """
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: expected a name without an address")
        mark = item.get_closest_marker("unsanitized")
        if mark is not None and SANITIZE:
            item.add_marker(pytest.mark.skip(reason=mark.args[0]))


@pytest.fixture(scope="session")
def objects():
    """Load the core's objects with the installed package tvm_ffi, as one of its modules."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    from support import callee

    csrc = ROOT / "csrc"
    core = [str(csrc / "calls" / f"{noun}.c") for noun in ("any", "object", "array", "map")]
    core.append(str(csrc / "base/poll.c"))
    return tvm_ffi.load_module(callee.interop_library("objects", f"-I{csrc}", *core))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a browser for the tests of a file, or skip them."""
    pytest.importorskip("selenium.webdriver")
    from support.browser import started

    with started(tmp_path_factory.mktemp("pages")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Return the browser, and look at its console and requests after the test."""
    yield chromium
    chromium.check()


@pytest.fixture
def unguarded(browser: Browser) -> Iterator[Browser]:
    """Return the browser without the pages' policy, which forbids the checker what it does."""
    browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    yield browser
    browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of the checker of accessibility."""
    from support.browser import AXE, npm_file

    return npm_file(tmp_path_factory.mktemp("axe"), AXE, "axe.min.js")
