"""What rides along with a sentence that is borne out: a clause of its own, another measure, an instruction.

`support` looks at a sentence as a whole; these checks look at its parts, and at what stands beside its numbers.
"""

import re
from collections.abc import Iterator, Sequence

from rag.citations.claims import GENERIC, Facts, content
from rag.citations.names import without_addresses
from rag.citations.quotes import plain
from rag.citations.record import Words
from rag.citations.splitter import STOOD
from rag.text import STOP_WORDS, query_words

CLAUSE_WORDS = 3  # telling words of a clause that is looked at by itself
IN_CLAUSE = 1 / 3  # share of them that must stand in the passages
RUN_WORDS = 4  # so many telling words in a row must not all be new
_CLAUSE = re.compile(
    rf"{STOOD}|[;；。]|[.!?]\s|,?\s\b(?:but|although|though|whereas)\b|,\s*(?:so|and|yet|which|while|because|thus)\b",
    re.I,
)
_INSTRUCTION = re.compile(
    r"\b(?:please|click|visit|log ?in|sign up|subscribe|your (?:\w+ )?(?:password|e-?mail|key|token|card)s?)\b"
    r"|请(?:访问|輸入|输入|点击|點擊|联系|聯繫|登录|下载|扫|转|把|将|您)|請|点击|點擊|扫码|掃碼|加微信|클릭|방문하",
    re.I,
)
_QUALIFIER = re.compile(
    r"(?P<mean>\b(?:mean|averag\w*|avg)\b|平均)|(?P<median>\bmedian\b|中位)"
    r"|(?P<most>\bat most\b|\bup to\b|\bless than\b|\bfewer than\b|\bno more than\b|\bmax(?:imum)?\b|\bunder\b"
    r"|\bbelow\b|\bwithin\b|<=?|≤|最多|至多|不到|少于|不超过)"
    r"|(?P<least>\bat least\b|(?<!no )\bmore than\b|\bno less than\b|\bmin(?:imum)?\b|\bover\b|\babove\b|\bexceed\w*"
    r"|>=?|≥|至少|(?<!不)超过|多于|以上)",
    re.I,
)
_AFTER = re.compile(r"\s?%?\s?\(?(?:on |in |as (?:a |the )?)?(?P<what>averag\w*|mean|median)\b", re.I)
_VALUE = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:,\d{3})*(?:\.\d+)?")
NEAR = 30  # characters between a qualifier and the number that it is said of
_BETWEEN = re.compile(r"[.;,)\n，。；]")
_RANGE = re.compile(r"(?<![\d.,-])(\d+(?:\.\d+)?)\s?%?\s?(?:-{1,2}|to|~|至|到)\s?(\d+(?:\.\d+)?)(?![\d.]*\d)")
_BETWEEN_AND = re.compile(r"\bbetween\s+(\d+(?:\.\d+)?)\s?%?\s?and\s+(\d+(?:\.\d+)?)", re.I)
_MINUS = re.compile(r"(?:^|[\s(\[=:])(?:to\s)?[-−]\s?(\d+(?:\.\d+)?)")
_CHANGES = {
    "worsen": (r"\bworsen\w*|\bdegrad\w*|\bdeteriorat\w*|恶化",
               r"wors|degrad|deteriorat|declin|drop|fall|fell|hurt|harm|collaps"
               r"|suffer|decay|impair|loss|lose|poor|fail|不"),
    "halve": (r"\bhalv\w*|减半", r"hal[fv]|\b50\s?%|\b2\s?x|\b2\s?×|twice|two-?fold|factor of (?:2|two)|0\.5"),
    "double": (r"\bdoubl(?:es?|ed|ing)\b|翻倍", r"doubl|twice|\b2\s?[x×]|two-?fold|\b100\s?%|factor of (?:2|two)"),
    "triple": (r"\btripl(?:es?|ed|ing)\b", r"tripl|\b3\s?[x×]|three|factor of 3|200\s?%"),
    "improve": (r"\bimprov\w*|\benhanc\w*",
                r"^(?!.*(?:degrad|deteriorat|worsen|impair|hurt|harm)).*$|improv|enhanc|better|boost"
                r"|outperform|gain|increas|reduc|higher|superior|mitigat|overcom|address|avoid|prevent|robust"),
}  # fmt: skip
_CHANGE = {name: (re.compile(said, re.I), re.compile(held, re.I | re.S)) for name, (said, held) in _CHANGES.items()}


def rider(spoken: str, claim: Facts, passages: Sequence[Facts], known: Sequence[Words], *, foreign: bool) -> str | None:
    """Why `spoken` (a sentence with STOOD for its marks) may not be shown, or None. `foreign`: its words cannot be
    compared with those of the passages; `known`: all words of the papers cited."""
    text = " . ".join(one.text for one in passages)
    return (
        _instructs(claim, text)
        or (None if foreign else _clauses(spoken, passages) or _run(claim.text, known) or _changes(claim, text))
        or _qualified(claim.text, text)
        or _ranges(claim.text, text)
    )


def _instructs(claim: Facts, text: str) -> str | None:
    found = (match[0] for match in _INSTRUCTION.finditer(claim.text))
    told = next((one for one in found if one.casefold() not in text.casefold()), None)
    return f"an instruction: {told}" if told else None


def _clauses(spoken: str, passages: Sequence[Facts]) -> str | None:
    known = Words(word for one in passages for word in one.words)
    for clause in _CLAUSE.split(spoken):
        words = content(without_addresses(plain(clause))) - STOP_WORDS
        near = known.among(words)
        if len(words) >= CLAUSE_WORDS and len(near) < IN_CLAUSE * len(words):
            return f"too few words supported: {len(near)} of {len(words)} in a clause"
    tail = content(without_addresses(plain(spoken.rpartition(STOOD)[2]))) - STOP_WORDS
    begins = not spoken.partition(STOOD)[0].strip()  # "[S1] First." has no tail
    if tail and not begins and not known.among(tail):
        return f"too few words supported: 0 of {len(tail)} after the mark"
    return None


def _run(said: str, basis: Sequence[Words]) -> str | None:
    """Words in a row of which none stands in a cited paper."""
    run: list[str] = []
    for word in query_words(without_addresses(said)):
        if word[0].isdigit() or word in GENERIC:
            continue
        run = [] if any(word in words for words in basis) else [*run, word]
        if len(run) >= RUN_WORDS:
            return f"too few words supported: {' '.join(run)}"
    return None


def _changes(claim: Facts, text: str) -> str | None:
    if claim.denies:
        return None
    wrong = (name for name, (said, held) in _CHANGE.items() if said.search(claim.text) and not held.search(text))
    name = next(wrong, None)
    return f"direction not in source: {name}" if name else None


def _qualified(said: str, text: str) -> str | None:
    """ "mean 38%" where the passage has "median 38%", "at least 11" where it has "at most 11"."""
    there = set(_qualifiers(text))
    kinds = {kind for kind, _ in there}
    for kind, value in _qualifiers(said):
        of_value = {other for other, one in there if one == value}
        exact = kind in ("mean", "median")
        if kind not in of_value and (of_value or (exact and (kind in kinds or not _says(kind, text)))):
            return f"measure not in source: {kind} {value}"
    return None


def _says(kind: str, text: str) -> bool:
    return any(match.lastgroup == kind for match in _QUALIFIER.finditer(text))


def _qualifiers(text: str) -> Iterator[tuple[str, str]]:
    """(kind, value) of each number with a qualifier near before it, or right after it."""
    used = set[int]()
    for match in _QUALIFIER.finditer(text):
        value = _VALUE.search(text, match.end(), match.end() + NEAR)
        if value and not _BETWEEN.search(text, match.end(), value.start()):
            used.add(match.start())
            yield str(match.lastgroup), value[0].replace(",", "")
    for value in _VALUE.finditer(text):
        after = _AFTER.match(text, value.end())
        if after and after.start("what") not in used:
            yield "median" if after["what"].casefold() == "median" else "mean", value[0].replace(",", "")


def _ranges(said: str, text: str) -> str | None:
    """A range with one end of a range of the passages and another other end; a number made negative."""
    there = _all_ranges(text)
    for low, high in _all_ranges(said):
        if (low, high) not in there and any({low, high} & set(one) for one in there):
            return f"number not in source: {low}-{high}"
    minus = set(_MINUS.findall(said)) - set(_MINUS.findall(text))
    return f"number not in source: -{min(minus)}" if minus else None


def _all_ranges(text: str) -> set[tuple[str, str]]:
    return {(low, high) for form in (_RANGE, _BETWEEN_AND) for low, high in form.findall(text)}
