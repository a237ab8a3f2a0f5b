"""Draw `docs/page.png`: the real page with an answer of the real engine over the list that ships (`make screenshots`).

python -m tests.screenshot [FOLDER]      # and in FOLDER: dark, phone, nothing, home
"""

import sys
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.servers import confab, service

ROOT = Path(__file__).parent.parent
QUESTION = "How much does COFT reduce standard bias metrics?"
WIDE = {"viewport": {"width": 1240, "height": 720}}
PHONE = {"viewport": {"width": 390, "height": 844}}


def draw(browser: Browser, url: str, file: Path, question: str, **context: object) -> None:
    """One picture of an answered question, its first source opened where there is one."""
    page = browser.new_context(locale="en-GB", reduced_motion="reduce", **context).new_page()  # type: ignore[arg-type]
    page.goto(url)
    if question:
        page.fill("#question", question)
        page.keyboard.press("Enter")
        page.locator(".result:not(.streaming)").wait_for()
        if page.locator(".mark").count():
            page.locator(".mark").first.click()
            page.locator("#source-1 mark").wait_for()
        page.evaluate("scrollTo(0, 0)")
        page.locator("#asked").click()  # takes the focus ring off
    page.screenshot(path=file)


def main(folder: Path | None) -> None:
    docs = ROOT / "docs"
    docs.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as kept:
        data = Path(kept)
        confab("ingest", str(ROOT / "ingest" / "lists" / "icml2026_sample.txt"), data_dir=data).check_returncode()
        with service(data) as running, chromium() as browser:
            url = running.url
            httpx.post(f"{url}/chat", json={"question": QUESTION}, timeout=60)  # the first question loads the model
            draw(browser, url, docs / "page.png", QUESTION, **WIDE)
            if folder is not None:
                draw(browser, url, folder / "page-dark.png", QUESTION, color_scheme="dark", **WIDE)
                draw(browser, url, folder / "page-phone.png", QUESTION, **PHONE)
                draw(browser, url, folder / "page-nothing.png", "Who won the 2022 football world cup?", **WIDE)
                draw(browser, url, folder / "page-home.png", "", **WIDE)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
