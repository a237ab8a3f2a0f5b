"""The page in a real Chromium, against the real application with an engine that says what it is told."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from rag.errors import UpstreamError
from rag.types import Cited, Found, Said
from tests.browser import chromium, executable
from tests.scripted import (
    ABSTRACT,
    CITATION,
    PAPER,
    QUOTE,
    RETRIEVED,
    STARTED,
    ScriptedEngine,
    answer,
    unanswered_story,
)
from tests.servers import serving

pytestmark = pytest.mark.skipif(
    executable() is None, reason="NO BROWSER: the page is NOT tested; install Debian's chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture(scope="module")
def url(engine: ScriptedEngine) -> Iterator[str]:
    with serving(lambda: engine) as address:
        yield address


@pytest.fixture(autouse=True)
def _told_nothing(engine: ScriptedEngine) -> None:
    engine.told()


def open_page(browser: Browser, url: str, **context: Any) -> Page:
    page = browser.new_context(**{"locale": "en-GB", **context}).new_page()
    page.set_default_timeout(5000)
    page.goto(url)
    return page


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    opened = open_page(browser, url)
    yield opened
    opened.context.close()


def ask(page: Page, question: str = "Does accuracy stay?") -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def test_an_answer_comes_with_marks_that_open_the_quote_in_its_abstract(page: Page) -> None:
    ask(page)
    expect(page.locator("#answer")).to_have_text(re.compile(r"Accuracy stays 1, line\s+one\s+line two. 结束。"))
    page.get_by_role("button", name="Source 1: 𝒳-Prune").click()
    card = page.locator("#source-1")
    expect(card.locator(".card-head")).to_have_attribute("aria-expanded", "true")
    expect(card.locator("mark")).to_have_text(QUOTE)
    assert card.locator(".abstract").evaluate("element => element.textContent") == ABSTRACT
    expect(card).to_contain_text("Ann Lee, 李雷 · ICML 2026")
    expect(card.get_by_role("link")).to_have_attribute("href", "https://example.org/x")


def test_what_is_not_answered_is_said_plainly_and_nearest_papers_stand_apart(
    page: Page, engine: ScriptedEngine
) -> None:
    engine.script = unanswered_story()
    ask(page)
    expect(page.locator("#verdict")).to_have_text("Not answered from these papers")
    expect(page.locator("#sources")).to_be_hidden()
    expect(page.locator("#nearest li")).to_have_count(2)
    expect(page.locator("#nearest")).to_contain_text("They are not sources")
    expect(page.locator(".mark, .number")).to_have_count(0)


def test_text_from_outside_is_never_markup_and_only_web_addresses_are_links(page: Page, engine: ScriptedEngine) -> None:
    engine.script = [*unanswered_story()[:2], Said(text="<img src=x onerror=alert(1)>"), unanswered_story()[-1]]
    ask(page, "<script>alert(1)</script>")
    expect(page.locator("#nearest li").nth(1)).to_contain_text("<b>boldly</b>")
    expect(page.locator("#asked")).to_have_text("<script>alert(1)</script>")
    expect(page.locator("main img, main b, main script")).to_have_count(0)
    expect(page.locator("#nearest li").first.get_by_role("link")).to_have_count(0)


def test_the_answer_is_drawn_while_it_is_made_and_stop_ends_the_work(page: Page, engine: ScriptedEngine) -> None:
    engine.script = [STARTED, Found(retrieved=RETRIEVED), Said(text="First words"), 30.0, answer()]
    ask(page)
    expect(page.locator("#answer")).to_have_text("First words")
    expect(page.locator("#status")).to_have_text("Reading 2 papers …")
    page.get_by_role("button", name="Stop").click()
    assert engine.left.wait(1)
    expect(page.locator("#status")).to_contain_text("not the whole answer")
    expect(page.locator("#go")).to_have_text("Ask")


def test_an_opened_source_stays_open_while_more_comes(page: Page, engine: ScriptedEngine) -> None:
    engine.script = [STARTED, Cited(citation=CITATION), Said(text="One [1]"), 0.7, Said(text=" two."), answer()]
    ask(page)
    page.locator(".mark").first.click()
    expect(page.locator("#facts")).to_contain_text("word for word")
    expect(page.locator("#source-1 mark")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#answer .mark")).to_be_visible()


def test_an_error_is_a_sentence_with_a_way_on(page: Page, engine: ScriptedEngine) -> None:
    engine.script = [STARTED, UpstreamError("sk-secret")]
    ask(page)
    expect(page.locator("#status")).to_contain_text("The model's server failed. Try again in a moment.")
    expect(page.locator("#status")).not_to_contain_text("sk-secret")
    engine.script = None
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#answer")).to_contain_text("Accuracy stays")
    expect(page.locator("#status")).to_be_empty()


def test_a_service_that_is_gone_is_said_to_be_gone(page: Page) -> None:
    page.context.set_offline(True)
    ask(page)
    expect(page.locator("#status")).to_contain_text("The service cannot be reached.")


def test_a_browser_in_chinese_gets_a_chinese_page(browser: Browser, url: str) -> None:
    page = open_page(browser, url, locale="zh-CN")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.get_by_role("button", name="提问")).to_be_visible()
    page.locator(".example").first.click()
    expect(page.locator("#sources")).to_contain_text("出处")


def test_enter_that_ends_a_chinese_word_does_not_ask(page: Page, engine: ScriptedEngine) -> None:
    before = len(engine.asked)
    page.fill("#question", "准确率")
    page.evaluate(
        """() => document.getElementById("question").dispatchEvent(
            new KeyboardEvent("keydown", {key: "Enter", isComposing: true, bubbles: true, cancelable: true}))"""
    )
    expect(page.locator("#result")).to_be_hidden()
    assert len(engine.asked) == before


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_at_any_width(browser: Browser, url: str, width: int) -> None:
    page = open_page(browser, url, viewport={"width": width, "height": 800})
    ask(page, "unbreakable" * 60)
    page.locator(".mark").click()
    expect(page.locator("#source-1 mark")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_is_dark_where_the_reader_wants_it_dark(browser: Browser, url: str) -> None:
    grounds = [
        open_page(browser, url, color_scheme=scheme).evaluate(
            "getComputedStyle(document.documentElement).backgroundColor"
        )
        for scheme in ("light", "dark")
    ]
    assert grounds == ["rgb(250, 249, 246)", "rgb(22, 26, 25)"]


def test_the_page_keeps_its_own_policy_and_asks_nobody_else(browser: Browser, url: str) -> None:
    page = browser.new_context().new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    policy = page.goto(url).headers["content-security-policy"]  # type: ignore[union-attr]
    ask(page)
    page.locator(".mark").click()
    expect(page.locator("#source-1 mark")).to_be_visible()
    assert complaints == []
    assert {address.removeprefix(url).split("/")[1] for address in asked} == {"", "static", "chat", "papers"}
    assert all(address.startswith(url) for address in asked)
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_the_page_holds_no_inline_script_or_style_and_no_foreign_address() -> None:
    folder = Path(__file__).parent.parent / "api" / "static"
    html = (folder / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    for file in folder.iterdir():
        told = file.read_text()
        assert "innerHTML" not in told
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)[^\s\"']+", told), file.name


def test_the_scripted_quote_tells_code_points_from_utf16_units() -> None:
    """Offsets count code points, JavaScript counts UTF-16 units: in this abstract they differ."""
    assert PAPER.abstract[CITATION.start : CITATION.end] == QUOTE
    assert len(ABSTRACT[: CITATION.start].encode("utf-16-le")) // 2 != CITATION.start
