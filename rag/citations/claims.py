"""What a sentence claims that code can check."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rag.citations.names import addresses, names, signs, without_addresses
from rag.citations.numbers import Number, numbers
from rag.citations.quotes import plain
from rag.text import CJK, STOP_WORDS, query_words

_ANY_PAPER = (
    "method approach framework technique propose introduce achieve show demonstrate provide enable author result model "
    "system base new novel call name specific report state accord source abstract research problem address include "
    "main type kind via within across among without not no never do also both either first second thereby while able "
    "which overall furthermore additionally moreover thus therefore respectively namely such particular"
)
GENERIC = frozenset(stem for word in _ANY_PAPER.split() for stem in query_words(word))
"""Stems that a sentence about any paper may hold."""

_DENY = frozenset(
    "not no never cannot neither nor without none nothing non hardly fails fail failed unable lacks lack".split()
)
_DENY |= frozenset("don't doesn't didn't isn't aren't wasn't weren't can't won't couldn't shouldn't wouldn't".split())
_DENY_CJK = re.compile(r"没有|沒有|不(?![到超足仅僅只同断斷少变變])|无需|無需|并非|並非|未|无法|無法|않|없|아니|못")
_SOFTLY = re.compile(
    r"\b(?:avoid|eliminat|remov|bypass|circumvent|obviat|free|prevent|instead|rather|exclud|omit|unlike)\w*", re.I
)
_SPOKEN = re.compile(rf"[^\W\d_{CJK}]+(?:['’][^\W\d_]+)?|\d[\d.,]*|[,;:.!?()]")
_STOPS = frozenset(",;:.!?()") | {"but"}
_PIECE = re.compile(
    r"[,;:，；：。]\s*|\b(?:but|and|while|although|though|because|which)\b"
    r"|(?=\b(?:rather than|instead of|not)\b(?=\s+\W?\d))"
)
_REFUTES = re.compile(
    r"\b(?:(?P<verb>(?:is|are|was|were|do|does|did|has|have|can|could|would) not|cannot|\w+n['’]t)"
    r"|not|no|never|neither|nor|rather than|instead of)\b(?!\s+(?:only|just|less|fewer|short|doubt|merely)\b)",
    re.I,
)
DENIED = 2  # telling words that a denial covers
_UP = re.compile(r"\b(?:increas|rais|rise|rising|grow|higher)\w*|提高|增加|提升|上升|증가|향상", re.I)
_DOWN = re.compile(r"\b(?:decreas|reduc|lower|drop|declin|shrink|cut)\w*|降低|减少|減少|下降|감소|낮", re.I)
_BEATS = re.compile(
    r"\b(?P<is>(?:is|are|was|were|be|been)\s+)?(?:outperform\w*|surpass\w*|exceed\w*|beats?\b|beaten|better than"
    r"|superior to|faster than|improves? (?:up)?on|(?P<behind>lags? behind|worse than|inferior to|slower than))"
    r"(?P<by>\s+by\b)?",
    re.I,
)
_CLAUSE = re.compile(r"[.,;:()]|\b(?:and|while|but|on|in|with|at)\b")
SIDE = 6  # words looked at on each side of a comparison

Sides = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True)
class Facts:
    """`denied`: the words that each denial covers; `softly`: says "avoids", "X-free" and the like; `ways`: "up",
    "down"; `beats`: (winners, losers) of each comparison, by
    their stems; `refuted`: the text that is said not to be so, where a false premise of a question may be named."""

    text: str
    words: frozenset[str]
    numbers: frozenset[Number]
    names: tuple[str, ...]
    signs: frozenset[str]
    addresses: tuple[str, ...]
    denied: tuple[frozenset[str], ...]
    denies: bool
    softly: bool
    ways: frozenset[str]
    beats: tuple[Sides, ...]
    refuted: str


@lru_cache(maxsize=4096)  # the sentences of a paper come again with other questions
def facts(text: str) -> Facts:
    """Of a sentence, LaTeX and Markdown read."""
    seen = plain(text)
    bare = without_addresses(seen)
    denied = tuple(_denied(bare))
    return Facts(
        text=seen,
        words=content(bare),
        numbers=numbers(bare),
        names=names(bare),
        signs=signs(bare),
        addresses=addresses(seen),
        denied=denied,
        denies=bool(denied) or bool(_DENY_CJK.search(bare)),
        softly=bool(_SOFTLY.search(bare)),
        ways=frozenset(way for way, pattern in (("up", _UP), ("down", _DOWN)) if pattern.search(bare)),
        beats=tuple(_beats(bare)),
        refuted=" ; ".join(_refuted(piece) for piece in _PIECE.split(seen)),
    )


def content(text: str) -> frozenset[str]:
    """Stems of the telling words; numbers are looked at apart."""
    return frozenset(word for word in query_words(text) if not word[0].isdigit() and word not in GENERIC)


def _denied(text: str) -> list[frozenset[str]]:
    """For each denial the stems of the next telling words after it in its clause; "X-free" and "non-X" deny X."""
    spoken = [match[0].lower().replace("’", "'") for match in _SPOKEN.finditer(text)]
    out = [content(word) for word in re.findall(r"([^\W\d_]+)-free\b", text.lower())]
    for place, word in enumerate(spoken):
        after = spoken[place + 1 : place + 9]
        if word not in _DENY or after[:1] == ["only"]:
            continue
        end = next((n for n, one in enumerate(after) if one in _STOPS), len(after))
        stems = [stem for one in after[:end] if one not in _DENY | STOP_WORDS for stem in sorted(content(one))]
        out.append(frozenset(stems[: 1 if word == "non" else DENIED]))
    return [group for group in out if group]


def _refuted(piece: str) -> str:
    """Of a clause: what follows its denial, or all of it where the verb is denied ("is not", "没有")."""
    match = _REFUTES.search(piece)
    if _DENY_CJK.search(piece) or (match and match["verb"]):
        return piece
    return piece[match.end() :] if match else ""


def _beats(text: str) -> list[Sides]:
    """(winners, losers) of each comparison: the telling words of its clause on either side, but not on both."""
    out = []
    for match in _BEATS.finditer(text):
        left = _CLAUSE.split(text[: match.start()])[-1].split()[-SIDE:]
        right = _CLAUSE.split(text[match.end() :])[0].split()[:SIDE]
        before, after = content(" ".join(left)), content(" ".join(right))
        before, after = before - after, after - before
        turned = bool(match["behind"]) or bool(match["is"] and match["by"])
        out.append((after, before) if turned else (before, after))
    return out
