"""Does an answer say what it must? Strings looked for as whole words after spelling is made not to matter.

Agrees with the scorer of the shared question sets (a test runs both on the same outputs): case, accents,
dashes, LaTeX and Markdown marks do not count; a trailing ``*`` takes any ending; a plural s is accepted,
and a unit after a number ("70" stands in "70b"). Citation marks are taken out first, because a "[6]" is no
answer to "how many?". Pure.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_KEY = r"\^?(?:(?:seed-|icml\d{2,4}-|paper[ :#]?|doc[ :#]?|source[ :#]?|sha256:)?[0-9]+[0-9a-f]*|[0-9a-f]{12,64})"
_MARK = re.compile(rf"[\[\u3010]\s*{_KEY}(?:\s*[,;]\s*{_KEY})*\s*[\]\u3011](?!\()", re.I)

_FONTS = "url|text|texttt|textrm|textsc|mathcal|mathrm|mathbf|mathit|textbf|textit|emph"
_BEFORE_FOLDING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"\\(?:{_FONTS})\s*\{{([^{{}}]*)\}}"), r"\1"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r" sqrt \1 "),
    (re.compile(r"\\sqrt\b|\u221a"), " sqrt "),
    (re.compile(r"\\sim"), " "),
    (re.compile(r"\\leq|\u2264"), "<="),
    (re.compile(r"\u2265"), ">="),
    (re.compile(r"\\times|\\cdot|\u00d7"), " x "),
)
_CJK = r"\u3400-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_AFTER_FOLDING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[\u2010-\u2015\u2212\ufe58\ufe63\uff0d-]"), " "),
    (re.compile(r"[\u2018\u2019\u02bc`]"), "'"),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"[$^\\{}*~]"), ""),
    (re.compile(r"[()\u201c\u201d\"]"), " "),
    (re.compile(r"\s*([/+])\s*"), r"\1"),
    (re.compile(r"(?<=\d)\s+%"), "%"),
    (re.compile(r"\s+"), " "),
    (re.compile(rf"\s*([{_CJK}])\s*"), r"\1"),
)
_UNITS = "k|b|m|bn|x|d|min|mins"


class Containment(NamedTuple):
    """`whole`: every group met and nothing forbidden said. `share` of the groups met (1.0 of none)."""

    whole: bool
    share: float
    forbidden: tuple[str, ...]


def normalise(text: str) -> str:
    """`text` with everything taken away that does not count."""
    for pattern, replacement in _BEFORE_FOLDING:
        text = pattern.sub(replacement, text)
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c)).casefold()
    for pattern, replacement in _AFTER_FOLDING:
        text = pattern.sub(replacement, text)
    return text.strip()


@lru_cache(maxsize=4096)
def _pattern(needle: str) -> re.Pattern[str] | None:
    """What finds `needle` in a normalised text; None where nothing is left of it."""
    bare = needle.rstrip()
    any_ending = bare.endswith("*") and not bare.endswith("**")
    core = normalise(bare[:-1] if any_ending else bare)
    if not core:
        return None
    first, last = core[0], core[-1]
    before = "(?<![0-9A-Za-z])" if _wordish(first) else ""
    before += r"(?<!\d[.,])" if first.isdigit() else ""
    after = r"(?!\.\d)" if last.isdigit() else ""
    if _wordish(last) and not any_ending:
        ending = "es|s" if last.isalpha() else _UNITS
        after += f"(?=(?:{ending})?(?![0-9A-Za-z]))"
    return re.compile(before + re.escape(core) + after)


def _wordish(character: str) -> bool:
    return character.isascii() and character.isalnum()


def contains(normalised: str, needle: str) -> bool:
    """Whether `needle` stands as a whole word in a text that went through `normalise`."""
    pattern = _pattern(needle)
    return pattern is not None and pattern.search(normalised) is not None


def unmarked(answer: str) -> str:
    """The answer without its citation marks."""
    return _MARK.sub(" ", answer)


def containment(answer: str, groups: Sequence[Sequence[str]], forbidden: Sequence[str]) -> Containment:
    """Forbidden strings are looked for in the answer with its marks, wanted ones without."""
    bare, whole = normalise(unmarked(answer)), normalise(answer)
    met = [any(contains(bare, choice) for choice in group) for group in groups]
    said = tuple(needle for needle in forbidden if contains(whole, needle))
    return Containment(all(met) and not said, sum(met) / len(met) if met else 1.0, said)
