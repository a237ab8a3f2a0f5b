"""Whatever bytes come, readers and cleaner answer with papers, with refusals or with our own errors, and soon."""

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.clean import clean
from ingest.markup import tidy
from ingest.read import source
from ingest.record import Reading, Record, Rejected
from rag.errors import ConfabError
from rag.types import Paper
from tests.test_read_forms import ABSTRACT, FORMS

SECONDS = 1.0
"""For 1 MB, of this process's own time."""
MEGABYTE = 1_000_000

PIECES = (
    *"[]{}<>@%&;,|\t\n\r\"'\\$-:#_*~^/=",
    *"\0 \x02 \xad \u200b \ud7ff é 中 a <p> </p> <em> </em> <br> &amp;lt; null 2026 ICML title abstract".split(" "),
    " ", "\n\n", "---\n", "title: ", "title,abstract\n", "@article{a,", "abstract = {", "TY  - JOUR\n", "AB  - ",
    "ER  - \n", "PT J\n", "PMID- 1\n", "%0 A\n", '{"abstract": "', '[{"', "<entry>", "</entry>", ABSTRACT, "{\\'e}",
    " and ", "<feed xmlns='http://www.w3.org/2005/Atom'>",
)  # fmt: skip


def answer(raw: bytes, form: str | None = None) -> list[Paper | Rejected]:
    out: list[Paper | Rejected] = []
    try:
        entries = source.read_bytes(raw, "list", Reading(form=form))
        out.extend(clean(entry, "list") if isinstance(entry, Record) else entry for entry in entries)
    except ConfabError as error:
        assert "list" in error.message
    for made in out:
        made.model_dump_json()
    return out


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200), st.sampled_from((None, *source.forms())))
def test_any_bytes_in_any_form_are_read_or_refused(raw: bytes, form: str | None) -> None:
    answer(raw, form)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from((None, *source.forms())))
def test_any_heap_of_markup_is_read_or_refused(pieces: list[str], form: str | None) -> None:
    answer("".join(pieces).encode("utf-8", "replace"), form)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(tuple(FORMS)), st.data())
def test_a_list_that_is_torn_anywhere_is_read_or_refused(form: str, data: st.DataObject) -> None:
    raw = bytearray(FORMS[form].encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=5))
    answer(bytes(raw), form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(ABSTRACT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((
        "id", "title", "abstract", "authors", "content", "value", "venue", "venueid", "paperId", "track", "status",
        "author", "site", "abstract_inverted_index", "authorships", "primary_location", "externalIds", "invitations",
        "event_type", "virtualsite_url", "authors_parsed", "name", "given", "family", "results", "notes", "year", "url",
    )), inner, max_size=6),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON, st.sampled_from((None, "openreview", "openalex", "semantic-scholar", "arxiv", "papercopilot", "virtual")))
def test_any_json_is_read_or_refused(value: object, form: str | None) -> None:
    answer(json.dumps([value]).encode(), form)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=10), max_size=30).map("".join))
def test_a_tidy_text_is_left_alone(text: str) -> None:
    once = tidy(text.encode("utf-8", "replace").decode())
    if "&" not in once and "<" not in once:  # what is escaped five times stays escaped
        assert tidy(once) == once


@pytest.mark.parametrize(
    "piece",
    ["[", "[{", '{"a":', "@a{", "@article{a, b={", "@string{", "<em>", "<p", '<a href="x"', "&amp;amp;lt;",
     'title,abstract\n"', 'a,"b\n', "TY  - JOUR\nAU  - a\n", "PMID- 1\n", "---\n", "\n \n", "a\n\n", "$", "\\'", "\0",
     "\u200b", "Title: a\n", "{\\'e}", " and ", "proceedings of the ", "we propose a "],
)  # fmt: skip
def test_a_megabyte_of_the_same_is_over_within_a_second(piece: str) -> None:
    raw = (piece * (MEGABYTE // len(piece.encode()) + 1)).encode()[:MEGABYTE]
    start = time.process_time()
    answer(raw)
    assert time.process_time() - start < SECONDS * 2  # on a busy machine; alone it is below one


@pytest.mark.parametrize(
    "text",
    ["<sup>" * 90_000 + "</sup>" * 80_000, "<a href='http://abcd'>" * 25_000 + "</a>" * 25_000, "<em " + " " * MEGABYTE,
     "a\n \n" * 250_000, "<p>a</p>" * 125_000, "&lt;em&gt;" * 90_000, "{" * MEGABYTE, "$a$" * 300_000],
)  # fmt: skip
def test_a_megabyte_in_one_field_is_over_within_a_second(text: str) -> None:
    start = time.process_time()
    clean(Record(where="here", fields={"abstract": text, "title": text, "authors": text, "venue": text}), "list")
    assert time.process_time() - start < SECONDS * 4  # it is four fields
