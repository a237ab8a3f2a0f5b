"""The marks by which a model names its sources: ``[S1: "exact words"]``, and its many other spellings.

Understood as well: ``[1]``, ``[1, 3]``, ``[1][3]``, ``[S1-S3]``, ``【1】``, full-width digits, ``(S1)``,
``[Source 2]``, unquoted and unclosed quotes.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

OPEN = {"[": "]", "【": "】", "［": "］", "〔": "〕", "(": ")", "（": "）"}
ROUND = "(（"
QUOTES = "\"'“”‘’„«»「」『』＂＇"
DECORATION = "*_` \t"  # "[**S1**]", "[`1`]"
BARE_LARGEST = 99  # [2026] is a year

_LEAD = r"(?:see|cf\.?|sources?|refs?\.?|passages?|来源|參見|参见|출처)?\s*"
_KEY = r"[#^]?[Ss]?\s?\d{1,4}"
KEYS = re.compile(rf"\s*{_LEAD}({_KEY}(?:(?:\s*[-–—,，、;；&]\s*|\s+(?:and\s+)?){_KEY})*)\s*", re.I)
_NEXT = re.compile(rf"[,，、;；\s]\s*(?={_LEAD}[#^]?[Ss]\s?\d{{1,4}}\s*[:：])", re.I)
_PART = re.compile(rf"{KEYS.pattern}(?:[:：,，=–—-]\s*)?(.*)", re.I | re.S)


@dataclass(frozen=True)
class Mark:
    """(key, words relied on) pairs; a key is "S" and a number; the words are "" where none were given."""

    items: tuple[tuple[str, str], ...]


def parse(content: str, *, rounded: bool) -> Mark | None:
    """The mark in a bracket's content, or None where it is other text. In round brackets keys need their S."""
    items: list[tuple[str, str]] = []
    for part in _NEXT.split(unicodedata.normalize("NFKC", content).strip(DECORATION)):
        match = KEYS.fullmatch(part) or _PART.fullmatch(part)
        if match is None:
            return None
        words = match[2].strip().strip(QUOTES).strip() if match.re is _PART else ""
        items += [(key, words) for key in _spread(match[1])]
    if any(key.isdigit() and (rounded or not 0 < int(key) <= BARE_LARGEST) for key, _ in items):
        return None
    return Mark(tuple(dict.fromkeys((f"S{int(key.lstrip('sS '))}", words) for key, words in items)))


def _spread(keys: str) -> Iterator[str]:
    """Keys one by one; ``S1-S3`` is three."""
    last, end = "", 0
    for match in re.finditer(_KEY, keys):
        key = match[0].lstrip("#^")
        if last and re.fullmatch(r"\s*[-–—]\s*", keys[end : match.start()]):
            first, final = int(last.lstrip("sS ")), int(key.lstrip("sS "))
            prefix = "" if last.isdigit() else "S"
            yield from (f"{prefix}{number}" for number in range(first + 1, min(final, first + 10)))
        yield key
        last, end = key, match.end()
