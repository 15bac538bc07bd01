"""Source distributions of other packages, whose own tests are run over ours."""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest


def unpacked(package: str, release: str) -> Path:
    """Return the folder of a source distribution, which is kept, or skip the test."""
    name = f"{package.replace('-', '_')}-{release}"
    cache = Path(tempfile.gettempdir()) / "fnabi-tests"
    if not (cache / name).is_dir():
        cache.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _unpack(package, f"{name}.tar.gz", Path(folder))
            with suppress(OSError):  # another process was faster
                (Path(folder) / name).rename(cache / name)
    return cache / name


def _unpack(package: str, file: str, folder: Path) -> None:
    index = f"https://pypi.org/simple/{package}/"
    try:
        with urlopen(index, timeout=15) as page:
            addresses = re.findall(r'href="([^"#]+)', page.read().decode())
        address = next(each for each in addresses if each.endswith(file))
        with urlopen(urljoin(index, address), timeout=60) as found:
            content = io.BytesIO(found.read())
    except (URLError, TimeoutError, StopIteration) as problem:
        pytest.skip(f"{file} cannot be had: {problem!r}")
    with tarfile.open(fileobj=content) as archive:
        archive.extractall(folder, filter="data")
