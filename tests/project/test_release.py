"""What a release is made of: where it comes from, and that it can be made again.

`.ci/run wheel` builds the wheel twice, and validates its bill of materials.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import PathDistribution, version
from pathlib import Path
from typing import Any

import pytest

import fnabi
from support.paths import ROOT
from tools import release
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
            assert re.match(
                r"[\w.-]+(\[[\w,-]+\])?==\S+ (;.*)?\\\n    --hash=sha256:[0-9a-f]{64}", block
            ), block
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


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the metadata of a wheel."""
    pytest.importorskip("setuptools", "77")
    folder = tmp_path_factory.mktemp("metadata")
    command = [sys.executable, "setup.py", "-q", "egg_info", f"--egg-base={folder}"]
    command += ["dist_info", f"--output-dir={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.dist-info")
    return found


def check_page(description: str) -> None:
    """Check the README of a package: each link is absolute, and leads to a file that is here."""
    text = re.sub(r"^```.*?^```$", "", description, flags=re.M | re.S)
    links = re.findall(r"\]\((.*?)\)", text)
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text())) > 20
    assert not re.search(r"<(a|img)\b|^\[[^]]*\]:", text, re.M)  # no other kinds of links
    assert [link for link in links if not link.startswith("https://")] == []
    tag = f"v{fnabi.__version__}/"
    paths = [
        (kind, path)
        for kind, path in re.findall(
            rf"https://(.*)fnabi/fnabi/(?:blob/)?{tag}(.*)", "\n".join(links)
        )
    ]
    assert [path for _, path in paths if not (ROOT / path.partition("#")[0]).is_file()] == []
    images = {path for kind, path in paths if kind == "raw.githubusercontent.com/"}
    assert images == {"docs/images/page.png", "benchmarks/ratios.svg"}


def test_the_readme_of_a_package_has_no_relative_link(metadata: Path) -> None:
    found = PathDistribution(metadata).metadata
    assert found["Description-Content-Type"] == "text/markdown"
    assert found["Version"] == fnabi.__version__
    check_page(str(found.get_payload()))  # type: ignore[attr-defined]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository of the files that a release changes, and let the command work on it."""
    for name in (release.VERSION, release.CHANGELOG, *release.NAMED_IN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text().replace(fnabi.__version__, "0.1.0")
        (tmp_path / name).write_text(text)
    (tmp_path / release.CHANGELOG).write_text("# Changelog\n\n## Unreleased\n\n- A change.\n")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Someone")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "someone@example.org")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    release.git("init", "-q", "-b", "main")
    release.git("add", ".")
    release.git("commit", "-q", "-m", "Begin")
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["release", *arguments])
    return release.main()


def test_a_dry_run_shows_the_release_that_follows(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = release.git("rev-parse", "HEAD").strip()
    for new in ("0.1.0", "7.0.0"):
        assert run(monkeypatch, new, "--dry-run") == 0
        shown = capsys.readouterr().out
        assert f"+## {new} - 20" in shown
        assert f"git tag -a v{new}" in shown
        assert release.git("status", "--porcelain") == release.git("tag") == ""
        assert release.git("rev-parse", "HEAD").strip() == before

    assert run(monkeypatch, "7.0.0") == 0
    assert capsys.readouterr().out == "".join(re.findall(r"^(?:git|then:) .*\n", shown, re.M))
    made = release.git("diff", "--no-prefix", "-U1", before, "HEAD")
    lines = re.compile(r"^[+-][^+-].*$", re.M)
    assert sorted(lines.findall(made)) == sorted(lines.findall(shown))


def test_a_release_has_one_version(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "0.1.0") == run(monkeypatch, "--notes", "v0.1.0") == 0
    assert capsys.readouterr().out.endswith("\n- A change.\n")
    assert release.git("tag", "--points-at", "HEAD").split() == ["v0.1.0"]
    assert release.git("log", "-1", "--format=%s") == "Release 0.1.0\n"
    assert run(monkeypatch, "--notes", "v0.2.0") == 1
    assert "v0.2.0 is no release of this commit: " in capsys.readouterr().err

    assert run(monkeypatch, "0.2.0") == 1  # nothing has changed since
    assert "has nothing in its section Unreleased" in capsys.readouterr().err
    changelog = repository / release.CHANGELOG
    changelog.write_text(
        changelog.read_text().replace("Unreleased\n", "Unreleased\n\n- Another.\n")
    )
    assert run(monkeypatch, "0.2.0") == 1
    assert "changes that are not committed" in capsys.readouterr().err
    release.git("commit", "-q", "-a", "-m", "Change")
    for old in ("0.1.0", "0.0.9"):
        assert run(monkeypatch, old, "--dry-run") == 1
        assert f"{old} is not newer than the tag v0.1.0" in capsys.readouterr().err
    text = changelog.read_text()
    changelog.write_text(text.replace("- Another.\n", "- Another.\n" * 12_000))
    assert run(monkeypatch, "0.2.0", "--dry-run") == 1
    assert "has 131,999 characters, more than the 125,000 that" in capsys.readouterr().err
    changelog.write_text(text)
    assert run(monkeypatch, "0.2", "--dry-run") == 1
    assert "three numbers, such as 0.1.0, got '0.2'" in capsys.readouterr().err

    assert run(monkeypatch, "0.2.0") == run(monkeypatch, "--notes", "v0.2.0") == 0
    assert capsys.readouterr().out.endswith("\n- Another.\n")
    headings = re.findall(r"^## (.*)", changelog.read_text(), re.M)
    assert [each.partition(" - ")[0] for each in headings] == ["Unreleased", "0.2.0", "0.1.0"]
    assert "rev: v0.2.0\n" in (repository / "docs/guide/ci.md").read_text()
    assert release.current() == "0.2.0"


def test_the_changes_fit_in_a_release_of_github() -> None:
    changed = release.section(release.read(release.CHANGELOG), release.UNRELEASED)
    assert len(changed) <= release.LONGEST


@in_a_clone
def test_the_version_is_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    text = re.compile(rf'^\W*(version|VERSION)\W.*"{re.escape(fnabi.__version__)}"', re.M)
    sources = [
        name
        for name in listed.stdout.decode().splitlines()
        if name.startswith(("python/", "csrc/", "pyproject.toml", "setup.py"))
        and text.search((ROOT / name).read_text("utf-8", "replace"))
    ]
    assert sources == [release.VERSION]


def test_the_bill_of_materials_names_what_is_compiled_in(metadata: Path) -> None:
    (path,) = metadata.glob("sboms/*.cdx.json")
    bill = json.loads(path.read_text())
    own = bill["metadata"]["component"]
    assert own["purl"] == f"pkg:pypi/fnabi@{fnabi.__version__}"
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
        with tarfile.open(archive) as members:
            (name,) = (
                each
                for each in members.getnames()
                if each.count("/") == 1 and each.endswith("/PKG-INFO")
            )
            page = members.extractfile(name)
            assert page is not None
            check_page(page.read().decode().partition("\n\n")[2])
    assert made[0] == made[1]
