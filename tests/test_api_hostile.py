"""Whatever bytes come, no answer is a 5xx, and the service goes on."""

import json
import socket
import time
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scripted import ScriptedEngine
from tests.servers import serving

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(ScriptedEngine, max_body_bytes=100_000) as address:
        yield address


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10) as shared:
        yield shared


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"question": "q", "top_k": 1e400}',
        b'{"question": "q", "top_k": -1e400}',
        b'{"question": "q", "top_k": NaN}',
        b'{"question": "q", "top_k": Infinity}',
        b'{"question": "q", "top_k": 1' + b"0" * 5000 + b"}",
        b'{"question": "\\ud800"}',
        b'{"question": "q", "\\udfff": 1}',
        b'{"question": "q", "filters": {"ids": ["\\ud83d"]}}',
        b'{"question": "\xff\xfe"}',
        b'{"question": "\xed\xa0\x80"}',
        b'{"question": "a\\u0000b"}',
        b'{"question": "a\0b"}',
        b'{"question": "a", "question": "b"}',
        b'{"question": "q", "filters": {"venue": "a", "venue": "b"}}',
        b"[" * 30_000 + b"]" * 30_000,
        b'{"a":' * 15_000 + b"1" + b"}" * 15_000,
        b'{"question": ' + b"[" * 500 + b"]" * 500 + b"}",
        '{"question": "q"}'.encode("utf-16"),
        b"null",
        b'{"' + b"k" * 50_000 + b'": 1}',
        b"{" + b",".join(b'"k%d": 1' % number for number in range(5000)) + b"}",
    ],
    ids=range(23),
)
def test_a_hostile_body_is_refused_in_few_words(url: str, client: httpx.Client, body: bytes) -> None:
    response = client.post(f"{url}/chat", content=body, headers=JSON)
    assert response.status_code in (400, 422)
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) < 10_000
    assert response.json()["detail"]


def test_a_surrogate_pair_written_as_escapes_is_one_character(url: str, client: httpx.Client) -> None:
    response = client.post(f"{url}/chat", content=b'{"question": "\\ud83d\\ude00?"}', headers=JSON)
    assert response.json()["question"] == "😀?"


def test_a_body_over_the_limit_is_refused_before_it_is_read(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as link:
        link.sendall(b"POST /chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n")
        assert link.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_ten_megabytes_get_a_413_whether_announced_or_in_chunks(url: str, client: httpx.Client) -> None:
    body = json.dumps({"question": "x" * 10_000_000}).encode()
    chunks = (body[at : at + 65536] for at in range(0, len(body), 65536))
    for content in (body, chunks):
        response = client.post(f"{url}/chat", content=content, headers=JSON)
        assert response.status_code == 413
        assert response.json()["type"] == "urn:confab:error:body-too-large"


def test_a_body_on_any_address_is_limited(url: str, client: httpx.Client) -> None:
    assert client.request("GET", f"{url}/healthz/live", content=b"x" * 200_000).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/search?q=%00", "/search?q=a&k=1e400", "/search?q=a&k=NaN", "/search?q=a&year=%EF%BC%92",
        "/search?q=a&year=99999", "/search?q=a&q=b&k=", "/search?%ff=1", "/search?q=" + "a" * 5000, "/papers/%00",
        "/papers/%ff", "/papers/", "/papers/%0a", "/papers/" + "a/" * 3000, "/papers/..%2f..%2fetc%2fpasswd",
        "/static/..%2fapp.py", "/static/%00", "/static/" + "a" * 5000, "/static/%ff", "/static", "/static/",
        "//", "/%2e%2e/x",
    ],
)  # fmt: skip
def test_hostile_addresses_are_4xx(url: str, client: httpx.Client, path: str) -> None:
    response = client.get(url + path)
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET /papers/\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /chat HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9999999\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["a 1 MB header", "raw bytes in the path", "negative length", "two lengths", "expect", "TLS"],
)
def test_hostile_bytes_on_the_socket_do_no_harm(url: str, client: httpx.Client, raw: bytes) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as link:
        try:
            link.sendall(raw)
            got = link.recv(65536)
        except ConnectionError:
            got = b""
    assert not got.startswith(b"HTTP/1.1 5"), got
    assert client.get(f"{url}/healthz/live").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil", "a:b:c", "[::"]
)
def test_a_foreign_host_name_is_turned_away(url: str, client: httpx.Client, host: str) -> None:
    response = client.get(f"{url}/search?q=x", headers={"host": host})
    assert response.status_code == 421
    assert response.json()["type"] == "urn:confab:error:misdirected"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:1", "[::1]:8000"])
def test_names_of_this_machine_are_served(url: str, client: httpx.Client, host: str) -> None:
    assert client.get(f"{url}/search?q=x", headers={"host": host}).status_code == 200


def test_deep_json_costs_no_time(url: str, client: httpx.Client) -> None:
    begun = time.monotonic()
    client.post(f"{url}/chat", content=b"[" * 99_000, headers=JSON)
    assert time.monotonic() - begun < 1


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["question", "history", "filters", "top_k", "venue", "year", "ids", "author", "role", "x"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(FIELDS, JSON_VALUES | st.dictionaries(FIELDS, JSON_VALUES, max_size=3), max_size=4))
def test_no_body_whatever_is_a_5xx(url: str, client: httpx.Client, body: dict[str, object]) -> None:
    response = client.post(f"{url}/chat", content=json.dumps(body).encode(), headers=JSON)
    assert response.status_code in (200, 400, 422), response.text
