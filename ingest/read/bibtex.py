"""BibTeX, by bibtexparser. Names and titles have their accents decoded; a volume tells its papers venue and year."""

import logging
from collections.abc import Iterator
from typing import Any

from bibtexparser.entrypoint import parse_string
from bibtexparser.model import Block, DuplicateBlockKeyBlock, DuplicateFieldKeyBlock, Entry, ParsingFailedBlock

from ingest import names, tex
from ingest.record import Record

logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what is broken is said in our report

BLOCKS = 100_000
VOLUME = ("booktitle", "shortname", "name", "year", "volume", "series", "publisher")
_LEFT_OUT = ("author", "editor", "eprint", "archiveprefix", "shortname", "name", "crossref")


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """Records; for an entry that is broken, (where, reason)."""
    if text.count("@") > BLOCKS:
        yield "the whole", f"more than {BLOCKS:,} entries in one file; give it in parts"
        return
    library = parse_string(text)
    volumes = {entry.key: _fields(entry) for entry in library.entries if entry.entry_type == "proceedings"}
    only = next(iter(volumes.values())) if len(volumes) == 1 else {}
    for block in library.blocks:
        where = f"line {(block.start_line or 0) + 1}"
        known: Block | None = block
        again = False
        if isinstance(block, (DuplicateBlockKeyBlock, DuplicateFieldKeyBlock)):
            known, again = block.ignore_error_block, isinstance(block, DuplicateBlockKeyBlock)
        if isinstance(known, Entry):
            if known.entry_type == "proceedings":
                continue  # the volume itself, as a heading is
            fields = _fields(known)
            volume = volumes.get(str(fields.get("crossref")), only)
            yield Record(where=where, fields=_record(known.key, fields, volume, again))
        elif isinstance(block, ParsingFailedBlock):
            reason = " ".join(str(block.error).split())
            yield where, f"no BibTeX entry: {reason:.200}"


def _fields(entry: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in entry.fields:
        fields.setdefault(field.key.casefold(), str(field.value))
    return fields


def _record(key: str, own: dict[str, Any], volume: dict[str, Any], again: bool) -> dict[str, Any]:
    fields = {name: volume[name] for name in VOLUME if name in volume and "booktitle" not in own} | own
    out: dict[str, Any] = {
        name: tex.named(value) for name, value in fields.items() if name not in _LEFT_OUT and name != "abstract"
    }
    doi = fields.get("doi")
    eprint = fields.get("eprint") if "arxiv" in str(fields.get("archiveprefix", "arxiv")).casefold() else None
    numbered = f"v{fields['volume']}-{key}" if "volume" in volume and volume is not own else key
    out |= {
        "id": None if again else doi or eprint or numbered,  # a key that is used twice names no paper
        "title": " ".join(tex.named(fields["title"]).split()) if "title" in fields else None,
        "abstract": fields.get("abstract"),
        "authors": [names.turned(" ".join(tex.named(name).split())) for name in _people(fields.get("author", ""))],
        "venue": tex.named(fields.get("shortname") or fields.get("booktitle") or fields.get("journal") or "") or None,
        "url": fields.get("url") or (f"https://doi.org/{doi}" if doi else None),
        "bibtex_key": key,
    }
    return {name: value for name, value in out.items() if value not in (None, "", [])}


def _people(author: str) -> list[str]:
    return [name for name in " ".join(author.split()).split(" and ") if name.strip() and name != "others"]
