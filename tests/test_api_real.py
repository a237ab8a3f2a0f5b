"""Everything real: `confab ingest`, `confab serve`, the list that ships with the product, a browser."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from rag.types import Answer
from tests.browser import chromium, executable
from tests.fakes import FakeServer, Reply
from tests.servers import Service, confab, events, raw_request, service, wait_until

LIST = Path(__file__).parent.parent / "ingest" / "lists" / "icml2026_sample.txt"
COFT = "How much does COFT reduce standard bias metrics?"
FOOTBALL = "Who won the 2022 football world cup?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the sample list, ingested."""
    folder = tmp_path_factory.mktemp("seed")
    ended = confab("ingest", str(LIST), data_dir=folder)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture(scope="module")
def running(index: Path) -> Iterator[Service]:
    with service(index) as started:
        yield started


@pytest.fixture(scope="module")
def client(running: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=30) as shared:
        yield shared


def ask(client: httpx.Client, question: str, **more: Any) -> Answer:
    response = client.post("/chat", json={"question": question, **more})
    assert response.status_code == 200, response.text
    return Answer.model_validate_json(response.content)


def test_an_answer_says_the_figure_and_its_quote_stands_in_the_abstract(client: httpx.Client) -> None:
    answer = ask(client, COFT)
    assert answer.answered
    assert "38" in answer.answer
    for citation in answer.citations:
        paper = client.get(f"/papers/{quote(citation.paper.id, safe='')}").json()
        assert paper["abstract"][citation.start : citation.end] == citation.quote


def test_the_same_question_in_chinese_cites_the_same_paper(client: httpx.Client) -> None:
    english, chinese = ask(client, COFT), ask(client, "COFT 把标准偏见指标降低了多少？")
    assert english.citations[0].paper.id == chinese.citations[0].paper.id


def test_what_the_papers_do_not_tell_has_no_citation(client: httpx.Client) -> None:
    answer = ask(client, FOOTBALL)
    assert (answer.answered, answer.citations) == (False, ())
    assert answer.nearest


def test_the_stream_says_what_the_json_says(running: Service, client: httpx.Client) -> None:
    sent = events(running.url, {"question": COFT})
    streamed, whole = Answer.model_validate(sent[-1].data), ask(client, COFT)
    assert [event.name for event in sent][:2] == ["meta", "retrieval"]
    assert "".join(event.data["text"] for event in sent if event.name == "delta") == streamed.answer
    assert (streamed.answer, streamed.citations) == (whole.answer, whole.citations)
    assert sent[0].data["id"] == streamed.id


def test_filters_hold(client: httpx.Client) -> None:
    [only] = client.get("/search", params={"q": "COFT bias", "k": 1}).json()["hits"]
    wanted = only["paper"]["id"]
    hits = client.post("/chat", json={"question": COFT, "filters": {"ids": [wanted]}}).json()["retrieved"]
    assert [hit["paper"]["id"] for hit in hits] == [wanted]
    assert client.get("/search", params={"q": "bias", "year": "1990-1999"}).json()["hits"] == []
    assert only["snippet"]["text"]


@pytest.mark.parametrize(
    "body",
    [
        {"question": "?"},
        {"question": "\u200b\ufeff\x01\x7f"},
        {"question": "AND OR NOT ( \" * ~ ^ [ { \\ : / ' ; -- $\\frac{"},
        {"question": "😀" * 3999},
        {"question": "a" * 4000},
        {"question": "q", "history": [{"role": "assistant", "content": ""}, {"role": "user", "content": "x" * 49_000}]},
        {"question": "q", "filters": {"ids": []}},
        {"question": "q", "filters": {"ids": ["no such", "' OR 1=1", "$ne"]}},
        {"question": "q", "filters": {"venue": "' OR 1=1", "author": "* (", "topic": "\ud7ff"}},
        {"question": "q", "filters": {"year": [0, 9999]}, "top_k": 50},
    ],
    ids=range(10),
)
def test_hostile_questions_are_answered_or_declined(client: httpx.Client, body: dict[str, Any]) -> None:
    assert client.post("/chat", json=body).status_code == 200
    filters = {name: value for name, value in body.get("filters", {}).items() if isinstance(value, str)}
    assert client.get("/search", params={"q": body["question"], **filters}).status_code in (200, 422)


def test_a_service_that_began_empty_serves_what_is_ingested_then_and_later(tmp_path: Path) -> None:
    papers, data = tmp_path / "papers.jsonl", tmp_path / "data"
    with FakeServer() as model:  # embeds at once, where loading the real model takes most of the time
        settings = {"CONFAB_EMBED_MODEL": "openai:fake", "CONFAB_EMBED_BASE_URL": model.base_url}
        with service(data, ready=False, **settings) as running, httpx.Client(base_url=running.url) as client:
            for word in ("walrus", "ptarmigan"):
                line = {
                    "id": f"10.1/{word}?x",
                    "title": word,
                    "abstract": f"We count the {word} from space. It thrives.",
                }
                with papers.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                ended = confab("ingest", str(papers), data_dir=data, **settings)
                assert ended.returncode == 0, ended.stderr
                wait_until(lambda word=word: client.get(f"/papers/10.1%2F{word}%3Fx").status_code == 200, 5)  # type: ignore[misc]
                hits = client.get("/search", params={"q": f"{word} from space"}).json()["hits"]
                assert hits[0]["paper"]["id"] == f"10.1/{word}?x"


def test_a_hang_up_ends_the_models_call_within_a_second_streamed_or_not(index: Path) -> None:
    stuck = Reply("One half is said, and the other half never comes.", mode="stall")
    with FakeServer(default=stuck) as model:
        settings = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test"}
        with service(index, **settings) as running:
            body = json.dumps({"question": COFT}).encode()
            for calls, accept in enumerate(("text/event-stream", "application/json"), 1):
                with socket.create_connection(("127.0.0.1", int(running.url.rsplit(":", 1)[1]))) as link:
                    link.sendall(raw_request("/chat", body, {"accept": accept}))
                    assert model.wait(lambda calls=calls: model.opened == calls, 20)  # type: ignore[misc]
                assert model.wait(lambda calls=calls: model.hung_up == calls), accept  # type: ignore[misc]


@pytest.mark.skipif(executable() is None, reason="NO BROWSER: the page is NOT tested; install Debian's chromium")
def test_the_page_answers_with_a_source_or_says_that_it_cannot(running: Service) -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.goto(running.url)
        page.get_by_role("button", name=COFT).click()
        page.locator(".mark").first.click()
        assert "38" in page.locator("#source-1 mark").inner_text()
        page.fill("#question", FOOTBALL)
        page.keyboard.press("Enter")
        page.locator("#verdict").wait_for()
        assert page.locator("#nearest li").count() == 3
        assert page.locator(".mark").count() == 0
