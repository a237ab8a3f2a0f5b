"""Plain text: abstracts between blank lines, with or without titles and a heading that names venue and year."""

import re
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from ingest.record import Record
from rag.text import venue_and_year

HEADING = 120
"""Longest heading, in characters; the shortest abstracts of real lists are longer."""
TITLE = 250
ABSTRACT = 150
"""Characters from which a text that follows a short line is taken for the abstract of that title."""
LINE = 250
"""Characters that half of the lines have where each is an abstract."""

_NAMED = re.compile(r"\b([A-Za-z][A-Za-z-]{1,15})[\s'’-]*((?:19|20)\d\d)\b")
_LABEL = re.compile(
    r"^(title|abstract|authors?|venue|conference|year|url|link|keywords|标题|题目|摘要|作者|会议|年份)"
    r"[ \t]*[:：][ \t]*",
    re.I | re.M,
)
_OURS = {"标题": "title", "题目": "title", "摘要": "abstract", "作者": "authors", "author": "authors", "会议": "venue",
         "年份": "year", "conference": "venue", "link": "url"}  # fmt: skip


class Block(NamedTuple):
    line: int
    body: str


def read(text: str) -> Iterator[Record]:
    """Records with `abstract`, and `title`, `venue` and `year` where the text tells them."""
    blocks = list(_blocks(text))
    long = [block for block in blocks if not _short(block.body)]
    if len(long) == 1 and _abstract_a_line(long[0].body):
        blocks = [part for block in blocks for part in (_lines(block) if block is long[0] else [block])]
    titled = _titles_stand_apart(blocks)
    shared: dict[str, object] = {}
    title: Block | None = None
    for n, block in enumerate(blocks):
        heading = _heading(block.body)
        follows = n + 1 < len(blocks) and len(blocks[n + 1].body) >= ABSTRACT
        if titled and follows and _short(block.body) and not (heading and n == 0):
            title = block
        elif heading is None or (not heading and titled):
            yield _record(block, title, shared)
            title = None
        else:
            shared = heading


def read_lines(text: str) -> Iterator[Record]:
    """One abstract a line."""
    shared: dict[str, object] = {}
    for block in _lines(Block(1, text)):
        heading = _heading(block.body)
        if heading is None:
            yield Record(where=f"line {block.line}", fields={"abstract": block.body, **shared})
        else:
            shared = heading


def _blocks(text: str) -> Iterator[Block]:
    line = 1
    for block in re.split(r"(\n[ \t]*+(?:\n[ \t]*+)+)", text):
        body = block.strip()
        if body:
            yield Block(line + block[: len(block) - len(block.lstrip())].count("\n"), body)
        line += block.count("\n")


def _lines(block: Block) -> list[Block]:
    return [Block(block.line + n, line.strip()) for n, line in enumerate(block.body.split("\n")) if line.strip()]


def _abstract_a_line(body: str) -> bool:
    """Lines too long to be wrapped by anybody, and none of them short."""
    lengths = [len(line) for line in body.split("\n") if line.strip()]
    return len(lengths) > 1 and min(lengths) >= 80 and statistics.median(lengths) >= LINE


def _short(body: str) -> bool:
    return len(body) <= TITLE and "\n" not in body and not body.endswith((".", "。", ";", ","))


def _titles_stand_apart(blocks: list[Block]) -> bool:
    """Whether short and long blocks take turns: titles and their abstracts, not a heading and what is below it."""
    long = sum(not _short(block.body) for block in blocks)
    short = sum(_short(block.body) and not _heading(block.body) for block in blocks)
    return short > 0 and short >= 0.8 * long


def _record(block: Block, title: Block | None, shared: dict[str, object]) -> Record:
    where = f"line {(title or block).line}"
    if len(list(_LABEL.finditer(block.body[:2000]))) > 0 and (labelled := _labelled(block.body)):
        return Record(where=where, fields=shared | ({"title": title.body} if title else {}) | labelled)
    if title:
        return Record(where=where, fields={"title": title.body.lstrip("# "), "abstract": block.body, **shared})
    first, _, rest = block.body.partition("\n")
    if rest and _is_title(first.strip(), rest):
        return Record(where=where, fields={"title": first.strip("# \t"), "abstract": rest.strip(), **shared})
    return Record(where=where, fields={"abstract": block.body, **shared})


def _labelled(body: str) -> dict[str, object]:
    """`Title: ...` and `Abstract: ...` on lines of one block."""
    found = list(_LABEL.finditer(body))
    fields: dict[str, object] = {}
    for label, end in zip(found, [*(m.start() for m in found[1:]), len(body)], strict=True):
        name = label[1].casefold()
        fields.setdefault(_OURS.get(name, name), body[label.end() : end].strip())
    return fields if found[0].start() == 0 and "abstract" in fields else {}


def _is_title(first: str, rest: str) -> bool:
    """A first line that ends before it had to, as no line of a wrapped paragraph does."""
    if len(first) > TITLE or len(rest) < ABSTRACT or first.endswith((".", "。", ",", ";", ":", "-", "!")):
        return False
    widest = max(len(line) for line in rest.split("\n"))
    return len(first) + 1 + len(rest.split(maxsplit=1)[0]) < widest - 5 and _capitals(first)


def _capitals(line: str) -> bool:
    """Titles end without a mark, or else (`... a False Hope?`) have capitals."""
    if not line.endswith("?"):
        return True
    words = [word for word in line.split() if len(word) > 3]
    return sum(word[:1].isupper() for word in words) * 2 > len(words)


def _heading(body: str) -> dict[str, object] | None:
    """Venue and year of a heading such as "ICML 2026 论文列表"; None for an abstract."""
    if len(body) > HEADING or "\n" in body or body.endswith((".", "。", "?", "!")):
        return None
    named = _NAMED.search(body)
    if named is None:
        return {} if len(body.split()) <= 6 or body.startswith("#") else None
    return {"venue": venue_and_year(named[1])[0], "year": int(named[2])}
