"""Plain text: abstracts separated by blank lines, with or without a heading line that names venue and year."""

import re
from collections.abc import Iterator

from ingest.record import Record
from rag.text import venue_and_year

HEADING = 120
"""Longest heading, in characters; the shortest abstracts of real lists are longer."""

_NAMED = re.compile(r"\b([A-Za-z][A-Za-z-]{1,15})[\s'’-]*((?:19|20)\d\d)\b")


def read(text: str) -> Iterator[Record]:
    """Records with `abstract`, and `venue` and `year` where a heading tells them."""
    shared: dict[str, object] = {}
    line = 1
    for block in re.split(r"(\n[ \t]*(?:\n[ \t]*)+)", text):
        body = block.strip()
        if body:
            where = f"line {line + block[: len(block) - len(block.lstrip())].count(chr(10))}"
            heading = _heading(body)
            if heading is None:
                yield Record(where=where, fields={"abstract": body, **shared})
            else:
                shared = heading
        line += block.count("\n")


def _heading(body: str) -> dict[str, object] | None:
    """Venue and year of a heading such as "ICML 2026 论文列表"; None for an abstract."""
    if len(body) > HEADING or "\n" in body or body.endswith((".", "。", "?", "!")):
        return None
    named = _NAMED.search(body)
    if named is None:
        return {} if len(body.split()) <= 6 or body.startswith("#") else None
    return {"venue": venue_and_year(named[1])[0], "year": int(named[2])}
