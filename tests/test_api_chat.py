"""`POST /chat` as JSON: what reaches the engine, what comes back, what is refused and how."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rag.errors import Busy, ModelMismatch, NoIndex, UpstreamError, UpstreamTimeout
from rag.types import Answer, Filter, Turn
from tests.scripted import STARTED, ScriptedEngine, answer
from tests.servers import serving


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture(scope="module")
def url(engine: ScriptedEngine) -> Iterator[str]:
    with serving(lambda: engine, max_question_chars=100) as address:
        yield address


def ask(url: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/chat", json=body)


def test_the_answer_is_the_body(url: str) -> None:
    response = ask(url, question="Does accuracy stay?")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert Answer.model_validate_json(response.content) == answer("Does accuracy stay?")


def test_everything_a_caller_may_say_reaches_the_engine(url: str, engine: ScriptedEngine) -> None:
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b [1]"}]
    filters = {"venue": "ICML", "year": [2024, 2026], "author": "Ann", "topic": "x", "ids": ["a/b"]}
    assert ask(url, question=" q ", history=history, filters=filters, top_k=3).status_code == 200
    asked = engine.asked[-1]
    assert asked.text == " q "
    assert asked.history == (Turn(role="user", content="a"), Turn(role="assistant", content="b [1]"))
    assert asked.filter == Filter(venue="ICML", year=(2024, 2026), author="Ann", topic="x", ids=("a/b",))
    assert asked.top_k == 3


def test_what_is_not_said_has_defaults(url: str, engine: ScriptedEngine) -> None:
    assert ask(url, question="q", history=None, filters={"year": 2026, "venue": " "}, top_k=None).status_code == 200
    assert engine.asked[-1].filter == Filter(year=(2026, 2026))
    assert engine.asked[-1].top_k == 8


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/question"),
        ({"question": ""}, "#/question"),
        ({"question": " \n\t "}, "#/question"),
        ({"question": "x" * 101}, "#/question"),
        ({"question": "a\0b"}, "#/question"),
        ({"question": 7}, "#/question"),
        ({"question": "q", "top_k": 0}, "#/top_k"),
        ({"question": "q", "top_k": 51}, "#/top_k"),
        ({"question": "q", "top_k": True}, "#/top_k"),
        ({"question": "q", "top_k": 1e300}, "#/top_k"),
        ({"question": "q", "stream": True}, "#/stream"),
        ({"question": "q", "a/b~c": 1}, "#/a~1b~0c"),
        ({"question": "q", "filters": {"yaer": 2026}}, "#/filters/yaer"),
        ({"question": "q", "filters": {"year": "2026"}}, "#/filters/year"),
        ({"question": "q", "filters": {"year": [2026]}}, "#/filters/year/1"),
        ({"question": "q", "filters": {"year": [2026, 2020]}}, "#/filters/year"),
        ({"question": "q", "filters": {"year": 10**30}}, "#/filters/year/0"),
        ({"question": "q", "filters": {"venue": "x" * 501}}, "#/filters/venue"),
        ({"question": "q", "filters": {"ids": ["ok", 5]}}, "#/filters/ids/1"),
        ({"question": "q", "filters": {"ids": ["x"] * 1001}}, "#/filters/ids"),
        ({"question": "q", "history": [{"role": "system", "content": "x"}]}, "#/history/0/role"),
        ({"question": "q", "history": "no"}, "#/history"),
        ([], "#"),
        ("question", "#"),
    ],
)
def test_a_bad_field_is_pointed_at(url: str, body: object, pointer: str) -> None:
    response = httpx.post(f"{url}/chat", json=body)
    problem = response.json()
    assert response.status_code == problem["status"] == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == "urn:confab:error:usage"
    assert problem["errors"][0]["pointer"] == pointer
    assert problem["errors"][0]["detail"]
    assert problem["request_id"] == response.headers["x-request-id"]


@pytest.mark.parametrize("media", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_only_json_is_taken_so_that_no_foreign_page_can_post_it(url: str, media: str | None) -> None:
    headers = {"content-type": media} if media else {}
    response = httpx.post(f"{url}/chat", content=b'{"question": "q"}', headers=headers)
    assert response.status_code == 415
    assert response.json()["type"] == "urn:confab:error:unsupported-media-type"


def test_json_may_name_its_charset_and_start_with_a_byte_order_mark(url: str) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    assert httpx.post(f"{url}/chat", content=b'\xef\xbb\xbf{"question": "q"}', headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "kind", "retry_after"),
    [
        (NoIndex("nothing in /home/x/.confab"), 503, "no-index", None),
        (ModelMismatch("built with e5, asked with openai:x", retry_after=None), 503, "model-mismatch", None),
        (Busy("all places are taken", retry_after=1.2), 503, "busy", "2"),
        (UpstreamError("401: Incorrect API key sk-abc"), 502, "upstream", None),
        (UpstreamTimeout("waited 30 s for http://10.0.0.1", retry_after=0.1), 504, "upstream-timeout", "1"),
        (KeyError("/etc/passwd"), 500, "internal", None),
    ],
)
def test_what_goes_wrong_is_a_problem_document_without_inside_words(
    url: str, engine: ScriptedEngine, error: Exception, status: int, kind: str, retry_after: str | None
) -> None:
    engine.told([STARTED, error])
    response = httpx.post(f"{url}/chat", json={"question": "q"}, headers={"x-request-id": "my-id.7"})
    engine.told()
    problem = response.json()
    assert (response.status_code, problem["status"]) == (status, status)
    assert problem["type"] == f"urn:confab:error:{kind}"
    assert problem["request_id"] == response.headers["x-request-id"] == "my-id.7"
    assert response.headers.get("retry-after") == retry_after
    for inside in ("/home", "/etc", "sk-abc", "10.0.0.1", "Traceback"):
        assert inside not in response.text


@pytest.mark.parametrize("given", ["has blank", "x" * 65, "a/b", "ü"])
def test_a_request_id_that_is_no_plain_token_is_replaced(url: str, given: str) -> None:
    response = httpx.get(f"{url}/healthz/live", headers={"x-request-id": given.encode()})
    assert response.headers["x-request-id"] != given
    assert len(response.headers["x-request-id"]) == 32
