"""Every word said to a model."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from rag import prompts
from rag.citations.splitter import Splitter
from rag.text import count_tokens, sentences
from rag.types import Hit, Paper, Turn
from tests import fake_models

PAPERS = [
    Paper(
        id="a", title="Fair Thought", authors=("Ann Lee", "李雷"), venue="ICML", year=2026, url="https://example.org/a",
        abstract="COFT reduces bias by 38\\%. It needs no training. It has three stages.",
    ),
    Paper(id="b", title="We study rates", title_derived=True, abstract="We study rates. They are linear."),
]  # fmt: skip
HITS = [Hit(paper=paper, start=0, end=len(paper.abstract), score=1.0) for paper in PAPERS]
HISTORY = (
    Turn(role="user", content="What is COFT?"),
    Turn(role="assistant", content="A decoding method [1]. It is fair [2]."),
)


def test_the_prompt_of_an_answer(snapshot: SnapshotAssertion) -> None:
    said = prompts.answer("How much?", HISTORY, prompts.sources(HITS), "9f2c", "en")
    assert "\n\n".join(f"({role})\n{content}" for role, content in said) == snapshot


def test_the_prompt_of_a_rewriting(snapshot: SnapshotAssertion) -> None:
    said = prompts.condense(HISTORY, "And how much?")
    assert "\n\n".join(f"({role})\n{content}" for role, content in said) == snapshot


@pytest.mark.parametrize("language", prompts.LANGUAGES)
def test_an_answer_is_asked_for_in_the_readers_language(language: str) -> None:
    rules = prompts.answer("?", (), prompts.sources(HITS), "d", language)[0][1]
    assert f"in {prompts.LANGUAGES[language]}." in rules


def test_each_source_is_shown_whole_between_lines_that_it_cannot_know() -> None:
    content = prompts.answer("?", (), prompts.sources(HITS), "9f2c", "en")[-1][1]
    assert fake_models.sources({"messages": [{"content": content}]}) == {
        "S1": PAPERS[0].abstract, "S2": PAPERS[1].abstract
    }  # fmt: skip
    assert content.count("9f2c") == 4


def test_a_derived_title_is_not_shown_twice() -> None:
    content = prompts.answer("?", (), prompts.sources(HITS), "d", "en")[-1][1]
    assert "Title: Fair Thought" in content and content.count("We study rates") == 1


def test_earlier_marks_and_long_turns_are_left_out() -> None:
    history = tuple(Turn(role="user", content=f"{n} " + "x" * 5000) for n in range(20))
    said = prompts.answer("?", history, [], "d", "en")
    assert len(said) == 2 + prompts.HISTORY_TURNS and all(len(content) <= 2500 for _, content in said)
    assert said[1][1].startswith("14 ")
    assert prompts.answer("?", HISTORY, [], "d", "en")[2][1] == "A decoding method. It is fair."


def test_no_prompt_holds_an_example_that_could_be_copied_as_an_answer() -> None:
    for content in (prompts.RULES, prompts.CONDENSE):
        assert not any(draft.marks for draft in Splitter().push(content + "\n\nx"))


@pytest.mark.parametrize("budget", [0, 5, 70, 80, 100, 130, 1000])
def test_sources_are_fitted_into_a_budget_at_the_ends_of_sentences(budget: int) -> None:
    kept = prompts.fit(prompts.sources(HITS), budget, count_tokens)
    assert 1 <= len(kept) <= 2 and [source.key for source in kept] == ["S1", "S2"][: len(kept)]
    for source in kept:
        ends = [end for _, end in sentences(source.paper.abstract)]
        assert source.end in ends and source.start == 0
    shown = prompts.answer("?", (), kept, prompts.STAND_IN, "en")[-1][1]
    assert budget < 70 or count_tokens(shown) <= budget + 16  # the words around them


def test_a_long_passage_is_cut_where_it_begins_in_its_paper() -> None:
    paper = Paper(id="l", abstract="Zero is left out. One is in. Two is in. " + "Three is too long. " * 50)
    hit = Hit(paper=paper, start=18, end=len(paper.abstract), score=1.0)
    (source,) = prompts.fit(prompts.sources([hit]), 60, count_tokens)
    assert source.start == 18 and source.text.startswith("One is in. Two is in.") and len(source.text) < 120


def test_what_is_declined_is_said_in_the_readers_language() -> None:
    assert prompts.decline("zh") == prompts.DECLINE["zh"] != prompts.decline("en")
    assert prompts.decline("de") == prompts.decline("en") and prompts.decline("zh-Hans") == prompts.DECLINE["zh"]


def test_the_fingerprint_names_the_wording() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", prompts.fingerprint()) and prompts.fingerprint() == prompts.fingerprint()
