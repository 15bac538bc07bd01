"""What a release is made of: where it comes from, and that it can be made again.

`.ci/run wheel` builds the wheel twice, and validates its bill of materials.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from tools.lock import ALONE, FOLDER, LOCKS, PACKAGE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
in_a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")


@in_a_clone
def test_actions_are_pinned_by_commit() -> None:
    pinned = re.compile(r"[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    uses = [
        use
        for path in [*WORKFLOWS, ROOT / "action.yml"]
        for use in re.findall(r"uses: *(.+)", path.read_text())
    ]
    assert len(uses) > 10
    assert [use for use in uses if not pinned.fullmatch(use)] == []
    versions = {use.split("@")[0]: use for use in uses}
    assert {use for use in uses if use != versions[use.split("@")[0]]} == set()


WITHOUT_HASHES = ["install -q torch==2.13.0", "install -q --no-deps --upgrade msgspec"]


@in_a_clone
def test_ci_installs_packages_by_hash() -> None:
    """But for two, which `.ci/run` names, and for fnabi itself."""
    installs = [
        line.strip()
        for path in [*WORKFLOWS, ROOT / ".ci" / "run"]
        for line in re.sub(r"^ *#.*", "", path.read_text(), flags=re.MULTILINE).splitlines()
        if re.search(r"\b(?:pip3?|pipx|uv|npm|npx)\b\S* +(?:install|run|exec|ci)\b", line)
    ]
    assert len(installs) > 10
    own = re.compile(r"--no-deps (--no-build-isolation (\.|\"\$sdist\")|\"\$wheel\")$")
    assert [
        line
        for line in installs
        if not re.search(r"--require-hashes .*-r", line)
        and "npm ci " not in line
        and not own.search(line)
        and not line.endswith(tuple(WITHOUT_HASHES))
    ] == []


def named(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def needs(extra: str) -> set[str]:
    """Return the packages of an extra of fnabi, and of the extras that it names."""
    found: set[str] = set()
    for each in PROJECT["optional-dependencies"][extra]:
        inner = re.fullmatch(r"fnabi\[(.*)\]", each)
        names = inner[1].split(",") if inner else []
        found |= set().union(*map(needs, names)) if inner else {named(each)}
    return found


@in_a_clone
def test_each_package_that_ci_installs_has_hashes() -> None:
    """A package that pyproject.toml gains is missing here until `python -m tools lock` runs."""
    packages: dict[str, set[str]] = {}
    for name, lock in {**LOCKS, **dict.fromkeys(ALONE)}.items():
        blocks = PACKAGE.findall((FOLDER / f"{name}.txt").read_text())
        for block in blocks:
            assert re.match(r"[\w.-]+==\S+ (;.*)?\\\n    --hash=sha256:[0-9a-f]{64}", block), block
        packages[name] = {named(block) for block in blocks}
        if lock is not None:
            wanted = {named(each) for each in [*PROJECT["dependencies"], *lock.packages]}
            wanted = wanted.union(*map(needs, lock.extras))
            assert wanted - packages[name] - packages.get(lock.base, set()) == set(), name


def annotations() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    table = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
    found = []
    for each in table:
        globs = [re.escape(path).replace(r"\*\*", ".*") for path in each["path"]]
        pattern = "|".join(glob.replace(r"\*", "[^/]*") for glob in globs)
        found.append((re.compile(pattern), each))
    return found


@in_a_clone
def test_each_file_has_a_licence_and_compiled_ones_that_of_their_compiler() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    files = [each for each in listed.stdout.decode().splitlines() if (ROOT / each).is_file()]
    licences = {}
    for file in files:
        if file != "LICENSE" and not file.startswith("LICENSES/"):
            matches = [each for pattern, each in annotations() if pattern.fullmatch(file)]
            assert matches, f"{file} is not in REUSE.toml"
            licences[file] = matches[-1]["SPDX-License-Identifier"]
    modules = [file for file in licences if file.endswith(".vmfb")]
    assert len(modules) > 200
    assert {licences[file] for file in modules} == {"Apache-2.0 WITH LLVM-exception"}
    texts = {path.stem for path in (ROOT / "LICENSES").iterdir()}
    assert texts == {part for each in licences.values() for part in each.split(" WITH ")}
    assert (ROOT / "LICENSES/Apache-2.0.txt").read_text() == (ROOT / "LICENSE").read_text()


def test_the_bill_of_materials_names_what_is_compiled_in(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77")
    command = [sys.executable, "setup.py", "-q", "egg_info", f"--egg-base={tmp_path}"]
    command += ["dist_info", f"--output-dir={tmp_path}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.dist-info/sboms/*.cdx.json")
    bill = json.loads(path.read_text())
    own = bill["metadata"]["component"]
    assert own["purl"] == f"pkg:pypi/fnabi@{PROJECT['version']}"
    assert own["licenses"] == [{"expression": PROJECT["license"]}]
    assert [each["purl"] for each in bill["components"]] == [f"pkg:pypi/cffi@{version('cffi')}"]
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    checker = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert checker.validate_str(path.read_text()) is None


@pytest.mark.slow
@in_a_clone
@pytest.mark.skipif(os.name != "posix", reason="needs a umask")
def test_a_commit_has_one_sdist(tmp_path: Path) -> None:
    """Of the same bytes in another folder, time zone and umask, and after tests ran there."""
    pytest.importorskip("setuptools", "77")
    made = []
    for name, zone, umask in (("a", "Asia/Kathmandu", 0o022), ("a/b/c", "America/St_Johns", 0o077)):
        clone = tmp_path / name / "clone"
        run: dict[str, Any] = {"check": True, "umask": umask, "capture_output": True}
        subprocess.run(["git", "clone", "-q", ROOT, clone], **run)
        if umask == 0o077:
            (clone / "tests/project/test.pyc").touch()
        environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
        subprocess.run(
            [sys.executable, "setup.py", "-q", "sdist", "--dist-dir=../made"],
            cwd=clone,
            env={**environment, "TZ": zone, "PYTHONHASHSEED": str(umask)},
            **run,
        )
        (archive,) = clone.parent.glob("made/*.tar.gz")
        made.append(archive.read_bytes())
    assert made[0] == made[1]
