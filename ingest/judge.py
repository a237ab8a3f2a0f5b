"""Is this the record of a paper at all? Pure: a reason, or nothing."""

import re
from typing import Any

SHORTEST = 40
"""Characters below which a text is no abstract (the shortest real one among 118,547 has 100)."""

_OUT = re.compile(r"\b(withdrawn?|withdraw(?:al|n submission)|desk[ _-]?reject\w*|reject(?:ed|ion)?|retract(?:ed|ion)|"
                  r"deleted)\b", re.I)  # fmt: skip
_PAPER = re.compile(r"poster|oral|spotlight|paper|highlight|notable|journal|benchmark|main|position", re.I)
_FRONT = re.compile(
    r"(?:.{0,100}[:,.-]\s*)?(?:(?P<sure>preface|front ?matter|foreword)|table of contents|title page|author index|"
    r"editorial board|message from the (?:chairs?|editors?)|copyright(?: page)?)\.?",
    re.I,
)
_NONE = re.compile(
    r"\W*(?:no abstract|abstracts? (?:is |was )?(?:not |un)(?:yet )?available|not available|n/?a\b|tb[ad]\b"
    r"|to be (?:announced|added|determined)|coming soon|withheld|empty abstract)",
    re.I,
)
_LETTER = re.compile(r"[^\W\d_]")


def no_paper(fields: dict[str, Any], title: str | None, told: str | None) -> str | None:
    """Why a record that can be read is none of a paper: withdrawn, rejected, another event, front matter.

    `told` is what the venue's name says of it.
    """
    for name in ("status", "decision"):
        if isinstance(fields.get(name), str) and (found := _OUT.search(fields[name][:100])):
            return f"{_participle(found[1])} ({name}: {fields[name]:.60})"
    if told and (found := _OUT.search(told)):
        return f"{_participle(found[1])} (venue: {told})"
    if title and (found := re.match(r"\W*(retracted|withdrawn)\b\s*[:)\]-]", title, re.I)):
        return f"{found[1].casefold()} (as its title says)"
    event = fields.get("event_type")
    if isinstance(event, str) and not _PAPER.search(event):
        return f"no paper but another event ({event:.40})"
    section = fields.get("section")
    if (isinstance(section, str) and _FRONT.fullmatch(section[:150])) or _is_front(title, fields.get("abstract")):
        return "no paper but front matter"
    return None


def _is_front(title: str | None, abstract: Any) -> bool:
    """By its title; "Table of Contents" is also what a paper may be called, if it has an abstract."""
    found = _FRONT.fullmatch(title) if title and len(title) < 150 else None
    return found is not None and (found["sure"] is not None or not isinstance(abstract, str) or len(abstract) < 150)


def _participle(word: str) -> str:
    low = word.casefold()
    stems = {"withdr": "withdrawn", "desk": "desk-rejected", "reject": "rejected", "retract": "retracted"}
    return next((said for stem, said in stems.items() if low.startswith(stem)), low)


def no_abstract(abstract: str) -> str | None:
    """Why a text is no abstract: too short, a stand-in for one, or rubbish."""
    if len(abstract) < SHORTEST:
        return f"no usable abstract ({len(abstract)} characters, at least {SHORTEST} expected)"
    if len(abstract) < 150 and _NONE.match(abstract):
        return f"no usable abstract ({abstract[:60]!r})"
    head = abstract[:2000].casefold()
    letters = _LETTER.findall(head)
    if len(letters) * 4 < len(head):
        return f"rubbish, no abstract ({abstract[:30]!r}: hardly any letters)"
    if len(set(letters)) < 8 or (len(set(head.split())) < 5 and head.isascii()):
        return f"rubbish, no abstract ({abstract[:30]!r}: always the same)"
    return None
