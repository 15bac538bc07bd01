"""The documentation site: built without a warning; its search, its buttons, its reference."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from support.paths import ROOT

if TYPE_CHECKING:
    from support.browser import Browser

webdriver = pytest.importorskip("selenium.webdriver")

pytestmark = pytest.mark.slow


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site, and return the URL that it is served at."""
    for package in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(
        [*command, ROOT / "docs", folder], capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stderr) == (0, "")
    with ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=f"{folder}")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_the_site_is_built_without_a_warning(site: str) -> None:
    assert site


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("install", "install.html"),
        ("installation", "install.html"),
        ("offline", "install.html"),
        ("troubleshooting", "troubleshooting.html"),
        ("why", "why.html"),
        ("FAQ", "faq.html"),
        ("cookbook", "cookbook/index.html"),
        ("stability", "about/versions.html"),
        ("vmfb.open", "reference/modules.html"),
    ],
)
def test_the_search_finds_first(site: str, chromium: Browser, words: str, page: str) -> None:
    chromium.driver.get(f"{site}/search.html?q={words}")
    chromium.wait("document.querySelector('#search-results .search-summary')?.textContent")
    chromium.wait("document.querySelector('#search-results li a')")
    (first, *_) = chromium.run(
        "return [...document.querySelectorAll('#search-results li a')].map((e) => e.href)"
    )
    assert first.partition("?")[0].partition("#")[0] == f"{site}/{page}"


@pytest.mark.parametrize(
    ("page", "copied"),
    [
        ("install.html", "python3 -m venv .venv\n.venv/bin/pip install .\n.venv/bin/fnabi"),
        ("index.html", "fnabi inspect examples/classifier.vmfb"),
        ("tutorials/data.html", "import fnabi\ntexts = ["),
    ],
)
def test_a_button_copies_commands_alone(
    site: str, chromium: Browser, page: str, copied: str
) -> None:
    chromium.driver.get(f"{site}/{page}")
    chromium.driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": site, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    chromium.wait("document.querySelector('button.copybtn')")
    button = chromium.driver.find_element("css selector", "button.copybtn")
    webdriver.ActionChains(chromium.driver).move_to_element(button).click().perform()
    chromium.wait("document.querySelector('button.copybtn.success')")
    text = chromium.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert text.startswith(copied)
    assert "$ " not in text
    assert ">>> " not in text


@pytest.mark.parametrize(
    ("page", "start"),
    [
        ("modules", ["fnabi.vmfb.open", "fnabi.vmfb.from_buffer"]),
        ("calls", ["fnabi.load_module", "fnabi.library.read", "fnabi.Library"]),
        ("texts", ["fnabi.raw.parse", "fnabi.raw.encode"]),
        ("many", ["fnabi.decode_columns", "fnabi.iter_columns"]),
    ],
)
def test_the_reference_begins_with_what_programs_use(
    site: str, chromium: Browser, page: str, start: list[str]
) -> None:
    """Under the names that they import."""
    chromium.driver.get(f"{site}/reference/{page}.html")
    signatures = chromium.contents("section > dl.py > dt.sig:first-child")
    names = [re.match(r"\s*(?:class\s+)?([\w.]+)", each) for each in signatures[: len(start)]]
    assert [each and each[1] for each in names] == start
