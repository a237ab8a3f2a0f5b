"""Probes, the engine that comes late, and the document that describes the service."""

import threading
import time

import httpx
import pytest

from rag.errors import Corrupt, NoIndex
from tests.scripted import ScriptedEngine
from tests.servers import serving, wait_until


class FollowingEngine(ScriptedEngine):
    """Finds a second generation once `published` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.published = threading.Event()

    async def follow(self) -> bool:
        if not self.published.is_set() or self.generation == "gen-000002":
            return False
        self.generation = "gen-000002"
        return True


def test_a_service_without_an_index_lives_says_why_it_is_not_ready_and_what_cures_it() -> None:
    def opener() -> ScriptedEngine:
        raise NoIndex("nothing in /home/x/.confab")

    with serving(opener) as url:
        assert httpx.get(f"{url}/healthz/live").json() == {"alive": True}
        wait_until(lambda: "no-index" in httpx.get(f"{url}/healthz/ready").text, 3)
        ready, asked = httpx.get(f"{url}/healthz/ready"), httpx.post(f"{url}/chat", json={"question": "q"})
    assert ready.status_code == asked.status_code == 503
    assert ready.json()["ready"] is False
    assert "confab ingest" in ready.json()["reasons"][0]["detail"]
    assert asked.json()["type"] == "urn:confab:error:no-index"
    assert "/home" not in ready.text + asked.text


def test_the_first_index_is_served_as_soon_as_it_is_there() -> None:
    there = threading.Event()
    engine = ScriptedEngine()

    def opener() -> ScriptedEngine:
        if not there.is_set():
            raise NoIndex("not yet")
        return engine

    with serving(opener) as url:
        assert httpx.post(f"{url}/chat", json={"question": "q"}).status_code == 503
        there.set()
        wait_until(lambda: httpx.post(f"{url}/chat", json={"question": "q"}).status_code == 200, 5)
        assert httpx.get(f"{url}/healthz/ready").json() == {
            "ready": True,
            "generation": "gen-000001",
            "reasons": [],
        }
    assert engine.closed


def test_a_question_that_comes_while_the_index_is_opened_waits_for_it() -> None:
    def opener() -> ScriptedEngine:
        time.sleep(0.5)
        return ScriptedEngine()

    with serving(opener) as url:
        assert httpx.get(f"{url}/healthz/ready").status_code == 503
        assert httpx.post(f"{url}/chat", json={"question": "q"}).status_code == 200


def test_a_new_generation_is_followed_within_five_seconds() -> None:
    engine = FollowingEngine()
    with serving(lambda: engine) as url:
        wait_until(lambda: httpx.get(f"{url}/healthz/ready").json()["generation"] == "gen-000001", 5)
        engine.published.set()
        wait_until(lambda: httpx.get(f"{url}/healthz/ready").json()["generation"] == "gen-000002", 5)


def test_a_new_generation_that_cannot_be_opened_leaves_the_old_one_serving_and_is_told() -> None:
    class Torn(ScriptedEngine):
        async def follow(self) -> bool:
            raise Corrupt("/home/x/gen-000002/words: hash differs")

    with serving(Torn) as url:
        wait_until(lambda: "corrupt" in httpx.get(f"{url}/healthz/ready").text, 5)
        ready, asked = httpx.get(f"{url}/healthz/ready"), httpx.post(f"{url}/chat", json={"question": "q"})
    assert (ready.status_code, asked.status_code) == (200, 200)
    assert "/home" not in ready.text


@pytest.mark.parametrize("error", [RuntimeError("/home/x: boom"), ImportError("no wheel")])
def test_a_bug_while_opening_is_no_crash_loop(error: Exception) -> None:
    def opener() -> ScriptedEngine:
        raise error

    with serving(opener) as url:
        response = httpx.post(f"{url}/chat", json={"question": "q"})
        assert response.status_code == 503
        assert "/home" not in response.text
        assert httpx.get(f"{url}/healthz/live").status_code == 200


def test_the_openapi_document_names_every_way_in_and_nothing_from_elsewhere() -> None:
    with serving(ScriptedEngine) as url:
        document = httpx.get(f"{url}/openapi.json").json()
        assert httpx.get(f"{url}/docs").status_code == httpx.get(f"{url}/redoc").status_code == 404
    assert set(document["paths"]) == {"/chat", "/search", "/papers/{paper_id}", "/healthz/live", "/healthz/ready"}
    chat = document["paths"]["/chat"]["post"]
    assert chat["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/ChatRequest")
    assert set(chat["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    assert "application/problem+json" in chat["responses"]["default"]["content"]


def test_every_answer_carries_the_security_headers() -> None:
    with serving(ScriptedEngine) as url:
        for path in ("/", "/static/app.js", "/search?q=x", "/nothing", "/healthz/live"):
            headers = httpx.get(url + path).headers
            assert "frame-ancestors 'none'" in headers["content-security-policy"], path
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-request-id"]
