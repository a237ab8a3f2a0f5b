"""The gate before an answer. Its weights are fitted elsewhere: here is what must hold of any."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.gate import Support, confidence, threshold

SHARE = st.floats(0, 1)
NEARNESS = st.none() | st.floats(-3, 3)
SUPPORT = st.builds(Support, nearness=NEARNESS, coverage=SHARE, names=SHARE)
QUESTION = st.sampled_from(["How much does COFT help?", "COFT 有多大帮助？", "COFT는 도움이 되나요?"])
PAIR = st.tuples(st.floats(-3, 3), st.floats(0, 1))
STRANGERS = st.fixed_dictionaries({"latin": PAIR, "cjk": PAIR})


@given(QUESTION, SUPPORT, STRANGERS)
def test_confidence_lies_between_0_and_1(
    question: str, support: Support, strangers: dict[str, tuple[float, float]]
) -> None:
    assert 0 <= confidence(question, support, strangers) <= 1


@given(QUESTION, SUPPORT, STRANGERS, st.sampled_from(["nearness", "coverage", "names"]), SHARE)
def test_more_evidence_never_makes_less_sure(
    question: str, support: Support, strangers: dict[str, tuple[float, float]], part: str, more: float
) -> None:
    have = getattr(support, part)
    better = support if have is None else replace(support, **{part: have + more})
    assert confidence(question, better, strangers) >= confidence(question, support, strangers)


@pytest.mark.parametrize("question", ["How much does COFT help?", "COFT 有多大帮助？"])
@pytest.mark.parametrize("near", [(1.0, 3.0), (None, None)], ids=["by vectors", "by words alone"])
def test_no_nearer_than_a_stranger_is_below_the_threshold_and_far_nearer_above(
    question: str, near: tuple[float | None, float | None]
) -> None:
    strangers = {"latin": (1.0, 0.2), "cjk": (1.0, 0.2)}
    assert confidence(question, Support(near[0]), strangers) < threshold(None)
    assert confidence(question, Support(near[1], coverage=1, names=1), strangers) > threshold(None)


def test_the_threshold_is_a_setting() -> None:
    assert threshold(0.0) == 0
    assert 0 < threshold(None) < 1
