"""Tokens, plain words, sentences with offsets, the language of a question."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text import count_tokens, fold, language, plain, query_words, sentences, venue_and_year, words

MARKS = st.text("$\\{}[]()_^*`~%&#.!?-:; \n\tabcXYZ012éß检索검색ー。\u200b\u0301\ud800", max_size=80)
HOSTILE = st.one_of(st.text(max_size=80), MARKS)


def spoken(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


# tokens


def test_tokens_are_counted_without_a_network() -> None:
    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2


def test_what_looks_like_a_special_token_is_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


# plain words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("HiR$^2$", "HiR2"),
        (r"$\sqrt{\text{LTS}}$", "sqrt (LTS)"),
        ("**f**eature", "feature"),
        (r"38\% of 5%", "38% of 5%"),
        (r"\textbf{LipoPU} is \emph{new}", "LipoPU is new"),
        ("see [the code](https://example.org/x)", "see the code https://example.org/x"),
        ("costs $5 and $6", "costs $5 and $6"),
        ("a_b and snake_case", "ab and snakecase"),
        ('G\\"odel', "Gödel"),
        ("", ""),
    ],
)
def test_latex_and_markdown_are_read_as_a_person_says_them(text: str, said: str) -> None:
    assert plain(text) == said


@given(HOSTILE)
def test_any_text_can_be_made_plain_and_split_into_words(text: str) -> None:
    assert plain(text) == plain(text).strip()
    assert all(token and not any(c.isspace() for c in token) for token in words(text))


@pytest.mark.parametrize(
    "text",
    [
        "$" * 50_000, "\\a{" * 20_000, "{" * 50_000, "\\text{" * 3_000 + "}" * 3_000, "(" * 50_000 + "a" + ")" * 50_000,
        "_a" * 30_000, "*" * 50_000, "a-" * 30_000, "[" * 20_000 + "](http://x)", "https://" * 10_000, "." * 50_000,
        "1," * 30_000, "\n- " * 20_000, "检" * 50_000, "a" * 100_000, "\\[" * 20_000, "'a" * 30_000, "$x" * 20_000,
    ],
    ids=lambda text: text[:6].encode("unicode_escape").decode(),
)  # fmt: skip
def test_a_hostile_text_takes_no_more_than_moments(text: str) -> None:
    began = time.process_time()
    words(text)
    sentences(text)
    assert time.process_time() - began < 3


# words for search


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("biases", "bias"),
        ("reduces", "reducing"),
        ("LLMs", "LLM"),
        ("Schoelkopf schölkopf", "Scholkopf Schoelkopf"),
        ("finetuning", "fine-tuning"),
        ("1,000", "1000"),
        ("HiR2", "HiR$^2$"),
        ("subgradient", "(sub)gradient"),
        ("LTS", r"$\sqrt{\text{LTS}}$"),
        ("检索", "我们用检索增强生成"),
        ("ＲＡＧ", "RAG"),
        ("model's", "models"),
    ],
)
def test_a_word_typed_meets_the_same_word_stored(typed: str, stored: str) -> None:
    assert set(words(typed)) & set(words(stored))


def test_two_figures_are_two_words() -> None:
    assert not set(words("38")) & set(words("0.38 3.8 380"))


def test_words_that_every_question_has_are_left_out() -> None:
    assert query_words("What does this paper propose about pruning?") == ["prune"]


def test_a_question_of_such_words_alone_keeps_them() -> None:
    assert query_words("what is this about") == words("what is this about")


@given(HOSTILE)
def test_a_question_has_no_word_oftener_than_its_text(text: str) -> None:
    assert Counter(query_words(text)) <= Counter(words(text))


@given(HOSTILE)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


# venues


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("icml 2026", ("ICML", 2026)),
        ("ICML'2026", ("ICML", 2026)),
        ("NIPS", ("NeurIPS", None)),
        ("  Some   Venue ", ("Some Venue", None)),
        ("2026", ("2026", None)),
        ("arXiv:2026", ("arXiv:", 2026)),
    ],
)
def test_a_venue_is_read_with_its_year(name: str, read: tuple[str, int | None]) -> None:
    assert venue_and_year(name) == read


# sentences


@given(HOSTILE)
def test_sentences_hold_everything_but_the_blanks_between_them(text: str) -> None:
    at = 0
    for start, end in sentences(text):
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "text",
    [
        "It costs 3.5 times less, e.g. on images. The rest stays.",
        "We follow Lee et al. (2025) here. The rest stays.",
        "See Fig. 3 and Eq. (2) for it. The rest stays.",
        "We bound $f(x). g(x)$ from above. The rest stays.",
        "Code is at https://example.org/a.b?c. The rest stays.",
        'They say "it works." The rest stays.',
        "(It works, i.e. it runs.) The rest stays.",
        "Does it work? The rest stays.",
        "**It works.** The rest stays.",
        "It falls from $5.20 to $4. The rest stays.",
        "It has 38\\%. The rest stays.",
        "它有效。其余不变。",
    ],
)
def test_a_full_stop_ends_a_sentence_only_where_a_reader_would(text: str) -> None:
    assert len(spoken(text)) == 2


def test_items_of_a_list_are_sentences_of_their_own() -> None:
    assert spoken("We do:\n- one thing\n- another thing\n\nThen we stop.") == [
        "We do:", "- one thing", "- another thing", "Then we stop."
    ]  # fmt: skip


# language


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("How much does COFT reduce bias?", "en"),
        ("COFT 把标准偏见指标降低了多少？", "zh"),
        ("COFT は偏りをどれだけ減らしますか", "ja"),
        ("COFT는 편향을 얼마나 줄입니까?", "ko"),
        ("Quelle est la méthode ?", "en"),
        ("Who is 李雷?", "en"),
        ("EntQuant 压缩一个 700 亿参数的模型需要多长时间？", "zh"),
        ("", "en"),
        ("123 ???", "en"),
    ],
)
def test_a_question_is_known_by_its_script(text: str, tag: str) -> None:
    assert language(text) == tag
