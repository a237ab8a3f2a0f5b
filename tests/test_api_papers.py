"""`GET /search` and `GET /papers/{id}` with an engine that says what it is told."""

from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from rag.types import Filter, Paper, SearchResult
from tests.scripted import PAPER, ScriptedEngine
from tests.servers import serving


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture(scope="module")
def url(engine: ScriptedEngine) -> Iterator[str]:
    with serving(lambda: engine) as address:
        yield address


def test_search_answers_with_the_engines_result(url: str) -> None:
    response = httpx.get(f"{url}/search", params={"q": "prune"})
    assert response.status_code == 200
    found = SearchResult.model_validate_json(response.content)
    assert (found.query, found.hits[0].paper) == ("prune", PAPER.ref)
    snippet = found.hits[0].snippet
    assert PAPER.abstract[snippet.start : snippet.end] == snippet.text


@pytest.mark.parametrize(
    ("query", "k", "wanted"),
    [
        ("q=a", 10, Filter()),
        ("q=a&k=3&venue=ICML&author=Ann+Lee&topic=x", 3, Filter(venue="ICML", author="Ann Lee", topic="x")),
        ("q=a&year=2026", 10, Filter(year=(2026, 2026))),
        ("q=a&year=2020-2024", 10, Filter(year=(2020, 2024))),
        ("q=a&venue=&year=&author=&topic=", 10, Filter()),
    ],
)
def test_filters_reach_the_engine(url: str, engine: ScriptedEngine, query: str, k: int, wanted: Filter) -> None:
    assert httpx.get(f"{url}/search?{query}").status_code == 200
    assert engine.searches[-1] == ("a", k, wanted)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("", "q"), ("q=", "q"), ("q=%20", "q"), ("q=a&k=0", "k"), ("q=a&k=101", "k"), ("q=a&k=x", "k"),
        ("q=a&year=20x", "year"), ("q=a&year=2024-2020", "year"), ("q=a&year=2020-", "year"), ("q=a&yaer=2020", "yaer"),
        ("q=a&venue=" + "x" * 501, "venue"), ("q=" + "a" * 4001, "q"),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(url: str, query: str, parameter: str) -> None:
    response = httpx.get(f"{url}/search?{query}")
    assert response.status_code == 422
    assert response.json()["errors"][0]["parameter"] == parameter


def test_a_paper_with_an_odd_id_comes_verbatim(url: str) -> None:
    for path in (quote(PAPER.id, safe=""), quote(PAPER.id, safe="/")):
        response = httpx.get(f"{url}/papers/{path}")
        assert Paper.model_validate_json(response.content) == PAPER


def test_an_unknown_paper_is_a_404_that_names_it(url: str) -> None:
    response = httpx.get(f"{url}/papers/no/such")
    assert response.status_code == 404
    assert response.json()["type"] == "urn:confab:error:not-found"
    assert "no/such" in response.json()["detail"]


def test_an_unknown_address_and_a_wrong_method_are_problem_documents(url: str) -> None:
    missing, wrong = httpx.get(f"{url}/nothing"), httpx.get(f"{url}/chat")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:confab:error:no-such-address")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "urn:confab:error:not-allowed")
    assert wrong.headers["allow"] == "POST"
    assert wrong.headers["content-type"] == "application/problem+json"
