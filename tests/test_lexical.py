"""The word index in a real tantivy: BM25, filters, ties, and questions that are no query language."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag import lexical
from rag.errors import Corrupt
from rag.lexical import SMALL, Lexical
from rag.text import words
from rag.types import Paper
from tests.corpus import papers

MANY = SMALL + 1_000


def passages(found: list[Paper]) -> list[tuple[int, Paper, str]]:
    return [(row, paper, " ".join(words(paper.abstract))) for row, paper in enumerate(found)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Lexical:
    folder = tmp_path_factory.mktemp("words")
    lexical.build(folder, passages(papers()))
    return Lexical(folder)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Lexical:
    """Row n says "common" and, where n is a multiple of 10, "tenth"; each says it at its own length."""
    rng = random.Random(3)
    folder = tmp_path_factory.mktemp("words")
    made = []
    for row in range(MANY):
        said = ["common", *(["tenth"] if row % 10 == 0 else []), *(["filler"] * rng.randrange(1, 40))]
        made.append((row, Paper(id=str(row), abstract="a"), " ".join(words(" ".join(said)))))
    lexical.build(folder, made)
    return Lexical(folder)


def ids(index: Lexical, text: str, rows: list[int] | None = None) -> list[str]:
    allowed = None if rows is None else np.array(rows, dtype=np.int64)
    return [papers()[row].id for row, _ in index.search(text, 10, allowed)]


def test_a_paper_is_found_by_a_word_of_its_abstract_title_or_author(index: Lexical) -> None:
    assert ids(index, "ptarmigan") == ["birds"]
    assert ids(index, "counting") == ["birds"]
    assert ids(index, "scholkopf") == ["birds"]
    assert ids(index, "TACTIC") == ["memory"]


def test_the_paper_with_more_of_the_question_comes_first(index: Lexical) -> None:
    assert ids(index, "how many weights does LipoPU remove, and do robots forget")[0] == "pruning"


def test_a_word_that_no_paper_has_finds_none(index: Lexical) -> None:
    assert ids(index, "zebra") == []
    assert ids(index, "") == []
    assert ids(index, "?!") == []


def test_a_filter_holds(index: Lexical) -> None:
    assert ids(index, "robots forget birds", [0, 1]) == ["birds"]
    assert ids(index, "robots forget birds", []) == []


def test_a_few_allowed_rows_and_many_give_the_same_ranking(large: Lexical) -> None:
    """Below SMALL the rows are part of the query, above it the results are sifted."""
    few, many = np.arange(0, MANY, 2), np.arange(0, SMALL + 800)
    assert len(few) <= SMALL < len(many)
    everything = large.search("tenth", MANY)
    for rows in (few, many):
        allowed = set(rows.tolist())
        assert large.search("tenth", 50, rows) == [hit for hit in everything if hit[0] in allowed][:50]


def test_sifting_goes_on_until_enough_are_found(large: Lexical) -> None:
    everything = large.search("common", MANY)
    last = np.array(sorted(row for row, _ in everything[-(SMALL + 100) :]), dtype=np.int64)
    assert [row for row, _ in large.search("common", 5, last)] == [row for row, _ in everything[-(SMALL + 100) :][:5]]


def test_equal_scores_are_ranked_by_row(tmp_path: Path) -> None:
    same = [Paper(id=str(n), abstract="Kernel methods scale.") for n in range(40)]
    lexical.build(tmp_path, passages(same))
    assert [row for row, _ in Lexical(tmp_path).search("kernel", 10)] == list(range(10))


def test_a_rare_word_weighs_more_than_a_common_one(large: Lexical) -> None:
    [common], [tenth] = words("common"), words("tenth")
    assert large.idf("zebra") > large.idf(tenth) > large.idf(common) > 0


def test_all_passages_are_counted(index: Lexical, large: Lexical) -> None:
    assert (index.count(), large.count()) == (4, MANY)


@given(st.text(max_size=60) | st.text('AND OR NOT +-&|!(){}[]^"~*?:\\/ title:x', max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_a_person_types_is_words_and_no_program(index: Lexical, text: str) -> None:
    assert len(index.search(text, 3)) <= 3


def test_an_enormous_word_harms_nothing(tmp_path: Path) -> None:
    lexical.build(tmp_path, passages([Paper(id="a", abstract="Kernel " + "x" * 100_000)]))
    opened = Lexical(tmp_path)
    assert [row for row, _ in opened.search("kernel", 3)] == [0]
    opened.search("x" * 100_000, 3)


def test_a_derived_title_of_several_words_counts_for_nothing(tmp_path: Path) -> None:
    derived = Paper(id="a", title="Zebras in space", title_derived=True, abstract="Kernel methods.")
    named = Paper(id="b", title="ZebraNet", title_derived=True, abstract="Kernel methods.")
    lexical.build(tmp_path, passages([derived, named]))
    opened = Lexical(tmp_path)
    assert opened.search("zebras", 3) == []
    assert [row for row, _ in opened.search("ZebraNet", 3)] == [1]


def test_an_index_that_cannot_be_opened_is_corrupt(tmp_path: Path) -> None:
    with pytest.raises(Corrupt, match="word index"):
        Lexical(tmp_path / "none")
    lexical.build(tmp_path, passages(papers()))
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(Corrupt, match="word index"):
        Lexical(tmp_path)
