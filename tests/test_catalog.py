"""Papers and their texts in one SQLite file: what goes in comes out, and what a filter allows."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag import catalog
from rag.catalog import Catalog, Entry, Sentence, order
from rag.errors import Corrupt
from rag.text import sentences, words
from rag.types import ALL, Filter, Paper
from tests.corpus import papers


def entry(paper: Paper) -> Entry:
    """Two passages: the first sentence, and the rest."""
    spans = sentences(paper.abstract)
    spoken = [Sentence(start, end, " ".join(words(paper.abstract[start:end]))) for start, end in spans]
    passages = [spans[0], (spans[1][0], spans[-1][1])] if len(spans) > 1 else [spans[0]]
    return Entry(paper, "head words", passages, spoken)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path = tmp_path_factory.mktemp("catalog # ?") / "catalog.sqlite"
    catalog.write(path, [entry(paper) for paper in sorted(papers(), key=order)])
    return Catalog(path)


def allowed(stored: Catalog, **parts: object) -> set[str]:
    rows = stored.rows(Filter(**parts))  # type: ignore[arg-type]
    assert rows is not None
    assert list(rows) == sorted(rows)
    return {stored.passage(int(row)).paper.id for row in rows}


def test_every_paper_comes_out_as_it_went_in(stored: Catalog) -> None:
    assert {p.id: p for p in stored.all_papers()} == {p.id: p for p in papers()}
    assert stored.digests() == {p.id: p.digest for p in papers()}
    assert stored.paper("birds") == papers()[0]
    assert stored.paper("no such") is None


@given(
    st.builds(
        Paper,
        id=st.text(min_size=1, max_size=9).filter(str.strip),
        abstract=st.text(min_size=1).filter(str.strip),
        title=st.none() | st.text(),
        authors=st.lists(st.text(), max_size=3).map(tuple),
        venue=st.none() | st.text(),
        year=st.none() | st.integers(1800, 2200),
        topic=st.none() | st.text(),
        extra=st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text())),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_paper_has_the_same_digest_read_back(tmp_path: Path, paper: Paper) -> None:
    path = tmp_path / "one.sqlite"
    path.unlink(missing_ok=True)
    catalog.write(path, [Entry(paper, "", [(0, len(paper.abstract))], [])])
    opened = Catalog(path)
    (read,) = opened.all_papers()
    opened.close()
    assert (read, read.digest) == (paper, paper.digest)


def test_rows_stand_in_the_order_of_year_venue_and_id(stored: Catalog) -> None:
    there = [stored.passage(row).paper for row in range(stored.passages)]
    assert there == sorted(there, key=order)
    assert [p.year for p in stored.all_papers()] == [None, 2024, 2025, 2026]


def test_a_passage_and_its_sentences_are_slices_of_the_abstract(stored: Catalog) -> None:
    for row in range(stored.passages):
        passage = stored.passage(row)
        text = passage.paper.abstract
        assert passage.sentences == stored.sentence_rows(row)
        spoken = [text[s.start : s.end] for s in stored.spoken(passage.sentences)]
        assert spoken == [text[start:end] for start, end in sentences(text)]
        assert text[passage.start : passage.end] in text
        assert passage.head_words == "head words"


def test_counts_are_those_of_what_was_written(stored: Catalog) -> None:
    assert stored.papers == 4
    assert stored.passages == len(stored.paper_of_row) == 7
    assert stored.sentences == sum(len(sentences(p.abstract)) for p in papers())


def test_the_first_passage_of_a_paper_is_found_by_its_id(stored: Catalog) -> None:
    for paper in papers():
        row = stored.row_of(paper.id)
        assert row is not None
        assert (stored.passage(row).paper.id, stored.passage(row).start) == (paper.id, 0)
    assert stored.row_of("no such") is None


def test_no_filter_allows_all_and_says_so_with_none(stored: Catalog) -> None:
    assert stored.rows(ALL) is None


@pytest.mark.parametrize(
    ("parts", "ids"),
    [
        ({"venue": "icml"}, {"birds", "pruning"}),
        ({"venue": "ICML 2026"}, {"birds"}),
        ({"venue": "nips"}, {"memory"}),
        ({"venue": "ICM"}, set()),
        ({"venue": ""}, set()),
        ({"year": (2024, 2025)}, {"memory", "pruning"}),
        ({"year": (2026, 2024)}, set()),
        ({"author": "lee"}, {"pruning"}),
        ({"author": "SCHOLKOPF zoe"}, {"birds"}),
        ({"author": "M. Schölkopf"}, {"birds"}),
        ({"author": "李雷"}, {"birds"}),
        ({"author": "Ann"}, {"pruning", "memory"}),
        ({"author": "Ann Wu"}, set()),
        ({"author": "Le"}, set()),
        ({"topic": "robotics"}, {"memory"}),
        ({"topic": "Applications"}, {"memory", "birds"}),
        ({"topic": " applications->ecology "}, {"birds"}),
        ({"topic": "robot"}, set()),
        ({"ids": ("memory", "10.1/x y?#", "none")}, {"memory", "10.1/x y?#"}),
        ({"ids": ()}, set()),
        ({"venue": "icml", "author": "ann", "ids": ("pruning", "memory")}, {"pruning"}),
        ({"venue": "' OR 1=1 --"}, set()),
        ({"topic": "%"}, set()),
    ],
    ids=lambda value: repr(sorted(value)) if isinstance(value, set) else repr(value),
)
def test_a_filter_allows_what_it_says_and_no_more(stored: Catalog, parts: dict[str, object], ids: set[str]) -> None:
    assert allowed(stored, **parts) == ids


def test_every_passage_of_an_allowed_paper_is_allowed(stored: Catalog) -> None:
    rows = stored.rows(Filter(ids=("memory",)))
    assert rows is not None
    assert len(rows) == 2


def test_many_threads_read_at_once(stored: Catalog) -> None:
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda n: stored.passage(n % 7).paper.id, range(200)))
    assert set(read) == {p.id for p in papers()}


def test_a_catalog_without_papers_is_one_too(tmp_path: Path) -> None:
    catalog.write(tmp_path / "none.sqlite", [])
    empty = Catalog(tmp_path / "none.sqlite")
    assert (empty.papers, empty.passages, list(empty.all_papers())) == (0, 0, [])
    assert empty.rows(Filter(venue="ICML")) is not None
    assert empty.paper_of_row.dtype == np.int64


@pytest.mark.parametrize("damage", ["missing", "nonsense", "cut", "empty"])
def test_a_catalog_that_cannot_be_read_is_corrupt_and_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "catalog.sqlite"
    catalog.write(path, [entry(paper) for paper in sorted(papers(), key=order)])
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes({"nonsense": b"nonsense" * 99, "cut": whole[: len(whole) // 3], "empty": b""}[damage])
    with pytest.raises(Corrupt, match=r"catalog\.sqlite"):
        Catalog(path)


def test_a_passage_that_is_not_there_is_corrupt(stored: Catalog) -> None:
    with pytest.raises(Corrupt, match="no passage 99"):
        stored.passage(99)
