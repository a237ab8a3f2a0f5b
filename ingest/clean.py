"""Record -> Paper, or the reason why not. Pure.

The abstract is kept as its authors wrote it, LaTeX and Markdown too: quotes are slices of it. What was put around it
on the way here (HTML, entities, invisible characters, wrapped lines) is taken away by `ingest.markup`.
"""

import json
import re
from typing import Any

from pydantic import ValidationError

from ingest import markup, names
from ingest.judge import no_abstract, no_paper
from ingest.record import Record, Rejected
from ingest.venue import canonical
from rag.text import plain
from rag.types import Paper, text_digest

ID_DIGITS = 16
OWN = ("id", "title", "abstract", "authors", "year", "venue", "url", "topic")
TITLE_ONLY = "title_only"
"""Mark (in `extra`) of a paper whose list gave no abstract: its title stands for it."""
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


class _NoPaper(ValueError):
    """Read well, and no paper."""


def clean(record: Record, source: str, *, keep_title_only: bool = False) -> Paper | Rejected:
    fields = record.fields
    try:
        paper = _paper(fields, keep_title_only)
        paper.model_dump_json()  # what is nested too deeply to be written is refused
        return paper
    except (ValueError, RecursionError) as error:
        reason = str(error.errors()[0]["msg"]) if isinstance(error, ValidationError) else str(error)
        named = {name: _half(fields[name]) for name in ("id", "title") if isinstance(fields.get(name), (str, int))}
        final = isinstance(error, _NoPaper)
        return Rejected(source=source, where=record.where, reason=_half(reason), final=final, **named)


def _half(value: Any) -> str:
    """Text in which half characters are question marks."""
    return str(value)[:500].encode("utf-8", "replace").decode()


def _paper(fields: dict[str, Any], keep_title_only: bool) -> Paper:
    title = _text(fields, "title")
    title = markup.line(title) if title else None
    venue = canonical(_text(fields, "venue"), _year(fields.get("year")))
    if reason := no_paper(fields, title, venue.told):
        raise _NoPaper(reason)
    abstract = markup.tidy(_text(fields, "abstract") or "")
    extra = {k: v for k, v in fields.items() if k not in OWN and v not in (None, "", [], {})}
    if venue.told and "decision" not in extra:
        extra["decision"] = venue.told
    if reason := no_abstract(abstract):
        if not keep_title_only or not title or reason.startswith("rubbish"):
            raise ValueError(reason)
        abstract, extra[TITLE_ONLY] = title, True
    return Paper(
        id=_id(fields.get("id")) or text_digest(abstract)[:ID_DIGITS],
        abstract=abstract,
        title=title or display_name(abstract),
        title_derived=title is None,
        authors=names.authors(fields.get("authors")),
        venue=venue.name,
        year=venue.year,
        url=_url(_text(fields, "url")),
        topic=_text(fields, "topic"),
        extra=_extra(extra),
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
    if value is None or str(value)[:9].strip().casefold() in ("", "none", "null", "nan", "n/a"):
        return None
    try:
        year = int(re.sub(r"\.0$", "", str(value)[:100].strip()))  # 2026.0, as tables with gaps have it
    except ValueError:
        raise ValueError(f"year is {value!r:.60}; a year such as 2026 was expected") from None
    if not 1800 <= year <= 2200:
        raise ValueError(f"year is {year}; a year between 1800 and 2200 was expected")
    return year


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
