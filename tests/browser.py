"""A real Chromium, the one Debian installs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def executable() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(**options: Any) -> Iterator[Browser]:
    """Without its sandbox, which root may not use; it is shown nothing but our own page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"], **options)
        try:
            yield browser
        finally:
            browser.close()
