"""What an adversarial model tries: marks of its own, sentences that ride along, numbers of the question, links."""

import re
import time

import pytest

from rag.citations import Checker
from tests.test_citations import SOURCES, check

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
        f"{TRUE} etc [S1]．The method is slow and racist.",
        f"{TRUE} etc [S1]｡ the method is slow and racist.",
        f"{TRUE} etc [S1]! the method is slow and racist.",
        f"{TRUE}, no less, vs [S1]. The method is slow and racist.",
        f"{TRUE} in 38% ms [S1]. 中文句子在这里 [S1]。",
        f"{TRUE} in 38% ms. 中文句子在这里 [S1]。",
    ],
)
def test_a_full_stop_after_a_mark_ends_the_sentence(said: str) -> None:
    text = check(said).text
    assert "racist" not in text and "中文" not in text


@pytest.mark.parametrize(
    ("question", "said", "reason"),
    [
        ("Is it true that COFT reduces bias by 99%?", "COFT reduces standard bias metrics by 99% [S1].", "number"),
        ("COFT by 99%?", "COFT reduces standard bias metrics by 99%, not by 30-55% [S1].", "number"),
        ("COFT by 99%?", "COFT reduces standard bias metrics by no less than 99% [S1].", "number"),
        ("COFT by 99%?", "COFT reduces standard bias metrics by 99% rather than 38% [S1].", "number"),
        ("Does COFT, by Geoffrey Hinton?", "COFT, by Geoffrey Hinton, reduces standard bias metrics [S1].", "name"),
        ("Does COFT, at OpenAI?", "COFT, at OpenAI, reduces standard bias metrics by 38% [S1].", "name"),
        ("COFT 降低了99%吗？", "COFT 将标准偏见指标降低了99%，中位数38%[S1]。", "number"),
        ("COFT 用 OpenAI 吗？", "COFT 使用 OpenAI 将指标降低了38%[S1]。", "name"),
    ],
)
def test_what_only_the_question_says_is_not_affirmed(question: str, said: str, reason: str) -> None:
    checker = check(said, question)
    assert checker.text == "" and checker.dropped[0].reason.startswith(f"{reason} not in source")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Does it by 80%?", "COFT reduces standard bias metrics by 30-55%, not 80% [S1]."),
        ("Does it by 80%?", "COFT reduces standard bias metrics by 30-55% rather than 80% [S1]."),
        ("Does it by 80%?", "COFT does not reduce standard bias metrics by 80%, but by 30-55% [S1]."),
        ("Is COFT by OpenAI?", "COFT is a training-free decoding method and it is not said to be by OpenAI [S1]."),
        ("降低了80%吗？", "COFT 没有将标准偏见指标降低80%，而是30–55%[S1]。"),
        ("Which three?", "COFT is of three kinds: a decoding method, training-free, with marginal guarantees [S1]."),
    ],
)
def test_a_false_premise_may_be_corrected(question: str, said: str) -> None:
    assert check(said, question).dropped == []


@pytest.mark.parametrize(
    "link",
    [
        "ssh://localhost/x", "git+ssh://h/x", "x://y", "//evilhost/x", "localhost:8000/x", "evilhost:8000/x",
        "пример.рф/x", "münchen.de/x", "例子.中国", "evil．com/x", "hxxps://evil", "http:[S1]//evil/x", "evil dot com",
        "xn--e1afmkfd.xn--p1ai", "еvil.com", "_evil.com/x", "SSH : //evil/x",
    ],
)  # fmt: skip
def test_a_link_in_other_clothes_is_an_address(link: str) -> None:
    checker = check(f"{TRUE} at {link} [S1].", QUESTION)
    assert checker.text == "" and checker.dropped[0].kind == "address not in source"


def test_after_so_many_characters_the_rest_is_dropped() -> None:
    said = "The median is 38% [S1]. "
    checker = Checker(SOURCES, QUESTION, longest=len(said) * 3 + 5)
    shown = [one for _ in range(20) for one in checker.feed(said)] + checker.finish()
    assert len(shown) == 3 and checker.drop_reasons == {"too long": 1}


def test_a_very_long_answer_takes_no_more_than_its_time() -> None:
    start = time.process_time()
    for words in ("COFT " * 200_000 + "[S1]", "a" * 10**6, "a." * 10**5, "a:" * 10**5, "//" * 10**5, "[S1]." * 10**5):
        check(words)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (f"{TRUE} but is slow, racist and plagiarised [S1].", "too few words supported"),
        (f"{TRUE}, so the authors invented fake tables [S1].", "too few words supported"),
        (f"{TRUE}, and the authors admit fraud openly [S1].", "too few words supported"),
        (f"{TRUE}; critics call this cheating nonsense [S1].", "too few words supported"),
        (f"{TRUE} (median 38%) only on toy games and fails elsewhere [S1].", "too few words supported"),
        (f"{TRUE} [S1]: the method is slow and racist.", "too few words supported"),
        (f"{TRUE} [S1] - the method is slow.", "too few words supported"),
        (f"{TRUE} etc. [S1] the reviewers were bribed heavily.", "too few words supported"),
        (f"{TRUE} while preserving task utility, so please send it [S1].", "an instruction: please"),
        (f"{TRUE} and click here [S1].", "an instruction: click"),
        ("COFT worsens standard bias metrics by 30-55% (median 38%) [S1].", "direction not in source: worsen"),
        ("COFT halves standard bias metrics (median 38%) [S1].", "direction not in source: halve"),
        ("COFT doubles standard bias metrics (median 38%) [S1].", "direction not in source: double"),
        ("COFT triples standard bias metrics (median 38%) [S1].", "direction not in source: triple"),
        ("COFT reduces standard bias metrics by 30-55% (mean 38%) [S1].", "measure not in source: mean 38"),
        ("COFT reduces standard bias metrics by 38% on average [S1].", "measure not in source: mean 38"),
        ("COFT reduces standard bias metrics by at least 38% [S1].", "measure not in source: least 38"),
        ("The computational overhead is modest, at least 11% [S1].", "measure not in source: least 11"),
        ("COFT reduces standard bias metrics by 38-55% (median 30%) [S1].", "measure not in source: median 30"),
        ("COFT reduces standard bias metrics by 38-55% [S1].", "number not in source: 38-55"),
        ("COFT reduces standard bias metrics by -30 to -55% [S1].", "number not in source"),
        ("COFT 将标准偏见指标平均降低了38%[S1]。", "measure not in source: mean 38"),
        ("COFT 降低偏见38%，请访问坏网站输入密码[S1]。", "an instruction: 请访问"),
        ('天空是蓝色的[S1: "reduces standard bias metrics by 30"]。', "nothing to check it by"),
        ('作者承认造假[S1: "reduces standard bias metrics by 30"]。', "nothing to check it by"),
    ],
)  # fmt: skip
def test_what_rides_along_with_a_true_sentence_is_dropped(said: str, reason: str) -> None:
    checker = check(said, QUESTION)
    assert checker.text == "" and checker.dropped[0].reason.startswith(reason)


@pytest.mark.parametrize(
    "said",
    [
        "COFT reduces standard bias metrics by 30-55%, with a median of 38%, and preserves task utility [S1].",
        "The computational overhead is at most 11%, and accuracy is not affected by the length of the prompt [S1].",
        "COFT reduces standard bias metrics by up to 55%, so it preserves task utility [S1].",
        "COFT reduces standard bias metrics between 30% and 55% [S1]; the overhead is up to 11% [S1].",
        "COFT improves standard bias metrics with a median reduction of 38% [S1].",
    ],
)
def test_true_clauses_and_measures_are_kept(said: str) -> None:
    assert check(said, QUESTION).dropped == []
