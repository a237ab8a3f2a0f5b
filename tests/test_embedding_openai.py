"""`openai:NAME` embeddings against a real local server that misbehaves on request."""

import base64
import json
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from rag.errors import SettingsError, UpstreamError, UpstreamTimeout
from rag.models import embedding
from rag.models.embedding_openai import Patience, Remote
from rag.settings import Settings, load

KEY = "sk-secret-of-this-test"
DIMENSION = 8
Reply = Callable[[list[str]], tuple[int, dict[str, str], bytes]]


def vector(text: str) -> np.ndarray:
    """Says which text it is of: the length, then the first characters. Not of unit length."""
    codes = [len(text), *map(ord, text[: DIMENSION - 1])]
    return np.array(codes + [1] * (DIMENSION - len(codes)), dtype=np.float32)


def unit(texts: list[str]) -> np.ndarray:
    rows = np.stack([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def answer(rows: list[Any], order: list[int] | None = None) -> tuple[int, dict[str, str], bytes]:
    data = [{"object": "embedding", "index": i, "embedding": rows[i]} for i in order or range(len(rows))]
    return 200, {}, json.dumps({"object": "list", "data": data, "model": "m"}).encode()


def as_floats(texts: list[str]) -> tuple[int, dict[str, str], bytes]:
    return answer([vector(text).tolist() for text in texts])


def as_base64(texts: list[str]) -> tuple[int, dict[str, str], bytes]:
    return answer([base64.b64encode(vector(text).tobytes()).decode() for text in texts])


def backwards(texts: list[str]) -> tuple[int, dict[str, str], bytes]:
    return answer([vector(text).tolist() for text in texts], list(range(len(texts)))[::-1])


def status(code: int, **headers: str) -> Reply:
    body = json.dumps({"error": {"message": f"no, {KEY} is not welcome", "type": "t", "code": None}}).encode()
    return lambda texts: (code, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def raw(body: bytes, **headers: str) -> Reply:
    return lambda texts: (200, headers, body)


class Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is what some tests are about."""


class Server:
    """`replies` are used up first, then `default`. `calls` are the bodies that came in."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.default: Reply = as_base64
        self.calls: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer.lock:
                    outer.calls.append(body)
                    outer.keys.add(self.headers["authorization"])
                    reply = outer.replies.popleft() if outer.replies else outer.default
                    outer.at_once += 1
                    outer.most_at_once = max(outer.at_once, outer.most_at_once)
                try:
                    code, headers, content = reply(body["input"])
                finally:
                    with outer.lock:
                        outer.at_once -= 1
                self.send_response(code)
                for name, value in ({"content-type": "application/json"} | headers).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def settings(self, **given: Any) -> Settings:
        standard = {"embed_model": "openai:tiny", "openai_base_url": self.url, "openai_api_key": KEY}
        return load({}, None, **(standard | given))

    def model(self, **given: Any) -> embedding.Embedding:
        return embedding.build(self.settings(**given))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


@pytest.mark.parametrize("reply", [as_floats, as_base64, backwards])
def test_a_server_may_answer_in_numbers_or_base64_and_in_any_order(server: Server, reply: Reply) -> None:
    server.default = reply
    texts = ["alpha", "beta", "gamma delta"]
    model = server.model()
    assert np.allclose(model.passages(texts), unit(texts), atol=1e-6)
    assert np.allclose(model.question("alpha"), unit(["alpha"])[0], atol=1e-6)
    assert model.dimension == DIMENSION
    assert (model.name, model.revision) == ("openai/tiny", "1")


def test_many_texts_go_in_several_calls_and_come_back_in_order(server: Server) -> None:
    server.default = lambda texts: (time.sleep(0.02), as_base64(texts))[1]
    texts = [f"{number} and some words" for number in range(600)]
    assert np.allclose(server.model(embed_batch_tokens=256).passages(texts), unit(texts), atol=1e-6)
    assert len(server.calls) > 10
    assert max(len(call["input"]) for call in server.calls) <= 256
    assert 2 <= server.most_at_once <= 4


def test_the_address_and_key_of_embeddings_come_before_those_of_answers(server: Server) -> None:
    settings = server.settings(embed_base_url=server.url, embed_api_key="own", openai_base_url="http://127.0.0.1:9/v1")
    embedding.build(settings).question("why?")
    assert server.keys == {"Bearer own"}


def test_no_texts_ask_for_no_vectors(server: Server) -> None:
    assert server.model().passages([]).shape == (0, DIMENSION)


def test_a_server_that_is_busy_is_asked_again_when_it_said(server: Server) -> None:
    model = server.model()
    assert model.dimension == DIMENSION
    server.replies += [status(429, retry_after="1"), status(503), status(500)]
    start = time.monotonic()
    assert model.passages(["alpha"]).shape == (1, DIMENSION)
    assert time.monotonic() - start > 1 + 1 + 2 - 0.1, "as asked, then twice as long each time"
    assert len(server.calls) == 5


def test_a_question_does_not_wait_long_for_a_busy_server(server: Server) -> None:
    server.default = status(429, retry_after="30")
    start = time.monotonic()
    with pytest.raises(UpstreamError, match="'tiny' answered status 429; its limit is reached") as caught:
        server.model().question("why?")
    assert time.monotonic() - start < 5
    assert caught.value.retry_after == 30
    assert len(server.calls) == 1


def test_a_batch_that_is_too_large_is_halved_until_it_fits(server: Server) -> None:
    server.default = lambda texts: status(413)(texts) if len(texts) > 3 else as_base64(texts)
    texts = [f"text {number}" for number in range(20)]
    assert np.allclose(server.model().passages(texts), unit(texts), atol=1e-6)


def test_a_text_that_is_refused_alone_is_named(server: Server) -> None:
    server.default = lambda texts: status(400)(texts) if any(len(text) > 50 for text in texts) else as_base64(texts)
    with pytest.raises(UpstreamError, match=r"status 400; .* it refused text 3 of 4 \(60 characters\)"):
        server.model().passages(["a", "b", "c" * 60, "d"])


@pytest.mark.parametrize(
    ("code", "advice"),
    [(401, "check CONFAB_EMBED_API_KEY"), (403, "CONFAB_EMBED_API_KEY"), (404, "CONFAB_EMBED_BASE_URL"), (418, "418")],
)
def test_a_refusal_is_told_at_once_with_the_cure_and_without_the_key(server: Server, code: int, advice: str) -> None:
    server.default = status(code)
    with pytest.raises(UpstreamError, match=advice) as caught:
        server.model().passages(["alpha"])
    assert len(server.calls) == 1
    assert KEY not in told(caught.value)


def told(error: BaseException) -> str:
    """All that a log would show of an error."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (raw(b"<html>It works!</html>", **{"content-type": "text/html"}), "not the OpenAI protocol"),
        (raw(b'{"data": [{"index": 0, "embedding": [1, '), "not the OpenAI protocol"),
        (raw(b'{"result": "hello"}'), "not the OpenAI protocol"),
        (raw(b"[]"), "not the OpenAI protocol"),
        (raw(b"\xff\xfe\x00"), "not the OpenAI protocol"),
        (raw(b"[" * 100_000), "not the OpenAI protocol"),
        (lambda texts: answer([[[1.0] * DIMENSION]] * len(texts)), "not the OpenAI protocol"),
        (lambda texts: answer(["no base64!"] * len(texts)), "not the OpenAI protocol"),
        (lambda texts: answer([["a"] * DIMENSION] * len(texts)), "not the OpenAI protocol"),
        (lambda texts: answer([[1.0] * DIMENSION], [0] * 2), "no vector for text 2 of 2"),
        (lambda texts: answer([[1.0] * DIMENSION, [1.0]]), "different lengths"),
        (lambda texts: answer([[1.0] * 5] * len(texts)), r"gave vectors \(2, 5\), expected \(2, 8\)"),
        (lambda texts: answer([[1.0] * DIMENSION, [float("nan")] * DIMENSION]), "not finite for text 2 of 2"),
        (lambda texts: answer([[1e39] * DIMENSION] * len(texts)), "not finite for text 1 of 2"),
        (lambda texts: answer([[1.0] * DIMENSION, [0.0] * DIMENSION]), "a zero vector for text 2 of 2"),
        (lambda texts: answer([vector(texts[0]).tolist()] * 3), "not the OpenAI protocol"),
    ],
)
def test_a_wrong_answer_is_an_error_and_never_a_vector(server: Server, reply: Reply, words: str) -> None:
    model = server.model()
    assert model.dimension == DIMENSION
    server.default = reply
    with pytest.raises(UpstreamError, match=words):
        model.passages(["alpha", "beta"])


def test_one_server_out_of_reach_is_told_soon(server: Server) -> None:
    model = server.model(openai_base_url="http://127.0.0.1:9/v1")
    start = time.monotonic()
    with pytest.raises(UpstreamError, match=r"cannot be reached or broke off .*CONFAB_EMBED_BASE_URL"):
        model.passages(["alpha"] * 5)
    assert time.monotonic() - start < 5


def test_a_silent_server_is_left_after_the_deadline(server: Server) -> None:
    server.default = lambda texts: (time.sleep(3), as_base64(texts))[1]
    remote = Remote("tiny", KEY, server.url, 4096, for_question=Patience(0.3, (0.1,), longest=1, after_timeout=False))
    start = time.monotonic()
    with pytest.raises(UpstreamTimeout, match=r"did not answer within 0.3 s"):
        remote.question("alpha")
    assert time.monotonic() - start < 2


def test_a_server_that_drips_is_left_after_the_deadline_too() -> None:
    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            for _ in range(60):
                self.wfile.write(b" ")
                time.sleep(0.05)

        def log_message(self, *_: Any) -> None:
            pass

    http = Listener(("127.0.0.1", 0), Dripping)
    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    url, patience = f"http://127.0.0.1:{http.server_port}/v1", Patience(0.5, (), longest=1, after_timeout=False)
    remote = Remote("tiny", KEY, url, 4096, for_question=patience)
    start = time.monotonic()
    with pytest.raises(UpstreamTimeout):
        remote.question("alpha")
    assert time.monotonic() - start < 2
    http.shutdown()
    http.server_close()


def test_a_failure_ends_the_other_calls_instead_of_waiting_for_them(server: Server) -> None:
    model = server.model(embed_batch_tokens=256)
    assert model.dimension == DIMENSION
    server.replies += [status(404), status(429, retry_after="50"), status(429, retry_after="50")]
    server.default = status(429, retry_after="50")
    start = time.monotonic()
    with pytest.raises(UpstreamError, match="status 4"):
        model.passages(["long enough to fill a batch " * 20] * 30)
    assert time.monotonic() - start < 5


def test_without_key_and_address_the_setting_to_make_is_named() -> None:
    with pytest.raises(SettingsError, match=r"needs OPENAI_API_KEY .* CONFAB_EMBED_BASE_URL"):
        embedding.build(load({}, None, embed_model="openai:text-embedding-3-small"))
