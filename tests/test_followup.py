"""A follow-up becomes a question that stands alone; one that stands alone is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.followup import CARRIED, leans, standalone
from rag.types import Turn


def talk(*said: str) -> tuple[Turn, ...]:
    """User and assistant by turns."""
    return tuple(Turn(role="user" if n % 2 == 0 else "assistant", content=text) for n, text in enumerate(said))


HISTORY = talk("What is COFT?", "COFT fine-tunes models against bias, as FLAME does [1].")


@pytest.mark.parametrize(
    "question", ["How much does LipoPU prune without retraining?", "Which papers study federated learning of birds?"]
)
def test_a_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    assert standalone(question, HISTORY) == question


@pytest.mark.parametrize(
    "question",
    ["How much does it reduce bias?", "Is that better?", "它把偏见降低了多少？", "And what about the second one?"],
)
def test_a_question_that_leans_carries_over_what_was_spoken_of(question: str) -> None:
    assert leans(question)
    alone = standalone(question, HISTORY)
    assert alone.endswith(question)
    assert "COFT" in alone
    assert "FLAME" in alone


def test_a_chain_of_follow_ups_goes_back_to_what_it_began_with() -> None:
    history = (*HISTORY, *talk("How much does it help?", "By 38 % [1]."))
    assert "COFT" in standalone("And does it hold for them?", history)


@given(st.text(max_size=50))
def test_without_a_history_every_question_stands_alone(question: str) -> None:
    assert standalone(question, ()) == question
    assert standalone(question, (Turn(role="assistant", content="Hello COFT."),)) == question


@given(st.text(max_size=80), st.lists(st.builds(Turn, role=st.sampled_from(["user", "assistant"]), content=st.text())))
def test_any_history_can_be_carried_and_never_much_of_it(question: str, history: list[Turn]) -> None:
    alone = standalone(question, history)
    assert alone.endswith(question)
    assert len(alone) <= len(question) + 2 * CARRIED + 3 * max((len(t.content) for t in history), default=0) + 10


@pytest.mark.parametrize("question", ["What is EntQuant?", "Now tell me about EntQuant", "EntQuant 是什么？"])
def test_a_question_with_a_name_of_its_own_is_not_dragged_back(question: str) -> None:
    assert standalone(question, HISTORY) == question


def test_what_about_another_name_takes_over_what_was_asked_but_not_of_whom() -> None:
    history = talk("How much does COFT reduce bias?", "COFT reduces it by 38 % [1].")
    alone = standalone("and what about FLAME?", history)
    assert "reduce bias" in alone
    assert "COFT" not in alone
    assert alone.endswith("and what about FLAME?")
