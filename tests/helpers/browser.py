"""A real browser: the system's Chromium, driven by Playwright.

Playwright's own browsers are downloads, which no test may need.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

WITHIN_MS = 60_000
"""How long a page may take to show something: generous, since a busy machine must not fail a test."""
SIZE = (1360, 900)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None,
    reason="no Chromium is installed, or no Playwright: apt-get install chromium, pip install playwright",
)


@contextmanager
def browser_tab(size: tuple[int, int] = SIZE, permissions: tuple[str, ...] = ()) -> Iterator["Page"]:
    """An empty tab, with permissions such as `clipboard-read`."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] * (os.getuid() == 0)  # root has none
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, permissions=list(permissions))
            page = context.new_page()
            page.set_default_timeout(WITHIN_MS)
            yield page
        finally:
            browser.close()
