"""Record -> Paper, or the reason why not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.clean import clean, display_name
from ingest.judge import SHORTEST
from ingest.markup import tidy
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


@pytest.mark.parametrize("year", ["", " ", "None", "nan", None])
def test_a_year_that_is_missing_stops_no_paper(year: Any) -> None:
    assert made(year=year).year is None


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


# what was put around a text on its way


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("<p>One <strong>b</strong> and <em>i</em>.</p>\n<p>Two <code>c</code>.</p>", "One **b** and *i*.\n\nTwo `c`."),
        ("a &lt; b &amp;amp; c &amp;lt; d &#x27;e&#39;", "a < b & c < d 'e'"),
        ("&lt;p&gt;escaped&lt;/p&gt;", "escaped"),
        ("AT&T, R&D and ?a=1&copy=2 stay", "AT&T, R&D and ?a=1&copy=2 stay"),
        ("$a<b$ and <think> and x<p and y>z", "$a<b$ and <think> and x<p and y>z"),
        ("H<sub>2</sub>O at 10<sup>-5</sup>, the 1<sup>st</sup>", "H2O at 10^{-5}, the 1st"),
        ('see <a href="https://a.org/x">the code</a>', "see [the code](https://a.org/x)"),
        ('see <a href="https://a.org/x">https://a.org/x</a>', "see https://a.org/x"),
        ("<jats:p>Abstracts of <jats:italic>Crossref</jats:italic></jats:p>", "Abstracts of *Crossref*"),
        ("one<br>two<br/><br/>three", "one two\n\nthree"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n\n- two"),
        ("\ufeffin\xadvis\u200bible\x07 state-of-the\x02art", "invisible state-of-the-art"),
        ("a line\r\nand its end\r\n\r\na paragraph", "a line and its end\n\na paragraph"),
        ("hard\n  wrapped\n lines of pre-\ntraining", "hard wrapped lines of pre-training"),
        ("we show:\n- one\n- two\n1. three", "we show:\n- one\n- two\n1. three"),
        ("中文\n摘要", "中文摘要"),
        ("e\u0301tude", "étude"),
        (
            r"HiR$^2$ and $\sqrt{x}$, **f**eature \textbf{b} \url{u}~\%",
            r"HiR$^2$ and $\sqrt{x}$, **f**eature \textbf{b} \url{u}~\%",
        ),
    ],
)
def test_debris_goes_and_what_was_meant_stays(raw: str, meant: str) -> None:
    assert tidy(raw) == meant
    assert tidy(meant) == meant
    assert made(abstract=f"{ABSTRACT}\n\n{raw}").abstract == f"{ABSTRACT}\n\n{meant}"


def test_a_title_is_one_line_without_markup() -> None:
    assert made(title="A <i>nice</i>\n  title &amp; more").title == "A *nice* title & more"


# authors


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("Ann Lee; Bo Wu", ("Ann Lee", "Bo Wu")),
        ("Ann Lee|Bo Wu", ("Ann Lee", "Bo Wu")),
        ("Ann Lee, Bo Wu, Cy Tan", ("Ann Lee", "Bo Wu", "Cy Tan")),
        ("Ann Lee, Bo Wu", ("Ann Lee", "Bo Wu")),
        ("Ann Lee and Bo Wu", ("Ann Lee", "Bo Wu")),
        ("Ann Lee, Bo Wu and Cy Tan", ("Ann Lee", "Bo Wu", "Cy Tan")),
        ("Ann Lee, Bo Wu, and Cy Tan", ("Ann Lee", "Bo Wu", "Cy Tan")),
        ("Lee, Ann and van Tan, Cy", ("Ann Lee", "Cy van Tan")),
        ("Lee, Ann", ("Ann Lee",)),
        ("Lee, A., Wu, B. C.", ("A. Lee", "B. C. Wu")),
        ("Liu R., Adler D.G.", ("Liu R.", "Adler D.G.")),
        ("['Ann Lee', 'Bo Wu']", ("Ann Lee", "Bo Wu")),
        ('["Ann Lee"]', ("Ann Lee",)),
        ([{"name": "Ann Lee"}, {"fullname": "Bo Wu"}], ("Ann Lee", "Bo Wu")),
        ([{"given": "Ann", "family": "Lee"}, {"author": {"display_name": "Bo Wu"}}], ("Ann Lee", "Bo Wu")),
        (["Ann Lee*", r"C. Bal\'azs"], ("Ann Lee", "C. Balázs")),
    ],
)
def test_authors_are_names_however_they_are_given(given: Any, names: tuple[str, ...]) -> None:
    assert made(authors=given).authors == names


# is it a paper?


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "Withdraw"}, "withdrawn"),
        ({"decision": "Reject"}, "rejected"),
        ({"decision": "Desk Rejected"}, "desk-rejected"),
        ({"venue": "ICLR 2025 Conference Withdrawn Submission"}, "withdrawn"),
        ({"title": "RETRACTED: Pruning"}, "retracted"),
        ({"event_type": "Invited Talk"}, "no paper but another event"),
        ({"title": "Conference on Learning Theory 2025: Preface"}, "front matter"),
        ({"section": "Preface"}, "front matter"),
    ],
)
def test_what_was_read_well_and_is_no_paper_is_set_aside_for_good(fields: dict[str, Any], reason: str) -> None:
    rejected = refused(**fields)
    assert reason in rejected.reason
    assert rejected.final


@pytest.mark.parametrize(
    "abstract",
    ["test", "a" * 60, "test " * 30, "1234 5678 " * 10, "No abstract available for this paper, sadly so.", "..." * 40],
)
def test_rubbish_is_no_abstract(abstract: str) -> None:
    rejected = refused(abstract=abstract)
    assert "no usable abstract" in rejected.reason or "rubbish" in rejected.reason
    assert not rejected.final


@pytest.mark.parametrize(
    "fields",
    [{"decision": "Accept (poster)"}, {"event_type": "Spotlight Poster"}, {"status": "Active"},
     {"title": "Rejection Sampling"}, {"title": "Prefaces of Books, Counted"},
     {"title": "Table of Contents", "abstract": ABSTRACT * 2}],
)  # fmt: skip
def test_papers_that_only_sound_like_none_are_kept(fields: dict[str, Any]) -> None:
    assert made(**fields).abstract.startswith(ABSTRACT)


def test_a_title_stands_for_an_abstract_only_where_one_asks_for_it() -> None:
    record = Record(where="line 1", fields={"title": "Pruning for Free", "id": "a"})
    assert isinstance(clean(record, "list"), Rejected)
    paper = clean(record, "list", keep_title_only=True)
    assert isinstance(paper, Paper)
    assert (paper.abstract, paper.title, paper.extra) == ("Pruning for Free", "Pruning for Free", {"title_only": True})


# venues


@pytest.mark.parametrize(
    ("said", "venue", "year", "decision"),
    [
        ("NIPS 2017", "NeurIPS", 2017, None),
        ("ICML'26", "ICML", 2026, None),
        ("Advances in Neural Information Processing Systems 30", "NeurIPS", None, None),
        ("Proceedings of the 36th International Conference on Machine Learning", "ICML", None, None),
        ("Proceedings of Thirty Eighth Conference on Learning Theory", "COLT", None, None),
        ("ICLR 2026 Poster", "ICLR", 2026, "Poster"),
        ("ICML 2026 regular", "ICML", 2026, "regular"),
        ("ICML.cc/2026/Conference", "ICML", 2026, None),
        ("The Thirteenth International Conference on Learning Representations", "ICLR", None, None),
        ("ICML 2026 Workshop", "ICML 2026 Workshop", None, None),
        ("arXiv.org", "arXiv", None, None),
        ("Journal of Odd Results 2020", "Journal of Odd Results", 2020, None),
        ("Altitude Letters", "Altitude Letters", None, None),
    ],
)
def test_a_venue_has_one_name(said: str, venue: str, year: int | None, decision: str | None) -> None:
    paper = made(venue=said)
    assert (paper.venue, paper.year, paper.extra.get("decision")) == (venue, year, decision)
