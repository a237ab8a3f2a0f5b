"""The gate before an answer. Its weights are fitted elsewhere: here is what must hold of any."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.gate import Support, confidence, threshold

SHARE = st.floats(0, 1)
SUPPORT = st.builds(Support, cosine=SHARE, sentence=SHARE, coverage=SHARE, spoken=SHARE, names=SHARE)
QUESTION = st.sampled_from(["How much does COFT help?", "COFT 有多大帮助？", "COFT는 도움이 되나요?"])


@given(QUESTION, SUPPORT)
def test_confidence_lies_between_0_and_1(question: str, support: Support) -> None:
    assert 0 <= confidence(question, support) <= 1


@given(QUESTION, SUPPORT, st.sampled_from(["sentence", "coverage", "spoken", "names"]), SHARE)
def test_more_evidence_never_makes_less_sure(question: str, support: Support, part: str, more: float) -> None:
    better = replace(support, **{part: max(more, getattr(support, part))})
    assert confidence(question, better) >= confidence(question, support)


@pytest.mark.parametrize("question", ["How much does COFT help?", "COFT 有多大帮助？"])
def test_nothing_found_is_below_the_threshold_and_all_found_above(question: str) -> None:
    assert confidence(question, Support(names=0)) < threshold(None)
    assert confidence(question, Support(1, 1, 1, 1, 1)) > threshold(None)


def test_the_threshold_is_a_setting() -> None:
    assert threshold(0.0) == 0
    assert 0 < threshold(None) < 1
