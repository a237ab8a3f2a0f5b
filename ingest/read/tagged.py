"""PubMed's own format (`PMID- `, `AB  - `) and EndNote's (`%T`, `%X`): for these no maintained parser is to be had."""

import re
from collections.abc import Iterator

from ingest.names import turned
from ingest.record import Record

_PUBMED = re.compile(r"([A-Z]{2,4}) {0,2}- ?(.*)")
_ENDNOTE = re.compile(r"%([0-9A-Z@!&(>+*^#$?~]) ?(.*)")

PUBMED = {"PMID": "id", "TI": "title", "AB": "abstract", "JT": "venue", "TA": "journal_short", "DP": "date",
          "LA": "language"}  # fmt: skip
ENDNOTE = {"T": "title", "X": "abstract", "D": "year", "B": "venue", "J": "venue", "U": "url", "R": "doi",
           "G": "language", "V": "volume", "C": "place", "I": "publisher"}  # fmt: skip


def read_pubmed(text: str) -> Iterator[Record]:
    for where, tags in _blocks(text, _PUBMED, "PMID"):
        fields: dict[str, object] = {PUBMED[tag]: values[0] for tag, values in tags.items() if tag in PUBMED}
        fields["authors"] = [turned(name) for name in tags.get("FAU") or tags.get("AU") or []]
        fields["keywords"] = tags.get("OT") or tags.get("MH")
        doi = re.search(r"(\S+) \[doi\]", " ".join([*tags.get("LID", []), *tags.get("AID", [])]))
        fields["doi"] = doi[1] if doi else None
        fields["url"] = f"https://pubmed.ncbi.nlm.nih.gov/{fields['id']}/"
        yield Record(where=where, fields={name: value for name, value in fields.items() if value})


def read_endnote(text: str) -> Iterator[Record]:
    for where, tags in _blocks(text, _ENDNOTE, "0"):
        fields: dict[str, object] = {}
        for tag, name in ENDNOTE.items():
            if tag in tags:
                fields.setdefault(name, tags[tag][0])
        fields["authors"] = [turned(name) for name in tags.get("A", [])]
        fields["keywords"] = tags.get("K")
        fields["id"] = fields.get("doi")
        yield Record(where=where, fields={name: value for name, value in fields.items() if value})


def _blocks(text: str, tag: re.Pattern[str], first: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """(where, tag -> values) of each record: it begins with the tag `first`; a line without a tag goes on."""
    tags: dict[str, list[str]] = {}
    where, last = "", None
    for number, line in enumerate(text.split("\n"), 1):
        found = tag.match(line)
        if found and found[1] == first:
            if tags:
                yield where, _joined(tags)
            tags, where = {}, f"line {number}"
        if found and where:
            last = tags.setdefault(found[1], [])
            last.append(found[2].strip())
        elif last and line.strip():
            last.append("\0" + line.strip())
    if tags:
        yield where, _joined(tags)


def _joined(tags: dict[str, list[str]]) -> dict[str, list[str]]:
    return {tag: "\1".join(values).replace("\1\0", " ").split("\1") for tag, values in tags.items()}
