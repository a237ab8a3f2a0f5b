"""Record -> Paper, or the reason why not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.clean import clean, display_name
from ingest.judge import SHORTEST
from ingest.record import Record, Rejected
from rag.types import Paper
from tests.test_read import JSON

ABSTRACT = "We prune large models without retraining and lose nothing. It works on images and on text."
NAMES = ("id", "title", "abstract", "authors", "year", "venue", "url", "topic", "note")


def made(**fields: Any) -> Paper:
    paper = clean(Record(where="line 1", fields={"abstract": ABSTRACT} | fields), "list")
    assert isinstance(paper, Paper), paper
    return paper


def refused(**fields: Any) -> Rejected:
    rejected = clean(Record(where="line 7", fields={"abstract": ABSTRACT} | fields), "list.jsonl")
    assert isinstance(rejected, Rejected), rejected
    assert (rejected.source, rejected.where) == ("list.jsonl", "line 7")
    return rejected


def test_an_abstract_is_kept_to_the_letter() -> None:
    odd = "  We  keep\ttwo  blanks, $x^2$ and **marks**, ﬁ ligatures and 中文 as they are.\n"
    assert made(abstract=odd).abstract == odd.strip()


def test_a_paper_without_id_is_named_by_its_text_whatever_the_line_breaks() -> None:
    assert made().id == made(abstract=ABSTRACT.replace(" ", "\n")).id
    assert made().id != made(abstract=ABSTRACT.replace("nothing", "little")).id
    assert len(made().id) == 16


def test_a_source_names_its_papers_itself() -> None:
    assert made(id="icml2026-1").id == "icml2026-1"
    assert made(id=17).id == "17"
    assert made(id=" ").id == made().id


def test_all_known_fields_find_their_place_and_the_rest_is_kept() -> None:
    paper = made(
        title=" A\n title ", authors=["Ann  Lee", ""], year="2026", venue="icml 2026", url="https://example.org/a",
        topic="Theory", decision="oral", empty="", none=None, zero=0,
    )  # fmt: skip
    assert paper == Paper(
        id=paper.id, title="A title", authors=("Ann Lee",), year=2026, venue="ICML", url="https://example.org/a",
        topic="Theory", abstract=ABSTRACT, extra={"decision": "oral", "zero": 0},
    )  # fmt: skip


def test_authors_may_be_one_string_parted_by_semicolons() -> None:
    assert made(authors="Ann Lee; Bo Wu;").authors == ("Ann Lee", "Bo Wu")


def test_a_year_in_the_venue_counts_unless_another_is_given() -> None:
    assert (made(venue="ICLR 2024").venue, made(venue="ICLR 2024").year) == ("ICLR", 2024)
    assert (made(venue="ICLR 2024", year=2025).venue, made(venue="ICLR 2024", year=2025).year) == ("ICLR 2024", 2025)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://x y", 'https://x"onclick="', "ftp://x.org", "data:,x"])
def test_an_address_that_no_reader_may_follow_is_left_out(url: str) -> None:
    assert made(url=url).url is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"abstract": None}, "no usable abstract"),
        ({"abstract": "x" * (SHORTEST - 1)}, f"{SHORTEST - 1} characters"),
        ({"abstract": ["a", "b"]}, "abstract is .* text was expected"),
        ({"abstract": ABSTRACT + "\ud800"}, "surrogate"),
        ({"title": 7}, "title is 7"),
        ({"id": True}, "id is True"),
        ({"id": "a\nb"}, "control characters"),
        ({"id": "x" * 201}, "longer than 200"),
        ({"year": "soon"}, "year is 'soon'"),
        ({"year": 99}, "between 1800 and 2200"),
        ({"authors": {"a": 1}}, "authors is"),
        ({"authors": [1]}, "authors is"),
    ],
)
def test_what_is_no_paper_is_refused_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    import re

    assert re.search(reason, refused(**fields).reason)


def test_a_refused_record_keeps_its_title_to_be_known_by() -> None:
    assert refused(abstract="", title="Pruning").title == "Pruning"


def test_a_note_with_half_a_character_costs_no_paper() -> None:
    assert made(note="x\ud800", **{"\udfff": 1}).extra == {"note": "x?", "?": 1}


def test_a_note_nested_too_deeply_to_be_written_costs_only_its_own_paper() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert "depth" in refused(note=deep).reason


@given(st.dictionaries(st.sampled_from(NAMES), JSON | st.just(ABSTRACT) | st.text(st.characters(), min_size=30)))
def test_any_record_becomes_a_paper_that_can_be_written_or_a_refusal(fields: dict[str, Any]) -> None:
    paper = clean(Record(where="line 1", fields=fields), "list")
    if isinstance(paper, Paper):
        assert Paper.model_validate_json(paper.model_dump_json()).digest == paper.digest
        assert json.dumps(paper.extra, ensure_ascii=False).encode()
        assert paper.title
    else:
        assert paper.reason


@pytest.mark.parametrize(
    ("abstract", "name"),
    [
        ("Models forget. We propose LipoPU, a way to remember them all.", "LipoPU"),
        ("Models forget. We introduce a novel framework called **TACTIC** for memory.", "TACTIC"),
        ("Models forget. We propose Memory Maps (MeMa), which remember.", "MeMa"),
        (r"Models forget. We present \textsc{HiR2}, which remembers.", "HiR2"),
        ("Models forget what they have learnt before when they learn something new and nobody knows why.",
         "Models forget what they have learnt before when they learn …"),
    ],
)  # fmt: skip
def test_a_paper_without_title_is_shown_by_what_it_proposes_or_its_first_words(abstract: str, name: str) -> None:
    assert display_name(abstract) == name
