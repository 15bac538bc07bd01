"""Chromium without a window, driven by selenium, and files of packages of npm."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
CHROMEDRIVER = shutil.which("chromedriver")

DESKTOP, PHONE = 1280, 360

AXE = "axe-core@4.14.1"
"""The checker of accessibility, a package of npm."""

VIOLATIONS = """
  const done = arguments[0];
  const told = ({ id, nodes }) => `${id}: ${nodes.map((each) => each.html).join(' ')}`;
  axe.run({ resultTypes: ['violations'] }).then(({ violations }) => done(violations.map(told)));
"""


class Browser:
    """A browser with one page at a time."""

    def __init__(self, folder: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(CHROMEDRIVER)
        self.driver = webdriver.Chrome(options=options, service=service)
        self.folder = folder
        self.url = ""

    def open(self, page: str, width: int = DESKTOP, theme: str = "light", anchor: str = "") -> None:
        path = self.folder / "page.html"
        path.write_text(page, "ascii")
        self.url = path.as_uri()
        self.resize(width)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get(self.url + anchor)

    def resize(self, width: int) -> None:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return [
            each
            for each in self.driver.find_elements(By.CSS_SELECTOR, selector)
            if each.is_displayed()
        ]

    def one(self, selector: str) -> Any:
        (found,) = self.all(selector)
        return found

    def texts(self, selector: str) -> list[str]:
        return [each.text for each in self.all(selector)]

    def contents(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def names(self) -> list[str]:
        return self.texts("[role=tabpanel]:not([hidden]) tbody th .name")

    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    def press(self, *keys: str) -> None:
        for key in keys:
            self.focused().send_keys(key)

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, 10).until(lambda _: self.run(f"return {script}"))

    def check(self) -> None:
        """Fail if the page wrote to the console or requested anything."""
        assert self.driver.get_log("browser") == []
        events = [
            json.loads(each["message"])["message"] for each in self.driver.get_log("performance")
        ]
        requests = {
            each["params"]["request"]["url"].partition("#")[0]
            for each in events
            if each["method"] == "Network.requestWillBeSent"
        }
        assert requests <= {self.url, "about:blank", "data:,"}


@contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """Start a browser whose pages are in a folder, or skip the test."""
    if CHROMIUM is None or CHROMEDRIVER is None:
        pytest.skip("chromium and chromium-driver are not installed")
    browser = Browser(folder)
    yield browser
    browser.driver.quit()


def npm_file(folder: Path, package: str, path: str) -> str:
    """Return the text of a file of a package, which is downloaded, or skip the test."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("could not find the program 'npm'")
    command = [npm, "pack", "--prefer-offline", "--silent", package]
    name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    with tarfile.open(folder / name.strip()) as archive:
        member = archive.extractfile(f"package/{path}")
        assert member is not None
        return member.read().decode()


def violations(browser: Browser, axe: str) -> list[str]:
    """Return what the checker of accessibility says of the page."""
    browser.run(axe)
    found: list[str] = browser.driver.execute_async_script(VIOLATIONS)
    return found
