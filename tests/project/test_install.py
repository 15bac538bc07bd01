"""``docs/install.md``: its commands in a copy of the repository, and its table of extras."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from support import documents
from support.paths import ROOT

PAGE = ROOT / "docs" / "install.md"
TITLE = re.compile(r"^## (.*)\n", re.M)
SECTIONS = dict(zip(*[iter(TITLE.split(PAGE.read_text())[1:])] * 2, strict=True))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a copy of the files of the repository the current folder, as after ``git clone``."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("needs the repository")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for variable in ("VIRTUAL_ENV", "PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.mark.full  # packages are downloaded, and fnabi is compiled twice
def test_the_commands_with_pip(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for title, text in SECTIONS.items():
        if title != "With uv":
            with monkeypatch.context() as patch:
                if title == "Without a compiler":
                    patch.setenv("CC", "/nonexistent/cc")
                done = documents.run_blocks(text, f"install.md, {title}", checkout)
            assert done, title
    for environment in ("from-wheel", "from-sdist", "no-compiler", "offline"):
        subprocess.run([f"{environment}/bin/fnabi", "--version"], check=True)


@pytest.mark.full
def test_the_commands_with_uv(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("uv") is None:
        pytest.skip("could not find the program 'uv'")
    monkeypatch.setenv("UV_TOOL_DIR", str(checkout / "tools-of-uv"))
    monkeypatch.setenv("UV_TOOL_BIN_DIR", str(checkout / "bin"))
    assert documents.run_blocks(SECTIONS["With uv"], "install.md, With uv", checkout) == 2
    subprocess.run(["bin/fnabi", "--version"], check=True)


def test_the_extras_are_those_of_the_package() -> None:
    """The table has those for users, and the text those for contributors."""
    section = SECTIONS["Extras"]
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", section, re.M)
    shown = {name: brings for cell, brings in rows for name in re.findall("`(.*?)`", cell)}
    (others,) = re.findall(
        r"^((?:`\w+`,? (?:and )?)+)are for those who change fnabi", section, re.M
    )
    extras = PROJECT["optional-dependencies"]
    assert shown.keys() | {*re.findall("`(.*?)`", others)} == extras.keys()
    for name, brings in shown.items():
        packages = {re.split(r"[\[><=]", each)[0].lower() for each in extras[name]}
        told = {each.lower() for each in re.findall(r"[\w-]+", brings)}
        assert brings.startswith("the tool") or packages <= told, name
