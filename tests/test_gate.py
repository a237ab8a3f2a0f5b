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


@pytest.mark.parametrize(
    ("question", "known", "unknown", "told"),
    [
        ("Does LUCID come with a CUDA kernel?", 1, 1, False),
        ("Does LUCID come with a kernel?", 1, 0, True),
        ("Can CLIP-like classifiers be helped?", 0, 1, True),
        ("Is Sokoban among the domains?", 0, 1, False),
        ("Which methods, such as DINO, does CDNV compare?", 1, 1, False),
        ("What does LUCID add to CUDA?", 1, 1, True),
    ],
)
def test_whether_something_holds_of_a_name_is_not_told_by_papers_that_lack_the_name(
    question: str, known: int, unknown: int, told: bool
) -> None:
    support = Support(nearness=2.0, coverage=0.8, names=1.0, known=known, unknown=unknown)
    assert (confidence(question, support, {"latin": (0.7, 0.04), "cjk": (0.7, 0.04)}) >= 0.5) is told


@pytest.mark.parametrize(
    "question", ["Is there a paper on braille?", "Does any paper study braille?", "Write a poem.", "braille reading"]
)
def test_whether_there_is_a_paper_needs_its_words_or_much_more_nearness(question: str) -> None:
    strangers = {"latin": (0.7, 0.04), "cjk": (0.7, 0.04)}
    near = Support(nearness=0.7 + 2.5 * 0.04, coverage=0.1)
    assert confidence("How do people read by touch?", near, strangers) >= 0.5
    assert confidence(question, near, strangers) < 0.5
    assert confidence(question, Support(nearness=near.nearness, coverage=0.6), strangers) >= 0.5
    assert confidence(question, Support(nearness=0.7 + 5 * 0.04, coverage=0.1), strangers) >= 0.5
