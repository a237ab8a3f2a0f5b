"""The nouns: frozen, strict, and the same on every machine."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rag.types import ALL, Answer, Citation, Filter, Hit, Paper, PaperRef, Question, SearchResult, Source, text_digest

PAPER = Paper(id="p", title="T", authors=("A B",), venue="ICML", year=2026, abstract="One. Two is 2.", topic="x")
BLANKS = st.sampled_from([" ", "\n", "\t", "\r\n", "  ", "\u00a0"])


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PAPER.title = "U"  # type: ignore[misc]


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Question(text="?", topk=3)  # type: ignore[call-arg]


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda w: not w.isspace()), min_size=1), BLANKS, BLANKS)
def test_a_text_has_the_same_digest_whatever_its_line_breaks(words: list[str], one: str, other: str) -> None:
    assert text_digest(one.join(words)) == text_digest(other + other.join(words) + one)


@given(st.text())
def test_a_text_has_the_same_digest_composed_and_decomposed(text: str) -> None:
    assert text_digest(unicodedata.normalize("NFD", text)) == text_digest(unicodedata.normalize("NFC", text))


def test_a_text_with_half_a_character_has_a_digest_all_the_same() -> None:
    assert text_digest("a\ud800") != text_digest("a")


def test_two_texts_have_two_digests() -> None:
    assert text_digest("38 %") != text_digest("39 %")


@pytest.mark.parametrize(
    "changed",
    [{"title": "U"}, {"authors": ("B A",)}, {"year": 2025}, {"abstract": "One. Two is 3."}, {"extra": {"k": 1}}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_paper_with_any_part_changed_is_another_record(changed: dict[str, object]) -> None:
    assert PAPER.model_copy(update=changed).digest != PAPER.digest


def test_a_paper_read_back_is_the_same_record() -> None:
    assert Paper.model_validate_json(PAPER.model_dump_json()).digest == PAPER.digest


def test_the_order_of_keys_makes_no_other_record() -> None:
    one, other = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert PAPER.model_copy(update={"extra": one}).digest == PAPER.model_copy(update={"extra": other}).digest


def test_a_reference_has_all_of_a_paper_but_its_text() -> None:
    assert PAPER.ref == PaperRef(id="p", title="T", authors=("A B",), venue="ICML", year=2026)
    assert "abstract" not in PAPER.ref.model_dump()


def test_the_text_of_a_hit_and_of_a_source_is_a_slice_of_the_abstract() -> None:
    assert Hit(paper=PAPER, start=5, end=14, score=1).text == "Two is 2."
    assert Source(key="S1", paper=PAPER, start=0, end=4).text == "One."


def test_only_the_filter_without_parts_is_empty() -> None:
    assert ALL.empty
    assert not Filter(ids=()).empty  # a closed list of nothing allows nothing
    assert not Filter(year=(2026, 2026)).empty


def test_an_answer_dumps_to_the_body_that_the_contract_promises() -> None:
    citation = Citation(number=1, paper=PAPER.ref, quote="One.", start=0, end=4)
    answer = Answer(
        id="a", question="?", answered=True, answer="One. [1]", mode="extractive", model="extractive",
        citations=(citation,), generation="gen-000001",
    )  # fmt: skip
    body = json.loads(answer.model_dump_json())
    promised = "id question answered answer mode model citations retrieved dropped degraded generation usage timings_ms"
    assert body.keys() >= set(promised.split())
    assert body["citations"][0].keys() == {"number", "paper", "quote", "start", "end"}
    assert body["citations"][0]["paper"].keys() == {
        "id", "title", "title_derived", "authors", "venue", "year", "url"
    }  # fmt: skip
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "cost": None}
    assert body["timings_ms"].keys() == {"retrieve", "answer", "total"}


def test_a_search_result_dumps_to_the_body_that_the_contract_promises() -> None:
    body = SearchResult(query="q", hits=(), generation="gen-000001").model_dump(mode="json")
    assert body == {"query": "q", "hits": [], "generation": "gen-000001"}
