"""Record -> Paper, or the reason why not. Pure.

The abstract is kept verbatim (ends stripped, NUL removed): quotes are slices of it.
"""

import json
import re
from typing import Any

from pydantic import ValidationError

from ingest.record import Record, Rejected
from rag.text import plain, venue_and_year
from rag.types import Paper, text_digest

SHORTEST = 40
"""Characters below which a text is no abstract (the shortest real one among 118,547 has 100)."""
ID_DIGITS = 16
OWN = ("id", "title", "abstract", "authors", "year", "venue", "url", "topic")
FIRST_WORDS = 10

_VERB = (
    r"\b(?:proposes?|introduces?|presents?|develop|release|call(?:ed)?|dub(?:bed)?|named?|termed)\b"
    r"(?:\s+(?:the|a|an|it|this|our|new|novel|model|method|framework|approach|benchmark|dataset|as"
    r"|called|named|dubbed|termed)\b){0,6}[\s:,]+"
)
_NAME = r"(?P<name>(?:\\text\w+\{|\*\*)?[A-Za-z0-9][\w$^{}\\.+-]*(?:-[\w$^{}]+)*(?:\}|\*\*)?)"
_PROPOSED = re.compile(rf"{_VERB}(?:{_NAME}|(?=[^.()]{{3,120}}\())")
_IN_BRACKETS = re.compile(rf"[^.()]{{3,120}}?\({_NAME}\)")
"""A name right after the verb, or the one in brackets after what is proposed."""


def clean(record: Record, source: str) -> Paper | Rejected:
    fields = record.fields
    try:
        paper = _paper(fields)
        paper.model_dump_json()  # what is nested too deeply to be written is refused
        return paper
    except (ValueError, ValidationError) as error:
        reason = str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else str(error)
        named = {name: str(fields[name]) for name in ("id", "title") if isinstance(fields.get(name), (str, int))}
        return Rejected(source=source, where=record.where, reason=reason, **named)


def _paper(fields: dict[str, Any]) -> Paper:
    abstract = _text(fields, "abstract") or ""
    if len(abstract) < SHORTEST:
        raise ValueError(f"no usable abstract ({len(abstract)} characters, at least {SHORTEST} expected)")
    title = _text(fields, "title")
    title = " ".join(title.split()) if title else None
    venue, year = _venue(_text(fields, "venue"), _year(fields.get("year")))
    return Paper(
        id=_id(fields.get("id")) or text_digest(abstract)[:ID_DIGITS],
        abstract=abstract,
        title=title or display_name(abstract),
        title_derived=title is None,
        authors=_authors(fields.get("authors")),
        venue=venue,
        year=year,
        url=_url(_text(fields, "url")),
        topic=_text(fields, "topic"),
        extra=_extra({k: v for k, v in fields.items() if k not in OWN and v not in (None, "", [], {})}),
    )


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r:.60}; text was expected")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{name} holds half a character (a lone surrogate)")
    return value.replace("\0", "").strip() or None


def _extra(fields: dict[str, Any]) -> dict[str, Any]:
    """What else the source said; half characters, which cannot be stored, become question marks."""
    written = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
    extra: dict[str, Any] = json.loads(written)
    return extra


def _id(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"id is {value!r:.60}; text or a whole number was expected")
    tidy = str(value).strip()
    if len(tidy) > 200 or any(ord(c) < 32 or "\ud800" <= c <= "\udfff" for c in tidy):
        raise ValueError("id is longer than 200 characters or holds control characters")
    return tidy or None


def _year(value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        year = int(str(value).strip())
    except ValueError:
        raise ValueError(f"year is {value!r:.60}; a year such as 2026 was expected") from None
    if not 1800 <= year <= 2200:
        raise ValueError(f"year is {year}; a year between 1800 and 2200 was expected")
    return year


def _venue(name: str | None, year: int | None) -> tuple[str | None, int | None]:
    if name is None:
        return None, year
    venue, named = venue_and_year(name)
    if named is not None and year is not None and named != year:
        return " ".join(name.split()), year  # two years: the venue keeps its own in its name
    return venue, year if year is not None else named


def _authors(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(";")
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"authors is {value!r:.60}; a list of names was expected")
    tidy = (" ".join((_text({"author": name}, "author") or "").split()) for name in value)
    return tuple(name for name in tidy if name)


def _url(value: str | None) -> str | None:
    """Only addresses a reader may follow; anything else is no address of ours to hand on."""
    return value if value and re.fullmatch(r"https?://[^\s<>\"']{3,2000}", value) else None


def display_name(abstract: str) -> str:
    """A name for an untitled paper, taken from its abstract: what it proposes, else its first words."""
    for proposed in _PROPOSED.finditer(abstract):
        for found in (proposed, _IN_BRACKETS.match(abstract, proposed.start())):
            name = re.sub(r"\*\*|\\text\w+\{|\}$", "", found["name"] or "").rstrip(".,;:") if found else ""
            if _is_name(plain(name)):
                return name
    first = " ".join(abstract.split()[: FIRST_WORDS + 1]).split()
    shown = " ".join(first[:FIRST_WORDS]).rstrip(".,;:")
    return f"{shown} …" if len(first) > FIRST_WORDS else shown


def _is_name(word: str) -> bool:
    """Two capitals, or a capital and a digit: LipoPU, TACTIC, HiR2; not the first word of anything."""
    return any(_stands_out(part) for part in word.split("-"))


def _stands_out(part: str) -> bool:
    capitals = sum(c.isupper() for c in part)
    return capitals >= 2 or (capitals == 1 and any(c.isdigit() for c in part))
