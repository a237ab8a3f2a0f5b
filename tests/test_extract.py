"""The answerer without a model: verbatim sentences, the ones asked for, or nothing."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from rag.extract import Evidence, Extractor
from rag.models.embedding import build
from rag.retrieve import Retriever
from rag.settings import Settings
from rag.store import Generation, Store

COFT = "11b5845b2acf4c0a"


@pytest.fixture(scope="module")
def generation(sample: Settings) -> Generation:
    return Store(sample).open()


@pytest.fixture(scope="module")
def retriever(sample: Settings, generation: Generation) -> Retriever:
    return Retriever(generation, build(sample), sample, ThreadPoolExecutor(2))


def said(retriever: Retriever, generation: Generation, question: str) -> list[Evidence]:
    found = retriever.find(question, 8)
    return Extractor(generation).answer(question, found.hits, found.vector)


QUESTIONS = (
    "How much does COFT reduce standard bias metrics?",
    "Which papers release code?",
    "What is EntQuant?",
    "怎样压缩大模型？",
    "",
    "?!",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_sentence_stands_in_its_abstract_and_is_said_once(
    retriever: Retriever, generation: Generation, question: str
) -> None:
    evidence = said(retriever, generation, question)
    assert evidence
    assert all(one.hit.paper.abstract[one.start : one.end] == one.text for one in evidence)
    assert len({(one.hit.paper.id, one.start) for one in evidence}) == len(evidence)


def test_a_question_that_one_sentence_answers_gets_that_sentence(retriever: Retriever, generation: Generation) -> None:
    evidence = said(retriever, generation, "How much does COFT reduce standard bias metrics?")
    assert [one.hit.paper.id for one in evidence] == [COFT]
    assert "30–55" in evidence[0].text


def test_a_number_asked_for_in_chinese_is_found_too(retriever: Retriever, generation: Generation) -> None:
    evidence = said(retriever, generation, "COFT 把标准偏见指标降低了多少？")
    assert {one.hit.paper.id for one in evidence} == {COFT}
    assert any("30–55" in one.text for one in evidence)


def test_a_list_has_one_sentence_of_each_paper(retriever: Retriever, generation: Generation) -> None:
    evidence = said(retriever, generation, "Which papers give a GitHub link?")
    papers = [one.hit.paper.id for one in evidence]
    assert len(papers) == len(set(papers)) >= 2
    assert "github.com" in evidence[0].text


def test_that_code_is_public_is_said_to_nobody_who_did_not_ask(retriever: Retriever, generation: Generation) -> None:
    assert not any("github" in one.text for one in said(retriever, generation, "What does FLAME use a LAD map for?"))
    assert any("github" in one.text for one in said(retriever, generation, "Where can I download the FLAME code?"))


def test_nothing_found_is_nothing_said(generation: Generation) -> None:
    assert Extractor(generation).answer("What is EntQuant?", [], None) == []


def test_without_vectors_the_words_alone_choose(retriever: Retriever, generation: Generation) -> None:
    question = "How much does COFT reduce standard bias metrics?"
    hits = retriever.find(question, 8).hits
    assert "30–55" in Extractor(generation).answer(question, hits, None)[0].text
