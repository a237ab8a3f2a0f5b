"""Brackets that a reader would take for one of our marks: only the guard may write those."""

import re
import unicodedata
from collections.abc import Iterable

from rag.citations.quotes import squash

_OPENERS, _CLOSERS = "【［〔〖〘〚⟦⁅❲⦋⦍⦏⟬", "】］〕〗〙〛⟧⁆❳⦌⦎⦐⟭"
_GROUP = re.compile(rf"[\[{_OPENERS}]([^\[\]{_OPENERS}{_CLOSERS}]*)")  # closed or not: the rest may come later
_UNOPENED = re.compile(rf"(?:^|[\]{_CLOSERS}])([^(\[\]{_OPENERS}{_CLOSERS}]*)[\]{_CLOSERS}]")
_DECORATION = re.compile(r"[\\*_`~$^{}]")
_WORD = re.compile(r"[^\W_]+")
_COUNTED = re.compile(
    r"\d+|[^\W\d_]|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third"
    r"|refs?|sources?|passages?|no|citations?|来源|参见|출처"
)


def groups(text: str) -> frozenset[str]:
    """What stands in square brackets, of any shape, as `squash` writes it."""
    return frozenset(squash(content) for content in _contents(text))


def forged(said: str, known: Iterable[frozenset[str]]) -> bool:
    """Whether `said`, its own marks taken out, holds a bracket that looks like a mark. "[0, 1]" and "[CLS]" may
    stand where a cited abstract has them (`known`); a number alone never."""
    allowed = frozenset().union(*known)
    unopened = [content.split()[-1:] or [""] for content in _UNOPENED.findall(_bare(said))]
    return any(_like(words[0]) for words in unopened) or any(
        _alone(content) or (_like(content) and squash(content) not in allowed) for content in _contents(said)
    )


def _contents(text: str) -> list[str]:
    return _GROUP.findall(_bare(text))


def _bare(text: str) -> str:
    return unicodedata.normalize("NFKC", _DECORATION.sub("", text))


def _alone(content: str) -> bool:
    """A number and nothing else, or nothing at all."""
    words = _WORD.findall(content)
    return not words or (len(words) == 1 and words[0].isdigit())


def _like(content: str) -> bool:
    words = _WORD.findall(content.casefold())
    return any(c.isdigit() for c in content) or all(_COUNTED.fullmatch(word) for word in words)
