"""The proper names, addresses, signs and markup in a sentence."""

import re
import unicodedata

from rag.citations.numbers import is_number
from rag.citations.quotes import squash
from rag.text import CJK

_WORD = rf"[^\W_{CJK}]+"
_NAME = re.compile(rf"{_WORD}(?:[-+./']{_WORD})*\+*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|x|k|K|M|B|T)")
_ADDRESS = re.compile(
    r"(?:https?|ftp|file)\s?:\s?/\s?/[^\s\u3000-\u30ff\u4e00-\u9fff，。）]+|\bwww\.\S+"
    r"|\b(?:javascript|data|vbscript|mailto|tel|blob):\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.@])(?:[a-z0-9-]+\.)+[a-z]{2,24}(?![a-z0-9])(?:[/:?#][^\s)\]}>\"']*)?"
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])(?::\d+)?(?:/\S*)?",
    re.I | re.A,
)
_REST = r"[^\s\u3000-\u30ff\u4e00-\u9fff，。）]"
_DISGUISED = re.compile(
    rf"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{{0,30}}\s?:\s?/\s?/{_REST}*"  # any scheme
    rf"|(?<![\w:/])//\s?[^\W\d_]{_REST}*"  # the page's own scheme
    rf"|\blocalhost\b{_REST}*|\b[A-Za-z][\w-]{{0,60}}:\d{{2,5}}/{_REST}*|\bh(?:xx|tt)ps?\b"
    rf"|(?<![\w.@])(?:[\w-]{{1,60}}[.．｡])+(?:[^\W\d_{CJK}A-Za-z]{{2,24}}|xn--[\w-]+"
    rf"|中国|中國|公司|网络|網絡|网址|网站|網站|在线|香港|台湾|台灣|한국|닷컴|みんな|コム)(?![A-Za-z0-9]){_REST}*"
    rf"|(?<![\w.@])(?=[\w.-]{{0,60}}[^\W_A-Za-z0-9{CJK}])(?:[^\W_{CJK}][^\W{CJK}]{{0,59}}\.)+[A-Za-z]{{2,24}}(?:/{_REST}*)?(?!\w)"
    r"|\b\w{2,60}\s?[(\[]?\s?\bdot\b\s?[)\]]?\s?(?:com|org|net|io|cn|ru|example)\b",
    re.I,
)
_NO_ADDRESS = frozenset("e.g i.e w.r.t a.k.a i.i.d et.al vs.the etc.and".split())
_MARKUP = re.compile(
    r"!\[|<\s?/?[a-zA-Z!][^<>]*>|&(?:#\w+|[a-z]{2,8});|\]\(|\]\[|^\s*\[[^\]]*\]\s?:|<\||\|>|```"
    r"|\b(?:javascript|vbscript):|\bdata:\w+/",
    re.M | re.I,
)
_ENDING = ".,;:!?)]}>\"'*_`”’。，；：！？）】」"
_PLAIN_SIGNS = frozenset("+<>=|~¬×±−·→∼")


def names(text: str) -> tuple[str, ...]:
    """Acronyms, mixed case, letters with digits, and capitalised words that do not begin the sentence."""
    out: dict[str, None] = {}
    for match in _NAME.finditer(text):
        word = match[0]
        begins = text[: match.start()].rstrip(" \"'([“‘")[-1:] in ("", ".", ":", "?", "!", "-", "•", "\n")
        if strong(word) or (not begins and len(word) > 1 and word[0].isupper()):
            out[word] = None
    return tuple(out)


def strong(word: str) -> bool:
    """Whether a word is a name wherever it stands: ``COFT``, ``EditStream``, ``GPT-4``, ``H100``."""
    if is_number(word) or _ORDINAL.fullmatch(word) or not any(c.isalpha() for c in word):
        return False
    parts = re.split(r"[-/]", word)
    capitals = any(c.isupper() for part in parts for c in part[1:])  # "State-of-the-Art" has none inside a part
    return capitals or (any(c.isdigit() for c in word) and not re.fullmatch(r"\d+-[a-z]+(?:-[a-z]+)*", word))


def addresses(text: str) -> tuple[str, ...]:
    """Links, mail addresses and bare domains, as `address` writes them."""
    found = (address(match[0]) for form in (_ADDRESS, _DISGUISED) for match in form.finditer(text))
    return tuple(dict.fromkeys(one for one in found if one not in _NO_ADDRESS))


def without_addresses(text: str) -> str:
    return _DISGUISED.sub(" ", _ADDRESS.sub(" ", text))


def address(written: str) -> str:
    """Without scheme, `www.`, case, and what ends a sentence."""
    bare = re.sub(r"^(?:https?\s?:\s?/\s?/\s?)?(?:www\.)?", "", written.strip(), flags=re.I)
    return bare.rstrip(_ENDING + "/").casefold()


def marked_up(text: str) -> bool:
    """Whether it holds an image, a link with a text, a reference, HTML, a script or a model's own control tokens."""
    return bool(_MARKUP.search(text))


def signs(text: str) -> frozenset[str]:
    """Greek letters and the signs of mathematics that change what is said."""
    return frozenset(c for c in text if "Ͱ" <= c <= "Ͽ" or (unicodedata.category(c) == "Sm" and c not in _PLAIN_SIGNS))


class Index:
    """The words of a text, to look names up in however they are joined: "GPT4" holds "GPT-4"."""

    def __init__(self, text: str) -> None:
        tokens = [(match[0], squash(match[0])) for match in re.finditer(_WORD, text)]
        self.joined = "".join(token for _, token in tokens)
        self.initials = "".join(written[0] for written, _ in tokens if written[0].isalpha()).casefold()
        self.capitals = frozenset(written for written, _ in tokens if written.isupper() and len(written) > 1)
        at = 0
        self._starts = {0}
        for _, token in tokens:
            at += len(token)
            self._starts.add(at)

    def holds(self, name: str) -> bool:
        wanted = squash(name)
        forms = [wanted, wanted + "s"] + ([wanted[:-1]] if wanted.endswith("s") else [])
        return bool(wanted) and any(self._has(form) for form in forms if form)

    def spells(self, name: str) -> bool:
        """Whether consecutive words have the letters of an acronym as initials ("LLMs": large language models)."""
        letters = re.sub(r"s$", "", name)
        return len(letters) >= 3 and letters.isupper() and letters.isascii() and letters.casefold() in self.initials

    def _has(self, form: str) -> bool:
        at = self.joined.find(form)
        while at >= 0:
            if at in self._starts and at + len(form) in self._starts:
                return True
            at = self.joined.find(form, at + 1)
        return False
