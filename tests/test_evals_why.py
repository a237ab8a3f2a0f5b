"""Explaining a miss: the first stage that lost a paper is named."""

from typing import Any

from evals.why import readable, why
from tests.fake_engine import CASES, WordEngine

FOUND: dict[str, Any] = {
    "candidate": True, "lexical_rank": None, "bm25": 0.0, "dense_rank": 3, "cosine": 0.81, "sentence_cosine": 0.84,
    "fused_rank": 4, "fused_score": 0.0161, "final_rank": 2, "final_score": 0.9,
    "gate": {"confidence": 0.9, "threshold": 0.5},
}  # fmt: skip


class Explaining(WordEngine):
    """Says of every paper what it is told to."""

    def __init__(self, **told: Any) -> None:
        super().__init__()
        self._told = FOUND | told

    def explain(self, question: str, paper_id: str) -> dict[str, Any]:
        return self._told


def lost_at(**told: Any) -> str | None:
    return why(Explaining(**told), CASES[0].question, "p2", top_k=3).lost_at


def test_a_paper_that_one_leg_found_is_not_lost_by_the_other() -> None:
    found = why(Explaining(), CASES[0].question, "p2", top_k=3)
    assert found.lost_at is None and found.stages["words"] == "not found"
    assert found.stages["vectors"] == "rank 3 (cosine 0.810)"
    assert len(found.ahead) == 1 and "COFT" in found.ahead[0]
    assert readable(found).startswith("We propose FLAME")


def test_the_first_stage_that_lost_it_is_named() -> None:
    assert lost_at(candidate=False) == "candidates"
    assert lost_at(final_rank=4) == "top k"
    assert lost_at(gate={"confidence": 0.1, "threshold": 0.5}) == "gate"
    assert lost_at(final_rank=4, gate={"confidence": 0.1, "threshold": 0.5}) == "top k"


def test_the_engine_s_own_explanation_is_read() -> None:
    assert why(WordEngine(), CASES[0].question, "p1").lost_at is None
    off = why(WordEngine(), CASES[6].question, "p1")
    assert off.lost_at == "gate" and "lost at: gate" in readable(off)
