"""Text for search and for reading: tokens, plain words, sentences with offsets, the language of a question.

Used by ingest and query alike, so that a word typed meets the same word stored. Pure: text in, text out.
"""

import importlib.util
import os
import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

import Stemmer
import tiktoken
from pylatexenc.latex2text import LatexNodes2Text

CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"

_CLOSE = r"(?:(?<!\s)\$\$?|\$\$?(?!\d))"  # "from $5 to $6" is money, no formula
_MATH = re.compile(rf"\$\$?(?=\S)([^$\n]{{1,300}}?){_CLOSE}" r"|\\\((.{1,300}?)\\\)|\\\[(.{1,300}?)\\\]", re.S)
_MACRO = re.compile(r"\\[a-zA-Z]+\*?(?:\s*\{(?:[^{}]|\{[^{}]*\})*\})+|\\[`'^\"~=.][a-zA-Z]|\\[`'^\"~=.]\{[a-zA-Z]\}")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\((https?://[^\s)]+)\)")
_EMPHASIS = re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|`+")
_INSIDE_WORD = re.compile(r"(?<=\w)[{}](?=\w)|[{}]")
_SCRIPTS = re.compile(r"(?<=\w)\s*[\^_]\s*\{?(?=[\w+*-])")


@cache
def _encoding() -> tiktoken.Encoding:
    """o200k_base from the files that llama-index-core ships: tiktoken's own download fails offline (FACTS 4)."""
    spec = importlib.util.find_spec("llama_index")
    for root in (spec.submodule_search_locations or []) if spec else []:
        shipped = Path(root) / "core" / "_static" / "tiktoken_cache"
        if shipped.is_dir():
            os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shipped))
    return tiktoken.get_encoding("o200k_base")


def encode(text: str) -> list[int]:
    """Token ids; text that looks like a special token is plain text here."""
    return _encoding().encode(text.encode("utf-8", "replace").decode(), disallowed_special=())


def count_tokens(text: str) -> int:
    return len(encode(text))


# LaTeX and Markdown to the words a person types


@cache
def _latex() -> LatexNodes2Text:
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)


@lru_cache(maxsize=20_000)
def _read_latex(source: str, math: bool) -> str:
    """One formula or macro as plain text; the source without its marks where pylatexenc cannot read it."""
    escaped = re.sub(r"(?<!\\)%", r"\\%", source)  # a bare % is a comment in LaTeX, a percentage in an abstract
    try:
        text = _latex().latex_to_text(f"${escaped}$" if math else escaped, tolerant_parsing=True)
    except Exception:  # the parser raises many kinds on hostile input, and none matters for search
        text = re.sub(r"\\[a-zA-Z]+|[{}$\\]", " ", source)
    return str(text).strip("$")


def plain(text: str) -> str:
    """`text` without LaTeX and Markdown marks, as a reader would say it: for search and comparison, not for show.

    ``HiR$^2$`` -> ``HiR2``, ``$\\sqrt{\\text{LTS}}$`` -> ``sqrt (LTS)``, ``**f**eature`` -> ``feature``.
    """
    if any(mark in text for mark in "\\$"):
        text = _MATH.sub(lambda m: _read_latex(m[1] or m[2] or m[3] or "", True), text)
        text = _MACRO.sub(lambda m: _read_latex(m[0], False), text)
        text = re.sub(r"\\([%&#_${}])", r"\1", text)
        text = re.sub(r"\\[a-zA-Z]+", " ", text)
    text = _MARKDOWN_LINK.sub(r"\1 \2", text)
    text = _SCRIPTS.sub("", text) if "^" in text or "_" in text else text
    text = _EMPHASIS.sub("", text)
    text = _INSIDE_WORD.sub("", text)
    text = text.replace("~", " ").replace("√", " sqrt ").replace("≤", "<=").replace("≥", ">=").replace("×", " x ")
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip()


def fold(text: str) -> str:
    """Case and accents made not to matter."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


# Words for the lexical leg

_URL = re.compile(r"https?://\S+|www\.\S+")
_WORD = re.compile(rf"[{CJK}]+|\d+(?:[.,]\d+)*(?![^\W\d_])|[^\W_{CJK}]+(?:['’][^\W_{CJK}]+)*")
_JOINT = re.compile(rf"(?<![^\W_{CJK}])[^\W_{CJK}]+(?:[-‐-―][^\W_{CJK}]+)+")
_BRACKETED = re.compile(r"\((\w{1,12})\)(?=\w)|(?<=\w)\((\w{1,12})\)")
_STEM = Stemmer.Stemmer("english")

STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be been before being below between both but by can "
    "could did do does doing down during each few for from further had has have having he her here hers him his how i "
    "if in into is it its itself just me more most my no nor not now of off on once only or other our out over own "
    "same she should so some such than that the their them then there these they this those through to too under "
    "until up very was we were what when where which while who whom whose why will with would you your "
    "paper papers work works study studies tell please give show find list abstract abstracts propose proposes "
    "proposed present presents author authors there's what's use used uses using many much".split()
)


@lru_cache(maxsize=200_000)
def _forms(token: str) -> tuple[str, ...]:
    """Search forms of one token: folded and stemmed; an acronym also as it stands."""
    low = fold(token).replace("'s", "").replace("’s", "").replace("'", "").replace("’", "")
    if not low:
        return ()
    if low[0].isdigit() and all(c.isdigit() or c in ".," for c in low):
        return (re.sub(r",(?=\d{3})", "", low).rstrip(".,"),)
    if any(c.isdigit() for c in low) or len(low) <= 3:
        return (low,)
    if sum(c.isupper() for c in token) >= 2:
        stem = low[:-1] if token[-1] == "s" and token[-2].isupper() else low
        return tuple(dict.fromkeys((stem, _STEM.stemWord(low))))
    return (_STEM.stemWord(low),)


def _cjk_forms(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def words(text: str) -> list[str]:
    """Search tokens of `text` in order: folded, stemmed, LaTeX read; compounds also joined; CJK as character pairs."""
    out: list[str] = []
    readable = plain(text)
    for token in _WORD.findall(readable):
        out += _cjk_forms(token) if re.match(f"[{CJK}]", token) else _forms(token)
    for joint in _JOINT.findall(_URL.sub(" ", readable)):
        out += _forms(re.sub(r"[-‐-―]", "", joint))
    if "(" in readable:
        for joined in re.findall(r"\w+", _BRACKETED.sub(lambda m: m[1] or m[2], readable)):
            out += [form for form in _forms(joined) if len(joined) > 3 and form not in out]
    return out


def query_words(text: str) -> list[str]:
    """Search tokens of a question, as often as they are said, without the words that every question has."""
    tokens = words(text)
    telling = [token for token in tokens if token not in _STOPPED]
    return telling or tokens


_STOPPED = frozenset(form for word in STOP_WORDS for form in (word, *_forms(word)))


# Venues

_VENUES = {"nips": "NeurIPS", "neurips": "NeurIPS", "icml": "ICML", "iclr": "ICLR", "arxiv": "arXiv"}
_VENUE_YEAR = re.compile(r"^(.*?)[\s,'’-]*\b((?:19|20)\d\d)$")


def venue_and_year(name: str) -> tuple[str, int | None]:
    """``"icml 2026"`` -> ``("ICML", 2026)``; a venue we have no other spelling for keeps its own."""
    tidy = " ".join(name.split())
    dated = _VENUE_YEAR.match(tidy)
    venue, year = (dated[1], int(dated[2])) if dated and dated[1] else (tidy, None)
    return _VENUES.get(venue.casefold(), venue), year


# Sentences

_ABBREVIATIONS = frozenset(
    "e.g i.e eg ie et al cf vs etc fig figs eq eqs sec ref refs no nos resp approx w.r.t wrt a.k.a aka i.i.d iid dr mr "
    "ms mrs prof st jr inc ltd dept est vol pp ca viz thm lem prop def alg tab app".split()
)
_NEVER_LAST = frozenset(
    "e.g i.e eg ie et cf vs fig figs eq eqs sec refs resp approx w.r.t wrt dr mr mrs prof viz thm lem ca".split()
)
_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s|$)|[。！？]+[”』」）]*|\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_STARTER = re.compile(
    r"(?:We|The|This|These|In|Our|However|It|To|Here|Moreover|Further|A|An|As|On|By|For|Then|They|Such|When|While|With|Experiments|Finally|First|Empirically|Theoretically)\b"
)
_SPANS = re.compile(rf"\$\$?[^$]{{1,400}}?{_CLOSE}" r"|https?://\S*[\w/]|\\\(.{1,400}?\\\)", re.S)


def sentences(text: str) -> list[tuple[int, int]]:
    """Offsets (start, end) of the sentences of `text`, without white space at either end.

    A full stop inside a formula, a number, an address or an abbreviation ends nothing.
    """
    closed = [m.span() for m in _SPANS.finditer(text)]
    out: list[tuple[int, int]] = []
    start, span = 0, 0
    for match in _END.finditer(text):
        while span < len(closed) and closed[span][1] <= match.start():
            span += 1
        inside = span < len(closed) and closed[span][0] < match.start() < closed[span][1]
        if inside or not _ends(text, start, match):
            continue
        _keep(text, start, match.end(), out)
        start = match.end()
    _keep(text, start, len(text), out)
    return out


def _keep(text: str, start: int, end: int, out: list[tuple[int, int]]) -> None:
    piece = text[start:end]
    left, right = len(piece) - len(piece.lstrip()), len(piece.rstrip())
    if left < right:
        out.append((start + left, start + right))


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match[0]
    if mark[0] not in ".!?" or mark[0] in "!?":
        return True
    following = text[match.end() : match.end() + 40].lstrip()
    if not following:
        return True
    before = text[max(start, match.start() - 12) : match.start()].split()
    last = before[-1].lstrip("([\"'“").casefold() if before else ""
    if last in _NEVER_LAST:
        return False
    first = following.lstrip("\"'“‘([*_$")[:1]
    if last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()):
        return bool(_STARTER.match(following))
    if first.islower():
        word = re.match(r"\w+", following.lstrip("\"'“‘([*_$"))
        return bool(word and any(c.isupper() or c.isdigit() for c in word[0]))
    return True


# Language

_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:[-'’][A-Za-z]+)*")

_HANGUL, _KANA, _HAN = (re.compile(f"[{r}]") for r in (r"\uac00-\ud7af", r"\u3040-\u30ff", r"\u3400-\u9fff"))


def language(text: str) -> str:
    """ "ko", "ja" or "zh" where a text has more characters of it than Latin words, else "en"."""
    others = len(_LATIN.findall(text))
    hangul, kana, han = (len(p.findall(text)) for p in (_HANGUL, _KANA, _HAN))
    if hangul > others:
        return "ko"
    if kana and kana + han > others:
        return "ja"
    return "zh" if han > others else "en"
