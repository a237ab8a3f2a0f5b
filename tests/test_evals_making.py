"""Making sets: proposals from papers, judged answers as cases, a set held against the index."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evals import draft, feedback
from evals.cases import Case
from evals.check import check, repeats
from evals.draft import Draft, flagged, propose
from evals.verbs.making import decide
from rag.errors import InputError
from rag.models.chat import build
from rag.settings import Settings
from rag.types import Paper, text_digest
from tests.fake_engine import CASES, PAPERS, WordEngine
from tests.fakes import FakeServer

POCKET = Paper(
    id="d1",
    title="LipoPU: Ranking Pockets",
    abstract="Labels are few. We present **LipoPU**, a pocket-centric predictor that ranks unlabeled pockets. "
    "It cuts errors by 12% on $n$ sets.",
)


def test_questions_are_proposed_from_what_a_paper_says_of_itself() -> None:
    name, title, figure = (one.case for one in draft.of_paper(POCKET))
    assert name.question == "Which work introduces a pocket-centric predictor that ranks unlabeled pockets?"
    assert name.must_contain == (("LipoPU",),) and name.gold == ("d1",)
    assert title.question == "Which paper is about this: Ranking Pockets?" and title.must_contain == ()
    assert figure.question.startswith('Which figure belongs in the gap: "It cuts errors by …%')
    assert figure.must_contain == (("12",),)


def test_the_same_seed_draws_the_same_proposals() -> None:
    papers = [POCKET.model_copy(update={"id": f"d{n}"}) for n in range(9)]
    first, again, other = ([one.case.gold for one in propose(papers, 4, seed)] for seed in (0, 0, 1))
    assert first == again != other and len(first) == 4


def test_near_duplicates_lost_papers_and_several_answers_are_flagged() -> None:
    twin = PAPERS[0].model_copy(update={"id": "p9"})
    engine = WordEngine([*PAPERS, twin])
    case = CASES[0].model_copy(update={"id": "new"})
    asked_before = Case(id="old", question="by how much does COFT reduce the bias metrics")
    flags = flagged(Draft(case, PAPERS[0]), [asked_before], engine).flags
    assert flags[0].startswith("much like old") and "may also be answered by p9" in flags[1]
    lost = flagged(Draft(case, POCKET), [], WordEngine()).flags
    assert "its paper is not among the first 10" in lost
    assert flagged(Draft(CASES[4], PAPERS[3]), [CASES[0]], WordEngine()).flags == ()


def answering(*lines: str) -> Callable[[str], str | None]:
    queue = list(lines)
    return lambda _: queue.pop(0) if queue else None


def test_a_person_keeps_drops_edits_or_stops() -> None:
    proposal = Draft(CASES[0], PAPERS[0], ("doubtful",))
    assert decide(proposal, answering("k")) == CASES[0]
    assert decide(proposal, answering("what?", "d")) is False
    edited = decide(proposal, answering("e", "Better?", ""))
    assert isinstance(edited, Case) and edited.question == "Better?"
    assert decide(proposal, answering("q")) is None and decide(proposal, answering()) is None


def test_an_llm_writes_questions_where_there_is_one_and_its_nonsense_is_none() -> None:
    async def go(server: FakeServer) -> list[Draft | None]:
        model = build(Settings(openai_base_url=server.base_url))
        assert model is not None
        try:
            return [await draft.written(model, POCKET) for _ in range(2)]
        finally:
            await model.aclose()

    reply = 'Here: {"question": "Which predictor ranks pockets?", "answer": ["LipoPU"]}'
    with FakeServer(reply, "I would rather not.") as server:
        good, bad = asyncio.run(go(server))
    assert good is not None and good.case.must_contain == (("LipoPU",),) and bad is None


def lines(*values: dict[str, object]) -> list[str]:
    return [json.dumps(value) for value in values]


GOOD = {"question": "What is  COFT?", "answer_id": "a1", "helpful": True, "cited": ["p1"], "comment": "clear", "at": 1}


def test_a_helpful_answer_becomes_gold_and_a_helpful_refusal_a_question_that_nothing_answers() -> None:
    refusal = {"question": "Who won?", "answer_id": "a2", "helpful": True}
    found, none = feedback.cases(feedback.parse(lines(GOOD, refusal), "f"))
    assert (found.gold, found.expect, found.question, found.note) == (
        ("p1",),
        "answer",
        "What is COFT?",
        "helpful: clear",
    )
    assert (none.gold, none.expect) == ((), "abstain")


def test_an_unhelpful_or_disputed_answer_waits_for_a_person_and_scores_nothing() -> None:
    bad = GOOD | {"helpful": False, "comment": "wrong paper", "answer_id": "a3"}
    (case,) = feedback.cases(feedback.parse(lines(GOOD, bad), "f"))
    assert (case.kind, case.expect, case.gold, case.near) == ("to-review", "either", (), ("p1",))
    assert case.note == "helpful: clear; unhelpful: wrong paper"


def test_feedback_that_is_none_is_named_with_its_line() -> None:
    with pytest.raises(InputError, match="f line 2: helpful: Field required"):
        feedback.parse(lines(GOOD, {"question": "?", "answer_id": "a"}), "f")
    with pytest.raises(InputError, match="holds no feedback"):
        feedback.parse([], "f")


def test_a_set_is_held_against_the_index() -> None:
    wrong = CASES[0].model_copy(update={"id": "w", "must_contain": (("a thousand",),), "gold": ("p1",)})
    lost = CASES[2].model_copy(update={"id": "l", "gold": ("p77",)})
    found = check([*CASES, wrong, lost], WordEngine())
    assert "1 of 6 gold papers are not in the index: p77" in found.errors[0]
    assert "w: no gold abstract holds a thousand" in found.warnings
    assert "w is much like c1: By how much does COFT reduce bias metrics?" in found.warnings
    assert found.kinds == {"fact": 4, "qa": 4, "unanswerable": 2}
    assert check(CASES, WordEngine()).errors == ()


def test_the_same_question_after_another_conversation_is_no_repeat() -> None:
    followup = CASES[0].model_copy(update={"id": "f", "history": ({"role": "user", "content": "hi"},)})
    assert repeats([CASES[0], followup]) == []


def test_a_set_that_ships_names_papers_of_the_list_that_ships() -> None:
    root = Path(__file__).parents[1]
    listed = (root / "ingest/lists/icml2026_sample.txt").read_text("utf-8").split("\n\n")
    ids = {text_digest(text)[:16] for text in listed}
    shipped = [json.loads(line) for line in (root / "evals/sets/sample.jsonl").read_text("utf-8").splitlines()]
    named = {key for case in shipped for field in ("gold", "near", "optional") for key in case.get(field, ())}
    assert len(shipped) >= 30 and named <= ids
    assert {case["lang"] for case in shipped} == {"en", "zh"} and any(not case["gold"] for case in shipped)
