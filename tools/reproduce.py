"""``python -m tools reproduce``: build a commit twice under different circumstances, and compare.

The two sdists and the two wheels must have the same bytes. The folder, the user, the time zone,
the umask, the language, the hashes of Python and the clock differ; the versions of Python, the
compiler and the packages of ``.ci/requirements/wheel.txt`` do not: install these first.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOBODY = 65534
# As nobody, who may read what root may: Python is often below the home of root.
AS_NOBODY = [
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]
CIRCUMSTANCES: list[tuple[str, int, dict[str, str]]] = [
    ("a", 0o022, {"TZ": "Asia/Kathmandu", "LANG": "C", "PYTHONHASHSEED": "1"}),
    (
        "a folder/with a longer name",
        0o077,
        {
            "TZ": "America/St_Johns",
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "2",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    ),
]


def build(
    commit: str, folder: Path, umask: int, variables: dict[str, str], user: list[str]
) -> Path:
    """Return the folder of the sdist and the wheel of a commit."""
    folder.mkdir(parents=True)
    run: dict[str, Any] = {"check": True, "umask": umask, "cwd": folder}
    subprocess.run(["git", "clone", "-q", "--no-checkout", ROOT, "fnabi"], **run)
    subprocess.run(["git", "-C", "fnabi", "checkout", "-q", "--detach", commit], **run)
    if user:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    command = [*user, sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", "fnabi"]
    variables = {**variables, "PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(command, env=variables, stderr=subprocess.STDOUT, **run)
    return folder / "dist"


def main() -> int:
    """Print the digests of the archives, and return 1 where two differ."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--into", type=Path, help="where the archives are kept")
    arguments = parser.parse_args()
    head = ["git", "-C", str(ROOT), "rev-parse", arguments.commit]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    users: list[list[str]] = [[], AS_NOBODY]
    if os.getuid() or not shutil.which("setpriv"):
        print("not as another user: that needs root and setpriv", flush=True)
        users[1] = []
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        one, other = (
            build(commit, Path(work, folder), umask, variables, user)
            for (folder, umask, variables), user in zip(CIRCUMSTANCES, users, strict=True)
        )
        differing = 0
        for path in sorted(one.iterdir()):
            digests = [hashlib.sha256(Path(each, path.name).read_bytes()) for each in (one, other)]
            print(*(each.hexdigest() for each in digests), path.name)
            differing += digests[0].digest() != digests[1].digest()
        if arguments.into:
            shutil.copytree(one, arguments.into, dirs_exist_ok=True)
            if differing:  # for diffoscope
                shutil.copytree(other, arguments.into / "other")
    print(f"{differing} archives differ" if differing else "the archives have the same bytes")
    return min(differing, 1)
