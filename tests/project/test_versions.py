"""What ``docs/about/versions.md`` says of versions, and ``docs/why.md`` of numbers."""

from __future__ import annotations

import re
import subprocess
import tomllib

from fnabi import vmfb
from fnabi.many.catalog import _migrate, _table
from support.paths import ROOT

PAGE = (ROOT / "docs/about/versions.md").read_text()
WHY = (ROOT / "docs/why.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def row(name: str) -> str:
    """Return the second cell of a row of a table."""
    (cell,) = re.findall(rf"^\| {re.escape(name)} \| (.*?) \|", PAGE, re.M)
    return cell


def test_the_schemas_are_those_that_are_written() -> None:
    written: set[str] = set()
    for path in (ROOT / "python/fnabi").rglob("*.py"):
        written |= {*re.findall(r'"(fnabi\.[a-z.-]+/\d+)"', path.read_text(encoding="utf-8"))}
    assert {*re.findall(r"`(fnabi\.[a-z.-]+/\d+)`", PAGE)} == written


def test_the_versions_of_packages() -> None:
    pythons = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if " 3." in each]
    assert row("CPython").partition(";")[0].split(", ") == pythons
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    for requirement in PROJECT["dependencies"]:
        name, _, oldest = requirement.partition(">=")
        assert row(name).startswith(f"{oldest} and newer")


def test_the_version_of_a_catalog() -> None:
    assert row("catalog") == _table.VERSION
    (migrated,) = re.findall(r"of version (\d+), `fnabi catalog update` migrates it", PAGE)
    assert _migrate.columns_of(migrated)
    assert not _migrate.columns_of(f"{int(migrated) - 1}")


def test_the_releases_of_iree() -> None:
    releases = vmfb.releases()
    told = f"of {len(releases)} releases, from {releases[0]} to {releases[-1]};"
    assert told in row("IREE's runtime")
    assert f"On which of {len(releases)} releases" in WHY
    tested = re.findall(r'"iree-(\d[\d.]+)"', (ROOT / "tools/lock.py").read_text())
    assert row("IREE's runtime").endswith(f"tested with {' and '.join(tested)}")


def test_the_name_of_the_library() -> None:
    show = "show: ; @echo $(SONAME)"
    command = ["make", "-s", "-C", "csrc", f"--eval={show}", "show"]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert f"its SONAME is `{run.stdout.strip()}`" in PAGE


def test_the_numbers_are_those_of_the_benchmarks() -> None:
    measured: dict[tuple[str, str], str] = {}
    work = ""
    benchmarks = (ROOT / "benchmarks/README.md").read_text()
    for name, _, peer, ratio in re.findall(
        r"^\| (.+) \| (.+) \| (.+) \| ([\d.]+) \| [^|]* \|$", benchmarks, re.M
    ):
        work = work if name == "…" else name
        measured[work, peer.rpartition(", ")[0]] = ratio
    table = WHY.partition("| ratio |\n")[2]
    shown = re.findall(r"^\| (.+) \| (.+) \| ([\d.]+) \|$", table, re.M)
    assert len(shown) > 5
    assert {(name, peer): ratio for name, peer, ratio in shown}.items() <= measured.items()
    start, other = re.findall(
        r"(\d+) ms for 300 functions, where `iree-dump-module` takes (\d+) ms", WHY
    )[0]
    assert (
        f"`fnabi inspect` ({start} ms, `iree-dump-module` {other} ms, for 300 functions)"
        in benchmarks
    )
