"""A follow-up -> a question that stands alone, without a model: what it leans on is carried over. Pure."""

import re
from collections.abc import Sequence

from rag.text import query_words
from rag.types import Turn

LEANING = 3
"""A question of fewer telling words than this cannot stand alone."""
CARRIED = 400
"""Most characters carried over from one turn."""

_LEANS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|his|her|one|ones|former|latter|same|both|there|"
    r"second|first|third|else|instead|and (?:what|how|why|which|does|is|are|for|on)|what about|how about)\b"
    r"|它|他们|她|这个|这些|那个|那些|该|此|其|前者|后者|呢[？?]?$|그|이것|그것",
    re.I,
)
_WHAT_ABOUT = re.compile(r"^\s*(?:and|or|but)?\s*(?:what|how) about\b|^\s*(?:那|那么)?.{1,40}呢[？?]?\s*$", re.I)
_NAMES = re.compile(r"\b(?=\w*[A-Z])\w*[A-Z]\w*[A-Z0-9]\w*(?:-\w+)*|\b[A-Z]\w+-\w+")


def standalone(question: str, history: Sequence[Turn]) -> str:
    """The question itself where it stands alone; else it, and what the turns before it were about.

    A question with a name of its own is about that name: "what about COFT?" takes over what was asked, not of whom.
    """
    asked = [turn.content for turn in history if turn.role == "user"]
    if not asked or not leans(question):
        return question
    before = asked[-1][:CARRIED]
    if leans(before) and len(asked) > 1:
        before = f"{asked[-2][:CARRIED]} {before}"
    if _NAMES.search(question):
        return f"{' '.join(_NAMES.sub(' ', before).split())} {question}"
    answers = [turn.content for turn in history if turn.role == "assistant"]
    names = dict.fromkeys(_NAMES.findall(re.sub(r"\[[^\]]*\]", " ", answers[-1]))) if answers else {}
    known = question + before
    carried = " ".join(name for name in list(names)[:3] if name not in known)
    return " ".join(part for part in (before, carried, question) if part)


def leans(question: str) -> bool:
    """Does it lean on what was said before? A question with a name does only where it says "what about"."""
    if _NAMES.search(question):
        return bool(_WHAT_ABOUT.search(question))
    return bool(_LEANS.search(question)) or len(set(query_words(question))) < LEANING
