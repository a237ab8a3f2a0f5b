"""Atom as the arXiv API answers, read entry by entry by defusedxml, which refuses entities and DTDs."""

import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from ingest.record import Record
from rag.errors import InputError

ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
_ID = re.compile(r"arxiv\.org/abs/(.+?)(?:v\d+)?$")


def read(text: str) -> Iterator[Record | tuple[str, str]]:
    """Records; where the file breaks off, (where, reason). Raises InputError for entities."""
    number = 0
    declared = re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", text)  # the text is decoded already
    try:
        for _, element in iterparse(io.BytesIO(declared.encode("utf-8", "replace")), forbid_dtd=True):
            if element.tag == ATOM + "entry":
                number += 1
                yield Record(where=f"entry {number}", fields=_fields(element))
                element.clear()
    except DefusedXmlException:
        raise InputError("the XML declares entities or a DTD, which no list of papers needs") from None
    except ParseError as error:
        yield f"entry {number + 1}", f"the XML is broken here ({error}); what follows cannot be read"


def _fields(entry: Any) -> dict[str, Any]:
    def text(tag: str) -> str | None:
        found = entry.find(tag)
        return " ".join(found.text.split()) if found is not None and found.text else None

    link = text(ATOM + "id") or ""
    arxiv = _ID.search(link)
    published = text(ATOM + "published") or ""
    summary = entry.find(ATOM + "summary")
    out = {
        "id": arxiv[1] if arxiv else link,
        "title": text(ATOM + "title"),
        "abstract": summary.text if summary is not None else None,
        "authors": [" ".join((name.text or "").split()) for name in entry.iter(ATOM + "name")],
        "year": int(published[:4]) if published[:4].isdigit() else None,
        "venue": "arXiv" if arxiv else None,
        "url": f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else link,
        "doi": text(ARXIV + "doi"),
        "comment": text(ARXIV + "comment"),
        "journal_ref": text(ARXIV + "journal_ref"),
        "categories": [c.get("term") for c in entry.iter(ATOM + "category") if c.get("term")],
    }
    return {name: value for name, value in out.items() if value}
