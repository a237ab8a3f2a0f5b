"""The report: one small file that a real Chromium opens from disk with no network, failures first."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from evals import report
from evals.cases import Case
from evals.rows import Found, Quoted, Row
from evals.saved import Saved
from tests.browser import chromium, executable
from tests.fake_engine import CASES, WordEngine, ran

needs_browser = pytest.mark.skipif(
    executable() is None, reason="NO BROWSER: the report is NOT opened; install Debian's chromium"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Saved]:
    folder = tmp_path_factory.mktemp("report")
    hostile = CASES[0].model_copy(update={"id": "h1", "note": "<script>document.title = 'owned'</script>"})
    cases = (*CASES, hostile)
    return [
        ran(folder / "base", cases=cases),
        ran(folder / "shuffled", WordEngine(shuffle=True, abstain_below=0), cases=cases),
    ]


@pytest.fixture(scope="module")
def browser(runs: list[Saved]) -> Iterator[Browser]:
    """After the runs: Playwright holds the thread's event loop."""
    with chromium() as running:
        yield running


def opened(browser: Browser, tmp_path: Path, runs: list[Saved]) -> tuple[Page, list[str]]:
    """The page from disk, and every address it asked for besides its own file."""
    path = tmp_path / "report.html"
    path.write_text(report.html(runs), "utf-8")
    context = browser.new_context(offline=True)
    asked: list[str] = []
    page = context.new_page()
    page.set_default_timeout(5000)
    page.on("request", lambda request: asked.append(request.url))
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    assert problems == []
    return page, [url for url in asked if url != path.as_uri()]


def first_ids(page: Page) -> list[str]:
    return page.locator("#questions tbody:not([hidden]) > tr:first-child > td:first-child").all_inner_texts()


@needs_browser
def test_the_report_opens_from_disk_asks_for_nothing_and_shows_failures_first(
    browser: Browser, tmp_path: Path, runs: list[Saved]
) -> None:
    page, asked = opened(browser, tmp_path, runs[:1])
    assert asked == []
    assert first_ids(page)[:3] == ["c2", "c3", "c5"]
    page.locator("#questions summary").first.click()
    assert page.locator("#questions mark").first.inner_text() == "We present COFT, a decoding method."
    assert "lacks forward pass" in page.locator(".side").first.inner_text()
    assert page.locator(".plot svg").count() == 3


@needs_browser
def test_the_table_sorts_filters_and_searches(browser: Browser, tmp_path: Path, runs: list[Saved]) -> None:
    page, _ = opened(browser, tmp_path, runs[:1])
    page.get_by_role("button", name="id").click()
    assert first_ids(page)[0] == "c1"
    page.get_by_role("button", name="id").click()
    assert first_ids(page)[0] == "h1"
    page.get_by_label("failures only").check()
    assert set(first_ids(page)) == {"c2", "c3", "c5"}
    page.get_by_label("Search questions").fill("BABILong")
    assert first_ids(page) == ["c5"]


@needs_browser
def test_two_runs_stand_side_by_side(browser: Browser, tmp_path: Path, runs: list[Saved]) -> None:
    page, asked = opened(browser, tmp_path, runs)
    assert asked == [] and page.locator(".side").count() == 2 * 9
    assert "no evidence of a difference" in page.locator("body").inner_text()
    assert "B: should have abstained" in page.locator("body").inner_text()


@needs_browser
def test_words_of_a_set_are_never_run(browser: Browser, tmp_path: Path, runs: list[Saved]) -> None:
    page, _ = opened(browser, tmp_path, runs[:1])
    assert page.title() == "Confab evaluation: base"
    assert "<script>document.title" in page.content().replace("&lt;", "<").replace("&gt;", ">")


def test_a_large_run_stays_under_two_megabytes(tmp_path: Path) -> None:
    abstract = "A sentence of an abstract with some words. " * 40
    found = tuple(Found(paper=f"p{n}", title="A title of some length", snippet=abstract[:300]) for n in range(10))
    quote = Quoted(number=1, paper="p1", quote=abstract[44:86], start=44, end=86, valid=True)
    cases = [Case(id=f"q{n}", question="What? " * 10, gold=("p1",)) for n in range(1200)]
    row = {"retrieved": ("p2",), "answer": "An answer. [1]", "citations": ("p1",), "quotes": (quote,), "found": found}
    rows = {case.id: Row(id=case.id, **row) for case in cases}
    page = report.html(
        [Saved(tmp_path / "large", {}, cases, rows, papers={"p1": {"title": "T", "abstract": abstract}})]
    )
    assert len(page.encode()) <= report.LIMIT


def test_evidence_is_cut_into_quoted_and_other_pieces() -> None:
    quote = Quoted(number=1, paper="p", quote="cde", start=2, end=5, valid=True)
    assert report.pieces("abcdefgh", [quote]) == [("ab", False), ("cde", True), ("fgh", False)]
    assert report.pieces("abcdefgh", [quote], 1) == [
        (" … ", False),
        ("b", False),
        ("cde", True),
        ("f", False),
        (" … ", False),
    ]
    assert report.pieces("abc", [quote.model_copy(update={"valid": False})]) == [("abc", False)]
    assert report.pieces("", [quote]) == []
