"""Answers as a good model words them, true and false, about the papers of the list that ships with the product."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rag.citations import Checker
from rag.types import Paper, Source

Case = dict[str, Any]
ROOT = Path(__file__).parent.parent
CASES = [json.loads(line) for line in (ROOT / "tests" / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
ABSTRACTS = [
    block.strip()
    for block in (ROOT / "ingest" / "lists" / "icml2026_sample.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    if block.strip()
]
DISTRACTORS = (3, 9, 14, 6, 12)


def checked(case: Case) -> Checker:
    """The answer, checked against the papers it was given and a few others."""
    shown = [*case["shown"], *(n for n in DISTRACTORS if n not in case["shown"])]
    papers = [Paper(id=f"seed-{number:02}", abstract=ABSTRACTS[number - 1]) for number in shown]
    sources = [Source(key=f"S{n}", paper=p, start=0, end=len(p.abstract)) for n, p in enumerate(papers, start=1)]
    checker = Checker(sources, case["question"])
    checker.feed(case["answer"])
    checker.finish()
    return checker


@pytest.mark.parametrize("case", [case for case in CASES if case["true"]], ids=lambda case: case["answer"][:40])
def test_a_true_answer_is_shown_whole_and_cites_its_papers(case: Case) -> None:
    checker = checked(case)
    assert checker.dropped == []
    assert {c.paper.id for c in checker.citations} <= {f"seed-{n:02}" for n in case["shown"]}
    words = re.sub(r"\s*\[S\d[^\]]*\]", "", case["answer"])
    assert re.sub(r"\s*\[\d\]", "", checker.text) == words


@pytest.mark.parametrize("case", [case for case in CASES if not case["true"]], ids=lambda case: case["answer"][:40])
def test_a_false_answer_is_not_shown(case: Case) -> None:
    assert checked(case).text == ""
