"""``python -m tools release 0.1.0``: make the commit and the tag of a release.

The commit sets the version and gives the changes since the last release the date of today;
``--dry-run`` shows both and changes nothing. ``--notes v0.1.0`` prints the changes of a release:
the workflow that the tag starts has the text of the release from it, and ends where the tag is not
the version of the commit. docs/about/releases.md has the steps before and after.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = "python/fnabi/_base/version.py"
CHANGELOG = "CHANGELOG.md"
NAMED_IN = ["docs/guide/ci.md", "docs/about/releases.md"]
"""Pages whose examples name the newest release."""

NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)")
UNRELEASED = "## Unreleased\n"
LONGEST = 125_000
"""Characters that GitHub takes as the text of a release."""


def git(*arguments: str) -> str:
    """Return what a command of git prints."""
    run = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return run.stdout


def number(version: str) -> tuple[int, ...] | None:
    """Return the parts of a version such as 0.1.0, or None for another text."""
    found = NUMBER.fullmatch(version)
    return tuple(map(int, found.groups())) if found else None


def current() -> str:
    """Return the version of the package."""
    found: list[str] = re.findall(r'^VERSION = "(.*)"$', (ROOT / VERSION).read_text(), re.M)
    return found[0]


def section(changelog: str, heading: str) -> str:
    """Return the text of a section of the changelog, or "" where there is none."""
    _, found, rest = changelog.partition(heading)
    return re.split(r"^## ", rest, maxsplit=1, flags=re.M)[0].strip() if found else ""


def faults(version: str) -> list[str]:
    """Return why a version cannot be released from here."""
    new = number(version)
    if new is None:
        return [f"the version must be three numbers, such as 0.1.0, got {version!r}"]
    found = []
    tags = {tag: parts for tag in git("tag").split() if (parts := number(tag.removeprefix("v")))}
    if tags and new <= max(tags.values()):
        found.append(f"{version} is not newer than the tag {max(tags, key=lambda tag: tags[tag])}")
    if new < (number(current()) or ()):
        found.append(f"{version} is older than {current()}, the version of {VERSION}")
    if git("status", "--porcelain"):
        found.append("there are changes that are not committed")
    changed = section(read(CHANGELOG), UNRELEASED)
    if not changed:
        found.append(f"{CHANGELOG} has nothing in its section Unreleased")
    if len(changed) > LONGEST:
        found.append(
            f"the section Unreleased of {CHANGELOG} has {len(changed):,} characters, more than"
            f" the {LONGEST:,} that GitHub takes as the text of a release"
        )
    return found


def changes(version: str, date: str) -> dict[str, str]:
    """Return the new text of each file that a release changes."""
    old, texts = current(), {}
    for name in [VERSION, *NAMED_IN]:
        texts[name] = re.sub(rf"(?<![\d.]){re.escape(old)}(?![\d.]\d)", version, read(name))
    texts[CHANGELOG] = read(CHANGELOG).replace(
        UNRELEASED, f"{UNRELEASED}\n## {version} - {date}\n", 1
    )
    return {name: text for name, text in texts.items() if text != read(name)}


def read(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def release(version: str, dry_run: bool) -> int:
    """Commit and tag a version, or only show the commit and the commands."""
    found = faults(version)
    for fault in found:
        print(f"release: {fault}", file=sys.stderr)
    if found:
        return 1
    texts = changes(version, f"{datetime.now(UTC).date()}")
    commit = ["commit", "-q", "-m", f"Release {version}", "--", *texts]
    tag = ["tag", "-a", f"v{version}", "-m", f"fnabi {version}"]
    for name, text in texts.items():
        if dry_run:
            lines = read(name).splitlines(keepends=True), text.splitlines(keepends=True)
            print("".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}", n=1)), end="")
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
    for command in (commit, tag):
        print(f"git {subprocess.list2cmdline(command)}")
        if not dry_run:
            git(*command)
    print(f"then: git push origin HEAD v{version}")
    return 0


def notes(tag: str) -> int:
    """Print the changes of a release, or fail where its tag and its files disagree."""
    heading = f"## {current()} - "
    text = section(read(CHANGELOG), heading)
    if tag != f"v{current()}" or not text:
        told = f"{VERSION} has {current()}, {CHANGELOG} {'a' if text else 'no'} section of it"
        print(f"release: {tag} is no release of this commit: {told}", file=sys.stderr)
        return 1
    print(text.partition("\n")[2].strip())  # after the date
    return 0


def main() -> int:
    """Make a release, or print its notes."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("version", metavar="VERSION", help="such as 0.1.0, or with --notes v0.1.0")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, and make none")
    parser.add_argument("--notes", action="store_true", help="print the changes of a release")
    arguments = parser.parse_args()
    if arguments.notes:
        return notes(arguments.version)
    return release(arguments.version, arguments.dry_run)
