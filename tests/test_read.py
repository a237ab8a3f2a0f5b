"""Bytes -> Records: plain text, JSON Lines, gzip, and what is broken."""

import gzip
import io
import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.read import jsonl, plain, source
from ingest.record import Reading, Record, Rejected
from rag.errors import InputError, NotFound

SAMPLE = Path(__file__).parent.parent / "ingest" / "lists" / "icml2026_sample.txt"
ABSTRACT = "We prune large models without retraining and lose nothing. It works on images and on text."
OTHER = "We count birds from space with a small network. It finds nine of ten birds in the far north."

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def records(raw: bytes) -> list[Record]:
    read = list(source.read_bytes(raw, "list"))
    assert all(isinstance(entry, Record) for entry in read)
    return [entry for entry in read if isinstance(entry, Record)]


# plain text


def test_the_list_that_ships_has_nineteen_abstracts_of_icml_2026() -> None:
    read = records(SAMPLE.read_bytes())
    assert len(read) == 19
    assert {(r.fields["venue"], r.fields["year"]) for r in read} == {("ICML", 2026)}
    assert all(len(r.fields["abstract"]) > 500 for r in read)


def test_abstracts_are_parted_by_blank_lines_and_named_by_their_line() -> None:
    read = records(f"{ABSTRACT}\n \t\n\n{OTHER}\n".encode())
    assert [(r.where, r.fields["abstract"]) for r in read] == [("line 1", ABSTRACT), ("line 4", OTHER)]


def test_an_abstract_over_several_lines_is_kept_as_it_stands() -> None:
    wrapped = ABSTRACT.replace(". ", ".\n")
    assert records(wrapped.encode())[0].fields["abstract"] == wrapped


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_of_any_system_do_not_matter(ends: str) -> None:
    read = records(f"# ICML 2025\n\n{ABSTRACT}\n\n{OTHER}".replace("\n", ends).encode("utf-8-sig"))
    assert [r.fields["abstract"] for r in read] == [ABSTRACT, OTHER]
    assert [r.where for r in read] == ["line 3", "line 5"]


def test_each_heading_holds_for_what_stands_below_it() -> None:
    read = records(f"ICML 2026 论文列表\n\n{ABSTRACT}\n\nNeurIPS 2024 papers\n\n{OTHER}".encode())
    assert [(r.fields["venue"], r.fields["year"]) for r in read] == [("ICML", 2026), ("NeurIPS", 2024)]


def test_a_short_paragraph_that_ends_like_a_sentence_is_no_heading() -> None:
    read = records(f"We won the ICML 2026 challenge.\n\n{ABSTRACT}".encode())
    assert read[0].fields["abstract"] == "We won the ICML 2026 challenge."
    assert "venue" not in read[1].fields


@given(st.text())
def test_any_text_is_read_as_plain_without_losing_a_word(text: str) -> None:
    read = list(plain.read(text))
    kept = " ".join(r.fields["abstract"] for r in read).split()
    assert set(kept) <= set(text.split())


# JSON Lines


def test_a_line_is_a_record_and_blank_lines_are_none() -> None:
    raw = "\n".join(["", json.dumps({"abstract": ABSTRACT}), "  ", json.dumps({"abstract": OTHER, "x": 1})])
    assert [(r.where, r.fields) for r in records(raw.encode())] == [
        ("line 2", {"abstract": ABSTRACT}),
        ("line 4", {"abstract": OTHER, "x": 1}),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"abstract": "half', "not JSON"),
        ('{"year": NaN}', "NaN"),
        ("[1, 2]", "object was expected, this is a list"),
        ("7", "object was expected, this is a int"),
        ('{"n": ' + "9" * 5000 + "}", "not JSON"),
        ('{"n": ' + "[" * 100_000, "not JSON"),
    ],
)
def test_a_broken_line_is_set_aside_with_its_number_and_reason(line: str, reason: str) -> None:
    good = json.dumps({"abstract": ABSTRACT})
    before, broken, after = source.read_bytes(f"{good}\n{line}\n{good}".encode(), "list.jsonl")
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert isinstance(broken, Rejected)
    assert (broken.source, broken.where) == ("list.jsonl", "line 2")
    assert reason in broken.reason


@given(st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), min_size=1, max_size=4))
def test_what_was_written_as_json_lines_is_read_back(rows: list[dict[str, object]]) -> None:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert [r.fields for r in jsonl.read(text) if isinstance(r, Record)] == rows


# files


def test_a_gzipped_list_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(gzip.compress(ABSTRACT.encode()))
    assert [r.fields["abstract"] for r in source.read(path) if isinstance(r, Record)] == [ABSTRACT]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "empty"),
        (b" \n\t\r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (gzip.compress(ABSTRACT.encode())[:-9], "no whole gzip"),
        (b"\x1f\x8bnonsense", "no whole gzip"),
        (gzip.compress(bytes(3_000_000)), "bomb"),
    ],
    ids=["nothing", "blanks", "mark alone", "cut gzip", "false gzip", "bomb"],
)
def test_what_cannot_be_read_is_refused_naming_the_file(raw: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        list(source.read_bytes(raw, "list.txt"))
    assert "list.txt" in caught.value.message


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*none\.txt"):
        list(source.read(tmp_path / "none.txt"))
    with pytest.raises(InputError, match="directory"):
        list(source.read(tmp_path))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        list(source.read_bytes(raw, "list"))
    except InputError as error:
        assert "list" in error.message


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"<?xml version='1.0'?><records/>", "XML or HTML"),
        (b"<!DOCTYPE html><html><body>ICML 2026</body></html>", "XML or HTML"),
        (b"%PDF-1.7 ...", "a PDF"),
        (b"PK\x03\x04...", "Excel"),
        (gzip.compress(gzip.compress(b"abstract")), "gzip inside gzip"),
        (bytes(1000), "no text"),
        (b"{}\n" * 400_000, "no list of papers"),
    ],
    ids=["XML", "HTML", "PDF", "zip", "gzip twice", "zeros", "crowd"],
)
def test_a_form_that_cannot_be_read_is_named_and_never_taken_for_an_abstract(raw: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=kind):
        list(source.read_bytes(raw, "list"))


def test_bytes_that_are_no_utf8_cost_only_their_own_record() -> None:
    good, bad = source.read_bytes(f"{ABSTRACT}\n\n{OTHER} caf".encode() + b"\xe9", "list.txt")
    assert isinstance(good, Record)
    assert isinstance(bad, Rejected)
    assert (bad.where, bad.reason) == ("line 3", "not UTF-8 (byte 0xe9); save the list as UTF-8")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_encoding(encoding: str) -> None:
    assert records(ABSTRACT.encode(encoding))[0].fields["abstract"] == ABSTRACT


def test_a_bomb_is_refused_by_size_too() -> None:
    packed = gzip.compress(json.dumps({"abstract": ABSTRACT}).encode() * 10)
    assert len(source.unzip(packed, "list")) > 1000
    with pytest.raises(InputError, match="larger than 1,000 bytes"):
        source.unzip(packed, "list", largest=1000)


def test_standard_input_is_read_like_a_file() -> None:
    read = list(source.read(Path("-"), stdin=io.BytesIO(ABSTRACT.encode())))
    assert [r.fields["abstract"] for r in read if isinstance(r, Record)] == [ABSTRACT]
    with pytest.raises(InputError, match="standard input is empty"):
        list(source.read(Path("-"), stdin=io.BytesIO()))


# titles in plain text


def test_titles_on_the_line_before_or_in_a_block_of_their_own_are_found() -> None:
    long = f"{ABSTRACT} {OTHER}"
    for text in (f"ICML 2026\n\nPruning for Free\n\n{long}\n\nBirds\n\n{long}",
                 f"ICML 2026\n\nPruning for Free\n{long}\n\nBirds\n{long}"):  # fmt: skip
        read = records(text.encode())
        assert [r.fields["title"] for r in read] == ["Pruning for Free", "Birds"]
        assert [r.fields["abstract"] for r in read] == [long, long]
        assert {r.fields["venue"] for r in read} == {"ICML"}


def test_labels_are_read() -> None:
    (read,) = records(f"Title: Pruning\nAuthors: Ann Lee; Bo Wu\nYear: 2024\nAbstract: {ABSTRACT}\n{OTHER}".encode())
    assert read.fields == {
        "title": "Pruning", "authors": "Ann Lee; Bo Wu", "year": "2024", "abstract": f"{ABSTRACT}\n{OTHER}",
    }  # fmt: skip


def test_the_first_line_of_a_wrapped_paragraph_is_no_title() -> None:
    wrapped = textwrap.fill(f"{ABSTRACT} {OTHER} {ABSTRACT}", 70)
    assert "title" not in records(wrapped.encode())[0].fields


def test_one_abstract_a_line_is_known_by_long_lines_without_blank_ones() -> None:
    long = f"{ABSTRACT} {OTHER} {ABSTRACT}"
    assert [r.where for r in records(f"ICML 2026\n\n{long}\n{long}\n".encode())] == ["line 3", "line 4"]
    read = list(source.read_bytes(f"{ABSTRACT}\n{OTHER}".encode(), "list", Reading(form="lines")))
    assert len(read) == 2
