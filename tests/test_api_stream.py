"""`POST /chat` as server-sent events, over a real socket, with an engine that says what it is told."""

import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from rag.errors import UpstreamError
from rag.types import Said
from tests.scripted import CITATION, PIECES, STARTED, ScriptedEngine, Step, answer, full_story
from tests.servers import events, raw_request, serving

EVENTS = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[ScriptedEngine, str]]:
    engine = ScriptedEngine()
    with serving(lambda: engine, heartbeat=0.1) as address:
        yield engine, address


@pytest.fixture
def engine(shared: tuple[ScriptedEngine, str]) -> ScriptedEngine:
    return shared[0].told()


@pytest.fixture
def url(shared: tuple[ScriptedEngine, str], engine: ScriptedEngine) -> str:
    return shared[1]


def test_events_come_in_the_promised_order_and_end_with_the_whole_answer(url: str) -> None:
    sent = events(url, {"question": "Does accuracy stay?"})
    names = [event.name for event in sent]
    assert names == ["meta", "retrieval", "delta", "citation", "delta", "delta", "delta", "usage", "done"]
    assert [event.id for event in sent] == [str(number) for number in range(1, 10)]
    assert sent[0].data == {"id": "a-1", "generation": "gen-000001", "mode": "extractive", "model": "none"}
    assert [row["rank"] for row in sent[1].data["retrieved"]] == [1, 2]
    assert sent[3].data == CITATION.model_dump(mode="json")
    assert sent[-1].data == answer("Does accuracy stay?").model_dump(mode="json")


def test_deltas_joined_are_the_answer_to_the_byte(url: str) -> None:
    sent = events(url, {"question": "?"})
    joined = "".join(event.data["text"] for event in sent if event.name == "delta")
    assert joined.encode() == "".join(PIECES).encode() == sent[-1].data["answer"].encode()


def test_nothing_between_the_engine_and_the_reader_holds_the_stream_back(url: str, engine: ScriptedEngine) -> None:
    story = full_story()
    engine.told([*story[:3], 5.0, *story[3:]])
    begun = time.monotonic()
    with httpx.stream("POST", f"{url}/chat", json={"question": "?"}, headers=EVENTS) as response:
        got = ""
        for text in response.iter_text():
            got += text
            if "event: delta" in got:
                break
    assert time.monotonic() - begun < 2
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in response.headers


def test_a_silent_stream_beats_with_comments(url: str, engine: ScriptedEngine) -> None:
    engine.told([STARTED, 0.5, answer()])
    response = httpx.post(f"{url}/chat", json={"question": "?"}, headers=EVENTS)
    assert 3 <= response.text.count(": still here\n\n") <= 6
    assert "event: done" in response.text


@pytest.mark.parametrize("headers", [EVENTS, {}], ids=["streamed", "as JSON"])
def test_a_caller_who_hangs_up_ends_the_work_within_a_second(
    url: str, engine: ScriptedEngine, headers: dict[str, str]
) -> None:
    engine.told([STARTED, Said(text="x"), 30.0, answer()])
    with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))) as link:
        link.sendall(raw_request("/chat", b'{"question": "?"}', headers))
        assert engine.entered.wait(5)
        assert not engine.left.wait(0.3)
    assert engine.left.wait(1), "the engine still works for nobody"
    assert not engine.finished
    assert httpx.get(f"{url}/healthz/live").status_code == 200


def test_an_error_in_mid_stream_is_the_last_event_and_a_problem_document(url: str, engine: ScriptedEngine) -> None:
    engine.told([STARTED, Said(text="x"), UpstreamError("sk-secret said: no", retry_after=3)])
    sent = events(url, {"question": "?"}, **{"x-request-id": "abc"})
    assert [event.name for event in sent] == ["meta", "delta", "error"]
    assert sent[-1].data["type"] == "urn:confab:error:upstream"
    assert sent[-1].data["status"] == 502
    assert sent[-1].data["request_id"] == "abc"
    assert "sk-secret" not in str(sent)


@pytest.mark.parametrize("script", [[STARTED, KeyError("/home/x")], [STARTED]], ids=["a bug", "no Answer"])
def test_a_bug_in_mid_stream_is_an_internal_error_without_its_words(
    url: str, engine: ScriptedEngine, script: list[Step]
) -> None:
    engine.told(script)
    sent = events(url, {"question": "?"})
    assert [event.name for event in sent] == ["meta", "error"]
    assert sent[-1].data["type"] == "urn:confab:error:internal"
    assert "/home" not in str(sent)


@pytest.mark.parametrize("headers", [EVENTS, {}], ids=["streamed", "as JSON"])
def test_an_answer_that_outlasts_the_service_ends_with_an_error(headers: dict[str, str]) -> None:
    engine = ScriptedEngine([STARTED, 30.0, answer()])
    with serving(lambda: engine) as url:
        link = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=5)
        link.sendall(raw_request("/chat", b'{"question": "?"}', headers))
        assert engine.entered.wait(5)
    with link, link.makefile("rb") as stream:
        got = stream.read().decode()
    assert got.startswith("HTTP/1.1 200 " if headers else "HTTP/1.1 503 ")
    assert ("event: error" in got) == bool(headers)
    assert "urn:confab:error:busy" in got
    assert engine.left.is_set()


@pytest.mark.parametrize(
    ("accept", "streams"),
    [
        ("text/event-stream", True),
        ("application/json, text/event-stream;q=0.5", True),
        ("TEXT/EVENT-STREAM ; charset=utf-8", True),
        ("text/event-stream;q=0", False),
        ("text/event-stream; q=0.000, */*", False),
        ("*/*", False),
        ("text/html", False),
        ("", False),
    ],
)
def test_the_accept_header_decides(url: str, accept: str, streams: bool) -> None:
    response = httpx.post(f"{url}/chat", json={"question": "?"}, headers={"accept": accept})
    assert response.headers["content-type"].startswith("text/event-stream" if streams else "application/json")
