"""Judged answers -> cases. Pure.

A line: ``{"question", "answer_id", "helpful": bool, "comment"?, "cited"?: [paper ids], "history"?}``. A helpful
answer gives gold (what it cited; a helpful refusal gives a question that nothing answers). An unhelpful one
gives a case that nothing is scored by, of kind "to-review", until a person fills in what is right.
"""

import hashlib
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from evals.cases import Case
from evals.lines import explain, objects
from rag.errors import InputError
from rag.text import language
from rag.types import Frozen, Turn


class Feedback(Frozen):
    question: str
    answer_id: str
    helpful: bool
    comment: str = ""
    cited: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()


def parse(lines: Iterable[str], name: str) -> list[Feedback]:
    """Fields that are not ours are left out. Raises InputError naming the line."""
    out = []
    for number, value in objects(lines, name):
        try:
            known = {key: item for key, item in value.items() if key in Feedback.model_fields and item is not None}
            out.append(Feedback.model_validate(known))
        except ValidationError as error:
            raise InputError(f"{name} line {number}: {explain(error)}") from None
    if not out:
        raise InputError(f"{name} holds no feedback; expected one JSON object a line")
    return out


def cases(judged: Sequence[Feedback]) -> list[Case]:
    """One case a question (and history), from all that was said of it."""
    together: dict[tuple[str, tuple[Turn, ...]], list[Feedback]] = {}
    for one in judged:
        together.setdefault((" ".join(one.question.split()), one.history), []).append(one)
    return [_case(question, history, said) for (question, history), said in together.items()]


def _case(question: str, history: tuple[Turn, ...], said: Sequence[Feedback]) -> Case:
    key = hashlib.sha256("\n".join([question, *(turn.content for turn in history)]).encode()).hexdigest()[:10]
    good = [one for one in said if one.helpful]
    note = "; ".join(f"{'helpful' if one.helpful else 'unhelpful'}: {one.comment}" for one in said if one.comment)
    disputed = len(good) < len(said)
    gold = tuple(dict.fromkeys(paper for one in good for paper in one.cited))
    case = Case(
        id=f"feedback-{key}", question=question, lang=language(question), kind="feedback", history=history, note=note,
        gold=gold, expect="answer" if gold else "abstain",
    )  # fmt: skip
    if disputed or (gold and any(not one.cited for one in good)):
        near = tuple(dict.fromkeys(paper for one in said for paper in one.cited))
        return case.model_copy(update={"kind": "to-review", "expect": "either", "gold": (), "near": near})
    return case
