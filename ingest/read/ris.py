"""RIS as Zotero, Scopus, Ovid, EndNote and PubMed write it, and Web of Science's tags; both by rispy, a record each."""

import re
from collections.abc import Iterator
from typing import Any

import rispy
from rispy.parser import WokParser

from ingest.names import turned
from ingest.record import Record

_TAG = re.compile(r"^[ \t]*([A-Z][A-Z0-9])[ \t]{1,2}-(?:[ \t]|$)", re.M)
_TITLES = ("title", "primary_title", "document_title", "short_title", "translated_title")
_VENUES = ("conference_title", "secondary_title", "journal_name", "publication_name", "alternate_title3",
           "alternate_title1")  # fmt: skip
_LEFT_OUT = frozenset(
    "authors first_authors author_full_name secondary_authors unknown_tag cited_references notes author_address "
    "reprint_address email_address file_attachments1 file_attachments2 urls".split()
)


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """RIS. Records; for one that cannot be read, (where, reason)."""
    for where, chunk in _chunks(_TAG.sub(r"\1  - ", text), r"^TY  - "):
        tags = chunk.split("\nER  -", 1)[0].replace("\t", " ")
        yield from _records(where, rispy.RisParser(skip_unknown_tags=True), tags + "\nER  - \n")


def read_wos(text: str) -> Iterator[Record | tuple[str, str]]:
    """Web of Science. Records; for one that cannot be read, (where, reason)."""
    for where, chunk in _chunks(text, r"^PT [A-Z]"):
        tags = re.split(r"^ER\s*$", chunk, maxsplit=1, flags=re.M)[0]
        yield from _records(where, WokParser(skip_unknown_tags=True), tags + "\nER\n")


def _chunks(text: str, begins: str) -> Iterator[tuple[str, str]]:
    """(where, text) of each record, so that a broken one costs only itself."""
    starts = [m.start() for m in re.finditer(begins, text, re.M)]
    line, at = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, at = line + text.count("\n", at, start), start
        yield f"line {line}", text[start:end]


def _records(where: str, parser: Any, text: str) -> Iterator[Record | tuple[str, str]]:
    try:
        found = parser.parse(text)
    except Exception as error:  # rispy names no errors of its own
        yield where, f"no record that rispy can read ({type(error).__name__}: {error})"
        return
    for record in found:
        yield Record(where=where, fields=_fields(record))


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    """rispy's names -> ours. The id is the DOI, or what a database calls the record; an EndNote number is neither."""
    out = {name: value for name, value in record.items() if name not in _LEFT_OUT and name not in _TITLES}
    doi = re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", "", str(record.get("doi", "")))
    people = record.get("authors") or record.get("first_authors") or record.get("author_full_name") or []
    number = str(record.get("id", ""))
    urls = record.get("urls")
    out |= {
        "id": doi or record.get("accession_number") or (None if number.isdigit() else number),
        "doi": doi,
        "title": next((record[name] for name in _TITLES if record.get(name)), None),
        "abstract": record.get("abstract") or record.get("notes_abstract"),
        "authors": [turned(str(name)) for name in people],
        "year": _year(record),
        "venue": next((record[name] for name in _VENUES if record.get(name)), None),
        "url": (urls[0] if isinstance(urls, list) and urls else None) or (f"https://doi.org/{doi}" if doi else None),
    }
    out.pop("notes_abstract", None)
    return {name: value for name, value in out.items() if value not in (None, "", [], "nan")}


def _year(record: dict[str, Any]) -> int | None:
    said = " ".join(str(record.get(name, "")) for name in ("year", "publication_year", "date"))
    found = re.search(r"\b(1[89]\d\d|20\d\d)\b", said)
    return int(found[0]) if found else None
