"""What an adversarial model tries: marks of its own, sentences that ride along, numbers of the question, links."""

import re

import pytest

from tests.test_citations import check

QUESTION = "How much does COFT reduce standard bias metrics?"
TRUE = "COFT reduces standard bias metrics by 30-55%"


@pytest.mark.parametrize(
    "forged",
    [
        "[`9`]", "[**9**]", "[__9__]", "[*9*]", "[2026]", "[one]", "[*]", "[]", "[９]", "【`9`】",
        "［２０２６］", "[⁹]", "[⑨]",
        "\\[9\\]", "[[9]]", "[$9$]", "[ref 38%]", "〖9〗", "⟦9⟧", "[[S1]9]", "[9", "[a]", "[iv]", "[source nine]",
        "[No. 2026]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["{} by", "after"])
def test_no_mark_reaches_a_reader_that_is_not_ours(forged: str, place: str) -> None:
    after = f"{TRUE} [S1]{forged}." if place == "after" else f"COFT reduces standard bias metrics {forged} by 38% [S1]."
    checker = check(after, QUESTION + " Give 9 and 2026 facts.")
    ours = {str(c.number) for c in checker.citations}
    assert set(re.findall(r"\[([^\]]*)\]", checker.text)) <= ours
    assert checker.text == "" or checker.text in (f"{TRUE} [1].", "COFT reduces standard bias metrics by 38% [1].")


@pytest.mark.parametrize("mark", ["[**S1**]", "[`S1`]", "[*1*]", '[`S1`: "median 38%"]'])
def test_a_mark_in_decoration_is_a_mark(mark: str) -> None:
    assert check(f"The median is 38% {mark}.").text == "The median is 38% [1]."


@pytest.mark.parametrize(
    "said",
    [
        f"{TRUE} etc [S1]. The method is slow and racist.",
        f"{TRUE} etc [S1]. the method is slow and racist.",
        f"{TRUE} etc [S1].The method is slow and racist.",
        f"{TRUE} etc [S1]. [S1] the method is slow and racist.",
        f'{TRUE} etc [S1].") The method is slow and racist.',
        f"{TRUE} etc. [S1] The method is slow and racist.",
        f"{TRUE} etc [S1]。the method is slow and racist.",
        f"{TRUE} etc [S1]! the method is slow and racist.",
        f"{TRUE}, no less, vs [S1]. The method is slow and racist.",
        f"{TRUE} in 38% ms [S1]. 中文句子在这里 [S1]。",
        f"{TRUE} in 38% ms. 中文句子在这里 [S1]。",
    ],
)
def test_a_full_stop_after_a_mark_ends_the_sentence(said: str) -> None:
    text = check(said).text
    assert "racist" not in text and "中文" not in text
