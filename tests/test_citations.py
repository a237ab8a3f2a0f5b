"""Marks in a model's words: what is shown, what is dropped, and why."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.citations import Checked, Checker, Numbers, cite
from rag.citations.marks import Mark, parse
from rag.citations.quotes import Abstract
from rag.citations.splitter import Splitter
from rag.types import Paper, Source

COFT = Paper(
    id="coft",
    abstract=(
        "Large language models (LLMs) can reveal and amplify societal biases. We present COFT (Chain of Fair Thought), "
        "a training-free decoding method with marginal guarantees. We evaluate COFT across six models and multiple "
        "bias benchmarks. Our method reduces standard bias metrics by 30–55\\% (median 38\\%) while preserving task "
        "utility. "
        "The computational overhead is modest (<=11%). Accuracy is not affected by the length of the prompt. "
        "COFT outperforms FairDec on three data sets with values in [0, 1]."
    ),
)
FLAME = Paper(
    id="flame",
    title="FLAME: Forgery Localization",
    authors=("Ann Other",),
    venue="ICML",
    year=2026,
    abstract=(
        "We propose FLAME, a unified framework that utilizes a LAD map, coupled with a parameter-efficient adapter "
        "for SAM. "
        "It attains an error of $O(1/\\sqrt{T})$ with step size $\\alpha$. Code is at https://github.com/phoenixnir/FLAME."
    ),
)
OTHER = Paper(
    id="other", abstract="We study convex optimisation. The rate is linear. 方法在三个数据集上提升了12%的准确率。"
)
SOURCES = [
    Source(key=f"S{n}", paper=p, start=0, end=len(p.abstract)) for n, p in enumerate((COFT, FLAME, OTHER), start=1)
]
QUESTION = "How much does COFT reduce standard bias metrics?"


def check(text: str, question: str = QUESTION, *, whole: bool = True) -> Checker:
    checker = Checker(SOURCES, question, refusal="NOT_IN_SOURCES")
    said = "".join(one.text for one in checker.feed(text) + checker.finish(whole=whole))
    assert said == checker.text, "what was shown piece by piece is the whole, to the byte"
    holds(checker)
    return checker


def holds(checker: Checker) -> None:
    """What is true of every answer."""
    papers = {source.paper.id: source.paper for source in SOURCES}
    for number, citation in enumerate(checker.citations, start=1):
        assert citation.number == number
        assert papers[citation.paper.id].abstract[citation.start : citation.end] == citation.quote != ""
    first_use = list(dict.fromkeys(int(n) for n in re.findall(r"\[(\d+)\]", checker.text)))
    assert first_use == [citation.number for citation in checker.citations]


def why(text: str, question: str = QUESTION) -> str:
    checker = check(text, question)
    assert checker.text == ""
    return checker.dropped[0].reason


# what is shown


def test_a_sentence_is_shown_with_a_number_and_the_sentence_that_it_quotes() -> None:
    checker = check('COFT reduces standard bias metrics by 30-55% [S1: "reduces standard bias metrics by 30-55%"].')
    assert checker.text == "COFT reduces standard bias metrics by 30-55% [1]."
    assert [c.quote for c in checker.citations] == [
        "Our method reduces standard bias metrics by 30–55\\% (median 38\\%) while preserving task utility."
    ]


def test_a_mark_without_a_quote_is_given_the_sentence_that_bears_it_out() -> None:
    assert check("The median reduction of bias metrics is 38% [S1].").citations[0].quote.startswith("Our method")


def test_a_quote_that_stands_nowhere_is_replaced_by_one_that_does() -> None:
    checker = check('The median reduction of bias metrics is 38% [S1: "bias went down by a lot, 38 points"].')
    assert checker.citations[0].quote.startswith("Our method")


def test_numbers_go_by_first_use_and_a_passage_keeps_its_number() -> None:
    checker = check("FLAME utilizes a LAD map [S2]. The median is 38% [S1]. FLAME has an adapter for SAM [S2].")
    assert checker.text == "FLAME utilizes a LAD map [1]. The median is 38% [2]. FLAME has an adapter for SAM [1]."
    assert [c.paper.id for c in checker.citations] == ["flame", "coft"]


@pytest.mark.parametrize(
    "mark",
    [
        "[S1]", "[1]", "[ s1 ]", "【1】", "【S1】", "［１］", "[S１]", "(S1)", "（S1）", "[Source 1]", "[#1]",
        "[^1]", "[S1, S3]", "[1, 3]", "[1][3]", "[S1] [S3]", "[1-3]", "[S1–S3]", "[S1 and S3]", "[1、3]",
        "[1，3]", "[S1; S3]", "[S9, S1]", "[9][1]", '[S1: "median 38%"]', "[S1: “median 38%”]",
        "[S1: median 38%]", '[S1 "median 38%"]', '[S1, "median 38%"]', '[S1: "median 38%", S3: "linear"]',
        '【S1：「median 38%」】', '[S1: "median 38%]', '[S1: "values in [0, 1]"]',
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "place", ["The median is 38% {}.", "The median is 38%. {}", "The median is 38%.{}", "{} The median is 38%."]
)
def test_many_spellings_of_a_mark_are_understood(mark: str, place: str) -> None:
    text = check(place.format(mark)).text.strip()
    assert re.sub(r"\s*\[\d\]", "", text).strip() == "The median is 38%." and text.count("[1]") == 1


def test_a_mark_on_a_line_of_its_own_belongs_to_the_sentence_before() -> None:
    assert check("The median is 38%.\n[S1]\nFLAME utilizes a LAD map.\n\n[S2]").text == (
        "The median is 38%. [1]\nFLAME utilizes a LAD map. [2]"
    )


def test_marks_before_their_sentences_stay_with_them() -> None:
    assert check("[S1] The median is 38%.\n[S2] FLAME utilizes a LAD map.").text == (
        "[1] The median is 38%.\n[2] FLAME utilizes a LAD map."
    )


def test_items_of_a_list_are_sentences() -> None:
    checker = check(
        "Findings:\n1. The median is 38% [S1]\n2. The overhead is 99% [S1]\n* FLAME utilizes a LAD map [S2]"
    )
    assert checker.text == "- The median is 38% [1]\n- FLAME utilizes a LAD map [2]"
    assert checker.drop_reasons == {"no citation": 1, "number not in source": 1}


def test_greetings_headings_and_sentences_without_a_mark_are_dropped_and_counted() -> None:
    checker = check("## Answer\nHello!\nBias is bad for everyone. The median is 38% [S1]. Ask me more!")
    assert checker.text == "The median is 38% [1]." and checker.drop_reasons == {"no citation": 4}


def test_a_sentence_of_a_source_without_a_mark_is_given_one() -> None:
    checker = check("Our method reduces standard bias metrics by 30–55% while preserving task utility.")
    assert checker.text.endswith("task utility. [1]") and checker.citations[0].paper.id == "coft"


def test_a_mark_that_says_nothing_for_the_sentence_is_left_out() -> None:
    checker = check("FLAME utilizes a LAD map with an adapter for SAM [S2][S3].")
    assert [c.paper.id for c in checker.citations] == ["flame"]


def test_brackets_that_are_no_marks_stay_text() -> None:
    assert check("COFT outperforms FairDec with values in [0, 1] [S1].").text.startswith(
        "COFT outperforms FairDec with values in [0, 1] [1]"
    )


def test_two_passages_of_one_source_are_two_citations() -> None:
    checker = check("COFT reduces bias metrics by 38% and outperforms FairDec on three data sets [S1].")
    assert checker.text.endswith("[1][2].") and {c.paper.id for c in checker.citations} == {"coft"}


def test_thoughts_at_the_head_are_no_answer() -> None:
    assert (
        check("<think>The median is 30-55% [S1].\n</think>\nThe median is 38% [S1].").text == "The median is 38% [1]."
    )
    assert check("<think>The median is 38% [S1].").text == ""


def test_a_refusal_is_told_and_not_shown() -> None:
    checker = check("NOT_IN_SOURCES")
    assert checker.refused and checker.text == "" and checker.dropped == []


def test_what_is_cut_short_is_not_shown() -> None:
    checker = check("The median is 38% [S1]. FLAME utilizes a LAD map [S2]", whole=False)
    assert checker.text == "The median is 38% [1]." and checker.drop_reasons == {"cut short": 1}


# what is dropped


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The median is 38% [S9].", "unknown source"),
        ("The median is 45% [S1].", "number not in source: 45%"),
        ("The median is 38 points for bias metrics [S1].", "number not in source: 38"),
        ("The overhead is modest at 11 s [S1].", "number not in source: 11"),
        ("COFT is evaluated across seven models [S1].", "number not in source: 7"),
        ("COFT is evaluated on GPT-4 models [S1].", "name not in source: GPT-4"),
        ("FLAME reduces standard bias metrics by 38% [S1].", "name not in source: FLAME"),
        ("COFT, by Stanford, reduces bias metrics by 38% [S1].", "name not in source: Stanford"),
        ("FLAME has step size β and an adapter [S2].", "sign not in source: β"),
        ("COFT increases standard bias metrics by 30-55% [S1].", "direction not in source: up"),
        ("FairDec outperforms COFT on three data sets [S1].", "compared the other way round"),
        ("COFT is outperformed by FairDec on three data sets [S1].", "compared the other way round"),
        ("Accuracy is affected by the length of the prompt [S1].", "denied in source: affect length"),
        ("Our method does not reduce standard bias metrics by 38% [S1].", "denial not in source: reduc standard"),
        ("COFT was invented by aliens on holiday near Jupiter [S1].", "name not in source: Jupiter"),
        ("The weather tomorrow brings bias and rain [S1].", "too few words supported"),
        ("See https://evil.example/x about COFT bias metrics [S1].", "address not in source: evil.example/x"),
        ("Code of COFT is at github.com/phoenixnir/FLAME [S1].", "address not in source"),
        ("![x](https://github.com/phoenixnir/FLAME) FLAME code [S2].", "markup"),
        ("<img src=x> FLAME utilizes a LAD map [S2].", "markup"),
        ("FLAME utilizes a [LAD map](https://github.com/phoenixnir/FLAME) [S2].", "markup"),
        ("Does COFT reduce standard bias metrics by 38%? [S1]", "a question"),
        ("FLAME utilizes a LAD map, javascript:alert(1) [S2].", "markup"),
        ("中位数是45%[S1]。", "no support in source"),
        ("该方法提升了Transformer的性能[S1]。", "no support in source"),
        ("COFT 使用 Transformer 减少偏见[S1]。", "name not in source: Transformer"),
        ("所有方法都很好[S1]。", "no support in source"),
    ],
)  # fmt: skip
def test_a_sentence_that_its_source_does_not_bear_out_is_dropped(text: str, reason: str) -> None:
    assert why(text).startswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        "COFT reduces standard bias metrics by 30 to 55 percent, with a median of 38 % [S1].",
        "COFT lowers standard bias metrics by between 30% and 55% (median: 38%) [S1].",
        "COFT is evaluated across 6 models and several bias benchmarks [S1].",
        "COFT needs no training and decodes with marginal guarantees [S1].",
        "Large language models can amplify societal biases [S1].",
        "LLM biases are revealed and amplified by large language models [S1].",
        "FairDec is outperformed by COFT on three data sets [S1].",
        "COFT is better than FairDec on three data sets [S1].",
        "The length of the prompt does not affect accuracy [S1].",
        "COFT does not reduce standard bias metrics by 80%, but by 30-55% [S1].",
        "FLAME attains an error of $O(1/\\sqrt{T})$ with step size α [S2].",
        "FLAME, published at ICML 2026, utilizes a LAD map and an adapter for SAM [S2].",
        "The code of FLAME is at <https://github.com/phoenixnir/FLAME> [S2].",
        "The code of FLAME is at github.com/phoenixnir/FLAME [S2].",
        "**FLAME** utilizes a `LAD` map [S2].",
        "COFT 将标准偏见指标降低了30–55%（中位数38%）[S1]。",
        "COFT 无需训练[S1: \"training-free decoding method\"]。",
        "该方法在三个数据集上将准确率提升了12%[S3]。",
        "COFT는 편향 지표를 30-55% 줄인다 [S1].",
    ],
)  # fmt: skip
def test_a_sentence_in_other_words_is_kept(text: str) -> None:
    asked = "Does COFT reduce standard bias metrics by 80%?"
    assert check(text, asked).dropped == []


def test_an_embedding_may_object_too() -> None:
    def similar(sentence: str, passage: str) -> float:
        return 0.9 if "38%" in sentence else 0.1

    checker = Checker(SOURCES, QUESTION, similar=similar, least=0.5)
    checker.feed("The median is 38% [S1]. COFT 减少偏见[S1].")
    checker.finish()
    assert checker.text == "The median is 38% [1]." and checker.drop_reasons == {"too far from source": 1}


# streams

NOISE = st.sampled_from(
    [
        "The median is 38% ", "[S1]", "[S1: \"median 38%\"]", "[1, 3]", "【2】", "[", "]", "(S", "S1", ": \"",
        "\"", "。", ". ", ".", "!", "\n", "\n\n", "- ", "1. ", "<think>", "</think>", "[S9]", "（S２）",
        "方法在三个数据集上提升了12%的准确率", "https://evil.com", "FLAME utilizes a LAD map",
        "NOT_IN_SOURCES", "\u200b", "\ud800", "$", "\\alpha", "e.g. ", "et al. ", "**", "![x](y)", " ",
    ]
)  # fmt: skip
ANSWERS = st.lists(NOISE | st.text(max_size=5), max_size=25).map("".join)


def streamed(text: str, cuts: list[int]) -> tuple[list[Checked], Checker]:
    checker = Checker(SOURCES, QUESTION, refusal="NOT_IN_SOURCES")
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    said = [one for a, b in pairwise(edges) for one in checker.feed(text[a:b])]
    return said + checker.finish(), checker


@settings(max_examples=1000, deadline=None)
@given(ANSWERS, st.lists(st.integers(0, 10**6), max_size=40))
def test_the_answer_does_not_depend_on_how_a_stream_is_cut(text: str, cuts: list[int]) -> None:
    said, checker = streamed(text, cuts)
    whole = check(text)
    assert (checker.text, checker.citations, checker.dropped) == (whole.text, whole.citations, whole.dropped)
    assert "".join(one.text for one in said) == checker.text
    assert [c for one in said for c in one.citations] == list(checker.citations)


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_no_text_breaks_the_checker(text: str) -> None:
    checker = check(text)
    assert checker.text == "" or checker.citations


def test_a_sentence_is_shown_as_soon_as_the_next_one_begins() -> None:
    checker = Checker(SOURCES, QUESTION)
    assert checker.feed("The median is 38%. [S") == []
    assert checker.feed("1]") == []
    assert [one.text for one in checker.feed(" F")] == ["The median is 38%. [1]"]


@pytest.mark.parametrize("hostile", ['[S1: "a] ', "[[[[((((", "word ", "a.b.", "[S1", "<think", "\n", "(S1, "])
def test_a_hostile_text_takes_no_more_than_its_time(hostile: str) -> None:
    checker = Checker(SOURCES, QUESTION)
    start = time.process_time()
    for _ in range(1000):
        checker.feed(hostile)
    checker.finish()
    assert time.process_time() - start < 3


# the parts


def test_a_mark_reads_keys_and_words() -> None:
    assert parse('S1: "a, b", S2: "c"', rounded=False) == Mark((("S1", "a, b"), ("S2", "c")))
    assert parse("1-3", rounded=False) == Mark((("S1", ""), ("S2", ""), ("S3", "")))
    assert (
        parse("1", rounded=True) is None
        and parse("2026", rounded=False) is None
        and parse("CLS", rounded=False) is None
    )


def test_sentences_do_not_end_in_numbers_or_abbreviations() -> None:
    splitter = Splitter()
    drafts = (
        splitter.push("It has 0.5 e.g. Foo et al. Bar v1.2 i.e. x. Then more? Yes! 第一句。第二句") + splitter.end()
    )
    assert [d.text for d in drafts] == [
        "It has 0.5 e.g. Foo et al. Bar v1.2 i.e. x.",
        "Then more?",
        "Yes!",
        "第一句。",
        "第二句",
    ]


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("REDUCES standard  bias metrics by 30-55%", "reduces standard bias metrics by 30–55"),
        ("Our method reduces ... preserving task utility", None),
        ("an error of O(1/√T) with step size α", None),
        ("six model", ""),
        ("no such words", ""),
    ],
)
def test_a_quote_is_found_however_it_is_typeset(quote: str, found: str | None) -> None:
    for paper in (COFT, FLAME):
        span = Abstract(paper.abstract).find(quote)
        if span is not None:
            assert found is None or paper.abstract[span.start : span.end] == found
            return
    assert found == ""


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_any_slice_of_an_abstract_is_found_in_it(text: str, a: int, b: int) -> None:
    abstract = Abstract(text)
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    span = abstract.find(text[start:end])
    assert span is None or 0 <= span.start < span.end <= len(text)


def test_a_citation_can_be_made_from_a_place() -> None:
    citation = cite(3, FLAME, 0, 11)
    assert (citation.number, citation.quote, citation.start, citation.end) == (3, "We propose", 0, 10)


def test_numbers_are_given_once_a_passage() -> None:
    numbers = Numbers()
    assert (
        numbers.of(COFT, 0, 50)[0] == 1 and numbers.of(COFT, 10, 20) == (1, None) and numbers.of(FLAME, 10, 20)[0] == 2
    )
